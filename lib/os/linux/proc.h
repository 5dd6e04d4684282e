/* SPDX-License-Identifier: MIT */
/* What /proc says about processes and threads, read without allocation and without stdio. All of it is safe in a signal
 * handler and while threads are stopped. Layouts: Linux Documentation/filesystems/proc.rst.
 *
 * pid 0 means this process; tid 0 the process itself rather than one of its threads. */
#ifndef USPI_LINUX_PROC_H
#define USPI_LINUX_PROC_H

#include <unspool/base.h>

#include <sys/types.h>

#define USPI_PROC_PATH_MAX 64

/* "/proc/PID/NAME" or "/proc/PID/task/TID/NAME". */
void uspi_proc_path(char path[USPI_PROC_PATH_MAX], int64_t pid, int64_t tid, const char *name);

/* Reads a small file whole, up to n − 1 bytes, and ends it with a NUL. Returns its length or a negative error number. */
long uspi_proc_read(int64_t pid, int64_t tid, const char *name, char *to, size_t n);

struct uspi_proc_stat {
    char name[64];  /* of the thread, any bytes */
    bool is_kernel; /* a thread of the kernel */
    char state;     /* 'R', 'S', 'D', 'T', 't', 'Z', 'X' … */
    int64_t parent;
    uint64_t cpu_ns;    /* user and system time */
    uint64_t start;     /* clock ticks since boot; with the id it identifies a thread */
    usp_addr stack_top; /* of the process's first stack: where argc stands; 0 not known */
    uint64_t pending;   /* signals that wait for this thread alone, and */
    uint64_t blocked;   /* those that it blocks: bit signal − 1, of the signals 1 to 31 */
};

/* 0, or a negative error number; -EIO for a file that is not as documented. On failure *stat is cleared. */
int uspi_proc_stat(int64_t pid, int64_t tid, struct uspi_proc_stat *stat);

/* The processor time that a thread has had, in ns, as the scheduler counts it. 0, or a negative error number. */
int uspi_proc_run_time(int64_t pid, int64_t tid, uint64_t *ns);

/* The system call that a thread sleeps in, and its first argument: 0, or a negative error number (-EAGAIN: it runs). */
int uspi_proc_syscall(int64_t pid, int64_t tid, uint64_t *call, usp_addr *first);

/* Where a thread stands that waits: 0, or a negative error number (-EAGAIN: it runs). */
int uspi_proc_standing(int64_t pid, int64_t tid, usp_addr *sp, usp_addr *pc);

struct uspi_proc_status {
    char state;
    int64_t process; /* of the thread */
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

/* Starts a listing. The buffer is best large enough for all threads (32 bytes each): a listing in pieces can miss
 * threads while others exit. Returns 0 or a negative error number; on 0, uspi_proc_threads_close must follow. */
int uspi_proc_threads_open(struct uspi_proc_threads *list, int64_t pid, char *buffer, size_t size);

/* As uspi_proc_stat of a thread, with less to look up. */
int uspi_proc_threads_stat(const struct uspi_proc_threads *list, pid_t tid, struct uspi_proc_stat *stat);

/* The next id, or 0 at the end; then list->error tells whether it is the true one. */
pid_t uspi_proc_threads_next(struct uspi_proc_threads *list);

/* Begins again. Returns 0 or a negative error number. */
int uspi_proc_threads_rewind(struct uspi_proc_threads *list);

/* How many threads the kernel counts at this moment; a negative error number when it does not tell. The kernel cuts a
 * listing short, without a word, when the thread it stands at exits (fs/proc/base.c, next_tid): fewer ids than this
 * were not all. */
long uspi_proc_threads_count(const struct uspi_proc_threads *list);

void uspi_proc_threads_close(struct uspi_proc_threads *list);

/* Opens the memory of a process for reading; the descriptor stays with that process when its id is used again. Returns 0
 * or a negative error number. */
int uspi_proc_memory_open(int64_t pid, int *fd);

/* The shape of usp_memory.read over such a descriptor: context is its number. */
int uspi_proc_memory_read(void *context, usp_addr from, void *to, size_t n);

struct uspi_mapping {
    usp_addr low, high;
    uint64_t offset; /* in its file, in bytes */
    uint64_t inode;  /* 0: no file */
    bool readable, writable, executable;
    bool deleted;     /* its file is gone or another one has its name */
    const char *path; /* without " (deleted)"; "" for none. Valid until the next call */
};

#define USPI_PROC_LINE_MAX 4352 /* a path, and what stands before it */

/* A reading of /proc/PID/maps. Some 4 KB: not for small stacks. */
struct uspi_proc_maps {
    int fd;
    long error;
    size_t used, at;
    char buffer[USPI_PROC_LINE_MAX];
};

int uspi_proc_maps_open(struct uspi_proc_maps *maps, int64_t pid);

/* The next mapping; false at the end, maps->error tells whether it is the true one. */
bool uspi_proc_maps_next(struct uspi_proc_maps *maps, struct uspi_mapping *mapping);

void uspi_proc_maps_close(struct uspi_proc_maps *maps);

#endif
