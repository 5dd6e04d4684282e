/* SPDX-License-Identifier: MIT */
/* Reads Apple's lines with an address, and lines in the same form: callStackSymbols, .crash reports, BSBacktraceLogger.
 * Also reads the sections of a .crash report.
 *
 *   INDEX IMAGE ADDRESS …     INDEX may be missing. … is IMAGE + OFFSET, LOAD + OFFSET, UUID + OFFSET, HEADER + OFFSET
 *                             or <redacted> + OFFSET; an answer replaces all of it. OFFSET may be hexadecimal
 *   INDEX IMAGE ADDRESS LOAD  Instabug
 *   FIRST - LAST IDENT ARCH <UUID> PATH
 *   FIRST IDENT ARCH UUID     Instabug
 *
 * Sources: Libc gen/backtrace.c; Apple, "Examining the fields in a crash report"; BSBacktraceLogger.m. Instabug:
 * flutter/flutter issue 110602, Instabug/Instabug-iOS issue 405. CrashReporter for jailbroken devices:
 * Matchstic/ReProvision issue 105, hippogamesunity/PixelStudioHub issue 99. */
#include "lib/base/clear.h"
#include "lib/report/read/apple.h"
#include "lib/report/read/line.h"

static struct uspi_span ahead(struct uspi_span text, size_t to) { return uspi_span_part(text, 0, to); }

/* ---- frames ---- */

/* Whether a column begins at `at`: at the beginning of a word, or directly after an index that fills its column. */
static bool begins_column(struct uspi_span text, size_t at) {
    size_t from = at;
    while (from > 0 && uspi_is_digit(text.bytes[from - 1])) from--;
    return uspi_begins_word(text, at) || (at - from >= USPI_INDEX_WIDTH && uspi_begins_word(text, from));
}

/* Returns how many bytes at the end of the text before the address are the image's name: all of the name, or what fits
 * in the column. 0: the text does not end with that name. */
static size_t ending_of_image(struct uspi_span before, struct uspi_span name) {
    const size_t cut = name.length < USPI_IMAGE_WIDTH ? name.length : USPI_IMAGE_WIDTH, widths[] = {name.length, cut};
    for (unsigned i = 0; i < 2; i++) {
        if (!uspi_span_ends(before, ahead(name, widths[i]))) continue;
        if (begins_column(before, before.length - widths[i])) return widths[i];
    }
    return 0;
}

/* Reads the columns before the address, if nothing else shows which of them is the image's. */
static void take_columns(struct uspi_span before, struct uspi_frame *frame) {
    size_t at = 0;
    struct uspi_span text = uspi_span_trim_left(before);
    while (text.length > 0 && (text.bytes[0] == '"' || text.bytes[0] == '(')) {
        text = uspi_span_trim_left(uspi_span_after(text, 1));
    }
    if (uspi_span_begins(text, USPI_SPAN("at "))) text = uspi_span_trim_left(uspi_span_after(text, 3));
    bool is_long = uspi_length_of_long_index(text) > 0;
    if (uspi_scan_decimal(text, &at, &frame->index) &&
        (is_long || at == text.length || text.bytes[at] == ' ' || text.bytes[at] == '\t')) {
        frame->flags |= USPI_FRAME_INDEX;
        text = uspi_span_trim_left(uspi_span_after(text, at));
    }
    bool is_none = uspi_span_is(text, USPI_SPAN("???")) || uspi_span_begins(text, USPI_SPAN("0x"));
    frame->image = is_none ? (struct uspi_span)USPI_SPAN_INIT("") : text;
}

/* Reads a name in a comment after the load address, as tools for jailbroken devices write it: "0x104e5c000 +
 * 0x4004\t// main + 0xc", Cr4shed "0x104e5c000 + 16388\t// main". Functions without a name have a number. An answer
 * replaces both. */
