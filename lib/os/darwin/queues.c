/* SPDX-License-Identifier: MIT */
/* Finds the label of the dispatch queue that a thread works on. The kernel says where a thread keeps its current queue.
 * The rest is libdispatch's own memory, which may be gone at any moment. So it is only read with checks, and any doubt
 * means no label.
 *
 * Where a queue has its label is not a public interface. It is learned from a queue of our own, together with the way
 * to it. So a system where either differs has no labels instead of wrong ones. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/capturing.h"

#include <dispatch/dispatch.h>
#include <string.h>

/* Number of words at the beginning of a queue in which its label is searched. A larger number would reach neighbouring
 * memory. */
#define QUEUE_WORDS 16u
/* A read that does not cross a multiple of this size stays in one page. */
#define PAGE 4096u

/* ---- learning ---- */

struct trial {
    dispatch_queue_t queue;
    bool is_told; /* the address that the kernel gives contains the queue while this thread works on it */
};

static void try_place(void *context) {
    struct trial *trial = context;
    struct thread_identifier_info ids;
    mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
    uintptr_t queue = 0;
    thread_act_t self = pthread_mach_thread_np(pthread_self());
    trial->is_told = thread_info(self, THREAD_IDENTIFIER_INFO, (thread_info_t)&ids, &count) == KERN_SUCCESS &&
                     ids.dispatch_qaddr != 0 &&
                     uspi_darwin_read(mach_task_self(), ids.dispatch_qaddr, &queue, sizeof queue) == USP_OK &&
                     queue == (uintptr_t)trial->queue;
}

/* Returns the offset of the only word of a queue that is its label's address; 0 when there is none, or more than
 * one. */
static size_t find_label(dispatch_queue_t queue) {
    uintptr_t label = (uintptr_t)dispatch_queue_get_label(queue), word;
    size_t found = 0;
    for (unsigned i = 1; i < QUEUE_WORDS && label != 0; i++) {
        usp_addr at = (uintptr_t)queue + i * sizeof word;
        if (uspi_darwin_read(mach_task_self(), at, &word, sizeof word) != USP_OK) break;
        if (word != label) continue;
        if (found != 0) return 0;
        found = i * sizeof word;
    }
    return found;
}

void uspi_darwin_learn_queues(void) {
    struct trial trial = {.is_told = false};
    if (atomic_load(&uspi_darwin_capturing.label_at) != 0) return;
    trial.queue = dispatch_queue_create("unspool.label", NULL);
    if (trial.queue == NULL) return;
    dispatch_sync_f(trial.queue, &trial, try_place);
    if (trial.is_told) atomic_store(&uspi_darwin_capturing.label_at, find_label(trial.queue));
    dispatch_release(trial.queue);
}

/* ---- reading ---- */

static bool read_word(task_t task, usp_addr at, usp_addr *word) {
    uintptr_t value = 0;
    bool is_there = uspi_darwin_read(task, at, &value, sizeof value) == USP_OK;
    *word = value;
    return is_there && value != 0;
}

/* Whether a text can be a label: no label contains control characters. */
static bool is_text(const char *text) {
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) return false;
    }
    return true;
}

/* Reads a label, cut to fit. It is read page by page, because the memory after its end may be unreadable. */
static bool read_text(task_t task, usp_addr from, char *to, size_t capacity) {
    size_t n = 0;
    memset(to, 0, capacity);
    while (n + 1 < capacity && memchr(to, '\0', n) == NULL) {
        size_t piece = PAGE - (size_t)((from + n) % PAGE);
        if (piece > capacity - 1 - n) piece = capacity - 1 - n;
        if (uspi_darwin_read(task, from + n, to + n, piece) != USP_OK) return false;
        n += piece;
    }
    /* Bytes after the label's end are cleared. */
    memset(to + strlen(to), 0, capacity - strlen(to));
    return is_text(to);
}

usp_addr uspi_darwin_queue(task_t task, usp_addr place, char *label, size_t capacity) {
    size_t offset = atomic_load(&uspi_darwin_capturing.label_at);
    usp_addr queue, text, queue_again, text_again;
    label[0] = '\0';
    if (offset == 0 || place == 0 || !read_word(task, place, &queue)) return 0;
    bool is_sure = read_word(task, queue + offset, &text) && read_text(task, text, label, capacity) &&
                   read_word(task, place, &queue_again) && queue_again == queue &&
                   read_word(task, queue + offset, &text_again) && text_again == text;
    if (is_sure) return queue;
    memset(label, 0, capacity);
    return 0;
}

#endif
