/* SPDX-License-Identifier: MIT */
/* Every thread of this process, of another process or of a core file, at one moment.
 * One thread of this process is usp_capture_thread (capture.h). */
#ifndef UNSPOOL_SNAPSHOT_H
#define UNSPOOL_SNAPSHOT_H

#include <unspool/base.h>
#include <unspool/capture.h>
#include <unspool/images.h>
#include <unspool/registers.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Opaque; made by the functions below, freed with usp_snapshot_free. Not changed after it is made, so any number of
 * threads may read it. */
struct usp_snapshot;

/* By what means usp_snapshot_create_self stops the threads of this process. Apple systems have one of their own, which
 * disturbs no system call, and take either value. */
enum usp_snapshot_means {
    /* The signal that usp_prepare has chosen. Fast; some system calls end with EINTR (doc/signal-safety.md has the table). */
    USP_SNAPSHOT_BY_SIGNALS = 0,
    /* A helper process, which traces the threads and shares this process's memory, while the calling thread waits. Needs no
     * usp_prepare, reaches threads that block every signal, and disturbs what SIGSTOP and SIGCONT would disturb: of the
     * system calls that wait, epoll_wait, semop and sigwaitinfo among others end with EINTR (signal(7)). The system has to
     * allow ptrace; where Yama restricts it, any process of this user may trace this one meanwhile, and a tracer that the
     * program has named (PR_SET_PTRACER) has to be named again. Not while a debugger traces this process. */
    USP_SNAPSHOT_BY_HELPER = 1
};

