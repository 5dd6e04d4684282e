/* SPDX-License-Identifier: MIT */
/* Source frames of an address (lines.h): the blocks' answers, with the symbol table's name for the outermost
 * function. */
#include "lib/base/span.h"
#include "lib/symbolize/symbolizer.h"

#include "lib/base/array.h"
#include "lib/base/clear.h"
#include "lib/base/sized.h"
#include "lib/symbolize/index/expected.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void usp_lines_init(struct usp_lines *lines, struct usp_source_frame *frames, uint32_t capacity) {
    memset(lines, 0, sizeof *lines);
    lines->size = sizeof *lines;
    lines->frames = frames;
    lines->capacity = frames != NULL ? capacity : 0;
}

const char *usp_line_source_string(uint32_t source) {
    switch (source) {
    case USP_LINE_TABLE: return "line-table";
    case USP_LINE_CALL: return "inline-tree";
    case USP_LINE_DECLARATION: return "declaration";
    default: return "none";
    }
}

/* Adds the one frame of generated code that has no debug information. complete_last adds its name. */
static int put_generated(const struct uspi_source_paths *paths, const struct uspi_query *query, usp_addr address,
                         struct usp_lines *lines) {
    struct usp_source_frame frame = {.address = address};
    const char *path = query->generated.path, *slash = path != NULL ? strrchr(path, '/') : NULL;
    if (path != NULL) {
        frame.line = query->generated.line;
        frame.line_source = USP_LINE_TABLE;
        frame.file = slash != NULL ? slash + 1 : path;
    }
    if (slash != NULL) {
        const char *folder = uspi_names_keep(query->names, path, slash > path ? (size_t)(slash - path) : 1);
        frame.directory = folder != NULL ? uspi_source_folder(paths, query->names, folder) : NULL;
        if (frame.directory == NULL) return USP_ERROR_NO_MEMORY;
    }
    uspi_put_source_frame(lines, &frame);
    return USP_OK;
}

/* ---- names of one function ---- */

/* Returns the length of what cannot be a constructor's code at `at`, in a name of C++: an identifier with its length
 * before it, a literal's digits, a reference, or one character. */
