/* SPDX-License-Identifier: MIT */
/* Tests the checked accesses of lib/object/bytes.h and the opening of files: over a buffer, over target memory, over a
 * file that is read into memory and over one that is read piece by piece. */
#include "lib/object/identify.h"
#include "lib/os/posix/below.h"
#include "tests/support/address_space.h"
#include "tests/support/core_walk.h"
#include "tests/support/range.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const uint8_t eight[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static struct uspi_source over_buffer(const void *bytes) {
    return (struct uspi_source){.name = "buffer", .base = bytes};
}

START_TEST(sub_views) {
    struct uspi_source source = over_buffer(eight);
    struct uspi_bytes all = {&source, 0, 8}, part, inner;
    struct uspi_error error = {0};
    ck_assert_int_eq(uspi_bytes_sub(all, 2, 4, "x", &part, &error), USP_OK);
    ck_assert_uint_eq(part.from, 2);
    ck_assert_uint_eq(part.size, 4);
    ck_assert_int_eq(uspi_bytes_sub(part, 4, 0, "x", &inner, &error), USP_OK);
    ck_assert_int_eq(uspi_bytes_sub(part, 0, 5, "thing", &inner, &error), USP_ERROR_TRUNCATED);
    ck_assert_str_eq(error.text, "buffer: offset 0x2: thing needs 5 bytes, 4 are left");
    ck_assert_int_eq(uspi_bytes_sub(part, 5, 0, "thing", &inner, &error), USP_ERROR_TRUNCATED);
    ck_assert_str_eq(error.text, "buffer: offset 0x7: thing lies past the end, which is at 0x6");
    ck_assert_int_eq(uspi_bytes_sub(part, UINT64_MAX, 2, "x", &inner, NULL), USP_ERROR_TRUNCATED);
    ck_assert_int_eq(uspi_bytes_sub(part, 2, UINT64_MAX, "x", &inner, NULL), USP_ERROR_TRUNCATED);
}
END_TEST

START_TEST(arrays) {
    struct uspi_source source = over_buffer(eight);
    struct uspi_bytes all = {&source, 0, 8}, part;
    ck_assert_int_eq(uspi_bytes_array(all, (struct uspi_array){0, 4, 2, "x"}, &part, NULL), USP_OK);
    ck_assert_uint_eq(part.size, 8);
    ck_assert_int_eq(uspi_bytes_array(all, (struct uspi_array){1, 4, 2, "x"}, &part, NULL), USP_ERROR_TRUNCATED);
    /* Sizes whose products are 0 and 8 modulo 2^64. */
    ck_assert_int_eq(uspi_bytes_array(all, (struct uspi_array){0, UINT64_C(1) << 61, 8, "x"}, &part, NULL),
                     USP_ERROR_TRUNCATED);
    ck_assert_int_eq(uspi_bytes_array(all, (struct uspi_array){0, (UINT64_C(1) << 61) + 1, 8, "x"}, &part, NULL),
                     USP_ERROR_TRUNCATED);
    ck_assert_int_eq(uspi_bytes_array(all, (struct uspi_array){8, 0, 8, "x"}, &part, NULL), USP_OK);
}
END_TEST

START_TEST(loads) {
    struct uspi_source source = over_buffer(eight);
    struct uspi_bytes all = {&source, 1, 7};
    uint64_t value = 0;
    ck_assert_int_eq(uspi_bytes_load(all, 0, 4, &value, "x", NULL), USP_OK);
    ck_assert_uint_eq(value, 0x05040302);
    ck_assert_int_eq(uspi_bytes_load(all, 6, 1, &value, "x", NULL), USP_OK);
    ck_assert_uint_eq(value, 8);
    ck_assert_int_eq(uspi_bytes_load(all, 0, 8, &value, "x", NULL), USP_ERROR_TRUNCATED);
    ck_assert_int_eq(uspi_bytes_load(all, 7, 1, &value, "x", NULL), USP_ERROR_TRUNCATED);
    ck_assert_uint_eq(value, 8);
    ck_assert_uint_eq(uspi_be32(eight), 0x01020304);
    ck_assert_uint_eq(uspi_be64(eight), UINT64_C(0x0102030405060708));
    ck_assert_uint_eq(uspi_le64(eight), UINT64_C(0x0807060504030201));
}
END_TEST

