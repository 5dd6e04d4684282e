/* SPDX-License-Identifier: MIT */
/* Chooses the operating system's folder that is compiled. Every file of lib/os/linux and lib/os/darwin, lib/os/none.c
 * and lib/os/no_other.c includes this first, and is empty when it is not for the chosen system. So a build without
 * configure can compile all of them.
 *
 * The compiler's target decides, unless the build defines USPI_OS as one of the three values. configure does so
 * (--with-os), and so do the tests that run the Darwin layer on Linux. */
#ifndef USPI_OS_WHICH_H
#define USPI_OS_WHICH_H

#define USPI_OS_NONE   0
#define USPI_OS_LINUX  1
#define USPI_OS_DARWIN 2

#ifndef USPI_OS
#if defined(__APPLE__)
#define USPI_OS USPI_OS_DARWIN
#elif defined(__linux__)
#define USPI_OS USPI_OS_LINUX
#else
#define USPI_OS USPI_OS_NONE
#endif
#endif

/* ISO C requires a declaration in every file, even in one that is otherwise empty. */
_Static_assert(USPI_OS >= USPI_OS_NONE && USPI_OS <= USPI_OS_DARWIN, "USPI_OS is USPI_OS_NONE, _LINUX or _DARWIN");

#endif
