/* SPDX-License-Identifier: MIT */
/* Tests stacks through Linux's signal frames, as bytes, on any host: every form of the return stub, the handler and the
 * function it interrupted each at every kind of instruction, handlers on the same stack and on an alternate one. The
 * interrupted link register may give a frame, the one in the kernel's record never.
 *
 * Real handlers are in tests/capture/test_linux_signals.c. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unspool/unspool.h>

#include "tests/support/interrupted.h"
#include "tests/support/suite.h"

#define STUB UINT64_C(0x300000)

/* Where the kernel puts its frame: below the interrupted frame, or on an alternate stack on either side. */
static const usp_addr frame_places[] = {0x7ffe8000, 0x7ff00000, 0x7fff8000};
#define PLACES (sizeof frame_places / sizeof frame_places[0])

/* ---- the kernel's frames ---- */

/* The offsets of the interrupted registers in a frame, from the start of its context (Linux: asm/ucontext.h and
 * asm/sigcontext.h of each processor). */
struct context {
    uint16_t fp, sp, lr, pc, flags; /* lr 0: the processor has no link register */
    uint16_t size;
};

static const struct context arm64_ucontext = {.fp = 416, .lr = 424, .sp = 432, .pc = 440, .flags = 448, .size = 456};
static const struct context arm_ucontext = {.fp = 60, .sp = 84, .lr = 88, .pc = 92, .flags = 96, .size = 100};
static const struct context x86_64_ucontext = {.fp = 120, .sp = 160, .pc = 168, .flags = 176, .size = 184};
static const struct context i386_ucontext = {.fp = 44, .sp = 48, .pc = 76, .flags = 84, .size = 108};
static const struct context i386_sigcontext = {.fp = 24, .sp = 28, .pc = 56, .flags = 64, .size = 88};

struct stub {
    const char *name;
    const struct machine *machine;
    const struct context *layout;
    uint16_t at; /* offset of the context from sp after the handler's return */
    uint8_t size;
    uint8_t code[8];
    uint8_t second, second_pops; /* offset of the second instruction, and the bytes that the one before it popped */
    uint8_t third;               /* offset of the third; 0: there is no third instruction */
};

