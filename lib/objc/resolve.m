/* SPDX-License-Identifier: MIT */
/* Implements resolve.h: the order of the ways, and the last one, by name. registration.m and slot.m have the others. */
#import "lib/objc/resolve.h"
#include "lib/objc/capture.h"

#include <string.h>

/* Finds the only thread with this name in the kernel: *kernelID is 0 if there is none or more than one. */
static int find_name(const char *name, uint64_t *kernelID) {
    struct usp_thread_info *infos;
    size_t count, bearers = 0;
    int status = uspi_objc_threads(&infos, &count);
    if (status != USP_OK) return status;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(infos[i].name, name) != 0) continue;
        *kernelID = infos[i].thread.id;
        bearers++;
    }
    if (bearers != 1) *kernelID = 0;
    uspi_objc_free_threads(infos, count);
    return USP_OK;
}

int uspi_objc_by_name(NSThread *thread, struct usp_thread *found) {
    uint64_t first = 0, second = 0;
    /* A copy, because the name may change; it is compared again below. */
    NSString *name = [NSString stringWithFormat:@"%@", [thread name] != nil ? [thread name] : @""];
    /* A thread that has not started can have a name too. A name that is longer than the kernel keeps matches no
     * thread. */
    if ([name length] == 0 || ![thread isExecuting]) return USP_ERROR_NOT_FOUND;
    int status = find_name([name UTF8String], &first);
    if (status == USP_OK) status = find_name([name UTF8String], &second);
    if (status != USP_OK) return status;
    if (first == 0 || first != second || ![[thread name] isEqualToString:name]) return USP_ERROR_NOT_FOUND;
    *found = (struct usp_thread){first, 0};
    return USP_OK;
}

/* Gets only a thread's id, and releases what the system's functions return beside it. */
static int id_of(int (*ask)(struct usp_thread *), uint64_t *kernelID) {
    struct usp_thread thread;
    int status = ask(&thread);
    *kernelID = thread.id;
    if (status == USP_OK) usp_thread_release(&thread);
    return status;
}

static int resolve_other(NSThread *thread, struct usp_thread *found) {
    static int (*const ways[])(NSThread *, struct usp_thread *) = {uspi_objc_by_registration, uspi_objc_by_slot,
                                                                   uspi_objc_by_name};
    int status = uspi_objc_get_ready();
    if (status != USP_OK) return status;
    status = USP_ERROR_NOT_FOUND;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && status == USP_ERROR_NOT_FOUND; i++) {
        status = ways[i](thread, found);
    }
    return status;
}

int uspi_objc_resolve(NSThread *thread, struct usp_thread *found) {
    uint64_t own;
    *found = (struct usp_thread){0, 0};
    int status = id_of(usp_thread_self, &own);
    if (status != USP_OK) return status;
    if (thread == [NSThread currentThread]) {
        found->id = own;
        return USP_OK;
    }
    if ([thread isMainThread]) {
        status = id_of(usp_thread_main, &found->id);
    } else if ([thread isFinished]) {
        return USP_ERROR_NO_THREAD;
    } else {
        status = resolve_other(thread, found);
    }
    /* The request is for another thread's stack, so the calling thread is a wrong answer. */
    if (status == USP_OK && found->id == own) status = USP_ERROR_NOT_FOUND;
    return status;
}
