/* SPDX-License-Identifier: MIT */
/* See index_write.h. */
#include "lib/symbolize/store/index_write.h"

#include "arch/little_endian.h"
#include "lib/base/array.h"
#include "lib/base/checksum.h"
#include "lib/base/numbers.h"
#include "lib/os/os.h"
#include "lib/symbolize/lines/builder.h"
#include "lib/symbolize/lines/string_pool.h"

#include <unspool/symbolize.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A block as it was made, with references to strings in sections. */
struct made_block {
    uint8_t *bytes; /* NULL: the unit has no code */
    size_t size;
};

struct uspi_index_writer {
    struct uspi_string_pool_writer *pool;
    struct uspi_builder *builder;
    struct uspi_line_source *source;
    struct made_block *made;
    size_t units;
    uint32_t *block_numbers; /* by unit, for units with code */
    struct uspi_map_range *ranges;
    size_t range_count;
    struct uspi_numbers known;         /* the pool's numbers of strings + 1, by their references */
    struct uspi_index_symbol *symbols; /* names are the pool's numbers before sorting */
    size_t symbol_count, symbol_capacity;
    uint8_t *out;
    size_t out_count, out_capacity;
    bool is_out_of_memory;
    /* The block and unit whose references are being read. */
    const struct uspi_block *block;
    size_t unit;
};

struct uspi_index_writer *uspi_index_writer_create(void) {
    struct uspi_index_writer *w = calloc(1, sizeof *w);
    if (w == NULL) return NULL;
    w->pool = uspi_pool_writer_create();
    w->builder = uspi_builder_create();
    if (w->pool != NULL && w->builder != NULL) return w;
    uspi_index_writer_free(w);
    return NULL;
}

void uspi_index_writer_free(struct uspi_index_writer *w) {
    if (w == NULL) return;
    for (size_t i = 0; w->made != NULL && i < w->units; i++) free(w->made[i].bytes);
    free(w->made);
    free(w->block_numbers);
    free(w->ranges);
    uspi_numbers_free(&w->known);
    free(w->symbols);
    free(w->out);
    uspi_builder_free(w->builder);
    uspi_pool_writer_free(w->pool);
    free(w);
}

/* ---- blocks, on several threads ---- */

struct making {
    struct uspi_index_writer *w;
    const struct uspi_index_work *work;
    _Atomic(size_t) next;
    _Atomic(int) status;
    _Atomic(uint64_t) size; /* of all blocks so far, in bytes */
    struct uspi_lock *lock; /* protects the members below */
    uint64_t done, all;
    size_t error_unit;
    struct uspi_error error; /* of the lowest unit that has one */
};

static void tell_progress(struct making *m, size_t unit, const struct uspi_error *why) {
    uspi_lock_take(m->lock);
    m->done += m->w->source->unit_size(m->w->source, unit);
    if (why->status != USP_OK && (m->error.status == USP_OK || unit < m->error_unit)) {
        m->error = *why;
        m->error_unit = unit;
    }
    int answer = m->work->progress != NULL ? m->work->progress(m->work->context, m->done, m->all) : 0;
    uspi_lock_give(m->lock);
    if (answer != 0) atomic_store_explicit(&m->status, answer, memory_order_relaxed);
}

static int make_one(struct making *m, void *reader, size_t unit) {
    const uint8_t *bytes;
    size_t size;
    struct uspi_error why = {0};
    int status = m->w->source->build(m->w->source, reader, unit, &bytes, &size, &why);
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (status == USP_OK && size > 0) {
        const uint64_t before = atomic_fetch_add_explicit(&m->size, size, memory_order_relaxed);
        if (before + size > uspi_line_source_limit(m->w->source)) return USP_ERROR_FORMAT;
        uint8_t *copy = malloc(size);
        if (copy == NULL) return USP_ERROR_NO_MEMORY;
        memcpy(copy, bytes, size);
        m->w->made[unit] = (struct made_block){copy, size};
    }
    tell_progress(m, unit, &why);
    return USP_OK;
}

static void make_some(void *context) {
    struct making *m = context;
    const struct uspi_line_source *source = m->w->source;
    void *reader = source->create_reader();
    int status = reader != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
    while (status == USP_OK && atomic_load_explicit(&m->status, memory_order_relaxed) == USP_OK) {
        const size_t unit = atomic_fetch_add_explicit(&m->next, 1, memory_order_relaxed);
        if (unit >= m->w->units) break;
        status = make_one(m, reader, unit);
    }
    if (status != USP_OK) atomic_store_explicit(&m->status, status, memory_order_relaxed);
    source->free_reader(reader);
}

