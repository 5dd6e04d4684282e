/* SPDX-License-Identifier: MIT */
/* The backend x86_64: constants, thread states and signal trampolines. decode.c decodes instructions. */
#include "arch/x86_64/decode.h"

/* System V psABI for AMD64, figure 3.36 "DWARF Register Number Mapping". */
enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15, RIP, REGISTER_COUNT };

static const char *const names[REGISTER_COUNT] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                                  "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

/* xnu osfmk/mach/i386/_structs.h, struct x86_thread_state64: rax rbx rcx rdx rdi rsi rbp rsp r8 … r15 rip rflags. */
static const struct uspi_run mach_runs[] = {
    {RAX, 1, 8, 8, 0},  {RBX, 1, 8, 8, 8},  {RCX, 1, 8, 8, 16},  {RDX, 1, 8, 8, 24},
    {RDI, 1, 8, 8, 32}, {RSI, 1, 8, 8, 40}, {RBP, 11, 8, 8, 48}, {USPI_FLAGS_REGISTER, 1, 4, 8, 136},
};

/* Linux sys/user.h, struct user_regs_struct: r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs
 * eflags rsp. */
static const struct uspi_run prstatus_runs[] = {
    {R15, 1, 8, 8, 0},   {R14, 1, 8, 8, 8},
    {R13, 1, 8, 8, 16},  {R12, 1, 8, 8, 24},
    {RBP, 1, 8, 8, 32},  {RBX, 1, 8, 8, 40},
    {R11, 1, 8, 8, 48},  {R10, 1, 8, 8, 56},
    {R9, 1, 8, 8, 64},   {R8, 1, 8, 8, 72},
    {RAX, 1, 8, 8, 80},  {RCX, 1, 8, 8, 88},
    {RDX, 1, 8, 8, 96},  {RSI, 2, 8, 8, 104},
    {RIP, 1, 8, 8, 128}, {USPI_FLAGS_REGISTER, 1, 4, 8, 144},
    {RSP, 1, 8, 8, 152}, {USPI_CALL_REGISTER, 1, 4, 8, 120},
};

/* Linux asm/sigcontext.h, struct sigcontext: r8 … r15 rdi rsi rbp rbx rdx rax rcx rsp rip eflags. */
static const struct uspi_run sigcontext_runs[] = {
    {R8, 8, 8, 8, 0},
    {RDI, 1, 8, 8, 64},
    {RSI, 1, 8, 8, 72},
    {RBP, 1, 8, 8, 80},
    {RBX, 1, 8, 8, 88},
    {RDX, 1, 8, 8, 96},
    {RAX, 1, 8, 8, 104},
    {RCX, 1, 8, 8, 112},
    {RSP, 1, 8, 8, 120},
    {RIP, 1, 8, 8, 128},
    {USPI_FLAGS_REGISTER, 1, 4, 8, 136},
};

#define RUNS(runs) sizeof(runs) / sizeof((runs)[0]), runs

/* Flavors: xnu osfmk/mach/i386/thread_status.h, x86_THREAD_STATE64 4 of 42 words, x86_THREAD_STATE 7. A Darwin mcontext
 * has 16 bytes of exception state first (bsd/i386/_mcontext.h), a Linux ucontext 40 bytes of flags, link and stack. */
static const struct uspi_state_layout states[] = {
    {USP_THREAD_STATE_MACH + 4, 168, 0, 0, RUNS(mach_runs)},
    {USP_THREAD_STATE_MACH + 7, 8, 8, 1, 0, NULL},
    {USP_THREAD_STATE_DARWIN_MCONTEXT, 16 + 168, 16, 0, RUNS(mach_runs)},
    {USP_THREAD_STATE_LINUX_PRSTATUS, 216, 0, 0, RUNS(prstatus_runs)},
    {USP_THREAD_STATE_LINUX_UCONTEXT, 40 + 144, 40, 0, RUNS(sigcontext_runs)},
};

