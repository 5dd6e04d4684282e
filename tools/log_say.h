/* SPDX-License-Identifier: MIT */
/* Messages on standard error and exit statuses of the commands that read logs. */
#ifndef TOOLS_LOG_SAY_H
#define TOOLS_LOG_SAY_H

#include <unspool/report.h>

/* Returns what messages call a log: its path, or "standard input" for "-". */
const char *log_called(const char *path);

/* Complain of a log: log_fail with an enum usp_status, log_fail_to_read with an errno. Return an enum exit_status. */
int log_fail(const char *path, int status);
int log_fail_to_read(const char *path, int error);

/* Returns the worse of two results, each an enum exit_status. */
int log_worse(int a, int b);

void log_counts_add(struct usp_reader_counts *all, const struct usp_reader_counts *counts);

/* Prints the line at the end of a log. */
void log_counts_say(const char *path, const struct usp_reader_counts *counts);

#endif