static void take_comment(struct uspi_span text, size_t at, struct uspi_frame *frame) {
    struct uspi_frame named = {.flags = USPI_FRAME_NAMED | USPI_FRAME_NAME_OFFSET};
    uint64_t offset = 0;
    uspi_skip_blanks(text, &at);
    if (!uspi_skip(text, &at, USPI_SPAN("// "))) return;
    if (!uspi_take_symbol_hex(uspi_span_after(text, at), &named, &offset)) {
        named.flags = USPI_FRAME_NAMED;
        named.name = named.replaced = uspi_span_after(text, at);
    }
    frame->replaced.length = at + named.replaced.length;
    if (uspi_is_placeholder(named.name)) return;
    frame->name = named.name;
    frame->name_offset = offset;
    frame->flags |= named.flags;
}

/* KSCrash can write the name that the device knew after the load address: "0x104e5c000 + 16388 (main + 12)". An answer
 * replaces both. */
static void take_second_name(struct uspi_span rest, struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim_right(rest);
    size_t at = frame->replaced.length;
    take_comment(text, at, frame);
    if (!uspi_skip(text, &at, USPI_SPAN(" (")) || text.bytes[text.length - 1] != ')') return;
    const size_t plus = uspi_span_find(text, at, USPI_SPAN(" + "));
    size_t digits = plus + 3;
    uint64_t offset;
    if (plus == text.length || !uspi_scan_decimal(text, &digits, &offset) || digits + 1 != text.length) return;
    frame->replaced.length = text.length;
}

/* Whether a name is one of lldb, "App`main", which it writes after addresses in registers and threads, too: lines that
 * are not frames. Swift's names may have two of these marks. */
static bool is_name_of_lldb(struct uspi_span name) {
    unsigned marks = 0;
    for (size_t at = 0; (at = uspi_span_find(name, at, USPI_SPAN("`"))) < name.length; at++) marks++;
    return marks % 2 != 0;
}

static bool take_address_line(struct uspi_span line, size_t at_address, size_t after_address,
                              struct uspi_frame *frame) {
    uint64_t offset, load;
    size_t at = 0;
    struct uspi_span before = uspi_span_trim_right(ahead(line, at_address));
    const struct uspi_span rest = uspi_span_trim_left(uspi_span_after(line, after_address));
    const bool is_hex = !uspi_take_symbol(rest, frame, &offset);
    if (is_hex && !uspi_take_symbol_hex(rest, frame, &offset)) return false;
    /* Xcode's Organizer writes this instead of a source line that is not known. */
    at = frame->replaced.length;
    if (uspi_skip(rest, &at, USPI_SPAN(" (:-1)"))) frame->replaced.length = at;
    at = 0;
    frame->flags |= USPI_FRAME_ADDRESS;
    frame->before = before;
    const bool is_crashlytics = uspi_is_crashlytics_offset(line, at_address, frame->address);
    if (is_crashlytics && uspi_span_is(frame->name, USPI_SPAN("<redacted>"))) return false;
    if (uspi_span_is(frame->name, USPI_SPAN("<redacted>")) || uspi_span_is(frame->name, USPI_SPAN("<unknown>")) ||
        uspi_is_invented(frame->name)) {
        take_columns(before, frame);
        return true;
    }
    size_t width = ending_of_image(before, frame->name);
    if (width > 0) {
        frame->image = frame->name;
        uspi_take_index_before(ahead(before, before.length - width), frame);
    } else {
        take_columns(before, frame);
        bool is_load = uspi_scan_hex(frame->name, &at, &load) && at == frame->name.length;
        /* "name + 0x7" is not Apple's. */
        if (is_hex && !is_load) return false;
        if (is_load && load + offset != frame->address) {
            /* "0x0 + 0": neither the image nor the offset was known. */
            if (load == 0 && offset == 0) return true;
            /* Address and offset contradict each other: a name would be a guess. */
            frame->flags |= USPI_FRAME_NOWHERE;
            return (frame->flags & USPI_FRAME_INDEX) != 0 && frame->image.length > 0;
        }
        if (is_load) take_second_name(rest, frame);
        if (!is_load && !uspi_is_header(frame->name) && !uspi_take_uuid(frame->name, frame)) {
            if (is_crashlytics || is_name_of_lldb(frame->name)) return false;
            frame->flags |= USPI_FRAME_NAMED | USPI_FRAME_NAME_OFFSET;
            frame->name_offset = offset;
            return true;
        }
    }
    frame->flags |= USPI_FRAME_OFFSET;
    frame->offset = offset;
    return offset <= frame->address;
}

