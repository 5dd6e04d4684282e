/* SPDX-License-Identifier: MIT */
/* Finds the images of a Mach-O core, and the files that replace text that the core does not contain. The loader's own
 * list names the images if the core contains it. Other images are found at the starts of segments.
 *
 * Source: xnu EXTERNAL_HEADERS/mach-o/loader.h. A file is used only if its UUID is the image's. */
#include "lib/corefile/build.h"
#include "lib/images/dyld_cache_set.h"
#include "lib/object/dyld_list.h"
#include "lib/object/fat.h"

#include <unspool/snapshot.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Limit for paths, which are untrusted data of the process. */
#define PATH_ROOM 4096

/* dyld keeps its list in this section, so that debuggers find it. */
#define LIST_SECTION "__all_image_info"

struct entry {
    usp_addr load, path;
};

struct work {
    struct uspi_core *core;
    struct uspi_image_list *list;
    struct usp_memory memory;
    struct uspi_source source; /* the process's memory */
    struct entry *entries;     /* entries of the loader's list, sorted */
    size_t entry_count;
    bool text_listed;      /* the core lists the text of every image so far */
    size_t without_text;   /* number of images of the shared cache whose text is missing */
    size_t without_header; /* number of images whose headers the core does not contain */
    char path[PATH_ROOM];
};

/* Returns the number of address bits if only the platform is known; 0: unknown. Devices have 39 or 47 (xnu
 * osfmk/arm64/proc_reg.h, pexpert/pexpert/arm64/apple_arm64_common.h). */
static uint32_t bits_of_platform(uint32_t platform) {
    switch (platform) {
    case USPI_PLATFORM_MACOS:
    case USPI_PLATFORM_CATALYST:
    case USPI_PLATFORM_IOS_SIMULATOR:
    case USPI_PLATFORM_TVOS_SIMULATOR:
    case USPI_PLATFORM_WATCHOS_SIMULATOR:
    case USPI_PLATFORM_VISIONOS_SIMULATOR: return 47;
    default: return 0;
    }
}

static bool is_image(const struct uspi_macho *macho) {
    return macho->type == USPI_MH_EXECUTE || macho->type == USPI_MH_DYLIB || macho->type == USPI_MH_DYLINKER ||
           macho->type == USPI_MH_BUNDLE;
}

/* Opens the image whose header is at the beginning of these bytes. */
static bool open_image(const struct work *w, struct uspi_bytes bytes, struct uspi_macho *macho) {
    if (uspi_macho_open(macho, bytes, NULL) != USP_OK || !is_image(macho)) return false;
    /* A command has at least 8 bytes. */
    uint64_t commands = macho->commands.size / 8;
    return uspi_core_may_read(w->core, macho->command_count < commands ? macho->command_count : commands);
}

static bool open_at(const struct work *w, usp_addr load, struct uspi_macho *macho) {
    return open_image(w, uspi_bytes_at(&w->source, load), macho);
}

/* ---- shared caches ---- */

/* Keeps a message about a damaged cache. context: the core. */
static void take_note(void *context, const char *text) {
    uspi_core_say(context, USP_SNAPSHOT_FILES_MISSING, "%s", text);
}

/* Returns the shared caches below the sysroot, which are opened when the first image needs them; NULL: there is no
 * sysroot, or memory is exhausted. */
static const struct usp_dyld_caches *get_caches(struct work *w) {
    struct uspi_core *core = w->core;
    if (core->sysroot == NULL || core->dyld_caches != NULL) return core->dyld_caches;
    int status = usp_dyld_caches_create(&core->dyld_caches);
    if (status == USP_OK) status = usp_dyld_caches_add(core->dyld_caches, core->sysroot, take_note, core, NULL, 0);
    if (status == USP_ERROR_NO_MEMORY) core->out_of_memory = true;
    return core->dyld_caches;
}

