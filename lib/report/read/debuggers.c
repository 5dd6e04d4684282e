/* SPDX-License-Identifier: MIT */
/* Reads the output of debuggers of Linux, gdb's `backtrace`, eu-stack and coredumpctl, and their lines about images.
 *
 *   #1  0x000055555555540f in ?? () from /lib/libfoo.so
 *   #0  inner (p=0x0) at prog.c:9                     no address, at the beginning of a source line
 *   #2  <signal handler called>
 *   #1  0x00005557613c73a3 - /opt/prog              eu-stack -m; with -b, in the next line:
 *       [0c738b1b43c39b31585a57d02481e1f44b2edd4b]@0x5557613c6000+0x13a2
 *       /src/prog.c:13:78                           -s, in the next line as well
 *   #1  0x00007f3a1c0a8d3c n/a (libfoo.so + 0x8ed3c)      coredumpctl
 *   Module libfoo.so, build-id=0123…                 systemd 255; before: Module libfoo.so with build-id 0123…
 *
 * Sources: the programs themselves (gdb, elfutils); systemd src/shared/elf-util.c (frame_callback, parse_buildid). */
#include "lib/report/read/line.h"

/* Reads "#INDEX  0xADDRESS " at the line's beginning. */
static bool take_address(struct uspi_span line, size_t *at, struct uspi_frame *frame) {
    uspi_skip_blanks(line, at);
    size_t begin = *at;
    if (!uspi_take_hash_index(line, at, frame) || line.bytes[begin] != '#') return false;
    if (!uspi_scan_hex(line, at, &frame->address) || (*at < line.length && !uspi_is_blank(line.bytes[*at])))
        return false;
    frame->flags |= USPI_FRAME_ADDRESS;
    return true;
}

static void put_name(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                     uint32_t which) {
    (void)frame;
    uspi_put_source_name(out, answer, which);
}

/* ---- gdb ---- */

/* Returns the position after the parenthesis that closes the one at `open`, ignoring strings; the text's length if
 * there is none. */
static size_t end_of_arguments(struct uspi_span text, size_t open) {
    size_t depth = 0;
    bool is_in_string = false;
    for (size_t at = open; at < text.length; at++) {
        const char c = text.bytes[at];
        if (is_in_string && c == '\\') {
            at++;
        } else if (c == '"') {
            is_in_string = !is_in_string;
        } else if (!is_in_string) {
            depth += c == '(';
            depth -= c == ')';
            if (depth == 0) return at + 1;
        }
    }
    return text.length;
}

/* Maximum number of calls of end_of_arguments for a line, because each may read the line to its end. */
#define PARENTHESES 16

/* Reads "NAME (ARGUMENTS)" at `at`, and " at FILE:LINE" or " from IMAGE" after it. Names may contain parentheses, too:
 * "std::function<void (int)>::operator() (this=0x1)". */
static bool take_call(struct uspi_span line, size_t at, struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim_right(uspi_span_after(line, at));
    size_t open = uspi_span_find(text, 0, USPI_SPAN(" ("));
    for (unsigned i = 0; i < PARENTHESES && open < text.length; i++) {
        const size_t end = end_of_arguments(text, open + 1);
        const struct uspi_span rest = uspi_span_after(text, end);
        const bool is_at = uspi_span_begins(rest, USPI_SPAN(" at ")),
                   is_from = uspi_span_begins(rest, USPI_SPAN(" from "));
        frame->name = uspi_span_part(text, 0, open);
        if (is_at) return uspi_take_file_line(uspi_span_after(rest, 4), frame);
        if (is_from) frame->image = uspi_span_trim(uspi_span_after(rest, 6));
        if (is_from || rest.length == 0) return true;
        open = uspi_span_find(text, open + 1, USPI_SPAN(" ("));
    }
    return false;
}

static bool find_gdb(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = 0, after;
    uspi_skip_blanks(line, &at);
    if (from > 0 || !uspi_span_has_at(line, at, USPI_SPAN("#")) || !uspi_take_hash_index(line, &at, frame))
        return false;
    after = at;
    if (uspi_skip(line, &after, USPI_SPAN("<signal handler called>"))) {
        frame->name = uspi_span_part(line, at, after);
        frame->flags |= USPI_FRAME_NAMED;
        return true;
    }
    const bool has_address = uspi_scan_hex(line, &after, &frame->address);
    if (has_address) {
        uspi_skip_blanks(line, &after);
        if (!uspi_skip(line, &after, USPI_SPAN("in "))) return false;
        frame->flags |= USPI_FRAME_ADDRESS;
        at = after;
    } else if (!uspi_span_has(line, USPI_SPAN(" at "))) {
        /* A frame without an address is at the beginning of a source line. */
        return false;
    }
    if (!take_call(line, at, frame) || (!has_address && frame->file.length == 0)) return false;
    frame->replaced = frame->name;
    if (uspi_is_placeholder(frame->name)) return has_address;
    frame->flags |= USPI_FRAME_NAMED;
    uspi_take_name_offset(line, frame);
    return true;
}