/* mov rax, 15; syscall (glibc sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c). */
static const uint8_t glibc_stub[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
/* mov eax, 15; syscall (musl src/signal/x86_64/restore.s). */
static const uint8_t musl_stub[] = {0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

/* The handler's return pops the first word of the kernel's struct rt_sigframe; the ucontext follows. */
static const struct uspi_signal_stub stubs[] = {
    {USP_OS_LINUX, USP_THREAD_STATE_LINUX_UCONTEXT, 0, sizeof glibc_stub, 0, 0, glibc_stub},
    {USP_OS_LINUX, USP_THREAD_STATE_LINUX_UCONTEXT, 0, sizeof musl_stub, 0, 0, musl_stub},
};

/* xnu bsd/dev/i386/unix_signal.c, sendsig: the return address's place is the word below a multiple of 16. The mcontext
 * begins at that multiple or a word higher, since the interrupted rsp is a multiple of 8. Its size is that of
 * mcontext64, mcontext_avx64 or mcontext_avx512_64 (bsd/i386/_mcontext.h), and 32 more for a task with its own
 * descriptors. */
static const uint16_t mcontext_sizes[] = {712, 1032, 2632, 744, 1064, 2664};
static const struct uspi_sigframe sigframe = {
    .slack = 8, .pointer = 8, .size_count = sizeof mcontext_sizes / sizeof mcontext_sizes[0], .sizes = mcontext_sizes};

/* syscall; arch/x86/entry/syscalls/syscall_64.tbl. */
static const struct uspi_system_calls linux_calls = {
    .number = RAX, .arguments = {RDI, RSI, RDX, R10}, .futex = 202, .instructions = {{0x050f, 0xffff}}};
/* Unix's class of calls (xnu osfmk/mach/i386/syscall_sw.h). */
static const struct uspi_system_calls darwin_calls = {
    .number = RAX, .arguments = {RDI, RSI, RDX, R10}, .number_base = 0x2000000, .instructions = {{0x050f, 0xffff}}};

/* cpusubtypes: xnu osfmk/mach/machine.h. */
static const struct uspi_arch_name other_names[] = {{"amd64", USP_VARIANT_NONE, 0},
                                                    {"x86_64h", USP_VARIANT_X86_64H, 8}};

const struct uspi_backend uspi_x86_64 = {
    .arch = USP_ARCH_X86_64,
    .name = "x86_64",
    .names = other_names,
    .name_count = sizeof other_names / sizeof *other_names,
    .crash_name = "X86-64",
    .elf_machine = 62,       /* gABI, the registry of e_machine */
    .macho_cpu = 0x01000007, /* xnu osfmk/mach/machine.h */
    .register_count = REGISTER_COUNT,
    .pc = RIP,
    .sp = RSP,
    .fp = RBP,
    .lr = USPI_NO_REGISTER,
    .word = 8,
    .wide_align = 8,
    .slot = 8,
    .record_align = 8,
    .call_push = 8,
    .code_align = 1,
    .instruction_max = USPI_X86_INSTRUCTION_MAX,
    .call_window = USPI_X86_CALL_MAX,
    .red_zone = 128, /* psABI 3.2.2 */
    .has_async = 1,
    .async_context = R14,
    .word_mask = UINT64_MAX,
    .callee_saved = 1u << RBX | 1u << RBP | 1u << R12 | 1u << R13 | 1u << R14 | 1u << R15, /* psABI 3.2.1 */
    .register_names = names,
    .states = states,
    .state_count = sizeof states / sizeof states[0],
    .stubs = stubs,
    .stub_count = sizeof stubs / sizeof stubs[0],
    .sigframe = &sigframe,
    .decode = uspi_x86_64_decode,
    .follows_call = uspi_x86_64_follows_call,
    .linux_calls = &linux_calls,
    .darwin_calls = &darwin_calls,
};
