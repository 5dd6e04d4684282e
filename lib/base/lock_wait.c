/* SPDX-License-Identifier: MIT */
/* See lock_wait.h. */
#include "lib/base/lock_wait.h"

#include "arch/backend.h"

#include <string.h>

/* Linux include/uapi/linux/futex.h. musl has no header with them. */
enum { FUTEX_WAIT = 0, FUTEX_LOCK_PI = 6, FUTEX_WAIT_BITSET = 9, FUTEX_LOCK_PI2 = 13 };
#define FUTEX_FLAGS (128u | 256u) /* FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME */
/* The bits of a word that has its owner's id. */
#define FUTEX_WAITERS    0x80000000u
#define FUTEX_OWNER_DIED 0x40000000u
#define FUTEX_TID        0x3fffffffu

/* The word of a lock of glibc's that is held and waited for (sysdeps/nptl/lowlevellock.h). The other bits of a
 * priority-protected mutex's word are its ceiling (nptl/pthreadP.h, PTHREAD_MUTEX_PRIO_CEILING_SHIFT). */
#define GLIBC_CONTENDED 2u
#define GLIBC_CEILING   19u
/* __kind of glibc's mutexes (nptl/pthreadP.h): the type, flags, and all bits that may be set. */
#define GLIBC_TYPE      3u
#define GLIBC_RECURSIVE 1u
#define GLIBC_ROBUST    16u
#define GLIBC_INHERIT   32u
#define GLIBC_PROTECT   64u
#define GLIBC_KIND      0x3f3u
/* Limit of __nusers, the number of threads that use a mutex: the kernel's limit of threads. */
#define GLIBC_USERS_MAX 0x400000u
/* __readers of glibc's read-write locks while a thread holds one for writing, and the word of each futex while threads
 * wait for that to end (nptl/pthread_rwlock_common.c): PTHREAD_RWLOCK_WRPHASE and PTHREAD_RWLOCK_WRLOCKED; 1 with
 * PTHREAD_RWLOCK_FUTEX_USED. */
#define GLIBC_WRITING      3u
#define GLIBC_WRITE_WAITED 3u

/* _m_type of musl's mutexes (src/internal/pthread_impl.h): the type, and all bits that may be set. Type 0 is the normal
 * mutex, whose word does not have the owner. */
#define MUSL_TYPE  15u
#define MUSL_TYPES 0x8fu

/* Apple systems' calls with which threads wait for locks (xnu bsd/kern/syscalls.master), and the operation of unfair
 * locks (bsd/sys/ulock.h, UL_OPCODE_MASK and UL_UNFAIR_LOCK). Each number is larger than all of futex's operations. */
enum { PSYNCH_MUTEXWAIT = 301, PSYNCH_RW_RDLOCK = 306, PSYNCH_RW_WRLOCK = 307, ULOCK_WAIT = 515, ULOCK_WAIT2 = 544 };
#define ULOCK_OPERATION 0xffu
#define ULOCK_UNFAIR    2u
/* Bits of an unfair lock's word that are set in each port's name, and that locks use for waiters (ulock.h,
 * ulock_owner_value_to_port_name). The name that no thread has (mach/port.h, MACH_PORT_DEAD). */
#define ULOCK_WAITERS 3u
#define PORT_DEAD     0xffffffffu
/* struct pthread_mutex_s of 64-bit processors (libpthread src/types_internal.h): sig, with the bit that differs; the
 * options `mutex` and `ulock`. */
#define DARWIN_MUTEX      0x4d555458u
#define DARWIN_MUTEX_MASK 0xfffffffdu
#define DARWIN_IS_MUTEX   0x2000u
#define DARWIN_IS_ULOCK   0x4000u
/* struct pthread_rwlock_s, likewise: sig; rw_flags, which say whether processes share the lock. In the second argument
 * of the call, the bit of a lock that a thread holds for writing (kern/synch_internal.h, PTH_RWL_EBIT). */
