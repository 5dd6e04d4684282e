/* SPDX-License-Identifier: MIT */
/* Tests Objective-C metadata that is made byte by byte: every form of pointer and method list, files, realized classes
 * in memory, and deliberate damage. tests/symbolize/objc.sh tests the output of compilers and linkers. */
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "lib/images/image_list.h"
#include "lib/object/bind_opcodes.h"
#include "lib/symbolize/objc/lists.h"
#include "lib/symbolize/objc/tables.h"
#include "tests/support/excerpt_compare.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/objc_image.h"
#include "tests/support/range.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

#define BASE_64   UINT64_C(0x100000000)
#define BASE_32   UINT64_C(0x4000)
#define LOADED_64 UINT64_C(0x104abc000)
#define LOADED_32 UINT64_C(0x9a000)

/* ---- one chained pointer ---- */

/* Worked out by hand from dyld's fixup-chains.h. The header is at 0x100004000, or at 0x4000 for the 32-bit formats. */
static const struct {
    uint32_t format;
    uint64_t raw;
    bool is_import;
    uint32_t ordinal;
    usp_addr target;
} words[] = {
    /* ARM64E: {target 43, high8, next 11, bind, auth}; auth: {offset 32, diversity 16, address 1, key 2, next 11, 0,
     * 1} */
    {1, 0x0010000100008000, false, 0, 0x100008000},
    {1, 0x0011580100008000, false, 0, 0x100008000}, /* with 0x2b in its top byte */
    {1, 0x8011c0de00004010, false, 0, 0x100008010},
    {1, 0x4010000000000007, true, 7, 0},
    {1, 0xc011123400000123, true, 0x123, 0},
    {1, 0, false, 0, 0},
    /* KERNEL: unsigned pointers are offsets, too. FIRMWARE: addresses. */
    {7, 0x0010000000004010, false, 0, 0x100008010},
    {7, 0x8010000000004010, false, 0, 0x100008010},
    {10, 0x0010000100008000, false, 0, 0x100008000},
    {10, 0x8010000000004010, false, 0, 0x100008010},
    /* USERLAND: 16-bit ordinals; USERLAND24: 24-bit ones. */
    {9, 0x0010000000004010, false, 0, 0x100008010},
    {9, 0x4010000000ab0007, true, 7, 0},
    {12, 0x0010000000004010, false, 0, 0x100008010},
    {12, 0x4010000000ab0007, true, 0xab0007, 0},
    {12, 0xc0115678000b0007, true, 0x0b0007, 0},
    {12, 0x9ff0000000004018, false, 0, 0x100008018},
    /* 64: {target 36, high8, 7, next 12, bind}; import: {ordinal 24, addend 8, …} */
    {2, 0x0018000100008000, false, 0, 0x100008000},
    {2, 0x00181ff100008000, false, 0, 0x100008000},
    {2, 0x8018000005000003, true, 3, 0},
    {6, 0x0018000000004010, false, 0, 0x100008010},
    {6, 0x8018000000ffffff, true, 0xffffff, 0},
    {6, 0, false, 0, 0},
    /* 32: {target 26, next 5, bind}; import: {ordinal 20, addend 6, next 5, 1}. Values from 0x01000000 up are numbers;
     * their bias is (0x04000000 + 0x00ffffff) / 2 = 0x027fffff. */
    {3, 0x04008000, false, 0, 0x8000},
    {3, 0x7c008000, false, 0, 0x8000},
    {3, 0x84100005, true, 5, 0},
    {3, 0x02800000, false, 0, 1},
    {3, 0x027ffffe, false, 0, 0xffffffff},
    /* 32_CACHE: {offset 30, next 2}; 32_FIRMWARE: {target 26, next 6} */
    {4, 0x40004010, false, 0, 0x8010},
    {5, 0xfc008000, false, 0, 0x8000},
};

START_TEST(chained_word) {
    struct uspi_chained_word word;
    bool is_32 = words[_i].format >= 3 && words[_i].format <= 5;
    ck_assert(uspi_chained_decode(words[_i].format, words[_i].raw, is_32 ? 0x4000 : 0x100004000, 0x00ffffff, &word));
    ck_assert(word.is_import == words[_i].is_import);
    ck_assert_uint_eq(word.ordinal, words[_i].ordinal);
    ck_assert_uint_eq(word.target, words[_i].target);
}
END_TEST

START_TEST(unknown_formats) {
    struct uspi_chained_word word;
    static const uint32_t unknown[] = {0, 8, 11, 13, 14, 255, UINT32_MAX};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        ck_assert(!uspi_chained_decode(unknown[i], 1, 0, 0, &word));
    }
}
END_TEST

/* ---- an image ---- */

