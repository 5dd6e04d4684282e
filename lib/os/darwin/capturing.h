/* SPDX-License-Identifier: MIT */
/* The capturing state of this process on Apple systems, the only one of this layer. Each part is used by the file that
 * its comment names. lib/images/own_images.c and lib/capture/state.h have the state of their layers.
 *
 * A child after a fork inherits memory but no ports: it starts afresh (start_afresh in stop.c). usp_shutdown resets
 * what usp_prepare acquired (stop.c). What was learned about the process stays: it owns nothing, or, like the slots of
 * images, cannot be given back. */
#ifndef USPI_OS_DARWIN_CAPTURING_H
#define USPI_OS_DARWIN_CAPTURING_H

#include "lib/os/darwin/stop.h"

#include <pthread.h>
#include <stdatomic.h>

/* Number of slots in a chunk. An app has some hundred images. */
#define USPI_DARWIN_SLOTS 256u

/* Number of arenas for one thread's copy, which limits how many threads can capture at one time. */
#define USPI_DARWIN_ARENAS 256u

/* An image. The loader's callbacks write it, one after another under the loader's lock; any thread reads it. */
struct uspi_darwin_slot {
    _Atomic(uintptr_t) load; /* 0: free */
    _Atomic(uintptr_t) path;
};

struct uspi_darwin_chunk {
    struct uspi_darwin_slot slots[USPI_DARWIN_SLOTS];
    _Atomic(struct uspi_darwin_chunk *) next; /* never freed: the loader's callbacks, which use it, cannot be removed */
};

/* Captures of threads of this process (stop.c): nothing of it is used on watchOS. usp_shutdown frees the memory and the
 * semaphore. */
struct uspi_darwin_stops {
    pthread_mutex_t changes; /* held by prepare and shutdown, never while threads are stopped */
    semaphore_t turn;        /* 1 while no window is open; a kernel semaphore, so that waits can time out */
    _Atomic(bool) prepared;
    /* usp_prepare's options. */
    _Atomic(uint64_t) timeout;
    _Atomic(uint32_t) max_threads, stack_copy;
    struct uspi_arena arena; /* for all threads; used by the thread that has the turn */
    struct {
        _Atomic(bool) is_taken;
        struct uspi_arena arena; /* used by the thread that took it */
    } own[USPI_DARWIN_ARENAS];
    _Atomic(size_t) reserved; /* bytes of all arenas */
};

struct uspi_posix_crash; /* lib/os/posix/crash.h */

/* The images that the loader announces (loaded.c). Stays. */
struct uspi_darwin_announced {
    pthread_once_t once; /* the callbacks are registered */
    struct uspi_darwin_chunk first;
    _Atomic(uint64_t) generation;
    _Atomic(bool) incomplete; /* an image was left out for lack of memory */
};

struct uspi_darwin_capturing {
    struct uspi_darwin_stops stops;
    struct uspi_darwin_announced announced;
    /* The id of the main thread (threads.c): written when the library is loaded and in the child of a fork; 0: not
     * known. Stays. */
    _Atomic(uint64_t) main_thread;
    /* Offset of the label in a dispatch queue, in bytes (queues.c). 0: not known; at offset 0 a queue has its class.
     * Written by usp_prepare. Stays. */
    _Atomic(size_t) label_at;
    /* Whether a thread's handle is its thread-specific data (self.c). Written by each usp_prepare. */
    _Atomic(bool) slots_are_known;
    /* Whether this process is translated (self.c). 0: not asked yet; 1: no; 2: yes. Stays. */
    _Atomic(int) translated;
    /* The crash kit, in a struct uspi_darwin_crash (crash.h). NULL: it was never installed. Stays: a handler of ours may
     * still run. */
    struct uspi_posix_crash *_Atomic crash;
};

extern struct uspi_darwin_capturing uspi_darwin_capturing;

#endif
