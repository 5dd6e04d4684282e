/* SPDX-License-Identifier: MIT */
/* See bytes.h. */
#include "lib/object/bytes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* How many bytes of a file's name a message shows. It shows the name's end, which tells files apart; the rest of the
 * message needs room. */
#define NAME_SHOWN 300

static void write_text(struct uspi_error *error, size_t used, const char *format, va_list arguments) {
    if (used < sizeof error->text) vsnprintf(error->text + used, sizeof error->text - used, format, arguments);
}

int uspi_error_set(struct uspi_error *error, int status, const char *format, ...) {
    if (error == NULL) return status;
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    write_text(error, 0, format, arguments);
    va_end(arguments);
    return status;
}

int uspi_bytes_error(struct uspi_error *error, struct uspi_bytes bytes, uint64_t offset, int status, const char *format,
                     ...) {
    if (error == NULL) return status;
    const char *name = bytes.source->name;
    size_t length = strlen(name);
    const char *shown = length > NAME_SHOWN ? name + (length - NAME_SHOWN) : name;
    int used = snprintf(error->text, sizeof error->text, "%s%s: %s 0x%" PRIx64 ": ", shown != name ? "..." : "", shown,
                        bytes.source->memory ? "address" : "offset", bytes.from + offset);
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    write_text(error, used < 0 ? 0 : (size_t)used, format, arguments);
    va_end(arguments);
    return status;
}

struct uspi_source uspi_source_of_memory(const struct usp_memory *memory, const char *name) {
    return (struct uspi_source){.name = name, .read = memory->read, .context = memory->context, .memory = true};
}

struct uspi_bytes uspi_bytes_at(const struct uspi_source *source, usp_addr from) {
    return (struct uspi_bytes){source, from, UINT64_MAX - from};
}

static int too_short(struct uspi_bytes bytes, uint64_t offset, uint64_t size, const char *what,
                     struct uspi_error *error) {
    if (offset > bytes.size) {
        return uspi_bytes_error(error, bytes, offset, USP_ERROR_TRUNCATED,
                                "%s lies past the end, which is at 0x%" PRIx64, what, bytes.from + bytes.size);
    }
    return uspi_bytes_error(error, bytes, offset, USP_ERROR_TRUNCATED,
                            "%s needs %" PRIu64 " bytes, %" PRIu64 " are left", what, size, bytes.size - offset);
}

int uspi_bytes_sub(struct uspi_bytes whole, uint64_t offset, uint64_t size, const char *what, struct uspi_bytes *part,
                   struct uspi_error *error) {
    if (offset > whole.size || size > whole.size - offset) return too_short(whole, offset, size, what, error);
    *part = (struct uspi_bytes){whole.source, whole.from + offset, size};
    return USP_OK;
}

int uspi_bytes_array(struct uspi_bytes whole, struct uspi_array array, struct uspi_bytes *part,
                     struct uspi_error *error) {
    uint64_t size;
    if (!uspi_product(array.count, array.entry_size, &size)) size = UINT64_MAX;
    return uspi_bytes_sub(whole, array.offset, size, array.what, part, error);
}

/* Fills the window that has a position. Returns false when a byte of it cannot be read. */
static bool fill_window(const struct uspi_source *source, uint64_t from) {
    struct uspi_read_window *window = source->window;
    const bool is_read = source->read(source->context, from, window->bytes, USPI_WINDOW) == USP_OK;
    window->from = from;
    window->size = is_read ? USPI_WINDOW : 0;
    return is_read;
}

/* Returns the n bytes at `offset` in the source's window, valid until the next read. NULL when they are not all in one
 * window, or another byte of it cannot be read. */
static const uint8_t *in_window(struct uspi_bytes bytes, uint64_t offset, size_t n) {
    const struct uspi_read_window *window = bytes.source->window;
    if (window == NULL || offset > bytes.size || n > bytes.size - offset) return NULL;
    /* A window is in one page. */
    const uint64_t at = bytes.from + offset, from = at & ~(uint64_t)(USPI_WINDOW - 1);
    if (n > USPI_WINDOW - (at - from)) return NULL;
    const bool is_there = window->size != 0 && window->from == from;
    return is_there || fill_window(bytes.source, from) ? window->bytes + (size_t)(at - from) : NULL;
}

