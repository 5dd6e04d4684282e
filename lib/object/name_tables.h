/* SPDX-License-Identifier: MIT */
/* Whether the tables that name code lie in their file, whole, as far as their headers tell: for messages about damaged
 * files. Look-ups do without this, and use what is whole. */
#ifndef USPI_NAME_TABLES_H
#define USPI_NAME_TABLES_H

#include "lib/object/elf.h"
#include "lib/object/macho.h"

/* The section headers, and of each symbol table its entries and names. USP_OK for a file without any; else
 * USP_ERROR_TRUNCATED or USP_ERROR_FORMAT. */
int uspi_elf_check_names(const struct uspi_elf *elf, struct uspi_error *error);

/* The symbol table, its names and the list of function starts; the exports trie, node by node. Returns as above, and
 * USP_ERROR_NO_MEMORY. */
int uspi_macho_check_names(const struct uspi_macho *macho, struct uspi_error *error);

#endif
