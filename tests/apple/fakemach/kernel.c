/* SPDX-License-Identifier: MIT */
/* See fakemach.h. Compiled with the stand-in SDK's headers, so that each function has the type that the SDK
 * declares. */
#include "tests/apple/fakemach/fakemach.h"

#include <TargetConditionals.h>
#include <dispatch/dispatch.h>
#include <dlfcn.h>
#include <errno.h>
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <mach/mach_time.h>
#include <mach/mach_vm.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <unistd.h>

/* All allocations of the program go through these functions (-Wl,--wrap), also memory that one part allocates and
 * another part frees. */
void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t n);
void *__real_realloc(void *memory, size_t n);
void __real_free(void *memory);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t n);
void *__wrap_realloc(void *memory, size_t n);
char *__wrap_strdup(const char *text);
void __wrap_free(void *memory);

#define OWN_TASK        0x103u
#define OTHER_TASK      0x203u
#define EXEC_TASK       0x503u /* the other process's task after exec */
#define SEMAPHORE       0x303u /* port name of the first semaphore */
#define TOKEN           0x403u
#define SEMAPHORES      4u
#define OWN_PORT        0x803u /* port name of the first port of ours */
#define OWN_PORTS       4u
#define REPLY_PORT      0x903u
#define FIRST_THREAD    0x1003u
#define THREAD_STRIDE   0x100u
#define PORTS           (FAKE_THREADS_MAX + 5 + SEMAPHORES + OWN_PORTS)
#define OTHER_PLACE     (FAKE_THREADS_MAX + 1)
#define EXEC_PLACE      (FAKE_THREADS_MAX + 2)
#define TOKEN_PLACE     (FAKE_THREADS_MAX + 3)
#define SEMAPHORE_PLACE (FAKE_THREADS_MAX + 4)
#define OWN_PORT_PLACE  (SEMAPHORE_PLACE + SEMAPHORES)
#define REPORTER_PLACE  (OWN_PORT_PLACE + OWN_PORTS)

/* A process as it begins: its main thread loads the library. */
struct fake_script fake = {.threads = {{.id = FAKE_MAIN_ID}}, .thread_count = 1};
struct fake_account fake_account;
mach_port_t mach_task_self_ = OWN_TASK;

const char *const fake_call_names[FAKE_CALLS] = {
    "task_threads",
    "task_info",
    "task_for_pid",
    "task_suspend2",
    "task_resume2",
    "thread_info",
    "thread_suspend",
    "thread_resume",
    "thread_get_state",
    "vm_read_overwrite",
    "vm_region",
    "vm_allocate",
    "vm_deallocate",
    "mach_port_deallocate",
    "mach_port_allocate",
    "mach_port_insert_right",
    "mach_port_mod_refs",
    "task_get_exception_ports",
    "task_set_exception_ports",
    "mach_msg",
    "pthread_create",
    "semaphore_create",
    "semaphore_destroy",
    "semaphore_timedwait",
    "semaphore_signal",
    "mach_timebase_info",
    "mach_absolute_time",
    "malloc",
    "free",
    "pthread_sigmask",
    "sigaction",
    "sigaltstack",
    "setitimer",
    "pthread_threadid_np",
    "pthread_mach_thread_np",
    "sysctlbyname",
    "the loader",
    "libpthread",
    "libdispatch",
};

/* The calls that are allowed while threads are suspended: kernel calls that do not wait for another thread. */
static const bool allowed[FAKE_CALLS] = {
    [FAKE_THREAD_SUSPEND] = true, [FAKE_THREAD_RESUME] = true, [FAKE_THREAD_GET_STATE] = true, [FAKE_VM_READ] = true,
    [FAKE_VM_REGION] = true,      [FAKE_CLOCK] = true,         [FAKE_TIMEBASE] = true,
};

static long references[PORTS];
static struct {
    bool is_there;
    /* created with the value 1, as the semaphore for the captures' turn is */
    bool is_lock;
    int value;
} semaphores[SEMAPHORES];
/* Ports of ours, and who receives from them. */
static bool receives[OWN_PORTS];
static struct {
    mach_port_t port;
    int behavior;
} exception_actions[EXC_TYPES_COUNT];
static struct {
    uint8_t bytes[2048];
    mach_msg_size_t size; /* 0: none */
} message;
static void *(*receiver)(void *);
static void *receiver_context;
static size_t receiver_index;
static void *waiting[5]; /* for __builtin_setjmp: the stand-in SDK has no setjmp.h */

static sigset_t signal_mask;
static struct sigaction actions[32];
static stack_t alternate;
static int last_error;

void fake_reset(void) {
    const int before = fake.process;
    memset(&fake, 0, sizeof fake);
    fake.process = before >= 1000 && before < FAKE_OTHER_PID - 1 ? before + 1 : 1000;
    memset(&fake_account, 0, sizeof fake_account);
    memset(references, 0, sizeof references);
    memset(semaphores, 0, sizeof semaphores);
    memset(receives, 0, sizeof receives);
    memset(exception_actions, 0, sizeof exception_actions);
    message.size = 0;
    receiver = NULL;
    fake.release = "23.1.0";
    memset(&signal_mask, 0, sizeof signal_mask);
    memset(actions, 0, sizeof actions);
    alternate = (stack_t){.ss_flags = SS_DISABLE};
    fake.now = 1000000;
    fake.step = 1000;
    fake.label_words[0] = 9;
}

static void kill_thread(struct fake_thread *t) {
    if (t->dead) return;
    t->dead = true;
    if (t->suspended != 0 && t->task == FAKE_OWN) fake_account.suspended--;
    t->suspended = 0;
}

/* Counts a call. Returns whether it must fail. */
static bool fails(enum fake_call call) {
    struct fake_account *a = &fake_account;
    size_t n = ++a->calls[call];
    fake.now += fake.step;
    if (++a->all_calls == fake.die_at && fake.die_at != 0) kill_thread(&fake.threads[fake.die_index]);
    if (a->suspended != 0 && !allowed[call]) {
        a->forbidden++;
        a->forbidden_call = call;
    }
    return fake.fail_at != 0 && call == fake.fail_call && (n == fake.fail_at || (fake.fail_all && n > fake.fail_at));
}

/* ---- threads and rights ---- */

