/* SPDX-License-Identifier: MIT */
/* See restart.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/restart.h"
#include "lib/os/linux/signal.h"

#include "arch/host.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* From Linux include/uapi/linux/futex.h, which is not part of libc: musl does not have it. */
enum { FUTEX_WAIT = 0, FUTEX_WAIT_BITSET = 9 };

bool uspi_linux_is_sigwait(long call) {
#ifdef SYS_rt_sigtimedwait_time64
    if (call == SYS_rt_sigtimedwait_time64) return true;
#endif
    return call == SYS_rt_sigtimedwait;
}

/* ---- registers ---- */

/* A word of the interrupted context that holds a register. */
typedef unsigned long word;

/* The registers of a system call in the interrupted context: number, result, arguments, and the pc after the call. The
 * result shares a register with the number or the first argument. */
struct call_registers {
    word *pc, *number, *result;
    word arguments[6];
};

/* The instruction that makes a call, and its length. */
struct call_instruction {
    uint32_t bits, mask;
    unsigned length;
};

#if defined(REG_RIP)
static const struct call_instruction instructions[] = {{0x050f, 0xffff, 2}}; /* syscall */

static void find_registers(ucontext_t *context, struct call_registers *r) {
    greg_t *g = context->uc_mcontext.gregs;
    r->pc = (word *)&g[REG_RIP];
    r->number = r->result = (word *)&g[REG_RAX];
    const greg_t arguments[] = {g[REG_RDI], g[REG_RSI], g[REG_RDX], g[REG_R10], g[REG_R8], g[REG_R9]};
    memcpy(r->arguments, arguments, sizeof arguments);
}
#elif defined(REG_EIP)
static const struct call_instruction instructions[] = {{0x80cd, 0xffff, 2}}; /* int $0x80 */

static void find_registers(ucontext_t *context, struct call_registers *r) {
    greg_t *g = context->uc_mcontext.gregs;
    r->pc = (word *)&g[REG_EIP];
    r->number = r->result = (word *)&g[REG_EAX];
    const greg_t arguments[] = {g[REG_EBX], g[REG_ECX], g[REG_EDX], g[REG_ESI], g[REG_EDI], g[REG_EBP]};
    memcpy(r->arguments, arguments, sizeof arguments);
}
#else
/* arm64: svc #0, with the number in x8. arm: svc 0 in ARM and Thumb state, with the number in r7. */
static const struct call_instruction instructions[] = {
    {0xd4000001, 0xffffffff, 4}, {0xef000000, 0xffffffff, 4}, {0xdf00, 0xffff, 2}};

static word *register_of(ucontext_t *context, unsigned n) {
    const bool is_64 = USPI_HOST_ARCH == USP_ARCH_ARM64;
    /* struct sigcontext begins with the fault's address (on arm with three words), then has the registers in order
     * (Linux arch/arm64/include/uapi/asm/sigcontext.h, arch/arm/include/uapi/asm/sigcontext.h). */
    return (word *)(void *)&context->uc_mcontext + (is_64 ? 1 : 3) + n;
}

static void find_registers(ucontext_t *context, struct call_registers *r) {
    const bool is_64 = USPI_HOST_ARCH == USP_ARCH_ARM64;
    r->pc = register_of(context, is_64 ? 32 : 15);
    r->number = register_of(context, is_64 ? 8 : 7);
    r->result = register_of(context, 0);
    for (unsigned i = 0; i < 6; i++) r->arguments[i] = *register_of(context, i);
}
#endif

/* Reads n bytes of code at `from`. Code on the same page as pc is read directly, because the thread executes that page.
 * Returns false when it cannot be read. */
static bool read_code(word pc, word from, void *to, size_t n) {
    const word page = ~(word)(USPI_LINUX_PAGE - 1);
    if ((from & page) != (pc & page) || ((from + n - 1) & page) != (pc & page)) {
        return uspi_linux_read_some(from, to, n) == n;
    }
    uspi_read_directly(from, to, n);
    return true;
}

