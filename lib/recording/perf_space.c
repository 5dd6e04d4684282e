/* SPDX-License-Identifier: MIT */
/* See perf_space.h. */
#include "lib/recording/perf_space.h"

#include "lib/base/array.h"
#include "lib/base/bisect.h"
#include "lib/base/hash.h"
#include "lib/recording/perf_images.h"
#include "lib/unwind/readers/kinds.h"

#include <stdlib.h>

/* Unwind rules that are cached for each process in use. */
#define RULES 8192u

/* Maximum number of executable maps of a process. */
#define MAPS_MAX ((size_t)1 << 16)

/* Maximum number of maps that forks have copied, without those that were given up since. A small file could otherwise
 * take any memory. */
#define COPIED_MAX ((size_t)1 << 22)

/* Number of maps that are kept apart before they are merged with the others. A map is inserted into few in this way,
 * whatever the order of addresses is. */
#define RECENT_MAX 1024u

/* Number of maps for which a view is made again at each sample, if they have changed. With more of them, this is done
 * less often: a small file could otherwise cost any time. */
#define MAPS_AT_ONCE 1024u

bool uspi_perf_spaces_init(struct uspi_perf_spaces *spaces, const char *sysroot, const char *build_ids) {
    memset(spaces, 0, sizeof *spaces);
    spaces->allowance.limit = UINT64_MAX;
    for (size_t i = 0; i < USPI_PERF_VIEWS; i++) spaces->views[i].process = USPI_NONE;
    return uspi_pool_init(&spaces->processes, sizeof(struct uspi_perf_process), 64, false, &spaces->allowance) &&
           uspi_perf_files_init(&spaces->files, sysroot, build_ids);
}

static struct uspi_perf_process *process_at(const struct uspi_perf_spaces *spaces, uint32_t i) {
    return uspi_pool_at(&spaces->processes, i);
}

static void clear_images(struct uspi_perf_view *view) {
    uspi_image_tables_free(view->tables);
    usp_images_free(view->images);
    uspi_core_memory_clear(&view->memory);
    view->tables = NULL;
    view->images = NULL;
}

static void clear_view(struct uspi_perf_spaces *spaces, struct uspi_perf_view *view) {
    if (view->process != USPI_NONE) process_at(spaces, view->process)->view = NULL;
    clear_images(view);
    free(view->rules);
    memset(view, 0, sizeof *view);
    view->process = USPI_NONE;
}

static void free_maps(struct uspi_perf_process *process) {
    free(process->maps.all);
    free(process->recent.all);
    process->maps = process->recent = (struct uspi_perf_maps){.count = 0};
}

void uspi_perf_spaces_clear(struct uspi_perf_spaces *spaces) {
    for (size_t i = 0; i < USPI_PERF_VIEWS; i++) clear_view(spaces, &spaces->views[i]);
    for (uint32_t i = 0; i < spaces->processes.begun; i++) free_maps(process_at(spaces, i));
    uspi_pool_free(&spaces->processes);
    uspi_perf_files_clear(&spaces->files);
}

/* ---- processes ---- */

static bool is_process(const void *item, const void *key) {
    return ((const struct uspi_perf_process *)item)->pid == *(const uint32_t *)key;
}

/* Returns the number of a process, and adds it if necessary. USPI_NONE when memory is exhausted. */
static uint32_t know_process(struct uspi_perf_spaces *spaces, uint32_t pid) {
    const uint32_t hash = (uint32_t)uspi_mix(pid, 0);
    uint32_t i = uspi_pool_find(&spaces->processes, hash, is_process, &pid);
    if (i != USPI_NONE) return i;
    i = uspi_pool_add(&spaces->processes, hash);
    if (i != USPI_NONE) process_at(spaces, i)->pid = pid;
    return i;
}

/* Notes that maps have changed. has_changed: other memory is now where an image was. */
static void note_change(struct uspi_perf_spaces *spaces, struct uspi_perf_process *process, bool has_changed) {
    for (size_t i = 0; i < USPI_PERF_VIEWS; i++) {
        struct uspi_perf_view *view = &spaces->views[i];
        if (process->pid != USPI_PERF_KERNEL && view != process->view) continue;
        view->is_stale = true;
        view->has_changed = view->has_changed || has_changed;
    }
}

/* ---- maps ---- */

/* Returns the index of the first map that ends after `low`. */
static size_t find_map(const struct uspi_perf_maps *maps, usp_addr low) {
    size_t i;
    USPI_FIRST(i, 0, maps->count, maps->all[i].high > low);
    return i;
}

static bool has_any(const struct uspi_perf_maps *maps, usp_addr low, usp_addr high) {
    const size_t i = find_map(maps, low);
    return i < maps->count && maps->all[i].low < high;
}

