/* SPDX-License-Identifier: MIT */
/* See module.h. */
#include "lib/symbolize/module.h"

#include "lib/base/hash.h"
#include "lib/images/dyld_image.h"
#include "lib/images/macho_file.h"
#include "lib/images/symbol_file.h"
#include "lib/object/fat.h"
#include "lib/symbolize/macho/cache_stubs.h"
#include "lib/symbolize/objc/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The symbols of one table, made from the files. They can be evicted and made again. */
struct symbols {
    struct uspi_cached cached;
    struct uspi_tables *tables;     /* NULL: the table does not exist */
    bool is_excerpt;                /* the index covers only `excerpt`; false: it is complete, or there are no tables */
    uint32_t earlier;               /* number of excerpts that it has replaced */
    _Atomic(uint32_t) direct_count; /* how often `find_directly` of the tables was called */
    struct uspi_index index;
    struct uspi_excerpt excerpt;
};

/* The starts of functions by their names. */
struct named {
    struct uspi_cached cached;
    struct uspi_by_name starts;
};

/* How many excerpts are made of tables that skip what lies outside of them. Then the whole index costs less. */
#define EXCERPTS_MAX 16u

/* What is looked up: an address, or the whole index. */
struct lookup {
    usp_addr address;                     /* as linked */
    const struct uspi_expected *expected; /* further addresses that will be looked up; NULL: not known */
    bool is_all;                          /* make the whole index instead */
    bool is_direct;                       /* make an excerpt without windows if the tables have `find_directly` */
};

/* What each look-up reads comes first, in few cache lines. */
struct uspi_module {
    struct uspi_cache_slot slots[USPI_TABLE_COUNT];
    struct uspi_cache *cache;
    struct usp_image image; /* its path is owned */
    const struct uspi_image_sources *places;
    struct uspi_lock *lock;          /* held while the symbols are made */
    struct uspi_file *file, *debug;  /* protected by the lock; NULL: not opened */
    struct uspi_image_memory memory; /* protected by the lock; memory.read is NULL: not opened */
    struct uspi_source memory_source;
    struct uspi_cache_slot by_name;     /* holds a struct named */
    _Atomic(struct uspi_lines *) lines; /* NULL: not searched for yet */
};

static void destroy_symbols(struct uspi_cached *cached) {
    struct symbols *symbols = (struct symbols *)cached;
    if (symbols->tables != NULL) symbols->tables->close(symbols->tables);
    uspi_index_clear(&symbols->index);
    free(symbols);
}

void uspi_module_free(struct uspi_module *module) {
    if (module == NULL) return;
    uspi_lines_close(atomic_load_explicit(&module->lines, memory_order_relaxed));
    if (module->memory.memory.read != NULL) uspi_image_memory_close(&module->memory);
    uspi_file_close(module->debug);
    uspi_file_close(module->file);
    uspi_lock_free(module->lock);
    free((char *)(uintptr_t)module->image.path);
    free(module);
}

/* Returns the length of the path of the file or member, without a section's name. Sections of one object share a
 * module. */
static size_t path_length(const struct usp_image *image) {
    const size_t length = strlen(image->path);
    if (image->section == 0 || length == 0 || image->path[length - 1] != ')') return length;
    for (size_t i = length - 1; i > 0 && image->path[i] != '/'; i--) {
        if (image->path[i - 1] == ':' && image->path[i] == '(') return i - 1;
    }
    return length;
}

struct uspi_module *uspi_module_create(const struct usp_image *image, const struct uspi_image_sources *places,
                                       struct uspi_cache *cache) {
    struct uspi_module *module = calloc(1, sizeof *module);
    if (module == NULL) return NULL;
    module->image = *image;
    char *path = strdup(image->path);
    if (path != NULL) path[path_length(image)] = '\0';
    module->image.path = path;
    module->places = places;
    module->cache = cache;
    module->lock = uspi_lock_create();
    if (module->image.path != NULL && module->lock != NULL) return module;
    uspi_module_free(module);
    return NULL;
}

const char *uspi_module_path(const struct uspi_module *module) { return module->image.path; }

static bool is_macho(const struct uspi_module *module) { return (module->image.flags & USP_IMAGE_MACHO) != 0; }

