/* SPDX-License-Identifier: MIT */
/* Writes speedscope's file format (src/lib/file-format-spec.ts, commit 3613918): the functions, and for each thread its
 * samples in the order of time, outermost frame first. Without a time line it writes the totals as samples. */
#include "lib/base/array.h"
#include "lib/base/json.h"
#include "lib/profile/by_thread.h"
#include "lib/profile/writers.h"

#include <stdlib.h>

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct speedscope {
    struct uspi_writing *writing;
    struct uspi_json json;
    uint32_t *path; /* scratch: functions of one sample */
    size_t capacity;
    bool has_failed;
};

/* Returns a sample's weight: time, or processor time if that was requested. */
static uint64_t weight_of(const struct speedscope *speedscope, const struct uspi_timed *sample) {
    return speedscope->writing->options.value == USP_PROFILE_CPU ? sample->cpu : sample->wall;
}

static void put_frames(struct speedscope *speedscope) {
    struct uspi_json *json = &speedscope->json;
    const struct uspi_profile_names *names = &speedscope->writing->names;
    uspi_json_begin_array(json, "frames");
    for (uint32_t i = 0; i < names->functions.begun; i++) {
        const struct uspi_function *function = uspi_function(names, i);
        uspi_json_begin_object(json, NULL);
        uspi_json_string(json, "name", function->text);
        if (function->file != NULL) uspi_json_string(json, "file", function->file);
        if (function->line > 0) uspi_json_number(json, "line", function->line);
        uspi_json_end_object(json);
    }
    /* Stands for frames that were left out. */
    uspi_json_begin_object(json, NULL);
    uspi_json_string(json, "name", "[frames left out]");
    uspi_json_end_object(json);
    uspi_json_end_array(json);
}

static void put_stack(struct speedscope *speedscope, uint32_t node) {
    const struct uspi_profile_names *names = &speedscope->writing->names;
    size_t depth = 0;
    do {
        uint32_t number = names->site_of[node];
        const struct uspi_site *site = number != USPI_NONE ? uspi_site(names, number) : NULL;
        uint32_t count = site != NULL ? site->count : 1;
        uint32_t *grown = uspi_array_reserve(speedscope->path, &speedscope->capacity, depth + count, sizeof *grown);
        speedscope->has_failed = speedscope->has_failed || grown == NULL;
        if (grown == NULL) return;
        speedscope->path = grown;
        for (uint32_t i = 0; i < count; i++) {
            grown[depth++] = site != NULL ? names->places[site->first + i].function : names->functions.begun;
        }
    } while (uspi_node_ascend(names->profile, &node));
    uspi_json_begin_array(&speedscope->json, NULL);
    while (depth-- > 0) uspi_json_number(&speedscope->json, NULL, speedscope->path[depth]);
    uspi_json_end_array(&speedscope->json);
}

static void put_thread(struct speedscope *speedscope, const struct uspi_by_thread *sorted, uint32_t thread) {
    struct uspi_json *json = &speedscope->json;
    const struct uspi_timed *samples = sorted->samples + sorted->starts[thread];
    const uint64_t count = sorted->starts[thread + 1] - sorted->starts[thread];
    uint64_t sum = 0;
    char name[256];
    struct uspi_text text = uspi_text_in(name, sizeof name);
    uspi_put_profile_thread(&text, &uspi_profile_thread(speedscope->writing->profile, thread)->info,
                            (speedscope->writing->options.flags & USP_PROFILE_NATIVE_IDS) != 0);
    uspi_text_end(&text);
    for (uint64_t i = 0; i < count; i++) sum += weight_of(speedscope, &samples[i]);
    uspi_json_begin_object(json, NULL);
    uspi_json_string(json, "type", "sampled");
    uspi_json_string(json, "name", name);
    uspi_json_string(json, "unit", "nanoseconds");
    uspi_json_number(json, "startValue", 0);
    uspi_json_number(json, "endValue", sum);
    uspi_json_begin_array(json, "samples");
    for (uint64_t i = 0; i < count; i++) {
        if (weight_of(speedscope, &samples[i]) > 0) put_stack(speedscope, samples[i].node);
    }
    uspi_json_end_array(json);
    uspi_json_begin_array(json, "weights");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t weight = weight_of(speedscope, &samples[i]);
        if (weight > 0) uspi_json_number(json, NULL, weight);
    }
    uspi_json_end_array(json);
    uspi_json_end_object(json);
}

int uspi_profile_write_speedscope(struct uspi_writing *writing) {
    struct speedscope speedscope = {.writing = writing, .json = {.out = &writing->text, .flat = 4}};
    struct uspi_json *json = &speedscope.json;
    char exporter[64];
    struct uspi_by_thread sorted;
    int status = uspi_by_thread_sort(&sorted, writing->profile);
    struct uspi_text text = uspi_text_in(exporter, sizeof exporter);
    uspi_put_string(&text, "unspool@");
    uspi_put_string(&text, usp_version_string());
    uspi_text_end(&text);
    uspi_json_begin_object(json, NULL);
    uspi_json_string(json, "$schema", SCHEMA);
    uspi_json_string(json, "name", uspi_profile_title(writing));
    uspi_json_string(json, "exporter", exporter);
    uspi_json_begin_object(json, "shared");
    put_frames(&speedscope);
    uspi_json_end_object(json);
    uspi_json_begin_array(json, "profiles");
    for (uint32_t i = 0; status == USP_OK && i < writing->profile->threads.begun; i++) {
        if (sorted.starts[i + 1] > sorted.starts[i]) put_thread(&speedscope, &sorted, i);
    }
    uspi_json_end_array(json);
    uspi_json_end_object(json);
    free(speedscope.path);
    uspi_by_thread_free(&sorted);
    return speedscope.has_failed ? USP_ERROR_NO_MEMORY : status;
}
