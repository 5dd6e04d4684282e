/* SPDX-License-Identifier: MIT */
/* Fields of reports in JSON: where each format has them. */
#ifndef USPI_REPORT_READ_MODEL_FIELDS_H
#define USPI_REPORT_READ_MODEL_FIELDS_H

#include "lib/report/read/model.h"

/* The times of the object around MetricKit's diagnostics, which apply to all of them: nodes, USPI_JSON_NONE for
 * none. */
struct uspi_payload_times {
    size_t begin, end;
};

/* Sets those fields of the model's last report that are not set yet, from the object that is the report. Returns false
 * when memory is exhausted. */
bool uspi_model_take_fields(struct uspi_model *model, const struct uspi_json_document *document, size_t report,
                            const struct uspi_payload_times *times);

/* Copies a JSON string's characters, with resolved escapes, for the model's lifetime. Returns false when memory is
 * exhausted. */
bool uspi_model_copy_text(struct uspi_model *model, struct uspi_span text, struct uspi_span *copy);

/* Copies a string's characters or a number's digits; empty for other values and USPI_JSON_NONE. Returns false when
 * memory is exhausted. */
bool uspi_model_copy_value(struct uspi_model *model, const struct uspi_json_document *document, size_t node,
                           struct uspi_span *copy);

#endif
