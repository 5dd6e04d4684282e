/* SPDX-License-Identifier: MIT */
/* From an address to the function that holds it.
 * Which images there are is images.h's; how a line of text is made of it is format.h's. */
#ifndef UNSPOOL_SYMBOLIZE_H
#define UNSPOOL_SYMBOLIZE_H

#include <unspool/base.h>
#include <unspool/images.h>
#include <unspool/snapshot.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Opaque; for one list of images. Many threads may use one at a time. */
struct usp_symbolizer;

/* A folder, and what is shown in its place for it and for all folders below it: where the sources are here. Slashes at the end of
 * both change nothing. */
struct usp_path_map {
    const char *from, *to; /* not NULL */
};

struct usp_symbolizer_options {
    uint32_t size; /* of this struct in bytes; set by usp_symbolizer_options_init */
    uint32_t reserved0;
    const char *program; /* the file of the image that is flagged USP_IMAGE_MAIN, tried first. Default NULL */
    const char *sysroot; /* a folder below which the images' paths are looked for next. Default NULL */
    const char *folder;  /* a folder in which they are looked for by their last part, after their own paths have failed
                            (beside a core, in a cache of symbols). Default NULL */
    uint64_t memory_limit; /* bytes that the indexes of all images may hold together; what was used least recently is
                               given up and made again when it is needed. One index is always kept. Default 0: no limit */
    int64_t process;       /* the live process that the list is of: files that were removed since are read through the
                               system, or from its memory. Default 0: none; without a list it is this process anyhow */
    const struct usp_memory *memory; /* the target's memory, for images without a file (the vdso of a core, system
                                        libraries of an iPhone). It must
                                        outlive the symbolizer. Default NULL */
    uint64_t pac_mask;     /* of pointers in that memory, as in struct usp_target; 0 (default): found out by trying */
    usp_addr shared_cache; /* where that memory has Darwin's shared cache; 0 (default): not known, and Objective-C names
                              that are stored relative to it are left out */
    const char *index_store; /* a folder of index files (`unspool index`), asked for lines, and for names where the
                                             image's file is not there. Default NULL */
    const struct usp_path_map *path_maps; /* for lines.h; the first that fits is used. Copied. Default NULL */
    uint32_t path_map_count;              /* how many. Default 0 */
    uint32_t
        inlined_limit; /* so many inlined calls are given for an address at most, the innermost ones. Default 0: all */
    int64_t
        recorded_process; /* the id of the process that the list was of, which has ended: a perf map and a jitdump with
                                 this id in their names are looked for in `folder` and in /tmp below `sysroot`. Default
                                 0: not known. Without effect where `process` is set */
    uint64_t reserved[1];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_symbolizer_options_init(struct usp_symbolizer_options *options);

/* For a list of images, which must outlive the symbolizer; NULL: for this process as it is at each call.
 * options NULL: the defaults; its strings are copied. On success *symbolizer is the caller's to free. Returns USP_OK,
 * USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Not async-signal-safe. */
USP_API int usp_symbolizer_create(const struct usp_images *images, const struct usp_symbolizer_options *options,
                                  struct usp_symbolizer **symbolizer);

/* For a snapshot, which must outlive the symbolizer: its images; its process, or the memory in its core and the process's id; where its shared
 * cache is; the program and the sysroot that its options named; and, for a core, the core's folder. What `options` sets counts
 * instead; NULL: the defaults. Otherwise as usp_symbolizer_create. Thread-safe, not async-signal-safe. */
USP_API int usp_symbolizer_create_for_snapshot(const struct usp_snapshot *snapshot,
                                               const struct usp_symbolizer_options *options,
                                               struct usp_symbolizer **symbolizer);

/* Frees it and all names it gave. NULL is ignored. No other call may use it any more. Not async-signal-safe. */
USP_API void usp_symbolizer_free(struct usp_symbolizer *symbolizer);

/* Gives back all memory, files and names, as if it were new: every name and path that it gave is invalid then. No other
 * call for the same symbolizer may be running. NULL is ignored. Not async-signal-safe. */
USP_API void usp_symbolizer_trim(struct usp_symbolizer *symbolizer);

struct usp_symbolizer_usage {
    uint32_t images; /* indexes held at the moment: one for each image, one for its Objective-C methods, and
                                  one of its functions' starts where the Objective-C runtime names what no symbol does */
    uint32_t reserved0;
    uint64_t symbols;          /* in these indexes: functions, each once; of an image of which few addresses have been
                                  asked for, those around them */
    uint64_t memory;           /* bytes that they hold beside the files; this is what memory_limit limits */
    uint64_t indexes_made;     /* since the symbolizer was created, the same image's again included, but not that the
                                  index of a part of it grew */
    uint64_t indexes_given_up; /* because of memory_limit */
    uint64_t reserved[4];
};

/* What a symbolizer holds. Returns USP_OK or USP_ERROR_ARGUMENT. Thread-safe, not async-signal-safe. */
USP_API int usp_symbolizer_get_usage(struct usp_symbolizer *symbolizer, struct usp_symbolizer_usage *usage);

enum usp_strategy {
    USP_STRATEGY_NONE = 0,
    USP_STRATEGY_DLADDR = 1,        /* the loader of this process */
    USP_STRATEGY_SYMTAB = 2,        /* a symbol table of the image's file or memory */
    USP_STRATEGY_OBJC_RUNTIME = 3,  /* the Objective-C runtime of this process */
    USP_STRATEGY_OBJC_METADATA = 4, /* Objective-C metadata of the image's file or memory */
    USP_STRATEGY_DEBUG_INFO = 5,    /* debug information, or an index of it; never for usp_symbolize (see lines.h) */
    /* The next three name generated code, which no image holds. */
    USP_STRATEGY_PERF_MAP = 6, /* /tmp/perf-PID.map, which the program writes */
    USP_STRATEGY_JITDUMP = 7,  /* jit-PID.dump, likewise */
    USP_STRATEGY_GDB_JIT = 8   /* objects in the program's memory (the GDB JIT interface) */
};

/* Its name as JSON has it: "dladdr", "symtab", "objc-runtime", "objc-metadata", "debug-info", "perf-map",
 * "jitdump", "gdb-jit"; "none" otherwise. Static lifetime.
 * Async-signal-safe, thread-safe. */
USP_API const char *usp_strategy_string(uint32_t strategy);

struct usp_symbol {
    const char *name;  /* valid until the symbolizer is freed or trimmed, also after dlclose; NULL: no symbol holds the
                          address */
    usp_addr start;    /* the symbol's address in the target */
    uint64_t offset;   /* address − start */
    uint64_t extent;   /* the symbol's size in bytes; 0 unknown */
    uint32_t strategy; /* enum usp_strategy: what named it */
    uint32_t reserved0;
    /* The image that holds the address (of a section of an unlinked object: the object), NULL if none does; lifetime as
     * name. */
    const char *image_path;
    usp_addr image_load; /* its load address */
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size;
    uint32_t reserved1;
    const char *source_file; /* that the symbol was compiled from, as the compiler was called; NULL: not known (only a
                                Mach-O file's debug map tells); lifetime as name */
    uint64_t reserved[3];
};

/* Names an address: pass usp_frame_call_site(), not the return address. *symbol is written completely.
 * Returns USP_OK when a symbol holds the address, USP_ERROR_NOT_FOUND when none does (image_path may still be set: the
 * nearest symbol below is not an answer), USP_ERROR_NO_MEMORY. An address in no image is looked for in generated code: then
 * image_path is NULL and `strategy` says what named it. Thread-safe, not async-signal-safe. */
USP_API int usp_symbolize(struct usp_symbolizer *symbolizer, usp_addr address, struct usp_symbol *symbol);

/* Names a frame: looks up usp_frame_call_site() of it, so that a caller need not know which addresses have to be adjusted.
 * symbol->offset counts from the call site. Otherwise as usp_symbolize. Thread-safe, not async-signal-safe. */
USP_API int usp_symbolize_frame(struct usp_symbolizer *symbolizer, uint32_t arch, const struct usp_frame *frame,
                                struct usp_symbol *symbol);

/* Names an address in an image of the caller's: one that was unloaded since, or that another list has at other addresses. Only
 * an image that is also in the symbolizer's own list, at the same address, is asked in memory and through the loader;
 * otherwise its file is, which is found by path and must have its build-id. *symbol and the result as for usp_symbolize;
 * USP_ERROR_NOT_FOUND also when the address lies outside of the image. Thread-safe, not async-signal-safe. */
USP_API int usp_symbolize_image(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                                struct usp_symbol *symbol);

/* Called for a function; *symbol is valid during the call only, its strings as after usp_symbolize. Not 0: no more. */
typedef int (*usp_symbol_visitor)(void *context, const struct usp_symbol *symbol);

/* Every function that usp_symbolize can name in the image that holds `address` (its load address, for one), by ascending
 * start: as usp_symbolize describes the first byte of each, but where no size is known the extent reaches to where the next
 * function begins or the section ends. A function inside another one is listed as well. What only the Objective-C runtime or
 * the loader of this process knows is not listed. Returns USP_OK, what `visit` returned to end it, USP_ERROR_NOT_FOUND when
 * there is no such image or nothing that could name its code, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. `visit` may call
 * usp_symbolize. Thread-safe, not async-signal-safe. */
USP_API int usp_symbolizer_visit(struct usp_symbolizer *symbolizer, usp_addr address, usp_symbol_visitor visit,
                                 void *context);

USP_END_DECLS

#endif
