/* SPDX-License-Identifier: MIT */
/* Instruments' recordings as `xctrace export` writes them: XML in which an element is written once, with an id, and
 * referred to afterwards. xctrace.c writes names into such a text while it is read; model_xctrace.c makes a report. */
#ifndef USPI_REPORT_READ_XCTRACE_H
#define USPI_REPORT_READ_XCTRACE_H

#include "lib/report/read/lines.h"
#include "lib/report/read/xml.h"

/* Where elements of a kind are: by their ids, which ascend in the text. An id that does not is not remembered. */
struct uspi_trace_id {
    uint64_t id;
    size_t number;
};
struct uspi_trace_ids {
    struct uspi_trace_id *ids;
    size_t count, capacity;
};

/* A <binary>. */
struct uspi_trace_binary {
    struct uspi_span name; /* in memory of its own */
    uint64_t load;
    uint32_t arch;
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size;
};

#define USPI_NO_BINARY SIZE_MAX

/* The state between two tokens. All zero is the beginning of a text. */
struct uspi_xctrace {
    struct uspi_trace_ids binary_ids;
    struct uspi_trace_binary *binaries;
    size_t binary_count, binary_capacity;
    size_t position; /* number of frames before, in the backtrace */
    /* A <frame> that is held until its binary is known: its bytes, and those after it. */
    struct uspi_gathered held;
    size_t after_binary; /* position in `held` after its <binary/>; 0: there is none */
    size_t binary;       /* index; USPI_NO_BINARY */
    bool is_held, is_first, has_source;
    struct uspi_gathered kept;    /* a tag whose end has not arrived */
    struct uspi_gathered decoded; /* a name without entities */
};

/* Returns whether a text begins as such a file. *is_decided: whether more bytes would not change the result. */
bool uspi_is_xctrace(struct uspi_span text, bool is_last, bool *is_decided);

/* Returns whether an element of this name is a list of frames. */
bool uspi_is_backtrace(struct uspi_span name);

/* Frees what the state has, and clears it. */
void uspi_xctrace_clear(struct uspi_xctrace *trace);

/* Remembers which element has an id. Returns false when memory is exhausted. */
bool uspi_trace_add(struct uspi_trace_ids *ids, uint64_t id, size_t number);

/* Finds the element that a tag is, by its attribute id or ref; SIZE_MAX if it is unknown. */
size_t uspi_trace_find(const struct uspi_trace_ids *ids, const struct uspi_xml_token *tag);

/* Reads a <binary>: adds it, or finds the one that it refers to. *binary becomes its index, or USPI_NO_BINARY. Returns
 * false when memory is exhausted. */
bool uspi_xctrace_take_binary(struct uspi_xctrace *trace, const struct uspi_xml_token *tag, size_t *binary);

/* Reads a <frame> with an id, and finds its place. The name is in the text or in trace->decoded. `given`: other images
 * of the text, for a frame without a binary. Returns false when memory is exhausted. */
bool uspi_xctrace_locate(struct uspi_xctrace *trace, const struct uspi_xml_token *tag, bool is_first, size_t binary,
                         const struct uspi_text_tables *given, struct uspi_located *located);

/* Writes the next bytes of a text with names; is_last: the text ends with them. Returns USP_OK, USP_ERROR_NO_MEMORY or
 * the result of `find`. */
int uspi_xctrace_write(struct uspi_xctrace *trace, struct uspi_line_reader *lines, struct uspi_span bytes, bool is_last,
                       struct uspi_text *out);

#define USPI_XCTRACE_FORMAT "xctrace"

#endif