static int make_blocks(struct uspi_index_writer *w, const struct uspi_index_work *work, struct uspi_error *error) {
    struct making m = {.w = w, .work = work, .lock = uspi_lock_create()};
    if (m.lock == NULL) return USP_ERROR_NO_MEMORY;
    for (size_t i = 0; i < w->units; i++) m.all += w->source->unit_size(w->source, i);
    uspi_os_parallel(work->threads != 0 ? work->threads : uspi_os_processors(), make_some, &m);
    uspi_lock_free(m.lock);
    const uint64_t limit = uspi_line_source_limit(w->source);
    if (atomic_load_explicit(&m.size, memory_order_relaxed) > limit && error != NULL) {
        uspi_error_set(error, USP_ERROR_FORMAT,
                       "its %s would make an index of more than %" PRIu64 " bytes: it is damaged", w->source->what,
                       limit);
    }
    if (m.error.status != USP_OK && error != NULL && error->status == USP_OK) *error = m.error;
    return atomic_load_explicit(&m.status, memory_order_relaxed);
}

/* ---- strings ---- */

/* Returns the pool's number for a reference of the current block; 0: it refers to no string. */
static uint64_t number_of(struct uspi_index_writer *w, uint64_t text) {
    const unsigned kind = (unsigned)(text & ((1u << USPI_TEXT_KIND_BITS) - 1));
    /* The same reference means another string in other units. */
    const bool is_own = kind == USPI_TEXT_BLOCK || kind == USPI_TEXT_SPLIT_STR || kind == USPI_TEXT_SPLIT_INFO;
    if (text == 0) return 0;
    const uint32_t known = is_own ? 0 : uspi_numbers_get(&w->known, text);
    if (known != 0) return known - 1;
    const struct uspi_block *block = w->block;
    const char *found =
        uspi_text_at(w->source->texts(w->source, w->unit), block->bytes + block->at_text, block->text_bytes, text);
    uint64_t number = 0;
    if (found != NULL) {
        number = uspi_string_pool_add(w->pool, found, kind == USPI_TEXT_BLOCK);
        if (number == 0) w->is_out_of_memory = true;
    }
    if (!is_own && !uspi_numbers_keep(&w->known, text, (uint32_t)number + 1)) w->is_out_of_memory = true;
    return number;
}

/* uspi_builder_translate functions: gather_text is for before the strings are sorted, final_text for afterwards. */
static uint64_t gather_text(void *context, uint64_t text) {
    number_of(context, text);
    return 0;
}

static uint64_t final_text(void *context, uint64_t text) {
    struct uspi_index_writer *w = context;
    return uspi_string_pool_number(w->pool, number_of(w, text));
}

static int gather_strings(struct uspi_index_writer *w) {
    for (size_t i = 0; i < w->units; i++) {
        struct uspi_block block;
        if (w->made[i].bytes == NULL) continue;
        if (uspi_block_open(&block, w->made[i].bytes, w->made[i].size) != USP_OK) {
            free(w->made[i].bytes);
            w->made[i] = (struct made_block){0};
            continue;
        }
        w->block = &block;
        w->unit = i;
        uspi_block_texts(&block, gather_text, w);
        if (w->is_out_of_memory) return USP_ERROR_NO_MEMORY;
    }
    return USP_OK;
}

/* ---- which code each block has ---- */

struct adding {
    struct uspi_map_range *ranges;
    size_t count, capacity;
    uint32_t number;
};

/* A uspi_block_visitor: adds the range of a place for which the block knows a function or a file. */
static int add_range(void *context, const struct uspi_block_entry *place) {
    struct adding *a = context;
    if (place->node == 0 && place->file == 0) return 0;
    struct uspi_map_range *last = a->count > 0 ? &a->ranges[a->count - 1] : NULL;
    if (last != NULL && last->block == a->number && last->high == place->start) {
        last->high = place->end;
        return 0;
    }
    if (!uspi_room_for(&a->ranges, &a->capacity, a->count, 1, sizeof *a->ranges)) return 1;
    a->ranges[a->count++] = (struct uspi_map_range){place->start, place->end, a->number};
    return 0;
}

/* Finds the ranges of all blocks: what units claim, and for units that claim no code, what their blocks know. Single
 * lookups do the same. */
