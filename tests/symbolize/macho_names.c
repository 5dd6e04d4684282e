/* SPDX-License-Identifier: MIT */
/* Names addresses of a Mach-O file by the library, for tests/symbolize/macho.sh, which compares the names with other
 * tools:
 *
 *     macho_names FILE ARCH            reads linked addresses in hexadecimal, writes "ADDRESS START EXTENT NAME" for
 *                                      each, or "ADDRESS -"; a fourth field after a tab is the source file, if known
 *     macho_names --code FILE ARCH     writes the sections that contain code, as "LOW HIGH NAME"
 *     macho_names --starts FILE ARCH   writes the addresses where functions start, without Thumb bits
 *
 * FILE may be thin, fat or a dSYM. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/unspool.h>

#include "lib/images/dsym.h"
#include "lib/images/image_list.h"
#include "lib/object/fat.h"
#include "lib/object/macho_symbols.h"

static struct uspi_error error;

static void check(int status) {
    if (status >= 0) return;
    fprintf(stderr, "macho_names: %s\n", error.text[0] != '\0' ? error.text : usp_status_string(status));
    exit(1);
}

static int judge_slice(void *wanted, struct uspi_bytes bytes, struct uspi_error *why) {
    struct uspi_macho macho;
    return uspi_fat_pick(bytes, wanted, &macho, why);
}

/* Returns the image of a process that has loaded the file at the address where it was linked. */
static struct usp_images *load(const char *path, const struct uspi_macho *macho) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_image_list list = {0};
    struct usp_images *images;
    struct usp_image image = {.path = path, .arch = macho->arch, .flags = USP_IMAGE_MAIN | USP_IMAGE_MACHO};
    bool any = false;
    while (uspi_macho_next_segment(macho, &cursor, &segment, &error) > 0) {
        if (segment.protection == 0 || segment.memory_size == 0) continue;
        if (!any || segment.address < image.load_address) image.load_address = segment.address;
        if (segment.address + segment.memory_size > image.end) image.end = segment.address + segment.memory_size;
        any = true;
    }
    image.text_low = image.load_address;
    image.text_high = image.end;
    if (uspi_macho_uuid(macho, image.build_id, &error) == USP_OK) image.build_id_size = USPI_UUID_SIZE;
    check(uspi_image_list_add(&list, &image));
    check(uspi_image_list_seal(&list, &images));
    return images;
}

static void name_addresses(const char *path, const struct uspi_macho *macho) {
    struct usp_images *images = load(path, macho);
    struct usp_symbolizer *symbolizer;
    uint64_t address;
    check(usp_symbolizer_create(images, NULL, &symbolizer));
    while (scanf("%" SCNx64, &address) == 1) {
        struct usp_symbol symbol;
        if (usp_symbolize(symbolizer, address, &symbol) == USP_OK) {
            printf("%#" PRIx64 " %#" PRIx64 " %" PRIu64 " %s\t%s\n", address, symbol.start, symbol.extent, symbol.name,
                   symbol.source_file != NULL ? symbol.source_file : "");
        } else {
            printf("%#" PRIx64 " -\n", address);
        }
    }
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}

static void list_code(const struct uspi_macho *macho) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_macho_section section;
    const uint32_t has_code = USPI_S_ATTR_PURE_INSTRUCTIONS | USPI_S_ATTR_SOME_INSTRUCTIONS;
    while (uspi_macho_next_segment(macho, &cursor, &segment, &error) > 0) {
        for (uint32_t i = 0; i < segment.section_count; i++) {
            check(uspi_macho_section(macho, &segment, i, &section, &error));
            if ((section.flags & has_code) == 0) continue;
            printf("%#" PRIx64 " %#" PRIx64 " %s\n", section.address, section.address + section.size, section.name);
        }
    }
}

static void list_starts(const struct uspi_macho *macho) {
    struct uspi_macho_starts starts;
    usp_addr start;
    if (uspi_macho_starts(macho, &starts, &error) != USP_OK) return;
    while (uspi_macho_next_start(&starts, &start, &error) > 0) {
        printf("%#" PRIx64 "\n", macho->arch == USP_ARCH_ARMV7 ? start & ~UINT64_C(1) : start);
    }
}

int main(int argc, char **argv) {
    const char *mode = argc == 4 ? argv[1] : "";
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: macho_names [--code|--starts] FILE ARCH\n");
        return 2;
    }
    const char *path = argv[argc - 2];
    struct uspi_wanted_slice wanted = {.arch = usp_arch_from_string(argv[argc - 1]),
                                       .variant = usp_variant_from_string(argv[argc - 1])};
    const struct uspi_search search = {.as_named = true};
    struct uspi_file *file;
    struct uspi_macho macho;
    check(uspi_search_bundles(&search, path, judge_slice, &wanted, &file, &error));
    check(uspi_fat_pick(uspi_file_bytes(file), &wanted, &macho, &error));
    if (strcmp(mode, "--code") == 0) {
        list_code(&macho);
    } else if (strcmp(mode, "--starts") == 0) {
        list_starts(&macho);
    } else {
        name_addresses(path, &macho);
    }
    uspi_file_close(file);
    return 0;
}
