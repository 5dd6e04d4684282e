/* SPDX-License-Identifier: MIT */
/* The public symbolizer: finds the image of an address, asks the strategies, chooses the winner. It also visits all
 * symbols of an image. */
#include "lib/symbolize/symbolizer.h"
#include "lib/base/clear.h"
#include "lib/base/epoch.h"
#include "lib/base/sized.h"
#include "lib/capture/state.h"
#include "lib/images/own_images.h"
#include "lib/os/os.h"
#include "lib/symbolize/jit/jit.h"
#include "lib/symbolize/module.h"
#include "lib/symbolize/store/index_file.h"

#include <stdlib.h>
#include <string.h>

/* ---- view ---- */

/* A view is a list of images with a slot for each image's module. The view of a given list lives as long as its
 * symbolizer. The view of this process is replaced and retired (lib/base/epoch.h) when libraries are loaded or
 * unloaded. */
struct uspi_view {
    struct uspi_retired retired;
    const struct usp_images *images;
    struct usp_images *owned;                /* the same list, if the view owns it; NULL: it does not */
    uint64_t generation;                     /* of this process's list of images; 0 for a given list */
    _Atomic(struct uspi_module *) modules[]; /* by the image's position in the list; NULL until needed; not owned */
};

/* Makes a view. Returns NULL when memory is exhausted; `owned` still belongs to the caller then. */
static struct uspi_view *view_create(const struct usp_images *images, struct usp_images *owned, uint64_t generation) {
    size_t count = usp_images_count(images);
    struct uspi_view *view = malloc(sizeof *view + count * sizeof view->modules[0]);
    if (view == NULL) return NULL;
    view->images = images;
    view->owned = owned;
    view->generation = generation;
    for (size_t i = 0; i < count; i++) atomic_init(&view->modules[i], NULL);
    return view;
}

/* Frees a view. Can be used as uspi_retired.destroy. NULL is ignored. */
static void view_free(struct uspi_retired *retired) {
    struct uspi_view *view = (struct uspi_view *)retired;
    if (view == NULL) return;
    usp_images_free(view->owned);
    free(view);
}

/* Returns the slot for the module of an image in the view. */
static _Atomic(struct uspi_module *) *view_module(struct uspi_view *view, const struct usp_image *image) {
    return &view->modules[image - usp_images_get(view->images, 0)];
}

/* Sets all slots to NULL. */
static void view_forget_modules(struct uspi_view *view) {
    size_t count = usp_images_count(view->images);
    for (size_t i = 0; i < count; i++) atomic_store_explicit(&view->modules[i], NULL, memory_order_relaxed);
}

/* Number of lists of modules. */
#define MODULE_LISTS 128u

/* A module in one of the symbolizer's lists. Modules are kept until the symbolizer is freed or trimmed, because names
 * and paths point into them. A library that is loaded again gets its old module. */
struct module_link {
    struct module_link *next;
    struct uspi_module *module;
    const struct uspi_image_sources *places; /* the places for which the module was made */
};

struct usp_symbolizer {
    bool in_process;
    struct uspi_image_sources places;  /* its strings are owned */
    struct uspi_process_root root;     /* of both, if the process has another root */
    struct uspi_image_sources files;   /* for images that are not in the list: the same files, no memory */
    struct uspi_objc_runtime *runtime; /* NULL unless in_process */
    struct uspi_names *names;
    struct uspi_jit *jit;                      /* NULL: no process, memory or file can name generated code */
    struct uspi_cache cache;                   /* its lock also protects `view` and `modules` */
    _Atomic(struct uspi_view *) view;          /* a given list's view never changes; NULL: not made yet */
    struct module_link *modules[MODULE_LISTS]; /* by uspi_module_hash */
    struct uspi_source_paths paths;
};

