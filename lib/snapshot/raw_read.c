/* SPDX-License-Identifier: MIT */
/* Reads raw captures: makes a snapshot of untrusted records. See raw.h. The stacks were walked when they were captured;
 * symbolize.h finds the names. */
#include "lib/snapshot/raw.h"

#include "arch/any.h"
#include "lib/base/array.h"
#include "lib/corefile/crash.h"
#include "lib/images/file.h"
#include "lib/images/image_list.h"
#include "lib/snapshot/goroutines.h"
#include "lib/snapshot/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES_MAX 16u

/* A thread whose records are being read. */
struct raw_thread {
    struct usp_snapshot_thread thread;
    size_t first_frame; /* index in `frames` */
    uint32_t promised;  /* number of frames that its stack record announces */
    bool has_stack;
    bool is_endless; /* it waits for a lock without a time limit */
};

struct reading {
    struct uspi_bytes bytes;
    struct uspi_error *error;
    uint64_t only_thread;
    bool has_process, has_end, is_cut;
    bool skips; /* the records of the current thread are skipped */
    struct usp_snapshot_info info;
    char *program;
    struct uspi_image_list images;
    struct raw_thread *threads;
    size_t thread_count, thread_capacity;
    struct usp_frame *frames;
    size_t frame_count, frame_capacity;
    char **messages;
    size_t message_count;
    struct usp_snapshot_note *notes;
    size_t note_count, note_capacity;
    struct uspi_raw_crash *crash; /* NULL: no such record */
    struct usp_stack *exception;  /* with its frames in one allocation; NULL: no such record */
};

/* One record, its checksum verified. */
struct record {
    uint32_t type;
    uint64_t offset; /* offset of the payload in the file */
    struct uspi_bytes payload;
};

/* ---- helpers ---- */

static int load(struct reading *r, const struct record *record, uint64_t offset, unsigned width, uint64_t *value) {
    return uspi_bytes_load(record->payload, offset, width, value, "field", r->error);
}

/* Loads consecutive numbers of 4 or 8 bytes. `widths` is a string with one digit for each. */
static int load_all(struct reading *r, const struct record *record, const char *widths, uint64_t *values) {
    uint64_t offset = 0;
    int status = USP_OK;
    for (size_t i = 0; widths[i] != '\0' && status == USP_OK; i++) {
        unsigned width = (unsigned)(widths[i] - '0');
        status = load(r, record, offset, width, &values[i]);
        offset += width;
    }
    return status;
}

/* Loads a string of a given length, which the caller frees. A NUL byte in it ends the C string. */
static int load_string(struct reading *r, const struct record *record, uint64_t offset, uint64_t length,
                       char **string) {
    struct uspi_bytes part;
    int status = uspi_bytes_sub(record->payload, offset, length, "string", &part, r->error);
    if (status != USP_OK) return status;
    *string = malloc((size_t)length + 1);
    if (*string == NULL) return USP_ERROR_NO_MEMORY;
    status = uspi_bytes_read(part, 0, *string, (size_t)length, "string", r->error);
    (*string)[length] = '\0';
    if (status == USP_OK) return USP_OK;
    free(*string);
    *string = NULL;
    return status;
}

static int malformed(struct reading *r, const struct record *record, const char *what) {
    return uspi_bytes_error(r->error, record->payload, 0, USP_ERROR_FORMAT, "%s", what);
}

static int say(struct reading *r, const char *text) {
    if (r->message_count == MESSAGES_MAX) return USP_OK;
    if (r->messages == NULL) r->messages = calloc(MESSAGES_MAX, sizeof *r->messages);
    if (r->messages == NULL) return USP_ERROR_NO_MEMORY;
    char *copy = strdup(text);
    if (copy == NULL) return USP_ERROR_NO_MEMORY;
    r->messages[r->message_count++] = copy;
    return USP_OK;
}

/* ---- records ---- */