/* Returns whether tables may be read from the image's memory in place. Tables in an ELF image's memory are copied
 * instead, so they do not depend on where it is loaded. */
static bool may_read_memory(const struct uspi_module *module) {
    const struct uspi_image_sources *places = module->places;
    return is_macho(module) && (places->memory != NULL || places->in_process || places->process != 0);
}

bool uspi_module_is_of(const struct uspi_module *module, const struct usp_image *image) {
    const struct usp_image *own = &module->image;
    const uint32_t changed = (own->flags ^ image->flags) & ~(uint32_t)USP_IMAGE_TEXT_OFFSET;
    if (own->build_id_size != image->build_id_size || changed != 0) return false;
    if (memcmp(own->build_id, image->build_id, own->build_id_size) != 0) return false;
    if (own->member_offset != image->member_offset || (own->section != 0) != (image->section != 0)) return false;
    if (own->section != 0) {
        const size_t length = path_length(image);
        return strlen(own->path) == length && memcmp(own->path, image->path, length) == 0;
    }
    bool is_one_place = own->build_id_size == 0 || may_read_memory(module);
    if (is_one_place && own->load_address != image->load_address) return false;
    return strcmp(own->path, image->path) == 0;
}

uint64_t uspi_module_hash(const struct usp_image *image) {
    return uspi_mix(uspi_hash_bytes(image->path, path_length(image)),
                    uspi_hash_bytes((const char *)image->build_id, image->build_id_size));
}

static int open_elf(struct uspi_module *module, struct uspi_tables **tables) {
    int status = module->file != NULL ? USP_OK : USP_ERROR_NOT_FOUND;
    if (status != USP_OK && (module->image.flags & USP_IMAGE_KERNEL) != 0 && module->places->build_ids != NULL) {
        const int kept = uspi_kallsyms_open(&module->image, module->places, tables);
        if (kept == USP_OK || kept == USP_ERROR_NO_MEMORY) return kept;
    }
    if (status == USP_OK) {
        /* A file that was split off from an unlinked object may number its sections differently. */
        if (module->debug == NULL && module->image.section == 0 && !uspi_elf_has_symtab(module->file)) {
            status = uspi_debug_file_open(&module->image, module->file, module->places, &module->debug, NULL);
        }
        if (status != USP_ERROR_NO_MEMORY) status = uspi_elf_tables_open(module->file, module->debug, tables);
    }
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    return uspi_elf_memory_tables_open(&module->image, module->places, tables);
}

/* Finds the bytes of the Mach-O image: in its own file, or with `in_memory` as the process has loaded it. */
static int find_macho(struct uspi_module *module, bool in_memory, struct uspi_bytes *bytes) {
    if (!in_memory && module->file != NULL) {
        *bytes = uspi_file_bytes(module->file);
        return USP_OK;
    }
    if (!in_memory) return USP_ERROR_NOT_FOUND;
    if (module->memory.memory.read == NULL) {
        int status = uspi_image_memory_open(module->places, &module->memory);
        if (status != USP_OK) {
            module->memory.memory.read = NULL;
            return status;
        }
        module->memory_source = uspi_source_of_memory(&module->memory.memory, module->image.path);
    }
    *bytes = uspi_bytes_at(&module->memory_source, module->image.load_address);
    return USP_OK;
}

static int open_macho(struct uspi_module *module, struct uspi_tables **tables) {
    const struct uspi_wanted_slice wanted = uspi_slice_of_image(&module->image);
    struct uspi_bytes own, debug = {0};
    int status = USP_OK;
    if (module->debug == NULL) {
        status = uspi_debug_file_open(&module->image, module->file, module->places, &module->debug, NULL);
        if (status == USP_ERROR_NO_MEMORY) return status;
    }
    status = find_macho(module, module->file == NULL, &own);
    if (status != USP_OK) return status;
    if (module->debug != NULL) debug = uspi_file_bytes(module->debug);
    return uspi_macho_tables_open(own, module->debug != NULL ? &debug : NULL, &wanted, tables);
}

/* Opens the Objective-C metadata. The file is preferred to memory, because the process may have overwritten what it has
 * loaded. */
