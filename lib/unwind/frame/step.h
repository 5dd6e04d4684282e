/* SPDX-License-Identifier: MIT */
/* The decision about a frame's caller. */
#ifndef USPI_UNWIND_FRAME_STEP_H
#define USPI_UNWIND_FRAME_STEP_H

#include "lib/unwind/frame/walk.h"

struct uspi_step {
    bool found; /* the caller was found */
    /* The caller was found, or it is known that there is none or that it is unreadable. */
    bool is_settled;
    bool is_switch;                 /* found: the caller is on another stack */
    struct uspi_frame_state caller; /* valid if found */
    usp_addr cfa;                   /* CFA of the frame; 0: not known */
    struct uspi_extended extended;  /* the frame's record, if it is a Swift async one */
    uint32_t stop;                  /* if not found: enum usp_stop_reason */
    usp_addr stop_address;          /* if not found: address to which the reason refers */
};

#endif
