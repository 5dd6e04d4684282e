/* SPDX-License-Identifier: MIT */
/* Finds functions of libraries that are not linked, when they are needed, on all our systems: POSIX dlfcn. */
#include "lib/os/os.h"

#include <dlfcn.h>
#include <string.h>

bool uspi_os_find_function(const char *const *libraries, const char *name, uspi_os_function *function) {
    void *found = NULL;
    for (; found == NULL && *libraries != NULL; libraries++) {
        const bool is_loaded = (*libraries)[0] == '\0';
        void *library = is_loaded ? RTLD_DEFAULT : dlopen(*libraries, RTLD_LAZY | RTLD_LOCAL);
        if (library == NULL && !is_loaded) continue;
        found = dlsym(library, name);
        if (found == NULL && !is_loaded) dlclose(library);
    }
    if (found == NULL) return false;
    /* ISO C has no conversion between pointers to objects and to functions; POSIX requires the same representation. */
    memcpy(function, &found, sizeof found);
    return true;
}