static int open_objc(struct uspi_module *module, struct uspi_tables **tables) {
    const struct uspi_wanted_slice wanted = uspi_slice_of_image(&module->image);
    const struct uspi_image_sources *places = module->places;
    struct uspi_pointers in_cache;
    struct uspi_bytes bytes;
    struct uspi_macho macho;
    int status = USP_ERROR_NOT_FOUND;
    /* In a shared cache, metadata of an image refers to names in other ones. */
    if (uspi_dyld_image_in_cache(module->file, &bytes, &in_cache)) {
        status = uspi_macho_open(&macho, bytes, NULL);
        return status == USP_OK ? uspi_objc_tables_open(&macho, &in_cache, tables) : status;
    }
    for (unsigned in_memory = 0; in_memory < 2; in_memory++) {
        if (find_macho(module, in_memory != 0, &bytes) != USP_OK) continue;
        status = uspi_fat_pick(bytes, &wanted, &macho, NULL);
        if (status == USP_OK) status = uspi_objc_tables_open(&macho, in_memory != 0 ? &places->pointers : NULL, tables);
        if (status == USP_OK || status == USP_ERROR_NO_MEMORY) break;
    }
    return status;
}

static int open_starts(struct uspi_module *module, struct uspi_tables **tables) {
    const struct uspi_wanted_slice wanted = uspi_slice_of_image(&module->image);
    struct uspi_bytes bytes;
    struct uspi_macho macho;
    int status = find_macho(module, module->file == NULL, &bytes);
    if (status == USP_OK) status = uspi_fat_pick(bytes, &wanted, &macho, NULL);
    return status == USP_OK ? uspi_macho_starts_open(&macho, tables) : status;
}

/* Opens the image's own file, unless it is open already. */
static int open_file(struct uspi_module *module) {
    return module->file != NULL ? USP_OK : uspi_image_file_open(&module->image, module->places, &module->file, NULL);
}

/* Returns the module's lines. The caller holds the lock. */
static struct uspi_lines *get_lines(struct uspi_module *module) {
    struct uspi_lines *lines = atomic_load_explicit(&module->lines, memory_order_relaxed);
    struct uspi_dyld_stubs stubs;
    if (lines == NULL && open_file(module) != USP_ERROR_NO_MEMORY) {
        /* Stubs are in no object file. */
        const struct uspi_file *file = uspi_dyld_stubs_of(module->file, &stubs) ? NULL : module->file;
        lines = uspi_lines_open(&module->image, module->places, file, module->cache);
        atomic_store_explicit(&module->lines, lines, memory_order_release);
    }
    return lines;
}

/* Opens the symbols that an index has kept of a file that was not found. */
static int open_indexed(struct uspi_module *module, enum uspi_table which, struct uspi_tables **tables) {
    const struct uspi_lines *lines = get_lines(module);
    if (lines == NULL) return USP_ERROR_NO_MEMORY;
    struct uspi_index_file *index = uspi_lines_index(lines);
    if (index == NULL) return USP_ERROR_NOT_FOUND;
    const uint32_t strategy = which == USPI_TABLE_OBJC ? USP_STRATEGY_OBJC_METADATA : USP_STRATEGY_SYMTAB;
    return uspi_index_tables_open(index, strategy, uspi_lines_moved(lines), tables);
}

/* Opens a table of the image's file or, without the file, of an index or the image's memory. */
static int open_tables(struct uspi_module *module, enum uspi_table which, struct uspi_tables **tables) {
    *tables = NULL;
    if (open_file(module) == USP_ERROR_NO_MEMORY) return USP_ERROR_NO_MEMORY;
    if (module->file == NULL && module->places->index_store != NULL && which != USPI_TABLE_STARTS) {
        int status = open_indexed(module, which, tables);
        if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    }
    if (module->file != NULL && uspi_symbol_file_is(uspi_file_bytes(module->file))) {
        if (which != USPI_TABLE_SYMBOLS) return USP_ERROR_NOT_FOUND;
        return uspi_symfile_tables_open(uspi_file_bytes(module->file), &module->image, tables);
    }
    struct uspi_dyld_stubs stubs;
    if (uspi_dyld_stubs_of(module->file, &stubs)) {
        return which == USPI_TABLE_SYMBOLS ? uspi_cache_stubs_open(&stubs, tables) : USP_ERROR_NOT_FOUND;
    }
    if (which == USPI_TABLE_OBJC) return open_objc(module, tables);
    if (which == USPI_TABLE_STARTS) return open_starts(module, tables);
    return is_macho(module) ? open_macho(module, tables) : open_elf(module, tables);
}

