/* SPDX-License-Identifier: MIT */
/* Typed capture in this process: the calling thread, a signal's context, another thread. Joins the walker with what the
 * OS layer offers; the system calls are lib/os/'s, all threads at once lib/snapshot.c's. */
#include "arch/host.h"
#include "lib/clear.h"
#include "lib/image_tables.h"
#include "lib/os.h"
#include "lib/page_cache.h"
#include "lib/registered_images.h"
#include "lib/unwind.h"

#include <unspool/capture.h>

#include <stdatomic.h>
#include <stdlib.h>

/* Memory of this process: the part of the stack that is surely there directly, everything else with a check. */
struct own_memory {
    uintptr_t low, high;
};

static int read_own(void *context, usp_addr from, void *to, size_t n) {
    const struct own_memory *own = context;
    if (from < own->low || from >= own->high || n > own->high - from) return uspi_os_read(NULL, from, to, n);
    uspi_read_directly((uintptr_t)from, to, n);
    return USP_OK;
}

#define CODE_PAGES 8u

/* Text under the calling thread's own frames stays where it is while they are there: a page that was read once with a
 * check is read directly from then on, for the length of one capture; and text of an image that is never unloaded always
 * is. */
struct own_code {
    const struct usp_images *images; /* registered */
    usp_addr low, high;              /* text of a permanent one, met last */
    uintptr_t pages[CODE_PAGES];
    unsigned next;
};

static bool is_permanent(struct own_code *code, usp_addr from, size_t n) {
    if (from >= code->low && from < code->high) return n <= code->high - from;
    const struct usp_image *image = usp_images_find(code->images, from);
    if (image == NULL || (image->flags & USP_IMAGE_PERMANENT) == 0) return false;
    if (from < image->text_low || from >= image->text_high) return false;
    code->low = image->text_low;
    code->high = image->text_high;
    return n <= code->high - from;
}

static bool is_checked(const struct own_code *code, uintptr_t page) {
    for (unsigned i = 0; i < CODE_PAGES; i++) {
        if (code->pages[i] == page) return true;
    }
    return false;
}

static int read_own_code(void *context, usp_addr from, void *to, size_t n) {
    struct own_code *code = context;
    uintptr_t page = (uintptr_t)from & ~(uintptr_t)(USPI_LEAST_PAGE - 1);
    bool one_page = n != 0 && n <= USPI_LEAST_PAGE - (from & (USPI_LEAST_PAGE - 1));
    if (is_permanent(code, from, n) || (one_page && page != 0 && is_checked(code, page))) {
        uspi_read_directly((uintptr_t)from, to, n);
        return USP_OK;
    }
    int status = uspi_os_read(NULL, from, to, n);
    if (status == USP_OK && one_page) code->pages[code->next++ % CODE_PAGES] = page;
    return status;
}

/* What a walk of the calling thread reads. */
struct own_surroundings {
    struct own_memory memory;
    struct own_code code;
    struct uspi_shortcuts shortcuts;
    uint32_t images; /* ticket */
};

/* The tables of the images that were registered, and the rules that were found in them. What they say of an image that is
 * gone, and of what was loaded in its place, is judged as every rule is. */
static uint32_t take_images(struct usp_target *target, struct uspi_shortcuts *shortcuts) {
    struct uspi_registered registered;
    uint32_t ticket = uspi_registered_acquire(&registered);
    uspi_images_describe_tables(registered.images, target);
    shortcuts->rules = registered.images != NULL ? registered.rules : NULL;
    shortcuts->images = registered.images;
    shortcuts->generation = registered.generation;
    return ticket;
}

/* `sp` is where the walk begins. On a stack that is not known the reads decide how far it goes. The images are to be given
 * back after the walk. */
static void init_own_target(struct usp_target *target, struct own_surroundings *own, uintptr_t sp) {
    usp_target_init(target, USPI_HOST_ARCH);
    uspi_os_describe_self(target);
    uspi_clear(own, sizeof *own);
    if (uspi_os_stack(sp, &own->memory.high)) {
        own->memory.low = sp;
    } else {
        own->memory.high = 0;
    }
    target->memory = (struct usp_memory){read_own, &own->memory};
    target->code = (struct usp_memory){read_own_code, &own->code};
    own->images = take_images(target, &own->shortcuts);
    own->code.images = own->shortcuts.images;
    if (own->memory.high != 0) {
        own->shortcuts.stack = (struct uspi_copied){(const uint8_t *)sp, sp, own->memory.high - sp};
    }
}

