/* SPDX-License-Identifier: MIT */
/* Makes the index of an image (lines.h) from its debug information, and from its symbols as the symbolizer finds
 * them. */
#include "lib/base/path.h"
#include "lib/base/sized.h"
#include "lib/images/dyld_image.h"
#include "lib/os/os.h"
#include "lib/symbolize/macho/cache_stubs.h"
#include "lib/symbolize/store/index_write.h"
#include "lib/symbolize/symbolizer.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void usp_index_init(struct usp_index *index, const char *store) {
    memset(index, 0, sizeof *index);
    index->size = sizeof *index;
    index->store = store;
}

struct adding {
    struct uspi_index_writer *writer;
    struct usp_index *index;
    struct uspi_module *module;
    struct uspi_epoch *readers;
    struct uspi_names *names; /* keeps names that are not in a mapped file */
    usp_addr slide;
    uint64_t moved;
    usp_addr start; /* of the last added symbol, as in the index */
};

/* A usp_name_visitor: adds another name of the last added symbol. */
static int add_other_name(void *context, const char *name) {
    const struct adding *adding = context;
    return uspi_index_add_other_name(adding->writer, adding->start, name) ? 0 : USP_ERROR_NO_MEMORY;
}

/* A usp_symbol_visitor: adds a symbol to the index, and its other names. */
static int add_symbol(void *context, const struct usp_symbol *symbol) {
    struct adding *adding = context;
    const usp_addr linked = symbol->start - adding->slide;
    adding->start = linked - adding->moved;
    if (!uspi_index_add_symbol(adding->writer, adding->start, symbol->extent, symbol->name, symbol->strategy)) return 1;
    adding->index->symbols++;
    const uint32_t ticket = uspi_epoch_enter(adding->readers);
    const struct uspi_found_function found = {symbol->strategy, linked, linked};
    int status = uspi_module_visit_aliases(adding->module, &found, adding->names, add_other_name, adding);
    uspi_epoch_leave(adding->readers, ticket);
    return status != USP_OK;
}

/* Adds a name by which units call a function of another unit. uspi_index_finish drops the symbol's own name. */
static bool add_callee(void *context, const char *name) {
    const struct adding *adding = context;
    usp_addr start;
    const uint32_t ticket = uspi_epoch_enter(adding->readers);
    int status = uspi_module_named(adding->module, name, &start);
    uspi_epoch_leave(adding->readers, ticket);
    if (status != USP_OK) return status != USP_ERROR_NO_MEMORY;
    return uspi_index_add_callee(adding->writer, start - adding->moved, name);
}

/* Opens the store's index of the image's build, if it is intact. Returns NULL when there is none. */
static struct uspi_index_file *open_kept(const char *store, const struct usp_image *image) {
    struct uspi_index_file *kept;
    if (uspi_index_file_find(store, image, true, &kept, NULL) != USP_OK) return NULL;
    if (uspi_index_file_check(kept, NULL) == USP_OK) return kept;
    uspi_index_file_close(kept);
    return NULL;
}

/* How much an index can say about lines. */
enum richness { SYMBOLS_ALONE, PARTIAL_LINES, LACKING_INFORMATION, DEBUG_INFORMATION };

/* flags: enum uspi_index_flags. */
static enum richness richness_of(uint64_t blocks, uint32_t flags) {
    if (blocks == 0) return SYMBOLS_ALONE;
    if ((flags & (USPI_INDEX_PARTIAL | USPI_INDEX_RELATIVE)) != 0) return PARTIAL_LINES;
    return (flags & USPI_INDEX_LACKING) != 0 ? LACKING_INFORMATION : DEBUG_INFORMATION;
}

static enum richness richness_of_index(const struct uspi_index_file *index) {
    return richness_of(index->blocks, index->flags);
}

static void keep(const struct uspi_index_file *kept, struct usp_index *index) {
    index->is_kept = 1;
    index->index_bytes = uspi_file_bytes(kept->file).size;
    index->blocks = kept->blocks;
    index->symbols = uspi_index_symbol_count(kept);
    /* The message is about what was read. It holds for an index that lacks parts, too. */
    if (richness_of_index(kept) != LACKING_INFORMATION) index->message[0] = '\0';
}

/* Returns whether an index says at least as much as what was just read: lines count first, then symbols. Of two that
 * lack parts, the larger one found more of them. */
static bool is_as_rich(const struct uspi_index_file *kept, enum richness richness, const struct usp_index *index) {
    if (richness_of_index(kept) != richness) return richness_of_index(kept) > richness;
    if (richness == LACKING_INFORMATION) return uspi_file_bytes(kept->file).size >= index->index_bytes;
    return uspi_index_symbol_count(kept) >= index->symbols;
}

/* Returns whether USP_INDEX_KEEP is set and the store has an index with lines to which a source of this richness adds
 * nothing. That index is kept. */
