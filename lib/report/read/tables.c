/* SPDX-License-Identifier: MIT */
/* Tables of the images in a text. See tables.h. */
#include "lib/report/read/tables.h"
#include "lib/base/bisect.h"

#include "lib/base/array.h"
#include "lib/report/read/line.h"

struct uspi_table {
    uint64_t position;
    bool is_scattered;
    struct uspi_image_entry *images; /* in the order of addition */
    char **strings;                  /* for each image, the memory that its spans point into */
    size_t count, capacity, string_capacity;
    const struct uspi_image_entry **by_address, **by_name; /* the first `settled` images, sorted */
    size_t settled, placed;                                /* `placed`: number of entries in by_address */
};

static void clear_indexes(struct uspi_table *table) {
    free(table->by_address);
    free(table->by_name);
    table->by_address = table->by_name = NULL;
}

void uspi_log_tables_clear(struct uspi_text_tables *tables) {
    for (size_t i = 0; i < tables->count; i++) {
        struct uspi_table *table = &tables->tables[i];
        for (size_t n = 0; n < table->count; n++) free(table->strings[n]);
        free(table->images);
        free(table->strings);
        clear_indexes(table);
    }
    free(tables->tables);
    *tables = (struct uspi_text_tables){.count = 0};
}

/* ---- filling ---- */

static bool begin_table(struct uspi_text_tables *tables, uint64_t position, bool is_scattered) {
    if (!uspi_log_tables_settle(tables, true)) return false;
    void *grown = uspi_array_reserve(tables->tables, &tables->capacity, tables->count + 1, sizeof *tables->tables);
    if (grown == NULL) return false;
    tables->tables = grown;
    tables->tables[tables->count++] = (struct uspi_table){.position = position, .is_scattered = is_scattered};
    tables->is_open = true;
    return true;
}

/* Opens the table for the next image: the last one, or a new one. A scattered list continues in the last table. */
static bool open_table(struct uspi_text_tables *tables, uint64_t position, bool is_scattered) {
    struct uspi_table *last = tables->count > 0 ? &tables->tables[tables->count - 1] : NULL;
    bool goes_on = last != NULL && last->is_scattered == is_scattered && (tables->is_open || is_scattered);
    if (!goes_on) return begin_table(tables, position, is_scattered);
    tables->is_open = true;
    return true;
}

static bool make_room(struct uspi_table *table) {
    /* The indexes point into the images, which may move. */
    if (table->count == table->capacity) {
        clear_indexes(table);
        table->settled = table->placed = 0;
    }
    void *images = uspi_array_reserve(table->images, &table->capacity, table->count + 1, sizeof *table->images);
    if (images == NULL) return false;
    table->images = images;
    void *strings =
        uspi_array_reserve(table->strings, &table->string_capacity, table->count + 1, sizeof *table->strings);
    if (strings == NULL) return false;
    table->strings = strings;
    return true;
}

static struct uspi_span copy(struct uspi_span text, char **to) {
    if (text.length > 0) memcpy(*to, text.bytes, text.length);
    struct uspi_span copied = {*to, text.length};
    *to += text.length;
    return copied;
}

bool uspi_log_tables_add(struct uspi_text_tables *tables, uint64_t position, const struct uspi_read_image *image) {
    if (image->module_is == USPI_MODULE_RESET) {
        return begin_table(tables, position, true);
    }
    if (!open_table(tables, position, image->is_scattered)) return false;
    /* A mapping without a name and an id belongs to the list and keeps it open, but is not added. */
    bool is_nothing = image->ident.length == 0 && image->path.length == 0 && image->id_size == 0;
    if (is_nothing && image->module_is == USPI_MODULE_NONE && image->base == USP_PLACE_FILE) return true;
    struct uspi_table *table = &tables->tables[tables->count - 1];
    if (!make_room(table)) return false;
    char *string = malloc(image->ident.length + image->path.length + 1);
    if (string == NULL) return false;
    struct uspi_image_entry *entry = &table->images[table->count];
    table->strings[table->count++] = string;
    *entry = (struct uspi_image_entry){.first = image->first,
                                       .last = image->last,
                                       .arch = image->arch,
                                       .variant = image->variant,
                                       .base = image->base,
                                       .base_offset = image->base_offset,
                                       .counts_from_0 = image->counts_from_0,
                                       .id_size = image->id_size,
                                       .module = image->module,
                                       .module_is = image->module_is};
    entry->ident = copy(image->ident, &string);
    entry->path = copy(image->path, &string);
    entry->name = uspi_span_file_name(entry->path);
    memcpy(entry->id, image->id, sizeof entry->id);
    return true;
}

