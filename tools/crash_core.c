/* SPDX-License-Identifier: MIT */
/* The child of `unspool crash-handler`: opens what needs rights, gives all rights up, and reads the core. While the
 * kernel waits, the process is still there: its memory is read instead of the rest of the core. */
#ifdef __linux__
#define _GNU_SOURCE 1
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "tools/command.h"
#include "tools/crash_handler.h"

#include <unspool/raw.h>
#include <unspool/snapshot.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The user and group that have no rights: the kernel's ids for users that it cannot show (overflowuid), "nobody". */
#define NO_RIGHTS 65534

/* How many threads get names. */
#define NAMES_MAX 65536u

struct thread_name {
    uint64_t id; /* as the process sees it */
    char name[64];
};

struct process {
    int memory; /* descriptor of /proc/PID/mem; -1: none */
    int root;   /* descriptor of /proc/PID/root; -1: none */
    char root_path[32];
    struct thread_name *names; /* by id */
    size_t name_count, name_capacity;
};

/* ---- the process ---- */

static int open_folder(int64_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRId64, pid);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Reads a small file. Returns whether it could be read. */
static bool read_text(int folder, const char *path, char *text, size_t size) {
    const int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    if (file < 0) return false;
    for (ssize_t got = 1; got > 0 && used + 1 < size; used += got > 0 ? (size_t)got : 0) {
        got = read(file, text + used, size - 1 - used);
    }
    close(file);
    text[used] = '\0';
    return used > 0;
}

/* Returns the last number of a line: of "NSpid", the id in the process's own pid namespace. */
static uint64_t last_number(const char *line) {
    uint64_t number = 0;
    for (; *line != '\n' && *line != '\0'; line++) {
        if (*line >= '0' && *line <= '9') {
            number = number * 10 + (uint64_t)(*line - '0');
        } else if (line[1] >= '0' && line[1] <= '9') {
            number = 0;
        }
    }
    return number;
}

/* Returns the last number of the line of /proc/PID/status that begins with a key; 0: there is none. Another line may be
 * long: a process can have 65,536 groups. */
static uint64_t read_status(int folder, const char *path, const char *key) {
    const int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    FILE *status = file >= 0 ? fdopen(file, "r") : NULL;
    char *line = NULL;
    size_t size = 0;
    uint64_t number = 0;
    if (status == NULL && file >= 0) close(file);
    while (status != NULL && getline(&line, &size, status) >= 0) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        number = last_number(line + strlen(key));
        break;
    }
    free(line);
    if (status != NULL) fclose(status);
    return number;
}

/* Whether the kernel is writing the core of a process (Linux 4.15). A process id that was given by mistake belongs to
 * another process, whose memory must not be taken for this one's. */
static bool is_dumping(int process) { return read_status(process, "status", "CoreDumping:") == 1; }

static void add_name(struct process *p, int folder, const char *thread) {
    char path[300], name[64];
    snprintf(path, sizeof path, "%s/status", thread);
    const uint64_t id = read_status(folder, path, "NSpid:");
    snprintf(path, sizeof path, "%s/comm", thread);
    if (id == 0 || !read_text(folder, path, name, sizeof name)) return;
    name[strcspn(name, "\n")] = '\0';
    if (p->name_count == p->name_capacity) {
        const size_t capacity = p->name_capacity == 0 ? 64 : 2 * p->name_capacity;
        struct thread_name *grown = capacity <= NAMES_MAX ? realloc(p->names, capacity * sizeof *grown) : NULL;
        if (grown == NULL) return;
        p->names = grown;
        p->name_capacity = capacity;
    }
    struct thread_name *added = &p->names[p->name_count++];
    added->id = id;
    snprintf(added->name, sizeof added->name, "%s", name);
}