static void put_gdb(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                    uint32_t which) {
    /* gdb shows no offsets; but without them the answer could not be checked. */
    put_name(out, frame, answer, which);
    if (uspi_has_source_offset(answer, which)) {
        uspi_put_string(out, "+");
        uspi_put_decimal(out, answer->offset, 0);
    }
    uspi_put_source_line(out, answer, which);
}

/* "Thread 2 (Thread 0x7ffff7dce740 (LWP 25551) "prog"):" */
static bool gdb_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_field_label labels[] = {
        {USPI_SPAN_INIT("Program received signal "), USPI_FIELD_EXCEPTION_TYPE, false},
        {USPI_SPAN_INIT("Program terminated with signal "), USPI_FIELD_EXCEPTION_TYPE, false},
        {USPI_SPAN_INIT("Core was generated by "), USPI_FIELD_PROCESS, false},
    };
    size_t at = 0;
    if (uspi_take_field(line, labels, sizeof labels / sizeof *labels, heading)) return true;
    if (!uspi_skip(line, &at, USPI_SPAN("Thread ")) || !uspi_scan_decimal(line, &at, &heading->number)) return false;
    size_t lwp = uspi_span_find(line, at, USPI_SPAN("(LWP ")), quote = uspi_span_find(line, at, USPI_SPAN(" \""));
    if (lwp == line.length) return false;
    lwp += 5;
    heading->kind = USPI_HEADING_THREAD;
    heading->flags = USPI_THREAD_NUMBER;
    if (uspi_scan_decimal(line, &lwp, &heading->id)) heading->flags |= USPI_THREAD_ID;
    if (quote < line.length) {
        heading->name = uspi_span_part(line, quote + 2, uspi_span_find(line, quote + 2, USPI_SPAN("\"")));
    }
    return true;
}

const struct uspi_line_shape uspi_gdb_lines = {
    .name = "gdb",
    .frame_bytes = USPI_HAS_HASH,
    .frame_begins = USPI_BEGINS_HASH,
    .frame = find_gdb,
    .heading = gdb_heading,
    .put = put_gdb,
};

/* ---- coredumpctl ---- */

static bool find_coredumpctl(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = 0;
    if (from > 0 || !take_address(line, &at, frame)) return false;
    uspi_skip_blanks(line, &at);
    size_t open = uspi_span_find_last(line, USPI_SPAN(" (")), plus = uspi_span_find_last(line, USPI_SPAN(" + 0x"));
    size_t end = plus + 3;
    if (open == line.length || open < at || plus < open || !uspi_scan_hex(line, &end, &frame->offset)) return false;
    if (!uspi_skip(line, &end, USPI_SPAN(")"))) return false;
    frame->name = frame->replaced = uspi_span_part(line, at, open);
    frame->image = uspi_span_part(line, open + 2, plus);
    if (uspi_span_is(frame->image, USPI_SPAN("n/a"))) {
        frame->image = (struct uspi_span){"", 0};
        frame->flags |= USPI_FRAME_NOWHERE;
    } else {
        frame->flags |= USPI_FRAME_OFFSET;
    }
    if (!uspi_is_placeholder(frame->name)) {
        frame->flags |= USPI_FRAME_NAMED;
        uspi_take_name_offset(line, frame);
    }
    return frame->offset <= frame->address;
}

/* Reads a module's name and build id. The line does not say where the module is loaded. */
static bool coredumpctl_image(struct uspi_span line, struct uspi_read_image *image) {
    static const struct uspi_span marks[] = {USPI_SPAN_INIT(", build-id="), USPI_SPAN_INIT(" with build-id ")};
    size_t at = 0;
    uspi_skip_blanks(line, &at);
    if (!uspi_skip(line, &at, USPI_SPAN("Module "))) return false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t id = uspi_span_find(line, at, marks[i]);
        if (id == line.length) continue;
        image->path = uspi_span_part(line, at, uspi_span_find(uspi_span_part(line, 0, id), at, USPI_SPAN(" from ")));
        image->ident = image->path;
        id += marks[i].length;
        image->id_size = uspi_scan_id(uspi_scan_word(line, &id), image->id, sizeof image->id);
        return image->id_size > 0 && image->path.length > 0;
    }
    return false;
}

/* "Stack trace of thread 1234:", "       Signal: 11 (SEGV)", "  Command Line: …" */
static bool coredumpctl_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_field_label labels[] = {
        {USPI_SPAN_INIT("Executable: "), USPI_FIELD_PATH, false},
        {USPI_SPAN_INIT("Signal: "), USPI_FIELD_EXCEPTION_TYPE, false},
        {USPI_SPAN_INIT("Timestamp: "), USPI_FIELD_DATE, false},
        {USPI_SPAN_INIT("Message: "), USPI_FIELD_INFORMATION, false},
    };
    static const struct uspi_span stack = USPI_SPAN_INIT("Stack trace of thread ");
    size_t at = uspi_span_find(line, 0, stack);
    if (at < line.length) {
        at += stack.length;
        heading->kind = USPI_HEADING_THREAD;
        if (uspi_scan_decimal(line, &at, &heading->id)) heading->flags = USPI_THREAD_ID;
        return true;
    }
    at = 0;
    uspi_skip_blanks(line, &at);
    if (at == 0) return false;
    return uspi_take_field(uspi_span_after(line, at), labels, sizeof labels / sizeof *labels, heading);
}

