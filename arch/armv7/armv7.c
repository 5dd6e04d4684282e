/* SPDX-License-Identifier: MIT */
/* The backend armv7: constants, thread states and signal trampolines of 32-bit Arm on Darwin and Linux, and the choice
 * between its two instruction sets, which decode_arm.c and decode_thumb.c decode. */
#include "arch/armv7/decode.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const names[] = {"r0", "r1", "r2",  "r3",  "r4",  "r5", "r6", "r7",
                                    "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc"};

/* Each state has the registers in order, then cpsr: xnu osfmk/mach/arm/_structs.h (_STRUCT_ARM_THREAD_STATE), Linux
 * arch/arm/include/asm/ptrace.h (pt_regs: orig_r0 follows) and arch/arm/include/uapi/asm/sigcontext.h (arm_r0 …
 * arm_cpsr). */
static const struct uspi_run runs[] = {
    {.first = 0, .count = 16, .width = 4, .stride = 4, .offset = 0},
    {.first = USPI_FLAGS_REGISTER, .count = 1, .width = 4, .stride = 4, .offset = 64},
};

#define REGISTERS_SIZE 68

/* Flavors: xnu osfmk/mach/arm/thread_status.h, ARM_THREAD_STATE 1, ARM_THREAD_STATE32 9. An mcontext begins with the
 * exception state of 12 bytes: xnu bsd/arm/_mcontext.h. A Linux ucontext has flags, link and a stack_t of 12 bytes,
 * then the sigcontext, whose first three words are trap_no, error_code and oldmask. */
static const struct uspi_state_layout states[] = {
    {.state = USP_THREAD_STATE_LINUX_PRSTATUS,
     .size = REGISTERS_SIZE,
     .base = 0,
     .run_count = COUNT(runs),
     .runs = runs},
    {.state = USP_THREAD_STATE_LINUX_UCONTEXT,
     .size = 32 + REGISTERS_SIZE,
     .base = 32,
     .run_count = COUNT(runs),
     .runs = runs},
    {.state = USP_THREAD_STATE_DARWIN_MCONTEXT,
     .size = 12 + REGISTERS_SIZE,
     .base = 12,
     .run_count = COUNT(runs),
     .runs = runs},
    {.state = USP_THREAD_STATE_MACH + 1, .size = REGISTERS_SIZE, .base = 0, .run_count = COUNT(runs), .runs = runs},
    {.state = USP_THREAD_STATE_MACH + 9, .size = REGISTERS_SIZE, .base = 0, .run_count = COUNT(runs), .runs = runs},
};

/* mov r7, #173 (rt_sigreturn) or #119 (sigreturn); svc. Linux arch/arm/kernel/sigreturn_codes.S has the 16-bit forms,
 * and those with the number in svc's immediate. glibc's sigrestorer.S has the EABI forms, assembled to 16 or 32
 * bits. */
static const uint8_t rt_arm[] = {0xad, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef};
static const uint8_t rt_arm_oabi[] = {0xad, 0x70, 0xa0, 0xe3, 0xad, 0x00, 0x90, 0xef};
static const uint8_t rt_thumb[] = {0xad, 0x27, 0x00, 0xdf};
static const uint8_t rt_thumb2[] = {0x4f, 0xf0, 0xad, 0x07, 0x00, 0xdf};
static const uint8_t old_arm[] = {0x77, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef};
static const uint8_t old_arm_oabi[] = {0x77, 0x70, 0xa0, 0xe3, 0x77, 0x00, 0x90, 0xef};
static const uint8_t old_thumb[] = {0x77, 0x27, 0x00, 0xdf};
static const uint8_t old_thumb2[] = {0x4f, 0xf0, 0x77, 0x07, 0x00, 0xdf};

/* Linux arch/arm/kernel/signal.h: struct rt_sigframe is a siginfo of 128 bytes, then struct sigframe, which begins with
 * the ucontext. */
#define RT_CONTEXT  128
#define OLD_CONTEXT 0

#define STUB(bytes, is_thumb, at)                                                                                      \
    {.os = USP_OS_LINUX,                                                                                               \
     .state = USP_THREAD_STATE_LINUX_UCONTEXT,                                                                         \
     .thumb = (is_thumb),                                                                                              \
     .length = sizeof(bytes),                                                                                          \
     .entry = 0,                                                                                                       \
     .context = (at),                                                                                                  \
     .code = (bytes)}

static const struct uspi_signal_stub stubs[] = {
    STUB(rt_thumb2, 1, RT_CONTEXT),   STUB(rt_thumb, 1, RT_CONTEXT),      STUB(rt_arm, 0, RT_CONTEXT),
    STUB(rt_arm_oabi, 0, RT_CONTEXT), STUB(old_thumb2, 1, OLD_CONTEXT),   STUB(old_thumb, 1, OLD_CONTEXT),
    STUB(old_arm, 0, OLD_CONTEXT),    STUB(old_arm_oabi, 0, OLD_CONTEXT),
};

/* xnu bsd/dev/arm/unix_signal.c, struct user_sigframe32: a pointer to the ucontext, since xnu 4903 a token, siginfo 64
 * bytes, ucontext 32, mcontext. The mcontext's size is UC_FLAVOR_SIZE32: exception state 12, thread state 68, VFP state
 * 260. */
