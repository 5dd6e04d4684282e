/* SPDX-License-Identifier: MIT */
/* Finds the debug information that Flutter writes with --split-debug-info: an ELF file NAME.symbols, which older versions
 * write without a build id, also for Mach-O programs. Such a file is found by its processor. */
#ifndef TOOLS_LOG_SPLIT_H
#define TOOLS_LOG_SPLIT_H

#include "tools/log_search.h"

#include <unspool/places.h>

/* The file that was chosen last. All zero: none. */
struct log_split {
    const char *path; /* of the search */
    uint8_t id[USP_BUILD_ID_MAX];
    uint32_t id_size; /* of the build that it was chosen for */
    bool has_begin;   /* `begin` is the address, as linked, of the symbol from which the text counts */
    uint64_t begin;
};

/* Whether a place may be in such a file: of a Flutter program, and its offset can be used in another file. */
bool log_split_may_have(const struct usp_place *place);

/* Chooses the only file without a build id for the place's processor. Returns it, and fills in *split; NULL if there is
 * none, or several: *count becomes their number. */
const struct log_file *log_split_choose(struct log_search *search, const struct usp_place *place,
                                        struct log_split *split, size_t *count);

/* Whether the file was chosen for the place's build. */
bool log_split_is_of(const struct log_split *split, const struct usp_place *place);

/* Returns the place as the file has it, if log_split_may_have is true. */
struct usp_place log_split_place(const struct log_split *split, const struct usp_place *place);

#endif
