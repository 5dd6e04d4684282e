/* SPDX-License-Identifier: MIT */
/* Reports and logs that other programs wrote: crash reports, payloads, call trees, panics, lines of a log.
 *
 * A reader finds the frames in them, asks the caller's function what stands there, and writes the text with the answers in
 * it and every other byte as it was. The formats are listed in doc/reports.md; which one a text has is found out. The library
 * opens no file here: where the files of images are is the caller's to know. */
#ifndef UNSPOOL_REPORT_H
#define UNSPOOL_REPORT_H

#include <unspool/base.h>
#include <unspool/format.h>
#include <unspool/images.h>
#include <unspool/places.h>

USP_BEGIN_DECLS

/* ---- readers ---- */

/* Answers for a place; *answer is cleared before. Its frames must be valid until the function is called again, the strings in them
 * until the text was ended. Of a frame function (as it is to be written, not NULL), directory, file, line, column and, of the
 * flags, USP_SOURCE_INLINED count; the answer's status is not looked at. Returns USP_OK, also when there is no name; any other status ends the
 * reading, which returns it. */
typedef int (*usp_place_function)(void *context, const struct usp_place *place, struct usp_answer *answer);

/* Opaque; for one text at a time, and one thread at a time. */
struct usp_reader;

enum usp_reader_flags {
    USP_READER_RECORD = 1 << 0, /* the text is one JSON object, which gets a member "unspool" with the counts */
    USP_READER_IMAGES = 1 << 1  /* the text is learned for its images alone: JSON is kept and read for them, too */
};

struct usp_reader_options {
    uint32_t size;                   /* of this struct in bytes; set by usp_reader_options_init */
    uint32_t flags;                  /* enum usp_reader_flags. Default 0 */
    usp_place_function find;         /* asked for each frame that has no name. Default NULL: no names */
    usp_write_function write;        /* receives the text, in pieces. Default NULL: nothing is written */
    void *context;                   /* handed to both. Default NULL */
    const struct usp_reader *images; /* that has learned a text which tells images; they go before those that the text
                                        itself tells. It must outlive this reader. Default NULL */
    uint64_t reserved[4];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_reader_options_init(struct usp_reader_options *options);

/* On success *reader is the caller's to free. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not
 * async-signal-safe. */
USP_API int usp_reader_create(const struct usp_reader_options *options, struct usp_reader **reader);

/* NULL is ignored. No other call may use it any more. Not async-signal-safe. */
USP_API void usp_reader_free(struct usp_reader *reader);

/* Learns which images a text lists, without writing anything. A text may list them behind its frames. So a caller that can
 * read the text twice passes it to this function first, then calls usp_reader_rewind, then usp_reader_write. The pieces may
 * be of any size. Returns USP_OK or USP_ERROR_NO_MEMORY. Of one thread at a time, not async-signal-safe. */
USP_API int usp_reader_learn(struct usp_reader *reader, const char *bytes, size_t n);

/* Ends the learning. What usp_reader_write gets next is the text from its beginning. USP_OK or USP_ERROR_NO_MEMORY. Of
 * one thread at a time, not async-signal-safe. */
USP_API int usp_reader_rewind(struct usp_reader *reader);

/* Writes the next n bytes of a text with names in it. Lines are written when they are complete; a JSON document is kept
 * until its end. Returns USP_OK, USP_ERROR_NO_MEMORY, or what `find` or `write` failed with. Of one thread at a time,
 * not async-signal-safe. */
USP_API int usp_reader_write(struct usp_reader *reader, const char *bytes, size_t n);

/* Ends the text and writes the rest of it; then the reader is as new for the next text, but for its counts. `error` (may be
 * NULL, `error_size` bytes) receives a sentence when the text is damaged; it was written as it came then.
 * Returns as usp_reader_write, and USP_ERROR_FORMAT, USP_ERROR_TRUNCATED, USP_ERROR_UNSUPPORTED for a damaged text. Of
 * one thread at a time, not async-signal-safe. */
USP_API int usp_reader_end(struct usp_reader *reader, char *error, size_t error_size);

/* A whole text at once: learned, rewound, written and ended, without a copy of it. Of one thread at a time, not
 * async-signal-safe. */
USP_API int usp_reader_write_whole(struct usp_reader *reader, const char *bytes, size_t n, char *error,
                                   size_t error_size);

/* How many images the reader has learned of so far. Of one thread at a time, not async-signal-safe. */
USP_API size_t usp_reader_image_count(const struct usp_reader *reader);

struct usp_reader_counts {
    uint64_t texts;     /* that were ended */
    uint64_t frames;    /* that were found */
    uint64_t named;     /* of them, that had a name already */
    uint64_t answered;  /* that got a name */
    uint64_t no_symbol; /* whose image has a file, but no symbol there */
    uint64_t no_file;   /* whose image has no file */
    uint64_t no_image;  /* of which nothing tells the image */
    const char *format; /* of the last text: the name of the shape of its last frame, "" without one. Static lifetime */
    uint64_t passed;    /* lines that were not looked at: longer than 64 KB, or no UTF-16 */
    uint64_t reserved[3];
};

/* Counted since the reader was created. Returns USP_OK or USP_ERROR_ARGUMENT. Of one thread at a time, not
 * async-signal-safe. */
USP_API int usp_reader_get_counts(const struct usp_reader *reader, struct usp_reader_counts *counts);

/* ---- reports for people ---- */

/* Opaque, immutable once made: what a text says, whatever its format. */
struct usp_report;

enum usp_report_style {
    USP_REPORT_TEXT = 1, /* the layout of Apple's crash reports: header, exception, threads, images; call trees */
    USP_REPORT_JSON = 2  /* an object as doc/schema/report.schema.json describes it */
};

/* Reads a whole text. options: `find` names the frames, `images` may tell where they lie; the rest is not used. On success
 * *report is the caller's to free.
 * Returns USP_OK; USP_ERROR_NOT_FOUND when there is no frame in it; USP_ERROR_FORMAT, USP_ERROR_TRUNCATED and
 * USP_ERROR_UNSUPPORTED with a sentence in `error` (may be NULL, `error_size` bytes); USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY, and what `find` failed with. Thread-safe, not async-signal-safe. */
USP_API int usp_report_create(const struct usp_reader_options *options, const char *bytes, size_t n,
                              struct usp_report **report, char *error, size_t error_size);

/* NULL is ignored. No other call may use it any more. Not async-signal-safe. */
USP_API void usp_report_free(struct usp_report *report);

/* Writes it in a style (enum usp_report_style). What stood in the text is made harmless for a terminal. Returns USP_OK,
 * USP_ERROR_ARGUMENT, or what `write` failed with. Thread-safe, not async-signal-safe. */
USP_API int usp_report_format(const struct usp_report *report, uint32_t style, usp_write_function write, void *context);

/* The counts of its frames. Returns USP_OK or USP_ERROR_ARGUMENT. Async-signal-safe, thread-safe. */
USP_API int usp_report_get_counts(const struct usp_report *report, struct usp_reader_counts *counts);

USP_END_DECLS

#endif
