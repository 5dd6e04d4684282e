/* SPDX-License-Identifier: MIT */
/* What runs a test program, by the environment's USP_TEST_UNDER: nothing (unset), "valgrind", "kernel" (the emulated
 * machine of tests/kernel/), or the whole command of a user-mode emulator ("qemu-arm -L …"). Each of them makes
 * everything many times slower. */
#ifndef TESTS_SUPPORT_UNDER_H
#define TESTS_SUPPORT_UNDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/sanitized.h"

static inline const char *test_under(void) {
    const char *under = getenv("USP_TEST_UNDER");
    return under != NULL ? under : "";
}

static inline bool is_slowed(void) { return test_under()[0] != '\0'; }

/* Linux on an emulated processor, which has the largest possible vector registers. */
static inline bool is_on_emulated_kernel(void) { return strcmp(test_under(), "kernel") == 0; }

static inline bool is_user_emulated(void) { return strncmp(test_under(), "qemu-", 5) == 0; }

/* The step from one input to the next, if a test has many of one kind. All of them are tried where nothing slows the
 * test. Elsewhere only the host differs, and a part of them shows that, as in lanes that set USP_TEST_PART. The step is
 * not a power of two, so that no kind of field is left out. */
static inline unsigned stride(void) { return is_slowed() || USP_SANITIZED || getenv("USP_TEST_PART") != NULL ? 7 : 1; }

/* The size of tests, by the environment's USP_TEST_SCALE: 0, which is the default, runs a sample of the large tests,
 * and 1 runs them at their full size. A larger number multiplies repetitions and durations. */
static inline unsigned test_size(void) {
    const char *text = getenv("USP_TEST_SCALE");
    return text != NULL && atoi(text) > 0 ? (unsigned)atoi(text) : 0;
}

/* By how much a test multiplies its full size; also 1 where it runs a sample. */
static inline unsigned test_scale(void) { return test_size() > 0 ? test_size() : 1; }

/* Returns `sample` where the large tests run a sample, else `full`. */
static inline unsigned sampled(unsigned sample, unsigned full) { return test_size() == 0 ? sample : full; }

/* The step of `stride` for a large test, which tries a part of its inputs when it runs a sample. */
static inline unsigned sampled_stride(void) { return sampled(7, stride()); }

/* For the main function of a large test: prints the line by which `make check` counts the samples. */
static inline void note_sample(void) {
    if (test_size() > 0) return;
    puts("sample: this test ran a part of its full size");
    fflush(stdout);
}

/* How long a test waits for something that must happen, from the time where nothing slows it. */
static inline uint64_t scaled_timeout(uint64_t ns) { return is_slowed() ? 10 * ns : ns; }

/* The timeout (ns) of what must succeed. It is longer than any thread of a busy machine waits for a processor, and shorter
 * than Check's time limit, also under an emulator. */
static inline uint64_t patience(void) { return UINT64_C(1000000000) * (is_slowed() ? 200 : 60); }

/* How often a test looks again for what must happen, with a pause of a millisecond before each look. */
#define PATIENT_LOOKS 60000u

/* Like execv, for a program of the emulated processor: runs it in the same emulator, because the system may not know of
 * it. Returns only if it fails. */
static inline void exec_under(const char *const arguments[]) {
    static char words[1024];
    const char *all[32];
    unsigned n = 0;
    if (is_user_emulated()) {
        char *rest;
        strncpy(words, test_under(), sizeof words - 1);
        for (char *word = strtok_r(words, " ", &rest); word != NULL && n < 16; word = strtok_r(NULL, " ", &rest)) {
            all[n++] = word;
        }
    }
    for (unsigned i = 0; arguments[i] != NULL && n < 31; i++) all[n++] = arguments[i];
    all[n] = NULL;
    char **as_exec_wants;
    const char *const *given = all;
    memcpy(&as_exec_wants, &given, sizeof given);
    execvp(all[0], as_exec_wants);
}

#endif
