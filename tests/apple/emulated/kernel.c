/* SPDX-License-Identifier: MIT */
/* See kernel.h. */
#include "kernel.h"

#include <string.h>

enum result {
    SUCCESS = 0,
    INVALID_ADDRESS = 1,
    NO_SPACE = 3,
    INVALID_ARGUMENT = 4,
    FAILURE = 5,
    TERMINATED = 37,
    OPERATION_TIMED_OUT = 49
};

#define OWN_TASK   0x103u
#define SEMAPHORE  0x303u
#define PROT_READ_ 1u
/* The thread-specific word that holds the current dispatch queue (libdispatch src/shims/tsd.h). */
#define QUEUE_SLOT 20u

/* ---- variables ---- */

static usp_addr variables; /* mach_task_self_, then the stack guard at + 16 */
static usp_addr image_list;
static struct {
    bool is_there;
    int value;
} semaphore;

/* Writes struct dyld_all_image_infos: version at offset 0, infoArrayCount 4, infoArray 8, dyldImageLoadAddress 32 (20
 * with 32 bits); and struct dyld_image_info: imageLoadAddress, imageFilePath, imageFileModDate. */
static void write_image_list(struct guest *g) {
    unsigned word = guest_word(g);
    usp_addr array = guest_data(g, g->image_count * 3 * word);
    image_list = guest_data(g, 512);
    guest_store(g, image_list, 17, 4);
    guest_store(g, image_list + 4, g->image_count, 4);
    guest_store(g, image_list + 8, array, word);
    for (size_t i = 0; i < g->image_count; i++) {
        guest_store(g, array + i * 3 * word, g->images[i].load_address, word);
        guest_store(g, array + (i * 3 + 1) * word, g->paths[i], word);
    }
}

bool kernel_begin(struct guest *g) {
    variables = guest_data(g, 32);
    guest_store(g, variables, OWN_TASK, 4);
    guest_store(g, variables + 16, UINT64_C(0x00c0ffee00c0ffee), guest_word(g));
    semaphore.is_there = false;
    write_image_list(g);
    return g->machine.error == NULL;
}

/* ---- ports ---- */

static struct guest_thread *thread_of(struct guest *g, uint64_t port) {
    for (size_t i = 0; i < g->thread_count; i++) {
        if (g->threads[i].port == (uint32_t)port) return &g->threads[i];
    }
    return NULL;
}

static struct guest_thread *argument_thread(struct guest *g) { return thread_of(g, guest_argument(g, 0)); }

static uint64_t port_deallocate(struct guest *g) {
    uint32_t port = (uint32_t)guest_argument(g, 1);
    struct guest_thread *t = thread_of(g, port);
    if (t == NULL || t->rights == 0) {
        g->account.errors++;
        return INVALID_ARGUMENT;
    }
    t->rights--;
    g->account.rights--;
    return SUCCESS;
}

/* ---- memory ---- */

/* Freed ranges, reused for requests of the same size: the process may capture all day. */
#define FREED_MAX 64u
static struct {
    usp_addr at;
    uint64_t size;
} freed[FREED_MAX];
static size_t freed_count;

static usp_addr allocate(struct guest *g, uint64_t size) {
    size = (size + GUEST_PAGE - 1) & ~(uint64_t)(GUEST_PAGE - 1);
    g->account.mappings++;
    for (size_t i = 0; i < freed_count; i++) {
        if (freed[i].size != size) continue;
        usp_addr at = freed[i].at;
        freed[i] = freed[--freed_count];
        memset(guest_bytes(g, at, size), 0, (size_t)size);
        return at;
    }
    usp_addr at = g->heap_next;
    if (size > g->heap_end - at) return 0;
    g->heap_next += size;
    return at;
}

static uint64_t allocate_for(struct guest *g) {
    usp_addr at = allocate(g, guest_argument(g, 2));
    if (at == 0) return NO_SPACE;
    guest_store(g, guest_argument(g, 1), at, guest_word(g));
    return SUCCESS;
}

static uint64_t deallocate(struct guest *g) {
    usp_addr at = guest_argument(g, 1);
    uint64_t size = (guest_argument(g, 2) + GUEST_PAGE - 1) & ~(uint64_t)(GUEST_PAGE - 1);
    if (size == 0 || at < guest_place(g, GUEST_HEAP) || at + size > g->heap_next || guest_bytes(g, at, size) == NULL) {
        g->account.errors++;
        return INVALID_ARGUMENT;
    }
    g->account.mappings--;
    memset(guest_bytes(g, at, size), 0xdd, (size_t)size);
    if (freed_count < FREED_MAX) {
        freed[freed_count].at = at;
        freed[freed_count++].size = size;
    }
    return SUCCESS;
}

