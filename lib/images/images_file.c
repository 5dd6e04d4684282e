/* SPDX-License-Identifier: MIT */
/* Lists the images in an object file or an archive, at their linked addresses or at a load address that the caller
 * gives. lib/os/ and lib/corefile/ list the images that a process or a core file has loaded. */
#include "arch/backend.h"
#include "lib/base/sized.h"
#include "lib/base/text.h"
#include "lib/images/dsym.h"
#include "lib/images/image_list.h"
#include "lib/images/part.h"
#include "lib/images/symbol_file.h"
#include "lib/object/dyld_cache.h"
#include "lib/object/elf.h"
#include "lib/object/elf_code.h"
#include "lib/object/elf_symbols.h"
#include "lib/object/fat.h"
#include "lib/object/identify.h"
#include "lib/object/macho.h"
#include "lib/object/macho_exports.h"
#include "lib/object/macho_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- name tables ---- */

/* Checks whether the tables that name code lie completely in their file, as far as their headers tell: for messages
 * about damaged files. Look-ups do not need this check; they use the tables that are whole. */

static int check_section(const struct uspi_elf *elf, const struct uspi_elf_section *section, const char *what,
                         struct uspi_bytes *contents, struct uspi_error *error) {
    return uspi_bytes_sub(elf->bytes, section->offset, section->size, what, contents, error);
}

static int check_symbols(const struct uspi_elf *elf, const struct uspi_elf_section *table, struct uspi_error *error) {
    struct uspi_elf_section strings;
    struct uspi_elf_symbols symbols;
    struct uspi_bytes entries, names;
    int status = check_section(elf, table, "symbol table", &entries, error);
    if (status != USP_OK) return status;
    if (table->link >= elf->section_count) {
        return uspi_bytes_error(error, elf->bytes, table->offset, USP_ERROR_FORMAT,
                                "a symbol table whose names are in section %u, of %llu", (unsigned)table->link,
                                (unsigned long long)elf->section_count);
    }
    status = uspi_elf_section(elf, table->link, &strings, error);
    if (status == USP_OK) status = check_section(elf, &strings, "names of symbols", &names, error);
    return status == USP_OK ? uspi_elf_symbols_in(elf, table, entries, names, &symbols, error) : status;
}

/* Checks the section headers, and the entries and names of each symbol table. Returns USP_OK (also if there are none),
 * USP_ERROR_TRUNCATED or USP_ERROR_FORMAT. */
static int elf_check_names(const struct uspi_elf *elf, struct uspi_error *error) {
    int status = USP_OK;
    for (uint64_t i = 0; status == USP_OK && i < elf->section_count; i++) {
        struct uspi_elf_section section;
        status = uspi_elf_section(elf, i, &section, error);
        if (status != USP_OK || (section.type != USPI_SHT_SYMTAB && section.type != USPI_SHT_DYNSYM)) continue;
        status = check_symbols(elf, &section, error);
    }
    return status;
}

static int unless_absent(int status) { return status == USP_ERROR_NOT_FOUND ? USP_OK : status; }

/* Checks that the symbol table, its names, the list of function starts and the exports trie lie in the file, and that
 * the trie's root is readable. Damage in other nodes is not reported. Returns what elf_check_names returns, or
 * USP_ERROR_NO_MEMORY. */
static int macho_check_names(const struct uspi_macho *macho, struct uspi_error *error) {
    struct uspi_macho_symbols symbols;
    struct uspi_macho_starts starts;
    struct uspi_macho_exports exports = {0};
    int status = unless_absent(uspi_macho_symbols(macho, &symbols, error));
    if (status == USP_OK) status = unless_absent(uspi_macho_starts(macho, &starts, error));
    if (status == USP_OK) status = unless_absent(uspi_macho_exports_open(&exports, macho, error));
    uspi_macho_exports_close(&exports);
    return status;
}

