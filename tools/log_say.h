/* SPDX-License-Identifier: MIT */
/* What commands that read logs say on standard error, and what they exit with. */
#ifndef TOOL_LOG_SAY_H
#define TOOL_LOG_SAY_H

#include <unspool/report.h>

/* A log could not be read, or what came of reading it: an enum usp_status, an errno. Return an enum exit_status. */
int log_fail(const char *path, int status);
int log_fail_to_read(const char *path, int error);

/* What counts most of two results, each an enum exit_status. */
int log_worse(int a, int b);

void log_counts_add(struct usp_reader_counts *all, const struct usp_reader_counts *counts);

/* The line at the end of a log. */
void log_counts_say(const char *path, const struct usp_reader_counts *counts);

#endif
