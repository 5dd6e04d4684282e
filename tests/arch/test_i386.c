/* SPDX-License-Identifier: MIT */
/* Tests i386's backend: constants, thread states, signal trampolines, decoder, calls. test_x86_64.c tests the part of
 * the decoder that both share; this file tests 32-bit mode. */
#define _GNU_SOURCE /* REG_EIP, where this is the processor */
#include <signal.h>
#include <stddef.h>

#ifdef __linux__
#include <sys/user.h>
#include <ucontext.h>
#endif

#include "decode_cases.h"
#include "tests/support/suite.h"

enum { EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI, EIP };

#define PUSHED(reg) STORE(reg, ESP, -4), SET(ESP, ESP, -4)

START_TEST(constants) {
    const struct uspi_backend *b = uspi_backend_find(USP_ARCH_I386);
    ck_assert_ptr_eq(b, &uspi_i386);
    ck_assert_str_eq(b->register_names[b->pc], "eip");
    ck_assert_str_eq(b->register_names[b->sp], "esp");
    ck_assert_str_eq(b->register_names[b->fp], "ebp");
    ck_assert_str_eq(b->register_names[EDI], "edi");
    ck_assert_uint_eq(b->callee_saved, BIT(EBX) | BIT(EBP) | BIT(ESI) | BIT(EDI));
}
END_TEST

START_TEST(mach_states) {
    static const struct state_case thread[] = {{EAX, 0},  {EBX, 4},  {ECX, 8},  {EDX, 12}, {EDI, 16},
                                               {ESI, 20}, {EBP, 24}, {ESP, 28}, {EIP, 40}, {USPI_FLAGS_REGISTER, 36}};
    static const struct state_case context[] = {{EAX, 12}, {EBP, 36}, {ESP, 40}, {EIP, 52}};
    CHECK_STATE(&uspi_i386, USP_THREAD_STATE_MACH + 1, 16 * 4, thread);
    CHECK_STATE(&uspi_i386, USP_THREAD_STATE_DARWIN_MCONTEXT, 12 + 16 * 4, context);
    ck_assert_uint_eq(find_state(&uspi_i386, USP_THREAD_STATE_MACH + 7)->unified, 1);
}
END_TEST

START_TEST(linux_states) {
    static const struct state_case set[] = {{EBX, 0},
                                            {ECX, 4},
                                            {EDX, 8},
                                            {ESI, 12},
                                            {EDI, 16},
                                            {EBP, 20},
                                            {EAX, 24},
                                            {EIP, 48},
                                            {ESP, 60},
                                            {USPI_FLAGS_REGISTER, 56},
                                            {USPI_CALL_REGISTER, 44}};
    static const struct state_case context[] = {
        {EDI, 0x24}, {ESI, 0x28}, {EBP, 0x2c}, {ESP, 0x30}, {EBX, 0x34},
        {EDX, 0x38}, {ECX, 0x3c}, {EAX, 0x40}, {EIP, 0x4c}, {USPI_FLAGS_REGISTER, 0x54}};
    static const struct state_case old[] = {{EDI, 16}, {EBP, 24}, {ESP, 28},
                                            {EAX, 44}, {EIP, 56}, {USPI_FLAGS_REGISTER, 64}};
    CHECK_STATE(&uspi_i386, USP_THREAD_STATE_LINUX_PRSTATUS, 17 * 4, set);
    CHECK_STATE(&uspi_i386, USP_THREAD_STATE_LINUX_UCONTEXT, 20 + 17 * 4, context);
    CHECK_STATE(&uspi_i386, USP_THREAD_STATE_LINUX_SIGCONTEXT, 17 * 4, old);
}
END_TEST

