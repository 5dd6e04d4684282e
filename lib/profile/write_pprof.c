/* SPDX-License-Identifier: MIT */
/* Writes google/pprof's proto/profile.proto; field numbers and conventions are from that file (commit b9395ee). Its
 * samples are totals: one for each stack of each thread, with the number of samples, their time and their processor
 * time. The format has no place for times of single samples. */
#include "arch/little_endian.h"
#include "lib/base/array.h"
#include "lib/base/crc32.h"
#include "lib/base/text.h"
#include "lib/profile/writers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- gzip ---- */

/* Writes bytes in gzip format (RFC 1952) without compressing them (RFC 1951, stored blocks). Readers of pprof require
 * the format, and stored blocks need no library. */

/* Maximum number of bytes in a stored block (RFC 1951, 3.2.4). */
#define BLOCK_MAX 65535u

static void put_bytes(struct uspi_text *text, const uint8_t *bytes, size_t n) {
    uspi_put(text, (const char *)bytes, n);
}

static void put_little(struct uspi_text *text, uint64_t value, unsigned width) {
    uint8_t bytes[8];
    uspi_store_le(bytes, value, width);
    put_bytes(text, bytes, width);
}

static void put_gzip(struct uspi_text *text, const uint8_t *bytes, size_t n) {
    /* Magic, method deflate, no flags, no time, no hints, unknown system. */
    static const uint8_t header[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    size_t at = 0;
    put_bytes(text, header, sizeof header);
    do {
        size_t part = n - at < BLOCK_MAX ? n - at : BLOCK_MAX;
        const uint8_t is_last = at + part == n;
        put_bytes(text, &is_last, 1);
        put_little(text, part, 2);
        put_little(text, ~part, 2);
        put_bytes(text, bytes + at, part);
        at += part;
    } while (at < n);
    put_little(text, ~uspi_crc32(UINT32_MAX, bytes, n), 4);
    put_little(text, n, 4);
}

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

/* A byte buffer that grows. After a failed allocation nothing more is added. */
struct blob {
    uint8_t *bytes;
    size_t used, capacity;
    bool has_failed;
};

struct pprof {
    struct uspi_writing *writing;
    struct blob out, message, inner; /* the whole file, a message in it, and a message in that message */
    struct blob string;              /* string that is being written */
    uint64_t strings;                /* number of strings written; the number of the next one */
    uint64_t *thread_names;          /* string number of each thread's name; 0: not written yet */
};

static void add(struct blob *blob, const void *bytes, size_t n) {
    if (blob->has_failed || n == 0) return;
    uint8_t *grown =
        n <= SIZE_MAX - blob->used ? uspi_array_reserve(blob->bytes, &blob->capacity, blob->used + n, 1) : NULL;
    blob->has_failed = grown == NULL;
    if (grown == NULL) return;
    blob->bytes = grown;
    memcpy(grown + blob->used, bytes, n);
    blob->used += n;
}

/* ---- protocol buffers: encoding.md of protobuf.dev ---- */

static void add_varint(struct blob *blob, uint64_t value) {
    uint8_t bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
        value >>= 7;
    } while (value > 0);
    add(blob, bytes, n);
}

/* Adds a number field. 0 is the default of an absent field, so it is not written. */
static void add_number(struct blob *blob, unsigned field, uint64_t value) {
    if (value == 0) return;
    add_varint(blob, (uint64_t)field << 3);
    add_varint(blob, value);
}

static void add_bytes(struct blob *blob, unsigned field, const void *bytes, size_t n) {
    add_varint(blob, (uint64_t)field << 3 | 2);
    add_varint(blob, n);
    add(blob, bytes, n);
}

/* Adds a message as a field of another one, and empties it. */
static void add_message(struct blob *blob, unsigned field, struct blob *message) {
    add_bytes(blob, field, message->bytes, message->used);
    blob->has_failed = blob->has_failed || message->has_failed;
    message->used = 0;
}

/* ---- the profile ---- */

static int write_to_blob(void *context, const char *bytes, size_t n) {
    add(context, bytes, n);
    return USP_OK;
}

/* Adds a string and returns its number; the empty string is number 0. The format requires UTF-8: other bytes, and
 * control characters, are escaped. */
static uint64_t add_string(struct pprof *pprof, const char *string) {
    char gathered[256];
    if (string == NULL || string[0] == '\0') return 0;
    struct uspi_text text = uspi_text_through(write_to_blob, &pprof->string, gathered, sizeof gathered);
    uspi_put_harmless(&text, uspi_span_of(string), "");
    uspi_text_flush(&text);
    add_message(&pprof->out, PROFILE_STRING, &pprof->string);
    return pprof->strings++;
}

static void add_value_type(struct pprof *pprof, unsigned field, const char *type, const char *unit) {
    add_number(&pprof->message, VALUE_TYPE, add_string(pprof, type));
    add_number(&pprof->message, VALUE_UNIT, add_string(pprof, unit));
    add_message(&pprof->out, field, &pprof->message);
}

