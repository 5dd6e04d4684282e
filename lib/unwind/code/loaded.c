/* SPDX-License-Identifier: MIT */
/* See loaded.h. */
#include "lib/unwind/code/loaded.h"

/* How far before the data there can be code that loads it: the reach of A32's and T32's loads. */
#define BEFORE 4096u
/* How much code behind the data is searched for loads: A64's data is before the function. */
#define BEHIND 256u

/* Maximum size in bytes of the code that is read at a time. */
#define PIECE (USPI_CODE_WINDOW / 2)

/* Whether an instruction loads from an address, or computes it (adr). The link register gets addresses of code so. */
static bool uses(const struct uspi_backend *b, const struct uspi_instruction *i, usp_addr address) {
    if (i->data == address) return true;
    for (unsigned n = 0; n < i->effect_count; n++) {
        const struct uspi_effect *e = &i->effects[n];
        const bool is_constant = e->op == USPI_SET && e->base == USPI_NO_REGISTER;
        if (is_constant && e->reg != b->lr && ((usp_addr)e->value & b->word_mask) == address) return true;
    }
    return false;
}

/* Whether an instruction begins at an address. A T32 instruction has a second halfword if the first is above 0xe7ff. So
 * of the halfwords before the address, an even number of such ones follows another halfword, which ends an
 * instruction. */
static bool is_beginning(struct uspi_code *code, usp_addr at, bool is_thumb) {
    unsigned count = 0;
    const uint8_t *bytes;
    if (!is_thumb) return true;
    while (at >= 2 && count < PIECE && uspi_code_read(code, at - 2, 2, &bytes) == 2 && bytes[1] >= 0xe8) {
        at -= 2;
        count++;
    }
    return count % 2 == 0;
}

/* Returns the first instruction in [from, to) that uses an address, or `to`. Searches at most BEFORE bytes; at the end of
 * the address space `next` becomes 0. */
static usp_addr find_user(struct uspi_code *code, usp_addr from, usp_addr to, uint32_t mode, usp_addr address) {
    const struct uspi_backend *b = code->backend;
    const bool is_thumb = (mode & USPI_MODE_THUMB) != 0;
    const unsigned step = is_thumb ? 2 : 4;
    struct uspi_instruction i;
    for (usp_addr next; from < to && to - from <= BEFORE; from = next) {
        const uint8_t *bytes;
        next = (from | (PIECE - 1)) + 1;
        const size_t n = uspi_code_read(code, from, (size_t)((next < to ? next : to) - from), &bytes);
        uint64_t candidates = 0;
        for (size_t k = 0; k + step <= n; k += step) {
            if (b->may_use_code(bytes + k, is_thumb)) candidates |= UINT64_C(1) << k;
        }
        for (size_t k = 0; k + step <= n; k += step) {
            if ((candidates >> k & 1) == 0) continue;
            const bool is_user = uspi_code_decode(code, from + k, mode & USPI_MODE_THUMB, &i) && uses(b, &i, address);
            if (is_user && is_beginning(code, from + k, is_thumb)) return from + k;
        }
    }
    return to;
}

/* A part of the code around a word, in which its users are searched. */
struct part {
    usp_addr from;
    usp_addr to;
};

static struct part before(usp_addr at, usp_addr low) {
    const usp_addr far = at > BEFORE ? at - BEFORE : 0;
    return (struct part){low > far && low <= at ? low : far, at};
}

static struct part behind(usp_addr at) { return (struct part){at + 4, at + BEHIND}; }

/* Whether something that reads as an instruction uses the word at an address. */
static bool seems_used(struct uspi_code *code, usp_addr at, uint32_t mode, usp_addr low) {
    const struct part parts[] = {before(at, low), behind(at)};
    for (unsigned n = 0; n < 2; n++) {
        if (find_user(code, parts[n].from, parts[n].to, mode, at) != parts[n].to) return true;
    }
    return false;
}

/* Whether an instruction uses the word at an address. A constant may read as an instruction that loads some word, so a
 * user must not lie in a word that seems to be used itself. */
static bool is_used(struct uspi_code *code, usp_addr at, uint32_t mode, usp_addr low) {
    if (at % 4 != 0) return false;
    const struct part parts[] = {before(at, low), behind(at)};
    for (unsigned n = 0; n < 2; n++) {
        usp_addr user = parts[n].from;
        while ((user = find_user(code, user, parts[n].to, mode, at)) != parts[n].to) {
            if (!seems_used(code, user & ~(usp_addr)3, mode, low)) return true;
            user += (mode & USPI_MODE_THUMB) != 0 ? 2 : 4;
        }
    }
    return false;
}

/* Whether an instruction leaves the registers as they are: nop, or what means the same (mov r8, r8). */
static bool is_nop(const struct uspi_instruction *i) {
    const struct uspi_effect *e = i->effects;
    const bool is_copy = i->effect_count == 1 && e->op == USPI_SET && e->base == e->reg && e->value == 0;
    return i->flow == USPI_NEXT && i->clobbers == 0 && (i->effect_count == 0 || is_copy);
}

bool uspi_is_loaded(struct uspi_code *code, usp_addr at, uint32_t mode, usp_addr low) {
    struct uspi_instruction i;
    if (code->backend->may_use_code == NULL) return false;
    if (is_used(code, at, mode, low)) return true;
    return uspi_code_decode(code, at, mode, &i) && is_nop(&i) && is_used(code, at + i.length, mode, low);
}
