/* SPDX-License-Identifier: MIT */
/* One source of a build: an object file or an index, opened when it is first asked. */
#ifndef USPI_BUILD_SOURCE_H
#define USPI_BUILD_SOURCE_H

#include <unspool/places.h>
#include <unspool/symbolize.h>

struct uspi_build_source {
    struct usp_build_source where; /* its strings are owned; `image` is NULL */
    struct usp_image image;        /* of an index; arch 0: not known yet */
    struct usp_images *images;     /* NULL: not open */
    struct usp_symbolizer *symbolizer;
    const struct usp_builds_options *options;
    usp_addr asked;   /* the address that was asked for last; 0: none */
    bool is_unusable; /* it could not be opened; it is not tried again */
};

/* Takes over a source that the caller describes. The options, which must outlive it, have the store where it names none. False when
 * memory lacks. */
bool uspi_build_source_init(struct uspi_build_source *source, const struct usp_build_source *where,
                            const struct usp_builds_options *options);

/* Closes it and frees its strings. */
void uspi_build_source_clear(struct uspi_build_source *source);

/* Whether it has lines that are damaged, of which `text` (`size` bytes) then tells. For a source that was asked. */
bool uspi_build_source_is_damaged(const struct uspi_build_source *source, char *text, size_t size);

/* Turns an offset in the file, or from where its code is mapped, into an address as the image was linked. False when the source
 * cannot be opened or does not tell: an index and what was split off from a file do not. */
bool uspi_build_source_link(struct uspi_build_source *source, struct usp_place *place);

/* Fills in *lines, and the answer's offset and flags, for a place that counts from the load address or as linked. Returns as
 * usp_symbolize_lines. */
int uspi_build_source_ask(struct uspi_build_source *source, const struct usp_place *place, struct usp_lines *lines,
                          struct usp_answer *answer);

#endif
