/* SPDX-License-Identifier: MIT */
/* Functions that the Darwin files share: a task's memory, its threads, its images, statuses. window.h stops threads.
 *
 * Rights to ports are counted: each function says which right it gives, and to whom. */
#ifndef USPI_OS_DARWIN_DARWIN_H
#define USPI_OS_DARWIN_DARWIN_H

#include "lib/os/os.h"

#include <mach/mach.h>

/* Returns the enum usp_status of a result of a kernel call on a thread or task. Async-signal-safe. */
int uspi_darwin_status(kern_return_t result);

/* ---- memory (memory.c) ---- */

/* Copies n bytes of a task by one call to the kernel. Returns USP_OK, or USP_ERROR_UNREADABLE if not all bytes are
 * readable. Async-signal-safe. */
int uspi_darwin_read(task_t task, usp_addr from, void *to, size_t n);

/* Implements usp_memory.read by uspi_darwin_read; context is the task's port name. Async-signal-safe. */
int uspi_darwin_read_task(void *context, usp_addr from, void *to, size_t n);

/* A range of a task's memory. */
struct uspi_darwin_region {
    usp_addr low, high;
    bool readable;
    uint32_t access; /* USPI_OS_READABLE … */
};

/* Finds the range that contains an address, otherwise the next one above it. Returns false when there is none.
 * Async-signal-safe. */
bool uspi_darwin_region_at(task_t task, usp_addr address, struct uspi_darwin_region *region);

/* Maps zeroed memory without malloc. Returns NULL on failure. Not async-signal-safe; never called while threads are
 * stopped. */
void *uspi_darwin_map(size_t n);
void uspi_darwin_unmap(void *at, size_t n);

/* ---- threads (threads.c) ---- */

/* A right to each thread of a task, in the array that the kernel allocated. */
struct uspi_darwin_list {
    thread_act_array_t ports;
    size_t count;
};

/* Lists a task's threads. On USP_OK the caller frees the list. Not called while the calling thread has stopped threads
 * of this task. */
int uspi_darwin_list(task_t task, struct uspi_darwin_list *list);

/* Takes right i out of the list. The caller releases it. */
thread_act_t uspi_darwin_list_take(struct uspi_darwin_list *list, size_t i);

/* Releases the rights that were not taken, and frees the array. */
void uspi_darwin_list_free(struct uspi_darwin_list *list);

/* Releases a right; MACH_PORT_NULL is ignored. */
void uspi_darwin_release(mach_port_t port);

/* A thread's id, and addresses of its own data; 0: not known. */
struct uspi_darwin_thread_data {
    uint64_t id;
    usp_addr slots;    /* thread-specific data */
    usp_addr queue_at; /* the word that contains its current dispatch queue */
    usp_addr queue;    /* that word when the label was read; while it is unchanged, the label is right. 0: no label */
};

/* Gives the system's id of a thread. Returns false when the thread has ended or the port is not a thread's. */
bool uspi_darwin_identify(thread_act_t port, uint64_t *id);

/* Reads the registers of another thread. Returns USP_OK or another status. Async-signal-safe. */
int uspi_darwin_registers(thread_act_t port, struct usp_registers *registers);

/* Gives the processor time of a thread, in ns. Returns USP_OK or another status. */
int uspi_darwin_thread_cpu(thread_act_t port, uint64_t *ns);

/* Fills in id, name, state, processor time, flags and queue of a task's thread, and *place. info->thread.native stays
 * 0. Returns false when the thread has ended or the port is not a thread's. Takes no lock of libpthread's, because the
 * kernel keeps the name.
 *   own  the calling thread's id */
bool uspi_darwin_describe(task_t task, thread_act_t port, uint64_t own, struct usp_thread_info *info,
                          struct uspi_darwin_thread_data *place);

/* Returns the id of the process's main thread; 0: not known. Async-signal-safe. */
uint64_t uspi_darwin_main_thread(void);

