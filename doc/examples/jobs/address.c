/* SPDX-License-Identifier: MIT */
/* Prints the function at an address of a file, as linked: address FILE ADDRESS. */
#include <stdio.h>
#include <stdlib.h>
#include <unspool/unspool.h>

int main(int argc, char **argv) {
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    if (argc != 3 || usp_images_open(argv[1], NULL, &images, NULL, 0) != USP_OK) return 1;
    if (usp_symbolizer_create(images, NULL, &symbolizer) != USP_OK) return 1;
    if (usp_symbolize(symbolizer, strtoull(argv[2], NULL, 0), &symbol) != USP_OK) return 1;
    return puts(symbol.name) < 0;
}
