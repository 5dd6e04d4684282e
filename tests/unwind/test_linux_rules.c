/* SPDX-License-Identifier: MIT */
/* Tests captures in this process with the rule cache: the same stacks as without it, whatever its size; no system call
 * once it is filled; and no rule used for other code than it was made from, while libraries are loaded and unloaded.
 * This file is compiled without frame pointers. test_rule_cache.c tests the cache itself. */
#define _GNU_SOURCE 1
#include "tests/support/libc.h"
#include "tests/support/linux_threads.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define FRAMES 256u

/* A captured stack and its frames. */
struct captured {
    struct usp_stack stack;
    struct usp_frame frames[FRAMES];
};

static void begin_capture(struct captured *c) {
    memset(c->frames, 0, sizeof c->frames);
    usp_stack_init(&c->stack, c->frames, FRAMES);
}

static void keep_rules(uint32_t rules) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.kept_rules = rules;
    options.timeout = patience();
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
}

static void show(const struct usp_frame *f) {
    printf("  pc %#llx cfa %#llx fp %#llx kind %u method %u flags %#x\n", (unsigned long long)f->pc,
           (unsigned long long)f->cfa, (unsigned long long)f->fp, f->kind, f->method, f->flags);
}

/* Returns a value if it points into the stack, otherwise 0. In code without frame pointers a frame pointer register can
 * hold any value, which differs between captures; so only pointers into the stack are compared. */
static usp_addr on_stack(usp_addr value) {
    usp_addr here = (uintptr_t)&value, reach = 1u << 20;
    return value > here - reach && value < here + reach ? value : 0;
}

static void expect_same(const struct captured *a, const struct captured *b) {
    ck_assert_uint_eq(a->stack.count, b->stack.count);
    for (uint32_t i = 0; i < a->stack.count; i++) {
        struct usp_frame mine = a->frames[i], other = b->frames[i];
        mine.fp = on_stack(mine.fp);
        other.fp = on_stack(other.fp);
        if (memcmp(&mine, &other, sizeof mine) == 0) continue;
        show(&a->frames[i]);
        show(&b->frames[i]);
        ck_abort_msg("frame %u differs", i);
    }
    ck_assert_uint_eq(a->stack.stop, b->stack.stop);
    ck_assert_uint_eq(on_stack(a->stack.stop_address), on_stack(b->stack.stop_address));
    ck_assert_uint_eq(a->stack.omitted, b->stack.omitted);
    ck_assert_uint_eq(a->stack.omitted_at, b->stack.omitted_at);
    ck_assert_uint_eq(a->stack.hash, b->stack.hash);
    ck_assert_uint_eq(a->stack.flags, b->stack.flags);
}

/* ---- a stack ---- */

static void (*at_the_bottom)(void);

static void go_down(unsigned depth, unsigned a, unsigned b);

KEPT static int compare_at(const void *a, const void *b) {
    go_down(*(const unsigned *)a, 1, 2);
    return a < b ? -1 : a > b;
}

/* Recurses, partly through libc. The frames have different sizes and save different registers. */
KEPT static void go_down(unsigned depth, unsigned a, unsigned b) {
    unsigned c = a * 3, d = b * 5, e = a ^ b;
    if (depth == 0) {
        if (at_the_bottom != NULL) at_the_bottom();
        at_the_bottom = NULL;
    } else if (depth % 7 == 3) {
        unsigned pair[2] = {depth - 1, depth - 1};
        qsort(pair, 2, sizeof pair[0], compare_at);
    } else if (depth % 3 == 0) {
        volatile char space[200];
        space[depth] = 1;
        go_down(depth - 1, b, a);
        atomic_fetch_add(&standing_sink, (unsigned)space[depth]);
    } else {
        go_down(depth - 1, c, d);
    }
    atomic_fetch_add(&standing_sink, c + d * e);
}

static void descend(unsigned depth, void (*bottom)(void)) {
    at_the_bottom = bottom;
    go_down(depth, 1, 2);
}

/* ---- the same stacks ---- */

static const uint32_t sizes[] = {0, 1, 7, 4096};
#define CAPTURES (3u * (unsigned)(sizeof sizes / sizeof *sizes))

static struct captured captures[CAPTURES];
static struct usp_unwind_options options;

/* Sets the number of kept rules: three captures with each number. A function, so that compilers leave one call in a
 * loop that captures. */
