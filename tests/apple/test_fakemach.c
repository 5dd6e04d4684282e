/* SPDX-License-Identifier: MIT */
/* Tests the Darwin layer on a scripted kernel (fakemach/): every capture function. The window between the first
 * suspension and the last resumption may contain only calls to the kernel, and failures must leave nothing behind. */
#include "lib/unwind/readers/kinds.h"
#include "tests/apple/fakemach/stacks.h"
#include "tests/support/suite.h"

#include <malloc.h>

int main(void) {
    uspi_read_all_tables(); /* the library is this host's, the images are Mach-O */
#ifdef M_MMAP_THRESHOLD
    /* Keeps malloc from mapping memory for each of thousands of runs. */
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
    return run_suite("the Darwin layer on a scripted kernel", case_of_calls(), case_of_queues(), case_of_images(),
                     case_of_signals(), case_of_sigframes(), case_of_watched(), case_of_faults(), case_of_crashes(),
                     case_of_locks(), case_of_exceptions());
}
