/* SPDX-License-Identifier: MIT */
/* See sigframe.h. */
#include "lib/unwind/signals/sigframe.h"

#include "arch/frame.h"
#include "lib/unwind/signals/saved_state.h"

/* Layouts of siginfo and ucontext with pointers of 8 bytes (wide) and of 4 bytes (narrow). Sources: xnu
 * bsd/sys/signal.h (struct user64_siginfo, user32_siginfo, both begin with the signal's number), bsd/sys/ucontext.h
 * (struct user_ucontext64, user_ucontext32, both begin with uc_onstack). */
static const struct about {
    uint8_t siginfo, ucontext;   /* sizes of the two structs */
    uint8_t link, size, machine; /* offsets in the ucontext: uc_link, uc_mcsize, uc_mcontext */
} wide = {104, 56, 32, 40, 48}, narrow = {64, 32, 20, 24, 28};

#define UCONTEXT_MAX      56
#define RECORDED_SIZE_MAX 65536u
/* Signals are numbered from 1 on (xnu bsd/sys/signal.h, __DARWIN_NSIG). */
#define SIGNALS 32u
/* Maximum distance from sp to the mcontext, in bytes: what _sigtramp's prologue may have pushed, and the kernel's frame
 * up to the mcontext. */
#define PROLOGUE_MAX 512u
/* Maximum number of frame records that are followed on one stack. */
#define HOPS 65536u

/* Argument registers on arm. _sigtramp's fourth argument is siginfo; __sigreturn's first one is ucontext. */
enum { FIRST_ARGUMENT = 0, FOURTH_ARGUMENT = 3 };

static const struct about *about(const struct uspi_sigframe *f) { return f->pointer == 8 ? &wide : &narrow; }

struct uspi_sigframe_view uspi_sigframe_view_of(const struct uspi_backend *backend, const struct usp_memory *memory,
                                                uint64_t strip_mask) {
    uint64_t mask = strip_mask & backend->word_mask;
    if (backend->has_async) mask &= ~USPI_FP_TAG_MASK;
    return (struct uspi_sigframe_view){backend, memory, mask};
}

bool uspi_find_in_mcontext(const struct uspi_backend *backend, unsigned reg, uint32_t *offset) {
    const struct uspi_state_layout *layout = uspi_saved_state_layout(backend, USP_THREAD_STATE_DARWIN_MCONTEXT);
    for (size_t k = 0; layout != NULL && k < layout->run_count; k++) {
        const struct uspi_run *run = &layout->runs[k];
        if (reg < run->first || reg - run->first >= run->count) continue;
        *offset = (uint32_t)layout->base + run->offset + (reg - run->first) * run->stride;
        return true;
    }
    return false;
}

static bool read_word(const struct uspi_sigframe_view *v, usp_addr at, unsigned n, uint64_t *value) {
    uint8_t bytes[8];
    if (v->memory->read(v->memory->context, at, bytes, n) != 0) return false;
    *value = uspi_le(bytes, n);
    return true;
}

static bool same(const struct uspi_sigframe_view *v, uint64_t a, uint64_t b) { return ((a ^ b) & v->mask) == 0; }

static bool fp_of(const struct uspi_sigframe_view *v, const struct usp_registers *r, usp_addr *fp) {
    *fp = r->value[v->backend->fp] & v->mask;
    return (r->known >> v->backend->fp & 1) != 0;
}

/* Returns the address of the ucontext that belongs to the mcontext at `machine`, which has `size` bytes. */
static usp_addr ucontext_at(const struct uspi_sigframe *f, usp_addr machine, unsigned size) {
    const struct about *a = about(f);
    return f->is_last != 0 ? machine - a->ucontext : machine + size + a->siginfo;
}

static bool points_there(const struct uspi_sigframe_view *v, usp_addr context, usp_addr machine) {
    const struct uspi_sigframe *f = v->backend->sigframe;
    uint64_t pointer;
    return read_word(v, (context + about(f)->machine) & v->backend->word_mask, f->pointer, &pointer) &&
           same(v, pointer, machine);
}

