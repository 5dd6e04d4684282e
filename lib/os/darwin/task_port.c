/* SPDX-License-Identifier: MIT */
/* The right to a process's task, and where that task's loader keeps its list of images. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/darwin.h"

#include <errno.h>
#include <signal.h>

int uspi_darwin_task_of(int64_t pid, task_t *task) {
    *task = MACH_PORT_NULL;
    if (pid <= 0 || pid > INT32_MAX || (kill((pid_t)pid, 0) != 0 && errno == ESRCH)) return USP_ERROR_NO_THREAD;
    /* The kernel returns the same result for every reason for refusal. */
    return task_for_pid(mach_task_self(), (int)pid, task) == KERN_SUCCESS && *task != MACH_PORT_NULL
               ? USP_OK
               : USP_ERROR_PERMISSION;
}

int uspi_darwin_dyld_infos(task_t task, usp_addr *infos, bool *wide) {
    struct task_dyld_info info;
    mach_msg_type_number_t count = TASK_DYLD_INFO_COUNT;
    kern_return_t result = task_info(task, TASK_DYLD_INFO, (task_info_t)&info, &count);
    if (result != KERN_SUCCESS) return uspi_darwin_status(result);
    *infos = info.all_image_info_addr;
    *wide = info.all_image_info_format == TASK_DYLD_ALL_IMAGE_INFO_64;
    return USP_OK;
}

#endif
