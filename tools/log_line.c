/* SPDX-License-Identifier: MIT */
/* See log_line.h. */
#include "tools/log_line.h"

#include <string.h>

#define UUID_LENGTH 36

static struct span behind(struct span text, size_t from) { return span_part(text, from, text.length); }

static struct span ahead(struct span text, size_t to) { return span_part(text, 0, to); }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool ends_word(struct span text, size_t at) {
    if (at >= text.length) return true;
    char c = text.bytes[at];
    return !is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '_' && c != '.';
}

/* Whether something begins at `at` that is no part of what stands in front of it. */
static bool begins_word(struct span text, size_t at) { return at == 0 || scan_is_in(" \t\"(", text.bytes[at - 1]); }

/* What dyld and linkers call the Mach header. BSBacktraceLogger and its copies take it for a function. */
static bool is_header(struct span name) {
    static const char *const headers[] = {"_mh_execute_header", "_mh_dylib_header", "_mh_bundle_header"};
    while (span_begins(name, SPAN("__"))) name = behind(name, 1);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        if (span_equals(name, (struct span){headers[i], strlen(headers[i])})) return true;
    }
    return false;
}

#define REDACTED SPAN("<redacted>")

bool log_is_placeholder(struct span name) {
    uint64_t address;
    size_t at = 0;
    if (name.length == 0 || span_equals(name, REDACTED) || is_header(name)) return true;
    return scan_hex(name, &at, &address) && at == name.length;
}

bool log_is_trampoline(struct span name) {
    /* Apple libplatform _sigtramp; glibc sysdeps/unix/sysv/linux (x86_64, i386, arm); the vdsos of Linux. */
    static const char *const trampolines[] = {
        "_sigtramp",
        "__restore_rt",
        "__restore",
        "__kernel_sigreturn",
        "__kernel_rt_sigreturn",
        "__default_sa_restorer",
        "__default_rt_sa_restorer",
    };
    for (size_t i = 0; i < sizeof trampolines / sizeof *trampolines; i++) {
        if (span_equals(name, (struct span){trampolines[i], strlen(trampolines[i])})) return true;
    }
    return false;
}

/* ---- INDEX IMAGE ADDRESS NAME + OFFSET ---- */

static bool is_uuid(struct span text, struct log_frame *frame) {
    if (text.length != UUID_LENGTH || text.bytes[8] != '-') return false;
    frame->id_size = scan_id(text, frame->id, sizeof frame->id);
    return frame->id_size != 0;
}

/* The number that ends the text, with nothing but a blank, a quote or a bracket in front of it. */
static void take_index(struct span text, struct log_frame *frame) {
    text = span_trim_right(text);
    size_t from = text.length;
    while (from > 0 && is_digit(text.bytes[from - 1])) from--;
    if (!begins_word(text, from) || !scan_decimal(text, &from, &frame->index)) return;
    frame->flags |= LOG_FRAME_INDEX;
}

/* The column of a frame's number, behind which, if it is longer, the next one follows without a blank (Libc
 * gen/backtrace.c, as the crash reports and USP_FORMAT_PORTABLE have it). */
#define INDEX_WIDTH 4

/* The digits at the beginning of a text, if they are a number that fills its column. */
static size_t length_of_long_index(struct span text) {
    size_t n = 0;
    while (n < text.length && is_digit(text.bytes[n])) n++;
    return n >= INDEX_WIDTH ? n : 0;
}

/* Whether a column begins at `at`. */
static bool begins_column(struct span text, size_t at) {
    size_t from = at;
    while (from > 0 && is_digit(text.bytes[from - 1])) from--;
    return begins_word(text, at) || (at - from >= INDEX_WIDTH && begins_word(text, from));
}

/* How much of the image's name stands at the end of what precedes the address: all of it, or what fits in the column.
 * 0: it is not the image's name. */
static size_t ending_of_image(struct span before, struct span name) {
    const size_t cut = name.length < LOG_IMAGE_WIDTH ? name.length : LOG_IMAGE_WIDTH, widths[] = {name.length, cut};
    for (unsigned i = 0; i < 2; i++) {
        if (!span_ends(before, ahead(name, widths[i]))) continue;
        if (begins_column(before, before.length - widths[i])) return widths[i];
    }
    return 0;
}

/* The columns before the address, where nothing else tells which of them is the image's. */
static void take_columns(struct span before, struct log_frame *frame) {
    size_t at = 0;
    struct span text = span_trim_left(before);
    while (text.length > 0 && (text.bytes[0] == '"' || text.bytes[0] == '(')) text = span_trim_left(behind(text, 1));
    bool is_long = length_of_long_index(text) > 0;
    if (scan_decimal(text, &at, &frame->index) && at < text.length && (is_long || scan_is_in(" \t", text.bytes[at]))) {
        frame->flags |= LOG_FRAME_INDEX;
        text = span_trim_left(behind(text, at));
    }
    frame->image = span_equals(text, SPAN("???")) || span_begins(text, SPAN("0x")) ? (struct span){"", 0} : text;
}

