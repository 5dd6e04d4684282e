/* SPDX-License-Identifier: MIT */
/* Captures the thread of the Swift program that calls it. Writes one line for each way to capture:
 *
 *     way <tab> scene <tab> the program's truth <tab> the frame at the join <tab> the async chain, separated by ';'
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <unspool/unspool.h>

#define FRAMES 256

void observe_here(const char *scene, const char *truth);
void observe_from_outside(const char *scene, const char *truth);

static const char *name_of(struct usp_symbolizer *symbolizer, struct usp_demangler *demangler,
                           const struct usp_stack *stack, uint32_t i) {
    struct usp_symbol symbol;
    if (usp_symbolize_frame(symbolizer, stack->arch, &stack->frames[i], &symbol) != USP_OK || symbol.name == NULL) {
        return "?";
    }
    return usp_demangle(demangler, symbol.name);
}

static void show(const char *way, const char *scene, const char *truth, const struct usp_stack *stack) {
    struct usp_symbolizer *symbolizer;
    struct usp_demangler *demangler;
    if (usp_symbolizer_create(NULL, NULL, &symbolizer) != USP_OK) return;
    if (usp_demangler_create(USP_DEMANGLE_SHORT, &demangler) != USP_OK) return;
    printf("%s\t%s\t%s\t", way, scene, truth);
    if (stack->status != USP_OK) {
        printf("%s\t", usp_status_string(stack->status));
    } else if (stack->async_join == USP_NO_INDEX) {
        printf("no join\t");
    } else {
        printf("%s\t", name_of(symbolizer, demangler, stack, stack->async_join));
    }
    for (uint32_t i = stack->physical; i < stack->count; i++) {
        printf("%s%s", i == stack->physical ? "" : ";", name_of(symbolizer, demangler, stack, i));
    }
    printf("\t%s\n", usp_stop_reason_string(stack->async_stop));
    usp_demangler_free(demangler);
    usp_symbolizer_free(symbolizer);
}

struct observed {
    const char *scene, *truth;
    struct usp_thread thread;
};

/* Number of attempts. While the captured thread still runs, its chain is left out. */
#define TRIES 1000

static bool has_run_on(const struct usp_stack *stack) {
    if (stack->status == USP_OK && stack->async_stop != USP_STOP_NOT_COPIED) return false;
    usleep(1000);
    return true;
}

static void *observe_other(void *context) {
    struct observed *o = context;
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot = NULL;
    const struct usp_snapshot_thread *thread;
    unsigned tries = 0;
    usp_snapshot_options_init(&options);
    options.unwind.async = 1;
    do {
        usp_stack_init(&stack, frames, FRAMES);
        usp_capture_thread(&o->thread, &options.unwind, &stack);
    } while (tries++ < TRIES && has_run_on(&stack));
    show("thread", o->scene, o->truth, &stack);
    options.means = USP_SNAPSHOT_BY_HELPER;
    options.only_thread = o->thread.id;
    tries = 0;
    do {
        usp_snapshot_free(snapshot);
        int status = usp_snapshot_create_self(&options, &snapshot);
        if (status != USP_OK) {
            printf("helper\t%s\t%s\t%s\t\t\n", o->scene, o->truth, usp_status_string(status));
            return NULL;
        }
        thread = usp_snapshot_get_thread(snapshot, 0);
    } while (tries++ < TRIES && has_run_on(&thread->stack));
    show("helper", o->scene, o->truth, &thread->stack);
    usp_snapshot_free(snapshot);
    return NULL;
}

void observe_here(const char *scene, const char *truth) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct usp_unwind_options options;
    struct observed observed = {.scene = scene, .truth = truth};
    pthread_t other;
    sigset_t all, blocked;
    usp_prepare(NULL);
    usp_unwind_options_init(&options);
    options.async = 1;
    usp_stack_init(&stack, frames, FRAMES);
    usp_capture_self(&options, &stack);
    show("self", scene, truth, &stack);
    if (usp_thread_self(&observed.thread) != USP_OK) return;
    /* Dispatch's worker threads block the signal that requests another thread's stack. */
    sigfillset(&all);
    pthread_sigmask(SIG_UNBLOCK, &all, &blocked);
    if (pthread_create(&other, NULL, observe_other, &observed) == 0) pthread_join(other, NULL);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    usp_thread_release(&observed.thread);
    fflush(stdout);
}

/* Waits until the process is killed. */
void observe_from_outside(const char *scene, const char *truth) {
    printf("ready\t%s\t%s\n", scene, truth);
    fflush(stdout);
    pause();
}
