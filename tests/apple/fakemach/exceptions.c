/* SPDX-License-Identifier: MIT */
/* Tests Mach exceptions in the crash kit on the scripted kernel: a thread raises an exception, the kit's thread receives
 * the message, and the signal follows if the reply is a failure. The numbers are xnu's (osfmk/mach/exception_types.h).
 * Field failures 27 to 51 are those of tests/crash/kit.sh. */
#define _GNU_SOURCE 1
#include "tests/apple/fakemach/crashes.h"
#include "tests/support/suite.h"

#include "arch/host.h"

#include <stdlib.h>
#include <string.h>

enum { INVALID = 1, PROTECTED = 2, GENERAL_FAULT = 13, KNOWN = 4 };

#define CODES_64 0x80000000u

static const int caught[KNOWN] = {FAKE_BAD_ACCESS, FAKE_BAD_INSTRUCTION, FAKE_ARITHMETIC, FAKE_BREAKPOINT};

static unsigned handled;
static fake_handler ours;

static bool has_our_ports(void) {
    bool has = true;
    for (int i = 0; i < KNOWN; i++) {
        const uint32_t port = fake_exception_port(caught[i]);
        has = has && port != 0 && port != FAKE_REPORTER;
    }
    return has;
}

/* The caller's fault at address 0x10 and, unless it is handled, its signal, as the kernel delivers it. Returns whether
 * the program goes on; otherwise the signal has ended the process. */
static bool fault(void) {
    if (fake_exception(CALLER, FAKE_BAD_ACCESS, INVALID, 0x10) == FAKE_HANDLED) return true;
    return crash_by_signal(SEGV, 1, 0x10) && fake_action(SEGV) != FAKE_DEFAULT;
}

static uint32_t signal_of_report(void) {
    struct usp_snapshot *s = open_report();
    const uint32_t number = usp_snapshot_get_info(s)->signal;
    usp_snapshot_free(s);
    return number;
}

/* The thread that waits in the kernel is recorded by the kit's thread, which is not in the report. Nothing of the
 * program runs after it: the signal has its default action. */
START_TEST(test_exception) {
    install_kit();
    ck_assert_int_eq(usp_crash_status(), USP_OK);
    ck_assert(has_our_ports());
    const struct fake_account before = fake_account;
    ck_assert_int_eq(fake_exception(CALLER, FAKE_BAD_ACCESS, INVALID, 0x10), FAKE_BECOMES_SIGNAL);
    check_calls(&before, "an exception");
    ck_assert_int_eq(fake_account.reply, FAILURE);
    ck_assert(!crash_by_signal(SEGV, 1, 0x10));
    ck_assert(has_our_ports());
    struct usp_snapshot *s = open_report();
    const struct usp_snapshot_info *info = usp_snapshot_get_info(s);
    ck_assert_uint_eq(info->signal, SEGV);
    ck_assert_uint_eq(info->thread_count, THREADS_OF_PROCESS);
    ck_assert_uint_eq(info->missed, 0);
    ck_assert_uint_eq(info->crashed_thread, fake.threads[CALLER].id);
    ck_assert_uint_eq(info->fault_address, 0x10);
    ck_assert_str_eq(usp_mach_exception_string(info->mach_exception), "EXC_BAD_ACCESS");
    ck_assert_uint_eq(info->mach_codes[0], INVALID);
    ck_assert_uint_eq(info->mach_codes[1], 0x10);
    for (size_t i = 0; i < THREADS_OF_PROCESS; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(s, i);
        const size_t at = (size_t)(t->info.thread.id - fake.threads[0].id);
        ck_assert_uint_eq(i == 0, at == CALLER);
        ck_assert_str_eq(t->info.name, fake.threads[at].name);
        ck_assert_uint_eq(t->info.flags, (at == MAIN ? USP_THREAD_MAIN : 0) | (at == CALLER ? USP_THREAD_CRASHED : 0));
        ck_assert_uint_eq(usp_registers_pc(&t->registers), CODE(100 + 100 * at));
        ck_assert_uint_eq(t->stack.count, FRAMES + 1);
        for (size_t f = 0; f < t->stack.count; f++) ck_assert_uint_eq(t->stack.frames[f].pc, CODE(100 + 100 * at + f));
    }
    usp_snapshot_free(s);
}
END_TEST

