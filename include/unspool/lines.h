/* SPDX-License-Identifier: MIT */
/* Symbolicates an address to source files and lines, including inlined calls, from debug information (DWARF) or from
 * an index made from it. The lookup of the symbol that holds an address is in symbolize.h. */
#ifndef UNSPOOL_LINES_H
#define UNSPOOL_LINES_H

#include <unspool/base.h>
#include <unspool/dyld_caches.h>
#include <unspool/symbolize.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Where a line comes from. */
enum usp_line_source {
    USP_LINE_NONE = 0,       /* there is no line */
    USP_LINE_TABLE = 1,      /* the line table's entry for the address */
    USP_LINE_CALL = 2,       /* the inline tree: where the previous frame's function was called */
    USP_LINE_DECLARATION = 3 /* the function's declaration: the line table has no entry for the address */
};

/* Returns the source's name as in JSON: "none", "line-table", "inline-tree", "declaration". Static lifetime.
 * Async-signal-safe, thread-safe. */
USP_API const char *usp_line_source_string(uint32_t source);

enum usp_source_flags {
    USP_SOURCE_INLINED = 1 << 0, /* the function was inlined into the next frame's function */
    /* The line table has line 0 here (compiler-generated code); the line is that of the preceding code in the same
     * function. */
    USP_SOURCE_LINE_FILLED = 1 << 1,
    USP_SOURCE_FOLDED = 1 << 2, /* several functions share this code (usp_symbolizer_visit_names) */
    USP_SOURCE_COLD = 1 << 3,   /* the address is in a part of the function that is separate from its beginning */
    /* An inferred tail call: the function left no frame, because it jumped to the previous frame's function. */
    USP_SOURCE_INFERRED = 1 << 4,
    USP_SOURCE_FROM_INDEX = 1 << 5 /* from an index file */
};

/* A function at a source location. Its strings are valid until the symbolizer is freed or trimmed. */
struct usp_source_frame {
    const char *function;  /* mangled, as the symbol table or debug information has it; NULL: not known */
    const char *directory; /* the file's directory, as the compiler recorded it; NULL: not known */
    const char *file;      /* the last component of the file's path; NULL: not known */
    uint32_t line;         /* from 1; 0: not known, or compiler-generated code */
    uint32_t column;       /* from 1, in bytes; 0: not known */
    uint32_t flags;        /* enum usp_source_flags */
    uint32_t named_by;     /* enum usp_strategy: the source of the function's name */
    uint32_t line_source;  /* enum usp_line_source */
    uint32_t reserved0;
    usp_addr start; /* the function's start in the target; 0 for inlined functions and where it is not known */
    /* The address that the line belongs to: the one looked up; for an inferred frame, one in the jump. */
    usp_addr address;
    uint64_t reserved[2];
};

enum usp_lines_flags {
    /* Where the line table has line 0, gives the line of the preceding code in the same function and inlined call
     * (USP_SOURCE_LINE_FILLED). Meant for call sites, where line 0 does not help a reader. */
    USP_LINES_FILL = 1 << 0
};

/* A lookup and its result. */
struct usp_lines {
    uint32_t size;                   /* size of this struct in bytes; set by usp_lines_init */
    uint32_t flags;                  /* enum usp_lines_flags. Default 0 */
    struct usp_source_frame *frames; /* room for the result, innermost inlined call first; NULL with capacity 0 */
    uint32_t capacity;               /* number of elements in `frames` */
    uint32_t count;                  /* out: number of frames; when it exceeds capacity, the outermost frames are cut */
    uint32_t folded;                 /* out: number of other names of the code (usp_symbolizer_visit_names) */
    uint32_t reserved0;
    struct usp_symbol symbol; /* out: as usp_symbolize fills it, but see usp_symbolize_lines about its name */
    uint64_t reserved[4];
};

/* Sets size, frames and capacity, and clears the rest. Async-signal-safe, thread-safe. */
USP_API void usp_lines_init(struct usp_lines *lines, struct usp_source_frame *frames, uint32_t capacity);

/* Gives all source frames at an address: pass usp_frame_call_site(), not the return address. symbolizer NULL:
 * usp_symbolizer_default. The last frame is the function that was not inlined, named as in the symbol table where
 * possible. Of several names that the symbol table has for that function, as when the linker folded identical
 * functions, it has the one whose lines are given, and so does lines->symbol. Without debug information there is one
 * frame with the symbol's name and no line. Returns USP_OK when there is a frame, USP_ERROR_NOT_FOUND when there is
 * none, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it opens files, allocates, takes
 * locks and may call the loader.
 *
 * Lines come from an index in the symbolizer's store, or from debug information (DWARF 2 to 5) in
 *   - the image's file
 *   - the separate debug file (build id, .gnu_debuglink, dSYM)
 *   - the object files that a Mach-O image was linked from (its debug map)
 *   - a file that several others share (dwz)
 *   - split units (.dwo, .dwp)
 *   - objects that a runtime registers for debuggers, for generated code
 * Without it, they come from Go's function table (.gopclntab), from the GSYM file or Breakpad symbols that replace the
 * image's file, or from the jitdump of generated code, which has no inlined calls and columns. */
