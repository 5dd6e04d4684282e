/* SPDX-License-Identifier: MIT */
/* Linked with every fuzzer: aborts where the memory that an input makes the library hold is out of proportion to the input,
 * as when a count in a damaged file is believed. The linker puts it in front of the fuzzer's own function
 * (--wrap=LLVMFuzzerTestOneInput). */
#include <sanitizer/allocator_interface.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What a symbolizer or a table of stacks takes for itself, and liblzma, which is allowed 80 MB for a dictionary
 * (lib/images/decompress.c); and what may be allocated for each byte: one of a compressed table stands for 64, one of an exports
 * trie for a node. */
#define FIXED    (UINT64_C(96) << 20)
#define PER_BYTE UINT64_C(1024)

int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Atomic(int64_t) held, most;

static void on_malloc(const volatile void *at, size_t n) {
    (void)at;
    const int64_t now = atomic_fetch_add(&held, (int64_t)n) + (int64_t)n;
    int64_t before = atomic_load(&most);
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) continue;
}

static void on_free(const volatile void *at) {
    if (at != NULL) atomic_fetch_sub(&held, (int64_t)__sanitizer_get_allocated_size(at));
}

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int is_watching;
    if (!is_watching) is_watching = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    if (!is_watching) abort();
    atomic_store(&held, 0);
    atomic_store(&most, 0);
    const int result = __real_LLVMFuzzerTestOneInput(data, size);
    const uint64_t taken = (uint64_t)atomic_load(&most);
    if (taken > FIXED + PER_BYTE * size) {
        fprintf(stderr, "%llu bytes are held for an input of %zu\n", (unsigned long long)taken, size);
        abort();
    }
    return result;
}
