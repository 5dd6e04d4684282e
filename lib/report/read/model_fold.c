/* SPDX-License-Identifier: MIT */
/* Merges samples, each a stack of its own, into a tree for each thread. Each node is a function, with the number of
 * samples that contain it.
 *
 * Nothing is hashed, so no text can make this slow. Frames get numbers by sorting their labels, and samples
 * are sorted by these numbers, from the outermost frame on. Frames that neighbouring samples have in common become
 * nodes. */
#include "lib/report/read/model.h"

#include <stdlib.h>

struct sample {
    size_t thread; /* index in the model */
    size_t group;  /* the first thread with the same name and id */
    const size_t *numbers;
    size_t count; /* number of frames; the outermost is the last */
};

struct node {
    size_t parent; /* number of the parent node; 0: the tree's root, which is not a frame */
    size_t frame;  /* one of the frames that it stands for */
    size_t number; /* number of the label */
    uint64_t count;
    bool has_address; /* all its frames have the same address */
};

struct fold {
    struct uspi_model *model;
    size_t *numbers; /* the number of each frame's label */
    struct sample *samples;
    size_t sample_count;
    struct node *nodes; /* numbered from 1 */
    size_t node_count;
    size_t *open;   /* the nodes around the current one; in put_nodes: positions in `sorted` */
    size_t *sorted; /* nodes, sorted by parent, then the heaviest first */
    size_t *first;  /* for each node, where its children begin in `sorted` */
};

/* ---- labels ---- */

static struct uspi_span label_of(const struct uspi_model *model, const struct uspi_model_frame *frame) {
    if (frame->code->source_count == 0) return (struct uspi_span){"", 0};
    return model->sources[frame->code->source + frame->code->source_count - 1].function;
}

static int compare_numbers(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static int compare_labels(const struct uspi_model *model, const struct uspi_model_frame *a,
                          const struct uspi_model_frame *b) {
    const struct uspi_span x = label_of(model, a), y = label_of(model, b);
    int order = uspi_span_compare(x, y);
    if (order == 0) order = uspi_span_compare(a->code->image, b->code->image);
    /* Frames without a name are distinguished by their addresses. */
    if (order == 0 && x.length == 0) order = compare_numbers(a->code->address, b->code->address);
    return order;
}

/* An element to be sorted. The function that qsort calls gets nothing else, so it contains the model. */
struct labelled {
    const struct uspi_model *model;
    size_t frame;
};

static int compare_labelled(const void *a, const void *b) {
    const struct labelled *x = a, *y = b;
    int order = compare_labels(x->model, &x->model->frames[x->frame], &y->model->frames[y->frame]);
    return order != 0 ? order : compare_numbers(x->frame, y->frame);
}

bool uspi_model_number_frames(const struct uspi_model *model, size_t *numbers) {
    struct labelled *frames = calloc(model->frame_count + 1, sizeof *frames);
    if (frames == NULL) return false;
    for (size_t i = 0; i < model->frame_count; i++) frames[i] = (struct labelled){model, i};
    qsort(frames, model->frame_count, sizeof *frames, compare_labelled);
    for (size_t i = 0, number = 0; i < model->frame_count; i++) {
        const struct uspi_model_frame *frame = &model->frames[frames[i].frame];
        if (i > 0 && compare_labels(model, &model->frames[frames[i - 1].frame], frame) != 0) number++;
        numbers[frames[i].frame] = number;
    }
    free(frames);
    return true;
}

/* ---- samples ---- */

struct named {
    const struct uspi_model_thread *threads;
    size_t thread;
};

static int compare_threads(const struct uspi_model_thread *a, const struct uspi_model_thread *b) {
    int order = compare_numbers(a->id, b->id);
    return order != 0 ? order : uspi_span_compare(a->name, b->name);
}

static int compare_named(const void *a, const void *b) {
    const struct named *x = a, *y = b;
    int order = compare_threads(&x->threads[x->thread], &y->threads[y->thread]);
    return order != 0 ? order : compare_numbers(x->thread, y->thread);
}

static int compare_samples(const void *a, const void *b) {
    const struct sample *x = a, *y = b;
    int order = compare_numbers(x->group, y->group);
    for (size_t i = 1; order == 0 && i <= x->count && i <= y->count; i++) {
        order = compare_numbers(x->numbers[x->count - i], y->numbers[y->count - i]);
    }
    return order != 0 ? order : compare_numbers(x->count, y->count);
}

/* Collects the samples of a report; those of a thread are adjacent. */
static bool gather_samples(struct fold *fold, const struct uspi_model_part *part) {
    const struct uspi_model *model = fold->model;
    struct named *threads = calloc(part->thread_count, sizeof *threads);
    size_t count = 0;
    if (threads == NULL) return false;
    for (size_t i = 0; i < part->thread_count; i++) {
        if ((model->threads[part->thread + i].flags & USPI_THREAD_SAMPLE) == 0) continue;
        threads[count++] = (struct named){model->threads, part->thread + i};
    }
    qsort(threads, count, sizeof *threads, compare_named);
    for (size_t i = 0, group = 0; i < count; i++) {
        const struct uspi_model_thread *thread = &model->threads[threads[i].thread];
        bool is_same = i > 0 && compare_threads(&model->threads[group], thread) == 0;
        if (!is_same) group = threads[i].thread;
        fold->samples[i] =
            (struct sample){threads[i].thread, group, fold->numbers + thread->frame, thread->frame_count};
    }
    fold->sample_count = count;
    qsort(fold->samples, count, sizeof *fold->samples, compare_samples);
    free(threads);
    return true;
}

/* ---- trees ---- */

/* Builds the nodes of a thread from its samples: `count` elements from `samples` on. */
static void build_nodes(struct fold *fold, const struct sample *samples, size_t count) {
    const struct uspi_model *model = fold->model;
    size_t depth = 0;
    fold->node_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sample *sample = &samples[i];
        size_t level = 0;
        while (level < depth && level < sample->count &&
               fold->nodes[fold->open[level]].number == sample->numbers[sample->count - 1 - level]) {
            level++;
        }
        depth = level;
        for (size_t k = 0; k < sample->count; k++) {
            size_t frame = model->threads[sample->thread].frame + sample->count - 1 - k;
            if (k < depth) {
                struct node *node = &fold->nodes[fold->open[k]];
                node->count++;
                node->has_address =
                    node->has_address && model->frames[node->frame].code->address == model->frames[frame].code->address;
                continue;
            }
            size_t parent = k > 0 ? fold->open[k - 1] : 0;
            fold->nodes[++fold->node_count] = (struct node){parent, frame, fold->numbers[frame], 1, true};
            fold->open[k] = fold->node_count;
        }
        depth = sample->count;
    }
}

