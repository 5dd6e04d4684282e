/* SPDX-License-Identifier: MIT */
/* See window.h. Not compiled on watchOS, which forbids the calls (watch.c). */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/window.h"

#include "arch/host.h"

#include <TargetConditionals.h>

#if !TARGET_OS_WATCH

#include "lib/unwind/signals/sigframe.h"

#include <mach/thread_status.h>
#include <string.h>

/* Bytes below the live part of a stack that certainly have no other use. */
#define BELOW_STACK (UINT64_C(1) << 20)
/* Maximum number of ranges that are examined for one stack: its protected pages, and parts that the kernel keeps
 * separate. */
#define RANGES 4u
/* Maximum size of a stack; larger memory is not a stack. */
#define STACK_MAX (UINT64_C(1) << 30)
/* Maximum number of attempts to resume a thread or task. */
#define RESUMES 16u
/* Copies begin at multiples of this size. */
#define ALIGN 16u

/* Each processor's state of its own width, and its length in 4-byte words (xnu osfmk/mach/arm/thread_status.h,
 * osfmk/mach/i386/thread_status.h). Another flavor would give other registers. */
static const struct {
    uint32_t arch;
    thread_state_flavor_t flavor;
    mach_msg_type_number_t count;
} states[] = {
    {USP_ARCH_ARM64, 6, 68},  {USP_ARCH_ARM64_32, 6, 68}, {USP_ARCH_ARMV7, 1, 17},
    {USP_ARCH_X86_64, 4, 42}, {USP_ARCH_I386, 1, 16},
};
#define STATE_ROOM 68

#ifdef ARM_THREAD_STATE64
_Static_assert(ARM_THREAD_STATE64 == 6 && ARM_THREAD_STATE64_COUNT == 68, "arm64's state");
_Static_assert(ARM_THREAD_STATE == 1 && ARM_THREAD_STATE32_COUNT == 17, "armv7's state");
#endif
#ifdef x86_THREAD_STATE64
_Static_assert(x86_THREAD_STATE64 == 4 && x86_THREAD_STATE64_COUNT == 42, "x86_64's state");
_Static_assert(x86_THREAD_STATE32 == 1 && x86_THREAD_STATE32_COUNT == 16, "i386's state");
#endif

/* The slot of a thread's specific data in which libraries keep the name of its port (xnu libsyscall/os/tsd.h,
 * __TSD_MACH_THREAD_SELF). */
#define PORT_SLOT 3u

/* ---- the task as a whole ---- */

static bool suspend_task(struct uspi_window *w) {
#if TARGET_OS_TV
    (void)w;
    return false;
#else
    if (w->is_own) return false;
    uint64_t began = uspi_os_clock();
    kern_return_t result = task_suspend2(w->task, &w->token);
    for (size_t i = 0; i < w->count; i++) {
        struct uspi_held *h = &w->threads[i];
        h->began = began;
        h->suspended = result == KERN_SUCCESS;
        h->status = uspi_darwin_status(result);
    }
    return true;
#endif
}

static void resume_task(struct uspi_window *w) {
#if !TARGET_OS_TV
    for (unsigned attempt = 0; attempt < RESUMES && task_resume2(w->token) != KERN_SUCCESS; attempt++) continue;
#endif
    /* Releasing the token's last right resumes the task, too. */
    uspi_darwin_release(w->token);
    w->token = MACH_PORT_NULL;
    uint64_t ended = uspi_os_clock();
    for (size_t i = 0; i < w->count; i++) w->threads[i].ended = ended;
}

/* ---- thread by thread ---- */

static void suspend_all(struct uspi_window *w) {
    w->token = MACH_PORT_NULL;
    if (suspend_task(w)) return;
    for (size_t i = 0; i < w->count; i++) {
        struct uspi_held *h = &w->threads[i];
        h->began = uspi_os_clock();
        h->suspended = false;
        h->status = USP_ERROR_TIMEOUT;
        if (h->began >= w->deadline) continue;
        kern_return_t result = thread_suspend(h->port);
        h->suspended = result == KERN_SUCCESS;
        h->status = uspi_darwin_status(result);
    }
}

