/* SPDX-License-Identifier: MIT */
/* The contents of a text, independent of its format: reports with fields, threads, frames and images. Built from lines
 * or JSON; written by translated_text.c and translated_json.c. */
#ifndef USPI_REPORT_READ_MODEL_H
#define USPI_REPORT_READ_MODEL_H

#include "lib/report/read/reader.h"

/* One source frame of a frame, innermost first. */
struct uspi_model_source {
    struct uspi_span function, directory, file;
    uint32_t line, column;
    uint32_t flags; /* enum usp_source_flags */
};

/* What is known about a frame's code. The nodes of trees that stand for the same code share it. */
struct uspi_model_code {
    uint64_t address, place;
    uint64_t offset; /* in the function; valid with USPI_MODEL_HAS_OFFSET */
    struct uspi_span image;
    size_t source, source_count; /* in `sources`; count 0: the frame has no name */
    uint8_t id[USP_BUILD_ID_MAX];
    uint32_t id_size;
    uint32_t base; /* enum usp_place_base of `place` */
    bool has_file;
    bool is_system; /* its image is of the system, by its path */
};

/* Flags of a frame besides enum uspi_frame_flags. */
enum uspi_model_frame_flags {
    USPI_MODEL_LOCATED = 1 << 28,
    USPI_MODEL_HAS_OFFSET = 1 << 29,
    USPI_MODEL_HEAVIEST = 1 << 30 /* it is a node of the tree's heaviest stack */
};

/* A frame, or a node of a tree. A report of samples has millions of nodes, so it is small. */
struct uspi_model_frame {
    struct uspi_model_code *code;
    uint64_t count; /* of a node of a tree: its samples */
    /* Of a node, how deep it is; only the order of these numbers matters. In a finished model the number of nodes around
     * it. */
    uint32_t depth;
    uint32_t flags;
};

static inline bool uspi_model_is_located(const struct uspi_model_frame *frame) {
    return (frame->flags & USPI_MODEL_LOCATED) != 0;
}

/* A register of a thread. */
struct uspi_model_register {
    struct uspi_span name, words; /* words: what the report says about the value; empty: nothing */
    uint64_t value;
    uint32_t digits; /* hexadecimal digits in the text; 0: it was a number */
};

struct uspi_model_thread {
    bool is_stack;  /* not a thread's stack; `name` says what it is */
    uint32_t flags; /* enum uspi_heading_flags */
    uint64_t number, id;
    struct uspi_span name, queue;
    size_t frame, frame_count;        /* in `frames` */
    size_t registers, register_count; /* in the model's `registers`, in the order of Apple's reports */
};

/* A process in a report of what used the memory (JetsamEvent). Numbers are 0 if they are not known. */
struct uspi_model_process {
    struct uspi_span name, reason, states; /* the reason is empty unless it was killed */
    uint64_t pid, pages, peak_pages, limit_pages;
};

/* One of the reports in a text. */
struct uspi_model_part {
    struct uspi_span fields[USPI_FIELD_COUNT];
    const char *format;
    size_t thread, thread_count;   /* in `threads` */
    size_t image, image_count;     /* in `images` */
    size_t process, process_count; /* in `processes` */
    uint64_t page_size;
};

struct uspi_model {
    struct uspi_model_part *parts;
    struct uspi_model_thread *threads;
    struct uspi_model_frame *frames;
    struct uspi_model_source *sources;
    struct uspi_image_entry *images; /* their strings belong to the model */
    struct uspi_model_process *processes;
    size_t process_count, process_capacity;
    struct uspi_model_register *registers;
    size_t part_count, part_capacity, thread_count, thread_capacity, frame_count, frame_capacity, source_count,
        source_capacity;
    size_t image_count, image_capacity, register_count, register_capacity;
    struct uspi_strings *strings; /* blocks of memory that all spans point into */
    struct uspi_codes *codes;     /* blocks of memory that all frames point into, the last one first */
    struct usp_reader_counts counts;
};

void uspi_model_clear(struct uspi_model *model);

/* Copies a text, NUL-terminated, for the model's lifetime. Returns false when memory is exhausted. */
bool uspi_model_copy(struct uspi_model *model, struct uspi_span text, struct uspi_span *copy);

/* Memory of the model in which a text can grow. */
struct uspi_model_room {
    char *bytes; /* begins with the text; another text has no such memory yet */
    size_t capacity;
};

/* Appends a text to a copy. The room is the copy's own, and all zero at first: a text that does not fit moves to twice
 * as much memory, so all moves together copy a few times its length. Returns false when memory is exhausted. */
bool uspi_model_append(struct uspi_model *model, struct uspi_span text, struct uspi_span *copy,
                       struct uspi_model_room *room);

