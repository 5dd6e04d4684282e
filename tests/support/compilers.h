/* SPDX-License-Identifier: MIT */
/* Compilers that tests run. If one is missing, the tests that need it are left out. In the lane that has all of them
 * (USP_REQUIRE_COMPILERS), a missing one is a failure. */
#ifndef TESTS_SUPPORT_COMPILERS_H
#define TESTS_SUPPORT_COMPILERS_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline bool is_installed(const char *program) {
    char command[256];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
    return system(command) == 0;
}

static inline bool leave_out(const char *what, const char *without) {
    printf("%s: left out, because %s is not here, or not all that it needs\n", what, without);
    ck_assert_msg(getenv("USP_REQUIRE_COMPILERS") == NULL, "%s: %s is not here, or not all that it needs", what,
                  without);
    return false;
}

/* Whether a compiler links programs with these flags: it may be installed without its libc. Writes to `file`. */
static inline bool makes_programs(const char *compiler, const char *flags, const char *file) {
    char command[2048];
    snprintf(
        command, sizeof command,
        "echo '#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }' | %s %s -x c -o '%s' - >/dev/null 2>&1",
        compiler, flags, file);
    return is_installed(compiler) && system(command) == 0;
}

#endif
