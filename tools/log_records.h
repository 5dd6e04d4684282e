/* SPDX-License-Identifier: MIT */
/* `unspool symbolize --records`: a filter for engines that split work by lines. */
#ifndef TOOL_LOG_RECORDS_H
#define TOOL_LOG_RECORDS_H

#include "tools/log_names.h"

/* Reads records from standard input, one JSON object a line, and writes as many to standard output, in the same order. What
 * is wrong with a record stands in its answer. Whatever was read is answered before more is waited for. Returns an enum
 * exit_status. */
int symbolize_records(struct log_names *names);

#endif