void usp_image_file_options_init(struct usp_image_file_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/* Fills in defaults for options of an older caller. Returns false when the options are invalid. */
static bool complete_options(const struct usp_image_file_options *options, struct usp_image_file_options *completed) {
    usp_image_file_options_init(completed);
    if (!USPI_COMPLETE(completed, options)) return false;
    const uint32_t known = USP_IMAGE_FILE_LOADED | USP_IMAGE_FILE_LINKED | USP_IMAGE_FILE_NAMED;
    return uspi_arch_is_known(completed->arch) && uspi_variant_is_known(completed->variant) &&
           completed->build_id_size <= USP_BUILD_ID_MAX && (completed->flags & ~known) == 0;
}

/* The search for wanted images in one file, and what it has found so far. */
struct search {
    const struct usp_image_file_options *wanted;
    const char *path;
    const struct uspi_part *part;       /* the part of the file that the path names */
    const struct uspi_archive *archive; /* the archive that is being read; NULL outside an archive */
    const struct uspi_member *member;
    struct uspi_image_list list;
    char others_text[256];
    /* Processors, or processors and build ids, of the images that are not wanted: for the error message if no image is
     * wanted. */
    struct uspi_text others;
    uint64_t other_processors; /* one bit for each processor and variant in `others` */
};

static bool is_wanted(const struct usp_image_file_options *wanted, const struct usp_image *image) {
    if (wanted->build_id_size > 0) {
        return image->build_id_size == wanted->build_id_size &&
               memcmp(image->build_id, wanted->build_id, image->build_id_size) == 0;
    }
    const struct uspi_wanted_slice slice = {.arch = wanted->arch, .variant = wanted->variant};
    return uspi_slice_fits(&slice, image->arch, image->variant);
}

/* Returns whether the image's symbol names must be checked: only if the caller asked for it and wants the image. */
static bool needs_names(const struct search *search, const struct usp_image *image) {
    return (search->wanted->flags & USP_IMAGE_FILE_NAMED) != 0 && is_wanted(search->wanted, image);
}

static void put_build(struct uspi_text *text, const uint8_t *build_id, uint32_t size) {
    if (size > 0) {
        uspi_put_build_id(text, build_id, size);
    } else {
        uspi_put_string(text, "no build-id");
    }
}

static void remember_other(struct search *search, const struct usp_image *image) {
    struct uspi_text *others = &search->others;
    const uint64_t processor = UINT64_C(1) << (image->arch * (USP_VARIANT_X86_64H + 1) + image->variant);
    /* An archive can have thousands of members for one processor. */
    if (search->wanted->build_id_size == 0 && (search->other_processors & processor) != 0) return;
    search->other_processors |= processor;
    if (others->length > 0) uspi_put_string(others, ", ");
    uspi_put_string(others, usp_variant_string(image->arch, image->variant));
    if (search->wanted->build_id_size == 0) return;
    uspi_put_string(others, " ");
    put_build(others, image->build_id, image->build_id_size);
}

static int no_memory(const struct search *search, struct uspi_error *error) {
    return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", search->path);
}

static void put_enclosed(struct uspi_text *text, const char *open, const char *name) {
    uspi_put_string(text, open);
    uspi_put_string(text, name);
    uspi_put_string(text, ")");
}

/* Builds the path FILE(MEMBER):(SECTION), without the parts that do not apply. The caller frees it. NULL: out of
 * memory. */
static char *build_path(const struct search *search, const char *file, const char *section) {
    const char *member = search->member != NULL ? search->member->name : NULL;
    const size_t capacity =
        strlen(file) + (member != NULL ? strlen(member) : 0) + (section != NULL ? strlen(section) : 0) + sizeof "():()";
    char *path = malloc(capacity);
    if (path == NULL) return NULL;
    struct uspi_text text = uspi_text_in(path, capacity);
    uspi_put_string(&text, file);
    if (member != NULL) put_enclosed(&text, "(", member);
    if (section != NULL) put_enclosed(&text, ":(", section);
    uspi_text_end(&text);
    return path;
}

/* The linked addresses of an image. The caller of add_image has set the image's other fields. */
struct linked {
    usp_addr header, high, text_low, text_high;
    usp_addr load;       /* load address if the options give none */
    const char *section; /* section name to append to the path, or NULL */
};

static int add_image(struct search *search, struct uspi_bytes bytes, const struct linked *linked,
                     struct usp_image *image, struct uspi_error *error) {
    const struct usp_image_file_options *wanted = search->wanted;
    if (!is_wanted(wanted, image)) {
        remember_other(search, image);
        return USP_OK;
    }
    bool is_loaded = (wanted->flags & USP_IMAGE_FILE_LOADED) != 0;
    bool has_text = linked->text_high != 0;
    if (linked->high < linked->header || (has_text && linked->text_low < linked->header)) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "segments lie before the one that holds the header");
    }
    image->load_address = is_loaded ? wanted->load_address : linked->load;
    image->slide = image->load_address - linked->header;
    if (!uspi_sum(image->load_address, linked->high - linked->header, &image->end)) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_ARGUMENT,
                                "the image is too large for the load address that was given");
    }
    image->text_low = has_text ? linked->text_low + image->slide : image->load_address;
    image->text_high = has_text ? linked->text_high + image->slide : image->load_address;
    if (search->member != NULL) image->member_offset = search->archive->bytes.from + search->member->offset;
    char *path = build_path(search, bytes.source->name, linked->section);
    if (path == NULL) return no_memory(search, error);
    image->path = path;
    int status = uspi_image_list_add(&search->list, image);
    free(path);
    return status == USP_OK ? USP_OK : no_memory(search, error);
}

