/* SPDX-License-Identifier: MIT */
/* Shortens and regrows a file without a pause, and reads it by the library meanwhile:
 *     regrow FILE ROUNDS ADDRESS    opens FILE, symbolicates ADDRESS and makes an index, ROUNDS times
 *     regrow FILE                   changes FILE until it is killed
 * Prints how many rounds gave a name, and how many an error. The file has its bytes again at the end. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unspool/lines.h>
#include <unspool/symbolize.h>

static char *bytes;
static long size;
static FILE *file;
static atomic_int ends;

static void *change(void *context) {
    (void)context;
    const int fd = fileno(file);
    for (unsigned i = 0; !ends; i++) {
        if (ftruncate(fd, size * (long)(i % 16) / 16) != 0) exit(3);
        if (i % 3 == 0) usleep(i % 500);
        /* Every other time the end comes back as zeros. */
        if ((i % 2 == 0 ? pwrite(fd, bytes, (size_t)size, 0) != size : ftruncate(fd, size) != 0)) exit(3);
        if (i % 4 == 0) usleep(i % 700);
    }
    if (pwrite(fd, bytes, (size_t)size, 0) != size) exit(3);
    return NULL;
}

/* Returns the name of the function at an address: 1 right, 0 an error, -1 another name. */
static int look(const char *path, usp_addr address) {
    struct usp_image_file_options options;
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    struct usp_index index;
    const struct usp_image *image;
    int found = 0;
    usp_image_file_options_init(&options);
    if (usp_images_open(path, &options, &images, NULL, 0) != USP_OK) return 0;
    image = usp_images_get(images, 0);
    usp_index_init(&index, "regrown");
    if (image != NULL) (void)usp_index_write(images, image, &index);
    if (usp_symbolizer_create(images, NULL, &symbolizer) == USP_OK) {
        if (usp_symbolize(symbolizer, address, &symbol) == USP_OK) {
            found = strcmp(symbol.name, "function_number_300") == 0 ? 1 : -1;
        }
        usp_symbolizer_free(symbolizer);
    }
    usp_images_free(images);
    return found;
}

int main(int count, char **arguments) {
    pthread_t thread;
    unsigned right = 0, errors = 0;
    file = fopen(arguments[1], "r+b");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) <= 0) return 2;
    bytes = malloc((size_t)size);
    rewind(file);
    if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) return 2;
    if (pthread_create(&thread, NULL, change, NULL) != 0) return 2;
    for (int i = 0; count > 2 && i < atoi(arguments[2]); i++) {
        const int found = look(arguments[1], strtoull(arguments[3], NULL, 16));
        right += found > 0;
        errors += found <= 0;
    }
    if (count <= 2) pause();
    ends = 1;
    pthread_join(thread, NULL);
    printf("%u right, %u errors\n", right, errors);
    return right + errors > 0 && look(arguments[1], strtoull(arguments[3], NULL, 16)) == 1 ? 0 : 1;
}
