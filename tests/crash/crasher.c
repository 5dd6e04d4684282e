/* SPDX-License-Identifier: MIT */
/* For tests/crash/kit.sh: a program that dies in one of many ways, with the crash kit or without it.
 *
 * crasher WAY [DIRECTORY]        without a directory: without the kit, so that the exit statuses can be compared
 * crasher --last DIRECTORY       prints how the last run ended, and its reports
 * crasher --notes DIRECTORY      prints the notes of the newest report
 * crasher --cause DIRECTORY      prints the cause of the newest report: signal, code, fault address, crashed thread
 * crasher --compare DIRECTORY    compares the newest report with what the program has written before, from standard input
 * crasher --sent DIRECTORY, --delete DIRECTORY   do that with the newest report */
#define _GNU_SOURCE 1
#undef NDEBUG
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unspool/unspool.h>

static const char *directory;
static volatile int zero;
static int *volatile nowhere;
static _Atomic(bool) heap_is_forbidden;
static void *volatile guarded;

#ifdef __GLIBC__
/* An allocation in the handler ends the process with another status. */
extern void *__libc_malloc(size_t n);
void *malloc(size_t n) {
    if (atomic_load(&heap_is_forbidden)) _exit(99);
    return __libc_malloc(n);
}
#endif

static void say(const char *text) {
    if (write(STDOUT_FILENO, text, strlen(text)) < 0) _exit(98);
}

/* Whether the way to end is one in which a thread never answers. In the others, threads of a busy machine may take
 * longer to answer than 2 s, the default. */
static bool waits_for_limit;

static void install(void (*callback)(void *context, char *text, size_t size)) {
    struct usp_crash_options options;
    if (directory == NULL) return;
    usp_crash_options_init(&options);
    options.directory = directory;
    options.version = "1.0";
    options.callback = callback;
    if (!waits_for_limit) options.timeout = 20000000000;
    int status = usp_crash_install(&options);
    if (status == USP_OK) return;
    fprintf(stderr, "usp_crash_install: %s\n", usp_status_string(status));
    exit(97);
}

/* ---- kinds of faults ---- */

__attribute__((noinline)) static int write_through_null(void) {
    *nowhere = 1;
    return zero + 1;
}

static void crash_segv(void) { write_through_null(); }

static void crash_bus(void) {
    char name[] = "/tmp/unspool-crash-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    assert(ftruncate(fd, 4096) == 0);
    volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    assert(ftruncate(fd, 0) == 0);
    zero = page[0];
}

static void crash_fpe(void) {
#if defined(__x86_64__) || defined(__i386__)
    volatile int seven = 7;
    zero = seven / zero;
#else
    raise(SIGFPE);
#endif
}

static void crash_ill(void) {
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("ud2");
#else
    raise(SIGILL);
#endif
}

static void crash_trap(void) {
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("int3");
#else
    raise(SIGTRAP);
#endif
}