/* Returns the id of the calling thread; 0: not known. Async-signal-safe. */
uint64_t uspi_darwin_own_thread(void);

/* Returns the name that locks have for the calling thread: that of its port. It is the thread's own datum, so libpthread
 * takes no lock (src/pthread.c, _pthread_is_valid). */
uint32_t uspi_darwin_own_port(void);

/* Called in the child after a fork: its only thread becomes its main thread. */
void uspi_darwin_threads_after_fork(void);

/* ---- queues (queues.c) ---- */

/* Learns where a dispatch queue has its label. Calls libdispatch, so it is not async-signal-safe. */
void uspi_darwin_learn_queues(void);

/* Gives the label of the dispatch queue that a task's thread works on, and returns the queue's address. Gives "" and 0
 * when there is no queue, or any doubt. Async-signal-safe.
 *   place     the address that the kernel gives for the thread (dispatch_qaddr)
 *   capacity  > 0 */
usp_addr uspi_darwin_queue(task_t task, usp_addr place, char *label, size_t capacity);

/* ---- the calling thread (self.c) ---- */

/* Checks on the calling thread whether the address that the kernel gives for a thread (its "handle") is the beginning
 * of its thread-specific data: the thread's pthread_t must be there. Not async-signal-safe. */
void uspi_darwin_try_slots(void);

/* Returns the address of a thread's thread-specific data, given its handle; 0 if that check failed.
 * Async-signal-safe. */
usp_addr uspi_darwin_slots(uint64_t handle);

/* Returns the address of a thread's Swift task slot, given its thread-specific data. 0 if that is 0, and on processors
 * without Swift async. Async-signal-safe. */
usp_addr uspi_darwin_swift_slot(usp_addr slots);

/* Returns whether this process is translated (Rosetta). Another thread's state is then unreliable, and asking for it
 * may never return. Async-signal-safe after the first call. */
bool uspi_darwin_is_translated(void);

/* ---- images (images.c, loaded.c) ---- */

struct uspi_image_list;

/* An image of this process as its loader announced it. */
struct uspi_darwin_loaded {
    usp_addr load;
    usp_addr path; /* address of a string that may be gone, so it is read with a check */
};

/* Asks the loader to announce the present images and future ones. Takes the loader's lock, once. */
void uspi_darwin_watch_images(void);

/* Gives the next image that was announced and not withdrawn. *at begins with 0. Returns false after the last one. Takes
 * no lock. Async-signal-safe. */
bool uspi_darwin_next_loaded(size_t *at, struct uspi_darwin_loaded *loaded);

/* Returns whether an image that begins at `load` was announced and not withdrawn. Takes no lock. Async-signal-safe. */
bool uspi_darwin_is_loaded(uintptr_t load);

/* Returns a number that changes with each image that is loaded or unloaded. *complete: no image was left out for lack
 * of memory. Async-signal-safe. */
uint64_t uspi_darwin_loaded_generation(bool *complete);

/* ---- tasks (task_port.c) ---- */

/* Gives the address of a task's loader's list of images. *wide: its pointers have 64 bits. Returns USP_OK or another
 * status. Async-signal-safe. */
int uspi_darwin_dyld_infos(task_t task, usp_addr *infos, bool *wide);

/* Gives a right to the task of a process, which the caller releases. Returns USP_OK, USP_ERROR_NO_THREAD,
 * USP_ERROR_PERMISSION. */
int uspi_darwin_task_of(int64_t pid, task_t *task);

/* Returns USP_ERROR_UNSUPPORTED if a task is known to run another processor's code (Rosetta), otherwise USP_OK.
 * (task.c) */
int uspi_darwin_task_fits(task_t task);

/* Writes why a process was refused. (task.c)
 *   only   the thread that was asked for; 0: all
 *   error  receives n bytes at most; may be NULL */
void uspi_darwin_explain(int status, int64_t pid, uint64_t only, char *error, size_t n);

#endif
