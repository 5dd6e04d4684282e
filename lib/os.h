/* SPDX-License-Identifier: MIT */
/* What the library asks of the operating system. lib/os/ has one implementation for each of linux, darwin and none; the
 * last answers every question honestly with "unsupported", so that no caller needs an #ifdef.
 *
 * Only lib/os/ uses system headers. Functions marked "any time" are safe in a signal handler and while threads are
 * stopped: they allocate nothing, lock nothing, never call the loader, and leave errno as it was. */
#ifndef USPI_OS_H
#define USPI_OS_H

#include "arch/frame.h"

#include <unspool/capture.h>
#include <unspool/images.h>
#include <unspool/snapshot.h>
#include <unspool/unwind.h>

#include <string.h>

struct uspi_image_list; /* lib/image_list.h */

/* enum usp_os of this host, USP_OS_UNKNOWN where live stacks cannot be had. Any time. */
uint32_t uspi_os_kind(void);

/* ---- locks ----
 *
 * Between threads that may wait for each other: for naming and for lists of images, never for capturing. Not recursive,
 * not any time. */

struct uspi_lock;

/* NULL when memory lacks. */
struct uspi_lock *uspi_lock_create(void);

/* Nobody may hold it. NULL is ignored. */
void uspi_lock_free(struct uspi_lock *lock);

void uspi_lock_take(struct uspi_lock *lock);
void uspi_lock_give(struct uspi_lock *lock);

/* ---- files and functions ---- */

/* Writes n bytes to an open file, all of them: interrupted and partial writes are taken up again. USP_OK or
 * USP_ERROR_SYSTEM. Any time. (lib/os/write.c) */
int uspi_os_write(int fd, const void *bytes, size_t n);

typedef void (*uspi_os_function)(void);

/* Finds a function by its name: among what is loaded, then in the first of `libraries` (ends at NULL) that can be loaded and
 * has it, which stays loaded. Loading runs the library's initialisers. (lib/os/functions.c) */
bool uspi_os_find_function(const char *const *libraries, const char *name, uspi_os_function *function);

/* ---- the calling thread ---- */

/* The part of the calling thread's stack that is surely mapped and will stay so while the thread runs on it; 0, 0 before
 * it is learned. */
struct uspi_own_stack {
    uintptr_t low, high;
};

#if defined(__APPLE__)
/* Apple's thread-local storage is allocated when a thread first touches it (dyld libdyld/ThreadLocalVariables.c), and old
 * systems have none: libpthread, which knows the bounds, is asked each time. (lib/os/darwin_self.c) */
struct uspi_own_stack uspi_os_own_stack(void);

/* Tells the calling thread from others that run. Any time. */
uintptr_t uspi_os_thread_mark(void);
#else
/* Initial-exec: the first touch of dynamic thread-local storage may allocate, and may happen in a signal handler. */
extern _Thread_local __attribute__((tls_model("initial-exec"))) struct uspi_own_stack uspi_own_stack;

static inline struct uspi_own_stack uspi_os_own_stack(void) { return uspi_own_stack; }

static inline uintptr_t uspi_os_thread_mark(void) { return (uintptr_t)&uspi_own_stack; }
#endif

/* Tries to learn the calling thread, on whose stack `sp` should lie, with no more than a few probes. Any time. */
bool uspi_os_learn_in_passing(uintptr_t sp);

/* Whether `sp` lies on the calling thread's own stack, as far as it is known: then sp … *high can be read directly. Any
 * time. */
static inline bool uspi_on_known_stack(uintptr_t sp, uintptr_t *high) {
    struct uspi_own_stack own = uspi_os_own_stack();
    *high = own.high;
    return sp - own.low < own.high - own.low;
}

/* The same, and learns the thread if it can. False: sp is on another stack (signal, coroutine), or the thread cannot be
 * learned in passing; then memory must be read with uspi_os_read. Any time. */
static inline bool uspi_os_stack(uintptr_t sp, uintptr_t *high) {
    return uspi_on_known_stack(sp, high) || (uspi_os_learn_in_passing(sp) && uspi_on_known_stack(sp, high));
}

/* Learns the calling thread's bounds by whatever means. Not any time. */
int uspi_os_learn_thread(void);

/* Whether the page that holds `address` can be read. Any time. */
bool uspi_os_can_read(uintptr_t address);

/* Copies n bytes of this process from any address, mapped or not: all and USP_OK, or USP_ERROR_UNREADABLE. Has the shape
 * of usp_memory.read; context is not used. Any time. */
int uspi_os_read(void *context, usp_addr from, void *to, size_t n);

/* Copies `count` pieces of this process, `size` bytes each, from the addresses `from` to `to`, one behind the other, with
 * as few system calls as there can be: all and USP_OK, or USP_ERROR_UNREADABLE. Any time. */
