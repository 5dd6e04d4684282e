/* SPDX-License-Identifier: MIT */
/* From an address to the function that holds it.
 * Which images there are is images.h's; how a line of text is made of it is format.h's. */
#ifndef UNSPOOL_SYMBOLIZE_H
#define UNSPOOL_SYMBOLIZE_H

#include <unspool/base.h>
#include <unspool/images.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Opaque; for one list of images. Many threads may use one at a time. */
struct usp_symbolizer;

struct usp_symbolizer_options {
    uint32_t size; /* of this struct in bytes; set by usp_symbolizer_options_init */
    uint32_t reserved0;
    const char *program; /* the file of the image that is flagged USP_IMAGE_MAIN, tried first. Default NULL */
    const char *sysroot; /* a folder below which the images' paths are looked for next. Default NULL */
    const char *folder;  /* a folder in which they are looked for by their last part, after their own paths have failed
                            (beside a core, in a cache of symbols). Default NULL */
    const struct usp_memory *memory; /* the target's memory, for images without a file. It must outlive the symbolizer.
                                        Default NULL; not used for this process, whose memory is at hand */
    uint64_t pac_mask;     /* of pointers in that memory, as in struct usp_target; 0 (default): found out by trying */
    usp_addr shared_cache; /* where that memory has Darwin's shared cache; 0 (default): not known, and Objective-C names
                              that are stored relative to it are left out */
    uint64_t reserved[4];
};

USP_API void usp_symbolizer_options_init(struct usp_symbolizer_options *options);

/* For a list of images, which must outlive the symbolizer; NULL: for this process as it is at each call.
 * options NULL: the defaults; its strings are copied. On success *symbolizer is the caller's to free. Returns USP_OK,
 * USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Not signal-safe. */
USP_API int usp_symbolizer_create(const struct usp_images *images, const struct usp_symbolizer_options *options,
                                  struct usp_symbolizer **symbolizer);

/* Frees it and all names it gave. NULL is ignored. */
USP_API void usp_symbolizer_free(struct usp_symbolizer *symbolizer);

enum usp_strategy {
    USP_STRATEGY_NONE = 0,
    USP_STRATEGY_DLADDR = 1,       /* the loader of this process */
    USP_STRATEGY_SYMTAB = 2,       /* a symbol table of the image's file or memory */
    USP_STRATEGY_OBJC_RUNTIME = 3, /* the Objective-C runtime of this process */
    USP_STRATEGY_OBJC_METADATA = 4 /* Objective-C metadata of the image's file or memory */
};

struct usp_symbol {
    const char *name;  /* valid until the symbolizer is freed, also after dlclose; NULL: no symbol holds the address */
    usp_addr start;    /* the symbol's address in the target */
    uint64_t offset;   /* address − start */
    uint64_t extent;   /* the symbol's size in bytes; 0 unknown */
    uint32_t strategy; /* enum usp_strategy: who named it */
    uint32_t reserved0;
    const char *image_path; /* the image that holds the address, NULL if none does; lifetime as name */
    usp_addr image_load;    /* its load address */
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size;
    uint32_t reserved1;
    const char *source_file; /* that the symbol was compiled from, as the compiler was called; NULL: not known (only a
                                Mach-O file's debug map tells); lifetime as name */
    uint64_t reserved[3];
};

/* Names an address: pass usp_frame_call_site(), not the return address. *symbol is written completely.
 * Returns USP_OK when a symbol holds the address, USP_ERROR_NOT_FOUND when none does (image_path may still be set: the
 * nearest symbol below is not an answer), USP_ERROR_NO_MEMORY. Thread-safe, not signal-safe. */
USP_API int usp_symbolize(struct usp_symbolizer *symbolizer, usp_addr address, struct usp_symbol *symbol);

USP_END_DECLS

#endif
