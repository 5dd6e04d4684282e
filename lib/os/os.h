/* SPDX-License-Identifier: MIT */
/* The library's interface to the operating system. lib/os/ implements it for linux, darwin and none. The last one
 * returns "unsupported" everywhere, so that callers need no #ifdef.
 *
 * Only lib/os/ uses system headers. Functions marked async-signal-safe may be called in a signal handler and while
 * threads are stopped: they allocate nothing, take no lock, do not call the loader, and preserve errno. */
#ifndef USPI_OS_OS_H
#define USPI_OS_OS_H

#include "arch/frame.h"
#include "lib/base/context_table.h"
#include "lib/base/lock_wait.h"
#include "lib/os/which.h"

#include <unspool/capture.h>
#include <unspool/images.h>
#include <unspool/snapshot.h>
#include <unspool/unwind.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct uspi_error; /* lib/object/bytes.h */

/* Which formats of images this system loads: constants for tables of functions. */
#define USPI_OS_LOADS_ELF   (USPI_OS == USPI_OS_LINUX)
#define USPI_OS_LOADS_MACHO (USPI_OS == USPI_OS_DARWIN)

/* Returns the enum usp_os of this host; USP_OS_UNKNOWN where live stacks cannot be captured. Async-signal-safe. */
uint32_t uspi_os_kind(void);

/* ---- locks ----
 *
 * Locks for threads that may wait for each other: in symbolication and for lists of images, never in captures. Not
 * recursive, not async-signal-safe. The thread that holds one is not cancelled (pthread_cancel).
 *
 * fork waits for the holders of locks that uspi_lock_create made, for 0.1 s at most, so the child finds complete data.
 * In the child every lock can be taken, whatever the parent's other threads held. USPI_LOCK_ABANDONED then says that
 * one of them held it, and that the protected data may be half changed. Locks that are released in the reverse order of
 * taking restore the thread's cancel state. (lib/os/posix/lock.c) */

/* All zero: free. */
struct uspi_lock {
    _Atomic(uint32_t) holder; /* 0: free; otherwise the holder's process (lock.c, `mark`) and whether others may wait */
    int cancel_state;         /* the holder's cancel state before it took the lock */
    bool is_kept_by_fork;     /* the thread that forks has taken it */
    struct uspi_lock *next;   /* in the list of locks that uspi_lock_create made */
    struct uspi_lock **link;  /* the pointer to this lock in that list */
};

enum uspi_lock_taken {
    USPI_LOCK_TAKEN,
    USPI_LOCK_ABANDONED, /* taken; it was held by a thread that a fork did not copy */
    USPI_LOCK_HELD       /* not taken: another thread holds it */
};

/* Returns NULL when memory is exhausted. */
struct uspi_lock *uspi_lock_create(void);

/* Frees a lock that no thread holds. NULL is ignored. */
void uspi_lock_free(struct uspi_lock *lock);

/* Waits until the lock can be taken. Returns USPI_LOCK_TAKEN or USPI_LOCK_ABANDONED. */
enum uspi_lock_taken uspi_lock_take(struct uspi_lock *lock);

/* Waits for at most `timeout` ns; 0: does not wait. */
enum uspi_lock_taken uspi_lock_take_within(struct uspi_lock *lock, uint64_t timeout);

void uspi_lock_give(struct uspi_lock *lock);

/* ---- work on several threads ---- */

/* Calls `run` on `count` threads at once, including the caller's, and returns when all calls have returned. Uses fewer
 * threads if they cannot be created. */
void uspi_os_parallel(unsigned count, void (*run)(void *context), void *context);

/* Returns how many threads can run at once. */
unsigned uspi_os_processors(void);

/* ---- files and functions ---- */

/* Writes a file atomically, and creates the folders of its path. Other processes see either the complete new file or
 * the previous state. The folder that the path's first `top` bytes name may be reached through links. Below it a link
 * in the place of a folder is refused: another user may have made it. The file has at most the permissions `mode`, and
 * at most those that the process's umask allows. Permissions of the group that not all users have are dropped if the
 * file gets another group than this process's. Returns USP_OK, or with a sentence in *error USP_ERROR_PERMISSION (also
 * for such a link), USP_ERROR_SYSTEM, USP_ERROR_NO_MEMORY. */
int uspi_os_publish(const char *path, size_t top, uint32_t mode, const void *bytes, size_t n, struct uspi_error *error);

/* Creates the folder of a path, as uspi_os_publish does, and waits until it can lock it against other processes and
 * threads, at most ten seconds. Returns the argument of uspi_os_unlock_folder; -1 when the folder cannot be locked or
 * created (such as on a file system without locks): the caller goes on without the lock. The system releases the lock
 * of a process that is killed. */
int uspi_os_lock_folder(const char *path, size_t top);
void uspi_os_unlock_folder(int lock);

/* The same for a folder that is not created, within one second. */
int uspi_os_lock_old_folder(const char *path);

/* Writes all of n bytes to an open file; continues after interrupted and partial writes. Returns USP_OK or
 * USP_ERROR_SYSTEM. Async-signal-safe. (lib/os/posix/write.c) */
int uspi_os_write(int fd, const void *bytes, size_t n);

/* Returns whether a file of this process may have this size. A write beyond the limit would end the process by SIGXFSZ.
 * (lib/os/posix/write.c) */
bool uspi_os_may_write(uint64_t size);

