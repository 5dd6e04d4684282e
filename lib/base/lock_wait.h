/* SPDX-License-Identifier: MIT */
/* Which lock a thread waits for, and which thread holds it: from the thread's registers in the system call with which
 * it waits, and from the lock's memory. Both must be of one moment, while the threads are stopped.
 *
 * On Linux the call is futex. Locks are objects of the C library whose layout is known: glibc's and musl's mutexes,
 * glibc's read-write locks, and any lock on a priority-inheritance futex, whose word has the owner's id by the kernel's
 * rules. What a futex is for is not recorded anywhere. So each field of the object must have a value that it can have
 * while the lock is held and waited for; otherwise there is no owner. Condition variables, semaphores and other futexes
 * do not pass.
 *
 * On Apple systems the calls are psynch_mutexwait, psynch_rw_rdlock and psynch_rw_wrlock of libpthread's mutexes and
 * read-write locks, which have the owner's id, and ulock_wait of unfair locks, whose word has the name of the owner's port
 * by the kernel's rules. The caller finds the thread that has that port.
 *
 * All functions are async-signal-safe if the memory's reader is. */
#ifndef USPI_BASE_LOCK_WAIT_H
#define USPI_BASE_LOCK_WAIT_H

#include <unspool/capture.h>

/* Bytes of a lock that are read: before the futex word, and from it on. */
#define USPI_LOCK_BEFORE 12u
#define USPI_LOCK_AFTER  32u

/* A thread's wait, and the memory of its lock. All zero: the thread does not wait for a lock. */
struct uspi_lock_wait {
    usp_addr word;      /* address of the futex word, the unfair lock, or libpthread's lock; 0: none */
    uint64_t owner;     /* the thread with the port that uspi_lock_wait_port names, set by the caller; 0: not known */
    uint32_t operation; /* futex: without its flags; Apple systems: the number of the system call */
    uint32_t value;     /* the word's value with which the thread goes to sleep */
    bool is_timed;      /* the wait has a time limit */
    uint8_t before;     /* how many bytes before the word could be read */
    uint8_t after;      /* how many from the word on */
    uint8_t bytes[USPI_LOCK_BEFORE + USPI_LOCK_AFTER];
};

/* Fills *wait from a thread's registers. Reads memory only if the thread may wait for a lock of a known kind. Returns
 * whether it does.
 *   os  enum usp_os, of the process */
bool uspi_lock_wait_read(struct uspi_lock_wait *wait, uint32_t os, const struct usp_registers *registers,
                         const struct usp_memory *memory);

/* Returns the name that the owner's port has in the process, if the lock's memory has that; otherwise 0. */
uint32_t uspi_lock_wait_port(const struct uspi_lock_wait *wait);

/* The owner, as the lock's memory names it. */
struct uspi_lock_held {
    usp_addr lock;  /* address of the lock */
    uint64_t owner; /* thread id, as the process itself knows it */
    uint32_t kind;  /* enum usp_lock_kind */
};

/* Finds the owner of the lock that a thread waits for. Returns false if the memory is not that of such a lock. The
 * caller checks that the owner exists.
 *   arch  enum usp_arch, of the thread's registers */
bool uspi_lock_wait_owner(const struct uspi_lock_wait *wait, uint32_t arch, struct uspi_lock_held *held);

#endif