/* Begin a report, or a thread of the last report. The caller copies the strings that it sets. NULL when memory is
 * exhausted. */
struct uspi_model_part *uspi_model_add_part(struct uspi_model *model);
struct uspi_model_thread *uspi_model_add_thread(struct uspi_model *model);

/* Sets a field of the last report, unless it is set. Returns false when memory is exhausted. */
bool uspi_model_set_field(struct uspi_model *model, enum uspi_field field, struct uspi_span value);

/* Adds a frame to the last thread of the last report, with the source frames of its answer or with the name that it
 * had. An inlined call (USPI_FRAME_INLINED) and the frame after it become one frame. Returns false when memory is
 * exhausted. */
bool uspi_model_add_frame(struct uspi_model *model, const struct uspi_located *located,
                          const struct usp_answer *answer);

/* Adds a copy of frame `number` of the model to the last thread. Returns false when memory is exhausted. */
bool uspi_model_repeat_frame(struct uspi_model *model, size_t number);

/* Adds all images of a table to the last report. Returns false when memory is exhausted. */
bool uspi_model_add_images(struct uspi_model *model, const struct uspi_text_tables *tables, size_t table);

/* Read the processes of a JetsamEvent into the last report, in the order of the text, if a document is one; write them
 * as text. Return false when memory is exhausted. (jetsam.c) */
bool uspi_model_take_processes(struct uspi_model *model, const struct uspi_json_document *document);
void uspi_model_put_processes(const struct uspi_model *model, const struct uspi_model_part *part,
                              struct uspi_text *out);

/* Completes the model after everything was added: finds the crashed threads, the heaviest stacks of trees, and the
 * images of reports that list none. Returns false when memory is exhausted. */
bool uspi_model_finish(struct uspi_model *model);

/* Merges single samples to trees. Called before uspi_model_finish. Returns false when memory is exhausted.
 * (model_fold.c) */
bool uspi_model_fold(struct uspi_model *model);

/* Numbers the frames of a model so that equal functions, or equal addresses of frames without a name, have equal
 * numbers. `numbers` has an element for each frame. Returns false when memory is exhausted. (model_fold.c) */
bool uspi_model_number_frames(const struct uspi_model *model, size_t *numbers);

/* Build a model of a whole text. Return USP_OK, USP_ERROR_NO_MEMORY, or the result of `find`; for documents also as
 * uspi_json_read does. (model_lines.c, model_json.c) */
int uspi_model_read_lines(struct uspi_model *model, struct usp_reader *reader, struct uspi_span text);
int uspi_model_read_documents(struct uspi_model *model, struct usp_reader *reader, struct uspi_span text);

/* Build a model of a recording of Instruments, whose text is taken in pieces: begin, take each, end. The first returns
 * NULL when memory is exhausted; the others a status, which is given to the end, too. (model_xctrace.c) */
struct uspi_model_xctrace *uspi_model_xctrace_begin(struct uspi_model *model, struct usp_reader *reader);
int uspi_model_xctrace_take(struct uspi_model_xctrace *builder, struct uspi_span bytes, bool is_last);
int uspi_model_xctrace_end(struct uspi_model_xctrace *builder, int status);

/* Marks the frames of the system's libraries. Returns false when memory is exhausted. (model_system.c) */
bool uspi_model_mark_system(struct uspi_model *model);

/* Write the selected part of a model. (translated_text.c, translated_json.c, translated_html.c) */
void uspi_model_put_text(const struct uspi_model *model, const struct usp_report_options *selection,
                         struct uspi_text *out);
void uspi_model_put_json(const struct uspi_model *model, const struct usp_report_options *selection,
                         struct uspi_text *out);
void uspi_model_put_html(const struct uspi_model *model, const struct usp_report_options *selection,
                         struct uspi_text *out);

/* Writes how two models differ. Returns false when memory is exhausted. (compare.c) */
bool uspi_model_compare(const struct uspi_model *a, const struct uspi_model *b,
                        const struct usp_report_options *selection, struct uspi_text *out);

/* Return whether a thread and a frame are shown. A thread without frames is not. */
bool uspi_shows_thread(const struct usp_report_options *selection, const struct uspi_model_thread *thread);
bool uspi_shows_frame(const struct usp_report_options *selection, const struct uspi_model_frame *frame);

/* Return a field's name in JSON and in text. */
const char *uspi_field_key(enum uspi_field field);
const char *uspi_field_label(enum uspi_field field);

/* Returns whether the text of a field keeps its lines. Of other fields in JSON only the first line is shown. */
bool uspi_field_has_lines(enum uspi_field field);

#endif
