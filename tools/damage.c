/* SPDX-License-Identifier: MIT */
/* Implements damage.h. */
#include "tools/damage.h"

#include "tools/command.h"

#include <unspool/images.h>

#include <stdio.h>
#include <string.h>

bool complain_of_names(const char *path, const uint8_t *id, size_t id_size, const char *shown) {
    struct usp_image_file_options options;
    struct usp_images *images;
    char error[1024];
    usp_image_file_options_init(&options);
    options.flags = USP_IMAGE_FILE_LINKED | USP_IMAGE_FILE_NAMED;
    options.build_id_size = (uint32_t)id_size;
    if (id_size > 0) memcpy(options.build_id, id, id_size);
    int status = usp_images_open(path, &options, &images, error, sizeof error);
    if (status == USP_OK) usp_images_free(images);
    if (status != USP_ERROR_FORMAT && status != USP_ERROR_TRUNCATED) return false;
    complain("%s%s%s", shown != NULL ? shown : "", shown != NULL ? ": " : "", error);
    return true;
}

static bool is_dsym(const char *path) { return strstr(path, ".dSYM/") != NULL; }

/* Reads the next bytes of both files, which may be their first ones. Returns whether they are equal and not the last
 * ones. */
static bool go_on(FILE *a, FILE *b, bool are_first, bool *differ) {
    /* Both numbers of a fat file's magic, which is big-endian (mach-o/fat.h). */
    static const char fat[2][4] = {"\xca\xfe\xba\xbe", "\xca\xfe\xba\xbf"};
    char pieces[2][1 << 14];
    const size_t n = fread(pieces[0], 1, sizeof pieces[0], a), m = fread(pieces[1], 1, sizeof pieces[1], b);
    for (unsigned i = 0; are_first && n >= 4 && m >= 4 && i < 4; i++) {
        if (memcmp(pieces[i / 2], fat[i % 2], 4) == 0) return false;
    }
    *differ = n != m || memcmp(pieces[0], pieces[1], n) != 0;
    return !*differ && n == sizeof pieces[0];
}

bool are_different_dsyms(const char *path, const char *other) {
    if (!is_dsym(path) || !is_dsym(other) || strcmp(path, other) == 0) return false;
    FILE *a = fopen(path, "rb"), *b = fopen(other, "rb");
    bool are_first = true, differ = false;
    while (a != NULL && b != NULL && go_on(a, b, are_first, &differ)) are_first = false;
    if (a != NULL) fclose(a);
    if (b != NULL) fclose(b);
    return differ;
}
