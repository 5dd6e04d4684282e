/* SPDX-License-Identifier: MIT */
/* Tests the reader of dyld shared caches on small ones whose bytes are written here: what is served when files are
 * missing, cut, foreign or hostile, and pointers of each version. Caches made of linked libraries are in
 * tests/shared_cache/. */
#define _GNU_SOURCE 1

#include "lib/images/dyld_image.h"
#include "lib/object/dyld_cache.h"
#include "lib/object/macho_symbols.h"
#include "tests/support/dyld_cache_bytes.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unspool/unspool.h>

static char notes[4096];

static void set_up(void) {
    make_folder();
    notes[0] = '\0';
    memset(bytes, 0, sizeof bytes);
}

static void save(const char *name, size_t size) {
    FILE *file = fopen(in_folder(name), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

static void take_note(void *context, const char *text) {
    (void)context;
    const size_t used = strlen(notes);
    snprintf(notes + used, sizeof notes - used, "%s\n", text);
}

static size_t count_notes(const char *part) {
    size_t count = 0;
    for (const char *at = notes; (at = strstr(at, part)) != NULL; at++) count++;
    return count;
}

static int add(const char *name, struct usp_dyld_caches **caches, char error[512]) {
    ck_assert_int_eq(usp_dyld_caches_create(caches), USP_OK);
    return usp_dyld_caches_add(*caches, in_folder(name), take_note, NULL, error, 512);
}

static const uint8_t uuid[16] = {0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47,
                                 0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f};

/* Asserts the name at an offset of the image; NULL: none. */
static void expect_name(const struct usp_dyld_caches *caches, uint64_t offset, const char *name) {
    struct usp_symbolizer_options options;
    struct usp_symbolizer *symbolizer;
    struct usp_images *images;
    struct usp_symbol symbol;
    usp_symbolizer_options_init(&options);
    options.dyld_caches = caches;
    ck_assert_int_eq(usp_dyld_caches_list(caches, 0, 0, &images), USP_OK);
    ck_assert_int_eq(usp_symbolizer_create(images, &options, &symbolizer), USP_OK);
    const int status = usp_symbolize(symbolizer, BASE + IMAGE + offset, &symbol);
    if (name != NULL) ck_assert_str_eq(symbol.name != NULL ? symbol.name : "none", name);
    if (name == NULL) ck_assert_int_eq(status, USP_ERROR_NOT_FOUND);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}

static void expect_both_names(const char *name) {
    struct usp_dyld_caches *caches;
    char error[512];
    ck_assert_int_eq(add(name, &caches, error), USP_OK);
    ck_assert_str_eq(notes, "");
    expect_name(caches, 0x1004, "public");
    expect_name(caches, 0x1044, "hidden");
    expect_name(caches, 0x2000, NULL);
    usp_dyld_caches_free(caches);
}

START_TEST(one_file_names_its_image) {
    static const uint32_t headers[] = {0x98, 0xf8, 0x190, 0x1c8, 0x238};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        memset(bytes, 0, sizeof bytes);
        put_cache(headers[i]);
        save("dyld_shared_cache_arm64", SIZE);
        expect_both_names("dyld_shared_cache_arm64");
    }
}
END_TEST

START_TEST(the_list_says_what_a_cache_has) {
    struct usp_dyld_caches *caches;
    struct usp_dyld_cache cache;
    struct usp_image image;
    char error[512];
    put_cache(0x1c8);
    put_text(0, "dyld_v1arm64ex9"); /* no known processor: the image tells it */
    put(0xd8, 4, 2);
    save("main", SIZE);
    ck_assert_int_eq(add("main", &caches, error), USP_OK);
    ck_assert_uint_eq(usp_dyld_caches_count(caches), 1);
    ck_assert_int_eq(usp_dyld_caches_get(caches, 0, &cache), USP_OK);
    ck_assert_int_eq(usp_dyld_caches_get(caches, 1, &cache), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(usp_dyld_caches_get(caches, 0, &cache), USP_OK);
    ck_assert_uint_eq(cache.base, BASE);
    ck_assert_uint_eq(cache.size, LOCALS);
    ck_assert_uint_eq(cache.arch, USP_ARCH_ARM64);
    ck_assert_uint_eq(cache.platform, 2);
    ck_assert_uint_eq(cache.image_count, 1);
    ck_assert_uint_eq(cache.uuid[0], 0x10);
    ck_assert_int_eq(usp_dyld_caches_find(caches, uuid, &image), USP_OK);
    ck_assert_str_eq(image.path, "/usr/lib/libone.dylib");
    ck_assert_uint_eq(image.load_address, BASE + IMAGE);
    ck_assert_uint_eq(image.end, BASE + IMAGE + 0x4000);
    ck_assert_int_eq(usp_dyld_caches_find(caches, cache.uuid, &image), USP_ERROR_NOT_FOUND);
    /* The same cache again is not added. */
    ck_assert_int_eq(usp_dyld_caches_add(caches, in_folder("main"), NULL, NULL, NULL, 0), USP_OK);
    ck_assert_uint_eq(usp_dyld_caches_count(caches), 1);
    usp_dyld_caches_free(caches);
}
END_TEST

START_TEST(an_image_becomes_a_file_of_its_own) {
    struct usp_dyld_caches *caches;
    struct uspi_file *file;
    struct uspi_macho macho;
    struct uspi_macho_symbols symbols;
    struct uspi_macho_symbol symbol;
    char error[512], name[USPI_MACHO_NAME_BEGINNING];
    static const char *const names[] = {"_hidden", "", "_public", "_import"}; /* <redacted> has none */
    put_cache(0x1c8);
    save("main", SIZE);
    ck_assert_int_eq(add("main", &caches, error), USP_OK);
    ck_assert_int_eq(uspi_dyld_image_open(caches, uuid, &file, NULL), USP_OK);
    ck_assert_int_eq(uspi_macho_open(&macho, uspi_file_bytes(file), NULL), USP_OK);
    ck_assert_int_eq(uspi_macho_symbols(&macho, &symbols, NULL), USP_OK);
    ck_assert_uint_eq(symbols.count, 4);
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert_int_eq(uspi_macho_symbol(&symbols, i, &symbol, NULL), USP_OK);
        ck_assert_str_eq(uspi_macho_name_beginning(&symbols, symbol.name, name), names[i]);
    }
    uspi_file_close(file);
    usp_dyld_caches_free(caches);
}
END_TEST

START_TEST(files_are_found_by_suffix_and_uuid) {
    save_split();
    expect_both_names("main");
    /* A main file for development has the same further files. */
    ck_assert_int_eq(rename(in_folder("main"), in_folder("main.development")), 0);
    expect_both_names("main.development");
}
END_TEST

START_TEST(a_missing_file_is_named_and_the_rest_is_served) {
    struct usp_dyld_caches *caches;
    char error[512];
    save_split();
    ck_assert_int_eq(unlink(in_folder("main.symbols")), 0);
    ck_assert_int_eq(add("main", &caches, error), USP_OK);
    ck_assert_ptr_nonnull(strstr(notes, "main.symbols"));
    expect_name(caches, 0x1004, "public");
    expect_name(caches, 0x1044, NULL); /* it is <redacted> */
    /* The same cache again gives no second message. */
    ck_assert_int_eq(usp_dyld_caches_add(caches, in_folder("main"), take_note, NULL, NULL, 0), USP_OK);
    ck_assert_uint_eq(usp_dyld_caches_count(caches), 1);
    ck_assert_uint_eq(count_notes("main.symbols"), 1);
    usp_dyld_caches_free(caches);
    notes[0] = '\0';
    ck_assert_int_eq(unlink(in_folder("main.02.dylddata")), 0);
    ck_assert_int_eq(add("main", &caches, error), USP_OK);
    ck_assert_ptr_nonnull(strstr(notes, "main.02.dylddata"));
    expect_name(caches, 0x1004, NULL);
    usp_dyld_caches_free(caches);
}
END_TEST

START_TEST(a_file_of_another_cache_is_not_used) {
    struct usp_dyld_caches *caches;
    char error[512];
    save_split();
    FILE *file = fopen(in_folder("main.02.dylddata"), "r+b");
    ck_assert_int_eq(fseek(file, 0x58, SEEK_SET), 0);
    ck_assert_int_eq(fputc(0x77, file), 0x77);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(add("main", &caches, error), USP_OK);
    ck_assert_ptr_nonnull(strstr(notes, "main.02.dylddata: belongs to another cache: UUID 7721"));
    expect_name(caches, 0x1004, NULL);
    usp_dyld_caches_free(caches);
}
END_TEST

START_TEST(a_cut_file_is_named) {
    struct usp_dyld_caches *caches;
    char error[512];
    static const size_t sizes[] = {0, 8, 0x40, 0x1c8, 0x1d8, 0x3008, 0x3104, IMAGE + 8, IMAGE + 200, LINKING + 4};
    put_cache(0x1c8);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        notes[0] = '\0';
        save("main", sizes[i]);
        const int status = add("main", &caches, error);
        ck_assert_ptr_nonnull(strstr(status == USP_OK ? notes : error, "/main"));
        ck_assert(status == USP_OK ? sizes[i] > IMAGE : status == USP_ERROR_TRUNCATED || status == USP_ERROR_FORMAT);
        if (status == USP_OK) expect_name(caches, 0x1044, NULL);
        usp_dyld_caches_free(caches);
    }
}
END_TEST