struct child {
    const struct node *nodes;
    size_t node;
};

static int compare_children(const void *a, const void *b) {
    const struct child *x = a, *y = b;
    int order = compare_numbers(x->nodes[x->node].parent, y->nodes[y->node].parent);
    if (order == 0) order = compare_numbers(y->nodes[y->node].count, x->nodes[x->node].count);
    return order != 0 ? order : compare_numbers(x->node, y->node);
}

static bool sort_children(struct fold *fold) {
    struct child *children = calloc(fold->node_count, sizeof *children);
    if (children == NULL) return false;
    for (size_t i = 0; i < fold->node_count; i++) children[i] = (struct child){fold->nodes, i + 1};
    qsort(children, fold->node_count, sizeof *children, compare_children);
    size_t at = 0;
    for (size_t node = 0; node <= fold->node_count; node++) {
        fold->first[node] = at;
        for (; at < fold->node_count && fold->nodes[children[at].node].parent == node; at++) {
            fold->sorted[at] = children[at].node;
        }
    }
    fold->first[fold->node_count + 1] = at;
    free(children);
    return true;
}

static void put_node(const struct fold *fold, size_t number, size_t depth, struct uspi_model_frame *frame) {
    const struct node *node = &fold->nodes[number];
    *frame = fold->model->frames[node->frame];
    frame->flags |= USPI_FRAME_NODE;
    frame->depth = depth < UINT32_MAX ? (uint32_t)depth : UINT32_MAX;
    frame->count = node->count;
    if (node->has_address) return;
    /* The node stands for several places in a function. */
    frame->flags &= ~((uint32_t)USPI_FRAME_ADDRESS | (uint32_t)USPI_MODEL_LOCATED | (uint32_t)USPI_MODEL_HAS_OFFSET);
}

/* Writes the nodes in the order of a tree, parents before their children. Returns how many there are. */
static size_t put_nodes(const struct fold *fold, struct uspi_model_frame *frames) {
    size_t depth = 0, count = 0;
    /* open[depth] is the position in `sorted` of the next node at that depth. */
    fold->open[0] = fold->first[0];
    for (;;) {
        const size_t around = depth > 0 ? fold->sorted[fold->open[depth - 1] - 1] : 0;
        if (fold->open[depth] == fold->first[around + 1]) {
            if (depth == 0) return count;
            depth--;
            continue;
        }
        size_t node = fold->sorted[fold->open[depth]++];
        put_node(fold, node, depth, &frames[count++]);
        fold->open[++depth] = fold->first[node];
    }
}

