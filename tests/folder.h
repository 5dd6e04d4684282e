/* SPDX-License-Identifier: MIT */
/* A temporary folder for a test's files: make_folder and remove_folder are a test case's fixture, or part of it. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
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

/* Takes over the descriptor. */
static inline void remove_contents(int fd) {
    DIR *dir = fdopendir(fd);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (unlinkat(fd, entry->d_name, 0) == 0) continue;
        remove_contents(openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY));
        unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    }
    if (dir != NULL) closedir(dir);
}

static inline void remove_folder(void) {
    remove_contents(open(folder, O_RDONLY | O_DIRECTORY));
    ck_assert_int_eq(rmdir(folder), 0);
}

/* A path in the folder; valid until the eighth further call. */
static inline const char *in_folder(const char *name) {
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

#endif
