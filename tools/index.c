/* SPDX-License-Identifier: MIT */
/* `unspool index`: makes index files of programs, libraries and dSYMs in a store, and compares them with their source. */
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/lines.h"
#include "tools/progress.h"
#include "tools/text.h"

#include <dirent.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void usage(FILE *out) {
    fputs("usage: unspool index [OPTION...] FILE|DIR...\n"
          "\n"
          "Makes an index of each program, library, debug file or dSYM: functions, files, lines and inlined calls, in "
          "a form\n"
          "in which they are looked up at once. It is put into a store by the file's UUID or build-id, as\n"
          "STORE/ab/cdef.../index; other commands find it there. A folder is searched for files that "
          "have\n"
          "debug information. An index can be made again at any time, and by several commands at once.\n"
          "\n"
          "  -o, --store STORE  the folder of the indexes. Default: $UNSPOOL_INDEX_STORE, or unspool/index in\n"
          "                     $XDG_CACHE_HOME or ~/.cache\n"
          "  --verify           make nothing; compare each index with the debug information, address by address\n"
          "  --threads N        so many at once. Default: as many as there are processors\n"
          "  --quiet            say nothing of files that went well\n"
          "  --help             this\n"
          "\n"
          "exit status: 0 all is well, 1 a file has nothing to index, or an index differs, 2 wrong usage, 3 a file "
          "cannot\n"
          "be read, 4 something else failed\n",
          out);
}

struct request {
    const char *store; /* as given; while indexes are made, as found */
    uint32_t threads;
    bool is_verification, is_quiet;
    bool is_searching; /* below a folder: files that are no images are passed over */
    const char *path;  /* of the file that is being worked on */
    struct progress progress;
    int result;
};

/* The worst result is reported. */
static void note(struct request *request, int result) {
    if (result > request->result) request->result = result;
}

/* The shape of usp_index_progress. */
static int tell(void *context, uint64_t done, uint64_t all) {
    struct request *request = context;
    /* In thousandths, which fit into any size_t. */
    progress_say(&request->progress, all > 0 ? (size_t)(done * 1000 / all) : 0, 1000, request->path);
    return 0;
}

static void put_build_id(const struct usp_image *image) {
    for (uint32_t i = 0; i < image->build_id_size; i++) printf("%02x", image->build_id[i]);
}

static void describe_index(const struct usp_image *image, const struct usp_index *index,
                           const struct request *request) {
    if (request->is_quiet) return;
    put_build_id(image);
    if (request->is_verification) {
        printf(" %" PRIu64 " addresses are equal  ", index->compared);
    } else {
        printf(" %" PRIu64 " bytes of %" PRIu64 "  ", index->index_bytes, index->source_bytes);
    }
    put_harmless(stdout, image->path);
    putchar('\n');
}

static void work_on(struct request *request, const struct usp_images *images, const struct usp_image *image) {
    struct usp_index index;
    usp_index_init(&index, request->store);
    index.threads = request->threads;
    request->path = image->path;
    progress_begin(&request->progress, stderr);
    if (progress_is_watched(&request->progress)) {
        index.progress = tell;
        index.context = request;
    }
    int status =
        request->is_verification ? usp_index_verify(images, image, &index) : usp_index_write(images, image, &index);
    progress_end(&request->progress);
    if (status == USP_OK) describe_index(image, &index, request);
    if (index.message[0] != '\0') complain("%s: %s", image->path, index.message);
    if (status == USP_OK) return;
    if (status == USP_ERROR_UNSUPPORTED) {
        complain("%s: has no UUID or build-id by which its index could be found", image->path);
    } else if (index.message[0] == '\0') {
        complain("%s: %s", image->path, usp_status_string(status));
    }
    const bool is_incomplete = status == USP_ERROR_NOT_FOUND || status == USP_ERROR_UNSUPPORTED ||
                               status == USP_ERROR_MISMATCH || status == USP_ERROR_FORMAT;
    note(request, is_incomplete ? EXIT_INCOMPLETE : status == USP_ERROR_PERMISSION ? EXIT_NO_TARGET : EXIT_FAILED);
}