/* A sandbox answers a system call. */
static void refuse(unsigned call, unsigned answer) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    assert(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    assert(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void crash_sys(void) {
    refuse(SYS_getppid, SECCOMP_RET_TRAP);
    syscall(SYS_getppid);
}

/* A sandbox refuses to change what signals do: the handlers stay as they are. */
static void forbid_actions(void) { refuse(SYS_rt_sigaction, SECCOMP_RET_ERRNO | EPERM); }

static void crash_without_actions(void) {
    forbid_actions();
    crash_segv();
}

static void raise_without_actions(void) {
    forbid_actions();
    raise(SIGSEGV);
}

/* The limit for files falls below what a report needs. */
static void crash_limited(void) {
    const struct rlimit limit = {1000, 1000};
    assert(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    crash_segv();
}

/* The program has used up its descriptors. An earlier handler finds its limit as it was. */
static void say_limit(int number) {
    struct rlimit limit;
    say(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == 64 ? "limit kept\n" : "limit changed\n");
    signal(number, SIG_DFL);
}

static void prepare_descriptors(void) {
    struct rlimit limit;
    assert(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = 64;
    assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    signal(SIGSEGV, say_limit);
}

static void crash_without_descriptors(void) {
    while (open("/dev/null", O_RDONLY) >= 0) continue;
    crash_segv();
}

static void crash_abort(void) { abort(); }
static void crash_assert(void) { assert(zero == 1); }

/* A language's runtime notes an exception that no code catches, and ends the process. The addresses are call sites of
 * main, and one outside all images. */
static usp_addr thrown_in[600];

static void note_thrown(const char *text, size_t count) {
    for (size_t i = 0; i < count; i++) thrown_in[i] = (usp_addr)(uintptr_t)crash_abort + 4;
    if (count > 1) thrown_in[count - 1] = 16;
    assert(usp_crash_set_exception("Exception", text, thrown_in, count) == USP_OK);
}

static void crash_thrown(void) {
    assert(usp_crash_set_exception("Exception", NULL, NULL, 0) == USP_ERROR_ARGUMENT);
    note_thrown("an earlier one, which was caught", 1);
    assert(usp_crash_set_exception(NULL, NULL, NULL, 0) == USP_OK);
    note_thrown("NoCart: there is no cart", 2);
    abort();
}

static void crash_caught(void) {
    note_thrown("it was caught", 2);
    assert(usp_crash_set_exception(NULL, NULL, NULL, 0) == USP_OK);
    abort();
}

static void crash_deep_thrown(void) {
    note_thrown("deep", sizeof thrown_in / sizeof *thrown_in);
    abort();
}

static void *throw_on_thread(void *unused) {
    note_thrown("of another thread", 2);
    return unused;
}

static void crash_thrown_elsewhere(void) {
    pthread_t thread;
    assert(pthread_create(&thread, NULL, throw_on_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
    abort();
}
static void crash_raise(void) { raise(SIGSEGV); }

static void crash_heap(void) {
    char *volatile block = malloc(64), *volatile again = block;
    free(block);
    free(again);
}

static void crash_null_call(void) {
    void (*volatile function)(void) = NULL;
    function();
    say("");
}

static void crash_data_call(void) {
    static volatile int data[16];
    void (*volatile function)(void) = (void (*)(void))(uintptr_t)data;
    function();
    say("");
}

__attribute__((noinline)) static int call_without_end(volatile int n) {
    volatile int room[64] = {n};
    return n == 0 ? 0 : call_without_end(n + 1) + room[n % 64];
}

static void crash_overflow(void) { zero = call_without_end(1); }

static void *overflow_in_thread(void *unused) {
    if (directory != NULL) assert(usp_crash_thread_begin() == USP_OK);
    crash_overflow();
    usp_crash_thread_end();
    return unused;
}

static void crash_thread_overflow(void) {
    pthread_t thread;
    assert(pthread_create(&thread, NULL, overflow_in_thread, NULL) == 0);
    pthread_join(thread, NULL);
}

/* ---- other threads ---- */

static pthread_barrier_t barrier;

static void *fault_together(void *unused) {
    pthread_barrier_wait(&barrier);
    crash_segv();
    return unused;
}

static void crash_eight(void) {
    pthread_t threads[8];
    pthread_barrier_init(&barrier, NULL, 8);
    for (int i = 0; i < 8; i++) assert(pthread_create(&threads[i], NULL, fault_together, NULL) == 0);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
}

__attribute__((noinline)) static void wait_in_worker(void) {
    pthread_barrier_wait(&barrier);
    for (;;) pause();
}

static void *work(void *name) {
    prctl(PR_SET_NAME, name);
    wait_in_worker();
    return NULL;
}

static void *refuse_signals(void *unused) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "deaf");
    pthread_barrier_wait(&barrier);
    for (;;) sleep(100);
    return unused;
}

static void start_threads(int count, void *(*function)(void *context), void *context) {
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++) assert(pthread_create(&thread, NULL, function, context) == 0);
    pthread_barrier_wait(&barrier);
}

static void crash_workers(void) {
    static char name[] = "worker";
    start_threads(20, work, name);
    crash_segv();
}

static void crash_deaf(void) {
    start_threads(1, refuse_signals, NULL);
    crash_segv();
}

static int hold_lock(struct dl_phdr_info *info, size_t size, void *context) {
    (void)info;
    (void)size;
    (void)context;
    pthread_barrier_wait(&barrier);
    while (zero == 0) pause();
    return 0;
}

static void *hold_loader(void *unused) {
    dl_iterate_phdr(hold_lock, NULL);
    return unused;
}

static void crash_loader_lock(void) {
    start_threads(1, hold_loader, NULL);
    crash_segv();
}

static void crash_smashed(void) {
    char *blocks[64];
    for (int i = 0; i < 64; i++) blocks[i] = malloc(1000);
    for (int i = 0; i < 64; i++) {
        for (volatile char *at = blocks[i] - 16; at < blocks[i] + 1008; at++) *at = (char)0x5a;
    }
    atomic_store(&heap_is_forbidden, true);
    crash_segv();
}

/* ---- threads that wait for locks ---- */

static pthread_mutex_t locks[2];

static void make_locks(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    /* musl's normal mutexes do not say who holds them. */
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    for (int i = 0; i < 2; i++) assert(pthread_mutex_init(&locks[i], &attributes) == 0);
}

/* Waits until a thread of this process sleeps. */
static void await_sleep(long thread) {
    char path[64], line[256], state = 'R';
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread);
    while (state != 'S') {
        usleep(1000);
        FILE *file = fopen(path, "r");
        assert(file != NULL);
        if (fgets(line, sizeof line, file) != NULL) state = strrchr(line, ')')[2];
        fclose(file);
    }
}

static _Atomic(long) sleeper;

static void *hold_and_wait(void *name) {
    prctl(PR_SET_NAME, name);
    pthread_mutex_lock(&locks[1]);
    pthread_barrier_wait(&barrier);
    atomic_store(&sleeper, syscall(SYS_gettid));
    pthread_mutex_lock(&locks[0]);
    return NULL;
}

static char autosave[] = "autosave";

/* A thread waits for a mutex that the crashed thread holds. */
static void crash_waited_for(void) {
    make_locks();
    pthread_mutex_lock(&locks[0]);
    start_threads(1, hold_and_wait, autosave);
    while (atomic_load(&sleeper) == 0) usleep(1000);
    await_sleep(atomic_load(&sleeper));
    crash_segv();
}

static void *abort_main(void *unused) {
    await_sleep(getpid());
    await_sleep(atomic_load(&sleeper));
    syscall(SYS_tgkill, getpid(), getpid(), SIGABRT);
    return unused;
}

/* A watchdog ends a program whose main thread and another one wait for each other. */
static void crash_deadlock(void) {
    pthread_t thread;
    make_locks();
    pthread_mutex_lock(&locks[0]);
    start_threads(1, hold_and_wait, autosave);
    while (atomic_load(&sleeper) == 0) usleep(1000);
    assert(pthread_create(&thread, NULL, abort_main, NULL) == 0);
    pthread_mutex_lock(&locks[1]);
}

/* ---- what happens besides ---- */

static void crash_child(void) {
    pid_t child = fork();
    int status;
    if (child == 0) crash_segv();
    assert(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    exit(5);
}

static _Atomic(unsigned) changes;

static void *change_values(void *unused) {
    char text[200], key[16];
    for (int i = 0;; i++) {
        memset(text, 'a' + i % 26, sizeof text - 1);
        text[sizeof text - 1 - (size_t)(i % 100)] = '\0';
        snprintf(key, sizeof key, "key %d", i % 64);
        usp_crash_set(key, text);
        usp_crash_note(text);
        atomic_fetch_add(&changes, 1);
    }
    return unused;
}

static void crash_changing(void) {
    pthread_t thread;
    for (int i = 0; i < 4; i++) assert(pthread_create(&thread, NULL, change_values, NULL) == 0);
    /* On a busy machine the threads are slow to begin. */
    while (atomic_load(&changes) < 1000) usleep(1000);
    crash_segv();
}

static void write_home(void *context, char *text, size_t size) {
    (void)context;
    snprintf(text, size, "from /home/anna");
}

static void crash_homes(void) {
    char text[121] = "";
    memset(text, 'x', sizeof text - 1);
    memcpy(text + 30, "\xc3\xa9", 3);
    assert(usp_crash_set(text, "first") == USP_OK && usp_crash_set(text, "second") == USP_OK);
    memset(text, 'x', sizeof text - 1);
    memcpy(text + 118, "\xc3\xa9", 3);
    assert(usp_crash_note(text) == USP_OK);
    assert(usp_crash_set("file", "/home/anna/cart and \"/home/bo\"") == USP_OK);
    assert(usp_crash_note("saves /Users/anna, /Users/Shared/x and /srv/home/anna/y") == USP_OK);
    note_thrown("cannot open '/home/anna/cart'", 2);
    crash_segv();
}

/* Threads install the kit at once: one of them does. */
#define AT_ONCE 4
static pthread_barrier_t installing;
static _Atomic(unsigned) installed;

static void *install_at_once(void *unused) {
    struct usp_crash_options options;
    usp_crash_options_init(&options);
    options.directory = directory;
    options.timeout = 20000000000;
    pthread_barrier_wait(&installing);
    const int status = usp_crash_install(&options);
    if (status == USP_OK) atomic_fetch_add(&installed, 1);
    assert(status == USP_OK || status == USP_ERROR_BUSY);
    return unused;
}

/* Threads that install and end the kit at once leave no handler and no open file. */
static void *install_and_end(void *unused) {
    struct usp_crash_options options;
    usp_crash_options_init(&options);
    options.directory = directory;
    for (unsigned i = 0; i < 100; i++) {
        const int status = usp_crash_install(&options);
        assert(status == USP_OK || status == USP_ERROR_BUSY);
        usp_crash_uninstall();
    }
    return unused;
}

static void exit_ended_at_once(void) {
    pthread_t threads[AT_ONCE];
    struct sigaction action;
    usp_crash_uninstall();
    const int before = dup(0);
    close(before);
    for (unsigned i = 0; i < AT_ONCE; i++) assert(pthread_create(&threads[i], NULL, install_and_end, NULL) == 0);
    for (unsigned i = 0; i < AT_ONCE; i++) assert(pthread_join(threads[i], NULL) == 0);
    usp_crash_uninstall();
    assert(sigaction(SIGSEGV, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    const int after = dup(0);
    assert(after == before);
    exit(0);
}

static void crash_installed_at_once(void) {
    pthread_t threads[AT_ONCE];
    pthread_barrier_init(&installing, NULL, AT_ONCE);
    for (unsigned round = 1; round <= 400; round++) {
        usp_crash_uninstall();
        for (unsigned i = 0; i < AT_ONCE; i++) assert(pthread_create(&threads[i], NULL, install_at_once, NULL) == 0);
        for (unsigned i = 0; i < AT_ONCE; i++) assert(pthread_join(threads[i], NULL) == 0);
        assert(atomic_load(&installed) == round);
    }
    crash_segv();
}

static void crash_noted(void) {
    char text[32];
    usp_crash_set("user", "anna");
    usp_crash_set("screen", "start");
    usp_crash_set("screen", "settings");
    usp_crash_set("gone", "x");
    usp_crash_set("gone", NULL);
    for (int i = 0; i < 70; i++) {
        snprintf(text, sizeof text, "step %d", i);
        usp_crash_note(text);
    }
    crash_segv();
}

static void write_text(void *context, char *text, size_t size) {
    (void)context;
    snprintf(text, size, "from the callback");
}

static void fault_in_callback(void *context, char *text, size_t size) {
    (void)context;
    (void)text;
    (void)size;
    write_through_null();
}

static void hang_in_callback(void *context, char *text, size_t size) {
    (void)context;
    (void)text;
    (void)size;
    for (;;) pause();
}

/* The program ends while another thread's crash is recorded. */
static _Atomic(bool) is_called;

static void take_a_while(void *context, char *text, size_t size) {
    (void)context;
    atomic_store(&is_called, true);
    usleep(200000);
    snprintf(text, size, "from the callback");
}

static void *fault_alone(void *unused) {
    crash_segv();
    return unused;
}

static void crash_meanwhile(void) {
    pthread_t thread;
    assert(pthread_create(&thread, NULL, fault_alone, NULL) == 0);
    while (!atomic_load(&is_called)) usleep(1000);
    exit(0);
}

/* An alarm that the program blocks is pending. */
static void crash_alarm(void) {
    sigset_t alarm_only, pending;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
    kill(getpid(), SIGALRM);
    guarded = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile int *)guarded = 1;
    sigpending(&pending);
    say(sigismember(&pending, SIGALRM) == 1 ? "still pending\n" : "lost\n");
    crash_segv();
}

/* ---- earlier handlers ---- */

static void handle(int signal, void (*handler)(int signal, siginfo_t *info, void *context)) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = (int)SA_SIGINFO};
    sigaction(signal, &action, NULL);
}

static void make_writable(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    (void)context;
    say("repair\n");
    mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
}

static void prepare_repaired(void) { handle(SIGSEGV, make_writable); }

static void crash_repaired(void) {
    guarded = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile int *)guarded = 1;
    exit(6);
}

static sigjmp_buf landing;
static void jump_away(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    (void)context;
    siglongjmp(landing, 1);
}

static void end_with_three(int signal, siginfo_t *info, void *context) {
    (void)context;
    say(info->si_signo == signal && info->si_code > 0 ? "right siginfo\n" : "wrong siginfo\n");
    _exit(3);
}

static void end_by_default(int signal, siginfo_t *info, void *context) {
    (void)info;
    (void)context;
    say("earlier\n");
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(signal, &standard, NULL);
}

static void do_nothing(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    (void)context;
    say("earlier\n");
}

static void prepare_three(void) { handle(SIGSEGV, end_with_three); }
static void prepare_default(void) { handle(SIGSEGV, end_by_default); }
/* Without the kit such a handler would be called for ever. */
static void prepare_nothing(void) {
    if (directory != NULL) handle(SIGSEGV, do_nothing);
}
static void prepare_abort(void) { handle(SIGABRT, do_nothing); }
static void prepare_jump(void) { handle(SIGSEGV, jump_away); }

static void crash_jump(void) {
    if (sigsetjmp(landing, 1) == 0) crash_segv();
    abort();
}

static void crash_jump_exit(void) {
    if (sigsetjmp(landing, 1) == 0) crash_segv();
    exit(8);
}

static void *jump_in_thread(void *unused) {
    if (sigsetjmp(landing, 1) == 0) crash_segv();
    return unused;
}

static void crash_jump_thread(void) {
    pthread_t thread;
    assert(pthread_create(&thread, NULL, jump_in_thread, NULL) == 0);
    pthread_join(thread, NULL);
    abort();
}

/* A thread without an alternate stack leaves the handler, and goes on. */
static void *jump_and_stay(void *unused) {
    if (sigsetjmp(landing, 1) == 0) crash_segv();
    pthread_barrier_wait(&barrier);
    for (;;) pause();
    return unused;
}

static void crash_jump_stays(void) {
    start_threads(1, jump_and_stay, NULL);
    abort();
}

/* It goes deeper into its stack than it was when it crashed. */
__attribute__((noinline)) static void go_deeper(int levels, void (*end)(void)) {
    volatile char room[4096];
    room[0] = (char)levels;
    if (levels > 0) go_deeper(levels - 1, end);
    if (levels == 0) end();
    zero = room[0] & 0;
}

static void (*deep_end)(void);
static void *jump_and_go_deeper(void *unused) {
    if (sigsetjmp(landing, 1) == 0) crash_segv();
    go_deeper(20, deep_end);
    return unused;
}

static void jump_deep(void (*end)(void)) {
    pthread_t thread;
    deep_end = end;
    assert(pthread_create(&thread, NULL, jump_and_go_deeper, NULL) == 0);
    pthread_join(thread, NULL);
}

static void exit_with_eight(void) { exit(8); }
static void crash_jump_deep(void) { jump_deep(crash_abort); }
static void crash_jump_deep_exit(void) { jump_deep(exit_with_eight); }

static void trap_in_handler(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    (void)context;
    say("earlier\n");
    crash_ill();
}

static void prepare_trap(void) { handle(SIGSEGV, trap_in_handler); }

/* The kernel accepts SA_SIGINFO with both. */
static void set_with_siginfo(int signal, void (*handler)(int)) {
    struct sigaction action = {.sa_flags = (int)SA_SIGINFO};
    action.sa_handler = handler;
    sigaction(signal, &action, NULL);
}

static void prepare_alarm(void) {
    struct sigaction action = {.sa_sigaction = make_writable, .sa_flags = (int)(SA_SIGINFO | SA_RESETHAND)};
    sigaction(SIGSEGV, &action, NULL);
}

static void prepare_siginfo(void) {
    set_with_siginfo(SIGTRAP, SIG_IGN);
    set_with_siginfo(SIGABRT, SIG_DFL);
}

static void crash_siginfo(void) {
    raise(SIGTRAP);
    abort();
}

static void prepare_refused(void) { refuse(SYS_sigaltstack, SECCOMP_RET_ERRNO | EPERM); }

static void prepare_ignored(void) { signal(SIGTRAP, SIG_IGN); }
static void crash_ignored(void) {
    raise(SIGTRAP);
    signal(SIGILL, SIG_IGN);
    raise(SIGILL);
    exit(7);
}

/* A library that is loaded after the kit was installed. */
static void crash_late(void) {
    void *library = dlopen(getenv("CRASHER_LIBRARY"), RTLD_NOW);
    assert(library != NULL);
    void (*function)(void) = (void (*)(void))(uintptr_t)dlsym(library, "crash_in_library");
    assert(function != NULL);
    function();
    say("");
}

/* A C++ library, loaded before the kit is installed, throws what CRASHER_THROWS says. */
static void prepare_throw(void) { assert(dlopen(getenv("CRASHER_LIBRARY"), RTLD_NOW | RTLD_GLOBAL) != NULL); }

static void crash_throw(void) {
    void (*function)(const char *which) = (void (*)(const char *))(uintptr_t)dlsym(RTLD_DEFAULT, "throw_uncaught");
    assert(function != NULL);
    function(getenv("CRASHER_THROWS"));
    say("");
}

/* ---- storms ----
 *
 * Threads are born, libraries loaded, memory allocated or signals sent all the time, and a thread crashes. CRASHER_SEED
 * decides how. */

#define STEADY_MAX 6

static uint64_t seed;

/* A number below n: splitmix64. */
static unsigned below(unsigned n) {
    uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((z ^ (z >> 31)) % n);
}

static void *be_born(void *unused) { return unused; }

static void *bear(void *unused) {
    for (;;) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, be_born, NULL) == 0) pthread_join(thread, NULL);
    }
    return unused;
}

