/* SPDX-License-Identifier: MIT */
/* The contract between a processor's backend and the rest of the library.
 *
 * A backend consists of constants, tables and two pure functions over bytes. It does not depend on the processor or
 * system that it is compiled for, reads no memory of the target itself, keeps no state, and calls nothing but mem*. So
 * all backends are in every build, and an s390x host decodes an iPhone's stack. lib/unwind/ interprets decoded
 * instructions and makes every decision. */
#ifndef USPI_ARCH_BACKEND_H
#define USPI_ARCH_BACKEND_H

#include "arch/backends.h"
#include "arch/little_endian.h"

#include <string.h>

#include <unspool/registers.h>
#include <unspool/unwind.h>

/* The smallest page size of the processors' systems. A page is readable as a whole or not at all. */
#define USPI_LEAST_PAGE 4096u

#define USPI_NO_REGISTER    0xffu
#define USPI_FLAGS_REGISTER 0xfeu /* in a state's runs: usp_registers.flags */
#define USPI_CALL_REGISTER  0xfdu /* in a state's runs: the number of a system call, for usp_registers.system_call */

/* ---- thread states as data ---- */

/* Registers first … first + count − 1 are at offset, offset + stride, …, each with `width` bytes, little-endian. */
struct uspi_run {
    uint8_t first;
    uint8_t count;
    uint8_t width;
    uint8_t stride;
    uint16_t offset;
};

struct uspi_state_layout {
    uint32_t state;  /* enum usp_thread_state, or USP_THREAD_STATE_MACH + flavor */
    uint16_t size;   /* minimum size in bytes */
    uint16_t base;   /* added to each run's offset */
    uint8_t unified; /* 1: a header {u32 flavor, u32 count} of 8 bytes tells which layout follows; no runs */
    uint8_t run_count;
    const struct uspi_run *runs;
};

/* ---- signal trampolines as data ---- */

/* Code to which a signal handler returns, and the position of the interrupted registers. */
struct uspi_signal_stub {
    uint32_t os;      /* enum usp_os */
    uint32_t state;   /* layout of the context: enum usp_thread_state */
    uint8_t thumb;    /* 1: only in Thumb state; 0: only in other states */
    uint8_t length;   /* size of `code` in bytes */
    uint8_t entry;    /* offset in `code` of the instruction that a handler returns to */
    uint16_t context; /* the context is at sp + context, with sp after the handler's return */
    const uint8_t *code;
};

/* ---- Darwin's signal frames as data ---- */

/* The structures that the kernel leaves on the stack for a signal handler. It starts the thread in libplatform's
 * _sigtramp, where only these structures contain the interrupted registers (xnu bsd/dev/arm/unix_signal.c,
 * bsd/dev/i386/unix_signal.c):
 *
 *     arm    siginfo, ucontext, mcontext            x86    mcontext, siginfo, ucontext
 *
 * They follow each other without gaps. The distance from _sigtramp's CFA to the mcontext is `machine` bytes or, in
 * steps of a word, up to `slack` bytes more. */
struct uspi_sigframe {
    uint16_t machine;
    uint8_t slack;
    uint8_t is_last; /* 1: the mcontext is the last structure; 0: the first */
    uint8_t pointer; /* size of a pointer in the ucontext, in bytes */
    uint8_t size_count;
    const uint16_t *sizes; /* possible sizes of an mcontext */
};

/* ---- what an instruction does to the stack ---- */

