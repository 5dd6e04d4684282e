/* SPDX-License-Identifier: MIT */
/* See machine.h. */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#define STACK_SIZE  (8u << 20)
#define ROOT_PAGE   UINT64_C(0x60000000)
#define ROOT_OFFSET 0x100u
#define GUARD_PAGE  UINT64_C(0x61000000) /* after the thread pointer: Linux keeps the stack guard there */
#define CPSR_THUMB  0x20u

static bool fail(struct machine *m, const char *why) {
    if (m->error == NULL) m->error = why;
    return false;
}

void machine_fail(struct machine *m, const char *why) {
    fail(m, why);
    uc_emu_stop(m->uc);
}

/* ---- registers ---- */

static void set_ids_arm64(int *ids) {
    /* Unicorn numbers X29 and X30 separately from the others. */
    for (int i = 0; i < 29; i++) ids[i] = UC_ARM64_REG_X0 + i;
    ids[29] = UC_ARM64_REG_X29;
    ids[30] = UC_ARM64_REG_X30;
    ids[31] = UC_ARM64_REG_SP;
    ids[32] = UC_ARM64_REG_PC;
}

static void set_ids_arm(int *ids) {
    for (int i = 0; i < 13; i++) ids[i] = UC_ARM_REG_R0 + i;
    ids[13] = UC_ARM_REG_SP;
    ids[14] = UC_ARM_REG_LR;
    ids[15] = UC_ARM_REG_PC;
}

static void set_ids_x86_64(int *ids) {
    static const int order[] = {UC_X86_REG_RAX, UC_X86_REG_RDX, UC_X86_REG_RCX, UC_X86_REG_RBX, UC_X86_REG_RSI,
                                UC_X86_REG_RDI, UC_X86_REG_RBP, UC_X86_REG_RSP, UC_X86_REG_R8,  UC_X86_REG_R9,
                                UC_X86_REG_R10, UC_X86_REG_R11, UC_X86_REG_R12, UC_X86_REG_R13, UC_X86_REG_R14,
                                UC_X86_REG_R15, UC_X86_REG_RIP};
    memcpy(ids, order, sizeof order);
}

static void set_ids_i386(int *ids) {
    static const int order[] = {UC_X86_REG_EAX, UC_X86_REG_ECX, UC_X86_REG_EDX, UC_X86_REG_EBX, UC_X86_REG_ESP,
                                UC_X86_REG_EBP, UC_X86_REG_ESI, UC_X86_REG_EDI, UC_X86_REG_EIP};
    memcpy(ids, order, sizeof order);
}

struct model {
    uint32_t arch;
    uc_arch uc_arch;
    uc_mode uc_mode;
    int cpu; /* −1: Unicorn's own choice */
    void (*set_ids)(int *ids);
};

/* arm64: the default model faults on retab and pacdb. */
static const struct model models[] = {
    {USP_ARCH_ARM64, UC_ARCH_ARM64, UC_MODE_ARM, UC_CPU_ARM64_MAX, set_ids_arm64},
    {USP_ARCH_ARM64_32, UC_ARCH_ARM64, UC_MODE_ARM, UC_CPU_ARM64_MAX, set_ids_arm64},
    {USP_ARCH_ARMV7, UC_ARCH_ARM, UC_MODE_ARM, UC_CPU_ARM_MAX, set_ids_arm},
    {USP_ARCH_X86_64, UC_ARCH_X86, UC_MODE_64, -1, set_ids_x86_64},
    {USP_ARCH_I386, UC_ARCH_X86, UC_MODE_32, -1, set_ids_i386},
};

/* Enables floating point, which is off after reset: CPACR.FPEN; CP10 and CP11 of CPACR with FPEXC.EN (Arm ARM). */
static void enable_floating_point(struct machine *m) {
    if (m->backend->arch == USP_ARCH_ARM64 || m->backend->arch == USP_ARCH_ARM64_32) {
        uint64_t on = UINT64_C(3) << 20;
        uc_reg_write(m->uc, UC_ARM64_REG_CPACR_EL1, &on);
    }
    if (m->backend->arch == USP_ARCH_ARMV7) {
        uint32_t on = 0xfu << 20, enable = 1u << 30;
        uc_reg_write(m->uc, UC_ARM_REG_C1_C0_2, &on);
        uc_reg_write(m->uc, UC_ARM_REG_FPEXC, &enable);
    }
}

bool machine_start(struct machine *m, uint32_t arch) {
    static const struct image no_image;
    const struct model *model = NULL;
    memset(m, 0, sizeof *m);
    m->image = &no_image;
    m->backend = uspi_backend_find(arch);
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        if (models[i].arch == arch) model = &models[i];
    }
    if (m->backend == NULL || model == NULL) return fail(m, "no such processor");
    if (uc_open(model->uc_arch, model->uc_mode, &m->uc) != UC_ERR_OK) return fail(m, "Unicorn does not start");
    if (model->cpu >= 0 && uc_ctl_set_cpu_model(m->uc, model->cpu) != UC_ERR_OK) return fail(m, "no such model");
    model->set_ids(m->ids);
    for (unsigned i = 0; i < m->backend->register_count; i++) m->places[i] = &m->raw[i];
    for (unsigned i = 0; i < 4; i++) m->it_pc[i] = UINT64_MAX;
    enable_floating_point(m);
    return true;
}

