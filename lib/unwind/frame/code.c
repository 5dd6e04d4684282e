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
 * code that does not end at a page boundary (a core's segment, a buffer). Where the first byte cannot be read, as in a
 * vdso without a file, one more read shows it. */
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
        } else if (code->size == 0 && want == USPI_CODE_WINDOW && !read_piece(code, from, 0, 1)) {
            return;
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

/* Maximum number of instructions after a call of the next instruction that are examined. */
#define READ_MAX 4

/* What is known about the return address that a call of the next instruction has made. */
struct returned_to {
    unsigned reg;    /* the register that contains it; USPI_NO_REGISTER: it is at sp + slot */
    int64_t slot;    /* x86 */
    bool was_loaded; /* x86: it is also in another register */
};

/* Returns whether an instruction's effects use the return address as a number: x86 code removes it from the stack or
 * changes it there, arm code computes with the link register. *is_kept becomes false if the instruction begins a frame
 * or overwrites the link register: then the code is a function. */
static bool uses_as_number(const struct uspi_backend *b, const struct uspi_instruction *i, struct returned_to *at,
                           bool *is_kept) {
    for (unsigned n = 0; n < i->effect_count; n++) {
        const struct uspi_effect *e = &i->effects[n];
        const bool is_memory = e->op == USPI_LOAD || e->op == USPI_STORE;
        if (at->reg != USPI_NO_REGISTER) {
            const bool is_read = e->base == at->reg || (e->op >= USPI_ADD && e->index == at->reg);
            if (!is_memory && e->op != USPI_LITERAL && is_read && e->reg != at->reg && e->reg != b->pc) return true;
            if (e->reg == at->reg) *is_kept = false;
        } else if (is_memory && e->base == b->sp && e->value == at->slot) {
            if (e->op == USPI_STORE) return true;
            at->was_loaded = e->reg != b->pc || at->was_loaded;
        } else if (e->op == USPI_SET && e->reg == b->sp && e->base == b->sp) {
            at->slot -= e->value;
        }
    }
    if (at->reg != USPI_NO_REGISTER) return false;
    if (at->slot > 0) *is_kept = false;
    return at->slot < 0 && i->flow == USPI_NEXT;
}

/* Returns whether the code after a call of the next instruction reads the return address as its own address. x86:
 * `pop %ebx`, `add $4,%esp`, or `mov (%esp),%eax` and a return. arm: `add r0, lr, #8`. Otherwise that code is a
 * function that does not return, placed directly after its caller. */
static bool reads_pc(struct uspi_code *code, usp_addr at, bool thumb) {
    const struct uspi_backend *b = code->backend;
    struct returned_to returned = {.reg = b->lr, .slot = 0, .was_loaded = false};
    uint32_t mode = thumb ? USPI_MODE_THUMB : 0;
    struct uspi_instruction i;
    bool is_kept = true;
    for (unsigned n = 0; n < READ_MAX && is_kept && uspi_code_decode(code, at, mode, &i); n++) {
        if (uses_as_number(b, &i, &returned, &is_kept)) return true;
        if (i.flow != USPI_NEXT) return i.flow == USPI_RETURN && returned.was_loaded;
        if ((i.clobbers >> b->sp & 1) != 0) return false;
        at += i.length;
        mode = i.mode;
    }
    return false;
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
            if (!backend->follows_call(bytes, n, return_address, thumb, target)) return USPI_NO_CALL_BEFORE;
            const bool is_next = *target == return_address;
            return is_next && reads_pc(code, return_address, thumb) ? USPI_PC_READ_BEFORE : USPI_CALL_BEFORE;
        }
        if (n < backend->code_align) break;
    }
    return USPI_CALL_UNREADABLE;
}
