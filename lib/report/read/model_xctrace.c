/* SPDX-License-Identifier: MIT */
/* Builds a model of what `xctrace export` writes: a call tree for each thread of a time profile, and one for each hang.
 *
 *   <row><sample-time id="1" fmt="00:00.300">300613208</sample-time><thread id="2" fmt="Main Thread 0x1c0a (App, pid: 47)">
 *     <tid id="3" fmt="0x1c0a">7178</tid><process id="4" fmt="App (47)">…</process></thread>…<backtrace id="9">…</row>
 *   <row>…<thread ref="2"/><weight ref="8"/><tagged-backtrace ref="10"/></row>
 *   <backtrace id="3"><text-addresses id="4" fmt="frag 1">4404723740 4404723800</text-addresses>
 *     <text-addresses ref="2"/></backtrace>
 *   <kperf-bt id="3"><text-addresses id="4">4404723740</text-addresses><text-address id="5">4404723800</text-address>
 *     </kperf-bt>
 *
 * The last has the innermost frame, an instruction, in <text-address>. (Its form is known from parsers of such files.)
 *
 * The text is read in pieces. Each frame becomes a frame of the model once, and equal samples of a thread become one
 * with their number. Nothing is hashed: samples are sorted by their functions, the outermost first, and what neighbours
 * have in common becomes nodes. */
#include "lib/report/read/model.h"

#include <stdlib.h>

/* Most addresses in <text-addresses>, because each becomes a frame. */
#define ADDRESSES_MAX ((size_t)1 << 20)

/* References to <text-addresses> may add so many frames, and so many for each list: a short reference stands for many
 * frames. */
#define REFERRED_MIN     ((size_t)1 << 20)
#define REFERRED_OF_LIST 64

/* A text that is longer is not kept until its end arrives. */
#define TEXT_MAX ((size_t)1 << 20)

/* Most nodes of all trees: so many, and one for each byte. A row that refers to a list stands for all its frames. */
#define NODES_MIN ((size_t)1 << 17)

/* A list of frames, the innermost first. */
struct list {
    size_t from, count; /* in `frames` */
    /* While lists are compared: its frames, and the number of each model frame's function. */
    const uint32_t *frames;
    const size_t *numbers;
};

/* Samples of a thread with the same list. There is one for each row at first, so it is small. */
struct sample {
    uint32_t thread, list; /* NO_THREAD: the thread is not known */
    uint32_t number; /* of the list among all, by functions; lists of the same functions have the same. 0 at first */
    uint64_t count;
};
#define NO_THREAD UINT32_MAX

/* The addresses of a <text-addresses>, which other lists may have, too. */
struct fragment {
    size_t from, count; /* in `frames` */
};

struct thread {
    struct uspi_span name;
    uint64_t id;
};

/* A row that is being read. */
struct row {
    size_t thread, list;          /* SIZE_MAX: none */
    struct uspi_span hang, lasts; /* empty: it is a sample */
};

struct uspi_model_xctrace {
    struct uspi_model *model;
    struct usp_reader *reader;
    struct uspi_xctrace trace;
    struct uspi_trace_ids frame_ids, list_ids, thread_ids, hang_ids, duration_ids, fragment_ids;
    uint32_t *frames; /* of all lists: numbers of model frames */
    size_t frame_count, frame_capacity;
    struct list *lists;
    size_t list_count, list_capacity;
    struct thread *threads;
    size_t thread_count, thread_capacity;
    struct uspi_span *names; /* of hangs and durations */
    size_t name_count, name_capacity;
    struct sample *samples;
    size_t sample_count, sample_capacity;
    struct fragment *fragments;
    size_t fragment_count, fragment_capacity;
    size_t fragment; /* the one that is being read; SIZE_MAX: it has no id */
    size_t referred; /* frames that references to fragments have added */
    struct row row;
    struct uspi_xml_token frame; /* the <frame> that is being read, in `held` */
    struct uspi_gathered held;
    bool is_in_frame, is_in_list, is_in_addresses, is_in_address, is_in_tid;
    size_t innermost; /* position of the innermost frame of a <kperf-bt>, in `frames`; SIZE_MAX: it is not one */
    bool has_innermost;
    uint64_t address_id; /* of the <text-address> that is being read; 0: none */
    size_t binary;
    size_t tagged;      /* ids of a <tagged-backtrace> around the list; SIZE_MAX: none */
    uint64_t processes; /* how many processes the text has */
    struct uspi_gathered decoded;
    struct uspi_gathered kept; /* a tag or text whose end has not arrived */
    size_t read;               /* bytes of the text so far */
};

