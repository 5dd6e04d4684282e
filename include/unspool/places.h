/* SPDX-License-Identifier: MIT */
/* Places in builds, as reports and profiles state them (a build id and an offset), and the source frames there. One
 * call symbolicates many places in many builds. Addresses in one list of images are looked up by symbolize.h and
 * lines.h. */
#ifndef UNSPOOL_PLACES_H
#define UNSPOOL_PLACES_H

#include <unspool/base.h>
#include <unspool/dyld_caches.h>
#include <unspool/images.h>
#include <unspool/lines.h>

USP_BEGIN_DECLS

/* ---- places and answers ---- */

/* What a place's offset counts from. */
enum usp_place_base {
    USP_PLACE_LOAD = 0,   /* the image's load address */
    USP_PLACE_LINKED = 1, /* 0: the offset is the address as the image was linked */
    USP_PLACE_FILE = 2,   /* the beginning of the image's file; requires the file as a source, or `file_end` */
    USP_PLACE_TEXT = 3    /* the page at which the image's code is mapped; requires the file, too */
};

enum usp_place_flags {
    USP_PLACE_EXACT = 1 << 0, /* the place is an instruction, not a return address */
    /* It may not be a frame: if there is no such image, it does not count as missing. */
    USP_PLACE_GUESS = 1 << 1,
    USP_PLACE_NAMED = 1 << 2,       /* `name` is known: the text already names the frame's function */
    USP_PLACE_NAME_OFFSET = 1 << 3, /* `name_offset` is known */
    USP_PLACE_FILL = 1 << 4         /* line 0 is filled (USP_LINES_FILL), with USP_PLACE_EXACT too */
};

/* The location of a frame's code, as far as the text states it. */
struct usp_place {
    const char *image; /* name of the image's file, not NUL-terminated; valid during the call */
    size_t image_length;
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size; /* 0: the text does not state it */
    uint32_t arch;          /* enum usp_arch; 0: the text does not state it */
    uint32_t base;          /* enum usp_place_base */
    uint32_t flags;         /* enum usp_place_flags */
    uint64_t offset;        /* in bytes; for a return address that of the return address, not of the call */
    /* The function's name in the text, not NUL-terminated; valid during the call, and with USP_PLACE_NAMED. With
     * USP_PLACE_NAME_OFFSET alone it is a symbol from which the text counts, of a part that has many functions. */
    const char *name;
    size_t name_length;
    uint64_t name_offset; /* of the place from the named function, by the text; valid with USP_PLACE_NAME_OFFSET */
    /* With USP_PLACE_FILE: where the mapping of the code ends in the file; 0: not known. If the image's code, as an
     * index has it, ends in the last page before, code is mapped at its offset in the file, and the index suffices. */
    uint64_t file_end;
    uint64_t reserved[1];
};

enum usp_answer_flags {
    USP_ANSWER_NO_FILE = 1 << 0,    /* no file was found for the image */
    USP_ANSWER_TRAMPOLINE = 1 << 1, /* the function returns from a signal handler: its caller was interrupted */
    /* No name was found, so `count` is 0; but frames[0] has the file and the line of the code. */
    USP_ANSWER_LINE = 1 << 2,
    /* With USP_PLACE_NAMED: the function that the text names holds the place, so the text's name is right. */
    USP_ANSWER_NAME_HOLDS = 1 << 3
};

/* The source frames at a place. The functions that give or receive an answer state who owns `frames` and their
 * strings. */
struct usp_answer {
    const struct usp_source_frame *frames; /* the innermost inlined call first, the function that holds the code last */
    uint32_t count;                        /* number of frames; 0: no name was found */
    uint32_t flags;                        /* enum usp_answer_flags */
    uint64_t offset;                       /* of the place, from the beginning of the function that holds it */
    int32_t status;                        /* result of usp_symbolize_places for this place */
    uint32_t reserved0;
    uint64_t reserved[1];
};

/* ---- builds ---- */

/* Opaque: the builds that were looked up, with their open indexes or files. One thread at a time may use it; different
 * ones are independent. */
struct usp_builds;

/* Where to find the symbols of a build. */
struct usp_build_source {
    const char *path;        /* an object file, which must have the build id below. NULL: the index in index_store */
    const char *index_store; /* a folder of index files. With `path`, NULL means that of the options */
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size; /* 0: the file has none */
    uint32_t reserved0;
    /* Result of usp_index_image for the index, if the caller already has it. Copied. NULL: the library calls
     * usp_index_image. */
    const struct usp_image *image;
};

/* Maximum number of sources of one build. Each is used for addresses at which the previous ones have no symbol. */
#define USP_BUILD_SOURCES 4

enum usp_build_flags {
    /* In: no source states where the build's file had its code, which the place requires. */
    USP_BUILD_LAYOUT = 1 << 0,
    /* Out: there are no further sources; the function need not be called again with USP_BUILD_LAYOUT. */
    USP_BUILD_COMPLETE = 1 << 1
};

