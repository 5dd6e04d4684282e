/* SPDX-License-Identifier: MIT */
/* See archive.h. A member's header is text: name 16 bytes, date 12, owner 6, group 6, mode 8, size 10, "`\n". */
#include "lib/object/archive.h"

#include <string.h>

#define MAGIC      "!<arch>\n"
#define MAGIC_THIN "!<thin>\n"
#define MAGIC_SIZE 8

#define HEADER    60
#define NAME      16
#define DATE_AT   16
#define DATE_SIZE 12
#define SIZE_AT   48
#define SIZE_SIZE 10
#define END_AT    58

/* The maximum number of tables before the first object: COFF has two symbol tables, and the long names. */
#define TABLES_MAX 4

int uspi_archive_open(struct uspi_archive *archive, struct uspi_bytes bytes, struct uspi_error *error) {
    char magic[MAGIC_SIZE];
    int status = uspi_bytes_read(bytes, 0, magic, sizeof magic, "archive", error);
    if (status != USP_OK) return status;
    if (memcmp(magic, MAGIC_THIN, sizeof magic) == 0) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED,
                                "a thin archive: its members are in other files");
    }
    if (memcmp(magic, MAGIC, sizeof magic) != 0) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "not an archive");
    }
    *archive = (struct uspi_archive){.bytes = bytes, .long_names = {bytes.source, 0, 0}, .offset = MAGIC_SIZE};
    return USP_OK;
}

/* Reads a decimal number that is padded with blanks; false when it is not one. */
static bool read_number(const char *text, size_t n, uint64_t *number) {
    size_t i = 0;
    *number = 0;
    for (; i < n && text[i] >= '0' && text[i] <= '9'; i++) *number = *number * 10 + (uint64_t)(text[i] - '0');
    const bool any = i > 0;
    while (i < n && text[i] == ' ') i++;
    return any && i == n;
}

static void set_name(struct uspi_member *member, const char *name, size_t length) {
    if (length > USPI_MEMBER_NAME_MAX) length = USPI_MEMBER_NAME_MAX;
    memcpy(member->name, name, length);
    member->name[length] = '\0';
}

/* Reads a BSD name: the header has "#1/LENGTH", and the member begins with the name, padded with NULs. */
static int read_bsd_name(const char *header, struct uspi_member *member, struct uspi_error *error) {
    uint64_t length;
    struct uspi_bytes name;
    if (!read_number(header + 3, NAME - 3, &length)) {
        return uspi_bytes_error(error, member->bytes, 0, USP_ERROR_FORMAT, "a member without a name");
    }
    int status = uspi_bytes_sub(member->bytes, 0, length, "name of a member", &name, error);
    if (status != USP_OK) return status;
    size_t kept = length > USPI_MEMBER_NAME_MAX ? USPI_MEMBER_NAME_MAX : (size_t)length;
    status = uspi_bytes_read(name, 0, member->name, kept, "name of a member", error);
    if (status != USP_OK) return status;
    member->name[kept] = '\0';
    return uspi_bytes_sub(member->bytes, length, member->bytes.size - length, "member", &member->bytes, error);
}

/* Reads a long System V name: the header has "/OFFSET", an offset in the member of long names, which end in "/\n". */
static int read_long_name(const struct uspi_archive *archive, uint64_t offset, struct uspi_member *member,
                          struct uspi_error *error) {
    char name[USPI_MEMBER_NAME_MAX + 2];
    size_t length = 0;
    while (length < sizeof name) {
        uint64_t byte;
        int status = uspi_bytes_load(archive->long_names, offset + length, 1, &byte, "name of a member", error);
        if (status != USP_OK) return status;
        if (byte == '\n' || byte == '\0') break;
        name[length++] = (char)byte;
    }
    if (length > 0 && name[length - 1] == '/') length--;
    set_name(member, name, length);
    return USP_OK;
}

static int read_name(const struct uspi_archive *archive, const char *header, struct uspi_member *member,
                     struct uspi_error *error) {
    uint64_t offset;
    if (memcmp(header, "#1/", 3) == 0) return read_bsd_name(header, member, error);
    if (header[0] == '/' && read_number(header + 1, NAME - 1, &offset)) {
        return read_long_name(archive, offset, member, error);
    }
    size_t length = NAME;
    while (length > 0 && header[length - 1] == ' ') length--;
    /* System V ends a name with a slash, so that names can contain blanks. "/", "//" and "/SYM64/" are complete
     * names. */
    if (length > 1 && header[0] != '/' && header[length - 1] == '/') length--;
    set_name(member, header, length);
    return USP_OK;
}

static bool is_symbol_table(const char *name) {
    return strcmp(name, "/") == 0 || strcmp(name, "/SYM64/") == 0 || strncmp(name, "__.SYMDEF", 9) == 0;
}

/* Reads the member at archive->offset and advances past it. *is_table: it is a symbol table, the long names or a file
 * of Apple's extended attributes, not an object. Returns as uspi_archive_next. */
static int read_member(struct uspi_archive *archive, struct uspi_member *member, bool *is_table,
                       struct uspi_error *error) {
    const struct uspi_bytes bytes = archive->bytes;
    char header[HEADER];
    uint64_t size;
    if (archive->offset >= bytes.size) return 0;
    archive->headers++;
    int status = uspi_bytes_read(bytes, archive->offset, header, sizeof header, "header of a member", error);
    if (status != USP_OK) return status;
    if (memcmp(header + END_AT, "`\n", 2) != 0 || !read_number(header + SIZE_AT, SIZE_SIZE, &size)) {
        return uspi_bytes_error(error, bytes, archive->offset, USP_ERROR_FORMAT, "not a member's header");
    }
    status = uspi_bytes_sub(bytes, archive->offset + HEADER, size, "member", &member->bytes, error);
    if (status == USP_OK) status = read_name(archive, header, member, error);
    if (status != USP_OK) return status;
    member->offset = archive->offset;
    if (!read_number(header + DATE_AT, DATE_SIZE, &member->modified)) member->modified = 0;
    /* Members begin at even offsets. */
    archive->offset += HEADER + size + (size & 1);
    const bool is_names = strcmp(member->name, "//") == 0;
    if (is_names) archive->long_names = member->bytes;
    *is_table = is_names || is_symbol_table(member->name) || strncmp(member->name, "._", 2) == 0;
    return 1;
}

int uspi_archive_next(struct uspi_archive *archive, struct uspi_member *member, struct uspi_error *error) {
    bool is_table = true;
    int got = 1;
    while (got > 0 && is_table) got = read_member(archive, member, &is_table, error);
    return got;
}

int uspi_archive_at(struct uspi_archive *archive, uint64_t offset, struct uspi_member *member,
                    struct uspi_error *error) {
    bool is_table = true;
    int got = 1;
    /* The long names precede the first object. Each member is found in this way, so a hostile archive's other tables
     * are not read each time. */
    for (unsigned i = 0; i < TABLES_MAX && got > 0 && is_table && archive->offset < offset; i++) {
        got = read_member(archive, member, &is_table, error);
    }
    if (got > 0 && (archive->offset <= offset || !is_table)) {
        archive->offset = offset;
        got = read_member(archive, member, &is_table, error);
    }
    if (got < 0) return got;
    if (got > 0 && !is_table && member->offset == offset) return USP_OK;
    return uspi_bytes_error(error, archive->bytes, offset < archive->bytes.size ? offset : archive->bytes.size,
                            USP_ERROR_NOT_FOUND, "no member");
}
