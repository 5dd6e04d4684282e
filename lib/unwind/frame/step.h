/* SPDX-License-Identifier: MIT */
/* What is decided about a frame's caller. */
#ifndef USPI_STEP_H
#define USPI_STEP_H

#include "lib/unwind/frame/walk.h"

struct uspi_step {
    bool found;                     /* the caller */
    bool is_settled;                /* the same, or it is known that there is none, or none that can be read */
    struct uspi_frame_state caller; /* found */
    usp_addr cfa;                   /* of the frame; 0: not known */
    struct uspi_extended extended;  /* the frame's record, if it is a Swift async one */
    uint32_t stop;                  /* not found: enum usp_stop_reason, */
    usp_addr stop_address;          /* and where */
};

#endif
