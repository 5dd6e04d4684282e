/* SPDX-License-Identifier: MIT */
/* Example on the manual page usp_images_open(3). */
#include <stdio.h>
#include <stdlib.h>
#include <unspool/symbolize.h>

/* Prints the function at an address of a program that was loaded elsewhere:
 * usp_images_open App.dSYM 0x102890000 0x1028a3f20 */
int main(int argc, char **argv) {
    struct usp_image_file_options options;
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    char error[512];
    int status = 1;

    if (argc != 4) return 2;
    usp_image_file_options_init(&options);
    options.flags = USP_IMAGE_FILE_LOADED;
    options.load_address = strtoull(argv[2], NULL, 0);
    if (usp_images_open(argv[1], &options, &images, error, sizeof error) != USP_OK) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    if (usp_symbolizer_create(images, NULL, &symbolizer) == USP_OK) {
        if (usp_symbolize(symbolizer, strtoull(argv[3], NULL, 0), &symbol) == USP_OK) {
            puts(symbol.name);
            status = 0;
        }
        usp_symbolizer_free(symbolizer);
    }
    usp_images_free(images);
    return status;
}
