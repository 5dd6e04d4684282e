/* SPDX-License-Identifier: MIT */
/* Implements `unspool store prune`: removes useless files from a store: damaged indexes, files that killed commands
 * have left, and on request indexes that were not used for long. Files of other programs stay. */
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/store.h"
#include "tools/store_walk.h"
#include "tools/text.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Minimum age of a leftover temporary file. A command writes its file in one go after all data is known, so the file of
 * a running command is younger. */
#define SECONDS_TEMPORARY (60 * 60)
/* How often a lock is tried, every 10 ms. */
#define LOCK_TRIES    100
#define SECONDS_A_DAY (24 * 60 * 60)

struct pruning {
    time_t now;
    uint64_t days; /* 0: age does not matter */
    bool is_dry, is_quiet;
    uint64_t files, bytes;
    int result;
};

static void remove_file(struct pruning *pruning, const struct store_entry *entry, uint64_t size, const char *why) {
    if (!pruning->is_dry && unlinkat(entry->at, entry->name, 0) != 0) {
        if (errno == ENOENT) return;
        complain("%s: %s", entry->path, strerror(errno));
        pruning->result = EXIT_INCOMPLETE;
        return;
    }
    pruning->files++;
    pruning->bytes += size;
    if (pruning->is_quiet) return;
    printf("%s  ", why);
    put_harmless(stdout, entry->path);
    putchar('\n');
}

/* Returns why an index is removed; NULL: it stays. */
static const char *judge_index(struct pruning *pruning, const struct store_entry *entry, const struct stat *found) {
    struct usp_index_info info;
    char error[512];
    /* A file system without access times has modification times. */
    const time_t used = found->st_atime > found->st_mtime ? found->st_atime : found->st_mtime;
    if (pruning->days > 0 && pruning->now > used && (uint64_t)(pruning->now - used) / SECONDS_A_DAY >= pruning->days) {
        return "not used";
    }
    int status = store_examine(entry, true, &info, error, sizeof error);
    if (status == USP_ERROR_FORMAT || status == USP_ERROR_MISMATCH) return "damaged";
    if (status != USP_OK && status != USP_ERROR_NOT_FOUND) {
        /* The index is of a later version or cannot be read, so it cannot be judged. */
        complain("%s", error);
        if (status != USP_ERROR_UNSUPPORTED) pruning->result = EXIT_INCOMPLETE;
    }
    return NULL;
}

/* Locks a build's folder. Commands that add an index take the same lock, so that a new index is not removed in place of
 * a damaged one. A user can keep the lock, so this does not wait for long. */
static bool lock(const struct store_entry *entry) {
    const struct timespec pause = {.tv_nsec = 10000000};
    for (unsigned i = 0; i < LOCK_TRIES; i++) {
        /* On a file system without locks it goes on without one. */
        if (flock(entry->at, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR)) return true;
        nanosleep(&pause, NULL);
    }
    complain("%s: another command keeps its folder locked; the file stays", entry->path);
    return false;
}

/* Implements store_visitor. */
static int take_entry(void *context, const struct store_entry *entry) {
    struct pruning *pruning = context;
    struct stat found;
    if (entry->kind == STORE_FOLDER) {
        /* Removed only if it is empty. */
        if (!pruning->is_dry) (void)unlinkat(entry->at, entry->name, AT_REMOVEDIR);
        return EXIT_ALL_WELL;
    }
    if (!lock(entry)) {
        pruning->result = EXIT_INCOMPLETE;
        return EXIT_ALL_WELL;
    }
    if (fstatat(entry->at, entry->name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode)) {
        const char *why = NULL;
        if (entry->kind == STORE_INDEX) {
            why = judge_index(pruning, entry, &found);
        } else if (pruning->now - found.st_mtime >= SECONDS_TEMPORARY) {
            why = "left over";
        }
        if (why != NULL) remove_file(pruning, entry, (uint64_t)found.st_size, why);
    }
    (void)flock(entry->at, LOCK_UN);
    return EXIT_ALL_WELL;
}

enum { OPTION_OLDER_THAN = 256, OPTION_DRY_RUN, OPTION_QUIET };

static const struct option options[] = {
    {"older-than", required_argument, NULL, OPTION_OLDER_THAN},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool parse_option(int option, struct pruning *pruning) {
    switch (option) {
    case OPTION_OLDER_THAN:
        if (parse_number(optarg, 36500, &pruning->days) && pruning->days > 0) return true;
        complain("store prune: --older-than takes a number of days from 1 to 36500, not \"%s\"", optarg);
        return false;
    case OPTION_DRY_RUN: pruning->is_dry = true; return true;
    case OPTION_QUIET: pruning->is_quiet = true; return true;
    default: return false; /* next_option has complained */
    }
}

int store_run_prune(int argc, char **argv) {
    struct pruning pruning = {.now = time(NULL), .result = EXIT_ALL_WELL};
    for (int option; (option = next_option(argc, argv, "h", options)) != -1;) {
        if (option == 'h') {
            store_usage(stdout);
            return EXIT_ALL_WELL;
        }
        if (!parse_option(option, &pruning)) return store_refuse_usage();
    }
    char *store = store_take_operand(argc, argv, optind);
    if (store == NULL) return store_refuse_usage();
    int result = store_walk(store, take_entry, &pruning);
    if (result == EXIT_ALL_WELL && !pruning.is_quiet) {
        printf("%" PRIu64 " files, %" PRIu64 " bytes%s\n", pruning.files, pruning.bytes,
               pruning.is_dry ? " would be removed" : " removed");
    }
    free(store);
    return result == EXIT_ALL_WELL ? pruning.result : result;
}
