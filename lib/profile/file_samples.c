/* SPDX-License-Identifier: MIT */
/* Gives the samples of a profile of pprof or OTLP, each with its stack, thread and values. See file.h. */
#include "lib/profile/file.h"

#include "arch/little_endian.h"
#include "lib/base/hash.h"
#include "lib/base/sized.h"
#include "lib/object/bytes.h"

/* Field numbers. */
enum { PPROF_TYPE = 1, PPROF_SAMPLE, PPROF_TIME = 9, PPROF_DURATION, PPROF_PERIOD_TYPE, PPROF_PERIOD };
enum { PPROF_DEFAULT_TYPE = 14 };
enum { PPROF_SAMPLE_LOCATION = 1, PPROF_SAMPLE_VALUE, PPROF_SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum { OTLP_RESOURCE_PROFILES = 1 };
enum { RESOURCE = 1, SCOPE_PROFILES, PROFILES = 2, RESOURCE_ATTRIBUTES = 1 };
enum { OTLP_TYPE = 1, OTLP_SAMPLE, OTLP_TIME, OTLP_DURATION, OTLP_PERIOD_TYPE, OTLP_PERIOD };
enum { OTLP_SAMPLE_STACK = 1, OTLP_SAMPLE_ATTRIBUTES, OTLP_SAMPLE_VALUE = 4, OTLP_SAMPLE_TIME };
enum { STACK_LOCATION = 1, TYPE_NAME = 1, TYPE_UNIT, PAIR_KEY = 1, PAIR_VALUE, PAIR_KEY_INDEX, VALUE_INTEGER = 3 };

/* More types of values and threads than these are not told apart. */
#define TYPES_MAX   64u
#define THREADS_MAX 65536u

/* A type of value: an event. */
struct type {
    struct uspi_span name;
    uint64_t unit; /* in ns; 0: not a time */
    bool is_count;
};

struct thread {
    struct uspi_item item;
    struct usp_thread_info info;
    struct uspi_span name;
    uint64_t id; /* by the file; 0: not known */
    int64_t pid;
    uint32_t number; /* as in struct who */
    uint64_t clock;  /* sum of its durations */
};

/* An id that a thread was given to the callback with. */
struct given_id {
    struct uspi_item item;
    uint64_t id;
};

struct sampling {
    struct usp_profile_file *file;
    const struct usp_recording_options *options;
    struct usp_recording_info *info;
    struct type types[TYPES_MAX];
    uint32_t type_count, type; /* type: whose samples are given */
    uint64_t period;           /* of an OTLP profile, in ns; 0: not known */
    int64_t pid;               /* of an OTLP resource */
    struct uspi_allowance allowance;
    struct uspi_pool threads, ids; /* ids: of struct given_id */
    uint64_t next_id;              /* for a thread whose id another one has */
    struct usp_frame *frames;      /* options->max_frames of them */
    char event[128];
};

/* ---- types of values ---- */

static uint64_t unit_of(struct uspi_span unit) {
    static const struct {
        struct uspi_span name;
        uint64_t ns;
    } units[] = {
        {USPI_SPAN_INIT("nanoseconds"), 1},        {USPI_SPAN_INIT("ns"), 1},
        {USPI_SPAN_INIT("microseconds"), 1000},    {USPI_SPAN_INIT("us"), 1000},
        {USPI_SPAN_INIT("milliseconds"), 1000000}, {USPI_SPAN_INIT("ms"), 1000000},
        {USPI_SPAN_INIT("seconds"), 1000000000},   {USPI_SPAN_INIT("s"), 1000000000},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (uspi_span_is(unit, units[i].name)) return units[i].ns;
    }
    return 0;
}

static struct type read_type(const struct usp_profile_file *file, struct uspi_span message) {
    const struct uspi_span unit = uspi_file_string(file, uspi_proto_find(message, TYPE_UNIT).value);
    return (struct type){.name = uspi_file_string(file, uspi_proto_find(message, TYPE_NAME).value),
                         .unit = unit_of(unit),
                         .is_count = uspi_span_is(unit, USPI_SPAN("count"))};
}

/* Returns the value in ns, at most INT64_MAX. */
static uint64_t in_ns(uint64_t value, uint64_t unit) {
    uint64_t ns;
    return uspi_product(value, unit, &ns) && ns <= INT64_MAX ? ns : INT64_MAX;
}

/* Returns how long a profile lasted, in ns; 0: not known, also if it is negative. */
static uint64_t read_length(struct uspi_span profile, uint64_t field) {
    const uint64_t length = uspi_proto_find(profile, field).value;
    return length <= INT64_MAX ? length : 0;
}

static void choose_type(struct sampling *sampling, uint32_t type) {
    const struct uspi_span name = sampling->types[type].name;
    const size_t length = name.length < sizeof sampling->event ? name.length : sizeof sampling->event - 1;
    if (length > 0) memcpy(sampling->event, name.bytes, length);
    sampling->event[length] = '\0';
    sampling->type = type;
}

/* ---- threads ---- */

/* What labels or attributes say of a sample's thread. */
struct who {
    struct uspi_span name;
    uint64_t id; /* 0: not known */
    int64_t pid;
    /* Of our own profiles: */
    struct uspi_span queue;
    bool is_main;
    uint32_t number; /* in the file's threads, which may have the same id one after another; otherwise 0 */
};

static bool is_any(struct uspi_span key, const char *const *names) {
    for (; *names != NULL; names++) {
        if (uspi_span_is(key, uspi_span_of(*names))) return true;
    }
    return false;
}

static void take_pair(struct who *who, struct uspi_file_pair *pair) {
    static const char *const names[] = {"thread", "thread.name", "thread_name", "comm", NULL},
                             *const ids[] = {"thread_id", "thread.id", "tid", NULL},
                             *const pids[] = {"pid", "process.pid", "process_id", NULL};
    size_t at = 0;
    if (pair->text.length > 0 && !uspi_scan_decimal(pair->text, &at, &pair->number)) pair->number = 0;
    if (is_any(pair->key, names) && pair->text.length > 0) who->name = pair->text;
    if (is_any(pair->key, ids)) who->id = pair->number;
    if (is_any(pair->key, pids) && pair->number <= INT32_MAX) who->pid = (int64_t)pair->number;
}

static bool is_thread(const void *item, const void *key) {
    const struct thread *thread = item;
    const struct who *who = key;
    return thread->id == who->id && thread->pid == who->pid && thread->number == who->number &&
           uspi_span_is(thread->name, who->name);
}

static bool is_id(const void *item, const void *key) {
    return ((const struct given_id *)item)->id == *(const uint64_t *)key;
}

/* Gives a thread an id that no other one has: the wanted one if possible. Threads of different processes, and threads
 * of one process that ran one after the other, can have the same id. Returns 0 when memory is exhausted. */
static uint64_t take_id(struct sampling *sampling, uint64_t wanted) {
    uint64_t id = wanted;
    while (uspi_pool_find(&sampling->ids, (uint32_t)uspi_mix(id, 0), is_id, &id) != USPI_NONE) id = ++sampling->next_id;
    const uint32_t i = uspi_pool_add(&sampling->ids, (uint32_t)uspi_mix(id, 0));
    if (i == USPI_NONE) return 0;
    ((struct given_id *)uspi_pool_at(&sampling->ids, i))->id = id;
    return id;
}

static struct thread *know_thread(struct sampling *sampling, const struct who *who) {
    const uint64_t mixed =
        uspi_mix(uspi_mix(uspi_mix(uspi_hash_bytes(who->name.bytes, who->name.length), who->id), (uint64_t)who->pid),
                 who->number);
    uint32_t i = uspi_pool_find(&sampling->threads, (uint32_t)mixed, is_thread, who);
    if (i != USPI_NONE) return uspi_pool_at(&sampling->threads, i);
    if (sampling->threads.begun >= THREADS_MAX) return uspi_pool_at(&sampling->threads, THREADS_MAX - 1);
    const uint64_t id = take_id(sampling, who->id != 0 ? who->id : (uint64_t)sampling->threads.begun + 1);
    i = id != 0 ? uspi_pool_add(&sampling->threads, (uint32_t)mixed) : USPI_NONE;
    if (i == USPI_NONE) return NULL;
    struct thread *thread = uspi_pool_at(&sampling->threads, i);
    thread->name = who->name;
    thread->id = who->id;
    thread->pid = who->pid;
    thread->number = who->number;
    struct uspi_span shown = who->name;
    if (shown.length == 0 && who->id == 0) shown = USPI_SPAN("all threads");
    const size_t length = shown.length < sizeof thread->info.name ? shown.length : sizeof thread->info.name - 1;
    if (length > 0) memcpy(thread->info.name, shown.bytes, length);
    if (who->queue.length > 0 && who->queue.length < sizeof thread->info.queue)
        memcpy(thread->info.queue, who->queue.bytes, who->queue.length);
    if (who->is_main) thread->info.flags = USP_THREAD_MAIN;
    thread->info.thread.id = id;
    thread->info.thread.native = who->id != 0 ? who->id : id;
    return thread;
}

/* ---- one sample ---- */

static struct usp_frame frame_of(const struct uspi_file_location *location) {
    return (struct usp_frame){
        .pc = location->pc, .kind = location->kind, .flags = location->is_thumb ? (uint32_t)USP_FRAME_THUMB : 0};
}

/* Puts the frames of a list of locations, innermost first, into a stack. */
static void put_stack(const struct sampling *sampling, struct uspi_span message, uint64_t field,
                      struct usp_stack *stack) {
    struct uspi_file_numbers numbers = {.message = message, .field = field};
    uint64_t id, missing = 0;
    usp_stack_init(stack, sampling->frames, sampling->options->max_frames);
    stack->stop = USP_STOP_ROOT;
    while (uspi_file_next_number(&numbers, &id)) {
        const uint32_t number = uspi_file_find(sampling->file, &sampling->file->locations, id);
        if (number == USPI_NONE && missing++ < stack->capacity) continue;
        if (number == USPI_NONE || stack->count == stack->capacity) {
            stack->stop = USP_STOP_CAPACITY;
            stack->omitted = 1;
            stack->omitted_at = stack->count;
            break;
        }
        stack->frames[stack->count++] = frame_of(uspi_file_location(sampling->file, number));
    }
    stack->physical = stack->count;
}

/* A sample's value, and what goes with it. */
struct value {
    uint64_t count, duration, cpu, time, period;
    bool has_cpu;
};

static int give(struct sampling *sampling, const struct who *who, const struct usp_stack *stack,
                const struct value *value) {
    const struct usp_recording_options *options = sampling->options;
    if (options->pid != 0 && who->pid != options->pid) return USP_OK;
    const bool has_span = options->from > 0 || options->to < UINT64_MAX;
    if (has_span && (value->time == 0 || value->time < options->from || value->time >= options->to)) return USP_OK;
    struct thread *thread = know_thread(sampling, who);
    if (thread == NULL) return USP_ERROR_NO_MEMORY;
    if (value->duration <= UINT64_MAX - thread->clock) thread->clock += value->duration;
    const uint32_t flags = (value->has_cpu ? (uint32_t)USP_RECORDING_SAMPLE_CPU : 0) |
                           (value->time == 0 ? (uint32_t)USP_RECORDING_SAMPLE_SUMMED : 0);
    const struct usp_recording_sample sample = {.thread = &thread->info,
                                                .stack = stack,
                                                .images = sampling->file->images,
                                                .event = sampling->event,
                                                .pid = who->pid,
                                                .time = value->time != 0 ? value->time : thread->clock,
                                                .period = value->period,
                                                .duration = value->duration,
                                                .event_index = sampling->type,
                                                .flags = flags,
                                                .count = value->count,
                                                .cpu = value->cpu};
    if (sampling->info->first == 0) sampling->info->first = sample.time;
    if (sample.time > sampling->info->last) sampling->info->last = sample.time;
    return options->sample(options->context, &sample);
}

/* ---- pprof ---- */

/* Returns the first type of time; `name` (may be NULL): the one with this name. TYPES_MAX: none. */
static uint32_t time_type(const struct sampling *sampling, const char *name) {
    for (uint32_t i = 0; i < sampling->type_count; i++) {
        const struct type *type = &sampling->types[i];
        if (type->unit != 0 && (name == NULL || uspi_span_is(type->name, uspi_span_of(name)))) return i;
    }
    return TYPES_MAX;
}

/* Returns how many samples a value of time stands for: one for each period. Without a period it counts in its unit, so
 * that each stack has its share. */
static uint64_t count_of(const struct type *type, uint64_t value, uint64_t period) {
    if (period == 0) return value;
    const uint64_t count = (in_ns(value, type->unit) + period / 2) / period;
    return count > 0 ? count : 1;
}

/* Finds the value of the chosen type and those that go with it. Returns false if it is not positive. */
static bool weigh(const struct sampling *sampling, const uint64_t values[TYPES_MAX], struct value *value) {
    const struct type *type = &sampling->types[sampling->type];
    const uint64_t own = values[sampling->type];
    uint32_t lasting = sampling->type;
    if (own == 0 || own > INT64_MAX) return false;
    *value = (struct value){.count = own, .period = own};
    if (type->unit != 0) {
        value->count = count_of(type, own, sampling->period);
        for (uint32_t i = sampling->type_count; i-- > 0;) {
            if (sampling->types[i].is_count && values[i] != 0 && values[i] <= INT64_MAX) value->count = values[i];
        }
    } else {
        lasting = time_type(sampling, "wall");
        if (lasting == TYPES_MAX) lasting = time_type(sampling, NULL);
    }
    const uint32_t ran = time_type(sampling, "cpu");
    if (lasting != TYPES_MAX && values[lasting] <= INT64_MAX)
        value->duration = in_ns(values[lasting], sampling->types[lasting].unit);
    value->has_cpu = ran != TYPES_MAX && values[ran] <= INT64_MAX;
    if (value->has_cpu) value->cpu = in_ns(values[ran], sampling->types[ran].unit);
    return true;
}

static int give_pprof_sample(struct sampling *sampling, struct uspi_span message) {
    const struct usp_profile_file *file = sampling->file;
    struct uspi_file_numbers numbers = {.message = message, .field = PPROF_SAMPLE_VALUE};
    struct uspi_proto_field field;
    uint64_t values[TYPES_MAX] = {0}, number;
    struct usp_stack stack;
    struct value value;
    struct who who = {.name = {"", 0}};
    for (uint32_t i = 0; i < sampling->type_count && uspi_file_next_number(&numbers, &number); i++) values[i] = number;
    if (!weigh(sampling, values, &value)) return USP_OK;
    for (size_t at = 0; uspi_proto_next(message, &at, &field);) {
        if (field.number != PPROF_SAMPLE_LABEL) continue;
        struct uspi_file_pair pair = {.key = uspi_file_string(file, uspi_proto_find(field.bytes, LABEL_KEY).value),
                                      .text = uspi_file_string(file, uspi_proto_find(field.bytes, LABEL_TEXT).value),
                                      .number = uspi_proto_find(field.bytes, LABEL_NUMBER).value};
        take_pair(&who, &pair);
    }
    put_stack(sampling, message, PPROF_SAMPLE_LOCATION, &stack);
    return give(sampling, &who, &stack, &value);
}

/* Returns the number of the type that is shown first: the one that the file names, otherwise the last one. */
static uint32_t default_type(const struct sampling *sampling) {
    const struct usp_profile_file *file = sampling->file;
    const struct uspi_span wanted = uspi_file_string(file, uspi_proto_find(file->bytes, PPROF_DEFAULT_TYPE).value);
    for (uint32_t i = 0; i < sampling->type_count; i++) {
        if (wanted.length > 0 && uspi_span_is(sampling->types[i].name, wanted)) return i;
    }
    return sampling->type_count - 1;
}

static int give_pprof_type(struct sampling *sampling, uint32_t type, bool is_first) {
    const struct uspi_span bytes = sampling->file->bytes;
    struct uspi_proto_field field;
    int status = USP_OK;
    choose_type(sampling, type);
    for (size_t at = 0; status == USP_OK && uspi_proto_next(bytes, &at, &field);) {
        if (field.number != PPROF_SAMPLE || field.wire != USPI_PROTO_BYTES) continue;
        sampling->info->samples += is_first;
        status = give_pprof_sample(sampling, field.bytes);
    }
    return status;
}

static int give_pprof(struct sampling *sampling) {
    const struct usp_profile_file *file = sampling->file;
    struct usp_recording_info *info = sampling->info;
    struct uspi_proto_field field;
    for (size_t at = 0; uspi_proto_next(file->bytes, &at, &field);) {
        if (field.number == PPROF_TYPE && sampling->type_count < TYPES_MAX)
            sampling->types[sampling->type_count++] = read_type(file, field.bytes);
    }
    info->event_count = sampling->type_count;
    info->wall_start = uspi_proto_find(file->bytes, PPROF_TIME).value;
    info->length = read_length(file->bytes, PPROF_DURATION);
    info->interval = in_ns(uspi_proto_find(file->bytes, PPROF_PERIOD).value,
                           read_type(file, uspi_proto_find(file->bytes, PPROF_PERIOD_TYPE).bytes).unit);
    sampling->period = info->interval;
    if (sampling->type_count == 0) return USP_OK;
    const uint32_t first = default_type(sampling);
    int status = give_pprof_type(sampling, first, true);
    for (uint32_t i = 0; status == USP_OK && i < sampling->type_count; i++) {
        if (i != first) status = give_pprof_type(sampling, i, false);
    }
    return status;
}

/* ---- OTLP ---- */

/* Returns the process of a resource; 0: not known. */
static int64_t resource_pid(const struct usp_profile_file *file, struct uspi_span resource) {
    struct uspi_proto_field field;
    struct who who = {.name = {"", 0}};
    for (size_t at = 0; uspi_proto_next(resource, &at, &field);) {
        if (field.number != RESOURCE_ATTRIBUTES) continue;
        struct uspi_file_pair pair = {.key = uspi_proto_find(field.bytes, PAIR_KEY).bytes, .text = {"", 0}};
        if (pair.key.length == 0) pair.key = uspi_file_string(file, uspi_proto_find(field.bytes, PAIR_KEY_INDEX).value);
        pair.number = uspi_proto_find(uspi_proto_find(field.bytes, PAIR_VALUE).bytes, VALUE_INTEGER).value;
        take_pair(&who, &pair);
    }
    return who.pid;
}

/* Gives a value of a sample, at a time; 0: not known. */
static int give_otlp_value(struct sampling *sampling, const struct who *who, const struct usp_stack *stack,
                           uint64_t number, uint64_t time) {
    const struct type *type = &sampling->types[sampling->type];
    struct value value = {.count = number, .period = number, .time = time};
    if (number == 0 || number > INT64_MAX) return USP_OK;
    if (type->unit != 0) {
        value.count = time != 0 ? 1 : count_of(type, number, sampling->period);
        value.duration = in_ns(number, type->unit);
    } else if (type->is_count) {
        value.duration = in_ns(number, sampling->period);
    }
    return give(sampling, who, stack, &value);
}

/* Gives a sample at each of its times. It has a value for each, or represents one event each time. */
static int give_otlp_times(struct sampling *sampling, const struct who *who, const struct usp_stack *stack,
                           struct uspi_span message, bool *has_times) {
    struct uspi_file_numbers values = {.message = message, .field = OTLP_SAMPLE_VALUE};
    struct uspi_proto_field field;
    uint64_t number;
    int status = USP_OK;
    *has_times = false;
    for (size_t at = 0; status == USP_OK && uspi_proto_next(message, &at, &field);) {
        if (field.number != OTLP_SAMPLE_TIME) continue;
        const bool is_packed = field.wire == USPI_PROTO_BYTES;
        const size_t count = is_packed ? field.bytes.length / 8 : 1;
        for (size_t i = 0; status == USP_OK && i < count; i++) {
            const uint64_t time = is_packed ? uspi_le64((const uint8_t *)field.bytes.bytes + 8 * i) : field.value;
            if (!uspi_file_next_number(&values, &number)) number = 1;
            *has_times = true;
            status = give_otlp_value(sampling, who, stack, number, time);
        }
    }
    return status;
}

static int give_otlp_sample(struct sampling *sampling, struct uspi_span message) {
    const struct usp_profile_file *file = sampling->file;
    struct uspi_file_numbers attributes = {.message = message, .field = OTLP_SAMPLE_ATTRIBUTES},
                             values = {.message = message, .field = OTLP_SAMPLE_VALUE};
    struct usp_stack stack;
    struct who who = {.name = {"", 0}, .pid = sampling->pid};
    uint64_t number;
    bool has_times;
    while (uspi_file_next_number(&attributes, &number)) {
        struct uspi_file_pair pair;
        if (uspi_file_attribute(file, number, &pair)) take_pair(&who, &pair);
    }
    number = uspi_proto_find(message, OTLP_SAMPLE_STACK).value;
    const bool has_stack = number != 0 && number < file->stack_count;
    put_stack(sampling, has_stack ? uspi_file_bytes_at(file, file->stacks[number]) : (struct uspi_span){"", 0},
              STACK_LOCATION, &stack);
    int status = give_otlp_times(sampling, &who, &stack, message, &has_times);
    while (status == USP_OK && !has_times && uspi_file_next_number(&values, &number))
        status = give_otlp_value(sampling, &who, &stack, number, 0);
    return status;
}

/* Calls `take` for each profile, with its resource's process in sampling->pid, until it returns another status than
 * USP_OK. */
static int visit_profiles(struct sampling *sampling, int (*take)(struct sampling *sampling, struct uspi_span profile)) {
    const struct usp_profile_file *file = sampling->file;
    struct uspi_proto_field resource, scope, profile;
    int status = USP_OK;
    for (size_t at = 0; status == USP_OK && uspi_proto_next(file->bytes, &at, &resource);) {
        if (resource.number != OTLP_RESOURCE_PROFILES) continue;
        sampling->pid = resource_pid(file, uspi_proto_find(resource.bytes, RESOURCE).bytes);
        for (size_t i = 0; status == USP_OK && uspi_proto_next(resource.bytes, &i, &scope);) {
            if (scope.number != SCOPE_PROFILES) continue;
            for (size_t k = 0; status == USP_OK && uspi_proto_next(scope.bytes, &k, &profile);) {
                if (profile.number == PROFILES) status = take(sampling, profile.bytes);
            }
        }
    }
    return status;
}

static uint32_t find_type(const struct sampling *sampling, const struct type *type) {
    uint32_t i = 0;
    while (i < sampling->type_count &&
           (sampling->types[i].unit != type->unit || sampling->types[i].is_count != type->is_count ||
            !uspi_span_is(sampling->types[i].name, type->name)))
        i++;
    return i;
}

/* Takes what a profile says before its samples. */
static int describe_profile(struct sampling *sampling, struct uspi_span profile) {
    const struct usp_profile_file *file = sampling->file;
    const struct type type = read_type(file, uspi_proto_find(profile, OTLP_TYPE).bytes);
    struct usp_recording_info *info = sampling->info;
    struct uspi_proto_field field;
    if (find_type(sampling, &type) == sampling->type_count && sampling->type_count < TYPES_MAX)
        sampling->types[sampling->type_count++] = type;
    for (size_t at = 0; uspi_proto_next(profile, &at, &field);) info->samples += field.number == OTLP_SAMPLE;
    if (info->wall_start == 0) info->wall_start = uspi_proto_find(profile, OTLP_TIME).value;
    if (info->length == 0) info->length = read_length(profile, OTLP_DURATION);
    return USP_OK;
}

static int give_profile(struct sampling *sampling, struct uspi_span profile) {
    const struct usp_profile_file *file = sampling->file;
    const struct type type = read_type(file, uspi_proto_find(profile, OTLP_TYPE).bytes),
                      period = read_type(file, uspi_proto_find(profile, OTLP_PERIOD_TYPE).bytes);
    struct uspi_proto_field field;
    int status = USP_OK;
    if (find_type(sampling, &type) != sampling->type) return USP_OK;
    sampling->period = in_ns(uspi_proto_find(profile, OTLP_PERIOD).value, period.unit);
    if (sampling->info->interval == 0) sampling->info->interval = sampling->period;
    for (size_t at = 0; status == USP_OK && uspi_proto_next(profile, &at, &field);) {
        if (field.number == OTLP_SAMPLE && field.wire == USPI_PROTO_BYTES)
            status = give_otlp_sample(sampling, field.bytes);
    }
    return status;
}

static int give_otlp(struct sampling *sampling) {
    int status = visit_profiles(sampling, describe_profile);
    sampling->info->event_count = sampling->type_count;
    for (uint32_t i = 0; status == USP_OK && i < sampling->type_count; i++) {
        choose_type(sampling, i);
        status = visit_profiles(sampling, give_profile);
    }
    return status;
}

/* ---- our own ---- */

static void put_saved_stack(const struct sampling *sampling, uint32_t number, struct usp_stack *stack) {
    const struct uspi_saved *saved = sampling->file->saved;
    usp_stack_init(stack, sampling->frames, sampling->options->max_frames);
    stack->arch = saved->arch;
    stack->stop = USP_STOP_ROOT;
    for (; number != USPI_NONE; number = saved->nodes[number].caller) {
        const struct uspi_saved_node *node = &saved->nodes[number];
        if (node->location == USPI_NONE || stack->count == stack->capacity) {
            stack->omitted = 1;
            stack->omitted_at = stack->count;
            if (stack->count == stack->capacity) stack->stop = USP_STOP_CAPACITY;
            if (stack->count == stack->capacity) break;
            continue;
        }
        stack->frames[stack->count++] = frame_of(uspi_file_location(sampling->file, node->location));
    }
    stack->physical = stack->count;
}

static int give_saved_samples(struct sampling *sampling, const struct uspi_saved_sample *samples, size_t count) {
    const struct uspi_saved *saved = sampling->file->saved;
    struct usp_stack stack;
    int status = USP_OK;
    for (size_t i = 0; status == USP_OK && i < count; i++) {
        const struct uspi_saved_sample *sample = &samples[i];
        const struct uspi_saved_thread *thread = &saved->threads[sample->thread];
        const struct who who = {.name = thread->name,
                                .id = thread->id,
                                .pid = saved->pid,
                                .queue = thread->queue,
                                .is_main = thread->is_main,
                                .number = sample->thread};
        const struct value value = {.count = sample->count,
                                    .duration = sample->wall,
                                    .cpu = sample->cpu,
                                    .time = sample->time,
                                    .period = saved->interval,
                                    .has_cpu = true};
        if (sample->count == 0) continue;
        sampling->info->samples += sample->count;
        put_saved_stack(sampling, sample->node, &stack);
        status = give(sampling, &who, &stack, &value);
    }
    return status;
}

/* Gives the samples that are not on the time line first: they are the oldest. */
static int give_saved(struct sampling *sampling) {
    const struct uspi_saved *saved = sampling->file->saved;
    struct usp_recording_info *info = sampling->info;
    sampling->types[sampling->type_count++] = (struct type){.name = USPI_SPAN("samples"), .is_count = true};
    choose_type(sampling, 0);
    info->event_count = 1;
    info->arch = saved->arch;
    info->wall_start = saved->wall_start;
    info->length = saved->length;
    info->interval = saved->interval;
    const int status = give_saved_samples(sampling, saved->totals, saved->total_count);
    return status != USP_OK ? status : give_saved_samples(sampling, saved->line, saved->line_count);
}

int usp_profile_file_samples(struct usp_profile_file *file, const struct usp_recording_options *options,
                             struct usp_recording_info *info) {
    struct usp_recording_options complete;
    struct usp_recording_info own;
    usp_recording_options_init(&complete);
    if (info == NULL) info = &own;
    *info = (struct usp_recording_info){.arch = USP_ARCH_NONE};
    if (file == NULL || options == NULL || !USPI_COMPLETE(&complete, options) || complete.sample == NULL ||
        complete.max_frames < 4)
        return USP_ERROR_ARGUMENT;
    struct sampling sampling = {
        .file = file, .options = &complete, .info = info, .next_id = UINT32_MAX, .allowance = {.limit = UINT64_MAX}};
    int status = uspi_file_place(file);
    sampling.frames = calloc(complete.max_frames, sizeof *sampling.frames);
    if (sampling.frames == NULL ||
        !uspi_pool_init(&sampling.threads, sizeof(struct thread), 16, false, &sampling.allowance) ||
        !uspi_pool_init(&sampling.ids, sizeof(struct given_id), 16, false, &sampling.allowance))
        status = USP_ERROR_NO_MEMORY;
    if (status == USP_OK)
        status = file->saved != NULL                              ? give_saved(&sampling)
                 : file->layout->format == USP_PROFILE_FILE_PPROF ? give_pprof(&sampling)
                                                                  : give_otlp(&sampling);
    uspi_pool_free(&sampling.threads);
    uspi_pool_free(&sampling.ids);
    free(sampling.frames);
    return status != USP_OK ? status : file->damage;
}
