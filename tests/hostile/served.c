/* SPDX-License-Identifier: MIT */
/* Preloaded into the command by mutate.py: runs it many times without starting the program anew. Reads requests from
 * descriptor 198; for each, a child runs main with the request's arguments. Writes four numbers of 32 bits to
 * descriptor 199 afterwards: the status from wait4(2), the peak of memory in kB, and the milliseconds of processor time
 * and of time. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REQUESTS = 198, ANSWERS = 199, WORDS_MAX = 256 };

/* The first words of a request; the command's arguments follow. */
enum word { CPU_SECONDS, SECONDS, MEMORY, FILE_SIZE, INPUT, OUTPUT, ERRORS, ARGUMENTS };

typedef int (*main_function)(int, char **, char **);

static main_function command;

static int read_all(void *to, size_t n) {
    for (char *at = to; n > 0;) {
        const ssize_t got = read(REQUESTS, at, n);
        if (got <= 0) return 0;
        at += got;
        n -= (size_t)got;
    }
    return 1;
}

static void limit(int what, const char *text) {
    const rlim_t n = (rlim_t)strtoull(text, NULL, 10);
    const struct rlimit limits = {n, n};
    if (n > 0) (void)setrlimit((__rlimit_resource_t)what, &limits);
}

static void put(const char *path, int flags, int where) {
    const int opened = open(path, flags, 0600);
    if (opened < 0 || dup2(opened, where) < 0) _exit(120);
    if (opened != where) close(opened);
}

static int run(char **words, int count, char **environment) {
    put(words[INPUT], O_RDONLY, STDIN_FILENO);
    put(words[OUTPUT], O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    put(words[ERRORS], O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    close(REQUESTS);
    close(ANSWERS);
    limit(RLIMIT_CPU, words[CPU_SECONDS]);
    limit(RLIMIT_AS, words[MEMORY]);
    limit(RLIMIT_FSIZE, words[FILE_SIZE]);
    limit(RLIMIT_CORE, "0");
    alarm((unsigned)strtoul(words[SECONDS], NULL, 10));
    return command(count - ARGUMENTS, words + ARGUMENTS, environment);
}

static uint64_t clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint32_t ms(struct timeval time) { return (uint32_t)(time.tv_sec * 1000 + time.tv_usec / 1000); }

static int serve(int argc, char **argv, char **environment) {
    static char request[1 << 16];
    uint32_t size;
    (void)argc;
    (void)argv;
    unsetenv("LD_PRELOAD");
    while (read_all(&size, sizeof size) && size < sizeof request && read_all(request, size)) {
        char *words[WORDS_MAX + 1];
        int count = 0;
        request[size] = '\0';
        for (char *at = request; at < request + size && count < WORDS_MAX; at += strlen(at) + 1) words[count++] = at;
        words[count] = NULL;
        if (count <= ARGUMENTS) return 1;
        const uint64_t begin = clock_ms();
        const pid_t child = fork();
        if (child == 0) exit(run(words, count, environment));
        int status = 0;
        struct rusage used;
        if (child < 0 || wait4(child, &status, 0, &used) != child) return 1;
        const uint32_t answer[] = {(uint32_t)status, (uint32_t)used.ru_maxrss, ms(used.ru_utime) + ms(used.ru_stime),
                                   (uint32_t)(clock_ms() - begin)};
        if (write(ANSWERS, answer, sizeof answer) != (ssize_t)sizeof answer) return 1;
    }
    return 0;
}

/* Takes the place of libc's function, which calls main. */
int __libc_start_main(main_function entry, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
    int (*start)(main_function, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    void *found = dlsym(RTLD_NEXT, "__libc_start_main");
    memcpy(&start, &found, sizeof start);
    command = entry;
    return start(getenv("USP_SERVED") != NULL ? serve : entry, argc, argv, init, fini, rtld_fini, stack_end);
}
