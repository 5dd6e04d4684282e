/* SPDX-License-Identifier: MIT */
/* What the backends arm64 and arm64_32 have in common: instructions, registers, thread states.
 * Not for anything outside these two. */
#ifndef USPI_ARM64_DECODE_H
#define USPI_ARM64_DECODE_H

#include "arch/backend.h"

/* DWARF numbers (Arm, "DWARF for the Arm 64-bit Architecture"). */
#define USPI_ARM64_FP        29u
#define USPI_ARM64_LR        30u
#define USPI_ARM64_SP        31u
#define USPI_ARM64_PC        32u
#define USPI_ARM64_REGISTERS 33u

/* x19…x29 (Arm, "Procedure Call Standard for the Arm 64-bit Architecture", 6.1.1). */
#define USPI_ARM64_CALLEE_SAVED (((UINT64_C(1) << 11) - 1) << 19)

#define USPI_ARM64_INSTRUCTION 4u   /* bytes of every instruction */
#define USPI_ARM64_SLOT        8u   /* bytes of a frame record's slot, whatever the size of a pointer */
#define USPI_ARM64_RED_ZONE    128u /* Apple, "Writing ARM64 code for Apple platforms" */

/* Darwin's thread states stand first, so that arm64_32, which no other system has, can take only those. */
#define USPI_ARM64_DARWIN_STATES 3u
#define USPI_ARM64_STATES        5u
extern const struct uspi_state_layout uspi_arm64_states[USPI_ARM64_STATES];
/* One for both: the kernel chooses by the width of the registers, not of pointers (xnu bsd/dev/arm/unix_signal.c,
 * proc_is64bit_data). */
extern const struct uspi_sigframe uspi_arm64_sigframe;
extern const char *const uspi_arm64_register_names[USPI_ARM64_REGISTERS];

/* uspi_backend.decode. What is special:
 *   - A change of a pointer's signature, and the Swift async mark set or removed in x29, is a SET of the register to
 *     itself: signatures and mark are the walker's to strip.
 *   - STORE of nothing known: an instruction that stores anything but whole words has one for each word that it
 *     touches. Words are counted from a multiple of the word above the base. Stores to an address that no effect can
 *     express (base + index register, multiples of a vector's length) have none.
 *   - arm64_32: a pointer is the low half of an x register and addresses are taken modulo 2^32, so 32-bit arithmetic,
 *     moves and loads are described like 64-bit ones; the words of LOAD, LITERAL and STORE are 32-bit. Of a 64-bit
 *     register that is stored, only the low word is described.
 * Both are pure. Async-signal-safe, thread-safe. */
bool uspi_arm64_decode(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out);
bool uspi_arm64_32_decode(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out);

/* uspi_backend.follows_call. */
bool uspi_arm64_follows_call(const uint8_t *before, size_t n, usp_addr return_address, bool thumb, usp_addr *target);

#endif
