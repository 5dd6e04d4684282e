/* SPDX-License-Identifier: MIT */
/* Writes frames as lines of text, without stdio, which a signal handler may not call. The caller supplies the names. */
#include "lib/report/format.h"

#include "arch/any.h"

#include "lib/base/path.h"

/* From Apple's Libc, gen/backtrace.c. */
#define IMAGE_WIDTH 35           /* width of the image's column, at which the name is cut */
#define INDEX_WIDTH 4            /* width of the index */
#define INDEX_FULL  1000         /* first index that fills it */
#define NO_IMAGE    "???"        /* written if there is no image */
#define REDACTED    "<redacted>" /* the name of a local symbol in the shared cache */

/* Written if there is neither a symbol nor an image; from Linux's perf. Libc writes "0x0 + " and the address again. */
#define NO_SYMBOL "[unknown]"

/* Widths of the image's column. */
#define BS_IMAGE_WIDTH    30 /* in BSBacktraceLogger.m (bs_logBacktraceEntry) */
#define CRASH_IMAGE_WIDTH 30 /* in Apple's crash reports */

/* Number of digits to which BSBacktraceLogger.m pads an address, for every processor. */
#define BS_ADDRESS_DIGITS 8

struct uspi_span uspi_image_name(const char *path, size_t width) {
    if (path == NULL || path[0] == '\0') path = NO_IMAGE;
    path = uspi_last_component(path);
    size_t length = strlen(path);
    return (struct uspi_span){path, length < width ? length : width};
}

uint64_t uspi_target_offset(const struct uspi_backend *backend, usp_addr b, usp_addr a) {
    return (b - a) & (UINT64_MAX >> (64 - 8 * backend->word));
}

/* Writes a name, escaped if `harmless` is set, and pads it with blanks to `width`. */
static void put_name(struct uspi_text *text, const struct uspi_frame_line *line, struct uspi_span name, size_t width) {
    uint64_t before = text->length;
    if (line->harmless) {
        uspi_put_harmless(text, name, "");
    } else {
        uspi_put(text, name.bytes, name.length);
    }
    uspi_put_blanks(text, text->length - before, width);
}

/* Writes the index. Apple's stacks end before frame 1000, whose index would fill the column. */
static void put_index(struct uspi_text *text, const struct uspi_frame_line *line) {
    uspi_put_decimal(text, line->index, INDEX_WIDTH);
    if (line->index >= INDEX_FULL) uspi_put(text, " ", 1);
}

static void put_address(struct uspi_text *text, const struct uspi_frame_line *line) {
    uspi_put_hex(text, line->frame->pc, line->backend->word * 2u);
}

static void put_offset(struct uspi_text *text, const struct uspi_frame_line *line, usp_addr from) {
    uspi_put_string(text, " + ");
    uspi_put_decimal(text, uspi_target_offset(line->backend, line->frame->pc, from), 0);
}

/* Whether a symbol has only a placeholder for its name, and a UUID. A server can look up the name by the UUID and the
 * offset. */
static bool is_redacted(const struct usp_symbol *symbol) {
    return symbol->name != NULL && symbol->build_id_size == USPI_UUID_BYTES && strcmp(symbol->name, REDACTED) == 0;
}

/* Writes " [unverified]" for a frame whose return address could not be verified, in the library's own style. */
static void put_unverified(struct uspi_text *text, const struct uspi_frame_line *line) {
    const bool is_own = line->is_own_style && !line->is_inlined && !line->is_inferred;
    if (is_own && (line->frame->flags & USP_FRAME_UNVERIFIED) != 0) uspi_put_string(text, " [unverified]");
}

/* Writes " [inferred tail call]" or " [inferred]" for an inferred frame, and " (file.c:12)" if that is wanted and
 * known. */
static void put_source(struct uspi_text *text, const struct uspi_frame_line *line) {
    const bool is_found = line->frame->method == USP_FRAME_METHOD_SEARCH;
    if (line->is_inferred && !line->is_inlined) uspi_put_string(text, " [inferred tail call]");
    if (is_found && !line->is_inferred && !line->is_inlined) uspi_put_string(text, " [inferred]");
    if (line->source != NULL) uspi_put_source(text, line->source, line->flags);
}

