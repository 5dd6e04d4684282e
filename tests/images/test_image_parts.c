/* SPDX-License-Identifier: MIT */
/* Tests members of archives and sections of unlinked objects as images: their paths, the parts that a path selects, and
 * what is refused. The files are made byte by byte; tests/symbolize/archives.sh tests files of compilers and
 * linkers. */
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "lib/images/object_file.h"
#include "tests/support/archive_file.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/folder.h"
#include "tests/support/macho_symbol_file.h"
#include "tests/support/suite.h"

/* Two headers define this name for a section. */
#define TEXT_LOW_OF_MACHO TEXT_LOW
#undef TEXT_LOW
#undef TEXT_HIGH
#include "tests/support/symbol_file.h"

#define X86_64  62
#define AARCH64 183

static char library[sizeof folder + 64];
static char message[600];
static struct usp_image_file_options options;
static struct builder archive;
static struct usp_images *images;

static void set_up(void) {
    make_folder();
    snprintf(library, sizeof library, "%s/lib(1).a", folder);
    usp_image_file_options_init(&options);
    put_archive_magic(&archive);
}

static void tear_down(void) {
    remove_folder();
    builder_free(&archive);
    usp_images_free(images);
    images = NULL;
}

/* ---- members ---- */

/* Values count from the sections' beginnings. Both sections have a function at 0. */
static const struct file_symbol unlinked[] = {
    {"text_first", 0, 0x20, FUNC, GLOBAL, TEXT},    {"text_second", 0x20, 0x10, FUNC, LOCAL, TEXT},
    {"init_first", 0, 0x40, FUNC, GLOBAL, INIT},    {"init_past_its_section", 0x100, 0x40, FUNC, GLOBAL, INIT},
    {"elsewhere", 0x30, 0, FUNC, GLOBAL, ABSOLUTE}, {NULL, 0, 0, 0, 0, 0}};

/* An object whose sections have no names: the one of 0x1000 bytes is TEXT, the one of 0x100 INIT. */
static struct builder elf_object(uint16_t machine) {
    const struct symbol_file wanted = {.wide = true, .machine = machine, .symtab = unlinked};
    struct builder b = build_symbol_file(&wanted);
    patch(&b, 16, 2, 1); /* ET_REL */
    return b;
}

static struct builder macho_object(uint32_t arch, const char *name) {
    const struct macho_symbol symbols[] = {{name, TEXT_LOW_OF_MACHO, SECT | EXT, IN_TEXT, 0}, {NULL, 0, 0, 0, 0}};
    const struct macho_file wanted = {.arch = arch, .type = 1, .symbols = symbols}; /* MH_OBJECT */
    return build_macho_symbol_file(&wanted);
}

/* Adds a member and frees its bytes. Returns the offset of its header. */
static uint64_t add(const char *name, struct builder b) {
    const uint64_t at = archive.size;
    if (strlen(name) > 16 || strpbrk(name, " /") != NULL) {
        put_bsd_member_of(&archive, name, b.bytes, b.size);
    } else {
        put_member_of(&archive, name, b.bytes, b.size);
    }
    builder_free(&b);
    return at;
}

static int open_part(const char *part) {
    char path[sizeof library + 400];
    usp_images_free(images);
    images = NULL;
    snprintf(path, sizeof path, "%s%s", library, part);
    int status = usp_images_open(path, &options, &images, message, sizeof message);
    ck_assert((images != NULL) == (status == USP_OK) && (message[0] == '\0') == (status == USP_OK));
    if (status != USP_OK) ck_assert_msg(strstr(message, folder) != NULL, "%s", message);
    return status;
}

static void open_whole(void) {
    save(&archive, library);
    int status = open_part("");
    ck_assert_msg(status == USP_OK, "%s", message);
}

static void refused(const char *part, int status, const char *what) {
    ck_assert_int_eq(open_part(part), status);
    ck_assert_msg(strstr(message, what) != NULL, "\"%s\" lacks \"%s\"", message, what);
}

