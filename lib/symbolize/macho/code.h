/* SPDX-License-Identifier: MIT */
/* The sections of a Mach-O file that hold code: what lies in none of them has no function's name. */
#ifndef USPI_MACHO_CODE_H
#define USPI_MACHO_CODE_H

#include "lib/object/macho_symbols.h"
#include "lib/object/macho_unwind_info.h"
#include "lib/symbolize/index/index.h"

/* n_sect, by which symbols name their section, is a byte (xnu EXTERNAL_HEADERS/mach-o/nlist.h). */
#define USPI_MACHO_SECTIONS 256

struct uspi_macho_code {
    struct {
        usp_addr low, high;          /* as linked; equal: holds no code */
    } sections[USPI_MACHO_SECTIONS]; /* by number, from 1 */
    uint32_t count;                  /* how many numbers are in use */
};

/* Sections above the highest number that a symbol can give are left out. USP_OK, or what reading failed with. */
int uspi_macho_code_read(const struct uspi_macho *macho, struct uspi_macho_code *code);

/* Whether section `number` holds code and the address. */
bool uspi_macho_code_holds(const struct uspi_macho_code *code, uint32_t number, usp_addr address);

/* Whether any section holds code and the address. */
bool uspi_macho_code_holds_any(const struct uspi_macho_code *code, usp_addr address);

/* Adds what functions end at: the next function's start, named or not (LC_FUNCTION_STARTS, or unwind information where
 * there is none), and the ends of the sections. mask: the bits of a start that are its address. A dSYM has no starts.
 * USP_OK or USP_ERROR_NO_MEMORY; what is damaged bounds nothing behind the damage. */
int uspi_macho_gather_bounds(const struct uspi_macho *macho, const struct uspi_macho_code *code, usp_addr mask,
                             struct uspi_gathering *gathering);

/* The next start out of LC_FUNCTION_STARTS or, where there is none, of unwind information. Begin with all zero. */
struct uspi_macho_next {
    bool has_begun, by_unwind;
    struct uspi_macho_starts starts;
    struct uspi_unwind_starts unwind;
};

/* False behind the last, and behind the first that is damaged. */
bool uspi_macho_next_function(const struct uspi_macho *macho, struct uspi_macho_next *next, usp_addr *start);

/* Adds the ends of the sections as boundaries. */
int uspi_macho_gather_ends(const struct uspi_macho_code *code, struct uspi_gathering *gathering);

#endif
