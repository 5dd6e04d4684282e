/* SPDX-License-Identifier: MIT */
/* usp_shutdown gives back all that usp_prepare and captures acquired: memory, mappings, descriptors, threads, handlers
 * and the capturing state. After usp_prepare, captures give the same stacks as before. */
#include "tests/support/failing_alloc.h"
#include "tests/support/linux_child.h"
#include "tests/support/linux_threads.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"

#include "lib/capture/state.h"
#include "lib/os/linux/capturing.h"

#include <fcntl.h>
#include <signal.h>

#define FRAMES  256u
#define SIGNALS 64
/* All flags of an action but the kernel's SA_RESTORER, which libc adds when it installs one. */
#define FLAGS (SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | (int)SA_RESETHAND | SA_NOCLDSTOP | SA_NOCLDWAIT)
/* More than all other mappings that come and go. */
#define THREADS 256u
#define COPY    262144u

/* As they are before anything is prepared. */
static struct uspi_capture_state first_state;
static struct sigaction first_actions[SIGNALS + 1];
static long first_allocations;

/* ---- what the process has ---- */

static unsigned count_threads(void) {
    unsigned n = 0;
    DIR *d = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(d);
    while (readdir(d) != NULL) n++;
    closedir(d);
    return n;
}

/* Returns the bytes of all mappings except the heap and the first stack, which grow by themselves. */
static uint64_t count_mapped(void) {
    static char text[1 << 18];
    size_t n = 0;
    uint64_t bytes = 0;
    int fd = open("/proc/self/maps", O_RDONLY);
    ck_assert_int_ge(fd, 0);
    for (ssize_t got; (got = read(fd, text + n, sizeof text - 1 - n)) > 0;) n += (size_t)got;
    close(fd);
    ck_assert_uint_lt(n, sizeof text - 1);
    text[n] = '\0';
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        unsigned long long low, high;
        if (strstr(line, "[heap]") != NULL || strstr(line, "[stack]") != NULL) continue;
        ck_assert_int_eq(sscanf(line, "%llx-%llx", &low, &high), 2);
        bytes += high - low;
    }
    return bytes;
}

static void note_first(void) {
    first_state = uspi_capture_state;
    for (int i = 1; i <= SIGNALS; i++) sigaction(i, NULL, &first_actions[i]);
    first_allocations = allocations_held();
}

/* ---- use ---- */

struct walked {
    struct usp_stack stack;
    struct usp_frame frames[FRAMES];
};

static void prepare(uint32_t max_threads, uint32_t stack_copy) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.max_threads = max_threads;
    options.stack_copy = stack_copy;
    options.timeout = patience();
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
}

/* Captures in all ways. Gives the stack of `thread`. */
static void capture_all(const struct parked *thread, struct walked *walked) {
    static void *addresses[FRAMES];
    static struct walked own;
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    usp_stack_init(&walked->stack, walked->frames, FRAMES);
    ck_assert_int_eq(usp_capture_thread(&thread->thread, NULL, &walked->stack), USP_OK);
    expect_standing(thread, &walked->stack);
    usp_stack_init(&own.stack, own.frames, FRAMES);
    ck_assert_int_eq(usp_capture_self(NULL, &own.stack), USP_OK);
    ck_assert_int_ge(usp_backtrace(addresses, FRAMES), 0);
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
    usp_snapshot_free(snapshot);
    /* Makes the default symbolizer and demangler. */
    ck_assert_str_eq(usp_address_name((const char *)(uintptr_t)usp_stack_init + 1), "usp_stack_init");
}

static void expect_equal(const struct walked *a, const struct walked *b) {
    ck_assert_uint_eq(a->stack.count, b->stack.count);
    ck_assert_uint_eq(a->stack.stop, b->stack.stop);
    for (uint32_t i = 0; i < a->stack.count; i++) {
        ck_assert_uint_eq(a->frames[i].pc, b->frames[i].pc);
        ck_assert_uint_eq(a->frames[i].cfa, b->frames[i].cfa);
        ck_assert_uint_eq(a->frames[i].method, b->frames[i].method);
    }
}

/* ---- what must be left ---- */

static void expect_no_usage(void) {
    static const struct usp_capture_usage none;
    struct usp_capture_usage usage;
    ck_assert_int_eq(usp_capture_get_usage(&usage), USP_OK);
    ck_assert_mem_eq(&usage, &none, sizeof usage);
    ck_assert_int_eq(allocations_held(), first_allocations);
}

static void expect_first_actions(void) {
    for (int i = 1; i <= SIGNALS; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) != 0) continue;
        ck_assert_int_eq(action.sa_flags & FLAGS, first_actions[i].sa_flags & FLAGS);
        ck_assert_ptr_eq(*(void **)&action.sa_handler, *(void **)&first_actions[i].sa_handler);
    }
}

