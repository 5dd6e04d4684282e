/* SPDX-License-Identifier: MIT */
/* The backend i386: constants, thread states and signal trampolines. It uses x86_64's decoder in 32-bit mode. */
#include "arch/x86_64/decode.h"

/* System V psABI for Intel386, table 2.14 "DWARF Register Number Mapping". Apple's i386 exception-handling tables swap
 * esp and ebp; its DWARF and this file do not. */
enum { EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI, EIP, REGISTER_COUNT };

static const char *const names[REGISTER_COUNT] = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"};

/* xnu osfmk/mach/i386/_structs.h, struct i386_thread_state: eax ebx ecx edx edi esi ebp esp ss eflags eip. */
static const struct uspi_run mach_runs[] = {
    {EAX, 1, 4, 4, 0},  {EBX, 1, 4, 4, 4},  {ECX, 2, 4, 4, 8},  {EDI, 1, 4, 4, 16},
    {ESI, 1, 4, 4, 20}, {EBP, 1, 4, 4, 24}, {ESP, 1, 4, 4, 28}, {USPI_FLAGS_REGISTER, 1, 4, 4, 36},
    {EIP, 1, 4, 4, 40},
};

/* Linux sys/user.h, struct user_regs_struct: ebx ecx edx esi edi ebp eax ds es fs gs orig_eax eip cs eflags esp ss. */
static const struct uspi_run prstatus_runs[] = {
    {EBX, 1, 4, 4, 0},
    {ECX, 2, 4, 4, 4},
    {ESI, 2, 4, 4, 12},
    {EBP, 1, 4, 4, 20},
    {EAX, 1, 4, 4, 24},
    {EIP, 1, 4, 4, 48},
    {USPI_FLAGS_REGISTER, 1, 4, 4, 56},
    {ESP, 1, 4, 4, 60},
    {USPI_CALL_REGISTER, 1, 4, 4, 44},
};

/* Linux asm/sigcontext.h, struct sigcontext: gs fs es ds edi esi ebp esp ebx edx ecx eax trapno err eip cs eflags. */
static const struct uspi_run sigcontext_runs[] = {
    {EDI, 1, 4, 4, 16}, {ESI, 1, 4, 4, 20}, {EBP, 1, 4, 4, 24}, {ESP, 1, 4, 4, 28}, {EBX, 1, 4, 4, 32},
    {EDX, 1, 4, 4, 36}, {ECX, 1, 4, 4, 40}, {EAX, 1, 4, 4, 44}, {EIP, 1, 4, 4, 56}, {USPI_FLAGS_REGISTER, 1, 4, 4, 64},
};

#define RUNS(runs) sizeof(runs) / sizeof((runs)[0]), runs

/* Flavors: xnu osfmk/mach/i386/thread_status.h, x86_THREAD_STATE32 1 of 16 words, x86_THREAD_STATE 7. A Darwin mcontext
 * has 12 bytes of exception state first (bsd/i386/_mcontext.h), a Linux ucontext 20 bytes of flags, link and stack. */
static const struct uspi_state_layout states[] = {
    {USP_THREAD_STATE_MACH + 1, 64, 0, 0, RUNS(mach_runs)},
    {USP_THREAD_STATE_MACH + 7, 8, 8, 1, 0, NULL},
    {USP_THREAD_STATE_DARWIN_MCONTEXT, 12 + 64, 12, 0, RUNS(mach_runs)},
    {USP_THREAD_STATE_LINUX_PRSTATUS, 68, 0, 0, RUNS(prstatus_runs)},
    {USP_THREAD_STATE_LINUX_UCONTEXT, 20 + 68, 20, 0, RUNS(sigcontext_runs)},
    {USP_THREAD_STATE_LINUX_SIGCONTEXT, 68, 0, 0, RUNS(sigcontext_runs)},
};

/* Linux arch/x86/entry/vdso/vdso32/sigreturn.S, and the same in glibc and musl:
 * mov eax, 173; int 0x80        and        pop eax; mov eax, 119; int 0x80 */
static const uint8_t rt_stub[] = {0xb8, 0xad, 0x00, 0x00, 0x00, 0xcd, 0x80};
static const uint8_t old_stub[] = {0x58, 0xb8, 0x77, 0x00, 0x00, 0x00, 0xcd, 0x80};

/* The handler's return pops the first word of the kernel's frame (arch/x86/include/asm/sigframe.h). Then struct
 * rt_sigframe_ia32 has the signal number, two pointers and 128 bytes of siginfo before the ucontext. struct
 * sigframe_ia32 has the signal number before the sigcontext; the old stub pops that number first. */
static const struct uspi_signal_stub stubs[] = {
    {USP_OS_LINUX, USP_THREAD_STATE_LINUX_UCONTEXT, 0, sizeof rt_stub, 0, 12 + 128, rt_stub},
    {USP_OS_LINUX, USP_THREAD_STATE_LINUX_SIGCONTEXT, 0, sizeof old_stub, 0, 4, old_stub},
};

/* xnu bsd/dev/i386/unix_signal.c, sendsig: struct sigframe32, 28 bytes from the return address on, begins a word below
 * a multiple of 16. The mcontext follows it, up to three words later. Its size is that of mcontext32, mcontext_avx32 or
 * mcontext_avx512_32 (bsd/i386/_mcontext.h). */
static const uint16_t mcontext_sizes[] = {600, 792, 1112};
static const struct uspi_sigframe sigframe = {.machine = 28,
                                              .slack = 12,
                                              .pointer = 4,
                                              .size_count = sizeof mcontext_sizes / sizeof mcontext_sizes[0],
                                              .sizes = mcontext_sizes};

/* int 0x80, also in the vDSO; arch/x86/entry/syscalls/syscall_32.tbl. */
static const struct uspi_system_calls linux_calls = {.number = EAX,
                                                     .arguments = {EBX, ECX, EDX, ESI},
                                                     .futex = 240,
                                                     .futex_time64 = 422,
                                                     .instructions = {{0x80cd, 0xffff}}};

static const struct uspi_arch_name other_names[] = {{"i686", USP_VARIANT_NONE, 0}};

const struct uspi_backend uspi_i386 = {
    .arch = USP_ARCH_I386,
    .name = "i386",
    .names = other_names,
    .name_count = sizeof other_names / sizeof *other_names,
    .crash_name = "X86",
    .elf_machine = 3, /* gABI, the registry of e_machine */
    .macho_cpu = 7,   /* xnu osfmk/mach/machine.h */
    .register_count = REGISTER_COUNT,
    .pc = EIP,
    .sp = ESP,
    .fp = EBP,
    .lr = USPI_NO_REGISTER,
    .word = 4,
    .wide_align = 4,
    .slot = 4,
    .record_align = 4,
    .call_push = 4,
    .code_align = 1,
    .instruction_max = USPI_X86_INSTRUCTION_MAX,
    .call_window = USPI_X86_CALL_MAX,
    .red_zone = 0,
    .word_mask = UINT32_MAX,
    .callee_saved = 1u << EBX | 1u << EBP | 1u << ESI | 1u << EDI, /* psABI 2.2.1 */
    .register_names = names,
    .states = states,
    .state_count = sizeof states / sizeof states[0],
    .stubs = stubs,
    .stub_count = sizeof stubs / sizeof stubs[0],
    .sigframe = &sigframe,
    .decode = uspi_i386_decode,
    .follows_call = uspi_i386_follows_call,
    .linux_calls = &linux_calls,
};
