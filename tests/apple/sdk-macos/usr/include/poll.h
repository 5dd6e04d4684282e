/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: waiting for files (xnu bsd/sys/poll.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_POLL_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_POLL_H

#define POLLIN 0x0001

struct pollfd {
    int fd;
    short events;
    short revents;
};
typedef unsigned nfds_t;

int poll(struct pollfd *files, nfds_t count, int milliseconds);

#endif
