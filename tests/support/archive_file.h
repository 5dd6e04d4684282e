/* SPDX-License-Identifier: MIT */
/* Builds archives from members that the test makes. */
#ifndef TESTS_SUPPORT_ARCHIVE_FILE_H
#define TESTS_SUPPORT_ARCHIVE_FILE_H

#include "tests/support/file_builder.h"

#define MEMBER_HEADER 60

static inline void put_archive_magic(struct builder *b) { put_bytes(b, "!<arch>\n", 8); }

/* Puts a member's header. `size` is text, so that it can be invalid. */
static inline void put_member_header(struct builder *b, const char *name, const char *size) {
    char header[MEMBER_HEADER + 1];
    snprintf(header, sizeof header, "%-16.16s%-12s%-6s%-6s%-8s%-10.10s`\n", name, "0", "0", "0", "644", size);
    put_bytes(b, header, MEMBER_HEADER);
}

/* Puts a whole member. Its name is put into the header, which has 16 bytes for it. */
static inline void put_member_of(struct builder *b, const char *name, const void *content, size_t n) {
    char size[32];
    snprintf(size, sizeof size, "%zu", n);
    put_member_header(b, name, size);
    put_bytes(b, content, n);
    if (n % 2 != 0) put_bytes(b, "\n", 1);
}

/* Puts a member with a name that is long or has blanks, in BSD's format. */
static inline void put_bsd_member_of(struct builder *b, const char *name, const void *content, size_t n) {
    char size[32], place[32];
    const size_t length = (strlen(name) + 3) / 4 * 4;
    snprintf(size, sizeof size, "%zu", n + length);
    snprintf(place, sizeof place, "#1/%zu", length);
    put_member_header(b, place, size);
    put_name(b, name, length);
    put_bytes(b, content, n);
    if (n % 2 != 0) put_bytes(b, "\n", 1);
}

#endif
