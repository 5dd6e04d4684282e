/* SPDX-License-Identifier: MIT */
/* See block_write.h. block.c, which reads entries, and doc/index-format.md describe how they are coded. */
#include "lib/symbolize/lines/block_write.h"

#include "arch/little_endian.h"

#include <string.h>

/* ---- numbering ---- */

/* Maps old numbers to new ones; 0: not used. */
struct numbering {
    struct uspi_builder *b;
    uint32_t *nodes, *sites, *functions, *files, *folders;
    uint32_t node_count, site_count, function_count, file_count, folder_count;
};

static void number_file(struct numbering *n, uint32_t file) {
    if (file == 0 || n->files[file] != 0) return;
    n->files[file] = ++n->file_count;
    const uint32_t folder = n->b->files.all[file - 1].folder;
    if (folder != 0 && n->folders[folder] == 0) n->folders[folder] = ++n->folder_count;
}

static void number_function(struct numbering *n, uint32_t function) {
    if (function == 0 || n->functions[function] != 0) return;
    n->functions[function] = ++n->function_count;
    number_file(n, n->b->functions.all[function - 1].file);
}

/* Numbers a node, and first its callers. Callers were made before it, so the chain of callers ends. */
static void number_node(struct numbering *n, uint32_t node) {
    const struct uspi_built_node *all = n->b->nodes.all;
    while (node != 0 && n->nodes[node] == 0) {
        uint32_t first = node;
        while (all[first - 1].caller != 0 && n->nodes[all[first - 1].caller] == 0) first = all[first - 1].caller;
        n->nodes[first] = ++n->node_count;
        if (all[first - 1].caller == 0) {
            number_function(n, all[first - 1].site);
        } else if (n->sites[all[first - 1].site] == 0) {
            const struct uspi_call *call = &n->b->sites.all[all[first - 1].site - 1];
            n->sites[all[first - 1].site] = ++n->site_count;
            number_function(n, call->function);
            number_file(n, call->file);
        }
        if (first == node) return;
    }
}

/* Replaces the nodes of calls by their new numbers, and drops calls of unused functions. */
static void renumber_calls(const struct numbering *n, struct uspi_built_call *calls, size_t *count) {
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        struct uspi_built_call call = calls[i];
        call.from = n->nodes[call.from];
        call.to = n->nodes[call.to];
        if (call.from != 0) calls[kept++] = call;
    }
    *count = kept;
}

/* Moves the used elements of an array to their new places. */
static void permute(void *all, size_t count, size_t element, const uint32_t *numbers, uint8_t *spare) {
    if (count == 0) return;
    memcpy(spare, all, count * element);
    for (size_t i = 0; i < count; i++) {
        const uint32_t number = numbers[i + 1];
        if (number != 0) memcpy((uint8_t *)all + (number - 1) * element, spare + i * element, element);
    }
}

static void renumber(struct numbering *n) {
    struct uspi_builder *b = n->b;
    uint8_t *spare = b->scratch;
    size_t kept = 0;
    permute(b->folders.all, b->folders.count, sizeof *b->folders.all, n->folders, spare);
    permute(b->files.all, b->files.count, sizeof *b->files.all, n->files, spare);
    permute(b->functions.all, b->functions.count, sizeof *b->functions.all, n->functions, spare);
    permute(b->sites.all, b->sites.count, sizeof *b->sites.all, n->sites, spare);
    permute(b->nodes.all, b->nodes.count, sizeof *b->nodes.all, n->nodes, spare);
    b->folders.count = n->folder_count;
    b->files.count = n->file_count;
    b->functions.count = n->function_count;
    b->sites.count = n->site_count;
    b->nodes.count = n->node_count;
    for (size_t i = 0; i < b->files.count; i++) b->files.all[i].folder = n->folders[b->files.all[i].folder];
    for (size_t i = 0; i < b->functions.count; i++) b->functions.all[i].file = n->files[b->functions.all[i].file];
    for (size_t i = 0; i < b->sites.count; i++) {
        b->sites.all[i].function = n->functions[b->sites.all[i].function];
        b->sites.all[i].file = n->files[b->sites.all[i].file];
    }
    for (size_t i = 0; i < b->nodes.count; i++) {
        struct uspi_built_node *node = &b->nodes.all[i];
        node->site = node->caller == 0 ? n->functions[node->site] : n->sites[node->site];
        node->caller = n->nodes[node->caller];
    }
    for (size_t i = 0; i < b->parts.count; i++) b->parts.all[i].node = n->nodes[b->parts.all[i].node];
    for (size_t i = 0; i < b->entries.count; i++) {
        b->entries.all[i].node = n->nodes[b->entries.all[i].node];
        b->entries.all[i].file = n->files[b->entries.all[i].file];
    }
    for (size_t i = 0; i < b->aliases.count; i++) {
        const struct uspi_built_alias *alias = &b->aliases.all[i];
        if (n->nodes[alias->node] == 0) continue;
        b->aliases.all[kept++] = (struct uspi_built_alias){n->nodes[alias->node], n->functions[alias->function]};
    }
    b->aliases.count = kept;
    renumber_calls(n, b->calls.all, &b->calls.count);
    renumber_calls(n, b->tail_calls.all, &b->tail_calls.count);
}

