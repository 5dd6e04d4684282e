/* SPDX-License-Identifier: MIT */
/* Source frames of an address (lines.h): the blocks' answers, with the symbol table's name for the outermost
 * function. */
#include "lib/symbolize/symbolizer.h"

#include "lib/base/clear.h"
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

static uint32_t count_folded(const struct uspi_lines_answer *answers, int count) {
    uint32_t folded = (uint32_t)count - 1;
    for (int i = 0; i < count; i++) {
        for (uint32_t k = 0;
             answers[i].part.size != 0 && uspi_block_alias(answers[i].block, answers[i].part.node, k) != 0;) {
            k++;
            folded++;
        }
    }
    return folded;
}

/* Completes the outermost frame with the symbol. */
static void complete_last(struct usp_lines *lines, const struct uspi_lines_answer *answer, usp_addr slide) {
    if (lines->count == 0 || lines->count > lines->capacity) return;
    struct usp_source_frame *last = &lines->frames[lines->count - 1];
    const struct usp_symbol *symbol = &lines->symbol;
    if (answer != NULL && answer->part.size != 0) {
        last->start = answer->part.start + answer->moved + slide;
        if (answer->part.is_cold) last->flags |= USP_SOURCE_COLD;
    }
    if (lines->folded > 0) last->flags |= USP_SOURCE_FOLDED;
    /* A symbol that begins below the function that the debug information knows is another function's. */
    const bool is_its = symbol->name != NULL && (last->function == NULL || symbol->start >= last->start);
    if (!is_its) return;
    last->function = symbol->name;
    last->named_by = symbol->strategy;
    last->start = symbol->start;
}

static int ask_for_lines(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                         const struct uspi_expected *expected, struct usp_lines *lines) {
    const struct uspi_source_paths *paths = uspi_symbolizer_paths(symbolizer);
    struct uspi_query query = {.lines = lines};
    struct uspi_lines_answer answers[USPI_MAP_BLOCKS];
    int count = 0, status = uspi_symbolizer_ask(symbolizer, image, address, expected, &query, &lines->symbol);
    if (query.module == NULL && status == USP_OK) {
        if (lines->count == 0) status = put_generated(paths, &query, address, lines);
        if (status == USP_OK) complete_last(lines, NULL, 0);
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
    if (count > 0) lines->folded = count_folded(answers, count);
    if (lines->count == 0 && lines->symbol.name != NULL) {
        uspi_put_source_frame(lines, &(struct usp_source_frame){.address = address});
    }
    complete_last(lines, count > 0 ? answers : NULL, slide);
    return lines->count > 0 ? USP_OK : USP_ERROR_NOT_FOUND;
}

int uspi_symbolize_lines_expecting(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                                   const struct uspi_expected *expected, struct usp_lines *lines) {
    if (symbolizer == NULL || lines == NULL || lines->size < offsetof(struct usp_lines, reserved))
        return USP_ERROR_ARGUMENT;
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
    return uspi_symbolize_lines_expecting(symbolizer, NULL, address, NULL, lines);
}

/* ---- other names, and the origin of lines ---- */

/* Visits the names of a block's function and of those that were folded into it. `first` was visited already. */
static int visit_answer(const struct uspi_lines_answer *answer, struct uspi_names *names, const char *first,
                        usp_name_visitor visit, void *context) {
    struct uspi_block_node of;
    struct uspi_block_function function;
    if (answer->part.size == 0 || uspi_block_node(answer->block, answer->part.node, &of) != USP_OK) return 0;
    for (uint32_t i = 0, number = of.function; number != 0;
         number = uspi_block_alias(answer->block, answer->part.node, i++)) {
        if (uspi_block_function(answer->block, number, &function) != USP_OK) return 0;
        const char *name = uspi_lines_text(answer, function.name, names);
        if (name == NULL || (first != NULL && strcmp(name, first) == 0)) continue;
        int answered = visit(context, name);
        if (answered != 0) return answered;
    }
    return 0;
}

static int visit_names(struct usp_symbolizer *symbolizer, usp_addr address, usp_name_visitor visit, void *context) {
    struct uspi_query query = {0};
    struct usp_symbol symbol = {0};
    struct uspi_lines_answer answers[USPI_MAP_BLOCKS];
    int status = uspi_symbolizer_ask(symbolizer, NULL, address, NULL, &query, &symbol);
    if (query.module == NULL && status == USP_OK) return visit(context, symbol.name);
    if (query.module == NULL || status == USP_ERROR_NO_MEMORY) return status;
    struct uspi_lines *source = uspi_module_lines(query.module);
    int count = source != NULL ? uspi_lines_find(source, address - query.image->slide, answers) : USP_ERROR_NO_MEMORY;
    if (count == USP_ERROR_NO_MEMORY) return count;
    int answered = symbol.name != NULL ? visit(context, symbol.name) : 0;
    for (int i = 0; i < count && answered == 0; i++) {
        answered = visit_answer(&answers[i], query.names, symbol.name, visit, context);
    }
    if (answered != 0) return answered;
    return symbol.name != NULL || (count > 0 && answers[0].part.size != 0) ? USP_OK : USP_ERROR_NOT_FOUND;
}

int usp_symbolizer_visit_names(struct usp_symbolizer *symbolizer, usp_addr address, usp_name_visitor visit,
                               void *context) {
    if (symbolizer == NULL || visit == NULL) return USP_ERROR_ARGUMENT;
    struct uspi_epoch *readers = uspi_symbolizer_readers(symbolizer);
    const uint32_t ticket = uspi_epoch_enter(readers);
    int status = visit_names(symbolizer, address, visit, context);
    uspi_epoch_leave(readers, ticket);
    return status;
}

int usp_symbolize_frame_lines(struct usp_symbolizer *symbolizer, uint32_t arch, const struct usp_frame *frame,
                              struct usp_lines *lines) {
    return usp_symbolize_lines(symbolizer, usp_frame_call_site(arch, frame), lines);
}

int usp_symbolizer_explain_lines(struct usp_symbolizer *symbolizer, usp_addr address, char *text, size_t size) {
    if (symbolizer == NULL || text == NULL || size == 0) return USP_ERROR_ARGUMENT;
    struct usp_lines lines;
    usp_lines_init(&lines, NULL, 0);
    struct uspi_query query = {.lines = &lines};
    struct usp_symbol symbol = {0};
    struct uspi_epoch *readers = uspi_symbolizer_readers(symbolizer);
    const uint32_t ticket = uspi_epoch_enter(readers);
    int status = uspi_symbolizer_ask(symbolizer, NULL, address, NULL, &query, &symbol);
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