/* An image's bytes, as a file or as memory from `base` on, and the tables and index made of them. */
struct fixture {
    struct builder bytes;
    struct objc_image image;
    struct builder cache; /* more memory, at CACHE */
    bool has_decoy;       /* memory above 39 bits can be read, and is 0 */
    struct usp_memory memory;
    struct uspi_source source;
    struct uspi_macho macho;
    struct uspi_tables *tables;
    struct uspi_names *names;
    struct uspi_index index;
    uint8_t *copy;
};

#define CACHE UINT64_C(0x180000000)

static int read_process(void *context, usp_addr from, void *to, size_t n) {
    const struct fixture *f = context;
    if (read_range(f->image.base, f->bytes.bytes, f->bytes.size, from, to, n) == USP_OK) return USP_OK;
    if (read_range(CACHE, f->cache.bytes, f->cache.size, from, to, n) == USP_OK) return USP_OK;
    if (!f->has_decoy || from >> 39 == 0) return USP_ERROR_UNREADABLE;
    memset(to, 0, n);
    return USP_OK;
}

static void build(struct fixture *f, const struct objc_image *image) {
    memset(f, 0, sizeof *f);
    f->image = *image;
    f->bytes = build_objc_image(image, UUID);
}

static int make_index(struct fixture *f) {
    struct uspi_gathering gathering = {0};
    int status = f->tables->gather(f->tables, &gathering);
    if (status == USP_OK) status = uspi_index_build(&f->index, &gathering, f->tables->prefer, f->tables);
    uspi_gathering_clear(&gathering);
    return status;
}

/* Opens a file of `size` bytes, in a buffer of exactly that size, so that a sanitizer reports a read after it. */
static int open_cut(struct fixture *f, size_t size, const struct uspi_pointers *process) {
    f->names = uspi_names_create();
    ck_assert_ptr_nonnull(f->names);
    uint64_t at = 0, length = size;
    if (f->image.is_loaded) {
        f->memory = (struct usp_memory){read_process, f};
        f->source = uspi_source_of_memory(&f->memory, "process");
        at = f->image.base;
        length = UINT64_MAX - at;
    } else {
        f->copy = malloc(size == 0 ? 1 : size);
        ck_assert_ptr_nonnull(f->copy);
        memcpy(f->copy, f->bytes.bytes, size);
        f->source = (struct uspi_source){.name = "file", .base = f->copy};
    }
    int status = uspi_macho_open(&f->macho, (struct uspi_bytes){&f->source, at, length}, NULL);
    if (status == USP_OK) status = uspi_objc_tables_open(&f->macho, process, &f->tables);
    if (status == USP_OK) status = make_index(f);
    return status;
}

static int open_all(struct fixture *f) {
    int status = open_cut(f, f->bytes.size, NULL);
    if (status != USP_OK) return status;
    /* Excerpts must give the same answers for every image that is tested here. */
    struct excerpt_tally tally = {0};
    const usp_addr low = f->image.is_loaded ? f->image.linked : f->image.base;
    compare_excerpts(f->tables, low, low + 0x4000, 0x80, 1, &tally);
    ck_assert_uint_gt(tally.decided + tally.undecided, 0);
    return USP_OK;
}

static void close_fixture(struct fixture *f) {
    uspi_index_clear(&f->index);
    if (f->tables != NULL) f->tables->close(f->tables);
    uspi_names_free(f->names);
    builder_free(&f->bytes);
    builder_free(&f->cache);
    free(f->copy);
    memset(f, 0, sizeof *f);
}

static usp_addr linked(const struct fixture *f, uint32_t offset) {
    return (f->image.is_loaded ? f->image.linked : f->image.base) + offset;
}

/* The name at an offset in the image; "" if there is none. */
static const char *name_at(const struct fixture *f, uint32_t offset, usp_addr *start) {
    struct uspi_symbol_answer named = {0};
    uint32_t symbol = uspi_index_find(&f->index, linked(f, offset), &named.start, &named.size);
    *start = 0;
    if (symbol == USPI_NO_SYMBOL) return "";
    if (f->tables->get(f->tables, symbol, f->names, &named) != USP_OK) return "unreadable";
    *start = named.start;
    return named.name;
}

/* Checks that the function has this name from its first byte to its last. */
static void expect(const struct fixture *f, unsigned function, const char *name) {
    static const unsigned offsets[] = {0, 1, 15};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        usp_addr start;
        ck_assert_str_eq(name_at(f, function_offset(function) + offsets[i], &start), name);
        if (name[0] != '\0') ck_assert_uint_eq(start, linked(f, function_offset(function)));
    }
}