static size_t largest(const size_t *values, size_t count) {
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] > most) most = values[i];
    }
    return most;
}

int uspi_block_number(struct uspi_builder *b) {
    const size_t counts[5] = {b->nodes.count, b->sites.count, b->functions.count, b->files.count, b->folders.count};
    const size_t bytes[5] = {b->nodes.count * sizeof *b->nodes.all, b->sites.count * sizeof *b->sites.all,
                             b->functions.count * sizeof *b->functions.all, b->files.count * sizeof *b->files.all,
                             b->folders.count * sizeof *b->folders.all};
    size_t all = 0;
    uint32_t *starts[5];
    for (unsigned i = 0; i < 5; i++) all += counts[i] + 1;
    if (!uspi_room_for(&b->numbers, &b->numbers_capacity, 0, all, sizeof *b->numbers)) return USP_ERROR_NO_MEMORY;
    if (uspi_builder_scratch(b, largest(bytes, 5)) == NULL) return USP_ERROR_NO_MEMORY;
    memset(b->numbers, 0, all * sizeof *b->numbers);
    starts[0] = b->numbers;
    for (unsigned i = 1; i < 5; i++) starts[i] = starts[i - 1] + counts[i - 1] + 1;
    struct numbering n = {.b = b,
                          .nodes = starts[0],
                          .sites = starts[1],
                          .functions = starts[2],
                          .files = starts[3],
                          .folders = starts[4]};
    for (size_t i = 0; i < b->entries.count; i++) {
        number_node(&n, b->entries.all[i].node);
        number_file(&n, b->entries.all[i].file);
    }
    for (size_t i = 0; i < b->parts.count; i++) number_node(&n, b->parts.all[i].node);
    for (size_t i = 0; i < b->aliases.count; i++) {
        if (n.nodes[b->aliases.all[i].node] != 0) number_function(&n, b->aliases.all[i].function);
    }
    renumber(&n);
    return USP_OK;
}

/* ---- bytes ---- */

static bool reserve(struct uspi_builder *b, size_t more) {
    return uspi_room_for(&b->bytes.all, &b->bytes.capacity, b->bytes.count, more, 1);
}

/* The caller has reserved room. */
static void put_varint(struct uspi_builder *b, uint64_t value) {
    do {
        const uint8_t low = value & 0x7f;
        value >>= 7;
        b->bytes.all[b->bytes.count++] = (uint8_t)(low | (value != 0 ? 0x80 : 0));
    } while (value != 0);
}

static uint64_t zigzag(int64_t value) { return (uint64_t)value << 1 ^ (uint64_t)(value >> 63); }

/* These are the same as in block.c. */
#define STEP_LONG   0x1fu
#define HAS_NODE    0x80u
#define HAS_FILE    0x40u
#define HAS_COLUMN  0x20u
#define ENTRY_BYTES 48u /* the maximum size of an entry */

struct coding {
    struct uspi_builder *b;
    uint64_t base;
    unsigned unit;
    uint32_t count;                                 /* of entries in the group */
    struct uspi_built_entry done[USPI_BLOCK_GROUP]; /* as the reader has decoded them */
};

