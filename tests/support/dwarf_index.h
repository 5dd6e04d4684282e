/* SPDX-License-Identifier: MIT */
/* Opens a file of dwarf_file.h as a source of lines, and makes its index. Include it once in a program, which must be
 * linked with the library's internals. */
#ifndef TESTS_SUPPORT_DWARF_INDEX_H
#define TESTS_SUPPORT_DWARF_INDEX_H

#include "lib/symbolize/dwarf/dwarf.h"
#include "lib/symbolize/store/index_write.h"
#include "tests/support/dwarf_questions.h"

static struct uspi_line_source *source;
static struct uspi_source bytes_source;
static struct builder source_bytes;

static inline void open_source(void) {
    struct uspi_error error = {0};
    source_bytes = finish_dwarf_file(&f);
    bytes_source = (struct uspi_source){.name = "file", .base = source_bytes.bytes};
    const struct uspi_dwarf_options options = {
        .bytes = {&bytes_source, 0, source_bytes.size}, .path = "/nonexistent/file", .is_alone = true};
    ck_assert_msg(uspi_dwarf_open(&options, &source, &error) == USP_OK, "%s", error.text);
}

static inline void close_source(void) {
    source->close(source);
    builder_free(&source_bytes);
}

/* Makes the index of the source and a few symbols, with some threads. */
static inline struct builder make_index(unsigned threads) {
    static const uint8_t id[4] = {1, 2, 3, 4};
    const struct uspi_index_work work = {.threads = threads};
    const struct uspi_index_header header = {
        .arch = USP_ARCH_X86_64, .header = source->header, .build_id = id, .build_id_size = sizeof id, .name = "file"};
    struct uspi_error error = {0};
    struct builder b = {0};
    struct uspi_index_writer *writer = uspi_index_writer_create();
    ck_assert_ptr_nonnull(writer);
    ck_assert_int_eq(uspi_index_add_lines(writer, source, &work, &error), USP_OK);
    ck_assert(uspi_index_add_symbol(writer, 0x1000, 0x40, "_Z5outeri", USP_STRATEGY_SYMTAB));
    ck_assert(uspi_index_add_symbol(writer, 0x1800, 0x10, "_Z5otheri", USP_STRATEGY_SYMTAB));
    ck_assert(uspi_index_add_symbol(writer, 0x3f00, 0x100, "-[Class method]", USP_STRATEGY_OBJC_METADATA));
    ck_assert_int_eq(uspi_index_finish(writer, &header, &b.bytes, &b.size), USP_OK);
    uspi_index_writer_free(writer);
    return b;
}

#endif
