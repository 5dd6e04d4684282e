/* SPDX-License-Identifier: MIT */
/* Shared by the tests of signal frames: a function that is interrupted at every kind of instruction, and its handler,
 * on each processor, with the interrupted function's stack. Each test makes the kernel's part between the two. */
#ifndef TESTS_SUPPORT_INTERRUPTED_H
#define TESTS_SUPPORT_INTERRUPTED_H

#include <stdio.h>

#include "tests/support/golden.h"

#define HANDLER UINT64_C(0x200000)
#define WORK    UINT64_C(0x100400) /* the interrupted function, called by the instruction before CALLER */
#define CALLER  UINT64_C(0x100200)
#define ROOT    UINT64_C(0x180000)
#define STALE   UINT64_C(0x100304) /* after another call: the link register's value inside a function */

#define OWN_STACK UINT64_C(0x7fff0000) /* address of the interrupted function's frame record */

/* ---- the functions: push the frame record, set the frame pointer, work, return ---- */

enum state { NOT_PUSHED, PUSHED, IN_FRAME };

struct moment {
    uint8_t offset;
    uint8_t state; /* enum state, before that instruction */
};

struct machine {
    uint32_t arch;
    uint8_t slot;
    bool thumb;
    uint8_t code_size;
    uint8_t code[24];
    struct moment moments[5];
    uint8_t moment_count;
    uint8_t call_size; /* of the code around CALLER and ROOT: the call and the code after it */
    uint8_t call[12];
    uint8_t call_length;
    uint8_t indirect[5]; /* a call through a register, of the same length */
};

/* The arm64 functions, for pointers of 8 and of 4 bytes. The function: stp x29, x30, [sp, #-16]!; mov x29, sp; add w0,
 * w0, w1; ldp x29, x30, [sp], #16; ret. The call: bl + 0x204; ldp x29, x30, [sp], #16; ret. */
#define ARM64_FUNCTION                                                                                                 \
    .slot = 8, .code = {0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x00, 0x00,                                    \
                        0x01, 0x0b, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6},                                   \
    .code_size = 20, .moments = {{0, NOT_PUSHED}, {4, PUSHED}, {8, IN_FRAME}, {12, IN_FRAME}, {16, NOT_PUSHED}},       \
    .moment_count = 5, .call = {0x81, 0x00, 0x00, 0x94, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6},               \
    .call_size = 12, .call_length = 4, .indirect = {0x00, 0x01, 0x3f, 0xd6}

static const struct machine machines[] = {
    {.arch = USP_ARCH_ARM64, ARM64_FUNCTION},
    {.arch = USP_ARCH_ARMV7,
     .slot = 4,
     .thumb = true,
     /* push {r7, lr}; mov r7, sp; adds r0, r0, r1; pop {r7, pc} */
     .code = {0x80, 0xb5, 0x6f, 0x46, 0x40, 0x18, 0x80, 0xbd},
     .code_size = 8,
     .moments = {{0, NOT_PUSHED}, {2, PUSHED}, {4, IN_FRAME}, {6, IN_FRAME}},
     .moment_count = 4,
     /* bl + 0x204; pop {r7, pc} */
     .call = {0x00, 0xf0, 0x00, 0xf9, 0x80, 0xbd},
     .call_size = 6,
     .call_length = 4,
     .indirect = {0x00, 0xbf, 0x98, 0x47}},
    {.arch = USP_ARCH_ARMV7,
     .slot = 4,
     /* push {r7, lr}; mov r7, sp; add r0, r0, r1; pop {r7, pc} */
     .code = {0x80, 0x40, 0x2d, 0xe9, 0x0d, 0x70, 0xa0, 0xe1, 0x01, 0x00, 0x80, 0xe0, 0x80, 0x80, 0xbd, 0xe8},
     .code_size = 16,
     .moments = {{0, NOT_PUSHED}, {4, PUSHED}, {8, IN_FRAME}, {12, IN_FRAME}},
     .moment_count = 4,
     /* bl + 0x204; pop {r7, pc} */
     .call = {0x7f, 0x00, 0x00, 0xeb, 0x80, 0x80, 0xbd, 0xe8},
     .call_size = 8,
     .call_length = 4,
     .indirect = {0x33, 0xff, 0x2f, 0xe1}},
    {.arch = USP_ARCH_X86_64,
     .slot = 8,
     /* push rbp; mov rbp, rsp; nop; pop rbp; ret */
     .code = {0x55, 0x48, 0x89, 0xe5, 0x90, 0x5d, 0xc3},
     .code_size = 7,
     .moments = {{0, NOT_PUSHED}, {1, PUSHED}, {4, IN_FRAME}, {5, IN_FRAME}, {6, NOT_PUSHED}},
     .moment_count = 5,
     /* call + 0x200; leave; ret */
     .call = {0xe8, 0x00, 0x02, 0x00, 0x00, 0xc9, 0xc3},
     .call_size = 7,
     .call_length = 5,
     .indirect = {0x90, 0x90, 0x90, 0xff, 0xd0}},
    {.arch = USP_ARCH_I386,
     .slot = 4,
     /* push ebp; mov ebp, esp; nop; pop ebp; ret */
     .code = {0x55, 0x89, 0xe5, 0x90, 0x5d, 0xc3},
     .code_size = 6,
     .moments = {{0, NOT_PUSHED}, {1, PUSHED}, {3, IN_FRAME}, {4, IN_FRAME}, {5, NOT_PUSHED}},
     .moment_count = 5,
     .call = {0xe8, 0x00, 0x02, 0x00, 0x00, 0xc9, 0xc3},
     .call_size = 7,
     .call_length = 5,
     .indirect = {0x90, 0x90, 0x90, 0xff, 0xd0}},
    {.arch = USP_ARCH_ARM64_32, ARM64_FUNCTION},
};

