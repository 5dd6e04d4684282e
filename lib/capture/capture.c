/* SPDX-License-Identifier: MIT */
/* Typed capture in this process: the calling thread, a signal's context, another thread. Connects the walker with the
 * OS layer. lib/os/ has the system calls, lib/snapshot/snapshot.c captures all threads at once. */
#include "lib/base/processor.h"
#include "lib/base/sized.h"
#include "lib/capture/by_rules.h"
#include "lib/capture/call_sites.h"
#include "lib/capture/own_code.h"
#include "lib/capture/own_target.h"
#include "lib/capture/roots.h"
#include "lib/capture/state.h"
#include "lib/capture/thread_copy.h"
#include "lib/images/own_images.h"
#include "lib/os/os.h"
#include "lib/unwind/async.h"
#include "lib/unwind/async_code.h"
#include "lib/unwind/unwind.h"

#include "arch/host.h"
#include "lib/base/page_cache.h"
#include "lib/unwind/tables/image_tables.h"

#include <unspool/capture.h>

#include <stdatomic.h>
#include <stdlib.h>

static int refuse(struct usp_stack *stack, int status) {
    if (stack != NULL) {
        usp_stack_init(stack, stack->frames, stack->capacity);
        stack->status = status;
    }
    return status;
}

static bool can_capture(void) { return USPI_HOST_ARCH != USP_ARCH_NONE && uspi_os_kind() != USP_OS_UNKNOWN; }

/* Unwinds from `at` by uspi_unwind, which does not rely on cached rules alone. */
static int unwind_from(const struct usp_target *target, const struct uspi_rule_position *at,
                       const struct uspi_shortcuts *shortcuts, const struct usp_unwind_options *options,
                       struct usp_stack *stack) {
    struct usp_registers registers;
    uspi_registers_init(&registers, USPI_HOST_ARCH);
    usp_registers_set_pc(&registers, at->pc);
    usp_registers_set_sp(&registers, at->sp);
    if (USPI_HOST_RECORDS) usp_registers_set_fp(&registers, at->fp);
    return uspi_unwind(target, &registers, true, shortcuts, options, stack);
}

/* Whether the caller's async frames must be found by their code. That needs more of its registers than pc, sp and
 * fp. */
static bool wants_registers(const struct usp_unwind_options *options, const struct usp_target *target,
                            struct usp_unwind_options *completed) {
    if (options == NULL || !uspi_async_has_code(target) || !uspi_complete_options(options, completed)) return false;
    /* Also skips the frame of the capturing function. */
    completed->skip++;
    return completed->async != 0;
}

/* Captures the stack of the caller of the function that this is inlined into. */
USPI_TEMPLATE int capture_caller(const struct usp_unwind_options *options, struct usp_stack *stack) {
    if (!can_capture()) return refuse(stack, USP_ERROR_UNSUPPORTED);
    struct usp_target target;
    struct uspi_own_surroundings own;
    uintptr_t own_record = (uintptr_t)__builtin_frame_address(0);
    struct uspi_rule_position at = {.pc = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)),
                                    .sp = (uintptr_t)__builtin_dwarf_cfa(),
                                    .fp = USPI_HOST_RECORDS ? *(const uintptr_t *)own_record : 0,
                                    .kind = USP_FRAME_KIND_RETURN_ADDRESS,
                                    .method = USP_FRAME_METHOD_CONTEXT};
    struct usp_unwind_options completed;
    struct usp_registers registers;
    int status = USP_OK;
    uspi_own_target_init(&target, &own, uspi_host_sp());
    if (wants_registers(options, &target, &completed) && uspi_host_registers(&registers)) {
        status = uspi_unwind(&target, &registers, false, &own.shortcuts, &completed, stack);
    } else if (!USPI_HOST_RECORDS || !uspi_unwind_by_rules(&target, &at, &own.shortcuts, options, stack)) {
        status = unwind_from(&target, &at, &own.shortcuts, options, stack);
    }
    usp_images_release(own.ticket);
    return status;
}

/* Not inlined into the program by link-time optimization, which would leave out the program's function. */
USPI_APART int usp_capture_self(const struct usp_unwind_options *options, struct usp_stack *stack) {
    return capture_caller(options, stack);
}

int usp_capture_context(const void *ucontext, const struct usp_unwind_options *options, struct usp_stack *stack) {
    if (!can_capture()) return refuse(stack, USP_ERROR_UNSUPPORTED);
    struct usp_registers registers;
    struct usp_target target;
    struct uspi_own_surroundings own;
    if (ucontext == NULL || uspi_os_context_registers(ucontext, &registers) != USP_OK) {
        return refuse(stack, USP_ERROR_ARGUMENT);
    }
    uspi_own_target_init(&target, &own, (uintptr_t)usp_registers_sp(&registers));
    int status = uspi_unwind(&target, &registers, false, &own.shortcuts, options, stack);
    usp_images_release(own.ticket);
    return status;
}

