/* SPDX-License-Identifier: MIT */
/* The files of a directory of reports. RUN is the time of a run's start in hexadecimal, and its process:
 *
 *     RUN.run        the run, as text: what a later start compares
 *     RUN-N.open     a report that is not whole, or was never begun
 *     RUN-N.raw      a report; RUN-N.sent.raw: one that was sent
 *
 * All are small, and every part is checked: a damaged file never keeps a program from starting. Links, and files of users
 * other than the caller, the directory's owner and root, are not read.
 *
 * Several processes may use a directory. Each has its own files, and changes those of others only while it has the
 * directory locked. A crash takes no lock: it only renames its own report. A run is the business of its program alone:
 * only a process of the same program says how it ended and removes its file. */
#include "lib/crash/kit.h"

#include "lib/base/array.h"
#include "lib/object/bytes.h"
#include "lib/os/run_lock.h"

#include <inttypes.h>
#include <stdio.h>

#define RUN_ROOM 1024u

/* ---- one run's file ---- */

static bool join(char path[USPI_CRASH_PATH + USPI_CRASH_NAME], const char *directory, const char *name,
                 const char *ending) {
    const size_t size = USPI_CRASH_PATH + USPI_CRASH_NAME;
    return (size_t)snprintf(path, size, "%s/%s%s", directory, name, ending) < size;
}

int uspi_crash_write_run(const char *directory, const struct uspi_crash_run_file *run) {
    char path[USPI_CRASH_PATH + USPI_CRASH_NAME], text[RUN_ROOM];
    if (!join(path, directory, run->name, ".run")) return USP_ERROR_ARGUMENT;
    int n = snprintf(text, sizeof text,
                     "unspool run 1\npid %" PRId64 "\nstart %" PRIu64 "\nstarted %" PRIu64 "\ncrashes %" PRIu32
                     "\nboot %s\nversion %s\nprogram %s\n",
                     run->facts.pid, run->facts.start, run->started, run->crashes, run->facts.boot, run->version,
                     run->program);
    size_t used = (size_t)n;
    if (run->facts.has_oom_kills) {
        used += (size_t)snprintf(text + used, sizeof text - used, "oom %" PRIu64 "\n", run->facts.oom_kills);
    }
    if (run->ended != 0 || run->has_ended) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %" PRIu64 "\n",
                                 run->has_ended ? "ended" : "crashed", run->ended);
    }
    if (run->has_report) used += (size_t)snprintf(text + used, sizeof text - used, "report %s\n", run->report);
    return uspi_os_publish(path, strlen(directory), 0600, text, used, NULL);
}

void uspi_crash_remove_run(const char *directory, const char *name) {
    char path[USPI_CRASH_PATH + USPI_CRASH_NAME];
    if (join(path, directory, name, ".run")) (void)uspi_os_remove_file(path);
}

/* Returns the number at the beginning of a text, modulo 2^64. */
static uint64_t number_in(const char *text, unsigned base) {
    static const char digits[] = "0123456789abcdef";
    uint64_t number = 0;
    for (const char *digit; *text != '\0' && (digit = strchr(digits, *text)) != NULL; text++) {
        if ((unsigned)(digit - digits) >= base) break;
        number = number * base + (unsigned)(digit - digits);
    }
    return number;
}

/* Takes the line "KEY VALUE" of a run's file. */
static void take_line(struct uspi_crash_run_file *run, const char *line) {
    const char *value = strchr(line, ' ');
    if (value == NULL) return;
    const size_t key = (size_t)(value++ - line);
    const uint64_t number = number_in(value, 10);
    const struct {
        const char *name;
        uint64_t *to;
    } numbers[] = {{"start", &run->facts.start},
                   {"started", &run->started},
                   {"ended", &run->ended},
                   {"crashed", &run->ended},
                   {"oom", &run->facts.oom_kills}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strlen(numbers[i].name) == key && strncmp(line, numbers[i].name, key) == 0) *numbers[i].to = number;
    }
    if (strncmp(line, "pid ", 4) == 0) run->facts.pid = (int64_t)number;
    if (strncmp(line, "crashes ", 8) == 0) run->crashes = (uint32_t)number;
    if (strncmp(line, "oom ", 4) == 0) run->facts.has_oom_kills = true;
    if (strncmp(line, "ended ", 6) == 0) run->has_ended = true;
    if (strncmp(line, "boot ", 5) == 0) snprintf(run->facts.boot, sizeof run->facts.boot, "%s", value);
    if (strncmp(line, "version ", 8) == 0) snprintf(run->version, sizeof run->version, "%s", value);
    if (strncmp(line, "program ", 8) == 0) snprintf(run->program, sizeof run->program, "%s", value);
    if (strncmp(line, "report ", 7) == 0) {
        run->has_report = true;
        snprintf(run->report, sizeof run->report, "%s", value);
    }
}

