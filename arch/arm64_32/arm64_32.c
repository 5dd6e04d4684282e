/* SPDX-License-Identifier: MIT */
/* The backend arm64_32 of Apple Watch: arm64's instructions, thread states and 8-byte record slots, but 32-bit pointers
 * without signatures. Linux does not run on this processor. */
#include "arch/arm64/decode.h"

const struct uspi_backend uspi_arm64_32 = {
    .arch = USP_ARCH_ARM64_32,
    .name = "arm64_32",
    .crash_name = "ARM",
    .macho_cpu = 0x0200000c, /* xnu osfmk/mach/machine.h */
    .register_count = USPI_ARM64_REGISTERS,
    .pc = USPI_ARM64_PC,
    .sp = USPI_ARM64_SP,
    .fp = USPI_ARM64_FP,
    .lr = USPI_ARM64_LR,
    .word = 4,
    .wide_align = 8,
    .slot = USPI_ARM64_SLOT,
    .record_align = USPI_ARM64_SLOT,
    .code_align = USPI_ARM64_INSTRUCTION,
    .instruction_max = USPI_ARM64_INSTRUCTION,
    .call_window = USPI_ARM64_INSTRUCTION,
    .red_zone = USPI_ARM64_RED_ZONE,
    .has_async = 1,
    .word_mask = UINT32_MAX,
    .callee_saved = USPI_ARM64_CALLEE_SAVED,
    .linkage_registers = USPI_ARM64_LINKAGE,
    .register_names = uspi_arm64_register_names,
    .states = uspi_arm64_states,
    .state_count = USPI_ARM64_DARWIN_STATES,
    .sigframe = &uspi_arm64_sigframe,
    .decode = uspi_arm64_32_decode,
    .follows_call = uspi_arm64_follows_call,
    .may_use_code = uspi_arm64_may_use_code,
};
