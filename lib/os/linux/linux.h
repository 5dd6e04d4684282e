/* SPDX-License-Identifier: MIT */
/* What the Linux files share among themselves. Not for anyone outside lib/os/. */
#ifndef USPI_LINUX_H
#define USPI_LINUX_H

#include "lib/os/linux/calls.h"
#include "lib/os/os.h"

/* The smallest page size of Linux on our processors; with larger ones some probes are superfluous. */
#define USPI_LINUX_PAGE 4096u

/* A signal's bit in the kernel's sets. */
#define USPI_LINUX_SIGNAL(number) (UINT64_C(1) << ((number) - 1))

/* What the processor raises, and what a sandbox raises for a system call that it carries out itself (seccomp(2),
 * SECCOMP_RET_TRAP): the kernel ends a process that blocks these when they come. */
#define USPI_LINUX_FAULTS                                                                                              \
    (USPI_LINUX_SIGNAL(SIGSEGV) | USPI_LINUX_SIGNAL(SIGBUS) | USPI_LINUX_SIGNAL(SIGILL) | USPI_LINUX_SIGNAL(SIGFPE) |  \
     USPI_LINUX_SIGNAL(SIGTRAP) | USPI_LINUX_SIGNAL(SIGSYS))

/* enum usp_status for a negative error number (0 and above: USP_OK). */
int uspi_linux_status(long result);

/* Copies up to n bytes of this process, from `from` up to the first that cannot be read. Returns how many. Async-signal-safe. */
size_t uspi_linux_read_some(uintptr_t from, void *to, size_t n);

/* This process's id without a system call once usp_prepare has run (capturing.c). Async-signal-safe. */
pid_t uspi_linux_pid(void);

/* A thread of a process that has not ended, by which /proc and the memory calls know the process: mostly the first one,
 * whose id is the process's. Returns its id or a negative error number. Async-signal-safe. */
long uspi_linux_living_thread(int64_t pid);

/* Takes the listing of a process's threads (pid 0: this one's) until it is complete, calling `each`; it may see an id
 * twice. Returns 0, a negative error number, or -ECANCELED when `each` returned false. Async-signal-safe.
 *   buffer, size  see uspi_proc_threads_open */
struct uspi_proc_threads;
int uspi_linux_each_thread(int64_t pid, char *buffer, size_t size,
                           bool (*each)(void *context, const struct uspi_proc_threads *list, pid_t tid), void *context);

/* The same with a listing that is open, and stays so. */
int uspi_linux_list_threads(struct uspi_proc_threads *list,
                            bool (*each)(void *context, const struct uspi_proc_threads *list, pid_t tid),
                            void *context);

#endif
