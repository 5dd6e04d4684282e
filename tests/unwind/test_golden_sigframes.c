/* SPDX-License-Identifier: MIT */
/* Tests stacks through Darwin's signal frames, as bytes, on any host: every layout that its kernels make, _sigtramp at
 * every instruction, handlers on the same stack and on an alternate one, signals in handlers; and bytes that only
 * resemble such a frame. _sigtramp is not recognized by its code here: no table describes it, and only its instructions
 * are read. The interrupted link register may give a frame, the one in _sigtramp's record never.
 *
 * Structures: xnu bsd/dev/arm/unix_signal.c, bsd/dev/i386/unix_signal.c, bsd/sys/ucontext.h, bsd/arm/_mcontext.h,
 * bsd/i386/_mcontext.h. test_golden_signals.c tests Linux's frames. */
#include <check.h>
#include <unspool/unspool.h>

#include "tests/support/interrupted.h"
#include "tests/support/suite.h"

#define TRAMP     UINT64_C(0x300000)
#define SIGRETURN (TRAMP + 0x22c) /* called from _sigtramp */

/* ---- _sigtramp and __sigreturn, compiled from code with the effects of libplatform's ---- */

/* An instruction of _sigtramp at which a thread can stop. */
struct stop {
    uint8_t offset;
    uint8_t below;   /* bytes from sp up to its value at the first instruction */
    bool has_record; /* fp points at _sigtramp's own record; otherwise fp is the interrupted one */
    bool has_args;   /* the third and the following arguments are in their registers */
    bool has_first;  /* the first one holds the ucontext, for __sigreturn */
};

struct tramp {
    const char *name;
    uint8_t size;
    uint8_t code[84];
    uint8_t record; /* bytes from the record up to sp's value at the first instruction */
    uint8_t body;   /* bytes from sp in the body up to the record */
    uint8_t called; /* offset of the instruction after the call of the handler */
    uint8_t left;   /* offset of the instruction after the call of __sigreturn; 0: a jump leads there */
    uint8_t stop_count;
    struct stop stops[24];
    uint8_t sigreturn[12], sigreturn_size;
};

#define BODY(at) {.offset = (at), .has_record = true}

/* stp x22, x21, [sp, #-48]!; stp x20, x19, [sp, #16]; stp x29, x30, [sp, #32]; add x29, sp, #32; mov x19, x5; mov x20,
 * x4; mov x1, x3; mov x8, x0; mov x0, x2; mov x2, x4; blr x8; mov x0, x20; mov w1, #30; mov x2, x19 */
#define ARM64_CODE                                                                                                     \
    0xf6, 0x57, 0xbd, 0xa9, 0xf4, 0x4f, 0x01, 0xa9, 0xfd, 0x7b, 0x02, 0xa9, 0xfd, 0x83, 0x00, 0x91, 0xf3, 0x03, 0x05,  \
        0xaa, 0xf4, 0x03, 0x04, 0xaa, 0xe1, 0x03, 0x03, 0xaa, 0xe8, 0x03, 0x00, 0xaa, 0xe0, 0x03, 0x02, 0xaa, 0xe2,    \
        0x03, 0x04, 0xaa, 0x00, 0x01, 0x3f, 0xd6, 0xe0, 0x03, 0x14, 0xaa, 0xc1, 0x03, 0x80, 0x52, 0xe2, 0x03, 0x13,    \
        0xaa
#define ARM64_STOPS                                                                                                    \
    {0, 0, false, true, false}, {4, 48, false, true, false}, {8, 48, false, true, false},                              \
        {12, 48, false, true, false}, BODY(16), BODY(28), BODY(40), BODY(44), BODY(52)
/* mov x16, #184; svc #0x80; ret */
#define ARM64_SIGRETURN                                                                                                \
    .sigreturn = {0x10, 0x17, 0x80, 0xd2, 0x01, 0x10, 0x00, 0xd4, 0xc0, 0x03, 0x5f, 0xd6}, .sigreturn_size = 12
/* mov.w r12, #184; svc #0x80; bx lr */
#define THUMB_SIGRETURN .sigreturn = {0x4f, 0xf0, 0xb8, 0x0c, 0x80, 0xdf, 0x70, 0x47}, .sigreturn_size = 8

/* … bl __sigreturn; brk #1 */
static const struct tramp arm64_tramp = {
    .name = "arm64",
    .code = {ARM64_CODE, 0x7d, 0x00, 0x00, 0x94, 0x20, 0x00, 0x20, 0xd4},
    .size = 64,
    .record = 16,
    .body = 48,
    .called = 44,
    .left = 60,
    .stops = {ARM64_STOPS, BODY(56), BODY(60)},
    .stop_count = 11,
    ARM64_SIGRETURN,
};

/* … ldp x29, x30, [sp, #32]; ldp x20, x19, [sp, #16]; ldp x22, x21, [sp], #48; b __sigreturn (before libplatform
 * 177) */
