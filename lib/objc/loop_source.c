/* SPDX-License-Identifier: MIT */
/* Creates, starts and ends sources of every kind. See loop_source.h. */
#include "lib/objc/loop_source.h"

#include <stdlib.h>

static void free_source(void *context) {
    struct uspi_loop_source *source = context;
    usp_monitor_free(source->monitor);
    free(source);
}

static void free_detached(void *context) {
    uspi_loop_detach(context);
    free_source(context);
}

int uspi_loop_source_create(enum uspi_loop_kind kind, struct usp_monitor_options *options, void *receiver,
                            struct uspi_loop_source **source) {
    *source = NULL;
    int status = uspi_loop_complete(kind, options);
    if (status != USP_OK) return status;
    struct uspi_loop_source *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->kind = kind;
    made->receiver = receiver;
    options->context = made;
    status = usp_monitor_create(options, &made->monitor);
    if (status != USP_OK) {
        free_source(made);
        return status;
    }
    status = uspi_loop_attach(made);
    if (status == USP_OK) status = usp_monitor_start(made->monitor);
    if (status == USP_OK) {
        *source = made;
    } else {
        uspi_on_main_thread(free_detached, made);
    }
    return status;
}

void uspi_loop_source_end(struct uspi_loop_source *source) {
    (void)usp_monitor_stop(source->monitor);
    uspi_on_main_thread(free_detached, source);
}