/* Returns the kind of system call instruction at `at`; NULL: there is none. */
static const struct call_instruction *call_at(word at) {
    uint32_t bits = 0;
    /* The shortest instruction may end where the readable memory ends. */
    if (!read_code(at, at, &bits, sizeof bits) && !read_code(at, at, &bits, 2)) return NULL;
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
        if ((bits & instructions[i].mask) == instructions[i].bits) return &instructions[i];
    }
    return NULL;
}

/* ---- the program's other handlers ---- */

static uint64_t blocked_in(const ucontext_t *context) {
    uint64_t set;
    memcpy(&set, &context->uc_sigmask, sizeof set);
    return set;
}

/* Whether the program handles one of the signals in `set`.
 *   without_restart  only handlers that are to interrupt calls count */
static bool any_handled(uint64_t set, bool without_restart) {
    struct sigaction action;
    for (int number = 1; number < 64 && set != 0; number++, set >>= 1) {
        if ((set & 1) == 0 || uspi_linux->set_action(number, NULL, &action) < 0) continue;
        if (!uspi_is_handler(&action)) continue;
        if (!without_restart || (action.sa_flags & SA_RESTART) == 0) return true;
    }
    return false;
}

/* ---- calls that the kernel does not restart ---- */

#if defined(REG_RIP) || defined(REG_EIP)
/* Number of bytes before a call in which the instruction is searched that sets the call's number. */
#define CODE_BEFORE 24u
/* The register of the call's number, by DWARF number: rax, eax. */
#define NUMBER_REGISTER 0u

/* Whether the instructions in `code` run one after another to the end of its n bytes, and do not change the register of
 * the call's number. */
static bool keeps_number(const uint8_t *code, size_t n, word at) {
    const struct uspi_backend *b = uspi_backend_find(USPI_HOST_ARCH);
    struct uspi_instruction i;
    for (size_t done = 0; done < n; done += i.length) {
        if (!b->decode(code + done, n - done, at + done, 0, &i) || i.length == 0 || i.flow != USPI_NEXT) return false;
        if ((uspi_written_by(&i) >> NUMBER_REGISTER & 1) != 0 || i.length > n - done) return false;
    }
    return true;
}

/* Finds the nearest mov $NUMBER, %eax before the code at `at`, and gives its constant. */
static bool number_before(word at, word *number) {
    uint8_t code[CODE_BEFORE];
    if (!read_code(at, at - sizeof code, code, sizeof code)) return false;
    for (size_t from = sizeof code - 5; from + 1 > 0; from--) {
        uint32_t n;
        if (code[from] != 0xb8 || !keeps_number(code + from + 5, sizeof code - from - 5, at)) continue;
        memcpy(&n, code + from + 1, sizeof n);
        *number = n;
        return true;
    }
    return false;
}

#if defined(REG_EIP)
/* Finds the number of a call that the kernel's own code (the vDSO) makes. That code ends with pop %ebp; pop %edx; pop
 * %ecx; ret after the int $0x80, and libc calls it by call *%gs:0x10 (arch/x86/entry/vdso/vdso32/system_call.S). */
static bool number_of_call(word pc, word sp, word *number) {
    uint32_t after;
    word back;
    uint8_t code[7];
    static const uint8_t call[] = {0x65, 0xff, 0x15, 0x10, 0, 0, 0};
    if (number_before(pc - 2, number)) return true;
    if (uspi_linux_read_some(pc, &after, sizeof after) != sizeof after || after != UINT32_C(0xc3595a5d)) return false;
    if (uspi_linux_read_some(sp + 12, &back, sizeof back) != sizeof back) return false;
    if (uspi_linux_read_some(back - sizeof code, code, sizeof code) != sizeof code) return false;
    return memcmp(code, call, sizeof call) == 0 && number_before(back - sizeof code, number);
}
#define STACK_POINTER REG_ESP
#else
static bool number_of_call(word pc, word sp, word *number) {
    (void)sp;
    return number_before(pc - 2, number);
}
#define STACK_POINTER REG_RSP
#endif