/* Checks the state of captures, except addresses of roots past their number. */
static void expect_first_capture_state(void) {
    const struct uspi_capture_state *s = &uspi_capture_state;
    for (unsigned i = 1; i < USPI_CALL_SITES; i++) ck_assert_uint_eq(s->call_sites[i], 0);
    /* 0 is not a return address, so its place has another value since the first walk. */
    ck_assert_uint_eq(s->call_sites[0], UINTPTR_MAX);
    ck_assert_uint_eq(s->signal_return, 0);
    for (unsigned i = 0; i < USPI_TEXT_PAGES; i++) ck_assert_ptr_null(s->text_pages[i]);
    ck_assert_ptr_null(s->code.rules);
    ck_assert(!s->code.are_used);
    ck_assert_uint_eq(s->code.table_limit, first_state.code.table_limit);
    ck_assert_uint_eq(s->code.lock.holder, 0);
    ck_assert_uint_eq(s->roots.count, 0);
    ck_assert(!s->roots.main_known && !s->roots.threads_known);
    ck_assert_uint_eq(s->roots.lock.holder, 0);
    for (unsigned i = 0; i < USPI_DEFAULTS; i++)
        ck_assert(s->defaults[i].object == NULL && s->defaults[i].kind == NULL);
}

/* Checks the system's state, except what capturing.h says stays. */
static void expect_first_system_state(void) {
    const struct uspi_capturing *c = &uspi_capturing;
    ck_assert(!c->is_prepared && c->signal == 0 && c->places == 0);
    ck_assert(c->timeout == 0 && c->max_threads == 0 && c->stack_copy == 0);
    ck_assert(c->changes.word == 0 && c->snapshots.word == 0);
    for (unsigned i = 0; i < USPI_REQUESTS; i++) {
        ck_assert(c->asked[i] == 0 && c->owners[i] == 0);
        ck_assert_ptr_null(c->requests[i]);
    }
    for (unsigned i = 0; i < USPI_HANDLER_GROUPS; i++) ck_assert_uint_eq(c->handlers[i], 0);
    ck_assert_ptr_null(c->retired);
    ck_assert_uint_eq(c->mapped, 0);
    for (unsigned i = 0; i < USPI_REMEMBERED; i++) ck_assert_int_eq(c->unanswering[i], 0);
}

/* Memory that a handler may still use is kept, and on a busy machine a handler may wait for a processor. Each further
 * call looks again, until Check's timeout. */
static void shut_down(void) {
    usp_shutdown();
    while (atomic_load(&uspi_capturing.retired) != NULL) {
        usleep(1000);
        usp_shutdown();
    }
    expect_no_usage();
    expect_first_actions();
    expect_first_capture_state();
    expect_first_system_state();
    ck_assert(!usp_is_prepared());
}

START_TEST(nothing_is_left) {
    static struct walked small, large;
    struct usp_capture_usage usage;
    struct parked s = {.depth = 20, .wait = wait_asleep};
    stand_begin(&s);
    note_first();
    /* libc keeps the stacks of the threads that found the roots, for the next threads. */
    prepare(1, 4096);
    capture_all(&s, &small);
    shut_down();
    const unsigned files = count_open_files(), threads = count_threads();
    const uint64_t mapped = count_mapped();
    for (unsigned i = 0; i < 3; i++) {
        prepare(THREADS, COPY);
        capture_all(&s, &large);
        ck_assert_int_eq(usp_capture_get_usage(&usage), USP_OK);
        ck_assert_uint_ge(usage.copies, (uint64_t)THREADS * COPY);
        ck_assert(usage.images > 0 && usage.tables > 0 && usage.rules > 0);
        ck_assert_int_gt(allocations_held(), first_allocations);
        shut_down();
        expect_equal(&small, &large);
        ck_assert_uint_eq(count_open_files(), files);
        ck_assert_uint_eq(count_threads(), threads);
        /* Sanitizers and emulators map memory of their own. musl may give back a page that it had before. */
        if (USP_SANITIZED || is_user_emulated()) continue;
#ifdef __GLIBC__
        ck_assert_uint_eq(count_mapped(), mapped);
#else
        ck_assert_uint_le(count_mapped(), mapped);
#endif
    }
    stand_end(&s);
}
END_TEST

/* In the child of a fork too, which inherits the parent's state. */
START_TEST(nothing_is_left_in_a_child) {
    static struct walked walked;
    struct parked s = {.depth = 3, .wait = wait_asleep}, in_child = s;
    /* qemu ends a child that begins threads after a fork: "cpu_exec: assertion failed". */
    if (is_user_emulated()) return;
    stand_begin(&s);
    note_first();
    prepare(1, 4096);
    capture_all(&s, &walked);
    fflush(NULL);
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        stand_begin(&in_child);
        capture_all(&in_child, &walked);
        shut_down();
        prepare(1, 4096);
        capture_all(&in_child, &walked);
        shut_down();
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    /* The parent is still prepared. */
    capture_all(&s, &walked);
    shut_down();
    stand_end(&s);
}
END_TEST

START_TEST(shutdown_without_prepare) {
    note_first();
    shut_down();
    shut_down();
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all");
    add_tests(all, nothing_is_left, nothing_is_left_in_a_child, shutdown_without_prepare);
    return run_suite("shutdown", all);
}
