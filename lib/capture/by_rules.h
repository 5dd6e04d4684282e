/* SPDX-License-Identifier: MIT */
/* The walk of usp_backtrace where functions have no frame records: by cached unwind rules. backtrace.c reaches it
 * through a pointer that usp_prepare sets, so that a program that is linked statically and only walks frame records has
 * no unwinder. */
#ifndef USPI_CAPTURE_BY_RULES_H
#define USPI_CAPTURE_BY_RULES_H

/* Lets usp_backtrace use the rules, or no longer. Only where calls push the return address: elsewhere compilers keep
 * frame records, and a record does not give the stack pointer. Not async-signal-safe. */
void uspi_by_rules_begin(void);
void uspi_by_rules_end(void);

#endif
