/* SPDX-License-Identifier: MIT */
/* See trampoline.h. */
#include "lib/unwind/frame/trampoline.h"

static bool is_stub(struct uspi_code *code, const struct uspi_signal_stub *stub, usp_addr from) {
    const uint8_t *bytes;
    return uspi_code_read(code, from, stub->length, &bytes) == stub->length &&
           memcmp(bytes, stub->code, stub->length) == 0;
}

static bool stands_inside(struct uspi_code *code, const struct uspi_signal_stub *stub, usp_addr pc, int64_t *popped) {
    const struct uspi_backend *b = code->backend;
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

static bool is_candidate(const struct uspi_walk *walk, const struct uspi_signal_stub *stub, usp_addr pc, bool thumb) {
    if (walk->target.os != USP_OS_UNKNOWN && walk->target.os != stub->os) return false;
    return (stub->thumb != 0) == thumb && pc >= stub->entry;
}

const struct uspi_signal_stub *uspi_trampoline_at(const struct uspi_walk *walk, struct uspi_code *code, usp_addr pc,
                                                  bool thumb) {
    const struct uspi_backend *b = walk->backend;
    for (size_t i = 0; i < b->stub_count; i++) {
        const struct uspi_signal_stub *stub = &b->stubs[i];
        if (is_candidate(walk, stub, pc, thumb) && is_stub(code, stub, pc - stub->entry)) return stub;
    }
    return NULL;
}

const struct uspi_signal_stub *uspi_trampoline_around(const struct uspi_walk *walk, struct uspi_code *code, usp_addr pc,
                                                      bool thumb, int64_t *popped) {
    const struct uspi_backend *b = walk->backend;
    for (size_t i = 0; i < b->stub_count; i++) {
        const struct uspi_signal_stub *stub = &b->stubs[i];
        *popped = 0;
        if (!is_candidate(walk, stub, pc, thumb)) continue;
        if (is_stub(code, stub, pc - stub->entry) || stands_inside(code, stub, pc, popped)) return stub;
    }
    *popped = 0;
    return NULL;
}
