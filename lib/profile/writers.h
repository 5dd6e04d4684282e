/* SPDX-License-Identifier: MIT */
/* Declarations that the writers of profiles share: the data to write, and the output. Each format has a file of its
 * own. */
#ifndef USPI_PROFILE_WRITERS_H
#define USPI_PROFILE_WRITERS_H

#include "lib/base/text.h"
#include "lib/profile/branches.h"
#include "lib/profile/names.h"

struct uspi_writing {
    const struct usp_profile *profile; /* a clone */
    struct uspi_profile_names names;
    struct usp_profile_write_options options; /* complete */
    struct uspi_text text;
};

/* Each writes the whole profile. Returns USP_OK or USP_ERROR_NO_MEMORY; writing->text has the status of the output. */
int uspi_profile_write_tree(struct uspi_writing *writing);
int uspi_profile_write_folded(struct uspi_writing *writing);
int uspi_profile_write_otlp(struct uspi_writing *writing);
int uspi_profile_write_pprof(struct uspi_writing *writing);
int uspi_profile_write_speedscope(struct uspi_writing *writing);
int uspi_profile_write_firefox(struct uspi_writing *writing);
int uspi_profile_write_json(struct uspi_writing *writing);
int uspi_profile_write_svg(struct uspi_writing *writing);

/* Returns the title that the caller requested, or the program's name. (run_text.c) */
const char *uspi_profile_title(const struct uspi_writing *writing);

/* Describes for people how the samples were taken and what is missing: calls `put` for each line. An unknown run is
 * left out. (run_text.c) */
void uspi_profile_describe_run(const struct usp_profile *profile, void (*put)(void *context, const char *line),
                               void *context);

#endif
