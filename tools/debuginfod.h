/* SPDX-License-Identifier: MIT */
/* Fetches files of builds from debuginfod servers (--debuginfod) with elfutils' libdebuginfod. The library is loaded
 * only if it is needed. It asks the servers in $DEBUGINFOD_URLS, and stores files in its own cache, which layouts.h
 * knows. */
#ifndef TOOLS_DEBUGINFOD_H
#define TOOLS_DEBUGINFOD_H

#include "tools/fetched.h"

/* Opaque. */
struct debuginfod;

/* Returns the folder of libdebuginfod's cache (debuginfod_find_debuginfo(3), "ENVIRONMENT VARIABLES"), which the caller
 * frees. NULL: there is no $HOME, or memory is exhausted. */
char *debuginfod_cache(void);

/* Loads the library and sets its cache. After success the caller closes *client. Complains. Returns an enum
 * exit_status. */
int debuginfod_open(const char *cache, struct debuginfod **client);

/* NULL is ignored. */
void debuginfod_close(struct debuginfod *client);

/* Asks for the debug file of a build; if no server has it, for the program or library. Each request takes at most
 * `seconds`. FETCH_DONE: *path is the file's path, which the caller frees; its contents are not checked. Otherwise
 * `error` has the reason. */
enum fetched debuginfod_get(struct debuginfod *client, const struct fetch_build *build, uint64_t seconds, char **path,
                            char error[FETCH_ERROR]);

#endif
