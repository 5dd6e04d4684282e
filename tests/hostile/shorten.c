/* SPDX-License-Identifier: MIT */
/* A library that is loaded before others (LD_PRELOAD) and shortens a file while a program reads it: before the program
 * reads or maps the file for the time SHORTEN_AFTER, the file SHORTEN gets SHORTEN_TO bytes. With SHORTEN_AGAIN it gets
 * its old size back, as zeros, before the time after that. Makes repeatable what another program does at any moment. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static long count_of(const char *name) {
    const char *value = getenv(name);
    return value != NULL ? atol(value) : 0;
}

/* Called before a descriptor is read or after it was mapped. */
static void pass(int fd) {
    static int times;
    static off_t size;
    struct stat wanted, used;
    const char *path = getenv("SHORTEN");
    if (path == NULL || stat(path, &wanted) != 0 || fstat(fd, &used) != 0) return;
    if (wanted.st_dev != used.st_dev || wanted.st_ino != used.st_ino) return;
    times++;
    if (times == count_of("SHORTEN_AFTER")) {
        size = wanted.st_size;
        if (truncate(path, count_of("SHORTEN_TO")) != 0) abort();
    } else if (size != 0 && getenv("SHORTEN_AGAIN") != NULL) {
        if (truncate(path, size) != 0) abort();
        size = 0;
    }
}

ssize_t pread64(int fd, void *to, size_t n, off64_t at) {
    ssize_t (*real)(int, void *, size_t, off64_t) =
        (ssize_t(*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
    pass(fd);
    return real(fd, to, n, at);
}

void *mmap64(void *at, size_t n, int protection, int flags, int fd, off64_t from) {
    void *(*real)(void *, size_t, int, int, int, off64_t) =
        (void *(*)(void *, size_t, int, int, int, off64_t))dlsym(RTLD_NEXT, "mmap64");
    void *mapped = real(at, n, protection, flags, fd, from);
    if (fd >= 0) pass(fd);
    return mapped;
}