static int read_process(struct reading *r, const struct record *record) {
    uint64_t v[10];
    if (r->has_process) return malformed(r, record, "a second process");
    int status = load_all(r, record, "4444888444", v);
    if (status == USP_OK) status = load_string(r, record, USPI_RAW_PROCESS_SIZE, v[9], &r->program);
    if (status != USP_OK) return status;
    r->info.arch = (uint32_t)v[0];
    r->info.os = (uint32_t)v[1];
    r->info.signal = (uint32_t)v[2];
    r->info.flags = (uint32_t)v[3];
    r->info.pid = (int64_t)v[4];
    r->info.time = v[5];
    r->info.stopped_ns = v[6];
    r->has_process = true;
    return uspi_backend_any(r->info.arch) != NULL ? USP_OK : malformed(r, record, "unknown processor");
}

static int read_image(struct reading *r, const struct record *record) {
    uint64_t v[9];
    struct usp_image image = {.path = ""};
    char *path;
    int status = load_all(r, record, "888884444", v);
    if (status == USP_OK && v[7] > USP_BUILD_ID_MAX) status = malformed(r, record, "a build-id that is too long");
    if (status == USP_OK) {
        status = uspi_bytes_read(record->payload, 56, image.build_id, USP_BUILD_ID_MAX, "build-id", r->error);
    }
    if (status == USP_OK) status = load_string(r, record, USPI_RAW_IMAGE_SIZE, v[8], &path);
    if (status != USP_OK) return status;
    image.path = path;
    image.load_address = v[0];
    image.text_low = v[1];
    image.text_high = v[2];
    image.end = v[3];
    image.slide = v[4];
    image.arch = (uint32_t)v[5] & 0xffff;
    image.variant = (uint32_t)v[5] >> 16;
    image.flags = (uint32_t)v[6];
    image.build_id_size = (uint32_t)v[7];
    status = uspi_image_list_add(&r->images, &image);
    free(path);
    return status;
}

static int read_thread(struct reading *r, const struct record *record) {
    uint64_t v[9];
    char *name;
    int status = load_all(r, record, "888884444", v);
    if (status != USP_OK) return status;
    r->skips = r->only_thread != 0 && v[0] != r->only_thread;
    if (r->skips) return USP_OK;
    struct raw_thread *grown = uspi_array_reserve(r->threads, &r->thread_capacity, r->thread_count + 1, sizeof *grown);
    if (grown == NULL) return USP_ERROR_NO_MEMORY;
    r->threads = grown;
    status = load_string(r, record, USPI_RAW_THREAD_SIZE, v[8], &name);
    if (status != USP_OK) return status;
    struct raw_thread *raw = &r->threads[r->thread_count++];
    struct usp_snapshot_thread *thread = &raw->thread;
    memset(raw, 0, sizeof *raw);
    raw->first_frame = r->frame_count;
    thread->info.thread.id = v[0];
    thread->info.cpu_time = v[1];
    thread->stopped_ns = v[2];
    thread->stack_low = v[3];
    thread->stack_high = v[4];
    thread->info.flags = (uint32_t)v[5];
    thread->info.run_state = (uint32_t)v[6];
    thread->status = (int32_t)(uint32_t)v[7];
    usp_registers_init(&thread->registers, r->info.arch);
    usp_stack_init(&thread->stack, NULL, 0);
    thread->stack.arch = r->info.arch;
    snprintf(thread->info.name, sizeof thread->info.name, "%s", name);
    free(name);
    return USP_OK;
}

static int read_queue(struct reading *r, const struct record *record, struct raw_thread *raw) {
    struct usp_thread_info *info = &raw->thread.info;
    uint64_t length;
    char *label;
    int status = load(r, record, 0, 4, &length);
    if (status == USP_OK) status = load_string(r, record, USPI_RAW_QUEUE_SIZE, length, &label);
    if (status != USP_OK) return status;
    snprintf(info->queue, sizeof info->queue, "%s", label);
    free(label);
    return USP_OK;
}

