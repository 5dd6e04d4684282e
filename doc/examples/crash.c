/* SPDX-License-Identifier: MIT */
/* A crash handler. In a signal handler nothing may be allocated and no lock taken, so the raw addresses are written; naming
 * them is for the next start of the program, or for another machine: each is written with its image's build-id or UUID
 * and its offset there, which stay the same from run to run. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unspool/unspool.h>

static struct usp_images *images; /* as of the start; a program that loads libraries later takes the list again */

/* Hexadecimal digits without stdio, which a handler must not call. */
static char *put_hex(char *to, uint64_t value, unsigned digits) {
    for (unsigned i = digits; i-- > 0; value >>= 4) to[i] = "0123456789abcdef"[value & 0xf];
    return to + digits;
}

static void write_frame(const struct usp_frame *frame) {
    char line[2 + 16 + 1 + 2 * USP_BUILD_ID_MAX + 3 + 16 + 1], *to = line;
    const struct usp_image *image = usp_images_find(images, frame->pc);

    memcpy(to, "0x", 2);
    to = put_hex(to + 2, frame->pc, 16);
    if (image != NULL) {
        *to++ = ' ';
        for (uint32_t i = 0; i < image->build_id_size; i++) to = put_hex(to, image->build_id[i], 2);
        memcpy(to, "+0x", 3);
        to = put_hex(to + 3, frame->pc - image->load_address, 16);
    }
    *to++ = '\n';
    if (write(STDERR_FILENO, line, (size_t)(to - line)) < 0) _exit(EXIT_FAILURE);
}

static void on_crash(int signal, siginfo_t *info, void *ucontext) {
    static struct usp_frame frames[256];
    struct usp_stack stack;

    (void)info;
    usp_stack_init(&stack, frames, 256);
    usp_capture_context(ucontext, NULL, &stack);
    for (uint32_t i = 0; i < stack.count; i++) write_frame(&frames[i]);
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
