/* SPDX-License-Identifier: MIT */
/* Tests of compact backtraces and image maps: the bytes of Swift's own encoder, in both directions; damaged and hostile
 * bytes; exhausted memory.
 *
 * The Runtime module of Swift 6.3.1 made the bytes once. Those of stacks were encoded by JSONEncoder from
 * Backtrace(architecture:frames:images:) of these frames (an SPI). Those of images were decoded as an ImageMap and
 * encoded again, which gave the same bytes. tests/swift/UnspoolTests/CompactTests.swift compares both directions with
 * the installed toolchain. */
#include "tests/support/failing_alloc.h"
#include "tests/support/suite.h"

#include <unspool/unspool.h>

#include <stdio.h>
#include <string.h>

#define BYTES_MAX  4096
#define FRAMES_MAX 64

static size_t bytes_of(const char *hex, uint8_t *bytes) {
    size_t n = 0;
    for (; hex[2 * n] != '\0'; n++) {
        const char digits[] = {hex[2 * n], hex[2 * n + 1], '\0'};
        ck_assert_uint_lt(n, BYTES_MAX);
        bytes[n] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return n;
}

/* ---- stacks ---- */

enum { PC = USP_FRAME_KIND_INTERRUPTED, RA = USP_FRAME_KIND_RETURN_ADDRESS, ASYNC = USP_FRAME_KIND_ASYNC_RESUME };

/* A run of equal frames: `times` of them. */
struct made_frames {
    uint32_t kind, times;
    uint64_t pc;
};

static const struct made_stack {
    const char *hex;
    uint32_t arch, omitted_at;
    uint64_t omitted;
    uint32_t async_join;
    bool is_cut; /* the bytes end with the instruction for omitted frames */
    struct made_frames frames[6];
} stacks[] = {
    {"02140100004a10210110220a0000257ff7122a0b58",
     USP_ARCH_X86_64,
     USP_NO_INDEX,
     0,
     USP_NO_INDEX,
     false,
     {{PC, 1, 0x100004a10}, {RA, 1, 0x100004b20}, {RA, 1, 0x1000a4b20}, {RA, 1, 0x7ff812345678}}},
    {"02240100004b2001", USP_ARCH_X86_64, 1, 1, USP_NO_INDEX, true, {{RA, 1, 0x100004b20}}},
    {"02", USP_ARCH_ARM64, USP_NO_INDEX, 0, USP_NO_INDEX, false, {{0, 0, 0}}},
    {"02111000211000872810",
     USP_ARCH_ARM64,
     USP_NO_INDEX,
     0,
     USP_NO_INDEX,
     false,
     {{PC, 1, 0x1000}, {RA, 9, 0x2000}, {RA, 1, 0x10}}},
    {"0221200088092080", USP_ARCH_ARM64, USP_NO_INDEX, 0, USP_NO_INDEX, false, {{RA, 10, 0x2000}, {RA, 1, 0x1f80}}},
    {"021110005e211000", USP_ARCH_ARM64, 1, 31, USP_NO_INDEX, false, {{PC, 1, 0x1000}, {RA, 1, 0x2000}}},
    {"021110006020211000", USP_ARCH_ARM64, 1, 32, USP_NO_INDEX, false, {{PC, 1, 0x1000}, {RA, 1, 0x2000}}},
    {"0211100062011170211000", USP_ARCH_ARM64, 1, 70000, USP_NO_INDEX, false, {{PC, 1, 0x1000}, {RA, 1, 0x2000}}},
    {"02140100004a1021100031100031a5f0",
     USP_ARCH_ARM64,
     USP_NO_INDEX,
     0,
     1,
     false,
     {{PC, 1, 0x100004a10}, {RA, 1, 0x100005a10}, {ASYNC, 1, 0x100006a10}, {ASYNC, 1, 0x100001000}}},
    {"02138000100028f0287f2001217f80",
     USP_ARCH_X86_64,
     USP_NO_INDEX,
     0,
     USP_NO_INDEX,
     false,
     {{PC, 1, 0xffffffff80001000}, {RA, 1, 0xfffffffffffffff0}, {RA, 1, 0x7f}, {RA, 1, 0x80}, {RA, 1, 0x8000}}},
    {"0112ff1000238000eff020202810",
     USP_ARCH_ARMV7,
     USP_NO_INDEX,
     0,
     USP_NO_INDEX,
     false,
     {{PC, 1, 0xffff1000}, {RA, 1, 0x7ffffff0}, {RA, 1, 0x80000010}, {RA, 1, 0x10}}},
};

static struct usp_stack make_stack(const struct made_stack *made, struct usp_frame *frames) {
    struct usp_stack stack;
    usp_stack_init(&stack, frames, FRAMES_MAX);
    stack.arch = made->arch;
    stack.omitted = made->omitted;
    stack.omitted_at = made->omitted_at;
    stack.async_join = made->async_join;
    for (size_t i = 0; made->frames[i].times > 0; i++) {
        for (uint32_t times = 0; times < made->frames[i].times; times++) {
            frames[stack.count++] = (struct usp_frame){.pc = made->frames[i].pc, .kind = made->frames[i].kind};
            stack.physical += made->frames[i].kind != ASYNC;
        }
    }
    stack.stop = made->is_cut ? USP_STOP_CAPACITY : USP_STOP_NONE;
    return stack;
}

static void same_frames(const struct usp_stack *a, const struct usp_stack *b) {
    ck_assert_uint_eq(a->arch, b->arch);
    ck_assert_uint_eq(a->count, b->count);
    ck_assert_uint_eq(a->physical, b->physical);
    ck_assert_uint_eq(a->omitted, b->omitted);
    ck_assert_uint_eq(a->omitted_at, b->omitted_at);
    ck_assert_uint_eq(a->async_join, b->async_join);
    for (uint32_t i = 0; i < a->count; i++) {
        ck_assert_uint_eq(a->frames[i].pc, b->frames[i].pc);
        ck_assert_uint_eq(a->frames[i].kind, b->frames[i].kind);
    }
}

START_TEST(stacks_are_read) {
    uint8_t bytes[BYTES_MAX];
    struct usp_frame frames[FRAMES_MAX], expected_frames[FRAMES_MAX];
    struct usp_stack stack, expected = make_stack(&stacks[_i], expected_frames);
    size_t needed;
    usp_stack_init(&stack, frames, FRAMES_MAX);
    ck_assert_int_eq(usp_compact_stack_read(bytes, bytes_of(stacks[_i].hex, bytes), stacks[_i].arch, &stack, &needed),
                     USP_OK);
    ck_assert_uint_eq(needed, expected.count);
    same_frames(&stack, &expected);
    ck_assert_uint_eq(stack.stop, expected.stop);
    ck_assert_uint_eq(stack.async_stop, USP_STOP_NONE);
}
END_TEST

/* Writes stacks as Swift 6.3 does. Then marks them as complete, which adds the end instruction that the format requires
 * and Swift 6.3 omits. */
START_TEST(stacks_are_written) {
    uint8_t expected[BYTES_MAX], bytes[BYTES_MAX];
    struct usp_frame frames[FRAMES_MAX];
    struct usp_stack stack = make_stack(&stacks[_i], frames);
    size_t n = bytes_of(stacks[_i].hex, expected), size;
    ck_assert_int_eq(usp_compact_stack_write(&stack, bytes, sizeof bytes, &size), USP_OK);
    ck_assert_uint_eq(size, n);
    ck_assert_mem_eq(bytes, expected, n);
    if (!stacks[_i].is_cut) {
        *(stack.async_join == USP_NO_INDEX ? &stack.stop : &stack.async_stop) = USP_STOP_ROOT;
        expected[n++] = 0;
    }
    ck_assert_int_eq(usp_compact_stack_write(&stack, NULL, 0, &size), USP_ERROR_FULL);
    ck_assert_uint_eq(size, n);
    memset(bytes, 0xee, sizeof bytes);
    ck_assert_int_eq(usp_compact_stack_write(&stack, bytes, n - 1, &size), USP_ERROR_FULL);
    ck_assert_uint_eq(bytes[n - 1], 0xee);
    ck_assert_int_eq(usp_compact_stack_write(&stack, bytes, n, &size), USP_OK);
    ck_assert_uint_eq(size, n);
    ck_assert_mem_eq(bytes, expected, n);
    /* The completeness is read again. */
    struct usp_frame again_frames[FRAMES_MAX];
    struct usp_stack again;
    usp_stack_init(&again, again_frames, FRAMES_MAX);
    ck_assert_int_eq(usp_compact_stack_read(bytes, n, stack.arch, &again, &size), USP_OK);
    same_frames(&again, &stack);
    ck_assert_uint_eq(again.stop, stack.stop);
    ck_assert_uint_eq(again.async_stop, stack.async_stop);
}
END_TEST

START_TEST(frames_below_the_join_are_not_written) {
    struct usp_frame frames[] = {{.pc = 0x10, .kind = PC},
                                 {.pc = 0x20, .kind = RA},
                                 {.pc = 0x30, .kind = RA},
                                 {.pc = 0x40, .kind = ASYNC},
                                 {.pc = 0x50, .kind = ASYNC}};
    struct usp_stack stack;
    uint8_t bytes[32];
    size_t size;
    usp_stack_init(&stack, frames, 5);
    stack.count = 5;
    stack.physical = 3;
    stack.async_join = 0;
    stack.omitted = 7;
    stack.omitted_at = 2;
    stack.stop = stack.async_stop = USP_STOP_ROOT;
    ck_assert_int_eq(usp_compact_stack_write(&stack, bytes, sizeof bytes, &size), USP_OK);
    ck_assert_uint_eq(size, 8);
    ck_assert_mem_eq(bytes, ((const uint8_t[]){2, 0x10, 0x10, 0x30, 0x30, 0x30, 0x10, 0}), 8);
    /* Without async_join, the frames of the OS stack are all written. */
    stack.async_join = USP_NO_INDEX;
    stack.async_omitted = 2;
    ck_assert_int_eq(usp_compact_stack_write(&stack, bytes, sizeof bytes, &size), USP_OK);
    ck_assert_uint_eq(size, 14);
    ck_assert_mem_eq(
        bytes, ((const uint8_t[]){2, 0x10, 0x10, 0x20, 0x10, 0x46, 0x20, 0x10, 0x30, 0x10, 0x30, 0x10, 0x41, 0}), 14);
}
END_TEST

/* Backtraces with more frames than the caller has room for: the caller gets the number, however large. */
START_TEST(giant_counts) {
    static const struct {
        const char *hex;
        uint64_t frames;
        int status;
    } cases[] = {
        {"0220108fffffffffffffffff00", UINT64_MAX, USP_ERROR_FULL},
        {"0220108f7fffffffffffffff8f7fffffffffffffff8f7fffffffffffffff", UINT64_MAX, USP_ERROR_FULL},
        {"02201088ff", 256, USP_ERROR_FULL},
        {"0220106701000000000000000000", 1, USP_OK},
        {"022010689901000000000000000000", 0, USP_ERROR_FORMAT},
        {"0220107f00000000000000000000000000000000000000000000000000000000000000ff", 1, USP_OK},
        {"02201060ff2010608000", 0, USP_ERROR_UNSUPPORTED},
        {"022010600000", 0, USP_ERROR_FORMAT},
        {"0220108800", 0, USP_ERROR_FORMAT},
        {"0280", 0, USP_ERROR_FORMAT},
        {"024080", 0, USP_ERROR_FORMAT},
        {"022010408000", 0, USP_ERROR_FORMAT},
        {"0202", 0, USP_ERROR_FORMAT},
        {"0290", 0, USP_ERROR_FORMAT},
        {"02ff", 0, USP_ERROR_FORMAT},
        {"03", 0, USP_ERROR_FORMAT},
        {"06", 0, USP_ERROR_UNSUPPORTED},
        {"", 0, USP_ERROR_TRUNCATED},
        {"0227", 0, USP_ERROR_TRUNCATED},
        {"022010620100", 0, USP_ERROR_TRUNCATED},
    };
    struct usp_frame frames[FRAMES_MAX];
    struct usp_stack stack;
    uint8_t bytes[BYTES_MAX];
    size_t needed;
    usp_stack_init(&stack, frames, FRAMES_MAX);
    const size_t n = bytes_of(cases[_i].hex, bytes);
    ck_assert_int_eq(usp_compact_stack_read(bytes, n, USP_ARCH_ARM64, &stack, &needed), cases[_i].status);
    ck_assert_int_eq(stack.status, cases[_i].status);
    if (cases[_i].status == USP_OK || cases[_i].status == USP_ERROR_FULL) {
        ck_assert_uint_eq(needed, cases[_i].frames > SIZE_MAX ? SIZE_MAX : cases[_i].frames);
    }
    if (cases[_i].status != USP_OK) ck_assert_uint_eq(stack.count, 0);
}
END_TEST

/* Resume points before frames of another kind belong to the OS stack. Swift's unwinder never writes them. */
START_TEST(resume_points_in_the_midst) {
    static const uint8_t bytes[] = {2, 0x30, 0x10, 0x20, 0x10, 0x30, 0x10, 0};
    struct usp_frame frames[3];
    struct usp_stack stack;
    size_t needed;
    usp_stack_init(&stack, frames, 3);
    ck_assert_int_eq(usp_compact_stack_read(bytes, sizeof bytes, USP_ARCH_ARM64, &stack, &needed), USP_OK);
    ck_assert_uint_eq(stack.physical, 2);
    ck_assert_uint_eq(frames[0].kind, ASYNC);
    ck_assert_uint_eq(stack.count, 3);
    ck_assert_uint_eq(stack.async_join, 1);
    ck_assert_uint_eq(stack.async_stop, USP_STOP_ROOT);
}
END_TEST

/* The frames before the async chain were omitted, so the chain continues from no known frame. */
START_TEST(a_gap_in_front_of_the_chain) {
    static const uint8_t bytes[] = {2, 0x20, 0x10, 0x45, 0x30, 0x10, 0x30, 0x10, 0};
    struct usp_frame frames[3];
    struct usp_stack stack;
    uint8_t again[16];
    size_t needed, size;
    usp_stack_init(&stack, frames, 3);
    ck_assert_int_eq(usp_compact_stack_read(bytes, sizeof bytes, USP_ARCH_ARM64, &stack, &needed), USP_OK);
    ck_assert_uint_eq(stack.physical, 1);
    ck_assert_uint_eq(stack.count, 3);
    ck_assert_uint_eq(stack.omitted, 6);
    ck_assert_uint_eq(stack.omitted_at, 1);
    ck_assert_uint_eq(stack.async_join, USP_NO_INDEX);
    ck_assert_int_eq(usp_compact_stack_write(&stack, again, sizeof again, &size), USP_OK);
    ck_assert_uint_eq(size, sizeof bytes);
    ck_assert_mem_eq(again, bytes, size);
}
END_TEST

/* The number of omitted frames at the end is recorded, and another marker says that more are missing. */
START_TEST(a_gap_in_front_of_the_end) {
    static const uint8_t bytes[] = {2, 0x20, 0x10, 0x30, 0x10, 0x40, 1};
    struct usp_frame frames[2];
    struct usp_stack stack;
    uint8_t again[16];
    size_t needed, size;
    usp_stack_init(&stack, frames, 2);
    ck_assert_int_eq(usp_compact_stack_read(bytes, sizeof bytes, USP_ARCH_ARM64, &stack, &needed), USP_OK);
    ck_assert_uint_eq(stack.physical, 2);
    ck_assert_uint_eq(stack.omitted, 1);
    ck_assert_uint_eq(stack.omitted_at, 2);
    ck_assert_uint_eq(stack.stop, USP_STOP_NOT_COPIED);
    ck_assert_int_eq(usp_compact_stack_write(&stack, again, sizeof again, &size), USP_OK);
    ck_assert_uint_eq(size, sizeof bytes);
    ck_assert_mem_eq(again, bytes, size);
}
END_TEST

/* ---- images ---- */

static const struct made_image {
    const char *path;
    uint64_t load, end;
    uint32_t id_size;
    uint8_t id; /* the id's first byte; each further byte is one more */
} mac[] = {
    {"/System/Library/Frameworks/AppKit.framework/Versions/C/AppKit", 0x100000000, 0x100008000, 16, 0},
    {"/System/Library/Frameworks/Photos.framework/Versions/A/Photos", 0x7ff800020000, 0x7ff80002107f, 16, 0x10},
    {"/usr/lib/libobjc.A.dylib", 0x7ff800040000, 0x7ff80004207f, 16, 0x20},
    {"/usr/lib/libz.1.dylib", 0x7ff800060000, 0x7ff80006307f, 16, 0x30},
    {"/usr/lib/swift/libswiftCore.dylib", 0x7ff800080000, 0x7ff80008407f, 20, 0x40},
    {"/usr/lib/libSystem.B.dylib", 0x7ff8000a0000, 0x7ff8000a507f, 0, 0x50},
    {"/usr/lib/libc++.1.dylib", 0x7ff8000c0000, 0x7ff8000c607f, 16, 0x60},
    {"/usr/lib/swift/libswift_Concurrency.dylib", 0x7ff8000e0000, 0x7ff8000e707f, 16, 0x70},
    {"/Applications/Shop.app/Contents/MacOS/Shop", 0x7ff800100000, 0x7ff80010807f, 16, 0x80},
    {"/Applications/Shop.app/Contents/Frameworks/Cart.framework/Versions/A/Cart", 0x7ff800120000, 0x7ff80012907f, 16,
     0x90},
    {"", 0x7ff800140000, 0x7ff80014a07f, 16, 0xa0},
};

/* 63 characters: the longest piece of a path. */
#define LONG "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct made_image narrow[] = {
    {LONG LONG "/lib.so", 0x7fff0000, 0x7fff8000, 0, 0},
    {LONG LONG "/lib2.so", 0x80000000, 0x80008000, 0, 0},
    {"C:\\Windows\\System32\\a\\b.dll", 0x80010000, 0x80018000, 0, 0},
    {"C:\\Windows\\System32\\a\\c.dll", 0x80020000, 0x80028000, 0, 0},
    {"/lib64/x.so", 0x80030000, 0x80038000, 0, 0},
    {"name", 0x80040000, 0x80048000, 0, 0},
};

