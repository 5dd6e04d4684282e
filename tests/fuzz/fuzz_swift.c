/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a name of Swift, in every style, one name after the other by the same demangler. Seeds: the names of
 * tests/demangle/swift_names.txt. */
#include "lib/demangle/swift/swift.h"

#include <unspool/demangle.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* swift.h: what a text may be long, in bytes. */
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
        /* Without a NUL behind it: code that reads on is found. */
        const char *text = uspi_swift_demangle(swift, (const char *)data, size, style, &length);
        if (text != NULL && length > TEXT_MAX) abort();
    }
    return 0;
}