START_TEST(ulebs) {
    static const uint8_t bytes[] = {0x7f, 0xe5, 0x8e, 0x26, 0x81, 0x80, 0x00, 0xff, 0xff, 0xff,
                                    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0xff, 0xff, 0xff,
                                    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03, 0x80, 0x80};
    static const uint64_t values[] = {0x7f, 624485, 1, UINT64_MAX};
    struct uspi_source source = over_buffer(bytes);
    struct uspi_bytes all = {&source, 0, sizeof bytes};
    struct uspi_error error;
    uint64_t at = 0, value;
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(uspi_bytes_uleb(all, &at, &value, "x", NULL), USP_OK);
        ck_assert_uint_eq(value, values[i]);
    }
    ck_assert_uint_eq(at, 17);
    ck_assert_int_eq(uspi_bytes_uleb(all, &at, &value, "number", &error), USP_ERROR_FORMAT);
    ck_assert_str_eq(error.text, "buffer: offset 0x11: number is a number of more than 64 bits");
    ck_assert_uint_eq(at, 17);
    at = 27;
    ck_assert_int_eq(uspi_bytes_uleb(all, &at, &value, "x", NULL), USP_ERROR_TRUNCATED);
    ck_assert_uint_eq(at, 27);
}
END_TEST

START_TEST(slebs) {
    static const uint8_t bytes[] = {
        0x3f, 0x40, 0xff, 0x00, 0x80, 0x7f, 0x83, 0x80, 0x00, 0xfd, 0xff, 0x7f,       /* the last two with padding */
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00,                   /* INT64_MAX */
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xff, 0x7f,             /* INT64_MIN with padding */
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x80, 0x80, 0x80, /* 2^63 */
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01,                               /* 2^70 */
    };
    static const int64_t values[] = {63, -64, 127, -128, 3, -3, INT64_MAX, INT64_MIN};
    struct uspi_source source = over_buffer(bytes);
    struct uspi_bytes all = {&source, 0, sizeof bytes};
    uint64_t at = 0;
    int64_t value;
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++) {
        ck_assert_int_eq(uspi_bytes_sleb(all, &at, &value, "x", NULL), USP_OK);
        ck_assert_int_eq(value, values[i]);
    }
    ck_assert_uint_eq(at, 33);
    ck_assert_int_eq(uspi_bytes_sleb(all, &at, &value, "x", NULL), USP_ERROR_FORMAT);
    ck_assert_uint_eq(at, 33);
    at = 43;
    ck_assert_int_eq(uspi_bytes_sleb(all, &at, &value, "x", NULL), USP_ERROR_FORMAT);
    at = sizeof bytes;
    ck_assert_int_eq(uspi_bytes_sleb(all, &at, &value, "x", NULL), USP_ERROR_TRUNCATED);
}
END_TEST

START_TEST(sums) {
    uint64_t n;
    ck_assert(uspi_sum(UINT64_MAX - 1, 1, &n) && n == UINT64_MAX);
    ck_assert(!uspi_sum(UINT64_MAX, 1, &n));
    ck_assert(uspi_product(UINT64_MAX, 1, &n) && n == UINT64_MAX);
    ck_assert(uspi_product(UINT64_MAX, 0, &n) && n == 0);
    ck_assert(!uspi_product(UINT64_C(1) << 32, UINT64_C(1) << 32, &n));
}
END_TEST

START_TEST(strings) {
    static const char bytes[] = "abc\0defg";
    struct uspi_source source = over_buffer(bytes);
    struct uspi_bytes all = {&source, 0, 8};
    char to[16];
    ck_assert_int_eq(uspi_bytes_string(all, 1, to, sizeof to, "x", NULL), USP_OK);
    ck_assert_str_eq(to, "bc");
    ck_assert_int_eq(uspi_bytes_string(all, 0, to, 4, "x", NULL), USP_OK);
    ck_assert_str_eq(to, "abc");
    ck_assert_int_eq(uspi_bytes_string(all, 0, to, 3, "x", NULL), USP_ERROR_FULL);
    ck_assert_str_eq(to, "ab");
    ck_assert_int_eq(uspi_bytes_string(all, 4, to, sizeof to, "x", NULL), USP_ERROR_TRUNCATED);
    ck_assert_int_eq(uspi_bytes_string(all, 8, to, sizeof to, "x", NULL), USP_ERROR_TRUNCATED);
    ck_assert_int_eq(uspi_bytes_string(all, UINT64_MAX, to, sizeof to, "x", NULL), USP_ERROR_TRUNCATED);
}
END_TEST

/* Memory of 100 bytes at address 1000. */
static int read_hundred(void *context, usp_addr from, void *to, size_t n) {
    return read_range(1000, context, 100, from, to, n);
}

