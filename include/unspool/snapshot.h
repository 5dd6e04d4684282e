/* SPDX-License-Identifier: MIT */
/* Captures of all threads of this process, of another process or of a core file, at one moment. usp_capture_thread
 * (capture.h) captures one thread of this process. */
#ifndef UNSPOOL_SNAPSHOT_H
#define UNSPOOL_SNAPSHOT_H

#include <unspool/base.h>
#include <unspool/capture.h>
#include <unspool/images.h>
#include <unspool/registers.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Opaque. Made by the functions below, freed with usp_snapshot_free. It never changes, so any number of threads may
 * read it. */
struct usp_snapshot;

/* How usp_snapshot_create_self stops the threads of this process. On Apple systems both values select the system's own
 * means, which does not interrupt system calls. */
enum usp_snapshot_means {
    /* By the signal that usp_prepare selected. Fast, but some system calls end with EINTR (table in
     * doc/signal-safety.md). */
    USP_SNAPSHOT_BY_SIGNALS = 0,
    /* By a helper process, which traces the threads and shares this process's memory, while the calling thread waits.
     * It needs no usp_prepare and reaches threads that block every signal. It interrupts the system calls that SIGSTOP
     * and SIGCONT interrupt: epoll_wait, semop, sigwaitinfo and some other waiting calls end with EINTR (signal(7)).
     *
     * The system has to allow ptrace. Where Yama restricts it, any process of this user may trace this one during the
     * call, and a tracer that the program has named (PR_SET_PTRACER) has to be named again afterwards. It fails while
     * a debugger traces this process. */
    USP_SNAPSHOT_BY_HELPER = 1
};