static void expect_all(const struct fixture *f) {
    usp_addr start;
    expect(f, FIRST, "-[Thing first]");
    expect(f, SECOND, "-[Thing second:with:]");
    expect(f, MAKE, "+[Thing make]");
    expect(f, EXTRA, "-[Thing(Extra) extra]");
    expect(f, EXTRA_MAKE, "+[Thing(Extra) extraMake]");
    expect(f, OURS, "-[Foreign(Ours) ours:]");
    expect(f, PLAIN, "");
    expect(f, ADDED, f->image.methods != NO_EXTENSION ? "-[Thing added]" : "");
    ck_assert_str_eq(name_at(f, CODE_AT - 1, &start), "");
    ck_assert_str_eq(name_at(f, CODE_END, &start), "");
    ck_assert_str_eq(name_at(f, CODE_END + 0x100, &start), "");
}

/* ---- files ---- */

static const struct objc_image files[] = {
    {.arch = USP_ARCH_ARM64, .base = BASE_64},
    {.arch = USP_ARCH_X86_64, .base = BASE_64},
    {.arch = USP_ARCH_ARM64, .base = BASE_64, .format = 1},
    {.arch = USP_ARCH_ARM64, .base = BASE_64, .format = 2},
    {.arch = USP_ARCH_X86_64, .base = BASE_64, .format = 2, .imports = 2},
    {.arch = USP_ARCH_ARM64, .base = BASE_64, .format = 6},
    {.arch = USP_ARCH_X86_64, .base = BASE_64, .format = 6, .imports = 3},
    {.arch = USP_ARCH_ARM64, .base = 0, .format = 6},
    {.arch = USP_ARCH_ARM64, .base = BASE_64, .format = 7},
    {.arch = USP_ARCH_ARM64, .base = BASE_64, .format = 9, .imports = 2},
    {.arch = USP_ARCH_ARM64, .base = BASE_64, .format = 10},
    {.arch = USP_ARCH_ARM64, .base = BASE_64, .format = 12, .imports = 3},
    {.arch = USP_ARCH_ARMV7, .base = BASE_32},
    {.arch = USP_ARCH_I386, .base = BASE_32},
    {.arch = USP_ARCH_ARM64_32, .base = BASE_32},
    {.arch = USP_ARCH_ARMV7, .base = BASE_32, .format = 3},
    {.arch = USP_ARCH_I386, .base = BASE_32, .format = 3, .imports = 2},
    {.arch = USP_ARCH_ARM64_32, .base = BASE_32, .format = 3, .imports = 3},
};
#define FILES ELEMENTS(files)

/* Absolute and relative lists of each file. */
START_TEST(file) {
    struct objc_image image = files[_i / 2];
    struct fixture f;
    image.is_relative = _i % 2 != 0;
    build(&f, &image);
    ck_assert_int_eq(open_all(&f), USP_OK);
    expect_all(&f);
    close_fixture(&f);
}
END_TEST

/* Formats without imports: a category on another image's class has no class, and so no name. */
START_TEST(file_without_imports) {
    struct objc_image image = {.arch = USP_ARCH_ARMV7, .base = BASE_32, .format = (uint32_t)_i};
    struct fixture f;
    usp_addr start;
    build(&f, &image);
    patch(&f.bytes, CATEGORY_OURS + 4, 4, 0);
    ck_assert_int_eq(open_all(&f), USP_OK);
    expect(&f, SECOND, "-[Thing second:with:]");
    expect(&f, EXTRA_MAKE, "+[Thing(Extra) extraMake]");
    ck_assert_str_eq(name_at(&f, function_offset(OURS), &start), "");
    close_fixture(&f);
}
END_TEST

/* A page without a chain contains plain addresses. */
START_TEST(page_without_chain) {
    struct objc_image image = {.arch = USP_ARCH_ARM64, .base = BASE_64};
    struct fixture f;
    build(&f, &image);
    struct objc_image chained = image;
    chained.format = 6;
    struct builder with_chains = build_objc_image(&chained, UUID);
    /* The file with chains gets the plain one's data, and no chain for its page. */
    memcpy(with_chains.bytes + 0x1000, f.bytes.bytes + 0x1000, 0x1000);
    patch(&with_chains, FIXUPS + 0x20 + 0x10 + 22, 2, 0xffff);
    builder_free(&f.bytes);
    f.bytes = with_chains;
    ck_assert_int_eq(open_all(&f), USP_OK);
    expect(&f, FIRST, "-[Thing first]");
    expect(&f, MAKE, "+[Thing make]");
    close_fixture(&f);
}
END_TEST

/* Without function starts a method extends to the next one, but not beyond its section. */
START_TEST(without_function_starts) {
    struct fixture f;
    usp_addr start;
    build(&f, &files[0]);
    patch(&f.bytes, STARTS, 1, 0);
    ck_assert_int_eq(open_all(&f), USP_OK);
    expect(&f, FIRST, "-[Thing first]");
    ck_assert_str_eq(name_at(&f, function_offset(PLAIN), &start), "-[Foreign(Ours) ours:]");
    ck_assert_str_eq(name_at(&f, CODE_END - 1, &start), "-[Foreign(Ours) ours:]");
    ck_assert_str_eq(name_at(&f, CODE_END, &start), "");
    close_fixture(&f);
}
END_TEST

