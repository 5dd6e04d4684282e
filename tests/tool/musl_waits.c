/* SPDX-License-Identifier: MIT */
/* A program whose two threads wait, for tests/tool/musl.sh, which links it with musl. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *work(void *unused) {
    const struct timespec long_time = {1000, 0};
    (void)unused;
    for (;;) nanosleep(&long_time, NULL);
    return NULL;
}

__attribute__((noinline)) static void wait_here(void) {
    for (;;) pause();
}

int main(int argc, char **argv) {
    pthread_t thread;
    char text[64];
    (void)argv;
    /* A static program has these functions only if it uses them. */
    memset(text, argc, sizeof text);
    memcpy(text, &text[argc], 8);
    if (pthread_create(&thread, NULL, work, text) != 0) return 1;
    puts("ready");
    (void)fflush(stdout);
    wait_here();
    return text[1];
}
