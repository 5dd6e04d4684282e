/* SPDX-License-Identifier: MIT */
/* Filters: sorted address ranges that are kept or not. The path of each image decides that once, when the filter is
 * made. See filter.h. */
#include "lib/base/bisect.h"
#include "lib/base/path.h"
#include "lib/base/pattern.h"
#include "lib/base/sized.h"
#include "lib/report/system_path.h"

#include <unspool/filter.h>

#include <stdlib.h>
#include <string.h>

struct range {
    usp_addr low, high; /* high exclusive */
    bool is_kept;
};

struct usp_filter {
    bool keeps_unknown; /* whether code outside all images is kept */
    size_t count;
    struct range ranges[]; /* sorted; adjacent ranges with the same is_kept are joined */
};

void usp_filter_options_init(struct usp_filter_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/* On Apple's systems /var, /tmp and /etc are links into /private, so the loader may name an image by either path. */
static const char *without_private(const char *path) {
    static const char prefix[] = "/private";
    size_t n = sizeof prefix - 1;
    return strncmp(path, prefix, n) == 0 && path[n] == '/' ? path + n : path;
}

/* Whether an image belongs to the system and not to the app. */
static bool is_system(const struct usp_image *image) {
    if ((image->flags & USP_IMAGE_MAIN) != 0) return false;
    if ((image->flags & (USP_IMAGE_KERNEL | USP_IMAGE_LOADER)) != 0) return true;
    return uspi_is_system_path(image->path);
}

/* Returns the length of the path of the app's folder: its outermost bundle, or the program's own folder. 0: there is
 * none. */
static size_t app_folder(const char *program) {
    static const char *const endings[] = {".app", ".appex", ".xctest", ".framework", ".bundle"};
    const char *last = strrchr(program, '/');
    for (const char *slash = strchr(program, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        size_t length = (size_t)(slash - program);
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
            size_t n = strlen(endings[i]);
            if (length > n && memcmp(slash - n, endings[i], n) == 0) return length;
        }
    }
    return last != NULL ? (size_t)(last - program) : 0;
}

static const struct usp_image *find_program(const struct usp_images *images) {
    for (size_t i = 0; i < usp_images_count(images); i++) {
        if ((usp_images_get(images, i)->flags & USP_IMAGE_MAIN) != 0) return usp_images_get(images, i);
    }
    return NULL;
}

static bool is_of_app(const struct usp_image *image, const struct usp_image *program) {
    if (program == NULL) return false;
    if (image == program) return true;
    const char *path = without_private(program->path);
    size_t length = app_folder(path);
    return length > 0 && uspi_is_below(without_private(image->path), path, length) && !is_system(image);
}

static bool matches_any(const struct usp_image *image, const struct usp_filter_options *options) {
    for (size_t i = 0; i < options->pattern_count; i++) {
        const char *pattern = options->patterns[i];
        if (uspi_matches(pattern, strchr(pattern, '/') != NULL ? image->path : uspi_last_component(image->path)))
            return true;
    }
    return options->pattern_count == 0;
}

static bool is_in_folders(const struct usp_image *image, const struct usp_filter_options *options) {
    for (size_t i = 0; i < options->folder_count; i++) {
        const char *folder = without_private(options->folders[i]);
        size_t length = strlen(folder);
        while (length > 0 && folder[length - 1] == '/') length--;
        if (uspi_is_below(without_private(image->path), folder, length)) return true;
    }
    return options->folder_count == 0;
}

static bool is_wanted(const struct usp_image *image, const struct usp_image *program,
                      const struct usp_filter_options *options) {
    if ((options->flags & USP_FILTER_APP) != 0 && !is_of_app(image, program)) return false;
    if ((options->flags & USP_FILTER_NO_SYSTEM) != 0 && is_system(image)) return false;
    return matches_any(image, options) && is_in_folders(image, options);
}

static void add_range(struct usp_filter *filter, usp_addr low, usp_addr high, bool is_kept) {
    if (high <= low) return;
    /* The list is sorted by load address. An image ends where the next one begins, if the two overlap or the next one
     * lies in its hole, as in usp_images_find. */
    while (filter->count > 0 && filter->ranges[filter->count - 1].low >= low) filter->count--;
    struct range *last = filter->count > 0 ? &filter->ranges[filter->count - 1] : NULL;
    if (last != NULL && last->high > low) last->high = low;
    if (last != NULL && last->high == low && last->is_kept == is_kept) {
        last->high = high;
    } else {
        filter->ranges[filter->count++] = (struct range){low, high, is_kept};
    }
}

/* Adds the ranges below and above the image's hole. An image without one is a single range. */
static void add_image(struct usp_filter *filter, const struct usp_image *image, bool is_kept) {
    const usp_addr hole = image->load_address + image->hole_offset;
    add_range(filter, image->load_address, hole, is_kept);
    add_range(filter, hole + image->hole_size, image->end, is_kept);
}

static bool are_strings(const char *const *strings, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strings == NULL || strings[i] == NULL) return false;
    }
    return true;
}