/* The context of add_expected, which adds the expected addresses of the image to the excerpt. */
struct plan {
    struct uspi_excerpt *excerpt;
    usp_addr slide;   /* of the image */
    usp_addr address; /* the address that is looked up, as linked */
    bool is_alone, has_room;
};

static bool add_expected(void *context, usp_addr address) {
    struct plan *plan = context;
    const usp_addr linked = address - plan->slide;
    plan->is_alone = plan->is_alone && linked == plan->address;
    plan->has_room = uspi_excerpt_add(plan->excerpt, linked);
    return plan->has_room;
}

/* Plans an excerpt for this lookup and the expected ones. If no other address of the image is expected, or another
 * excerpt costs little, the excerpt has only the symbol that holds this one. Returns false when the addresses need more
 * windows than an excerpt has. */
static bool plan_excerpt(const struct uspi_module *module, const struct uspi_tables *tables,
                         const struct lookup *lookup, struct uspi_excerpt *excerpt) {
    const struct usp_image *image = &module->image;
    const struct uspi_expected *expected = lookup->expected;
    usp_addr start;
    uspi_excerpt_begin(excerpt);
    struct plan plan = {excerpt, image->slide, lookup->address, expected != NULL || tables->skips,
                        uspi_excerpt_add(excerpt, lookup->address)};
    if (plan.has_room && expected != NULL) {
        expected->visit(expected, image->load_address, image->end, add_expected, &plan);
    }
    const bool is_alone = plan.is_alone && tables->nearest != NULL;
    if (is_alone && tables->nearest(tables, lookup->address, &start)) {
        uspi_excerpt_begin_at(excerpt, start, lookup->address);
    }
    return plan.has_room;
}

static int make_index(const struct uspi_tables *tables, struct symbols *symbols) {
    struct uspi_gathering gathering = {.excerpt = symbols->is_excerpt ? &symbols->excerpt : NULL};
    int status = tables->gather(tables, &gathering);
    if (status == USP_OK) status = uspi_index_build(&symbols->index, &gathering, tables->prefer, tables);
    uspi_gathering_clear(&gathering);
    return status;
}

/* Makes the symbols of a table. Returns NULL when memory is exhausted, the only error after which another attempt makes
 * sense. */
static struct symbols *make_symbols(struct uspi_module *module, enum uspi_table which, const struct lookup *lookup) {
    struct symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols == NULL) return NULL;
    int status = open_tables(module, which, &symbols->tables);
    if (status == USP_OK) {
        const bool is_direct = lookup->is_direct && symbols->tables->find_directly != NULL;
        const bool is_all = lookup->is_all || symbols->tables->reads_all;
        symbols->is_excerpt =
            is_direct || (!is_all && plan_excerpt(module, symbols->tables, lookup, &symbols->excerpt));
        if (!is_direct) status = make_index(symbols->tables, symbols);
    }
    if (status == USP_ERROR_NO_MEMORY) {
        destroy_symbols(&symbols->cached);
        return NULL;
    }
    if (status != USP_OK && symbols->tables != NULL) {
        symbols->tables->close(symbols->tables);
        symbols->tables = NULL;
        symbols->is_excerpt = false;
    }
    symbols->cached.destroy = destroy_symbols;
    symbols->cached.memory = uspi_index_memory(&symbols->index);
    /* Functions that have a name are counted once, in the table that names them. */
    symbols->cached.symbols = which < USPI_TABLE_NAMED ? symbols->index.named : 0;
    if (symbols->tables != NULL) symbols->cached.memory += symbols->tables->memory;
    return symbols;
}

/* Makes the symbols that replace `had`, which could not answer the lookup. `had` is NULL when no symbols were made yet.
 * Returns NULL when memory is exhausted. The caller entered before it read `had`. So `had` and its tables stay valid,
 * even if another thread replaces them. */
