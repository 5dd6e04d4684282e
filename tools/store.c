/* SPDX-License-Identifier: MIT */
/* Implements `unspool store`: selects the action, and implements `list` and `verify`. */
#include "tools/store.h"

#include "lib/base/json.h"
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/lines.h"
#include "tools/store_walk.h"
#include "tools/text.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void store_usage(FILE *out) {
    fputs("usage: unspool store add [-o|--store STORE] [--force] [--verify] [--threads N]\n"
          "                         [--only LIST] [--quiet] FILE|DIR...\n"
          "       unspool store list [--json] [STORE]\n"
          "       unspool store verify [--quiet] [STORE]\n"
          "       unspool store prune [--older-than DAYS] [--dry-run] [--quiet] [STORE]\n"
          "\n"
          "Manages a store of indexes: a folder in which names and lines are found by UUID\n"
          "or build id.\n"
          "\n"
          "  add                make indexes; the same as unspool index, whose --help\n"
          "                     describes the options\n"
          "  list               print a line for each index: UUID or build id, processor,\n"
          "                     size in bytes, whether it has lines or only symbols, and\n"
          "                     the name of the file that it was made from\n"
          "  verify             read each index completely; print the damaged ones\n"
          "  prune              remove damaged indexes, temporary files that killed\n"
          "                     commands left behind, and empty folders\n"
          "\n"
          "  --json             print JSON instead of text\n"
          "  --older-than DAYS  also remove indexes that were neither written nor read for\n"
          "                     this many days\n"
          "  --dry-run          remove nothing; print what would be removed\n"
          "  --quiet            print only problems\n"
          "  -h, --help         print this help\n"
          "\n"
          "STORE defaults to $UNSPOOL_INDEX_STORE, or unspool/index in $XDG_CACHE_HOME or\n"
          "~/.cache.\n"
          "\n"
          "exit status: 0 success, 1 an index is damaged, or prune could not remove what\n"
          "it should, 2 wrong usage, 3 the store cannot be read, 4 another failure\n",
          out);
}

int store_refuse_usage(void) {
    fputs("See `unspool store --help`.\n", stderr);
    return EXIT_USAGE;
}

char *store_take_operand(int argc, char **argv, int first) {
    if (argc - first > 1) {
        complain("store %s: one store at a time", argv[0]);
        return NULL;
    }
    char *store = find_index_store(first < argc ? argv[first] : NULL);
    if (store == NULL) complain("store %s: STORE is missing, and there is no $HOME", argv[0]);
    return store;
}

/* ---- list and verify ---- */

struct listing {
    bool as_json, is_quiet, is_thorough;
    struct uspi_json *json;
    uint64_t indexes, damaged;
};

static void put_entry(const struct listing *listing, const struct usp_index_info *info) {
    struct uspi_json *json = listing->json;
    if (listing->as_json) {
        uspi_json_begin_object(json, NULL);
        uspi_json_build_id(json, (info->flags & USP_IMAGE_MACHO) != 0, info->build_id, info->build_id_size);
        uspi_json_arch(json, info->arch, info->variant);
        if (info->name[0] != '\0') uspi_json_string(json, "name", info->name);
        uspi_json_number(json, "bytes", info->index_bytes);
        uspi_json_number(json, "units", info->blocks);
        uspi_json_number(json, "symbols", info->symbols);
        uspi_json_end_object(json);
        return;
    }
    for (uint32_t i = 0; i < info->build_id_size; i++) printf("%02x", info->build_id[i]);
    printf(" %-8s %10" PRIu64 " %s ", usp_variant_string(info->arch, info->variant), info->index_bytes,
           info->blocks > 0 ? "lines  " : "symbols");
    put_harmless(stdout, info->name[0] != '\0' ? info->name : "-");
    putchar('\n');
}

/* Implements store_visitor. */
static int take_index(void *context, const struct store_entry *entry) {
    struct listing *listing = context;
    struct usp_index_info info;
    char error[512];
    if (entry->kind != STORE_INDEX) return EXIT_ALL_WELL;
    int status = store_examine(entry, listing->is_thorough, &info, error, sizeof error);
    /* Another command has removed it. */
    if (status == USP_ERROR_NOT_FOUND) return EXIT_ALL_WELL;
    listing->indexes++;
    if (status == USP_OK) {
        if (!listing->is_thorough) put_entry(listing, &info);
        return EXIT_ALL_WELL;
    }
    listing->damaged++;
    complain("%s", error);
    return status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_ALL_WELL;
}

static int list_json(struct listing *listing, const char *store) {
    char buffer[TEXT_ROOM];
    struct uspi_text text = uspi_text_through(write_to_file, stdout, buffer, sizeof buffer);
    struct uspi_json json = {.out = &text, .flat = JSON_FLAT_ELEMENTS};
    listing->json = &json;
    uspi_json_begin_object(&json, NULL);
    uspi_json_number(&json, "version", 1);
    uspi_json_begin_array(&json, "indexes");
    int result = store_walk(store, take_index, listing);
    uspi_json_end_array(&json);
    uspi_json_end_object(&json);
    uspi_text_flush(&text);
    return result;
}

enum { OPTION_JSON = 256, OPTION_QUIET };

static const struct option list_options[] = {
    {"json", no_argument, NULL, OPTION_JSON}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
static const struct option verify_options[] = {
    {"quiet", no_argument, NULL, OPTION_QUIET}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};

static int run_listing(int argc, char **argv, const struct option *options, struct listing *listing) {
    for (int option; (option = next_option(argc, argv, "h", options)) != -1;) {
        switch (option) {
        case 'h': store_usage(stdout); return EXIT_ALL_WELL;
        case OPTION_JSON: listing->as_json = true; break;
        case OPTION_QUIET: listing->is_quiet = true; break;
        default: return store_refuse_usage();
        }
    }
    char *store = store_take_operand(argc, argv, optind);
    if (store == NULL) return store_refuse_usage();
    int result = listing->as_json ? list_json(listing, store) : store_walk(store, take_index, listing);
    if (result == EXIT_ALL_WELL && listing->is_thorough && !listing->is_quiet) {
        printf("%" PRIu64 " %s, %" PRIu64 " damaged\n", listing->indexes, listing->indexes == 1 ? "index" : "indexes",
               listing->damaged);
    }
    free(store);
    return result == EXIT_ALL_WELL && listing->damaged > 0 ? EXIT_INCOMPLETE : result;
}

int store_run_list(int argc, char **argv) {
    struct listing listing = {0};
    return run_listing(argc, argv, list_options, &listing);
}

int store_run_verify(int argc, char **argv) {
    struct listing listing = {.is_thorough = true};
    return run_listing(argc, argv, verify_options, &listing);
}

/* ---- the command ---- */

static const struct {
    const char *word;
    int (*run)(int argc, char **argv);
} words[] = {
    {"add", store_run_add}, {"list", store_run_list}, {"prune", store_run_prune}, {"verify", store_run_verify}};

static int run(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof words / sizeof *words; i++) {
        if (strcmp(argv[1], words[i].word) == 0) return words[i].run(argc - 1, argv + 1);
    }
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        store_usage(stdout);
        return EXIT_ALL_WELL;
    }
    complain(argc > 1 ? "store: \"%s\" is none of add, list, verify, prune" : "store: add, list, verify or prune%s",
             argc > 1 ? argv[1] : "");
    return store_refuse_usage();
}

const struct command command_store = {"store", "manage a store of indexes: add, list, verify, prune", run};