static int refuse_unlinked(struct uspi_bytes bytes, struct uspi_error *error) {
    return uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED, "not linked yet: its code has no addresses");
}

static int add_macho(struct search *search, struct uspi_bytes bytes, struct uspi_error *error) {
    struct uspi_macho macho;
    struct uspi_macho_extent extent;
    struct usp_image image = {.flags = USP_IMAGE_MACHO};
    int status = uspi_macho_open(&macho, bytes, error);
    if (status != USP_OK) return status;
    if (macho.type == USPI_MH_CORE) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED, "a core, not an image");
    }
    if (search->part->section != NULL) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_MISMATCH, "no ELF object that has sections to choose from");
    }
    const bool is_linked_only = (search->wanted->flags & USP_IMAGE_FILE_LINKED) != 0;
    if (macho.type == USPI_MH_OBJECT && is_linked_only) return refuse_unlinked(bytes, error);
    status = uspi_macho_layout(&macho, &extent, error);
    if (status != USP_OK) return status == USP_ERROR_NOT_FOUND ? USP_ERROR_FORMAT : status;
    status = uspi_macho_uuid(&macho, image.build_id, error);
    if (status == USP_OK) image.build_id_size = USPI_UUID_SIZE;
    if (status != USP_OK && status != USP_ERROR_NOT_FOUND) return status;
    image.arch = macho.arch;
    image.variant = macho.variant;
    status = needs_names(search, &image) ? macho_check_names(&macho, error) : USP_OK;
    if (status != USP_OK) return status;
    const struct linked linked = {extent.header, extent.high, extent.text_low, extent.text_high, extent.header, NULL};
    return add_image(search, bytes, &linked, &image, error);
}

/* ---- ELF ---- */

/* Room for a section's name with its NUL; longer names are cut. No section name that a user types is longer. */
#define SECTION_NAME_MAX 512

static int add_section(struct search *search, const struct uspi_elf *elf, const struct uspi_code_range *range,
                       bool is_only, struct usp_image *image, struct uspi_error *error) {
    const struct uspi_part *part = search->part;
    struct uspi_elf_section section;
    struct uspi_bytes names;
    char name[SECTION_NAME_MAX] = "";
    int status = uspi_elf_section(elf, range->section, &section, error);
    if (status == USP_OK && uspi_elf_section_names(elf, &names, NULL) == USP_OK) {
        uspi_bytes_string(names, section.name, name, sizeof name, "section name", NULL);
    }
    if (status != USP_OK) return status;
    if (part->section != NULL &&
        (strlen(name) != part->section_length || memcmp(name, part->section, part->section_length) != 0)) {
        return USP_OK;
    }
    image->section = (uint32_t)range->section;
    const bool is_named = !is_only || part->section != NULL;
    const struct linked linked = {range->low, range->high, range->low, range->high, 0, is_named ? name : NULL};
    return add_image(search, elf->bytes, &linked, image, error);
}

