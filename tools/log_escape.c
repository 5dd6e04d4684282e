/* SPDX-License-Identifier: MIT */
/* See log_escape.h. */
#include "tools/log_escape.h"

#include <stdlib.h>
#include <string.h>

const char *log_escape(struct log_escaped *escaped, uint32_t escape, const char *name) {
    size_t length = strlen(name);
    int needed = usp_format_escaped(escaped->text, escaped->room, escape, name, length);
    if (needed < 0) return NULL;
    if ((size_t)needed < escaped->room) return escaped->text;
    char *grown = realloc(escaped->text, (size_t)needed + 1);
    if (grown == NULL) return NULL;
    escaped->text = grown;
    escaped->room = (size_t)needed + 1;
    return usp_format_escaped(grown, escaped->room, escape, name, length) < 0 ? NULL : grown;
}

void log_escaped_free(struct log_escaped *escaped) {
    free(escaped->text);
    *escaped = (struct log_escaped){.text = NULL};
}
