/* SPDX-License-Identifier: MIT */
/* Implements struct uspi_world for this process. See world.h. */
#include "lib/sampler/world.h"

#include "lib/capture/state.h"
#include "lib/images/own_images.h"

#include <string.h>

static uint64_t clock_now(void *context) {
    (void)context;
    return uspi_os_clock();
}

static uint64_t wall_clock(void *context) {
    (void)context;
    return uspi_os_wall_clock();
}

static bool sleep_until(void *context, uint64_t deadline) { return uspi_event_wait(context, deadline); }

static void wake(void *context) { uspi_event_set(context); }

uint64_t uspi_world_own_cpu(void *context) {
    struct usp_thread self;
    uint64_t ns = 0;
    (void)context;
    if (uspi_os_thread_self(&self) != USP_OK) return 0;
    (void)uspi_os_thread_cpu(&self, &ns);
    uspi_os_thread_release(&self);
    return ns;
}

void uspi_world_describe_time(struct uspi_world *world) {
    world->clock = clock_now;
    world->wall_clock = wall_clock;
    world->sleep = sleep_until;
    world->wake = wake;
}

static int thread_cpu(void *context, const struct usp_thread *thread, uint64_t *ns) {
    (void)context;
    return uspi_os_thread_cpu(thread, ns);
}

static int count_threads(void *context, size_t *count) {
    return uspi_os_listing_count(&((struct uspi_own_world *)context)->listing, count);
}

static int list_threads(void *context, struct usp_thread *threads, size_t capacity, size_t *count) {
    return uspi_os_listing_read(&((struct uspi_own_world *)context)->listing, threads, capacity, count);
}

static int describe_thread(void *context, const struct usp_thread *thread, struct usp_thread_info *info) {
    (void)context;
    return uspi_os_thread_describe(thread, info);
}

static void release(void *context, struct usp_thread *thread) {
    (void)context;
    uspi_os_thread_release(thread);
}

static int capture(void *context, const struct usp_thread *thread, const struct usp_unwind_options *options,
                   struct usp_stack *stack) {
    (void)context;
    return usp_capture_thread(thread, options, stack);
}

/* Returns the library's own list of images, and gets it again if an image was loaded or unloaded. */
static const struct usp_images *images_now(void *context) {
    struct uspi_own_world *own = context;
    struct usp_images *fresh = NULL;
    uint64_t generation;
    if (own->images != NULL && uspi_own_images_are_current(own->generation)) return own->images;
    (void)uspi_own_images_get(&fresh, &generation);
    if (fresh == NULL) return own->images;
    usp_images_free(own->images);
    own->images = fresh;
    own->generation = generation;
    return own->images;
}

static int all_threads(void *context, const struct usp_snapshot_options *options, struct usp_snapshot **snapshot) {
    (void)context;
    return usp_snapshot_create_self(options, snapshot);
}

static bool is_traced(void *context) {
    (void)context;
    return uspi_os_is_traced();
}

int uspi_own_world_begin(struct uspi_own_world *own, struct uspi_world *world) {
    memset(own, 0, sizeof *own);
    int status = uspi_capture_prepare();
    /* A monitor can measure hangs on a system without captures. */
    if (status == USP_ERROR_UNSUPPORTED && uspi_os_kind() != USP_OS_UNKNOWN) status = USP_OK;
    if (status != USP_OK) return status;
    if (!uspi_event_init(&own->event)) return USP_ERROR_UNSUPPORTED;
    status = uspi_os_listing_open(&own->listing);
    if (status != USP_OK) {
        uspi_event_free(&own->event);
        return status;
    }
    *world = (struct uspi_world){.context = own,
                                 .own_cpu = uspi_world_own_cpu,
                                 .thread_cpu = thread_cpu,
                                 .count_threads = count_threads,
                                 .list_threads = list_threads,
                                 .describe = describe_thread,
                                 .release = release,
                                 .capture = capture,
                                 .images = images_now,
                                 .all_threads = all_threads,
                                 .is_traced = is_traced};
    uspi_world_describe_time(world);
    return USP_OK;
}

void uspi_own_world_end(struct uspi_own_world *own) {
    usp_images_free(own->images);
    uspi_os_listing_close(&own->listing);
    uspi_event_free(&own->event);
    memset(own, 0, sizeof *own);
}
