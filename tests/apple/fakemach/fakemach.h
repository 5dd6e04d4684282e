/* SPDX-License-Identifier: MIT */
/* A scripted kernel, loader and libpthread of an Apple system, for the Darwin layer. The test makes its threads.
 * Rights, memory and allocations are counted, and the clock moves with each call. Most calls are forbidden in a window:
 * from the first suspended thread of the calling task to the last one resumed.
 *
 * The interface has no types of either system: kernel.c is compiled with the stand-in SDK, tests with this system's
 * headers. */
#ifndef TESTS_APPLE_FAKEMACH_FAKEMACH_H
#define TESTS_APPLE_FAKEMACH_FAKEMACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calls; each can be counted and made to fail. */
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
    FAKE_PORT_ALLOCATE,
    FAKE_PORT_INSERT,
    FAKE_PORT_MOD_REFS,
    FAKE_GET_PORTS,
    FAKE_SET_PORTS,
    FAKE_MESSAGE,
    FAKE_THREAD_CREATE,
    FAKE_SEMAPHORE_CREATE,
    FAKE_SEMAPHORE_DESTROY,
    FAKE_SEMAPHORE_WAIT,
    FAKE_SEMAPHORE_SIGNAL,
    FAKE_TIMEBASE,
    FAKE_CLOCK,
    FAKE_MALLOC,
    FAKE_FREE,
    FAKE_SIGMASK,
    FAKE_SIGACTION,
    FAKE_SIGALTSTACK,
    FAKE_SETITIMER,
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
/* The id of the first thread; the next threads have the next ids. */
#define FAKE_MAIN_ID 5000u

/* A thread. Fields may be 0. */
struct fake_thread {
    uint32_t task; /* enum fake_task */
    uint64_t id;
    uint8_t *stack; /* memory of the test, which outlives the thread */
    size_t stack_size;
    size_t guard;       /* number of bytes at its low end that cannot be read */
    uint8_t *alternate; /* another stack, for signals; NULL: none */
    size_t alternate_size;
    uintptr_t pc, sp, fp, lr;
    uint64_t slots;
    uintptr_t *queue_at; /* the word that holds its queue; NULL: the kernel reports no queue */
    char name[64];
    bool scribbled_on; /* its stacks are overwritten when it runs again */
    size_t growth;     /* by how many bytes its stack grows each time it runs again */
    uint64_t cpu;      /* ns on a processor, beyond the 7 that each thread has used */
    bool cannot_suspend;
    uint64_t call, arguments[3]; /* the registers of a system call that it is in */
    /* Set by the kernel: */
    bool waits; /* for the reply to its exception: it does not run when it is resumed */
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
    unsigned label_words[2]; /* words of a queue that hold its label; [1] 0: only one word does */
    bool queue_untold;       /* a thread's queue is not where the kernel reports it */
    bool translated;         /* the process runs under Rosetta */
    bool other_has_execed;   /* the other process has another task than before */
    bool traced;             /* a debugger traces this process */
    const char *release;     /* of the system, as "21.6.0"; NULL: it is not told */
    int process;             /* its id; after fake_reset another one than before */
    bool hardened;           /* the kernel kills a task that asks for exceptions with the thread's port */
    bool only_one_port;      /* the kernel kills a task that sets any exception port */
    bool counting;           /* allocations and frees count as calls */
    uint64_t now;            /* ns; moves by `step` with each call */
    uint64_t step;

    /* The call that fails with fail_result: call number fail_at of the kind fail_call; fail_at 0: no call. fail_all:
     * all calls of that kind from there on fail. */
    enum fake_call fail_call;
    size_t fail_at;
    int fail_result;
    bool fail_all;
    /* The thread die_index dies right before call number die_at, counted over all kinds; die_at 0: no thread dies. */
    size_t die_at, die_index;
    /* change_to is written to *change right before read number change_at of memory; change_at 0: nothing is written. */
    size_t change_at;
    uintptr_t *change, change_to;
    /* The address of the loader's list of images; 0: there is none. */
    uintptr_t dyld_infos[FAKE_TASKS];
    struct fake_image {
        uintptr_t header; /* 0: none */
        const char *path;
    } images[FAKE_IMAGES_MAX]; /* of this process */
    /* Called right before read number hook_at of memory; hook_at 0: never. */
    size_t hook_at;
    void (*hook)(void);
};

extern struct fake_script fake;

