/* SPDX-License-Identifier: MIT */
/* Another process: whom and what its tracer needs, and what is handed over of what it has copied. How threads are stopped
 * is linux_tracer.c's, what a person is told linux_refusal.c's. */
#define _GNU_SOURCE 1
#include "lib/os/linux_tracer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kept {
    struct uspi_tracing *tracing; /* NULL: everything runs again */
    int memory;
    struct uspi_arena arenas[USPI_STACKS];
};

static void unmap_arenas(const struct uspi_arena *arenas) {
    for (unsigned i = 0; i < USPI_STACKS; i++) {
        if (arenas[i].bytes != NULL) uspi_linux->unmap(arenas[i].bytes, arenas[i].size);
    }
}

static void look(struct uspi_stopped_process *process) {
    const struct kept *kept = process->owned;
    if (kept->tracing != NULL) uspi_tracing_is_over(kept->tracing);
}

static void settle(struct uspi_stopped_process *process) {
    struct kept *kept = process->owned;
    struct uspi_tracing *tracing = kept->tracing;
    if (tracing == NULL) return;
    uspi_tracing_end(tracing);
    process->stopped_ns = tracing->ended - tracing->began;
    for (size_t i = 0; i < process->thread_count; i++) {
        struct uspi_stopped_thread *t = &process->threads[i];
        if (t->is_held) t->copy.stopped_ns = process->stopped_ns;
        t->is_held = false;
    }
    kept->tracing = NULL;
    uspi_tracing_free(tracing);
}

static void release(void *owned) {
    struct kept *kept = owned;
    uspi_linux->close(kept->memory);
    unmap_arenas(kept->arenas);
    free(kept);
}

/* What of a stack was not copied: the thread runs again. */
static struct uspi_dead behind(const struct uspi_extent *e) {
    if (e->room == 0) return (struct uspi_dead){0, 0};
    usp_addr from = e->from + e->copied, high = e->high != 0 ? e->high : from + USPI_STACK_MAX;
    return (struct uspi_dead){from, high > from ? high : from};
}

static int hand_over(struct uspi_tracing *tracing, struct uspi_stopped_process *out) {
    struct kept *kept = malloc(sizeof *kept);
    if (kept == NULL) return uspi_refuse(&tracing->refusal, USP_ERROR_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < tracing->count; i++) {
        const struct uspi_traced *from = &tracing->traced[i];
        struct uspi_stopped_thread *to = &tracing->threads[i];
        if (to->status == USP_OK && !from->stopped) to->status = USP_ERROR_TIMEOUT;
        to->is_held = from->stopped;
        to->copy.stack_low = from->extents[USPI_OWN_STACK].low;
        to->copy.stack_high = from->extents[USPI_OWN_STACK].high;
        for (unsigned k = 0; k < USPI_STACKS; k++) {
            const struct uspi_extent *e = &from->extents[k];
            to->copy.parts[k] = (struct uspi_copied){e->bytes, e->from, e->copied};
            to->copy.dead[k] = behind(e);
        }
    }
    *kept = (struct kept){.tracing = tracing, .memory = tracing->memory};
    memcpy(kept->arenas, tracing->arenas, sizeof kept->arenas);
    out->threads = tracing->threads;
    tracing->threads = NULL;
    out->thread_count = tracing->count;
    out->pid = tracing->pid;
    out->arch = tracing->arch;
    out->pac_mask = tracing->pac_mask;
    if (!tracing->has_moved) {
        out->images = tracing->images;
        tracing->images = NULL;
    }
    out->live = (struct usp_memory){uspi_proc_memory_read, (void *)(intptr_t)tracing->memory};
    out->owned = kept;
    out->look = look;
    out->settle = settle;
    out->release = release;
    return USP_OK;
}

/* Whom and what the tracer will need. */
static int prepare(struct uspi_tracing *tracing, int64_t pid) {
    struct uspi_refusal *refusal = &tracing->refusal;
    long e;
    if (tracing->pid == 0) return uspi_refuse(refusal, USP_ERROR_NO_THREAD, "%" PRId64 " is no process id", pid);
    if (tracing->pid == uspi_linux->own_process()) {
        return uspi_refuse(refusal, USP_ERROR_ARGUMENT, "process %d is this one: usp_snapshot_self captures it",
                           tracing->pid);
    }
    if ((e = uspi_linux_living_thread(pid)) < 0) return uspi_refuse_system(refusal, e, "/proc/PID/task");
    tracing->living = (pid_t)e;
    e = uspi_proc_memory_open(tracing->living, &tracing->memory);
    if (e < 0) return uspi_refuse_system(refusal, e, "/proc/PID/mem");
    e = uspi_proc_threads_open(&tracing->list, pid, tracing->listing, sizeof tracing->listing);
    return e < 0 ? uspi_refuse_system(refusal, e, "/proc/PID/task") : USP_OK;
}

int uspi_os_stop_process(int64_t pid, uint64_t timeout, uint64_t only_thread, struct uspi_stopped_process *out,
                         char *error, size_t error_size) {
    memset(out, 0, sizeof *out);
    if (error == NULL) error_size = 0;
    struct uspi_tracing *tracing = uspi_tracing_create();
    if (tracing == NULL) {
        if (error_size > 0) snprintf(error, error_size, "out of memory");
        return USP_ERROR_NO_MEMORY;
    }
    tracing->pid = pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
    tracing->only = only_thread <= INT32_MAX ? (pid_t)only_thread : -1;
    tracing->timeout = timeout;
    tracing->refusal = (struct uspi_refusal){.pid = tracing->pid, .text = error, .text_size = error_size};
    if (error_size > 0) error[0] = '\0';
    int status = prepare(tracing, pid);
    if (status == USP_OK) status = uspi_trace(tracing);
    if (status == USP_OK) status = hand_over(tracing, out);
    if (status == USP_OK) return USP_OK;
    uspi_tracing_end(tracing);
    if (tracing->memory >= 0) uspi_linux->close(tracing->memory);
    unmap_arenas(tracing->arenas);
    uspi_tracing_free(tracing);
    return status;
}