static void take_file(struct request *request, const char *path) {
    struct usp_image_file_options options;
    struct usp_images *images;
    char error[512];
    usp_image_file_options_init(&options);
    options.flags = USP_IMAGE_FILE_LINKED;
    int status = usp_images_open(path, &options, &images, error, sizeof error);
    if (status != USP_OK) {
        if (request->is_searching && status != USP_ERROR_NO_MEMORY) return;
        complain("%s", error);
        note(request, EXIT_NO_TARGET);
        return;
    }
    for (size_t i = 0; i < usp_images_count(images); i++) work_on(request, images, usp_images_get(images, i));
    usp_images_free(images);
}

static bool is_bundle(const char *path) {
    const size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".dSYM") == 0;
}

/* Folders in each other are searched to this depth: links may lead in circles. */
#define DEPTH_MAX 64

static void take_path(struct request *request, const char *path, unsigned depth);

static void take_entry(struct request *request, const char *folder, const char *name, unsigned depth) {
    const size_t room = strlen(folder) + strlen(name) + 2;
    char *path = malloc(room);
    if (path == NULL) {
        complain("%s: out of memory", folder);
        note(request, EXIT_FAILED);
        return;
    }
    snprintf(path, room, "%s/%s", folder, name);
    struct stat found;
    /* Links are not followed: what they lead to is found by itself. */
    if (lstat(path, &found) == 0 && (S_ISDIR(found.st_mode) || S_ISREG(found.st_mode))) take_path(request, path, depth);
    free(path);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static void take_folder(struct request *request, const char *path, unsigned depth) {
    struct dirent **entries;
    const bool was_searching = request->is_searching;
    const int count = scandir(path, &entries, NULL, by_name);
    if (count < 0) {
        complain("%s: cannot be listed", path);
        note(request, EXIT_NO_TARGET);
        return;
    }
    request->is_searching = true;
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.' && depth < DEPTH_MAX) take_entry(request, path, entries[i]->d_name, depth + 1);
        free(entries[i]);
    }
    free(entries);
    request->is_searching = was_searching;
}

static void take_path(struct request *request, const char *path, unsigned depth) {
    struct stat found;
    if (!is_bundle(path) && stat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
        take_folder(request, path, depth);
    } else {
        take_file(request, path);
    }
}

enum { OPTION_VERIFY = 256, OPTION_THREADS, OPTION_QUIET };

static const struct option options[] = {
    {"store", required_argument, NULL, 'o'},
    {"verify", no_argument, NULL, OPTION_VERIFY},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool parse_threads(const char *text, struct request *request) {
    uint64_t threads;
    if (!parse_number(text, 64, &threads) || threads == 0) {
        complain("index: --threads takes a number from 1 to 64, not \"%s\"", text);
        return false;
    }
    request->threads = (uint32_t)threads;
    return true;
}

static bool parse_option(int option, struct request *request) {
    switch (option) {
    case 'o': request->store = optarg; return true;
    case OPTION_VERIFY: request->is_verification = true; return true;
    case OPTION_THREADS: return parse_threads(optarg, request);
    case OPTION_QUIET: request->is_quiet = true; return true;
    default: return false; /* getopt_long has said why */
    }
}

static int refuse_usage(void) {
    fputs("`unspool index --help` tells more.\n", stderr);
    return EXIT_USAGE;
}

static int run(int argc, char **argv) {
    struct request request = {.result = EXIT_ALL_WELL};
    for (int option; (option = getopt_long(argc, argv, "o:h", options, NULL)) != -1;) {
        if (option == 'h') {
            usage(stdout);
            return EXIT_ALL_WELL;
        }
        if (!parse_option(option, &request)) return refuse_usage();
    }
    if (argc == optind) {
        complain("index: a file or folder is missing");
        return refuse_usage();
    }
    char *store = find_index_store(request.store);
    if (store == NULL) {
        complain("index: -o STORE is missing, and there is no $HOME");
        return EXIT_FAILED;
    }
    request.store = store;
    for (int i = optind; i < argc; i++) take_path(&request, argv[i], 0);
    free(store);
    return request.result;
}

const struct command command_index = {"index", "makes files in which lines are looked up at once", run};
