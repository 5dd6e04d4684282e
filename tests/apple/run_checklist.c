/* SPDX-License-Identifier: MIT */
/* The device checklist on this system: what it says is printed, a line that failed fails the test. So the list itself is
 * known to work before it is taken to a device. */
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

/* As in the app: away from the main thread, which waits. */
int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
    return failed != 0;
}
