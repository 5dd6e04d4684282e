/* SPDX-License-Identifier: MIT */
/* Data about this process's code for walks of its stacks: the images, their unwind tables, memory that stays mapped,
 * and cached rules. It is made with each list of images (lib/images/own_images.h), published and freed with it. */
#ifndef USPI_CAPTURE_OWN_CODE_H
#define USPI_CAPTURE_OWN_CODE_H

#include "lib/unwind/rule_cache/kept_rules.h"
#include "lib/unwind/tables/image_tables.h"

/* Default of usp_prepare_options.table_limit. */
#define USPI_TABLE_LIMIT (UINT64_C(64) << 20)

struct uspi_own_code {
    const struct usp_images *images;  /* NULL: no list yet */
    uint64_t generation;              /* of the list; 0: none */
    struct uspi_image_tables *tables; /* NULL: usp_prepare was not called */
    struct uspi_rule_cache *rules;    /* NULL: rules are not cached */
};

/* Fills *code with the data that was published last. It stays valid until usp_images_release gets the returned ticket.
 * Async-signal-safe. */
uint32_t uspi_own_code_enter(struct uspi_own_code *code);

/* Adds the tables to a target, and the cached data to a walk's shortcuts. Async-signal-safe. */
void uspi_own_code_describe(const struct uspi_own_code *code, struct usp_target *target,
                            struct uspi_shortcuts *shortcuts);

/* Publishes data about the images that are loaded now, if such data was published before (usp_prepare,
 * usp_images_refresh) and images were loaded or unloaded since. If the loader keeps changing its list, the last data
 * stays after half of `timeout` (ns). Returns the rest of the timeout, at least half of it: reading new images' unwind
 * tables may take longer. Not async-signal-safe. */
uint64_t uspi_own_code_notice(uint64_t timeout);

/* Does the same until `deadline` (usp_clock), and gives the list and its tables (NULL: none), which the caller frees.
 * If no newer list can be made, gives the last one. Returns as uspi_own_images_refresh does. */
int uspi_own_code_keep(uint64_t deadline, struct usp_images **images, struct uspi_image_tables **tables);

/* Publishes the data with these limits: at most `table_limit` bytes for the images' unwind tables, and `kept_rules`
 * cached rules; 0: none. If the number of rules is unchanged, the cached rules stay. Returns as uspi_own_images_refresh
 * does, or USP_ERROR_NO_MEMORY without room for the rules; the limits apply in any case. */
int uspi_own_code_prepare(uint64_t table_limit, uint32_t kept_rules);

/* Frees the published data. Not async-signal-safe. */
void uspi_own_code_withdraw(void);

/* Adds this data to *usage. Not async-signal-safe. */
void uspi_own_code_usage(struct usp_capture_usage *usage);

#endif
