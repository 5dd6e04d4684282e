/* SPDX-License-Identifier: MIT */
/* Threads that wait for locks of each kind. The thread that holds a lock is called "owner", the one that waits for it
 * "waiter". In a circle of n threads, thread k is called "link k" and waits for a lock that link k + 1 holds. */
#ifndef TESTS_TOOL_LOCKS_H
#define TESTS_TOOL_LOCKS_H

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
#include <mutex>
#include <shared_mutex>
#endif

#define LOCKS_MOST 5

/* Everything that threads wait for. It is in shared memory of its own, so that it can be freed and shared. */
struct locks {
    pthread_mutex_t mutexes[LOCKS_MOST];
    pthread_rwlock_t rwlock;
    pthread_cond_t condition;
    sem_t semaphore;
    uint32_t word[8];
};

static struct locks *locks;
static int locks_taken, locks_links; /* how many threads hold their lock; length of the circle */
static bool locks_timed;
static long locks_tids[LOCKS_MOST + 1];
static int locks_tid_count;

static inline void locks_nap(void) {
    struct timespec t = {0, 2000000};
    nanosleep(&t, NULL);
}

static inline void locks_stay(void) {
    for (;;) pause();
}

static inline void locks_taken_one(void) { __atomic_fetch_add(&locks_taken, 1, __ATOMIC_SEQ_CST); }

static inline void locks_wait_taken(int n) {
    while (__atomic_load_n(&locks_taken, __ATOMIC_SEQ_CST) < n) locks_nap();
}

/* Names the calling thread, and says that it is about to sleep. */
static inline void locks_begin(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
    const int i = __atomic_fetch_add(&locks_tid_count, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&locks_tids[i], syscall(SYS_gettid), __ATOMIC_SEQ_CST);
}

static inline bool locks_sleeps(long tid) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", tid);
    FILE *f = fopen(path, "r");
    const bool is_read = f != NULL && fgets(text, sizeof text, f) != NULL;
    if (f != NULL) fclose(f);
    return is_read && strrchr(text, ')') != NULL && strrchr(text, ')')[2] == 'S';
}

/* Waits until n threads have begun and have slept for a while. */
static inline void locks_wait_asleep(int n) {
    for (int calm = 0; calm < 10;) {
        bool all = __atomic_load_n(&locks_tid_count, __ATOMIC_SEQ_CST) >= n;
        for (int i = 0; i < n && all; i++) {
            const long tid = __atomic_load_n(&locks_tids[i], __ATOMIC_SEQ_CST);
            all = tid != 0 && locks_sleeps(tid);
        }
        calm = all ? calm + 1 : 0;
        locks_nap();
    }
}

static inline void locks_start(void *(*run)(void *), void *argument) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument) != 0) _exit(3);
}

/* ---- mutexes ---- */

static inline void locks_set(pthread_mutex_t *mutex, int type, bool robust, bool inherit, bool shared) {
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_settype(&how, type);
    if (robust) pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    if (inherit) pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT);
    if (shared) pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    if (pthread_mutex_init(mutex, &how) != 0) _exit(4);
}

static inline struct timespec locks_late(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1000;
    return until;
}

static inline void locks_lock(pthread_mutex_t *mutex) {
    if (locks_timed) {
        const struct timespec until = locks_late();
        pthread_mutex_timedlock(mutex, &until);
    } else {
        pthread_mutex_lock(mutex);
    }
}

static void *locks_own_mutex(void *argument) {
    pthread_mutex_lock(&locks->mutexes[0]);
    if (argument != NULL) pthread_mutex_lock(&locks->mutexes[0]); /* recursive: twice */
    locks_begin("owner");
    locks_taken_one();
    locks_stay();
    return NULL;
}

static void *locks_want_mutex(void *argument) {
    (void)argument;
    locks_begin("waiter");
    locks_lock(&locks->mutexes[0]);
    locks_stay();
    return NULL;
}

static inline void locks_make_mutex(bool twice) {
    locks_start(locks_own_mutex, twice ? &locks_taken : NULL);
    locks_wait_taken(1);
    locks_start(locks_want_mutex, NULL);
    locks_wait_asleep(2);
}

