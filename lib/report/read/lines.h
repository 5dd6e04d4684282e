/* SPDX-License-Identifier: MIT */
/* Lines of a text, in order: finds the frames, determines each frame's image from its surroundings and whether it is a
 * return address, and writes the line with the answer. reader.c handles whole texts and line ends. */
#ifndef USPI_REPORT_READ_LINES_H
#define USPI_REPORT_READ_LINES_H

#include "lib/report/read/quoted.h"
#include "lib/report/read/tables.h"

/* Number of tables that are used besides a text's own. A file of images may contain several lists. */
#define USPI_GIVEN_TABLES 16

#define USPI_ALL_TABLES SIZE_MAX

/* The shapes that a line may have, as indexes into the list, terminated by USPI_NO_SHAPE: for frames by the line's
 * enum uspi_line_bytes, for images by its enum uspi_line_begins. */
#define USPI_NO_SHAPE   UINT8_MAX
#define USPI_SHAPES_MAX 48
struct uspi_line_choice {
    uint8_t frames[USPI_HAS_ALL + 1][USPI_SHAPES_MAX], images[USPI_BEGINS_ALL + 1][USPI_SHAPES_MAX];
};
void uspi_line_choice_init(struct uspi_line_choice *choice);

/* Buffers for lines that are quoted. */
struct uspi_line_buffers {
    struct uspi_gathered plain[2]; /* copies of a line and of the next one without the marks of a quotation */
    struct uspi_gathered joined;   /* what is written for lines that are joined in one */
};

struct uspi_line_reader {
    const struct uspi_line_choice *choice;
    usp_place_function find; /* NULL: no names */
    bool asks_named;         /* `find` is called for frames with a name, too (USP_READER_NAMED) */
    void *context;
    struct usp_reader_counts *counts;
    const struct uspi_text_tables *given; /* NULL: none */
    size_t given_table;                   /* index of the given table to use; USPI_ALL_TABLES: the first ones */
    struct uspi_text_tables tables;       /* tables of the text itself */
    uint64_t collected;                   /* position in the text up to which its tables are known */
    size_t next;                          /* first table that begins after the line */
    bool is_below_frame, is_below_trampoline, is_async; /* properties of the line above */
    bool is_in_thread;                                  /* the heading above is that of a thread */
    bool is_in_exception;                               /* the heading above is that of an exception's addresses */
    const struct uspi_line_shape *above;                /* shape of the frame directly above; NULL: none */
    struct uspi_line_buffers *buffers;                  /* shared by all readers of a text */
    struct uspi_span separator; /* of the lines that are joined in this one; empty: there is only one */
};

/* Frees the tables. */
void uspi_log_lines_clear(struct uspi_line_reader *lines);

/* Begins the next text and forgets the tables. */
void uspi_log_lines_reset(struct uspi_line_reader *lines);

/* Learns the images in a line at a position of the text (in bytes). Returns false when memory is exhausted. */
bool uspi_log_lines_learn(struct uspi_line_reader *lines, uint64_t position, struct uspi_span line);

/* Announces that the text was learned up to a position, and is now read from its beginning. Returns as above. */
bool uspi_log_lines_rewind(struct uspi_line_reader *lines, uint64_t position);

/* A frame and its place. */
struct uspi_located {
    struct uspi_frame frame;
    struct usp_place place;
    bool is_located; /* false: its image is not known */
};

/* Maximum number of frames in a line; the rest of the line stays unchanged. */
#define USPI_FRAMES_MAX 1024

/* Skips a line that is not a frame, whatever its shape. Returns false when memory is exhausted. */
bool uspi_log_lines_pass(struct uspi_line_reader *lines, uint64_t position, struct uspi_span line);

/* What is checked of a line before its shapes are tried. */
struct uspi_line_kind {
    unsigned has, begins; /* enum uspi_line_bytes; enum uspi_line_begins of what follows the time */
    size_t time;          /* length of a time before the line (uspi_length_of_time) */
};
struct uspi_line_kind uspi_line_kind_of(struct uspi_span line);

/* Returns a line without the time before it, and without the marks of a quotation (quoted.h), which are removed in
 * `copy`. *kind, which is the line's, becomes that of the returned text. *line becomes the same characters as they
 * are, without the time; with keeps_places both have the same positions. */
struct uspi_span uspi_line_plain(struct uspi_span *line, struct uspi_line_kind *kind, bool keeps_places,
                                 struct uspi_gathered *copy);

/* Returns whether a line of that kind consists of several (quoted.h). */
bool uspi_line_is_list(struct uspi_span line, struct uspi_line_kind kind);

/* A line of a text. */
struct uspi_line_here {
    uint64_t position;
    struct uspi_span text;
    struct uspi_span following; /* the available text after the line */
    bool is_last;               /* there is no text after `following` */
    struct uspi_line_kind kind; /* uspi_line_kind_of(text) */
};

/* The result for a line. */
enum uspi_line_is {
    USPI_LINE_NO_FRAME,
    USPI_LINE_FRAMES,  /* it has frames, but no answers */
    USPI_LINE_WRITTEN, /* the line was written with answers */
    USPI_LINE_WAITS    /* the next line decides: call again with it */
};

/* Reads a line; learns it first if the text was not learned.
 *   out  receives the whole line if it gets answers
 * *is becomes an enum uspi_line_is. Returns USP_OK, USP_ERROR_NO_MEMORY or the result of `find`. */
int uspi_log_lines_write(struct uspi_line_reader *lines, const struct uspi_line_here *line, struct uspi_text *out,
                         enum uspi_line_is *is);

/* Does the same for callers that need the frames and no text: `take` receives each frame and its answer. Ends with the
 * result of `take` unless that is USP_OK. */
typedef int (*uspi_take_frame)(void *context, const struct uspi_located *located, const struct usp_answer *answer);
int uspi_log_lines_read(struct uspi_line_reader *lines, const struct uspi_line_here *line, uspi_take_frame take,
                        void *context);

/* Looks up the name of a located frame, and counts it. *answer is cleared if there is none. If an answer replaces the
 * name that the frame has, it loses USPI_FRAME_NAMED; if it keeps its name, the answer gives the source line and the
 * inlined calls. */
int uspi_log_lines_ask(struct uspi_line_reader *lines, struct uspi_located *located, struct usp_answer *answer);

/* Finds the place of a frame that is not in a line: by its own id, by the tables of `given`, or by its name. */
bool uspi_locate(const struct uspi_text_tables *given, const struct uspi_frame *frame, struct usp_place *place);

/* Sets a place to an address in an image of a table. */
void uspi_place_in_image(struct usp_place *place, const struct uspi_image_entry *image, uint64_t address);

#endif