static const struct stub stubs[] = {
    {"arm64", &machines[ARM64], &arm64_ucontext, 128, 8, {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}, 4, 0, 0},
    {"arm rt, Thumb", &machines[THUMB], &arm_ucontext, 128, 4, {0xad, 0x27, 0x00, 0xdf}, 2, 0, 0},
    {"arm old, Thumb", &machines[THUMB], &arm_ucontext, 0, 4, {0x77, 0x27, 0x00, 0xdf}, 2, 0, 0},
    {"arm rt, Thumb-2", &machines[THUMB], &arm_ucontext, 128, 6, {0x4f, 0xf0, 0xad, 0x07, 0x00, 0xdf}, 4, 0, 0},
    {"arm old, Thumb-2", &machines[THUMB], &arm_ucontext, 0, 6, {0x4f, 0xf0, 0x77, 0x07, 0x00, 0xdf}, 4, 0, 0},
    {"arm rt", &machines[ARM], &arm_ucontext, 128, 8, {0xad, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef}, 4, 0, 0},
    {"arm old", &machines[ARM], &arm_ucontext, 0, 8, {0x77, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef}, 4, 0, 0},
    {"arm rt, OABI", &machines[ARM], &arm_ucontext, 128, 8, {0xad, 0x70, 0xa0, 0xe3, 0xad, 0, 0x90, 0xef}, 4, 0, 0},
    {"arm old, OABI", &machines[ARM], &arm_ucontext, 0, 8, {0x77, 0x70, 0xa0, 0xe3, 0x77, 0, 0x90, 0xef}, 4, 0, 0},
    {"x86_64, musl", &machines[X86_64], &x86_64_ucontext, 0, 7, {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}, 5, 0, 0},
    {"i386 rt", &machines[I386], &i386_ucontext, 0x8c, 7, {0xb8, 0xad, 0, 0, 0, 0xcd, 0x80}, 5, 0, 0},
    {"i386 old", &machines[I386], &i386_sigcontext, 4, 8, {0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}, 1, 4, 6},
};
/* glibc's stub has nine bytes. */
static const uint8_t glibc_x86_64[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
static const struct stub glibc_stub = {
    .name = "x86_64, glibc", .machine = &machines[X86_64], .layout = &x86_64_ucontext, .second = 7};

#define STUBS (ELEMENTS(stubs) + 1)

static const struct stub *stub_of(int i) { return i < STUBS - 1 ? &stubs[i] : &glibc_stub; }

/* ---- a target ---- */

enum { CONTEXT_REGION, STUB_REGION, HANDLER_REGION, CALLER_REGION }; /* in the order of begin_interrupted */

/* Begins a fixture with the kernel's frame at `frame`, and everything else that does not depend on the handler's pc. */
static struct fixture *begin_interrupted(const struct stub *s, const struct interrupted *r, usp_addr frame) {
    const struct machine *m = s->machine;
    const struct context *c = s->layout;
    struct fixture *f = begin(m->arch, USP_OS_LINUX);
    uint8_t context[512] = {0};
    memset(context, 0xa5, sizeof context);
    put(context + c->fp, r->fp, m->slot);
    put(context + c->sp, r->sp, m->slot);
    if (c->lr != 0) put(context + c->lr, r->lr, m->slot);
    put(context + c->pc, r->pc, m->slot);
    put(context + c->flags, m->thumb ? 0x20 : 0, 4);
    image_bytes(&f->memory, frame + s->at, context, c->size);
    image_bytes(&f->memory, STUB, s->size != 0 ? s->code : glibc_x86_64, s->size != 0 ? s->size : sizeof glibc_x86_64);
    put_functions(f, m);
    return f;
}

/* The aarch64 kernel writes a record {x29, x30} after its frame and points x29 at it (arch/arm64/kernel/signal.c). */
#define KERNEL_RECORD 4688u

/* Stops the thread in the handler. */
static void stand_in_handler(struct fixture *f, const struct stub *s, const struct interrupted *r,
                             const struct moment *moment, usp_addr frame) {
    const struct machine *m = s->machine;
    uint64_t thumb = m->thumb ? 1 : 0;
    usp_addr outer = m->arch == USP_ARCH_ARM64 ? frame + KERNEL_RECORD : r->fp;
    usp_addr record = frame - 2u * m->slot;
    usp_addr sp = moment->state != NOT_PUSHED ? record : has_link_register(m) ? frame : frame - m->slot;
    WORDS(&f->memory, record, m->slot, outer, STUB | thumb);
    set_registers(f, (HANDLER + moment->offset) | thumb, sp, moment->state == IN_FRAME ? record : outer);
    set_flags(f, m);
    usp_registers_set_lr(&f->registers, (moment->state == IN_FRAME ? STALE : STUB) | thumb);
}

/* ---- tests ---- */

START_TEST(handler_and_function_at_every_instruction) {
    const struct stub *s = stub_of(_i);
    const struct machine *m = s->machine;
    for (unsigned handler = 0; handler < m->moment_count; handler++) {
        for (unsigned work = 0; work < m->moment_count; work++) {
            for (unsigned place = 0; place < PLACES; place++) {
                struct interrupted r = interrupted_at(m, &m->moments[work]);
                struct fixture *f = begin_interrupted(s, &r, frame_places[place]);
                stand_in_handler(f, s, &r, &m->moments[handler], frame_places[place]);
                const usp_addr expected[] = {HANDLER + m->moments[handler].offset, STUB, r.pc, CALLER, ROOT};
                expect_frames(f, s->name, expected, 5, 2);
            }
        }
    }
}
END_TEST

/* A handler without a frame record, which no table describes and which never returns: push bx; nop; call LEAF; jmp to
 * the call. The frame record at fp is the interrupted function's or its caller's, and skips frames. */
#define LOOP UINT64_C(0x310000)
#define LEAF UINT64_C(0x310040)

START_TEST(handler_that_loops) {
    static const uint8_t loop[] = {0x53, 0x90, 0xe8, LEAF - LOOP - 7, 0, 0, 0, 0xeb, 0xf9}, leaf[] = {0xc3};
    const struct stub *s = stub_of(_i);
    const struct machine *m = s->machine;
    if (has_link_register(m)) return;
    for (unsigned work = 0; work < m->moment_count; work++) {
        for (unsigned place = 0; place < PLACES; place++) {
            const usp_addr frame = frame_places[place];
            struct interrupted r = interrupted_at(m, &m->moments[work]);
            struct fixture *f = begin_interrupted(s, &r, frame);
            /* What the handler has pushed: a number, or what an earlier call has left there. */
            const uint64_t pushed = place == 0 ? 1 : CALLER;
            image_bytes(&f->memory, LOOP, loop, sizeof loop);
            image_bytes(&f->memory, LEAF, leaf, sizeof leaf);
            WORDS(&f->memory, frame - 3u * m->slot, m->slot, LOOP + 7, pushed, STUB);
            set_registers(f, LEAF, frame - 3u * m->slot, r.fp);
            set_flags(f, m);
            const usp_addr expected[] = {LEAF, LOOP + 7, STUB, r.pc, CALLER, ROOT};
            expect_frames(f, s->name, expected, 6, 3);
        }
    }
}
END_TEST

/* A thread can be stopped in the stub itself: the interrupted frames must be found from there, too. */
START_TEST(stub_at_every_instruction) {
    const struct stub *s = stub_of(_i);
    const struct machine *m = s->machine;
    const unsigned offsets[] = {0, s->second, s->third}, moved[] = {0, s->second_pops, s->second_pops};
    for (unsigned i = 0; i < (s->third != 0 ? 3u : 2u); i++) {
        for (unsigned work = 0; work < m->moment_count; work++) {
            struct interrupted r = interrupted_at(m, &m->moments[work]);
            struct fixture *f = begin_interrupted(s, &r, frame_places[0]);
            set_registers(f, (STUB + offsets[i]) | (m->thumb ? 1 : 0), frame_places[0] + moved[i], r.fp);
            set_flags(f, m);
            usp_registers_set_lr(&f->registers, STALE);
            const usp_addr expected[] = {STUB + offsets[i], r.pc, CALLER, ROOT};
            expect_frames(f, s->name, expected, 4, 1);
        }
    }
}
END_TEST

/* The handler of a call through a bad pointer: the function's caller must be found where the call left its return
 * address. */
START_TEST(call_to_nowhere) {
    const struct stub *s = stub_of(_i);
    const struct machine *m = s->machine;
    const usp_addr nowhere[] = {0, 0x66660000};
    for (unsigned i = 0; i < 2; i++) {
        struct interrupted r = interrupted_at(m, &m->moments[0]);
        r.pc = nowhere[i];
        struct fixture *f = begin_interrupted(s, &r, frame_places[0]);
        stand_in_handler(f, s, &r, &m->moments[2], frame_places[0]);
        memcpy(f->memory.regions[CALLER_REGION].bytes, m->indirect, m->call_length);
        const usp_addr expected[] = {HANDLER + m->moments[2].offset, STUB, nowhere[i], CALLER, ROOT};
        expect_frames(f, s->name, expected, 5, 2);
    }
}
END_TEST

/* The context cannot be read. The walk must not guess: it must report the handler's frames, and why it ends. */
START_TEST(context_unreadable) {
    const struct stub *s = stub_of(_i);
    const struct machine *m = s->machine;
    struct interrupted r = interrupted_at(m, &m->moments[2]);
    struct fixture *f = begin_interrupted(s, &r, frame_places[0]);
    stand_in_handler(f, s, &r, &m->moments[2], frame_places[0]);
    f->memory.regions[CONTEXT_REGION].size = s->layout->pc; /* the context ends where pc would be */
    EXPECT(f, USP_STOP_UNREADABLE, HANDLER + m->moments[2].offset, STUB);
}
END_TEST

/* On another system the same bytes are not a trampoline and must be taken for ordinary code. */
START_TEST(elsewhere_it_is_code) {
    const struct stub *s = stub_of(_i);
    const struct machine *m = s->machine;
    struct interrupted r = interrupted_at(m, &m->moments[2]);
    struct fixture *f = begin_interrupted(s, &r, frame_places[0]);
    stand_in_handler(f, s, &r, &m->moments[2], frame_places[0]);
    f->target.os = USP_OS_DARWIN;
    walk(f);
    for (uint32_t i = 0; i < f->stack.count; i++) ck_assert_uint_ne(f->frames[i].kind, USP_FRAME_KIND_SIGNAL);
}
END_TEST

/* With records alone sp is unknown at the stub. The context must be found by the kernel's record, whose x30 must never
 * become a frame. */
START_TEST(by_records_alone) {
    const struct stub *s = stub_of(0);
    const struct machine *m = s->machine;
    for (unsigned work = 0; work < m->moment_count; work++) {
        struct interrupted r = interrupted_at(m, &m->moments[work]);
        struct fixture *f = begin_interrupted(s, &r, frame_places[_i]);
        stand_in_handler(f, s, &r, &m->moments[2], frame_places[_i]);
        image_words(&f->memory, frame_places[_i] + KERNEL_RECORD, 8, (const uint64_t[]){r.fp, r.lr}, 2);
        /* The memory between the handler's record and the context can be read, but is not a context. */
        static const uint8_t zeros[128];
        image_bytes(&f->memory, frame_places[_i], zeros, sizeof zeros);
        f->options.readers = USP_READER_SIGNAL | USP_READER_FRAME_RECORD;
        walk(f);
        ck_assert_uint_ge(f->stack.count, 4);
        ck_assert_uint_eq(f->frames[1].pc, STUB);
        ck_assert_uint_eq(f->frames[2].pc, r.pc);
        ck_assert_uint_eq(f->frames[2].kind, USP_FRAME_KIND_SIGNAL);
        for (uint32_t i = 0; i < f->stack.count; i++) ck_assert_uint_ne(f->frames[i].pc, STALE);
    }
}
END_TEST

int main(void) {
    TCase *c = tcase_create("signals");
    add_loop_tests(c, 0, STUBS, handler_and_function_at_every_instruction, handler_that_loops,
                   stub_at_every_instruction, call_to_nowhere, context_unreadable, elsewhere_it_is_code);
    tcase_add_loop_test(c, by_records_alone, 0, PLACES);
    return run_suite("golden signals", c);
}
