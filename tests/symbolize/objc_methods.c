/* SPDX-License-Identifier: MIT */
/* objc_methods FILE ARCH: prints the Objective-C methods of a Mach-O file from its metadata only. For each address on
 * standard input (hexadecimal, as linked) it prints a line: the method that contains it and the offset from its start,
 * or "-". "objc_methods FILE ARCH all" lists the start and name of each method. For tests/symbolize/objc.sh. */
#include "lib/images/file.h"
#include "lib/object/fat.h"
#include "lib/symbolize/objc/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct image {
    struct uspi_file *file;
    struct uspi_macho macho;
    struct uspi_tables *tables;
    struct uspi_names *names;
    struct uspi_gathering gathering;
    struct uspi_index index;
};

static int open_image(struct image *image, const char *path, const char *arch) {
    const struct uspi_wanted_slice wanted = {.arch = usp_arch_from_string(arch),
                                             .variant = usp_variant_from_string(arch)};
    struct uspi_error error = {0};
    int status = uspi_file_open(path, &image->file, &error);
    if (status == USP_OK) status = uspi_fat_pick(uspi_file_bytes(image->file), &wanted, &image->macho, &error);
    if (status == USP_OK) status = uspi_objc_tables_open(&image->macho, NULL, &image->tables);
    if (status == USP_OK) status = image->tables->gather(image->tables, &image->gathering);
    if (status == USP_OK) {
        status = uspi_index_build(&image->index, &image->gathering, image->tables->prefer, image->tables);
    }
    image->names = uspi_names_create();
    if (status != USP_OK) fprintf(stderr, "%s: %s %s\n", path, usp_status_string(status), error.text);
    return status;
}

static void close_image(struct image *image) {
    uspi_gathering_clear(&image->gathering);
    uspi_index_clear(&image->index);
    if (image->tables != NULL) image->tables->close(image->tables);
    uspi_names_free(image->names);
    uspi_file_close(image->file);
}

static int list_all(struct image *image) {
    usp_addr start;
    for (usp_addr at = 0; uspi_index_next(&image->index, at, &start); at = start + 1) {
        struct uspi_symbol_answer named = {0};
        uint32_t symbol = uspi_index_find(&image->index, start, &named.start, &named.size);
        if (symbol == USPI_NO_SYMBOL) continue;
        int status = image->tables->get(image->tables, symbol, image->names, &named);
        if (status != USP_OK) return status;
        if (named.start == start) printf("%" PRIx64 " %s\n", named.start, named.name);
    }
    return USP_OK;
}

static int answer(struct image *image) {
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct uspi_symbol_answer named = {0};
        usp_addr address;
        if (sscanf(line, "%" SCNx64, &address) != 1) return USP_ERROR_ARGUMENT;
        uint32_t symbol = uspi_index_find(&image->index, address, &named.start, &named.size);
        if (symbol == USPI_NO_SYMBOL) {
            printf("-\n");
            continue;
        }
        int status = image->tables->get(image->tables, symbol, image->names, &named);
        if (status != USP_OK) return status;
        printf("%s + %" PRIu64 "\n", named.name, address - named.start);
    }
    return USP_OK;
}

int main(int argc, char **argv) {
    struct image image = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: objc_methods FILE ARCH [all]\n");
        return 2;
    }
    int status = open_image(&image, argv[1], argv[2]);
    if (status == USP_OK) status = argc > 3 && strcmp(argv[3], "all") == 0 ? list_all(&image) : answer(&image);
    close_image(&image);
    return status == USP_OK ? 0 : 1;
}
