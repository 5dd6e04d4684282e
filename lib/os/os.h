/* SPDX-License-Identifier: MIT */
/* What the library asks of the operating system. lib/os/ has one implementation for each of linux, darwin and none; the
 * last answers every question honestly with "unsupported", so that no caller needs an #ifdef.
 *
 * Only lib/os/ uses system headers. Functions marked async-signal-safe may be called in a signal handler and while threads are
 * stopped: they allocate nothing, lock nothing, never call the loader, and leave errno as it was. */
#ifndef USPI_OS_H
#define USPI_OS_H

#include "arch/frame.h"
#include "lib/base/context_table.h"

#include <unspool/capture.h>
#include <unspool/images.h>
#include <unspool/snapshot.h>
#include <unspool/unwind.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct uspi_error; /* lib/object/bytes.h */

/* enum usp_os of this host, USP_OS_UNKNOWN where live stacks cannot be captured. Async-signal-safe. */
uint32_t uspi_os_kind(void);

/* ---- locks ----
 *
 * Between threads that may wait for each other: for naming and for lists of images, never for capturing. Not recursive,
 * not async-signal-safe. The thread that holds one is not cancelled (pthread_cancel).
 *
 * In a child that is forked every lock can be taken, whatever the parent's other threads held: USPI_LOCK_ABANDONED says that
 * one of them held it, and that what the lock protects may be half changed. Locks that are given in the opposite order of
 * taking leave the thread as cancellable as it was. (lib/os/posix/lock.c) */

/* All zero: free. */
struct uspi_lock {
    _Atomic(uint32_t) holder; /* 0: free; else which process's thread holds it, and whether others may wait */
    int cancel_state;         /* of the holder before it took the lock */
};

enum uspi_lock_taken {
    USPI_LOCK_TAKEN,
    USPI_LOCK_ABANDONED, /* taken; a thread that did not come along through a fork held it */
    USPI_LOCK_HELD       /* not taken: another thread holds it */
};

/* NULL when memory lacks. */
struct uspi_lock *uspi_lock_create(void);

/* No thread may hold it. NULL is ignored. */
void uspi_lock_free(struct uspi_lock *lock);

/* Waits until the lock can be taken: USPI_LOCK_TAKEN or USPI_LOCK_ABANDONED. */
enum uspi_lock_taken uspi_lock_take(struct uspi_lock *lock);

/* Waits for at most `timeout` ns; 0: not at all. */
enum uspi_lock_taken uspi_lock_take_within(struct uspi_lock *lock, uint64_t timeout);

void uspi_lock_give(struct uspi_lock *lock);

/* ---- work on several threads ---- */

/* Calls `run` on `count` threads at once, of which the caller's is one, and returns when all have. Fewer where they cannot be
 * had. */
void uspi_os_parallel(unsigned count, void (*run)(void *context), void *context);

/* How many threads can run at once. */
unsigned uspi_os_processors(void);

/* ---- files and functions ---- */

/* Writes a file that others see whole or not at all, with the folders that lead to it. It takes the place of one that is there.
 * USP_OK, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM, USP_ERROR_NO_MEMORY. */
int uspi_os_publish(const char *path, const void *bytes, size_t n);

/* Makes the folder that a path is in and waits until no other process or thread has locked it. Returns what
 * uspi_os_unlock_folder takes; -1 where the folder cannot be locked (a file system without locks, a folder that cannot be
 * made): the caller goes on without. The system ends the lock of a process that was killed. */
int uspi_os_lock_folder(const char *path);
void uspi_os_unlock_folder(int lock);

/* Writes n bytes to an open file, all of them: interrupted and partial writes are taken up again. USP_OK or
 * USP_ERROR_SYSTEM. Async-signal-safe. (lib/os/posix/write.c) */
int uspi_os_write(int fd, const void *bytes, size_t n);

/* A regular file that is open for reading. (lib/os/posix/file.c) */
struct uspi_os_file {
    const uint8_t *mapped; /* its bytes; NULL: the file is empty or too large to map, and uspi_os_file_read reads it */
    uint64_t size;         /* in bytes */
    uint64_t modified;     /* when it was written last, in seconds since 1970 */
    int descriptor;        /* -1 when it is mapped */
};

