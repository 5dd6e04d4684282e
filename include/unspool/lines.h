/* SPDX-License-Identifier: MIT */
/* From an address to source files and lines, with the calls that were inlined there, out of debug information (DWARF) or of an
 * index that was made of it. Which function of the symbol table holds an address is symbolize.h's. */
#ifndef UNSPOOL_LINES_H
#define UNSPOOL_LINES_H

#include <unspool/base.h>
#include <unspool/symbolize.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Where a line comes from. */
enum usp_line_source {
    USP_LINE_NONE = 0,       /* there is none */
    USP_LINE_TABLE = 1,      /* the line table, for the address itself */
    USP_LINE_CALL = 2,       /* the inline tree: where the function of the frame before was called */
    USP_LINE_DECLARATION = 3 /* where the function is declared: the line table has nothing for the address */
};

/* Its name as JSON has it: "none", "line-table", "inline-tree", "declaration". Static lifetime.
 * Async-signal-safe, thread-safe. */
USP_API const char *usp_line_source_string(uint32_t source);

enum usp_source_flags {
    USP_SOURCE_INLINED = 1 << 0, /* the function was inlined into that of the next frame */
    USP_SOURCE_LINE_FILLED =
        1 << 1,                 /* the line table has line 0 here (code that the compiler made); the line is that of the
                                        code before it in the same function */
    USP_SOURCE_FOLDED = 1 << 2, /* several functions have this code (usp_symbolizer_visit_names) */
    USP_SOURCE_COLD = 1 << 3,   /* in a part of the function that lies apart from its beginning */
    USP_SOURCE_INFERRED =
        1 << 4, /* a tail call that has left no frame: the function has jumped to that of the frame before */
    USP_SOURCE_FROM_INDEX = 1 << 5 /* out of an index file */
};

/* A function at a place of its source. Strings live as long as the symbolizer, or until it is trimmed. */
struct usp_source_frame {
    const char *function;  /* as the symbol table or debug information has it (usp_demangle); NULL: not known */
    const char *directory; /* of the file, as the compiler recorded it; NULL: not known */
    const char *file;      /* the last part of its path; NULL: not known */
    uint32_t line;         /* from 1; 0: not known, or code that the compiler made */
    uint32_t column;       /* from 1, in bytes; 0: not known */
    uint32_t flags;        /* enum usp_source_flags */
    uint32_t named_by;     /* enum usp_strategy: where the function's name comes from */
    uint32_t line_source;  /* enum usp_line_source */
    uint32_t reserved0;
    usp_addr start;   /* where the function begins, in the target; 0 for inlined ones and where it is not known */
    usp_addr address; /* that the line is of: the one that was asked for; of an inferred frame one in the jump */
    uint64_t reserved[2];
};

enum usp_lines_flags {
    USP_LINES_FILL =
        1 << 0 /* where the line table has line 0, the line of the code before it in the same function and inlined
                               call (USP_SOURCE_LINE_FILLED): for call sites, at which line 0 tells a person nothing */
};

/* A question and its answer. */
struct usp_lines {
    uint32_t size;                   /* of this struct in bytes; set by usp_lines_init */
    uint32_t flags;                  /* enum usp_lines_flags. Default 0 */
    struct usp_source_frame *frames; /* room for the answer, innermost inlined call first; NULL with capacity 0 */
    uint32_t capacity;               /* how many fit there */
    uint32_t count;  /* out: how many there are; when there are more than capacity, the outermost ones are cut */
    uint32_t folded; /* out: how many other functions share the code */
    uint32_t reserved0;
    struct usp_symbol symbol; /* out: as usp_symbolize fills it */
    uint64_t reserved[4];
};

/* Sets size, frames and capacity, and clears the rest. Async-signal-safe, thread-safe. */
USP_API void usp_lines_init(struct usp_lines *lines, struct usp_source_frame *frames, uint32_t capacity);

/* All source frames of an address: pass usp_frame_call_site(), not the return address. The last frame is the function that was
 * not inlined; its name is that of the symbol table where that has one. Without debug information there is one frame, which has
 * the symbol's name and no line; of generated code without any it has the line of the program's jitdump. Returns USP_OK when there
 * is a frame, USP_ERROR_NOT_FOUND when there is none, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY.
 * Thread-safe, not async-signal-safe. */
