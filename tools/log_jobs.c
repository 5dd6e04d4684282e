/* SPDX-License-Identifier: MIT */
/* Implements log_jobs.h. The command gives each process the number of a log and a slot, and says whose turn it is. The
 * process whose log's turn it is writes to standard output itself; the output of the others stays in their slots, and
 * the command writes it when it is the log's turn. A slot has shared memory for the output, a temporary file for the
 * output that exceeds it, and a temporary file for the messages. There are more slots than processes, so that a long log
 * does not hold the others up. */
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
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS_OF_PROCESS 4
#define PIECE            ((size_t)128 << 10)
/* Shared memory: first the log whose turn it is, in a page of its own, then the memory of the slots. */
#define FIRST_SLOT ((size_t)4 << 10)
#define MEMORY     (FIRST_SLOT + ((size_t)16 << 20))

struct slot {
    char *memory;
    int out, messages; /* the temporary files */
    bool is_used, is_done;
    size_t log;
    struct log_result result;
};

struct worker {
    pid_t pid;
    int orders, results; /* descriptors; -1: closed */
    size_t slot;         /* the one in use; SIZE_MAX: it waits */
};

/* An order: which log, and into which slot. */
struct order {
    size_t log, slot;
};

struct log_pool {
    struct log_jobs jobs;
    struct worker *workers;
    struct slot *slots;
    atomic_size_t *turn;            /* the shared memory, which begins with the log whose turn it is; NULL: none */
    size_t room;                    /* bytes of it for each slot */
    size_t slot_count, next, shown; /* next: log to give out; shown: log whose turn it is */
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

/* Runs logs until there are no more orders. Its last messages go into the slot with its number, which is free then. */
static void work(const struct log_pool *pool, unsigned number, int orders, int results) {
    struct order order;
    char buffer[PIECE];
    while (read_all(orders, &order, sizeof order)) {
        const struct slot *slot = &pool->slots[order.slot];
        struct log_result result;
        memset(&result, 0, sizeof result);
        const int copy = dup(slot->out);
        struct log_standard out = {.file = copy >= 0 ? fdopen(copy, "w") : NULL,
                                   .memory = slot->memory,
                                   .room = pool->room,
                                   .turn = pool->turn,
                                   .log = order.log};
        if (out.file == NULL || dup2(slot->messages, STDERR_FILENO) < 0) _exit(EXIT_FAILED);
        setvbuf(out.file, buffer, _IOFBF, sizeof buffer);
        clearerr(stderr);
        pool->jobs.run(pool->jobs.context, order.log, &out, &result);
        log_standard_show(&out);
        const bool has_failed = ferror(out.file) != 0 || ferror(stderr) != 0;
        result.is_kept = fclose(out.file) == 0 && !has_failed;
        result.in_memory = out.used;
        if (!write_all(results, &result, sizeof result)) break;
    }
    dup2(pool->slots[number].messages, STDERR_FILENO);
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
    *worker = (struct worker){.pid = pid, .orders = orders[1], .results = results[0], .slot = SIZE_MAX};
    return true;
}

static void stop(struct worker *worker) {
    if (worker->orders >= 0) close(worker->orders);
    if (worker->results >= 0) close(worker->results);
    worker->orders = worker->results = -1;
    worker->slot = SIZE_MAX;
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

/* Copies a part of a file. `end` -1: up to its end. Returns false if it cannot be read. */
static bool copy_part(int from, off_t at, off_t end, FILE *to) {
    char piece[PIECE];
    while (end < 0 || at < end) {
        const size_t wanted = end < 0 || end - at > (off_t)sizeof piece ? sizeof piece : (size_t)(end - at);
        const ssize_t n = pread(from, piece, wanted, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n == 0;
        if (fwrite(piece, 1, (size_t)n, to) != (size_t)n) break;
        at += n;
    }
    return true;
}

/* Shows the messages about builds, each line once. */
static bool show_said(struct log_pool *pool, const struct slot *slot) {
    const off_t length = slot->result.said_end - slot->result.said;
    if (length <= 0) return true;
    char *text = malloc((size_t)length + 1);
    if (text == NULL) return false;
    ssize_t n = pread(slot->messages, text, (size_t)length, slot->result.said);
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

static bool empty(int fd) { return ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0; }

/* Shows a log. Complains of the temporary files. Returns false if any of it could not be shown; main reports errors of
 * standard output. Errors of standard error are ignored, as those of one process are. */
static bool show_log(struct log_pool *pool, const struct slot *slot) {
    const struct log_result *result = &slot->result;
    (void)fwrite(slot->memory, 1, result->in_memory, stdout);
    bool is_read = copy_part(slot->out, 0, -1, stdout);
    const bool is_written = fflush(stdout) == 0 && ferror(stdout) == 0;
    is_read = copy_part(slot->messages, 0, result->said, stderr) && is_read;
    is_read = show_said(pool, slot) && is_read;
    is_read = copy_part(slot->messages, result->said_end, -1, stderr) && is_read;
    if (!is_read || !empty(slot->out) || !empty(slot->messages)) {
        fail("temporary files");
        return false;
    }
    if (!result->is_kept) complain("temporary files could not be written; TMPDIR names another folder for them");
    return is_written && result->is_kept;
}

/* Shows the logs whose turn it is, and frees their slots. */
static void show_done(struct log_pool *pool) {
    for (size_t i = 0; i < pool->slot_count && !pool->has_failed;) {
        struct slot *slot = &pool->slots[i++];
        if (!slot->is_used || !slot->is_done || slot->log != pool->shown) continue;
        if (!show_log(pool, slot) || slot->result.status == EXIT_FAILED) pool->has_failed = true;
        pool->jobs.done(pool->jobs.context, slot->log, &slot->result);
        /* The messages of a slot that is free would appear again at the end. */
        slot->is_used = slot->is_done = pool->has_failed;
        pool->shown++;
        if (pool->turn != NULL && !pool->has_failed) atomic_store(pool->turn, pool->shown);
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

/* Gives waiting processes the next logs, while there are free slots. */
static void give_orders(struct log_pool *pool) {
    for (unsigned i = 0; i < pool->jobs.processes && pool->next < pool->jobs.logs; i++) {
        struct worker *worker = &pool->workers[i];
        if (worker->orders < 0 || worker->slot != SIZE_MAX) continue;
        size_t free_slot = 0;
        while (free_slot < pool->slot_count && pool->slots[free_slot].is_used) free_slot++;
        if (free_slot == pool->slot_count) return;
        const struct order order = {.log = pool->next, .slot = free_slot};
        if (!give(worker, &order)) {
            complain("a process of --jobs has ended early");
            pool->has_failed = true;
            return;
        }
        worker->slot = free_slot;
        pool->slots[free_slot].is_used = true;
        pool->slots[free_slot].is_done = false;
        pool->slots[free_slot].log = pool->next++;
    }
}

/* Complains that a process has ended before its log was read. */
static void complain_of_end(const struct log_pool *pool, struct worker *worker) {
    const char *log = pool->jobs.name(pool->jobs.context, pool->slots[worker->slot].log);
    int status = 0;
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) continue;
    worker->pid = -1;
    if (WIFSIGNALED(status)) {
        complain("%s: a signal has ended the process that read it: %s", log, strsignal(WTERMSIG(status)));
    } else {
        complain("%s: the process that read it has ended early", log);
    }
}

/* Waits for results. Complains. Returns false if a process has ended before its log. */
static bool take_results(struct log_pool *pool) {
    struct pollfd waits[LOG_JOBS_MAX];
    const unsigned count = pool->jobs.processes;
    for (unsigned i = 0; i < count; i++) {
        const struct worker *worker = &pool->workers[i];
        waits[i] = (struct pollfd){.fd = worker->slot != SIZE_MAX ? worker->results : -1, .events = POLLIN};
    }
    if (poll(waits, count, -1) < 0) return errno == EINTR;
    for (unsigned i = 0; i < count; i++) {
        struct worker *worker = &pool->workers[i];
        if (waits[i].fd < 0 || waits[i].revents == 0) continue;
        struct slot *slot = &pool->slots[worker->slot];
        if (!read_all(worker->results, &slot->result, sizeof slot->result)) {
            complain_of_end(pool, worker);
            return false;
        }
        slot->is_done = true;
        worker->slot = SIZE_MAX;
    }
    return true;
}

/* Opens the temporary files. Output goes to them alone if there is no memory to share. */
static bool open_slots(struct log_pool *pool) {
    void *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) {
        pool->turn = memory;
        atomic_init(pool->turn, 0);
        pool->room = (MEMORY - FIRST_SLOT) / pool->slot_count;
    }
    for (size_t i = 0; i < pool->slot_count; i++) {
        struct slot *slot = &pool->slots[i];
        slot->memory = pool->turn != NULL ? (char *)memory + FIRST_SLOT + i * pool->room : NULL;
        slot->out = temporary_open(temporary_folder("/var/tmp"));
        slot->messages = slot->out >= 0 ? temporary_open(temporary_folder("/var/tmp")) : -1;
        if (slot->messages < 0) return false;
    }
    return true;
}

static int run(struct log_pool *pool) {
    const unsigned processes = pool->jobs.processes;
    if (!open_slots(pool)) return fail("temporary files");
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
        pool->slot_count = (size_t)jobs->processes * SLOTS_OF_PROCESS;
        pool->workers = calloc(jobs->processes, sizeof *pool->workers);
        pool->slots = calloc(pool->slot_count, sizeof *pool->slots);
    }
    if (pool == NULL || pool->workers == NULL || pool->slots == NULL) {
        complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
        return EXIT_FAILED;
    }
    for (unsigned i = 0; i < jobs->processes; i++) {
        pool->workers[i] = (struct worker){.pid = -1, .orders = -1, .results = -1, .slot = SIZE_MAX};
    }
    for (size_t i = 0; i < pool->slot_count; i++) pool->slots[i].out = pool->slots[i].messages = -1;
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
    for (size_t i = 0; pool->slots != NULL && i < pool->slot_count; i++) {
        struct slot *slot = &pool->slots[i];
        /* A slot in use has the messages of a log that is not shown. */
        if (slot->messages >= 0 && !slot->is_used) {
            slot->result.said = 0;
            slot->result.said_end = lseek(slot->messages, 0, SEEK_END);
            (void)show_said(pool, slot);
        }
        if (slot->out >= 0) close(slot->out);
        if (slot->messages >= 0) close(slot->messages);
    }
    for (size_t i = 0; i < pool->said_count; i++) free(pool->said[i]);
    free(pool->said);
    if (pool->turn != NULL) munmap(pool->turn, MEMORY);
    free(pool->slots);
    free(pool->workers);
    free(pool);
}