/* ---- the model ---- */

/* The threads and frames that replace those of the model. */
struct folded {
    struct uspi_model_thread *threads;
    struct uspi_model_frame *frames;
    size_t thread_count, frame_count;
};

static bool put_samples(struct fold *fold, size_t *sample, struct folded *folded, struct uspi_model_thread *thread) {
    const size_t first = *sample;
    while (*sample < fold->sample_count && fold->samples[*sample].group == fold->samples[first].group) ++*sample;
    build_nodes(fold, &fold->samples[first], *sample - first);
    if (fold->node_count > 0 && !sort_children(fold)) return false;
    thread->flags = (thread->flags & ~(uint32_t)USPI_THREAD_SAMPLE) | USPI_THREAD_TREE;
    thread->frame_count = fold->node_count > 0 ? put_nodes(fold, folded->frames + folded->frame_count) : 0;
    return true;
}

static bool fold_part(struct fold *fold, struct uspi_model_part *part, struct folded *folded) {
    const struct uspi_model *model = fold->model;
    const size_t first = folded->thread_count;
    size_t sample = 0;
    if (part->thread_count > 0 && !gather_samples(fold, part)) return false;
    for (size_t i = part->thread; i < part->thread + part->thread_count; i++) {
        const struct uspi_model_thread *from = &model->threads[i];
        bool is_sample = (from->flags & USPI_THREAD_SAMPLE) != 0;
        /* The tree takes the place of its thread's first sample. */
        if (is_sample && (sample == fold->sample_count || fold->samples[sample].group != i)) continue;
        struct uspi_model_thread *thread = &folded->threads[folded->thread_count++];
        *thread = *from;
        thread->frame = folded->frame_count;
        if (is_sample) {
            if (!put_samples(fold, &sample, folded, thread)) return false;
        } else if (from->frame_count > 0) {
            memcpy(folded->frames + folded->frame_count, model->frames + from->frame,
                   from->frame_count * sizeof *folded->frames);
        }
        folded->frame_count += thread->frame_count;
    }
    part->thread = first;
    part->thread_count = folded->thread_count - first;
    return true;
}

static bool fold_parts(struct fold *fold, struct folded *folded) {
    struct uspi_model *model = fold->model;
    if (!uspi_model_number_frames(model, fold->numbers)) return false;
    for (size_t i = 0; i < model->part_count; i++) {
        if (!fold_part(fold, &model->parts[i], folded)) return false;
    }
    return true;
}

bool uspi_model_fold(struct uspi_model *model) {
    struct fold fold = {.model = model};
    struct folded folded = {.threads = NULL};
    bool has_samples = false;
    size_t most = 0;
    for (size_t i = 0; i < model->thread_count; i++) {
        has_samples = has_samples || (model->threads[i].flags & USPI_THREAD_SAMPLE) != 0;
        if (model->threads[i].frame_count > most) most = model->threads[i].frame_count;
    }
    if (!has_samples || most == 0) return true;
    fold.numbers = calloc(model->frame_count, sizeof *fold.numbers);
    fold.samples = calloc(model->thread_count, sizeof *fold.samples);
    fold.nodes = calloc(model->frame_count + 1, sizeof *fold.nodes);
    fold.sorted = calloc(model->frame_count, sizeof *fold.sorted);
    fold.first = calloc(model->frame_count + 2, sizeof *fold.first);
    fold.open = calloc(most + 2, sizeof *fold.open);
    folded.threads = calloc(model->thread_count, sizeof *folded.threads);
    folded.frames = calloc(model->frame_count, sizeof *folded.frames);
    bool has_memory = fold.numbers != NULL && fold.samples != NULL && fold.nodes != NULL && fold.sorted != NULL &&
                      fold.first != NULL && fold.open != NULL && folded.threads != NULL && folded.frames != NULL;
    bool is_folded = has_memory && fold_parts(&fold, &folded);
    if (is_folded) {
        free(model->threads);
        free(model->frames);
        model->threads = folded.threads;
        model->frames = folded.frames;
        model->thread_count = model->thread_capacity = folded.thread_count;
        model->frame_count = model->frame_capacity = folded.frame_count;
    } else {
        free(folded.threads);
        free(folded.frames);
    }
    free(fold.numbers);
    free(fold.samples);
    free(fold.nodes);
    free(fold.sorted);
    free(fold.first);
    free(fold.open);
    return is_folded;
}
