/* SPDX-License-Identifier: MIT */
/* Writes OpenTelemetry's ProfilesData; field numbers and conventions are those of opentelemetry-proto 1.10 and 1.11
 * (profiles/v1development/profiles.proto). It has a profile for each type of value: samples, wall, cpu. A sample is a
 * stack of a thread, with the times at which it was seen where all of them are known. */
#include "arch/little_endian.h"
#include "lib/base/hash.h"
#include "lib/base/path.h"
#include "lib/base/pool.h"
#include "lib/base/protobuf.h"
#include "lib/profile/writers.h"

#include <stdlib.h>
#include <string.h>

/* Field numbers of each message. */
enum { DATA_RESOURCE_PROFILES = 1, DATA_TABLES };
enum { RESOURCE = 1, SCOPE_PROFILES, SCOPE = 1, PROFILES = 2, RESOURCE_ATTRIBUTE = 1, SCOPE_NAME = 1 };
enum { TABLE_MAPPING = 1, TABLE_LOCATION, TABLE_FUNCTION, TABLE_LINK, TABLE_STRING, TABLE_ATTRIBUTE, TABLE_STACK };
enum { PROFILE_TYPE = 1, PROFILE_SAMPLE, PROFILE_TIME, PROFILE_DURATION, PROFILE_PERIOD_TYPE, PROFILE_PERIOD };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES, SAMPLE_VALUES = 4, SAMPLE_TIMES };
enum { MAPPING_START = 1, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_ATTRIBUTES };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_LINE, LOCATION_ATTRIBUTES };
enum { LINE_FUNCTION = 1, LINE_LINE, LINE_COLUMN };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_LINE };
enum { STACK_LOCATIONS = 1, TYPE_NAME = 1, TYPE_UNIT, PAIR_KEY = 1, PAIR_VALUE, VALUE_TEXT = 1, VALUE_NUMBER = 3 };
enum { TIME_TAG = PROFILE_TIME << 3 | USPI_PROTO_FIXED64 };

/* An item of a table that was written, to use it again. */
struct written {
    struct uspi_item item;
    size_t from, length; /* of its bytes in the tables */
    uint64_t table, number;
};

/* A sample on the time line, to find those of a total. */
struct seen {
    uint32_t total;
    uint64_t number;
};

struct otlp {
    struct uspi_writing *writing;
    struct uspi_proto tables, profiles;                         /* the tables, and what belongs to the process */
    struct uspi_proto profile, sample, part;                    /* a message, one in it, and one in that */
    struct uspi_proto text;                                     /* string that is being written */
    uint64_t strings, attributes, functions, locations, stacks; /* numbers of the next ones */
    uint64_t *function_numbers;                                 /* of the functions with names */
    uint64_t *location_of;                                      /* number of each site's location */
    struct uspi_allowance allowance;
    struct uspi_pool written;    /* of struct written */
    uint64_t *thread_attributes; /* number of each thread's id, then of its name; 0: it has none */
    uint64_t *stack_of;          /* number of the stack that ends in each node; 0: not written */
    struct seen *seen;           /* the time line by totals; NULL: times are not known */
    uint64_t *first_seen;        /* where each total begins in it */
};

/* ---- the tables ---- */

struct written_key {
    const struct otlp *otlp;
    struct uspi_span bytes;
    uint64_t table;
};

static bool is_written(const void *item, const void *key) {
    const struct written *written = item;
    const struct written_key *wanted = key;
    const struct uspi_span bytes = {wanted->otlp->tables.out.bytes + written->from, written->length};
    return written->table == wanted->table && uspi_span_is(bytes, wanted->bytes);
}

/* Adds an item to a table other than the mappings, unless an equal one is there: items of a table must differ.
 * *next is the number of a new one. Returns the item's number; 0 once memory was exhausted. */