void usp_symbolizer_options_init(struct usp_symbolizer_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/* Copies a string; NULL stays NULL. Returns false when memory is exhausted. */
static bool copy_string(const char *string, const char **copy) {
    if (string == NULL) return true;
    *copy = strdup(string);
    return *copy != NULL;
}

/* Returns whether a source of names for generated code can exist. */
static bool may_generate(const struct usp_images *images, const struct usp_symbolizer_options *options) {
    return images == NULL || options->process != 0 || options->memory != NULL || options->recorded_process != 0;
}

static struct uspi_pointers describe_self(void) {
    struct usp_target self;
    usp_target_init(&self, usp_arch_host());
    uspi_os_describe_self(&self);
    return (struct uspi_pointers){.signature_mask = self.pac_mask};
}

/* Returns the kernel's own image, without its path; all zero: there is none. */
static struct usp_image find_kernel(const struct usp_images *images) {
    for (size_t i = 0; i < usp_images_count(images); i++) {
        struct usp_image image = *usp_images_get(images, i);
        if ((image.flags & USP_IMAGE_KERNEL) == 0 ||
            strncmp(image.path, USPI_KERNEL_PATH, sizeof USPI_KERNEL_PATH - 1) != 0)
            continue;
        image.path = NULL;
        return image;
    }
    return (struct usp_image){.path = NULL};
}

int usp_symbolizer_create(const struct usp_images *images, const struct usp_symbolizer_options *options,
                          struct usp_symbolizer **symbolizer) {
    if (symbolizer == NULL) return USP_ERROR_ARGUMENT;
    *symbolizer = NULL;
    struct usp_symbolizer_options completed;
    usp_symbolizer_options_init(&completed);
    if (!USPI_COMPLETE(&completed, options)) return USP_ERROR_ARGUMENT;
    if (!uspi_path_maps_are_whole(completed.path_maps, completed.path_map_count)) return USP_ERROR_ARGUMENT;
    struct usp_symbolizer *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->in_process = images == NULL;
    made->names = uspi_names_create();
    struct uspi_view *view = images != NULL ? view_create(images, NULL, 0) : NULL;
    atomic_init(&made->view, view);
    struct uspi_search *search = &made->places.search;
    made->places.in_process = images == NULL;
    search->sysroot = completed.sysroot;
    uspi_places_of_process(&made->places, images, completed.process, &made->root);
    completed.sysroot = search->sysroot;
    search->sysroot = NULL;
    made->places.memory = completed.memory;
    made->places.pointers =
        (struct uspi_pointers){.shared_cache = completed.shared_cache, .signature_mask = completed.pac_mask};
    made->places.dyld_caches = completed.dyld_caches;
    made->places.kernel = find_kernel(images);
    if (made->in_process) made->places.pointers = describe_self();
    if (made->in_process) made->runtime = uspi_objc_runtime_create(made->places.pointers.signature_mask);
    const bool generates = may_generate(images, &completed);
    if (generates) made->jit = uspi_jit_create(&made->places, completed.recorded_process);
    size_t limit = completed.memory_limit < SIZE_MAX ? (size_t)completed.memory_limit : SIZE_MAX;
    bool is_whole = uspi_cache_init(&made->cache, limit) && made->names != NULL && (made->jit != NULL || !generates) &&
                    (images == NULL ? made->runtime != NULL : view != NULL) &&
                    copy_string(completed.program, &search->file) && copy_string(completed.sysroot, &search->sysroot) &&
                    copy_string(completed.folder, &search->folder) &&
                    copy_string(completed.index_store, &made->places.index_store) &&
                    copy_string(completed.build_ids, &made->places.build_ids) &&
                    uspi_source_paths_init(&made->paths, completed.path_maps, completed.path_map_count);
    if (completed.inlined_limit != 0) made->paths.inlined_limit = completed.inlined_limit;
    if (!is_whole) {
        usp_symbolizer_free(made);
        return USP_ERROR_NO_MEMORY;
    }
    made->files.search = *search;
    made->files.index_store = made->places.index_store;
    made->files.build_ids = made->places.build_ids;
    made->files.dyld_caches = completed.dyld_caches;
    *symbolizer = made;
    return USP_OK;
}

static void *create_default(void) {
    struct usp_symbolizer *symbolizer;
    return usp_symbolizer_create(NULL, NULL, &symbolizer) == USP_OK ? symbolizer : NULL;
}

static void free_default(void *symbolizer) { usp_symbolizer_free(symbolizer); }

struct usp_symbolizer *usp_symbolizer_default(void) {
    static const struct uspi_default_kind kind = {create_default, free_default};
    return uspi_default_get(USPI_DEFAULT_SYMBOLIZER, &kind);
}

/* Frees all modules and what was made from their files. No other thread may use the symbolizer. */
static void drop_modules(struct usp_symbolizer *symbolizer) {
    uspi_cache_empty(&symbolizer->cache);
    for (unsigned i = 0; i < MODULE_LISTS; i++) {
        while (symbolizer->modules[i] != NULL) {
            struct module_link *link = symbolizer->modules[i];
            symbolizer->modules[i] = link->next;
            uspi_module_free(link->module);
            free(link);
        }
    }
}

void usp_symbolizer_free(struct usp_symbolizer *symbolizer) {
    if (symbolizer == NULL) return;
    struct uspi_view *view = atomic_load_explicit(&symbolizer->view, memory_order_relaxed);
    drop_modules(symbolizer);
    if (view != NULL) view_free(&view->retired);
    uspi_cache_clear(&symbolizer->cache);
    uspi_objc_runtime_free(symbolizer->runtime);
    uspi_jit_free(symbolizer->jit);
    uspi_names_free(symbolizer->names);
    free((char *)(uintptr_t)symbolizer->places.search.file);
    free((char *)(uintptr_t)symbolizer->places.search.sysroot);
    free((char *)(uintptr_t)symbolizer->places.search.folder);
    free((char *)(uintptr_t)symbolizer->places.index_store);
    free((char *)(uintptr_t)symbolizer->places.build_ids);
    uspi_source_paths_clear(&symbolizer->paths);
    free(symbolizer);
}

void usp_symbolizer_trim(struct usp_symbolizer *symbolizer) {
    if (symbolizer == NULL) symbolizer = uspi_default_made(USPI_DEFAULT_SYMBOLIZER);
    if (symbolizer == NULL) return;
    struct uspi_view *view = atomic_load_explicit(&symbolizer->view, memory_order_relaxed);
    drop_modules(symbolizer);
    uspi_jit_clear(symbolizer->jit);
    uspi_names_clear(symbolizer->names);
    if (view == NULL) return;
    if (!symbolizer->in_process) {
        view_forget_modules(view);
        return;
    }
    atomic_store_explicit(&symbolizer->view, NULL, memory_order_relaxed);
    view_free(&view->retired);
}

int usp_symbolizer_get_usage(struct usp_symbolizer *symbolizer, struct usp_symbolizer_usage *usage) {
    if (usage == NULL) return USP_ERROR_ARGUMENT;
    memset(usage, 0, sizeof *usage);
    if (symbolizer == NULL) symbolizer = uspi_default_made(USPI_DEFAULT_SYMBOLIZER);
    if (symbolizer == NULL) return USP_OK;
    struct uspi_cache *cache = &symbolizer->cache;
    uspi_lock_take(cache->lock);
    usage->images = (uint32_t)cache->count;
    usage->symbols = cache->symbols;
    usage->memory = cache->memory;
    usage->indexes_made = cache->made;
    usage->indexes_given_up = cache->evicted;
    uspi_lock_give(cache->lock);
    return USP_OK;
}

uint64_t uspi_symbolizer_index_bytes(const struct usp_symbolizer *symbolizer) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < MODULE_LISTS; i++) {
        for (const struct module_link *link = symbolizer->modules[i]; link != NULL; link = link->next) {
            const struct uspi_lines *lines = uspi_module_lines(link->module);
            const struct uspi_index_file *index = lines != NULL ? uspi_lines_index(lines) : NULL;
            if (index != NULL) bytes += uspi_file_bytes(index->file).size;
        }
    }
    return bytes;
}

