/* SPDX-License-Identifier: MIT */
/* Finds the thread of an NSThread, without renaming a thread and without reading the object's memory. Thread-safe, not
 * async-signal-safe. */
#ifndef USPI_OBJC_RESOLVE_H
#define USPI_OBJC_RESOLVE_H

#import <Foundation/Foundation.h>
#include <unspool/unspool.h>

/* Tries every way in turn. *found need not be released. Returns USP_OK, USP_ERROR_NO_THREAD if the thread has ended,
 * USP_ERROR_NOT_FOUND if no way identifies it, or the system's error. */
int uspi_objc_resolve(NSThread *thread, struct usp_thread *found);

/* Registers the calling thread with its kernel id. Returns false if the system does not give the id or memory is
 * exhausted. */
bool uspi_objc_register_current(void);

/* The ways for a thread that is neither the calling nor the main one. Return USP_OK; USP_ERROR_NOT_FOUND: try the next
 * way; or the system's error. */
int uspi_objc_by_registration(NSThread *thread, struct usp_thread *found);
int uspi_objc_by_slot(NSThread *thread, struct usp_thread *found);
int uspi_objc_by_name(NSThread *thread, struct usp_thread *found);

#endif