/* ---- order ---- */

/* Equal addresses keep the order of addition. */
static int compare_addresses(const void *a, const void *b) {
    const struct uspi_image_entry *const *x = a, *const *y = b;
    if ((*x)->first != (*y)->first) return (*x)->first < (*y)->first ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

static int compare_names(const void *a, const void *b) {
    const struct uspi_image_entry *const *x = a, *const *y = b;
    int order = uspi_span_compare((*x)->name, (*y)->name);
    if (order != 0) return order;
    return *x < *y ? -1 : *x > *y;
}

static int compare_modules(const void *a, const void *b) {
    const struct uspi_image_entry *const *x = a, *const *y = b;
    if ((*x)->module != (*y)->module) return (*x)->module < (*y)->module ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

/* Copies the name and id of each module to its parts after it. `sorted` has room for all images. */
static void join_modules(struct uspi_table *table, const struct uspi_image_entry **sorted) {
    const struct uspi_image_entry *full = NULL;
    size_t count = 0;
    for (size_t n = 0; n < table->count; n++) {
        if (table->images[n].module_is != USPI_MODULE_NONE) sorted[count++] = &table->images[n];
    }
    qsort(sorted, count, sizeof *sorted, compare_modules);
    for (size_t n = 0; n < count; n++) {
        struct uspi_image_entry *entry = &table->images[sorted[n] - table->images];
        if (entry->module_is == USPI_MODULE_TOLD) {
            const bool is_more = full != NULL && full->module == entry->module && entry->arch == USP_ARCH_NONE;
            if (is_more) entry->arch = full->arch;
            full = entry;
        } else if (full != NULL && full->module == entry->module) {
            entry->ident = full->ident;
            entry->path = full->path;
            entry->name = full->name;
            if (entry->arch == USP_ARCH_NONE) entry->arch = full->arch;
            entry->id_size = full->id_size;
            memcpy(entry->id, full->id, sizeof entry->id);
        }
    }
}

static int compare_parts(const void *a, const void *b) {
    const struct uspi_image_entry *const *x = a, *const *y = b;
    int order = uspi_span_compare((*x)->path, (*y)->path);
    if (order != 0) return order;
    return compare_addresses(a, b);
}

/* If the beginning of a file is mapped as well, makes its other parts count from there. Then they count from the
 * image's load address, which says more than an offset in the file. `sorted` has room for all images. */
static void join_parts(struct uspi_table *table, const struct uspi_image_entry **sorted) {
    const struct uspi_image_entry *beginning = NULL;
    size_t count = 0;
    for (size_t n = 0; n < table->count; n++) {
        if (table->images[n].base == USP_PLACE_FILE) sorted[count++] = &table->images[n];
    }
    qsort(sorted, count, sizeof *sorted, compare_parts);
    for (size_t n = 0; n < count; n++) {
        struct uspi_image_entry *entry = &table->images[sorted[n] - table->images];
        if (n == 0 || !uspi_span_is(sorted[n - 1]->path, entry->path)) beginning = NULL;
        if (entry->base == USP_PLACE_FILE && entry->base_offset == 0) beginning = entry;
        if (beginning == NULL) continue;
        entry->base = USP_PLACE_LOAD;
        entry->base_offset = entry->first - beginning->first;
    }
}

/* Keeps the longest of several entries for one image, which scattered lists have. Returns how many entries are left. */
static size_t merge(const struct uspi_image_entry **sorted, size_t count) {
    size_t kept = 0;
    for (size_t n = 0; n < count; n++) {
        bool is_same = kept > 0 && sorted[kept - 1]->first == sorted[n]->first &&
                       sorted[kept - 1]->id_size == sorted[n]->id_size && sorted[n]->id_size > 0 &&
                       memcmp(sorted[kept - 1]->id, sorted[n]->id, sorted[n]->id_size) == 0;
        if (!is_same) {
            sorted[kept++] = sorted[n];
        } else if (sorted[n]->last > sorted[kept - 1]->last) {
            sorted[kept - 1] = sorted[n];
        }
    }
    return kept;
}

/* In the middle of a text, a list of more than LONG_LIST images is sorted again only when it has grown by one part in
 * GROWTH_SHARE. */
#define LONG_LIST    1024
#define GROWTH_SHARE 16

bool uspi_log_tables_settle(struct uspi_text_tables *tables, bool all) {
    if (tables->count == 0) return true;
    struct uspi_table *table = &tables->tables[tables->count - 1];
    size_t grown = table->count - table->settled;
    if (table->by_address != NULL && grown == 0) return true;
    if (!all && table->settled > LONG_LIST && grown < table->settled / GROWTH_SHARE) return true;
    clear_indexes(table);
    table->settled = table->placed = 0;
    table->by_address = calloc(table->count + 1, sizeof *table->by_address);
    table->by_name = calloc(table->count + 1, sizeof *table->by_name);
    if (table->by_address == NULL || table->by_name == NULL) return false;
    join_modules(table, table->by_address);
    join_parts(table, table->by_address);
    table->placed = 0;
    for (size_t n = 0; n < table->count; n++) {
        const struct uspi_image_entry *image = &table->images[n];
        table->by_name[n] = image;
        if (image->last > 0 || image->first > 0) table->by_address[table->placed++] = image;
    }
    qsort(table->by_address, table->placed, sizeof *table->by_address, compare_addresses);
    qsort(table->by_name, table->count, sizeof *table->by_name, compare_names);
    table->placed = merge(table->by_address, table->placed);
    table->settled = table->count;
    return true;
}

/* ---- questions ---- */

size_t uspi_log_tables_count(const struct uspi_text_tables *tables) { return tables->count - tables->is_open; }

uint64_t uspi_log_tables_position(const struct uspi_text_tables *tables, size_t i) {
    return tables->tables[i].position;
}

bool uspi_log_tables_is_scattered(const struct uspi_text_tables *tables, size_t i) {
    return tables->tables[i].is_scattered;
}

size_t uspi_log_tables_image_count(const struct uspi_text_tables *tables, size_t i) { return tables->tables[i].count; }

const struct uspi_image_entry *uspi_log_tables_image(const struct uspi_text_tables *tables, size_t i, uint64_t n) {
    const struct uspi_table *table = &tables->tables[i];
    return n < table->count ? &table->images[n] : NULL;
}

/* Whether the text before a frame's address, or without one the frame's image, ends with a name of the image. The
 * column may have cut the name. */
static bool is_called(const struct uspi_image_entry *image, const struct uspi_frame *frame) {
    const struct uspi_span names[] = {image->name, image->ident, image->path};
    const struct uspi_span before = frame->before.length > 0 ? frame->before : frame->image;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].length == 0) continue;
        if (uspi_span_ends(before, names[i])) return true;
        if (names[i].length > USPI_IMAGE_WIDTH &&
            uspi_span_ends(before, uspi_span_part(names[i], 0, USPI_IMAGE_WIDTH))) {
            return true;
        }
    }
    return false;
}