/* Opens a regular file; anything else (a device, a pipe: a hostile core may name one) is refused unopened. Maps it unless it
 * is larger than a sixty-fourth of the address space. On success the file is the caller's, to be closed. USP_OK,
 * USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM, USP_ERROR_FORMAT (not a regular file). */
int uspi_os_file_open(const char *path, struct uspi_os_file *file, struct uspi_error *error);

/* Reads n bytes at an offset of a file that is not mapped: all of them and USP_OK, or USP_ERROR_TRUNCATED or
 * USP_ERROR_SYSTEM. Thread-safe. */
int uspi_os_file_read(const struct uspi_os_file *file, uint64_t at, void *to, size_t n);

void uspi_os_file_close(struct uspi_os_file *file);

/* Asks the system how large a file that is not mapped is now. USP_OK or USP_ERROR_SYSTEM. */
int uspi_os_file_measure(struct uspi_os_file *file);

/* Files that a runtime writes about the code that it generates (lib/symbolize/jit/). They belong to other programs, which go on
 * writing: they are never mapped, symbolic links are refused (USP_ERROR_PERMISSION), and so is what is not a regular file
 * (USP_ERROR_FORMAT) or belongs to a user who has no say here (USP_ERROR_PERMISSION). */
enum uspi_jit_file { USPI_JIT_PERF_MAP, USPI_JIT_DUMP, USPI_JIT_FILES };

/* Opens one of a live process (0: this one), as the process itself sees its files: /tmp/perf-PID.map, or the jit-PID.dump that
 * it has mapped. Its owner must be the process's user or root. *named becomes the id in the file's name, by which the process
 * knows itself. USP_ERROR_NOT_FOUND, USP_ERROR_UNSUPPORTED, otherwise as uspi_os_file_open. */
int uspi_os_jit_file_of(int64_t pid, enum uspi_jit_file which, struct uspi_os_file *file, int64_t *named);

/* Opens one in a folder. Its owner must be the caller, the folder's owner or root. (lib/os/posix/jit_file.c) */
int uspi_os_jit_file_in(const char *folder, const char *name, struct uspi_os_file *file);

/* Calls `each` with the name of each entry of a folder ("." and ".." left out), in the system's order, until it returns
 * false. USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM. */
int uspi_os_list_folder(const char *folder, bool (*each)(void *context, const char *name), void *context);

typedef void (*uspi_os_function)(void);

/* Finds a function by its name in the first of `libraries` (ends at NULL) that can be loaded and has it; "" stands for what
 * is loaded already. The library stays loaded. Loading runs the library's initialisers. (lib/os/posix/functions.c) */
bool uspi_os_find_function(const char *const *libraries, const char *name, uspi_os_function *function);

/* ---- the calling thread ---- */

/* The part of the calling thread's stack that is surely mapped and will stay so while the thread runs on it; 0, 0 before
 * it is learned. */
struct uspi_own_stack {
    uintptr_t low, high;
};

#if defined(__APPLE__)
/* Apple's thread-local storage is allocated when a thread first touches it (dyld libdyld/ThreadLocalVariables.c), and old
 * systems have none: libpthread, which knows the bounds, is asked each time. (lib/os/darwin/self.c) */
struct uspi_own_stack uspi_os_own_stack(void);
#else
/* glibc may allocate dynamic thread-local storage when a thread first touches it, which may happen in a signal handler. musl
 * allocates it with the thread, and does not load libraries that want it in another way (musl ldso/dynlink.c). */
#ifdef __GLIBC__
#define USPI_TLS_MODEL __attribute__((tls_model("initial-exec")))
#else
#define USPI_TLS_MODEL
#endif
extern _Thread_local USPI_TLS_MODEL struct uspi_own_stack uspi_own_stack;

static inline struct uspi_own_stack uspi_os_own_stack(void) { return uspi_own_stack; }
#endif