/* The arguments are as wide as the process's pointers: with mach_vm_* that holds for 64-bit processes only. */
static uint64_t read_overwrite(struct guest *g) {
    uint64_t n = guest_argument(g, 2);
    const uint8_t *from = guest_bytes(g, guest_argument(g, 1), n);
    uint8_t *to = guest_bytes(g, guest_argument(g, 3), n);
    if (from == NULL || to == NULL) return INVALID_ADDRESS;
    memmove(to, from, (size_t)n);
    guest_store(g, guest_argument(g, 4), n, guest_word(g));
    return SUCCESS;
}

/* Writes vm_region_basic_info_64, packed: protection at offset 0, max_protection 4; nine words of 4 bytes. */
static uint64_t region(struct guest *g) {
    unsigned word = guest_word(g);
    usp_addr address = 0, info = guest_argument(g, 4);
    machine_load(&g->machine, guest_argument(g, 1), word, &address);
    const struct guest_region *r = guest_region_at(g, address);
    if (r == NULL) return INVALID_ADDRESS;
    guest_store(g, guest_argument(g, 1), r->low, word);
    guest_store(g, guest_argument(g, 2), r->high - r->low, word);
    for (unsigned i = 0; i < 9; i++) guest_store(g, info + 4 * i, 0, 4);
    guest_store(g, info, r->bytes != NULL ? PROT_READ_ : 0, 4);
    guest_store(g, guest_argument(g, 5), 9, 4);
    guest_store(g, guest_argument(g, 6), 0, 4);
    return SUCCESS;
}

/* ---- threads ---- */

static uint64_t list_threads(struct guest *g) {
    usp_addr array = allocate(g, g->thread_count * 4);
    if (array == 0) return NO_SPACE;
    size_t n = 0;
    for (size_t i = 0; i < g->thread_count; i++) {
        struct guest_thread *t = &g->threads[i];
        if (t->has_ended) continue;
        guest_store(g, array + 4 * n++, t->port, 4);
        t->rights++;
        g->account.rights++;
    }
    guest_store(g, guest_argument(g, 1), array, guest_word(g));
    guest_store(g, guest_argument(g, 2), n, 4);
    return SUCCESS;
}

/* Writes THREAD_IDENTIFIER_INFO 4: thread_id at offset 0, thread_handle 8, dispatch_qaddr 16; or THREAD_EXTENDED_INFO
 * 5: times at 0 and 8, run_state 24, name 48, 112 bytes. */
static uint64_t tell_thread(struct guest *g) {
    const struct guest_thread *t = argument_thread(g);
    usp_addr to = guest_argument(g, 2);
    if (t == NULL) return INVALID_ARGUMENT;
    switch (guest_argument(g, 1)) {
    case 4:
        guest_store(g, to, t->id, 8);
        guest_store(g, to + 8, t->slots, 8);
        guest_store(g, to + 16, t->slots + QUEUE_SLOT * guest_word(g), 8);
        return SUCCESS;
    case 5: {
        uint8_t *bytes = guest_bytes(g, to, 112);
        if (bytes == NULL) return INVALID_ADDRESS;
        memset(bytes, 0, 112);
        guest_store(g, to, 1000 * t->id, 8);
        guest_store(g, to + 24, t == g->current ? 1 : 3, 4); /* TH_STATE_RUNNING, TH_STATE_WAITING */
        memcpy(bytes + 48, t->name, sizeof t->name);
        return SUCCESS;
    }
    default: return INVALID_ARGUMENT;
    }
}

static uint64_t suspend(struct guest *g) {
    struct guest_thread *t = argument_thread(g);
    if (t == NULL) return INVALID_ARGUMENT;
    if (t == g->current) g->account.errors++;
    if (t->suspended++ == 0 && g->account.suspended++ == 0) g->account.windows++;
    return SUCCESS;
}

static uint64_t resume(struct guest *g) {
    struct guest_thread *t = argument_thread(g);
    if (t == NULL) return INVALID_ARGUMENT;
    if (t->suspended == 0) return FAILURE;
    if (--t->suspended == 0) g->account.suspended--;
    return SUCCESS;
}

/* The layout of each processor's integer state: the library's register numbers in the state's order. */
struct state {
    uint32_t arch, flavor, count; /* in words of 4 bytes */
    unsigned exception;           /* bytes of the exception state before it in a machine context */
    unsigned width, registers;
    uint8_t order[33];
    unsigned flags; /* offset of the flags */
};

