/* SPDX-License-Identifier: MIT */
/* Symbolicates reports and logs of other programs: crash reports, payloads, call trees, panics, log lines.
 *
 * A reader recognizes the text's format (doc/reports.md lists them), finds the frames, and calls the caller's function
 * for each. It writes the text with the answers inserted and every other byte unchanged. The library opens no files
 * here: the caller knows where the images' files are. */
#ifndef UNSPOOL_REPORT_H
#define UNSPOOL_REPORT_H

#include <unspool/base.h>
#include <unspool/format.h>
#include <unspool/images.h>
#include <unspool/places.h>

USP_BEGIN_DECLS

/* ---- readers ---- */

/* Fills *answer, which was cleared, for a place. Its frames must stay valid until the next call, their strings until
 * the text has ended. Used are a frame's function (as it is to be written, not NULL), directory, file, line, column
 * and the flag USP_SOURCE_INLINED. The answer's status is ignored. Returns USP_OK, also when there is no name; any
 * other status ends the reading and becomes its result. */
typedef int (*usp_place_function)(void *context, const struct usp_place *place, struct usp_answer *answer);

/* Opaque. It reads one text at a time, for one thread at a time. */
struct usp_reader;

enum usp_reader_flags {
    USP_READER_RECORD = 1 << 0, /* the text is one JSON object; the reader adds a member "unspool" with the counts */
    /* The text is learned only for its images; JSON is buffered and searched for them too. */
    USP_READER_IMAGES = 1 << 1,
    /* `find` is also called for frames that have a name and no source line, if their image's build id is known: the
     * place then has USP_PLACE_NAMED. With USP_ANSWER_NAME_HOLDS in the answer, the frame keeps its name, and gets the
     * source line and the inlined calls of the answer; without it, the answer's name replaces it. Where `find` has no
     * name, and where an answer has no place in the text, the frame stays as it is. */
    USP_READER_NAMED = 1 << 2
};

