/* SPDX-License-Identifier: MIT */
/* Copies Swift's async contexts of a process while its threads are stopped. Contexts are on the heap and change as
 * soon as the threads run. Which word of a stack is a context's address is known only after the walk, later. So every
 * register and every word of a stack that points into writable memory counts as one. If a context's second word is an
 * address of code, its first word counts as the parent's address. A stack is searched only if the runtime has called a
 * function on it. Async-signal-safe. */
#ifndef USPI_OS_LINUX_CONTEXTS_H
#define USPI_OS_LINUX_CONTEXTS_H

#include "lib/base/context_table.h"
#include "lib/os/linux/limit.h"
#include "lib/os/linux/ranges.h"
#include "lib/os/os.h"

#include <sys/types.h>

/* Room for the contexts of one thread, including parents. */
#define USPI_CONTEXTS_OF_THREAD 256u
/* Maximum number of words of one stack that count as contexts. */
#define USPI_CONTEXTS_OF_STACK 128u

/* Where contexts are searched for. */
struct uspi_context_search {
    const struct uspi_ranges *ranges;
    struct usp_region executor; /* code range of the runtime */
    usp_addr mask;              /* mask of a pointer's address bits */
    pid_t pid;
    struct uspi_context_table *table;
    const struct uspi_limit *limit; /* of reading them */
};

/* Adds the contexts that a thread's registers and one of its stacks may point to.
 *   stack   the stack's copied bytes; size 0: none were copied */
void uspi_contexts_add_thread(const struct uspi_context_search *search, const struct usp_registers *registers,
                              const struct uspi_copied *stack);

/* Reads the added contexts, then their parents, and so on. Those for which the time does not suffice count as not
 * copied. */
void uspi_contexts_copy(const struct uspi_context_search *search);

#endif
