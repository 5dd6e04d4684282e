/* SPDX-License-Identifier: MIT */
/* Whether a word can be a return address, and where it leads. */
#ifndef USPI_RETURN_ADDRESS_H
#define USPI_RETURN_ADDRESS_H

#include "lib/unwind/frame/code.h"
#include "lib/unwind/frame/walk.h"

/* How far a return address can be believed. */
enum uspi_credit {
    USPI_REFUTED,    /* zero, known not to be code, or no call precedes it */
    USPI_UNVERIFIED, /* nothing speaks against it, but the code could not be read */
    USPI_VERIFIED    /* it follows a call, or is a signal trampoline, or a root */
};

struct uspi_return_address {
    usp_addr pc;    /* without signature and Thumb bit */
    uint32_t flags; /* enum usp_frame_flags */
    enum uspi_credit credit;
    usp_addr callee; /* what the call before it calls, 0 not known */
};

/* Judges a word that should be a return address. */
struct uspi_return_address uspi_judge_return_address(const struct uspi_walk *walk, struct uspi_code *code,
                                                     usp_addr raw);

/* Gives a caller its pc and how it was found. */
void uspi_set_caller(const struct uspi_walk *walk, struct uspi_frame_state *caller,
                     const struct uspi_return_address *ra, uint32_t kind, uint32_t method);

/* The frame record that a frame's fp points to, judged. Returns USP_STOP_NONE and fills both, or why there is none. */
uint32_t uspi_find_record(const struct uspi_walk *walk, struct uspi_code *code, const struct uspi_frame_state *frame,
                          struct uspi_record *record, struct uspi_return_address *ra);

#endif
