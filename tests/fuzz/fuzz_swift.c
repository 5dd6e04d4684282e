/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as Swift names, in every style, one after the other with the same demangler. Seeds: the names in
 * tests/demangle/swift_names.txt. */
#include "lib/demangle/swift/swift.h"

#include <unspool/demangle.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Maximum length of a demangled text in bytes (swift.h). */
#define TEXT_MAX (UINT64_C(1) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct uspi_swift *swift;
    if (swift == NULL) swift = uspi_swift_create();
    char *name = malloc(size + 1);
    if (swift == NULL || name == NULL) abort();
    memcpy(name, data, size);
    name[size] = '\0';
    uspi_swift_is_mangled(name);
    free(name);
    for (uint32_t style = USP_DEMANGLE_SIMPLE; style <= USP_DEMANGLE_SHORT; style++) {
        size_t length = 0;
        /* The input has no NUL after it, so a read past its end is found. */
        const char *text = uspi_swift_demangle(swift, (const char *)data, size, style, &length);
        if (text != NULL && length > TEXT_MAX) abort();
    }
    return 0;
}