/* Makes a new view of this process if libraries were loaded or unloaded since the last one. */
static int refresh_view(struct usp_symbolizer *symbolizer) {
    struct uspi_view *old = atomic_load_explicit(&symbolizer->view, memory_order_relaxed);
    struct usp_images *images;
    uint64_t generation;
    int status = uspi_own_images_get(&images, &generation);
    if (status != USP_OK) return status;
    if (old != NULL && old->generation == generation) {
        usp_images_free(images);
        return USP_OK;
    }
    struct uspi_view *view = view_create(images, images, generation);
    if (view == NULL) {
        usp_images_free(images);
        return USP_ERROR_NO_MEMORY;
    }
    atomic_store_explicit(&symbolizer->view, view, memory_order_seq_cst);
    if (old != NULL) uspi_epoch_retire(&symbolizer->cache.readers, &old->retired, view_free);
    return USP_OK;
}

/* Finds the image that holds an address, or NULL, and the view that has it. An image that is never unloaded needs no
 * further check, since no other one can take its place. For all others, it checks whether the list has changed. */
static int find_image(struct usp_symbolizer *symbolizer, usp_addr address, struct uspi_view **view,
                      const struct usp_image **image) {
    *view = atomic_load_explicit(&symbolizer->view, memory_order_seq_cst);
    *image = *view != NULL ? usp_images_find((*view)->images, address) : NULL;
    if (!symbolizer->in_process || (*image != NULL && ((*image)->flags & USP_IMAGE_PERMANENT) != 0)) return USP_OK;
    if (*view != NULL && uspi_own_images_are_current((*view)->generation)) return USP_OK;
    uspi_lock_take(symbolizer->cache.lock);
    int status = refresh_view(symbolizer);
    *view = atomic_load_explicit(&symbolizer->view, memory_order_relaxed);
    uspi_lock_give(symbolizer->cache.lock);
    if (status == USP_OK) *image = usp_images_find((*view)->images, address);
    return status;
}

