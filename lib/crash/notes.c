/* SPDX-License-Identifier: MIT */
/* Values, breadcrumbs and an exception that the program sets for a report: fixed memory, without locks. */
#include "lib/crash/kit.h"

#include "arch/host.h"

#include <unspool/capture.h>

/* Makes the entry's version odd. Returns false while another writer, which may be the thread that this handler
 * interrupts, does not finish. */
static bool begin_writing(_Atomic(uint32_t) *version) {
    for (unsigned i = 0; i < USPI_CRASH_TRIES; i++) {
        uint32_t seen = atomic_load(version);
        if (seen % 2 == 0 && atomic_compare_exchange_strong(version, &seen, seen + 1)) return true;
    }
    return false;
}

static void end_writing(_Atomic(uint32_t) *version) { atomic_fetch_add(version, 1); }

/* Returns the entry of a key, which is cut, or the first unused one, or NULL. */
static struct uspi_crash_value *find_value(struct uspi_crash_kit *kit, const char *key) {
    struct uspi_crash_value *unused = NULL;
    for (size_t i = 0; i < USPI_CRASH_VALUES; i++) {
        struct uspi_crash_value *value = &kit->values[i];
        if (strcmp(value->key, key) == 0) return value;
        if (unused == NULL && value->key[0] == '\0') unused = value;
    }
    return unused;
}

int usp_crash_set(const char *given, const char *text) {
    struct uspi_crash_kit *kit = uspi_os_crash_context();
    char key[sizeof kit->values->key];
    if (given == NULL || given[0] == '\0') return USP_ERROR_ARGUMENT;
    if (kit == NULL) return USP_ERROR_NOT_PREPARED;
    uspi_crash_copy_text(key, sizeof key, given);
    for (unsigned i = 0; i < USPI_CRASH_TRIES; i++) {
        struct uspi_crash_value *value = find_value(kit, key);
        if (value == NULL) return text != NULL ? USP_ERROR_FULL : USP_OK;
        if (!begin_writing(&value->version)) return USP_ERROR_BUSY;
        /* Another thread may have taken the entry for another key. */
        const bool is_mine = value->key[0] == '\0' || strcmp(value->key, key) == 0;
        if (is_mine) uspi_crash_copy_text(value->key, sizeof value->key, text != NULL ? key : "");
        if (is_mine) uspi_crash_copy_text(value->text, sizeof value->text, text != NULL ? text : "");
        end_writing(&value->version);
        if (is_mine) return USP_OK;
    }
    return USP_ERROR_BUSY;
}

int usp_crash_note(const char *text) {
    struct uspi_crash_kit *kit = uspi_os_crash_context();
    if (text == NULL) return USP_ERROR_ARGUMENT;
    if (kit == NULL) return USP_ERROR_NOT_PREPARED;
    struct uspi_crash_crumb *crumb = &kit->crumbs[atomic_fetch_add(&kit->next_crumb, 1) % USPI_CRASH_CRUMBS];
    if (!begin_writing(&crumb->version)) return USP_ERROR_BUSY;
    crumb->time = uspi_os_wall_clock();
    uspi_crash_copy_text(crumb->text, sizeof crumb->text, text);
    end_writing(&crumb->version);
    return USP_OK;
}

int usp_crash_set_exception(const char *kind, const char *text, const usp_addr *frames, size_t count) {
    struct uspi_crash_kit *kit = uspi_os_crash_context();
    struct usp_thread self = {0, 0};
    if (kind != NULL && (text == NULL || (frames == NULL && count > 0))) return USP_ERROR_ARGUMENT;
    if (kit == NULL) return USP_ERROR_NOT_PREPARED;
    if (kind != NULL && usp_thread_self(&self) != USP_OK) return USP_ERROR_SYSTEM;
    struct uspi_crash_exception *e = &kit->exception;
    if (!begin_writing(&e->version)) return USP_ERROR_BUSY;
    e->thread = self.id;
    e->total = kind != NULL ? count : 0;
    e->count = (uint32_t)(e->total < USPI_CRASH_FRAMES ? e->total : USPI_CRASH_FRAMES);
    uspi_crash_copy_text(e->kind, sizeof e->kind, kind != NULL ? kind : "");
    uspi_crash_copy_text(e->text, sizeof e->text, kind != NULL ? text : "");
    for (uint32_t i = 0; i < e->count; i++) e->frames[i] = frames[i] & ~(usp_addr)uspi_host_signature_bits();
    end_writing(&e->version);
    return USP_OK;
}
