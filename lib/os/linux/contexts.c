/* SPDX-License-Identifier: MIT */
/* See contexts.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/contexts.h"

#include "lib/os/linux/calls.h"

#include <errno.h>
#include <string.h>

/* Maximum number of bytes of a stack that are searched, from its outermost end. The executor calls async functions near
 * a thread's beginning. */
#define SEARCHED_MAX ((size_t)64 << 10)
/* Number of contexts that one call reads. The kernel accepts up to 1024 (uio.h, UIO_MAXIOV). */
#define BATCH 64u

static bool lies_in(const struct uspi_copied *stack, usp_addr address) { return address - stack->from < stack->size; }

static bool lies_in_region(const struct usp_region *region, usp_addr address) {
    return address >= region->text_low && address < region->text_high;
}

/* Adds an address if a context can be there. Returns false when it cannot, when the address was added before, or when
 * there is no room. */
static bool add(const struct uspi_context_search *search, usp_addr address) {
    address &= search->mask;
    if (address == 0 || (address & (USPI_CONTEXT_SIZE - 1)) != 0) return false;
    const struct uspi_range *range = uspi_ranges_find(search->ranges, address);
    return range != NULL && range->writable && !range->grows && uspi_context_table_add(search->table, address);
}

void uspi_contexts_add_thread(const struct uspi_context_search *search, const struct usp_registers *registers,
                              const struct uspi_copied *stack) {
    const size_t searched = stack->size < SEARCHED_MAX ? stack->size : SEARCHED_MAX;
    const uint8_t *end = stack->bytes + stack->size;
    size_t at = 8;
    while (at <= searched && !lies_in_region(&search->executor, uspi_le64(end - at) & search->mask)) at += 8;
    if (at > searched) return;
    for (unsigned i = 0; i < USP_REGISTERS_MAX; i++) {
        if ((registers->known >> i & 1) != 0 && !lies_in(stack, registers->value[i])) add(search, registers->value[i]);
    }
    for (unsigned found = 0; at <= searched && found < USPI_CONTEXTS_OF_STACK; at += 8) {
        const usp_addr word = uspi_le64(end - at);
        if (!lies_in(stack, word) && add(search, word)) found++;
    }
}

/* Reads up to `count` contexts, from number `from` on. Returns how many are done; 0: none can be read. The kernel stops
 * at the first byte that cannot be read; the address of that byte's context is set to 0. */
static size_t read_batch(const struct uspi_context_search *search, size_t from, size_t count) {
    struct uspi_context *contexts = search->table->contexts + from;
    uint8_t bytes[BATCH][USPI_CONTEXT_SIZE];
    struct iovec remote[BATCH];
    for (size_t i = 0; i < count; i++) {
        remote[i] = (struct iovec){(void *)(uintptr_t)contexts[i].address, USPI_CONTEXT_SIZE};
    }
    const struct iovec local = {bytes, count * USPI_CONTEXT_SIZE};
    const long got = uspi_linux->read_process(search->pid, &local, remote, count);
    if (got < 0 && got != -EFAULT) return 0;
    const size_t read = got > 0 ? (size_t)got / USPI_CONTEXT_SIZE : 0;
    for (size_t i = 0; i < read; i++) memcpy(contexts[i].bytes, bytes[i], USPI_CONTEXT_SIZE);
    if (read == count) return count;
    contexts[read].address = 0;
    return read + 1;
}

static bool is_code(const struct uspi_context_search *search, usp_addr address) {
    const struct uspi_range *range = uspi_ranges_find(search->ranges, address & search->mask);
    return range != NULL && range->executable;
}

void uspi_contexts_copy(const struct uspi_context_search *search) {
    const struct uspi_context_table *table = search->table;
    size_t next = 0;
    while (next < table->count && !uspi_limit_is_over(search->limit, next)) {
        const size_t from = next, left = table->count - from;
        const size_t done = read_batch(search, from, left < BATCH ? left : BATCH);
        if (done == 0) break;
        next += done;
        for (size_t i = from; i < next; i++) {
            const struct uspi_context *context = &table->contexts[i];
            if (context->address != 0 && is_code(search, uspi_context_resume(context))) {
                add(search, uspi_context_parent(context));
            }
        }
    }
    for (size_t i = next; i < table->count; i++) table->contexts[i].address = 0;
}

#endif
