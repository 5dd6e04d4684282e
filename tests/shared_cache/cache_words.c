/* SPDX-License-Identifier: MIT */
/* cache_words CACHE WIDTH: prints the words at addresses of a shared cache as the library reads them, with pointers
 * replaced by what they stand for. Reads hexadecimal addresses from standard input, one on each line; prints a value or
 * "-" for each. For tests/shared_cache/pointers.py. */
#include "lib/images/dyld_cache_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unspool/unspool.h>

int main(int argc, char **argv) {
    struct usp_dyld_caches *caches;
    uint64_t address;
    uint8_t raw[8];
    if (argc != 3 || usp_dyld_caches_create(&caches) != USP_OK) return 2;
    const size_t width = strtoul(argv[2], NULL, 10);
    if (width > sizeof raw || usp_dyld_caches_add(caches, argv[1], NULL, NULL, NULL, 0) != USP_OK) return 1;
    while (scanf("%" SCNx64, &address) == 1) {
        if (uspi_dyld_read(caches->caches[0], address, raw, width) == USP_OK) {
            printf("%" PRIx64 "\n", uspi_le(raw, (unsigned)width));
        } else {
            puts("-");
        }
    }
    usp_dyld_caches_free(caches);
    return 0;
}
