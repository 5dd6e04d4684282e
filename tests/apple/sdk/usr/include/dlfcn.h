/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: symbols of loaded images (dyld include/dlfcn.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_DLFCN_H
#define TESTS_APPLE_SDK_USR_INCLUDE_DLFCN_H

typedef struct dl_info {
    const char *dli_fname;
    void *dli_fbase;
    const char *dli_sname;
    void *dli_saddr;
} Dl_info;

#define RTLD_LAZY     0x1
#define RTLD_LOCAL    0x4
#define RTLD_NOLOAD   0x10
#define RTLD_NODELETE 0x80
#define RTLD_DEFAULT  ((void *)-2)

int dladdr(const void *address, Dl_info *info);
int dlclose(void *handle);
void *dlopen(const char *path, int mode);
void *dlsym(void *handle, const char *name);

#endif
