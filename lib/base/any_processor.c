/* SPDX-License-Identifier: MIT */
/* Public functions to which a caller gives a processor. They link the backends of all of them: see arch/any.h. */
#include "arch/any.h"
#include "lib/base/processor.h"

#include <unspool/base.h>
#include <unspool/registers.h>

int usp_registers_init(struct usp_registers *registers, uint32_t arch) {
    const bool is_known = uspi_backend_any(arch) != NULL;
    const int status = uspi_registers_init(registers, arch);
    return is_known ? status : USP_ERROR_ARGUMENT;
}

int usp_registers_from_state(struct usp_registers *registers, uint32_t arch, uint32_t state, const void *bytes,
                             size_t n) {
    if (usp_registers_init(registers, arch) != USP_OK) return USP_ERROR_ARGUMENT;
    return uspi_registers_from_state(registers, arch, state, bytes, n);
}

const char *usp_arch_string(uint32_t arch) {
    const struct uspi_backend *b = uspi_backend_any(arch);
    return b != NULL ? b->name : "unknown";
}

uint32_t usp_arch_pointer_size(uint32_t arch) {
    const struct uspi_backend *b = uspi_backend_any(arch);
    return b != NULL ? b->word : 0;
}

const char *usp_variant_string(uint32_t arch, uint32_t variant) {
    return uspi_backend_any(arch) != NULL ? uspi_variant_string(arch, variant) : "unknown";
}

/* The function above links the backends that these find. */

uint32_t usp_arch_from_string(const char *name) { return uspi_arch_from_string(name); }

uint32_t usp_variant_from_string(const char *name) { return uspi_variant_from_string(name); }
