/* SPDX-License-Identifier: MIT */
/* What Apple's reports have in common: lines of Binary Images, and the fields of their headers. */
#ifndef USPI_APPLE_H
#define USPI_APPLE_H

#include "lib/report/read/read.h"

bool uspi_apple_image(struct uspi_span line, struct uspi_read_image *image);

/* "Process:  App [1234]" and its like. */
bool uspi_apple_field(struct uspi_span line, struct uspi_heading *heading);

#endif