/* Returns the module of an image for the given places, and makes it if there is none. Returns NULL when memory is
 * exhausted. */
static struct uspi_module *get_module(struct usp_symbolizer *symbolizer, const struct usp_image *image,
                                      const struct uspi_image_sources *places) {
    struct module_link **list = &symbolizer->modules[uspi_module_hash(image) % MODULE_LISTS];
    for (struct module_link *link = *list; link != NULL; link = link->next) {
        if (link->places == places && uspi_module_is_of(link->module, image)) return link->module;
    }
    struct module_link *link = malloc(sizeof *link);
    struct uspi_module *module = link != NULL ? uspi_module_create(image, places, &symbolizer->cache) : NULL;
    if (module == NULL) {
        free(link);
        return NULL;
    }
    *link = (struct module_link){*list, module, places};
    *list = link;
    return module;
}

/* Returns the module of an image that is not in the list. */
static struct uspi_module *module_of_file(struct usp_symbolizer *symbolizer, const struct usp_image *image) {
    uspi_lock_take(symbolizer->cache.lock);
    struct uspi_module *module = get_module(symbolizer, image, &symbolizer->files);
    uspi_lock_give(symbolizer->cache.lock);
    return module;
}

static struct uspi_module *module_of(struct usp_symbolizer *symbolizer, struct uspi_view *view,
                                     const struct usp_image *image) {
    _Atomic(struct uspi_module *) *place = view_module(view, image);
    struct uspi_module *module = atomic_load_explicit(place, memory_order_acquire);
    if (module != NULL) return module;
    uspi_lock_take(symbolizer->cache.lock);
    module = get_module(symbolizer, image, &symbolizer->places);
    atomic_store_explicit(place, module, memory_order_release);
    uspi_lock_give(symbolizer->cache.lock);
    return module;
}

static bool is_better(const struct usp_symbol *best, const struct uspi_symbol_answer *found, usp_addr address) {
    if (found->start > address || (found->size != 0 && address - found->start >= found->size)) return false;
    if (best->name == NULL || found->start > best->start) return true;
    return found->wins_ties && found->start == best->start;
}

/* ---- strategies ---- */