/* NAME + OFFSET at the beginning of `rest`. */
static bool take_symbol(struct span rest, struct log_frame *frame, uint64_t *offset) {
    size_t plus = 0;
    for (;;) {
        plus = span_find(rest, plus, SPAN(" + "));
        if (plus == rest.length) return false;
        size_t at = plus + 3;
        if (scan_decimal(rest, &at, offset) && ends_word(rest, at)) {
            frame->name = ahead(rest, plus);
            frame->replaced = ahead(rest, at);
            return frame->name.length > 0;
        }
        plus++;
    }
}

static bool take_address_line(struct span line, size_t at_address, size_t behind_address, struct log_frame *frame) {
    uint64_t offset, load;
    size_t at = 0;
    struct span before = span_trim_right(ahead(line, at_address));
    if (!take_symbol(span_trim_left(behind(line, behind_address)), frame, &offset)) return false;
    frame->flags |= LOG_FRAME_ADDRESS;
    frame->before = before;
    if (span_equals(frame->name, REDACTED)) {
        take_columns(before, frame);
        return true;
    }
    size_t width = ending_of_image(before, frame->name);
    if (width > 0) {
        frame->image = frame->name;
        take_index(ahead(before, before.length - width), frame);
    } else {
        take_columns(before, frame);
        bool is_load = scan_hex(frame->name, &at, &load) && at == frame->name.length;
        if (is_load && load + offset != frame->address) return false;
        if (!is_load && !is_header(frame->name) && !is_uuid(frame->name, frame)) {
            frame->flags |= LOG_FRAME_NAMED;
            return true;
        }
    }
    frame->flags |= LOG_FRAME_OFFSET;
    frame->offset = offset;
    return offset <= frame->address;
}

/* How many numbers of a line may be its address: logs put their own in front. */
#define ADDRESSES 4

static bool frame_with_address(struct span line, struct log_frame *frame) {
    struct log_frame named = {.flags = 0};
    unsigned tried = 0;
    for (size_t at = 0; tried < ADDRESSES && (at = span_find(line, at, SPAN("0x"))) < line.length; at++) {
        size_t end = at;
        *frame = (struct log_frame){.notation = LOG_SYMBOL};
        if (!begins_word(line, at) || !scan_hex(line, &end, &frame->address)) continue;
        if (end >= line.length || !scan_is_in(" \t", line.bytes[end])) continue;
        tried++;
        if (!take_address_line(line, at, end, frame)) continue;
        if ((frame->flags & LOG_FRAME_NAMED) == 0) return true;
        if (named.flags == 0) named = *frame;
    }
    *frame = named;
    return named.flags != 0;
}

/* ---- PATH(NAME+OFFSET) [ADDRESS] ---- */

static bool frame_with_parentheses(struct span line, struct log_frame *frame) {
    size_t open = span_find(line, 0, SPAN(") [0x")), close = open, at = open + 3;
    if (open == line.length || !scan_hex(line, &at, &frame->address)) return false;
    if (at >= line.length || line.bytes[at] != ']') return false;
    /* A name may have parentheses of its own, a path as well: what is unnamed begins with the last one. */
    while (open > 0 && line.bytes[open] != '(') open--;
    struct span inside = span_part(line, open + (line.bytes[open] == '('), close);
    frame->notation = LOG_PARENTHESES;
    frame->flags |= LOG_FRAME_ADDRESS;
    frame->before = ahead(line, open);
    frame->image = span_trim_left(frame->before);
    frame->replaced = inside;
    if (inside.length == 0) return frame->image.length > 0;
    at = 1;
    bool is_zero = span_equals(inside, SPAN("+0"));
    if (is_zero || (inside.bytes[0] == '+' && scan_hex(inside, &at, &frame->offset) && at == inside.length)) {
        frame->flags |= LOG_FRAME_OFFSET;
        return frame->image.length > 0 && frame->offset <= frame->address;
    }
    size_t plus = span_find(inside, 0, SPAN("+0"));
    frame->name = ahead(inside, plus);
    frame->flags |= LOG_FRAME_NAMED;
    return true;
}

/* ---- INDEX ID + OFFSET PATH ---- */

/* Where the build-id or UUID begins in a word that may begin with a long number of the frame. Both are digits then: the
 * build-id has one of the lengths that linkers make (xxhash, MD5 and UUID, SHA-1, SHA-256). */
static size_t begin_of_id(struct span line, size_t from, size_t end) {
    static const size_t lengths[] = {16, 32, UUID_LENGTH, 40, 64};
    struct span word = span_part(line, from, end);
    size_t index = span_trim(ahead(line, from)).length == 0 ? length_of_long_index(word) : 0, begin = from;
    for (size_t i = 0; index > 0 && i < sizeof lengths / sizeof *lengths; i++) {
        bool is_uuid = lengths[i] == UUID_LENGTH && word.length >= UUID_LENGTH && word.bytes[word.length - 13] == '-';
        if (lengths[i] == UUID_LENGTH && !is_uuid) continue;
        if (word.length == lengths[i]) return from;
        if (word.length < lengths[i] + INDEX_WIDTH || word.length - lengths[i] > index) continue;
        begin = end - lengths[i];
    }
    return begin;
}

