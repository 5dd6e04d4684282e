/* SPDX-License-Identifier: MIT */
/* Looks up lines in one process: usp_symbolize_lines at addresses of a file. The addresses are read from standard
 * input, as linked, one a line. Uses the file's index in a store if one is given, otherwise the file's debug
 * information. Prints the lookups per second (the median of the rounds) and the number of all frames. Used by lines.sh
 * for comparisons.
 * usage: lines FILE [STORE] */
#include "tests/bench/measure.h"

#include <time.h>

#define ROUNDS 9u

static usp_addr *addresses;
static size_t count;

static void read_addresses(usp_addr slide) {
    char line[64];
    size_t capacity = 0;
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (count == capacity) {
            capacity = capacity == 0 ? 1024 : capacity * 2;
            addresses = realloc(addresses, capacity * sizeof *addresses);
            if (addresses == NULL) exit(1);
        }
        addresses[count++] = strtoull(line, NULL, 16) + slide;
    }
}

/* Returns the processor time of this process, because other programs may run beside it. */
static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static size_t look_all_up(struct usp_symbolizer *symbolizer) {
    struct usp_source_frame frames[64];
    struct usp_lines lines;
    size_t all = 0;
    usp_lines_init(&lines, frames, 64);
    for (size_t i = 0; i < count; i++) {
        if (usp_symbolize_lines(symbolizer, addresses[i], &lines) == USP_OK) all += lines.count;
    }
    return all;
}

int main(int argc, char **argv) {
    struct usp_symbolizer_options options;
    struct usp_symbolizer *symbolizer;
    struct usp_images *images;
    double rounds[ROUNDS];
    char error[512];
    if (argc < 2) return 2;
    if (usp_images_open(argv[1], NULL, &images, error, sizeof error) != USP_OK) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    usp_symbolizer_options_init(&options);
    options.index_store = argc > 2 ? argv[2] : NULL;
    if (usp_symbolizer_create(images, &options, &symbolizer) != USP_OK) return 1;
    read_addresses(usp_images_get(images, 0)->slide);
    if (count == 0) return 1;
    size_t all = look_all_up(symbolizer);
    for (unsigned i = 0; i < ROUNDS; i++) {
        const double begin = processor_seconds();
        all = look_all_up(symbolizer);
        rounds[i] = processor_seconds() - begin;
    }
    printf("%.0f %zu\n", (double)count / median(rounds, ROUNDS), all);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    free(addresses);
    return 0;
}
