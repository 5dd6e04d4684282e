/* SPDX-License-Identifier: MIT */
/* Implements usp_print_profile. A file of its own, so that a program that only writes profiles is linked without the
 * default symbolizer. */
#include <unspool/profile.h>

int usp_print_profile(int fd, struct usp_profile *profile, uint32_t format) {
    struct usp_profile_write_options options;
    usp_profile_write_options_init(&options);
    options.format = format;
    options.flags = USP_PROFILE_LINES;
    options.symbolizer = usp_symbolizer_default();
    if (options.symbolizer == NULL) return USP_ERROR_NO_MEMORY;
    int status = usp_demangler_create(USP_DEMANGLE_FULL, &options.demangler);
    if (status == USP_OK) status = usp_profile_write(profile, &options, usp_write_fd, &fd);
    usp_demangler_free(options.demangler);
    return status;
}