/* Whether the columns are those of Libc's backtrace_symbols, and the name is not a load address: a line of
 * callStackSymbols. The first address of such a list is a return address, too. */
static bool is_call_stack(size_t at_address, size_t after_address, const struct uspi_frame *frame) {
    const size_t digits = after_address - at_address;
    if (at_address < USPI_INDEX_WIDTH + USPI_IMAGE_WIDTH + 1) return false;
    const size_t width = ending_of_image(frame->before, frame->image);
    /* Without a symbol "0x0" stands for it; Kotlin writes the address without zeros before it then. */
    const bool is_unknown = uspi_span_is(frame->name, USPI_SPAN("0x0"));
    return width > 0 && (frame->flags & USPI_FRAME_INDEX) != 0 && (digits == 18 || digits == 10 || is_unknown) &&
           at_address == frame->before.length - width + USPI_IMAGE_WIDTH + 1 &&
           (is_unknown || !uspi_span_begins(frame->name, USPI_SPAN("0x")));
}

/* Maximum number of hexadecimal numbers in a line that are tried as its address. Logs write their own numbers before
 * it. */
#define ADDRESSES 4

static size_t begin_of_next(struct uspi_span line, const struct uspi_frame *frame);

/* Finds a frame by one of the first `most` numbers. */
static bool find_one(struct uspi_span line, unsigned most, struct uspi_frame *frame) {
    struct uspi_frame named;
    unsigned tried = 0;
    named.flags = 0;
    for (size_t at = 0; tried < most && (at = uspi_span_find(line, at, USPI_SPAN("0x"))) < line.length; at++) {
        size_t end = at;
        uint64_t address;
        if (!uspi_begins_word(line, at) || !uspi_scan_hex(line, &end, &address)) continue;
        if (end >= line.length || (line.bytes[end] != ' ' && line.bytes[end] != '\t')) continue;
        if (tried++ > 0) uspi_clear(frame, sizeof *frame);
        frame->address = address;
        if (!take_address_line(line, at, end, frame)) continue;
        if (is_call_stack(at, end, frame)) frame->flags |= USPI_FRAME_CALL_STACK;
        if ((frame->flags & USPI_FRAME_NAMED) == 0) return true;
        if (most > 1 && begin_of_next(line, frame) > 0) return true;
        if (named.flags == 0) named = *frame;
    }
    if (named.flags != 0) *frame = named;
    return named.flags != 0;
}

/* Returns the position of the next frame in the line, which has the next index; 0 if there is none. Lines lose their
 * ends where text is copied into one field. */
static size_t begin_of_next(struct uspi_span line, const struct uspi_frame *frame) {
    struct uspi_frame next;
    size_t at = (size_t)(frame->replaced.bytes - line.bytes) + frame->replaced.length;
    /* Most lines end here. */
    if (at >= line.length || line.bytes[at] == '\n') return 0;
    at = uspi_end_of_source(line, at);
    while (at < line.length && memchr(" \t\",|", line.bytes[at], 5) != NULL) at++;
    if (at >= line.length || !uspi_is_digit(line.bytes[at])) return 0;
    uspi_clear(&next, sizeof next);
    const bool is_next = find_one(uspi_span_after(line, at), 1, &next) && (next.flags & USPI_FRAME_INDEX) != 0;
    /* Text before the first frame hides its index. */
    const uint64_t index = (frame->flags & USPI_FRAME_INDEX) != 0 ? frame->index : 0;
    return is_next && next.index == index + 1 ? at : 0;
}

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    if (!find_one(uspi_span_after(line, from), from > 0 ? 1 : ADDRESSES, frame)) return false;
    frame->end = begin_of_next(line, frame);
    if (from > 0 || frame->end > 0) frame->flags |= USPI_FRAME_REPEATED;
    return true;
}

