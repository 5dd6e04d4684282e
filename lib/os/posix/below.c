/* SPDX-License-Identifier: MIT */
/* See below.h. The links are first resolved by their texts, then the path without links is opened component by
 * component. A component that has become a link meanwhile is refused. */
#define _FILE_OFFSET_BITS 64

#include "lib/os/posix/below.h"
#include "lib/os/posix/jit_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Maximum number of links in a path, as in Linux. */
#define LINKS_MAX 40

int uspi_posix_walk(int root, const char *path) {
    int opened = root;
    while (*path == '/') path++;
    while (*path != '\0') {
        const size_t length = strcspn(path, "/");
        const char *rest = path + length + strspn(path + length, "/");
        const bool leaves = length == 2 && memcmp(path, "..", 2) == 0;
        const int next = leaves ? USP_ERROR_PERMISSION : uspi_posix_open_part(opened, path, *rest != '\0');
        if (opened != root) close(opened);
        if (next < 0) return next;
        opened = next;
        path = rest;
    }
    return opened != root ? opened : USP_ERROR_FORMAT;
}

struct resolving {
    unsigned links;
    char done[PATH_MAX]; /* components that are not links, relative to the root */
    char rest[PATH_MAX]; /* what comes after them */
    char link[PATH_MAX]; /* scratch */
};

/* Removes the last component of what is done. */
static void go_up(struct resolving *r) {
    char *slash = strrchr(r->done, '/');
    *(slash != NULL ? slash : r->done) = '\0';
}

/* Moves n bytes of the rest to what is done. Returns false when the path is too long. */
static bool go_down(struct resolving *r, size_t n) {
    const size_t length = strlen(r->done);
    if (length + n + 2 > sizeof r->done) return false;
    if (length > 0) r->done[length] = '/';
    memcpy(r->done + length + (length > 0), r->rest, n);
    r->done[length + (length > 0) + n] = '\0';
    return true;
}

/* Puts the link's text before the rest, in place of the link. `n` is the length of its text. */
static int follow(struct resolving *r, size_t n, const char *rest) {
    const size_t left = strlen(rest);
    if (++r->links > LINKS_MAX) return USP_ERROR_PERMISSION;
    if (n + left + 2 > sizeof r->rest) return USP_ERROR_NOT_FOUND;
    memmove(r->rest + n + 1, rest, left + 1);
    memcpy(r->rest, r->link, n);
    r->rest[n] = '/';
    if (r->link[0] == '/')
        r->done[0] = '\0';
    else
        go_up(r);
    return USP_OK;
}

/* Resolves the first component of the rest. */
static int resolve_part(int root, struct resolving *r) {
    const size_t n = strcspn(r->rest, "/");
    char *rest = r->rest + n + strspn(r->rest + n, "/");
    if (n == 0 || (n == 1 && r->rest[0] == '.')) {
        memmove(r->rest, rest, strlen(rest) + 1);
        return USP_OK;
    }
    if (n == 2 && memcmp(r->rest, "..", 2) == 0) {
        go_up(r);
        memmove(r->rest, rest, strlen(rest) + 1);
        return USP_OK;
    }
    if (!go_down(r, n)) return USP_ERROR_NOT_FOUND;
    const ssize_t length = readlinkat(root, r->done, r->link, sizeof r->link);
    if (length >= 0) return (size_t)length < sizeof r->link ? follow(r, (size_t)length, rest) : USP_ERROR_NOT_FOUND;
    if (errno == EACCES) return USP_ERROR_PERMISSION;
    if (errno != EINVAL) return USP_ERROR_NOT_FOUND;
    memmove(r->rest, rest, strlen(rest) + 1);
    return USP_OK;
}

int uspi_posix_open_below(int root, const char *path) {
    struct resolving *r = malloc(sizeof *r);
    if (r == NULL) return USP_ERROR_NO_MEMORY;
    const size_t length = strlen(path);
    int status = length < sizeof r->rest ? USP_OK : USP_ERROR_NOT_FOUND;
    r->links = 0;
    r->done[0] = '\0';
    if (status == USP_OK) memcpy(r->rest, path, length + 1);
    while (status == USP_OK && r->rest[0] != '\0') status = resolve_part(root, r);
    if (status == USP_OK) status = uspi_posix_walk(root, r->done);
    free(r);
    return status;
}
