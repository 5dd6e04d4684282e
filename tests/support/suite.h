/* SPDX-License-Identifier: MIT */
/* What every suite's main needs of Check: adds lists of tests to a case, and runs a suite's cases. Check's own
 * functions set time limits and fixtures. */
#ifndef TESTS_SUPPORT_SUITE_H
#define TESTS_SUPPORT_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Adds tests to a case, in this order. */
#define add_tests(tcase, ...) add_loop_tests((tcase), 0, 1, __VA_ARGS__)

/* Adds tests to a case, each of which runs for every _i from `first` to `end` − 1: first one test for all values, then
 * the next. */
#define add_loop_tests(tcase, first, end, ...)                                                                         \
    suite_add_list((tcase), (first), (end), (const TTest *const[]){__VA_ARGS__, NULL})

/* The number of an array's elements, as the end of a loop over them. */
#define ELEMENTS(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* Runs a suite of these cases, in this order. Returns main's exit status. */
#define run_suite(name, ...) suite_run_list((name), (TCase *const[]){__VA_ARGS__, NULL})

/* Sets Check's time limit for cases that set none: its own, 4 s, is too short where the machine is busy. The limit only
 * ends a test that hangs, so a case sets its own only if it may take longer. */
__attribute__((constructor)) static void suite_set_limit(void) { setenv("CK_DEFAULT_TIMEOUT", "300", 0); }

static inline void suite_add_list(TCase *tcase, int first, int end, const TTest *const *tests) {
    for (; *tests != NULL; tests++) tcase_add_loop_test(tcase, *tests, first, end);
}

static inline int suite_run_list(const char *name, TCase *const *cases) {
    Suite *suite = suite_create(name);
    for (; *cases != NULL; cases++) suite_add_tcase(suite, *cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
