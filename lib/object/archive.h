/* SPDX-License-Identifier: MIT */
/* Reads the members of archives of object files (static libraries) in the formats of BSD and Apple and of System V and
 * GNU. Other files read the members' contents. Sources: macOS ar(5), <mach-o/ranlib.h>; GNU binutils ar.h, System V
 * gABI "Archive Files". */
#ifndef USPI_OBJECT_ARCHIVE_H
#define USPI_OBJECT_ARCHIVE_H

#include "lib/object/bytes.h"

struct uspi_archive {
    struct uspi_bytes bytes;
    struct uspi_bytes long_names; /* System V's member "//"; size 0: not seen yet */
    uint64_t offset;              /* of the next member */
    uint64_t headers;             /* how many were read */
};

/* Opens an archive at its first member. Returns USP_OK, USP_ERROR_FORMAT when it is not an archive,
 * USP_ERROR_UNSUPPORTED when its members are in other files (a thin archive), or what reading failed with. */
int uspi_archive_open(struct uspi_archive *archive, struct uspi_bytes bytes, struct uspi_error *error);

/* The longest member name that is kept, in bytes. File systems of Apple and Linux allow 255. */
#define USPI_MEMBER_NAME_MAX 255

struct uspi_member {
    char name[USPI_MEMBER_NAME_MAX + 1]; /* NUL-terminated, cut if longer */
    struct uspi_bytes bytes;
    uint64_t offset;   /* of its header in the archive */
    uint64_t modified; /* in seconds since 1970; 0: not known */
};

/* Reads the next member. Returns 1, 0 past the last one, or a negative status. Skips tables of symbols and of names,
 * and the files that macOS leaves beside others on foreign file systems (AppleDouble, "._NAME"). */
int uspi_archive_next(struct uspi_archive *archive, struct uspi_member *member, struct uspi_error *error);

/* Reads the member whose header is at `offset`. No member may have been read since the archive was opened. Returns
 * USP_OK, USP_ERROR_NOT_FOUND when no member begins there, or what is wrong with it. */
int uspi_archive_at(struct uspi_archive *archive, uint64_t offset, struct uspi_member *member,
                    struct uspi_error *error);

#endif
