/* SPDX-License-Identifier: MIT */
/* Why another process could not be captured: a status for programs, a sentence for people. How that is found out is not this file's. */
#ifndef USPI_LINUX_REFUSAL_H
#define USPI_LINUX_REFUSAL_H

#include <unspool/base.h>

struct uspi_refusal {
    int pid;
    int status; /* the last refusal's, USP_OK while there is none */
    char *text; /* the caller's, text_size bytes; may be NULL with 0 */
    size_t text_size;
};

/* What Yama forbids: 0 nothing (or it is not there), 1 that others than ancestors trace a process, more: nearly all. */
int uspi_linux_yama_scope(void);

/* Notes a refusal; returns its status. */
int uspi_refuse(struct uspi_refusal *refusal, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a system call that failed.
 *   e     the negative error number
 *   what  what was asked for, by the name that an administrator knows */
int uspi_refuse_system(struct uspi_refusal *refusal, long e, const char *what);

/* Whether the id is that of a process with threads of its own, and refuses it otherwise: USP_OK, or why not. A process that is
 * not visible for any other reason is left to the system calls that follow. */
int uspi_refuse_no_process(struct uspi_refusal *refusal);

#endif