#define DARWIN_RWLOCK         0x52574c4bu
#define DARWIN_RWLOCK_SHARED  0x10u
#define DARWIN_RWLOCK_PRIVATE 0x20u
#define DARWIN_WRITING        2u

/* ---- the registers ---- */

/* Results that a system call has while the thread is stopped in it: ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND,
 * ERESTART_RESTARTBLOCK (Linux include/linux/errno.h). Programs never see them. */
static bool is_interrupted(uint32_t result) {
    const int32_t e = (int32_t)result;
    return e == -512 || e == -513 || e == -514 || e == -516;
}

/* Whether the instruction at pc makes a system call. */
static bool is_at_call(const struct uspi_system_calls *calls, usp_addr pc, const struct usp_memory *memory) {
    uint8_t code[4] = {0};
    if (memory->read(memory->context, pc, code, sizeof code) != USP_OK &&
        memory->read(memory->context, pc, code, 2) != USP_OK) {
        return false;
    }
    for (unsigned i = 0; i < USPI_CALL_INSTRUCTIONS; i++) {
        const uint32_t mask = calls->instructions[i].mask;
        if (mask != 0 && (uspi_le32(code) & mask) == calls->instructions[i].bits) return true;
    }
    return false;
}

static bool is_futex(const struct uspi_system_calls *calls, uint32_t number) {
    return number == calls->futex || (calls->futex_time64 != 0 && number == calls->futex_time64);
}

/* Whether threads that wait for locks of a known kind make such a call. */
static bool may_be_lock(const struct uspi_lock_wait *wait) {
    switch (wait->operation) {
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2: return true;
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        if ((wait->value & ((1u << GLIBC_CEILING) - 1)) == GLIBC_CONTENDED) return true;
        return wait->value == GLIBC_WRITE_WAITED || (wait->value & FUTEX_WAITERS) != 0;
    default: return false;
    }
}

/* Gets the first arguments. Returns whether they, the number and pc are known. */
static bool get_arguments(const struct uspi_backend *b, const struct uspi_system_calls *calls,
                          const struct usp_registers *registers, uint64_t arguments[USPI_CALL_ARGUMENTS]) {
    uint64_t needed = UINT64_C(1) << calls->number | UINT64_C(1) << b->pc;
    for (unsigned i = 0; i < USPI_CALL_ARGUMENTS; i++) {
        arguments[i] = registers->value[calls->arguments[i]] & b->word_mask;
        needed |= UINT64_C(1) << calls->arguments[i];
    }
    return (registers->known & needed) == needed;
}

/* Fills in a futex call. Returns false when the thread is not in one that may be of a lock. */
static bool find_futex_call(struct uspi_lock_wait *wait, const struct uspi_backend *b,
                            const struct usp_registers *registers, const struct usp_memory *memory) {
    const struct uspi_system_calls *calls = b->linux_calls;
    uint64_t arguments[USPI_CALL_ARGUMENTS];
    if (calls == NULL) return false;
    const uint32_t in_number = (uint32_t)registers->value[calls->number];
    const bool has_number = registers->system_call != 0;
    if (!is_futex(calls, has_number ? registers->system_call - 1 : in_number)) return false;
    if (has_number && !is_interrupted(in_number)) return false;
    if (!get_arguments(b, calls, registers, arguments)) return false;
    wait->word = arguments[0];
    wait->operation = (uint32_t)arguments[1] & ~FUTEX_FLAGS;
    wait->value = (uint32_t)arguments[2];
    wait->is_timed = arguments[3] != 0;
    /* The kernel refuses words that are not aligned. */
    if (wait->word < USPI_LOCK_BEFORE || wait->word % 4 != 0 || !may_be_lock(wait)) return false;
    /* The thread is about to make the call again: the kernel moves the pc back to the instruction before it delivers a
     * signal, on ARM also before a tracer sees the registers. */
    return has_number || is_at_call(calls, registers->value[b->pc], memory);
}

