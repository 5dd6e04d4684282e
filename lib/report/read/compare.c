/* SPDX-License-Identifier: MIT */
/* Compares two models: fields, stacks, images. Lines that only the first has begin with -, lines that only the second
 * has with +. Stacks are compared by images and functions, because addresses differ between two runs. */
#include "lib/report/read/translated.h"

#include "lib/base/array.h"

#include <stdlib.h>

/* Two stacks whose middles have more cells than this are not aligned: all of one is shown, then all of the other. */
#define CELLS_MAX ((size_t)1 << 20)

#define IMAGE_WIDTH 30

/* The same part of both models, and what is shown of them. */
struct sides {
    const struct uspi_model *models[2];
    const struct uspi_model_part *parts[2];
    const struct usp_report_options *selection;
    struct uspi_text *out;
    uint64_t differences;
};

/* A stack of one side: the shown frames, the innermost first. Of a tree they are those of its heaviest stack. */
struct stack {
    const struct uspi_model *model;
    const struct uspi_model_thread *thread;
    const struct uspi_model_frame **frames;
    size_t count;
    bool is_used; /* it was compared */
};

struct stacks {
    struct stack *stacks;
    size_t count;
    size_t first;                           /* all stacks before this one have been compared */
    const struct uspi_model_frame **frames; /* of all of them */
};

static void put_span(struct uspi_text *out, struct uspi_span span) { uspi_put_harmless(out, span, ""); }

static void begin_line(struct sides *sides, unsigned side) {
    sides->differences++;
    uspi_put_string(sides->out, side == 0 ? "- " : "+ ");
}

/* ---- fields ---- */

/* Whether a field differs between any two reports, because it names one event. */
static bool is_of_event(uint32_t field) {
    return field == USPI_FIELD_PROCESS_ID || field == USPI_FIELD_INCIDENT || field == USPI_FIELD_DATE ||
           field == USPI_FIELD_END_DATE;
}

/* Returns a field's value without the process id, in brackets at its end. */
static struct uspi_span without_id(struct uspi_span value) {
    size_t end = value.length;
    if (end == 0 || value.bytes[end - 1] != ']') return value;
    for (end--; end > 0 && uspi_is_digit(value.bytes[end - 1]);) end--;
    return end > 1 && value.bytes[end - 1] == '[' && value.bytes[end - 2] == ' ' ? uspi_span_part(value, 0, end - 2)
                                                                                 : value;
}

static void compare_fields(struct sides *sides) {
    const uint64_t before = sides->differences;
    for (uint32_t field = 0; field < USPI_FIELD_COUNT; field++) {
        const struct uspi_span *a = &sides->parts[0]->fields[field], *b = &sides->parts[1]->fields[field];
        if (is_of_event(field) || uspi_span_is(without_id(*a), without_id(*b))) continue;
        for (unsigned side = 0; side < 2; side++) {
            const struct uspi_span value = side == 0 ? *a : *b;
            if (value.length == 0) continue;
            begin_line(sides, side);
            uspi_put_padded(sides->out, uspi_span_of(uspi_field_label((enum uspi_field)field)), 20);
            uspi_put_string(sides->out, " ");
            uspi_translate_value(sides->out, value, " ");
            uspi_put_string(sides->out, "\n");
        }
    }
    if (sides->differences > before) uspi_put_string(sides->out, "\n");
}

/* ---- frames ---- */

static bool are_equal_places(const struct uspi_model_frame *a, const struct uspi_model_frame *b) {
    const bool is_located = uspi_model_is_located(a), has_address = (a->flags & USPI_FRAME_ADDRESS) != 0;
    if (is_located != uspi_model_is_located(b)) return false;
    if (is_located) return a->code->base == b->code->base && a->code->place == b->code->place;
    if (has_address != ((b->flags & USPI_FRAME_ADDRESS) != 0)) return false;
    return !has_address || a->code->address == b->code->address;
}