#define ARM64_ORDER                                                                                                    \
    {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,                                               \
     17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}

static const struct state states[] = {
    {USP_ARCH_ARM64, 6, 68, 16, 8, 33, ARM64_ORDER, 264},
    {USP_ARCH_ARM64_32, 6, 68, 16, 8, 33, ARM64_ORDER, 264},
    {USP_ARCH_ARMV7, 1, 17, 12, 4, 16, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 64},
    {USP_ARCH_X86_64, 4, 42, 16, 8, 17, {0, 3, 2, 1, 5, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 136},
    /* ss and the flags come before eip; 9 marks a word that is not a register here. */
    {USP_ARCH_I386, 1, 16, 12, 4, 11, {0, 3, 1, 2, 7, 6, 5, 4, 9, 9, 8}, 36},
};

static const struct state *state_of(const struct guest *g) {
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        if (states[i].arch == g->machine.backend->arch) return &states[i];
    }
    return NULL;
}

/* Modifiers with which the kernel signs. Their values do not matter to code that removes signatures. */
enum { FP_MODIFIER = 1, LR_MODIFIER, SP_MODIFIER, PC_MODIFIER };
/* xnu osfmk/mach/arm/_structs.h: __DARWIN_ARM_THREAD_STATE64_FLAGS_IB_SIGNED_LR, and the offset of the flags */
#define IB_SIGNED_LR 2u
#define FLAGS_AT     268u

static void sign(const struct guest *g, struct usp_registers *registers, unsigned i, uint64_t modifier, unsigned key) {
    uint64_t *value = &registers->value[i];
    if (*value != 0 && (*value & g->signing.mask) == 0) *value = signing_sign(&g->signing, *value, modifier, key);
}

void kernel_registers(const struct guest *g, const struct guest_thread *t, struct usp_registers *registers) {
    const struct uspi_backend *b = g->machine.backend;
    *registers = t->now.registers;
    if (!g->is_signed) return;
    sign(g, registers, b->pc, PC_MODIFIER, 0);
    sign(g, registers, b->lr, LR_MODIFIER, 0);
    sign(g, registers, b->sp, SP_MODIFIER, 2);
    sign(g, registers, b->fp, FP_MODIFIER, 2);
}

static void write_state(struct guest *g, const struct state *s, const struct guest_thread *t, usp_addr to) {
    struct usp_registers state, *registers = &state;
    kernel_registers(g, t, registers);
    for (unsigned i = 0; i < s->count; i++) guest_store(g, to + 4 * i, 0, 4);
    for (unsigned i = 0; i < s->registers; i++) {
        bool is_register = s->order[i] < g->machine.backend->register_count;
        if (is_register) guest_store(g, to + i * s->width, registers->value[s->order[i]], s->width);
    }
    guest_store(g, to + s->flags, registers->flags, 4);
    /* A link register that the code has signed itself stays unchanged. */
    bool own_signature = g->is_signed && (t->now.registers.value[g->machine.backend->lr] & g->signing.mask) != 0;
    if (own_signature) guest_store(g, to + FLAGS_AT, IB_SIGNED_LR, 4);
}

static uint64_t get_state(struct guest *g) {
    const struct guest_thread *t = argument_thread(g);
    const struct state *s = state_of(g);
    uint64_t count = 0;
    if (t == NULL || s == NULL || guest_argument(g, 1) != s->flavor) return INVALID_ARGUMENT;
    machine_load(&g->machine, guest_argument(g, 3), 4, &count);
    if (count < s->count) return INVALID_ARGUMENT;
    /* The registers of a running thread are meaningless. */
    if (t->suspended == 0) g->account.errors++;
    write_state(g, s, t, guest_argument(g, 2));
    guest_store(g, guest_argument(g, 3), s->count, 4);
    return SUCCESS;
}

usp_addr kernel_context(struct guest *g, const struct guest_thread *t, usp_addr at) {
    const struct state *s = state_of(g);
    usp_addr machine_context = at + 64;
    uint8_t *bytes = guest_bytes(g, at, KERNEL_CONTEXT);
    if (s == NULL || bytes == NULL) return 0;
    memset(bytes, 0, KERNEL_CONTEXT);
    guest_store(g, at + (guest_word(g) == 8 ? 48 : 28), machine_context, guest_word(g));
    write_state(g, s, t, machine_context + s->exception);
    return at;
}

/* Sizes of siginfo, ucontext and mcontext, for pointers of `pointer` bytes, and the bytes that arm's kernel puts before
 * them. */
struct sigframe {
    uint32_t arch;
    unsigned pointer, info, context, machine, before;
};

