/* SPDX-License-Identifier: MIT */
/* See block.h. */
#include "lib/symbolize/lines/block.h"
#include "lib/base/bisect.h"

#include <string.h>

/* Returns a field of a record. The caller knows that the array and the field lie in the block. */
static inline uint64_t get(const struct uspi_block *block, uint32_t array, uint64_t bit, unsigned width) {
    return uspi_packed_get(block->bytes + array, bit, width);
}

/* ---- the header ---- */

static bool lay_out(struct uspi_block *block) {
    const uint8_t *w = block->width;
    block->node_bits = (uint32_t)w[USPI_WIDTH_PARENT] + w[USPI_WIDTH_SITE];
    block->site_bits =
        (uint32_t)w[USPI_WIDTH_FUNCTION] + w[USPI_WIDTH_FILE] + w[USPI_WIDTH_CALL_LINE] + w[USPI_WIDTH_COLUMN];
    block->function_bits = (uint32_t)w[USPI_WIDTH_TEXT] + w[USPI_WIDTH_FILE] + w[USPI_WIDTH_DECLARED];
    block->part_bits = (uint32_t)w[USPI_WIDTH_START] + w[USPI_WIDTH_SIZE] + w[USPI_WIDTH_NODE] + 2u;
    block->call_bits = (uint32_t)w[USPI_WIDTH_START] + w[USPI_WIDTH_CALLEE];
    block->tail_call_bits = w[USPI_WIDTH_PART] + block->call_bits;
    const struct {
        uint32_t *at;
        uint32_t count;
        unsigned bits;
    } tables[] = {
        {&block->at_folders, block->folders, w[USPI_WIDTH_TEXT]},
        {&block->at_files, block->files, (unsigned)w[USPI_WIDTH_FOLDER] + w[USPI_WIDTH_TEXT]},
        {&block->at_functions, block->functions, block->function_bits},
        {&block->at_callees, block->callees, w[USPI_WIDTH_TEXT]},
        {&block->at_sites, block->sites, block->site_bits},
        {&block->at_nodes, block->nodes, block->node_bits},
        {&block->at_parts, block->parts, block->part_bits},
        {&block->at_aliases, block->aliases, (unsigned)w[USPI_WIDTH_NODE] + w[USPI_WIDTH_FUNCTION]},
        {&block->at_calls, block->calls, block->call_bits},
        {&block->at_tail_calls, block->tail_calls, block->tail_call_bits},
        {&block->at_groups, block->groups, (unsigned)w[USPI_WIDTH_START] + w[USPI_WIDTH_OFFSET]},
        {&block->at_entries, block->entry_bytes, 8},
        {&block->at_text, block->text_bytes, 8},
    };
    uint64_t at = USPI_BLOCK_HEADER;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        *tables[i].at = (uint32_t)at;
        at += uspi_packed_size(tables[i].count, tables[i].bits);
        if (at > block->size) return false;
    }
    return at + USPI_PACKED_SLACK == block->size;
}

int uspi_block_open(struct uspi_block *block, const uint8_t *bytes, uint64_t size) {
    if (size < USPI_BLOCK_HEADER) return USP_ERROR_FORMAT;
    block->bytes = bytes;
    block->size = uspi_le32(bytes);
    block->unit = bytes[4];
    block->base = uspi_le64(bytes + 8);
    block->entries = uspi_le32(bytes + 16);
    block->entry_bytes = uspi_le32(bytes + 20);
    block->nodes = uspi_le32(bytes + 24);
    block->sites = uspi_le32(bytes + 28);
    block->functions = uspi_le32(bytes + 32);
    block->parts = uspi_le32(bytes + 36);
    block->files = uspi_le32(bytes + 40);
    block->folders = uspi_le32(bytes + 44);
    block->aliases = uspi_le32(bytes + 48);
    block->text_bytes = uspi_le32(bytes + 52);
    block->calls = uspi_le32(bytes + 56);
    block->tail_calls = uspi_le32(bytes + 60);
    block->callees = uspi_le32(bytes + 64);
    block->groups = block->entries / USPI_BLOCK_GROUP + (block->entries % USPI_BLOCK_GROUP != 0);
    memcpy(block->width, bytes + USPI_BLOCK_WIDTHS, USPI_WIDTHS);
    if (block->size > size || block->unit > 2) return USP_ERROR_FORMAT;
    for (unsigned i = 0; i < USPI_WIDTHS; i++) {
        if (block->width[i] > USPI_PACKED_WIDTH_MAX) return USP_ERROR_FORMAT;
    }
    return lay_out(block) ? USP_OK : USP_ERROR_FORMAT;
}

