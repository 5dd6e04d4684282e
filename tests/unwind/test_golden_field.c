/* SPDX-License-Identifier: MIT */
/* Tests problems from the field as bytes, on any host: signed thread states, states of another flavor than stated,
 * endless stacks, very deep stacks, hashes of the same stack in another run. */
#include <check.h>
#include <unspool/unspool.h>

#include "lib/images/image_list.h"
#include "tests/support/golden.h"
#include "tests/support/suite.h"

#define STACK  UINT64_C(0x16fdf0000)
#define WORK   UINT64_C(0x104004000)
#define CALLER UINT64_C(0x104008000)
#define ROOT   UINT64_C(0x10400c000)

/* ---- signed thread states ---- */

#define THREAD_STATE64 6u /* ARM_THREAD_STATE64, 68 words: x0 … x28, fp, lr, sp, pc, cpsr (xnu arm/_structs.h) */
#define STATE_SIZE     272u

static void put64(uint8_t *at, uint64_t value) {
    for (unsigned i = 0; i < 8; i++) at[i] = (uint8_t)(value >> 8 * i);
}

/* Builds a thread state as an arm64e process has it: each pointer is signed in the bits above its 39 or 47 address
 * bits. */
static void read_signed_state(struct fixture *f, unsigned bits, usp_addr pc, usp_addr sp, usp_addr fp, usp_addr lr) {
    const uint64_t spare_bits = ~((UINT64_C(1) << bits) - 1) & ~(UINT64_C(1) << 55);
    uint8_t state[STATE_SIZE] = {0};
    put64(state + 8 * 29, fp | (UINT64_C(0x2a5f3c1100000000) << 7 & spare_bits));
    put64(state + 8 * 30, lr | (UINT64_C(0x003be30000000000) & spare_bits));
    put64(state + 8 * 31, sp | (UINT64_C(0x7c5a818000000000) & spare_bits));
    put64(state + 8 * 32, pc | (UINT64_C(0x555aa58000000000) & spare_bits));
    ck_assert_int_eq(usp_registers_from_state(&f->registers, USP_ARCH_ARM64, USP_THREAD_STATE_MACH + THREAD_STATE64,
                                              state, sizeof state),
                     USP_OK);
    ck_assert_uint_ne(usp_registers_pc(&f->registers), pc);
    ck_assert_uint_ne(usp_registers_sp(&f->registers), sp);
}

static const unsigned signed_bits[] = {39, 47};

static struct fixture *begin_arm64e(int i) {
    struct fixture *f = begin(USP_ARCH_ARM64, USP_OS_DARWIN);
    /* bl; ldp x29, x30, [sp], #16; retab */
    CODE32(&f->memory, CALLER - 4, 0x94000000 | ((WORK - CALLER + 4) >> 2 & 0x3ffffff), 0xa8c17bfd, 0xd65f0fff);
    CODE32(&f->memory, ROOT - 4, 0x94000040, 0xa8c17bfd, 0xd65f0fff);
    f->target.address_bits = signed_bits[i];
    return f;
}

/* In a leaf function the signed link register must give the caller. */
START_TEST(signed_state_in_a_leaf) {
    struct fixture *f = begin_arm64e(_i);
    CODE32(&f->memory, WORK, /* add w0, w0, w1 */ 0x0b010000, /* ret */ 0xd65f03c0);
    WORDS(&f->memory, STACK, 8, 0, ROOT);
    read_signed_state(f, signed_bits[_i], WORK, STACK, STACK, CALLER);
    EXPECT(f, USP_STOP_FP_ZERO, WORK, CALLER, ROOT);
    ck_assert_uint_eq(f->frames[0].flags & USP_FRAME_SIGNED, USP_FRAME_SIGNED);
    ck_assert_uint_eq(f->frames[1].kind, USP_FRAME_KIND_LINK_REGISTER);
    ck_assert_uint_eq(f->frames[1].cfa, STACK + 16);
}
END_TEST

