/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_dyld_cache into the folder of this name below the given one. A seed is three files: the size
 * of the main file and of .02.dylddata, as 4 bytes each, then the files, the last of which is .symbols. */
#include "tests/support/dyld_cache_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct {
    uint8_t bytes[SIZE];
    size_t size;
} files[3];

static void save(const char *name, size_t size) {
    const size_t i = strstr(name, ".symbols") != NULL ? 2 : strstr(name, ".02") != NULL ? 1 : 0;
    memcpy(files[i].bytes, bytes, size);
    files[i].size = size;
}

static void write_seed(const char *folder, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/fuzz_dyld_cache", folder);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/fuzz_dyld_cache/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL) abort();
    for (size_t i = 0; i < 2; i++) {
        for (unsigned k = 0; k < 4; k++) fputc((int)(files[i].size >> 8 * k & 0xff), file);
    }
    for (size_t i = 0; i < 3; i++) fwrite(files[i].bytes, 1, files[i].size, file);
    if (fclose(file) != 0) abort();
    memset(files, 0, sizeof files);
}

int main(int argc, char **argv) {
    static const uint32_t headers[] = {0x98, 0x140, 0x1c8, 0x238};
    char name[16];
    if (argc != 2) return 1;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        memset(bytes, 0, sizeof bytes);
        put_cache(headers[i]);
        save("main", SIZE);
        snprintf(name, sizeof name, "one-%zu", i);
        write_seed(argv[1], name);
    }
    memset(bytes, 0, sizeof bytes);
    save_split();
    write_seed(argv[1], "split");
    return 0;
}
