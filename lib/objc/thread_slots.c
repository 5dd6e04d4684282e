/* SPDX-License-Identifier: MIT */
/* Implements thread_slots.h: searches a thread's own data for a pointer. */
#include "lib/objc/thread_slots.h"

#include <unspool/unwind.h>

#include <string.h>

/* Number of words of a thread's data that are searched. Darwin has 256 slots of the system's and 512 keys (libpthread
 * src/internal.h, INTERNAL_POSIX_THREAD_KEYS_MAX, EXTERNAL_POSIX_THREAD_KEYS_MAX); glibc's struct pthread is smaller
 * (nptl/descr.h). */
#define DATA_WORDS 768u
/* Number of words that are searched one pointer away. CoreFoundation's table has a count and 70 slots (CF CFPlatform.c,
 * CF_TSD_MAX_SLOTS), a block of glibc's has 32 pairs (nptl/descr.h, PTHREAD_KEY_2NDLEVEL_SIZE). */
#define TABLE_WORDS 128u
/* The smallest page of any system that the layer runs on, in bytes. */
#define LEAST_PAGE 4096u

static int read_checked(usp_addr from, void *to, size_t n) {
    struct usp_memory memory;
    usp_memory_init_self(&memory);
    return memory.read(memory.context, from, to, n);
}

/* Reads up to n words, until a page cannot be read. Returns the number of words read. */
static size_t read_words(usp_addr from, uintptr_t *words, size_t n) {
    size_t done = 0;
    while (done < n) {
        usp_addr at = from + done * sizeof *words;
        size_t in_page = (size_t)(LEAST_PAGE - at % LEAST_PAGE) / sizeof *words;
        if (in_page == 0) in_page = 1;
        if (in_page > n - done) in_page = n - done;
        if (read_checked(at, words + done, in_page * sizeof *words) != USP_OK) break;
        done += in_page;
    }
    return done;
}

struct found {
    struct uspi_thread_slot *slots;
    size_t capacity, count;
};

static void add(struct found *found, size_t at, uint32_t in_table) {
    if (found->count < found->capacity) {
        found->slots[found->count] = (struct uspi_thread_slot){(uint32_t)(at * sizeof(uintptr_t)), in_table};
    }
    found->count++;
}

static void find_in_table(struct found *found, size_t at, uintptr_t table, usp_addr value) {
    uintptr_t words[TABLE_WORDS];
    if (table == 0 || table % sizeof table != 0) return;
    size_t n = read_words(table, words, TABLE_WORDS);
    for (size_t i = 0; i < n; i++) {
        if (words[i] == value) add(found, at, (uint32_t)(i * sizeof *words));
    }
}

int uspi_thread_slots_find(const struct usp_thread_info *thread, usp_addr value, struct uspi_thread_slot *slots,
                           size_t capacity, size_t *count) {
    uintptr_t words[DATA_WORDS];
    struct found found = {slots, capacity, 0};
    if (thread == NULL || count == NULL || value == 0 || (slots == NULL && capacity != 0)) return USP_ERROR_ARGUMENT;
    *count = 0;
    if (thread->data == 0) return USP_ERROR_UNSUPPORTED;
    size_t n = read_words(thread->data, words, DATA_WORDS);
    for (size_t i = 0; i < n; i++) {
        if (words[i] == value) {
            add(&found, i, USP_NO_INDEX);
        } else {
            find_in_table(&found, i, words[i], value);
        }
    }
    *count = found.count;
    if (found.count == 0) return USP_ERROR_NOT_FOUND;
    return found.count > capacity ? USP_ERROR_FULL : USP_OK;
}

int uspi_thread_slot_read(const struct usp_thread_info *thread, const struct uspi_thread_slot *slot, usp_addr *value) {
    uintptr_t word;
    if (thread == NULL || slot == NULL || value == NULL) return USP_ERROR_ARGUMENT;
    *value = 0;
    if (thread->data == 0) return USP_ERROR_UNSUPPORTED;
    int status = read_checked(thread->data + slot->at, &word, sizeof word);
    if (status == USP_OK && slot->in_table != USP_NO_INDEX) {
        status = read_checked((usp_addr)word + slot->in_table, &word, sizeof word);
    }
    if (status == USP_OK) *value = word;
    return status;
}
