/* SPDX-License-Identifier: MIT */
/* See proc.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/calls.h"
#include "lib/os/linux/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* USER_HZ, which the kernel's interface fixes at 100 on all processors that we know. */
#define NS_PER_TICK 10000000u

/* Flags in field 9 of /proc/PID/stat (Linux include/linux/sched.h). */
#define PF_KTHREAD   0x00200000u
#define PF_IO_WORKER 0x00000010u

/* ---- paths and small files ---- */

static char *put_text(char *at, const char *text) {
    size_t n = strlen(text);
    memcpy(at, text, n);
    return at + n;
}

static char *put_number(char *at, uint64_t value) {
    char digits[20];
    size_t n = 0;
    do digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    while (n > 0) *at++ = digits[--n];
    return at;
}

void uspi_proc_path(char path[USPI_PROC_PATH_MAX], int64_t pid, int64_t tid, const char *name) {
    char *at = put_text(path, "/proc/");
    at = pid == 0 ? put_text(at, "self") : put_number(at, (uint64_t)pid);
    if (tid != 0) {
        at = put_text(at, "/task/");
        at = put_number(at, (uint64_t)tid);
    }
    *at++ = '/';
    at = put_text(at, name);
    *at = '\0';
}

static int open_proc(int64_t pid, int64_t tid, const char *name, int flags) {
    char path[USPI_PROC_PATH_MAX];
    uspi_proc_path(path, pid, tid, name);
    return (int)uspi_linux->open(AT_FDCWD, path, flags);
}

/* Reads a whole small file and closes it. Returns as uspi_proc_read does. */
static long read_whole(int fd, char *to, size_t n) {
    to[0] = '\0';
    if (fd < 0) return fd;
    long got;
    /* The kernel returns such a file by one read if there is enough room. */
    do got = uspi_linux->read(fd, to, n - 1);
    while (got == -EINTR);
    uspi_linux->close(fd);
    to[got > 0 ? got : 0] = '\0';
    return got;
}

long uspi_proc_read(int64_t pid, int64_t tid, const char *name, char *to, size_t n) {
    return read_whole(open_proc(pid, tid, name, O_RDONLY), to, n);
}

/* ---- numbers in text ---- */

static bool take_number(const char **at, unsigned base, uint64_t *value) {
    const char *p = *at;
    uint64_t v = 0;
    for (;; p++) {
        unsigned digit;
        if (*p >= '0' && *p <= '9') {
            digit = (unsigned)(*p - '0');
        } else if (*p >= 'a' && *p <= 'f') {
            digit = (unsigned)(*p - 'a') + 10;
        } else {
            break;
        }
        if (digit >= base) break;
        v = v * base + digit;
    }
    if (p == *at) return false;
    *at = p;
    *value = v;
    return true;
}

static bool take_char(const char **at, char c) {
    if (**at != c) return false;
    ++*at;
    return true;
}

/* ---- stat and status ---- */

static bool parse_stat(const char *text, struct uspi_proc_stat *stat) {
    /* Field 2 is the name in parentheses, and may hold anything, parentheses too. */
    const char *name = strchr(text, '('), *at = strrchr(text, ')');
    if (name == NULL || at == NULL || at < name || at[1] != ' ' || at[2] == '\0') return false;
    size_t length = (size_t)(at - name - 1);
    if (length >= sizeof stat->name) length = sizeof stat->name - 1;
    memcpy(stat->name, name + 1, length);
    stat->state = at[2];
    at += 3;
    for (unsigned field = 4; field <= 32; field++) {
        uint64_t value;
        if (!take_char(&at, ' ')) return false;
        bool negative = take_char(&at, '-');
        if (!take_number(&at, 10, &value)) return false;
        if (negative) value = 0 - value;
        switch (field) {
        case 4: stat->parent = (int64_t)value; break;
        case 9:
            stat->is_kernel = (value & PF_KTHREAD) != 0;
            stat->is_io_worker = (value & PF_IO_WORKER) != 0;
            break;
        case 14:
        case 15: stat->cpu_ns += value * NS_PER_TICK; break;
        case 22: stat->start = value; break;
        /* Readers without permission get 0 or 1 instead of an address (fs/proc/array.c, do_task_stat). */
        case 28: stat->stack_top = value > 1 ? value : 0; break;
        case 31: stat->pending = value; break;
        case 32: stat->blocked = value; break;
        default: break;
        }
    }
    return true;
}

