/* SPDX-License-Identifier: MIT */
/* Symbolicates addresses: finds the function that holds an address. Lists of images are in images.h, formatting is in
 * format.h. */
#ifndef UNSPOOL_SYMBOLIZE_H
#define UNSPOOL_SYMBOLIZE_H

#include <unspool/base.h>
#include <unspool/dyld_caches.h>
#include <unspool/images.h>
#include <unspool/snapshot.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Opaque, for one list of images. Many threads may use one at the same time.
 *
 * The file of an image is opened, and its symbols are sorted, at the first look-up of an address in it; threads that
 * need the same file wait for the one that opens it. A file is used only when its build id is the image's. An image
 * without a build id gets its names from a file without one, unless its own file is known to have been replaced. When
 * the file itself has no symbol table, the symbolizer searches, in this order:
 *   - /usr/lib/debug/.build-id, by the build id
 *   - the file that .gnu_debuglink names, beside the file, in .debug beside it, and below /usr/lib/debug; the checksum
 *     must match
 *   - the file's own .gnu_debugdata
 *   - Go's function table (.gopclntab)
 * The symbols of a Mach-O image are also searched for in its dSYM bundle: beside the file or the application's bundle
 * (NAME.dSYM, NAME.app.dSYM), in usp_symbolizer_options.folder, or given as `program`. */
struct usp_symbolizer;

/* Replaces a folder in source paths, for the folder itself and everything below it: maps recorded paths to where the
 * sources are here. Trailing slashes are ignored. */
struct usp_path_map {
    const char *from, *to; /* not NULL */
};