/* Tries to learn the calling thread, on whose stack `sp` should lie, with no more than a few probes. Async-signal-safe. */
bool uspi_os_learn_in_passing(uintptr_t sp);

/* Whether `sp` lies on the calling thread's own stack, as far as it is known: then sp … *high can be read directly. Any
 * time. */
static inline bool uspi_on_known_stack(uintptr_t sp, uintptr_t *high) {
    struct uspi_own_stack own = uspi_os_own_stack();
    *high = own.high;
    return sp - own.low < own.high - own.low;
}

/* The same, and learns the thread if it can. False: sp is on another stack (signal, coroutine), or the thread cannot be
 * learned in passing; then memory must be read with uspi_os_read. Async-signal-safe. */
static inline bool uspi_os_stack(uintptr_t sp, uintptr_t *high) {
    return uspi_on_known_stack(sp, high) || (uspi_os_learn_in_passing(sp) && uspi_on_known_stack(sp, high));
}

/* Learns the calling thread's bounds by whatever means. Not async-signal-safe. */
int uspi_os_learn_thread(void);

/* Whether the page that holds `address` can be read. Async-signal-safe. */
bool uspi_os_can_read(uintptr_t address);

/* Copies n bytes of this process from any address, mapped or not: all and USP_OK, or USP_ERROR_UNREADABLE. Has the shape
 * of usp_memory.read; context is not used. Async-signal-safe. */
int uspi_os_read(void *context, usp_addr from, void *to, size_t n);

/* Copies `count` pieces of this process, `size` bytes each, from the addresses `from` to `to`, one behind the other, with
 * as few system calls as there can be: all and USP_OK, or USP_ERROR_UNREADABLE. Async-signal-safe. */
int uspi_os_read_pieces(const usp_addr *from, size_t count, void *to, size_t size);

/* The registers in a signal handler's third argument. Async-signal-safe. */
int uspi_os_context_registers(const void *ucontext, struct usp_registers *registers);

/* Completes a target for a stack of this process: os, signature bits, roots, the Swift task slot of the calling thread.
 * Async-signal-safe. */
void uspi_os_describe_self(struct usp_target *target);

/* Roots are return addresses at which stacks end: that of main, and those of threads, of which there are two in glibc, whose
 * POSIX and C11 threads are started by different calls. Where start functions leave a frame pointer of 0 behind, as Apple's
 * do, stacks end by themselves, and there are none. */
#define USPI_THREAD_ROOTS 2u
#define USPI_ROOTS        (1 + USPI_THREAD_ROOTS)

/* Keeps one for uspi_os_describe_self. The caller keeps calls apart. */
void uspi_os_keep_root(usp_addr root);

/* Asks threads, which it starts and joins, for theirs. Returns how many there are. */
uint32_t uspi_os_thread_roots(usp_addr roots[USPI_THREAD_ROOTS]);

/* Where argc stands on the process's first stack; 0: not known. */
usp_addr uspi_os_first_stack_top(void);

/* Whether the calling thread runs a Swift task, as far as the platform tells; true with *id 0 where it does not tell and
 * the marks on the stack have to decide. Async-signal-safe. */
bool uspi_os_swift_task(uint32_t *id);

/* usp_clock. Async-signal-safe. */
uint64_t uspi_os_clock(void);

/* ns since 1970-01-01 UTC; 0 when the system does not say. Async-signal-safe. */
uint64_t uspi_os_wall_clock(void);

/* ---- a call that must not be torn ---- */

/* Between the two calls the calling thread runs no handler of the program's, and is not cancelled: signals and cancellation
 * wait, those aside that the processor raises. So nothing that a capture holds is lost by a handler that jumps away or by a
 * thread that ends. Can be nested; the first to begin is the last to end. Not async-signal-safe. */
struct uspi_undisturbed {
    uint64_t mask;
    int cancellation;
    bool is_masked;
};
void uspi_os_undisturbed_begin(struct uspi_undisturbed *kept);
void uspi_os_undisturbed_end(const struct uspi_undisturbed *kept);

