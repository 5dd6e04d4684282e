/* SPDX-License-Identifier: MIT */
/* Tests x86_64's backend: constants, thread states, signal trampolines, decoder, calls. decode-diff-x86.py and
 * emulated/effects_x86.c compare the whole decoder with others; this file has the cases on which the library relies. */
#define _GNU_SOURCE /* REG_RIP, where this is the processor */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef __linux__
#include <sys/user.h>
#include <ucontext.h>
#endif

#include "decode_cases.h"
#include "tests/support/suite.h"

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15, RIP };

#define PUSHED(reg) STORE(reg, RSP, -8), SET(RSP, RSP, -8)

START_TEST(constants) {
    const struct uspi_backend *b = uspi_backend_find(USP_ARCH_X86_64);
    ck_assert_ptr_eq(b, &uspi_x86_64);
    ck_assert_str_eq(b->register_names[b->pc], "rip");
    ck_assert_str_eq(b->register_names[b->sp], "rsp");
    ck_assert_str_eq(b->register_names[b->fp], "rbp");
    ck_assert_str_eq(b->register_names[RDX], "rdx");
    ck_assert_str_eq(b->register_names[R15], "r15");
    ck_assert_uint_eq(b->callee_saved, BIT(RBX) | BIT(RBP) | BIT(R12) | BIT(R13) | BIT(R14) | BIT(R15));
}
END_TEST

START_TEST(mach_states) {
    static const struct state_case thread[] = {{RAX, 0},  {RBX, 8},   {RCX, 16},  {RDX, 24},
                                               {RDI, 32}, {RSI, 40},  {RBP, 48},  {RSP, 56},
                                               {R8, 64},  {R15, 120}, {RIP, 128}, {USPI_FLAGS_REGISTER, 136}};
    static const struct state_case context[] = {{RAX, 16}, {RBP, 64}, {RSP, 72}, {RIP, 144}};
    CHECK_STATE(&uspi_x86_64, USP_THREAD_STATE_MACH + 4, 42 * 4, thread);
    CHECK_STATE(&uspi_x86_64, USP_THREAD_STATE_DARWIN_MCONTEXT, 16 + 42 * 4, context);
    ck_assert_uint_eq(find_state(&uspi_x86_64, USP_THREAD_STATE_MACH + 7)->unified, 1);
}
END_TEST

START_TEST(linux_states) {
    static const struct state_case set[] = {{R15, 0},
                                            {R12, 24},
                                            {RBP, 32},
                                            {RBX, 40},
                                            {R8, 72},
                                            {RAX, 80},
                                            {RCX, 88},
                                            {RDX, 96},
                                            {RSI, 104},
                                            {RDI, 112},
                                            {RIP, 128},
                                            {RSP, 152},
                                            {USPI_CALL_REGISTER, 120}};
    static const struct state_case context[] = {{R8, 0x28},  {R15, 0x60}, {RDI, 0x68}, {RSI, 0x70},
                                                {RBP, 0x78}, {RBX, 0x80}, {RDX, 0x88}, {RAX, 0x90},
                                                {RCX, 0x98}, {RSP, 0xa0}, {RIP, 0xa8}, {USPI_FLAGS_REGISTER, 0xb0}};
    CHECK_STATE(&uspi_x86_64, USP_THREAD_STATE_LINUX_PRSTATUS, 27 * 8, set);
    CHECK_STATE(&uspi_x86_64, USP_THREAD_STATE_LINUX_UCONTEXT, 40 + 18 * 8, context);
}
END_TEST

