/* SPDX-License-Identifier: MIT */
/* Implements given_names.h. The functions of a name are found once for each name, because reports repeat names. */
#include "lib/symbolize/builds/given_names.h"

#include "lib/base/array.h"

#include <stdlib.h>
#include <string.h>

/* The most functions of one name that are kept, such as static functions of several files. With more, the name is
 * believed. */
#define FUNCTIONS_MAX 64

/* The most names of a build whose functions are searched for, because each search visits all symbols. Of further names
 * only the offset counts. */
#define NAMES_MAX 256

struct function_range {
    usp_addr start, last; /* inclusive */
};

struct uspi_given_name {
    char *name;
    struct function_range *functions;
    size_t count, capacity;
};

/* ---- comparing names ---- */

static const uint32_t modes[] = {USP_DEMANGLE_FULL, USP_DEMANGLE_SIMPLE, USP_DEMANGLE_SHORT};

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns the last word before the parameters: the function's own name, which most mangled names contain. */
static struct uspi_span own_word(struct uspi_span name) {
    static const struct uspi_span anonymous = USPI_SPAN_INIT("(anonymous namespace)");
    size_t end = uspi_span_find(name, 0, USPI_SPAN("("));
    while (uspi_span_has_at(name, end, anonymous)) end = uspi_span_find(name, end + anonymous.length, USPI_SPAN("("));
    while (end > 0 && !is_word(name.bytes[end - 1])) end--;
    size_t begin = end;
    while (begin > 0 && is_word(name.bytes[begin - 1])) begin--;
    return uspi_span_part(name, begin, end);
}

/* The underscore that C adds, and that tools leave out or keep. */
static struct uspi_span without_underscore(struct uspi_span name) {
    return uspi_span_begins(name, USPI_SPAN("_")) ? uspi_span_after(name, 1) : name;
}

/* Sets *is_same: whether a symbol has the given name in any form in which tools write it. Returns USP_OK or
 * USP_ERROR_NO_MEMORY. */
static int compare_name(struct uspi_given_names *names, struct uspi_span given, const char *symbol, bool *is_same) {
    const struct uspi_span raw = uspi_span_of(symbol);
    *is_same = uspi_span_is(raw, given) || uspi_span_is(without_underscore(raw), without_underscore(given));
    if (*is_same || usp_mangling_of(symbol) == USP_MANGLING_NONE) return USP_OK;
    for (size_t i = 0; i < sizeof modes / sizeof *modes && !*is_same; i++) {
        struct usp_demangler **demangler = &names->demanglers[i];
        const int status = *demangler == NULL ? usp_demangler_create(modes[i], demangler) : USP_OK;
        if (status != USP_OK) return status;
        *is_same = uspi_span_is(uspi_span_of(usp_demangle(*demangler, symbol)), given);
    }
    return USP_OK;
}

/* ---- the functions of a name ---- */

struct search {
    struct uspi_given_names *names;
    struct uspi_given_name *found;
    struct uspi_span given, word;
};

/* A usp_symbol_visitor. */
static int visit_function(void *context, const struct usp_symbol *symbol) {
    struct search *search = context;
    struct uspi_given_name *found = search->found;
    bool is_same;
    /* Most names lack the word, so few are demangled. A Swift name that a substitution has shortened is missed. */
    if (!uspi_span_has(uspi_span_of(symbol->name), search->word)) return 0;
    const int status = compare_name(search->names, search->given, symbol->name, &is_same);
    if (status != USP_OK || !is_same) return status;
    if (!uspi_room_for(&found->functions, &found->capacity, found->count, 1, sizeof *found->functions)) {
        return USP_ERROR_NO_MEMORY;
    }
    const uint64_t size = symbol->extent > 0 ? symbol->extent : 1;
    found->functions[found->count++] = (struct function_range){symbol->start, symbol->start + size - 1};
    return found->count > FUNCTIONS_MAX ? 1 : 0;
}

static int find_functions(struct uspi_given_names *names, const struct uspi_given_place *place,
                          struct uspi_given_name *found) {
    struct search search = {names, found, place->name, own_word(place->name)};
    const int status = usp_symbolizer_visit(place->symbolizer, place->call_site, visit_function, &search);
    return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
}

static void free_name(struct uspi_given_name *name) {
    free(name->name);
    free(name->functions);
}

static const struct uspi_given_name *find_entry(const struct uspi_given_names *names, struct uspi_span name) {
    for (size_t i = names->count; i-- > 0;) {
        if (uspi_span_is(uspi_span_of(names->names[i].name), name)) return &names->names[i];
    }
    return NULL;
}

/* Finds the functions of a place's name. NULL when memory is exhausted. */
static const struct uspi_given_name *add_entry(struct uspi_given_names *names, const struct uspi_given_place *place) {
    struct uspi_given_name made = {.name = malloc(place->name.length + 1)};
    if (made.name == NULL) return NULL;
    memcpy(made.name, place->name.bytes, place->name.length);
    made.name[place->name.length] = '\0';
    if (find_functions(names, place, &made) != USP_OK ||
        !uspi_room_for(&names->names, &names->capacity, names->count, 1, sizeof *names->names)) {
        free_name(&made);
        return NULL;
    }
    names->names[names->count] = made;
    return &names->names[names->count++];
}

/* ---- the decision ---- */

/* Whether the text's offset leads to the function that holds the code. */
static bool leads_to_function(const struct uspi_given_place *place) {
    struct usp_symbol symbol;
    const usp_addr named = place->pc - place->offset;
    if (place->offset > place->pc) return false;
    if (named == place->start) return true;
    return usp_symbolize(place->symbolizer, named, &symbol) == USP_OK && symbol.start == place->start;
}

int uspi_given_name_holds(struct uspi_given_names *names, const struct uspi_given_place *place, bool *holds) {
    *holds = true;
    if (place->symbol != NULL) {
        bool is_same;
        const int status = compare_name(names, place->name, place->symbol->name, &is_same);
        if (status != USP_OK || is_same) return status;
    }
    static const struct uspi_given_name unknown = {.name = NULL};
    const struct uspi_given_name *entry = find_entry(names, place->name);
    if (entry == NULL) entry = names->count < NAMES_MAX ? add_entry(names, place) : &unknown;
    if (entry == NULL) return USP_ERROR_NO_MEMORY;
    if (entry->count > FUNCTIONS_MAX) return USP_OK;
    for (size_t i = 0; i < entry->count; i++) {
        const struct function_range *function = &entry->functions[i];
        if (place->call_site >= function->start && place->call_site <= function->last) return USP_OK;
    }
    *holds = entry->count == 0 && (!place->has_offset || leads_to_function(place));
    return USP_OK;
}

void uspi_given_names_reset(struct uspi_given_names *names) {
    for (size_t i = 0; i < names->count; i++) free_name(&names->names[i]);
    free(names->names);
    names->names = NULL;
    names->count = names->capacity = 0;
}

void uspi_given_names_clear(struct uspi_given_names *names) {
    uspi_given_names_reset(names);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) usp_demangler_free(names->demanglers[i]);
    *names = (struct uspi_given_names){.names = NULL};
}
