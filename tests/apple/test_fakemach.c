/* SPDX-License-Identifier: MIT */
/* The Darwin layer against a scripted kernel (fakemach/): every capture function, that the window between the first
 * suspension and the last resumption holds nothing but calls to the kernel, and that whatever fails leaves nothing behind.
 * FIELD-FAILURES 1, 2, 3, 4, 5, 11, 15, 16, 18, 20, 21, 22, 26. */
#include "tests/apple/fakemach/stacks.h"

#include <malloc.h>

int main(void) {
    Suite *s = suite_create("the Darwin layer on a scripted kernel");
    /* Thousands of runs: the kernel is not asked for each one's memory. */
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    suite_add_tcase(s, case_of_calls());
    suite_add_tcase(s, case_of_queues());
    suite_add_tcase(s, case_of_images());
    suite_add_tcase(s, case_of_signals());
    suite_add_tcase(s, case_of_sigframes());
    suite_add_tcase(s, case_of_faults());
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
