/* SPDX-License-Identifier: MIT */
/* Opening files that other users' programs write, step by step from a folder. */
#ifndef USPI_POSIX_JIT_FILE_H
#define USPI_POSIX_JIT_FILE_H

#include "lib/os/os.h"

/* Opens the folder or file `name` in the open folder `folder` (`name` may be longer than its first part, which ends at a slash
 * or the string's end). Symbolic links are refused. Returns a descriptor or a negative status. */
int uspi_posix_open_part(int folder, const char *name, bool is_folder);

/* Makes *file of an open descriptor, which is closed on failure: a regular file that belongs to root or one of two users. */
int uspi_posix_take_jit_file(int descriptor, int64_t user, int64_t other, struct uspi_os_file *file);

#endif
