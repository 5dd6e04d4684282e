/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as the files of a dyld shared cache. Opens it, makes each image a file of its own, and asks for
 * all names. Seeds: tests/fuzz/dyld_cache_seeds.c. */
#define _GNU_SOURCE 1
#include "lib/images/dyld_image.h"
#include "lib/object/macho_space.h"

#include <unspool/dyld_extract.h>
#include <unspool/symbolize.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-dyld-cache-XXXXXX";

static void remove_files(void) {
    static const char *const names[] = {"", ".02.dylddata", ".symbols"};
    char path[128];
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/main%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void write_file(const char *suffix, const uint8_t *data, size_t size) {
    char path[128];
    snprintf(path, sizeof path, "%s/main%s", folder, suffix);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) abort();
}

/* Reads a made file to its end, as far as it is not larger than what the fuzzer can have written. */
static void read_all(const struct uspi_file *file) {
    const struct uspi_bytes bytes = uspi_file_bytes(file);
    uint8_t piece[4096];
    for (uint64_t at = 0; at < bytes.size && at < (1 << 20); at += sizeof piece) {
        const uint64_t left = bytes.size - at;
        (void)uspi_bytes_read(bytes, at, piece, left < sizeof piece ? (size_t)left : sizeof piece, "piece", NULL);
    }
}

/* Implements usp_write_function. Ends when there is more than the fuzzer can have written. */
static int count_bytes(void *context, const char *bytes, size_t n) {
    size_t *count = context;
    if (n == 0 || (*count == 0 && n >= 28 && ((uint8_t)bytes[27] & 0x80) != 0)) abort();
    *count += n;
    return *count < (1 << 20) ? USP_OK : USP_ERROR_FULL;
}

static int count_symbol(void *context, const struct usp_symbol *symbol) {
    size_t *count = context;
    if (symbol->name == NULL || strcmp(symbol->name, "<redacted>") == 0) abort();
    return ++*count > 10000;
}

static void name_images(const struct usp_dyld_caches *caches) {
    struct usp_symbolizer_options options;
    struct usp_symbolizer *symbolizer;
    struct usp_images *images;
    const struct usp_image *image;
    usp_symbolizer_options_init(&options);
    options.dyld_caches = caches;
    if (usp_dyld_caches_list(caches, 0, USP_DYLD_STUBS, &images) != USP_OK) abort();
    if (usp_symbolizer_create(images, &options, &symbolizer) != USP_OK) abort();
    for (size_t i = 0; i < 8 && (image = usp_images_get(images, i)) != NULL; i++) {
        struct uspi_file *file;
        size_t count = 0, written = 0;
        (void)usp_symbolizer_visit(symbolizer, image->load_address, count_symbol, &count);
        (void)usp_dyld_caches_extract(caches, image->build_id, count_bytes, &written, NULL, 0);
        if (uspi_dyld_image_open(caches, image->build_id, &file, NULL) != USP_OK) continue;
        read_all(file);
        uspi_file_close(file);
    }
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool is_ready;
    struct usp_dyld_caches *caches;
    char path[128];
    if (size < 8) return 0;
    if (!is_ready) {
        if (mkdtemp(folder) == NULL) abort();
        atexit(remove_files);
        is_ready = true;
    }
    size_t main_size = uspi_le32(data), second = uspi_le32(data + 4), left = size - 8;
    main_size = main_size < left ? main_size : left;
    second = second < left - main_size ? second : left - main_size;
    write_file("", data + 8, main_size);
    write_file(".02.dylddata", data + 8 + main_size, second);
    write_file(".symbols", data + 8 + main_size + second, left - main_size - second);
    snprintf(path, sizeof path, "%s/main", folder);
    if (usp_dyld_caches_create(&caches) != USP_OK) abort();
    if (usp_dyld_caches_add(caches, path, NULL, NULL, NULL, 0) == USP_OK) name_images(caches);
    usp_dyld_caches_free(caches);
    return 0;
}
