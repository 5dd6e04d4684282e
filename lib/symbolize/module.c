/* SPDX-License-Identifier: MIT */
/* See module.h. */
#include "lib/symbolize/module.h"

#include "lib/os.h"
#include "lib/symbolize/image_file.h"
#include "lib/symbolize/macho_file.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct uspi_module {
    struct usp_image image; /* its path is owned */
    const struct uspi_search *search;
    struct uspi_lock *lock; /* held while the rest is made */
    _Atomic bool is_made;   /* then the rest does not change any more */
    struct uspi_file *file, *debug;
    struct uspi_tables *tables; /* NULL: none could be had */
    struct uspi_index index;
};

static void drop_symbols(struct uspi_module *module) {
    if (module->tables != NULL) module->tables->close(module->tables);
    uspi_index_clear(&module->index);
    uspi_file_close(module->debug);
    uspi_file_close(module->file);
    module->tables = NULL;
    module->debug = module->file = NULL;
}

void uspi_module_free(struct uspi_module *module) {
    if (module == NULL) return;
    drop_symbols(module);
    uspi_lock_free(module->lock);
    free((char *)(uintptr_t)module->image.path);
    free(module);
}

struct uspi_module *uspi_module_create(const struct usp_image *image, const struct uspi_search *search) {
    struct uspi_module *module = calloc(1, sizeof *module);
    if (module == NULL) return NULL;
    module->image = *image;
    module->image.path = strdup(image->path);
    module->search = search;
    module->lock = uspi_lock_create();
    atomic_init(&module->is_made, false);
    if (module->image.path != NULL && module->lock != NULL) return module;
    uspi_module_free(module);
    return NULL;
}

const char *uspi_module_path(const struct uspi_module *module) { return module->image.path; }

bool uspi_module_is_of(const struct uspi_module *module, const struct usp_image *image) {
    const struct usp_image *own = &module->image;
    if (own->build_id_size != image->build_id_size || own->flags != image->flags) return false;
    if (memcmp(own->build_id, image->build_id, own->build_id_size) != 0) return false;
    if (own->build_id_size == 0 && own->load_address != image->load_address) return false;
    return strcmp(own->path, image->path) == 0;
}

static int index_tables(struct uspi_module *module) {
    struct uspi_gathering gathering = {0};
    int status = module->tables->gather(module->tables, &gathering);
    if (status == USP_OK) {
        status = uspi_index_build(&module->index, &gathering, module->tables->prefer, module->tables);
    }
    uspi_gathering_clear(&gathering);
    return status;
}

static int open_tables(struct uspi_module *module) {
    const struct usp_image *image = &module->image;
    if ((image->flags & USP_IMAGE_MACHO) == 0)
        return uspi_elf_tables_open(module->file, module->debug, &module->tables);
    struct uspi_bytes debug = {0};
    if (module->debug != NULL) debug = uspi_file_bytes(module->debug);
    return uspi_macho_tables_open(uspi_file_bytes(module->file), module->debug != NULL ? &debug : NULL,
                                  uspi_macho_image_uuid(image), image->arch, &module->tables);
}

static int make_symbols(struct uspi_module *module) {
    int status = uspi_image_file_open(&module->image, module->search, &module->file, NULL);
    if (status == USP_OK) {
        status = uspi_debug_file_open(&module->image, module->search, &module->debug, NULL);
        if (status != USP_ERROR_NO_MEMORY) status = open_tables(module);
    }
    if (status == USP_OK) status = index_tables(module);
    if (status != USP_OK) drop_symbols(module);
    return status;
}

/* Only a lack of memory is worth another try. */
static int make_once(struct uspi_module *module) {
    int status = USP_OK;
    if (atomic_load_explicit(&module->is_made, memory_order_acquire)) return USP_OK;
    uspi_lock_take(module->lock);
    if (!atomic_load_explicit(&module->is_made, memory_order_relaxed)) {
        status = make_symbols(module);
        if (status != USP_ERROR_NO_MEMORY) {
            atomic_store_explicit(&module->is_made, true, memory_order_release);
            status = USP_OK;
        }
    }
    uspi_lock_give(module->lock);
    return status;
}

bool uspi_module_has_symbols(struct uspi_module *module) {
    return make_once(module) == USP_OK && module->tables != NULL;
}

int uspi_module_find(struct uspi_module *module, usp_addr address, struct uspi_names *names, struct uspi_named *named) {
    int status = make_once(module);
    if (status != USP_OK) return status;
    if (module->tables == NULL) return USP_ERROR_ABSENT;
    uint32_t symbol = uspi_index_find(&module->index, address);
    if (symbol == USPI_NO_SYMBOL) return USP_ERROR_NOT_FOUND;
    status = module->tables->get(module->tables, symbol, names, named);
    return status == USP_OK || status == USP_ERROR_NO_MEMORY ? status : USP_ERROR_NOT_FOUND;
}
