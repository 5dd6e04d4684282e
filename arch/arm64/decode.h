/* SPDX-License-Identifier: MIT */
/* Declares what the backends arm64 and arm64_32 share: instructions, registers, thread states. Only these two use
 * it. */
#ifndef USPI_ARCH_ARM64_DECODE_H
#define USPI_ARCH_ARM64_DECODE_H

#include "arch/backend.h"

/* DWARF numbers (Arm, "DWARF for the Arm 64-bit Architecture"). */
#define USPI_ARM64_FP        29u
#define USPI_ARM64_LR        30u
#define USPI_ARM64_SP        31u
#define USPI_ARM64_PC        32u
#define USPI_ARM64_REGISTERS 33u

/* x19…x29 (Arm, "Procedure Call Standard for the Arm 64-bit Architecture", 6.1.1). */
#define USPI_ARM64_CALLEE_SAVED (((UINT64_C(1) << 11) - 1) << 19)

/* x16 and x17, which a linker's code may change at any branch (the same section). */
#define USPI_ARM64_LINKAGE (UINT64_C(3) << 16)

#define USPI_ARM64_INSTRUCTION 4u   /* size of every instruction in bytes */
#define USPI_ARM64_SLOT        8u   /* size of a frame record's slot in bytes, for both sizes of pointers */
#define USPI_ARM64_RED_ZONE    128u /* Apple, "Writing ARM64 code for Apple platforms" */

/* Darwin's thread states come first, so that arm64_32, which only Darwin has, can use just those. */
#define USPI_ARM64_DARWIN_STATES 3u
#define USPI_ARM64_STATES        5u
extern const struct uspi_state_layout uspi_arm64_states[USPI_ARM64_STATES];
/* Both backends use this one: the kernel chooses by the width of registers, not of pointers (xnu
 * bsd/dev/arm/unix_signal.c, proc_is64bit_data). */
extern const struct uspi_sigframe uspi_arm64_sigframe;
extern const char *const uspi_arm64_register_names[USPI_ARM64_REGISTERS];

/* The functions uspi_backend.decode of the two backends. Special cases:
 *   - A change of a pointer's signature, and the Swift async mark set or removed in x29, is a SET of the register to
 *     itself: the walker strips signatures and mark.
 *   - An instruction that stores anything but whole words has a STORE of something unknown for each word that it
 *     touches. Words are counted from a multiple of the word above the base. Stores to an address that no effect can
 *     express (base + index register, multiples of a vector's length) have none.
 *   - arm64_32: a pointer is the low half of an x register, and addresses are modulo 2^32. So 32-bit arithmetic, moves
 *     and loads are described like 64-bit ones; the words of LOAD, LITERAL and STORE have 32 bits. Of a 64-bit register
 *     that is stored, only the low word is described.
 * Both are pure functions. Async-signal-safe, thread-safe. */
bool uspi_arm64_decode(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out);
bool uspi_arm64_32_decode(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out);

/* The functions uspi_backend.may_use_code and follows_call of both backends. */
bool uspi_arm64_may_use_code(const uint8_t *bytes, bool thumb);
bool uspi_arm64_follows_call(const uint8_t *before, size_t n, usp_addr return_address, bool thumb, usp_addr *target);

#endif