static bool keeps_lines(const struct usp_image *image, enum richness richness, struct usp_index *index) {
    if ((index->flags & USP_INDEX_KEEP) == 0) return false;
    struct uspi_index_file *kept = open_kept(index->store, image);
    const bool stays = kept != NULL && kept->blocks > 0 && richness_of_index(kept) >= richness;
    if (stays) keep(kept, index);
    uspi_index_file_close(kept);
    return stays;
}

/* Puts the index's bytes at `path` in the store, with these permissions. With USP_INDEX_KEEP, a poorer index does not
 * replace a richer one, even if another process has stored that one meanwhile. */
static int publish(const char *path, uint32_t mode, const uint8_t *bytes, enum richness richness,
                   const struct usp_image *image, struct usp_index *index) {
    const size_t top = strlen(index->store);
    const int lock = uspi_os_lock_folder(path, top);
    struct uspi_index_file *kept = (index->flags & USP_INDEX_KEEP) != 0 ? open_kept(index->store, image) : NULL;
    int status = USP_OK;
    if (kept != NULL && is_as_rich(kept, richness, index)) {
        keep(kept, index);
    } else {
        struct uspi_error error;
        status = uspi_os_publish(path, top, mode, bytes, (size_t)index->index_bytes, &error);
        if (status != USP_OK) snprintf(index->message, sizeof index->message, "%s", error.text);
    }
    uspi_index_file_close(kept);
    uspi_os_unlock_folder(lock);
    return status;
}

/* `withheld`: permissions that the files that were read withhold from the index. */
static int finish(struct uspi_index_writer *writer, const struct uspi_index_header *header, uint32_t withheld,
                  const struct usp_image *image, struct usp_index *index) {
    uint8_t *bytes = NULL;
    size_t size = 0;
    char *path = uspi_index_path(index->store, header->build_id, header->build_id_size);
    int status = path != NULL ? uspi_index_finish(writer, header, &bytes, &size) : USP_ERROR_NO_MEMORY;
    if (status == USP_OK) {
        index->index_bytes = size;
        status =
            publish(path, 0600 | (0066 & ~withheld), bytes, richness_of(index->blocks, header->flags), image, index);
    }
    free(bytes);
    free(path);
    return status;
}

static int fill(struct usp_symbolizer *symbolizer, const struct usp_image *image, struct uspi_index_writer *writer,
                struct usp_index *index) {
    struct uspi_query query = {0};
    struct usp_symbol symbol = {0};
    struct uspi_error why = {0};
    struct uspi_epoch *readers = uspi_symbolizer_readers(symbolizer);
    const uint32_t ticket = uspi_epoch_enter(readers);
    int status = uspi_symbolizer_ask(symbolizer, NULL, image->load_address, NULL, &query, &symbol);
    struct uspi_lines *lines = query.module != NULL ? uspi_module_lines(query.module) : NULL;
    uspi_epoch_leave(readers, ticket);
    if (status == USP_ERROR_NO_MEMORY || lines == NULL) return status == USP_OK ? USP_ERROR_NO_MEMORY : status;
    struct uspi_line_source *source = uspi_lines_source(lines);
    struct adding adding = {.writer = writer,
                            .index = index,
                            .module = query.module,
                            .readers = readers,
                            .names = query.names,
                            .slide = image->slide,
                            .moved = uspi_lines_moved(lines)};
    const bool is_macho = (image->flags & USP_IMAGE_MACHO) != 0, is_relative = source != NULL && source->is_relative;
    const bool is_partial = source != NULL && source->is_partial;
    if (is_partial && keeps_lines(image, PARTIAL_LINES, index)) return USP_OK;
    if (source != NULL) {
        const struct uspi_index_work work = {index->threads, index->progress, index->context};
        index->source_bytes = source->size;
        status = uspi_index_add_lines(writer, source, &work, &why);
        if (status != USP_OK) {
            snprintf(index->message, sizeof index->message, "%s", why.text);
            return status;
        }
        index->blocks = source->units;
        /* A file that several share is opened with the source, and its units report nothing about it. */
        if (why.status == USP_OK && atomic_load_explicit(&source->lacks_files, memory_order_relaxed)) {
            uspi_lines_explain(lines, why.text, sizeof why.text);
        }
    } else if (uspi_lines_explain(lines, why.text, sizeof why.text) == USP_OK) {
        /* Object files change with the next build, and nothing in them identifies their build. */
        snprintf(why.text, sizeof why.text, "its lines are in object files; dsymutil makes a dSYM of them");
    }
    snprintf(index->message, sizeof index->message, "%s", why.text);
    status = usp_symbolizer_visit(symbolizer, image->load_address, add_symbol, &adding);
    if (status == 1 || (source != NULL && !uspi_index_visit_callees(writer, add_callee, &adding)))
        return USP_ERROR_NO_MEMORY;
    if (status != USP_OK && (status != USP_ERROR_NOT_FOUND || source == NULL)) return status;
    const bool lacks_files = source != NULL && atomic_load_explicit(&source->lacks_files, memory_order_relaxed);
    const uint32_t flags =
        (is_macho ? (uint32_t)USPI_INDEX_MACHO : 0) | (is_relative ? (uint32_t)USPI_INDEX_RELATIVE : 0) |
        (is_partial ? (uint32_t)USPI_INDEX_PARTIAL : 0) | (lacks_files ? (uint32_t)USPI_INDEX_LACKING : 0);
    const struct uspi_index_header header = {.flags = flags,
                                             .arch = image->arch,
                                             .variant = image->variant,
                                             .header = image->load_address - image->slide - adding.moved,
                                             .build_id_size = image->build_id_size,
                                             .build_id = image->build_id,
                                             .name = uspi_last_component(image->path)};
    return finish(writer, &header, uspi_module_withheld(query.module), image, index);
}