START_TEST(cut_local_symbols_are_named_once_and_the_rest_is_served) {
    struct usp_dyld_caches *caches;
    char error[512];
    /* In the head of the local symbols, their entries, symbols and names. The tables end with the entries. */
    static const size_t sizes[] = {LOCALS,        LOCALS + 8,     LOCALS + 0x48, LOCALS + 0x60,
                                   LOCALS + 0x84, LOCALS + 0x100, LOCALS + 0x11f};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (unsigned is_split = 0; is_split < 2; is_split++) {
            memset(bytes, 0, sizeof bytes);
            notes[0] = '\0';
            if (is_split != 0) {
                save_split();
                save("main.symbols", sizes[i]);
            } else {
                put_cache(0x1c8);
                save("main", sizes[i]);
            }
            ck_assert_int_eq(add("main", &caches, error), USP_OK);
            ck_assert_uint_eq(count_notes("\n"), 1);
            ck_assert_uint_eq(count_notes(is_split != 0 ? "/main.symbols" : "/main: "), 1);
            expect_name(caches, 0x1004, "public");
            expect_name(caches, 0x1044, NULL);
            usp_dyld_caches_free(caches);
        }
    }
    notes[0] = '\0';
    save_split();
    save("main.symbols", LOCALS + 0x120);
    expect_both_names("main");
}
END_TEST

