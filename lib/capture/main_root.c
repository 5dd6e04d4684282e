/* SPDX-License-Identifier: MIT */
/* See main_root.h.
 *
 *     | argc, argv …                       |  stack_top
 *     | return into _start                 |
 *     | __libc_start_main                  |
 *     | return into __libc_start_main      |  glibc since 2.34: one function more
 *     | __libc_start_call_main             |
 *     | return into __libc_start_call_main |  the root: call *main; mov result, argument; call exit
 *     | main                               | */
#include "lib/capture/main_root.h"
#include "lib/unwind/frame/return_address.h"

/* The frames between argc and main take some 300 bytes in glibc and musl, on all processors. */
#define WINDOW 4096u
/* Instructions between the return and the call of exit: one moves the result (or two, on i386). */
#define INSTRUCTIONS 5u

static bool exits_with_result(struct uspi_code *code, const struct uspi_return_address *ra, usp_addr exit) {
    struct uspi_instruction i;
    usp_addr pc = ra->pc;
    uint32_t mode = (ra->flags & USP_FRAME_THUMB) != 0 ? USPI_MODE_THUMB : 0;
    for (unsigned n = 0; n < INSTRUCTIONS && uspi_code_decode(code, pc, mode, &i); n++) {
        if (i.flow == USPI_CALL) return i.target == exit;
        if (i.flow != USPI_NEXT || i.conditional) return false;
        pc += i.length;
        mode = i.mode;
    }
    return false;
}

int uspi_find_main_root(const struct usp_target *target, usp_addr stack_top, usp_addr exit, usp_addr *root) {
    const struct uspi_backend *b = uspi_backend_find(target->arch);
    if (b == NULL || exit == 0 || stack_top < WINDOW) return USP_ERROR_NOT_FOUND;
    struct uspi_walk walk = {.backend = b, .target = *target, .strip_mask = UINT64_MAX};
    if (b->has_signatures && target->pac_mask != 0) walk.strip_mask = ~target->pac_mask;
    walk.target.root_count = 0;
    struct uspi_code code;
    uspi_code_init(&code, b, uspi_code_memory(&walk));
    unsigned step = b->slot;
    for (usp_addr at = (stack_top & ~(usp_addr)(step - 1)) - step; at > stack_top - WINDOW; at -= step) {
        uint64_t value;
        if (!uspi_read_slot(&walk, at, &value)) break;
        struct uspi_return_address ra = uspi_judge_return_address(&walk, &code, value);
        if (ra.credit == USPI_VERIFIED && ra.callee == 0 && exits_with_result(&code, &ra, exit)) {
            *root = ra.pc;
            return USP_OK;
        }
    }
    return USP_ERROR_NOT_FOUND;
}
