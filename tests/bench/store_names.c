/* SPDX-License-Identifier: MIT */
/* Measures names of random addresses over all images of a store, by the library alone: how many a second of processor
 * time when each image and each name is asked for the first time, and when it was asked before; and how many a second by
 * the clock when two threads ask a new symbolizer. For shared_cache.py.
 *
 * usage: store_names STORE COUNT FIRST STEP FUNCTIONS    the ids of the images come on standard input, one a line
 *
 * Each image has that many functions: the first one begins at its offset FIRST, the others STEP bytes after another. */
#define _GNU_SOURCE 1

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unspool/unspool.h>

/* Distance of the images, which are put one after the other. */
#define ROOM   UINT64_C(0x1000000)
#define BASE   UINT64_C(0x100000000)
#define ROUNDS 5

static double seconds_of(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void fail(const char *what) {
    fprintf(stderr, "store_names: %s\n", what);
    exit(1);
}

/* Describes the images of the ids, at addresses of their own. */
static struct usp_images *read_images(const char *store, size_t *count) {
    struct usp_image *images = NULL;
    struct usp_images *list;
    char line[64];
    *count = 0;
    while (fgets(line, sizeof line, stdin) != NULL) {
        uint8_t id[16];
        for (unsigned i = 0; i < sizeof id; i++) {
            unsigned byte;
            if (sscanf(line + 2 * i, "%2x", &byte) != 1) fail("an id has 32 digits");
            id[i] = (uint8_t)byte;
        }
        images = realloc(images, (*count + 1) * sizeof *images);
        if (images == NULL) fail("out of memory");
        struct usp_image *image = &images[*count];
        if (usp_index_image(store, id, sizeof id, image) != USP_OK) fail("an image has no index");
        const usp_addr linked = image->load_address;
        image->load_address = BASE + ROOM * (*count)++;
        image->end = image->load_address + ROOM;
        image->slide = image->load_address - linked;
    }
    if (usp_images_create(images, *count, &list) != USP_OK) fail("no list of images");
    free(images);
    return list;
}

/* What a thread asks for. */
struct work {
    struct usp_symbolizer *symbolizer;
    const usp_addr *addresses;
    size_t count;
};

static void *ask(void *context) {
    const struct work *work = context;
    struct usp_symbol symbol;
    for (size_t i = 0; i < work->count; i++) {
        if (usp_symbolize(work->symbolizer, work->addresses[i], &symbol) != USP_OK) fail("an address has no name");
    }
    return NULL;
}

/* Returns how many names there are in a second of processor time. */
static double rate_of(const struct work *work) {
    const double begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    ask((void *)work);
    return (double)work->count / (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begin);
}

/* Returns how many names two threads get in a second by the clock, each for one half of the addresses. */
static double rate_of_two_threads(const struct work *work) {
    struct work halves[2] = {*work, *work};
    pthread_t thread;
    halves[0].count /= 2;
    halves[1].addresses += halves[0].count;
    halves[1].count -= halves[0].count;
    const double begin = seconds_of(CLOCK_MONOTONIC);
    if (pthread_create(&thread, NULL, ask, &halves[1]) != 0) fail("no thread");
    ask(&halves[0]);
    pthread_join(thread, NULL);
    return (double)work->count / (seconds_of(CLOCK_MONOTONIC) - begin);
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    struct usp_symbolizer_options options;
    struct usp_symbolizer *symbolizer;
    size_t images;
    if (argc != 6) fail("usage: store_names STORE COUNT FIRST STEP FUNCTIONS");
    const size_t count = strtoul(argv[2], NULL, 0), functions = strtoul(argv[5], NULL, 0);
    const usp_addr first = strtoul(argv[3], NULL, 0), step = strtoul(argv[4], NULL, 0);
    struct usp_images *list = read_images(argv[1], &images);
    usp_addr *addresses = malloc(count * sizeof *addresses);
    usp_symbolizer_options_init(&options);
    options.index_store = argv[1];
    if (images == 0 || functions == 0 || addresses == NULL) fail("nothing to ask for");
    if (usp_symbolizer_create(list, &options, &symbolizer) != USP_OK) fail("no symbolizer");
    srand(1);
    for (size_t i = 0; i < count; i++) {
        addresses[i] = BASE + ROOM * ((size_t)rand() % images) + first + step * ((size_t)rand() % functions) + 8;
    }
    double again[ROUNDS];
    struct work work = {symbolizer, addresses, count};
    const double once = rate_of(&work);
    for (unsigned i = 0; i < ROUNDS; i++) again[i] = rate_of(&work);
    qsort(again, ROUNDS, sizeof again[0], compare);
    usp_symbolizer_free(symbolizer);
    if (usp_symbolizer_create(list, &options, &work.symbolizer) != USP_OK) fail("no symbolizer");
    printf("%.0f %.0f %.0f\n", once, again[ROUNDS / 2], rate_of_two_threads(&work));
    usp_symbolizer_free(work.symbolizer);
    usp_images_free(list);
    free(addresses);
    return 0;
}
