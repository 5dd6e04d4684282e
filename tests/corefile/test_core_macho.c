/* SPDX-License-Identifier: MIT */
/* Tests Mach-O cores built byte by byte, of all five processors, on any host: every form of thread state, images from
 * dyld's list and from memory, text from files by UUID, and hostile cores. */
#include "tests/support/core_walk.h"
#include "tests/support/suite.h"

static const uint32_t archs[] = {USP_ARCH_ARM64, USP_ARCH_ARM64_32, USP_ARCH_ARMV7, USP_ARCH_X86_64, USP_ARCH_I386};
#define ARCHS ELEMENTS(archs)

static struct macho_core plain(uint32_t arch) {
    return (struct macho_core){.arch = arch, .threads = 3, .uuid = UUID, .platform = 2};
}

static struct uspi_core *build_and_open(struct macho_core *core, const struct uspi_core_options *options) {
    struct builder b = {0};
    build_macho_core(&b, core);
    struct uspi_core *opened = open_bytes(&b, options);
    builder_free(&b);
    return opened;
}

/* ---- correct cores ---- */

START_TEST(all_in_the_core) {
    struct macho_core core = plain(archs[_i]);
    struct uspi_core *opened = build_and_open(&core, NULL);
    ck_assert_msg(opened->message_count == 0, "%s", opened->messages[0]);
    expect_fixture_stacks(opened, archs[_i], 3);
    ck_assert_uint_eq(opened->os, USP_OS_DARWIN);
    ck_assert_uint_eq(opened->threads[2].id, 3);
    ck_assert_uint_eq(usp_images_count(opened->images), 1);
    const struct usp_image *image = usp_images_find(opened->images, CODE + 3);
    ck_assert_ptr_nonnull(image);
    ck_assert_uint_eq(image->load_address, IMAGE);
    ck_assert_uint_eq(image->slide, IMAGE - LINKED);
    ck_assert_uint_eq(image->text_low, IMAGE);
    ck_assert_uint_eq(image->text_high, IMAGE + 2 * PAGE);
    ck_assert_uint_eq(image->end, IMAGE + 2 * PAGE);
    ck_assert_uint_eq(image->flags, USP_IMAGE_MAIN | USP_IMAGE_MACHO);
    ck_assert_uint_eq(image->arch, archs[_i]);
    ck_assert_uint_eq(image->variant, USP_VARIANT_PLAIN);
    ck_assert_uint_eq(image->build_id_size, 16);
    ck_assert_mem_eq(image->build_id, UUID, 16);
    uspi_core_close(opened);
}
END_TEST

START_TEST(unified_states) {
    struct macho_core core = plain(archs[_i]);
    core.unified = true;
    struct uspi_core *opened = build_and_open(&core, NULL);
    expect_fixture_stacks(opened, archs[_i], 3);
    uspi_core_close(opened);
}
END_TEST

/* The kernel writes cputype 12 for every 32-bit process on an Arm device: the thread states must decide between armv7
 * and arm64_32. */
START_TEST(arm_is_told_by_its_states) {
    struct macho_core core = plain(_i % 2 == 0 ? USP_ARCH_ARM64_32 : USP_ARCH_ARMV7);
    core.says_arm = true;
    core.unified = _i >= 2;
    struct uspi_core *opened = build_and_open(&core, NULL);
    expect_fixture_stacks(opened, core.arch, 3);
    uspi_core_close(opened);
}
END_TEST

