/* SPDX-License-Identifier: MIT */
/* The types that every other header uses: addresses, processors, statuses, the version.
 * Not the place for anything that captures, walks or names. */
#ifndef UNSPOOL_BASE_H
#define UNSPOOL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USP_VERSION_MAJOR 0
#define USP_VERSION_MINOR 1
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

/* An address in the target (the process, core file or emulator whose stack is looked at), zero-extended to 64 bits.
 * Never a pointer of this process: it must not be dereferenced, only handed to a reader. */
typedef uint64_t usp_addr;

/* The processors. The numbers are part of the interface and of stored captures. */
enum usp_arch {
    USP_ARCH_NONE = 0, /* not known, or a host that no backend describes */
    USP_ARCH_ARM64 = 1,
    USP_ARCH_ARM64_32 = 2, /* arm64 instructions, 32-bit pointers, 64-bit stack slots (Apple Watch) */
    USP_ARCH_ARMV7 = 3,    /* ARM and Thumb-2, armv7k and armv7s included */
    USP_ARCH_X86_64 = 4,
    USP_ARCH_I386 = 5
};

/* Variants of a processor for which Apple's compilers make files of their own: a fat file can have a slice for each. The numbers
 * are part of the interface and of stored captures. */
enum usp_variant {
    USP_VARIANT_NONE = 0,   /* of an image: not known, or its format has none (ELF); of a question: any */
    USP_VARIANT_PLAIN = 1,  /* the processor as its name says */
    USP_VARIANT_ARM64E = 2, /* of arm64: signs return addresses and pointers */
    USP_VARIANT_ARMV7S = 3, /* of armv7 */
    USP_VARIANT_ARMV7K = 4, /* of armv7 (Apple Watch) */
    USP_VARIANT_X86_64H = 5 /* of x86_64 (Haswell) */
};

/* What a function that can fail returns. 0 is success, failures are negative; a positive value, where a function
 * returns one, is a count. The numbers never change. */
enum usp_status {
    USP_OK = 0,
    USP_ERROR_ARGUMENT = -1,     /* an argument is outside what the function's contract allows */
    USP_ERROR_UNREADABLE = -2,   /* target memory is not mapped, not readable, or gone */
    USP_ERROR_ABSENT = -3,       /* a core file knows the memory but does not hold it, and no file stands in */
    USP_ERROR_NO_MEMORY = -4,    /* an allocation failed */
    USP_ERROR_UNSUPPORTED = -5,  /* this platform, build or processor cannot do that */
    USP_ERROR_NOT_PREPARED = -6, /* needs usp_prepare first */
    USP_ERROR_NO_THREAD = -7,    /* the thread or process does not exist, or ended meanwhile */
    USP_ERROR_TIMEOUT = -8,      /* the thread did not answer in time (blocked signal, uninterruptible sleep) */
    USP_ERROR_PERMISSION = -9,   /* the system does not allow it; usp_status_string's page tells what to do */
    USP_ERROR_SYSTEM = -10,      /* a system call failed in a way that has no status of its own */
    USP_ERROR_FORMAT = -11,      /* a file, core, state or table is malformed */
    USP_ERROR_TRUNCATED = -12,   /* it ends before what it promises */
    USP_ERROR_MISMATCH = -13,    /* build-id or UUID differ: another build of the file */
    USP_ERROR_NOT_FOUND = -14,   /* no such image, symbol, file or element */
    USP_ERROR_BUSY = -15,        /* another thread is doing it, or the list is being changed; try again */
    USP_ERROR_FULL = -16,      /* the caller's or a bounded buffer is too small; the count that is needed is returned */
    USP_ERROR_STACK_FULL = -17 /* the thread's stack has no room left for its answer */
};

/* A sentence in English for a status. Returns a string of static lifetime, never NULL, also for unknown numbers.
 * Allocates nothing. Async-signal-safe, thread-safe. */
USP_API const char *usp_status_string(int status);

/* The processor's short name as tools spell it ("arm64", "arm64_32", "armv7", "x86_64", "i386"), "unknown" otherwise.
 * Static lifetime. Async-signal-safe, thread-safe. */
USP_API const char *usp_arch_string(uint32_t arch);

/* The processor with that name, or with the name of one of its variants; also accepts "aarch64", "arm", "amd64", "i686".
 * Returns an enum usp_arch, USP_ARCH_NONE if there is none. Async-signal-safe, thread-safe. */
USP_API uint32_t usp_arch_from_string(const char *name);

/* The short name of a variant: "arm64e", "armv7s", "armv7k", "x86_64h"; that of its processor for USP_VARIANT_NONE,
 * USP_VARIANT_PLAIN and a number that the processor does not have. Static lifetime. Async-signal-safe, thread-safe. */
USP_API const char *usp_variant_string(uint32_t arch, uint32_t variant);

/* The variant that a name means: that of "arm64e" is USP_VARIANT_ARM64E, that of "arm64" USP_VARIANT_PLAIN. "aarch64", "arm", "amd64"
 * and "i686" mean any variant. Returns an enum usp_variant, USP_VARIANT_NONE for these and for names that are not known.
 * usp_arch_from_string has the processor. Async-signal-safe, thread-safe. */
USP_API uint32_t usp_variant_from_string(const char *name);

/* The processor this library was compiled for, USP_ARCH_NONE where no backend describes it (the library can still read
 * foreign stacks there). Async-signal-safe, thread-safe. */
USP_API uint32_t usp_arch_host(void);

/* The version of the library that is loaded, major << 16 | minor << 8 | patch; and as text. Async-signal-safe. */
USP_API uint32_t usp_version(void);
USP_API const char *usp_version_string(void);

USP_END_DECLS

#endif
