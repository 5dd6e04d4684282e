/* SPDX-License-Identifier: MIT */
/* Files of builds that are not here, got from elsewhere: by a command of the user's (--fetch; no shell is involved), or from debuginfod
 * servers (--debuginfod). */
#ifndef TOOL_FETCH_H
#define TOOL_FETCH_H

#include <unspool/images.h>

#include <stdbool.h>

/* The options of fetching, in the help of the commands that have them. */
#define FETCH_USAGE                                                                                                    \
    "  --fetch COMMAND    run it once for each image of which no file here has lines: it writes the file of the\n"     \
    "                     build {uuid} to {dest}\n"                                                                    \
    "  --debuginfod       instead: ask the servers that $DEBUGINFOD_URLS names for the build\n"                        \
    "  --fetch-cache DIR  keep what was fetched there. Default: unspool/fetched in $XDG_CACHE_HOME or ~/.cache;\n"     \
    "                     with --debuginfod that of all its clients\n"                                                 \
    "  --fetch-timeout SECONDS\n"                                                                                      \
    "                     wait for no file longer than that. Default: 60\n"

struct fetch_options {
    const char *command; /* of --fetch; NULL: none */
    bool debuginfod;     /* --debuginfod; with neither nothing is fetched */
    const char *cache;   /* of --fetch-cache; NULL: the default one */
    uint64_t seconds;    /* of --fetch-timeout */
};

/* The default of --fetch-timeout, and its largest. */
#define FETCH_SECONDS     60
#define FETCH_SECONDS_MAX 86400

/* The seconds of --fetch-timeout. Complains. */
bool parse_fetch_timeout(const char *text, struct fetch_options *options);

/* A build, by what its files are known by. */
struct fetch_build {
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size;
};

/* What came of asking for one. */
enum fetched {
    FETCH_DONE,
    FETCH_FAILED,
    FETCH_LATE,    /* the time was over */
    FETCH_HOPELESS /* no other build need be asked for */
};

/* Room for the sentence that says why. */
#define FETCH_ERROR 512

/* Opaque. */
struct fetch;

/* Divides the command into words, or loads the debuginfod client. On success *fetch is the caller's to free, NULL where nothing is to be fetched. Complains.
 * Returns an enum exit_status: EXIT_USAGE when the command lacks {uuid} or {dest}, or a quotation mark, or both ways are
 * wanted. */
int fetch_create(const struct fetch_options *options, struct fetch **fetch);

/* NULL is ignored. */
void fetch_free(struct fetch *fetch);

/* The folder that is filled, in a layout that layouts.h knows; it need not exist. NULL for NULL. */
const char *fetch_cache(const struct fetch *fetch);

/* Gets the file of a build, unless that was tried already, and waits for it. True: it is in the cache. False: `error` says why, and
 * is empty when it was said before. */
bool fetch_run(struct fetch *fetch, const uint8_t *id, size_t id_size, char error[FETCH_ERROR]);

/* A folder in the user's for caches: $XDG_CACHE_HOME/NAME, or ~/.cache/NAME; the caller's to free. NULL: there is no $HOME, or memory
 * lacks. */
char *fetch_in_cache(const char *name);

/* Milliseconds of the monotonic clock. */
uint64_t fetch_clock(void);

/* As uuid_unparse(3) writes it on Darwin, if it is as long as a UUID; else digits in lower case. */
void format_build_id(const uint8_t *id, size_t size, char text[2 * USP_BUILD_ID_MAX + 5]);

#endif
