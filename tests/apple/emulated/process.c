/* SPDX-License-Identifier: MIT */
/* See process.h. Calling conventions: Arm AAPCS64 and AAPCS with Apple's differences (Xcode documentation, "Writing
 * ARM64 code for Apple platforms"), System V psABIs for x86. */
#include "process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BASE_WIDE   UINT64_C(0x100000000) /* after __PAGEZERO */
#define DATA        0x20000000u
#define DATA_SIZE   (256u * 1024)
#define TRAPS       0x30000000u
#define TRAPS_SIZE  GUEST_PAGE
#define NEVER       (TRAPS + 2 * TRAPS_SIZE) /* an address without code */
#define HEAP_SIZE   (128u << 20)
#define STACKS      0x48000000u
#define STACK_SPACE (4u << 20) /* distance between the stacks of two threads */
#define GUARD       GUEST_PAGE
#define CPSR_THUMB  0x20u

bool guest_fail(struct guest *g, const char *why) {
    machine_fail(&g->machine, why);
    return false;
}

unsigned guest_word(const struct guest *g) { return g->machine.backend->word; }

/* ---- memory ---- */

static bool add_region(struct guest *g, usp_addr low, uint64_t size, uint8_t *bytes) {
    if (g->region_count == GUEST_REGIONS) return false;
    g->regions[g->region_count++] = (struct guest_region){low, low + size, bytes};
    return true;
}

uint8_t *guest_map(struct guest *g, usp_addr low, uint64_t size) {
    /* The system allocates the pages when they are touched. */
    uint8_t *bytes =
        mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) return NULL;
    if (uc_mem_map_ptr(g->machine.uc, low, (size_t)size, UC_PROT_ALL, bytes) != UC_ERR_OK ||
        !add_region(g, low, size, bytes)) {
        munmap(bytes, (size_t)size);
        return NULL;
    }
    return bytes;
}

bool guest_forbid(struct guest *g, usp_addr low, uint64_t size) { return add_region(g, low, size, NULL); }

usp_addr guest_place(const struct guest *g, uint32_t offset) { return (guest_word(g) == 8 ? BASE_WIDE : 0) + offset; }

uint8_t *guest_bytes(const struct guest *g, usp_addr from, uint64_t n) {
    for (size_t i = 0; i < g->region_count; i++) {
        const struct guest_region *r = &g->regions[i];
        if (from < r->low || from >= r->high || n > r->high - from) continue;
        return r->bytes != NULL ? r->bytes + (from - r->low) : NULL;
    }
    return NULL;
}

const struct guest_region *guest_region_at(const struct guest *g, usp_addr address) {
    const struct guest_region *next = NULL;
    for (size_t i = 0; i < g->region_count; i++) {
        const struct guest_region *r = &g->regions[i];
        if (r->high <= address) continue;
        if (next == NULL || r->low < next->low) next = r;
    }
    return next;
}

int guest_read(void *context, usp_addr from, void *to, size_t n) {
    const uint8_t *bytes = guest_bytes(context, from, n);
    if (bytes == NULL) return USP_ERROR_UNREADABLE;
    memcpy(to, bytes, n);
    return USP_OK;
}

void guest_store(struct guest *g, usp_addr to, uint64_t value, unsigned width) {
    uint8_t *bytes = guest_bytes(g, to, width);
    if (bytes == NULL) {
        guest_fail(g, "a result is wanted where nothing is mapped");
        return;
    }
    for (unsigned i = 0; i < width; i++) bytes[i] = (uint8_t)(value >> (8 * i));
}

usp_addr guest_data(struct guest *g, size_t n) {
    usp_addr at = g->data_next;
    n = (n + 15) & ~(size_t)15;
    if (n > g->data_end - at) {
        guest_fail(g, "no more room for the system's data");
        return 0;
    }
    g->data_next += n;
    return at;
}

usp_addr guest_string(struct guest *g, const char *text) {
    usp_addr at = guest_data(g, strlen(text) + 1);
    uint8_t *bytes = guest_bytes(g, at, strlen(text) + 1);
    if (bytes != NULL) memcpy(bytes, text, strlen(text) + 1);
    return at;
}

