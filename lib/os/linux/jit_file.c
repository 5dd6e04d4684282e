/* SPDX-License-Identifier: MIT */
/* Implements uspi_os_jit_file_of (os.h): opens files of a live process as the process sees them, through
 * /proc/PID/root. A process in a container has another /tmp, and another id in there. No symbolic link is followed: the
 * process's files can be anything, and a link could lead to a file of ours. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/base/path.h"
#include "lib/os/linux/in_root.h"
#include "lib/os/linux/proc.h"
#include "lib/os/posix/jit_file.h"

#include <inttypes.h>
#include <stdio.h>

/* The process, as /proc/PID/status describes it. */
struct person {
    int64_t user, effective_user;
    int64_t own_id; /* in the innermost namespace: the id that the process has for itself */
};

/* Reads the numbers after `name`, each preceded by a tab. Stores up to `capacity` of them, and returns how many there
 * are. */
static unsigned take_numbers(const char *text, const char *name, int64_t *numbers, unsigned capacity) {
    const char *line = strstr(text, name);
    unsigned count = 0;
    if (line == NULL) return 0;
    for (line += strlen(name); *line == '\t'; count++) {
        char *end;
        const long long number = strtoll(line, &end, 10);
        if (end == line) break;
        if (count < capacity) numbers[count] = number;
        line = end;
    }
    return count;
}

/* Maximum number of nested namespaces: MAX_PID_NS_LEVEL of Linux include/linux/pid_namespace.h, plus one. */
#define NAMESPACES 33u

static bool describe(int64_t pid, struct person *person) {
    char text[4096];
    int64_t users[4], ids[NAMESPACES];
    if (uspi_proc_read(pid, 0, "status", text, sizeof text) <= 0) return false;
    /* Linux writes NSpid since 4.1; without it the process has one id. */
    const unsigned count = take_numbers(text, "\nNSpid:", ids, NAMESPACES);
    if (take_numbers(text, "\nUid:", users, 4) != 4 || count > NAMESPACES) return false;
    *person = (struct person){users[0], users[1], count > 0 ? ids[count - 1] : pid != 0 ? pid : uspi_os_process_id()};
    return true;
}

/* Finds the mapped file with a jitdump's name, and gives its path. Returns false when there is none. */
static bool find_dump(int64_t pid, const char *name, char path[USPI_PROC_LINE_MAX]) {
    struct uspi_proc_maps maps;
    struct uspi_mapping mapping;
    bool is_found = false;
    if (uspi_proc_maps_open(&maps, pid) < 0) return false;
    while (!is_found && uspi_proc_maps_next(&maps, &mapping)) {
        is_found = mapping.inode != 0 && !mapping.deleted && mapping.path[0] == '/' &&
                   strcmp(uspi_last_component(mapping.path), name) == 0;
        if (is_found) snprintf(path, USPI_PROC_LINE_MAX, "%s", mapping.path);
    }
    uspi_proc_maps_close(&maps);
    return is_found;
}

int uspi_os_jit_file_of(int64_t pid, enum uspi_jit_file which, struct uspi_os_file *file, int64_t *named) {
    char path[USPI_PROC_LINE_MAX], name[48];
    struct person person;
    *file = (struct uspi_os_file){.descriptor = -1};
    if (!describe(pid, &person)) return USP_ERROR_NOT_FOUND;
    if (which == USPI_JIT_PERF_MAP) {
        snprintf(path, sizeof path, "/tmp/perf-%" PRId64 ".map", person.own_id);
    } else {
        snprintf(name, sizeof name, "jit-%" PRId64 ".dump", person.own_id);
        if (!find_dump(pid, name, path)) return USP_ERROR_NOT_FOUND;
    }
    const int opened = uspi_linux_open_in_root(pid, path, false);
    if (opened < 0) return opened;
    *named = person.own_id;
    return uspi_posix_take_jit_file(opened, person.user, person.effective_user, file);
}

#endif
