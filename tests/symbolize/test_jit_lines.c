/* SPDX-License-Identifier: MIT */
/* Tests lines and inlined calls of code that this process registers by the GDB JIT interface, from debug information in
 * the objects: unlinked ones as LLVM's JIT makes them, linked ones as LuaJIT does, damaged ones, and objects that come
 * and go. tests/symbolize/jit.sh tests other processes and cores. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <sys/mman.h>

#include <unspool/unspool.h>

#include "lib/os/os.h"
#include "tests/support/dwarf_file.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/suite.h"

/* Linked, unlinked, and with compressed sections. */
#ifdef HAVE_ZLIB
#define FORMS 3
#else
#define FORMS 2
#endif

struct jit_code_entry {
    struct jit_code_entry *next, *prev;
    const uint8_t *object;
    uint64_t size;
};

struct jit_descriptor {
    uint32_t version, action;
    struct jit_code_entry *relevant, *first;
};

/* Debuggers expect this exact size, but clang's AddressSanitizer pads variables. */
#ifdef __clang__
#define UNPADDED __attribute__((no_sanitize("address")))
#else
#define UNPADDED
#endif

extern struct jit_descriptor __jit_debug_descriptor;
UNPADDED struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};

static struct jit_code_entry entries[2];
static struct usp_symbolizer *symbolizer;
static struct usp_source_frame frames[8];
static struct usp_lines lines;
static uint64_t code; /* the generated code's address, which is in no image */

static bool can_run(void) { return uspi_os_kind() == USP_OS_LINUX && usp_arch_host() != USP_ARCH_NONE; }