/* Whether two frames are of the same functions of the same image. Without names their offsets decide. */
static bool are_equal(const struct stack *a, size_t i, const struct stack *b, size_t k) {
    const struct uspi_model_frame *x = a->frames[i], *y = b->frames[k];
    if (x->code->source_count != y->code->source_count || !uspi_span_is(x->code->image, y->code->image)) return false;
    for (size_t n = 0; n < x->code->source_count; n++) {
        const struct uspi_model_source *p = &a->model->sources[x->code->source + n],
                                       *q = &b->model->sources[y->code->source + n];
        if (!uspi_span_is(p->function, q->function)) return false;
    }
    return x->code->source_count > 0 || are_equal_places(x, y);
}

static const struct uspi_model_source *source_of(const struct stack *stack, size_t i, size_t which) {
    const struct uspi_model_frame *frame = stack->frames[i];
    return frame->code->source_count > 0 ? &stack->model->sources[frame->code->source + which] : NULL;
}

static bool are_equal_lines(const struct uspi_model_source *a, const struct uspi_model_source *b) {
    return a->line == b->line && uspi_span_is(uspi_span_file_name(a->file), uspi_span_file_name(b->file));
}

/* Writes frame i of a stack. `other`: the frame that it is equal to, of whose lines those that differ are shown. */
static void put_frame(struct sides *sides, const char *mark, const struct stack *stack, size_t i,
                      const struct stack *other, size_t k) {
    const struct uspi_model_frame *frame = stack->frames[i];
    struct uspi_text *out = sides->out;
    for (size_t which = 0; which == 0 || which < frame->code->source_count; which++) {
        const struct uspi_model_source *source = source_of(stack, i, which);
        uspi_put_string(out, mark);
        const uint64_t begin = out->length;
        put_span(out, frame->code->image.length > 0 ? frame->code->image : USPI_SPAN("???"));
        uspi_put_blanks(out, out->length - begin, IMAGE_WIDTH);
        uspi_put_string(out, " ");
        if (source == NULL) {
            uspi_translate_function(out, stack->model, frame, which);
        } else {
            put_span(out, source->function);
            if ((source->flags & USP_SOURCE_INLINED) != 0) uspi_put_string(out, " [inlined]");
        }
        const struct uspi_model_source *changed = other != NULL ? source_of(other, k, which) : NULL;
        if (source != NULL && source->file.length > 0) {
            uspi_put_string(out, " (");
            uspi_translate_line(out, source);
            if (changed != NULL && changed->file.length > 0 && !are_equal_lines(source, changed)) {
                uspi_put_string(out, " -> ");
                uspi_translate_line(out, changed);
            }
            uspi_put_string(out, ")");
        }
        uspi_put_string(out, "\n");
    }
}

static void put_only(struct sides *sides, unsigned side, const struct stack *stack, size_t i) {
    sides->differences++;
    put_frame(sides, side == 0 ? "- " : "+ ", stack, i, NULL, 0);
}

/* Aligns frames `from` … `a_end` − 1 of one stack and `from` … `b_end` − 1 of the other by their longest common
 * subsequence, and writes them. Returns false when memory is exhausted or there are too many. */
static bool put_aligned(struct sides *sides, const struct stack *a, size_t a_end, const struct stack *b, size_t b_end,
                        size_t from) {
    const size_t rows = a_end - from, columns = b_end - from, width = columns + 1;
    if (rows >= CELLS_MAX / width) return false;
    uint32_t *common = calloc((rows + 1) * width, sizeof *common);
    if (common == NULL) return false;
    for (size_t i = rows; i-- > 0;) {
        for (size_t k = columns; k-- > 0;) {
            const uint32_t down = common[(i + 1) * width + k], right = common[i * width + k + 1];
            common[i * width + k] = are_equal(a, from + i, b, from + k) ? common[(i + 1) * width + k + 1] + 1
                                    : down > right                      ? down
                                                                        : right;
        }
    }
    for (size_t i = 0, k = 0; i < rows || k < columns;) {
        if (i < rows && k < columns && are_equal(a, from + i, b, from + k)) {
            put_frame(sides, "  ", a, from + i++, b, from + k);
            k++;
        } else if (k == columns || (i < rows && common[(i + 1) * width + k] >= common[i * width + k + 1])) {
            put_only(sides, 0, a, from + i++);
        } else {
            put_only(sides, 1, b, from + k++);
        }
    }
    free(common);
    return true;
}

