/* SPDX-License-Identifier: MIT */
/* The names of a profile's frames, for the writers. Each name is looked up once. profile.h has the frames. */
#ifndef USPI_PROFILE_NAMES_H
#define USPI_PROFILE_NAMES_H

#include "lib/profile/file.h"
#include "lib/profile/profile.h"
#include "lib/report/naming.h"

/* A function; without a known function, the place itself. */
struct uspi_function {
    struct uspi_item item;
    const char *text;   /* displayed name: demangled, or "libx.so+0x1f0", or "0x7f…" */
    const char *symbol; /* name in the symbol table or debug information; NULL: no name is known */
    char *file;         /* path of its source file; NULL: not known */
    uint32_t line;      /* line in that file at which it begins; 0: not known */
    uint32_t image;     /* USPI_NONE: outside all images */
    uint64_t start;     /* offset in the image; address if outside all images; 0 for an inlined function */
    uint64_t extent;    /* size in bytes; 0: not known */
    bool is_inlined;    /* it is known from inlined calls */
    bool is_given;      /* it is known from a file that does not say where it starts */
    bool owns_text;
};

/* A function at a call site: the one that the code belongs to, or one that was inlined there. */
struct uspi_located_function {
    uint32_t function;
    uint32_t site;
    const char *directory, *file; /* source file; NULL: not known, or lines were not requested */
    uint32_t line, column;        /* in that file; 0: not known */
};

/* A frame's call site. Frames of the same kind at the same offset of the same image share it. */
struct uspi_site {
    struct uspi_item item;
    uint64_t offset; /* offset of the pc, as in struct uspi_node */
    uint32_t image;
    uint32_t kind;
    uint32_t first;    /* first place: the innermost inlined call. The last is the function that was not inlined */
    uint32_t count;    /* number of places; 1 without lines */
    uint32_t function; /* function of the last place */
};

/* The strings of a function of a file. */
struct uspi_given_function {
    uint32_t line;                     /* where it begins; 0: not known */
    const char *shown, *symbol, *path; /* shown NULL: not copied yet; path NULL: not known */
};

struct uspi_profile_names {
    const struct usp_profile *profile; /* a clone */
    struct usp_symbolizer *symbolizer;
    struct usp_demangler *demangler;
    const struct usp_profile_file *file; /* the file that has names of frames; NULL: none */
    struct uspi_given_function *given;   /* its functions */
    struct uspi_region region;           /* their strings */
    struct usp_images *own;              /* images of this process, if the options name no images */
    usp_addr *bases; /* load address of each image in the symbolizer's images; 0: it is not among them */
    struct uspi_pool functions, sites;
    struct uspi_allowance allowance;
    struct uspi_located_function *places;
    size_t place_count, place_capacity;
    bool has_lines; /* lines were requested */
    struct uspi_sources sources;
    uint32_t *site_of; /* site of each node; USPI_NONE: the node stands for frames that were left out */
};

/* Names every frame of a clone, with lines and inlined calls if `options` has USP_PROFILE_LINES. The clone must outlive
 * the names. Returns USP_OK or USP_ERROR_NO_MEMORY; the caller calls uspi_profile_names_free in both cases. */
int uspi_profile_names_find(struct uspi_profile_names *names, const struct usp_profile *clone,
                            const struct usp_profile_write_options *options);

void uspi_profile_names_free(struct uspi_profile_names *names);

static inline struct uspi_function *uspi_function(const struct uspi_profile_names *names, uint32_t i) {
    return uspi_pool_at(&names->functions, i);
}

static inline struct uspi_site *uspi_site(const struct uspi_profile_names *names, uint32_t i) {
    return uspi_pool_at(&names->sites, i);
}

/* Returns the last component of an image's path; "" outside all images. */
const char *uspi_profile_image_name(const struct usp_profile *profile, uint32_t image);

/* Returns a frame's address with the image's load address in the first sample, not with the one that
 * usp_images_create_profile assigns. */
usp_addr uspi_site_address(const struct usp_profile *profile, const struct uspi_site *site);

/* Returns the number of the image whose mapping contains a site's address, plus 1; 0: none does. */
uint64_t uspi_site_mapping(const struct usp_profile *profile, const struct uspi_site *site, usp_addr address);

/* Puts a thread's name, or "thread ID" if it has none; with_id: both. Control characters and semicolons are escaped. */
struct uspi_text;
void uspi_put_profile_thread(struct uspi_text *text, const struct usp_thread_info *info, bool with_id);

#endif
