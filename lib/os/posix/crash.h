/* SPDX-License-Identifier: MIT */
/* The crash kit's signal handlers, for Linux and Apple systems. crash.c has what is the same for both: which thread
 * records, the handlers that were installed before, the timer. lib/os/linux/crash.c and lib/os/darwin/crash.c have what
 * differs, as a table: system calls, and how the signal ends the process. They also have the handlers themselves, which
 * find the state of their system.
 *
 * All functions are async-signal-safe, except those for installing. */
#ifndef USPI_OS_POSIX_CRASH_H
#define USPI_OS_POSIX_CRASH_H

#include "lib/os/os.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#define USPI_POSIX_CRASH_SIGNALS 8u
#define USPI_POSIX_CRASH_SECOND  UINT64_C(1000000000)
/* In place of the recorder while the kit is being uninstalled. */
#define USPI_POSIX_CRASH_ENDING UINT64_MAX
/* Marks the lowest word of an alternate stack of ours. */
#define USPI_POSIX_CRASH_STACK_MARK UINT64_C(0x7573705f63726173)

enum uspi_posix_crash_stage {
    USPI_POSIX_CRASH_NONE = 0,
    USPI_POSIX_CRASH_RECORDING,
    USPI_POSIX_CRASH_RECORDED, /* by another thread; the crashed one has not got its signal yet */
    USPI_POSIX_CRASH_PASSING_ON
};

/* Where a thread faulted. */
struct uspi_posix_crash_position {
    uint64_t thread, pc, sp;
    uintptr_t address;
};

/* A signal's action before the kit was installed. */
struct uspi_posix_crash_earlier {
    bool is_ours;          /* our handler was installed */
    _Atomic(bool) is_gone; /* it ran, and may run only once (SA_RESETHAND) */
    struct sigaction action;
};

struct uspi_posix_crash_system;

struct uspi_posix_crash {
    const struct uspi_posix_crash_system *system;
    struct uspi_os_crash_hooks hooks;
    _Atomic(int64_t) process; /* the process that records; 0: none */
    bool stays;               /* the handlers' code is never unloaded */
    struct uspi_posix_crash_earlier earlier[USPI_POSIX_CRASH_SIGNALS];

    /* The thread that records a crash, or the crashed thread for which another one has recorded it, or
     * USPI_POSIX_CRASH_ENDING; 0: none. */
    _Atomic(uint64_t) recorder;
    /* Written by that thread. */
    _Atomic(int) stage;   /* enum uspi_posix_crash_stage */
    uintptr_t handler_at; /* an address in its handler's frame */
    uintptr_t stack_low;  /* the alternate stack on which it runs */
    size_t stack_size;    /* 0: it runs on the interrupted stack */
    bool is_masked;       /* its earlier handler runs with the signal blocked, and the thread's state shows that */
    int first;            /* the signal, and its siginfo */
    siginfo_t first_info;
    struct uspi_posix_crash_position retracted; /* an earlier handler returned here, and the report was removed */
    _Atomic(uint64_t) alarm_from;               /* the earliest time of our alarm; UINT64_MAX: no timer of ours runs */
    _Atomic(bool) is_alarm_missed;              /* the program's own alarm came meanwhile */
    /* The program's timer, its handler of alarms, and the crashed thread's mask, if it is known. */
    struct itimerval timer;
    struct sigaction alarm;
    uint64_t mask;
    bool has_mask;
};

/* What differs between systems. */
struct uspi_posix_crash_system {
    /* The handlers: they call uspi_posix_crash_handle and uspi_posix_crash_alarm. */
    void (*on_signal)(int number, siginfo_t *info, void *context);
    void (*on_alarm)(int number);

    /* For installing. `make` returns a zeroed state, which may be the first member of a larger one; NULL: memory is
     * exhausted. `reserve` acquires what a crash needs, and returns a status; `release` gives it back. */
    struct uspi_posix_crash *(*make)(void);
    void (*discard)(struct uspi_posix_crash *c);
    int (*reserve)(struct uspi_posix_crash *c, size_t max_threads);
    void (*release)(struct uspi_posix_crash *c);
    /* Keeps this code loaded until the process ends. Returns whether it stays. */
    bool (*keep_code)(void);

