/* SPDX-License-Identifier: MIT */
/* The hang monitors of doc/examples do not take a process that was suspended for one that hangs: FIELD-FAILURES 19. */
#include <check.h>

#include "doc/examples/patience.h"
#include "tests/support/suite.h"

#define TICK  UINT64_C(50)
#define LIMIT UINT64_C(200)

static struct patience monitor;
static uint64_t now;

static void begin(void) {
    now = 1000;
    monitor = (struct patience){.tick = TICK, .limit = LIMIT, .then = now};
}

/* After so long the monitor looks, and has heard so many beats altogether. */
static bool look(uint64_t later, unsigned beat) {
    now += later;
    return patience_ends(&monitor, now, beat);
}

START_TEST(a_hang) {
    ck_assert(!look(TICK, 1));
    for (unsigned i = 0; i < 3; i++) ck_assert(!look(TICK, 1));
    ck_assert(look(TICK, 1));
    /* The next one has to last as long again. */
    for (unsigned i = 0; i < 3; i++) ck_assert(!look(TICK, 1));
    ck_assert(look(TICK, 1));
}
END_TEST

START_TEST(a_thread_that_answers) {
    for (unsigned i = 1; i < 100; i++) ck_assert(!look(TICK, i / 3));
}
END_TEST

/* However long no thread ran, and whatever was waited for before. */
START_TEST(a_process_that_was_suspended) {
    static const uint64_t away[] = {5 * TICK, LIMIT, 1000 * LIMIT, UINT64_C(1) << 60};
    for (unsigned i = 0; i < sizeof away / sizeof *away; i++) {
        for (unsigned silent = 0; silent < 3; silent++) {
            begin();
            for (unsigned k = 0; k < silent; k++) ck_assert(!look(TICK, 0));
            ck_assert(!look(away[i] + TICK, 0));
            /* The main thread goes on as late as the monitor does. */
            for (unsigned k = 0; k < 3; k++) ck_assert(!look(TICK, 0));
            ck_assert(!look(TICK, 1));
        }
    }
}
END_TEST

/* A busy machine makes a monitor somewhat late: a hang is one all the same. */
START_TEST(a_monitor_that_is_late) {
    ck_assert(!look(3 * TICK, 0));
    ck_assert(look(3 * TICK, 0));
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, begin, NULL);
    add_tests(all, a_hang, a_thread_that_answers, a_process_that_was_suspended, a_monitor_that_is_late);
    return run_suite("patience", all);
}
