/* SPDX-License-Identifier: MIT */
/* objc_loaded LIBRARY: loads a library made from tests/symbolize/objc_gcc.m and names each of its functions by the
 * runtime of this process. Prints a line for each wrong name; then the exit status is 1. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <unspool/unspool.h>

struct fixture_function {
    const char *name; /* "": not a method */
    void (*code)(void);
};

static unsigned wrong, asked;

static void check(struct usp_symbolizer *symbolizer, const struct fixture_function *function, unsigned offset) {
    struct usp_symbol symbol;
    usp_addr start = (usp_addr)(uintptr_t)function->code;
    if (usp_arch_host() == USP_ARCH_ARMV7) start &= ~(usp_addr)1;
    int status = usp_symbolize(symbolizer, start + offset, &symbol);
    bool is_method = status == USP_OK && symbol.strategy == USP_STRATEGY_OBJC_RUNTIME;
    asked++;
    if (function->name[0] == '\0') {
        /* Any name of the symbol table is right, but not that of the method before it. */
        if (!is_method) return;
    } else if (is_method && strcmp(symbol.name, function->name) == 0 && symbol.offset == offset) {
        return;
    }
    wrong++;
    printf("\"%s\" + %u: found \"%s\" + %u\n", function->name, offset, symbol.name != NULL ? symbol.name : "",
           (unsigned)symbol.offset);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    const struct fixture_function *(*get_functions)(void) =
        (const struct fixture_function *(*)(void))(uintptr_t)dlsym(library, "fixture_functions");
    int (*is_initialized)(void) = (int (*)(void))(uintptr_t)dlsym(library, "fixture_initialized");
    struct usp_symbolizer *symbolizer;
    if (get_functions == NULL || is_initialized == NULL) return 2;
    if (usp_symbolizer_create(NULL, NULL, &symbolizer) != USP_OK) return 2;
    for (const struct fixture_function *function = get_functions(); function->name != NULL; function++) {
        check(symbolizer, function, 0);
        check(symbolizer, function, 2);
    }
    if (is_initialized() != 0) {
        wrong++;
        printf("a class was initialized\n");
    }
    usp_symbolizer_free(symbolizer);
    printf("%s: %u addresses, %u wrong\n", argv[1], asked, wrong);
    return wrong == 0 ? 0 : 1;
}
