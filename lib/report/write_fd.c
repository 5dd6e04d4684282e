/* SPDX-License-Identifier: MIT */
/* Implements usp_write_fd. A file of its own, so that a program that uses it is linked without symbolication. */
#include "lib/os/os.h"

#include <unspool/format.h>

int usp_write_fd(void *context, const char *bytes, size_t n) {
    if (context == NULL || (bytes == NULL && n > 0)) return USP_ERROR_ARGUMENT;
    return uspi_os_write(*(const int *)context, bytes, n);
}
