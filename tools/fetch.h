/* SPDX-License-Identifier: MIT */
/* A command of the user's that gets the debug file of a build from elsewhere (--fetch). No shell is involved. */
#ifndef TOOL_FETCH_H
#define TOOL_FETCH_H

#include <unspool/images.h>

struct fetch_options {
    const char *command; /* of --fetch; NULL: nothing is fetched */
    const char *cache;   /* of --fetch-cache; NULL: the default one */
    uint64_t seconds;    /* of --fetch-timeout */
};

/* The default of --fetch-timeout, and its largest. */
#define FETCH_SECONDS     60
#define FETCH_SECONDS_MAX 86400

/* The seconds of --fetch-timeout. Complains. */
bool parse_fetch_timeout(const char *text, struct fetch_options *options);

/* Opaque. */
struct fetch;

/* Divides the command into words. On success *fetch is the caller's to free, NULL where nothing is to be fetched. Complains.
 * Returns an enum exit_status: EXIT_USAGE when the command lacks {uuid} or {dest}, or a quotation mark. */
int fetch_create(const struct fetch_options *options, struct fetch **fetch);

/* NULL is ignored. */
void fetch_free(struct fetch *fetch);

/* The folder that is filled, in the unified layout; it need not exist. NULL for NULL. */
const char *fetch_cache(const struct fetch *fetch);

/* Runs the command for a build, unless that was done already, and waits for it. True: the file of that build is in the cache.
 * False: `error` says why, and is empty when it was said before. */
bool fetch_run(struct fetch *fetch, const uint8_t *id, size_t id_size, char *error, size_t error_size);

/* As uuid_unparse(3) writes it on Darwin, if it is as long as a UUID; else digits in lower case. */
void format_build_id(const uint8_t *id, size_t size, char text[2 * USP_BUILD_ID_MAX + 5]);

#endif
