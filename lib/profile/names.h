/* SPDX-License-Identifier: MIT */
/* The names of a profile's frames, each looked up once: what the writers show. Which frames there are is profile.h's. */
#ifndef USPI_PROFILE_NAMES_H
#define USPI_PROFILE_NAMES_H

#include "lib/profile/profile.h"
#include "lib/report/naming.h"

/* A function, or where none is known the place itself. */
struct uspi_function {
    struct uspi_item item;
    const char *text;   /* its name as it is shown: demangled, or "libx.so+0x1f0", or "0x7f…" */
    const char *symbol; /* as the symbol table or debug information has it; NULL: no name is known */
    char *file;         /* the path of its source file; NULL: not known */
    uint32_t line;      /* where it begins in that file; 0: not known */
    uint32_t image;     /* USPI_NONE: outside of all */
    uint64_t start;     /* its offset in the image; outside of all images its address; 0 for an inlined one */
    uint64_t extent;    /* in bytes, 0 not known */
    bool is_inlined;    /* it is known by calls that were inlined */
    bool owns_text;
};

/* A function at a call site: the one that the code belongs to, or one that was inlined there. */
struct uspi_place {
    uint32_t function;
    uint32_t site;
    const char *directory, *file; /* of the source; NULL: not known, or without lines */
    uint32_t line, column;        /* in that file; 0: not known */
};

/* A frame's call site: equal offsets in the same image have the same places. */
struct uspi_site {
    struct uspi_item item;
    uint64_t offset; /* of the pc, as in struct uspi_node */
    uint32_t image;
    uint32_t kind;
    uint32_t first;    /* place: that of the innermost inlined call. The last is the function that was not inlined */
    uint32_t count;    /* of places; 1 without lines */
    uint32_t function; /* of the last place */
};

struct uspi_profile_names {
    const struct usp_profile *profile; /* a clone */
    struct usp_symbolizer *symbolizer;
    struct usp_demangler *demangler;
    struct usp_images *own; /* of this process, where the symbolizer is for that */
    usp_addr *bases;        /* for each image of the profile where the symbolizer knows it; 0: nowhere */
    struct uspi_pool functions, sites;
    struct uspi_allowance allowance;
    struct uspi_place *places;
    size_t place_count, place_room;
    bool has_lines; /* they were asked for */
    struct uspi_sources sources;
    uint32_t *site_of; /* of each node that is in use; nodes that stand for frames left out have USPI_NONE */
};

/* Names every frame of a clone, which must outlive the names, with its lines and inlined calls if `options` has USP_PROFILE_LINES.
 * USP_OK or USP_ERROR_NO_MEMORY; uspi_profile_names_free must follow in any case. */
int uspi_profile_names_find(struct uspi_profile_names *names, const struct usp_profile *clone,
                            const struct usp_profile_write_options *options);

void uspi_profile_names_free(struct uspi_profile_names *names);

static inline struct uspi_function *uspi_function(const struct uspi_profile_names *names, uint32_t i) {
    return uspi_pool_at(&names->functions, i);
}

static inline struct uspi_site *uspi_site(const struct uspi_profile_names *names, uint32_t i) {
    return uspi_pool_at(&names->sites, i);
}

/* The last part of an image's path; "" outside of all images. */
const char *uspi_profile_image_name(const struct usp_profile *profile, uint32_t image);

/* A frame's own address as it was met first: not where usp_images_create_profile puts it. */
usp_addr uspi_site_address(const struct usp_profile *profile, const struct uspi_site *site);

/* A thread as it is called: its name, or "thread ID"; with_id: both. Bytes that could do harm in a line or between semicolons
 * are escaped. */
struct uspi_text;
void uspi_put_profile_thread(struct uspi_text *text, const struct usp_thread_info *info, bool with_id);

#endif