const struct uspi_line_shape uspi_coredumpctl_lines = {
    .name = "coredumpctl",
    .image_begins = USPI_BEGINS_M,
    .frame_bytes = USPI_HAS_HASH | USPI_HAS_X | USPI_HAS_PAREN | USPI_HAS_PLUS,
    .frame_begins = USPI_BEGINS_HASH,
    .frame = find_coredumpctl,
    .image = coredumpctl_image,
    .heading = coredumpctl_heading,
    .put = put_gdb,
};

/* ---- eu-stack ---- */

/* Reads "#1  0x00005557613c73a3 innermost - /opt/prog" and "#1  0x00005557613c73a3 - 1 …" (-a); the name may be missing
 * in both. */
static bool find_eu_stack(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = 0;
    if (from > 0 || !take_address(line, &at, frame)) return false;
    size_t after = at;
    struct uspi_span rest = uspi_span_trim_right(uspi_span_after(line, at));
    /* With " - 1" the call site is the address minus 1. */
    if (uspi_skip(rest, &(size_t){0}, USPI_SPAN(" - 1"))) {
        after += 4;
        rest = uspi_span_after(rest, 4);
    }
    size_t dash = uspi_span_find(rest, 0, USPI_SPAN(" - "));
    if (dash < rest.length) frame->image = uspi_span_trim(uspi_span_after(rest, dash + 3));
    frame->name = uspi_span_trim(uspi_span_part(rest, 0, dash));
    frame->replaced = uspi_span_part(line, after, after);
    if (frame->name.length > 0) {
        const size_t name = (size_t)(frame->name.bytes - line.bytes);
        frame->flags |= USPI_FRAME_NAMED;
        frame->replaced = uspi_span_part(line, after, name + frame->name.length);
    }
    /* A name that begins with "in " shows that the line is gdb's. */
    return !uspi_span_begins(frame->name, USPI_SPAN("in "));
}

/* Reads the source line after a frame (eu-stack -s). */
static bool eu_stack_source(struct uspi_span line, struct uspi_frame *frame) {
    const bool is_indented = uspi_span_begins(line, USPI_SPAN("    ")) && line.length > 4 && line.bytes[4] != ' ';
    return is_indented && uspi_take_file_line(uspi_span_trim(line), frame);
}

static void put_eu_stack(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                         uint32_t which) {
    uspi_put_string(out, " ");
    put_name(out, frame, answer, which);
    uspi_put_source_line(out, answer, which);
}

/* Reads "    [BUILD-ID]@0xLOAD+0xOFFSET" in the line after a frame (eu-stack -b): an image and its load address. */
static bool eu_stack_image(struct uspi_span line, struct uspi_read_image *image) {
    size_t at = 0, close;
    uspi_skip_blanks(line, &at);
    if (!uspi_skip(line, &at, USPI_SPAN("["))) return false;
    close = uspi_span_find(line, at, USPI_SPAN("]@"));
    if (close == line.length) return false;
    image->id_size = uspi_scan_id(uspi_span_part(line, at, close), image->id, sizeof image->id);
    at = close + 2;
    uint64_t offset;
    if (image->id_size == 0 || !uspi_scan_hex(line, &at, &image->first)) return false;
    if (!uspi_skip(line, &at, USPI_SPAN("+")) || !uspi_scan_hex(line, &at, &offset)) return false;
    image->is_scattered = true;
    image->last = image->first > UINT64_MAX - offset ? UINT64_MAX : image->first + offset;
    return true;
}

/* "PID 25651 - process", "TID 25651:" */
static bool eu_stack_heading(struct uspi_span line, struct uspi_heading *heading) {
    size_t at = 0;
    if (!uspi_skip(line, &at, USPI_SPAN("TID ")) || !uspi_scan_decimal(line, &at, &heading->id)) return false;
    heading->kind = USPI_HEADING_THREAD;
    heading->flags = USPI_THREAD_ID;
    return uspi_skip(line, &at, USPI_SPAN(":"));
}

const struct uspi_line_shape uspi_eu_stack_lines = {
    .name = "eu-stack",
    .frame_bytes = USPI_HAS_HASH | USPI_HAS_X,
    .frame_begins = USPI_BEGINS_HASH,
    .image_bytes = USPI_HAS_BRACKET | USPI_HAS_X | USPI_HAS_PLUS,
    .image_begins = USPI_BEGINS_BRACKET,
    .frame = find_eu_stack,
    .source = eu_stack_source,
    .image = eu_stack_image,
    .heading = eu_stack_heading,
    .put = put_eu_stack,
};
