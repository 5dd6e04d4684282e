/* SPDX-License-Identifier: MIT */
/* See by_rules.h. */
#include "lib/capture/by_rules.h"

#include "lib/base/processor.h"
#include "lib/capture/call_sites.h"
#include "lib/capture/own_target.h"
#include "lib/unwind/walker.h"

#include "arch/host.h"

#include <unspool/images.h>

/* How many frames are found before their addresses are taken. More would take more stack. */
#define PIECE 32u

/* Takes the frames' addresses as usp_backtrace gives them. Returns how many. */
static size_t take(const struct usp_frame *frames, uint32_t n, void **buffer) {
    for (uint32_t i = 0; i < n; i++) {
        buffer[i] = (void *)(uintptr_t)(frames[i].pc + (frames[i].kind == USP_FRAME_KIND_SIGNAL));
    }
    return n;
}

static uint32_t piece_of(size_t left) { return left < PIECE ? (uint32_t)left : PIECE; }

/* Begins a walk at a frame after a call. Returns false when that is impossible. */
static bool begin(struct uspi_walker *w, const struct usp_target *target, const struct uspi_shortcuts *shortcuts,
                  const struct uspi_call_frame *from) {
    struct usp_registers registers;
    uspi_registers_init(&registers, USPI_HOST_ARCH);
    usp_registers_set_pc(&registers, from->pc);
    usp_registers_set_sp(&registers, from->sp);
    usp_registers_set_fp(&registers, from->fp);
    if (uspi_walker_init(w, target, &registers, NULL) != USP_OK) return false;
    uspi_walker_begin_at_return(w);
    uspi_walker_take_shortcuts(w, shortcuts);
    return true;
}

/* Walks with all readers where the cached rules do not lead to the stack's end. */
static __attribute__((noinline)) size_t walk_by_readers(const struct usp_target *target,
                                                        const struct uspi_shortcuts *shortcuts,
                                                        const struct uspi_call_frame *from, void **buffer,
                                                        size_t size) {
    struct uspi_walker w;
    struct usp_frame frames[PIECE];
    size_t count = 0;
    if (!begin(&w, target, shortcuts, from)) return 0;
    while (count < size) {
        uint32_t n = uspi_walker_run(&w, frames, piece_of(size - count), true);
        if (n == 0 && uspi_walker_step(&w, frames)) n = 1;
        if (n == 0) break;
        count += take(frames, n, buffer + count);
    }
    return count;
}

/* Walks by cached rules alone. Returns false when they do not lead to the stack's end. */
static bool walk_by_rules(const struct usp_target *target, const struct uspi_shortcuts *shortcuts,
                          const struct uspi_call_frame *from, void **buffer, size_t size, size_t *count) {
    const struct uspi_backend *b = uspi_backend_find(USPI_HOST_ARCH);
    struct uspi_rule_position at = {.pc = from->pc,
                                    .sp = from->sp,
                                    .fp = from->fp,
                                    .kind = USP_FRAME_KIND_RETURN_ADDRESS,
                                    .method = USP_FRAME_METHOD_CONTEXT};
    struct uspi_rule_walk rules;
    struct usp_frame frames[PIECE];
    *count = 0;
    if (shortcuts->rules == NULL || !uspi_rule_walk_init(&rules, b, target, UINT64_MAX, shortcuts)) return false;
    while (*count < size) {
        const uint32_t capacity = piece_of(size - *count), n = uspi_rule_walk_go(&rules, &at, frames, capacity);
        *count += take(frames, n, buffer + *count);
        if (at.stop != USP_STOP_NONE) return true;
        if (n < capacity) return false;
    }
    return true;
}

/* Implements uspi_by_rules.walk. */
static size_t walk(const struct uspi_call_frame *from, void **buffer, size_t size) {
    struct usp_target target;
    struct uspi_own_surroundings own;
    size_t count;
    uspi_own_target_init(&target, &own, uspi_host_sp());
    if (!walk_by_rules(&target, &own.shortcuts, from, buffer, size, &count)) {
        count = walk_by_readers(&target, &own.shortcuts, from, buffer, size);
    }
    usp_images_release(own.ticket);
    return count;
}

/* Implements uspi_by_rules.has_record: whether the record gives the caller that the readers find. */
static bool has_record(const struct uspi_call_frame *frame) {
    const struct uspi_backend *b = uspi_backend_find(USPI_HOST_ARCH);
    struct usp_target target;
    struct uspi_own_surroundings own;
    struct uspi_walker w;
    struct usp_frame given;
    uintptr_t record[2];
    bool is_same = true;
    uspi_own_target_init(&target, &own, uspi_host_sp());
    const bool is_found = begin(&w, &target, &own.shortcuts, frame) && uspi_walker_step(&w, &given);
    /* Where the readers find no caller, the record is as good. */
    if (is_found && w.stop == USP_STOP_NONE) {
        const struct usp_registers *caller = &w.next.registers;
        is_same = frame->fp != 0 && target.memory.read(&own, frame->fp, record, sizeof record) == USP_OK &&
                  caller->value[b->pc] == uspi_host_strip(record[1]) && uspi_known(caller, b->fp) &&
                  caller->value[b->fp] == record[0] && uspi_known(caller, b->sp) &&
                  caller->value[b->sp] == frame->fp + sizeof record;
    }
    usp_images_release(own.ticket);
    return is_same;
}

static const struct uspi_by_rules by_rules = {has_record, walk};

void uspi_by_rules_begin(void) {
    const struct uspi_backend *b = uspi_backend_find(USPI_HOST_ARCH);
    if (!USPI_HOST_RECORDS || uspi_os_kind() != USP_OS_LINUX || b == NULL || b->call_push == 0) return;
    if (atomic_exchange(&uspi_capture_state.by_rules, &by_rules) == NULL) uspi_call_sites_forget();
}

void uspi_by_rules_end(void) { atomic_store(&uspi_capture_state.by_rules, NULL); }