USP_API int usp_symbolize_lines(struct usp_symbolizer *symbolizer, usp_addr address, struct usp_lines *lines);

/* Gives all source frames of a stack's frame. Looks up usp_frame_call_site(), so the caller does not adjust addresses.
 * arch is the stack's. symbolizer NULL: usp_symbolizer_default. lines->symbol.offset counts from the call site.
 * Otherwise like usp_symbolize_lines. Thread-safe, not async-signal-safe: it opens files, allocates, takes locks and
 * may call the loader. */
USP_API int usp_symbolize_frame_lines(struct usp_symbolizer *symbolizer, uint32_t arch, const struct usp_frame *frame,
                                      struct usp_lines *lines);

/* Receives a name, which is valid as long as the symbolizer. A result other than 0 ends the visit. */
typedef int (*usp_name_visitor)(void *context, const char *name);

/* Visits every function that has the code at an address, which may be several when the linker folded identical ones.
 * The first is the one that usp_symbolize_lines names. The others come from debug information and, where that describes
 * the function, from the symbol table, each once, in the order of their mangled names. symbolizer NULL:
 * usp_symbolizer_default. Returns USP_OK, the result with which `visit` ended the visit, USP_ERROR_NOT_FOUND when no
 * function holds the address, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it opens
 * files, allocates, takes locks and may call the loader. */
USP_API int usp_symbolizer_visit_names(struct usp_symbolizer *symbolizer, usp_addr address, usp_name_visitor visit,
                                       void *context);

/* Explains the lines of the image that holds an address: writes a sentence that says where they come from, or why there
 * are none and where they were searched for, to `text` (`size` bytes, cut to fit). symbolizer NULL:
 * usp_symbolizer_default. Returns USP_OK when there are lines, USP_ERROR_NOT_FOUND when there are none,
 * USP_ERROR_FORMAT when an index is damaged, even if debug information is used in its place, USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it opens files, allocates, takes locks and may call the
 * loader. */
USP_API int usp_symbolizer_explain_lines(struct usp_symbolizer *symbolizer, usp_addr address, char *text, size_t size);

/* Explains the file of the image that holds an address: writes the path of the file that is used to `text` (`size`
 * bytes, cut to fit), or a sentence that says why none is. symbolizer NULL: usp_symbolizer_default. Returns USP_OK when
 * a file is used, USP_ERROR_NOT_FOUND when none was found, or no image holds the address; USP_ERROR_MISMATCH, or the
 * status with which it could not be opened or read, when a file was found and is not used; USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it opens files, allocates, takes locks and may call the
 * loader. */
USP_API int usp_symbolizer_explain_file(struct usp_symbolizer *symbolizer, usp_addr address, char *text, size_t size);

/* Receives a source frame of the stack's frame `i`. *frame is valid during the call only; its strings are valid as
 * long as the symbolizer. A result other than 0 ends the visit. */
typedef int (*usp_source_visitor)(void *context, uint32_t i, const struct usp_source_frame *frame);

/* Visits the source frames of a whole stack, innermost first. symbolizer NULL: usp_symbolizer_default. Inferred tail
 * calls are included: functions between two frames that left no frame, because they jumped to the next function. A tail
 * call is inferred where a frame's call site calls another function than the previous frame's, and debug information
 * has exactly one path of at most 16 tail calls from that function to this one (doc/symbolize-lines.md). Nothing is
 * inferred when a function on the path jumps through a pointer, can reach itself, or has no debug information about its
 * calls. Inferred frames have the flag USP_SOURCE_INFERRED and the number of the frame that called the first of them.
 * Lines of call sites are filled (USP_LINES_FILL). A stack from which frames were removed (usp_filter_stack) does not
 * record which of its frames called which.
 *
 * Returns USP_OK, the result with which `visit` ended the visit, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe,
 * not async-signal-safe: it opens files, allocates, takes locks and may call the loader. */
USP_API int usp_symbolize_stack(struct usp_symbolizer *symbolizer, const struct usp_stack *stack,
                                usp_source_visitor visit, void *context);

/* ---- index files (doc/index-format.md) ---- */

/* Reports progress while an index is made or compared. Never called on two threads at once. A result other than 0
 * cancels the operation.
 *   done, all  the amount of work done, and of the whole, in the same unit */
typedef int (*usp_index_progress)(void *context, uint64_t done, uint64_t all);

enum usp_index_flags {
    USP_INDEX_KEEP = 1 << 0, /* usp_index_write keeps an existing index that is intact and as rich as a new one */
    USP_INDEX_CHECK = 1 << 1 /* usp_index_examine reads the whole file */
};