static int read_lock(struct reading *r, const struct record *record, struct raw_thread *raw) {
    struct usp_thread_info *info = &raw->thread.info;
    uint64_t v[4], flags = 0;
    int status = load_all(r, record, "8844", v);
    /* Records of older writers have no flags. */
    if (status == USP_OK && record->payload.size >= USPI_RAW_LOCK_SIZE + 4)
        status = load(r, record, USPI_RAW_LOCK_SIZE, 4, &flags);
    if (status != USP_OK) return status;
    raw->is_endless = (flags & USPI_RAW_LOCK_ENDLESS) != 0;
    info->lock_owner = v[0];
    raw->thread.lock = v[1];
    info->lock_kind = (uint32_t)v[2];
    info->deadlock = (uint32_t)v[3];
    return USP_OK;
}

static int read_registers(struct reading *r, const struct record *record, struct raw_thread *raw) {
    struct usp_registers *registers = &raw->thread.registers;
    uint64_t v[3], offset = USPI_RAW_REGISTERS_SIZE;
    int status = load_all(r, record, "448", v);
    if (status != USP_OK) return status;
    if (usp_registers_init(registers, (uint32_t)v[0]) != USP_OK || v[2] >> USP_REGISTERS_MAX != 0) {
        return malformed(r, record, "registers of an unknown processor");
    }
    registers->flags = (uint32_t)v[1];
    for (unsigned i = 0; i < USP_REGISTERS_MAX && status == USP_OK; i++) {
        if ((v[2] >> i & 1) == 0) continue;
        status = load(r, record, offset, 8, &registers->value[i]);
        offset += 8;
    }
    if (status == USP_OK) registers->known = v[2];
    return status;
}

static int read_stack(struct reading *r, const struct record *record, struct raw_thread *raw) {
    uint64_t v[17];
    struct usp_stack *stack = &raw->thread.stack;
    int status = load_all(r, record, "44448844444444888", v);
    if (status != USP_OK) return status;
    if (raw->has_stack) return malformed(r, record, "a second stack of one thread");
    if (uspi_backend_any((uint32_t)v[0]) == NULL) return malformed(r, record, "a stack of an unknown processor");
    if (v[1] > v[2]) return malformed(r, record, "more physical frames than frames");
    raw->has_stack = true;
    raw->promised = (uint32_t)v[2];
    stack->arch = (uint32_t)v[0];
    stack->physical = (uint32_t)v[1];
    stack->omitted_at = (uint32_t)v[3];
    stack->omitted = v[4];
    stack->async_omitted = v[5];
    stack->stop = (uint32_t)v[6];
    stack->async_stop = (uint32_t)v[7];
    stack->flags = (uint32_t)v[8];
    stack->extended = (uint32_t)v[9];
    stack->async_join = (uint32_t)v[10];
    stack->task_id = (uint32_t)v[11];
    stack->status = (int32_t)(uint32_t)v[12];
    stack->stop_address = v[14];
    stack->stopped_ns = v[15];
    stack->hash = v[16];
    return USP_OK;
}

static int read_frame(struct reading *r, const struct record *record, uint64_t offset, struct usp_frame *frame) {
    uint8_t bytes[USPI_RAW_FRAME_SIZE];
    int status = uspi_bytes_read(record->payload, offset, bytes, sizeof bytes, "frame", r->error);
    memset(frame, 0, sizeof *frame);
    if (status != USP_OK) return status;
    frame->pc = uspi_le64(bytes);
    frame->cfa = uspi_le64(bytes + 8);
    frame->fp = uspi_le64(bytes + 16);
    frame->kind = bytes[24];
    frame->method = bytes[25];
    frame->flags = uspi_le16(bytes + 26);
    return USP_OK;
}

