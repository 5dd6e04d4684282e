/* SPDX-License-Identifier: MIT */
/* See dwarf.h. */
#include "lib/symbolize/dwarf/dwarf.h"

#include "lib/images/search.h"
#include "lib/object/debug_link.h"
#include "lib/object/fat.h"
#include "lib/symbolize/dwarf/split.h"

#include <stdio.h>

struct uspi_dwarf {
    struct uspi_line_source contract;
    struct uspi_dwarf_file file, shared;
    struct uspi_file *shared_file; /* NULL: nothing is shared */
    struct uspi_texts texts;
    struct uspi_split_package package;
    bool is_alone;                   /* as in the options */
    struct uspi_split_unit **splits; /* by unit; NULL: no unit is split */
    char *path;
    char *sysroot; /* as in the options */
    bool as_named;
};

static void close_file(struct uspi_dwarf_file *file) {
    uspi_debug_sections_close(&file->sections);
    free(file->units);
}

/* The functions of the contract (lib/symbolize/lines/line_source.h) are static functions, mostly named like its
 * members. */

static void close_dwarf(struct uspi_line_source *source) {
    struct uspi_dwarf *dwarf = (struct uspi_dwarf *)source;
    for (size_t i = 0; dwarf->splits != NULL && i < dwarf->file.count; i++) uspi_split_free(dwarf->splits[i]);
    free(dwarf->splits);
    uspi_split_package_close(&dwarf->package);
    close_file(&dwarf->file);
    close_file(&dwarf->shared);
    uspi_file_close(dwarf->shared_file);
    free(dwarf->path);
    free(dwarf->sysroot);
    free(dwarf);
}

/* ---- the file that several share ---- */

struct shared_link {
    struct uspi_build_id id;
};

/* A uspi_judge function. */
static int judge_shared(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    const struct shared_link *link = context;
    struct uspi_build_id id = {0};
    struct uspi_elf elf;
    int status = uspi_elf_open(&elf, bytes, error);
    if (status != USP_OK) return status;
    if (uspi_elf_build_id(&elf, &id, NULL) == USP_OK && id.size == link->id.size &&
        memcmp(id.bytes, link->id.bytes, id.size) == 0) {
        return USP_OK;
    }
    return uspi_error_set(error, USP_ERROR_MISMATCH, "%s: not the file that the debugging information shares",
                          bytes.source->name);
}

/* Where Debian and Fedora put shared files, besides the link's path below .dwz: by their build id. */
#define BUILD_IDS "/usr/lib/debug/.build-id/"

static int open_candidates(struct uspi_dwarf *dwarf, const char *name, struct shared_link *link,
                           struct uspi_error *error) {
    const struct uspi_search named = {.sysroot = dwarf->sysroot, .as_named = dwarf->as_named};
    /* The path of an open file, and one that consists of a build id, are not of the file's choice. */
    const struct uspi_search known = {.sysroot = dwarf->sysroot, .as_named = true};
    char by_id[sizeof BUILD_IDS + 2 * sizeof link->id.bytes + sizeof "/.debug"];
    const char *slash = strrchr(dwarf->path, '/');
    int status = USP_ERROR_NOT_FOUND;
    if (name[0] != '/') {
        const size_t folder = slash != NULL ? (size_t)(slash - dwarf->path) + 1 : 0,
                     capacity = folder + strlen(name) + 1;
        char *path = malloc(capacity);
        if (path == NULL) return USP_ERROR_NO_MEMORY;
        snprintf(path, capacity, "%.*s%s", (int)folder, dwarf->path, name);
        status = uspi_search_open(&known, path, judge_shared, link, &dwarf->shared_file, error);
        free(path);
    } else {
        status = uspi_search_open(&named, name, judge_shared, link, &dwarf->shared_file, error);
    }
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY || link->id.size < 2) return status;
    int used = snprintf(by_id, sizeof by_id, "%s%02x/", BUILD_IDS, link->id.bytes[0]);
    for (uint32_t i = 1; i < link->id.size; i++) {
        used += snprintf(by_id + used, sizeof by_id - (size_t)used, "%02x", link->id.bytes[i]);
    }
    snprintf(by_id + used, sizeof by_id - (size_t)used, ".debug");
    int found = uspi_search_open(&known, by_id, judge_shared, link, &dwarf->shared_file, NULL);
    return found == USP_OK || found == USP_ERROR_NO_MEMORY ? found : status;
}