size_t fake_add_thread(const struct fake_thread *thread) {
    size_t i = fake.thread_count++;
    struct fake_thread *t = &fake.threads[i];
    *t = *thread;
    if (t->id == 0) t->id = FAKE_MAIN_ID + i;
    t->port = FIRST_THREAD + (uint32_t)i * THREAD_STRIDE;
    return i;
}

uint32_t fake_port(size_t index) { return fake.threads[index].port; }

uintptr_t fake_pthread(size_t index) { return (uintptr_t)&fake.threads[index]; }

static struct fake_thread *thread_of(mach_port_t port) {
    uint32_t at = port - FIRST_THREAD;
    return port >= FIRST_THREAD && at % THREAD_STRIDE == 0 && at / THREAD_STRIDE < fake.thread_count
               ? &fake.threads[at / THREAD_STRIDE]
               : NULL;
}

static bool is_semaphore(mach_port_t port) { return port >= SEMAPHORE && port - SEMAPHORE < SEMAPHORES; }

static bool is_there(semaphore_t port) { return is_semaphore(port) && semaphores[port - SEMAPHORE].is_there; }

static long *references_of(mach_port_t port) {
    struct fake_thread *t = thread_of(port);
    if (t != NULL) return &references[t - fake.threads];
    if (port == TOKEN) return &references[TOKEN_PLACE];
    if (is_semaphore(port)) return &references[SEMAPHORE_PLACE + port - SEMAPHORE];
    if (port == EXEC_TASK) return &references[EXEC_PLACE];
    if (port == FAKE_REPORTER) return &references[REPORTER_PLACE];
    if (port >= OWN_PORT && port - OWN_PORT < OWN_PORTS) return &references[OWN_PORT_PLACE + port - OWN_PORT];
    return port == OTHER_TASK ? &references[OTHER_PLACE] : NULL;
}

static void add_right(mach_port_t port) {
    ++*references_of(port);
    fake_account.rights++;
}

static int place_of_task(mach_port_t task) {
    if (task == OWN_TASK) return FAKE_OWN;
    const mach_port_t other = fake.other_has_execed ? EXEC_TASK : OTHER_TASK;
    return task == other && *references_of(other) > 0 ? FAKE_OTHER : -1;
}

/* Changes a thread's stack when the thread runs again. */
static void go_on(struct fake_thread *t) {
    if (t->waits) return;
    t->sp -= t->growth;
    if (!t->scribbled_on) return;
    memset(t->stack, 0xa5, t->stack_size);
    if (t->alternate != NULL) memset(t->alternate, 0xa5, t->alternate_size);
}

static void resume_other(void) {
    if (fake_account.other_suspended == 0) return;
    fake_account.other_suspended = 0;
    for (size_t i = 0; i < fake.thread_count; i++) {
        if (fake.threads[i].task == FAKE_OTHER) go_on(&fake.threads[i]);
    }
}

kern_return_t task_suspend2(task_read_t task, task_suspension_token_t *token) {
    if (fails(FAKE_TASK_SUSPEND)) return fake.fail_result;
    if (place_of_task(task) != FAKE_OTHER) return MACH_SEND_INVALID_DEST;
    fake_account.other_suspended++;
    fake_account.windows++;
    add_right(TOKEN);
    *token = TOKEN;
    return KERN_SUCCESS;
}

kern_return_t task_resume2(task_suspension_token_t token) {
    if (fails(FAKE_TASK_RESUME)) return fake.fail_result;
    if (token != TOKEN || fake_account.other_suspended == 0) return KERN_INVALID_ARGUMENT;
    resume_other();
    return KERN_SUCCESS;
}

kern_return_t mach_port_deallocate(ipc_space_t task, mach_port_name_t name) {
    bool failing = fails(FAKE_PORT_DEALLOCATE);
    long *count = references_of(name);
    if (task != OWN_TASK || count == NULL || *count <= 0) {
        fake_account.errors++;
        return KERN_INVALID_NAME;
    }
    --*count;
    fake_account.rights--;
    if (name == TOKEN && *count == 0) resume_other();
    return failing ? fake.fail_result : KERN_SUCCESS;
}

static bool is_any_lock_taken(void) {
    for (unsigned i = 0; i < SEMAPHORES; i++) {
        if (semaphores[i].is_there && semaphores[i].is_lock && semaphores[i].value == 0) return true;
    }
    return false;
}

kern_return_t task_threads(task_inspect_t task, thread_act_array_t *list, mach_msg_type_number_t *count) {
    vm_address_t at;
    size_t n = 0;
    int place = place_of_task(task);
    if (fails(FAKE_TASK_THREADS)) return fake.fail_result;
    if (is_any_lock_taken()) fake_account.lists_in_turn++;
    if (place < 0) return MACH_SEND_INVALID_DEST;
    for (size_t i = 0; i < fake.thread_count; i++) {
        if (!fake.threads[i].dead && fake.threads[i].task == (uint32_t)place) n++;
    }
    size_t bytes = n * sizeof **list;
    at = (vm_address_t)__real_malloc(bytes != 0 ? bytes : 1);
    fake_account.mappings++;
    fake_account.mapped_bytes += (long)bytes;
    *list = (thread_act_array_t)at;
    *count = (mach_msg_type_number_t)n;
    n = 0;
    for (size_t i = 0; i < fake.thread_count; i++) {
        if (fake.threads[i].dead || fake.threads[i].task != (uint32_t)place) continue;
        (*list)[n++] = fake.threads[i].port;
        add_right(fake.threads[i].port);
    }
    return KERN_SUCCESS;
}

kern_return_t thread_info(thread_inspect_t port, thread_flavor_t flavor, thread_info_t out,
                          mach_msg_type_number_t *count) {
    const struct fake_thread *t = thread_of(port);
    if (fails(FAKE_THREAD_INFO)) return fake.fail_result;
    if (t == NULL) return KERN_INVALID_ARGUMENT;
    if (t->dead) return MACH_SEND_INVALID_DEST;
    if (flavor == THREAD_IDENTIFIER_INFO && *count >= THREAD_IDENTIFIER_INFO_COUNT) {
        struct thread_identifier_info info = {t->id, t->slots, (uintptr_t)t->queue_at};
        memcpy(out, &info, sizeof info);
    } else if (flavor == THREAD_EXTENDED_INFO && *count >= THREAD_EXTENDED_INFO_COUNT) {
        struct thread_extended_info info = {.pth_user_time = 3 + t->cpu, .pth_system_time = 4, .pth_run_state = 3};
        memcpy(info.pth_name, t->name, sizeof info.pth_name);
        memcpy(out, &info, sizeof info);
    } else {
        return KERN_INVALID_ARGUMENT;
    }
    return KERN_SUCCESS;
}

