/* SPDX-License-Identifier: MIT */
/* See copies.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/copies.h"

#include "lib/os/linux/alternate.h"

#include "arch/backend.h"

#include <errno.h>
#include <unistd.h>

/* Bytes that are copied of a stack whose mapping is not known. */
#define UNSURE_COPY ((uint64_t)256 << 10)
/* Limit for all usual stacks together, in bytes, and for all large ones if they are copied as a whole. */
#define ARENA_MAX ((uint64_t)(sizeof(size_t) > 4 ? 4096 : 512) << 20)
/* Limit of the address space that copies of large stacks take. Most of it is never filled. */
#define SPACE_MAX ((uint64_t)(sizeof(size_t) > 4 ? 65536 : 512) << 20)
/* Address space for the innermost part of one large stack. Pages that were never written do not count as copied. */
#define WINDOW_MAX ((uint64_t)(sizeof(size_t) > 4 ? 64 : 8) << 20)
/* Number of stacks that one call reads. The kernel accepts up to 1024 (uio.h, UIO_MAXIOV). */
#define BATCH 32u
/* Number of bytes with which a batch of stacks ends. The time limit is checked between batches. */
#define BATCH_SIZE ((size_t)1 << 20)
/* Larger memory is not allocated at once while threads are stopped, but page by page as far as it is used. */
#define FILLED_MAX ((size_t)16 << 20)
/* Bytes that suffice for the live part of most threads' stacks. */
#define USUAL_STACK ((size_t)8 << 10)
/* Number of entries of the page map that are read at once. */
#define PAGES 512u
/* Bits of an entry: the page is present, the page is swapped. */
#define PAGE_EXISTS (UINT64_C(3) << 62)

/* ---- which parts of a stack ---- */

/* Reads up to n bytes of the process, up to the first unreadable one. Returns how many. */
static size_t read_some(const struct uspi_tracing *tracing, usp_addr from, void *to, size_t n) {
    const struct iovec local = {to, n}, remote = {(void *)(uintptr_t)from, n};
    if (from > UINTPTR_MAX) return 0;
    long got = uspi_linux->read_process(tracing->living, &local, &remote, 1);
    if (got < 0 && got != -EFAULT) got = from <= INT64_MAX ? uspi_linux->pread(tracing->memory, to, n, from) : 0;
    return got > 0 ? (size_t)got : 0;
}

static bool can_read(const struct uspi_tracing *tracing, usp_addr at) {
    uint8_t byte;
    return read_some(tracing, at, &byte, 1) == 1;
}

/* Returns the mapping of the stack that sp points to; NULL: not known. If a stack has overflowed, sp is below it, in
 * the guard page or further down: then it is the next mapping above. The first thread's stack grows, and may have done
 * so since the mappings were read. *from becomes the lowest address to copy. */
static const struct uspi_range *find_stack(const struct uspi_tracing *tracing, usp_addr sp, usp_addr *from) {
    const struct uspi_range *r = uspi_ranges_above(&tracing->ranges, sp);
    if (r == NULL || !r->writable) return NULL;
    if (sp >= r->low) {
        if (*from < r->low && !can_read(tracing, *from)) *from = r->low;
        return r;
    }
    if (r->low - sp >= USPI_STACK_OVERFLOW) return NULL;
    if (can_read(tracing, sp)) return r->grows ? r : NULL;
    *from = r->low;
    return r;
}

/* Returns where a thread's stack ends that lies in a mapping, above `from`; 0: not known. The kernel may have merged
 * adjacent mappings, so a large one may contain more than the stack. libc keeps the thread's control block at the
 * stack's top (see threads.c on robust_list). */
static usp_addr end_of_stack(pid_t tid, const struct uspi_range *r, usp_addr from) {
    uintptr_t data;
    if (r->grows || r->high - from <= USPI_STACK_MAX) return r->high;
    if (uspi_linux->robust_list(tid, &data) < 0 || data <= from || data >= r->high) return 0;
    return (data | (USPI_LINUX_PAGE - 1)) + 1;
}

