/* SPDX-License-Identifier: MIT */
/* A process of an Apple system in the emulator: its memory, its images, its threads. What its calls into the system do is
 * kernel.h's, what is expected of it scenario.h's. One process at a time, one thread runs at a time. */
#ifndef USP_TESTS_APPLE_PROCESS_H
#define USP_TESTS_APPLE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <unspool/images.h>
#include <unspool/unwind.h>

#include "tests/emulated/machine.h"
#include "tests/emulated/signing.h"
#include "tests/emulated/truth.h"

/* arm64's pages on Apple systems; the others' are smaller. */
#define GUEST_PAGE 16384u

/* A mapped range, or one that must not be touched. */
struct guest_region {
    usp_addr low, high;
    uint8_t *bytes; /* NULL: nothing can be read there */
};

#define GUEST_REGIONS 32u
#define GUEST_IMAGES  2u
#define GUEST_THREADS 6u

struct guest_thread {
    uint64_t id;
    uint32_t port;
    long rights;        /* beyond the one that libpthread holds */
    unsigned suspended; /* how often */
    char name[64];
    usp_addr low, high;    /* the stack */
    usp_addr data;         /* its pthread_t; thread-specific slots follow at */
    usp_addr slots;        /* whose first is the pthread_t */
    uc_context *context;   /* of the processor while it does not run */
    usp_addr pc;           /* where it goes on; with the Thumb bit */
    usp_addr stopped_at;   /* the same, when it was stopped there by a limit */
    struct moment now;     /* while it does not run */
    struct moment before;  /* the instruction before that */
    bool began, has_ended; /* carried out an instruction; its last one */
    bool in_handler;       /* runs a signal handler, during which the truth is not asked for */
    struct truth truth;
};

/* How many of what the process holds; all back where they were when it ends. */
struct guest_account {
    long rights, mappings, suspended;
    unsigned long windows;   /* from the first thread suspended to the last one resumed */
    unsigned long forbidden; /* calls in a window that must not be there */
    const char *forbidden_call;
    unsigned long errors; /* rights given back that were not held, memory freed that was not mapped */
};

struct guest {
    struct machine machine;
    struct signing signing;
    bool is_signed;
    unsigned address_bits;
    struct guest_region regions[GUEST_REGIONS];
    size_t region_count;
    struct usp_image images[GUEST_IMAGES]; /* as loaded; the main program first */
    usp_addr paths[GUEST_IMAGES];          /* their paths in the guest's memory */
    size_t image_count;
    usp_addr data_next, data_end; /* the system's own data */
    usp_addr traps, traps_end;    /* functions of the system: GUEST_TRAP bytes each */
    usp_addr heap_next, heap_end;
    struct guest_thread threads[GUEST_THREADS];
    size_t thread_count;
    struct guest_thread *current;
    uc_context *fresh; /* of the processor as a thread begins */
    struct guest_account account;
    unsigned long instructions;
};

/* Starts the processor. address_bits: signatures lie from there up; 0: pointers are not signed. False on a failure, which
 * guest->machine.error names; guest_close frees it in both cases. */
bool guest_open(struct guest *guest, uint32_t arch, unsigned address_bits);
void guest_close(struct guest *guest);

/* The functions of the system stand in the program itself, which is linked statically: so many, from there on. */
void guest_set_traps(struct guest *guest, usp_addr traps, unsigned count);

/* Ends the run; the reason is static. Returns false. */
bool guest_fail(struct guest *guest, const char *why);

/* ---- memory ---- */

/* Maps zeroed memory there, page-aligned; NULL on a failure. */
uint8_t *guest_map(struct guest *guest, usp_addr low, uint64_t size);

/* A range that is there and faults. */
bool guest_forbid(struct guest *guest, usp_addr low, uint64_t size);

/* Where an address of the process's layout lies: the same distances with 32 and with 64 bits. */
usp_addr guest_place(const struct guest *guest, uint32_t offset);

/* All n bytes of mapped memory, or NULL. */
uint8_t *guest_bytes(const struct guest *guest, usp_addr from, uint64_t n);

/* The region that holds an address, or else the next one above it; NULL if none does. */
const struct guest_region *guest_region_at(const struct guest *guest, usp_addr address);

/* The shape of usp_memory.read; context is the guest. */
int guest_read(void *context, usp_addr from, void *to, size_t n);

/* Stores a little-endian number of `width` bytes. A place that is not mapped ends the run. */
void guest_store(struct guest *guest, usp_addr to, uint64_t value, unsigned width);

/* n bytes of the system's own data, aligned to 16, which stay. 0 when there is no more. */
usp_addr guest_data(struct guest *guest, size_t n);
usp_addr guest_string(struct guest *guest, const char *text);

/* Bytes of a pointer. */
unsigned guest_word(const struct guest *guest);

/* ---- threads ---- */

/* A thread that will begin at `entry` (with the Thumb bit), with frame pointer and return address 0, as Apple's start
 * functions leave them. NULL on a failure. */
struct guest_thread *guest_thread_create(struct guest *guest, const char *name, usp_addr entry, uint64_t stack_size);

/* Makes a thread that does not run call a function next: with `sp` as the stack pointer's value before the call,
 * `return_to` as return address, and up to 4 arguments (6 where there are registers for them). What it gives is for guest_back, which puts the processor's state
 * (not the rest of *thread) back as it was. NULL on a failure. */
uc_context *guest_call(struct guest *guest, struct guest_thread *thread, usp_addr function, usp_addr sp,
                       usp_addr return_to, const uint64_t *arguments, unsigned count);
void guest_back(struct guest *guest, struct guest_thread *thread, uc_context *kept);

enum guest_end {
    GUEST_FAILED, /* machine.error says why */
    GUEST_LIMIT,  /* so many instructions were carried out */
    GUEST_PARKED, /* the thread asked to be left alone: guest_stop */
    GUEST_DONE    /* guest_finish */
};

/* Called for a function of the system, whose caller has not been returned to: that is done afterwards, unless the function
 * itself has moved the thread on. */
typedef bool (*guest_trap)(struct guest *guest, unsigned number);

/* Lets a thread run: at most `limit` instructions, 0: until it parks. The thread that ran before goes on afterwards. */
enum guest_end guest_run(struct guest *guest, struct guest_thread *thread, uint64_t limit, guest_trap trap);

/* In a trap: the run of the current thread ends with this when the trap returns. */
void guest_end_run(struct guest *guest, enum guest_end end);

/* ---- the calling convention, in a trap of the current thread ---- */

/* Argument i of those that are as wide as a pointer or narrower. */
uint64_t guest_argument(const struct guest *guest, unsigned i);

/* An argument of 64 bits in place i of those words: two words where a word has 32 bits in the registers. */
uint64_t guest_argument64(const struct guest *guest, unsigned i);

void guest_return(struct guest *guest, uint64_t value);
void guest_return64(struct guest *guest, uint64_t value);

/* The current thread's registers right behind the call that led into the trap. */
void guest_registers_behind(const struct guest *guest, struct usp_registers *registers);

#define GUEST_TRAP 16u
/* Where vm_allocate's memory begins (guest_place). */
#define GUEST_HEAP 0x38000000u

#endif
