/* SPDX-License-Identifier: MIT */
/* Tests the sizes that callers' structs may have: a struct is accepted from the layout of its first release on, which
 * ends where its reserved space begins, and refused below that. */
#include <stddef.h>
#include <string.h>

#include <unspool/unspool.h>

#include "tests/support/suite.h"

static int ignore(void *context, const char *bytes, size_t size) {
    (void)context, (void)bytes, (void)size;
    return USP_OK;
}

static int read_nothing(void *context, usp_addr from, void *to, size_t size) {
    (void)context, (void)from;
    memset(to, 0, size);
    return USP_OK;
}

/* Defines a function that calls another one with options that are `less` bytes smaller than the first release's. */
#define TRY(name, type, init, ...)                                                                                     \
    static int name(uint32_t less) {                                                                                   \
        struct type options;                                                                                           \
        int status;                                                                                                    \
        init(&options);                                                                                                \
        options.size = (uint32_t)offsetof(struct type, reserved) - less;                                               \
        __VA_ARGS__                                                                                                    \
        return status;                                                                                                 \
    }

/* Calls a function that makes an object, and frees the object. */
#define MAKES(object, call, release)                                                                                   \
    struct object *made = NULL;                                                                                        \
    status = call;                                                                                                     \
    release(made);

TRY(prepare, usp_prepare_options, usp_prepare_options_init, status = usp_prepare(&options);)
TRY(snapshot, usp_snapshot_options, usp_snapshot_options_init,
    MAKES(usp_snapshot, usp_snapshot_create_self(&options, &made), usp_snapshot_free))
TRY(symbolizer, usp_symbolizer_options, usp_symbolizer_options_init,
    MAKES(usp_symbolizer, usp_symbolizer_create(NULL, &options, &made), usp_symbolizer_free))
TRY(builds, usp_builds_options, usp_builds_options_init,
    MAKES(usp_builds, usp_builds_create(&options, &made), usp_builds_free))
TRY(reader, usp_reader_options, usp_reader_options_init,
    MAKES(usp_reader, usp_reader_create(&options, &made), usp_reader_free))
TRY(stack_table, usp_stack_table_options, usp_stack_table_options_init,
    MAKES(usp_stack_table, usp_stack_table_create(&options, &made), usp_stack_table_free))
TRY(profile, usp_profile_options, usp_profile_options_init,
    MAKES(usp_profile, usp_profile_create(&options, &made), usp_profile_free))
TRY(image_file, usp_image_file_options, usp_image_file_options_init,
    MAKES(usp_images, usp_images_open("/dev/null", &options, &made, NULL, 0), usp_images_free))
TRY(format, usp_format_options, usp_format_options_init, {
    struct usp_frame frames[4];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, 4);
    stack.arch = USP_ARCH_X86_64;
    options.style = USP_FORMAT_PLAIN;
    status = usp_format_stack(&stack, NULL, &options, ignore, NULL);
})

TRY(report, usp_report_options, usp_report_options_init, {
    static const char text[] = "0   App  0x0000000100003f60 idle + 4\n";
    struct usp_report *made = NULL;
    if (usp_report_create(NULL, text, sizeof text - 1, &made, NULL, 0) != USP_OK) return USP_ERROR_NO_MEMORY;
    status = usp_report_write(made, &options, ignore, NULL);
    usp_report_free(made);
})

/* Walks with a target and options of the given sizes. */
static int walk(uint32_t target_less, uint32_t options_less) {
    struct usp_registers registers;
    struct usp_frame frames[4];
    struct usp_unwind_options options;
    struct usp_target target;
    struct usp_stack stack;
    usp_target_init(&target, USP_ARCH_X86_64);
    usp_unwind_options_init(&options);
    usp_registers_init(&registers, USP_ARCH_X86_64);
    usp_stack_init(&stack, frames, 4);
    target.memory.read = read_nothing;
    target.size = (uint32_t)offsetof(struct usp_target, reserved) - target_less;
    options.size = (uint32_t)offsetof(struct usp_unwind_options, reserved) - options_less;
    return usp_unwind(&target, &registers, &options, &stack);
}
static int target(uint32_t less) { return walk(less, 0); }
static int unwind(uint32_t less) { return walk(0, less); }

START_TEST(first_release_is_the_least) {
    static const struct {
        const char *name;
        int (*call)(uint32_t less);
    } calls[] = {{"prepare", prepare}, {"snapshot", snapshot},       {"symbolizer", symbolizer}, {"builds", builds},
                 {"reader", reader},   {"stack table", stack_table}, {"profile", profile},       {"format", format},
                 {"target", target},   {"unwind", unwind},           {"image file", image_file}, {"report", report}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const int whole = calls[i].call(0), less = calls[i].call(1);
        ck_assert_msg(whole != USP_ERROR_ARGUMENT && whole != USP_ERROR_NO_MEMORY, "%s: %d", calls[i].name, whole);
        ck_assert_msg(less == USP_ERROR_ARGUMENT, "%s: %d", calls[i].name, less);
    }
}
END_TEST

int main(void) {
    TCase *tcase = tcase_create("sizes");
    add_tests(tcase, first_release_is_the_least);
    return run_suite("sizes", tcase);
}