/* Returns the parts to copy of the stack that sp points to. */
static struct uspi_stack_extent extent_at(struct uspi_tracing *tracing, size_t i, usp_addr sp) {
    const struct uspi_backend *b = uspi_backend_find(tracing->threads[i].copy.registers.arch);
    struct uspi_stack_extent e = {.from = sp >= b->red_zone ? (sp - b->red_zone) & ~UINT64_C(15) : 0};
    uint64_t want = UNSURE_COPY;
    usp_addr end = 0;
    const struct uspi_range *r = find_stack(tracing, sp, &e.from);
    tracing->has_unknown_stack |= r == NULL;
    if (r != NULL) {
        end = end_of_stack(tracing->tids[i], r, e.from);
        e.low = r->low < e.from ? r->low : e.from;
        e.high = r->high;
        e.may_skip = r->is_anonymous;
        want = end != 0 ? end - e.from : USPI_STACK_MAX;
    }
    e.is_large = r != NULL && want > USPI_COPY_OUTER;
    if (e.is_large && end != 0) {
        e.outer.from = end - USPI_COPY_OUTER;
        e.outer.capacity = USPI_COPY_OUTER;
    }
    e.capacity = e.from > UINTPTR_MAX ? 0 : want < SIZE_MAX ? (size_t)want : SIZE_MAX;
    return e;
}

/* ---- room ---- */

void uspi_copies_reserve(struct uspi_tracing *tracing, size_t threads) {
    struct uspi_arena *arena = &tracing->arenas[USPI_OWN_STACK];
    if (threads > ARENA_MAX / USUAL_STACK) return;
    arena->size = threads * USUAL_STACK;
    arena->bytes = uspi_linux->map(arena->size, true);
}

static void clear_arena(struct uspi_arena *arena) {
    if (arena->bytes != NULL) uspi_linux->unmap(arena->bytes, arena->size);
    *arena = (struct uspi_arena){NULL, 0};
}

void uspi_copies_clear(struct uspi_tracing *tracing) {
    for (unsigned i = 0; i < USPI_ARENAS; i++) clear_arena(&tracing->arenas[i]);
}

static bool is_copied(const struct uspi_tracing *tracing, size_t i, unsigned which) {
    const struct uspi_traced *t = &tracing->traced[i];
    return (t->stopped || t->is_asleep) && tracing->threads[i].status == USP_OK &&
           (which == USPI_OWN_STACK || t->interrupted != 0);
}

/* Sets the extents. Returns the number of large ones, and in *total the bytes that the usual ones take. */
static size_t find_extents(struct uspi_tracing *tracing, unsigned which, size_t *total) {
    size_t large = 0;
    *total = 0;
    for (size_t i = 0; i < tracing->count; i++) {
        if (!is_copied(tracing, i, which)) continue;
        const struct uspi_traced *t = &tracing->traced[i];
        struct uspi_stack_extent *e = &tracing->traced[i].extents[which];
        *e =
            extent_at(tracing, i,
                      which == USPI_OWN_STACK ? usp_registers_sp(&tracing->threads[i].copy.registers) : t->interrupted);
        if (e->is_large) {
            large++;
            continue;
        }
        if (e->capacity > ARENA_MAX - *total) e->capacity = (size_t)(ARENA_MAX - *total);
        *total += e->capacity;
    }
    return large;
}

/* Returns the address space that a large extent takes, rounded up to whole pages. */
static uint64_t space_of(const struct uspi_stack_extent *e, uint64_t window) {
    const uint64_t inner = e->capacity < window ? e->capacity : window;
    return (inner + e->outer.capacity + (USPI_LINUX_PAGE - 1)) & ~(uint64_t)(USPI_LINUX_PAGE - 1);
}

static uint64_t space_of_all(const struct uspi_tracing *tracing, unsigned which, uint64_t window) {
    uint64_t total = 0;
    for (size_t i = 0; i < tracing->count; i++) {
        const struct uspi_stack_extent *e = &tracing->traced[i].extents[which];
        if (e->is_large) total += space_of(e, window);
    }
    return total;
}

/* Maps address space for the large extents. What does not fit is reserved for less of each stack. Returns how much of
 * one stack's innermost part fits; 0: nothing. The memory is new each time, so that it reads as zeros. */
static uint64_t map_large(struct uspi_tracing *tracing, unsigned which) {
    struct uspi_arena *arena = &tracing->arenas[USPI_STACKS + which];
    uint64_t window = tracing->whole_stacks ? SPACE_MAX : WINDOW_MAX;
    for (; window >= USPI_COPY_OUTER; window /= 2) {
        const uint64_t total = space_of_all(tracing, which, window);
        if (total > SPACE_MAX) continue;
        arena->size = (size_t)total;
        arena->bytes = uspi_linux->map(arena->size, false);
        if (arena->bytes != NULL) return window;
    }
    return 0;
}

static void lay_out_large(struct uspi_tracing *tracing, unsigned which) {
    const uint64_t window = map_large(tracing, which);
    uint8_t *at = tracing->arenas[USPI_STACKS + which].bytes;
    for (size_t i = 0; i < tracing->count; i++) {
        struct uspi_stack_extent *e = &tracing->traced[i].extents[which];
        if (!e->is_large) continue;
        if (window == 0) {
            e->capacity = e->outer.capacity = 0;
            continue;
        }
        const uint64_t space = space_of(e, window);
        if (e->capacity > window) e->capacity = (size_t)window;
        e->bytes = at;
        e->outer.bytes = at + e->capacity;
        at += space;
    }
}

