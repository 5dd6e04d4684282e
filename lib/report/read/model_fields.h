/* SPDX-License-Identifier: MIT */
/* Fields of reports in JSON: where each format has them. */
#ifndef USPI_MODEL_FIELDS_H
#define USPI_MODEL_FIELDS_H

#include "lib/report/read/model.h"

/* What the object around MetricKit's diagnostics says of all of them: nodes, USPI_JSON_NONE for none. */
struct uspi_payload_times {
    size_t begin, end;
};

/* Takes the fields of the model's last report out of the object that is the report, as far as it has none yet. False when memory
 * lacks. */
bool uspi_model_take_fields(struct uspi_model *model, const struct uspi_json_document *document, size_t report,
                            const struct uspi_payload_times *times);

/* A copy of a JSON string's characters, escapes resolved, that lives as long as the model. False when memory lacks. */
bool uspi_model_copy_text(struct uspi_model *model, struct uspi_span text, struct uspi_span *copy);

/* A copy of a string's characters or a number's digits; empty for other values and USPI_JSON_NONE. False when memory lacks. */
bool uspi_model_copy_value(struct uspi_model *model, const struct uspi_json_document *document, size_t node,
                           struct uspi_span *copy);

#endif