/* ---- entries ---- */

/* The first byte of an entry: the distance from the last entry, and flags for what follows. */
#define STEP_MASK  0x1fu
#define STEP_LONG  0x1fu /* the distance follows as a varint */
#define HAS_NODE   0x80u
#define HAS_FILE   0x40u
#define HAS_COLUMN 0x20u

/* Reads the bytes of a number after its first one. */
static uint64_t read_long_varint(const uint8_t **p, const uint8_t *end, uint64_t value) {
    for (unsigned shift = 7; *p < end && shift < 64; shift += 7) {
        const uint8_t byte = *(*p)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) return value;
    }
    /* The number is cut off. The caller notices that *p is past the end. */
    *p = end + 1;
    return 0;
}

/* Most numbers have one byte. */
static inline uint64_t read_varint(const uint8_t **p, const uint8_t *end) {
    if (*p >= end) {
        *p = end + 1;
        return 0;
    }
    const uint8_t byte = *(*p)++;
    return (byte & 0x80) == 0 ? byte : read_long_varint(p, end, byte & 0x7f);
}

static int64_t unzigzag(uint64_t value) { return (int64_t)(value >> 1) ^ -(int64_t)(value & 1); }

/* The state of decoding a group. */
struct decoding {
    const struct uspi_block *block;
    const uint8_t *p, *end;
    uint64_t address; /* of the last entry; before the first one, of the group */
    uint64_t next;    /* of the entry at which reading stopped because of its address */
    uint32_t count;   /* of entries read so far */
    struct coded {
        uint32_t node, file, line, column; /* the line as a distance; those that the flags tell */
        uint8_t flags;
    } coded[USPI_BLOCK_GROUP];
};

/* Returns the bits of a group's record. */
static inline unsigned group_bits(const struct uspi_block *block) {
    return (unsigned)block->width[USPI_WIDTH_START] + block->width[USPI_WIDTH_OFFSET];
}

/* Returns the address of a group's first entry. */
static inline uint64_t group_address(const struct uspi_block *block, uint32_t group) {
    const uint64_t bit = (uint64_t)group * group_bits(block);
    return block->base + (get(block, block->at_groups, bit, block->width[USPI_WIDTH_START]) << block->unit);
}

/* Returns the offset of a group's entries; for the number after the last group, their end. */
static inline uint64_t group_offset(const struct uspi_block *block, uint32_t group) {
    if (group == block->groups) return block->entry_bytes;
    const uint64_t bit = (uint64_t)group * group_bits(block) + block->width[USPI_WIDTH_START];
    return get(block, block->at_groups, bit, block->width[USPI_WIDTH_OFFSET]);
}

static bool begin_group(struct decoding *d, const struct uspi_block *block, uint32_t group) {
    const uint64_t offset = group_offset(block, group), end = group_offset(block, group + 1);
    if (offset > end || end > block->entry_bytes) return false;
    d->block = block;
    d->count = 0;
    d->address = group_address(block, group);
    d->p = block->bytes + block->at_entries + offset;
    d->end = block->bytes + block->at_entries + end;
    return true;
}

/* Reads the next entry of the group if its address is not above `limit`; if it is, sets d->next. Returns false then,
 * after the last entry, and where the bytes are damaged. */
static bool next_entry(struct decoding *d, uint64_t limit) {
    const uint8_t *p = d->p, *const end = d->end;
    if (p >= end || d->count == USPI_BLOCK_GROUP) return false;
    struct coded *coded = &d->coded[d->count];
    const uint8_t head = *p++;
    uint64_t step = head & STEP_MASK;
    if (step == STEP_LONG) step = read_varint(&p, end);
    const uint64_t address = d->address + (step << d->block->unit);
    if (address > limit) {
        d->next = address;
        return false;
    }
    coded->flags = head;
    coded->node = d->count > 0 ? d->coded[d->count - 1].node : 0;
    if ((head & HAS_NODE) != 0) coded->node += (uint32_t)unzigzag(read_varint(&p, end));
    coded->file = (head & HAS_FILE) != 0 ? (uint32_t)read_varint(&p, end) : 0;
    const bool has_line = (head & HAS_FILE) == 0 || coded->file != 0;
    coded->line = has_line ? (uint32_t)unzigzag(read_varint(&p, end)) : 0;
    if (!has_line) coded->flags &= (uint8_t)~HAS_COLUMN;
    coded->column = (coded->flags & HAS_COLUMN) != 0 ? (uint32_t)read_varint(&p, end) : 0;
    if (p > end || coded->node > d->block->nodes || coded->file > d->block->files) return false;
    d->count++;
    d->address = address;
    d->p = p;
    return true;
}