static size_t token_length(const char *name, const char *at) {
    const size_t digits = strspn(at, "0123456789");
    if (digits > 0 && digits < 8) {
        size_t end = 0;
        uint64_t length = 0;
        (void)uspi_scan_decimal(uspi_span_of(at), &end, &length);
        const bool is_literal = at - name > 1 && at[-2] == 'L' && at[digits] == 'E';
        return digits + (!is_literal && length <= strlen(at + digits) ? (size_t)length : 0);
    }
    if (at[0] != 'S' && at[0] != 'T') return digits > 0 ? digits : 1;
    const size_t reference = strspn(at + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return at[1 + reference] == '_' ? reference + 2 : 1;
}

/* Returns whether two mangled names are equal, except for which of a class's constructors or destructors they name: the
 * complete object's, the base object's, ... (Itanium C++ ABI, <ctor-dtor-name>). In the source they are one function. */
static bool is_variant_of(const char *a, const char *b) {
    if (strncmp(a, "_Z", 2) != 0) return strcmp(a, b) == 0;
    for (const char *at = a; *at != '\0' || *b != '\0';) {
        const size_t length = token_length(a, at);
        const bool is_code = (at[0] == 'C' || at[0] == 'D') && at[0] == b[0];
        if (is_code && at[1] >= '0' && at[1] <= '5' && b[1] >= '0' && b[1] <= '5') {
            at += 2;
            b += 2;
        } else if (*at != '\0' && strncmp(at, b, length) == 0) {
            at += length;
            b += length;
        } else {
            return false;
        }
    }
    return true;
}

/* Returns whether a name is the C library's own for a function that people call `bare`: "__GI___libc_read" for
 * "__read". Names with two underscores are reserved for that (C11, 7.1.3). */
static bool is_decorated(const char *name, const char *bare) {
    bare += strspn(bare, "_");
    return strncmp(name, "__", 2) == 0 && bare[0] != '\0' && strstr(name, bare) != NULL;
}

/* Returns whether Dart's compiler made a symbol: a part of the function's name, in which all but letters and digits is
 * replaced, and a number ("Precompiled_Queue_take_412" for "Queue.take"). Debug information has the name.
 * Source: dart-lang/sdk runtime/vm/image_snapshot.cc, SnapshotTextObjectNamer. */
static bool is_made_by_dart(const char *symbol) {
    static const char prefix[] = "Precompiled_";
    return strncmp(symbol, prefix, sizeof prefix - 1) == 0;
}

/* ---- functions that share their code ---- */

/* Gives the name of function `number` in an answer's block; NULL: it has none. */
static const char *function_name(const struct uspi_lines_answer *answer, uint32_t number, struct uspi_names *names) {
    struct uspi_block_function function;
    if (number == 0 || uspi_block_function(answer->block, number, &function) != USP_OK) return NULL;
    return uspi_lines_text(answer, function.name, names);
}

/* Returns function number i of those that have the code of an answer, which all are in its block; 0 after the last. */
static uint32_t function_at(const struct uspi_lines_answer *answer, uint32_t i) {
    struct uspi_block_node of;
    if (answer->part.size == 0) return 0;
    if (i > 0) return uspi_block_alias(answer->block, answer->part.node, i - 1);
    return uspi_block_node(answer->block, answer->part.node, &of) == USP_OK ? of.function : 0;
}

/* Returns the number of the function whose lines an answer has. If several have the code, it is the one that is
 * declared last at or before the line of the first row: a line table has the rows of one of them, which need not be the
 * one that is described first. */
static uint32_t described_function(const struct uspi_lines_answer *answer) {
    const uint32_t first = function_at(answer, 0);
    struct uspi_block_entry row;
    uint32_t nearest = first, line = 0;
    if (function_at(answer, 1) == 0 || uspi_block_find(answer->block, answer->part.start, &row) != USP_OK) return first;
    /* The line of an inlined call says nothing about the function that contains it. */
    if (row.node != answer->part.node) return first;
    for (uint32_t i = 0, number; (number = function_at(answer, i)) != 0; i++) {
        struct uspi_block_function function;
        if (uspi_block_function(answer->block, number, &function) != USP_OK) break;
        if (function.file != row.file || function.line > row.line || function.line <= line) continue;
        line = function.line;
        nearest = number;
    }
    return nearest;
}

/* Visits the names of the functions that have the code, as debug information gives them. A name may come twice. */
static int visit_described(const struct uspi_lines_answer *answers, int count, struct uspi_names *names,
                           usp_name_visitor visit, void *context) {
    int answered = 0;
    for (int i = 0; i < count && answered == 0; i++) {
        for (uint32_t k = 0, number; answered == 0 && (number = function_at(&answers[i], k)) != 0; k++) {
            const char *name = function_name(&answers[i], number, names);
            if (name != NULL) answered = visit(context, name);
        }
    }
    return answered;
}

struct name_list {
    const char **all;
    size_t count, capacity;
};

/* A usp_name_visitor. */
static int add_name(void *context, const char *name) {
    struct name_list *list = context;
    if (!uspi_room_for(&list->all, &list->capacity, list->count, 1, sizeof *list->all)) return USP_ERROR_NO_MEMORY;
    list->all[list->count++] = name;
    return 0;
}

static bool has_name(const struct name_list *list, size_t from, const char *name) {
    for (size_t i = from; i < list->count; i++) {
        if (strcmp(list->all[i], name) == 0) return true;
    }
    return false;
}

/* The functions that have the code at an address. */
struct folding {
    const char *described; /* the function whose lines are given; NULL: it has no name */
    const char *symbol;    /* the function that the symbol table names; NULL: none */
    bool is_in_table;      /* the symbol table has `described`, too, for the code of `symbol` */
    bool has_symbol;       /* debug information describes `symbol` among several functions */
    bool names_symbol;     /* the function is shown as `symbol`, not as `described` */
    /* All names, in any order and perhaps several times; empty if there is only one. The owner frees it. */
    struct name_list list;
};

static const char *shown_name(const struct folding *folding) {
    return folding->names_symbol ? folding->symbol : folding->described;
}

/* Adds the names that the symbol table has for the function of `symbol`. */
static int add_table_names(const struct uspi_query *query, const struct usp_symbol *symbol, struct folding *folding) {
    const usp_addr slide = query->image->slide;
    const size_t before = folding->list.count;
    const struct uspi_found_function found = {symbol->strategy, query->address - slide, symbol->start - slide};
    int status = uspi_module_visit_aliases(query->module, &found, query->names, add_name, &folding->list);
    if (status != USP_OK || folding->list.count == before) return status;
    folding->is_in_table = has_name(&folding->list, before, folding->described);
    return add_name(&folding->list, symbol->name);
}

/* Returns the address at which the function of an answer begins; 0: it is not known. */
static usp_addr start_of(const struct uspi_lines_answer *answer, usp_addr slide) {
    return answer->part.size != 0 ? answer->part.start + answer->moved + slide : 0;
}

/* Returns whether the outermost function, which debug information describes from `start` on, is shown with the symbol
 * table's name. A symbol that begins below it is another function's. Of functions that share their code, the one whose
 * lines are given is shown. */
static bool is_named_by_symbol(const struct usp_symbol *symbol, usp_addr start, const struct folding *folding) {
    if (folding->symbol == NULL || folding->described == NULL) return folding->symbol != NULL;
    if (symbol->start < start || folding->has_symbol || is_made_by_dart(folding->symbol)) return false;
    return !folding->is_in_table || is_decorated(folding->described, folding->symbol) ||
           is_variant_of(folding->described, folding->symbol);
}

/* Finds the functions that have the code of answers.
 *   described  the outermost function that the first answer describes; NULL: it is not known yet
 * Returns USP_OK or USP_ERROR_NO_MEMORY. */
static int find_folding(const struct uspi_query *query, const struct uspi_lines_answer *answers, int count,
                        const struct usp_symbol *symbol, const char *described, struct folding *folding) {
    const bool are_several = count > 1 || (count == 1 && function_at(answers, 1) != 0);
    const usp_addr start = count > 0 ? start_of(answers, query->image->slide) : 0;
    int status = USP_OK;
    *folding = (struct folding){.described = described, .symbol = symbol->name};
    if (count > 0 && (are_several || described == NULL)) {
        folding->described = function_name(answers, described_function(answers), query->names);
    }
    if (are_several) status = visit_described(answers, count, query->names, add_name, &folding->list);
    if (folding->described != NULL && folding->symbol != NULL) {
        folding->has_symbol =
            strcmp(folding->described, folding->symbol) != 0 && has_name(&folding->list, 0, folding->symbol);
        if (count > 0 && symbol->start == start && status == USP_OK) status = add_table_names(query, symbol, folding);
    }
    folding->names_symbol = is_named_by_symbol(symbol, start, folding);
    return status;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Visits each name other than the shown one once, in alphabetical order. Constructors that share their code are one
 * function, which has one name in the source. */
static int visit_others(struct folding *folding, usp_name_visitor visit, void *context) {
    struct name_list *list = &folding->list;
    const char *shown = shown_name(folding), *before = NULL;
    int answered = 0;
    if (list->count > 1) qsort(list->all, list->count, sizeof *list->all, compare_names);
    for (size_t i = 0; i < list->count && answered == 0; i++) {
        const char *name = list->all[i];
        const bool is_seen =
            (shown != NULL && is_variant_of(name, shown)) || (before != NULL && is_variant_of(name, before));
        before = name;
        if (!is_seen) answered = visit(context, name);
    }
    return answered;
}

/* The context of count_other. */
struct counting {
    const struct folding *folding;
    uint32_t others;
};

/* A usp_name_visitor. A function that debug information alone names, and is shown as its symbol, is not another one. */
static int count_other(void *context, const char *name) {
    struct counting *counting = context;
    const struct folding *folding = counting->folding;
    const bool is_own = folding->names_symbol && !folding->is_in_table && folding->described != NULL &&
                        strcmp(name, folding->described) == 0;
    counting->others += !is_own;
    return 0;
}

/* Completes the outermost frame with the symbol. */
static void complete_last(struct usp_lines *lines, const struct uspi_lines_answer *answer,
                          const struct folding *folding, usp_addr slide) {
    if (lines->count == 0 || lines->count > lines->capacity) return;
    struct usp_source_frame *last = &lines->frames[lines->count - 1];
    const struct usp_symbol *symbol = &lines->symbol;
    if (answer != NULL) {
        last->start = start_of(answer, slide);
        if (answer->part.size != 0 && answer->part.is_cold) last->flags |= USP_SOURCE_COLD;
    }
    if (lines->folded > 0) last->flags |= USP_SOURCE_FOLDED;
    if (folding->described != NULL) last->function = folding->described;
    if (!folding->names_symbol && !folding->is_in_table) return;
    if (folding->names_symbol) last->function = folding->symbol;
    last->named_by = symbol->strategy;
    last->start = symbol->start;
}

/* Counts the other functions that have the code, and completes the outermost frame. Returns USP_OK or
 * USP_ERROR_NO_MEMORY. */
static int complete(const struct uspi_query *query, const struct uspi_lines_answer *answers, int count,
                    struct usp_lines *lines) {
    const bool is_whole = lines->count > 0 && lines->count <= lines->capacity;
    struct folding folding;
    int status = find_folding(query, answers, count, &lines->symbol,
                              is_whole ? lines->frames[lines->count - 1].function : NULL, &folding);
    if (status == USP_OK) {
        struct counting counting = {&folding, 0};
        visit_others(&folding, count_other, &counting);
        lines->folded = counting.others;
        if (lines->count == 0 && lines->symbol.name != NULL) {
            uspi_put_source_frame(lines, &(struct usp_source_frame){.address = query->address});
        }
        complete_last(lines, count > 0 ? answers : NULL, &folding, query->image->slide);
        if (folding.is_in_table && !folding.names_symbol) lines->symbol.name = folding.described;
    }
    free(folding.list.all);
    return status;
}

static int ask_for_lines(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                         const struct uspi_expected *expected, struct usp_lines *lines) {
    const struct uspi_source_paths *paths = uspi_symbolizer_paths(symbolizer);
    struct uspi_query query = {.lines = lines};
    struct uspi_lines_answer answers[USPI_MAP_BLOCKS];
    int count = 0, status = uspi_symbolizer_ask(symbolizer, image, address, expected, &query, &lines->symbol);
    if (query.module == NULL && status == USP_OK) {
        if (lines->count == 0) status = put_generated(paths, &query, address, lines);
        const struct folding folding = {.symbol = lines->symbol.name, .names_symbol = lines->symbol.name != NULL};
        if (status == USP_OK) complete_last(lines, NULL, &folding, 0);
    }
    if (query.module == NULL || status == USP_ERROR_NO_MEMORY) return status;
    const usp_addr slide = query.image->slide;
    struct uspi_lines *source = uspi_module_lines(query.module);
    if (source == NULL) return USP_ERROR_NO_MEMORY;
    count = uspi_lines_find(source, address - slide, answers);
    if (count == USP_ERROR_NO_MEMORY) return count;
    if (count > 0) {
        if (uspi_lines_frames(paths, query.names, answers, address, lines) != USP_OK) {
            lines->count = 0;
            count = uspi_lines_fall_back(source, address - slide, answers);
            if (count == USP_ERROR_NO_MEMORY) return count;
        }
    }
    if (count > 0 && lines->count == 0) {
        /* Damaged lines give no frames. */
        if (uspi_lines_frames(paths, query.names, answers, address, lines) != USP_OK) {
            lines->count = 0;
            count = 0;
        }
    }
    status = complete(&query, answers, count, lines);
    if (status != USP_OK) return status;
    return lines->count > 0 ? USP_OK : USP_ERROR_NOT_FOUND;
}

int uspi_symbolize_lines_expecting(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                                   const struct uspi_expected *expected, struct usp_lines *lines) {
    if (symbolizer == NULL || lines == NULL || lines->size < USPI_LEAST_SIZE(lines)) return USP_ERROR_ARGUMENT;
    if (lines->frames == NULL && lines->capacity > 0) return USP_ERROR_ARGUMENT;
    lines->count = lines->folded = 0;
    uspi_clear(&lines->symbol, sizeof lines->symbol);
    struct uspi_epoch *readers = uspi_symbolizer_readers(symbolizer);
    const uint32_t ticket = uspi_epoch_enter(readers);
    int status = ask_for_lines(symbolizer, image, address, expected, lines);
    uspi_epoch_leave(readers, ticket);
    return status;
}

int usp_symbolize_lines(struct usp_symbolizer *symbolizer, usp_addr address, struct usp_lines *lines) {
    if (symbolizer == NULL) symbolizer = usp_symbolizer_default();
    if (symbolizer == NULL) return USP_ERROR_NO_MEMORY;
    return uspi_symbolize_lines_expecting(symbolizer, NULL, address, NULL, lines);
}

/* ---- other names, and the origin of lines ---- */

static int visit_names(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                       usp_name_visitor visit, void *context) {
    struct uspi_query query = {0};
    struct usp_symbol symbol = {0};
    struct uspi_lines_answer answers[USPI_MAP_BLOCKS];
    int status = uspi_symbolizer_ask(symbolizer, image, address, NULL, &query, &symbol);
    if (query.module == NULL && status == USP_OK) return visit(context, symbol.name);
    if (query.module == NULL || status == USP_ERROR_NO_MEMORY) return status;
    struct uspi_lines *source = uspi_module_lines(query.module);
    int count = source != NULL ? uspi_lines_find(source, address - query.image->slide, answers) : USP_ERROR_NO_MEMORY;
    if (count == USP_ERROR_NO_MEMORY) return count;
    if (count < 0) count = 0;
    struct folding folding;
    status = find_folding(&query, answers, count, &symbol, NULL, &folding);
    const char *shown = shown_name(&folding);
    const bool is_known = shown != NULL || folding.list.count > 0;
    if (status == USP_OK && shown != NULL) status = visit(context, shown);
    if (status == USP_OK) status = visit_others(&folding, visit, context);
    free(folding.list.all);
    return status != USP_OK || is_known ? status : USP_ERROR_NOT_FOUND;
}

int uspi_visit_names_of(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                        usp_name_visitor visit, void *context) {
    if (symbolizer == NULL || visit == NULL) return USP_ERROR_ARGUMENT;
    struct uspi_epoch *readers = uspi_symbolizer_readers(symbolizer);
    const uint32_t ticket = uspi_epoch_enter(readers);
    int status = visit_names(symbolizer, image, address, visit, context);
    uspi_epoch_leave(readers, ticket);
    return status;
}

int usp_symbolizer_visit_names(struct usp_symbolizer *symbolizer, usp_addr address, usp_name_visitor visit,
                               void *context) {
    if (symbolizer == NULL) symbolizer = usp_symbolizer_default();
    if (symbolizer == NULL) return USP_ERROR_NO_MEMORY;
    return uspi_visit_names_of(symbolizer, NULL, address, visit, context);
}

int usp_symbolize_frame_lines(struct usp_symbolizer *symbolizer, uint32_t arch, const struct usp_frame *frame,
                              struct usp_lines *lines) {
    return usp_symbolize_lines(symbolizer, usp_frame_call_site(arch, frame), lines);
}

int usp_symbolizer_explain_lines(struct usp_symbolizer *symbolizer, usp_addr address, char *text, size_t size) {
    if (text == NULL || size == 0) return USP_ERROR_ARGUMENT;
    if (symbolizer == NULL) symbolizer = usp_symbolizer_default();
    if (symbolizer == NULL) return USP_ERROR_NO_MEMORY;
    struct usp_lines lines;
    usp_lines_init(&lines, NULL, 0);
    struct uspi_query query = {.lines = &lines};
    struct uspi_epoch *readers = uspi_symbolizer_readers(symbolizer);
    const uint32_t ticket = uspi_epoch_enter(readers);
    int status = uspi_symbolizer_describe(symbolizer, address, &query);
    text[0] = '\0';
    if (query.generated.path != NULL) {
        snprintf(text, size, "the program's jitdump");
    } else if (query.module == NULL && lines.count > 0) {
        snprintf(text, size, "debug information that the program registered for its code");
    } else if (query.module == NULL) {
        snprintf(text, size, "no image holds the address");
    } else if (status != USP_ERROR_NO_MEMORY) {
        const struct uspi_lines *source = uspi_module_lines(query.module);
        status = source != NULL ? uspi_lines_explain(source, text, size) : USP_ERROR_NO_MEMORY;
    }
    uspi_epoch_leave(readers, ticket);
    return status;
}

int usp_symbolizer_explain_file(struct usp_symbolizer *symbolizer, usp_addr address, char *text, size_t size) {
    if (text == NULL || size == 0) return USP_ERROR_ARGUMENT;
    if (symbolizer == NULL) symbolizer = usp_symbolizer_default();
    if (symbolizer == NULL) return USP_ERROR_NO_MEMORY;
    struct uspi_query query = {0};
    struct uspi_epoch *readers = uspi_symbolizer_readers(symbolizer);
    const uint32_t ticket = uspi_epoch_enter(readers);
    int status = uspi_symbolizer_describe(symbolizer, address, &query);
    text[0] = '\0';
    if (query.module != NULL && status != USP_ERROR_NO_MEMORY) {
        status = uspi_module_explain_file(query.module, text, size);
    } else if (status != USP_ERROR_NO_MEMORY) {
        snprintf(text, size, "no image holds the address");
        status = USP_ERROR_NOT_FOUND;
    }
    uspi_epoch_leave(readers, ticket);
    return status;
}
