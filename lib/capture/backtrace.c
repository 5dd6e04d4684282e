/* SPDX-License-Identifier: MIT */
/* The fast walks of the calling thread. They use the frame-record template with direct loads inside known bounds. On a
 * stack that the OS layer does not know, they check each page once (own_stack.h). Where a function has no frame record,
 * usp_backtrace goes on by cached unwind rules (by_rules.h). They give return addresses only; lib/unwind/walker.c is
 * the typed walk. */
#include "arch/host.h"
#include "lib/base/processor.h"
#include "lib/capture/call_sites.h"
#include "lib/capture/own_stack.h"
#include "lib/os/os.h"
#include "lib/unwind/frame/interrupted.h"
#include "lib/unwind/signals/sigframe.h"

#include <unspool/capture.h>

#include <string.h>

/* ---- interruption ---- */

/* Finds the code that a signal handler interrupted, for the fast walk. A handler's frame record leads to the
 * interrupted function's record or, on arm, to one that the kernel or _sigtramp made, which may contain a stale link
 * register. No record contains the interrupted pc. The typed walk's readers of signal frames find it. */
struct uspi_interruption {
    bool is_there;
    uintptr_t pc; /* 0: not known */
    uintptr_t fp; /* where the walk continues; as in every walk along records, this record may be a caller's */
};

static int read_stack(void *context, usp_addr from, void *to, size_t n) {
    uintptr_t high;
    (void)context;
    if (!uspi_on_known_stack((uintptr_t)from, &high) || n > high - (uintptr_t)from) {
        return uspi_os_read(NULL, from, to, n);
    }
    uspi_read_directly((uintptr_t)from, to, n);
    return USP_OK;
}

/* Finds the interruption on Darwin. The kernel started _sigtramp, which called the handler, so the next record is
 * _sigtramp's. */
static __attribute__((noinline)) void find_darwin(const struct uspi_walk *walk, const struct uspi_record *record,
                                                  struct uspi_interruption *interruption) {
    const struct uspi_record_shape shape = uspi_host_record_shape();
    const struct uspi_sigframe_view view = uspi_sigframe_view_of(walk->backend, &walk->target.memory, walk->strip_mask);
    const usp_addr above = uspi_untagged(shape, record->previous);
    struct usp_registers registers;
    uintptr_t fp;
    enum uspi_sigframe_found found = uspi_sigframe_at_record(&view, above, &registers);
    if (found == USPI_NO_SIGFRAME || read_stack(NULL, above, &fp, sizeof fp) != USP_OK) return;
    interruption->is_there = true;
    interruption->fp = (uintptr_t)uspi_untagged(shape, fp);
    interruption->pc = found == USPI_SIGFRAME ? uspi_host_strip((uintptr_t)usp_registers_pc(&registers)) : 0;
}

/* Finds the interruption on Linux. The handler returns to a trampoline. Where calls push the return address, the
 * kernel's frame begins after the handler's record. */
static __attribute__((noinline)) void find_linux(struct uspi_walk *walk, const struct uspi_record *record,
                                                 struct uspi_interruption *interruption) {
    const struct uspi_backend *b = walk->backend;
    const uintptr_t raw = (uintptr_t)record->return_address;
    struct uspi_frame_state frame = {.low = record->at + 2u * b->slot};
    struct uspi_frame_state caller;
    const struct usp_registers *registers = &caller.registers;
    struct uspi_code code;
    usp_addr cfa;
    uspi_registers_init(&frame.registers, b->arch);
    uspi_set(&frame.registers, b->pc, uspi_host_strip(raw));
    uspi_set(&frame.registers, b->fp, record->previous);
    if (b->call_push != 0) uspi_set(&frame.registers, b->sp, frame.low);
    frame.sp_known = b->call_push != 0;
    if (b->has_thumb && (raw & 1) != 0) frame.flags = USP_FRAME_THUMB;
    uspi_code_init(&code, b, &walk->target.code);
    memset(&caller, 0, sizeof caller);
    const enum uspi_interrupted found = uspi_find_interrupted(walk, &code, &frame, &caller, &cfa);
    if (found == USPI_NO_TRAMPOLINE) return;
    interruption->is_there = true;
    interruption->fp = (uintptr_t)record->previous;
    /* A handler that has aligned its stack itself has its record elsewhere. Then these registers are invalid. */
    bool is_right = b->call_push == 0 || registers->value[b->fp] == record->previous;
    if (found != USPI_INTERRUPTED || !is_right) return;
    interruption->pc = (uintptr_t)registers->value[b->pc];
    interruption->fp = (uintptr_t)registers->value[b->fp];
}

