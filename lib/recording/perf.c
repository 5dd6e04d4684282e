/* SPDX-License-Identifier: MIT */
/* See perf.h: records in the order of time change threads and maps, and become samples with stacks. */
#include "lib/recording/perf.h"

#include "lib/base/hash.h"
#include "lib/base/span.h"
#include "lib/recording/perf_deferred.h"
#include "lib/recording/perf_queue.h"
#include "lib/recording/perf_stream.h"
#include "lib/recording/perf_walk.h"

#include <stdlib.h>

/* perf_event_attr: the clocks, whose periods are times in ns. */
#define TYPE_SOFTWARE 1u
#define CPU_CLOCK     0u
#define TASK_CLOCK    1u

#define PROT_CODE 4u
#define NS        UINT64_C(1000000000)

struct thread {
    struct uspi_item item;
    uint32_t tid;
    char name[64];
};

/* The last count of an event of a group. */
struct count {
    struct uspi_item item;
    uint32_t tid; /* 0: the event counts for all threads */
    uint64_t id, value;
};

struct reader {
    const struct usp_recording_options *options;
    struct usp_recording_info *info;
    struct uspi_perf_stream stream;
    struct uspi_perf_queue queue;
    struct uspi_perf_deferred deferred;
    struct uspi_perf_spaces spaces;
    struct uspi_perf_walk walk;
    struct uspi_pool threads; /* of struct thread */
    struct uspi_pool counts;  /* of struct count */
    struct uspi_allowance allowance;
};

/* ---- threads ---- */

static bool is_thread(const void *item, const void *key) {
    return ((const struct thread *)item)->tid == *(const uint32_t *)key;
}

static uint32_t find_thread(const struct reader *r, uint32_t tid) {
    return uspi_pool_find(&r->threads, (uint32_t)uspi_mix(tid, 0), is_thread, &tid);
}

static int name_thread(struct reader *r, uint32_t tid, const char *name, size_t length) {
    uint32_t i = find_thread(r, tid);
    if (i == USPI_NONE) i = uspi_pool_add(&r->threads, (uint32_t)uspi_mix(tid, 0));
    if (i == USPI_NONE) return USP_ERROR_NO_MEMORY;
    struct thread *thread = uspi_pool_at(&r->threads, i);
    if (length >= sizeof thread->name) length = sizeof thread->name - 1;
    thread->tid = tid;
    memcpy(thread->name, name, length);
    thread->name[length] = '\0';
    return USP_OK;
}

static void get_name(const struct reader *r, uint32_t tid, char name[64]) {
    const uint32_t i = find_thread(r, tid);
    memset(name, 0, 64);
    if (i != USPI_NONE) memcpy(name, ((const struct thread *)uspi_pool_at(&r->threads, i))->name, 64);
}

/* ---- samples ---- */

/* Returns the time that a sample represents, in ns; 0: not known. */
static uint64_t duration_of(const struct uspi_perf_event *event, uint64_t period) {
    const bool is_clock = event->type == TYPE_SOFTWARE && (event->config == CPU_CLOCK || event->config == TASK_CLOCK);
    if (is_clock) return period;
    return event->is_frequency && event->period > 0 ? NS / event->period : 0;
}

static bool is_wanted(const struct reader *r, const struct uspi_perf_sample *sample) {
    if (r->options->pid != 0 && r->options->pid != (int64_t)sample->pid) return false;
    return sample->time >= r->options->from && sample->time < r->options->to;
}

static bool is_count(const void *item, const void *key) {
    const struct count *a = item, *b = key;
    return a->id == b->id && a->tid == b->tid;
}

/* Replaces the last count of an event. Returns by how much it grew. */
static uint64_t count_since(struct reader *r, const struct count *now) {
    const uint32_t hash = (uint32_t)uspi_mix(now->id, now->tid);
    uint32_t i = uspi_pool_find(&r->counts, hash, is_count, now);
    if (i == USPI_NONE) i = uspi_pool_add(&r->counts, hash);
    if (i == USPI_NONE) return 0;
    struct count *last = uspi_pool_at(&r->counts, i);
    const uint64_t before = last->value;
    last->id = now->id;
    last->tid = now->tid;
    last->value = now->value;
    return now->value > before ? now->value - before : 0;
}

/* Passes a sample of a group on: one sample of each event whose count has grown since the last one. `given`: without
 * the event and its period; NULL: the sample is only counted. */
