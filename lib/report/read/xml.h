/* SPDX-License-Identifier: MIT */
/* Reads the tags of XML, one token at a time, so that a text can be read in pieces; writes text into markup. */
#ifndef USPI_REPORT_READ_XML_H
#define USPI_REPORT_READ_XML_H

#include "lib/base/gathered.h"
#include "lib/base/span.h"

/* A longer tag or comment is passed on as text. */
#define USPI_XML_TAG_MAX ((size_t)64 << 10)

struct uspi_xml_token {
    struct uspi_span raw;  /* the whole token */
    struct uspi_span name; /* of a tag; empty: it is text, a comment or a declaration */
    bool is_end;           /* </name> */
    bool is_empty;         /* <name …/> */
};

/* Gives the token at *at, and moves *at past it. Text ends at the next tag, or with the bytes that have arrived.
 * Returns false at the end of the text, and for a tag whose end has not arrived. */
bool uspi_xml_next(struct uspi_span text, size_t *at, struct uspi_xml_token *token);

/* Joins the next bytes of a text that is read in pieces with those that were kept before them. *bytes become all of
 * them. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_xml_join(struct uspi_gathered *kept, struct uspi_span *bytes);

/* Keeps the joined bytes from `at` on for the next call. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_xml_keep(struct uspi_gathered *kept, struct uspi_span bytes, size_t at);

/* Finds the value of a tag's attribute, as it is written. Returns false if there is none. */
bool uspi_xml_attribute(const struct uspi_xml_token *tag, struct uspi_span key, struct uspi_span *value);

/* Reads an attribute's value as a decimal number, or as one with 0x. Returns false if there is none. */
bool uspi_xml_number(const struct uspi_xml_token *tag, struct uspi_span key, uint64_t *value);

/* Returns the length of an entity at `at`, for which *character stands: one of XML's five, HTML's &nbsp;, or the number of
 * an ASCII character or of a blank that does not break. 0: there is none. */
size_t uspi_xml_entity(struct uspi_span text, size_t at, char *character);

/* Replaces entities by the characters that they stand for. The result is in `decoded`, or the text itself if it has none. Returns false when
 * memory is exhausted. */
bool uspi_xml_decode(struct uspi_span *text, struct uspi_gathered *decoded);

/* Implements usp_write_function: writes bytes as the text of an element or a quoted attribute into `context`, a struct
 * uspi_text. */
int uspi_xml_escape(void *context, const char *bytes, size_t n);

#endif