static const struct tramp arm64_old_tramp = {
    .name = "arm64, old",
    .code = {ARM64_CODE, 0xfd, 0x7b, 0x42, 0xa9, 0xf4, 0x4f, 0x41, 0xa9, 0xf6, 0x57, 0xc3, 0xa8, 0x7a, 0x00, 0x00,
             0x14},
    .size = 72,
    .record = 16,
    .body = 48,
    .called = 44,
    .stops = {ARM64_STOPS,
              BODY(56),
              {60, 48, false, false, true},
              {64, 48, false, false, true},
              {68, 0, false, false, true}},
    .stop_count = 13,
    ARM64_SIGRETURN,
};

/* push {r7, lr}; mov r7, sp; mov r1, r3; mov r3, r0; ldr r4, [r7, #8]; mov r0, r2; mov r2, r4; blx r3; ldr r2, [r7,
 * #12]; mov r0, r4; movs r1, #30; bl __sigreturn; trap */
static const struct tramp thumb_tramp = {
    .name = "armv7",
    .code = {0x80, 0xb5, 0x6f, 0x46, 0x19, 0x46, 0x03, 0x46, 0xbc, 0x68, 0x10, 0x46, 0x22, 0x46,
             0x98, 0x47, 0xfa, 0x68, 0x20, 0x46, 0x1e, 0x21, 0x00, 0xf0, 0x09, 0xf9, 0xfe, 0xde},
    .size = 28,
    .record = 8,
    .body = 8,
    .called = 16,
    .left = 26,
    .stops = {{0, 0, false, true, false}, {2, 8, false, true, false}, BODY(4), BODY(8), BODY(14), BODY(16), BODY(22)},
    .stop_count = 7,
    THUMB_SIGRETURN,
};

/* push {r4, r5, r7, lr}; add r7, sp, #8; mov r1, r3; mov r3, r0; ldr r4, [r7, #8]; mov r0, r2; mov r2, r4; blx r3;
 * mov r0, r4; movs r1, #30; pop.w {r4, r5, r7, lr}; b.w __sigreturn */
static const struct tramp thumb_old_tramp = {
    .name = "armv7, old",
    .code = {0xb0, 0xb5, 0x02, 0xaf, 0x19, 0x46, 0x03, 0x46, 0xbc, 0x68, 0x10, 0x46, 0x22, 0x46,
             0x98, 0x47, 0x20, 0x46, 0x1e, 0x21, 0xbd, 0xe8, 0xb0, 0x40, 0x00, 0xf0, 0x08, 0xb9},
    .size = 28,
    .record = 8,
    .body = 16,
    .called = 16,
    .stops = {{0, 0, false, true, false},
              {2, 16, false, true, false},
              BODY(4),
              BODY(14),
              BODY(16),
              BODY(20),
              {24, 0, false, false, true}},
    .stop_count = 7,
    THUMB_SIGRETURN,
};

/* push rbp; mov rbp, rsp; mov rax, rdi; mov rbx, r8; call rax; mov rdi, rbx; call __sigreturn; ud2
 * mov eax, 0x20000b8; syscall; ret */
static const struct tramp x86_64_tramp = {
    .name = "x86_64",
    .code = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x4c, 0x89, 0xc3, 0xff,
             0xd0, 0x48, 0x89, 0xdf, 0xe8, 0x18, 0x02, 0x00, 0x00, 0x0f, 0x0b},
    .size = 22,
    .record = 8,
    .body = 8,
    .called = 12,
    .left = 20,
    .stops = {{0, 0, false, true, false}, {1, 8, false, true, false}, BODY(4), BODY(7), BODY(10), BODY(12), BODY(15)},
    .stop_count = 7,
    .sigreturn = {0xb8, 0xb8, 0x00, 0x00, 0x02, 0x0f, 0x05, 0xc3},
    .sigreturn_size = 8,
};

/* push ebp; mov ebp, esp; sub esp, 24; mov ecx, [ebp + 8]; mov esi, [ebp + 24]; mov [esp + 8], esi; call ecx;
 * mov [esp + 4], esi; mov eax, 184; int 0x80; ud2 */
static const struct tramp i386_tramp = {
    .name = "i386",
    .code = {0x55, 0x89, 0xe5, 0x83, 0xec, 0x18, 0x8b, 0x4d, 0x08, 0x8b, 0x75, 0x18, 0x89, 0x74, 0x24, 0x08,
             0xff, 0xd1, 0x89, 0x74, 0x24, 0x04, 0xb8, 0xb8, 0x00, 0x00, 0x00, 0xcd, 0x80, 0x0f, 0x0b},
    .size = 31,
    .record = 4,
    .body = 28,
    .called = 18,
    .stops = {{0, 0, false, true, false},
              {1, 4, false, true, false},
              {3, 4, true, true, false},
              BODY(6),
              BODY(9),
              BODY(16),
              BODY(18),
              BODY(27)},
    .stop_count = 8,
};

/* ---- the kernel's frames ---- */

