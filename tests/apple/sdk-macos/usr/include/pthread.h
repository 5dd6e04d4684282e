/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: thread stacks that the caller allocates. */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_PTHREAD_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_PTHREAD_H

#include_next <pthread.h>

int pthread_attr_setstack(pthread_attr_t *attributes, void *stack, size_t size);

#endif
