/* SPDX-License-Identifier: MIT */
/* Makes register files from the bytes of thread states, using the layout tables of the backends. Also the accessors of
 * register files. */
#include "arch/backend.h"
#include "lib/base/clear.h"
#include "lib/base/processor.h"

#include <unspool/registers.h>

#define CPSR_THUMB 0x20u

int uspi_registers_init(struct usp_registers *registers, uint32_t arch) {
    if (registers == NULL) return USP_ERROR_ARGUMENT;
    uspi_clear(registers, sizeof *registers);
    registers->arch = arch;
    return uspi_backend_find(arch) != NULL ? USP_OK : USP_ERROR_ARGUMENT;
}

static const struct uspi_state_layout *find_layout(const struct uspi_backend *b, uint32_t state, size_t n,
                                                   int *status) {
    *status = USP_ERROR_ARGUMENT;
    for (size_t i = 0; i < b->state_count; i++) {
        if (b->states[i].state != state) continue;
        if (n >= b->states[i].size) return &b->states[i];
        *status = USP_ERROR_TRUNCATED;
    }
    return NULL;
}

static void set_register(struct usp_registers *registers, unsigned reg, uint64_t value) {
    if (reg == USPI_FLAGS_REGISTER) {
        registers->flags = (uint32_t)value;
    } else if (reg == USPI_CALL_REGISTER) {
        /* -1: none. */
        registers->system_call = (uint32_t)value + 1;
    } else {
        registers->value[reg] = value;
        registers->known |= UINT64_C(1) << reg;
    }
}

int uspi_registers_from_state(struct usp_registers *registers, uint32_t arch, uint32_t state, const void *bytes,
                              size_t n) {
    int status = uspi_registers_init(registers, arch);
    if (status != USP_OK || bytes == NULL) return USP_ERROR_ARGUMENT;
    const struct uspi_backend *b = uspi_backend_find(arch);
    const uint8_t *p = bytes;
    const struct uspi_state_layout *layout = find_layout(b, state, n, &status);
    if (layout != NULL && layout->unified) {
        /* A unified state is {u32 flavor, u32 count} followed by the state of that flavor; the count is in words of 4
         * bytes. */
        uint32_t inner = USP_THREAD_STATE_MACH + uspi_le32(p);
        uint64_t size = (uint64_t)uspi_le32(p + 4) * 4;
        p += 8;
        n -= 8;
        if (size > n) return USP_ERROR_TRUNCATED;
        layout = find_layout(b, inner, (size_t)size, &status);
        if (layout == NULL || layout->unified) return USP_ERROR_FORMAT;
    }
    if (layout == NULL) return status;
    for (unsigned i = 0; i < layout->run_count; i++) {
        const struct uspi_run *run = &layout->runs[i];
        for (unsigned k = 0; k < run->count; k++) {
            set_register(registers, run->first + k,
                         uspi_le(p + layout->base + run->offset + k * (size_t)run->stride, run->width));
        }
    }
    if (b->has_thumb) usp_registers_set_pc(registers, registers->value[b->pc] | (registers->flags & CPSR_THUMB) >> 5);
    return USP_OK;
}

static const struct uspi_backend *backend_of(const struct usp_registers *registers) {
    return registers != NULL ? uspi_backend_find(registers->arch) : NULL;
}

static usp_addr get(const struct usp_registers *registers, unsigned reg) {
    return reg < USP_REGISTERS_MAX && (registers->known >> reg & 1) != 0 ? registers->value[reg] : 0;
}

usp_addr usp_registers_pc(const struct usp_registers *registers) {
    const struct uspi_backend *b = backend_of(registers);
    return b != NULL ? get(registers, b->pc) : 0;
}

usp_addr usp_registers_sp(const struct usp_registers *registers) {
    const struct uspi_backend *b = backend_of(registers);
    return b != NULL ? get(registers, b->sp) : 0;
}

usp_addr usp_registers_fp(const struct usp_registers *registers) {
    const struct uspi_backend *b = backend_of(registers);
    return b != NULL ? get(registers, b->fp) : 0;
}

usp_addr usp_registers_lr(const struct usp_registers *registers) {
    const struct uspi_backend *b = backend_of(registers);
    return b != NULL ? get(registers, b->lr) : 0;
}

void usp_registers_set_pc(struct usp_registers *registers, usp_addr value) {
    const struct uspi_backend *b = backend_of(registers);
    if (b == NULL) return;
    if (b->has_thumb) {
        if ((value & 1) != 0) registers->flags |= CPSR_THUMB;
        value &= ~UINT64_C(1);
    }
    set_register(registers, b->pc, value);
}

void usp_registers_set_sp(struct usp_registers *registers, usp_addr value) {
    const struct uspi_backend *b = backend_of(registers);
    if (b != NULL) set_register(registers, b->sp, value);
}

void usp_registers_set_fp(struct usp_registers *registers, usp_addr value) {
    const struct uspi_backend *b = backend_of(registers);
    if (b != NULL) set_register(registers, b->fp, value);
}

void usp_registers_set_lr(struct usp_registers *registers, usp_addr value) {
    const struct uspi_backend *b = backend_of(registers);
    if (b != NULL && b->lr != USPI_NO_REGISTER) set_register(registers, b->lr, value);
}

const char *usp_register_name(uint32_t arch, unsigned n) {
    const struct uspi_backend *b = uspi_backend_find(arch);
    return b != NULL && n < b->register_count ? b->register_names[n] : NULL;
}
