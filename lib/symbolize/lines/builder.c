/* SPDX-License-Identifier: MIT */
/* See builder.h. Gathers and sorts what is added, and combines the ranges of nodes with the rows. block_write.c makes
 * the bytes. */
#include "lib/symbolize/lines/builder.h"

#include "lib/base/merge_sort.h"
#include "lib/symbolize/lines/block_write.h"
#include "lib/symbolize/lines/strings.h"

#include <string.h>

struct uspi_builder *uspi_builder_create(void) { return calloc(1, sizeof(struct uspi_builder)); }

void uspi_builder_free(struct uspi_builder *b) {
    if (b == NULL) return;
    void *const all[] = {b->folders.all, b->files.all,       b->functions.all, b->sites.all,   b->nodes.all,
                         b->ranges.all,  b->parts.all,       b->aliases.all,   b->calls.all,   b->tail_calls.all,
                         b->callees.all, b->first_parts.all, b->rows.all,      b->entries.all, b->open.all,
                         b->scratch,     b->text.all,        b->bytes.all,     b->hash,        b->numbers};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
    free(b);
}

/* Adds an element to one of the builder's arrays. Gives NULL when memory is exhausted. */
#define ADD(b, array)                                                                                                  \
    (uspi_room_for(&(b)->array.all, &(b)->array.capacity, (b)->array.count, 1, sizeof *(b)->array.all)                 \
         ? &(b)->array.all[(b)->array.count++]                                                                         \
         : ((b)->is_out_of_memory = true, NULL))

void uspi_builder_reset(struct uspi_builder *b) {
    b->folders.count = b->files.count = b->functions.count = b->sites.count = b->nodes.count = 0;
    b->ranges.count = b->parts.count = b->aliases.count = b->rows.count = b->entries.count = 0;
    b->open.count = b->text.count = b->bytes.count = 0;
    b->calls.count = b->tail_calls.count = b->callees.count = 0;
    b->is_out_of_memory = false;
    b->hashed = 0;
    if (b->hash_size > 0) memset(b->hash, 0, b->hash_size * sizeof *b->hash);
    /* After a unit that is much larger than the others, these must not take long to clear its table. */
    if (b->hash_size > HASH_KEPT) {
        free(b->hash);
        b->hash = NULL;
        b->hash_size = 0;
    }
}

/* ---- elements without duplicates ---- */

enum table { FOLDERS = 1, FILES, SITES, NODES };

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t h = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 29;
}

static uint64_t hash_entry(const struct uspi_builder *b, uint32_t slot) {
    const uint32_t i = slot & SLOT_NUMBER;
    switch ((enum table)(slot >> SLOT_SHIFT)) {
    case FOLDERS: return mix(FOLDERS, b->folders.all[i]);
    case FILES: return mix(mix(FILES, b->files.all[i].folder), b->files.all[i].name);
    case SITES: {
        const struct uspi_call *c = &b->sites.all[i];
        return mix(mix(SITES, (uint64_t)c->function << 32 | c->file), (uint64_t)c->line << 32 | c->column);
    }
    case NODES: break;
    }
    return mix(mix(NODES, b->nodes.all[i].caller), b->nodes.all[i].site);
}

static bool equal_entries(const struct uspi_builder *b, uint32_t x, uint32_t y) {
    if (x >> SLOT_SHIFT != y >> SLOT_SHIFT) return false;
    const uint32_t i = x & SLOT_NUMBER, k = y & SLOT_NUMBER;
    switch ((enum table)(x >> SLOT_SHIFT)) {
    case FOLDERS: return b->folders.all[i] == b->folders.all[k];
    case FILES: return b->files.all[i].folder == b->files.all[k].folder && b->files.all[i].name == b->files.all[k].name;
    case SITES: {
        const struct uspi_call *c = &b->sites.all[i], *d = &b->sites.all[k];
        return c->function == d->function && c->file == d->file && c->line == d->line && c->column == d->column;
    }
    case NODES: break;
    }
    return b->nodes.all[i].caller == b->nodes.all[k].caller && b->nodes.all[i].site == b->nodes.all[k].site;
}

