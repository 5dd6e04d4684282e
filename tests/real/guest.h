/* SPDX-License-Identifier: MIT */
/* The stepped program's mappings: its images with their unwind tables, and its memory as the library reads it. Code is
 * cached from one look to the next; all other memory is read again for each moment. */
#ifndef TESTS_REAL_GUEST_H
#define TESTS_REAL_GUEST_H

#include "victim.h"

struct usp_images;

struct guest_mapping {
    usp_addr low, high;
    bool has_file, writable, executable;
};

struct guest_page {
    usp_addr from; /* 1: the entry is empty */
    uint64_t moment;
    bool readable;
    uint8_t bytes[USPI_LEAST_PAGE];
};

#define GUEST_TEXT_PAGES  8192u
#define GUEST_OTHER_PAGES 64u

struct guest {
    const struct victim *victim;
    struct usp_images *images;
    struct uspi_image_tables *tables; /* the unwind tables of `images` */
    struct guest_mapping *mappings;
    size_t mapping_count;
    uint64_t moment;     /* changes whenever the program has run */
    uint64_t generation; /* changes with each new list of images */
    struct guest_page *text, *other;
};

bool guest_init(struct guest *guest, const struct victim *victim);
void guest_free(struct guest *guest);

/* Must be called when the program has run. */
static inline void guest_has_run(struct guest *g) { g->moment++; }

/* Reads the mappings again and, if they have changed, the list of images. Returns false if the program has ended. */
bool guest_look(struct guest *guest);

/* The mapping that holds an address; NULL: there is none. */
const struct guest_mapping *guest_mapping_at(const struct guest *guest, usp_addr address);

/* Reads one word of the program's memory, once for each moment. */
bool guest_load(struct guest *guest, usp_addr from, usp_addr *word);

/* Fills the target's memory and os, but not its unwind tables. */
void guest_describe(struct guest *guest, struct usp_target *target);

/* Whether an unwind table describes the code at an address: where a frame was interrupted (`exact`), or inside a
 * call. */
bool guest_has_table(const struct guest *guest, usp_addr pc, bool exact);

/* Writes "file+0xOFFSET", or the address. */
void guest_place(const struct guest *guest, usp_addr pc, char *text, size_t size);

#endif
