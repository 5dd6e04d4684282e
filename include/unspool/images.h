/* SPDX-License-Identifier: MIT */
/* Sorted lists of images (programs, libraries, the vdso). Images may be loaded in this process, another process or a
 * core, be in a file, or be recorded in a crash report or by a server. Symbols inside an image are in symbolize.h. */
#ifndef UNSPOOL_IMAGES_H
#define UNSPOOL_IMAGES_H

#include <unspool/base.h>

USP_BEGIN_DECLS

/* Opaque, immutable once made. Any number of threads may read one. */
struct usp_images;

enum usp_image_flags {
    USP_IMAGE_MAIN = 1 << 0,       /* the program */
    USP_IMAGE_KERNEL = 1 << 1,     /* the vdso: in memory only, without a file */
    USP_IMAGE_DELETED = 1 << 2,    /* its file was replaced or removed after it was mapped */
    USP_IMAGE_MACHO = 1 << 3,      /* Mach-O; otherwise ELF */
    USP_IMAGE_LOADER = 1 << 4,     /* the dynamic loader: dyld, ld.so */
    USP_IMAGE_PERMANENT = 1 << 5,  /* this process: the image is known to stay loaded until the process ends */
    USP_IMAGE_TEXT_OFFSET = 1 << 6 /* text_offset is valid: an ELF image whose file has its code */
};

#define USP_BUILD_ID_MAX 32

struct usp_image {
    const char *path;      /* as the loader or the mapping names it; "" if it has none. Valid as long as the list */
    usp_addr load_address; /* of the first byte (the header); offsets count from it */
    usp_addr text_low;     /* first address of the executable range */
    usp_addr text_high;    /* first address past the executable range */
    usp_addr end;          /* first address past the last mapped byte */
    uint64_t slide;        /* load address − the address it was linked for, modulo 2^64 */
    uint32_t arch;         /* enum usp_arch, 0 unknown */
    uint32_t flags;        /* enum usp_image_flags */
    uint8_t build_id[USP_BUILD_ID_MAX]; /* ELF build-id (cut at 32 bytes) or Mach-O UUID (16) */
    uint32_t build_id_size;             /* in bytes; 0: the image has none, or it could not be read */
    uint32_t section;                   /* the section's number in an unlinked ELF object; otherwise 0 */
    uint64_t member_offset; /* for a member of an archive: offset of its header in the archive's file; otherwise 0 */
    uint64_t text_offset;   /* with USP_IMAGE_TEXT_OFFSET: offset of text_low in the image's file; otherwise 0 */
    uint32_t variant;       /* enum usp_variant; USP_VARIANT_NONE: not known, or not Mach-O */
    uint32_t reserved0;
    /* The largest range between two segments that contains nothing of the image: its offset from load_address; 0 if
     * there is none. Other memory may be mapped there: the kernel leaves such a range free when it loads a program and
     * its loader for pages of 64 KB (arm64). */
    uint32_t hole_offset;
    uint32_t hole_size; /* the size of that range in bytes; 0 if there is none */
};

/* Lists the images of this process as it is now. On success the caller frees *images. Returns USP_OK,
 * USP_ERROR_NO_MEMORY, USP_ERROR_UNSUPPORTED, USP_ERROR_SYSTEM when the system denies reading the list, USP_ERROR_BUSY
 * when libraries are loaded and unloaded without a pause. Does not wait for the loader's locks. Thread-safe, not
 * async-signal-safe: it allocates; it reads the loader's list as memory and does not wait for its locks. */
USP_API int usp_images_create_self(struct usp_images **images);

/* Lists the images of another process. On success the caller frees *images. On failure `error` (may be NULL,
 * `error_size` bytes) receives a sentence that says why, as from usp_snapshot_create_process; on success it is empty.
 * Returns USP_OK, USP_ERROR_NO_THREAD when there is no such process (a thread's id is not a process's),
 * USP_ERROR_PERMISSION, USP_ERROR_NO_MEMORY, USP_ERROR_UNSUPPORTED (Linux: also for a thread of the kernel, and without
 * /proc), USP_ERROR_SYSTEM, or USP_ERROR_BUSY while its loader changes the list (try again). Not async-signal-safe: it
 * allocates. */
