/* SPDX-License-Identifier: MIT */
/* Paths of parts of a file, as linkers write them in messages: a member of an archive, LIB.a(MEMBER.o); a section of an
 * unlinked object, FILE.o:(.text.name); and both, LIB.a(MEMBER.o):(.text.name). Such a path can also be a file's plain
 * name. So each reading of it is tried on the files that exist. */
#ifndef USPI_IMAGES_PART_H
#define USPI_IMAGES_PART_H

#include "lib/images/search.h"
#include "lib/object/archive.h"

/* One way to read a path. The names point into the path and are not NUL-terminated. */
struct uspi_part {
    const char *member; /* NULL: none is named */
    size_t member_length;
    const char *section; /* NULL: none is named */
    size_t section_length;
};

/* Tries one way to read a path; `file` is the path of the file that contains the part. USP_ERROR_NOT_FOUND: the file or
 * the part is not there. */
typedef int (*uspi_part_try)(void *context, const char *file, const struct uspi_part *part, struct uspi_error *error);

/* Tries the ways to read a path, first as a plain file name, until `attempt` returns something else than
 * USP_ERROR_NOT_FOUND. Returns what the last attempt returned, or USP_ERROR_NO_MEMORY. With USP_ERROR_NOT_FOUND, *error
 * is about the path as a plain file name. */
int uspi_part_read(const char *path, uspi_part_try attempt, void *context, struct uspi_error *error);

/* Returns whether a member has the part's name. A name followed by " at OFFSET" means the member whose header is at
 * that offset of the file; LLVM's linkers tell members with equal names apart in this way. */
bool uspi_part_is_member(const struct uspi_part *part, const struct uspi_archive *archive,
                         const struct uspi_member *member);

/* Where a file or a member of an archive is expected. */
struct uspi_part_location {
    const char *path;
    /* Offset of the member's header in the file, counted from the beginning of the file even in a slice. 0: `path`
     * is a file, not a member. */
    uint64_t member_offset;
};

/* Opens a file as uspi_search_bundles does. Of a member, the judge gets the member's bytes, and *file is narrowed to
 * them. */
int uspi_part_open(const struct uspi_search *search, struct uspi_part_location place, uspi_judge judge, void *context,
                   struct uspi_file **file, struct uspi_error *error);

#endif
