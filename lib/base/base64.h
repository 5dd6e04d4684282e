/* SPDX-License-Identifier: MIT */
/* Decodes Base64 (RFC 4648, section 4) as Swift and Foundation write it: with or without padding, without line ends. */
#ifndef USPI_BASE_BASE64_H
#define USPI_BASE_BASE64_H

#include "lib/base/span.h"

/* Decodes a text. Returns the number of bytes, which is at most three for each four characters and a rest; `bytes` must
 * have room for that. SIZE_MAX: the text is not Base64. */
size_t uspi_base64_decode(struct uspi_span text, uint8_t *bytes);

#endif
