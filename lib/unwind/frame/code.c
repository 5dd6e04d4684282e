/* SPDX-License-Identifier: MIT */
/* See code.h. */
#include "lib/unwind/frame/code.h"

void uspi_code_init(struct uspi_code *code, const struct uspi_backend *backend, const struct usp_memory *memory) {
    code->backend = backend;
    code->memory = memory;
    code->from = 0;
    code->size = 0;
}

static bool read_piece(struct uspi_code *code, usp_addr from, uint32_t to, uint32_t n) {
    return code->memory->read(code->memory->context, from, code->bytes + to, n) == 0;
}

/* Fills the window from `at` on. Readable code can end at any page, and a reader gives all bytes or none. So a read
 * stops at the page's end, and the next one continues after it. Halving the size of a read that fails finds the end of
 * code that does not end at a page boundary (a core's segment, a buffer). */
static void fill(struct uspi_code *code, usp_addr at) {
    code->from = at;
    code->size = 0;
    for (uint32_t want = USPI_CODE_WINDOW; code->size < USPI_CODE_WINDOW && want > 0;) {
        usp_addr from = at + code->size;
        uint32_t to_page_end = (uint32_t)(USPI_LEAST_PAGE - (from & (USPI_LEAST_PAGE - 1)));
        uint32_t n = USPI_CODE_WINDOW - code->size;
        if (n > to_page_end) n = to_page_end;
        if (n > want) n = want;
        if (read_piece(code, from, code->size, n)) {
            code->size += n;
        } else {
            want = n / 2;
        }
    }
}

size_t uspi_code_read(struct uspi_code *code, usp_addr at, size_t n, const uint8_t **bytes) {
    usp_addr offset = at - code->from;
    /* A window that is not full ends where readable code ends. */
    bool inside = offset < code->size && (n <= code->size - offset || code->size < USPI_CODE_WINDOW);
    if (!inside) {
        /* Code before `at` is often needed next: the call before a return address, a step back. */
        usp_addr from = at & ~(usp_addr)(USPI_CODE_WINDOW / 4 - 1);
        fill(code, from);
        offset = at - code->from;
        if (offset >= code->size) {
            fill(code, at);
            offset = 0;
        }
    }
    *bytes = code->bytes + offset;
    size_t have = code->size - (size_t)offset;
    return have < n ? have : n;
}

bool uspi_code_decode(struct uspi_code *code, usp_addr pc, uint32_t mode, struct uspi_instruction *out) {
    const uint8_t *bytes;
    size_t n = uspi_code_read(code, pc, code->backend->instruction_max, &bytes);
    return n > 0 && code->backend->decode(bytes, n, pc, mode, out);
}

bool uspi_code_ends(const struct uspi_code *code, usp_addr pc) {
    const usp_addr offset = pc - code->from;
    return offset >= code->size || code->size - offset < code->backend->instruction_max;
}

enum uspi_call_site uspi_code_call_before(struct uspi_code *code, usp_addr return_address, bool thumb,
                                          usp_addr *target) {
    const struct uspi_backend *backend = code->backend;
    const uint8_t *bytes;
    *target = 0;
    size_t n = backend->call_window;
    if (return_address < n) n = (size_t)return_address;
    /* At the beginning of readable code, fewer bytes can be read. */
    for (; n > 0; n -= backend->code_align) {
        if (uspi_code_read(code, return_address - n, n, &bytes) == n) {
            bool follows = backend->follows_call(bytes, n, return_address, thumb, target);
            /* A call of the next instruction only obtains the code's own address; the callee does not return there. */
            return follows && *target != return_address ? USPI_CALL_BEFORE : USPI_NO_CALL_BEFORE;
        }
        if (n < backend->code_align) break;
    }
    return USPI_CALL_UNREADABLE;
}