/* If methods share their code, the first name in the alphabet is used; a category's method comes before the class's. */
START_TEST(shared_code) {
    struct fixture f;
    const uint32_t implementation = LIST_THING + 8 + 2 * 8;
    build(&f, &files[0]);
    patch(&f.bytes, implementation + 24, 8, BASE_64 + function_offset(FIRST));
    ck_assert_int_eq(open_all(&f), USP_OK);
    expect(&f, FIRST, "-[Thing first]");
    expect(&f, SECOND, "");
    close_fixture(&f);
    build(&f, &files[0]);
    patch(&f.bytes, implementation, 8, BASE_64 + function_offset(EXTRA));
    ck_assert_int_eq(open_all(&f), USP_OK);
    expect(&f, EXTRA, "-[Thing(Extra) extra]");
    close_fixture(&f);
}
END_TEST

START_TEST(without_objective_c) {
    struct fixture f;
    build(&f, &files[0]);
    for (size_t i = 0; i + 16 < 0x400; i++) {
        if (memcmp(f.bytes.bytes + i, "__objc_", 7) == 0) f.bytes.bytes[i] = 'x';
    }
    ck_assert_int_eq(open_all(&f), USP_ERROR_NOT_FOUND);
    close_fixture(&f);
}
END_TEST

/* ---- memory ---- */

/* Signatures as kernels with 47 and with 39 addressable bits make them. */
#define SIGNED_47 UINT64_C(0x002a000000000000)
#define SIGNED_39 UINT64_C(0x003be30000000000)
#define MASK_39   UINT64_C(0x007fff8000000000)

static const struct objc_image processes[] = {
    {.arch = USP_ARCH_ARM64, .methods = NO_EXTENSION},
    {.arch = USP_ARCH_ARM64, .methods = ONE_LIST},
    {.arch = USP_ARCH_ARM64, .methods = ARRAY_OF_LISTS, .is_relative = true},
    {.arch = USP_ARCH_ARM64, .methods = LIST_OF_LISTS, .is_relative = true},
    {.arch = USP_ARCH_X86_64, .methods = LIST_OF_LISTS},
    {.arch = USP_ARCH_ARM64, .methods = ARRAY_OF_LISTS, .signature = SIGNED_47},
    {.arch = USP_ARCH_ARM64, .methods = LIST_OF_LISTS, .signature = SIGNED_39},
    /* isa: arm64 with its magic number (26 from bit 36), arm64e with a signature, x86_64 with its magic number (29 from
     * bit 47). */
    {.arch = USP_ARCH_ARM64, .methods = ONE_LIST, .has_packed_isa = true, .isa_bits = UINT64_C(0x1a000000000)},
    {.arch = USP_ARCH_ARM64,
     .methods = ONE_LIST,
     .has_packed_isa = true,
     .isa_bits = UINT64_C(0x002a000000000000),
     .signature = SIGNED_47},
    {.arch = USP_ARCH_X86_64, .has_packed_isa = true, .isa_bits = UINT64_C(0x1d800000000000) | 4},
    {.arch = USP_ARCH_ARMV7, .methods = NO_EXTENSION},
    {.arch = USP_ARCH_ARMV7, .methods = ARRAY_OF_LISTS, .is_relative = true},
    {.arch = USP_ARCH_I386, .methods = ONE_LIST},
    {.arch = USP_ARCH_ARM64_32, .methods = LIST_OF_LISTS, .is_relative = true},
};
#define PROCESSES ELEMENTS(processes)

static struct objc_image process_image(int i) {
    struct objc_image image = processes[i];
    image.is_loaded = true;
    image.base = arch_is_64(image.arch) ? LOADED_64 : LOADED_32;
    image.linked = arch_is_64(image.arch) ? BASE_64 : BASE_32;
    return image;
}

START_TEST(memory) {
    struct objc_image image = process_image(_i);
    struct fixture f;
    build(&f, &image);
    ck_assert_int_eq(open_all(&f), USP_OK);
    expect_all(&f);
    close_fixture(&f);
}
END_TEST

/* If the caller gives the mask, the library must not guess it: the address that a 47-bit mask leaves is readable too,
 * and wrong. */
START_TEST(memory_with_a_mask) {
    struct objc_image image = process_image(6);
    struct uspi_pointers process = {.signature_mask = MASK_39};
    struct fixture f;
    build(&f, &image);
    f.has_decoy = true;
    ck_assert_int_eq(open_cut(&f, 0, &process), USP_OK);
    expect_all(&f);
    close_fixture(&f);
    build(&f, &image);
    f.has_decoy = true;
    ck_assert_int_ne(open_cut(&f, 0, NULL), USP_OK);
    close_fixture(&f);
}
END_TEST

