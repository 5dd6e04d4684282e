/* SPDX-License-Identifier: MIT */
/* Tells where code of a live process can be: in its images, or in any mapping. An address that is in no mapping is no
 * return address, whatever calls it. Its mappings are listed when such an address is first met, not for each frame. */
#ifndef USPI_SNAPSHOT_MAPPED_CODE_H
#define USPI_SNAPSHOT_MAPPED_CODE_H

#include "lib/os/os.h"

struct uspi_image_tables; /* lib/unwind/tables/image_tables.h */

/* All zero, with the first three fields set: nothing was listed. One thread at a time may use it until it is frozen. */
struct uspi_mapped_code {
    struct uspi_image_tables *tables;
    struct usp_memory live; /* the process's memory now */
    int64_t pid;
    bool is_listed; /* the mappings were listed, or will not be any more */
    struct usp_memory_range *list;
    size_t count, capacity; /* 0: not known */
};

/* Sets a target's callbacks that find images and their tables. `code` must outlive the walk. */
void uspi_mapped_code_describe(struct uspi_mapped_code *code, struct usp_target *target);

/* Makes the next such address list the mappings again. */
void uspi_mapped_code_renew(struct uspi_mapped_code *code);

/* Prevents further listings, so that any number of threads may use it. */
void uspi_mapped_code_freeze(struct uspi_mapped_code *code);

/* Frees the list. */
void uspi_mapped_code_clear(struct uspi_mapped_code *code);

#endif
