/* SPDX-License-Identifier: MIT */
/* An emulated process of an Apple system: its memory, its images, its threads. kernel.h executes its calls into the
 * system, scenario.c checks its results. There is one process, and one of its threads runs at a time. */
#ifndef TESTS_APPLE_EMULATED_PROCESS_H
#define TESTS_APPLE_EMULATED_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <unspool/images.h>
#include <unspool/unwind.h>

#include "tests/emulated/machine.h"
#include "tests/emulated/signing.h"
#include "tests/emulated/truth.h"

/* arm64's pages on Apple systems; the other processors' are smaller. */
#define GUEST_PAGE 16384u

/* A mapped range, or a guard range. */
struct guest_region {
    usp_addr low, high;
    uint8_t *bytes; /* NULL: a guard range, which cannot be read */
};

#define GUEST_REGIONS 32u
#define GUEST_IMAGES  2u
#define GUEST_THREADS 6u

struct guest_thread {
    uint64_t id;
    uint32_t port;
    long rights;        /* beyond the one that libpthread holds */
    unsigned suspended; /* suspend count */
    char name[64];
    usp_addr low, high;    /* bounds of the stack */
    usp_addr data;         /* address of its pthread_t */
    usp_addr slots;        /* address of its thread-specific slots; the first holds the pthread_t */
    uc_context *context;   /* processor's state while the thread does not run */
    usp_addr pc;           /* where it continues; with the Thumb bit */
    usp_addr stopped_at;   /* the same address if a limit stopped it there */
    struct moment now;     /* state while it does not run */
    struct moment before;  /* state at the instruction before that */
    bool began, has_ended; /* it has executed an instruction; it has ended */
    bool in_handler;       /* it runs a signal handler, where the true stack is not followed */
    struct truth truth;
};

/* Counts of what the process holds. Each must be as before when it ends. */
struct guest_account {
    long rights, mappings, suspended;
    unsigned long windows;   /* from the first thread suspended to the last one resumed */
    unsigned long forbidden; /* calls in a window that are not allowed there */
    const char *forbidden_call;
    unsigned long errors; /* rights returned that were not held, memory freed that was not mapped */
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
    usp_addr data_next, data_end; /* free part of the system's own data */
    usp_addr traps, traps_end;    /* system functions, GUEST_TRAP bytes each */
    usp_addr heap_next, heap_end;
    struct guest_thread threads[GUEST_THREADS];
    size_t thread_count;
    struct guest_thread *current;
    uc_context *fresh; /* the processor's state when a thread begins */
    struct guest_account account;
    unsigned long instructions;
};

/* Starts the processor. address_bits: number of the lowest signature bit; 0: pointers are not signed. Returns false on
 * a failure, which guest->machine.error describes. Call guest_close in both cases. */
bool guest_open(struct guest *guest, uint32_t arch, unsigned address_bits);
void guest_close(struct guest *guest);

/* Puts the system functions at `traps`, `count` of them: a program that is linked statically contains them. */
void guest_set_traps(struct guest *guest, usp_addr traps, unsigned count);

/* Ends the run with a reason, a static string. Returns false. */
bool guest_fail(struct guest *guest, const char *why);

/* ---- memory ---- */

/* Maps zeroed memory at a page-aligned address; NULL on a failure. */
uint8_t *guest_map(struct guest *guest, usp_addr low, uint64_t size);

/* Makes a range that faults at each access. */
bool guest_forbid(struct guest *guest, usp_addr low, uint64_t size);

/* The address of a place in the process's layout, which has the same distances with 32 and 64 bits. */
usp_addr guest_place(const struct guest *guest, uint32_t offset);

/* Returns n mapped bytes, or NULL if not all are mapped. */
uint8_t *guest_bytes(const struct guest *guest, usp_addr from, uint64_t n);

/* The region that contains an address, or the next one above it; NULL: there is none. */
const struct guest_region *guest_region_at(const struct guest *guest, usp_addr address);

/* A usp_memory.read function; context is the guest. */
int guest_read(void *context, usp_addr from, void *to, size_t n);

/* Stores a little-endian number of `width` bytes. An unmapped address ends the run. */
void guest_store(struct guest *guest, usp_addr to, uint64_t value, unsigned width);

/* Allocates n bytes of the system's own data, aligned to 16, which are never freed. Returns 0 if no more is left. */
usp_addr guest_data(struct guest *guest, size_t n);
usp_addr guest_string(struct guest *guest, const char *text);

/* Size of a pointer in bytes. */
unsigned guest_word(const struct guest *guest);

/* ---- threads ---- */

/* Makes a thread that will begin at `entry` (with the Thumb bit), with frame pointer and return address 0, as Apple's
 * start functions leave them. Returns NULL on a failure. */
struct guest_thread *guest_thread_create(struct guest *guest, const char *name, usp_addr entry, uint64_t stack_size);

/* Makes a thread that does not run call a function next. `sp` is the stack pointer before the call, `return_to` the
 * return address. There are up to 4 arguments, or 6 where there are registers for them. Returns the processor's state
 * for guest_back, which restores it (but not the rest of *thread); NULL on a failure. */
uc_context *guest_call(struct guest *guest, struct guest_thread *thread, usp_addr function, usp_addr sp,
                       usp_addr return_to, const uint64_t *arguments, unsigned count);
void guest_back(struct guest *guest, struct guest_thread *thread, uc_context *kept);

enum guest_end {
    GUEST_FAILED, /* machine.error has the reason */
    GUEST_LIMIT,  /* the limit of instructions is reached */
    GUEST_PARKED, /* the thread has parked: guest_end_run */
    GUEST_DONE    /* the thread has ended */
};

/* Called for a system function. Afterwards the process returns to the function's caller, unless the function has moved
 * the thread itself. */
typedef bool (*guest_trap)(struct guest *guest, unsigned number);

/* Lets a thread run: at most `limit` instructions, or with 0 until it parks. Afterwards the thread that ran before
 * continues. */
enum guest_end guest_run(struct guest *guest, struct guest_thread *thread, uint64_t limit, guest_trap trap);

/* Called in a trap: ends the run of the current thread with `end` when the trap returns. */
void guest_end_run(struct guest *guest, enum guest_end end);

/* ---- the calling convention, in a trap of the current thread ---- */

/* Argument i; no argument before it may be wider than a pointer. */
uint64_t guest_argument(const struct guest *guest, unsigned i);

/* A 64-bit argument that begins at word i: two words where registers have 32 bits. */
uint64_t guest_argument64(const struct guest *guest, unsigned i);

void guest_return(struct guest *guest, uint64_t value);
void guest_return64(struct guest *guest, uint64_t value);

/* The current thread's registers as they are right after the call that led into the trap. */
void guest_registers_after_call(const struct guest *guest, struct usp_registers *registers);

#define GUEST_TRAP 16u
/* Where vm_allocate's memory begins (guest_place). */
#define GUEST_HEAP 0x38000000u

#endif
