/* SPDX-License-Identifier: MIT */
/* See score.h. */
#include "score.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same(const usp_addr *a, unsigned n, const usp_addr *b, unsigned m) {
    return n == m && memcmp(a, b, n * sizeof *a) == 0;
}

/* Whether `part` is `whole` with elements left out. */
static bool is_subsequence(const usp_addr *part, unsigned n, const usp_addr *whole, unsigned m) {
    unsigned i = 0;
    for (unsigned j = 0; i < n && j < m; j++) i += part[i] == whole[j];
    return i == n;
}

enum verdict score_compare(const usp_addr *expected, unsigned expected_count, const usp_addr *got, unsigned got_count) {
    if (same(expected, expected_count, got, got_count)) return VERDICT_EXACT;
    if (is_subsequence(got, got_count, expected, expected_count)) return VERDICT_MISSING;
    if (is_subsequence(expected, expected_count, got, got_count)) return VERDICT_EXTRA;
    return VERDICT_WRONG;
}

const char *score_verdict_name(enum verdict verdict) {
    static const char *const names[VERDICTS] = {"exact", "missing", "extra", "wrong"};
    return names[verdict];
}

char **score_miss(struct score *score, usp_addr pc, const char *why) {
    for (size_t i = 0; i < score->miss_count; i++) {
        struct miss *m = &score->misses[i];
        if (m->pc == pc && strcmp(m->why, why) == 0) {
            m->count++;
            return NULL;
        }
    }
    if (score->miss_count == score->miss_capacity) {
        score->miss_capacity = score->miss_capacity * 2 + 16;
        score->misses = realloc(score->misses, score->miss_capacity * sizeof *score->misses);
        if (score->misses == NULL) abort();
    }
    struct miss *m = &score->misses[score->miss_count++];
    *m = (struct miss){.pc = pc, .why = why, .count = 1};
    return &m->detail;
}

void score_place(const struct image *image, usp_addr pc, char *out, size_t size) {
    const struct image_symbol *s = image_function_at(image, pc);
    if (s == NULL) {
        snprintf(out, size, "0x%" PRIx64, pc);
    } else {
        snprintf(out, size, "%s+%" PRIu64, s->name, pc - s->start);
    }
}

char *score_stack(const struct image *image, const usp_addr *pcs, unsigned count, unsigned most) {
    const size_t capacity = 128;
    unsigned shown = count < most ? count : most;
    char *text = malloc(capacity * (shown + 1)), place[100];
    size_t used = 0;
    if (text == NULL) abort();
    text[0] = '\0';
    for (unsigned i = 0; i < shown; i++) {
        score_place(image, pcs[i], place, sizeof place);
        used += (size_t)snprintf(text + used, capacity, "%s%s", i > 0 ? " < " : "", place);
    }
    snprintf(text + used, capacity, "%s (%u)", shown < count ? " < ..." : "", count);
    return text;
}

static int by_count(const void *a, const void *b) {
    const struct miss *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

void score_print_misses(const struct score *score, const struct image *image) {
    qsort(score->misses, score->miss_count, sizeof *score->misses, by_count);
    for (size_t i = 0; i < score->miss_count; i++) {
        const struct miss *m = &score->misses[i];
        char place[100];
        score_place(image, m->pc, place, sizeof place);
        printf("miss\t%s\t%lu\t%" PRIx64 "\t%s\t%s\t%s\n", score->name, m->count, m->pc, place, m->why,
               m->detail != NULL ? m->detail : "");
    }
}

void score_free(struct score *score) {
    for (size_t i = 0; i < score->miss_count; i++) free(score->misses[i].detail);
    free(score->misses);
}
