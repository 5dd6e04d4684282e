/* SPDX-License-Identifier: MIT */
/* Base64 (RFC 4648, section 4), as Swift and Foundation write it: with or without padding, without line ends. */
#ifndef USPI_BASE64_H
#define USPI_BASE64_H

#include "lib/base/span.h"

/* The bytes of a text. Returns how many there are, never more than three for each four characters and a rest; `bytes` has
 * room for that. SIZE_MAX: the text is no base64. */
size_t uspi_base64_decode(struct uspi_span text, uint8_t *bytes);

#endif