/* ---- elements ---- */

/* Copies the attribute `fmt` of a tag. */
static bool copy_shown(struct uspi_model_xctrace *builder, const struct uspi_xml_token *tag, struct uspi_span *copy) {
    struct uspi_span text = {"", 0};
    uspi_xml_attribute(tag, USPI_SPAN("fmt"), &text);
    return uspi_xml_decode(&text, &builder->decoded) && uspi_model_copy(builder->model, text, copy);
}

/* Adds an element by its id, unless it is a reference. *number becomes its number, or SIZE_MAX. */
static bool add_by_id(struct uspi_trace_ids *ids, const struct uspi_xml_token *tag, size_t next, size_t *number) {
    uint64_t id;
    *number = uspi_trace_find(ids, tag);
    if (*number != SIZE_MAX || !uspi_xml_number(tag, USPI_SPAN("id"), &id)) return true;
    *number = next;
    return uspi_trace_add(ids, id, next);
}

static bool take_thread(struct uspi_model_xctrace *builder, const struct uspi_xml_token *tag) {
    const size_t next = builder->thread_count;
    if (next == NO_THREAD) return false;
    if (!add_by_id(&builder->thread_ids, tag, next, &builder->row.thread)) return false;
    if (builder->row.thread != next) return true;
    if (!uspi_room_for(&builder->threads, &builder->thread_capacity, next, 1, sizeof *builder->threads)) return false;
    builder->threads[builder->thread_count++] = (struct thread){.id = 0};
    return copy_shown(builder, tag, &builder->threads[next].name);
}

/* Reads what a hang is called, or how long it lasts. */
static bool take_name(struct uspi_model_xctrace *builder, const struct uspi_xml_token *tag, struct uspi_trace_ids *ids,
                      struct uspi_span *name) {
    const size_t next = builder->name_count;
    size_t number;
    if (!add_by_id(ids, tag, next, &number)) return false;
    if (number == SIZE_MAX) return true;
    if (number == next) {
        if (!uspi_room_for(&builder->names, &builder->name_capacity, next, 1, sizeof *builder->names)) return false;
        builder->names[builder->name_count++] = (struct uspi_span){"", 0};
        if (!copy_shown(builder, tag, &builder->names[next])) return false;
    }
    *name = builder->names[number];
    return true;
}

/* The process of a recording of one process. */
static bool take_process(struct uspi_model_xctrace *builder, const struct uspi_xml_token *tag) {
    struct uspi_span *field = &builder->model->parts[builder->model->part_count - 1].fields[USPI_FIELD_PROCESS];
    uint64_t id;
    if (!uspi_xml_number(tag, USPI_SPAN("id"), &id)) return true;
    if (builder->processes++ == 0) return copy_shown(builder, tag, field);
    *field = (struct uspi_span){"", 0};
    return true;
}

/* ---- frames and lists ---- */

static bool add_to_list(struct uspi_model_xctrace *builder, size_t frame) {
    if (frame > UINT32_MAX) return false;
    if (!uspi_room_for(&builder->frames, &builder->frame_capacity, builder->frame_count, 1, sizeof *builder->frames)) {
        return false;
    }
    builder->frames[builder->frame_count++] = (uint32_t)frame;
    builder->lists[builder->list_count - 1].count++;
    return true;
}

