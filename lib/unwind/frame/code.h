/* SPDX-License-Identifier: MIT */
/* A window on the target's text: reads it in pieces, decodes the instruction at an address.
 * What an instruction means for the stack is the explorer's. */
#ifndef USPI_CODE_H
#define USPI_CODE_H

#include "arch/backend.h"

#define USPI_CODE_WINDOW 128

struct uspi_code {
    const struct uspi_backend *backend;
    const struct usp_memory *memory;
    usp_addr from; /* target address of bytes[0] */
    uint32_t size; /* valid bytes */
    uint8_t bytes[USPI_CODE_WINDOW];
};

void uspi_code_init(struct uspi_code *code, const struct uspi_backend *backend, const struct usp_memory *memory);

/* The text at `at`: up to n bytes, n <= USPI_CODE_WINDOW / 2. *bytes points into the window until the next call. Returns
 * how many of the n can be read; fewer only where readable text ends. */
size_t uspi_code_read(struct uspi_code *code, usp_addr at, size_t n, const uint8_t **bytes);

/* Decodes the instruction at pc. False when its bytes cannot be read or are none. */
bool uspi_code_decode(struct uspi_code *code, usp_addr pc, uint32_t mode, struct uspi_instruction *out);

/* What the code before a return address (stripped; bit 0 in `thumb`) says. */
enum uspi_call_site {
    USPI_CALL_UNREADABLE, /* nothing: it cannot be read */
    USPI_CALL_BEFORE,     /* a call ends there */
    USPI_NO_CALL_BEFORE
};

/* *target becomes the callee where the call names it, 0 otherwise. */
enum uspi_call_site uspi_code_call_before(struct uspi_code *code, usp_addr return_address, bool thumb,
                                          usp_addr *target);

#endif
