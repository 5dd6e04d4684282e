/* SPDX-License-Identifier: MIT */
/* The images that lie in an object file, where they were linked for or where they are said to have been loaded. What a
 * process or a core has loaded is lib/os/'s and lib/corefile/'s. */
#include "lib/format.h"
#include "lib/image_list.h"
#include "lib/object/elf.h"
#include "lib/object/fat.h"
#include "lib/object/search.h"

#include <stdio.h>
#include <string.h>

void usp_image_file_options_init(struct usp_image_file_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/* False when they make no sense. */
static bool complete_options(const struct usp_image_file_options *options, struct usp_image_file_options *completed) {
    usp_image_file_options_init(completed);
    if (options == NULL) return true;
    if (options->size < offsetof(struct usp_image_file_options, reserved)) return false;
    memcpy(completed, options, options->size < sizeof *completed ? options->size : sizeof *completed);
    return completed->arch <= USP_ARCH_I386 && completed->build_id_size <= USP_BUILD_ID_MAX &&
           (completed->flags & ~(uint32_t)USP_IMAGE_FILE_LOADED) == 0;
}

/* What is wanted of a file, and what was found in it. */
struct search {
    const struct usp_image_file_options *wanted;
    const char *path;
    struct uspi_image_list list;
    char others_room[256];
    struct uspi_text others; /* the images that are not wanted, for the message that there is none */
};

static bool is_wanted(const struct usp_image_file_options *wanted, const struct usp_image *image) {
    if (wanted->build_id_size > 0) {
        return image->build_id_size == wanted->build_id_size &&
               memcmp(image->build_id, wanted->build_id, image->build_id_size) == 0;
    }
    return wanted->arch == USP_ARCH_NONE || image->arch == wanted->arch;
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
    if (others->length > 0) uspi_put_string(others, ", ");
    uspi_put_string(others, usp_arch_name(image->arch));
    if (search->wanted->build_id_size == 0) return;
    uspi_put_string(others, " ");
    put_build(others, image->build_id, image->build_id_size);
}

/* Addresses as linked; the image's others are set. */
struct linked {
    usp_addr header, high, text_low, text_high;
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
    image->load_address = is_loaded ? wanted->load_address : linked->header;
    image->slide = image->load_address - linked->header;
    if (!uspi_sum(image->load_address, linked->high - linked->header, &image->end)) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_ARGUMENT,
                                "the image is too large for the load address that was given");
    }
    image->text_low = has_text ? linked->text_low + image->slide : image->load_address;
    image->text_high = has_text ? linked->text_high + image->slide : image->load_address;
    image->path = bytes.source->name;
    int status = uspi_image_list_add(&search->list, image);
    return status == USP_OK ? status : uspi_error_set(error, status, "%s: out of memory", search->path);
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
    status = uspi_macho_layout(&macho, &extent, error);
    if (status != USP_OK) return status == USP_ERROR_NOT_FOUND ? USP_ERROR_FORMAT : status;
    status = uspi_macho_uuid(&macho, image.build_id, error);
    if (status == USP_OK) image.build_id_size = USPI_UUID_SIZE;
    if (status != USP_OK && status != USP_ERROR_NOT_FOUND) return status;
    image.arch = macho.arch;
    struct linked linked = {extent.header, extent.high, extent.text_low, extent.text_high};
    return add_image(search, bytes, &linked, &image, error);
}

static int add_slices(struct search *search, struct uspi_bytes bytes, struct uspi_error *error) {
    struct uspi_fat fat;
    struct uspi_fat_slice slice;
    int status = uspi_fat_open(&fat, bytes, error), damage = USP_OK;
    for (uint32_t i = 0; status == USP_OK && i < fat.count; i++) {
        /* Of several that are damaged the first is told. */
        struct uspi_error *why = damage == USP_OK ? error : NULL;
        int added = uspi_fat_slice(&fat, i, &slice, why);
        if (added == USP_OK) added = add_macho(search, slice.bytes, why);
        if (added == USP_ERROR_NO_MEMORY) return uspi_error_set(error, added, "%s: out of memory", search->path);
        if (damage == USP_OK) damage = added;
    }
    if (status != USP_OK || search->list.count > 0) return status;
    return damage;
}