static struct uspi_built_entry predict(const struct coding *c, uint32_t node) {
    struct uspi_built_entry like = {.node = node};
    for (uint32_t i = c->count; i-- > 0;) {
        if (c->done[i].node == node) return c->done[i];
    }
    if (node == 0) {
        if (c->count > 0) like = c->done[c->count - 1];
        like.node = 0;
        return like;
    }
    const struct uspi_built_node *of = &c->b->nodes.all[node - 1];
    const uint32_t function = of->caller == 0 ? of->site : c->b->sites.all[of->site - 1].function;
    if (function == 0) return like;
    like.file = c->b->functions.all[function - 1].file;
    like.line = c->b->functions.all[function - 1].line;
    return like;
}

static void put_entry(struct coding *c, const struct uspi_built_entry *entry, uint64_t step) {
    static const struct uspi_built_entry none = {0};
    const struct uspi_built_entry *last = c->count > 0 ? &c->done[c->count - 1] : &none;
    struct uspi_built_entry like = entry->node == last->node && c->count > 0 ? *last : predict(c, entry->node);
    uint8_t head = step < STEP_LONG ? (uint8_t)step : STEP_LONG;
    if (entry->node != last->node) head |= HAS_NODE;
    if (entry->file != like.file || entry->file == 0) head |= HAS_FILE;
    if (entry->file != 0 && entry->column != like.column) head |= HAS_COLUMN;
    struct uspi_builder *b = c->b;
    b->bytes.all[b->bytes.count++] = head;
    if (step >= STEP_LONG) put_varint(b, step);
    if (entry->node != last->node) put_varint(b, zigzag((int64_t)entry->node - (int64_t)last->node));
    if ((head & HAS_FILE) != 0) put_varint(b, entry->file);
    like.file = entry->file;
    if (entry->file != 0) {
        put_varint(b, zigzag((int64_t)entry->line - (int64_t)like.line));
        if ((head & HAS_COLUMN) != 0) put_varint(b, entry->column);
        like.line = entry->line;
        like.column = entry->column;
    }
    like.address = entry->address;
    like.node = entry->node;
    c->done[c->count++] = like;
}

/* Finds the unit of addresses: returns how many low bits, at most 2, are 0 in all of them. */
static unsigned find_unit(const struct uspi_builder *b, uint64_t base) {
    uint64_t bits = 0;
    for (size_t i = 0; i < b->entries.count; i++) bits |= b->entries.all[i].address - base;
    for (size_t i = 0; i < b->parts.count; i++) bits |= (b->parts.all[i].low - base) | (b->parts.all[i].high - base);
    for (size_t i = 0; i < b->calls.count; i++) bits |= b->calls.all[i].address - base;
    for (size_t i = 0; i < b->tail_calls.count; i++) bits |= b->tail_calls.all[i].address - base;
    return (bits & 1) != 0 ? 0 : (bits & 2) != 0 ? 1 : 2;
}

/* Returns where a call ends, in units from the base. If only the start of the instruction is known, its first unit
 * counts as the whole. */
static uint64_t end_of_call(const struct uspi_built_call *call, uint64_t base, unsigned unit) {
    return ((call->address - base) >> unit) + (call->is_start ? 1 : 0);
}

