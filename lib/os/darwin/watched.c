/* SPDX-License-Identifier: MIT */
/* Repeated queries about threads of this process on Apple systems: their clocks, their list, the debugger. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/darwin.h"

#include <string.h>
#include <sys/sysctl.h>
#include <unistd.h>

/* Gives a right to a thread: *port. *found is the same if the right was found by the thread's id, and the caller then
 * releases it; otherwise MACH_PORT_NULL. */
static int port_of(const struct usp_thread *thread, thread_act_t *port, thread_act_t *found) {
    struct uspi_darwin_list list;
    *port = (thread_act_t)thread->native;
    *found = MACH_PORT_NULL;
    if (*port != MACH_PORT_NULL) return USP_OK;
    int status = uspi_darwin_list(mach_task_self(), &list);
    if (status != USP_OK) return status;
    for (size_t i = 0; i < list.count && *found == MACH_PORT_NULL; i++) {
        uint64_t id;
        if (uspi_darwin_identify(list.ports[i], &id) && id == thread->id) *found = uspi_darwin_list_take(&list, i);
    }
    uspi_darwin_list_free(&list);
    *port = *found;
    return *port != MACH_PORT_NULL ? USP_OK : USP_ERROR_NO_THREAD;
}

int uspi_os_thread_cpu(const struct usp_thread *thread, uint64_t *ns) {
    thread_act_t port, found;
    *ns = 0;
    int status = port_of(thread, &port, &found);
    if (status != USP_OK) return status;
    status = uspi_darwin_thread_cpu(port, ns);
    uspi_darwin_release(found);
    return status;
}

int uspi_os_thread_describe(const struct usp_thread *thread, struct usp_thread_info *info) {
    struct uspi_darwin_thread_data place;
    thread_act_t port, found;
    memset(info, 0, sizeof *info);
    int status = port_of(thread, &port, &found);
    if (status != USP_OK) return status;
    bool is_there = uspi_darwin_describe(mach_task_self(), port, uspi_darwin_own_thread(), info, &place);
    uspi_darwin_release(found);
    info->thread = *thread;
    return is_there ? USP_OK : USP_ERROR_NO_THREAD;
}

/* Nothing stays open: each listing asks the kernel. */
int uspi_os_listing_open(struct uspi_os_listing *listing) {
    *listing = (struct uspi_os_listing){.fd = -1};
    return USP_OK;
}

void uspi_os_listing_close(struct uspi_os_listing *listing) { (void)listing; }

int uspi_os_listing_count(const struct uspi_os_listing *listing, size_t *count) {
    (void)listing;
    *count = 0;
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_listing_read(struct uspi_os_listing *listing, struct usp_thread *threads, size_t capacity, size_t *count) {
    struct uspi_darwin_list list;
    (void)listing;
    *count = 0;
    int status = uspi_darwin_list(mach_task_self(), &list);
    if (status != USP_OK) return status;
    for (size_t i = 0; i < list.count; i++) {
        uint64_t id;
        if (!uspi_darwin_identify(list.ports[i], &id)) continue;
        if (*count < capacity) threads[*count] = (struct usp_thread){id, uspi_darwin_list_take(&list, i)};
        ++*count;
    }
    uspi_darwin_list_free(&list);
    return *count > capacity ? USP_ERROR_FULL : USP_OK;
}

/* As in Apple's Technical Q&A QA1361. */
bool uspi_os_is_traced(void) {
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, getpid()};
    struct kinfo_proc info;
    size_t size = sizeof info;
    memset(&info, 0, sizeof info);
    if (sysctl(name, sizeof name / sizeof *name, &info, &size, NULL, 0) != 0) return false;
    return (info.kp_proc.p_flag & P_TRACED) != 0;
}

#endif
