/* SPDX-License-Identifier: MIT */
/* See signal_names.h. Sources: Linux include/uapi/asm-generic/signal.h and siginfo.h, signal(7); xnu
 * bsd/sys/signal.h, osfmk/mach/exception_types.h, kern_return.h, arm/exception.h and i386/exception.h. */
#include "lib/base/signal_names.h"

#include <unspool/unwind.h>

#include <stddef.h>

const char *uspi_signal_name(uint32_t os, uint32_t signal) {
    static const char *const linux_names[] = {
        NULL,        "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
        "SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
        "SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
        "SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS"};
    static const char *const darwin_names[] = {
        NULL,      "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGEMT",
        "SIGFPE",  "SIGKILL", "SIGBUS",    "SIGSEGV", "SIGSYS",   "SIGPIPE", "SIGALRM", "SIGTERM",
        "SIGURG",  "SIGSTOP", "SIGTSTP",   "SIGCONT", "SIGCHLD",  "SIGTTIN", "SIGTTOU", "SIGIO",
        "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGINFO", "SIGUSR1", "SIGUSR2"};
    if (os == USP_OS_LINUX) return signal < sizeof linux_names / sizeof *linux_names ? linux_names[signal] : NULL;
    if (os == USP_OS_DARWIN) return signal < sizeof darwin_names / sizeof *darwin_names ? darwin_names[signal] : NULL;
    return NULL;
}

enum { ANY = 0, ILL = 4, TRAP = 5, BUS = 7, FPE = 8, SEGV = 11, SYS = 31 };

/* A code of one signal, or of any. */
struct known_code {
    uint32_t signal;
    int32_t code;
    struct uspi_signal_code says;
};

