/* SPDX-License-Identifier: MIT */
/* What dyld does before a program begins: a linked Mach-O file brought into the emulated process, at another address than
 * it was linked for; its pointers fixed up by chained fixups, or by rebase and bind opcodes. Reads the files with the
 * library's own readers (lib/object/); what they do not do, because they look at one pointer at a time, is done here: following
 * the chains, and the opcodes that only a loader needs. */
#ifndef USP_TESTS_APPLE_LOADER_H
#define USP_TESTS_APPLE_LOADER_H

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
    struct uspi_error error; /* what failed */
};

/* Opens the file and maps its segments, with its first byte at `load` (0: where it was linked for); guest_path is what the
 * process's loader calls it. Appends to guest->images. False on a failure, which image->error names. loader_close in both cases. */
bool loader_map(struct loaded_image *image, struct guest *guest, const char *path, usp_addr load,
                const char *guest_path);

/* The address of an exported symbol (with the underscore), with the Thumb bit; 0: there is none. Of a program that is linked
 * statically: of any symbol. */
usp_addr loader_export(const struct loaded_image *image, const char *name);

/* Gives the address for an import; 0: there is none, which fails. */
typedef usp_addr (*loader_import)(void *context, const char *name);

/* Fixes up all pointers. *count becomes how many. */
bool loader_fix_up(struct loaded_image *image, struct guest *guest, loader_import import, void *context,
                   unsigned long *count);

/* The functions that run before main, once the pointers are fixed up; returns how many. */
size_t loader_initialisers(struct loaded_image *image, const struct guest *guest, usp_addr *functions, size_t room);

void loader_close(struct loaded_image *image);

#endif