/* A thread with the other processor's state must say so, and the other threads must be read. */
START_TEST(one_thread_of_another_processor) {
    struct builder b = {0};
    struct macho_core core = plain(USP_ARCH_ARM64_32);
    core.says_arm = true;
    build_macho_core(&b, &core);
    size_t second = core.threads_at + core.thread_size;
    /* Its flavor becomes one of 17 words; the words after it become a state that is skipped. */
    patch(&b, second + 28, 4, 9);
    patch(&b, second + 32, 4, 17);
    patch(&b, second + 36 + 17 * 4, 4, 1234);
    patch(&b, second + 36 + 17 * 4 + 4, 4, 68 - 17 - 2);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->thread_count, 3);
    ck_assert_uint_eq(opened->arch, USP_ARCH_ARM64_32);
    ck_assert_int_eq(opened->threads[0].status, USP_OK);
    ck_assert_int_eq(opened->threads[1].status, USP_ERROR_FORMAT);
    ck_assert_int_eq(opened->threads[2].status, USP_OK);
    EXPECT_SAYS(opened, "thread 2 has the registers of armv7");
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* A known flavor with another size must not be read as that state. */
START_TEST(count_decides_too) {
    struct builder b = {0};
    struct macho_core core = plain(USP_ARCH_ARMV7);
    build_macho_core(&b, &core);
    size_t second = core.threads_at + core.thread_size;
    /* 17 words of flavor 9 become 15 and an empty state. */
    patch(&b, second + 32, 4, 15);
    patch(&b, second + 36 + 15 * 4, 4, 1234);
    patch(&b, second + 36 + 15 * 4 + 4, 4, 0);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_int_eq(opened->threads[0].status, USP_OK);
    ck_assert_int_eq(opened->threads[1].status, USP_ERROR_UNSUPPORTED);
    EXPECT_SAYS(opened, "thread 2 has no register state");
    uspi_core_close(opened);
    patch(&b, second + 28, 4, 1);
    opened = open_bytes(&b, NULL);
    ck_assert_int_eq(opened->threads[1].status, USP_ERROR_UNSUPPORTED);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

START_TEST(unknown_flavors_only) {
    struct builder b = {0};
    struct macho_core core = plain(archs[_i]);
    build_macho_core(&b, &core);
    patch(&b, core.threads_at + 28, 4, 4711);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->thread_count, 3);
    ck_assert_int_eq(opened->threads[0].status, USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(opened->threads[1].status, USP_OK);
    EXPECT_SAYS(opened, "thread 1 has no register state");
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* ---- the thread that crashed ---- */

/* The thread whose exception is a fault, if there is exactly one. */
START_TEST(crashed_thread) {
    static const struct {
        uint32_t arch, exceptions[3];
        size_t crashed;
    } cases[] = {
        {USP_ARCH_ARM64, {0x56000080, 0x92000006, 0x56000080}, 1},    /* svc, data abort, svc */
        {USP_ARCH_ARM64, {0x56000080, 0x56000080, 0xf2000001}, 2},    /* brk */
        {USP_ARCH_ARM64, {0x02000000, 0x56000080, 0}, 0},             /* an undefined instruction */
        {USP_ARCH_ARM64_32, {0x56000080, 0x82000006, 0x56000080}, 1}, /* instruction abort */
        {USP_ARCH_ARM64, {0x92000006, 0x92000006, 0x56000080}, SIZE_MAX},
        {USP_ARCH_ARM64, {0x56000080, 0x56000080, 0x56000080}, SIZE_MAX},
        {USP_ARCH_X86_64, {133, 13, 133}, 1},
        {USP_ARCH_X86_64, {14, 133, 0x00020085}, 0},
        {USP_ARCH_X86_64, {133, 0x00010006, 0}, 1}, /* with the number of the processor */
        {USP_ARCH_X86_64, {14, 14, 133}, SIZE_MAX},
    };
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct macho_core core = plain(cases[i].arch);
        memcpy(core.exceptions, cases[i].exceptions, sizeof core.exceptions);
        struct uspi_core *opened = build_and_open(&core, NULL);
        ck_assert_uint_eq(opened->thread_count, 3);
        ck_assert_msg(opened->crashed == cases[i].crashed, "case %zu: %zu", i, opened->crashed);
        uspi_core_close(opened);
    }
}
END_TEST

/* ---- the width of addresses ---- */

/* Return addresses are signed, and the note's mask fits the system. 39 bits remove what 47 would keep. */
START_TEST(address_bits_from_the_note) {
    struct macho_core core = plain(USP_ARCH_ARM64);
    struct walked w;
    core.address_bits = 39;
    core.signature = UINT64_C(0x0000630000000000);
    struct uspi_core *opened = build_and_open(&core, NULL);
    ck_assert_uint_eq(opened->address_bits, 39);
    expect_fixture_stacks(opened, USP_ARCH_ARM64, 3);
    walk_thread(opened, &opened->threads[0], &w);
    ck_assert_uint_eq(w.frames[1].flags & USP_FRAME_SIGNED, USP_FRAME_SIGNED);
    uspi_core_close(opened);
    core.address_bits = 47;
    opened = build_and_open(&core, NULL);
    walk_thread(opened, &opened->threads[0], &w);
    ck_assert_uint_eq(w.stack.count, 1);
    uspi_core_close(opened);
}
END_TEST

START_TEST(address_bits_from_the_platform) {
    static const struct {
        unsigned platform, bits;
    } cases[] = {{1, 47}, {2, 0}, {3, 0}, {4, 0}, {6, 47}, {7, 47}, {8, 47}, {9, 47}, {11, 0}, {12, 47}};
    struct macho_core core = plain(USP_ARCH_ARM64);
    core.platform = cases[_i].platform;
    struct uspi_core *opened = build_and_open(&core, NULL);
    ck_assert_uint_eq(opened->address_bits, cases[_i].bits);
    uspi_core_close(opened);
    core.address_bits = 42;
    opened = build_and_open(&core, NULL);
    ck_assert_uint_eq(opened->address_bits, 42);
    uspi_core_close(opened);
}
END_TEST

START_TEST(address_bits_of_an_unknown_version) {
    struct builder b = {0};
    struct macho_core core = plain(USP_ARCH_ARM64);
    core.address_bits = 39;
    build_macho_core(&b, &core);
    size_t note = b.size - 16;
    patch(&b, note, 4, 4);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->address_bits, 39);
    uspi_core_close(opened);
    patch(&b, note, 4, 5);
    opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->address_bits, 0);
    EXPECT_SAYS(opened, "version 5");
    uspi_core_close(opened);
    patch(&b, note, 4, 3);
    patch(&b, note + 4, 4, 65);
    opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->address_bits, 0);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* ---- images and files ---- */