struct kernel {
    const char *name;
    const struct machine *machine;
    const struct tramp *tramp;
    uint8_t pointer;   /* bytes of a pointer in the ucontext */
    uint8_t siginfo;   /* bytes */
    uint16_t mcontext; /* bytes of the mcontext */
    uint16_t fp, sp, lr, pc, flags;
    uint8_t before; /* arm: words before siginfo */
};

#define ARM64_MCONTEXT  8, 104, 816, 248, 264, 256, 272, 280, 0
#define ARM_MCONTEXT    4, 64, 340, 40, 64, 68, 72, 76
#define X86_64_MCONTEXT 64, 72, 0, 144, 152, 0
#define I386_MCONTEXT   36, 40, 0, 52, 48, 0

static const struct kernel kernels[] = {
    {"arm64", &machines[ARM64], &arm64_tramp, ARM64_MCONTEXT},
    {"arm64, libplatform 161", &machines[ARM64], &arm64_old_tramp, ARM64_MCONTEXT},
    {"arm64_32", &machines[ARM64_32], &arm64_tramp, ARM64_MCONTEXT},
    {"armv7", &machines[THUMB], &thumb_tramp, ARM_MCONTEXT, 2},
    {"armv7, xnu 4570", &machines[THUMB], &thumb_old_tramp, ARM_MCONTEXT, 1},
    {"x86_64", &machines[X86_64], &x86_64_tramp, 8, 104, 712, X86_64_MCONTEXT},
    {"x86_64, AVX", &machines[X86_64], &x86_64_tramp, 8, 104, 1032, X86_64_MCONTEXT},
    {"x86_64, AVX-512", &machines[X86_64], &x86_64_tramp, 8, 104, 2632, X86_64_MCONTEXT},
    {"x86_64, descriptors", &machines[X86_64], &x86_64_tramp, 8, 104, 744, X86_64_MCONTEXT},
    {"x86_64, AVX, descriptors", &machines[X86_64], &x86_64_tramp, 8, 104, 1064, X86_64_MCONTEXT},
    {"x86_64, AVX-512, descriptors", &machines[X86_64], &x86_64_tramp, 8, 104, 2664, X86_64_MCONTEXT},
    {"i386", &machines[I386], &i386_tramp, 4, 64, 600, I386_MCONTEXT},
    {"i386, AVX", &machines[I386], &i386_tramp, 4, 64, 792, I386_MCONTEXT},
    {"i386, AVX-512", &machines[I386], &i386_tramp, 4, 64, 1112, I386_MCONTEXT},
};
#define KERNELS ELEMENTS(kernels)

/* The end of an alternate stack; 0: the handler runs on the interrupted stack. */
static const usp_addr tops[] = {0, 0x7ff08000, 0x80008000};
#define TOPS (sizeof tops / sizeof tops[0])

/* A stack from below the handler's frame up to the end of the kernel's frame. */
struct delivered {
    usp_addr base;
    uint8_t bytes[IMAGE_BYTES];
    usp_addr entry; /* sp at _sigtramp's first instruction */
    usp_addr info, context, machine;
    usp_addr end;
};

static uint8_t *at(struct delivered *d, usp_addr address) {
    ck_assert_uint_ge(address, d->base);
    ck_assert_uint_lt(address - d->base, sizeof d->bytes - 16);
    return d->bytes + (address - d->base);
}

static usp_addr round_down(usp_addr address) { return address & ~UINT64_C(15); }

static void put_context(struct delivered *d, const struct kernel *k, const struct interrupted *r) {
    const struct machine *m = k->machine;
    unsigned p = k->pointer, ucontext = p == 8 ? 56 : 32;
    memset(at(d, d->context), 0, ucontext);
    put(at(d, d->context + 4), 0xfffff, 4);
    put(at(d, d->context + 8), d->entry, p);
    put(at(d, d->context + (p == 8 ? 40 : 24)), m->arch == USP_ARCH_I386 ? 1032 : k->mcontext, p);
    put(at(d, d->context + (p == 8 ? 48 : 28)), d->machine, p);
    put(at(d, d->info), 11, 4); /* SIGSEGV */
    put(at(d, d->machine + k->fp), r->fp, m->slot);
    put(at(d, d->machine + k->sp), r->sp, m->slot);
    if (k->lr != 0) put(at(d, d->machine + k->lr), r->lr, m->slot);
    put(at(d, d->machine + k->pc), r->pc, m->slot);
    put(at(d, d->machine + k->flags), m->thumb ? 0x20 : 0, 4);
}

/* Writes the kernel's frame, and _sigtramp's stack at its call of the handler. _sigtramp's record has an arbitrary link
 * register, which leads to an instruction after a call. */
