/* SPDX-License-Identifier: MIT */
/* Reads one file of a dyld shared cache, the container of Apple's system libraries: its header, mappings, lists of
 * images and of further files, and its local symbols. Everything is read on demand and unchanged. lib/images/ opens
 * the files of a cache and puts them together.
 *
 * Source of all layouts: dyld include/mach-o/dyld_cache_format.h; of the rule below common/DyldSharedCache.cpp. A
 * header has a field if the field's end is not above mappingOffset, because the table of mappings follows the header.
 * Functions return USP_OK or a negative enum usp_status with *error written. */
#ifndef USPI_OBJECT_DYLD_CACHE_H
#define USPI_OBJECT_DYLD_CACHE_H

#include "lib/object/bytes.h"

/* dyld makes at most 8 (dyld/SharedCacheRuntime.cpp). */
#define USPI_DYLD_MAPPINGS 16

/* dyld makes fewer than 128 (dyld/SharedCacheRuntime.cpp). */
#define USPI_DYLD_FILES 256

/* A limit for the number of images; caches of 2026 have fewer than 4,000. */
#define USPI_DYLD_IMAGES 16384u

/* Room for a file's suffix with its NUL. */
#define USPI_DYLD_SUFFIX 33

enum uspi_dyld_mapping_flags {
    USPI_DYLD_STUBS = 8,     /* only stubs of calls into other images */
    USPI_DYLD_DYNAMIC = 0x10 /* the file has no bytes of it */
};

struct uspi_dyld_mapping {
    usp_addr address;
    uint64_t size, file_offset;
    uint64_t slide_offset, slide_size; /* the slide information, in the same file; size 0: none */
    uint64_t flags;                    /* enum uspi_dyld_mapping_flags */
};

/* A table of the file. */
struct uspi_dyld_table {
    uint64_t offset, count;
};

struct uspi_dyld_header {
    struct uspi_bytes bytes; /* the file */
    uint64_t size;           /* of the header in bytes: mappingOffset */
    uint8_t uuid[16];        /* all 0: the header has none */
    uint32_t platform;       /* enum uspi_macho_platform; 0: not known */
    struct uspi_dyld_mapping mappings[USPI_DYLD_MAPPINGS];
    uint32_t mapping_count;
    struct uspi_dyld_table images, texts, files, branch_pools;
    uint64_t locals_offset;   /* of the local symbols; 0: none */
    uint64_t objc_options;    /* from the cache's base; 0: none */
    uint8_t symbols_uuid[16]; /* of the file with local symbols; all 0: there is none */
};

/* Returns whether the bytes begin like a file of a cache, of any architecture. */
bool uspi_dyld_is_cache(struct uspi_bytes bytes);

/* Returns whether the bytes begin like a file of Rosetta's translated system libraries (aot_shared_cache), which lies
 * beside the caches of macOS; and what a message says of it. */
bool uspi_dyld_is_rosetta(struct uspi_bytes bytes);
#define USPI_DYLD_ROSETTA                                                                                              \
    "Rosetta's translation of a dyld shared cache, which has no names: give dyld_shared_cache_x86_64 beside it"

/* Reads a file's header and mappings. Mappings that wrap around are refused with USP_ERROR_FORMAT. The files' sizes are
 * not compared with the mappings. */
int uspi_dyld_open(struct uspi_dyld_header *header, struct uspi_bytes bytes, struct uspi_error *error);

struct uspi_dyld_image {
    usp_addr address;   /* of its Mach-O header */
    uint64_t text_size; /* of its __TEXT in bytes; 0: not known */
    uint64_t path;      /* offset of its NUL-terminated path in the file */
    uint8_t uuid[16];   /* all 0: not known */
};

/* Returns how many images the file lists. */
uint64_t uspi_dyld_image_count(const struct uspi_dyld_header *header);

/* Reads image i, which is below that number. Old caches list aliases: several paths at one address. */
int uspi_dyld_image(const struct uspi_dyld_header *header, uint64_t i, struct uspi_dyld_image *image,
                    struct uspi_error *error);

/* Another file of the cache. */
struct uspi_dyld_part {
    uint8_t uuid[16];
    char suffix[USPI_DYLD_SUFFIX]; /* what its name has after the main file's: ".1", ".02.dylddata" */
};

/* Reads entry i of the list of further files. USP_ERROR_FORMAT when its suffix is none, so that it may lead to a file
 * of another folder or to the main file. */
int uspi_dyld_part(const struct uspi_dyld_header *header, uint64_t i, struct uspi_dyld_part *part,
                   struct uspi_error *error);

/* The local symbols of one image: entries and names as in a Mach-O symbol table. */
struct uspi_dyld_locals {
    struct uspi_bytes entries, strings;
    uint64_t count;
};

/* Finds the local symbols of the image whose header is `offset` bytes from the cache's base. `wide`: the image has 64
 * bits. USP_ERROR_NOT_FOUND when the file has none for it. */
int uspi_dyld_locals(const struct uspi_dyld_header *header, uint64_t offset, bool wide, struct uspi_dyld_locals *locals,
                     struct uspi_error *error);

/* Checks that the file has the tables of local symbols whole. USP_ERROR_NOT_FOUND when it has none. */
int uspi_dyld_check_locals(const struct uspi_dyld_header *header, bool wide, struct uspi_error *error);

/* ---- pointers ---- */

/* A cache on disk keeps its pointers in a packed form, with a chain through the pointers of each page. */
struct uspi_dyld_slide {
    struct uspi_bytes info;       /* the slide information; size 0: pointers are as they are */
    uint32_t version;             /* 2 to 5 */
    uint32_t page_size;           /* in bytes: a power of two from 256 to 16 K */
    uint64_t starts, start_count; /* the table of the pages' first pointers */
    uint64_t extras, extra_count; /* version 2 and 4 */
    uint64_t delta_mask, value_add;
};

/* Reads the header of a mapping's slide information. Versions that do not change pointers on disk (1), and those that
 * are not known, give info.size 0. */
int uspi_dyld_slide(const struct uspi_dyld_header *header, const struct uspi_dyld_mapping *mapping,
                    struct uspi_dyld_slide *slide, struct uspi_error *error);

/* Replaces the pointers in one page by the addresses that they stand for, without signatures. page: its number in the
 * mapping; `n`: its bytes in `at`, fewer in the last page. A chain that leaves the page or does not end is followed as
 * far as it is valid. */
void uspi_dyld_rebase_page(const struct uspi_dyld_slide *slide, uint64_t page, uint8_t *at, size_t n);

#endif
