/* SPDX-License-Identifier: MIT */
/* Demangles the names on standard input, one on each line, for the scripts in this folder. Argument: full (default),
 * simple or short. */
#include <stdio.h>
#include <string.h>

#include <unspool/demangle.h>

int main(int argc, char **argv) {
    static char line[1 << 20];
    const char *style = argc > 1 ? argv[1] : "full";
    struct usp_demangler *demangler;
    uint32_t mode = strcmp(style, "simple") == 0  ? USP_DEMANGLE_SIMPLE
                    : strcmp(style, "short") == 0 ? USP_DEMANGLE_SHORT
                                                  : USP_DEMANGLE_FULL;
    if (usp_demangler_create(mode, &demangler) != USP_OK) return 1;
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        puts(usp_demangle(demangler, line));
    }
    usp_demangler_free(demangler);
    return 0;
}