static void *locks_link(void *argument) {
    char name[16];
    const int k = (int)(intptr_t)argument;
    snprintf(name, sizeof name, "link %d", k);
    pthread_mutex_lock(&locks->mutexes[k]);
    locks_taken_one();
    locks_wait_taken(locks_links);
    locks_begin(name);
    /* Of a circle with a time limit, only one thread has it. */
    if (locks_timed && k == 0) {
        const struct timespec until = locks_late();
        pthread_mutex_timedlock(&locks->mutexes[1 % locks_links], &until);
    } else {
        pthread_mutex_lock(&locks->mutexes[(k + 1) % locks_links]);
    }
    locks_stay();
    return NULL;
}

static inline void locks_make_circle(int links) {
    locks_links = links;
    for (int k = 0; k < links; k++) locks_start(locks_link, (void *)(intptr_t)k);
    locks_wait_asleep(links);
}

/* ---- other locks ---- */

static void *locks_own_rwlock(void *argument) {
    if (argument != NULL) {
        pthread_rwlock_rdlock(&locks->rwlock);
    } else {
        pthread_rwlock_wrlock(&locks->rwlock);
    }
    locks_begin("owner");
    locks_taken_one();
    locks_stay();
    return NULL;
}

static void *locks_want_rwlock(void *argument) {
    locks_begin("waiter");
    if (argument != NULL) {
        pthread_rwlock_rdlock(&locks->rwlock);
    } else {
        pthread_rwlock_wrlock(&locks->rwlock);
    }
    locks_stay();
    return NULL;
}

static inline void locks_make_rwlock(bool owner_reads, bool waiter_reads) {
    pthread_rwlock_init(&locks->rwlock, NULL);
    locks_start(locks_own_rwlock, owner_reads ? &locks_taken : NULL);
    locks_wait_taken(1);
    locks_start(locks_want_rwlock, waiter_reads ? &locks_taken : NULL);
    locks_wait_asleep(2);
}

/* Waits for a condition; the "owner" has just used its mutex, which is free. */
static void *locks_want_condition(void *argument) {
    (void)argument;
    locks_begin("waiter");
    pthread_mutex_lock(&locks->mutexes[0]);
    for (;;) pthread_cond_wait(&locks->condition, &locks->mutexes[0]);
    return NULL;
}

static void *locks_want_semaphore(void *argument) {
    (void)argument;
    locks_begin("waiter");
    while (sem_wait(&locks->semaphore) != 0 && errno == EINTR) continue;
    locks_stay();
    return NULL;
}

/* Waits for a word with a value that a mutex's word can have. The numbers after it are no mutex's. */
static void *locks_want_word(void *argument) {
    (void)argument;
    locks_begin("waiter");
    for (unsigned i = 0; i < 8; i++) locks->word[i] = 2;
    locks->word[2] = (uint32_t)syscall(SYS_gettid);
    locks->word[4] = 0x1000; /* no kind of a mutex */
    locks->word[3] = 0x1000;
    for (;;) syscall(SYS_futex, locks->word, 0 | 128, 2, NULL, NULL, 0);
    return NULL;
}

/* Takes the lock and ends. */
static void *locks_leave_mutex(void *argument) {
    (void)argument;
    pthread_mutex_lock(&locks->mutexes[0]);
    return NULL;
}

static inline void locks_make_ended(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, locks_leave_mutex, NULL) != 0) _exit(3);
    pthread_join(thread, NULL);
    locks_start(locks_want_mutex, NULL);
    locks_wait_asleep(1);
}

/* A process that holds the lock; it ends with this one. */
static inline void locks_make_other_process(void) {
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0);
        pthread_mutex_lock(&locks->mutexes[0]);
        locks->word[0] = 1;
        locks_stay();
    }
    while (__atomic_load_n(&locks->word[0], __ATOMIC_SEQ_CST) == 0) locks_nap();
    locks_start(locks_want_mutex, NULL);
    locks_wait_asleep(1);
}

#ifdef __cplusplus
static std::mutex locks_mutex;
static std::recursive_mutex locks_recursive;
static std::shared_mutex locks_shared;
static std::timed_mutex locks_timed_mutex;

template <typename Lock, Lock *lock> static void *locks_own(void *) {
    lock->lock();
    locks_begin("owner");
    locks_taken_one();
    locks_stay();
    return NULL;
}

template <typename Lock, Lock *lock> static void *locks_want(void *) {
    locks_begin("waiter");
    lock->lock();
    locks_stay();
    return NULL;
}

