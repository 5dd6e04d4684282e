/* SPDX-License-Identifier: MIT */
/* What the files of the Darwin layer share: a task's memory, its threads, statuses. Which threads are stopped, and when, is
 * window.h's.
 *
 * Rights to ports are counted: every function says which it gives, and to whom. */
#ifndef USPI_OS_DARWIN_H
#define USPI_OS_DARWIN_H

#include "lib/os/os.h"

#include <mach/mach.h>

/* enum usp_status of what a call on a thread or a task answered. Async-signal-safe. */
int uspi_darwin_status(kern_return_t result);

/* ---- memory (memory.c) ---- */

/* Copies n bytes of a task: all and USP_OK, or USP_ERROR_UNREADABLE. One call to the kernel. Async-signal-safe. */
int uspi_darwin_read(task_t task, usp_addr from, void *to, size_t n);

/* The same with the shape of usp_memory.read; context is the task's port name. Async-signal-safe. */
int uspi_darwin_read_task(void *context, usp_addr from, void *to, size_t n);

/* The range of a task's memory that holds an address, or else the next one above it. */
struct uspi_darwin_region {
    usp_addr low, high;
    bool readable;
};

/* False when there is none. Async-signal-safe. */
bool uspi_darwin_region_at(task_t task, usp_addr address, struct uspi_darwin_region *region);

/* Fresh memory that is not malloc's: NULL when there is none. Not async-signal-safe: never while threads are stopped. */
void *uspi_darwin_map(size_t n);
void uspi_darwin_unmap(void *at, size_t n);

/* ---- threads (threads.c) ---- */

/* A right to each thread of a task, and the array that the kernel made for them. */
struct uspi_darwin_list {
    thread_act_array_t ports;
    size_t count;
};

/* Lists a task's threads: on USP_OK the list must be freed. Not while the calling thread has stopped threads of this task. */
int uspi_darwin_list(task_t task, struct uspi_darwin_list *list);

/* Takes right i out of the list: it is the caller's to give back. */
thread_act_t uspi_darwin_list_take(struct uspi_darwin_list *list, size_t i);

/* Gives back what has not been taken, and the array. */
void uspi_darwin_list_free(struct uspi_darwin_list *list);

/* Gives a right back; MACH_PORT_NULL is ignored. */
void uspi_darwin_release(mach_port_t port);

/* Where a thread of a task keeps what is its own; 0 where that is not known. */
struct uspi_darwin_place {
    usp_addr slots;    /* its thread-specific data */
    usp_addr queue_at; /* of the word that holds its current dispatch queue, and */
    usp_addr queue; /* what stood there when its label was read: as long as it does, the label is right. 0: no label */
};

/* Fills id, name, state, processor time, flags and queue of a task's thread, and *place; `own` is the calling thread's id.
 * False when it has ended or is no thread. info->thread.native stays 0. No lock of libpthread's: the kernel keeps the
 * name. */
bool uspi_darwin_describe(task_t task, thread_act_t port, uint64_t own, struct usp_thread_info *info,
                          struct uspi_darwin_place *place);

/* The id of the process's first thread, 0 when it is not known. Async-signal-safe. */
uint64_t uspi_darwin_main_thread(void);

/* The id of the calling thread, 0 when it is not known. Async-signal-safe. */
uint64_t uspi_darwin_own_thread(void);

/* After fork, in the child: its only thread is its main thread. */
void uspi_darwin_threads_after_fork(void);

/* ---- queues (queues.c) ---- */

/* Learns where a dispatch queue's label is. Calls libdispatch: not async-signal-safe. */
void uspi_darwin_learn_queues(void);

/* The label of the queue on which a task's thread works, and which queue it was; "" and 0 when there is none or the least
 * doubt. `place` is what the kernel gives for the thread (dispatch_qaddr), room > 0. Async-signal-safe. */
usp_addr uspi_darwin_queue(task_t task, usp_addr place, char *label, size_t room);

/* ---- the calling thread (self.c) ---- */

/* Finds out whether the address that the kernel gives for a thread (its "handle") is where its thread-specific data begins:
 * tried on the calling thread, whose pthread_t must stand there. Not async-signal-safe. */
void uspi_darwin_try_slots(void);

/* A thread's thread-specific data by its handle, 0 where that has not proved itself. Async-signal-safe. */
usp_addr uspi_darwin_slots(uint64_t handle);

/* The target address of a thread's Swift task slot by its data (0: 0), 0 on processors without Swift async. Async-signal-safe. */
usp_addr uspi_darwin_swift_slot(usp_addr slots);

/* Whether this process is translated (Rosetta): then the state of another thread cannot be relied on, and asking for it may
 * never return. Async-signal-safe after the first call. */
bool uspi_darwin_is_translated(void);

/* ---- images (images.c, loaded.c) ---- */

struct uspi_image_list;

/* An image of this process as its loader announced it. */
struct uspi_darwin_loaded {
    usp_addr load;
    usp_addr path; /* of a string that may be gone: to be read with a check */
};

/* Asks the loader to announce images from now on, and those that there are. Takes the loader's lock, once. */
void uspi_darwin_watch_images(void);

/* The next image announced and not withdrawn; *at begins with 0. False behind the last. Takes no lock. Async-signal-safe. */
bool uspi_darwin_next_loaded(size_t *at, struct uspi_darwin_loaded *loaded);

/* Changes with each image that comes or goes; *complete: none was left out for lack of memory. Async-signal-safe. */
uint64_t uspi_darwin_loaded_generation(bool *complete);

/* ---- tasks (task_port.c) ---- */

/* Where a task's loader keeps its list of images; wide: with 64-bit pointers. USP_OK or a status. Async-signal-safe. */
int uspi_darwin_dyld_infos(task_t task, usp_addr *infos, bool *wide);

/* A right to the task of a process, the caller's to give back. USP_OK, USP_ERROR_NO_THREAD, USP_ERROR_PERMISSION. */
int uspi_darwin_task_of(int64_t pid, task_t *task);

#endif
