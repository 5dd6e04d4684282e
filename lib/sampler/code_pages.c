/* SPDX-License-Identifier: MIT */
/* See code_pages.h. */
#include "lib/sampler/code_pages.h"

#include "arch/backend.h"
#include "lib/base/hash.h"

/* Four sums run side by side, because each step of one has to wait for its multiplication. */
#define SUMS 4u

void uspi_code_pages_forget(struct uspi_code_pages *code) {
    code->count = 0;
    code->is_full = false;
}

static bool sum_page(const struct usp_memory *memory, usp_addr page, uint64_t *sum) {
    uint8_t bytes[USPI_LEAST_PAGE];
    uint64_t sums[SUMS] = {0};
    if (memory->read(memory->context, page, bytes, sizeof bytes) != 0) return false;
    for (size_t at = 0; at < sizeof bytes; at += 8 * (size_t)SUMS) {
        for (size_t i = 0; i < SUMS; i++) sums[i] = uspi_add_word(sums[i], uspi_le64(bytes + at + 8 * i));
    }
    *sum = 0;
    for (size_t i = 0; i < SUMS; i++) *sum = uspi_add_word(*sum, sums[i]);
    return true;
}

static void note(struct uspi_code_pages *code, usp_addr page) {
    for (uint32_t i = 0; i < code->count; i++) {
        if (code->pages[i] != page) continue;
        code->last = i;
        return;
    }
    if (code->is_full || usp_images_find(code->images, page) != NULL) return;
    if (code->count == USPI_CODE_PAGES_MAX || !sum_page(&code->behind, page, &code->sums[code->count])) {
        code->is_full = true;
        return;
    }
    code->last = code->count;
    code->pages[code->count++] = page;
}

int uspi_code_pages_read(void *context, usp_addr from, void *to, size_t n) {
    struct uspi_code_pages *code = context;
    const int status = code->behind.read(code->behind.context, from, to, n);
    if (status != 0 || n == 0) return status;
    const usp_addr mask = ~(usp_addr)(USPI_LEAST_PAGE - 1);
    for (usp_addr page = from & mask; page <= ((from + n - 1) & mask); page += USPI_LEAST_PAGE) {
        if (code->count == 0 || code->pages[code->last] != page) note(code, page);
    }
    return status;
}

bool uspi_code_pages_are_same(const struct uspi_code_pages *code) {
    for (uint32_t i = 0; i < code->count; i++) {
        uint64_t sum;
        if (!sum_page(&code->behind, code->pages[i], &sum) || sum != code->sums[i]) return false;
    }
    return true;
}