static void deliver(struct delivered *d, const struct kernel *k, const struct interrupted *r, usp_addr top) {
    const struct machine *m = k->machine;
    unsigned ucontext = k->pointer == 8 ? 56 : 32;
    usp_addr sp = top != 0 ? top : r->sp;
    memset(d, 0, sizeof *d);
    memset(d->bytes, 0xa5, sizeof d->bytes);
    if (has_link_register(m)) {
        unsigned before = k->before * 4u, whole = before + k->siginfo + ucontext + k->mcontext;
        d->entry = m->slot == 8 ? round_down(sp - whole - 128) : sp - whole;
        d->info = d->entry + before;
        d->context = d->info + k->siginfo;
        d->machine = d->context + ucontext;
        d->end = d->machine + k->mcontext;
    } else {
        d->context = sp - (m->slot == 8 ? 128 : 0) - ucontext;
        d->info = d->context - k->siginfo;
        d->machine = d->info - k->mcontext;
        d->entry = round_down(d->machine - (m->slot == 8 ? 0 : 28)) - m->slot;
        d->end = d->context + ucontext;
    }
    d->base = d->entry - 512;
    put_context(d, k, r);
    uint64_t thumb = m->thumb ? 1 : 0;
    put(at(d, d->entry - k->tramp->record), r->fp, m->slot);
    put(at(d, d->entry - k->tramp->record + m->slot), STALE | thumb, m->slot);
    if (k->before == 2) {
        put(at(d, d->entry), d->context, 4);
        put(at(d, d->entry + 4), 0x12345678, 4);
    }
    if (k->before == 1) put(at(d, d->entry), d->context, 4);
    if (m->arch != USP_ARCH_I386) return;
    put(at(d, d->entry), 0xffffffff, 4);
    put(at(d, d->entry + 16), d->info, 4);
    put(at(d, d->entry + 20), d->context, 4);
}

static usp_addr record_of(const struct delivered *d, const struct kernel *k) { return d->entry - k->tramp->record; }

enum { STACK_REGION, HANDLER_REGION, CALLER_REGION }; /* in the order of begin_kernel */

/* Begins a fixture with the code and everything that does not depend on the thread's pc. The kernel's frame will
 * overlay the interrupted stack. */
static struct fixture *begin_kernel(const struct kernel *k) {
    const struct machine *m = k->machine;
    struct fixture *f = begin(m->arch, USP_OS_DARWIN);
    f->memory.count = 1;
    put_functions(f, m);
    image_bytes(&f->memory, TRAMP, k->tramp->code, k->tramp->size);
    image_bytes(&f->memory, SIGRETURN, k->tramp->sigreturn, k->tramp->sigreturn_size);
    return f;
}

static void put_stack(struct fixture *f, const struct delivered *d) {
    f->memory.regions[STACK_REGION].from = d->base;
    f->memory.regions[STACK_REGION].size = (size_t)(d->end - d->base);
    memcpy(f->memory.regions[STACK_REGION].bytes, d->bytes, (size_t)(d->end - d->base));
}

/* Stops the thread in the handler, which _sigtramp has called. */
static void stand_in_handler(struct fixture *f, const struct kernel *k, struct delivered *d,
                             const struct moment *moment) {
    const struct machine *m = k->machine;
    uint64_t thumb = m->thumb ? 1 : 0;
    usp_addr sp = d->entry - k->tramp->body, record = sp - 2u * m->slot, outer = record_of(d, k);
    usp_addr back = (TRAMP + k->tramp->called) | thumb;
    put(at(d, record), outer, m->slot);
    put(at(d, record + m->slot), back, m->slot);
    if (moment->state != NOT_PUSHED) sp = record;
    if (moment->state == NOT_PUSHED && !has_link_register(m)) sp -= m->slot;
    set_registers(f, (HANDLER + moment->offset) | thumb, sp, moment->state == IN_FRAME ? record : outer);
    set_flags(f, m);
    usp_registers_set_lr(&f->registers, moment->state == IN_FRAME ? STALE | thumb : back);
}

static void set_argument(struct fixture *f, unsigned reg, usp_addr value) {
    f->registers.value[reg] = value;
    f->registers.known |= UINT64_C(1) << reg;
}

/* Stops the thread in _sigtramp. */
static void stand_in_tramp(struct fixture *f, const struct kernel *k, const struct delivered *d,
                           const struct stop *stop, const struct interrupted *r) {
    const struct machine *m = k->machine;
    usp_addr below = stop->has_record ? k->tramp->body : stop->below;
    if (m->arch == USP_ARCH_I386 && stop->offset == 3) below = 4;
    set_registers(f, (TRAMP + stop->offset) | (m->thumb ? 1 : 0), d->entry - below,
                  stop->has_record ? record_of(d, k) : r->fp);
    set_flags(f, m);
    usp_registers_set_lr(&f->registers, STALE | (m->thumb ? 1 : 0));
    if (!has_link_register(m)) return;
    set_argument(f, 0, stop->has_first ? d->context : HANDLER);
    set_argument(f, 3, stop->has_args ? d->info : 0x77);
    set_argument(f, 4, stop->has_args ? d->context : 0x78);
}

/* ---- the tests ---- */

