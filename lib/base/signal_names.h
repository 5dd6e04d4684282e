/* SPDX-License-Identifier: MIT */
/* Names of signals, of their codes and of Mach exceptions, of each operating system, on any host. */
#ifndef USPI_BASE_SIGNAL_NAMES_H
#define USPI_BASE_SIGNAL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Returns a signal's name, such as "SIGSEGV"; NULL when it has none. os: enum usp_os. Async-signal-safe. */
const char *uspi_signal_name(uint32_t os, uint32_t signal);

/* What a signal's code (si_code) says. */
struct uspi_signal_code {
    const char *name;  /* "SEGV_MAPERR" */
    const char *words; /* "the address is not mapped" */
};

/* Returns NULL for an unknown code of Linux. Async-signal-safe. */
const struct uspi_signal_code *uspi_signal_code(uint32_t signal, int32_t code);

/* The same of any system. Darwin has other numbers. */
const struct uspi_signal_code *uspi_signal_code_of(uint32_t os, uint32_t signal, int32_t code);

/* Numbers of Mach exceptions, and codes of a bad access, that the library itself looks at. */
enum uspi_mach_number {
    USPI_MACH_BAD_ACCESS = 1,
    USPI_MACH_GENERAL_FAULT = 13, /* EXC_I386_GPFLT: a code of x86 */
    USPI_MACH_ALIGNMENT = 0x101   /* EXC_ARM_DA_ALIGN: a code of arm */
};

/* Returns the name of a Mach exception, such as "EXC_BAD_ACCESS"; NULL when it has none. Async-signal-safe. */
const char *uspi_mach_exception_name(uint32_t exception);

/* Returns the name of an exception's first code, such as "KERN_INVALID_ADDRESS"; NULL when it has none. arch: enum
 * usp_arch. Async-signal-safe. */
const char *uspi_mach_code_name(uint32_t arch, uint32_t exception, uint64_t code);

/* Whether a signal ends a process with a core by default, on Linux. Async-signal-safe. */
bool uspi_signal_dumps_core(uint32_t signal);

#endif
