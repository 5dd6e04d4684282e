/* SPDX-License-Identifier: MIT */
/* See module.h. */
#include "lib/symbolize/module.h"

#include "lib/object/fat.h"
#include "lib/os.h"
#include "lib/symbolize/image_file.h"
#include "lib/symbolize/macho_file.h"
#include "lib/symbolize/objc_tables.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct indexed {
    struct uspi_tables *tables; /* NULL: none could be had */
    struct uspi_index index;
};

struct uspi_module {
    struct usp_image image; /* its path is owned */
    const struct uspi_search *search;
    const struct uspi_process *process;
    struct uspi_lock *lock; /* held while the rest is made */
    _Atomic bool is_made;   /* then the rest does not change any more */
    struct uspi_file *file, *debug;
    struct uspi_source memory; /* the process's, where it is read instead */
    struct indexed tables[USPI_TABLE_COUNT];
};

static void drop_tables(struct indexed *indexed) {
    if (indexed->tables != NULL) indexed->tables->close(indexed->tables);
    uspi_index_clear(&indexed->index);
    indexed->tables = NULL;
}

static void drop_symbols(struct uspi_module *module) {
    for (unsigned i = 0; i < USPI_TABLE_COUNT; i++) drop_tables(&module->tables[i]);
    uspi_file_close(module->debug);
    uspi_file_close(module->file);
    module->debug = module->file = NULL;
}

void uspi_module_free(struct uspi_module *module) {
    if (module == NULL) return;
    drop_symbols(module);
    uspi_lock_free(module->lock);
    free((char *)(uintptr_t)module->image.path);
    free(module);
}

struct uspi_module *uspi_module_create(const struct usp_image *image, const struct uspi_search *search,
                                       const struct uspi_process *process) {
    struct uspi_module *module = calloc(1, sizeof *module);
    if (module == NULL) return NULL;
    module->image = *image;
    module->image.path = strdup(image->path);
    module->search = search;
    module->process = process;
    module->lock = uspi_lock_create();
    atomic_init(&module->is_made, false);
    if (module->image.path != NULL && module->lock != NULL) return module;
    uspi_module_free(module);
    return NULL;
}

const char *uspi_module_path(const struct uspi_module *module) { return module->image.path; }

/* Of an ELF image nothing is read there. */
static bool may_read_memory(const struct uspi_module *module) {
    return module->process->memory.read != NULL && (module->image.flags & USP_IMAGE_MACHO) != 0;
}

bool uspi_module_is_of(const struct uspi_module *module, const struct usp_image *image) {
    const struct usp_image *own = &module->image;
    if (own->build_id_size != image->build_id_size || own->flags != image->flags) return false;
    if (memcmp(own->build_id, image->build_id, own->build_id_size) != 0) return false;
    bool is_one_place = own->build_id_size == 0 || may_read_memory(module);
    if (is_one_place && own->load_address != image->load_address) return false;
    return strcmp(own->path, image->path) == 0;
}

static int index_tables(struct indexed *indexed) {
    struct uspi_gathering gathering = {0};
    if (indexed->tables == NULL) return USP_OK;
    int status = indexed->tables->gather(indexed->tables, &gathering);
    if (status == USP_OK) {
        status = uspi_index_build(&indexed->index, &gathering, indexed->tables->prefer, indexed->tables);
    }
    uspi_gathering_clear(&gathering);
    if (status != USP_OK) drop_tables(indexed);
    return status;
}

/* Where the image's Mach-O file can be read: its own file, or what the process has loaded of it. */
static int find_macho(struct uspi_module *module, bool in_memory, struct uspi_bytes *bytes) {
    if (!in_memory && module->file != NULL) {
        *bytes = uspi_file_bytes(module->file);
        return USP_OK;
    }
    if (!in_memory || !may_read_memory(module)) return USP_ERROR_NOT_FOUND;
    module->memory = uspi_source_of_memory(&module->process->memory, module->image.path);
    *bytes = uspi_bytes_at(&module->memory, module->image.load_address);
    return USP_OK;
}

static int open_macho_symbols(struct uspi_module *module) {
    struct uspi_bytes own, debug = {0};
    const uint8_t *uuid = uspi_macho_image_uuid(&module->image);
    int status = find_macho(module, module->file == NULL, &own);
    if (status != USP_OK) return status;
    if (module->debug != NULL) debug = uspi_file_bytes(module->debug);
    return uspi_macho_tables_open(own, module->debug != NULL ? &debug : NULL, uuid, module->image.arch,
                                  &module->tables[USPI_TABLE_SYMBOLS].tables);
}

static int open_symbols(struct uspi_module *module) {
    const struct usp_image *image = &module->image;
    bool is_macho = (image->flags & USP_IMAGE_MACHO) != 0;
    if (module->file == NULL && !is_macho) return USP_ERROR_NOT_FOUND;
    int status = uspi_debug_file_open(image, module->search, &module->debug, NULL);
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (is_macho) return open_macho_symbols(module);
    return uspi_elf_tables_open(module->file, module->debug, &module->tables[USPI_TABLE_SYMBOLS].tables);
}

/* What stands in the file is better than what stands in memory: nothing has been written over it. */
static int open_objc(struct uspi_module *module) {
    const struct usp_image *image = &module->image;
    struct uspi_tables **tables = &module->tables[USPI_TABLE_OBJC].tables;
    int status = USP_ERROR_NOT_FOUND;
    if ((image->flags & USP_IMAGE_MACHO) == 0) return USP_OK;
    for (unsigned in_memory = 0; in_memory < 2; in_memory++) {
        struct uspi_bytes bytes;
        struct uspi_macho macho;
        if (find_macho(module, in_memory != 0, &bytes) != USP_OK) continue;
        status = uspi_fat_pick(bytes, uspi_macho_image_uuid(image), image->arch, &macho, NULL);
        if (status == USP_OK) status = uspi_objc_tables_open(&macho, in_memory != 0 ? module->process : NULL, tables);
        if (status == USP_OK || status == USP_ERROR_NO_MEMORY) break;
    }
    return status;
}

static int make_symbols(struct uspi_module *module) {
    int status = uspi_image_file_open(&module->image, module->search, &module->file, NULL);
    if (status != USP_ERROR_NO_MEMORY) status = open_symbols(module);
    if (status != USP_ERROR_NO_MEMORY) status = open_objc(module);
    for (unsigned i = 0; status != USP_ERROR_NO_MEMORY && i < USPI_TABLE_COUNT; i++) {
        status = index_tables(&module->tables[i]);
    }
    if (status == USP_ERROR_NO_MEMORY) drop_symbols(module);
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
    return make_once(module) == USP_OK && module->tables[USPI_TABLE_SYMBOLS].tables != NULL;
}

int uspi_module_find(struct uspi_module *module, enum uspi_table which, usp_addr address, struct uspi_names *names,
                     struct uspi_named *named) {
    const struct indexed *indexed = &module->tables[which];
    int status = make_once(module);
    if (status != USP_OK) return status;
    if (indexed->tables == NULL) return USP_ERROR_ABSENT;
    uint32_t symbol = uspi_index_find(&indexed->index, address);
    if (symbol == USPI_NO_SYMBOL) return USP_ERROR_NOT_FOUND;
    status = indexed->tables->get(indexed->tables, symbol, names, named);
    return status == USP_OK || status == USP_ERROR_NO_MEMORY ? status : USP_ERROR_NOT_FOUND;
}
