/* SPDX-License-Identifier: MIT */
/* How far the code of a function reaches of which only the beginning is known: by its instructions. */
#ifndef USPI_REACH_H
#define USPI_REACH_H

#include "lib/unwind/frame/code.h"

/* The first address behind the code that surely belongs to the function at `start`: what flow leads to without a gap. One
 * byte when nothing can be decoded there; never above `limit`.
 *   mode  USPI_MODE_* at `start`
 * Code behind a call counts where the callee is seen to return, or where a branch leads to it. Code behind a gap does not
 * count: a branch over other code may lead to another function. Needs about 8 KB of stack. */
usp_addr uspi_reach(struct uspi_code *code, usp_addr start, uint32_t mode, usp_addr limit);

#endif
