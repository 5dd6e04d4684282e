/* SPDX-License-Identifier: MIT */
/* All formats of images: see formats.h. */
#include "lib/unwind/tables/formats.h"

static const struct uspi_table_formats all = {.elf = uspi_locate_elf_tables, .macho = uspi_locate_macho_tables};

const struct uspi_table_formats *uspi_table_formats(void) { return &all; }

const struct uspi_table_formats *uspi_all_table_formats(void) { return &all; }