    int64_t (*own_process)(void);
    uint64_t (*own_thread)(void); /* 0: not known */
    /* As sigaction and pthread_sigmask. A mask has bit signal − 1. They return false on failure. */
    bool (*set_action)(int number, const struct sigaction *action, struct sigaction *old);
    bool (*set_mask)(int how, uint64_t mask, uint64_t *old);
    /* Finds the calling thread's alternate stack. Returns false when there is none. */
    bool (*own_stack)(uintptr_t *low, size_t *size);
    /* Sleeps for a few milliseconds. */
    void (*nap)(struct uspi_posix_crash *c);
    /* Returns whether the calling thread blocks a signal, as has_left and a signal's context see it; false: also not
     * known. */
    bool (*blocks)(int number);
    /* Returns whether another thread, the recorder, has ended, or has left its earlier handler by longjmp. False: also
     * not known. */
    bool (*has_left)(const struct uspi_posix_crash *c, uint64_t recorder);

    /* Returns whether the signal repeats when the handler returns, because the instruction does. */
    bool (*may_repeat)(int number, const siginfo_t *info);
    /* Calls hooks.record with what the system knows of the crash. Begins the timer. */
    void (*record)(struct uspi_posix_crash *c, int number, const siginfo_t *info, const void *context);
    /* Makes the signal end the process when the handler returns. */
    void (*end)(struct uspi_posix_crash *c, int number, const siginfo_t *info, void *context);
    /* The same when the recording thread crashes in its own handler. */
    void (*end_in_handler)(struct uspi_posix_crash *c, int number, const siginfo_t *info, void *context);
    /* Ends the process by the signal of the crash because it takes too long. Any thread may run this. */
    void (*end_late)(struct uspi_posix_crash *c);
};

/* Do what the functions of os.h do that begin with uspi_os_crash_.
 *   place  of this process's state. NULL in it: the kit was never installed
 *   c      NULL: the kit was never installed */
int uspi_posix_crash_install(struct uspi_posix_crash *_Atomic *place, const struct uspi_posix_crash_system *system,
                             const struct uspi_os_crash_hooks *hooks);
bool uspi_posix_crash_pause(struct uspi_posix_crash *c);
void uspi_posix_crash_resume(struct uspi_posix_crash *c);
void uspi_posix_crash_uninstall(struct uspi_posix_crash *c);

/* Calls hooks.end if the kit is installed: the process exits, or this code is unloaded. c: may be NULL. */
void uspi_posix_crash_end_with_process(const struct uspi_posix_crash *c);

/* Returns whether the kit is installed in this process. c: may be NULL. */
bool uspi_posix_crash_is_installed(const struct uspi_posix_crash *c);

/* Handle a signal, and an alarm. */
void uspi_posix_crash_handle(struct uspi_posix_crash *c, int number, siginfo_t *info, void *context);
void uspi_posix_crash_alarm(struct uspi_posix_crash *c);

/* For a thread that records the crash of another one, before that one gets its signal. begin_for returns false if there
 * is nothing to record: another thread records, or the signal's handler is not ours. If the crash is recorded already,
 * the crashed thread cannot take its signal, and the process is ended. end_for calls the program's callback; then the
 * signal ends the process at once, or goes to the earlier handler. */
bool uspi_posix_crash_begin_for(struct uspi_posix_crash *c, uint64_t thread, int number);
void uspi_posix_crash_end_for(struct uspi_posix_crash *c, uint64_t thread);

/* Replaces the program's timer and its handler of alarms by ours, and lets alarms through. */
void uspi_posix_crash_begin_timer(struct uspi_posix_crash *c);
/* Lets the system's end_late be called after a time in ns. */
void uspi_posix_crash_set_timer(struct uspi_posix_crash *c, uint64_t ns);

/* Whether the recording thread is still in its handler, or in the earlier handler that it called, and has not left by
 * longjmp.
 *   sp         its stack pointer outside of our code; 0: not known
 *   is_masked  whether it blocks the signal of its crash */
bool uspi_posix_crash_is_in_handler(const struct uspi_posix_crash *c, uintptr_t sp, bool is_masked);

#endif