static int find_ranges(struct uspi_index_writer *w) {
    struct uspi_map_range *claims;
    size_t count;
    bool *unclaimed = calloc(w->units + 1, sizeof *unclaimed);
    if (unclaimed == NULL || !w->source->claims(w->source, &claims, &count, unclaimed)) {
        free(unclaimed);
        return USP_ERROR_NO_MEMORY;
    }
    struct adding a = {claims, 0, count, 0};
    for (size_t i = 0; i < count; i++) {
        if (w->made[claims[i].block].bytes == NULL) continue;
        claims[a.count] = claims[i];
        claims[a.count++].block = w->block_numbers[claims[i].block];
    }
    int status = USP_OK;
    for (size_t i = 0; i < w->units && status == USP_OK; i++) {
        struct uspi_block block;
        if (!unclaimed[i] || w->made[i].bytes == NULL) continue;
        a.number = w->block_numbers[i];
        const bool is_open = uspi_block_open(&block, w->made[i].bytes, w->made[i].size) == USP_OK;
        if (is_open && uspi_block_visit(&block, add_range, &a) == 1) status = USP_ERROR_NO_MEMORY;
    }
    free(unclaimed);
    w->ranges = a.ranges;
    w->range_count = a.count;
    return status;
}

int uspi_index_add_lines(struct uspi_index_writer *w, struct uspi_line_source *source,
                         const struct uspi_index_work *work, struct uspi_error *error) {
    w->source = source;
    w->units = source->units;
    w->made = calloc(w->units + 1, sizeof *w->made);
    w->block_numbers = calloc(w->units + 1, sizeof *w->block_numbers);
    if (w->made == NULL || w->block_numbers == NULL) return USP_ERROR_NO_MEMORY;
    int status = make_blocks(w, work, error);
    if (status == USP_OK) status = gather_strings(w);
    uint32_t number = 0;
    for (size_t i = 0; i < w->units; i++) {
        if (w->made[i].bytes != NULL) w->block_numbers[i] = number++;
    }
    return status == USP_OK ? find_ranges(w) : status;
}

bool uspi_index_add_symbol(struct uspi_index_writer *w, usp_addr start, uint64_t size, const char *name,
                           uint32_t strategy) {
    const uint64_t number = uspi_string_pool_add(w->pool, name, true);
    if (number == 0 || !uspi_room_for(&w->symbols, &w->symbol_capacity, w->symbol_count, 1, sizeof *w->symbols))
        return false;
    w->symbols[w->symbol_count++] = (struct uspi_index_symbol){start, size, number, strategy};
    return true;
}

bool uspi_index_add_other_name(struct uspi_index_writer *w, usp_addr start, const char *name) {
    return uspi_index_add_symbol(w, start, USPI_INDEX_OTHER_NAME, name, USP_STRATEGY_NONE);
}

/* ---- calls from unit to unit ---- */

bool uspi_index_visit_callees(struct uspi_index_writer *w, bool (*visit)(void *context, const char *name),
                              void *context) {
    bool *is_visited = calloc((size_t)uspi_string_pool_count(w->pool) + 1, sizeof *is_visited);
    bool goes_on = is_visited != NULL;
    for (size_t i = 0; i < w->units && goes_on; i++) {
        struct uspi_block block;
        if (w->made[i].bytes == NULL || uspi_block_open(&block, w->made[i].bytes, w->made[i].size) != USP_OK) continue;
        w->block = &block;
        w->unit = i;
        for (uint32_t k = 0; k < block.callees && goes_on; k++) {
            const uint64_t text = uspi_block_callee(&block, k), number = number_of(w, text);
            if (number == 0 || is_visited[number]) continue;
            is_visited[number] = true;
            goes_on = visit(context, uspi_text_at(w->source->texts(w->source, i), block.bytes + block.at_text,
                                                  block.text_bytes, text));
        }
    }
    free(is_visited);
    return goes_on && !w->is_out_of_memory;
}

bool uspi_index_add_callee(struct uspi_index_writer *w, usp_addr start, const char *name) {
    return uspi_index_add_symbol(w, start, USPI_INDEX_CALLEE, name, USP_STRATEGY_NONE);
}

static int by_start(const void *a, const void *b) {
    const struct uspi_index_symbol *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    const bool is_alias = x->strategy == USP_STRATEGY_NONE;
    if (is_alias != (y->strategy == USP_STRATEGY_NONE)) return is_alias ? 1 : -1;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    return is_alias && x->size != y->size ? (x->size > y->size ? -1 : 1) : 0;
}

