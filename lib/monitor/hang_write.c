/* SPDX-License-Identifier: MIT */
/* Writes a hang as text for people and as JSON. doc/schema/hang.schema.json describes the JSON key by key and must
 * change with it. */
#include "arch/any.h"
#include "lib/base/json.h"
#include "lib/base/sized.h"
#include "lib/profile/names.h"
#include "lib/report/format.h"
#include "lib/report/lock_wait.h"

#include <unspool/monitor.h>

#include <stdlib.h>
#include <string.h>

/* Size in bytes of the buffer, on the stack, that collects text for the caller's function. */
#define GATHERED 512

const char *usp_hang_state_string(uint32_t state) {
    static const char *const names[] = {"ongoing", "recovered", "killed", "abandoned"};
    return state < sizeof names / sizeof *names ? names[state] : "unknown";
}

void usp_hang_write_options_init(struct usp_hang_write_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/* One of a hang's profiles, with names. */
struct part {
    struct usp_profile *clone;
    struct uspi_profile_names names;
};

struct writing {
    const struct usp_hang *hang;
    struct usp_hang_write_options options;
    struct usp_profile_write_options how; /* options for the names and for the call tree */
    struct part samples, threads;
    uint32_t heaviest; /* node of the heaviest stack; USPI_NONE: there is none */
    uint32_t share;    /* of the heaviest stack, in thousandths */
    struct uspi_text text;
};

static int name_part(struct part *part, struct usp_profile *profile, const struct usp_profile_write_options *how) {
    part->clone = uspi_profile_clone(profile);
    return part->clone != NULL ? uspi_profile_names_find(&part->names, part->clone, how) : USP_ERROR_NO_MEMORY;
}

static void free_part(struct part *part) {
    uspi_profile_names_free(&part->names);
    usp_profile_free(part->clone);
}

/* ---- frames ---- */

/* Returns the symbol of a function at a call site, for a frame's line. */
static struct usp_symbol symbol_of(const struct part *part, const struct uspi_located_function *place) {
    const struct uspi_site *site = uspi_site(&part->names, place->site);
    const struct uspi_function *function = uspi_function(&part->names, place->function);
    struct usp_symbol symbol = {.name = function->symbol != NULL ? function->text : NULL};
    usp_addr base = 0;
    if (site->image != USPI_NONE) {
        const struct usp_image *image = &uspi_profile_image(part->clone, site->image)->image;
        base = image->load_address;
        symbol.image_path = image->path;
        symbol.image_load = base;
    }
    symbol.start = base + function->start;
    return symbol;
}

/* Returns the source position of a place; empty if it is unknown or not wanted. */
static struct usp_source_frame source_of(const struct uspi_located_function *place) {
    return (struct usp_source_frame){
        .directory = place->directory, .file = place->file, .line = place->line, .column = place->column};
}

/* Puts a line for each inlined call, innermost first, then the frame's own line. */
static void put_line(struct uspi_text *text, const struct part *part, uint32_t node, uint32_t index) {
    uint32_t number = part->names.site_of[node];
    if (number == USPI_NONE) {
        uspi_put_string(text, "    ... frames left out ...\n");
        return;
    }
    const struct uspi_site *site = uspi_site(&part->names, number);
    const struct usp_frame frame = {.pc = uspi_site_address(part->clone, site), .kind = site->kind & USPI_NODE_KIND};
    for (uint32_t i = 0; i < site->count; i++) {
        const struct uspi_located_function *place = &part->names.places[site->first + i];
        const struct usp_symbol symbol = symbol_of(part, place);
        const struct usp_source_frame source = source_of(place);
        const struct uspi_frame_line line = {.backend = uspi_backend_any(part->clone->options.arch),
                                             .index = index,
                                             .frame = &frame,
                                             .symbol = &symbol,
                                             .harmless = true,
                                             .is_inlined = i + 1 < site->count,
                                             .source = &source};
        if (line.backend != NULL) uspi_put_frame(text, USP_FORMAT_CALL_STACK_SYMBOLS, &line);
        uspi_put(text, "\n", 1);
    }
}

static void put_stack(struct uspi_text *text, const struct part *part, uint32_t node) {
    uint32_t index = 0;
    do put_line(text, part, node, index++);
    while (uspi_node_ascend(part->clone, &node));
}

/* ---- text ---- */

static void put_milliseconds(struct uspi_text *text, uint64_t ns) {
    uint64_t microseconds = (ns + 500) / 1000;
    const char digits[] = {'.', (char)('0' + microseconds / 100 % 10), (char)('0' + microseconds / 10 % 10),
                           (char)('0' + microseconds % 10)};
    uspi_put_decimal(text, microseconds / 1000, 0);
    uspi_put(text, digits, sizeof digits);
    uspi_put_string(text, " ms");
}

static void put_thread_name(struct uspi_text *text, const struct usp_thread_info *info) {
    uspi_put_string(text, "Thread ");
    uspi_put_decimal(text, info->thread.id, 0);
    if (info->name[0] != '\0') {
        uspi_put_string(text, " \"");
        uspi_put_harmless(text, uspi_span_of(info->name), "");
        uspi_put_string(text, "\"");
    }
    if ((info->flags & USP_THREAD_MAIN) != 0) uspi_put_string(text, " (main)");
    if (info->queue[0] != '\0') {
        uspi_put_string(text, ", queue \"");
        uspi_put_harmless(text, uspi_span_of(info->queue), "");
        uspi_put_string(text, "\"");
    }
}

static void put_heading(struct writing *w) {
    const struct usp_hang *hang = w->hang;
    struct uspi_text *text = &w->text;
    uspi_put_string(text, (hang->flags & USP_HANG_SEVERE) != 0 ? "Severe hang of " : "Hang of ");
    put_milliseconds(text, hang->duration);
    uspi_put_string(text, ": ");
    uspi_put_string(text, usp_hang_state_string(hang->state));
    uspi_put_string(text, "\nProcess ");
    uspi_put_decimal(text, (uint64_t)hang->pid, 0);
    uspi_put_string(text, " ");
    uspi_put_harmless(text, uspi_span_of(hang->program), "");
    uspi_put_string(text, ", thread ");
    uspi_put_decimal(text, hang->thread.id, 0);
    uspi_put_string(text, ", hang ");
    uspi_put_decimal(text, hang->id, 0);
    uspi_put_string(text, "\n");
    if (hang->taken_off > 0) {
        uspi_put_string(text, "Not counted: ");
        put_milliseconds(text, hang->taken_off);
        uspi_put_string(text, " in which the monitor did not run\n");
    }
    uspi_put_decimal(text, hang->samples, 0);
    uspi_put_string(text, hang->samples == 1 ? " sample" : " samples");
    if (hang->samples > 0) {
        uspi_put_string(text, ", the first after ");
        put_milliseconds(text, hang->first_after);
        uspi_put_string(text, "\n");
    } else {
        uspi_put_string(text, ": ");
        uspi_put_string(text, usp_status_string(hang->capture_status));
        uspi_put_string(text, "\n");
    }
}

static void put_samples(struct writing *w) {
    struct uspi_text *text = &w->text;
    if (w->heaviest != USPI_NONE) {
        uspi_put_string(text, "\nHeaviest stack, ");
        uspi_put_decimal(text, w->share / 10, 0);
        uspi_put_string(text, " % of the samples:\n");
        put_stack(text, &w->samples, w->heaviest);
    }
    const uint32_t first = w->samples.clone->marked;
    if (first != USPI_NONE) {
        uspi_put_string(text, "\nWhen it was late, after ");
        put_milliseconds(text, w->hang->first_after);
        uspi_put_string(text, first == w->heaviest ? ": the same\n" : ":\n");
        if (first != w->heaviest) put_stack(text, &w->samples, first);
    }
}

/* Returns the thread that holds the lock that a thread waits for; NULL: none. */
static const struct usp_thread_info *lock_owner(const struct usp_profile *clone, const struct usp_thread_info *info) {
    if (info->lock_owner == 0) return NULL;
    for (uint32_t i = 0; i < clone->threads.begun; i++) {
        const struct usp_thread_info *owner = &uspi_profile_thread(clone, i)->info;
        if (owner->thread.id == info->lock_owner) return owner;
    }
    return NULL;
}

static void put_lock(struct uspi_text *text, const struct usp_profile *clone, const struct usp_thread_info *info) {
    const struct usp_thread_info *owner = lock_owner(clone, info);
    if (owner == NULL) return;
    uspi_put_string(text, "    ");
    uspi_put_lock_wait(text, info, owner->thread.id, owner->name);
    uspi_put(text, "\n", 1);
}

/* Returns in words what a thread without a stack does; NULL: not known. Only Linux has words, for letters, which the
 * numbers of other systems do not contain. */
static const char *state_of(const struct usp_thread_info *info) {
    return usp_run_state_string(USP_OS_LINUX, info->run_state);
}

/* Puts the threads without a stack. */
static void put_listed(struct uspi_text *text, const struct usp_profile *clone) {
    for (uint32_t i = 0; i < clone->threads.begun; i++) {
        const struct uspi_profile_thread *thread = uspi_profile_thread(clone, i);
        if (thread->no_stack == USP_OK) continue;
        const char *state = state_of(&thread->info);
        uspi_put(text, "\n", 1);
        put_thread_name(text, &thread->info);
        if (state != NULL) {
            uspi_put_string(text, ", ");
            uspi_put_string(text, state);
        }
        uspi_put_string(text, ":\n");
        put_lock(text, clone, &thread->info);
        uspi_put_string(text, "    no stack: ");
        uspi_put_string(text, usp_status_string(thread->no_stack));
        uspi_put(text, "\n", 1);
    }
}

static void put_threads(struct writing *w) {
    const struct usp_profile *clone = w->threads.clone;
    struct uspi_text *text = &w->text;
    if (clone->threads.begun > 0) uspi_put_string(text, "\nAll threads, when it became a hang:\n");
    for (uint32_t i = 0; i < clone->totals.begun; i++) {
        const struct uspi_total *total = uspi_total(clone, i);
        uspi_put(text, "\n", 1);
        const struct usp_thread_info *info = &uspi_profile_thread(clone, total->thread)->info;
        put_thread_name(text, info);
        uspi_put_string(text, ":\n");
        put_lock(text, clone, info);
        put_stack(text, &w->threads, total->node);
    }
    put_listed(text, clone);
    if (clone->refused == 0) return;
    uspi_put(text, "\n", 1);
    uspi_put_decimal(text, clone->refused, 0);
    uspi_put_string(text, " more threads did not fit into the monitor's memory\n");
}

static int pass_on(void *context, const char *bytes, size_t n) {
    struct uspi_text *text = context;
    uspi_put(text, bytes, n);
    return text->status;
}

static int write_text(struct writing *w) {
    put_heading(w);
    put_samples(w);
    put_threads(w);
    if (w->hang->samples == 0 || (w->options.flags & USP_HANG_BRIEF) != 0) return USP_OK;
    uspi_put(&w->text, "\n", 1);
    w->how.format = USP_PROFILE_TREE;
    return usp_profile_write(w->hang->profile, &w->how, pass_on, &w->text);
}

/* ---- JSON ---- */

static void put_json_inlined(struct uspi_json *json, const struct part *part, const struct uspi_site *site) {
    if (site->count == 1) return;
    uspi_json_begin_array(json, "inlined");
    for (uint32_t i = 0; i + 1 < site->count; i++) {
        const struct uspi_located_function *place = &part->names.places[site->first + i];
        uspi_json_begin_object(json, NULL);
        const struct usp_source_frame source = source_of(place);
        uspi_json_string(json, "symbol", uspi_function(&part->names, place->function)->text);
        uspi_json_source(json, &source);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

static void put_json_site(struct uspi_json *json, const struct part *part, const struct uspi_site *site) {
    const struct uspi_located_function *place = &part->names.places[site->first + site->count - 1];
    const struct usp_symbol symbol = symbol_of(part, place);
    const struct usp_source_frame source = source_of(place);
    const usp_addr address = uspi_site_address(part->clone, site);
    uspi_json_address(json, "address", address);
    if (site->image != USPI_NONE) {
        const struct usp_image *image = &uspi_profile_image(part->clone, site->image)->image;
        uspi_json_string(json, "image", image->path);
        uspi_json_build_id(json, (image->flags & USP_IMAGE_MACHO) != 0, image->build_id, image->build_id_size);
        uspi_json_address(json, "image_offset", site->offset);
    }
    if (symbol.name == NULL) return;
    uspi_json_string(json, "symbol", symbol.name);
    uspi_json_number(json, "symbol_offset", address - symbol.start);
    uspi_json_source(json, &source);
    put_json_inlined(json, part, site);
}

static void put_json_stack(struct uspi_json *json, const char *key, const struct part *part, uint32_t node) {
    uspi_json_begin_array(json, key);
    do {
        uint32_t number = part->names.site_of[node];
        uspi_json_begin_object(json, NULL);
        if (number == USPI_NONE) {
            uspi_json_bool(json, "left_out", true);
        } else {
            put_json_site(json, part, uspi_site(&part->names, number));
        }
        uspi_json_end_object(json);
    } while (uspi_node_ascend(part->clone, &node));
    uspi_json_end_array(json);
}

static void put_json_tree(struct uspi_json *json, const struct part *part) {
    const struct usp_profile *clone = part->clone;
    uspi_json_begin_array(json, "stacks");
    for (uint32_t i = 0; i < clone->totals.begun; i++) {
        const struct uspi_total *total = uspi_total(clone, i);
        uspi_json_begin_object(json, NULL);
        uspi_json_number(json, "samples", total->samples);
        uspi_json_number(json, "wall_ns", total->wall);
        uspi_json_number(json, "cpu_ns", total->cpu);
        put_json_stack(json, "frames", part, total->node);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

static void put_json_lock(struct uspi_json *json, const struct usp_profile *clone, const struct usp_thread_info *info) {
    const struct usp_thread_info *owner = lock_owner(clone, info);
    if (owner == NULL) return;
    uspi_json_begin_object(json, "waits_for_lock");
    uspi_json_string(json, "kind", usp_lock_kind_string(info->lock_kind));
    uspi_json_number(json, "held_by", owner->thread.id);
    uspi_json_string(json, "held_by_name", owner->name);
    if (info->deadlock != 0) uspi_json_number(json, "deadlock", info->deadlock);
    uspi_json_end_object(json);
}

static void put_json_name(struct uspi_json *json, const struct usp_thread_info *info) {
    uspi_json_number(json, "id", info->thread.id);
    uspi_json_string(json, "name", info->name);
    if (info->queue[0] != '\0') uspi_json_string(json, "queue", info->queue);
    uspi_json_bool(json, "main", (info->flags & USP_THREAD_MAIN) != 0);
}

static void put_json_listed(struct uspi_json *json, const struct usp_profile *clone) {
    for (uint32_t i = 0; i < clone->threads.begun; i++) {
        const struct uspi_profile_thread *thread = uspi_profile_thread(clone, i);
        if (thread->no_stack == USP_OK) continue;
        const char *state = state_of(&thread->info);
        uspi_json_begin_object(json, NULL);
        put_json_name(json, &thread->info);
        if (state != NULL) uspi_json_string(json, "state", state);
        put_json_lock(json, clone, &thread->info);
        uspi_json_string(json, "no_stack", usp_status_string(thread->no_stack));
        uspi_json_end_object(json);
    }
}

static void put_json_threads(struct uspi_json *json, const struct part *part) {
    const struct usp_profile *clone = part->clone;
    uspi_json_begin_array(json, "threads");
    for (uint32_t i = 0; i < clone->totals.begun; i++) {
        const struct uspi_total *total = uspi_total(clone, i);
        const struct usp_thread_info *info = &uspi_profile_thread(clone, total->thread)->info;
        uspi_json_begin_object(json, NULL);
        put_json_name(json, info);
        put_json_lock(json, clone, info);
        put_json_stack(json, "frames", part, total->node);
        uspi_json_end_object(json);
    }
    put_json_listed(json, clone);
    uspi_json_end_array(json);
}

static int write_json(struct writing *w) {
    const struct usp_hang *hang = w->hang;
    struct uspi_json json = {.out = &w->text};
    uspi_json_begin_object(&json, NULL);
    uspi_json_number(&json, "version", 1);
    uspi_json_number(&json, "id", hang->id);
    uspi_json_string(&json, "state", usp_hang_state_string(hang->state));
    uspi_json_bool(&json, "severe", (hang->flags & USP_HANG_SEVERE) != 0);
    uspi_json_string(&json, "program", hang->program);
    uspi_json_number(&json, "pid", (uint64_t)hang->pid);
    uspi_json_number(&json, "thread", hang->thread.id);
    uspi_json_string(&json, "arch", usp_arch_string(w->samples.clone->options.arch));
    if (hang->wall_start != 0) uspi_json_number(&json, "began_ns", hang->wall_start);
    uspi_json_number(&json, "duration_ns", hang->duration);
    uspi_json_number(&json, "not_counted_ns", hang->taken_off);
    uspi_json_number(&json, "interval_ns", hang->interval);
    uspi_json_number(&json, "samples", hang->samples);
    if (hang->samples == 0) uspi_json_string(&json, "no_samples", usp_status_string(hang->capture_status));
    if (w->heaviest != USPI_NONE) {
        uspi_json_begin_object(&json, "heaviest");
        uspi_json_number(&json, "per_mille", w->share);
        put_json_stack(&json, "frames", &w->samples, w->heaviest);
        uspi_json_end_object(&json);
    }
    if (w->samples.clone->marked != USPI_NONE) {
        uspi_json_begin_object(&json, "first");
        uspi_json_number(&json, "after_ns", hang->first_after);
        put_json_stack(&json, "frames", &w->samples, w->samples.clone->marked);
        uspi_json_end_object(&json);
    }
    put_json_tree(&json, &w->samples);
    put_json_threads(&json, &w->threads);
    if (w->threads.clone->refused > 0) uspi_json_number(&json, "threads_left_out", w->threads.clone->refused);
    uspi_json_end_object(&json);
    return USP_OK;
}

int usp_hang_write(const struct usp_hang *hang, const struct usp_hang_write_options *options, usp_write_function write,
                   void *context) {
    char gathered[GATHERED];
    struct writing w = {.hang = hang, .text = uspi_text_through(write, context, gathered, sizeof gathered)};
    if (hang == NULL || write == NULL || hang->profile == NULL || hang->threads == NULL) return USP_ERROR_ARGUMENT;
    usp_hang_write_options_init(&w.options);
    if (!USPI_COMPLETE(&w.options, options) || w.options.style > USP_HANG_JSON ||
        (w.options.flags & ~(uint32_t)(USP_HANG_LINES | USP_HANG_BRIEF)) != 0) {
        return USP_ERROR_ARGUMENT;
    }
    usp_profile_write_options_init(&w.how);
    w.how.symbolizer = w.options.symbolizer;
    w.how.images = w.options.images;
    w.how.demangler = w.options.demangler;
    if ((w.options.flags & USP_HANG_LINES) != 0) w.how.flags = USP_PROFILE_LINES;
    int status = name_part(&w.samples, hang->profile, &w.how);
    if (status == USP_OK) status = name_part(&w.threads, hang->threads, &w.how);
    w.heaviest = USPI_NONE;
    if (status == USP_OK) {
        status = uspi_profile_find_heaviest(w.samples.clone, 0, USP_PROFILE_WALL, &w.heaviest, &w.share);
        /* Samples may stand for no time: then the stack with the most samples is the heaviest. */
        if (status == USP_ERROR_NOT_FOUND) {
            status = uspi_profile_find_heaviest(w.samples.clone, 0, USP_PROFILE_SAMPLES, &w.heaviest, &w.share);
        }
        if (status == USP_ERROR_NOT_FOUND) {
            w.heaviest = USPI_NONE;
            status = USP_OK;
        }
    }
    if (status == USP_OK) status = w.options.style == USP_HANG_JSON ? write_json(&w) : write_text(&w);
    free_part(&w.samples);
    free_part(&w.threads);
    int written = uspi_text_flush(&w.text);
    return status != USP_OK ? status : written;
}
