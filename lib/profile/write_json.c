/* SPDX-License-Identifier: MIT */
/* Writes everything in a profile as JSON. doc/schema/profile.schema.json describes it key by key and must change with
 * it. */
#include "lib/base/json.h"
#include "lib/profile/writers.h"
#include "lib/report/format.h"

static void put_run(struct uspi_json *json, const struct usp_profile *profile) {
    const struct usp_profile_run *run = &profile->run;
    uspi_json_begin_object(json, "run");
    uspi_json_number(json, "wall_start_ns", run->wall_start);
    uspi_json_number(json, "start_ns", run->start);
    uspi_json_number(json, "end_ns", run->end);
    uspi_json_number(json, "interval_ns", run->interval);
    uspi_json_number(json, "longest_interval_ns", run->longest_interval);
    uspi_json_number(json, "ticks", run->ticks);
    uspi_json_number(json, "missed_ticks", run->missed_ticks);
    uspi_json_number(json, "slowed", run->slowed);
    uspi_json_number(json, "captures", run->captures);
    uspi_json_number(json, "failed", run->failed);
    uspi_json_number(json, "truncated", run->truncated);
    uspi_json_number(json, "threads_appeared", run->threads_appeared);
    uspi_json_number(json, "threads_ended", run->threads_ended);
    uspi_json_number(json, "threads_left_out", run->threads_left_out);
    uspi_json_number(json, "stopped_ns", run->stopped_ns);
    uspi_json_number(json, "longest_stop_ns", run->longest_stop_ns);
    uspi_json_number(json, "cpu_ns", run->cpu_ns);
    uspi_json_number(json, "budget_cpu", run->budget_cpu);
    uspi_json_number(json, "budget_stopped", run->budget_stopped);
    uspi_json_end_object(json);
}

static void put_images(struct uspi_json *json, const struct usp_profile *profile) {
    uspi_json_begin_array(json, "images");
    for (uint32_t i = 0; i < profile->images.begun; i++) {
        uspi_json_image(json, &uspi_profile_image(profile, i)->image);
    }
    uspi_json_end_array(json);
}