static bool grow_hash(struct uspi_builder *b) {
    const size_t size = b->hash_size == 0 ? 1024 : b->hash_size * 2;
    uint32_t *grown = calloc(size, sizeof *grown);
    if (grown == NULL) return false;
    for (size_t i = 0; i < b->hash_size; i++) {
        if (b->hash[i] == 0) continue;
        size_t at = (size_t)hash_entry(b, b->hash[i]) & (size - 1);
        while (grown[at] != 0) at = (at + 1) & (size - 1);
        grown[at] = b->hash[i];
    }
    free(b->hash);
    b->hash = grown;
    b->hash_size = size;
    return true;
}

/* Removes the last element of a table if an equal one exists. Returns the number, from 0, of the element that is
 * kept. */
static uint32_t keep_once(struct uspi_builder *b, enum table table, size_t *count) {
    const uint32_t slot = (uint32_t)table << SLOT_SHIFT | (uint32_t)(*count - 1);
    if (*count > SLOT_NUMBER || (b->hashed * 2 >= b->hash_size && !grow_hash(b))) {
        b->is_out_of_memory = true;
        return 0;
    }
    size_t at = (size_t)hash_entry(b, slot) & (b->hash_size - 1);
    while (b->hash[at] != 0) {
        if (equal_entries(b, b->hash[at], slot)) {
            --*count;
            return b->hash[at] & SLOT_NUMBER;
        }
        at = (at + 1) & (b->hash_size - 1);
    }
    b->hash[at] = slot;
    b->hashed++;
    return (uint32_t)(*count - 1);
}

uint64_t uspi_builder_text(struct uspi_builder *b, const char *text, size_t length) {
    if (length == 0) return 0;
    if (!uspi_room_for(&b->text.all, &b->text.capacity, b->text.count, length + 1, 1)) {
        b->is_out_of_memory = true;
        return 0;
    }
    const size_t at = b->text.count;
    memcpy(b->text.all + at, text, length);
    b->text.all[at + length] = 0;
    b->text.count += length + 1;
    return uspi_text_reference(USPI_TEXT_BLOCK, at);
}

uint32_t uspi_builder_folder(struct uspi_builder *b, uint64_t text) {
    uint64_t *added = ADD(b, folders);
    if (added == NULL) return 0;
    *added = text;
    return keep_once(b, FOLDERS, &b->folders.count) + 1;
}

uint32_t uspi_builder_file(struct uspi_builder *b, uint32_t folder, uint64_t name) {
    struct uspi_built_file *added = ADD(b, files);
    if (added == NULL) return 0;
    *added = (struct uspi_built_file){folder, name};
    return keep_once(b, FILES, &b->files.count) + 1;
}

uint32_t uspi_builder_function(struct uspi_builder *b, uint64_t name, uint32_t file, uint32_t line) {
    struct uspi_built_function *added = ADD(b, functions);
    if (added == NULL) return 0;
    *added = (struct uspi_built_function){name, file, file != 0 ? line : 0};
    return (uint32_t)b->functions.count;
}

void uspi_builder_describe(struct uspi_builder *b, uint32_t function, uint64_t name, uint32_t file, uint32_t line) {
    if (function == 0 || function > b->functions.count) return;
    b->functions.all[function - 1] = (struct uspi_built_function){name, file, file != 0 ? line : 0};
}

uint32_t uspi_builder_root(struct uspi_builder *b, uint32_t function) {
    struct uspi_built_node *added = ADD(b, nodes);
    if (added == NULL) return 0;
    *added = (struct uspi_built_node){0, function, false};
    return (uint32_t)b->nodes.count;
}