struct usp_reader_options {
    uint32_t size;  /* size of this struct in bytes; set by usp_reader_options_init */
    uint32_t flags; /* enum usp_reader_flags. Default 0 */
    /* Called for each frame without a name, see also USP_READER_NAMED. Default NULL: no names. */
    usp_place_function find;
    usp_write_function write; /* receives the text in pieces. Default NULL: nothing is written */
    void *context;            /* passed to both functions. Default NULL */
    /* A reader, created with USP_READER_IMAGES, that has learned images from another text. They take precedence over
     * the images that this text lists. It must outlive this reader. Default NULL. */
    const struct usp_reader *images;
    uint64_t reserved[4];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_reader_options_init(struct usp_reader_options *options);

/* Makes a reader. On success the caller frees *reader. Returns USP_OK, USP_ERROR_ARGUMENT (also for unknown flags),
 * USP_ERROR_NO_MEMORY.
 * Thread-safe, not async-signal-safe: it allocates. */
USP_API int usp_reader_create(const struct usp_reader_options *options, struct usp_reader **reader);

/* Frees a reader. NULL is ignored. Not async-signal-safe: it frees memory. */
USP_API void usp_reader_free(struct usp_reader *reader);

/* Learns which images a text lists, without writing anything. A text may list its images after its frames. So a caller
 * that can read the text twice passes it to this function first, then calls usp_reader_rewind, then usp_reader_write. A
 * text that can be read only once may be written without being learned: frames are then symbolicated with the images
 * that precede them. Pieces may have any size. Returns USP_OK or USP_ERROR_NO_MEMORY. For one thread at a time, not
 * async-signal-safe: it allocates. */
USP_API int usp_reader_learn(struct usp_reader *reader, const char *bytes, size_t n);

/* Ends the learning: usp_reader_write expects the text from its beginning. Returns USP_OK or USP_ERROR_NO_MEMORY. For
 * one thread at a time, not async-signal-safe: it allocates. */
USP_API int usp_reader_rewind(struct usp_reader *reader);

/* Writes the next n bytes of a text, symbolicated. Lines are written when they are complete. A JSON document is
 * buffered until its end. Returns USP_OK, USP_ERROR_NO_MEMORY, or the status with which `find` or `write` failed. For
 * one thread at a time, not async-signal-safe: it allocates. */
USP_API int usp_reader_write(struct usp_reader *reader, const char *bytes, size_t n);

/* Ends the text and writes the rest of it. Afterwards the reader is ready for the next text; it keeps only its counts.
 * When the text is damaged, the reader writes it unchanged, and `error` (may be NULL, `error_size` bytes) receives a
 * sentence. JSON that is cut off, but has a whole frame with a known image, is read as far as it is whole: the result
 * is USP_OK, and `error` receives a sentence too. Returns as usp_reader_write does, and USP_ERROR_FORMAT,
 * USP_ERROR_TRUNCATED or USP_ERROR_UNSUPPORTED for a damaged text. For one thread at a time, not async-signal-safe: it
 * allocates. */
USP_API int usp_reader_end(struct usp_reader *reader, char *error, size_t error_size);

/* Learns, rewinds, writes and ends a whole text, without copying it. Parameters and results as for usp_reader_end. For
 * one thread at a time, not async-signal-safe: it allocates. */
USP_API int usp_reader_write_whole(struct usp_reader *reader, const char *bytes, size_t n, char *error,
                                   size_t error_size);

/* Returns the number of images that the reader has learned so far. For one thread at a time, not async-signal-safe: it
 * reads data that another call may be writing. */
USP_API size_t usp_reader_image_count(const struct usp_reader *reader);

struct usp_reader_counts {
    uint64_t texts;     /* texts that have ended */
    uint64_t frames;    /* frames found */
    uint64_t named;     /* frames that already had a name; includes `renamed` and `lined` */
    uint64_t answered;  /* frames that got a name */
    uint64_t no_symbol; /* frames of an image that has a file, but no symbol there */
    uint64_t no_file;   /* frames of an image without a file */
    uint64_t no_image;  /* frames of an unknown image */
    const char *format; /* format of the last text, by its last frame; "" without frames. Static lifetime */
    uint64_t passed;    /* lines that were skipped: longer than 64 KB, or invalid UTF-16 */
    uint64_t renamed;   /* frames whose name was replaced (USP_READER_NAMED) */
    uint64_t lined;     /* frames that kept their name and got a line (USP_READER_NAMED) */
    uint64_t reserved[1];
};

/* Gives the counts since the reader was created. Returns USP_OK or USP_ERROR_ARGUMENT. For one thread at a time, not
 * async-signal-safe: it reads data that another call may be writing. */
USP_API int usp_reader_get_counts(const struct usp_reader *reader, struct usp_reader_counts *counts);

/* ---- reports for people ---- */

/* Opaque, immutable once made: the contents of a text, independent of its format. */
struct usp_report;

enum usp_report_style {
    USP_REPORT_TEXT = 1, /* the layout of Apple's crash reports: header, exception, threads, images; call trees */
    USP_REPORT_JSON = 2, /* as described in doc/schema/report.schema.json */
    USP_REPORT_HTML = 3  /* a page for browsers: one file without scripts, with a fold for each thread */
};

/* Reads a whole text. Of the options, `find` symbolicates the frames, with USP_READER_NAMED also those that have a
 * name, and `images` may supply their images; the others are not used. The text may be freed afterwards. On success the
 * caller frees *report. Returns USP_OK; with a sentence in `error` (may be NULL, `error_size` bytes)
 * USP_ERROR_NOT_FOUND when the text has no frames, and no processes as a JetsamEvent has, USP_ERROR_FORMAT,
 * USP_ERROR_TRUNCATED and USP_ERROR_UNSUPPORTED; text that was cut off also leaves a sentence with USP_OK, see
 * usp_reader_end; USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, and the status with which `find` failed. Thread-safe, not
 * async-signal-safe: it allocates. */
USP_API int usp_report_create(const struct usp_reader_options *options, const char *bytes, size_t n,
                              struct usp_report **report, char *error, size_t error_size);

/* Gives the next bytes of a text: at most `size`, at least one unless the text has ended. *n becomes their number, 0 at
 * the end. Returns USP_OK, or another status, which ends the reading. */
typedef int (*usp_read_function)(void *context, char *bytes, size_t size, size_t *n);

/* Reads a whole text that `read` gives in pieces. Of a recording of Instruments only the distinct frames, binaries and
 * backtraces are kept in memory, of other texts all bytes until the function returns. `options`, `report` and `error`
 * are those of usp_report_create. Returns as usp_report_create does, and the status with which `read` failed.
 * Thread-safe, not async-signal-safe: it allocates and calls `read`. */
USP_API int usp_report_read(const struct usp_reader_options *options, usp_read_function read, void *context,
                            struct usp_report **report, char *error, size_t error_size);

/* Frees a report. NULL is ignored. Not async-signal-safe: it frees memory. */
USP_API void usp_report_free(struct usp_report *report);

/* Writes a report in a style (enum usp_report_style). Bytes from the text are escaped for terminals. Samples are shown
 * as their heaviest stack and a call tree. Returns USP_OK, USP_ERROR_ARGUMENT, or the status with which `write` failed.
 * Thread-safe, not async-signal-safe: it calls `write`. */
USP_API int usp_report_format(const struct usp_report *report, uint32_t style, usp_write_function write, void *context);

enum usp_report_flags {
    /* Shows only the threads that crashed and the backtraces of exceptions. */
    USP_REPORT_CRASHED = 1 << 0,
    /* Shows only the threads whose number or id is `thread`. */
    USP_REPORT_THREAD = 1 << 1,
    /* Leaves out frames of the system's libraries, by the paths of their images; frames whose image has no path stay.
     * The text says how many were left out. */
    USP_REPORT_APP = 1 << 2
};

struct usp_report_options {
    uint32_t size;  /* size of this struct in bytes; set by usp_report_options_init */
    uint32_t style; /* enum usp_report_style. Default USP_REPORT_TEXT */
    uint32_t flags; /* enum usp_report_flags. Default 0 */
    uint32_t reserved0;
    uint64_t thread; /* for USP_REPORT_THREAD. Default 0 */
    uint64_t reserved[4];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_report_options_init(struct usp_report_options *options);

/* Writes a part of a report. options NULL: the defaults. Returns as usp_report_format does; also USP_ERROR_ARGUMENT for
 * unknown flags, and USP_ERROR_NOT_FOUND, before anything is written, when the report has no thread that
 * USP_REPORT_CRASHED or USP_REPORT_THREAD selects. Thread-safe, not async-signal-safe: it calls `write`. */
USP_API int usp_report_write(const struct usp_report *report, const struct usp_report_options *options,
                             usp_write_function write, void *context);

/* Writes how report b differs from report a, as text: lines of a alone begin with "- ", those of b alone with "+ ".
 * Compared are the fields, except those of the single event (date, process id, incident), the stacks by images,
 * functions and source lines, and the images by name and build id. A stack is compared with an equal one, else that of
 * the thread that crashed with the other's, else by the thread's name, else by its number. Of samples the heaviest
 * stacks are compared. Of the options, `flags` and `thread` select what is compared; the style must be
 * USP_REPORT_TEXT. Returns as usp_report_write does; USP_ERROR_NOT_FOUND when neither report has such a thread;
 * USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it allocates. */
USP_API int usp_report_compare(const struct usp_report *a, const struct usp_report *b,
                               const struct usp_report_options *options, usp_write_function write, void *context);

/* Gives the counts of a report's frames. Returns USP_OK or USP_ERROR_ARGUMENT. Async-signal-safe, thread-safe. */
USP_API int usp_report_get_counts(const struct usp_report *report, struct usp_reader_counts *counts);

USP_END_DECLS

#endif