static int by_id(const void *a, const void *b) {
    const struct thread_name *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static void read_names(struct process *p, int process) {
    const int folder = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *threads = folder >= 0 ? fdopendir(folder) : NULL;
    if (threads == NULL) return;
    for (const struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        if (entry->d_name[0] != '.') add_name(p, folder, entry->d_name);
    }
    closedir(threads);
    if (p->name_count > 1) qsort(p->names, p->name_count, sizeof *p->names, by_id);
}

/* Opens what needs rights. The folder stays that of one process, which may end and leave its id to another. */
static void open_process(struct process *p, int64_t pid) {
    *p = (struct process){.memory = -1, .root = -1};
    if (pid == 0) return;
    const int process = open_folder(pid);
    if (process < 0 || !is_dumping(process)) {
        complain("crash-handler: process %" PRId64 " is not being dumped; only its core is read", pid);
    } else {
        read_names(p, process);
        p->memory = openat(process, "mem", O_RDONLY | O_CLOEXEC);
        p->root = openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    /* Below the root of another process, links do not lead out of it (openat2, RESOLVE_IN_ROOT). */
    if (p->root >= 0) snprintf(p->root_path, sizeof p->root_path, "/proc/self/fd/%d", p->root);
    if (process >= 0) close(process);
}

/* ---- rights ---- */

/* Gives up root's rights. What is read from here on comes from the process. */
static bool give_up_rights(void) {
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const bool is_root = geteuid() == 0;
    if (is_root && (setgroups(0, NULL) != 0 || setresgid(NO_RIGHTS, NO_RIGHTS, NO_RIGHTS) != 0 ||
                    setresuid(NO_RIGHTS, NO_RIGHTS, NO_RIGHTS) != 0)) {
        complain("crash-handler: root's rights cannot be given up: %s; the core is not read", strerror(errno));
        return false;
    }
    /* With another user the kernel sets this to fs.suid_dumpable, with which "nobody" may trace this process. */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* The end of the parent is announced only to a child that had its user then. */
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 || !is_root;
}

/* ---- the core ---- */

static int64_t read_core(void *context, void *to, size_t n) {
    ssize_t got;
    (void)context;
    do {
        got = read(STDIN_FILENO, to, n);
    } while (got < 0 && errno == EINTR);
    return got >= 0 ? (int64_t)got : USP_ERROR_SYSTEM;
}

static int read_memory(void *context, usp_addr from, void *to, size_t n) {
    const struct process *p = context;
    uint8_t *next = to;
    while (n > 0) {
        const ssize_t got = pread(p->memory, next, n, (off_t)from);
        if (got <= 0) return USP_ERROR_UNREADABLE;
        next += got;
        from += (usp_addr)got;
        n -= (size_t)got;
    }
    return USP_OK;
}

static void name_thread(void *context, struct usp_thread_info *info) {
    const struct process *p = context;
    const struct thread_name wanted = {.id = info->thread.id};
    const struct thread_name *found =
        p->name_count > 0 ? bsearch(&wanted, p->names, p->name_count, sizeof *p->names, by_id) : NULL;
    if (found != NULL) memcpy(info->name, found->name, sizeof info->name);
}

static int write_report(const struct crash_handling *handling, struct process *p, int to) {
    struct usp_snapshot_options wanted;
    struct usp_core_stream stream;
    struct usp_raw_capture raw;
    struct usp_snapshot *snapshot;
    char error[1024];
    usp_snapshot_options_init(&wanted);
    wanted.unwind.tail = 64;
    wanted.sysroot = p->root >= 0 ? p->root_path : handling->sysroot;
    usp_core_stream_init(&stream);
    stream.read = read_core;
    stream.context = p;
    stream.below_sysroot = p->root >= 0;
    if (p->memory >= 0) stream.memory = (struct usp_memory){read_memory, p};
    stream.describe = name_thread;
    stream.time = handling->time;
    if (usp_snapshot_read_core(&stream, &wanted, &snapshot, error, sizeof error) != USP_OK) {
        complain("crash-handler: %s", error);
        return EXIT_NO_TARGET;
    }
    usp_raw_capture_init(&raw);
    raw.snapshot = snapshot;
    /* The end of the process frees all memory. */
    return usp_raw_write(to, &raw) == USP_OK ? EXIT_ALL_WELL : EXIT_FAILED;
}

int crash_core_write(const struct crash_handling *handling, int to) {
    struct process process;
    open_process(&process, handling->pid);
    return give_up_rights() ? write_report(handling, &process, to) : EXIT_FAILED;
}

#else
typedef int tools_crash_core_is_for_linux;
#endif
