/* SPDX-License-Identifier: MIT */
/* See tables.h. A symbol's number is the number of methods in all lists before its own, plus its position there. So no
 * memory is needed for a single method. */
#include "lib/symbolize/objc/tables.h"
#include "lib/base/bisect.h"

#include "lib/base/array.h"
#include "lib/symbolize/macho/ends.h"
#include "lib/symbolize/objc/classes.h"
#include "lib/symbolize/objc/lists.h"

#include <stdlib.h>
#include <string.h>

/* The maximum number of methods that are read. Lists may overlap and be referred to many times, so the number must be
 * limited. For a file, its size is the limit: a method, a class or a list with its reference takes at least 12 bytes.
 * In memory, the limit is more than the largest images have. */
#define BYTES_AT_LEAST   12
#define BUDGET_IN_MEMORY (UINT64_C(1) << 22)
#define NUMBERS_MAX      (USPI_NO_SYMBOL - 1)

struct list {
    struct uspi_objc_list list;
    struct uspi_objc_owner owner;
    uint32_t first; /* number of its first method */
};

struct objc_tables {
    struct uspi_tables contract;
    struct uspi_objc_source source;
    struct list *lists;
    size_t count, room;
    uint32_t numbers; /* given so far */
};

/* ---- reading everything once ---- */

struct visit {
    struct objc_tables *tables;
    uint64_t methods; /* how many more methods are accepted */
};

/* A uspi_objc_visit function: adds a list. */
static int add_list(void *context, const struct uspi_objc_owner *owner, usp_addr at) {
    struct visit *visit = context;
    struct objc_tables *t = visit->tables;
    struct list added = {.owner = *owner, .first = t->numbers};
    int status = uspi_objc_list_open(&t->source, at, &added.list);
    if (status != USP_OK) return status;
    uint32_t count = added.list.count;
    if (count == 0 || count > visit->methods || count > NUMBERS_MAX - t->numbers) return USP_ERROR_FORMAT;
    if (!uspi_room_for(&t->lists, &t->room, t->count, 1, sizeof *t->lists)) return USP_ERROR_NO_MEMORY;
    visit->methods -= count;
    t->numbers += count;
    t->lists[t->count++] = added;
    return USP_OK;
}

/* Returns the start of a method's code, as linked. */
static usp_addr start_of(const struct objc_tables *t, usp_addr implementation) {
    return (implementation & uspi_macho_address_mask(t->source.space.macho.arch)) - t->source.space.slide;
}

static int gather_list(const struct objc_tables *t, const struct list *list, struct uspi_macho_ends *ends,
                       struct uspi_gathering *gathering) {
    for (uint32_t i = 0; i < list->list.count; i++) {
        struct uspi_objc_method method;
        /* A list is contiguous, so the entries after this one cannot be read either. */
        if (uspi_objc_method(&t->source, &list->list, i, &method) != USP_OK) break;
        usp_addr start = start_of(t, method.implementation);
        /* A class can have methods from categories of other images. */
        if (method.selector == 0 || !uspi_macho_code_holds_any(ends->code, start)) continue;
        struct uspi_gathered_symbol candidate = {.start = start, .symbol = list->first + i, .rank = list->owner.origin};
        const usp_addr thumb_bit = method.implementation & ~uspi_macho_address_mask(t->source.space.macho.arch);
        uspi_macho_bound(ends, thumb_bit != 0, &candidate);
        int status = uspi_gather(gathering, &candidate);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

/* Adds all methods. Metadata has no sizes: a method reaches to the next function or the end of its section. If the file
 * does not have the starts of all functions, it reaches as far as control flow does. */
static int gather(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    const struct objc_tables *t = (const struct objc_tables *)tables;
    const struct uspi_macho *macho = &t->source.space.macho;
    struct uspi_macho_code code;
    struct uspi_macho_ends ends;
    int status = uspi_macho_code_read(macho, &code);
    uspi_macho_ends_init(&ends, macho, &t->source.space, &code, false);
    for (size_t i = 0; status == USP_OK && i < t->count; i++) status = gather_list(t, &t->lists[i], &ends, gathering);
    return status == USP_OK
               ? uspi_macho_gather_bounds(macho, &code, uspi_macho_address_mask(t->source.space.macho.arch), gathering)
               : status;
}

/* ---- one method ---- */

static const struct list *list_of(const struct objc_tables *t, uint32_t number) {
    size_t i;
    USPI_FIRST(i, 1, t->count, t->lists[i].first > number);
    return &t->lists[i - 1];
}

/* Builds the name of a method. The caller frees *text. */
static int build_name(const struct objc_tables *t, uint32_t number, usp_addr *start, char **text, size_t *length) {
    const struct list *list = list_of(t, number);
    struct uspi_objc_method method;
    int status = uspi_objc_method(&t->source, &list->list, number - list->first, &method);
    if (status != USP_OK) return status;
    struct uspi_objc_method_name name = {list->owner.class_name, list->owner.category, method.selector,
                                         list->owner.is_meta};
    *start = start_of(t, method.implementation);
    return uspi_objc_format_name(&t->source, &name, text, length);
}

static int get(const struct uspi_tables *tables, uint32_t number, struct uspi_names *names,
               struct uspi_symbol_answer *named) {
    char *text;
    size_t length;
    int status = build_name((const struct objc_tables *)tables, number, &named->start, &text, &length);
    if (status != USP_OK) return status;
    named->size = 0;
    named->name = uspi_names_keep(names, text, length);
    free(text);
    return named->name != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* Prefers the alphabetically first of methods that share their code, as when linkers fold equal functions. So every
 * host gives the same answer. */
static int prefer(const void *context, uint32_t a, uint32_t b) {
    const uint32_t numbers[2] = {a, b};
    char *texts[2] = {NULL, NULL};
    size_t length;
    usp_addr start;
    int statuses[2];
    for (unsigned i = 0; i < 2; i++) statuses[i] = build_name(context, numbers[i], &start, &texts[i], &length);
    int order = 0;
    if (statuses[0] == USP_OK && statuses[1] == USP_OK) {
        order = strcmp(texts[0], texts[1]);
    } else if (statuses[0] != statuses[1]) {
        order = statuses[0] == USP_OK ? -1 : 1;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (statuses[i] == USP_OK) free(texts[i]);
    }
    return order;
}

static void close_tables(struct uspi_tables *tables) {
    struct objc_tables *t = (struct objc_tables *)tables;
    uspi_objc_source_close(&t->source);
    free(t->lists);
    free(t);
}

int uspi_objc_tables_open(const struct uspi_macho *macho, const struct uspi_pointers *process,
                          struct uspi_tables **tables) {
    struct objc_tables *t = calloc(1, sizeof *t);
    if (t == NULL) return USP_ERROR_NO_MEMORY;
    t->contract = (struct uspi_tables){.gather = gather, .get = get, .prefer = prefer, .close = close_tables};
    int status = uspi_objc_source_open(&t->source, macho, process);
    if (status != USP_OK) {
        free(t);
        return status;
    }
    uint64_t budget = t->source.space.is_loaded ? BUDGET_IN_MEMORY : macho->bytes.size / BYTES_AT_LEAST;
    struct visit visit = {t, budget};
    status = uspi_objc_classes_walk(&t->source, &budget, add_list, &visit);
    if (status == USP_OK && t->count == 0) status = USP_ERROR_NOT_FOUND;
    if (status != USP_OK) {
        close_tables(&t->contract);
        return status;
    }
    t->contract.memory = sizeof *t + t->room * sizeof *t->lists;
    *tables = &t->contract;
    return USP_OK;
}
