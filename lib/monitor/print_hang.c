/* SPDX-License-Identifier: MIT */
/* Implements usp_print_hang. A file of its own, so that a program that only writes hangs is linked without the default
 * symbolizer. */
#include <unspool/monitor.h>

void usp_print_hang(void *context, const struct usp_hang *hang) {
    struct usp_hang_write_options options;
    int fd = context != NULL ? *(const int *)context : 2;
    usp_hang_write_options_init(&options);
    options.flags = USP_HANG_LINES;
    options.symbolizer = usp_symbolizer_default();
    /* Without memory for them, names stay mangled or are missing. */
    (void)usp_demangler_create(USP_DEMANGLE_FULL, &options.demangler);
    (void)usp_hang_write(hang, &options, usp_write_fd, &fd);
    usp_demangler_free(options.demangler);
}
