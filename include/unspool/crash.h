/* SPDX-License-Identifier: MIT */
/* The crash kit: records what a program did when a signal ends it, and reads the report at the next start. Linux, and
 * Apple systems except watchOS and under Rosetta; elsewhere usp_crash_install returns USP_ERROR_UNSUPPORTED.
 * doc/crash.md describes reports and limits. */
#ifndef UNSPOOL_CRASH_H
#define UNSPOOL_CRASH_H

#include <unspool/base.h>
#include <unspool/snapshot.h>

USP_BEGIN_DECLS

#define USP_CRASH_CALLBACK_SIZE 4096 /* bytes that the callback may fill */

/* Filled by usp_crash_options_init, then by the caller. Only `directory` has to be set. */
struct usp_crash_options {
    uint32_t size;        /* size of this struct in bytes; set by usp_crash_options_init */
    uint32_t max_reports; /* reports kept in the directory. Default 20 */
    uint64_t max_bytes;   /* bytes of all reports together. Default 10,000,000 */
    /* The folder of the reports. Several processes and programs may use it at once (doc/crash.md). The last folder of the
     * path is created. A relative path begins at the working folder of the call. */
    const char *directory;
    const char *version;  /* the program's version, to recognise an update; NULL: not known. Default NULL */
    uint32_t max_threads; /* other threads that are recorded. Default 1024 */
    uint32_t max_frames;  /* frames of each thread: the innermost and the outermost. Default 256 */
    /* Time limit of the report in ns, and again of the callback. Threads that have not answered by then are listed
     * without a stack. Default 2,000,000,000. */
    uint64_t timeout;
    /* Called on the crashed thread, or on a thread of the kit, after the report is visible. It must be
     * async-signal-safe, and writes up to `size` bytes of text, which the report keeps. If it crashes or takes too long,
     * the process ends with the report as it was. NULL: none. Default NULL. */
    void (*callback)(void *context, char *text, size_t size);
    void *context; /* passed to callback */
    uint64_t reserved[4];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_crash_options_init(struct usp_crash_options *options);

/* Records from now on the crashes of this process: SIGSEGV, SIGBUS, SIGABRT, SIGTRAP, SIGILL, SIGFPE, SIGSYS, and on
 * Apple systems SIGEMT. Signals that the program ignores stay ignored. Handlers that were installed before are called
 * once, after the report is written. If such a handler repairs the fault, the report is removed: when the handler
 * returns, or, if it leaves by longjmp, at the next crash and at the clean end. Otherwise the signal ends the process as
 * it would have without this call, on Linux with its original siginfo. Gives the calling thread an alternate signal
 * stack, as usp_crash_thread_begin does.
 *
 * On Linux it does no work for each image: images and unwind tables are found at the crash, without the loader. It takes
 * the signal of usp_prepare, with its defaults, unless that was called; usp_prepare can be called later for captures.
 * On Apple systems it calls usp_prepare with its defaults if necessary, and starts a thread that receives Mach exceptions
 * (doc/crash.md, usp_crash_status). A library that contains this code is not unloaded any more.
 *
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_BUSY when it is installed, USP_ERROR_NO_MEMORY, USP_ERROR_PERMISSION,
 * USP_ERROR_NOT_FOUND (no such folder), USP_ERROR_SYSTEM, USP_ERROR_UNSUPPORTED, or a failure of usp_prepare. In a child
 * of fork nothing is recorded before the child calls it again. Thread-safe: of calls at once, one installs the kit. Not
 * async-signal-safe: it allocates and writes files. */
USP_API int usp_crash_install(const struct usp_crash_options *options);

/* Returns whether the kit sees all that it can see on this system. USP_OK: yes. USP_ERROR_NOT_PREPARED: it is not
 * installed. Otherwise, on Apple systems, it sees signals alone: a crash of a thread that has no stack for a handler, or
 * blocks the signal, leaves no report. USP_ERROR_PERMISSION: the system forbids this program to receive Mach exceptions.
 * USP_ERROR_BUSY: when the kit was installed, a debugger or another crash reporter received some of them, or all.
 * USP_ERROR_SYSTEM: a call failed. Async-signal-safe, thread-safe. */
USP_API int usp_crash_status(void);

/* Ends recording, marks this run as ended, and restores the earlier handlers where ours are still in place. At the
 * process's clean end the run is marked too, but recording goes on, for a crash in a destructor that runs later. Waits
 * while another thread records a crash, which then ends the process. Does nothing if the kit is not installed, or in an
 * earlier handler that is called after a crash. Thread-safe: beside calls of itself and of usp_crash_install on other
 * threads, one takes effect after the other. Not async-signal-safe: it writes files. */
USP_API void usp_crash_uninstall(void);

/* Prepare the calling thread, and undo that at the thread's end: they give it an alternate signal stack of 64 KB (Apple
 * systems: 128 KB), unless it has one of at least 32 KB. Without one, a stack overflow on this thread ends the process
 * without a report, unless the kit receives Mach exceptions. Returns USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM,
 * USP_ERROR_UNSUPPORTED (also on tvOS, which has no such stacks). Thread-safe, not async-signal-safe: they map memory. */
USP_API int usp_crash_thread_begin(void);
USP_API void usp_crash_thread_end(void);

/* Sets the value of a key, which a report will contain. There are 64 keys; keys are cut at 31 bytes, values at 223.
 * value NULL: removes the key. Returns USP_OK, USP_ERROR_FULL, USP_ERROR_ARGUMENT, USP_ERROR_NOT_PREPARED when the kit
 * is not installed, USP_ERROR_BUSY when the code that this handler interrupts sets the same key. Async-signal-safe,
 * thread-safe. */
USP_API int usp_crash_set(const char *key, const char *value);

/* Adds a breadcrumb: what the program does now. A report contains the last 64, each cut at 119 bytes. Returns USP_OK,
 * USP_ERROR_ARGUMENT, USP_ERROR_NOT_PREPARED when the kit is not installed, USP_ERROR_BUSY when another breadcrumb is
 * being written to the same place. Async-signal-safe, thread-safe. */
USP_API int usp_crash_note(const char *text);

/* Notes the exception of a language that the calling thread has thrown and that no code catches. If the thread then
 * crashes, normally by abort, the report contains it: "KIND: TEXT" among its messages, and the stack of the throw
 * (usp_snapshot_exception). USPCrashReporter does this for NSException. The last exception of all threads counts.
 *   kind    "NSException", cut at 31 bytes; NULL: there is no exception, it was caught
 *   text    its name and reason, cut at 1,023 bytes
 *   frames  the return addresses of the stack that threw it, innermost first; the first 512 are kept. May be NULL with 0
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NOT_PREPARED when the kit is not installed, USP_ERROR_BUSY when another
 * thread calls it, or the code that this handler interrupts. Async-signal-safe, thread-safe. */
USP_API int usp_crash_set_exception(const char *kind, const char *text, const usp_addr *frames, size_t count);

/* ---- at the next start ---- */

/* How a run ended. Only the first three are certain; the others are guesses by the evidence that there is. */
enum usp_crash_verdict {
    USP_CRASH_NO_RUN = 0,        /* the directory knows of no earlier run of this program that has ended */
    USP_CRASH_ENDED = 1,         /* it ended by exit or return from main, or called usp_crash_uninstall */
    USP_CRASH_CRASHED = 2,       /* there is a report, possibly a torn one, or one of a crash after exit */
    USP_CRASH_UPDATED = 3,       /* the program's version has changed since: an update probably ended it */
    USP_CRASH_RESTARTED = 4,     /* the system was restarted since */
    USP_CRASH_OUT_OF_MEMORY = 5, /* the kernel has killed a process of its control group for lack of memory since */
    USP_CRASH_EXECUTED = 6,      /* this process: it has executed this program anew (exec) */
    USP_CRASH_UNEXPLAINED = 7    /* SIGKILL, _exit, another signal, power cut, exec of another program */
};

struct usp_crash_run {
    uint32_t verdict; /* enum usp_crash_verdict */
    uint32_t crashes; /* how many runs in a row have crashed, this one included; 0: it did not */
    int64_t pid;
    uint64_t started;   /* when usp_crash_install was called: ns since 1970-01-01 UTC */
    uint64_t lasted;    /* from then until the crash, or the clean end, in ns; 0: not known */
    char report[48];    /* name of its report; "": none, or it was deleted */
    char evidence[160]; /* why the verdict was chosen: a sentence */
    uint64_t reserved[4];
};

/* Tells how the last run of this program ended that used the directory: of all that have ended, the one that began last.
 * Runs of the same program are those whose executable has the same file name. Call it before or after usp_crash_install.
 * `version`: this program's version, NULL: not known. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY,
 * USP_ERROR_PERMISSION, USP_ERROR_SYSTEM. Not async-signal-safe: it reads files and allocates. */
USP_API int usp_crash_last_run(const char *directory, const char *version, struct usp_crash_run *run);

struct usp_crash_report {
    char name[48];
    uint64_t started; /* of the run that crashed: ns since 1970-01-01 UTC */
    uint64_t bytes;
    uint32_t is_sent; /* nonzero: usp_crash_mark_sent was called */
    uint32_t reserved0;
    uint64_t reserved[4];
};

/* Lists the reports, the newest first. Reports that were torn when the process was killed are included.
 *   reports, capacity  the caller's array; may be NULL with 0
 *   count              becomes the number of reports, even when that exceeds capacity
 * Returns USP_OK, USP_ERROR_FULL when the array was too small, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY,
 * USP_ERROR_PERMISSION, USP_ERROR_SYSTEM. Not async-signal-safe: it reads files and allocates. */
USP_API int usp_crash_list(const char *directory, struct usp_crash_report *reports, size_t capacity, size_t *count);

/* Opens a report as a snapshot; otherwise as usp_snapshot_open_raw (raw.h). usp_snapshot_get_info has the cause,
 * usp_snapshot_get_note the keys, breadcrumbs and the callback's text, usp_snapshot_exception an exception's stack. Not
 * async-signal-safe. */
USP_API int usp_crash_open(const char *directory, const char *name, struct usp_snapshot **snapshot, char *error,
                           size_t error_size);

/* Marks a report as sent, and deletes one. When there are too many reports, sent ones are deleted first. Return USP_OK,
 * USP_ERROR_ARGUMENT, USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM. Not async-signal-safe: they change
 * files. */
USP_API int usp_crash_mark_sent(const char *directory, const char *name);
USP_API int usp_crash_delete(const char *directory, const char *name);

/* Deletes the oldest reports, sent ones first, until there are at most max_reports of at most max_bytes together.
 * usp_crash_install does this with its options. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY,
 * USP_ERROR_PERMISSION, USP_ERROR_SYSTEM. Not async-signal-safe: it changes files and allocates. */
USP_API int usp_crash_trim(const char *directory, uint32_t max_reports, uint64_t max_bytes);

USP_END_DECLS

#endif
