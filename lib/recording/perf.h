/* SPDX-License-Identifier: MIT */
/* Reads perf.data: implements usp_recording_read for it. */
#ifndef USPI_RECORDING_PERF_H
#define USPI_RECORDING_PERF_H

#include "lib/object/bytes.h"

#include <unspool/recording.h>

/* `options` are complete. Returns what usp_recording_read returns. */
int uspi_perf_read(const struct usp_recording_options *options, struct usp_recording_info *info,
                   struct uspi_error *error);

#endif
