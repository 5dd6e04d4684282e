/* SPDX-License-Identifier: MIT */
/* A hang in a file, which survives if the process is killed: the file is valid at every moment. It has room for two
 * states of the report. The state to which the newer header does not refer is overwritten, then the older header is
 * replaced. Headers and states have checksums, so that half-written ones are not used. */
#ifndef USPI_MONITOR_HANG_FILE_H
#define USPI_MONITOR_HANG_FILE_H

#include "lib/os/os.h"

#include <unspool/monitor.h>

/* Size in bytes of what precedes the two states in the file. */
#define USPI_HANG_FILE_HEAD 256u

struct uspi_hang_file {
    struct uspi_os_kept_file file;
    uint8_t *state;                    /* of `slot` bytes, in which a state is put together; NULL: there is no file */
    size_t slot;                       /* size of a state in bytes */
    uint64_t sequence;                 /* number of the last header */
    uint8_t head[USPI_HANG_FILE_HEAD]; /* what the file begins with */
};

/* Makes the file with room for states of `slot` bytes each. `path` must stay valid until the file is closed. Returns as
 * uspi_os_kept_file_make does, USP_ERROR_ARGUMENT (a slot that is too large), USP_ERROR_NO_MEMORY. */
int uspi_hang_file_make(struct uspi_hang_file *file, const char *path, size_t slot);
void uspi_hang_file_close(struct uspi_hang_file *file);

/* Writes the current state of a hang at a usp_clock value. Allocates nothing. A state that does not fit is not
 * written; the previous one stays. If the file cannot be written any more, nothing happens. */
void uspi_hang_file_write(struct uspi_hang_file *file, const struct usp_hang *hang, uint64_t now);

/* Updates the hang's duration. */
void uspi_hang_file_touch(struct uspi_hang_file *file, uint64_t duration);

/* Records that there is no hang. */
void uspi_hang_file_end(struct uspi_hang_file *file);

#endif
