/* SPDX-License-Identifier: MIT */
/* A source of Objective-C metadata: a Mach-O file, or the memory of a process (running, stopped, or a core), which the
 * loader and the runtime have changed. Reads by address and resolves pointers; does not know classes.
 *
 * Addresses are those of the source: as linked in a file, as loaded in memory. */
#ifndef USPI_SYMBOLIZE_OBJC_SOURCE_H
#define USPI_SYMBOLIZE_OBJC_SOURCE_H

#include "lib/images/pointers.h"
#include "lib/object/fixups.h"

struct uspi_objc_source {
    struct uspi_macho_space space;
    struct uspi_fixups fixups; /* for a file */
    unsigned word;             /* bytes of a pointer */
    uint64_t signature_mask;
    usp_addr selectors; /* base of the names in the shared cache's method lists; 0: not known */
};

/* Opens the file or memory of `macho`, which must outlive the source. process: for an image in memory; NULL for a file.
 * On USP_OK, the caller closes *source. Returns as uspi_macho_space_open and uspi_fixups_open do. */
int uspi_objc_source_open(struct uspi_objc_source *source, const struct uspi_macho *macho,
                          const struct uspi_pointers *process);
void uspi_objc_source_close(struct uspi_objc_source *source);

/* Copies n bytes. Returns USP_OK, or the status with which reading failed. */
int uspi_objc_read(const struct uspi_objc_source *source, usp_addr at, void *to, size_t n);

/* Reads the word at an address unchanged. In a file, only words that are plain numbers are meaningful. */
int uspi_objc_word(const struct uspi_objc_source *source, usp_addr at, uint64_t *value);

/* Reads the pointer at an address. In a file, it gives what the pointer will point to; in memory, what it points to,
 * without its signature. Tags in the low bits stay. */
int uspi_objc_pointer(const struct uspi_objc_source *source, usp_addr at, struct uspi_pointer *pointer);

/* Returns the address in a word of memory, without a signature or a tag in the upper bits. */
usp_addr uspi_objc_strip(const struct uspi_objc_source *source, uint64_t value);

/* A string of the metadata: its address, or for the name of an import its offset in the file. */
struct uspi_objc_text {
    uint64_t at;
    bool is_import;
};

/* Finds the bytes of a string. *bytes begins with the string. */
int uspi_objc_text_bytes(const struct uspi_objc_source *source, struct uspi_objc_text text, struct uspi_bytes *bytes);

#endif
