/* SPDX-License-Identifier: MIT */
/* Does what dyld does before a program begins: maps a linked Mach-O file into the emulated process at an address that
 * it was not linked for, and fixes up its pointers by chained fixups, or by rebase and bind opcodes. Reads the files
 * with the library's own readers (lib/object/). Those look at one pointer at a time, so this file follows the chains
 * itself, and decodes the opcodes that only a loader needs. */
#ifndef TESTS_APPLE_EMULATED_LOADER_H
#define TESTS_APPLE_EMULATED_LOADER_H

#include "lib/images/file.h"
#include "lib/object/fixups.h"
#include "lib/object/macho_exports.h"
#include "lib/object/macho_space.h"
#include "process.h"

struct loaded_image {
    struct uspi_file *file;
    struct uspi_macho_space space;
    struct uspi_macho_exports exports;
    uint64_t slide;
    struct uspi_error error; /* why a function failed */
};

/* Opens the file and maps its segments, with its first byte at `load`; 0: where it was linked for. guest_path is its
 * path for the process's loader. Appends the image to guest->images. Returns false on a failure, which image->error
 * describes. Call loader_close in both cases. */
bool loader_map(struct loaded_image *image, struct guest *guest, const char *path, usp_addr load,
                const char *guest_path);

/* The address of an exported symbol (with the underscore), with the Thumb bit; 0: there is none. In a program that is
 * linked statically it finds every symbol. */
usp_addr loader_export(const struct loaded_image *image, const char *name);

/* Returns the address for an import; 0: there is none, which is an error. */
typedef usp_addr (*loader_import)(void *context, const char *name);

/* Fixes up all pointers, and sets *count to their number. */
bool loader_fix_up(struct loaded_image *image, struct guest *guest, loader_import import, void *context,
                   unsigned long *count);

/* Gets the functions that run before main, once the pointers are fixed up. Returns how many there are. */
size_t loader_initialisers(struct loaded_image *image, const struct guest *guest, usp_addr *functions, size_t capacity);

void loader_close(struct loaded_image *image);

#endif
