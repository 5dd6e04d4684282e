/* SPDX-License-Identifier: MIT */
/* See in_root.h. Implements uspi_os_open_below, uspi_os_open_in_root, uspi_os_files_seen and uspi_os_root_path (os.h):
 * which files another process sees, and how to open them. A process in a container has other files under the same
 * paths. Its links are its user's choice, so the kernel must resolve them below /proc/PID/root: a plain open would
 * resolve an absolute link below our own root. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE       1
#define _FILE_OFFSET_BITS 64
#include "lib/os/linux/in_root.h"

#include "lib/os/linux/proc.h"
#include "lib/os/os.h"
#include "lib/os/posix/below.h"
#include "lib/os/posix/errno_status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The call and its argument, for systems whose headers are older. Newer ones have a struct open_how, also in fcntl.h.
 * Source: Linux include/uapi/linux/openat2.h. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
struct resolved_open {
    uint64_t flags, mode, resolve;
};
#define NO_MAGIC_LINKS UINT64_C(0x02)
#define NO_LINKS       UINT64_C(0x04)
#define IN_ROOT        UINT64_C(0x10)

/* How often openat2 is repeated when a folder of the path was renamed meanwhile (EAGAIN). */
#define TRIES 16

/* Opens for reading what a descriptor of O_PATH leads to. Its type is checked before: opening a device or a pipe can
 * have effects or block. */
static int open_placed(int placed) {
    char path[USPI_PROC_PATH_MAX], name[24];
    struct stat status;
    if (fstat(placed, &status) != 0) return USP_ERROR_SYSTEM;
    if (!S_ISREG(status.st_mode)) return USP_ERROR_FORMAT;
    snprintf(name, sizeof name, "fd/%d", placed);
    uspi_proc_path(path, 0, 0, name);
    const int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return opened >= 0 ? opened : uspi_posix_status_without_links(errno);
}

static int open_below(int root, const char *path, bool follows_links) {
    const struct resolved_open how = {.flags = O_PATH | O_CLOEXEC,
                                      .resolve = IN_ROOT | NO_MAGIC_LINKS | (follows_links ? 0 : NO_LINKS)};
    long placed = -1;
    errno = EAGAIN;
    for (unsigned i = 0; i < TRIES && placed < 0 && errno == EAGAIN; i++) {
        placed = syscall(SYS_openat2, root, path, &how, sizeof how);
    }
    /* A kernel without the call says ENOSYS, one without a flag EINVAL, a filter of system calls mostly EPERM. */
    if (placed < 0 && (errno == ENOSYS || errno == EINVAL || errno == EPERM)) {
        return follows_links ? uspi_posix_open_below(root, path) : uspi_posix_walk(root, path);
    }
    if (placed < 0) return uspi_posix_status_without_links(errno);
    const int opened = open_placed((int)placed);
    close((int)placed);
    return opened;
}

int uspi_linux_open_in_root(int64_t pid, const char *path, bool follows_links) {
    char name[USPI_PROC_PATH_MAX];
    uspi_proc_path(name, pid, 0, "root");
    const int root = open(name, O_PATH | O_CLOEXEC | O_DIRECTORY);
    if (root < 0) return uspi_posix_status_without_links(errno);
    const int opened = open_below(root, path, follows_links);
    close(root);
    return opened;
}

int uspi_os_open_below(int folder, const char *path) { return open_below(folder, path, true); }

int uspi_os_open_in_root(const char *path) {
    static const char before[] = "/proc/", after[] = "/root";
    char *end;
    if (strncmp(path, before, sizeof before - 1) != 0) return USP_ERROR_UNSUPPORTED;
    path += sizeof before - 1;
    if (*path < '1' || *path > '9') return USP_ERROR_UNSUPPORTED;
    const long long pid = strtoll(path, &end, 10);
    if (strncmp(end, after, sizeof after - 1) != 0) return USP_ERROR_UNSUPPORTED;
    end += sizeof after - 1;
    return *end == '/' ? uspi_linux_open_in_root(pid, end, true) : USP_ERROR_UNSUPPORTED;
}

/* Compares what an entry of /proc/PID leads to for this process and another one: USPI_FILES_SAME, `otherwise`, or
 * USPI_FILES_UNKNOWN if the system does not say. */
static enum uspi_files_seen compare(int64_t pid, const char *name, enum uspi_files_seen otherwise) {
    char path[USPI_PROC_PATH_MAX];
    struct stat own, other;
    uspi_proc_path(path, 0, 0, name);
    /* A kernel without namespaces has no such entry. */
    if (stat(path, &own) != 0) return errno == ENOENT ? USPI_FILES_SAME : USPI_FILES_UNKNOWN;
    uspi_proc_path(path, pid, 0, name);
    if (stat(path, &other) != 0) return USPI_FILES_UNKNOWN;
    return own.st_dev == other.st_dev && own.st_ino == other.st_ino ? USPI_FILES_SAME : otherwise;
}

enum uspi_files_seen uspi_os_files_seen(int64_t pid) {
    if (pid == 0) return USPI_FILES_SAME;
    const enum uspi_files_seen mounts = compare(pid, "ns/mnt", USPI_FILES_OTHER);
    return mounts == USPI_FILES_SAME ? compare(pid, "root", USPI_FILES_JAILED) : mounts;
}

bool uspi_os_root_path(int64_t pid, char *path, size_t n) {
    char link[USPI_PROC_PATH_MAX];
    uspi_proc_path(link, pid, 0, "root");
    const ssize_t length = readlink(link, path, n);
    if (length <= 0 || (size_t)length >= n || path[0] != '/') return false;
    path[length == 1 ? 0 : length] = '\0';
    return true;
}

#endif
