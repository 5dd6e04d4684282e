/* SPDX-License-Identifier: MIT */
/* Notes which pages of generated code explorations read, and tells whether they have changed since. A program can replace code
 * that lies outside its images at any time; what was found out about it holds as long as all these pages stay the
 * same. */
#ifndef USPI_SAMPLER_CODE_PAGES_H
#define USPI_SAMPLER_CODE_PAGES_H

#include <unspool/images.h>
#include <unspool/unwind.h>

/* Maximum number of pages that are noted: a stack of V8 with 30 frames needs about 40. */
#define USPI_CODE_PAGES_MAX 256u

struct uspi_code_pages {
    struct usp_memory behind;        /* the memory from which code is read; while it is the same, so are its bytes */
    const struct usp_images *images; /* code in them does not change */
    bool is_full;                    /* a page was read that is not noted */
    uint32_t count, last;            /* the page that was read last; valid if count > 0 */
    usp_addr pages[USPI_CODE_PAGES_MAX];
    uint64_t sums[USPI_CODE_PAGES_MAX];
};

/* Forgets all pages. */
void uspi_code_pages_forget(struct uspi_code_pages *code);

/* A usp_memory.read function; context is the struct. */
int uspi_code_pages_read(void *context, usp_addr from, void *to, size_t n);

/* Reads all noted pages again. Returns whether none has changed. */
bool uspi_code_pages_are_same(const struct uspi_code_pages *code);

#endif
