/* SPDX-License-Identifier: MIT */
/* `unspool symbolize` for addresses: what its arguments say. */
#ifndef TOOL_SYMBOLIZE_H
#define TOOL_SYMBOLIZE_H

#include "tools/image_choice.h"

struct address_options {
    struct image_choice image;    /* path NULL: the images of `process` */
    int64_t process;              /* 0: none */
    const char *input;            /* a file with addresses; NULL: standard input, if there are none below */
    const char *const *addresses; /* as they were given */
    size_t address_count;
    const char *index_store; /* of --index; NULL: the default one */
    uint32_t demangling;     /* enum usp_demangle_style */
    bool json;
    bool inlined;    /* a line for each inlined call, too */
    bool full_paths; /* of sources, not the files' names alone */
};

/* Writes a line for each address. Complains. Returns an enum exit_status. */
int symbolize_addresses(const struct address_options *options);

#endif