static int refuse(struct usp_stack *stack, int status) {
    if (stack != NULL) {
        usp_stack_init(stack, stack->frames, stack->capacity);
        stack->status = status;
    }
    return status;
}

static bool can_capture(void) { return USPI_HOST_ARCH != USP_ARCH_NONE && uspi_os_kind() != USP_OS_UNKNOWN; }

/* By a walker. */
static int unwind_from(const struct usp_target *target, const struct uspi_standing *at,
                       const struct uspi_shortcuts *shortcuts, const struct usp_options *options,
                       struct usp_stack *stack) {
    struct usp_registers registers;
    usp_registers_init(&registers, USPI_HOST_ARCH);
    usp_registers_set_pc(&registers, at->pc);
    usp_registers_set_sp(&registers, at->sp);
    if (USPI_HOST_RECORDS) usp_registers_set_fp(&registers, at->fp);
    return uspi_unwind(target, &registers, true, shortcuts, options, stack);
}

/* The stack of the caller of the function that this is inlined into. */
USPI_TEMPLATE int capture_caller(const struct usp_options *options, struct usp_stack *stack) {
    if (!can_capture()) return refuse(stack, USP_ERROR_UNSUPPORTED);
    struct usp_target target;
    struct own_surroundings own;
    uintptr_t own_record = (uintptr_t)__builtin_frame_address(0);
    struct uspi_standing at = {.pc = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)),
                               .sp = (uintptr_t)__builtin_dwarf_cfa(),
                               .fp = USPI_HOST_RECORDS ? *(const uintptr_t *)own_record : 0,
                               .kind = USP_KIND_RETURN_ADDRESS,
                               .method = USP_METHOD_CONTEXT};
    int status = USP_OK;
    init_own_target(&target, &own, own_record);
    if (!USPI_HOST_RECORDS || !uspi_unwind_by_rules(&target, &at, &own.shortcuts, options, stack)) {
        status = unwind_from(&target, &at, &own.shortcuts, options, stack);
    }
    usp_images_release(own.images);
    return status;
}

int usp_capture_self(const struct usp_options *options, struct usp_stack *stack) {
    return capture_caller(options, stack);
}

int usp_capture_context(const void *ucontext, const struct usp_options *options, struct usp_stack *stack) {
    if (!can_capture()) return refuse(stack, USP_ERROR_UNSUPPORTED);
    struct usp_registers registers;
    struct usp_target target;
    struct own_surroundings own;
    if (ucontext == NULL || uspi_os_context_registers(ucontext, &registers) != USP_OK) {
        return refuse(stack, USP_ERROR_ARGUMENT);
    }
    init_own_target(&target, &own, (uintptr_t)usp_registers_sp(&registers));
    int status = uspi_unwind(&target, &registers, false, &own.shortcuts, options, stack);
    usp_images_release(own.images);
    return status;
}

/* Text, kept from one capture of another thread to the next, so that a capture makes few system calls however deep the
 * stack. Whoever holds a thread's copy uses it: there is one at a time. */
static struct uspi_page_cache *_Atomic text_pages;

static void reserve_text_pages(void) {
    struct uspi_page_cache *none = NULL;
    if (text_pages != NULL) return;
    struct uspi_page_cache *pages = malloc(sizeof *pages);
    if (pages == NULL) return;
    uspi_page_cache_init(pages, (struct usp_memory){uspi_os_read, NULL});
    if (!atomic_compare_exchange_strong(&text_pages, &none, pages)) free(pages);
}