/* Caches of code that are kept between captures of other threads, so that a capture makes few system calls however deep
 * the stack is. A walk takes one of them; when all are taken, it creates another one. */
static struct uspi_page_cache *take_text_pages(void) {
    struct uspi_page_cache *pages = NULL;
    for (unsigned i = 0; i < USPI_TEXT_PAGES && pages == NULL; i++)
        pages = atomic_exchange(&uspi_capture_state.text_pages[i], NULL);
    if (pages != NULL) return pages;
    return uspi_page_cache_create((struct usp_memory){uspi_os_read, NULL});
}

static void give_text_pages(struct uspi_page_cache *pages) {
    for (unsigned i = 0; i < USPI_TEXT_PAGES; i++) {
        struct uspi_page_cache *none = NULL;
        if (atomic_compare_exchange_strong(&uspi_capture_state.text_pages[i], &none, pages)) return;
    }
    free(pages);
}

int usp_prepare(const struct usp_prepare_options *options) {
    struct usp_prepare_options completed;
    usp_prepare_options_init(&completed);
    if (!USPI_COMPLETE(&completed, options)) return USP_ERROR_ARGUMENT;
    if (completed.kept_rules > USPI_RULES_MAX) return USP_ERROR_ARGUMENT;
    /* The list of images comes first, because roots are searched in images. It is made even where no thread can be
     * stopped. Captures also work without it, by the instructions alone. */
    int listed = uspi_own_code_prepare(completed.table_limit, completed.kept_rules);
    uspi_roots_learn();
    uspi_by_rules_begin();
    int status = uspi_os_prepare(&completed);
    if (status != USP_OK) return status;
    uspi_os_learn_thread();
    /* Captures also work without these caches, with more system calls. */
    give_text_pages(take_text_pages());
    atomic_store(&uspi_capture_state.is_prepared, true);
    return listed == USP_ERROR_NO_MEMORY ? listed : USP_OK;
}

void usp_prepare_options_init(struct usp_prepare_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->max_threads = 64;
    options->stack_copy = 65536;
    options->timeout = 100000000;
    options->kept_rules = 4096;
    options->table_limit = USPI_TABLE_LIMIT;
}

bool usp_is_prepared(void) { return atomic_load(&uspi_capture_state.is_prepared) && uspi_os_is_prepared(); }

int uspi_capture_prepare(void) { return usp_is_prepared() ? USP_OK : usp_prepare(NULL); }

int uspi_capture_prepare_stops(void) {
    struct usp_prepare_options options;
    if (uspi_os_is_prepared()) return USP_OK;
    usp_prepare_options_init(&options);
    return uspi_os_prepare(&options);
}

int usp_thread_prepare(void) { return uspi_os_learn_thread(); }

void usp_shutdown(void) {
    atomic_store(&uspi_capture_state.is_prepared, false);
    uspi_os_shutdown();
    for (unsigned i = 0; i < USPI_TEXT_PAGES; i++) free(atomic_exchange(&uspi_capture_state.text_pages[i], NULL));
    uspi_by_rules_end();
    uspi_own_code_withdraw();
    uspi_roots_forget();
    uspi_call_sites_forget();
    uspi_defaults_free();
}

int usp_capture_get_usage(struct usp_capture_usage *usage) {
    if (usage == NULL) return USP_ERROR_ARGUMENT;
    memset(usage, 0, sizeof *usage);
    usage->copies = uspi_os_reserved();
    for (unsigned i = 0; i < USPI_TEXT_PAGES; i++)
        usage->copies += atomic_load(&uspi_capture_state.text_pages[i]) != NULL ? uspi_page_cache_created_size() : 0;
    uspi_own_code_usage(usage);
    return USP_OK;
}

void usp_memory_init_self(struct usp_memory *memory) { *memory = (struct usp_memory){uspi_os_read, NULL}; }

uint64_t usp_clock(void) { return uspi_os_clock(); }

int usp_thread_self(struct usp_thread *thread) {
    return thread != NULL ? uspi_os_thread_self(thread) : USP_ERROR_ARGUMENT;
}

int usp_thread_main(struct usp_thread *thread) {
    return thread != NULL ? uspi_os_thread_main(thread) : USP_ERROR_ARGUMENT;
}

int usp_thread_from_pthread(uintptr_t pthread, struct usp_thread *thread) {
    return thread != NULL ? uspi_os_thread_from_pthread(pthread, thread) : USP_ERROR_ARGUMENT;
}

void usp_thread_release(struct usp_thread *thread) {
    if (thread == NULL) return;
    uspi_os_thread_release(thread);
    memset(thread, 0, sizeof *thread);
}

int usp_threads(struct usp_thread_info *infos, size_t capacity, size_t *count) {
    if (count == NULL || (infos == NULL && capacity != 0)) return USP_ERROR_ARGUMENT;
    return uspi_os_threads(infos, capacity, count);
}