/* ---- getting ready ---- */

int uspi_os_prepare(const struct usp_prepare_options *options);

/* Async-signal-safe. */
bool uspi_os_is_prepared(void);

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
 * AddressSanitizer. Async-signal-safe. */
USPI_NO_ASAN static inline void uspi_read_directly(uintptr_t from, void *to, size_t n) {
    struct __attribute__((packed, may_alias)) word {
        uint64_t value;
    };
    uint8_t *bytes = to;
    for (; n >= sizeof(struct word); n -= sizeof(struct word)) {
        ((struct word *)bytes)->value = ((const volatile struct word *)from)->value;
        from += sizeof(struct word);
        bytes += sizeof(struct word);
    }
    for (size_t i = 0; i < n; i++) bytes[i] = ((const volatile uint8_t *)from)[i];
}

/* n bytes at `from`; false when not all of them were copied. Async-signal-safe. */
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
    struct uspi_hole {
        usp_addr low, high; /* 0, 0: none */
    } dead[3];
    struct uspi_hole unsure;  /* where a stack goes on whose end is not known, or what lies above it, text even */
    usp_addr swift_task_slot; /* see struct usp_target */
    uint64_t stopped_ns;
    size_t own;                /* the OS layer's own */
    _Atomic(bool) was_cut_off; /* something was asked for behind what was copied of a stack */
};

/* What a copy holds of n bytes at `from`: USP_OK, USP_ERROR_UNREADABLE where nothing was at that moment, or
 * USP_ERROR_ABSENT: it does not say. (lib/capture/capture.c) */
int uspi_read_parts(const struct uspi_thread_copy *copy, usp_addr from, void *to, size_t n);

/* The same of what is no text: nothing is known of what lies in copy->unsure. (lib/capture/capture.c) */
int uspi_read_stacks(struct uspi_thread_copy *copy, usp_addr from, void *to, size_t n);

/* Gives a walk over a copy the reason USP_STOP_NOT_COPIED when that is why it ended. (lib/capture/capture.c) */
void uspi_note_cut(const struct uspi_thread_copy *copy, struct usp_stack *stack);

/* usp_prepare_options.timeout as usp_prepare was given it, in ns; 0 before. */
uint64_t uspi_os_capture_timeout(void);

/* Stops another thread of this process, copies its registers and stack, and resumes it; all of that until `deadline`
 * (usp_clock). On USP_OK the copy must be given back. Between uspi_os_undisturbed_begin and _end. */
int uspi_os_copy_thread(const struct usp_thread *thread, uint64_t deadline, struct uspi_thread_copy *copy);
void uspi_os_release_copy(struct uspi_thread_copy *copy);

/* ---- all threads at one moment ---- */

/* One thread of a stopped process. `status` says whether the copy is there. */
struct uspi_stopped_thread {
    struct usp_thread_info info;
    int32_t status;
    struct uspi_thread_copy copy;
    const struct usp_snapshot_thread
        *walked; /* its stack, if that was walked long ago; NULL: the copy is to be walked */
};

/* A process that was stopped and copied, and runs again. What was copied hangs on `owned`. */
struct uspi_stopped_process {
    struct uspi_stopped_thread *threads;
    size_t thread_count;
    struct uspi_context_table contexts; /* of all threads */
    int64_t pid;
    uint32_t arch;
    uint64_t pac_mask;      /* see struct usp_target */
    const usp_addr *roots;  /* see struct usp_target; */
    uint32_t root_count;    /* these live as long as what they belong to */
    uint64_t stopped_ns;    /* from the first thread that stopped to the last one running again */
    struct usp_memory live; /* the process's memory as it is when it is read; not of another one under its id */
    bool has_moved;         /* memory may have been mapped or unmapped between before_stop and the stop */
    void *owned;
    void (*release)(void *owned);
};

/* Frees what it holds and clears it. */
static inline void uspi_os_free_stopped(struct uspi_stopped_process *process) {
    if (process->owned != NULL) process->release(process->owned);
    free(process->threads);
    uspi_context_table_free(&process->contexts);
    memset(process, 0, sizeof *process);
}

