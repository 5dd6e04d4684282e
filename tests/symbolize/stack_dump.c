/* SPDX-License-Identifier: MIT */
/* Writes the source frames of a file's stacks, which it reads from standard input, one on each line: linked addresses,
 * the pc and then return addresses. Writes a line for each stack with the functions that were not inlined, innermost
 * first: "NUMBER:NAME" for a frame's function, "NUMBER?NAME" for an inferred one. Scripts compare this with other
 * tools. usage: stack_dump [-s STORE] FILE */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <unspool/unspool.h>

#define FRAMES_MAX 512

static int put_frame(void *context, uint32_t i, const struct usp_source_frame *frame) {
    const char *separator = (frame->flags & USP_SOURCE_INFERRED) != 0 ? "?" : ":";
    (void)context;
    if ((frame->flags & USP_SOURCE_INLINED) != 0) return 0;
    printf("%" PRIu32 "%s%s ", i, separator, frame->function != NULL ? frame->function : "-");
    return 0;
}

static int put_stacks(struct usp_symbolizer *symbolizer, const struct usp_image *image) {
    static struct usp_frame frames[FRAMES_MAX];
    static char line[FRAMES_MAX * 20];
    int status = USP_OK;
    while (status == USP_OK && fgets(line, sizeof line, stdin) != NULL) {
        struct usp_stack stack;
        usp_stack_init(&stack, frames, FRAMES_MAX);
        stack.arch = image->arch;
        for (char *at = line, *end; stack.count < FRAMES_MAX; at = end) {
            const usp_addr address = strtoull(at, &end, 16);
            if (end == at) break;
            frames[stack.count] = (struct usp_frame){.pc = address + image->slide,
                                                     .kind = stack.count == 0 ? USP_FRAME_KIND_INTERRUPTED
                                                                              : USP_FRAME_KIND_RETURN_ADDRESS};
            stack.count++;
        }
        stack.physical = stack.count;
        status = usp_symbolize_stack(symbolizer, &stack, put_frame, NULL);
        putchar('\n');
    }
    return status;
}

int main(int argc, char **argv) {
    struct usp_symbolizer_options options;
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    char error[512];
    usp_symbolizer_options_init(&options);
    for (int option; (option = getopt(argc, argv, "s:")) != -1;) {
        if (option != 's') return 2;
        options.index_store = optarg;
    }
    if (argc - optind != 1) return 2;
    int status = usp_images_open(argv[optind], NULL, &images, error, sizeof error);
    if (status != USP_OK) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    status = usp_symbolizer_create(images, &options, &symbolizer);
    if (status == USP_OK) status = put_stacks(symbolizer, usp_images_get(images, 0));
    if (status != USP_OK) fprintf(stderr, "stack_dump: %s\n", usp_status_string(status));
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    return status == USP_OK ? 0 : 1;
}
