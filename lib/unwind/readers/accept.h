/* SPDX-License-Identifier: MIT */
/* From the candidate that was chosen to the caller. */
#ifndef USPI_ACCEPT_H
#define USPI_ACCEPT_H

#include "lib/unwind/frame/step.h"
#include "lib/unwind/readers/evidence.h"

/* Fills the step by a candidate that was found, and `method` (enum usp_frame_method). */
void uspi_accept(struct uspi_evidence *evidence, const struct uspi_candidate *candidate, uint32_t method,
                 struct uspi_step *step);

#endif
