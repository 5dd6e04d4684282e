/* SPDX-License-Identifier: MIT */
/* Builds the model of a text. See model.h. */
#include "lib/report/read/model.h"

#include "lib/base/array.h"
#include "lib/report/read/line.h"

/* ---- strings ---- */

#define BLOCK_SIZE ((size_t)32 << 10)

struct uspi_strings {
    struct uspi_strings *next;
    size_t used, capacity;
    char bytes[];
};

/* Codes in a block. */
#define CODES 64

struct uspi_codes {
    struct uspi_codes *next;
    size_t count;
    struct uspi_model_code codes[CODES];
};

/* Returns `size` bytes of a block; NULL when memory is exhausted. */
static char *reserve(struct uspi_model *model, size_t size) {
    struct uspi_strings *block = model->strings;
    if (block == NULL || block->capacity - block->used < size) {
        const size_t capacity = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        block = malloc(sizeof *block + capacity);
        if (block == NULL) return NULL;
        *block = (struct uspi_strings){model->strings, 0, capacity};
        model->strings = block;
    }
    char *bytes = block->bytes + block->used;
    block->used += size;
    return bytes;
}

bool uspi_model_copy(struct uspi_model *model, struct uspi_span text, struct uspi_span *copy) {
    *copy = (struct uspi_span){"", 0};
    if (text.length == 0) return true;
    char *to = reserve(model, text.length + 1);
    if (to == NULL) return false;
    memcpy(to, text.bytes, text.length);
    to[text.length] = '\0';
    *copy = (struct uspi_span){to, text.length};
    return true;
}

bool uspi_model_append(struct uspi_model *model, struct uspi_span text, struct uspi_span *copy,
                       struct uspi_model_room *room) {
    const size_t length = copy->length + text.length;
    if (room->bytes != copy->bytes || room->capacity <= length) {
        /* Most texts have one line. */
        const size_t capacity = (copy->length == 0 ? length : 2 * length) + 1;
        char *bytes = reserve(model, capacity);
        if (bytes == NULL) return false;
        if (copy->length > 0) memcpy(bytes, copy->bytes, copy->length);
        *room = (struct uspi_model_room){bytes, capacity};
    }
    memcpy(room->bytes + copy->length, text.bytes, text.length);
    room->bytes[length] = '\0';
    *copy = (struct uspi_span){room->bytes, length};
    return true;
}

void uspi_model_clear(struct uspi_model *model) {
    for (struct uspi_strings *block = model->strings; block != NULL;) {
        struct uspi_strings *next = block->next;
        free(block);
        block = next;
    }
    for (struct uspi_codes *block = model->codes; block != NULL;) {
        struct uspi_codes *next = block->next;
        free(block);
        block = next;
    }
    free(model->parts);
    free(model->threads);
    free(model->frames);
    free(model->sources);
    free(model->images);
    free(model->processes);
    free(model->registers);
    *model = (struct uspi_model){.parts = NULL};
}

/* ---- parts, threads, frames ---- */

/* Appends a cleared element to an array. Returns it, or NULL when memory is exhausted. */
static void *append(void **array, size_t *count, size_t *capacity, size_t size) {
    void *grown = uspi_array_reserve(*array, capacity, *count + 1, size);
    if (grown == NULL) return NULL;
    *array = grown;
    void *element = (char *)grown + (*count)++ * size;
    memset(element, 0, size);
    return element;
}