int uspi_os_read_pieces(const usp_addr *from, size_t count, void *to, size_t size);

/* The registers in a signal handler's third argument. Any time. */
int uspi_os_context_registers(const void *ucontext, struct usp_registers *registers);

/* Completes a target for a stack of this process: os, signature bits, roots, the Swift task slot of the calling thread.
 * Any time. */
void uspi_os_describe_self(struct usp_target *target);

/* Whether the calling thread runs a Swift task, as far as the platform tells; true with *id 0 where it does not tell and
 * the marks on the stack have to decide. Any time. */
bool uspi_os_swift_task(uint32_t *id);

/* usp_clock. Any time. */
uint64_t uspi_os_clock(void);

/* ns since 1970-01-01 UTC; 0 when the system does not tell. Any time. */
uint64_t uspi_os_wall_clock(void);

/* ---- getting ready ---- */

int uspi_os_prepare(const struct usp_prepare_options *options);
void uspi_os_shutdown(void);

/* The bytes that are reserved for copies of stacks; 0 while a capture makes it impossible to tell. */
size_t uspi_os_reserved(void);

/* ---- threads of this process ---- */

int uspi_os_thread_self(struct usp_thread *thread);
int uspi_os_thread_main(struct usp_thread *thread);
int uspi_os_thread_from_pthread(uintptr_t pthread, struct usp_thread *thread);
void uspi_os_thread_release(struct usp_thread *thread);
int uspi_os_threads(struct usp_thread_info *infos, size_t capacity, size_t *count);

/* Target memory that was copied. */
struct uspi_copied {
    const uint8_t *bytes;
    usp_addr from; /* target address of bytes[0] */
    size_t size;
};

/* n bytes of this process that are known to be there. Not memcpy: what lies on a stack may be fenced off by
 * AddressSanitizer. Any time. */
USPI_NO_ASAN static inline void uspi_read_directly(uintptr_t from, void *to, size_t n) {
    const volatile uint8_t *bytes = (const volatile uint8_t *)from;
    for (size_t i = 0; i < n; i++) ((uint8_t *)to)[i] = bytes[i];
}

/* n bytes at `from`; false when not all of them were copied. Any time. */
static inline bool uspi_read_copied(const struct uspi_copied *copied, usp_addr from, void *to, size_t n) {
    if (from < copied->from || from - copied->from > copied->size) return false;
    if (n > copied->size - (size_t)(from - copied->from)) return false;
    memcpy(to, copied->bytes + (size_t)(from - copied->from), n);
    return true;
}

/* A thread as it stood: registers and the copied live part of its stack. The bytes are valid until
 * uspi_os_release_copy or uspi_os_free_stopped. */
struct uspi_thread_copy {
    struct usp_registers registers;
    struct uspi_copied parts[2]; /* of the stack that it ran on; on an alternate signal stack also of the other one */
    usp_addr stack_low, stack_high; /* of the whole stack; 0, 0 unknown */
    /* Of the thread's stacks, as far as they are in no part: whatever is there now, it was not there at that moment. */
    struct uspi_dead {
        usp_addr low, high; /* 0, 0: none */
    } dead[3];
    struct uspi_dead unsure;  /* where a stack goes on whose end is not known, or what lies above it, text even */
    usp_addr swift_task_slot; /* see struct usp_target */
    uint64_t stopped_ns;
};

/* What a copy holds of n bytes at `from`: USP_OK, USP_ERROR_UNREADABLE where nothing was at that moment, or
 * USP_ERROR_ABSENT: it does not say. (lib/capture.c) */
int uspi_read_parts(const struct uspi_thread_copy *copy, usp_addr from, void *to, size_t n);

/* The same of what is no text: nothing is known of what lies in copy->unsure. (lib/capture.c) */
int uspi_read_stacks(const struct uspi_thread_copy *copy, usp_addr from, void *to, size_t n);

/* The shape of usp_memory.read over a copy: context is the struct uspi_thread_copy. What the copy lacks is read from this
 * process as it is now. (lib/capture.c) */
int uspi_read_copy(void *context, usp_addr from, void *to, size_t n);

/* Stops another thread of this process, copies, lets it go. One at a time: callers wait for each other, bounded by the
 * timeout. On USP_OK the copy must be given back. */
int uspi_os_copy_thread(const struct usp_thread *thread, struct uspi_thread_copy *copy);
void uspi_os_release_copy(struct uspi_thread_copy *copy);

/* ---- all threads at one moment ---- */