static const char *part_of(size_t i) {
    const struct usp_image *image = usp_images_get(images, i);
    ck_assert_ptr_nonnull(image);
    ck_assert_msg(strncmp(image->path, library, strlen(library)) == 0, "%s", image->path);
    return image->path + strlen(library);
}

/* The name of an address by image i; NULL: none. */
static const char *name_in(size_t i, usp_addr address) {
    static char name[64];
    struct usp_images *one;
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    ck_assert_int_eq(usp_images_create(usp_images_get(images, i), 1, &one), USP_OK);
    ck_assert_int_eq(usp_symbolizer_create(one, NULL, &symbolizer), USP_OK);
    int status = usp_symbolize(symbolizer, address, &symbol);
    if (status == USP_OK) snprintf(name, sizeof name, "%s+%u", symbol.name, (unsigned)symbol.offset);
    usp_symbolizer_free(symbolizer);
    usp_images_free(one);
    return status == USP_OK ? name : NULL;
}

START_TEST(members_are_images) {
    add("text.txt", macho_object(USP_ARCH_ARM64, "_x"));
    memcpy(archive.bytes + 8 + MEMBER_HEADER, "text", 4);
    const uint64_t first = add("m.o", macho_object(USP_ARCH_ARM64, "_arm"));
    const uint64_t second = add("a rather long name.o", macho_object(USP_ARCH_X86_64, "_intel"));
    open_whole();
    ck_assert_uint_eq(usp_images_count(images), 2);
    ck_assert_str_eq(part_of(0), "(m.o)");
    ck_assert_uint_eq(usp_images_get(images, 0)->member_offset, first);
    ck_assert_str_eq(part_of(1), "(a rather long name.o)");
    ck_assert_uint_eq(usp_images_get(images, 1)->member_offset, second);
    ck_assert_uint_eq(usp_images_get(images, 1)->section, 0);
    ck_assert_uint_eq(usp_images_get(images, 1)->flags, USP_IMAGE_MACHO);
    usp_addr at = usp_images_get(images, 0)->load_address + TEXT_LOW_OF_MACHO;
    ck_assert_str_eq(name_in(0, at + 4), "arm+4");
    ck_assert_str_eq(name_in(1, at + 8), "intel+8");
    ck_assert_int_eq(open_part("(a rather long name.o)"), USP_OK);
    ck_assert_uint_eq(usp_images_count(images), 1);
    ck_assert_str_eq(name_in(0, at), "intel+0");
    options.arch = USP_ARCH_ARM64;
    ck_assert_int_eq(open_part(""), USP_OK);
    ck_assert_uint_eq(usp_images_count(images), 1);
    ck_assert_str_eq(part_of(0), "(m.o)");
    refused("(a rather long name.o)", USP_ERROR_MISMATCH, "for x86_64, not for arm64");
    refused("(text.txt)", USP_ERROR_FORMAT, "offset 0x44: neither ELF nor Mach-O");
    refused("(n.o)", USP_ERROR_MISMATCH, "no member n.o");
    refused("(m.o):(.text)", USP_ERROR_MISMATCH, "no ELF object");
    refused(":(.text)", USP_ERROR_FORMAT, "neither ELF nor Mach-O");
    refused("(m.o", USP_ERROR_NOT_FOUND, "no such file");
    refused("m.o)", USP_ERROR_NOT_FOUND, "no such file");
}
END_TEST

/* Several members may have the same name. A path with the name selects all of them; the offset of the header tells them
 * apart. */