/* Linux: raises the limit of descriptors, if the program has used up all: that often is why it crashes, and its report
 * needs a few. Returns whether it did; *before: the limit that the caller restores. Async-signal-safe.
 * (lib/os/posix/write.c) */
bool uspi_os_raise_descriptors(uint64_t *before);
void uspi_os_restore_descriptors(uint64_t before);

/* A regular file, open for reading. It is never mapped: another program that shortens a mapped file would end this
 * process by SIGBUS. (lib/os/posix/file.c) */
struct uspi_os_file {
    uint64_t size;     /* in bytes, when it was opened */
    uint64_t modified; /* time of the last modification, in seconds since 1970 */
    uint64_t device, inode;
    uint32_t withheld; /* permissions (0777) that a file made of this one must not have */
    int descriptor;    /* -1: it is closed */
};

/* Opens a regular file. Anything else is refused without being opened: a hostile core may name a device or a pipe. The
 * path's first `root` bytes are a folder: links after it are resolved as if it was the root of all files. 0: none. On
 * success the caller closes the file. Returns USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM,
 * USP_ERROR_NO_MEMORY, USP_ERROR_FORMAT (not a regular file). */
int uspi_os_file_open(const char *path, size_t root, struct uspi_os_file *file, struct uspi_error *error);

/* Opens the regular file at `path` below an open folder, with links as in uspi_os_file_open. Returns a descriptor, or
 * USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION, USP_ERROR_FORMAT, USP_ERROR_SYSTEM, USP_ERROR_NO_MEMORY. */
int uspi_os_open_below(int folder, const char *path);

/* Which files a process finds at a path; the stricter the later. */
enum uspi_files_seen {
    USPI_FILES_UNKNOWN, /* the system does not say, as of a process that has ended */
    USPI_FILES_SAME,    /* those that this process finds there */
    USPI_FILES_JAILED,  /* those below another root, in the same mount namespace (chroot(2)) */
    USPI_FILES_OTHER    /* those of another mount namespace */
};

/* Returns what another process (0: this one) sees. */
enum uspi_files_seen uspi_os_files_seen(int64_t pid);

/* Gives the path of a process's root as the system shows it in the paths of its images, without a slash at the end ("":
 * these paths begin at the root). Returns false when it is not known or longer than n - 1 bytes. */
bool uspi_os_root_path(int64_t pid, char *path, size_t n);

/* Opens the regular file at a path of the form /proc/PID/root/PATH as the process finds it at PATH: links stay below
 * the process's root. uspi_os_file_open opens such paths in this way. Returns a descriptor, USP_ERROR_UNSUPPORTED (a
 * path of another form, or another system than Linux), USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION, USP_ERROR_FORMAT,
 * USP_ERROR_SYSTEM, USP_ERROR_NO_MEMORY. */
int uspi_os_open_in_root(const char *path);

/* Returns whether the descriptor still leads to the file. A program may close all descriptors and use their numbers
 * again. */
bool uspi_os_file_is_open(const struct uspi_os_file *file);

/* Opens another descriptor of a file, if it is still at the path, unchanged. `root` as in uspi_os_file_open. Returns
 * USP_OK or USP_ERROR_NOT_FOUND. */
int uspi_os_file_open_again(const struct uspi_os_file *file, const char *path, size_t root, struct uspi_os_file *again);

/* Closes the descriptor if the process has used half of the descriptors that it may have. */
void uspi_os_file_spare(struct uspi_os_file *file);

/* Reads all of n bytes at an offset. Returns USP_OK, USP_ERROR_TRUNCATED (the file ends before) or USP_ERROR_SYSTEM.
 * Thread-safe. */
int uspi_os_file_read(const struct uspi_os_file *file, uint64_t at, void *to, size_t n);

void uspi_os_file_close(struct uspi_os_file *file);

/* Updates the size. Returns USP_OK or USP_ERROR_SYSTEM. */
int uspi_os_file_measure(struct uspi_os_file *file);

/* Returns n bytes of zeros that take no memory until they are written; NULL: there is no room. */
void *uspi_os_reserve(size_t n);
void uspi_os_unreserve(void *reserved, size_t n);

/* Says that all of n reserved bytes are about to be written. */
void uspi_os_reserve_whole(void *from, size_t n);

/* Files that a runtime writes about the code that it generates (lib/symbolize/jit/). Other programs own them and keep
 * writing to them. Refused are symbolic links and files of users other than those stated
 * below (USP_ERROR_PERMISSION), and anything that is not a regular file (USP_ERROR_FORMAT). */
enum uspi_jit_file { USPI_JIT_PERF_MAP, USPI_JIT_DUMP, USPI_JIT_FILES };

/* Opens such a file of a live process (0: this one), as the process itself sees its files: /tmp/perf-PID.map, or the
 * jit-PID.dump that it has mapped. The owner must be the process's user or root. *named becomes the id in the file's
 * name, which is the id that the process has for itself. Returns USP_ERROR_NOT_FOUND, USP_ERROR_UNSUPPORTED, otherwise
 * as uspi_os_file_open does. */
int uspi_os_jit_file_of(int64_t pid, enum uspi_jit_file which, struct uspi_os_file *file, int64_t *named);

/* Opens a file in a folder for reading. Refused are symbolic links, and owners other than the caller, the folder's owner
 * and root (USP_ERROR_PERMISSION); and anything that is not a regular file (USP_ERROR_FORMAT). Otherwise as
 * uspi_os_file_open. (lib/os/posix/jit_file.c) */
