/* SPDX-License-Identifier: MIT */
/* A crash handler. In a signal handler nothing may be allocated and no lock taken, so the stack is written down without
 * names, with the build-id or UUID of each image. `unspool stack crash.raw` names it: at the next start of the program, or
 * on another machine. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <unspool/unspool.h>

static struct usp_images *images; /* as of the start; a program that loads libraries later takes the list again */

static void on_crash(int signal, siginfo_t *info, void *ucontext) {
    static struct usp_frame frames[256];
    struct usp_stack stack;
    struct usp_raw raw;
    const struct usp_raw_thread thread = {.stack = &stack};
    int file = open("crash.raw", O_WRONLY | O_CREAT | O_TRUNC, 0600);

    (void)info;
    usp_stack_init(&stack, frames, 256);
    usp_capture_context(ucontext, NULL, &stack);
    usp_raw_init(&raw);
    raw.pid = getpid();
    raw.signal = (uint32_t)signal;
    raw.images = images;
    raw.threads = &thread;
    raw.thread_count = 1;
    usp_write_raw(file, &raw);
    /* SA_RESETHAND: now it kills, as it would have without us. */
    raise(signal);
}

static void install_handler(void) {
    /* A stack of its own, because running out of stack is a crash too. */
    static char room[65536];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND)};

    if (sigaltstack(&stack, NULL) != 0) exit(EXIT_FAILURE);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
}

static int read_setting(const volatile int *setting) { return *setting + 1; }

int main(int argc, char **argv) {
    (void)argv;
    if (usp_images_self(&images) != USP_OK) return EXIT_FAILURE;
    usp_thread_prepare();
    install_handler();
    return read_setting(argc > 100 ? &argc : NULL);
}
