/* SPDX-License-Identifier: MIT */
/* Evidence about a run of this program on Apple systems: which process it was, since when, and whether it still has its
 * file locked. Apps may not see other processes; there the lock decides, except on iOS. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include <TargetConditionals.h>

#if !TARGET_OS_WATCH

#include "lib/os/darwin/darwin.h"
#include "lib/os/run_lock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sysctl.h>
#include <unistd.h>

/* Returns when a process began, in microseconds; 0: there is no such process, or it may not be seen. */
static uint64_t start_of(int64_t pid) {
    int name[4] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, (int)pid};
    struct kinfo_proc info;
    size_t size = sizeof info;
    memset(&info, 0, sizeof info);
    if (pid <= 0 || sysctl(name, 4, &info, &size, NULL, 0) != 0 || size != sizeof info) return 0;
    return (uint64_t)info.kp_proc.p_starttime.tv_sec * 1000000u + (uint64_t)info.kp_proc.p_starttime.tv_usec;
}

/* Not the boot's time, which is among the facts that an app has to declare. */
static void read_boot(char boot[40]) {
    size_t size = 39;
    memset(boot, 0, 40);
    if (sysctlbyname("kern.bootsessionuuid", boot, &size, NULL, 0) != 0) boot[0] = '\0';
}

int uspi_os_run_describe(struct uspi_os_run *run) {
    memset(run, 0, sizeof *run);
    run->pid = getpid();
    run->start = start_of(run->pid);
    read_boot(run->boot);
    return USP_OK;
}

bool uspi_os_run_lives(const struct uspi_os_run *run) {
    char boot[40];
    read_boot(boot);
    return strcmp(boot, run->boot) == 0 && run->start != 0 && start_of(run->pid) == run->start;
}

/* POSIX record locks: children of fork do not have them, and exec ends them because it closes the descriptor. */
static int set_lock(int fd, int command, struct flock *lock) {
    lock->l_type = F_WRLCK;
    lock->l_whence = SEEK_SET;
    return fcntl(fd, command, lock);
}

/* iOS ends an app that is suspended while it has a file of a shared container locked (termination code 0xdead10cc,
 * Apple's "Understanding the exception types in a crash report"). */
void uspi_os_run_lock(int descriptor) {
#if TARGET_OS_OSX
    struct flock lock = {.l_len = 0};
    (void)set_lock(descriptor, F_SETLK, &lock);
#else
    (void)descriptor;
#endif
}

bool uspi_os_run_has_lock(const char *path) {
    struct flock lock = {.l_len = 0};
    const int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool is_locked = set_lock(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    (void)close(fd);
    return is_locked;
}

#endif

#endif