START_TEST(handler_and_function_at_every_instruction) {
    const struct kernel *k = &kernels[_i];
    const struct machine *m = k->machine;
    static struct delivered d;
    for (unsigned handler = 0; handler < m->moment_count; handler++) {
        for (unsigned work = 0; work < m->moment_count; work++) {
            for (unsigned top = 0; top < TOPS; top++) {
                struct interrupted r = interrupted_at(m, &m->moments[work]);
                struct fixture *f = begin_kernel(k);
                deliver(&d, k, &r, tops[top]);
                stand_in_handler(f, k, &d, &m->moments[handler]);
                put_stack(f, &d);
                const usp_addr expected[] = {HANDLER + m->moments[handler].offset, TRAMP + k->tramp->called, r.pc,
                                             CALLER, ROOT};
                expect_frames(f, k->name, expected, 5, 2);
                ck_assert_uint_eq(f->frames[1].cfa, d.entry + (has_link_register(m) ? 0 : m->slot));
                ck_assert_uint_eq(f->frames[2].flags & USP_FRAME_THUMB, m->thumb ? USP_FRAME_THUMB : 0);
            }
        }
    }
}
END_TEST

/* The thread stops at each instruction of _sigtramp: prologue, body, after the handler, before __sigreturn, in an old
 * one's epilogue. The interrupted frames must be found. */
START_TEST(tramp_at_every_instruction) {
    const struct kernel *k = &kernels[_i];
    const struct machine *m = k->machine;
    static struct delivered d;
    for (unsigned i = 0; i < k->tramp->stop_count; i++) {
        for (unsigned work = 0; work < m->moment_count; work++) {
            for (unsigned top = 0; top < TOPS; top++) {
                struct interrupted r = interrupted_at(m, &m->moments[work]);
                struct fixture *f = begin_kernel(k);
                deliver(&d, k, &r, tops[top]);
                stand_in_tramp(f, k, &d, &k->tramp->stops[i], &r);
                put_stack(f, &d);
                const usp_addr expected[] = {TRAMP + k->tramp->stops[i].offset, r.pc, CALLER, ROOT};
                expect_frames(f, k->name, expected, 4, 1);
            }
        }
    }
}
END_TEST

/* In __sigreturn the first record is _sigtramp's. The interrupted frames must be found there too. */
START_TEST(sigreturn) {
    const struct kernel *k = &kernels[_i];
    const struct machine *m = k->machine;
    static struct delivered d;
    if (k->tramp->sigreturn_size == 0) return;
    for (unsigned top = 0; top < TOPS; top++) {
        struct interrupted r = interrupted_at(m, &m->moments[2]);
        struct fixture *f = begin_kernel(k);
        deliver(&d, k, &r, tops[top]);
        uint64_t thumb = m->thumb ? 1 : 0;
        usp_addr back = (TRAMP + k->tramp->left) | thumb, sp = d.entry - k->tramp->body;
        if (k->tramp->left == 0) {
            const struct stop gone = {.has_first = true};
            stand_in_tramp(f, k, &d, &gone, &r);
            usp_registers_set_pc(&f->registers, SIGRETURN | thumb);
        } else {
            if (!has_link_register(m)) put(at(&d, sp -= m->slot), back, m->slot);
            set_registers(f, SIGRETURN | thumb, sp, record_of(&d, k));
            set_flags(f, m);
            usp_registers_set_lr(&f->registers, back);
            set_argument(f, 0, d.context);
        }
        put_stack(f, &d);
        const usp_addr through[] = {SIGRETURN, TRAMP + k->tramp->left, r.pc, CALLER, ROOT};
        const usp_addr gone[] = {SIGRETURN, r.pc, CALLER, ROOT};
        if (k->tramp->left != 0)
            expect_frames(f, k->name, through, 5, 2);
        else
            expect_frames(f, k->name, gone, 4, 1);
    }
}
END_TEST

START_TEST(call_to_nowhere) {
    const struct kernel *k = &kernels[_i];
    const struct machine *m = k->machine;
    static struct delivered d;
    const usp_addr nowhere[] = {0, 0x66660000};
    for (unsigned i = 0; i < 2; i++) {
        struct interrupted r = interrupted_at(m, &m->moments[0]);
        r.pc = nowhere[i];
        struct fixture *f = begin_kernel(k);
        deliver(&d, k, &r, tops[1]);
        stand_in_handler(f, k, &d, &m->moments[2]);
        put_stack(f, &d);
        memcpy(f->memory.regions[CALLER_REGION].bytes, m->indirect, m->call_length);
        const usp_addr expected[] = {HANDLER + m->moments[2].offset, TRAMP + k->tramp->called, nowhere[i], CALLER,
                                     ROOT};
        expect_frames(f, k->name, expected, 5, 2);
    }
}
END_TEST

/* The walk uses frame records alone, as an iOS capture without instructions does, with the bounds of the handler's
 * stack. */
