/* SPDX-License-Identifier: MIT */
/* What the forms of crash reports have in common: Apple's text (report_crash.c) and JSON (report_ips.c), Sentry's event
 * (report_sentry.c). Implemented in report_crash.c and report_crash_json.c. */
#ifndef USPI_REPORT_REPORT_CRASH_H
#define USPI_REPORT_REPORT_CRASH_H

#include "lib/base/json.h"
#include "lib/report/report.h"

/* Returns the name of a processor in "Code Type". */
const char *uspi_report_code_type(uint32_t arch);

/* Puts "2024-02-29 12:34:56.789 +0000". ns since 1970-01-01 UTC. */
void uspi_report_put_date(struct uspi_text *text, uint64_t ns);

bool uspi_report_is_crashed(const struct uspi_report *report, const struct usp_snapshot_thread *thread);

/* Returns the number of the thread that crashed; SIZE_MAX: none. */
size_t uspi_report_crashed_number(const struct uspi_report *report);

/* Why the process ended. Of a Mach exception, the type is its name and the codes are its own. Otherwise the type is the
 * signal, the codes are si_code, whose numbers are the system's, and the fault address. */
struct uspi_report_cause {
    const char *type;    /* "EXC_BAD_ACCESS", "SIGSEGV" */
    const char *signal;  /* "SIGSEGV" */
    bool is_exception;   /* of Mach */
    const char *message; /* the cause in words */
    char subtype[64];    /* "KERN_INVALID_ADDRESS at 0x0000000000000008", "SEGV_MAPERR at …"; "": not known */
    uint64_t codes[2];
    char code_text[64]; /* the codes in hexadecimal */
};

/* Returns false when the process did not crash, or it is not known why. */
bool uspi_report_find_cause(const struct uspi_report *report, struct uspi_report_cause *cause);

/* Puts for which thread's lock thread i waits; nothing if it waits for none. */
void uspi_report_put_lock(struct uspi_text *text, const struct uspi_report *report, size_t i);

/* Returns Apple's name of a register, which may differ from the assembler's. */
struct uspi_span uspi_report_register_name(const struct uspi_backend *backend, unsigned n);

/* ---- JSON (report_crash_json.c) ---- */

/* Makes an id of the report, which is the same each time that it is written. */
void uspi_report_id(const struct uspi_report *report, uint8_t id[USPI_UUID_BYTES]);

/* Returns the name of the program, "" if it is not known. */
const char *uspi_report_program(const struct uspi_report *report);

/* Returns the name of the system, "" if it is not known. */
const char *uspi_report_system(const struct uspi_report *report);

/* Returns note i of the snapshot, NULL past the last. */
const struct usp_snapshot_note *uspi_report_note(const struct uspi_report *report, size_t i);

/* Writes the notes of one kind as a list of texts; nothing if there are none. */
void uspi_report_put_notes(struct uspi_json *json, const struct uspi_report *report, uint32_t kind, const char *key);

/* Writes which threads wait for locks of others as the list "locks"; nothing if none does. */
void uspi_report_put_locks(struct uspi_json *json, const struct uspi_report *report);

/* Writes what is missing as a list of texts: what the recorder has noted, and where the middle of a deep stack was left
 * out. Nothing if nothing is missing. */
void uspi_report_put_gaps(struct uspi_json *json, const struct uspi_report *report, const char *key);

#endif
