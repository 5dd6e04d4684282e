/* SPDX-License-Identifier: MIT */
/* Writes google/pprof's proto/profile.proto; field numbers and conventions are from that file (commit b9395ee). Its
 * samples are totals: one for each stack of each thread, with the number of samples, their time and their processor
 * time. The format has no place for times of single samples. */
#include "lib/base/protobuf.h"
#include "lib/profile/gzip.h"
#include "lib/profile/writers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers of each message. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING };
enum { PROFILE_TIME = 9, PROFILE_DURATION, PROFILE_PERIOD_TYPE, PROFILE_PERIOD, PROFILE_COMMENT, PROFILE_DEFAULT_TYPE };
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STRING, LABEL_NUMBER };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_BUILD };
enum { MAPPING_HAS_FUNCTIONS = 7, MAPPING_HAS_FILES, MAPPING_HAS_LINES, MAPPING_HAS_INLINED };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE, LINE_COLUMN };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_LINE };

struct pprof {
    struct uspi_writing *writing;
    struct uspi_proto out, message, inner; /* the whole file, a message in it, and a message in that message */
    struct uspi_proto string;              /* string that is being written */
    uint64_t strings;                      /* number of strings written; the number of the next one */
    bool *is_named;                        /* images that have a function with a name */
    uint64_t *thread_names;                /* string number of each thread's name; 0: not written yet */
};

/* ---- the profile ---- */

/* Adds a string and returns its number; the empty string is number 0. The format requires UTF-8: other bytes, and
 * control characters, are escaped. */
static uint64_t add_string(struct pprof *pprof, const char *string) {
    char gathered[256];
    if (string == NULL || string[0] == '\0') return 0;
    struct uspi_text text = uspi_text_through(uspi_gathered_append, &pprof->string.out, gathered, sizeof gathered);
    uspi_put_harmless(&text, uspi_span_of(string), "");
    if (uspi_text_flush(&text) != USP_OK) pprof->string.has_failed = true;
    uspi_proto_put_message(&pprof->out, PROFILE_STRING, &pprof->string);
    return pprof->strings++;
}

static void add_value_type(struct pprof *pprof, unsigned field, const char *type, const char *unit) {
    uspi_proto_put_number(&pprof->message, VALUE_TYPE, add_string(pprof, type));
    uspi_proto_put_number(&pprof->message, VALUE_UNIT, add_string(pprof, unit));
    uspi_proto_put_message(&pprof->out, field, &pprof->message);
}

/* Marks the images that have a function with a name. */
static void find_named(struct pprof *pprof) {
    const struct uspi_profile_names *names = &pprof->writing->names;
    for (uint32_t i = 0; i < names->functions.begun; i++) {
        const struct uspi_function *function = uspi_function(names, i);
        if (function->image != USPI_NONE && function->symbol != NULL) pprof->is_named[function->image] = true;
    }
}

static void add_mapping(struct pprof *pprof, uint32_t i) {
    const struct uspi_profile_image *known = uspi_profile_image(pprof->writing->profile, i);
    const struct uspi_profile_mapping mapping = uspi_profile_mapping_of(known);
    char build[2 * USP_BUILD_ID_MAX + 1];
    struct uspi_text text = uspi_text_in(build, sizeof build);
    uspi_put_bytes(&text, known->image.build_id, known->image.build_id_size);
    uspi_text_end(&text);
    uspi_proto_put_number(&pprof->message, MAPPING_ID, (uint64_t)i + 1);
    uspi_proto_put_number(&pprof->message, MAPPING_START, mapping.start);
    uspi_proto_put_number(&pprof->message, MAPPING_LIMIT, mapping.limit);
    uspi_proto_put_number(&pprof->message, MAPPING_OFFSET, mapping.offset);
    uspi_proto_put_number(&pprof->message, MAPPING_FILE, add_string(pprof, known->image.path));
    uspi_proto_put_number(&pprof->message, MAPPING_BUILD, add_string(pprof, build));
    /* Without this pprof looks up names itself. It takes a mapping for one segment, and would find wrong ones without the
     * segment's offset in the file (internal/elfexec GetBase). */
    const bool has_names = !mapping.is_code || pprof->is_named[i],
               has_lines = has_names && pprof->writing->names.has_lines;
    if (has_names) uspi_proto_put_number(&pprof->message, MAPPING_HAS_FUNCTIONS, 1);
    for (unsigned field = MAPPING_HAS_FILES; has_lines && field <= MAPPING_HAS_INLINED; field++) {
        uspi_proto_put_number(&pprof->message, field, 1);
    }
    uspi_proto_put_message(&pprof->out, PROFILE_MAPPING, &pprof->message);
}

