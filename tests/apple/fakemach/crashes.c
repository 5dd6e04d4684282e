/* SPDX-License-Identifier: MIT */
/* Tests the crash kit on the scripted kernel: a signal is delivered to the calling thread, and the report is read. The
 * numbers of signals and codes are xnu's (bsd/sys/signal.h). Field failures 27 to 51 are those of tests/crash/kit.sh. */
#define _GNU_SOURCE 1
#include "tests/apple/fakemach/crashes.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int crash_signals[] = {SEGV, BUS, ABRT, TRAP, ILL, FPE, SYS, EMT};

static char folder[64];
struct fake_context crash_context;
static unsigned handled;
static fake_handler installed;

void start_crash(void) {
    start();
    make_images();
    prepare();
    strcpy(folder, "/tmp/darwin-crash-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    interrupt(&crash_context, &fake.threads[CALLER]);
    handled = 0;
}

void stop_crash(void) {
    char path[512];
    usp_crash_uninstall();
    usp_crash_thread_end();
    DIR *listing = opendir(folder);
    for (const struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    if (listing != NULL) closedir(listing);
    (void)rmdir(folder);
    stop();
}

int install_kit_with(void (*callback)(void *context, char *text, size_t size)) {
    struct usp_crash_options options;
    usp_crash_options_init(&options);
    options.directory = folder;
    options.version = "1.0";
    options.max_threads = 64;
    options.callback = callback;
    return usp_crash_install(&options);
}

void install_kit(void) { ck_assert_int_eq(install_kit_with(NULL), USP_OK); }

size_t count_reports(void) {
    size_t count;
    ck_assert_int_eq(usp_crash_list(folder, NULL, 0, &count), USP_OK);
    return count;
}

struct usp_snapshot *open_report(void) {
    struct usp_crash_report report;
    struct usp_snapshot *snapshot;
    char error[200];
    size_t count;
    ck_assert_int_eq(usp_crash_list(folder, &report, 1, &count), USP_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(usp_crash_open(folder, report.name, &snapshot, error, sizeof error), USP_OK);
    return snapshot;
}

bool has_note(const struct usp_snapshot *snapshot, uint32_t kind, const char *key, const char *text) {
    const struct usp_snapshot_note *note;
    for (size_t i = 0; (note = usp_snapshot_get_note(snapshot, i)) != NULL; i++) {
        if (note->kind == kind && strcmp(note->key, key) == 0 && strcmp(note->text, text) == 0) return true;
    }
    return false;
}

void check_calls(const struct fake_account *before, const char *when) {
    ck_assert_msg(fake_account.suspended == 0, "%s: a thread is still suspended", when);
    ck_assert_msg(fake_account.rights == before->rights, "%s: a right is left", when);
    ck_assert_msg(fake_account.errors == 0, "%s: an error", when);
    ck_assert_msg(fake_account.forbidden == 0, "%s: %s", when, fake_call_names[fake_account.forbidden_call]);
    ck_assert_msg(!fake_account.cancellation_waits, "%s: the caller's cancellation still waits", when);
}

__attribute__((noinline)) bool crash_by_signal(int number, int code, uintptr_t address) {
    volatile uint8_t room[8192];
    room[0] = 0;
    const bool was_handled = fake_signal(number, code, address, &crash_context);
    return was_handled && room[0] == 0;
}

/* ---- the report ---- */

/* A thread of the report waits for libpthread's mutex, which the crashed thread holds. */
START_TEST(test_lock) {
#if defined(__x86_64__)
    static const uint8_t code[] = {0x0f, 0x05, 0x90, 0x90};
    static _Alignas(8) uint64_t mutex[4];
    struct fake_thread *t = &fake.threads[TARGET];
    mutex[0] = 0x4d55545a;
    mutex[1] = (uint64_t)0x2000 << 32;
    mutex[3] = fake.threads[CALLER].id;
    t->pc = (uintptr_t)code + 2;
    t->call = 0x2000000 + 301;
    t->arguments[0] = (uintptr_t)mutex;
    install_kit();
    ck_assert(crash_by_signal(SEGV, 1, 0x10));
    struct usp_snapshot *s = open_report();
    const struct usp_snapshot_thread *waiting = NULL;
    for (size_t i = 0; i < THREADS_OF_PROCESS; i++) {
        const struct usp_snapshot_thread *each = usp_snapshot_get_thread(s, i);
        if (each->info.thread.id == t->id) waiting = each;
    }
    ck_assert_ptr_nonnull(waiting);
    ck_assert_uint_eq(waiting->info.lock_owner, fake.threads[CALLER].id);
    ck_assert_uint_eq(waiting->lock, (uintptr_t)mutex);
    usp_snapshot_free(s);
#endif
}
END_TEST

START_TEST(test_report) {
    struct fake_queue queue = {{0}};
    fake_label(&queue, "com.example.crash");
    *fake.threads[TARGET].queue_at = (uintptr_t)&queue;
    install_kit();
    ck_assert_int_eq(usp_crash_set("cart", "3 things"), USP_OK);
    ck_assert_int_eq(usp_crash_note("opens the cart"), USP_OK);
    const struct fake_account before = fake_account;
    ck_assert(crash_by_signal(SEGV, 1, 0x10));
    check_calls(&before, "a crash");
    ck_assert_uint_eq(fake_account.windows, before.windows + 1);
    struct usp_snapshot *s = open_report();
    const struct usp_snapshot_info *info = usp_snapshot_get_info(s);
    ck_assert_uint_eq(info->os, USP_OS_DARWIN);
    ck_assert_uint_eq(info->signal, SEGV);
    ck_assert_uint_eq(info->thread_count, THREADS_OF_PROCESS);
    ck_assert_uint_eq(info->missed, 0);
    ck_assert_uint_eq(info->crashed_thread, fake.threads[CALLER].id);
    ck_assert_uint_ne(info->flags & USP_SNAPSHOT_FAULT, 0);
    ck_assert_uint_eq(info->fault_address, 0x10);
    ck_assert_str_eq(info->crash,
                     "SIGSEGV, the address is not mapped (SEGV_MAPERR), fault address 0x10: a null pointer "
                     "and an offset");
    /* The crashed thread first, each with its registers. */
    for (size_t i = 0; i < THREADS_OF_PROCESS; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(s, i);
        const size_t at = (size_t)(t->info.thread.id - fake.threads[0].id);
        ck_assert_uint_eq(i == 0, at == CALLER);
        ck_assert_uint_lt(at, THREADS_OF_PROCESS);
        ck_assert_str_eq(t->info.name, fake.threads[at].name);
        ck_assert_uint_eq(t->info.flags, (at == MAIN ? USP_THREAD_MAIN : 0) | (at == CALLER ? USP_THREAD_CRASHED : 0));
        ck_assert_str_eq(t->info.queue, at == TARGET ? "com.example.crash" : "");
        ck_assert_uint_eq(usp_registers_pc(&t->registers), CODE(100 + 100 * at));
        ck_assert_uint_eq(t->stack.count, FRAMES + 1);
        for (size_t f = 0; f < t->stack.count; f++) ck_assert_uint_eq(t->stack.frames[f].pc, CODE(100 + 100 * at + f));
    }
    ck_assert_uint_eq(usp_images_count(usp_snapshot_images(s)), 4);
    ck_assert(has_note(s, USP_NOTE_VALUE, "cart", "3 things"));
    ck_assert(has_note(s, USP_NOTE_BREADCRUMB, "", "opens the cart"));
    usp_snapshot_free(s);
}
END_TEST

/* Apple's forms name the code, whose numbers are xnu's: FPE_FLTDIV is 1 here and 3 on Linux. */
static int append(void *to, const char *bytes, size_t n) {
    if (strlen(to) + n < 32768) strncat(to, bytes, n);
    return 0;
}

static void check_form(const struct usp_snapshot *snapshot, uint32_t style, const char *line) {
    static char text[32768];
    struct usp_format_options options;
    usp_format_options_init(&options);
    options.style = style;
    text[0] = '\0';
    ck_assert_int_eq(usp_format_snapshot(snapshot, &options, append, text), USP_OK);
    ck_assert_ptr_nonnull(strstr(text, line));
}

START_TEST(test_apple_forms) {
    install_kit();
    ck_assert(crash_by_signal(FPE, 1, 0x10));
    struct usp_snapshot *s = open_report();
    check_form(s, USP_FORMAT_IPS, "\"subtype\": \"FPE_FLTDIV at 0x0000000000000010\"");
    check_form(s, USP_FORMAT_CRASH_REPORT, "FPE_FLTDIV at 0x0000000000000010\n");
    usp_snapshot_free(s);
}
END_TEST

/* An image that was loaded after the kit was installed is in the report; home folders are not. */
START_TEST(test_late_image) {
    static const char *const paths[][2] = {
        {"/Users/somebody/lib/late.dylib", "/Users/USER/lib/late.dylib"},
        {"/Users/bo/lib/late.dylib", "/Users/USER/lib/late.dylib"},
        {"/Users/USER/late.dylib", "/Users/USER/late.dylib"},
        {"/Users/Shared/late.dylib", "/Users/Shared/late.dylib"},
        {"/System/Volumes/Data/Users/bo/late.dylib", "/System/Volumes/Data/Users/USER/late.dylib"}};
    const struct fake_image late = fake.images[1];
    fake_unload(1);
    install_kit();
    fake.images[1] = (struct fake_image){late.header, paths[_i][0]};
    fake_load(1);
    ck_assert(crash_by_signal(SEGV, 1, 0x10));
    struct usp_snapshot *s = open_report();
    const struct usp_image *image = usp_images_find(usp_snapshot_images(s), late.header + 8);
    ck_assert_ptr_nonnull(image);
    ck_assert_str_eq(image->path, paths[_i][1]);
    ck_assert_uint_eq(image->build_id_size, 16);
    usp_snapshot_free(s);
}
END_TEST

/* A library with a message: Swift's runtime, libc. The version may be a later one. The crashed thread runs in it. */
static _Alignas(4096) uint8_t speaker[4096];

static void put(size_t at, uint64_t value, size_t n) { memcpy(speaker + at, &value, n); }

static void make_speaker(uint64_t version, uint64_t size) {
    enum { SECTION = 32 + 72, INFO = 1024, FIRST = 1200, SECOND = 1300, CODE_AT = 2048 };
    const struct usp_image *any;
    uint32_t ticket;
    any = usp_images_get(usp_images_acquire(&ticket), 0);
    usp_images_release(ticket);
    memset(speaker, 0, sizeof speaker);
    /* The header is that of the other images, with one command. */
    memcpy(speaker, (const void *)(uintptr_t)any->load_address, 32);
    put(12, 6, 4);
    put(16, 1, 4);
    put(20, 152, 4);
    put(32, 0x19, 4);
    put(36, 152, 4);
    memcpy(speaker + 40, "__TEXT", 6);
    put(64, sizeof speaker, 8);
    put(80, sizeof speaker, 8);
    put(88, 5, 4);
    put(92, 5, 4);
    put(96, 1, 4);
    memcpy(speaker + SECTION, "__crash_info", 12);
    memcpy(speaker + SECTION + 16, "__TEXT", 6);
    put(SECTION + 32, INFO, 8);
    put(SECTION + 40, size, 8);
    put(INFO, version, 8);
    put(INFO + 8, (uintptr_t)speaker + FIRST, 8);
    put(INFO + 32, (uintptr_t)speaker + SECOND, 8);
    strcpy((char *)speaker + FIRST, "Fatal error: no cart\n");
    strcpy((char *)speaker + SECOND, "Cart.swift:31");
    fake.images[5] = (struct fake_image){(uintptr_t)speaker, "/usr/lib/swift/libswiftCore.dylib"};
    fake_load(5);
    fake.threads[CALLER].pc = (uintptr_t)speaker + CODE_AT;
    interrupt(&crash_context, &fake.threads[CALLER]);
}

START_TEST(test_message_of_library) {
    static const struct {
        uint64_t version, size;
        bool is_read;
    } infos[] = {{5, 64, true}, {9, 328, true}, {4, 40, true}, {3, 40, false}, {5, 32, false}};
    if (sizeof(void *) != 8) return;
    install_kit();
    make_speaker(infos[_i].version, infos[_i].size);
    ck_assert(crash_by_signal(TRAP, 1, 0x10));
    struct usp_snapshot *s = open_report();
    ck_assert_uint_eq(usp_snapshot_get_thread(s, 0)->stack.frames[0].pc, fake.threads[CALLER].pc);
    ck_assert_int_eq(has_note(s, USP_NOTE_MESSAGE, "libswiftCore.dylib", "Fatal error: no cart\nCart.swift:31"),
                     infos[_i].is_read);
    usp_snapshot_free(s);
}
END_TEST

static void tell(void *told, char *text, size_t size) {
    (void)told;
    snprintf(text, size, "from the callback");
}

static void tell_home(void *told, char *text, size_t size) {
    (void)told;
    snprintf(text, size, "in \"/Users/anna\", /Users/Shared and /home/bo");
}

/* No text of a report has the name of a home folder. A text that is cut ends with a whole character. */
START_TEST(test_home_folders) {
    char cut[224 + 1];
    if (sizeof(void *) != 8) return;
    ck_assert_int_eq(install_kit_with(tell_home), USP_OK);
    memset(cut, 'x', sizeof cut - 1);
    strcpy(cut + 222, "\xc3\xa9");
    make_speaker(5, 64);
    strcpy((char *)speaker + 1200, "Fatal error: /Users/anna/Cart.swift");
    interrupt(&crash_context, &fake.threads[CALLER]);
    ck_assert_int_eq(usp_crash_set("cart", "/Users/anna/cart and /Users/bo"), USP_OK);
    ck_assert_int_eq(usp_crash_set("cut", cut), USP_OK);
    ck_assert_int_eq(usp_crash_note("file:///Users/anna/x"), USP_OK);
    ck_assert_int_eq(usp_crash_set_exception("NSException", "no file '/Users/anna'", NULL, 0), USP_OK);
    ck_assert(crash_by_signal(TRAP, 1, 0x10));
    struct usp_snapshot *s = open_report();
    cut[222] = '\0';
    ck_assert(has_note(s, USP_NOTE_VALUE, "cart", "/Users/USER/cart and /Users/USER"));
    ck_assert(has_note(s, USP_NOTE_VALUE, "cut", cut));
    ck_assert(has_note(s, USP_NOTE_BREADCRUMB, "", "file:///Users/USER/x"));
    ck_assert(has_note(s, USP_NOTE_MESSAGE, "NSException", "no file '/Users/USER'"));
    ck_assert(
        has_note(s, USP_NOTE_MESSAGE, "libswiftCore.dylib", "Fatal error: /Users/USER/Cart.swift\nCart.swift:31"));
    ck_assert(has_note(s, USP_NOTE_CALLBACK, "", "in \"/Users/USER\", /Users/Shared and /home/USER"));
    usp_snapshot_free(s);
}
END_TEST

START_TEST(test_callback) {
    ck_assert_int_eq(install_kit_with(tell), USP_OK);
    ck_assert(crash_by_signal(SEGV, 1, 0x10));
    struct usp_snapshot *s = open_report();
    ck_assert(has_note(s, USP_NOTE_CALLBACK, "", "from the callback"));
    usp_snapshot_free(s);
}
END_TEST

/* A callback that does not return: the alarm ends the process by the crash's signal, and the report stays. */
static void hang(void *told, char *text, size_t size) {
    (void)told;
    (void)text;
    (void)size;
    ck_assert_uint_eq(fake_account.timer, 2000000000u);
    fake.now += 3000000000u;
    (void)fake_signal(ALRM, 0, 0, &(struct fake_context){{0}, {0}});
    ck_assert_int_eq(fake_account.sent, SEGV);
    ck_assert(fake_action(SEGV) == FAKE_DEFAULT);
    ck_assert_uint_eq(count_reports(), 1);
    handled++;
}

START_TEST(test_callback_that_hangs) {
    ck_assert_int_eq(install_kit_with(hang), USP_OK);
    ck_assert(crash_by_signal(SEGV, 1, 0x10));
    ck_assert_uint_eq(handled, 1);
}
END_TEST

/* The alarm also comes where the program blocks it, as one that waits for signals in a thread of its own does. */
static void tell_unblocked(void *told, char *text, size_t size) {
    (void)told;
    (void)size;
    text[0] = '\0';
    ck_assert(!fake_blocks(ALRM));
    handled++;
}

START_TEST(test_blocked_alarm) {
    fake_block(ALRM);
    ck_assert_int_eq(install_kit_with(tell_unblocked), USP_OK);
    ck_assert(crash_by_signal(TRAP, 1, 0x10));
    ck_assert_uint_eq(handled, 1);
    ck_assert(fake_blocks(ALRM));
}
END_TEST

/* ---- the end ---- */

/* Failures 39 and 40: the process ends by the signal itself, and no handler runs a second time. */
START_TEST(test_each_signal_ends_the_process) {
    const int number = crash_signals[_i];
    const bool repeats = number == SEGV || number == BUS || number == ILL || number == FPE;
    uint32_t mask;
    install_kit();
    ck_assert(crash_by_signal(number, 1, 0x10));
    ck_assert_uint_eq(count_reports(), 1);
    ck_assert(fake_action(number) == FAKE_DEFAULT);
    /* uc_sigmask: the signal is delivered when the handler returns. */
    memcpy(&mask, crash_context.bytes + 4, sizeof mask);
    ck_assert_uint_eq(mask >> (number - 1) & 1, 0);
    if (repeats) {
        ck_assert_int_eq(fake_account.sent, 0);
        ck_assert_uint_ne(fake_account.timer, 0);
        /* The fault did not repeat: somebody had sent the signal. */
        fake.now += 200000000;
        ck_assert(fake_signal(ALRM, 0, 0, &crash_context));
    } else {
        ck_assert_uint_eq(fake_account.blocked >> (number - 1) & 1, 1);
    }
    ck_assert_int_eq(fake_account.sent, number);
}
END_TEST

/* A signal that kill has sent has no fault address. */
START_TEST(test_sent_signal) {
    char words[128];
    install_kit();
    ck_assert(crash_by_signal(SEGV, USER_CODE, 0x10));
    ck_assert_int_eq(fake_account.sent, SEGV);
    struct usp_snapshot *s = open_report();
    ck_assert_uint_eq(usp_snapshot_get_info(s)->flags & USP_SNAPSHOT_FAULT, 0);
    snprintf(words, sizeof words, "SIGSEGV, sent by a process (SI_USER), from process %d, itself", fake.process);
    ck_assert_str_eq(usp_snapshot_get_info(s)->crash, words);
    usp_snapshot_free(s);
}
END_TEST

/* ---- earlier handlers ---- */

static void repair(int number, void *info, void *interrupted) {
    (void)info;
    (void)interrupted;
    ck_assert_int_eq(number, SEGV);
    ck_assert_uint_eq(count_reports(), 1);
    handled++;
}

/* Failures 42 and 43: a handler that repairs the fault runs once, after the report, which is then removed. If the fault
 * repeats nevertheless, it is recorded, and the handler is not called again. */
START_TEST(test_earlier_handler) {
    fake_set_action(SEGV, repair);
    install_kit();
    const fake_handler ours = fake_action(SEGV);
    ck_assert(crash_by_signal(SEGV, 1, 0x10));
    ck_assert_uint_eq(handled, 1);
    ck_assert_uint_eq(count_reports(), 0);
    ck_assert(fake_action(SEGV) == ours);
    ck_assert(crash_by_signal(SEGV, 1, 0x10));
    ck_assert_uint_eq(handled, 1);
    ck_assert_uint_eq(count_reports(), 1);
    ck_assert(fake_action(SEGV) == FAKE_DEFAULT);
}
END_TEST

/* A handler that was installed later and calls ours: in this order, too, each runs once. */
static void pass_to_ours(int number, void *info, void *interrupted) {
    handled++;
    installed(number, info, interrupted);
}

START_TEST(test_later_handler) {
    install_kit();
    installed = fake_action(SEGV);
    fake_set_action(SEGV, pass_to_ours);
    ck_assert(crash_by_signal(SEGV, 1, 0x10));
    ck_assert_uint_eq(handled, 1);
    ck_assert_uint_eq(count_reports(), 1);
    /* Not ours any more: it stays. */
    fake_set_action(BUS, pass_to_ours);
    usp_crash_uninstall();
    ck_assert(fake_action(BUS) == pass_to_ours);
    ck_assert(fake_action(ILL) == FAKE_DEFAULT);
}
END_TEST

/* An earlier handler that crashes itself, or ends the process by another signal. */
static void abort_in_handler(int number, void *info, void *interrupted) {
    (void)number;
    (void)info;
    (void)interrupted;
    handled++;
    ck_assert(fake_signal(ABRT, USER_CODE, 0, &crash_context));
    ck_assert_int_eq(fake_account.sent, ABRT);
}

START_TEST(test_crash_in_earlier_handler) {
    fake_set_action(SEGV, abort_in_handler);
    install_kit();
    ck_assert(crash_by_signal(SEGV, 1, 0x10));
    ck_assert_uint_eq(handled, 1);
    ck_assert(fake_action(ABRT) == FAKE_DEFAULT);
}
END_TEST

/* Another thread crashes after an earlier handler has left by longjmp, or while it still runs. The first thread has
 * ended, works outside of its handler, or is in it: only then the other one waits. */
static jmp_buf outside;

static void leave(int number, void *info, void *interrupted) {
    (void)number;
    (void)info;
    (void)interrupted;
    longjmp(outside, 1);
}

START_TEST(test_handler_that_has_left) {
    static const struct {
        bool is_dead, is_outside;
    } states[] = {{true, false}, {false, true}, {false, false}};
    const bool has_left = states[_i].is_dead || states[_i].is_outside;
    fake_set_action(SEGV, leave);
    install_kit();
    if (setjmp(outside) == 0) (void)crash_by_signal(SEGV, 1, 0x10);
    fake.threads[CALLER].dead = states[_i].is_dead;
    fake.threads[CALLER].sp = states[_i].is_outside ? UINTPTR_MAX - 15 : 16;
    fake.self = TARGET;
    interrupt(&crash_context, &fake.threads[TARGET]);
    const size_t naps = fake_account.calls[FAKE_SEMAPHORE_WAIT];
    ck_assert(crash_by_signal(FPE, 1, 0x10));
    ck_assert_int_eq(fake_account.calls[FAKE_SEMAPHORE_WAIT] == naps, has_left);
    /* A thread that has left has repaired its fault. */
    ck_assert_uint_eq(count_reports(), has_left ? 1 : 2);
    fake.self = CALLER;
    fake.threads[CALLER].dead = false;
    if (!has_left) return;
    struct usp_snapshot *s = open_report();
    ck_assert_uint_eq(usp_snapshot_get_info(s)->signal, FPE);
    ck_assert_uint_eq(usp_snapshot_get_info(s)->crashed_thread, fake.threads[TARGET].id);
    usp_snapshot_free(s);
}
END_TEST

/* Failure 41: an ignored signal stays ignored. */
START_TEST(test_ignored_signal) {
    fake_set_action(BUS, FAKE_IGNORED);
    install_kit();
    ck_assert(fake_action(BUS) == FAKE_IGNORED);
    ck_assert(!fake_signal(BUS, 1, 0, &crash_context));
    ck_assert_uint_eq(count_reports(), 0);
}
END_TEST

/* ---- installing ---- */

START_TEST(test_install_and_uninstall) {
    struct usp_crash_run run;
    const struct fake_account before = fake_account;
    ck_assert_int_eq(usp_crash_last_run(folder, NULL, &run), USP_OK);
    ck_assert_uint_eq(run.verdict, USP_CRASH_NO_RUN);
    for (unsigned i = 0; i < 3; i++) {
        install_kit();
        ck_assert_int_eq(install_kit_with(NULL), USP_ERROR_BUSY);
        ck_assert_uint_eq(fake_account.alternate_size, 128 << 10);
        for (int k = 0; k < ELEMENTS(crash_signals); k++) ck_assert(fake_action(crash_signals[k]) != FAKE_DEFAULT);
        usp_crash_uninstall();
        for (int k = 0; k < ELEMENTS(crash_signals); k++) ck_assert(fake_action(crash_signals[k]) == FAKE_DEFAULT);
        ck_assert_int_eq(usp_crash_note("too late"), USP_ERROR_NOT_PREPARED);
    }
    ck_assert_int_eq(usp_crash_last_run(folder, NULL, &run), USP_OK);
    ck_assert_uint_eq(run.verdict, USP_CRASH_ENDED);
    usp_crash_thread_end();
    ck_assert_uint_eq(fake_account.alternate_size, 0);
    check_calls(&before, "installing");
}
END_TEST

START_TEST(test_install_fails) {
    static const struct {
        enum fake_call call;
        int status;
    } calls[] = {{FAKE_SEMAPHORE_CREATE, USP_ERROR_SYSTEM},
                 {FAKE_SIGACTION, USP_ERROR_SYSTEM},
                 {FAKE_SIGALTSTACK, USP_ERROR_SYSTEM}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const struct fake_account before = fake_account;
        fake.fail_call = calls[i].call;
        fake.fail_at = fake_account.calls[calls[i].call] + 1;
        fake.fail_result = FAILURE;
        ck_assert_int_eq(install_kit_with(NULL), calls[i].status);
        fake.fail_at = 0;
        ck_assert_int_eq(fake_account.rights, before.rights);
        for (int k = 0; k < ELEMENTS(crash_signals); k++) ck_assert(fake_action(crash_signals[k]) == FAKE_DEFAULT);
    }
    install_kit();
}
END_TEST

struct fake_account begin_failing(enum fake_call call, size_t at) {
    stop_crash();
    start_crash();
    install_kit();
    const struct fake_account before = fake_account;
    fake.fail_call = call;
    fake.fail_at = before.calls[call] + at;
    fake.fail_result = FAILURE;
    return before;
}

/* Each call of a crash fails once: the report is whole all the same, with the crashed thread and its cause. */
START_TEST(test_each_call_fails) {
    static const enum fake_call calls[] = {FAKE_TASK_THREADS,     FAKE_TASK_INFO, FAKE_THREAD_INFO,
                                           FAKE_THREAD_SUSPEND,   FAKE_VM_REGION, FAKE_VM_DEALLOCATE,
                                           FAKE_THREAD_GET_STATE, FAKE_SETITIMER, FAKE_SIGACTION,
                                           FAKE_SIGALTSTACK,      FAKE_VM_READ};
    const enum fake_call call = calls[_i];
    for (size_t at = 1; at < 40; at++) {
        const struct fake_account before = begin_failing(call, at);
        ck_assert(crash_by_signal(SEGV, 1, 0x10));
        const bool was_called = fake_account.calls[call] >= before.calls[call] + at;
        fake.fail_at = 0;
        check_calls(&before, fake_call_names[call]);
        struct usp_snapshot *s = open_report();
        const struct usp_snapshot_info *info = usp_snapshot_get_info(s);
        ck_assert_uint_eq(info->flags & USP_SNAPSHOT_TRUNCATED, 0);
        ck_assert_uint_eq(info->signal, SEGV);
        ck_assert_uint_ge(info->thread_count, 1);
        ck_assert_uint_ne(usp_snapshot_get_thread(s, 0)->info.flags & USP_THREAD_CRASHED, 0);
        if (call == FAKE_TASK_THREADS && was_called)
            ck_assert(has_note(s, USP_NOTE_RECORDER, "", "the other threads could not be listed"));
        usp_snapshot_free(s);
        if (!was_called) break;
    }
}
END_TEST

/* Threads that cannot be stopped are named, and the report says that they are missing. */
START_TEST(test_thread_that_cannot_be_stopped) {
    install_kit();
    fake.threads[TARGET].cannot_suspend = true;
    ck_assert(crash_by_signal(SEGV, 1, 0x10));
    struct usp_snapshot *s = open_report();
    ck_assert_uint_eq(usp_snapshot_get_info(s)->thread_count, THREADS_OF_PROCESS);
    ck_assert_uint_eq(usp_snapshot_get_info(s)->missed, 1);
    ck_assert(has_note(s, USP_NOTE_RECORDER, "", "1 thread did not answer"));
    usp_snapshot_free(s);
}
END_TEST

/* Each call of a crash takes a second: the report ends in time, and says which threads are missing. */
START_TEST(test_slow_kernel) {
    install_kit();
    fake.step = 1000000000;
    ck_assert(crash_by_signal(SEGV, 1, 0x10));
    struct usp_snapshot *s = open_report();
    ck_assert_uint_eq(usp_snapshot_get_info(s)->thread_count, THREADS_OF_PROCESS);
    ck_assert_uint_eq(usp_snapshot_get_info(s)->missed, THREADS_OF_PROCESS - 1);
    usp_snapshot_free(s);
}
END_TEST

TCase *case_of_crashes(void) {
    TCase *tests = tcase_create("crashes");
    tcase_add_checked_fixture(tests, start_crash, stop_crash);
    add_tests(tests, test_report, test_lock, test_apple_forms, test_callback, test_home_folders,
              test_callback_that_hangs, test_blocked_alarm, test_sent_signal, test_earlier_handler, test_later_handler,
              test_crash_in_earlier_handler, test_ignored_signal, test_install_and_uninstall, test_install_fails,
              test_thread_that_cannot_be_stopped, test_slow_kernel);
    add_loop_tests(tests, 0, ELEMENTS(crash_signals), test_each_signal_ends_the_process);
    add_loop_tests(tests, 0, 11, test_each_call_fails);
    add_loop_tests(tests, 0, 3, test_handler_that_has_left);
    add_loop_tests(tests, 0, 5, test_late_image);
    add_loop_tests(tests, 0, 5, test_message_of_library);
    return tests;
}
