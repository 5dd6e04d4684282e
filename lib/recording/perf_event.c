/* SPDX-License-Identifier: MIT */
/* See perf_event.h. */
#include "lib/recording/perf_event.h"

#include "lib/base/array.h"

#include <unspool/base.h>

/* Bits of perf_event_attr.sample_type. */
enum sample_bits {
    HAS_IP = 1 << 0,
    HAS_TID = 1 << 1,
    HAS_TIME = 1 << 2,
    HAS_ADDR = 1 << 3,
    HAS_READ = 1 << 4,
    HAS_CHAIN = 1 << 5,
    HAS_ID = 1 << 6,
    HAS_CPU = 1 << 7,
    HAS_PERIOD = 1 << 8,
    HAS_STREAM = 1 << 9,
    HAS_RAW = 1 << 10,
    HAS_BRANCHES = 1 << 11,
    HAS_REGISTERS = 1 << 12,
    HAS_STACK = 1 << 13,
    HAS_IDENTIFIER = 1 << 16
};

/* Bits of perf_event_attr.read_format. */
enum read_bits { READ_ENABLED = 1, READ_RUNNING = 2, READ_ID = 4, READ_GROUP = 8, READ_LOST = 16 };

#define BRANCH_CALLS    (UINT64_C(1) << 11) /* of functions that have not returned */
#define BRANCH_INDEX    (UINT64_C(1) << 17)
#define BRANCH_COUNTERS (UINT64_C(1) << 19)
#define FLAG_INHERIT    (UINT64_C(1) << 1)
#define FLAG_FREQUENCY  (UINT64_C(1) << 10)
#define FLAG_TAIL       (UINT64_C(1) << 18)

/* Size of the first version of perf_event_attr, and of the largest one that may come. */
#define ATTRIBUTE_LEAST 64u
#define ATTRIBUTE_MOST  4096u
#define EVENTS_MAX      65536u

size_t uspi_perf_attribute_size(const uint8_t *attribute, size_t size) {
    if (size < ATTRIBUTE_LEAST) return 0;
    const size_t own = uspi_le32(attribute + 4);
    /* The first kernels left it 0. */
    if (own == 0) return ATTRIBUTE_LEAST;
    return own >= ATTRIBUTE_LEAST && own <= size && own <= ATTRIBUTE_MOST ? own : 0;
}

/* Loads a field of an attribute; 0 if the attribute is too old to have it. */
static uint64_t load(const uint8_t *attribute, size_t size, size_t at, unsigned width) {
    return at + width <= size ? uspi_le(attribute + at, width) : 0;
}

int uspi_perf_events_add(struct uspi_perf_events *events, const uint8_t *attribute, size_t size) {
    size = uspi_perf_attribute_size(attribute, size);
    if (size == 0 || events->count >= EVENTS_MAX) return USP_ERROR_TRUNCATED;
    if (!uspi_room_for(&events->all, &events->capacity, events->count, 1, sizeof *events->all))
        return USP_ERROR_NO_MEMORY;
    const uint64_t flags = load(attribute, size, 40, 8);
    events->all[events->count++] = (struct uspi_perf_event){
        .type = (uint32_t)load(attribute, size, 0, 4),
        .config = load(attribute, size, 8, 8),
        .period = load(attribute, size, 16, 8),
        .sample_type = load(attribute, size, 24, 8),
        .read_format = load(attribute, size, 32, 8),
        .branch_type = load(attribute, size, 72, 8),
        .registers = load(attribute, size, 80, 8),
        .stack_size = (uint32_t)load(attribute, size, 88, 4),
        .is_frequency = (flags & FLAG_FREQUENCY) != 0,
        .has_tail = (flags & FLAG_TAIL) != 0,
        .is_inherited = (flags & FLAG_INHERIT) != 0,
    };
    return USP_OK;
}

int uspi_perf_events_keep_ids(struct uspi_perf_events *events, size_t event, const uint8_t *ids, uint64_t n) {
    if (n > USPI_PERF_IDS_MAX - events->ids) return USP_OK;
    events->ids += n;
    for (uint64_t i = 0; i < n; i++) {
        if (!uspi_numbers_keep(&events->by_id, uspi_le64(ids + 8 * (size_t)i), (uint32_t)event + 1))
            return USP_ERROR_NO_MEMORY;
    }
    return USP_OK;
}

