/* SPDX-License-Identifier: MIT */
/* See text.h. */
#include "lib/base/text.h"

#include "arch/little_endian.h"

#include <limits.h>
#include <string.h>

struct uspi_text uspi_text_in(char *buffer, size_t size) {
    return (struct uspi_text){.buffer = size > 0 ? buffer : NULL, .size = size > 0 ? size - 1 : 0};
}

int uspi_text_end(struct uspi_text *text) {
    if (text->buffer != NULL) text->buffer[text->used] = '\0';
    return text->length <= INT_MAX ? (int)text->length : USP_ERROR_ARGUMENT;
}

struct uspi_text uspi_text_through(usp_write_function write, void *context, char *buffer, size_t size) {
    return (struct uspi_text){.buffer = buffer, .size = size, .write = write, .context = context};
}

int uspi_text_flush(struct uspi_text *text) {
    if (text->status == USP_OK && text->used > 0) text->status = text->write(text->context, text->buffer, text->used);
    text->used = 0;
    return text->status;
}

void uspi_put(struct uspi_text *text, const char *bytes, size_t n) {
    text->length += n;
    /* Fast path: nearly every piece fits. */
    if (n > 0 && n <= text->size - text->used) {
        memcpy(text->buffer + text->used, bytes, n);
        text->used += n;
        return;
    }
    while (n > 0) {
        size_t capacity = text->size - text->used, part = n < capacity ? n : capacity;
        if (part > 0) memcpy(text->buffer + text->used, bytes, part);
        text->used += part;
        bytes += part;
        n -= part;
        if (text->write == NULL) return;
        if (n > 0 && uspi_text_flush(text) != USP_OK) return;
    }
}

void uspi_put_blanks(struct uspi_text *text, uint64_t length, uint64_t width) {
    static const char blanks[] = "                                ";
    while (length < width) {
        uint64_t missing = width - length;
        size_t n = missing < sizeof blanks - 1 ? (size_t)missing : sizeof blanks - 1;
        uspi_put(text, blanks, n);
        length += n;
    }
}

void uspi_put_padded(struct uspi_text *text, struct uspi_span span, size_t width) {
    uspi_put(text, span.bytes, span.length);
    uspi_put_blanks(text, span.length, width);
}

void uspi_put_right(struct uspi_text *text, struct uspi_span span, size_t width) {
    uspi_put_blanks(text, span.length, width);
    uspi_put(text, span.bytes, span.length);
}

/* Formats a number in base 10 or 16 with leading zeros up to `digits`. */
static struct uspi_span number(char buffer[24], uint64_t value, unsigned base, unsigned digits) {
    size_t at = 24;
    do {
        buffer[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0 || 24 - at < digits);
    return (struct uspi_span){buffer + at, 24 - at};
}

void uspi_put_hex(struct uspi_text *text, uint64_t value, unsigned digits) {
    char buffer[24];
    struct uspi_span span = number(buffer, value, 16, digits);
    uspi_put(text, "0x", 2);
    uspi_put(text, span.bytes, span.length);
}

void uspi_put_decimal(struct uspi_text *text, uint64_t value, size_t width) {
    char buffer[24];
    uspi_put_padded(text, number(buffer, value, 10, 1), width);
}

void uspi_put_uuid(struct uspi_text *text, const uint8_t *uuid) {
    for (unsigned i = 0; i < USPI_UUID_BYTES; i++) {
        char hex[2] = {"0123456789ABCDEF"[uuid[i] >> 4], "0123456789ABCDEF"[uuid[i] & 0xf]};
        if (i == 4 || i == 6 || i == 8 || i == 10) uspi_put(text, "-", 1);
        uspi_put(text, hex, 2);
    }
}

void uspi_put_bytes(struct uspi_text *text, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char hex[2] = {"0123456789abcdef"[bytes[i] >> 4], "0123456789abcdef"[bytes[i] & 0xf]};
        uspi_put(text, hex, 2);
    }
}