/* What an entry says. */
struct row {
    uint32_t file, line, column;
};

#define NO_ENTRY UINT32_MAX

/* Returns the entry from which an entry is predicted: the last one of its node in the group; else, for node 0, the
 * preceding one; else NO_ENTRY: the place where the node's function is declared. */
static uint32_t predicted_from(const struct decoding *d, uint32_t entry) {
    const uint32_t node = d->coded[entry].node;
    for (uint32_t i = entry; i-- > 0;) {
        if (d->coded[i].node == node) return i;
    }
    return node == 0 && entry > 0 ? entry - 1 : NO_ENTRY;
}

/* Finds where the function of a node is declared. Returns false when the bytes are damaged. */
static bool declared_at(const struct uspi_block *block, uint32_t node, struct row *row) {
    struct uspi_block_node of;
    struct uspi_block_function function;
    *row = (struct row){0};
    if (node == 0) return true;
    if (uspi_block_node(block, node, &of) != USP_OK) return false;
    if (of.function == 0) return true;
    if (uspi_block_function(block, of.function, &function) != USP_OK) return false;
    row->file = function.file;
    row->line = function.line;
    return true;
}

/* Decodes an entry that was read. Only the entries from which it is predicted matter, so no other function is looked
 * at. Returns false when the bytes are damaged. */
static bool decode(const struct decoding *d, uint32_t entry, struct row *row) {
    const struct coded *chain[USPI_BLOCK_GROUP];
    uint32_t count = 0;
    for (uint32_t i = entry; i != NO_ENTRY; i = predicted_from(d, i)) chain[count++] = &d->coded[i];
    if (!declared_at(d->block, chain[count - 1]->node, row)) return false;
    while (count-- > 0) {
        const struct coded *coded = chain[count];
        if ((coded->flags & HAS_FILE) != 0) row->file = coded->file;
        row->line += coded->line;
        if ((coded->flags & HAS_COLUMN) != 0) row->column = coded->column;
    }
    return true;
}

/* Finds the last group that begins at or below an address. Returns its number + 1; 0: none. */
static uint32_t find_group(const struct uspi_block *block, uint64_t address) {
    const unsigned record = group_bits(block), width = block->width[USPI_WIDTH_START];
    const uint64_t wanted = (address - block->base) >> block->unit;
    uint32_t i;
    USPI_FIRST(i, 0, block->groups, get(block, block->at_groups, (uint64_t)i * record, width) > wanted);
    return i;
}

/* Fills in what an entry that was read says. Returns false when the bytes are damaged. */
static bool describe_place(const struct decoding *d, uint32_t entry, struct uspi_block_entry *place) {
    struct row row;
    if (!decode(d, entry, &row)) return false;
    place->node = d->coded[entry].node;
    place->file = row.file;
    /* The line and column of an entry without a file are kept only to predict the next entry. */
    place->line = row.file != 0 ? row.line : 0;
    place->column = row.file != 0 ? row.column : 0;
    return true;
}

/* The number of groups before the entry's own in which `fill` searches. `fill` finds the last row before an entry that
 * has a line and the same node. */
#define LOOK_BACK 4u

static void fill(const struct decoding *d, uint32_t before, uint32_t group, struct uspi_block_entry *place) {
    struct decoding earlier;
    struct row row;
    place->filled_file = place->filled_line = 0;
    if (place->file == 0 || place->line != 0 || place->node == 0) return;
    for (unsigned i = 0; i <= LOOK_BACK; i++) {
        for (uint32_t k = before; k-- > 0;) {
            const uint32_t node = d->coded[k].node;
            if (node == 0) return;
            if (node != place->node || !decode(d, k, &row) || row.file == 0 || row.line == 0) continue;
            place->filled_file = row.file;
            place->filled_line = row.line;
            return;
        }
        if (group == 0 || !begin_group(&earlier, d->block, --group)) return;
        while (next_entry(&earlier, UINT64_MAX)) continue;
        d = &earlier;
        before = earlier.count;
    }
}