bool machine_open(struct machine *m, const struct image *image, usp_addr stack_high) {
    if (!machine_start(m, image->arch)) return false;
    m->image = image;
    m->stack_high = stack_high;
    m->stack_low = stack_high - STACK_SIZE;
    m->stack = aligned_alloc(IMAGE_PAGE, STACK_SIZE);
    m->root = ROOT_PAGE + ROOT_OFFSET;
    if (m->stack == NULL) return fail(m, "out of memory");
    /* The bytes of an unused stack must not look like an address. */
    memset(m->stack, 0x5a, STACK_SIZE);
    if (uc_mem_map_ptr(m->uc, image->low, (size_t)(image->high - image->low), UC_PROT_ALL, image->bytes) != UC_ERR_OK ||
        uc_mem_map_ptr(m->uc, m->stack_low, STACK_SIZE, UC_PROT_ALL, m->stack) != UC_ERR_OK ||
        uc_mem_map(m->uc, ROOT_PAGE, IMAGE_PAGE, UC_PROT_ALL) != UC_ERR_OK ||
        uc_mem_map(m->uc, GUARD_PAGE, IMAGE_PAGE, UC_PROT_ALL) != UC_ERR_OK) {
        return fail(m, "memory cannot be mapped");
    }
    if (m->backend->arch == USP_ARCH_X86_64) {
        uint64_t thread = GUARD_PAGE;
        uc_reg_write(m->uc, UC_X86_REG_FS_BASE, &thread);
    }
    return true;
}

void machine_close(struct machine *m) {
    if (m->uc != NULL) uc_close(m->uc);
    free(m->stack);
    memset(m, 0, sizeof *m);
}

void machine_set(struct machine *m, unsigned reg, uint64_t value) { uc_reg_write(m->uc, m->ids[reg], &value); }

/* ---- memory ---- */

bool machine_read(const struct machine *m, usp_addr from, void *to, size_t n) {
    if (m->stack != NULL && from >= m->stack_low && from <= m->stack_high && n <= m->stack_high - from) {
        memcpy(to, m->stack + (from - m->stack_low), n);
        return true;
    }
    const struct image *i = m->image;
    if (i->bytes != NULL && from >= i->low && from <= i->high && n <= i->high - from) {
        memcpy(to, i->bytes + (from - i->low), n);
        return true;
    }
    return m->elsewhere.read != NULL && m->elsewhere.read(m->elsewhere.context, from, to, n) == USP_OK;
}

bool machine_load(const struct machine *m, usp_addr from, unsigned n, uint64_t *value) {
    uint8_t bytes[8];
    if (!machine_read(m, from, bytes, n)) return false;
    *value = uspi_le(bytes, n);
    return true;
}

/* ---- running ---- */

struct run {
    struct machine *machine;
    void (*each_moment)(void *, const struct moment *);
    void *context;
};

static uint32_t thumb_length(struct machine *m, usp_addr pc) {
    uint64_t half;
    return machine_load(m, pc, 2, &half) && half >> 11 >= 0x1d ? 4 : 2;
}

/* Records the ITSTATE of each instruction of the block that `it` at pc begins (Arm ARM, ITAdvance). */
static void begin_it_block(struct machine *m, usp_addr pc, uint8_t state) {
    pc += 2;
    for (unsigned i = 0; i < 4; i++) {
        m->it_pc[i] = UINT64_MAX;
        if (state == 0) continue;
        m->it_pc[i] = pc;
        m->it_state[i] = state;
        pc += thumb_length(m, pc);
        m->it_end = pc;
        state = (state & 7) == 0 ? 0 : (uint8_t)((state & 0xe0) | (state << 1 & 0x1f));
    }
}

static uint8_t it_state_at(const struct machine *m, usp_addr pc) {
    for (unsigned i = 0; i < 4; i++) {
        if (m->it_pc[i] == pc) return m->it_state[i];
    }
    return 0;
}

/* Returns cpsr with ITSTATE[1:0] in bits 26:25 and ITSTATE[7:2] in bits 15:10. */
static uint32_t read_cpsr(struct machine *m, usp_addr pc) {
    const uint32_t it_bits = 0x0600fc00u;
    uint32_t cpsr = 0;
    uc_reg_read(m->uc, UC_ARM_REG_CPSR, &cpsr);
    cpsr &= ~it_bits;
    if ((cpsr & CPSR_THUMB) == 0) return cpsr;
    uint8_t state = it_state_at(m, pc);
    return cpsr | (uint32_t)(state & 3) << 25 | (uint32_t)(state >> 2) << 10;
}

