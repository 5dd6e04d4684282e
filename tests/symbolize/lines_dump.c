/* SPDX-License-Identifier: MIT */
/* Writes the source frames of a file's addresses, which it reads from standard input, as linked, one on each line.
 * Writes the address, for each frame a line "FUNCTION<TAB>DIRECTORY<TAB>FILE<TAB>LINE<TAB>COLUMN<TAB>FLAGS", with "-"
 * for an unknown value, and an empty line. Scripts compare this with other tools. usage: lines_dump [-s STORE] [-r
 * SYSTEM-ROOT] [-f] [-a ARCH] FILE */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <unspool/unspool.h>

static const char *or_dash(const char *text) { return text != NULL ? text : "-"; }

static void put_flags(const struct usp_source_frame *frame) {
    static const char *const names[] = {"inlined", "filled", "folded", "cold", "inferred", "indexed"};
    fputs(usp_line_source_string(frame->line_source), stdout);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((frame->flags >> i & 1) != 0) printf(",%s", names[i]);
    }
}

int main(int argc, char **argv) {
    struct usp_image_file_options wanted;
    struct usp_symbolizer_options options;
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    struct usp_source_frame frames[256];
    struct usp_lines lines;
    char error[512], line[64];
    usp_image_file_options_init(&wanted);
    usp_symbolizer_options_init(&options);
    usp_lines_init(&lines, frames, 256);
    for (int option; (option = getopt(argc, argv, "s:r:fa:")) != -1;) {
        if (option == 's') options.index_store = optarg;
        if (option == 'r') options.sysroot = optarg;
        if (option == 'f') lines.flags |= USP_LINES_FILL;
        if (option == 'a') {
            wanted.arch = usp_arch_from_string(optarg);
            wanted.variant = usp_variant_from_string(optarg);
        }
        if (option == '?') return 2;
    }
    if (argc - optind != 1) return 2;
    int status = usp_images_open(argv[optind], &wanted, &images, error, sizeof error);
    if (status != USP_OK) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    status = usp_symbolizer_create(images, &options, &symbolizer);
    if (status != USP_OK) return 1;
    const struct usp_image *image = usp_images_get(images, 0);
    while (fgets(line, sizeof line, stdin) != NULL) {
        const usp_addr address = strtoull(line, NULL, 16) + image->slide;
        status = usp_symbolize_lines(symbolizer, address, &lines);
        printf("0x%" PRIx64 "\n", address - image->slide);
        for (uint32_t i = 0; status == USP_OK && i < lines.count && i < lines.capacity; i++) {
            const struct usp_source_frame *frame = &frames[i];
            printf("%s\t%s\t%s\t%" PRIu32 "\t%" PRIu32 "\t", or_dash(frame->function), or_dash(frame->directory),
                   or_dash(frame->file), frame->line, frame->column);
            put_flags(frame);
            putchar('\n');
        }
        putchar('\n');
    }
    status = usp_symbolizer_explain_lines(symbolizer, image->load_address, error, sizeof error);
    fprintf(stderr, "%s (%s)\n", error, usp_status_string(status));
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    return 0;
}