/* ---- stubs of a shared cache ---- */

/* Implements uspi_stub_visitor. */
static bool add_stub(void *context, usp_addr start, uint32_t size, const char *name) {
    const struct adding *adding = context;
    adding->index->symbols++;
    return uspi_index_add_symbol(adding->writer, start, size, name, USP_STRATEGY_SYMTAB);
}

/* Makes the index of a cache's stubs: reports refer to these by the UUID of the cache and an offset from its base. */
static int fill_stubs(const struct uspi_dyld_cache *cache, const struct usp_image *image,
                      struct uspi_index_writer *writer, struct usp_index *index) {
    struct adding adding = {.writer = writer, .index = index};
    const int status = uspi_cache_stubs_visit(cache, add_stub, &adding);
    if (status != USP_OK) return status;
    if (index->symbols == 0) return USP_ERROR_NOT_FOUND;
    const struct uspi_index_header header = {.flags = USPI_INDEX_MACHO,
                                             .arch = cache->arch,
                                             .variant = cache->variant,
                                             .header = cache->base,
                                             .build_id_size = image->build_id_size,
                                             .build_id = image->build_id,
                                             .name = uspi_last_component(image->path)};
    return finish(writer, &header, uspi_dyld_withheld(cache), image, index);
}

/* Returns why an image of a shared cache has no names: USP_ERROR_FORMAT, with a message, if it is damaged. */
static int explain_nameless(struct usp_symbolizer *symbolizer, const struct usp_image *image, struct usp_index *index) {
    int status = usp_symbolizer_explain_file(symbolizer, image->load_address, index->message, sizeof index->message);
    if (status == USP_ERROR_FORMAT) return status;
    index->message[0] = '\0';
    return USP_ERROR_NOT_FOUND;
}

/* Returns the cache that has this UUID itself; NULL: none. */
static const struct uspi_dyld_cache *cache_of(const struct usp_dyld_caches *caches, const struct usp_image *image) {
    struct usp_image found;
    if (caches == NULL || image->build_id_size != 16) return NULL;
    return usp_dyld_caches_find(caches, image->build_id, &found) == USP_OK
               ? NULL
               : uspi_dyld_cache_of(caches, image->build_id);
}

int usp_index_write(const struct usp_images *images, const struct usp_image *image, struct usp_index *index) {
    if (images == NULL || image == NULL || index == NULL || index->store == NULL) return USP_ERROR_ARGUMENT;
    if (index->size < USPI_LEAST_SIZE(index)) return USP_ERROR_ARGUMENT;
    struct usp_symbolizer *symbolizer = NULL;
    struct usp_images *one = NULL;
    index->message[0] = '\0';
    index->source_bytes = index->index_bytes = index->blocks = index->symbols = 0;
    index->is_kept = 0;
    if (image->build_id_size < 2 || image->section != 0) return USP_ERROR_UNSUPPORTED;
    if (keeps_lines(image, DEBUG_INFORMATION, index)) return USP_OK;
    int status = usp_images_create(image, 1, &one);
    struct usp_symbolizer_options options;
    usp_symbolizer_options_init(&options);
    /* An older caller's struct ends before the field. */
    const size_t needed = offsetof(struct usp_index, dyld_caches) + sizeof index->dyld_caches;
    if (index->size >= needed) options.dyld_caches = index->dyld_caches;
    if (status == USP_OK) status = usp_symbolizer_create(one, &options, &symbolizer);
    struct uspi_index_writer *writer = uspi_index_writer_create();
    if (status == USP_OK && writer == NULL) status = USP_ERROR_NO_MEMORY;
    const struct uspi_dyld_cache *cache = cache_of(options.dyld_caches, image);
    if (status == USP_OK) {
        status = cache != NULL ? fill_stubs(cache, image, writer, index) : fill(symbolizer, image, writer, index);
        const bool is_nameless = status == USP_ERROR_NOT_FOUND && cache == NULL;
        if (is_nameless && options.dyld_caches != NULL) status = explain_nameless(symbolizer, image, index);
    }
    uspi_index_writer_free(writer);
    usp_symbolizer_free(symbolizer);
    usp_images_free(one);
    return status;
}
