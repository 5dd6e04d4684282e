/* SPDX-License-Identifier: MIT */
/* See index_file.h. */
#include "lib/symbolize/store/index_file.h"

#include "lib/base/checksum.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'U', 'S', 'P', 'I', 'N', 'D', 'E', 'X'};

void uspi_index_file_close(struct uspi_index_file *index) {
    if (index == NULL) return;
    free(index->checked.states);
    free(index->copy);
    free(atomic_load_explicit(&index->kept, memory_order_relaxed));
    free(atomic_load_explicit(&index->groups, memory_order_relaxed));
    for (uint64_t i = 0; index->opened != NULL && i < index->blocks; i++) {
        free(atomic_load_explicit(&index->opened[i], memory_order_relaxed));
    }
    free(index->opened);
    uspi_file_close(index->file);
    free(index);
}

char *uspi_index_path(const char *store, const uint8_t *build_id, uint32_t size) {
    const size_t capacity = strlen(store) + 2 * (size_t)size + sizeof "///index";
    char *path = size >= 2 ? malloc(capacity) : NULL;
    if (path == NULL) return NULL;
    struct uspi_text text = uspi_text_in(path, capacity);
    uspi_put_string(&text, store);
    uspi_put_string(&text, "/");
    uspi_put_bytes(&text, build_id, 1);
    uspi_put_string(&text, "/");
    uspi_put_bytes(&text, build_id + 1, size - 1);
    uspi_put_string(&text, "/index");
    uspi_text_end(&text);
    return path;
}

/* ---- opening ---- */

static int refuse(const struct uspi_index_file *index, uint64_t offset, int status, const char *what,
                  struct uspi_error *error) {
    return uspi_bytes_error(error, uspi_file_bytes(index->file), offset, status, "%s", what);
}

/* Gets a place for the whole file in one piece. */
static int take_bytes(struct uspi_index_file *index, struct uspi_error *error) {
    const struct uspi_bytes all = uspi_file_bytes(index->file);
    if (all.size < USPI_INDEX_HEADER || all.size > SIZE_MAX / 2) {
        return refuse(index, 0, USP_ERROR_FORMAT, "too short or too long for an index", error);
    }
    index->checked.size = all.size;
    index->checked.bytes = uspi_bytes_place(all);
    if (index->checked.bytes != NULL) {
        index->checked.all = all;
        return USP_OK;
    }
    index->copy = malloc((size_t)all.size);
    if (index->copy == NULL) return USP_ERROR_NO_MEMORY;
    index->checked.bytes = index->copy;
    return uspi_bytes_read(all, 0, index->copy, (size_t)all.size, "index", error);
}

/* Brings n bytes that have no checksum of their page into memory. */
static int need(const struct uspi_index_file *index, uint64_t at, uint64_t n, struct uspi_error *error) {
    const struct uspi_bytes all = index->checked.all;
    if (all.size == 0 || uspi_bytes_in_place(all, at, (size_t)n) != NULL) return USP_OK;
    return refuse(index, at, USP_ERROR_TRUNCATED, "the index was cut off while it was read", error);
}

