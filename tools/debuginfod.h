/* SPDX-License-Identifier: MIT */
/* Files of builds from debuginfod servers (--debuginfod), by elfutils' libdebuginfod. It is loaded when it is asked for, asks the
 * servers that $DEBUGINFOD_URLS names, and keeps what it gets in its own cache, which layouts.h knows. */
#ifndef TOOL_DEBUGINFOD_H
#define TOOL_DEBUGINFOD_H

#include "tools/fetch.h"

/* Opaque. */
struct debuginfod;

/* The folder of the cache as libdebuginfod finds it (debuginfod_find_debuginfo(3), "ENVIRONMENT VARIABLES"); the caller's to free. NULL:
 * there is no $HOME, or memory lacks. */
char *debuginfod_cache(void);

/* Loads the library, which is to use that cache. On success *client is the caller's to close. Complains. Returns an enum
 * exit_status. */
int debuginfod_open(const char *cache, struct debuginfod **client);

/* NULL is ignored. */
void debuginfod_close(struct debuginfod *client);

/* Asks for the debug file of a build, and where no server has one for the program or library itself, for at most `seconds`
 * each. FETCH_DONE: *path is where the file is, the caller's to free; what it holds is not looked at. Otherwise `error` says why. */
enum fetched debuginfod_get(struct debuginfod *client, const struct fetch_build *build, uint64_t seconds, char **path,
                            char error[FETCH_ERROR]);

#endif
