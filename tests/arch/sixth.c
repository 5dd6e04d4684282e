/* SPDX-License-Identifier: MIT */
/* Tests what the library does with a made-up processor, which sixth.sh has added: names, images, a core, a saved
 * profile, compact stacks, options, a walk. Prints what is wrong. sixth.c FOLDER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/unspool.h>

#include "lib/object/macho.h"
#include "lib/profile/profile.h"
#include "lib/report/compact/bytes.h"

static int failures;
#define CHECK(condition) ((condition) ? (void)0 : (failures++, (void)printf("line %d: %s\n", __LINE__, #condition)))

static void put(uint8_t *to, unsigned width, uint64_t value) {
    for (unsigned i = 0; i < width; i++) to[i] = (uint8_t)(value >> 8 * i);
}

/* Offsets and sizes in the core: its segments, one note with one thread's registers, its stack, its code. */
enum { SEGMENTS = 52, NOTE = 160, REGISTERS = 72, REGISTERS_SIZE = 16, STACK = 288, CODE = 352, SIZE = 608 };
#define LOW  0x7000 /* address of the stack */
#define TEXT 0x1000 /* address of the code */

static void put_segment(uint8_t *to, uint32_t type, uint32_t at, uint32_t address, uint32_t size) {
    const uint32_t flags = address == TEXT ? 5 : 6;
    const uint32_t fields[] = {type, at, address, 0, size, type == 1 ? size : 0, flags, 1};
    for (unsigned i = 0; i < 8; i++) put(to + 4 * i, 4, fields[i]);
}

/* Makes an ELF file of the processor: a core of one thread, whose stack has two frame records. */
static void make_core(uint8_t core[SIZE], uint16_t type) {
    const uint32_t registers[] = {0, LOW, LOW, TEXT}, stack[] = {LOW + 8, TEXT + 64, 0, TEXT + 128};
    memset(core, 0, SIZE);
    memcpy(core, "\177ELF\1\1\1", 7);
    put(core + 16, 2, type);
    put(core + 18, 2, 0x1234);
    put(core + 20, 4, 1);
    put(core + 28, 4, SEGMENTS);
    put(core + 40, 2, 52);
    put(core + 42, 2, 32);
    put(core + 44, 2, 3);
    const uint32_t status = REGISTERS + REGISTERS_SIZE + 4;
    put_segment(core + SEGMENTS, 4, NOTE, 0, 20 + status);
    put_segment(core + SEGMENTS + 32, 1, CODE, TEXT, SIZE - CODE);
    put_segment(core + SEGMENTS + 64, 1, STACK, LOW, CODE - STACK);
    put(core + NOTE, 4, 5);
    put(core + NOTE + 4, 4, status);
    put(core + NOTE + 8, 4, 1);
    memcpy(core + NOTE + 12, "CORE", 5);
    put(core + NOTE + 20 + 24, 4, 77); /* the thread's id */
    for (unsigned i = 0; i < 4; i++) put(core + NOTE + 20 + REGISTERS + 4 * i, 4, registers[i]);
    for (unsigned i = 0; i < 4; i++) put(core + STACK + 4 * i, 4, stack[i]);
}

static const char *write_file(const char *folder, const char *name, const uint8_t *bytes, size_t size) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    return path;
}

static void test_names(void) {
    CHECK(strcmp(usp_arch_string(USP_ARCH_MADE_UP), "made_up") == 0);
    CHECK(usp_arch_from_string("made_up") == USP_ARCH_MADE_UP);
    CHECK(usp_arch_from_string("invented") == USP_ARCH_MADE_UP);
    CHECK(usp_arch_pointer_size(USP_ARCH_MADE_UP) == 4);
    CHECK(uspi_compact_width(USP_ARCH_MADE_UP) == 4);
    CHECK(uspi_macho_arch(0x1234) == USP_ARCH_MADE_UP);
    CHECK(usp_arch_from_string("i686") == USP_ARCH_I386);
    CHECK(usp_arch_pointer_size(USP_ARCH_MADE_UP + 1) == 0);
}

