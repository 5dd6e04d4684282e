/* SPDX-License-Identifier: MIT */
/* Breakpad's symbols (lib/object/breakpad.h) as a symbol file. Opening reads the text once, to find its functions,
 * files and origins of inlined calls. The records of a function are read when its block is made. */
#include "lib/object/breakpad.h"
#include "lib/base/bisect.h"

#include "lib/base/array.h"
#include "lib/symbolize/symfile/reading.h"

#include <stdlib.h>
#include <string.h>

/* The maximum depth of inlined calls. */
#define DEPTH 512u

/* The position of a record. The key of FUNC and PUBLIC records is their address, that of FILE and INLINE_ORIGIN records
 * their number. */
struct record {
    uint64_t key;
    size_t at;
};

struct records {
    struct record *all;
    size_t count, capacity;
};

struct breakpad_file {
    struct uspi_symfile contract;
    struct uspi_breakpad breakpad;
    struct records functions, labels, files, origins;
};

static const struct breakpad_file *file_behind(const struct uspi_symfile *symfile) {
    return (const struct breakpad_file *)symfile;
}

/* ---- places ---- */

static int by_key(const void *a, const void *b) {
    const struct record *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Sorts places, which are in order already if a program wrote them. */
static void sort_places(struct records *places) {
    for (size_t i = 1; i < places->count; i++) {
        if (by_key(&places->all[i - 1], &places->all[i]) < 0) continue;
        qsort(places->all, places->count, sizeof *places->all, by_key);
        return;
    }
}

/* Reads the record with a key. Returns false when there is none. */
static bool read_place(const struct breakpad_file *b, const struct records *places, uint64_t key,
                       struct uspi_breakpad_record *record) {
    size_t i;
    USPI_FIRST(i, 0, places->count, places->all[i].key >= key);
    if (i == places->count || places->all[i].key != key) return false;
    size_t at = places->all[i].at;
    return uspi_breakpad_next(&b->breakpad, &at, record);
}

static struct records *places_of(struct breakpad_file *b, enum uspi_breakpad_kind kind) {
    switch (kind) {
    case USPI_BREAKPAD_FUNC: return &b->functions;
    case USPI_BREAKPAD_PUBLIC: return &b->labels;
    case USPI_BREAKPAD_FILE: return &b->files;
    case USPI_BREAKPAD_ORIGIN: return &b->origins;
    default: return NULL;
    }
}

/* Finds the records of all functions, labels, files and origins. Returns false when memory is exhausted. */
static bool find_places(struct breakpad_file *b) {
    struct uspi_breakpad_record record;
    size_t at = b->breakpad.first, begin = at;
    for (; uspi_breakpad_next(&b->breakpad, &at, &record); begin = at) {
        struct records *places = places_of(b, record.kind);
        if (places == NULL) continue;
        if (!uspi_room_for(&places->all, &places->capacity, places->count, 1, sizeof *places->all)) return false;
        const bool is_code = record.kind == USPI_BREAKPAD_FUNC || record.kind == USPI_BREAKPAD_PUBLIC;
        places->all[places->count++] = (struct record){is_code ? record.address : record.number, begin};
    }
    sort_places(&b->functions);
    sort_places(&b->labels);
    sort_places(&b->files);
    sort_places(&b->origins);
    return true;
}

/* ---- functions ---- */

static bool get_start(const struct uspi_symfile *symfile, uint64_t i, usp_addr *start) {
    const struct records *functions = &file_behind(symfile)->functions;
    if (i >= functions->count) return false;
    *start = functions->all[i].key;
    return true;
}

/* Reads the record of a function or label. *at becomes the position after it. */
static bool read_symbol(const struct breakpad_file *b, uint64_t i, size_t *at, struct uspi_breakpad_record *record) {
    const struct records *places = i < b->functions.count ? &b->functions : &b->labels;
    if (places == &b->labels) i -= b->functions.count;
    if (i >= places->count) return false;
    *at = places->all[i].at;
    return uspi_breakpad_next(&b->breakpad, at, record);
}

static bool get_function(const struct uspi_symfile *symfile, uint64_t i, struct uspi_symfile_function *function) {
    struct uspi_breakpad_record record;
    size_t at;
    if (!read_symbol(file_behind(symfile), i, &at, &record)) return false;
    *function = (struct uspi_symfile_function){record.address, record.address + record.size};
    return true;
}

static const char *get_name(const struct uspi_symfile *symfile, uint64_t i, struct uspi_names *names) {
    struct uspi_breakpad_record record;
    size_t at;
    if (!read_symbol(file_behind(symfile), i, &at, &record) || record.text.length == 0) return NULL;
    /* A name cannot continue after a zero. */
    const char *end = memchr(record.text.bytes, '\0', record.text.length);
    if (end == record.text.bytes) return NULL;
    const size_t length = end != NULL ? (size_t)(end - record.text.bytes) : record.text.length;
    return uspi_names_keep(names, record.text.bytes, length);
}

/* ---- a block ---- */

static uint64_t text_of(struct uspi_symfile_reading *reading, struct uspi_span text) {
    return uspi_builder_text(reading->builder, text.bytes, text.length);
}

/* Returns the builder's number of a file. The path is split after its last slash. */
static uint32_t file_of(const struct breakpad_file *b, struct uspi_symfile_reading *reading, uint64_t number) {
    struct uspi_breakpad_record record;
    const uint32_t known = uspi_numbers_get(&reading->files, number);
    if (known != 0) return known;
    if (!read_place(b, &b->files, number, &record) || record.text.length == 0) return 0;
    const struct uspi_span name = uspi_span_file_name(record.text);
    const size_t folder = record.text.length - name.length;
    const struct uspi_span path = uspi_span_part(record.text, 0, folder > 1 ? folder - 1 : folder);
    const uint32_t in = folder > 0 ? uspi_folders_number(&reading->folders, reading->builder, path) : 0;
    return uspi_symfile_keep(reading, &reading->files, number,
                             uspi_builder_file(reading->builder, in, text_of(reading, name)));
}

static uint32_t inlined_function(const struct breakpad_file *b, struct uspi_symfile_reading *reading, uint64_t origin) {
    struct uspi_breakpad_record record;
    const uint32_t known = uspi_numbers_get(&reading->functions, origin);
    if (known != 0) return known;
    const uint64_t name = read_place(b, &b->origins, origin, &record) ? text_of(reading, record.text) : 0;
    return uspi_symfile_keep(reading, &reading->functions, origin, uspi_builder_function(reading->builder, name, 0, 0));
}

/* How much was gathered for a function. */
struct gathered {
    size_t rows, inlined;
};

/* Adds a row, and one that ends it. The second one is dropped if the next row begins there. */
static bool gather_row(const struct breakpad_file *b, struct uspi_symfile_reading *r,
                       const struct uspi_breakpad_record *record, struct gathered *gathered) {
    if (record->size == 0) return true;
    if (!uspi_room_for(&r->rows, &r->row_capacity, gathered->rows, 2, sizeof *r->rows)) {
        r->is_out_of_memory = true;
        return false;
    }
    r->rows[gathered->rows++] = (struct uspi_row){.address = record->address + record->size};
    r->rows[gathered->rows++] =
        (struct uspi_row){record->address, file_of(b, r, record->file), (uint32_t)record->line, 0};
    return true;
}

static bool gather_inlined(const struct breakpad_file *b, struct uspi_symfile_reading *r,
                           const struct uspi_breakpad_record *record, struct gathered *gathered) {
    struct uspi_span ranges = record->text;
    struct uspi_symfile_inlined inlined = {.level = record->level};
    if (record->level >= DEPTH) return false;
    inlined.call = (struct uspi_call){.function = inlined_function(b, r, record->number),
                                      .file = file_of(b, r, record->file),
                                      .line = (uint32_t)record->line};
    while (uspi_breakpad_range(&ranges, &inlined.low, &inlined.high)) {
        if (!uspi_room_for(&r->inlined, &r->inlined_capacity, gathered->inlined, 1, sizeof *r->inlined)) {
            r->is_out_of_memory = true;
            return false;
        }
        r->inlined[gathered->inlined++] = inlined;
    }
    return ranges.length == 0;
}

/* Sorts rows by address. Of rows at one address the last one counts, so one that only ends another comes first. */
static int by_address(const void *a, const void *b) {
    const struct uspi_row *x = a, *y = b;
    if (x->address != y->address) return x->address < y->address ? -1 : 1;
    if ((x->file != 0) != (y->file != 0)) return x->file != 0 ? 1 : -1;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    return (x->file > y->file) - (x->file < y->file);
}

static int by_level(const void *a, const void *b) {
    const struct uspi_symfile_inlined *x = a, *y = b;
    if (x->level != y->level) return x->level < y->level ? -1 : 1;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return (x->high > y->high) - (x->high < y->high);
}

/* Finds the call of the level above that holds the range; NULL: none. That level is all[from … end − 1]. */
static const struct uspi_symfile_inlined *find_caller(const struct uspi_symfile_inlined *all, size_t from, size_t end,
                                                      const struct uspi_symfile_inlined *range) {
    size_t i;
    USPI_FIRST(i, from, end, all[i].low > range->low);
    return i > from && range->high <= all[i - 1].high ? &all[i - 1] : NULL;
}

/* Adds the inlined calls. The caller of a call is the one of the level above that holds its range, regardless of the
 * order of the records. A call without a caller is left out; then returns false. */
static bool add_inlined(struct uspi_symfile_reading *r, size_t count, uint32_t root) {
    bool is_valid = true;
    size_t above = 0, from = 0; /* where the level above and the current one begin */
    if (count > 0) qsort(r->inlined, count, sizeof *r->inlined, by_level);
    for (size_t i = 0; i < count; i++) {
        struct uspi_symfile_inlined *inlined = &r->inlined[i];
        if (i > 0 && inlined->level != r->inlined[i - 1].level) {
            above = from;
            from = i;
        }
        uint32_t caller = root;
        if (inlined->level > 0) {
            const struct uspi_symfile_inlined *found = from > 0 && r->inlined[above].level + 1 == inlined->level
                                                           ? find_caller(r->inlined, above, from, inlined)
                                                           : NULL;
            caller = found != NULL ? found->node : 0;
        }
        if (caller != 0) inlined->node = uspi_builder_inlined(r->builder, caller, &inlined->call);
        is_valid = is_valid && inlined->node != 0;
        uspi_symfile_range(r, inlined->low, inlined->high, inlined->node);
    }
    return is_valid;
}

/* Reads a function. The records after a FUNC belong to it, up to the next FUNC or PUBLIC. */
static bool read_function(const struct uspi_symfile *symfile, uint64_t i, struct uspi_symfile_reading *r) {
    const struct breakpad_file *b = file_behind(symfile);
    struct uspi_breakpad_record record;
    struct gathered gathered = {0};
    size_t at;
    bool is_valid = true;
    if (!read_symbol(b, i, &at, &record)) return false;
    const uint32_t root = uspi_symfile_root(r, text_of(r, record.text));
    while (uspi_breakpad_next(&b->breakpad, &at, &record)) {
        if (record.kind == USPI_BREAKPAD_LINE) {
            is_valid = gather_row(b, r, &record, &gathered) && is_valid;
        } else if (record.kind == USPI_BREAKPAD_INLINE) {
            is_valid = gather_inlined(b, r, &record, &gathered) && is_valid;
        } else if (record.kind == USPI_BREAKPAD_FUNC || record.kind == USPI_BREAKPAD_PUBLIC) {
            break;
        }
        if (r->is_out_of_memory) break;
    }
    if (gathered.rows > 0) qsort(r->rows, gathered.rows, sizeof *r->rows, by_address);
    for (size_t k = 0; k < gathered.rows; k++) uspi_symfile_row(r, &r->rows[k]);
    return add_inlined(r, gathered.inlined, root) && is_valid;
}

/* ---- opening ---- */

static void close_file(struct uspi_symfile *symfile) {
    struct breakpad_file *b = (struct breakpad_file *)symfile;
    free(b->functions.all);
    free(b->labels.all);
    free(b->files.all);
    free(b->origins.all);
    free(b);
}

int uspi_symfile_open_breakpad(struct uspi_bytes bytes, struct uspi_symfile **symfile) {
    struct breakpad_file *made = calloc(1, sizeof *made);
    *symfile = NULL;
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    int status = uspi_breakpad_open(&made->breakpad, bytes, NULL) == USP_OK ? USP_OK : USP_ERROR_NOT_FOUND;
    if (status == USP_OK && !find_places(made)) status = USP_ERROR_NO_MEMORY;
    if (status != USP_OK) {
        close_file(&made->contract);
        return status;
    }
    const size_t places =
        made->functions.capacity + made->labels.capacity + made->files.capacity + made->origins.capacity;
    made->contract = (struct uspi_symfile){.what = "Breakpad's symbols",
                                           .size = bytes.size,
                                           .count = made->functions.count,
                                           .labels = made->labels.count,
                                           .is_relative = true,
                                           .memory = sizeof *made + places * sizeof(struct record),
                                           .start = get_start,
                                           .function = get_function,
                                           .name = get_name,
                                           .read = read_function,
                                           .close = close_file};
    *symfile = &made->contract;
    return USP_OK;
}
