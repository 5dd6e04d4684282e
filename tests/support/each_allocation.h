/* SPDX-License-Identifier: MIT */
/* Lets each allocation of a piece of work fail in turn. For programs that failing_alloc.h is for. */
#ifndef TESTS_SUPPORT_EACH_ALLOCATION_H
#define TESTS_SUPPORT_EACH_ALLOCATION_H

#include "tests/support/failing_alloc.h"

#include <unspool/base.h>

#include <check.h>

/* Calls `use` again and again, and lets another of its allocations fail each time, until none is left to fail. Each
 * time `use` must give back all memory, and return USP_ERROR_NO_MEMORY or USP_OK; without a failure USP_OK.
 *   least  the number of allocations that it makes at least
 *   dense  so many allocations fail one by one, of the later ones every 17th; 0: all fail one by one */
static inline void fail_each_allocation(int (*use)(void *context), void *context, long least, long dense) {
    const long held = allocations_held();
    for (long n = 1;; n += dense != 0 && n >= dense ? 17 : 1) {
        fail_allocation(n);
        int status = use(context);
        bool has_failed = !allocation_still_to_fail();
        fail_allocation(0);
        ck_assert_msg(allocations_held() == held, "allocation %ld: %ld are left", n, allocations_held() - held);
        if (!has_failed) {
            ck_assert_int_eq(status, USP_OK);
            ck_assert_int_gt(n, least);
            return;
        }
        ck_assert_msg(status == USP_ERROR_NO_MEMORY || status == USP_OK, "allocation %ld: %s", n,
                      usp_status_string(status));
    }
}

#endif
