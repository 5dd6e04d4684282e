/* SPDX-License-Identifier: MIT */
/* The gzip format (RFC 1952) around bytes that are not compressed (RFC 1951, stored blocks): what readers of pprof want, and
 * no library is needed for it. */
#ifndef USPI_GZIP_H
#define USPI_GZIP_H

#include "lib/base/text.h"

#include <stdint.h>

void uspi_put_gzip(struct uspi_text *text, const uint8_t *bytes, size_t n);

#endif
