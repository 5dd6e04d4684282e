/* SPDX-License-Identifier: MIT */
/* Demangles what stands on standard input, a name a line, for tests/demangle.sh. */
#include <stdio.h>
#include <string.h>

#include <unspool/demangle.h>

int main(int argc, char **argv) {
    static char line[65536];
    struct usp_demangler *demangler;
    bool is_simple = argc > 1 && strcmp(argv[1], "simple") == 0;
    if (usp_demangler_create(is_simple ? USP_DEMANGLE_SIMPLE : USP_DEMANGLE_FULL, &demangler) != USP_OK) return 1;
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        puts(usp_demangle(demangler, line));
    }
    usp_demangler_free(demangler);
    return 0;
}
