/* SPDX-License-Identifier: MIT */
/* Stubs: the few instructions through which Mach-O code calls into other libraries. They have no symbols of their own; the
 * indirect symbol table says which symbol each one leads to.
 * Source: xnu EXTERNAL_HEADERS/mach-o/loader.h, section type S_SYMBOL_STUBS. */
#ifndef USPI_MACHO_STUBS_H
#define USPI_MACHO_STUBS_H

#include "lib/object/macho_symbols.h"

/* Sections of stubs that are looked at; no linker writes more than one for lazy and one for other calls. */
#define USPI_STUB_SECTIONS 8

struct uspi_stub_section {
    usp_addr address; /* as linked */
    uint32_t size;    /* of one stub in bytes */
    uint32_t first;   /* the first one's entry in the indirect symbol table */
    uint32_t count;
};

struct uspi_macho_stubs {
    struct uspi_bytes indirect;
    struct uspi_stub_section sections[USPI_STUB_SECTIONS];
    uint32_t count; /* of sections */
};

/* USP_OK, also when there are none, or what reading failed with. */
int uspi_macho_stubs_open(struct uspi_macho_stubs *stubs, const struct uspi_macho *macho);

/* What the stub with entry `entry` in the indirect symbol table leads to, and where the stub lies. USP_ERROR_NOT_FOUND when
 * no stub has the entry or it names no symbol. */
struct uspi_stub {
    usp_addr address;
    uint32_t size;
    uint32_t symbol; /* in the symbol table */
};
int uspi_macho_stub(const struct uspi_macho_stubs *stubs, uint32_t entry, struct uspi_stub *stub);

#endif
