/* SPDX-License-Identifier: MIT */
/* Reads what programs and run-time libraries log about an exception or an error that ends the program, for reports:
 *
 *   … *** Terminating app due to uncaught exception 'NSRangeException', reason: 'index 3 beyond bounds [0 .. 2]'
 *   libc++abi: terminating due to uncaught exception of type std::runtime_error: no queue
 *   terminate called after throwing an instance of 'std::runtime_error'      and then "  what():  no queue"
 *   Uncaught Kotlin exception: kotlin.IllegalStateException: no queue
 *   Caused by: kotlin.RuntimeException: closed
 *   Objective-C exception thrown.  Name: NSRangeException Reason: index 3 beyond bounds [0 .. 2]     .NET
 *   App/Queue.swift:12: Fatal error: Index out of range
 *
 * The frames below have other shapes. Sources: react/react-native issue 4525, flutter/flutter issue 186366,
 * chat-sdk/chat-sdk-ios issue 120, tihmstar/iBoot64Patcher issue 6, ismai117/kottie issue 24,
 * microsoft/appcenter-sdk-dotnet issue 1687, nova286/BSText issue 17; libstdc++ vterminate.cc. */
#include "lib/report/read/line.h"

/* Reads what is in quotes at `at`. */
static bool take_quoted(struct uspi_span line, size_t at, struct uspi_span *text) {
    if (!uspi_skip(line, &at, USPI_SPAN("'"))) return false;
    *text = uspi_span_part(line, at, uspi_span_find(line, at, USPI_SPAN("'")));
    return text->length > 0 && at + text->length < line.length;
}

/* Reads "NAME: REASON"; names of C++ have colons of their own. */
static void take_pair(struct uspi_span text, struct uspi_heading *heading) {
    const size_t colon = uspi_span_find(text, 0, USPI_SPAN(": "));
    heading->name = uspi_span_part(text, 0, colon);
    if (colon < text.length) heading->value = uspi_span_trim(uspi_span_after(text, colon + 2));
    if (heading->name.length > 0 && heading->name.bytes[heading->name.length - 1] == ':') heading->name.length--;
}

/* Reads the name and the reason of an exception of Objective-C. A name may have quotes: React Native's contains the
 * message of the error. A reason of several lines has no quote at the end of its first one. */
static bool take_objc(struct uspi_span line, size_t at, struct uspi_heading *heading) {
    static const struct uspi_span reason = USPI_SPAN_INIT("', reason: ");
    uspi_skip(line, &at, USPI_SPAN("of class "));
    const size_t end = uspi_span_find(line, at, reason);
    if (end == line.length) return take_quoted(line, at, &heading->name);
    if (!uspi_skip(line, &at, USPI_SPAN("'"))) return false;
    heading->name = uspi_span_part(line, at, end);
    at = end + reason.length;
    const bool is_quoted = uspi_skip(line, &at, USPI_SPAN("'"));
    heading->value = uspi_span_after(line, at);
    if (!is_quoted) return true;
    if (uspi_span_ends(heading->value, USPI_SPAN("'"))) {
        heading->value.length--;
    } else {
        heading->flags |= USPI_FIELD_IS_OPEN;
    }
    return true;
}

/* Finds "Fatal error: " of Swift, after its source line, which is part of the value, or after a log's columns. */
static bool find_fatal(struct uspi_span line, struct uspi_heading *heading) {
    const size_t at = uspi_span_find(line, 0, USPI_SPAN("Fatal error: "));
    if (at == line.length) return false;
    const struct uspi_span before = uspi_span_trim_right(uspi_span_part(line, 0, at));
    const size_t columns = uspi_span_find_last(before, USPI_SPAN("] "));
    const size_t begin = columns < before.length ? columns + 2 : 0;
    const bool is_told =
        before.length == 0 || uspi_span_ends(before, USPI_SPAN(":")) || uspi_span_ends(before, USPI_SPAN("]"));
    heading->value = uspi_span_trim(uspi_span_after(line, uspi_span_ends(before, USPI_SPAN("]")) ? at : begin));
    return is_told;
}

static bool find_exception(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_span objc = USPI_SPAN_INIT("Terminating app due to uncaught exception "),
                                  uncaught = USPI_SPAN_INIT(" uncaught exception of type "),
                                  kotlin = USPI_SPAN_INIT("Uncaught Kotlin exception: "),
                                  dotnet = USPI_SPAN_INIT("Objective-C exception thrown.  Name: "),
                                  gnu = USPI_SPAN_INIT("terminate called after throwing an instance of ");
    size_t at = 0, found;
    if (uspi_span_has(line, USPI_SPAN("xception"))) {
        if ((found = uspi_span_find(line, 0, objc)) < line.length) {
            return take_objc(line, found + objc.length, heading);
        }
        if ((found = uspi_span_find(line, 0, uncaught)) < line.length) {
            /* After the exception of Objective-C that is its cause, this says it once more. */
            heading->flags |= USPI_FIELD_IS_REPEATED;
            take_pair(uspi_span_after(line, found + uncaught.length), heading);
            return uspi_span_has(uspi_span_part(line, 0, found), USPI_SPAN("terminating"));
        }
        if ((found = uspi_span_find(line, 0, kotlin)) < line.length) {
            take_pair(uspi_span_after(line, found + kotlin.length), heading);
            heading->stack = uspi_span_after(line, found);
            return true;
        }
        if ((found = uspi_span_find(line, 0, dotnet)) < line.length) {
            found += dotnet.length;
            const size_t reason = uspi_span_find(line, found, USPI_SPAN(" Reason: "));
            heading->name = uspi_span_part(line, found, reason);
            if (reason < line.length) heading->value = uspi_span_trim(uspi_span_after(line, reason + 9));
            return true;
        }
    }
    if (line.length > 0 && line.bytes[0] == 't' && uspi_span_begins(line, gnu)) {
        return take_quoted(line, gnu.length, &heading->name);
    }
    if (uspi_skip(line, &at, USPI_SPAN("  what():  "))) {
        heading->flags |= USPI_FIELD_IS_REPEATED;
        heading->value = uspi_span_after(line, at);
        return true;
    }
    return find_fatal(line, heading);
}

bool uspi_logged_exception(struct uspi_span line, struct uspi_heading *heading) {
    if (uspi_span_begins(line, USPI_SPAN("Caused by: "))) {
        heading->kind = USPI_HEADING_STACK;
        heading->name = line;
    } else if (find_exception(line, heading)) {
        heading->kind = USPI_HEADING_FIELD;
        heading->field = USPI_FIELD_EXCEPTION_REASON;
    } else {
        return false;
    }
    heading->flags |= USPI_FIELD_IS_LOGGED;
    return true;
}
