/* SPDX-License-Identifier: MIT */
/* Example on the manual page usp_symbolize_places(3). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unspool/demangle.h>
#include <unspool/places.h>

/* The source of a build: the file that the program was called with. */
static int find(void *context, const struct usp_place *place, struct usp_build_sources *sources) {
    sources->of[0].path = context;
    memcpy(sources->of[0].build_id, place->build_id, place->build_id_size);
    sources->of[0].build_id_size = place->build_id_size;
    sources->count = 1;
    return USP_OK;
}

/* Prints the functions at an offset in a file, the innermost inlined call
 * first: usp_symbolize_places FILE OFFSET */
int main(int argc, char **argv) {
    struct usp_builds_options options;
    struct usp_builds *builds;
    struct usp_place place = {0};
    struct usp_answer answer;

    if (argc != 3) return 2;
    place.image = argv[1];
    place.image_length = strlen(argv[1]);
    place.flags = USP_PLACE_EXACT;
    place.offset = strtoull(argv[2], NULL, 0);
    usp_builds_options_init(&options);
    options.find = find;
    options.context = argv[1];
    options.demangling = USP_DEMANGLE_FULL;
    if (usp_builds_create(&options, &builds) != USP_OK) return 1;
    usp_symbolize_places(builds, &place, &answer, 1);
    for (uint32_t i = 0; i < answer.count; i++) puts(answer.frames[i].function);
    usp_builds_free(builds);
    return answer.status == USP_OK ? 0 : 1;
}
