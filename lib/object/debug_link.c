/* SPDX-License-Identifier: MIT */
/* See debug_link.h. */
#include "lib/object/debug_link.h"

#include <string.h>

#define POLYNOMIAL UINT32_C(0xedb88320)

int uspi_debug_link_read(const struct uspi_elf *elf, struct uspi_debug_link *link, struct uspi_error *error) {
    struct uspi_elf_section section;
    struct uspi_bytes bytes;
    uint64_t crc;
    int status = uspi_elf_find_section(elf, ".gnu_debuglink", &section, error);
    if (status == USP_OK) {
        status = uspi_bytes_sub(elf->bytes, section.offset, section.size, ".gnu_debuglink", &bytes, error);
    }
    if (status == USP_OK)
        status = uspi_bytes_string(bytes, 0, link->name, sizeof link->name, "debug file's name", error);
    if (status != USP_OK) return status;
    if (link->name[0] == '\0' || strchr(link->name, '/') != NULL) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "\"%s\" is not the name of a debug file",
                                link->name);
    }
    /* The checksum follows the name, aligned to 4 bytes. */
    uint64_t at = (strlen(link->name) + 1 + 3) & ~(uint64_t)3;
    status = uspi_bytes_load(bytes, at, 4, &crc, "debug file's checksum", error);
    if (status == USP_OK) link->crc = (uint32_t)crc;
    return status;
}

/* Makes the tables for four bytes at a time: table k has the remainder of each byte followed by k zero bytes. */
static void make_tables(uint32_t tables[4][256]) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t remainder = i;
        for (unsigned bit = 0; bit < 8; bit++) remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? POLYNOMIAL : 0);
        tables[0][i] = remainder;
    }
    for (unsigned k = 1; k < 4; k++) {
        for (uint32_t i = 0; i < 256; i++) tables[k][i] = tables[k - 1][i] >> 8 ^ tables[0][tables[k - 1][i] & 0xff];
    }
}

int uspi_debug_link_crc(struct uspi_bytes bytes, uint32_t *crc, struct uspi_error *error) {
    uint32_t tables[4][256], value = UINT32_MAX;
    uint8_t piece[4096];
    make_tables(tables);
    for (uint64_t at = 0; at < bytes.size;) {
        size_t n = bytes.size - at < sizeof piece ? (size_t)(bytes.size - at) : sizeof piece, i = 0;
        int status = uspi_bytes_read(bytes, at, piece, n, "file", error);
        if (status != USP_OK) return status;
        for (; n - i >= 4; i += 4) {
            value ^= uspi_le32(piece + i);
            value = tables[3][value & 0xff] ^ tables[2][value >> 8 & 0xff] ^ tables[1][value >> 16 & 0xff] ^
                    tables[0][value >> 24];
        }
        for (; i < n; i++) value = value >> 8 ^ tables[0][(value ^ piece[i]) & 0xff];
        at += n;
    }
    *crc = ~value;
    return USP_OK;
}