/* Reads up to n bytes of a file of the directory. Returns how many; -1: it cannot be read, is a link, or belongs to a
 * user other than the caller, the directory's owner and root. */
static long read_file(const char *directory, const char *name, const char *ending, void *to, size_t n, uint64_t *size) {
    char file_name[2 * USPI_CRASH_NAME];
    struct uspi_os_file file;
    if (strlen(name) >= USPI_CRASH_NAME) return -1;
    snprintf(file_name, sizeof file_name, "%s%s", name, ending);
    if (uspi_os_trusted_file(directory, file_name, &file) != USP_OK) return -1;
    if (size != NULL) *size = file.size;
    if (n > file.size) n = (size_t)file.size;
    const int status = uspi_os_file_read(&file, 0, to, n);
    uspi_os_file_close(&file);
    return status == USP_OK ? (long)n : -1;
}

bool uspi_crash_has_run(const char *directory, const char *name) {
    char begin[1];
    return read_file(directory, name, ".run", begin, 1, NULL) >= 0;
}

static bool read_run(const char *directory, const char *name, struct uspi_crash_run_file *run) {
    char text[RUN_ROOM], *next;
    memset(run, 0, sizeof *run);
    const long n = read_file(directory, name, ".run", text, sizeof text - 1, NULL);
    if (n < 0) return false;
    text[n] = '\0';
    if (strncmp(text, "unspool run 1\n", 14) != 0) return false;
    snprintf(run->name, sizeof run->name, "%s", name);
    for (char *line = text; *line != '\0'; line = next) {
        next = line + strcspn(line, "\n");
        if (*next == '\n') *next++ = '\0';
        take_line(run, line);
    }
    return true;
}

/* ---- the directory ---- */

enum kind { KIND_RUN, KIND_OPEN, KIND_REPORT, KIND_SENT };

static const char *const endings[] = {".run", ".open", ".raw", ".sent.raw"};

struct entry {
    char name[USPI_CRASH_NAME]; /* without its ending */
    enum kind kind;
};

struct listing {
    struct entry *entries;
    size_t count, capacity;
    bool has_failed;
};

static bool has_ending(const char *name, size_t length, const char *ending) {
    const size_t n = strlen(ending);
    return length > n && strcmp(name + length - n, ending) == 0;
}

static bool add_entry(void *context, const char *name) {
    struct listing *l = context;
    const size_t length = strlen(name);
    /* ".sent.raw" comes before ".raw", which it ends with. */
    for (unsigned k = sizeof endings / sizeof *endings; k-- > 0;) {
        if (!has_ending(name, length, endings[k])) continue;
        const size_t stem = length - strlen(endings[k]);
        /* Our names begin with the hexadecimal time. */
        if (stem >= USPI_CRASH_NAME || strspn(name, "0123456789abcdefx-") < stem) return true;
        struct entry *grown = uspi_array_reserve(l->entries, &l->capacity, l->count + 1, sizeof *grown);
        l->has_failed = grown == NULL;
        if (grown == NULL) return false;
        l->entries = grown;
        memcpy(grown[l->count].name, name, stem);
        grown[l->count].name[stem] = '\0';
        grown[l->count++].kind = (enum kind)k;
        return true;
    }
    return true;
}

static int by_name(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->kind > y->kind) - (x->kind < y->kind);
}

/* Lists the directory, the oldest run first. */
static int list(const char *directory, struct listing *l) {
    memset(l, 0, sizeof *l);
    int status = uspi_os_list_folder(directory, add_entry, l);
    if (l->has_failed) status = USP_ERROR_NO_MEMORY;
    if (status == USP_ERROR_NOT_FOUND) status = USP_OK;
    if (status == USP_OK && l->count > 1) qsort(l->entries, l->count, sizeof *l->entries, by_name);
    return status;
}

static bool is_of_run(const struct entry *entry, const char *run) {
    const size_t n = strlen(run);
    return entry->kind != KIND_RUN && strncmp(entry->name, run, n) == 0 && entry->name[n] == '-';
}