static void *load_libraries(void *unused) {
    const char *path = getenv("CRASHER_LIBRARY");
    for (;;) {
        void *library = dlopen(path, RTLD_NOW);
        if (library != NULL) dlclose(library);
    }
    return unused;
}

static void *allocate(void *unused) {
    char *volatile blocks[16] = {NULL};
    for (unsigned i = 0;; i++) {
        free(blocks[i % 16]);
        blocks[i % 16] = malloc(i * 37 % 200000);
    }
    return unused;
}

static void count_signal(int signal) { zero = signal & 0; }

static void *send_signals(void *unused) {
    for (;;) kill(getpid(), SIGUSR1);
    return unused;
}

static _Atomic(long) steady[STEADY_MAX];

static void *be_steady(void *place) {
    const long i = (_Atomic(long) *)place - steady;
    char name[32];
    snprintf(name, sizeof name, "steady %ld", i);
    prctl(PR_SET_NAME, name);
    atomic_store(&steady[i], syscall(SYS_gettid));
    wait_in_worker();
    return NULL;
}

/* Writes what the report has to say, and crashes. */
static void crash_as_written(void) {
    const bool aborts = below(4) == 0;
    const uintptr_t address = 16 + 8 * (uintptr_t)below(400);
    char value[32];
    snprintf(value, sizeof value, "%u", below(1000000));
    usp_crash_set("storm", value);
    printf("crash %d 0x%jx %ld %s\n", aborts ? SIGABRT : SIGSEGV, aborts ? (uintmax_t)0 : (uintmax_t)address,
           (long)syscall(SYS_gettid), value);
    for (int i = 0; i < STEADY_MAX && atomic_load(&steady[i]) != 0; i++) {
        printf("thread %ld steady %d\n", atomic_load(&steady[i]), i);
    }
    fflush(stdout);
    usleep(below(2000));
    if (aborts) abort();
    nowhere = (int *)address;
    write_through_null();
}