static const struct made_map {
    const char *hex, *platform;
    uint32_t arch;
    const struct made_image *images;
    size_t count;
} maps[] = {
    {"020a6d61634f532031352e300b22010000000000800010000102030405060708090a0b0c0d0e0f8445434170704b6974297f"
     "f800020000107f10101112131415161718191a1b1c1d1e1f84454150686f746f7391020000207f1020212223242526272829"
     "2a2b2c2d2e2f81800c6f626a632e412e64796c69620091020000307f10303132333435363738393a3b3c3d3e3f8180097a2e"
     "312e64796c69620091020000407f14404142434445464748494a4b4c4d4e4f5051525381192f73776966742f6c6962737769"
     "6674436f72652e64796c69620091020000507f0081800e53797374656d2e422e64796c69620091020000607f106061626364"
     "65666768696a6b6c6d6e6f81800b632b2b2e312e64796c69620091020000707f10707172737475767778797a7b7c7d7e7f81"
     "a0801773776966745f436f6e63757272656e63792e64796c6962009202000000807f10808182838485868788898a8b8c8d8e"
     "8f891d2f53686f702e6170702f436f6e74656e74732f4d61634f532f53686f70009202000000907f10909192939495969798"
     "999a9b9c9d9e9f89a22a2f4672616d65776f726b732f436172742e6672616d65776f726b2f56657273696f6e732f412f4361"
     "7274009202000000a07f10a0a1a2a3a4a5a6a7a8a9aaabacadaeaf00",
     "macOS 15.0", USP_ARCH_X86_64, mac, sizeof mac / sizeof *mac},
    {"010178061a7fff0000008000003f2f6161616161616161616161616161616161616161616161616161616161616161616161"
     "6161616161616161616161616161616161616161616161616161613f2f616161616161616161616161616161616161616161"
     "6161616161616161616161616161616161616161616161616161616161616161616161616161616161072f6c69622e736f00"
     "1a8000000000800000a18004322e736f0092010000008000008a085c615c622e646c6c0092010000008000008aa2065c632e"
     "646c6c009201000000800000800736342f782e736f009201000000800000046e616d6500",
     "x", USP_ARCH_I386, narrow, sizeof narrow / sizeof *narrow},
    {"020000", "", USP_ARCH_ARM64, NULL, 0},
};