static int add_sections(struct search *search, const struct uspi_elf *elf, const struct usp_image *image,
                        struct uspi_error *error) {
    struct uspi_elf_code code;
    const size_t before = search->list.count;
    if (!is_wanted(search->wanted, image)) {
        remember_other(search, image);
        return USP_OK;
    }
    int status = uspi_elf_code_read(elf, &code);
    if (status == USP_ERROR_NO_MEMORY) return no_memory(search, error);
    if (status != USP_OK) return uspi_bytes_error(error, elf->bytes, elf->section_offset, status, "section headers");
    for (size_t i = 0; status == USP_OK && i < code.count; i++) {
        struct usp_image section = *image;
        status = add_section(search, elf, &code.by_section[i], code.count == 1, &section, error);
    }
    uspi_elf_code_clear(&code);
    if (status != USP_OK || search->part->section == NULL || search->list.count > before) return status;
    return uspi_bytes_error(error, elf->bytes, 0, USP_ERROR_MISMATCH, "no code in a section %.*s",
                            (int)search->part->section_length, search->part->section);
}

static int add_elf(struct search *search, struct uspi_bytes bytes, struct uspi_error *error) {
    struct uspi_elf elf;
    struct uspi_elf_extent extent;
    struct uspi_build_id id = {0};
    struct usp_image image = {0};
    int status = uspi_elf_open(&elf, bytes, error);
    if (status != USP_OK) return status;
    const bool is_unlinked = elf.type == USPI_ET_REL;
    if (elf.type == USPI_ET_CORE) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED, "a core, not an image");
    }
    if (is_unlinked && (search->wanted->flags & USP_IMAGE_FILE_LINKED) != 0) return refuse_unlinked(bytes, error);
    if (!is_unlinked && search->part->section != NULL) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_MISMATCH, "sections can be chosen of unlinked objects only");
    }
    status = is_unlinked ? USP_OK : uspi_elf_extent(&elf, &extent, error);
    if (status != USP_OK) return status == USP_ERROR_NOT_FOUND ? USP_ERROR_FORMAT : status;
    status = uspi_elf_build_id(&elf, &id, error);
    if (status != USP_OK && status != USP_ERROR_NOT_FOUND) return status;
    image.arch = elf.arch;
    image.build_id_size = id.size < USP_BUILD_ID_MAX ? id.size : USP_BUILD_ID_MAX;
    memcpy(image.build_id, id.bytes, image.build_id_size);
    status = needs_names(search, &image) ? elf_check_names(&elf, error) : USP_OK;
    if (status != USP_OK) return status;
    if (is_unlinked) return add_sections(search, &elf, &image, error);
    if (extent.has_text) {
        image.flags |= USP_IMAGE_TEXT_OFFSET;
        image.text_offset = extent.text_offset;
    }
    const struct linked linked = {elf.header_address, extent.high,        extent.text_low,
                                  extent.text_high,   elf.header_address, NULL};
    return add_image(search, bytes, &linked, &image, error);
}

/* ---- symbols alone ---- */

static int add_symbol_file(struct search *search, struct uspi_bytes bytes, struct uspi_error *error) {
    struct uspi_symbol_file symbols;
    struct linked linked = {0};
    int status = uspi_symbol_file_open(&symbols, bytes, error);
    if (status != USP_OK) return status;
    struct usp_image image = {.arch = symbols.arch,
                              .variant = symbols.variant,
                              .flags = symbols.is_macho ? (uint32_t)USP_IMAGE_MACHO : 0,
                              .build_id_size = symbols.build_id_size};
    memcpy(image.build_id, symbols.build_id, symbols.build_id_size);
    if (is_wanted(search->wanted, &image)) {
        status = uspi_symbol_file_extent(bytes, &linked.header, &linked.text_low, &linked.text_high, error);
        if (status != USP_OK) return status == USP_ERROR_NOT_FOUND ? USP_ERROR_FORMAT : status;
    }
    linked.load = linked.header;
    linked.high = linked.text_high;
    return add_image(search, bytes, &linked, &image, error);
}

