/* SPDX-License-Identifier: MIT */
/* A scripted kernel, loader and libpthread of an Apple system: what the Darwin layer calls, made of the test's own threads,
 * with counted rights, memory and allocations, a clock that moves with each call, and a window in which most calls are
 * forbidden: from the first suspended thread of the calling task to the last one resumed.
 *
 * The interface has no types of either system: kernel.c is compiled with the stand-in SDK, tests with this system's. */
#ifndef FAKEMACH_H
#define FAKEMACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every call can be counted and made to fail. */
enum fake_call {
    FAKE_TASK_THREADS,
    FAKE_TASK_INFO,
    FAKE_TASK_FOR_PID,
    FAKE_TASK_SUSPEND,
    FAKE_TASK_RESUME,
    FAKE_THREAD_INFO,
    FAKE_THREAD_SUSPEND,
    FAKE_THREAD_RESUME,
    FAKE_THREAD_GET_STATE,
    FAKE_VM_READ,
    FAKE_VM_REGION,
    FAKE_VM_ALLOCATE,
    FAKE_VM_DEALLOCATE,
    FAKE_PORT_DEALLOCATE,
    FAKE_SEMAPHORE_CREATE,
    FAKE_SEMAPHORE_DESTROY,
    FAKE_SEMAPHORE_WAIT,
    FAKE_SEMAPHORE_SIGNAL,
    FAKE_TIMEBASE,
    FAKE_CLOCK,
    FAKE_MALLOC,
    FAKE_FREE,
    FAKE_SIGMASK,
    FAKE_THREAD_ID,
    FAKE_MACH_THREAD,
    FAKE_SYSCTL,
    FAKE_LOADER,
    FAKE_LIBPTHREAD,
    FAKE_LIBDISPATCH,
    FAKE_CALLS
};

extern const char *const fake_call_names[FAKE_CALLS];

enum fake_task { FAKE_OWN = 0, FAKE_OTHER = 1, FAKE_TASKS };

#define FAKE_OTHER_PID 4242
/* The id of the first thread; the others' follow. */
#define FAKE_MAIN_ID 5000u

/* A thread. What is 0 stays as it is. */
struct fake_thread {
    uint32_t task; /* enum fake_task */
    uint64_t id;
    uint8_t *stack; /* the test's, outlives the thread */
    size_t stack_size;
    size_t guard;       /* so many of its first bytes cannot be read */
    uint8_t *alternate; /* another stack, for signals; NULL: none */
    size_t alternate_size;
    uintptr_t pc, sp, fp, lr;
    uint64_t slots;
    uintptr_t *queue_at; /* the word that holds its queue; NULL: the kernel names none */
    char name[64];
    bool scribbled_on; /* its stacks are overwritten when it runs again */
    size_t growth;     /* each time that it runs again its stack becomes so many bytes longer */
    uint64_t cpu;      /* ns on a processor, beyond the 7 that each thread has used */
    bool cannot_suspend;
    /* the kernel's: */
    bool dead;
    unsigned suspended;
    uint32_t port;
};

#define FAKE_THREADS_MAX 2200u
#define FAKE_IMAGES_MAX  8u

struct fake_script {
    struct fake_thread threads[FAKE_THREADS_MAX];
    size_t thread_count;
    size_t self;             /* index of the thread that calls */
    unsigned label_words[2]; /* where a queue's label stands in it; [1] 0: only there */
    bool queue_untold;       /* a thread's queue is not where the kernel says */
    bool translated;         /* Rosetta */
    bool traced;             /* a debugger holds this process */
    bool counting;           /* allocations and frees are calls too */
    uint64_t now;            /* ns; moves by `step` with each call */
    uint64_t step;

    /* The call that fails: fail_call's fail_at-th, with fail_result; fail_at 0: none. fail_all: and all behind it. */
    enum fake_call fail_call;
    size_t fail_at;
    int fail_result;
    bool fail_all;
    /* A thread that dies right before the die_at-th call of all; die_at 0: none. */
    size_t die_at, die_index;
    /* What is written to *change, right before the change_at-th read of memory; change_at 0: nothing. */
    size_t change_at;
    uintptr_t *change, change_to;
    /* Where the list of images stands; 0: none. */
    uintptr_t dyld_infos[FAKE_TASKS];
    struct fake_image {
        uintptr_t header; /* 0: none */
        const char *path;
    } images[FAKE_IMAGES_MAX]; /* of this process */
    /* Called right before the hook_at-th read of memory; hook_at 0: never. */
    size_t hook_at;
    void (*hook)(void);
};

extern struct fake_script fake;

/* What happened. */
struct fake_account {
    size_t calls[FAKE_CALLS], all_calls;
    size_t suspended;       /* threads that are suspended now */
    size_t windows;         /* opened so far */
    size_t lists_in_turn;   /* calls of task_threads while a semaphore of one is taken */
    size_t other_suspended; /* how often the other task is suspended now */
    uintptr_t queue_then;   /* what *change was when a state was last asked for */
    size_t longest_bulk;    /* bytes of the largest read in a window */
    long rights;            /* to threads and tasks and semaphores, beyond those that the process began with */
    long mappings, mapped_bytes, allocations;
    size_t forbidden; /* calls in a window that must not be there */
    enum fake_call forbidden_call;
    size_t errors;           /* rights given back twice, memory freed that was not mapped, a suspension of oneself */
    bool signals_wait;       /* those of the calling thread, */
    bool cancellation_waits; /* and its cancellation */
};

extern struct fake_account fake_account;

/* Threads, ports and memory as at the start of a process: nothing of earlier scripts. The thread list is the caller's to
 * fill afterwards. The Darwin layer itself is not reset: shut it down before. */
void fake_reset(void);

/* Adds a thread; 0 fields get values. Returns its index. */
size_t fake_add_thread(const struct fake_thread *thread);

/* The process becomes the child of a fork: the calling thread alone, no rights. Its handlers have run. */
void fake_fork(void);

/* The loader announces an image of fake.images, or withdraws it: then its header is 0. */
void fake_load(size_t index);
void fake_unload(size_t index);

/* A dispatch queue: its label stands where fake.label_words says. */
struct fake_queue {
    uintptr_t words[16];
};

void fake_label(struct fake_queue *queue, const char *label);

/* The port name of a thread. */
uint32_t fake_port(size_t index);

/* The pthread_t of a thread. */
uintptr_t fake_pthread(size_t index);

/* Copies n bytes of this program, mapped or not; the test's (it has this system's headers). */
bool fake_read_real(uintptr_t from, void *to, size_t n);

#endif