/* Whether a call can be restarted that ends with EINTR whatever the handler's flags are (signal(7)). It must have no
 * time limit, and its arguments must be unchanged. */
static bool can_be_repeated(word number, const word *arguments) {
    switch (number) {
#ifdef SYS_ipc
    /* semop 1, semtimedop 4, msgsnd 11, msgrcv 12 (include/uapi/linux/ipc.h). */
    case SYS_ipc:
        return arguments[0] == 1 || arguments[0] == 11 || (arguments[0] & 0xffff) == 12 ||
               (arguments[0] == 4 && arguments[5] == 0);
#endif
#ifdef SYS_msgrcv
    case SYS_msgrcv:
    case SYS_msgsnd: return true;
#endif
#ifdef SYS_semop
    case SYS_semop: return true;
#endif
#ifdef SYS_semtimedop
    case SYS_semtimedop: return arguments[3] == 0;
#endif
#ifdef SYS_semtimedop_time64
    case SYS_semtimedop_time64: return arguments[3] == 0;
#endif
    default: return uspi_linux_is_sigwait((long)number) && arguments[2] == 0;
    }
}

static void repeat_call(ucontext_t *context, const struct call_registers *r, int number) {
    word call;
    const word sp = (word)context->uc_mcontext.gregs[STACK_POINTER];
    if ((long)*r->result != -EINTR || call_at(*r->pc - 2) == NULL || !number_of_call(*r->pc, sp, &call)) return;
    if (!can_be_repeated(call, r->arguments)) return;
    uint64_t others = ~(blocked_in(context) | USPI_LINUX_FAULTS | USPI_LINUX_SIGNAL(number));
    if (any_handled(others, false)) return;
    *r->pc -= 2;
    *r->number = call;
}
#else
/* On arm and arm64 a call cannot be repeated: its result has replaced its first argument. */
static void repeat_call(ucontext_t *context, const struct call_registers *r, int number) {
    (void)context;
    (void)r;
    (void)number;
}
#endif

/* ---- calls that the kernel restarts ---- */

/* Whether a call may end with EINTR: the program must expect that of it, and the call must do nothing before it
 * waits. */
static bool can_be_interrupted(word number, const word *arguments) {
    switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
#ifdef SYS_recvfrom
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_connect:
    case SYS_accept4:
#endif
#ifdef SYS_accept
    case SYS_accept:
#endif
#ifdef SYS_recv /* arm */
    case SYS_recv:
    case SYS_send:
#endif
#ifdef SYS_socketcall
    case SYS_socketcall:
#endif
#ifdef SYS_waitpid
    case SYS_waitpid:
#endif
#ifdef SYS_open
    case SYS_open:
#endif
    case SYS_openat:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_flock: return true;
#ifdef SYS_futex_time64
    case SYS_futex_time64:
#endif
    case SYS_futex: return (arguments[1] & 0x7f) == FUTEX_WAIT || (arguments[1] & 0x7f) == FUTEX_WAIT_BITSET;
#ifdef SYS_fcntl64
    case SYS_fcntl64:
#endif
    case SYS_fcntl: return arguments[1] == F_SETLKW || arguments[1] == F_OFD_SETLKW;
    default: return false;
    }
}

static void interrupt_call(const ucontext_t *context, const struct call_registers *r) {
    uint64_t pending;
    if (!can_be_interrupted(*r->number, r->arguments)) return;
    if (uspi_linux->pending_signals(&pending) < 0) return;
    pending &= ~blocked_in(context);
    const struct call_instruction *call = pending != 0 ? call_at(*r->pc) : NULL;
    if (call == NULL || !any_handled(pending, true)) return;
    *r->pc += call->length;
    *r->result = (word)-EINTR;
}

void uspi_restart_mend(void *context, int number, bool is_shared) {
    struct call_registers r;
    find_registers(context, &r);
    interrupt_call(context, &r);
    if (!is_shared) repeat_call(context, &r, number);
}

#endif
