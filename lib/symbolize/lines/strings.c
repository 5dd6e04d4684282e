/* SPDX-License-Identifier: MIT */
/* See strings.h. */
#include "lib/symbolize/lines/strings.h"

#include <string.h>

const char *uspi_text_at(const struct uspi_texts *texts, const uint8_t *block_text, size_t block_text_size,
                         uint64_t reference) {
    const unsigned kind = (unsigned)(reference & ((1u << USPI_TEXT_KIND_BITS) - 1));
    const uint64_t offset = reference >> USPI_TEXT_KIND_BITS;
    if (kind == 0 || kind >= USPI_TEXT_KINDS) return NULL;
    const uint8_t *bytes = kind == USPI_TEXT_BLOCK ? block_text : texts->of[kind].bytes;
    const size_t size = kind == USPI_TEXT_BLOCK ? block_text_size : texts->of[kind].size;
    if (offset >= size) return NULL;
    /* Nearly all string sections end with a terminator. */
    if (bytes[size - 1] != 0 && memchr(bytes + (size_t)offset, 0, size - (size_t)offset) == NULL) return NULL;
    /* An empty string counts as none. */
    return bytes[(size_t)offset] != 0 ? (const char *)bytes + (size_t)offset : NULL;
}