/* Whether two stacks have equal frames; *lines: all source lines are equal, too. */
static bool are_equal_stacks(const struct stack *a, const struct stack *b, bool *lines) {
    *lines = true;
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++) {
        if (!are_equal(a, i, b, i)) return false;
        for (size_t which = 0; *lines && which < a->frames[i]->code->source_count; which++) {
            *lines = are_equal_lines(source_of(a, i, which), source_of(b, i, which));
        }
    }
    return true;
}

/* ---- stacks ---- */

static bool is_shown(const struct sides *sides, const struct uspi_model_thread *thread,
                     const struct uspi_model_frame *frame) {
    const bool is_tree = (thread->flags & USPI_THREAD_TREE) != 0 && !thread->is_stack;
    return (!is_tree || (frame->flags & USPI_MODEL_HEAVIEST) != 0) && uspi_shows_frame(sides->selection, frame);
}

/* Collects the stacks of a side. Returns false when memory is exhausted. */
static bool collect(const struct sides *sides, unsigned side, struct stacks *all) {
    const struct uspi_model *model = sides->models[side];
    const struct uspi_model_part *part = sides->parts[side];
    size_t frames = 0;
    for (size_t i = 0; i < part->thread_count; i++) frames += model->threads[part->thread + i].frame_count;
    all->stacks = calloc(part->thread_count + 1, sizeof *all->stacks);
    all->frames = calloc(frames + 1, sizeof *all->frames);
    if (all->stacks == NULL || all->frames == NULL) return false;
    const struct uspi_model_frame **next = all->frames;
    for (size_t i = 0; i < part->thread_count; i++) {
        const struct uspi_model_thread *thread = &model->threads[part->thread + i];
        if (!uspi_shows_thread(sides->selection, thread)) continue;
        struct stack *stack = &all->stacks[all->count++];
        *stack = (struct stack){.model = model, .thread = thread, .frames = next};
        for (size_t n = 0; n < thread->frame_count; n++) {
            const struct uspi_model_frame *frame = &model->frames[thread->frame + n];
            if (is_shown(sides, thread, frame)) stack->frames[stack->count++] = frame;
        }
        next += stack->count;
    }
    return true;
}

static void free_stacks(struct stacks *all) {
    free(all->stacks);
    free(all->frames);
}

/* What two stacks must have in common to be compared, the strictest first. */
enum match { MATCH_EQUAL, MATCH_CRASHED, MATCH_NAME, MATCH_NUMBER, MATCH_COUNT };

static bool has_crashed(const struct stack *stack) { return (stack->thread->flags & USPI_THREAD_CRASHED) != 0; }

static bool match(const struct stack *a, const struct stack *b, enum match by) {
    const struct uspi_model_thread *x = a->thread, *y = b->thread;
    bool lines;
    if (x->is_stack != y->is_stack) return false;
    switch (by) {
    case MATCH_EQUAL: return has_crashed(a) == has_crashed(b) && are_equal_stacks(a, b, &lines) && lines;
    case MATCH_CRASHED: return has_crashed(a) && has_crashed(b);
    case MATCH_NAME:
        return x->name.length + x->queue.length > 0 && uspi_span_is(x->name, y->name) &&
               uspi_span_is(x->queue, y->queue);
    default: return (x->flags & y->flags & USPI_THREAD_NUMBER) != 0 && x->number == y->number;
    }
}

static void put_title(struct sides *sides, const struct stack *stack) {
    uspi_translate_title(sides->out, stack->thread);
    if (stack->thread->is_stack || stack->thread->name.length + stack->thread->queue.length == 0) return;
    uspi_put_string(sides->out, " (");
    uspi_translate_name(sides->out, stack->thread);
    uspi_put_string(sides->out, ")");
}