/* Finds the widths of all fields from their largest values. */
static void find_widths(const struct uspi_builder *b, uint64_t base, unsigned unit, uint8_t width[USPI_WIDTHS]) {
    uint64_t most[USPI_WIDTHS] = {0};
#define NOTE(field, value)                                                                                             \
    do {                                                                                                               \
        const uint64_t noted = (value);                                                                                \
        if (noted > most[field]) most[field] = noted;                                                                  \
    } while (0)
    for (size_t i = 0; i < b->folders.count; i++) NOTE(USPI_WIDTH_TEXT, b->folders.all[i]);
    for (size_t i = 0; i < b->files.count; i++) NOTE(USPI_WIDTH_TEXT, b->files.all[i].name);
    for (size_t i = 0; i < b->functions.count; i++) {
        NOTE(USPI_WIDTH_TEXT, b->functions.all[i].name);
        NOTE(USPI_WIDTH_DECLARED, b->functions.all[i].line);
    }
    for (size_t i = 0; i < b->sites.count; i++) {
        NOTE(USPI_WIDTH_CALL_LINE, b->sites.all[i].line);
        NOTE(USPI_WIDTH_COLUMN, b->sites.all[i].column);
    }
    for (size_t i = 0; i < b->nodes.count; i++) {
        if (b->nodes.all[i].caller != 0) NOTE(USPI_WIDTH_PARENT, i + 1 - b->nodes.all[i].caller);
        NOTE(USPI_WIDTH_SITE, b->nodes.all[i].site);
    }
    for (size_t i = 0; i < b->parts.count; i++) {
        NOTE(USPI_WIDTH_START, (b->parts.all[i].low - base) >> unit);
        NOTE(USPI_WIDTH_SIZE, (b->parts.all[i].high - b->parts.all[i].low) >> unit);
    }
    for (size_t i = 0; i < b->entries.count; i += USPI_BLOCK_GROUP) {
        NOTE(USPI_WIDTH_START, (b->entries.all[i].address - base) >> unit);
    }
    for (size_t i = 0; i < b->callees.count; i++) NOTE(USPI_WIDTH_TEXT, b->callees.all[i]);
    for (size_t i = 0; i < b->calls.count; i++) NOTE(USPI_WIDTH_START, end_of_call(&b->calls.all[i], base, unit));
    for (size_t i = 0; i < b->tail_calls.count; i++) {
        NOTE(USPI_WIDTH_START, end_of_call(&b->tail_calls.all[i], base, unit));
    }
    NOTE(USPI_WIDTH_FOLDER, b->folders.count);
    NOTE(USPI_WIDTH_FILE, b->files.count);
    NOTE(USPI_WIDTH_FUNCTION, b->functions.count);
    NOTE(USPI_WIDTH_NODE, b->nodes.count);
    if (b->tail_calls.count > 0) NOTE(USPI_WIDTH_PART, b->parts.count);
    if (b->calls.count + b->tail_calls.count > 0) NOTE(USPI_WIDTH_CALLEE, b->parts.count + b->callees.count);
#undef NOTE
    for (unsigned i = 0; i < USPI_WIDTHS; i++) width[i] = (uint8_t)uspi_packed_width(most[i]);
}

/* A table of records being written. */
struct table {
    uint8_t *bytes;
    uint64_t bit;
};

static struct table begin_table(struct uspi_builder *b, uint64_t count, unsigned record) {
    const size_t size = (size_t)uspi_packed_size(count, record);
    /* Reserve as many bytes after the end as writing a field can touch. */
    if (!reserve(b, size + USPI_PACKED_SLACK)) {
        b->is_out_of_memory = true;
        return (struct table){NULL, 0};
    }
    struct table table = {b->bytes.all + b->bytes.count, 0};
    memset(table.bytes, 0, size + USPI_PACKED_SLACK);
    b->bytes.count += size;
    return table;
}

static void put_field(struct table *table, unsigned width, uint64_t value) {
    uspi_packed_put(table->bytes, table->bit, value);
    table->bit += width;
}

static bool put_texts(struct uspi_builder *b, const uint8_t *w) {
    struct table t = begin_table(b, b->folders.count, w[USPI_WIDTH_TEXT]);
    for (size_t i = 0; t.bytes != NULL && i < b->folders.count; i++)
        put_field(&t, w[USPI_WIDTH_TEXT], b->folders.all[i]);
    t = begin_table(b, b->files.count, (unsigned)w[USPI_WIDTH_FOLDER] + w[USPI_WIDTH_TEXT]);
    for (size_t i = 0; t.bytes != NULL && i < b->files.count; i++) {
        put_field(&t, w[USPI_WIDTH_FOLDER], b->files.all[i].folder);
        put_field(&t, w[USPI_WIDTH_TEXT], b->files.all[i].name);
    }
    t = begin_table(b, b->functions.count, (unsigned)w[USPI_WIDTH_TEXT] + w[USPI_WIDTH_FILE] + w[USPI_WIDTH_DECLARED]);
    for (size_t i = 0; t.bytes != NULL && i < b->functions.count; i++) {
        put_field(&t, w[USPI_WIDTH_TEXT], b->functions.all[i].name);
        put_field(&t, w[USPI_WIDTH_FILE], b->functions.all[i].file);
        put_field(&t, w[USPI_WIDTH_DECLARED], b->functions.all[i].line);
    }
    t = begin_table(b, b->callees.count, w[USPI_WIDTH_TEXT]);
    for (size_t i = 0; t.bytes != NULL && i < b->callees.count; i++)
        put_field(&t, w[USPI_WIDTH_TEXT], b->callees.all[i]);
    return !b->is_out_of_memory;
}