START_TEST(by_records_alone) {
    const struct kernel *k = &kernels[_i];
    const struct machine *m = k->machine;
    static struct delivered d;
    for (unsigned top = 0; top < TOPS; top++) {
        struct interrupted r = interrupted_at(m, &m->moments[2]);
        struct fixture *f = begin_kernel(k);
        deliver(&d, k, &r, tops[top]);
        stand_in_handler(f, k, &d, &m->moments[2]);
        put_stack(f, &d);
        if (tops[top] != 0) {
            f->target.stack_low = d.base;
            f->target.stack_high = tops[top];
        }
        f->options.readers = USP_READER_SIGNAL | USP_READER_FRAME_RECORD;
        const usp_addr expected[] = {HANDLER + m->moments[2].offset, TRAMP + k->tramp->called, r.pc, CALLER, ROOT};
        expect_frames(f, k->name, expected, 5, 2);
    }
}
END_TEST

/* A handler is itself interrupted, at each of its instructions, on the same stack. */
START_TEST(signal_in_handler) {
    const struct kernel *k = &kernels[_i];
    const struct machine *m = k->machine;
    static struct delivered first, second;
    for (unsigned handler = 0; handler < m->moment_count; handler++) {
        for (unsigned top = 0; top < TOPS; top++) {
            struct interrupted r = interrupted_at(m, &m->moments[2]);
            struct fixture *f = begin_kernel(k);
            deliver(&first, k, &r, tops[top]);
            stand_in_handler(f, k, &first, &m->moments[handler]);
            struct interrupted again = {.pc = HANDLER + m->moments[handler].offset,
                                        .sp = usp_registers_sp(&f->registers),
                                        .fp = usp_registers_fp(&f->registers),
                                        .lr = usp_registers_lr(&f->registers)};
            first.base = again.sp;
            deliver(&second, k, &again, 0);
            stand_in_handler(f, k, &second, &m->moments[2]);
            put_stack(f, &second);
            image_bytes(&f->memory, again.sp, first.bytes + 512 - (first.entry - again.sp),
                        (size_t)(first.end - again.sp));
            walk(f);
            const usp_addr expected[] = {HANDLER + m->moments[2].offset,
                                         TRAMP + k->tramp->called,
                                         HANDLER + m->moments[handler].offset,
                                         TRAMP + k->tramp->called,
                                         r.pc,
                                         CALLER,
                                         ROOT};
            ck_assert_uint_eq(f->stack.count, 7);
            for (unsigned i = 0; i < 7; i++) {
                ck_assert_msg(f->frames[i].pc == expected[i], "%s: frame %u", k->name, i);
                ck_assert_uint_eq(f->frames[i].kind == USP_FRAME_KIND_SIGNAL, i == 2 || i == 4);
            }
        }
    }
}
END_TEST

/* A handler without a record of its own calls another function: fp is _sigtramp's meanwhile, but the innermost frame is
 * not _sigtramp's. */
START_TEST(handler_without_record) {
    /* str x30, [sp, #-16]!; bl . + 0x100; ldr x30, [sp], #16; ret */
    static const uint8_t code[] = {0xfe, 0x0f, 0x1f, 0xf8, 0x40, 0x00, 0x00, 0x94,
                                   0xfe, 0x07, 0x41, 0xf8, 0xc0, 0x03, 0x5f, 0xd6};
    const struct kernel *k = &kernels[0];
    static struct delivered d;
    struct interrupted r = interrupted_at(k->machine, &k->machine->moments[2]);
    struct fixture *f = begin_kernel(k);
    deliver(&d, k, &r, 0);
    usp_addr sp = d.entry - k->tramp->body;
    image_bytes(&f->memory, HANDLER + 0x800, code, sizeof code);
    put(at(&d, sp - 16), TRAMP + k->tramp->called, 8);
    /* The thread stops in the called function, a leaf at HANDLER. */
    set_registers(f, HANDLER, sp - 16, record_of(&d, k));
    usp_registers_set_lr(&f->registers, HANDLER + 0x808);
    put_stack(f, &d);
    const usp_addr expected[] = {HANDLER, HANDLER + 0x808, TRAMP + k->tramp->called, r.pc, CALLER, ROOT};
    expect_frames(f, "no record", expected, 6, 3);
}
END_TEST

/* arm64e: the saved thread state is signed, and so are return addresses; the kernel removes no signature. */
START_TEST(signed_state) {
    const struct kernel *k = &kernels[0];
    const uint64_t signature = UINT64_C(0x2a) << 47;
    static struct delivered d;
    for (unsigned work = 0; work < k->machine->moment_count; work++) {
        struct interrupted r = interrupted_at(k->machine, &k->machine->moments[work]), sealed = r;
        struct fixture *f = begin_kernel(k);
        sealed.pc |= signature;
        sealed.sp |= signature;
        sealed.fp |= signature;
        sealed.lr |= signature;
        deliver(&d, k, &r, tops[1]);
        put_context(&d, k, &sealed);
        put(at(&d, d.context + 48), d.machine | signature, 8);
        stand_in_handler(f, k, &d, &k->machine->moments[2]);
        put_stack(f, &d);
        f->target.pac_mask = UINT64_C(0xff7f8) << 44;
        const usp_addr expected[] = {HANDLER + 8, TRAMP + k->tramp->called, r.pc, CALLER, ROOT};
        expect_frames(f, "arm64e", expected, 5, 2);
        ck_assert((f->frames[2].flags & USP_FRAME_SIGNED) != 0);
    }
}
END_TEST