static int give_members(struct reader *r, const struct uspi_perf_sample *sample, struct usp_recording_sample *given) {
    int status = USP_OK;
    for (uint64_t i = 0; i < sample->member_count && status == USP_OK; i++) {
        const uint8_t *at = sample->members + (size_t)i * sample->member_size;
        struct count now = {.value = uspi_le64(at), .id = uspi_le64(at + 8)};
        const size_t index = uspi_perf_events_find(&r->stream.events, now.id);
        if (index >= r->stream.events.count) continue;
        const struct uspi_perf_event *event = &r->stream.events.all[index];
        /* An inherited event counts for each thread. */
        if (event->is_inherited) now.tid = sample->tid;
        const uint64_t period = count_since(r, &now);
        if (period == 0 || given == NULL) continue;
        given->event = event->name != NULL ? event->name : "";
        given->event_index = (uint32_t)index;
        given->period = period;
        given->duration = duration_of(event, period);
        status = r->options->sample(r->options->context, given);
    }
    return status;
}

/* Passes a sample to the caller. `addresses`: its user part, if that came later. */
static int give_sample(void *context, const struct uspi_perf_record *record, uint64_t time, const uint8_t *addresses,
                       uint64_t count) {
    struct reader *r = context;
    struct uspi_perf_sample sample;
    struct usp_stack stack;
    uint64_t cookie;
    (void)time;
    if (!uspi_perf_sample_read(&r->stream.events, record, &sample)) return USP_OK;
    if (!is_wanted(r, &sample)) return give_members(r, &sample, NULL);
    struct uspi_perf_view *view = uspi_perf_spaces_view(&r->spaces, sample.pid);
    if (view == NULL) return USP_ERROR_NO_MEMORY;
    const enum uspi_perf_walked walked = uspi_perf_walk(&r->walk, &sample, view, &stack);
    if (walked != USPI_PERF_WALKED_CHAIN) r->info->unwound++;
    if (walked == USPI_PERF_WALKED_SHORT) r->info->short_dumps++;
    if (count > 0) {
        /* They begin with the place that a sample of the process itself has. */
        if (sample.mode == USPI_PERF_MODE_USER) stack.count = 0;
        uspi_perf_walk_append(&r->walk, addresses, count, &stack);
    } else if (uspi_perf_is_deferred(&sample, &cookie)) {
        stack.stop = USP_STOP_NOT_COPIED;
    }
    struct usp_thread_info thread = {.thread = {.id = sample.tid, .native = sample.tid}};
    get_name(r, sample.tid, thread.name);
    if (sample.pid == sample.tid) thread.flags = USP_THREAD_MAIN;
    const struct uspi_perf_event *event = &r->stream.events.all[sample.event];
    struct usp_recording_sample given = {.thread = &thread,
                                         .stack = &stack,
                                         .images = view->images,
                                         .event = event->name != NULL ? event->name : "",
                                         .pid = sample.pid,
                                         .time = sample.time,
                                         .period = sample.period,
                                         .duration = duration_of(event, sample.period),
                                         .event_index = sample.event};
    return sample.member_count > 0 ? give_members(r, &sample, &given) : r->options->sample(r->options->context, &given);
}

static int take_sample(struct reader *r, const struct uspi_perf_record *record, uint64_t time) {
    struct uspi_perf_sample sample;
    uint64_t cookie;
    if (!uspi_perf_sample_read(&r->stream.events, record, &sample)) return USP_OK;
    if (uspi_perf_is_deferred(&sample, &cookie)) return uspi_perf_deferred_keep(&r->deferred, record, &sample, cookie);
    return give_sample(r, record, time, NULL, 0);
}

/* ---- maps ---- */

static bool begins_with(const char *name, size_t length, const char *prefix) {
    const size_t n = strlen(prefix);
    return length >= n && memcmp(name, prefix, n) == 0;
}

static bool is_vdso(const char *name, size_t length) {
    static const char vdso[] = "[vdso]";
    return length == sizeof vdso - 1 && memcmp(name, vdso, length) == 0;
}

/* Returns whether a map's name is that of a file. The others are names of the kernel and of .NET for memory without a
 * file, where a process has its generated code. */
static bool is_file(const char *name, size_t length) {
    static const char *const others[] = {"//", "/dev/zero", "/SYSV", "/anon_hugepage", "/memfd:doublemapper"};
    if (length < 2 || name[0] != '/') return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (begins_with(name, length, others[i])) return false;
    }
    return true;
}