/* Fills in a call of an Apple system. Returns false when the thread is not in one that waits for a lock with an owner. */
static bool find_darwin_call(struct uspi_lock_wait *wait, const struct uspi_backend *b,
                             const struct usp_registers *registers, const struct usp_memory *memory) {
    const struct uspi_system_calls *calls = b->darwin_calls;
    uint64_t arguments[USPI_CALL_ARGUMENTS];
    if (calls == NULL || !get_arguments(b, calls, registers, arguments)) return false;
    wait->operation = (uint32_t)registers->value[calls->number] - calls->number_base;
    if (wait->operation == PSYNCH_MUTEXWAIT) {
        wait->word = arguments[0];
    } else if (wait->operation == PSYNCH_RW_RDLOCK || wait->operation == PSYNCH_RW_WRLOCK) {
        wait->word = arguments[0];
        wait->value = (uint32_t)arguments[1];
        if ((wait->value & DARWIN_WRITING) == 0) return false;
    } else if (wait->operation == ULOCK_WAIT || wait->operation == ULOCK_WAIT2) {
        if (((uint32_t)arguments[0] & ULOCK_OPERATION) != ULOCK_UNFAIR) return false;
        wait->word = arguments[1];
        wait->value = (uint32_t)arguments[2];
        wait->is_timed = wait->operation == ULOCK_WAIT ? (uint32_t)arguments[3] != 0 : arguments[3] != 0;
    } else {
        return false;
    }
    if (wait->word < USPI_LOCK_BEFORE || wait->word % 4 != 0) return false;
    /* While a thread is in a call, its pc is past the instruction. */
    const usp_addr length = calls->instructions[0].mask == 0xffff ? 2 : 4;
    return is_at_call(calls, registers->value[b->pc] - length, memory);
}

static bool read_around(struct uspi_lock_wait *wait, const struct usp_memory *memory, uint32_t before, uint32_t after) {
    wait->before = (uint8_t)before;
    wait->after = (uint8_t)after;
    return memory->read(memory->context, wait->word - before, wait->bytes + (USPI_LOCK_BEFORE - before),
                        before + after) == USP_OK;
}

static bool find_call(struct uspi_lock_wait *wait, uint32_t os, const struct usp_registers *registers,
                      const struct usp_memory *memory) {
    const struct uspi_backend *b = uspi_backend_find(registers->arch);
    if (memory->read == NULL || b == NULL) return false;
    if (os == USP_OS_LINUX) return find_futex_call(wait, b, registers, memory);
    return os == USP_OS_DARWIN && find_darwin_call(wait, b, registers, memory);
}

bool uspi_lock_wait_read(struct uspi_lock_wait *wait, uint32_t os, const struct usp_registers *registers,
                         const struct usp_memory *memory) {
    memset(wait, 0, sizeof *wait);
    if (find_call(wait, os, registers, memory)) {
        if (read_around(wait, memory, USPI_LOCK_BEFORE, USPI_LOCK_AFTER)) return true;
        /* The lock may be where readable memory begins or ends. */
        const uint32_t in_page = (uint32_t)(wait->word % USPI_LEAST_PAGE), left = USPI_LEAST_PAGE - in_page;
        if (read_around(wait, memory, in_page < USPI_LOCK_BEFORE ? in_page : USPI_LOCK_BEFORE,
                        left < USPI_LOCK_AFTER ? left : USPI_LOCK_AFTER)) {
            return true;
        }
    }
    wait->word = 0;
    return false;
}

/* ---- the locks ---- */

/* Whether the bytes from `from` up to `to` could be read. Both are offsets from the futex word. */
static bool has_bytes(const struct uspi_lock_wait *wait, int from, int to) {
    return from >= -(int)wait->before && to <= (int)wait->after;
}

/* Returns the number of 4 bytes at an offset from the futex word. */
static uint32_t at(const struct uspi_lock_wait *wait, int offset) {
    return uspi_le32(wait->bytes + (int)USPI_LOCK_BEFORE + offset);
}

/* Whether the word still has the value with which the thread went to sleep. */
static bool is_unchanged(const struct uspi_lock_wait *wait) { return at(wait, 0) == wait->value; }

