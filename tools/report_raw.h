/* SPDX-License-Identifier: MIT */
/* Reads raw captures (doc/raw-format.md), as the crash kit writes them, for `unspool report`: as the report in Apple's
 * form that `unspool stack --style ips` makes of them. */
#ifndef TOOLS_REPORT_RAW_H
#define TOOLS_REPORT_RAW_H

#include "tools/lines.h"
#include "tools/log_input.h"

struct raw_report_options {
    const struct line_options *lines;
    uint32_t demangling; /* enum usp_demangle_style */
};

/* Whether an input that was just opened begins as a raw capture. It has to be rewound afterwards. */
bool is_raw_report(struct log_input *input);

/* Converts an input that was rewound. The caller frees *text. Complains. Returns an enum exit_status. */
int convert_raw_report(struct log_input *input, const char *path, const struct raw_report_options *options, char **text,
                       size_t *size);

#endif