/* Where the addresses of kernels of 64 bits begin. */
#define UPPER_HALF (UINT64_C(1) << 63)

/* Adds a map of the kernel: its name is that of a module, or [kernel.kallsyms] and the symbol at its start. */
static int map_kernel(struct reader *r, struct uspi_perf_mapping *map, const char *name, size_t length,
                      const struct uspi_build_id *id) {
    const char *bracket = length > 0 && name[0] == '[' ? memchr(name, ']', length) : NULL;
    if (bracket != NULL) length = (size_t)(bracket + 1 - name);
    /* perf of Linux 3.8 gives a relocated kernel a beginning without its upper half, so that the map holds processes'
     * addresses, too. The offset is the address of the kernel's first symbol. */
    if (map->low < UPPER_HALF && map->high > UPPER_HALF)
        map->low = map->offset > UPPER_HALF && map->offset < map->high ? map->offset : UPPER_HALF;
    map->offset = 0;
    map->file = uspi_perf_files_know(&r->spaces.files, name, length, id);
    return map->file != USPI_NONE ? uspi_perf_spaces_map(&r->spaces, USPI_PERF_KERNEL, map) : USP_ERROR_NO_MEMORY;
}

static int take_map(struct reader *r, const struct uspi_perf_record *record) {
    struct uspi_fields fields = {record->bytes, uspi_perf_record_body(&r->stream.events, record), false};
    struct uspi_build_id id = {0};
    struct uspi_perf_mapping map = {.file = USPI_NONE};
    const uint32_t pid = uspi_fields_u32(&fields);
    (void)uspi_fields_u32(&fields);
    map.low = uspi_fields_u64(&fields);
    const uint64_t size = uspi_fields_u64(&fields);
    map.offset = uspi_fields_u64(&fields);
    bool has_code = (record->misc & USPI_PERF_DATA_OR_EXEC) == 0;
    if (record->type == USPI_PERF_MMAP2) {
        const uint8_t *identity = uspi_fields_bytes(&fields, 24);
        const uint32_t protection = uspi_fields_u32(&fields);
        (void)uspi_fields_u32(&fields);
        has_code = has_code && (protection & PROT_CODE) != 0;
        if (identity != NULL && (record->misc & USPI_PERF_HAS_ID) != 0 && identity[0] <= 20) {
            id.size = identity[0];
            memcpy(id.bytes, identity + 4, id.size);
        }
    }
    if (fields.is_short || size == 0) return USP_OK;
    size_t length;
    const char *name = uspi_fields_string(&fields, &length);
    map.high = size <= UINT64_MAX - map.low ? map.low + size : UINT64_MAX;
    if ((record->misc & USPI_PERF_MODE) == USPI_PERF_MODE_KERNEL) return map_kernel(r, &map, name, length, &id);
    if ((record->misc & USPI_PERF_MODE) != USPI_PERF_MODE_USER) return USP_OK;
    /* Old kernels (3.8) write the vdso's address for its offset. */
    if (is_vdso(name, length)) map.offset = 0;
    if (has_code && (is_vdso(name, length) || is_file(name, length))) {
        map.file = uspi_perf_files_know(&r->spaces.files, name, length, &id);
        if (map.file == USPI_NONE) return USP_ERROR_NO_MEMORY;
    }
    return uspi_perf_spaces_map(&r->spaces, pid, &map);
}

/* ---- processes ---- */

static int take_name(struct reader *r, const struct uspi_perf_record *record) {
    struct uspi_fields fields = {record->bytes, uspi_perf_record_body(&r->stream.events, record), false};
    const uint32_t pid = uspi_fields_u32(&fields), tid = uspi_fields_u32(&fields);
    size_t length;
    if (fields.is_short) return USP_OK;
    const char *name = uspi_fields_string(&fields, &length);
    if ((record->misc & USPI_PERF_DATA_OR_EXEC) != 0) uspi_perf_spaces_exec(&r->spaces, pid);
    return name_thread(r, tid, name, length);
}

