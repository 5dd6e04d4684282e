/* SPDX-License-Identifier: MIT */
/* Opens files of another process below that process's own root. */
#ifndef USPI_OS_LINUX_IN_ROOT_H
#define USPI_OS_LINUX_IN_ROOT_H

#include <stdbool.h>
#include <stdint.h>

/* Opens the regular file that a process (0: this one) finds at a path, for reading. Symbolic links and ".." are
 * resolved as the process resolves them, and never lead out of its root. `follows_links` false: links are refused.
 * Before Linux 5.6, or where a filter forbids openat2, the links are resolved here (lib/os/posix/below.h). Returns a
 * descriptor, or USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION, USP_ERROR_FORMAT (not a regular file), USP_ERROR_SYSTEM,
 * USP_ERROR_NO_MEMORY. */
int uspi_linux_open_in_root(int64_t pid, const char *path, bool follows_links);

#endif