/* A thread waits for an unfair lock, whose word has the name of the crashed thread's port: not of the thread that
 * records. */
START_TEST(test_lock_of_crashed_thread) {
#if defined(__x86_64__)
    static const uint8_t code[] = {0x0f, 0x05, 0x90, 0x90};
    static uint32_t unfair;
    struct fake_thread *t = &fake.threads[TARGET];
    unfair = fake_port(CALLER) & ~1u;
    t->pc = (uintptr_t)code + 2;
    t->call = 0x2000000 + 515;
    t->arguments[0] = 0x1000002;
    t->arguments[1] = (uintptr_t)&unfair;
    t->arguments[2] = unfair;
    install_kit();
    (void)fake_exception(CALLER, FAKE_BAD_ACCESS, INVALID, 0x10);
    struct usp_snapshot *s = open_report();
    uint64_t owner = 0;
    for (size_t i = 0; i < THREADS_OF_PROCESS; i++) {
        const struct usp_snapshot_thread *each = usp_snapshot_get_thread(s, i);
        if (each->info.thread.id == t->id) owner = each->info.lock_owner;
    }
    ck_assert_uint_eq(owner, fake.threads[CALLER].id);
    usp_snapshot_free(s);
#endif
}
END_TEST

/* The kit's thread is not a thread of the program, and never stops: the exception of a thread that takes copies would
 * wait for it for ever. */
START_TEST(test_snapshot_leaves_our_thread) {
    struct usp_snapshot *s;
    install_kit();
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(s)->thread_count, THREADS_OF_PROCESS);
    usp_snapshot_free(s);
}
END_TEST