/* Returns the last entry that begins at or below an address. */
static const struct uspi_image_entry *find_below(const struct uspi_table *table, uint64_t address) {
    size_t i;
    USPI_FIRST(i, 0, table->placed, table->by_address[i]->first > address);
    return i > 0 ? table->by_address[i - 1] : NULL;
}

const struct uspi_image_entry *uspi_log_tables_find(const struct uspi_text_tables *tables, size_t i,
                                                    const struct uspi_frame *frame, bool strict) {
    const struct uspi_image_entry *image = find_below(&tables->tables[i], frame->address);
    if (image == NULL) return NULL;
    bool is_told = (frame->flags & USPI_FRAME_OFFSET) != 0 && frame->base == USP_PLACE_LOAD;
    bool is_there = is_told && image->first == frame->address - frame->offset && image->base_offset == 0;
    /* A return address may be directly after the image's last byte. If spindump does not know the end, only the frame's
     * offset shows the image. */
    bool is_inside = frame->address <= image->last || frame->address - 1 <= image->last;
    if (!is_inside && !(is_there && image->last == image->first)) return NULL;
    bool is_nameless = image->name.length == 0 && image->ident.length == 0;
    bool is_named = frame->image.length == 0 || is_nameless || is_called(image, frame);
    if (strict ? is_named && (is_there || !is_told) : is_named || is_there) return image;
    return NULL;
}

const struct uspi_image_entry *uspi_log_tables_find_name(const struct uspi_text_tables *tables, size_t i,
                                                         struct uspi_span name) {
    const struct uspi_table *table = &tables->tables[i];
    size_t at;
    USPI_FIRST(at, 0, table->settled, uspi_span_compare(table->by_name[at]->name, name) >= 0);
    return at < table->settled && uspi_span_is(table->by_name[at]->name, name) ? table->by_name[at] : NULL;
}
