/* SPDX-License-Identifier: MIT */
/* Opens files below a folder whose links must not lead out of it: as uspi_os_open_below (os.h) does, for systems whose
 * kernel cannot. */
#ifndef USPI_OS_POSIX_BELOW_H
#define USPI_OS_POSIX_BELOW_H

/* Opens a path component by component. Links and ".." are refused. Returns a descriptor, or USP_ERROR_NOT_FOUND,
 * USP_ERROR_PERMISSION, USP_ERROR_FORMAT (not a regular file), USP_ERROR_SYSTEM. */
int uspi_posix_walk(int root, const char *path);

/* The same, but links and ".." are resolved as if the folder was the root of all files. Other result:
 * USP_ERROR_NO_MEMORY. */
int uspi_posix_open_below(int root, const char *path);

#endif