/* isa is an index into a table of the runtime: class methods have no name, but other methods must have theirs. */
START_TEST(memory_with_indexed_isa) {
    struct objc_image image = process_image(13);
    struct fixture f;
    build(&f, &image);
    patch(&f.bytes, THING, 4, 0x001d8005);
    ck_assert_int_eq(open_all(&f), USP_OK);
    expect(&f, FIRST, "-[Thing first]");
    expect(&f, MAKE, "");
    expect(&f, EXTRA_MAKE, "+[Thing(Extra) extraMake]");
    close_fixture(&f);
}
END_TEST

/* A class that was not used yet is in memory as in the file, apart from its pointers. */
START_TEST(memory_before_the_class_is_realized) {
    struct objc_image image = process_image(1);
    struct fixture f;
    build(&f, &image);
    set_signed(&f.bytes, &image, THING + 32, THING_RO);
    set_signed(&f.bytes, &image, META + 32, META_RO | 1);
    ck_assert_int_eq(open_all(&f), USP_OK);
    expect(&f, SECOND, "-[Thing second:with:]");
    expect(&f, MAKE, "+[Thing make]");
    expect(&f, ADDED, "");
    close_fixture(&f);
}
END_TEST

/* Makes a shared cache that contains the image: names count from a base that the cache's header leads to. */
static void put_cache(struct fixture *f, uint64_t base) {
    put_bytes(&f->cache, "dyld_v1  arm64e", 16);
    put(&f->cache, 4, 0x1d8);
    pad_to(&f->cache, 0x1d0);
    put(&f->cache, 8, 0x400);
    pad_to(&f->cache, 0x400 + 48);
    put(&f->cache, 8, base);
}

static void build_cached(struct fixture *f, struct objc_image *image) {
    *image = process_image(3);
    image->is_in_cache = true;
    image->direct_names = LOADED_64 - 0x4000;
    build(f, image);
    put_cache(f, image->direct_names - CACHE);
}

START_TEST(memory_in_the_shared_cache) {
    struct uspi_pointers process = {.shared_cache = CACHE};
    struct objc_image image;
    struct fixture f;
    build_cached(&f, &image);
    ck_assert_int_eq(open_cut(&f, 0, &process), USP_OK);
    expect_all(&f);
    close_fixture(&f);
}
END_TEST

/* If the base cannot be found, there must be no name rather than one read from a wrong address. */
START_TEST(memory_in_an_unknown_cache) {
    struct uspi_pointers process = {.shared_cache = CACHE};
    struct objc_image image;
    struct fixture f;
    for (int variant = 0; variant < 4; variant++) {
        build_cached(&f, &image);
        if (variant == 1) patch(&f.cache, 0, 4, 0);       /* another magic number */
        if (variant == 2) patch(&f.cache, 0x10, 4, 0x98); /* an older header */
        if (variant == 3) patch(&f.cache, 0x430, 8, 0);   /* no base */
        ck_assert_int_eq(open_cut(&f, 0, variant == 0 ? NULL : &process), USP_ERROR_NOT_FOUND);
        close_fixture(&f);
    }
}
END_TEST

/* ---- deliberate damage ---- */

/* Reads everything. Whatever the result is, it must end and stay inside the bytes. */
static int read_whole(struct fixture *f) {
    int status = open_all(f);
    for (uint32_t offset = CODE_AT; status == USP_OK && offset < CODE_END; offset++) {
        struct uspi_symbol_answer named = {0};
        uint32_t symbol = uspi_index_find(&f->index, linked(f, offset), &named.start, &named.size);
        if (symbol == USPI_NO_SYMBOL) continue;
        if (f->tables->get(f->tables, symbol, f->names, &named) == USP_OK) {
            ck_assert(named.name[0] == '-' || named.name[0] == '+');
            ck_assert_uint_ge(named.start, linked(f, CODE_AT));
            ck_assert_uint_le(named.start, linked(f, offset));
        }
    }
    return status;
}

START_TEST(every_truncation) {
    struct objc_image image = files[5];
    struct fixture f;
    unsigned refused = 0;
    image.is_relative = _i != 0;
    for (size_t size = 0; size < OBJC_SIZE; size += size < 0x400 || size > 0xff0 ? 1 : 16) {
        build(&f, &image);
        if (open_cut(&f, size, NULL) != USP_OK) refused++;
        close_fixture(&f);
    }
    ck_assert_uint_gt(refused, 0x400);
}
END_TEST

static const uint64_t lies[] = {0, 3, 0x7fffffff, UINT32_MAX, UINT64_MAX};

