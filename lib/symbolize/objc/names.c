/* SPDX-License-Identifier: MIT */
/* See names.h. */
#include "lib/symbolize/objc/names.h"

#include "lib/base/array.h"

#include <stdlib.h>
#include <string.h>

/* The maximum length of a part of a name. The mangled names of generic Swift classes have some kilobytes. */
#define PART_MAX ((size_t)1 << 16)

struct text {
    char *bytes;
    size_t used, capacity;
};

/* Makes room for n more bytes and a NUL. */
static int make_room(struct text *text, size_t n) {
    const bool has_room = n < SIZE_MAX && uspi_room_for(&text->bytes, &text->capacity, text->used, n + 1, 1);
    return has_room ? USP_OK : USP_ERROR_NO_MEMORY;
}

static int append(struct text *text, const char *piece) {
    size_t n = strlen(piece);
    int status = make_room(text, n);
    if (status != USP_OK) return status;
    memcpy(text->bytes + text->used, piece, n + 1);
    text->used += n;
    return USP_OK;
}

static int append_part(struct text *text, const struct uspi_objc_source *source, struct uspi_objc_text part) {
    struct uspi_bytes bytes;
    size_t n = 64;
    int status = uspi_objc_text_bytes(source, part, &bytes);
    if (status != USP_OK) return status;
    do {
        status = make_room(text, n);
        if (status != USP_OK) return status;
        status = uspi_bytes_string(bytes, 0, text->bytes + text->used, n, "name", NULL);
        n *= 2;
    } while (status == USP_ERROR_FULL && n <= PART_MAX);
    if (status == USP_ERROR_FULL) return USP_ERROR_FORMAT;
    if (status != USP_OK) return status;
    char *name = text->bytes + text->used;
    if (part.is_import) {
        const size_t prefix = strlen(USPI_OBJC_CLASS_SYMBOL);
        if (strncmp(name, USPI_OBJC_CLASS_SYMBOL, prefix) != 0) return USP_ERROR_FORMAT;
        memmove(name, name + prefix, strlen(name + prefix) + 1);
    }
    if (name[0] == '\0') return USP_ERROR_FORMAT;
    text->used += strlen(name);
    return USP_OK;
}

int uspi_objc_format_name(const struct uspi_objc_source *source, const struct uspi_objc_method_name *name, char **text,
                          size_t *length) {
    struct text built = {0};
    int status = append(&built, name->is_class_method ? "+[" : "-[");
    if (status == USP_OK) status = append_part(&built, source, name->class_name);
    if (status == USP_OK && name->category.at != 0) {
        status = append(&built, "(");
        if (status == USP_OK) status = append_part(&built, source, name->category);
        if (status == USP_OK) status = append(&built, ")");
    }
    if (status == USP_OK) status = append(&built, " ");
    if (status == USP_OK) status = append_part(&built, source, (struct uspi_objc_text){.at = name->selector});
    if (status == USP_OK) status = append(&built, "]");
    if (status != USP_OK) {
        free(built.bytes);
        return status;
    }
    *text = built.bytes;
    *length = built.used;
    return USP_OK;
}
