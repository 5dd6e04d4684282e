/* SPDX-License-Identifier: MIT */
/* See classic.h. */
#include "classic.h"

unsigned classic_walk(const struct machine *machine, const struct moment *now, usp_addr *pcs, unsigned capacity) {
    const struct uspi_backend *b = machine->backend;
    uint64_t thumb = b->has_thumb ? 1 : 0, previous, address;
    unsigned n = 0;
    pcs[n++] = now->pc;
    if (b->lr != USPI_NO_REGISTER && now->registers.value[b->lr] != 0) {
        pcs[n++] = now->registers.value[b->lr] & b->word_mask & ~thumb;
    }
    usp_addr fp = now->registers.value[b->fp] & b->word_mask;
    while (n < capacity && fp != 0 && machine_load(machine, fp, b->slot, &previous) &&
           machine_load(machine, fp + b->slot, b->slot, &address)) {
        address &= b->word_mask & ~thumb;
        if (address == 0) break;
        pcs[n++] = address;
        fp = previous & b->word_mask;
    }
    return n;
}