/* Replaces each word of the metadata, the load commands and the fixups by misleading numbers. */
static void lie_everywhere(const struct objc_image *image, uint32_t from, uint32_t to, unsigned *survived) {
    for (uint32_t at = from; at < to; at += 4 * sampled_stride()) {
        for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
            struct fixture f;
            build(&f, image);
            patch(&f.bytes, at, lies[i] > UINT32_MAX ? 8 : 4, lies[i]);
            if (read_whole(&f) == USP_OK) ++*survived;
            close_fixture(&f);
        }
    }
}

START_TEST(lying_numbers) {
    static const int chosen[] = {2, 5, 15};
    struct objc_image image = _i < 3 ? files[chosen[_i]] : process_image(_i);
    unsigned survived = 0;
    image.is_relative = _i % 2 != 0;
    lie_everywhere(&image, 0, 0x240, &survived);
    lie_everywhere(&image, 0x1000, 0x15c0, &survived);
    lie_everywhere(&image, STARTS, STARTS + 16, &survived);
    lie_everywhere(&image, FIXUPS, FIXUPS + 0xa0, &survived);
    ck_assert_uint_gt(survived, 500 / sampled_stride());
}
END_TEST

/* Each pointer refers to each other place: classes, lists and names become circular. */
START_TEST(circles) {
    static const uint32_t places[] = {CLASS_LIST, CATEGORY_LIST, SELECTORS, THING,     META,  THING_RO,
                                      META_RO,    LIST_THING,    THING_RW,  THING_EXT, LISTS, CATEGORY_EXTRA};
    const size_t count = sizeof places / sizeof *places;
    unsigned named = 0;
    for (size_t i = 0; i < 1 + 2 * (size_t)PROCESSES; i++) {
        struct objc_image image = i < (size_t)PROCESSES ? process_image((int)i) : files[i % (size_t)FILES];
        for (size_t from = 0; from < count * 8; from++) {
            for (size_t to = 0; to < count * 4; to += sampled_stride()) {
                struct fixture f;
                build(&f, &image);
                uint32_t at = places[from / 8] + (uint32_t)(from % 8) * objc_word(&image);
                set_pointer(&f.bytes, &image, at, places[to / 4] + (uint32_t)(to % 4));
                if (read_whole(&f) == USP_OK) named++;
                close_fixture(&f);
            }
            /* All pointers of two images, and some of the others. */
            if (i > 1) from += 30;
        }
    }
    ck_assert_uint_gt(named, 1000 / sampled_stride());
}
END_TEST

/* A list that is referred to many times must not cost its length each time. */
START_TEST(work_is_bounded) {
    struct fixture f;
    struct uspi_gathering gathering = {0};
    build(&f, &files[0]);
    /* A section of pointers to one class, whose list has as many methods as fit. */
    for (uint32_t at = 0; at < f.bytes.size && at < 0x400; at++) {
        if (memcmp(f.bytes.bytes + at, "__objc_classlist", 16) != 0) continue;
        patch(&f.bytes, at + 32, 8, BASE_64 + 0x2400);
        patch(&f.bytes, at + 40, 8, 0xc00);
        break;
    }
    for (uint32_t at = 0x2400; at < 0x3000; at += 8) patch(&f.bytes, at, 8, BASE_64 + THING);
    patch(&f.bytes, LIST_THING + 4, 4, 100);
    ck_assert_int_eq(open_all(&f), USP_OK);
    ck_assert_int_eq(f.tables->gather(f.tables, &gathering), USP_OK);
    ck_assert_uint_le(gathering.count, OBJC_SIZE / 12 + 32);
    uspi_gathering_clear(&gathering);
    close_fixture(&f);
}
END_TEST

/* Opcodes repeat a bind without end. */
START_TEST(endless_binds) {
    struct fixture f;
    build(&f, &files[0]);
    uint32_t at = FIXUPS + 2 + sizeof IMPORTED + 4;
    static const uint8_t times[] = {0xc0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, /* 2^56 − 1 times */
                                    0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00}; /* skipping −8 */
    memcpy(f.bytes.bytes + at, times, sizeof times);
    ck_assert_int_eq(open_all(&f), USP_ERROR_FORMAT);
    close_fixture(&f);
}
END_TEST

static int count_bind(void *context, usp_addr location, uint64_t name, struct uspi_error *error) {
    usp_addr *locations = context;
    (void)name;
    (void)error;
    locations[++locations[0]] = location;
    return USP_OK;
}