struct usp_symbolizer_options {
    uint32_t size; /* size of this struct in bytes; set by usp_symbolizer_options_init */
    uint32_t reserved0;
    const char *program; /* file of the image with the flag USP_IMAGE_MAIN, tried first. Default NULL */
    /* Folder below which the images' paths are searched for next. Links in a path below it are resolved as if it was the
     * root of all files. Default NULL. */
    const char *sysroot;
    /* Folder in which images are searched for by their file names, after their own paths have failed (such as the
     * folder of a core, or a symbol cache). Default NULL. */
    const char *folder;
    /* Limit for the indexes of all images, in bytes; an index takes 8 bytes for each function. The least recently used
     * index is discarded, and rebuilt when it is needed; names stay valid. One index is always kept. Default 0: no
     * limit. */
    uint64_t memory_limit;
    /* The live process that the list belongs to. Files that were removed since are read through the system or from its
     * memory. Linux: the files of a process with another root or mount namespace are opened below its root, or below
     * `sysroot` if that is set, and never outside. Default 0: none; without a list, it is this process. */
    int64_t process;
    /* The target's memory, for images without a file (the vdso of a core, system libraries of an iPhone). Exported
     * symbols are read there, and for Mach-O images also other symbols and Objective-C methods. It must outlive the
     * symbolizer. Default NULL. */
    const struct usp_memory *memory;
    /* Mask of pointer signatures in that memory, as in struct usp_target; 0 (default): determined by trying. */
    uint64_t pac_mask;
    /* Address of Darwin's shared cache in that memory. 0 (default): not known; Objective-C names that are stored
     * relative to it are left out. */
    usp_addr shared_cache;
    /* A folder of index files (`unspool index`), used for lines, and for names when the image's file is missing.
     * Default NULL. */
    const char *index_store;
    const struct usp_path_map *path_maps; /* for lines.h; the first matching map is used. Copied. Default NULL */
    uint32_t path_map_count;              /* number of path_maps. Default 0 */
    /* Maximum number of inlined calls for an address; the innermost are kept. Default 0: all. */
    uint32_t inlined_limit;
    /* Id of the process that the list belonged to, which has ended. A perf map and a jitdump with this id in their
     * names are searched for in `folder` and in /tmp below `sysroot`. They must be regular files of the caller, of the
     * folder's owner or of root, and not symbolic links. Default 0: not known. Ignored when `process` is
     * set. */
    int64_t recorded_process;
    uint64_t reserved[1];
    /* dyld's shared caches (dyld_caches.h), for Mach-O images that have no file. They must outlive the symbolizer.
     * Default NULL. */
    const struct usp_dyld_caches *dyld_caches;
    /* Folder of files by build id, as perf keeps them in $HOME/.debug: of images whose file is not at its path, and the
     * kernel's symbols. Default NULL. */
    const char *build_ids;
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_symbolizer_options_init(struct usp_symbolizer_options *options);

/* Makes a symbolizer for a list of images, which must outlive it. NULL: for this process as it is at each call: it
 * notices libraries that are loaded and unloaded, and asks the loader about images without a file. options NULL: the
 * defaults; strings are copied. On success the caller frees *symbolizer. Returns USP_OK, USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY. Not async-signal-safe: it allocates. */
USP_API int usp_symbolizer_create(const struct usp_images *images, const struct usp_symbolizer_options *options,
                                  struct usp_symbolizer **symbolizer);

/* Makes a symbolizer for a snapshot, which must outlive it. The snapshot supplies its images, its shared cache's
 * address, the program and sysroot of its options, and either its process, or its core's memory, folder and process id.
 * Fields set in `options` override these. options NULL: the defaults. Otherwise like usp_symbolizer_create.
 * Thread-safe, not async-signal-safe: it allocates. */
USP_API int usp_symbolizer_create_for_snapshot(const struct usp_snapshot *snapshot,
                                               const struct usp_symbolizer_options *options,
                                               struct usp_symbolizer **symbolizer);

/* Returns the process's default symbolizer, which every function with a symbolizer as its argument uses for NULL: it
 * symbolicates addresses of this process. The first call that needs it makes it as usp_symbolizer_create(NULL, NULL)
 * does, and usp_shutdown frees it with all names that it returned. The caller does not free it; usp_symbolizer_trim
 * releases its memory. NULL in the options of a writer (format.h, profile.h, monitor.h) still means no names. Returns
 * NULL when memory is exhausted. Thread-safe, not async-signal-safe: it allocates. */
USP_API struct usp_symbolizer *usp_symbolizer_default(void);

/* Frees a symbolizer and all names that it returned. NULL is ignored. Not async-signal-safe: it frees memory. */
USP_API void usp_symbolizer_free(struct usp_symbolizer *symbolizer);

/* Releases all memory, files and names, as if the symbolizer were new. All names and paths that it returned become
 * invalid. No other call for it may be running. symbolizer NULL: usp_symbolizer_default, if it was made. Not
 * async-signal-safe: it frees memory. */
USP_API void usp_symbolizer_trim(struct usp_symbolizer *symbolizer);

struct usp_symbolizer_usage {
    /* Indexes held now. An image may have one for its symbols, one for its Objective-C methods, and one for its
     * functions' starts where only the Objective-C runtime has a name. */
    uint32_t images;
    uint32_t reserved0;
    /* Functions in these indexes, each counted once. Where only few addresses of an image were looked up, its index
     * contains the functions around them. */
    uint64_t symbols;
    uint64_t memory; /* bytes that they hold in addition to the files; memory_limit limits this number */
    /* Indexes made since the symbolizer was created, including rebuilt ones. The growth of a partial index is not
     * counted. */
    uint64_t indexes_made;
    uint64_t indexes_given_up; /* indexes discarded because of memory_limit */
    uint64_t reserved[4];
};

/* Fills *usage. symbolizer NULL: usp_symbolizer_default; all 0 if it was not made. Returns USP_OK or
 * USP_ERROR_ARGUMENT. Thread-safe, not async-signal-safe: it takes locks. */
USP_API int usp_symbolizer_get_usage(struct usp_symbolizer *symbolizer, struct usp_symbolizer_usage *usage);

enum usp_strategy {
    USP_STRATEGY_NONE = 0,
    USP_STRATEGY_DLADDR = 1,        /* the loader of this process */
    USP_STRATEGY_SYMTAB = 2,        /* a symbol table of the image's file or memory, or Go's function table */
    USP_STRATEGY_OBJC_RUNTIME = 3,  /* the Objective-C runtime of this process */
    USP_STRATEGY_OBJC_METADATA = 4, /* Objective-C metadata of the image's file or memory */
    /* Debug information, or an index of it; never in results of usp_symbolize (see lines.h). */
    USP_STRATEGY_DEBUG_INFO = 5,
    /* The next three symbolicate generated code outside all images. */
    USP_STRATEGY_PERF_MAP = 6, /* /tmp/perf-PID.map, which the program writes */
    USP_STRATEGY_JITDUMP = 7,  /* jit-PID.dump, which the program writes */
    USP_STRATEGY_GDB_JIT = 8   /* objects in the program's memory (the GDB JIT interface) */
};

/* Returns the strategy's name as in JSON: "dladdr", "symtab", "objc-runtime", "objc-metadata", "debug-info",
 * "perf-map", "jitdump", "gdb-jit"; otherwise "none". Static lifetime. Async-signal-safe, thread-safe. */
USP_API const char *usp_strategy_string(uint32_t strategy);

struct usp_symbol {
    /* NULL: no symbol holds the address. Valid until the symbolizer is freed or trimmed, even after dlclose. */
    const char *name;
    usp_addr start;    /* the symbol's address in the target */
    uint64_t offset;   /* address − start */
    uint64_t extent;   /* the symbol's size in bytes; 0 unknown */
    uint32_t strategy; /* enum usp_strategy: the source of the name */
    uint32_t reserved0;
    /* Path of the image that contains the address, or of the object, if the image is a section of an unlinked object.
     * NULL: no image contains it. Valid as long as `name`. */
    const char *image_path;
    usp_addr image_load; /* the image's load address */
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size;
    uint32_t reserved1;
    /* The source file, as it was passed to the compiler. NULL: not known; only the debug map of a Mach-O file has it.
     * Valid as long as `name`. */
    const char *source_file;
    uint64_t reserved[3];
};

/* Symbolicates an address: pass usp_frame_call_site(), not the return address. symbolizer NULL: usp_symbolizer_default.
 * *symbol is written completely. An address outside all images is looked up in generated code; image_path is then NULL.
 * Returns USP_OK when a symbol holds the address, USP_ERROR_NOT_FOUND when none does (image_path may still be set; the
 * nearest symbol below is not an answer), USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe:
 * it opens files, allocates, takes locks and may call the loader.
 *
 * The symbol that holds the address lies in the same section, and its size includes the address. A symbol of unknown
 * size extends to the next symbol or to the section's end, unless it is a label inside a function. Where functions may
 * have lost their symbols, it ends where call frame information, a list of function starts, or its instructions say. Of
 * nested symbols the innermost is taken. Of several names for one address, these are preferred, in this order:
 * functions to labels, global to local to weak symbols, known sizes to unknown ones, fewer leading underscores to more,
 * then alphabetical order.
 *
 * Names are as in the file, without a version (name@VERSION) and without the underscore that C adds in Mach-O files. A
 * Mach-O stub is called DYLD-STUB$$NAME. Objective-C methods without symbols are called -[Class(Category) selector] as
 * in their metadata.
 *
 * Generated code is looked up in
 *   - the objects of the GDB JIT interface (__jit_debug_descriptor)
 *   - the jitdump that the process has mapped (jit-PID.dump)
 *   - the process's perf map (/tmp/perf-PID.map)
 * in this order, at the paths that the process sees. The files must be regular files of its user or of root, and not
 * symbolic links. When pieces of code overlap, the newest one counts. Files that grow and lists that change are read
 * again; a missing file is searched for again after a second. */
USP_API int usp_symbolize(struct usp_symbolizer *symbolizer, usp_addr address, struct usp_symbol *symbol);

/* Symbolicates a frame: looks up its usp_frame_call_site(), so the caller does not adjust addresses. symbol->offset
 * counts from the call site. symbolizer NULL: usp_symbolizer_default. Otherwise like usp_symbolize. Thread-safe, not
 * async-signal-safe: it opens files, allocates, takes locks and may call the loader. */
USP_API int usp_symbolize_frame(struct usp_symbolizer *symbolizer, uint32_t arch, const struct usp_frame *frame,
                                struct usp_symbol *symbol);

/* Symbolicates an address in an image that the caller describes, such as one that was unloaded or has other addresses
 * in another list. Memory and loader are used only if the symbolizer's own list has the same image at the same address.
 * Otherwise the image's file is used, which is found by its path and must have its build id, or its index in
 * options.index_store. symbolizer NULL: usp_symbolizer_default. *symbol and the result as for usp_symbolize;
 * USP_ERROR_NOT_FOUND also when the address is outside the image. Thread-safe, not async-signal-safe: it opens files,
 * allocates, takes locks and may call the loader. */
USP_API int usp_symbolize_image(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                                struct usp_symbol *symbol);

/* Returns the demangled name (USP_DEMANGLE_FULL) of the function of this process that holds an address, or NULL when no
 * symbol holds it or memory is exhausted. Of a return address, such as those of usp_backtrace, pass the address − 1.
 * The name is valid until usp_shutdown or until usp_symbolizer_trim(NULL). Uses usp_symbolizer_default. Thread-safe,
 * not async-signal-safe: it opens files, allocates, takes locks and may call the loader. */
USP_API const char *usp_address_name(const void *address);

/* Receives a function. *symbol is valid during the call only; its strings are valid as those of usp_symbolize. A
 * result other than 0 ends the visit. */
typedef int (*usp_symbol_visitor)(void *context, const struct usp_symbol *symbol);

/* Visits every function that usp_symbolize can name in the image that contains `address` (for example its load
 * address), by ascending start. Each is described as usp_symbolize describes its first byte, but a function of unknown
 * size extends to the next function or to the section's end. Nested functions are included. Functions that only the
 * Objective-C runtime or the loader of this process knows are not. symbolizer NULL: usp_symbolizer_default.
 *
 * Returns USP_OK, the result with which `visit` ended the visit, USP_ERROR_NOT_FOUND when there is no such image or no
 * source of names for its code, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. `visit` may call usp_symbolize. Thread-safe,
 * not async-signal-safe: it opens files, allocates, takes locks and may call the loader. */
USP_API int usp_symbolizer_visit(struct usp_symbolizer *symbolizer, usp_addr address, usp_symbol_visitor visit,
                                 void *context);

USP_END_DECLS

#endif
