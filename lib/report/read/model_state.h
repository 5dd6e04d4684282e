/* SPDX-License-Identifier: MIT */
/* The registers of threads in a model: .crash reports ("Thread 0 crashed with ARM Thread State"), .ips reports
 * ("threadState"), KSCrash and Sentry ("registers"). */
#ifndef USPI_REPORT_READ_MODEL_STATE_H
#define USPI_REPORT_READ_MODEL_STATE_H

#include "lib/report/read/model.h"

/* Adds the registers in a line to a thread. *is_state: whether the line belongs to the registers; an empty line does.
 * Returns false when memory is exhausted. */
bool uspi_state_take_line(struct uspi_model *model, size_t thread, struct uspi_span line, bool *is_state);

/* Adds the registers in a JSON object to a thread. Nothing for USPI_JSON_NONE and other values. Returns false when
 * memory is exhausted. */
bool uspi_state_take_object(struct uspi_model *model, size_t thread, const struct uspi_json_document *document,
                            size_t object);

/* Writes the registers of a thread as Apple's crash reports do, and an empty line. Nothing without registers. */
void uspi_state_put(struct uspi_text *out, const struct uspi_model *model, const struct uspi_model_thread *thread);

#endif