static uint64_t add_once(struct otlp *otlp, uint64_t table, struct uspi_proto *item, uint64_t *next) {
    if (item->has_failed) otlp->tables.has_failed = true;
    if (otlp->tables.has_failed) return 0;
    const struct written_key key = {otlp, uspi_gathered_span(&item->out), table};
    const uint32_t hash = (uint32_t)uspi_mix(uspi_hash_bytes(key.bytes.bytes, key.bytes.length), table);
    uint32_t i = uspi_pool_find(&otlp->written, hash, is_written, &key);
    if (i != USPI_NONE) {
        item->out.size = 0;
        return ((struct written *)uspi_pool_at(&otlp->written, i))->number;
    }
    const size_t length = key.bytes.length;
    i = uspi_pool_add(&otlp->written, hash);
    uspi_proto_put_message(&otlp->tables, table, item);
    if (i == USPI_NONE || otlp->tables.has_failed) {
        otlp->tables.has_failed = true;
        return 0;
    }
    struct written *written = uspi_pool_at(&otlp->written, i);
    written->from = otlp->tables.out.size - length;
    written->length = length;
    written->table = table;
    written->number = *next;
    return (*next)++;
}

/* Adds a string and returns its number; the empty string is number 0. The format requires UTF-8: other bytes, and
 * control characters, are escaped. */
static uint64_t add_string(struct otlp *otlp, const char *string) {
    char gathered[256];
    if (string == NULL || string[0] == '\0') return 0;
    struct uspi_text text = uspi_text_through(uspi_gathered_append, &otlp->text.out, gathered, sizeof gathered);
    uspi_put_harmless(&text, uspi_span_of(string), "");
    if (uspi_text_flush(&text) != USP_OK) otlp->text.has_failed = true;
    return add_once(otlp, TABLE_STRING, &otlp->text, &otlp->strings);
}

/* Adds a key with a text, or with a number if the text is NULL, and returns the attribute's number. */
static uint64_t add_attribute(struct otlp *otlp, uint64_t key, const char *text, uint64_t number) {
    uspi_proto_put_number(&otlp->sample, PAIR_KEY, key);
    if (text != NULL) {
        uspi_proto_put_bytes(&otlp->part, VALUE_TEXT, text, strlen(text));
    } else {
        uspi_proto_put_varint(&otlp->part, VALUE_NUMBER << 3 | USPI_PROTO_VARINT);
        uspi_proto_put_varint(&otlp->part, number);
    }
    uspi_proto_put_message(&otlp->sample, PAIR_VALUE, &otlp->part);
    return add_once(otlp, TABLE_ATTRIBUTE, &otlp->sample, &otlp->attributes);
}

/* Adds the items with number 0, which mean that there is none. */
static void add_nothings(struct otlp *otlp) {
    for (uint64_t table = TABLE_MAPPING; table <= TABLE_STACK; table++)
        uspi_proto_put_message(&otlp->tables, table, &otlp->sample);
    otlp->strings = otlp->attributes = otlp->functions = otlp->locations = otlp->stacks = 1;
}

static void add_mappings(struct otlp *otlp) {
    const struct usp_profile *profile = otlp->writing->profile;
    const uint64_t key = add_string(otlp, "process.executable.build_id.gnu");
    for (uint32_t i = 0; i < profile->images.begun; i++) {
        const struct uspi_profile_image *known = uspi_profile_image(profile, i);
        char build[2 * USP_BUILD_ID_MAX + 1];
        struct uspi_text text = uspi_text_in(build, sizeof build);
        uspi_put_bytes(&text, known->image.build_id, known->image.build_id_size);
        uspi_text_end(&text);
        const uint64_t attribute = build[0] != '\0' ? add_attribute(otlp, key, build, 0) : 0;
        const struct uspi_profile_mapping mapping = uspi_profile_mapping_of(known);
        uspi_proto_put_number(&otlp->sample, MAPPING_START, mapping.start);
        uspi_proto_put_number(&otlp->sample, MAPPING_LIMIT, mapping.limit);
        uspi_proto_put_number(&otlp->sample, MAPPING_OFFSET, mapping.offset);
        uspi_proto_put_number(&otlp->sample, MAPPING_FILE, add_string(otlp, known->image.path));
        if (attribute != 0) {
            uspi_proto_put_varint(&otlp->part, attribute);
            uspi_proto_put_message(&otlp->sample, MAPPING_ATTRIBUTES, &otlp->part);
        }
        uspi_proto_put_message(&otlp->tables, TABLE_MAPPING, &otlp->sample);
    }
}

