/* SPDX-License-Identifier: MIT */
/* Implements folders.h. */
#ifdef HAVE_CONFIG_H
#include "config.h" /* requests the extensions of which nftw is one */
#endif

#include "tools/folders.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool make_folders_of(char *path, mode_t mode) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int made = mkdir(path, mode);
        *slash = '/';
        if (made != 0 && errno != EEXIST) return false;
    }
    return true;
}

static int remove_entry(const char *path, const struct stat *found, int kind, struct FTW *where) {
    (void)found, (void)kind, (void)where;
    remove(path);
    return 0;
}

void remove_folder(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }
