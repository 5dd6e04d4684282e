/* SPDX-License-Identifier: MIT */
/* See part.h. */
#include "lib/images/part.h"
#include "lib/images/dsym.h"
#include "lib/object/fat.h"
#include "lib/object/identify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many opening parentheses of a path are tried: file and member names can contain parentheses. */
#define PARENTHESES_MAX 8

static int try_file(const char *path, size_t length, const struct uspi_part *part, uspi_part_try attempt, void *context,
                    struct uspi_error *error) {
    char *file = malloc(length + 1);
    if (file == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", path);
    memcpy(file, path, length);
    file[length] = '\0';
    int status = attempt(context, file, part, error);
    free(file);
    return status;
}

/* Returns the position of the last '(' in the first `length` bytes that is not the first byte; 0: there is none. */
static size_t last_parenthesis(const char *path, size_t length) {
    while (length > 1) {
        if (path[--length] == '(') return length;
    }
    return 0;
}

/* Tries the first `length` bytes of a path as FILE(MEMBER). */
static int try_members(const char *path, size_t length, struct uspi_part *part, uspi_part_try attempt, void *context,
                       struct uspi_error *error) {
    if (length == 0 || path[length - 1] != ')') return USP_ERROR_NOT_FOUND;
    size_t open = length - 1;
    for (unsigned i = 0; i < PARENTHESES_MAX && (open = last_parenthesis(path, open)) > 0; i++) {
        part->member = path + open + 1;
        part->member_length = length - open - 2;
        int status = try_file(path, open, part, attempt, context, error);
        if (status != USP_ERROR_NOT_FOUND) return status;
    }
    part->member = NULL;
    return USP_ERROR_NOT_FOUND;
}

int uspi_part_read(const char *path, uspi_part_try attempt, void *context, struct uspi_error *error) {
    const size_t length = strlen(path);
    struct uspi_part part = {0};
    struct uspi_error other;
    int status = attempt(context, path, &part, error);
    if (status != USP_ERROR_NOT_FOUND || length == 0 || path[length - 1] != ')') return status;
    size_t open = length - 1;
    for (unsigned i = 0; i < PARENTHESES_MAX && status == USP_ERROR_NOT_FOUND; i++) {
        open = last_parenthesis(path, open);
        if (open == 0) break;
        if (path[open - 1] != ':') continue;
        part.section = path + open + 1;
        part.section_length = length - open - 2;
        status = try_file(path, open - 1, &part, attempt, context, &other);
        if (status == USP_ERROR_NOT_FOUND) status = try_members(path, open - 1, &part, attempt, context, &other);
    }
    part.section = NULL;
    if (status == USP_ERROR_NOT_FOUND) status = try_members(path, length, &part, attempt, context, &other);
    if (status != USP_OK && status != USP_ERROR_NOT_FOUND && error != NULL) *error = other;
    return status;
}

bool uspi_part_is_member(const struct uspi_part *part, const struct uspi_archive *archive,
                         const struct uspi_member *member) {
    char at[sizeof " at " + 20];
    const size_t length = strlen(member->name);
    if (part->member_length < length || memcmp(part->member, member->name, length) != 0) return false;
    if (part->member_length == length) return true;
    int written = snprintf(at, sizeof at, " at %" PRIu64, archive->bytes.from + member->offset);
    return written > 0 && part->member_length - length == (size_t)written &&
           memcmp(part->member + length, at, (size_t)written) == 0;
}

/* ---- opening ---- */

struct opening {
    const struct uspi_search *search;
    const struct uspi_part *part;
    uint64_t offset;
    uspi_judge judge;
    void *context;
    struct uspi_file **file;
    struct uspi_bytes found;
};

/* Opens the archive that contains an offset of a file: the file itself, or a slice of a fat file. */
static int open_archive(struct uspi_bytes bytes, uint64_t offset, struct uspi_archive *archive,
                        struct uspi_error *error) {
    struct uspi_fat fat;
    struct uspi_bytes slice;
    if (uspi_identify(bytes) != USPI_FORMAT_FAT) return uspi_archive_open(archive, bytes, error);
    int status = uspi_fat_open(&fat, bytes, error);
    for (uint32_t i = 0; status == USP_OK && i < fat.count; i++) {
        if (uspi_fat_slice(&fat, i, &slice, NULL) != USP_OK) continue;
        if (offset < slice.from || offset - slice.from >= slice.size) continue;
        return uspi_archive_open(archive, slice, error);
    }
    return status == USP_OK ? uspi_bytes_error(error, bytes, 0, USP_ERROR_MISMATCH, "another file than it was")
                            : status;
}

/* A uspi_judge: accepts a file whose member at the offset has the name and is accepted by the caller's judge. */
static int judge_member(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    struct opening *opening = context;
    struct uspi_archive archive;
    struct uspi_member member;
    int status = open_archive(bytes, opening->offset, &archive, error);
    if (status == USP_OK) status = uspi_archive_at(&archive, opening->offset - archive.bytes.from, &member, error);
    if (status != USP_OK) return status;
    if (!uspi_part_is_member(opening->part, &archive, &member)) {
        return uspi_bytes_error(error, member.bytes, 0, USP_ERROR_MISMATCH, "another member than it was");
    }
    opening->found = member.bytes;
    return opening->judge(opening->context, member.bytes, error);
}

/* A uspi_part_try. */
static int open_member(void *context, const char *file, const struct uspi_part *part, struct uspi_error *error) {
    struct opening *opening = context;
    opening->part = part;
    if (part->member == NULL || part->section != NULL) return USP_ERROR_NOT_FOUND;
    int status = uspi_search_bundles(opening->search, file, judge_member, opening, opening->file, error);
    if (status == USP_OK) uspi_file_narrow(*opening->file, opening->found);
    return status;
}

int uspi_part_open(const struct uspi_search *search, struct uspi_part_location place, uspi_judge judge, void *context,
                   struct uspi_file **file, struct uspi_error *error) {
    if (place.member_offset == 0) return uspi_search_bundles(search, place.path, judge, context, file, error);
    struct opening opening = {
        .search = search, .offset = place.member_offset, .judge = judge, .context = context, .file = file};
    *file = NULL;
    uspi_error_set(error, USP_ERROR_NOT_FOUND, "%s: no such file", place.path);
    return uspi_part_read(place.path, open_member, &opening, error);
}