/* Writes an image with `count` local symbols whose names are longer than any that is read, and one with the name
 * _hidden after them. */
static void save_long_names(uint32_t count) {
    enum { NLISTS = 0x1000, NAMES = 0x20000, NAME = 70000, ENTRIES = 0x40000, END = 0x40020 };
    static uint8_t locals[END];
    put_cache(0x1c8);
    put(0x50, 8, END);
    save("main", LOCALS);
    memset(locals, 0, sizeof locals);
    memset(bytes, 0, sizeof bytes);
    const uint32_t head[] = {NLISTS, count + 1, NAMES, NAME + 0x10, ENTRIES, 1};
    for (unsigned i = 0; i < 6; i++) put(4 * i, 4, head[i]);
    memcpy(locals, bytes, 4 * 6);
    for (uint32_t i = 0; i <= count; i++) {
        put(0, 8, (i < count ? 1u : NAME + 1u) | UINT64_C(0x010e) << 32);
        put(8, 8, BASE + IMAGE + (i < count ? 0x1010 : 0x1040));
        memcpy(locals + NLISTS + 16 * (size_t)i, bytes, 16);
    }
    memset(locals + NAMES + 1, 'x', NAME - 1);
    memcpy(locals + NAMES + NAME + 1, "_hidden", 8);
    put(0, 8, IMAGE);
    put(8, 4, 0);
    put(12, 4, count + 1);
    memcpy(locals + ENTRIES, bytes, 16);
    FILE *file = fopen(in_folder("main"), "ab");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(locals, 1, sizeof locals, file), sizeof locals);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(names_without_end_cost_little) {
    static const struct {
        uint32_t count;
        const char *name;
    } cases[] = {{10, "hidden"}, {4096, "hidden"}, {4097, NULL}};
    struct usp_dyld_caches *caches;
    char error[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        save_long_names(cases[i].count);
        ck_assert_int_eq(add("main", &caches, error), USP_OK);
        ck_assert_str_eq(notes, "");
        expect_name(caches, 0x1044, cases[i].name);
        usp_dyld_caches_free(caches);
    }
}
END_TEST

