/* SPDX-License-Identifier: MIT */
/* A library whose constructor does not end within a minute. The loader holds its lock all the while. */
#include <time.h>

extern volatile unsigned long hang_plugin_rounds;
volatile unsigned long hang_plugin_rounds;

__attribute__((constructor)) static void construct(void) {
    time_t end = time(NULL) + 60;
    while (time(NULL) < end) hang_plugin_rounds++;
}