/* Width of the column of an address without leading zeros, which the name follows in Sentry's reports
 * (getsentry/sentry, applecrashreport.py). */
#define SENTRY_ADDRESS_WIDTH 20

/* Reads " :OFFSET (in IMAGE)" after a name (flutter/flutter issue 60189). */
static bool take_offset_in_image(struct uspi_frame *frame) {
    const size_t in = uspi_span_find_last(frame->name, USPI_SPAN(" (in ")),
                 colon = uspi_span_find_last(ahead(frame->name, in), USPI_SPAN(" :"));
    size_t at = colon + 2;
    if (in == frame->name.length || colon >= in || !uspi_scan_decimal(frame->name, &at, &frame->name_offset) ||
        at != in)
        return false;
    frame->replaced = frame->name;
    frame->name.length = colon;
    frame->flags |= USPI_FRAME_NAME_OFFSET;
    return true;
}

/* Finds frames with a name and no offset: "INDEX IMAGE ADDRESS NAME (FILE:LINE)" and "… NAME [inlined]"; Sentry's also
 * without a source line, and as "[inlined] NAME". */
static bool find_named(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    static const struct uspi_span inlined = USPI_SPAN_INIT("[inlined] ");
    const struct uspi_span text = uspi_span_trim_right(line);
    size_t at = uspi_span_find(text, 0, USPI_SPAN("0x")), end = at;
    if (from > 0 || at == text.length || !uspi_begins_word(text, at) || !uspi_scan_hex(text, &end, &frame->address))
        return false;
    if (end >= text.length || !uspi_is_blank(text.bytes[end])) return false;
    if (uspi_is_crashlytics_offset(text, at, frame->address)) return false;
    take_columns(uspi_span_trim_right(ahead(text, at)), frame);
    frame->name = uspi_span_trim_left(uspi_span_after(text, end));
    frame->flags |= USPI_FRAME_ADDRESS | USPI_FRAME_NAMED;
    const bool is_sentry = frame->name.bytes == text.bytes + at + SENTRY_ADDRESS_WIDTH && end < at + 17;
    if (is_sentry && uspi_span_begins(frame->name, inlined)) {
        frame->name = uspi_span_after(frame->name, inlined.length);
        frame->flags |= USPI_FRAME_INLINED;
    }
    uspi_take_source(line, frame);
    if (is_sentry && uspi_is_placeholder(frame->name)) {
        frame->flags &= ~(unsigned)USPI_FRAME_NAMED;
        frame->replaced = frame->name;
    }
    const bool is_told =
        is_sentry || frame->file.length > 0 || (frame->flags & USPI_FRAME_INLINED) != 0 || take_offset_in_image(frame);
    return is_told && (frame->flags & USPI_FRAME_INDEX) != 0 && frame->name.length > 0;
}

/* Reads Instabug's frames without a name: the load address follows the frame's. */
static bool find_loaded(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim_right(line);
    const size_t blank = uspi_span_find_last(text, USPI_SPAN(" "));
    size_t at = 0, end = 0;
    uint64_t load;
    if (from > 0 || blank == text.length) return false;
    const struct uspi_span word = uspi_span_after(text, blank + 1), rest = uspi_span_trim_right(ahead(text, blank));
    const size_t begin = uspi_span_find_last(rest, USPI_SPAN(" ")) + 1;
    if (!uspi_scan_hex(word, &at, &load) || at != word.length || begin > rest.length) return false;
    const struct uspi_span address = uspi_span_after(rest, begin);
    if (!uspi_scan_hex(address, &end, &frame->address) || end != address.length || frame->address < load) return false;
    const struct uspi_span columns = uspi_span_trim_right(ahead(rest, begin));
    take_columns(columns, frame);
    frame->flags |= USPI_FRAME_ADDRESS;
    frame->name = frame->replaced = word;
    if ((frame->flags & USPI_FRAME_INDEX) == 0) return false;
    if (frame->image.length == 0) return uspi_span_ends(columns, USPI_SPAN("???"));
    frame->flags |= USPI_FRAME_OFFSET | USPI_FRAME_GUESS;
    frame->offset = frame->address - load;
    return true;
}