#define APPEND(model, what)                                                                                            \
    append((void **)&(model)->what##s, &(model)->what##_count, &(model)->what##_capacity, sizeof *(model)->what##s)

struct uspi_model_part *uspi_model_add_part(struct uspi_model *model) {
    struct uspi_model_part *part = APPEND(model, part);
    if (part == NULL) return NULL;
    part->format = "";
    part->thread = model->thread_count;
    part->image = model->image_count;
    part->process = model->process_count;
    return part;
}

static struct uspi_model_part *last_part(struct uspi_model *model) {
    return model->part_count > 0 ? &model->parts[model->part_count - 1] : uspi_model_add_part(model);
}

struct uspi_model_thread *uspi_model_add_thread(struct uspi_model *model) {
    struct uspi_model_part *part = last_part(model);
    struct uspi_model_thread *thread = part != NULL ? APPEND(model, thread) : NULL;
    if (thread == NULL) return NULL;
    part->thread_count++;
    thread->frame = model->frame_count;
    return thread;
}

bool uspi_model_set_field(struct uspi_model *model, enum uspi_field field, struct uspi_span value) {
    struct uspi_model_part *part = last_part(model);
    if (part == NULL) return false;
    if (part->fields[field].length > 0 || value.length == 0) return true;
    return uspi_model_copy(model, value, &part->fields[field]);
}

static bool add_source(struct uspi_model *model, const struct usp_source_frame *from) {
    struct uspi_model_source *source = APPEND(model, source);
    if (source == NULL) return false;
    source->line = from->line;
    source->column = from->column;
    source->flags = from->flags;
    return uspi_model_copy(model, uspi_span_of(from->function), &source->function) &&
           uspi_model_copy(model, uspi_span_of(from->directory), &source->directory) &&
           uspi_model_copy(model, uspi_span_of(from->file), &source->file);
}

/* Adds the name that a frame had, as a source frame. */
static bool add_name(struct uspi_model *model, const struct uspi_frame *from) {
    struct uspi_model_source *source = APPEND(model, source);
    if (source == NULL) return false;
    source->line = from->line;
    source->column = from->column;
    if ((from->flags & USPI_FRAME_INLINED) != 0) source->flags = USP_SOURCE_INLINED;
    return uspi_model_copy(model, from->name, &source->function) && uspi_model_copy(model, from->file, &source->file);
}

/* Returns a cleared code; NULL when memory is exhausted. */
static struct uspi_model_code *add_code(struct uspi_model *model) {
    struct uspi_codes *block = model->codes;
    if (block == NULL || block->count == CODES) {
        block = calloc(1, sizeof *block);
        if (block == NULL) return NULL;
        block->next = model->codes;
        model->codes = block;
    }
    return &block->codes[block->count++];
}

/* Returns the frame to which preceding inlined calls belong, or a new one if there are none. NULL when memory is
 * exhausted. */
static struct uspi_model_frame *next_frame(struct uspi_model *model) {
    struct uspi_model_thread *thread = &model->threads[model->thread_count - 1];
    struct uspi_model_frame *last = thread->frame_count > 0 ? &model->frames[model->frame_count - 1] : NULL;
    const bool goes_on = last != NULL && (last->flags & USPI_FRAME_INLINED) != 0;
    struct uspi_model_code *code = goes_on ? last->code : add_code(model);
    struct uspi_model_frame *frame = goes_on ? last : code != NULL ? APPEND(model, frame) : NULL;
    if (frame == NULL || goes_on) return frame;
    thread->frame_count++;
    frame->code = code;
    code->source = model->source_count;
    return frame;
}

bool uspi_model_add_frame(struct uspi_model *model, const struct uspi_located *located,
                          const struct usp_answer *answer) {
    struct uspi_model_part *part = last_part(model);
    if (part == NULL || (part->thread_count == 0 && uspi_model_add_thread(model) == NULL)) return false;
    struct uspi_model_frame *frame = next_frame(model);
    if (frame == NULL) return false;
    const struct uspi_frame *from = &located->frame;
    const struct usp_place *place = &located->place;
    struct uspi_model_code *code = frame->code;
    const size_t source = code->source;
    const bool is_answered = answer->count > 0 && (from->flags & USPI_FRAME_NAMED) == 0;
    *frame = (struct uspi_model_frame){code, from->count, from->depth, from->flags};
    if (located->is_located) frame->flags |= USPI_MODEL_LOCATED;
    if (is_answered || (from->flags & USPI_FRAME_NAME_OFFSET) != 0) frame->flags |= USPI_MODEL_HAS_OFFSET;
    *code = (struct uspi_model_code){.address = from->address,
                                     .place = from->offset,
                                     .base = from->base,
                                     .offset = is_answered ? answer->offset : from->name_offset,
                                     .id_size = (uint32_t)from->id_size,
                                     .source = source,
                                     .has_file = (answer->flags & USP_ANSWER_NO_FILE) == 0};
    struct uspi_span image = uspi_span_file_name(from->image);
    memcpy(code->id, from->id, sizeof code->id);
    if (located->is_located) {
        code->place = place->offset;
        code->base = place->base;
        code->id_size = place->build_id_size;
        memcpy(code->id, place->build_id, sizeof code->id);
        if (place->image_length > 0) image = (struct uspi_span){place->image, place->image_length};
    }
    const bool keeps_name = (from->flags & USPI_FRAME_NAMED) != 0;
    for (uint32_t i = 0; i < answer->count; i++) {
        struct usp_source_frame answered = answer->frames[i];
        if (!add_source(model, &answered)) return false;
        if (!keeps_name || i + 1 < answer->count) continue;
        struct uspi_model_source *last = &model->sources[model->source_count - 1];
        if (!uspi_model_copy(model, from->name, &last->function)) return false;
    }
    if (keeps_name && answer->count == 0 && !add_name(model, from)) return false;
    code->source_count = model->source_count - source;
    return uspi_model_copy(model, image, &code->image);
}

bool uspi_model_repeat_frame(struct uspi_model *model, size_t number) {
    struct uspi_model_frame *frame = APPEND(model, frame);
    if (frame == NULL) return false;
    *frame = model->frames[number];
    model->threads[model->thread_count - 1].frame_count++;
    return true;
}

bool uspi_model_add_images(struct uspi_model *model, const struct uspi_text_tables *tables, size_t table) {
    struct uspi_model_part *part = last_part(model);
    const struct uspi_image_entry *from;
    if (part == NULL) return false;
    for (uint64_t n = 0; (from = uspi_log_tables_image(tables, table, n)) != NULL; n++) {
        struct uspi_image_entry *image = APPEND(model, image);
        if (image == NULL) return false;
        *image = *from;
        /* The list does not state the end. */
        if (from->last - from->first == USPI_IMAGE_SIZE_MAX - 1) image->last = image->first;
        if (!uspi_model_copy(model, from->path, &image->path) || !uspi_model_copy(model, from->ident, &image->ident)) {
            return false;
        }
        image->name = uspi_span_file_name(image->path);
        part->image_count++;
    }
    return true;
}

/* ---- trees ---- */

/* A list of the nodes around a node, from the root on: of each its depth, and the child with the most samples that was
 * seen so far, SIZE_MAX if none was. */
struct around {
    struct around_node {
        uint32_t depth;
        size_t best;
    } *nodes;
    size_t capacity;
};

/* Replaces the depths of nodes by their levels. The nodes are in the order of the text: parents before their
 * children. Returns false when memory is exhausted. */
static bool level_nodes(struct uspi_model_frame *frames, size_t count, struct around *around) {
    size_t level = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t depth = frames[i].depth;
        while (level > 0 && around->nodes[level - 1].depth >= depth) level--;
        if (!uspi_room_for(&around->nodes, &around->capacity, level, 2, sizeof *around->nodes)) return false;
        around->nodes[level] = (struct around_node){depth, SIZE_MAX};
        frames[i].depth = (uint32_t)level++;
    }
    return true;
}

