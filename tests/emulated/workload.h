/* SPDX-License-Identifier: MIT */
/* Declarations that the emulated programs share: their only entry, and names for attributes. Only for code that runs in
 * the emulator. */
#ifndef TESTS_EMULATED_WORKLOAD_H
#define TESTS_EMULATED_WORKLOAD_H

#include <stdint.h>

#define NOINLINE __attribute__((noinline))
#define NORETURN __attribute__((noreturn))
#define COLD     __attribute__((cold))

/* The builder defines it for a processor with a convention in which the callee pops its arguments. */
#ifndef CALLEE_POPS
#define CALLEE_POPS
#endif

/* Runs everything `rounds` times and returns a checksum that is the same on every processor. */
unsigned usp_workload(unsigned rounds);

#endif
