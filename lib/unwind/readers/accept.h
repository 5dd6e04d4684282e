/* SPDX-License-Identifier: MIT */
/* Makes the caller from the chosen candidate. */
#ifndef USPI_UNWIND_READERS_ACCEPT_H
#define USPI_UNWIND_READERS_ACCEPT_H

#include "lib/unwind/frame/step.h"
#include "lib/unwind/readers/evidence.h"

/* Fills the step from a candidate and its `method` (enum usp_frame_method). */
void uspi_accept(struct uspi_evidence *evidence, const struct uspi_candidate *candidate, uint32_t method,
                 struct uspi_step *step);

#endif