/* Finds the owner in a word that has its id. */
static bool in_word(const struct uspi_lock_wait *wait, uint32_t *owner) {
    const uint32_t word = at(wait, 0);
    *owner = word & FUTEX_TID;
    return (word & FUTEX_OWNER_DIED) == 0 && *owner != 0;
}

/* struct __pthread_mutex_s (glibc sysdeps/nptl/bits/struct_mutex.h): the word, count, owner, then users and kind, which
 * change places on 32-bit processors. */
static bool in_glibc_mutex(const struct uspi_lock_wait *wait, const struct uspi_backend *b, uint32_t *owner) {
    const uint32_t count = at(wait, 4), users = at(wait, b->word == 8 ? 12 : 16);
    const uint32_t kind = at(wait, b->word == 8 ? 16 : 12);
    uint32_t in_robust;
    *owner = at(wait, 8);
    if (!has_bytes(wait, 0, 20) || !is_unchanged(wait) || (kind & ~GLIBC_KIND) != 0 || (kind & GLIBC_INHERIT) != 0)
        return false;
    if (*owner == 0 || users == 0 || users > GLIBC_USERS_MAX) return false;
    /* Of robust and protected mutexes it is 1 for the other types. */
    const uint32_t most = (kind & (GLIBC_ROBUST | GLIBC_PROTECT)) != 0 ? 1 : 0;
    if ((kind & GLIBC_TYPE) == GLIBC_RECURSIVE ? count == 0 : count > most) return false;
    if ((kind & GLIBC_ROBUST) != 0) {
        return (wait->value & FUTEX_WAITERS) != 0 && in_word(wait, &in_robust) && in_robust == *owner;
    }
    /* Other runtimes' locks have the same value, and wait by the other operation without a time limit. */
    if (wait->operation == FUTEX_WAIT_BITSET && !wait->is_timed) return false;
    const uint32_t low = (kind & GLIBC_PROTECT) != 0 ? wait->value & ((1u << GLIBC_CEILING) - 1) : wait->value;
    return low == GLIBC_CONTENDED;
}

/* pthread_mutex_t of musl: type, the word, waiters. */
static bool in_musl_mutex(const struct uspi_lock_wait *wait, uint32_t *owner) {
    if (!has_bytes(wait, -4, 8) || wait->operation != FUTEX_WAIT || !is_unchanged(wait)) return false;
    const uint32_t type = at(wait, -4), waiters = at(wait, 4);
    if ((type & ~MUSL_TYPES) != 0 || (type & MUSL_TYPE) == 0 || (type & 3) == 3 || (type & MUSL_TYPE) > 6) return false;
    return (wait->value & FUTEX_WAITERS) != 0 && waiters != 0 && waiters <= GLIBC_USERS_MAX && in_word(wait, owner);
}

/* struct __pthread_rwlock_arch_t (glibc sysdeps/nptl/bits/struct_rwlock.h and the processors' own): readers, writers,
 * the futex of readers, that of writers, two unused numbers, then the writer's id, which on 32-bit processors comes
 * after four bytes.
 *   offset  of the futex word in the lock */
static bool in_glibc_rwlock(const struct uspi_lock_wait *wait, const struct uspi_backend *b, int offset,
                            uint32_t *owner) {
    if (!has_bytes(wait, -offset, 32 - offset) || wait->operation != FUTEX_WAIT_BITSET) return false;
    if (!is_unchanged(wait)) return false;
    if (wait->value != GLIBC_WRITE_WAITED || (at(wait, -offset) & GLIBC_WRITING) != GLIBC_WRITING) return false;
    if (at(wait, 16 - offset) != 0 || at(wait, 20 - offset) != 0) return false;
    *owner = at(wait, (b->word == 8 ? 24 : 28) - offset);
    return *owner != 0;
}