static bool find_other(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    if (find_named(line, from, frame)) return true;
    uspi_clear(frame, sizeof *frame);
    return find_loaded(line, from, frame);
}

/* Finds a frame of which only the address is known: Apple's newer reports write "???", ours "[unknown]". */
static bool find_unknown(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    static const struct uspi_span images[] = {USPI_SPAN_INIT("???"), USPI_SPAN_INIT("<translation info unavailable>")};
    struct uspi_span text = uspi_span_trim_right(line);
    const size_t blank = uspi_span_find_last(text, USPI_SPAN(" "));
    if (from > 0 || blank == text.length) return false;
    const struct uspi_span word = uspi_span_after(text, blank + 1);
    if (!uspi_span_is(word, USPI_SPAN("???")) && !uspi_span_is(word, USPI_SPAN("[unknown]"))) return false;
    const struct uspi_span rest = uspi_span_trim_right(ahead(text, blank));
    size_t begin = rest.length;
    while (begin > 0 && !uspi_is_blank(rest.bytes[begin - 1])) begin--;
    size_t at = begin;
    const struct uspi_span columns = uspi_span_trim_right(ahead(rest, begin));
    if (!uspi_scan_hex(rest, &at, &frame->address) || at != rest.length) return false;
    const struct uspi_span image = uspi_span_ends(columns, images[0]) ? images[0] : images[1];
    if (!uspi_span_ends(columns, image)) return false;
    uspi_take_index_before(ahead(columns, columns.length - image.length), frame);
    frame->flags |= USPI_FRAME_ADDRESS;
    frame->name = frame->replaced = word;
    return true;
}

/* ---- images ---- */

/* Finds the last <…> that contains a UUID, "Unknown", or only zeros, which mean that there is none. */
static bool take_id(struct uspi_span line, size_t from, size_t *begin, size_t *end, struct uspi_read_image *image) {
    for (size_t at = line.length; at-- > from;) {
        if (line.bytes[at] != '>') continue;
        *end = at + 1;
        while (at > from && line.bytes[at] != '<') at--;
        if (line.bytes[at] != '<') return false;
        *begin = at;
        struct uspi_span id = uspi_span_part(line, at + 1, *end - 1);
        image->id_size = uspi_scan_id(id, image->id, sizeof image->id);
        bool is_none = id.length > 0;
        for (size_t i = 0; i < id.length; i++) is_none = is_none && (id.bytes[i] == '0' || id.bytes[i] == '-');
        if (image->id_size != 0 || is_none || uspi_span_is(id, USPI_SPAN("Unknown"))) return true;
    }
    return false;
}

/* Reads "FIRST - LAST", or "FIRST - ???", which spindump writes if it does not know the end. A * marks images of the
 * kernel. */
static bool take_range(struct uspi_span line, size_t *at, struct uspi_read_image *image) {
    uspi_skip_blanks(line, at);
    uspi_skip(line, at, USPI_SPAN("*"));
    if (!uspi_scan_hex(line, at, &image->first)) return false;
    uspi_skip_blanks(line, at);
    if (!uspi_skip(line, at, USPI_SPAN("-"))) return false;
    uspi_skip_blanks(line, at);
    if (uspi_skip(line, at, USPI_SPAN("???"))) {
        image->last = image->first;
        return true;
    }
    return uspi_scan_hex(line, at, &image->last) && image->last >= image->first;
}

/* Reads the whole build id in the version's place, as our own reports have it: the id in angle brackets is its beginning,
 * or a shorter one that is filled up with zeros. */
