/* SPDX-License-Identifier: MIT */
/* A program that runs one instruction at a time: natively by ptrace (victim_ptrace.c), or in a user-mode emulator by
 * gdb's remote protocol (victim_gdb.c). Only its first thread is stepped; its other threads run freely. */
#ifndef TESTS_REAL_VICTIM_H
#define TESTS_REAL_VICTIM_H

#include <stdbool.h>
#include <sys/types.h>

#include "arch/backend.h"

enum victim_event {
    VICTIM_STOPPED, /* it has stopped, with the registers `now` */
    VICTIM_ENDED,   /* it exited, was killed, or became another program */
    VICTIM_LOST     /* it did not stop in time */
};

struct victim {
    const struct victim_ways *ways;
    const struct uspi_backend *backend;
    pid_t pid;                /* the process that contains the program's memory */
    usp_addr base;            /* difference between the process's addresses and the program's */
    usp_addr entry;           /* the program's first instruction after the loader */
    struct usp_registers now; /* all registers are known */
    int signal;               /* delivered when the program continues; 0: none */
    int delivered;            /* delivered before the newest instruction; 0: none */
    int connection;           /* victim_gdb.c */
    long threads;             /* victim_gdb.c: the thread's id in gdb's protocol */
};

/* Maximum number of addresses at which victim_run stops. */
#define VICTIM_STOPS 2u

struct victim_ways {
    enum victim_event (*step)(struct victim *victim);
    enum victim_event (*run)(struct victim *victim, const usp_addr *stops, unsigned count, unsigned seconds);
    void (*end)(struct victim *victim);
};

/* Starts the program arguments[0], which is searched in PATH, and stops before its first instruction. Returns false and
 * prints a message if it could not be started. */
bool victim_start_ptrace(struct victim *victim, char *const arguments[]);

/* The same by the emulator arguments[0] (qemu-aarch64, qemu-arm); the program and its arguments follow. */
bool victim_start_gdb(struct victim *victim, char *const arguments[]);

/* Executes one instruction. A pending signal is delivered first: then the program is at its handler's first instruction
 * or, in an emulator, one after it. */
static inline enum victim_event victim_step(struct victim *v) { return v->ways->step(v); }

/* Runs until the program is about to execute one of the addresses; it must not be at one of them now. Delivers signals
 * on the way. `seconds` is the time limit. */
static inline enum victim_event victim_run(struct victim *v, const usp_addr *stops, unsigned count, unsigned seconds) {
    return v->ways->run(v, stops, count, seconds);
}

/* Kills the program if it still exists, and frees what belongs to it. */
static inline void victim_end(struct victim *v) { v->ways->end(v); }

static inline usp_addr victim_pc(const struct victim *v) { return v->now.value[v->backend->pc]; }
static inline usp_addr victim_sp(const struct victim *v) { return v->now.value[v->backend->sp]; }

/* Reads n bytes. Returns false if not all can be read. */
bool victim_read(const struct victim *victim, usp_addr from, void *to, size_t n);

/* Reads one word. */
bool victim_load(const struct victim *victim, usp_addr from, usp_addr *word);

/* The value of an entry (AT_ENTRY …) in the bytes that getauxval(3) reads; 0 if there is none. */
usp_addr victim_auxiliary(const uint8_t *bytes, size_t n, unsigned word, uint64_t wanted);

/* The program's standard input; NULL: empty. */
extern const char *victim_input;

/* Prepares the child that becomes the program: its standard input, an output that is discarded, the same addresses each
 * time. */
void victim_prepare_child(void);

#endif