kern_return_t thread_suspend(thread_read_t port) {
    struct fake_thread *t = thread_of(port);
    if (fails(FAKE_THREAD_SUSPEND)) return fake.fail_result;
    if (t == NULL) return KERN_INVALID_ARGUMENT;
    if (t->dead) return MACH_SEND_INVALID_DEST;
    if (t->cannot_suspend) return KERN_FAILURE;
    if (t == &fake.threads[fake.self]) fake_account.errors++;
    /* A signal handler of the caller might wait for a lock of the suspended thread, so signals and cancellation must be
     * off. */
    if (!fake_account.signals_wait && fake.fail_call != FAKE_SIGMASK) fake_account.errors++;
    if (!fake_account.cancellation_waits) fake_account.errors++;
    if (t->suspended++ == 0 && t->task == FAKE_OWN && fake_account.suspended++ == 0) fake_account.windows++;
    return KERN_SUCCESS;
}

kern_return_t thread_resume(thread_read_t port) {
    struct fake_thread *t = thread_of(port);
    if (fails(FAKE_THREAD_RESUME)) return fake.fail_result;
    if (t == NULL) return KERN_INVALID_ARGUMENT;
    if (t->dead) return KERN_TERMINATED;
    if (t->suspended == 0) return KERN_FAILURE;
    if (--t->suspended == 0 && t->task == FAKE_OWN) fake_account.suspended--;
    if (t->suspended == 0) go_on(t);
    return KERN_SUCCESS;
}

static void put(void *state, size_t offset, uintptr_t value, size_t width) {
    memcpy((uint8_t *)state + offset, &value, width);
}

kern_return_t thread_get_state(thread_read_t port, thread_state_flavor_t flavor, thread_state_t state,
                               mach_msg_type_number_t *count) {
    const struct fake_thread *t = thread_of(port);
    if (fails(FAKE_THREAD_GET_STATE)) return fake.fail_result;
    if (t == NULL) return KERN_INVALID_ARGUMENT;
    if (t->dead) return KERN_TERMINATED;
    /* The registers of a running thread are meaningless. */
    bool stands = t->suspended != 0 || (t->task == FAKE_OTHER && fake_account.other_suspended != 0);
    if (!stands || t == &fake.threads[fake.self]) fake_account.errors++;
    if (fake.change != NULL) fake_account.queue_then = *fake.change;
    memset(state, 0, *count * sizeof *state);
#if defined(__x86_64__)
    if (flavor != x86_THREAD_STATE64 || *count != x86_THREAD_STATE64_COUNT) return KERN_INVALID_ARGUMENT;
    put(state, offsetof(x86_thread_state64_t, __rbp), t->fp, 8);
    put(state, offsetof(x86_thread_state64_t, __rsp), t->sp, 8);
    put(state, offsetof(x86_thread_state64_t, __rip), t->pc, 8);
    put(state, offsetof(x86_thread_state64_t, __rax), t->call, 8);
    put(state, offsetof(x86_thread_state64_t, __rdi), t->arguments[0], 8);
    put(state, offsetof(x86_thread_state64_t, __rsi), t->arguments[1], 8);
    put(state, offsetof(x86_thread_state64_t, __rdx), t->arguments[2], 8);
#elif defined(__i386__)
    if (flavor != x86_THREAD_STATE32 || *count != x86_THREAD_STATE32_COUNT) return KERN_INVALID_ARGUMENT;
    put(state, offsetof(x86_thread_state32_t, __ebp), t->fp, 4);
    put(state, offsetof(x86_thread_state32_t, __esp), t->sp, 4);
    put(state, offsetof(x86_thread_state32_t, __eip), t->pc, 4);
#elif defined(__aarch64__)
    if (flavor != ARM_THREAD_STATE64 || *count != ARM_THREAD_STATE64_COUNT) return KERN_INVALID_ARGUMENT;
    put(state, offsetof(arm_thread_state64_t, __fp), t->fp, 8);
    put(state, offsetof(arm_thread_state64_t, __lr), t->lr, 8);
    put(state, offsetof(arm_thread_state64_t, __sp), t->sp, 8);
    put(state, offsetof(arm_thread_state64_t, __pc), t->pc, 8);
    put(state, offsetof(arm_thread_state64_t, __x) + 16 * 8, t->call, 8);
    for (size_t i = 0; i < 3; i++) put(state, offsetof(arm_thread_state64_t, __x) + i * 8, t->arguments[i], 8);
#else
    if (flavor != ARM_THREAD_STATE || *count != ARM_THREAD_STATE32_COUNT) return KERN_INVALID_ARGUMENT;
    put(state, offsetof(arm_thread_state32_t, __r) + 28, t->fp, 4);
    put(state, offsetof(arm_thread_state32_t, __sp), t->sp, 4);
    put(state, offsetof(arm_thread_state32_t, __pc), t->pc, 4);
#endif
    return KERN_SUCCESS;
}

kern_return_t task_info(task_inspect_t task, task_flavor_t flavor, task_info_t out, mach_msg_type_number_t *count) {
    int place = place_of_task(task);
    if (fails(FAKE_TASK_INFO)) return fake.fail_result;
    if (place < 0) return MACH_SEND_INVALID_DEST;
    if (flavor != TASK_DYLD_INFO || *count < TASK_DYLD_INFO_COUNT) return KERN_INVALID_ARGUMENT;
    struct task_dyld_info info = {fake.dyld_infos[place], 0,
                                  sizeof(void *) == 8 ? TASK_DYLD_ALL_IMAGE_INFO_64 : TASK_DYLD_ALL_IMAGE_INFO_32};
    memcpy(out, &info, sizeof info);
    return KERN_SUCCESS;
}

kern_return_t task_for_pid(mach_port_name_t self, int pid, mach_port_name_t *task) {
    if (fails(FAKE_TASK_FOR_PID)) return fake.fail_result;
    if (self != OWN_TASK || pid != FAKE_OTHER_PID) return KERN_FAILURE;
    *task = fake.other_has_execed ? EXEC_TASK : OTHER_TASK;
    add_right(*task);
    return KERN_SUCCESS;
}

/* ---- ports, exceptions ---- */

