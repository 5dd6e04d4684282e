/* SPDX-License-Identifier: MIT */
/* A small program for tests/tool/mappings.sh: waits in functions that the test knows.
 *
 * moves_text [anonymous|file]: replaces its own text by anonymous memory or by another file first, as programs do for
 * large pages. */
#define _GNU_SOURCE 1
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/kept.h"

KEPT static int inner(int n) {
    for (;;) n += pause();
    return n;
}

KEPT static int outer(int n) { return inner(n + 1) + 1; }

/* Finds the mapping of this program's code. */
static size_t find_text(char **start) {
    char line[512], access[8] = "";
    unsigned long low = 0, high = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (maps == NULL) return 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx %7s", &low, &high, access) != 3 || access[2] != 'x') continue;
        if ((uintptr_t)outer >= low && (uintptr_t)outer < high) break;
    }
    fclose(maps);
    *start = (char *)low;
    return high - low;
}

static int move_text(int is_file) {
    char *start;
    const size_t size = find_text(&start);
    const int fd = is_file ? memfd_create("pages", 0) : -1;
    if (size == 0 || (is_file && ftruncate(fd, (off_t)size) != 0)) return 1;
    char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, is_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
    if (copy == MAP_FAILED) return 1;
    memcpy(copy, start, size);
    if (mprotect(copy, size, PROT_READ | PROT_EXEC) != 0) return 1;
    return mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start) == (void *)start ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc > 1 && move_text(strcmp(argv[1], "file") == 0) != 0) return 1;
    printf("ready\n");
    fflush(stdout);
    return outer(argc);
}