static struct usp_images *make_images(const struct made_map *map) {
    struct usp_image images[16];
    struct usp_images *list;
    memset(images, 0, sizeof images);
    for (size_t i = 0; i < map->count; i++) {
        const struct made_image *made = &map->images[i];
        images[i].path = made->path;
        images[i].load_address = made->load;
        images[i].end = made->end;
        images[i].arch = map->arch;
        images[i].build_id_size = made->id_size;
        for (uint32_t k = 0; k < made->id_size; k++) images[i].build_id[k] = (uint8_t)(made->id + k);
    }
    ck_assert_int_eq(usp_images_create(images, map->count, &list), USP_OK);
    return list;
}

START_TEST(images_are_read) {
    const struct made_map *map = &maps[_i];
    struct usp_images *images, *expected = make_images(map);
    uint8_t bytes[BYTES_MAX];
    char platform[16];
    const size_t n = bytes_of(map->hex, bytes);
    ck_assert_int_eq(usp_compact_images_read(bytes, n, map->arch, &images, platform, sizeof platform), USP_OK);
    ck_assert_str_eq(platform, map->platform);
    ck_assert_uint_eq(usp_images_count(images), map->count);
    for (size_t i = 0; i < map->count; i++) {
        const struct usp_image *a = usp_images_get(images, i), *b = usp_images_get(expected, i);
        ck_assert_str_eq(a->path, b->path);
        ck_assert_uint_eq(a->load_address, b->load_address);
        ck_assert_uint_eq(a->end, b->end);
        ck_assert_uint_eq(a->slide, b->load_address);
        ck_assert_uint_eq(a->arch, map->arch);
        ck_assert_uint_eq(a->build_id_size, b->build_id_size);
        ck_assert_mem_eq(a->build_id, b->build_id, sizeof a->build_id);
    }
    usp_images_free(images);
    usp_images_free(expected);
    /* A platform name that is too long is cut. */
    ck_assert_int_eq(usp_compact_images_read(bytes, n, map->arch, &images, platform, 3), USP_OK);
    ck_assert_int_eq(strncmp(platform, map->platform, 2), 0);
    ck_assert_uint_le(strlen(platform), 2);
    usp_images_free(images);
}
END_TEST