int uspi_darwin_registers(thread_act_t port, struct usp_registers *registers) {
    natural_t state[STATE_ROOM];
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        if (states[i].arch != USPI_HOST_ARCH) continue;
        mach_msg_type_number_t count = states[i].count;
        kern_return_t result = thread_get_state(port, states[i].flavor, state, &count);
        if (result != KERN_SUCCESS) return uspi_darwin_status(result);
        return usp_registers_from_state(registers, USPI_HOST_ARCH, USP_THREAD_STATE_MACH + (uint32_t)states[i].flavor,
                                        state, (size_t)count * sizeof state[0]);
    }
    return USP_ERROR_UNSUPPORTED;
}

/* Finds the live part of the stack that contains sp. It begins below sp, where the code may use a red zone. It ends
 * with the readable memory, or at the thread's own data, which libpthread puts above the stacks that it makes
 * (libpthread src/pthread.c). */
static void find_extent(const struct uspi_window *w, usp_addr slots, usp_addr sp, struct uspi_live *live) {
    const struct uspi_backend *b = uspi_backend_find(USPI_HOST_ARCH);
    live->sp = sp;
    usp_addr from = (sp > b->red_zone ? sp - b->red_zone : sp) & ~(usp_addr)(ALIGN - 1), at = from;
    for (unsigned i = 0; i < RANGES && sp != 0 && !live->whole; i++) {
        struct uspi_darwin_region region;
        bool found = uspi_darwin_region_at(w->task, at, &region);
        if (live->high == 0) {
            /* sp itself may point into the guard page that the thread is about to touch. */
            if (!found || region.low > (i == 0 ? sp : at)) return;
            if (region.readable) {
                live->low = region.low;
                live->from = region.low > from ? region.low : from;
                live->high = region.high;
            }
        } else if (found && region.readable && region.low == live->high) {
            live->high = region.high;
        } else {
            live->whole = true;
        }
        if (slots > live->from && slots < live->high) {
            live->high = slots & ~(usp_addr)(ALIGN - 1);
            live->whole = true;
        }
        at = found ? region.high : at;
    }
    if (live->high - live->from > STACK_MAX) {
        live->high = live->from + STACK_MAX;
        live->whole = false;
    }
}

/* Implements usp_memory.read for a copy. */
static int read_copied(void *context, usp_addr from, void *to, size_t n) {
    return uspi_read_copied(context, from, to, n) ? USP_OK : USP_ERROR_UNREADABLE;
}

/* Finds the stack that a thread left to handle a signal on the copied one. */
static void find_interrupted(const struct uspi_window *w, struct uspi_held *h) {
    const struct uspi_live *stack = &h->stacks[0];
    if (stack->copied == 0) return;
    const uint8_t *bytes = w->is_live ? (const uint8_t *)(uintptr_t)stack->from : w->arena + stack->offset;
    struct uspi_copied copied = {bytes, stack->from, stack->copied};
    const struct usp_memory memory = {read_copied, &copied};
    const struct uspi_sigframe_view view =
        uspi_sigframe_view_of(uspi_backend_find(USPI_HOST_ARCH), &memory, ~uspi_host_signature_bits());
    usp_addr sp, slots = h->place.slots & ~(usp_addr)(ALIGN - 1);
    /* A stack that ends at the thread's own data is the thread's own, not an alternate stack: it need not be
     * searched. */
    if (slots != 0 && stack->high == slots) return;
    if (!uspi_sigframe_leaves(&view, &h->registers, stack->from, stack->high, &sp)) return;
    find_extent(w, h->place.slots, sp, &h->stacks[1]);
}

static bool is_on_queue(const struct uspi_window *w, const struct uspi_held *h) {
    uintptr_t queue;
    return h->place.queue != 0 && uspi_darwin_read(w->task, h->place.queue_at, &queue, sizeof queue) == USP_OK &&
           queue == h->place.queue;
}

static bool is_ready(const struct uspi_held *h) { return h->suspended && h->status == USP_OK; }