static void test_images_and_profile(void) {
    const struct usp_image image = {
        .path = "/made_up", .load_address = 0x1000, .end = 0x4000, .arch = USP_ARCH_MADE_UP, .slide = 0x1000};
    struct usp_images *images = NULL, *again = NULL;
    CHECK(usp_images_create(&image, 1, &images) == USP_OK);
    uint8_t bytes[512];
    size_t size = 0;
    CHECK(usp_compact_images_write(images, USP_ARCH_MADE_UP, NULL, bytes, sizeof bytes, &size) == USP_OK);
    CHECK(usp_compact_images_read(bytes, size, USP_ARCH_MADE_UP, &again, NULL, 0) == USP_OK);
    usp_images_free(again);
    usp_images_free(images);
    struct usp_profile_options options;
    struct usp_profile *profile = NULL, *loaded = NULL;
    usp_profile_options_init(&options);
    options.arch = USP_ARCH_MADE_UP;
    options.flags = USP_PROFILE_TOTALS;
    CHECK(usp_profile_create(&options, &profile) == USP_OK);
    static uint8_t saved[65536];
    CHECK(profile != NULL && uspi_profile_save(profile, saved, sizeof saved, &size) == USP_OK);
    CHECK(uspi_profile_load(saved, size, &loaded) == USP_OK);
    usp_profile_free(profile);
    usp_profile_free(loaded);
}

/* A file is found by its processor, and by no other one. */
static void test_file(const char *folder) {
    uint8_t file[SIZE];
    struct usp_image_file_options options;
    struct usp_images *images = NULL;
    make_core(file, 3);
    const char *path = write_file(folder, "library", file, SIZE);
    usp_image_file_options_init(&options);
    options.arch = USP_ARCH_MADE_UP;
    CHECK(usp_images_open(path, &options, &images, NULL, 0) == USP_OK);
    CHECK(images != NULL && usp_images_get(images, 0)->arch == USP_ARCH_MADE_UP);
    usp_images_free(images);
    options.arch = USP_ARCH_I386;
    images = NULL;
    CHECK(usp_images_open(path, &options, &images, NULL, 0) != USP_OK);
    usp_images_free(images);
}

static int gather(void *context, const char *bytes, size_t n) {
    strncat(context, bytes, n < 2000 - strlen(context) ? n : 0);
    return USP_OK;
}

static void test_core(const char *folder) {
    uint8_t core[SIZE], bytes[512];
    struct usp_snapshot *snapshot = NULL;
    char error[256] = "", text[2048] = "";
    make_core(core, 4);
    CHECK(usp_snapshot_open_core(write_file(folder, "core", core, SIZE), NULL, &snapshot, error, sizeof error) ==
          USP_OK);
    if (snapshot == NULL) {
        printf("%s\n", error);
        return;
    }
    const struct usp_snapshot_thread *thread = usp_snapshot_get_thread(snapshot, 0);
    CHECK(usp_snapshot_get_info(snapshot)->arch == USP_ARCH_MADE_UP);
    CHECK(thread != NULL && thread->status == USP_OK && thread->stack.count == 3);
    CHECK(thread->stack.frames[0].pc == TEXT && thread->stack.frames[1].pc == TEXT + 64);
    CHECK(thread->stack.frames[2].pc == TEXT + 128);
    struct usp_format_options options;
    usp_format_options_init(&options);
    options.style = USP_FORMAT_CRASH_REPORT;
    CHECK(usp_format_snapshot(snapshot, &options, gather, text) == USP_OK);
    CHECK(strstr(text, "Made up") != NULL);
    /* Addresses of 32 bits in a compact stack. */
    struct usp_frame frames[8];
    struct usp_stack again;
    size_t size, needed;
    usp_stack_init(&again, frames, 8);
    CHECK(usp_compact_stack_write(&thread->stack, bytes, sizeof bytes, &size) == USP_OK);
    CHECK(usp_compact_stack_read(bytes, size, USP_ARCH_MADE_UP, &again, &needed) == USP_OK);
    CHECK(again.count == 3 && again.frames[2].pc == TEXT + 128);
    usp_snapshot_free(snapshot);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    test_names();
    test_images_and_profile();
    test_file(argv[1]);
    test_core(argv[1]);
    return failures != 0;
}
