/* SPDX-License-Identifier: MIT */
/* Profiles in the formats pprof and OTLP, for `unspool profile`: reads them, and finds the files of their builds. */
#ifndef TOOLS_PROFILE_FILE_H
#define TOOLS_PROFILE_FILE_H

#include "tools/record.h"

/* Reads an open file from `head_size` bytes on, which were read already and are at `head`, to its end. The caller frees
 * *bytes. Complains. Returns an enum exit_status. */
int read_whole(int file, const char *shown, const void *head, size_t head_size, uint8_t **bytes, size_t *size);

/* Finds the names of a profile's frames, as the options of the output say. Complains. Returns an enum exit_status. */
int name_profile_file(struct usp_profile_file *file, const struct record_output *output);

#endif
