/* SPDX-License-Identifier: MIT */
/* PLCrashReporter's binary reports (.plcrash), as text in the layout of Apple's crash reports. */
#ifndef USPI_REPORT_READ_PLCRASH_H
#define USPI_REPORT_READ_PLCRASH_H

#include "lib/base/gathered.h"
#include "lib/base/span.h"

/* Returns whether bytes are such a report, by their beginning. */
bool uspi_is_plcrash(struct uspi_span bytes);

/* Appends the text of a report, whose lines other shapes read. What follows the first damaged byte is left out.
 * Returns USP_OK, USP_ERROR_UNSUPPORTED for another version of the format, USP_ERROR_TRUNCATED when it is damaged or
 * cut off, with the text of what is whole, or USP_ERROR_NO_MEMORY. */
int uspi_plcrash_to_text(struct uspi_span bytes, struct uspi_gathered *text);

#endif
