/* SPDX-License-Identifier: MIT */
/* For tests/crash/kit.sh: runs a program, and prints each signal of the processor's that its first thread gets: signal,
 * code, address, sp and pc. A kit that ends a process as it would have ended makes the last line equal the first.
 *
 * watch_signals PROGRAM ARGUMENT... */
#define _GNU_SOURCE 1
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* The last two words of /proc/PID/syscall are sp and pc (proc_pid_syscall(5)). */
static void print_place(pid_t pid) {
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(text, sizeof text, file) == NULL) exit(96);
    fclose(file);
    char *pc = strrchr(text, ' ');
    if (pc == NULL) exit(96);
    *pc = '\0';
    char *sp = strrchr(text, ' ');
    printf(" at %s %s", sp != NULL ? sp + 1 : "?", pc + 1);
}

int main(int argc, char **argv) {
    int status;
    if (argc < 2) return 2;
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[1], argv + 1);
        _exit(96);
    }
    bool is_first = true;
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        siginfo_t info;
        int signal = WSTOPSIG(status);
        memset(&info, 0, sizeof info);
        ptrace(PTRACE_GETSIGINFO, pid, NULL, &info);
        /* The first stop is that of execv. */
        if (!is_first && (signal == SIGSEGV || signal == SIGFPE || signal == SIGBUS || signal == SIGILL)) {
            printf("signal %d code %d address %p", signal, info.si_code, info.si_addr);
            print_place(pid);
        }
        if (is_first) signal = 0;
        is_first = false;
        fflush(stdout);
        ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)signal);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
