/* SPDX-License-Identifier: MIT */
/* Fields of reports in JSON: where each format has them. */
#ifndef USPI_REPORT_READ_MODEL_FIELDS_H
#define USPI_REPORT_READ_MODEL_FIELDS_H

#include "lib/report/read/model.h"

/* What the object around several reports says about all of them. It is kept, because searching a large object for each
 * of many reports would be slow. */
struct uspi_outer_values {
    size_t object; /* USPI_JSON_NONE: none was read */
    size_t count;
    const struct uspi_json_field *fields[USPI_OUTER_FIELDS_MAX];
    size_t nodes[USPI_OUTER_FIELDS_MAX];
};

/* Finds the values in an object, unless they are of this object already. USPI_JSON_NONE: there are none. */
void uspi_outer_values_find(struct uspi_outer_values *values, const struct uspi_json_document *document, size_t object);

/* Set those fields of the model's last report that are not set yet: from the object that is the report, first those of
 * its format (NULL: not known); and from the object around it. Return false when memory is exhausted. */
bool uspi_model_take_fields(struct uspi_model *model, const struct uspi_json_document *document, size_t report,
                            const struct uspi_json_shape *format);
bool uspi_model_take_outer(struct uspi_model *model, const struct uspi_json_document *document,
                           const struct uspi_outer_values *values);

/* Writes a number that has a meaning of its own. Returns false if it is to be written as it is. */
bool uspi_put_meaning(struct uspi_text *out, enum uspi_json_means means, uint64_t number);

/* Copies a JSON string's characters, with resolved escapes, for the model's lifetime. Returns false when memory is
 * exhausted. */
bool uspi_model_copy_text(struct uspi_model *model, struct uspi_span text, struct uspi_span *copy);

/* Copies a string's characters or a number's digits; empty for other values and USPI_JSON_NONE. Returns false when
 * memory is exhausted. */
bool uspi_model_copy_value(struct uspi_model *model, const struct uspi_json_document *document, size_t node,
                           struct uspi_span *copy);

#endif
