/* SPDX-License-Identifier: MIT */
/* See state.h. */
#include "lib/capture/state.h"

/* All zero at the start, so that the program's file does not contain it. */
struct uspi_capture_state uspi_capture_state;