static void compare_pair(struct sides *sides, const struct stack *a, const struct stack *b) {
    size_t from = 0, end = 0;
    while (from < a->count && from < b->count && are_equal(a, from, b, from)) from++;
    while (end < a->count - from && end < b->count - from && are_equal(a, a->count - 1 - end, b, b->count - 1 - end))
        end++;
    const size_t a_end = a->count - end, b_end = b->count - end;
    put_title(sides, a);
    uspi_put_string(sides->out, ":\n");
    for (size_t i = 0; i < from; i++) put_frame(sides, "  ", a, i, b, i);
    if (!put_aligned(sides, a, a_end, b, b_end, from)) {
        for (size_t i = from; i < a_end; i++) put_only(sides, 0, a, i);
        for (size_t k = from; k < b_end; k++) put_only(sides, 1, b, k);
    }
    for (size_t n = 0; n < end; n++) put_frame(sides, "  ", a, a_end + n, b, b_end + n);
    uspi_put_string(sides->out, "\n");
}

/* Writes a stack that only one side has. */
static void put_alone(struct sides *sides, unsigned side, const struct stack *stack) {
    begin_line(sides, side);
    put_title(sides, stack);
    uspi_put_string(sides->out, ":\n");
    for (size_t i = 0; i < stack->count; i++) put_only(sides, side, stack, i);
    uspi_put_string(sides->out, "\n");
}

/* Finds the first stack that was not compared and matches; NULL if there is none. Of the most threads that a process
 * can have each is tried once for each way, so a limit bounds the time. */
#define TRIED_MAX ((size_t)1 << 24)

static struct stack *find_match(struct stacks *all, const struct stack *stack, enum match by, size_t *tried) {
    while (all->first < all->count && all->stacks[all->first].is_used) all->first++;
    for (size_t i = all->first; i < all->count && *tried < TRIED_MAX; i++) {
        *tried += by == MATCH_EQUAL ? 1 + stack->count / 16 : 1;
        if (all->stacks[i].is_used) continue;
        if (match(stack, &all->stacks[i], by)) return &all->stacks[i];
    }
    return NULL;
}

static void compare_stacks(struct sides *sides, struct stacks *a, struct stacks *b) {
    size_t equal = 0, tried = 0;
    for (unsigned by = 0; by < MATCH_COUNT; by++) {
        for (size_t i = 0; i < a->count; i++) {
            struct stack *stack = &a->stacks[i];
            struct stack *other = stack->is_used ? NULL : find_match(b, stack, (enum match)by, &tried);
            if (other == NULL) continue;
            stack->is_used = other->is_used = true;
            equal += by == MATCH_EQUAL;
            bool lines;
            if (by == MATCH_EQUAL) continue;
            /* Equal functions with other lines are shown, but are not a difference of the stacks' form. */
            if (are_equal_stacks(stack, other, &lines)) sides->differences += !lines;
            compare_pair(sides, stack, other);
        }
    }
    for (size_t i = 0; i < a->count; i++) {
        if (!a->stacks[i].is_used) put_alone(sides, 0, &a->stacks[i]);
    }
    for (size_t i = 0; i < b->count; i++) {
        if (!b->stacks[i].is_used) put_alone(sides, 1, &b->stacks[i]);
    }
    if (equal == 0) return;
    uspi_put_decimal(sides->out, equal, 0);
    uspi_put_string(sides->out, equal == 1 ? " stack is equal in both.\n\n" : " stacks are equal in both.\n\n");
}

/* ---- images ---- */

static struct uspi_span name_of(const struct uspi_image_entry *image) {
    return image->name.length > 0 ? image->name : image->ident;
}

static int compare_entries(const void *a, const void *b) {
    const struct uspi_image_entry *const *x = a, *const *y = b;
    const int order = uspi_span_compare(name_of(*x), name_of(*y));
    if (order != 0) return order;
    const struct uspi_span p = {(const char *)(*x)->id, (*x)->id_size}, q = {(const char *)(*y)->id, (*y)->id_size};
    return uspi_span_compare(p, q);
}

