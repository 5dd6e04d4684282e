/* SPDX-License-Identifier: MIT */
/* A C program that loads a library written in Go, before or after it prepares captures: its argument says which. Go's
 * run-time installs its handler for SIGURG when it is loaded. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <unspool/unspool.h>

int main(int count, char **arguments) {
    int (*work)(int);
    if (count != 3) return 10;
    if (strcmp(arguments[1], "before") == 0 && usp_prepare(NULL) != USP_OK) return 11;
    void *library = dlopen(arguments[2], RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 12;
    }
    *(void **)&work = dlsym(library, "Work");
    return work != NULL ? work(100) : 13;
}
