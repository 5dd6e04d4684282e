/* SPDX-License-Identifier: MIT */
/* The backend arm64, which also serves arm64e: constants, thread states, the signal trampoline of Linux. decode.c and
 * memory.c decode instructions; arm64_32.c is the backend with 32-bit pointers. */
#include "arch/arm64/decode.h"

const char *const uspi_arm64_register_names[USPI_ARM64_REGISTERS] = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
    "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
    "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",  "pc",
};

/* x0…x28, fp, lr, sp, pc, then cpsr. xnu osfmk/mach/arm/_structs.h (arm_thread_state64) and Linux asm/ptrace.h
 * (user_pt_regs) agree, except that Linux has 64 bits of pstate, whose upper half is unused here. */
static const struct uspi_run whole_file[] = {
    {.first = 0, .count = USPI_ARM64_REGISTERS, .width = 8, .stride = 8, .offset = 0},
    {.first = USPI_FLAGS_REGISTER, .count = 1, .width = 4, .stride = 4, .offset = 264},
};

#define FILE_SIZE   272 /* ARM_THREAD_STATE64_COUNT 68 × 4; sizeof(struct user_pt_regs) */
#define HEADER_SIZE 8   /* xnu osfmk/mach/arm/_structs.h: arm_state_hdr {flavor, count} */
#define RUNS        .run_count = sizeof whole_file / sizeof whole_file[0], .runs = whole_file

enum { ARM_THREAD_STATE = 1, ARM_THREAD_STATE64 = 6 }; /* xnu osfmk/mach/arm/thread_status.h */

/* __es of arm64's mcontext: far 8 bytes, esr 4, exception 4 (xnu osfmk/mach/arm/_structs.h). */
#define EXCEPTION_STATE 16

/* Linux asm/ucontext.h and asm/sigcontext.h: flags 8, link 8, stack 24, sigmask and its reserve 128, to the 16-byte
 * aligned sigcontext at 176, in which fault_address comes first. */
#define UCONTEXT_REGISTERS 184

const struct uspi_state_layout uspi_arm64_states[USPI_ARM64_STATES] = {
    {.state = USP_THREAD_STATE_MACH + ARM_THREAD_STATE64, .size = FILE_SIZE, .base = 0, RUNS},
    {.state = USP_THREAD_STATE_MACH + ARM_THREAD_STATE, .size = HEADER_SIZE, .base = HEADER_SIZE, .unified = 1},
    {.state = USP_THREAD_STATE_DARWIN_MCONTEXT, .size = EXCEPTION_STATE + FILE_SIZE, .base = EXCEPTION_STATE, RUNS},
    {.state = USP_THREAD_STATE_LINUX_PRSTATUS, .size = FILE_SIZE, .base = 0, RUNS},
    {.state = USP_THREAD_STATE_LINUX_UCONTEXT,
     .size = UCONTEXT_REGISTERS + FILE_SIZE,
     .base = UCONTEXT_REGISTERS,
     RUNS},
};

/* Linux arch/arm64/kernel/vdso/sigreturn.S: mov x8, #139 (__NR_rt_sigreturn); svc #0. */
static const uint8_t sigreturn[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

static const struct uspi_signal_stub stubs[] = {
    {.os = USP_OS_LINUX,
     .state = USP_THREAD_STATE_LINUX_UCONTEXT,
     .length = sizeof sigreturn,
     .context = 128, /* after siginfo_t in struct rt_sigframe (Linux arch/arm64/kernel/signal.c) */
     .code = sigreturn},
};

/* xnu bsd/dev/arm/unix_signal.c, struct user_sigframe64: siginfo 104 bytes, ucontext 56, mcontext. The mcontext's size
 * is UC_FLAVOR_SIZE64: exception state 16, thread state 272, NEON state 528. */
static const uint16_t mcontext_sizes[] = {EXCEPTION_STATE + FILE_SIZE + 528};

const struct uspi_sigframe uspi_arm64_sigframe = {
    .machine = 104 + 56, .slack = 0, .is_last = 1, .pointer = 8, .size_count = 1, .sizes = mcontext_sizes};

/* cpusubtypes: xnu osfmk/mach/machine.h. */
static const struct uspi_arch_name other_names[] = {{"aarch64", USP_VARIANT_NONE, 0},
                                                    {"arm64e", USP_VARIANT_ARM64E, 2}};

/* svc 0; include/uapi/asm-generic/unistd.h. */
static const struct uspi_system_calls linux_calls = {
    .number = 8, .arguments = {0, 1, 2, 3}, .futex = 98, .instructions = {{0xd4000001, 0xffffffff}}};
/* svc 0x80 (xnu libsyscall/custom/SYS.h). */
static const struct uspi_system_calls darwin_calls = {
    .number = 16, .arguments = {0, 1, 2, 3}, .instructions = {{0xd4001001, 0xffffffff}}};

const struct uspi_backend uspi_arm64 = {
    .arch = USP_ARCH_ARM64,
    .name = "arm64",
    .names = other_names,
    .name_count = sizeof other_names / sizeof *other_names,
    .crash_name = "ARM-64",
    .elf_machine = 183,      /* gABI, the registry of e_machine */
    .macho_cpu = 0x0100000c, /* xnu osfmk/mach/machine.h */
    .register_count = USPI_ARM64_REGISTERS,
    .pc = USPI_ARM64_PC,
    .sp = USPI_ARM64_SP,
    .fp = USPI_ARM64_FP,
    .lr = USPI_ARM64_LR,
    .word = 8,
    .wide_align = 8,
    .slot = USPI_ARM64_SLOT,
    .record_align = USPI_ARM64_SLOT,
    .code_align = USPI_ARM64_INSTRUCTION,
    .instruction_max = USPI_ARM64_INSTRUCTION,
    .call_window = USPI_ARM64_INSTRUCTION,
    .red_zone = USPI_ARM64_RED_ZONE,
    .has_signatures = 1,
    .has_async = 1,
    .word_mask = UINT64_MAX,
    .callee_saved = USPI_ARM64_CALLEE_SAVED,
    .linkage_registers = USPI_ARM64_LINKAGE,
    .register_names = uspi_arm64_register_names,
    .states = uspi_arm64_states,
    .state_count = USPI_ARM64_STATES,
    .stubs = stubs,
    .stub_count = sizeof stubs / sizeof stubs[0],
    .sigframe = &uspi_arm64_sigframe,
    .decode = uspi_arm64_decode,
    .follows_call = uspi_arm64_follows_call,
    .may_use_code = uspi_arm64_may_use_code,
    .linux_calls = &linux_calls,
    .darwin_calls = &darwin_calls,
};
