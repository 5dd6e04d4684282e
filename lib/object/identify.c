/* SPDX-License-Identifier: MIT */
/* See identify.h. */
#include "lib/object/identify.h"

#include <string.h>

enum uspi_format uspi_identify(struct uspi_bytes bytes) {
    uint8_t raw[4];
    if (uspi_bytes_read(bytes, 0, raw, sizeof raw, "magic number", NULL) != USP_OK) return USPI_FORMAT_UNKNOWN;
    if (memcmp(raw, "\177ELF", sizeof raw) == 0) return USPI_FORMAT_ELF;
    if (memcmp(raw, "!<ar", sizeof raw) == 0 || memcmp(raw, "!<th", sizeof raw) == 0) return USPI_FORMAT_ARCHIVE;
    /* xnu EXTERNAL_HEADERS/mach-o/loader.h, fat.h. */
    switch (uspi_be32(raw)) {
    case 0xfeedface:
    case 0xfeedfacf:
    case 0xcefaedfe:
    case 0xcffaedfe: return USPI_FORMAT_MACHO;
    case 0xcafebabe:
    case 0xcafebabf: return USPI_FORMAT_FAT;
    default: return USPI_FORMAT_UNKNOWN;
    }
}
