/* SPDX-License-Identifier: MIT */
/* Data of one walk about its target, and the unwinder's internal form of a frame. All other folders of lib/unwind use
 * this folder, which uses none of them. */
#ifndef USPI_UNWIND_FRAME_WALK_H
#define USPI_UNWIND_FRAME_WALK_H

#include "arch/frame.h"
#include "lib/object/bytes.h"

/* Maximum number of changes of stack that a walk follows because call frame information describes them. */
#define USPI_SWITCHES_MAX 8

/* The stacks of a walk. A walk goes upward on each, so it ends. */
struct uspi_stacks {
    usp_addr entered; /* stack pointer of the first frame on the current stack */
    unsigned count;   /* number of elements of `left` */
    struct uspi_stack_part {
        usp_addr low, high;    /* stack pointers of the first and of the last frame */
    } left[USPI_SWITCHES_MAX]; /* the parts of stacks that were walked before */
};

/* Data that all frames of a walk share. */
struct uspi_walk {
    const struct uspi_backend *backend;
    struct usp_target target;        /* the caller's target, with all fields completed */
    uint64_t strip_mask;             /* mask of the address bits in a code or context pointer */
    uint32_t readers;                /* enum usp_frame_readers: the allowed readers */
    uint32_t stack_flags;            /* enum usp_stack_flags, collected during the walk */
    struct usp_unwind_tables tables; /* see uspi_unwind_tables_of */
    usp_addr tables_pc;              /* the address to which `tables` belong; 0: not looked up yet */
    bool has_tables;
    bool needs_root; /* only what a table or the target states ends the stack, not what return addresses suggest */
    struct uspi_stacks stacks;
};

/* A frame in the unwinder's form. */
struct uspi_frame_state {
    struct usp_registers registers;
    bool exact;    /* the pc is where the thread was interrupted, not a return address */
    bool sp_known; /* registers' sp is the frame's own, not just a lower bound */
    uint32_t kind; /* enum usp_frame_kind */
    uint32_t method;
    uint32_t flags; /* enum usp_frame_flags */
    usp_addr low;   /* the caller's record is not below this address */
};

/* A Swift async (extended) record. Its context is below it, except while the frame is being set up. */
struct uspi_extended {
    usp_addr record; /* 0: none */
    bool in_register;
    usp_addr context; /* valid with in_register */
    /* There is no mark, but the code shows that the frame is an async one. `record` is any address in the frame, and
     * in_register is set. */
    bool by_code;
};

/* Bytes from the context of a Swift async frame up to the frame's record, which is directly above it (Libc
 * gen/thread_stack_pcs.c). */
#define USPI_CONTEXT_BELOW 8u

static inline bool uspi_known(const struct usp_registers *r, unsigned reg) {
    return reg < USP_REGISTERS_MAX && (r->known >> reg & 1) != 0;
}

static inline void uspi_set(struct usp_registers *r, unsigned reg, usp_addr value) {
    r->value[reg] = value;
    r->known |= UINT64_C(1) << reg;
}

static inline void uspi_forget(struct usp_registers *r, unsigned reg) { r->known &= ~(UINT64_C(1) << reg); }

static inline usp_addr uspi_pc_of(const struct uspi_walk *walk, const struct uspi_frame_state *frame) {
    return frame->registers.value[walk->backend->pc];
}

/* Returns the memory that code is read from. */
static inline const struct usp_memory *uspi_code_memory(const struct uspi_walk *walk) {
    return walk->target.code.read != NULL ? &walk->target.code : &walk->target.memory;
}

/* Returns USP_OK if the target knows that there is code at pc, USP_ERROR_NOT_FOUND if it knows that there is none,
 * another status if it does not know. */
static inline int uspi_ask_for_image(const struct uspi_walk *walk, usp_addr pc) {
    struct usp_region region;
    if (walk->target.image_at == NULL) return USP_ERROR_ABSENT;
    return walk->target.image_at(walk->target.context, pc, &region);
}

/* Returns whether an address can be generated code: in no image of those that the target lists, and not known to be
 * data. */
bool uspi_can_be_generated(const struct uspi_walk *walk, usp_addr pc);

/* Reads a stack slot of the target, with all of its bits. */
bool uspi_read_slot(const struct uspi_walk *walk, usp_addr at, uint64_t *value);

/* Returns whether the target lists this return address as a root. */
bool uspi_is_root(const struct usp_target *target, usp_addr pc);

/* Returns the address by which code tables are searched for a frame: for a return address, one inside the call
 * instruction. */
static inline usp_addr uspi_lookup_pc(const struct uspi_walk *walk, const struct uspi_frame_state *frame) {
    return uspi_pc_of(walk, frame) - (frame->exact ? 0 : 1);
}

/* Returns the decoding mode at the pc of a frame. */
uint32_t uspi_frame_mode(const struct uspi_walk *walk, const struct uspi_frame_state *frame);

/* Returns the unwind tables of the image that contains a frame's code, or NULL. They stay valid until the tables of
 * another frame are looked up. Rules with expressions are applied with them. */
const struct usp_unwind_tables *uspi_unwind_tables_of(struct uspi_walk *walk, const struct uspi_frame_state *frame);

/* Returns the memory that these tables are read from. */
static inline const struct usp_memory *uspi_table_memory(const struct uspi_walk *walk) {
    return walk->tables.memory.read != NULL ? &walk->tables.memory : uspi_code_memory(walk);
}

/* Returns the source of the tables' bytes. It is valid as long as the tables. */
static inline struct uspi_source uspi_table_source(const struct uspi_walk *walk) {
    struct uspi_source source = uspi_source_of_memory(uspi_table_memory(walk), "unwind table");
    source.direct = walk->tables.direct;
    return source;
}

/* Makes an interrupted frame of registers as a kernel saved them: removes signatures and tags, and marks the frame
 * exact with a known sp. The pc must be known. The caller sets kind and method. */
void uspi_complete_interrupted(const struct uspi_walk *walk, struct uspi_frame_state *state);

#endif