USP_API int usp_images_create_process(int64_t pid, struct usp_images **images, char *error, size_t error_size);

/* Makes a list from recorded images, such as those of a crash report or a server's records. The entries and their paths
 * (NULL: "") are copied and sorted. The caller sets every field. A symbolizer for the list looks for files as it does
 * for a core. text_low and text_high may both be 0: not known. An image whose end equals its load address contains no
 * address. On success the caller frees *images.
 *
 * Returns USP_OK, USP_ERROR_NO_MEMORY, or USP_ERROR_ARGUMENT when two images overlap or an entry is invalid: an end
 * below the load address, text or a hole outside the image, a build id longer than USP_BUILD_ID_MAX, an unknown
 * processor, variant or flag. Thread-safe, not async-signal-safe: it allocates. */
USP_API int usp_images_create(const struct usp_image *entries, size_t count, struct usp_images **images);

enum usp_image_file_flags {
    USP_IMAGE_FILE_LOADED = 1 << 0, /* load_address is valid */
    USP_IMAGE_FILE_LINKED = 1 << 1, /* archives and unlinked objects are refused */
    USP_IMAGE_FILE_NAMED = 1 << 2   /* images with damaged or truncated symbol tables are refused */
};

struct usp_image_file_options {
    uint32_t size;          /* size of this struct in bytes; set by usp_image_file_options_init */
    uint32_t arch;          /* enum usp_arch: only images of this processor. Default USP_ARCH_NONE: any */
    uint32_t flags;         /* enum usp_image_file_flags. Default 0 */
    uint32_t build_id_size; /* bytes of build_id. Default 0: any build */
    /* only the image with this build id or UUID, whatever `arch` and `variant` are */
    uint8_t build_id[USP_BUILD_ID_MAX];
    /* with USP_IMAGE_FILE_LOADED: the image's load address; otherwise the linked address is used */
    usp_addr load_address;
    uint32_t variant; /* enum usp_variant: only images of this variant. Default USP_VARIANT_NONE: any */
    uint32_t reserved0;
    uint64_t reserved[3];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_image_file_options_init(struct usp_image_file_options *options);

/* Lists the images in a file: the image of an ELF file or thin Mach-O file, or one for each slice of a fat file. `path`
 * may also be a dSYM bundle. Its images are those of all files inside it, and have the files' paths.
 *
 * Unlinked files have no load addresses:
 *   - A Mach-O object is one image, whose addresses begin at 0.
 *   - An ELF object has one image for each section with code, whose addresses begin at the section's start. If there
 *     are several, their paths end in ":(SECTION)".
 *   - An archive, or a fat file of archives, has the images of its members, with the path "ARCHIVE(MEMBER)".
 * `path` may name one of these: libx.a(m.o), x.o:(.text.f), libx.a(m.o):(.text.f). When several members have the same
 * name, libx.a(m.o at 68) is the one with that member_offset. A file that really has such a name takes precedence.
 *
 * Slices, members and sections overlap: before looking addresses up, select one by the options or the path. Damaged
 * slices and members, and members that are not object files, are left out as long as another matching one is intact. A
 * symbolizer uses the valid part of a damaged symbol table and does not report the damage; set USP_IMAGE_FILE_NAMED to
 * have it reported here.
 *
 * options NULL: the defaults. A GSYM file or a text file of Breakpad symbols has the image that its symbols belong to;
 * GSYM does not record the processor (USP_ARCH_NONE). A fat file with more than 64 slices or with slices that overlap
 * is refused with USP_ERROR_FORMAT, and so is a damaged archive. On success the caller frees *images. On failure
 * `error` (may be NULL, `error_size` bytes) receives a sentence with the file, the offset and what is wrong. Returns
 *   USP_OK, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM, USP_ERROR_NO_MEMORY
 *   USP_ERROR_ARGUMENT     also when the image does not fit above load_address
 *   USP_ERROR_NOT_FOUND    there is no such file
 *   USP_ERROR_MISMATCH     no image has this build or processor (the sentence lists those that exist), or there is no
 *                          such member or section
 *   USP_ERROR_UNSUPPORTED  a core, a thin archive, a nested archive, a big-endian file, or one that
 *                          USP_IMAGE_FILE_LINKED refuses
 *   USP_ERROR_FORMAT, USP_ERROR_TRUNCATED
 * Thread-safe, not async-signal-safe: it opens files and allocates. */
USP_API int usp_images_open(const char *path, const struct usp_image_file_options *options, struct usp_images **images,
                            char *error, size_t error_size);

/* ---- this process, kept up to date ----
 *
 * The library keeps one list of this process's images and their unwind tables, for captures, snapshots, symbolizers
 * and stack tables. usp_prepare makes it. If images were loaded or unloaded since, usp_capture_thread,
 * usp_stack_create, usp_snapshot_create_self, usp_symbolize, usp_stack_table_add and those functions below that are
 * not async-signal-safe first update the list. Async-signal-safe functions use the last list. All work in a child that
 * was forked while another thread was in one of them. */

/* Updates the list if images were loaded or unloaded since. Call it before a signal handler may need the list, or,
 * without usp_prepare, so that captures of the calling thread have unwind tables. Returns USP_OK, USP_ERROR_NO_MEMORY,
 * USP_ERROR_UNSUPPORTED, USP_ERROR_SYSTEM, or USP_ERROR_BUSY when 63 older lists are still held, or libraries are
 * loaded and unloaded without a pause. On failure the last list stays. Thread-safe, not async-signal-safe: it
 * allocates; it reads the loader's list as memory and does not wait for its locks. */
USP_API int usp_images_refresh(void);

/* usp_images_acquire returns the last list; NULL before the first one and after usp_shutdown. The list stays valid
 * until usp_images_release gets the same *ticket, from any thread. It still contains images that are unloaded
 * meanwhile. Holding a list keeps no other list alive, but at most 64 lists can exist. Both may be called while another
 * thread makes the next list. Async-signal-safe. */
USP_API const struct usp_images *usp_images_acquire(uint32_t *ticket);
USP_API void usp_images_release(uint32_t ticket);

/* Finds the image of this process that contains an address now. On Apple systems it searches the loader's own list
 * (dyld_all_image_infos), and so finds images that were loaded after the library's list was made. On other systems,
 * and while the loader changes its list, it searches the list of usp_images_acquire.
 *   path  buffer of `path_size` bytes for the image's path, which is cut to fit; image->path becomes `path`
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NOT_FOUND when no known image is there, USP_ERROR_BUSY when only the
 * list that is being changed could tell. Takes no lock and allocates nothing. Thread-safe, async-signal-safe. */
USP_API int usp_image_at(usp_addr address, struct usp_image *image, char *path, size_t path_size);

/* Returns a number that identifies the current list of this process's images. Data derived from the list stays valid as
 * long as the number is the same. 0: there is no list. Updates the list if images were loaded or unloaded since.
 * Thread-safe, not async-signal-safe: it allocates; it reads the loader's list as memory and does not wait for its
 * locks. */
USP_API uint64_t usp_images_generation(void);

/* Frees a list. NULL is ignored. Do not pass lists that belong to a snapshot; they are freed with it. Not
 * async-signal-safe: it frees memory. */
USP_API void usp_images_free(struct usp_images *images);

/* The number of images, and the i-th image by load address (NULL past the end). The entries live as long as the list.
 * Async-signal-safe. */
USP_API size_t usp_images_count(const struct usp_images *images);
USP_API const struct usp_image *usp_images_get(const struct usp_images *images, size_t i);

/* Returns the image that contains an address (load_address … end, except for its hole), or NULL. Binary search.
 * Async-signal-safe. */
USP_API const struct usp_image *usp_images_find(const struct usp_images *images, usp_addr address);

/* Apple's shared cache: the file that contains the system's own libraries, as it is mapped. */
struct usp_shared_cache {
    usp_addr base;    /* of the first byte */
    uint64_t slide;   /* base − the address that it was linked for */
    uint8_t uuid[16]; /* all 0: unknown */
    uint64_t reserved[2];
};

/* Gives the shared cache of the process that the images belong to. Returns USP_OK, USP_ERROR_ARGUMENT, or
 * USP_ERROR_NOT_FOUND when it has none or it is not known, which is always so on other systems than Apple's; *cache is
 * then cleared. Async-signal-safe. */
USP_API int usp_images_shared_cache(const struct usp_images *images, struct usp_shared_cache *cache);

USP_END_DECLS

#endif
