/* SPDX-License-Identifier: MIT */
/* This process, stopped by a helper process instead of by signals. */
#ifndef USPI_LINUX_PROCESS_H
#define USPI_LINUX_PROCESS_H

#include "lib/os/linux/linux.h"

/* Every thread but the calling one, which is not in the list. Needs no usp_prepare. */
int uspi_linux_stop_by_helper(const struct uspi_stop_options *options, struct uspi_stopped_process *out);

#endif