struct usp_snapshot_options {
    uint32_t size;       /* size of this struct in bytes; set by usp_snapshot_options_init */
    uint32_t max_frames; /* frames kept of each thread; with unwind.tail the middle is omitted. Default 512 */
    /* Bytes around the stack pointer that are kept for each thread, half of them below it. Default 0. */
    uint32_t sp_bytes;
    uint32_t means; /* this process only: enum usp_snapshot_means. Default USP_SNAPSHOT_BY_SIGNALS */
    /* This process only: number of the calling thread's innermost frames to leave out. Default 0. */
    uint32_t skip_own;
    uint64_t only_thread; /* id of the only thread to capture; 0: all threads. Default 0 */
    /* Time limit of the stop, in ns: for stopping the threads, copying their stacks and, in another process on Linux,
     * resuming them. Threads for which it does not suffice have the status USP_ERROR_TIMEOUT, stacks that were not
     * copied end with USP_STOP_NOT_COPIED. In this process, at most half of it is spent waiting for a loader that keeps
     * changing its list. Default 100,000,000. */
    uint64_t timeout;
    /* Cores: folder in which the mapped files are searched for first. Links in a path below it are resolved as if it was
     * the root of all files. Default NULL. */
    const char *sysroot;
    const char *program; /* cores: the program's file, if the core does not name it. Default NULL */
    struct usp_unwind_options unwind;
    /* Linux: nonzero copies large stacks as a whole. Otherwise at most their innermost 4 MB and outermost 256 KB are
     * copied, 64 MB of all of them together. Memory that was never written is not copied and does not count. Frames
     * between the two parts are omitted (USP_STACK_OMITTED_MORE). Default 0. */
    uint32_t whole_stacks;
    /* Other processes and cores of Linux: nonzero also lists the goroutines of a Go program that no thread runs, after
     * the threads (USP_THREAD_GOROUTINE). Where they lie is in the program's debug information. A live process's
     * goroutines are read after its threads run again; those that change meanwhile are left out. At most 10,000 are
     * listed, of at most 64 MB of stacks. A message (usp_snapshot_message) says what is missing. Default 0. */
    uint32_t goroutines;
    uint64_t reserved[3];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_snapshot_options_init(struct usp_snapshot_options *options);

/* Captures this process. All threads except the caller are stopped, then all are copied, then all are resumed. The
 * caller's own stack is the one of this call. Calls usp_prepare with its defaults if necessary, which it is not with
 * USP_SNAPSHOT_BY_HELPER; the time that takes is not part of the timeout. options NULL: the defaults. On success the
 * caller frees *snapshot; on failure it is NULL.
 *
 * A thread that could not be stopped is listed with a status as of usp_capture_thread. It does not make the call fail.
 * If the system says that it cannot answer, it delays the others by at most 5 ms.
 *
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, USP_ERROR_UNSUPPORTED, USP_ERROR_SYSTEM, the result of
 * usp_prepare, USP_ERROR_NO_THREAD when there is no thread `only_thread`, USP_ERROR_BUSY when other threads' snapshots
 * took the whole timeout, and with a helper USP_ERROR_PERMISSION where the system does not allow ptrace. Thread-safe:
 * one snapshot at a time stops threads. The calling thread's signals and cancellation are deferred until the call
 * returns. Not async-signal-safe: it allocates before the first thread is stopped and after the last one is resumed,
 * never in between. On a stopped thread: it stops the threads itself. */
USP_API int usp_snapshot_create_self(const struct usp_snapshot_options *options, struct usp_snapshot **snapshot);

/* Captures another process on this machine, of this host's processor or its 32-bit variant. If the caller dies, the
 * process is neither killed nor left stopped. `error` (may be NULL, `error_size` bytes) receives a sentence that says
 * what failed and what to do. Returns as usp_snapshot_create_self does, and USP_ERROR_NO_THREAD when there is no such
 * process, USP_ERROR_PERMISSION. Not async-signal-safe: it allocates; threads of another process hold no locks of this
 * process. On a stopped thread: yes. */
USP_API int usp_snapshot_create_process(int64_t pid, const struct usp_snapshot_options *options,
                                        struct usp_snapshot **snapshot, char *error, size_t error_size);

/* Reads a core file on any host: ELF (x86_64, i386, aarch64, arm) or Mach-O (all five processors). Memory use does not
 * grow with the file. Code that the core does not contain is read from the mapped files, if their build id or UUID
 * matches. `error` as above; it names the file, the offset and what is wrong. Returns as above, and USP_ERROR_FORMAT,
 * USP_ERROR_TRUNCATED, USP_ERROR_NOT_FOUND. Not async-signal-safe: it opens files and allocates. On a stopped thread:
 * yes. */
USP_API int usp_snapshot_open_core(const char *path, const struct usp_snapshot_options *options,
                                   struct usp_snapshot **snapshot, char *error, size_t error_size);

/* A core that is read once, from its beginning on: what the kernel writes to the program of a piped core_pattern
 * (core(5)). Filled by usp_core_stream_init, then by the caller. */
struct usp_core_stream {
    uint32_t size;          /* size of this struct in bytes; set by usp_core_stream_init */
    uint32_t below_sysroot; /* nonzero: files of images are opened below options.sysroot only. Default 0 */
    /* Reads the next bytes of the core, at most n. Returns how many, 0 at its end, or a negative enum usp_status. */
    int64_t (*read)(void *context, void *to, size_t n);
    void *context;
    /* Memory of the process, which is still there while the kernel waits: /proc/PID/mem. It is read during the call. The
     * rest of the core is then not needed. Default: not there; what the walks need of the core is kept in memory. */
    struct usp_memory memory;
    /* Completes what the core says about a thread, such as its name. NULL: nothing. Default NULL */
    void (*describe)(void *context, struct usp_thread_info *info);
    /* Without `memory`: how many bytes of the core are kept. Half of them are for stacks, of each of which at most the
     * innermost 4 MB (of the crashed thread's 16 MB) and the outermost 256 KB are kept. Default 64 MB */
    uint64_t max_bytes;
    uint64_t time;    /* when the process crashed: ns since 1970-01-01 UTC; 0 unknown. Default 0 */
    const char *name; /* for messages; NULL: "standard input". Default NULL */
    uint64_t reserved[4];
};

/* Sets the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_core_stream_init(struct usp_core_stream *stream);

/* Reads an ELF core whose notes come before its memory, as those of Linux do, from a stream. Nothing is written to a
 * disk; memory use does not grow with the core. The stream may be closed afterwards, wherever it ended. Otherwise as
 * usp_snapshot_open_core, but later walks find only what was kept. Returns as that does, what `read` returned, and
 * USP_ERROR_UNSUPPORTED when the notes come after memory. Not async-signal-safe: it opens files and allocates. */
USP_API int usp_snapshot_read_core(const struct usp_core_stream *stream, const struct usp_snapshot_options *options,
                                   struct usp_snapshot **snapshot, char *error, size_t error_size);

/* Frees a snapshot and everything obtained from it. NULL is ignored. Not async-signal-safe: it frees memory. */
USP_API void usp_snapshot_free(struct usp_snapshot *snapshot);

enum usp_snapshot_flags {
    USP_SNAPSHOT_PROGRAM_MISSING = 1 << 0, /* the core does not name its files, and no program was given */
    USP_SNAPSHOT_FILES_MISSING = 1 << 1,   /* files that would complete the core were not found */
    USP_SNAPSHOT_FILES_REFUSED = 1 << 2,   /* files were found, but of another build */
    USP_SNAPSHOT_TRUNCATED = 1 << 3,       /* the core is truncated: threads or memory are missing */
    USP_SNAPSHOT_FAULT = 1 << 4            /* fault_address is valid */
};

struct usp_snapshot_info {
    uint32_t arch;         /* enum usp_arch */
    uint32_t os;           /* enum usp_os */
    int64_t pid;           /* 0 unknown */
    uint64_t time;         /* when it was taken: ns since 1970-01-01 UTC; cores: 0 */
    uint64_t stopped_ns;   /* from the first thread's stop until the last one's resumption, in ns; cores: 0 */
    uint32_t thread_count; /* listed threads, including those that could not be stopped, and goroutines */
    uint32_t missed;       /* the number of these without a stack because of their status */
    uint32_t flags;        /* enum usp_snapshot_flags */
    uint32_t signal;       /* cores: the signal that ended the process; 0 unknown */
    const char *program;   /* path of the main program, "" unknown; valid until the snapshot is freed */
    /* Cores of Linux and crash reports: the signal that ended the process, its code, and what lies at the fault
     * address, in words: "SIGSEGV, the address is not mapped (SEGV_MAPERR), fault address 0x8: a null pointer and an
     * offset". "": unknown, or the process went on when a debugger wrote the core. Valid until the snapshot is freed. */
    const char *crash;
    uint64_t crashed_thread; /* cores, crash reports: id of the thread that got the signal; 0 unknown */
    usp_addr fault_address;  /* with USP_SNAPSHOT_FAULT: the address whose use raised the signal */
    int32_t signal_code;     /* cores of Linux, crash reports: si_code, if `crash` is not empty */
    uint32_t mach_exception; /* crash reports of Apple systems: the Mach exception that became the signal; 0 unknown */
    uint64_t mach_codes[2];  /* its code and subcode */
};

struct usp_snapshot_thread {
    struct usp_thread_info info;
    int32_t status; /* USP_OK, or why there is no stack */
    uint32_t reserved0;
    struct usp_registers registers;
    usp_addr stack_low, stack_high; /* the mapping or thread stack that contains sp; 0, 0 unknown */
    uint64_t stopped_ns;            /* how long this thread was stopped; 0 unknown */
    struct usp_stack stack;         /* its frames are valid as long as the snapshot */
    const void *sp_bytes;           /* the kept bytes around sp; NULL: none */
    usp_addr sp_bytes_address;
    size_t sp_bytes_size;
    /* Linux, a thread in uninterruptible sleep: the kernel's function in which it waits. A goroutine: for what it waits
     * ("chan receive"), or its state ("runnable"). NULL: not known. Valid until the snapshot is freed. */
    const char *wait_channel;
    usp_addr lock; /* address of the lock that info.lock_owner holds; 0: none, or not known */
    uint64_t reserved[2];
};

/* Returns data about the whole snapshot. Valid until the snapshot is freed. Async-signal-safe, thread-safe. */
USP_API const struct usp_snapshot_info *usp_snapshot_get_info(const struct usp_snapshot *snapshot);

/* Returns a signal's name, such as "SIGSEGV"; NULL when it has none. os: enum usp_os. Async-signal-safe,
 * thread-safe. */
USP_API const char *usp_signal_string(uint32_t os, uint32_t signal);

/* Returns the name of a Mach exception, such as "EXC_BAD_ACCESS"; NULL when it has none. Async-signal-safe,
 * thread-safe. */
USP_API const char *usp_mach_exception_string(uint32_t exception);

/* Returns thread i, 0 … thread_count − 1: of a core the thread that crashed first, then the main thread, the others by
 * id, and goroutines by id. NULL past the end. Async-signal-safe, thread-safe. */
USP_API const struct usp_snapshot_thread *usp_snapshot_get_thread(const struct usp_snapshot *snapshot, size_t i);

/* Returns the images that were loaded. Valid until the snapshot is freed. Async-signal-safe, thread-safe. */
USP_API const struct usp_images *usp_snapshot_images(const struct usp_snapshot *snapshot);

/* Gives thread i's target, for walks with other options or a cursor. Its memory is the snapshot's copy. Valid until
 * the snapshot is freed. Returns USP_OK, USP_ERROR_ARGUMENT, or the thread's status. Async-signal-safe,
 * thread-safe. */
USP_API int usp_snapshot_target(const struct usp_snapshot *snapshot, size_t i, struct usp_target *target);

enum usp_snapshot_note_kind {
    USP_NOTE_VALUE = 1,      /* the last value that the program set for `key` (usp_crash_set) */
    USP_NOTE_BREADCRUMB = 2, /* what the program did, oldest first (usp_crash_note) */
    USP_NOTE_CALLBACK = 3,   /* what the program's callback wrote after the crash */
    USP_NOTE_RECORDER = 4,   /* what the recorder says about the report, such as threads that are missing */
    USP_NOTE_MESSAGE =
        5 /* what the C library, C++ or an exception says about the crash; `key` names which message it is */
};

/* A text in a crash report. */
struct usp_snapshot_note {
    uint32_t kind; /* enum usp_snapshot_note_kind */
    uint32_t reserved0;
    uint64_t time;    /* when it was set: ns since 1970-01-01 UTC; 0 unknown */
    const char *key;  /* "" except for values and messages */
    const char *text; /* arbitrary bytes without NUL */
};

/* Returns note i of a crash report (crash.h), NULL past the last. Valid until the snapshot is freed. Async-signal-safe,
 * thread-safe. */
USP_API const struct usp_snapshot_note *usp_snapshot_get_note(const struct usp_snapshot *snapshot, size_t i);

/* Returns the stack that threw the exception by which the program of a crash report ended (usp_crash_set_exception), NULL
 * if there is none. Its frames are return addresses. The thread's own stack, which ends in the crash, is another one.
 * Valid until the snapshot is freed. Async-signal-safe, thread-safe. */
USP_API const struct usp_stack *usp_snapshot_exception(const struct usp_snapshot *snapshot);

/* Returns message i for users, NULL past the last. Each is a sentence about a file or thread that was refused or
 * missing. Valid until the snapshot is freed. Async-signal-safe, thread-safe. */
USP_API const char *usp_snapshot_message(const struct usp_snapshot *snapshot, size_t i);

USP_END_DECLS

#endif