/* libpthread's mutex: sig, a lock, options, priorities, the owner's id. */
static bool in_darwin_mutex(const struct uspi_lock_wait *wait, uint64_t *owner) {
    const uint32_t options = at(wait, 12);
    *owner = uspi_le64(wait->bytes + USPI_LOCK_BEFORE + 24);
    if (!has_bytes(wait, 0, 32) || wait->word % 8 != 0) return false;
    if ((at(wait, 0) & DARWIN_MUTEX_MASK) != DARWIN_MUTEX) return false;
    if ((options & (DARWIN_IS_MUTEX | DARWIN_IS_ULOCK)) != DARWIN_IS_MUTEX) return false;
    /* All bits are set while the mutex passes from one thread to another. */
    return *owner != 0 && *owner != UINT64_MAX;
}

/* libpthread's read-write lock: sig, a lock, bits, rw_flags, four unused bytes, the writer's id. A writer stores its id
 * when it takes the lock without the kernel, and zero before it gives it back. While a thread waits, no other one takes
 * the lock without the kernel. So the id is that of the writer for whom the thread went to sleep, or zero: the kernel has
 * passed the lock on since, and does not tell to whom. */
static bool in_darwin_rwlock(const struct uspi_lock_wait *wait, uint64_t *owner) {
    const uint32_t flags = at(wait, 16);
    *owner = uspi_le64(wait->bytes + USPI_LOCK_BEFORE + 24);
    if (!has_bytes(wait, 0, 32) || wait->word % 8 != 0 || at(wait, 0) != DARWIN_RWLOCK) return false;
    return (flags == DARWIN_RWLOCK_SHARED || flags == DARWIN_RWLOCK_PRIVATE) && *owner != 0;
}

uint32_t uspi_lock_wait_port(const struct uspi_lock_wait *wait) {
    if (wait->word == 0 || (wait->operation != ULOCK_WAIT && wait->operation != ULOCK_WAIT2)) return 0;
    const uint32_t port = at(wait, 0) | ULOCK_WAITERS;
    /* The thread went to sleep with the same owner. */
    if (!has_bytes(wait, 0, 4) || port != (wait->value | ULOCK_WAITERS)) return 0;
    return at(wait, 0) <= ULOCK_WAITERS || port == PORT_DEAD ? 0 : port;
}

static bool has_owner(const struct uspi_lock_wait *wait, const struct uspi_backend *b, struct uspi_lock_held *held) {
    enum { OF_READERS = 8, OF_WRITERS = 12 };
    uint32_t owner = 0;
    bool is_found = true;
    switch (wait->operation) {
    case PSYNCH_MUTEXWAIT: return in_darwin_mutex(wait, &held->owner);
    case PSYNCH_RW_RDLOCK:
    case PSYNCH_RW_WRLOCK: held->kind = USP_LOCK_READ_WRITE; return in_darwin_rwlock(wait, &held->owner);
    case ULOCK_WAIT:
    case ULOCK_WAIT2: held->owner = wait->owner; return wait->owner != 0;
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2: is_found = in_word(wait, &owner); break;
    default:
        if (in_glibc_mutex(wait, b, &owner)) break;
        if (in_musl_mutex(wait, &owner)) {
            held->lock -= 4;
            break;
        }
        held->kind = USP_LOCK_READ_WRITE;
        is_found = false;
        for (int offset = OF_READERS; offset <= OF_WRITERS && !is_found; offset += OF_WRITERS - OF_READERS) {
            is_found = in_glibc_rwlock(wait, b, offset, &owner);
            if (is_found) held->lock -= (usp_addr)offset;
        }
    }
    held->owner = owner;
    return is_found;
}

bool uspi_lock_wait_owner(const struct uspi_lock_wait *wait, uint32_t arch, struct uspi_lock_held *held) {
    const struct uspi_backend *b = uspi_backend_find(arch);
    *held = (struct uspi_lock_held){.lock = wait->word, .kind = USP_LOCK_MUTEX};
    return b != NULL && wait->word != 0 && has_owner(wait, b, held);
}

const char *usp_lock_kind_string(uint32_t kind) {
    switch (kind) {
    case USP_LOCK_MUTEX: return "mutex";
    case USP_LOCK_READ_WRITE: return "read-write lock";
    default: return "lock";
    }
}
