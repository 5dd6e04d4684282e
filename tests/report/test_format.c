/* SPDX-License-Identifier: MIT */
/* Tests of frames as text, byte by byte. The expected lines follow the format string in Libc gen/backtrace.c. */
#include <check.h>
#include <string.h>

#include <unspool/format.h>

#include "tests/support/suite.h"

#define LAST_INDEX 12345

/* Returns a stack in which only one frame is set. */
static struct usp_stack stack_with(uint32_t arch, uint32_t index, usp_addr pc) {
    static struct usp_frame frames[LAST_INDEX + 1];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, LAST_INDEX + 1);
    stack.arch = arch;
    stack.count = index + 1;
    frames[index] = (struct usp_frame){.pc = pc, .kind = USP_FRAME_KIND_RETURN_ADDRESS};
    return stack;
}

static void check_line(const char *expected, uint32_t format, uint32_t arch, uint32_t index, usp_addr pc,
                       const struct usp_symbol *symbol) {
    char line[256];
    struct usp_stack stack = stack_with(arch, index, pc);
    int length = usp_format_frame(line, sizeof line, format, &stack, index, symbol);
    ck_assert_str_eq(line, expected);
    ck_assert_int_eq(length, (int)strlen(expected));
}

#define LINE(expected, ...)  check_line(expected, USP_FORMAT_CALL_STACK_SYMBOLS, __VA_ARGS__)
#define PLAIN(expected, ...) check_line(expected, USP_FORMAT_PLAIN, __VA_ARGS__)

static const struct usp_symbol main_symbol = {.name = "main",
                                              .start = 0x100003f00,
                                              .offset = 0x20,
                                              .image_path = "/Apps/Demo.app/Demo",
                                              .image_load = 0x100000000};

START_TEST(symbol_and_offset) {
    LINE("0   Demo                                0x0000000100003f21 main + 33", USP_ARCH_ARM64, 0, 0x100003f21,
         &main_symbol);
    LINE("999 Demo                                0x0000000100003f21 main + 33", USP_ARCH_X86_64, 999, 0x100003f21,
         &main_symbol);
    /* A blank follows an index that fills its column. */
    LINE("1000 Demo                                0x0000000100003f21 main + 33", USP_ARCH_X86_64, 1000, 0x100003f21,
         &main_symbol);
    LINE("12345 Demo                                0x0000000100003f21 main + 33", USP_ARCH_X86_64, 12345, 0x100003f21,
         &main_symbol);
    PLAIN("main + 33", USP_ARCH_ARM64, 0, 0x100003f21, &main_symbol);
}
END_TEST

START_TEST(addresses_have_the_width_of_a_pointer) {
    const struct usp_symbol symbol = {.name = "f", .start = 0x4000, .image_path = "/a", .image_load = 0x1000};
    const uint32_t narrow[] = {USP_ARCH_ARM64_32, USP_ARCH_ARMV7, USP_ARCH_I386};
    LINE("1   a                                   0x00004010 f + 16", narrow[_i], 1, 0x4010, &symbol);
    PLAIN("0x00004010", narrow[_i], 1, 0x4010, NULL);
}
END_TEST

/* The offset counts from the frame's own pc, not from the address that was looked up. For a call at the end of a
 * function the two differ by more than one. */
START_TEST(offset_counts_from_the_pc) {
    struct usp_symbol symbol = main_symbol;
    symbol.offset = 7;
    LINE("0   Demo                                0x0000000100004000 main + 256", USP_ARCH_ARM64, 0, 0x100004000,
         &symbol);
}
END_TEST

START_TEST(image_without_symbol) {
    struct usp_symbol symbol = main_symbol;
    symbol.name = NULL;
    LINE("3   Demo                                0x0000000100003f20 Demo + 16160", USP_ARCH_ARM64, 3, 0x100003f20,
         &symbol);
    PLAIN("Demo + 16160", USP_ARCH_ARM64, 3, 0x100003f20, &symbol);
}
END_TEST

START_TEST(no_image) {
    LINE("4   ???                                 0x0000000000001000 [unknown]", USP_ARCH_ARM64, 4, 0x1000, NULL);
    LINE("4   ???                                 0x00000000 [unknown]", USP_ARCH_ARMV7, 4, 0, NULL);
    PLAIN("0x0000000000001000", USP_ARCH_ARM64, 4, 0x1000, NULL);
}
END_TEST

/* Generated code lies in no image, but may have a name. */
START_TEST(a_name_without_an_image) {
    const struct usp_symbol symbol = {.name = "JS:*f a.js:1:2", .start = 0x1000};
    LINE("4   ???                                 0x0000000000001010 JS:*f a.js:1:2 + 16", USP_ARCH_ARM64, 4, 0x1010,
         &symbol);
    PLAIN("JS:*f a.js:1:2 + 16", USP_ARCH_ARM64, 4, 0x1010, &symbol);
}
END_TEST

