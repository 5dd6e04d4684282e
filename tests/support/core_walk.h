/* SPDX-License-Identifier: MIT */
/* Shared by the tests of cores: opening a core in the test's folder, and walking its threads. */
#ifndef TESTS_SUPPORT_CORE_WALK_H
#define TESTS_SUPPORT_CORE_WALK_H

#include <check.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <unspool/snapshot.h>

#include "lib/corefile/core.h"
#include "lib/images/file.h"
#include "tests/support/core_fixtures.h"
#include "tests/support/folder.h"
#include "tests/support/sanitized.h"
#include "tests/support/under.h"

#define FRAMES 64

/* Opens a core that must be readable. */
static inline struct uspi_core *open_core(const char *path, const struct uspi_core_options *options) {
    struct uspi_core *core;
    struct uspi_error error = {0};
    int status = uspi_core_open(path, options, &core, &error);
    ck_assert_msg(status == USP_OK, "%s: %s", usp_status_string(status), error.text);
    return core;
}

static inline struct uspi_core *open_bytes(const struct builder *b, const struct uspi_core_options *options) {
    save(b, in_folder("core"));
    return open_core(in_folder("core"), options);
}

/* Opens a core that must be refused with this status, and with a message that names the file and contains `text`. */
static inline void expect_refused(const struct builder *b, int status, const char *text) {
    struct uspi_core *core;
    struct uspi_error error = {0};
    save(b, in_folder("core"));
    int got = uspi_core_open(in_folder("core"), NULL, &core, &error);
    ck_assert_msg(got == status, "%s instead of %s: %s", usp_status_string(got), usp_status_string(status), error.text);
    ck_assert_ptr_null(core);
    ck_assert_int_eq(error.status, status);
    ck_assert_msg(strstr(error.text, in_folder("core")) != NULL && strstr(error.text, text) != NULL, "%s", error.text);
}

static inline bool says(const struct uspi_core *core, const char *text) {
    for (size_t i = 0; i < core->message_count; i++) {
        if (strstr(core->messages[i], text) != NULL) return true;
    }
    return false;
}

/* Checks that one of the core's messages contains the text. */
#define EXPECT_SAYS(core, text)                                                                                        \
    ck_assert_msg(says(core, text), "\"%s\" is not said, but %zu other things: %s", text, (core)->message_count,       \
                  (core)->message_count > 0 ? (core)->messages[0] : "")

struct walked {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
};

static inline void walk_thread(const struct uspi_core *core, const struct uspi_core_thread *thread,
                               struct walked *walked) {
    struct usp_target target;
    ck_assert_int_eq(thread->status, USP_OK);
    usp_stack_init(&walked->stack, walked->frames, FRAMES);
    uspi_core_target(core, &target);
    ck_assert_int_eq(usp_unwind(&target, &thread->registers, NULL, &walked->stack), USP_OK);
}

/* Checks that each thread has the three functions of core_fixtures.h. */
static inline void expect_fixture_stacks(const struct uspi_core *core, uint32_t arch, unsigned threads) {
    struct walked w;
    ck_assert_uint_eq(core->arch, arch);
    ck_assert_uint_eq(core->thread_count, threads);
    for (unsigned t = 0; t < threads; t++) {
        walk_thread(core, &core->threads[t], &w);
        ck_assert_msg(w.stack.count == 3, "%u frames, then %s", w.stack.count, usp_stop_reason_string(w.stack.stop));
        for (unsigned f = INNER; f <= OUTER; f++) {
            ck_assert_uint_eq(w.frames[f].pc, after_call(arch, (enum function)f));
        }
        ck_assert_uint_eq(core->threads[t].stack_low, STACK);
        ck_assert_uint_eq(core->threads[t].stack_high, STACK + STACK_SIZE);
    }
}

/* Reads n bytes of the process at an address. Returns the status. */
static inline int read_at(const struct uspi_core *core, usp_addr from, void *to, size_t n) {
    struct usp_target target;
    uspi_core_target(core, &target);
    return target.memory.read(target.memory.context, from, to, n);
}

