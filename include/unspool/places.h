/* SPDX-License-Identifier: MIT */
/* Places in builds, as reports and profiles tell them (a build id and an offset), and the source frames there: many places in many
 * builds with one call. The addresses of one list of images are symbolize.h's and lines.h's. */
#ifndef UNSPOOL_PLACES_H
#define UNSPOOL_PLACES_H

#include <unspool/base.h>
#include <unspool/images.h>
#include <unspool/lines.h>

USP_BEGIN_DECLS

/* ---- places and answers ---- */

/* What the offset of a place counts from. */
enum usp_place_base {
    USP_PLACE_LOAD = 0,   /* the image's load address */
    USP_PLACE_LINKED = 1, /* nothing: it is an address, as the image was linked */
    USP_PLACE_FILE = 2,   /* the beginning of the image's file */
    USP_PLACE_TEXT = 3    /* the page at which the image's code is mapped */
};

enum usp_place_flags {
    USP_PLACE_EXACT = 1 << 0, /* an instruction, not where a call returns to */
    USP_PLACE_GUESS = 1 << 1  /* a frame only if there is an image of that name: nothing is missing if there is none */
};

/* Where the code of a frame is, as far as the text tells. */
struct usp_place {
    const char *image; /* name of the image's file, not NUL-terminated; valid during the call */
    size_t image_length;
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size; /* 0: the text does not tell */
    uint32_t arch;          /* enum usp_arch; 0: the text does not tell */
    uint32_t base;          /* enum usp_place_base */
    uint32_t flags;         /* enum usp_place_flags */
    uint64_t offset;        /* in bytes. For a return address its own, not the call's */
    uint64_t reserved[2];
};

enum usp_answer_flags {
    USP_ANSWER_NO_FILE = 1 << 0,   /* there is no file for the image */
    USP_ANSWER_TRAMPOLINE = 1 << 1 /* the function returns from a signal handler: its caller was interrupted */
};

/* What stands at a place. The owner of `frames` and of the strings in them is told where answers are given. */
struct usp_answer {
    const struct usp_source_frame *frames; /* the innermost inlined call first, the function that holds the code last */
    uint32_t count;                        /* 0: no name */
    uint32_t flags;                        /* enum usp_answer_flags */
    uint64_t offset;                       /* of the place, from the beginning of the function that holds it */
    int32_t status;                        /* of usp_symbolize_places, for this place */
    uint32_t reserved0;
    uint64_t reserved[1];
};

/* ---- builds ---- */

/* Opaque: builds that were asked for, with their indexes or files open. For one thread at a time; different ones are independent
 * of each other. */
struct usp_builds;

/* Where the symbols of a build are. */
struct usp_build_source {
    const char *path;        /* an object file, which must have the build id below. NULL: the index in index_store */
    const char *index_store; /* a folder of index files; of a file NULL: that of the options */
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size; /* 0: the file has none */
    uint32_t reserved0;
    /* What usp_index_image tells of the index, where that was asked before. Copied. NULL: it is asked. */
    const struct usp_image *image;
};

/* Sources of one build: the next one is asked when those before it have no symbol at an address. */
#define USP_BUILD_SOURCES 4

enum usp_build_flags {
    /* In: none of the sources tells where the build's file had its code, which the place needs. */
    USP_BUILD_LAYOUT = 1 << 0,
    /* Out: there are no further sources, so that the function need not be called with USP_BUILD_LAYOUT. */
    USP_BUILD_COMPLETE = 1 << 1
};

struct usp_build_sources {
    struct usp_build_source of[USP_BUILD_SOURCES];
    uint32_t count;
    uint32_t flags; /* enum usp_build_flags */
};

/* Tells where the symbols of a place's build are. Called for a build that is not open, with no sources; and once more, with
 * USP_BUILD_LAYOUT and the sources that it gave, to add what tells the layout. Strings are copied. Returns USP_OK, also for a
 * build that there is nothing of. Any other status becomes the answer's for each place of the build, until the build is
 * closed. */
typedef int (*usp_build_function)(void *context, const struct usp_place *place, struct usp_build_sources *sources);

enum usp_build_note {
    USP_BUILD_NOTE_DAMAGED = 1, /* an index is damaged, which is known when its build is closed; place is NULL */
    USP_BUILD_NOTE_LAYOUT = 2   /* no source tells where the file of the place's build had its code; text is "" */
};

/* Receives a message about a build, each kind once for a build. `text` is a sentence, valid during the call. */
typedef void (*usp_build_note_function)(void *context, uint32_t note, const struct usp_place *place, const char *text);

struct usp_builds_options {
    uint32_t size;       /* of this struct in bytes; set by usp_builds_options_init */
    uint32_t demangling; /* enum usp_demangle_style. Default USP_DEMANGLE_NO */
    /* A folder of index files (`unspool index`): asked for each build where there is no `find`, and for the lines of files.
     * Copied. Default NULL: none. */
    const char *index_store;
    usp_build_function find;      /* Default NULL: the index in index_store */
    usp_build_note_function note; /* Default NULL: none are made */
    void *context;                /* handed to both. Default NULL */
    uint32_t builds_kept;         /* so many builds stay open in usp_builds_trim. Default 0: 256 */
    uint32_t path_map_count;      /* how many maps. Default 0 */
    /* For the directories of source files; the first that fits is used. Copied. Default NULL. */
    const struct usp_path_map *path_maps;
    uint64_t reserved[3];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_builds_options_init(struct usp_builds_options *options);

/* options NULL: the defaults, which find nothing. On success *builds is the caller's to free. Returns USP_OK,
 * USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe. */
USP_API int usp_builds_create(const struct usp_builds_options *options, struct usp_builds **builds);

/* Frees it and all answers. NULL is ignored. No other call may use it any more. Not async-signal-safe. */
USP_API void usp_builds_free(struct usp_builds *builds);

/* Source frames of an address that are given at most; of more inlined calls the outermost are cut. */
#define USP_ANSWER_FRAMES 64

/* Answers `count` places, in any order of builds: answers[i], which is written completely, is places[i]'s. Its status is
 * USP_OK when there is a name; USP_ERROR_NOT_FOUND when there is none (flags tell whether there is a file or index of the build);
 * USP_ERROR_ARGUMENT for a place that none can be (a build id that is too long, an unknown base); USP_ERROR_NO_MEMORY; or what
 * `find` returned. A place that fails leaves the others as they are. For return addresses the call is looked up, and a line 0
 * filled (USP_LINES_FILL), unless USP_PLACE_EXACT is set. Without a build id the image's name stands for the build, which only
 * `find` can know.
 *
 * `frames` are valid until the next call for the same builds, the strings in them until usp_builds_trim. Memory: what is open;
 * 80 bytes for each frame of the largest batch since usp_builds_trim; and at most 4 MB of answers that were given, since reports
 * repeat the same frames. A file that changes while its build is open is not read again.
 *
 * Returns USP_OK when every answer has its status, USP_ERROR_ARGUMENT, and USP_ERROR_NO_MEMORY when an answer has that one. Not
 * async-signal-safe. */
USP_API int usp_symbolize_places(struct usp_builds *builds, const struct usp_place *places, struct usp_answer *answers,
                                 size_t count);

/* Between batches: when more than twice builds_kept builds are open, closes all but the builds_kept that were used last. So
 * memory does not grow with the number of batches. Every name that was given is invalid then. Of one thread at a time,
 * not async-signal-safe. */
USP_API void usp_builds_trim(struct usp_builds *builds);

USP_END_DECLS

#endif