static void take_whole_id(struct uspi_span version, struct uspi_read_image *image) {
    uint8_t id[sizeof image->id] = {0};
    if (version.length < 2 || version.bytes[version.length - 1] != ')') return;
    const size_t size = uspi_scan_id(uspi_span_part(version, 1, version.length - 1), id, sizeof id);
    if (size == 0 || image->id_size != USPI_UUID_BYTES || memcmp(id, image->id, USPI_UUID_BYTES) != 0) return;
    memcpy(image->id, id, sizeof id);
    image->id_size = size;
}

bool uspi_apple_image(struct uspi_span line, struct uspi_read_image *image) {
    size_t at = 0, id_begin, id_end;
    if (!take_range(line, &at, image) || !take_id(line, at, &id_begin, &id_end, image)) return false;
    image->path = uspi_span_trim(uspi_span_after(line, id_end));
    /* Between the addresses and the id are the identifier, a version in parentheses, and the processor; the last two
     * may be missing. A + marks images that are not Apple's. */
    struct uspi_span middle = uspi_span_trim(uspi_span_part(line, at, id_begin));
    if (middle.length > 0 && middle.bytes[0] == '+') middle = uspi_span_after(middle, 1);
    size_t last = middle.length;
    while (last > 0 && middle.bytes[last - 1] != ' ') last--;
    image->arch = uspi_scan_arch(uspi_span_after(middle, last), &image->variant);
    if (image->arch != USP_ARCH_NONE) middle = uspi_span_trim_right(ahead(middle, last));
    size_t version = uspi_span_find(middle, 0, USPI_SPAN(" ("));
    const size_t last_part = uspi_span_find_last(middle, USPI_SPAN(" ("));
    if (last_part < middle.length) take_whole_id(uspi_span_after(middle, last_part + 1), image);
    image->ident = uspi_span_trim_right(ahead(middle, version));
    if (uspi_span_is(image->ident, USPI_SPAN("???"))) image->ident = (struct uspi_span)USPI_SPAN_INIT("");
    /* A part of the list that is not an image: "0x0 - 0xffffffffffffffff ??? (*) <00000000-…> ???". */
    if (image->ident.length == 0 && image->id_size == 0 && uspi_span_is(image->path, USPI_SPAN("???"))) {
        image->path = image->ident;
        image->base = USP_PLACE_FILE;
    }
    return true;
}

/* Reads Instabug's images. The list does not state where they end. */
static bool find_loaded_image(struct uspi_span line, struct uspi_read_image *image) {
    struct uspi_span text = uspi_span_trim_right(line);
    size_t at = 0;
    const size_t id = uspi_span_find_last(text, USPI_SPAN(" "));
    if (id == text.length || !uspi_scan_hex(text, &at, &image->first) || !uspi_is_blank(text.bytes[at])) return false;
    if (text.length - id != 37) return false;
    image->id_size = uspi_scan_id(uspi_span_after(text, id + 1), image->id, sizeof image->id);
    text = uspi_span_trim_right(ahead(text, id));
    const size_t arch = uspi_span_find_last(text, USPI_SPAN(" "));
    if (image->id_size == 0 || arch == text.length || arch < at) return false;
    image->arch = uspi_scan_arch(uspi_span_after(text, arch + 1), &image->variant);
    image->ident = image->path = uspi_span_trim(uspi_span_part(text, at, arch));
    uspi_set_range(image, image->first, USPI_IMAGE_SIZE_MAX);
    return image->arch != USP_ARCH_NONE && image->path.length > 0;
}

/* ---- headings ---- */