int uspi_os_trusted_file(const char *folder, const char *name, struct uspi_os_file *file);

/* Calls `each` with the name of each entry of a folder, without "." and "..", in the system's order, until it returns
 * false. Returns USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM. */
int uspi_os_list_folder(const char *folder, bool (*each)(void *context, const char *name), void *context);

typedef void (*uspi_os_function)(void);

/* Finds a function by name in the first of `libraries` (NULL-terminated) that can be loaded and has it. "" stands for
 * the libraries that are loaded already. The library stays loaded. Loading runs the library's initializers.
 * (lib/os/posix/functions.c) */
bool uspi_os_find_function(const char *const *libraries, const char *name, uspi_os_function *function);

/* ---- the calling thread ---- */

/* The part of the calling thread's stack that is certainly mapped, and stays mapped while the thread runs on it; 0, 0
 * before it is known. */
struct uspi_own_stack {
    uintptr_t low, high;
};

#if defined(__APPLE__)
/* Returns the calling thread's bounds. Apple's thread-local storage is allocated when a thread first touches it (dyld
 * libdyld/ThreadLocalVariables.c), and old systems have none. So libpthread, which knows the bounds, is asked each
 * time. (lib/os/darwin/self.c) */
struct uspi_own_stack uspi_os_own_stack(void);
#else
/* glibc may allocate dynamic thread-local storage when a thread first touches it, which may happen in a signal
 * handler. musl allocates it with the thread, and does not load libraries that need another model (musl
 * ldso/dynlink.c). */
#ifdef __GLIBC__
#define USPI_TLS_MODEL __attribute__((tls_model("initial-exec")))
#else
#define USPI_TLS_MODEL
#endif
extern _Thread_local USPI_TLS_MODEL struct uspi_own_stack uspi_own_stack;

static inline struct uspi_own_stack uspi_os_own_stack(void) { return uspi_own_stack; }
#endif

/* Returns whether n bytes below `sp` are the calling thread's own stack. If its bounds are not known, memory counts
 * that is readable up to the stack. Async-signal-safe. */
bool uspi_os_has_stack(uintptr_t sp, size_t n);

/* Tries to find the calling thread's bounds with only a few probes; `sp` should be on its stack. Async-signal-safe. */
bool uspi_os_learn_in_passing(uintptr_t sp);

/* Returns whether `sp` is on the calling thread's own stack, as far as it is known. sp … *high can then be read
 * directly. Async-signal-safe. */
static inline bool uspi_on_known_stack(uintptr_t sp, uintptr_t *high) {
    struct uspi_own_stack own = uspi_os_own_stack();
    *high = own.high;
    return sp - own.low < own.high - own.low;
}

/* Does the same, and finds the thread's bounds if it can. False: sp is on another stack (signal, coroutine), or the
 * bounds cannot be found with a few probes; memory must then be read with uspi_os_read. Async-signal-safe. */
static inline bool uspi_os_stack(uintptr_t sp, uintptr_t *high) {
    return uspi_on_known_stack(sp, high) || (uspi_os_learn_in_passing(sp) && uspi_on_known_stack(sp, high));
}

/* Finds the calling thread's bounds by any means. Not async-signal-safe. */
int uspi_os_learn_thread(void);

/* Returns whether the page that contains `address` is readable. Async-signal-safe. */
bool uspi_os_can_read(uintptr_t address);

/* Copies n bytes of this process from any address, mapped or not. Returns USP_OK, or USP_ERROR_UNREADABLE if not all
 * bytes are readable. Implements usp_memory.read; context is not used. Async-signal-safe. */
int uspi_os_read(void *context, usp_addr from, void *to, size_t n);

/* Copies `count` pieces of this process, `size` bytes each, from the addresses `from` to `to`, one after another, with
 * as few system calls as possible. Returns USP_OK, or USP_ERROR_UNREADABLE if not all are readable.
 * Async-signal-safe. */
int uspi_os_read_pieces(const usp_addr *from, size_t count, void *to, size_t size);

/* Reads the registers from a signal handler's third argument. Async-signal-safe. */
int uspi_os_context_registers(const void *ucontext, struct usp_registers *registers);

/* Completes a target for a stack of this process: os, signature bits, the Swift task slot of the calling thread.
 * lib/capture/roots.h has the roots. Async-signal-safe. */
void uspi_os_describe_self(struct usp_target *target);

/* Roots are return addresses at which stacks end: the one of main and those of threads. glibc has two of the latter,
 * because different calls start POSIX and C11 threads. Where start functions leave a frame pointer of 0, as on Apple
 * systems, stacks end by themselves, and there are no roots. */
#define USPI_THREAD_ROOTS 2u

/* Starts and joins threads to find their roots. Returns the number of roots. */
uint32_t uspi_os_thread_roots(usp_addr roots[USPI_THREAD_ROOTS]);

/* Returns the address of argc on the process's first stack; 0: not known. */
usp_addr uspi_os_first_stack_top(void);

/* Returns whether the calling thread runs a Swift task. If the platform does not say, returns true with *id 0, and the
 * marks on the stack decide. Async-signal-safe. */
bool uspi_os_swift_task(uint32_t *id);

/* Implements usp_clock. Async-signal-safe. */
uint64_t uspi_os_clock(void);

/* Returns the time in ns since 1970-01-01 UTC; 0: not known. Async-signal-safe. */
uint64_t uspi_os_wall_clock(void);

