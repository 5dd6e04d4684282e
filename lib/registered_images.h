/* SPDX-License-Identifier: MIT */
/* What captures in this process take as it was registered: the list of images, and the rules that were found in their code.
 * The list itself is public (usp_images_register, usp_images_acquire). */
#ifndef USPI_REGISTERED_IMAGES_H
#define USPI_REGISTERED_IMAGES_H

#include "lib/unwind/rule_cache.h"

#include <unspool/capture.h>
#include <unspool/images.h>

/* What usp_prepare_options.table_limit is by default. */
#define USPI_TABLE_LIMIT (UINT64_C(64) << 20)

struct uspi_registered {
    const struct usp_images *images; /* NULL: none yet */
    uint64_t generation;             /* of the loader when the list was made */
    struct uspi_rule_cache *rules;   /* NULL: none are kept */
};

/* Fills *registered with what stays until usp_images_release gets the ticket that is returned. Any time. */
uint32_t uspi_registered_acquire(struct uspi_registered *registered);

/* Makes room for so many rules, 0 for none, in place of what there was; with the same number what was kept stays. USP_OK or
 * USP_ERROR_NO_MEMORY: then none are kept. Not any time. */
int uspi_registered_keep_rules(uint32_t rules);

/* Lets the unwind tables of the images take so many bytes; a list that is there is made anew when that changes. USP_OK or as
 * usp_images_register: then the list stays as it was. Not any time. */
int uspi_registered_limit_tables(uint64_t limit);

/* Fills what belongs here. Not any time. */
void uspi_registered_describe(struct usp_capture_usage *usage);

#endif
