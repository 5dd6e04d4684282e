/* SPDX-License-Identifier: MIT */
/* Matches names against patterns. */
#ifndef USPI_BASE_PATTERN_H
#define USPI_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether a text matches a shell pattern with * and ?, without brackets. It backtracks to the last star only,
 * so its time is bounded by the product of the lengths. */
static inline bool uspi_matches(const char *pattern, const char *text) {
    const char *star = NULL, *resume = NULL;
    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}

#endif
