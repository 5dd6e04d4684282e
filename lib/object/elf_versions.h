/* SPDX-License-Identifier: MIT */
/* The names of the symbol versions of an ELF file, from .gnu.version_d and .gnu.version_r: linkers write them after the
 * names in .symtab, as name@VERSION or name@@VERSION. Source: LSB Core, "Symbol Versioning". */
#ifndef USPI_OBJECT_ELF_VERSIONS_H
#define USPI_OBJECT_ELF_VERSIONS_H

#include "lib/object/elf.h"

/* All zero means none. */
struct uspi_elf_versions {
    char **names; /* sorted */
    size_t count, capacity;
};

/* Adds the names of all versions in a file. Damaged or missing sections add none. Returns USP_OK or
 * USP_ERROR_NO_MEMORY; the caller clears *versions in both cases. */
int uspi_elf_versions_add(const struct uspi_elf *elf, struct uspi_elf_versions *versions);

/* Returns the length of a symbol's name without its version: up to the last "@" or "@@", if the rest is the name of a
 * version. */
size_t uspi_elf_length_without_version(const struct uspi_elf_versions *versions, const char *name);

void uspi_elf_versions_clear(struct uspi_elf_versions *versions);

#endif
