/* SPDX-License-Identifier: MIT */
/* Compares an excerpt's index with the whole index: for tables of any format, and for candidates only. The windows have
 * any width, so that many symbols begin before a window and extend into it. */
#ifndef TESTS_SUPPORT_EXCERPT_COMPARE_H
#define TESTS_SUPPORT_EXCERPT_COMPARE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/symbolize/index/tables.h"

/* How often an excerpt had the answer, how often it had none, and how often its answer would then have been wrong. */
struct excerpt_tally {
    size_t decided, undecided, wrong;
};

/* Makes one to four windows between low and high, each at most `width` wide. */
static inline void make_windows(struct uspi_excerpt *excerpt, usp_addr low, usp_addr high, uint64_t width) {
    const uint32_t count = 1 + (uint32_t)rand() % 4;
    const uint64_t part = (high - low) / count;
    uspi_excerpt_begin(excerpt);
    for (uint32_t i = 0; i < count; i++) {
        const usp_addr first = low + part * i + (uint64_t)rand() % (part / 2 + 1);
        usp_addr end = first + 1 + (uint64_t)rand() % width;
        if (end >= low + part * (i + 1)) end = low + part * (i + 1) - 1;
        if (end > first) excerpt->windows[excerpt->count++] = (struct uspi_window){first, end, first};
    }
}

static inline void index_tables(const struct uspi_tables *tables, struct uspi_excerpt *excerpt,
                                struct uspi_index *index) {
    struct uspi_gathering gathering = {.excerpt = excerpt};
    ck_assert_int_eq(tables->gather(tables, &gathering), USP_OK);
    ck_assert_int_eq(uspi_index_build(index, &gathering, tables->prefer, tables), USP_OK);
    uspi_gathering_clear(&gathering);
}

static inline int ask_tables(const struct uspi_tables *tables, const struct uspi_index *index, usp_addr address,
                             struct uspi_names *names, struct uspi_symbol_answer *named, usp_addr *start) {
    memset(named, 0, sizeof *named);
    uint32_t symbol = uspi_index_find(index, address, &named->start, &named->size);
    *start = named->start;
    return symbol != USPI_NO_SYMBOL ? tables->get(tables, symbol, names, named) : USP_ERROR_NOT_FOUND;
}

static inline bool is_same_string(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static inline bool is_same_named(const struct uspi_symbol_answer *a, const struct uspi_symbol_answer *b) {
    return a->start == b->start && a->size == b->size && is_same_string(a->name, b->name) &&
           is_same_string(a->source_file, b->source_file) && a->wins_ties == b->wins_ties;
}

/* Returns whether two indexes have the same aliases of a function. */
static inline bool has_same_aliases(const struct uspi_index *a, const struct uspi_index *b, usp_addr start) {
    uint32_t counts[2];
    const struct uspi_index_alias *x = uspi_index_aliases(a, start, &counts[0]);
    const struct uspi_index_alias *y = uspi_index_aliases(b, start, &counts[1]);
    bool is_same = counts[0] == counts[1];
    for (uint32_t i = 0; i < counts[0] && is_same; i++) is_same = x[i].number == y[i].number;
    return is_same;
}

/* Compares every address in the windows of `rounds` excerpts between low and high. */
static inline void compare_excerpts(const struct uspi_tables *tables, usp_addr low, usp_addr high, uint64_t width,
                                    unsigned rounds, struct excerpt_tally *tally) {
    struct uspi_names *names = uspi_names_create();
    struct uspi_index whole;
    index_tables(tables, NULL, &whole);
    for (unsigned round = 0; round < rounds; round++) {
        struct uspi_excerpt excerpt;
        struct uspi_index part;
        make_windows(&excerpt, low, high, width);
        index_tables(tables, &excerpt, &part);
        for (uint32_t w = 0; w < excerpt.count; w++) {
            for (usp_addr at = excerpt.windows[w].low; at < excerpt.windows[w].high; at++) {
                struct uspi_symbol_answer a, b;
                usp_addr start, start_of_whole;
                int status = ask_tables(tables, &part, at, names, &a, &start);
                int status_of_whole = ask_tables(tables, &whole, at, names, &b, &start_of_whole);
                bool is_same =
                    status == status_of_whole &&
                    (status != USP_OK || (is_same_named(&a, &b) && has_same_aliases(&part, &whole, a.start)));
                if (uspi_excerpt_decides(&excerpt, at, start)) {
                    ck_assert_msg(is_same, "%#llx: %s instead of %s", (unsigned long long)at,
                                  a.name != NULL ? a.name : "nothing", b.name != NULL ? b.name : "nothing");
                    tally->decided++;
                } else {
                    tally->undecided++;
                    tally->wrong += !is_same;
                }
            }
        }
        uspi_index_clear(&part);
    }
    uspi_index_clear(&whole);
    uspi_names_free(names);
}

#endif
