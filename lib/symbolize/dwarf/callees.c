/* SPDX-License-Identifier: MIT */
/* See calls.h: finds the functions to which call sites refer. */
#include "lib/base/bisect.h"
#include "lib/symbolize/dwarf/reader.h"

static int by_text(const void *a, const void *b) {
    const struct uspi_dwarf_root_name *x = a, *y = b;
    if (x->text != y->text) return x->text < y->text ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Sorts the functions by name. Returns false when memory is exhausted. */
static bool sort_names(struct uspi_dwarf_reader *reader) {
    struct uspi_dwarf_calls *calls = &reader->calls;
    if (!uspi_room_for(&calls->names, &calls->name_capacity, 0, calls->root_count, sizeof *calls->names)) return false;
    for (size_t i = 0; i < calls->root_count; i++) {
        const struct uspi_dwarf_root *root = &calls->roots[i];
        calls->names[i] = (struct uspi_dwarf_root_name){reader->function_texts[root->function - 1], root->node};
    }
    qsort(calls->names, calls->root_count, sizeof *calls->names, by_text);
    return true;
}

/* Returns the function with code that an entry describes; NULL: none. */
static const struct uspi_dwarf_root *root_at(const struct uspi_dwarf_calls *calls, uint64_t offset) {
    size_t i;
    USPI_FIRST(i, 0, calls->root_count, calls->roots[i].offset >= offset);
    return i < calls->root_count && calls->roots[i].offset == offset ? &calls->roots[i] : NULL;
}

/* Counts the functions with code that have a name, up to 2. *node becomes the first one's. Names are compared as
 * references: a declaration and its definition refer to the same string. */
static unsigned count_named(const struct uspi_dwarf_calls *calls, uint64_t text, uint32_t *node) {
    size_t i;
    USPI_FIRST(i, 0, calls->root_count, calls->names[i].text >= text);
    unsigned count = 0;
    for (; i < calls->root_count && calls->names[i].text == text && count < 2; i++) {
        if (count == 0 || calls->names[i].node != *node) count++;
        if (count == 1) *node = calls->names[i].node;
    }
    return count;
}

/* Finds the function that an entry describes. It stays unknown if it has no code in the unit and other units cannot see
 * it. Then only its name is known, and other units can have functions of the same name. */
static void identify(struct uspi_dwarf_reader *reader, struct uspi_dwarf_callee *callee) {
    struct uspi_dwarf_calls *calls = &reader->calls;
    const struct uspi_dwarf_root *root = callee->file == reader->source.file ? root_at(calls, callee->offset) : NULL;
    if (root != NULL) {
        callee->node = root->node;
        return;
    }
    struct uspi_dwarf_found found = {0};
    uspi_dwarf_follow(reader, callee->file, callee->offset, &found);
    const uint64_t text = found.linkage != 0 ? found.linkage : found.name;
    if (text == 0) return;
    uint32_t node = 0;
    const unsigned count = count_named(calls, text, &node);
    if (count == 1) callee->node = node;
    if (count == 0 && found.is_visible) callee->text = text;
}

bool uspi_dwarf_give_calls(struct uspi_dwarf_reader *reader) {
    struct uspi_dwarf_calls *calls = &reader->calls;
    if (calls->site_count > 0 && !sort_names(reader)) return false;
    for (size_t i = 0; i < calls->callee_count; i++) identify(reader, &calls->callees[i]);
    for (size_t i = 0; i < calls->site_count; i++) {
        const struct uspi_dwarf_site *site = &calls->sites[i];
        const struct uspi_dwarf_callee *callee = &calls->callees[site->callee - 1];
        struct uspi_dwarf_root *root = &calls->roots[site->root - 1];
        if (callee->node == 0 && callee->text == 0) {
            if (site->is_tail) root->has_unknown_callee = true;
            continue;
        }
        const struct uspi_built_call call = {.address = site->address,
                                             .text = callee->text,
                                             .from = root->node,
                                             .to = callee->node,
                                             .is_tail = site->is_tail,
                                             .is_start = site->is_start};
        uspi_builder_call(reader->builder, &call);
    }
    for (size_t i = 0; i < calls->root_count; i++) {
        const struct uspi_dwarf_root *root = &calls->roots[i];
        if (root->knows_tail_calls && !root->has_unknown_callee)
            uspi_builder_know_tail_calls(reader->builder, root->node);
    }
    return true;
}
