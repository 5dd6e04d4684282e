/* SPDX-License-Identifier: MIT */
/* See refusal.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/refusal.h"

#include "lib/os/linux/linux.h"
#include "lib/os/linux/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int uspi_refuse(struct uspi_refusal *refusal, int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (refusal->text_size > 0) vsnprintf(refusal->text, refusal->text_size, format, arguments);
    va_end(arguments);
    refusal->status = status;
    return status;
}

int uspi_linux_yama_scope(void) {
    char scope[8];
    int fd = (int)uspi_linux->open(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", O_RDONLY);
    if (fd < 0) return 0;
    long n = uspi_linux->read(fd, scope, sizeof scope);
    uspi_linux->close(fd);
    return n > 0 && scope[0] > '0' && scope[0] <= '9' ? scope[0] - '0' : 0;
}

/* Records why the kernel refused access (ptrace(2), "Ptrace access mode checking"), the most likely reason first. */
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
    if (uspi_linux_yama_scope() > 0) {
        return uspi_refuse(refusal, USP_ERROR_PERMISSION,
                           "the kernel's Yama module lets only its parent trace process %d: run "
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
    case EMFILE:
    case ENFILE:
        return uspi_refuse(refusal, USP_ERROR_SYSTEM,
                           "process %d: %s cannot be opened: too many files are open: raise the limit (ulimit -n)", pid,
                           what);
    default: return uspi_refuse(refusal, USP_ERROR_SYSTEM, "process %d: %s failed: error %ld", pid, what, -e);
    }
}

/* Returns this process's id in /proc, or a negative error number; -ENOENT: it is not in /proc. */
static long own_id_in_proc(void) {
    char text[24];
    const long n = uspi_linux->read_link("/proc/self", text, sizeof text - 1);
    if (n < 0) return n;
    text[n] = '\0';
    return strtol(text, NULL, 10);
}

int uspi_refuse_no_process(struct uspi_refusal *refusal, int64_t id) {
    struct uspi_proc_status status;
    struct uspi_proc_stat stat;
    if (id <= 0 || id > INT32_MAX) {
        return uspi_refuse(refusal, USP_ERROR_NO_THREAD, "%" PRId64 " is not a process id", id);
    }
    const int pid = refusal->pid = (int)id;
    int e = uspi_proc_status(pid, 0, &status);
    if (e == 0) e = uspi_proc_stat(pid, 0, &stat);
    /* If /proc is mounted, this process is in it. In the /proc of another namespace, an id is that of another process
     * than for ptrace. */
    const long own = own_id_in_proc();
    if (own == -ENOENT ? e == 0 : own >= 0 && own != uspi_linux->own_process()) {
        return uspi_refuse(refusal, USP_ERROR_UNSUPPORTED,
                           "process %d cannot be looked at: /proc is that of another PID namespace: mount this one's "
                           "(mount -t proc proc /proc)",
                           pid);
    }
    if (e < 0) {
        if (e != -ENOENT || own != -ENOENT) return USP_OK;
        return uspi_refuse(refusal, USP_ERROR_UNSUPPORTED,
                           "process %d cannot be looked at: /proc cannot be read: mount it (proc(5))", pid);
    }
    if (status.process != pid) {
        return uspi_refuse(refusal, USP_ERROR_NO_THREAD,
                           "%d is a thread of process %" PRId64 ", not a process: give %" PRId64
                           ", and %d as the thread that is wanted",
                           pid, status.process, status.process, pid);
    }
    if (stat.is_kernel) {
        return uspi_refuse(refusal, USP_ERROR_UNSUPPORTED,
                           "process %d is a thread of the kernel: it has no stack that programs may read", pid);
    }
    if ((status.state == 'Z' || status.state == 'X') && uspi_linux_living_thread(pid) == -ESRCH) {
        return uspi_refuse(refusal, USP_ERROR_NO_THREAD,
                           "process %d has ended, and its parent %" PRId64 " has not waited for it (a zombie)", pid,
                           stat.parent);
    }
    return USP_OK;
}

#endif
