/* SPDX-License-Identifier: MIT */
/* See linux_storm.h. */
#define _GNU_SOURCE 1
#include "tests/capture/linux_storm.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct storm_worker storm_workers[STORM_MAX];
struct storm_deeds storm_deeds;

static _Atomic(int) stopping;
static unsigned worker_count;
static const char *const *plugin_paths;
static pthread_t midwife;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local struct shadow *mine;
static _Thread_local uint64_t random_state;
static _Thread_local volatile unsigned sink;

static unsigned random_below(unsigned n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

/* ---- what workers do, at the bottom of a recursion ---- */

static SHADOWED void spin(unsigned n) {
    SHADOW_ENTER(mine);
    for (unsigned i = 0; i < n; i++) sink = sink * 31 + i;
    SHADOW_LEAVE(mine);
}

static SHADOWED void allocate(void) {
    SHADOW_ENTER(mine);
    void *blocks[8];
    for (unsigned i = 0; i < 8; i++) blocks[i] = malloc(1 + random_below(i == 0 ? 200000 : 2000));
    for (unsigned i = 0; i < 8; i++) free(blocks[i]);
    atomic_fetch_add(&storm_deeds.allocations, 8);
    SHADOW_LEAVE(mine);
}

static SHADOWED void lock(void) {
    SHADOW_ENTER(mine);
    pthread_mutex_lock(&mutex);
    spin(random_below(300));
    pthread_mutex_unlock(&mutex);
    atomic_fetch_add(&storm_deeds.locks, 1);
    SHADOW_LEAVE(mine);
}

static SHADOWED int compare(const void *a, const void *b) {
    SHADOW_ENTER(mine);
    int x = *(const int *)a, y = *(const int *)b;
    sink += 1;
    SHADOW_LEAVE(mine);
    return (x > y) - (x < y);
}

static SHADOWED void sort(void) {
    SHADOW_ENTER(mine);
    int numbers[40];
    for (unsigned i = 0; i < 40; i++) numbers[i] = (int)random_below(1000);
    qsort(numbers, 40, sizeof numbers[0], compare);
    atomic_fetch_add(&storm_deeds.sorts, 1);
    SHADOW_LEAVE(mine);
}

static SHADOWED void called_back(void *context) {
    SHADOW_ENTER(mine);
    sink += *(unsigned *)context;
    spin(200);
    SHADOW_LEAVE(mine);
}

static int note_range(struct dl_phdr_info *info, size_t size, void *context) {
    uintptr_t pc = (uintptr_t)context;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || pc - low >= p->p_memsz) continue;
        mine->low = low;
        mine->high = low + p->p_memsz;
        return 1;
    }
    return 0;
}

static SHADOWED void load(void) {
    SHADOW_ENTER(mine);
    mine->loading = 1;
    void *library = dlopen(plugin_paths[random_below(2)], RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
        void (*call)(struct shadow *, void (*)(void *), void *, int);
        *(void **)&call = dlsym(library, "plugin_call");
        unsigned context = 3;
        if (call != NULL) {
            dl_iterate_phdr(note_range, (void *)(uintptr_t)call);
            call(mine, called_back, &context, (int)random_below(5));
            mine->low = mine->high = 0;
            atomic_fetch_add(&storm_deeds.loads, 1);
        }
        dlclose(library);
    }
    mine->loading = 0;
    SHADOW_LEAVE(mine);
}

static SHADOWED void send_signal(void) {
    SHADOW_ENTER(mine);
    const struct storm_worker *other = &storm_workers[random_below(worker_count)];
    uint64_t tid = atomic_load(&other->tid);
    if (tid != 0) syscall(SYS_tgkill, getpid(), (pid_t)tid, random_below(2) == 0 ? SIGUSR1 : SIGUSR2);
    SHADOW_LEAVE(mine);
}

static SHADOWED void rest(void) {
    SHADOW_ENTER(mine);
    usleep(200 + random_below(1500));
    SHADOW_LEAVE(mine);
}

