/* SPDX-License-Identifier: MIT */
/* `unspool symbolize --records`: a filter for data processing engines that split work by lines. */
#ifndef TOOLS_LOG_RECORDS_H
#define TOOLS_LOG_RECORDS_H

#include "tools/log_names.h"

/* Reads records from standard input, one JSON object per line, and writes as many to standard output, in the same
 * order. Errors of a record are in its answer. All records read so far are answered before the function waits for more.
 * Returns an enum exit_status. */
int symbolize_records(struct log_names *names);

#endif
