/* SPDX-License-Identifier: MIT */
/* A scripted world for samplers and monitors: a clock that the test moves, threads that run or wait as the test
 * decides, and the stacks that follow. No real thread is stopped or sleeps. Include it once in a program. */
#ifndef TESTS_SAMPLER_SCRIPTED_WORLD_H
#define TESTS_SAMPLER_SCRIPTED_WORLD_H

#include "lib/sampler/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRIPTED_THREADS_MAX 4000u
#define MS                   UINT64_C(1000000)
#define SECOND               (1000 * MS)

/* A scripted thread. A test may change at any time what it does; `cpu` has what it has used so far. */
struct scripted_thread {
    uint64_t id;
    char name[32];
    uint32_t flags;     /* enum usp_thread_flags */
    bool runs;          /* uses the processor */
    uint32_t run_state; /* 0: the system does not tell it; 'R' without `runs`: the thread is due */
    bool has_ended;
    usp_addr frames[16]; /* innermost first */
    uint32_t depth;
    int status;   /* status of a capture; USP_OK: the thread has a stack */
    uint64_t cpu; /* processor time used so far */
    unsigned captures;
};

struct scripted {
    uint64_t now, wall;
    uint64_t own_cpu;        /* the sampler's processor time */
    uint64_t capture_cost;   /* how much a capture adds to own_cpu */
    uint64_t capture_time;   /* how much a capture adds to the clocks */
    uint64_t capture_stops;  /* for how long a capture stops the thread */
    uint64_t stopping_takes; /* how much processor time the thread uses for being stopped */
    struct scripted_thread threads[SCRIPTED_THREADS_MAX];
    size_t count;
    bool cannot_count; /* the system does not report the number of threads */
    bool cannot_clock; /* the system does not report threads' processor time */
    size_t list_cut;   /* number of threads after which a list ends; 0: lists are whole */
    size_t released;   /* number of thread values given back */
    size_t listed;     /* number of thread values handed out */
    bool is_traced;
    const struct usp_images *images;
    unsigned snapshots;
    uint64_t captured; /* the thread that was captured last */
    /* Called by sleep with the time that the sleeper asks for. Returns the time at which it wakes up; may change the
     * script. */
    uint64_t (*slept)(struct scripted *script, uint64_t deadline);
};

/* Lets time pass. Threads that run use it. */
static inline void script_pass(struct scripted *script, uint64_t ns) {
    script->now += ns;
    script->wall += ns;
    for (size_t i = 0; i < script->count; i++) {
        if (script->threads[i].runs && !script->threads[i].has_ended) script->threads[i].cpu += ns;
    }
}

static inline void script_pass_to(struct scripted *script, uint64_t time) {
    if (time > script->now) script_pass(script, time - script->now);
}

static inline struct scripted_thread *script_find(struct scripted *script, uint64_t id) {
    for (size_t i = 0; i < script->count; i++) {
        if (script->threads[i].id == id && !script->threads[i].has_ended) return &script->threads[i];
    }
    return NULL;
}

/* Sets a thread's frames, innermost first. The thread must exist. */
static inline void script_stand(struct scripted_thread *thread, const usp_addr *frames, uint32_t depth) {
    if (thread == NULL) abort();
    memcpy(thread->frames, frames, depth * sizeof *frames);
    thread->depth = depth;
}

static inline struct scripted_thread *script_add(struct scripted *script, uint64_t id, const char *name,
                                                 usp_addr leaf) {
    size_t at = 0;
    while (at < script->count && !script->threads[at].has_ended) at++;
    if (at == script->count) script->count++;
    struct scripted_thread *thread = &script->threads[at];
    const usp_addr frames[] = {leaf, 0x2000, 0x1000};
    memset(thread, 0, sizeof *thread);
    thread->id = id;
    snprintf(thread->name, sizeof thread->name, "%s", name);
    if (at == 0) thread->flags = USP_THREAD_MAIN;
    script_stand(thread, frames, 3);
    return thread;
}

static uint64_t scripted_clock(void *context) { return ((struct scripted *)context)->now; }
static uint64_t scripted_wall_clock(void *context) { return ((struct scripted *)context)->wall; }
static uint64_t scripted_own_cpu(void *context) { return ((struct scripted *)context)->own_cpu; }
static void scripted_wake(void *context) { (void)context; }
static bool scripted_is_traced(void *context) { return ((struct scripted *)context)->is_traced; }
static const struct usp_images *scripted_images(void *context) { return ((struct scripted *)context)->images; }

