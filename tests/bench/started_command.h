/* SPDX-License-Identifier: MIT */
/* A command that a benchmark starts and whose output it reads. posix_spawn avoids the cost of copying the benchmark's
 * memory. Our command gets its library preloaded, so that it does not search for it, as after an installation. */
#ifndef TESTS_BENCH_STARTED_COMMAND_H
#define TESTS_BENCH_STARTED_COMMAND_H

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* Our command in the current build folder. Libtool puts a script in front of a program that uses a shared library. */
#define OUR_COMMAND "tools/unspool"
#define OUR_PROGRAM "tools/.libs/unspool"
#define OUR_LIBRARY "lib/.libs/libunspool.so.0"

struct started_command {
    pid_t pid;
    FILE *output;
};

/* Sets *program to the file to start for OUR_COMMAND. Returns the library to preload, or NULL if the program contains
 * it. */
static inline const char *find_our_command(const char **program) {
    static char library[PATH_MAX];
    if (access(OUR_PROGRAM, X_OK) != 0) return NULL;
    *program = OUR_PROGRAM;
    return realpath(OUR_LIBRARY, library);
}

/* Starts a command; input is a file, or NULL for none. A failure ends the benchmark. */
static inline struct started_command start_command(const char *const *arguments, const char *input) {
    struct started_command started;
    posix_spawn_file_actions_t files;
    int ends[2];
    const char *program = arguments[0];
    const char *library = strcmp(program, OUR_COMMAND) == 0 ? find_our_command(&program) : NULL;
    /* Keeps the commands from requesting symbols over the network. */
    unsetenv("DEBUGINFOD_URLS");
    if (library != NULL) setenv("LD_PRELOAD", library, 1);
    bool ok = pipe2(ends, O_CLOEXEC) == 0 && posix_spawn_file_actions_init(&files) == 0 &&
              posix_spawn_file_actions_addopen(&files, 0, input != NULL ? input : "/dev/null", O_RDONLY, 0) == 0 &&
              posix_spawn_file_actions_adddup2(&files, ends[1], 1) == 0 &&
              posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0) == 0 &&
              posix_spawnp(&started.pid, program, &files, NULL, (char *const *)arguments, environ) == 0;
    unsetenv("LD_PRELOAD");
    if (!ok) {
        perror(program);
        exit(1);
    }
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    started.output = fdopen(ends[0], "r");
    if (started.output == NULL) exit(1);
    /* A large buffer, so that the reader's system calls do not affect the timing. */
    setvbuf(started.output, NULL, _IOFBF, 1 << 16);
    return started;
}

static inline bool is_installed(const char *program) {
    char line[128];
    snprintf(line, sizeof line, "command -v %s >/dev/null", program);
    return system(line) == 0;
}

#endif