static int read_frames(struct reading *r, const struct record *record, struct raw_thread *raw) {
    uint64_t v[2];
    struct usp_stack *stack = &raw->thread.stack;
    int status = load_all(r, record, "44", v);
    if (status != USP_OK) return status;
    if (!raw->has_stack || v[0] != stack->count || v[1] > raw->promised - stack->count) {
        return malformed(r, record, "frames that do not follow those before them");
    }
    for (uint64_t i = 0; i < v[1] && status == USP_OK; i++) {
        struct usp_frame *grown = uspi_array_reserve(r->frames, &r->frame_capacity, r->frame_count + 1, sizeof *grown);
        if (grown == NULL) return USP_ERROR_NO_MEMORY;
        r->frames = grown;
        status = read_frame(r, record, USPI_RAW_FRAMES_SIZE + i * USPI_RAW_FRAME_SIZE, &r->frames[r->frame_count]);
        if (status != USP_OK) return status;
        r->frame_count++;
        stack->count++;
    }
    return status;
}

static int read_crash(struct reading *r, const struct record *record) {
    uint64_t v[14] = {0};
    /* Records without an exception end before it. */
    const bool has_exception = record->payload.size >= USPI_RAW_CRASH_SIZE + USPI_RAW_MACH_SIZE;
    int status = load_all(r, record, has_exception ? "44448888884488" : "4444888888", v);
    if (status != USP_OK) return status;
    if (r->crash == NULL) r->crash = malloc(sizeof *r->crash);
    if (r->crash == NULL) return USP_ERROR_NO_MEMORY;
    *r->crash = (struct uspi_raw_crash){
        .signal = (uint32_t)v[0],
        .code = (int32_t)(uint32_t)v[1],
        .flags = (uint32_t)v[2],
        .access = (uint32_t)v[3],
        .fault_address = v[4],
        .place_low = v[5],
        .place_high = v[6],
        .thread = v[7],
        .sender = v[8],
        .started = v[9],
        .mach_exception = (uint32_t)v[10],
        .mach_codes = {v[12], v[13]},
    };
    return USP_OK;
}

static int read_note(struct reading *r, const struct record *record) {
    uint64_t v[5];
    char *key = NULL, *text = NULL;
    int status = load_all(r, record, "44844", v);
    if (status != USP_OK) return status;
    struct usp_snapshot_note *grown = uspi_array_reserve(r->notes, &r->note_capacity, r->note_count + 1, sizeof *grown);
    if (grown == NULL) return USP_ERROR_NO_MEMORY;
    r->notes = grown;
    status = load_string(r, record, USPI_RAW_NOTE_SIZE, v[3], &key);
    if (status == USP_OK) status = load_string(r, record, USPI_RAW_NOTE_SIZE + v[3], v[4], &text);
    if (status != USP_OK) {
        free(key);
        return status;
    }
    r->notes[r->note_count++] =
        (struct usp_snapshot_note){.kind = (uint32_t)v[0], .time = v[2], .key = key, .text = text};
    return USP_OK;
}

/* The addresses are call sites of one stack. Frames that the writer left out are the outermost ones. */
static int read_exception(struct reading *r, const struct record *record) {
    uint64_t v[4], address;
    int status = load_all(r, record, "8844", v);
    if (status != USP_OK) return status;
    const size_t count = (size_t)v[2];
    struct uspi_bytes part;
    status = uspi_bytes_sub(record->payload, USPI_RAW_EXCEPTION_SIZE, v[2] * 8, "exception", &part, r->error);
    if (status != USP_OK) return status;
    if (v[2] > USPI_RAW_EXCEPTION_MAX || v[1] < v[2]) return malformed(r, record, "a wrong number of frames");
    if (r->exception != NULL) return malformed(r, record, "a second exception");
    if (r->only_thread != 0 && r->only_thread != v[0]) return USP_OK;
    struct usp_stack *stack = calloc(1, sizeof *stack + count * sizeof *stack->frames);
    if (stack == NULL) return USP_ERROR_NO_MEMORY;
    r->exception = stack;
    usp_stack_init(stack, (struct usp_frame *)(stack + 1), (uint32_t)count);
    stack->arch = r->info.arch;
    for (; stack->count < count && status == USP_OK; stack->count++) {
        status = load(r, record, USPI_RAW_EXCEPTION_SIZE + (uint64_t)stack->count * 8, 8, &address);
        stack->frames[stack->count] = (struct usp_frame){.pc = address, .kind = USP_FRAME_KIND_RETURN_ADDRESS};
    }
    stack->physical = stack->count;
    stack->omitted = v[1] - v[2];
    stack->omitted_at = stack->extended = stack->async_join = USP_NO_INDEX;
    return status;
}

