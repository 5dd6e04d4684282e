/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: folders (xnu bsd/sys/dirent.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_DIRENT_H
#define TESTS_APPLE_SDK_USR_INCLUDE_DIRENT_H

#include <sys/types.h>

struct dirent {
    uint64_t d_ino;
    uint64_t d_seekoff;
    uint16_t d_reclen;
    uint16_t d_namlen;
    uint8_t d_type;
    char d_name[1024];
};
typedef struct standin_dir DIR;

DIR *opendir(const char *path);
struct dirent *readdir(DIR *directory);
int closedir(DIR *directory);

#endif
