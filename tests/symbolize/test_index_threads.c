/* SPDX-License-Identifier: MIT */
/* Tests on how many threads an index is made: machines with any number of processors, and with too few threads, are
 * scripted (-Wl,--wrap). The bytes of the index must not depend on it. */
#include "tests/support/dwarf_index.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>

#define UNITS 200u
/* At most as many threads as `unspool index --threads` takes, with the caller's. */
#define CREATED_MAX 63

static long processors = 1; /* what the system says */
static unsigned allowed;    /* how many threads the system creates */
static unsigned created, joined;
static bool is_scripted;

long __real_sysconf(int name);
long __wrap_sysconf(int name);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context);
int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);

long __wrap_sysconf(int name) {
    return is_scripted && name == _SC_NPROCESSORS_ONLN ? processors : __real_sysconf(name);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context) {
    if (!is_scripted) return __real_pthread_create(thread, attributes, run, context);
    if (created >= allowed) return EAGAIN;
    const int status = __real_pthread_create(thread, attributes, run, context);
    created += status == 0;
    return status;
}

int __wrap_pthread_join(pthread_t thread, void **result) {
    joined += is_scripted;
    return __real_pthread_join(thread, result);
}

static void open_units(void) {
    begin();
    for (unsigned i = 0; i < UNITS; i++) {
        char file[32], function[32];
        snprintf(file, sizeof file, "file%u.c", i);
        snprintf(function, sizeof function, "function%u", i);
        put_unit(file, CODE_LOW + 0x20 * i, 0x20, function, CODE_LOW + 0x20 * i, 0x20);
    }
    open_source();
}

/* A number of processors, how many threads can be created, how many the caller wants (0: as many as processors), and
 * how many are created. */
static const struct {
    long processors;
    unsigned allowed, wanted, created;
} machines[] = {
    {1, UINT_MAX, 0, 0},
    {2, UINT_MAX, 0, 1},
    {63, UINT_MAX, 0, 62},
    {64, UINT_MAX, 0, CREATED_MAX},
    {65, UINT_MAX, 0, CREATED_MAX},
    {128, UINT_MAX, 0, CREATED_MAX},
    {LONG_MAX, UINT_MAX, 0, CREATED_MAX},
    {(long)UINT_MAX + 2, UINT_MAX, 0, sizeof(long) > 4 ? CREATED_MAX : 0}, /* 1 in 32 bits */
    {0, UINT_MAX, 0, 0},
    {-1, UINT_MAX, 0, 0}, /* the system does not know */
    {128, 5, 0, 5},
    {128, 0, 0, 0},
    {1, UINT_MAX, 4, 3},
    {1, UINT_MAX, 64, CREATED_MAX},
};

START_TEST(index_on_any_machine) {
    open_units();
    struct builder expected = make_index(1);
    processors = machines[_i].processors;
    allowed = machines[_i].allowed;
    created = joined = 0;
    is_scripted = true;
    struct builder b = make_index(machines[_i].wanted);
    is_scripted = false;
    ck_assert_uint_eq(created, machines[_i].created);
    ck_assert_uint_eq(joined, created);
    ck_assert_uint_gt(b.size, UNITS * 16);
    ck_assert_uint_eq(b.size, expected.size);
    ck_assert_mem_eq(b.bytes, expected.bytes, b.size);
    builder_free(&b);
    builder_free(&expected);
    close_source();
}
END_TEST

int main(void) {
    TCase *threads = tcase_create("threads");
    add_loop_tests(threads, 0, ELEMENTS(machines), index_on_any_machine);
    return run_suite("index threads", threads);
}
