/* SPDX-License-Identifier: MIT */
/* Implements stack_repeat.h. */
#include "tools/stack_repeat.h"

#include "tools/text.h"

#include <stdlib.h>
#include <string.h>

/* Whether two stacks have the same lines. Lines do not show where a frame's memory is (cfa, fp). */
static bool has_same_lines(const struct usp_stack *a, const struct usp_stack *b) {
    if (a->hash != b->hash || a->count != b->count || a->physical != b->physical || a->arch != b->arch ||
        a->omitted_at != b->omitted_at || a->omitted != b->omitted || a->async_join != b->async_join ||
        a->stop != b->stop) {
        return false;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        const struct usp_frame *x = &a->frames[i], *y = &b->frames[i];
        if (x->pc != y->pc || x->kind != y->kind || x->method != y->method || x->flags != y->flags) return false;
    }
    return true;
}

/* Text that is written and also kept. */
struct keeping {
    FILE *out;
    char *text; /* NULL after memory was exhausted */
    size_t size, capacity;
};

static int write_and_keep(void *context, const char *bytes, size_t n) {
    struct keeping *k = context;
    if (k->text != NULL && n > k->capacity - k->size) {
        size_t capacity = (k->size + n) * 2;
        char *grown = realloc(k->text, capacity);
        if (grown == NULL) free(k->text);
        k->text = grown;
        k->capacity = capacity;
    }
    if (k->text != NULL) memcpy(k->text + k->size, bytes, n);
    k->size += n;
    return write_to_file(k->out, bytes, n);
}

int stack_repeat_write(struct stack_repeat *repeat, const struct usp_stack *stack,
                       const struct usp_format_options *options, FILE *out) {
    for (unsigned i = 0; i < STACK_REPEAT && repeat->known[i].stack != NULL; i++) {
        const struct stack_lines *known = &repeat->known[i];
        if (has_same_lines(known->stack, stack)) return write_to_file(out, known->text, known->size);
    }
    struct keeping k = {.out = out, .text = malloc(TEXT_ROOM), .capacity = TEXT_ROOM};
    int status = usp_format_stack(stack, NULL, options, write_and_keep, &k);
    if (k.text == NULL || status != USP_OK) {
        free(k.text);
        return status;
    }
    struct stack_lines *place = &repeat->known[repeat->oldest];
    repeat->oldest = (repeat->oldest + 1) % STACK_REPEAT;
    free(place->text);
    *place = (struct stack_lines){stack, k.text, k.size};
    return status;
}

void stack_repeat_free(struct stack_repeat *repeat) {
    for (unsigned i = 0; i < STACK_REPEAT; i++) free(repeat->known[i].text);
    memset(repeat, 0, sizeof *repeat);
}
