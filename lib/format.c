/* SPDX-License-Identifier: MIT */
/* Frames as text. Written without stdio, which a signal handler may not call; the names are the caller's. */
#include "arch/backend.h"

#include <unspool/format.h>

#include <limits.h>
#include <string.h>

/* Libc gen/backtrace.c: the image's column, which is also where its name is cut; the width of the index; what stands for
 * no image; and what the shared cache has in place of a local symbol's name. */
#define IMAGE_WIDTH 35
#define INDEX_WIDTH 4
#define NO_IMAGE    "???"
#define REDACTED    "<redacted>"
#define UUID_SIZE   16

/* As much of the text as fits is in the buffer, `length` counts all of it. */
struct text {
    char *buffer;
    size_t size;
    size_t length;
};

struct span {
    const char *bytes;
    size_t length;
};

static void put(struct text *text, const char *bytes, size_t n) {
    if (text->length < text->size) {
        size_t room = text->size - text->length;
        memcpy(text->buffer + text->length, bytes, n < room ? n : room);
    }
    text->length += n;
}

static void put_string(struct text *text, const char *string) { put(text, string, strlen(string)); }

static void put_padded(struct text *text, struct span span, size_t width) {
    put(text, span.bytes, span.length);
    for (size_t i = span.length; i < width; i++) put(text, " ", 1);
}

/* `digits` at least, with zeros in front; base 10 or 16. */
static struct span number(char room[24], uint64_t value, unsigned base, unsigned digits) {
    size_t at = 24;
    do {
        room[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0 || 24 - at < digits);
    return (struct span){room + at, 24 - at};
}

static void put_hex(struct text *text, uint64_t value, unsigned digits) {
    char room[24];
    struct span span = number(room, value, 16, digits);
    put(text, "0x", 2);
    put(text, span.bytes, span.length);
}

static void put_decimal(struct text *text, uint64_t value, size_t width) {
    char room[24];
    put_padded(text, number(room, value, 10, 1), width);
}

/* As uuid_unparse(3) writes it on Darwin. */
static void put_uuid(struct text *text, const uint8_t *uuid) {
    for (unsigned i = 0; i < UUID_SIZE; i++) {
        char hex[2] = {"0123456789ABCDEF"[uuid[i] >> 4], "0123456789ABCDEF"[uuid[i] & 0xf]};
        if (i == 4 || i == 6 || i == 8 || i == 10) put(text, "-", 1);
        put(text, hex, 2);
    }
}

static struct span image_name(const struct usp_symbol *symbol, size_t width) {
    const char *path = symbol->image_path;
    if (path == NULL || path[0] == '\0') return (struct span){NO_IMAGE, strlen(NO_IMAGE)};
    const char *slash = strrchr(path, '/');
    if (slash != NULL) path = slash + 1;
    size_t length = strlen(path);
    return (struct span){path, length < width ? length : width};
}

static void put_offset(struct text *text, const struct uspi_backend *backend, usp_addr pc, usp_addr from) {
    put_string(text, " + ");
    put_decimal(text, (pc - from) & (UINT64_MAX >> (64 - 8 * backend->word)), 0);
}

static void put_call_stack_symbols(struct text *text, const struct uspi_backend *backend, uint32_t index, usp_addr pc,
                                   const struct usp_symbol *symbol) {
    struct span image = image_name(symbol, IMAGE_WIDTH);
    put_decimal(text, index, INDEX_WIDTH);
    put_padded(text, image, IMAGE_WIDTH);
    put_string(text, " ");
    put_hex(text, pc, backend->word * 2u);
    put_string(text, " ");
    usp_addr from = symbol->start;
    if (symbol->name != NULL && symbol->build_id_size == UUID_SIZE && strcmp(symbol->name, REDACTED) == 0) {
        put_uuid(text, symbol->build_id);
        from = symbol->image_load;
    } else if (symbol->name != NULL) {
        put_string(text, symbol->name);
    } else if (symbol->image_path != NULL) {
        put(text, image.bytes, image.length);
        from = symbol->image_load;
    } else {
        put_hex(text, symbol->start, 1);
    }
    put_offset(text, backend, pc, from);
}

static void put_plain(struct text *text, const struct uspi_backend *backend, usp_addr pc,
                      const struct usp_symbol *symbol) {
    if (symbol->name != NULL) {
        put_string(text, symbol->name);
        put_offset(text, backend, pc, symbol->start);
    } else if (symbol->image_path != NULL) {
        struct span image = image_name(symbol, SIZE_MAX);
        put(text, image.bytes, image.length);
        put_offset(text, backend, pc, symbol->image_load);
    } else {
        put_hex(text, pc, backend->word * 2u);
    }
}

int usp_format_frame(char *buffer, size_t size, uint32_t format, uint32_t arch, uint32_t index,
                     const struct usp_frame *frame, const struct usp_symbol *symbol) {
    static const struct usp_symbol none;
    const struct uspi_backend *backend = uspi_backend_find(arch);
    if (backend == NULL || frame == NULL || (buffer == NULL && size != 0)) return USP_ERROR_ARGUMENT;
    if (symbol == NULL) symbol = &none;
    struct text text = {buffer, size, 0};
    switch (format) {
    case USP_FORMAT_CALL_STACK_SYMBOLS: put_call_stack_symbols(&text, backend, index, frame->pc, symbol); break;
    case USP_FORMAT_PLAIN: put_plain(&text, backend, frame->pc, symbol); break;
    default: return USP_ERROR_ARGUMENT;
    }
    if (size > 0) buffer[text.length < size ? text.length : size - 1] = '\0';
    return text.length <= INT_MAX ? (int)text.length : USP_ERROR_ARGUMENT;
}
