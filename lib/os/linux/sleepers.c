/* SPDX-License-Identifier: MIT */
/* See sleepers.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/sleepers.h"

#include "arch/backend.h"
#include "arch/host.h"
#include "lib/base/processor.h"

#include <string.h>

/* Whether a thread sleeps uninterruptibly now. *ran becomes its processor time. */
static bool sleeps(const struct uspi_tracing *tracing, size_t i, uint64_t *ran) {
    struct uspi_proc_stat stat;
    const pid_t tid = tracing->tids[i];
    return uspi_proc_stat(tracing->pid, tid, &stat) == 0 && stat.state == 'D' &&
           uspi_proc_run_time(tracing->pid, tid, ran) == 0;
}

static bool sleeps_since(const struct uspi_tracing *tracing, size_t i, uint64_t ran) {
    uint64_t now;
    return sleeps(tracing, i, &now) && now == ran;
}

/* ---- threads that are known to sleep ---- */

static struct uspi_known_sleeper *find_known(struct uspi_tracing *tracing, pid_t tid) {
    for (size_t k = 0; k < USPI_SLEEPERS; k++) {
        if (tracing->sleepers[k].tid == tid) return &tracing->sleepers[k];
    }
    return NULL;
}

static void remember(struct uspi_tracing *tracing, size_t i) {
    struct uspi_known_sleeper *known = find_known(tracing, tracing->tids[i]);
    if (known == NULL) known = find_known(tracing, 0);
    if (known != NULL) *known = (struct uspi_known_sleeper){tracing->tids[i], tracing->traced[i].ran};
}

static void find_known_sleepers(struct uspi_tracing *tracing) {
    for (size_t i = 0; i < tracing->count; i++) {
        struct uspi_known_sleeper *known = find_known(tracing, tracing->tids[i]);
        if (known == NULL) continue;
        struct uspi_traced *t = &tracing->traced[i];
        t->ran = known->ran;
        t->is_asleep = sleeps_since(tracing, i, t->ran);
        if (!t->is_asleep) known->tid = 0;
    }
}

/* ---- finding them ---- */

void uspi_sleepers_find(struct uspi_tracing *tracing) {
    size_t found = 0;
    if (tracing->is_given) {
        find_known_sleepers(tracing);
        return;
    }
    for (size_t i = 0; i < tracing->count; i++) {
        struct uspi_traced *t = &tracing->traced[i];
        t->looked = !t->is_kernel && tracing->threads[i].info.run_state == 'D' && sleeps(tracing, i, &t->ran) ? 1 : 0;
        found += t->looked != 0;
    }
    if (found == 0) return;
    uspi_linux->sleep(USPI_LONG_SLEEP);
    for (size_t i = 0; i < tracing->count; i++) {
        struct uspi_traced *t = &tracing->traced[i];
        t->is_asleep = t->looked != 0 && sleeps_since(tracing, i, t->ran);
        t->looked = 0;
    }
}

bool uspi_sleepers_look(struct uspi_tracing *tracing, size_t i, uint64_t now) {
    struct uspi_traced *t = &tracing->traced[i];
    if (t->looked != 0 && now - t->looked < USPI_LONG_SLEEP) return false;
    if (t->looked != 0 && sleeps_since(tracing, i, t->ran)) {
        t->is_asleep = true;
        /* It may have run when it was listed. */
        tracing->threads[i].info.run_state = 'D';
        remember(tracing, i);
        return true;
    }
    t->looked = sleeps(tracing, i, &t->ran) ? now : 0;
    return false;
}

/* ---- their registers ---- */

/* DWARF numbers of the registers that have a system call's arguments (syscall(2)). */
static const uint8_t x86_64_arguments[] = {5, 4, 1, 10, 8, 9};
static const uint8_t arm64_arguments[] = {0, 1, 2, 3, 4, 5};

static void set(struct usp_registers *registers, unsigned reg, usp_addr value) {
    registers->value[reg] = value;
    registers->known |= UINT64_C(1) << reg;
}

static bool take_registers(const struct uspi_tracing *tracing, size_t i) {
    struct uspi_proc_call call;
    struct usp_registers *registers = &tracing->threads[i].copy.registers;
    if (uspi_proc_call(tracing->pid, tracing->tids[i], &call) < 0) return false;
    const uint32_t arch = tracing->arch != USP_ARCH_NONE ? tracing->arch : USPI_HOST_ARCH;
    const uint8_t *arguments = arch == USP_ARCH_X86_64  ? x86_64_arguments
                               : arch == USP_ARCH_ARM64 ? arm64_arguments
                                                        : NULL;
    uspi_registers_init(registers, arch);
    usp_registers_set_pc(registers, call.pc);
    usp_registers_set_sp(registers, call.sp);
    for (unsigned k = 0; call.number >= 0 && arguments != NULL && k < sizeof x86_64_arguments; k++) {
        set(registers, arguments[k], call.arguments[k]);
    }
    return true;
}

bool uspi_sleepers_take(struct uspi_tracing *tracing) {
    bool has_woken = false;
    size_t done = 0;
    uspi_limit_begin_copying(&tracing->limit);
    for (size_t i = 0; i < tracing->count; i++) {
        struct uspi_traced *t = &tracing->traced[i];
        struct uspi_stopped_thread *thread = &tracing->threads[i];
        if (!t->is_asleep || thread->status != USP_OK) continue;
        if (uspi_limit_is_over(&tracing->limit, done++)) {
            thread->status = USP_ERROR_TIMEOUT;
            continue;
        }
        if (take_registers(tracing, i) && sleeps_since(tracing, i, t->ran)) {
            thread->info.flags |= USP_THREAD_NOT_STOPPED;
            continue;
        }
        t->is_asleep = false;
        has_woken = true;
    }
    return has_woken;
}

void uspi_sleepers_confirm(struct uspi_tracing *tracing) {
    size_t done = 0;
    uspi_limit_begin_copying(&tracing->limit);
    for (size_t i = 0; i < tracing->count; i++) {
        struct uspi_stopped_thread *thread = &tracing->threads[i];
        if (!tracing->traced[i].is_asleep || thread->status != USP_OK) continue;
        if (uspi_limit_is_over(&tracing->limit, done++) || !sleeps_since(tracing, i, tracing->traced[i].ran)) {
            thread->status = USP_ERROR_TIMEOUT;
            continue;
        }
        /* "0": the kernel does not say. */
        const long n =
            uspi_proc_read(tracing->pid, tracing->tids[i], "wchan", thread->wait_channel, sizeof thread->wait_channel);
        if (n <= 0 || strcmp(thread->wait_channel, "0") == 0) thread->wait_channel[0] = '\0';
    }
}

#endif
