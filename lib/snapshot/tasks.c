/* SPDX-License-Identifier: MIT */
/* Implements usp_tasks_create and the functions that read its result: passes a snapshot's data to the search
 * (task_search.c). */
#include "lib/snapshot/tasks.h"

#include "lib/base/array.h"
#include "lib/base/page_cache.h"
#include "lib/base/sized.h"
#include "lib/snapshot/snapshot.h"
#include "lib/unwind/walker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Maximum number of memory ranges that are searched. A process has at most 65,530 mappings, unless its system is
 * configured otherwise. */
#define RANGES_MAX ((size_t)1 << 20)

void usp_tasks_options_init(struct usp_tasks_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->max_frames = 512;
    options->max_tasks = 65536;
    options->max_bytes = UINT64_C(8) << 30;
    options->timeout = UINT64_C(10000000000);
}

static bool complete_options(const struct usp_tasks_options *given, struct usp_tasks_options *options) {
    usp_tasks_options_init(options);
    return USPI_COMPLETE(options, given) && options->max_frames > 0 && options->max_frames <= 1u << 20 &&
           options->max_tasks > 0;
}

struct ranges {
    struct usp_memory_range *list;
    size_t count, capacity;
};

/* Implements uspi_range_function. */
static int add_range(void *context, usp_addr low, uint64_t size) {
    struct ranges *ranges = context;
    if (ranges->count == RANGES_MAX) return USP_OK;
    if (!uspi_room_for(&ranges->list, &ranges->capacity, ranges->count, 1, sizeof *ranges->list))
        return USP_ERROR_NO_MEMORY;
    ranges->list[ranges->count++] = (struct usp_memory_range){low, size};
    return USP_OK;
}

static int find_runtime(const struct usp_snapshot *snapshot, const struct usp_memory *memory,
                        struct uspi_swift_runtime *runtime, struct uspi_error *why) {
    struct uspi_snapshot_origin origin;
    uspi_snapshot_get_origin(snapshot, &origin);
    struct uspi_image_sources places = {
        .search = {.file = origin.program, .sysroot = origin.sysroot, .folder = origin.folder}};
    struct uspi_process_root root;
    uint32_t layout;
    uspi_places_of_process(&places, usp_snapshot_images(snapshot), origin.process, &root);
    int status = uspi_swift_runtime_find(usp_snapshot_images(snapshot), &places, memory, runtime, &layout);
    if (status == USP_ERROR_NOT_FOUND) {
        return uspi_error_set(why, status, "no Swift tasks: Swift's concurrency runtime is not loaded");
    }
    if (status == USP_ERROR_UNSUPPORTED) {
        return uspi_error_set(why, status, "Swift tasks: the runtime's layout is %" PRIu32 ", and only %u is known",
                              layout, USPI_SWIFT_LAYOUT);
    }
    return status;
}

static int search_in(const struct usp_snapshot *snapshot, const struct usp_target *target, struct ranges *ranges,
                     struct usp_tasks *tasks, struct uspi_error *why) {
    struct uspi_swift_runtime runtime;
    struct uspi_task_search search = {
        .walk = {.backend = uspi_backend_find(target->arch), .target = *target, .readers = USP_READER_ALL},
        .runtime = &runtime,
        .images = usp_snapshot_images(snapshot),
        .options = &tasks->options};
    search.walk.strip_mask = uspi_choose_strip_mask(target, search.walk.backend, 0, 0, 0);
    int status = uspi_snapshot_writable(snapshot, add_range, ranges);
    if (status == USP_OK) status = find_runtime(snapshot, &target->memory, &runtime, why);
    search.ranges = ranges->list;
    search.range_count = ranges->count;
    if (status == USP_OK) status = uspi_tasks_search(&search, tasks);
    if (status == USP_OK && tasks->info.searched == 0 && (tasks->info.flags & USP_TASKS_CUT) == 0) {
        status = USP_ERROR_NO_THREAD;
    }
    return status;
}

/* Sets the message for a status that has none. */
static void explain(struct uspi_error *why, int status) {
    if (why->text[0] != '\0') return;
    if (status == USP_ERROR_UNSUPPORTED) {
        uspi_error_set(why, status,
                       "Swift tasks are found in other processes and core files of x86_64 and arm64 Linux alone");
    } else if (status == USP_ERROR_NO_THREAD) {
        uspi_error_set(why, status, "no Swift tasks: the process has ended");
    } else {
        uspi_error_set(why, status, "Swift tasks: %s", usp_status_string(status));
    }
}

/* Returns whether the layout of tasks is known. It is the same for all 64-bit processors of Linux; nothing here depends
 * on the processor otherwise. */
static bool has_known_layout(const struct usp_target *target) {
    const struct uspi_backend *b = uspi_backend_find(target->arch);
    return target->os == USP_OS_LINUX && b != NULL && b->word == 8;
}

static int find_tasks(const struct usp_snapshot *snapshot, struct usp_tasks *tasks, struct uspi_error *why) {
    struct ranges ranges = {NULL, 0, 0};
    struct usp_target target;
    uspi_snapshot_space(snapshot, &target);
    if (!has_known_layout(&target)) return USP_ERROR_UNSUPPORTED;
    /* Only reads of code are cached: code does not change, but the searched memory does. A core has no separate code
     * memory. */
    struct uspi_page_cache *pages = target.code.read != NULL ? uspi_page_cache_before(&target.code) : NULL;
    int status = search_in(snapshot, &target, &ranges, tasks, why);
    free(pages);
    free(ranges.list);
    return status;
}

int usp_tasks_create(const struct usp_snapshot *snapshot, const struct usp_tasks_options *options,
                     struct usp_tasks **tasks, char *error, size_t error_size) {
    struct uspi_error why = {.text = ""};
    int status = USP_ERROR_ARGUMENT;
    if (error != NULL && error_size > 0) error[0] = '\0';
    if (tasks == NULL) return status;
    *tasks = NULL;
    struct usp_tasks *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    if (snapshot != NULL && complete_options(options, &made->options)) status = find_tasks(snapshot, made, &why);
    if (status == USP_OK) {
        *tasks = made;
        return status;
    }
    usp_tasks_free(made);
    explain(&why, status);
    if (error != NULL && error_size > 0) snprintf(error, error_size, "%s", why.text);
    return status;
}

void usp_tasks_free(struct usp_tasks *tasks) {
    if (tasks == NULL) return;
    uspi_tasks_clear(tasks);
    free(tasks);
}

const struct usp_tasks_info *usp_tasks_get_info(const struct usp_tasks *tasks) {
    return tasks != NULL ? &tasks->info : NULL;
}

const struct usp_task *usp_tasks_get(const struct usp_tasks *tasks, size_t i) {
    return tasks != NULL && i < tasks->info.count ? &tasks->list[i] : NULL;
}

const char *usp_task_state_string(uint32_t state) {
    switch (state) {
    case USP_TASK_SUSPENDED: return "suspended";
    case USP_TASK_ENQUEUED: return "enqueued";
    case USP_TASK_CREATED: return "created";
    default: return "unknown";
    }
}

const char *usp_task_wait_string(uint32_t wait) {
    switch (wait) {
    case USP_TASK_WAIT_TASK: return "task";
    case USP_TASK_WAIT_CONTINUATION: return "continuation";
    case USP_TASK_WAIT_GROUP: return "task-group";
    case USP_TASK_WAIT_EXECUTOR: return "executor";
    default: return "unknown";
    }
}