#ifdef REG_RIP
#define GREG(reg) offsetof(ucontext_t, uc_mcontext.gregs[reg])
START_TEST(native_states) {
    static const struct state_case context[] = {
        {RAX, GREG(REG_RAX)}, {RBX, GREG(REG_RBX)}, {RCX, GREG(REG_RCX)},
        {RDX, GREG(REG_RDX)}, {RSI, GREG(REG_RSI)}, {RDI, GREG(REG_RDI)},
        {RBP, GREG(REG_RBP)}, {RSP, GREG(REG_RSP)}, {R8, GREG(REG_R8)},
        {R9, GREG(REG_R9)},   {R10, GREG(REG_R10)}, {R11, GREG(REG_R11)},
        {R12, GREG(REG_R12)}, {R13, GREG(REG_R13)}, {R14, GREG(REG_R14)},
        {R15, GREG(REG_R15)}, {RIP, GREG(REG_RIP)}, {USPI_FLAGS_REGISTER, GREG(REG_EFL)}};
#define USER(name) offsetof(struct user_regs_struct, name)
    static const struct state_case set[] = {{RAX, USER(rax)},
                                            {RBX, USER(rbx)},
                                            {RCX, USER(rcx)},
                                            {RDX, USER(rdx)},
                                            {RSI, USER(rsi)},
                                            {RDI, USER(rdi)},
                                            {RBP, USER(rbp)},
                                            {RSP, USER(rsp)},
                                            {R8, USER(r8)},
                                            {R9, USER(r9)},
                                            {R10, USER(r10)},
                                            {R11, USER(r11)},
                                            {R12, USER(r12)},
                                            {R13, USER(r13)},
                                            {R14, USER(r14)},
                                            {R15, USER(r15)},
                                            {RIP, USER(rip)},
                                            {USPI_FLAGS_REGISTER, USER(eflags)},
                                            {USPI_CALL_REGISTER, USER(orig_rax)}};
    CHECK_STATE(&uspi_x86_64, USP_THREAD_STATE_LINUX_UCONTEXT, 40 + 18 * 8, context);
    CHECK_STATE(&uspi_x86_64, USP_THREAD_STATE_LINUX_PRSTATUS, sizeof(struct user_regs_struct), set);
}
END_TEST

static volatile int stub_found, context_found;

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    const uint8_t *stub = __builtin_return_address(0);
    const uint8_t *sp = (const uint8_t *)__builtin_frame_address(0) + 16;
    for (size_t k = 0; k < uspi_x86_64.stub_count; k++) {
        const struct uspi_signal_stub *s = &uspi_x86_64.stubs[k];
        if (memcmp(stub - s->entry, s->code, s->length) != 0) continue;
        stub_found++;
        context_found += sp + s->context == (const uint8_t *)context;
    }
}

/* A real signal: its handler must return to one of the stubs, and the context must lie where the stub says. */
START_TEST(native_signal) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    ck_assert_int_eq(raise(SIGUSR1), 0);
    ck_assert_int_eq(stub_found, 1);
    ck_assert_int_eq(context_found, 1);
}
END_TEST
#endif

START_TEST(stubs) {
    static const char *const code[] = {"48 c7 c0 0f 00 00 00 0f 05", "b8 0f 00 00 00 0f 05"};
    ck_assert_uint_eq(uspi_x86_64.stub_count, 2);
    for (size_t k = 0; k < 2; k++) {
        uint8_t bytes[16];
        const struct uspi_signal_stub *s = &uspi_x86_64.stubs[k];
        ck_assert_uint_eq(s->length, bytes_of(code[k], bytes, sizeof bytes));
        ck_assert_mem_eq(s->code, bytes, s->length);
        ck_assert(s->os == USP_OS_LINUX && s->state == USP_THREAD_STATE_LINUX_UCONTEXT && s->entry == 0 &&
                  s->context == 0);
    }
}
END_TEST