uint32_t uspi_builder_inlined(struct uspi_builder *b, uint32_t caller, const struct uspi_call *call) {
    struct uspi_call *site = ADD(b, sites);
    if (site == NULL) return 0;
    *site = *call;
    if (site->file == 0) site->line = site->column = 0;
    const uint32_t number = keep_once(b, SITES, &b->sites.count) + 1;
    struct uspi_built_node *added = ADD(b, nodes);
    if (added == NULL) return 0;
    *added = (struct uspi_built_node){caller, number, false};
    return keep_once(b, NODES, &b->nodes.count) + 1;
}

void uspi_builder_range(struct uspi_builder *b, uint64_t low, uint64_t high, uint32_t node) {
    if (low >= high || node == 0) return;
    struct uspi_built_range *added = ADD(b, ranges);
    if (added != NULL) *added = (struct uspi_built_range){low, high, node};
}

void uspi_builder_part(struct uspi_builder *b, uint64_t low, uint64_t high, uint32_t node, bool is_cold) {
    if (low >= high || node == 0) return;
    struct uspi_built_part *added = ADD(b, parts);
    if (added != NULL) *added = (struct uspi_built_part){low, high, node, is_cold};
}

void uspi_builder_alias(struct uspi_builder *b, uint32_t node, uint32_t function) {
    struct uspi_built_alias *added = ADD(b, aliases);
    if (added != NULL) *added = (struct uspi_built_alias){node, function};
}

void uspi_builder_call(struct uspi_builder *b, const struct uspi_built_call *call) {
    if (call->from == 0) return;
    struct uspi_built_call *added = call->is_tail ? ADD(b, tail_calls) : ADD(b, calls);
    if (added != NULL) *added = *call;
}

void uspi_builder_know_tail_calls(struct uspi_builder *b, uint32_t node) {
    if (node != 0 && node <= b->nodes.count) b->nodes.all[node - 1].knows_tail_calls = true;
}

void uspi_builder_row(struct uspi_builder *b, const struct uspi_row *row) {
    if (b->rows.count > 0 && b->rows.all[b->rows.count - 1].address == row->address) {
        b->rows.all[b->rows.count - 1] = *row;
        return;
    }
    struct uspi_row *added = ADD(b, rows);
    if (added != NULL) *added = *row;
}

/* ---- sorting ---- */

/* A uspi_before function. */
static bool range_before(const void *a, const void *b) {
    const struct uspi_built_range *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low;
    if (x->high != y->high) return x->high > y->high;
    return x->node < y->node;
}

/* A uspi_before function. */
static bool part_before(const void *a, const void *b) {
    const struct uspi_built_part *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low;
    if (x->high != y->high) return x->high < y->high;
    return x->node < y->node;
}

/* Sorts ranges and parts. The order of the source is nearly that of the addresses. Returns false when memory is
 * exhausted. */
static bool sort_code(struct uspi_builder *b) {
    void *spare = uspi_builder_scratch(b, b->ranges.count * sizeof *b->ranges.all);
    if (spare == NULL) return false;
    uspi_merge_sort(b->ranges.all, spare, b->ranges.count, sizeof *b->ranges.all, range_before);
    spare = uspi_builder_scratch(b, b->parts.count * sizeof *b->parts.all);
    if (spare == NULL) return false;
    uspi_merge_sort(b->parts.all, spare, b->parts.count, sizeof *b->parts.all, part_before);
    return true;
}

static int by_node(const void *a, const void *b) {
    const struct uspi_built_alias *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return (x->function > y->function) - (x->function < y->function);
}

/* ---- combining nodes and rows ---- */

struct laying {
    struct uspi_builder *b;
    size_t row; /* number of rows at or below the current address */
};