/* Whether a ucontext and its siginfo are filled as by the kernel. uc_onstack is 0 or 1, no other context follows, the
 * size is possible (i386 reports x86_64's), and siginfo has a signal's number. */
static bool is_filled(const struct uspi_sigframe_view *v, usp_addr context, unsigned size) {
    const struct uspi_sigframe *f = v->backend->sigframe;
    const struct about *a = about(f);
    uint8_t bytes[UCONTEXT_MAX];
    uint64_t signal;
    if (v->memory->read(v->memory->context, context, bytes, a->ucontext) != 0) return false;
    if (uspi_le32(bytes) > 1 || uspi_le(bytes + a->link, f->pointer) != 0) return false;
    uint64_t recorded = uspi_le(bytes + a->size, f->pointer);
    if (f->is_last != 0 ? recorded < size || recorded > RECORDED_SIZE_MAX : f->pointer == 8 && recorded != size)
        return false;
    if (!read_word(v, (context - a->siginfo) & v->backend->word_mask, 4, &signal)) return false;
    return signal >= 1 && signal < SIGNALS;
}

static enum uspi_sigframe_found read_machine(const struct uspi_sigframe_view *v, usp_addr machine, usp_addr fp,
                                             struct usp_registers *interrupted) {
    const struct uspi_backend *b = v->backend;
    int status = uspi_read_saved_state(b, v->memory, USP_THREAD_STATE_DARWIN_MCONTEXT, machine, interrupted);
    if (status != USP_OK) return status == USP_ERROR_UNREADABLE ? USPI_SIGFRAME_CUT : USPI_NO_SIGFRAME;
    return same(v, interrupted->value[b->fp], fp) ? USPI_SIGFRAME : USPI_SIGFRAME_ALTERED;
}

static enum uspi_sigframe_found look_at(const struct uspi_sigframe_view *v, usp_addr machine, usp_addr fp,
                                        struct usp_registers *interrupted) {
    const struct uspi_sigframe *f = v->backend->sigframe;
    machine &= v->backend->word_mask;
    for (unsigned i = 0; i < f->size_count; i++) {
        usp_addr context = ucontext_at(f, machine, f->sizes[i]) & v->backend->word_mask;
        if (points_there(v, context, machine) && is_filled(v, context, f->sizes[i]))
            return read_machine(v, machine, fp, interrupted);
    }
    return USPI_NO_SIGFRAME;
}

/* Looks for the kernel's frame above a CFA. If the mcontext is its first part (x86), the mcontext's size is unknown,
 * and the frame pointer that it contains identifies it. */
static enum uspi_sigframe_found look_above(const struct uspi_sigframe_view *v, usp_addr cfa, usp_addr fp,
                                           struct usp_registers *interrupted) {
    const struct uspi_backend *b = v->backend;
    const struct uspi_sigframe *f = b->sigframe;
    uint8_t bytes[24];
    uint32_t place;
    unsigned n = f->slack + b->word;
    if (!uspi_find_in_mcontext(b, b->fp, &place) || n > sizeof bytes) return USPI_NO_SIGFRAME;
    usp_addr from = (cfa + f->machine + place) & b->word_mask;
    if (f->is_last == 0 && v->memory->read(v->memory->context, from, bytes, n) != 0) return USPI_NO_SIGFRAME;
    for (unsigned more = 0; more <= f->slack; more += b->word) {
        if (f->is_last == 0 && !same(v, uspi_le(bytes + more, b->word), fp)) continue;
        enum uspi_sigframe_found found = look_at(v, cfa + f->machine + more, fp, interrupted);
        if (found != USPI_NO_SIGFRAME) return found;
    }
    return USPI_NO_SIGFRAME;
}

/* Whether an mcontext that is the last part (arm) can begin above a CFA: a ucontext points to it. Most frames need only
 * this check. */