/* A string ends at the end of memory: it must be read although the piece after it cannot be. */
START_TEST(strings_in_memory) {
    char bytes[100], to[200];
    memset(bytes, 'x', sizeof bytes);
    struct usp_memory memory = {read_hundred, bytes};
    struct uspi_source source = uspi_source_of_memory(&memory, "memory");
    struct uspi_error error = {0};
    ck_assert_int_eq(uspi_bytes_string(uspi_bytes_at(&source, 1000), 0, to, sizeof to, "path", &error),
                     USP_ERROR_UNREADABLE);
    ck_assert_ptr_nonnull(strstr(error.text, "memory: address 0x"));
    bytes[99] = '\0';
    for (usp_addr from = 1000; from < 1100; from++) {
        ck_assert_int_eq(uspi_bytes_string(uspi_bytes_at(&source, from), 0, to, sizeof to, "path", NULL), USP_OK);
        ck_assert_uint_eq(strlen(to), 1099 - from);
    }
}
END_TEST

/* A reader that fills memory with 0xee and counts its calls in *context. */
static int read_elsewhere(void *context, uint64_t at, void *to, size_t n) {
    (void)at;
    memset(to, 0xee, n);
    ++*(unsigned *)context;
    return USP_OK;
}

/* Addresses of this process that stay mapped must be read directly, all others by the reader, which counts its
 * calls. */
START_TEST(direct_memory) {
    unsigned calls = 0;
    const usp_addr here = (uintptr_t)eight;
    struct uspi_source source = {.name = "memory", .read = read_elsewhere, .context = &calls, .memory = true};
    struct uspi_bytes all = uspi_bytes_at(&source, here - 4);
    uint64_t value = 0;
    source.direct = (struct usp_memory_range){here, sizeof eight};
    ck_assert_int_eq(uspi_bytes_load(all, 4, 8, &value, "x", NULL), USP_OK);
    ck_assert_uint_eq(value, UINT64_C(0x0807060504030201));
    ck_assert_int_eq(uspi_bytes_load(all, 11, 1, &value, "x", NULL), USP_OK);
    ck_assert_uint_eq(value, 8);
    ck_assert_ptr_eq(uspi_bytes_in_place(all, 5, 7), eight + 1);
    ck_assert_uint_eq(calls, 0);
    /* One byte before, one byte after, and across either end. */
    static const struct {
        uint64_t offset;
        unsigned width;
    } others[] = {{3, 1}, {12, 1}, {3, 8}, {5, 8}, {0, 4}};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert_int_eq(uspi_bytes_load(all, others[i].offset, others[i].width, &value, "x", NULL), USP_OK);
        ck_assert_uint_eq(value & 0xff, 0xee);
        ck_assert_uint_eq(calls, i + 1);
    }
    /* The end of the given range must count first. */
    all.size = 6;
    ck_assert_int_eq(uspi_bytes_load(all, 5, 2, &value, "x", NULL), USP_ERROR_TRUNCATED);
    ck_assert_ptr_null(uspi_bytes_in_place(all, 5, 2));
}
END_TEST

struct counted_memory {
    uint8_t bytes[100];
    unsigned calls;
};

static int read_counted(void *context, usp_addr from, void *to, size_t n) {
    struct counted_memory *memory = context;
    memory->calls++;
    return read_hundred(memory->bytes, from, to, n);
}

/* Memory from 1000 to 1100 through a window: all numbers of all widths are the same as without it, also where a window
 * reaches past the memory and cannot be filled. Numbers one after another in a window take one read. */
