/* SPDX-License-Identifier: MIT */
/* How far the functions of a Mach-O file reach that says of only some of them where they begin: it has no
 * LC_FUNCTION_STARTS, and its table of names is not whole. Unwind information does not tell, because neighbours that are
 * unwound alike share an entry there. What is left are the instructions. */
#ifndef USPI_MACHO_ENDS_H
#define USPI_MACHO_ENDS_H

#include "lib/object/macho_space.h"
#include "lib/symbolize/index/reach.h"
#include "lib/symbolize/macho/code.h"

/* Refers to itself: it is used where it was filled in. */
struct uspi_macho_ends {
    const struct uspi_macho_code *code;
    const struct uspi_macho_space *space; /* NULL: every function ends where the next one begins */
    struct usp_memory memory;             /* the image's, by address as linked */
    struct uspi_code instructions;
};

/* `space` and `code` are those of `macho`, and must stay as long as this is used.
 *   names_all  whether the table has the functions that are local to the file */
void uspi_macho_ends_init(struct uspi_macho_ends *ends, const struct uspi_macho *macho,
                          const struct uspi_macho_space *space, const struct uspi_macho_code *code, bool names_all);

/* Whether a file says where all of its functions begin. */
bool uspi_macho_has_starts(const struct uspi_macho *macho);

/* Sets how far a candidate reaches whose `start` is known. is_thumb: 32-bit ARM, the code is Thumb. */
void uspi_macho_bound(struct uspi_macho_ends *ends, bool is_thumb, struct uspi_candidate *candidate);

#endif
