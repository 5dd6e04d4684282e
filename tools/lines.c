/* SPDX-License-Identifier: MIT */
/* See lines.h. */
#include "tools/lines.h"

#include "tools/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_set(const char *value) { return value != NULL && value[0] != '\0'; }

char *find_index_store(const char *given) {
    if (given == NULL) given = getenv("UNSPOOL_INDEX_STORE");
    if (is_set(given)) return strdup(given);
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (!is_set(cache) && !is_set(home)) return NULL;
    const char *folder = is_set(cache) ? cache : home;
    const size_t room = strlen(folder) + sizeof "/.cache/unspool/index";
    char *store = malloc(room);
    if (store != NULL) snprintf(store, room, "%s%s/unspool/index", folder, is_set(cache) ? "" : "/.cache");
    return store;
}

void looked_up_create(struct looked_up *looked_up, const struct usp_images *images) {
    looked_up->images = images;
    looked_up->addresses = calloc(usp_images_count(images) + 1, sizeof *looked_up->addresses);
}

void looked_up_add(struct looked_up *looked_up, usp_addr address) {
    const struct usp_image *image = usp_images_find(looked_up->images, address);
    if (image == NULL || looked_up->addresses == NULL) return;
    looked_up->addresses[image - usp_images_get(looked_up->images, 0)] = address;
}

void looked_up_clear(struct looked_up *looked_up) {
    free(looked_up->addresses);
    looked_up->addresses = NULL;
}

void complain_of_lines(const struct looked_up *looked_up, struct usp_symbolizer *symbolizer, bool are_wanted) {
    char missing[1024] = "", text[1024];
    bool has_lines = false, lacks_main = false;
    if (looked_up->addresses == NULL || symbolizer == NULL) return;
    for (size_t i = 0; i < usp_images_count(looked_up->images); i++) {
        if (looked_up->addresses[i] == 0) continue;
        int status = usp_symbolizer_explain_lines(symbolizer, looked_up->addresses[i], text, sizeof text);
        if (status == USP_OK || status == USP_ERROR_FORMAT) has_lines = true;
        if (status == USP_ERROR_FORMAT) complain("%s", text);
        if (status != USP_ERROR_NOT_FOUND) continue;
        const bool is_main = (usp_images_get(looked_up->images, i)->flags & USP_IMAGE_MAIN) != 0;
        if (missing[0] == '\0' || is_main) memcpy(missing, text, sizeof missing);
        lacks_main = lacks_main || is_main;
    }
    if (are_wanted && missing[0] != '\0' && (lacks_main || !has_lines)) {
        complain("lines need debug information (-g, a dSYM, a debug file) or an index of it: %s", missing);
    }
}