#ifdef REG_EIP
#define GREG(reg) offsetof(ucontext_t, uc_mcontext.gregs[reg])
START_TEST(native_states) {
    static const struct state_case context[] = {{EAX, GREG(REG_EAX)}, {ECX, GREG(REG_ECX)},
                                                {EDX, GREG(REG_EDX)}, {EBX, GREG(REG_EBX)},
                                                {ESP, GREG(REG_ESP)}, {EBP, GREG(REG_EBP)},
                                                {ESI, GREG(REG_ESI)}, {EDI, GREG(REG_EDI)},
                                                {EIP, GREG(REG_EIP)}, {USPI_FLAGS_REGISTER, GREG(REG_EFL)}};
#define USER(name) offsetof(struct user_regs_struct, name)
    static const struct state_case set[] = {{EAX, USER(eax)},
                                            {ECX, USER(ecx)},
                                            {EDX, USER(edx)},
                                            {EBX, USER(ebx)},
                                            {ESP, USER(esp)},
                                            {EBP, USER(ebp)},
                                            {ESI, USER(esi)},
                                            {EDI, USER(edi)},
                                            {EIP, USER(eip)},
                                            {USPI_FLAGS_REGISTER, USER(eflags)},
                                            {USPI_CALL_REGISTER, USER(orig_eax)}};
    CHECK_STATE(&uspi_i386, USP_THREAD_STATE_LINUX_UCONTEXT, 20 + 17 * 4, context);
    CHECK_STATE(&uspi_i386, USP_THREAD_STATE_LINUX_PRSTATUS, sizeof(struct user_regs_struct), set);
}
END_TEST

static volatile uint32_t found_state, found_context;

/* Finds the stub to which a handler returns, and the address at which the stub says that the context lies. */
static void look(const uint8_t *stub, const uint8_t *sp) {
    for (size_t k = 0; k < uspi_i386.stub_count; k++) {
        const struct uspi_signal_stub *s = &uspi_i386.stubs[k];
        if (memcmp(stub - s->entry, s->code, s->length) != 0) continue;
        found_state = s->state;
        found_context = (uint32_t)(uintptr_t)(sp + s->context);
    }
}

static volatile uint32_t context_address;

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    context_address = (uint32_t)(uintptr_t)context;
    look(__builtin_return_address(0), (const uint8_t *)__builtin_frame_address(0) + 8);
}

static volatile uint32_t interrupted_sp;

static uint32_t in_sigcontext(unsigned reg) {
    const struct uspi_state_layout *layout = find_state(&uspi_i386, USP_THREAD_STATE_LINUX_SIGCONTEXT);
    for (size_t k = 0; k < layout->run_count; k++) {
        if (layout->runs[k].first == reg)
            return uspi_le32((const uint8_t *)(uintptr_t)found_context + layout->runs[k].offset);
    }
    return 0;
}

static void on_old_signal(int number) {
    (void)number;
    look(__builtin_return_address(0), (const uint8_t *)__builtin_frame_address(0) + 8);
    if (found_state != USP_THREAD_STATE_LINUX_SIGCONTEXT) return;
    interrupted_sp = in_sigcontext(ESP);
}

/* Real signals: their handlers must return to one of the stubs, and the context must lie where the stub says. */
START_TEST(native_signals) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    ck_assert_int_eq(raise(SIGUSR1), 0);
    ck_assert_uint_eq(found_state, USP_THREAD_STATE_LINUX_UCONTEXT);
    ck_assert_uint_eq(found_context, context_address);

    struct sigaction old = {.sa_handler = on_old_signal};
    ck_assert_int_eq(sigaction(SIGUSR1, &old, NULL), 0);
    ck_assert_int_eq(raise(SIGUSR1), 0);
    ck_assert_uint_eq(found_state, USP_THREAD_STATE_LINUX_SIGCONTEXT);
    /* raise() runs below this function's frame, and the kernel puts the sigcontext below that. */
    ck_assert_uint_lt(interrupted_sp, (uint32_t)(uintptr_t)__builtin_frame_address(0));
    ck_assert_uint_gt(interrupted_sp, found_context);
    ck_assert_uint_lt(interrupted_sp - found_context, 8192);
}
END_TEST
#endif