/* Asks one of the indexes of the image's file. */
static int find_in_index(const struct uspi_query *query, enum uspi_table table, struct uspi_symbol_answer *found) {
    const usp_addr slide = query->image->slide;
    int status = uspi_module_find(query->module, table, query->address - slide, query->expected, query->names, found);
    if (status == USP_OK) found->start += slide;
    return status;
}

static int find_in_tables(const struct uspi_query *query, struct uspi_symbol_answer *found) {
    return find_in_index(query, USPI_TABLE_SYMBOLS, found);
}

/* Asks for methods that the image's file describes or, without the file, the process's memory. */
static int find_by_metadata(const struct uspi_query *query, struct uspi_symbol_answer *found) {
    return find_in_index(query, USPI_TABLE_OBJC, found);
}

/* All strategies, in order: those that search an index come before those that ask the system. */
static const struct {
    uint32_t id; /* enum usp_strategy */
    int (*find)(const struct uspi_query *query, struct uspi_symbol_answer *found);
} strategies[] = {
    {USP_STRATEGY_SYMTAB, find_in_tables},
    {USP_STRATEGY_OBJC_METADATA, find_by_metadata},
    {USP_STRATEGY_OBJC_RUNTIME, uspi_find_by_runtime},
    {USP_STRATEGY_DLADDR, uspi_find_by_loader},
};

static int ask_strategies(struct uspi_query *query, struct usp_symbol *symbol) {
    bool is_nearest = false;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct uspi_symbol_answer found = {0};
        if (is_nearest && strategies[i].id == USP_STRATEGY_OBJC_METADATA) continue;
        int status = strategies[i].find(query, &found);
        if (status == USP_ERROR_NO_MEMORY) return status;
        if (status != USP_OK || !is_better(symbol, &found, query->address)) continue;
        is_nearest = found.is_nearest;
        /* Both symbols are the same function, and perhaps only one of them has a size. */
        if (found.start == symbol->start && found.size == 0) found.size = symbol->extent;
        symbol->name = found.name;
        symbol->start = found.start;
        symbol->extent = found.size;
        symbol->source_file = found.source_file;
        symbol->offset = query->address - found.start;
        symbol->strategy = strategies[i].id;
        query->is_named = true;
        query->named_start = found.start;
    }
    return symbol->name != NULL ? USP_OK : USP_ERROR_NOT_FOUND;
}

static bool is_same_image(const struct usp_image *a, const struct usp_image *b) {
    if (a == b) return true;
    return a->load_address == b->load_address && a->end == b->end && a->build_id_size == b->build_id_size &&
           memcmp(a->build_id, b->build_id, a->build_id_size) == 0 && a->section == b->section &&
           a->member_offset == b->member_offset && strcmp(a->path, b->path) == 0;
}

/* Names generated code at an address that no image of the view holds, and finds its line. The caller has entered. */
static int ask_generated(struct usp_symbolizer *symbolizer, const struct uspi_view *view, struct uspi_query *query,
                         struct usp_symbol *symbol) {
    struct uspi_jit_answer answer;
    if (symbolizer->jit == NULL) return USP_ERROR_NOT_FOUND;
    const struct uspi_jit_question question = {query->address, view->images, view->generation, &symbolizer->paths,
                                               query->lines};
    int status = uspi_jit_find(symbolizer->jit, &question, symbolizer->names, &answer);
    if (status != USP_OK) return status;
    symbol->name = answer.name;
    symbol->start = answer.start;
    symbol->extent = answer.size;
    symbol->offset = query->address - answer.start;
    symbol->strategy = answer.strategy;
    query->generated = (struct uspi_generated_line){answer.path, answer.line};
    return USP_OK;
}

/* Begins the lookup of an address: describes it in *query and fills the image's fields of *symbol. The image is
 * `wanted` or, if that is NULL, the one of the symbolizer's list that holds the address. Returns USP_ERROR_ABSENT when
 * *symbol already names generated code, whose line is in query->generated. The caller has entered. */