/* How a process is to be stopped. */
struct uspi_stop_options {
    uint64_t timeout;     /* ns, for all of it */
    uint64_t only_thread; /* an id; 0: all */
    bool by_helper;       /* of this process: see enum usp_snapshot_means */
    /* Learns what can be known of the process before any thread is stopped; may be NULL. Returns the code of Swift's concurrency
     * runtime if async contexts are to be copied as well; else all zero. Called once at most, and not by all systems. */
    struct usp_region (*before_stop)(void *context);
    void *context;
};

/* Every thread of this process but the caller, which is in the list without a copy (USP_THREAD_REQUESTER). On USP_OK *out
 * must be freed, otherwise it is empty. */
int uspi_os_stop_self(const struct uspi_stop_options *options, struct uspi_stopped_process *out);

/* Every thread of another process. `error` as in usp_snapshot_create_process. */
int uspi_os_stop_process(int64_t pid, const struct uspi_stop_options *options, struct uspi_stopped_process *out,
                         char *error, size_t error_size);

/* ---- images ---- */

/* Where images go that are found. */
struct uspi_images_found {
    /* Copies an image with its path. USP_OK or an error, which ends the listing. */
    int (*add)(void *context, const struct usp_image *image);
    /* Adds a range that can be read and holds no code, in ascending order, where the system tells. Returns as `add`. */
    int (*add_data)(void *context, usp_addr low, usp_addr high);
    void *context;
    bool has_cache;                /* becomes true where the process has a shared cache, */
    struct usp_shared_cache cache; /* this one */
};

/* What this process had loaded when its images were listed. */
struct uspi_os_loaded;

/* Finds all images of this process. Takes no lock that another thread may hold for long. While the loader changes its list,
 * it is read again, once at least, and until `deadline` (usp_clock; UINT64_MAX: none); then USP_ERROR_BUSY. On success
 * *loaded is the caller's. */
int uspi_os_images_self(struct uspi_images_found *found, uint64_t deadline, struct uspi_os_loaded **loaded);

/* Whether nothing was loaded or unloaded since. One of many libraries that another one has replaced at the same place, and at
 * the same place of the loader's list, may be noticed by a later call. Thread-safe, async-signal-safe. */
bool uspi_os_loaded_is_current(struct uspi_os_loaded *loaded);

/* NULL is ignored. */
void uspi_os_loaded_free(struct uspi_os_loaded *loaded);

/* Finds all images of another process. */
int uspi_os_images_process(int64_t pid, struct uspi_images_found *found);

/* The image of this process that holds an address, by what its loader tells without a lock; `path`, of path_size > 0 bytes,
 * becomes its path, cut to fit. USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_BUSY while the loader changes it,
 * USP_ERROR_UNSUPPORTED where it does not tell so, or another status. Async-signal-safe. */
int uspi_os_image_at(usp_addr address, struct usp_image *image, char *path, size_t path_size);

/* Moves an image's path into the caller's room, cut off where that ends. Async-signal-safe. */
static inline void uspi_image_move_path(struct usp_image *image, char *path, size_t path_size) {
    size_t length = strnlen(image->path, path_size - 1);
    memcpy(path, image->path, length);
    path[length] = '\0';
    image->path = path;
}

#define USPI_OS_PATH_MAX 96

/* The path by which the file that a process (0: this one) has mapped for an image can be opened, whatever has become of
 * its name. USP_OK, USP_ERROR_NOT_FOUND when nothing is mapped there, USP_ERROR_UNSUPPORTED. That it can be opened is
 * not said: the system may want a privilege. */
int uspi_os_mapped_file(int64_t pid, const struct usp_image *image, char path[USPI_OS_PATH_MAX]);

/* The memory of another process, to be closed. It stays that process's when the id is used again. */
int uspi_os_process_memory_open(int64_t pid, struct usp_memory *memory);
void uspi_os_process_memory_close(const struct usp_memory *memory);

