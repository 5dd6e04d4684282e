/* SPDX-License-Identifier: MIT */
/* The formats of images, as far as their unwind tables are concerned: a function for each locates the tables.
 *
 * A program that is linked statically and captures only stacks of this system contains the format of its system alone:
 * image_tables.c has that one. any_format.c, which the linker takes for uspi_all_table_formats, replaces it by all
 * formats, as arch/any.h does for processors. lib/unwind/readers/kinds.h says who calls that. */
#ifndef USPI_UNWIND_TABLES_FORMATS_H
#define USPI_UNWIND_TABLES_FORMATS_H

#include "lib/images/image_sources.h"
#include "lib/object/gopclntab.h"
#include "lib/unwind/tables/still.h"

/* What is located for one image. */
struct uspi_locating {
    const struct usp_image *image;
    struct uspi_bytes bytes;                 /* the target's memory from the image's address on */
    const struct uspi_image_sources *places; /* where the image's file is searched for; NULL: nowhere */
    struct usp_unwind_tables *tables;        /* to be filled; NULL: not wanted */
    struct uspi_still *still;                /* memory that stays, to be filled; NULL: not wanted */
};

/* Locates the tables of an image. They stay as they were when its headers cannot be read. Returns false when memory is
 * exhausted. */
typedef bool (*uspi_locate_tables)(const struct uspi_locating *locating);

bool uspi_locate_elf_tables(const struct uspi_locating *locating);
bool uspi_locate_macho_tables(const struct uspi_locating *locating);

struct uspi_table_formats {
    uspi_locate_tables elf, macho; /* NULL: not linked */
};

/* Returns the formats that are linked. Defined weakly by image_tables.c, its only user, and by any_format.c.
 * Async-signal-safe. */
const struct uspi_table_formats *uspi_table_formats(void);

/* Returns all formats. */
const struct uspi_table_formats *uspi_all_table_formats(void);

/* Takes over the function table of a loaded Go program. */
static inline void uspi_take_go_table(const struct uspi_go_table *go, struct usp_unwind_tables *tables) {
    tables->go_functions = (struct usp_memory_range){go->bytes.from, go->bytes.size};
    tables->go_text = go->text;
}

#endif