/* What a walk of another thread's copy reads. */
struct copied_surroundings {
    struct uspi_thread_copy *copy;
    struct uspi_own_memory memory; /* current memory */
    struct uspi_page_cache *text;  /* NULL until code is read that may be unloaded */
};

/* Reads from the copy. Memory that the copy does not contain is read as it is now. */
static int read_copied(void *context, usp_addr from, void *to, size_t n) {
    struct copied_surroundings *copied = context;
    int status = uspi_read_stacks(copied->copy, from, to, n);
    return status == USP_ERROR_ABSENT ? uspi_own_memory_read(&copied->memory, from, to, n) : status;
}

/* Reads code. The walker also tries words that point into the stack as code addresses. Those are read from the copy,
 * because a page cache would keep bytes that differ in the next capture. */
static int read_copied_text(void *context, usp_addr from, void *to, size_t n) {
    struct copied_surroundings *copied = context;
    int status = uspi_read_parts(copied->copy, from, to, n);
    if (status != USP_ERROR_ABSENT) return status;
    if (uspi_own_memory_read_still(&copied->memory, from, to, n)) return USP_OK;
    if (copied->text == NULL && (copied->text = take_text_pages()) != NULL) uspi_page_cache_begin(copied->text);
    return copied->text != NULL ? uspi_page_cache_read(copied->text, from, to, n) : uspi_os_read(NULL, from, to, n);
}

static int walk_target(struct usp_target *target, struct copied_surroundings *copied,
                       const struct uspi_shortcuts *shortcuts, const struct usp_unwind_options *options,
                       struct usp_stack *stack) {
    const struct usp_registers *registers = &copied->copy->registers;
    for (unsigned attempt = 0; attempt < 2; attempt++) {
        target->code = (struct usp_memory){read_copied_text, copied};
        if (copied->text != NULL) uspi_page_cache_begin(copied->text);
        int status = uspi_unwind(target, registers, false, shortcuts, options, stack);
        if (copied->text == NULL || uspi_page_cache_confirm(copied->text, uspi_os_read_pieces) == USP_OK) return status;
    }
    target->code = (struct usp_memory){uspi_os_read, NULL};
    return uspi_unwind(target, registers, false, shortcuts, options, stack);
}

static int walk_copy(struct uspi_thread_copy *copy, const struct usp_unwind_options *options, struct usp_stack *stack) {
    struct usp_target target;
    struct uspi_own_code code;
    struct uspi_shortcuts shortcuts = {.stack = copy->parts[0], .parts = copy->parts};
    struct copied_surroundings copied = {.copy = copy};
    uint32_t ticket = uspi_own_code_enter(&code);
    usp_target_init(&target, USPI_HOST_ARCH);
    uspi_os_describe_self(&target);
    uspi_roots_describe(&target);
    target.beyond_roots = 1; /* as in a snapshot */
    uspi_own_code_describe(&code, &target, &shortcuts);
    uspi_own_memory_init(&copied.memory, code.tables);
    target.swift_task_slot = copy->swift_task_slot;
    target.stack_low = copy->stack_low;
    target.stack_high = copy->stack_high;
    target.memory = (struct usp_memory){read_copied, &copied};
    int status = walk_target(&target, &copied, &shortcuts, options, stack);
    if (copied.text != NULL) give_text_pages(copied.text);
    usp_images_release(ticket);
    uspi_note_cut(copy, stack);
    const struct usp_memory live = {uspi_os_read, NULL};
    if (target.os == USP_OS_LINUX) uspi_async_confirm(&copy->parts[0], NULL, &live, stack);
    return status;
}

USPI_APART int usp_capture_thread(const struct usp_thread *thread, const struct usp_unwind_options *options,
                                  struct usp_stack *stack) {
    if (thread == NULL || stack == NULL) return refuse(stack, USP_ERROR_ARGUMENT);
    struct usp_thread self;
    if (uspi_os_thread_self(&self) == USP_OK) {
        bool is_self = self.id == thread->id;
        uspi_os_thread_release(&self);
        if (is_self) return capture_caller(options, stack);
    }
    int status = uspi_capture_prepare();
    if (status != USP_OK) return refuse(stack, status);
    struct uspi_thread_copy copy;
    struct uspi_undisturbed kept;
    uspi_os_undisturbed_begin(&kept);
    /* Refreshes the list of images before a thread is stopped. If that fails, the capture uses the last list. */
    const uint64_t left = uspi_own_code_notice(uspi_os_capture_timeout());
    status = uspi_os_copy_thread(thread, uspi_os_clock() + left, &copy);
    if (status == USP_OK) {
        status = walk_copy(&copy, options, stack);
        stack->stopped_ns = copy.stopped_ns;
        uspi_os_release_copy(&copy);
    } else {
        refuse(stack, status);
    }
    uspi_os_undisturbed_end(&kept);
    return status;
}