/* ---- calls that must not be interrupted ---- */

/* Between these two calls the calling thread runs no signal handler of the program and is not cancelled: signals and
 * cancellation are deferred, except signals that the processor raises. So a handler that jumps away, or a thread that
 * ends, cannot leak what a capture holds. Calls can be nested, in reverse order of begin and end. Not
 * async-signal-safe. */
struct uspi_undisturbed {
    uint64_t mask;
    int cancellation;
    bool is_masked;
};
void uspi_os_undisturbed_begin(struct uspi_undisturbed *kept);
void uspi_os_undisturbed_end(const struct uspi_undisturbed *kept);

/* ---- preparation ---- */

int uspi_os_prepare(const struct usp_prepare_options *options);

/* Async-signal-safe. */
bool uspi_os_is_prepared(void);

void uspi_os_shutdown(void);

/* Returns the bytes that are reserved for copies of stacks; 0 while a capture prevents counting them. */
size_t uspi_os_reserved(void);

/* ---- threads of this process ---- */

int uspi_os_thread_self(struct usp_thread *thread);
int uspi_os_thread_main(struct usp_thread *thread);
int uspi_os_thread_from_pthread(uintptr_t pthread, struct usp_thread *thread);
void uspi_os_thread_release(struct usp_thread *thread);
int uspi_os_threads(struct usp_thread_info *infos, size_t capacity, size_t *count);

/* Copied memory of the target. */
struct uspi_copied {
    const uint8_t *bytes;
    usp_addr from; /* target address of bytes[0] */
    size_t size;
};

/* Copies n bytes of this process that are known to be readable. It does not use memcpy, because AddressSanitizer may
 * have poisoned parts of a stack. Async-signal-safe. */
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

/* Reads n bytes at `from` of the copy. Returns false when not all of them were copied. Async-signal-safe. */
static inline bool uspi_read_copied(const struct uspi_copied *copied, usp_addr from, void *to, size_t n) {
    if (from < copied->from || from - copied->from > copied->size) return false;
    if (n > copied->size - (size_t)(from - copied->from)) return false;
    memcpy(to, copied->bytes + (size_t)(from - copied->from), n);
    return true;
}

enum { USPI_OUTER_PART = 2, USPI_PARTS = 4 };

/* Maximum distance of a stack pointer from a stack that has overflowed, in bytes. */
#define USPI_STACK_OVERFLOW ((uint64_t)8 << 20)

/* How many bytes are copied of a stack that is larger: the innermost part, and the outermost part. */
#define USPI_COPY_INNER ((uint64_t)4 << 20)
#define USPI_COPY_OUTER ((uint64_t)256 << 10)
/* Limit for all large stacks together, in bytes. */
#define USPI_COPY_LARGE ((uint64_t)64 << 20)

/* A stopped thread's registers and a copy of the live part of its stack. The bytes are valid until
 * uspi_os_release_copy or uspi_os_free_stopped. */
struct uspi_thread_copy {
    struct usp_registers registers;
    /* The stack that it ran on; if that is an alternate signal stack, also the interrupted one. Then the outermost
     * parts of both, if a stack was too large to be copied as a whole. */
    struct uspi_copied parts[USPI_PARTS];
    usp_addr stack_low, stack_high; /* bounds of the whole stack; 0, 0 unknown */
    /* Ranges of the thread's stacks outside the parts. They were not in use at that moment, whatever they contain
     * now. */
    struct uspi_hole {
        usp_addr low, high; /* 0, 0: none */
    } holes[3];
    /* Memory above a stack with an unknown end: more of the stack, or anything else, even code. */
    struct uspi_hole unsure;
    usp_addr swift_task_slot; /* see struct usp_target */
    uint64_t stopped_ns;
    /* The lock that it waits for, read while it was stopped. Only stops of all threads fill it in. */
    struct uspi_lock_wait lock;
    size_t own;                /* private to lib/os */
    bool lacks_registers;      /* only those registers are known that a system call shows */
    _Atomic(bool) was_cut_off; /* something was read past the copied part of a stack */
};

/* Returns usp_prepare_options.timeout as passed to usp_prepare, in ns; 0 before. */
uint64_t uspi_os_capture_timeout(void);

/* Stops another thread of this process, copies its registers and stack, and resumes it, all before `deadline`
 * (usp_clock). On USP_OK the caller releases the copy. Call it between uspi_os_undisturbed_begin and _end. */
int uspi_os_copy_thread(const struct usp_thread *thread, uint64_t deadline, struct uspi_thread_copy *copy);
void uspi_os_release_copy(struct uspi_thread_copy *copy);

/* ---- all threads at one moment ---- */

/* One thread of a stopped process. `status` says whether there is a copy. */
struct uspi_stopped_thread {
    struct usp_thread_info info;
    int32_t status;
    struct uspi_thread_copy copy;
    char wait_channel[64]; /* the kernel's function in which it sleeps uninterruptibly; empty: not known */
    const struct usp_snapshot_thread *walked; /* Its stack, if it was walked earlier; NULL: walk the copy. */
};

/* A process that was stopped, copied and resumed. `owned` owns the copies. */
struct uspi_stopped_process {
    struct uspi_stopped_thread *threads;
    size_t thread_count;
    struct uspi_context_table contexts; /* of all threads */
    int64_t pid;
    uint32_t arch;
    uint64_t pac_mask;      /* see struct usp_target */
    uint64_t stopped_ns;    /* from the first thread's stop until the last one's resumption, in ns */
    struct usp_memory live; /* the process's current memory; never that of another process with the same id */
    bool has_moved;         /* memory may have been mapped or unmapped between before_stop and the stop */
    void *owned;
    void (*release)(void *owned);
};