static void put_inlined(struct uspi_text *text, const struct uspi_frame_line *line) {
    put_name(text, line, uspi_span_of(line->symbol->name), 0);
    uspi_put_string(text, " [inlined]");
    put_source(text, line);
}

static void put_symbol_and_offset(struct uspi_text *text, const struct uspi_frame_line *line, size_t image_width) {
    const struct usp_symbol *symbol = line->symbol;
    usp_addr from = symbol->start;
    if (line->is_inlined) {
        put_inlined(text, line);
        return;
    }
    if (is_redacted(symbol)) {
        uspi_put_uuid(text, symbol->build_id);
        from = symbol->image_load;
    } else if (symbol->name != NULL) {
        put_name(text, line, uspi_span_of(symbol->name), 0);
    } else if (symbol->image_path != NULL) {
        put_name(text, line, uspi_image_name(symbol->image_path, image_width), 0);
        from = symbol->image_load;
    } else {
        uspi_put_string(text, NO_SYMBOL);
        put_unverified(text, line);
        return;
    }
    put_offset(text, line, from);
    put_unverified(text, line);
    put_source(text, line);
}

static void put_call_stack_symbols(struct uspi_text *text, const struct uspi_frame_line *line) {
    put_index(text, line);
    put_name(text, line, uspi_image_name(line->symbol->image_path, IMAGE_WIDTH), IMAGE_WIDTH);
    uspi_put(text, " ", 1);
    put_address(text, line);
    uspi_put(text, " ", 1);
    put_symbol_and_offset(text, line, IMAGE_WIDTH);
}

static void put_plain(struct uspi_text *text, const struct uspi_frame_line *line) {
    if (line->symbol->name != NULL || line->symbol->image_path != NULL) {
        put_symbol_and_offset(text, line, SIZE_MAX);
    } else {
        put_address(text, line);
    }
}

/* Follows glibc debug/backtracesyms.c, whose "%#tx" writes an offset of 0 without 0x. Generated code, which glibc
 * cannot name, gets NO_IMAGE as its image. */
static void put_backtrace_symbols(struct uspi_text *text, const struct uspi_frame_line *line) {
    const struct usp_symbol *symbol = line->symbol;
    const bool has_image = symbol->image_path != NULL && symbol->image_path[0] != '\0';
    if (has_image || symbol->name != NULL) {
        usp_addr from = symbol->name != NULL ? symbol->start : symbol->image_load;
        uint64_t offset = uspi_target_offset(line->backend, line->frame->pc, from);
        put_name(text, line, uspi_span_of(has_image ? symbol->image_path : NO_IMAGE), 0);
        uspi_put(text, "(", 1);
        if (symbol->name != NULL) put_name(text, line, uspi_span_of(symbol->name), 0);
        uspi_put(text, "+", 1);
        if (offset == 0) {
            uspi_put(text, "0", 1);
        } else {
            uspi_put_hex(text, offset, 1);
        }
        uspi_put(text, ") ", 2);
    }
    uspi_put(text, "[", 1);
    uspi_put_hex(text, line->frame->pc, 1);
    uspi_put(text, "]", 1);
}

static void put_bs_backtrace(struct uspi_text *text, const struct uspi_frame_line *line) {
    put_name(text, line, uspi_image_name(line->symbol->image_path, SIZE_MAX), BS_IMAGE_WIDTH);
    uspi_put(text, "  ", 2);
    uspi_put_hex(text, line->frame->pc, BS_ADDRESS_DIGITS);
    uspi_put(text, " ", 1);
    put_symbol_and_offset(text, line, SIZE_MAX);
}