/* Opens the image of a shared cache that the process has loaded at an address. */
static bool open_in_cache(struct work *w, usp_addr load, struct uspi_macho *macho) {
    const struct usp_dyld_caches *caches = w->list->has_cache ? get_caches(w) : NULL;
    if (caches == NULL) return false;
    const struct uspi_dyld_cache *cache = uspi_dyld_cache_of(caches, w->list->cache.uuid);
    const usp_addr linked = load - w->list->cache.slide;
    const struct uspi_dyld_member *member = cache != NULL ? uspi_dyld_member_at(cache, linked) : NULL;
    return member != NULL && member->address == linked && !member->is_stubs &&
           open_image(w, uspi_bytes_at(&cache->source, linked), macho);
}

/* Lets code of an image be read in the shared cache that has it. Returns false when none has it. The image's __LINKEDIT
 * is that of all images, and a symbolizer has its own way to it. */
static bool complete_from_cache(struct work *w, const struct usp_image *image) {
    const struct usp_dyld_caches *caches = get_caches(w);
    const struct uspi_dyld_cache *cache;
    const struct uspi_dyld_member *member;
    struct uspi_macho macho;
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    if (caches == NULL || image->build_id_size != USPI_UUID_SIZE) return false;
    if (!uspi_dyld_find(caches, image->build_id, &cache, &member)) return false;
    if (!open_image(w, uspi_bytes_at(&cache->source, member->address), &macho)) return false;
    while (uspi_macho_next_segment(&macho, &cursor, &segment, NULL) > 0) {
        struct uspi_core_backing backing = {.low = image->load_address + (segment.address - member->address)};
        if ((segment.protection & USPI_PROT_EXECUTE) == 0 || (segment.protection & USPI_PROT_WRITE) != 0) continue;
        backing.size = uspi_dyld_extent(cache, segment.address, segment.memory_size);
        if (backing.size == 0 || backing.low + (backing.size - 1) < backing.low) continue;
        backing.bytes = (struct uspi_bytes){&cache->source, segment.address, backing.size};
        if (uspi_core_memory_back(&w->core->memory, &backing) != USP_OK) w->core->out_of_memory = true;
    }
    return true;
}

/* ---- files ---- */

struct candidate {
    const struct uspi_build_id *uuid;
    struct uspi_macho macho; /* the accepted slice */
};

/* Implements uspi_judge. */
static int judge(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    struct candidate *c = context;
    if (c->uuid->size != USPI_UUID_SIZE) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_MISMATCH, "the core's image has no UUID to compare it with");
    }
    const struct uspi_wanted_slice wanted = {.uuid = c->uuid->bytes};
    return uspi_fat_pick(bytes, &wanted, &c->macho, error);
}

/* Whether the core lacks bytes of an image's executable segments. `slide` is added to linked addresses. */
static bool lacks(const struct work *w, const struct uspi_macho *macho, uint64_t slide) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    while (uspi_macho_next_segment(macho, &cursor, &segment, NULL) > 0) {
        if ((segment.protection & USPI_PROT_EXECUTE) == 0 || segment.file_size == 0) continue;
        uint64_t size = segment.file_size < segment.memory_size ? segment.file_size : segment.memory_size;
        if (uspi_core_memory_lacks(&w->core->memory, segment.address + slide, size)) return true;
    }
    return false;
}

static void back_image(struct work *w, const struct uspi_macho *file, usp_addr load) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_macho_extent extent;
    if (uspi_macho_extent(file, &extent, NULL) != USP_OK) return;
    while (uspi_macho_next_segment(file, &cursor, &segment, NULL) > 0) {
        struct uspi_core_backing backing = {.low = load + (segment.address - extent.header), .size = segment.file_size};
        if ((segment.protection & USPI_PROT_WRITE) != 0 || backing.size == 0) continue;
        if (backing.low + (backing.size - 1) < backing.low ||
            uspi_bytes_sub(file->bytes, segment.file_offset, segment.file_size, "segment", &backing.bytes, NULL) !=
                USP_OK) {
            uspi_core_say(w->core, USP_SNAPSHOT_FILES_REFUSED, "%s: segment %s lies outside of the file; not used",
                          file->bytes.source->name, segment.name);
            continue;
        }
        if (uspi_core_memory_back(&w->core->memory, &backing) != USP_OK) w->core->out_of_memory = true;
    }
}

