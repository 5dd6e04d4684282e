/* SPDX-License-Identifier: MIT */
/* Paths of parts of a file, as linkers write them in their messages: a member of an archive, LIB.a(MEMBER.o); a section of
 * an unlinked object, FILE.o:(.text.name); and both, LIB.a(MEMBER.o):(.text.name). Any of these can be a file's name as it
 * stands, so that it takes a look at the files to tell. What is in a part is its own format's. */
#ifndef USPI_PART_H
#define USPI_PART_H

#include "lib/images/search.h"
#include "lib/object/archive.h"

/* One way to read a path. The names are in the path, without a terminator. */
struct uspi_part {
    const char *member; /* NULL: none is named */
    size_t member_length;
    const char *section; /* likewise */
    size_t section_length;
};

/* Tries one way to read a path: `file` is the path of the file that has the part. USP_ERROR_NOT_FOUND: it is not there. */
typedef int (*uspi_part_try)(void *context, const char *file, const struct uspi_part *part, struct uspi_error *error);

/* Tries the ways to read a path, as it stands at first, until one of them is not answered by USP_ERROR_NOT_FOUND. Returns the
 * answer; with USP_ERROR_NOT_FOUND, *error is about the path as it stands. USP_ERROR_NO_MEMORY. */
int uspi_part_read(const char *path, uspi_part_try attempt, void *context, struct uspi_error *error);

/* Whether a member has that name. A name behind which " at OFFSET" stands (as LLVM's linkers tell members of one name apart)
 * is that of the member whose header is there, in the file. */
bool uspi_part_is_member(const struct uspi_part *part, const struct uspi_archive *archive,
                         const struct uspi_member *member);

/* Where a file, or a member of one, is said to be. */
struct uspi_part_place {
    const char *path;
    uint64_t
        member_offset; /* of the member's header in its file, the slice of a fat file included; 0: the path is that of a file */
};

/* As uspi_search_open. Of a member the judge gets the bytes, which stand for the file then. */
int uspi_part_open(const struct uspi_search *search, struct uspi_part_place place, uspi_judge judge, void *context,
                   struct uspi_file **file, struct uspi_error *error);

#endif
