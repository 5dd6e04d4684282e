/* SPDX-License-Identifier: MIT */
/* Implements log_jobs.h. The command gives each process the number of a log and a pair of temporary files, for the
 * output and for the messages, and copies them when it is the log's turn. There are more pairs than processes, so that
 * a long log does not hold the others up. */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "tools/log_jobs.h"

#include "lib/base/array.h"
#include "lib/base/bisect.h"
#include "tools/command.h"
#include "tools/temporary.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAIRS_OF_PROCESS 4
#define PIECE            ((size_t)128 << 10)

/* A pair of temporary files. */
struct pair {
    int out, messages;
    bool is_used, is_done;
    size_t log;
    struct log_result result;
};

struct worker {
    pid_t pid;
    int orders, results; /* descriptors; -1: closed */
    size_t pair;         /* the one in use; SIZE_MAX: it waits */
};

/* An order: which log, and into which pair. */
struct order {
    size_t log, pair;
};

struct log_pool {
    struct log_jobs jobs;
    struct worker *workers;
    struct pair *pairs;
    size_t pair_count, next, shown; /* next: log to give out; shown: log whose turn it is */
    char **said;                    /* messages about builds that have appeared, sorted; owned */
    size_t said_count, said_capacity;
    bool has_failed;
};

static int fail(const char *what) {
    complain("%s: %s", what, strerror(errno));
    return EXIT_FAILED;
}

