/* SPDX-License-Identifier: MIT */
/* What is known of registers and stack slots at one point of a path through code, relative to the registers at its
 * beginning.
 *
 * All states of an exploration share one log of assignments, which grows as a tree. A state is identified by its
 * newest entry. The value of a register or slot is in the first entry for it on the way to the root; without an entry,
 * it is unchanged. So a branch costs one number, and paths can be continued in any order. */
#ifndef USPI_UNWIND_CODE_STATE_H
#define USPI_UNWIND_CODE_STATE_H

#include "arch/backend.h"

enum uspi_value_kind { USPI_UNKNOWN, USPI_ADDRESS, USPI_CONTENT, USPI_NESTED, USPI_CONSTANT, USPI_GLOBAL };

/* USPI_ADDRESS: base + offset, with base's value at the beginning. USPI_CONTENT: [base + offset] + addend, memory at
 * the beginning. USPI_NESTED: [[base + offset] + addend]. USPI_CONSTANT: addend << 32 | offset. USPI_GLOBAL: the word
 * at such a constant address. */
struct uspi_value {
    uint8_t kind;
    uint8_t base;
    int32_t offset;
    int32_t addend;
};

#define USPI_SLOT 0x80u /* `where` of a stack slot: USPI_SLOT | base, at base + slot */

/* Used as base instead of a register: an aligned (rounded down) address. A path can have one. */
#define USPI_BASE_ALIGNED 0x7fu

struct uspi_log_entry {
    struct uspi_value value;
    int32_t slot;
    uint8_t where; /* a register, or USPI_SLOT | base */
    uint8_t previous;
};

#define USPI_LOG_MAX  112
#define USPI_LOG_ROOT 0xffu

struct uspi_log {
    const struct uspi_backend *backend;
    unsigned count;
    unsigned shared; /* entries below this one also belong to pending paths */
    struct uspi_log_entry entries[USPI_LOG_MAX];
};

/* A point of a path. */
struct uspi_path {
    usp_addr pc;
    uint64_t unknown; /* registers whose values are unknown, whatever the log contains */
    uint32_t mode;
    uint8_t newest;
    uint8_t doubts;
    bool is_aligned;     /* USPI_BASE_ALIGNED is used */
    uint8_t assumed;     /* the condition that this path assumes to be true, + 1; see uspi_instruction.conditional */
    uint8_t stored;      /* USPI_SLOT | base of the newest store, if the log does not have it and it is near; 0: none */
    uint8_t stored_base; /* the stored value is the word at this base, at stored_offset; USPI_NO_REGISTER: unknown */
    int16_t stored_slot, stored_offset;
    /* The instruction after the newest call, also one before the path: half its distance from the origin, one more if that
     * is not negative; 0: there is none, or it is far. */
    int16_t after_call;
};

static const struct uspi_value uspi_unknown = {.kind = USPI_UNKNOWN};

struct uspi_value uspi_address(unsigned base, int64_t offset);
struct uspi_value uspi_constant(int64_t number);
int64_t uspi_constant_of(struct uspi_value value);

/* Returns the address that is a constant, or at which a global is. */
usp_addr uspi_constant_address(const struct uspi_log *log, struct uspi_value value);

/* Returns value + n, as wide as the processor's registers. */
struct uspi_value uspi_plus(const struct uspi_log *log, struct uspi_value value, int64_t n);

/* Wraps a number to a register's width: with 32 bits a large number may be a small negative one. */
int64_t uspi_wrapped(const struct uspi_log *log, int64_t n);

static inline bool uspi_is_address(struct uspi_value v, unsigned base, int32_t offset) {
    return v.kind == USPI_ADDRESS && v.base == base && v.offset == offset;
}

/* Returns whether a function restores the register, or its return depends on it. */
bool uspi_is_restored(const struct uspi_log *log, unsigned reg);

struct uspi_value uspi_register_value(const struct uspi_log *log, const struct uspi_path *path, unsigned reg);

/* Returns the word at an address. */
struct uspi_value uspi_memory_value(const struct uspi_log *log, const struct uspi_path *path, struct uspi_value at);

/* These two return false when the log is full: the path ends there. */
bool uspi_assign_register(struct uspi_log *log, struct uspi_path *path, unsigned reg, struct uspi_value value);

/* Stores a register, or an unknown value (USPI_NO_REGISTER), at an address. */
bool uspi_assign_memory(struct uspi_log *log, struct uspi_path *path, struct uspi_value at, unsigned reg);

/* Forgets slots below the stack pointer after it has risen from `old`. After a frame was removed for a tail call, the
 * next frame uses the same slots for other values. */
bool uspi_forget_below(struct uspi_log *log, struct uspi_path *path, struct uspi_value old);

/* Finds the slot, relative to the stack pointer at the beginning, in which a register's original value was saved; the
 * newest one if several. */
bool uspi_find_saved(const struct uspi_log *log, const struct uspi_path *path, unsigned reg, int32_t *slot);

/* Finds the same relative to another base. */
bool uspi_find_saved_from(const struct uspi_log *log, const struct uspi_path *path, unsigned base, unsigned reg,
                          int32_t *slot);

/* Finds the slot, relative to USPI_BASE_ALIGNED, that contains the original stack pointer plus *kept. */
bool uspi_find_kept_sp(const struct uspi_log *log, const struct uspi_path *path, int32_t *slot, int32_t *kept);

/* Returns how many log entries a path needs. */
static inline unsigned uspi_entries_of(const struct uspi_path *path) {
    return path->newest != USPI_LOG_ROOT ? path->newest + 1u : 0;
}

#endif