START_TEST(stack) {
    static const struct decode_case cases[] = {
        {"55", "push rbp", .effects = {PUSHED(RBP)}},
        {"41 57", "push r15", .effects = {PUSHED(R15)}},
        {"54", "push rsp", .effects = {PUSHED(RSP)}},
        {"ff f5", "push rbp", .effects = {PUSHED(RBP)}},
        {"6a 10", "push 16", .effects = {PUSHED(USPI_NO_REGISTER)}},
        {"68 00 01 00 00", "push 256", .effects = {PUSHED(USPI_NO_REGISTER)}},
        {"ff 75 08", "push [rbp+8]", .effects = {PUSHED(USPI_NO_REGISTER)}},
        {"9c", "pushfq", .effects = {PUSHED(USPI_NO_REGISTER)}},
        {"0f a0", "push fs", .effects = {PUSHED(USPI_NO_REGISTER)}},
        {"66 50", "push ax", .effects = {SET(RSP, RSP, -2)}},
        {"5d", "pop rbp", .effects = {LOAD(RBP, RSP, 0), SET(RSP, RSP, 8)}},
        {"41 5c", "pop r12", .effects = {LOAD(R12, RSP, 0), SET(RSP, RSP, 8)}},
        {"5c", "pop rsp", .effects = {LOAD(RSP, RSP, 0)}},
        {"8f c3", "pop rbx", .effects = {LOAD(RBX, RSP, 0), SET(RSP, RSP, 8)}},
        {"8f 45 f8", "pop [rbp-8]", .effects = {SET(RSP, RSP, 8), STORE_UNKNOWN(RBP, -8)}},
        {"8f 44 24 08", "pop [rsp+8]", .effects = {SET(RSP, RSP, 8), STORE_UNKNOWN(RSP, 8)}},
        {"66 5b", "pop bx", .effects = {SET(RSP, RSP, 2)}, .clobbers = BIT(RBX)},
        {"9d", "popfq", .effects = {SET(RSP, RSP, 8)}},
        {"0f a9", "pop gs", .effects = {SET(RSP, RSP, 8)}},
        {"c9", "leave", .effects = {SET(RSP, RBP, 0), LOAD(RBP, RSP, 0), SET(RSP, RSP, 8)}},
        {"c8 20 00 00", "enter 32, 0", .effects = {STORE(RBP, RSP, -8), SET(RBP, RSP, -8), SET(RSP, RSP, -40)}},
        {"c8 00 ff 02", "enter 65280, 2", .effects = {STORE(RBP, RSP, -8), SET(RBP, RSP, -8), SET(RSP, RSP, -65304)}},
        {"48 83 ec 28", "sub rsp, 40", .effects = {SET(RSP, RSP, -40)}},
        {"48 81 ec 08 10 00 00", "sub rsp, 4104", .effects = {SET(RSP, RSP, -4104)}},
        {"48 83 c4 80", "add rsp, -128", .effects = {SET(RSP, RSP, -128)}},
        {"48 83 e4 f0", "and rsp, -16", .effects = {ALIGN(RSP, 16)}},
        {"48 29 c4", "sub rsp, rax", .effects = {DIFFERENCE(RSP, RSP, RAX)}},
        {"4c 03 e4", "add r12, rsp", .effects = {SUM(R12, R12, RSP)}},
        {"48 2b 25 00 01 00 00", "sub rsp, [rip+256]", .clobbers = BIT(RSP)},
        {"48 8d 64 24 08", "lea rsp, [rsp+8]", .effects = {SET(RSP, RSP, 8)}},
        {"48 8d 65 d8", "lea rsp, [rbp-40]", .effects = {SET(RSP, RBP, -40)}},
        {"49 8d 62 f8", "lea rsp, [r10-8]", .effects = {SET(RSP, R10, -8)}},
        {"48 94", "xchg rsp, rax", .clobbers = BIT(RSP) | BIT(RAX)},
        {"48 87 e5", "xchg rbp, rsp", .clobbers = BIT(RSP) | BIT(RBP)},
        {"89 fc", "mov esp, edi", .clobbers = BIT(RSP)},
    };
    CHECK_CASES(&uspi_x86_64, cases);
}
END_TEST