/* ---- several in a file ---- */

static int add_member(struct search *search, struct uspi_bytes bytes, struct uspi_error *error) {
    switch (uspi_identify(bytes)) {
    case USPI_FORMAT_MACHO: return add_macho(search, bytes, error);
    case USPI_FORMAT_ELF: return add_elf(search, bytes, error);
    case USPI_FORMAT_ARCHIVE:
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED, "an archive that is a member of an archive");
    case USPI_FORMAT_FAT:
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED, "a fat file that is a member of an archive");
    default: return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "neither ELF nor Mach-O");
    }
}

/* Adds the images of an archive's members. Damage of the archive itself is an error; damage of members is one only if
 * no member is a wanted image. */
static int add_members(struct search *search, struct uspi_bytes bytes, struct uspi_error *error) {
    const struct uspi_part *part = search->part;
    const size_t before = search->list.count;
    struct uspi_archive archive;
    struct uspi_member member;
    bool is_there = false;
    int got, damage = USP_OK, status = uspi_archive_open(&archive, bytes, error);
    if (status == USP_OK && (search->wanted->flags & USP_IMAGE_FILE_LINKED) != 0) {
        status = uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED, "an archive: its members are not linked");
    }
    if (status != USP_OK) return status;
    search->archive = &archive;
    search->member = &member;
    while (damage != USP_ERROR_NO_MEMORY && (got = uspi_archive_next(&archive, &member, error)) > 0) {
        if (part->member != NULL && !uspi_part_is_member(part, &archive, &member)) continue;
        is_there = true;
        int added = add_member(search, member.bytes, damage == USP_OK ? error : NULL);
        if (added == USP_ERROR_NO_MEMORY || damage == USP_OK) damage = added;
    }
    search->archive = NULL;
    search->member = NULL;
    if (damage == USP_ERROR_NO_MEMORY) return no_memory(search, error);
    if (got < 0) return got;
    if (part->member != NULL && !is_there) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_MISMATCH, "no member %.*s in the archive",
                                (int)part->member_length, part->member);
    }
    return search->list.count > before ? USP_OK : damage;
}

static int add_slice(struct search *search, struct uspi_bytes bytes, struct uspi_error *error) {
    if (uspi_identify(bytes) == USPI_FORMAT_ARCHIVE) return add_members(search, bytes, error);
    if (search->part->member == NULL) return add_macho(search, bytes, error);
    return uspi_bytes_error(error, bytes, 0, USP_ERROR_MISMATCH, "no archive that has members");
}

static int add_slices(struct search *search, struct uspi_bytes bytes, struct uspi_error *error) {
    struct uspi_fat fat;
    struct uspi_bytes slice;
    int status = uspi_fat_open(&fat, bytes, error), damage = USP_OK;
    for (uint32_t i = 0; status == USP_OK && i < fat.count; i++) {
        /* Report only the first damaged slice. */
        struct uspi_error *why = damage == USP_OK ? error : NULL;
        int added = uspi_fat_slice(&fat, i, &slice, why);
        if (added == USP_OK) added = add_slice(search, slice, why);
        if (added == USP_ERROR_NO_MEMORY) return no_memory(search, error);
        if (damage == USP_OK) damage = added;
    }
    if (status != USP_OK || search->list.count > 0) return status;
    return damage;
}

