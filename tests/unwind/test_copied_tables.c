/* SPDX-License-Identifier: MIT */
/* Tests call frame information that is copied from files, which the test builds: what is copied, what is refused, how
 * much memory it takes. test_dwarf_cfi.c tests what the entries mean. */
#define _GNU_SOURCE 1
#include "config.h"

#include <check.h>
#include <dlfcn.h>
#include <unistd.h>

#include "lib/images/image_list.h"
#include "lib/unwind/readers/kinds.h"
#include "lib/unwind/tables/copied_tables.h"
#include "lib/unwind/tables/image_tables.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/folder.h"
#include "tests/support/placed.h"
#include "tests/support/suite.h"
#include "tests/support/symbol_file.h"
#include "tests/unwind/cfi_builder.h"

#define EM_386     3
#define EM_X86_64  62
#define SLIDE      UINT64_C(0x20000000)
#define LINKED     UINT64_C(0x3000) /* where .eh_frame lies in the image */
#define COMPRESSED 0x800u           /* SHF_COMPRESSED */
#define NOBITS     8u               /* SHT_NOBITS */
#define GIBIBYTE   (UINT64_C(1) << 30)

enum { NULL_SECTION, EH_FRAME, DEBUG_FRAME, NAMES, SECTIONS };
static const char names[] = "\0.eh_frame\0.debug_frame";
static const uint32_t name_at[SECTIONS] = {[EH_FRAME] = 1, [DEBUG_FRAME] = 11};