/* Gets a range of addresses of a process, size > 0. USP_OK, or an error that ends the listing. */
typedef int (*uspi_range_function)(void *context, usp_addr low, uint64_t size);

/* Lists the memory that another process can read and write and that is no file's: its heaps, its threads' stacks. USP_OK, what
 * `each` returned, USP_ERROR_NO_THREAD, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM, USP_ERROR_UNSUPPORTED. May allocate. */
int uspi_os_writable_memory(int64_t pid, uspi_range_function each, void *context);

/* What dladdr says of an address of this process: the symbol's name, address and size if known, and the image.
 * Copies nothing: the strings live as long as the image is loaded. False when no image holds it. Takes the loader's
 * lock. */
bool uspi_os_dladdr(uintptr_t address, const char **name, uintptr_t *start, size_t *size, const char **path,
                    uintptr_t *load);

/* The address of what a name stands for in this process, for the image that links it last; 0 when nothing exports it. Takes the
 * loader's lock. */
uintptr_t uspi_os_find_symbol(const char *name);

/* Where the function that holds an address of this process begins, by its unwind information; on ARM with the Thumb bit.
 * False when that says nothing, or nothing exact. Takes the loader's lock, may allocate. */
bool uspi_os_function_start(uintptr_t address, uintptr_t *start);

/* ---- threads of the library's own, and how they sleep ----
 *
 * Not async-signal-safe but where it is said. */

struct uspi_own_thread;

/* Starts a thread in which `run` is called with `context`: with all signals blocked, under a name (cut where the system keeps
 * less). On success the thread is to be joined. USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM. (lib/os/posix/thread.c) */
int uspi_os_thread_start(const char *name, void (*run)(void *context), void *context, struct uspi_own_thread **thread);

/* Waits until it has ended, and frees it. */
void uspi_os_thread_join(struct uspi_own_thread *thread);

/* Frees it; the thread goes on, and is not waited for. */
void uspi_os_thread_leave(struct uspi_own_thread *thread);

/* Names the calling thread, as far as the system keeps names. */
void uspi_os_name_thread(const char *name);

/* This process's id: another one in the child of a fork. Async-signal-safe. */
int64_t uspi_os_process_id(void);

/* What one thread sleeps on until another one wakes it. */
struct uspi_event {
    _Atomic(uint32_t) word; /* 1: set */
    uint32_t port;          /* Darwin: a semaphore */
};

/* False where the system has nothing to sleep on. */
bool uspi_event_init(struct uspi_event *event);
void uspi_event_free(struct uspi_event *event);

/* Wakes the thread that waits, or that will. One system call. Async-signal-safe. */
void uspi_event_set(struct uspi_event *event);

/* Sleeps until the event is set, which it is not afterwards, or until a usp_clock value; UINT64_MAX: for ever. One thread at a
 * time. Whether it was set. */
bool uspi_event_wait(struct uspi_event *event, uint64_t deadline);

/* A descriptor that a loop can wait for, and that this process makes readable; fds[0] is for the loop. On Linux both are the
 * same. USP_OK, USP_ERROR_SYSTEM, USP_ERROR_UNSUPPORTED. */
int uspi_os_signal_open(int fds[2]);
void uspi_os_signal_close(int fds[2]);
void uspi_os_signal_send(const int fds[2]);  /* async-signal-safe */
void uspi_os_signal_clear(const int fds[2]); /* async-signal-safe */

/* ---- threads of this process that are looked at again and again ---- */

/* The processor time that a thread has used so far, in ns. USP_OK, USP_ERROR_NO_THREAD, USP_ERROR_UNSUPPORTED. Async-signal-safe. */
int uspi_os_thread_cpu(const struct usp_thread *thread, uint64_t *ns);

/* The name, flags and state of a thread, as uspi_os_threads has them. USP_OK, USP_ERROR_NO_THREAD, USP_ERROR_UNSUPPORTED. */
int uspi_os_thread_describe(const struct usp_thread *thread, struct usp_thread_info *info);

