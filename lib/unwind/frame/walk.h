/* SPDX-License-Identifier: MIT */
/* What one walk knows of its target, and a frame as the parts of the unwinder see it. Everything below lib/unwind uses this
 * folder, and this folder uses nothing of them. */
#ifndef USPI_WALK_H
#define USPI_WALK_H

#include "arch/frame.h"
#include "lib/object/bytes.h"

/* What all frames of one walk share. */
struct uspi_walk {
    const struct uspi_backend *backend;
    struct usp_target target;        /* the caller's, completed */
    uint64_t strip_mask;             /* the bits of a code or context pointer that are an address */
    uint32_t readers;                /* enum usp_frame_readers: those that may be asked */
    uint32_t stack_flags;            /* enum usp_stack_flags, gathered */
    struct usp_unwind_tables tables; /* see uspi_unwind_tables_of */
    usp_addr tables_pc;              /* the address whose tables these are; 0: not asked yet */
    bool has_tables;
};

/* A frame, seen from inside. */
struct uspi_frame_state {
    struct usp_registers registers;
    bool exact;    /* the pc is where the thread stands (interrupted), not a return address */
    bool sp_known; /* registers' sp is the frame's own, not only a lower bound */
    uint32_t kind; /* enum usp_frame_kind */
    uint32_t method;
    uint32_t flags; /* enum usp_frame_flags */
    usp_addr low;   /* the caller's record cannot lie below this address */
};

/* A Swift async (extended) record. Its context stands below it, except while the frame is being made. */
struct uspi_extended {
    usp_addr record; /* 0: none */
    bool in_register;
    usp_addr context; /* when in_register */
    bool by_code;     /* no mark, but the code says that the frame is an async one: `record` is any address in it, and
                         in_register is set */
};

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

/* The memory that text is read from. */
static inline const struct usp_memory *uspi_code_memory(const struct uspi_walk *walk) {
    return walk->target.code.read != NULL ? &walk->target.code : &walk->target.memory;
}

/* USP_OK where the target knows that there is code, USP_ERROR_NOT_FOUND where it knows that there is none. */
static inline int uspi_ask_for_image(const struct uspi_walk *walk, usp_addr pc) {
    struct usp_region region;
    if (walk->target.image_at == NULL) return USP_ERROR_ABSENT;
    return walk->target.image_at(walk->target.context, pc, &region);
}

/* A stack slot of the target, all of its bits. */
bool uspi_read_slot(const struct uspi_walk *walk, usp_addr at, uint64_t *value);

/* Whether the target names this return address as one that ends a stack. */
bool uspi_is_root(const struct usp_target *target, usp_addr pc);

/* The address by which a frame is looked up in tables of code: inside the call instruction of a return address. */
static inline usp_addr uspi_lookup_pc(const struct uspi_walk *walk, const struct uspi_frame_state *frame) {
    return uspi_pc_of(walk, frame) - (frame->exact ? 0 : 1);
}

/* Decoding mode at the pc of a frame. */
uint32_t uspi_frame_mode(const struct uspi_walk *walk, const struct uspi_frame_state *frame);

/* The unwind tables of the image that holds a frame's code, NULL when there are none. They stay until another frame's are
 * asked for; rules with expressions are carried out by them. */
const struct usp_unwind_tables *uspi_unwind_tables_of(struct uspi_walk *walk, const struct uspi_frame_state *frame);

/* The memory that those are read from. */
static inline const struct usp_memory *uspi_table_memory(const struct uspi_walk *walk) {
    return walk->tables.memory.read != NULL ? &walk->tables.memory : uspi_code_memory(walk);
}

/* The source of their bytes. It lives no longer than they do. */
static inline struct uspi_source uspi_table_source(const struct uspi_walk *walk) {
    struct uspi_source source = uspi_source_of_memory(uspi_table_memory(walk), "unwind table");
    source.direct = walk->tables.direct;
    return source;
}

/* Makes registers as a kernel saved them an interrupted frame's: without signatures and tags, exact, sp known. The pc is
 * known. Kind and method are the caller's to set. */
void uspi_complete_interrupted(const struct uspi_walk *walk, struct uspi_frame_state *state);

#endif
