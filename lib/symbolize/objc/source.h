/* SPDX-License-Identifier: MIT */
/* Where Objective-C metadata is read from: a Mach-O file, or the memory of a process (running, stopped, or a core) in which
 * the loader and the runtime have been at work on it. Reads by address and resolves pointers; knows no class.
 *
 * Addresses are those of the source: as linked in a file, as loaded in memory. */
#ifndef USPI_OBJC_SOURCE_H
#define USPI_OBJC_SOURCE_H

#include "lib/images/pointers.h"
#include "lib/object/fixups.h"

struct uspi_objc_source {
    struct uspi_macho_space space;
    struct uspi_fixups fixups; /* of a file */
    unsigned word;             /* bytes of a pointer */
    uint64_t signature_mask;
    usp_addr selectors; /* what names in the shared cache's method lists count from; 0 unknown */
};

/* Opens what `macho` was opened on, file or memory, which must outlive the source. process: of an image in memory, NULL for a file.
 * *source is the caller's to close on USP_OK. Returns as uspi_macho_space_open and uspi_fixups_open. */
int uspi_objc_source_open(struct uspi_objc_source *source, const struct uspi_macho *macho,
                          const struct uspi_pointers *process);
void uspi_objc_source_close(struct uspi_objc_source *source);

/* Copies n bytes. USP_OK, or why they cannot be read. */
int uspi_objc_read(const struct uspi_objc_source *source, usp_addr at, void *to, size_t n);

/* The word at an address as it stands there; in a file only numbers make sense. */
int uspi_objc_word(const struct uspi_objc_source *source, usp_addr at, uint64_t *value);

/* The pointer at an address: in a file what it will point to, in memory what it points to, without its signature. Tags in
 * its low bits stay. */
int uspi_objc_pointer(const struct uspi_objc_source *source, usp_addr at, struct uspi_pointer *pointer);

/* An address out of a stored word of memory, without a signature or a tag in the upper bits. */
usp_addr uspi_objc_strip(const struct uspi_objc_source *source, uint64_t value);

/* A string of the metadata: at an address, or the name of an import at an offset of the file. */
struct uspi_objc_text {
    uint64_t at;
    bool is_import;
};

/* *bytes begins with the string. */
int uspi_objc_text_bytes(const struct uspi_objc_source *source, struct uspi_objc_text text, struct uspi_bytes *bytes);

#endif
