/* SPDX-License-Identifier: MIT */
/* A hang in a mapped file, for the case that the process is killed meanwhile: the file is valid at each moment. It has room for two
 * states of the report. The one that the newer header does not name is written, then the older header is replaced; each header
 * and each state has a checksum, so that what was half written is not taken for a report. */
#ifndef USPI_HANG_FILE_H
#define USPI_HANG_FILE_H

#include "lib/os/os.h"

#include <unspool/monitor.h>

struct uspi_hang_file {
    struct uspi_os_mapping mapping; /* bytes NULL: there is none */
    size_t slot;                    /* bytes of a state */
    uint64_t sequence;              /* of the last header */
};

/* Makes the file with room for states of so many bytes each. Returns as uspi_os_mapping_make. */
int uspi_hang_file_make(struct uspi_hang_file *file, const char *path, size_t slot);
void uspi_hang_file_close(struct uspi_hang_file *file);

/* A hang goes on: as hang says, at a usp_clock value. Allocates nothing. What does not fit is not written: the state before
 * stays. */
void uspi_hang_file_write(struct uspi_hang_file *file, const struct usp_hang *hang, uint64_t now);

/* The hang still went on at that time, with so much of it not to be counted. */
void uspi_hang_file_touch(struct uspi_hang_file *file, uint64_t duration);

/* No hang goes on. */
void uspi_hang_file_end(struct uspi_hang_file *file);

#endif