/* Damaged mappings can have the same bytes of the file at many addresses. */
START_TEST(ranges_of_stubs_have_a_limit_together) {
    const uint64_t size = UINT64_C(192) << 20;
    struct usp_dyld_caches *caches;
    struct usp_images *images;
    char error[512];
    put_cache(0x1d0);
    put(0x138, 4, 0x400);
    put(0x13c, 4, 4);
    for (unsigned i = 0; i < 4; i++) {
        put(0x400 + 56 * i, 8, i == 0 ? BASE : BASE + i * (UINT64_C(1) << 30));
        put(0x408 + 56 * i, 8, i == 0 ? SIZE : size);
        put(0x410 + 56 * i, 8, i == 0 ? 0 : SIZE);
        put(0x428 + 56 * i, 8, i == 0 ? 0 : 8);
    }
    save("main", SIZE);
    ck_assert_int_eq(truncate(in_folder("main"), (off_t)(SIZE + size)), 0);
    ck_assert_int_eq(add("main", &caches, error), USP_OK);
    ck_assert_int_eq(usp_dyld_caches_list(caches, 0, USP_DYLD_STUBS, &images), USP_OK);
    for (unsigned i = 1; i < 4; i++) {
        const struct usp_image *stubs = usp_images_find(images, BASE + i * (UINT64_C(1) << 30));
        if (i == 3) ck_assert_ptr_null(stubs);
        if (i == 3) continue;
        ck_assert_ptr_nonnull(stubs);
        ck_assert_str_eq(stubs->path, "stubs");
        ck_assert_uint_eq(stubs->text_high - stubs->text_low, (i == 1 ? UINT64_C(192) : UINT64_C(64)) << 20);
    }
    usp_images_free(images);
    usp_dyld_caches_free(caches);
}
END_TEST

START_TEST(a_file_that_lacks_several_mappings_is_named_once) {
    struct usp_dyld_caches *caches;
    char error[512];
    put_cache(0x1c8);
    put(0x14, 4, 2);
    put(0x1c8 + 8, 8, LINKING);
    put(0x1c8 + 32, 8, BASE + LINKING);
    put(0x1c8 + 40, 8, LOCALS - LINKING);
    put(0x1c8 + 48, 8, LINKING);
    save("main", IMAGE + 0x200);
    ck_assert_int_eq(add("main", &caches, error), USP_OK);
    ck_assert_uint_eq(count_notes("\n"), 1);
    ck_assert_ptr_nonnull(strstr(notes, "/main: cut: its mappings need 49152 bytes, the file has 16896"));
    usp_dyld_caches_free(caches);
}
END_TEST