void uspi_perf_events_name(struct uspi_perf_events *events, size_t event, const char *name, size_t length) {
    char *copy = malloc(length + 1);
    if (copy == NULL) return;
    memcpy(copy, name, length);
    copy[length] = '\0';
    free(events->all[event].name);
    events->all[event].name = copy;
}

size_t uspi_perf_events_find(const struct uspi_perf_events *events, uint64_t id) {
    const uint32_t number = uspi_numbers_get(&events->by_id, id);
    return number != 0 ? number - 1 : SIZE_MAX;
}

void uspi_perf_events_clear(struct uspi_perf_events *events) {
    for (size_t i = 0; i < events->count; i++) free(events->all[i].name);
    free(events->all);
    uspi_numbers_free(&events->by_id);
    memset(events, 0, sizeof *events);
}

/* Returns the event of a record. With several events, an id at a fixed place tells: `identifier` is where it is if the
 * events have HAS_IDENTIFIER. Without it, all of them have one layout, and any of them will do. */
static size_t event_of(const struct uspi_perf_events *events, const uint8_t *identifier) {
    if (events->count <= 1 || identifier == NULL || (events->all[0].sample_type & HAS_IDENTIFIER) == 0) return 0;
    const size_t found = uspi_perf_events_find(events, uspi_le64(identifier));
    return found < events->count ? found : 0;
}

/* Takes what HAS_READ adds: the counts of a group of events, if they have ids. */
static void take_counts(struct uspi_fields *fields, uint64_t format, struct uspi_perf_sample *sample) {
    const unsigned each = 1u + ((format & READ_ID) != 0 ? 1u : 0u) + ((format & READ_LOST) != 0 ? 1u : 0u);
    const unsigned times = ((format & READ_ENABLED) != 0 ? 1u : 0u) + ((format & READ_RUNNING) != 0 ? 1u : 0u);
    const uint64_t count = (format & READ_GROUP) != 0 ? uspi_fields_u64(fields) : 1;
    (void)uspi_fields_bytes(fields, times * 8);
    const uint8_t *counts = uspi_fields_array(fields, count, each * 8);
    if (counts == NULL || (format & READ_GROUP) == 0 || (format & READ_ID) == 0) return;
    sample->members = counts;
    sample->member_count = count;
    sample->member_size = each * 8;
}

/* Takes the branches. They are calls if the processor was asked for a stack of calls (perf record --call-graph lbr). */
static void take_branches(struct uspi_fields *fields, uint64_t type, struct uspi_perf_sample *sample) {
    const uint64_t count = uspi_fields_u64(fields);
    if ((type & BRANCH_INDEX) != 0) (void)uspi_fields_u64(fields);
    const uint8_t *branches = uspi_fields_array(fields, count, 24);
    if ((type & BRANCH_COUNTERS) != 0) (void)uspi_fields_array(fields, count, 8);
    if ((type & BRANCH_CALLS) == 0) return;
    sample->calls = branches;
    sample->call_count = branches != NULL ? count : 0;
}

static unsigned bits_in(uint64_t mask) {
    unsigned count = 0;
    for (; mask != 0; mask &= mask - 1) count++;
    return count;
}

/* Takes the registers and the stack of the user part. */
static void take_dump(struct uspi_fields *fields, const struct uspi_perf_event *event,
                      struct uspi_perf_sample *sample) {
    if ((event->sample_type & HAS_REGISTERS) != 0) {
        sample->abi = uspi_fields_u64(fields);
        sample->mask = event->registers;
        if (sample->abi != 0) sample->registers = uspi_fields_array(fields, bits_in(event->registers), 8);
    }
    if ((event->sample_type & HAS_STACK) == 0) return;
    const uint64_t size = uspi_fields_u64(fields);
    if (size == 0) return;
    sample->stack = uspi_fields_bytes(fields, size);
    const uint64_t valid = uspi_fields_u64(fields);
    sample->stack_size = valid < size ? valid : size;
    sample->stack_is_full = valid >= size;
}

