/* SPDX-License-Identifier: MIT */
/* Which of the loaded images stay as long as the process runs: the program, what it was linked with, directly or through
 * those, and what asks for it (-z nodelete). What was loaded by dlopen may go again. */
#ifndef USPI_LINUX_LINKED_H
#define USPI_LINUX_LINKED_H

#include "lib/object/elf.h"

/* With more names than these nothing further is taken for linked: that is only slower. */
#define USPI_LINKED_MAX 1024

/* Names of libraries, each once, by their hashes. */
struct uspi_linked {
    struct {
        uint64_t hash;
        bool is_open; /* wanted by an image that stays (DT_NEEDED), not met yet */
    } names[USPI_LINKED_MAX];
    size_t count;
};

void uspi_linked_init(struct uspi_linked *linked);

/* To be called for each image in the loader's order, in which the program comes first and whatever it was started with
 * before what was loaded later. Returns whether it stays.
 *   elf   in memory, relocated
 *   path  as the loader has it; NULL: none */
bool uspi_linked_visit(struct uspi_linked *linked, const struct uspi_elf *elf, const char *path, bool is_program);

#endif