static int add_elf(struct search *search, struct uspi_bytes bytes, struct uspi_error *error) {
    struct uspi_elf elf;
    struct uspi_elf_extent extent;
    struct uspi_build_id id = {0};
    struct usp_image image = {0};
    int status = uspi_elf_open(&elf, bytes, error);
    if (status != USP_OK) return status;
    if (elf.type == USPI_ET_CORE || elf.type == USPI_ET_REL) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED,
                                elf.type == USPI_ET_CORE ? "a core, not an image"
                                                         : "not linked yet: its code has no addresses");
    }
    status = uspi_elf_extent(&elf, &extent, error);
    if (status != USP_OK) return status == USP_ERROR_NOT_FOUND ? USP_ERROR_FORMAT : status;
    status = uspi_elf_build_id(&elf, &id, error);
    if (status != USP_OK && status != USP_ERROR_NOT_FOUND) return status;
    image.arch = elf.arch;
    image.build_id_size = id.size < USP_BUILD_ID_MAX ? id.size : USP_BUILD_ID_MAX;
    memcpy(image.build_id, id.bytes, image.build_id_size);
    struct linked linked = {elf.header_address, extent.high, extent.text_low, extent.text_high};
    return add_image(search, bytes, &linked, &image, error);
}

static int refuse_others(struct search *search, struct uspi_error *error) {
    const struct usp_image_file_options *wanted = search->wanted;
    char room[2 * USP_BUILD_ID_MAX + 8];
    struct uspi_text build = uspi_text_in(room, sizeof room);
    uspi_text_end(&search->others);
    if (wanted->build_id_size > 0) {
        put_build(&build, wanted->build_id, wanted->build_id_size);
        uspi_text_end(&build);
        return uspi_error_set(error, USP_ERROR_MISMATCH, "%s: another build: it is %s, not %s", search->path,
                              search->others_room, room);
    }
    return uspi_error_set(error, USP_ERROR_MISMATCH, "%s: for %s, not for %s", search->path, search->others_room,
                          usp_arch_name(wanted->arch));
}

/* The shape of uspi_judge: a file with a wanted image in it is accepted, and its images are in the list then. */
static int take_images(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    struct search *search = context;
    int status;
    switch (uspi_identify(bytes)) {
    case USPI_FORMAT_MACHO: status = add_macho(search, bytes, error); break;
    case USPI_FORMAT_FAT: status = add_slices(search, bytes, error); break;
    case USPI_FORMAT_ELF: status = add_elf(search, bytes, error); break;
    case USPI_FORMAT_ARCHIVE:
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED,
                                "an archive: its members are not linked yet and have no addresses");
    default: return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "neither ELF nor Mach-O");
    }
    if (status != USP_OK || search->list.count > 0) return status;
    if (search->others.length > 0) return refuse_others(search, error);
    return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "no image in it");
}

static int read_file(const char *path, const struct usp_image_file_options *wanted, struct usp_images **images,
                     struct uspi_error *error) {
    const struct uspi_search as_named = {.as_named = true};
    struct search search = {.wanted = wanted, .path = path};
    struct uspi_file *file;
    search.others = uspi_text_in(search.others_room, sizeof search.others_room);
    int status = uspi_search_open(&as_named, path, take_images, &search, &file, error);
    if (status == USP_OK) {
        uspi_file_close(file);
        status = uspi_image_list_seal(&search.list, images);
        if (status != USP_OK) uspi_error_set(error, status, "%s: out of memory", path);
    }
    uspi_image_list_clear(&search.list);
    return status;
}

int usp_images_file(const char *path, const struct usp_image_file_options *options, struct usp_images **images,
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