/* Checks whether a record of the calling thread's stack, whose return address was judged, belongs to a function that
 * the system called for a signal. *interruption was cleared before. Async-signal-safe, thread-safe. */
static void find_interruption(const struct uspi_record *record, struct uspi_interruption *interruption) {
    struct uspi_walk walk = {.backend = uspi_backend_find(USPI_HOST_ARCH), .strip_mask = ~uspi_host_signature_bits()};
    if (walk.backend == NULL) return;
    walk.target.os = uspi_os_kind();
    walk.target.memory.read = read_stack;
    /* Code is read with a check: it may have been unloaded, and after a call that never returns there may be no
     * code. */
    walk.target.code.read = uspi_os_read;
    if (walk.target.os == USP_OS_DARWIN) {
        find_darwin(&walk, record, interruption);
    } else {
        find_linux(&walk, record, interruption);
    }
}

/* On an unknown stack, an address more than this above the last record is not a record (Libc
 * gen/thread_stack_pcs.c). */
#define MAX_GAP 0x100000u

struct walk {
    uintptr_t fp, low;                    /* address of the next record, and the lowest address that it may have */
    uintptr_t last;                       /* highest address of a record on the known stack; 0: on an unknown stack */
    uintptr_t extended;                   /* the first Swift async record found; 0: none */
    struct uspi_stack_view *stack;        /* the known part of an unknown stack */
    const struct uspi_by_rules *by_rules; /* how the walk goes on past functions without records; NULL: by records */
    struct uspi_call_frame *without;      /* gets such a function's frame, where the records end */
    void **buffer;
    size_t size, count;
};

USPI_NO_ASAN USPI_TEMPLATE bool load_direct(const void *context, usp_addr at, unsigned slot, usp_addr pair[2]) {
    (void)context;
    /* A slot may be wider than a pointer (arm64_32), with the tag in its upper half. */
    pair[0] = slot == sizeof(uint64_t) ? *(const uint64_t *)(uintptr_t)at : *(const uintptr_t *)(uintptr_t)at;
    pair[1] = *(const uintptr_t *)((uintptr_t)at + slot);
    return true;
}

/* Loads a record. Memory that is not certainly stack is copied with a check, because it may be unmapped at any
 * moment. */
USPI_NO_ASAN static bool load_checked(const void *context, usp_addr at, unsigned slot, usp_addr pair[2]) {
    const struct walk *w = context;
    uint64_t copied[2];
    if (uspi_stack_view_holds(w->stack, at, 2 * slot)) return load_direct(NULL, at, slot, pair);
    return uspi_os_read(NULL, at, copied, 2 * slot) == USP_OK && load_direct(NULL, (uintptr_t)copied, slot, pair);
}

/* Finds out whether the caller, to which the address belongs, has a frame record, and caches that. */
static enum uspi_call_site_verdict learn_kind(const struct walk *w, const struct uspi_call_frame *frame,
                                              bool is_interruption) {
    const bool lacks_record = !is_interruption && w->by_rules != NULL && !w->by_rules->has_record(frame);
    enum uspi_call_site_kind kind = is_interruption ? USPI_SITE_SIGNAL_RETURN
                                    : lacks_record  ? USPI_SITE_WITHOUT_RECORD
                                                    : USPI_SITE_WITH_RECORD;
    /* Without the rules the kind is not known. A walk that may use them would then never ask. */
    const bool is_known = w->by_rules != NULL || atomic_load(&uspi_capture_state.by_rules) == NULL;
    if (is_interruption || is_known) uspi_call_site_remember(frame->pc, kind);
    return lacks_record ? USPI_CALL_SITE_WITHOUT_RECORD : USPI_NEW_CALL_SITE;
}

/* Judges a return address that is not in its first place in the cache, and finds the code that a signal interrupted
 * there. */
static __attribute__((noinline)) enum uspi_call_site_verdict look_closer(struct walk *w,
                                                                         const struct uspi_record *record,
                                                                         uintptr_t address,
                                                                         struct uspi_interruption *interruption) {
    enum uspi_call_site_verdict verdict = uspi_call_site_judge(address, (uintptr_t)record->return_address);
    *interruption = (struct uspi_interruption){.is_there = false};
    *w->without =
        (struct uspi_call_frame){address, (uintptr_t)record->at + 2 * USPI_HOST_SLOT, (uintptr_t)record->previous};
    if (verdict == USPI_NEW_CALL_SITE || verdict == USPI_SIGNAL_RETURN) find_interruption(record, interruption);
    if (verdict == USPI_NEW_CALL_SITE) verdict = learn_kind(w, w->without, interruption->is_there);
    return verdict;
}