static int read_stat(int fd, struct uspi_proc_stat *stat) {
    char text[1024];
    memset(stat, 0, sizeof *stat);
    long n = read_whole(fd, text, sizeof text);
    if (n < 0) return (int)n;
    if (parse_stat(text, stat)) return 0;
    memset(stat, 0, sizeof *stat);
    return -EIO;
}

int uspi_proc_stat(int64_t pid, int64_t tid, struct uspi_proc_stat *stat) {
    return read_stat(open_proc(pid, tid, "stat", O_RDONLY), stat);
}

int uspi_proc_threads_stat(const struct uspi_proc_threads *list, pid_t tid, struct uspi_proc_stat *stat) {
    char path[USPI_PROC_PATH_MAX];
    char *at = put_number(path, (uint64_t)tid);
    at = put_text(at, "/stat");
    *at = '\0';
    return read_stat((int)uspi_linux->open(list->fd, path, O_RDONLY), stat);
}

int uspi_proc_run_time(int64_t pid, int64_t tid, uint64_t *ns) {
    char text[128];
    long n = uspi_proc_read(pid, tid, "schedstat", text, sizeof text);
    if (n < 0) return (int)n;
    const char *at = text;
    return take_number(&at, 10, ns) ? 0 : -EIO;
}

int uspi_proc_syscall(int64_t pid, int64_t tid, uint64_t *call, usp_addr *first) {
    char text[256];
    long n = uspi_proc_read(pid, tid, "syscall", text, sizeof text);
    if (n < 0) return (int)n;
    /* Format: "NUMBER 0xARGUMENT …", or other text for a thread in no system call (fs/proc/base.c,
     * proc_pid_syscall). */
    const char *at = text;
    if (!take_number(&at, 10, call)) return -EAGAIN;
    return take_char(&at, ' ') && take_char(&at, '0') && take_char(&at, 'x') && take_number(&at, 16, first) ? 0 : -EIO;
}

static bool take_address(const char **at, usp_addr *address) {
    return take_char(at, ' ') && take_char(at, '0') && take_char(at, 'x') && take_number(at, 16, address);
}

int uspi_proc_call(int64_t pid, int64_t tid, struct uspi_proc_call *call) {
    char text[256];
    uint64_t number;
    memset(call, 0, sizeof *call);
    long n = uspi_proc_read(pid, tid, "syscall", text, sizeof text);
    if (n < 0) return (int)n;
    const char *at = text;
    const bool is_outside = take_char(&at, '-');
    if (!take_number(&at, 10, &number)) return -EAGAIN;
    call->number = is_outside ? -1 : (int64_t)number;
    for (unsigned i = 0; !is_outside && i < 6; i++) {
        if (!take_address(&at, &call->arguments[i])) return -EIO;
    }
    return take_address(&at, &call->sp) && take_address(&at, &call->pc) ? 0 : -EIO;
}

int uspi_proc_position(int64_t pid, int64_t tid, usp_addr *sp, usp_addr *pc) {
    char text[256];
    long n = uspi_proc_read(pid, tid, "syscall", text, sizeof text);
    if (n < 0) return (int)n;
    /* The last two words: "NUMBER 0xARGUMENT … 0xSP 0xPC", or "-1 0xSP 0xPC" outside of calls. */
    const char *last = strrchr(text, ' '), *at = last;
    if (last == NULL) return -EAGAIN;
    while (at > text && at[-1] != ' ') at--;
    return take_char(&at, '0') && take_char(&at, 'x') && take_number(&at, 16, sp) && take_char(&at, ' ') &&
                   take_char(&at, '0') && take_char(&at, 'x') && take_number(&at, 16, pc)
               ? 0
               : -EIO;
}