static SHADOWED void act(unsigned what) {
    SHADOW_ENTER(mine);
    switch (what) {
    case 0: allocate(); break;
    case 1: lock(); break;
    case 2: sort(); break;
    case 3:
        if (plugin_paths != NULL) load();
        break;
    case 4: send_signal(); break;
    case 5: spin(random_below(100000)); break;
    default: rest(); break;
    }
    sink += what;
    SHADOW_LEAVE(mine);
}

static SHADOWED void descend(unsigned depth, unsigned what) {
    SHADOW_ENTER(mine);
    /* Frames of different sizes. */
    volatile char space[64];
    space[depth & 63] = 1;
    if (depth == 0) {
        act(what);
    } else {
        descend(depth - 1, what);
    }
    sink += (unsigned)space[depth & 63];
    SHADOW_LEAVE(mine);
}

/* ---- signals ---- */

static SHADOWED void handle(int number) {
    int kept = errno;
    if (mine != NULL) {
        SHADOW_ENTER(mine);
        spin(100 + (unsigned)number);
        atomic_fetch_add(&storm_deeds.signals, 1);
        SHADOW_LEAVE(mine);
    }
    errno = kept;
}

/* ---- threads begin and end ---- */

static SHADOWED void live(struct storm_worker *w) {
    SHADOW_ENTER(mine);
    unsigned lifetime = 50 + random_below(200);
    for (unsigned i = 0; i < lifetime && atomic_load(&stopping) == 0; i++) {
        unsigned what = random_below(12);
        /* A thread takes the loader's lock only now and then, because it holds it for long. */
        if (what == 3 && random_below(4) != 0) what = 6;
        descend(random_below(20), what);
    }
    sink += w->number;
    SHADOW_LEAVE(mine);
}

static SHADOWED void *run(void *context) {
    struct storm_worker *w = context;
    struct shadow shadow;
    memset((void *)&shadow, 0, sizeof shadow);
    random_state = (w->number + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)syscall(SYS_gettid);
    void *alternate = NULL;
    if (w->number % 3 == 0) {
        stack_t s = {.ss_size = 65536};
        s.ss_sp = alternate = malloc(s.ss_size);
        if (alternate != NULL) sigaltstack(&s, NULL);
    }
    shadow.mark = SHADOW_MARK;
    mine = &shadow;
    SHADOW_ENTER(mine);
    atomic_store(&w->shadow, &shadow);
    atomic_store(&w->tid, (uint64_t)syscall(SYS_gettid));
    atomic_fetch_add(&w->generation, 1);
    live(w);
    atomic_fetch_add(&w->generation, 1);
    atomic_store(&w->tid, 0);
    SHADOW_LEAVE(mine);
    mine = NULL;
    if (alternate != NULL) {
        stack_t off = {.ss_flags = SS_DISABLE};
        sigaltstack(&off, NULL);
        free(alternate);
    }
    atomic_store(&w->ended, 1);
    return NULL;
}

static void give_birth(struct storm_worker *w) {
    atomic_store(&w->ended, 0);
    if (pthread_create(&w->thread, NULL, run, w) != 0) abort();
    atomic_fetch_add(&storm_deeds.births, 1);
}

static void *replace(void *context) {
    (void)context;
    while (atomic_load(&stopping) == 0) {
        for (unsigned i = 0; i < worker_count; i++) {
            if (atomic_load(&storm_workers[i].ended) == 0) continue;
            pthread_join(storm_workers[i].thread, NULL);
            give_birth(&storm_workers[i]);
        }
        usleep(2000);
    }
    return NULL;
}

void storm_begin(unsigned count, const char *const plugins[2]) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags |= SA_ONSTACK;
    sigaction(SIGUSR2, &action, NULL);
    plugin_paths = plugins;
    worker_count = count;
    atomic_store(&stopping, 0);
    for (unsigned i = 0; i < count; i++) {
        storm_workers[i].number = i;
        give_birth(&storm_workers[i]);
    }
    if (pthread_create(&midwife, NULL, replace, NULL) != 0) abort();
}

void storm_end(void) {
    atomic_store(&stopping, 1);
    pthread_join(midwife, NULL);
    for (unsigned i = 0; i < worker_count; i++) pthread_join(storm_workers[i].thread, NULL);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
}