/* Opens the file that .gnu_debugaltlink names by a path and a build id. */
static int open_shared(struct uspi_dwarf *dwarf, const struct uspi_elf *elf, struct uspi_error *error) {
    struct uspi_elf_section section;
    struct uspi_bytes bytes;
    struct shared_link link = {0};
    char name[4096];
    if (uspi_elf_find_section(elf, ".gnu_debugaltlink", &section, NULL) != USP_OK) return USP_OK;
    int status = uspi_bytes_sub(elf->bytes, section.offset, section.size, ".gnu_debugaltlink", &bytes, error);
    if (status == USP_OK) status = uspi_bytes_string(bytes, 0, name, sizeof name, "name of the shared file", error);
    if (status != USP_OK) return USP_OK;
    const uint64_t at = strlen(name) + 1, size = bytes.size - at;
    link.id.size = (uint32_t)(size < sizeof link.id.bytes ? size : sizeof link.id.bytes);
    status = uspi_bytes_read(bytes, at, link.id.bytes, link.id.size, "build-id of the shared file", error);
    struct uspi_error why = {0};
    if (status == USP_OK) status = open_candidates(dwarf, name, &link, &why);
    struct uspi_elf shared;
    if (status == USP_OK) status = uspi_elf_open(&shared, uspi_file_bytes(dwarf->shared_file), &why);
    if (status == USP_OK)
        status = uspi_debug_sections_open_elf(&dwarf->shared.sections, &shared, USPI_DEBUG_WHOLE, NULL);
    if (status == USP_OK) status = uspi_dwarf_list_units(&dwarf->shared, NULL);
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (status == USP_OK) {
        dwarf->file.shared = &dwarf->shared;
        return USP_OK;
    }
    dwarf->contract.lacks_files = true;
    if (error != NULL && error->status == USP_OK) {
        uspi_error_set(error, USP_ERROR_NOT_FOUND, "%s: shares debugging information that was not found: %s",
                       dwarf->path, why.status != USP_OK ? why.text : name);
    }
    return USP_OK;
}

/* ---- the file's parts ---- */

static int open_elf(struct uspi_dwarf *dwarf, const struct uspi_dwarf_options *options, struct uspi_error *error) {
    struct uspi_elf elf;
    int status = uspi_elf_open(&elf, options->bytes, error);
    if (status == USP_OK) status = uspi_debug_sections_open_elf(&dwarf->file.sections, &elf, USPI_DEBUG_WHOLE, error);
    if (status != USP_OK) return status;
    dwarf->contract.header = elf.header_address;
    return options->is_alone ? USP_OK : open_shared(dwarf, &elf, error);
}

static int open_macho(struct uspi_dwarf *dwarf, const struct uspi_dwarf_options *options, struct uspi_error *error) {
    struct uspi_macho macho;
    struct uspi_macho_extent extent;
    int status = uspi_fat_pick(options->bytes, &options->wanted, &macho, error);
    if (status == USP_OK) status = uspi_debug_sections_open_macho(&dwarf->file.sections, &macho, error);
    if (status != USP_OK) return status;
    if (uspi_macho_layout(&macho, &extent, NULL) == USP_OK) dwarf->contract.header = extent.header;
    return USP_OK;
}

static uint64_t unit_size(const struct uspi_line_source *source, size_t unit) {
    const struct uspi_dwarf *dwarf = (const struct uspi_dwarf *)source;
    return dwarf->file.units[unit].end - dwarf->file.units[unit].offset;
}