kern_return_t mach_port_allocate(ipc_space_t task, mach_port_right_t right, mach_port_name_t *name) {
    uint32_t i = 0;
    if (fails(FAKE_PORT_ALLOCATE)) return fake.fail_result;
    while (i < OWN_PORTS && (receives[i] || references[OWN_PORT_PLACE + i] != 0)) i++;
    if (task != OWN_TASK || right != MACH_PORT_RIGHT_RECEIVE || i == OWN_PORTS) return KERN_INVALID_ARGUMENT;
    receives[i] = true;
    fake_account.rights++;
    *name = OWN_PORT + i;
    return KERN_SUCCESS;
}

static bool is_own_port(mach_port_t port) {
    return port >= OWN_PORT && port - OWN_PORT < OWN_PORTS && receives[port - OWN_PORT];
}

kern_return_t mach_port_insert_right(ipc_space_t task, mach_port_name_t name, mach_port_t poly,
                                     mach_msg_type_name_t kind) {
    if (fails(FAKE_PORT_INSERT)) return fake.fail_result;
    if (task != OWN_TASK || !is_own_port(name) || poly != name || kind != MACH_MSG_TYPE_MAKE_SEND)
        return KERN_INVALID_ARGUMENT;
    add_right(name);
    return KERN_SUCCESS;
}

kern_return_t mach_port_mod_refs(ipc_space_t task, mach_port_name_t name, mach_port_right_t right,
                                 mach_port_delta_t delta) {
    const bool failing = fails(FAKE_PORT_MOD_REFS);
    if (task != OWN_TASK || !is_own_port(name) || right != MACH_PORT_RIGHT_RECEIVE || delta != -1) {
        fake_account.errors++;
        return KERN_INVALID_NAME;
    }
    receives[name - OWN_PORT] = false;
    fake_account.rights--;
    for (int i = 0; i < EXC_TYPES_COUNT; i++) {
        if (exception_actions[i].port == name) exception_actions[i].port = MACH_PORT_NULL;
    }
    return failing ? fake.fail_result : KERN_SUCCESS;
}

void fake_set_exception_port(int exception, uint32_t port) { exception_actions[exception].port = port; }

uint32_t fake_exception_port(int exception) { return exception_actions[exception].port; }

kern_return_t task_get_exception_ports(task_t task, exception_mask_t mask, exception_mask_array_t masks,
                                       mach_msg_type_number_t *count, exception_handler_array_t ports,
                                       exception_behavior_array_t behaviors, exception_flavor_array_t flavors) {
    mach_msg_type_number_t n = 0;
    if (fails(FAKE_GET_PORTS)) return fake.fail_result;
    if (task != OWN_TASK) return KERN_INVALID_ARGUMENT;
    /* Exceptions with the same action share an entry. */
    for (int i = 1; i < EXC_TYPES_COUNT; i++) {
        mach_msg_type_number_t k = 0;
        if ((mask >> i & 1) == 0) continue;
        while (k < n && (ports[k] != exception_actions[i].port || behaviors[k] != exception_actions[i].behavior)) k++;
        if (k == *count) return KERN_INVALID_ARGUMENT;
        if (k == n) {
            masks[n] = 0;
            behaviors[n] = exception_actions[i].behavior;
            flavors[n] = 0;
            ports[n] = exception_actions[i].port;
            if (ports[n] != MACH_PORT_NULL && ports[n] != MACH_PORT_DEAD) add_right(ports[n]);
            n++;
        }
        masks[k] |= 1u << i;
    }
    *count = n;
    return KERN_SUCCESS;
}

kern_return_t task_set_exception_ports(task_t task, exception_mask_t mask, mach_port_t port,
                                       exception_behavior_t behavior, thread_state_flavor_t flavor) {
    const unsigned kind = (unsigned)behavior & ~MACH_EXCEPTION_CODES;
    const bool is_allowed = kind == 2 || kind == 4 || kind == 5;
    if (fake.only_one_port || (fake.hardened && !is_allowed)) fake_account.was_killed = true;
    if (fails(FAKE_SET_PORTS)) return fake.fail_result;
    /* xnu osfmk/kern/ipc_tt.c, set_exception_ports_validation. Kernels before Darwin 21 do not know behaviour 4. */
    if (task != OWN_TASK || flavor != MACHINE_THREAD_STATE || kind < 1 || kind > 4 ||
        (kind == 4 && ((unsigned)behavior & MACH_EXCEPTION_CODES) == 0) ||
        (kind == 4 && fake.release != NULL && strcmp(fake.release, "21") < 0))
        return KERN_INVALID_ARGUMENT;
    if (port != MACH_PORT_NULL) fake_account.behavior = (uint32_t)behavior;
    for (int i = 1; i < EXC_TYPES_COUNT; i++) {
        if ((mask >> i & 1) == 0) continue;
        exception_actions[i].port = port;
        exception_actions[i].behavior = behavior;
    }
    return KERN_SUCCESS;
}

/* Runs the receiving thread until it waits for a message, or ends. */
static void run_receiver(void) {
    const size_t self = fake.self;
    const sigset_t mask = signal_mask;
    const bool wait = fake_account.signals_wait;
    fake.self = receiver_index;
    if (__builtin_setjmp(waiting) == 0) {
        (void)receiver(receiver_context);
        kill_thread(&fake.threads[receiver_index]);
    }
    fake.self = self;
    signal_mask = mask;
    fake_account.signals_wait = wait;
}