/* Puts a map in place of what is there. Returns false when memory is exhausted. */
static bool put_map(struct uspi_perf_maps *maps, const struct uspi_perf_mapping *map) {
    if (!uspi_room_for(&maps->all, &maps->capacity, maps->count, 2, sizeof *maps->all)) return false;
    const size_t first = find_map(maps, map->low);
    size_t last = first, count = 0;
    struct uspi_perf_mapping parts[3];
    while (last < maps->count && maps->all[last].low < map->high) last++;
    if (first < last && maps->all[first].low < map->low) {
        parts[count] = maps->all[first];
        parts[count++].high = map->low;
    }
    parts[count++] = *map;
    if (first < last && maps->all[last - 1].high > map->high) {
        parts[count] = maps->all[last - 1];
        parts[count].offset += map->high - parts[count].low;
        parts[count++].low = map->high;
    }
    memmove(maps->all + first + count, maps->all + last, (maps->count - last) * sizeof *maps->all);
    memcpy(maps->all + first, parts, count * sizeof *maps->all);
    maps->count = maps->count - (last - first) + count;
    return true;
}

/* Copies the parts of maps from `low` up to `high`. `*i` is the first map that may reach there, and advances. */
static void copy_between(struct uspi_perf_maps *to, const struct uspi_perf_maps *from, size_t *i, usp_addr low,
                         usp_addr high) {
    for (; *i < from->count && from->all[*i].low < high; (*i)++) {
        struct uspi_perf_mapping part = from->all[*i];
        if (part.low < low) {
            part.offset += low - part.low;
            part.low = low;
        }
        if (part.high > high) part.high = high;
        if (part.low < part.high) to->all[to->count++] = part;
        if (from->all[*i].high > high) return;
    }
}

/* Merges the recent maps of a process with the others. Returns false when memory is exhausted. */
static bool merge_recent(struct uspi_perf_process *process) {
    const struct uspi_perf_maps *recent = &process->recent;
    struct uspi_perf_maps merged = {.count = 0};
    size_t i = 0;
    usp_addr low = 0;
    if (recent->count == 0) return true;
    /* Each recent map can cut another one in two. */
    const size_t most = process->maps.count + 2 * recent->count;
    if (!uspi_room_for(&merged.all, &merged.capacity, 0, most, sizeof *merged.all)) return false;
    for (size_t k = 0; k < recent->count; k++) {
        copy_between(&merged, &process->maps, &i, low, recent->all[k].low);
        if (recent->all[k].file != USPI_NONE) merged.all[merged.count++] = recent->all[k];
        low = recent->all[k].high;
    }
    copy_between(&merged, &process->maps, &i, low, UINT64_MAX);
    free(process->maps.all);
    process->maps = merged;
    process->recent.count = 0;
    return true;
}

int uspi_perf_spaces_map(struct uspi_perf_spaces *spaces, uint32_t pid, const struct uspi_perf_mapping *map) {
    const uint32_t i = know_process(spaces, pid);
    if (i == USPI_NONE) return USP_ERROR_NO_MEMORY;
    struct uspi_perf_process *process = process_at(spaces, i);
    if (map->low >= map->high) return USP_OK;
    if (process->maps.count >= MAPS_MAX) {
        if (map->file != USPI_NONE) spaces->left_out++;
        return USP_OK;
    }
    const bool has_changed =
        has_any(&process->maps, map->low, map->high) || has_any(&process->recent, map->low, map->high);
    if (!has_changed && map->file == USPI_NONE) return USP_OK;
    if (!put_map(&process->recent, map)) return USP_ERROR_NO_MEMORY;
    if (process->recent.count >= RECENT_MAX && !merge_recent(process)) return USP_ERROR_NO_MEMORY;
    note_change(spaces, process, has_changed);
    return USP_OK;
}

/* Frees the maps of a process. */
static void drop_maps(struct uspi_perf_spaces *spaces, struct uspi_perf_process *process) {
    spaces->copied -= process->copied;
    if (process->has_ended) spaces->copied_to_ended -= process->copied;
    free_maps(process);
    process->copied = 0;
    note_change(spaces, process, true);
}

/* Frees the maps of processes that have ended, without process `kept`, if there are so many that looking at all
 * processes is worth it. */
static void drop_ended(struct uspi_perf_spaces *spaces, uint32_t kept) {
    if (spaces->copied_to_ended < COPIED_MAX / 2) return;
    for (uint32_t i = 0; i < spaces->processes.begun; i++) {
        struct uspi_perf_process *process = process_at(spaces, i);
        if (process->has_ended && process->copied > 0 && i != kept) drop_maps(spaces, process);
    }
}

void uspi_perf_spaces_exec(struct uspi_perf_spaces *spaces, uint32_t pid) {
    const uint32_t i = uspi_pool_find(&spaces->processes, (uint32_t)uspi_mix(pid, 0), is_process, &pid);
    if (i != USPI_NONE) drop_maps(spaces, process_at(spaces, i));
}

