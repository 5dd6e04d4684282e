/* SPDX-License-Identifier: MIT */
/* A walk over a target that the test makes, and its expected result. target_image.h holds the target's memory. */
#ifndef TESTS_SUPPORT_GOLDEN_H
#define TESTS_SUPPORT_GOLDEN_H

#include <check.h>
#include <unspool/unspool.h>

#include "tests/support/target_image.h"

#define MAX_FRAMES 16

struct fixture {
    struct target_image memory;
    struct usp_target target;
    struct usp_registers registers;
    struct usp_unwind_options options;
    struct usp_frame frames[MAX_FRAMES];
    struct usp_stack stack;
};

static inline struct fixture *begin(uint32_t arch, uint32_t os) {
    static struct fixture f;
    memset(&f, 0, sizeof f);
    usp_target_init(&f.target, arch);
    f.target.os = os;
    f.target.memory = (struct usp_memory){image_read, &f.memory};
    ck_assert_int_eq(usp_registers_init(&f.registers, arch), USP_OK);
    usp_unwind_options_init(&f.options);
    usp_stack_init(&f.stack, f.frames, MAX_FRAMES);
    return &f;
}

static inline void set_registers(struct fixture *f, usp_addr pc, usp_addr sp, usp_addr fp) {
    usp_registers_set_pc(&f->registers, pc);
    usp_registers_set_sp(&f->registers, sp);
    usp_registers_set_fp(&f->registers, fp);
}

static inline void walk(struct fixture *f) {
    ck_assert_int_eq(usp_unwind(&f->target, &f->registers, &f->options, &f->stack), USP_OK);
}

#define EXPECT(f, stop_reason, ...)                                                                                    \
    do {                                                                                                               \
        const usp_addr expected[] = {__VA_ARGS__};                                                                     \
        const uint32_t n = sizeof expected / sizeof expected[0];                                                       \
        walk(f);                                                                                                       \
        for (uint32_t nth = 0; nth < n && nth < (f)->stack.count; nth++) {                                             \
            ck_assert_msg((f)->frames[nth].pc == expected[nth], "frame %u is %#llx, not %#llx", nth,                   \
                          (unsigned long long)(f)->frames[nth].pc, (unsigned long long)expected[nth]);                 \
        }                                                                                                              \
        ck_assert_uint_eq((f)->stack.count, n);                                                                        \
        ck_assert_msg((f)->stack.stop == (stop_reason), "stopped because %s",                                          \
                      usp_stop_reason_string((f)->stack.stop));                                                        \
    } while (0)

#endif
