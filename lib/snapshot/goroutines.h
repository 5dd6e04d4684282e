/* SPDX-License-Identifier: MIT */
/* Finds the goroutines of a Go program that no thread runs, in a live process or a core, and lists them as threads. */
#ifndef USPI_SNAPSHOT_GOROUTINES_H
#define USPI_SNAPSHOT_GOROUTINES_H

#include "lib/images/image_sources.h"
#include "lib/os/os.h"

/* Appends the goroutines to process->threads, in the order of Go's list, with USP_THREAD_GOROUTINE and malloc'ed copies
 * of their stacks, which uspi_snapshot_source_free frees. is_live: the process runs, and may change what is read. *why
 * says what is missing; it stays empty if all are there. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_goroutines_add(const struct usp_images *images, const struct uspi_image_sources *places, bool is_live,
                        struct uspi_stopped_process *process, struct uspi_error *why);

#endif
