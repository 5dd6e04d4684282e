/* SPDX-License-Identifier: MIT */
/* See log_tables.h. */
#include "tools/log_tables.h"

#include <stdlib.h>
#include <string.h>

struct log_table {
    uint64_t position;
    struct log_image *images; /* as they came */
    char **strings;           /* what their spans point into, one each */
    size_t count, room;
    const struct log_image **by_address, **by_name; /* made when the table ends */
};

void log_tables_free(struct log_tables *tables) {
    for (size_t i = 0; i < tables->count; i++) {
        struct log_table *table = &tables->tables[i];
        for (size_t n = 0; n < table->count; n++) free(table->strings[n]);
        free(table->images);
        free(table->strings);
        free(table->by_address);
        free(table->by_name);
    }
    free(tables->tables);
    *tables = (struct log_tables){.count = 0};
}

static bool begin_table(struct log_tables *tables, uint64_t position) {
    if (tables->count == tables->room) {
        size_t room = tables->room * 2 + 4;
        struct log_table *grown = realloc(tables->tables, room * sizeof *grown);
        if (grown == NULL) return false;
        tables->tables = grown;
        tables->room = room;
    }
    tables->tables[tables->count++] = (struct log_table){.position = position};
    tables->is_open = true;
    return true;
}

static bool make_room(struct log_table *table) {
    if (table->count < table->room) return true;
    size_t room = table->room * 2 + 1;
    struct log_image *images = realloc(table->images, room * sizeof *images);
    if (images == NULL) return false;
    table->images = images;
    char **strings = realloc(table->strings, room * sizeof *strings);
    if (strings == NULL) return false;
    table->strings = strings;
    table->room = room;
    return true;
}

static struct span copy(struct span text, char **to) {
    if (text.length > 0) memcpy(*to, text.bytes, text.length);
    struct span copied = {*to, text.length};
    *to += text.length;
    return copied;
}

bool log_tables_add(struct log_tables *tables, uint64_t position, const struct log_image_line *line) {
    if (!tables->is_open && !begin_table(tables, position)) return false;
    struct log_table *table = &tables->tables[tables->count - 1];
    if (!make_room(table)) return false;
    char *string = malloc(line->ident.length + line->path.length + 1);
    if (string == NULL) return false;
    struct log_image *image = &table->images[table->count];
    table->strings[table->count++] = string;
    *image = (struct log_image){line->first, line->last, .arch = line->arch, .id_size = line->id_size};
    image->ident = copy(line->ident, &string);
    image->path = copy(line->path, &string);
    image->name = span_file_name(image->path);
    memcpy(image->id, line->id, sizeof image->id);
    return true;
}

/* Equal ones in the order in which they came. */
static int compare_addresses(const void *a, const void *b) {
    const struct log_image *const *x = a, *const *y = b;
    if ((*x)->first != (*y)->first) return (*x)->first < (*y)->first ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

static int compare_spans(struct span a, struct span b) {
    size_t common = a.length < b.length ? a.length : b.length;
    int order = common > 0 ? memcmp(a.bytes, b.bytes, common) : 0;
    if (order != 0) return order;
    return a.length < b.length ? -1 : a.length > b.length;
}

static int compare_names(const void *a, const void *b) {
    const struct log_image *const *x = a, *const *y = b;
    int order = compare_spans((*x)->name, (*y)->name);
    if (order != 0) return order;
    return *x < *y ? -1 : *x > *y;
}

bool log_tables_end(struct log_tables *tables) {
    if (!tables->is_open) return true;
    tables->is_open = false;
    struct log_table *table = &tables->tables[tables->count - 1];
    table->by_address = calloc(table->count, sizeof *table->by_address);
    table->by_name = calloc(table->count, sizeof *table->by_name);
    if (table->by_address == NULL || table->by_name == NULL) return false;
    for (size_t n = 0; n < table->count; n++) table->by_address[n] = table->by_name[n] = &table->images[n];
    qsort(table->by_address, table->count, sizeof *table->by_address, compare_addresses);
    qsort(table->by_name, table->count, sizeof *table->by_name, compare_names);
    return true;
}

size_t log_tables_count(const struct log_tables *tables) { return tables->count - tables->is_open; }

uint64_t log_tables_position(const struct log_tables *tables, size_t i) { return tables->tables[i].position; }

const struct log_image *log_tables_image(const struct log_tables *tables, size_t i, uint64_t n) {
    const struct log_table *table = &tables->tables[i];
    return n < table->count ? &table->images[n] : NULL;
}

/* Whether what precedes the address in a frame's line ends with a name of the image, which the column may have cut. */
static bool is_called(const struct log_image *image, struct span before) {
    const struct span names[] = {image->name, image->ident, image->path};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].length == 0) continue;
        if (span_ends(before, names[i])) return true;
        if (names[i].length > LOG_IMAGE_WIDTH && span_ends(before, span_part(names[i], 0, LOG_IMAGE_WIDTH)))
            return true;
    }
    return false;
}

const struct log_image *log_tables_find(const struct log_tables *tables, size_t i, const struct log_frame *frame,
                                        bool strict) {
    const struct log_table *table = &tables->tables[i];
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->by_address[middle]->first <= frame->address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) return NULL;
    const struct log_image *image = table->by_address[low - 1];
    /* A return address may lie right behind the image's last byte. */
    if (frame->address > image->last && frame->address - 1 > image->last) return NULL;
    bool is_told = (frame->flags & LOG_FRAME_OFFSET) != 0;
    bool is_there = is_told && image->first == frame->address - frame->offset;
    bool is_named = frame->image.length == 0 || is_called(image, frame->before);
    if (strict ? is_named && (is_there || !is_told) : is_named || is_there) return image;
    return NULL;
}

const struct log_image *log_tables_find_name(const struct log_tables *tables, size_t i, struct span name) {
    const struct log_table *table = &tables->tables[i];
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_spans(table->by_name[middle]->name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < table->count && span_equals(table->by_name[low]->name, name) ? table->by_name[low] : NULL;
}
