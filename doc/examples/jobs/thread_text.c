/* SPDX-License-Identifier: MIT */
/* Prints the stack of another thread: a thread prints that of the main thread, which waits for it. */
#include <pthread.h>
#include <stdio.h>
#include <unspool/unspool.h>

static void *look(void *thread) {
    static char text[8192];
    if (usp_format_pthread(text, sizeof text, (uintptr_t)*(pthread_t *)thread) > 0) puts(text);
    return NULL;
}

int main(void) {
    pthread_t own = pthread_self(), other;
    return pthread_create(&other, NULL, look, &own) != 0 || pthread_join(other, NULL) != 0;
}
