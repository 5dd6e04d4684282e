/* SPDX-License-Identifier: MIT */
/* Makes allocations fail on request, and counts memory that is held. For programs linked statically with the library
 * and, where the linker is not Apple's, -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free: it
 * counts only allocations of their own objects, not those of libcheck and inside libc. Many threads may allocate while
 * no allocation is to fail. Include it once in a program. */
#ifndef TESTS_SUPPORT_FAILING_ALLOC_H
#define TESTS_SUPPORT_FAILING_ALLOC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifdef __APPLE__
/* On Apple systems a program's own functions replace the system's, but only in its own objects: an image's symbol from
 * another image names that image ("two-level namespace", ld(1)). The system's are found after the program's. */
#include <dlfcn.h>
#define WRAPPED(name) name

static void *next_function(_Atomic(void *) *found, const char *name) {
    void *function = *found;
    if (function == NULL) *found = function = dlsym(RTLD_NEXT, name);
    if (function == NULL) abort();
    return function;
}

static void *__real_malloc(size_t size) {
    static _Atomic(void *) found;
    return ((void *(*)(size_t))next_function(&found, "malloc"))(size);
}

static void *__real_calloc(size_t count, size_t size) {
    static _Atomic(void *) found;
    return ((void *(*)(size_t, size_t))next_function(&found, "calloc"))(count, size);
}

static void *__real_realloc(void *p, size_t size) {
    static _Atomic(void *) found;
    return ((void *(*)(void *, size_t))next_function(&found, "realloc"))(p, size);
}

static void __real_free(void *p) {
    static _Atomic(void *) found;
    ((void (*)(void *))next_function(&found, "free"))(p);
}
#else
#define WRAPPED(name) __wrap_##name

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
void __wrap_free(void *p);
#endif

static _Atomic(long) held_allocations, countdown;

/* Makes the n-th allocation from now on fail; 0: none. */
static inline void fail_allocation(long n) { countdown = n; }

/* Whether the allocation that is to fail has not been made yet. */
static inline bool allocation_still_to_fail(void) { return countdown > 0; }

static inline long allocations_held(void) { return held_allocations; }

static bool allocation_fails(void) { return countdown > 0 && --countdown == 0; }

void *WRAPPED(malloc)(size_t size) {
    void *p = allocation_fails() ? NULL : __real_malloc(size);
    if (p != NULL) held_allocations++;
    return p;
}

void *WRAPPED(calloc)(size_t count, size_t size) {
    void *p = allocation_fails() ? NULL : __real_calloc(count, size);
    if (p != NULL) held_allocations++;
    return p;
}

void *WRAPPED(realloc)(void *p, size_t size) {
    void *grown = allocation_fails() ? NULL : __real_realloc(p, size);
    if (grown != NULL && p == NULL) held_allocations++;
    return grown;
}

char *WRAPPED(strdup)(const char *s) {
    size_t n = strlen(s) + 1;
    char *copy = WRAPPED(malloc)(n);
    return copy != NULL ? memcpy(copy, s, n) : NULL;
}

void WRAPPED(free)(void *p) {
    if (p != NULL) held_allocations--;
    __real_free(p);
}

#endif
