/* SPDX-License-Identifier: MIT */
/* Swift async frames on Linux, where no frame record has Apple's mark: found by their code.
 *
 * Two kinds of function are recognized:
 *
 *   - The function begins by pushing the frame pointer and the context register, and points the frame pointer behind the
 *     context. Only LLVM's functions with an async context begin so. The context stands at CFA − 3 words.
 *   - The function was called by the executor: directly before the call, which is indirect, the context register was loaded from
 *     memory. The function's own way from its start to the pc says where the value that it was called with is now.
 *
 * A function that can return is not taken: Swift's async functions end by jumping to the next one, whereas the runtime's (such as
 * swift_task_switch) return when they have given the task away, and another thread may be running it then.
 * Sources: LLVM lib/Target/X86/X86FrameLowering.cpp (emitPrologue), Swift lib/Frontend/CompilerInvocation.cpp (no marks but on
 * Darwin), stdlib/public/Concurrency/Actor.cpp (runJobInEstablishedExecutorContext). */
#ifndef USPI_ASYNC_CODE_H
#define USPI_ASYNC_CODE_H

#include "lib/unwind/frame/walk.h"

/* Whether the target's async frames can be found so. */
bool uspi_async_has_code(const struct usp_target *target);

/* Whether it can be one at all, by a look at the frame's slot for a context and at the call that led to it: what costs little.
 * caller: the frame's return address, 0: there is none. Async-signal-safe as the target's callbacks are. */
bool uspi_async_may_be(const struct uspi_walk *walk, const struct usp_frame *frame, usp_addr caller);

/* The async context of a frame whose function is known to be an async one.
 *   cfa      of the frame, 0: not known
 *   caller   the frame's return address, 0: there is none
 *   context  becomes the function's own context, and is one: see uspi_async_is_context
 * False: the frame is another one's, or nothing is certain. Async-signal-safe as the target's callbacks are. Needs about 9 KB of
 * stack. */
bool uspi_async_by_code(struct uspi_walk *walk, const struct uspi_frame_state *frame, usp_addr cfa, usp_addr caller,
                        usp_addr *context);

/* Whether an async function may begin or resume at an address of an image's code: false where the unwind tables describe a
 * function there that begins elsewhere. LLVM describes no functions that cannot throw. */
bool uspi_async_may_resume(const struct uspi_walk *walk, usp_addr address);

/* Whether an async context can lie at this address: it is aligned and readable, and its resume address is exactly where a
 * function begins that the unwind tables describe. */
bool uspi_async_is_context(const struct uspi_walk *walk, usp_addr context);

#endif