/* Marks in each list of siblings the node with the most samples, the first of several. `around` has room for all levels
 * and one more. Nodes are seen from the last to the first, so that all children of a node come before it, and the node
 * ends their list. */
static void mark_siblings(struct uspi_model_frame *frames, size_t count, struct around *around) {
    around->nodes[0].best = SIZE_MAX;
    for (size_t i = count; i-- > 0;) {
        size_t *best = &around->nodes[frames[i].depth].best;
        around->nodes[frames[i].depth + 1].best = SIZE_MAX;
        if (*best != SIZE_MAX && frames[*best].count > frames[i].count) continue;
        if (*best != SIZE_MAX) frames[*best].flags &= ~(uint32_t)USPI_MODEL_HEAVIEST;
        frames[i].flags |= USPI_MODEL_HEAVIEST;
        *best = i;
    }
}

/* Removes the marks of nodes whose parent is not in the heaviest stack. */
static void keep_heaviest(struct uspi_model_frame *frames, size_t count) {
    uint32_t level = 0;
    bool is_inside = true;
    for (size_t i = 0; i < count; i++) {
        const bool is_marked = (frames[i].flags & USPI_MODEL_HEAVIEST) != 0;
        /* Past the last node of the stack nothing is below it. */
        is_inside = is_inside && (level == 0 || frames[i].depth >= level);
        if (is_marked && is_inside && frames[i].depth == level) {
            level++;
        } else {
            frames[i].flags &= ~(uint32_t)USPI_MODEL_HEAVIEST;
        }
    }
}