/* ---- the processor ---- */

/* Fills the address of each system function with a function that returns at once, so that a thread that waits in one is
 * in readable code. */
static void fill_traps(const struct guest *g, uint8_t *bytes) {
    static const uint8_t arm64[] = {0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6}; /* nop; ret */
    static const uint8_t arm[] = {0x00, 0xf0, 0x20, 0xe3, 0x1e, 0xff, 0x2f, 0xe1};   /* nop; bx lr */
    static const uint8_t x86[] = {0x90, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc};   /* nop; ret */
    const uint8_t *code = x86;
    if (g->machine.backend->lr != USPI_NO_REGISTER) code = g->machine.backend->has_thumb ? arm : arm64;
    for (unsigned i = 0; i < TRAPS_SIZE; i += 8) memcpy(bytes + i, code, 8);
}

/* ---- running ---- */

struct run {
    struct guest *guest;
    uint64_t left; /* instructions; UINT64_MAX: no end */
    bool goes_on;  /* the first instruction was already noted when the thread was stopped there */
    bool stopped, is_trap, ended;
    enum guest_end end;
    struct run *outer;
};

static struct run *innermost;

void guest_end_run(struct guest *g, enum guest_end end) {
    (void)g;
    innermost->ended = true;
    innermost->end = end;
}

/* Unicorn's hook before each instruction. After uc_emu_stop the instruction is not executed. */
static void on_instruction(uc_engine *uc, uint64_t pc, uint32_t length, void *user) {
    struct guest *g = user;
    struct run *run = innermost;
    struct guest_thread *t = g->current;
    uint64_t word;
    (void)uc;
    if (g->machine.error != NULL || run->stopped) return;
    /* The main thread and handlers, which execute most of the code, are not followed. */
    bool is_followed = t != &g->threads[0] && !t->in_handler;
    bool is_trap = pc >= g->traps && pc < g->traps_end;
    bool is_known = run->goes_on;
    run->goes_on = false;
    if ((is_followed || is_trap || run->left == 0) && !is_known) {
        t->before = t->now;
        machine_moment(&g->machine, pc, length, &t->now);
    }
    if (is_followed && !is_known && !truth_step(&t->truth, t->began ? &t->before : NULL, &t->now)) {
        guest_fail(g, t->truth.error);
        return;
    }
    t->began = true;
    if (is_trap || run->left == 0) {
        run->stopped = true;
        run->is_trap = is_trap;
        t->pc = pc | ((t->now.registers.flags & CPSR_THUMB) != 0 ? 1 : 0);
        uc_emu_stop(g->machine.uc);
        return;
    }
    if (run->left != UINT64_MAX) run->left--;
    g->instructions++;
    if (!g->is_signed || !machine_load(&g->machine, pc, 4, &word) || !signing_concerns((uint32_t)word)) return;
    struct moment now;
    machine_moment(&g->machine, pc, length, &now);
    if (!signing_apply(&g->signing, &g->machine, &now)) guest_fail(g, g->signing.error);
}

static bool on_invalid(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, void *user) {
    static char why[96];
    struct guest *g = user;
    (void)uc, (void)type, (void)size, (void)value;
    uint64_t pc = 0;
    uc_reg_read(g->machine.uc, g->machine.ids[g->machine.backend->pc], &pc);
    snprintf(why, sizeof why, "at %" PRIx64 " the program touched %" PRIx64 ", where nothing is mapped", pc, address);
    return guest_fail(g, why);
}

static bool set_hooks(struct guest *g) {
    uc_hook hooks[2];
    /* A callback as the void pointer that uc_hook_add takes: ISO C has no such conversion. */
    union {
        uc_cb_hookcode_t code;
        uc_cb_eventmem_t invalid;
        void *pointer;
    } code = {.code = on_instruction}, invalid = {.invalid = on_invalid};
    return uc_hook_add(g->machine.uc, &hooks[0], UC_HOOK_CODE, code.pointer, g, 1, 0) == UC_ERR_OK &&
           uc_hook_add(g->machine.uc, &hooks[1], UC_HOOK_MEM_INVALID, invalid.pointer, g, 1, 0) == UC_ERR_OK;
}

