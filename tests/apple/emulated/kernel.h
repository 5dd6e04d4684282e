/* SPDX-License-Identifier: MIT */
/* The scripted kernel, loader and thread library of the emulated process: what a system's functions do when the process
 * calls them, with the layouts of the process's own processor. (The one that the Darwin layer is tested with natively, at
 * each failure, is tests/apple/fakemach; this one never fails by itself, but has real threads with real registers.) What
 * needs no kernel, memcpy and the like, is guest_libc.c, compiled for the process.
 *
 * Sources: xnu osfmk/mach/{thread_info,task_info,vm_region,semaphore}.h, osfmk/mach/{arm,i386}/_structs.h,
 * bsd/sys/_types/_ucontext.h; dyld include/mach-o/dyld_images.h. */
#ifndef USP_TESTS_APPLE_KERNEL_H
#define USP_TESTS_APPLE_KERNEL_H

#include "process.h"

/* The system's data: variables that programs import, the loader's list of the images in guest->images. To be called once
 * these are there. */
bool kernel_begin(struct guest *guest);

/* The address of a function or variable that the system exports; 0: it has none of that name (with the underscore). */
usp_addr kernel_export(struct guest *guest, const char *name);

/* The name of the function with a number (with the underscore), the scenario's included; NULL behind the last. */
const char *kernel_function(unsigned number);

/* Carries out the function with a number (process.h). False when it is not the kernel's. */
bool kernel_trap(struct guest *guest, unsigned number);

/* What the scenario adds to the system: names of functions, the last one NULL. Their numbers follow the kernel's: number
 * kernel_functions() + i. */
extern const char *const scenario_functions[];
unsigned kernel_functions(void);

/* What the kernel says about a thread's registers: in a process with signed pointers pc, lr, sp and fp are signed, too (xnu
 * osfmk/arm64/status.c, machine_thread_state_convert_to_user). */
void kernel_registers(const struct guest *guest, const struct guest_thread *thread, struct usp_registers *registers);

/* Writes a thread's machine context and the ucontext that leads to it at `at`, as a signal handler gets it; returns the
 * ucontext's address. `at` is aligned to 16 and has KERNEL_CONTEXT bytes. */
#define KERNEL_CONTEXT 512u
usp_addr kernel_context(struct guest *guest, const struct guest_thread *thread, usp_addr at);

/* What the kernel puts on a stack before it enters a handler by _sigtramp (xnu bsd/dev/arm/unix_signal.c,
 * bsd/dev/i386/unix_signal.c). */
struct kernel_sigframe {
    usp_addr entry; /* sp as _sigtramp begins */
    usp_addr info, context;
};

/* Writes it for a thread as it stands, below `top`, with the handler as i386's argument. False when there is no room. */
bool kernel_sigframe(struct guest *guest, const struct guest_thread *thread, usp_addr top, usp_addr handler,
                     unsigned signal, struct kernel_sigframe *frame);

#endif
