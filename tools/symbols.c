/* SPDX-License-Identifier: MIT */
/* Implements `unspool symbols`: lists every function in a file that can be named. */
#include "lib/base/json.h"
#include "tools/arguments.h"
#include "tools/caches.h"
#include "tools/command.h"
#include "tools/image_choice.h"
#include "tools/signals.h"
#include "tools/text.h"

#include <errno.h>
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
          "Of a dyld shared cache it lists one image: unspool symbols CACHE --image NAME.\n"
          "\n"
          "  --image NAME       which image of a shared cache: its path, or the last part\n"
          "                     of it\n"
          "  --shared-cache FILE|DIR\n"
          "                     instead of FILE: the dyld shared cache FILE, or all caches\n"
          "                     in and below DIR; may be repeated\n"
          "  --extract FILE     of a shared cache, write the image as a Mach-O file for\n"
          "                     other tools to FILE and list nothing\n"
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
    const char *name;            /* of --image */
    const char *extracted;       /* of --extract; NULL: the symbols are listed */
    struct cache_options caches; /* none: the image is in a file of its own */
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
    struct usp_symbolizer_options names;
    usp_symbolizer_options_init(&names);
    names.dyld_caches = listing->request->caches.set;
    int result = EXIT_ALL_WELL, status = entries != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
    for (size_t i = 0; status == USP_OK && i < count; i++) {
        entries[i] = first[i];
        if (first[i].section == 0) continue;
        entries[i].load_address -= first[i].slide;
        entries[i].end -= first[i].slide;
        entries[i].text_low = entries[i].text_high = entries[i].slide = 0;
    }
    if (status == USP_OK) status = usp_images_create(entries, count, &images);
    if (status == USP_OK) status = usp_symbolizer_create(images, &names, &symbolizer);
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
        const char *path = request->caches.count > 0 ? usp_images_get(images, 0)->path : request->image.path;
        complain("%s: no symbols, nor anything else that names code", path);
        result = EXIT_INCOMPLETE;
    }
    usp_demangler_free(listing.demangler);
    return result;
}

/* ---- extraction ---- */

/* Implements usp_write_function. */
static int write_piece(void *context, const char *bytes, size_t n) {
    return caught_signal() == 0 && fwrite(bytes, 1, n, context) == n ? USP_OK : USP_ERROR_SYSTEM;
}

/* Writes the image to a file. One that is not whole is removed, also when a signal ends the command. */
static int extract_image(const struct request *request, const struct usp_image *image) {
    const char *path = request->extracted;
    char error[512];
    catch_signals();
    /* The file may be the cache. */
    FILE *out = fopen(path, "wbx");
    if (out == NULL) {
        complain("%s: %s", path, strerror(errno));
        release_signals();
        return EXIT_FAILED;
    }
    int status = usp_dyld_caches_extract(request->caches.set, image->build_id, write_piece, out, error, sizeof error);
    if (fclose(out) != 0 && status == USP_OK) status = USP_ERROR_SYSTEM;
    if (status != USP_OK) remove(path);
    release_signals();
    if (status == USP_OK) return EXIT_ALL_WELL;
    complain("%s: %s", status == USP_ERROR_SYSTEM ? path : image->path,
             error[0] != '\0' ? error : usp_status_string(status));
    return status == USP_ERROR_SYSTEM || status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_NO_TARGET;
}

/* ---- the command line ---- */

enum {
    OPTION_OBJC = 256,
    OPTION_IMAGE,
    OPTION_SHARED_CACHE,
    OPTION_EXTRACT,
    OPTION_ARCH,
    OPTION_UUID,
    OPTION_DEMANGLE,
    OPTION_JSON
};

static const struct option options[] = {
    {"objc", no_argument, NULL, OPTION_OBJC},
    {"extract", required_argument, NULL, OPTION_EXTRACT},
    {"image", required_argument, NULL, OPTION_IMAGE},
    {"shared-cache", required_argument, NULL, OPTION_SHARED_CACHE},
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
    case OPTION_IMAGE: request->name = optarg; return true;
    case OPTION_EXTRACT: request->extracted = optarg; return true;
    case OPTION_SHARED_CACHE: return add_shared_cache(&request->caches, optarg);
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

/* Opens the image of a file, or the one of a shared cache that is named. */
static int open_images(struct request *request, struct usp_images **images) {
    const struct image_choice *image = &request->image;
    if (image->path != NULL && is_shared_cache(image->path) && !add_shared_cache(&request->caches, image->path)) {
        return EXIT_FAILED;
    }
    if (request->caches.count == 0 && (request->name != NULL || request->extracted != NULL)) {
        complain("%s is not a shared cache; %s", image->path,
                 request->name != NULL ? "--image names an image of one" : "--extract writes an image of one");
        return EXIT_USAGE;
    }
    if (request->caches.count == 0) return choose_images(image, images);
    const struct cached_choice choice = {.name = request->name,
                                         .uuid = image->build_id_size == 16 ? image->build_id : NULL,
                                         .arch = image->arch,
                                         .variant = image->variant};
    const int result = open_shared_caches(&request->caches, false);
    return result == EXIT_ALL_WELL ? choose_cached_images(&request->caches, &choice, 0, true, images) : result;
}

static int serve(struct request *request, char *const *operands, int count) {
    struct usp_images *images = NULL;
    const bool lacks = count == 0 && request->caches.count == 0;
    if (lacks || count > (request->caches.count == 0)) {
        complain(lacks ? "symbols: a file is missing" : "symbols: one file at a time");
        return refuse_usage();
    }
    request->image.path = count > 0 ? operands[0] : NULL;
    int result = open_images(request, &images);
    if (result == EXIT_ALL_WELL) {
        result = request->extracted != NULL ? extract_image(request, usp_images_get(images, 0))
                                            : list_images(request, images);
    }
    usp_images_free(images);
    return result;
}

static int run(int argc, char **argv) {
    struct request request = {.demangling = USP_DEMANGLE_FULL};
    int result = EXIT_ALL_WELL;
    bool goes_on = true;
    for (int option; goes_on && (option = next_option(argc, argv, "h", options)) != -1;) {
        if (option == 'h') {
            usage(stdout);
            goes_on = false;
        } else if (!parse_option(option, &request)) {
            result = refuse_usage();
            goes_on = false;
        }
    }
    if (goes_on) result = serve(&request, argv + optind, argc - optind);
    shared_caches_clear(&request.caches);
    return result;
}

const struct command command_symbols = {"symbols", "list every function that unspool can name in a file", run};