static void remove_entry(const char *directory, const struct entry *entry) {
    char path[USPI_CRASH_PATH + USPI_CRASH_NAME];
    if (join(path, directory, entry->name, endings[entry->kind])) (void)uspi_os_remove_file(path);
}

/* Offset of the time in the record of a report's process. */
#define TIME_AT 48u

/* Finds a report by its name: whether it is sent. Returns false if there is none. */
static bool find_kind(const char *directory, const char *name, enum kind *kind) {
    uint8_t begin[1];
    for (*kind = KIND_REPORT; *kind <= KIND_SENT; (*kind)++) {
        if (read_file(directory, name, endings[*kind], begin, 1, NULL) >= 0) return true;
    }
    return false;
}

/* Takes a report that a process was writing when it was killed: whatever is whole of it can be read. Where the folder
 * cannot be changed, it stays as it is. Returns whether there is one. */
static bool rescue(const char *directory, struct entry *entry) {
    char from[USPI_CRASH_PATH + USPI_CRASH_NAME], to[USPI_CRASH_PATH + USPI_CRASH_NAME];
    uint8_t begin[USPI_RAW_HEADER_SIZE];
    enum kind kind;
    const long n = read_file(directory, entry->name, ".open", begin, sizeof begin, NULL);
    const bool is_begun = n == (long)sizeof begin && memcmp(begin, USPI_RAW_MAGIC, USPI_RAW_MAGIC_SIZE) == 0;
    if (!is_begun) {
        remove_entry(directory, entry);
    } else if (join(from, directory, entry->name, ".open") && join(to, directory, entry->name, ".raw")) {
        (void)uspi_os_rename_file(from, to);
    }
    /* The process may have ended its report itself since the directory was listed. */
    const bool is_report = find_kind(directory, entry->name, &kind);
    if (is_report) entry->kind = kind;
    return is_begun || is_report;
}

/* Notes in a run's file that it crashed: the report may be deleted later. Other users' files are not its reports. */
static void note_crash(const char *directory, struct uspi_crash_run_file *run, const struct entry *report) {
    uint8_t begin[TIME_AT + 8];
    const long n = read_file(directory, report->name, endings[report->kind], begin, sizeof begin, NULL);
    if (n < 0) return;
    run->has_report = true;
    run->has_ended = false;
    snprintf(run->report, sizeof run->report, "%s", report->name);
    if (n == (long)sizeof begin) run->ended = uspi_le64(begin + TIME_AT);
    (void)uspi_crash_write_run(directory, run);
}

/* Returns the next report of a run, of those from entry *at on; NULL: there is none. The entries of a run follow each
 * other. */
static struct entry *next_of_run(struct listing *l, const char *run, size_t *at) {
    const size_t length = strlen(run);
    while (*at < l->count && strncmp(l->entries[*at].name, run, length) == 0) {
        struct entry *entry = &l->entries[(*at)++];
        if (is_of_run(entry, run)) return entry;
    }
    return NULL;
}

/* Settles the files of a run that has ended. first: its first entry. */
static void settle_run(const char *directory, struct uspi_crash_run_file *run, struct listing *l, size_t first) {
    struct entry *entry;
    while ((entry = next_of_run(l, run->name, &first)) != NULL) {
        const bool is_report = entry->kind != KIND_OPEN || rescue(directory, entry);
        if (is_report && !run->has_report) note_crash(directory, run, entry);
    }
}

/* Whether another process has the file locked. A file of this process's run must not be asked about: that ends the
 * lock. */
static bool is_locked(const char *directory, const struct entry *entry) {
    char path[USPI_CRASH_PATH + USPI_CRASH_NAME];
    return entry->kind == KIND_OPEN && join(path, directory, entry->name, ".open") && uspi_os_run_has_lock(path);
}

/* Whether another process has a file of the run locked. first: the run's first entry. */
static bool has_locked(const char *directory, const char *run, struct listing *l, size_t first) {
    const struct entry *entry;
    while ((entry = next_of_run(l, run, &first)) != NULL) {
        if (is_locked(directory, entry)) return true;
    }
    return false;
}

/* Whether a run may still write. A run with this process's id was before an exec, or in another pid namespace: there it
 * goes on while it has its file locked. */
