/* SPDX-License-Identifier: MIT */
/* What is known of registers and stack slots at one point of one way through code, in terms of the registers at its
 * beginning.
 *
 * All states of one exploration share one log of assignments that grows as a tree: a state is its newest entry, and what a
 * register or slot holds is said by the first entry found on the way to the root; what is not found is as it was at the
 * beginning. So a branch costs one number, and ways can be taken up again in any order. */
#ifndef USPI_STATE_H
#define USPI_STATE_H

#include "arch/backend.h"

enum uspi_value_kind { USPI_UNKNOWN, USPI_ADDRESS, USPI_CONTENT, USPI_NESTED, USPI_CONSTANT, USPI_GLOBAL };

/* USPI_ADDRESS: base + offset, base's value at the beginning. USPI_CONTENT: [base + offset] + addend, memory at the
 * beginning. USPI_NESTED: [[base + offset] + addend]. USPI_CONSTANT: addend << 32 | offset. USPI_GLOBAL: the word at such an
 * address. */
struct uspi_value {
    uint8_t kind;
    uint8_t base;
    int32_t offset;
    int32_t addend;
};

#define USPI_SLOT 0x80u /* `where` of a stack slot: USPI_SLOT | base, at base + slot */

/* In place of a register as base: an address that was rounded down. One way has one of them. */
#define USPI_BASE_ALIGNED 0x7fu

struct uspi_log_entry {
    uint8_t previous;
    uint8_t where;
    uint8_t kind;
    uint8_t base;
    int32_t slot;
    int32_t offset;
    int32_t addend;
};

#define USPI_LOG_MAX  112
#define USPI_LOG_ROOT 0xffu

struct uspi_log {
    const struct uspi_backend *backend;
    unsigned count;
    unsigned shared; /* entries below this one belong to ways that wait as well */
    struct uspi_log_entry entries[USPI_LOG_MAX];
};

/* A point of a way. */
struct uspi_way {
    usp_addr pc;
    uint64_t unknown; /* registers of which nothing is known, whatever the log says */
    uint32_t mode;
    uint8_t newest;
    uint8_t doubts;
    bool is_aligned; /* USPI_BASE_ALIGNED is taken */
    uint8_t assumed; /* the condition that this way takes for true, + 1; see uspi_instruction.conditional */
    uint8_t stored;  /* USPI_SLOT | base of the newest store, when the log does not keep it and it is near; 0: none */
    uint8_t stored_base; /* what was stored is the word at this base, at stored_offset; USPI_NO_REGISTER: unknown */
    int16_t stored_slot, stored_offset;
};

static const struct uspi_value uspi_unknown = {.kind = USPI_UNKNOWN};

struct uspi_value uspi_address(unsigned base, int64_t offset);
struct uspi_value uspi_constant(int64_t number);
int64_t uspi_constant_of(struct uspi_value value);

/* The address that a constant or a global is or lies at. */
usp_addr uspi_constant_address(const struct uspi_log *log, struct uspi_value value);

/* value + n, in the processor's registers. */
struct uspi_value uspi_plus(const struct uspi_log *log, struct uspi_value value, int64_t n);

/* What fits into a register: of 32 bits a large number may as well be a small negative one. */
int64_t uspi_wrapped(const struct uspi_log *log, int64_t n);

static inline bool uspi_is_address(struct uspi_value v, unsigned base, int32_t offset) {
    return v.kind == USPI_ADDRESS && v.base == base && v.offset == offset;
}

/* Whether a function gives the register back, or its return depends on it. */
bool uspi_is_restored(const struct uspi_log *log, unsigned reg);

struct uspi_value uspi_register_value(const struct uspi_log *log, const struct uspi_way *way, unsigned reg);

/* The word at an address. */
struct uspi_value uspi_memory_value(const struct uspi_log *log, const struct uspi_way *way, struct uspi_value at);

/* These two are false when the log is full: the way ends there. */
bool uspi_assign_register(struct uspi_log *log, struct uspi_way *way, unsigned reg, struct uspi_value value);

/* A register, or something unknown (USPI_NO_REGISTER), is stored at an address. */
bool uspi_assign_memory(struct uspi_log *log, struct uspi_way *way, struct uspi_value at, unsigned reg);

/* What lay below a stack pointer that has risen from `old` is gone. Where a frame was given up for a tail call, the next one
 * has the same slots for something else. */
bool uspi_forget_below(struct uspi_log *log, struct uspi_way *way, struct uspi_value old);

/* The slot, from the stack pointer at the beginning, in which a register's value at the beginning was saved; the newest
 * wins. */
bool uspi_find_saved(const struct uspi_log *log, const struct uspi_way *way, unsigned reg, int32_t *slot);

/* The same from another base. */
bool uspi_find_saved_from(const struct uspi_log *log, const struct uspi_way *way, unsigned base, unsigned reg,
                          int32_t *slot);

/* The slot, from USPI_BASE_ALIGNED, that keeps the stack pointer at the beginning plus *kept. */
bool uspi_find_kept_sp(const struct uspi_log *log, const struct uspi_way *way, int32_t *slot, int32_t *kept);

/* How much of the log a way needs. */
static inline unsigned uspi_entries_of(const struct uspi_way *way) {
    return way->newest != USPI_LOG_ROOT ? way->newest + 1u : 0;
}

#endif