static const struct sigframe sigframes[] = {
    {USP_ARCH_ARM64, 8, 104, 56, 816, 0},  {USP_ARCH_ARM64_32, 8, 104, 56, 816, 0}, {USP_ARCH_ARMV7, 4, 64, 32, 340, 8},
    {USP_ARCH_X86_64, 8, 104, 56, 712, 0}, {USP_ARCH_I386, 4, 64, 32, 600, 0},
};

bool kernel_sigframe(struct guest *g, const struct guest_thread *t, usp_addr top, usp_addr handler, unsigned signal,
                     struct kernel_sigframe *frame) {
    const struct uspi_backend *b = g->machine.backend;
    const struct state *s = state_of(g);
    const struct sigframe *f = sigframes;
    while (f->arch != b->arch) f++;
    usp_addr machine;
    if (b->lr != USPI_NO_REGISTER) {
        frame->entry = (top - b->red_zone - f->before - f->info - f->context - f->machine) & ~UINT64_C(15);
        frame->info = frame->entry + f->before;
        frame->context = frame->info + f->info;
        machine = frame->context + f->context;
    } else {
        frame->context = top - b->red_zone - f->context;
        frame->info = frame->context - f->info;
        machine = frame->info - f->machine;
        frame->entry = ((machine - (b->word == 4 ? 28 : 0)) & ~UINT64_C(15)) - b->word;
    }
    uint8_t *bytes = guest_bytes(g, frame->entry, top - frame->entry);
    if (s == NULL || bytes == NULL) return false;
    memset(bytes, 0, top - frame->entry);
    guest_store(g, frame->info, signal, 4);
    guest_store(g, frame->context + (f->pointer == 8 ? 40 : 24), f->machine, f->pointer);
    guest_store(g, frame->context + (f->pointer == 8 ? 48 : 28), machine, f->pointer);
    write_state(g, s, t, machine + s->exception);
    if (b->arch == USP_ARCH_ARMV7) guest_store(g, frame->entry, frame->context, 4);
    if (b->arch == USP_ARCH_I386) {
        const usp_addr arguments[] = {UINT32_MAX, handler, 30, signal, frame->info, frame->context, 0};
        for (unsigned i = 0; i < 7; i++) guest_store(g, frame->entry + 4 * i, arguments[i], 4);
    }
    return true;
}

/* ---- other calls to the kernel ---- */

/* Writes task_dyld_info, packed: all_image_info_addr at offset 0, all_image_info_size 8, all_image_info_format 16. */
static uint64_t tell_task(struct guest *g) {
    usp_addr to = guest_argument(g, 2);
    if (guest_argument(g, 0) != OWN_TASK || guest_argument(g, 1) != 17) return INVALID_ARGUMENT;
    guest_store(g, to, image_list, 8);
    guest_store(g, to + 8, 512, 8);
    guest_store(g, to + 16, guest_word(g) == 8, 4);
    return SUCCESS;
}

static uint64_t make_semaphore(struct guest *g) {
    if (semaphore.is_there) return INVALID_ARGUMENT;
    semaphore.is_there = true;
    semaphore.value = (int)guest_argument(g, 3);
    guest_store(g, guest_argument(g, 1), SEMAPHORE, 4);
    g->account.rights++;
    return SUCCESS;
}

static uint64_t destroy_semaphore(struct guest *g) {
    if (!semaphore.is_there || guest_argument(g, 1) != SEMAPHORE) return INVALID_ARGUMENT;
    semaphore.is_there = false;
    g->account.rights--;
    return SUCCESS;
}

static uint64_t wait_semaphore(struct guest *g) {
    if (!semaphore.is_there || guest_argument(g, 0) != SEMAPHORE) return TERMINATED;
    if (semaphore.value == 0) return OPERATION_TIMED_OUT;
    semaphore.value--;
    return SUCCESS;
}

static uint64_t signal_semaphore(struct guest *g) {
    if (!semaphore.is_there || guest_argument(g, 0) != SEMAPHORE) return TERMINATED;
    semaphore.value++;
    return SUCCESS;
}

static uint64_t no_task(struct guest *g) {
    (void)g;
    return FAILURE;
}

/* ---- libpthread, dyld ---- */

static struct guest_thread *argument_pthread(struct guest *g) {
    usp_addr pthread = guest_argument(g, 0);
    for (size_t i = 0; i < g->thread_count; i++) {
        if (g->threads[i].data == pthread) return &g->threads[i];
    }
    return NULL;
}

static uint64_t own_pthread(struct guest *g) { return g->current->data; }
static uint64_t is_main(struct guest *g) { return g->current == &g->threads[0]; }

