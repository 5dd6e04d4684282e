/* SPDX-License-Identifier: MIT */
/* Judges whether a word can be a return address, and finds where it leads. */
#ifndef USPI_UNWIND_FRAME_RETURN_ADDRESS_H
#define USPI_UNWIND_FRAME_RETURN_ADDRESS_H

#include "lib/unwind/frame/code.h"
#include "lib/unwind/frame/walk.h"

/* How credible a return address is. */
enum uspi_credit {
    USPI_REFUTED,    /* it is 0, is known not to be code, or does not follow a call */
    USPI_UNVERIFIED, /* nothing contradicts it, but the code could not be read */
    USPI_VERIFIED    /* it follows a call, or is a signal trampoline or a root */
};

struct uspi_return_address {
    usp_addr pc;    /* without signature and Thumb bit */
    uint32_t flags; /* enum usp_frame_flags */
    enum uspi_credit credit;
    usp_addr callee; /* target of the call before it; 0: not known */
    /* It follows a call of the next instruction, which reads it as a pc. It is refuted, unless a table states that it
     * is a return address. */
    bool is_pc_read;
};

/* Judges a word that should be a return address. */
struct uspi_return_address uspi_judge_return_address(const struct uspi_walk *walk, struct uspi_code *code,
                                                     usp_addr raw);

/* Sets a caller's pc, kind and method. */
void uspi_set_caller(const struct uspi_walk *walk, struct uspi_frame_state *caller,
                     const struct uspi_return_address *ra, uint32_t kind, uint32_t method);

/* Reads and judges the frame record that a frame's fp points to. Returns USP_STOP_NONE and fills *record and *ra, or
 * returns why there is no record. */
uint32_t uspi_find_record(const struct uspi_walk *walk, struct uspi_code *code, const struct uspi_frame_state *frame,
                          struct uspi_record *record, struct uspi_return_address *ra);

#endif
