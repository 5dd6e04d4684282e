/* SPDX-License-Identifier: MIT */
/* Writes names into what `xctrace export` writes. See xctrace.h.
 *
 *   <backtrace id="10"><frame id="11" name="0x104e61f34" addr="0x104e61f35"><binary id="12" name="App" UUID="0123ABCD-…"
 *     arch="arm64" load-addr="0x104e5c000" path="/private/App"/></frame><frame ref="7"/></backtrace>
 *
 * A frame without a symbol has its address as its name. `addr` of a caller is one more than its return address.
 * Sources: xctrace(1); exported files in public repositories. */
#include "lib/report/read/xctrace.h"

#include "lib/base/bisect.h"
#include "lib/report/read/line.h"

#include <stdlib.h>

bool uspi_is_xctrace(struct uspi_span text, bool is_last, bool *is_decided) {
    static const struct uspi_span root = USPI_SPAN_INIT("<trace-query-result");
    struct uspi_xml_token token;
    size_t at = 0;
    *is_decided = true;
    while (at < text.length && uspi_is_blank(text.bytes[at])) at++;
    if (at < text.length && text.bytes[at] != '<') return false;
    while (uspi_xml_next(text, &at, &token)) {
        if (token.name.length > 0) return uspi_span_begins(token.raw, root);
        /* Text before the first element has blanks only. */
        if (token.raw.bytes[0] != '<' && uspi_span_trim(token.raw).length > 0) return false;
    }
    *is_decided = is_last;
    return false;
}

bool uspi_is_backtrace(struct uspi_span name) {
    return uspi_span_is(name, USPI_SPAN("backtrace")) || uspi_span_is(name, USPI_SPAN("text-backtrace")) ||
           uspi_span_is(name, USPI_SPAN("kperf-bt"));
}

void uspi_xctrace_clear(struct uspi_xctrace *trace) {
    for (size_t i = 0; i < trace->binary_count; i++) free((char *)(uintptr_t)trace->binaries[i].name.bytes);
    free(trace->binaries);
    free(trace->binary_ids.ids);
    uspi_gathered_clear(&trace->held);
    uspi_gathered_clear(&trace->kept);
    uspi_gathered_clear(&trace->decoded);
    *trace = (struct uspi_xctrace){.position = 0};
}

/* ---- ids ---- */

bool uspi_trace_add(struct uspi_trace_ids *ids, uint64_t id, size_t number) {
    if (ids->count > 0 && ids->ids[ids->count - 1].id >= id) return true;
    if (!uspi_room_for(&ids->ids, &ids->capacity, ids->count, 1, sizeof *ids->ids)) return false;
    ids->ids[ids->count++] = (struct uspi_trace_id){id, number};
    return true;
}

size_t uspi_trace_find(const struct uspi_trace_ids *ids, const struct uspi_xml_token *tag) {
    uint64_t id;
    size_t at;
    if (!uspi_xml_number(tag, USPI_SPAN("ref"), &id) && !uspi_xml_number(tag, USPI_SPAN("id"), &id)) return SIZE_MAX;
    USPI_FIRST(at, 0, ids->count, ids->ids[at].id >= id);
    return at < ids->count && ids->ids[at].id == id ? ids->ids[at].number : SIZE_MAX;
}

/* ---- binaries and frames ---- */

bool uspi_xctrace_take_binary(struct uspi_xctrace *trace, const struct uspi_xml_token *tag, size_t *binary) {
    struct uspi_span name, text;
    uint64_t id;
    *binary = uspi_trace_find(&trace->binary_ids, tag);
    if (*binary != SIZE_MAX || !uspi_xml_number(tag, USPI_SPAN("id"), &id)) return true;
    struct uspi_trace_binary added = {.name = {NULL, 0}};
    if (!uspi_xml_number(tag, USPI_SPAN("load-addr"), &added.load)) return true;
    if (uspi_xml_attribute(tag, USPI_SPAN("UUID"), &text))
        added.id_size = uspi_scan_id(text, added.id, sizeof added.id);
    uint32_t variant;
    if (uspi_xml_attribute(tag, USPI_SPAN("arch"), &text)) added.arch = uspi_scan_arch(text, &variant);
    if (!uspi_xml_attribute(tag, USPI_SPAN("name"), &name)) name = (struct uspi_span){"", 0};
    if (!uspi_xml_decode(&name, &trace->decoded)) return false;
    if (!uspi_room_for(&trace->binaries, &trace->binary_capacity, trace->binary_count, 1, sizeof *trace->binaries)) {
        return false;
    }
    char *copy = malloc(name.length + 1);
    if (copy == NULL) return false;
    if (name.length > 0) memcpy(copy, name.bytes, name.length);
    added.name = (struct uspi_span){copy, name.length};
    trace->binaries[trace->binary_count] = added;
    *binary = trace->binary_count++;
    return uspi_trace_add(&trace->binary_ids, id, *binary);
}

