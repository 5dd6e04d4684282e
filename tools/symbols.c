/* SPDX-License-Identifier: MIT */
/* Implements `unspool symbols`: lists every function in a file that can be named. */
#include "lib/base/json.h"
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/image_choice.h"
#include "tools/text.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *out) {
    fputs("usage: unspool symbols [OPTION...] FILE\n"
          "\n"
          "Lists every function that unspool can name in a program, a library or a dSYM,\n"
          "by address. For each function it prints the address and the size in\n"
          "hexadecimal, the strategy that names it (symbol table, or Objective-C metadata\n"
          "where there is no symbol), and the name. A function whose size the file does\n"
          "not state extends to the next function or to the section's end.\n"
          "\n"
          "Of an archive it lists all members, of an unlinked ELF object all sections with\n"
          "code, each below its path. FILE may be one of these paths: 'libx.a(m.o)',\n"
          "'x.o:(.text.f)'.\n"
          "\n"
          "  --objc             list Objective-C methods only\n"
          "  --arch NAME        which image of a fat file:\n"
          "                     " ARCH_NAMES_ARM ",\n"
          "                     " ARCH_NAMES_X86 ".\n"
          "                     Default: the only image, or the one for this machine\n"
          "  --uuid UUID        the UUID or build id that the image must have\n"
          "  --demangle MODE    how to demangle names of C++, Rust and Swift: full\n"
          "                     (default), simple, short, no\n"
          "  --json             print JSON instead of text\n"
          "  -h, --help         print this help\n"
          "\n"
          "exit status: 0 success, 1 the file has no symbols, 2 wrong usage, 3 the file\n"
          "cannot be read or has no such image, 4 another failure\n",
          out);
}

struct request {
    struct image_choice image;
    uint32_t demangling;
    bool only_methods, as_json;
};

struct listing {
    const struct request *request;
    const struct usp_image *image;
    struct usp_demangler *demangler;
    uint64_t moved;   /* the image's addresses minus the symbolizer's */
    bool has_several; /* there are several images */
    bool is_headed;   /* its path was written */
    bool has_any;     /* a symbol was found */
    int digits;       /* number of digits of an address */
    struct uspi_json json;
    struct uspi_text text; /* output of the JSON */
    char buffer[TEXT_ROOM];
};

static bool is_method(const char *name) { return (name[0] == '-' || name[0] == '+') && name[1] == '['; }

static void put_symbol_json(struct listing *listing, const struct usp_symbol *symbol, const char *name) {
    struct uspi_json *json = &listing->json;
    uspi_json_begin_object(json, NULL);
    uspi_json_address(json, "address", symbol->start + listing->moved);
    uspi_json_number(json, "size", symbol->extent);
    uspi_json_string(json, "symbol", name);
    if (strcmp(name, symbol->name) != 0) uspi_json_string(json, "mangled", symbol->name);
    if (symbol->source_file != NULL) uspi_json_string(json, "source_file", symbol->source_file);
    uspi_json_string(json, "named_by", usp_strategy_string(symbol->strategy));
    uspi_json_end_object(json);
}

/* Puts the image's path like nm. */
static void put_heading(struct listing *listing) {
    putchar('\n');
    put_harmless(stdout, listing->image->path);
    fputs(":\n", stdout);
    listing->is_headed = true;
}

/* Implements usp_symbol_visitor. */
static int put_symbol(void *context, const struct usp_symbol *symbol) {
    struct listing *listing = context;
    if (listing->request->only_methods && !is_method(symbol->name)) return 0;
    const char *name = usp_demangle(listing->demangler, symbol->name);
    if (listing->request->as_json) {
        put_symbol_json(listing, symbol, name);
        return 0;
    }
    if (listing->has_several && !listing->is_headed) put_heading(listing);
    printf("%0*" PRIx64 " %8" PRIx64 " %-13s ", listing->digits, symbol->start + listing->moved, symbol->extent,
           usp_strategy_string(symbol->strategy));
    put_harmless(stdout, name);
    putchar('\n');
    return 0;
}

static void begin_json(struct listing *listing) {
    const struct usp_image *image = listing->image;
    struct uspi_json *json = &listing->json;
    listing->text = uspi_text_through(write_to_file, stdout, listing->buffer, sizeof listing->buffer);
    *json = (struct uspi_json){.out = &listing->text, .flat = JSON_FLAT_ELEMENTS};
    uspi_json_begin_object(json, NULL);
    uspi_json_number(json, "version", 1);
    uspi_json_string(json, "path", image->path);
    uspi_json_arch(json, image->arch, image->variant);
    uspi_json_build_id(json, (image->flags & USP_IMAGE_MACHO) != 0, image->build_id, image->build_id_size);
    uspi_json_address(json, "load_address", image->load_address);
    uspi_json_begin_array(json, "symbols");
}

static void end_json(struct listing *listing) {
    uspi_json_end_array(&listing->json);
    uspi_json_end_object(&listing->json);
    uspi_text_flush(&listing->text);
}