static const uint16_t mcontext_sizes[] = {12 + REGISTERS_SIZE + 260};
static const struct uspi_sigframe sigframe = {
    .machine = 4 + 64 + 32, .slack = 4, .is_last = 1, .pointer = 4, .size_count = 1, .sizes = mcontext_sizes};

static bool decode(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out) {
    bool thumb = mode & USPI_MODE_THUMB;
    struct uspi_arm_code code = {
        .bytes = bytes, .n = n, .pc = (uint32_t)pc + (thumb ? 4 : 8), .mode = mode & USPI_MODE_THUMB};
    if (pc & (thumb ? 1 : 3)) return false;
    memset(out, 0, sizeof *out);
    out->length = 4;
    out->target_register = USPI_NO_REGISTER;
    out->mode = code.mode;
    if (thumb) return uspi_arm_decode_thumb(&code, mode >> USPI_MODE_IT_SHIFT & 0xff, out);
    return uspi_arm_decode_arm(&code, out);
}

/* Most instructions with r15 as base have it in bits 19:16; the first halfword of a T32 instruction has the high ones. T32
 * has narrow forms of ldr and adr, too. */
static bool may_use_code(const uint8_t *bytes, bool thumb) {
    if (!thumb) return (bytes[2] & 15) == USPI_ARM_PC;
    const uint32_t h = uspi_le16(bytes);
    return h >> 11 == 9 || h >> 11 == 20 || (h >> 11 >= 29 && (h & 15) == USPI_ARM_PC);
}

/* Few instructions are calls, so the decoder can identify them: any bytes that end here and decode to a call are
 * one. */
static bool follows_call(const uint8_t *before, size_t n, usp_addr return_address, bool thumb, usp_addr *target) {
    usp_addr end = (uint32_t)return_address & ~(usp_addr)1;
    uint32_t mode = thumb ? USPI_MODE_THUMB : 0;
    struct uspi_instruction instruction;
    *target = 0;
    for (size_t length = 4; length >= (thumb ? 2 : 4); length -= 2) {
        if (n < length || end < length) continue;
        if (!decode(before + n - length, length, end - length, mode, &instruction)) continue;
        if (instruction.flow == USPI_CALL && instruction.length == length) {
            *target = instruction.target;
            return true;
        }
    }
    return false;
}

/* CPSR: T is bit 5, ITSTATE<1:0> bits 26:25, ITSTATE<7:2> bits 15:10 (DDI 0406C B1.3.3). */
static uint32_t initial_mode(uint32_t flags) {
    uint32_t it_state = uspi_arm_bits(flags, 26, 25) | uspi_arm_bits(flags, 15, 10) << 2;
    return flags >> 5 & 1 ? USPI_MODE_THUMB | it_state << USPI_MODE_IT_SHIFT : 0;
}

/* DDI 0406C A8.3: the odd condition n + 1 is the opposite of the even condition n; 14 is "always". */
static bool condition_holds(uint32_t flags, unsigned condition) {
    const bool n = flags >> 31 & 1, z = flags >> 30 & 1, c = flags >> 29 & 1, v = flags >> 28 & 1;
    const bool even[7] = {z, c, n, v, c && !z, n == v, n == v && !z};
    if (condition >= 14) return true;
    return even[condition >> 1] != ((condition & 1) != 0);
}

/* Callee-saved registers: Arm "Procedure Call Standard for the Arm Architecture" (r4 … r11). On iOS a function may
 * change r9; functions rarely do, and no frame is found through r9. */
/* cpusubtypes: xnu osfmk/mach/machine.h. */
static const struct uspi_arch_name other_names[] = {
    {"arm", USP_VARIANT_NONE, 0}, {"armv7k", USP_VARIANT_ARMV7K, 12}, {"armv7s", USP_VARIANT_ARMV7S, 11}};

/* svc 0 in ARM and in Thumb state; arch/arm/tools/syscall.tbl. */
static const struct uspi_system_calls linux_calls = {.number = 7,
                                                     .arguments = {0, 1, 2, 3},
                                                     .futex = 240,
                                                     .futex_time64 = 422,
                                                     .instructions = {{0xef000000, 0xffffffff}, {0xdf00, 0xffff}}};

const struct uspi_backend uspi_armv7 = {
    .arch = USP_ARCH_ARMV7,
    .name = "armv7",
    .names = other_names,
    .name_count = sizeof other_names / sizeof *other_names,
    .crash_name = "ARM",
    .elf_machine = 40, /* gABI, the registry of e_machine */
    .macho_cpu = 12,   /* xnu osfmk/mach/machine.h */
    .register_count = COUNT(names),
    .pc = USPI_ARM_PC,
    .sp = USPI_ARM_SP,
    .fp = 7,
    .lr = USPI_ARM_LR,
    .word = 4,
    .wide_align = 8,
    .slot = 4,
    .record_align = 4,
    .call_push = 0,
    .code_align = 2,
    .instruction_max = 6, /* a table branch and the first entry of its table */
    .call_window = 4,
    .red_zone = 0,
    .has_thumb = 1,
    .word_mask = UINT32_MAX,
    .callee_saved = 0x0ff0,
    .register_names = names,
    .states = states,
    .state_count = COUNT(states),
    .stubs = stubs,
    .stub_count = COUNT(stubs),
    .sigframe = &sigframe,
    .decode = decode,
    .follows_call = follows_call,
    .may_use_code = may_use_code,
    .initial_mode = initial_mode,
    .condition_holds = condition_holds,
    .linux_calls = &linux_calls,
};