/* Assigns room to one extent of each thread, one after another. */
static void lay_out(struct uspi_tracing *tracing, unsigned which) {
    struct uspi_arena *arena = &tracing->arenas[which];
    size_t total;
    clear_arena(&tracing->arenas[USPI_STACKS + which]);
    if (find_extents(tracing, which, &total) > 0) lay_out_large(tracing, which);
    if (arena->bytes == NULL || arena->size < total) {
        clear_arena(arena);
        arena->size = total;
        arena->bytes = total > 0 ? uspi_linux->map(total, total <= FILLED_MAX) : NULL;
    }
    uint8_t *at = arena->bytes;
    for (size_t i = 0; i < tracing->count; i++) {
        struct uspi_stack_extent *e = &tracing->traced[i].extents[which];
        if (e->is_large) continue;
        if (at == NULL) e->capacity = 0;
        if (e->capacity == 0) continue;
        e->bytes = at;
        at += e->capacity;
    }
}

/* ---- usual stacks ---- */

/* Stacks that one call reads into adjacent room. */
struct batch {
    size_t threads[BATCH];                    /* indexes of the threads */
    struct uspi_stack_extent *extents[BATCH]; /* the extent of each thread */
    struct iovec remote[BATCH];
    size_t count, size;
};

static void read_each(const struct uspi_tracing *tracing, const struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        struct uspi_stack_extent *e = batch->extents[i];
        e->copied = read_some(tracing, e->from, e->bytes, e->capacity);
    }
}

/* Reads a batch of stacks. The kernel stops at the first byte that cannot be read. Returns how many stacks are done. */
static size_t read_batch(const struct uspi_tracing *tracing, const struct batch *batch) {
    struct iovec local = {batch->extents[0]->bytes, batch->size};
    long got = uspi_linux->read_process(tracing->living, &local, batch->remote, batch->count);
    if (got < 0 && got != -EFAULT) {
        read_each(tracing, batch);
        return batch->count;
    }
    size_t left = got > 0 ? (size_t)got : 0, n = 0;
    while (n < batch->count) {
        struct uspi_stack_extent *e = batch->extents[n++];
        e->copied = left < e->capacity ? left : e->capacity;
        left -= e->copied;
        if (e->copied < e->capacity) break;
    }
    return n;
}

static void copy_usual(const struct uspi_tracing *tracing, unsigned which) {
    struct batch batch;
    for (size_t i = 0; i < tracing->count && !uspi_limit_is_over(&tracing->limit, i);) {
        batch.count = batch.size = 0;
        for (; i < tracing->count && batch.count < BATCH && batch.size < BATCH_SIZE; i++) {
            struct uspi_stack_extent *e = &tracing->traced[i].extents[which];
            if (e->capacity == 0 || e->is_large) continue;
            batch.threads[batch.count] = i;
            batch.extents[batch.count] = e;
            batch.remote[batch.count++] = (struct iovec){(void *)(uintptr_t)e->from, e->capacity};
            batch.size += e->capacity;
        }
        if (batch.count == 0) return;
        i = batch.threads[read_batch(tracing, &batch) - 1] + 1;
    }
}

/* ---- large stacks ---- */

/* A part of a large stack while it is copied. */
struct part {
    usp_addr from;
    uint8_t *bytes;
    size_t capacity, copied;
    bool may_skip;
};

/* Copies pages from `at` on that all exist, n bytes. Returns whether all could be read and time is left. */
static bool copy_pages(struct uspi_tracing *tracing, struct part *part, usp_addr at, size_t n) {
    const size_t got = read_some(tracing, at, part->bytes + (size_t)(at - part->from), n);
    part->copied = (size_t)(at - part->from) + got;
    tracing->left -= got < tracing->left ? got : tracing->left;
    return got == n && !uspi_limit_is_past(&tracing->limit);
}

/* Gives the page map's entries of up to PAGES pages from `at` on. Pages that it does not tell about count as existing.
 * Returns the number of entries. */