int uspi_block_find(const struct uspi_block *block, uint64_t address, struct uspi_block_entry *place) {
    struct decoding d;
    if (block->entries == 0 || address < block->base) return USP_ERROR_NOT_FOUND;
    const uint32_t group = find_group(block, address);
    if (group == 0) return USP_ERROR_NOT_FOUND;
    if (!begin_group(&d, block, group - 1)) return USP_ERROR_FORMAT;
    d.next = 0;
    while (next_entry(&d, address)) continue;
    if (d.count == 0 || (d.next == 0 && d.p != d.end)) return USP_ERROR_FORMAT;
    place->start = d.address;
    place->end = d.next != 0 ? d.next : group < block->groups ? group_address(block, group) : UINT64_MAX;
    if (!describe_place(&d, d.count - 1, place)) return USP_ERROR_FORMAT;
    fill(&d, d.count - 1, group - 1, place);
    return USP_OK;
}

int uspi_block_visit(const struct uspi_block *block, uspi_block_visitor visit, void *context) {
    struct uspi_block_entry place = {0};
    bool has_one = false;
    for (uint32_t group = 0; group < block->groups; group++) {
        struct decoding d;
        if (!begin_group(&d, block, group)) return USP_ERROR_FORMAT;
        while (next_entry(&d, UINT64_MAX)) {
            if (has_one) {
                place.end = d.address;
                int answer = visit(context, &place);
                if (answer != 0) return answer;
            }
            place = (struct uspi_block_entry){.start = d.address, .end = UINT64_MAX};
            if (!describe_place(&d, d.count - 1, &place)) return USP_ERROR_FORMAT;
            fill(&d, d.count - 1, group, &place);
            has_one = true;
        }
        if (d.p != d.end) return USP_ERROR_FORMAT;
    }
    return has_one ? visit(context, &place) : USP_OK;
}

/* ---- the tables ---- */

/* Takes the next field of a record. */
static inline uint64_t take(const uint8_t *bytes, uint64_t *bit, unsigned width) {
    const uint64_t value = uspi_packed_get(bytes, *bit, width);
    *bit += width;
    return value;
}

int uspi_block_node(const struct uspi_block *block, uint32_t node, struct uspi_block_node *of) {
    const uint8_t *w = block->width, *bytes = block->bytes + block->at_nodes;
    *of = (struct uspi_block_node){0};
    if (node == 0 || node > block->nodes) return USP_ERROR_FORMAT;
    uint64_t bit = (uint64_t)(node - 1) * block->node_bits;
    const uint64_t distance = take(bytes, &bit, w[USPI_WIDTH_PARENT]), site = take(bytes, &bit, w[USPI_WIDTH_SITE]);
    if (distance == 0) {
        of->function = (uint32_t)site;
        return site <= block->functions ? USP_OK : USP_ERROR_FORMAT;
    }
    if (distance >= node || site == 0 || site > block->sites) return USP_ERROR_FORMAT;
    bytes = block->bytes + block->at_sites;
    bit = (site - 1) * block->site_bits;
    const uint64_t function = take(bytes, &bit, w[USPI_WIDTH_FUNCTION]), file = take(bytes, &bit, w[USPI_WIDTH_FILE]);
    of->caller = node - (uint32_t)distance;
    of->function = (uint32_t)function;
    of->call_file = (uint32_t)file;
    of->call_line = (uint32_t)take(bytes, &bit, w[USPI_WIDTH_CALL_LINE]);
    of->call_column = (uint32_t)take(bytes, &bit, w[USPI_WIDTH_COLUMN]);
    return function <= block->functions && file <= block->files ? USP_OK : USP_ERROR_FORMAT;
}

