/* SPDX-License-Identifier: MIT */
/* See own_code.h. */
#include "lib/capture/own_code.h"

#include "lib/capture/state.h"
#include "lib/images/image_list.h"
#include "lib/images/own_images.h"
#include "lib/os/os.h"

#include <stdlib.h>

/* Cached rules with a reference count: each list with which they are published holds them, and so do the settings. */
struct uspi_rules {
    _Atomic(uint32_t) holders;
    uint32_t asked_for;
    size_t bytes;
    struct uspi_rule_cache *cache;
};

/* Data that is published with a list. */
struct extra {
    struct uspi_image_tables *tables;
    struct uspi_rules *rules; /* NULL: none */
};

static struct uspi_code_settings *const settings = &uspi_capture_state.code;

/* ---- rules ---- */

static struct uspi_rules *create_rules(uint32_t asked_for) {
    struct uspi_rules *rules = calloc(1, sizeof *rules);
    if (rules == NULL) return NULL;
    atomic_init(&rules->holders, 1);
    rules->asked_for = asked_for;
    rules->cache = uspi_rule_cache_create(asked_for, false, &rules->bytes);
    if (rules->cache != NULL) return rules;
    free(rules);
    return NULL;
}

static void free_rules(struct uspi_rules *rules) {
    if (rules == NULL || atomic_fetch_sub_explicit(&rules->holders, 1, memory_order_acq_rel) != 1) return;
    free(rules->cache);
    free(rules);
}

/* ---- what is published with a list ---- */

static void free_extra(void *object) {
    struct extra *extra = object;
    uspi_image_tables_free(extra->tables);
    free_rules(extra->rules);
    free(extra);
}

static int make_extra(const struct usp_images *images, void **made) {
    const struct usp_memory memory = {uspi_os_read, NULL};
    const struct uspi_image_sources places = {.search = {.as_named = true}, .in_process = true};
    struct extra *extra = calloc(1, sizeof *extra);
    if (extra == NULL) return USP_ERROR_NO_MEMORY;
    uspi_lock_take(&settings->lock);
    uint64_t limit = settings->is_limited ? settings->table_limit : USPI_TABLE_LIMIT;
    extra->rules = settings->rules;
    if (extra->rules != NULL) atomic_fetch_add_explicit(&extra->rules->holders, 1, memory_order_relaxed);
    uspi_lock_give(&settings->lock);
    int status = uspi_image_tables_create(images, &memory, &places, limit, &extra->tables);
    if (status != USP_OK) {
        free_extra(extra);
        return status;
    }
    *made = extra;
    return USP_OK;
}

static const struct uspi_images_extra maker = {make_extra, free_extra};

/* ---- using it ---- */

uint32_t uspi_own_code_enter(struct uspi_own_code *code) {
    struct uspi_own_images own;
    uint32_t ticket = uspi_own_images_enter(&own);
    const struct extra *extra = own.extra;
    *code = (struct uspi_own_code){.images = own.images, .generation = own.generation};
    if (extra == NULL) return ticket;
    code->tables = extra->tables;
    if (extra->rules != NULL) code->rules = extra->rules->cache;
    return ticket;
}

void uspi_own_code_describe(const struct uspi_own_code *code, struct usp_target *target,
                            struct uspi_shortcuts *shortcuts) {
    uspi_image_tables_describe(code->tables, target);
    shortcuts->rules = code->rules;
    shortcuts->images = code->images;
    shortcuts->generation = code->generation;
}

static int publish_if_used(uint64_t deadline) {
    return atomic_load(&settings->are_used) ? uspi_own_images_refresh(deadline) : USP_OK;
}

uint64_t uspi_own_code_notice(uint64_t timeout) {
    const uint64_t begin = uspi_os_clock();
    (void)publish_if_used(begin + timeout / 2);
    const uint64_t spent = uspi_os_clock() - begin;
    return spent < timeout / 2 ? timeout - spent : timeout - timeout / 2;
}

int uspi_own_code_keep(uint64_t deadline, struct usp_images **images, struct uspi_image_tables **tables) {
    struct uspi_own_code code;
    int status = publish_if_used(deadline);
    uint32_t ticket = uspi_own_code_enter(&code);
    *images = code.images != NULL ? uspi_images_keep(code.images) : NULL;
    *tables = code.tables != NULL ? uspi_image_tables_keep(code.tables) : NULL;
    usp_images_release(ticket);
    if (*images != NULL) return USP_OK;
    return status != USP_OK ? status : USP_ERROR_NOT_PREPARED;
}

int usp_images_refresh(void) {
    bool were_used = atomic_exchange(&settings->are_used, true);
    return were_used ? uspi_own_images_refresh(UINT64_MAX) : uspi_own_images_extend(&maker);
}

/* Replaces the cached rules if their number changes. The caller holds the lock, and frees *old afterwards. Returns
 * USP_ERROR_NO_MEMORY when there are no rules now for lack of memory. */
static int replace_rules(uint32_t asked_for, struct uspi_rules **old) {
    *old = NULL;
    if ((settings->rules != NULL ? settings->rules->asked_for : 0) == asked_for) return USP_OK;
    *old = settings->rules;
    settings->rules = asked_for != 0 ? create_rules(asked_for) : NULL;
    return asked_for != 0 && settings->rules == NULL ? USP_ERROR_NO_MEMORY : USP_OK;
}

int uspi_own_code_prepare(uint64_t table_limit, uint32_t kept_rules) {
    struct uspi_rules *old;
    uspi_lock_take(&settings->lock);
    const struct uspi_rules *before = settings->rules;
    int status = replace_rules(kept_rules, &old);
    bool were_used = atomic_exchange(&settings->are_used, true);
    const uint64_t limit = settings->is_limited ? settings->table_limit : USPI_TABLE_LIMIT;
    bool is_same = were_used && limit == table_limit && settings->rules == before;
    settings->is_limited = true;
    settings->table_limit = table_limit;
    uspi_lock_give(&settings->lock);
    free_rules(old);
    int refreshed = is_same ? uspi_own_images_refresh(UINT64_MAX) : uspi_own_images_extend(&maker);
    return status != USP_OK ? status : refreshed;
}

void uspi_own_code_withdraw(void) {
    uspi_lock_take(&settings->lock);
    struct uspi_rules *old = settings->rules;
    atomic_store(&settings->are_used, false);
    settings->rules = NULL;
    settings->is_limited = false;
    settings->table_limit = 0;
    uspi_lock_give(&settings->lock);
    free_rules(old);
    uspi_own_images_withdraw();
}

void uspi_own_code_usage(struct usp_capture_usage *usage) {
    struct uspi_own_images own;
    uint32_t ticket = uspi_own_images_enter(&own);
    const struct extra *extra = own.extra;
    if (own.images != NULL) usage->images = uspi_images_size(own.images);
    if (extra != NULL) {
        usage->images += uspi_image_tables_still_size(extra->tables);
        usage->tables = uspi_image_tables_size(extra->tables);
        if (extra->rules != NULL) usage->rules = extra->rules->bytes;
    }
    usp_images_release(ticket);
}
