/* SPDX-License-Identifier: MIT */
/* Finds the end of a function from its instructions, when only its start is known. */
#ifndef USPI_SYMBOLIZE_INDEX_REACH_H
#define USPI_SYMBOLIZE_INDEX_REACH_H

#include "lib/unwind/frame/code.h"

/* Returns the first address past the code that certainly belongs to the function at `start`: the code that control flow
 * reaches without a gap. It is start + 1 when nothing can be decoded there, and never above `limit`.
 *   mode  USPI_MODE_* at `start`
 * Code after a call counts where the callee is seen to return, or where a branch leads to it. Code after a gap does not
 * count: a branch over other code may lead to another function. Needs about 8 KB of stack. */
usp_addr uspi_reach(struct uspi_code *code, usp_addr start, uint32_t mode, usp_addr limit);

#endif
