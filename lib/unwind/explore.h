/* SPDX-License-Identifier: MIT */
/* Unwind rules out of code alone: carries out the stack effects of instructions symbolically, along every branch, either
 * from a pc forward to a return or from a function's start forward to the pc.
 *
 * Compiled code keeps one promise on which this rests: at one address the stack always has the same shape, whichever way
 * led there. So each address is visited once, and any way that really can be taken to a return tells what the function
 * will restore from where.
 *
 * Decides nothing about memory or registers of an actual thread: it produces rules, the caller judges them. */
#ifndef USPI_EXPLORE_H
#define USPI_EXPLORE_H

#include "lib/unwind/code.h"
#include "lib/unwind/rule.h"

/* How a way could be wrong, although every instruction on it was understood. */
enum uspi_doubt {
    USPI_DOUBT_CALL = 1 << 0,     /* it goes on behind a call, which may never return */
    USPI_DOUBT_SWITCH = 1 << 1,   /* it takes the code behind an indirect jump for one of its destinations */
    USPI_DOUBT_TAIL_CALL = 1 << 2 /* it takes an indirect jump for a tail call */
};

/* Is given each rule that is found, the least doubtful first. True ends the search. */
typedef bool (*uspi_judge)(void *context, const struct uspi_rule *rule, unsigned doubts);

/* What callees take off the stack besides the return address (x86). */
enum uspi_pops {
    USPI_POPS_NOTHING,
    USPI_POPS_AS_CALLEE,     /* what the first return in the callee takes, where the call names it: costs time */
    USPI_POPS_AS_TAKEN_AGAIN /* the same; and where it does not, what the next instruction takes off sp again */
};

/* From pc to a return. Linear flow does not leave [low, high) (0, 0: no bounds); jumps may.
 *   mode    decoding mode at pc, with the condition flags where they are known (USPI_MODE_FLAGS)
 *   budget  instructions to look at, at most
 * Returns how many rules were judged. Needs about 5 KB of stack. */
unsigned uspi_explore_to_return(struct uspi_code *code, usp_addr pc, uint32_t mode, usp_addr low, usp_addr high,
                                enum uspi_pops pops, unsigned budget, uspi_judge judge, void *context);

/* From a function's first instruction to pc: the rule at pc. *leaves becomes whether an indirect jump was met, by which
 * the function may also be left for another one. */
unsigned uspi_explore_from_start(struct uspi_code *code, usp_addr start, uint32_t mode, usp_addr pc, usp_addr high,
                                 enum uspi_pops pops, unsigned budget, uspi_judge judge, void *context, bool *leaves);

/* Whether a way leads from an instruction to pc without a call. */
bool uspi_explore_reaches(struct uspi_code *code, usp_addr from, uint32_t mode, usp_addr pc, unsigned budget);

/* Whether the straight code from the registers' pc on returns by the link register with `reg` as it is now. */
bool uspi_explore_keeps(struct uspi_code *code, const struct usp_registers *registers, uint32_t mode, unsigned reg);

/* Whether the straight code from the registers' pc on will store to the slot at this address; *reg becomes the register
 * whose present value that will be, USPI_NO_REGISTER when it is none. */
bool uspi_explore_next_store(struct uspi_code *code, const struct usp_registers *registers, usp_addr slot,
                             uint32_t mode, unsigned *reg);

#endif
