/* SPDX-License-Identifier: MIT */
/* Names of signals and of their codes, of each operating system, on any host. */
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

/* Whether a signal ends a process with a core by default, on Linux. Async-signal-safe. */
bool uspi_signal_dumps_core(uint32_t signal);

#endif