static size_t read_page_map(const struct uspi_tracing *tracing, const struct part *part, usp_addr at,
                            uint64_t entries[PAGES]) {
    const usp_addr end = part->from + part->capacity;
    uint64_t count = (end - 1) / tracing->page - at / tracing->page + 1;
    if (count > PAGES) count = PAGES;
    long got = 0;
    if (part->may_skip && tracing->pagemap >= 0) {
        got = uspi_linux->pread(tracing->pagemap, entries, (size_t)count * sizeof *entries,
                                at / tracing->page * sizeof *entries);
    }
    for (size_t i = got > 0 ? (size_t)got / sizeof *entries : 0; i < count; i++) entries[i] = PAGE_EXISTS;
    return (size_t)count;
}

/* Continues the copy of a part until `most` bytes of existing pages were copied, or the part's end. */
static void copy_part(struct uspi_tracing *tracing, struct part *part, uint64_t most) {
    const usp_addr end = part->from + part->capacity;
    uint64_t entries[PAGES], page = tracing->page;
    while (part->copied < part->capacity && most > 0) {
        usp_addr at = part->from + part->copied;
        const usp_addr first = at / page * page;
        const size_t count = read_page_map(tracing, part, at, entries);
        for (size_t i = 0, k; i < count && most > 0; i = k) {
            const bool exists = (entries[i] & PAGE_EXISTS) != 0;
            for (k = i + 1; k < count && ((entries[k] & PAGE_EXISTS) != 0) == exists; k++) continue;
            usp_addr to = first + k * page < end ? first + k * page : end;
            if (!exists) {
                part->copied = (size_t)(to - part->from);
            } else {
                if (to - at > most) to = at + most;
                if (!copy_pages(tracing, part, at, (size_t)(to - at))) return;
                most -= to - at;
            }
            at = to;
        }
        if (uspi_limit_is_past(&tracing->limit)) return;
    }
}

static void copy_outer(struct uspi_tracing *tracing, struct uspi_stack_extent *e) {
    struct part part = {e->outer.from, e->outer.bytes, e->outer.capacity, 0, e->may_skip};
    const usp_addr done = e->from + e->copied;
    if (e->outer.capacity == 0 || tracing->left == 0 || uspi_limit_is_past(&tracing->limit)) return;
    /* Nothing was copied of a stack that is gone. */
    if (e->copied == 0 || done >= part.from + part.capacity) return;
    copy_part(tracing, &part, tracing->left < part.capacity ? tracing->left : part.capacity);
    e->outer.copied = part.copied;
}

/* Copies the rest of the innermost part. If little is left up to the outermost part, it is copied too, so that there
 * is one part. */
static void copy_inner(struct uspi_tracing *tracing, struct uspi_stack_extent *e) {
    struct part part = {e->from, e->bytes, e->capacity, e->copied, e->may_skip};
    uint64_t most = USPI_COPY_INNER;
    if (e->copied == 0 || tracing->left == 0 || uspi_limit_is_past(&tracing->limit)) return;
    if (tracing->whole_stacks || e->capacity <= USPI_COPY_INNER + USPI_COPY_OUTER) most = e->capacity;
    copy_part(tracing, &part, most < tracing->left ? most : tracing->left);
    e->copied = part.copied;
}

static void copy_large(struct uspi_tracing *tracing, unsigned which) {
    for (unsigned pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < tracing->count; i++) {
            struct uspi_stack_extent *e = &tracing->traced[i].extents[which];
            if (!e->is_large || e->capacity == 0) continue;
            switch (pass) {
            case 0:
                if (uspi_limit_is_over(&tracing->limit, i)) break;
                e->copied =
                    read_some(tracing, e->from, e->bytes, e->capacity < USUAL_STACK ? e->capacity : USUAL_STACK);
                break;
            case 1: copy_outer(tracing, e); break;
            default: copy_inner(tracing, e); break;
            }
        }
    }
}

/* ---- all of it ---- */

static void look_for_interrupted(const struct uspi_tracing *tracing) {
    for (size_t i = 0; i < tracing->count; i++) {
        struct uspi_traced *t = &tracing->traced[i];
        const struct uspi_stack_extent *e = &t->extents[USPI_OWN_STACK];
        const struct uspi_copied bytes = {e->bytes, e->from, e->copied};
        if (e->capacity > 0) t->interrupted = uspi_alternate_search(tracing->threads[i].copy.registers.arch, &bytes);
    }
}

void uspi_copies_take(struct uspi_tracing *tracing) {
    uspi_limit_begin_copying(&tracing->limit);
    tracing->left = tracing->whole_stacks ? ARENA_MAX : USPI_COPY_LARGE;
    for (unsigned which = 0; which < USPI_STACKS; which++) {
        lay_out(tracing, which);
        copy_usual(tracing, which);
        copy_large(tracing, which);
        if (which == USPI_OWN_STACK) look_for_interrupted(tracing);
    }
}

#endif
