/* SPDX-License-Identifier: MIT */
/* The images (programs, libraries, the vdso) that are loaded in this process, another one or a core, that lie in a file, or
 * that a crash report or a server's records name, as one sorted list.
 * What stands inside an image, its symbols, is symbolize.h's. */
#ifndef UNSPOOL_IMAGES_H
#define UNSPOOL_IMAGES_H

#include <unspool/base.h>

USP_BEGIN_DECLS

/* Opaque, immutable once made; any number of threads may read one. */
struct usp_images;

enum usp_image_flags {
    USP_IMAGE_MAIN = 1 << 0,       /* the program itself */
    USP_IMAGE_KERNEL = 1 << 1,     /* the vdso: in memory only, no file */
    USP_IMAGE_DELETED = 1 << 2,    /* its file was replaced or removed since it was mapped */
    USP_IMAGE_MACHO = 1 << 3,      /* Mach-O; otherwise ELF */
    USP_IMAGE_LOADER = 1 << 4,     /* the dynamic loader: dyld, ld.so */
    USP_IMAGE_PERMANENT = 1 << 5,  /* this process: it is known that the image stays loaded until the process ends */
    USP_IMAGE_TEXT_OFFSET = 1 << 6 /* an ELF file that has its code: text_offset counts */
};

#define USP_BUILD_ID_MAX 32

struct usp_image {
    const char *path;      /* as the loader or the mapping names it; "" if it has none. Lives as long as its list */
    usp_addr load_address; /* of its first byte (the header): what offsets are counted from */
    usp_addr text_low;     /* the executable range: inclusive, */
    usp_addr text_high;    /* exclusive */
    usp_addr end;          /* behind the last mapped byte */
    uint64_t slide;        /* load address − the address it was linked for, modulo 2^64 */
    uint32_t arch;         /* enum usp_arch, 0 unknown */
    uint32_t flags;        /* enum usp_image_flags */
    uint8_t build_id[USP_BUILD_ID_MAX]; /* ELF build-id (cut at 32 bytes) or Mach-O UUID (16) */
    uint32_t build_id_size;             /* in bytes; 0: it has none or it could not be read */
    uint32_t section;       /* of an unlinked ELF object: the number of the section that it is. Otherwise 0 */
    uint64_t member_offset; /* a member of an archive: where its header is in the archive's file. Otherwise 0 */
    uint64_t text_offset;   /* with USP_IMAGE_TEXT_OFFSET: where text_low is in the image's file. Otherwise 0 */
    uint32_t variant;       /* enum usp_variant; USP_VARIANT_NONE: not known, or not Mach-O */
    uint32_t reserved0;
    uint64_t reserved[1];
};

/* This process, as it is now. On success *images is the caller's to free. Returns USP_OK, USP_ERROR_NO_MEMORY,
 * USP_ERROR_UNSUPPORTED, USP_ERROR_SYSTEM when the system lets nothing be read, USP_ERROR_BUSY when libraries come and go
 * without a pause. Waits for no lock of the loader's. Thread-safe, not async-signal-safe. */
USP_API int usp_images_create_self(struct usp_images **images);

/* Another process. USP_OK, USP_ERROR_NO_THREAD, USP_ERROR_PERMISSION, USP_ERROR_NO_MEMORY, USP_ERROR_UNSUPPORTED,
 * USP_ERROR_SYSTEM, USP_ERROR_BUSY while its loader changes the list (try again). Not async-signal-safe. */
USP_API int usp_images_create_process(int64_t pid, struct usp_images **images);

/* A list of images that were recorded elsewhere: by a crash report, by a server. The entries, paths included (NULL: ""), are copied and
 * sorted; every field is the caller's, and a symbolizer for the list looks for files as for those of a core. text_low and
 * text_high may both be 0: not known. An image whose end is its load address holds no address. On success *images is the
 * caller's to free. Returns USP_OK, USP_ERROR_NO_MEMORY, and USP_ERROR_ARGUMENT when two images overlap or an entry is none
 * that there can be: an end below the load address, text outside of the image, a build-id longer than USP_BUILD_ID_MAX, an
 * unknown processor, variant or flag. Thread-safe, not async-signal-safe. */
USP_API int usp_images_create(const struct usp_image *entries, size_t count, struct usp_images **images);

enum usp_image_file_flags {
    USP_IMAGE_FILE_LOADED = 1 << 0, /* load_address counts */
    USP_IMAGE_FILE_LINKED = 1 << 1, /* archives and unlinked objects are refused, */
    USP_IMAGE_FILE_NAMED = 1 << 2   /* and images whose tables of names are damaged or cut off */
};

