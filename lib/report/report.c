/* SPDX-License-Identifier: MIT */
/* The way from a frame to its name, for all styles. See report.h. */
#include "lib/report/report.h"

#include <stdlib.h>

const struct usp_snapshot_thread *uspi_report_thread(const struct uspi_report *report, size_t i) {
    if (report->only != NULL) return i == 0 ? report->only : NULL;
    return usp_snapshot_get_thread(report->snapshot, i);
}

/* What a list says about an address: its image, no name. */
static void describe_image(const struct usp_image *image, struct usp_symbol *symbol) {
    symbol->image_path = image->path;
    symbol->image_load = image->load_address;
    symbol->build_id_size = image->build_id_size;
    memcpy(symbol->build_id, image->build_id, sizeof symbol->build_id);
}

/* Source frames of a frame that there is room for at first. */
#define FIRST_ROOM 16

/* Makes room for more source frames. What was there is not kept. False when memory lacks. */
static bool make_room(struct uspi_sources *sources, uint32_t room) {
    if (room <= sources->room) return true;
    struct usp_source_frame *frames = calloc(room, sizeof *frames);
    if (frames == NULL) return false;
    free(sources->frames);
    *sources = (struct uspi_sources){frames, room};
    return true;
}

/* Takes the source frames of an answer apart: the frame's own function and line, and the inlined calls that have a name. */
static void take_sources(const struct usp_lines *lines, struct uspi_shown *shown) {
    struct usp_source_frame *frames = lines->frames;
    const struct usp_source_frame *own = &frames[lines->count - 1];
    for (uint32_t i = 0; i + 1 < lines->count; i++) {
        if (frames[i].function != NULL) frames[shown->inlined_count++] = frames[i];
    }
    shown->inlined = frames;
    shown->source = *own;
    /* Where debug information knows a function that the symbol table does not name, its name and its start count. */
    if (own->function != NULL && own->start != 0 && own->named_by == USP_STRATEGY_DEBUG_INFO) {
        shown->symbol.name = own->function;
        shown->symbol.start = own->start;
        shown->symbol.strategy = own->named_by;
    }
}

/* The name of a call site with its lines. Without memory for the lines it has the name alone. */
static void find_lines(const struct uspi_report *report, const struct usp_image *image, usp_addr site,
                       struct uspi_shown *shown) {
    struct usp_symbolizer *symbolizer = report->options.symbolizer;
    struct uspi_sources *sources = report->sources;
    struct usp_lines lines;
    int status = USP_ERROR_NO_MEMORY;
    bool has_room = make_room(sources, FIRST_ROOM);
    lines.count = 0;
    while (has_room) {
        usp_lines_init(&lines, sources->frames, sources->room);
        lines.flags = USP_LINES_FILL;
        status = uspi_symbolize_lines_expecting(symbolizer, image, site, &report->expected, &lines);
        if (lines.count <= lines.capacity) break;
        has_room = make_room(sources, lines.count);
    }
    if (!has_room || status == USP_ERROR_NO_MEMORY) {
        uspi_symbolize_expecting(symbolizer, image, site, &report->expected, &shown->symbol);
        return;
    }
    shown->symbol = lines.symbol;
    if (status == USP_OK) take_sources(&lines, shown);
}

/* The name of a call site, and its lines where they are wanted, in the images of the report where these are known: the
 * symbolizer may know others. */
static void find_symbol(const struct uspi_report *report, usp_addr site, struct uspi_shown *shown) {
    const struct usp_image *image = usp_images_find(report->images, site);
    struct usp_symbol *symbol = &shown->symbol;
    memset(symbol, 0, sizeof *symbol);
    if (report->options.symbolizer == NULL) {
        if (image != NULL) describe_image(image, symbol);
    } else if ((report->options.flags & USP_FORMAT_LINES) != 0 && uspi_style_has_lines(report->options.style)) {
        find_lines(report, image, site, shown);
    } else {
        uspi_symbolize_expecting(report->options.symbolizer, image, site, &report->expected, symbol);
    }
    /* Where the report has no image there can only be generated code: what the symbolizer says of an image does not count. */
    if (image == NULL && report->images != NULL && symbol->image_path != NULL) {
        memset(symbol, 0, sizeof *symbol);
        memset(&shown->source, 0, sizeof shown->source);
        shown->inlined_count = 0;
    }
}

const char *uspi_report_name(const struct uspi_report *report, const struct usp_source_frame *source) {
    return usp_demangle(report->options.demangler, source->function);
}

bool uspi_report_frame(const struct uspi_report *report, const struct usp_stack *stack, uint32_t i,
                       struct uspi_shown *shown) {
    const struct usp_format_options *options = &report->options;
    const struct usp_frame *frame = &stack->frames[i];
    usp_addr site = usp_frame_call_site(stack->arch, frame);
    shown->backend = uspi_backend_find(stack->arch);
    if (shown->backend == NULL || !usp_filter_keeps(options->filter, site)) return false;
    shown->frame = frame;
    shown->number = i;
    shown->inlined_count = 0;
    memset(&shown->source, 0, sizeof shown->source);
    if (stack->omitted_at != USP_NO_INDEX && i >= stack->omitted_at) shown->number += stack->omitted;
    if (options->symbols != NULL && report->only != NULL) {
        shown->symbol = options->symbols[i];
    } else {
        find_symbol(report, site, shown);
    }
    shown->mangled = shown->symbol.name;
    if (shown->mangled != NULL) shown->symbol.name = usp_demangle(options->demangler, shown->mangled);
    shown->image = usp_images_find(report->images, shown->symbol.image_path != NULL ? shown->symbol.image_load : site);
    return true;
}

const char *usp_run_state_string(uint32_t os, uint32_t run_state) {
    if (os != USP_OS_LINUX) return NULL;
    /* Linux Documentation/filesystems/proc.rst, the third field of /proc/PID/stat. */
    switch (run_state) {
    case 'R': return "running";
    case 'S': return "sleeping";
    case 'D': return "in uninterruptible sleep";
    case 'T': return "stopped";
    case 't': return "traced";
    case 'I': return "idle";
    case 'Z':
    case 'X': return "exited";
    default: return NULL;
    }
}
