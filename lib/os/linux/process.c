/* SPDX-License-Identifier: MIT */
/* Stops by a tracer, of another process or of this one: prepares what the tracer needs, and hands over its copies.
 * tracer.h has how threads are stopped, refusal.h the messages for users. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kept {
    int memory;
    struct uspi_arena arenas[USPI_ARENAS];
};

static void release(void *owned) {
    struct kept *kept = owned;
    uspi_linux->close(kept->memory);
    for (unsigned i = 0; i < USPI_ARENAS; i++) {
        if (kept->arenas[i].bytes != NULL) uspi_linux->unmap(kept->arenas[i].bytes, kept->arenas[i].size);
    }
    free(kept);
}

/* Returns the part of a stack in which the innermost part ends that was copied. What was not copied of it counts as
 * unreadable, because the thread runs again and changes it. */
static struct uspi_hole not_copied(const struct uspi_stack_extent *e) {
    if (e->capacity == 0 && e->from == 0) return (struct uspi_hole){0, 0};
    usp_addr from = e->from + e->copied, high = e->high != 0 ? e->high : from + USPI_STACK_MAX;
    return (struct uspi_hole){from, high > from ? high : from};
}

static void describe_copy(const struct uspi_tracing *tracing, size_t i) {
    const struct uspi_traced *from = &tracing->traced[i];
    struct uspi_stopped_thread *to = &tracing->threads[i];
    if (to->status == USP_OK && !from->stopped && !from->is_asleep && !from->is_kernel) to->status = USP_ERROR_TIMEOUT;
    to->copy.stopped_ns = from->stopped ? tracing->ended - from->running : 0;
    to->copy.lacks_registers = from->is_asleep;
    to->copy.stack_low = from->extents[USPI_OWN_STACK].low;
    to->copy.stack_high = from->extents[USPI_OWN_STACK].high;
    for (unsigned k = 0; k < USPI_STACKS; k++) {
        const struct uspi_stack_extent *e = &from->extents[k];
        to->copy.parts[k] = (struct uspi_copied){e->bytes, e->from, e->copied};
        to->copy.parts[USPI_OUTER_PART + k] = (struct uspi_copied){e->outer.bytes, e->outer.from, e->outer.copied};
        to->copy.holes[k] = not_copied(e);
    }
}

void uspi_linux_describe_copies(const struct uspi_tracing *tracing) {
    for (size_t i = 0; i < tracing->count; i++) describe_copy(tracing, i);
}

static int hand_over(struct uspi_tracing *tracing, struct uspi_stopped_process *out) {
    struct kept *kept = malloc(sizeof *kept);
    if (kept == NULL) return uspi_refuse(&tracing->refusal, USP_ERROR_NO_MEMORY, "out of memory");
    uspi_linux_describe_copies(tracing);
    kept->memory = tracing->memory;
    memcpy(kept->arenas, tracing->arenas, sizeof kept->arenas);
    memset(tracing->arenas, 0, sizeof tracing->arenas);
    tracing->memory = -1;
    out->threads = tracing->threads;
    tracing->threads = NULL;
    out->thread_count = tracing->count;
    out->contexts = tracing->contexts;
    memset(&tracing->contexts, 0, sizeof tracing->contexts);
    out->pid = tracing->pid;
    out->arch = tracing->arch;
    out->pac_mask = tracing->pac_mask;
    out->stopped_ns = tracing->limit.began != 0 ? tracing->ended - tracing->limit.began : 0;
    out->has_moved = tracing->has_moved;
    out->live = (struct usp_memory){uspi_proc_memory_read, (void *)(intptr_t)kept->memory};
    out->owned = kept;
    out->release = release;
    return USP_OK;
}