static bool is_alive(const char *directory, const struct uspi_crash_run_file *run, const char *own, struct listing *l,
                     size_t first) {
    if (strcmp(run->name, own) == 0) return true;
    if (run->has_report) return false;
    /* A run that has noted its end may crash later, and then has a file again. */
    if (!run->has_ended && run->facts.pid != uspi_os_process_id() && uspi_os_run_lives(&run->facts)) return true;
    return has_locked(directory, run->name, l, first);
}

/* Settles unfinished reports whose run has no file, or a damaged one. */
static void settle_rest(const char *directory, const char *own, struct listing *l) {
    struct uspi_crash_run_file run;
    char name[USPI_CRASH_NAME];
    for (size_t i = 0; i < l->count; i++) {
        struct entry *entry = &l->entries[i];
        if (entry->kind != KIND_OPEN) continue;
        snprintf(name, sizeof name, "%s", entry->name);
        char *number = strrchr(name, '-');
        if (number != NULL) *number = '\0';
        /* A run that has begun since has its file before the report's. */
        if (strcmp(name, own) == 0 || read_run(directory, name, &run) || is_locked(directory, entry)) continue;
        (void)rescue(directory, entry);
    }
}

/* Deletes the oldest reports, sent ones first, until the others keep the limits. */
static void keep_limits(const char *directory, const struct listing *l, uint32_t max_reports, uint64_t max_bytes) {
    uint64_t bytes = 0, size;
    uint32_t count = 0;
    char begin[1];
    for (size_t i = 0; i < l->count; i++) {
        if (l->entries[i].kind < KIND_REPORT) continue;
        if (read_file(directory, l->entries[i].name, endings[l->entries[i].kind], begin, 1, &size) < 0) continue;
        bytes += size;
        count++;
    }
    for (int kind = KIND_SENT; kind >= KIND_REPORT; kind--) {
        for (size_t i = 0; i < l->count && (count > max_reports || bytes > max_bytes); i++) {
            const struct entry *entry = &l->entries[i];
            if (entry->kind != (enum kind)kind) continue;
            if (read_file(directory, entry->name, endings[kind], begin, 1, &size) < 0) continue;
            remove_entry(directory, entry);
            bytes -= size < bytes ? size : bytes;
            count--;
        }
    }
}

/* Of a run whose file is damaged, its name and its reports say what is known. */
static void begin_damaged(struct uspi_crash_run_file *run, const char *name) {
    const char *pid = strrchr(name, '-');
    memset(run, 0, sizeof *run);
    snprintf(run->name, sizeof run->name, "%s", name);
    run->started = number_in(name + strspn(name, "0x"), 16);
    if (pid != NULL) run->facts.pid = (int64_t)number_in(pid + 1, 10);
}

/* Whether a run is of this program. Of a damaged file, and of one that an earlier version of the library has written,
 * that is not known: then it is. */
static bool is_of_program(const struct uspi_crash_run_file *run, const char *program) {
    return run->program[0] == '\0' || program[0] == '\0' || strcmp(run->program, program) == 0;
}

int uspi_crash_settle(const char *directory, const char *own, uint32_t max_reports, uint64_t max_bytes,
                      struct uspi_crash_run_file *last) {
    struct listing l;
    struct uspi_crash_run_file run;
    struct uspi_os_run now;
    char program[USPI_CRASH_PROGRAM];
    bool has_last = false;
    (void)uspi_os_run_describe(&now);
    uspi_crash_find_program(&now);
    uspi_crash_name_program(program, now.program);
    int status = list(directory, &l);
    memset(last, 0, sizeof *last);
    for (size_t i = l.count; i-- > 0 && status == USP_OK;) {
        if (l.entries[i].kind != KIND_RUN) continue;
        const bool is_whole = read_run(directory, l.entries[i].name, &run);
        if (!is_whole) begin_damaged(&run, l.entries[i].name);
        if (is_alive(directory, &run, own, &l, i)) continue;
        settle_run(directory, &run, &l, i);
        if (!is_of_program(&run, program)) continue;
        if ((is_whole || run.has_report) && !has_last) {
            has_last = true;
            *last = run;
        } else {
            remove_entry(directory, &l.entries[i]);
        }
    }
    if (status == USP_OK) settle_rest(directory, own, &l);
    if (status == USP_OK && max_reports != 0) keep_limits(directory, &l, max_reports, max_bytes);
    free(l.entries);
    return status != USP_OK ? status : has_last ? USP_OK : USP_ERROR_NOT_FOUND;
}

/* ---- reports ---- */