mach_msg_return_t mach_msg(mach_msg_header_t *head, mach_msg_option_t option, mach_msg_size_t send_size,
                           mach_msg_size_t capacity, mach_port_name_t from, mach_msg_timeout_t timeout,
                           mach_port_name_t notify) {
    const bool failing = fails(FAKE_MESSAGE);
    if (timeout != 0 || notify != 0) fake_account.errors++;
    if (option == MACH_RCV_MSG) {
        if (failing) return fake.fail_result;
        if (!is_own_port(from)) return MACH_RCV_PORT_DIED;
        if (message.size == 0) __builtin_longjmp(waiting, 1);
        const mach_msg_size_t size = message.size;
        message.size = 0;
        if (size + 8 > capacity) return MACH_RCV_TOO_LARGE;
        memcpy(head, message.bytes, size);
        return MACH_MSG_SUCCESS;
    }
    if ((option & ~MACH_SEND_TIMEOUT) != MACH_SEND_MSG || head->msgh_size != send_size) fake_account.errors++;
    if (head->msgh_remote_port == REPLY_PORT) {
        /* The port of another reporter may be full. */
        if ((option & MACH_SEND_TIMEOUT) == 0) fake_account.errors++;
        /* {head, NDR, result}, as MIG's replies are. */
        if (send_size != 36 || MACH_MSGH_BITS_REMOTE(head->msgh_bits) != 18) fake_account.errors++;
        fake_account.replies++;
        memcpy(&fake_account.reply, (const uint8_t *)head + 32, sizeof fake_account.reply);
    } else if (is_own_port(head->msgh_remote_port)) {
        memcpy(message.bytes, head, send_size);
        message.size = send_size;
        if (head->msgh_bits == MACH_MSG_TYPE_MOVE_SEND) {
            --*references_of(head->msgh_remote_port);
            fake_account.rights--;
        }
        run_receiver();
    }
    return failing ? fake.fail_result : MACH_MSG_SUCCESS;
}

static void put_number(size_t at, uint64_t value, size_t n) { memcpy(message.bytes + at, &value, n); }

bool fake_forward(uint32_t port, int id, size_t thread, int exception) {
    const size_t replies = fake_account.replies;
    const bool has_rights = id != 2402 && id != 2406;
    if (!is_own_port(port)) return false;
    memset(message.bytes, 0, sizeof message.bytes);
    put_number(0, (has_rights ? 0x80000000u : 0) | 18, 4);
    put_number(8, REPLY_PORT, 4);
    put_number(20, (uint64_t)id, 4);
    if (has_rights) {
        put_number(24, 2, 4);
        put_number(28, fake.threads[thread].port, 4);
        add_right(fake.threads[thread].port);
        put_number(40, OTHER_TASK, 4);
        add_right(OTHER_TASK);
    }
    put_number(has_rights ? 60 : 32, (uint64_t)exception, 4);
    message.size = 96;
    put_number(4, message.size, 4);
    run_receiver();
    return fake_account.replies == replies + 1 && fake_account.reply != KERN_SUCCESS;
}

/* Writes the request of mach_exc.defs. Rights come with it, as the kernel gives them. */
static void write_request(const struct fake_thread *t, unsigned behavior, int exception, int64_t code,
                          int64_t subcode) {
    const bool is_protected = (behavior & ~MACH_EXCEPTION_CODES) == 4;
    size_t at = is_protected ? 56 : 60;
    memset(message.bytes, 0, sizeof message.bytes);
    put_number(0, 0x80000000u | 18, 4);
    put_number(8, REPLY_PORT, 4);
    put_number(20, is_protected ? 2408 : 2407, 4);
    put_number(24, is_protected ? 1 : 2, 4);
    if (is_protected) {
        put_number(28, OTHER_TASK, 4);
        add_right(OTHER_TASK);
        put_number(48, t != NULL ? t->id : 999999, 8);
    } else {
        put_number(28, t != NULL ? t->port : OTHER_TASK, 4);
        add_right(t != NULL ? t->port : OTHER_TASK);
        put_number(40, OTHER_TASK, 4);
        add_right(OTHER_TASK);
    }
    put_number(at, (uint64_t)exception, 4);
    put_number(at + 4, 2, 4);
    put_number(at + 8, (uint64_t)code, 8);
    put_number(at + 16, (uint64_t)subcode, 8);
    /* The thread's state follows without protection: flavor, count, state. */
    message.size = (mach_msg_size_t)(at + 24 + (is_protected ? 0 : 8 + 70 * 4));
    put_number(4, message.size, 4);
}

enum fake_outcome fake_exception(size_t thread, int exception, int64_t code, int64_t subcode) {
    const mach_port_t port = exception_actions[exception].port;
    const size_t replies = fake_account.replies;
    fake_account.other_was_asked = port == FAKE_REPORTER;
    /* Without a receiver, a port is dead (xnu osfmk/kern/exception.c). */
    if (port >= OWN_PORT && port - OWN_PORT < OWN_PORTS && !is_own_port(port)) return FAKE_HANDLED;
    if (!is_own_port(port)) return FAKE_BECOMES_SIGNAL;
    struct fake_thread *t = thread < fake.thread_count ? &fake.threads[thread] : NULL;
    write_request(t, (unsigned)exception_actions[exception].behavior, exception, code, subcode);
    if (t != NULL) t->waits = true;
    run_receiver();
    if (t != NULL) t->waits = false;
    if (fake_account.replies != replies + 1) fake_account.errors++;
    return fake_account.reply == KERN_SUCCESS ? FAKE_HANDLED : FAKE_BECOMES_SIGNAL;
}

int pthread_attr_init(pthread_attr_t *attributes) {
    (void)attributes;
    return 0;
}

int pthread_attr_destroy(pthread_attr_t *attributes) {
    (void)attributes;
    return 0;
}

int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size) {
    (void)attributes;
    return size < 16384 ? EINVAL : 0;
}

int pthread_detach(pthread_t thread) {
    (void)thread;
    return 0;
}

/* The new thread begins with the creator's mask, and runs until it waits. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context) {
    const struct fake_thread blank = {.task = FAKE_OWN};
    (void)attributes;
    if (fails(FAKE_THREAD_CREATE)) return EAGAIN;
    if (signal_mask != ~(sigset_t)0) fake_account.errors++;
    receiver_index = fake_add_thread(&blank);
    receiver = run;
    receiver_context = context;
    *thread = (pthread_t)fake_pthread(receiver_index);
    run_receiver();
    return 0;
}

/* ---- memory ---- */

/* A stack's memory. */
struct range {
    uintptr_t low, size, guard;
};

static struct range stack_at(int place, uintptr_t address) {
    struct range next = {0, 0, 0};
    for (size_t i = 0; i < fake.thread_count; i++) {
        const struct fake_thread *t = &fake.threads[i];
        const struct range stacks[] = {{(uintptr_t)t->stack, t->stack_size, t->guard},
                                       {(uintptr_t)t->alternate, t->alternate_size, 0}};
        for (size_t k = 0; k < 2; k++) {
            const struct range *r = &stacks[k];
            if ((int)t->task != place || r->low == 0 || r->low + r->size <= address) continue;
            if (next.low == 0 || r->low < next.low) next = *r;
        }
    }
    return next;
}