static void complete_from_file(struct work *w, const struct uspi_macho *macho, const struct usp_image *image,
                               const struct uspi_build_id *uuid) {
    struct candidate c = {.uuid = uuid};
    bool main = (image->flags & USP_IMAGE_MAIN) != 0;
    if (!lacks(w, macho, image->slide)) return;
    if ((macho->flags & USPI_MH_DYLIB_IN_CACHE) != 0 && complete_from_cache(w, image)) return;
    /* Images of the shared cache have no files of their own unless the cache was extracted. */
    if ((macho->flags & USPI_MH_DYLIB_IN_CACHE) != 0 && w->core->sysroot == NULL) {
        w->without_text++;
        return;
    }
    if (uspi_core_find_file(w->core, image->path, main, judge, &c)) {
        back_image(w, &c.macho, image->load_address);
    } else if (image->path[0] == '\0' && (!main || w->core->named_program == NULL)) {
        uspi_core_say(w->core, main ? USP_SNAPSHOT_PROGRAM_MISSING : USP_SNAPSHOT_FILES_MISSING,
                      "%s: the core neither names nor holds the code of the %s at 0x%" PRIx64, w->core->path,
                      main ? "program" : "image", image->load_address);
    }
}

/* ---- the list ---- */

/* Adds an image whose header the core does not contain. */
static int add_unseen(struct work *w, usp_addr load, const char *path) {
    struct usp_image image = {.path = path,
                              .load_address = load,
                              .text_low = load,
                              .text_high = load,
                              .end = load,
                              .slide = load,
                              .flags = USP_IMAGE_MACHO};
    w->text_listed = false;
    w->without_header++;
    return uspi_image_list_add(w->list, &image);
}

/* Adds the image whose header is at `load`. w->path is its name in the loader's list, or "". */
static int add_image(struct work *w, usp_addr load) {
    struct uspi_core *core = w->core;
    struct uspi_macho macho;
    struct uspi_macho_version version;
    struct usp_image image;
    if ((!open_at(w, load, &macho) && !open_in_cache(w, load, &macho)) ||
        uspi_macho_describe(&macho, load, &image, NULL) != USP_OK) {
        return add_unseen(w, load, w->path);
    }
    if (w->path[0] == '\0' && uspi_macho_install_name(&macho, w->path, sizeof w->path, NULL) != USP_OK) {
        w->path[0] = '\0';
    }
    image.path = w->path;
    struct uspi_build_id uuid = {.size = image.build_id_size};
    memcpy(uuid.bytes, image.build_id, uuid.size);
    if (image.text_high != image.text_low && (uspi_core_memory_find(&core->memory, image.text_low) == NULL ||
                                              uspi_core_memory_find(&core->memory, image.text_high - 1) == NULL)) {
        w->text_listed = false;
    }
    if (macho.type == USPI_MH_EXECUTE) {
        if (w->path[0] != '\0') uspi_core_set_program(core, w->path);
        if (core->arch == USP_ARCH_ARM64 && core->address_bits == 0 &&
            uspi_macho_version(&macho, &version, NULL) == USP_OK) {
            core->address_bits = bits_of_platform(version.platform);
        }
    }
    complete_from_file(w, &macho, &image, &uuid);
    return uspi_image_list_add(w->list, &image);
}

/* ---- the loader's list ---- */

static int by_load(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    return (x->load > y->load) - (x->load < y->load);
}

/* Copies the loader's list. */
static int read_list(struct work *w, usp_addr infos, bool wide, struct uspi_error *error) {
    struct uspi_dyld_list list;
    int status = uspi_dyld_list_open(&list, &w->source, infos, wide, error);
    if (status != USP_OK) return status;
    w->list->has_cache = list.has_cache;
    w->list->cache = list.cache;
    w->entries = malloc(list.count * sizeof *w->entries);
    if (w->entries == NULL) return USP_ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < list.count; i++) {
        struct entry *e = &w->entries[w->entry_count];
        status = uspi_dyld_list_entry(&list, i, &e->load, &e->path, error);
        if (status != USP_OK) return status;
        w->entry_count++;
    }
    return USP_OK;
}

