/* SPDX-License-Identifier: MIT */
/* Writes bytes in gzip format (RFC 1952) without compressing them (RFC 1951, stored blocks). Readers of pprof expect the
 * format, and stored blocks need no library. */
#ifndef USPI_PROFILE_GZIP_H
#define USPI_PROFILE_GZIP_H

#include "lib/base/text.h"

void uspi_put_gzip(struct uspi_text *text, const uint8_t *bytes, size_t n);

#endif
