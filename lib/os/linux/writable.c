/* SPDX-License-Identifier: MIT */
/* Lists memory of a process on Linux: that in which it allocates, or everything that is mapped. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/linux.h"
#include "lib/os/linux/proc.h"

#include <errno.h>

static bool is_any(const struct uspi_mapping *mapping) { return mapping->high > mapping->low; }

static bool is_heap(const struct uspi_mapping *mapping) {
    return mapping->readable && mapping->writable && mapping->inode == 0;
}

static int list(int64_t pid, bool (*is_wanted)(const struct uspi_mapping *mapping), uspi_range_function each,
                void *context) {
    struct uspi_proc_maps maps;
    struct uspi_mapping mapping;
    const int error = uspi_proc_maps_open(&maps, pid);
    if (error < 0) {
        return error == -EACCES || error == -EPERM   ? USP_ERROR_PERMISSION
               : error == -ENOENT || error == -ESRCH ? USP_ERROR_NO_THREAD
                                                     : USP_ERROR_SYSTEM;
    }
    int status = USP_OK;
    while (status == USP_OK && uspi_proc_maps_next(&maps, &mapping)) {
        if (is_wanted(&mapping)) status = each(context, mapping.low, mapping.high - mapping.low);
    }
    if (status == USP_OK && maps.error < 0) status = USP_ERROR_SYSTEM;
    uspi_proc_maps_close(&maps);
    return status;
}

int uspi_os_writable_memory(int64_t pid, uspi_range_function each, void *context) {
    return list(pid, is_heap, each, context);
}

int uspi_os_mapped_memory(int64_t pid, uspi_range_function each, void *context) {
    return list(pid, is_any, each, context);
}

#endif
