/* SPDX-License-Identifier: MIT */
/* The instruction decoder that x86_64 and i386 share. The functions implement the contract in arch/backend.h. They
 * ignore their arguments `mode` and `thumb`, because x86 has no such state. */
#ifndef USPI_ARCH_X86_64_DECODE_H
#define USPI_ARCH_X86_64_DECODE_H

#include "arch/backend.h"

/* Size of the longest instruction in bytes; a longer one faults (Intel SDM volume 2, 2.3.11). */
#define USPI_X86_INSTRUCTION_MAX 15

/* Size in bytes of the longest call that follows_call looks for: opcode, ModRM, SIB and a 32-bit displacement. Prefixes
 * do not matter, because the rest without them is a call too. */
#define USPI_X86_CALL_MAX 7

bool uspi_x86_64_decode(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out);
bool uspi_i386_decode(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out);

bool uspi_x86_64_follows_call(const uint8_t *before, size_t n, usp_addr return_address, bool thumb, usp_addr *target);
bool uspi_i386_follows_call(const uint8_t *before, size_t n, usp_addr return_address, bool thumb, usp_addr *target);

#endif