static bool complete(const struct usp_filter_options *given, struct usp_filter_options *options) {
    usp_filter_options_init(options);
    return USPI_COMPLETE(options, given) && are_strings(options->patterns, options->pattern_count) &&
           are_strings(options->folders, options->folder_count);
}

int usp_filter_create(const struct usp_images *images, const struct usp_filter_options *options,
                      struct usp_filter **filter) {
    struct usp_filter_options completed;
    if (filter == NULL) return USP_ERROR_ARGUMENT;
    *filter = NULL;
    if (!complete(options, &completed)) return USP_ERROR_ARGUMENT;
    size_t count = usp_images_count(images);
    struct usp_filter *made = calloc(1, sizeof *made + 2 * count * sizeof *made->ranges);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    const struct usp_image *program = find_program(images);
    made->keeps_unknown =
        (completed.flags & USP_FILTER_APP) == 0 && completed.pattern_count == 0 && completed.folder_count == 0;
    for (size_t i = 0; i < count; i++) {
        const struct usp_image *image = usp_images_get(images, i);
        add_image(made, image, is_wanted(image, program, &completed));
    }
    *filter = made;
    return USP_OK;
}

void usp_filter_free(struct usp_filter *filter) { free(filter); }

bool usp_filter_keeps(const struct usp_filter *filter, usp_addr address) {
    if (filter == NULL) return true;
    size_t i;
    USPI_FIRST(i, 0, filter->count, filter->ranges[i].low > address);
    if (i == 0 || address >= filter->ranges[i - 1].high) return filter->keeps_unknown;
    return filter->ranges[i - 1].is_kept;
}

bool usp_filter_keeps_frame(const struct usp_filter *filter, uint32_t arch, const struct usp_frame *frame) {
    return usp_filter_keeps(filter, usp_frame_call_site(arch, frame));
}

/* Returns the new value of a stored frame index while a stack is filtered. `index` is its old value, `now` its current
 * one. `at` is the frame being visited; `before` frames were removed before it. */
static uint32_t moved(uint32_t index, uint32_t at, uint32_t before, bool is_kept, uint32_t now) {
    if (index != at) return now;
    return is_kept ? at - before : USP_NO_INDEX;
}

uint32_t usp_filter_stack(const struct usp_filter *filter, struct usp_stack *stack) {
    const struct usp_stack was = *stack;
    uint32_t kept = 0, physical = 0;
    for (uint32_t i = 0; i < was.count; i++) {
        bool is_kept = usp_filter_keeps_frame(filter, was.arch, &was.frames[i]);
        stack->extended = moved(was.extended, i, i - kept, is_kept, stack->extended);
        stack->async_join = moved(was.async_join, i, i - kept, is_kept, stack->async_join);
        /* omitted_at is a place between frames, so it stays valid when the next frame is removed. */
        if (was.omitted_at == i) stack->omitted_at = kept;
        if (!is_kept) continue;
        stack->frames[kept++] = was.frames[i];
        if (i < was.physical) physical = kept;
    }
    if (was.omitted_at != USP_NO_INDEX && was.omitted_at >= was.count) stack->omitted_at = kept;
    stack->physical = physical;
    stack->count = kept;
    return was.count - kept;
}
