/* SPDX-License-Identifier: MIT */
/* The sentence that says for which lock a thread waits and which thread holds it, for all reports. */
#ifndef USPI_REPORT_LOCK_WAIT_H
#define USPI_REPORT_LOCK_WAIT_H

#include "lib/base/text.h"

#include <unspool/capture.h>

/* Puts 'waits for a mutex that thread 29359 "autosave" holds', and whether that is a deadlock. info->lock_owner is not
 * 0.
 *   number  the owner's id, or its number if the report numbers its threads
 *   name    the owner's name; "": it has none */
void uspi_put_lock_wait(struct uspi_text *text, const struct usp_thread_info *info, uint64_t number, const char *name);

#endif