START_TEST(images_are_written) {
    const struct made_map *map = &maps[_i];
    struct usp_images *images = make_images(map);
    uint8_t expected[BYTES_MAX], bytes[BYTES_MAX];
    const size_t n = bytes_of(map->hex, expected);
    size_t size;
    ck_assert_int_eq(usp_compact_images_write(images, map->arch, map->platform, NULL, 0, &size), USP_ERROR_FULL);
    ck_assert_uint_eq(size, n);
    ck_assert_int_eq(usp_compact_images_write(images, map->arch, map->platform, bytes, n, &size), USP_OK);
    ck_assert_mem_eq(bytes, expected, n);
    usp_images_free(images);
}
END_TEST

/* More paths than there are numbers for prefixes. Each is read back unchanged. */
START_TEST(many_prefixes) {
    enum { COUNT = 1000 };
    static char paths[COUNT][64];
    static struct usp_image images[COUNT];
    struct usp_images *list, *again;
    size_t size;
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(paths[i], sizeof paths[i], "/opt/package%zu/bin%zu/x", i % 400, i % 400);
        images[i] =
            (struct usp_image){.path = paths[i], .load_address = 0x10000 * (i + 1), .end = 0x10000 * (i + 1) + 64};
    }
    ck_assert_int_eq(usp_images_create(images, COUNT, &list), USP_OK);
    ck_assert_int_eq(usp_compact_images_write(list, USP_ARCH_ARM64, "x", NULL, 0, &size), USP_ERROR_FULL);
    uint8_t *bytes = malloc(size);
    ck_assert_int_eq(usp_compact_images_write(list, USP_ARCH_ARM64, "x", bytes, size, &size), USP_OK);
    ck_assert_int_eq(usp_compact_images_read(bytes, size, USP_ARCH_ARM64, &again, NULL, 0), USP_OK);
    for (size_t i = 0; i < COUNT; i++) ck_assert_str_eq(usp_images_get(again, i)->path, paths[i]);
    free(bytes);
    usp_images_free(list);
    usp_images_free(again);
}
END_TEST