/* A refused file leaves its memory to the next one; its pages stay in the store. */
START_TEST(pages_of_a_refused_file_are_not_those_of_the_next) {
    struct usp_dyld_caches *caches;
    char error[512];
    ck_assert_int_eq(usp_dyld_caches_create(&caches), USP_OK);
    put_cache(0x1c8);
    put(0x90, 8, 0); /* no images */
    save("main", SIZE);
    for (unsigned i = 0; i < 64; i++) {
        ck_assert_int_eq(usp_dyld_caches_add(caches, in_folder("main"), NULL, NULL, error, sizeof error),
                         USP_ERROR_FORMAT);
    }
    put(0x90, 8, 1);
    save("main", SIZE);
    ck_assert_int_eq(usp_dyld_caches_add(caches, in_folder("main"), NULL, NULL, error, sizeof error), USP_OK);
    usp_dyld_caches_free(caches);
}
END_TEST

START_TEST(no_suffix_leads_elsewhere) {
    struct usp_dyld_caches *caches;
    char error[512];
    static const char *const suffixes[] = {"", ".", "/../x", ".a/b", "..", ".01..", "x"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        memset(bytes, 0, sizeof bytes);
        notes[0] = '\0';
        save_split();
        FILE *file = fopen(in_folder("main"), "r+b");
        ck_assert_int_eq(fseek(file, 0x3818, SEEK_SET), 0);
        ck_assert_uint_eq(fwrite(suffixes[i], 1, strlen(suffixes[i]) + 1, file), strlen(suffixes[i]) + 1);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_int_eq(add("main", &caches, error), USP_OK);
        ck_assert_ptr_nonnull(strstr(notes, "no suffix of a file"));
        usp_dyld_caches_free(caches);
    }
}
END_TEST

START_TEST(mappings_that_overlap_count_once) {
    struct usp_dyld_caches *caches;
    char error[512];
    put_cache(0x1c8);
    put(0x14, 4, 2);
    put(0x1c8 + 32, 8, BASE + IMAGE);
    put(0x1c8 + 40, 8, 0x4000);
    save("main", SIZE);
    ck_assert_int_eq(add("main", &caches, error), USP_OK);
    ck_assert_ptr_nonnull(strstr(notes, "overlaps"));
    expect_name(caches, 0x1044, "hidden");
    usp_dyld_caches_free(caches);
    put(0x1c8 + 32, 8, UINT64_MAX - 0x1000);
    save("main", SIZE);
    ck_assert_int_eq(add("main", &caches, error), USP_ERROR_FORMAT);
    usp_dyld_caches_free(caches);
}
END_TEST

START_TEST(what_is_no_cache_is_refused) {
    struct usp_dyld_caches *caches;
    char error[512];
    put_text(0, "not a cache");
    save("main", SIZE);
    ck_assert_int_eq(add("main", &caches, error), USP_ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error, "not a dyld shared cache"));
    usp_dyld_caches_free(caches);
    ck_assert_int_eq(add("absent", &caches, error), USP_ERROR_NOT_FOUND);
    usp_dyld_caches_free(caches);
    save_split();
    ck_assert_int_eq(add("main.02.dylddata", &caches, error), USP_ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error, "give the main file"));
    usp_dyld_caches_free(caches);
    ck_assert_int_eq(usp_dyld_caches_add(NULL, "", NULL, NULL, NULL, 0), USP_ERROR_ARGUMENT);
}
END_TEST