/* Returns the id that a live thread has inside of its process's own pid namespace: the id that the process itself
 * knows, and stores in its locks. 0: not known. */
int64_t uspi_os_thread_id_inside(int64_t pid, uint64_t thread);

/* Frees a stopped process's data and clears it. */
static inline void uspi_os_free_stopped(struct uspi_stopped_process *process) {
    if (process->owned != NULL) process->release(process->owned);
    free(process->threads);
    uspi_context_table_free(&process->contexts);
    memset(process, 0, sizeof *process);
}

struct uspi_images_found;

/* How a process is stopped. */
struct uspi_stop_options {
    uint64_t timeout;     /* ns, for the whole operation */
    uint64_t only_thread; /* thread id; 0: all threads */
    bool by_helper;       /* this process only: see enum usp_snapshot_means */
    bool whole_stacks;    /* see struct usp_snapshot_options */
    /* Another process: receives its images before any thread is stopped; NULL: they are not wanted. Used only where
     * before_stop is called. */
    struct uspi_images_found *images;
    /* Collects data about the process before any thread is stopped; may be NULL. `listed`: USP_OK, or why `images` did
     * not receive all images. Returns the code range of Swift's concurrency runtime if async contexts are to be copied
     * too, otherwise all zero. Called at most once, and not on all systems. */
    struct usp_region (*before_stop)(void *context, int listed);
    void *context;
};

/* Stops every thread of this process except the caller, which is listed without a copy (USP_THREAD_REQUESTER). On
 * USP_OK the caller frees *out; otherwise it is empty. */
int uspi_os_stop_self(const struct uspi_stop_options *options, struct uspi_stopped_process *out);

/* Stops every thread of another process. `error` as in usp_snapshot_create_process. */
int uspi_os_stop_process(int64_t pid, const struct uspi_stop_options *options, struct uspi_stopped_process *out,
                         char *error, size_t error_size);

/* ---- crashes of this process ---- */

/* The signal that a thread got, or will get. */
struct uspi_os_crash {
    uint32_t signal;
    int32_t code; /* si_code */
    bool has_address;
    usp_addr address; /* the address whose use raised the signal */
    int64_t sender;   /* the process that sent the signal; 0: none */
    uint64_t thread;
    char name[16];                      /* the thread's; not used if `info` is set */
    const struct usp_thread_info *info; /* what is known of the thread; NULL: its id and name */
    const void *ucontext;               /* the interrupted registers of the calling thread; NULL: see `copy` */
    /* The live memory of another thread, which stands still. NULL: the calling thread has crashed. */
    const struct uspi_thread_copy *copy;
    /* Apple systems: type, code and subcode of the Mach exception; type 0: only the signal is known. */
    uint32_t exception;
    uint64_t exception_codes[2];
};

/* What happens at a crash. `record` writes the report, until `deadline` (usp_clock). `tell` calls the program's callback
 * once the report is visible. `retract` removes the report because an earlier handler has repaired the fault. These are
 * called on the crashed thread, in its handler; `record` and `tell` also on a thread of the layer's own. `end` is called
 * when the process exits, or when this code is unloaded; stays: it is not unloaded, so the handlers can stay. */
struct uspi_os_crash_hooks {
    void (*record)(void *context, const struct uspi_os_crash *crash, uint64_t deadline);
    void (*tell)(void *context);
    void (*retract)(void *context);
    void (*end)(void *context, bool stays);
    void *context;
    uint64_t timeout;   /* ns, for the report, and again for the callback */
    size_t max_threads; /* other threads that can be held */
};

/* Installs the handlers. A signal that the program ignores stays ignored. The hooks must stay valid until the process
 * ends. Requires usp_prepare. Returns USP_OK, USP_ERROR_BUSY when they are installed, USP_ERROR_NO_MEMORY,
 * USP_ERROR_SYSTEM, USP_ERROR_UNSUPPORTED. */
int uspi_os_crash_install(const struct uspi_os_crash_hooks *hooks);

/* Keeps crashes from being recorded until uspi_os_crash_resume or uspi_os_crash_uninstall: the threads wait. Itself waits
 * while another thread records a crash. Returns false while an earlier handler runs after a crash, since that may end the
 * process, and when the handlers are not installed. */
bool uspi_os_crash_pause(void);
void uspi_os_crash_resume(void);

/* After uspi_os_crash_pause: restores the earlier handlers where ours are still in place. The others only pass signals on
 * from now on. */
void uspi_os_crash_uninstall(void);

/* Returns hooks.context of this process; NULL: not installed. Async-signal-safe. */
void *uspi_os_crash_context(void);

/* Returns what usp_crash_status returns. */
int uspi_os_crash_status(void);

/* Gives the calling thread an alternate signal stack, if it has none of at least 32 KB, and removes it. Returns USP_OK,
 * USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM, USP_ERROR_UNSUPPORTED. */
int uspi_os_crash_thread_begin(void);
void uspi_os_crash_thread_end(void);

