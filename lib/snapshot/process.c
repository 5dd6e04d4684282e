/* SPDX-License-Identifier: MIT */
/* Snapshots of other processes. Snapshots of this process do without the readers of debug information that goroutines
 * need, so they are in a file of their own (snapshot.c). */
#include "lib/capture/roots.h"
#include "lib/images/image_list.h"
#include "lib/snapshot/goroutines.h"
#include "lib/snapshot/snapshot.h"
#include "lib/unwind/tables/image_tables.h"

#include <stdio.h>

/* Input and result of the callback before the stop: work that would otherwise prolong the stop. */
struct before_stop {
    int64_t pid;
    bool wants_async;
    struct usp_images *images; /* may be NULL */
    /* Receives the images; empty once they are in `images`. */
    struct uspi_images_found found;
    struct uspi_image_list list;
};

static struct usp_region learn_of_process(void *context, int listed) {
    struct before_stop *before = context;
    if (listed == USP_OK) uspi_image_list_find_build_ids(&before->list, before->pid);
    (void)uspi_images_seal_received(&before->found, listed, &before->images);
    return before->wants_async ? uspi_snapshot_executor(before->pid, before->images) : (struct usp_region){0};
}

static int create_of_process(const struct usp_snapshot_options *options, struct before_stop *before,
                             struct uspi_snapshot_source *source, char *error, size_t error_size) {
    const struct uspi_stop_options how = {.timeout = options->timeout,
                                          .whole_stacks = options->whole_stacks != 0,
                                          .only_thread = options->only_thread,
                                          .images = &before->found,
                                          .before_stop = learn_of_process,
                                          .context = before};
    uspi_roots_learn();
    source->info.time = uspi_os_wall_clock();
    uspi_images_receive(&before->found, &before->list);
    int status = uspi_os_stop_process(before->pid, &how, &source->process, error, error_size);
    uspi_image_list_clear(&before->list);
    if (status != USP_OK || (before->images != NULL && !source->process.has_moved)) return status;
    /* If the process has ended since, its stacks have no images. */
    usp_images_free(before->images);
    if (usp_images_create_process(before->pid, &before->images, NULL, 0) != USP_OK) before->images = NULL;
    return USP_OK;
}

int usp_snapshot_create_process(int64_t pid, const struct usp_snapshot_options *options, struct usp_snapshot **snapshot,
                                char *error, size_t error_size) {
    struct usp_snapshot_options completed;
    struct uspi_snapshot_source source = {.add_goroutines = uspi_goroutines_add};
    if (error != NULL && error_size > 0) error[0] = '\0';
    if (snapshot == NULL) return USP_ERROR_ARGUMENT;
    *snapshot = NULL;
    if (!uspi_complete_snapshot_options(options, &completed)) {
        if (error != NULL) snprintf(error, error_size, USPI_SNAPSHOT_OPTIONS);
        return USP_ERROR_ARGUMENT;
    }
    struct before_stop before = {.pid = pid, .wants_async = completed.unwind.async != 0};
    struct uspi_undisturbed kept;
    uspi_os_undisturbed_begin(&kept);
    int status = create_of_process(&completed, &before, &source, error, error_size);
    source.images = before.images;
    const bool was_stopped = status == USP_OK;
    if (was_stopped) uspi_snapshot_source_is_live(&source);
    if (was_stopped && source.images != NULL) {
        status = uspi_image_tables_of_process(source.images, &source.process.live, pid, &source.tables);
    }
    if (status == USP_OK) {
        status = uspi_snapshot_from_stopped(&source, &completed, NULL, snapshot);
    } else {
        uspi_snapshot_source_free(&source);
    }
    if (was_stopped && status != USP_OK && error != NULL) snprintf(error, error_size, "%s", usp_status_string(status));
    uspi_os_undisturbed_end(&kept);
    return status;
}
