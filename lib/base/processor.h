/* SPDX-License-Identifier: MIT */
/* Public functions that name a processor, in the form in which the library calls them for stacks of this process: they
 * know the processors whose backends are linked. The public ones (any_processor.c) link all of them (arch/any.h). */
#ifndef USPI_BASE_PROCESSOR_H
#define USPI_BASE_PROCESSOR_H

#include <unspool/registers.h>

/* Each is as the public function with its name. */
int uspi_registers_init(struct usp_registers *registers, uint32_t arch);
int uspi_registers_from_state(struct usp_registers *registers, uint32_t arch, uint32_t state, const void *bytes,
                              size_t n);
const char *uspi_variant_string(uint32_t arch, uint32_t variant);
uint32_t uspi_arch_from_string(const char *name);
uint32_t uspi_variant_from_string(const char *name);

#endif
