/* SPDX-License-Identifier: MIT */
/* The Darwin layer against a scripted kernel (fakemach/): every capture function, that the window between the first
 * suspension and the last resumption holds nothing but calls to the kernel, and that whatever fails leaves nothing behind. */
#include "tests/apple/fakemach/stacks.h"
#include "tests/support/suite.h"

#include <malloc.h>

int main(void) {
#ifdef M_MMAP_THRESHOLD
    /* Thousands of runs: the kernel is not asked for each one's memory. */
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
    return run_suite("the Darwin layer on a scripted kernel", case_of_calls(), case_of_queues(), case_of_images(),
                     case_of_signals(), case_of_sigframes(), case_of_watched(), case_of_faults());
}