struct usp_snapshot_options {
    uint32_t size;        /* of this struct in bytes; set by usp_snapshot_options_init */
    uint32_t max_frames;  /* frames kept for each thread. Default 512; with unwind.tail the middle is omitted */
    uint32_t sp_bytes;    /* bytes around the stack pointer to keep with each thread, half below. Default 0 */
    uint32_t means;       /* enum usp_snapshot_means; of this process only. Default USP_SNAPSHOT_BY_SIGNALS */
    uint32_t skip_own;    /* this process only: leave out so many of the calling thread's innermost frames. Default 0 */
    uint64_t only_thread; /* a thread id: only this one; 0: all. Default 0 */
    /* ns that it may take to stop the threads; of this process, at most half of it goes to a loader that changes its list without
     * a pause. Default 100,000,000 */
    uint64_t timeout;
    const char *sysroot; /* cores: where the files that mappings name are looked for first. Default NULL */
    const char *program; /* cores: the program's file, where the core does not name it. Default NULL */
    struct usp_unwind_options unwind;
    uint64_t reserved[4];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_snapshot_options_init(struct usp_snapshot_options *options);

/* This process. All threads but the caller are stopped, copied and let go, in this order for all of them; the caller's
 * own stack is that of this call. Needs usp_prepare (USP_ERROR_NOT_PREPARED), but for USP_SNAPSHOT_BY_HELPER.
 * options NULL: the defaults. On success *snapshot is the caller's to free, on failure NULL. A thread that could not be
 * stopped is in the list with its own status, as of usp_capture_thread; it does not make the call fail, and holds up the
 * others for 5 ms at most when the system says that it cannot answer.
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, USP_ERROR_NOT_PREPARED, USP_ERROR_UNSUPPORTED,
 * USP_ERROR_SYSTEM, USP_ERROR_BUSY when other threads' snapshots took the whole timeout, and by a helper
 * USP_ERROR_PERMISSION where the system does not allow ptrace. Allocates before the first thread is stopped and after the
 * last runs again, never between. Thread-safe (one stop after the other); the calling thread's signals and cancellation wait
 * until the call returns. Not async-signal-safe. */
USP_API int usp_snapshot_create_self(const struct usp_snapshot_options *options, struct usp_snapshot **snapshot);

/* Another process of this machine, of this host's processor or its 32-bit sibling. It is neither killed nor left
 * stopped when the caller dies. `error` (may be NULL, `error_size` bytes) receives a sentence that says what failed and
 * what to do. Returns as usp_snapshot_create_self, and USP_ERROR_NO_THREAD when there is no such process,
 * USP_ERROR_PERMISSION. Not async-signal-safe. */
USP_API int usp_snapshot_create_process(int64_t pid, const struct usp_snapshot_options *options,
                                        struct usp_snapshot **snapshot, char *error, size_t error_size);

/* A core file: ELF (x86_64, i386, aarch64, arm) or Mach-O (all five processors), on any host. Streamed: memory use does
 * not grow with the file. Text that the core does not hold is read from the files that its mappings name, if their
 * build-id or UUID fits. `error` as above: it names the file, the offset and what is wrong. Returns as above, and
 * USP_ERROR_FORMAT, USP_ERROR_TRUNCATED, USP_ERROR_NOT_FOUND. Not async-signal-safe. */
USP_API int usp_snapshot_open_core(const char *path, const struct usp_snapshot_options *options,
                                   struct usp_snapshot **snapshot, char *error, size_t error_size);

/* Frees a snapshot and all that was obtained from it. NULL is ignored. No other call may use it any more. Not
 * async-signal-safe. */
USP_API void usp_snapshot_free(struct usp_snapshot *snapshot);

enum usp_snapshot_flags {
    USP_SNAPSHOT_PROGRAM_MISSING = 1 << 0, /* a core without the names of its files, and no program was given */
    USP_SNAPSHOT_FILES_MISSING = 1 << 1,   /* files that would complete the core are not there */
    USP_SNAPSHOT_FILES_REFUSED = 1 << 2,   /* files are there, but of another build */
    USP_SNAPSHOT_TRUNCATED = 1 << 3        /* the core was cut off: threads or memory are missing from it */
};

struct usp_snapshot_info {
    uint32_t arch;         /* enum usp_arch */
    uint32_t os;           /* enum usp_os */
    int64_t pid;           /* 0 unknown */
    uint64_t time;         /* when it was taken: ns since 1970-01-01 UTC; cores: 0 */
    uint64_t stopped_ns;   /* from the first thread stopped to the last one running again; cores: 0 */
    uint32_t thread_count; /* in the list, those that could not be stopped included */
    uint32_t missed;       /* of these, how many have no stack because of their status */
    uint32_t flags;        /* enum usp_snapshot_flags */
    uint32_t signal;       /* cores: the signal that ended the process; 0 unknown */
    const char *program;   /* path of the main program, "" unknown; valid until the snapshot is freed */
    uint64_t reserved[4];
};

struct usp_snapshot_thread {
    struct usp_thread_info info;
    int32_t status; /* USP_OK, or why there is no stack */
    uint32_t reserved0;
    struct usp_registers registers;
    usp_addr stack_low, stack_high; /* the mapping or thread stack that holds sp; 0, 0 unknown */
    uint64_t stopped_ns;            /* how long this thread was held; 0 unknown */
    struct usp_stack stack;         /* its frames live as long as the snapshot */
    const void *sp_bytes;           /* what was kept around sp, NULL if nothing */
    usp_addr sp_bytes_address;
    size_t sp_bytes_size;
    uint64_t reserved[4];
};

/* What holds for the whole. Valid until the snapshot is freed. Async-signal-safe, thread-safe. */
USP_API const struct usp_snapshot_info *usp_snapshot_get_info(const struct usp_snapshot *snapshot);

/* Thread i, 0 … thread_count − 1: the main thread first, the others by id. NULL behind the end. Async-signal-safe,
 * thread-safe. */
USP_API const struct usp_snapshot_thread *usp_snapshot_get_thread(const struct usp_snapshot *snapshot, size_t i);

/* The images that were loaded. Valid until the snapshot is freed. Async-signal-safe, thread-safe. */
USP_API const struct usp_images *usp_snapshot_images(const struct usp_snapshot *snapshot);

/* The surroundings of thread i, for a walk of one's own (other options, a cursor): the memory is the snapshot's copy.
 * Valid until the snapshot is freed. Returns USP_OK, USP_ERROR_ARGUMENT, or the thread's status. Async-signal-safe,
 * thread-safe. */
USP_API int usp_snapshot_target(const struct usp_snapshot *snapshot, size_t i, struct usp_target *target);

/* What the snapshot has to say to a person about file or thread that was refused or missing, one sentence each:
 * message i, NULL behind the last. Valid until the snapshot is freed. Async-signal-safe, thread-safe. */
USP_API const char *usp_snapshot_message(const struct usp_snapshot *snapshot, size_t i);

USP_END_DECLS

#endif
