/* SPDX-License-Identifier: MIT */
/* Creates a symbolizer for a snapshot: completes the options with what the snapshot knows. */
#include "lib/base/sized.h"
#include "lib/snapshot/snapshot.h"

#include <unspool/symbolize.h>

int usp_symbolizer_create_for_snapshot(const struct usp_snapshot *snapshot,
                                       const struct usp_symbolizer_options *options,
                                       struct usp_symbolizer **symbolizer) {
    struct usp_symbolizer_options completed;
    struct uspi_snapshot_origin origin;
    struct usp_shared_cache cache;
    usp_symbolizer_options_init(&completed);
    if (snapshot == NULL || !USPI_COMPLETE(&completed, options)) {
        if (symbolizer != NULL) *symbolizer = NULL;
        return USP_ERROR_ARGUMENT;
    }
    uspi_snapshot_get_origin(snapshot, &origin);
    const struct usp_images *images = usp_snapshot_images(snapshot);
    if (completed.program == NULL) completed.program = origin.program;
    if (completed.sysroot == NULL) completed.sysroot = origin.sysroot;
    if (completed.folder == NULL) completed.folder = origin.folder;
    if (completed.process == 0) completed.process = origin.process;
    if (completed.recorded_process == 0) completed.recorded_process = usp_snapshot_get_info(snapshot)->pid;
    if (completed.memory == NULL && completed.process == 0) {
        completed.memory = origin.memory;
        completed.pac_mask = origin.pac_mask;
    }
    if (completed.shared_cache == 0 && usp_images_shared_cache(images, &cache) == USP_OK) {
        completed.shared_cache = cache.base;
    }
    return usp_symbolizer_create(images, &completed, symbolizer);
}
