/* SPDX-License-Identifier: MIT */
/* Lines of a text, one after the other: which of them are frames, which image each means by what stands around it, whether
 * it is a return address, and the line with the answer in it. Whole texts, and where lines end, are reader.c's. */
#ifndef USPI_LINES_H
#define USPI_LINES_H

#include "lib/report/read/tables.h"

/* Tables that are asked besides a text's own. A file of images may hold several lists of them. */
#define USPI_GIVEN_TABLES 16

#define USPI_ALL_TABLES SIZE_MAX

/* Which shapes a line may have, by their places in the list, up to USPI_NO_SHAPE: for frames by the line's enum
 * uspi_line_bytes, for images by its enum uspi_line_begins. */
#define USPI_NO_SHAPE   UINT8_MAX
#define USPI_SHAPES_MAX 32
struct uspi_line_choice {
    uint8_t frames[USPI_HAS_ALL + 1][USPI_SHAPES_MAX], images[USPI_BEGINS_ALL + 1][USPI_SHAPES_MAX];
};
void uspi_line_choice_init(struct uspi_line_choice *choice);

struct uspi_lines {
    const struct uspi_line_choice *choice;
    usp_place_function find; /* NULL: no names */
    void *context;
    struct usp_reader_counts *counts;
    const struct uspi_tables *given; /* NULL: none */
    size_t given_table;              /* the one of them that counts; USPI_ALL_TABLES: the first ones */
    struct uspi_tables tables;       /* of the text itself */
    uint64_t collected;              /* up to here the text's tables are known */
    size_t next;                     /* the first of them that begins behind the line */
    bool is_below_frame, is_below_trampoline, is_async; /* what stands above the line */
    const struct uspi_line_shape *above;                /* of the frame right above it; NULL: none stands there */
};

/* Frees the tables. */
void uspi_lines_clear(struct uspi_lines *lines);

/* Begins with the next text; the tables are forgotten. */
void uspi_lines_reset(struct uspi_lines *lines);

/* Learns what a line at a position of the text (in bytes) says about images. False when memory lacks. */
bool uspi_lines_learn(struct uspi_lines *lines, uint64_t position, struct uspi_span line);

/* Says that the text was learned up to a position, and that it is read from its beginning now. False as above. */
bool uspi_lines_rewind(struct uspi_lines *lines, uint64_t position);

/* A frame with its place. */
struct uspi_located {
    struct uspi_frame frame;
    struct usp_place place;
    bool is_located; /* otherwise nothing tells its image */
};

/* Most frames that a line may have; what follows stays as it is. */
#define USPI_FRAMES_MAX 1024

/* Goes past a line that is no frame, whatever its shape. False when memory lacks. */
bool uspi_lines_pass(struct uspi_lines *lines, uint64_t position, struct uspi_span line);

/* A line of a text. */
struct uspi_line_here {
    uint64_t position;
    struct uspi_span text;
    struct uspi_span following; /* what stands behind the line, as far as it is there */
    bool is_last;               /* nothing comes behind `following` */
};

/* What comes of a line. */
enum uspi_line_is {
    USPI_LINE_NO_FRAME,
    USPI_LINE_FRAMES,  /* it has frames, none of which gets an answer */
    USPI_LINE_WRITTEN, /* the line was written with answers */
    USPI_LINE_WAITS    /* the next line decides; ask again with it */
};

/* Reads a line, which is learned first where the text was not.
 *   out  receives the whole line if it gets answers
 * *is becomes an enum uspi_line_is. Returns USP_OK, USP_ERROR_NO_MEMORY or what `find` returned. */
int uspi_lines_write(struct uspi_lines *lines, const struct uspi_line_here *line, struct uspi_text *out,
                     enum uspi_line_is *is);

/* The same for callers that want the frames and no text: `take` gets each of them with its answer. Stops at what `take` returns
 * unless it is USP_OK. */
typedef int (*uspi_take_frame)(void *context, const struct uspi_located *located, const struct usp_answer *answer);
int uspi_lines_read(struct uspi_lines *lines, const struct uspi_line_here *line, uspi_take_frame take, void *context);

/* Asks for the name of a located frame, and counts. *answer is cleared where there is none. */
int uspi_lines_ask(struct uspi_lines *lines, const struct uspi_located *located, struct usp_answer *answer);

/* Where a frame lies that is no line: by its own identity, by the tables of `given`, by its name. */
bool uspi_locate(const struct uspi_tables *given, const struct uspi_frame *frame, struct usp_place *place);

/* Takes an image of a table for a place. */
void uspi_place_in_image(struct usp_place *place, const struct uspi_image_entry *image, uint64_t address);

#endif
