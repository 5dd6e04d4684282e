/* SPDX-License-Identifier: MIT */
/* Functions that the Linux files share. Only lib/os/ uses them. */
#ifndef USPI_OS_LINUX_LINUX_H
#define USPI_OS_LINUX_LINUX_H

#include "lib/os/linux/calls.h"
#include "lib/os/os.h"

/* The smallest page size of Linux on our processors. With larger pages some probes are superfluous. */
#define USPI_LINUX_PAGE 4096u

/* A signal's bit in the kernel's sets. */
#define USPI_LINUX_SIGNAL(number) (UINT64_C(1) << ((number) - 1))

/* Signals that the processor raises, and SIGSYS, which a sandbox raises for a system call that it emulates
 * (seccomp(2), SECCOMP_RET_TRAP). The kernel ends a process that blocks one of these when it is raised. */
#define USPI_LINUX_FAULTS                                                                                              \
    (USPI_LINUX_SIGNAL(SIGSEGV) | USPI_LINUX_SIGNAL(SIGBUS) | USPI_LINUX_SIGNAL(SIGILL) | USPI_LINUX_SIGNAL(SIGFPE) |  \
     USPI_LINUX_SIGNAL(SIGTRAP) | USPI_LINUX_SIGNAL(SIGSYS))

/* Returns the enum usp_status of a negative error number; USP_OK for 0 and above. */
int uspi_linux_status(long result);

/* Copies up to n bytes of this process from `from`, up to the first unreadable one. Returns how many.
 * Async-signal-safe. */
size_t uspi_linux_read_some(uintptr_t from, void *to, size_t n);

/* Returns this process's id; without a system call once usp_prepare has run (capturing.c). Async-signal-safe. */
pid_t uspi_linux_pid(void);

/* Returns the id of a thread of a process that has not ended, or a negative error number. /proc and the memory calls
 * identify the process by it. Usually it is the first thread, whose id is the process's. Async-signal-safe. */
long uspi_linux_living_thread(int64_t pid);

/* Lists a process's threads (pid 0: this one's), repeatedly until the listing is complete. Calls `each`, which may get
 * an id twice. Returns 0, a negative error number, or -ECANCELED when `each` returned false. Async-signal-safe.
 *   buffer, size  see uspi_proc_threads_open */
struct uspi_proc_threads;
int uspi_linux_each_thread(int64_t pid, char *buffer, size_t size,
                           bool (*each)(void *context, const struct uspi_proc_threads *list, pid_t tid), void *context);

/* Does the same with an open listing, and leaves it open. */
int uspi_linux_list_threads(struct uspi_proc_threads *list,
                            bool (*each)(void *context, const struct uspi_proc_threads *list, pid_t tid),
                            void *context);

#endif
