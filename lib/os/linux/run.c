/* SPDX-License-Identifier: MIT */
/* Evidence about a run of this program: which process it was, since when, whether it still has its file locked, and how
 * often the kernel has killed a process of its control group for lack of memory (Linux
 * Documentation/admin-guide/cgroup-v2.rst memory.events, cgroup-v1 memory.rst memory.oom_control). */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/images.h"
#include "lib/os/linux/linux.h"
#include "lib/os/linux/proc.h"
#include "lib/os/run_lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_ROOM 4352

/* Reads a small file and adds a NUL. Returns whether it was read. */
static bool read_text(const char *path, char *to, size_t n) {
    const long fd = uspi_linux->open(-1, path, O_RDONLY);
    if (fd < 0) return false;
    const long size = uspi_linux->read((int)fd, to, n - 1);
    uspi_linux->close((int)fd);
    to[size > 0 ? size : 0] = '\0';
    return size >= 0;
}

static void read_boot(char boot[40]) {
    if (!read_text("/proc/sys/kernel/random/boot_id", boot, 40)) boot[0] = '\0';
    boot[strcspn(boot, "\n")] = '\0';
}

/* Reads the counter "oom_kill N" of a control group. */
static bool read_counter(const char *root, const char *group, const char *file, uint64_t *count) {
    char path[PATH_ROOM], text[1024];
    if ((size_t)snprintf(path, sizeof path, "%s%s/%s", root, group, file) >= sizeof path) return false;
    if (!read_text(path, text, sizeof text)) return false;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, "oom_kill ", 9) != 0) continue;
        *count = strtoull(line + 9, NULL, 10);
        return true;
    }
    return false;
}

/* Reads the counter from the group that /proc/self/cgroup names. In a container the group's path is often seen as
 * "/". */
static bool read_oom_kills(uint64_t *count) {
    char groups[4096];
    if (uspi_proc_read(0, 0, "cgroup", groups, sizeof groups) < 0) return false;
    for (char *line = groups, *next; *line != '\0'; line = next) {
        next = line + strcspn(line, "\n");
        if (*next == '\n') *next++ = '\0';
        if (strncmp(line, "0::", 3) == 0 && read_counter("/sys/fs/cgroup", line + 3, "memory.events", count))
            return true;
        char *controllers = strchr(line, ':');
        char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL || strncmp(controllers, ":memory:", 8) != 0) continue;
        if (read_counter("/sys/fs/cgroup/memory", path + 1, "memory.oom_control", count)) return true;
    }
    return false;
}

int uspi_os_run_describe(struct uspi_os_run *run) {
    struct uspi_proc_stat stat;
    memset(run, 0, sizeof *run);
    run->pid = uspi_linux->own_process();
    if (uspi_proc_stat(0, 0, &stat) == 0) run->start = stat.start;
    read_boot(run->boot);
    uspi_linux_read_program(0, run->program, sizeof run->program);
    run->has_oom_kills = read_oom_kills(&run->oom_kills);
    return USP_OK;
}

bool uspi_os_run_lives(const struct uspi_os_run *run) {
    struct uspi_proc_stat stat;
    char boot[40];
    read_boot(boot);
    if (run->pid <= 0 || strcmp(boot, run->boot) != 0) return false;
    return uspi_proc_stat(run->pid, 0, &stat) == 0 && stat.start == run->start && stat.state != 'Z' &&
           stat.state != 'X';
}

static long set_lock(int fd, int command, struct flock *lock) {
    lock->l_type = F_WRLCK;
    lock->l_whence = SEEK_SET;
    return fcntl(fd, command, lock);
}

/* POSIX record locks: children of fork do not have them, and exec ends them because it closes the descriptor. */
void uspi_os_run_lock(int descriptor) {
    struct flock lock = {.l_len = 0};
    (void)set_lock(descriptor, F_SETLK, &lock);
}

bool uspi_os_run_has_lock(const char *path) {
    struct flock lock = {.l_len = 0};
    const long fd = uspi_linux->open(AT_FDCWD, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return false;
    const bool is_locked = set_lock((int)fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    uspi_linux->close((int)fd);
    return is_locked;
}

#endif