/* Tests every opcode; the addresses of the binds were worked out by hand. */
START_TEST(bind_opcodes) {
    static const uint8_t code[] = {
        0x11, 0x40, '_',  'a',  0,    /* library 1, "_a" */
        0x51, 0x60, 0x7f,             /* pointer, addend −1 */
        0x71, 0x10,                   /* segment 1 + 0x10 */
        0x90,                         /* 0x1010 */
        0x80, 0x08, 0x90,             /* 0x1018 + 8 = 0x1020 */
        0xa0, 0x10, 0x90,             /* 0x1028, then + 0x10: 0x1040 */
        0xb2, 0x90,                   /* 0x1048, then + 2 * 8: 0x1060 */
        0xc0, 0x02, 0x08, 0x90,       /* 0x1068, 0x1078, then 0x1088 */
        0x20, 0x85, 0x01, 0x3e, 0x90, /* library 133, a special one: 0x1090 */
        0x00, 0x90,                   /* the end; the rest is ignored */
    };
    static const usp_addr expected[] = {9, 0x1010, 0x1020, 0x1028, 0x1040, 0x1048, 0x1060, 0x1068, 0x1078, 0x1088};
    usp_addr locations[64] = {0};
    struct uspi_macho_space space;
    struct fixture f;
    build(&f, &files[0]);
    memcpy(f.bytes.bytes + FIXUPS, code, sizeof code);
    ck_assert_int_eq(open_all(&f), USP_OK);
    ck_assert_int_eq(uspi_macho_space_open(&space, &f.macho, NULL), USP_OK);
    ck_assert_int_eq(uspi_bind_opcodes_walk(&space, count_bind, locations, NULL), USP_OK);
    uspi_macho_space_close(&space);
    ck_assert_uint_eq(locations[0], expected[0] + 1);
    for (size_t i = 1; i < sizeof expected / sizeof *expected; i++) {
        ck_assert_uint_eq(locations[i], BASE_64 + expected[i]);
    }
    ck_assert_uint_eq(locations[10], BASE_64 + 0x1090);
    close_fixture(&f);
}
END_TEST

START_TEST(refused_binds) {
    static const uint8_t codes[][8] = {
        {0xd0},                                 /* no such opcode */
        {0xe0},                                 /* no such opcode */
        {0x90},                                 /* a bind without a name and an address */
        {0x40, 'a', 0, 0x90},                   /* without an address */
        {0x75, 0x00},                           /* segment 5 of 3 */
        {0x40, 'a', 0, 0x71, 0xf9, 0x1f, 0x90}, /* one byte too few for a word */
        {0x40, 'a', 0, 0x71, 0x80, 0x20, 0x90}, /* after the segment */
    };
    struct fixture f;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        build(&f, &files[0]);
        memcpy(f.bytes.bytes + FIXUPS, codes[i], 8);
        ck_assert_int_eq(open_all(&f), USP_ERROR_FORMAT);
        close_fixture(&f);
    }
}
END_TEST

/* ---- through the public interface ---- */

static char path[] = "/tmp/unspool-objc-XXXXXX";

static void save_image(const struct builder *bytes) {
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    save(bytes, path);
}

static void remove_image(void) {
    ck_assert_int_eq(unlink(path), 0);
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
}

static struct usp_images *list_of(uint32_t arch, usp_addr load, uint64_t slide, const char *name) {
    struct uspi_image_list list = {0};
    struct usp_images *images;
    struct usp_image image = {.path = name,
                              .load_address = load,
                              .text_low = load,
                              .text_high = load + 0x1000,
                              .end = load + OBJC_SIZE,
                              .slide = slide,
                              .arch = arch,
                              .flags = USP_IMAGE_MACHO,
                              .build_id_size = 16};
    memcpy(image.build_id, UUID, 16);
    ck_assert_int_eq(uspi_image_list_add(&list, &image), USP_OK);
    ck_assert_int_eq(uspi_image_list_seal(&list, &images), USP_OK);
    return images;
}

static void expect_symbol(struct usp_symbolizer *symbolizer, usp_addr load, unsigned function, const char *name) {
    struct usp_symbol symbol;
    int status = usp_symbolize(symbolizer, load + function_offset(function) + 3, &symbol);
    ck_assert_int_eq(status, name != NULL ? USP_OK : USP_ERROR_NOT_FOUND);
    if (name == NULL) return;
    ck_assert_str_eq(symbol.name, name);
    ck_assert_uint_eq(symbol.start, load + function_offset(function));
    ck_assert_uint_eq(symbol.offset, 3);
    ck_assert_uint_eq(symbol.strategy, USP_STRATEGY_OBJC_METADATA);
    ck_assert_uint_eq(symbol.image_load, load);
}

/* In a stripped image only the metadata names methods, also those of categories. */
START_TEST(symbolized_from_a_file) {
    struct fixture f;
    struct usp_symbolizer *symbolizer;
    build(&f, &files[11]);
    save_image(&f.bytes);
    struct usp_images *images = list_of(USP_ARCH_ARM64, LOADED_64, LOADED_64 - BASE_64, path);
    ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
    expect_symbol(symbolizer, LOADED_64, SECOND, "-[Thing second:with:]");
    expect_symbol(symbolizer, LOADED_64, OURS, "-[Foreign(Ours) ours:]");
    expect_symbol(symbolizer, LOADED_64, PLAIN, NULL);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    remove_image();
    close_fixture(&f);
}
END_TEST