static kern_return_t read_memory(mach_port_t task, uint64_t from, uint64_t n, void *to) {
    int place = place_of_task(task);
    if (fails(FAKE_VM_READ)) return fake.fail_result;
    if (fake.change_at != 0 && fake_account.calls[FAKE_VM_READ] == fake.change_at) *fake.change = fake.change_to;
    if (place < 0) return MACH_SEND_INVALID_DEST;
    if (fake_account.suspended != 0 && n > fake_account.longest_bulk) fake_account.longest_bulk = (size_t)n;
    if (fake.hook_at != 0 && fake_account.calls[FAKE_VM_READ] == fake.hook_at) fake.hook();
    return fake_read_real((uintptr_t)from, to, (size_t)n) ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
}

static kern_return_t find_region(mach_port_t task, uint64_t *low, uint64_t *size, vm_region_info_t info) {
    int place = place_of_task(task);
    if (fails(FAKE_VM_REGION)) return fake.fail_result;
    if (place < 0) return MACH_SEND_INVALID_DEST;
    struct range r = stack_at(place, (uintptr_t)*low);
    if (r.low == 0) return KERN_INVALID_ADDRESS;
    uintptr_t readable = r.low + r.guard;
    bool in_guard = *low < readable;
    struct vm_region_basic_info_64 basic = {.protection = in_guard ? VM_PROT_NONE : VM_PROT_READ};
    memcpy(info, &basic, sizeof basic);
    *low = in_guard ? r.low : readable;
    *size = in_guard ? r.guard : r.size - r.guard;
    return KERN_SUCCESS;
}

// This file is compiled once, as for macOS, and has what other systems call as well.
kern_return_t mach_vm_read_overwrite(vm_map_read_t task, mach_vm_address_t from, mach_vm_size_t n, mach_vm_address_t to,
                                     mach_vm_size_t *got) {
    *got = n;
    return read_memory(task, from, n, (void *)(uintptr_t)to);
}

kern_return_t mach_vm_region(vm_map_read_t task, mach_vm_address_t *low, mach_vm_size_t *size,
                             vm_region_flavor_t flavor, vm_region_info_t info, mach_msg_type_number_t *count,
                             mach_port_t *object) {
    if (flavor != VM_REGION_BASIC_INFO_64 || *count < VM_REGION_BASIC_INFO_COUNT_64) return KERN_INVALID_ARGUMENT;
    *object = MACH_PORT_NULL;
    return find_region(task, low, size, info);
}

kern_return_t vm_read_overwrite(vm_map_read_t task, vm_address_t from, vm_size_t n, vm_address_t to, vm_size_t *got) {
    *got = n;
    return read_memory(task, from, n, (void *)to);
}

kern_return_t vm_region_64(vm_map_read_t task, vm_address_t *low, vm_size_t *size, vm_region_flavor_t flavor,
                           vm_region_info_t info, mach_msg_type_number_t *count, mach_port_t *object) {
    if (flavor != VM_REGION_BASIC_INFO_64 || *count < VM_REGION_BASIC_INFO_COUNT_64) return KERN_INVALID_ARGUMENT;
    uint64_t at = *low, n = 0;
    kern_return_t result = find_region(task, &at, &n, info);
    *low = (vm_address_t)at;
    *size = (vm_size_t)n;
    *object = MACH_PORT_NULL;
    return result;
}

kern_return_t vm_allocate(vm_map_t task, vm_address_t *address, vm_size_t size, int flags) {
    if (fails(FAKE_VM_ALLOCATE)) return fake.fail_result;
    if (task != OWN_TASK || flags != VM_FLAGS_ANYWHERE || size == 0) return KERN_INVALID_ARGUMENT;
    void *memory = __real_calloc(1, size);
    if (memory == NULL) return KERN_NO_SPACE;
    *address = (vm_address_t)memory;
    fake_account.mappings++;
    fake_account.mapped_bytes += (long)size;
    return KERN_SUCCESS;
}

kern_return_t vm_deallocate(vm_map_t task, vm_address_t address, vm_size_t size) {
    bool failing = fails(FAKE_VM_DEALLOCATE);
    if (task != OWN_TASK) fake_account.errors++;
    __real_free((void *)address);
    fake_account.mappings--;
    fake_account.mapped_bytes -= (long)size;
    return failing ? fake.fail_result : KERN_SUCCESS;
}

void *__wrap_malloc(size_t n) {
    if (!fake.counting) return __real_malloc(n);
    if (fails(FAKE_MALLOC)) return NULL;
    fake_account.allocations++;
    return __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t n) {
    if (!fake.counting) return __real_calloc(count, n);
    if (fails(FAKE_MALLOC)) return NULL;
    fake_account.allocations++;
    return __real_calloc(count, n);
}

void *__wrap_realloc(void *memory, size_t n) {
    if (!fake.counting) return __real_realloc(memory, n);
    if (fails(FAKE_MALLOC)) return NULL;
    if (memory == NULL) fake_account.allocations++;
    return __real_realloc(memory, n);
}

char *__wrap_strdup(const char *text) {
    size_t n = strlen(text) + 1;
    char *copy = __wrap_malloc(n);
    return copy != NULL ? memcpy(copy, text, n) : NULL;
}

void __wrap_free(void *memory) {
    if (fake.counting) {
        fails(FAKE_FREE);
        if (memory != NULL) fake_account.allocations--;
    }
    __real_free(memory);
}

/* ---- clock, semaphores ---- */

uint64_t mach_absolute_time(void) {
    fails(FAKE_CLOCK);
    /* One tick takes 125/3 ns, as on Apple's arm64. */
    return fake.now / 125 * 3 + fake.now % 125 * 3 / 125;
}

kern_return_t mach_timebase_info(mach_timebase_info_t info) {
    fails(FAKE_TIMEBASE);
    info->numer = 125;
    info->denom = 3;
    return KERN_SUCCESS;
}

kern_return_t semaphore_create(task_t task, semaphore_t *semaphore, int policy, int value) {
    unsigned i = 0;
    if (fails(FAKE_SEMAPHORE_CREATE)) return fake.fail_result;
    while (i < SEMAPHORES && semaphores[i].is_there) i++;
    if (task != OWN_TASK || policy != SYNC_POLICY_FIFO || i == SEMAPHORES) return KERN_INVALID_ARGUMENT;
    semaphores[i].is_there = true;
    semaphores[i].is_lock = value == 1;
    semaphores[i].value = value;
    *semaphore = SEMAPHORE + i;
    add_right(SEMAPHORE + i);
    return KERN_SUCCESS;
}