/* The signal is the one that the kernel makes of the exception. */
START_TEST(test_signal_of_exception) {
    const bool is_x86 = USPI_HOST_ARCH == USP_ARCH_X86_64 || USPI_HOST_ARCH == USP_ARCH_I386;
    const struct {
        size_t thread;
        int exception;
        int64_t code;
        uintptr_t address;
        uint32_t signal;
        const char *cause;
    } cases[] = {
        {CALLER, FAKE_BAD_ACCESS, INVALID, 0x10, SEGV, "SIGSEGV, the address is not mapped (SEGV_MAPERR)"},
        {CALLER, FAKE_BAD_ACCESS, PROTECTED, 0x10, BUS, "SIGBUS"},
        {MAIN, FAKE_BAD_ACCESS, PROTECTED, 0, SEGV, "SIGSEGV, the memory does not permit the access (SEGV_ACCERR)"},
        {CALLER, FAKE_BAD_ACCESS, GENERAL_FAULT, 0, is_x86 ? SEGV : BUS, ""},
        {CALLER, FAKE_BAD_INSTRUCTION, 1, 0, ILL, "SIGILL"},
        {CALLER, FAKE_ARITHMETIC, is_x86 ? 1 : 2, 0, FPE, "SIGFPE"},
        {CALLER, FAKE_BREAKPOINT, 2, 0x10, TRAP, "SIGTRAP"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stop_crash();
        start_crash();
        install_kit();
        const uintptr_t address =
            cases[i].thread == MAIN ? (uintptr_t)fake.threads[MAIN].stack - 4096 : cases[i].address;
        (void)fake_exception(cases[i].thread, cases[i].exception, cases[i].code, (int64_t)address);
        struct usp_snapshot *s = open_report();
        ck_assert_uint_eq(usp_snapshot_get_info(s)->signal, cases[i].signal);
        ck_assert_msg(strncmp(usp_snapshot_get_info(s)->crash, cases[i].cause, strlen(cases[i].cause)) == 0, "%s",
                      usp_snapshot_get_info(s)->crash);
        usp_snapshot_free(s);
        /* Only this system survives the signal. The thread itself may then end the kit. */
        fake.self = cases[i].thread;
    }
}
END_TEST

/* Exceptions that are not crashes, or that the kernel alone judges, have no port of ours. */
START_TEST(test_other_exceptions) {
    install_kit();
    for (int i = 1; i < 14; i++) {
        bool is_caught = false;
        for (int k = 0; k < KNOWN; k++) is_caught = is_caught || caught[k] == i;
        ck_assert_int_eq(fake_exception_port(i) != 0, is_caught);
    }
}
END_TEST

/* The thread blocks the signal: the fault repeats for ever, unless the kit ends the process by that signal. */
START_TEST(test_blocked_signal) {
    install_kit();
    fake_block(SEGV);
    ck_assert_int_eq(fake_exception(CALLER, FAKE_BAD_ACCESS, INVALID, 0x10), FAKE_BECOMES_SIGNAL);
    ck_assert_uint_eq(count_reports(), 1);
    ck_assert_int_eq(fake_account.sent, 0);
    ck_assert_int_eq(fake_exception(CALLER, FAKE_BAD_ACCESS, INVALID, 0x10), FAKE_BECOMES_SIGNAL);
    ck_assert_int_eq(fake_account.sent, SEGV);
    ck_assert_uint_eq(fake_account.blocked >> (SEGV - 1) & 1, 0);
    ck_assert(fake_action(SEGV) == FAKE_DEFAULT);
    ck_assert_uint_eq(count_reports(), 1);
}
END_TEST

/* Failure 44: a stack has run into its guard, and the thread has no alternate stack. The report has its frames, and the
 * signal, which needs no stack, ends the process. */
START_TEST(test_overflow) {
    enum { DEEP = 2000, GUARD = 4096 };
    const size_t deep = add_thread(FAKE_OWN, GUARD + (DEEP + 3) * 64, DEEP, 0);
    fake.threads[deep].guard = GUARD;
    fake.threads[deep].sp = (uintptr_t)fake.threads[deep].stack + GUARD - 1024;
    install_kit();
    (void)fake_exception(deep, FAKE_BAD_ACCESS, PROTECTED, (int64_t)fake.threads[deep].sp);
    ck_assert(fake_action(BUS) == FAKE_DEFAULT);
    struct usp_snapshot *s = open_report();
    const struct usp_snapshot_thread *t = usp_snapshot_get_thread(s, 0);
    ck_assert_uint_eq(usp_snapshot_get_info(s)->signal, BUS);
    ck_assert_uint_eq(t->info.thread.id, fake.threads[deep].id);
    ck_assert_uint_eq(t->stack.count, 256);
    ck_assert_uint_eq(t->stack.frames[0].pc, CODE(0));
    ck_assert_uint_eq(t->stack.frames[255].pc, CODE(DEEP));
    usp_snapshot_free(s);
    fake.self = deep;
}
END_TEST

static void tell(void *told, char *text, size_t size) {
    (void)told;
    (void)size;
    strcpy(text, "from the callback");
    handled++;
}

START_TEST(test_callback) {
    ck_assert_int_eq(install_kit_with(tell), USP_OK);
    handled = 0;
    (void)fault();
    ck_assert_uint_eq(handled, 1);
    struct usp_snapshot *s = open_report();
    ck_assert(has_note(s, USP_NOTE_CALLBACK, "", "from the callback"));
    usp_snapshot_free(s);
}
END_TEST

/* ---- other handlers ---- */

static void repair(int number, void *info, void *interrupted) {
    (void)number;
    (void)info;
    (void)interrupted;
    handled++;
}

/* Failures 42 and 43: an earlier handler runs once, after the report. It repairs the fault, and the report is removed.
 * If the fault repeats nevertheless, it is recorded, and the handler is not called again. */
START_TEST(test_earlier_handler) {
    handled = 0;
    fake_set_action(SEGV, repair);
    install_kit();
    ck_assert(fault());
    ck_assert_uint_eq(handled, 1);
    ck_assert_uint_eq(count_reports(), 0);
    ck_assert(!fault());
    ck_assert_uint_eq(handled, 1);
    ck_assert_uint_eq(count_reports(), 1);
}
END_TEST

/* An earlier handler that repairs faults of many places, as a managed runtime's does, leaves no report. */
START_TEST(test_managed_runtime) {
    handled = 0;
    fake_set_action(SEGV, repair);
    install_kit();
    for (unsigned i = 0; i < 8; i++) {
        ck_assert_int_eq(fake_exception(CALLER, FAKE_BAD_ACCESS, INVALID, 0x10 + i), FAKE_BECOMES_SIGNAL);
        ck_assert_uint_eq(count_reports(), 1);
        ck_assert(crash_by_signal(SEGV, 1, 0x10 + i));
        ck_assert_uint_eq(count_reports(), 0);
        ck_assert(has_our_ports());
    }
    ck_assert_uint_eq(handled, 8);
}
END_TEST

/* A handler that was installed later owns the signal: the kit records when it calls ours, and not before. */
static void pass_to_ours(int number, void *info, void *interrupted) {
    handled++;
    ck_assert_uint_eq(count_reports(), 0);
    ours(number, info, interrupted);
}

START_TEST(test_later_handler) {
    handled = 0;
    install_kit();
    ours = fake_action(SEGV);
    fake_set_action(SEGV, pass_to_ours);
    (void)fault();
    ck_assert_uint_eq(handled, 1);
    ck_assert_uint_eq(count_reports(), 1);
}
END_TEST

START_TEST(test_later_runtime) {
    handled = 0;
    install_kit();
    fake_set_action(SEGV, repair);
    ck_assert(fault());
    ck_assert_uint_eq(handled, 1);
    ck_assert_uint_eq(count_reports(), 0);
}
END_TEST

/* Failure 41. */
START_TEST(test_ignored_signal) {
    fake_set_action(SEGV, FAKE_IGNORED);
    install_kit();
    ck_assert_int_eq(fake_exception(CALLER, FAKE_BAD_ACCESS, INVALID, 0x10), FAKE_BECOMES_SIGNAL);
    ck_assert(fake_action(SEGV) == FAKE_IGNORED);
    ck_assert_uint_eq(count_reports(), 0);
}
END_TEST

/* Failure 43: another reporter was there first. Its port stays, it is asked once, and the signal that follows is
 * recorded once. The kit receives the other exceptions. */
START_TEST(test_earlier_reporter) {
    fake_set_exception_port(FAKE_BAD_ACCESS, FAKE_REPORTER);
    const long rights = fake_account.rights;
    install_kit();
    ck_assert_int_eq(usp_crash_status(), USP_ERROR_BUSY);
    ck_assert_uint_eq(fake_exception_port(FAKE_BAD_ACCESS), FAKE_REPORTER);
    ck_assert_uint_ne(fake_exception_port(FAKE_BREAKPOINT), 0);
    ck_assert(!fault());
    ck_assert(fake_account.other_was_asked);
    ck_assert_uint_eq(fake_account.replies, 0);
    ck_assert_uint_eq(count_reports(), 1);
    usp_crash_uninstall();
    ck_assert_uint_eq(fake_exception_port(FAKE_BAD_ACCESS), FAKE_REPORTER);
    ck_assert_uint_eq(fake_exception_port(FAKE_BREAKPOINT), 0);
    ck_assert_int_eq(fake_account.rights, rights);
}
END_TEST

/* In the other order: it puts its port over ours, and ours back before it lets the fault repeat. */
START_TEST(test_later_reporter) {
    install_kit();
    const uint32_t port = fake_exception_port(FAKE_BAD_ACCESS);
    fake_set_exception_port(FAKE_BAD_ACCESS, FAKE_REPORTER);
    ck_assert_int_eq(fake_exception(CALLER, FAKE_BREAKPOINT, 1, 0), FAKE_BECOMES_SIGNAL);
    ck_assert_uint_eq(fake_exception_port(FAKE_BAD_ACCESS), FAKE_REPORTER);
    fake_set_exception_port(FAKE_BAD_ACCESS, port);
    ck_assert_uint_eq(count_reports(), 1);
    ck_assert_uint_eq(signal_of_report(), TRAP);
    usp_crash_uninstall();
    for (int i = 0; i < KNOWN; i++) ck_assert_uint_eq(fake_exception_port(caught[i]), 0);
}
END_TEST

/* It may forward an exception in any form, also in one that the kit has not asked for, and waits for the one reply. The
 * rights that came with the message are released. */
START_TEST(test_forwarded) {
    static const int ids[] = {2401, 2402, 2403, 2404, 2405, 2406, 2409, 2410, 2500};
    install_kit();
    const uint32_t port = fake_exception_port(FAKE_BAD_ACCESS);
    fake_set_exception_port(FAKE_BAD_ACCESS, FAKE_REPORTER);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const struct fake_account before = fake_account;
        ck_assert_msg(fake_forward(port, ids[i], CALLER, FAKE_BAD_ACCESS), "id %d has no reply", ids[i]);
        check_calls(&before, "a forwarded exception");
        ck_assert_uint_eq(fake_exception_port(FAKE_BAD_ACCESS), FAKE_REPORTER);
    }
    ck_assert_uint_eq(count_reports(), 0);
    /* The next fault is recorded, once. */
    fake_set_exception_port(FAKE_BAD_ACCESS, port);
    ck_assert(!fault());
    ck_assert_uint_eq(count_reports(), 1);
}
END_TEST