bool uspi_apple_field(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_field_label labels[] = {
        {USPI_SPAN_INIT("Process:"), USPI_FIELD_PROCESS, false},
        {USPI_SPAN_INIT("Command:"), USPI_FIELD_PROCESS, false},
        {USPI_SPAN_INIT("PID:"), USPI_FIELD_PROCESS_ID, false},
        {USPI_SPAN_INIT("Path:"), USPI_FIELD_PATH, false},
        {USPI_SPAN_INIT("Identifier:"), USPI_FIELD_IDENTIFIER, false},
        {USPI_SPAN_INIT("Version:"), USPI_FIELD_VERSION, false},
        {USPI_SPAN_INIT("Code Type:"), USPI_FIELD_CODE_TYPE, false},
        {USPI_SPAN_INIT("Architecture:"), USPI_FIELD_CODE_TYPE, false},
        {USPI_SPAN_INIT("Parent Process:"), USPI_FIELD_PARENT, false},
        {USPI_SPAN_INIT("Parent:"), USPI_FIELD_PARENT, false},
        {USPI_SPAN_INIT("Incident Identifier:"), USPI_FIELD_INCIDENT, false},
        {USPI_SPAN_INIT("Hardware Model:"), USPI_FIELD_HARDWARE, false},
        {USPI_SPAN_INIT("Hardware model:"), USPI_FIELD_HARDWARE, false},
        {USPI_SPAN_INIT("OS Version:"), USPI_FIELD_OS_VERSION, false},
        {USPI_SPAN_INIT("Date/Time:"), USPI_FIELD_DATE, false},
        {USPI_SPAN_INIT("End time:"), USPI_FIELD_END_DATE, false},
        {USPI_SPAN_INIT("Event:"), USPI_FIELD_EVENT, false},
        {USPI_SPAN_INIT("Action taken:"), USPI_FIELD_ACTION, false},
        {USPI_SPAN_INIT("CPU:   "), USPI_FIELD_USAGE, false}, /* "CPU: arm64" is minidump-stackwalk's */
        {USPI_SPAN_INIT("Wakeups:"), USPI_FIELD_USAGE, false},
        {USPI_SPAN_INIT("Writes:"), USPI_FIELD_USAGE, false},
        {USPI_SPAN_INIT("Duration:"), USPI_FIELD_DURATION, false},
        {USPI_SPAN_INIT("Exception Type:"), USPI_FIELD_EXCEPTION_TYPE, false},
        {USPI_SPAN_INIT("Exception Subtype:"), USPI_FIELD_EXCEPTION_SUBTYPE, false},
        {USPI_SPAN_INIT("Exception Codes:"), USPI_FIELD_EXCEPTION_CODES, false},
        {USPI_SPAN_INIT("Exception Note:"), USPI_FIELD_EXCEPTION_NOTE, false},
        {USPI_SPAN_INIT("Exception Reason:"), USPI_FIELD_EXCEPTION_REASON, false},
        {USPI_SPAN_INIT("Exception Message:"), USPI_FIELD_EXCEPTION_REASON, false},
        {USPI_SPAN_INIT("Termination Reason:"), USPI_FIELD_TERMINATION, false},
        {USPI_SPAN_INIT("Termination Signal:"), USPI_FIELD_TERMINATION, false},
        {USPI_SPAN_INIT("Terminating Process:"), USPI_FIELD_TERMINATING_PROCESS, false},
        {USPI_SPAN_INIT("VM Region Info:"), USPI_FIELD_VM_REGION, false},
        {USPI_SPAN_INIT("Triggered by Thread:"), USPI_FIELD_TRIGGERED_BY, false},
        {USPI_SPAN_INIT("Highlighted by Thread:"), USPI_FIELD_TRIGGERED_BY, false},
        {USPI_SPAN_INIT("Crashed Thread:"), USPI_FIELD_TRIGGERED_BY, false},
        {USPI_SPAN_INIT("Application Specific Information:"), USPI_FIELD_INFORMATION, false},
        {USPI_SPAN_INIT("Dyld Error Message:"), USPI_FIELD_INFORMATION, false},
        {USPI_SPAN_INIT("Error Formulating Crash Report:"), USPI_FIELD_INFORMATION, false},
        {USPI_SPAN_INIT("Kernel Triage:"), USPI_FIELD_KERNEL_TRIAGE, false},
    };
    return uspi_take_field(line, labels, sizeof labels / sizeof *labels, heading);
}