/* Takes records until the buffer is full, the chain ends, or (with `async`) an extended record is found. Without
 * `verify` it also stops, with USP_STOP_NONE, at a return address that is not cached. With w->by_rules it also stops,
 * with USP_STOP_NO_RECORD, before a function without a record, *w->without. */
USPI_NO_ASAN USPI_TEMPLATE enum usp_stop_reason take_records(struct walk *w, uspi_load_pair load, bool known,
                                                             bool async, bool verify) {
    const struct uspi_record_shape shape = uspi_host_record_shape();
    enum usp_stop_reason stop = USP_STOP_CAPACITY;
    usp_addr fp = w->fp, low = w->low;
    const usp_addr known_last = w->last;
    void **to = w->buffer + w->count, **const end = w->buffer + w->size;
    struct uspi_interruption interruption;
    while (to < end) {
        struct uspi_record record;
        const struct uspi_record_range range = {low, known ? known_last : low + MAX_GAP};
        stop = uspi_record_read(shape, load, known ? NULL : w, range, fp, &record);
        if (USPI_UNLIKELY(stop != USP_STOP_NONE)) break;
        uintptr_t address = uspi_host_strip((uintptr_t)record.return_address);
        if (USPI_UNLIKELY(!uspi_call_site_cached(address))) {
            if (!verify) break;
            const enum uspi_call_site_verdict verdict = look_closer(w, &record, address, &interruption);
            if (verdict == USPI_NO_CALL_SITE || (verdict == USPI_CALL_SITE_WITHOUT_RECORD && w->by_rules != NULL)) {
                stop = verdict == USPI_NO_CALL_SITE ? USP_STOP_RA_NOT_CODE : USP_STOP_NO_RECORD;
                break;
            }
            if (interruption.is_there) {
                *to++ = (void *)address;
                if (interruption.pc != 0 && to < end) *to++ = (void *)(interruption.pc + 1);
                low = record.at + 2 * shape.slot;
                fp = interruption.fp;
                continue;
            }
        }
        if (async && USPI_UNLIKELY(uspi_is_extended(shape, &record))) {
            w->extended = (uintptr_t)record.at;
            break;
        }
        *to++ = (void *)address;
        low = record.at + 2 * shape.slot;
        fp = record.previous;
    }
    w->fp = (uintptr_t)uspi_untagged(shape, fp);
    w->low = (uintptr_t)low;
    w->count = (size_t)(to - w->buffer);
    return stop;
}

USPI_NO_ASAN static void walk_unknown_stack(struct walk *w, bool async) {
    struct uspi_stack_view stack;
    uspi_stack_view_init(&stack, w->fp);
    w->stack = &stack;
    enum usp_stop_reason stop = take_records(w, load_checked, false, async, true);
    if (stop != USP_STOP_FP_BACKWARDS && stop != USP_STOP_FP_OUTSIDE) return;
    /* A handler's chain leaves the alternate signal stack for the thread's own stack, which may be above or below
     * it. */
    uintptr_t high;
    if (!uspi_os_stack(w->fp, &high)) return;
    w->low = w->fp;
    w->last = high - 2 * USPI_HOST_SLOT;
    take_records(w, load_direct, true, async, true);
}

/* Continues where the fast loop stops: at the first walk on a stack, and at the first use of a return address. */
USPI_NO_ASAN static __attribute__((noinline)) void walk_on(struct walk *w, bool async) {
    uintptr_t high;
    struct uspi_call_frame without;
    w->without = &without;
    /* Every thread's first walk comes here. */
    uspi_call_sites_begin();
    /* The unwinder needs more stack than the records, and must not overflow one that it does not know. */
    if (w->by_rules != NULL && !uspi_os_has_stack(uspi_host_sp(), USPI_BY_RULES_STACK)) w->by_rules = NULL;
    if (w->last == 0 && uspi_os_stack(w->fp, &high)) w->last = high - 2 * USPI_HOST_SLOT;
    if (w->last != 0) {
        enum usp_stop_reason stop = take_records(w, load_direct, true, async, true);
        if (stop == USP_STOP_NO_RECORD) {
            w->count += w->by_rules->walk(&without, w->buffer + w->count, w->size - w->count);
        }
    } else if (uspi_os_kind() != USP_OS_UNKNOWN) {
        w->by_rules = NULL;
        walk_unknown_stack(w, async);
    }
    w->without = NULL;
}

/* Passes a copy of the walk, so that the fast loops keep theirs in registers. */
USPI_NO_ASAN USPI_TEMPLATE void walk_on_apart(struct walk *w, bool async) {
    struct walk rest = *w;
    walk_on(&rest, async);
    *w = rest;
}