/* In a function with a frame the link register must not be used. */
START_TEST(signed_state_in_a_frame) {
    struct fixture *f = begin_arm64e(_i);
    /* add w0, w0, w1; ldp x29, x30, [sp], #16; retab */
    CODE32(&f->memory, WORK, 0x0b010000, 0xa8c17bfd, 0xd65f0fff);
    WORDS(&f->memory, STACK, 8, STACK + 16, CALLER, 0, ROOT);
    read_signed_state(f, signed_bits[_i], WORK, STACK, STACK, ROOT);
    EXPECT(f, USP_STOP_FP_ZERO, WORK, CALLER, ROOT);
}
END_TEST

/* The target does not say how many address bits there are. Signed registers must not count as addresses, or too many
 * bits would be taken for a part of the address. */
START_TEST(bits_are_not_taken_from_signatures) {
    struct fixture *f = begin_arm64e(0);
    CODE32(&f->memory, WORK, 0x0b010000, 0xa8c17bfd, 0xd65f0fff);
    WORDS(&f->memory, STACK, 8, STACK + 16, CALLER | UINT64_C(0x003be30000000000), 0, ROOT);
    read_signed_state(f, 39, WORK, STACK, STACK, ROOT);
    f->target.address_bits = 0;
    EXPECT(f, USP_STOP_FP_ZERO, WORK, CALLER, ROOT);
}
END_TEST

/* A wild pc must not be taken for a signed one, and must be reported unchanged. */
START_TEST(a_wild_pc_is_shown) {
    const usp_addr wild = UINT64_C(0x4141414141414141);
    struct fixture *f = begin_arm64e(0);
    WORDS(&f->memory, STACK, 8, 0, ROOT);
    CODE32(&f->memory, WORK - 4, /* blr x8 */ 0xd63f0100, 0xa8c17bfd, 0xd65f03c0);
    set_registers(f, wild, STACK, STACK);
    usp_registers_set_lr(&f->registers, WORK);
    EXPECT(f, USP_STOP_FP_ZERO, wild, WORK, ROOT);
}
END_TEST

/* ---- another flavor than stated ---- */

/* Each state that a processor has, with its size in bytes (xnu osfmk/mach/{arm,i386}/thread_status.h and
 * bsd/{arm,i386}/_mcontext.h; Linux asm/ptrace.h, asm/ucontext.h). */
static const struct {
    uint32_t arch, state;
    size_t size;
} states[] = {
    {USP_ARCH_ARM64, USP_THREAD_STATE_MACH + 6, 272},
    {USP_ARCH_ARM64, USP_THREAD_STATE_DARWIN_MCONTEXT, 288},
    {USP_ARCH_ARM64, USP_THREAD_STATE_LINUX_PRSTATUS, 272},
    {USP_ARCH_ARM64, USP_THREAD_STATE_LINUX_UCONTEXT, 456},
    {USP_ARCH_ARM64_32, USP_THREAD_STATE_MACH + 6, 272},
    {USP_ARCH_ARM64_32, USP_THREAD_STATE_DARWIN_MCONTEXT, 288},
    {USP_ARCH_ARMV7, USP_THREAD_STATE_MACH + 1, 68},
    {USP_ARCH_ARMV7, USP_THREAD_STATE_MACH + 9, 68},
    {USP_ARCH_ARMV7, USP_THREAD_STATE_DARWIN_MCONTEXT, 80},
    {USP_ARCH_ARMV7, USP_THREAD_STATE_LINUX_PRSTATUS, 68},
    {USP_ARCH_ARMV7, USP_THREAD_STATE_LINUX_UCONTEXT, 100},
    {USP_ARCH_X86_64, USP_THREAD_STATE_MACH + 4, 168},
    {USP_ARCH_X86_64, USP_THREAD_STATE_DARWIN_MCONTEXT, 184},
    {USP_ARCH_X86_64, USP_THREAD_STATE_LINUX_PRSTATUS, 216},
    {USP_ARCH_X86_64, USP_THREAD_STATE_LINUX_UCONTEXT, 184},
    {USP_ARCH_I386, USP_THREAD_STATE_MACH + 1, 64},
    {USP_ARCH_I386, USP_THREAD_STATE_DARWIN_MCONTEXT, 76},
    {USP_ARCH_I386, USP_THREAD_STATE_LINUX_PRSTATUS, 68},
    {USP_ARCH_I386, USP_THREAD_STATE_LINUX_UCONTEXT, 88},
    {USP_ARCH_I386, USP_THREAD_STATE_LINUX_SIGCONTEXT, 68},
};
#define STATES ELEMENTS(states)

