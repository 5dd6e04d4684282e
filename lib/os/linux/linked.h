/* SPDX-License-Identifier: MIT */
/* Finds the loaded images that stay as long as the process runs: the program, its direct and indirect dependencies,
 * and images linked with -z nodelete. Images loaded by dlopen may be unloaded. */
#ifndef USPI_OS_LINUX_LINKED_H
#define USPI_OS_LINUX_LINKED_H

#include "lib/object/elf.h"

/* Maximum number of names. Further images do not count as linked, which only makes captures slower. */
#define USPI_LINKED_MAX 1024

/* Names of libraries without duplicates, as hashes. */
struct uspi_linked {
    struct {
        uint64_t hash;
        bool is_open; /* an image that stays needs it (DT_NEEDED), and it was not visited yet */
    } names[USPI_LINKED_MAX];
    size_t count;
};

void uspi_linked_init(struct uspi_linked *linked);

/* Visits each image in the loader's order: the program first, and images loaded at start before later ones. Returns
 * whether the image stays.
 *   elf   in memory, relocated
 *   path  as the loader has it; NULL: none */
bool uspi_linked_visit(struct uspi_linked *linked, const struct uspi_elf *elf, const char *path, bool is_program);

#endif