const struct uspi_signal_code *uspi_signal_code(uint32_t signal, int32_t code) {
    static const struct known_code known[] = {
        {ANY, 0, {"SI_USER", "sent by a process"}},
        {ANY, 0x80, {"SI_KERNEL", "sent by the kernel"}},
        {ANY, -1, {"SI_QUEUE", "sent by a process (sigqueue)"}},
        {ANY, -2, {"SI_TIMER", "a timer expired"}},
        {ANY, -6, {"SI_TKILL", "sent by a process to this thread"}},
        {ILL, 1, {"ILL_ILLOPC", "illegal opcode"}},
        {ILL, 2, {"ILL_ILLOPN", "illegal operand"}},
        {ILL, 3, {"ILL_ILLADR", "illegal addressing mode"}},
        {ILL, 4, {"ILL_ILLTRP", "illegal trap"}},
        {ILL, 5, {"ILL_PRVOPC", "privileged opcode"}},
        {ILL, 6, {"ILL_PRVREG", "privileged register"}},
        {ILL, 7, {"ILL_COPROC", "coprocessor error"}},
        {ILL, 8, {"ILL_BADSTK", "internal stack error"}},
        {TRAP, 1, {"TRAP_BRKPT", "breakpoint"}},
        {TRAP, 2, {"TRAP_TRACE", "single step"}},
        {TRAP, 4, {"TRAP_HWBKPT", "hardware breakpoint or watchpoint"}},
        {BUS, 1, {"BUS_ADRALN", "the address is misaligned"}},
        {BUS, 2, {"BUS_ADRERR", "the address has no memory, such as beyond the end of a mapped file"}},
        {BUS, 3, {"BUS_OBJERR", "hardware error of an object"}},
        {BUS, 4, {"BUS_MCEERR_AR", "memory error of the hardware"}},
        {BUS, 5, {"BUS_MCEERR_AO", "memory error of the hardware"}},
        {FPE, 1, {"FPE_INTDIV", "integer division by zero"}},
        {FPE, 2, {"FPE_INTOVF", "integer overflow"}},
        {FPE, 3, {"FPE_FLTDIV", "floating-point division by zero"}},
        {FPE, 4, {"FPE_FLTOVF", "floating-point overflow"}},
        {FPE, 5, {"FPE_FLTUND", "floating-point underflow"}},
        {FPE, 6, {"FPE_FLTRES", "inexact floating-point result"}},
        {FPE, 7, {"FPE_FLTINV", "invalid floating-point operation"}},
        {FPE, 8, {"FPE_FLTSUB", "subscript out of range"}},
        {SEGV, 1, {"SEGV_MAPERR", "the address is not mapped"}},
        {SEGV, 2, {"SEGV_ACCERR", "the memory does not permit the access"}},
        {SEGV, 3, {"SEGV_BNDERR", "the address failed a check of bounds"}},
        {SEGV, 4, {"SEGV_PKUERR", "a protection key forbids the access"}},
        {SEGV, 8, {"SEGV_MTEAERR", "a memory tag differs (asynchronous)"}},
        {SEGV, 9, {"SEGV_MTESERR", "a memory tag differs"}},
        {SEGV, 10, {"SEGV_CPERR", "the shadow stack differs"}},
        {SYS, 1, {"SYS_SECCOMP", "seccomp forbids the system call"}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct known_code *k = &known[i];
        if (k->code == code && (k->signal == signal || k->signal == ANY)) return &k->says;
    }
    return NULL;
}

/* xnu bsd/sys/signal.h. Each code is that of Linux with this number. */
static const struct {
    uint32_t signal, linux_signal;
    int32_t code, linux_code;
} darwin_codes[] = {
    {4, ILL, 1, 1},          {4, ILL, 2, 4},   {4, ILL, 3, 5},   {4, ILL, 4, 2},         {4, ILL, 5, 3},
    {4, ILL, 6, 6},          {4, ILL, 7, 7},   {4, ILL, 8, 8},   {5, TRAP, 1, 1},        {5, TRAP, 2, 2},
    {8, FPE, 1, 3},          {8, FPE, 2, 4},   {8, FPE, 3, 5},   {8, FPE, 4, 6},         {8, FPE, 5, 7},
    {8, FPE, 6, 8},          {8, FPE, 7, 1},   {8, FPE, 8, 2},   {10, BUS, 1, 1},        {10, BUS, 2, 2},
    {10, BUS, 3, 3},         {11, SEGV, 1, 1}, {11, SEGV, 2, 2}, {ANY, ANY, 0x10001, 0}, {ANY, ANY, 0x10002, -1},
    {ANY, ANY, 0x10003, -2},
};

const struct uspi_signal_code *uspi_signal_code_of(uint32_t os, uint32_t signal, int32_t code) {
    if (os != USP_OS_DARWIN) return uspi_signal_code(signal, code);
    for (size_t i = 0; i < sizeof darwin_codes / sizeof *darwin_codes; i++) {
        if (darwin_codes[i].code != code || (darwin_codes[i].signal != signal && darwin_codes[i].signal != ANY))
            continue;
        return uspi_signal_code(darwin_codes[i].linux_signal, darwin_codes[i].linux_code);
    }
    return NULL;
}

const char *uspi_mach_exception_name(uint32_t exception) {
    static const char *const names[] = {
        NULL,           "EXC_BAD_ACCESS", "EXC_BAD_INSTRUCTION", "EXC_ARITHMETIC",    "EXC_EMULATION",
        "EXC_SOFTWARE", "EXC_BREAKPOINT", "EXC_SYSCALL",         "EXC_MACH_SYSCALL",  "EXC_RPC_ALERT",
        "EXC_CRASH",    "EXC_RESOURCE",   "EXC_GUARD",           "EXC_CORPSE_NOTIFY",
    };
    return exception < sizeof names / sizeof *names ? names[exception] : NULL;
}

const char *uspi_mach_code_name(uint32_t arch, uint32_t exception, uint64_t code) {
    static const struct {
        uint64_t code;
        const char *name;
        bool is_x86, is_arm;
    } known[] = {
        {1, "KERN_INVALID_ADDRESS", true, true},
        {2, "KERN_PROTECTION_FAILURE", true, true},
        {8, "KERN_NO_ACCESS", true, true},
        {9, "KERN_MEMORY_FAILURE", true, true},
        {10, "KERN_MEMORY_ERROR", true, true},
        {USPI_MACH_GENERAL_FAULT, "EXC_I386_GPFLT", true, false},
        {USPI_MACH_ALIGNMENT, "EXC_ARM_DA_ALIGN", false, true},
        {0x102, "EXC_ARM_DA_DEBUG", false, true},
        {0x103, "EXC_ARM_SP_ALIGN", false, true},
        {0x105, "EXC_ARM_PAC_FAIL", false, true},
    };
    const bool is_x86 = arch == USP_ARCH_X86_64 || arch == USP_ARCH_I386;
    if (exception != USPI_MACH_BAD_ACCESS) return NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].code == code && (is_x86 ? known[i].is_x86 : known[i].is_arm)) return known[i].name;
    }
    return NULL;
}

bool uspi_signal_dumps_core(uint32_t signal) {
    /* QUIT, ILL, TRAP, ABRT, BUS, FPE, SEGV, XCPU, XFSZ, SYS. */
    static const uint32_t dumping =
        1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 8 | 1u << 11 | 1u << 24 | 1u << 25 | 1u << 31;
    return signal < 32 && (dumping >> signal & 1) != 0;
}