START_TEST(stubs) {
    static const struct {
        const char *code;
        uint32_t state;
        unsigned context;
    } cases[] = {
        {"b8 ad 00 00 00 cd 80", USP_THREAD_STATE_LINUX_UCONTEXT, 0x8c},
        {"58 b8 77 00 00 00 cd 80", USP_THREAD_STATE_LINUX_SIGCONTEXT, 4},
    };
    ck_assert_uint_eq(uspi_i386.stub_count, 2);
    for (size_t k = 0; k < 2; k++) {
        uint8_t bytes[16];
        const struct uspi_signal_stub *s = &uspi_i386.stubs[k];
        ck_assert_uint_eq(s->length, bytes_of(cases[k].code, bytes, sizeof bytes));
        ck_assert_mem_eq(s->code, bytes, s->length);
        ck_assert(s->os == USP_OS_LINUX && s->state == cases[k].state && s->context == cases[k].context);
        ck_assert_uint_eq(s->entry, 0);
    }
}
END_TEST

START_TEST(stack) {
    static const struct decode_case cases[] = {
        {"55", "push ebp", .effects = {PUSHED(EBP)}},
        {"54", "push esp", .effects = {PUSHED(ESP)}},
        {"ff 75 08", "push [ebp+8]", .effects = {PUSHED(USPI_NO_REGISTER)}},
        {"6a 10", "push 16", .effects = {PUSHED(USPI_NO_REGISTER)}},
        {"1e", "push ds", .effects = {PUSHED(USPI_NO_REGISTER)}},
        {"07", "pop es", .effects = {SET(ESP, ESP, 4)}},
        {"5b", "pop ebx", .effects = {LOAD(EBX, ESP, 0), SET(ESP, ESP, 4)}},
        {"8f 04 24", "pop [esp]", .effects = {SET(ESP, ESP, 4), STORE_UNKNOWN(ESP, 0)}},
        {"60", "pusha",
         .effects = {STORE(EAX, ESP, -4), STORE(ECX, ESP, -8), STORE(EDX, ESP, -12), STORE(EBX, ESP, -16),
                     STORE(ESP, ESP, -20), STORE(EBP, ESP, -24), STORE(ESI, ESP, -28), STORE(EDI, ESP, -32),
                     SET(ESP, ESP, -32)}},
        {"61", "popa",
         .effects = {LOAD(EAX, ESP, 28), LOAD(ECX, ESP, 24), LOAD(EDX, ESP, 20), LOAD(EBX, ESP, 16), LOAD(EBP, ESP, 8),
                     LOAD(ESI, ESP, 4), LOAD(EDI, ESP, 0), SET(ESP, ESP, 32)}},
        {"c9", "leave", .effects = {SET(ESP, EBP, 0), LOAD(EBP, ESP, 0), SET(ESP, ESP, 4)}},
        {"66 c9", "leave of 16 bits", .clobbers = BIT(ESP) | BIT(EBP)},
        {"c8 10 00 00", "enter 16, 0", .effects = {STORE(EBP, ESP, -4), SET(EBP, ESP, -4), SET(ESP, ESP, -20)}},
        {"83 ec 1c", "sub esp, 28", .effects = {SET(ESP, ESP, -28)}},
        {"81 c4 00 10 00 00", "add esp, 4096", .effects = {SET(ESP, ESP, 4096)}},
        {"83 e4 f0", "and esp, -16", .effects = {ALIGN(ESP, 16)}},
        {"29 c4", "sub esp, eax", .effects = {DIFFERENCE(ESP, ESP, EAX)}},
        {"8d 65 f4", "lea esp, [ebp-12]", .effects = {SET(ESP, EBP, -12)}},
        {"8d b4 26 00 00 00 00", "lea esi, [esi+eiz+0]", .effects = {SET(ESI, ESI, 0)}},
        {"67 8d 65 f4", "lea esp, [di-12]", .clobbers = BIT(ESP)},
        {"94", "xchg esp, eax", .clobbers = BIT(ESP) | BIT(EAX)},
    };
    CHECK_CASES(&uspi_i386, cases);
}
END_TEST

