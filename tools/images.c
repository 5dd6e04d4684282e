/* SPDX-License-Identifier: MIT */
/* Implements `unspool images`: lists the images of a process, a core, a raw capture or a file. */
#include "lib/base/json.h"
#include "tools/arguments.h"
#include "tools/caches.h"
#include "tools/command.h"
#include "tools/core_input.h"
#include "tools/text.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct listed {
    struct usp_images *owned;
    struct usp_snapshot *snapshot; /* owned; has the images if `owned` is NULL */
    struct core_input input;       /* the file */
    const struct usp_images *images;
};

static void usage(FILE *out) {
    fputs("usage: unspool images [--json] PID|FILE\n"
          "       unspool images [--json] --shared-cache FILE|DIR...\n"
          "\n"
          "Lists the images (programs, libraries) that a process has loaded, that a core\n"
          "file or a raw capture records, or that an object file contains. For each image\n"
          "it prints the load address, the first address past its end, the slide, the\n"
          "processor, the UUID or build id, and the path.\n"
          "\n"
          "Images in an object file have the addresses that they were linked for. There is\n"
          "one for each slice of a fat file, for each member of an archive, and for each\n"
          "section with code of an unlinked ELF object.\n"
          "\n"
          "Images in a dyld shared cache have the addresses that they were linked for, and\n"
          "end where their code ends. FILE may be the cache's main file.\n"
          "\n"
          "An argument that is a number is a process id, anything else is a file: ./123 is\n"
          "a file, - is a core or a raw capture from standard input. Compressed ones are\n"
          "unpacked to a file without a name in $TMPDIR.\n"
          "\n"
          "  --shared-cache FILE|DIR\n"
          "              list the images of the dyld shared cache FILE, or of all caches\n"
          "              in and below DIR; may be repeated\n"
          "  --json      print JSON instead of text\n"
          "  -h, --help  print this help\n"
          "\n"
          "exit status: 0 success, 2 wrong usage, 3 the process or file cannot be read,\n"
          "4 another failure\n",
          out);
}

static int refuse(const char *target, int status, const char *error) {
    if (error[0] != '\0') {
        complain("%s", error);
    } else {
        complain("%s: %s", target, usp_status_string(status));
    }
    return status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_NO_TARGET;
}

/* Opens a core or a raw capture that was compressed or came from a pipe. */
static int open_packed(struct listed *listed, const struct usp_snapshot_options *options) {
    char error[1024] = "";
    int status = usp_snapshot_open_raw(listed->input.path, options, &listed->snapshot, error, sizeof error);
    if (status == USP_ERROR_UNSUPPORTED) {
        status = usp_snapshot_open_core(listed->input.path, options, &listed->snapshot, error, sizeof error);
    }
    char room[1536];
    if (status != USP_OK) {
        return refuse(listed->input.name, status, core_input_message(&listed->input, error, room, sizeof room));
    }
    listed->images = usp_snapshot_images(listed->snapshot);
    return EXIT_ALL_WELL;
}

/* Opens an object file, a core or a raw capture. An error message comes from the reader of the file's kind. */
static int open_file(const char *path, struct listed *listed) {
    char error[1024] = "", other[1024] = "";
    struct usp_snapshot_options options;
    usp_snapshot_options_init(&options);
    /* The stacks are not used. */
    options.max_frames = 1;
    options.unwind.tail = 0;
    int status = core_input_begin(path, &listed->input, error, sizeof error);
    if (status != USP_OK) return refuse(path, status, error);
    if (core_input_is_other(&listed->input)) return open_packed(listed, &options);
    status = usp_images_open(path, NULL, &listed->owned, error, sizeof error);
    int as_other = USP_ERROR_UNSUPPORTED;
    listed->images = listed->owned;
    if (status == USP_OK) return EXIT_ALL_WELL;
    if (status == USP_ERROR_FORMAT) {
        as_other = usp_snapshot_open_raw(path, &options, &listed->snapshot, other, sizeof other);
    } else if (status == USP_ERROR_UNSUPPORTED) {
        as_other = usp_snapshot_open_core(path, &options, &listed->snapshot, other, sizeof other);
        /* Other refused files, such as thin archives, are not cores either, and members have no file of their own. */
        if (as_other == USP_ERROR_FORMAT || as_other == USP_ERROR_NOT_FOUND) as_other = USP_ERROR_UNSUPPORTED;
    }
    if (as_other == USP_ERROR_UNSUPPORTED) return refuse(path, status, error);
    if (as_other != USP_OK) return refuse(path, as_other, other);
    listed->images = usp_snapshot_images(listed->snapshot);
    return EXIT_ALL_WELL;
}

static int open_target(const char *target, struct listed *listed) {
    int64_t pid;
    if (!parse_target(target, &pid)) return EXIT_USAGE;
    if (pid == 0) return open_file(target, listed);
    int result = list_process(pid, &listed->owned);
    listed->images = listed->owned;
    return result;
}

static void put_json_image(struct uspi_json *json, const struct usp_image *image) {
    uspi_json_begin_object(json, NULL);
    uspi_json_string(json, "path", image->path);
    uspi_json_address(json, "load_address", image->load_address);
    uspi_json_address(json, "end", image->end);
    uspi_json_address(json, "slide", image->slide);
    if (image->text_high > image->text_low) {
        uspi_json_address(json, "text_low", image->text_low);
        uspi_json_address(json, "text_high", image->text_high);
    }
    uspi_json_arch(json, image->arch, image->variant);
    uspi_json_build_id(json, (image->flags & USP_IMAGE_MACHO) != 0, image->build_id, image->build_id_size);
    if ((image->flags & USP_IMAGE_MAIN) != 0) uspi_json_bool(json, "main", true);
    if ((image->flags & USP_IMAGE_DELETED) != 0) uspi_json_bool(json, "deleted", true);
    uspi_json_end_object(json);
}

