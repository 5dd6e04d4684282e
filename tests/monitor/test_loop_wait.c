/* SPDX-License-Identifier: MIT */
/* Tests how a waiting run loop is recognized by its stack, as on Apple systems, where the loop's functions have no
 * names. Covers failures from the field: background delivery while the loop waits, nested loops and modes. */
#include "lib/monitor/loop_wait.h"
#include "tests/support/suite.h"

#include <check.h>
#include <string.h>

#define APP     0x100000000u
#define CF      0x180000000u
#define KERNEL  0x190000000u
#define XPC     0x1a0000000u
#define UIKIT   0x1b0000000u
#define OUTSIDE 0x500u

/* Return addresses in CoreFoundation's functions, from the innermost one out. */
#define CF_CALLS_OBSERVER (CF + 0x1100) /* in the function that calls an observer */
#define CF_DO_OBSERVERS   (CF + 0x1200) /* in the function that goes through the observers */
#define CF_RUN_BEFORE     (CF + 0x1300) /* in the loop, where it calls the observers */
#define CF_RUN_WAITS      (CF + 0x1340) /* in the loop, where it waits */
#define CF_SERVICE_PORT   (CF + 0x1400) /* in the function that waits for a port */
#define CF_RUN_SPECIFIC   (CF + 0x1500) /* in the function that runs the loop */

static struct uspi_loop_wait wait_;
static struct usp_images *images;
static struct usp_frame frames[32];

static struct usp_image image_at(const char *path, usp_addr base) {
    return (struct usp_image){.path = path,
                              .load_address = base,
                              .text_low = base + 0x1000,
                              .text_high = base + 0x9000,
                              .end = base + 0x10000};
}

/* Returns a stack of the addresses up to a 0. */
static struct usp_stack stack_of(const usp_addr *addresses) {
    struct usp_stack stack;
    usp_stack_init(&stack, frames, sizeof frames / sizeof *frames);
    for (; addresses[stack.count] != 0; stack.count++) frames[stack.count].pc = addresses[stack.count];
    stack.physical = stack.count;
    return stack;
}

static bool waits(const usp_addr *addresses) {
    struct usp_stack stack = stack_of(addresses);
    return uspi_loop_wait_holds(&wait_, &stack);
}
#define WAITS(...) waits((const usp_addr[]){__VA_ARGS__, 0})

static void learn(const usp_addr *addresses) {
    struct usp_stack stack = stack_of(addresses);
    uspi_loop_wait_learn(&wait_, images, &stack);
}
#define LEARN(...) learn((const usp_addr[]){__VA_ARGS__, 0})

static void make_images(const char *kernel) {
    const struct usp_image entries[] = {
        image_at("/App.app/App", APP),
        image_at("/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation", CF),
        image_at(kernel, KERNEL),
        image_at("/usr/lib/system/libxpc.dylib", XPC),
        image_at("/System/Library/PrivateFrameworks/UIKitCore.framework/UIKitCore", UIKIT),
    };
    usp_images_free(images);
    ck_assert_int_eq(usp_images_create(entries, sizeof entries / sizeof *entries, &images), USP_OK);
}

static void set_up(void) {
    memset(&wait_, 0, sizeof wait_);
    make_images("/usr/lib/system/libsystem_kernel.dylib");
}

static void tear_down(void) {
    usp_images_free(images);
    images = NULL;
}

static void learn_usual(void) {
    LEARN(APP + 0x1010, APP + 0x1020, CF_CALLS_OBSERVER, CF_DO_OBSERVERS, CF_RUN_BEFORE, CF_RUN_SPECIFIC,
          UIKIT + 0x1000, APP + 0x1900);
    ck_assert(wait_.is_learned);
}

START_TEST(the_wait) {
    ck_assert(!WAITS(KERNEL + 0x1000, CF_SERVICE_PORT, CF_RUN_WAITS, CF_RUN_SPECIFIC, UIKIT + 0x1000));
    learn_usual();
    ck_assert(WAITS(KERNEL + 0x1000, CF_SERVICE_PORT, CF_RUN_WAITS, CF_RUN_SPECIFIC, UIKIT + 0x1000));
    /* mach_msg calls functions of its own. */
    ck_assert(WAITS(KERNEL + 0x1000, KERNEL + 0x1100, KERNEL + 0x1200, KERNEL + 0x1300, CF_SERVICE_PORT, CF_RUN_WAITS,
                    CF_RUN_SPECIFIC, UIKIT + 0x1000));
    /* A nested loop waits, in any mode. */
    ck_assert(WAITS(KERNEL + 0x1000, CF_SERVICE_PORT, CF_RUN_WAITS, CF_RUN_SPECIFIC, APP + 0x1300, CF + 0x1700,
                    CF_RUN_BEFORE, CF_RUN_SPECIFIC, UIKIT + 0x1000));
    /* A compiler may inline the function that waits for a port. */
    ck_assert(WAITS(KERNEL + 0x1000, CF_RUN_WAITS, CF_RUN_SPECIFIC, UIKIT + 0x1000));
}
END_TEST