/* Another UUID: the names of another build would be wrong. */
START_TEST(symbolized_from_another_build) {
    struct fixture f;
    struct usp_symbolizer *symbolizer;
    memset(&f, 0, sizeof f);
    f.bytes = build_objc_image(&files[11], "another build's!");
    save_image(&f.bytes);
    struct usp_images *images = list_of(USP_ARCH_ARM64, LOADED_64, LOADED_64 - BASE_64, path);
    ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
    expect_symbol(symbolizer, LOADED_64, SECOND, NULL);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    remove_image();
    close_fixture(&f);
}
END_TEST

/* The image has no file here, but the process's memory contains it. */
START_TEST(symbolized_from_memory) {
    struct objc_image image = process_image(_i);
    struct fixture f;
    struct usp_symbolizer *symbolizer;
    struct usp_symbolizer_options options;
    build(&f, &image);
    f.memory = (struct usp_memory){read_process, &f};
    struct usp_images *images = list_of(image.arch, image.base, image.base - image.linked, "/nowhere/Framework");
    usp_symbolizer_options_init(&options);
    ck_assert_int_eq(usp_symbolizer_create(images, &options, &symbolizer), USP_OK);
    expect_symbol(symbolizer, image.base, FIRST, NULL);
    usp_symbolizer_free(symbolizer);
    options.memory = &f.memory;
    ck_assert_int_eq(usp_symbolizer_create(images, &options, &symbolizer), USP_OK);
    expect_symbol(symbolizer, image.base, FIRST, "-[Thing first]");
    expect_symbol(symbolizer, image.base, EXTRA, "-[Thing(Extra) extra]");
    expect_symbol(symbolizer, image.base, OURS, "-[Foreign(Ours) ours:]");
    expect_symbol(symbolizer, image.base, PLAIN, NULL);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    close_fixture(&f);
}
END_TEST

/* Each allocation fails in turn: the result must be the name or USP_ERROR_NO_MEMORY, and nothing may leak. */
START_TEST(memory_lacks) {
    struct objc_image image = process_image(2);
    struct fixture f;
    struct usp_symbolizer_options options;
    struct usp_symbol symbol;
    unsigned failures = 0;
    int status = USP_ERROR_NO_MEMORY;
    build(&f, &image);
    f.memory = (struct usp_memory){read_process, &f};
    struct usp_images *images = list_of(image.arch, image.base, image.base - image.linked, "/nowhere/Framework");
    usp_symbolizer_options_init(&options);
    options.memory = &f.memory;
    const long held = allocations_held();
    for (long n = 1; status != USP_OK; n++) {
        struct usp_symbolizer *symbolizer;
        ck_assert_int_eq(usp_symbolizer_create(images, &options, &symbolizer), USP_OK);
        fail_allocation(n);
        status = usp_symbolize(symbolizer, image.base + function_offset(EXTRA), &symbol);
        fail_allocation(0);
        ck_assert(status == USP_OK || status == USP_ERROR_NO_MEMORY);
        if (status != USP_OK) failures++;
        expect_symbol(symbolizer, image.base, EXTRA, "-[Thing(Extra) extra]");
        usp_symbolizer_free(symbolizer);
        ck_assert_int_eq(allocations_held(), held);
    }
    ck_assert_uint_ge(failures, 8);
    usp_images_free(images);
    close_fixture(&f);
}
END_TEST

int main(void) {
    note_sample();
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, chained_word, 0, ELEMENTS(words));
    tcase_add_test(all, unknown_formats);
    tcase_add_loop_test(all, file, 0, 2 * FILES);
    tcase_add_loop_test(all, file_without_imports, 4, 6);
    add_tests(all, page_without_chain, without_function_starts, shared_code, without_objective_c);
    tcase_add_loop_test(all, memory, 0, PROCESSES);
    add_tests(all, memory_with_a_mask, memory_with_indexed_isa, memory_before_the_class_is_realized,
              memory_in_the_shared_cache, memory_in_an_unknown_cache);
    tcase_add_loop_test(all, every_truncation, 0, 2);
    tcase_add_loop_test(all, lying_numbers, 0, 5);
    add_tests(all, circles, work_is_bounded, endless_binds, bind_opcodes, refused_binds, symbolized_from_a_file,
              symbolized_from_another_build);
    tcase_add_loop_test(all, symbolized_from_memory, 0, PROCESSES);
    tcase_add_test(all, memory_lacks);
    return run_suite("objc_metadata", all);
}
