/* SPDX-License-Identifier: MIT */
/* A program that is run one instruction at a time: natively by ptrace (victim_ptrace.c), or in a user-mode emulator by gdb's
 * remote protocol (victim_gdb.c). Only its first thread is stepped; the others run as they like. */
#ifndef USP_TESTS_REAL_VICTIM_H
#define USP_TESTS_REAL_VICTIM_H

#include <stdbool.h>
#include <sys/types.h>

#include "arch/backend.h"

enum victim_event {
    VICTIM_STOPPED, /* it stands at `now` */
    VICTIM_ENDED,   /* it exited, was killed, or became another program */
    VICTIM_LOST     /* it did not stop in time */
};

struct victim {
    const struct victim_ways *ways;
    const struct uspi_backend *backend;
    pid_t pid;                /* of the process in whose memory the program lies */
    usp_addr base;            /* added to the program's addresses it gives the process's */
    usp_addr entry;           /* the program's first instruction behind the loader */
    struct usp_registers now; /* all known */
    int signal;               /* will be delivered when the program goes on; 0: none */
    int delivered;            /* was delivered before the newest instruction; 0: none */
    int connection;           /* victim_gdb.c */
    long threads;             /* victim_gdb.c: the id that gdb's protocol gives the thread */
};

/* Addresses at which victim_run stops, at most. */
#define VICTIM_STOPS 2u

struct victim_ways {
    enum victim_event (*step)(struct victim *victim);
    enum victim_event (*run)(struct victim *victim, const usp_addr *stops, unsigned count, unsigned seconds);
    void (*end)(struct victim *victim);
};

/* Starts arguments[0], which is searched for, before its first instruction. False: it could not be started; a sentence was
 * printed. */
bool victim_start_ptrace(struct victim *victim, char *const arguments[]);

/* The same by the emulator that arguments[0] is (qemu-aarch64, qemu-arm), with the program and what it is given behind it. */
bool victim_start_gdb(struct victim *victim, char *const arguments[]);

/* One instruction. A signal that was waiting is delivered first: then the program stands at its handler's beginning, or, in
 * an emulator, one instruction behind it. */
static inline enum victim_event victim_step(struct victim *v) { return v->ways->step(v); }

/* Runs until the program is about to execute one of the addresses, of which it does not stand at any; signals are delivered
 * on the way. `seconds` is how long that may take. */
static inline enum victim_event victim_run(struct victim *v, const usp_addr *stops, unsigned count, unsigned seconds) {
    return v->ways->run(v, stops, count, seconds);
}

/* Kills it, if it still is there, and forgets it. */
static inline void victim_end(struct victim *v) { v->ways->end(v); }

static inline usp_addr victim_pc(const struct victim *v) { return v->now.value[v->backend->pc]; }
static inline usp_addr victim_sp(const struct victim *v) { return v->now.value[v->backend->sp]; }

/* All or nothing. */
bool victim_read(const struct victim *victim, usp_addr from, void *to, size_t n);

/* One word. */
bool victim_load(const struct victim *victim, usp_addr from, usp_addr *word);

/* The value of an entry (AT_ENTRY …) in the bytes that getauxval(3) reads; 0 when it is not there. */
usp_addr victim_auxiliary(const uint8_t *bytes, size_t n, unsigned word, uint64_t wanted);

/* The file that programs read; NULL: nothing. */
extern const char *victim_input;

/* For the child that becomes the program: that file to read, no reader of its output, always the same addresses. */
void victim_prepare_child(void);

#endif
