/* SPDX-License-Identifier: MIT */
/* What the Linux files share among themselves. Not for anyone outside lib/os/. */
#ifndef USPI_LINUX_H
#define USPI_LINUX_H

#include "lib/os.h"
#include "lib/os/linux_calls.h"

/* The smallest page size of Linux on our processors; with larger ones some probes are superfluous. */
#define USPI_LINUX_PAGE 4096u

/* enum usp_status for a negative error number (0 and above: USP_OK). */
int uspi_linux_status(long result);

/* Copies up to n bytes of this process, from `from` up to the first that cannot be read. Returns how many. Any time. */
size_t uspi_linux_read_some(uintptr_t from, void *to, size_t n);

/* This process's id without a system call once usp_prepare has run. Any time. */
pid_t uspi_linux_pid(void);

/* Learns the return addresses at which stacks of this process end (linux_roots.c). Starts and joins threads. */
void uspi_linux_learn_roots(void);

/* The same with something else between: the first starts threads, the second, which must follow on true, waits for what
 * they tell. False: another thread is learning.
 *   is_told  one that is started as all POSIX threads are will tell by uspi_linux_tell_root, or has; to the second false
 *            when it could not be started */
bool uspi_linux_begin_roots(bool is_told);
void uspi_linux_finish_roots(bool is_told);

/* The return address of a POSIX thread's start routine, told by itself. Any time. */
void uspi_linux_tell_root(uintptr_t root);

/* A thread of a process that has not ended, by which /proc and the memory calls know the process: mostly the first one,
 * whose id is the process's. Returns its id or a negative error number. Any time. */
long uspi_linux_living_thread(int64_t pid);

/* Takes the listing of a process's threads (pid 0: this one's) until it is complete, calling `each`; it may see an id
 * twice. Returns 0, a negative error number, or -ECANCELED when `each` returned false. Any time.
 *   buffer, size  see uspi_proc_threads_open */
struct uspi_proc_threads;
int uspi_linux_each_thread(int64_t pid, char *buffer, size_t size,
                           bool (*each)(void *context, const struct uspi_proc_threads *list, pid_t tid), void *context);

/* The same with a listing that is open, and stays so. */
int uspi_linux_list_threads(struct uspi_proc_threads *list,
                            bool (*each)(void *context, const struct uspi_proc_threads *list, pid_t tid),
                            void *context);

#endif
