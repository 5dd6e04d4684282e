/* SPDX-License-Identifier: MIT */
/* The forms of DWARF's attributes: how many bytes a value has, and how it is skipped. */
#ifndef USPI_OBJECT_DWARF_FORMS_H
#define USPI_OBJECT_DWARF_FORMS_H

#include "lib/object/dwarf_cursor.h"

/* What the width of some forms depends on. */
struct uspi_encoding {
    uint8_t address_size; /* 2, 4 or 8 */
    uint8_t offset_size;  /* 4 or 8 */
    uint8_t version;
};

#define USPI_FORM_VARIABLE UINT32_MAX       /* the value itself says how long it is */
#define USPI_FORM_UNKNOWN  (UINT32_MAX - 1) /* the form is not known */

/* Returns the number of bytes of a value, or USPI_FORM_VARIABLE or USPI_FORM_UNKNOWN. */
uint32_t uspi_form_width(uint64_t form, struct uspi_encoding encoding);

/* Reads a form that is in the entry itself. It must not be indirect again. */
uint64_t uspi_form_indirect(struct uspi_cursor_at *c);

/* Skips a value. Returns false when its form is not known. */
bool uspi_form_skip(struct uspi_cursor_at *c, uint64_t form, struct uspi_encoding encoding);

#endif
