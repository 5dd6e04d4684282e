/* SPDX-License-Identifier: MIT */
/* The sections of a Mach-O file that hold code. An address in none of them belongs to no function. */
#ifndef USPI_SYMBOLIZE_MACHO_CODE_H
#define USPI_SYMBOLIZE_MACHO_CODE_H

#include "lib/object/macho_symbols.h"
#include "lib/object/macho_unwind_info.h"
#include "lib/symbolize/index/index.h"

/* n_sect, by which symbols name their section, is a byte (xnu EXTERNAL_HEADERS/mach-o/nlist.h). */
#define USPI_MACHO_SECTIONS 256

struct uspi_macho_code {
    struct {
        usp_addr low, high;          /* as linked; equal: holds no code */
    } sections[USPI_MACHO_SECTIONS]; /* by number, from 1 */
    uint32_t count;                  /* one more than the highest number in use */
};

/* Reads the sections. Those above the highest number that a symbol can name are left out. Returns USP_OK, or the status
 * with which reading failed. */
int uspi_macho_code_read(const struct uspi_macho *macho, struct uspi_macho_code *code);

/* Returns whether section `number` holds code and contains the address. */
bool uspi_macho_code_holds(const struct uspi_macho_code *code, uint32_t number, usp_addr address);

/* Returns whether any section with code contains the address. */
bool uspi_macho_code_holds_any(const struct uspi_macho_code *code, usp_addr address);

/* Adds the boundaries at which functions end: the start of each function, named or not (LC_FUNCTION_STARTS or, without
 * it, unwind information), and the end of each section. mask: the bits of a start that are its address. A dSYM has no
 * starts. Returns USP_OK or USP_ERROR_NO_MEMORY. Nothing is read after damage. */
int uspi_macho_gather_bounds(const struct uspi_macho *macho, const struct uspi_macho_code *code, usp_addr mask,
                             struct uspi_gathering *gathering);

/* An iteration over the function starts in LC_FUNCTION_STARTS or, without it, in unwind information. Begin with all
 * zero. */
struct uspi_macho_next {
    bool has_begun, by_unwind;
    struct uspi_macho_starts starts;
    struct uspi_unwind_starts unwind;
};

/* Finds the next function start. Returns false after the last one, and at the first damaged one. */
bool uspi_macho_next_function(const struct uspi_macho *macho, struct uspi_macho_next *next, usp_addr *start);

/* Adds the ends of the sections as boundaries. */
int uspi_macho_gather_ends(const struct uspi_macho_code *code, struct uspi_gathering *gathering);

#endif
