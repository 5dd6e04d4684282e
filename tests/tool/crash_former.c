/* SPDX-License-Identifier: MIT */
/* For tests/tool/crash.sh: the crash handler of doc/examples/crash.c in a program with signal handlers of its own, and
 * in one that crashes in other ways.
 *
 * crash_former plain [NUMBER]   with handlers that return, does what the example does
 * crash_former info [NUMBER]    with handlers that get the kernel's arguments and end the process
 * crash_former assert           an assertion fails
 * crash_former throw LIBRARY    the library's function throw_setting throws an exception */
#undef NDEBUG
int crash_main(int argc, char **argv);
#define main crash_main
#include "doc/examples/crash.c"
#undef main

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>

static void say(const char *form, int signal) {
    char text[32];
    int n = snprintf(text, sizeof text, "%s %d\n", form, signal);
    if (write(STDOUT_FILENO, text, (size_t)n) < 0) _exit(1);
}

static void handle_plain(int signal) { say("plain", signal); }

static void handle_info(int signal, siginfo_t *info, void *ucontext) {
    /* A positive code: the kernel's own signal, which no process has sent. */
    bool is_true = info->si_signo == signal && (info->si_code > 0 || info->si_pid == getpid()) && ucontext != NULL;
    say(is_true ? "info" : "wrong information", signal);
    _exit(3);
}

static void handle_all(bool with_info) {
    struct sigaction action = {.sa_handler = handle_plain};
    if (with_info) action = (struct sigaction){.sa_sigaction = handle_info, .sa_flags = (int)SA_SIGINFO};
    for (size_t i = 0; i < CRASH_SIGNALS; i++) sigaction(crash_signals[i], &action, NULL);
}

__attribute__((noinline)) static int check_setting(int setting) {
    assert(setting > 0);
    return setting;
}

/* Installs the example's handler. Signal 0 is none: raise does nothing. */
static void install_only(char *name) {
    char none[] = "0";
    char *arguments[] = {name, none, NULL};
    if (crash_main(2, arguments) != 0) exit(EXIT_FAILURE);
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    if (strcmp(way, "plain") == 0 || strcmp(way, "info") == 0) {
        handle_all(strcmp(way, "info") == 0);
        return crash_main(argc - 1, argv + 1);
    }
    /* Libraries are loaded before the handler prepares itself with what is loaded. */
    void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;
    void (*throw_setting)(void) = NULL;
    if (library != NULL) *(void **)&throw_setting = dlsym(library, "throw_setting");
    install_only(argv[0]);
    if (throw_setting != NULL) throw_setting();
    return check_setting(argc - 2);
}