static bool put_code(struct uspi_builder *b, const uint8_t *w, uint64_t base, unsigned unit) {
    struct table t = begin_table(b, b->sites.count,
                                 (unsigned)w[USPI_WIDTH_FUNCTION] + w[USPI_WIDTH_FILE] + w[USPI_WIDTH_CALL_LINE] +
                                     w[USPI_WIDTH_COLUMN]);
    for (size_t i = 0; t.bytes != NULL && i < b->sites.count; i++) {
        put_field(&t, w[USPI_WIDTH_FUNCTION], b->sites.all[i].function);
        put_field(&t, w[USPI_WIDTH_FILE], b->sites.all[i].file);
        put_field(&t, w[USPI_WIDTH_CALL_LINE], b->sites.all[i].line);
        put_field(&t, w[USPI_WIDTH_COLUMN], b->sites.all[i].column);
    }
    t = begin_table(b, b->nodes.count, (unsigned)w[USPI_WIDTH_PARENT] + w[USPI_WIDTH_SITE]);
    for (size_t i = 0; t.bytes != NULL && i < b->nodes.count; i++) {
        const struct uspi_built_node *node = &b->nodes.all[i];
        put_field(&t, w[USPI_WIDTH_PARENT], node->caller != 0 ? i + 1 - node->caller : 0);
        put_field(&t, w[USPI_WIDTH_SITE], node->site);
    }
    t = begin_table(b, b->parts.count, (unsigned)w[USPI_WIDTH_START] + w[USPI_WIDTH_SIZE] + w[USPI_WIDTH_NODE] + 2u);
    for (size_t i = 0; t.bytes != NULL && i < b->parts.count; i++) {
        const struct uspi_built_part *part = &b->parts.all[i];
        put_field(&t, w[USPI_WIDTH_START], (part->low - base) >> unit);
        put_field(&t, w[USPI_WIDTH_SIZE], (part->high - part->low) >> unit);
        put_field(&t, w[USPI_WIDTH_NODE], part->node);
        put_field(&t, 1, part->is_cold);
        put_field(&t, 1, part->node != 0 && b->nodes.all[part->node - 1].knows_tail_calls);
    }
    t = begin_table(b, b->aliases.count, (unsigned)w[USPI_WIDTH_NODE] + w[USPI_WIDTH_FUNCTION]);
    for (size_t i = 0; t.bytes != NULL && i < b->aliases.count; i++) {
        put_field(&t, w[USPI_WIDTH_NODE], b->aliases.all[i].node);
        put_field(&t, w[USPI_WIDTH_FUNCTION], b->aliases.all[i].function);
    }
    return !b->is_out_of_memory;
}

static bool put_calls(struct uspi_builder *b, const uint8_t *w, uint64_t base, unsigned unit) {
    struct table t = begin_table(b, b->calls.count, (unsigned)w[USPI_WIDTH_START] + w[USPI_WIDTH_CALLEE]);
    for (size_t i = 0; t.bytes != NULL && i < b->calls.count; i++) {
        put_field(&t, w[USPI_WIDTH_START], end_of_call(&b->calls.all[i], base, unit));
        put_field(&t, w[USPI_WIDTH_CALLEE], b->calls.all[i].to);
    }
    t = begin_table(b, b->tail_calls.count, (unsigned)w[USPI_WIDTH_PART] + w[USPI_WIDTH_START] + w[USPI_WIDTH_CALLEE]);
    for (size_t i = 0; t.bytes != NULL && i < b->tail_calls.count; i++) {
        put_field(&t, w[USPI_WIDTH_PART], b->tail_calls.all[i].from);
        put_field(&t, w[USPI_WIDTH_START], end_of_call(&b->tail_calls.all[i], base, unit));
        put_field(&t, w[USPI_WIDTH_CALLEE], b->tail_calls.all[i].to);
    }
    return !b->is_out_of_memory;
}

/* Codes the entries after what is written so far. offsets[i] becomes the position of group i. Returns false when memory
 * is exhausted. */