/* Holds all threads except the caller, and calls `each` for each of them. thread->copy then shows live memory, which
 * stays as it is until all have been shown. thread->status: USP_OK, or why the thread is not held; its name is known
 * then, too. Returns USP_OK, USP_ERROR_NOT_PREPARED, USP_ERROR_SYSTEM, USP_ERROR_FULL when there are more than
 * max_threads. Async-signal-safe if `each` is. */
int uspi_os_crash_threads(uint64_t deadline, void (*each)(void *context, const struct uspi_stopped_thread *thread),
                          void *context);

#define USPI_OS_PROGRAM_MAX 1024

/* Evidence about a run of a process, which a later process compares. */
struct uspi_os_run {
    int64_t pid;
    uint64_t start;                    /* when the process began, in the system's unit; 0: not known */
    char boot[40];                     /* the boot's id; "": not known */
    char program[USPI_OS_PROGRAM_MAX]; /* path of the program; "": not known */
    bool has_oom_kills;
    uint64_t oom_kills; /* how many processes of its control group the kernel has killed for lack of memory */
};

/* Describes this process now. Returns USP_OK or USP_ERROR_UNSUPPORTED. */
int uspi_os_run_describe(struct uspi_os_run *run);

/* Returns whether the process of a run still exists. */
bool uspi_os_run_lives(const struct uspi_os_run *run);

/* ---- images ---- */

/* Receives the images that are found. */
struct uspi_images_found {
    /* Copies an image and its path. Returns USP_OK, or an error, which ends the listing. */
    int (*add)(void *context, const struct usp_image *image);
    /* Adds a readable range without code, in ascending order; only if the system lists them. Returns as `add` does. */
    int (*add_data)(void *context, usp_addr low, usp_addr high);
    void *context;
    bool has_cache;                /* set to true if the process has a shared cache */
    struct usp_shared_cache cache; /* the shared cache */
    enum uspi_files_seen files;    /* set by the finder, if it knows */
};

/* The loader's state at the time when this process's images were listed. */
struct uspi_os_loaded;

/* Finds all images of this process. Takes no lock that another thread may hold for long. While the loader changes its
 * list, the list is read again, at least once, until `deadline` (usp_clock; UINT64_MAX: none); then USP_ERROR_BUSY is
 * returned. On success the caller frees *loaded. */
int uspi_os_images_self(struct uspi_images_found *found, uint64_t deadline, struct uspi_os_loaded **loaded);

/* Returns whether nothing was loaded or unloaded since. If another library has replaced one of many at the same
 * address and at the same place in the loader's list, only a later call may notice it. Thread-safe,
 * async-signal-safe. */
bool uspi_os_loaded_is_current(struct uspi_os_loaded *loaded);

/* Returns whether one of the images that were listed then, which may be unloaded, is still loaded; other images may
 * have changed. Thread-safe, async-signal-safe, takes little stack. */
bool uspi_os_loaded_has(const struct uspi_os_loaded *loaded, const struct usp_image *image);

/* NULL is ignored. */
void uspi_os_loaded_free(struct uspi_os_loaded *loaded);

/* Finds all images of another process. `error` as in usp_images_create_process. */
int uspi_os_images_process(int64_t pid, struct uspi_images_found *found, char *error, size_t error_size);

/* Finds the image of this process that contains an address, by data that its loader provides without a lock. `path`,
 * of path_size > 0 bytes, receives its path, cut to fit. Returns USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_BUSY while the
 * loader changes the data, USP_ERROR_UNSUPPORTED where the loader does not provide it, or another status.
 * Async-signal-safe. */
int uspi_os_image_at(usp_addr address, struct usp_image *image, char *path, size_t path_size);

enum { USPI_OS_READABLE = 1, USPI_OS_WRITABLE = 2, USPI_OS_EXECUTABLE = 4 };

/* What is mapped at an address of this process. */
struct uspi_os_place {
    usp_addr address;   /* set by the caller */
    usp_addr low, high; /* the mapping that contains it; 0, 0: none */
    uint32_t access;    /* USPI_OS_READABLE … */
};

#define USPI_OS_MAPPED_ROOM 20480u

/* Finds the images of this process from its mappings, without the loader, and what is mapped at place->address. Calls
 * found->add for each image; reports no data ranges. `room` has USPI_OS_MAPPED_ROOM bytes, aligned for any type.
 * Returns USP_OK, the result of `add`, USP_ERROR_UNSUPPORTED, USP_ERROR_SYSTEM. Async-signal-safe if `add` is. */
int uspi_os_images_mapped(void *room, struct uspi_images_found *found, struct uspi_os_place *place);

/* Finds the one image of this process that contains an address, without the loader and without reading all mappings.
 * `room` and `found` as above. Returns USP_OK, USP_ERROR_NOT_FOUND when no image is there, USP_ERROR_UNSUPPORTED when the
 * system cannot tell that (Linux before 6.11), or another status. Async-signal-safe if found->add is. */
int uspi_os_image_mapped(void *room, usp_addr address, struct uspi_images_found *found);

/* Copies an image's path into the caller's buffer, cut to fit. Async-signal-safe. */
static inline void uspi_image_move_path(struct usp_image *image, char *path, size_t path_size) {
    size_t length = strnlen(image->path, path_size - 1);
    memcpy(path, image->path, length);
    path[length] = '\0';
    image->path = path;
}

#define USPI_OS_PATH_MAX 96

/* Gives a path that opens the file which a process (0: this one) has mapped for an image, even if its name has
 * changed. Returns USP_OK, USP_ERROR_NOT_FOUND when nothing is mapped there, USP_ERROR_UNSUPPORTED. Opening the path
 * may require a privilege. */
