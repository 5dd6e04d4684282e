/* SPDX-License-Identifier: MIT */
/* What walks of this process's stacks know of its code: the images, their unwind tables, which memory stays, and the rules that
 * earlier walks have found. Made of each list of images (lib/images/own_images.h), published and freed with it. */
#ifndef USPI_OWN_CODE_H
#define USPI_OWN_CODE_H

#include "lib/unwind/rule_cache/kept_rules.h"
#include "lib/unwind/tables/image_tables.h"

/* What usp_prepare_options.table_limit is by default. */
#define USPI_TABLE_LIMIT (UINT64_C(64) << 20)

struct uspi_own_code {
    const struct usp_images *images;  /* NULL: none yet */
    uint64_t generation;              /* of the list; 0: none */
    struct uspi_image_tables *tables; /* NULL: usp_prepare was not called */
    struct uspi_rule_cache *rules;    /* NULL: none are kept */
};

/* Fills *code with what was published last; it stays until usp_images_release gets the ticket that is returned.
 * Async-signal-safe. */
uint32_t uspi_own_code_enter(struct uspi_own_code *code);

/* Gives a target the tables, and a walk what it may use. Async-signal-safe. */
void uspi_own_code_describe(const struct uspi_own_code *code, struct usp_target *target,
                            struct uspi_shortcuts *shortcuts);

/* Publishes what captures need of the images that are loaded now, if that is published at all (usp_prepare,
 * usp_images_refresh) and something was loaded or unloaded since. A loader that never rests gets half of `timeout` (ns); then
 * what was published last stays. Returns what is left of the timeout, half of it at least: the unwind tables of new images may
 * take longer. Not async-signal-safe. */
uint64_t uspi_own_code_notice(uint64_t timeout);

/* The same until `deadline` (usp_clock), and gives the list and its tables (NULL: none), which the caller frees. Where nothing
 * newer can be made, the last ones are given. Returns as uspi_own_images_refresh. */
int uspi_own_code_keep(uint64_t deadline, struct usp_images **images, struct uspi_image_tables **tables);

/* Publishes it under these limits: the unwind tables of the images take at most `table_limit` bytes, and so many rules are kept;
 * 0: none. With the same number, what was kept stays. Returns as above; the limits hold in any case. */
int uspi_own_code_prepare(uint64_t table_limit, uint32_t kept_rules);

/* Gives back what was published. Not async-signal-safe. */
void uspi_own_code_withdraw(void);

/* Fills what belongs here. Not async-signal-safe. */
void uspi_own_code_usage(struct usp_capture_usage *usage);

#endif