/* Image maps that no encoder writes. */
START_TEST(hostile_maps) {
    static const struct {
        const char *hex;
        int status;
    } cases[] = {
        {"0200ffffffffffffffffff7f", USP_ERROR_FORMAT},          /* images: more than 64 bits */
        {"0200ffffffffffffff7f", USP_ERROR_TRUNCATED},           /* images: 64 bits of them */
        {"020001001000ffffffffffffffff7f", USP_ERROR_TRUNCATED}, /* a build id of 64 bits of bytes */
        {"02000100100000bf", USP_ERROR_FORMAT},                  /* an undefined prefix */
        {"020001001000008c", USP_ERROR_FORMAT},                  /* a reserved prefix */
        {"02000100100000c7ffffffffffffffff", USP_ERROR_FORMAT},
        {"02000100100000c8", USP_ERROR_FORMAT},     /* a number of nine bytes */
        {"02000100100000024100", USP_ERROR_FORMAT}, /* a NUL in a path */
        {"02000100100000404100", USP_ERROR_FORMAT},
        {"02000100100000404142", USP_OK},                   /* a framework without its end */
        {"0200020010200000001010000000", USP_ERROR_FORMAT}, /* overlapping images */
        {"020001001080000000", USP_OK},                     /* the code's end lies before the image */
        {"0203414201", USP_ERROR_TRUNCATED},                /* a cut platform name */
        {"0a00", USP_ERROR_UNSUPPORTED},
        {"0300", USP_ERROR_FORMAT},
        {"", USP_ERROR_TRUNCATED},
    };
    struct usp_images *images;
    uint8_t bytes[BYTES_MAX];
    const size_t n = bytes_of(cases[_i].hex, bytes);
    ck_assert_int_eq(usp_compact_images_read(bytes, n, USP_ARCH_ARM64, &images, NULL, 0), cases[_i].status);
    ck_assert(images == NULL || cases[_i].status == USP_OK);
    usp_images_free(images);
}
END_TEST

