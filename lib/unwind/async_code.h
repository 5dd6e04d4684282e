/* SPDX-License-Identifier: MIT */
/* Finds Swift async frames on Linux by their code, because frame records there do not have Apple's mark.
 *
 * Two kinds of function are recognized:
 *
 *   - The function begins by pushing the frame pointer and the context register, and sets the frame pointer to the
 *     word above the context. Only LLVM's functions with an async context begin like this. The context is at CFA − 3
 *     words.
 *   - The executor called the function: the call is indirect, and the instruction before it loaded the context
 *     register from memory. The instructions from the function's start to the pc show where the value of that register
 *     is now.
 *
 * Functions that can return are rejected. Swift's async functions end by jumping to the next one. Functions of the
 * runtime (such as swift_task_switch) return after they have handed the task over, when another thread may already be
 * running it. Sources: LLVM lib/Target/X86/X86FrameLowering.cpp (emitPrologue), Swift
 * lib/Frontend/CompilerInvocation.cpp (marks on Darwin only), stdlib/public/Concurrency/Actor.cpp
 * (runJobInEstablishedExecutorContext). */
#ifndef USPI_UNWIND_ASYNC_CODE_H
#define USPI_UNWIND_ASYNC_CODE_H

#include "lib/unwind/frame/walk.h"

/* Returns whether async frames of this target can be found by their code. */
bool uspi_async_has_code(const struct usp_target *target);

/* Returns whether a frame may be an async one, by a cheap check of its slot for a context and of the call that led to
 * it. caller: the frame's return address, 0: none. Async-signal-safe if the target's callbacks are. */
bool uspi_async_may_be(const struct uspi_walk *walk, const struct usp_frame *frame, usp_addr caller);

/* Finds the async context of a frame whose function is known to be async.
 *   cfa      the frame's CFA, 0: not known
 *   caller   the frame's return address, 0: none
 *   context  receives the function's own context, which has been checked by uspi_async_is_context
 * Returns false when the frame belongs to another kind of function, or nothing is certain. Async-signal-safe if the
 * target's callbacks are. Needs about 9 KB of stack. */
bool uspi_async_by_code(struct uspi_walk *walk, const struct uspi_frame_state *frame, usp_addr cfa, usp_addr caller,
                        usp_addr *context);

/* Returns whether an async function may begin or resume at an address in an image's code. False when the unwind tables
 * describe a function there that begins at another address. LLVM writes no entries for functions that cannot throw. */
bool uspi_async_may_resume(const struct uspi_walk *walk, usp_addr address);

/* Returns whether an async context can be at this address: it is aligned and readable, and its resume address is the
 * start of a function that the unwind tables describe. */
bool uspi_async_is_context(const struct uspi_walk *walk, usp_addr context);

/* Whether a record whose saved frame pointer has the mark of a Swift async frame is one. On Linux another value can
 * have the same bits, because code without frame pointers uses the register for anything. There the record has to prove
 * itself: `previous`, the saved frame pointer without the mark, lies higher on this stack, the context can be read, and
 * the address at which it resumes can begin a function. Async-signal-safe as the walk is. */
bool uspi_async_is_marked(const struct uspi_walk *walk, const struct uspi_extended *extended, usp_addr previous);

#endif