/* Adds the images. pprof takes the first one for the program. */
static void add_mappings(struct pprof *pprof) {
    const struct usp_profile *profile = pprof->writing->profile;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < profile->images.begun; i++) {
            const struct uspi_profile_image *known = uspi_profile_image(profile, i);
            bool is_program = (known->image.flags & USP_IMAGE_MAIN) != 0;
            if (is_program == (pass == 0)) add_mapping(pprof, i);
        }
    }
}

static void add_functions(struct pprof *pprof) {
    const struct uspi_profile_names *names = &pprof->writing->names;
    for (uint32_t i = 0; i < names->functions.begun; i++) {
        const struct uspi_function *function = uspi_function(names, i);
        uint64_t shown = add_string(pprof, function->text);
        uint64_t system = function->symbol != NULL ? add_string(pprof, function->symbol) : shown;
        uint64_t file = add_string(pprof, function->file);
        uspi_proto_put_number(&pprof->message, FUNCTION_ID, (uint64_t)i + 1);
        uspi_proto_put_number(&pprof->message, FUNCTION_NAME, shown);
        uspi_proto_put_number(&pprof->message, FUNCTION_SYSTEM_NAME, system);
        uspi_proto_put_number(&pprof->message, FUNCTION_FILE, file);
        uspi_proto_put_number(&pprof->message, FUNCTION_LINE, function->line);
        uspi_proto_put_message(&pprof->out, PROFILE_FUNCTION, &pprof->message);
    }
}

/* Adds a location for each site. It has a line for each inlined call, innermost first, then its own. Its address is
 * that of the call, which pprof expects of a caller. Sites that differ only in their kind can have the same address;
 * they are two locations. */
static void add_locations(struct pprof *pprof) {
    const struct uspi_writing *writing = pprof->writing;
    const struct usp_profile *profile = writing->profile;
    for (uint32_t i = 0; i < writing->names.sites.begun; i++) {
        const struct uspi_site *site = uspi_site(&writing->names, i);
        const struct uspi_node like = {.offset = site->offset, .image = site->image, .kind = site->kind};
        struct usp_frame frame = uspi_node_frame(profile, &like);
        uspi_proto_put_number(&pprof->message, LOCATION_ID, (uint64_t)i + 1);
        const usp_addr address = usp_frame_call_site(profile->options.arch, &frame);
        uspi_proto_put_number(&pprof->message, LOCATION_MAPPING, uspi_site_mapping(profile, site, address));
        uspi_proto_put_number(&pprof->message, LOCATION_ADDRESS, address);
        for (uint32_t k = 0; k < site->count; k++) {
            const struct uspi_located_function *place = &writing->names.places[site->first + k];
            uspi_proto_put_number(&pprof->inner, LINE_FUNCTION, (uint64_t)place->function + 1);
            uspi_proto_put_number(&pprof->inner, LINE_LINE, place->line);
            uspi_proto_put_number(&pprof->inner, LINE_COLUMN, place->column);
            uspi_proto_put_message(&pprof->message, LOCATION_LINE, &pprof->inner);
        }
        uspi_proto_put_message(&pprof->out, PROFILE_LOCATION, &pprof->message);
    }
}

static void add_label(struct pprof *pprof, uint64_t key, uint64_t string, uint64_t number) {
    uspi_proto_put_number(&pprof->inner, LABEL_KEY, key);
    uspi_proto_put_number(&pprof->inner, LABEL_STRING, string);
    uspi_proto_put_number(&pprof->inner, LABEL_NUMBER, number);
    uspi_proto_put_message(&pprof->message, SAMPLE_LABEL, &pprof->inner);
}