int uspi_block_function(const struct uspi_block *block, uint32_t function, struct uspi_block_function *of) {
    const uint8_t *w = block->width, *bytes = block->bytes + block->at_functions;
    if (function == 0 || function > block->functions) return USP_ERROR_FORMAT;
    uint64_t bit = (uint64_t)(function - 1) * block->function_bits;
    of->name = take(bytes, &bit, w[USPI_WIDTH_TEXT]);
    const uint64_t file = take(bytes, &bit, w[USPI_WIDTH_FILE]);
    of->file = (uint32_t)file;
    of->line = (uint32_t)take(bytes, &bit, w[USPI_WIDTH_DECLARED]);
    return file <= block->files ? USP_OK : USP_ERROR_FORMAT;
}

int uspi_block_file(const struct uspi_block *block, uint32_t file, uint64_t *folder, uint64_t *name) {
    const uint8_t *w = block->width, *bytes = block->bytes + block->at_files;
    if (file == 0 || file > block->files) return USP_ERROR_FORMAT;
    uint64_t bit = (uint64_t)(file - 1) * ((uint32_t)w[USPI_WIDTH_FOLDER] + w[USPI_WIDTH_TEXT]);
    const uint64_t number = take(bytes, &bit, w[USPI_WIDTH_FOLDER]);
    *name = take(bytes, &bit, w[USPI_WIDTH_TEXT]);
    *folder = 0;
    if (number == 0) return USP_OK;
    if (number > block->folders) return USP_ERROR_FORMAT;
    const unsigned width = w[USPI_WIDTH_TEXT];
    *folder = get(block, block->at_folders, (number - 1) * width, width);
    return USP_OK;
}

void uspi_block_texts(const struct uspi_block *block, uint64_t (*visit)(void *context, uint64_t text), void *context) {
    const uint8_t *w = block->width, *b = block->bytes;
    const unsigned text = w[USPI_WIDTH_TEXT], folder = w[USPI_WIDTH_FOLDER];
    const unsigned function = text + w[USPI_WIDTH_FILE] + w[USPI_WIDTH_DECLARED];
    for (uint64_t i = 0; i < block->folders; i++)
        visit(context, uspi_packed_get(b + block->at_folders, i * text, text));
    for (uint64_t i = 0; i < block->files; i++) {
        visit(context, uspi_packed_get(b + block->at_files, i * (folder + text) + folder, text));
    }
    for (uint64_t i = 0; i < block->functions; i++) {
        visit(context, uspi_packed_get(b + block->at_functions, i * function, text));
    }
    for (uint64_t i = 0; i < block->callees; i++)
        visit(context, uspi_packed_get(b + block->at_callees, i * text, text));
}

int uspi_block_part(const struct uspi_block *block, uint32_t i, struct uspi_block_part *part) {
    const uint8_t *w = block->width, *bytes = block->bytes + block->at_parts;
    if (i >= block->parts) return USP_ERROR_NOT_FOUND;
    uint64_t bit = (uint64_t)i * block->part_bits;
    part->start = block->base + (take(bytes, &bit, w[USPI_WIDTH_START]) << block->unit);
    part->size = take(bytes, &bit, w[USPI_WIDTH_SIZE]) << block->unit;
    const uint64_t node = take(bytes, &bit, w[USPI_WIDTH_NODE]);
    part->node = (uint32_t)node;
    part->number = i + 1;
    part->is_cold = take(bytes, &bit, 1) != 0;
    part->knows_tail_calls = take(bytes, &bit, 1) != 0;
    return part->node <= block->nodes ? USP_OK : USP_ERROR_FORMAT;
}

int uspi_block_find_part(const struct uspi_block *block, uint64_t address, struct uspi_block_part *part) {
    const unsigned width = block->width[USPI_WIDTH_START];
    uint32_t i;
    USPI_FIRST(i, 0, block->parts,
               block->base + (get(block, block->at_parts, (uint64_t)i * block->part_bits, width) << block->unit) >
                   address);
    if (i == 0) return USP_ERROR_NOT_FOUND;
    int status = uspi_block_part(block, i - 1, part);
    if (status != USP_OK) return status;
    return address - part->start < part->size ? USP_OK : USP_ERROR_NOT_FOUND;
}

int uspi_block_first_part(const struct uspi_block *block, uint32_t node, struct uspi_block_part *part) {
    int status = USP_OK;
    for (uint32_t i = 0; status == USP_OK; i++) {
        status = uspi_block_part(block, i, part);
        if (status == USP_OK && part->node == node && !part->is_cold) return USP_OK;
    }
    return status;
}

/* ---- calls ---- */