void machine_moment(struct machine *m, usp_addr pc, uint32_t length, struct moment *now) {
    const struct uspi_backend *b = m->backend;
    memset(now, 0, sizeof *now);
    now->pc = pc;
    now->length = length;
    usp_registers_init(&now->registers, b->arch);
    memset(m->raw, 0, sizeof m->raw);
    uc_reg_read_batch(m->uc, m->ids, m->places, b->register_count);
    for (unsigned i = 0; i < b->register_count; i++) {
        now->registers.value[i] = m->raw[i];
        now->registers.known |= UINT64_C(1) << i;
    }
    now->registers.value[b->pc] = pc;
    if (b->arch == USP_ARCH_ARMV7) now->registers.flags = read_cpsr(m, pc);
}

/* Adds moments for instructions that were skipped because their condition does not hold. They change nothing: their
 * moments are the next one's with another pc. */
static void add_skipped(struct run *run, usp_addr pc) {
    struct machine *m = run->machine;
    usp_addr skipped = m->after_last;
    while (skipped < pc && pc <= m->it_end && it_state_at(m, skipped) != 0 && m->error == NULL) {
        struct moment now;
        uint32_t length = thumb_length(m, skipped);
        machine_moment(m, skipped, length, &now);
        run->each_moment(run->context, &now);
        skipped += length;
    }
}

static void on_code(uc_engine *uc, uint64_t pc, uint32_t length, void *user) {
    struct run *run = user;
    struct machine *m = run->machine;
    struct moment now;
    uint64_t half;
    (void)uc;
    if (m->error != NULL) return;
    if (m->backend->has_thumb) add_skipped(run, pc);
    if (m->error != NULL) return;
    machine_moment(m, pc, length, &now);
    if ((now.registers.flags & CPSR_THUMB) != 0 && machine_load(m, pc, 2, &half) && (half & 0xff00) == 0xbf00 &&
        (half & 15) != 0) {
        begin_it_block(m, pc, (uint8_t)half);
    }
    m->after_last = pc + length;
    run->each_moment(run->context, &now);
}

static bool on_invalid(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, void *user) {
    struct run *run = user;
    (void)uc, (void)type, (void)address, (void)size, (void)value;
    fail(run->machine, "the program touched memory that is not mapped");
    return false;
}

/* Sets the registers at the entry by the processors' procedure call standards: the argument, the return address, and 0
 * as the frame pointer. */
static void prepare_call(struct machine *m, bool thumb, unsigned rounds) {
    const struct uspi_backend *b = m->backend;
    usp_addr sp = m->stack_high - 4096;
    for (unsigned i = 0; i < b->register_count; i++) {
        if (i != b->pc)
            machine_set(m, i, UINT64_C(0x1000100010001) * i & b->word_mask & (b->word == 4 ? UINT32_MAX : UINT64_MAX));
    }
    machine_set(m, b->fp, 0);
    switch (b->arch) {
    case USP_ARCH_X86_64: machine_set(m, 5, rounds); break;
    case USP_ARCH_I386: break;
    default: machine_set(m, 0, rounds); break;
    }
    if (b->lr != USPI_NO_REGISTER) {
        machine_set(m, b->lr, m->root | (thumb ? 1 : 0));
    } else {
        uint64_t words[2] = {m->root, rounds};
        sp -= b->word;
        for (unsigned i = 0; i < 2; i++) {
            uint8_t *to = m->stack + (sp - m->stack_low) + i * b->word;
            for (unsigned n = 0; n < b->word; n++) to[n] = (uint8_t)(words[i] >> (8 * n));
        }
    }
    machine_set(m, b->sp, sp);
}

bool machine_run(struct machine *m, usp_addr entry, bool thumb, unsigned rounds,
                 void (*each_moment)(void *, const struct moment *), void *context, uint32_t *result) {
    struct run run = {m, each_moment, context};
    uc_hook hooks[2];
    /* uc_hook_add takes every callback as a void pointer, to which ISO C does not convert function pointers. */
    union {
        uc_cb_hookcode_t code;
        uc_cb_eventmem_t invalid;
        void *pointer;
    } code = {.code = on_code}, invalid = {.invalid = on_invalid};
    if (uc_hook_add(m->uc, &hooks[0], UC_HOOK_CODE, code.pointer, &run, 1, 0) != UC_ERR_OK ||
        uc_hook_add(m->uc, &hooks[1], UC_HOOK_MEM_INVALID, invalid.pointer, &run, 1, 0) != UC_ERR_OK) {
        return fail(m, "hooks cannot be set");
    }
    prepare_call(m, thumb, rounds);
    uc_err error = uc_emu_start(m->uc, entry | (thumb ? 1 : 0), m->root, 0, 0);
    if (m->error != NULL) return false;
    if (error != UC_ERR_OK) return fail(m, uc_strerror(error));
    struct moment end;
    machine_moment(m, m->root, 0, &end);
    *result = (uint32_t)end.registers.value[0];
    each_moment(context, &end);
    return m->error == NULL;
}