template <typename Lock, Lock *lock> static void locks_make_cxx() {
    locks_start(locks_own<Lock, lock>, NULL);
    locks_wait_taken(1);
    locks_start(locks_want<Lock, lock>, NULL);
    locks_wait_asleep(2);
}

static inline bool locks_make_of_cxx(const char *which) {
    if (strcmp(which, "std::mutex") == 0) {
        locks_make_cxx<std::mutex, &locks_mutex>();
    } else if (strcmp(which, "std::recursive_mutex") == 0) {
        locks_make_cxx<std::recursive_mutex, &locks_recursive>();
    } else if (strcmp(which, "std::shared_mutex") == 0) {
        locks_make_cxx<std::shared_mutex, &locks_shared>();
    } else if (strcmp(which, "std::timed_mutex") == 0) {
        locks_make_cxx<std::timed_mutex, &locks_timed_mutex>();
    } else {
        return false;
    }
    return true;
}
#else
static inline bool locks_make_of_cxx(const char *which) {
    (void)which;
    return false;
}
#endif

/* Makes the threads of a case, and returns when they sleep. Returns false if there is no such case. */
static inline bool locks_make(const char *which) {
    const size_t size = 65536;
    /* The locks begin where readable memory begins, and end where it ends. */
    char *memory = (char *)mmap(NULL, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    locks = (struct locks *)mmap(memory + size, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED,
                                 -1, 0);
    const bool robust = strcmp(which, "robust") == 0, inherit = strcmp(which, "inherit") == 0;
    const bool recursive = strcmp(which, "recursive") == 0;
    const bool shared = strcmp(which, "shared") == 0 || strcmp(which, "other process") == 0;
    int type = recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_DEFAULT;
    if (strcmp(which, "errorcheck") == 0 || strcmp(which, "circle of errorcheck") == 0) type = PTHREAD_MUTEX_ERRORCHECK;
#ifdef __GLIBC__
    if (strcmp(which, "adaptive") == 0) type = PTHREAD_MUTEX_ADAPTIVE_NP;
#endif
    for (int i = 0; i < LOCKS_MOST; i++) locks_set(&locks->mutexes[i], type, robust, inherit, shared);
    locks_timed = strncmp(which, "timed", 5) == 0;
    if (strcmp(which, "normal") == 0 || recursive || robust || inherit || strcmp(which, "shared") == 0 ||
        strcmp(which, "errorcheck") == 0 || strcmp(which, "adaptive") == 0 || strcmp(which, "timed") == 0) {
        locks_make_mutex(recursive);
    } else if (strcmp(which, "freed") == 0) {
        locks_make_mutex(false);
        munmap(locks, size);
    } else if (strcmp(which, "reused") == 0) {
        locks_make_mutex(false);
        memset(locks, 2, sizeof *locks);
    } else if (strcmp(which, "ended") == 0) {
        locks_make_ended();
    } else if (strcmp(which, "other process") == 0) {
        locks_make_other_process();
    } else if (strcmp(which, "reader") == 0 || strcmp(which, "writer") == 0) {
        locks_make_rwlock(false, which[0] == 'r');
    } else if (strcmp(which, "writer of readers") == 0) {
        locks_make_rwlock(true, false);
    } else if (strcmp(which, "condition") == 0) {
        pthread_cond_init(&locks->condition, NULL);
        locks_start(locks_want_condition, NULL);
        locks_wait_asleep(1);
    } else if (strcmp(which, "semaphore") == 0) {
        sem_init(&locks->semaphore, 0, 0);
        locks_start(locks_want_semaphore, NULL);
        locks_wait_asleep(1);
    } else if (strcmp(which, "word") == 0) {
        locks_start(locks_want_word, NULL);
        locks_wait_asleep(1);
    } else if (strcmp(which, "itself") == 0) {
        locks_make_circle(1);
    } else if (strcmp(which, "circle of 2") == 0 || strcmp(which, "timed circle") == 0 ||
               strcmp(which, "circle of errorcheck") == 0) {
        locks_make_circle(2);
    } else if (strcmp(which, "circle of 5") == 0) {
        locks_make_circle(5);
    } else if (strcmp(which, "behind a circle") == 0) {
        locks_make_circle(2);
        locks_start(locks_want_mutex, NULL);
        locks_wait_asleep(3);
    } else {
        return locks_make_of_cxx(which);
    }
    return true;
}

#endif