/* Reads the header, from its copy `b`. */
static int read_header(struct uspi_index_file *index, const uint8_t *b, struct uspi_error *error) {
    const struct uspi_bytes all = uspi_file_bytes(index->file);
    uint8_t header[USPI_INDEX_HEADER];
    memcpy(header, b, sizeof header);
    if (memcmp(header, magic, sizeof magic) != 0) return refuse(index, 0, USP_ERROR_FORMAT, "not an index", error);
    if (uspi_le32(header + 8) != USPI_INDEX_VERSION) {
        return refuse(index, 8, USP_ERROR_UNSUPPORTED, "an index of a version that is not known here", error);
    }
    memset(header + 12, 0, 4);
    if (uspi_le32(b + 12) != uspi_checksum(header, sizeof header)) {
        return refuse(index, 0, USP_ERROR_FORMAT, "the header of the index is damaged", error);
    }
    if (uspi_le64(b + 16) != all.size) return refuse(index, 16, USP_ERROR_FORMAT, "the index is cut off", error);
    index->from = all.from;
    index->flags = uspi_le32(b + 24);
    index->arch = uspi_le32(b + 28);
    index->variant = uspi_le32(b + 32);
    index->build_id_size = uspi_le32(b + 36);
    index->header = uspi_le64(b + 40);
    memcpy(index->build_id, b + 48, sizeof index->build_id);
    memcpy(index->name, b + USPI_INDEX_HEADER - USPI_INDEX_NAME, sizeof index->name - 1);
    if (index->build_id_size > sizeof index->build_id)
        return refuse(index, 36, USP_ERROR_FORMAT, "its build-id is too long", error);
    for (unsigned i = 0; i < USPI_INDEX_SECTIONS; i++) {
        const uint64_t at = uspi_le64(b + 96 + 16 * i), size = uspi_le64(b + 104 + 16 * i);
        int status = uspi_bytes_sub(all, at, size, "section of the index", &index->sections[i], error);
        if (status != USP_OK) return USP_ERROR_FORMAT;
    }
    return USP_OK;
}

static const uint8_t *section(const struct uspi_index_file *index, enum uspi_index_section which) {
    return index->checked.bytes + (size_t)(index->sections[which].from - index->from);
}

/* Returns how many bytes have checksums: those before the section of them. */
static uint64_t covered_of(const struct uspi_index_file *index) {
    return index->sections[USPI_INDEX_SUMS].from - index->from;
}

/* Compares the number of checksums with that of the pages. */
static int check_size(const struct uspi_index_file *index, struct uspi_error *error) {
    const uint64_t covered = covered_of(index), pages = (covered + USPI_CHECKED_PAGE - 1) / USPI_CHECKED_PAGE;
    if (covered >= USPI_INDEX_HEADER && index->sections[USPI_INDEX_SUMS].size == 4 * pages) return USP_OK;
    return refuse(index, covered, USP_ERROR_FORMAT, "the checksums of the index are damaged", error);
}

/* Compares the checksum of the checksums with that in the header `b`. */
static int check_sums(const struct uspi_index_file *index, const uint8_t *b, const uint8_t *sums,
                      struct uspi_error *error) {
    if (uspi_checksum(sums, (size_t)index->sections[USPI_INDEX_SUMS].size) == uspi_le32(b + 80)) return USP_OK;
    return refuse(index, covered_of(index), USP_ERROR_FORMAT, "the checksums of the index are damaged", error);
}

/* Opens the sections of an index that is whole in memory, or can be brought there. */
static int open_sections(struct uspi_index_file *index, struct uspi_error *error) {
    const struct uspi_bytes *sums = &index->sections[USPI_INDEX_SUMS];
    index->checked.sums = section(index, USPI_INDEX_SUMS);
    index->checked.size = covered_of(index);
    index->checked.skipped = USPI_INDEX_HEADER;
    index->checked.states = calloc((size_t)(sums->size / 4) + 1, sizeof *index->checked.states);
    if (index->checked.states == NULL) return USP_ERROR_NO_MEMORY;
    const struct uspi_bytes *map = &index->sections[USPI_INDEX_MAP], *strings = &index->sections[USPI_INDEX_STRINGS];
    const struct uspi_bytes *directory = &index->sections[USPI_INDEX_DIRECTORY];
    int status = uspi_map_open(&index->map, section(index, USPI_INDEX_MAP), map->size, &index->checked);
    if (status == USP_OK) {
        status =
            uspi_string_pool_open(&index->strings, section(index, USPI_INDEX_STRINGS), strings->size, &index->checked);
    }
    if (directory->size < 8 || directory->size % 8 != 0) status = USP_ERROR_FORMAT;
    if (status == USP_OK) {
        index->blocks = directory->size / 8 - 1;
        index->opened = calloc((size_t)index->blocks + 1, sizeof *index->opened);
        return index->opened != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
    }
    return refuse(index, map->from, status, "a section of the index is damaged", error);
}

