/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as an ELF or Mach-O file with debug information. Asks for source frames at many addresses, makes
 * an index whose answers must be the same, and symbolicates stacks at the calls that the file describes. Seeds: small
 * libraries that the lane compiles. */
#define _GNU_SOURCE 1
#include "lib/images/file.h"
#include "lib/images/image_list.h"
#include "lib/object/elf.h"
#include "lib/object/macho.h"
#include "lib/symbolize/dwarf/dwarf.h"
#include "lib/symbolize/store/index_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <unspool/unspool.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define QUESTIONS 192
#define FRAMES    64
#define CALLS     32 /* maximum number of call ends, and of function starts, from which stacks are made */

static int count_name(void *context, const char *name) {
    *(size_t *)context += strlen(name);
    return 0;
}

/* Returns a number that summarizes an answer. */
static size_t ask_one(struct usp_symbolizer *symbolizer, usp_addr address) {
    struct usp_source_frame frames[FRAMES];
    struct usp_lines lines;
    size_t length = 0;
    usp_lines_init(&lines, frames, FRAMES);
    int status = usp_symbolize_lines(symbolizer, address, &lines);
    if ((status == USP_OK) != (lines.count > 0)) abort();
    for (uint32_t i = 0; i < lines.count && i < FRAMES; i++) {
        length += frames[i].function != NULL ? strlen(frames[i].function) : 0;
        length += frames[i].directory != NULL ? strlen(frames[i].directory) : 0;
        length += frames[i].file != NULL ? strlen(frames[i].file) : 0;
        length = length * 31 + frames[i].line;
        /* A line without a source would be invented. */
        if (frames[i].line != 0 && frames[i].line_source == USP_LINE_NONE) abort();
    }
    usp_symbolizer_visit_names(symbolizer, address, count_name, &length);
    return length;
}

/* Calls and functions that the debug information describes. */
struct places {
    uint64_t calls[CALLS], functions[CALLS];
    unsigned call_count, function_count;
};

/* The shape of uspi_call_visitor. */
static int add_call(void *context, const struct uspi_block_call *call) {
    struct places *places = context;
    if (places->call_count < CALLS) places->calls[places->call_count++] = call->end;
    return 0;
}

static void add_places(struct places *places, const uint8_t *bytes, size_t size) {
    struct uspi_block block;
    struct uspi_block_part part;
    if (size == 0) return;
    if (uspi_block_open(&block, bytes, size) != USP_OK) abort();
    if (uspi_block_visit_calls(&block, add_call, places) != USP_OK) abort();
    for (uint32_t i = 0; places->function_count < CALLS && uspi_block_part(&block, i, &part) == USP_OK; i++) {
        places->functions[places->function_count++] = part.start;
    }
}

/* Collects the places of the first units. */
static void find_places(struct uspi_bytes bytes, struct places *places) {
    struct uspi_line_source *dwarf;
    const struct uspi_dwarf_options options = {.bytes = bytes, .path = "/nonexistent/file"};
    if (uspi_dwarf_open(&options, &dwarf, NULL) != USP_OK) return;
    void *reader = dwarf->create_reader();
    if (reader == NULL) abort();
    for (size_t i = 0; i < dwarf->units && i < 16; i++) {
        const uint8_t *block;
        size_t size;
        if (dwarf->build(dwarf, reader, i, &block, &size, NULL) == USP_OK) add_places(places, block, size);
    }
    dwarf->free_reader(reader);
    dwarf->close(dwarf);
}

static int visit_source(void *context, uint32_t i, const struct usp_source_frame *frame) {
    const bool is_inferred = (frame->flags & USP_SOURCE_INFERRED) != 0;
    ++*(unsigned *)context;
    /* Tail calls lie between the two frames and belong to the second. */
    if (is_inferred && i != 1) abort();
    return 0;
}