/* ---- bytes that are not a signal frame ---- */

static void expect_no_signal(struct fixture *f, const char *what) {
    walk(f);
    for (uint32_t i = 0; i < f->stack.count; i++) {
        ck_assert_msg(f->frames[i].kind != USP_FRAME_KIND_SIGNAL, "%s: frame %u", what, i);
    }
    ck_assert_uint_ne(f->stack.stop, USP_STOP_NONE);
}

static struct fixture *begin_in_handler(const struct kernel *k, struct delivered *d) {
    const struct machine *m = k->machine;
    struct interrupted r = interrupted_at(m, &m->moments[2]);
    struct fixture *f = begin_kernel(k);
    deliver(d, k, &r, tops[1]);
    stand_in_handler(f, k, d, &m->moments[2]);
    return f;
}

/* Each field that the kernel fills must be checked: one wrong field, and there is no signal frame. */
START_TEST(each_field_counts) {
    const struct kernel *k = &kernels[_i];
    static struct delivered d;
    unsigned p = k->pointer, size = p == 8 ? 40 : 24;
    bool is_size_told = k->machine->arch != USP_ARCH_I386;
    begin_in_handler(k, &d);
    const struct {
        const char *what;
        usp_addr at;
        uint64_t value;
        unsigned n;
    } faults[] = {
        {"mcontext points elsewhere", d.context + (p == 8 ? 48 : 28), d.machine + 8, p},
        {"mcontext points nowhere", d.context + (p == 8 ? 48 : 28), 0, p},
        {"mcontext points at itself", d.context + (p == 8 ? 48 : 28), d.context, p},
        {"on no stack", d.context, 2, 4},
        {"another context follows", d.context + (p == 8 ? 32 : 20), d.context, p},
        {"no signal", d.info, 0, 4},
        {"no such signal", d.info, 32, 4},
        {"another frame pointer", d.machine + k->fp, OWN_STACK + 0x40, k->machine->slot},
        {"size", d.context + size, is_size_told ? 64 : 1032, p},
        {"great size", d.context + size, is_size_told ? 70000 : 1032, p},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct fixture *f = begin_in_handler(k, &d);
        put(at(&d, faults[i].at), faults[i].value, faults[i].n);
        put_stack(f, &d);
        bool is_right = !is_size_told && faults[i].value == 1032;
        if (!is_right) expect_no_signal(f, faults[i].what);
    }
}
END_TEST

/* The kernel's frame of an earlier signal is left on the stack: above the current frame, but not its caller. It must
 * not be used. */
START_TEST(frame_of_the_past) {
    const struct kernel *k = &kernels[_i];
    const struct machine *m = k->machine;
    static struct delivered d;
    struct fixture *f = begin_in_handler(k, &d);
    uint64_t thumb = m->thumb ? 1 : 0;
    /* The function has made its frame: its record lies where _sigtramp's record was, and leads to its caller. */
    usp_addr record = record_of(&d, k), outer = d.end + 64;
    put(at(&d, record), outer, m->slot);
    put(at(&d, record + m->slot), CALLER | thumb, m->slot);
    put_stack(f, &d);
    WORDS(&f->memory, outer, m->slot, 0, ROOT | thumb);
    set_registers(f, (WORK + m->moments[2].offset) | thumb, record, record);
    const usp_addr expected[] = {WORK + m->moments[2].offset, CALLER, ROOT};
    walk(f);
    ck_assert_uint_eq(f->stack.count, 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(f->frames[i].pc, expected[i]);
        ck_assert_uint_ne(f->frames[i].kind, USP_FRAME_KIND_SIGNAL);
    }
}
END_TEST

/* The old frame lies below sp, and code that uses the frame pointer's register for something else points there. It must
 * not be used. */
START_TEST(frame_below_sp) {
    const struct kernel *k = &kernels[_i];
    const struct machine *m = k->machine;
    static struct delivered d;
    struct fixture *f = begin_in_handler(k, &d);
    uint64_t thumb = m->thumb ? 1 : 0;
    usp_addr sp = d.end + 64;
    put_stack(f, &d);
    WORDS(&f->memory, sp, m->slot, CALLER | thumb, 0, 0, 0);
    set_registers(f, WORK | thumb, sp, record_of(&d, k));
    set_flags(f, m);
    usp_registers_set_lr(&f->registers, CALLER | thumb);
    walk(f);
    ck_assert_uint_ge(f->stack.count, 2);
    ck_assert_uint_eq(f->frames[1].pc, CALLER);
    expect_no_signal(f, k->name);
}
END_TEST