static void *crash_apart(void *unused) {
    crash_as_written();
    return unused;
}

static void storm(void *(*blow)(void *unused)) {
    pthread_t thread;
    seed = strtoull(getenv("CRASHER_SEED"), NULL, 10);
    const int count = 1 + (int)below(STEADY_MAX);
    pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++) assert(pthread_create(&thread, NULL, be_steady, &steady[i]) == 0);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 3; i++) assert(pthread_create(&thread, NULL, blow, NULL) == 0);
    if (below(2) == 0) crash_as_written();
    assert(pthread_create(&thread, NULL, crash_apart, NULL) == 0);
    pthread_join(thread, NULL);
}

static void storm_births(void) { storm(bear); }
static void storm_libraries(void) { storm(load_libraries); }
static void storm_allocation(void) { storm(allocate); }
static void storm_signals(void) {
    signal(SIGUSR1, count_signal);
    storm(send_signals);
}

static void leave(void) { exit(0); }

/* The folder of reports is removed, or can no longer be changed. */
static void remove_folder(void) {
    char command[1100];
    if (directory == NULL) return;
    assert(snprintf(command, sizeof command, "rm -rf '%s'", directory) < (int)sizeof command);
    assert(system(command) == 0);
}

static void leave_removed(void) {
    remove_folder();
    exit(0);
}

