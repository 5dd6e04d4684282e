/* SPDX-License-Identifier: MIT */
/* Says in words what ended the process of an ELF core: the signal, its code, the fault address and what lies there. */
#include "lib/corefile/build.h"

#include "lib/base/path.h"
#include "lib/base/signal_names.h"

#include <unspool/snapshot.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGNAL_TRAP    5
#define CODE_KERNEL    0x80    /* SI_KERNEL */
#define NULL_PAGES     0x10000 /* addresses below it are never mapped by default (vm.mmap_min_addr) */
#define STACK_OVERFLOW 0x10000 /* maximum distance of an access from the stack pointer that has left the stack */

#define DESCRIPTION_ROOM 1024

/* Whether siginfo has an address: the processor raised the signal (sigaction(2)). */
static bool has_address(const struct uspi_core *core) {
    return (1u << core->signal & (1u << 4 | 1u << 5 | 1u << 7 | 1u << 8 | 1u << 11)) != 0 && core->signal_code > 0 &&
           core->signal_code != CODE_KERNEL;
}

static const struct uspi_core_thread *crashed_thread(const struct uspi_core *core) {
    return core->crashed < core->thread_count ? &core->threads[core->crashed] : NULL;
}

static void put_access(char *to, size_t size, const struct uspi_core_segment *segment) {
    snprintf(to, size, "memory that is %sreadable, %swritable, %sexecutable",
             (segment->access & USPI_CORE_READ) != 0 ? "" : "not ",
             (segment->access & USPI_CORE_WRITE) != 0 ? "" : "not ",
             (segment->access & USPI_CORE_EXECUTE) != 0 ? "" : "not ");
}

/* Writes what lies at the fault address. */
static void describe_place(const struct uspi_core *core, char *to, size_t size) {
    const usp_addr at = core->fault_address;
    const struct uspi_core_segment *segment = uspi_core_memory_find(&core->memory, at);
    const struct usp_image *image = usp_images_find(core->images, at);
    const struct uspi_core_thread *crashed = crashed_thread(core);
    const usp_addr sp = crashed != NULL ? usp_registers_sp(&crashed->registers) : 0;
    const bool is_writable = segment != NULL && (segment->access & USPI_CORE_WRITE) != 0;
    char access[96] = "";
    if (segment != NULL) put_access(access, sizeof access, segment);
    for (size_t i = 0; is_writable && i < core->thread_count; i++) {
        const struct uspi_core_thread *thread = &core->threads[i];
        if (at < thread->stack_low || at >= thread->stack_high) continue;
        snprintf(to, size, "the stack of thread %" PRIu64, thread->id);
        return;
    }
    if (at < NULL_PAGES && segment == NULL) {
        snprintf(to, size, "a null pointer%s", at != 0 ? " and an offset" : "");
    } else if (!is_writable && image == NULL && sp != 0 && (at - sp < STACK_OVERFLOW || sp - at < STACK_OVERFLOW)) {
        snprintf(to, size, "at the stack pointer, where there is no stack: a stack overflow");
    } else if (image != NULL) {
        snprintf(to, size, "%s + %" PRIu64 "%s%s", uspi_last_component(image->path), at - image->load_address,
                 segment != NULL ? ", " : "", access);
    } else {
        snprintf(to, size, "%s", segment != NULL ? access : "no mapping of the core");
    }
}

void uspi_core_describe_crash(struct uspi_core *core) {
    char text[DESCRIPTION_ROOM], place[DESCRIPTION_ROOM / 2];
    const struct uspi_signal_code *code = uspi_signal_code(core->signal, core->signal_code);
    /* Debuggers also write cores of processes that go on: at a breakpoint, or after they have stopped it. */
    if (!uspi_signal_dumps_core(core->signal) || (core->is_of_debugger && core->signal == SIGNAL_TRAP)) {
        core->signal = 0;
        core->signal_code = 0;
        core->crashed = SIZE_MAX;
        return;
    }
    const char *name = uspi_signal_name(USP_OS_LINUX, core->signal);
    int n = snprintf(text, sizeof text, "%s", name);
    if (core->has_signal_code && code != NULL) {
        n += snprintf(text + n, sizeof text - (size_t)n, ", %s (%s)", code->words, code->name);
    } else if (core->has_signal_code) {
        n += snprintf(text + n, sizeof text - (size_t)n, ", code %d", (int)core->signal_code);
    }
    if (core->has_signal_code && has_address(core)) {
        core->flags |= USP_SNAPSHOT_FAULT;
        describe_place(core, place, sizeof place);
        n += snprintf(text + n, sizeof text - (size_t)n, ", fault address 0x%" PRIx64 ": %s", core->fault_address,
                      place);
    } else if (core->has_signal_code && core->signal_code <= 0 && core->sender != 0) {
        n += snprintf(text + n, sizeof text - (size_t)n, ", from process %" PRIu32 "%s", core->sender,
                      core->pid == (int64_t)core->sender ? ", itself" : "");
    }
    core->crash = strdup(text);
    if (core->crash == NULL) core->out_of_memory = true;
}
