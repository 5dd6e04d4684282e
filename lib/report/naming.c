/* SPDX-License-Identifier: MIT */
/* Names call sites for reports, hangs and profiles. See naming.h. */
#include "lib/report/naming.h"

#include <stdlib.h>
#include <string.h>

/* Number of source frames that are allocated first. */
#define FIRST_ROOM 16

void uspi_sources_free(struct uspi_sources *sources) {
    free(sources->frames);
    memset(sources, 0, sizeof *sources);
}

/* Makes room for `capacity` source frames; earlier contents are lost. Returns false when memory is exhausted. */
static bool make_room(struct uspi_sources *sources, uint32_t capacity) {
    if (capacity <= sources->capacity) return true;
    struct usp_source_frame *frames = calloc(capacity, sizeof *frames);
    if (frames == NULL) return false;
    free(sources->frames);
    *sources = (struct uspi_sources){frames, capacity};
    return true;
}

/* Splits an answer into the frame's own function and line, and the inlined calls that have a name. */
static void take_sources(const struct usp_lines *lines, struct uspi_named *named) {
    struct usp_source_frame *frames = lines->frames;
    const struct usp_source_frame *own = &frames[lines->count - 1];
    for (uint32_t i = 0; i + 1 < lines->count; i++) {
        if (frames[i].function != NULL) frames[named->inlined_count++] = frames[i];
    }
    named->inlined = frames;
    named->source = *own;
    /* If debug information knows a function that the symbol table does not name, its name and start are used. */
    if (own->function != NULL && own->start != 0 && own->named_by == USP_STRATEGY_DEBUG_INFO) {
        named->symbol.name = own->function;
        named->symbol.start = own->start;
        named->symbol.strategy = own->named_by;
    }
}

static int find_lines(const struct uspi_naming *naming, usp_addr site, struct uspi_named *named) {
    struct uspi_sources *sources = naming->sources;
    struct usp_lines lines;
    int status = USP_ERROR_NO_MEMORY;
    bool has_room = make_room(sources, FIRST_ROOM);
    lines.count = 0;
    while (has_room) {
        usp_lines_init(&lines, sources->frames, sources->capacity);
        lines.flags = USP_LINES_FILL;
        status = uspi_symbolize_lines_expecting(naming->symbolizer, naming->image, site, naming->expected, &lines);
        if (lines.count <= lines.capacity) break;
        has_room = make_room(sources, lines.count);
    }
    if (!has_room || status == USP_ERROR_NO_MEMORY) {
        uspi_symbolize_expecting(naming->symbolizer, naming->image, site, naming->expected, &named->symbol);
        return USP_ERROR_NO_MEMORY;
    }
    named->symbol = lines.symbol;
    if (status == USP_OK) take_sources(&lines, named);
    return status;
}

int uspi_name_site(const struct uspi_naming *naming, usp_addr site, struct uspi_named *named) {
    memset(named, 0, sizeof *named);
    if (naming->sources != NULL) return find_lines(naming, site, named);
    return uspi_symbolize_expecting(naming->symbolizer, naming->image, site, naming->expected, &named->symbol);
}