static char path[] = "/tmp/unspool-kept-XXXXXX";
static const uint8_t build_id[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
static struct file_section sections[SECTIONS];
static struct builder built; /* contents up to the section headers */
static struct symbol_file wanted;
static struct usp_image image;
static struct uspi_image_sources places;
static struct usp_unwind_tables tables, untouched;

static int others_read(void *context, usp_addr from, void *to, size_t n) {
    (void)context, (void)from, (void)to, (void)n;
    return USP_ERROR_UNREADABLE;
}

/* Begins a file without sections, and an image of it that is loaded SLIDE higher. */
static void begin(void) {
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    wanted = (struct symbol_file){
        .wide = true, .machine = EM_X86_64, .build_id = build_id, .build_id_size = sizeof build_id};
    image = (struct usp_image){
        .path = path, .load_address = SLIDE, .slide = SLIDE, .arch = USP_ARCH_X86_64, .build_id_size = sizeof build_id};
    memcpy(image.build_id, build_id, sizeof build_id);
    memset(sections, 0, sizeof sections);
    places = (struct uspi_image_sources){.search = {.as_named = true}};
    memset(&untouched, 0xa5, sizeof untouched);
    untouched.eh_frame_hdr = untouched.eh_frame = untouched.debug_frame = untouched.debug_frame_hdr =
        (struct usp_memory_range){0};
    untouched.flags = 0;
    untouched.memory = (struct usp_memory){others_read, &image};
    tables = untouched;
}

static void begin_32_bits(void) {
    wanted.wide = false;
    wanted.machine = EM_386;
    image.arch = USP_ARCH_I386;
}

static void end(void) {
    builder_free(&built);
    remove(path);
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
}

/* Appends a section's contents. */
static void add_section(unsigned number, uint64_t address, const struct builder *contents) {
    const unsigned word = wanted.wide ? 8 : 4;
    if (built.size == 0) pad_to(&built, 0x400);
    align_to(&built, word);
    sections[number] = (struct file_section){1, 2, address, built.size, contents->size, 0, 0};
    put_bytes(&built, contents->bytes, contents->size);
}

/* Builds the file: the header with its fields about section headers, the build-id note, the added contents, the section
 * headers. */
static struct builder build_file(void) {
    const bool wide = wanted.wide;
    struct builder file = {0};
    if (built.size == 0) pad_to(&built, 0x400);
    sections[NAMES] = (struct file_section){3, 0, 0, built.size, sizeof names, 0, 0};
    put_bytes(&built, names, sizeof names);
    put_header(&file, &wanted);
    patch(&file, wide ? 40 : 32, wide ? 8 : 4, built.size);
    patch(&file, wide ? 60 : 48, 2, SECTIONS);
    patch(&file, wide ? 62 : 50, 2, NAMES);
    put_segment(&file, wide, 1, 0, 0, built.size, 0x1000);
    put_segment(&file, wide, 4, NOTE_ADDRESS, NOTE_ADDRESS, 16 + sizeof build_id, 4);
    pad_to(&file, NOTE_ADDRESS);
    put(&file, 4, 4);
    put(&file, 4, wanted.build_id_size);
    put(&file, 4, 3); /* NT_GNU_BUILD_ID */
    put_name(&file, "GNU", 4);
    put_bytes(&file, wanted.build_id, wanted.build_id_size);
    pad_to(&file, 0x400);
    put_bytes(&file, built.bytes + 0x400, built.size - 0x400);
    for (unsigned i = 0; i < SECTIONS; i++) {
        const size_t at = file.size;
        put_section(&file, wide, &sections[i]);
        patch(&file, at, 4, name_at[i]);
    }
    return file;
}

static void write_file(void) {
    struct builder file = build_file();
    save_new(&file, path);
    builder_free(&file);
}

/* Adds this many functions of 0x40 bytes, 0x100 apart from CODE on; the last function comes first, so that they must be
 * sorted. */
static void add_functions(unsigned number, unsigned functions) {
    struct cfi c;
    cfi_begin(&c, image.arch, number == EH_FRAME);
    size_t cie = put_cie(&c, false, 1, "", wanted.wide ? "01 78 10 0c 07 08 90 01" : "01 7c 08 0c 04 04 88 01");
    for (unsigned i = functions; i-- > 0;) put_fde(&c, cie, CODE + 0x100 * i, 0x40, "41 0e 10");
    add_section(number, number == EH_FRAME ? LINKED : 0, &c.bytes);
    builder_free(&c.bytes);
}

static void read_tables(struct uspi_dwarf_image *found) {
    const struct uspi_backend *backend = uspi_backend_find(image.arch);
    ck_assert_int_eq(uspi_dwarf_image_init(found, &tables, &tables.memory, backend, USP_OS_LINUX), USP_OK);
    ck_assert_int_eq(found->has_eh ? found->eh_index.status : found->debug_index.status, USP_OK);
}

static int find(const struct uspi_dwarf_image *found, usp_addr pc, struct uspi_dwarf_fde *fde) {
    const struct uspi_dwarf_section *section;
    return uspi_dwarf_find(found, pc, &section, fde);
}

/* Expects each function at its loaded address, by a sorted table, and nothing between the functions. */
static void expect_functions(unsigned functions) {
    struct uspi_dwarf_image found;
    struct uspi_dwarf_fde fde;
    read_tables(&found);
    for (unsigned i = 0; i < functions; i++) {
        const usp_addr start = SLIDE + CODE + 0x100 * i;
        ck_assert_int_eq(find(&found, start + 0x3f, &fde), USP_OK);
        ck_assert_uint_eq(fde.start, start);
        ck_assert_uint_eq(fde.end, start + 0x40);
        ck_assert_int_eq(find(&found, start + 0x40, &fde), USP_ERROR_NOT_FOUND);
    }
    ck_assert_int_eq(find(&found, SLIDE + CODE - 1, &fde), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(find(&found, CODE, &fde), USP_ERROR_NOT_FOUND);
}

/* Expects these bytes in the memory at this address, and nothing around them. */
static void expect_memory(struct usp_memory_range table) {
    uint8_t *bytes = malloc((size_t)table.size + 1);
    ck_assert_ptr_nonnull(bytes);
    const struct usp_memory *m = &tables.memory;
    ck_assert_int_eq(m->read(m->context, table.address, bytes, (size_t)table.size), USP_OK);
    ck_assert_int_eq(m->read(m->context, table.address + table.size, bytes, 0), USP_OK);
    ck_assert_int_eq(m->read(m->context, table.address, bytes, (size_t)table.size + 1), USP_ERROR_UNREADABLE);
    ck_assert_int_eq(m->read(m->context, table.address + table.size, bytes, 1), USP_ERROR_UNREADABLE);
    ck_assert_int_eq(m->read(m->context, table.address - 1, bytes, 1), USP_ERROR_UNREADABLE);
    ck_assert_int_eq(m->read(m->context, table.address + 1, bytes, SIZE_MAX), USP_ERROR_UNREADABLE);
    free(bytes);
}

/* Expects tables from this one section; once freed, they must leave no memory allocated. */
static void expect_kept(unsigned number, unsigned functions) {
    const long held = allocations_held();
    const struct usp_memory_range none = {0};
    ck_assert_int_eq(uspi_copied_tables_make(&image, &places, &tables), USP_OK);
    const bool is_eh = number == EH_FRAME;
    struct usp_memory_range section = is_eh ? tables.eh_frame : tables.debug_frame;
    struct usp_memory_range sorted = is_eh ? tables.eh_frame_hdr : tables.debug_frame_hdr;
    ck_assert_uint_eq(section.address, is_eh ? SLIDE + LINKED : 0);
    ck_assert_uint_eq(section.size, sections[number].size);
    ck_assert_mem_eq(is_eh ? &tables.debug_frame : &tables.eh_frame, &none, sizeof none);
    ck_assert_mem_eq(is_eh ? &tables.debug_frame_hdr : &tables.eh_frame_hdr, &none, sizeof none);
    ck_assert_uint_eq(tables.flags, USP_UNWIND_TABLES_AS_LINKED);
    ck_assert_uint_eq(tables.slide, SLIDE);
    ck_assert_uint_eq(tables.text_base, untouched.text_base);
    ck_assert_mem_eq(&tables.exidx, &untouched.exidx, sizeof none);
    if (section.address != 0) expect_memory(section);
    expect_memory(sorted);
    expect_functions(functions);
    ck_assert_uint_gt(uspi_copied_tables_size(&tables), section.size + sorted.size);
    uspi_copied_tables_free(&tables);
    ck_assert_int_eq(allocations_held(), held);
}

static void expect_refused(int status) {
    const long held = allocations_held();
    ck_assert_int_eq(uspi_copied_tables_make(&image, &places, &tables), status);
    ck_assert_mem_eq(&tables, &untouched, sizeof tables);
    ck_assert_int_eq(allocations_held(), held);
}

START_TEST(each_section_of_each_width) {
    const unsigned number = _i % 2 == 0 ? EH_FRAME : DEBUG_FRAME;
    if (_i >= 2) begin_32_bits();
    add_functions(number, 5);
    write_file();
    expect_kept(number, 5);
}
END_TEST

/* Packs bytes as a compressor does that cannot make them smaller: one stored block, in zlib's form (RFC 1950, 1951
 * 3.2.4) or zstd's (RFC 8878, 3.1.1). The header claims `claimed` bytes of output. */
static struct builder packed(bool by_zlib, const uint8_t *bytes, size_t n, uint64_t claimed) {
    const bool wide = wanted.wide;
    struct builder b = {0};
    put(&b, 4, by_zlib ? 1 : 2); /* ELFCOMPRESS_… */
    if (wide) put(&b, 4, 0);
    put_word(&b, wide, claimed);
    put_word(&b, wide, 1);
    if (by_zlib) {
        uint32_t low = 1, high = 0;
        put_hex(&b, "78 01 01");
        put(&b, 2, n);
        put(&b, 2, ~n & 0xffff);
        put_bytes(&b, bytes, n);
        for (size_t i = 0; i < n; i++) {
            low = (low + bytes[i]) % 65521;
            high = (high + low) % 65521;
        }
        put_be(&b, 4, high << 16 | low);
    } else {
        put_hex(&b, "28 b5 2f fd a0");
        put(&b, 4, n);
        put(&b, 3, 1 | n << 3);
        put_bytes(&b, bytes, n);
    }
    return b;
}

/* Replaces the section that was added last by its compressed form. */
static void pack_last(unsigned number, bool by_zlib, int64_t more) {
    const size_t at = (size_t)sections[number].offset, n = (size_t)sections[number].size;
    struct builder b = packed(by_zlib, built.bytes + at, n, (uint64_t)((int64_t)n + more));
    built.size = at;
    put_bytes(&built, b.bytes, b.size);
    sections[number].size = b.size;
    sections[number].flags |= COMPRESSED;
    builder_free(&b);
}

static bool can_unpack(bool by_zlib) {
#ifdef HAVE_ZLIB
    if (by_zlib) return true;
#endif
#ifdef HAVE_ZSTD
    if (!by_zlib) return true;
#endif
    (void)by_zlib;
    return false;
}

/* -gz compresses .debug_frame, which is not loaded: the tables must be found all the same. */
START_TEST(compressed_sections) {
    const bool by_zlib = _i % 2 == 0;
    if (_i >= 2) begin_32_bits();
    add_functions(DEBUG_FRAME, 5);
    const uint64_t size = sections[DEBUG_FRAME].size;
    pack_last(DEBUG_FRAME, by_zlib, 0);
    write_file();
    if (!can_unpack(by_zlib)) {
        expect_refused(USP_ERROR_NOT_FOUND);
        return;
    }
    sections[DEBUG_FRAME].size = size;
    expect_kept(DEBUG_FRAME, 5);
}
END_TEST

/* Replaces libc's dlopen: the decompression libraries may be missing on another machine than the build's. */
static bool lacks_libraries;

void *dlopen(const char *library, int how) {
    static void *(*next)(const char *, int);
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    return lacks_libraries ? NULL : next(library, how);
}

START_TEST(compressed_sections_without_a_library) {
    const bool by_zlib = _i % 2 == 0;
    add_functions(DEBUG_FRAME, 5);
    pack_last(DEBUG_FRAME, by_zlib, 0);
    write_file();
    lacks_libraries = true;
    expect_refused(USP_ERROR_NOT_FOUND);
    lacks_libraries = false;
}
END_TEST

/* Decompression gives more or fewer bytes than the header claims, or the header claims far more than possible: such a
 * section must be refused. */
START_TEST(compressed_sections_that_lie) {
    static const int64_t more[] = {-1, 1, GIBIBYTE};
    const bool by_zlib = _i % 2 == 0;
    add_functions(DEBUG_FRAME, 5);
    pack_last(DEBUG_FRAME, by_zlib, more[_i / 2]);
    write_file();
    expect_refused(can_unpack(by_zlib) || _i / 2 == 2 ? USP_ERROR_FORMAT : USP_ERROR_NOT_FOUND);
}
END_TEST

/* The debug symbol file lies below a debug root, under the name that the image's build-id gives it. Its .debug_frame
 * must be used. */
START_TEST(debug_frame_that_was_split_off) {
    char command[sizeof folder + 64];
    make_folder();
    snprintf(command, sizeof command, "mkdir -p %s/usr/lib/debug/.build-id/01", folder);
    ck_assert_int_eq(system(command), 0);
    const char *debug = in_folder("usr/lib/debug/.build-id/01/02030405060708090a0b0c0d0e0f1011121314.debug");
    places.search.sysroot = folder;
    write_file();
    expect_refused(USP_ERROR_NOT_FOUND);
    builder_free(&built);
    add_functions(DEBUG_FRAME, 4);
    struct builder file = build_file();
    save_new(&file, debug);
    builder_free(&file);
    expect_kept(DEBUG_FRAME, 4);
    /* A file of another build. */
    static const uint8_t other[sizeof build_id] = {1};
    wanted.build_id = other;
    built.size = (size_t)sections[NAMES].offset;
    file = build_file();
    save_new(&file, debug);
    builder_free(&file);
    tables = untouched;
    expect_refused(USP_ERROR_NOT_FOUND);
    remove_folder();
}
END_TEST

START_TEST(eh_frame_comes_first) {
    add_functions(EH_FRAME, 3);
    add_functions(DEBUG_FRAME, 4);
    write_file();
    expect_kept(EH_FRAME, 3);
}
END_TEST

/* The .eh_frame is of no use: empty, without contents in the file, compressed, or too large. The .debug_frame must be
 * used. */
START_TEST(debug_frame_where_eh_frame_is_of_no_use) {
    add_functions(EH_FRAME, 3);
    add_functions(DEBUG_FRAME, 4);
    if (_i == 0) sections[EH_FRAME].size = 0;
    if (_i == 1) sections[EH_FRAME].type = NOBITS;
    if (_i == 2) sections[EH_FRAME].flags |= COMPRESSED;
    if (_i == 3) sections[EH_FRAME].size = GIBIBYTE + 1;
    write_file();
    expect_kept(DEBUG_FRAME, 4);
}
END_TEST

START_TEST(nothing_of_that_kind) {
    if (_i > 0) add_functions(DEBUG_FRAME, 4);
    if (_i == 1) sections[DEBUG_FRAME].size = 0;
    if (_i == 2) sections[DEBUG_FRAME].type = NOBITS;
    if (_i == 3) sections[DEBUG_FRAME].flags |= COMPRESSED;
    if (_i == 4) sections[DEBUG_FRAME].size = UINT64_MAX;
    write_file();
    expect_refused(USP_ERROR_NOT_FOUND);
}
END_TEST

/* A section's terminating zero, and bytes that are not an entry: the section must be kept, and a look-up must say what
 * is wrong. */
START_TEST(sections_without_entries) {
    static const struct {
        const char *contents;
        int status;
    } cases[] = {{"00 00 00 00", USP_ERROR_NOT_FOUND},
                 {"ff", USP_ERROR_TRUNCATED},
                 {"ff ff ff 7f 00 00 00 00", USP_ERROR_TRUNCATED},
                 {"f0 ff ff ff 01 02 03 04", USP_ERROR_FORMAT}};
    struct builder b = {0};
    put_hex(&b, cases[_i].contents);
    add_section(EH_FRAME, LINKED, &b);
    builder_free(&b);
    write_file();
    ck_assert_int_eq(uspi_copied_tables_make(&image, &places, &tables), USP_OK);
    expect_memory(tables.eh_frame);
    struct uspi_dwarf_image found;
    struct uspi_dwarf_fde fde;
    read_tables(&found);
    ck_assert_int_eq(find(&found, SLIDE + CODE, &fde), cases[_i].status);
    uspi_copied_tables_free(&tables);
}
END_TEST

/* An entry has no end: the entries before it must be kept. */
START_TEST(a_section_that_is_cut_off) {
    add_functions(EH_FRAME, 5);
    sections[EH_FRAME].size -= 4;
    write_file();
    /* The first function's entry comes last. */
    ck_assert_int_eq(uspi_copied_tables_make(&image, &places, &tables), USP_OK);
    struct uspi_dwarf_image found;
    struct uspi_dwarf_fde fde;
    read_tables(&found);
    ck_assert_int_eq(find(&found, SLIDE + CODE, &fde), USP_ERROR_NOT_FOUND);
    for (unsigned i = 1; i < 5; i++) ck_assert_int_eq(find(&found, SLIDE + CODE + 0x100 * i, &fde), USP_OK);
    uspi_copied_tables_free(&tables);
}
END_TEST

START_TEST(sections_outside_the_file) {
    add_functions(EH_FRAME, 3);
    add_functions(DEBUG_FRAME, 4);
    if (_i == 0) sections[EH_FRAME].offset = GIBIBYTE;
    if (_i == 1) sections[EH_FRAME].size = GIBIBYTE;
    if (_i == 2) sections[EH_FRAME].offset = UINT64_MAX - 8;
    write_file();
    expect_refused(USP_ERROR_TRUNCATED);
}
END_TEST

START_TEST(no_file) {
    add_functions(EH_FRAME, 3);
    write_file();
    image.arch = 99;
    expect_refused(USP_ERROR_NOT_FOUND);
    image.arch = USP_ARCH_X86_64;
    remove(path);
    expect_refused(USP_ERROR_NOT_FOUND);
    places.search.as_named = false;
    expect_refused(USP_ERROR_NOT_FOUND);
}
END_TEST

START_TEST(another_build) {
    static const uint8_t other[sizeof build_id] = {1};
    add_functions(EH_FRAME, 3);
    wanted.build_id = other;
    write_file();
    expect_refused(USP_ERROR_MISMATCH);
    wanted.build_id = build_id;
    built.size = (size_t)sections[NAMES].offset;
    write_file();
    expect_kept(EH_FRAME, 3);
}
END_TEST

START_TEST(no_elf_file) {
    struct builder b = {0};
    put_name(&b, "#!/bin/sh", 200);
    save_new(&b, path);
    builder_free(&b);
    const long held = allocations_held();
    ck_assert_int_ne(uspi_copied_tables_make(&image, &places, &tables), USP_OK);
    ck_assert_mem_eq(&tables, &untouched, sizeof tables);
    ck_assert_int_eq(allocations_held(), held);
}
END_TEST

/* Each further entry must cost its bytes and its place in the sorted table, and no more. */
START_TEST(sizes) {
    uint64_t size[2], sum[2];
    for (unsigned i = 0; i < 2; i++) {
        add_functions(EH_FRAME, i == 0 ? 1 : 400);
        write_file();
        ck_assert_int_eq(uspi_copied_tables_make(&image, &places, &tables), USP_OK);
        size[i] = uspi_copied_tables_size(&tables);
        sum[i] = tables.eh_frame.size + tables.eh_frame_hdr.size;
        uspi_copied_tables_free(&tables);
        tables = untouched;
        builder_free(&built);
    }
    ck_assert_uint_eq(size[1] - size[0], sum[1] - sum[0]);
    ck_assert_uint_ge(sum[1] - sum[0], 399 * (sizeof(uint64_t) * 4));
}
END_TEST

START_TEST(others_tables) {
    const long held = allocations_held();
    ck_assert_uint_eq(uspi_copied_tables_size(&tables), 0);
    uspi_copied_tables_free(&tables);
    ck_assert_mem_eq(&tables, &untouched, sizeof tables);
    struct usp_unwind_tables none;
    memset(&none, 0, sizeof none);
    ck_assert_uint_eq(uspi_copied_tables_size(&none), 0);
    uspi_copied_tables_free(&none);
    ck_assert_int_eq(allocations_held(), held);
}
END_TEST

/* Returns the memory that the tables of a list of this image take under a limit, and sets whether it has tables. */
static uint64_t learn(const struct usp_memory *memory, uint64_t limit, bool *has_tables) {
    struct uspi_image_list list = {0};
    struct usp_unwind_tables learnt = {0};
    struct usp_images *images;
    ck_assert_int_eq(uspi_image_list_add(&list, &image), USP_OK);
    ck_assert_int_eq(uspi_image_list_seal(&list, &images), USP_OK);
    struct uspi_image_tables *all;
    ck_assert_int_eq(uspi_image_tables_create(images, memory, &places, limit, &all), USP_OK);
    usp_images_free(images);
    *has_tables = uspi_image_tables_at(all, image.load_address, &learnt) == USP_OK && learnt.eh_frame.size != 0;
    uint64_t size = uspi_image_tables_size(all);
    uspi_image_tables_free(all);
    return size;
}

START_TEST(a_limit) {
    const uint64_t place = sizeof(struct usp_unwind_tables);
    const long held = allocations_held();
    bool has_tables;
    uspi_read_all_tables(); /* a build for no system loads no ELF files itself */
    add_functions(EH_FRAME, 20);
    struct builder file = build_file();
    save_new(&file, path);
    /* Reads the file's bytes at the image's addresses. */
    struct placed placed = {&file, SLIDE};
    const struct usp_memory memory = {read_placed, &placed};
    image.text_low = SLIDE;
    image.end = image.text_high = SLIDE + 0x4000;
    const uint64_t all = learn(&memory, UINT64_MAX, &has_tables);
    ck_assert(has_tables);
    ck_assert_uint_gt(all, place + 20 * 16);
    ck_assert_uint_eq(learn(&memory, all, &has_tables), all);
    ck_assert(has_tables);
    ck_assert_uint_eq(learn(&memory, all - 1, &has_tables), place);
    ck_assert(!has_tables);
    ck_assert_uint_eq(learn(&memory, place, &has_tables), place);
    ck_assert_uint_eq(learn(&memory, place - 1, &has_tables), 0);
    ck_assert_uint_eq(learn(&memory, 0, &has_tables), 0);
    ck_assert(!has_tables);
    builder_free(&file);
    builder_free(&built);
    ck_assert_int_eq(allocations_held(), held);
}
END_TEST

START_TEST(each_allocation_fails) {
    const long held = allocations_held();
    long n = 0;
    int status;
    add_functions(EH_FRAME, 300);
    write_file();
    const long before = allocations_held();
    do {
        tables = untouched;
        fail_allocation(++n);
        status = uspi_copied_tables_make(&image, &places, &tables);
        if (allocation_still_to_fail()) break;
        ck_assert_int_eq(status, USP_ERROR_NO_MEMORY);
        ck_assert_mem_eq(&tables, &untouched, sizeof tables);
        ck_assert_int_eq(allocations_held(), before);
    } while (n < 100);
    fail_allocation(0);
    ck_assert_int_eq(status, USP_OK);
    /* The allocations: the tables, the section, the list of entries, the grown list, the sorted table. */
    ck_assert_int_gt(n, 5);
    expect_functions(300);
    uspi_copied_tables_free(&tables);
    builder_free(&built);
    ck_assert_int_eq(allocations_held(), held);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("files");
    tcase_add_checked_fixture(tests, begin, end);
    add_loop_tests(tests, 0, 4, each_section_of_each_width, compressed_sections);
    tcase_add_loop_test(tests, compressed_sections_without_a_library, 0, 2);
    tcase_add_loop_test(tests, compressed_sections_that_lie, 0, 6);
    add_tests(tests, debug_frame_that_was_split_off, eh_frame_comes_first);
    tcase_add_loop_test(tests, debug_frame_where_eh_frame_is_of_no_use, 0, 4);
    tcase_add_loop_test(tests, nothing_of_that_kind, 0, 5);
    tcase_add_loop_test(tests, sections_without_entries, 0, 4);
    tcase_add_test(tests, a_section_that_is_cut_off);
    tcase_add_loop_test(tests, sections_outside_the_file, 0, 3);
    add_tests(tests, no_file, another_build, no_elf_file, sizes, others_tables, a_limit, each_allocation_fails);
    return run_suite("copied_tables", tests);
}