/* Reads the name of a thread in a report: its own name, "Dispatch queue: LABEL", or both. */
static void take_thread_name(struct uspi_span text, struct uspi_heading *heading) {
    static const struct uspi_span queue = USPI_SPAN_INIT("Dispatch queue:");
    size_t at = uspi_span_find(text, 0, queue);
    heading->name = uspi_span_trim(ahead(text, at));
    if (at < text.length) heading->queue = uspi_span_trim(uspi_span_after(text, at + queue.length));
}

/* Reads "Thread 0:", "Thread 0 Crashed:", "Thread 0 name:  …", "Thread 0 Crashed:: …", "Thread 0:: …", and Sentry's
 * "Thread 0 name: … Crashed:". */
static bool thread_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_span crashed = USPI_SPAN_INIT(" Crashed:");
    size_t at = 0;
    if (!uspi_skip(line, &at, USPI_SPAN("Thread ")) || !uspi_scan_decimal(line, &at, &heading->number)) return false;
    heading->kind = USPI_HEADING_THREAD;
    heading->flags = USPI_THREAD_NUMBER;
    if (uspi_skip(line, &at, USPI_SPAN(" name:"))) {
        heading->flags |= USPI_THREAD_NAME_ONLY;
        struct uspi_span name = uspi_span_trim_right(uspi_span_after(line, at));
        if (uspi_span_ends(name, crashed)) {
            heading->flags |= USPI_THREAD_CRASHED;
            name.length -= crashed.length;
        }
        take_thread_name(name, heading);
        return true;
    }
    if (uspi_skip(line, &at, USPI_SPAN(" Crashed"))) heading->flags |= USPI_THREAD_CRASHED;
    /* The registers of a thread follow; they are not frames. */
    if (uspi_span_has(uspi_span_after(line, at), USPI_SPAN(" Thread State"))) {
        heading->kind = USPI_HEADING_STATE;
        return true;
    }
    if (!uspi_skip(line, &at, USPI_SPAN(":"))) return false;
    uspi_skip(line, &at, USPI_SPAN(":"));
    take_thread_name(uspi_span_after(line, at), heading);
    return true;
}

static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_span stacks[] = {
        USPI_SPAN_INIT("Last Exception Backtrace:"),
        USPI_SPAN_INIT("*** First throw call stack:"),
        USPI_SPAN_INIT("Application Specific Backtrace "),
        USPI_SPAN_INIT("Backtrace of Thread "),
        USPI_SPAN_INIT("Backtrace of : "),
    };
    if (thread_heading(line, heading)) return true;
    if (uspi_span_begins(line, USPI_SPAN("Binary Images:"))) {
        heading->kind = USPI_HEADING_END;
        return true;
    }
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        size_t at = uspi_span_find(line, 0, stacks[i]);
        if (at == line.length) continue;
        heading->kind = USPI_HEADING_STACK;
        heading->name = uspi_span_trim(uspi_span_after(line, at));
        while (heading->name.length > 0 && heading->name.bytes[heading->name.length - 1] == ':') heading->name.length--;
        return true;
    }
    return uspi_apple_field(line, heading);
}

const struct uspi_line_shape uspi_apple_lines = {
    .name = "apple",
    .frame_bytes = USPI_HAS_X | USPI_HAS_PLUS,
    .image_bytes = USPI_HAS_X | USPI_HAS_ANGLE,
    .image_begins = USPI_BEGINS_0X | USPI_BEGINS_MARK,
    .frame = find_frame,
    .takes_line = true,
    .image = uspi_apple_image,
    .heading = find_heading,
};

const struct uspi_line_shape uspi_apple_named_lines = {
    .name = "apple",
    .frame_bytes = USPI_HAS_X,
    .frame_begins = USPI_BEGINS_DIGIT,
    .image_bytes = USPI_HAS_X,
    .image_begins = USPI_BEGINS_0X,
    .frame = find_other,
    .image = find_loaded_image,
};

const struct uspi_line_shape uspi_apple_unknown_lines = {
    .name = "apple",
    .frame_bytes = USPI_HAS_X,
    .frame = find_unknown,
};
