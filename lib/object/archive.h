/* SPDX-License-Identifier: MIT */
/* Archives of object files (static libraries), as BSD and Apple write them and as System V and GNU do: their members, one
 * after the other. What is in a member is its own format's. Sources: macOS ar(5), <mach-o/ranlib.h>; GNU binutils ar.h,
 * System V gABI "Archive Files". */
#ifndef USPI_ARCHIVE_H
#define USPI_ARCHIVE_H

#include "lib/object/bytes.h"

struct uspi_archive {
    struct uspi_bytes bytes;
    struct uspi_bytes long_names; /* System V's member "//"; size 0: none yet */
    uint64_t offset;              /* of the next member */
};

/* Begins with the first member. USP_ERROR_FORMAT when it is no archive, USP_ERROR_UNSUPPORTED when its members are in
 * other files (a thin archive). */
int uspi_archive_open(struct uspi_archive *archive, struct uspi_bytes bytes, struct uspi_error *error);

/* Apple's file systems allow 255 bytes in a name, Linux's as well. */
#define USPI_MEMBER_NAME_MAX 255

struct uspi_member {
    char name[USPI_MEMBER_NAME_MAX + 1]; /* NUL-terminated, cut when longer */
    struct uspi_bytes bytes;
    uint64_t offset;   /* of its header in the archive */
    uint64_t modified; /* in seconds since 1970; 0: not known */
};

/* The next member: 1, or 0 behind the last, or a negative status. Tables of symbols and of names are passed over, and so is
 * what macOS leaves beside files on foreign file systems (AppleDouble, "._NAME"). */
int uspi_archive_next(struct uspi_archive *archive, struct uspi_member *member, struct uspi_error *error);

/* The member whose header is at an offset, of an archive that was opened just now. USP_OK, USP_ERROR_NOT_FOUND when there is
 * none, or what is wrong with it. */
int uspi_archive_at(struct uspi_archive *archive, uint64_t offset, struct uspi_member *member,
                    struct uspi_error *error);

#endif