int uspi_os_mapped_file(int64_t pid, const struct usp_image *image, char path[USPI_OS_PATH_MAX]);

/* Opens the memory of another process; the caller closes it. It does not become another process's memory when the id
 * is reused. */
int uspi_os_process_memory_open(int64_t pid, struct usp_memory *memory);
void uspi_os_process_memory_close(const struct usp_memory *memory);

/* Receives an address range of a process, size > 0. Returns USP_OK, or an error that ends the listing. */
typedef int (*uspi_range_function)(void *context, usp_addr low, uint64_t size);

/* Lists the memory of another process that is readable, writable and not of a file: heaps, threads' stacks. Returns
 * USP_OK, the result of `each`, USP_ERROR_NO_THREAD, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM, USP_ERROR_UNSUPPORTED.
 * May allocate. */
int uspi_os_writable_memory(int64_t pid, uspi_range_function each, void *context);

/* Lists everything that a process has mapped. Returns as uspi_os_writable_memory does. May allocate. */
int uspi_os_mapped_memory(int64_t pid, uspi_range_function each, void *context);

/* Calls dladdr for an address of this process: gives the symbol's name, address and, if known, size, and the image.
 * Copies nothing: the strings live as long as the image is loaded. Returns false when no image contains the address.
 * Takes the loader's lock. */
bool uspi_os_dladdr(uintptr_t address, const char **name, uintptr_t *start, size_t *size, const char **path,
                    uintptr_t *load);

/* Returns the address of a symbol in this process, as for the image that was linked last; 0 when nothing exports it.
 * Takes the loader's lock. */
uintptr_t uspi_os_find_symbol(const char *name);

/* Finds the start of the function that contains an address of this process, by its unwind information; on ARM with the
 * Thumb bit. Returns false when there is no exact information. Takes the loader's lock, may allocate. */
bool uspi_os_function_start(uintptr_t address, uintptr_t *start);

/* ---- threads of the library's own, and how they sleep ----
 *
 * Not async-signal-safe unless stated. */

struct uspi_own_thread;

/* Starts a thread that calls `run` with `context`, with all signals blocked and a name (cut to the system's limit). On
 * success the caller joins the thread. Returns USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM.
 * (lib/os/posix/thread.c) */
int uspi_os_thread_start(const char *name, void (*run)(void *context), void *context, struct uspi_own_thread **thread);

/* Waits until the thread has ended, and frees the handle. NULL is ignored. */
void uspi_os_thread_join(struct uspi_own_thread *thread);

/* Detaches the thread, which goes on, and frees the handle. Called by that thread itself, in `run`: before `run`
 * begins, the thread still reads the handle. NULL is ignored. */
void uspi_os_thread_leave(struct uspi_own_thread *thread);

/* Names the calling thread, as far as the system keeps names. */
void uspi_os_name_thread(const char *name);

/* Returns this process's id; in the child of a fork, the child's. Async-signal-safe. */
int64_t uspi_os_process_id(void);

/* An event on which one thread sleeps until another one wakes it. */
struct uspi_event {
    _Atomic(uint32_t) word; /* 1: set */
    uint32_t port;          /* Darwin: a semaphore */
};

/* Returns false where the system does not support events. */
bool uspi_event_init(struct uspi_event *event);
void uspi_event_free(struct uspi_event *event);

/* Wakes the waiting thread, or the next one to wait. Makes one system call. Async-signal-safe. */
void uspi_event_set(struct uspi_event *event);

/* Sleeps until the event is set, then resets it, or until a usp_clock value; UINT64_MAX: without limit. One thread at
 * a time. Returns whether the event was set. */
bool uspi_event_wait(struct uspi_event *event, uint64_t deadline);

/* Makes a descriptor that a loop can wait for and that this process makes readable. fds[0] is for the loop. On Linux
 * both are the same. Returns USP_OK, USP_ERROR_SYSTEM, USP_ERROR_UNSUPPORTED. */
int uspi_os_signal_open(int fds[2]);
void uspi_os_signal_close(int fds[2]);
void uspi_os_signal_send(const int fds[2]);  /* async-signal-safe */
void uspi_os_signal_clear(const int fds[2]); /* async-signal-safe */

/* ---- repeated queries about threads of this process ---- */

/* Gives the processor time that a thread has used, in ns. Returns USP_OK, USP_ERROR_NO_THREAD, USP_ERROR_UNSUPPORTED.
 * Async-signal-safe. */
int uspi_os_thread_cpu(const struct usp_thread *thread, uint64_t *ns);

/* Gives a thread's name, flags and state, as uspi_os_threads does. Returns USP_OK, USP_ERROR_NO_THREAD,
 * USP_ERROR_UNSUPPORTED. */
int uspi_os_thread_describe(const struct usp_thread *thread, struct usp_thread_info *info);

/* A list of threads that can be read repeatedly without being reopened. */
struct uspi_os_listing {
    int fd;
    char *buffer;
    size_t size;
};

/* Opens a listing. Returns USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM, USP_ERROR_UNSUPPORTED. On USP_OK the caller
 * closes it. */
int uspi_os_listing_open(struct uspi_os_listing *listing);
void uspi_os_listing_close(struct uspi_os_listing *listing);