/* Looks a frame up and adds it to the model and to the list. *number becomes its number. */
static int add_frame(struct uspi_model_xctrace *builder, struct uspi_located *located, size_t *number) {
    struct usp_answer answer;
    *number = builder->model->frame_count;
    const int status = uspi_log_lines_ask(&builder->reader->lines, located, &answer);
    if (status != USP_OK) return status;
    builder->reader->counts.format = USPI_XCTRACE_FORMAT;
    /* The name is in memory that the next frame uses. */
    const bool is_added = uspi_model_copy(builder->model, located->frame.name, &located->frame.name) &&
                          uspi_model_add_frame(builder->model, located, &answer) && add_to_list(builder, *number);
    return is_added ? USP_OK : USP_ERROR_NO_MEMORY;
}

static bool is_first(const struct uspi_model_xctrace *builder) {
    return builder->lists[builder->list_count - 1].count == 0;
}

/* Adds the frame whose element has been read. */
static int end_frame(struct uspi_model_xctrace *builder) {
    struct uspi_located located;
    uint64_t id;
    size_t number;
    if (!builder->is_in_frame) return USP_OK;
    builder->is_in_frame = false;
    const struct uspi_line_reader *lines = &builder->reader->lines;
    if (!uspi_xctrace_locate(&builder->trace, &builder->frame, is_first(builder), builder->binary, lines->given,
                             &located)) {
        return USP_ERROR_NO_MEMORY;
    }
    const int status = add_frame(builder, &located, &number);
    if (status != USP_OK || !uspi_xml_number(&builder->frame, USPI_SPAN("id"), &id)) return status;
    return uspi_trace_add(&builder->frame_ids, id, number) ? USP_OK : USP_ERROR_NO_MEMORY;
}

static int take_frame(struct uspi_model_xctrace *builder, const struct uspi_xml_token *tag) {
    if (!builder->is_in_list) return USP_OK;
    const size_t number = uspi_trace_find(&builder->frame_ids, tag);
    if (number != SIZE_MAX) return add_to_list(builder, number) ? USP_OK : USP_ERROR_NO_MEMORY;
    size_t at = 0;
    builder->held.size = 0;
    const int status = uspi_gathered_append(&builder->held, tag->raw.bytes, tag->raw.length);
    if (status != USP_OK) return status;
    builder->is_in_frame = uspi_xml_next(uspi_gathered_span(&builder->held), &at, &builder->frame);
    builder->binary = USPI_NO_BINARY;
    return tag->is_empty ? end_frame(builder) : USP_OK;
}

/* Begins a <text-addresses>, or adds the frames of the one that it refers to. */
static int take_fragment(struct uspi_model_xctrace *builder, const struct uspi_xml_token *tag) {
    const size_t next = builder->fragment_count;
    size_t number;
    builder->is_in_addresses = false;
    if (!builder->is_in_list) return USP_OK;
    if (!add_by_id(&builder->fragment_ids, tag, next, &number)) return USP_ERROR_NO_MEMORY;
    builder->is_in_addresses = !tag->is_empty && (number == next || number == SIZE_MAX);
    builder->fragment = number;
    if (number == next) {
        if (!uspi_room_for(&builder->fragments, &builder->fragment_capacity, next, 1, sizeof *builder->fragments)) {
            return USP_ERROR_NO_MEMORY;
        }
        builder->fragments[builder->fragment_count++] = (struct fragment){.from = builder->frame_count};
        return USP_OK;
    }
    if (number == SIZE_MAX) return USP_OK;
    const struct fragment fragment = builder->fragments[number];
    if (fragment.count > REFERRED_MIN + builder->list_count * REFERRED_OF_LIST - builder->referred) {
        uspi_reader_cut_trees(builder->reader);
        return USP_OK;
    }
    builder->referred += fragment.count;
    for (size_t i = 0; i < fragment.count; i++) {
        if (!add_to_list(builder, builder->frames[fragment.from + i])) return USP_ERROR_NO_MEMORY;
    }
    return USP_OK;
}