/* Expects a refused state to leave no registers known. */
static void expect_refusal(uint32_t arch, uint32_t state, const void *bytes, size_t n, int expected) {
    struct usp_registers r;
    memset(&r, 0x77, sizeof r);
    int status = usp_registers_from_state(&r, arch, state, bytes, n);
    ck_assert_msg(status == expected, "arch %u, state %#x, %zu bytes: %s", arch, state, n, usp_status_string(status));
    ck_assert_uint_eq(r.known, 0);
    ck_assert_uint_eq(usp_registers_pc(&r), 0);
}

START_TEST(a_state_has_its_size) {
    uint8_t bytes[512];
    struct usp_registers r;
    memset(bytes, 0xff, sizeof bytes);
    ck_assert_int_eq(usp_registers_from_state(&r, states[_i].arch, states[_i].state, bytes, states[_i].size), USP_OK);
    ck_assert_uint_ne(r.known, 0);
    for (size_t n = 0; n < states[_i].size; n++) {
        expect_refusal(states[_i].arch, states[_i].state, bytes, n, USP_ERROR_TRUNCATED);
    }
    expect_refusal(states[_i].arch, states[_i].state, NULL, states[_i].size, USP_ERROR_ARGUMENT);
}
END_TEST

static bool exists(uint32_t arch, uint32_t state) {
    for (int i = 0; i < STATES; i++) {
        if (states[i].arch == arch && states[i].state == state) return true;
    }
    return false;
}

static bool is_unified(uint32_t arch, uint32_t state) {
    bool arm64 = arch == USP_ARCH_ARM64 || arch == USP_ARCH_ARM64_32;
    bool x86 = arch == USP_ARCH_X86_64 || arch == USP_ARCH_I386;
    return (arm64 && state == USP_THREAD_STATE_MACH + 1) || (x86 && state == USP_THREAD_STATE_MACH + 7);
}

START_TEST(another_flavor_is_refused) {
    uint8_t bytes[512];
    memset(bytes, 0xff, sizeof bytes);
    for (uint32_t arch = 0; arch <= USP_ARCH_I386 + 1; arch++) {
        for (uint32_t state = 0; state < USP_THREAD_STATE_MACH + 64; state++) {
            if (exists(arch, state)) continue;
            /* The header inside claims more than is present. */
            int expected = is_unified(arch, state) ? USP_ERROR_TRUNCATED : USP_ERROR_ARGUMENT;
            expect_refusal(arch, state, bytes, sizeof bytes, expected);
        }
    }
}
END_TEST