enum uspi_effect_op {
    USPI_SET = 1,  /* reg = base + value; base USPI_NO_REGISTER: reg = value, a constant */
    USPI_INSERT,   /* 16 bits of reg at bit `index` become value; the others stay (movk, movt) */
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

/* Where execution continues after an instruction. */
enum uspi_flow {
    USPI_NEXT = 0,     /* at the next instruction only */
    USPI_JUMP,         /* always at target */
    USPI_BRANCH,       /* at target or at the next instruction */
    USPI_CALL,         /* calls target (0: unknown); the callee returns to the next instruction */
    USPI_JUMP_UNKNOWN, /* through a register or memory: a tail call, a stub's jump or a switch */
    /* The instruction shows that it is a switch, so execution stays in the function. target: one of the destinations;
     * 0: unknown. */
    USPI_JUMP_TABLE,
    USPI_RETURN, /* at the address in target_register after the effects */
    USPI_END     /* nowhere: trap, breakpoint, permanently undefined instruction */
};

/* The maximum number of effects; enough for the longest ldm/stm with write-back. */
#define USPI_EFFECTS_MAX 18

struct uspi_instruction {
    uint8_t length; /* in bytes */
    uint8_t flow;   /* enum uspi_flow */
    /* The condition + 1 of a predicated instruction (ARM condition, Thumb IT) or of a USPI_BRANCH on such a condition;
     * 0: unconditional. Conditions n and n ^ 1 are opposites. If the condition of a predicated instruction is false,
     * nothing happens, and execution continues at the next instruction. */
    uint8_t conditional;
    /* On processors with such conditions, 1: the instruction may change the flags that they depend on. */
    uint8_t sets_flags;
    uint8_t effect_count;
    /* The register that contains the destination after the effects, of USPI_RETURN, USPI_JUMP_UNKNOWN and
     * USPI_JUMP_TABLE; USPI_NO_REGISTER: unknown. */
    uint8_t target_register;
    /* 1: compilers put this instruction only at the beginning of a function (pacibsp, endbr64 …); 0: no hint. */
    uint8_t start_hint;
    uint32_t mode;                                /* decoding mode of the next instruction */
    uint32_t target_mode;                         /* decoding mode at target */
    usp_addr target;                              /* address in the target, without the Thumb bit */
    usp_addr data;                                /* where in the code there is data that it loads; 0: nowhere */
    uint64_t clobbers;                            /* registers that get unknown values, after the effects */
    struct uspi_effect effects[USPI_EFFECTS_MAX]; /* in order */
};

/* Returns the registers that an instruction writes, a bit for each. */
static inline uint64_t uspi_written_by(const struct uspi_instruction *i) {
    uint64_t written = i->clobbers;
    for (unsigned n = 0; n < i->effect_count; n++) {
        const struct uspi_effect *e = &i->effects[n];
        if (e->op != USPI_STORE && e->reg != USPI_NO_REGISTER) written |= UINT64_C(1) << e->reg;
    }
    return written;
}

/* Bits of the decoding mode, which armv7 needs in addition to the bytes. */
#define USPI_MODE_THUMB    1u
#define USPI_MODE_IT_SHIFT 8u /* bits 8–15: ITSTATE, as the manual's pseudocode keeps it; 0 outside IT blocks */

/* Bits that path-following code keeps beside the mode; `decode` does not accept them. */
#define USPI_MODE_FLAGS (1u << 27)   /* the condition flags are known */
#define USPI_MODE_NZCV  (0xfu << 28) /* the condition flags, in cpsr's order */

/* ---- system calls as data ---- */

#define USPI_CALL_ARGUMENTS    4u
#define USPI_CALL_INSTRUCTIONS 2u

/* How threads make system calls of Linux (syscall(2)) or xnu. */
struct uspi_system_calls {
    uint8_t number; /* the register of the call's number; where usp_registers.system_call is set, of its result */
    uint8_t arguments[USPI_CALL_ARGUMENTS]; /* the registers of the first arguments */
    uint16_t futex, futex_time64;           /* Linux: numbers of these calls; 0: there is none */
    uint32_t number_base;                   /* xnu: the register has this and the number of syscalls.master */
    struct {
        uint32_t bits, mask; /* mask 0: none */
    } instructions[USPI_CALL_INSTRUCTIONS];
};

/* ---- the backend ---- */

/* Another name of the processor, or the name of a variant. */
struct uspi_arch_name {
    const char *name;
    uint32_t variant;       /* enum usp_variant; USP_VARIANT_NONE: of all variants */
    uint32_t macho_subtype; /* of a variant: the cpusubtype without its capability bits */
};

struct uspi_backend {
    uint32_t arch; /* enum usp_arch */
    const char *name;
    const struct uspi_arch_name *names; /* other names, and its variants */
    size_t name_count;
    const char *crash_name; /* as Apple's crash reports name it ("Code Type") */
    uint16_t elf_machine;   /* e_machine of ELF files with addresses of `word` bytes; 0: none */
    uint32_t macho_cpu;     /* cputype of Mach-O files; 0: none */
    uint8_t register_count;
    uint8_t pc, sp, fp, lr; /* DWARF numbers; lr USPI_NO_REGISTER where the call pushes the return address */
    uint8_t word;           /* size of a pointer in bytes */
    uint8_t wide_align;     /* alignment of a number of 64 bits in a struct, in bytes */
    uint8_t slot;           /* size of a frame record's slot: [fp] previous fp, [fp + slot] return address */
    uint8_t record_align;   /* alignment of records in bytes */
    uint8_t call_push;      /* bytes that a call pushes: at a function's first instruction, CFA = sp + call_push */
    uint8_t code_align;     /* alignment of instructions in bytes */
    /* Bytes that `decode` may need: the longest instruction, or a table branch with the beginning of its table. */
    uint8_t instruction_max;
    uint8_t call_window;    /* maximum number of bytes before a return address that follows_call needs */
    uint8_t red_zone;       /* bytes below sp that code may use without moving sp (System V x86_64, Apple arm64: 128) */
    uint8_t has_signatures; /* return addresses and contexts can be signed */
    uint8_t has_async;      /* Swift async records exist; their mark is in bits 63:60 of a stored fp */
    /* The register in which Swift passes an async function its context, if such functions are also recognised by their
     * code (lib/unwind/async_code.h); 0: they are not. */
    uint8_t async_context;
    uint8_t has_thumb;          /* bit 0 of a code address is the Thumb state */
    uint64_t word_mask;         /* the significant bits of a stored value (arm64_32: the low 32 of 64) */
    uint64_t callee_saved;      /* registers that a function preserves, with fp, without sp */
    uint64_t linkage_registers; /* linkage tables and tail calls jump through them; they hold no return address */
    const char *const *register_names; /* register_count names */
    const struct uspi_state_layout *states;
    size_t state_count;
    const struct uspi_signal_stub *stubs;
    size_t stub_count;
    const struct uspi_sigframe *sigframe; /* NULL: Darwin does not run on this processor */