KEPT static void keep_rules_for(unsigned capture) {
    if (capture % 3 == 0) keep_rules(sizes[capture / 3]);
    atomic_fetch_add(&standing_sink, 1);
}

static void check_captures(uint32_t least) {
    for (unsigned i = 0; i < CAPTURES; i++) {
        ck_assert_int_eq(captures[i].stack.status, USP_OK);
        expect_same(&captures[0], &captures[i]);
    }
    ck_assert_uint_ge(captures[0].stack.count, least);
}

/* Captures in a loop, so that all captures have the same return address. */
KEPT static void capture_self_here(void) {
    volatile unsigned i;
    for (i = 0; i < CAPTURES; i++) {
        keep_rules_for(i);
        begin_capture(&captures[i]);
        ck_assert_int_eq(usp_capture_self(&options, &captures[i].stack), USP_OK);
    }
    atomic_fetch_add(&standing_sink, 1);
}

START_TEST(calling_thread) {
    usp_unwind_options_init(&options);
    keep_rules(0);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    descend(20, capture_self_here);
    check_captures(22);
    ck_assert_uint_eq(captures[0].stack.stop, USP_STOP_ROOT);
}
END_TEST

/* A signal handler asks which image holds an address: the answer must come from the registered list. */
START_TEST(image_at) {
    struct usp_image image;
    char path[4096], cut[4];
    usp_addr here = (uintptr_t)&keep_rules;
    ck_assert_int_eq(usp_image_at(here, &image, path, sizeof path), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    ck_assert_int_eq(usp_image_at(here, &image, path, sizeof path), USP_OK);
    ck_assert_uint_ne(image.flags & USP_IMAGE_MAIN, 0);
    ck_assert(here >= image.load_address && here < image.end);
    ck_assert_ptr_eq(image.path, path);
    ck_assert_ptr_nonnull(strstr(path, "test_linux_rules"));
    ck_assert_int_eq(usp_image_at(here, &image, cut, sizeof cut), USP_OK);
    ck_assert_uint_eq(strlen(cut), 3);
    ck_assert_int_eq(strncmp(cut, path, 3), 0);
    ck_assert_int_eq(usp_image_at(8, &image, path, sizeof path), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(usp_image_at(here, NULL, path, sizeof path), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_image_at(here, &image, NULL, sizeof path), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_image_at(here, &image, path, 0), USP_ERROR_ARGUMENT);
}
END_TEST

/* Options that bound a walk must bound it in the same places with kept rules: skipped frames, a full buffer, kept
 * outermost frames, a step limit, a distant deadline; and readers of which no rules are kept. */
START_TEST(options_are_obeyed) {
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    for (unsigned what = 0; what < 8; what++) {
        usp_unwind_options_init(&options);
        switch (what) {
        case 0: options.skip = 5; break;
        case 1: options.skip = 1000; break;
        case 2: options.tail = 4; break;
        case 3: options.tail = 250; break;
        case 4: options.step_limit = 7; break;
        case 5: options.deadline = usp_clock() + UINT64_C(1000000) * MS; break;
        case 6: options.readers = USP_READER_CFI; break;
        default: options.readers = USP_READER_FRAME_RECORD; break;
        }
        descend(20, capture_self_here);
        check_captures(what == 1 ? 0 : 1);
    }
}
END_TEST

/* Captures twice in the library's order of readers, which keeps rules, then in another order: once as a whole, once
 * with spare room. */
KEPT static void capture_in_two_orders_here(void) {
    for (volatile unsigned i = 0; i < 4; i++) {
        usp_unwind_options_init(&options);
        if (i >= 2) options.readers_first = USP_READER_INSTRUCTIONS;
        if (i == 3) options.tail = 1;
        begin_capture(&captures[i]);
        ck_assert_int_eq(usp_capture_self(&options, &captures[i].stack), USP_OK);
    }
    atomic_fetch_add(&standing_sink, 1);
}

static unsigned count_method(const struct captured *c, uint32_t method) {
    unsigned n = 0;
    for (uint32_t i = 0; i < c->stack.count; i++) n += c->frames[i].method == method;
    return n;
}

/* A rule kept in one order of readers must not be used in another order. */
START_TEST(another_order) {
    keep_rules(4096);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    descend(20, capture_in_two_orders_here);
    ck_assert_uint_gt(count_method(&captures[1], USP_FRAME_METHOD_CFI), 0);
    const unsigned before = count_method(&captures[1], USP_FRAME_METHOD_INSTRUCTIONS);
    for (unsigned i = 2; i < 4; i++)
        ck_assert_uint_gt(count_method(&captures[i], USP_FRAME_METHOD_INSTRUCTIONS), before);
}
END_TEST

KEPT static void capture_cut_here(void) {
    for (volatile unsigned i = 0; i < CAPTURES; i++) {
        keep_rules_for(i);
        begin_capture(&captures[i]);
        captures[i].stack.capacity = 1 + i / 3;
        if (i % 3 == 2) captures[i].stack.capacity = 0;
        ck_assert_int_eq(usp_capture_self(&options, &captures[i].stack), USP_OK);
        ck_assert_uint_eq(captures[i].stack.stop, USP_STOP_CAPACITY);
        ck_assert_uint_eq(captures[i].stack.count, captures[i].stack.capacity);
        ck_assert_uint_eq(captures[i].stack.omitted, 1);
    }
    atomic_fetch_add(&standing_sink, 1);
}

START_TEST(few_frames) {
    usp_unwind_options_init(&options);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    descend(20, capture_cut_here);
    /* The next frame's address must be reported, too. */
    ck_assert_uint_eq(captures[0].stack.stop_address, captures[3].frames[1].pc);
    ck_assert_uint_eq(captures[9].stack.stop_address, captures[10].stack.stop_address);
}
END_TEST

static volatile unsigned raised;

static void on_signal(int number, siginfo_t *info, void *context) {
    struct captured *c = &captures[raised];
    (void)number, (void)info;
    begin_capture(c);
    usp_capture_context(context, &options, &c->stack);
}

static void on_signal_self(int number) {
    struct captured *c = &captures[raised];
    (void)number;
    begin_capture(c);
    usp_capture_self(&options, &c->stack);
    atomic_fetch_add(&standing_sink, 1);
}

KEPT static void raise_here(void) {
    for (raised = 0; raised < CAPTURES; raised++) {
        keep_rules_for(raised);
        raise(SIGUSR1);
    }
}

/* After a signal's frame a walk needs other registers than sp and fp, which rules did not restore on the way there. The
 * stack through the handler must be complete all the same. */
START_TEST(through_a_signal) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    usp_unwind_options_init(&options);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    descend(20, raise_here);
    check_captures(22);
    ck_assert_uint_eq(captures[0].stack.stop, USP_STOP_ROOT);
    action = (struct sigaction){.sa_handler = on_signal_self};
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    descend(20, raise_here);
    check_captures(23);
    unsigned signals = 0;
    for (uint32_t i = 0; i < captures[0].stack.count; i++)
        signals += captures[0].frames[i].kind == USP_FRAME_KIND_SIGNAL;
    ck_assert_uint_eq(signals, 1);
}
END_TEST

static sem_t there, may_leave;

KEPT static void wait_here(void) {
    sem_post(&there);
    while (sem_wait(&may_leave) != 0) continue;
    atomic_fetch_add(&standing_sink, 1);
}

static void *descend_and_wait(void *context) {
    descend(20, wait_here);
    return context;
}

/* Captures a waiting thread's copied stack. */
START_TEST(other_thread) {
    pthread_t pthread;
    struct usp_thread thread;
    usp_unwind_options_init(&options);
    keep_rules(0);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    ck_assert(sem_init(&there, 0, 0) == 0 && sem_init(&may_leave, 0, 0) == 0);
    ck_assert_int_eq(pthread_create(&pthread, NULL, descend_and_wait, NULL), 0);
    while (sem_wait(&there) != 0) continue;
    ck_assert_int_eq(usp_thread_from_pthread((uintptr_t)pthread, &thread), USP_OK);
    /* Until the thread waits, its stack differs from capture to capture. */
    for (int state = 0; state != 'S';) {
        struct usp_thread_info infos[16];
        size_t count;
        ck_assert_int_eq(usp_threads(infos, 16, &count), USP_OK);
        for (size_t i = 0; i < count; i++) {
            if (infos[i].thread.id == thread.id) state = (int)infos[i].run_state;
            usp_thread_release(&infos[i].thread);
        }
        usleep(1000);
    }
    for (unsigned i = 0; i < CAPTURES; i++) {
        keep_rules_for(i);
        begin_capture(&captures[i]);
        ck_assert_int_eq(usp_capture_thread(&thread, &options, &captures[i].stack), USP_OK);
    }
    check_captures(22);
    sem_post(&may_leave);
    pthread_join(pthread, NULL);
    usp_thread_release(&thread);
    usp_shutdown();
}
END_TEST

/* ---- no system call ---- */

static unsigned quiet_frames[2];

/* Walks both ways by tables: over certain rules, and by single steps around a signal's frame. */
static void on_signal_quietly(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    for (volatile unsigned round = 0; round < 2; round++) {
        /* Strict seccomp (seccomp(2)): any other system call of this thread than read, write, exit and sigreturn ends
         * the process. */
        if (round == 1 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) syscall(SYS_exit_group, 77);
        begin_capture(&captures[0]);
        usp_capture_context(context, NULL, &captures[0].stack);
        begin_capture(&captures[1]);
        usp_capture_self(NULL, &captures[1].stack);
        quiet_frames[round] = captures[0].stack.count + captures[1].stack.count;
        if (captures[0].stack.stop != USP_STOP_ROOT || captures[1].stack.stop != USP_STOP_ROOT) quiet_frames[round] = 0;
    }
    syscall(SYS_exit, quiet_frames[0] == quiet_frames[1] && quiet_frames[0] > 44 ? 0 : 1);
}

KEPT static void raise_once(void) {
    raise(SIGUSR1);
    atomic_fetch_add(&standing_sink, 1);
}

static int run_quietly(uint32_t rules) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct sigaction action = {.sa_sigaction = on_signal_quietly, .sa_flags = SA_SIGINFO};
        struct usp_prepare_options prepare;
        usp_prepare_options_init(&prepare);
        prepare.kept_rules = rules;
        if (usp_prepare(&prepare) != USP_OK || usp_images_refresh() != USP_OK) _exit(2);
        sigaction(SIGUSR1, &action, NULL);
        descend(20, raise_once);
        _exit(3);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

START_TEST(no_system_call_once_warm) {
    /* Sanitizers and emulators have no such filter, make system calls of their own, or may not end the process. On i386
     * main realigns its stack, which its CFI describes by an expression: such a rule is not kept. */
    if (USP_SANITIZED || is_slowed() || usp_arch_host() == USP_ARCH_I386) return;
    /* Results of the instruction reader are not kept: it reads the code each time. */
    if (!LIBC_HAS_TABLES) return;
    int status = run_quietly(4096);
    ck_assert_msg(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
    ck_assert_msg(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77, "status %d", WEXITSTATUS(status));
    /* Without kept rules the tables are read each time, directly, because these images are never unloaded. */
    int without = run_quietly(0);
    ck_assert_msg(WIFEXITED(without) && WEXITSTATUS(without) == WEXITSTATUS(status),
                  "without kept rules: wait status %#x", (unsigned)without);
}
END_TEST

/* ---- memory usage ---- */

START_TEST(usage) {
    struct usp_capture_usage with, without;
    struct usp_prepare_options prepare;
    usp_prepare_options_init(&prepare);
    ck_assert_uint_eq(prepare.kept_rules, 4096);
    prepare.kept_rules = (1u << 26) + 1;
    ck_assert_int_eq(usp_prepare(&prepare), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_capture_get_usage(NULL), USP_ERROR_ARGUMENT);
    keep_rules(0);
    ck_assert_int_eq(usp_capture_get_usage(&without), USP_OK);
    ck_assert_uint_eq(without.rules, 0);
    /* The copies of all threads, of one thread, and twice 128 pages for text. */
    ck_assert_uint_gt(without.copies, 65 * 65536 + 2 * 128 * 4096);
    keep_rules(1000);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    ck_assert_int_eq(usp_capture_get_usage(&with), USP_OK);
    ck_assert_uint_ge(with.rules, 1024 * 32);
    ck_assert_uint_lt(with.rules, 1024 * 32 + 256);
    ck_assert_uint_gt(with.images, 0);
    ck_assert_uint_gt(with.tables, 0);
    usp_shutdown();
    ck_assert_int_eq(usp_capture_get_usage(&without), USP_OK);
    ck_assert_uint_eq(without.rules, 0);
    ck_assert_uint_eq(without.copies, 0);
}
END_TEST

static void limit_tables(uint64_t limit) {
    struct usp_prepare_options wanted;
    usp_prepare_options_init(&wanted);
    wanted.table_limit = limit;
    ck_assert_int_eq(usp_prepare(&wanted), USP_OK);
}

static struct usp_capture_usage usage_now(void) {
    struct usp_capture_usage now;
    ck_assert_int_eq(usp_capture_get_usage(&now), USP_OK);
    return now;
}

START_TEST(tables_take_no_more_than_they_may) {
    struct usp_prepare_options defaults;
    usp_prepare_options_init(&defaults);
    ck_assert_uint_eq(defaults.table_limit, 64u << 20);
    ck_assert_uint_eq(usage_now().tables, 0);
    limit_tables(defaults.table_limit);
    const uint64_t all = usage_now().tables;
    ck_assert_uint_gt(all, 0);
    ck_assert_uint_le(all, defaults.table_limit);
    /* The registered list is made again. */
    limit_tables(all - 1);
    ck_assert_uint_lt(usage_now().tables, all);
    limit_tables(0);
    ck_assert_uint_eq(usage_now().tables, 0);
    ck_assert_uint_gt(usage_now().images, 0);
    struct captured c;
    begin_capture(&c);
    ck_assert_int_eq(usp_capture_self(NULL, &c.stack), USP_OK);
    for (uint32_t i = 0; i < c.stack.count; i++) ck_assert_uint_lt(c.frames[i].method, USP_FRAME_METHOD_COMPACT);
    limit_tables(all);
    ck_assert_uint_eq(usage_now().tables, all);
    usp_shutdown();
}
END_TEST

/* ---- libraries that are loaded and unloaded ---- */

static char plugins[2][4096];

static bool find_plugins(void) {
    bool found = true;
    for (unsigned i = 0; i < 2; i++) {
        char path[128];
        snprintf(path, sizeof path, "tests/unwind/.libs/linux_frame_plugin_%c.so", 'a' + (int)i);
        found = found && realpath(path, plugins[i]) != NULL;
    }
    return found;
}

static _Thread_local struct captured from_plugin;

static void capture_in_callback(void) {
    begin_capture(&from_plugin);
    usp_capture_self(NULL, &from_plugin.stack);
    atomic_fetch_add(&standing_sink, 1);
}

/* Returns whether the frame after the plugin's is the return address that the plugin reported, and whether the other
 * frames follow. */
static bool is_true(uintptr_t in_plugin, uintptr_t returns_to, uint32_t *caller) {
    const struct usp_stack *s = &from_plugin.stack;
    for (uint32_t i = 0; i + 1 < s->count; i++) {
        if (s->frames[i].pc - in_plugin >= 4096) continue;
        *caller = i + 1;
        return s->frames[i + 1].pc == returns_to && s->stop == USP_STOP_ROOT;
    }
    return false;
}

/* Loads a plugin and captures in its callback, `times` times. Returns false if the stack is wrong. */
KEPT static bool call_plugin(const char *path, uintptr_t *address, unsigned times) {
    void (*call)(void (*)(void), uintptr_t *);
    uintptr_t returns_to = 0;
    bool all_true = true;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    *(void **)&call = dlsym(library, "plugin_call");
    ck_assert(call != NULL);
    *address = (uintptr_t)call;
    for (unsigned i = 0; i < times; i++) {
        uint32_t caller;
        call(capture_in_callback, &returns_to);
        all_true &= is_true(*address & ~(uintptr_t)1, returns_to, &caller);
        if (!all_true) show_stack(&from_plugin.stack);
    }
    dlclose(library);
    return all_true;
}

/* A library takes another one's place without a call of usp_images_refresh: the rules of the first belong to other code
 * and must not be used. */
START_TEST(one_in_the_place_of_another) {
    uintptr_t first, second, again;
    unsigned met = 0;
    if (!find_plugins()) return;
    keep_rules(4096);
    for (unsigned round = 0; round < 20; round++) {
        void *held = dlopen(plugins[0], RTLD_NOW | RTLD_LOCAL);
        ck_assert_ptr_nonnull(held);
        ck_assert_int_eq(usp_images_refresh(), USP_OK);
        ck_assert(call_plugin(plugins[0], &first, 3));
        dlclose(held);
        ck_assert(call_plugin(plugins[1], &second, 3));
        ck_assert(call_plugin(plugins[0], &again, 3));
        met += first == second;
    }
    printf("one library stood where another one was: %u of 20 times\n", met);
}
END_TEST

/* Returns whether an address lies in an image of the list published last, but outside its text. */
static bool is_beside_text(uintptr_t address) {
    uint32_t ticket;
    const struct usp_image *image = usp_images_find(usp_images_acquire(&ticket), address);
    bool is_beside = image != NULL && (address < image->text_low || address >= image->text_high);
    usp_images_release(ticket);
    return is_beside;
}

/* Loads the first plugin `pages` pages below its place when the images were listed, and captures in it. Returns whether
 * its code lies where the list has data, or cannot: loaders align images with a hole to 64 KB (arm64). */
static bool call_moved_plugin(unsigned pages) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct usp_image first;
    char path[4096];
    uintptr_t call;
    /* The second plugin is loaded too, which leaves room below the first. */
    void *above = dlopen(plugins[0], RTLD_NOW | RTLD_LOCAL), *below = dlopen(plugins[1], RTLD_NOW | RTLD_LOCAL);
    ck_assert(above != NULL && below != NULL);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    ck_assert_int_eq(usp_image_at((uintptr_t)dlsym(above, "plugin_call"), &first, path, sizeof path), USP_OK);
    dlclose(above);
    dlclose(below);
    const usp_addr end = (first.end + page - 1) & ~(usp_addr)(page - 1);
    void *taken = mmap((void *)(uintptr_t)(end - pages * page), pages * page, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    ck_assert(taken != MAP_FAILED);
    ck_assert(call_plugin(plugins[0], &call, 3));
    munmap(taken, pages * page);
    return first.hole_size != 0 || is_beside_text(call);
}

/* A capture by the last list took a library's code for the data of another library that had been unloaded, and the
 * stack ended there. */
START_TEST(code_where_a_library_that_is_gone_had_data) {
    unsigned met = 0;
    if (!find_plugins() || !LIBC_UNLOADS) return;
    keep_rules(0);
    for (unsigned pages = 1; pages <= 4; pages++) met += call_moved_plugin(pages);
    printf("code lay in the data of a library that was gone: %u of 4 times\n", met);
    /* Where a sanitizer or an emulator maps memory meanwhile, the place may be taken. */
    ck_assert(met > 0 || is_user_emulated() || USP_SANITIZED);
}
END_TEST

static _Atomic(bool) may_end;
static _Atomic(unsigned) lies, calls;

static void *load_and_capture(void *context) {
    uint64_t state = (uint64_t)(uintptr_t)context;
    while (!atomic_load(&may_end)) {
        uintptr_t address;
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        if (!call_plugin(plugins[state >> 40 & 1], &address, 4)) atomic_fetch_add(&lies, 1);
        atomic_fetch_add(&calls, 1);
    }
    return NULL;
}

static void *descend_and_capture(void *context) {
    static _Thread_local struct captured here;
    uint64_t hash = 0;
    while (!atomic_load(&may_end)) {
        begin_capture(&here);
        usp_capture_self(NULL, &here.stack);
        if (here.stack.stop != USP_STOP_ROOT || (hash != 0 && here.stack.hash != hash)) atomic_fetch_add(&lies, 1);
        hash = here.stack.hash;
        atomic_fetch_add(&calls, 1);
    }
    return context;
}

/* Threads walk while libraries are loaded and unloaded, lists of them are registered, and the rules are discarded and
 * made again. */
START_TEST(a_storm) {
    pthread_t threads[4];
    unsigned rounds = 0;
    if (!find_plugins()) return;
    keep_rules(4096);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    for (uintptr_t i = 0; i < 4; i++) {
        void *(*run)(void *) = i < 2 ? load_and_capture : descend_and_capture;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run, (void *)(i + 1)), 0);
    }
    while (rounds < 40 / stride() || atomic_load(&calls) < 2000 / stride()) {
        rounds++;
        ck_assert_int_eq(usp_images_refresh(), USP_OK);
        if (rounds % 5 == 0) keep_rules(sizes[rounds / 5 % 4]);
        usleep(500);
    }
    atomic_store(&may_end, true);
    for (unsigned i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%u calls, %u lists\n", atomic_load(&calls), rounds);
    ck_assert_uint_eq(lies, 0);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("this process");
    /* 32-bit ARM has other unwind tables. */
    if (usp_arch_host() != USP_ARCH_ARMV7) {
        add_tests(tests, calling_thread, image_at, options_are_obeyed, another_order, few_frames, through_a_signal,
                  other_thread, no_system_call_once_warm, one_in_the_place_of_another,
                  code_where_a_library_that_is_gone_had_data, a_storm);
    }
    add_tests(tests, usage, tables_take_no_more_than_they_may);
    return run_suite("linux_rules", tests);
}