bool uspi_perf_sample_read(const struct uspi_perf_events *events, const struct uspi_perf_record *record,
                           struct uspi_perf_sample *sample) {
    struct uspi_fields fields = {record->bytes, record->size, false};
    memset(sample, 0, sizeof *sample);
    if (events->count == 0) return false;
    sample->event = (uint32_t)event_of(events, record->size >= 8 ? record->bytes : NULL);
    const struct uspi_perf_event *event = &events->all[sample->event];
    const uint64_t has = event->sample_type;
    sample->mode = record->misc & USPI_PERF_MODE;
    if ((has & HAS_IDENTIFIER) != 0) (void)uspi_fields_u64(&fields);
    if ((has & HAS_IP) != 0) sample->ip = uspi_fields_u64(&fields);
    if ((has & HAS_TID) != 0) {
        sample->pid = uspi_fields_u32(&fields);
        sample->tid = uspi_fields_u32(&fields);
    }
    if ((has & HAS_TIME) != 0) sample->time = uspi_fields_u64(&fields);
    if ((has & HAS_ADDR) != 0) (void)uspi_fields_u64(&fields);
    if ((has & HAS_ID) != 0) {
        /* All events have the layout up to here. */
        const size_t found = uspi_perf_events_find(events, uspi_fields_u64(&fields));
        if (found < events->count && (has & HAS_IDENTIFIER) == 0) sample->event = (uint32_t)found;
    }
    if ((has & HAS_STREAM) != 0) (void)uspi_fields_u64(&fields);
    if ((has & HAS_CPU) != 0) (void)uspi_fields_u64(&fields);
    sample->period = (has & HAS_PERIOD) != 0 ? uspi_fields_u64(&fields) : event->is_frequency ? 0 : event->period;
    if ((has & HAS_READ) != 0) take_counts(&fields, event->read_format, sample);
    if ((has & HAS_CHAIN) != 0) {
        sample->chain_count = uspi_fields_u64(&fields);
        sample->chain = uspi_fields_array(&fields, sample->chain_count, 8);
    }
    if ((has & HAS_RAW) != 0) (void)uspi_fields_bytes(&fields, uspi_fields_u32(&fields));
    if ((has & HAS_BRANCHES) != 0) take_branches(&fields, event->branch_type, sample);
    take_dump(&fields, event, sample);
    return !fields.is_short;
}

/* ---- the tail of other records ---- */

/* Returns the size of the tail's fields from `first` on, in bytes. */
static size_t tail_from(uint64_t sample_type, uint64_t first) {
    static const uint64_t order[] = {HAS_TID, HAS_TIME, HAS_ID, HAS_STREAM, HAS_CPU, HAS_IDENTIFIER};
    size_t size = 0;
    bool counts = false;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        counts = counts || order[i] == first;
        if (counts && (sample_type & order[i]) != 0) size += 8;
    }
    return size;
}

static const struct uspi_perf_event *event_of_tail(const struct uspi_perf_events *events,
                                                   const struct uspi_perf_record *record) {
    if (events->count == 0) return NULL;
    const uint8_t *last = record->size >= 8 ? record->bytes + record->size - 8 : NULL;
    const struct uspi_perf_event *event = &events->all[event_of(events, last)];
    return event->has_tail && record->type < USPI_PERF_ATTR ? event : NULL;
}

uint64_t uspi_perf_record_time(const struct uspi_perf_events *events, const struct uspi_perf_record *record) {
    const struct uspi_perf_event *event = event_of_tail(events, record);
    if (event == NULL || (event->sample_type & HAS_TIME) == 0) return 0;
    const size_t before_end = tail_from(event->sample_type, HAS_TIME);
    return record->size >= before_end ? uspi_le64(record->bytes + record->size - before_end) : 0;
}

size_t uspi_perf_record_body(const struct uspi_perf_events *events, const struct uspi_perf_record *record) {
    const struct uspi_perf_event *event = event_of_tail(events, record);
    const size_t tail = event != NULL ? tail_from(event->sample_type, HAS_TID) : 0;
    return tail <= record->size ? record->size - tail : 0;
}
