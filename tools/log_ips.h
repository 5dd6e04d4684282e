/* SPDX-License-Identifier: MIT */
/* Apple's .ips reports: two JSON documents, a line about the report and the report. Its frames are objects with an offset in
 * an image and the image's place in the list of images. (Apple, "Interpreting the JSON format of a crash report".) */
#ifndef TOOL_LOG_IPS_H
#define TOOL_LOG_IPS_H

#include "tools/log_names.h"
#include "tools/log_tables.h"

/* Whether a log that begins with this line is such a report. */
bool log_ips_begins(struct span line);

/* Adds the report's images as one table, which it ends. Returns USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_FORMAT with *where
 * being the place at which it is no JSON, in bytes. */
int log_ips_images(struct span report, struct log_tables *tables, size_t *where);

/* Writes the report to standard output; "symbol" and "symbolLocation" are added to frames that have none, behind their
 * offset. The report is one of which log_ips_images has read the images; its images are table 0, if there is one. Returns
 * USP_OK or USP_ERROR_NO_MEMORY. */
int log_ips_write(struct span report, const struct log_tables *tables, struct log_names *names);

#endif