USP_API int usp_symbolize_lines(struct usp_symbolizer *symbolizer, usp_addr address, struct usp_lines *lines);

/* All source frames of a frame of a stack: looks up usp_frame_call_site() of it, so that a caller need not know which addresses have
 * to be adjusted. arch is the stack's. lines->symbol.offset counts from the call site. Otherwise as
 * usp_symbolize_lines. Thread-safe, not async-signal-safe. */
USP_API int usp_symbolize_frame_lines(struct usp_symbolizer *symbolizer, uint32_t arch, const struct usp_frame *frame,
                                      struct usp_lines *lines);

/* Called with a name; it stays as long as the symbolizer. Not 0: no more. */
typedef int (*usp_name_visitor)(void *context, const char *name);

/* Every function that has the code at an address, when linkers have folded equal ones into one: first the one that
 * usp_symbolize_lines names, then the others that debug information knows. Returns USP_OK, what `visit` returned to end it,
 * USP_ERROR_NOT_FOUND when no function holds the address, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY.
 * Thread-safe, not async-signal-safe. */
USP_API int usp_symbolizer_visit_names(struct usp_symbolizer *symbolizer, usp_addr address, usp_name_visitor visit,
                                       void *context);

/* Writes a sentence about where the lines of the image that holds an address come from, or why there are none and where they
 * were looked for, into `text` (`size` bytes, cut to fit). Returns USP_OK when there are lines, USP_ERROR_NOT_FOUND when there
 * are none, USP_ERROR_FORMAT when an index is damaged, also where the debug information that it was made of answers in its
 * place, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe. */
USP_API int usp_symbolizer_explain_lines(struct usp_symbolizer *symbolizer, usp_addr address, char *text, size_t size);

/* Called for a source frame of frame `i` of a stack; *frame is valid during the call only, its strings as long as the
 * symbolizer. Not 0: no more. */
typedef int (*usp_source_visitor)(void *context, uint32_t i, const struct usp_source_frame *frame);

/* Gives the source frames of a whole stack, innermost first, with tail calls: functions between two frames that have left none,
 * because they jumped to the next function. They are given where the call site of a frame calls another function than the one of
 * the frame before it, and debug information knows exactly one way of tail calls, 16 at most, from that function to this one
 * (doc/symbolize.md). They are flagged (USP_SOURCE_INFERRED) and have the number of the frame that called the first of them.
 * Lines of call sites are filled (USP_LINES_FILL). A stack from which frames were taken out (usp_filter_stack) does not say which
 * of its frames has called which. Returns USP_OK, what `visit` returned to end it, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY.
 * Thread-safe, not async-signal-safe. */
USP_API int usp_symbolize_stack(struct usp_symbolizer *symbolizer, const struct usp_stack *stack,
                                usp_source_visitor visit, void *context);

/* ---- index files (doc/index-format.md) ---- */

/* Called now and then while an index is made or compared, with how much of all is done; never on two threads at once. Not 0: to
 * be given up. */
typedef int (*usp_index_progress)(void *context, uint64_t done, uint64_t all);

enum usp_index_flags {
    USP_INDEX_KEEP = 1 << 0, /* of usp_index_write: an index that is there, whole and as rich as a new one, stays */
    USP_INDEX_CHECK = 1 << 1 /* of usp_index_examine: all of the file is read */
};

/* What is to be done with the index of an image, and what came of it. */
struct usp_index {
    uint32_t size;               /* of this struct in bytes; set by usp_index_init */
    uint32_t threads;            /* at most so many at once. Default 0: as many as there are processors */
    const char *store;           /* the folder of the indexes; made when it is not there */
    usp_index_progress progress; /* NULL (default): progress is not reported */
    void *context;
    uint64_t source_bytes; /* out: of debug information */
    uint64_t index_bytes;  /* out: of the index file */
    uint64_t blocks;       /* out: compile units with code */
    uint64_t symbols;      /* out: functions of symbol tables and Objective-C metadata */
    uint64_t compared;     /* out, of usp_index_verify: addresses */
    uint64_t different;    /* out, of usp_index_verify: of these */
    char message
        [512];      /* out: what was wrong, also with debug information of which the rest could be used; "": nothing */
    uint32_t flags; /* enum usp_index_flags. Default 0 */
    uint32_t is_kept; /* out, of usp_index_write: 1 when the index that was there has stayed (USP_INDEX_KEEP), else 0 */
    uint64_t reserved[3];
};

