/* SPDX-License-Identifier: MIT */
/* `unspool symbolize --log --jobs N`: N processes, each of which reads one log at a time. What they write appears in the
 * order of the logs, with the messages of each, so it is the same as that of one process. */
#ifndef TOOLS_LOG_JOBS_H
#define TOOLS_LOG_JOBS_H

#include "tools/log_output.h"

#include <unspool/report.h>

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Most processes. */
#define LOG_JOBS_MAX 64

/* What a process tells of a log that it has read. */
struct log_result {
    struct usp_reader_counts counts;
    int32_t status; /* enum exit_status */
    bool has_lines; /* any frame so far has a line */
    /* The messages from `said` to `said_end` in the file of messages are about builds. They appear once, whichever
     * process says them. */
    off_t said, said_end;
    char lineless[2048]; /* see log_names_have_lines */
    /* Set by log_jobs.c. */
    size_t in_memory; /* bytes of output in the shared memory */
    bool is_kept;     /* output and messages could be written to the temporary files */
};

/* Reads the log `number`. Its output goes to `out`, its messages to standard error. Fills *result. */
typedef void (*log_job_function)(void *context, size_t number, struct log_standard *out, struct log_result *result);

/* Returns the path of a log. */
typedef const char *(*log_name_function)(const void *context, size_t number);

/* Receives the results in the order of the logs, after output and messages of each were written. */
typedef void (*log_done_function)(void *context, size_t number, const struct log_result *result);

struct log_jobs {
    log_job_function run;
    void (*end)(void *context); /* called by each process at its end; what it says appears in log_jobs_end */
    log_done_function done;
    log_name_function name;
    void *context;
    size_t logs; /* number of logs */
    unsigned processes;
};

struct log_pool;

/* Runs all logs, until one fails (EXIT_FAILED). Complains. Returns EXIT_ALL_WELL, or EXIT_FAILED if processes or
 * temporary files could not be made, or a process ended early. The caller ends *pool, which can be NULL. */
int log_jobs_run(const struct log_jobs *jobs, struct log_pool **pool);

/* Ends the processes, and shows what they say at their ends, each line once. NULL is ignored. */
void log_jobs_end(struct log_pool *pool);

#endif
