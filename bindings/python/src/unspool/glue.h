/* SPDX-License-Identifier: MIT */
/* What the Python module has in C besides the library: functions that the library calls, so that neither a frame nor a
 * piece of text needs the interpreter, and the loop over many records. cffi reads this file too. */
#ifndef BINDINGS_PYTHON_SRC_UNSPOOL_GLUE_H
#define BINDINGS_PYTHON_SRC_UNSPOOL_GLUE_H

#include <unspool/unspool.h>

/* Text that grows. bytes is freed with uspy_text_clear. */
struct uspy_text {
    char *bytes;
    size_t size, capacity;
};

/* A usp_write_function: appends to the struct uspy_text that `context` points to. */
int uspy_write(void *context, const char *bytes, size_t n);
void uspy_text_clear(struct uspy_text *text);

/* A file that has the symbols of a build. */
struct uspy_file {
    const char *path;
    const char *name; /* the last component of `path` */
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size;
};

/* Where names come from. The caller owns what the pointers point to. */
struct uspy_store {
    struct uspy_text text; /* first, so that a pointer to this struct is a context for uspy_write */
    struct usp_builds *builds;
    const char *folder; /* of index files; NULL: none */
    const struct uspy_file *files;
    size_t file_count;
};

/* A usp_build_function and a usp_place_function, whose context is a struct uspy_store. */
int uspy_find_build(void *context, const struct usp_place *place, struct usp_build_sources *sources);
int uspy_find_place(void *context, const struct usp_place *place, struct usp_answer *answer);

enum uspy_record_kind {
    USPY_RECORD_UNREADABLE = 0, /* no JSON object */
    USPY_RECORD_STACK = 1,      /* one stack, whose names and hash are given */
    USPY_RECORD_OTHER = 2       /* anything else: has to be symbolicated and looked at */
};

/* Records, and what equal ones have in common. */
struct uspy_signatures {
    const char *records; /* record i is the bytes from offsets[i] to offsets[i + 1] */
    size_t size;         /* of `records` */
    const int32_t *offsets;
    size_t count;
    uint32_t depth;        /* number of names of a signature */
    int32_t *name_offsets; /* out, count + 1 elements: record i's names in the store's text, with a NUL between two */
    int64_t *stacks;       /* out: a hash of the (build, offset) pairs of record i's stack */
    uint8_t *kinds;        /* out: enum uspy_record_kind */
};

/* Symbolicates records and gives their signatures. Returns USP_OK, USP_ERROR_ARGUMENT when an offset is outside the
 * records, USP_ERROR_FULL when the names are longer than 2 GB, USP_ERROR_NO_MEMORY. */
int uspy_find_signatures(struct uspy_store *store, struct uspy_signatures *signatures);

#endif
