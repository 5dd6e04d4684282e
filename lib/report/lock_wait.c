/* SPDX-License-Identifier: MIT */
/* See lock_wait.h. */
#include "lib/report/lock_wait.h"

void uspi_put_lock_wait(struct uspi_text *text, const struct usp_thread_info *info, uint64_t number, const char *name) {
    uspi_put_string(text, "waits for a ");
    uspi_put_string(text, usp_lock_kind_string(info->lock_kind));
    if (info->lock_owner == info->thread.id) {
        uspi_put_string(text, " that it holds itself");
        if (info->deadlock != 0) uspi_put_string(text, ": a deadlock");
        return;
    }
    uspi_put_string(text, " that thread ");
    uspi_put_decimal(text, number, 0);
    if (name[0] != '\0') {
        uspi_put_string(text, " \"");
        uspi_put_harmless(text, uspi_span_of(name), "");
        uspi_put_string(text, "\"");
    }
    uspi_put_string(text, " holds");
    if (info->deadlock == 0) return;
    uspi_put_string(text, ": a deadlock of ");
    uspi_put_decimal(text, info->deadlock, 0);
    uspi_put_string(text, " threads");
}
