/* SPDX-License-Identifier: MIT */
/* The DWARF debugging information of one file, with what other files hold of it: the one that several share (dwz,
 * .gnu_debugaltlink), and those of split units (.dwo, .dwp). Tells which units claim which code; their blocks are made by
 * reader.h. */
#ifndef USPI_DWARF_H
#define USPI_DWARF_H

#include "lib/images/file.h"
#include "lib/object/identify.h"
#include "lib/symbolize/dwarf/reader.h"
#include "lib/symbolize/lines/address_map.h"

struct uspi_dwarf;

/* What is known of the file. */
struct uspi_dwarf_options {
    struct uspi_bytes bytes; /* ELF, or Mach-O, thin or fat. Stays as long as the information */
    const uint8_t *uuid;     /* of the Mach-O slice, as for uspi_fat_pick; NULL: by arch */
    uint32_t arch;           /* enum usp_arch, likewise */
    const char *path;        /* of the file: others lie beside it */
    const char *sysroot;     /* a folder below which the files' paths are looked for first; NULL: none */
};

/* Opens it and lists its units. *error tells what was wrong with it, also where the rest can be used (USP_OK), and what was
 * not found. USP_OK, USP_ERROR_NOT_FOUND when there is none, USP_ERROR_NO_MEMORY, or what is wrong with the file. */
int uspi_dwarf_open(const struct uspi_dwarf_options *options, struct uspi_dwarf **dwarf, struct uspi_error *error);

/* NULL is ignored. */
void uspi_dwarf_close(struct uspi_dwarf *dwarf);

/* The units that can have code, by number. */
size_t uspi_dwarf_unit_count(const struct uspi_dwarf *dwarf);

/* The bytes of debugging information that the unit takes: what its block costs to be made. */
uint64_t uspi_dwarf_unit_size(const struct uspi_dwarf *dwarf, size_t unit);

/* What the units claim: the ranges of code of their first entries and those of .debug_aranges, some of which claim too much.
 * unclaimed[i] becomes whether unit i claims none, although it may have code. *ranges is the caller's to free. False when memory lacks. */
bool uspi_dwarf_claims(const struct uspi_dwarf *dwarf, struct uspi_map_range **ranges, size_t *count, bool *unclaimed);

/* Makes a unit's block; returns as uspi_dwarf_read_unit. Split units are opened when they are met, one at a time: other calls
 * for the same unit are kept out by the caller. */
int uspi_dwarf_build(struct uspi_dwarf *dwarf, struct uspi_dwarf_reader *reader, size_t unit, const uint8_t **bytes,
                     size_t *size, struct uspi_error *error);

/* The sections that the strings of a unit's block are in; stays as long as the information. */
const struct uspi_texts *uspi_dwarf_texts(const struct uspi_dwarf *dwarf, size_t unit);

/* The bytes that are held beside the files. */
uint64_t uspi_dwarf_memory(const struct uspi_dwarf *dwarf);

/* The bytes of all debug sections. */
uint64_t uspi_dwarf_size(const struct uspi_dwarf *dwarf);

/* The address of the file's first byte as linked; of a dSYM that of its image. */
usp_addr uspi_dwarf_header_address(const struct uspi_dwarf *dwarf);

#endif
