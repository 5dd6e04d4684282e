/* SPDX-License-Identifier: MIT */
/* See interruption.h. */
#include "lib/capture/interruption.h"

#include "lib/os/os.h"
#include "lib/unwind/readers/decide.h"
#include "lib/unwind/signals/sigframe.h"

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
    struct uspi_step step;
    const struct usp_registers *registers = &step.caller.registers;
    usp_registers_init(&frame.registers, b->arch);
    uspi_set(&frame.registers, b->pc, uspi_host_strip(raw));
    uspi_set(&frame.registers, b->fp, record->previous);
    if (b->call_push != 0) uspi_set(&frame.registers, b->sp, frame.low);
    frame.sp_known = b->call_push != 0;
    if (b->has_thumb && (raw & 1) != 0) frame.flags = USP_FRAME_THUMB;
    uspi_find_caller(walk, &frame, NULL, USP_READER_SIGNAL, &step);
    if (!step.is_settled) return;
    interruption->is_there = true;
    interruption->fp = (uintptr_t)record->previous;
    /* A handler that has aligned its stack itself has its record elsewhere. Then these registers are invalid. */
    bool is_right = b->call_push == 0 || registers->value[b->fp] == record->previous;
    if (!step.found || !is_right) return;
    interruption->pc = (uintptr_t)registers->value[b->pc];
    interruption->fp = (uintptr_t)registers->value[b->fp];
}

void uspi_find_interruption(const struct uspi_record *record, struct uspi_interruption *interruption) {
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
