/* SPDX-License-Identifier: MIT */
/* See linux_refusal.h. */
#define _GNU_SOURCE 1
#include "lib/os/linux_refusal.h"

#include "lib/os/linux.h"
#include "lib/os/linux_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

int uspi_refuse(struct uspi_refusal *refusal, int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (refusal->text_size > 0) vsnprintf(refusal->text, refusal->text_size, format, arguments);
    va_end(arguments);
    refusal->status = status;
    return status;
}

static bool yama_forbids(void) {
    char scope[8];
    int fd = (int)uspi_linux->open(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", O_RDONLY);
    if (fd < 0) return false;
    long n = uspi_linux->read(fd, scope, sizeof scope);
    uspi_linux->close(fd);
    return n > 0 && scope[0] > '0';
}

/* Why the kernel said no (ptrace(2), "Ptrace access mode checking"), the most likely reason first. */
static int refuse_permission(struct uspi_refusal *refusal) {
    struct uspi_proc_status target, self;
    int pid = refusal->pid;
    if (uspi_proc_status(pid, 0, &target) < 0) {
        return uspi_refuse(refusal, USP_ERROR_PERMISSION, "process %d may not be looked at, not even by its status",
                           pid);
    }
    if (target.tracer != 0) {
        return uspi_refuse(refusal, USP_ERROR_PERMISSION,
                           "process %d is already traced by process %" PRId64 " (a debugger, strace): "
                           "end that first",
                           pid, target.tracer);
    }
    if (uspi_proc_status(0, 0, &self) == 0 && self.uid != 0 && self.uid != target.uid) {
        return uspi_refuse(refusal, USP_ERROR_PERMISSION,
                           "process %d belongs to user %" PRId64 ", this is user %" PRId64 ": run as "
                           "that user, or as root",
                           pid, target.uid, self.uid);
    }
    if (yama_forbids()) {
        return uspi_refuse(refusal, USP_ERROR_PERMISSION,
                           "the kernel's Yama module lets nobody trace process %d but its parent: run "
                           "as root, or set /proc/sys/kernel/yama/ptrace_scope to 0",
                           pid);
    }
    return uspi_refuse(
        refusal, USP_ERROR_PERMISSION,
        "process %d may not be traced: it has made itself undumpable "
        "(PR_SET_DUMPABLE, a set-user-id program), or this is a container without CAP_SYS_PTRACE: run as root, or "
        "with that capability",
        pid);
}

int uspi_refuse_system(struct uspi_refusal *refusal, long e, const char *what) {
    int pid = refusal->pid;
    switch (-e) {
    case ESRCH:
    case ENOENT: return uspi_refuse(refusal, USP_ERROR_NO_THREAD, "there is no process %d", pid);
    case EPERM:
    case EACCES: return refuse_permission(refusal);
    case ENOMEM: return uspi_refuse(refusal, USP_ERROR_NO_MEMORY, "out of memory");
    case ENOSYS:
        return uspi_refuse(refusal, USP_ERROR_UNSUPPORTED,
                           "process %d cannot be stopped: this system has no %s (an emulator, a "
                           "sandbox)",
                           pid, what);
    default: return uspi_refuse(refusal, USP_ERROR_SYSTEM, "process %d: %s failed: error %ld", pid, what, -e);
    }
}
