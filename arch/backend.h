/* SPDX-License-Identifier: MIT */
/* The contract between a processor's backend and the rest of the library.
 *
 * A backend is constants, tables and two pure functions over bytes. It never asks which processor or system it is
 * compiled on, reads no memory of the target itself, keeps no state, and calls nothing but mem*: so all five are in
 * every build, and an s390x decodes an iPhone's stack. What is done with a decoded instruction, and every decision, is
 * lib/unwind/'s. */
#ifndef USPI_BACKEND_H
#define USPI_BACKEND_H

#include "arch/little_endian.h"

#include <string.h>

#include <unspool/registers.h>
#include <unspool/unwind.h>

/* The smallest page size of the processors' systems: what can be read of a page can be read of all of it. */
#define USPI_LEAST_PAGE 4096u

#define USPI_NO_REGISTER    0xffu
#define USPI_FLAGS_REGISTER 0xfeu /* usp_registers.flags, in a state's runs */

/* ---- thread states as data ---- */

/* Registers first … first + count − 1 stand at offset, offset + stride, …, each `width` bytes, little-endian. */
struct uspi_run {
    uint8_t first;
    uint8_t count;
    uint8_t width;
    uint8_t stride;
    uint16_t offset;
};

struct uspi_state_layout {
    uint32_t state;  /* enum usp_thread_state, or USP_THREAD_STATE_MACH + flavor */
    uint16_t size;   /* bytes that must be there */
    uint16_t base;   /* added to each run's offset */
    uint8_t unified; /* a header {u32 flavor, u32 count} of 8 bytes says which layout follows it; no runs */
    uint8_t run_count;
    const struct uspi_run *runs;
};

/* ---- signal trampolines as data ---- */

/* Code to which a signal handler returns, and where it finds the interrupted registers. */
struct uspi_signal_stub {
    uint32_t os;      /* enum usp_os */
    uint32_t state;   /* layout of the context: enum usp_thread_state */
    uint8_t thumb;    /* 1: in Thumb state only; 0: otherwise */
    uint8_t length;   /* of code, in bytes */
    uint8_t entry;    /* offset in `code` of the instruction that a handler returns to */
    uint16_t context; /* the context lies at sp + context, sp as the handler's return leaves it */
    const uint8_t *code;
};

/* ---- Darwin's signal frames as data ---- */

/* What the kernel leaves on the stack for a handler. It starts the thread on libplatform's _sigtramp, where nothing but
 * these structures holds the interrupted registers (xnu bsd/dev/arm/unix_signal.c, bsd/dev/i386/unix_signal.c):
 *
 *     arm    siginfo, ucontext, mcontext            x86    mcontext, siginfo, ucontext
 *
 * one behind the other without gaps. From _sigtramp's CFA to the mcontext it is `machine` bytes or, in steps of a word, up
 * to `slack` more. */
struct uspi_sigframe {
    uint16_t machine;
    uint8_t slack;
    uint8_t is_last; /* 1: the mcontext is the last of them, 0: the first */
    uint8_t pointer; /* bytes of a pointer in the ucontext */
    uint8_t size_count;
    const uint16_t *sizes; /* that an mcontext can have */
};

/* ---- what an instruction does to the stack ---- */

enum uspi_effect_op {
    USPI_SET = 1,  /* reg = base + value; base USPI_NO_REGISTER: reg = value, a constant */
    USPI_INSERT,   /* 16 bits of reg at bit `index` become value, the others stay (movk, movt) */
    USPI_ADD,      /* reg = base + index (two registers) */
    USPI_SUBTRACT, /* reg = base − index (two registers) */
    USPI_ALIGN,    /* reg = base, rounded down to a multiple of value, a power of two */
    USPI_LOAD,     /* reg = the word at [base + value]; base USPI_NO_REGISTER: at target address value */
    USPI_LITERAL,  /* reg = the word in the code at target address value */
    USPI_STORE     /* the word at [base + value] = reg; reg USPI_NO_REGISTER: something unknown */
};

struct uspi_effect {
    uint8_t op;
    uint8_t reg;
    uint8_t base;
    uint8_t index;
    int64_t value;
};

/* Where the instruction goes. */
enum uspi_flow {
    USPI_NEXT = 0,     /* to the next instruction, nowhere else */
    USPI_JUMP,         /* to target, always */
    USPI_BRANCH,       /* to target or to the next instruction */
    USPI_CALL,         /* calls target (0: not known from the instruction); the callee returns behind it */
    USPI_JUMP_UNKNOWN, /* through a register or memory; a tail call, a stub's jump or a switch */
    USPI_JUMP_TABLE,   /* the instruction itself shows that it is a switch: it stays in the function. target: one of the
                          destinations, 0 not known */
    USPI_RETURN,       /* to the address that target_register holds after the effects */
    USPI_END           /* nowhere: trap, breakpoint, permanently undefined */
};

/* Enough for the longest ldm/stm with write-back. */
#define USPI_EFFECTS_MAX 18

struct uspi_instruction {
    uint8_t length;      /* in bytes */
    uint8_t flow;        /* enum uspi_flow */
    uint8_t conditional; /* predicated (ARM condition, Thumb IT): all of it may as well not happen; then it goes to
                                the next instruction. The condition + 1 (n and n ^ 1 are opposites); 0: always. A branch
                                (USPI_BRANCH) has it where it depends on these conditions */
    uint8_t sets_flags;  /* where there are such conditions: 1 when it may change what they depend on, if it happens */
    uint8_t effect_count;
    uint8_t
        target_register;  /* USPI_RETURN: see there; USPI_JUMP_UNKNOWN, USPI_JUMP_TABLE: the same, USPI_NO_REGISTER: not
                                known */
    uint8_t start_hint;   /* 1: compilers put this at a function's first instruction and nowhere else in it
                                (pacibsp, endbr64 …); 0: says nothing */
    uint32_t mode;        /* decoding mode of the next instruction */
    uint32_t target_mode; /* decoding mode at target */
    usp_addr target;      /* in the target; without the Thumb bit */
    uint64_t clobbers;    /* registers written with values that the effects do not describe; forgotten after them */
    struct uspi_effect effects[USPI_EFFECTS_MAX]; /* in order */
};