static void add_entry(struct uspi_builder *b, uint64_t address, uint32_t node, const struct uspi_row *row) {
    struct uspi_built_entry entry = {address, node, 0, 0, 0};
    if (row != NULL && row->file != 0) {
        entry.file = row->file;
        entry.line = row->line;
        entry.column = row->column;
    }
    if (b->entries.count > 0) {
        const struct uspi_built_entry *last = &b->entries.all[b->entries.count - 1];
        const bool is_same = last->node == entry.node && last->file == entry.file && last->line == entry.line &&
                             last->column == entry.column;
        if (is_same) return;
    } else if (entry.node == 0 && entry.file == 0) {
        return;
    }
    struct uspi_built_entry *added = ADD(b, entries);
    if (added != NULL) *added = entry;
}

/* Adds the entries from `from` up to `to`, whose code belongs to a node. */
static void lay(struct laying *l, uint64_t from, uint64_t to, uint32_t node) {
    const struct uspi_builder *b = l->b;
    if (from >= to) return;
    while (l->row < b->rows.count && b->rows.all[l->row].address <= from) l->row++;
    add_entry(l->b, from, node, l->row > 0 ? &b->rows.all[l->row - 1] : NULL);
    for (; l->row < b->rows.count && b->rows.all[l->row].address < to; l->row++) {
        add_entry(l->b, b->rows.all[l->row].address, node, &b->rows.all[l->row]);
    }
}

static void lay_all(struct uspi_builder *b) {
    struct laying l = {b, 0};
    uint64_t at = 0;
    for (size_t i = 0; i <= b->ranges.count && !b->is_out_of_memory; i++) {
        const struct uspi_built_range *range = i < b->ranges.count ? &b->ranges.all[i] : NULL;
        const uint64_t low = range != NULL ? range->low : UINT64_MAX;
        while (b->open.count > 0) {
            const struct uspi_built_range *top = &b->open.all[b->open.count - 1];
            if (top->high > low) break;
            lay(&l, at, top->high, top->node);
            if (top->high > at) at = top->high;
            b->open.count--;
        }
        lay(&l, at, low, b->open.count > 0 ? b->open.all[b->open.count - 1].node : 0);
        if (range == NULL) break;
        at = low;
        struct uspi_built_range *opened = ADD(b, open);
        if (opened != NULL) *opened = *range;
    }
    /* After the last range, only rows can give information. */
    if (l.row < b->rows.count && !b->is_out_of_memory) lay(&l, at, UINT64_MAX, 0);
}

int uspi_builder_finish(struct uspi_builder *b, const uint8_t **bytes, size_t *size) {
    *bytes = NULL;
    *size = 0;
    if (b->is_out_of_memory || !sort_code(b)) return USP_ERROR_NO_MEMORY;
    lay_all(b);
    if (b->is_out_of_memory) return USP_ERROR_NO_MEMORY;
    if (b->entries.count == 0) return USP_OK;
    int status = uspi_block_number(b);
    if (status == USP_OK && !uspi_block_choose_calls(b)) status = USP_ERROR_NO_MEMORY;
    /* Sort by the new numbers of nodes. */
    if (b->aliases.count > 1) qsort(b->aliases.all, b->aliases.count, sizeof *b->aliases.all, by_node);
    if (status == USP_OK) status = uspi_block_write(b);
    if (status != USP_OK) return status;
    *bytes = b->bytes.all;
    *size = b->bytes.count;
    return USP_OK;
}

const uint8_t *uspi_builder_bytes(const struct uspi_builder *b, size_t *size) {
    *size = b->bytes.count;
    return b->bytes.all;
}

uint32_t uspi_folders_number(struct uspi_folders *folders, struct uspi_builder *builder, struct uspi_span path) {
    for (unsigned i = 0; i < folders->count && i < USPI_FOLDERS; i++) {
        if (uspi_span_is(folders->all[i].path, path)) return folders->all[i].number;
    }
    const uint32_t number = uspi_builder_folder(builder, uspi_builder_text(builder, path.bytes, path.length));
    const unsigned at = folders->count++ % USPI_FOLDERS;
    folders->all[at].path = path;
    folders->all[at].number = number;
    return number;
}
