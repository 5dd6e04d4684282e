/* SPDX-License-Identifier: MIT */
/* The program that test_core_real.c kills: three workers that loop in known functions, and a main thread that accesses
 * a bad address in another one. Compiled with frame pointers; the test looks for the functions' names. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum { WORKERS = 3 };

void worker_inner(void);
void worker_middle(void);
void victim_inner(volatile int *bad);
void victim_middle(volatile int *bad);

static atomic_int running;
static atomic_bool released; /* never set; but the compiler must assume that the workers return */
static volatile int sink;

/* Each call has code after it, so that no call becomes a jump. */
__attribute__((noinline)) void worker_inner(void) {
    atomic_fetch_add(&running, 1);
    while (!atomic_load(&released)) sink++;
}

__attribute__((noinline)) void worker_middle(void) {
    worker_inner();
    sink++;
}

static void *worker_outer(void *unused) {
    (void)unused;
    worker_middle();
    sink++;
    return NULL;
}

__attribute__((noinline)) void victim_inner(volatile int *bad) {
    while (atomic_load(&running) < WORKERS) usleep(1000);
    *bad = 1;
    sink++;
}

__attribute__((noinline)) void victim_middle(volatile int *bad) {
    victim_inner(bad);
    sink++;
}

int main(void) {
    pthread_t thread;
    for (int i = 0; i < WORKERS; i++) {
        if (pthread_create(&thread, NULL, worker_outer, NULL) != 0) return 1;
    }
    victim_middle((volatile int *)16);
    sink++;
    return 0;
}