/* The header {flavor, count} of a unified flavor must name a state of this processor, and no other header. */
START_TEST(a_header_has_to_fit) {
    static const struct {
        uint32_t arch, outer, flavor, count;
        int expected;
    } cases[] = {
        {USP_ARCH_ARM64, 1, 6, 68, USP_OK},
        {USP_ARCH_ARM64, 1, 6, 67, USP_ERROR_FORMAT},
        {USP_ARCH_ARM64, 1, 1, 68, USP_ERROR_FORMAT},
        {USP_ARCH_ARM64, 1, 9, 17, USP_ERROR_FORMAT},
        {USP_ARCH_ARM64, 1, 6, 500, USP_ERROR_TRUNCATED},
        {USP_ARCH_X86_64, 7, 4, 42, USP_OK},
        {USP_ARCH_X86_64, 7, 4, 41, USP_ERROR_FORMAT},
        {USP_ARCH_X86_64, 7, 1, 16, USP_ERROR_FORMAT},
        {USP_ARCH_I386, 7, 1, 16, USP_OK},
        {USP_ARCH_I386, 7, 4, 42, USP_ERROR_FORMAT},
        {USP_ARCH_I386, 7, 7, 18, USP_ERROR_FORMAT},
        {USP_ARCH_I386, 7, 1, 0x40000010, USP_ERROR_TRUNCATED}, /* × 4 is 64 modulo 2^32 */
    };
    uint8_t bytes[8 + 272];
    struct usp_registers r;
    memset(bytes, 0x11, sizeof bytes);
    for (unsigned i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(cases[_i].flavor >> 8 * i);
        bytes[4 + i] = (uint8_t)(cases[_i].count >> 8 * i);
    }
    uint32_t outer = USP_THREAD_STATE_MACH + cases[_i].outer;
    if (cases[_i].expected == USP_OK) {
        ck_assert_int_eq(usp_registers_from_state(&r, cases[_i].arch, outer, bytes, sizeof bytes), USP_OK);
        ck_assert_uint_ne(usp_registers_pc(&r), 0);
    } else {
        expect_refusal(cases[_i].arch, outer, bytes, sizeof bytes, cases[_i].expected);
    }
}
END_TEST

/* ---- endless stacks ---- */

/* Every address holds a record that points at the next: {at + 32, CALLER}. */
static int read_endless(void *context, usp_addr from, void *to, size_t n) {
    (*(unsigned *)context)++;
    if (from < STACK || n % 8 != 0) return USP_ERROR_UNREADABLE;
    for (size_t i = 0; i < n; i += 8) put64((uint8_t *)to + i, ((from + i) & 8) != 0 ? CALLER : from + i + 32);
    return USP_OK;
}

START_TEST(an_endless_stack_ends) {
    static struct usp_frame frames[64];
    unsigned reads = 0;
    struct fixture *f = begin(USP_ARCH_ARM64, USP_OS_DARWIN);
    f->target.memory = (struct usp_memory){read_endless, &reads};
    set_registers(f, WORK, STACK, STACK);
    usp_stack_init(&f->stack, frames, 64);
    f->options.tail = 8;
    if (_i == 0) f->options.step_limit = 5000;
    if (_i == 1) f->options.deadline = usp_clock(); /* which has passed by now */
    walk(f);
    ck_assert_uint_eq(f->stack.stop, _i == 0 ? USP_STOP_STEP_LIMIT : USP_STOP_DEADLINE);
    ck_assert_uint_gt(f->stack.count, 1);
    if (_i == 0) ck_assert_uint_eq(f->stack.omitted, 5000 - 64);
    /* The clock must be read now and then, not at each frame. */
    if (_i == 1) ck_assert_uint_lt(f->stack.count, 64);
    ck_assert_uint_gt(reads, 0);
}
END_TEST

/* ---- frames cut off are reported ---- */

#define DEEP 120u

START_TEST(a_deep_stack_is_whole) {
    static struct usp_frame frames[DEEP + 1];
    uint64_t words[2 * DEEP];
    for (unsigned capacity = DEEP - 1; capacity <= DEEP + 1; capacity++) {
        struct fixture *f = begin(USP_ARCH_X86_64, USP_OS_UNKNOWN);
        for (unsigned i = 0; i < DEEP; i++) {
            words[2 * i] = i + 1 < DEEP ? STACK + 16 * (i + 1) : 0;
            words[2 * i + 1] = CALLER + 16 * i;
        }
        image_words(&f->memory, STACK, 8, words, 2 * DEEP);
        set_registers(f, WORK, STACK, STACK);
        usp_stack_init(&f->stack, frames, capacity);
        walk(f);
        bool whole = capacity == DEEP + 1;
        ck_assert_uint_eq(f->stack.count, capacity);
        ck_assert_uint_eq(f->stack.stop, whole ? USP_STOP_FP_ZERO : USP_STOP_CAPACITY);
        ck_assert_uint_eq(f->stack.omitted, whole ? 0 : 1);
        for (unsigned i = 1; i < capacity; i++) ck_assert_uint_eq(frames[i].pc, CALLER + 16 * (i - 1));
    }
}
END_TEST