static void begin(void) {
    void *memory = mmap(NULL, CODE_HIGH, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    code = (uint64_t)(uintptr_t)memory;
    ck_assert_int_eq(usp_symbolizer_create(NULL, NULL, &symbolizer), USP_OK);
}

static void end(void) {
    __jit_debug_descriptor.first = NULL;
    usp_symbolizer_free(symbolizer);
    munmap((void *)(uintptr_t)code, CODE_HIGH);
}

/* Makes an object with the code of "outer", into which a call of "inner" was inlined in line `line`. */
static struct builder make_object(bool is_unlinked, bool is_packed, unsigned line) {
    struct dwarf_file f = {.is_unlinked = is_unlinked, .packing.way = is_packed};
    const uint64_t low = is_unlinked ? CODE_LOW : code;
    put_abbreviations(&f);
    begin_unit(&f, "one.c", low, 0x40);
    const uint32_t inner = put_abstract(&f, "inner", 5);
    put_function(&f, FUNCTION, "outer", low, 0x40);
    put_inlined(&f, inner, low + 0x10, 0x10, line);
    end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    begin_lines(&f);
    put_address(&f, low);
    put_row(&f, 0, 9);
    for (unsigned i = 1; i < 4; i++) put_row(&f, 16, 1);
    put_end(&f, 16);
    end_lines(&f);
    return finish_jit_object(&f, code, "by_symbol");
}

/* Puts an object before the others in the list. */
static void add_object(unsigned i, const struct builder *b) {
    entries[i] = (struct jit_code_entry){__jit_debug_descriptor.first, NULL, b->bytes, b->size};
    __jit_debug_descriptor.first = &entries[i];
}

static uint32_t ask(uint64_t offset) {
    usp_lines_init(&lines, frames, ELEMENTS(frames));
    usp_symbolize_lines(symbolizer, code + offset, &lines);
    return lines.count;
}

static void expect_frame(uint32_t i, const char *function, const char *file, uint32_t line) {
    ck_assert_uint_lt(i, lines.count);
    ck_assert_str_eq(frames[i].function, function);
    ck_assert_msg(frames[i].line == line, "%s: line %u, not %u", function, frames[i].line, line);
    ck_assert(line == 0 || strcmp(frames[i].file, file) == 0);
}

static void expect_object(unsigned line) {
    char text[256];
    ck_assert_uint_eq(ask(0x14), 2);
    expect_frame(0, "inner", "one.c", 11);
    expect_frame(1, "by_symbol", "one.c", line);
    ck_assert_uint_eq(frames[0].flags & USP_SOURCE_INLINED, USP_SOURCE_INLINED);
    ck_assert_uint_eq(frames[1].named_by, USP_STRATEGY_GDB_JIT);
    ck_assert_uint_eq(frames[1].start, code);
    ck_assert_uint_eq(ask(0x24), 1);
    expect_frame(0, "by_symbol", "one.c", 12);
    ck_assert_uint_eq(ask(0x44), 1); /* after the function of the debug information */
    expect_frame(0, "by_symbol", "", 0);
    ck_assert_int_eq(usp_symbolizer_explain_lines(symbolizer, code + 0x14, text, sizeof text), USP_OK);
    ck_assert_msg(strstr(text, "registered") != NULL, "%s", text);
}

START_TEST(objects_with_lines) {
    if (!can_run()) return;
    begin();
    struct builder b = make_object(_i > 0, _i > 1, 77);
    add_object(0, &b);
    expect_object(77);
    end();
    builder_free(&b);
}
END_TEST

/* A newer object is registered at the same address, and removed again. Earlier answers must stay valid. */
START_TEST(objects_that_come_and_go) {
    if (!can_run()) return;
    begin();
    struct builder old = make_object(true, false, 77), fresh = make_object(true, false, 78);
    add_object(0, &old);
    expect_object(77);
    ask(0x14);
    const char *name = frames[0].function, *file = frames[0].file, *folder = frames[0].directory;
    add_object(1, &fresh);
    expect_object(78);
    memset(fresh.bytes, 0xff, fresh.size);
    __jit_debug_descriptor.first = &entries[0];
    expect_object(77);
    __jit_debug_descriptor.first = NULL;
    memset(old.bytes, 0xff, old.size);
    ck_assert_uint_eq(ask(0x14), 0);
    ck_assert_str_eq(name, "inner");
    ck_assert_str_eq(file, "one.c");
    ck_assert_str_eq(folder, "/src");
    end();
    builder_free(&old);
    builder_free(&fresh);
}
END_TEST

/* The name must not depend on the debug information, which is damaged. */
START_TEST(objects_with_damaged_lines) {
    if (!can_run()) return;
    begin();
    struct builder b = make_object(true, false, 77);
    for (size_t at = 64 + 10 * 64; at < b.size; at += 3) {
        uint8_t *copy = malloc(b.size);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, b.bytes, b.size);
        copy[at] = (uint8_t)(copy[at] ^ 0xff);
        const struct builder damaged = {.bytes = copy, .size = b.size};
        __jit_debug_descriptor.first = NULL;
        ck_assert_uint_eq(ask(0x14), 0);
        add_object(0, &damaged);
        ask(0x14);
        ck_assert_uint_le(lines.count, ELEMENTS(frames));
        for (uint32_t i = 0; i < lines.count; i++) {
            if (frames[i].function != NULL) ck_assert_uint_lt(strlen(frames[i].function), b.size);
        }
        free(copy);
        __jit_debug_descriptor.first = NULL;
    }
    end();
    builder_free(&b);
}
END_TEST

/* Whichever allocation fails, the result must be USP_ERROR_NO_MEMORY or right. */
START_TEST(objects_without_memory) {
    unsigned lacking = 0;
    if (!can_run()) return;
    begin();
    struct builder b = make_object(true, _i == 1, 77);
    for (long n = 1;; n++) {
        __jit_debug_descriptor.first = NULL;
        ck_assert_uint_eq(ask(0x14), 0);
        add_object(0, &b);
        usp_lines_init(&lines, frames, ELEMENTS(frames));
        fail_allocation(n);
        int status = usp_symbolize_lines(symbolizer, code + 0x14, &lines);
        const bool is_last = allocation_still_to_fail();
        fail_allocation(0);
        ck_assert_msg(status == USP_ERROR_NO_MEMORY || (status == USP_OK && lines.count == 2), "allocation %ld: %d, %u",
                      n, status, lines.count);
        lacking += status == USP_ERROR_NO_MEMORY;
        /* When there is memory again, the answers must be right. */
        expect_object(77);
        if (is_last) break;
    }
    ck_assert_uint_gt(lacking, 10);
    end();
    builder_free(&b);
}
END_TEST

int main(void) {
    TCase *objects = tcase_create("objects");
    tcase_add_loop_test(objects, objects_with_lines, 0, FORMS);
    tcase_add_loop_test(objects, objects_without_memory, 0, FORMS - 1);
    add_tests(objects, objects_that_come_and_go, objects_with_damaged_lines);
    return run_suite("jit_lines", objects);
}
