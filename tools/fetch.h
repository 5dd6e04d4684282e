/* SPDX-License-Identifier: MIT */
/* Fetches files of builds that are not on this machine: with a command of the user's (--fetch; without a shell), or
 * from debuginfod servers (--debuginfod). */
#ifndef TOOLS_FETCH_H
#define TOOLS_FETCH_H

#include "tools/fetched.h"

#include <stdbool.h>

/* Help text of the options for fetching. */
#define FETCH_USAGE                                                                                                    \
    "  --fetch COMMAND    run COMMAND once for each image for which neither a file\n"                                  \
    "                     here nor an index has lines. COMMAND must contain {uuid},\n"                                 \
    "                     which stands for the UUID or build id, and {dest}, which\n"                                  \
    "                     stands for the path of the file that COMMAND writes\n"                                       \
    "  --debuginfod       instead of running a command, request the images' files\n"                                   \
    "                     from the servers that $DEBUGINFOD_URLS names\n"                                              \
    "  --fetch-cache DIR  keep fetched files in DIR. Default: unspool/fetched in\n"                                    \
    "                     $XDG_CACHE_HOME or ~/.cache; with --debuginfod, the cache\n"                                 \
    "                     that debuginfod's clients share\n"                                                           \
    "  --fetch-timeout SECONDS\n"                                                                                      \
    "                     end COMMAND, or stop waiting for a file, after this time.\n"                                 \
    "                     Default: 60\n"

struct fetch_options {
    const char *command; /* of --fetch; NULL: none */
    bool debuginfod;     /* --debuginfod; with neither option nothing is fetched */
    const char *cache;   /* of --fetch-cache; NULL: the default one */
    uint64_t seconds;    /* of --fetch-timeout */
};

/* The default and the maximum of --fetch-timeout. */
#define FETCH_SECONDS     60
#define FETCH_SECONDS_MAX 86400

/* Parses the seconds of --fetch-timeout. Complains. */
bool parse_fetch_timeout(const char *text, struct fetch_options *options);

/* Opaque. */
struct fetch;

/* Splits the command into words, or loads the debuginfod client. After success the caller frees *fetch, which is NULL
 * if nothing is to be fetched. Complains. Returns an enum exit_status: EXIT_USAGE if the command lacks {uuid} or {dest}
 * or a quotation mark, or if both ways are requested. */
int fetch_create(const struct fetch_options *options, struct fetch **fetch);

/* NULL is ignored. */
void fetch_free(struct fetch *fetch);

/* Returns the folder for fetched files, in a layout that layouts.h knows; it need not exist. NULL for NULL. */
const char *fetch_cache(const struct fetch *fetch);

/* Fetches the file of a build and waits for it, unless that was tried before. Returns true if it is in the cache.
 * Otherwise `error` has the reason; it is empty if the reason was reported before. */
bool fetch_run(struct fetch *fetch, const uint8_t *id, size_t id_size, char error[FETCH_ERROR]);

/* Formats an id: with the length of a UUID like uuid_unparse(3) on Darwin, otherwise as lower-case digits. */
void format_build_id(const uint8_t *id, size_t size, char text[2 * USP_BUILD_ID_MAX + 5]);

#endif