/* Symbolicates stacks in which each function was called at each call. */
static void ask_stacks(struct usp_symbolizer *symbolizer, uint32_t arch, const struct places *places) {
    struct usp_frame frames[2] = {{.kind = USP_FRAME_KIND_INTERRUPTED}, {.kind = USP_FRAME_KIND_RETURN_ADDRESS}};
    struct usp_stack stack;
    unsigned count = 0;
    usp_stack_init(&stack, frames, 2);
    stack.arch = arch;
    stack.count = stack.physical = 2;
    for (unsigned i = 0; i < places->call_count; i++) {
        for (unsigned k = 0; k < places->function_count; k++) {
            frames[0].pc = places->functions[k];
            frames[1].pc = places->calls[i];
            usp_symbolize_stack(symbolizer, &stack, visit_source, &count);
        }
    }
}

static void ask(const struct places *places, const char *path, const struct usp_image *like, usp_addr low,
                usp_addr high) {
    struct usp_images *images;
    struct usp_symbolizer_options options;
    struct usp_symbolizer *symbolizer;
    struct usp_image image = *like;
    image.path = path;
    char text[512];
    usp_symbolizer_options_init(&options);
    options.memory_limit = 100000;
    if (usp_images_create(&image, 1, &images) != USP_OK) return;
    if (usp_symbolizer_create(images, &options, &symbolizer) != USP_OK) abort();
    for (unsigned i = 0; i < QUESTIONS; i++) ask_one(symbolizer, low + (high - low) / QUESTIONS * i + i % 5);
    usp_symbolizer_explain_lines(symbolizer, low, text, sizeof text);
    ask_stacks(symbolizer, image.arch, places);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}

/* Makes an index of the debug information, without the symbols. */
static void index_it(struct uspi_bytes bytes) {
    struct uspi_line_source *dwarf;
    struct uspi_error error = {0};
    const struct uspi_dwarf_options options = {.bytes = bytes, .path = "/nonexistent/file"};
    const struct uspi_index_work work = {.threads = 1};
    static const uint8_t id[4] = {1, 2, 3, 4};
    const struct uspi_index_header header = {.build_id = id, .build_id_size = sizeof id};
    uint8_t *made;
    size_t size;
    if (uspi_dwarf_open(&options, &dwarf, &error) != USP_OK) return;
    struct uspi_index_writer *writer = uspi_index_writer_create();
    if (writer == NULL) abort();
    if (uspi_index_add_lines(writer, dwarf, &work, &error) == USP_OK &&
        uspi_index_finish(writer, &header, &made, &size) == USP_OK) {
        free(made);
    }
    uspi_index_writer_free(writer);
    dwarf->close(dwarf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct uspi_source file = {.name = "file", .base = data};
    const struct uspi_bytes bytes = {&file, 0, size};
    struct uspi_elf elf;
    struct uspi_elf_extent extent;
    struct uspi_macho macho;
    struct uspi_macho_extent layout;
    struct usp_image image = {.load_address = 0};
    char path[64];
    struct places places = {.call_count = 0};
    const bool is_elf = uspi_elf_open(&elf, bytes, NULL) == USP_OK && uspi_elf_extent(&elf, &extent, NULL) == USP_OK;
    const bool is_macho =
        !is_elf && uspi_macho_open(&macho, bytes, NULL) == USP_OK && uspi_macho_layout(&macho, &layout, NULL) == USP_OK;
    if (!is_elf && !is_macho) return 0;
    int descriptor = memfd_create("image", 0);
    if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    image.end = UINT64_MAX;
    find_places(bytes, &places);
    if (is_elf) {
        struct uspi_build_id id = {0};
        uspi_elf_build_id(&elf, &id, NULL);
        image.arch = elf.arch;
        image.load_address = elf.header_address;
        image.build_id_size = id.size;
        memcpy(image.build_id, id.bytes, id.size);
        ask(&places, path, &image, extent.text_low, extent.text_high);
    } else {
        image.arch = macho.arch;
        image.flags = USP_IMAGE_MACHO;
        image.load_address = layout.header;
        if (uspi_macho_uuid(&macho, image.build_id, NULL) == USP_OK) image.build_id_size = 16;
        ask(&places, path, &image, layout.text_low, layout.text_high);
    }
    close(descriptor);
    index_it(bytes);
    return 0;
}
