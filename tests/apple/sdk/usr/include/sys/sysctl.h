/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: what the system says of itself. */
#ifndef STANDIN_SYS_SYSCTL_H
#define STANDIN_SYS_SYSCTL_H

#include <stddef.h>

int sysctlbyname(const char *name, void *old, size_t *old_size, void *new_value, size_t new_size);

#endif