static bool scripted_sleep(void *context, uint64_t deadline) {
    struct scripted *script = context;
    uint64_t wakes = script->slept != NULL ? script->slept(script, deadline) : deadline;
    script_pass_to(script, wakes);
    return wakes < deadline;
}

static int scripted_thread_cpu(void *context, const struct usp_thread *thread, uint64_t *ns) {
    struct scripted *script = context;
    const struct scripted_thread *found = script_find(script, thread->id);
    if (script->cannot_clock) return USP_ERROR_UNSUPPORTED;
    if (found == NULL) return USP_ERROR_NO_THREAD;
    *ns = found->cpu;
    return USP_OK;
}

static size_t script_living(const struct scripted *script) {
    size_t count = 0;
    for (size_t i = 0; i < script->count; i++) count += !script->threads[i].has_ended;
    return count;
}

static int scripted_count_threads(void *context, size_t *count) {
    struct scripted *script = context;
    *count = script_living(script);
    return script->cannot_count ? USP_ERROR_UNSUPPORTED : USP_OK;
}

static int scripted_list_threads(void *context, struct usp_thread *threads, size_t capacity, size_t *count) {
    struct scripted *script = context;
    *count = 0;
    for (size_t i = 0; i < script->count; i++) {
        if (script->threads[i].has_ended || (script->list_cut > 0 && *count == script->list_cut)) continue;
        if (*count < capacity) {
            threads[*count] = (struct usp_thread){script->threads[i].id, script->threads[i].id};
            script->listed++;
        }
        ++*count;
    }
    return *count > capacity ? USP_ERROR_FULL : USP_OK;
}

static int scripted_describe(void *context, const struct usp_thread *thread, struct usp_thread_info *info) {
    const struct scripted_thread *found = script_find(context, thread->id);
    memset(info, 0, sizeof *info);
    if (found == NULL) return USP_ERROR_NO_THREAD;
    info->thread = *thread;
    snprintf(info->name, sizeof info->name, "%s", found->name);
    info->flags = found->flags;
    info->run_state = found->run_state;
    return USP_OK;
}

static void scripted_release(void *context, struct usp_thread *thread) {
    ((struct scripted *)context)->released += thread->native != 0;
    memset(thread, 0, sizeof *thread);
}

static int scripted_capture(void *context, const struct usp_thread *thread, const struct usp_unwind_options *options,
                            struct usp_stack *stack) {
    struct scripted *script = context;
    struct scripted_thread *found = script_find(script, thread->id);
    (void)options;
    usp_stack_init(stack, stack->frames, stack->capacity);
    script->own_cpu += script->capture_cost;
    script_pass(script, script->capture_time);
    if (found == NULL) return USP_ERROR_NO_THREAD;
    found->captures++;
    script->captured = thread->id;
    if (found->status != USP_OK) return found->status;
    found->cpu += script->stopping_takes;
    stack->arch = usp_arch_host();
    stack->stop = USP_STOP_ROOT;
    stack->stopped_ns = script->capture_stops;
    for (uint32_t i = 0; i < found->depth && i < stack->capacity; i++) {
        stack->frames[i] = (struct usp_frame){
            .pc = found->frames[i], .kind = i == 0 ? USP_FRAME_KIND_INTERRUPTED : USP_FRAME_KIND_RETURN_ADDRESS};
        stack->count = stack->physical = i + 1;
    }
    return USP_OK;
}

static enum uspi_running scripted_running(void *context) {
    struct scripted *script = context;
    const struct scripted_thread *found = script_find(script, script->captured);
    if (found == NULL || found->runs || found->run_state == 0) return USPI_RUNS;
    return found->run_state == 'R' ? USPI_IS_DUE : USPI_WAITS;
}

static inline struct uspi_world script_world(struct scripted *script) {
    return (struct uspi_world){.context = script,
                               .clock = scripted_clock,
                               .wall_clock = scripted_wall_clock,
                               .sleep = scripted_sleep,
                               .wake = scripted_wake,
                               .own_cpu = scripted_own_cpu,
                               .thread_cpu = scripted_thread_cpu,
                               .count_threads = scripted_count_threads,
                               .list_threads = scripted_list_threads,
                               .describe = scripted_describe,
                               .release = scripted_release,
                               .capture = scripted_capture,
                               .running = scripted_running,
                               .images = scripted_images,
                               .is_traced = scripted_is_traced};
}

#endif
