/* SPDX-License-Identifier: MIT */
/* Opens files that other users' programs write, component by component from a folder. */
#ifndef USPI_OS_POSIX_JIT_FILE_H
#define USPI_OS_POSIX_JIT_FILE_H

#include "lib/os/os.h"

/* Opens a folder or file in the open folder `folder`. Its name is the first component of `name`, which ends at a slash
 * or at the string's end. Symbolic links are refused. Returns a descriptor or a negative status. */
int uspi_posix_open_part(int folder, const char *name, bool is_folder);

/* Makes *file from an open descriptor, which must be of a regular file that belongs to root or to one of two users.
 * Returns USP_OK, or closes the descriptor and returns USP_ERROR_PERMISSION, USP_ERROR_FORMAT or USP_ERROR_SYSTEM. */
int uspi_posix_take_jit_file(int descriptor, int64_t user, int64_t other, struct uspi_os_file *file);

#endif