static bool read_all(int fd, void *bytes, size_t n) {
    for (char *to = bytes; n > 0;) {
        const ssize_t got = read(fd, to, n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        n -= (size_t)got;
    }
    return true;
}

static bool write_all(int fd, const void *bytes, size_t n) {
    for (const char *from = bytes; n > 0;) {
        const ssize_t put = write(fd, from, n);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        from += put;
        n -= (size_t)put;
    }
    return true;
}

/* ---- a process ---- */

/* Runs logs until there are no more orders. Its last messages go into the pair with its number, which is free then. */
static void work(const struct log_pool *pool, unsigned number, int orders, int results) {
    struct order order;
    while (read_all(orders, &order, sizeof order)) {
        const struct pair *pair = &pool->pairs[order.pair];
        struct log_result result;
        memset(&result, 0, sizeof result);
        const int copy = dup(pair->out);
        FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
        if (out == NULL || dup2(pair->messages, STDERR_FILENO) < 0) _exit(EXIT_FAILED);
        pool->jobs.run(pool->jobs.context, order.log, out, &result);
        if (fclose(out) != 0 && result.status < EXIT_FAILED) {
            complain("a temporary file could not be written");
            result.status = EXIT_FAILED;
        }
        if (!write_all(results, &result, sizeof result)) break;
    }
    dup2(pool->pairs[number].messages, STDERR_FILENO);
    pool->jobs.end(pool->jobs.context);
    _exit(EXIT_ALL_WELL);
}

/* Starts a process. The pipes of those before it are closed there, so that each sees the end of its own. */
static bool start(struct log_pool *pool, unsigned number) {
    struct worker *worker = &pool->workers[number];
    int orders[2], results[2];
    if (pipe(orders) != 0) return false;
    if (pipe(results) != 0) {
        close(orders[0]);
        close(orders[1]);
        return false;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        for (unsigned i = 0; i < number; i++) {
            close(pool->workers[i].orders);
            close(pool->workers[i].results);
        }
        close(orders[1]);
        close(results[0]);
        work(pool, number, orders[0], results[1]);
    }
    close(orders[0]);
    close(results[1]);
    if (pid < 0) {
        close(orders[1]);
        close(results[0]);
        return false;
    }
    *worker = (struct worker){.pid = pid, .orders = orders[1], .results = results[0], .pair = SIZE_MAX};
    return true;
}

static void stop(struct worker *worker) {
    if (worker->orders >= 0) close(worker->orders);
    if (worker->results >= 0) close(worker->results);
    worker->orders = worker->results = -1;
    worker->pair = SIZE_MAX;
}

/* ---- what is shown ---- */

/* Whether a message about a build has not appeared. Takes ownership of the text. */
static bool is_new(struct log_pool *pool, char *text) {
    size_t low;
    USPI_FIRST(low, 0, pool->said_count, strcmp(pool->said[low], text) >= 0);
    const bool is_known = low < pool->said_count && strcmp(pool->said[low], text) == 0;
    if (is_known || !uspi_room_for(&pool->said, &pool->said_capacity, pool->said_count, 1, sizeof *pool->said)) {
        free(text);
        return !is_known;
    }
    memmove(pool->said + low + 1, pool->said + low, (pool->said_count - low) * sizeof *pool->said);
    pool->said[low] = text;
    pool->said_count++;
    return true;
}

/* Copies a part of a file. `end` -1: up to its end. Returns false if it cannot be read or written. The copy is not
 * buffered a second time, because one process makes all of them. */
static bool copy_part(int from, off_t at, off_t end, FILE *to) {
    char piece[PIECE];
    if (fflush(to) != 0) return false;
    while (end < 0 || at < end) {
        const size_t wanted = end < 0 || end - at > (off_t)sizeof piece ? sizeof piece : (size_t)(end - at);
        const ssize_t n = pread(from, piece, wanted, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n == 0;
        if (!write_all(fileno(to), piece, (size_t)n)) return false;
        at += n;
    }
    return true;
}

/* Shows the messages about builds, each line once. */
static bool show_said(struct log_pool *pool, const struct pair *pair) {
    const off_t length = pair->result.said_end - pair->result.said;
    if (length <= 0) return true;
    char *text = malloc((size_t)length + 1);
    if (text == NULL) return false;
    ssize_t n = pread(pair->messages, text, (size_t)length, pair->result.said);
    text[n > 0 ? n : 0] = '\0';
    for (char *line = text, *end; *line != '\0'; line = end) {
        end = line + strcspn(line, "\n");
        if (*end != '\0') *end++ = '\0';
        char *copy = strdup(line);
        if (copy == NULL || is_new(pool, copy)) fprintf(stderr, "%s\n", line);
    }
    free(text);
    return true;
}

/* Shows the logs whose turn it is, and frees their pairs. */
static void show_done(struct log_pool *pool) {
    for (size_t i = 0; i < pool->pair_count;) {
        struct pair *pair = &pool->pairs[i++];
        if (!pair->is_used || !pair->is_done || pair->log != pool->shown) continue;
        const struct log_result *result = &pair->result;
        bool is_shown = copy_part(pair->out, 0, -1, stdout);
        if (fflush(stdout) != 0) is_shown = false;
        if (!copy_part(pair->messages, 0, result->said, stderr) || !show_said(pool, pair) ||
            !copy_part(pair->messages, result->said_end, -1, stderr)) {
            is_shown = false;
        }
        is_shown = is_shown && ftruncate(pair->out, 0) == 0 && ftruncate(pair->messages, 0) == 0 &&
                   lseek(pair->out, 0, SEEK_SET) == 0 && lseek(pair->messages, 0, SEEK_SET) == 0;
        if (!is_shown || result->status == EXIT_FAILED) pool->has_failed = true;
        pool->jobs.done(pool->jobs.context, pair->log, result);
        pair->is_used = pair->is_done = false;
        pool->shown++;
        if (pool->has_failed) return;
        i = 0;
    }
}

/* ---- orders and results ---- */

/* Gives a process an order. One that has ended must not end the command by a signal. */
static bool give(const struct worker *worker, const struct order *order) {
    struct sigaction ignored, former;
    memset(&ignored, 0, sizeof ignored);
    sigemptyset(&ignored.sa_mask);
    ignored.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignored, &former);
    const bool is_given = write_all(worker->orders, order, sizeof *order);
    sigaction(SIGPIPE, &former, NULL);
    return is_given;
}

/* Gives waiting processes the next logs, while there are free pairs. */
static void give_orders(struct log_pool *pool) {
    for (unsigned i = 0; i < pool->jobs.processes && pool->next < pool->jobs.logs; i++) {
        struct worker *worker = &pool->workers[i];
        if (worker->orders < 0 || worker->pair != SIZE_MAX) continue;
        size_t free_pair = 0;
        while (free_pair < pool->pair_count && pool->pairs[free_pair].is_used) free_pair++;
        if (free_pair == pool->pair_count) return;
        const struct order order = {.log = pool->next, .pair = free_pair};
        if (!give(worker, &order)) {
            complain("a process of --jobs has ended early");
            pool->has_failed = true;
            return;
        }
        worker->pair = free_pair;
        pool->pairs[free_pair].is_used = true;
        pool->pairs[free_pair].is_done = false;
        pool->pairs[free_pair].log = pool->next++;
    }
}

/* Waits for results. Returns false if a process has ended before its log. */
static bool take_results(struct log_pool *pool) {
    struct pollfd waits[LOG_JOBS_MAX];
    const unsigned count = pool->jobs.processes;
    for (unsigned i = 0; i < count; i++) {
        const struct worker *worker = &pool->workers[i];
        waits[i] = (struct pollfd){.fd = worker->pair != SIZE_MAX ? worker->results : -1, .events = POLLIN};
    }
    if (poll(waits, count, -1) < 0) return errno == EINTR;
    for (unsigned i = 0; i < count; i++) {
        struct worker *worker = &pool->workers[i];
        if (waits[i].fd < 0 || waits[i].revents == 0) continue;
        struct pair *pair = &pool->pairs[worker->pair];
        if (!read_all(worker->results, &pair->result, sizeof pair->result)) {
            complain("a process of --jobs has ended before its log was read");
            return false;
        }
        pair->is_done = true;
        worker->pair = SIZE_MAX;
    }
    return true;
}

static bool open_pairs(struct log_pool *pool) {
    for (size_t i = 0; i < pool->pair_count; i++) {
        struct pair *pair = &pool->pairs[i];
        pair->out = temporary_open(temporary_folder("/var/tmp"));
        pair->messages = pair->out >= 0 ? temporary_open(temporary_folder("/var/tmp")) : -1;
        if (pair->messages < 0) return false;
    }
    return true;
}

static int run(struct log_pool *pool) {
    const unsigned processes = pool->jobs.processes;
    if (!open_pairs(pool)) return fail("temporary files");
    for (unsigned i = 0; i < processes; i++) {
        if (!start(pool, i)) return fail("a process for --jobs");
    }
    while (!pool->has_failed && pool->shown < pool->jobs.logs) {
        give_orders(pool);
        if (pool->has_failed || !take_results(pool)) return EXIT_FAILED;
        show_done(pool);
    }
    return pool->has_failed ? EXIT_FAILED : EXIT_ALL_WELL;
}

int log_jobs_run(const struct log_jobs *jobs, struct log_pool **made) {
    struct log_pool *pool = *made = calloc(1, sizeof *pool);
    if (pool != NULL) {
        pool->jobs = *jobs;
        pool->pair_count = (size_t)jobs->processes * PAIRS_OF_PROCESS;
        pool->workers = calloc(jobs->processes, sizeof *pool->workers);
        pool->pairs = calloc(pool->pair_count, sizeof *pool->pairs);
    }
    if (pool == NULL || pool->workers == NULL || pool->pairs == NULL) {
        complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
        return EXIT_FAILED;
    }
    for (unsigned i = 0; i < jobs->processes; i++) {
        pool->workers[i] = (struct worker){.pid = -1, .orders = -1, .results = -1, .pair = SIZE_MAX};
    }
    for (size_t i = 0; i < pool->pair_count; i++) pool->pairs[i].out = pool->pairs[i].messages = -1;
    fflush(stdout);
    return run(pool);
}

void log_jobs_end(struct log_pool *pool) {
    if (pool == NULL) return;
    const unsigned processes = pool->workers != NULL ? pool->jobs.processes : 0;
    /* Without more orders, each process ends. */
    for (unsigned i = 0; i < processes; i++) stop(&pool->workers[i]);
    for (unsigned i = 0; i < processes; i++) {
        while (pool->workers[i].pid > 0 && waitpid(pool->workers[i].pid, NULL, 0) < 0 && errno == EINTR) continue;
    }
    for (size_t i = 0; pool->pairs != NULL && i < pool->pair_count; i++) {
        struct pair *pair = &pool->pairs[i];
        /* A pair in use has the messages of a log that is not shown. */
        if (pair->messages >= 0 && !pair->is_used) {
            pair->result.said = 0;
            pair->result.said_end = lseek(pair->messages, 0, SEEK_END);
            (void)show_said(pool, pair);
        }
        if (pair->out >= 0) close(pair->out);
        if (pair->messages >= 0) close(pair->messages);
    }
    for (size_t i = 0; i < pool->said_count; i++) free(pool->said[i]);
    free(pool->said);
    free(pool->pairs);
    free(pool->workers);
    free(pool);
}