START_TEST(moves) {
    static const struct decode_case cases[] = {
        {"89 e5", "mov ebp, esp", .effects = {SET(EBP, ESP, 0)}},
        {"8b ec", "mov ebp, esp", .effects = {SET(EBP, ESP, 0)}},
        {"66 89 e5", "mov bp, sp", .clobbers = BIT(EBP)},
        {"88 e5", "mov ch, ah", .clobbers = BIT(ECX)},
        {"89 5c 24 08", "mov [esp+8], ebx", .effects = {STORE(EBX, ESP, 8)}},
        {"66 89 5c 24 08", "mov [esp+8], bx", .flow = USPI_NEXT},
        {"65 89 5d 08", "mov gs:[ebp+8], ebx", .flow = USPI_NEXT},
        {"3e 89 5d 08", "mov ds:[ebp+8], ebx", .effects = {STORE(EBX, EBP, 8)}},
        {"67 89 5e 08", "mov [bp+8], ebx", .flow = USPI_NEXT},
        {"8b 5d fc", "mov ebx, [ebp-4]", .effects = {LOAD(EBX, EBP, -4)}},
        {"8b 1c 24", "mov ebx, [esp]", .effects = {LOAD(EBX, ESP, 0)}},
        {"65 a1 14 00 00 00", "mov eax, gs:[20]", .clobbers = BIT(EAX)},
        {"65 8b 1d 14 00 00 00", "mov ebx, gs:[20]", .clobbers = BIT(EBX)},
        {"67 a1 14 00", "mov eax, [20] by 16 bits", .clobbers = BIT(EAX)},
        {"bb ff ff ff ff", "mov ebx, -1", .effects = {CONSTANT(EBX, 0xffffffff)}},
        {"66 bb ff ff", "mov bx, -1", .clobbers = BIT(EBX)},
        {"c7 c3 00 10 00 00", "mov ebx, 4096", .effects = {CONSTANT(EBX, 4096)}},
        {"31 db", "xor ebx, ebx", .effects = {CONSTANT(EBX, 0)}},
        {"81 c3 f0 ff ff ff", "add ebx, -16", .effects = {SET(EBX, EBX, -16)}},
        {"01 cb", "add ebx, ecx", .effects = {SUM(EBX, EBX, ECX)}},
        {"43", "inc ebx", .effects = {SET(EBX, EBX, 1)}},
        {"4d", "dec ebp", .effects = {SET(EBP, EBP, -1)}},
        {"66 43", "inc bx", .clobbers = BIT(EBX)},
        {"8d 1d 00 10 00 00", "lea ebx, [4096]", .effects = {CONSTANT(EBX, 4096)}},
        {"8d 1d 00 00 00 80", "lea ebx, [80000000h]", .effects = {CONSTANT(EBX, 0x80000000)}},
        {"8d 1c 08", "lea ebx, [eax+ecx]", .effects = {SUM(EBX, EAX, ECX)}},
        {"c5 1e", "lds ebx, [esi]", .clobbers = BIT(EBX)},
        {"c5 fd d7 d8", "vpmovmskb ebx, ymm0", .clobbers = BIT(EBX)},
        {"c4 1e", "les ebx, [esi]", .clobbers = BIT(EBX)},
        {"c4 e2 e0 f2 d9", "andn ebx, ebx, ecx", .clobbers = BIT(EBX)},
        {"62 1e", "bound ebx, [esi]", .flow = USPI_NEXT},
        {"62 f1 7f 08 78 d8", "vcvttsd2usi ebx, xmm0", .clobbers = BIT(EBX)},
        {"63 d8", "arpl ax, bx", .clobbers = BIT(EAX)},
        {"27", "daa", .clobbers = BIT(EAX)},
        {"d4 0a", "aam", .clobbers = BIT(EAX)},
    };
    CHECK_CASES(&uspi_i386, cases);
}
END_TEST