/* ---- the hash of a stack is the same in another run ---- */

static struct usp_images *image_list(usp_addr load, uint8_t id, const char *image_path) {
    struct uspi_image_list list = {0};
    struct usp_images *images;
    struct usp_image image = {.path = image_path,
                              .load_address = load,
                              .text_low = load,
                              .text_high = load + 0x10000,
                              .end = load + 0x10000,
                              .arch = USP_ARCH_X86_64,
                              .build_id_size = id != 0 ? 20 : 0};
    memset(image.build_id, id, 20);
    ck_assert_int_eq(uspi_image_list_add(&list, &image), USP_OK);
    ck_assert_int_eq(uspi_image_list_seal(&list, &images), USP_OK);
    return images;
}

/* Hashes two frames of an image loaded at `load`. id 0: the image has no build-id. */
static uint64_t hash_of(usp_addr load, uint8_t id, const char *image_path, usp_addr offset, bool with_images) {
    struct fixture *f = begin(USP_ARCH_X86_64, USP_OS_UNKNOWN);
    struct usp_images *images = image_list(load, id, image_path);
    WORDS(&f->memory, STACK, 8, 0, load + offset);
    set_registers(f, load + 0x100, STACK, STACK);
    f->options.images = with_images ? images : NULL;
    EXPECT(f, USP_STOP_FP_ZERO, load + 0x100, load + offset);
    usp_images_free(images);
    ck_assert_uint_ne(f->stack.hash, 0);
    return f->stack.hash;
}

START_TEST(hashes) {
    const usp_addr here = 0x555500000000, there = 0x55aa12340000;
    uint64_t hash = hash_of(here, 7, "/a", 0x200, true);
    ck_assert_uint_eq(hash_of(there, 7, "/a", 0x200, true), hash);
    /* The build-id must count, not the file's path. */
    ck_assert_uint_eq(hash_of(there, 7, "/b", 0x200, true), hash);
    ck_assert_uint_ne(hash_of(here, 8, "/a", 0x200, true), hash);
    ck_assert_uint_ne(hash_of(here, 7, "/a", 0x201, true), hash);
    /* Without a build-id the path must count. */
    hash = hash_of(here, 0, "/a", 0x200, true);
    ck_assert_uint_eq(hash_of(there, 0, "/a", 0x200, true), hash);
    ck_assert_uint_ne(hash_of(there, 0, "/b", 0x200, true), hash);
    /* Without a list of images the addresses must count: the hash is equal in this run, and different at another load
     * address. */
    hash = hash_of(here, 7, "/a", 0x200, false);
    ck_assert_uint_eq(hash_of(here, 7, "/a", 0x200, false), hash);
    ck_assert_uint_ne(hash_of(there, 7, "/a", 0x200, false), hash);
}
END_TEST

int main(void) {
    TCase *c = tcase_create("field");
    add_loop_tests(c, 0, 2, signed_state_in_a_leaf, signed_state_in_a_frame);
    add_tests(c, bits_are_not_taken_from_signatures, a_wild_pc_is_shown);
    tcase_add_loop_test(c, a_state_has_its_size, 0, STATES);
    tcase_add_test(c, another_flavor_is_refused);
    tcase_add_loop_test(c, a_header_has_to_fit, 0, 12);
    tcase_add_loop_test(c, an_endless_stack_ends, 0, 2);
    add_tests(c, a_deep_stack_is_whole, hashes);
    return run_suite("golden field", c);
}
