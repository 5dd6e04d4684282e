/* SPDX-License-Identifier: MIT */
/* Finds the ends of functions of a Mach-O file that gives only some of their starts: it has no LC_FUNCTION_STARTS, and
 * its symbol tables are incomplete. Unwind information does not help, because neighbours that are unwound alike share
 * one entry. So the instructions are decoded. */
#ifndef USPI_SYMBOLIZE_MACHO_ENDS_H
#define USPI_SYMBOLIZE_MACHO_ENDS_H

#include "lib/object/macho_space.h"
#include "lib/symbolize/index/reach.h"
#include "lib/symbolize/macho/code.h"

/* Points to itself: must not be moved after uspi_macho_ends_init. */
struct uspi_macho_ends {
    const struct uspi_macho_code *code;
    const struct uspi_macho_space *space; /* NULL: every function ends where the next one begins */
    struct usp_memory memory;             /* the image's, by address as linked */
    struct uspi_code instructions;
};

/* Prepares to find ends. `space` and `code` are those of `macho`, and must stay as long as *ends is used.
 *   names_all  whether the symbol tables have the functions that are local to the file */
void uspi_macho_ends_init(struct uspi_macho_ends *ends, const struct uspi_macho *macho,
                          const struct uspi_macho_space *space, const struct uspi_macho_code *code, bool names_all);

/* Returns whether a file gives the starts of all of its functions. */
bool uspi_macho_has_starts(const struct uspi_macho *macho);

/* Sets the end of a candidate whose `start` is known. is_thumb: 32-bit ARM, the code is Thumb. */
void uspi_macho_bound(struct uspi_macho_ends *ends, bool is_thumb, struct uspi_gathered_symbol *candidate);

#endif