START_TEST(a_path_cannot_grow_without_end) {
    uint8_t bytes[BYTES_MAX] = {2, 0, 40};
    size_t n = 3;
    for (unsigned i = 0; i < 40; i++) {
        /* The prefix of this path is a character, twice the previous path's prefix, and a slash, so it doubles in
         * length. */
        const uint8_t head[] = {0x80, 1, 0, 0, 1, 'a'};
        memcpy(bytes + n, head, sizeof head);
        n += sizeof head;
        if (i > 0) {
            bytes[n++] = (uint8_t)(0x80 | (32 + i - 1));
            bytes[n++] = (uint8_t)(0x80 | (32 + i - 1));
        }
        bytes[n++] = 1;
        bytes[n++] = '/';
        bytes[n++] = 0;
        if (32 + i >= 0x3f) break;
    }
    struct usp_images *images;
    ck_assert_int_eq(usp_compact_images_read(bytes, n, USP_ARCH_ARM64, &images, NULL, 0), USP_ERROR_FORMAT);
}
END_TEST

/* ---- damage ---- */

/* Checks for any bytes: a stack or list that can be read can be written, and is the same when read again. */
static void read_both(const uint8_t *bytes, size_t n) {
    struct usp_frame frames[FRAMES_MAX], again_frames[FRAMES_MAX];
    struct usp_stack stack, again;
    struct usp_images *images;
    uint8_t *copy = malloc(n > 0 ? n : 1), *written = malloc(BYTES_MAX * 4);
    size_t needed, size;
    /* An allocation of exactly n bytes, so that sanitizers see a read past the end. */
    memcpy(copy, bytes, n);
    usp_stack_init(&stack, frames, FRAMES_MAX);
    usp_stack_init(&again, again_frames, FRAMES_MAX);
    if (usp_compact_stack_read(copy, n, USP_ARCH_X86_64, &stack, &needed) == USP_OK && copy[0] == 2) {
        ck_assert_int_eq(usp_compact_stack_write(&stack, written, BYTES_MAX * 4, &size), USP_OK);
        ck_assert_int_eq(usp_compact_stack_read(written, size, USP_ARCH_X86_64, &again, &needed), USP_OK);
        ck_assert_uint_eq(stack.count, again.count);
        for (uint32_t i = 0; i < stack.count; i++) ck_assert_uint_eq(stack.frames[i].pc, again.frames[i].pc);
    }
    if (usp_compact_images_read(copy, n, USP_ARCH_X86_64, &images, NULL, 0) == USP_OK) {
        ck_assert_int_eq(usp_compact_images_write(images, USP_ARCH_X86_64, "", written, BYTES_MAX * 4, &size), USP_OK);
        struct usp_images *second;
        ck_assert_int_eq(usp_compact_images_read(written, size, USP_ARCH_X86_64, &second, NULL, 0), USP_OK);
        ck_assert_uint_eq(usp_images_count(images), usp_images_count(second));
        usp_images_free(second);
        usp_images_free(images);
    }
    free(copy);
    free(written);
}