static struct symbols *replace_symbols(struct uspi_module *module, enum uspi_table which, const struct symbols *had,
                                       const struct lookup *lookup) {
    struct uspi_cache_slot *slot = &module->slots[which];
    uspi_lock_take(module->lock);
    struct symbols *symbols = (struct symbols *)uspi_cache_get(module->cache, slot);
    /* Another thread may have made or evicted the symbols meanwhile. */
    if (symbols == NULL || symbols == had) {
        symbols = make_symbols(module, which, lookup);
        if (symbols != NULL) {
            symbols->earlier = had != NULL ? had->earlier + 1 : 0;
            uspi_cache_put(module->cache, slot, &symbols->cached);
        }
    }
    uspi_lock_give(module->lock);
    return symbols;
}

/* Returns whether the tables have `find_directly`, but were asked so often that the whole index costs less. */
static bool is_worth_an_index(const struct symbols *symbols) {
    return symbols->tables->find_directly != NULL &&
           atomic_load_explicit(&symbols->direct_count, memory_order_relaxed) >= symbols->tables->direct_limit;
}

/* Looks an address up without an index. Returns false when the tables cannot, or an index costs less. */
static bool find_directly(struct symbols *symbols, usp_addr address, uint32_t *symbol,
                          struct uspi_symbol_answer *named) {
    if (symbols->tables->find_directly == NULL || is_worth_an_index(symbols)) return false;
    const uint32_t count = atomic_load_explicit(&symbols->direct_count, memory_order_relaxed);
    atomic_store_explicit(&symbols->direct_count, count + 1, memory_order_relaxed);
    return symbols->tables->find_directly(symbols->tables, address, symbol, named);
}

/* Returns symbols that give the whole index's answer for the address: those of an excerpt if it can decide, otherwise
 * those of the whole file. Returns NULL when memory is exhausted. */
static struct symbols *decide(struct uspi_module *module, enum uspi_table which, struct symbols *symbols,
                              const struct lookup *lookup) {
    const struct lookup all = {.is_all = true};
    if (symbols == NULL) symbols = replace_symbols(module, which, NULL, lookup);
    while (symbols != NULL && symbols->is_excerpt) {
        usp_addr start = 0; /* stays 0 when nothing begins at or below the address */
        uint64_t size;
        (void)uspi_index_find(&symbols->index, lookup->address, &start, &size);
        if (uspi_excerpt_decides(&symbols->excerpt, lookup->address, start)) break;
        const bool may_have_window = uspi_excerpt_window(&symbols->excerpt, lookup->address) == NULL;
        const bool is_cheap =
            symbols->tables->skips && symbols->earlier < EXCERPTS_MAX && may_have_window && !is_worth_an_index(symbols);
        symbols = replace_symbols(module, which, symbols, is_cheap ? lookup : &all);
    }
    return symbols;
}

/* Finds the symbol of an address where there is no whole index. Returns what uspi_index_find would. *symbols become those
 * that know it; NULL when memory is exhausted. Not inlined, so that a lookup in a whole index saves no registers. */
static __attribute__((noinline)) uint32_t find_without_index(struct uspi_module *module, enum uspi_table which,
                                                             struct symbols **symbols, struct lookup lookup,
                                                             struct uspi_symbol_answer *named) {
    uint32_t symbol = USPI_NO_SYMBOL;
    if (*symbols == NULL) {
        lookup.is_direct = true;
        *symbols = replace_symbols(module, which, NULL, &lookup);
        if (*symbols == NULL) return symbol;
        lookup.is_direct = false;
    }
    if ((*symbols)->is_excerpt && find_directly(*symbols, lookup.address, &symbol, named)) return symbol;
    *symbols = decide(module, which, *symbols, &lookup);
    return *symbols != NULL ? uspi_index_find(&(*symbols)->index, lookup.address, &named->start, &named->size) : symbol;
}

/* Returns the cached symbols of a table; NULL: none are cached. */
static struct symbols *get_symbols(struct uspi_module *module, enum uspi_table which) {
    return (struct symbols *)uspi_cache_get(module->cache, &module->slots[which]);
}

/* Returns whether the image can have a table. Only Mach-O images have the other tables. */
static bool can_have(const struct uspi_module *module, enum uspi_table which) {
    return which == USPI_TABLE_SYMBOLS || is_macho(module);
}

