/* SPDX-License-Identifier: MIT */
/* A control group of Linux that limits a process's processor time, with version 1 or 2 of the kernel's interface
 * (Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst). */
#ifndef TESTS_SUPPORT_CGROUP_H
#define TESTS_SUPPORT_CGROUP_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/support/under.h"

static char cgroup[128];

static inline bool write_cgroup(const char *name, const char *text) {
    char path[192];
    snprintf(path, sizeof path, "%s/%s", cgroup, name);
    FILE *file = fopen(path, "r+");
    if (file == NULL) return false;
    const bool is_written = fputs(text, file) >= 0;
    return fclose(file) == 0 && is_written;
}

/* Moves a process into a new control group that runs for `quota` µs of each 100 ms. Returns false if the system has no
 * such groups or does not permit them. */
static inline bool begin_cgroup(pid_t pid, unsigned quota) {
    static const struct {
        const char *folder, *file, *format;
    } versions[] = {{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "%u"}, {"/sys/fs/cgroup", "cpu.max", "%u 100000"}};
    for (unsigned i = 0; i < 2; i++) {
        char limit[32], id[16];
        snprintf(cgroup, sizeof cgroup, "%s/unspool-test-%d", versions[i].folder, (int)pid);
        snprintf(id, sizeof id, "%d", (int)pid);
        snprintf(limit, sizeof limit, versions[i].format, quota);
        if (mkdir(cgroup, 0755) != 0) continue;
        if (write_cgroup(versions[i].file, limit) && write_cgroup("cgroup.procs", id)) return true;
        rmdir(cgroup);
    }
    return false;
}

/* Removes the group, whose process has ended. The kernel takes a moment to notice that. */
static inline bool end_cgroup(void) {
    for (unsigned i = 0; i < PATIENT_LOOKS; i++) {
        if (rmdir(cgroup) == 0) return true;
        if (errno != EBUSY) return false;
        usleep(1000);
    }
    return false;
}

#endif