/* Lists the symbols of an image. `place` is an address of the image in the symbolizer's list. */
static int list_symbols(struct listing *listing, struct usp_symbolizer *symbolizer, usp_addr place) {
    const struct usp_image *image = listing->image;
    listing->digits = usp_arch_pointer_size(image->arch) == 4 ? 8 : 16;
    listing->is_headed = false;
    if (listing->request->as_json) begin_json(listing);
    int status = usp_symbolizer_visit(symbolizer, place, put_symbol, listing);
    if (listing->request->as_json) end_json(listing);
    if (status == USP_OK) listing->has_any = true;
    if (status == USP_OK || status == USP_ERROR_NOT_FOUND) return EXIT_ALL_WELL;
    complain("%s: %s", image->path, usp_status_string(status));
    return EXIT_FAILED;
}

/* Lists `count` images from *first on: one file, one member, or the sections of one object. The symbolizer gets the
 * sections one after the other, as the library places them, so that the object is read once. */
static int list_object(struct listing *listing, const struct usp_image *first, size_t count) {
    struct usp_symbolizer *symbolizer = NULL;
    struct usp_images *images = NULL;
    struct usp_image *entries = malloc(count * sizeof *entries);
    int result = EXIT_ALL_WELL, status = entries != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
    for (size_t i = 0; status == USP_OK && i < count; i++) {
        entries[i] = first[i];
        if (first[i].section == 0) continue;
        entries[i].load_address -= first[i].slide;
        entries[i].end -= first[i].slide;
        entries[i].text_low = entries[i].text_high = entries[i].slide = 0;
    }
    if (status == USP_OK) status = usp_images_create(entries, count, &images);
    if (status == USP_OK) status = usp_symbolizer_create(images, NULL, &symbolizer);
    if (status != USP_OK) {
        complain("%s: %s", first->path, usp_status_string(status));
        result = EXIT_FAILED;
    }
    for (size_t i = 0; result == EXIT_ALL_WELL && i < count; i++) {
        listing->image = &first[i];
        listing->moved = first[i].load_address - entries[i].load_address;
        result = list_symbols(listing, symbolizer, entries[i].load_address);
    }
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    free(entries);
    return result;
}

static int list_images(const struct request *request, const struct usp_images *images) {
    const size_t count = usp_images_count(images);
    struct listing listing = {.request = request, .has_several = count > 1};
    int result = EXIT_ALL_WELL, status = usp_demangler_create(request->demangling, &listing.demangler);
    if (status != USP_OK) {
        complain("%s", usp_status_string(status));
        return EXIT_FAILED;
    }
    gather_output();
    for (size_t i = 0, next; result == EXIT_ALL_WELL && i < count; i = next) {
        const struct usp_image *first = usp_images_get(images, i);
        for (next = i + 1; next < count && usp_images_get(images, next)->member_offset == first->member_offset;) next++;
        result = list_object(&listing, first, next - i);
    }
    if (result == EXIT_ALL_WELL && !listing.has_any) {
        complain("%s: no symbols, nor anything else that names code", request->image.path);
        result = EXIT_INCOMPLETE;
    }
    usp_demangler_free(listing.demangler);
    return result;
}

enum { OPTION_OBJC = 256, OPTION_ARCH, OPTION_UUID, OPTION_DEMANGLE, OPTION_JSON };

static const struct option options[] = {
    {"objc", no_argument, NULL, OPTION_OBJC},
    {"arch", required_argument, NULL, OPTION_ARCH},
    {"uuid", required_argument, NULL, OPTION_UUID},
    {"demangle", required_argument, NULL, OPTION_DEMANGLE},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool parse_option(int option, struct request *request) {
    switch (option) {
    case OPTION_OBJC: request->only_methods = true; return true;
    case OPTION_ARCH: return parse_arch(optarg, &request->image.arch, &request->image.variant);
    case OPTION_UUID: return parse_uuid(optarg, request->image.build_id, &request->image.build_id_size);
    case OPTION_DEMANGLE: return parse_demangling(optarg, &request->demangling);
    case OPTION_JSON: request->as_json = true; return true;
    default: return false; /* next_option has complained */
    }
}

static int refuse_usage(void) {
    fputs("See `unspool symbols --help`.\n", stderr);
    return EXIT_USAGE;
}

static int run(int argc, char **argv) {
    struct request request = {.demangling = USP_DEMANGLE_FULL};
    struct usp_images *images;
    for (int option; (option = next_option(argc, argv, "h", options)) != -1;) {
        if (option == 'h') {
            usage(stdout);
            return EXIT_ALL_WELL;
        }
        if (!parse_option(option, &request)) return refuse_usage();
    }
    if (argc - optind != 1) {
        complain(argc == optind ? "symbols: a file is missing" : "symbols: one file at a time");
        return refuse_usage();
    }
    request.image.path = argv[optind];
    int result = choose_images(&request.image, &images);
    if (result != EXIT_ALL_WELL) return result;
    result = list_images(&request, images);
    usp_images_free(images);
    return result;
}

const struct command command_symbols = {"symbols", "list every function that unspool can name in a file", run};