static void add_functions(struct otlp *otlp) {
    const struct uspi_profile_names *names = &otlp->writing->names;
    for (uint32_t i = 0; i < names->functions.begun; i++) {
        const struct uspi_function *function = uspi_function(names, i);
        if (function->symbol == NULL) continue;
        uspi_proto_put_number(&otlp->sample, FUNCTION_NAME, add_string(otlp, function->text));
        uspi_proto_put_number(&otlp->sample, FUNCTION_SYSTEM_NAME, add_string(otlp, function->symbol));
        uspi_proto_put_number(&otlp->sample, FUNCTION_FILE, add_string(otlp, function->file));
        uspi_proto_put_number(&otlp->sample, FUNCTION_LINE, function->line);
        otlp->function_numbers[i] = add_once(otlp, TABLE_FUNCTION, &otlp->sample, &otlp->functions);
    }
}

/* Adds the lines of a site, the innermost inlined call first. A place without a name gets none: other tools may find
 * it by the build id. */
static void put_lines(struct otlp *otlp, const struct uspi_site *site) {
    const struct uspi_profile_names *names = &otlp->writing->names;
    for (uint32_t k = 0; k < site->count; k++) {
        const struct uspi_located_function *place = &names->places[site->first + k];
        if (uspi_function(names, place->function)->symbol == NULL) continue;
        uspi_proto_put_number(&otlp->part, LINE_FUNCTION, otlp->function_numbers[place->function]);
        uspi_proto_put_number(&otlp->part, LINE_LINE, place->line);
        uspi_proto_put_number(&otlp->part, LINE_COLUMN, place->column);
        uspi_proto_put_message(&otlp->sample, LOCATION_LINE, &otlp->part);
    }
}

/* Adds the location of each site. Its address is that of the call, which readers expect of a caller. Sites of other
 * kinds can have the same. */
static void add_locations(struct otlp *otlp) {
    const struct uspi_profile_names *names = &otlp->writing->names;
    const struct usp_profile *profile = otlp->writing->profile;
    const uint64_t key = add_string(otlp, "profile.frame.type"), native = add_attribute(otlp, key, "native", 0),
                   kernel = add_attribute(otlp, key, "kernel", 0);
    for (uint32_t i = 0; i < names->sites.begun; i++) {
        const struct uspi_site *site = uspi_site(names, i);
        const struct uspi_node like = {.offset = site->offset, .image = site->image, .kind = site->kind};
        const struct usp_frame frame = uspi_node_frame(profile, &like);
        const bool is_kernel = frame.pc >= UINT64_C(1) << 63;
        const usp_addr address = usp_frame_call_site(profile->options.arch, &frame);
        uspi_proto_put_number(&otlp->sample, LOCATION_MAPPING, uspi_site_mapping(profile, site, address));
        uspi_proto_put_number(&otlp->sample, LOCATION_ADDRESS, address);
        put_lines(otlp, site);
        uspi_proto_put_varint(&otlp->part, is_kernel ? kernel : native);
        uspi_proto_put_message(&otlp->sample, LOCATION_ATTRIBUTES, &otlp->part);
        otlp->location_of[i] = add_once(otlp, TABLE_LOCATION, &otlp->sample, &otlp->locations);
    }
}