bool guest_open(struct guest *g, uint32_t arch, unsigned address_bits) {
    memset(g, 0, sizeof *g);
    if (!machine_start(&g->machine, arch)) return false;
    g->machine.elsewhere = (struct usp_memory){guest_read, g};
    g->is_signed = address_bits != 0;
    g->address_bits = address_bits;
    if (g->is_signed) signing_begin(&g->signing, address_bits, false);
    g->data_next = guest_place(g, DATA);
    g->data_end = g->data_next + DATA_SIZE;
    g->traps = g->traps_end = guest_place(g, TRAPS);
    g->heap_next = guest_place(g, GUEST_HEAP);
    g->heap_end = g->heap_next + HEAP_SIZE;
    uint8_t *traps = guest_map(g, g->traps, TRAPS_SIZE);
    if (traps == NULL || guest_map(g, g->data_next, DATA_SIZE) == NULL ||
        guest_map(g, g->heap_next, HEAP_SIZE) == NULL) {
        return guest_fail(g, "memory cannot be mapped");
    }
    g->traps_end += TRAPS_SIZE;
    fill_traps(g, traps);
    /* A thread begins with frame pointer 0 and all other registers 0. */
    for (unsigned i = 0; i < g->machine.backend->register_count; i++) {
        if (i != g->machine.backend->pc) machine_set(&g->machine, i, 0);
    }
    if (uc_context_alloc(g->machine.uc, &g->fresh) != UC_ERR_OK) return guest_fail(g, "out of memory");
    uc_context_save(g->machine.uc, g->fresh);
    return set_hooks(g) || guest_fail(g, "hooks cannot be set");
}

void guest_set_traps(struct guest *g, usp_addr traps, unsigned count) {
    g->traps = traps;
    g->traps_end = traps + (usp_addr)count * GUEST_TRAP;
}

void guest_close(struct guest *g) {
    for (size_t i = 0; i < g->thread_count; i++) {
        if (g->threads[i].context != NULL) uc_context_free(g->threads[i].context);
    }
    if (g->fresh != NULL) uc_context_free(g->fresh);
    machine_close(&g->machine);
    for (size_t i = 0; i < g->region_count; i++) {
        const struct guest_region *r = &g->regions[i];
        if (r->bytes != NULL) munmap(r->bytes, (size_t)(r->high - r->low));
    }
    memset(g, 0, sizeof *g);
}

/* ---- threads ---- */

/* Puts stacks at the highest addresses where pointers are signed, so that a mask with too few bits shows. */
static usp_addr place_of_stacks(const struct guest *g) {
    return g->is_signed ? (UINT64_C(1) << g->address_bits) - (UINT64_C(1) << 28) : guest_place(g, STACKS);
}

uc_context *guest_call(struct guest *g, struct guest_thread *t, usp_addr function, usp_addr sp, usp_addr return_to,
                       const uint64_t *arguments, unsigned count) {
    static const uint8_t x86_64[] = {5, 4, 1, 2, 8, 9};
    const struct uspi_backend *b = g->machine.backend;
    uc_engine *uc = g->machine.uc;
    uc_context *running, *kept;
    if (count > (b->arch == USP_ARCH_I386 ? 4 : 6) || uc_context_alloc(uc, &running) != UC_ERR_OK) return NULL;
    if (uc_context_alloc(uc, &kept) != UC_ERR_OK) {
        uc_context_free(running);
        return NULL;
    }
    uc_context_save(uc, running);
    uc_context_restore(uc, t->context);
    uc_context_save(uc, kept);
    sp &= ~UINT64_C(15);
    if (b->arch == USP_ARCH_I386) {
        sp -= 16;
        for (unsigned i = 0; i < count; i++) guest_store(g, sp + 4 * i, arguments[i], 4);
    } else {
        for (unsigned i = 0; i < count; i++) {
            machine_set(&g->machine, b->arch == USP_ARCH_X86_64 ? x86_64[i] : i, arguments[i]);
        }
    }
    if (b->lr != USPI_NO_REGISTER) {
        machine_set(&g->machine, b->lr, return_to);
    } else {
        sp -= b->word;
        guest_store(g, sp, return_to, b->word);
    }
    machine_set(&g->machine, b->sp, sp);
    uc_context_save(uc, t->context);
    uc_context_restore(uc, running);
    uc_context_free(running);
    t->pc = function;
    return kept;
}