/* Reads the addresses in the text of an element. The last may be 0, which is the end of the stack. */
static int take_addresses(struct uspi_model_xctrace *builder, struct uspi_span text) {
    int status = USP_OK;
    size_t number;
    for (size_t at = 0; status == USP_OK && at < text.length;) {
        struct uspi_located located;
        memset(&located, 0, sizeof located);
        while (at < text.length && uspi_is_blank(text.bytes[at])) at++;
        if (at == text.length || builder->model->frame_count >= ADDRESSES_MAX) break;
        if (!uspi_scan_decimal(text, &at, &located.frame.address)) break;
        if (located.frame.address == 0) continue;
        const bool is_exact = is_first(builder);
        located.frame.flags = USPI_FRAME_ADDRESS | (is_exact ? (unsigned)USPI_FRAME_CALL_SITE : 0);
        if (!is_exact && located.frame.address % 2 != 0) located.frame.address--;
        located.is_located = uspi_locate(builder->reader->lines.given, &located.frame, &located.place);
        if (located.is_located && is_exact) located.place.flags |= USP_PLACE_EXACT;
        status = add_frame(builder, &located, &number);
    }
    if (builder->fragment != SIZE_MAX) {
        struct fragment *fragment = &builder->fragments[builder->fragment];
        fragment->count = builder->frame_count - fragment->from;
    }
    return status;
}

/* Begins the address of the innermost frame of a <kperf-bt>, or takes the one that it refers to. */
static void take_innermost(struct uspi_model_xctrace *builder, const struct uspi_xml_token *tag) {
    const size_t number = uspi_trace_find(&builder->frame_ids, tag);
    if (!builder->is_in_list || builder->innermost == SIZE_MAX || builder->has_innermost) return;
    builder->is_in_address = !tag->is_empty && number == SIZE_MAX;
    if (!uspi_xml_number(tag, USPI_SPAN("id"), &builder->address_id)) builder->address_id = 0;
    if (number == SIZE_MAX) return;
    builder->frames[builder->innermost] = (uint32_t)number;
    builder->has_innermost = true;
}

