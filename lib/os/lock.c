/* SPDX-License-Identifier: MIT */
/* Locks between the threads of this process, for all our systems: POSIX mutexes. */
#include "lib/os.h"

#include <pthread.h>
#include <stdlib.h>

struct uspi_lock {
    pthread_mutex_t mutex;
};

struct uspi_lock *uspi_lock_create(void) {
    struct uspi_lock *lock = malloc(sizeof *lock);
    if (lock == NULL) return NULL;
    if (pthread_mutex_init(&lock->mutex, NULL) == 0) return lock;
    free(lock);
    return NULL;
}

void uspi_lock_free(struct uspi_lock *lock) {
    if (lock == NULL) return;
    pthread_mutex_destroy(&lock->mutex);
    free(lock);
}

void uspi_lock_take(struct uspi_lock *lock) { pthread_mutex_lock(&lock->mutex); }

void uspi_lock_give(struct uspi_lock *lock) { pthread_mutex_unlock(&lock->mutex); }
