/* SPDX-License-Identifier: MIT */
/* Tests that the hash of bytes spreads names that differ in few characters, as functions and files of a program do, over
 * the slots of a table of which half is used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "tests/support/suite.h"

#define NAMES 1000
#define SLOTS 2048

/* Puts names into a table with open addressing. Returns how many slots were passed on the way. */
static size_t slots_passed(const char *form, int first) {
    unsigned char *taken = calloc(SLOTS, 1);
    size_t passed = 0;
    ck_assert_ptr_nonnull(taken);
    for (int n = 0; n < NAMES; n++) {
        char name[80];
        const int length = snprintf(name, sizeof name, form, first + n);
        size_t at = (size_t)uspi_hash_bytes(name, (size_t)length) & (SLOTS - 1);
        for (; taken[at] != 0; at = (at + 1) & (SLOTS - 1)) passed++;
        taken[at] = 1;
    }
    free(taken);
    return passed;
}

/* With a hash that is random, a name passes half a slot on the average. */
START_TEST(names_are_spread) {
    static const char *const forms[] = {"%08d",
                                        "app1_f%d",
                                        "f%x",
                                        "function_%d",
                                        "%dsuite",
                                        "-[View%d draw:]",
                                        "_ZN4core3fmt9Formatter%dpadE",
                                        "/usr/lib/libsystem_%d.dylib",
                                        "/usr/lib/abcde%d.dylib"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const size_t passed = slots_passed(forms[i], 100);
        ck_assert_msg(passed < NAMES, "%s: %zu", forms[i], passed);
    }
}
END_TEST

/* The length counts: a name is not that of a longer one with zero bytes. */
START_TEST(lengths_differ) {
    static const char zeros[32] = "";
    for (size_t a = 0; a < sizeof zeros; a++) {
        for (size_t b = 0; b < a; b++) ck_assert(uspi_hash_bytes(zeros, a) != uspi_hash_bytes(zeros, b));
    }
    ck_assert(uspi_hash_bytes("abcdefgh1", 9) != uspi_hash_bytes("abcdefgh2", 9));
    ck_assert_uint_eq(uspi_hash_bytes("name\0x", 4), uspi_hash_bytes("name\0y", 4));
}
END_TEST

int main(void) {
    TCase *tcase = tcase_create("hash");
    add_tests(tcase, names_are_spread, lengths_differ);
    return run_suite("hash", tcase);
}
