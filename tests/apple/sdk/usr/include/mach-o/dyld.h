/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the loader (dyld include/mach-o/dyld.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_O_DYLD_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_O_DYLD_H

#include <stdint.h>
#include <sys/cdefs.h>

struct mach_header;

__BEGIN_DECLS
extern void _dyld_register_func_for_add_image(void (*func)(const struct mach_header *mh, intptr_t vmaddr_slide));
extern void _dyld_register_func_for_remove_image(void (*func)(const struct mach_header *mh, intptr_t vmaddr_slide));
__END_DECLS

#endif