bool uspi_module_has_symbols(struct uspi_module *module) {
    const struct symbols *symbols = get_symbols(module, USPI_TABLE_SYMBOLS);
    if (symbols == NULL) symbols = replace_symbols(module, USPI_TABLE_SYMBOLS, NULL, &(struct lookup){.is_all = true});
    return symbols != NULL && symbols->tables != NULL;
}

int uspi_module_find(struct uspi_module *module, enum uspi_table which, usp_addr address,
                     const struct uspi_expected *expected, struct uspi_names *names, struct uspi_symbol_answer *named) {
    if (!can_have(module, which)) return USP_ERROR_ABSENT;
    struct symbols *symbols = get_symbols(module, which);
    uint32_t symbol;
    if (symbols == NULL || symbols->is_excerpt) {
        symbol = find_without_index(module, which, &symbols, (struct lookup){address, expected, false, false}, named);
    } else {
        symbol = uspi_index_find(&symbols->index, address, &named->start, &named->size);
    }
    if (symbols == NULL) return USP_ERROR_NO_MEMORY;
    if (symbols->tables == NULL) return USP_ERROR_ABSENT;
    if (symbol == USPI_NO_SYMBOL) return USP_ERROR_NOT_FOUND;
    int status = symbols->tables->get(symbols->tables, symbol, names, named);
    return status == USP_OK || status == USP_ERROR_NO_MEMORY ? status : USP_ERROR_NOT_FOUND;
}