static void crash_removed(void) {
    remove_folder();
    crash_segv();
}

static void crash_read_only(void) {
    if (directory != NULL) assert(chmod(directory, 0500) == 0);
    crash_segv();
}

/* The C library writes what is left in streams after all destructors have run. */
static ssize_t fault_in_write(void *cookie, const char *bytes, size_t size) {
    (void)cookie;
    (void)bytes;
    crash_segv();
    return (ssize_t)size;
}

static void crash_after_destructors(void) {
    FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = fault_in_write});
    assert(stream != NULL && fputc('x', stream) == 'x');
    exit(0);
}

/* Installing lists no images and no unwind tables. A snapshot still has both. */
static void leave_light(void) {
    struct usp_capture_usage usage;
    struct usp_snapshot *snapshot;
    assert(usp_capture_get_usage(&usage) == USP_OK);
    if (usp_is_prepared() || usage.images != 0 || usage.tables != 0) exit(11);
    if (usp_snapshot_create_self(NULL, &snapshot) != USP_OK || usp_images_count(usp_snapshot_images(snapshot)) < 2)
        exit(12);
    usp_snapshot_free(snapshot);
    assert(usp_capture_get_usage(&usage) == USP_OK);
    exit(usp_is_prepared() && usage.images != 0 ? 0 : 13);
}