START_TEST(long_image_names_are_cut) {
    struct usp_symbol symbol = main_symbol;
    symbol.image_path = "/lib/abcdefghijklmnopqrstuvwxyz0123456789.dylib";
    LINE("0   abcdefghijklmnopqrstuvwxyz012345678 0x0000000100003f20 main + 32", USP_ARCH_ARM64, 0, 0x100003f20,
         &symbol);
    symbol.name = NULL;
    LINE("0   abcdefghijklmnopqrstuvwxyz012345678 0x0000000100003f20 abcdefghijklmnopqrstuvwxyz012345678 + 16160",
         USP_ARCH_ARM64, 0, 0x100003f20, &symbol);
    symbol.image_path = "no-folder";
    PLAIN("no-folder + 16160", USP_ARCH_ARM64, 0, 0x100003f20, &symbol);
}
END_TEST

/* The shared cache's placeholder as a name: with the UUID and the offset in the image, a server can symbolicate the
 * frame. */
START_TEST(redacted_names) {
    struct usp_symbol symbol = main_symbol;
    const uint8_t uuid[16] = {0xde, 0xad, 0xbe, 0xef, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb};
    symbol.name = "<redacted>";
    memcpy(symbol.build_id, uuid, sizeof uuid);
    symbol.build_id_size = sizeof uuid;
    LINE("0   Demo                                0x0000000100003f20 DEADBEEF-0001-0203-0405-060708090A0B + 16160",
         USP_ARCH_ARM64, 0, 0x100003f20, &symbol);
    symbol.build_id_size = 0;
    LINE("0   Demo                                0x0000000100003f20 <redacted> + 32", USP_ARCH_ARM64, 0, 0x100003f20,
         &symbol);
}
END_TEST

/* A module loaded above its symbol's linked address on a 32-bit target. Offsets wrap at the target's word size. */
START_TEST(offsets_wrap_like_the_target) {
    const struct usp_symbol symbol = {.name = "f", .start = 0xfffffff0, .image_path = "/a", .image_load = 0};
    PLAIN("f + 32", USP_ARCH_I386, 0, 0x10, &symbol);
}
END_TEST

/* Every buffer size from 0 to enough: the returned length is the same, the text is a prefix of the whole, and no byte
 * past the buffer changes. */
START_TEST(any_room) {
    char whole[128];
    struct usp_stack stack = stack_with(USP_ARCH_ARM64, 7, 0x100003f20);
    int length = usp_format_frame(whole, sizeof whole, USP_FORMAT_CALL_STACK_SYMBOLS, &stack, 7, &main_symbol);
    ck_assert_int_gt(length, 60);
    ck_assert_int_eq(usp_format_frame(NULL, 0, USP_FORMAT_CALL_STACK_SYMBOLS, &stack, 7, &main_symbol), length);
    for (size_t capacity = 0; capacity <= (size_t)length + 1; capacity++) {
        char part[128];
        memset(part, '#', sizeof part);
        ck_assert_int_eq(usp_format_frame(part, capacity, USP_FORMAT_CALL_STACK_SYMBOLS, &stack, 7, &main_symbol),
                         length);
        if (capacity > 0) {
            ck_assert_int_eq(strncmp(part, whole, capacity - 1), 0);
            ck_assert_int_eq(part[capacity - 1], '\0');
        }
        ck_assert_int_eq(part[capacity], '#');
    }
}
END_TEST

START_TEST(arguments) {
    char line[128];
    struct usp_stack stack = stack_with(USP_ARCH_ARM64, 0, 1), unknown = stack_with(USP_ARCH_NONE, 0, 1);
    ck_assert_int_eq(usp_format_frame(line, sizeof line, 99, &stack, 0, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_format_frame(line, sizeof line, USP_FORMAT_PLAIN, &unknown, 0, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_format_frame(line, sizeof line, USP_FORMAT_PLAIN, NULL, 0, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_format_frame(line, sizeof line, USP_FORMAT_PLAIN, &stack, 1, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_format_frame(NULL, 1, USP_FORMAT_PLAIN, &stack, 0, NULL), USP_ERROR_ARGUMENT);
}
END_TEST

int main(void) {
    TCase *lines = tcase_create("lines");
    tcase_add_test(lines, symbol_and_offset);
    tcase_add_loop_test(lines, addresses_have_the_width_of_a_pointer, 0, 3);
    add_tests(lines, offset_counts_from_the_pc, image_without_symbol, no_image, a_name_without_an_image,
              long_image_names_are_cut, redacted_names, offsets_wrap_like_the_target, any_room, arguments);
    return run_suite("format", lines);
}