START_TEST(windows) {
    struct counted_memory counted = {.calls = 0};
    struct usp_memory memory = {read_counted, &counted};
    const struct uspi_source plain = uspi_source_of_memory(&memory, "memory");
    struct uspi_source windowed = plain;
    struct uspi_read_window window = {.size = 0};
    for (unsigned i = 0; i < sizeof counted.bytes; i++) counted.bytes[i] = (uint8_t)(i * 37);
    windowed.window = &window;
    for (usp_addr at = 990; at < 1110; at++) {
        for (unsigned width = 1; width <= 8; width++) {
            uint64_t a = 0, b = 0, uleb_a = at, uleb_b = at;
            const int status = uspi_bytes_load(uspi_bytes_at(&plain, 0), at, width, &a, "x", NULL);
            ck_assert_int_eq(uspi_bytes_load(uspi_bytes_at(&windowed, 0), at, width, &b, "x", NULL), status);
            ck_assert_uint_eq(a, b);
            const int uleb = uspi_bytes_uleb(uspi_bytes_at(&plain, 0), &uleb_a, &a, "x", NULL);
            ck_assert_int_eq(uspi_bytes_uleb(uspi_bytes_at(&windowed, 0), &uleb_b, &b, "x", NULL), uleb);
            ck_assert_uint_eq(uleb_a, uleb_b);
            ck_assert_uint_eq(a, b);
        }
    }
    counted.calls = 0;
    window.size = 0;
    uint64_t value;
    for (usp_addr at = 1024; at < 1088; at++) {
        ck_assert_int_eq(uspi_bytes_load(uspi_bytes_at(&windowed, 0), at, 1, &value, "x", NULL), USP_OK);
        ck_assert_uint_eq(value, counted.bytes[at - 1000]);
    }
    ck_assert_uint_eq(counted.calls, 1);
    /* The end of the given range must count first. */
    const struct uspi_bytes cut = {&windowed, 1024, 6};
    ck_assert_int_eq(uspi_bytes_load(cut, 5, 2, &value, "x", NULL), USP_ERROR_TRUNCATED);
}
END_TEST

START_TEST(long_names) {
    char name[2000];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    struct uspi_source source = {.name = name, .base = eight};
    struct uspi_error error;
    uspi_bytes_error(&error, (struct uspi_bytes){&source, 0, 8}, 4, USP_ERROR_FORMAT, "the end %d", 7);
    ck_assert_ptr_nonnull(strstr(error.text, "nnn: offset 0x4: the end 7"));
    ck_assert_int_eq(error.status, USP_ERROR_FORMAT);
}
END_TEST

/* Checks that the bytes and the errors are the same whether the file is mapped or read piece by piece. */
static void check_file(size_t size) {
    struct uspi_file *file;
    struct uspi_error error;
    uint8_t raw[100];
    ck_assert_int_eq(uspi_file_open(in_folder("f"), &file, &error), USP_OK);
    struct uspi_bytes bytes = uspi_file_bytes(file);
    ck_assert_str_eq(uspi_file_path(file), in_folder("f"));
    ck_assert_uint_eq(bytes.size, size);
    ck_assert_int_eq(uspi_bytes_read(bytes, size - 100, raw, 100, "x", NULL), USP_OK);
    for (size_t i = 0; i < 100; i++) ck_assert_uint_eq(raw[i], (size - 100 + i) % 251);
    ck_assert_int_eq(uspi_bytes_read(bytes, size - 99, raw, 100, "x", NULL), USP_ERROR_TRUNCATED);
    uspi_file_close(file);
}

START_TEST(mapped_or_not) {
    enum { SIZE = 1 << 20 };
    struct builder b = {0};
    for (size_t i = 0; i < SIZE; i++) put(&b, 1, i % 251);
    save(&b, in_folder("f"));
    builder_free(&b);
    check_file(SIZE);
    forbid_mappings();
    check_file(SIZE);
    allow_mappings();
}
END_TEST

/* A file shrinks while it is read piece by piece: reading must return a status. */
START_TEST(shrinking_file) {
    struct uspi_file *file;
    struct builder b = {0};
    uint8_t byte;
    pad_to(&b, 1 << 20);
    save(&b, in_folder("f"));
    builder_free(&b);
    bool forbidden = forbid_mappings();
    ck_assert_int_eq(uspi_file_open(in_folder("f"), &file, NULL), USP_OK);
    allow_mappings();
    if (!forbidden) {
        uspi_file_close(file);
        return;
    }
    ck_assert_int_eq(uspi_bytes_read(uspi_file_bytes(file), 5000, &byte, 1, "x", NULL), USP_OK);
    ck_assert_int_eq(truncate(in_folder("f"), 4000), 0);
    ck_assert_int_eq(uspi_bytes_read(uspi_file_bytes(file), 5000, &byte, 1, "x", NULL), USP_ERROR_TRUNCATED);
    uspi_file_close(file);
}
END_TEST

/* A file is read block by block. What was read before another program shortens the file stays as it was; what is cut
 * off is truncated, also after the file has its old size again. */
