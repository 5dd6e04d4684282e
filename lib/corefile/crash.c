/* SPDX-License-Identifier: MIT */
/* Says in words what ended a process, of an ELF core or a crash report: the signal, its code, the fault address and what
 * lies there. */
#include "lib/corefile/build.h"

#include "lib/corefile/crash.h"

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
static bool has_address(uint32_t signal, int32_t code) {
    return (1u << signal & (1u << 4 | 1u << 5 | 1u << 7 | 1u << 8 | 1u << 11)) != 0 && code > 0 && code != CODE_KERNEL;
}

static void put_access(char *to, size_t size, uint32_t access) {
    snprintf(to, size, "memory that is %sreadable, %swritable, %sexecutable",
             (access & USPI_CORE_READ) != 0 ? "" : "not ", (access & USPI_CORE_WRITE) != 0 ? "" : "not ",
             (access & USPI_CORE_EXECUTE) != 0 ? "" : "not ");
}

/* Writes what lies at the fault address. */
static void describe_place(const struct uspi_crash_facts *facts, char *to, size_t size) {
    const usp_addr at = facts->fault_address, sp = facts->sp;
    const struct usp_image *image = usp_images_find(facts->images, at);
    const bool is_writable = facts->is_mapped && (facts->access & USPI_CORE_WRITE) != 0;
    char access[96] = "";
    if (facts->is_mapped) put_access(access, sizeof access, facts->access);
    if (facts->stack_of != 0 && is_writable) {
        snprintf(to, size, "the stack of thread %" PRIu64, facts->stack_of);
    } else if (at < NULL_PAGES && !facts->is_mapped) {
        snprintf(to, size, "a null pointer%s", at != 0 ? " and an offset" : "");
    } else if (!is_writable && image == NULL && sp != 0 && (at - sp < STACK_OVERFLOW || sp - at < STACK_OVERFLOW)) {
        snprintf(to, size, "at the stack pointer, where there is no stack: a stack overflow");
    } else if (image != NULL) {
        snprintf(to, size, "%s + %" PRIu64 "%s%s", uspi_last_component(image->path), at - image->load_address,
                 facts->is_mapped ? ", " : "", access);
    } else {
        snprintf(to, size, "%s", facts->is_mapped ? access : facts->unmapped);
    }
}

char *uspi_crash_in_words(const struct uspi_crash_facts *facts) {
    char text[DESCRIPTION_ROOM], place[DESCRIPTION_ROOM / 2];
    const struct uspi_signal_code *code = uspi_signal_code_of(facts->os, facts->signal, facts->code);
    const char *name = uspi_signal_name(facts->os, facts->signal);
    int n = name != NULL ? snprintf(text, sizeof text, "%s", name)
                         : snprintf(text, sizeof text, "signal %" PRIu32, facts->signal);
    if (facts->has_code && code != NULL) {
        n += snprintf(text + n, sizeof text - (size_t)n, ", %s (%s)", code->words, code->name);
    } else if (facts->has_code) {
        n += snprintf(text + n, sizeof text - (size_t)n, ", code %d", (int)facts->code);
    }
    if (facts->has_address) {
        describe_place(facts, place, sizeof place);
        n += snprintf(text + n, sizeof text - (size_t)n, ", fault address 0x%" PRIx64 ": %s", facts->fault_address,
                      place);
    } else if (facts->has_code && (facts->code <= 0 || facts->os == USP_OS_DARWIN) && facts->sender != 0) {
        n += snprintf(text + n, sizeof text - (size_t)n, ", from process %" PRIu64 "%s", facts->sender,
                      facts->pid == (int64_t)facts->sender ? ", itself" : "");
    }
    return strdup(text);
}

static const struct uspi_core_thread *crashed_thread(const struct uspi_core *core) {
    return core->crashed < core->thread_count ? &core->threads[core->crashed] : NULL;
}

void uspi_core_describe_crash(struct uspi_core *core) {
    const struct uspi_core_segment *segment = uspi_core_memory_find(&core->memory, core->fault_address);
    struct uspi_crash_facts facts = {.os = USP_OS_LINUX,
                                     .signal = core->signal,
                                     .code = core->signal_code,
                                     .has_code = core->has_signal_code,
                                     .has_address =
                                         core->has_signal_code && has_address(core->signal, core->signal_code),
                                     .fault_address = core->fault_address,
                                     .is_mapped = segment != NULL,
                                     .access = segment != NULL ? segment->access : 0,
                                     .unmapped = "no mapping of the core",
                                     .images = core->images,
                                     .sender = core->sender,
                                     .pid = core->pid};
    /* Debuggers also write cores of processes that go on: at a breakpoint, or after they have stopped it. */
    if (!uspi_signal_dumps_core(core->signal) || (core->is_of_debugger && core->signal == SIGNAL_TRAP)) {
        core->signal = 0;
        core->signal_code = 0;
        core->crashed = SIZE_MAX;
        return;
    }
    const struct uspi_core_thread *crashed = crashed_thread(core);
    if (crashed != NULL) facts.sp = usp_registers_sp(&crashed->registers);
    for (size_t i = 0; i < core->thread_count && facts.stack_of == 0; i++) {
        const struct uspi_core_thread *thread = &core->threads[i];
        if (facts.fault_address >= thread->stack_low && facts.fault_address < thread->stack_high)
            facts.stack_of = thread->id;
    }
    if (facts.has_address) core->flags |= USP_SNAPSHOT_FAULT;
    core->crash = uspi_crash_in_words(&facts);
    if (core->crash == NULL) core->out_of_memory = true;
}