size_t uspi_utf8_decode(const char *bytes, size_t n, uint32_t *character) {
    /* UTF-8 by length in bytes: the fixed bits and the value bits of the first byte, and the lowest character of that
     * length. */
    static const struct {
        uint8_t mask, mark;
        uint32_t lowest;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    uint8_t first = (uint8_t)bytes[0];
    for (size_t length = 1; length <= 4 && length <= n; length++) {
        if ((first & forms[length - 1].mask) != forms[length - 1].mark) continue;
        uint32_t value = first & (uint8_t)~forms[length - 1].mask;
        for (size_t i = 1; i < length; i++) {
            if (((uint8_t)bytes[i] & 0xc0) != 0x80) return 0;
            value = value << 6 | ((uint8_t)bytes[i] & 0x3f);
        }
        if (value < forms[length - 1].lowest || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return 0;
        *character = value;
        return length;
    }
    return 0;
}

size_t uspi_utf8_whole(const char *bytes, size_t n) {
    for (size_t back = 1; back < USPI_UTF8_MAX && back <= n; back++) {
        const uint8_t byte = (uint8_t)bytes[n - back];
        if ((byte & 0xc0) == 0x80) continue;
        const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        return length > back ? n - back : n;
    }
    return n;
}

size_t uspi_utf8_encode(uint32_t character, char bytes[USPI_UTF8_MAX]) {
    static const uint8_t firsts[] = {0x00, 0xc0, 0xe0, 0xf0}; /* the bits that tell how many bytes follow */
    size_t following = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    for (size_t i = following; i > 0; i--, character >>= 6) bytes[i] = (char)(0x80 | (character & 0x3f));
    bytes[0] = (char)(firsts[following] | character);
    return following + 1;
}

/* A word of 8 equal bytes. */
#define BYTES(byte) (UINT64_C(0x0101010101010101) * (uint8_t)(byte))

/* Returns nonzero when a byte of the word is smaller than `limit`, which is at most 0x80. Exact if no byte has its
 * highest bit set (Bit Twiddling Hacks, "Determine if a word has a byte less than n"). */
static inline uint64_t byte_below(uint64_t word, uint8_t limit) { return (word - BYTES(limit)) & ~word & BYTES(0x80); }

/* Returns whether 8 bytes are all printable ASCII and not in `special`. */
static inline bool is_plain_word(const char *bytes, const char *special) {
    const uint64_t word = uspi_le64((const uint8_t *)bytes);
    uint64_t found = (word & BYTES(0x80)) | byte_below(word, 0x20) | byte_below(word ^ BYTES(0x7f), 1);
    for (const char *c = special; *c != '\0'; c++) found |= byte_below(word ^ BYTES(*c), 1);
    return found == 0;
}

/* Does what plain_length does, in words of 8 bytes: returns the length of the plain words. The last word may overlap
 * the one before it. */
static inline size_t plain_words(struct uspi_span span, const char *special) {
    size_t n = 0;
    while (span.length - n >= 8 && is_plain_word(span.bytes + n, special)) n += 8;
    const bool is_at_end = span.length >= 8 && span.length - n < 8;
    return is_at_end && is_plain_word(span.bytes + span.length - 8, special) ? span.length : n;
}

/* Returns how many of the first bytes are printable ASCII and not in `special`. Nearly every name consists of such
 * bytes only, and they are written in one piece. */
static inline size_t plain_length(struct uspi_span span, const char *special) {
    uint64_t ends[2] = {0};
    size_t n = plain_words(span, special);
    if (n == span.length) return n;
    for (; *special != '\0'; special++) ends[(uint8_t)*special >> 6 & 1] |= UINT64_C(1) << (*special & 63);
    for (; n < span.length; n++) {
        uint8_t byte = (uint8_t)span.bytes[n];
        if (byte < 0x20 || byte >= 0x7f || (ends[byte >> 6] >> (byte & 63) & 1) != 0) break;
    }
    return n;
}

/* Writes the bytes that need no escaping and removes them from the span. Sets *character to the character that
 * follows and returns its length in bytes; 0 when it is not UTF-8. The span is empty when nothing follows. */
static inline size_t put_plain(struct uspi_text *text, struct uspi_span *span, const char *special,
                               uint32_t *character) {
    size_t plain = plain_length(*span, special);
    *character = 0;
    /* An empty span may have no bytes at all. */
    if (plain > 0) {
        uspi_put(text, span->bytes, plain);
        span->bytes += plain;
        span->length -= plain;
    }
    return span->length > 0 ? uspi_utf8_decode(span->bytes, span->length, character) : 0;
}

/* Returns whether a character changes the direction of the following text, and so what a person reads (Unicode Standard
 * Annex #9, section 2: the explicit formatting characters). Includes LINE and PARAGRAPH SEPARATOR, which precede them
 * in Unicode. */
static bool is_directional(uint32_t character) {
    return character == 0x061c || character == 0x200e || character == 0x200f ||
           (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
}

/* Returns whether a character that put_plain stopped at may not reach a terminal as it is: ASCII, which includes the
 * control characters, their second set (C1), and characters that would reorder the line. */
static bool is_harmful(uint32_t character) { return character < 0xa0 || is_directional(character); }

void uspi_put_harmless(struct uspi_text *text, struct uspi_span span, const char *also) {
    for (;;) {
        uint32_t character;
        size_t length = put_plain(text, &span, also, &character);
        if (span.length == 0) return;
        /* Includes ASCII in `also` and invalid UTF-8, whose character is 0. */
        if (is_harmful(character)) {
            if (length == 0) length = 1;
            for (size_t i = 0; i < length; i++) {
                uspi_put(text, "\\x", 2);
                uspi_put_bytes(text, (const uint8_t *)span.bytes + i, 1);
            }
        } else {
            uspi_put(text, span.bytes, length);
        }
        span.bytes += length;
        span.length -= length;
    }
}

void uspi_put_json_text(struct uspi_text *text, struct uspi_span span) {
    for (;;) {
        uint32_t character;
        size_t length = put_plain(text, &span, "\"\\", &character);
        if (span.length == 0) return;
        if (length == 0) {
            uspi_put_string(text, "\\ufffd");
            length = 1;
        } else if (character == '"' || character == '\\') {
            const char escaped[2] = {'\\', (char)character};
            uspi_put(text, escaped, 2);
        } else if (character == '\t') {
            /* As Apple's systems write it in reports, lines of which are written again. */
            uspi_put_string(text, "\\t");
        } else if (is_harmful(character)) {
            const uint8_t bytes[2] = {(uint8_t)(character >> 8), (uint8_t)character};
            uspi_put_string(text, "\\u");
            uspi_put_bytes(text, bytes, 2);
        } else {
            uspi_put(text, span.bytes, length);
        }
        span.bytes += length;
        span.length -= length;
    }
}

void uspi_put_build_id(struct uspi_text *text, const uint8_t *bytes, uint32_t size) {
    if (size == USPI_UUID_BYTES) {
        uspi_put_uuid(text, bytes);
    } else {
        uspi_put_bytes(text, bytes, size < USP_BUILD_ID_MAX ? size : USP_BUILD_ID_MAX);
    }
}
