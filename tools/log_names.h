/* SPDX-License-Identifier: MIT */
/* From a place in an image to the name of the function there, by the files that --search has found; and what is said of
 * images for which there is none. Where in which image a frame lies is the caller's to know. */
#ifndef TOOL_LOG_NAMES_H
#define TOOL_LOG_NAMES_H

#include "tools/log_search.h"

struct log_place {
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size;   /* 0: not known; the one build in --search that has the name is taken then */
    struct span name; /* of the image's file */
    uint64_t offset;  /* from the image's load address */
    bool is_linked;   /* `offset` is an address instead, as the image was linked */
    bool is_exact;    /* not a return address: its function is the one at this very place */
};

struct log_name {
    const char *name;   /* demangled, otherwise as it is; valid until the names are freed */
    uint64_t offset;    /* of the place, from the function's beginning */
    bool is_trampoline; /* what it returns to was interrupted by a signal, not called */
};

/* Opaque. */
struct log_names;

/* demangling: enum usp_demangling. The search must outlive the names, which are the caller's to free. Returns an enum
 * usp_status. */
int log_names_create(const struct log_search *search, uint32_t demangling, struct log_names **names);

/* NULL is ignored. */
void log_names_free(struct log_names *names);

/* Returns USP_OK, USP_ERROR_NOT_FOUND (which was said on standard error if there is no file for the image, the first time),
 * USP_ERROR_NO_MEMORY. */
int log_names_find(struct log_names *names, const struct log_place *place, struct log_name *name);

#endif