int uspi_perf_spaces_fork(struct uspi_perf_spaces *spaces, uint32_t pid, uint32_t parent) {
    const uint32_t from = know_process(spaces, parent), to = know_process(spaces, pid);
    if (from == USPI_NONE || to == USPI_NONE) return USP_ERROR_NO_MEMORY;
    struct uspi_perf_process *source = process_at(spaces, from), *copy = process_at(spaces, to);
    if (from == to || copy->pid == USPI_PERF_KERNEL) return USP_OK;
    if (!merge_recent(source)) return USP_ERROR_NO_MEMORY;
    const size_t count = source->maps.count;
    drop_maps(spaces, copy);
    copy->has_ended = false;
    if (count > COPIED_MAX - spaces->copied) drop_ended(spaces, from);
    if (count > COPIED_MAX - spaces->copied) {
        spaces->left_out += count;
        return USP_OK;
    }
    if (count == 0) return USP_OK;
    struct uspi_perf_maps *maps = &copy->maps;
    if (!uspi_room_for(&maps->all, &maps->capacity, 0, count, sizeof *maps->all)) return USP_ERROR_NO_MEMORY;
    memcpy(maps->all, source->maps.all, count * sizeof *maps->all);
    maps->count = copy->copied = count;
    spaces->copied += count;
    return USP_OK;
}

void uspi_perf_spaces_end(struct uspi_perf_spaces *spaces, uint32_t pid) {
    const uint32_t i = uspi_pool_find(&spaces->processes, (uint32_t)uspi_mix(pid, 0), is_process, &pid);
    if (i == USPI_NONE) return;
    struct uspi_perf_process *process = process_at(spaces, i);
    if (!process->has_ended) spaces->copied_to_ended += process->copied;
    process->has_ended = true;
    if (process->view != NULL) clear_view(spaces, process->view);
}

/* ---- views ---- */

/* Returns a view that is free, or the one that was used first. */
static struct uspi_perf_view *take_view(struct uspi_perf_spaces *spaces) {
    struct uspi_perf_view *oldest = &spaces->views[0];
    for (size_t i = 0; i < USPI_PERF_VIEWS; i++) {
        struct uspi_perf_view *view = &spaces->views[i];
        if (view->process == USPI_NONE) return view;
        if (view->used < oldest->used) oldest = view;
    }
    clear_view(spaces, oldest);
    return oldest;
}

/* Makes images and tables from the maps. Returns false when memory is exhausted. */
static bool refresh(struct uspi_perf_spaces *spaces, struct uspi_perf_process *process, struct uspi_perf_view *view) {
    struct uspi_perf_process *kernel = NULL;
    const uint32_t pid = USPI_PERF_KERNEL;
    const uint32_t i = uspi_pool_find(&spaces->processes, (uint32_t)uspi_mix(pid, 0), is_process, &pid);
    if (i != USPI_NONE && process->pid != pid) kernel = process_at(spaces, i);
    if (!merge_recent(process) || (kernel != NULL && !merge_recent(kernel))) return false;
    clear_images(view);
    struct uspi_perf_image_builder builder = {.files = &spaces->files, .memory = &view->memory, .arch = spaces->arch};
    bool is_done = uspi_perf_images_add(&builder, process->maps.all, process->maps.count, process->pid == pid);
    if (kernel != NULL) is_done = is_done && uspi_perf_images_add(&builder, kernel->maps.all, kernel->maps.count, true);
    is_done = uspi_perf_images_seal(&builder, &view->images) && is_done;
    if (!is_done) return false;
    (void)uspi_core_memory_seal(&view->memory);
    const struct usp_memory memory = {uspi_core_memory_read, &view->memory};
    uspi_read_all_tables();
    if (uspi_image_tables_create(view->images, &memory, &spaces->files.places, UINT64_MAX, &view->tables) != USP_OK)
        return false;
    if (view->has_changed || view->rules == NULL) {
        free(view->rules);
        view->rules = uspi_rule_cache_create(RULES, true, NULL);
    }
    view->is_stale = view->has_changed = false;
    view->unrefreshed = 0;
    view->maps = process->maps.count + (kernel != NULL ? kernel->maps.count : 0);
    return view->rules != NULL;
}

struct uspi_perf_view *uspi_perf_spaces_view(struct uspi_perf_spaces *spaces, uint32_t pid) {
    const uint32_t i = know_process(spaces, pid);
    if (i == USPI_NONE) return NULL;
    struct uspi_perf_process *process = process_at(spaces, i);
    if (process->view == NULL) {
        process->view = take_view(spaces);
        process->view->process = i;
        process->view->is_stale = true;
    }
    struct uspi_perf_view *view = process->view;
    view->used = ++spaces->use;
    view->unrefreshed++;
    const size_t now = process->maps.count + process->recent.count, maps = now > view->maps ? now : view->maps;
    const bool is_due = view->images == NULL || view->unrefreshed > maps / MAPS_AT_ONCE;
    if (!view->is_stale || !is_due || refresh(spaces, process, view)) return view;
    clear_view(spaces, view);
    return NULL;
}