/* The kit is uninstalled while the reporter has its port. The reporter gives the port back: it must not be dead, since
 * the fault would repeat for ever. The next installation takes the same port. */
START_TEST(test_reporter_outlives_kit) {
    const struct fake_account before = fake_account;
    install_kit();
    const uint32_t port = fake_exception_port(FAKE_BAD_ACCESS);
    fake_set_exception_port(FAKE_BAD_ACCESS, FAKE_REPORTER);
    usp_crash_uninstall();
    fake_set_exception_port(FAKE_BAD_ACCESS, port);
    ck_assert_int_eq(fake_exception(CALLER, FAKE_BAD_ACCESS, INVALID, 0x10), FAKE_BECOMES_SIGNAL);
    ck_assert_int_eq(fake_account.reply, FAILURE);
    ck_assert_uint_eq(count_reports(), 0);
    fake_set_exception_port(FAKE_BAD_ACCESS, 0);
    install_kit();
    ck_assert_int_eq(usp_crash_status(), USP_OK);
    ck_assert_uint_eq(fake_exception_port(FAKE_BAD_ACCESS), port);
    ck_assert(!fault());
    ck_assert_uint_eq(count_reports(), 1);
    usp_crash_uninstall();
    for (int i = 0; i < KNOWN; i++) ck_assert_uint_eq(fake_exception_port(caught[i]), 0);
    check_calls(&before, "two installations");
}
END_TEST

