/* SPDX-License-Identifier: MIT */
/* A program that uses the installed library: the umbrella header, one call of each kind. The lane distcheck compiles it
 * as C99 and as C++11, links it shared and static, and runs it. */
#include <stdio.h>
#include <string.h>

#include <unspool/unspool.h>

int main(void) {
    void *addresses[16];
    char expected[32];
    int count = usp_backtrace(addresses, 16);

    (void)snprintf(expected, sizeof expected, "%d.%d.%d", USP_VERSION_MAJOR, USP_VERSION_MINOR, USP_VERSION_PATCH);
    if (strcmp(usp_version_string(), expected) != 0) {
        fprintf(stderr, "library %s, header %s\n", usp_version_string(), expected);
        return 1;
    }
    if (count < 0 || (count == 0 && usp_arch_host() != USP_ARCH_NONE)) {
        fprintf(stderr, "no stack: %d\n", count);
        return 1;
    }
    printf("unspool %s: %d addresses\n", usp_version_string(), count);
    return 0;
}
