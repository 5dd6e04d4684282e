/* SPDX-License-Identifier: MIT */
/* From an NSThread to the thread that it is, without renaming anything and without looking into the object. What is done with
 * the thread then is not this file's. Any thread, not async-signal-safe. */
#ifndef USPI_OBJC_RESOLVE_H
#define USPI_OBJC_RESOLVE_H

#import <Foundation/Foundation.h>
#include <unspool/unspool.h>

/* Every way in turn. *found need not be released. Returns USP_OK, USP_ERROR_NO_THREAD when the thread has ended,
 * USP_ERROR_NOT_FOUND when nothing tells which one it is, or what the system answered. */
int uspi_objc_resolve(NSThread *thread, struct usp_thread *found);

/* Registers the calling thread under its kernel id. False when the system does not tell that. */
bool uspi_objc_register_current(void);

/* The ways for a thread that is neither the caller's nor the main one. USP_OK, USP_ERROR_NOT_FOUND: ask the next one; or what
 * the system answered. */
int uspi_objc_by_registration(NSThread *thread, struct usp_thread *found);
int uspi_objc_by_slot(NSThread *thread, struct usp_thread *found);
int uspi_objc_by_name(NSThread *thread, struct usp_thread *found);

#endif
