/* SPDX-License-Identifier: MIT */
/* For tests/crash/kit.sh: a library that is loaded after the crash kit was installed, and crashes. */
void crash_in_library(void);
void crash_in_library(void) {
    volatile int *volatile nowhere = 0;
    *nowhere = 1;
}