/* Changes one number of a good core. Checks that `threads` threads are left and that a message contains `text`. */
static inline void expect_said(struct builder *b, size_t offset, unsigned width, uint64_t value, size_t threads,
                               const char *text) {
    uint8_t before[8];
    memcpy(before, b->bytes + offset, width);
    patch(b, offset, width, value);
    struct uspi_core *opened = open_bytes(b, NULL);
    EXPECT_SAYS(opened, text);
    ck_assert_uint_eq(opened->thread_count, threads);
    uspi_core_close(opened);
    memcpy(b->bytes + offset, before, width);
}

static inline void put_byte(FILE *f, size_t offset, int value) {
    ck_assert_int_eq(fseek(f, (long)offset, SEEK_SET), 0);
    ck_assert_int_eq(fputc(value, f), value);
}

/* Opens and walks FOLDER/core, which has one thread. The result must be a status with a message, the thread, or a
 * message about its loss. */
static inline void check_any_core(void) {
    struct uspi_core *opened;
    struct uspi_error error = {0};
    struct walked w;
    if (uspi_core_open(in_folder("core"), NULL, &opened, &error) != USP_OK) {
        ck_assert_ptr_nonnull(strstr(error.text, in_folder("core")));
        return;
    }
    for (size_t t = 0; t < opened->thread_count; t++) {
        if (opened->threads[t].status == USP_OK) walk_thread(opened, &opened->threads[t], &w);
    }
    ck_assert(opened->message_count > 0 || (opened->thread_count == 1 && opened->threads[0].status == USP_OK));
    uspi_core_close(opened);
}

/* Inverts every bit of the first n bytes of a core, or of a part of them (tests/support/under.h), one at a time. From
 * the offset `dense` on it does so only in bytes that are not 0. */
static inline void check_every_bit(const struct builder *b, size_t n, size_t dense) {
    save(b, in_folder("core"));
    FILE *f = fopen(in_folder("core"), "r+b");
    ck_assert_ptr_nonnull(f);
    setvbuf(f, NULL, _IONBF, 0);
    for (size_t byte = 0; byte < n; byte += stride()) {
        if (byte >= dense && b->bytes[byte] == 0) continue;
        for (unsigned bit = 0; bit < 8; bit++) {
            put_byte(f, byte, b->bytes[byte] ^ (1 << bit));
            check_any_core();
        }
        put_byte(f, byte, b->bytes[byte]);
    }
    fclose(f);
}

/* Checks what must be known of a core that is cut at some length. */
typedef void (*cut_check)(const struct uspi_core *core, bool cut);

/* Cuts a core at every length. Below `described` bytes it must be refused. From there on it must be read, with a
 * message that it was cut unless it is whole. */
static inline void check_every_truncation(const struct builder *b, size_t described, cut_check check) {
    save(b, in_folder("core"));
    for (size_t n = b->size + 1; n-- > 0;) {
        struct uspi_core *opened;
        struct uspi_error error = {0};
        bool is_edge = n + 8 > b->size || (n < described + 8 && n + 8 > described);
        if (n % stride() != 0 && !is_edge) continue;
        ck_assert_int_eq(truncate(in_folder("core"), (off_t)n), 0);
        int status = uspi_core_open(in_folder("core"), NULL, &opened, &error);
        ck_assert_msg((status == USP_OK) == (n >= described), "%zu bytes: %s", n, usp_status_string(status));
        if (status != USP_OK) {
            ck_assert_ptr_nonnull(strstr(error.text, in_folder("core")));
            continue;
        }
        bool cut = (opened->flags & USP_SNAPSHOT_TRUNCATED) != 0;
        ck_assert_msg(cut == (n < b->size), "%zu of %zu bytes: cut %d", n, b->size, cut);
        if (cut) EXPECT_SAYS(opened, in_folder("core"));
        check(opened, cut);
        uspi_core_close(opened);
    }
}

#endif