/* The program changes its working folder; the folder of reports is a relative path. */
static void crash_moved(void) {
    if (directory != NULL) assert(chdir(directory) == 0);
    crash_segv();
}

static void leave_moved(void) {
    if (directory != NULL) assert(chdir(directory) == 0);
    exit(0);
}
static void leave_at_once(void) { _exit(0); }
/* The script says when the program is to crash. */
static void crash_on_word(void) {
    char word;
    say("ready\n");
    if (read(STDIN_FILENO, &word, 1) == 1) crash_segv();
    exit(0);
}

/* A server's children, with the kit of their own: every other one crashes, the others are killed. */
static void fork_workers(void) {
    pid_t children[8];
    int status;
    for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
        children[i] = fork();
        if (children[i] != 0) continue;
        install(NULL);
        raise(i % 2 == 0 ? SIGSEGV : SIGKILL);
        _exit(1);
    }
    for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
        assert(waitpid(children[i], &status, 0) == children[i]);
        assert(WIFSIGNALED(status) && WTERMSIG(status) == (i % 2 == 0 ? SIGSEGV : SIGKILL));
    }
    exit(0);
}

/* The kernel gives ids again: a run with the id of this process, and its unfinished report, are of another process. */
static void prepare_same_id(void) {
    static const char begin[16] = "\x89USPRAW\n\1";
    char name[512];
    if (directory == NULL) return;
    assert(snprintf(name, sizeof name, "%s/0000000000000001-%ld.run", directory, (long)getpid()) < (int)sizeof name);
    FILE *run = fopen(name, "w"), *boot = fopen("/proc/sys/kernel/random/boot_id", "r");
    char id[64] = "";
    if (boot != NULL && fgets(id, sizeof id, boot) == NULL) id[0] = '\0';
    assert(run != NULL);
    fprintf(run, "unspool run 1\npid %ld\nstart 1\nstarted 1\ncrashes 0\nboot %s", (long)getpid(), id);
    fclose(run);
    if (boot != NULL) fclose(boot);
    assert(snprintf(name, sizeof name, "%s/0000000000000001-%ld-1.open", directory, (long)getpid()) < (int)sizeof name);
    FILE *report = fopen(name, "w");
    assert(report != NULL && fwrite(begin, sizeof begin, 1, report) == 1);
    fclose(report);
}

static void be_killed(void) { raise(SIGKILL); }