static uint64_t thread_name(struct pprof *pprof, uint32_t thread) {
    if (pprof->thread_names[thread] == 0) {
        char name[256];
        struct uspi_text text = uspi_text_in(name, sizeof name);
        uspi_put_profile_thread(&text, &uspi_profile_thread(pprof->writing->profile, thread)->info, false);
        uspi_text_end(&text);
        pprof->thread_names[thread] = add_string(pprof, name);
    }
    return pprof->thread_names[thread];
}

static void add_samples(struct pprof *pprof) {
    const struct usp_profile *profile = pprof->writing->profile;
    const uint64_t thread_key = add_string(pprof, "thread"), id_key = add_string(pprof, "thread_id");
    for (uint32_t i = 0; i < profile->totals.begun; i++) {
        const struct uspi_total *total = uspi_total(profile, i);
        const uint64_t values[] = {total->samples, total->wall, total->cpu}, name = thread_name(pprof, total->thread);
        uint32_t node = total->node;
        do {
            uint32_t site = pprof->writing->names.site_of[node];
            if (site != USPI_NONE) uspi_proto_put_varint(&pprof->inner, (uint64_t)site + 1);
        } while (uspi_node_ascend(profile, &node));
        uspi_proto_put_message(&pprof->message, SAMPLE_LOCATION, &pprof->inner);
        for (unsigned k = 0; k < 3; k++) uspi_proto_put_varint(&pprof->inner, values[k]);
        uspi_proto_put_message(&pprof->message, SAMPLE_VALUE, &pprof->inner);
        add_label(pprof, thread_key, name, 0);
        add_label(pprof, id_key, 0, uspi_profile_thread(profile, total->thread)->info.thread.id);
        uspi_proto_put_message(&pprof->out, PROFILE_SAMPLE, &pprof->message);
    }
}

static void add_comment(void *context, const char *line) {
    struct pprof *pprof = context;
    uspi_proto_put_number(&pprof->out, PROFILE_COMMENT, add_string(pprof, line));
}

static void add_all(struct pprof *pprof) {
    const struct usp_profile_run *run = &pprof->writing->profile->run;
    static const char *const types[] = {"samples", "wall", "cpu"};
    uspi_proto_put_message(&pprof->out, PROFILE_STRING, &pprof->string);
    pprof->strings = 1;
    add_value_type(pprof, PROFILE_SAMPLE_TYPE, "samples", "count");
    add_value_type(pprof, PROFILE_SAMPLE_TYPE, "wall", "nanoseconds");
    add_value_type(pprof, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
    add_samples(pprof);
    find_named(pprof);
    add_mappings(pprof);
    add_locations(pprof);
    add_functions(pprof);
    uspi_proto_put_number(&pprof->out, PROFILE_TIME, run->wall_start);
    uspi_proto_put_number(&pprof->out, PROFILE_DURATION, run->end - run->start);
    if (run->interval > 0) {
        add_value_type(pprof, PROFILE_PERIOD_TYPE, "wall", "nanoseconds");
        uspi_proto_put_number(&pprof->out, PROFILE_PERIOD, run->interval);
    }
    uspi_profile_describe_run(pprof->writing->profile, add_comment, pprof);
    uspi_proto_put_number(&pprof->out, PROFILE_DEFAULT_TYPE, add_string(pprof, types[pprof->writing->options.value]));
}

int uspi_profile_write_pprof(struct uspi_writing *writing) {
    struct pprof pprof = {.writing = writing};
    int status = USP_ERROR_NO_MEMORY;
    pprof.thread_names = calloc((size_t)writing->profile->threads.begun + 1, sizeof *pprof.thread_names);
    pprof.is_named = calloc((size_t)writing->profile->images.begun + 1, sizeof *pprof.is_named);
    if (pprof.thread_names != NULL && pprof.is_named != NULL) {
        add_all(&pprof);
        if (!pprof.out.has_failed && !pprof.message.has_failed && !pprof.inner.has_failed) {
            uspi_put_gzip(&writing->text, (const uint8_t *)pprof.out.out.bytes, pprof.out.out.size);
            status = USP_OK;
        }
    }
    free(pprof.thread_names);
    free(pprof.is_named);
    uspi_gathered_clear(&pprof.out.out);
    uspi_gathered_clear(&pprof.message.out);
    uspi_gathered_clear(&pprof.inner.out);
    uspi_gathered_clear(&pprof.string.out);
    return status;
}