static int read_record(struct reading *r, const struct record *record) {
    struct raw_thread *raw = r->thread_count > 0 ? &r->threads[r->thread_count - 1] : NULL;
    bool is_of_thread = (record->type >= USPI_RAW_REGISTERS && record->type <= USPI_RAW_FRAMES) ||
                        record->type == USPI_RAW_QUEUE || record->type == USPI_RAW_LOCK;
    if (record->type != USPI_RAW_PROCESS && !r->has_process) return malformed(r, record, "no process before it");
    if (is_of_thread && r->skips) return USP_OK;
    if (is_of_thread && raw == NULL) return malformed(r, record, "no thread before it");
    switch (record->type) {
    case USPI_RAW_PROCESS: return read_process(r, record);
    case USPI_RAW_IMAGE: return read_image(r, record);
    case USPI_RAW_THREAD: return read_thread(r, record);
    case USPI_RAW_QUEUE: return read_queue(r, record, raw);
    case USPI_RAW_LOCK: return read_lock(r, record, raw);
    case USPI_RAW_REGISTERS: return read_registers(r, record, raw);
    case USPI_RAW_STACK: return read_stack(r, record, raw);
    case USPI_RAW_FRAMES: return read_frames(r, record, raw);
    case USPI_RAW_CRASH: return read_crash(r, record);
    case USPI_RAW_NOTE: return read_note(r, record);
    case USPI_RAW_EXCEPTION: return read_exception(r, record);
    case USPI_RAW_END: r->has_end = true; return USP_OK;
    default: return USP_OK; /* a record type of a later version */
    }
}

/* ---- the file ---- */

/* Reads the record at *offset and advances *offset past it. USP_ERROR_TRUNCATED: the file ends here or is damaged. */
static int next_record(struct reading *r, uint64_t *offset, struct record *record) {
    uint8_t header[USPI_RAW_RECORD_HEADER], piece[256], stored[USPI_RAW_CHECKSUM_SIZE];
    int status = uspi_bytes_read(r->bytes, *offset, header, sizeof header, "record", r->error);
    if (status != USP_OK) return status;
    uint64_t size = uspi_le32(header + 4), at = *offset + sizeof header;
    struct uspi_bytes whole;
    status = uspi_bytes_sub(r->bytes, at, size + sizeof stored, "record", &whole, r->error);
    if (status != USP_OK) return status;
    uint32_t crc = uspi_crc32(UINT32_MAX, header, sizeof header);
    for (uint64_t done = 0; done < size && status == USP_OK;) {
        size_t n = size - done < sizeof piece ? (size_t)(size - done) : sizeof piece;
        status = uspi_bytes_read(whole, done, piece, n, "record", r->error);
        if (status == USP_OK) crc = uspi_crc32(crc, piece, n);
        done += n;
    }
    if (status == USP_OK) status = uspi_bytes_read(whole, size, stored, sizeof stored, "checksum", r->error);
    if (status != USP_OK) return status;
    if (uspi_le32(stored) != (uint32_t)~crc) {
        return uspi_bytes_error(r->error, r->bytes, *offset, USP_ERROR_TRUNCATED, "a record with a wrong checksum");
    }
    record->type = uspi_le32(header);
    record->offset = at;
    *offset = at + size + sizeof stored;
    return uspi_bytes_sub(whole, 0, size, "record", &record->payload, r->error);
}