/* Brings the file into one piece of memory and opens it. */
static int open_whole(struct uspi_index_file *index, struct uspi_error *error) {
    const struct uspi_bytes *sums = &index->sections[USPI_INDEX_SUMS];
    int status = take_bytes(index, error);
    if (status == USP_OK) status = need(index, 0, USPI_INDEX_HEADER, error);
    if (status == USP_OK) status = read_header(index, index->checked.bytes, error);
    if (status == USP_OK) status = check_size(index, error);
    if (status == USP_OK) status = need(index, covered_of(index), sums->size, error);
    if (status == USP_OK) status = check_sums(index, index->checked.bytes, section(index, USPI_INDEX_SUMS), error);
    return status == USP_OK ? open_sections(index, error) : status;
}

/* Reads the header and the checksums, and nothing else. */
static int open_header(struct uspi_index_file *index, struct uspi_error *error) {
    const struct uspi_bytes all = uspi_file_bytes(index->file);
    const struct uspi_bytes *sums = &index->sections[USPI_INDEX_SUMS];
    uint8_t header[USPI_INDEX_HEADER];
    int status = uspi_bytes_read(all, 0, header, sizeof header, "index", error);
    if (status == USP_OK) status = read_header(index, header, error);
    if (status == USP_OK) status = check_size(index, error);
    if (status != USP_OK) return status;
    index->copy = malloc((size_t)sums->size);
    if (index->copy == NULL) return USP_ERROR_NO_MEMORY;
    status = uspi_bytes_read(*sums, 0, index->copy, (size_t)sums->size, "index", error);
    return status == USP_OK ? check_sums(index, header, index->copy, error) : status;
}

static int open_index(const char *path, bool is_whole, struct uspi_index_file **index, struct uspi_error *error) {
    struct uspi_index_file *made = calloc(1, sizeof *made);
    *index = NULL;
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    int status = is_whole ? uspi_file_open(path, &made->file, error) : uspi_file_open_unkept(path, &made->file, error);
    if (status == USP_OK) status = is_whole ? open_whole(made, error) : open_header(made, error);
    if (status != USP_OK) {
        uspi_index_file_close(made);
        return status;
    }
    *index = made;
    return USP_OK;
}

int uspi_index_file_open(const char *path, struct uspi_index_file **index, struct uspi_error *error) {
    return open_index(path, true, index, error);
}

int uspi_index_file_find(const char *store, const struct usp_image *image, bool is_whole,
                         struct uspi_index_file **index, struct uspi_error *error) {
    *index = NULL;
    if (image->build_id_size < 2) return USP_ERROR_NOT_FOUND;
    char *path = uspi_index_path(store, image->build_id, image->build_id_size);
    if (path == NULL) return USP_ERROR_NO_MEMORY;
    int status = open_index(path, is_whole, index, error);
    if (status == USP_OK) {
        const struct uspi_index_file *found = *index;
        const bool is_its = found->build_id_size == image->build_id_size &&
                            memcmp(found->build_id, image->build_id, image->build_id_size) == 0;
        if (!is_its) {
            status = uspi_error_set(error, USP_ERROR_MISMATCH, "%s: the index of another build", path);
            uspi_index_file_close(*index);
            *index = NULL;
        }
    }
    free(path);
    return status;
}

/* ---- blocks ---- */

/* Opens a block and keeps it, unless another thread has kept it meanwhile. */
static int open_block(const struct uspi_index_file *index, uint64_t number, const struct uspi_block **block) {
    const uint8_t *directory = section(index, USPI_INDEX_DIRECTORY), *blocks = section(index, USPI_INDEX_BLOCKS);
    const uint64_t size = index->sections[USPI_INDEX_BLOCKS].size;
    if (!uspi_checked_range(&index->checked, directory + 8 * number, 16)) return USP_ERROR_FORMAT;
    const uint64_t from = uspi_le64(directory + 8 * number), end = uspi_le64(directory + 8 * number + 8);
    if (from > end || end > size) return USP_ERROR_FORMAT;
    if (!uspi_checked_range(&index->checked, blocks + (size_t)from, end - from)) return USP_ERROR_FORMAT;
    struct uspi_block *made = malloc(sizeof *made), *other = NULL;
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    int status = uspi_block_open(made, blocks + (size_t)from, end - from);
    if (status == USP_OK && atomic_compare_exchange_strong(&index->opened[number], &other, made)) {
        *block = made;
        return USP_OK;
    }
    free(made);
    *block = other;
    return status;
}