/* Counts the threads, at less cost than listing them; USP_ERROR_UNSUPPORTED where this is not possible. */
int uspi_os_listing_count(const struct uspi_os_listing *listing, size_t *count);

/* Lists the threads like uspi_os_threads, but without descriptions. The caller releases each. */
int uspi_os_listing_read(struct uspi_os_listing *listing, struct usp_thread *threads, size_t capacity, size_t *count);

/* Returns whether a debugger or another tracer is attached to this process. Reads a file or calls the kernel.
 * Async-signal-safe. */
bool uspi_os_is_traced(void);

/* ---- repeated queries about another process ----
 *
 * One thread at a time may use it. Not async-signal-safe. */

struct uspi_os_other;

/* Opens a process, and stops one of its threads once to see whether that is permitted. `error` as in
 * usp_snapshot_create_process. On success the caller closes *other. Returns USP_OK, USP_ERROR_NO_THREAD,
 * USP_ERROR_PERMISSION, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM, USP_ERROR_UNSUPPORTED. */
int uspi_os_other_open(int64_t pid, struct uspi_os_other **other, char *error, size_t error_size);

/* NULL is ignored. */
void uspi_os_other_close(struct uspi_os_other *other);

/* Returns the process's current memory. After exec the process has new memory, which this call opens; the previous
 * result then reads nothing. Valid until the next call. */
struct usp_memory uspi_os_other_memory(struct uspi_os_other *other);

/* Returns how much memory it has mapped; if the number is unchanged, it has probably mapped and unmapped nothing. 0:
 * not known. */
uint64_t uspi_os_other_mapped(struct uspi_os_other *other);

/* Like uspi_os_listing_count, uspi_os_listing_read and uspi_os_thread_describe. A main thread that has ended does not
 * count, even if the system keeps its entry. */
int uspi_os_other_count(struct uspi_os_other *other, size_t *count);
int uspi_os_other_list(struct uspi_os_other *other, struct usp_thread *threads, size_t capacity, size_t *count);
int uspi_os_other_describe(struct uspi_os_other *other, const struct usp_thread *thread, struct usp_thread_info *info);

/* Announces that the clocks of many threads will be read: clocks that cannot have moved are then not read again. */
void uspi_os_other_begin_look(struct uspi_os_other *other);

/* Like uspi_os_thread_cpu. The time of a running thread may be out of date until the scheduler's next tick. */
int uspi_os_other_cpu(struct uspi_os_other *other, const struct usp_thread *thread, uint64_t *ns);

/* Stops some of its threads together, copies them, and resumes them. `other` owns the contents of *stopped, which are
 * valid until the next call; do not free them. Each thread has its own status. Returns USP_OK, or why no thread could
 * be stopped. */
int uspi_os_other_stop(struct uspi_os_other *other, const struct usp_thread *threads, size_t count,
                       struct uspi_stopped_process *stopped);

/* Returns the processor time, in ns, of ended threads of this process that stopped the other process's threads. */
uint64_t uspi_os_other_spent(const struct uspi_os_other *other);

/* ---- files that stay when the process is killed ---- */

/* All zero: there is no file. */
struct uspi_os_kept_file {
    const char *path; /* the caller owns it; valid until the file is closed */
    uint64_t size;
    uint64_t device, inode, user;
    int descriptor;
};

/* Creates a file of `size` bytes, reserved on the disk. Its previous contents are lost; unwritten bytes are 0. Other
 * users cannot read it. Returns USP_OK, USP_ERROR_PERMISSION, USP_ERROR_NOT_FOUND (no such folder), USP_ERROR_SYSTEM
 * (no room). (lib/os/posix/kept_file.c) */
int uspi_os_kept_file_make(const char *path, uint64_t size, struct uspi_os_kept_file *file);

/* Writes n bytes within the file's size. If the file was shortened, it gets its size again. If the program has closed
 * the file's descriptor or uses its number for another file, the file is opened again by its path. Allocates nothing.
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NOT_FOUND (the file has been replaced or removed), USP_ERROR_SYSTEM. */
int uspi_os_kept_file_write(struct uspi_os_kept_file *file, uint64_t at, const void *bytes, size_t n);
void uspi_os_kept_file_close(struct uspi_os_kept_file *file);

/* Returns whether the file still has its name. Async-signal-safe. */
bool uspi_os_kept_file_has_name(const struct uspi_os_kept_file *file);

/* Cuts the file to `size` bytes, closes its descriptor, and gives it its final path, which the caller owns like the
 * first one. Readers of that path see the whole file. Later writes open it again. Returns USP_OK, USP_ERROR_NOT_FOUND,
 * USP_ERROR_SYSTEM. Async-signal-safe. */
int uspi_os_kept_file_publish(struct uspi_os_kept_file *file, uint64_t size, const char *path);

/* Renames or removes a file. Return USP_OK or the enum usp_status of the failure. Async-signal-safe. */
int uspi_os_rename_file(const char *from, const char *to);
int uspi_os_remove_file(const char *path);

/* Creates a folder that only this user can read, unless it exists. Its parent must exist. Returns USP_OK or the enum
 * usp_status of the failure. */
int uspi_os_make_folder(const char *path);

/* Writes the path itself if it is absolute, else the path below the working folder. Returns USP_OK, USP_ERROR_ARGUMENT
 * when it does not fit, USP_ERROR_NOT_FOUND when there is no path to the working folder, USP_ERROR_PERMISSION. */
int uspi_os_absolute_path(const char *path, char *to, size_t size);

#endif