static int check_header(struct reading *r) {
    uint8_t header[USPI_RAW_HEADER_SIZE];
    struct uspi_error why;
    int status = uspi_bytes_read(r->bytes, 0, header, USPI_RAW_MAGIC_SIZE, "signature", &why);
    if (status == USP_ERROR_TRUNCATED) return USP_ERROR_UNSUPPORTED;
    if (status == USP_OK && memcmp(header, USPI_RAW_MAGIC, USPI_RAW_MAGIC_SIZE) != 0) return USP_ERROR_UNSUPPORTED;
    status = uspi_bytes_read(r->bytes, 0, header, sizeof header, "header", r->error);
    if (status != USP_OK) return status;
    uint32_t version = uspi_le32(header + USPI_RAW_MAGIC_SIZE);
    if (version == USPI_RAW_VERSION) return USP_OK;
    return uspi_bytes_error(r->error, r->bytes, USPI_RAW_MAGIC_SIZE, USP_ERROR_FORMAT,
                            "version %" PRIu32 " of the format; this program reads version %u", version,
                            USPI_RAW_VERSION);
}

static int read_all(struct reading *r) {
    uint64_t offset = USPI_RAW_HEADER_SIZE;
    int status = check_header(r);
    while (status == USP_OK && !r->has_end) {
        struct record record;
        status = next_record(r, &offset, &record);
        if (status == USP_ERROR_TRUNCATED && r->has_process) {
            char text[128];
            r->is_cut = true;
            snprintf(text, sizeof text, "the capture is cut off or damaged at offset 0x%" PRIx64, offset);
            return say(r, text);
        }
        if (status == USP_OK) status = read_record(r, &record);
    }
    return status;
}

/* ---- the snapshot ---- */

/* Adapts a thread's stack to the frames that were found. */
static void settle_thread(struct reading *r, struct raw_thread *raw) {
    struct usp_stack *stack = &raw->thread.stack;
    if (stack->count < raw->promised) {
        /* The other frames were in records that are cut off. */
        stack->stop = USP_STOP_NONE;
        stack->stop_address = 0;
        r->is_cut = true;
        if (stack->count == 0 && raw->thread.status == USP_OK) raw->thread.status = USP_ERROR_TRUNCATED;
    }
    if (stack->physical > stack->count) stack->physical = stack->count;
    if (stack->omitted_at != USP_NO_INDEX && stack->omitted_at > stack->count) stack->omitted_at = USP_NO_INDEX;
    if (stack->omitted_at == USP_NO_INDEX) stack->omitted = 0;
    if (stack->extended >= stack->physical) stack->extended = USP_NO_INDEX;
    if (stack->async_join >= stack->physical) stack->async_join = USP_NO_INDEX;
    stack->capacity = stack->count;
    stack->frames = stack->count > 0 ? r->frames + raw->first_frame : NULL;
    if (!raw->has_stack && raw->thread.status == USP_OK) {
        raw->thread.status = r->is_cut ? USP_ERROR_TRUNCATED : USP_ERROR_ABSENT;
    }
}

/* Returns the new index of a frame after the frames from `from` up to `to` were removed; USP_NO_INDEX for a removed
 * one. */
static uint32_t moved_index(uint32_t index, uint32_t from, uint32_t to) {
    if (index == USP_NO_INDEX || index < from) return index;
    return index < to ? USP_NO_INDEX : index - (to - from);
}

/* Keeps at most max_frames frames, as a walk with that capacity would have done: removes the middle, or without a tail
 * the outermost frames. A stack has only one gap, so an existing gap grows. */