/* One thread of a stopped process. `status` says whether the copy is there. */
struct uspi_stopped_thread {
    struct usp_thread_info info;
    int32_t status;
    bool is_held; /* it has not been let go yet, and copy.stopped_ns is not known */
    struct uspi_thread_copy copy;
    const struct usp_snapshot_thread
        *walked; /* its stack, if that was walked long ago; NULL: the copy is to be walked */
};

/* A process that was stopped and copied, and is let go. What was copied hangs on `owned`. */
struct uspi_stopped_process {
    struct uspi_stopped_thread *threads;
    size_t thread_count;
    int64_t pid;
    uint32_t arch;
    uint64_t pac_mask;      /* see struct usp_target */
    const usp_addr *roots;  /* see struct usp_target; */
    uint32_t root_count;    /* these live as long as what they belong to */
    uint64_t stopped_ns;    /* from the first thread that stopped to the last one running again; after uspi_os_settle */
    struct usp_memory live; /* the process's memory as it is when it is read; not of another one under its id */
    struct usp_images *images; /* as they were at that moment; NULL: they have to be listed */
    void *owned;
    void (*look)(struct uspi_stopped_process *process);   /* whether they run again, so that stopped_ns is exact */
    void (*settle)(struct uspi_stopped_process *process); /* NULL: nobody is held any more, and look is not called */
    void (*release)(void *owned);
};

/* Every thread of this process but the caller, which is in the list without a copy (USP_THREAD_REQUESTER). timeout in
 * ns; only_thread: an id, 0 for all. On USP_OK *out must be freed, otherwise it is empty. */
int uspi_os_stop_self(uint64_t timeout, uint64_t only_thread, struct uspi_stopped_process *out);

/* Every thread of another process. When it returns, the copies are made, and the threads are being let go by somebody else.
 * `error` as in usp_snapshot_process. */
int uspi_os_stop_process(int64_t pid, uint64_t timeout, uint64_t only_thread, struct uspi_stopped_process *out,
                         char *error, size_t error_size);

/* Waits until every thread runs again. Any number of times. (lib/snapshot.c) */
void uspi_os_settle(struct uspi_stopped_process *process);

/* Settles it, frees what it holds and clears it. (lib/snapshot.c) */
void uspi_os_free_stopped(struct uspi_stopped_process *process);

/* Where stacks of another process end, as far as it has the images in which ours do (the same libc): writes up to
 * `capacity` return addresses, returns how many. Known after uspi_os_prepare or uspi_os_stop_process. Any time. */
uint32_t uspi_os_roots_in(const struct usp_images *images, usp_addr *roots, uint32_t capacity);

/* ---- images ---- */

/* Adds all images of this process, of another one, to a list that is being built. */
int uspi_os_images_self(struct uspi_image_list *list);
int uspi_os_images_process(int64_t pid, struct uspi_image_list *list);

/* A number that changes whenever an image is loaded into this process or unloaded; 0 where there are none. Takes the
 * loader's lock. */
uint64_t uspi_os_images_generation(void);

/* The image of this process that holds an address, by what its loader tells without a lock; `path`, of path_size > 0 bytes,
 * becomes its path, cut to fit. USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_BUSY while the loader changes it,
 * USP_ERROR_UNSUPPORTED where it does not tell so, or another status. Any time. */
int uspi_os_image_at(usp_addr address, struct usp_image *image, char *path, size_t path_size);

#define USPI_OS_PATH_MAX 96

/* The path by which the file that a process (0: this one) has mapped for an image can be opened, whatever has become of
 * its name. USP_OK, USP_ERROR_NOT_FOUND when nothing is mapped there, USP_ERROR_UNSUPPORTED. That it can be opened is
 * not said: the system may want a privilege. */
int uspi_os_mapped_file(int64_t pid, const struct usp_image *image, char path[USPI_OS_PATH_MAX]);

/* The memory of another process, to be closed. It stays that process's when the id is used again. */
int uspi_os_process_memory_open(int64_t pid, struct usp_memory *memory);
void uspi_os_process_memory_close(const struct usp_memory *memory);

/* What dladdr says of an address of this process: the symbol's name, address and size if known, and the image.
 * Copies nothing: the strings live as long as the image is loaded. False when no image holds it. Takes the loader's
 * lock. */
bool uspi_os_dladdr(uintptr_t address, const char **name, uintptr_t *start, size_t *size, const char **path,
                    uintptr_t *load);

/* The address of what a name stands for in this process, for whoever links it last; 0 when nothing exports it. Takes the
 * loader's lock. */
uintptr_t uspi_os_find_symbol(const char *name);

/* Where the function that holds an address of this process begins, by its unwind information; on ARM with the Thumb bit.
 * False when that says nothing, or nothing exact. Takes the loader's lock, may allocate. */
bool uspi_os_function_start(uintptr_t address, uintptr_t *start);

#endif
