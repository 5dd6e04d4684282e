/* SPDX-License-Identifier: MIT */
/* See strings.h. */
#include "lib/symbolize/lines/strings.h"

#include <string.h>

bool uspi_text_section_set(struct uspi_text_section *section, struct uspi_bytes bytes) {
    *section = (struct uspi_text_section){uspi_bytes_place(bytes), (size_t)bytes.size, bytes};
    return section->bytes != NULL && bytes.size <= SIZE_MAX;
}

bool uspi_text_need(struct uspi_bytes bytes, uint64_t offset) {
    while (offset < bytes.size) {
        const uint64_t in_block = USPI_BLOCK - (bytes.from + offset) % USPI_BLOCK, left = bytes.size - offset;
        const size_t n = (size_t)(in_block < left ? in_block : left);
        const uint8_t *piece = uspi_bytes_in_place(bytes, offset, n);
        if (piece == NULL) return false;
        if (memchr(piece, 0, n) != NULL) return true;
        offset += n;
    }
    return false;
}

const char *uspi_text_at(const struct uspi_texts *texts, const uint8_t *block_text, size_t block_text_size,
                         uint64_t reference) {
    const unsigned kind = (unsigned)(reference & ((1u << USPI_TEXT_KIND_BITS) - 1));
    const uint64_t offset = reference >> USPI_TEXT_KIND_BITS;
    if (kind == 0 || kind >= USPI_TEXT_KINDS) return NULL;
    const uint8_t *bytes = kind == USPI_TEXT_BLOCK ? block_text : texts->of[kind].bytes;
    const size_t size = kind == USPI_TEXT_BLOCK ? block_text_size : texts->of[kind].size;
    if (offset >= size) return NULL;
    const struct uspi_bytes *all = kind == USPI_TEXT_BLOCK ? NULL : &texts->of[kind].all;
    if (all != NULL && all->size != 0) {
        if (!uspi_text_need(*all, offset)) return NULL;
    } else if (bytes[size - 1] != 0 && memchr(bytes + (size_t)offset, 0, size - (size_t)offset) == NULL) {
        /* Nearly all string sections end with a terminator. */
        return NULL;
    }
    /* An empty string counts as none. */
    return bytes[(size_t)offset] != 0 ? (const char *)bytes + (size_t)offset : NULL;
}