static const struct way {
    const char *name;
    void (*run)(void);
    void (*prepare)(void); /* before the kit is installed */
    void (*callback)(void *context, char *text, size_t size);
} ways[] = {
    {"segv", crash_segv, NULL, NULL},
    {"bus", crash_bus, NULL, NULL},
    {"fpe", crash_fpe, NULL, NULL},
    {"ill", crash_ill, NULL, NULL},
    {"trap", crash_trap, NULL, NULL},
    {"sys", crash_sys, NULL, NULL},
    {"without-actions", crash_without_actions, NULL, NULL},
    {"raise-without-actions", raise_without_actions, NULL, NULL},
    {"limited", crash_limited, NULL, NULL},
    {"descriptors", crash_without_descriptors, prepare_descriptors, NULL},
    {"abort", crash_abort, NULL, NULL},
    {"assert", crash_assert, NULL, NULL},
    {"raise", crash_raise, NULL, NULL},
    {"thrown", crash_thrown, NULL, NULL},
    {"caught", crash_caught, NULL, NULL},
    {"deep-thrown", crash_deep_thrown, NULL, NULL},
    {"thrown-elsewhere", crash_thrown_elsewhere, NULL, NULL},
    {"heap", crash_heap, NULL, NULL},
    {"null-call", crash_null_call, NULL, NULL},
    {"data-call", crash_data_call, NULL, NULL},
    {"overflow", crash_overflow, NULL, NULL},
    {"thread-overflow", crash_thread_overflow, NULL, NULL},
    {"eight", crash_eight, NULL, NULL},
    {"workers", crash_workers, NULL, NULL},
    {"deaf", crash_deaf, NULL, NULL},
    {"loader-lock", crash_loader_lock, NULL, NULL},
    {"smashed", crash_smashed, NULL, NULL},
    {"waited-for", crash_waited_for, NULL, NULL},
    {"deadlock", crash_deadlock, NULL, NULL},
    {"child", crash_child, NULL, NULL},
    {"noted", crash_noted, NULL, NULL},
    {"homes", crash_homes, NULL, write_home},
    {"installed-at-once", crash_installed_at_once, NULL, NULL},
    {"ended-at-once", exit_ended_at_once, NULL, NULL},
    {"callback", crash_segv, NULL, write_text},
    {"callback-fault", crash_segv, NULL, fault_in_callback},
    {"callback-hang", crash_segv, NULL, hang_in_callback},
    {"repaired", crash_repaired, prepare_repaired, NULL},
    {"earlier-exit", crash_segv, prepare_three, NULL},
    {"earlier-default", crash_segv, prepare_default, NULL},
    {"earlier-nothing", crash_segv, prepare_nothing, NULL},
    {"earlier-abort", crash_abort, prepare_abort, NULL},
    {"earlier-jump", crash_jump, prepare_jump, NULL},
    {"earlier-jump-exit", crash_jump_exit, prepare_jump, NULL},
    {"earlier-jump-thread", crash_jump_thread, prepare_jump, NULL},
    {"earlier-jump-stays", crash_jump_stays, prepare_jump, NULL},
    {"earlier-jump-deep", crash_jump_deep, prepare_jump, NULL},
    {"earlier-jump-deep-exit", crash_jump_deep_exit, prepare_jump, NULL},
    {"earlier-trap", crash_segv, prepare_trap, NULL},
    {"alarm", crash_alarm, prepare_alarm, NULL},
    {"siginfo", crash_siginfo, prepare_siginfo, NULL},
    {"changing", crash_changing, NULL, NULL},
    {"meanwhile", crash_meanwhile, NULL, take_a_while},
    {"refused", leave, prepare_refused, NULL},
    {"ignored", crash_ignored, prepare_ignored, NULL},
    {"late", crash_late, NULL, NULL},
    {"throw", crash_throw, prepare_throw, NULL},
    {"births", storm_births, NULL, NULL},
    {"libraries", storm_libraries, NULL, NULL},
    {"allocation", storm_allocation, NULL, NULL},
    {"signals", storm_signals, NULL, NULL},
    {"exit", leave, NULL, NULL},
    {"removed", crash_removed, NULL, NULL},
    {"removed-exit", leave_removed, NULL, NULL},
    {"read-only", crash_read_only, NULL, NULL},
    {"after-destructors", crash_after_destructors, NULL, NULL},
    {"light", leave_light, NULL, NULL},
    {"moved", crash_moved, NULL, NULL},
    {"moved-exit", leave_moved, NULL, NULL},
    {"_exit", leave_at_once, NULL, NULL},
    {"kill", be_killed, NULL, NULL},
    {"word", crash_on_word, NULL, NULL},
    {"workers-of-fork", fork_workers, NULL, NULL},
    {"same-id", leave, prepare_same_id, NULL},
};

/* ---- the next start ---- */

static int print_last(void) {
    static const char *const verdicts[] = {"no run",    "ended",         "crashed",  "updated",
                                           "restarted", "out of memory", "executed", "unexplained"};
    struct usp_crash_report reports[64];
    struct usp_crash_run run;
    size_t count;
    if (usp_crash_last_run(directory, getenv("CRASHER_VERSION"), &run) != USP_OK) return 1;
    printf("%s, %" PRIu32 " in a row, %s%s\n", verdicts[run.verdict], run.crashes,
           run.lasted > 0 && run.lasted < UINT64_C(600000000000) ? "lasted" : "unknown",
           run.verdict == USP_CRASH_CRASHED && run.report[0] == '\0' ? ", deleted" : "");
    if (usp_crash_list(directory, reports, 64, &count) != USP_OK) return 1;
    printf("%zu reports", count);
    for (size_t i = 0; i < count; i++) printf("%s", reports[i].is_sent ? " sent" : " new");
    printf("\n");
    return 0;
}