/* Adds the stacks in which samples end. */
static void add_stacks(struct otlp *otlp) {
    const struct usp_profile *profile = otlp->writing->profile;
    for (uint32_t i = 0; i < profile->totals.begun; i++) {
        const uint32_t last = uspi_total(profile, i)->node;
        uint32_t node = last;
        if (otlp->stack_of[last] != 0) continue;
        do {
            const uint32_t site = otlp->writing->names.site_of[node];
            if (site != USPI_NONE) uspi_proto_put_varint(&otlp->part, otlp->location_of[site]);
        } while (uspi_node_ascend(profile, &node));
        uspi_proto_put_message(&otlp->sample, STACK_LOCATIONS, &otlp->part);
        otlp->stack_of[last] = add_once(otlp, TABLE_STACK, &otlp->sample, &otlp->stacks);
    }
}

static void add_threads(struct otlp *otlp) {
    const struct usp_profile *profile = otlp->writing->profile;
    const uint64_t id = add_string(otlp, "thread.id"), name = add_string(otlp, "thread.name");
    for (uint32_t i = 0; i < profile->threads.begun; i++) {
        const struct usp_thread_info *info = &uspi_profile_thread(profile, i)->info;
        char shown[256];
        struct uspi_text text = uspi_text_in(shown, sizeof shown);
        uspi_put_harmless(&text, uspi_span_of(info->name), "");
        uspi_text_end(&text);
        otlp->thread_attributes[2 * (size_t)i] = add_attribute(otlp, id, NULL, info->thread.id);
        if (info->name[0] != '\0') otlp->thread_attributes[2 * (size_t)i + 1] = add_attribute(otlp, name, shown, 0);
    }
}

/* ---- times ---- */