static int begin_query(struct usp_symbolizer *symbolizer, const struct usp_image *wanted, usp_addr address,
                       struct uspi_query *query, struct usp_symbol *symbol) {
    struct uspi_view *view;
    const struct usp_image *image;
    int status = find_image(symbolizer, address, &view, &image);
    if (status != USP_OK) return status;
    const bool is_listed = image != NULL && (wanted == NULL || is_same_image(image, wanted));
    if (!is_listed) image = wanted;
    if (image == NULL) {
        *query = (struct uspi_query){.address = address, .names = symbolizer->names, .lines = query->lines};
        status = ask_generated(symbolizer, view, query, symbol);
        return status == USP_OK ? USP_ERROR_ABSENT : status;
    }
    if (address < image->load_address || address >= image->end) return USP_ERROR_NOT_FOUND;
    struct uspi_module *module = is_listed ? module_of(symbolizer, view, image) : module_of_file(symbolizer, image);
    if (module == NULL) return USP_ERROR_NO_MEMORY;
    symbol->image_path = uspi_module_path(module);
    symbol->image_load = image->load_address;
    symbol->build_id_size = image->build_id_size;
    memcpy(symbol->build_id, image->build_id, sizeof symbol->build_id);
    *query = (struct uspi_query){.address = address,
                                 .image = image,
                                 .module = module,
                                 .names = symbolizer->names,
                                 .in_process = symbolizer->in_process && is_listed,
                                 .runtime = is_listed ? symbolizer->runtime : NULL};
    return USP_OK;
}

int uspi_symbolizer_describe(struct usp_symbolizer *symbolizer, usp_addr address, struct uspi_query *query) {
    struct usp_symbol symbol = {0};
    int status = begin_query(symbolizer, NULL, address, query, &symbol);
    return status == USP_ERROR_ABSENT ? USP_OK : status;
}

int uspi_symbolizer_ask(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                        const struct uspi_expected *expected, struct uspi_query *query, struct usp_symbol *symbol) {
    int status = begin_query(symbolizer, image, address, query, symbol);
    if (status != USP_OK) return status == USP_ERROR_ABSENT ? USP_OK : status;
    query->expected = expected;
    return ask_strategies(query, symbol);
}

int uspi_symbolize_expecting(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                             const struct uspi_expected *expected, struct usp_symbol *symbol) {
    if (symbol == NULL) return USP_ERROR_ARGUMENT;
    uspi_clear(symbol, sizeof *symbol);
    if (symbolizer == NULL) return USP_ERROR_ARGUMENT;
    struct uspi_epoch *readers = &symbolizer->cache.readers;
    struct uspi_query query = {0};
    uint32_t ticket = uspi_epoch_enter(readers);
    int status = uspi_symbolizer_ask(symbolizer, image, address, expected, &query, symbol);
    uspi_epoch_leave(readers, ticket);
    return status;
}

struct uspi_epoch *uspi_symbolizer_readers(struct usp_symbolizer *symbolizer) { return &symbolizer->cache.readers; }

const struct uspi_source_paths *uspi_symbolizer_paths(const struct usp_symbolizer *symbolizer) {
    return &symbolizer->paths;
}

/* Symbolicates for a caller of the library: without a symbolizer by the process's own. */
static int symbolize(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                     struct usp_symbol *symbol) {
    if (symbol == NULL) return USP_ERROR_ARGUMENT;
    if (symbolizer == NULL) symbolizer = usp_symbolizer_default();
    if (symbolizer != NULL) return uspi_symbolize_expecting(symbolizer, image, address, NULL, symbol);
    uspi_clear(symbol, sizeof *symbol);
    return USP_ERROR_NO_MEMORY;
}

int usp_symbolize(struct usp_symbolizer *symbolizer, usp_addr address, struct usp_symbol *symbol) {
    return symbolize(symbolizer, NULL, address, symbol);
}

int usp_symbolize_image(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                        struct usp_symbol *symbol) {
    if (image == NULL || image->path == NULL) {
        if (symbol != NULL) uspi_clear(symbol, sizeof *symbol);
        return USP_ERROR_ARGUMENT;
    }
    return symbolize(symbolizer, image, address, symbol);
}