static void trim(struct usp_stack *stack, const struct usp_snapshot_options *options) {
    const uint32_t max = options->max_frames, physical = stack->physical;
    if (stack->count <= max) return;
    if (physical < max) {
        stack->async_omitted += stack->count - max;
    } else {
        const uint32_t tail = options->unwind.tail < max ? options->unwind.tail : max - 1;
        uint32_t head = max - tail;
        if (stack->omitted_at != USP_NO_INDEX) {
            const uint32_t gap = stack->omitted_at < physical ? stack->omitted_at : physical, after = physical - gap;
            if (max > after && head < max - after) head = max - after;
            if (head > gap) head = gap;
        }
        const uint32_t dropped = physical - max, resumes = head + dropped;
        if (dropped > 0) {
            if (head == max) {
                stack->stop = USP_STOP_CAPACITY;
                stack->stop_address = stack->frames[max].pc;
            }
            memmove(stack->frames + head, stack->frames + resumes, (max - head) * sizeof *stack->frames);
            stack->omitted += dropped;
            stack->omitted_at = head;
            stack->extended = moved_index(stack->extended, head, resumes);
            stack->async_join = moved_index(stack->async_join, head, resumes);
        }
        stack->async_omitted += stack->count - physical;
        stack->physical = max;
    }
    stack->count = stack->capacity = max;
}

static int read_nothing(void *context, usp_addr from, void *to, size_t n) {
    (void)context;
    (void)from;
    (void)to;
    return n == 0 ? USP_OK : USP_ERROR_ABSENT;
}

/* Implements uspi_snapshot_source.describe: there is nothing to add. */
static void describe_target(void *context, const struct uspi_stopped_thread *thread, struct usp_target *target) {
    (void)context;
    (void)thread;
    (void)target;
}

/* Says in words what ended the process. Returns false when memory is exhausted. */
static bool describe_crash(struct reading *r, struct uspi_snapshot_source *source) {
    const struct uspi_raw_crash *crash = r->crash;
    if (crash == NULL) return true;
    const bool has_address = (crash->flags & USPI_RAW_CRASH_ADDRESS) != 0;
    struct uspi_crash_facts facts = {
        .os = r->info.os,
        .signal = crash->signal,
        .code = crash->code,
        .has_code = true,
        .has_address = has_address,
        .is_mapped = (crash->flags & USPI_RAW_CRASH_PLACE) != 0 && crash->place_high != 0,
        .access = crash->access,
        .unmapped =
            (crash->flags & USPI_RAW_CRASH_PLACE) != 0 ? "nothing was mapped there" : "not known what was there",
        .fault_address = crash->fault_address,
        .images = source->images,
        .sender = crash->sender,
        .pid = r->info.pid,
    };
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct usp_snapshot_thread *thread = &r->threads[i].thread;
        if (thread->info.thread.id == crash->thread) facts.sp = usp_registers_sp(&thread->registers);
        if (crash->fault_address < thread->stack_low || crash->fault_address >= thread->stack_high) continue;
        if (facts.stack_of == 0) facts.stack_of = thread->info.thread.id;
    }
    source->crash_text = uspi_crash_in_words(&facts);
    if (source->crash_text == NULL) return false;
    source->info.crash = source->crash_text;
    source->info.signal = crash->signal;
    source->info.signal_code = crash->code;
    source->info.crashed_thread = crash->thread;
    source->info.mach_exception = crash->mach_exception;
    source->info.mach_codes[0] = crash->mach_codes[0];
    source->info.mach_codes[1] = crash->mach_codes[1];
    source->info.flags &= ~(uint32_t)USP_SNAPSHOT_FAULT;
    if (has_address) source->info.flags |= USP_SNAPSHOT_FAULT;
    source->info.fault_address = has_address ? crash->fault_address : 0;
    source->crash = r->crash;
    r->crash = NULL;
    return true;
}