START_TEST(moves) {
    static const struct decode_case cases[] = {
        {"48 89 e5", "mov rbp, rsp", .effects = {SET(RBP, RSP, 0)}},
        {"48 8b ec", "mov rbp, rsp", .effects = {SET(RBP, RSP, 0)}},
        {"4d 89 fc", "mov r12, r15", .effects = {SET(R12, R15, 0)}},
        {"89 c3", "mov ebx, eax", .clobbers = BIT(RBX)},
        {"66 89 c3", "mov bx, ax", .clobbers = BIT(RBX)},
        {"88 fc", "mov ah, bh", .clobbers = BIT(RAX)},
        {"40 88 fc", "mov spl, dil", .clobbers = BIT(RSP)},
        {"8a 26", "mov ah, [rsi]", .clobbers = BIT(RAX)},
        {"48 89 5c 24 08", "mov [rsp+8], rbx", .effects = {STORE(RBX, RSP, 8)}},
        {"4c 89 65 e8", "mov [rbp-24], r12", .effects = {STORE(R12, RBP, -24)}},
        {"89 5c 24 08", "mov [rsp+8], ebx", .flow = USPI_NEXT},
        {"48 89 5c cc 08", "mov [rsp+8*rcx+8], rbx", .flow = USPI_NEXT},
        {"64 48 89 04 24", "mov fs:[rsp], rax", .flow = USPI_NEXT},
        {"67 48 89 04 24", "mov [esp], rax", .flow = USPI_NEXT},
        {"48 89 05 00 00 00 00", "mov [rip], rax", .flow = USPI_NEXT},
        {"48 c7 45 f8 00 00 00 00", "mov [rbp-8], 0", .effects = {STORE_UNKNOWN(RBP, -8)}},
        {"48 0f c3 45 f8", "movnti [rbp-8], rax", .effects = {STORE(RAX, RBP, -8)}},
        {"48 01 45 f8", "add [rbp-8], rax", .effects = {STORE_UNKNOWN(RBP, -8)}},
        {"48 39 45 f8", "cmp [rbp-8], rax", .flow = USPI_NEXT},
        {"48 ff 45 f8", "inc [rbp-8]", .effects = {STORE_UNKNOWN(RBP, -8)}},
        {"48 d1 65 f8", "shl [rbp-8], 1", .effects = {STORE_UNKNOWN(RBP, -8)}},
        {"48 87 04 24", "xchg [rsp], rax", .effects = {STORE(RAX, RSP, 0)}, .clobbers = BIT(RAX)},
        {"48 8b 5c 24 08", "mov rbx, [rsp+8]", .effects = {LOAD(RBX, RSP, 8)}},
        {"4c 8b a5 00 ff ff ff", "mov r12, [rbp-256]", .effects = {LOAD(R12, RBP, -256)}},
        {"48 8b 64 24 08", "mov rsp, [rsp+8]", .effects = {LOAD(RSP, RSP, 8)}},
        {"49 8b 45 00", "mov rax, [r13]", .effects = {LOAD(RAX, R13, 0)}},
        {"4a 8b 04 25 10 00 00 00", "mov rax, [r12+16]", .effects = {LOAD(RAX, R12, 16)}},
        {"8b 5c 24 08", "mov ebx, [rsp+8]", .clobbers = BIT(RBX)},
        {"48 8b 1c cc", "mov rbx, [rsp+8*rcx]", .clobbers = BIT(RBX)},
        {"48 8b 1d 00 01 00 00", "mov rbx, [rip+256]", .clobbers = BIT(RBX)},
        {"64 48 8b 1c 24", "mov rbx, fs:[rsp]", .clobbers = BIT(RBX)},
        {"48 a1 08 07 06 05 04 03 02 01", "movabs rax, [102030405060708h]", .clobbers = BIT(RAX)},
        {"67 48 a1 04 03 02 01", "mov rax, [1020304h]", .clobbers = BIT(RAX)},
        {"b8 ff ff ff ff", "mov eax, 4294967295", .effects = {CONSTANT(RAX, 0xffffffff)}},
        {"48 c7 c3 ff ff ff ff", "mov rbx, -1", .effects = {CONSTANT(RBX, -1)}},
        {"49 bb 08 07 06 05 04 03 02 01", "mov r11, 102030405060708h", .effects = {CONSTANT(R11, 0x0102030405060708)}},
        {"66 b8 01 00", "mov ax, 1", .clobbers = BIT(RAX)},
        {"b4 01", "mov ah, 1", .clobbers = BIT(RAX)},
        {"40 b4 01", "mov spl, 1", .clobbers = BIT(RSP)},
        {"31 db", "xor ebx, ebx", .effects = {CONSTANT(RBX, 0)}},
        {"48 29 ff", "sub rdi, rdi", .effects = {CONSTANT(RDI, 0)}},
        {"66 31 db", "xor bx, bx", .clobbers = BIT(RBX)},
        {"48 19 c0", "sbb rax, rax", .clobbers = BIT(RAX)},
        {"01 c3", "add ebx, eax", .clobbers = BIT(RBX)},
        {"48 ff c3", "inc rbx", .effects = {SET(RBX, RBX, 1)}},
        {"ff cb", "dec ebx", .clobbers = BIT(RBX)},
        {"48 8d 1d 10 00 00 00", "lea rbx, [rip+16]", .effects = {CONSTANT(RBX, CASE_PC + 7 + 16)}},
        {"48 8d 1c 25 00 10 00 00", "lea rbx, [4096]", .effects = {CONSTANT(RBX, 4096)}},
        {"48 8d 1c 05 20 00 00 00", "lea rbx, [rax*1+32]", .effects = {SET(RBX, RAX, 32)}},
        {"48 8d 1c 08", "lea rbx, [rax+rcx]", .effects = {SUM(RBX, RAX, RCX)}},
        {"48 8d 5c 08 01", "lea rbx, [rax+rcx+1]", .effects = {SUM(RBX, RAX, RCX), SET(RBX, RBX, 1)}},
        {"48 8d 1c 48", "lea rbx, [rax+2*rcx]", .clobbers = BIT(RBX)},
        {"8d 5f 08", "lea ebx, [rdi+8]", .clobbers = BIT(RBX)},
        {"64 48 8d 5f 08", "lea rbx, fs:[rdi+8]", .effects = {SET(RBX, RDI, 8)}},
        {"48 0f ba ed 3c", "bts rbp, 60", .start_hint = 1, .effects = {SET(RBP, RBP, 0)}},
        {"48 0f ba f5 3c", "btr rbp, 60", .effects = {SET(RBP, RBP, 0)}},
        {"48 0f ba ed 3b", "bts rbp, 59", .clobbers = BIT(RBP)},
        {"48 0f ba fd 3c", "btc rbp, 60", .clobbers = BIT(RBP)},
        {"0f ba ed 1c", "bts ebp, 28", .clobbers = BIT(RBP)},
    };
    CHECK_CASES(&uspi_x86_64, cases);
}
END_TEST

