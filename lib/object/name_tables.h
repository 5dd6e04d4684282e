/* SPDX-License-Identifier: MIT */
/* Checks whether the tables that name code lie completely in their file, as far as their headers tell: for messages
 * about damaged files. Look-ups do not need this check; they use the tables that are whole. */
#ifndef USPI_OBJECT_NAME_TABLES_H
#define USPI_OBJECT_NAME_TABLES_H

#include "lib/object/elf.h"
#include "lib/object/macho.h"

/* Checks the section headers, and the entries and names of each symbol table. Returns USP_OK (also if there are none),
 * USP_ERROR_TRUNCATED or USP_ERROR_FORMAT. */
int uspi_elf_check_names(const struct uspi_elf *elf, struct uspi_error *error);

/* Checks that the symbol table, its names, the list of function starts and the exports trie lie in the file, and that
 * the trie's root is readable. Damage in other nodes is not reported. Returns what uspi_elf_check_names returns, or
 * USP_ERROR_NO_MEMORY. */
int uspi_macho_check_names(const struct uspi_macho *macho, struct uspi_error *error);

#endif