struct usp_build_sources {
    struct usp_build_source of[USP_BUILD_SOURCES];
    uint32_t count;
    uint32_t flags; /* enum usp_build_flags */
};

/* Gives the sources of a place's build. It is called for a build that is not open, with no sources. It may be called
 * again with USP_BUILD_LAYOUT and the sources that it gave, to add one that states the layout. Strings are copied.
 * Returns USP_OK, also when the build has no source. Any other status becomes the status of every answer in this
 * build, until the build is closed. */
typedef int (*usp_build_function)(void *context, const struct usp_place *place, struct usp_build_sources *sources);

enum usp_build_note {
    USP_BUILD_NOTE_DAMAGED = 1, /* an index is damaged, which is noticed when its build is closed; place is NULL */
    USP_BUILD_NOTE_LAYOUT = 2   /* no source states where the build's file had its code; text is "" */
};

/* Receives a message about a build; each kind at most once for a build. `text` is a sentence, valid during the call. */
typedef void (*usp_build_note_function)(void *context, uint32_t note, const struct usp_place *place, const char *text);

struct usp_builds_options {
    uint32_t size;       /* size of this struct in bytes; set by usp_builds_options_init */
    uint32_t demangling; /* enum usp_demangle_style. Default USP_DEMANGLE_NO */
    /* A folder of index files (`unspool index`). It is used for every build when `find` is NULL, and for the lines of
     * files. Copied. Default NULL: none. */
    const char *index_store;
    usp_build_function find;      /* Default NULL: the index in index_store */
    usp_build_note_function note; /* receives messages. Default NULL */
    void *context;                /* passed to both functions. Default NULL */
    uint32_t builds_kept;         /* number of builds that usp_builds_trim leaves open. Default 0: 256 */
    uint32_t path_map_count;      /* number of path_maps. Default 0 */
    /* For the directories of source files; the first matching map is used. Copied. Default NULL. */
    const struct usp_path_map *path_maps;
    uint64_t reserved[3];
    /* dyld's shared caches: a source of each build that they contain, after those that `find` gives. A cache's own UUID
     * is a build, too: offsets count from its base, and stubs between its images have names. They must outlive the
     * builds. Default NULL. */
    const struct usp_dyld_caches *dyld_caches;
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_builds_options_init(struct usp_builds_options *options);

/* Makes a set of builds. options NULL: the defaults, which find nothing. On success the caller frees *builds. Returns
 * USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it allocates. */
USP_API int usp_builds_create(const struct usp_builds_options *options, struct usp_builds **builds);

/* Frees the builds and all answers. NULL is ignored. Not async-signal-safe: it frees memory. */
USP_API void usp_builds_free(struct usp_builds *builds);

/* Maximum number of source frames for an address. When there are more inlined calls, the outermost are cut. */
#define USP_ANSWER_FRAMES 64

/* Symbolicates `count` places, in any order of builds. answers[i], the answer for places[i], is written completely. For
 * return addresses the call site is looked up, and line 0 is filled (USP_LINES_FILL), unless USP_PLACE_EXACT is set.
 * With USP_PLACE_NAMED, USP_ANSWER_NAME_HOLDS says whether the place is in a function of that name in its build; when
 * the build has no such function, whether the place and `name_offset` are in one function.
 * When a place has no build id, the image's name identifies the build; only `find` can use it. A failing place does not
 * affect the others. An answer's status is
 *   USP_OK               there is a name
 *   USP_ERROR_NOT_FOUND  there is none; the flags say whether a file or index of the build was found, and whether code
 *                        without a function has a line (USP_ANSWER_LINE)
 *   USP_ERROR_ARGUMENT   the place is invalid: its build id is too long, its base unknown, its image has a length but
 *                        no name, or USP_PLACE_NAMED is set without a name
 *   USP_ERROR_NO_MEMORY, or the status that `find` returned
 *
 * `frames` are valid until the next call for the same builds, their strings until usp_builds_trim. Memory is used for
 *   - open builds
 *   - the largest batch since usp_builds_trim: 80 bytes for each frame
 *   - a cache of answers, at most 4 MB, because reports repeat the same frames
 * A file that changes while its build is open is not read again. Builds stay open between calls, so an index is read
 * once.
 *
 * Returns USP_OK when every answer has its status, USP_ERROR_ARGUMENT, or USP_ERROR_NO_MEMORY when an answer has that
 * status. Not async-signal-safe: it opens files and allocates. */
USP_API int usp_symbolize_places(struct usp_builds *builds, const struct usp_place *places, struct usp_answer *answers,
                                 size_t count);

/* Closes all but the builds_kept most recently used builds when more than twice as many are open. An index counts as
 * 1/16 of a build for each 64 KB of memory that it takes, at most as one build; a build without a file as one. All names
 * given before become invalid.
 * For one thread at a time, not async-signal-safe: it closes files and frees memory. */
USP_API void usp_builds_trim(struct usp_builds *builds);

USP_END_DECLS

#endif