int uspi_index_block(const struct uspi_index_file *index, uint64_t number, const struct uspi_block **block) {
    if (number >= index->blocks) return USP_ERROR_FORMAT;
    *block = atomic_load_explicit(&index->opened[number], memory_order_acquire);
    return *block != NULL ? USP_OK : open_block(index, number, block);
}

/* ---- strings ---- */

/* How many strings are decoded before there is room for all: of many indexes, few strings are wanted. */
#define DECODED_FIRST 16u

void uspi_index_keep_texts(struct uspi_index_file *index) {
    index->keeps_texts = index->strings.count < SIZE_MAX / sizeof(char *);
}

/* Returns the strings by number, or NULL: there is no room for them so far. */
static _Atomic(const char *) *room_for_texts(struct uspi_index_file *index) {
    _Atomic(const char *) *kept = atomic_load_explicit(&index->kept, memory_order_acquire), *other = NULL;
    if (kept != NULL || !index->keeps_texts) return kept;
    if (atomic_fetch_add_explicit(&index->decoded, 1, memory_order_relaxed) < DECODED_FIRST) return NULL;
    kept = calloc((size_t)index->strings.count + 1, sizeof *kept);
    if (kept == NULL || atomic_compare_exchange_strong(&index->kept, &other, kept)) return kept;
    free(kept);
    return other;
}

int uspi_index_decode_text(struct uspi_index_file *index, uint64_t number, struct uspi_names *names,
                           const char **text) {
    *text = NULL;
    if (number == 0 || number > index->strings.count) return USP_ERROR_FORMAT;
    _Atomic(const char *) *kept = room_for_texts(index);
    /* A string with room of its own is decoded once, so it is not searched for in the set. */
    int status =
        uspi_string_pool_find(&index->strings, number, kept != NULL ? uspi_names_append : uspi_names_keep, names, text);
    if (status == USP_OK && kept != NULL) atomic_store_explicit(&kept[number], *text, memory_order_release);
    return status;
}

/* ---- symbols ----
 *
 * The section has: their number, 8 bytes; for each group, the start of its first symbol and the offset of that symbol
 * from the end of these entries, 8 bytes each. Then come the symbols, as numbers in base 128: the distance from the
 * symbol before it in its group, size × 8 + strategy, name. */

/* The parts of the section. */
struct symbols {
    uint64_t count;
    const uint8_t *groups, *first, *end;
};

/* Finds the parts of the section. Count 0: there are no symbols, or the section is damaged. */
static struct symbols find_symbols(const struct uspi_index_file *index) {
    const uint8_t *bytes = section(index, USPI_INDEX_SYMBOLS);
    const uint64_t size = index->sections[USPI_INDEX_SYMBOLS].size;
    if (size < 8 || !uspi_checked_range(&index->checked, bytes, 8)) return (struct symbols){.count = 0};
    const uint64_t count = uspi_le64(bytes);
    if (count > size || count / USPI_INDEX_SYMBOLS_GROUP + 1 > (size - 8) / 16) return (struct symbols){.count = 0};
    const uint64_t groups = (count + USPI_INDEX_SYMBOLS_GROUP - 1) / USPI_INDEX_SYMBOLS_GROUP;
    return (struct symbols){count, bytes + 8, bytes + 8 + 16 * (size_t)groups, bytes + (size_t)size};
}

uint64_t uspi_index_symbol_count(const struct uspi_index_file *index) { return find_symbols(index).count; }

static inline bool read_varint(const uint8_t **p, const uint8_t *end, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        const uint8_t byte = *(*p)++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) return true;
    }
    return false;
}

/* Moves the cursor to the first symbol of its symbol's group, and compares the checksums of the group's bytes. Returns
 * false when they are damaged. */