static void put_functions(struct uspi_json *json, const struct uspi_profile_names *names) {
    uspi_json_begin_array(json, "functions");
    for (uint32_t i = 0; i < names->functions.begun; i++) {
        const struct uspi_function *function = uspi_function(names, i);
        uspi_json_begin_object(json, NULL);
        uspi_json_string(json, "name", function->text);
        uspi_json_bool(json, "named", function->symbol != NULL);
        if (function->symbol != NULL && function->symbol != function->text) {
            uspi_json_string(json, "mangled", function->symbol);
        }
        if (function->file != NULL) uspi_json_string(json, "file", function->file);
        if (function->line > 0) uspi_json_number(json, "line", function->line);
        if (function->is_inlined) uspi_json_bool(json, "inlined", true);
        if (function->image != USPI_NONE) uspi_json_number(json, "image", function->image);
        if (!function->is_inlined && !function->is_given) uspi_json_address(json, "start", function->start);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

static void put_place(struct uspi_json *json, const struct uspi_located_function *place) {
    uspi_json_number(json, "function", place->function);
    if (place->line > 0) uspi_json_number(json, "line", place->line);
    if (place->column > 0) uspi_json_number(json, "column", place->column);
}

static void put_frames(struct uspi_json *json, const struct uspi_profile_names *names) {
    uspi_json_begin_array(json, "frames");
    for (uint32_t i = 0; i < names->sites.begun; i++) {
        const struct uspi_site *site = uspi_site(names, i);
        uspi_json_begin_object(json, NULL);
        uspi_json_address(json, "address", uspi_site_address(names->profile, site));
        uspi_json_string(json, "kind", uspi_frame_kind_name(site->kind & USPI_NODE_KIND));
        if ((site->kind & USPI_NODE_THUMB) != 0) uspi_json_bool(json, "thumb", true);
        if (site->image != USPI_NONE) {
            uspi_json_number(json, "image", site->image);
            uspi_json_address(json, "image_offset", site->offset);
        }
        put_place(json, &names->places[site->first + site->count - 1]);
        if (site->count > 1) uspi_json_begin_array(json, "inlined");
        for (uint32_t k = 0; k + 1 < site->count; k++) {
            uspi_json_begin_object(json, NULL);
            put_place(json, &names->places[site->first + k]);
            uspi_json_end_object(json);
        }
        if (site->count > 1) uspi_json_end_array(json);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

static void put_stacks(struct uspi_json *json, const struct uspi_profile_names *names) {
    uspi_json_begin_array(json, "stacks");
    for (uint32_t i = 0; i < names->profile->nodes.begun; i++) {
        const struct uspi_node *node = uspi_node(names->profile, i);
        uspi_json_begin_object(json, NULL);
        if (node->parent != USPI_NONE) uspi_json_number(json, "caller", node->parent);
        if (names->site_of[i] != USPI_NONE) uspi_json_number(json, "frame", names->site_of[i]);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

static void put_threads(struct uspi_json *json, const struct usp_profile *profile) {
    uspi_json_begin_array(json, "threads");
    for (uint32_t i = 0; i < profile->threads.begun; i++) {
        const struct usp_thread_info *info = &uspi_profile_thread(profile, i)->info;
        uspi_json_begin_object(json, NULL);
        uspi_json_number(json, "id", info->thread.id);
        uspi_json_string(json, "name", info->name);
        if (info->queue[0] != '\0') uspi_json_string(json, "queue", info->queue);
        uspi_json_bool(json, "main", (info->flags & USP_THREAD_MAIN) != 0);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

static void put_totals(struct uspi_json *json, const struct usp_profile *profile) {
    uspi_json_begin_array(json, "totals");
    for (uint32_t i = 0; i < profile->totals.begun; i++) {
        const struct uspi_total *total = uspi_total(profile, i);
        uspi_json_begin_object(json, NULL);
        uspi_json_number(json, "thread", total->thread);
        uspi_json_number(json, "stack", total->node);
        uspi_json_number(json, "samples", total->samples);
        uspi_json_number(json, "wall_ns", total->wall);
        uspi_json_number(json, "cpu_ns", total->cpu);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

/* Puts the time line, the only long part: five numbers for each sample. */
static void put_line(struct uspi_json *json, const struct usp_profile *profile) {
    uspi_json_begin_array(json, "time_line");
    for (uint64_t i = 0; i < profile->line.count; i++) {
        const struct uspi_profile_sample *sample = uspi_profile_sample(profile, i);
        uspi_json_begin_array(json, NULL);
        uspi_json_number(json, NULL, sample->time);
        uspi_json_number(json, NULL, sample->total);
        uspi_json_number(json, NULL, sample->count);
        uspi_json_number(json, NULL, sample->wall);
        uspi_json_number(json, NULL, sample->cpu);
        uspi_json_end_array(json);
    }
    uspi_json_end_array(json);
}

int uspi_profile_write_json(struct uspi_writing *writing) {
    const struct usp_profile *profile = writing->profile;
    struct uspi_json json = {.out = &writing->text, .flat = 2};
    uspi_json_begin_object(&json, NULL);
    uspi_json_number(&json, "version", 1);
    uspi_json_string(&json, "program", profile->program);
    if (profile->options.pid != 0) uspi_json_number(&json, "pid", (uint64_t)profile->options.pid);
    uspi_json_string(&json, "arch", usp_arch_string(profile->options.arch));
    uspi_json_number(&json, "samples", profile->samples);
    uspi_json_number(&json, "evicted", profile->evicted);
    uspi_json_number(&json, "refused", profile->refused);
    put_run(&json, profile);
    json.flat = 3;
    put_images(&json, profile);
    put_functions(&json, &writing->names);
    put_frames(&json, &writing->names);
    put_stacks(&json, &writing->names);
    put_threads(&json, profile);
    put_totals(&json, profile);
    put_line(&json, profile);
    uspi_json_end_object(&json);
    return USP_OK;
}