START_TEST(flow) {
    static const struct decode_case cases[] = {
        {"e8 fb ef bf ff", "call 0", .flow = USPI_CALL},
        {"e8 fb ff ff 7f", "call +80000000h", .flow = USPI_CALL, .target = CASE_PC + 0x80000000},
        {"e8 fb ef bf fe", "call below 0", .flow = USPI_CALL, .target = 0xff000000},
        {"e8 00 00 00 00", "call the next instruction", .effects = {PUSHED(USPI_NO_REGISTER)}},
        {"ff d2", "call edx", .flow = USPI_CALL},
        {"65 ff 15 10 00 00 00", "call gs:[16]", .flow = USPI_CALL},
        {"9a 00 00 00 00 33 00", "call 33h:0", .flow = USPI_CALL},
        {"c3", "ret", .effects = {LOAD(EIP, ESP, 0), SET(ESP, ESP, 4)}, .flow = USPI_RETURN, .target_register = EIP},
        {"c2 04 00", "ret 4", .effects = {LOAD(EIP, ESP, 0), SET(ESP, ESP, 8)}, .flow = USPI_RETURN,
         .target_register = EIP},
        {"66 c3", "ret of 16 bits", .effects = {SET(ESP, ESP, 2)}, .clobbers = BIT(EIP), .flow = USPI_RETURN,
         .target_register = EIP},
        {"66 eb 00", "jmp of 16 bits", .flow = USPI_JUMP, .target = 0x1003},
        {"e3 10", "jecxz +16", .flow = USPI_BRANCH, .target = CASE_PC + 18},
        {"0f 84 fa ef bf 7f", "je 80000000h", .flow = USPI_BRANCH, .target = 0x80000000},
        {"ff e1", "jmp ecx", .flow = USPI_JUMP_UNKNOWN, .target_register = ECX},
        {"3e ff e2", "notrack jmp edx", .flow = USPI_JUMP_TABLE, .target_register = EDX},
        {"ff 25 00 20 40 00", "jmp [402000h]", .flow = USPI_JUMP_UNKNOWN, .target_register = EIP,
         .effects = {GLOBAL(EIP, 0x402000)}},
        {"ff a3 10 00 00 00", "jmp [ebx+16]", .flow = USPI_JUMP_UNKNOWN, .target_register = EIP,
         .effects = {LOAD(EIP, EBX, 16)}},
        {"ff 24 85 00 20 40 00", "jmp [4*eax+402000h]", .flow = USPI_JUMP_TABLE},
        {"ea 00 00 00 00 33 00", "jmp 33h:0", .flow = USPI_JUMP_UNKNOWN},
        {"cf", "iret", .flow = USPI_END},
        {"ca 08 00", "retf 8", .flow = USPI_END},
        {"f3 0f 1e fb", "endbr32", .start_hint = 1},
        {"f3 0f 1e fa", "endbr64", .flow = USPI_NEXT},
        {"cd 80", "int 80h", .clobbers = BIT(EAX)},
        {"0f 34", "sysenter", .clobbers = BIT(EAX) | BIT(ECX) | BIT(EDX) | BIT(EBP)},
    };
    CHECK_CASES(&uspi_i386, cases);
}
END_TEST

START_TEST(calls) {
    static const struct call_case cases[] = {
        {"90 90 e8 00 01 00 00", "call rel32", true, CASE_PC + 0x100},
        {"90 90 e8 00 f0 bf fe", "call below 0", true, 0xff000000},
        {"90 90 90 90 90 ff d2", "call edx", true, 0},
        {"65 ff 15 10 00 00 00", "call gs:[16]", true, 0},
        {"90 90 90 90 ff 53 0c", "call [ebx+12]", true, 0},
        {"90 90 90 ff 54 24 18", "call [esp+24]", true, 0},
        {"90 90 90 90 ff e2 90", "jmp edx", false, 0},
        {"9a 00 00 00 00 33 00", "far call", false, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) check_call(&uspi_i386, &cases[k]);
}
END_TEST

START_TEST(random_bytes) { check_random_bytes(&uspi_i386, 500000); }
END_TEST

int main(void) {
    TCase *group = tcase_create("backend");
    add_tests(group, constants, mach_states, linux_states);
#ifdef REG_EIP
    add_tests(group, native_states, native_signals);
#endif
    add_tests(group, stubs, stack, moves, flow, calls, random_bytes);
    return run_suite("i386", group);
}