static bool begin_group(const struct uspi_index_file *index, const struct symbols *symbols,
                        struct uspi_index_cursor *cursor) {
    const uint64_t number = cursor->number / USPI_INDEX_SYMBOLS_GROUP;
    const bool is_last = (number + 1) * USPI_INDEX_SYMBOLS_GROUP >= symbols->count;
    const uint64_t all = (uint64_t)(symbols->end - symbols->first);
    const uint8_t *group = symbols->groups + 16 * (size_t)number;
    if (!uspi_checked_range(&index->checked, group, is_last ? 16 : 32)) return false;
    const uint64_t from = uspi_le64(group + 8), to = is_last ? all : uspi_le64(group + 24);
    if (from > to || to > all) return false;
    cursor->number = number * USPI_INDEX_SYMBOLS_GROUP;
    cursor->start = uspi_le64(group);
    cursor->rest = symbols->first + (size_t)from;
    cursor->rest_end = symbols->first + (size_t)to;
    return uspi_checked_range(&index->checked, cursor->rest, to - from);
}

/* Reads the cursor's symbol and moves the cursor past it. Returns false when it is damaged. */
static inline bool read_symbol(struct uspi_index_cursor *cursor, struct uspi_index_symbol *symbol) {
    const uint8_t *end = cursor->rest_end;
    uint64_t step, size, name;
    if (!read_varint(&cursor->rest, end, &step) || !read_varint(&cursor->rest, end, &size) ||
        !read_varint(&cursor->rest, end, &name)) {
        return false;
    }
    cursor->start += step;
    cursor->number++;
    *symbol = (struct uspi_index_symbol){cursor->start, size >> 3, name, (uint32_t)(size & 7)};
    return true;
}

static inline bool skip_varint(const uint8_t **p, const uint8_t *end) {
    while (*p < end && (**p & 0x80) != 0) ++*p;
    return (*p)++ < end;
}

int uspi_index_next_symbol(const struct uspi_index_file *index, struct uspi_index_cursor *cursor,
                           struct uspi_index_symbol *symbol) {
    if (cursor->number % USPI_INDEX_SYMBOLS_GROUP == 0) {
        const struct symbols symbols = find_symbols(index);
        cursor->count = symbols.count;
        if (cursor->number < cursor->count && !begin_group(index, &symbols, cursor)) return USP_ERROR_FORMAT;
    }
    if (cursor->number >= cursor->count) return 0;
    return read_symbol(cursor, symbol) ? 1 : USP_ERROR_FORMAT;
}

int uspi_index_symbol(const struct uspi_index_file *index, uint64_t number, struct uspi_index_symbol *symbol) {
    const struct symbols symbols = find_symbols(index);
    struct uspi_index_cursor cursor = {.number = number};
    if (number >= symbols.count || !begin_group(index, &symbols, &cursor)) return USP_ERROR_FORMAT;
    for (; cursor.number < number; cursor.number++) {
        const uint8_t *end = cursor.rest_end;
        uint64_t step;
        if (!read_varint(&cursor.rest, end, &step) || !skip_varint(&cursor.rest, end) ||
            !skip_varint(&cursor.rest, end)) {
            return USP_ERROR_FORMAT;
        }
        cursor.start += step;
    }
    return read_symbol(&cursor, symbol) ? USP_OK : USP_ERROR_FORMAT;
}

/* Moves the cursor to the first symbol of the last group that begins at or below an address. Returns false when there is
 * none, or it is damaged. */
static bool seek_group(const struct uspi_index_file *index, usp_addr address, struct uspi_index_cursor *cursor) {
    const struct symbols symbols = find_symbols(index);
    const uint8_t *groups = symbols.groups;
    uint64_t low = 0, high = (symbols.count + USPI_INDEX_SYMBOLS_GROUP - 1) / USPI_INDEX_SYMBOLS_GROUP;
    /* The groups before `low` begin at or below the address, those from `high` on above it. */
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (!uspi_checked_range(&index->checked, groups + 16 * (size_t)middle, 16)) return false;
        if (uspi_le64(groups + 16 * (size_t)middle) <= address) low = middle + 1;
        if (low <= middle) high = middle;
    }
    if (low == 0) return false;
    *cursor = (struct uspi_index_cursor){.number = (low - 1) * USPI_INDEX_SYMBOLS_GROUP, .count = symbols.count};
    return begin_group(index, &symbols, cursor);
}

