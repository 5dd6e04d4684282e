/* SPDX-License-Identifier: MIT */
/* See block_write.h: chooses and sorts the calls that a block keeps. Frames are inferred only where a call leads to a
 * function whose tail calls are all known. So a call of a function in the block is kept if that function makes tail
 * calls, all of which are known. Tail calls are kept if all those of their function are known. The builder knows
 * nothing about functions outside the block. */
#include "lib/base/bisect.h"
#include "lib/base/merge_sort.h"
#include "lib/symbolize/lines/block_write.h"

#include <string.h>

static int by_number(uint64_t x, uint64_t y) { return (x > y) - (x < y); }

/* Orders calls by address; at the same address, by callee. */
static int by_address(const void *a, const void *b) {
    const struct uspi_built_call *x = a, *y = b;
    if (x->address != y->address) return by_number(x->address, y->address);
    if (x->is_start != y->is_start) return x->is_start ? 1 : -1;
    return x->to != y->to ? by_number(x->to, y->to) : by_number(x->text, y->text);
}

/* A uspi_before function. */
static bool is_before(const void *a, const void *b) { return by_address(a, b) < 0; }

static int by_function(const void *a, const void *b) {
    const struct uspi_built_call *x = a, *y = b;
    return x->from != y->from ? by_number(x->from, y->from) : by_address(a, b);
}

static int by_value(const void *a, const void *b) { return by_number(*(const uint64_t *)a, *(const uint64_t *)b); }

static bool is_one_place(const struct uspi_built_call *x, const struct uspi_built_call *y) {
    return x->from == y->from && x->address == y->address && x->is_start == y->is_start;
}

/* Finds the part with which the function of each node begins. Returns false when memory is exhausted. */
static bool find_first_parts(struct uspi_builder *b) {
    const size_t count = b->nodes.count + 1;
    if (!uspi_room_for(&b->first_parts.all, &b->first_parts.capacity, 0, count, sizeof *b->first_parts.all))
        return false;
    memset(b->first_parts.all, 0, count * sizeof *b->first_parts.all);
    for (size_t i = b->parts.count; i-- > 0;) {
        if (!b->parts.all[i].is_cold) b->first_parts.all[b->parts.all[i].node] = (uint32_t)(i + 1);
    }
    return true;
}

static bool has_callee(const struct uspi_builder *b, const struct uspi_built_call *call) {
    return call->to != 0 ? b->first_parts.all[call->to] != 0 : call->text != 0;
}

/* Keeps the tail calls of functions whose tail calls are all known, each once. Two different callees at one address
 * make a function's tail calls unknown. */
static void choose_tail_calls(struct uspi_builder *b) {
    struct uspi_built_call *all = b->tail_calls.all;
    size_t kept = 0;
    if (b->tail_calls.count > 1) qsort(all, b->tail_calls.count, sizeof *all, by_function);
    for (size_t i = 0; i < b->tail_calls.count; i++) {
        const bool contradicts = i > 0 && is_one_place(&all[i], &all[i - 1]) && by_address(&all[i], &all[i - 1]) != 0;
        const bool is_known = !contradicts && has_callee(b, &all[i]) && b->first_parts.all[all[i].from] != 0;
        if (!is_known) b->nodes.all[all[i].from - 1].knows_tail_calls = false;
    }
    for (size_t i = 0; i < b->tail_calls.count; i++) {
        const bool is_again = kept > 0 && by_function(&all[i], &all[kept - 1]) == 0;
        if (b->nodes.all[all[i].from - 1].knows_tail_calls && !is_again) all[kept++] = all[i];
    }
    b->tail_calls.count = kept;
}

/* Returns whether a function is known to make tail calls. */
static bool makes_tail_calls(const struct uspi_builder *b, uint32_t node) {
    size_t i;
    USPI_FIRST(i, 0, b->tail_calls.count, b->tail_calls.all[i].from >= node);
    return i < b->tail_calls.count && b->tail_calls.all[i].from == node;
}

/* Keeps the other calls from which frames can be inferred. Returns false when memory is exhausted. */
static bool choose_other_calls(struct uspi_builder *b) {
    struct uspi_built_call *all = b->calls.all;
    size_t kept = 0;
    void *spare = uspi_builder_scratch(b, b->calls.count * sizeof *all);
    if (spare == NULL) return false;
    uspi_merge_sort(all, spare, b->calls.count, sizeof *all, is_before);
    for (size_t i = 0, end; i < b->calls.count; i = end) {
        for (end = i + 1; end < b->calls.count && all[end].address == all[i].address; end++) continue;
        const bool is_one = by_address(&all[i], &all[end - 1]) == 0 && has_callee(b, &all[i]) && !all[i].is_start;
        if (is_one && (all[i].to == 0 || makes_tail_calls(b, all[i].to))) all[kept++] = all[i];
    }
    b->calls.count = kept;
    return true;
}

/* Returns the position of a name among the callees' names, from 0. */
static uint32_t place_of(const struct uspi_builder *b, uint64_t text) {
    size_t i;
    USPI_FIRST(i, 0, b->callees.count, b->callees.all[i] >= text);
    return (uint32_t)i;
}

static bool gather_callees(struct uspi_builder *b, const struct uspi_built_call *calls, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (calls[i].to != 0) continue;
        if (!uspi_room_for(&b->callees.all, &b->callees.capacity, b->callees.count, 1, sizeof *b->callees.all))
            return false;
        b->callees.all[b->callees.count++] = calls[i].text;
    }
    return true;
}

/* Replaces nodes by parts, and names by numbers after the parts. */
static void number_functions(const struct uspi_builder *b, struct uspi_built_call *calls, size_t count) {
    for (size_t i = 0; i < count; i++) {
        calls[i].from = b->first_parts.all[calls[i].from];
        calls[i].to = calls[i].to != 0 ? b->first_parts.all[calls[i].to]
                                       : (uint32_t)b->parts.count + 1 + place_of(b, calls[i].text);
    }
}

bool uspi_block_choose_calls(struct uspi_builder *b) {
    if (!find_first_parts(b)) return false;
    choose_tail_calls(b);
    if (!choose_other_calls(b)) return false;
    if (!gather_callees(b, b->calls.all, b->calls.count)) return false;
    if (!gather_callees(b, b->tail_calls.all, b->tail_calls.count)) return false;
    size_t kept = 0;
    if (b->callees.count > 1) qsort(b->callees.all, b->callees.count, sizeof *b->callees.all, by_value);
    for (size_t i = 0; i < b->callees.count; i++) {
        if (kept == 0 || b->callees.all[i] != b->callees.all[kept - 1]) b->callees.all[kept++] = b->callees.all[i];
    }
    b->callees.count = kept;
    number_functions(b, b->calls.all, b->calls.count);
    number_functions(b, b->tail_calls.all, b->tail_calls.count);
    if (b->tail_calls.count > 1) qsort(b->tail_calls.all, b->tail_calls.count, sizeof *b->tail_calls.all, by_function);
    return true;
}
