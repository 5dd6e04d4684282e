/* SPDX-License-Identifier: MIT */
/* What the writers of profiles share: what there is to write, and where it goes. Each format stands in a file of its own. */
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

/* Each writes the whole profile. USP_OK, or USP_ERROR_NO_MEMORY; the text knows whether it could be written. */
int uspi_profile_write_tree(struct uspi_writing *writing);
int uspi_profile_write_folded(struct uspi_writing *writing);
int uspi_profile_write_pprof(struct uspi_writing *writing);
int uspi_profile_write_speedscope(struct uspi_writing *writing);
int uspi_profile_write_firefox(struct uspi_writing *writing);
int uspi_profile_write_json(struct uspi_writing *writing);
int uspi_profile_write_svg(struct uspi_writing *writing);

/* The program's name, or what the caller wants instead. (run_text.c) */
const char *uspi_profile_title(const struct uspi_writing *writing);

/* How the samples were taken and what is missing, one line each for people: calls `put` with each. Nothing is said of a run
 * that is not known. (run_text.c) */
void uspi_profile_describe_run(const struct usp_profile *profile, void (*put)(void *context, const char *line),
                               void *context);

#endif