static const struct uspi_texts *unit_texts(const struct uspi_line_source *source, size_t unit) {
    const struct uspi_dwarf *dwarf = (const struct uspi_dwarf *)source;
    if (dwarf->splits != NULL && dwarf->splits[unit] != NULL) return &dwarf->splits[unit]->texts;
    return &dwarf->texts;
}

/* Finds a section in use that could not be unpacked. */
static int find_damage(const struct uspi_dwarf *dwarf, const struct uspi_split_unit *split, struct uspi_error *error) {
    const struct uspi_debug_sections *const all[] = {&dwarf->file.sections, &dwarf->shared.sections,
                                                     split != NULL ? &split->dwarf.sections : NULL};
    int status = USP_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && status == USP_OK; i++) {
        if (all[i] != NULL) status = uspi_debug_sections_damage(all[i], error);
    }
    return status;
}

/* Counts how often memory was exhausted while a section was unpacked. Callers compare it with an earlier count. */
static uint32_t count_shortages(const struct uspi_dwarf *dwarf, const struct uspi_split_unit *split) {
    return uspi_debug_sections_shortages(&dwarf->file.sections) +
           uspi_debug_sections_shortages(&dwarf->shared.sections) +
           (split != NULL ? uspi_debug_sections_shortages(&split->dwarf.sections) : 0);
}

/* The claims gathered so far. */
struct claims {
    struct uspi_map_range *all;
    size_t count, capacity;
};

static bool add_claims(struct claims *claims, const struct uspi_range_list *list, size_t unit) {
    if (!uspi_room_for(&claims->all, &claims->capacity, claims->count, list->count, sizeof *claims->all)) return false;
    for (size_t i = 0; i < list->count; i++) {
        claims->all[claims->count++] = (struct uspi_map_range){list->all[i].low, list->all[i].high, (uint32_t)unit};
    }
    return true;
}

/* Returns whether the unit's first entry has a list of ranges, not just two ends. */
static bool unit_has_ranges(const struct uspi_dwarf_unit *unit) { return (unit->code.has >> USPI_AT_RANGES & 1) != 0; }

static bool claim_by_entries(const struct uspi_dwarf_file *file, struct claims *claims, struct uspi_range_list *list,
                             bool *has_claim) {
    /* Normally each unit has its own list, so all lists together are no longer than the sections. Where units share a
     * list, the units after the budget is used up claim nothing. They are read when no other unit knows an address. */
    uspi_debug_section_expect_all(&file->sections, USPI_DEBUG_RANGES);
    uspi_debug_section_expect_all(&file->sections, USPI_DEBUG_RNGLISTS);
    list->budget = (uint64_t)file->sections.all[USPI_DEBUG_RANGES].size + file->sections.all[USPI_DEBUG_RNGLISTS].size;
    for (size_t i = 0; i < file->count; i++) {
        const struct uspi_dwarf_unit *unit = &file->units[i];
        const struct uspi_unit_code *code = &unit->code;
        struct uspi_attributes a = {.has = code->has};
        uint64_t first;
        a.all[USPI_AT_LOW_PC] = code->low;
        a.all[USPI_AT_HIGH_PC] = code->high;
        a.all[USPI_AT_RANGES] = code->ranges;
        list->count = 0;
        if (!uspi_dwarf_ranges(file, unit, &a, list, &first)) return false;
        if (list->budget == 0 && unit_has_ranges(unit)) list->count = 0;
        has_claim[i] = list->count > 0;
        if (!add_claims(claims, list, i)) return false;
    }
    return true;
}

/* Adds the claims of .debug_aranges. Before DWARF 3, a unit had only two ends and did not mention code elsewhere. A list
 * of ranges counts instead, if it could be read. */
static bool claim_by_sets(const struct uspi_dwarf_file *file, struct claims *claims, struct uspi_range_list *list,
                          bool *has_claim) {
    struct uspi_claim_set set = {0};
    while (uspi_dwarf_next_claims(file, &set)) {
        const struct uspi_dwarf_unit *unit = uspi_dwarf_unit_from(file, set.unit);
        if (unit == NULL || (unit_has_ranges(unit) && has_claim[unit - file->units])) continue;
        list->count = 0;
        if (!uspi_dwarf_claims(file, &set, list)) return false;
        has_claim[unit - file->units] |= list->count > 0;
        if (!add_claims(claims, list, (size_t)(unit - file->units))) return false;
    }
    return true;
}

