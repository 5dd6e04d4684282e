/* SPDX-License-Identifier: MIT */
/* Linked with every fuzzer. Aborts when the library holds too much memory for the size of the input, for example
 * because it believes a count in a damaged file. The linker puts it before the fuzzer's own function
 * (--wrap=LLVMFuzzerTestOneInput). */
#include <sanitizer/allocator_interface.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The allowed memory. FIXED covers a symbolizer's or stack table's own memory, and liblzma, which may use 80 MB for a
 * dictionary (lib/images/decompress.c). PER_BYTE is the allowance for each input byte: a byte of a compressed table
 * stands for 64 bytes, and one of an exports trie for a node. */
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