static bool code_entries(struct uspi_builder *b, uint64_t base, unsigned unit, uint32_t *offsets) {
    struct coding c = {.b = b, .base = base, .unit = unit};
    const size_t from = b->bytes.count;
    for (size_t i = 0; i < b->entries.count; i++) {
        const struct uspi_built_entry *entry = &b->entries.all[i];
        const bool is_first = i % USPI_BLOCK_GROUP == 0;
        if (!reserve(b, ENTRY_BYTES)) return false;
        if (is_first) {
            offsets[i / USPI_BLOCK_GROUP] = (uint32_t)(b->bytes.count - from);
            c.count = 0;
        }
        put_entry(&c, entry, is_first ? 0 : (entry->address - b->entries.all[i - 1].address) >> unit);
    }
    return true;
}

/* Inserts the table of groups before the entries, which are coded already. */
static bool put_groups(struct uspi_builder *b, size_t entries_at, const uint32_t *offsets, uint8_t *w, uint64_t base) {
    const size_t groups = (b->entries.count + USPI_BLOCK_GROUP - 1) / USPI_BLOCK_GROUP;
    const unsigned unit = b->bytes.all[4];
    w[USPI_WIDTH_OFFSET] = (uint8_t)uspi_packed_width(offsets[groups - 1]);
    const size_t entry_bytes = b->bytes.count - entries_at;
    const unsigned record = (unsigned)w[USPI_WIDTH_START] + w[USPI_WIDTH_OFFSET];
    const size_t size = (size_t)uspi_packed_size(groups, record);
    if (!reserve(b, size + USPI_PACKED_SLACK)) return false;
    memmove(b->bytes.all + entries_at + size, b->bytes.all + entries_at, entry_bytes);
    /* Writing a field does not change the bytes after the table, which are the entries. */
    memset(b->bytes.all + entries_at, 0, size);
    struct table t = {b->bytes.all + entries_at, 0};
    for (size_t i = 0; i < groups; i++) {
        put_field(&t, w[USPI_WIDTH_START], (b->entries.all[i * USPI_BLOCK_GROUP].address - base) >> unit);
        put_field(&t, w[USPI_WIDTH_OFFSET], offsets[i]);
    }
    b->bytes.count += size;
    return true;
}

static void put_header(struct uspi_builder *b, uint64_t base, unsigned unit, size_t entry_bytes, const uint8_t *width) {
    uint8_t *to = b->bytes.all;
    const size_t counts[] = {b->entries.count,   entry_bytes,    b->nodes.count, b->sites.count,
                             b->functions.count, b->parts.count, b->files.count, b->folders.count,
                             b->aliases.count,   b->text.count,  b->calls.count, b->tail_calls.count,
                             b->callees.count};
    memset(to, 0, USPI_BLOCK_HEADER);
    uspi_store_le(to, b->bytes.count, 4);
    to[4] = (uint8_t)unit;
    uspi_store_le(to + 8, base, 8);
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) uspi_store_le(to + 16 + 4 * i, counts[i], 4);
    memcpy(to + USPI_BLOCK_WIDTHS, width, USPI_WIDTHS);
}

/* Puts the text at the end of the block. */
static bool put_end(struct uspi_builder *b, const uint8_t *text, size_t size) {
    if (!reserve(b, size + USPI_PACKED_SLACK)) return false;
    if (size > 0) memcpy(b->bytes.all + b->bytes.count, text, size);
    memset(b->bytes.all + b->bytes.count + size, 0, USPI_PACKED_SLACK);
    b->bytes.count += size + USPI_PACKED_SLACK;
    return b->bytes.count <= UINT32_MAX;
}

