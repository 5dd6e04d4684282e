/* SPDX-License-Identifier: MIT */
/* Lets a program read a profile: each stack with its totals, and the heaviest stack. */
#include "lib/profile/profile.h"

#include <stdlib.h>
#include <string.h>

/* Returns the number of frames in a node's path. */
static uint32_t depth_of(const struct usp_profile *clone, uint32_t node) {
    uint32_t depth = 1;
    while (uspi_node_ascend(clone, &node)) depth++;
    return depth;
}

/* Puts the path of a node into a stack, from the innermost frame on, as far as its capacity suffices. A node that
 * stands for frames that were left out sets stack->omitted instead. */
static void put_path(const struct usp_profile *clone, uint32_t node, struct usp_stack *stack) {
    bool goes_on = true;
    for (; goes_on && stack->count < stack->capacity; goes_on = uspi_node_ascend(clone, &node)) {
        if ((uspi_node(clone, node)->kind & USPI_NODE_OMITTED) != 0) {
            stack->omitted = 1;
            stack->omitted_at = stack->count;
        } else {
            stack->frames[stack->count++] = uspi_node_frame(clone, uspi_node(clone, node));
        }
    }
    stack->physical = stack->count;
    stack->arch = clone->options.arch;
    stack->stop = goes_on ? USP_STOP_CAPACITY : USP_STOP_ROOT;
    if (goes_on) stack->omitted = 1;
}

static int visit_totals(const struct usp_profile *clone, int (*visit)(void *, const struct usp_profile_entry *),
                        void *context) {
    struct usp_frame *frames = NULL;
    uint32_t capacity = 0;
    int result = USP_OK;
    for (uint32_t i = 0; result == USP_OK && i < clone->totals.begun; i++) {
        const struct uspi_total *total = uspi_total(clone, i);
        uint32_t depth = depth_of(clone, total->node);
        if (depth > capacity) {
            free(frames);
            capacity = depth * 2;
            frames = malloc(capacity * sizeof *frames);
            if (frames == NULL) return USP_ERROR_NO_MEMORY;
        }
        struct usp_stack stack;
        struct usp_thread_info info = uspi_profile_thread(clone, total->thread)->info;
        usp_stack_init(&stack, frames, capacity);
        put_path(clone, total->node, &stack);
        info.cpu_time = total->cpu;
        const struct usp_profile_entry entry = {
            .thread = &info, .stack = &stack, .samples = total->samples, .wall = total->wall, .cpu = total->cpu};
        result = visit(context, &entry);
    }
    free(frames);
    return result;
}

int usp_profile_visit(struct usp_profile *profile, int (*visit)(void *context, const struct usp_profile_entry *entry),
                      void *context) {
    if (profile == NULL || visit == NULL) return USP_ERROR_ARGUMENT;
    struct usp_profile *clone = uspi_profile_clone(profile);
    if (clone == NULL) return USP_ERROR_NO_MEMORY;
    int result = visit_totals(clone, visit, context);
    usp_profile_free(clone);
    return result;
}

/* ---- the heaviest stack ---- */

static uint64_t value_of(const struct uspi_total *total, uint32_t value) {
    return value == USP_PROFILE_WALL ? total->wall : value == USP_PROFILE_CPU ? total->cpu : total->samples;
}

/* Returns for each node the sum over its own samples and those of its callees. *all: the sum over all samples. */
static uint64_t *add_up(const struct usp_profile *clone, uint64_t thread, uint32_t value, uint64_t *all) {
    uint64_t *sums = calloc((size_t)clone->nodes.begun + 1, sizeof *sums);
    *all = 0;
    for (uint32_t i = 0; sums != NULL && i < clone->totals.begun; i++) {
        const struct uspi_total *total = uspi_total(clone, i);
        if (thread != 0 && uspi_profile_thread(clone, total->thread)->info.thread.id != thread) continue;
        uint64_t amount = value_of(total, value);
        *all += amount;
        uint32_t node = total->node;
        do sums[node] += amount;
        while (uspi_node_ascend(clone, &node));
    }
    return sums;
}

/* Returns the callee of `parent` with the largest sum; USPI_NONE if no callee has any. Subtracts the callees' sums from
 * *left, which becomes the parent's own amount. */
static uint32_t heaviest_callee(const struct usp_profile *clone, const uint64_t *sums, uint32_t parent,
                                uint64_t *left) {
    uint32_t best = USPI_NONE;
    for (uint32_t i = 0; i < clone->nodes.begun; i++) {
        if (uspi_node(clone, i)->parent != parent || sums[i] == 0) continue;
        *left -= sums[i];
        if (best == USPI_NONE || sums[i] > sums[best]) best = i;
    }
    return best;
}

static int descend_heaviest(const struct usp_profile *clone, const uint64_t *sums, uint64_t all, uint32_t *node) {
    uint64_t left = all;
    *node = heaviest_callee(clone, sums, USPI_NONE, &left);
    if (*node == USPI_NONE) return USP_ERROR_NOT_FOUND;
    for (;;) {
        left = sums[*node];
        uint32_t next = heaviest_callee(clone, sums, *node, &left);
        if (next == USPI_NONE || sums[next] <= left) return USP_OK;
        *node = next;
    }
}

int uspi_profile_find_heaviest(const struct usp_profile *clone, uint64_t thread, uint32_t value, uint32_t *node,
                               uint32_t *share) {
    uint64_t all, *sums = add_up(clone, thread, value, &all);
    int status = sums != NULL ? descend_heaviest(clone, sums, all, node) : USP_ERROR_NO_MEMORY;
    if (status == USP_OK) *share = (uint32_t)((double)sums[*node] * 1000 / (double)all);
    free(sums);
    return status;
}

int usp_profile_heaviest(struct usp_profile *profile, uint64_t thread, uint32_t value, struct usp_stack *stack,
                         uint32_t *share) {
    uint32_t node, part = 0;
    if (profile == NULL || stack == NULL || value > USP_PROFILE_CPU) return USP_ERROR_ARGUMENT;
    usp_stack_init(stack, stack->frames, stack->capacity);
    struct usp_profile *clone = uspi_profile_clone(profile);
    int status = clone != NULL ? uspi_profile_find_heaviest(clone, thread, value, &node, &part) : USP_ERROR_NO_MEMORY;
    if (status == USP_OK) {
        put_path(clone, node, stack);
        if (stack->stop == USP_STOP_CAPACITY) status = USP_ERROR_FULL;
    }
    if (share != NULL) *share = part;
    usp_profile_free(clone);
    return status;
}

int uspi_profile_marked(const struct usp_profile *clone, struct usp_stack *stack) {
    if (clone->marked == USPI_NONE) return USP_ERROR_NOT_FOUND;
    uint32_t depth = depth_of(clone, clone->marked);
    struct usp_frame *frames = malloc(depth * sizeof *frames);
    if (frames == NULL) return USP_ERROR_NO_MEMORY;
    usp_stack_init(stack, frames, depth);
    put_path(clone, clone->marked, stack);
    return USP_OK;
}