static bool unit_claims(const struct uspi_line_source *source, struct uspi_map_range **ranges, size_t *count,
                        bool *unclaimed) {
    const struct uspi_dwarf_file *file = &((const struct uspi_dwarf *)source)->file;
    struct uspi_piece_capacity apart = {0};
    struct uspi_range_list list = {.apart = &apart};
    struct claims claims = {0};
    const uint32_t shortages = count_shortages((const struct uspi_dwarf *)source, NULL);
    const bool is_whole = claim_by_entries(file, &claims, &list, unclaimed) &&
                          claim_by_sets(file, &claims, &list, unclaimed) &&
                          count_shortages((const struct uspi_dwarf *)source, NULL) == shortages;
    for (size_t i = 0; i < file->count; i++) unclaimed[i] = !unclaimed[i] && !file->units[i].is_partial;
    free(list.all);
    uspi_piece_capacity_free(&apart);
    if (!is_whole) free(claims.all);
    *ranges = is_whole ? claims.all : NULL;
    *count = is_whole ? claims.count : 0;
    return is_whole;
}

/* Makes the block of a unit. A split unit is opened when it is first needed. */
static int build(struct uspi_line_source *of, void *reader, size_t number, const uint8_t **bytes, size_t *size,
                 struct uspi_error *error) {
    struct uspi_dwarf *dwarf = (struct uspi_dwarf *)of;
    const struct uspi_dwarf_unit *unit = &dwarf->file.units[number];
    struct uspi_dwarf_source source = {&dwarf->file, unit, &dwarf->file, &dwarf->texts};
    struct uspi_error missing = {0};
    if (error != NULL) error->status = USP_OK;
    if (unit->is_split && !dwarf->is_alone) {
        int status = USP_OK;
        if (dwarf->splits[number] == NULL) {
            const struct uspi_split_program program = {.dwarf = &dwarf->file,
                                                       .texts = &dwarf->texts,
                                                       .package = &dwarf->package,
                                                       .path = dwarf->path,
                                                       .sysroot = dwarf->sysroot,
                                                       .as_named = dwarf->as_named};
            status = uspi_split_open(&program, unit, &dwarf->splits[number], &missing);
        }
        if (status == USP_ERROR_NO_MEMORY) return status;
        const struct uspi_split_unit *split = dwarf->splits[number];
        if (split != NULL) atomic_fetch_or(&of->withheld, uspi_file_withheld(split->file));
        if (split != NULL)
            source = (struct uspi_dwarf_source){&split->dwarf, &split->unit, &dwarf->file, &split->texts};
    }
    const struct uspi_split_unit *split = dwarf->splits != NULL ? dwarf->splits[number] : NULL;
    const uint32_t shortages = count_shortages(dwarf, split);
    struct uspi_error damage = {0};
    int status = uspi_dwarf_read_unit(reader, &source, bytes, size, error);
    if (count_shortages(dwarf, split) != shortages) return USP_ERROR_NO_MEMORY;
    find_damage(dwarf, split, &damage);
    /* Damage and missing files cause what the reader reports, so they are reported instead. */
    if (damage.status != USP_OK && error != NULL) *error = damage;
    if (missing.status != USP_OK) {
        atomic_store_explicit(&of->lacks_files, true, memory_order_relaxed);
        if (error != NULL) *error = missing;
    }
    return status;
}

static void *create_reader(void) { return uspi_dwarf_reader_create(); }

static void free_reader(void *reader) { uspi_dwarf_reader_free(reader); }

static uint64_t total_size(const struct uspi_dwarf *dwarf) {
    uint64_t size = 0;
    for (unsigned i = 0; i < USPI_DEBUG_SECTIONS; i++) size += dwarf->file.sections.all[i].size;
    return size;
}

