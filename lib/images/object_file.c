/* SPDX-License-Identifier: MIT */
/* See object_file.h. */
#include "lib/images/object_file.h"

#include "lib/images/part.h"
#include "lib/object/identify.h"

#include <inttypes.h>

/* The maximum number of headers that are read for one image: 8192 object files in an archive of as many. */
#define HEADERS_MAX (UINT64_C(64) << 20)

struct opening {
    const struct uspi_search *search;
    const struct uspi_part *part;
    const struct uspi_object_wanted *wanted;
    struct uspi_file **file;
    struct uspi_bytes found; /* the member */
};

static int refuse_time(struct uspi_bytes bytes, uint64_t modified, uint64_t wanted, struct uspi_error *error) {
    return uspi_bytes_error(error, bytes, 0, USP_ERROR_MISMATCH,
                            "written at %" PRIu64 ", and the linked file is of the one of %" PRIu64, modified, wanted);
}

/* Looks for the member with the wanted name and time in one archive. */
static int find_member(struct opening *opening, struct uspi_bytes bytes, struct uspi_error *error) {
    struct uspi_archive archive;
    struct uspi_member member;
    if (*opening->wanted->headers > HEADERS_MAX) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED, "the image names too many members of archives");
    }
    int status = uspi_archive_open(&archive, bytes, error);
    if (status != USP_OK) return status;
    status = uspi_bytes_error(error, bytes, 0, USP_ERROR_NOT_FOUND, "no member %.*s", (int)opening->part->member_length,
                              opening->part->member);
    for (int got; (got = uspi_archive_next(&archive, &member, NULL)) == 1;) {
        if (!uspi_part_is_member(opening->part, &archive, &member)) continue;
        opening->found = member.bytes;
        status = USP_OK;
        if (opening->wanted->modified == 0 || member.modified == opening->wanted->modified) break;
        /* A later member may have the same name and the wanted time. */
        status = refuse_time(member.bytes, member.modified, opening->wanted->modified, error);
    }
    *opening->wanted->headers += archive.headers;
    return status;
}

/* A uspi_judge for archives: accepts one that has the member. */
static int judge_archive(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    struct opening *opening = context;
    struct uspi_fat fat;
    struct uspi_bytes slice;
    if (uspi_identify(bytes) != USPI_FORMAT_FAT) return find_member(opening, bytes, error);
    int status = uspi_fat_open(&fat, bytes, error);
    if (status != USP_OK) return status;
    status = uspi_bytes_error(error, bytes, 0, USP_ERROR_NOT_FOUND, "no slice for the image's processor");
    for (uint32_t i = 0; i < fat.count && status != USP_OK; i++) {
        struct uspi_macho macho;
        if (uspi_fat_slice(&fat, i, &slice, NULL) != USP_OK) continue;
        int found = find_member(opening, slice, error);
        const bool is_ours = found == USP_OK && uspi_macho_open(&macho, opening->found, NULL) == USP_OK &&
                             uspi_slice_fits(&opening->wanted->slice, macho.arch, macho.variant);
        if (found != USP_OK || is_ours) status = found;
    }
    return status;
}

/* A uspi_judge for object files. open_part checks their modification time. */
static int judge_file(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    (void)context;
    const enum uspi_format format = uspi_identify(bytes);
    if (format == USPI_FORMAT_MACHO || format == USPI_FORMAT_FAT) return USP_OK;
    return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "not a Mach-O object");
}

/* A uspi_part_try. */
static int open_part(void *context, const char *path, const struct uspi_part *part, struct uspi_error *error) {
    struct opening *opening = context;
    opening->part = part;
    if (part->section != NULL) return USP_ERROR_NOT_FOUND;
    if (part->member != NULL) {
        int status = uspi_search_open(opening->search, path, judge_archive, opening, opening->file, error);
        if (status == USP_OK) uspi_file_narrow(*opening->file, opening->found);
        return status;
    }
    int status = uspi_search_open(opening->search, path, judge_file, NULL, opening->file, error);
    if (status != USP_OK || opening->wanted->modified == 0) return status;
    const uint64_t modified = uspi_file_modified(*opening->file);
    if (modified == opening->wanted->modified) return USP_OK;
    status = refuse_time(uspi_file_bytes(*opening->file), modified, opening->wanted->modified, error);
    uspi_file_close(*opening->file);
    *opening->file = NULL;
    return status;
}

int uspi_object_file_open(const struct uspi_search *search, const struct uspi_object_wanted *wanted,
                          struct uspi_file **file, struct uspi_error *error) {
    struct opening opening = {.search = search, .wanted = wanted, .file = file};
    *file = NULL;
    return uspi_part_read(wanted->path, open_part, &opening, error);
}
