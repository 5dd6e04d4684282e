/* SPDX-License-Identifier: MIT */
/* See swift.h. */
#include "lib/demangle/swift/swift.h"

#include "lib/base/region.h"
#include "lib/demangle/swift/name.h"
#include "lib/demangle/swift/old.h"
#include "lib/demangle/swift/print_run.h"

#include <unspool/demangle.h>

#include <stdlib.h>
#include <string.h>

/* The maximum size of a tree in bytes: a fixed part, and a part per byte of the name. The fixed part is needed because
 * one character can mean two thousand elements of a tuple, as C's arrays have them. */
#define TREE_FIXED    (UINT64_C(1) << 20)
#define TREE_PER_BYTE 256u

struct uspi_swift {
    struct uspi_region memory;
    struct uspi_swift_printer printer;
};

struct uspi_swift *uspi_swift_create(void) { return calloc(1, sizeof(struct uspi_swift)); }

void uspi_swift_free(struct uspi_swift *swift) {
    if (swift == NULL) return;
    uspi_region_free(&swift->memory);
    uspi_swift_printer_free(&swift->printer);
    free(swift);
}

const char *uspi_swift_demangle(struct uspi_swift *swift, const char *name, size_t length, uint32_t style,
                                size_t *text_length) {
    unsigned form = 0;
    if (length > USPI_SWIFT_NAME_MAX) return NULL;
    if (style == USP_DEMANGLE_SIMPLE) form = USPI_SWIFT_FORM_SIMPLE;
    if (style == USP_DEMANGLE_SHORT) form = USPI_SWIFT_FORM_SIMPLE | USPI_SWIFT_FORM_SHORT;
    uspi_region_begin(&swift->memory, (size_t)TREE_FIXED + length * TREE_PER_BYTE);
    swift->printer.memory = &swift->memory;
    const struct uspi_swift_node *root = uspi_swift_parse(&swift->memory, name, length);
    if (root == NULL || !uspi_swift_print(&swift->printer, root, form)) return NULL;
    *text_length = swift->printer.length;
    return swift->printer.text;
}

/* ---- recognising Swift names ---- */

static bool begins_with(const char *name, const char *beginning) {
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

bool uspi_swift_is_mangled(const char *name) {
    if (begins_with(name, "@__swiftmacro_")) return true;
    if (begins_with(name, "_T"))
        return begins_with(name, "_T0") ? name[3] != '\0' : uspi_old_is_name(name, strlen(name));
    if (*name == '_') name++;
    return name[0] == '$' && (name[1] == 's' || name[1] == 'S' || name[1] == 'e');
}