int uspi_linux_prepare_tracing(struct uspi_tracing *tracing, int64_t pid) {
    struct uspi_refusal *refusal = &tracing->refusal;
    const bool is_own = tracing->pid == uspi_linux->own_process();
    long e;
    if (is_own && tracing->except == 0) {
        return uspi_refuse(refusal, USP_ERROR_ARGUMENT, "process %d is this one: usp_snapshot_create_self captures it",
                           tracing->pid);
    }
    if (uspi_refuse_no_process(refusal, pid) != USP_OK) return refusal->status;
    if ((e = is_own ? tracing->except : uspi_linux_living_thread(pid)) < 0) {
        return uspi_refuse_system(refusal, e, "/proc/PID/task");
    }
    tracing->living = (pid_t)e;
    e = uspi_proc_memory_open(tracing->living, &tracing->memory);
    if (e < 0) return uspi_refuse_system(refusal, e, "/proc/PID/mem");
    tracing->pagemap = uspi_proc_pagemap_open(tracing->living);
    e = uspi_proc_threads_open(&tracing->list, pid, tracing->listing, sizeof tracing->listing);
    return e < 0 ? uspi_refuse_system(refusal, e, "/proc/PID/task") : USP_OK;
}

static void end_tracing(struct uspi_tracing *tracing) {
    if (tracing->memory >= 0) uspi_linux->close(tracing->memory);
    if (tracing->pagemap >= 0) uspi_linux->close(tracing->pagemap);
    uspi_tracing_free(tracing);
}

/* Stops a process, and hands over the copies.
 *   except  the calling thread if the process is this one; otherwise 0 */
static int stop(int64_t pid, pid_t except, const struct uspi_stop_options *options, struct uspi_stopped_process *out,
                struct uspi_refusal refusal) {
    struct uspi_tracing *tracing = uspi_tracing_create();
    memset(out, 0, sizeof *out);
    if (tracing == NULL) return uspi_refuse(&refusal, USP_ERROR_NO_MEMORY, "out of memory");
    tracing->pid = pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
    tracing->only = options->only_thread <= INT32_MAX ? (pid_t)options->only_thread : -1;
    tracing->except = except;
    tracing->timeout = options->timeout;
    tracing->whole_stacks = options->whole_stacks;
    tracing->images = options->images;
    tracing->before_stop = options->before_stop;
    tracing->context = options->context;
    tracing->refusal = refusal;
    tracing->refusal.pid = tracing->pid;
    int status = uspi_linux_prepare_tracing(tracing, pid);
    if (status == USP_OK) status = uspi_trace(tracing);
    if (status == USP_OK) status = hand_over(tracing, out);
    end_tracing(tracing);
    return status;
}

int uspi_os_stop_process(int64_t pid, const struct uspi_stop_options *options, struct uspi_stopped_process *out,
                         char *error, size_t error_size) {
    if (error == NULL) error_size = 0;
    if (error_size > 0) error[0] = '\0';
    return stop(pid, 0, options, out, (struct uspi_refusal){.text = error, .text_size = error_size});
}

int uspi_linux_copy_sleepers(const struct uspi_known_sleeper *sleepers, size_t count, bool whole_stacks,
                             uint64_t timeout, struct uspi_stopped_process *out) {
    struct uspi_tracing *tracing = uspi_tracing_create();
    memset(out, 0, sizeof *out);
    if (tracing == NULL) return USP_ERROR_NO_MEMORY;
    tracing->pid = uspi_linux->own_process();
    tracing->except = uspi_linux->own_thread();
    tracing->timeout = timeout;
    tracing->whole_stacks = whole_stacks;
    int status = uspi_linux_prepare_tracing(tracing, tracing->pid);
    if (status == USP_OK) status = uspi_trace_asleep(tracing, sleepers, count);
    if (status == USP_OK) status = hand_over(tracing, out);
    end_tracing(tracing);
    return status;
}

int uspi_linux_stop_by_helper(const struct uspi_stop_options *options, struct uspi_stopped_process *out) {
    return stop(uspi_linux->own_process(), uspi_linux->own_thread(), options, out, (struct uspi_refusal){0});
}

#endif
