/* SPDX-License-Identifier: MIT */
/* One copy's user in tests/capture/two_copies.c: compiled once for each copy of the library, with that copy's names, and
 * with -DCOPY, the name of its table. */
#include "tests/capture/copy_user.h"

#include <unspool/unspool.h>

#include <string.h>

static int prepare(int signal, uint64_t timeout) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.signal = signal;
    options.timeout = timeout;
    return usp_prepare(&options);
}

static bool has_frame_in(const struct usp_stack *stack, uint64_t low, uint64_t high) {
    for (size_t i = 0; i < stack->count; i++) {
        if (stack->frames[i].pc >= low && stack->frames[i].pc < high) return true;
    }
    return false;
}

static int capture(uint64_t id, uint64_t low, uint64_t high, bool *found) {
    struct usp_frame frames[128];
    struct usp_stack stack;
    const struct usp_thread thread = {id, id};
    usp_stack_init(&stack, frames, 128);
    const int status = usp_capture_thread(&thread, NULL, &stack);
    *found = status == USP_OK && has_frame_in(&stack, low, high);
    return status;
}

static int snapshot(uint64_t id, uint64_t low, uint64_t high, bool *found, unsigned *missed) {
    struct usp_snapshot *s;
    struct usp_snapshot_options options;
    usp_snapshot_options_init(&options);
    options.timeout = UINT64_C(20000000000);
    const int status = usp_snapshot_create_self(&options, &s);
    *found = false;
    *missed = 0;
    if (status != USP_OK) return status;
    *missed = usp_snapshot_get_info(s)->missed;
    for (size_t i = 0; usp_snapshot_get_thread(s, i) != NULL; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(s, i);
        if (t->info.thread.id == id && has_frame_in(&t->stack, low, high)) *found = true;
    }
    usp_snapshot_free(s);
    return USP_OK;
}

static int name(uint64_t address, const char *store, char *to, size_t size) {
    struct usp_symbolizer_options options;
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    usp_symbolizer_options_init(&options);
    options.index_store = store;
    int status = usp_symbolizer_create(NULL, &options, &symbolizer);
    if (status != USP_OK) return status;
    status = usp_symbolize(symbolizer, address, &symbol);
    if (status == USP_OK) {
        strncpy(to, symbol.name, size - 1);
        to[size - 1] = '\0';
    }
    usp_symbolizer_free(symbolizer);
    return status;
}

static int fast(void **addresses, int count) { return usp_backtrace(addresses, count); }

const struct copy_user COPY = {prepare, usp_shutdown, capture, snapshot, name, fast, usp_status_string};
