/* SPDX-License-Identifier: MIT */
/* The system calls of the Linux layer as one table, so that a test can make each of them fail. The callers decide what
 * a failure means.
 *
 * Every entry returns the kernel's result or a negative error number. It preserves errno, allocates nothing and takes
 * no lock, so it may be used in a signal handler and while threads are stopped. */
#ifndef USPI_OS_LINUX_CALLS_H
#define USPI_OS_LINUX_CALLS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* The kernel's struct procmap_query (Linux 6.11, include/uapi/linux/fs.h), and its flags. Older headers lack it. */
enum { USPI_VMA_READABLE = 1, USPI_VMA_WRITABLE = 2, USPI_VMA_EXECUTABLE = 4, USPI_VMA_SHARED = 8, USPI_VMA_NEXT = 16 };
struct uspi_mapping_query {
    uint64_t size, query_flags, query_addr;
    uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
    uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
    uint64_t vma_name_addr, build_id_addr;
};

struct uspi_linux_calls {
    /* Files. `open` takes a path relative to an open directory, or an absolute path, and adds O_CLOEXEC. */
    long (*open)(int directory, const char *path, int flags);
    long (*close)(int fd);
    long (*read)(int fd, void *to, size_t n);
    long (*pread)(int fd, void *to, size_t n, uint64_t offset);
    long (*rewind)(int fd);
    long (*list_directory)(int fd, void *entries, size_t n); /* getdents64 */
    long (*count_links)(int fd);                             /* st_nlink of an open file */
    long (*read_link)(const char *path, char *to, size_t n);
    long (*lock_file)(int fd, int operation);                          /* flock */
    long (*query_mapping)(int maps, struct uspi_mapping_query *query); /* PROCMAP_QUERY of an open /proc/PID/maps */

    /* Memory. */
    /* Maps anonymous, private, zeroed memory; NULL on failure. filled: all of it will be written soon, so the kernel
     * allocates it at once instead of at a fault for each page. */
    void *(*map)(size_t n, bool filled);
    long (*unmap)(void *at, size_t n);
    long (*probe)(uintptr_t address); /* -EFAULT when the 8 bytes at address & ~7 cannot be read */
    long (*read_process)(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t remote_count);

    /* Threads and signals. */
    pid_t (*own_process)(void);
    pid_t (*own_thread)(void);
    long (*own_name)(char name[16]);
    long (*probe_thread)(pid_t pid, pid_t tid);            /* -ESRCH when there is no such thread */
    long (*robust_list)(pid_t tid, uintptr_t *head);       /* get_robust_list */
    long (*send_signal)(pid_t pid, pid_t tid, int signal); /* tgkill */
    long (*queue_signal)(pid_t pid, pid_t tid, int signal, const siginfo_t *info); /* rt_tgsigqueueinfo */
    long (*set_stack)(const stack_t *stack, stack_t *old);                         /* sigaltstack */
    long (*set_action)(int signal, const struct sigaction *action, struct sigaction *old);
    /* rt_sigprocmask for all signals, including libc's own: bit signal − 1. how: SIG_BLOCK, SIG_SETMASK … */
    long (*set_mask)(int how, const uint64_t *mask, uint64_t *old);
    long (*pending_signals)(uint64_t *set); /* signals sent to the calling thread or its process that are blocked */
    long (*wait)(_Atomic(uint32_t) *word, uint32_t seen, uint64_t deadline); /* futex; deadline: usp_clock() value */
    long (*wake)(_Atomic(uint32_t) *word, int count);
    long (*sleep)(uint64_t ns);
    long (*set_timer_slack)(uint64_t ns); /* PR_SET_TIMERSLACK: how late sleeps of the calling thread may end */
    int64_t (*cpu_time)(void);            /* of the calling thread, in ns */
    long (*trace)(long request, pid_t tid, void *address, void *data); /* ptrace */
    /* Waits for the end of a thread that a thread of this process traces, if it has ended (waitid). */
    long (*take_end)(pid_t tid);

    /* Runs a function in a process that shares this process's memory and files; the calling thread waits until it ends
     * (CLONE_VM | CLONE_VFORK). Wait functions of other threads do not see it. If the calling thread is killed, the
     * kernel kills the process. Returns 0 when it has ended. */
    long (*run_beside)(int (*function)(void *context), void *stack_top, void *context);
    long (*permit_tracer)(bool any); /* PR_SET_PTRACER: any process may trace this one, or only its ancestors */
    /* Processor time of a thread of this process, in ns; -EINVAL when there is no such thread. */
    int64_t (*thread_cpu_time)(pid_t tid);
    /* Processor time of all threads of any process, including ended ones, in ns; -EINVAL when there is no such
     * process. */
    int64_t (*process_cpu_time)(pid_t pid);
};

/* The table in use: the kernel's calls, unless a test has replaced them before anything else ran. */
extern const struct uspi_linux_calls *uspi_linux;

/* The kernel's calls, which a test's table may use. */
extern const struct uspi_linux_calls uspi_linux_real;

#endif