/* Returns the text after "\nNAME:\t"; NULL when there is no such line. */
static const char *find_line(const char *text, const char *name) {
    size_t n = strlen(name);
    for (const char *line = text; line != NULL;) {
        if (strncmp(line, name, n) == 0 && line[n] == ':' && line[n + 1] == '\t') return line + n + 2;
        line = strchr(line, '\n');
        if (line != NULL) line++;
    }
    return NULL;
}

static bool status_number(const char *text, const char *name, unsigned base, uint64_t *value) {
    const char *at = find_line(text, name);
    return at != NULL && take_number(&at, base, value);
}

int uspi_proc_status(int64_t pid, int64_t tid, struct uspi_proc_status *status) {
    char text[4096];
    uint64_t process, tracer, uid;
    memset(status, 0, sizeof *status);
    long n = uspi_proc_read(pid, tid, "status", text, sizeof text);
    if (n < 0) return (int)n;
    const char *state = find_line(text, "State");
    if (state == NULL || !status_number(text, "Tgid", 10, &process) || !status_number(text, "TracerPid", 10, &tracer) ||
        !status_number(text, "Uid", 10, &uid)) {
        return -EIO;
    }
    status->state = *state;
    status->process = (int64_t)process;
    status->tracer = (int64_t)tracer;
    status->uid = (int64_t)uid;
    return 0;
}

/* ---- the threads of a process ---- */

/* struct linux_dirent64 (getdents64(2)): inode, offset, length of the entry, type, name. */
#define ENTRY_LENGTH 16
#define ENTRY_NAME   19

int uspi_proc_threads_open(struct uspi_proc_threads *list, int64_t pid, char *buffer, size_t size) {
    memset(list, 0, sizeof *list);
    list->fd = open_proc(pid, 0, "task", O_RDONLY | O_DIRECTORY);
    list->buffer = buffer;
    list->size = size;
    return list->fd < 0 ? list->fd : 0;
}

pid_t uspi_proc_threads_next(struct uspi_proc_threads *list) {
    for (;;) {
        if (list->at >= list->used) {
            long got = uspi_linux->list_directory(list->fd, list->buffer, list->size);
            list->at = 0;
            list->used = got > 0 ? (size_t)got : 0;
            list->error = got < 0 ? got : 0;
            if (got <= 0) return 0;
        }
        const char *entry = list->buffer + list->at;
        uint16_t length;
        memcpy(&length, entry + ENTRY_LENGTH, sizeof length);
        list->at += length;
        const char *name = entry + ENTRY_NAME;
        uint64_t tid;
        if (take_number(&name, 10, &tid) && *name == '\0' && tid > 0 && tid <= INT32_MAX) return (pid_t)tid;
    }
}

int uspi_proc_threads_rewind(struct uspi_proc_threads *list) {
    list->at = list->used = 0;
    list->error = 0;
    long r = uspi_linux->rewind(list->fd);
    return r < 0 ? (int)r : 0;
}

long uspi_proc_threads_count(const struct uspi_proc_threads *list) {
    /* A directory has two links besides those of its subdirectories, the threads. */
    long links = uspi_linux->count_links(list->fd);
    return links < 0 ? links : links - 2;
}

void uspi_proc_threads_close(struct uspi_proc_threads *list) {
    if (list->fd >= 0) uspi_linux->close(list->fd);
    list->fd = -1;
}

/* ---- memory ---- */

int uspi_proc_memory_open(int64_t pid, int *fd) {
    *fd = open_proc(pid, 0, "mem", O_RDONLY);
    return *fd < 0 ? *fd : 0;
}

int uspi_proc_pagemap_open(int64_t pid) { return open_proc(pid, 0, "pagemap", O_RDONLY); }

int uspi_proc_memory_read(void *context, usp_addr from, void *to, size_t n) {
    int fd = (int)(intptr_t)context;
    if (n == 0) return USP_OK;
    if (from > INT64_MAX) return USP_ERROR_UNREADABLE;
    return uspi_linux->pread(fd, to, n, from) == (long)n ? USP_OK : USP_ERROR_UNREADABLE;
}

/* ---- mappings ---- */