START_TEST(flow) {
    static const struct decode_case cases[] = {
        {"e8 fb 0f 00 00", "call +4091", .flow = USPI_CALL, .target = CASE_PC + 0x1000},
        {"66 66 48 e8 f8 0f 00 00", "data16 call", .flow = USPI_CALL, .target = CASE_PC + 0x1000},
        {"e8 00 00 00 00", "call the next instruction", .effects = {PUSHED(USPI_NO_REGISTER)}},
        {"ff d0", "call rax", .flow = USPI_CALL},
        {"41 ff 54 24 18", "call [r12+24]", .flow = USPI_CALL},
        {"ff 15 00 10 00 00", "call [rip+4096]", .flow = USPI_CALL},
        {"c3", "ret", .effects = {LOAD(RIP, RSP, 0), SET(RSP, RSP, 8)}, .flow = USPI_RETURN, .target_register = RIP},
        {"f3 c3", "repz ret", .effects = {LOAD(RIP, RSP, 0), SET(RSP, RSP, 8)}, .flow = USPI_RETURN,
         .target_register = RIP},
        {"f2 c3", "bnd ret", .effects = {LOAD(RIP, RSP, 0), SET(RSP, RSP, 8)}, .flow = USPI_RETURN,
         .target_register = RIP},
        {"c2 10 00", "ret 16", .effects = {LOAD(RIP, RSP, 0), SET(RSP, RSP, 24)}, .flow = USPI_RETURN,
         .target_register = RIP},
        {"c2 00 80", "ret 32768", .effects = {LOAD(RIP, RSP, 0), SET(RSP, RSP, 32776)}, .flow = USPI_RETURN,
         .target_register = RIP},
        {"48 cf", "iretq", .flow = USPI_END},
        {"cb", "retf", .flow = USPI_END},
        {"eb fe", "jmp itself", .flow = USPI_JUMP, .target = CASE_PC},
        {"e9 fb ff ff ff", "jmp itself", .flow = USPI_JUMP, .target = CASE_PC},
        {"f2 e9 fa ff ff ff", "bnd jmp itself", .flow = USPI_JUMP, .target = CASE_PC},
        {"74 10", "je +16", .flow = USPI_BRANCH, .target = CASE_PC + 18},
        {"2e 0f 85 00 01 00 00", "jne,pn +256", .flow = USPI_BRANCH, .target = CASE_PC + 263},
        {"e3 10", "jrcxz +16", .flow = USPI_BRANCH, .target = CASE_PC + 18},
        {"e2 fe", "loop itself", .effects = {SET(RCX, RCX, -1)}, .flow = USPI_BRANCH, .target = CASE_PC},
        {"67 e2 fd", "loop itself by ecx", .clobbers = BIT(RCX), .flow = USPI_BRANCH, .target = CASE_PC},
        {"c7 f8 10 00 00 00", "xbegin +16", .clobbers = BIT(RAX), .flow = USPI_BRANCH, .target = CASE_PC + 22},
        {"c6 f8 01", "xabort 1", .clobbers = BIT(RAX)},
        {"0f 01 d5", "xend", .flow = USPI_NEXT},
        {"41 ff e3", "jmp r11", .flow = USPI_JUMP_UNKNOWN, .target_register = R11},
        {"3e ff e2", "notrack jmp rdx", .flow = USPI_JUMP_TABLE, .target_register = RDX},
        {"ff 25 00 10 00 00", "jmp [rip+4096]", .flow = USPI_JUMP_UNKNOWN, .target_register = RIP,
         .effects = {GLOBAL(RIP, CASE_PC + 4102)}},
        {"f2 ff 25 00 10 00 00", "bnd jmp [rip+4096]", .flow = USPI_JUMP_UNKNOWN, .target_register = RIP,
         .effects = {GLOBAL(RIP, CASE_PC + 4103)}},
        {"ff 67 18", "jmp [rdi+24]", .flow = USPI_JUMP_UNKNOWN, .target_register = RIP,
         .effects = {LOAD(RIP, RDI, 24)}},
        {"48 ff 67 18", "rex.w jmp [rdi+24]", .flow = USPI_JUMP_UNKNOWN, .target_register = RIP,
         .effects = {LOAD(RIP, RDI, 24)}},
        {"66 ff 67 18", "jmp word [rdi+24]", .flow = USPI_JUMP_UNKNOWN},
        {"64 ff 67 18", "jmp fs:[rdi+24]", .flow = USPI_JUMP_UNKNOWN},
        {"ff 24 07", "jmp [rdi+rax]", .flow = USPI_JUMP_UNKNOWN},
        {"ff 24 c5 00 20 40 00", "jmp [8*rax+402000h]", .flow = USPI_JUMP_TABLE},
        {"ff 24 c7", "jmp [rdi+8*rax]", .flow = USPI_JUMP_TABLE},
        {"cc", "int3", .flow = USPI_END},
        {"f1", "int1", .flow = USPI_END},
        {"f4", "hlt", .flow = USPI_END},
        {"0f 0b", "ud2", .flow = USPI_END},
        {"67 0f b9 40 02", "ud1 eax, [eax+2]", .flow = USPI_END},
        {"0f ff c1", "ud0 eax, ecx", .flow = USPI_END},
        {"0f 05", "syscall", .clobbers = BIT(RAX) | BIT(RCX) | BIT(R11)},
        {"cd 80", "int 80h", .clobbers = BIT(RAX)},
        {"f3 0f 1e fa", "endbr64", .start_hint = 1},
        {"f3 0f 1e fb", "endbr32", .flow = USPI_NEXT},
        {"90", "nop", .flow = USPI_NEXT},
        {"f3 90", "pause", .flow = USPI_NEXT},
        {"48 90", "rex.w nop", .flow = USPI_NEXT},
        {"66 66 2e 0f 1f 84 00 00 00 00 00", "nop of 11 bytes", .flow = USPI_NEXT},
        {"0f 1f 40 00", "nop [rax]", .flow = USPI_NEXT},
        {"0f 0d 09", "prefetchw [rcx]", .flow = USPI_NEXT},
    };
    CHECK_CASES(&uspi_x86_64, cases);
}
END_TEST