static bool frame_with_id(struct span line, struct log_frame *frame) {
    size_t plus = span_find(line, 0, SPAN(" + 0x")), from = plus, at = plus + 3;
    if (plus == line.length || !scan_hex(line, &at, &frame->offset)) return false;
    if (at < line.length && !scan_is_in(" \t\r\n", line.bytes[at])) return false;
    while (from > 0 && !scan_is_in(" \t\"(", line.bytes[from - 1])) from--;
    from = begin_of_id(line, from, plus);
    struct span id = span_part(line, from, plus);
    frame->id_size = scan_id(id, frame->id, sizeof frame->id);
    if (frame->id_size == 0 && !span_equals(id, SPAN("???"))) return false;
    frame->flags |= LOG_FRAME_OFFSET;
    frame->replaced = span_part(line, from, at);
    frame->image = span_trim(behind(line, at));
    take_index(ahead(line, from), frame);
    return frame->id_size != 0 || frame->image.length > 0;
}

/* ---- IMAGE + OFFSET ---- */

static bool frame_alone(struct span line, struct log_frame *frame) {
    struct span text = span_trim(line);
    if (!take_symbol(text, frame, &frame->offset) || frame->replaced.length != text.length) return false;
    frame->flags |= LOG_FRAME_OFFSET | LOG_FRAME_PLAIN;
    if (!is_uuid(frame->name, frame)) frame->image = frame->name;
    return true;
}

bool log_line_frame(struct span line, struct log_frame *frame) {
    static bool (*const forms[])(struct span line, struct log_frame *frame) = {
        frame_with_address,
        frame_with_parentheses,
        frame_with_id,
        frame_alone,
    };
    /* What all forms have, and few other lines. */
    if (line.length == 0 ||
        (memchr(line.bytes, '+', line.length) == NULL && span_find(line, 0, SPAN("() [0x")) == line.length)) {
        return false;
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        *frame = (struct log_frame){.notation = LOG_SYMBOL};
        if (forms[i](line, frame)) return true;
    }
    return false;
}

/* ---- FIRST - LAST IDENT ARCH <UUID> PATH ---- */

static void skip_blanks(struct span text, size_t *at) {
    while (*at < text.length && (text.bytes[*at] == ' ' || text.bytes[*at] == '\t')) ++*at;
}

/* The last <…> that holds a UUID, or nothing but zeros for none. */
static bool take_id(struct span line, size_t from, size_t *begin, size_t *end, struct log_image_line *image) {
    for (size_t at = line.length; at-- > from;) {
        if (line.bytes[at] != '>') continue;
        *end = at + 1;
        while (at > from && line.bytes[at] != '<') at--;
        if (line.bytes[at] != '<') return false;
        *begin = at;
        struct span id = span_part(line, at + 1, *end - 1);
        image->id_size = scan_id(id, image->id, sizeof image->id);
        bool is_zeros = id.length > 0;
        for (size_t i = 0; i < id.length; i++) is_zeros = is_zeros && scan_is_in("0-", id.bytes[i]);
        if (image->id_size != 0 || is_zeros) return true;
    }
    return false;
}

bool log_line_image(struct span line, struct log_image_line *image) {
    size_t at = 0, id_begin, id_end;
    char arch[16];
    *image = (struct log_image_line){.first = 0};
    skip_blanks(line, &at);
    if (!scan_hex(line, &at, &image->first)) return false;
    skip_blanks(line, &at);
    if (at >= line.length || line.bytes[at++] != '-') return false;
    skip_blanks(line, &at);
    if (!scan_hex(line, &at, &image->last) || image->last < image->first) return false;
    if (!take_id(line, at, &id_begin, &id_end, image)) return false;
    image->path = span_trim(behind(line, id_end));
    /* Between the two: the identifier; then the processor, or a version in parentheses. A + marks what is not Apple's. */
    struct span middle = span_trim(span_part(line, at, id_begin));
    if (middle.length > 0 && middle.bytes[0] == '+') middle = behind(middle, 1);
    size_t last = middle.length;
    while (last > 0 && middle.bytes[last - 1] != ' ') last--;
    if (middle.length - last < sizeof arch) {
        memcpy(arch, middle.bytes + last, middle.length - last);
        arch[middle.length - last] = '\0';
        image->arch = usp_arch_from_name(arch);
    }
    if (image->arch != USP_ARCH_NONE) middle = span_trim_right(ahead(middle, last));
    size_t version = span_find(middle, 0, SPAN(" ("));
    image->ident = span_trim_right(ahead(middle, version));
    return true;
}