/* Options and results of an operation on an image's index. */
struct usp_index {
    uint32_t size;               /* size of this struct in bytes; set by usp_index_init */
    uint32_t threads;            /* maximum number of threads. Default 0: the number of processors */
    const char *store;           /* the folder of the indexes; created if necessary */
    usp_index_progress progress; /* NULL (default): progress is not reported */
    void *context;
    uint64_t source_bytes; /* out: size of the debug information in bytes */
    uint64_t index_bytes;  /* out: size of the index file in bytes */
    uint64_t blocks;       /* out: number of compile units with code */
    uint64_t symbols;      /* out: number of functions in symbol tables and Objective-C metadata */
    uint64_t compared;     /* out, usp_index_verify: number of compared addresses */
    uint64_t different;    /* out, usp_index_verify: number of addresses with differences */
    /* Out: what was wrong, also when the undamaged part of the debug information could be used. "": nothing. */
    char message[512];
    uint32_t flags;   /* enum usp_index_flags. Default 0 */
    uint32_t is_kept; /* out, usp_index_write: 1 when the existing index was kept (USP_INDEX_KEEP), else 0 */
    uint64_t reserved[3];
    /* usp_index_write: shared caches that have the image, if no file of its own is found. Default NULL. */
    const struct usp_dyld_caches *dyld_caches;
};

/* Sets size and store, and clears the rest; the string must outlive the calls. Async-signal-safe, thread-safe. */
USP_API void usp_index_init(struct usp_index *index, const char *store);

/* Makes the index of an image in the list and stores it as STORE/ab/cdef…/index, where abcdef… is the image's build id
 * or UUID. The file is replaced atomically: readers see the old one or the new one. The same input gives the same bytes
 * on every host. Debug information is found as in usp_symbolize_lines. A symbolizer never uses an index of another
 * build; it reports a damaged one (usp_symbolizer_explain_lines) and uses debug information instead. For
 * USP_INDEX_KEEP, whole debug information counts as richer than debug information that lacks files (split units, a file
 * that several share), that as richer than GSYM, Breakpad symbols and Go's function table, and these as richer than
 * symbols alone.
 *
 * Returns USP_OK, USP_ERROR_NOT_FOUND when no source describes the image's code, USP_ERROR_UNSUPPORTED when the image
 * has no build id, USP_ERROR_FORMAT when the index would be larger than 16 times the debug information plus one
 * megabyte (the input is damaged), USP_ERROR_PERMISSION, USP_ERROR_SYSTEM, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, or
 * the result of `progress`. Thread-safe, not async-signal-safe: it opens files, allocates and starts threads. */
USP_API int usp_index_write(const struct usp_images *images, const struct usp_image *image, struct usp_index *index);

/* Compares the stored index with the debug information at each address where an answer can change, and at its
 * neighbours. Returns USP_OK when all answers are equal, USP_ERROR_MISMATCH when some differ (index->message has the
 * first address), USP_ERROR_NOT_FOUND when there is no index or no debug information, USP_ERROR_FORMAT when the index
 * is damaged; otherwise as usp_index_write. Thread-safe, not async-signal-safe: it opens files and allocates. */
USP_API int usp_index_verify(const struct usp_images *images, const struct usp_image *image, struct usp_index *index);

/* Describes an image by its index in a store, for a machine that has the indexes but not the files. *image receives the
 * build id, the processor, the first address as linked (slide 0), no path (""), no text, and an end past all of the
 * image's code. To symbolicate, make a list of it (usp_images_create) and a symbolizer with the store
 * (usp_symbolizer_options.index_store).
 *
 * Returns USP_OK, USP_ERROR_NOT_FOUND when the store has no such index, USP_ERROR_FORMAT, USP_ERROR_MISMATCH when the
 * file is the index of another build, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, or the status of a failed open. On
 * failure *image is unchanged. Thread-safe, not async-signal-safe: it opens files and allocates. */
USP_API int usp_index_image(const char *store, const uint8_t *build_id, uint32_t build_id_size,
                            struct usp_image *image);

/* The contents of an index file's header. */
struct usp_index_info {
    uint32_t size;    /* size of this struct in bytes; set by usp_index_info_init */
    uint32_t arch;    /* enum usp_arch */
    uint32_t variant; /* enum usp_variant */
    uint32_t flags;   /* USP_IMAGE_MACHO, or 0 */
    uint32_t build_id_size;
    uint8_t build_id[USP_BUILD_ID_MAX];
    char name[64]; /* name of the file that was indexed, without its folder; untrusted, cut to fit; "": not known */
    uint64_t index_bytes; /* size of the index file */
    uint64_t blocks;      /* number of compile units; 0: the index has symbols and no lines */
    uint64_t symbols;
    uint64_t reserved[4];
};

/* Sets size and clears the rest. Async-signal-safe, thread-safe. */
USP_API void usp_index_info_init(struct usp_index_info *info);

/* Reads an index file's header; with USP_INDEX_CHECK in `flags`, reads the whole file and checks every checksum and
 * table. On failure `error` (may be NULL, `error_size` bytes) receives a sentence. Returns USP_OK, USP_ERROR_NOT_FOUND
 * (there is no such file), USP_ERROR_FORMAT (not an index, or damaged), USP_ERROR_UNSUPPORTED (a later version),
 * USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, or the status of a failed open. Thread-safe, not async-signal-safe: it opens
 * files and allocates. */
USP_API int usp_index_examine(const char *path, uint32_t flags, struct usp_index_info *info, char *error,
                              size_t error_size);

USP_END_DECLS

#endif