int uspi_module_visit_aliases(struct uspi_module *module, const struct uspi_found_function *found,
                              struct uspi_names *names, usp_name_visitor visit, void *context) {
    const enum uspi_table which = found->strategy == USP_STRATEGY_SYMTAB ? USPI_TABLE_SYMBOLS : USPI_TABLE_OBJC;
    if ((which == USPI_TABLE_OBJC && found->strategy != USP_STRATEGY_OBJC_METADATA) || !can_have(module, which))
        return USP_OK;
    struct symbols *symbols = get_symbols(module, which);
    if (symbols == NULL || symbols->is_excerpt) {
        symbols = decide(module, which, symbols, &(struct lookup){.address = found->address});
    }
    if (symbols == NULL) return USP_ERROR_NO_MEMORY;
    uint32_t count;
    const struct uspi_index_alias *aliases = uspi_index_aliases(&symbols->index, found->start, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct uspi_symbol_answer answer = {.start = found->start};
        int status = symbols->tables->get(symbols->tables, aliases[i].number, names, &answer);
        if (status == USP_OK && answer.name != NULL)
            status = visit(context, answer.name);
        else if (status != USP_ERROR_NO_MEMORY)
            status = USP_OK;
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

int uspi_module_next(struct uspi_module *module, enum uspi_table which, usp_addr address, usp_addr *start) {
    if (!can_have(module, which)) return USP_ERROR_ABSENT;
    const struct symbols *symbols = get_symbols(module, which);
    while (symbols == NULL || symbols->is_excerpt) {
        symbols = replace_symbols(module, which, symbols, &(struct lookup){.is_all = true});
        if (symbols == NULL) return USP_ERROR_NO_MEMORY;
    }
    if (symbols->tables == NULL) return USP_ERROR_ABSENT;
    return uspi_index_next(&symbols->index, address, start) ? USP_OK : USP_ERROR_NOT_FOUND;
}

/* ---- functions by name ---- */

static void destroy_named(struct uspi_cached *cached) {
    struct named *named = (struct named *)cached;
    uspi_by_name_clear(&named->starts);
    free(named);
}

static uint64_t hash_name(const char *name) {
    const uint64_t hash = uspi_hash_bytes(name, strlen(name));
    return hash != 0 ? hash : 1;
}

/* Adds all gathered functions, under hashes of their names. */
static int add_gathered(const struct uspi_tables *tables, struct uspi_by_name *starts) {
    struct uspi_gathering gathering = {0};
    /* Names that are not in a mapped file are kept only until they are hashed. */
    struct uspi_names *names = uspi_names_create();
    int status = names != NULL ? tables->gather(tables, &gathering) : USP_ERROR_NO_MEMORY;
    for (size_t i = 0; i < gathering.count && status == USP_OK; i++) {
        const struct uspi_gathered_symbol *candidate = &gathering.candidates[i];
        struct uspi_symbol_answer answer = {.start = candidate->start};
        if (candidate->symbol == USPI_NO_SYMBOL) continue;
        status = tables->get(tables, candidate->name != 0 ? candidate->name : candidate->symbol, names, &answer);
        if (status == USP_OK && answer.name != NULL &&
            !uspi_by_name_add(starts, hash_name(answer.name), candidate->start)) {
            status = USP_ERROR_NO_MEMORY;
        }
        if (status != USP_ERROR_NO_MEMORY) status = USP_OK;
    }
    uspi_gathering_clear(&gathering);
    uspi_names_free(names);
    return status;
}

/* Makes the table of names. Returns NULL when memory is exhausted. */
static struct named *make_named(const struct uspi_tables *tables) {
    struct named *named = calloc(1, sizeof *named);
    if (named == NULL) return NULL;
    named->cached.destroy = destroy_named;
    named->cached.is_part = true;
    int status =
        tables->add_keys != NULL ? tables->add_keys(tables, &named->starts) : add_gathered(tables, &named->starts);
    /* Tables that cannot be read completely give no names. */
    if (status != USP_OK) uspi_by_name_clear(&named->starts);
    named->cached.memory = sizeof *named + named->starts.size * sizeof *named->starts.all;
    if (status != USP_ERROR_NO_MEMORY) return named;
    destroy_named(&named->cached);
    return NULL;
}

int uspi_module_named(struct uspi_module *module, const char *name, usp_addr *start) {
    const struct symbols *symbols = get_symbols(module, USPI_TABLE_SYMBOLS);
    if (symbols == NULL) symbols = replace_symbols(module, USPI_TABLE_SYMBOLS, NULL, &(struct lookup){.is_all = true});
    if (symbols == NULL) return USP_ERROR_NO_MEMORY;
    if (symbols->tables == NULL) return USP_ERROR_NOT_FOUND;
    struct named *named = (struct named *)uspi_cache_get(module->cache, &module->by_name);
    if (named == NULL) {
        uspi_lock_take(module->lock);
        named = (struct named *)uspi_cache_get(module->cache, &module->by_name);
        if (named == NULL) {
            named = make_named(symbols->tables);
            if (named != NULL) uspi_cache_put(module->cache, &module->by_name, &named->cached);
        }
        uspi_lock_give(module->lock);
    }
    if (named == NULL) return USP_ERROR_NO_MEMORY;
    uint64_t key = hash_name(name);
    int status = symbols->tables->find_key != NULL ? symbols->tables->find_key(symbols->tables, name, &key) : USP_OK;
    if (status == USP_ERROR_NO_MEMORY) return status;
    return key != 0 && uspi_by_name_find(&named->starts, key, start) ? USP_OK : USP_ERROR_NOT_FOUND;
}

/* ---- lines ---- */

struct uspi_lines *uspi_module_lines(struct uspi_module *module) {
    struct uspi_lines *lines = atomic_load_explicit(&module->lines, memory_order_acquire);
    if (lines != NULL) return lines;
    uspi_lock_take(module->lock);
    lines = get_lines(module);
    uspi_lock_give(module->lock);
    return lines;
}

uint32_t uspi_module_withheld(struct uspi_module *module) {
    const struct uspi_lines *lines = atomic_load_explicit(&module->lines, memory_order_acquire);
    uspi_lock_take(module->lock);
    const uint32_t withheld = uspi_file_withheld(module->file) | uspi_file_withheld(module->debug);
    uspi_lock_give(module->lock);
    return withheld | (lines != NULL ? uspi_lines_withheld(lines) : 0);
}

int uspi_module_explain_file(struct uspi_module *module, char *text, size_t size) {
    struct uspi_error error = {.text = ""};
    struct uspi_file *file = NULL;
    uspi_lock_take(module->lock);
    const bool is_open = module->file != NULL;
    if (is_open) snprintf(text, size, "%s", uspi_file_path(module->file));
    uspi_lock_give(module->lock);
    if (is_open) return USP_OK;
    /* An earlier attempt to open it did not keep its reason. */
    int status = uspi_image_file_open(&module->image, module->places, &file, &error);
    snprintf(text, size, "%s", status == USP_OK ? uspi_file_path(file) : error.text);
    uspi_file_close(file);
    return status;
}