int uspi_bytes_read(struct uspi_bytes bytes, uint64_t offset, void *to, size_t n, const char *what,
                    struct uspi_error *error) {
    if (offset > bytes.size || n > bytes.size - offset) return too_short(bytes, offset, n, what, error);
    const struct uspi_source *source = bytes.source;
    /* A large copy is not worth a second one in memory. */
    const bool is_direct = n > USPI_BLOCK && source->blocks != NULL && !uspi_source_has(source, bytes.from + offset, n);
    const uint8_t *there = is_direct ? NULL : uspi_bytes_in_place(bytes, offset, n);
    if (there == NULL) there = in_window(bytes, offset, n);
    if (there != NULL) {
        memcpy(to, there, n);
        return USP_OK;
    }
    int status = source->read(source->context, bytes.from + offset, to, n);
    if (status == USP_OK) return USP_OK;
    return uspi_bytes_error(error, bytes, offset, status, "%s: %s", what, usp_status_string(status));
}

int uspi_bytes_load(struct uspi_bytes bytes, uint64_t offset, unsigned width, uint64_t *value, const char *what,
                    struct uspi_error *error) {
    uint8_t copy[8];
    const uint8_t *there = uspi_bytes_in_place(bytes, offset, width);
    if (there == NULL) there = in_window(bytes, offset, width);
    if (there == NULL) {
        const int status = uspi_bytes_read(bytes, offset, copy, width, what, error);
        if (status != USP_OK) return status;
        there = copy;
    }
    switch (width) {
    case 1: *value = there[0]; break;
    case 4: *value = uspi_le32(there); break;
    case 8: *value = uspi_le64(there); break;
    default: *value = uspi_le(there, width);
    }
    return USP_OK;
}

int uspi_bytes_uleb(struct uspi_bytes bytes, uint64_t *offset, uint64_t *value, const char *what,
                    struct uspi_error *error) {
    uint64_t number = 0, at = *offset, byte;
    const uint8_t *there = uspi_bytes_in_place(bytes, at, 1);
    if (there == NULL) there = in_window(bytes, at, 1);
    if (there != NULL && *there < 0x80) { /* fast path: nearly all numbers have one byte */
        *value = *there;
        ++*offset;
        return USP_OK;
    }
    /* Groups of zeros may follow the significant ones; linkers write them to keep a number's width. */
    for (unsigned shift = 0; shift < 128; shift += 7) {
        int status = uspi_bytes_load(bytes, at, 1, &byte, what, error);
        if (status != USP_OK) return status;
        uint64_t group = byte & 0x7f;
        bool fits = group == 0 || (shift < 64 && group << shift >> shift == group);
        if (!fits) break;
        if (shift < 64) number |= group << shift;
        at++;
        if ((byte & 0x80) != 0) continue;
        *value = number;
        *offset = at;
        return USP_OK;
    }
    return uspi_bytes_error(error, bytes, *offset, USP_ERROR_FORMAT, "%s is a number of more than 64 bits", what);
}

int uspi_bytes_sleb(struct uspi_bytes bytes, uint64_t *offset, int64_t *value, const char *what,
                    struct uspi_error *error) {
    uint64_t number = 0, at = *offset, byte;
    /* Groups with copies of the sign may follow the significant ones. */
    for (unsigned shift = 0; shift < 128; shift += 7) {
        int status = uspi_bytes_load(bytes, at, 1, &byte, what, error);
        if (status != USP_OK) return status;
        uint64_t group = byte & 0x7f;
        if (shift < 63) {
            number |= group << shift;
        } else if (shift == 63 && (group == 0 || group == 0x7f)) {
            number |= group << 63;
        } else if (group != (number >> 63 != 0 ? 0x7f : 0)) {
            break;
        }
        at++;
        if ((byte & 0x80) != 0) continue;
        if (shift < 63 && (group & 0x40) != 0) number |= UINT64_MAX << (shift + 7);
        *value = (int64_t)number;
        *offset = at;
        return USP_OK;
    }
    return uspi_bytes_error(error, bytes, *offset, USP_ERROR_FORMAT, "%s is a number of more than 64 bits", what);
}