START_TEST(folders_are_searched) {
    struct usp_dyld_caches *caches;
    char error[512], command[512];
    snprintf(command, sizeof command,
             "cd %s && mkdir -p 'iOS DeviceSupport/16.0 (20A1)/Symbols/System/Library/Caches/com.apple.dyld' other && "
             "ln -s . System && ln -s .. other/System",
             folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(add("", &caches, error), USP_ERROR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error, "no dyld shared cache in this folder"));
    usp_dyld_caches_free(caches);
    put_cache(0x1c8);
    save("iOS DeviceSupport/16.0 (20A1)/Symbols/System/Library/Caches/com.apple.dyld/dyld_shared_cache_arm64", SIZE);
    /* These are not main files. */
    save("iOS DeviceSupport/16.0 (20A1)/Symbols/System/Library/Caches/com.apple.dyld/dyld_shared_cache_arm64.map", 10);
    save("iOS DeviceSupport/16.0 (20A1)/Symbols/System/Library/Caches/com.apple.dyld/aot_shared_cache.1", 10);
    ck_assert_int_eq(add("", &caches, error), USP_OK);
    ck_assert_str_eq(notes, "");
    ck_assert_uint_eq(usp_dyld_caches_count(caches), 1);
    expect_name(caches, 0x1044, "hidden");
    usp_dyld_caches_free(caches);
}
END_TEST

START_TEST(a_folder_that_must_not_be_listed_is_named) {
    struct usp_dyld_caches *caches;
    char error[512];
    const uid_t own = geteuid();
    ck_assert_int_eq(chmod(folder, 0755), 0);
    ck_assert_int_eq(mkdir(in_folder("locked"), 0), 0);
    if (own == 0) ck_assert_int_eq(seteuid(65534), 0);
    const int status = add("locked", &caches, error);
    ck_assert_int_eq(seteuid(own), 0);
    ck_assert_int_eq(chmod(in_folder("locked"), 0700), 0);
    ck_assert_int_eq(status, USP_ERROR_PERMISSION);
    ck_assert_ptr_nonnull(strstr(error, "/locked: permission denied"));
    usp_dyld_caches_free(caches);
}
END_TEST

/* Counts the main files that are found; far too many end the search. */
static int count_found(void *context, const char *path) {
    (void)path;
    return ++*(unsigned *)context < 5000 ? USP_OK : USP_ERROR_SYSTEM;
}