/* Sorts aliases after the symbols of the same functions, and drops those that add no name. Of another name that is also
 * a callee's, the former stays. */
static void sort_symbols(struct uspi_index_writer *w) {
    struct uspi_index_symbol *all = w->symbols;
    size_t kept = 0, first = 0;
    if (w->symbol_count > 1) qsort(all, w->symbol_count, sizeof *all, by_start);
    for (size_t i = 0; i < w->symbol_count; i++) {
        if (kept == 0 || all[kept - 1].start != all[i].start) first = kept;
        const bool is_again = kept > first && (all[i].name == all[first].name || all[i].name == all[kept - 1].name);
        if (all[i].strategy != USP_STRATEGY_NONE || !is_again) all[kept++] = all[i];
    }
    w->symbol_count = kept;
}

/* ---- the file ---- */

static bool append(struct uspi_index_writer *w, const void *bytes, size_t n) {
    if (!uspi_room_for(&w->out, &w->out_capacity, w->out_count, n, 1)) return false;
    if (n > 0) memcpy(w->out + w->out_count, bytes, n);
    w->out_count += n;
    return true;
}

static bool append_number(struct uspi_index_writer *w, unsigned width, uint64_t value) {
    uint8_t raw[8];
    uspi_store_le(raw, value, width);
    return append(w, raw, width);
}

