/* SPDX-License-Identifier: MIT */
/* Replaces a program's allocator and its calls of the loader, and counts calls while `guarded` is set on the calling
 * thread. So a test notices calls that a capture must not make. Include it once in a program. */
#ifndef TESTS_SUPPORT_LINUX_COUNTED_ALLOCATOR_H
#define TESTS_SUPPORT_LINUX_COUNTED_ALLOCATOR_H

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "tests/support/sanitized.h"

static _Thread_local __attribute__((tls_model("initial-exec"))) int guarded;
static _Atomic(unsigned) forbidden_calls;

static inline void note_call(void) {
    if (guarded != 0) atomic_fetch_add(&forbidden_calls, 1);
}

#if USP_SANITIZED
/* A sanitizer's allocator cannot be replaced, but it reports its allocations itself
 * (sanitizer/allocator_interface.h). */
#define ALLOCATOR_IS_COUNTED 1
#include <sanitizer/allocator_interface.h>

static void note_malloc(const volatile void *p, size_t n) {
    (void)p;
    (void)n;
    note_call();
}

static void note_free(const volatile void *p) {
    (void)p;
    note_call();
}

__attribute__((constructor)) static void listen_to_allocator(void) {
    if (__sanitizer_install_malloc_and_free_hooks(note_malloc, note_free) == 0) abort();
}
#elif defined(__GLIBC__)
#define ALLOCATOR_IS_COUNTED 1
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

void *malloc(size_t n) {
    note_call();
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    note_call();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    note_call();
    return __libc_realloc(p, n);
}

void *memalign(size_t align, size_t n) {
    note_call();
    return __libc_memalign(align, n);
}

void free(void *p) {
    note_call();
    __libc_free(p);
}
#else
/* Other C libraries have allocators that cannot be replaced in this way. */
#define ALLOCATOR_IS_COUNTED 0
#endif

#if ALLOCATOR_IS_COUNTED
int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *context) {
    static int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    note_call();
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    return real(callback, context);
}

int dladdr(const void *address, Dl_info *info) {
    static int (*real)(const void *, Dl_info *);
    note_call();
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "dladdr");
    return real(address, info);
}
#endif

#endif