/* A debugger needs its own ports. */
START_TEST(test_debugger) {
    fake.traced = true;
    install_kit();
    ck_assert_int_eq(usp_crash_status(), USP_ERROR_BUSY);
    ck_assert_uint_eq(fake_account.calls[FAKE_SET_PORTS], 0);
    ck_assert(!fault());
    ck_assert_uint_eq(count_reports(), 1);
}
END_TEST

/* ---- systems ---- */

/* Failure 35: the behaviour is chosen by the system's version. A hardened program would be killed for another one. */
START_TEST(test_behavior) {
    static const struct {
        const char *release;
        uint32_t behavior;
    } systems[] = {{"19.6.0", 3}, {"20.6.0", 3}, {"21.0.0", 4}, {"23.1.0", 4}, {"25.0.0", 4}, {NULL, 4}};
    fake.release = systems[_i].release;
    fake.hardened = systems[_i].behavior == 4;
    install_kit();
    ck_assert(!fake_account.was_killed);
    ck_assert_uint_eq(fake_account.behavior, CODES_64 | systems[_i].behavior);
    const struct fake_account before = fake_account;
    (void)fake_exception(CALLER, FAKE_BAD_ACCESS, INVALID, 0x10);
    check_calls(&before, "an exception");
    ck_assert_uint_eq(signal_of_report(), SEGV);
}
END_TEST

/* A program with the entitlement for one exception port is killed if it sets any, so the kit does not try. */
static _Alignas(4096) uint8_t program[8192];

static void put(size_t at, uint64_t value, size_t n) { memcpy(program + at, &value, n); }

static void put_big(size_t at, uint32_t value) { put(at, __builtin_bswap32(value), 4); }