/* Copies the processor's state from one context to the other. */
static bool copy_context(struct guest *g, uc_context *from, uc_context *to) {
    uc_context *running;
    if (uc_context_alloc(g->machine.uc, &running) != UC_ERR_OK) return guest_fail(g, "no memory for a thread's state");
    uc_context_save(g->machine.uc, running);
    uc_context_restore(g->machine.uc, from);
    uc_context_save(g->machine.uc, to);
    uc_context_restore(g->machine.uc, running);
    uc_context_free(running);
    return true;
}

void guest_back(struct guest *g, struct guest_thread *t, uc_context *kept) {
    if (kept == NULL) {
        guest_fail(g, "no memory for a thread's state");
        return;
    }
    copy_context(g, kept, t->context);
    uc_context_free(kept);
}

/* Maps a thread's stack. Above it lies libpthread's data of the thread, below it a guard range. */
static bool map_stack(struct guest *g, struct guest_thread *t, usp_addr low, uint64_t size) {
    t->low = low + GUARD;
    t->high = t->low + size;
    uint8_t *bytes = guest_map(g, t->low, size + GUEST_PAGE);
    if (bytes == NULL || !guest_forbid(g, low, GUARD)) return false;
    /* A pattern that does not look like an address. */
    memset(bytes, 0x5a, (size_t)size);
    t->data = t->high;
    t->slots = t->high + 64;
    guest_store(g, t->slots, t->data, guest_word(g));
    return true;
}

struct guest_thread *guest_thread_create(struct guest *g, const char *name, usp_addr entry, uint64_t stack_size) {
    if (g->thread_count == GUEST_THREADS) return NULL;
    struct guest_thread *t = &g->threads[g->thread_count];
    t->id = 5000 + g->thread_count;
    t->port = (uint32_t)(0x1003 + 0x100 * g->thread_count);
    strncpy(t->name, name, sizeof t->name - 1);
    if (!map_stack(g, t, place_of_stacks(g) + g->thread_count * STACK_SPACE, stack_size) ||
        uc_context_alloc(g->machine.uc, &t->context) != UC_ERR_OK) {
        return NULL;
    }
    g->thread_count++;
    if (!copy_context(g, g->fresh, t->context)) return NULL;
    uc_context *kept = guest_call(g, t, entry, t->high, 0, NULL, 0);
    if (kept == NULL) return NULL;
    uc_context_free(kept);
    return t;
}

/* Returns from a system function to its caller. */
static void leave_trap(struct guest *g) {
    const struct uspi_backend *b = g->machine.backend;
    struct guest_thread *t = g->current;
    if (b->lr != USPI_NO_REGISTER) {
        t->pc = t->now.registers.value[b->lr] & b->word_mask;
        return;
    }
    usp_addr sp = t->now.registers.value[b->sp];
    if (!machine_load(&g->machine, sp, b->word, &t->pc)) guest_fail(g, "a trap without a caller");
    machine_set(&g->machine, b->sp, sp + b->word);
}

static enum guest_end go(struct guest *g, struct run *run, guest_trap trap) {
    for (;;) {
        usp_addr pc = g->current->pc;
        run->stopped = run->is_trap = false;
        uc_err error = uc_emu_start(g->machine.uc, pc, guest_place(g, NEVER), 0, 0);
        if (g->machine.error != NULL) return GUEST_FAILED;
        if (!run->stopped) {
            guest_fail(g, error != UC_ERR_OK ? uc_strerror(error) : "the emulator stopped by itself");
            return GUEST_FAILED;
        }
        if (!run->is_trap) {
            g->current->stopped_at = g->current->pc;
            return GUEST_LIMIT;
        }
        pc = g->current->pc;
        if (!trap(g, (unsigned)((pc - g->traps) / GUEST_TRAP))) {
            guest_fail(g, "a call into the system failed");
            return GUEST_FAILED;
        }
        if (g->machine.error != NULL) return GUEST_FAILED;
        if (run->ended) return run->end;
        if (g->current->pc == pc) leave_trap(g);
        if (run->left != UINT64_MAX && run->left > 0) run->left--;
    }
}