kern_return_t semaphore_destroy(task_t task, semaphore_t semaphore) {
    bool failing = fails(FAKE_SEMAPHORE_DESTROY);
    if (task != OWN_TASK || !is_there(semaphore)) {
        fake_account.errors++;
        return KERN_INVALID_ARGUMENT;
    }
    semaphores[semaphore - SEMAPHORE].is_there = false;
    --references[SEMAPHORE_PLACE + semaphore - SEMAPHORE];
    fake_account.rights--;
    return failing ? fake.fail_result : KERN_SUCCESS;
}

kern_return_t semaphore_timedwait(semaphore_t semaphore, mach_timespec_t wait) {
    if (fails(FAKE_SEMAPHORE_WAIT)) return fake.fail_result;
    if (!is_there(semaphore)) return KERN_TERMINATED;
    if (semaphores[semaphore - SEMAPHORE].value > 0) {
        semaphores[semaphore - SEMAPHORE].value--;
        return KERN_SUCCESS;
    }
    fake.now += (uint64_t)wait.tv_sec * 1000000000u + (uint64_t)wait.tv_nsec;
    return KERN_OPERATION_TIMED_OUT;
}

kern_return_t semaphore_signal(semaphore_t semaphore) {
    if (fails(FAKE_SEMAPHORE_SIGNAL)) return fake.fail_result;
    if (!is_there(semaphore)) return KERN_TERMINATED;
    semaphores[semaphore - SEMAPHORE].value++;
    return KERN_SUCCESS;
}

/* ---- libpthread ---- */

int *__error(void) { return &last_error; }

pthread_t pthread_self(void) { return (pthread_t)fake_pthread(fake.self); }

int pthread_setname_np(const char *name) {
    (void)name;
    return 0;
}

int pthread_main_np(void) {
    fails(FAKE_LIBPTHREAD);
    return fake.self == 0;
}

int pthread_threadid_np(pthread_t thread, uint64_t *id) {
    if (fails(FAKE_THREAD_ID)) return fake.fail_result;
    *id = thread == NULL ? fake.threads[fake.self].id : ((const struct fake_thread *)thread)->id;
    return 0;
}

mach_port_t pthread_mach_thread_np(pthread_t thread) {
    if (fails(FAKE_MACH_THREAD)) return MACH_PORT_NULL;
    return ((const struct fake_thread *)thread)->port;
}

/* The program runs on this system's stack, which the layer does not know. */
void *pthread_get_stackaddr_np(pthread_t thread) {
    (void)thread;
    return NULL;
}

size_t pthread_get_stacksize_np(pthread_t thread) {
    (void)thread;
    return 0;
}

int pthread_once(pthread_once_t *once, void (*routine)(void)) {
    fails(FAKE_LIBPTHREAD);
    if (once->__sig != 0) {
        once->__sig = 0;
        routine();
    }
    return 0;
}

static void (*in_child)(void);

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    (void)prepare;
    (void)parent;
    fails(FAKE_LIBPTHREAD);
    in_child = child;
    return 0;
}

void fake_fork(void) {
    memset(references, 0, sizeof references);
    memset(semaphores, 0, sizeof semaphores);
    fake_account.rights = 0;
    for (size_t i = 0; i < fake.thread_count; i++) {
        if (i != fake.self) kill_thread(&fake.threads[i]);
    }
    in_child();
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    fails(FAKE_LIBPTHREAD);
    if (mutex->__opaque[0]++ != 0) fake_account.errors++;
    return 0;
}

int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    fails(FAKE_LIBPTHREAD);
    if (mutex->__opaque[0] != 0) return EBUSY;
    mutex->__opaque[0]++;
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    fails(FAKE_LIBPTHREAD);
    if (--mutex->__opaque[0] != 0) fake_account.errors++;
    return 0;
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
    static const int faults[] = {SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV, SIGSYS};
    sigset_t all;
    if (fails(FAKE_SIGMASK)) return fake.fail_result;
    if (how != SIG_SETMASK && how != SIG_BLOCK && how != SIG_UNBLOCK) fake_account.errors++;
    if (old != NULL) *old = signal_mask;
    signal_mask = how == SIG_BLOCK ? signal_mask | *set : how == SIG_UNBLOCK ? signal_mask & ~*set : *set;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
    fake_account.signals_wait = signal_mask == all;
    return 0;
}

void fake_block(int number) { sigaddset(&signal_mask, number); }

bool fake_blocks(int number) { return (signal_mask >> (number - 1) & 1) != 0; }

int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict old) {
    if (fails(FAKE_SIGACTION)) return -1;
    if (old != NULL) *old = actions[number];
    if (action != NULL) actions[number] = *action;
    return 0;
}

int sigaltstack(const stack_t *restrict stack, stack_t *restrict old) {
    if (fails(FAKE_SIGALTSTACK)) return -1;
    if (old != NULL) *old = alternate;
    if (stack == NULL) return 0;
    alternate = *stack;
    fake_account.alternate_size = (stack->ss_flags & SS_DISABLE) != 0 ? 0 : stack->ss_size;
    return 0;
}

int setitimer(int which, const struct itimerval *restrict timer, struct itimerval *restrict old) {
    if (fails(FAKE_SETITIMER) || which != ITIMER_REAL) return -1;
    if (old != NULL) memset(old, 0, sizeof *old);
    fake_account.timer = (uint64_t)timer->it_value.tv_sec * 1000000000u + (uint64_t)timer->it_value.tv_usec * 1000u;
    return 0;
}

int pthread_kill(pthread_t thread, int number) {
    if (thread != pthread_self()) fake_account.errors++;
    fake_account.sent = number;
    fake_account.blocked = signal_mask;
    return 0;
}

/* Functions of the test as handlers for the layer, and the layer's as handlers for the test: a function is called as it
 * is declared. */
static fake_handler of_test[32];
static struct sigaction of_layer[32];

static void call_test(int number, siginfo_t *info, void *context) { of_test[number](number, info, context); }

static void call_layer(int number, void *info, void *context) { of_layer[number].sa_sigaction(number, info, context); }

