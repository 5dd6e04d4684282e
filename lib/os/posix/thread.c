/* SPDX-License-Identifier: MIT */
/* Threads of the library's own, for all our systems: POSIX threads. */
#include "lib/os/os.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* Stack size that suffices for a capture with its frames, and for a report. */
#define STACK_SIZE ((size_t)512 << 10)
#define NAME_MAX   32

struct uspi_own_thread {
    pthread_t thread;
    char name[NAME_MAX];
    void (*run)(void *context);
    void *context;
};

/* Copies the fields it needs, because the struct may be freed before `run` ends. */
static void *run_thread(void *argument) {
    const struct uspi_own_thread *own = argument;
    void (*run)(void *) = own->run;
    void *context = own->context;
    uspi_os_name_thread(own->name);
    run(context);
    return NULL;
}

/* Starts the thread with all signals blocked from its first instruction on: a new thread inherits the mask. */
static int create(struct uspi_own_thread *own) {
    pthread_attr_t attributes;
    sigset_t all, kept;
    sigfillset(&all);
    if (pthread_attr_init(&attributes) != 0) return USP_ERROR_NO_MEMORY;
    /* If the system requires a larger stack, this fails, and the system's default stays. */
    (void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_sigmask(SIG_SETMASK, &all, &kept);
    int e = pthread_create(&own->thread, &attributes, run_thread, own);
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
    pthread_attr_destroy(&attributes);
    return e == 0 ? USP_OK : USP_ERROR_SYSTEM;
}

int uspi_os_thread_start(const char *name, void (*run)(void *context), void *context, struct uspi_own_thread **thread) {
    struct uspi_own_thread *own = calloc(1, sizeof *own);
    *thread = NULL;
    if (own == NULL) return USP_ERROR_NO_MEMORY;
    for (size_t i = 0; i + 1 < NAME_MAX && name[i] != '\0'; i++) own->name[i] = name[i];
    own->run = run;
    own->context = context;
    int status = create(own);
    if (status == USP_OK) {
        *thread = own;
    } else {
        free(own);
    }
    return status;
}

void uspi_os_thread_join(struct uspi_own_thread *thread) {
    if (thread == NULL) return;
    pthread_join(thread->thread, NULL);
    free(thread);
}

void uspi_os_thread_leave(struct uspi_own_thread *thread) {
    if (thread == NULL) return;
    pthread_detach(thread->thread);
    free(thread);
}
