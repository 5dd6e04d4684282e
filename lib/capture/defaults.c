/* SPDX-License-Identifier: MIT */
/* Objects of later layers that exist once in a process: made by the first call that needs one, freed by usp_shutdown.
 * The layers pass their functions, so that a program that only captures is linked without them. */
#include "lib/capture/state.h"

void *uspi_default_made(enum uspi_default which) {
    return atomic_load_explicit(&uspi_capture_state.defaults[which].object, memory_order_acquire);
}

void *uspi_default_get(enum uspi_default which, const struct uspi_default_kind *kind) {
    struct uspi_default_object *place = &uspi_capture_state.defaults[which];
    void *object = uspi_default_made(which), *none = NULL;
    if (object != NULL) return object;
    object = kind->create();
    if (object == NULL) return NULL;
    atomic_store_explicit(&place->kind, kind, memory_order_relaxed);
    if (atomic_compare_exchange_strong(&place->object, &none, object)) return object;
    kind->destroy(object);
    return none;
}

void uspi_defaults_free(void) {
    for (unsigned i = 0; i < USPI_DEFAULTS; i++) {
        struct uspi_default_object *place = &uspi_capture_state.defaults[i];
        void *object = atomic_exchange(&place->object, NULL);
        const struct uspi_default_kind *kind = atomic_exchange(&place->kind, NULL);
        if (object != NULL) kind->destroy(object);
    }
}
