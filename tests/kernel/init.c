/* SPDX-License-Identifier: MIT */
/* The first process of the machine that the lane kernel-arm64 boots. Reads /tests: the first line names a folder, each
 * other line is the path of a program to run in it. Writes to the console how each ended, then switches the machine
 * off. Do not run it on another machine. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The prefix of lines that the lane searches for. */
#define MARK "unspool-kernel:"

/* The exit status that Automake's test harness counts as "skipped". */
#define STATUS_SKIPPED 77

enum { SECONDS_PER_TEST = 300 };

static void mount_or_say(const char *type, const char *where) {
    if (mount(type, where, type, 0, NULL) != 0 && errno != EBUSY)
        printf(MARK " mount %s: %s\n", where, strerror(errno));
}

static void write_to(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) == EOF) printf(MARK " %s: %s\n", path, strerror(errno));
    if (file != NULL) (void)fclose(file);
}

static double seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Runs a program. Returns its wait status, or −1 when it had to be killed. */
static int run(const char *path) {
    double begin = seconds_now();
    pid_t child = fork();
    if (child == 0) {
        (void)setpgid(0, 0);
        (void)execl(path, path, (char *)NULL);
        _exit(127);
    }
    for (;;) {
        int status;
        /* Also reaps orphans of earlier tests. */
        pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended == child) {
            (void)kill(-child, SIGKILL);
            return status;
        }
        if (ended > 0) continue;
        if (seconds_now() - begin > SECONDS_PER_TEST) {
            (void)kill(-child, SIGKILL);
            (void)kill(child, SIGKILL);
            (void)waitpid(child, &status, 0);
            return -1;
        }
        (void)usleep(20000);
    }
}

int main(void) {
    const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    char line[4096];
    unsigned passed = 0, skipped = 0, failed = 0;
    FILE *list;

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    mount_or_say("proc", "/proc");
    mount_or_say("sysfs", "/sys");
    mount_or_say("devtmpfs", "/dev");
    write_to("/proc/sys/kernel/core_pattern", "core");
    (void)setrlimit(RLIMIT_CORE, &unlimited);
    (void)setenv("PATH", "/bin", 1);
    (void)setenv("HOME", "/tmp", 1);
    (void)setenv("CK_TIMEOUT_MULTIPLIER", "20", 1);
    (void)setenv("USP_TEST_UNDER", "kernel", 1);

    list = fopen("/tests", "r");
    if (list == NULL || fgets(line, sizeof line, list) == NULL || chdir(strtok(line, "\n")) != 0)
        printf(MARK " no list of tests, or no folder for them: %s\n", strerror(errno));
    while (list != NULL && fgets(line, sizeof line, list) != NULL) {
        const char *name = strrchr(line, '/');
        double begin = seconds_now();
        int status;
        line[strcspn(line, "\n")] = '\0';
        name = name != NULL ? name + 1 : line;
        status = run(line);
        if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            passed++;
            printf(MARK " PASS %s", name);
        } else if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == STATUS_SKIPPED) {
            skipped++;
            printf(MARK " SKIP %s", name);
        } else {
            failed++;
            printf(MARK " FAIL %s (wait status %d)", name, status);
        }
        printf(" %.1f s\n", seconds_now() - begin);
    }
    printf(MARK " passed %u skipped %u failed %u\n", passed, skipped, failed);
    (void)fflush(stdout);
    sync();
    (void)reboot(RB_POWER_OFF);
    return 0;
}