START_TEST(file_that_shrinks) {
    enum { SIZE = 4 << 20, CUT = SIZE / 2 + 100 };
    struct uspi_file *file;
    struct uspi_error error = {0};
    struct builder b = {0};
    uint8_t copy[3 * USPI_BLOCK];
    const char *path = in_folder("f");
    for (unsigned i = 0; i < SIZE / 8; i++) put(&b, 8, i);
    save(&b, path);
    builder_free(&b);
    ck_assert_int_eq(uspi_file_open(path, &file, NULL), USP_OK);
    const struct uspi_bytes bytes = uspi_file_bytes(file);
    const uint8_t *early = uspi_bytes_in_place(bytes, 8 * 50000, 8);
    ck_assert_int_eq(truncate(path, CUT), 0);
    if (bytes.source->base != NULL) {
        ck_assert_uint_eq(uspi_le64(early), 50000);
        ck_assert_uint_eq(uspi_le64(uspi_bytes_in_place(bytes, 8 * 1000, 8)), 1000);
        ck_assert_ptr_null(uspi_bytes_in_place(bytes, CUT - 8, 16));
        ck_assert_ptr_null(uspi_bytes_in_place(bytes, 0, SIZE));
        ck_assert_int_eq(bytes.source->damage(bytes.source->context), USP_ERROR_TRUNCATED);
    }
    /* The last whole bytes, in a block that is cut. */
    ck_assert_int_eq(uspi_bytes_read(bytes, CUT - 12, copy, 8, "number", NULL), USP_OK);
    ck_assert_uint_eq(uspi_le64(copy), (CUT - 12) / 8);
    ck_assert_int_eq(uspi_bytes_read(bytes, CUT - 12, copy, 16, "number", &error), USP_ERROR_TRUNCATED);
    ck_assert_int_eq(uspi_bytes_read(bytes, SIZE - sizeof copy, copy, sizeof copy, "n", NULL), USP_ERROR_TRUNCATED);
    ck_assert_int_eq(uspi_bytes_read(bytes, CUT - 2 * sizeof copy, copy, sizeof copy, "n", NULL), USP_OK);
    ck_assert_int_eq(truncate(path, SIZE), 0);
    if (bytes.source->base != NULL) ck_assert_ptr_null(uspi_bytes_in_place(bytes, CUT - 8, 16));
    uspi_file_close(file);
}
END_TEST

/* A program that closes all descriptors, and uses their numbers for other files, still gets the right bytes. */
START_TEST(file_whose_descriptor_is_closed) {
    enum { SIZE = 64 << 10 };
    struct uspi_file *file;
    struct builder b = {0};
    uint64_t value;
    pad_to(&b, SIZE - 8);
    put(&b, 8, 77);
    save(&b, in_folder("f"));
    builder_free(&b);
    ck_assert_int_eq(uspi_file_open(in_folder("f"), &file, NULL), USP_OK);
    for (int fd = 3; fd < 64; fd++) {
        struct stat other, ours;
        if (fstat(fd, &other) != 0 || stat(in_folder("f"), &ours) != 0 || other.st_ino != ours.st_ino) continue;
        ck_assert_int_eq(close(fd), 0);
        ck_assert_int_eq(open("/dev/null", O_RDONLY), fd);
    }
    ck_assert_int_eq(uspi_bytes_load(uspi_file_bytes(file), SIZE - 8, 8, &value, "number", NULL), USP_OK);
    ck_assert_uint_eq(value, 77);
    /* Another file at the path is not taken for it. */
    ck_assert_int_eq(rename(in_folder("f"), in_folder("old")), 0);
    struct builder other = {0};
    pad_to(&other, SIZE);
    save(&other, in_folder("f"));
    builder_free(&other);
    ck_assert_int_ne(uspi_bytes_load(uspi_file_bytes(file), 0, 8, &value, "number", NULL), USP_OK);
    uspi_file_close(file);
}
END_TEST

/* Checks what a path below the folder "root" leads to: a file with this text; NULL: no file. With the kernel's
 * resolution where it has one, and with the library's own. */
static void expect_below(const char *path, const char *text) {
    char top[PATH_MAX], whole[PATH_MAX + 64], read[16];
    struct uspi_file *file;
    snprintf(top, sizeof top, "%s/", in_folder("root"));
    snprintf(whole, sizeof whole, "%s%s", top, path);
    int status = uspi_file_open_within(whole, top, &file, NULL);
    ck_assert_msg((status == USP_OK) == (text != NULL), "%s: %s", path, usp_status_string(status));
    if (status == USP_OK) {
        ck_assert_int_eq(uspi_bytes_read(uspi_file_bytes(file), 0, read, strlen(text), "text", NULL), USP_OK);
        ck_assert_msg(memcmp(read, text, strlen(text)) == 0, "%s: %.*s", path, (int)strlen(text), read);
    }
    uspi_file_close(file);
    int root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(root, 0);
    int fd = uspi_posix_open_below(root, path);
    ck_assert_msg((fd >= 0) == (text != NULL), "%s, without the kernel: %d", path, fd);
    if (fd >= 0) {
        ck_assert_int_eq(pread(fd, read, strlen(text), 0), (ssize_t)strlen(text));
        ck_assert_msg(memcmp(read, text, strlen(text)) == 0, "%s: %.*s", path, (int)strlen(text), read);
        close(fd);
    }
    close(root);
}

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