static int take_fork(struct reader *r, const struct uspi_perf_record *record) {
    struct uspi_fields fields = {record->bytes, record->size, false};
    const uint32_t pid = uspi_fields_u32(&fields), parent = uspi_fields_u32(&fields);
    const uint32_t tid = uspi_fields_u32(&fields), parent_tid = uspi_fields_u32(&fields);
    char name[64];
    if (fields.is_short) return USP_OK;
    /* A thread that had this id has ended. */
    if (find_thread(r, tid) != USPI_NONE) r->options->end_thread(r->options->context, tid);
    get_name(r, parent_tid, name);
    int status = name_thread(r, tid, name, strlen(name));
    /* A fork that perf describes afterwards is followed by all maps. */
    const bool is_described = (record->misc & USPI_PERF_DATA_OR_EXEC) != 0;
    if (status == USP_OK && pid != parent && !is_described) status = uspi_perf_spaces_fork(&r->spaces, pid, parent);
    return status;
}

static void take_exit(struct reader *r, const struct uspi_perf_record *record) {
    struct uspi_fields fields = {record->bytes, record->size, false};
    const uint32_t pid = uspi_fields_u32(&fields);
    (void)uspi_fields_u32(&fields);
    const uint32_t tid = uspi_fields_u32(&fields);
    if (!fields.is_short && pid == tid) uspi_perf_spaces_end(&r->spaces, pid);
}

/* Handles a record in the order of time. */
static int take_ordered(void *context, const struct uspi_perf_record *record, uint64_t time) {
    struct reader *r = context;
    switch (record->type) {
    case USPI_PERF_SAMPLE: return take_sample(r, record, time);
    case USPI_PERF_MMAP:
    case USPI_PERF_MMAP2: return take_map(r, record);
    case USPI_PERF_COMM: return take_name(r, record);
    case USPI_PERF_FORK: return take_fork(r, record);
    case USPI_PERF_EXIT: take_exit(r, record); return USP_OK;
    case USPI_PERF_DEFERRED:
        return uspi_perf_deferred_complete(&r->deferred, record, uspi_perf_record_body(&r->stream.events, record));
    default: return USP_OK;
    }
}

/* ---- records as they come ---- */

/* Takes one build id: the process, 24 bytes with it, and the path. */
static int take_build_id(struct reader *r, struct uspi_fields fields, uint32_t misc) {
    struct uspi_build_id id = {.size = 20};
    (void)uspi_fields_u32(&fields);
    const uint8_t *bytes = uspi_fields_bytes(&fields, 24);
    size_t length;
    if (bytes == NULL) return USP_OK;
    const char *path = uspi_fields_string(&fields, &length);
    memcpy(id.bytes, bytes, id.size);
    if ((misc & USPI_PERF_ID_SIZE) != 0 && bytes[20] <= 20) {
        id.size = bytes[20];
    } else {
        /* A shorter id is filled up with zeros. */
        while (id.size >= 4 && uspi_le32(id.bytes + id.size - 4) == 0) id.size -= 4;
    }
    memset(id.bytes + id.size, 0, sizeof id.bytes - id.size);
    return id.size > 0 ? uspi_perf_files_keep_id(&r->spaces.files, path, length, &id) : USP_OK;
}

static int take_build_ids(struct reader *r, struct uspi_fields fields) {
    int status = USP_OK;
    while (status == USP_OK && fields.left >= 8) {
        const uint8_t *header = uspi_fields_bytes(&fields, 8);
        const size_t size = uspi_le16(header + 6);
        const uint8_t *body = size >= 8 ? uspi_fields_bytes(&fields, size - 8) : NULL;
        if (body == NULL) break;
        status = take_build_id(r, (struct uspi_fields){body, size - 8, false}, uspi_le16(header + 4));
    }
    return status;
}

static int take_feature(void *context, uint32_t feature, struct uspi_fields fields) {
    struct reader *r = context;
    if (feature == USPI_PERF_FEATURE_BUILD_IDS) return take_build_ids(r, fields);
    if (feature >= USPI_PERF_FEATURE_SIMPLEPERF) r->walk.callers_are_adjusted = true;
    if (feature == USPI_PERF_FEATURE_META) {
        const char *mask = uspi_perf_meta_find(fields, "arm64_pac_mask");
        size_t at = 0;
        if (mask != NULL) (void)uspi_scan_hex(uspi_span_of(mask), &at, &r->walk.pac_mask);
    }
    if (feature == USPI_PERF_FEATURE_ARCH) {
        char name[32] = "";
        size_t length;
        (void)uspi_fields_u32(&fields);
        const char *text = uspi_fields_string(&fields, &length);
        if (length < sizeof name) memcpy(name, text, length);
        r->walk.arch = r->spaces.arch = r->info->arch = usp_arch_from_string(name);
    }
    return USP_OK;
}

