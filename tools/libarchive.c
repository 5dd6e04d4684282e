/* SPDX-License-Identifier: MIT */
/* Implements libarchive.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/libarchive.h"

#ifdef HAVE_LIBARCHIVE

#include <dlfcn.h>
#include <string.h>

bool load_libarchive(const struct libarchive_function *functions, size_t count) {
#ifdef __APPLE__
    static const char *const names[] = {"libarchive.13.dylib", "libarchive.2.dylib", "/usr/lib/libarchive.2.dylib"};
#else
    static const char *const names[] = {"libarchive.so.13"};
#endif
    void *handle = NULL;
    for (size_t i = 0; handle == NULL && i < sizeof names / sizeof *names; i++) handle = dlopen(names[i], RTLD_NOW);
    for (size_t i = 0; handle != NULL && i < count; i++) {
        void *found = dlsym(handle, functions[i].name);
        if (found == NULL) return false;
        memcpy(functions[i].pointer, &found, sizeof found);
    }
    return handle != NULL;
}

#else

bool load_libarchive(const struct libarchive_function *functions, size_t count) {
    (void)functions, (void)count;
    return false;
}

#endif
