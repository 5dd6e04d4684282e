/* SPDX-License-Identifier: MIT */
/* Example on the manual page usp_backtrace(3). */
#include <stdio.h>
#include <unspool/capture.h>

int main(void) {
    void *addresses[64];
    int n = usp_backtrace(addresses, 64);

    for (int i = 0; i < n; i++) printf("%d %p\n", i, addresses[i]);
    return 0;
}
