/* SPDX-License-Identifier: MIT */
/* A window on the target's code: reads it in pieces and decodes the instruction at an address. The explorer interprets
 * what an instruction does to the stack. */
#ifndef USPI_UNWIND_FRAME_CODE_H
#define USPI_UNWIND_FRAME_CODE_H

#include "arch/backend.h"

#define USPI_CODE_WINDOW 128

struct uspi_code {
    const struct uspi_backend *backend;
    const struct usp_memory *memory;
    usp_addr from; /* target address of bytes[0] */
    uint32_t size; /* number of valid bytes */
    uint8_t bytes[USPI_CODE_WINDOW];
};

void uspi_code_init(struct uspi_code *code, const struct uspi_backend *backend, const struct usp_memory *memory);

/* Reads up to n bytes of code at `at`; n <= USPI_CODE_WINDOW / 2. *bytes points into the window and is valid until the
 * next call. Returns how many of the n bytes are readable; fewer only where readable code ends. */
size_t uspi_code_read(struct uspi_code *code, usp_addr at, size_t n, const uint8_t **bytes);

/* Decodes the instruction at pc. Returns false when its bytes cannot be read or decoded. */
bool uspi_code_decode(struct uspi_code *code, usp_addr pc, uint32_t mode, struct uspi_instruction *out);

/* Returns whether an instruction at pc, where uspi_code_decode was called last, may reach past the readable code. */
bool uspi_code_ends(const struct uspi_code *code, usp_addr pc);

/* What the code before a return address shows. The address is stripped, and its bit 0 is in `thumb`. */
enum uspi_call_site {
    USPI_CALL_UNREADABLE, /* the code cannot be read */
    USPI_CALL_BEFORE,     /* a call ends there */
    USPI_PC_READ_BEFORE,  /* a call of the next instruction ends there, which only reads the pc */
    USPI_NO_CALL_BEFORE
};

/* *target becomes the callee if the call has a constant one, otherwise 0. */
enum uspi_call_site uspi_code_call_before(struct uspi_code *code, usp_addr return_address, bool thumb,
                                          usp_addr *target);

#endif
