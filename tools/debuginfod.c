/* SPDX-License-Identifier: MIT */
/* Implements debuginfod.h with elfutils' libdebuginfod. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/debuginfod.h"

#include "tools/arguments.h"
#include "tools/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *debuginfod_cache(void) {
    const char *own = getenv("DEBUGINFOD_CACHE_PATH");
    return own != NULL && own[0] != '\0' ? strdup(own) : fetch_in_cache("debuginfod_client");
}

#ifdef HAVE_LIBDEBUGINFOD

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

/* The maximum size of a file in bytes, unless $DEBUGINFOD_MAXSIZE says another one. */
#define SIZE_MAXIMUM (UINT64_C(8) << 30)

/* A function of libdebuginfod that gets a file. */
typedef int (*find_function)(debuginfod_client *, const unsigned char *, int, char **);

struct debuginfod {
    debuginfod_client *handle;
    debuginfod_client *(*begin)(void);
    void (*end)(debuginfod_client *);
    void (*set_progress)(debuginfod_client *, debuginfod_progressfn_t);
    void (*set_data)(debuginfod_client *, void *);
    void *(*get_data)(debuginfod_client *);
    find_function find[2]; /* for a debug file; for a program or library */
    uint64_t due;          /* time limit by fetch_clock, in milliseconds */
    uint64_t size_limit;   /* of a file, in bytes */
    bool is_late, is_too_large;
};

/* Global, because the progress callback gets only the handle. */
static void *(*get_data)(debuginfod_client *);

static bool load(struct debuginfod *client) {
    const struct {
        const char *name;
        void *pointer;
    } functions[] = {
        {"debuginfod_begin", &client->begin},
        {"debuginfod_end", &client->end},
        {"debuginfod_set_progressfn", &client->set_progress},
        {"debuginfod_set_user_data", &client->set_data},
        {"debuginfod_get_user_data", &client->get_data},
        {"debuginfod_find_debuginfo", &client->find[0]},
        {"debuginfod_find_executable", &client->find[1]},
    };
    void *handle = dlopen(DEBUGINFOD_SONAME, RTLD_NOW);
    for (size_t i = 0; handle != NULL && i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(handle, functions[i].name);
        if (found == NULL) return false;
        memcpy(functions[i].pointer, &found, sizeof found);
    }
    return handle != NULL;
}

/* Implements debuginfod_progressfn_t: libdebuginfod calls it at least once a second while it waits. */
static int stop_in_time(debuginfod_client *handle, long done, long all) {
    struct debuginfod *client = get_data(handle);
    const long more = done > all ? done : all;
    if (fetch_clock() >= client->due) client->is_late = true;
    if (more > 0 && (uint64_t)more > client->size_limit) client->is_too_large = true;
    return client->is_late || client->is_too_large ? 1 : 0;
}

static uint64_t size_limit(void) {
    const char *text = getenv("DEBUGINFOD_MAXSIZE");
    uint64_t size;
    return text != NULL && parse_number(text, INT64_MAX, &size) && size > 0 ? size : SIZE_MAXIMUM;
}

int debuginfod_open(const char *cache, struct debuginfod **client) {
    struct debuginfod *made = calloc(1, sizeof *made);
    *client = NULL;
    if (made == NULL) {
        complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
        return EXIT_FAILED;
    }
    const bool is_loaded = load(made);
    if (is_loaded && setenv("DEBUGINFOD_CACHE_PATH", cache, 1) == 0) made->handle = made->begin();
    if (made->handle == NULL) {
        complain("--debuginfod: %s", is_loaded ? strerror(errno) : DEBUGINFOD_SONAME " cannot be loaded");
        free(made);
        return EXIT_FAILED;
    }
    get_data = made->get_data;
    made->set_data(made->handle, made);
    made->set_progress(made->handle, stop_in_time);
    made->size_limit = size_limit();
    *client = made;
    return EXIT_ALL_WELL;
}

void debuginfod_close(struct debuginfod *client) {
    if (client == NULL) return;
    client->end(client->handle);
    free(client);
}

/* The state of this process that bounds the size of files it writes. */
struct file_limit {
    struct rlimit size;
    struct sigaction action;
    bool is_set;
};

/* Makes the kernel refuse to write more bytes to a file. A server can announce any size or none, and compress what it
 * sends, so the bytes that libdebuginfod counts are not those that it writes. */
static void limit_files(uint64_t bytes, struct file_limit *before) {
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct rlimit limit;
    before->is_set = getrlimit(RLIMIT_FSIZE, &before->size) == 0;
    if (!before->is_set) return;
    limit = before->size;
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > bytes) limit.rlim_cur = (rlim_t)bytes;
    before->is_set = setrlimit(RLIMIT_FSIZE, &limit) == 0;
    if (before->is_set) (void)sigaction(SIGXFSZ, &ignore, &before->action);
}

static void release_files(const struct file_limit *before) {
    if (!before->is_set) return;
    (void)setrlimit(RLIMIT_FSIZE, &before->size);
    (void)sigaction(SIGXFSZ, &before->action, NULL);
}

enum fetched debuginfod_get(struct debuginfod *client, const struct fetch_build *build, uint64_t seconds, char **path,
                            char error[FETCH_ERROR]) {
    struct file_limit before;
    int result = -ENOENT;
    *path = NULL;
    client->is_late = client->is_too_large = false;
    limit_files(client->size_limit, &before);
    client->due = fetch_clock() + seconds * 1000;
    for (size_t i = 0; i < 2 && result == -ENOENT; i++) {
        result = client->find[i](client->handle, build->id, (int)build->id_size, path);
    }
    release_files(&before);
    if (result >= 0) {
        close(result);
        if (*path != NULL) return FETCH_DONE;
        result = -ENOMEM;
    }
    if (client->is_too_large || result == -EFBIG) {
        snprintf(error, FETCH_ERROR, "a file of more than %" PRIu64 " bytes; $DEBUGINFOD_MAXSIZE can allow it",
                 client->size_limit);
        return FETCH_FAILED;
    }
    if (client->is_late || result == -ETIME) return FETCH_LATE;
    if (result == -ENOSYS) {
        snprintf(error, FETCH_ERROR, "$DEBUGINFOD_URLS names no server");
        return FETCH_HOPELESS;
    }
    snprintf(error, FETCH_ERROR, "%s", result == -ENOENT ? "no server has it" : strerror(-result));
    return FETCH_FAILED;
}

#else

int debuginfod_open(const char *cache, struct debuginfod **client) {
    (void)cache;
    *client = NULL;
    complain("--debuginfod: this build of unspool has no libdebuginfod");
    return EXIT_USAGE;
}

void debuginfod_close(struct debuginfod *client) { (void)client; }

enum fetched debuginfod_get(struct debuginfod *client, const struct fetch_build *build, uint64_t seconds, char **path,
                            char error[FETCH_ERROR]) {
    (void)client;
    (void)build;
    (void)seconds;
    *path = NULL;
    snprintf(error, FETCH_ERROR, "%s", usp_status_string(USP_ERROR_UNSUPPORTED));
    return FETCH_HOPELESS;
}

#endif
