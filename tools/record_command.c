/* SPDX-License-Identifier: MIT */
/* Implements `unspool record -- COMMAND`: starts a program and waits for it. */
#define _GNU_SOURCE 1
#include "tools/command.h"
#include "tools/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child process: executes the program, or writes the errno to the pipe. */
static _Noreturn void become(char *const argv[], int report) {
    execvp(argv[0], argv);
    int e = errno;
    ssize_t written = write(report, &e, sizeof e);
    _exit(written == (ssize_t)sizeof e ? 127 : 126);
}

pid_t start_program(char *const argv[]) {
    int ends[2], e = 0;
    if (pipe(ends) != 0) {
        complain("%s: %s", argv[0], strerror(errno));
        return -1;
    }
    /* The pipe closes when the program is executed. */
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0) become(argv, ends[1]);
    if (pid < 0) e = errno;
    close(ends[1]);
    ssize_t n = 0;
    while (pid > 0 && (n = read(ends[0], &e, sizeof e)) < 0 && errno == EINTR) continue;
    close(ends[0]);
    if (pid > 0 && n == 0) return pid;
    if (pid > 0) waitpid(pid, NULL, 0);
    complain("%s cannot be started: %s", argv[0], strerror(e));
    return -1;
}

bool has_ended(pid_t pid) {
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

int wait_for_program(pid_t pid) {
    int status;
    pid_t waited;
    do waited = waitpid(pid, &status, 0);
    while (waited < 0 && errno == EINTR);
    if (waited != pid) return EXIT_FAILED;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