/* ---- opening ---- */

int uspi_dwarf_open(const struct uspi_dwarf_options *options, struct uspi_line_source **source,
                    struct uspi_error *error) {
    const enum uspi_format format = uspi_identify(options->bytes);
    struct uspi_dwarf *made = calloc(1, sizeof *made);
    *source = NULL;
    if (error != NULL) error->status = USP_OK;
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->path = strdup(options->path);
    made->sysroot = options->sysroot != NULL ? strdup(options->sysroot) : NULL;
    made->as_named = options->as_named;
    made->is_alone = options->is_alone;
    made->file.addresses = &made->file;
    made->file.str = USPI_TEXT_STR;
    made->file.line_str = USPI_TEXT_LINE_STR;
    made->file.info = USPI_TEXT_INFO;
    made->shared.addresses = &made->shared;
    made->shared.str = USPI_TEXT_ALT_STR;
    made->shared.line_str = USPI_TEXT_ALT_LINE_STR;
    made->shared.info = USPI_TEXT_ALT_INFO;
    const bool lacks_memory = made->path == NULL || (options->sysroot != NULL && made->sysroot == NULL);
    int status = lacks_memory                ? USP_ERROR_NO_MEMORY
                 : format == USPI_FORMAT_ELF ? open_elf(made, options, error)
                                             : open_macho(made, options, error);
    if (status == USP_OK) status = uspi_dwarf_list_units(&made->file, error);
    if (status == USP_OK) {
        const int damage = find_damage(made, NULL, error);
        if (damage != USP_OK && made->file.count == 0) status = USP_ERROR_NOT_FOUND;
        if (count_shortages(made, NULL) != 0) status = USP_ERROR_NO_MEMORY;
    }
    if (status == USP_OK) {
        bool has_split = false;
        for (size_t i = 0; i < made->file.count; i++) has_split = has_split || made->file.units[i].is_split;
        has_split = has_split && !made->is_alone;
        if (has_split) made->splits = calloc(made->file.count, sizeof *made->splits);
        if (has_split && made->splits == NULL) status = USP_ERROR_NO_MEMORY;
        if (has_split) uspi_split_package_open(&made->package, made->path, made->sysroot);
    }
    if (status != USP_OK) {
        close_dwarf(&made->contract);
        return status;
    }
    struct uspi_texts *texts = &made->texts;
    uspi_dwarf_set_text(texts, USPI_TEXT_STR, &made->file, USPI_DEBUG_STR);
    uspi_dwarf_set_text(texts, USPI_TEXT_LINE_STR, &made->file, USPI_DEBUG_LINE_STR);
    uspi_dwarf_set_text(texts, USPI_TEXT_INFO, &made->file, USPI_DEBUG_INFO);
    uspi_dwarf_set_text(texts, USPI_TEXT_LINE, &made->file, USPI_DEBUG_LINE);
    uspi_dwarf_set_text(texts, USPI_TEXT_ALT_STR, &made->shared, USPI_DEBUG_STR);
    uspi_dwarf_set_text(texts, USPI_TEXT_ALT_LINE_STR, &made->shared, USPI_DEBUG_LINE_STR);
    uspi_dwarf_set_text(texts, USPI_TEXT_ALT_INFO, &made->shared, USPI_DEBUG_INFO);
    made->contract = (struct uspi_line_source){.what = "debug information",
                                               .units = made->file.count,
                                               .size = total_size(made),
                                               .header = made->contract.header,
                                               .lacks_files = made->contract.lacks_files,
                                               .withheld = uspi_file_withheld(made->shared_file) |
                                                           uspi_file_withheld(made->package.file),
                                               .unit_size = unit_size,
                                               .claims = unit_claims,
                                               .create_reader = create_reader,
                                               .free_reader = free_reader,
                                               .build = build,
                                               .texts = unit_texts,
                                               .close = close_dwarf};
    *source = &made->contract;
    return USP_OK;
}