static void make_program(const char *entitlements) {
    enum { SIGNATURE = 4096, PART = 64 };
    const size_t n = strlen(entitlements);
    memset(program, 0, sizeof program);
    put(0, 0xfeedfacf, 4);
    put(4, USPI_HOST_ARCH == USP_ARCH_ARM64 ? 0x0100000c : 0x01000007, 4);
    put(12, 2, 4);
    put(16, 2, 4);
    put(20, 72 + 16, 4);
    put(32, 0x19, 4);
    put(36, 72, 4);
    memcpy(program + 40, "__TEXT", 6);
    put(64, sizeof program, 8);
    put(80, sizeof program, 8);
    put(88, 5, 4);
    put(92, 5, 4);
    put(104, 0x1d, 4);
    put(108, 16, 4);
    put(112, SIGNATURE, 4);
    put(116, 4096, 4);
    put_big(SIGNATURE, 0xfade0cc0);
    put_big(SIGNATURE + 4, (uint32_t)(PART + 8 + n));
    put_big(SIGNATURE + 8, 1);
    put_big(SIGNATURE + 12, 5);
    put_big(SIGNATURE + 16, PART);
    put_big(SIGNATURE + PART, 0xfade7171);
    put_big(SIGNATURE + PART + 4, (uint32_t)(8 + n));
    memcpy(program + SIGNATURE + PART + 8, entitlements, n);
    for (size_t i = 0; i < FAKE_IMAGES_MAX; i++) {
        if (fake.images[i].header != 0) fake_unload(i);
    }
    fake.images[0] = (struct fake_image){(uintptr_t)program, "/Applications/Demo.app/Demo"};
    fake_load(0);
}

START_TEST(test_entitlement) {
    if (sizeof(void *) != 8) return;
    make_program("<dict><key>com.apple.security.get-task-allow</key><true/></dict>");
    install_kit();
    ck_assert_int_eq(usp_crash_status(), USP_OK);
    usp_crash_uninstall();
    make_program("<dict><key>com.apple.security.only-one-exception-port</key><true/></dict>");
    fake.only_one_port = true;
    install_kit();
    ck_assert(!fake_account.was_killed);
    ck_assert_int_eq(usp_crash_status(), USP_ERROR_PERMISSION);
    ck_assert(!fault());
    ck_assert_uint_eq(count_reports(), 1);
}
END_TEST

/* Whatever fails while the kit is installed, the signals are there, and the status says that they are alone. */
START_TEST(test_refusals) {
    static const struct {
        enum fake_call call;
        int status;
    } calls[] = {{FAKE_GET_PORTS, USP_ERROR_BUSY},
                 {FAKE_PORT_ALLOCATE, USP_ERROR_SYSTEM},
                 {FAKE_PORT_INSERT, USP_ERROR_SYSTEM},
                 {FAKE_THREAD_CREATE, USP_ERROR_SYSTEM},
                 {FAKE_SET_PORTS, USP_ERROR_PERMISSION}};
    const struct fake_account before = fake_account;
    fake.fail_call = calls[_i].call;
    fake.fail_at = fake_account.calls[calls[_i].call] + 1;
    fake.fail_result = FAILURE;
    install_kit();
    ck_assert_int_eq(usp_crash_status(), calls[_i].status);
    fake.fail_at = 0;
    for (int i = 0; i < KNOWN; i++) ck_assert_uint_eq(fake_exception_port(caught[i]), 0);
    ck_assert(!fault());
    ck_assert_uint_eq(count_reports(), 1);
    usp_crash_uninstall();
    ck_assert_int_eq(usp_crash_status(), USP_ERROR_NOT_PREPARED);
    ck_assert_int_eq(fake_account.rights, before.rights);
    ck_assert_uint_eq(fake_account.errors, 0);
}
END_TEST

/* A child of fork has inherited our port. Its faults are not ours: the reply is a failure, at once. */
START_TEST(test_thread_of_another_task) {
    fake.release = _i == 0 ? "23.1.0" : "20.6.0";
    install_kit();
    const struct fake_account before = fake_account;
    ck_assert_int_eq(fake_exception(SIZE_MAX, FAKE_BAD_ACCESS, INVALID, 0x10), FAKE_BECOMES_SIGNAL);
    check_calls(&before, "another task");
    ck_assert_uint_eq(fake_account.windows, before.windows);
    ck_assert_uint_eq(count_reports(), 0);
    ck_assert(has_our_ports());
}
END_TEST

/* Failure 27: another thread crashes while the first one still waits for its signal. It waits for its turn in the
 * signal's handler, as without exceptions. */
