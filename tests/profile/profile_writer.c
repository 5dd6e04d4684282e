/* SPDX-License-Identifier: MIT */
/* Writes a profile with known contents, in the format that the command line gives, for the scripts in this folder:
 *   profile_writer FORMAT [samples|wall|cpu] [merged] [ids] [totals] [bare] [lines]
 * Its frames are functions of this program, taken from its own stack; other names contain characters that could break a
 * format. */
#include <unspool/unspool.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kept.h"

static struct usp_profile *profile;
static struct usp_images *images;
static uint64_t now;

/* Adds a sample of the calling thread's stack under another thread's id and name. */
KEPT static int take(uint64_t thread, const char *name, uint64_t wall, uint64_t cpu) {
    struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_thread_info info = {.thread = {thread, 0}, .flags = thread == 100 ? (uint32_t)USP_THREAD_MAIN : 0};
    snprintf(info.name, sizeof info.name, "%s", name);
    usp_stack_init(&stack, frames, 64);
    if (usp_capture_self(NULL, &stack) != USP_OK) exit(2);
    now += wall;
    const struct usp_profile_sample sample = {
        .thread = &info, .stack = &stack, .images = images, .time = now, .wall = wall, .cpu = cpu};
    if (usp_profile_add(profile, &sample) != USP_OK) exit(2);
    return 0;
}

#define MS UINT64_C(1000000)

int price(uint64_t thread, const char *name, uint64_t wall, uint64_t cpu) __asm__("_ZN4shop4Cart5priceEi");
/* Always inlined into its caller: a frame of its own with lines, no frame without. */
__attribute__((always_inline)) static inline int add_tax(uint64_t thread, const char *name, uint64_t wall,
                                                         uint64_t cpu) {
    int volatile kept = take(thread, name, wall, cpu); /* called by add_tax */
    return kept + 1;
}

KEPT int price(uint64_t thread, const char *name, uint64_t wall, uint64_t cpu) { /* begins price */
    int volatile kept = add_tax(thread, name, wall, cpu);                        /* called by price */
    return kept + 1;
}

KEPT static int ship_order(uint64_t thread, const char *name, uint64_t wall, uint64_t cpu) {
    int volatile kept = take(thread, name, wall, cpu);
    return kept + 2;
}

KEPT static int check_out(unsigned i) {
    int volatile kept = i % 3 == 0 ? ship_order(100, "main", 20 * MS, 0) : price(100, "main", 10 * MS, 10 * MS);
    return kept + 1;
}

KEPT static int fall(unsigned depth) {
    int volatile kept = depth == 0 ? take(101, "<w&\"ö;\n\x1b[31m\xff]]>", 5 * MS, 1 * MS) : fall(depth - 1);
    return kept + 1;
}

KEPT static int run(void) {
    int volatile sum = 0;
    for (unsigned i = 0; i < 60; i++) sum += check_out(i);
    for (unsigned i = 0; i < 10; i++) sum += fall(3);
    /* A thread without a name, and another one with the same name as the first. */
    for (unsigned i = 0; i < 7; i++) sum += ship_order(102, "", 3 * MS, 0);
    for (unsigned i = 0; i < 4; i++) sum += ship_order(103, "main", 3 * MS, 0);
    return sum;
}

/* Adds frames without a symbol, in an image with an ugly name and outside of all images, and a stack with frames left
 * out. */