/* Computes the levels of nodes from their depths, and marks the heaviest stacks. */
static bool level_trees(struct uspi_model *model) {
    struct around around = {.nodes = NULL};
    bool has_memory = true;
    for (size_t i = 0; has_memory && i < model->thread_count; i++) {
        const struct uspi_model_thread *thread = &model->threads[i];
        if ((thread->flags & USPI_THREAD_TREE) == 0 || thread->frame_count == 0) continue;
        struct uspi_model_frame *frames = model->frames + thread->frame;
        has_memory = level_nodes(frames, thread->frame_count, &around);
        if (!has_memory) continue;
        mark_siblings(frames, thread->frame_count, &around);
        keep_heaviest(frames, thread->frame_count);
    }
    free(around.nodes);
    return has_memory;
}

/* ---- images ---- */

/* Maximum number of images that a report without a list of images gets from its frames. */
#define IMAGES_OF_FRAMES 256

static bool has_image(const struct uspi_model *model, const struct uspi_model_part *part,
                      const struct uspi_model_frame *frame, uint64_t load) {
    for (size_t i = part->image; i < part->image + part->image_count; i++) {
        const struct uspi_image_entry *image = &model->images[i];
        if (image->first != load || image->id_size != frame->code->id_size) continue;
        bool is_same_id = memcmp(image->id, frame->code->id, frame->code->id_size) == 0;
        if (is_same_id && uspi_span_is(image->name, frame->code->image)) return true;
    }
    return false;
}

/* Finds the load address of a frame's image from what the frame itself says. Returns false if it does not say
 * enough. */
static bool find_load(const struct uspi_model_frame *frame, uint64_t *load) {
    if (!uspi_model_is_located(frame) || frame->code->base != USP_PLACE_LOAD ||
        (frame->flags & USPI_FRAME_ADDRESS) == 0)
        return false;
    *load = frame->code->address - frame->code->place;
    return frame->code->place <= frame->code->address && (frame->code->image.length > 0 || frame->code->id_size > 0);
}

/* Whether a report lists images with their addresses. A list of names and ids alone is of no use to a reader. */
static bool has_addresses(const struct uspi_model *model, const struct uspi_model_part *part) {
    for (size_t i = part->image; i < part->image + part->image_count; i++) {
        if (model->images[i].last > 0) return true;
    }
    return false;
}

static bool add_images_of_frames(struct uspi_model *model, struct uspi_model_part *part) {
    uint64_t load;
    const struct uspi_model_part before = *part;
    part->image = model->image_count;
    part->image_count = 0;
    for (size_t i = part->thread; i < part->thread + part->thread_count; i++) {
        const struct uspi_model_thread *thread = &model->threads[i];
        for (size_t k = thread->frame; k < thread->frame + thread->frame_count; k++) {
            const struct uspi_model_frame *frame = &model->frames[k];
            if (part->image_count == IMAGES_OF_FRAMES) return true;
            if (!find_load(frame, &load) || has_image(model, part, frame, load)) continue;
            struct uspi_image_entry *image = APPEND(model, image);
            if (image == NULL) return false;
            image->first = image->last = load;
            image->name = frame->code->image;
            image->id_size = frame->code->id_size;
            memcpy(image->id, frame->code->id, sizeof image->id);
            part->image_count++;
        }
    }
    if (part->image_count == 0) *part = before;
    return true;
}

/* Marks the crashed thread of a report that has only its number, in a field. */
static void mark_crashed(const struct uspi_model *model, const struct uspi_model_part *part) {
    uint64_t number;
    size_t at = 0;
    if (!uspi_scan_decimal(part->fields[USPI_FIELD_TRIGGERED_BY], &at, &number)) return;
    for (size_t i = part->thread; i < part->thread + part->thread_count; i++) {
        struct uspi_model_thread *thread = &model->threads[i];
        bool is_meant = (thread->flags & USPI_THREAD_NUMBER) != 0 && thread->number == number;
        if (is_meant && !thread->is_stack) thread->flags |= USPI_THREAD_CRASHED;
    }
}

bool uspi_model_finish(struct uspi_model *model) {
    for (size_t i = 0; i < model->part_count; i++) {
        struct uspi_model_part *part = &model->parts[i];
        mark_crashed(model, part);
        if (!has_addresses(model, part) && !add_images_of_frames(model, part)) return false;
    }
    return uspi_model_mark_system(model) && level_trees(model);
}

