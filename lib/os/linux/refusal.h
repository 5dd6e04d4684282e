/* SPDX-License-Identifier: MIT */
/* Why another process could not be captured: a status for programs, a sentence for users. Callers find the reason. */
#ifndef USPI_OS_LINUX_REFUSAL_H
#define USPI_OS_LINUX_REFUSAL_H

#include <unspool/base.h>

struct uspi_refusal {
    int pid;
    int status; /* of the last refusal; USP_OK: there was none */
    char *text; /* the caller's buffer of text_size bytes; may be NULL with 0 */
    size_t text_size;
};

/* Returns Yama's ptrace scope: 0: no restriction, or Yama is missing; 1: only ancestors may trace a process; higher:
 * hardly any program may. */
int uspi_linux_yama_scope(void);

/* Records a refusal and returns its status. */
int uspi_refuse(struct uspi_refusal *refusal, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Records a failed system call.
 *   e     the negative error number
 *   what  what was requested, in an administrator's terms */
int uspi_refuse_system(struct uspi_refusal *refusal, long e, const char *what);

/* Sets refusal->pid, and checks that the id belongs to a process with threads of its own. Returns USP_OK, or records a
 * refusal and returns its status. If the process is invisible for another reason, the following system calls report
 * it. */
int uspi_refuse_no_process(struct uspi_refusal *refusal, int64_t id);

#endif