bool uspi_xctrace_locate(struct uspi_xctrace *trace, const struct uspi_xml_token *tag, bool is_first, size_t binary,
                         const struct uspi_text_tables *given, struct uspi_located *located) {
    struct uspi_frame *frame = &located->frame;
    struct usp_place *place = &located->place;
    uint64_t address;
    size_t at = 0;
    memset(located, 0, sizeof *located);
    if (!uspi_xml_attribute(tag, USPI_SPAN("name"), &frame->name)) frame->name = (struct uspi_span){"", 0};
    if (!uspi_xml_decode(&frame->name, &trace->decoded)) return false;
    if (uspi_xml_number(tag, USPI_SPAN("addr"), &frame->address)) frame->flags |= USPI_FRAME_ADDRESS;
    /* Callers' addresses are one more than the return address. */
    if (!is_first && frame->address % 2 != 0) frame->address--;
    if (uspi_is_placeholder(frame->name)) {
        const bool is_hex = uspi_scan_hex(frame->name, &at, &address) && at == frame->name.length;
        if (is_hex) frame->address = address;
        if (is_hex) frame->flags |= USPI_FRAME_ADDRESS;
    } else {
        frame->flags |= USPI_FRAME_NAMED;
    }
    if (is_first) frame->flags |= USPI_FRAME_CALL_SITE;
    if ((frame->flags & USPI_FRAME_ADDRESS) == 0) return true;
    if (binary == USPI_NO_BINARY) {
        located->is_located = uspi_locate(given, frame, place);
        if (located->is_located && is_first) place->flags |= USP_PLACE_EXACT;
        return true;
    }
    const struct uspi_trace_binary *known = &trace->binaries[binary];
    located->is_located = frame->address >= known->load;
    frame->image = known->name;
    memcpy(place->build_id, known->id, sizeof place->build_id);
    place->build_id_size = (uint32_t)known->id_size;
    place->image = known->name.bytes;
    place->image_length = known->name.length;
    place->arch = known->arch;
    place->base = USP_PLACE_LOAD;
    place->offset = frame->address - known->load;
    if (is_first) place->flags |= USP_PLACE_EXACT;
    return true;
}

/* ---- writing ---- */

static void put_span(struct uspi_text *out, struct uspi_span span) { uspi_put(out, span.bytes, span.length); }

static void put_escaped(struct uspi_text *out, const char *string) {
    char buffer[256];
    struct uspi_text escaped = uspi_text_through(uspi_xml_escape, out, buffer, sizeof buffer);
    uspi_put_harmless(&escaped, uspi_span_of(string), "");
    uspi_text_flush(&escaped);
}

/* Writes the element with the source line of a frame. */
static void put_source(struct uspi_text *out, const struct usp_source_frame *frame) {
    uspi_put_string(out, "<source line=\"");
    uspi_put_decimal(out, frame->line, 0);
    uspi_put_string(out, "\"><path>");
    if (frame->directory != NULL && frame->file[0] != '/') {
        put_escaped(out, frame->directory);
        uspi_put_string(out, "/");
    }
    put_escaped(out, frame->file);
    uspi_put_string(out, "</path></source>");
}

/* Writes the held frame with its answer. Of inlined calls it writes the function that has the code, because an element
 * is one frame. */
