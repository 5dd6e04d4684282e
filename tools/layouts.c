/* SPDX-License-Identifier: MIT */
/* Implements layouts.h: the table of layouts. */
#include "tools/layouts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* %p: the first two digits of the id in lower case; %r: the others; %h: all digits; %U: a UUID divided as by LLDB. */
static const struct {
    const char *pattern;
    bool is_debug;
} layouts[] = {
    /* The unified layout of Sentry's symsorter (symbolicator, docs/advanced/symbol-server-compatibility.md). */
    {"%p/%r/debuginfo", true},
    {"%p/%r/dwarf", true},
    {"%p/%r/breakpad", true},
    /* The cache of debuginfod's clients (debuginfod_find_debuginfo(3), "CACHE"). */
    {"%h/debuginfo", true},
    /* GDB ("Debugging Information in Separate Files"), with the folder .build-id or its contents. */
    {".build-id/%p/%r.debug", true},
    {"%p/%r.debug", true},
    /* LLDB ("File Mapped UUID Directories"): the file of a dSYM, and the program. */
    {"%U", true},
    {"%p/%r/executable", false},
    {"%h/executable", false},
    {".build-id/%p/%r", false},
    {"%p/%r", false},
    {"%U.app", false},
};

_Static_assert(sizeof layouts / sizeof *layouts <= LAYOUTS_MAX, "room for a file of each layout");

/* Two digits for each byte, and the slashes of LLDB's layout. */
#define ID_ROOM (2 * USP_BUILD_ID_MAX + 8)

static void put_digits(char *to, const uint8_t *id, size_t id_size, const char *format, bool is_divided) {
    *to = '\0';
    for (size_t i = 0; i < id_size; i++) {
        /* XXXX/XXXX/XXXX/XXXX/XXXX/XXXXXXXXXXXX */
        if (is_divided && i > 0 && i <= 10 && i % 2 == 0) *to++ = '/';
        to += snprintf(to, 3, format, id[i]);
    }
}

/* Appends the expanded pattern to `to`. Returns false if the pattern is not for ids of this size. */
static bool expand(char *to, size_t capacity, const char *pattern, const uint8_t *id, size_t id_size) {
    char digits[ID_ROOM];
    size_t n = strlen(to);
    for (; *pattern != '\0'; pattern++) {
        if (*pattern != '%') {
            n += (size_t)snprintf(to + n, capacity - n, "%c", *pattern);
            continue;
        }
        const char which = *++pattern;
        if (which == 'U' && id_size != 16) return false;
        put_digits(digits, id, id_size, which == 'U' ? "%02X" : "%02x", which == 'U');
        if (which == 'p') digits[2] = '\0';
        n += (size_t)snprintf(to + n, capacity - n, "%s", which == 'r' ? digits + 2 : digits);
    }
    return true;
}

/* More than the length of any expanded pattern. */
#define PATTERN_ROOM (2 * ID_ROOM + 32)

static char *begin_path(const char *folder, size_t *capacity) {
    *capacity = strlen(folder) + 1 + PATTERN_ROOM;
    char *path = malloc(*capacity);
    if (path != NULL) snprintf(path, *capacity, "%s/", folder);
    return path;
}

size_t layouts_find(const char *folder, const uint8_t *id, size_t id_size, struct layout_file files[LAYOUTS_MAX]) {
    size_t count = 0, capacity;
    struct stat found;
    if (id_size < 2 || id_size > USP_BUILD_ID_MAX) return 0;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        char *path = begin_path(folder, &capacity);
        if (path == NULL) break;
        if (expand(path, capacity, layouts[i].pattern, id, id_size) && stat(path, &found) == 0 &&
            S_ISREG(found.st_mode) && found.st_size > 0) {
            files[count++] = (struct layout_file){path, (uint64_t)found.st_size, layouts[i].is_debug};
        } else {
            free(path);
        }
    }
    return count;
}

char *layouts_unified(const char *folder, const uint8_t *id, size_t id_size, const char *name) {
    size_t capacity;
    char *path =
        id_size >= 2 && id_size <= USP_BUILD_ID_MAX && strlen(name) < 64 ? begin_path(folder, &capacity) : NULL;
    if (path == NULL) return NULL;
    expand(path, capacity, "%p/%r/", id, id_size);
    const size_t n = strlen(path);
    snprintf(path + n, capacity - n, "%s", name);
    return path;
}
