/* SPDX-License-Identifier: MIT */
/* Types that every other header uses: addresses, processors, statuses, the version. Functions that capture, walk or
 * symbolicate are declared elsewhere. */
#ifndef UNSPOOL_BASE_H
#define UNSPOOL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A library that was configured --with-symbol-prefix has this file beside its headers. It renames what they declare, so
 * that a program with two copies of the library can use each (doc/embedding.md). */
#if defined(__has_include)
#if __has_include("unspool_prefix.h")
#include "unspool_prefix.h"
#endif
#endif

#define USP_VERSION_MAJOR 0
#define USP_VERSION_MINOR 9
#define USP_VERSION_PATCH 0

#if defined(__GNUC__) || defined(__clang__)
#define USP_API __attribute__((visibility("default")))
#else
#define USP_API
#endif

#ifdef __cplusplus
#define USP_BEGIN_DECLS extern "C" {
#define USP_END_DECLS   }
#else
#define USP_BEGIN_DECLS
#define USP_END_DECLS
#endif

USP_BEGIN_DECLS

/* An address in the target (the process, core file or emulator that the stack belongs to), zero-extended to 64 bits.
 * It is never a pointer of this process: do not dereference it, pass it to a memory reader. */
typedef uint64_t usp_addr;

/* The processors. The numbers are part of the interface and of stored captures. */
enum usp_arch {
    USP_ARCH_NONE = 0, /* the processor is not known, or this host has no backend */
    USP_ARCH_ARM64 = 1,
    USP_ARCH_ARM64_32 = 2, /* arm64 instructions, 32-bit pointers, 64-bit stack slots (Apple Watch) */
    USP_ARCH_ARMV7 = 3,    /* ARM and Thumb-2, armv7k and armv7s included */
    USP_ARCH_X86_64 = 4,
    USP_ARCH_I386 = 5
};

/* Variants of a processor for which Apple's compilers produce separate code. A fat file can have a slice for each. The
 * numbers are part of the interface and of stored captures. */
enum usp_variant {
    USP_VARIANT_NONE = 0,   /* an image's variant is not known or its format (ELF) has none; in a search: any variant */
    USP_VARIANT_PLAIN = 1,  /* the processor's base variant */
    USP_VARIANT_ARM64E = 2, /* of arm64: signs return addresses and pointers */
    USP_VARIANT_ARMV7S = 3, /* of armv7 */
    USP_VARIANT_ARMV7K = 4, /* of armv7 (Apple Watch) */
    USP_VARIANT_X86_64H = 5 /* of x86_64 (Haswell) */
};

/* Results of functions that can fail. 0 is success and failures are negative. Where a function returns a positive
 * value, it is a count. The numbers never change. */
enum usp_status {
    USP_OK = 0,
    USP_ERROR_ARGUMENT = -1,   /* an argument is outside what the function's contract allows */
    USP_ERROR_UNREADABLE = -2, /* target memory is not mapped, not readable, or gone */
    /* the core file lists the memory but does not contain it, and no other file supplies it */
    USP_ERROR_ABSENT = -3,
    USP_ERROR_NO_MEMORY = -4,    /* an allocation failed */
    USP_ERROR_UNSUPPORTED = -5,  /* this platform, build or processor cannot do this */
    USP_ERROR_NOT_PREPARED = -6, /* usp_prepare has to be called first */
    USP_ERROR_NO_THREAD = -7,    /* the thread or process does not exist or has ended */
    USP_ERROR_TIMEOUT = -8,      /* the thread did not answer in time (blocked signal, uninterruptible sleep) */
    /* The system does not allow it. On Linux, root and a process's own user may read it, unless the process forbids it
     * (PR_SET_DUMPABLE) or Yama's /proc/sys/kernel/yama/ptrace_scope restricts it. In a container, CAP_SYS_PTRACE may
     * have to be granted. */
    USP_ERROR_PERMISSION = -9,
    USP_ERROR_SYSTEM = -10,    /* a system call failed with an error that has no status of its own */
    USP_ERROR_FORMAT = -11,    /* a file, core, state or table is malformed */
    USP_ERROR_TRUNCATED = -12, /* the data ends earlier than its headers promise */
    USP_ERROR_MISMATCH = -13,  /* build id or UUID differ: the file is of another build */
    USP_ERROR_NOT_FOUND = -14, /* no such image, symbol, file or element */
    USP_ERROR_BUSY = -15,      /* another thread is doing it, or the list is changing; try again */
    USP_ERROR_FULL = -16,      /* the caller's buffer, or a bounded one, is too small; the required count is returned */
    USP_ERROR_STACK_FULL = -17 /* the thread's stack has no room left for answering the request */
};

/* Returns an English sentence for a status: a string of static lifetime, never NULL, also for unknown numbers.
 * Allocates nothing. Async-signal-safe, thread-safe. */
USP_API const char *usp_status_string(int status);

/* Returns the processor's short name as tools spell it ("arm64", "arm64_32", "armv7", "x86_64", "i386"), or "unknown".
 * Static lifetime. Async-signal-safe, thread-safe. */
USP_API const char *usp_arch_string(uint32_t arch);

/* Returns the size of a processor's pointers in bytes: 4 or 8; 0 when `arch` is not an enum usp_arch of this library.
 * Async-signal-safe, thread-safe. */
USP_API uint32_t usp_arch_pointer_size(uint32_t arch);

/* Returns the processor (enum usp_arch) with this name or with a variant of this name, or USP_ARCH_NONE. Also accepts
 * "aarch64", "arm", "amd64" and "i686". Async-signal-safe, thread-safe. */
USP_API uint32_t usp_arch_from_string(const char *name);

/* Returns the short name of a variant: "arm64e", "armv7s", "armv7k", "x86_64h". For USP_VARIANT_NONE,
 * USP_VARIANT_PLAIN and variants that the processor does not have, returns the processor's name. Static lifetime.
 * Async-signal-safe, thread-safe. */
USP_API const char *usp_variant_string(uint32_t arch, uint32_t variant);

/* Returns the variant (enum usp_variant) that a name stands for: "arm64e" is USP_VARIANT_ARM64E, "arm64" is
 * USP_VARIANT_PLAIN. Returns USP_VARIANT_NONE for unknown names, and for "aarch64", "arm", "amd64" and "i686", which
 * stand for any variant. usp_arch_from_string gives the processor. Async-signal-safe, thread-safe. */
USP_API uint32_t usp_variant_from_string(const char *name);

/* Returns the processor that this library was compiled for, or USP_ARCH_NONE when it has no backend for that
 * processor. Even then, the library can read stacks of other processors. Async-signal-safe, thread-safe. */
USP_API uint32_t usp_arch_host(void);

/* Return the version of the loaded library: as major << 16 | minor << 8 | patch, and as text ("1.2.3").
 * USP_VERSION_MAJOR, USP_VERSION_MINOR and USP_VERSION_PATCH are the version of the headers. Async-signal-safe,
 * thread-safe. */
USP_API uint32_t usp_version(void);
USP_API const char *usp_version_string(void);

USP_END_DECLS

#endif
