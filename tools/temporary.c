/* SPDX-License-Identifier: MIT */
/* Implements temporary.h. */

/* Declares O_TMPFILE. Files beyond 2 GB on 32-bit hosts. */
#define _GNU_SOURCE 1
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "tools/temporary.h"

#include "tools/signals.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *temporary_folder(const char *other) {
    const char *folder = getenv("TMPDIR");
    return folder != NULL && folder[0] != '\0' ? folder : other;
}

int temporary_open(const char *folder) {
#ifdef O_TMPFILE
    const int nameless = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (nameless >= 0) return nameless;
#endif
    const size_t size = strlen(folder) + sizeof "/unspool.XXXXXX";
    char *path = malloc(size);
    if (path == NULL) return -1;
    snprintf(path, size, "%s/unspool.XXXXXX", folder);
    sigset_t former;
    hold_signals(&former);
    const int made = mkstemp(path);
    if (made >= 0) unlink(path);
    let_signals(&former);
    if (made >= 0) fcntl(made, F_SETFD, FD_CLOEXEC);
    free(path);
    return made;
}
