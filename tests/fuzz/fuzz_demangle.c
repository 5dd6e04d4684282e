/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a name for the library's own demanglers: Rust v0, and the shortening of C++ names. Seeds:
 * tests/fuzz/raw_seeds.c. */
#include "lib/demangle/demangle_simple.h"
#include "lib/demangle/rust_v0.h"

#include <unspool/demangle.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[4096];
    char *exact = malloc(size + 1);
    if (exact == NULL) return 0;
    memcpy(exact, data, size);
    exact[size] = '\0';
    for (unsigned simple = 0; simple < 2; simple++) {
        int length = uspi_rust_v0((const char *)data, size, simple != 0, text, sizeof text);
        if (length >= 0 && text[length] != '\0') abort();
    }
    usp_mangling_of(exact);
    size_t before = strlen(exact);
    uspi_demangle_simplify(exact);
    if (strlen(exact) > before) abort();
    free(exact);
    return 0;
}
