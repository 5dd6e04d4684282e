/* SPDX-License-Identifier: MIT */
/* For tests/tool/lines.sh, which compiles it with and without debug information: waits in two inlined calls, and writes
 * a raw capture of itself when it gets SIGUSR1.
 *
 * inlined FILE
 *
 * The script searches for the marked lines. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <unspool/unspool.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

static volatile int goes_on, step = 1; /* never set */
static const char *raw_path;
static char part_path[4096]; /* name of the file until it is complete */
static struct usp_images *images;

static void capture(int number, siginfo_t *info, void *context) {
    static const struct usp_thread_info thread = {.thread = {.id = 1}, .name = "main", .flags = USP_THREAD_MAIN};
    static struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_raw_capture raw;
    (void)number;
    (void)info;
    usp_stack_init(&stack, frames, 64);
    usp_capture_context(context, NULL, &stack);
    const struct usp_raw_thread written = {.info = &thread, .stack = &stack};
    usp_raw_capture_init(&raw);
    raw.pid = getpid();
    raw.images = images;
    raw.threads = &written;
    raw.thread_count = 1;
    int file = open(part_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0 || usp_raw_write(file, &raw) != USP_OK || close(file) != 0) _exit(1);
    if (rename(part_path, raw_path) != 0) _exit(1);
}

ALWAYS_INLINE int spin(int n) {
    while (!goes_on) n += step; /* innermost */
    return n;
}

ALWAYS_INLINE int wait_for_it(int n) { return spin(n) + 1; /* middle */ }

__attribute__((noinline)) static int work(int n) {
    int volatile kept = wait_for_it(n); /* outermost */
    return kept;
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_sigaction = capture, .sa_flags = SA_SIGINFO};
    if (argc != 2 || usp_images_create_self(&images) != USP_OK || sigaction(SIGUSR1, &action, NULL) != 0) return 2;
    raw_path = argv[1];
    snprintf(part_path, sizeof part_path, "%s.part", raw_path);
    puts("ready");
    fflush(stdout);
    int volatile result = work(argc); /* call */
    return result;
}
