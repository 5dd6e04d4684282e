/* SPDX-License-Identifier: MIT */
/* The public symbolizer: finds the image of an address, asks the strategies, chooses the winner. */
#include "lib/os.h"
#include "lib/symbolize/strategy.h"
#include "lib/symbolize/view.h"

#include <stdlib.h>
#include <string.h>

/* Modules stay until the symbolizer is freed, so that names and paths do; a library that is loaded again gets its old
 * one. */
struct module_link {
    struct module_link *next;
    struct uspi_module *module;
};

struct usp_symbolizer {
    bool in_process;
    struct uspi_search search; /* its strings are owned */
    struct uspi_process process;
    struct uspi_objc_runtime *runtime; /* NULL unless in_process */
    struct uspi_names *names;
    struct uspi_lock *lock; /* for the two below */
    struct uspi_view *view; /* of a list that was given: set once */
    struct module_link *modules;
};

void usp_symbolizer_options_init(struct usp_symbolizer_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/* NULL stays NULL. False when memory lacks. */
static bool copy_string(const char *string, const char **copy) {
    if (string == NULL) return true;
    *copy = strdup(string);
    return *copy != NULL;
}

static void describe_self(struct uspi_process *process) {
    struct usp_target self;
    usp_target_init(&self, usp_arch_host());
    uspi_os_describe_self(&self);
    *process = (struct uspi_process){.memory = {uspi_os_read, NULL}, .signature_mask = self.pac_mask};
}

int usp_symbolizer_create(const struct usp_images *images, const struct usp_symbolizer_options *options,
                          struct usp_symbolizer **symbolizer) {
    if (symbolizer == NULL) return USP_ERROR_ARGUMENT;
    *symbolizer = NULL;
    struct usp_symbolizer_options completed;
    usp_symbolizer_options_init(&completed);
    if (options != NULL) {
        if (options->size < offsetof(struct usp_symbolizer_options, reserved)) return USP_ERROR_ARGUMENT;
        memcpy(&completed, options, options->size < sizeof completed ? options->size : sizeof completed);
    }
    struct usp_symbolizer *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->in_process = images == NULL;
    made->lock = uspi_lock_create();
    made->names = uspi_names_create();
    made->view = images != NULL ? uspi_view_create(images, NULL, 0) : NULL;
    made->search.as_named = true;
    made->process = (struct uspi_process){.shared_cache = completed.shared_cache, .signature_mask = completed.pac_mask};
    if (completed.memory != NULL) made->process.memory = *completed.memory;
    if (made->in_process) describe_self(&made->process);
    if (made->in_process) made->runtime = uspi_objc_runtime_create();
    bool is_whole =
        made->lock != NULL && made->names != NULL && (images == NULL ? made->runtime != NULL : made->view != NULL) &&
        copy_string(completed.program, &made->search.file) && copy_string(completed.sysroot, &made->search.sysroot) &&
        copy_string(completed.folder, &made->search.folder);
    if (!is_whole) {
        usp_symbolizer_free(made);
        return USP_ERROR_NO_MEMORY;
    }
    *symbolizer = made;
    return USP_OK;
}

void usp_symbolizer_free(struct usp_symbolizer *symbolizer) {
    if (symbolizer == NULL) return;
    uspi_view_release(symbolizer->view);
    while (symbolizer->modules != NULL) {
        struct module_link *link = symbolizer->modules;
        symbolizer->modules = link->next;
        uspi_module_free(link->module);
        free(link);
    }
    uspi_objc_runtime_free(symbolizer->runtime);
    uspi_names_free(symbolizer->names);
    uspi_lock_free(symbolizer->lock);
    free((char *)(uintptr_t)symbolizer->search.file);
    free((char *)(uintptr_t)symbolizer->search.sysroot);
    free((char *)(uintptr_t)symbolizer->search.folder);
    free(symbolizer);
}

/* Replaces the view of this process when libraries have come or gone. */
static int refresh_view(struct usp_symbolizer *symbolizer) {
    uint64_t generation = uspi_os_images_generation();
    if (symbolizer->view != NULL && symbolizer->view->generation == generation) return USP_OK;
    struct usp_images *images;
    int status = usp_images_self(&images);
    if (status != USP_OK) return status;
    struct uspi_view *view = uspi_view_create(images, images, generation);
    if (view == NULL) {
        usp_images_free(images);
        return USP_ERROR_NO_MEMORY;
    }
    uspi_view_release(symbolizer->view);
    symbolizer->view = view;
    return USP_OK;
}

/* The images to look in, to be given back. A list that was given needs no lock and no count. */
static int take_view(struct usp_symbolizer *symbolizer, struct uspi_view **view) {
    *view = symbolizer->view;
    if (!symbolizer->in_process) return USP_OK;
    uspi_lock_take(symbolizer->lock);
    int status = refresh_view(symbolizer);
    if (status == USP_OK) {
        *view = symbolizer->view;
        atomic_fetch_add_explicit(&(*view)->users, 1, memory_order_relaxed);
    }
    uspi_lock_give(symbolizer->lock);
    return status;
}

static void give_view_back(const struct usp_symbolizer *symbolizer, struct uspi_view *view) {
    if (symbolizer->in_process) uspi_view_release(view);
}

/* The module of an image, from the list or new in it; NULL when memory lacks. */
static struct uspi_module *get_module(struct usp_symbolizer *symbolizer, const struct usp_image *image) {
    for (struct module_link *link = symbolizer->modules; link != NULL; link = link->next) {
        if (uspi_module_is_of(link->module, image)) return link->module;
    }
    struct module_link *link = malloc(sizeof *link);
    struct uspi_module *module =
        link != NULL ? uspi_module_create(image, &symbolizer->search, &symbolizer->process) : NULL;
    if (module == NULL) {
        free(link);
        return NULL;
    }
    *link = (struct module_link){symbolizer->modules, module};
    symbolizer->modules = link;
    return module;
}

static struct uspi_module *module_of(struct usp_symbolizer *symbolizer, struct uspi_view *view,
                                     const struct usp_image *image) {
    _Atomic(struct uspi_module *) *place = uspi_view_module(view, image);
    struct uspi_module *module = atomic_load_explicit(place, memory_order_acquire);
    if (module != NULL) return module;
    uspi_lock_take(symbolizer->lock);
    module = get_module(symbolizer, image);
    atomic_store_explicit(place, module, memory_order_release);
    uspi_lock_give(symbolizer->lock);
    return module;
}

static bool is_better(const struct usp_symbol *best, const struct uspi_named *found, usp_addr address) {
    if (found->start > address || (found->size != 0 && address - found->start >= found->size)) return false;
    if (best->name == NULL || found->start > best->start) return true;
    return found->wins_ties && found->start == best->start;
}

static int ask_strategies(struct uspi_query *query, struct usp_symbol *symbol) {
    for (const struct uspi_strategy *const *strategy = uspi_strategies; *strategy != NULL; strategy++) {
        struct uspi_named found = {0};
        int status = (*strategy)->find(query, &found);
        if (status == USP_ERROR_NO_MEMORY) return status;
        if (status != USP_OK || !is_better(symbol, &found, query->address)) continue;
        /* Both are the same function, whose size may be known to one of them only. */
        if (found.start == symbol->start && found.size == 0) found.size = symbol->extent;
        symbol->name = found.name;
        symbol->start = found.start;
        symbol->extent = found.size;
        symbol->source_file = found.source_file;
        symbol->offset = query->address - found.start;
        symbol->strategy = (*strategy)->id;
        query->is_named = true;
    }
    return symbol->name != NULL ? USP_OK : USP_ERROR_NOT_FOUND;
}

static int symbolize_in(struct usp_symbolizer *symbolizer, struct uspi_view *view, usp_addr address,
                        struct usp_symbol *symbol) {
    const struct usp_image *image = usp_images_find(view->images, address);
    if (image == NULL) return USP_ERROR_NOT_FOUND;
    struct uspi_module *module = module_of(symbolizer, view, image);
    if (module == NULL) return USP_ERROR_NO_MEMORY;
    symbol->image_path = uspi_module_path(module);
    symbol->image_load = image->load_address;
    symbol->build_id_size = image->build_id_size;
    memcpy(symbol->build_id, image->build_id, sizeof symbol->build_id);
    struct uspi_query query = {.address = address,
                               .image = image,
                               .module = module,
                               .names = symbolizer->names,
                               .in_process = symbolizer->in_process,
                               .runtime = symbolizer->runtime};
    return ask_strategies(&query, symbol);
}

int usp_symbolize(struct usp_symbolizer *symbolizer, usp_addr address, struct usp_symbol *symbol) {
    if (symbol == NULL) return USP_ERROR_ARGUMENT;
    memset(symbol, 0, sizeof *symbol);
    if (symbolizer == NULL) return USP_ERROR_ARGUMENT;
    struct uspi_view *view;
    int status = take_view(symbolizer, &view);
    if (status != USP_OK) return status;
    status = symbolize_in(symbolizer, view, address, symbol);
    give_view_back(symbolizer, view);
    return status;
}