START_TEST(no_wait) {
    learn_usual();
    /* The app waits for a message in a function that the loop called. */
    ck_assert(!WAITS(KERNEL + 0x1000, APP + 0x1300, CF + 0x1700, CF_RUN_BEFORE, CF_RUN_SPECIFIC));
    /* The app waits for another process's answer. */
    ck_assert(!WAITS(KERNEL + 0x1000, XPC + 0x1100, APP + 0x1300, CF + 0x1700, CF_RUN_BEFORE, CF_RUN_SPECIFIC));
    ck_assert(!WAITS(KERNEL + 0x1000, CF + 0x2000, APP + 0x1300, CF_CALLS_OBSERVER, CF_DO_OBSERVERS, CF_RUN_BEFORE));
    /* CoreFoundation waits, but not directly below the loop. */
    ck_assert(!WAITS(KERNEL + 0x1000, CF + 0x2000, CF + 0x2100, CF + 0x2200, CF_RUN_SPECIFIC));
    /* The loop runs, and does not wait. */
    ck_assert(!WAITS(CF_SERVICE_PORT, CF_RUN_WAITS, CF_RUN_SPECIFIC, UIKIT + 0x1000));
    ck_assert(!WAITS(APP + 0x1300, CF_RUN_WAITS, CF_RUN_SPECIFIC));
    /* The stack ends early, or in unknown code. */
    ck_assert(!WAITS(KERNEL + 0x1000));
    ck_assert(!WAITS(KERNEL + 0x1000, CF_SERVICE_PORT));
    ck_assert(!WAITS(OUTSIDE, CF_SERVICE_PORT, CF_RUN_WAITS, CF_RUN_SPECIFIC));
    ck_assert(!WAITS(KERNEL + 0x1000, KERNEL + 0x1000, KERNEL + 0x1000, KERNEL + 0x1000, KERNEL + 0x1000,
                     KERNEL + 0x1000, KERNEL + 0x1000, CF_SERVICE_PORT, CF_RUN_WAITS, CF_RUN_SPECIFIC));
    ck_assert(!waits((const usp_addr[]){0}));
}
END_TEST

START_TEST(what_teaches_nothing) {
    LEARN(OUTSIDE, CF_CALLS_OBSERVER);
    LEARN(APP + 0x1010, OUTSIDE, CF_CALLS_OBSERVER);
    LEARN(APP + 0x1010);
    learn((const usp_addr[]){0});
    ck_assert(!wait_.is_learned);
    make_images("/usr/lib/system/libsystem_pthread.dylib");
    LEARN(APP + 0x1010, CF_CALLS_OBSERVER, CF_DO_OBSERVERS);
    ck_assert(!wait_.is_learned);
    /* More callers than the monitor stores. */
    make_images("/Runtime/usr/lib/system/libsystem_sim_kernel_host.dylib");
    LEARN(APP + 0x1010, CF + 0x1001, CF + 0x1002, CF + 0x1003, CF + 0x1004, CF + 0x1005, CF + 0x1006, CF + 0x1007,
          CF + 0x1008, CF + 0x1009, CF + 0x100a);
    ck_assert(wait_.is_learned);
    ck_assert_uint_eq(wait_.count, USPI_LOOP_CALLERS);
    ck_assert(WAITS(KERNEL + 0x1000, CF + 0x1500, CF + 0x1008));
    ck_assert(!WAITS(KERNEL + 0x1000, CF + 0x1500, CF + 0x1009));
    /* A loop that has been learned is not learned again. */
    learn_usual();
    ck_assert(WAITS(KERNEL + 0x1000, CF + 0x1500, CF + 0x1008));
}
END_TEST

int main(void) {
    TCase *waiting = tcase_create("waiting");
    tcase_add_checked_fixture(waiting, set_up, tear_down);
    add_tests(waiting, the_wait, no_wait, what_teaches_nothing);
    return run_suite("loop wait", waiting);
}