int uspi_block_write(struct uspi_builder *b) {
    uint8_t width[USPI_WIDTHS] = {0};
    uint64_t base = b->entries.all[0].address;
    if (b->parts.count > 0 && b->parts.all[0].low < base) base = b->parts.all[0].low;
    const unsigned unit = find_unit(b, base);
    find_widths(b, base, unit, width);
    for (unsigned i = 0; i < USPI_WIDTHS; i++) {
        if (width[i] > USPI_PACKED_WIDTH_MAX) return USP_ERROR_FULL;
    }
    b->bytes.count = 0;
    if (!reserve(b, USPI_BLOCK_HEADER)) return USP_ERROR_NO_MEMORY;
    memset(b->bytes.all, 0, USPI_BLOCK_HEADER);
    b->bytes.all[4] = (uint8_t)unit;
    b->bytes.count = USPI_BLOCK_HEADER;
    const size_t groups = (b->entries.count + USPI_BLOCK_GROUP - 1) / USPI_BLOCK_GROUP;
    if (!uspi_room_for(&b->numbers, &b->numbers_capacity, 0, groups, sizeof *b->numbers)) return USP_ERROR_NO_MEMORY;
    if (!put_texts(b, width) || !put_code(b, width, base, unit) || !put_calls(b, width, base, unit))
        return USP_ERROR_NO_MEMORY;
    const size_t entries_at = b->bytes.count;
    if (!code_entries(b, base, unit, b->numbers)) return USP_ERROR_NO_MEMORY;
    const size_t entry_bytes = b->bytes.count - entries_at;
    if (entry_bytes > UINT32_MAX) return USP_ERROR_FULL;
    if (!put_groups(b, entries_at, b->numbers, width, base)) return USP_ERROR_NO_MEMORY;
    if (!put_end(b, b->text.all, b->text.count))
        return b->bytes.count > UINT32_MAX ? USP_ERROR_FULL : USP_ERROR_NO_MEMORY;
    put_header(b, base, unit, entry_bytes, width);
    return USP_OK;
}

/* ---- other references to strings ---- */

/* Loads a field of a table that is copied unchanged. */
static uint64_t old_field(const struct uspi_block *block, uint32_t table, uint64_t bit, unsigned width) {
    return uspi_packed_get(block->bytes + table, bit, width);
}

int uspi_builder_translate_block(struct uspi_builder *b, const struct uspi_block *block, unsigned width,
                                 uspi_builder_translate text, void *context) {
    const uint8_t *w = block->width;
    const unsigned old = w[USPI_WIDTH_TEXT];
    b->bytes.count = 0;
    b->is_out_of_memory = false;
    if (!reserve(b, USPI_BLOCK_HEADER)) return USP_ERROR_NO_MEMORY;
    memcpy(b->bytes.all, block->bytes, USPI_BLOCK_HEADER);
    b->bytes.count = USPI_BLOCK_HEADER;
    struct table t = begin_table(b, block->folders, width);
    for (uint64_t i = 0; t.bytes != NULL && i < block->folders; i++) {
        put_field(&t, width, text(context, old_field(block, block->at_folders, i * old, old)));
    }
    unsigned record = w[USPI_WIDTH_FOLDER] + old;
    t = begin_table(b, block->files, (unsigned)w[USPI_WIDTH_FOLDER] + width);
    for (uint64_t i = 0; t.bytes != NULL && i < block->files; i++) {
        put_field(&t, w[USPI_WIDTH_FOLDER], old_field(block, block->at_files, i * record, w[USPI_WIDTH_FOLDER]));
        put_field(&t, width, text(context, old_field(block, block->at_files, i * record + w[USPI_WIDTH_FOLDER], old)));
    }
    const unsigned file = w[USPI_WIDTH_FILE], line = w[USPI_WIDTH_DECLARED];
    record = old + file + line;
    t = begin_table(b, block->functions, width + file + line);
    for (uint64_t i = 0; t.bytes != NULL && i < block->functions; i++) {
        put_field(&t, width, text(context, old_field(block, block->at_functions, i * record, old)));
        put_field(&t, file, old_field(block, block->at_functions, i * record + old, file));
        put_field(&t, line, old_field(block, block->at_functions, i * record + old + file, line));
    }
    t = begin_table(b, block->callees, width);
    for (uint64_t i = 0; t.bytes != NULL && i < block->callees; i++) {
        put_field(&t, width, text(context, old_field(block, block->at_callees, i * old, old)));
    }
    /* Everything from the sites up to the text is copied unchanged. */
    const size_t same = block->at_text - block->at_sites;
    if (b->is_out_of_memory || !reserve(b, same)) return USP_ERROR_NO_MEMORY;
    memcpy(b->bytes.all + b->bytes.count, block->bytes + block->at_sites, same);
    b->bytes.count += same;
    if (!put_end(b, NULL, 0)) return b->bytes.count > UINT32_MAX ? USP_ERROR_FULL : USP_ERROR_NO_MEMORY;
    uspi_store_le(b->bytes.all, b->bytes.count, 4);
    uspi_store_le(b->bytes.all + 52, 0, 4);
    b->bytes.all[USPI_BLOCK_WIDTHS + USPI_WIDTH_TEXT] = (uint8_t)width;
    return USP_OK;
}