START_TEST(test_two_threads) {
    fake_set_action(SEGV, repair);
    install_kit();
    (void)fake_exception(CALLER, FAKE_BAD_ACCESS, INVALID, 0x10);
    ck_assert_int_eq(fake_exception(TARGET, FAKE_BREAKPOINT, 1, 0x10), FAKE_BECOMES_SIGNAL);
    ck_assert_uint_eq(signal_of_report(), SEGV);
    ck_assert(crash_by_signal(SEGV, 1, 0x10));
    ck_assert_uint_eq(count_reports(), 0);
    ck_assert_int_eq(fake_exception(TARGET, FAKE_BREAKPOINT, 1, 0x10), FAKE_BECOMES_SIGNAL);
    ck_assert_uint_eq(signal_of_report(), TRAP);
}
END_TEST

/* The kit's own thread faults while it records. The task has no port of ours then: the fault is a signal at once, and
 * does not wait for this thread. */
static void look_at_ports(void) {
    for (int i = 0; i < KNOWN; i++) ck_assert_uint_eq(fake_exception_port(caught[i]), 0);
    handled++;
}

START_TEST(test_fault_of_recorder) {
    handled = 0;
    install_kit();
    fake.hook = look_at_ports;
    fake.hook_at = fake_account.calls[FAKE_VM_READ] + 2;
    (void)fake_exception(CALLER, FAKE_BAD_ACCESS, INVALID, 0x10);
    fake.hook_at = 0;
    ck_assert_uint_eq(handled, 1);
    ck_assert(has_our_ports());
}
END_TEST

/* Each call fails once: there is one report, by the exception or by the signal, and nothing is left. */
START_TEST(test_each_call_fails) {
    static const enum fake_call calls[] = {
        FAKE_TASK_THREADS, FAKE_THREAD_INFO, FAKE_THREAD_SUSPEND, FAKE_VM_REGION, FAKE_THREAD_GET_STATE,
        FAKE_SETITIMER,    FAKE_SIGACTION,   FAKE_VM_READ,        FAKE_GET_PORTS, FAKE_SET_PORTS,
        FAKE_THREAD_ID,    FAKE_MACH_THREAD, FAKE_PORT_DEALLOCATE};
    const enum fake_call call = calls[_i];
    for (size_t at = 1; at < 40; at++) {
        const struct fake_account before = begin_failing(call, at);
        (void)fake_exception(CALLER, FAKE_BAD_ACCESS, INVALID, 0x10);
        const bool was_called = fake_account.calls[call] >= before.calls[call] + at;
        (void)crash_by_signal(SEGV, 1, 0x10);
        fake.fail_at = 0;
        check_calls(&before, fake_call_names[call]);
        ck_assert_uint_eq(signal_of_report(), SEGV);
        ck_assert_int_eq(fake_account.reply, FAILURE);
        if (!was_called) break;
    }
}
END_TEST

/* Installing and ending leaves no port, no right and no thread. */
START_TEST(test_install_again) {
    const struct fake_account before = fake_account;
    for (unsigned i = 0; i < 10; i++) {
        install_kit();
        ck_assert(has_our_ports());
        usp_crash_uninstall();
        for (int k = 0; k < KNOWN; k++) ck_assert_uint_eq(fake_exception_port(caught[k]), 0);
    }
    check_calls(&before, "installing");
    for (size_t i = FIRST_OF_OTHER + 2; i < fake.thread_count; i++) ck_assert(fake.threads[i].dead);
}
END_TEST

TCase *case_of_exceptions(void) {
    TCase *tests = tcase_create("exceptions");
    tcase_add_checked_fixture(tests, start_crash, stop_crash);
    add_tests(tests, test_exception, test_lock_of_crashed_thread, test_snapshot_leaves_our_thread,
              test_signal_of_exception, test_other_exceptions, test_blocked_signal, test_overflow, test_callback,
              test_earlier_handler, test_managed_runtime, test_later_handler, test_later_runtime, test_ignored_signal,
              test_earlier_reporter, test_later_reporter, test_forwarded, test_reporter_outlives_kit, test_debugger,
              test_entitlement, test_two_threads, test_fault_of_recorder, test_install_again);
    add_loop_tests(tests, 0, 6, test_behavior);
    add_loop_tests(tests, 0, 5, test_refusals);
    add_loop_tests(tests, 0, 2, test_thread_of_another_task);
    add_loop_tests(tests, 0, 13, test_each_call_fails);
    return tests;
}