START_TEST(names_can_be_shared) {
    const uint64_t places[] = {add("m.o", macho_object(USP_ARCH_ARM64, "_one")),
                               add("m.o", macho_object(USP_ARCH_ARM64, "_two")),
                               add("m.o at 8", macho_object(USP_ARCH_ARM64, "_three"))};
    static const char *const expected[] = {"one+0", "two+0", "three+0"};
    open_whole();
    ck_assert_uint_eq(usp_images_count(images), 3);
    usp_addr at = usp_images_get(images, 0)->load_address + TEXT_LOW_OF_MACHO;
    for (size_t i = 0; i < 3; i++) ck_assert_str_eq(name_in(i, at), expected[i]);
    ck_assert_int_eq(open_part("(m.o)"), USP_OK);
    ck_assert_uint_eq(usp_images_count(images), 2);
    char part[64];
    snprintf(part, sizeof part, "(m.o at %u)", (unsigned)places[1]);
    ck_assert_int_eq(open_part(part), USP_OK);
    ck_assert_uint_eq(usp_images_count(images), 1);
    ck_assert_str_eq(part_of(0), "(m.o)");
    ck_assert_uint_eq(usp_images_get(images, 0)->member_offset, places[1]);
    ck_assert_str_eq(name_in(0, at), "two+0");
    refused("(m.o at 9)", USP_ERROR_MISMATCH, "no member m.o at 9");
}
END_TEST

