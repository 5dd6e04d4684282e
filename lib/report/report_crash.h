/* SPDX-License-Identifier: MIT */
/* What Apple's crash reports say as text (report_crash.c) and as JSON (report_ips.c). Implemented in report_crash.c. */
#ifndef USPI_REPORT_REPORT_CRASH_H
#define USPI_REPORT_REPORT_CRASH_H

#include "lib/report/report.h"

/* Returns the name of a processor in "Code Type". */
const char *uspi_report_code_type(uint32_t arch);

/* Puts "2024-02-29 12:34:56.789 +0000". ns since 1970-01-01 UTC. */
void uspi_report_put_date(struct uspi_text *text, uint64_t ns);

bool uspi_report_is_crashed(const struct uspi_report *report, const struct usp_snapshot_thread *thread);

/* Returns the number of the thread that crashed; SIZE_MAX: none. */
size_t uspi_report_crashed_number(const struct uspi_report *report);

/* Why the process ended: by a signal, not by an exception of Mach. The type is the signal, the codes are si_code, whose
 * numbers are the system's, and the fault address. */
struct uspi_report_cause {
    const char *type;    /* "SIGSEGV" */
    const char *message; /* the same in words */
    char subtype[64];    /* "SEGV_MAPERR at 0x0000000000000008"; "": not known */
    uint64_t codes[2];
    char code_text[64]; /* the codes in hexadecimal */
};

/* Returns false when the process did not crash, or it is not known why. */
bool uspi_report_find_cause(const struct uspi_report *report, struct uspi_report_cause *cause);

/* Puts for which thread's lock thread i waits; nothing if it waits for none. */
void uspi_report_put_lock(struct uspi_text *text, const struct uspi_report *report, size_t i);

/* Returns Apple's name of a register, which may differ from the assembler's. */
struct uspi_span uspi_report_register_name(const struct uspi_backend *backend, unsigned n);

#endif
