/* SPDX-License-Identifier: MIT */
/* The scripted kernel, loader and thread library of the emulated process: it does what the system's functions do, with
 * the layouts of the process's processor. tests/apple/fakemach is another one, for native tests of the Darwin layer in
 * which each call fails. This one never fails by itself, but has real threads with real registers. Functions that need
 * no kernel, such as memcpy, are in guest_libc.c, which is compiled for the process.
 *
 * Sources: xnu osfmk/mach/{thread_info,task_info,vm_region,semaphore}.h, osfmk/mach/{arm,i386}/_structs.h,
 * bsd/sys/_types/_ucontext.h; dyld include/mach-o/dyld_images.h. */
#ifndef TESTS_APPLE_EMULATED_KERNEL_H
#define TESTS_APPLE_EMULATED_KERNEL_H

#include "process.h"

/* Makes the system's data: variables that programs import, and the loader's list of the images in guest->images. Call
 * it when these are loaded. */
bool kernel_begin(struct guest *guest);

/* The address of a function or variable that the system exports (with the underscore); 0: it exports no such name. */
usp_addr kernel_export(struct guest *guest, const char *name);

/* The name of a function (with the underscore) by its number, also of the scenario's functions; NULL after the last. */
const char *kernel_function(unsigned number);

/* Executes the function with a number (process.h). Returns false if it is not the kernel's. */
bool kernel_trap(struct guest *guest, unsigned number);

/* The scenario's own functions: their names, the last one NULL. Function i has the number kernel_functions() + i. */
extern const char *const scenario_functions[];
unsigned kernel_functions(void);

/* Gets a thread's registers as the kernel reports them. In a process with signed pointers, pc, lr, sp and fp are
 * signed, too (xnu osfmk/arm64/status.c, machine_thread_state_convert_to_user). */
void kernel_registers(const struct guest *guest, const struct guest_thread *thread, struct usp_registers *registers);

/* Writes at `at` a thread's ucontext and machine context, as a signal handler gets them; returns the ucontext's
 * address. `at` is aligned to 16 and has room for KERNEL_CONTEXT bytes. */
#define KERNEL_CONTEXT 512u
usp_addr kernel_context(struct guest *guest, const struct guest_thread *thread, usp_addr at);

/* Where the kernel's frame for a signal lies: what it puts on a stack before it enters a handler by _sigtramp (xnu
 * bsd/dev/arm/unix_signal.c, bsd/dev/i386/unix_signal.c). */
struct kernel_sigframe {
    usp_addr entry; /* sp at the first instruction of _sigtramp */
    usp_addr info, context;
};

/* Writes that frame below `top`, with the thread's present registers; i386 gets the handler as an argument. Returns
 * false if there is no room. */
bool kernel_sigframe(struct guest *guest, const struct guest_thread *thread, usp_addr top, usp_addr handler,
                     unsigned signal, struct kernel_sigframe *frame);

#endif