START_TEST(hostile_names) {
    char longest[260];
    memset(longest, '(', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    static const char *const names[] = {"a(b).o", "../../etc/m.o", "x):(y", "new\nline", "():()"};
    for (size_t i = 0; i < 5; i++) add(names[i], macho_object(USP_ARCH_ARM64, "_f"));
    add(longest, macho_object(USP_ARCH_ARM64, "_f"));
    add("", macho_object(USP_ARCH_ARM64, "_f"));
    open_whole();
    ck_assert_uint_eq(usp_images_count(images), 7);
    usp_addr at = usp_images_get(images, 0)->load_address + TEXT_LOW_OF_MACHO;
    char part[300];
    for (size_t i = 0; i < 5; i++) {
        snprintf(part, sizeof part, "(%s)", names[i]);
        ck_assert_str_eq(part_of(i), part);
        ck_assert_str_eq(name_in(i, at), "f+0");
    }
    /* More parentheses than the library looks into: there is no name, but no other error. */
    ck_assert_ptr_null(name_in(5, at));
    ck_assert_str_eq(part_of(6), "()");
    ck_assert_str_eq(name_in(6, at), "f+0");
    ck_assert_int_eq(open_part("(a(b).o)"), USP_OK);
    ck_assert_uint_eq(usp_images_count(images), 1);
}
END_TEST

/* ---- ELF ---- */

START_TEST(sections_are_images) {
    add("other.o", elf_object(AARCH64));
    const uint64_t place = add("m.o", elf_object(X86_64));
    open_whole();
    ck_assert_uint_eq(usp_images_count(images), 4);
    options.arch = USP_ARCH_X86_64;
    ck_assert_int_eq(open_part(""), USP_OK);
    ck_assert_uint_eq(usp_images_count(images), 2);
    const struct usp_image *text = usp_images_get(images, 0), *init = usp_images_get(images, 1);
    ck_assert_uint_eq(text->section, TEXT);
    ck_assert_uint_eq(init->section, INIT);
    ck_assert_uint_eq(text->member_offset, place);
    ck_assert_uint_eq(init->load_address, 0);
    ck_assert_uint_eq(init->text_low, 0);
    ck_assert_uint_eq(init->text_high, 0x100);
    ck_assert_uint_eq(init->end, 0x100);
    ck_assert_uint_eq(init->build_id_size, 0);
    ck_assert_str_eq(part_of(0), "(m.o):()");
    ck_assert_str_eq(name_in(0, 0x1f), "text_first+31");
    ck_assert_str_eq(name_in(0, 0x20), "text_second+0");
    ck_assert_ptr_null(name_in(0, 0x30));
    ck_assert_str_eq(name_in(1, 0x10), "init_first+16");
    ck_assert_ptr_null(name_in(1, 0x40));
    options.flags = USP_IMAGE_FILE_LOADED;
    options.load_address = 0x5000;
    ck_assert_int_eq(open_part("(m.o)"), USP_OK);
    ck_assert_uint_eq(usp_images_get(images, 1)->load_address, 0x5000);
    ck_assert_str_eq(name_in(1, 0x5010), "init_first+16");
    refused("(m.o):(.text)", USP_ERROR_MISMATCH, "no code in a section .text");
    options.build_id_size = 2;
    refused("(m.o)", USP_ERROR_MISMATCH, "x86_64 no build-id, not 0000");
}
END_TEST

/* Sections share the index of their object, but each must list its own functions only. */
static int count_symbol(void *context, const struct usp_symbol *symbol) {
    ck_assert_msg(strncmp(symbol->name, "init_first", 10) == 0 && symbol->start == 0x7000, "%s", symbol->name);
    ck_assert_uint_eq(symbol->extent, 0x40);
    ck_assert_str_eq(symbol->image_path, library);
    ++*(unsigned *)context;
    return 0;
}

START_TEST(a_section_lists_its_own_functions) {
    struct builder b = elf_object(X86_64);
    struct usp_image entries[2];
    struct usp_symbolizer *symbolizer;
    struct usp_symbolizer_usage usage;
    struct usp_images *apart;
    unsigned count = 0;
    save(&b, library);
    builder_free(&b);
    ck_assert_int_eq(open_part(""), USP_OK);
    ck_assert_uint_eq(usp_images_count(images), 2);
    for (unsigned i = 0; i < 2; i++) {
        const usp_addr moved = i == 0 ? 0x4000 : 0x7000;
        entries[i] = *usp_images_get(images, i);
        entries[i].load_address += moved;
        entries[i].end += moved;
        entries[i].text_low += moved;
        entries[i].text_high += moved;
        entries[i].slide += moved;
    }
    ck_assert_int_eq(usp_images_create(entries, 2, &apart), USP_OK);
    ck_assert_int_eq(usp_symbolizer_create(apart, NULL, &symbolizer), USP_OK);
    ck_assert_int_eq(usp_symbolizer_visit(symbolizer, 0x7000, count_symbol, &count), USP_OK);
    ck_assert_uint_eq(count, 1);
    struct usp_symbol symbol;
    ck_assert_int_eq(usp_symbolize(symbolizer, 0x4024, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "text_second");
    ck_assert_int_eq(usp_symbolizer_get_usage(symbolizer, &usage), USP_OK);
    ck_assert_uint_eq(usage.symbols, 3);
    usp_symbolizer_free(symbolizer);
    usp_images_free(apart);
}
END_TEST

/* ---- fat files of archives ---- */

/* Saves a fat file with an archive for each processor, both with a member m.o. */
static void save_fat(bool wide) {
    struct builder fat = {0};
    const uint32_t archs[] = {USP_ARCH_ARM64, USP_ARCH_X86_64};
    static const char *const symbols[] = {"_arm", "_intel"};
    put_be(&fat, 4, wide ? 0xcafebabf : 0xcafebabe);
    put_be(&fat, 4, 2);
    struct builder slices[2];
    size_t at = 0x1000;
    for (unsigned i = 0; i < 2; i++) {
        builder_free(&archive);
        put_archive_magic(&archive);
        add("m.o", macho_object(archs[i], symbols[i]));
        add("only a long name.o", macho_object(archs[i], symbols[i]));
        slices[i] = archive;
        archive = (struct builder){0};
        put_be(&fat, 4, macho_cpu(archs[i]));
        put_be(&fat, 4, 0);
        put_be(&fat, wide ? 8 : 4, at);
        put_be(&fat, wide ? 8 : 4, slices[i].size);
        put_be(&fat, 4, 12);
        if (wide) put_be(&fat, 4, 0);
        at += (slices[i].size + 0xfff) / 0x1000 * 0x1000;
    }
    for (unsigned i = 0; i < 2; i++) {
        pad_to(&fat, (fat.size + 0xfff) / 0x1000 * 0x1000);
        put_bytes(&fat, slices[i].bytes, slices[i].size);
        builder_free(&slices[i]);
    }
    save(&fat, library);
    builder_free(&fat);
}

START_TEST(fat_archives) {
    save_fat(_i != 0);
    ck_assert_int_eq(open_part(""), USP_OK);
    ck_assert_uint_eq(usp_images_count(images), 4);
    ck_assert_int_eq(open_part("(m.o)"), USP_OK);
    ck_assert_uint_eq(usp_images_count(images), 2);
    ck_assert_uint_eq(usp_images_get(images, 0)->member_offset, 0x1008);
    usp_addr at = usp_images_get(images, 0)->load_address + TEXT_LOW_OF_MACHO;
    ck_assert_str_eq(name_in(0, at), "arm+0");
    ck_assert_str_eq(name_in(1, at), "intel+0");
    options.arch = USP_ARCH_X86_64;
    ck_assert_int_eq(open_part("(only a long name.o)"), USP_OK);
    ck_assert_uint_eq(usp_images_count(images), 1);
    ck_assert_str_eq(name_in(0, at), "intel+0");
    refused("(n.o)", USP_ERROR_MISMATCH, "no member n.o");
    options.arch = USP_ARCH_ARMV7;
    refused("", USP_ERROR_MISMATCH, "for arm64, x86_64, not for armv7");
}
END_TEST

/* ---- damaged and wrong files ---- */

START_TEST(damaged_archives) {
    add("m.o", macho_object(USP_ARCH_ARM64, "_f"));
    const size_t second = (size_t)add("n.o", macho_object(USP_ARCH_ARM64, "_g"));
    open_whole();
    ck_assert_uint_eq(usp_images_count(images), 2);
    /* A damaged member is refused alone, and left out beside an intact one. */
    archive.bytes[8 + MEMBER_HEADER] = 0;
    save(&archive, library);
    ck_assert_int_eq(open_part(""), USP_OK);
    ck_assert_uint_eq(usp_images_count(images), 1);
    refused("(m.o)", USP_ERROR_FORMAT, "offset 0x44");
    /* An archive that is itself damaged is refused, wherever the damage is. */
    patch(&archive, second + 58, 1, 'x');
    save(&archive, library);
    refused("", USP_ERROR_FORMAT, "not a member's header");
    patch(&archive, second + 58, 1, '`');
    memcpy(archive.bytes + second + 48, "999999999 ", 10);
    save(&archive, library);
    refused("", USP_ERROR_TRUNCATED, "member needs 999999999 bytes");
    ck_assert_int_eq(truncate(library, (off_t)second + 20), 0);
    refused("", USP_ERROR_TRUNCATED, "header of a member needs 60 bytes, 20 are left");
    ck_assert_int_eq(truncate(library, 8), 0);
    refused("", USP_ERROR_FORMAT, "no image in it");
}
END_TEST

START_TEST(what_is_refused_by_kind) {
    struct builder inner = {0}, thin = {0}, object = elf_object(X86_64);
    put_archive_magic(&inner);
    add("inner.a", inner);
    save(&archive, library);
    refused("", USP_ERROR_UNSUPPORTED, "offset 0x44: an archive that is a member of an archive");
    add("m.o", macho_object(USP_ARCH_ARM64, "_f"));
    open_whole();
    ck_assert_uint_eq(usp_images_count(images), 1);
    options.flags = USP_IMAGE_FILE_LINKED;
    refused("", USP_ERROR_UNSUPPORTED, "its members are not linked");
    save(&object, library);
    builder_free(&object);
    refused("", USP_ERROR_UNSUPPORTED, "not linked yet");
    object = macho_object(USP_ARCH_ARM64, "_f");
    save(&object, library);
    builder_free(&object);
    refused("", USP_ERROR_UNSUPPORTED, "not linked yet");
    options.flags = 0;
    refused("(m.o)", USP_ERROR_MISMATCH, "no archive");
    put_bytes(&thin, "!<thin>\n", 8);
    save(&thin, library);
    builder_free(&thin);
    refused("", USP_ERROR_UNSUPPORTED, "a thin archive");
}
END_TEST

/* Lists the members and gets a name of the second one. Each allocation fails once. */
static bool name_without(long n, bool *failed) {
    struct usp_images *list, *one = NULL;
    struct usp_symbolizer *symbolizer = NULL;
    struct usp_symbol symbol = {0};
    fail_allocation(n);
    int status = usp_images_open(library, &options, &list, NULL, 0);
    if (status == USP_OK) status = usp_images_create(usp_images_get(list, 3), 1, &one);
    if (status == USP_OK) status = usp_symbolizer_create(one, NULL, &symbolizer);
    if (status == USP_OK) status = usp_symbolize(symbolizer, 0x10, &symbol);
    *failed = !allocation_still_to_fail();
    fail_allocation(0);
    const bool is_right =
        *failed ? status == USP_ERROR_NO_MEMORY : status == USP_OK && strcmp(symbol.name, "init_first") == 0;
    usp_symbolizer_free(symbolizer);
    usp_images_free(one);
    usp_images_free(list);
    return is_right;
}

START_TEST(each_allocation_fails) {
    add("other.o", elf_object(AARCH64));
    add("a long name of a member", elf_object(X86_64));
    open_whole();
    long n = 0;
    for (bool failed = true; failed;) {
        const long before = allocations_held();
        const bool is_right = name_without(++n, &failed);
        ck_assert_msg(is_right, "allocation %ld", n);
        ck_assert_int_eq(allocations_held(), before);
    }
    ck_assert_int_gt(n, 20);
}
END_TEST

/* An image can name many object files in one large archive. Each search reads the members' headers up to the wanted
 * one. */
START_TEST(headers_for_one_image_are_limited) {
    const struct uspi_search as_named = {.as_named = true};
    struct uspi_file *object;
    struct uspi_error error;
    char path[sizeof library + 16];
    uint64_t headers = 0;
    const struct uspi_object_wanted wanted = {.path = path, .headers = &headers, .slice = {.arch = USP_ARCH_ARM64}};
    add("a.o", macho_object(USP_ARCH_ARM64, "_a"));
    add("b.o", macho_object(USP_ARCH_ARM64, "_b"));
    add("c.o", macho_object(USP_ARCH_ARM64, "_c"));
    save(&archive, library);
    snprintf(path, sizeof path, "%s(b.o)", library);
    for (unsigned i = 1; i <= 2; i++) {
        ck_assert_int_eq(uspi_object_file_open(&as_named, &wanted, &object, &error), USP_OK);
        uspi_file_close(object);
        ck_assert_uint_eq(headers, 2 * i);
    }
    snprintf(path, sizeof path, "%s(z.o)", library);
    ck_assert_int_lt(uspi_object_file_open(&as_named, &wanted, &object, &error), 0);
    ck_assert_uint_eq(headers, 4 + 3);
    headers = (UINT64_C(64) << 20) + 1;
    ck_assert_int_eq(uspi_object_file_open(&as_named, &wanted, &object, &error), USP_ERROR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "too many members of archives"));
    ck_assert_uint_eq(headers, (UINT64_C(64) << 20) + 1);
}
END_TEST

int main(void) {
    TCase *t = tcase_create("parts");
    tcase_add_checked_fixture(t, set_up, tear_down);
    add_tests(t, members_are_images, names_can_be_shared, hostile_names, sections_are_images,
              a_section_lists_its_own_functions);
    tcase_add_loop_test(t, fat_archives, 0, 2);
    add_tests(t, damaged_archives, what_is_refused_by_kind, each_allocation_fails, headers_for_one_image_are_limited);
    return run_suite("image_parts", t);
}
