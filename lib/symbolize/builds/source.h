/* SPDX-License-Identifier: MIT */
/* One source of a build: an object file or an index. It is opened when it is first asked. */
#ifndef USPI_SYMBOLIZE_BUILDS_SOURCE_H
#define USPI_SYMBOLIZE_BUILDS_SOURCE_H

#include <unspool/places.h>
#include <unspool/symbolize.h>

struct uspi_build_source {
    struct usp_build_source where; /* its strings are owned; `image` is NULL */
    struct usp_image image;        /* for an index; arch 0: not known yet */
    struct usp_images *images;     /* NULL: not open */
    struct usp_symbolizer *symbolizer;
    const struct usp_builds_options *options;
    usp_addr asked;   /* the address that was last asked for; 0: none */
    bool is_unusable; /* it could not be opened, and is not tried again */
};

/* Initializes a source from the caller's description, which is copied. The options must outlive it; their store is used
 * if the description names none. Returns false when memory is exhausted. */
bool uspi_build_source_init(struct uspi_build_source *source, const struct usp_build_source *where,
                            const struct usp_builds_options *options);

/* Closes the source and frees its strings. */
void uspi_build_source_clear(struct uspi_build_source *source);

/* Returns whether the source has damaged lines, and describes them in `text`, which has `size` bytes. Only for a source
 * that was asked before. */
bool uspi_build_source_is_damaged(const struct uspi_build_source *source, char *text, size_t size);

/* Changes an offset in the file, or from where its code is mapped, into an address as the image was linked. Returns
 * false when the source cannot be opened or does not know the layout. An index and a separate debug file do not know
 * it. */
bool uspi_build_source_link(struct uspi_build_source *source, struct usp_place *place);

/* Fills in *lines, and the answer's offset and flags, for a place that is an offset from the load address or an address
 * as linked. Returns as usp_symbolize_lines does. */
int uspi_build_source_ask(struct uspi_build_source *source, const struct usp_place *place, struct usp_lines *lines,
                          struct usp_answer *answer);

#endif