static void add_unnamed(void) {
    const struct usp_image ugly = {.path = "/nowhere/<ugly> \"&;\xc3\xbc\xef\xbf\xbf\x01.so",
                                   .load_address = 0x7000000,
                                   .end = 0x7010000,
                                   .build_id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17},
                                   .build_id_size = 17};
    struct usp_images *list;
    struct usp_frame frames[3] = {{.pc = 0x7000123, .kind = USP_FRAME_KIND_INTERRUPTED},
                                  {.pc = 0x1234567, .kind = USP_FRAME_KIND_RETURN_ADDRESS},
                                  {.pc = 0x7000200, .kind = USP_FRAME_KIND_RETURN_ADDRESS}};
    struct usp_stack stack;
    const struct usp_thread_info info = {.thread = {104, 0}, .name = "unnamed"};
    usp_stack_init(&stack, frames, 3);
    stack.arch = usp_arch_host();
    stack.count = stack.physical = 3;
    stack.omitted = 17;
    stack.omitted_at = 2;
    if (usp_images_create(&ugly, 1, &list) != USP_OK) exit(2);
    /* One sample, and one that counts as four. */
    for (unsigned i = 1; i < 5; i += 3) {
        now += i == 1 ? MS : 4 * MS;
        const struct usp_profile_sample sample = {
            .thread = &info, .stack = &stack, .images = list, .time = now, .wall = i * MS, .cpu = i * MS, .count = i};
        if (usp_profile_add(profile, &sample) != USP_OK) exit(2);
    }
    usp_images_free(list);
}

static int write_out(void *context, const char *bytes, size_t n) {
    return fwrite(bytes, 1, n, context) == n ? USP_OK : USP_ERROR_SYSTEM;
}

int main(int argc, char **argv) {
    struct usp_profile_options options;
    struct usp_profile_write_options how;
    bool bare = false;
    usp_profile_options_init(&options);
    usp_profile_write_options_init(&how);
    options.program = "/opt/shop/shop <1> & co";
    options.pid = 4711;
    how.format = 0;
    for (uint32_t format = 1; argc > 1 && format <= USP_PROFILE_OTLP; format++) {
        if (strcmp(argv[1], usp_profile_format_string(format)) == 0) how.format = format;
    }
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "wall") == 0) how.value = USP_PROFILE_WALL;
        if (strcmp(argv[i], "cpu") == 0) how.value = USP_PROFILE_CPU;
        if (strcmp(argv[i], "merged") == 0) how.flags |= USP_PROFILE_MERGE_THREADS;
        if (strcmp(argv[i], "ids") == 0) how.flags |= USP_PROFILE_NATIVE_IDS;
        if (strcmp(argv[i], "totals") == 0) options.flags = USP_PROFILE_TOTALS;
        if (strcmp(argv[i], "bare") == 0) bare = true;
        if (strcmp(argv[i], "lines") == 0) how.flags |= USP_PROFILE_LINES;
    }
    const struct usp_profile_run ran = {.wall_start = UINT64_C(1700000000000000000),
                                        .start = 1000,
                                        .end = 2 * 1000 * MS,
                                        .interval = 10 * MS,
                                        .longest_interval = 20 * MS,
                                        .ticks = 95,
                                        .missed_ticks = 3,
                                        .slowed = 2,
                                        .captures = 90,
                                        .failed = 1,
                                        .truncated = 5,
                                        .threads_appeared = 2,
                                        .threads_ended = 1,
                                        .stopped_ns = MS,
                                        .longest_stop_ns = 3000,
                                        .cpu_ns = 4 * MS,
                                        .budget_cpu = 10,
                                        .budget_stopped = 1};
    struct usp_symbolizer *symbolizer = NULL;
    struct usp_demangler *demangler = NULL;
    now = 1000;
    if (usp_prepare(NULL) != USP_OK || usp_images_create_self(&images) != USP_OK) return 2;
    if (usp_profile_create(&options, &profile) != USP_OK) return 2;
    run();
    add_unnamed();
    usp_profile_set_run(profile, &ran);
    if (!bare) {
        if (usp_symbolizer_create(NULL, NULL, &symbolizer) != USP_OK) return 2;
        if (usp_demangler_create(USP_DEMANGLE_FULL, &demangler) != USP_OK) return 2;
    }
    how.symbolizer = symbolizer;
    how.demangler = demangler;
    int status = usp_profile_write(profile, &how, write_out, stdout);
    if (status != USP_OK) fprintf(stderr, "profile_writer: %s\n", usp_status_string(status));
    usp_demangler_free(demangler);
    usp_symbolizer_free(symbolizer);
    usp_profile_free(profile);
    usp_images_free(images);
    return status == USP_OK && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