START_TEST(elsewhere_it_is_none) {
    const struct kernel *k = &kernels[_i];
    static struct delivered d;
    if (k->machine->arch == USP_ARCH_ARM64_32) return;
    struct fixture *f = begin_in_handler(k, &d);
    put_stack(f, &d);
    f->target.os = USP_OS_LINUX;
    expect_no_signal(f, k->name);
}
END_TEST

/* The saved registers are cut off: the stack must end and say why. */
START_TEST(registers_cut_off) {
    const struct kernel *k = &kernels[0];
    static struct delivered d;
    struct fixture *f = begin_in_handler(k, &d);
    d.end = d.machine + k->pc;
    put_stack(f, &d);
    EXPECT(f, USP_STOP_UNREADABLE, HANDLER + 8, TRAMP + k->tramp->called);
}
END_TEST

/* The interrupted code is the handler itself, or its frame: the walk must not loop. */
START_TEST(interrupted_by_itself) {
    const struct kernel *k = &kernels[_i];
    const struct machine *m = k->machine;
    static struct delivered d;
    for (unsigned handler = 0; handler < m->moment_count; handler++) {
        struct interrupted r = interrupted_at(m, &m->moments[2]);
        struct fixture *f = begin_kernel(k);
        deliver(&d, k, &r, 0);
        stand_in_handler(f, k, &d, &m->moments[handler]);
        r = (struct interrupted){.pc = HANDLER + m->moments[handler].offset,
                                 .sp = usp_registers_sp(&f->registers),
                                 .fp = usp_registers_fp(&f->registers),
                                 .lr = usp_registers_lr(&f->registers)};
        put_context(&d, k, &r);
        put(at(&d, record_of(&d, k)), r.fp, m->slot);
        put_stack(f, &d);
        struct usp_cursor cursor;
        struct usp_frame frame;
        usp_addr where;
        unsigned steps = 0;
        ck_assert_int_eq(usp_cursor_init(&cursor, &f->target, &f->registers, &f->options), USP_OK);
        while (usp_cursor_step(&cursor, &frame)) ck_assert_uint_lt(++steps, 32);
        ck_assert_uint_eq(usp_cursor_stop(&cursor, &where), USP_STOP_CYCLE);
    }
}
END_TEST

static size_t reads, bytes_read;

static int counted_read(void *context, usp_addr from, void *to, size_t n) {
    reads++;
    bytes_read += n;
    return image_read(context, from, to, n);
}

/* An ordinary frame may cost one more read, of a word (two on armv7 and x86, where the signal frame can lie at more
 * than one place). */
START_TEST(ordinary_frames_cost_little) {
    const struct kernel *k = &kernels[_i];
    const struct machine *m = k->machine;
    struct interrupted r = interrupted_at(m, &m->moments[2]);
    struct fixture *f = begin_kernel(k);
    size_t others[2], with[2];
    set_registers(f, r.pc | (m->thumb ? 1 : 0), r.sp, r.fp);
    set_flags(f, m);
    /* The stack continues after the last record. */
    uint8_t locals[1024];
    memset(locals, 0x5a, sizeof locals);
    image_bytes(&f->memory, OWN_STACK + 4u * m->slot, locals, sizeof locals);
    f->target.memory.read = counted_read;
    f->target.code = (struct usp_memory){image_read, &f->memory};
    for (unsigned i = 0; i < 2; i++) {
        if (i == 1) f->options.readers &= ~(uint32_t)USP_READER_SIGNAL;
        reads = bytes_read = 0;
        walk(f);
        ck_assert_uint_eq(f->stack.count, 3);
        (i == 0 ? with : others)[0] = reads;
        (i == 0 ? with : others)[1] = bytes_read;
    }
    size_t per_frame = m->arch == USP_ARCH_ARM64 || m->arch == USP_ARCH_ARM64_32 ? 1 : 2;
    size_t at_entry = has_link_register(m) ? 0 : 2;
    ck_assert_uint_le(with[0] - others[0], 3 * per_frame + at_entry);
    if (per_frame == 1) ck_assert_uint_le(with[1] - others[1], 3 * 8);
}
END_TEST

int main(void) {
    TCase *c = tcase_create("signals");
    add_loop_tests(c, 0, KERNELS, handler_and_function_at_every_instruction, tramp_at_every_instruction, sigreturn,
                   call_to_nowhere, by_records_alone, signal_in_handler);
    add_tests(c, handler_without_record, signed_state);
    add_loop_tests(c, 0, KERNELS, each_field_counts, frame_of_the_past, frame_below_sp, elsewhere_it_is_none);
    tcase_add_test(c, registers_cut_off);
    add_loop_tests(c, 0, KERNELS, interrupted_by_itself, ordinary_frames_cost_little);
    return run_suite("golden sigframes", c);
}