static void put_json(const struct usp_images *const *lists, size_t count) {
    char buffer[TEXT_ROOM];
    struct uspi_text text = uspi_text_through(write_to_file, stdout, buffer, sizeof buffer);
    struct uspi_json json = {.out = &text, .flat = JSON_FLAT_ELEMENTS};
    uspi_json_begin_object(&json, NULL);
    uspi_json_number(&json, "version", 1);
    uspi_json_begin_array(&json, "images");
    for (size_t i = 0; i < count; i++) {
        const struct usp_image *image;
        for (size_t k = 0; (image = usp_images_get(lists[i], k)) != NULL; k++) put_json_image(&json, image);
    }
    uspi_json_end_array(&json);
    uspi_json_end_object(&json);
    uspi_text_flush(&text);
}

static void put_heading(const char *name, int width) { printf("%-*s ", width, name); }

/* Prints a table. Each column except the path is as wide as its contents. */
static void put_text(const struct usp_images *images) {
    const struct usp_image *image;
    int digits = 8, build = (int)sizeof "build" - 1;
    for (size_t i = 0; (image = usp_images_get(images, i)) != NULL; i++) {
        if ((image->end | image->slide) >> 32 != 0) digits = 16;
        if ((int)image->build_id_size * 2 > build) build = (int)image->build_id_size * 2;
    }
    put_heading("load address", digits + 2);
    put_heading("end", digits + 2);
    put_heading("slide", digits + 2);
    put_heading("arch", 8);
    put_heading("build", build);
    puts("path");
    for (size_t i = 0; (image = usp_images_get(images, i)) != NULL; i++) {
        printf("0x%0*" PRIx64 " 0x%0*" PRIx64 " 0x%0*" PRIx64 " %-8s ", digits, image->load_address, digits, image->end,
               digits, image->slide, usp_variant_string(image->arch, image->variant));
        for (uint32_t k = 0; k < image->build_id_size; k++) printf("%02x", image->build_id[k]);
        printf("%*s ", build - (int)image->build_id_size * 2, image->build_id_size > 0 ? "" : "-");
        put_harmless(stdout, image->path);
        putchar('\n');
    }
}

static const struct option options[] = {
    {"json", no_argument, NULL, 'j'},
    {"shared-cache", required_argument, NULL, 'c'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int refuse_usage(void) {
    fputs("See `unspool images --help`.\n", stderr);
    return EXIT_USAGE;
}

/* Prints the images of all caches, in text one table after the other. */
static int list_caches(struct cache_options *caches, bool as_json) {
    int result = open_shared_caches(caches, false), status = USP_OK;
    const size_t count = usp_dyld_caches_count(caches->set);
    struct usp_images **lists = calloc(count + 1, sizeof *lists);
    struct usp_dyld_cache cache;
    if (lists == NULL) status = USP_ERROR_NO_MEMORY;
    for (size_t i = 0; result == EXIT_ALL_WELL && status == USP_OK && i < count; i++) {
        status = usp_dyld_caches_list(caches->set, i, 0, &lists[i]);
    }
    for (size_t i = 0; result == EXIT_ALL_WELL && status == USP_OK && !as_json && i < count; i++) {
        usp_dyld_caches_get(caches->set, i, &cache);
        if (i > 0) putchar('\n');
        if (count > 1) {
            put_harmless(stdout, cache.path);
            fputs(":\n", stdout);
        }
        put_text(lists[i]);
    }
    if (result == EXIT_ALL_WELL && status == USP_OK && as_json) put_json((const struct usp_images **)lists, count);
    for (size_t i = 0; lists != NULL && i < count; i++) usp_images_free(lists[i]);
    free(lists);
    if (status == USP_OK) return result;
    complain("%s", usp_status_string(status));
    return EXIT_FAILED;
}

/* Prints the images of a process or file. */
static int list_target(const char *target, bool as_json) {
    struct listed listed = {.input = {.file = -1}};
    int result = open_target(target, &listed);
    if (result == EXIT_ALL_WELL && as_json) put_json(&listed.images, 1);
    if (result == EXIT_ALL_WELL && !as_json) put_text(listed.images);
    usp_images_free(listed.owned);
    usp_snapshot_free(listed.snapshot);
    core_input_end(&listed.input);
    return result;
}

static int serve(struct cache_options *caches, bool as_json, char *const *operands, int count) {
    if (count != (caches->count == 0)) {
        complain(count == 0 ? "images: a process id or a file is missing" : "images: one target at a time");
        return refuse_usage();
    }
    if (count > 0 && is_shared_cache(operands[0]) && !add_shared_cache(caches, operands[0])) return EXIT_FAILED;
    return caches->count > 0 ? list_caches(caches, as_json) : list_target(operands[0], as_json);
}

static int run(int argc, char **argv) {
    struct cache_options caches = {0};
    bool as_json = false, goes_on = true;
    int result = EXIT_ALL_WELL;
    for (int option; goes_on && (option = next_option(argc, argv, "h", options)) != -1;) {
        switch (option) {
        case 'j': as_json = true; break;
        case 'c':
            goes_on = add_shared_cache(&caches, optarg);
            result = goes_on ? EXIT_ALL_WELL : EXIT_FAILED;
            break;
        case 'h':
            usage(stdout);
            goes_on = false;
            break;
        default: result = refuse_usage(); goes_on = false;
        }
    }
    if (goes_on) result = serve(&caches, as_json, argv + optind, argc - optind);
    shared_caches_clear(&caches);
    return result;
}

const struct command command_images = {"images", "list the images of a process, a core file, a raw capture or a file",
                                       run};