START_TEST(links_in_circles_end) {
    char command[512];
    unsigned found = 0;
    bool is_cut;
    snprintf(command, sizeof command,
             "cd %s && touch dyld_shared_cache_arm64 && ln -s . System && ln -s . Library && ln -s . private", folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(uspi_dyld_folders_walk(folder, count_found, &found, &is_cut), USP_OK);
    ck_assert(is_cut);
    ck_assert_uint_gt(found, 1);
    ck_assert_uint_le(found, 2048);
}
END_TEST

START_TEST(files_beside_a_folder_with_caches_do_not_hide_it) {
    struct usp_dyld_caches *caches;
    char error[512], command[512];
    snprintf(command, sizeof command, "cd %s && mkdir zz && seq 5000 | xargs touch", folder);
    ck_assert_int_eq(system(command), 0);
    put_cache(0x1c8);
    save("zz/dyld_shared_cache_arm64", SIZE);
    ck_assert_int_eq(add("", &caches, error), USP_OK);
    ck_assert_uint_eq(usp_dyld_caches_count(caches), 1);
    ck_assert_str_eq(notes, "");
    usp_dyld_caches_free(caches);
}
END_TEST

START_TEST(a_search_that_a_limit_ends_is_named) {
    struct usp_dyld_caches *caches;
    char error[512], command[512];
    snprintf(command, sizeof command, "cd %s && seq 2100 | xargs mkdir", folder);
    ck_assert_int_eq(system(command), 0);
    put_cache(0x1c8);
    save("1/dyld_shared_cache_arm64", SIZE);
    ck_assert_int_eq(add("", &caches, error), USP_OK);
    ck_assert_uint_eq(usp_dyld_caches_count(caches), 1);
    ck_assert_ptr_nonnull(strstr(notes, "too many folders or files"));
    usp_dyld_caches_free(caches);
}
END_TEST

START_TEST(a_file_that_shrinks_ends_nothing) {
    struct usp_dyld_caches *caches;
    char error[512];
    put_cache(0x1c8);
    save("main", SIZE);
    ck_assert_int_eq(add("main", &caches, error), USP_OK);
    ck_assert_int_eq(truncate(in_folder("main"), 0x100), 0);
    /* Nothing that was not read before has a name, and nothing fails. */
    struct uspi_file *file = NULL;
    if (uspi_dyld_image_open(caches, uuid, &file, NULL) == USP_OK) uspi_file_close(file);
    usp_dyld_caches_free(caches);
}
END_TEST

/* ---- pointers ---- */

/* Decodes a page of 0x1000 bytes with one pointer at 8, or two. */
static uint64_t decode(uint32_t version, uint64_t value_add, uint64_t first, uint64_t second, size_t at) {
    static uint8_t page[0x1000];
    struct uspi_dyld_header header;
    struct uspi_dyld_slide slide;
    struct uspi_source source = {.name = "slide", .base = bytes};
    const struct uspi_dyld_mapping mapping = {.slide_offset = 0x100, .slide_size = 0x100};
    memset(bytes, 0, sizeof bytes);
    put(0x100, 4, version);
    put(0x104, 4, 0x1000);
    if (version == 2 || version == 4) {
        put(0x108, 4, 40);
        put(0x10c, 4, 1);
        put(0x118, 8, version == 2 ? UINT64_C(0x00ffff0000000000) : 0xc0000000);
        put(0x120, 8, value_add);
        put(0x128, 2, 2);
    } else {
        put(0x108, 4, 1);
        put(0x110, 8, value_add);
        put(0x118, 2, 8);
    }
    header = (struct uspi_dyld_header){.bytes = {&source, 0, SIZE}};
    ck_assert_int_eq(uspi_dyld_slide(&header, &mapping, &slide, NULL), USP_OK);
    memset(page, 0xee, sizeof page);
    for (unsigned i = 0; i < 8; i++) page[8 + i] = (uint8_t)(first >> 8 * i);
    for (unsigned i = 0; i < 8 && second != 0; i++) page[24 + i] = (uint8_t)(second >> 8 * i);
    uspi_dyld_rebase_page(&slide, 0, page, sizeof page);
    uint64_t value = 0;
    for (unsigned i = version == 4 ? 4 : 8; i > 0; i--) value = value << 8 | page[at + i - 1];
    return value;
}

START_TEST(pointers_of_each_version_are_decoded) {
    /* Version 2: the next pointer is 16 bytes on. */
    ck_assert_uint_eq(decode(2, BASE, UINT64_C(0x40000000000) | 0x1234, 0x5678, 8), BASE + 0x1234);
    ck_assert_uint_eq(decode(2, BASE, UINT64_C(0x40000000000) | 0x1234, 0x5678, 24), BASE + 0x5678);
    ck_assert_uint_eq(decode(2, BASE, 0, 0, 8), 0);
    /* Version 3: a plain pointer with a tag, and one with a signature. */
    ck_assert_uint_eq(decode(3, BASE, UINT64_C(2) << 51 | UINT64_C(0x180004567), UINT64_C(1) << 63 | 0x89, 8),
                      UINT64_C(0x180004567));
    ck_assert_uint_eq(decode(3, BASE, UINT64_C(2) << 51 | UINT64_C(0x180004567), UINT64_C(1) << 63 | 0x89, 24),
                      BASE + 0x89);
    ck_assert_uint_eq(decode(3, BASE, UINT64_C(0x51) << 43 | 0x10, 0, 8), UINT64_C(0x51) << 56 | 0x10);
    /* Version 4. */
    ck_assert_uint_eq(decode(4, 0x1a000000, 0x00010000, 0, 8), 0x1a010000);
    ck_assert_uint_eq(decode(4, 0x1a000000, 0x00000123, 0, 8), 0x123);
    ck_assert_uint_eq(decode(4, 0x1a000000, 0x3fffffff, 0, 8), 0xffffffff);
    /* Version 5: bits 34 to 41 are the top byte; a signature has none. */
    ck_assert_uint_eq(decode(5, BASE, UINT64_C(0x51) << 34 | 0x40, 0, 8), UINT64_C(0x51) << 56 | (BASE + 0x40));
    ck_assert_uint_eq(decode(5, BASE, UINT64_C(2) << 52 | 0x40, UINT64_C(1) << 63 | UINT64_C(0xffff) << 34 | 0x80, 24),
                      BASE + 0x80);
}
END_TEST

START_TEST(a_chain_ends_with_its_page) {
    /* The next pointer would be far behind the page. */
    ck_assert_uint_eq(decode(5, 0, UINT64_C(0x7ff) << 52 | 0x40, 0, 8), 0x40);
    /* Nothing else in the page changes. */
    ck_assert_uint_eq(decode(5, 0, UINT64_C(0x7ff) << 52 | 0x40, 0, 16), UINT64_C(0xeeeeeeeeeeeeeeee));
}
END_TEST

START_TEST(pointers_in_several_chains_are_decoded_once) {
    static uint8_t page[0x1000];
    struct uspi_dyld_slide slide;
    struct uspi_source source = {.name = "slide", .base = bytes};
    const struct uspi_dyld_mapping mapping = {.slide_offset = 0x100, .slide_size = 0x100};
    const struct uspi_dyld_header header = {.bytes = {&source, 0, SIZE}};
    memset(bytes, 0, sizeof bytes);
    put(0x100, 4, 2);
    put(0x104, 4, sizeof page);
    put(0x108, 4, 40);
    put(0x10c, 4, 1);
    put(0x110, 4, 48);
    put(0x114, 4, 3);
    put(0x118, 8, UINT64_C(0x00ffff0000000000));
    put(0x120, 8, BASE);
    /* Three chains from the first pointer on, each of which leads through the whole page. */
    put(0x128, 2, 0x8000);
    put(0x134, 2, 0x8000);
    ck_assert_int_eq(uspi_dyld_slide(&header, &mapping, &slide, NULL), USP_OK);
    for (size_t i = 0; i < sizeof page; i += 8) memcpy(page + i, "\x10\0\0\0\0\2\0\0", 8);
    uspi_dyld_rebase_page(&slide, 0, page, sizeof page);
    for (size_t i = 0; i < sizeof page; i += 8) ck_assert_uint_eq(uspi_le64(page + i), BASE + 0x10);
}
END_TEST

int main(void) {
    TCase *caches = tcase_create("caches"), *pointers = tcase_create("pointers");
    tcase_add_checked_fixture(caches, set_up, remove_folder);
    add_tests(caches, one_file_names_its_image, the_list_says_what_a_cache_has, an_image_becomes_a_file_of_its_own,
              files_are_found_by_suffix_and_uuid, a_missing_file_is_named_and_the_rest_is_served,
              a_file_of_another_cache_is_not_used, a_cut_file_is_named,
              cut_local_symbols_are_named_once_and_the_rest_is_served, names_without_end_cost_little,
              ranges_of_stubs_have_a_limit_together, a_file_that_lacks_several_mappings_is_named_once,
              pages_of_a_refused_file_are_not_those_of_the_next, no_suffix_leads_elsewhere,
              mappings_that_overlap_count_once, what_is_no_cache_is_refused, folders_are_searched,
              a_folder_that_must_not_be_listed_is_named, links_in_circles_end,
              files_beside_a_folder_with_caches_do_not_hide_it, a_search_that_a_limit_ends_is_named,
              a_file_that_shrinks_ends_nothing);
    add_tests(pointers, pointers_of_each_version_are_decoded, a_chain_ends_with_its_page,
              pointers_in_several_chains_are_decoded_once);
    return run_suite("dyld caches", caches, pointers);
}