/* Indices of the processors. */
enum { ARM64, THUMB, ARM, X86_64, I386, ARM64_32 };

static inline bool has_link_register(const struct machine *m) {
    return m->arch == USP_ARCH_ARM64 || m->arch == USP_ARCH_ARM64_32 || m->arch == USP_ARCH_ARMV7;
}

/* ---- the interrupted function ---- */

struct interrupted {
    usp_addr pc, sp, fp, lr;
};

/* The function's registers when it is interrupted at a moment. */
static inline struct interrupted interrupted_at(const struct machine *m, const struct moment *moment) {
    bool pushed = moment->state != NOT_PUSHED;
    usp_addr above = OWN_STACK + 2u * m->slot;
    struct interrupted r = {.pc = WORK + moment->offset, .sp = OWN_STACK, .fp = above};
    if (moment->state == IN_FRAME) r.fp = OWN_STACK;
    if (!pushed) r.sp = has_link_register(m) ? above : OWN_STACK + m->slot;
    r.lr = (moment->state == IN_FRAME ? STALE : CALLER) | (m->thumb ? 1 : 0);
    return r;
}

static inline void put(uint8_t *at, uint64_t value, unsigned n) {
    for (unsigned i = 0; i < n; i++) at[i] = (uint8_t)(value >> 8 * i);
}

static inline void set_flags(struct fixture *f, const struct machine *m) { f->registers.flags = m->thumb ? 0x20 : 0; }

/* Puts five regions: the code of the handler, around CALLER, around ROOT and of the function, and its stack. */
static inline void put_functions(struct fixture *f, const struct machine *m) {
    uint64_t thumb = m->thumb ? 1 : 0;
    usp_addr above = OWN_STACK + 2u * m->slot;
    image_bytes(&f->memory, HANDLER, m->code, m->code_size);
    image_bytes(&f->memory, CALLER - m->call_length, m->call, m->call_size);
    image_bytes(&f->memory, ROOT - m->call_length, m->call, m->call_size);
    image_bytes(&f->memory, WORK, m->code, m->code_size);
    WORDS(&f->memory, OWN_STACK, m->slot, above, CALLER | thumb, 0, ROOT | thumb);
}

/* Checks the n expected frames, of which frame `signal` was interrupted. */
static inline void expect_frames(struct fixture *f, const char *name, const usp_addr *expected, uint32_t n,
                                 uint32_t signal) {
    char text[512] = "";
    size_t used = 0;
    walk(f);
    bool right = f->stack.count == n && f->stack.stop == USP_STOP_FP_ZERO;
    for (uint32_t i = 0; i < f->stack.count; i++) {
        right = right && i < n && f->frames[i].pc == expected[i];
        used += (size_t)snprintf(text + used, sizeof text - used, " %#llx", (unsigned long long)f->frames[i].pc);
    }
    ck_assert_msg(right, "%s: frames%s, %s", name, text, usp_stop_reason_string(f->stack.stop));
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_msg((f->frames[i].kind == USP_FRAME_KIND_SIGNAL) == (i == signal), "%s: kind of frame %u", name, i);
    }
    const struct usp_frame *frame = &f->frames[signal];
    ck_assert_uint_eq(frame->method, USP_FRAME_METHOD_SIGNAL);
    ck_assert_uint_eq(usp_frame_call_site(f->target.arch, frame), frame->pc);
}

#endif
