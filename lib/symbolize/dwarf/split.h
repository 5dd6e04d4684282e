/* SPDX-License-Identifier: MIT */
/* Split units (DWARF 5, 7.3.2; GNU's before that): the program has a skeleton with the addresses, and a .dwo file, or a
 * package of many of them (.dwp), the entries. */
#ifndef USPI_DWARF_SPLIT_H
#define USPI_DWARF_SPLIT_H

#include "lib/images/file.h"
#include "lib/symbolize/dwarf/unit.h"

/* The other half of a skeleton. */
struct uspi_split_unit {
    struct uspi_file *file; /* NULL: it is the package's */
    struct uspi_dwarf_file dwarf;
    struct uspi_dwarf_unit unit; /* with what the skeleton says */
    struct uspi_texts texts;
};

/* A package; all zero is none. */
struct uspi_split_package {
    struct uspi_file *file;
    struct uspi_debug_sections sections;
};

/* Opens the package of a program: PATH.dwp. False when there is none. */
bool uspi_split_package_open(struct uspi_split_package *package, const char *path);
void uspi_split_package_close(struct uspi_split_package *package);

/* A program whose debugging information has skeletons. */
struct uspi_split_program {
    const struct uspi_dwarf_file *dwarf;
    const struct uspi_texts *texts;
    const struct uspi_split_package *package;
    const char *path;
};

/* Finds the other half of a skeleton, in the package or in the file that the skeleton names: as it is named, below its
 * directory, and beside the program. *split is the caller's to free. USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_NO_MEMORY
 * or what is wrong with the file; *error tells which. */
int uspi_split_open(const struct uspi_split_program *program, const struct uspi_dwarf_unit *skeleton,
                    struct uspi_split_unit **split, struct uspi_error *error);

void uspi_split_free(struct uspi_split_unit *split);

#endif
