/* SPDX-License-Identifier: MIT */
/* Stubs: the few instructions through which Mach-O code calls into other libraries. They have no symbols of their own.
 * The indirect symbol table gives the symbol to which each one leads.
 * Source: xnu EXTERNAL_HEADERS/mach-o/loader.h, section type S_SYMBOL_STUBS. */
#ifndef USPI_SYMBOLIZE_MACHO_STUBS_H
#define USPI_SYMBOLIZE_MACHO_STUBS_H

#include "lib/object/macho_symbols.h"

/* The maximum number of stub sections. Linkers write at most one for lazy calls and one for others. */
#define USPI_STUB_SECTIONS 8

struct uspi_stub_section {
    usp_addr address; /* as linked */
    uint32_t size;    /* of one stub in bytes */
    uint32_t first;   /* the first stub's entry in the indirect symbol table */
    uint32_t count;
};

struct uspi_macho_stubs {
    struct uspi_bytes indirect;
    struct uspi_stub_section sections[USPI_STUB_SECTIONS];
    uint32_t count; /* of sections */
};

/* Finds the sections of stubs. Returns USP_OK, also when there are none, or the status with which reading failed. */
int uspi_macho_stubs_open(struct uspi_macho_stubs *stubs, const struct uspi_macho *macho);

/* A stub: where it lies and what it leads to. uspi_macho_stub finds the stub of entry `entry` in the indirect symbol
 * table. It returns USP_ERROR_NOT_FOUND when no stub has the entry, or the entry names no symbol. */
struct uspi_stub {
    usp_addr address;
    uint32_t size;
    uint32_t symbol; /* number in the symbol table */
};
int uspi_macho_stub(const struct uspi_macho_stubs *stubs, uint32_t entry, struct uspi_stub *stub);

#endif