int usp_symbolize_frame(struct usp_symbolizer *symbolizer, uint32_t arch, const struct usp_frame *frame,
                        struct usp_symbol *symbol) {
    return usp_symbolize(symbolizer, usp_frame_call_site(arch, frame), symbol);
}

/* Finds the first address at or above `address`, as linked, at which an entry of any table begins or ends. Returns
 * USP_ERROR_NOT_FOUND when there is none, USP_ERROR_ABSENT when there is no table. */
static int next_place(struct uspi_module *module, usp_addr address, usp_addr *place) {
    int result = USP_ERROR_ABSENT;
    for (unsigned which = 0; which < USPI_TABLE_NAMED; which++) {
        usp_addr start;
        int status = uspi_module_next(module, (enum uspi_table)which, address, &start);
        if (status == USP_ERROR_NO_MEMORY) return status;
        if (status == USP_OK && (result != USP_OK || start < *place)) *place = start;
        if (status == USP_OK || (status == USP_ERROR_NOT_FOUND && result != USP_OK)) result = status;
    }
    return result;
}

/* Finds the function that begins at *place, and sets *place to the next place. *is_last: there is no next place.
 * Returns USP_OK, USP_ERROR_NOT_FOUND when no function begins there, USP_ERROR_NO_MEMORY. The caller has entered. */
static int visit_place(struct uspi_query *query, usp_addr *place, struct usp_symbol *symbol, bool *is_last) {
    usp_addr next = 0;
    int more = *place < UINT64_MAX ? next_place(query->module, *place + 1, &next) : USP_ERROR_NOT_FOUND;
    if (more == USP_ERROR_NO_MEMORY) return more;
    query->address = *place + query->image->slide;
    query->is_named = false;
    int status = ask_strategies(query, symbol);
    if (status == USP_OK && symbol->start != query->address) status = USP_ERROR_NOT_FOUND;
    if (symbol->extent == 0 && more == USP_OK) symbol->extent = next - *place;
    *place = next;
    *is_last = more != USP_OK;
    return status;
}

/* Enters the epoch for each function anew. With a small memory_limit, indexes are evicted and made again; those that
 * were evicted can then be freed in between. */
int usp_symbolizer_visit(struct usp_symbolizer *symbolizer, usp_addr address, usp_symbol_visitor visit, void *context) {
    if (visit == NULL) return USP_ERROR_ARGUMENT;
    if (symbolizer == NULL) symbolizer = usp_symbolizer_default();
    if (symbolizer == NULL) return USP_ERROR_NO_MEMORY;
    struct uspi_epoch *readers = &symbolizer->cache.readers;
    struct usp_symbol blank = {0};
    struct uspi_query query = {0};
    struct usp_image image;
    usp_addr place = 0, end = UINT64_MAX;
    bool is_last = false;
    uint32_t ticket = uspi_epoch_enter(readers);
    int status = begin_query(symbolizer, NULL, address, &query, &blank);
    if (status == USP_OK) {
        /* Libraries may be loaded and unloaded, which replaces the list of images. The module stays. */
        image = *query.image;
        image.path = blank.image_path;
        query.image = &image;
        /* The module is shared with the object's other sections, so only this section is visited. */
        if (image.section != 0) {
            place = image.load_address - image.slide;
            end = image.end - image.slide;
        }
        status = next_place(query.module, place, &place);
    }
    uspi_epoch_leave(readers, ticket);
    if (status != USP_OK) return status == USP_ERROR_ABSENT ? USP_ERROR_NOT_FOUND : status;
    while (!is_last && place < end) {
        struct usp_symbol symbol = blank;
        ticket = uspi_epoch_enter(readers);
        status = visit_place(&query, &place, &symbol, &is_last);
        uspi_epoch_leave(readers, ticket);
        if (status == USP_ERROR_NO_MEMORY) return status;
        if (status != USP_OK) continue;
        int answer = visit(context, &symbol);
        if (answer != 0) return answer;
    }
    return USP_OK;
}