/* Walks the stack. Rare cases are in functions of their own, so that the loop needs no other registers than its own. */
USPI_NO_ASAN USPI_TEMPLATE void walk_stack(struct walk *w, bool async) {
    const uintptr_t start = w->fp;
    uintptr_t high;
    w->last = 0;
    if (USPI_UNLIKELY(!uspi_on_known_stack(start, &high))) {
        walk_on_apart(w, async);
        return;
    }
    w->last = high - 2 * USPI_HOST_SLOT;
    enum usp_stop_reason stop = take_records(w, load_direct, true, async, false);
    if (USPI_UNLIKELY(stop == USP_STOP_NONE && w->count < w->size)) walk_on_apart(w, async);
}

/* The frame record of the function in which this stands. That function must be USPI_APART: link-time optimization would
 * inline it into the program's function, whose return address would then be missing. */
#define OWN_RECORD() ((uintptr_t)__builtin_frame_address(0))

USPI_NO_ASAN USPI_APART int usp_backtrace(void **buffer, int size) {
    if (!USPI_HOST_RECORDS || buffer == NULL || size <= 0) return 0;
    struct walk w = {.fp = OWN_RECORD(), .low = OWN_RECORD(), .buffer = buffer, .size = (size_t)size};
    w.by_rules = atomic_load_explicit(&uspi_capture_state.by_rules, memory_order_acquire);
    walk_stack(&w, false);
    return (int)w.count;
}

USPI_NO_ASAN USPI_APART int usp_backtrace_records(void **buffer, int size) {
    if (!USPI_HOST_RECORDS || buffer == NULL || size <= 0) return 0;
    struct walk w = {.fp = OWN_RECORD(), .low = OWN_RECORD(), .buffer = buffer, .size = (size_t)size};
    walk_stack(&w, false);
    return (int)w.count;
}

/* Whether the walk has not reached `start` yet. A handler's chain leaves the alternate signal stack for the thread's
 * own, which may be above or below it. */
static bool is_before(uintptr_t fp, uintptr_t start, bool start_is_own) {
    uintptr_t high;
    return start_is_own && !uspi_on_known_stack(fp, &high) ? fp != 0 : fp < start;
}

USPI_NO_ASAN USPI_APART int usp_backtrace_from_fp(void *startfp, void **buffer, int size) {
    if (!USPI_HOST_RECORDS || buffer == NULL || size <= 0) return 0;
    struct walk w = {.fp = OWN_RECORD(), .low = OWN_RECORD(), .buffer = buffer, .size = 1};
    uintptr_t start = (uintptr_t)startfp, high;
    bool start_is_own = start != 0 && uspi_os_stack(start, &high);
    /* Takes one record at a time, and discards its return address. */
    while (is_before(w.fp, start, start_is_own)) {
        bool was_own = uspi_on_known_stack(w.fp, &high);
        w.count = 0;
        walk_stack(&w, false);
        if (w.count == 0) return 0;
        if (!was_own && uspi_os_stack(w.fp, &high)) w.low = w.fp;
    }
    w.count = 0;
    w.size = (size_t)size;
    walk_stack(&w, false);
    return (int)w.count;
}

/* Takes the resume addresses + 1 of the async contexts that an extended record leads to. Contexts may be anywhere in
 * memory. */
static void take_contexts(struct walk *w) {
    const struct uspi_backend *b = uspi_backend_find(USPI_HOST_ARCH);
    uintptr_t context, words[2];
    if (uspi_os_read(NULL, w->extended - 8, &context, sizeof context) != USP_OK) return;
    while (w->count < w->size) {
        context = uspi_host_strip(context);
        if (context == 0 || (context & (b->word - 1u)) != 0) return;
        if (uspi_os_read(NULL, context, words, sizeof words) != USP_OK || words[1] == 0) return;
        w->buffer[w->count++] = (void *)(uspi_host_strip(words[1]) + 1);
        context = words[0];
    }
}

USPI_NO_ASAN USPI_APART size_t usp_backtrace_async(void **buffer, size_t length, uint32_t *task_id) {
    uint32_t id = 0;
    if (task_id != NULL) *task_id = 0;
    if (!USPI_HOST_RECORDS || buffer == NULL || length == 0) return 0;
    struct walk w = {.fp = OWN_RECORD(), .low = OWN_RECORD(), .buffer = buffer, .size = length};
    bool runs_task = USPI_HOST_ASYNC && uspi_os_swift_task(&id);
    if (!runs_task) {
        walk_stack(&w, false);
        return w.count;
    }
    walk_stack(&w, true);
    if (w.extended != 0) {
        take_contexts(&w);
        if (task_id != NULL) *task_id = id;
    }
    return w.count;
}
