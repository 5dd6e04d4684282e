/* SPDX-License-Identifier: MIT */
/* Finds data between instructions: words that nearby code loads relative to its own address (literal pools). Compilers
 * for 32-bit Arm place them after a function's last instruction, compilers for arm64 before its first one. The
 * instruction before them may be a call that does not return. */
#ifndef USPI_UNWIND_CODE_LOADED_H
#define USPI_UNWIND_CODE_LOADED_H

#include "lib/unwind/frame/code.h"

/* Returns whether execution at `at`, after a call, would come to data at once: there, or after one instruction (nop).
 * The function begins at `low`, or at an unknown address (0). */
bool uspi_is_loaded(struct uspi_code *code, usp_addr at, uint32_t mode, usp_addr low);

#endif