/* Links below a folder are resolved as if it was the root: a file outside is never opened in place of one inside. */
START_TEST(links_end_at_the_root) {
    static const struct {
        const char *link, *target;
    } links[] = {{"root/absolute", "/in/file"},
                 {"root/upwards", "../../../../in/file"},
                 {"root/in/relative", "../in/./file"},
                 {"root/in/folder", "//in"},
                 {"root/chain", "in/folder/relative"},
                 {"root/outside", NULL},
                 {"root/in/up", "../../outside"},
                 {"root/circle", "circle"},
                 {"root/two", "circle/x"},
                 {"root/there", "/proc/self/root"}};
    char path[PATH_MAX], outside[PATH_MAX];
    snprintf(outside, sizeof outside, "%s", in_folder("outside"));
    write_text(outside, "outside");
    ck_assert_int_eq(mkdir(in_folder("root"), 0755), 0);
    ck_assert_int_eq(mkdir(in_folder("root/in"), 0755), 0);
    write_text(in_folder("root/in/file"), "inside");
    ck_assert_int_eq(mkfifo(in_folder("root/in/pipe"), 0600), 0);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        snprintf(path, sizeof path, "%s", in_folder(links[i].link));
        ck_assert_int_eq(symlink(links[i].target != NULL ? links[i].target : outside, path), 0);
    }
    static const char *const inside[] = {
        "in/file", "./in//file",  "in/../in/file",  "../../in/file", "absolute",
        "upwards", "in/relative", "in/folder/file", "chain",         "in/folder/../absolute"};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) expect_below(inside[i], "inside");
    static const char *const none[] = {"outside", "in/up",     "circle",     "two", "there/in/file", "in",
                                       "in/pipe", "in/file/x", "../outside", ".",   "in/missing"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) expect_below(none[i], NULL);
    /* The same path without a root leads outside. */
    struct uspi_file *file;
    ck_assert_int_eq(uspi_file_open(in_folder("root/outside"), &file, NULL), USP_OK);
    uspi_file_close(file);
    ck_assert_int_eq(uspi_file_open_within(in_folder("root/outside"), "/elsewhere", &file, NULL), USP_OK);
    uspi_file_close(file);
}
END_TEST

START_TEST(identified) {
    static const struct {
        uint32_t magic;
        enum uspi_format format;
    } cases[] = {{0x7f454c46, USPI_FORMAT_ELF},   {0xfeedface, USPI_FORMAT_MACHO},   {0xfeedfacf, USPI_FORMAT_MACHO},
                 {0xcefaedfe, USPI_FORMAT_MACHO}, {0xcffaedfe, USPI_FORMAT_MACHO},   {0xcafebabe, USPI_FORMAT_FAT},
                 {0xcafebabf, USPI_FORMAT_FAT},   {0xbebafeca, USPI_FORMAT_UNKNOWN}, {0, USPI_FORMAT_UNKNOWN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct builder b = {0};
        put_be(&b, 4, cases[i].magic);
        struct uspi_source source = over_buffer(b.bytes);
        ck_assert_int_eq(uspi_identify((struct uspi_bytes){&source, 0, 4}), cases[i].format);
        ck_assert_int_eq(uspi_identify((struct uspi_bytes){&source, 0, 3}), USPI_FORMAT_UNKNOWN);
        builder_free(&b);
    }
}
END_TEST

int main(void) {
    TCase *buffer = tcase_create("buffer"), *file = tcase_create("file");
    tcase_add_checked_fixture(file, make_folder, remove_folder);
    add_tests(buffer, sub_views, arrays, loads, sums, ulebs, slebs, strings, strings_in_memory, direct_memory, windows,
              long_names, identified);
    add_tests(file, mapped_or_not, shrinking_file, file_that_shrinks, file_whose_descriptor_is_closed,
              links_end_at_the_root);
    return run_suite("bytes", buffer, file);
}