/* The mode that decoding needs besides the bytes: armv7 only. */
#define USPI_MODE_THUMB    1u
#define USPI_MODE_IT_SHIFT 8u /* bits 8–15: ITSTATE, as the manual's pseudocode keeps it; 0 outside IT blocks */

/* Beside the mode, for code that follows ways; decode takes neither. */
#define USPI_MODE_FLAGS (1u << 27)   /* the condition flags are known: */
#define USPI_MODE_NZCV  (0xfu << 28) /* as cpsr has them */

/* ---- the backend ---- */

struct uspi_backend {
    uint32_t arch; /* enum usp_arch */
    const char *name;
    uint8_t register_count;
    uint8_t pc, sp, fp, lr; /* DWARF numbers; lr USPI_NO_REGISTER where the call pushes the return address */
    uint8_t word;           /* bytes of a pointer */
    uint8_t slot;           /* bytes of a slot of a frame record: [fp] previous fp, [fp + slot] return address */
    uint8_t record_align;   /* records are aligned to so many bytes */
    uint8_t call_push;      /* bytes that a call pushes: at a function's first instruction CFA = sp + call_push */
    uint8_t code_align;     /* instructions are aligned to so many bytes */
    uint8_t
        instruction_max;    /* bytes that decode may want to see: the longest instruction; a table branch's table too */
    uint8_t call_window;    /* bytes before a return address that follows_call wants to see, at most */
    uint8_t red_zone;       /* bytes below sp that code may use without moving sp (System V x86_64, Apple arm64: 128) */
    uint8_t has_signatures; /* return addresses and contexts can be signed */
    uint8_t has_async;      /* Swift async records exist; the mark stands in bits 63:60 of a stored fp */
    uint8_t async_context;  /* the register in which Swift hands an async function its context, where such functions are
                               known by their code as well (lib/unwind/async_code.h); 0: they are not */
    uint8_t has_thumb;      /* bit 0 of a code address is the Thumb state */
    uint64_t word_mask;     /* the bits of a stored value that mean anything (arm64_32: the low 32 of 64) */
    uint64_t callee_saved;  /* registers that a function gives back unchanged, fp included, sp not */
    const char *const *register_names; /* register_count of them */
    const struct uspi_state_layout *states;
    size_t state_count;
    const struct uspi_signal_stub *stubs;
    size_t stub_count;
    const struct uspi_sigframe *sigframe; /* NULL: Darwin has no such processor */

    /* Decodes the instruction at target address pc.
     *   bytes, n  the code from pc on; n >= instruction_max except at the end of readable text
     *   mode      USPI_MODE_*; 0 on the other processors
     *   out       written completely when true is returned
     * False: not an instruction of this processor, or cut off by n. Every instruction whose effect on sp, fp, lr, on
     * callee-saved registers or on control flow matters is described exactly; anything else that writes an integer
     * register lists it in `clobbers`; an instruction that cannot be described exactly lists all that it may write. */
    bool (*decode)(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out);

    /* Whether the code before a return address is a call: the n bytes that end right before it (n <= call_window; fewer
     * at the beginning of text). thumb: the return address had bit 0 set. True when some call instruction ends exactly
     * there. *target becomes the callee of a direct call, 0 otherwise. */
    bool (*follows_call)(const uint8_t *before, size_t n, usp_addr return_address, bool thumb, usp_addr *target);

    /* Decoding mode at an exact pc, from the flags register; NULL: 0. */
    uint32_t (*initial_mode)(uint32_t flags);

    /* Whether an instruction with this condition (uspi_instruction.conditional − 1) happens with these flags; NULL
     * where there are no predicated instructions. */
    bool (*condition_holds)(uint32_t flags, unsigned condition);
};

extern const struct uspi_backend uspi_arm64;
extern const struct uspi_backend uspi_arm64_32;
extern const struct uspi_backend uspi_armv7;
extern const struct uspi_backend uspi_x86_64;
extern const struct uspi_backend uspi_i386;

/* The one list (arch/table.c). NULL for a processor that has no backend. */
const struct uspi_backend *uspi_backend_find(uint32_t arch);

/* ---- shared by the backends ---- */

/* `value`, whose lowest `bits` bits are a two's complement number. */
static inline int64_t uspi_sign_extend(uint64_t value, unsigned bits) {
    uint64_t sign = UINT64_C(1) << (bits - 1);
    value &= (sign << 1) - 1;
    return (int64_t)((value ^ sign) - sign);
}

static inline struct uspi_effect *uspi_add_effect(struct uspi_instruction *i, uint8_t op, unsigned reg, unsigned base,
                                                  int64_t value) {
    struct uspi_effect *e = &i->effects[i->effect_count < USPI_EFFECTS_MAX ? i->effect_count++ : USPI_EFFECTS_MAX - 1];
    e->op = op;
    e->reg = (uint8_t)reg;
    e->base = (uint8_t)base;
    e->index = USPI_NO_REGISTER;
    e->value = value;
    return e;
}

#endif