int usp_prepare(const struct usp_prepare_options *options) {
    struct usp_prepare_options completed;
    usp_prepare_options_init(&completed);
    if (options != NULL) {
        if (options->size < offsetof(struct usp_prepare_options, max_threads)) return USP_ERROR_ARGUMENT;
        memcpy(&completed, options, options->size < sizeof completed ? options->size : sizeof completed);
        completed.size = sizeof completed;
    }
    if (completed.kept_rules > USPI_RULES_MAX) return USP_ERROR_ARGUMENT;
    int status = uspi_os_prepare(&completed);
    if (status != USP_OK) return status;
    uspi_os_learn_thread();
    /* Without these captures work as well, with more system calls. */
    reserve_text_pages();
    (void)uspi_registered_limit_tables(completed.table_limit);
    (void)uspi_registered_keep_rules(completed.kept_rules);
    return USP_OK;
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

int usp_thread_prepare(void) { return uspi_os_learn_thread(); }

void usp_shutdown(void) {
    uspi_os_shutdown();
    free(atomic_exchange(&text_pages, NULL));
    (void)uspi_registered_keep_rules(0);
}

int usp_capture_get_usage(struct usp_capture_usage *usage) {
    if (usage == NULL || usage->size < offsetof(struct usp_capture_usage, copies)) return USP_ERROR_ARGUMENT;
    struct usp_capture_usage now = {.size = usage->size};
    now.copies = uspi_os_reserved() + (text_pages != NULL ? sizeof *text_pages : 0);
    uspi_registered_describe(&now);
    memcpy(usage, &now, usage->size < sizeof now ? usage->size : sizeof now);
    return USP_OK;
}

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

int uspi_read_parts(const struct uspi_thread_copy *copy, usp_addr from, void *to, size_t n) {
    bool is_dead = false;
    for (unsigned i = 0; i < 2; i++) {
        if (uspi_read_copied(&copy->parts[i], from, to, n)) return USP_OK;
    }
    for (unsigned i = 0; i < sizeof copy->dead / sizeof *copy->dead; i++) {
        is_dead = is_dead || (from < copy->dead[i].high && from >= copy->dead[i].low);
    }
    return is_dead ? USP_ERROR_UNREADABLE : USP_ERROR_ABSENT;
}

int uspi_read_stacks(const struct uspi_thread_copy *copy, usp_addr from, void *to, size_t n) {
    int status = uspi_read_parts(copy, from, to, n);
    bool is_unsure = from < copy->unsure.high && from >= copy->unsure.low;
    return status == USP_ERROR_ABSENT && is_unsure ? USP_ERROR_UNREADABLE : status;
}

int uspi_read_copy(void *context, usp_addr from, void *to, size_t n) {
    int status = uspi_read_stacks(context, from, to, n);
    return status == USP_ERROR_ABSENT ? uspi_os_read(NULL, from, to, n) : status;
}

/* Text as another thread's walk reads it. */
struct copied_text {
    const struct uspi_thread_copy *copy;
    struct uspi_page_cache *pages;
};

/* Words that point to the stack are looked at as if they led to code: what is there is in the copy, and would be something
 * else in the next one. */
static int read_copied_text(void *context, usp_addr from, void *to, size_t n) {
    const struct copied_text *text = context;
    int status = uspi_read_parts(text->copy, from, to, n);
    return status == USP_ERROR_ABSENT ? uspi_page_cache_read(text->pages, from, to, n) : status;
}

static int walk_target(struct usp_target *target, const struct uspi_thread_copy *copy,
                       const struct uspi_shortcuts *shortcuts, const struct usp_options *options,
                       struct usp_stack *stack) {
    struct uspi_page_cache *pages = text_pages;
    struct copied_text text = {copy, pages};
    for (unsigned attempt = 0; attempt < 2 && pages != NULL; attempt++) {
        target->code = (struct usp_memory){read_copied_text, &text};
        uspi_page_cache_begin(pages);
        int status = uspi_unwind(target, &copy->registers, false, shortcuts, options, stack);
        if (uspi_page_cache_confirm(pages, uspi_os_read_pieces) == USP_OK) return status;
    }
    target->code = (struct usp_memory){uspi_os_read, NULL};
    return uspi_unwind(target, &copy->registers, false, shortcuts, options, stack);
}

static int walk_copy(struct uspi_thread_copy *copy, const struct usp_options *options, struct usp_stack *stack) {
    struct usp_target target;
    struct uspi_shortcuts shortcuts = {.stack = copy->parts[0]};
    usp_target_init(&target, USPI_HOST_ARCH);
    uspi_os_describe_self(&target);
    target.swift_task_slot = copy->swift_task_slot;
    target.stack_low = copy->stack_low;
    target.stack_high = copy->stack_high;
    target.memory = (struct usp_memory){uspi_read_copy, copy};
    uint32_t images = take_images(&target, &shortcuts);
    int status = walk_target(&target, copy, &shortcuts, options, stack);
    usp_images_release(images);
    return status;
}

int usp_capture_thread(const struct usp_thread *thread, const struct usp_options *options, struct usp_stack *stack) {
    if (thread == NULL || stack == NULL) return refuse(stack, USP_ERROR_ARGUMENT);
    struct usp_thread self;
    if (uspi_os_thread_self(&self) == USP_OK) {
        bool is_self = self.id == thread->id;
        uspi_os_thread_release(&self);
        if (is_self) return capture_caller(options, stack);
    }
    struct uspi_thread_copy copy;
    int status = uspi_os_copy_thread(thread, &copy);
    if (status != USP_OK) return refuse(stack, status);
    status = walk_copy(&copy, options, stack);
    stack->stopped_ns = copy.stopped_ns;
    uspi_os_release_copy(&copy);
    return status;
}
