/* SPDX-License-Identifier: MIT */
/* Functions that all stops by a tracer share: of another process or of this one, once or repeatedly. */
#ifndef USPI_OS_LINUX_PROCESS_H
#define USPI_OS_LINUX_PROCESS_H

#include "lib/os/linux/linux.h"
#include "lib/os/linux/tracer.h"

/* Stops this process by a helper process instead of by signals. All threads except the calling one are listed. Needs
 * no usp_prepare. */
int uspi_linux_stop_by_helper(const struct uspi_stop_options *options, struct uspi_stopped_process *out);

/* Copies threads of this process that sleep uninterruptibly, as for another process. out->threads has them in the same
 * order. Nothing is stopped. Returns USP_OK, and the caller frees *out, or a status. */
int uspi_linux_copy_sleepers(const struct uspi_known_sleeper *sleepers, size_t count, bool whole_stacks,
                             uint64_t timeout, struct uspi_stopped_process *out);

/* Opens what the tracer will need of a process. tracing->pid, except and refusal are set. Returns USP_OK, or the
 * refusal's status. */
int uspi_linux_prepare_tracing(struct uspi_tracing *tracing, int64_t pid);

/* Completes the threads' copies after a stop. */
void uspi_linux_describe_copies(const struct uspi_tracing *tracing);

#endif