START_TEST(images_from_the_loader) {
    struct macho_core core = plain(archs[_i]);
    core.with_dyld = true;
    core.path = "/Applications/Victim.app/Victim";
    struct uspi_core *opened = build_and_open(&core, NULL);
    ck_assert_uint_eq(usp_images_count(opened->images), 3);
    ck_assert_str_eq(usp_images_get(opened->images, 0)->path, core.path);
    ck_assert_str_eq(opened->program, core.path);
    const struct usp_image *dyld = usp_images_find(opened->images, DYLD + 0x10);
    ck_assert_str_eq(dyld->path, "/usr/lib/dyld");
    ck_assert_uint_eq(dyld->flags, USP_IMAGE_LOADER | USP_IMAGE_MACHO);
    const struct usp_image *dylib = usp_images_find(opened->images, DYLIB);
    ck_assert_str_eq(dylib->path, "/usr/lib/libnamed.dylib");
    ck_assert_uint_eq(dylib->flags, USP_IMAGE_MACHO);
    ck_assert_mem_eq(dylib->build_id, "DYLIB-UUID-16byt", 16);
    uspi_core_close(opened);
}
END_TEST

/* dyld was changing its list, or the list is invalid: the images must be found in memory, with the names that they
 * carry. */
START_TEST(images_from_memory) {
    struct builder b = {0};
    struct macho_core core = plain(archs[_i]);
    core.with_dyld = true;
    build_macho_core(&b, &core);
    unsigned word = arch_is_64(archs[_i]) ? 8 : 4;
    size_t list = b.size - 2 * PAGE + 0x800;
    static const struct {
        uint64_t count, array;
    } cases[] = {{2, 0}, {UINT32_MAX, DYLD + 0x900}, {2, 0x12345678}, {0, DYLD + 0x900}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        patch(&b, list + 4, 4, cases[i].count);
        patch(&b, list + 8, word, cases[i].array);
        struct uspi_core *opened = open_bytes(&b, NULL);
        EXPECT_SAYS(opened, "looked for in memory");
        ck_assert_uint_eq(usp_images_count(opened->images), 3);
        ck_assert_str_eq(usp_images_find(opened->images, DYLIB)->path, "@rpath/libself.dylib");
        ck_assert_str_eq(usp_images_find(opened->images, IMAGE)->path, "");
        expect_fixture_stacks(opened, archs[_i], 3);
        uspi_core_close(opened);
    }
    builder_free(&b);
}
END_TEST

