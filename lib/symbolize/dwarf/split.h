/* SPDX-License-Identifier: MIT */
/* Split units (DWARF 5, 7.3.2; GNU's before that). The program has a skeleton unit with the addresses. A .dwo file, or
 * a package of many of them (.dwp), has the entries. */
#ifndef USPI_SYMBOLIZE_DWARF_SPLIT_H
#define USPI_SYMBOLIZE_DWARF_SPLIT_H

#include "lib/images/file.h"
#include "lib/symbolize/dwarf/unit.h"

/* The split unit of a skeleton. */
struct uspi_split_unit {
    struct uspi_file *file; /* NULL: the unit is in the package */
    struct uspi_dwarf_file dwarf;
    struct uspi_dwarf_unit unit; /* includes what the skeleton says */
    struct uspi_texts texts;
};

/* A package. All zero: there is none. */
struct uspi_split_package {
    struct uspi_file *file;
    struct uspi_debug_sections sections;
};

/* Opens the package of a program: PATH.dwp. `within` as in uspi_file_open_within. Returns false when there is none. */
bool uspi_split_package_open(struct uspi_split_package *package, const char *path, const char *within);
void uspi_split_package_close(struct uspi_split_package *package);

/* A program whose debug information has skeletons. */
struct uspi_split_program {
    const struct uspi_dwarf_file *dwarf;
    const struct uspi_texts *texts;
    const struct uspi_split_package *package;
    const char *path;
    const char *sysroot; /* a folder below which absolute paths are searched for first; NULL: none */
    bool as_named;       /* paths are searched for as they are, too */
};

/* Finds the split unit of a skeleton, in the package or in the file that the skeleton names. The file is searched for
 * at its path, which may be relative to the skeleton's directory, below the sysroot and as it is, and beside the
 * program. The caller frees *split. Returns USP_OK, USP_ERROR_NOT_FOUND with the reason in *error, or
 * USP_ERROR_NO_MEMORY. */
int uspi_split_open(const struct uspi_split_program *program, const struct uspi_dwarf_unit *skeleton,
                    struct uspi_split_unit **split, struct uspi_error *error);

void uspi_split_free(struct uspi_split_unit *split);

#endif
