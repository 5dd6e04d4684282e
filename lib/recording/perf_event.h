/* SPDX-License-Identifier: MIT */
/* The events of a perf.data file, and what their records look like. Sources: Linux include/uapi/linux/perf_event.h,
 * perf_event_open(2), tools/perf/Documentation/perf.data-file-format.txt. */
#ifndef USPI_RECORDING_PERF_EVENT_H
#define USPI_RECORDING_PERF_EVENT_H

#include "lib/base/numbers.h"
#include "lib/recording/fields.h"

/* Types of records: the kernel's, and those from 64 on of the tool. */
enum uspi_perf_type {
    USPI_PERF_MMAP = 1,
    USPI_PERF_LOST = 2,
    USPI_PERF_COMM = 3,
    USPI_PERF_EXIT = 4,
    USPI_PERF_FORK = 7,
    USPI_PERF_SAMPLE = 9,
    USPI_PERF_MMAP2 = 10,
    USPI_PERF_LOST_SAMPLES = 13,
    USPI_PERF_DEFERRED = 22,
    USPI_PERF_ATTR = 64,
    USPI_PERF_TRACING_DATA = 66,
    USPI_PERF_BUILD_ID = 67,
    USPI_PERF_ROUND = 68,
    USPI_PERF_AUXTRACE = 71,
    USPI_PERF_UPDATE = 78,
    USPI_PERF_FEATURE = 80,
    USPI_PERF_COMPRESSED = 81,
    USPI_PERF_COMPRESSED2 = 83
};

enum uspi_perf_misc {
    USPI_PERF_MODE = 7, /* 1: kernel, 2: user, 3: hypervisor, 4 and 5: guest */
    USPI_PERF_MODE_KERNEL = 1,
    USPI_PERF_MODE_USER = 2,
    USPI_PERF_DATA_OR_EXEC = 1 << 13, /* MMAP, MMAP2: not executable. COMM: of an exec */
    USPI_PERF_HAS_ID = 1 << 14,       /* MMAP2: with a build id */
    USPI_PERF_ID_SIZE = 1 << 15       /* BUILD_ID: with its size */
};

/* Markers in call chains. */
#define USPI_PERF_CONTEXT_LEAST    UINT64_C(0xfffffffffffff000) /* from here on: markers */
#define USPI_PERF_CONTEXT_KERNEL   ((uint64_t)-128)
#define USPI_PERF_CONTEXT_USER     ((uint64_t)-512)
#define USPI_PERF_CONTEXT_DEFERRED ((uint64_t)-640) /* then a cookie: record 22 has the user part */

/* A record without its header. */
struct uspi_perf_record {
    uint32_t type; /* enum uspi_perf_type */
    uint32_t misc;
    const uint8_t *bytes;
    size_t size;
};

struct uspi_perf_event {
    uint32_t type;
    uint64_t config, period; /* the period is a frequency if is_frequency */
    uint64_t sample_type, read_format, branch_type, registers;
    uint32_t stack_size; /* size of stack dumps that was requested */
    bool is_frequency, has_tail, is_inherited;
    char *name; /* NULL: none */
};

/* All zero: empty. */
struct uspi_perf_events {
    struct uspi_perf_event *all;
    size_t count, capacity;
    struct uspi_numbers by_id; /* number of the event + 1 */
    uint64_t ids;              /* how many were given */
};

/* Adds an event from a perf_event_attr of any size. Returns USP_OK, USP_ERROR_TRUNCATED, USP_ERROR_NO_MEMORY. */
int uspi_perf_events_add(struct uspi_perf_events *events, const uint8_t *attribute, size_t size);

/* The maximum number of ids of all events. Others are not kept. */
#define USPI_PERF_IDS_MAX (UINT64_C(1) << 21)

/* Keeps n ids of an event. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_perf_events_keep_ids(struct uspi_perf_events *events, size_t event, const uint8_t *ids, uint64_t n);

/* Sets an event's name. When memory is exhausted, it keeps the name that it had. */
void uspi_perf_events_name(struct uspi_perf_events *events, size_t event, const char *name, size_t length);

/* Finds the event with an id. Returns SIZE_MAX if there is none. */
size_t uspi_perf_events_find(const struct uspi_perf_events *events, uint64_t id);

/* Returns the attribute's own size in bytes; 0: it is damaged. */
size_t uspi_perf_attribute_size(const uint8_t *attribute, size_t size);

void uspi_perf_events_clear(struct uspi_perf_events *events);

/* A sample. Pointers lead into the record. */
struct uspi_perf_sample {
    uint32_t event;
    uint32_t mode; /* misc & USPI_PERF_MODE */
    uint32_t pid, tid;
    uint64_t ip, time, period;
    const uint8_t
        *members;          /* counts of a group of events: each has `member_size` bytes, the count first, then the id */
    uint64_t member_count; /* 0: the sample is of one event */
    unsigned member_size;
    const uint8_t *chain; /* of u64 */
    uint64_t chain_count;
    const uint8_t *calls; /* the innermost one first; each has 24 bytes and begins with the address of the call */
    uint64_t call_count;  /* 0: the processor has not recorded calls */
    uint64_t abi, mask;   /* of the user registers; abi 0: there are none */
    const uint8_t *registers;
    const uint8_t *stack;
    uint64_t stack_size; /* valid bytes of it */
    bool stack_is_full;  /* the dump has no byte more than was requested: the stack may go on */
};

/* Decodes a sample. Returns false if it is damaged, or no event has its layout. */
bool uspi_perf_sample_read(const struct uspi_perf_events *events, const struct uspi_perf_record *record,
                           struct uspi_perf_sample *sample);

/* Returns the time of a record that is not a sample; 0: it has none. */
uint64_t uspi_perf_record_time(const struct uspi_perf_events *events, const struct uspi_perf_record *record);

/* Returns the size of a record's bytes without those of its tail, which tells time and cpu. */
size_t uspi_perf_record_body(const struct uspi_perf_events *events, const struct uspi_perf_record *record);

#endif