/* A listed image whose header is not in the core must stay in the list, and no address may count as certainly no
 * code. */
START_TEST(listed_image_is_not_in_the_core) {
    struct builder b = {0};
    struct macho_core core = plain(USP_ARCH_ARM64);
    struct usp_target target;
    struct usp_region region;
    core.with_dyld = true;
    build_macho_core(&b, &core);
    struct uspi_core *opened = open_bytes(&b, NULL);
    uspi_core_target(opened, &target);
    ck_assert_int_eq(target.image_at(target.context, 0x999999, &region), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(target.image_at(target.context, STACK, &region), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(target.image_at(target.context, CODE, &region), USP_OK);
    uspi_core_close(opened);
    patch(&b, b.size - 2 * PAGE + 0x900 + 24, 8, DYLIB + 0x100000);
    opened = open_bytes(&b, NULL);
    EXPECT_SAYS(opened, "headers of 1 images");
    ck_assert_uint_eq(usp_images_count(opened->images), 4);
    uspi_core_target(opened, &target);
    ck_assert_int_eq(target.image_at(target.context, 0x999999, &region), USP_ERROR_ABSENT);
    ck_assert_int_eq(target.image_at(target.context, STACK, &region), USP_ERROR_NOT_FOUND);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

static void save_program(const char *path, uint32_t arch, const char *uuid) {
    struct builder b = {0};
    build_macho_program(&b, arch, uuid, 2);
    save(&b, path);
    builder_free(&b);
}

START_TEST(text_from_the_file) {
    struct macho_core core = plain(archs[_i]);
    struct walked w;
    core.without_text = true;
    core.with_dyld = true;
    core.path = in_folder("p");
    struct uspi_core *opened = build_and_open(&core, NULL);
    ck_assert_uint_eq(opened->flags, USP_SNAPSHOT_FILES_MISSING);
    EXPECT_SAYS(opened, "no such file");
    walk_thread(opened, &opened->threads[0], &w);
    ck_assert_uint_ne(w.stack.flags & USP_STACK_NO_INSTRUCTIONS, 0);
    uspi_core_close(opened);

    save_program(in_folder("p"), archs[_i], UUID);
    opened = build_and_open(&core, NULL);
    ck_assert_uint_eq(opened->flags, 0);
    expect_fixture_stacks(opened, archs[_i], 3);
    walk_thread(opened, &opened->threads[0], &w);
    ck_assert_uint_eq(w.stack.flags & USP_STACK_NO_INSTRUCTIONS, 0);
    uspi_core_close(opened);

    save_program(in_folder("p"), archs[_i], "ANOTHER-UUID-16b");
    opened = build_and_open(&core, NULL);
    ck_assert_uint_eq(opened->flags, USP_SNAPSHOT_FILES_REFUSED);
    EXPECT_SAYS(opened, "UUID differs");
    uspi_core_close(opened);

    save_program(in_folder("p"), archs[_i], NULL);
    opened = build_and_open(&core, NULL);
    ck_assert_uint_eq(opened->flags, USP_SNAPSHOT_FILES_REFUSED);
    EXPECT_SAYS(opened, "no UUID");
    uspi_core_close(opened);

    core.uuid = NULL;
    opened = build_and_open(&core, NULL);
    ck_assert_uint_eq(opened->flags, USP_SNAPSHOT_FILES_REFUSED);
    EXPECT_SAYS(opened, "the core's image has no UUID");
    uspi_core_close(opened);
}
END_TEST

/* The core does not name the program: the file given as an option must be used. */
START_TEST(text_from_the_program_given) {
    struct macho_core core = plain(archs[_i]);
    core.without_text = true;
    struct uspi_core *opened = build_and_open(&core, NULL);
    ck_assert_uint_eq(opened->flags, USP_SNAPSHOT_PROGRAM_MISSING);
    EXPECT_SAYS(opened, "code of the program");
    uspi_core_close(opened);
    save_program(in_folder("given"), archs[_i], UUID);
    opened = build_and_open(&core, &(struct uspi_core_options){.program = in_folder("given")});
    ck_assert_uint_eq(opened->flags, 0);
    expect_fixture_stacks(opened, archs[_i], 3);
    uspi_core_close(opened);
}
END_TEST

/* The slice with the UUID must be used, not the first one and not the one for the processor. */
START_TEST(text_from_a_fat_file) {
    struct builder fat = {0}, wrong = {0}, right = {0};
    struct macho_core core = plain(USP_ARCH_ARM64);
    core.without_text = true;
    build_macho_program(&wrong, USP_ARCH_ARM64, "ANOTHER-UUID-16b", 2);
    memset(wrong.bytes + PAGE, 0, 0x60);
    build_macho_program(&right, USP_ARCH_ARM64, UUID, 2);
    put_be(&fat, 4, 0xcafebabe);
    put_be(&fat, 4, 2);
    for (unsigned i = 0; i < 2; i++) {
        put_be(&fat, 4, 0x0100000c);
        put_be(&fat, 4, i);
        put_be(&fat, 4, 0x1000 + i * 0x3000);
        put_be(&fat, 4, 2 * PAGE);
        put_be(&fat, 4, 12);
    }
    pad_to(&fat, 0x1000);
    put_bytes(&fat, wrong.bytes, wrong.size);
    pad_to(&fat, 0x4000);
    put_bytes(&fat, right.bytes, right.size);
    save(&fat, in_folder("fat"));
    struct uspi_core *opened = build_and_open(&core, &(struct uspi_core_options){.program = in_folder("fat")});
    ck_assert_uint_eq(opened->flags, 0);
    expect_fixture_stacks(opened, USP_ARCH_ARM64, 3);
    uspi_core_close(opened);
    builder_free(&fat);
    builder_free(&wrong);
    builder_free(&right);
}
END_TEST

/* A file with a segment that reaches beyond the file's end must be refused. */
START_TEST(file_is_too_short) {
    struct builder program = {0};
    struct macho_core core = plain(USP_ARCH_X86_64);
    uint8_t raw[4];
    core.without_text = true;
    build_macho_program(&program, core.arch, UUID, 2);
    program.size = PAGE + 0x60;
    save(&program, in_folder("given"));
    struct uspi_core *opened = build_and_open(&core, &(struct uspi_core_options){.program = in_folder("given")});
    ck_assert_uint_eq(opened->flags, USP_SNAPSHOT_FILES_REFUSED);
    EXPECT_SAYS(opened, "segment __TEXT lies outside of the file");
    ck_assert_int_eq(read_at(opened, CODE, raw, 4), USP_ERROR_ABSENT);
    uspi_core_close(opened);
    builder_free(&program);
}
END_TEST

/* ---- refused ---- */

START_TEST(refused) {
    struct builder b = {0};
    struct macho_core core = plain(USP_ARCH_ARM64);
    build_macho_core(&b, &core);
    patch(&b, 0, 4, 0xcffaedfe);
    expect_refused(&b, USP_ERROR_UNSUPPORTED, "big-endian");
    patch(&b, 0, 4, 0xfeedfacf);
    patch(&b, 12, 4, 2);
    expect_refused(&b, USP_ERROR_FORMAT, "not a core");
    patch(&b, 12, 4, 4);
    patch(&b, 4, 4, 18); /* PowerPC */
    expect_refused(&b, USP_ERROR_UNSUPPORTED, "cputype 0x12");
    patch(&b, 4, 4, 0x0100000c);
    patch(&b, 20, 4, UINT32_MAX);
    expect_refused(&b, USP_ERROR_TRUNCATED, "load commands");
    b.size = 31;
    expect_refused(&b, USP_ERROR_TRUNCATED, "Mach-O header");
    builder_free(&b);
}
END_TEST

/* ---- damaged ---- */

/* Checks a truncated core: frames may be missing, but no frame may be wrong. */
static void check_cut(const struct uspi_core *opened, bool cut) {
    (void)cut;
    ck_assert_uint_eq(opened->thread_count, 2);
    for (size_t t = 0; t < 2; t++) {
        struct walked w;
        walk_thread(opened, &opened->threads[t], &w);
        ck_assert_uint_ge(w.stack.count, 1);
        ck_assert_uint_le(w.stack.count, 3);
        for (unsigned f = INNER; f < w.stack.count; f++) {
            ck_assert_uint_eq(w.frames[f].pc, after_call(opened->arch, (enum function)f));
        }
    }
}

START_TEST(every_truncation) {
    struct builder b = {0};
    struct macho_core core = plain(archs[_i]);
    core.threads = 2;
    core.address_bits = 47;
    build_macho_core(&b, &core);
    check_every_truncation(&b, core.threads_at + 2 * core.thread_size + 40, check_cut);
    builder_free(&b);
}
END_TEST

START_TEST(every_bit) {
    struct builder b = {0};
    struct macho_core core = plain(archs[_i]);
    core.threads = 1;
    core.with_dyld = true;
    core.address_bits = 47;
    build_macho_core(&b, &core);
    check_every_bit(&b, b.size, core.threads_at + core.thread_size + 40);
    builder_free(&b);
}
END_TEST

START_TEST(lying_sizes) {
    struct builder b = {0};
    struct macho_core core = plain(USP_ARCH_ARM64);
    core.address_bits = 47;
    build_macho_core(&b, &core);
    size_t stack = core.segments_at + core.segment_size, second = core.threads_at + core.thread_size;
    size_t note = core.threads_at + 3 * core.thread_size;
    /* Segments: filesize beyond the file's end and beyond 64 bits; vmsize < filesize; wrapping; sections that don't
     * fit. */
    expect_said(&b, stack + 48, 8, PAGE, 3, "it was cut off");
    expect_said(&b, stack + 48, 8, UINT64_MAX, 3, "it was cut off");
    expect_said(&b, stack + 40, 8, UINT64_MAX, 3, "it was cut off");
    expect_said(&b, stack + 32, 8, 0x200, 3, "more bytes in the file than in memory");
    expect_said(&b, stack + 32, 8, UINT64_MAX, 3, "wraps around");
    expect_said(&b, stack + 64, 4, UINT32_MAX, 3, "section headers");
    /* Commands: a size of 0, smaller than the header, larger than the rest; fewer commands than the count. */
    expect_said(&b, second + 4, 4, 0, 1, "a load command of 0 bytes");
    expect_said(&b, second + 4, 4, 7, 1, "a load command of 7 bytes");
    expect_said(&b, second + 4, 4, UINT32_MAX, 1, "load command needs");
    expect_said(&b, second + 4, 4, 0x7ffffff0, 1, "load command needs");
    expect_said(&b, 16, 4, UINT32_MAX, 3, "load command");
    /* Threads: a count that overflows, one that is slightly too large; a state cut off by the command's end. */
    expect_said(&b, second + 12, 4, UINT32_MAX, 3, "thread state");
    expect_said(&b, second + 12, 4, 0x40000000, 3, "thread state");
    expect_said(&b, second + 32, 4, 69, 3, "thread state");
    /* Notes: outside the file, too short. */
    expect_said(&b, note + 24, 8, UINT64_MAX, 3, "note");
    expect_said(&b, note + 32, 8, UINT64_MAX, 3, "note");
    expect_said(&b, note + 32, 8, 7, 3, "number of address bits");
    builder_free(&b);
}
END_TEST

/* A thread whose state is cut off must say so, and the others must keep theirs. What the later commands would have
 * listed is unknown. */
START_TEST(one_damaged_thread) {
    struct builder b = {0};
    struct usp_target target;
    struct usp_region region;
    struct macho_core core = plain(archs[_i]);
    build_macho_core(&b, &core);
    patch(&b, core.threads_at + core.thread_size + 32, 4, UINT32_MAX);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_int_eq(opened->threads[0].status, USP_OK);
    ck_assert_int_eq(opened->threads[1].status, USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(opened->threads[2].status, USP_OK);
    uspi_core_target(opened, &target);
    ck_assert_int_eq(target.image_at(target.context, 0x999999, &region), USP_ERROR_ABSENT);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* Many listed images with the same bytes, or many commands in one image, must cost no noticeable time. */
START_TEST(one_image_listed_thousands_of_times) {
    enum { SEGMENTS = 20000, COMMANDS = 200000 };
    struct builder b = {0}, image = {0};
    struct commands c = {{0}, 0}, inner = {{0}, 0};
    put_macho_segment(&inner, true, "__TEXT", 0, PAGE, 0, PAGE, 5, 0);
    for (unsigned i = 0; i < COMMANDS; i++) {
        inner.count++;
        put(&inner.bytes, 4, 0x99);
        put(&inner.bytes, 4, 8);
    }
    put_macho(&image, true, macho_cpu(USP_ARCH_ARM64), 6, &inner);
    size_t data = 32 + SEGMENTS * 72;
    for (unsigned i = 0; i < SEGMENTS; i++) {
        put_macho_segment(&c, true, "", (i + 1) * UINT64_C(0x1000000), image.size, data, image.size, 5, 0);
    }
    put_macho(&b, true, macho_cpu(USP_ARCH_ARM64), 4, &c);
    put_bytes(&b, image.bytes, image.size);
    struct uspi_core *opened = open_bytes(&b, NULL);
    EXPECT_SAYS(opened, "more images than a process can have");
    ck_assert_uint_lt(usp_images_count(opened->images), 10);
    uspi_core_close(opened);
    builder_free(&image);
    builder_free(&b);
}
END_TEST

/* A stack in several adjacent regions must be one stack; a guard page ends it. */
START_TEST(stack_in_two_regions) {
    struct builder b = {0};
    struct commands c = {{0}, 0};
    struct macho_core core = plain(USP_ARCH_ARM64);
    core.threads = 1;
    size_t data = 32 + 4 * 72 + 300;
    put_macho_segment(&c, true, "", STACK, PAGE, data, 0x200, 3, 0);
    put_macho_segment(&c, true, "", STACK + PAGE, PAGE, 0, 0, 3, 0);
    put_macho_segment(&c, true, "", STACK + 2 * PAGE, PAGE, 0, 0, 0, 0);
    put_macho_segment(&c, true, "", STACK + 3 * PAGE, PAGE, 0, 0, 3, 0);
    put_macho_thread(&c, &core, 0);
    put_macho(&b, true, macho_cpu(core.arch), 4, &c);
    pad_to(&b, data + 0x200);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->threads[0].stack_low, STACK);
    ck_assert_uint_eq(opened->threads[0].stack_high, STACK + 2 * PAGE);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

int main(void) {
    TCase *good = tcase_create("good"), *images = tcase_create("images"), *bad = tcase_create("damaged");
    tcase_add_checked_fixture(good, make_folder, remove_folder);
    tcase_add_checked_fixture(images, make_folder, remove_folder);
    tcase_add_checked_fixture(bad, make_folder, remove_folder);
    add_loop_tests(good, 0, ARCHS, all_in_the_core, unified_states);
    tcase_add_loop_test(good, arm_is_told_by_its_states, 0, 4);
    add_tests(good, one_thread_of_another_processor, count_decides_too, crashed_thread);
    tcase_add_loop_test(good, unknown_flavors_only, 0, ARCHS);
    tcase_add_test(good, address_bits_from_the_note);
    tcase_add_loop_test(good, address_bits_from_the_platform, 0, 10);
    add_tests(good, address_bits_of_an_unknown_version, stack_in_two_regions);
    add_loop_tests(images, 0, ARCHS, images_from_the_loader, images_from_memory);
    tcase_add_test(images, listed_image_is_not_in_the_core);
    add_loop_tests(images, 0, ARCHS, text_from_the_file, text_from_the_program_given);
    add_tests(images, text_from_a_fat_file, file_is_too_short);
    tcase_add_test(bad, refused);
    add_loop_tests(bad, 0, ARCHS, every_truncation, every_bit);
    add_tests(bad, lying_sizes, one_image_listed_thousands_of_times);
    tcase_add_loop_test(bad, one_damaged_thread, 0, ARCHS);
    return run_suite("Mach-O cores", good, images, bad);
}
