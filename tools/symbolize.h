/* SPDX-License-Identifier: MIT */
/* Options of `unspool symbolize` for addresses. */
#ifndef TOOLS_SYMBOLIZE_H
#define TOOLS_SYMBOLIZE_H

#include "tools/image_choice.h"
#include "tools/lines.h"

struct address_options {
    struct image_choice image;    /* path NULL: the images of `process`, or of the shared cache */
    int64_t process;              /* 0: none */
    const char *input;            /* file with addresses; NULL: standard input, if `addresses` is empty */
    const char *const *addresses; /* addresses as given */
    size_t address_count;
    struct line_options lines; /* its caches are open */
    uint32_t line_flags;       /* enum usp_format_flags: how lines are written */
    uint32_t demangling;       /* enum usp_demangle_style */
    bool json;
    bool inlined; /* also write a line for each inlined call */
    bool aliases; /* also write a line for each other function that shares the code */
};

/* Writes a line for each address. Complains. Returns an enum exit_status. */
int symbolize_addresses(const struct address_options *options);

#endif