static void add_mapping(struct pprof *pprof, uint32_t i) {
    const struct uspi_profile_image *known = uspi_profile_image(pprof->writing->profile, i);
    char build[2 * USP_BUILD_ID_MAX + 1];
    struct uspi_text text = uspi_text_in(build, sizeof build);
    uspi_put_bytes(&text, known->image.build_id, known->image.build_id_size);
    uspi_text_end(&text);
    add_number(&pprof->message, MAPPING_ID, (uint64_t)i + 1);
    add_number(&pprof->message, MAPPING_START, known->placed);
    add_number(&pprof->message, MAPPING_LIMIT, known->placed + (known->image.end - known->image.load_address));
    add_number(&pprof->message, MAPPING_FILE, add_string(pprof, known->image.path));
    add_number(&pprof->message, MAPPING_BUILD, add_string(pprof, build));
    /* Without this pprof would look up names itself and find wrong ones. It takes a mapping for one segment, and needs
     * the segment's offset in the file (internal/elfexec GetBase). */
    add_number(&pprof->message, MAPPING_HAS_FUNCTIONS, 1);
    for (unsigned field = MAPPING_HAS_FILES; pprof->writing->names.has_lines && field <= MAPPING_HAS_INLINED; field++) {
        add_number(&pprof->message, field, 1);
    }
    add_message(&pprof->out, PROFILE_MAPPING, &pprof->message);
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
        add_number(&pprof->message, FUNCTION_ID, (uint64_t)i + 1);
        add_number(&pprof->message, FUNCTION_NAME, shown);
        add_number(&pprof->message, FUNCTION_SYSTEM_NAME, system);
        add_number(&pprof->message, FUNCTION_FILE, file);
        add_number(&pprof->message, FUNCTION_LINE, function->line);
        add_message(&pprof->out, PROFILE_FUNCTION, &pprof->message);
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
        add_number(&pprof->message, LOCATION_ID, (uint64_t)i + 1);
        add_number(&pprof->message, LOCATION_MAPPING, site->image != USPI_NONE ? (uint64_t)site->image + 1 : 0);
        add_number(&pprof->message, LOCATION_ADDRESS, usp_frame_call_site(profile->options.arch, &frame));
        for (uint32_t k = 0; k < site->count; k++) {
            const struct uspi_located_function *place = &writing->names.places[site->first + k];
            add_number(&pprof->inner, LINE_FUNCTION, (uint64_t)place->function + 1);
            add_number(&pprof->inner, LINE_LINE, place->line);
            add_number(&pprof->inner, LINE_COLUMN, place->column);
            add_message(&pprof->message, LOCATION_LINE, &pprof->inner);
        }
        add_message(&pprof->out, PROFILE_LOCATION, &pprof->message);
    }
}

static void add_label(struct pprof *pprof, uint64_t key, uint64_t string, uint64_t number) {
    add_number(&pprof->inner, LABEL_KEY, key);
    add_number(&pprof->inner, LABEL_STRING, string);
    add_number(&pprof->inner, LABEL_NUMBER, number);
    add_message(&pprof->message, SAMPLE_LABEL, &pprof->inner);
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
            if (site != USPI_NONE) add_varint(&pprof->inner, (uint64_t)site + 1);
        } while (uspi_node_ascend(profile, &node));
        add_message(&pprof->message, SAMPLE_LOCATION, &pprof->inner);
        for (unsigned k = 0; k < 3; k++) add_varint(&pprof->inner, values[k]);
        add_message(&pprof->message, SAMPLE_VALUE, &pprof->inner);
        add_label(pprof, thread_key, name, 0);
        add_label(pprof, id_key, 0, uspi_profile_thread(profile, total->thread)->info.thread.id);
        add_message(&pprof->out, PROFILE_SAMPLE, &pprof->message);
    }
}

static void add_comment(void *context, const char *line) {
    struct pprof *pprof = context;
    add_number(&pprof->out, PROFILE_COMMENT, add_string(pprof, line));
}

static void add_all(struct pprof *pprof) {
    const struct usp_profile_run *run = &pprof->writing->profile->run;
    static const char *const types[] = {"samples", "wall", "cpu"};
    add_message(&pprof->out, PROFILE_STRING, &pprof->string);
    pprof->strings = 1;
    add_value_type(pprof, PROFILE_SAMPLE_TYPE, "samples", "count");
    add_value_type(pprof, PROFILE_SAMPLE_TYPE, "wall", "nanoseconds");
    add_value_type(pprof, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
    add_samples(pprof);
    add_mappings(pprof);
    add_locations(pprof);
    add_functions(pprof);
    add_number(&pprof->out, PROFILE_TIME, run->wall_start);
    add_number(&pprof->out, PROFILE_DURATION, run->end - run->start);
    if (run->interval > 0) {
        add_value_type(pprof, PROFILE_PERIOD_TYPE, "wall", "nanoseconds");
        add_number(&pprof->out, PROFILE_PERIOD, run->interval);
    }
    uspi_profile_describe_run(pprof->writing->profile, add_comment, pprof);
    add_number(&pprof->out, PROFILE_DEFAULT_TYPE, add_string(pprof, types[pprof->writing->options.value]));
}

int uspi_profile_write_pprof(struct uspi_writing *writing) {
    struct pprof pprof = {.writing = writing};
    int status = USP_ERROR_NO_MEMORY;
    pprof.thread_names = calloc((size_t)writing->profile->threads.begun + 1, sizeof *pprof.thread_names);
    if (pprof.thread_names != NULL) {
        add_all(&pprof);
        if (!pprof.out.has_failed && !pprof.message.has_failed && !pprof.inner.has_failed) {
            put_gzip(&writing->text, pprof.out.bytes, pprof.out.used);
            status = USP_OK;
        }
    }
    free(pprof.thread_names);
    free(pprof.out.bytes);
    free(pprof.message.bytes);
    free(pprof.inner.bytes);
    free(pprof.string.bytes);
    return status;
}
