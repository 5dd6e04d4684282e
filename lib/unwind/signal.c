/* SPDX-License-Identifier: MIT */
/* The reader of signal frames: code that is a signal trampoline has the interrupted registers on the stack.
 *
 *        |  ucontext: all registers |  sp + stub.context
 *        |  siginfo …               |
 *  sp -> |                          |  as the handler's return leaves it
 *
 * The frame above starts afresh: an exact pc, every register known, the first-frame rule applies again. */
#include "lib/unwind/signal.h"
#include "lib/unwind/saved_state.h"

static bool is_stub(struct uspi_code *code, const struct uspi_signal_stub *stub, usp_addr from) {
    const uint8_t *bytes;
    return uspi_code_read(code, from, stub->length, &bytes) == stub->length &&
           memcmp(bytes, stub->code, stub->length) == 0;
}

/* Whether a thread stands in the stub behind its entry, where only another interruption can have left it. *popped becomes
 * what the instructions before pc took off the stack. */
static bool stands_inside(const struct uspi_backend *b, struct uspi_code *code, const struct uspi_signal_stub *stub,
                          usp_addr pc, int64_t *popped) {
    struct uspi_instruction i;
    uint32_t mode = stub->thumb != 0 ? USPI_MODE_THUMB : 0;
    *popped = 0;
    for (unsigned at = stub->entry; b->decode(stub->code + at, stub->length - at, pc, mode, &i);) {
        for (unsigned k = 0; k < i.effect_count; k++) {
            const struct uspi_effect *e = &i.effects[k];
            if (e->op == USPI_SET && e->reg == b->sp && e->base == b->sp) *popped += e->value;
        }
        at += i.length;
        if (at >= stub->length) return false;
        if (pc >= at && is_stub(code, stub, pc - at)) return true;
    }
    return false;
}

static const struct uspi_signal_stub *find_stub(const struct uspi_walk *walk, struct uspi_code *code, usp_addr pc,
                                                bool thumb, bool inside, int64_t *popped) {
    const struct uspi_backend *b = walk->backend;
    *popped = 0;
    for (size_t i = 0; i < b->stub_count; i++) {
        const struct uspi_signal_stub *stub = &b->stubs[i];
        if (walk->target.os != USP_OS_UNKNOWN && walk->target.os != stub->os) continue;
        if ((stub->thumb != 0) != thumb || pc < stub->entry) continue;
        if (is_stub(code, stub, pc - stub->entry)) return stub;
        if (inside && stands_inside(b, code, stub, pc, popped)) return stub;
    }
    *popped = 0;
    return NULL;
}

const struct uspi_signal_stub *uspi_signal_stub_at(const struct uspi_walk *walk, struct uspi_code *code, usp_addr pc,
                                                   bool thumb) {
    int64_t popped;
    return find_stub(walk, code, pc, thumb, false, &popped);
}

static bool read_context(const struct uspi_walk *walk, const struct uspi_signal_stub *stub, usp_addr at,
                         struct usp_registers *registers) {
    return uspi_read_saved_state(walk->backend, &walk->target.memory, stub->state, at, registers) == USP_OK;
}

/* On either side of the kernel's frame: the handler may run on an alternate stack. The processor keeps sp aligned to 16
 * bytes (Arm Procedure Call Standard for the Arm 64-bit Architecture, "The Stack"). */
static bool is_stack_pointer(usp_addr sp) { return sp != 0 && (sp & 15) == 0; }

/* Where sp is not known (a record-only step on arm64), the kernel's own record helps: it writes {interrupted x29, x30}
 * behind the context and points x29 at it, so the context is the one between here and there whose fp says the same
 * (Linux arch/arm64/kernel/signal.c, setup_sigframe). */
static bool search_context(const struct uspi_walk *walk, const struct uspi_signal_stub *stub,
                           const struct uspi_frame_state *frame, struct usp_registers *registers) {
    const struct uspi_backend *b = walk->backend;
    uint64_t fp, interrupted_fp, interrupted_lr;
    if (b->lr == USPI_NO_REGISTER || b->slot != 8 || !uspi_known(&frame->registers, b->fp)) return false;
    fp = frame->registers.value[b->fp];
    if (!uspi_read_slot(walk, fp, &interrupted_fp) || !uspi_read_slot(walk, fp + b->slot, &interrupted_lr))
        return false;
    for (usp_addr sp = (frame->low + 15) & ~UINT64_C(15); sp < fp && fp - sp < 65536; sp += 16) {
        if (read_context(walk, stub, sp + stub->context, registers) && registers->value[b->fp] == interrupted_fp &&
            registers->value[b->lr] == interrupted_lr && is_stack_pointer(registers->value[b->sp])) {
            return true;
        }
    }
    return false;
}

enum uspi_answer uspi_read_signal_frame(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                        struct uspi_answer_data *out) {
    const struct uspi_backend *b = walk->backend;
    usp_addr pc = frame->registers.value[b->pc];
    bool thumb = (frame->flags & USP_FRAME_THUMB) != 0;
    struct uspi_code code;
    uspi_code_init(&code, b, uspi_code_memory(walk));
    int64_t popped;
    const struct uspi_signal_stub *stub = find_stub(walk, &code, pc, thumb, frame->exact, &popped);
    if (stub == NULL) return USPI_NOT_MINE;

    struct uspi_frame_state *caller = &out->caller;
    bool found;
    if (frame->sp_known && uspi_known(&frame->registers, b->sp)) {
        usp_addr sp = frame->registers.value[b->sp] - (usp_addr)popped;
        found = read_context(walk, stub, (sp + stub->context) & b->word_mask, &caller->registers);
        out->cfa = sp;
    } else {
        found = search_context(walk, stub, frame, &caller->registers);
    }
    if (!found) {
        out->stop = USP_STOP_UNREADABLE;
        out->stop_address = frame->low;
        return USPI_STOPPED;
    }
    caller->exact = true;
    caller->sp_known = true;
    caller->kind = USP_KIND_SIGNAL;
    caller->method = USP_METHOD_SIGNAL;
    caller->low = caller->registers.value[b->sp];
    return USPI_FOUND;
}