/* What the calls did. */
struct fake_account {
    size_t calls[FAKE_CALLS], all_calls;
    size_t suspended;       /* number of suspended threads */
    size_t windows;         /* windows so far */
    size_t lists_in_turn;   /* calls of task_threads while the caller holds the captures' semaphore */
    size_t other_suspended; /* suspend count of the other task */
    uintptr_t queue_then;   /* value of *change when a state was last read */
    size_t longest_bulk;    /* bytes of the largest read in a window */
    long rights;            /* to threads, tasks and semaphores, beyond those that the process began with */
    long mappings, mapped_bytes, allocations;
    size_t forbidden; /* calls in a window that are not allowed there */
    enum fake_call forbidden_call;
    size_t errors;           /* rights returned twice, memory freed that was not mapped, a thread that suspended
                              * itself */
    bool signals_wait;       /* the calling thread blocks its signals */
    bool cancellation_waits; /* the calling thread has disabled its cancellation */
    int sent;                /* the signal that was sent to the calling thread last; 0: none */
    uint32_t blocked;        /* the signals that it blocked then */
    uint64_t timer;          /* ns until the alarm; 0: none */
    size_t alternate_size;   /* of the alternate stack; 0: none */
    bool was_killed;         /* the kernel has killed the task, because of its exception ports */
    size_t replies;          /* replies to exceptions */
    int reply;               /* the result in the last one */
    uint32_t behavior;       /* how our exceptions are sent, as set last */
    bool other_was_asked;    /* the last exception went to the port of another reporter */
};

extern struct fake_account fake_account;

/* Resets threads, ports and memory to the start of a process. The caller fills the thread list afterwards. The Darwin
 * layer is not reset: shut it down before. */
void fake_reset(void);

/* Exceptions (xnu osfmk/mach/exception_types.h), and the port of a reporter that was there before. */
enum { FAKE_BAD_ACCESS = 1, FAKE_BAD_INSTRUCTION = 2, FAKE_ARITHMETIC = 3, FAKE_SOFTWARE = 5, FAKE_BREAKPOINT = 6 };
#define FAKE_REPORTER 0x703u

/* The task's port of an exception; 0: none. */
void fake_set_exception_port(int exception, uint32_t port);
uint32_t fake_exception_port(int exception);

/* What an exception comes to. */
enum fake_outcome {
    FAKE_BECOMES_SIGNAL, /* there is no port, or the reply was a failure */
    FAKE_HANDLED         /* the thread repeats the instruction, for ever if the port is dead */
};

/* A thread raises an exception: the message is sent to the port, and the thread that receives from it runs until it
 * waits for the next one. A thread with index SIZE_MAX is one of another task that has inherited our port. */
enum fake_outcome fake_exception(size_t thread, int exception, int64_t code, int64_t subcode);

/* A reporter that has taken a port of ours away forwards an exception to it, by a message with this id (exc.defs,
 * mach_exc.defs), with rights if such messages have them. Returns whether there is one reply, and that a failure. */
bool fake_forward(uint32_t port, int id, size_t thread, int exception);

/* Adds a thread; fields that are 0 get values. Returns its index. */
size_t fake_add_thread(const struct fake_thread *thread);

/* Makes the process the child of a fork, with the calling thread only and no rights. Its fork handlers have run. */
void fake_fork(void);

/* Make the loader announce an image of fake.images, or withdraw it: then its header is 0. */
void fake_load(size_t index);
void fake_unload(size_t index);

/* A signal's action: none, ignored, or a function as of sigaction's sa_sigaction. */
typedef void (*fake_handler)(int number, void *info, void *context);
#define FAKE_DEFAULT ((fake_handler)0)
#define FAKE_IGNORED ((fake_handler)1)
void fake_set_action(int number, fake_handler handler);
fake_handler fake_action(int number);

/* Make the calling thread block a signal; tell whether it does. */
void fake_block(int number);
bool fake_blocks(int number);

/* Calls the handler of a signal as xnu does, with a siginfo and a context (stacks.h). Returns false when there is no
 * handler. */
bool fake_signal(int number, int code, uintptr_t address, void *context);

/* A dispatch queue. Its label is in the words fake.label_words. */
struct fake_queue {
    uintptr_t words[16];
};

void fake_label(struct fake_queue *queue, const char *label);

/* The port name of a thread. */
uint32_t fake_port(size_t index);

/* The pthread_t of a thread. */
uintptr_t fake_pthread(size_t index);

/* Copies n bytes of this program, mapped or not. Part of the tests, because it needs this system's headers. */
bool fake_read_real(uintptr_t from, void *to, size_t n);

#endif
