/* SPDX-License-Identifier: MIT */
/* A program that only calls the library, as BENCH_USES says. tests/bench/size.sh links it statically and measures its
 * size; it is not run.
 *
 *     0  nothing
 *     1  usp_backtrace
 *     2  also usp_prepare
 *     3  also the typed capture of the calling thread, a signal's context, another thread
 *     4  also snapshots of every thread here
 *     5  also snapshots of other processes */
#include <unspool/unspool.h>

#include <stddef.h>

int main(void) {
    size_t used = 0;
#if BENCH_USES >= 1
    void *addresses[64];
    used += (size_t)usp_backtrace(addresses, 64);
#endif
#if BENCH_USES >= 2
    usp_prepare(NULL);
#endif
#if BENCH_USES >= 3
    struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_thread thread;
    usp_stack_init(&stack, frames, 64);
    usp_capture_self(NULL, &stack);
    usp_capture_context(addresses[0], NULL, &stack);
    if (usp_thread_main(&thread) == USP_OK) usp_capture_thread(&thread, NULL, &stack);
    used += stack.count;
#endif
#if BENCH_USES >= 4
    struct usp_snapshot *snapshot;
    if (usp_snapshot_create_self(NULL, &snapshot) == USP_OK) usp_snapshot_free(snapshot);
#endif
#if BENCH_USES >= 5
    if (usp_snapshot_create_process(1, NULL, &snapshot, NULL, 0) == USP_OK) usp_snapshot_free(snapshot);
#endif
    return used != 0;
}
