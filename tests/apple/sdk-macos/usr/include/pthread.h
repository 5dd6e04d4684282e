/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: thread stacks that the caller allocates. */
#ifndef STANDIN_MACOS_PTHREAD_H
#define STANDIN_MACOS_PTHREAD_H

#include_next <pthread.h>

int pthread_attr_setstack(pthread_attr_t *attributes, void *stack, size_t size);

#endif