void fake_set_action(int number, fake_handler handler) {
    memset(&actions[number], 0, sizeof actions[number]);
    if (handler == FAKE_IGNORED) {
        actions[number].sa_handler = SIG_IGN;
    } else if (handler != FAKE_DEFAULT) {
        of_test[number] = handler;
        actions[number].sa_sigaction = call_test;
        actions[number].sa_flags = SA_SIGINFO;
    }
}

fake_handler fake_action(int number) {
    const struct sigaction *action = &actions[number];
    if ((action->sa_flags & SA_SIGINFO) == 0) return action->sa_handler == SIG_IGN ? FAKE_IGNORED : FAKE_DEFAULT;
    if (action->sa_sigaction == call_test) return of_test[number];
    of_layer[number] = *action;
    return call_layer;
}

bool fake_signal(int number, int code, uintptr_t address, void *context) {
    siginfo_t info;
    const struct sigaction action = actions[number];
    memset(&info, 0, sizeof info);
    info.si_signo = number;
    info.si_code = code;
    info.si_addr = (void *)address;
    info.si_pid = code == 0x10001 ? getpid() : 0;
    memset((uint8_t *)context + offsetof(ucontext_t, uc_sigmask), 0xff, sizeof(sigset_t));
    if ((action.sa_flags & SA_SIGINFO) != 0) {
        action.sa_sigaction(number, &info, context);
    } else if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) {
        action.sa_handler(number);
    } else {
        return false;
    }
    return true;
}

/* A cancelled thread would leave others suspended. */
int pthread_setcancelstate(int state, int *old) {
    fails(FAKE_LIBPTHREAD);
    if (old != NULL) *old = fake_account.cancellation_waits ? PTHREAD_CANCEL_DISABLE : 1;
    fake_account.cancellation_waits = state == PTHREAD_CANCEL_DISABLE;
    return 0;
}

/* ---- libdispatch ---- */

static struct fake_queue own_queue;
static const char *own_label;

void fake_label(struct fake_queue *queue, const char *label) {
    queue->words[fake.label_words[0]] = (uintptr_t)label;
    if (fake.label_words[1] != 0) queue->words[fake.label_words[1]] = (uintptr_t)label;
}

dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attr) {
    if (fails(FAKE_LIBDISPATCH) || attr != NULL) return NULL;
    memset(&own_queue, 0, sizeof own_queue);
    own_label = label;
    fake_label(&own_queue, label);
    return (dispatch_queue_t)&own_queue;
}

const char *dispatch_queue_get_label(dispatch_queue_t queue) {
    fails(FAKE_LIBDISPATCH);
    return queue == (dispatch_queue_t)&own_queue ? own_label : NULL;
}

void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work) {
    uintptr_t *place = fake.threads[fake.self].queue_at, before = place != NULL ? *place : 0;
    fails(FAKE_LIBDISPATCH);
    if (place != NULL && !fake.queue_untold) *place = (uintptr_t)queue;
    work(context);
    if (place != NULL) *place = before;
}

void dispatch_release(dispatch_object_t object) {
    fails(FAKE_LIBDISPATCH);
    if (object._dq != (struct dispatch_queue_s *)&own_queue) fake_account.errors++;
}

/* ---- the rest of the system ---- */

pid_t getpid(void) { return fake.process; }

int kill(pid_t pid, int signal) {
    if (signal == 0 && pid == FAKE_OTHER_PID) return 0;
    last_error = ESRCH;
    return -1;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    now->tv_sec = 1700000000;
    now->tv_usec = 5;
    return 0;
}

int sysctlbyname(const char *name, void *old, size_t *size, void *value, size_t n) {
    if (fails(FAKE_SYSCTL) || value != NULL || n != 0) return -1;
    if (strcmp(name, "kern.bootsessionuuid") == 0 && *size >= 5) {
        memcpy(old, "BOOT", 5);
        return 0;
    }
    if (strcmp(name, "kern.osrelease") == 0 && fake.release != NULL && *size > strlen(fake.release)) {
        memcpy(old, fake.release, strlen(fake.release) + 1);
        return 0;
    }
    if (strcmp(name, "sysctl.proc_translated") != 0) return -1;
    int translated = fake.translated;
    memcpy(old, &translated, *size < sizeof translated ? *size : sizeof translated);
    return 0;
}

int sysctl(int *name, unsigned count, void *old, size_t *size, void *value, size_t n) {
    struct kinfo_proc info;
    if (fails(FAKE_SYSCTL) || value != NULL || n != 0 || count != 4 || *size < sizeof info) return -1;
    if (name[0] != CTL_KERN || name[1] != KERN_PROC || name[2] != KERN_PROC_PID || name[3] != getpid()) return -1;
    memset(&info, 0, sizeof info);
    info.kp_proc.p_starttime.tv_sec = 1699999999;
    info.kp_proc.p_flag = fake.traced ? P_TRACED : 0;
    memcpy(old, &info, sizeof info);
    *size = sizeof info;
    return 0;
}

/* Callbacks for images; once registered, they stay. */
static void (*add_image)(const struct mach_header *header, intptr_t slide);
static void (*remove_image)(const struct mach_header *header, intptr_t slide);

void _dyld_register_func_for_add_image(void (*added)(const struct mach_header *header, intptr_t slide)) {
    fails(FAKE_LOADER);
    add_image = added;
    for (size_t i = 0; i < FAKE_IMAGES_MAX; i++) {
        if (fake.images[i].header != 0) added((const struct mach_header *)fake.images[i].header, 0);
    }
}

void _dyld_register_func_for_remove_image(void (*removed)(const struct mach_header *header, intptr_t slide)) {
    fails(FAKE_LOADER);
    remove_image = removed;
}

void fake_load(size_t index) { add_image((const struct mach_header *)fake.images[index].header, 0); }

void fake_unload(size_t index) {
    remove_image((const struct mach_header *)fake.images[index].header, 0);
    fake.images[index].header = 0;
}

int dladdr(const void *address, Dl_info *info) {
    memset(info, 0, sizeof *info);
    if (fails(FAKE_LOADER)) return 0;
    for (size_t i = 0; i < FAKE_IMAGES_MAX; i++) {
        if (fake.images[i].header == 0 || fake.images[i].header != (uintptr_t)address) continue;
        info->dli_fname = fake.images[i].path;
        info->dli_fbase = (void *)fake.images[i].header;
        return 1;
    }
    return 0;
}

void *dlsym(void *handle, const char *name) {
    (void)handle;
    (void)name;
    fails(FAKE_LOADER);
    return NULL;
}
