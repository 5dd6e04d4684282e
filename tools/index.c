/* SPDX-License-Identifier: MIT */
/* Implements the arguments of `unspool index`, which is also `unspool store add`. */
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/lines.h"
#include "tools/store.h"
#include "tools/store_add.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *out) {
    fputs("usage: unspool index [OPTION...] FILE|DIR...\n"
          "       unspool store add [OPTION...] FILE|DIR...\n"
          "\n"
          "Makes an index of each program, library, debug file or dSYM: its functions,\n"
          "source files, lines and inlined calls, to find them without parsing. The index\n"
          "is put into a store under the file's UUID or build id, as\n"
          "STORE/ab/cdef.../index, where other commands find it. Folders (apps,\n"
          "frameworks, XCArchives) and zip archives are searched for files that can be\n"
          "indexed. Of a dyld shared cache, each image gets an index, unless it has one.\n"
          "An existing index of a file stays, unless the file at hand contains more. The\n"
          "command can be ended at any time, and several can work in one store.\n"
          "\n"
          "  -o, --store STORE  the folder of the indexes. Default: $UNSPOOL_INDEX_STORE,\n"
          "                     or unspool/index in $XDG_CACHE_HOME or ~/.cache\n"
          "  --force            make existing indexes again, also from files that contain\n"
          "                     less\n"
          "  --verify           make no index; compare each index with the debug\n"
          "                     information, address by address\n"
          "  --threads N        use at most N threads. Default: the number of processors\n"
          "  --only LIST        of dyld shared caches, only these images: paths or their\n"
          "                     last parts, with commas between them; stubs: the stubs\n"
          "                     between images\n"
          "  --quiet            print nothing about files that were indexed without\n"
          "                     problems\n"
          "  -h, --help         print this help\n"
          "\n"
          "exit status: 0 success, 1 a file has nothing to index, or an index differs or\n"
          "is damaged, 2 wrong usage, 3 a file cannot be read, 4 another failure\n",
          out);
}

enum { OPTION_VERIFY = 256, OPTION_FORCE, OPTION_THREADS, OPTION_ONLY, OPTION_QUIET };

static const struct option options[] = {
    {"store", required_argument, NULL, 'o'},
    {"force", no_argument, NULL, OPTION_FORCE},
    {"verify", no_argument, NULL, OPTION_VERIFY},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"only", required_argument, NULL, OPTION_ONLY},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* How messages name the command; argv[0] is "add" for `unspool store add`. */
static const char *name_of(const char *word) { return strcmp(word, "add") == 0 ? "store add" : word; }

static bool parse_threads(const char *text, struct store_adding *adding) {
    uint64_t threads;
    if (!parse_number(text, 64, &threads) || threads == 0) {
        complain("--threads takes a number from 1 to 64, not \"%s\"", text);
        return false;
    }
    adding->threads = (uint32_t)threads;
    return true;
}

static bool parse_option(int option, struct store_adding *adding) {
    switch (option) {
    case 'o': adding->store = optarg; return true;
    case OPTION_FORCE: adding->is_forced = true; return true;
    case OPTION_VERIFY: adding->is_verification = true; return true;
    case OPTION_THREADS: return parse_threads(optarg, adding);
    case OPTION_ONLY: adding->only = optarg; return true;
    case OPTION_QUIET: adding->is_quiet = true; return true;
    default: return false; /* next_option has complained */
    }
}

static int refuse_usage(const char *word) {
    fprintf(stderr, "See `unspool %s --help`.\n", name_of(word));
    return EXIT_USAGE;
}

int store_run_add(int argc, char **argv) {
    struct store_adding adding = {.result = EXIT_ALL_WELL};
    for (int option; (option = next_option(argc, argv, "o:h", options)) != -1;) {
        if (option == 'h') {
            usage(stdout);
            return EXIT_ALL_WELL;
        }
        if (!parse_option(option, &adding)) return refuse_usage(argv[0]);
    }
    if (argc == optind) {
        complain("%s: a file or folder is missing", name_of(argv[0]));
        return refuse_usage(argv[0]);
    }
    char *store = find_index_store(adding.store);
    if (store == NULL) {
        complain("%s: -o STORE is missing, and there is no $HOME", name_of(argv[0]));
        return EXIT_FAILED;
    }
    adding.store = store;
    int result = store_add(&adding, argv + optind, (size_t)(argc - optind));
    free(store);
    return result;
}

const struct command command_index = {"index", "make index files, to find names and lines without parsing",
                                      store_run_add};