START_TEST(clobbers) {
    static const struct decode_case cases[] = {
        {"41 90", "xchg r8d, eax", .clobbers = BIT(RAX) | BIT(R8)},
        {"f3 a4", "rep movsb", .clobbers = BIT(RSI) | BIT(RDI) | BIT(RCX)},
        {"48 ab", "stosq", .clobbers = BIT(RDI)},
        {"f2 ae", "repne scasb", .clobbers = BIT(RDI) | BIT(RCX)},
        {"48 ad", "lodsq", .clobbers = BIT(RAX) | BIT(RSI)},
        {"f7 e3", "mul ebx", .clobbers = BIT(RAX) | BIT(RDX)},
        {"f6 fb", "idiv bl", .clobbers = BIT(RAX)},
        {"48 f7 db", "neg rbx", .clobbers = BIT(RBX)},
        {"f7 c3 01 00 00 00", "test ebx, 1", .flow = USPI_NEXT},
        {"66 f7 c3 01 00", "test bx, 1", .flow = USPI_NEXT},
        {"f6 c3 01", "test bl, 1", .flow = USPI_NEXT},
        {"48 6b db 03", "imul rbx, rbx, 3", .clobbers = BIT(RBX)},
        {"48 63 d8", "movsxd rbx, eax", .clobbers = BIT(RBX)},
        {"0f a2", "cpuid", .clobbers = BIT(RAX) | BIT(RBX) | BIT(RCX) | BIT(RDX)},
        {"0f 01 f9", "rdtscp", .clobbers = BIT(RAX) | BIT(RCX) | BIT(RDX)},
        {"0f 01 d0", "xgetbv", .clobbers = BIT(RAX) | BIT(RDX)},
        {"f0 48 0f b1 0a", "lock cmpxchg [rdx], rcx", .effects = {STORE_UNKNOWN(RDX, 0)}, .clobbers = BIT(RAX)},
        {"48 0f c7 0f", "cmpxchg16b [rdi]", .clobbers = BIT(RAX) | BIT(RDX)},
        {"48 0f c7 f3", "rdrand rbx", .clobbers = BIT(RBX)},
        {"f0 48 0f c1 07", "lock xadd [rdi], rax", .effects = {STORE_UNKNOWN(RDI, 0)}, .clobbers = BIT(RAX)},
        {"0f 94 c3", "sete bl", .clobbers = BIT(RBX)},
        {"0f 94 c7", "sete bh", .clobbers = BIT(RBX)},
        {"40 0f 94 c7", "sete dil", .clobbers = BIT(RDI)},
        {"f0 48 83 0c 24 00", "lock or qword [rsp], 0", .flow = USPI_NEXT},
        {"f0 83 04 24 00", "lock add dword [rsp], 0", .flow = USPI_NEXT},
        {"f0 48 83 0c 24 01", "lock or qword [rsp], 1", .effects = {STORE_UNKNOWN(RSP, 0)}},
        {"48 83 24 24 00", "and qword [rsp], 0", .effects = {STORE_UNKNOWN(RSP, 0)}},
        {"48 83 14 24 00", "adc qword [rsp], 0", .effects = {STORE_UNKNOWN(RSP, 0)}},
        {"48 0f 44 d8", "cmove rbx, rax", .clobbers = BIT(RBX)},
        {"f3 48 0f b8 d8", "popcnt rbx, rax", .clobbers = BIT(RBX)},
        {"0f bd d8", "bsr ebx, eax", .clobbers = BIT(RBX)},
        {"49 0f cd", "bswap r13", .clobbers = BIT(R13)},
        {"f3 48 0f ae c3", "rdfsbase rbx", .clobbers = BIT(RBX)},
        {"f3 48 0f ae d3", "wrfsbase rbx", .flow = USPI_NEXT},
        {"f3 48 0f 1e cb", "rdsspq rbx", .clobbers = BIT(RBX)},
        {"f3 48 0f ae eb", "incsspq rbx", .flow = USPI_NEXT},
        {"df e0", "fnstsw ax", .clobbers = BIT(RAX)},
        {"dd d8", "fstp st(0)", .flow = USPI_NEXT},
        {"66 48 0f 7e c3", "movq rbx, xmm0", .clobbers = BIT(RBX)},
        {"f3 0f 7e c3", "movq xmm0, xmm3", .flow = USPI_NEXT},
        {"f2 48 0f 2c d8", "cvttsd2si rbx, xmm0", .clobbers = BIT(RBX)},
        {"66 0f 2c d8", "cvttpd2pi mm3, xmm0", .flow = USPI_NEXT},
        {"66 0f d7 d8", "pmovmskb ebx, xmm0", .clobbers = BIT(RBX)},
        {"66 0f 3a 16 c3 01", "pextrd ebx, xmm0, 1", .clobbers = BIT(RBX)},
        {"66 0f 3a 63 c1 0c", "pcmpistri xmm0, xmm1, 12", .clobbers = BIT(RCX)},
        {"f2 48 0f 38 f1 d8", "crc32 rbx, rax", .clobbers = BIT(RBX)},
        {"48 0f 38 f1 5d f8", "movbe [rbp-8], rbx", .effects = {STORE_UNKNOWN(RBP, -8)}},
        {"c4 e2 f8 f2 d9", "andn rbx, rax, rcx", .clobbers = BIT(RBX)},
        {"c4 e2 e3 f6 e9", "mulx rbp, rbx, rcx", .clobbers = BIT(RBP) | BIT(RBX)},
        {"c4 c2 98 f3 cd", "blsr r12, r13", .clobbers = BIT(R12)},
        {"c4 63 fb f0 e0 05", "rorx r12, rax, 5", .clobbers = BIT(R12)},
        {"c5 fd d7 d8", "vpmovmskb ebx, ymm0", .clobbers = BIT(RBX)},
        {"c4 e1 fb 93 d8", "kmovq rbx, k0", .clobbers = BIT(RBX)},
        {"c5 f8 77", "vzeroupper", .flow = USPI_NEXT},
        {"62 f1 7c 48 11 44 24 01", "vmovups [rsp+64], zmm0", .flow = USPI_NEXT},
        {"62 f1 7f 08 78 d8", "vcvttsd2usi ebx, xmm0", .clobbers = BIT(RBX)},
        {"62 d1 fd 08 7e c4", "vmovq r12, xmm0", .clobbers = BIT(R12)},
        {"8f ea 78 10 d8 01 02 03 04", "bextr ebx, eax, 4030201h", .clobbers = BIT(RBX)},
    };
    CHECK_CASES(&uspi_x86_64, cases);
}
END_TEST

