/* SPDX-License-Identifier: MIT */
/* For tests/tool/demo.sh: the crash handler of doc/examples/crash.c in a program with signal handlers of its own. Those
 * get the kernel's arguments, and decide whether the process ends. */
int crash_main(int argc, char **argv);
#define main crash_main
#include "doc/examples/crash.c"
#undef main

static void say(const char *text) {
    if (write(STDOUT_FILENO, text, strlen(text)) < 0) _exit(1);
}

static void handle_plain(int signal) { say(signal == SIGTRAP ? "plain\n" : "another signal\n"); }

static void handle_info(int signal, siginfo_t *info, void *ucontext) {
    say(signal == SIGILL && info->si_pid == getpid() && ucontext != NULL ? "info\n" : "another signal\n");
    _exit(3);
}

int main(int argc, char **argv) {
    struct sigaction plain = {.sa_handler = handle_plain};
    struct sigaction with_info = {.sa_sigaction = handle_info, .sa_flags = (int)SA_SIGINFO};
    sigaction(SIGTRAP, &plain, NULL);
    sigaction(SIGILL, &with_info, NULL);
    return crash_main(argc, argv);
}