static bool may_begin_above(const struct uspi_sigframe_view *v, usp_addr cfa) {
    const struct uspi_sigframe *f = v->backend->sigframe;
    for (unsigned more = 0; more <= f->slack; more += v->backend->word) {
        usp_addr machine = cfa + f->machine + more;
        if (points_there(v, ucontext_at(f, machine, 0), machine)) return true;
    }
    return false;
}

enum uspi_sigframe_found uspi_sigframe_at_record(const struct uspi_sigframe_view *view, usp_addr fp,
                                                 struct usp_registers *interrupted) {
    const struct uspi_backend *b = view->backend;
    uint64_t previous;
    fp &= view->mask;
    if (b->sigframe == NULL || (fp & (b->record_align - 1u)) != 0) return USPI_NO_SIGFRAME;
    /* On all of Darwin's processors a record is the top of its frame. */
    usp_addr cfa = fp + 2u * b->slot;
    if (b->sigframe->is_last != 0 && !may_begin_above(view, cfa)) return USPI_NO_SIGFRAME;
    if (!read_word(view, fp, b->slot, &previous)) return USPI_NO_SIGFRAME;
    return look_above(view, cfa, previous, interrupted);
}

enum uspi_sigframe_found uspi_sigframe_at_entry(const struct uspi_sigframe_view *view,
                                                const struct usp_registers *registers,
                                                struct usp_registers *interrupted) {
    const struct uspi_backend *b = view->backend;
    const struct uspi_sigframe *f = b->sigframe;
    usp_addr fp, sp = registers->value[b->sp] & view->mask;
    enum uspi_sigframe_found found = USPI_NO_SIGFRAME;
    if (f == NULL || (registers->known >> b->sp & 1) == 0 || !fp_of(view, registers, &fp)) return USPI_NO_SIGFRAME;
    if (f->is_last == 0) {
        /* sp is as the kernel set it, or _sigtramp's first instruction has pushed fp. */
        for (unsigned pushed = 1; pushed <= 2 && found != USPI_SIGFRAME; pushed++)
            found = look_above(view, sp + pushed * b->call_push, fp, interrupted);
        return found == USPI_SIGFRAME ? found : USPI_NO_SIGFRAME;
    }
    const usp_addr machines[] = {
        (registers->value[FOURTH_ARGUMENT] & view->mask) + about(f)->siginfo + about(f)->ucontext,
        (registers->value[FIRST_ARGUMENT] & view->mask) + about(f)->ucontext,
    };
    for (unsigned i = 0; i < 2 && found != USPI_SIGFRAME; i++) {
        if (machines[i] > sp && machines[i] - sp < PROLOGUE_MAX) found = look_at(view, machines[i], fp, interrupted);
    }
    /* A frame with another frame pointer is not accepted here: fp may belong to any function. */
    return found == USPI_SIGFRAME ? found : USPI_NO_SIGFRAME;
}

bool uspi_sigframe_leaves(const struct uspi_sigframe_view *view, const struct usp_registers *registers, usp_addr low,
                          usp_addr high, usp_addr *sp) {
    const struct uspi_backend *b = view->backend;
    struct usp_registers interrupted;
    usp_addr fp, next;
    uint64_t previous;
    if (b->sigframe == NULL || !fp_of(view, registers, &fp)) return false;
    bool is_signal = uspi_sigframe_at_entry(view, registers, &interrupted) == USPI_SIGFRAME;
    for (unsigned hops = 0; hops < HOPS; hops++) {
        if (is_signal) {
            *sp = interrupted.value[b->sp] & view->mask;
            if (*sp < low || *sp >= high) return true;
            fp_of(view, &interrupted, &next);
            if (hops != 0 && next <= fp) return false;
            fp = next;
        }
        is_signal = uspi_sigframe_at_record(view, fp, &interrupted) == USPI_SIGFRAME;
        if (is_signal) continue;
        if (!read_word(view, fp, b->slot, &previous) || (previous & view->mask) <= fp) return false;
        fp = previous & view->mask;
    }
    return false;
}