static uint64_t thread_id(struct guest *g) {
    const struct guest_thread *t = guest_argument(g, 0) == 0 ? g->current : argument_pthread(g);
    if (t == NULL) return 3; /* ESRCH */
    guest_store(g, guest_argument(g, 1), t->id, 8);
    return 0;
}

static uint64_t port_of_pthread(struct guest *g) {
    const struct guest_thread *t = argument_pthread(g);
    return t != NULL ? t->port : 0;
}

static uint64_t stack_address(struct guest *g) {
    const struct guest_thread *t = argument_pthread(g);
    return t != NULL ? t->high : 0;
}

static uint64_t stack_size(struct guest *g) {
    const struct guest_thread *t = argument_pthread(g);
    return t != NULL ? t->high - t->low : 0;
}

/* Writes Dl_info: fname, fbase, sname, saddr. It has no symbol, because the library's own strategies name functions
 * here. */
static uint64_t address_info(struct guest *g) {
    unsigned word = guest_word(g);
    usp_addr address = guest_argument(g, 0), to = guest_argument(g, 1);
    for (size_t i = 0; i < g->image_count; i++) {
        const struct usp_image *image = &g->images[i];
        if (address < image->load_address || address >= image->end) continue;
        guest_store(g, to, g->paths[i], word);
        guest_store(g, to + word, image->load_address, word);
        guest_store(g, to + 2 * word, 0, word);
        guest_store(g, to + 3 * word, 0, word);
        return 1;
    }
    return 0;
}

/* ---- the table ---- */

struct function {
    const char *name;
    uint64_t (*carry_out)(struct guest *g);
    bool in_window; /* may be called while threads are suspended */
};

static const struct function functions[] = {
    {"_dladdr", address_info, false},
    {"_mach_port_deallocate", port_deallocate, false},
    {"_mach_vm_read_overwrite", read_overwrite, true},
    {"_mach_vm_region", region, true},
    {"_pthread_get_stackaddr_np", stack_address, false},
    {"_pthread_get_stacksize_np", stack_size, false},
    {"_pthread_mach_thread_np", port_of_pthread, false},
    {"_pthread_main_np", is_main, false},
    {"_pthread_self", own_pthread, false},
    {"_pthread_threadid_np", thread_id, false},
    {"_semaphore_create", make_semaphore, false},
    {"_semaphore_destroy", destroy_semaphore, false},
    {"_semaphore_signal", signal_semaphore, false},
    {"_semaphore_timedwait", wait_semaphore, false},
    {"_task_for_pid", no_task, false},
    {"_task_info", tell_task, false},
    {"_task_resume2", no_task, false},
    {"_task_suspend2", no_task, false},
    {"_task_threads", list_threads, false},
    {"_thread_get_state", get_state, true},
    {"_thread_info", tell_thread, false},
    {"_thread_resume", resume, true},
    {"_thread_suspend", suspend, true},
    {"_vm_allocate", allocate_for, false},
    {"_vm_deallocate", deallocate, false},
    {"_vm_read_overwrite", read_overwrite, true},
    {"_vm_region_64", region, true},
    /* 64 bits wide on every processor: */
    {"_mach_absolute_time", NULL, true},
};
#define FUNCTIONS (sizeof functions / sizeof functions[0])

unsigned kernel_functions(void) { return (unsigned)FUNCTIONS; }

const char *kernel_function(unsigned number) {
    return number < FUNCTIONS ? functions[number].name : scenario_functions[number - FUNCTIONS];
}

usp_addr kernel_export(struct guest *g, const char *name) {
    if (strcmp(name, "_mach_task_self_") == 0) return variables;
    if (strcmp(name, "___stack_chk_guard") == 0) return variables + 16;
    /* No symbol is bound lazily here. */
    if (strcmp(name, "dyld_stub_binder") == 0) return variables;
    for (unsigned i = 0; kernel_function(i) != NULL; i++) {
        if (strcmp(name, kernel_function(i)) == 0) return g->traps + (usp_addr)i * GUEST_TRAP;
    }
    return 0;
}

bool kernel_trap(struct guest *g, unsigned number) {
    static uint64_t ticks = 1000000;
    if (number >= FUNCTIONS) return false;
    const struct function *f = &functions[number];
    if (g->account.suspended != 0 && !f->in_window) {
        g->account.forbidden++;
        g->account.forbidden_call = f->name;
    }
    if (f->carry_out == NULL) {
        guest_return64(g, ticks += 24);
        return true;
    }
    guest_return(g, f->carry_out(g));
    return true;
}