uint64_t uspi_block_callee(const struct uspi_block *block, uint32_t i) {
    const unsigned width = block->width[USPI_WIDTH_TEXT];
    return i < block->callees ? get(block, block->at_callees, (uint64_t)i * width, width) : 0;
}

/* Reads the two fields of a call. */
static int take_call(const struct uspi_block *block, const uint8_t *bytes, uint64_t *bit,
                     struct uspi_block_call *call) {
    call->end = block->base + (take(bytes, bit, block->width[USPI_WIDTH_START]) << block->unit);
    const uint64_t callee = take(bytes, bit, block->width[USPI_WIDTH_CALLEE]);
    call->part = callee <= block->parts ? (uint32_t)callee : 0;
    call->name = 0;
    if (callee == 0) return USP_ERROR_FORMAT;
    if (callee <= block->parts) return USP_OK;
    const uint64_t number = callee - block->parts - 1;
    if (number < block->callees) call->name = uspi_block_callee(block, (uint32_t)number);
    return call->name != 0 ? USP_OK : USP_ERROR_FORMAT;
}

int uspi_block_find_call(const struct uspi_block *block, uint64_t return_address, struct uspi_block_call *call) {
    uint32_t i;
    if (return_address < block->base) return USP_ERROR_NOT_FOUND;
    USPI_FIRST(i, 0, block->calls,
               block->base +
                       (get(block, block->at_calls, (uint64_t)i * block->call_bits, block->width[USPI_WIDTH_START])
                        << block->unit) >=
                   return_address);
    if (i == block->calls) return USP_ERROR_NOT_FOUND;
    uint64_t bit = (uint64_t)i * block->call_bits;
    int status = take_call(block, block->bytes + block->at_calls, &bit, call);
    return status == USP_OK && call->end != return_address ? USP_ERROR_NOT_FOUND : status;
}

int uspi_block_tail_call(const struct uspi_block *block, uint32_t part, uint32_t i, struct uspi_block_call *call) {
    const unsigned width = block->width[USPI_WIDTH_PART];
    uint32_t at;
    USPI_FIRST(at, 0, block->tail_calls,
               get(block, block->at_tail_calls, (uint64_t)at * block->tail_call_bits, width) >= part);
    if (i >= block->tail_calls - at) return USP_ERROR_NOT_FOUND;
    const uint8_t *bytes = block->bytes + block->at_tail_calls;
    uint64_t bit = ((uint64_t)at + i) * block->tail_call_bits;
    if (take(bytes, &bit, width) != part) return USP_ERROR_NOT_FOUND;
    return take_call(block, bytes, &bit, call);
}

int uspi_block_visit_calls(const struct uspi_block *block, uspi_call_visitor visit, void *context) {
    const struct {
        uint32_t table, count, bits;
        unsigned before; /* bits of a record before the call */
    } tables[] = {{block->at_calls, block->calls, block->call_bits, 0},
                  {block->at_tail_calls, block->tail_calls, block->tail_call_bits, block->width[USPI_WIDTH_PART]}};
    for (unsigned t = 0; t < 2; t++) {
        for (uint32_t i = 0; i < tables[t].count; i++) {
            struct uspi_block_call call;
            uint64_t bit = (uint64_t)i * tables[t].bits + tables[t].before;
            if (take_call(block, block->bytes + tables[t].table, &bit, &call) != USP_OK) return USP_ERROR_FORMAT;
            int answer = visit(context, &call);
            if (answer != 0) return answer;
        }
    }
    return USP_OK;
}

uint32_t uspi_block_alias(const struct uspi_block *block, uint32_t node, uint32_t i) {
    const uint8_t *w = block->width, *bytes = block->bytes + block->at_aliases;
    const uint32_t bits = (uint32_t)w[USPI_WIDTH_NODE] + w[USPI_WIDTH_FUNCTION];
    uint32_t at;
    USPI_FIRST(at, 0, block->aliases, get(block, block->at_aliases, (uint64_t)at * bits, w[USPI_WIDTH_NODE]) >= node);
    if (i >= block->aliases - at) return 0;
    uint64_t bit = ((uint64_t)at + i) * bits;
    if (take(bytes, &bit, w[USPI_WIDTH_NODE]) != node) return 0;
    const uint64_t function = take(bytes, &bit, w[USPI_WIDTH_FUNCTION]);
    return function <= block->functions ? (uint32_t)function : 0;
}