/* Sets size and store, and clears the rest; the string must outlive the calls. Async-signal-safe, thread-safe. */
USP_API void usp_index_init(struct usp_index *index, const char *store);

/* Makes the index of an image of the list, and puts it into the store as STORE/ab/cdef…/index, where ab cdef… is the image's
 * build-id or UUID: at once, so that others see the old one or the new one. The same file makes the same bytes on every host.
 * Debug information is richer than GSYM, Breakpad's symbols and Go's function table, and these than symbols alone (USP_INDEX_KEEP).
 * Debug information is looked for as usp_symbolize_lines does it. Returns USP_OK, USP_ERROR_NOT_FOUND when nothing is known of
 * the image's code, USP_ERROR_UNSUPPORTED when it has no build-id, USP_ERROR_FORMAT when the index would be larger than 16 times
 * the debug information and a megabyte (damage), USP_ERROR_PERMISSION, USP_ERROR_SYSTEM, USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY, or what `progress` returned. Thread-safe, not async-signal-safe. */
USP_API int usp_index_write(const struct usp_images *images, const struct usp_image *image, struct usp_index *index);

/* Compares what the index in the store says with what the debug information says, at each address where an answer can change, and
 * beside it. Returns USP_OK when all is equal, USP_ERROR_MISMATCH when something is not (index->message has the first address),
 * USP_ERROR_NOT_FOUND when there is no index or no debug information, USP_ERROR_FORMAT when the index is damaged; else as
 * above. Thread-safe, not async-signal-safe. */
USP_API int usp_index_verify(const struct usp_images *images, const struct usp_image *image, struct usp_index *index);

/* The image of a build by its index in a store, for a machine that has the indexes and not the files: *image becomes its
 * build-id, processor and first address as linked (slide 0), with no path (""), no text, and an end behind all of its code. A
 * list of it (usp_images_create) and the store (usp_symbolizer_options.index_store) make a symbolizer. Returns USP_OK,
 * USP_ERROR_NOT_FOUND when the store has none, USP_ERROR_FORMAT, USP_ERROR_MISMATCH when the file there is none of this build,
 * USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, or what opening failed with; *image is unchanged then.
 * Thread-safe, not async-signal-safe. */
USP_API int usp_index_image(const char *store, const uint8_t *build_id, uint32_t build_id_size,
                            struct usp_image *image);

/* What an index file says of itself. */
struct usp_index_info {
    uint32_t size;    /* of this struct in bytes; set by usp_index_info_init */
    uint32_t arch;    /* enum usp_arch */
    uint32_t variant; /* enum usp_variant */
    uint32_t flags;   /* USP_IMAGE_MACHO, or 0 */
    uint32_t build_id_size;
    uint8_t build_id[USP_BUILD_ID_MAX];
    char name[64]; /* of the file that it was made of, without the folder; untrusted, cut to fit; "": not known */
    uint64_t index_bytes; /* size of the file */
    uint64_t blocks;      /* compile units; 0: it has symbols and no lines */
    uint64_t symbols;
    uint64_t reserved[4];
};

/* Sets size and clears the rest. Async-signal-safe, thread-safe. */
USP_API void usp_index_info_init(struct usp_index_info *info);

/* Reads the header of an index file; with USP_INDEX_CHECK in `flags` all of the file, every checksum and every table. `error`
 * (may be NULL, `error_size` bytes) receives a sentence on failure. Returns USP_OK, USP_ERROR_NOT_FOUND (no such file),
 * USP_ERROR_FORMAT (no index, or damaged), USP_ERROR_UNSUPPORTED (of a later version), USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY, or what opening failed with. Thread-safe, not async-signal-safe. */
USP_API int usp_index_examine(const char *path, uint32_t flags, struct usp_index_info *info, char *error,
                              size_t error_size);

USP_END_DECLS

#endif
