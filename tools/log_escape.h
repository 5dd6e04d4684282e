/* SPDX-License-Identifier: MIT */
/* Names on their way into a log: they come from files that anybody may have made, and have any length. */
#ifndef TOOL_LOG_ESCAPE_H
#define TOOL_LOG_ESCAPE_H

#include <unspool/format.h>

/* All zero is an empty one. */
struct log_escaped {
    char *text;
    size_t room;
};

/* The name as usp_format_escaped has it (enum usp_escape), valid until the next one. NULL when memory lacks. */
const char *log_escape(struct log_escaped *escaped, uint32_t escape, const char *name);

void log_escaped_free(struct log_escaped *escaped);

#endif