/* A list of the threads that can be read again without being opened. */
struct uspi_os_listing {
    int fd;
    char *buffer;
    size_t size;
};

/* USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM, USP_ERROR_UNSUPPORTED. On USP_OK it must be closed. */
int uspi_os_listing_open(struct uspi_os_listing *listing);
void uspi_os_listing_close(struct uspi_os_listing *listing);

/* How many threads there are, at less cost than a list of them; USP_ERROR_UNSUPPORTED where there is no such way. */
int uspi_os_listing_count(const struct uspi_os_listing *listing, size_t *count);

/* The threads: as uspi_os_threads, without a description of each. Each is to be released. */
int uspi_os_listing_read(struct uspi_os_listing *listing, struct usp_thread *threads, size_t capacity, size_t *count);

/* Whether a debugger, or another tracer, holds this process. Reads a file, or asks the kernel. Async-signal-safe. */
bool uspi_os_is_traced(void);

/* ---- another process that is looked at again and again ----
 *
 * One thread at a time may use it. None of it is async-signal-safe. */

struct uspi_os_other;

/* Opens a process. `error` as in usp_snapshot_create_process. On success *other is the caller's. USP_OK, USP_ERROR_NO_THREAD,
 * USP_ERROR_PERMISSION, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM, USP_ERROR_UNSUPPORTED where there is no such way. That its
 * threads may be stopped is not said yet. */
int uspi_os_other_open(int64_t pid, struct uspi_os_other **other, char *error, size_t error_size);

/* NULL is ignored. */
void uspi_os_other_close(struct uspi_os_other *other);

/* Its memory as it is when it is read. After exec it has another one, which this call opens: what it gave before reads nothing
 * then. Valid until the next call. */
struct usp_memory uspi_os_other_memory(struct uspi_os_other *other);

/* How much it has mapped. As long as the number is the same, it has probably mapped and unmapped nothing. 0: not known. */
uint64_t uspi_os_other_mapped(struct uspi_os_other *other);

/* As uspi_os_listing_count, uspi_os_listing_read, uspi_os_thread_describe. A main thread that has ended, and whose entry the
 * system keeps, is no thread. */
int uspi_os_other_count(struct uspi_os_other *other, size_t *count);
int uspi_os_other_list(struct uspi_os_other *other, struct usp_thread *threads, size_t capacity, size_t *count);
int uspi_os_other_describe(struct uspi_os_other *other, const struct usp_thread *thread, struct usp_thread_info *info);

/* The clocks of many threads are going to be asked for: those that cannot have moved are not read then. */
void uspi_os_other_begin_look(struct uspi_os_other *other);

/* As uspi_os_thread_cpu. The time of a thread that runs may be out of date, until the scheduler accounts for it, at its next
 * tick. */
int uspi_os_other_cpu(struct uspi_os_other *other, const struct usp_thread *thread, uint64_t *ns);

/* Stops some of its threads together, copies, lets them go. What is in *stopped belongs to `other`, until the next call: it is
 * not to be freed. Each thread has its own status. USP_OK or why none could be stopped. */
int uspi_os_other_stop(struct uspi_os_other *other, const struct usp_thread *threads, size_t count,
                       struct uspi_stopped_process *stopped);

/* The processor time that threads have used which stopped others for it, and have ended since; in ns. */
uint64_t uspi_os_other_spent(const struct uspi_os_other *other);

/* ---- files that stay when the process is killed ---- */

struct uspi_os_mapping {
    uint8_t *bytes;
    size_t size;
};

/* Makes a file of so many bytes, of which all are reserved on the disk, and maps it; what it held is lost, bytes that were not
 * written are 0. Others may not read it. USP_OK, USP_ERROR_PERMISSION, USP_ERROR_NOT_FOUND (no such folder), USP_ERROR_NO_MEMORY,
 * USP_ERROR_SYSTEM (no room). (lib/os/posix/mapping.c) */
int uspi_os_mapping_make(const char *path, size_t size, struct uspi_os_mapping *mapping);
void uspi_os_mapping_close(struct uspi_os_mapping *mapping);

#endif