static const char *hex_of(int i) { return i < ELEMENTS(stacks) ? stacks[i].hex : maps[i - ELEMENTS(stacks)].hex; }

START_TEST(every_truncation) {
    uint8_t bytes[BYTES_MAX];
    const size_t n = bytes_of(hex_of(_i), bytes);
    for (size_t length = 0; length <= n; length++) {
        struct usp_images *images;
        read_both(bytes, length);
        if (_i < ELEMENTS(stacks) || length == n) continue;
        ck_assert_int_eq(usp_compact_images_read(bytes, length, USP_ARCH_X86_64, &images, NULL, 0),
                         USP_ERROR_TRUNCATED);
    }
}
END_TEST

START_TEST(every_byte_changed) {
    static const uint8_t values[] = {0, 1, 0x10, 0x2f, 0x3f, 0x40, 0x5c, 0x67, 0x7f, 0x80, 0x8f, 0xa0, 0xc0, 0xff};
    uint8_t bytes[BYTES_MAX];
    const size_t n = bytes_of(hex_of(_i), bytes);
    for (size_t i = 0; i < n; i++) {
        const uint8_t before = bytes[i];
        for (size_t k = 0; k < sizeof values; k++) {
            bytes[i] = values[k];
            read_both(bytes, n);
        }
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[i] = before ^ (uint8_t)(1 << bit);
            read_both(bytes, n);
        }
        bytes[i] = before;
    }
}
END_TEST