static int add_images(struct search *search, struct uspi_bytes bytes, struct uspi_error *error) {
    const enum uspi_format format = uspi_identify(bytes);
    const bool is_library = format == USPI_FORMAT_ARCHIVE || format == USPI_FORMAT_FAT;
    if (search->part->member != NULL && !is_library) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_MISMATCH, "no archive that has members");
    }
    switch (format) {
    case USPI_FORMAT_MACHO: return add_macho(search, bytes, error);
    case USPI_FORMAT_FAT: return add_slices(search, bytes, error);
    case USPI_FORMAT_ELF: return add_elf(search, bytes, error);
    case USPI_FORMAT_ARCHIVE: return add_members(search, bytes, error);
    default:
        if (uspi_symbol_file_is(bytes)) return add_symbol_file(search, bytes, error);
        if (uspi_dyld_is_cache(bytes)) {
            return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT,
                                    "a dyld shared cache: name it as one (--shared-cache), not as an object file");
        }
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "%s",
                                uspi_dyld_is_rosetta(bytes) ? USPI_DYLD_ROSETTA : "neither ELF nor Mach-O");
    }
}

static int refuse_others(struct search *search, struct uspi_error *error) {
    const struct usp_image_file_options *wanted = search->wanted;
    char build_text[2 * USP_BUILD_ID_MAX + 8];
    struct uspi_text build = uspi_text_in(build_text, sizeof build_text);
    uspi_text_end(&search->others);
    if (wanted->build_id_size > 0) {
        put_build(&build, wanted->build_id, wanted->build_id_size);
        uspi_text_end(&build);
        return uspi_error_set(error, USP_ERROR_MISMATCH, "%s: another build: it is %s, not %s", search->path,
                              search->others_text, build_text);
    }
    return uspi_error_set(error, USP_ERROR_MISMATCH, "%s: for %s, not for %s", search->path, search->others_text,
                          usp_variant_string(wanted->arch, wanted->variant));
}

/* A uspi_judge: accepts a file with a wanted image, and leaves its wanted images in search->list. Of a dSYM bundle it
 * accepts no file, so that all of them are tried: there may be several builds in it. */
static int take_images(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    struct search *search = context;
    const bool is_bundle = uspi_dsym_is_bundle(search->path);
    const size_t before = search->list.count;
    if (!is_bundle) uspi_image_list_clear(&search->list);
    int status = add_images(search, bytes, error);
    if (is_bundle && search->list.count > before) return status == USP_ERROR_NO_MEMORY ? status : USP_ERROR_MISMATCH;
    if (status != USP_OK || search->list.count > 0) return status;
    if (search->others.length > 0) return refuse_others(search, error);
    return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "no image in it");
}

/* A uspi_part_try. */
static int search_file(void *context, const char *file, const struct uspi_part *part, struct uspi_error *error) {
    const struct uspi_search as_named = {.as_named = true};
    struct search *search = context;
    struct uspi_file *opened;
    search->part = part;
    int status = uspi_search_bundles(&as_named, file, take_images, search, &opened, error);
    if (status == USP_OK) uspi_file_close(opened);
    /* take_images has accepted no file of a bundle. */
    const bool has_builds = uspi_dsym_is_bundle(search->path) && search->list.count > 0;
    return has_builds && status != USP_ERROR_NO_MEMORY ? USP_OK : status;
}

static int read_file(const char *path, const struct usp_image_file_options *wanted, struct usp_images **images,
                     struct uspi_error *error) {
    struct search search = {.wanted = wanted, .path = path};
    search.others = uspi_text_in(search.others_text, sizeof search.others_text);
    int status = uspi_part_read(path, search_file, &search, error);
    if (status == USP_OK) {
        status = uspi_image_list_seal(&search.list, images);
        if (status != USP_OK) no_memory(&search, error);
    }
    uspi_image_list_clear(&search.list);
    return status;
}

int usp_images_open(const char *path, const struct usp_image_file_options *options, struct usp_images **images,
                    char *error, size_t error_size) {
    struct usp_image_file_options wanted;
    struct uspi_error why;
    if (error != NULL && error_size > 0) error[0] = '\0';
    if (path == NULL || images == NULL) return USP_ERROR_ARGUMENT;
    *images = NULL;
    int status = complete_options(options, &wanted)
                     ? read_file(path, &wanted, images, &why)
                     : uspi_error_set(&why, USP_ERROR_ARGUMENT, "the options make no sense");
    if (status != USP_OK && error != NULL && error_size > 0) snprintf(error, error_size, "%s", why.text);
    return status;
}