int usp_crash_list(const char *directory, struct usp_crash_report *reports, size_t capacity, size_t *count) {
    struct listing l = {.count = 0};
    struct uspi_crash_run_file last;
    uint8_t begin[1];
    if (directory == NULL || count == NULL || (reports == NULL && capacity != 0)) return USP_ERROR_ARGUMENT;
    *count = 0;
    const struct uspi_crash_kit *kit = uspi_os_crash_context();
    const int lock = uspi_os_lock_old_folder(directory);
    int status = uspi_crash_settle(directory, kit != NULL ? kit->run : "", 0, 0, &last);
    if (status == USP_OK || status == USP_ERROR_NOT_FOUND) status = list(directory, &l);
    uspi_os_unlock_folder(lock);
    for (size_t i = l.count; i-- > 0 && status == USP_OK;) {
        const struct entry *entry = &l.entries[i];
        uint64_t size;
        if (entry->kind < KIND_REPORT) continue;
        if (read_file(directory, entry->name, endings[entry->kind], begin, 1, &size) < 0) continue;
        const size_t at = (*count)++;
        if (at >= capacity) continue;
        memset(&reports[at], 0, sizeof reports[at]);
        snprintf(reports[at].name, sizeof reports[at].name, "%s", entry->name);
        reports[at].started = number_in(entry->name + strspn(entry->name, "0x"), 16);
        reports[at].bytes = size;
        reports[at].is_sent = entry->kind == KIND_SENT;
    }
    free(l.entries);
    if (status != USP_OK) return status;
    return *count > capacity && reports != NULL ? USP_ERROR_FULL : USP_OK;
}

/* Finds a report's path. The name is one that usp_crash_list gave, so it leads to no other folder. */
static int find_report(const char *directory, const char *name, char path[USPI_CRASH_PATH + USPI_CRASH_NAME],
                       enum kind *kind) {
    if (directory == NULL || name == NULL) return USP_ERROR_ARGUMENT;
    if (name[strspn(name, "0123456789abcdefx-")] != '\0' || name[0] == '\0') return USP_ERROR_ARGUMENT;
    if (!find_kind(directory, name, kind)) return USP_ERROR_NOT_FOUND;
    return join(path, directory, name, endings[*kind]) ? USP_OK : USP_ERROR_ARGUMENT;
}

bool uspi_crash_has_report(const char *directory, const char *name) {
    char path[USPI_CRASH_PATH + USPI_CRASH_NAME];
    enum kind kind;
    return find_report(directory, name, path, &kind) == USP_OK;
}

int usp_crash_open(const char *directory, const char *name, struct usp_snapshot **snapshot, char *error,
                   size_t error_size) {
    char path[USPI_CRASH_PATH + USPI_CRASH_NAME];
    enum kind kind;
    if (error != NULL && error_size > 0) error[0] = '\0';
    if (snapshot == NULL) return USP_ERROR_ARGUMENT;
    *snapshot = NULL;
    const int status = find_report(directory, name, path, &kind);
    return status == USP_OK ? usp_snapshot_open_raw(path, NULL, snapshot, error, error_size) : status;
}

int usp_crash_mark_sent(const char *directory, const char *name) {
    char path[USPI_CRASH_PATH + USPI_CRASH_NAME], to[USPI_CRASH_PATH + USPI_CRASH_NAME];
    enum kind kind;
    const int status = find_report(directory, name, path, &kind);
    if (status != USP_OK || kind == KIND_SENT) return status;
    return join(to, directory, name, endings[KIND_SENT]) ? uspi_os_rename_file(path, to) : USP_ERROR_ARGUMENT;
}

int usp_crash_delete(const char *directory, const char *name) {
    char path[USPI_CRASH_PATH + USPI_CRASH_NAME];
    enum kind kind;
    const int status = find_report(directory, name, path, &kind);
    return status == USP_OK ? uspi_os_remove_file(path) : status;
}

int usp_crash_trim(const char *directory, uint32_t max_reports, uint64_t max_bytes) {
    struct uspi_crash_run_file last;
    const struct uspi_crash_kit *kit = uspi_os_crash_context();
    if (directory == NULL || max_reports == 0 || max_bytes == 0) return USP_ERROR_ARGUMENT;
    const int lock = uspi_os_lock_old_folder(directory);
    const int status = uspi_crash_settle(directory, kit != NULL ? kit->run : "", max_reports, max_bytes, &last);
    uspi_os_unlock_folder(lock);
    return status == USP_ERROR_NOT_FOUND ? USP_OK : status;
}