static uint64_t room_for(const struct uspi_live *live) {
    return (live->high - live->from + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

static void add_need(struct uspi_window *w, uint64_t need) {
    w->need = need < SIZE_MAX - w->need ? w->need + (size_t)need : SIZE_MAX;
}

static bool must_grow(const struct uspi_window *w) { return w->need > w->arena_size && !w->all_that_fits; }

static void copy_live(struct uspi_window *w, struct uspi_live *live, size_t share) {
    size_t capacity = w->arena_size - w->copied < share ? w->arena_size - w->copied : share;
    size_t n = live->high - live->from < capacity ? (size_t)(live->high - live->from) : capacity;
    live->offset = w->copied;
    /* If the memory of a stopped thread was unmapped, its registers alone are the answer. */
    if (n != 0 && uspi_darwin_read(w->task, live->from, w->arena + live->offset, n) == USP_OK) live->copied = n;
    w->copied += (live->copied + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (w->copied > w->arena_size) w->copied = w->arena_size;
}

static void copy_stacks(struct uspi_window *w) {
    size_t ready = 0;
    w->need = w->copied = 0;
    for (size_t i = 0; i < w->count; i++) {
        struct uspi_held *h = &w->threads[i];
        memset(h->stacks, 0, sizeof h->stacks);
        h->on_queue = false;
        if (h->suspended) h->status = uspi_darwin_registers(h->port, &h->registers);
        if (!is_ready(h)) continue;
        h->on_queue = is_on_queue(w, h);
        find_extent(w, h->place.slots, usp_registers_sp(&h->registers) & ~uspi_host_signature_bits(), &h->stacks[0]);
        add_need(w, room_for(&h->stacks[0]));
        ready++;
    }
    if (must_grow(w)) return;
    size_t share = w->need <= w->arena_size ? SIZE_MAX : (w->arena_size / (ready + 1)) & ~(size_t)(ALIGN - 1);
    for (size_t i = 0; i < w->count; i++) {
        if (is_ready(&w->threads[i])) copy_live(w, &w->threads[i].stacks[0], share);
    }
    for (size_t i = 0; i < w->count; i++) {
        if (!is_ready(&w->threads[i])) continue;
        find_interrupted(w, &w->threads[i]);
        add_need(w, room_for(&w->threads[i].stacks[1]));
    }
    if (must_grow(w)) return;
    for (size_t i = 0; i < w->count; i++) {
        if (is_ready(&w->threads[i])) copy_live(w, &w->threads[i].stacks[1], share);
    }
}

/* ---- locks ---- */

/* Learns by what locks name the calling thread, before threads are suspended. The caller may have named another one that
 * is not in the window. */
static void learn_own(struct uspi_window *w) {
    if (!w->is_own || w->own_id != 0) return;
    w->own_id = uspi_darwin_own_thread();
    w->own_port = uspi_darwin_own_port();
}

/* Reads the names of all threads' ports, which only locks of few programs need. */
static void read_ports(struct uspi_window *w) {
    for (size_t i = 0; i < w->count; i++) {
        struct uspi_held *h = &w->threads[i];
        const usp_addr at = h->place.slots + PORT_SLOT * sizeof(uintptr_t);
        if (h->place.slots == 0 || uspi_darwin_read(w->task, at, &h->self, sizeof h->self) != USP_OK) h->self = 0;
    }
}

static uint64_t thread_with_port(const struct uspi_window *w, uint32_t port) {
    if (port == w->own_port) return w->own_id;
    for (size_t i = 0; i < w->count; i++) {
        if (port == w->threads[i].self) return w->threads[i].place.id;
    }
    return 0;
}

/* Finds which threads hold the locks that the stopped threads wait for. */
static void find_locks(struct uspi_window *w) {
    const struct usp_memory memory = {uspi_darwin_read_task, (void *)(uintptr_t)w->task};
    bool has_ports = false;
    for (size_t i = 0; i < w->count; i++) {
        struct uspi_held *h = &w->threads[i];
        memset(&h->lock, 0, sizeof h->lock);
        if (is_ready(h) && uspi_lock_wait_read(&h->lock, USP_OS_DARWIN, &h->registers, &memory))
            has_ports = has_ports || uspi_lock_wait_port(&h->lock) != 0;
    }
    if (!has_ports) return;
    read_ports(w);
    for (size_t i = 0; i < w->count; i++) {
        struct uspi_lock_wait *lock = &w->threads[i].lock;
        const uint32_t port = uspi_lock_wait_port(lock);
        if (port != 0) lock->owner = thread_with_port(w, port);
    }
}

/* ---- the window ---- */

/* Whether a thread runs again, or has ended. KERN_FAILURE means that it is not suspended; KERN_TERMINATED and a dead
 * port mean that it has ended. */
static bool runs(kern_return_t result) {
    return result == KERN_SUCCESS || result == KERN_FAILURE || uspi_darwin_status(result) == USP_ERROR_NO_THREAD;
}

static void resume_all(struct uspi_window *w) {
    if (w->token != MACH_PORT_NULL) {
        resume_task(w);
        return;
    }
    for (size_t i = w->count; i > 0; i--) {
        struct uspi_held *h = &w->threads[i - 1];
        if (!h->suspended) continue;
        for (unsigned attempt = 0; attempt < RESUMES && !runs(thread_resume(h->port)); attempt++) continue;
        h->ended = uspi_os_clock();
    }
}

static void find_live(const struct uspi_window *w, struct uspi_held *h) {
    memset(h->stacks, 0, sizeof h->stacks);
    h->on_queue = false;
    if (h->suspended) h->status = uspi_darwin_registers(h->port, &h->registers);
    if (!is_ready(h)) return;
    h->on_queue = is_on_queue(w, h);
    find_extent(w, h->place.slots, usp_registers_sp(&h->registers) & ~uspi_host_signature_bits(), &h->stacks[0]);
    h->stacks[0].copied = (size_t)(h->stacks[0].high - h->stacks[0].from);
    find_interrupted(w, h);
    h->stacks[1].copied = (size_t)(h->stacks[1].high - h->stacks[1].from);
}

void uspi_darwin_window_hold(struct uspi_window *window) {
    window->is_live = true;
    learn_own(window);
    suspend_all(window);
    for (size_t i = 0; i < window->count; i++) find_live(window, &window->threads[i]);
    find_locks(window);
}

void uspi_darwin_window_release(struct uspi_window *window) { resume_all(window); }

void uspi_darwin_window(struct uspi_window *window) {
    learn_own(window);
    suspend_all(window);
    copy_stacks(window);
    if (!must_grow(window)) find_locks(window);
    resume_all(window);

    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < window->count; i++) {
        const struct uspi_held *h = &window->threads[i];
        if (!h->suspended) continue;
        if (h->began < first) first = h->began;
        if (h->ended > last) last = h->ended;
    }
    window->stopped_ns = last > first ? last - first : 0;
}

void uspi_darwin_fill_copy(struct uspi_thread_copy *copy, const struct uspi_held *held, const uint8_t *arena) {
    copy->registers = held->registers;
    copy->lock = held->lock;
    copy->stopped_ns = held->ended - held->began;
    /* A walk that continues on another stack has no bounds. */
    if (held->stacks[0].whole && held->stacks[1].sp == 0) {
        copy->stack_low = held->stacks[0].low;
        copy->stack_high = held->stacks[0].high;
    }
    for (unsigned i = 0; i < 2; i++) {
        const struct uspi_live *live = &held->stacks[i];
        usp_addr from = live->from, high = live->high;
        if (i != 0 && live->sp == 0) continue;
        /* Whatever was not copied counts as unreadable, because it has changed meanwhile. If the stack's extent is not
         * known, that is all of it. */
        if (high == 0) {
            from = live->sp;
            high = from < UINT64_MAX - STACK_MAX ? from + STACK_MAX : UINT64_MAX;
        }
        copy->holes[i].low = from > BELOW_STACK ? from - BELOW_STACK : 0;
        if (copy->holes[i].low < live->low) copy->holes[i].low = live->low;
        copy->holes[i].high = high;
        /* Without memory for copies there is no arena. */
        const uint8_t *bytes = live->copied != 0 ? arena + live->offset : NULL;
        copy->parts[i] = (struct uspi_copied){bytes, live->from, live->copied};
    }
}

#endif

#endif