static bool append_varint(struct uspi_index_writer *w, uint64_t value) {
    uint8_t raw[10];
    size_t n = 0;
    do {
        raw[n++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value != 0);
    return append(w, raw, n);
}

/* Writes a section's position and size into the header. */
static void note_section(struct uspi_index_writer *w, uint8_t *header, enum uspi_index_section which, size_t from) {
    uspi_store_le(header + 96 + 16 * which, from, 8);
    uspi_store_le(header + 104 + 16 * which, w->out_count - from, 8);
}

static int put_map(struct uspi_index_writer *w, uint8_t *header) {
    uint8_t *map;
    size_t size;
    const size_t from = w->out_count;
    int status = uspi_map_write(w->ranges, w->range_count, &map, &size);
    if (status != USP_OK) return status;
    const bool is_put = append(w, map, size);
    free(map);
    note_section(w, header, USPI_INDEX_MAP, from);
    return is_put ? USP_OK : USP_ERROR_NO_MEMORY;
}

static int put_blocks(struct uspi_index_writer *w, uint8_t *header) {
    const size_t from = w->out_count;
    const unsigned width = uspi_packed_width(uspi_string_pool_count(w->pool));
    size_t count = 0, done = 0;
    for (size_t i = 0; i < w->units; i++) count += w->made[i].bytes != NULL;
    uint64_t *places = malloc((count + 1) * sizeof *places);
    if (places == NULL) return USP_ERROR_NO_MEMORY;
    int status = USP_OK;
    for (size_t i = 0; i < w->units && status == USP_OK; i++) {
        struct uspi_block block;
        size_t size;
        if (w->made[i].bytes == NULL) continue;
        places[done++] = w->out_count - from;
        status = uspi_block_open(&block, w->made[i].bytes, w->made[i].size);
        w->block = &block;
        w->unit = i;
        if (status == USP_OK) status = uspi_builder_translate_block(w->builder, &block, width, final_text, w);
        const uint8_t *bytes = uspi_builder_bytes(w->builder, &size);
        if (status == USP_OK && !append(w, bytes, size)) status = USP_ERROR_NO_MEMORY;
        free(w->made[i].bytes);
        w->made[i].bytes = NULL;
    }
    places[done] = w->out_count - from;
    note_section(w, header, USPI_INDEX_BLOCKS, from);
    const size_t directory = w->out_count;
    for (size_t i = 0; i <= done && status == USP_OK; i++) {
        if (!append_number(w, 8, places[i])) status = USP_ERROR_NO_MEMORY;
    }
    note_section(w, header, USPI_INDEX_DIRECTORY, directory);
    free(places);
    return w->is_out_of_memory ? USP_ERROR_NO_MEMORY : status;
}

static bool put_symbols(struct uspi_index_writer *w, uint8_t *header) {
    const size_t from = w->out_count,
                 groups = (w->symbol_count + USPI_INDEX_SYMBOLS_GROUP - 1) / USPI_INDEX_SYMBOLS_GROUP;
    bool is_put = append_number(w, 8, w->symbol_count);
    const size_t table = w->out_count;
    for (size_t i = 0; i < groups && is_put; i++) {
        is_put = append_number(w, 8, w->symbols[i * USPI_INDEX_SYMBOLS_GROUP].start) && append_number(w, 8, 0);
    }
    const size_t first = w->out_count;
    for (size_t i = 0; i < w->symbol_count && is_put; i++) {
        const struct uspi_index_symbol *s = &w->symbols[i];
        const bool begins = i % USPI_INDEX_SYMBOLS_GROUP == 0;
        if (begins) uspi_store_le(w->out + table + 16 * (i / USPI_INDEX_SYMBOLS_GROUP) + 8, w->out_count - first, 8);
        const uint64_t size = s->size < UINT64_C(1) << 60 ? s->size : 0;
        is_put = append_varint(w, begins ? 0 : s->start - w->symbols[i - 1].start) &&
                 append_varint(w, size << 3 | s->strategy) &&
                 append_varint(w, uspi_string_pool_number(w->pool, s->name));
    }
    note_section(w, header, USPI_INDEX_SYMBOLS, from);
    return is_put;
}

static bool put_sums(struct uspi_index_writer *w, uint8_t *header) {
    const size_t covered = w->out_count;
    memcpy(w->out, header, USPI_INDEX_HEADER);
    /* The header's bytes are left out of the first page's checksum: the header is complete only after all checksums are
     * known. It has its own checksum. */
    memset(w->out, 0, USPI_INDEX_HEADER);
    for (size_t at = 0; at < covered; at += USPI_CHECKED_PAGE) {
        const size_t n = covered - at < USPI_CHECKED_PAGE ? covered - at : USPI_CHECKED_PAGE;
        const size_t skipped = at == 0 ? USPI_INDEX_HEADER : 0;
        if (!append_number(w, 4, uspi_checksum(w->out + at + skipped, n - skipped))) return false;
    }
    note_section(w, header, USPI_INDEX_SUMS, covered);
    uspi_store_le(header + 80, uspi_checksum(w->out + covered, w->out_count - covered), 4);
    return true;
}

/* Puts a name, cut to fit without splitting a character. */
static void put_name(uint8_t *to, const char *name) {
    size_t n = strlen(name);
    if (n >= USPI_INDEX_NAME) {
        n = USPI_INDEX_NAME - 1;
        while (n > 0 && ((uint8_t)name[n] & 0xc0) == 0x80) n--;
    }
    memcpy(to, name, n);
}

int uspi_index_finish(struct uspi_index_writer *w, const struct uspi_index_header *of, uint8_t **bytes, size_t *size) {
    uint8_t header[USPI_INDEX_HEADER] = {'U', 'S', 'P', 'I', 'N', 'D', 'E', 'X'};
    uint8_t *strings;
    size_t string_size;
    *bytes = NULL;
    sort_symbols(w);
    int status = uspi_string_pool_write(w->pool, &strings, &string_size);
    if (status != USP_OK) return status;
    if (!append(w, header, sizeof header)) status = USP_ERROR_NO_MEMORY;
    if (status == USP_OK) status = put_map(w, header);
    if (status == USP_OK) status = put_blocks(w, header);
    const size_t from = w->out_count;
    if (status == USP_OK && !append(w, strings, string_size)) status = USP_ERROR_NO_MEMORY;
    note_section(w, header, USPI_INDEX_STRINGS, from);
    free(strings);
    if (status == USP_OK && (!put_symbols(w, header) || !put_sums(w, header))) status = USP_ERROR_NO_MEMORY;
    if (status != USP_OK) return status;
    uspi_store_le(header + 8, USPI_INDEX_VERSION, 4);
    uspi_store_le(header + 16, w->out_count, 8);
    uspi_store_le(header + 24, of->flags, 4);
    uspi_store_le(header + 28, of->arch, 4);
    uspi_store_le(header + 32, of->variant, 4);
    uspi_store_le(header + 36, of->build_id_size, 4);
    uspi_store_le(header + 40, of->header, 8);
    memcpy(header + 48, of->build_id, of->build_id_size);
    if (of->name != NULL) put_name(header + USPI_INDEX_HEADER - USPI_INDEX_NAME, of->name);
    uspi_store_le(header + 12, uspi_checksum(header, sizeof header), 4);
    memcpy(w->out, header, sizeof header);
    *bytes = w->out;
    *size = w->out_count;
    w->out = NULL;
    return USP_OK;
}
