/* SPDX-License-Identifier: MIT */
/* Runs the device checklist on this system and prints its lines; a line that failed fails the test. This shows that the
 * checklist itself works before someone runs it on a device. */
#include "checklist.h"

#include <pthread.h>
#include <stdio.h>

static int failed = -1;

static void print(void *context, const char *line) {
    (void)context;
    puts(line);
}

static void *run(void *argument) {
    (void)argument;
    failed = checklist_run(print, NULL);
    return NULL;
}

/* Runs the checklist as the app does: on another thread, while the main thread waits. */
int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
    return failed != 0;
}