/* ---- what is shown ---- */

bool uspi_shows_thread(const struct usp_report_options *selection, const struct uspi_model_thread *thread) {
    const uint32_t flags = selection->flags, has = thread->flags;
    if (thread->frame_count == 0) return false;
    if ((flags & (USP_REPORT_CRASHED | USP_REPORT_THREAD)) == 0) return true;
    if ((flags & USP_REPORT_CRASHED) != 0 && (thread->is_stack || (has & USPI_THREAD_CRASHED) != 0)) return true;
    return (flags & USP_REPORT_THREAD) != 0 && !thread->is_stack &&
           (((has & USPI_THREAD_NUMBER) != 0 && thread->number == selection->thread) ||
            ((has & USPI_THREAD_ID) != 0 && thread->id == selection->thread));
}

bool uspi_shows_frame(const struct usp_report_options *selection, const struct uspi_model_frame *frame) {
    return (selection->flags & USP_REPORT_APP) == 0 || !frame->code->is_system;
}

/* ---- fields ---- */

static const struct {
    const char *key, *label;
} fields[USPI_FIELD_COUNT] = {
    [USPI_FIELD_PROCESS] = {"process", "Process:"},
    [USPI_FIELD_PROCESS_ID] = {"process_id", "PID:"},
    [USPI_FIELD_LARGEST_PROCESS] = {"largest_process", "Largest process:"},
    [USPI_FIELD_PATH] = {"path", "Path:"},
    [USPI_FIELD_IDENTIFIER] = {"identifier", "Identifier:"},
    [USPI_FIELD_VERSION] = {"version", "Version:"},
    [USPI_FIELD_CODE_TYPE] = {"code_type", "Code Type:"},
    [USPI_FIELD_PARENT] = {"parent", "Parent Process:"},
    [USPI_FIELD_INCIDENT] = {"incident", "Incident Identifier:"},
    [USPI_FIELD_HARDWARE] = {"hardware", "Hardware Model:"},
    [USPI_FIELD_OS_VERSION] = {"os_version", "OS Version:"},
    [USPI_FIELD_DATE] = {"date", "Date/Time:"},
    [USPI_FIELD_END_DATE] = {"end_date", "End time:"},
    [USPI_FIELD_EVENT] = {"event", "Event:"},
    [USPI_FIELD_ACTION] = {"action", "Action taken:"},
    [USPI_FIELD_USAGE] = {"usage", "Resource Usage:"},
    [USPI_FIELD_DURATION] = {"duration", "Duration:"},
    [USPI_FIELD_EXCEPTION_TYPE] = {"exception_type", "Exception Type:"},
    [USPI_FIELD_EXCEPTION_SUBTYPE] = {"exception_subtype", "Exception Subtype:"},
    [USPI_FIELD_EXCEPTION_CODES] = {"exception_codes", "Exception Codes:"},
    [USPI_FIELD_EXCEPTION_NOTE] = {"exception_note", "Exception Note:"},
    [USPI_FIELD_EXCEPTION_REASON] = {"exception_reason", "Exception Reason:"},
    [USPI_FIELD_TERMINATION] = {"termination", "Termination Reason:"},
    [USPI_FIELD_TERMINATING_PROCESS] = {"terminating_process", "Terminating Process:"},
    [USPI_FIELD_FAULT_ADDRESS] = {"fault_address", "Fault Address:"},
    [USPI_FIELD_VM_REGION] = {"vm_region", "VM Region Info:"},
    [USPI_FIELD_TRIGGERED_BY] = {"triggered_by", "Triggered by Thread:"},
    [USPI_FIELD_INFORMATION] = {"information", "Application Specific Information:"},
    [USPI_FIELD_KERNEL_TRIAGE] = {"kernel_triage", "Kernel Triage:"},
};

const char *uspi_field_key(enum uspi_field field) { return fields[field].key; }

const char *uspi_field_label(enum uspi_field field) { return fields[field].label; }

bool uspi_field_has_lines(enum uspi_field field) {
    return field == USPI_FIELD_EXCEPTION_REASON || field == USPI_FIELD_INFORMATION || field == USPI_FIELD_KERNEL_TRIAGE;
}
