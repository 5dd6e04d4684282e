/* SPDX-License-Identifier: MIT */
/* Identifies compressed files by their first bytes. */
#ifndef USPI_BASE_PACKER_H
#define USPI_BASE_PACKER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Length of the longest magic number. */
#define USPI_PACKER_MAGIC 6

/* Returns the program that unpacks, with -dc, a file that begins with these bytes; NULL: the file is not compressed. */
static inline const char *uspi_packer_of(const uint8_t *bytes, size_t n) {
    static const struct {
        uint8_t size, magic[USPI_PACKER_MAGIC];
        const char *program;
    } known[] = {
        {4, {0x28, 0xb5, 0x2f, 0xfd}, "zstd"},
        {6, {0xfd, '7', 'z', 'X', 'Z', 0}, "xz"},
        {4, {0x04, 0x22, 0x4d, 0x18}, "lz4"},
        {2, {0x1f, 0x8b}, "gzip"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (n >= known[i].size && memcmp(bytes, known[i].magic, known[i].size) == 0) return known[i].program;
    }
    return NULL;
}

#endif