static int by_total(const void *a, const void *b) {
    const struct seen *x = a, *y = b;
    if (x->total != y->total) return x->total < y->total ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Sorts the time line by totals. Without the time of day times are not known. Returns false when memory is exhausted. */
static bool sort_times(struct otlp *otlp) {
    const struct usp_profile *profile = otlp->writing->profile;
    const uint64_t count = profile->line.count;
    if (profile->run.wall_start == 0 || count == 0) return true;
    otlp->seen = malloc((size_t)count * sizeof *otlp->seen);
    otlp->first_seen = calloc((size_t)profile->totals.begun + 1, sizeof *otlp->first_seen);
    if (otlp->seen == NULL || otlp->first_seen == NULL) return false;
    for (uint64_t i = 0; i < count; i++) {
        otlp->seen[i] = (struct seen){uspi_profile_sample(profile, i)->total, i};
        otlp->first_seen[otlp->seen[i].total + 1]++;
    }
    for (uint32_t i = 0; i < profile->totals.begun; i++) otlp->first_seen[i + 1] += otlp->first_seen[i];
    qsort(otlp->seen, (size_t)count, sizeof *otlp->seen, by_total);
    return true;
}

static uint64_t time_of(const struct usp_profile *profile, uint64_t time) {
    return profile->run.wall_start + (time - profile->run.start);
}

/* Adds the values and times of a total's samples. Returns false, and adds nothing, if some of them have no time. */
static bool put_times(struct otlp *otlp, uint32_t number, uint32_t value) {
    const struct usp_profile *profile = otlp->writing->profile;
    uint64_t samples = 0, from, to;
    if (otlp->seen == NULL) return false;
    from = otlp->first_seen[number];
    to = otlp->first_seen[number + 1];
    for (uint64_t i = from; i < to; i++) {
        const struct uspi_profile_sample *sample = uspi_profile_sample(profile, otlp->seen[i].number);
        if (sample->time == 0 || sample->time < profile->run.start) return false;
        samples += sample->count;
    }
    if (samples != uspi_total(profile, number)->samples) return false;
    for (uint64_t i = from; i < to; i++) {
        const struct uspi_profile_sample *sample = uspi_profile_sample(profile, otlp->seen[i].number);
        const uint64_t values[] = {sample->count, sample->wall, sample->cpu};
        uspi_proto_put_varint(&otlp->part, values[value]);
    }
    uspi_proto_put_message(&otlp->sample, SAMPLE_VALUES, &otlp->part);
    for (uint64_t i = from; i < to; i++) {
        uint8_t bytes[8];
        uspi_store_le(bytes, time_of(profile, uspi_profile_sample(profile, otlp->seen[i].number)->time), sizeof bytes);
        uspi_proto_put(&otlp->part, bytes, sizeof bytes);
    }
    uspi_proto_put_message(&otlp->sample, SAMPLE_TIMES, &otlp->part);
    return true;
}

/* ---- profiles ---- */

static void add_sample(struct otlp *otlp, uint32_t number, uint32_t value) {
    const struct usp_profile *profile = otlp->writing->profile;
    const struct uspi_total *total = uspi_total(profile, number);
    const uint64_t values[] = {total->samples, total->wall, total->cpu};
    const uint64_t *attributes = &otlp->thread_attributes[2 * (size_t)total->thread];
    if (values[value] == 0) return;
    uspi_proto_put_number(&otlp->sample, SAMPLE_STACK, otlp->stack_of[total->node]);
    uspi_proto_put_varint(&otlp->part, attributes[0]);
    if (attributes[1] != 0) uspi_proto_put_varint(&otlp->part, attributes[1]);
    uspi_proto_put_message(&otlp->sample, SAMPLE_ATTRIBUTES, &otlp->part);
    if (!put_times(otlp, number, value)) {
        uspi_proto_put_varint(&otlp->part, values[value]);
        uspi_proto_put_message(&otlp->sample, SAMPLE_VALUES, &otlp->part);
    }
    uspi_proto_put_message(&otlp->profile, PROFILE_SAMPLE, &otlp->sample);
}

static void add_profile(struct otlp *otlp, uint32_t value) {
    static const char *const types[] = {"samples", "wall", "cpu"}, *const units[] = {"count", "nanoseconds",
                                                                                     "nanoseconds"};
    const struct usp_profile *profile = otlp->writing->profile;
    const struct usp_profile_run *run = &profile->run;
    uint8_t start[8];
    uspi_proto_put_number(&otlp->part, TYPE_NAME, add_string(otlp, types[value]));
    uspi_proto_put_number(&otlp->part, TYPE_UNIT, add_string(otlp, units[value]));
    uspi_proto_put_message(&otlp->profile, PROFILE_TYPE, &otlp->part);
    for (uint32_t i = 0; i < profile->totals.begun; i++) add_sample(otlp, i, value);
    uspi_store_le(start, run->wall_start, sizeof start);
    uspi_proto_put_varint(&otlp->profile, TIME_TAG);
    uspi_proto_put(&otlp->profile, start, sizeof start);
    uspi_proto_put_number(&otlp->profile, PROFILE_DURATION, run->end - run->start);
    if (run->interval > 0) {
        uspi_proto_put_number(&otlp->part, TYPE_NAME, add_string(otlp, "wall"));
        uspi_proto_put_number(&otlp->part, TYPE_UNIT, add_string(otlp, "nanoseconds"));
        uspi_proto_put_message(&otlp->profile, PROFILE_PERIOD_TYPE, &otlp->part);
        uspi_proto_put_number(&otlp->profile, PROFILE_PERIOD, run->interval);
    }
    uspi_proto_put_message(&otlp->profiles, PROFILES, &otlp->profile);
}

/* Adds an attribute of the process: a text, or a number if it is NULL. */
static void add_fact(struct otlp *otlp, const char *key, const char *text, uint64_t number) {
    char gathered[256];
    uspi_proto_put_bytes(&otlp->sample, PAIR_KEY, key, strlen(key));
    if (text != NULL) {
        struct uspi_text out = uspi_text_through(uspi_gathered_append, &otlp->text.out, gathered, sizeof gathered);
        uspi_put_harmless(&out, uspi_span_of(text), "");
        if (uspi_text_flush(&out) != USP_OK) otlp->text.has_failed = true;
        uspi_proto_put_message(&otlp->part, VALUE_TEXT, &otlp->text);
    }
    uspi_proto_put_number(&otlp->part, VALUE_NUMBER, number);
    uspi_proto_put_message(&otlp->sample, PAIR_VALUE, &otlp->part);
    uspi_proto_put_message(&otlp->profile, RESOURCE_ATTRIBUTE, &otlp->sample);
}

/* Puts the process and its profiles, the one of the requested value first, which viewers show. */
static void add_all(struct otlp *otlp, struct uspi_proto *out) {
    static const char scope[] = "unspool";
    const struct usp_profile *profile = otlp->writing->profile;
    const uint32_t shown = otlp->writing->options.value;
    add_nothings(otlp);
    add_mappings(otlp);
    add_functions(otlp);
    add_locations(otlp);
    add_stacks(otlp);
    add_threads(otlp);
    uspi_proto_put_bytes(&otlp->part, SCOPE_NAME, scope, sizeof scope - 1);
    uspi_proto_put_message(&otlp->profiles, SCOPE, &otlp->part);
    add_profile(otlp, shown);
    for (uint32_t value = USP_PROFILE_SAMPLES; value <= USP_PROFILE_CPU; value++) {
        if (value != shown) add_profile(otlp, value);
    }
    if (profile->options.pid > 0) add_fact(otlp, "process.pid", NULL, (uint64_t)profile->options.pid);
    if (profile->program[0] != '\0') {
        add_fact(otlp, "process.executable.path", profile->program, 0);
        add_fact(otlp, "process.executable.name", uspi_last_component(profile->program), 0);
    }
    struct uspi_proto resource = {.has_failed = false};
    uspi_proto_put_message(&resource, RESOURCE, &otlp->profile);
    uspi_proto_put_message(&resource, SCOPE_PROFILES, &otlp->profiles);
    uspi_proto_put_message(out, DATA_RESOURCE_PROFILES, &resource);
    uspi_proto_put_message(out, DATA_TABLES, &otlp->tables);
    uspi_gathered_clear(&resource.out);
}

int uspi_profile_write_otlp(struct uspi_writing *writing) {
    const struct usp_profile *profile = writing->profile;
    struct otlp otlp = {.writing = writing, .allowance = {.limit = UINT64_MAX}};
    struct uspi_proto out = {.has_failed = false};
    int status = USP_ERROR_NO_MEMORY;
    otlp.thread_attributes = calloc(2 * (size_t)profile->threads.begun + 1, sizeof *otlp.thread_attributes);
    otlp.stack_of = calloc((size_t)profile->nodes.begun + 1, sizeof *otlp.stack_of);
    otlp.function_numbers = calloc((size_t)writing->names.functions.begun + 1, sizeof *otlp.function_numbers);
    otlp.location_of = calloc((size_t)writing->names.sites.begun + 1, sizeof *otlp.location_of);
    if (otlp.thread_attributes != NULL && otlp.stack_of != NULL && otlp.function_numbers != NULL &&
        otlp.location_of != NULL && sort_times(&otlp) &&
        uspi_pool_init(&otlp.written, sizeof(struct written), 256, false, &otlp.allowance)) {
        add_all(&otlp, &out);
        if (!out.has_failed) {
            uspi_put(&writing->text, out.out.bytes, out.out.size);
            status = USP_OK;
        }
    }
    free(otlp.thread_attributes);
    free(otlp.stack_of);
    free(otlp.function_numbers);
    free(otlp.location_of);
    free(otlp.seen);
    free(otlp.first_seen);
    uspi_pool_free(&otlp.written);
    struct uspi_proto *const messages[] = {&otlp.tables, &otlp.profiles, &otlp.profile, &otlp.sample,
                                           &otlp.part,   &otlp.text,     &out};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) uspi_gathered_clear(&messages[i]->out);
    return status;
}
