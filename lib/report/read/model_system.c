/* SPDX-License-Identifier: MIT */
/* Finds the frames of a model that are the system's, by the paths in the lists of images. A report may have many frames
 * and many images, so the images are sorted. */
#include "lib/report/read/model.h"

#include "lib/base/bisect.h"
#include "lib/report/system_path.h"

#include <stdlib.h>

/* The images of a report. */
struct sorted {
    const struct uspi_image_entry **by_address; /* those with a range */
    const struct uspi_image_entry **by_name;
    size_t ranges, names;
};

static int compare_addresses(const void *a, const void *b) {
    const struct uspi_image_entry *x = *(const struct uspi_image_entry *const *)a;
    const struct uspi_image_entry *y = *(const struct uspi_image_entry *const *)b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Images of one name keep their order. */
static int compare_names(const void *a, const void *b) {
    const struct uspi_image_entry *x = *(const struct uspi_image_entry *const *)a;
    const struct uspi_image_entry *y = *(const struct uspi_image_entry *const *)b;
    const int order = uspi_span_compare(x->name, y->name);
    return order != 0 ? order : x < y ? -1 : x > y;
}

static void sort_images(struct sorted *sorted, const struct uspi_image_entry *images, size_t count) {
    sorted->ranges = 0;
    for (size_t i = 0; i < count; i++) {
        if (images[i].last > images[i].first) sorted->by_address[sorted->ranges++] = &images[i];
        sorted->by_name[i] = &images[i];
    }
    sorted->names = count;
    if (sorted->ranges > 1) {
        qsort(sorted->by_address, sorted->ranges, sizeof *sorted->by_address, compare_addresses);
    }
    if (count > 1) qsort(sorted->by_name, count, sizeof *sorted->by_name, compare_names);
}

/* Returns the image that contains an address, NULL if there is none. */
static const struct uspi_image_entry *find_address(const struct sorted *sorted, uint64_t address) {
    size_t i;
    USPI_FIRST(i, 0, sorted->ranges, sorted->by_address[i]->first > address);
    return i > 0 && address <= sorted->by_address[i - 1]->last ? sorted->by_address[i - 1] : NULL;
}

/* Returns the first image with a name, NULL if there is none. */
static const struct uspi_image_entry *find_name(const struct sorted *sorted, struct uspi_span name) {
    size_t i;
    USPI_FIRST(i, 0, sorted->names, uspi_span_compare(sorted->by_name[i]->name, name) >= 0);
    return i < sorted->names && uspi_span_is(sorted->by_name[i]->name, name) ? sorted->by_name[i] : NULL;
}

static bool is_system(const struct sorted *sorted, const struct uspi_model_frame *frame) {
    const struct uspi_image_entry *image = NULL;
    if ((frame->flags & USPI_FRAME_ADDRESS) != 0) image = find_address(sorted, frame->code->address);
    if (image == NULL && frame->code->image.length > 0) image = find_name(sorted, frame->code->image);
    /* Strings of a model are NUL-terminated. */
    return image != NULL && image->path.length > 0 && uspi_is_system_path(image->path.bytes);
}

static void mark_frames(struct uspi_model *model, const struct uspi_model_part *part, const struct sorted *sorted) {
    for (size_t i = part->thread; i < part->thread + part->thread_count; i++) {
        const struct uspi_model_thread *thread = &model->threads[i];
        for (size_t k = thread->frame; k < thread->frame + thread->frame_count; k++) {
            model->frames[k].code->is_system = is_system(sorted, &model->frames[k]);
        }
    }
}

bool uspi_model_mark_system(struct uspi_model *model) {
    struct sorted sorted = {.by_address = NULL};
    size_t most = 0;
    for (size_t i = 0; i < model->part_count; i++) {
        if (model->parts[i].image_count > most) most = model->parts[i].image_count;
    }
    if (most == 0) return true;
    sorted.by_address = calloc(most, sizeof *sorted.by_address);
    sorted.by_name = calloc(most, sizeof *sorted.by_name);
    const bool has_memory = sorted.by_address != NULL && sorted.by_name != NULL;
    for (size_t i = 0; has_memory && i < model->part_count; i++) {
        const struct uspi_model_part *part = &model->parts[i];
        if (part->image_count == 0) continue;
        sort_images(&sorted, &model->images[part->image], part->image_count);
        mark_frames(model, part, &sorted);
    }
    free(sorted.by_address);
    free(sorted.by_name);
    return has_memory;
}