static int queue_sample(struct reader *r, const struct uspi_perf_record *record) {
    struct uspi_perf_sample sample;
    if (!uspi_perf_sample_read(&r->stream.events, record, &sample)) return USP_OK;
    r->info->samples++;
    if (sample.time != 0 && (r->info->first == 0 || sample.time < r->info->first)) r->info->first = sample.time;
    if (sample.time > r->info->last) r->info->last = sample.time;
    /* The counts of a group include what happened before. */
    if (sample.member_count == 0 && !is_wanted(r, &sample)) return USP_OK;
    if (sample.time == 0) return take_ordered(r, record, 0);
    return uspi_perf_queue_add(&r->queue, record, sample.time);
}

static int take_record(void *context, const struct uspi_perf_record *record) {
    struct reader *r = context;
    const struct uspi_fields fields = {record->bytes, record->size, false};
    switch (record->type) {
    case USPI_PERF_SAMPLE: return queue_sample(r, record);
    case USPI_PERF_LOST:
        if (record->size >= 16) r->info->lost += uspi_le64(record->bytes + 8);
        return USP_OK;
    case USPI_PERF_LOST_SAMPLES:
        if (record->size >= 8) r->info->lost += uspi_le64(record->bytes);
        return USP_OK;
    case USPI_PERF_BUILD_ID: return take_build_id(r, fields, record->misc);
    case USPI_PERF_ROUND: return uspi_perf_queue_end_round(&r->queue);
    case USPI_PERF_MMAP:
    case USPI_PERF_MMAP2:
    case USPI_PERF_COMM:
    case USPI_PERF_FORK:
    case USPI_PERF_EXIT:
    case USPI_PERF_DEFERRED: break;
    default: return USP_OK;
    }
    const uint64_t time = uspi_perf_record_time(&r->stream.events, record);
    /* What perf found in /proc has no time: it was so before the recording began. */
    return time == 0 ? take_ordered(r, record, 0) : uspi_perf_queue_add(&r->queue, record, time);
}

static int read_all(struct reader *r, struct uspi_error *error) {
    int status = uspi_perf_stream_run(&r->stream);
    /* What came before a damaged place is whole. */
    if (status == USP_OK || status == USP_ERROR_TRUNCATED || status == USP_ERROR_FORMAT) {
        int flushed = uspi_perf_queue_flush(&r->queue);
        if (flushed == USP_OK) flushed = uspi_perf_deferred_flush(&r->deferred);
        if (flushed != USP_OK) status = flushed;
    }
    if (status == USP_ERROR_NO_MEMORY) uspi_error_set(error, status, "%s", usp_status_string(status));
    return status;
}

int uspi_perf_read(const struct usp_recording_options *options, struct usp_recording_info *info,
                   struct uspi_error *error) {
    int status = USP_ERROR_NO_MEMORY;
    struct reader *r = calloc(1, sizeof *r);
    struct usp_frame *frames = calloc(options->max_frames, sizeof *frames);
    if (r != NULL) {
        *r = (struct reader){
            .options = options,
            .info = info,
            .walk = {.frames = frames, .capacity = options->max_frames},
            .allowance = {.limit = UINT64_MAX},
            .queue = {.record = take_ordered, .context = r},
            .deferred = {.sample = give_sample, .context = r},
            .stream = {.read = options->read,
                       .read_context = options->context,
                       .file_size = options->file_size,
                       .record = take_record,
                       .feature = take_feature,
                       .context = r,
                       .error = error},
        };
        if (frames != NULL && uspi_pool_init(&r->threads, sizeof(struct thread), 64, false, &r->allowance) &&
            uspi_pool_init(&r->counts, sizeof(struct count), 64, false, &r->allowance) &&
            uspi_perf_spaces_init(&r->spaces, options->sysroot, options->build_ids)) {
            status = read_all(r, error);
        }
        info->event_count = (uint32_t)r->stream.events.count;
        info->maps_left_out = r->spaces.left_out;
        uspi_perf_queue_clear(&r->queue);
        uspi_perf_deferred_clear(&r->deferred);
        uspi_perf_stream_clear(&r->stream);
        uspi_perf_spaces_clear(&r->spaces);
        uspi_pool_free(&r->threads);
        uspi_pool_free(&r->counts);
    }
    free(frames);
    free(r);
    if (status == USP_ERROR_NO_MEMORY) uspi_error_set(error, status, "%s", usp_status_string(status));
    return status;
}