/* Reads a symbol's distance from the one before it, and its strategy, and moves *p past the symbol. Returns false when
 * it is damaged. */
static inline bool read_step(const uint8_t **p, const uint8_t *end, uint64_t *step, unsigned *strategy) {
    /* Most symbols have at most 8 bytes, and one or two of them are the distance: these are read as one word. */
    const uint64_t word = end - *p >= 8 ? uspi_le64(*p) : UINT64_MAX;
    const uint64_t ends = ~word & UINT64_C(0x8080808080808080); /* a bit in the last byte of each number */
    const uint64_t past_first = ends & (ends - 1), third = past_first & (past_first - 1);
    if ((ends & 0x8080) != 0 && third != 0) {
        const bool is_one_byte = (ends & 0x80) != 0;
        *step = is_one_byte ? word & 0x7f : (word & 0x7f) | (word >> 1 & 0x3f80);
        *strategy = (unsigned)(word >> (is_one_byte ? 8 : 16)) & 7;
        *p += ((unsigned)__builtin_ctzll(third) >> 3) + 1;
        return true;
    }
    if (!read_varint(p, end, step) || *p == end) return false;
    /* The lowest bits of the size are the strategy. */
    *strategy = **p & 7;
    return skip_varint(p, end) && skip_varint(p, end);
}

bool uspi_index_last_function(const struct uspi_index_file *index, usp_addr address, struct uspi_index_cursor *cursor) {
    struct uspi_index_cursor at;
    bool is_found = false;
    if (!seek_group(index, address, &at)) return false;
    for (const uint8_t *p = at.rest; p < at.rest_end; at.rest = p, at.number++) {
        uint64_t step;
        unsigned strategy;
        if (!read_step(&p, at.rest_end, &step, &strategy)) return false;
        if (at.start + step > address) break;
        if (strategy != USP_STRATEGY_NONE) {
            *cursor = at;
            is_found = true;
        }
        at.start += step;
    }
    return is_found;
}

/* Adds a symbol to its group. */
static void add_to_group(struct uspi_index_groups *groups, uint64_t number, const struct uspi_index_symbol *symbol) {
    struct uspi_index_reach *group = &groups->groups[number / USPI_INDEX_SYMBOLS_GROUP];
    const uint32_t strategy = symbol->strategy % USPI_INDEX_STRATEGIES;
    usp_addr high;
    if (strategy == USP_STRATEGY_NONE) return;
    if (!uspi_sum(symbol->start, symbol->size, &high)) high = symbol->start;
    if (symbol->start < group->low) group->low = symbol->start;
    if (high > group->high) group->high = high;
    if (symbol->start < groups->lowest[strategy]) groups->lowest[strategy] = symbol->start;
    groups->has[strategy] = true;
}

const struct uspi_index_groups *uspi_index_groups(struct uspi_index_file *index) {
    struct uspi_index_groups *groups = atomic_load_explicit(&index->groups, memory_order_acquire), *other = NULL;
    struct uspi_index_cursor cursor = {0};
    struct uspi_index_symbol symbol;
    int got;
    if (groups != NULL) return groups;
    /* The count is not above the section's size, which is in memory. */
    const uint64_t count = uspi_index_symbol_count(index) / USPI_INDEX_SYMBOLS_GROUP + 1;
    groups = calloc(1, sizeof *groups + (size_t)count * sizeof groups->groups[0]);
    if (groups == NULL) return NULL;
    groups->count = count;
    for (unsigned i = 0; i < USPI_INDEX_STRATEGIES; i++) groups->lowest[i] = UINT64_MAX;
    for (uint64_t i = 0; i < count; i++) groups->groups[i].low = UINT64_MAX;
    while ((got = uspi_index_next_symbol(index, &cursor, &symbol)) > 0)
        add_to_group(groups, cursor.number - 1, &symbol);
    if (got == 0 && atomic_compare_exchange_strong(&index->groups, &other, groups)) return groups;
    free(groups);
    return other;
}