static struct usp_snapshot *open_newest(char name[48]) {
    struct usp_crash_report reports[64];
    struct usp_snapshot *snapshot;
    char error[256];
    size_t count;
    if (usp_crash_list(directory, reports, 64, &count) != USP_OK || count == 0) exit(1);
    memcpy(name, reports[0].name, sizeof reports[0].name);
    if (usp_crash_open(directory, name, &snapshot, error, sizeof error) == USP_OK) return snapshot;
    fprintf(stderr, "%s\n", error);
    exit(1);
}

static int print_notes(void) {
    const struct usp_snapshot_note *note;
    char name[48];
    struct usp_snapshot *snapshot = open_newest(name);
    for (size_t i = 0; (note = usp_snapshot_get_note(snapshot, i)) != NULL; i++) {
        printf("%" PRIu32 " %s=%s\n", note->kind, note->key, note->text);
    }
    usp_snapshot_free(snapshot);
    return 0;
}

static int print_cause(void) {
    char name[48];
    struct usp_snapshot *snapshot = open_newest(name);
    const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
    const struct usp_snapshot_thread *first = usp_snapshot_get_thread(snapshot, 0);
    /* A torn report may lack the thread, or its stack. */
    const bool is_first =
        first != NULL && (first->info.flags & USP_THREAD_CRASHED) != 0 && first->info.thread.id == info->crashed_thread;
    printf("signal %" PRIu32 " code %" PRId32 " address 0x%" PRIx64 " threads %" PRIu32 " missed %" PRIu32 "%s%s%s\n",
           info->signal, info->signal_code, info->fault_address, info->thread_count, info->missed,
           is_first ? " first" : "",
           is_first && first->stack.count != 0 && usp_registers_pc(&first->registers) == first->stack.frames[0].pc
               ? " registers"
               : "",
           (info->flags & USP_SNAPSHOT_TRUNCATED) != 0 ? " torn" : "");
    puts(info->crash);
    usp_snapshot_free(snapshot);
    return 0;
}

static const struct usp_snapshot_thread *find_thread(const struct usp_snapshot *snapshot, uint64_t id) {
    const struct usp_snapshot_thread *thread;
    for (size_t i = 0; (thread = usp_snapshot_get_thread(snapshot, i)) != NULL; i++) {
        if (thread->info.thread.id == id) return thread;
    }
    return NULL;
}

static const char *value_of(const struct usp_snapshot *snapshot, const char *key) {
    const struct usp_snapshot_note *note;
    for (size_t i = 0; (note = usp_snapshot_get_note(snapshot, i)) != NULL; i++) {
        if (note->kind == USP_NOTE_VALUE && strcmp(note->key, key) == 0) return note->text;
    }
    return "";
}

/* Compares a line that the program has written. Returns whether the report says the same. */
static bool is_as_written(const struct usp_snapshot *snapshot, const char *line) {
    const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
    const struct usp_snapshot_thread *thread;
    unsigned long long address, id;
    char value[32];
    unsigned signal;
    if (sscanf(line, "crash %u %llx %llu %31s", &signal, &address, &id, value) == 4) {
        thread = usp_snapshot_get_thread(snapshot, 0);
        return info->signal == signal && (signal == SIGABRT || info->fault_address == address) &&
               (info->flags & USP_SNAPSHOT_TRUNCATED) == 0 && thread->info.thread.id == id &&
               (thread->info.flags & USP_THREAD_CRASHED) != 0 && thread->stack.count > 2 &&
               strcmp(value_of(snapshot, "storm"), value) == 0;
    }
    if (sscanf(line, "thread %llu %31[^\n]", &id, value) != 2) return false;
    thread = find_thread(snapshot, id);
    return thread != NULL && thread->status == USP_OK && strcmp(thread->info.name, value) == 0 &&
           thread->stack.count > 2;
}

static int compare(void) {
    char name[48], line[256];
    struct usp_snapshot *snapshot = open_newest(name);
    int lines = 0, wrong = 0;
    while (fgets(line, sizeof line, stdin) != NULL) {
        lines++;
        if (is_as_written(snapshot, line)) continue;
        fprintf(stderr, "the report differs from: %s", line);
        wrong++;
    }
    usp_snapshot_free(snapshot);
    return lines >= 2 && wrong == 0 ? 0 : 1;
}

static int change_newest(int (*change)(const char *directory, const char *name)) {
    char name[48];
    usp_snapshot_free(open_newest(name));
    return change(directory, name) == USP_OK ? 0 : 1;
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    if (argc > 2) directory = argv[2];
    waits_for_limit = strcmp(way, "deaf") == 0 || strcmp(way, "callback-hang") == 0;
    if (strcmp(way, "--last") == 0) return print_last();
    if (strcmp(way, "--notes") == 0) return print_notes();
    if (strcmp(way, "--cause") == 0) return print_cause();
    if (strcmp(way, "--compare") == 0) return compare();
    if (strcmp(way, "--sent") == 0) return change_newest(usp_crash_mark_sent);
    if (strcmp(way, "--delete") == 0) return change_newest(usp_crash_delete);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(way, ways[i].name) != 0) continue;
        if (ways[i].prepare != NULL) ways[i].prepare();
        install(ways[i].callback);
        ways[i].run();
        return 1;
    }
    return 2;
}