/* Finds the section with dyld's list in the dyld image that is loaded at `load`. */
static bool find_list(const struct uspi_macho *loader, usp_addr load, usp_addr *infos) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_macho_section section;
    struct uspi_macho_extent extent;
    if (uspi_macho_extent(loader, &extent, NULL) != USP_OK) return false;
    while (uspi_macho_next_segment(loader, &cursor, &segment, NULL) > 0) {
        for (uint32_t i = 0; i < segment.section_count; i++) {
            if (uspi_macho_section(loader, &segment, i, &section, NULL) != USP_OK) break;
            if (strcmp(section.name, LIST_SECTION) != 0) continue;
            *infos = section.address + (load - extent.header);
            return true;
        }
    }
    return false;
}

static int images_of_loader(struct work *w) {
    const struct uspi_core_memory *memory = &w->core->memory;
    struct uspi_error error;
    for (size_t i = 0; i < memory->segment_count; i++) {
        struct uspi_macho macho;
        usp_addr infos, load = memory->segments[i].low;
        if (!open_at(w, load, &macho) || macho.type != USPI_MH_DYLINKER || !find_list(&macho, load, &infos)) continue;
        int status = read_list(w, infos, macho.wide, &error);
        if (status == USP_ERROR_NO_MEMORY) return status;
        if (status != USP_OK) uspi_core_say(w->core, 0, "%s; images are looked for in memory", error.text);
        break;
    }
    if (w->entry_count > 1) qsort(w->entries, w->entry_count, sizeof *w->entries, by_load);
    for (size_t i = 0; i < w->entry_count; i++) {
        const struct entry *e = &w->entries[i];
        if (i > 0 && e->load == e[-1].load) continue;
        if (uspi_bytes_string(uspi_bytes_at(&w->source, e->path), 0, w->path, sizeof w->path, "path", NULL) != USP_OK) {
            w->path[0] = '\0';
        }
        int status = add_image(w, e->load);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

static int other_images(struct work *w) {
    const struct uspi_core_memory *memory = &w->core->memory;
    for (size_t i = 0; i < memory->segment_count; i++) {
        struct uspi_macho macho;
        struct entry key = {.load = memory->segments[i].low};
        if (w->entry_count > 0 && bsearch(&key, w->entries, w->entry_count, sizeof key, by_load) != NULL) continue;
        if (!open_at(w, key.load, &macho)) continue;
        w->path[0] = '\0';
        int status = add_image(w, key.load);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

static bool lists_text(const struct uspi_core_memory *memory) {
    for (size_t i = 0; i < memory->segment_count; i++) {
        if ((memory->segments[i].access & USPI_CORE_EXECUTE) != 0) return true;
    }
    return false;
}

int uspi_core_macho_images(struct uspi_core *core, struct uspi_image_list *list) {
    struct work *w = calloc(1, sizeof *w);
    if (w == NULL) return USP_ERROR_NO_MEMORY;
    w->core = core;
    w->list = list;
    w->text_listed = lists_text(&core->memory);
    w->memory = (struct usp_memory){uspi_core_memory_read, &core->memory};
    w->source = uspi_source_of_memory(&w->memory, core->path);
    int status = images_of_loader(w);
    if (status == USP_OK) status = other_images(w);
    if (w->without_text > 0) {
        uspi_core_say(core, USP_SNAPSHOT_FILES_MISSING,
                      "%s: the core does not hold the code of %zu images of the shared cache: give a "
                      "sysroot with them or with the cache",
                      core->path, w->without_text);
    }
    if (w->without_header > 0) {
        uspi_core_say(core, 0, "%s: the core does not hold the headers of %zu images that it lists", core->path,
                      w->without_header);
    }
    /* If a core lacks text that its images have, it lists only a part of the memory. */
    core->complete = w->text_listed;
    uspi_core_memory_seal(&core->memory);
    free(w->entries);
    free(w);
    return status;
}
