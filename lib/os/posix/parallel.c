/* SPDX-License-Identifier: MIT */
/* Work on several threads at once, for all our systems: POSIX threads. */
#include "lib/os/os.h"

#include <pthread.h>
#include <unistd.h>

#define THREADS_MAX 64

struct share {
    void (*run)(void *context);
    void *context;
};

static void *run_share(void *context) {
    const struct share *share = context;
    share->run(share->context);
    return NULL;
}

void uspi_os_parallel(unsigned count, void (*run)(void *context), void *context) {
    pthread_t threads[THREADS_MAX];
    struct share share = {run, context};
    unsigned started = 0;
    while (started + 1 < count && started < THREADS_MAX &&
           pthread_create(&threads[started], NULL, run_share, &share) == 0) {
        started++;
    }
    run(context);
    for (unsigned i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

unsigned uspi_os_processors(void) {
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    if (count <= 0) return 1;
    return count < THREADS_MAX ? (unsigned)count : THREADS_MAX;
}