/* Without a name, writes the load address instead: symbolicating tools look for it. */
static void put_crash_report(struct uspi_text *text, const struct uspi_frame_line *line) {
    const struct usp_symbol *symbol = line->symbol;
    put_index(text, line);
    put_name(text, line, uspi_image_name(symbol->image_path, SIZE_MAX), CRASH_IMAGE_WIDTH);
    uspi_put(text, "\t", 1);
    put_address(text, line);
    uspi_put(text, " ", 1);
    if (line->is_inlined) {
        put_inlined(text, line);
    } else if (symbol->name != NULL && !is_redacted(symbol)) {
        put_name(text, line, uspi_span_of(symbol->name), 0);
        put_offset(text, line, symbol->start);
        put_source(text, line);
    } else if (symbol->image_path == NULL) {
        uspi_put_string(text, NO_SYMBOL);
    } else {
        uspi_put_hex(text, symbol->image_load, 1);
        put_offset(text, line, symbol->image_load);
    }
}

static void put_portable(struct uspi_text *text, const struct uspi_frame_line *line) {
    const struct usp_symbol *symbol = line->symbol;
    put_index(text, line);
    if (symbol->image_path == NULL) {
        put_address(text, line);
        return;
    }
    if (symbol->build_id_size > 0) {
        uspi_put_build_id(text, symbol->build_id, symbol->build_id_size);
    } else {
        uspi_put_string(text, NO_IMAGE);
    }
    uspi_put(text, " + ", 3);
    uspi_put_hex(text, uspi_target_offset(line->backend, line->frame->pc, symbol->image_load), 1);
    uspi_put(text, " ", 1);
    put_name(text, line, uspi_span_of(symbol->image_path), 0);
}

bool uspi_style_has_lines(uint32_t style) {
    return style != USP_FORMAT_BACKTRACE_SYMBOLS && style != USP_FORMAT_PORTABLE;
}

bool uspi_put_frame(struct uspi_text *text, uint32_t style, const struct uspi_frame_line *line) {
    switch (style) {
    case USP_FORMAT_CALL_STACK_SYMBOLS: put_call_stack_symbols(text, line); return true;
    case USP_FORMAT_PLAIN: put_plain(text, line); return true;
    case USP_FORMAT_BACKTRACE_SYMBOLS: put_backtrace_symbols(text, line); return true;
    case USP_FORMAT_BS_BACKTRACE: put_bs_backtrace(text, line); return true;
    case USP_FORMAT_CRASH_REPORT: put_crash_report(text, line); return true;
    case USP_FORMAT_PORTABLE: put_portable(text, line); return true;
    default: return false;
    }
}

int usp_format_frame(char *buffer, size_t size, uint32_t format, const struct usp_stack *stack, uint32_t index,
                     const struct usp_symbol *symbol) {
    static const struct usp_symbol none;
    if (stack == NULL || index >= stack->count || (buffer == NULL && size != 0)) return USP_ERROR_ARGUMENT;
    struct uspi_frame_line line = {.backend = uspi_backend_any(stack->arch),
                                   .index = index,
                                   .frame = &stack->frames[index],
                                   .symbol = symbol != NULL ? symbol : &none};
    if (line.backend == NULL) return USP_ERROR_ARGUMENT;
    struct uspi_text text = uspi_text_in(buffer, size);
    if (!uspi_put_frame(&text, format, &line)) return USP_ERROR_ARGUMENT;
    return uspi_text_end(&text);
}

int usp_format_escaped(char *buffer, size_t size, uint32_t escape, const char *bytes, size_t n) {
    if ((buffer == NULL && size != 0) || (bytes == NULL && n != 0)) return USP_ERROR_ARGUMENT;
    struct uspi_text text = uspi_text_in(buffer, size);
    struct uspi_span span = {bytes, n};
    switch (escape) {
    case USP_ESCAPE_TERMINAL: uspi_put_harmless(&text, span, ""); break;
    case USP_ESCAPE_JSON: uspi_put_json_text(&text, span); break;
    case USP_ESCAPE_FOLDED: uspi_put_harmless(&text, span, ";"); break;
    default: return USP_ERROR_ARGUMENT;
    }
    return uspi_text_end(&text);
}
