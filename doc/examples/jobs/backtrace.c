/* SPDX-License-Identifier: MIT */
/* Captures return addresses, which takes less than a microsecond, and names them later. */
#include <stdio.h>
#include <unspool/unspool.h>

int main(void) {
    void *addresses[64];
    usp_prepare(NULL); /* once: then the stack is whole without frame pointers too */
    int n = usp_backtrace(addresses, 64);
    for (int i = 0; i < n; i++) {
        const char *name = usp_address_name((char *)addresses[i] - 1);
        printf("%p %s\n", addresses[i], name != NULL ? name : "?");
    }
    return 0;
}