static int make_snapshot(struct reading *r, const struct usp_snapshot_options *options,
                         struct usp_snapshot **snapshot) {
    struct uspi_snapshot_source source = {.describe = describe_target, .release = free};
    if (r->only_thread != 0 && r->thread_count == 0) return USP_ERROR_NO_THREAD;
    source.process.threads = calloc(r->thread_count + 1, sizeof *source.process.threads);
    if (source.process.threads == NULL) return USP_ERROR_NO_MEMORY;
    int status = uspi_image_list_seal(&r->images, &source.images);
    if (status != USP_OK) {
        free(source.process.threads);
        return status;
    }
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct usp_snapshot_thread *thread = &r->threads[i].thread;
        struct uspi_stopped_thread *stopped = &source.process.threads[i];
        settle_thread(r, &r->threads[i]);
        trim(&r->threads[i].thread.stack, options);
        stopped->info = thread->info;
        stopped->status = thread->status;
        stopped->copy.registers = thread->registers;
        stopped->walked = thread;
        stopped->copy.lock.is_timed = !r->threads[i].is_endless;
    }
    source.info = r->info;
    if (r->is_cut) source.info.flags |= USP_SNAPSHOT_TRUNCATED;
    if (!describe_crash(r, &source)) {
        usp_images_free(source.images);
        free(source.process.threads);
        return USP_ERROR_NO_MEMORY;
    }
    source.info.program = r->program;
    source.notes = r->notes;
    source.note_count = r->note_count;
    r->notes = NULL;
    r->note_count = 0;
    source.exception = r->exception;
    r->exception = NULL;
    source.context = r->program;
    source.process.thread_count = r->thread_count;
    source.process.arch = r->info.arch;
    source.process.pid = r->info.pid;
    source.process.live = (struct usp_memory){read_nothing, NULL};
    source.add_goroutines = uspi_goroutines_add;
    source.messages = r->messages;
    source.message_count = r->message_count;
    r->program = NULL;
    r->messages = NULL;
    r->message_count = 0;
    return uspi_snapshot_from_stopped(&source, options, NULL, snapshot);
}

int uspi_raw_read(struct uspi_bytes bytes, const struct usp_snapshot_options *options, struct usp_snapshot **snapshot,
                  struct uspi_error *error) {
    struct reading r = {.bytes = bytes, .error = error, .only_thread = options->only_thread};
    *snapshot = NULL;
    int status = read_all(&r);
    if (status == USP_OK) {
        status = make_snapshot(&r, options, snapshot);
        if (status != USP_OK) uspi_error_set(error, status, "%s: %s", bytes.source->name, usp_status_string(status));
    }
    uspi_image_list_clear(&r.images);
    for (size_t i = 0; i < r.message_count; i++) free(r.messages[i]);
    free(r.messages);
    for (size_t i = 0; i < r.note_count; i++) {
        free((char *)r.notes[i].key);
        free((char *)r.notes[i].text);
    }
    free(r.notes);
    free(r.crash);
    free(r.exception);
    free(r.program);
    free(r.threads);
    free(r.frames);
    return status;
}

int usp_snapshot_open_raw(const char *path, const struct usp_snapshot_options *options, struct usp_snapshot **snapshot,
                          char *error, size_t error_size) {
    struct usp_snapshot_options completed;
    struct uspi_file *file;
    struct uspi_error why = {.text = ""};
    if (error != NULL && error_size > 0) error[0] = '\0';
    if (snapshot == NULL || path == NULL) return USP_ERROR_ARGUMENT;
    *snapshot = NULL;
    if (!uspi_complete_snapshot_options(options, &completed)) return USP_ERROR_ARGUMENT;
    int status = uspi_file_open(path, &file, &why);
    if (status == USP_OK) {
        status = uspi_raw_read(uspi_file_bytes(file), &completed, snapshot, &why);
        if (status == USP_ERROR_NO_MEMORY) uspi_error_set(&why, status, "%s: %s", path, usp_status_string(status));
        uspi_file_close(file);
    }
    bool is_told = status != USP_OK && status != USP_ERROR_UNSUPPORTED;
    if (is_told && error != NULL && error_size > 0) snprintf(error, error_size, "%s", why.text);
    return status;
}