struct usp_image_file_options {
    uint32_t size;          /* of this struct in bytes; set by usp_image_file_options_init */
    uint32_t arch;          /* enum usp_arch: only images of this processor. Default USP_ARCH_NONE: of any */
    uint32_t flags;         /* enum usp_image_file_flags. Default 0 */
    uint32_t build_id_size; /* bytes of build_id. Default 0: any build */
    uint8_t build_id[USP_BUILD_ID_MAX]; /* only the image with this build-id or UUID, whatever arch and variant say */
    usp_addr load_address; /* with USP_IMAGE_FILE_LOADED: where it lies. Otherwise where it was linked for */
    uint32_t variant;      /* enum usp_variant: only images of this variant. Default USP_VARIANT_NONE: of any */
    uint32_t reserved0;
    uint64_t reserved[3];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_image_file_options_init(struct usp_image_file_options *options);

/* The images in a file: the one of an ELF file or a thin Mach-O file, or one for each slice of a fat file; `path` may also
 * be a dSYM bundle, whose images then have the path of the file in it.
 *
 * What is not linked has no addresses but its own. A Mach-O object is one image, which counts from 0. An ELF object is one
 * image for each section with code, which counts from the section's beginning; its path ends in ":(SECTION)" when there
 * are several. An archive has the images of its members, with the path "ARCHIVE(MEMBER)"; so has a fat file of archives.
 * `path` may be one of these as well: libx.a(m.o), x.o:(.text.f), libx.a(m.o):(.text.f); libx.a(m.o at 68), where several
 * members have a name, is the one with that member_offset.
 *
 * Slices, members and sections overlap: pick one by the options or the path to look addresses up. Slices and members that
 * are damaged or no object files are left out as long as another one is wanted and whole. A symbolizer makes do with what a
 * damaged table of names still says, and does not report the damage; USP_IMAGE_FILE_NAMED here makes it do so.
 * options NULL: the defaults. On success *images is the caller's to free. `error` (may be NULL, `error_size` bytes)
 * receives a sentence on failure, with the file, the offset and what is wrong.
 * Returns USP_OK, USP_ERROR_ARGUMENT (also when the image does not fit behind load_address), USP_ERROR_NOT_FOUND (no such
 * file), USP_ERROR_MISMATCH (none of its images is of that build or processor; the sentence lists those that there are; or
 * it has no such member or section), USP_ERROR_UNSUPPORTED (a core, a thin archive, an archive in an archive, what
 * USP_IMAGE_FILE_LINKED refuses, big-endian), USP_ERROR_FORMAT, USP_ERROR_TRUNCATED, USP_ERROR_PERMISSION,
 * USP_ERROR_SYSTEM, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe. */
USP_API int usp_images_open(const char *path, const struct usp_image_file_options *options, struct usp_images **images,
                            char *error, size_t error_size);

/* ---- this process, kept up to date ----
 *
 * The library keeps one list of this process's images, with their unwind tables, for captures, snapshots, symbolizers and
 * tables of stacks. usp_prepare makes it. When something was loaded or unloaded since, usp_capture_thread,
 * usp_stack_create, usp_snapshot_create_self, usp_symbolize, usp_stack_table_add and the functions below that are not
 * async-signal-safe make it anew, before they do anything else. A function that is async-signal-safe uses the list that was
 * made last. */

/* Makes the list now, if something was loaded or unloaded since: before a signal handler may need it, or, without
 * usp_prepare, so that captures of the calling thread have unwind tables. Returns USP_OK, USP_ERROR_NO_MEMORY,
 * USP_ERROR_UNSUPPORTED, USP_ERROR_SYSTEM, or USP_ERROR_BUSY when 63 older lists are still held, or libraries come and go
 * without a pause; on failure the last list stays. Thread-safe, not async-signal-safe. */
USP_API int usp_images_refresh(void);

/* The list that was made last, NULL before the first and after usp_shutdown. It stays until usp_images_release gets the same
 * *ticket, on this thread or another one; what is unloaded meanwhile is still in it. A list that is held keeps no other one
 * alive, but there can be no more than 64. Both are async-signal-safe, and may be called while another thread makes the
 * next list. */
USP_API const struct usp_images *usp_images_acquire(uint32_t *ticket);
USP_API void usp_images_release(uint32_t ticket);

/* The image of this process that holds an address at this moment. On Apple systems out of the loader's own list
 * (dyld_all_image_infos), so that an image is found that was loaded since the list was made; elsewhere, and while the loader
 * changes its list, out of the list that usp_images_acquire gives.
 *   path  `path_size` bytes for its path, cut to fit; image->path becomes `path`
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NOT_FOUND when none is known to be there, USP_ERROR_BUSY when only the list
 * that is being changed could tell. Takes no lock and allocates nothing; thread-safe, async-signal-safe. */
USP_API int usp_image_at(usp_addr address, struct usp_image *image, char *path, size_t path_size);

/* A number that tells lists of this process's images apart: what was made of one can be kept as long as the number stays. 0
 * where there is no list. Makes the list anew when something was loaded or unloaded since.
 * Thread-safe, not async-signal-safe. */
USP_API uint64_t usp_images_generation(void);

/* Frees a list; NULL is ignored. Lists that belong to a snapshot are freed with it, never with this. No other call may
 * use it any more. Not async-signal-safe. */
USP_API void usp_images_free(struct usp_images *images);

/* How many, and the i-th by load address (NULL behind the end); the entries live as long as the list.
 * Async-signal-safe. */
USP_API size_t usp_images_count(const struct usp_images *images);
USP_API const struct usp_image *usp_images_get(const struct usp_images *images, size_t i);

/* The image that holds an address (load_address … end), NULL if none does. Binary search. Async-signal-safe. */
USP_API const struct usp_image *usp_images_find(const struct usp_images *images, usp_addr address);

/* The file in which Apple's systems keep their own libraries, as it is mapped: its UUID tells which one it was. */
struct usp_shared_cache {
    usp_addr base;    /* of its first byte */
    uint64_t slide;   /* base − the address it was made for */
    uint8_t uuid[16]; /* all 0: unknown */
    uint64_t reserved[2];
};

/* The shared cache of the process whose images these are. Returns USP_OK, USP_ERROR_NOT_FOUND when it has none or that is
 * not known (then *cache is cleared; always so for systems other than Apple's), USP_ERROR_ARGUMENT.
 * Async-signal-safe. */
USP_API int usp_images_shared_cache(const struct usp_images *images, struct usp_shared_cache *cache);

USP_END_DECLS

#endif
