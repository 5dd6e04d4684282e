/* SPDX-License-Identifier: MIT */
/* The threads of this process on Apple systems: their ids, names and states. stop.c has their stacks. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/capturing.h"

#include <string.h>

static bool identify(thread_act_t port, struct thread_identifier_info *ids) {
    mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
    return thread_info(port, THREAD_IDENTIFIER_INFO, (thread_info_t)ids, &count) == KERN_SUCCESS;
}

bool uspi_darwin_identify(thread_act_t port, uint64_t *id) {
    struct thread_identifier_info ids;
    bool is_thread = identify(port, &ids);
    *id = is_thread ? ids.thread_id : 0;
    return is_thread;
}

int uspi_darwin_thread_cpu(thread_act_t port, uint64_t *ns) {
    struct thread_extended_info info;
    mach_msg_type_number_t count = THREAD_EXTENDED_INFO_COUNT;
    kern_return_t result = thread_info(port, THREAD_EXTENDED_INFO, (thread_info_t)&info, &count);
    *ns = result == KERN_SUCCESS ? info.pth_user_time + info.pth_system_time : 0;
    return uspi_darwin_status(result);
}

void uspi_darwin_release(mach_port_t port) {
    if (port != MACH_PORT_NULL) mach_port_deallocate(mach_task_self(), port);
}

/* ---- lists ---- */

int uspi_darwin_list(task_t task, struct uspi_darwin_list *list) {
    mach_msg_type_number_t count = 0;
    list->ports = NULL;
    list->count = 0;
    kern_return_t result = task_threads(task, &list->ports, &count);
    if (result != KERN_SUCCESS) return uspi_darwin_status(result);
    list->count = count;
    return USP_OK;
}

thread_act_t uspi_darwin_list_take(struct uspi_darwin_list *list, size_t i) {
    thread_act_t port = list->ports[i];
    list->ports[i] = MACH_PORT_NULL;
    return port;
}

void uspi_darwin_list_free(struct uspi_darwin_list *list) {
    for (size_t i = 0; i < list->count; i++) uspi_darwin_release(list->ports[i]);
    uspi_darwin_unmap(list->ports, list->count * sizeof *list->ports);
    list->ports = NULL;
    list->count = 0;
}

bool uspi_darwin_describe(task_t task, thread_act_t port, uint64_t own, struct usp_thread_info *info,
                          struct uspi_darwin_thread_data *place) {
    struct thread_identifier_info ids;
    struct thread_extended_info more;
    mach_msg_type_number_t count = THREAD_EXTENDED_INFO_COUNT;
    memset(info, 0, sizeof *info);
    memset(place, 0, sizeof *place);
    if (!identify(port, &ids)) return false;
    info->thread.id = place->id = ids.thread_id;
    place->slots = info->data = uspi_darwin_slots(ids.thread_handle);
    place->queue_at = ids.dispatch_qaddr;
    place->queue = uspi_darwin_queue(task, place->queue_at, info->queue, sizeof info->queue);
    if (ids.thread_id == uspi_darwin_main_thread()) info->flags |= USP_THREAD_MAIN;
    if (ids.thread_id == own) info->flags |= USP_THREAD_REQUESTER;
    if (thread_info(port, THREAD_EXTENDED_INFO, (thread_info_t)&more, &count) != KERN_SUCCESS) return true;
    _Static_assert(sizeof more.pth_name == sizeof info->name, "a name as long as the kernel keeps it");
    memcpy(info->name, more.pth_name, sizeof info->name - 1);
    info->run_state = (uint32_t)more.pth_run_state;
    info->cpu_time = more.pth_user_time + more.pth_system_time;
    return true;
}

/* ---- the main thread ---- */

uint64_t uspi_darwin_own_thread(void) {
    uint64_t id = 0;
    return pthread_threadid_np(NULL, &id) == 0 ? id : 0;
}

uint32_t uspi_darwin_own_port(void) { return pthread_mach_thread_np(pthread_self()); }

/* Learns the main thread. The kernel lists a task's threads in the order in which they started (xnu
 * osfmk/kern/thread.c, thread_create_internal). So the first one is the main thread, as long as that has not ended.
 * This runs when the library is loaded, on whatever thread loads it. */
__attribute__((constructor)) static void learn_main_thread(void) {
    struct uspi_darwin_list list;
    struct thread_identifier_info ids;
    if (pthread_main_np() != 0) {
        atomic_store(&uspi_darwin_capturing.main_thread, uspi_darwin_own_thread());
    } else if (uspi_darwin_list(mach_task_self(), &list) == USP_OK) {
        if (list.count > 0 && identify(list.ports[0], &ids))
            atomic_store(&uspi_darwin_capturing.main_thread, ids.thread_id);
        uspi_darwin_list_free(&list);
    }
}

uint64_t uspi_darwin_main_thread(void) { return atomic_load(&uspi_darwin_capturing.main_thread); }

void uspi_darwin_threads_after_fork(void) {
    atomic_store(&uspi_darwin_capturing.main_thread, uspi_darwin_own_thread());
}

/* ---- os.h's functions ---- */

int uspi_os_thread_self(struct usp_thread *thread) {
    thread->id = uspi_darwin_own_thread();
    thread->native = MACH_PORT_NULL;
    return thread->id != 0 ? USP_OK : USP_ERROR_UNSUPPORTED;
}

int uspi_os_thread_main(struct usp_thread *thread) {
    struct uspi_darwin_list list;
    struct thread_identifier_info ids;
    uint64_t id = uspi_darwin_main_thread();
    thread->id = thread->native = 0;
    if (id == 0) return USP_ERROR_UNSUPPORTED;
    int status = uspi_darwin_list(mach_task_self(), &list);
    if (status != USP_OK) return status;
    status = USP_ERROR_NO_THREAD;
    for (size_t i = 0; i < list.count && status != USP_OK; i++) {
        if (!identify(list.ports[i], &ids) || ids.thread_id != id) continue;
        thread->id = id;
        status = USP_OK;
    }
    uspi_darwin_list_free(&list);
    return status;
}

int uspi_os_thread_from_pthread(uintptr_t pthread, struct usp_thread *thread) {
    struct thread_identifier_info ids;
    thread->id = thread->native = 0;
    /* libpthread owns this right; it is not released here. */
    thread_act_t port = pthread != 0 ? pthread_mach_thread_np((pthread_t)pthread) : MACH_PORT_NULL;
    if (port == MACH_PORT_NULL || !identify(port, &ids)) return USP_ERROR_NO_THREAD;
    thread->id = ids.thread_id;
    return USP_OK;
}

void uspi_os_thread_release(struct usp_thread *thread) { uspi_darwin_release((mach_port_t)thread->native); }

int uspi_os_threads(struct usp_thread_info *infos, size_t capacity, size_t *count) {
    struct uspi_darwin_list list;
    uint64_t own = uspi_darwin_own_thread();
    *count = 0;
    if (own == 0) return USP_ERROR_SYSTEM;
    int status = uspi_darwin_list(mach_task_self(), &list);
    if (status != USP_OK) return status;
    for (size_t i = 0; i < list.count; i++) {
        struct usp_thread_info info;
        struct uspi_darwin_thread_data place;
        if (!uspi_darwin_describe(mach_task_self(), list.ports[i], own, &info, &place)) continue;
        if (*count < capacity) {
            infos[*count] = info;
            infos[*count].thread.native = uspi_darwin_list_take(&list, i);
        }
        ++*count;
    }
    uspi_darwin_list_free(&list);
    return *count > capacity ? USP_ERROR_FULL : USP_OK;
}

#endif