START_TEST(refused) {
    static const char *const text[] = {
        "06",                                              /* push es: only in 32-bit mode */
        "60",                                              /* pusha */
        "d5 11 50",                                        /* REX2: APX */
        "62 f4 7c 08 ff f0",                               /* EVEX map 4: APX */
        "0f 04",                                           /* never defined */
        "8d c0",                                           /* lea of a register */
        "ff f8",                                           /* ff /7 */
        "66 c5 f8 77",                                     /* a legacy prefix before VEX */
        "66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90", /* 16 bytes */
    };
    for (size_t k = 0; k < sizeof text / sizeof text[0]; k++) check_refused(&uspi_x86_64, text[k]);
    static const struct decode_case longest[] = {
        {"66 66 66 66 66 66 66 66 66 66 66 66 66 66 90", "a nop of 15 bytes", .flow = USPI_NEXT},
    };
    CHECK_CASES(&uspi_x86_64, longest);
}
END_TEST

START_TEST(calls) {
    static const struct call_case cases[] = {
        {"90 90 90 e8 00 01 00 00", "call rel32", true, CASE_PC + 0x100},
        {"e8 fb ff ef ff", "call rel32, nothing before it", true, CASE_PC - 0x100005},
        {"90 90 90 90 90 ff d0", "call rax", true, 0},
        {"ff d0", "call rax, nothing before it", true, 0},
        {"90 90 90 90 41 ff d4", "call r12", true, 0},
        {"90 90 90 3e ff d0", "notrack call rax", true, 0},
        {"90 90 90 f2 ff d0", "bnd call rax", true, 0},
        {"90 90 90 90 ff 10", "call [rax]", true, 0},
        {"90 90 90 ff 14 24", "call [rsp]", true, 0},
        {"90 90 90 ff 50 18", "call [rax+24]", true, 0},
        {"90 90 ff 54 24 18", "call [rsp+24]", true, 0},
        {"ff 15 00 10 00 00", "call [rip+4096]", true, 0},
        {"ff 93 00 10 00 00", "call [rbx+4096]", true, 0},
        {"ff 94 c7 00 10 00 00", "call [rdi+8*rax+4096]", true, 0},
        {"ff 14 c5 00 10 00 00", "call [8*rax+4096]", true, 0},
        {"90 e8 00 01 00 00 90", "a call, then a nop", false, 0},
        {"e8 00 01 00", "half a call", false, 0},
        {"90 90 ff e0", "jmp rax", false, 0},
        {"90 90 90 ff 14", "call [sib] without its last byte", false, 0},
        {"ff 94 c7 00 10 00", "call [rdi+8*rax+disp32] without its last byte", false, 0},
        {"9a 00 00 00 00 33 00", "far call", false, 0},
        {"ff 1c 24", "far call [rsp]", false, 0},
        {"e8 10 ff 50 00", "both a direct call and call [rax+0]", true, 0},
        {"", "nothing", false, 0},
        {"c3", "ret", false, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) check_call(&uspi_x86_64, &cases[k]);
}
END_TEST

START_TEST(random_bytes) { check_random_bytes(&uspi_x86_64, 500000); }
END_TEST

int main(void) {
    TCase *group = tcase_create("backend");
    add_tests(group, constants, mach_states, linux_states);
#ifdef REG_RIP
    add_tests(group, native_states, native_signal);
#endif
    add_tests(group, stubs, stack, moves, flow, clobbers, refused, calls, random_bytes);
    return run_suite("x86_64", group);
}
