/* SPDX-License-Identifier: MIT */
/* See truth.h. */
#include "truth.h"

#include <string.h>

#include "arch/frame.h"

#define ASYNC_PREFIX "async_"

static bool fail(struct truth *t, const char *why) {
    t->error = why;
    return false;
}

static usp_addr sp_of(const struct truth *t, const struct moment *m) {
    return m->registers.value[t->machine->backend->sp] & t->machine->backend->word_mask;
}

static usp_addr fp_of(const struct truth *t, const struct moment *m) {
    const struct uspi_backend *b = t->machine->backend;
    return m->registers.value[b->fp] & b->word_mask & (b->has_async ? ~USPI_FP_TAG_MASK : UINT64_MAX);
}

/* Returns the register in which Swift's async convention passes the context (LLVM AArch64CallingConvention.td,
 * X86CallingConv.td: SwiftAsync). */
static usp_addr context_of(const struct truth *t, const struct moment *m) {
    unsigned reg = t->machine->backend->arch == USP_ARCH_X86_64 ? 14 : 22;
    return m->registers.value[reg] & t->machine->backend->word_mask;
}

/* Sets the newest frame's function if the pc is at a function's start: after the call, or after a tail call. */
static void name_frame(struct truth *t, const struct moment *now) {
    const struct uspi_backend *b = t->machine->backend;
    const struct image_symbol *s = image_function_at(t->machine->image, now->pc);
    struct truth_frame *f = &t->frames[t->depth - 1];
    if (s == NULL || s->start != now->pc || sp_of(t, now) + b->call_push != f->cfa) return;
    f->function = s;
    f->async = b->has_async && strncmp(s->name, ASYNC_PREFIX, strlen(ASYNC_PREFIX)) == 0;
    f->context = f->async ? context_of(t, now) : 0;
}

static bool push(struct truth *t, usp_addr return_address, const struct moment *now, usp_addr caller_fp) {
    if (t->depth == TRUTH_DEPTH) return fail(t, "the program recurses too deeply");
    t->frames[t->depth++] = (struct truth_frame){.return_address = return_address,
                                                 .cfa = sp_of(t, now) + t->machine->backend->call_push,
                                                 .caller_fp = caller_fp};
    return true;
}

void truth_begin(struct truth *t, const struct machine *machine) {
    memset(t, 0, sizeof *t);
    t->machine = machine;
}

static bool is_call(const struct truth *t, const struct moment *before, const struct moment *now) {
    const struct uspi_backend *b = t->machine->backend;
    usp_addr after = before->pc + before->length;
    uint64_t word;
    if (now->pc == after) return false;
    if (b->lr != USPI_NO_REGISTER) {
        usp_addr lr = now->registers.value[b->lr];
        return (b->has_thumb ? lr & ~UINT64_C(1) : lr) == after;
    }
    return sp_of(t, now) + b->word == sp_of(t, before) && machine_load(t->machine, sp_of(t, now), b->word, &word) &&
           word == after;
}

bool truth_step(struct truth *t, const struct moment *before, const struct moment *now) {
    const struct uspi_backend *b = t->machine->backend;
    t->called = false;
    if (before == NULL) {
        if (!push(t, t->machine->root, now, 0)) return false;
        name_frame(t, now);
        return true;
    }
    if (t->depth == 0) return fail(t, "the program goes on after its end");
    const struct truth_frame *newest = &t->frames[t->depth - 1];
    if (now->pc == newest->return_address && sp_of(t, now) >= newest->cfa) {
        t->depth--;
        return true;
    }
    if (is_call(t, before, now)) {
        t->called = true;
        if (!push(t, before->pc + before->length, now, fp_of(t, before))) return false;
    } else if (sp_of(t, now) + b->call_push > newest->cfa + 4096) {
        return fail(t, "the stack pointer rose above the newest frame without a return");
    }
    name_frame(t, now);
    return true;
}

unsigned truth_pcs(const struct truth *t, const struct moment *now, usp_addr pcs[TRUTH_DEPTH + 1]) {
    unsigned n = 0;
    pcs[n++] = now->pc;
    for (unsigned i = t->depth; i-- > 0;) pcs[n++] = t->frames[i].return_address;
    return n;
}

bool truth_has_record(const struct truth *t, const struct moment *now) {
    usp_addr fp = fp_of(t, now);
    return t->depth > 0 && fp >= sp_of(t, now) - t->machine->backend->red_zone && fp < t->frames[t->depth - 1].cfa;
}

unsigned truth_async(const struct truth *t, const struct moment *now, bool early, uint64_t address_mask, usp_addr *pcs,
                     unsigned capacity) {
    unsigned word = t->machine->backend->word, n = 0;
    uint64_t context = 0, parent, resume;
    for (unsigned i = t->depth; i-- > 0 && context == 0;) {
        const struct truth_frame *f = &t->frames[i];
        /* A frame that has made a call has its record. */
        bool has_record = early || i + 1 < t->depth || truth_has_record(t, now);
        if (f->async && has_record) context = f->context;
    }
    while (context != 0 && n < capacity && machine_load(t->machine, context, word, &parent) &&
           machine_load(t->machine, context + word, word, &resume)) {
        pcs[n++] = resume & address_mask;
        context = parent & address_mask;
    }
    return n;
}
