/* SPDX-License-Identifier: MIT */
/* A temporary folder for a test's files. make_folder and remove_folder are a test case's fixture, or part of it. */
#ifndef TESTS_SUPPORT_FOLDER_H
#define TESTS_SUPPORT_FOLDER_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[256];

static inline void make_folder(void) {
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/unspool-test-XXXXXX", parent != NULL ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

/* Uses a command: a 32-bit program's readdir fails under user-mode emulators, because the host uses 64-bit offsets. */
static inline void remove_folder(void) {
    char command[sizeof folder + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_ne(access(folder, F_OK), 0);
}

/* A path in the folder. Valid until the eighth call after this one. */
static inline const char *in_folder(const char *name) {
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

#endif
