/* SPDX-License-Identifier: MIT */
/* Implements stack_names.h. */
#include "tools/stack_names.h"

#include "tools/progress.h"

#include <stdlib.h>
#include <string.h>

/* For each image by its number, finds the first call site in it that the report names; 0: none. */
static void find_sites(const struct stack_report *report, usp_addr *sites, size_t count) {
    const struct usp_images *images = report->format.images;
    const struct usp_snapshot_thread *thread;
    for (size_t i = 0; (thread = usp_snapshot_get_thread(report->snapshot, i)) != NULL; i++) {
        for (uint32_t k = 0; k < thread->stack.count; k++) {
            usp_addr site = usp_frame_call_site(thread->stack.arch, &thread->stack.frames[k]);
            if (!usp_filter_keeps(report->format.filter, site)) continue;
            const struct usp_image *image = usp_images_find(images, site);
            for (size_t n = 0; image != NULL && n < count; n++) {
                if (usp_images_get(images, n) != image) continue;
                if (sites[n] == 0) sites[n] = site;
                break;
            }
        }
    }
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

void stack_read_symbols(const struct stack_report *report, FILE *terminal) {
    const struct usp_images *images = report->format.images;
    const size_t count = usp_images_count(images);
    struct progress progress;
    progress_begin(&progress, terminal);
    usp_addr *sites = progress_is_watched(&progress) && report->format.symbolizer != NULL && count > 0
                          ? calloc(count, sizeof *sites)
                          : NULL;
    /* Nothing to do, or memory is exhausted: the report reads the symbols itself. */
    if (sites == NULL) return;
    size_t all = 0, done = 0;
    find_sites(report, sites, count);
    for (size_t n = 0; n < count; n++) all += sites[n] != 0;
    for (size_t n = 0; n < count; n++) {
        struct usp_lines lines;
        if (sites[n] == 0) continue;
        usp_lines_init(&lines, NULL, 0);
        progress_say(&progress, ++done, all, last_part(usp_images_get(images, n)->path));
        if ((report->format.flags & USP_FORMAT_LINES) != 0) {
            usp_symbolize_lines(report->format.symbolizer, sites[n], &lines);
        } else {
            usp_symbolize(report->format.symbolizer, sites[n], &lines.symbol);
        }
    }
    progress_end(&progress);
    free(sites);
}
