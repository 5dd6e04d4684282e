/* SPDX-License-Identifier: MIT */
/* Reads /proc about processes and threads without allocation and stdio. All functions are async-signal-safe and may be
 * called while threads are stopped. Layouts: Linux Documentation/filesystems/proc.rst.
 *
 * pid 0 means this process; tid 0 means the process itself instead of one of its threads. */
#ifndef USPI_OS_LINUX_PROC_H
#define USPI_OS_LINUX_PROC_H

#include <unspool/base.h>

#include <sys/types.h>

#define USPI_PROC_PATH_MAX 64

/* Writes "/proc/PID/NAME" or "/proc/PID/task/TID/NAME". */
void uspi_proc_path(char path[USPI_PROC_PATH_MAX], int64_t pid, int64_t tid, const char *name);

/* Reads a whole small file, up to n − 1 bytes, and adds a NUL. Returns its length or a negative error number. */
long uspi_proc_read(int64_t pid, int64_t tid, const char *name, char *to, size_t n);

struct uspi_proc_stat {
    char name[64];     /* the thread's name, arbitrary bytes */
    bool is_kernel;    /* it is a kernel thread */
    bool is_io_worker; /* it is a thread of io_uring, which runs only in the kernel */
    char state;        /* 'R', 'S', 'D', 'T', 't', 'Z', 'X' … */
    int64_t parent;
    uint64_t cpu_ns;    /* user and system time */
    uint64_t start;     /* clock ticks since boot; together with the id it identifies a thread */
    usp_addr stack_top; /* of the process's first stack: the address of argc; 0 not known */
    uint64_t pending;   /* signals pending for this thread alone: bit signal − 1, signals 1 to 31 */
    uint64_t blocked;   /* signals that this thread blocks: bit signal − 1, signals 1 to 31 */
};

/* Returns 0 or a negative error number; -EIO for a file that is not as documented. On failure *stat is cleared. */
int uspi_proc_stat(int64_t pid, int64_t tid, struct uspi_proc_stat *stat);

/* Gives a thread's processor time in ns, as the scheduler counts it. Returns 0 or a negative error number. */
int uspi_proc_run_time(int64_t pid, int64_t tid, uint64_t *ns);

/* Gives the system call that a thread sleeps in, and its first argument. Returns 0 or a negative error number
 * (-EAGAIN: it runs). */
int uspi_proc_syscall(int64_t pid, int64_t tid, uint64_t *call, usp_addr *first);

/* Gives a waiting thread's sp and pc. Returns 0 or a negative error number (-EAGAIN: it runs). */
int uspi_proc_position(int64_t pid, int64_t tid, usp_addr *sp, usp_addr *pc);

/* The place where a waiting thread left the program. */
struct uspi_proc_call {
    int64_t number; /* of the system call; -1: it is in none, but in a page fault */
    usp_addr arguments[6], sp, pc;
};

/* Gives it. Returns 0 or a negative error number (-EAGAIN: it runs). */
int uspi_proc_call(int64_t pid, int64_t tid, struct uspi_proc_call *call);

struct uspi_proc_status {
    char state;
    int64_t process; /* the thread's process */
    int64_t tracer;  /* pid of the tracer, 0: none */
    int64_t uid;     /* the real one */
};

int uspi_proc_status(int64_t pid, int64_t tid, struct uspi_proc_status *status);

/* A listing of the threads of a process. */
struct uspi_proc_threads {
    int fd;
    char *buffer; /* the caller's */
    size_t size, used, at;
    long error; /* 0, or the negative error number that ended the listing */
};

/* Starts a listing. The buffer should be large enough for all threads (32 bytes each): a listing in pieces can miss
 * threads while others exit. Returns 0 or a negative error number; on 0, the caller calls uspi_proc_threads_close. */
int uspi_proc_threads_open(struct uspi_proc_threads *list, int64_t pid, char *buffer, size_t size);

/* Like uspi_proc_stat for a thread, with a shorter path lookup. */
int uspi_proc_threads_stat(const struct uspi_proc_threads *list, pid_t tid, struct uspi_proc_stat *stat);

/* Returns the next id, or 0 at the end; list->error then says whether an error ended the listing. */
pid_t uspi_proc_threads_next(struct uspi_proc_threads *list);

/* Restarts a listing. Returns 0 or a negative error number. */
int uspi_proc_threads_rewind(struct uspi_proc_threads *list);

/* Returns the kernel's current count of the threads, or a negative error number when it does not give one. The kernel
 * silently cuts a listing short when the thread at its position exits (fs/proc/base.c, next_tid): a listing with fewer
 * ids is incomplete. */
long uspi_proc_threads_count(const struct uspi_proc_threads *list);

void uspi_proc_threads_close(struct uspi_proc_threads *list);

/* Opens a process's memory for reading. The descriptor stays with that process when its id is reused. Returns 0 or a
 * negative error number. */
int uspi_proc_memory_open(int64_t pid, int *fd);

/* Implements usp_memory.read with such a descriptor; context is its number. */
int uspi_proc_memory_read(void *context, usp_addr from, void *to, size_t n);

/* Opens /proc/PID/pagemap. Returns its descriptor or a negative error number. */
int uspi_proc_pagemap_open(int64_t pid);

struct uspi_mapping {
    usp_addr low, high;
    uint64_t offset; /* in its file, in bytes */
    uint64_t inode;  /* 0: no file */
    bool readable, writable, executable, shared;
    bool deleted;     /* its file was deleted, or another file has its name */
    const char *path; /* without " (deleted)"; "" for none. Valid until the next call */
};

#define USPI_PROC_LINE_MAX 4352 /* a path, and the fields before it */

/* Reads /proc/PID/maps. About 4 KB: not for small stacks. */
struct uspi_proc_maps {
    int fd;
    long error;
    size_t used, at;
    char buffer[USPI_PROC_LINE_MAX];
};

int uspi_proc_maps_open(struct uspi_proc_maps *maps, int64_t pid);

/* Gives the mapping that contains an address, or else the next one above it (Linux 6.11, Documentation/filesystems/
 * proc.rst PROCMAP_QUERY). Returns 0, -ENOENT when there is none, or another error: the system cannot tell. */
long uspi_proc_maps_at(struct uspi_proc_maps *maps, usp_addr address, struct uspi_mapping *mapping);

/* Gives the next mapping. Returns false at the end; maps->error then says whether an error ended it. */
bool uspi_proc_maps_next(struct uspi_proc_maps *maps, struct uspi_mapping *mapping);

void uspi_proc_maps_close(struct uspi_proc_maps *maps);

#endif