/* Returns the images of a side in the order of names and ids; NULL when memory is exhausted. */
static const struct uspi_image_entry **sort_images(const struct sides *sides, unsigned side) {
    const struct uspi_model_part *part = sides->parts[side];
    const struct uspi_image_entry **sorted = calloc(part->image_count + 1, sizeof *sorted);
    if (sorted == NULL) return NULL;
    for (size_t i = 0; i < part->image_count; i++) sorted[i] = &sides->models[side]->images[part->image + i];
    qsort(sorted, part->image_count, sizeof *sorted, compare_entries);
    return sorted;
}

static void put_image(struct sides *sides, unsigned side, const struct uspi_image_entry *image) {
    begin_line(sides, side);
    put_span(sides->out, name_of(image));
    if (image->id_size > 0) {
        uspi_put_string(sides->out, " <");
        uspi_put_bytes(sides->out, image->id, image->id_size);
        uspi_put_string(sides->out, ">");
    }
    if (image->path.length > 0) uspi_put_string(sides->out, " ");
    put_span(sides->out, image->path);
    uspi_put_string(sides->out, "\n");
}

static bool compare_images(struct sides *sides) {
    const struct uspi_image_entry **a = sort_images(sides, 0), **b = sort_images(sides, 1);
    const size_t rows = sides->parts[0]->image_count, columns = sides->parts[1]->image_count;
    const uint64_t before = sides->differences;
    const bool is_sorted = a != NULL && b != NULL;
    for (size_t i = 0, k = 0; is_sorted && (i < rows || k < columns);) {
        const int order = i == rows ? 1 : k == columns ? -1 : compare_entries(&a[i], &b[k]);
        if (order != 0 && sides->differences == before) uspi_put_string(sides->out, "Binary Images:\n");
        if (order < 0) {
            put_image(sides, 0, a[i]);
        } else if (order > 0) {
            put_image(sides, 1, b[k]);
        }
        i += order <= 0;
        k += order >= 0;
    }
    if (sides->differences > before) uspi_put_string(sides->out, "\n");
    free(a);
    free(b);
    return is_sorted;
}

/* ---- reports ---- */

/* Returns the next part with threads at or after *at, and moves *at past it; NULL if there is none. */
static const struct uspi_model_part *next_part(const struct uspi_model *model, size_t *at) {
    while (*at < model->part_count) {
        const struct uspi_model_part *part = &model->parts[(*at)++];
        if (part->thread_count > 0) return part;
    }
    return NULL;
}

/* Counts the parts with threads. */
static uint64_t count_parts(const struct uspi_model *model) {
    uint64_t count = 0;
    for (size_t at = 0; next_part(model, &at) != NULL;) count++;
    return count;
}

bool uspi_model_compare(const struct uspi_model *a, const struct uspi_model *b,
                        const struct usp_report_options *selection, struct uspi_text *out) {
    struct sides sides = {.models = {a, b}, .selection = selection, .out = out};
    size_t at[2] = {0, 0};
    bool is_done = true;
    for (bool has_both = true; is_done && has_both;) {
        sides.parts[0] = next_part(a, &at[0]);
        sides.parts[1] = next_part(b, &at[1]);
        has_both = sides.parts[0] != NULL && sides.parts[1] != NULL;
        if (!has_both) break;
        if (out->length > 0) uspi_put_string(out, "----\n\n");
        struct stacks stacks[2] = {{.count = 0}, {.count = 0}};
        is_done = collect(&sides, 0, &stacks[0]) && collect(&sides, 1, &stacks[1]);
        if (is_done) {
            compare_fields(&sides);
            compare_stacks(&sides, &stacks[0], &stacks[1]);
            is_done = compare_images(&sides);
        }
        for (unsigned side = 0; side < 2; side++) free_stacks(&stacks[side]);
    }
    const uint64_t counts[2] = {count_parts(a), count_parts(b)};
    if (counts[0] != counts[1]) {
        begin_line(&sides, counts[0] > counts[1] ? 0 : 1);
        uspi_put_decimal(out, counts[0] > counts[1] ? counts[0] - counts[1] : counts[1] - counts[0], 0);
        uspi_put_string(out, " more reports\n");
    }
    if (is_done && sides.differences == 0) uspi_put_string(out, "No differences.\n");
    return is_done;
}
