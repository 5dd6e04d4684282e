/* SPDX-License-Identifier: MIT */
/* spent DESCRIPTOR COMMAND ARGUMENT...: runs a command and prints to the descriptor its seconds of processor time, its
 * peak of memory in kilobytes, and its exit status. A script cannot measure small peaks itself: the kernel counts the
 * memory of the process that starts a command as the command's, until the command replaces it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec * 1e-6; }

int main(int argc, char **argv) {
    struct rusage used;
    int status;
    if (argc < 3) return 2;
    const int descriptor = atoi(argv[1]);
    const pid_t pid = fork();
    if (pid == 0) {
        close(descriptor);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid) return 1;
    dprintf(descriptor, "%.6f %ld %d\n", seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss,
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