/* Reads the address of the innermost frame, whose place in the list is kept for it. */
static int take_address(struct uspi_model_xctrace *builder, struct uspi_span text) {
    struct uspi_located located;
    size_t at = 0, number;
    memset(&located, 0, sizeof located);
    while (at < text.length && uspi_is_blank(text.bytes[at])) at++;
    builder->is_in_address = false;
    if (builder->model->frame_count >= ADDRESSES_MAX) return USP_OK;
    if (!uspi_scan_decimal(text, &at, &located.frame.address)) return USP_OK;
    located.frame.flags = USPI_FRAME_ADDRESS | USPI_FRAME_CALL_SITE;
    located.is_located = uspi_locate(builder->reader->lines.given, &located.frame, &located.place);
    if (located.is_located) located.place.flags |= USP_PLACE_EXACT;
    const int status = add_frame(builder, &located, &number);
    if (status != USP_OK) return status;
    builder->frames[builder->innermost] = builder->frames[--builder->frame_count];
    builder->lists[builder->list_count - 1].count--;
    builder->has_innermost = true;
    const bool is_done = builder->address_id == 0 || uspi_trace_add(&builder->frame_ids, builder->address_id, number);
    return is_done ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* Ends a list. A <kperf-bt> of one frame has its address in both elements. */
static void end_list(struct uspi_model_xctrace *builder) {
    if (builder->is_in_list && builder->innermost != SIZE_MAX) {
        struct list *list = &builder->lists[builder->list_count - 1];
        const uint32_t *frames = builder->frames + builder->innermost;
        const struct uspi_model_frame *known = builder->model->frames;
        if (!builder->has_innermost) {
            list->from++;
            list->count--;
        } else if (list->count == 2 && known[frames[0]].code->address == known[frames[1]].code->address) {
            list->count--;
        }
    }
    builder->is_in_list = false;
    builder->innermost = SIZE_MAX;
}

/* Begins a list, or finds the one that a tag refers to. */
static bool take_list(struct uspi_model_xctrace *builder, const struct uspi_xml_token *tag) {
    const size_t next = builder->list_count;
    size_t number;
    if (!add_by_id(&builder->list_ids, tag, next, &number)) return false;
    if (number == SIZE_MAX) return true;
    builder->row.list = number;
    if (next > UINT32_MAX) return false;
    if (builder->tagged != SIZE_MAX) builder->list_ids.ids[builder->tagged].number = number;
    builder->tagged = SIZE_MAX;
    if (number != next) return true;
    if (!uspi_room_for(&builder->lists, &builder->list_capacity, next, 1, sizeof *builder->lists)) return false;
    builder->lists[builder->list_count++] = (struct list){.from = builder->frame_count};
    builder->is_in_list = !tag->is_empty;
    builder->innermost = SIZE_MAX;
    builder->has_innermost = false;
    if (tag->is_empty || !uspi_span_is(tag->name, USPI_SPAN("kperf-bt"))) return true;
    builder->innermost = builder->frame_count;
    return add_to_list(builder, 0);
}

/* A <tagged-backtrace> has an id, too, and has or is the <backtrace>. */
static bool take_tagged(struct uspi_model_xctrace *builder, const struct uspi_xml_token *tag) {
    const struct uspi_trace_ids *ids = &builder->list_ids;
    const size_t before = ids->count, number = uspi_trace_find(ids, tag);
    uint64_t id;
    if (number != SIZE_MAX) builder->row.list = number;
    if (number != SIZE_MAX || !uspi_xml_number(tag, USPI_SPAN("id"), &id)) return true;
    if (!uspi_trace_add(&builder->list_ids, id, SIZE_MAX)) return false;
    if (ids->count > before) builder->tagged = before;
    return true;
}

/* ---- rows ---- */

/* Gives a hang a thread of its own, whose name says what it is. */
static bool add_hang(struct uspi_model_xctrace *builder) {
    const struct row *row = &builder->row;
    const struct uspi_span thread = row->thread != SIZE_MAX ? builder->threads[row->thread].name : USPI_SPAN("");
    char buffer[512];
    struct uspi_text text = uspi_text_in(buffer, sizeof buffer);
    uspi_put(&text, row->hang.bytes, row->hang.length);
    if (row->lasts.length > 0) uspi_put_string(&text, ", ");
    uspi_put(&text, row->lasts.bytes, row->lasts.length);
    if (thread.length > 0) uspi_put_string(&text, ": ");
    uspi_put(&text, thread.bytes, thread.length);
    uspi_text_end(&text);
    const size_t count = builder->thread_count;
    if (!uspi_room_for(&builder->threads, &builder->thread_capacity, count, 1, sizeof *builder->threads)) return false;
    builder->threads[count] = (struct thread){.id = row->thread != SIZE_MAX ? builder->threads[row->thread].id : 0};
    builder->thread_count++;
    builder->row.thread = count;
    return uspi_model_copy(builder->model, uspi_span_of(buffer), &builder->threads[count].name);
}

/* Orders samples by threads, then by functions, so that few lists are compared frame by frame. */
static int compare_samples(const void *a, const void *b) {
    const struct sample *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return x->list < y->list ? -1 : x->list > y->list;
}

/* Sorts the samples, and joins those of the same thread and list. */
static void join_samples(struct uspi_model_xctrace *builder) {
    struct sample *samples = builder->samples;
    size_t count = 0;
    if (builder->sample_count > 0) qsort(samples, builder->sample_count, sizeof *samples, compare_samples);
    for (size_t i = 0; i < builder->sample_count; i++) {
        if (count > 0 && compare_samples(&samples[count - 1], &samples[i]) == 0) {
            samples[count - 1].count += samples[i].count;
        } else {
            samples[count++] = samples[i];
        }
    }
    builder->sample_count = count;
}

/* Adds a sample. Before the array grows, equal samples are joined: a recording has many more rows than different
 * stacks. */
static bool add_sample(struct uspi_model_xctrace *builder, const struct sample *sample) {
    if (builder->sample_count == builder->sample_capacity) {
        join_samples(builder);
        const size_t room = builder->sample_count / 2 + 1024;
        if (!uspi_room_for(&builder->samples, &builder->sample_capacity, builder->sample_count, room,
                           sizeof *builder->samples)) {
            return false;
        }
    }
    builder->samples[builder->sample_count++] = *sample;
    return true;
}

static bool end_row(struct uspi_model_xctrace *builder) {
    const struct row row = builder->row;
    const bool is_sample = row.list != SIZE_MAX && row.list < builder->list_count;
    if (is_sample && row.hang.length > 0 && !add_hang(builder)) return false;
    if (is_sample) {
        const size_t thread = builder->row.thread;
        const struct sample sample = {
            .thread = thread != SIZE_MAX ? (uint32_t)thread : NO_THREAD, .list = (uint32_t)row.list, .count = 1};
        if (!add_sample(builder, &sample)) return false;
    }
    builder->row = (struct row){SIZE_MAX, SIZE_MAX, {"", 0}, {"", 0}};
    return true;
}

static int take_tag(struct uspi_model_xctrace *builder, const struct uspi_xml_token *tag) {
    const struct uspi_span name = tag->name;
    bool is_done = true;
    size_t binary;
    builder->is_in_tid = builder->is_in_addresses = builder->is_in_address = false;
    if (tag->is_end) {
        if (uspi_span_is(name, USPI_SPAN("frame"))) return end_frame(builder);
        if (uspi_is_backtrace(name)) end_list(builder);
        if (uspi_span_is(name, USPI_SPAN("tagged-backtrace"))) builder->tagged = SIZE_MAX;
        if (uspi_span_is(name, USPI_SPAN("row"))) is_done = end_row(builder);
    } else if (uspi_span_is(name, USPI_SPAN("frame"))) {
        return take_frame(builder, tag);
    } else if (uspi_span_is(name, USPI_SPAN("text-addresses"))) {
        return take_fragment(builder, tag);
    } else if (uspi_span_is(name, USPI_SPAN("text-address"))) {
        take_innermost(builder, tag);
    } else if (uspi_span_is(name, USPI_SPAN("tid"))) {
        builder->is_in_tid = !tag->is_empty && builder->row.thread != SIZE_MAX;
    } else if (uspi_span_is(name, USPI_SPAN("binary"))) {
        is_done = uspi_xctrace_take_binary(&builder->trace, tag, &binary);
        builder->binary = binary;
    } else if (uspi_is_backtrace(name)) {
        is_done = take_list(builder, tag);
    } else if (uspi_span_is(name, USPI_SPAN("tagged-backtrace"))) {
        is_done = take_tagged(builder, tag);
    } else if (uspi_span_is(name, USPI_SPAN("thread"))) {
        is_done = take_thread(builder, tag);
    } else if (uspi_span_is(name, USPI_SPAN("hang-type"))) {
        is_done = take_name(builder, tag, &builder->hang_ids, &builder->row.hang);
    } else if (uspi_span_is(name, USPI_SPAN("duration"))) {
        is_done = take_name(builder, tag, &builder->duration_ids, &builder->row.lasts);
    } else if (uspi_span_is(name, USPI_SPAN("process"))) {
        is_done = take_process(builder, tag);
    }
    return is_done ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* ---- trees ---- */

/* Returns the number of a list's function; 0 is the outermost one. */
static size_t function_of(const struct list *list, size_t level) {
    return list->numbers[list->frames[list->count - 1 - level]];
}

/* Compares functions, the outermost first. */
static int compare_functions(const struct list *x, const struct list *y) {
    for (size_t i = 0; i < x->count && i < y->count; i++) {
        const size_t p = function_of(x, i), q = function_of(y, i);
        if (p != q) return p < q ? -1 : 1;
    }
    return x->count < y->count ? -1 : x->count > y->count;
}

static int compare_lists(const void *a, const void *b) {
    const struct list *const *x = a, *const *y = b;
    return compare_functions(*x, *y);
}

/* Gives each sample the number of its list. `functions`: the number of each model frame's function. Returns false when
 * memory is exhausted. */
static bool number_lists(struct uspi_model_xctrace *builder, const size_t *functions) {
    const struct list **sorted = calloc(builder->list_count + 1, sizeof *sorted);
    uint32_t *numbers = calloc(builder->list_count + 1, sizeof *numbers);
    const bool has_memory = sorted != NULL && numbers != NULL;
    for (size_t i = 0; has_memory && i < builder->list_count; i++) {
        builder->lists[i].frames = builder->frames + builder->lists[i].from;
        builder->lists[i].numbers = functions;
        sorted[i] = &builder->lists[i];
    }
    if (has_memory) qsort(sorted, builder->list_count, sizeof *sorted, compare_lists);
    uint32_t number = 0;
    for (size_t i = 0; has_memory && i < builder->list_count; i++) {
        if (i > 0 && compare_functions(sorted[i - 1], sorted[i]) != 0) number++;
        numbers[sorted[i] - builder->lists] = number;
    }
    for (size_t i = 0; has_memory && i < builder->sample_count; i++) {
        builder->samples[i].number = numbers[builder->samples[i].list];
    }
    free(sorted);
    free(numbers);
    return has_memory;
}

/* Sorts the samples by their functions, and joins equal ones. Returns the number of each model frame's function, which
 * the lists use; NULL when memory is exhausted. */
static size_t *number_samples(struct uspi_model_xctrace *builder) {
    size_t *functions = calloc(builder->model->frame_count + 1, sizeof *functions);
    const bool is_done = functions != NULL && uspi_model_number_frames(builder->model, functions);
    join_samples(builder);
    if (!is_done || !number_lists(builder, functions)) {
        free(functions);
        return NULL;
    }
    join_samples(builder);
    return functions;
}

static bool add_node(struct uspi_model *model, size_t number, size_t level, uint64_t count) {
    if (!uspi_model_repeat_frame(model, number)) return false;
    struct uspi_model_frame *frame = &model->frames[model->frame_count - 1];
    frame->flags |= USPI_FRAME_NODE;
    frame->depth = level < UINT32_MAX ? (uint32_t)level : UINT32_MAX;
    frame->count = count;
    return true;
}

/* Adds samples to a node that they have in common with the sample before. */
static void add_to_node(struct uspi_model *model, size_t node, size_t number, uint64_t count) {
    struct uspi_model_frame *frame = &model->frames[node];
    frame->count += count;
    if (frame->code->address == model->frames[number].code->address) return;
    /* It stands for several places in a function. */
    frame->flags &= ~((uint32_t)USPI_FRAME_ADDRESS | (uint32_t)USPI_MODEL_LOCATED | (uint32_t)USPI_MODEL_HAS_OFFSET);
}

static bool begin_tree(struct uspi_model_xctrace *builder, size_t number) {
    struct uspi_model_thread *thread = uspi_model_add_thread(builder->model);
    if (thread == NULL) return false;
    thread->flags = USPI_THREAD_TREE;
    if (number != SIZE_MAX) thread->name = builder->threads[number].name;
    if (number != SIZE_MAX && builder->threads[number].id != 0) {
        thread->id = builder->threads[number].id;
        thread->flags |= USPI_THREAD_ID;
    }
    return true;
}

/* Makes a tree of the samples of each thread. `open` has room for the nodes around one. Ends with the sample that would
 * make the trees larger than `most` nodes. */
static bool put_trees(struct uspi_model_xctrace *builder, size_t *open, size_t most) {
    struct uspi_model *model = builder->model;
    const size_t first = model->frame_count;
    const struct list *before = NULL;
    for (size_t i = 0; i < builder->sample_count; i++) {
        const struct sample *sample = &builder->samples[i];
        const struct list *list = &builder->lists[sample->list];
        const uint32_t *frames = builder->frames + list->from;
        if (i > 0 && builder->samples[i - 1].thread != sample->thread) before = NULL;
        size_t level = 0;
        while (before != NULL && level < list->count && level < before->count &&
               function_of(before, level) == function_of(list, level)) {
            level++;
        }
        if (list->count - level > most - (model->frame_count - first)) {
            uspi_reader_cut_trees(builder->reader);
            return true;
        }
        const size_t thread = sample->thread != NO_THREAD ? sample->thread : SIZE_MAX;
        if (before == NULL && !begin_tree(builder, thread)) return false;
        for (size_t n = 0; n < level; n++) add_to_node(model, open[n], frames[list->count - 1 - n], sample->count);
        for (; level < list->count; level++) {
            open[level] = model->frame_count;
            if (!add_node(model, frames[list->count - 1 - level], level, sample->count)) return false;
        }
        before = list;
    }
    return true;
}

static bool make_trees(struct uspi_model_xctrace *builder, size_t most) {
    size_t deepest = 0;
    const size_t definitions = builder->model->thread_count - 1;
    for (size_t i = 0; i < builder->list_count; i++) {
        if (builder->lists[i].count > deepest) deepest = builder->lists[i].count;
    }
    size_t *open = calloc(deepest + 1, sizeof *open);
    size_t *functions = number_samples(builder);
    const bool is_made = open != NULL && functions != NULL && put_trees(builder, open, most);
    /* The frames that samples refer to are not a thread's. */
    builder->model->threads[definitions].frame_count = 0;
    free(open);
    free(functions);
    return is_made;
}

/* ---- texts ---- */

static int take_text(struct uspi_model_xctrace *builder, struct uspi_span text) {
    size_t at = 0;
    if (builder->is_in_addresses) return take_addresses(builder, text);
    if (builder->is_in_address) return take_address(builder, text);
    if (builder->is_in_tid) uspi_scan_decimal(text, &at, &builder->threads[builder->row.thread].id);
    return USP_OK;
}

int uspi_model_xctrace_take(struct uspi_model_xctrace *builder, struct uspi_span bytes, bool is_last) {
    struct uspi_xml_token token;
    size_t at = 0, done = 0;
    builder->read += bytes.length;
    int status = uspi_xml_join(&builder->kept, &bytes);
    while (status == USP_OK && uspi_xml_next(bytes, &at, &token)) {
        const bool is_text = token.name.length == 0;
        /* The rest of a number may be in the next piece. */
        if (is_text && at == bytes.length && !is_last && token.raw.length < TEXT_MAX) break;
        status = is_text ? take_text(builder, token.raw) : take_tag(builder, &token);
        done = at;
    }
    return status == USP_OK ? uspi_xml_keep(&builder->kept, bytes, done) : status;
}

struct uspi_model_xctrace *uspi_model_xctrace_begin(struct uspi_model *model, struct usp_reader *reader) {
    struct uspi_model_xctrace *builder = calloc(1, sizeof *builder);
    struct uspi_model_part *part = builder != NULL ? uspi_model_add_part(model) : NULL;
    if (part == NULL || uspi_model_add_thread(model) == NULL) {
        free(builder);
        return NULL;
    }
    part->format = USPI_XCTRACE_FORMAT;
    builder->model = model;
    builder->reader = reader;
    builder->tagged = builder->innermost = SIZE_MAX;
    builder->row = (struct row){SIZE_MAX, SIZE_MAX, {"", 0}, {"", 0}};
    return builder;
}

int uspi_model_xctrace_end(struct uspi_model_xctrace *builder, int status) {
    if (builder == NULL) return status;
    /* Without a frame, `frames` is NULL, and no sample has a list with one. */
    const bool has_trees = status == USP_OK && builder->sample_count > 0 && builder->frame_count > 0;
    if (has_trees && !make_trees(builder, NODES_MIN + builder->read)) status = USP_ERROR_NO_MEMORY;
    uspi_xctrace_clear(&builder->trace);
    uspi_gathered_clear(&builder->decoded);
    uspi_gathered_clear(&builder->held);
    uspi_gathered_clear(&builder->kept);
    struct uspi_trace_ids *const ids[] = {&builder->frame_ids, &builder->list_ids,     &builder->thread_ids,
                                          &builder->hang_ids,  &builder->duration_ids, &builder->fragment_ids};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) free(ids[i]->ids);
    free(builder->frames);
    free(builder->lists);
    free(builder->threads);
    free(builder->names);
    free(builder->fragments);
    free(builder->samples);
    free(builder);
    return status;
}
