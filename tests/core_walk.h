/* SPDX-License-Identifier: MIT */
/* What the tests of cores share: a folder of their own, opening a core, walking its threads. */
#ifndef TESTS_CORE_WALK_H
#define TESTS_CORE_WALK_H

#include <check.h>
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/corefile/core.h"
#include "lib/object/file.h"
#include "tests/core_fixtures.h"

#define FRAMES 64

static char folder[256];

static inline void make_folder(void) {
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/unspool-test-XXXXXX", parent != NULL ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static inline void remove_tree(const char *path) {
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char name[1024];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (unlink(name) != 0) remove_tree(name);
    }
    if (dir != NULL) closedir(dir);
    rmdir(path);
}

static inline void remove_folder(void) { remove_tree(folder); }

/* A path in the folder; valid until the eighth further call. */
static inline const char *in_folder(const char *name) {
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* Opens what must be a core that can be read. */
static inline struct uspi_core *open_core(const char *path, const struct uspi_core_options *options) {
    struct uspi_core *core;
    struct uspi_error error = {0};
    int status = uspi_core_open(path, options, &core, &error);
    ck_assert_msg(status == USP_OK, "%s: %s", usp_strerror(status), error.text);
    return core;
}

static inline struct uspi_core *open_bytes(const struct builder *b, const struct uspi_core_options *options) {
    save(b, in_folder("core"));
    return open_core(in_folder("core"), options);
}

/* Opens what must be refused, with that status and with a sentence that names the file and contains `text`. */
static inline void expect_refused(const struct builder *b, int status, const char *text) {
    struct uspi_core *core;
    struct uspi_error error = {0};
    save(b, in_folder("core"));
    int got = uspi_core_open(in_folder("core"), NULL, &core, &error);
    ck_assert_msg(got == status, "%s instead of %s: %s", usp_strerror(got), usp_strerror(status), error.text);
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

/* One of the core's messages contains the text. */
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

/* The three functions of core_fixtures.h, in each thread. */
static inline void expect_fixture_stacks(const struct uspi_core *core, uint32_t arch, unsigned threads) {
    struct walked w;
    ck_assert_uint_eq(core->arch, arch);
    ck_assert_uint_eq(core->thread_count, threads);
    for (unsigned t = 0; t < threads; t++) {
        walk_thread(core, &core->threads[t], &w);
        ck_assert_msg(w.stack.count == 3, "%u frames, then %s", w.stack.count, usp_stop_string(w.stack.stop));
        for (unsigned f = INNER; f <= OUTER; f++) {
            ck_assert_uint_eq(w.frames[f].pc, behind_call(arch, (enum function)f));
        }
        ck_assert_uint_eq(core->threads[t].stack_low, STACK);
        ck_assert_uint_eq(core->threads[t].stack_high, STACK + STACK_SIZE);
    }
}

/* Bytes of the process at an address, or the status. */
static inline int read_at(const struct uspi_core *core, usp_addr from, void *to, size_t n) {
    struct usp_target target;
    uspi_core_target(core, &target);
    return target.memory.read(target.memory.context, from, to, n);
}

#endif