    /* Decodes the instruction at target address pc.
     *   bytes, n  the code from pc on; n >= instruction_max except at the end of readable text
     *   mode      USPI_MODE_*; 0 on the other processors
     *   out       written completely when true is returned
     * Returns false when the bytes are not an instruction of this processor, or are cut off by n.
     *
     * Effects describe exactly what an instruction does to sp, fp, lr, callee-saved registers and control flow. Other
     * writes to an integer register are listed in `clobbers`. An instruction that cannot be described exactly lists all
     * registers that it may write there. */
    bool (*decode)(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out);

    /* Returns whether a call instruction ends exactly at a return address.
     *   before, n  the n bytes before the return address; n <= call_window, less at the beginning of text
     *   thumb      the return address had bit 0 set
     *   target     *target becomes the callee of a direct call, otherwise 0 */
    bool (*follows_call)(const uint8_t *before, size_t n, usp_addr return_address, bool thumb, usp_addr *target);

    /* Returns whether an instruction that begins at `bytes` may load data from the code, or compute an address in it;
     * fast. NULL: compilers place no data between instructions. */
    bool (*may_use_code)(const uint8_t *bytes, bool thumb);

    /* Returns the decoding mode at an exact pc, from the flags register. NULL: the mode is always 0. */
    uint32_t (*initial_mode)(uint32_t flags);

    /* Returns whether an instruction with this condition (uspi_instruction.conditional − 1) is executed with these
     * flags. NULL on processors without predicated instructions. */
    bool (*condition_holds)(uint32_t flags, unsigned condition);

    const struct uspi_system_calls *linux_calls;  /* NULL: Linux does not run on this processor */
    const struct uspi_system_calls *darwin_calls; /* NULL: locks of Apple systems are not read on this processor */
};

#define USPI_DECLARE(arch, backend) extern const struct uspi_backend backend;
USPI_BACKENDS(USPI_DECLARE)
#undef USPI_DECLARE

/* The functions below are in arch/table.c. */

/* Returns the backend of an enum usp_arch; NULL if there is none. */
const struct uspi_backend *uspi_backend_find(uint32_t arch);

/* Return the backend of a file's processor; NULL if there is none: of an ELF file by its e_machine and the size of its
 * addresses, of a Mach-O file by its cputype. */
const struct uspi_backend *uspi_backend_of_elf(uint32_t machine, unsigned word);
const struct uspi_backend *uspi_backend_of_macho(uint32_t cpu);

/* Returns the backend of a name, and sets *variant; NULL if there is none. */
const struct uspi_backend *uspi_backend_of_name(const char *name, uint32_t *variant);

/* Return whether a number from a file or an older caller is an enum usp_arch or usp_variant of this library, or 0. */
bool uspi_arch_is_known(uint32_t arch);
bool uspi_variant_is_known(uint32_t variant);

/* ---- shared by the backends ---- */

/* Returns the two's complement number in the lowest `bits` bits of `value`. */
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
