/* SPDX-License-Identifier: MIT */
/* Reads addresses in parentheses: the stack of an uncaught exception, as Apple's systems write it without names.
 *
 *   Last Exception Backtrace:
 *   (0x18b2a1e88 0x1845b98d8 0x18b1c1ea0)
 *   *** First throw call stack:
 *   (0x18b2a1e88 0x1845b98d8 0x18b1c1ea0)
 *
 * Answers replace the line by a line of a crash report for each address, as Apple's symbolicatecrash does.
 * Source: Apple, "Adding identifiable symbol names to a crash report"; symbolicatecrash (Xcode). */
#include "lib/report/read/line.h"

/* Fewer addresses are not a stack. */
#define ADDRESSES_MIN 2

/* Returns whether a line has a list of addresses. *open becomes the position of its parenthesis. */
static bool find_list(struct uspi_span line, size_t *open) {
    size_t at = uspi_span_find(line, 0, USPI_SPAN("(0x")), count = 0;
    uint64_t address;
    if (at == line.length || !uspi_begins_word(line, at)) return false;
    *open = at++;
    while (uspi_scan_hex(line, &at, &address)) {
        count++;
        if (uspi_skip(line, &at, USPI_SPAN(")"))) return count >= ADDRESSES_MIN;
        size_t end = at;
        uspi_skip_blanks(line, &at);
        if (at == end) break;
    }
    return false;
}

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = from, open;
    if (from == 0) {
        if (!find_list(line, &open)) return false;
        frame->flags |= USPI_FRAME_INDEX; /* number 0: the innermost */
        at = open + 1;
    }
    size_t begin = at;
    if (!uspi_scan_hex(line, &at, &frame->address)) return false;
    /* An exception keeps return addresses alone. */
    frame->flags |= USPI_FRAME_ADDRESS | USPI_FRAME_LIST | USPI_FRAME_CALL_STACK;
    frame->replaced = from == 0 ? uspi_span_part(line, begin - 1, at) : uspi_span_part(line, begin, at);
    /* Blanks between two addresses become a line end; the last parenthesis is removed. */
    size_t next = at;
    uspi_skip_blanks(line, &next);
    if (uspi_span_has_at(line, next, USPI_SPAN("0x"))) {
        frame->end = next;
        frame->replaced.length += next - at;
    } else {
        frame->replaced.length += 1;
    }
    return true;
}

const struct uspi_line_shape uspi_address_list = {
    .name = "apple-address-list",
    .frame_bytes = USPI_HAS_PAREN | USPI_HAS_X,
    .frame = find_frame,
    .heading = uspi_logged_exception,
};