static int end_held(struct uspi_xctrace *trace, struct uspi_line_reader *lines, struct uspi_text *out) {
    struct uspi_xml_token tag;
    struct uspi_located located;
    struct usp_answer answer;
    struct uspi_span held = uspi_gathered_span(&trace->held), name;
    size_t at = 0;
    if (!trace->is_held) return USP_OK;
    trace->is_held = false;
    uspi_xml_next(held, &at, &tag);
    const struct uspi_text_tables *given = lines->given != NULL ? lines->given : &lines->tables;
    if (!uspi_xctrace_locate(trace, &tag, trace->is_first, trace->binary, given, &located)) return USP_ERROR_NO_MEMORY;
    if (trace->has_source) located.frame.flags |= USPI_FRAME_LINED;
    const int status = uspi_log_lines_ask(lines, &located, &answer);
    if (status != USP_OK) return status;
    lines->counts->format = USPI_XCTRACE_FORMAT;
    size_t written = 0;
    const struct usp_source_frame *last = answer.count > 0 ? &answer.frames[answer.count - 1] : NULL;
    if (last != NULL && (located.frame.flags & USPI_FRAME_NAMED) == 0 &&
        uspi_xml_attribute(&tag, USPI_SPAN("name"), &name)) {
        const size_t from = (size_t)(name.bytes - held.bytes);
        put_span(out, uspi_span_part(held, 0, from));
        put_escaped(out, last->function);
        written = from + name.length;
    }
    if (last != NULL && last->file != NULL && last->line > 0 && trace->after_binary > 0 && !trace->has_source) {
        put_span(out, uspi_span_part(held, written, trace->after_binary));
        put_source(out, last);
        written = trace->after_binary;
    }
    put_span(out, uspi_span_after(held, written));
    return out->status;
}

static int hold(struct uspi_xctrace *trace, struct uspi_span bytes) {
    return uspi_gathered_append(&trace->held, bytes.bytes, bytes.length);
}

static int write_token(struct uspi_xctrace *trace, struct uspi_line_reader *lines, const struct uspi_xml_token *token,
                       struct uspi_text *out) {
    const struct uspi_span name = token->name;
    int status = USP_OK;
    size_t binary;
    if (!token->is_end && uspi_span_is(name, USPI_SPAN("binary"))) {
        if (!uspi_xctrace_take_binary(trace, token, &binary)) return USP_ERROR_NO_MEMORY;
        if (trace->is_held && token->is_empty) {
            status = hold(trace, token->raw);
            trace->binary = binary;
            trace->after_binary = trace->held.size;
            return status;
        }
    }
    const bool is_blank_text = name.length == 0 && uspi_span_trim(token->raw).length == 0;
    if (trace->is_held && is_blank_text) return hold(trace, token->raw);
    if (uspi_span_is(name, USPI_SPAN("source"))) trace->has_source = true;
    status = end_held(trace, lines, out);
    if (status != USP_OK) return status;
    if (uspi_is_backtrace(name)) trace->position = 0;
    if (token->is_end || !uspi_span_is(name, USPI_SPAN("frame"))) {
        put_span(out, token->raw);
        return out->status;
    }
    uint64_t id;
    const bool is_first = trace->position++ == 0;
    if (!uspi_xml_number(token, USPI_SPAN("id"), &id)) {
        put_span(out, token->raw);
        return out->status;
    }
    trace->held.size = trace->after_binary = 0;
    trace->binary = USPI_NO_BINARY;
    trace->is_held = true;
    trace->is_first = is_first;
    trace->has_source = false;
    status = hold(trace, token->raw);
    return status == USP_OK && token->is_empty ? end_held(trace, lines, out) : status;
}

int uspi_xctrace_write(struct uspi_xctrace *trace, struct uspi_line_reader *lines, struct uspi_span bytes, bool is_last,
                       struct uspi_text *out) {
    struct uspi_xml_token token;
    size_t at = 0;
    int status = uspi_xml_join(&trace->kept, &bytes);
    while (status == USP_OK && uspi_xml_next(bytes, &at, &token)) status = write_token(trace, lines, &token, out);
    if (status != USP_OK) return status;
    const struct uspi_span rest = uspi_span_after(bytes, at);
    if (is_last) {
        status = end_held(trace, lines, out);
        put_span(out, rest);
        return status == USP_OK ? out->status : status;
    }
    return uspi_xml_keep(&trace->kept, bytes, at);
}