enum guest_end guest_run(struct guest *g, struct guest_thread *t, uint64_t limit, guest_trap trap) {
    struct guest_thread *caller = g->current;
    struct run run = {.guest = g, .left = limit != 0 ? limit : UINT64_MAX, .outer = innermost};
    run.goes_on = t->began && t->pc == t->stopped_at;
    if (!t->began) {
        /* A stack ends after its first frame, whose return address is 0. */
        truth_begin(&t->truth, &g->machine);
        g->machine.root = 0;
    }
    if (caller != NULL) uc_context_save(g->machine.uc, caller->context);
    uc_context_restore(g->machine.uc, t->context);
    g->current = t;
    innermost = &run;
    enum guest_end end = go(g, &run, trap);
    innermost = run.outer;
    uc_context_save(g->machine.uc, t->context);
    if (caller != NULL) uc_context_restore(g->machine.uc, caller->context);
    g->current = caller;
    return end;
}

/* ---- the calling convention ---- */

static uint64_t mask_of(const struct guest *g) { return guest_word(g) == 8 ? UINT64_MAX : UINT32_MAX; }

static uint64_t stacked(const struct guest *g, unsigned i) {
    uint64_t value = 0;
    usp_addr sp = g->current->now.registers.value[g->machine.backend->sp];
    machine_load(&g->machine, sp + (uint64_t)i * guest_word(g), guest_word(g), &value);
    return value;
}

uint64_t guest_argument(const struct guest *g, unsigned i) {
    static const uint8_t x86_64[] = {5, 4, 1, 2, 8, 9};
    const uint64_t *value = g->current->now.registers.value;
    switch (g->machine.backend->arch) {
    case USP_ARCH_X86_64: return i < 6 ? value[x86_64[i]] : stacked(g, i - 6 + 1);
    case USP_ARCH_I386: return stacked(g, i + 1);
    case USP_ARCH_ARMV7: return i < 4 ? value[i] : stacked(g, i - 4);
    default: return i < 8 ? value[i] & mask_of(g) : stacked(g, i - 8);
    }
}

static bool has_narrow_registers(const struct guest *g) {
    return g->machine.backend->arch == USP_ARCH_ARMV7 || g->machine.backend->arch == USP_ARCH_I386;
}

uint64_t guest_argument64(const struct guest *g, unsigned i) {
    if (has_narrow_registers(g)) return guest_argument(g, i) | guest_argument(g, i + 1) << 32;
    return g->machine.backend->arch == USP_ARCH_ARM64_32 ? g->current->now.registers.value[i] : guest_argument(g, i);
}

void guest_return(struct guest *g, uint64_t value) { machine_set(&g->machine, 0, value & mask_of(g)); }

void guest_return64(struct guest *g, uint64_t value) {
    if (!has_narrow_registers(g)) {
        machine_set(&g->machine, 0, value);
        return;
    }
    machine_set(&g->machine, 0, value & UINT32_MAX);
    /* r1 or edx */
    machine_set(&g->machine, g->machine.backend->arch == USP_ARCH_ARMV7 ? 1 : 2, value >> 32);
}

void guest_registers_after_call(const struct guest *g, struct usp_registers *registers) {
    const struct uspi_backend *b = g->machine.backend;
    usp_addr pc;
    *registers = g->current->now.registers;
    if (b->lr != USPI_NO_REGISTER) {
        pc = registers->value[b->lr] & b->word_mask;
    } else {
        pc = stacked(g, 0);
        usp_registers_set_sp(registers, registers->value[b->sp] + b->word);
    }
    usp_registers_set_pc(registers, pc);
}