int uspi_proc_maps_open(struct uspi_proc_maps *maps, int64_t pid) {
    maps->error = 0;
    maps->used = maps->at = 0;
    maps->fd = open_proc(pid, 0, "maps", O_RDONLY);
    return maps->fd < 0 ? maps->fd : 0;
}

/* Returns the next line, NUL-terminated in the buffer; NULL at the end. */
static char *next_line(struct uspi_proc_maps *maps) {
    for (;;) {
        char *line = maps->buffer + maps->at;
        char *end = memchr(line, '\n', maps->used - maps->at);
        if (end != NULL) {
            *end = '\0';
            maps->at = (size_t)(end + 1 - maps->buffer);
            return line;
        }
        memmove(maps->buffer, line, maps->used - maps->at);
        maps->used -= maps->at;
        maps->at = 0;
        if (maps->used == sizeof maps->buffer) {
            maps->error = -EIO;
            return NULL;
        }
        long got = uspi_linux->read(maps->fd, maps->buffer + maps->used, sizeof maps->buffer - maps->used);
        if (got == -EINTR) continue;
        if (got <= 0) {
            maps->error = got;
            return NULL;
        }
        maps->used += (size_t)got;
    }
}

static void take_deleted(char *path, struct uspi_mapping *m) {
    static const char deleted[] = " (deleted)";
    const size_t n = strlen(path), suffix = sizeof deleted - 1;
    m->deleted = n > suffix && strcmp(path + n - suffix, deleted) == 0;
    if (m->deleted) path[n - suffix] = '\0';
    m->path = path;
}

static bool parse_mapping(char *line, struct uspi_mapping *m) {
    const char *at = line;
    uint64_t major, minor;
    if (!take_number(&at, 16, &m->low) || !take_char(&at, '-') || !take_number(&at, 16, &m->high) ||
        !take_char(&at, ' ') || strnlen(at, 5) < 5) {
        return false;
    }
    m->readable = at[0] == 'r';
    m->writable = at[1] == 'w';
    m->executable = at[2] == 'x';
    m->shared = at[3] == 's';
    at += 4;
    if (!take_char(&at, ' ') || !take_number(&at, 16, &m->offset) || !take_char(&at, ' ') ||
        !take_number(&at, 16, &major) || !take_char(&at, ':') || !take_number(&at, 16, &minor) ||
        !take_char(&at, ' ') || !take_number(&at, 10, &m->inode)) {
        return false;
    }
    while (*at == ' ') at++;
    take_deleted(line + (at - line), m);
    return true;
}

bool uspi_proc_maps_next(struct uspi_proc_maps *maps, struct uspi_mapping *mapping) {
    char *line = next_line(maps);
    if (line == NULL) return false;
    if (parse_mapping(line, mapping)) return true;
    maps->error = -EIO;
    return false;
}

long uspi_proc_maps_at(struct uspi_proc_maps *maps, usp_addr address, struct uspi_mapping *m) {
    struct uspi_mapping_query query = {
        .size = sizeof query,
        .query_flags = USPI_VMA_NEXT,
        .query_addr = address,
        .vma_name_size = sizeof maps->buffer,
        .vma_name_addr = (uintptr_t)maps->buffer,
    };
    const long e = uspi_linux->query_mapping(maps->fd, &query);
    if (e < 0) return e;
    maps->buffer[query.vma_name_size > 0 && query.vma_name_size < sizeof maps->buffer ? query.vma_name_size : 0] = '\0';
    *m = (struct uspi_mapping){
        .low = query.vma_start,
        .high = query.vma_end,
        .offset = query.vma_offset,
        .inode = query.inode,
        .readable = (query.vma_flags & USPI_VMA_READABLE) != 0,
        .writable = (query.vma_flags & USPI_VMA_WRITABLE) != 0,
        .executable = (query.vma_flags & USPI_VMA_EXECUTABLE) != 0,
        .shared = (query.vma_flags & USPI_VMA_SHARED) != 0,
    };
    take_deleted(maps->buffer, m);
    return 0;
}

void uspi_proc_maps_close(struct uspi_proc_maps *maps) {
    if (maps->fd >= 0) uspi_linux->close(maps->fd);
    maps->fd = -1;
}

#endif
