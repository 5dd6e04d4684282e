/* SPDX-License-Identifier: MIT */
/* What the parts of `unspool crash-handler` share. */
#ifndef TOOLS_CRASH_HANDLER_H
#define TOOLS_CRASH_HANDLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct crash_handling {
    const char *directory;
    int folder;          /* the directory, opened; the child does not keep it */
    const char *sysroot; /* NULL: not given */
    uint64_t max_reports, max_bytes;
    uint64_t timeout; /* in seconds */
    int64_t pid;      /* 0: not given */
    uint32_t signal;  /* 0: not given */
    uint64_t time;    /* ns since 1970-01-01 UTC */
};

struct crash_report {
    uint8_t *bytes; /* malloc'ed; a raw capture */
    size_t size;    /* 0: there is none */
};

/* Returns the present time, in ns since 1970-01-01 UTC. */
uint64_t crash_time(void);

/* Makes the report of the core on standard input, and closes that. A child without rights reads the core, until
 * `handling->timeout`. If that fails, or takes too long, the report says which process crashed, or has what the child has
 * written; then complains, and returns false. The caller frees report->bytes in any case. (crash_read.c) */
bool crash_report_read(const struct crash_handling *handling, struct crash_report *report);

/* The child: reads the core, and writes the report to a descriptor. Returns an exit status. (crash_core.c) */
int crash_core_write(const struct crash_handling *handling, int to);

#endif