int uspi_bytes_string(struct uspi_bytes bytes, uint64_t offset, char *to, size_t capacity, const char *what,
                      struct uspi_error *error) {
    /* Read aligned pieces, because memory can end at any page; if a piece is not fully readable, read byte by byte. */
    enum { PIECE = 64 };
    size_t used = 0;
    bool single = false;
    to[0] = '\0';
    while (used + 1 < capacity) {
        if (offset > bytes.size || used >= bytes.size - offset) {
            return uspi_bytes_error(error, bytes, offset, USP_ERROR_TRUNCATED, "%s has no end", what);
        }
        uint64_t n = single ? 1 : PIECE - (bytes.from + offset + used) % PIECE;
        if (n > bytes.size - offset - used) n = bytes.size - offset - used;
        if (n > capacity - 1 - used) n = capacity - 1 - used;
        int status = uspi_bytes_read(bytes, offset + used, to + used, (size_t)n, what, error);
        if (status != USP_OK) {
            to[used] = '\0';
            if (single) return status;
            single = true;
            continue;
        }
        if (memchr(to + used, '\0', (size_t)n) != NULL) return USP_OK;
        used += (size_t)n;
        to[used] = '\0';
    }
    uint64_t terminator;
    if (uspi_bytes_load(bytes, offset + used, 1, &terminator, what, error) == USP_OK && terminator == 0) return USP_OK;
    return uspi_bytes_error(error, bytes, offset, USP_ERROR_FULL, "%s is longer than %zu bytes", what, capacity - 1);
}

/* Brings the string at a position into memory, block by block. The string ends before `end`. */
static bool need_string(const struct uspi_source *source, uint64_t at, uint64_t end) {
    while (at < end) {
        const uint64_t left = USPI_BLOCK - at % USPI_BLOCK, n = left < end - at ? left : end - at;
        if (!uspi_source_need(source, at, n)) return false;
        if (memchr(source->base + (size_t)at, 0, (size_t)n) != NULL) return true;
        at += n;
    }
    return false;
}

static bool is_known(const struct uspi_filled_ranges *filled, uint64_t at, uint64_t end) {
    const uint32_t count = atomic_load_explicit(&filled->count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        if (at >= filled->of[i].from && end <= filled->of[i].end) return true;
    }
    return false;
}

void uspi_bytes_need_whole(struct uspi_bytes bytes) {
    const struct uspi_source *source = bytes.source;
    if (source->blocks == NULL || bytes.size == 0 || bytes.size > SIZE_MAX) return;
    if (is_known(source->filled, bytes.from, bytes.from + bytes.size)) return;
    if (uspi_bytes_in_place(bytes, 0, (size_t)bytes.size) != NULL) {
        source->note(source->context, bytes.from, bytes.size);
    }
}

const char *uspi_bytes_string_in_place(struct uspi_bytes bytes, uint64_t offset) {
    const struct uspi_source *source = bytes.source;
    if (source->base == NULL || offset >= bytes.size) return NULL;
    const uint64_t at = bytes.from + offset, end = bytes.from + bytes.size;
    const bool is_there = source->blocks == NULL || is_known(source->filled, bytes.from, end);
    if (!is_there && !uspi_source_need(source, end - 1, 1)) return NULL;
    if (source->base[(size_t)end - 1] != 0) return NULL;
    if (!is_there && !need_string(source, at, end)) return NULL;
    return (const char *)source->base + (size_t)at;
}

bool uspi_bytes_may_have(struct uspi_bytes bytes, uint8_t value) {
    const uint8_t *first = uspi_bytes_in_place(bytes, 0, (size_t)bytes.size);
    return first == NULL || memchr(first, value, (size_t)bytes.size) != NULL;
}