START_TEST(memory_lacks) {
    uint8_t bytes[BYTES_MAX];
    struct usp_images *images;
    const size_t n = bytes_of(maps[_i].hex, bytes);
    const long before = held_allocations;
    int status = USP_ERROR_NO_MEMORY;
    for (long k = 1; status != USP_OK; k++) {
        fail_allocation(k);
        status = usp_compact_images_read(bytes, n, maps[_i].arch, &images, NULL, 0);
        fail_allocation(0);
        ck_assert(status == USP_OK || status == USP_ERROR_NO_MEMORY);
        if (status == USP_OK) break;
        ck_assert_ptr_null(images);
        ck_assert_int_eq(held_allocations, before);
    }
    usp_images_free(images);
    ck_assert_int_eq(held_allocations, before);
}
END_TEST

START_TEST(wrong_arguments) {
    struct usp_frame frame = {.pc = 1};
    struct usp_stack stack;
    struct usp_images *images = make_images(&maps[2]), *read;
    uint8_t bytes[8] = {2};
    char platform[300];
    size_t size;
    usp_stack_init(&stack, &frame, 1);
    ck_assert_int_eq(usp_compact_stack_write(NULL, bytes, 8, &size), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_compact_stack_write(&stack, NULL, 8, &size), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_compact_stack_write(&stack, bytes, 8, NULL), USP_ERROR_ARGUMENT);
    stack.physical = 2;
    stack.count = 1;
    ck_assert_int_eq(usp_compact_stack_write(&stack, bytes, 8, &size), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_compact_stack_read(bytes, 1, 0, NULL, &size), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_compact_stack_read(NULL, 1, 0, &stack, &size), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_compact_stack_read(bytes, 1, 0, &stack, NULL), USP_ERROR_ARGUMENT);
    memset(platform, 'x', sizeof platform - 1);
    platform[256] = '\0';
    ck_assert_int_eq(usp_compact_images_write(images, 0, platform, NULL, 0, &size), USP_ERROR_ARGUMENT);
    platform[255] = '\0';
    ck_assert_int_eq(usp_compact_images_write(images, 0, platform, NULL, 0, &size), USP_ERROR_FULL);
    ck_assert_uint_eq(size, 258);
    ck_assert_int_eq(usp_compact_images_write(NULL, 0, NULL, NULL, 0, &size), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_compact_images_write(images, 0, NULL, NULL, 1, &size), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_compact_images_read(bytes, 1, 99, &read, NULL, 0), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_compact_images_read(NULL, 1, 0, &read, NULL, 0), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_compact_images_read(bytes, 1, 0, NULL, NULL, 0), USP_ERROR_ARGUMENT);
    usp_images_free(images);
}
END_TEST

int main(void) {
    TCase *tc_stacks = tcase_create("stacks");
    add_loop_tests(tc_stacks, 0, ELEMENTS(stacks), stacks_are_read, stacks_are_written);
    add_loop_tests(tc_stacks, 0, 20, giant_counts);
    add_tests(tc_stacks, frames_below_the_join_are_not_written, resume_points_in_the_midst, a_gap_in_front_of_the_chain,
              a_gap_in_front_of_the_end);
    TCase *tc_images = tcase_create("images");
    add_loop_tests(tc_images, 0, ELEMENTS(maps), images_are_read, images_are_written, memory_lacks);
    add_loop_tests(tc_images, 0, 16, hostile_maps);
    add_tests(tc_images, many_prefixes, a_path_cannot_grow_without_end);
    TCase *tc_damage = tcase_create("damage");
    add_loop_tests(tc_damage, 0, ELEMENTS(stacks) + ELEMENTS(maps), every_truncation, every_byte_changed);
    add_tests(tc_damage, wrong_arguments);
    return run_suite("compact", tc_stacks, tc_images, tc_damage);
}
