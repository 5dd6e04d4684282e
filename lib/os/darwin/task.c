/* SPDX-License-Identifier: MIT */
/* Other processes: stops their threads, and opens their memory, by the right to their task. collect.c stops a task's
 * threads, of another process or of this one. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/stop.h"

#include "arch/host.h"
#include "lib/object/dyld_list.h"
#include "lib/object/macho.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Size of the first arena: what usp_prepare reserves by default for threads of this process. */
#define FIRST_ARENA ((size_t)64 * 65536)

/* Returns the processor of the code that a task runs. A translated task (Rosetta) has another one than this host.
 * USP_ARCH_NONE: not known. */
static uint32_t arch_of(task_t task) {
    struct usp_memory memory = {uspi_darwin_read_task, (void *)(uintptr_t)task};
    struct uspi_source source = uspi_source_of_memory(&memory, "task");
    struct uspi_dyld_list list;
    struct uspi_macho macho;
    usp_addr infos, load, path;
    bool wide;
    if (uspi_darwin_dyld_infos(task, &infos, &wide) != USP_OK ||
        uspi_dyld_list_open(&list, &source, infos, wide, NULL) != USP_OK ||
        uspi_dyld_list_entry(&list, 0, &load, &path, NULL) != USP_OK ||
        uspi_macho_open(&macho, uspi_bytes_at(&source, load), NULL) != USP_OK) {
        return USP_ARCH_NONE;
    }
    return macho.arch;
}

/* A task that has only just started has no list yet; its processor is assumed to be this host's. */
int uspi_darwin_task_fits(task_t task) {
    uint32_t arch = arch_of(task);
    bool fits = USPI_HOST_ARCH != USP_ARCH_NONE && (arch == USP_ARCH_NONE || arch == USPI_HOST_ARCH);
    return fits ? USP_OK : USP_ERROR_UNSUPPORTED;
}

static int stop_task(task_t task, uint64_t timeout, uint64_t only, struct uspi_stopped_process *out) {
    struct uspi_arena arena = {NULL, 0};
    struct usp_target target;
    const struct uspi_collection c = {.task = task, .only = only, .timeout = timeout, .arena = &arena};
    memset(out, 0, sizeof *out);
    int status = uspi_darwin_task_fits(task);
    if (status != USP_OK) return status;
    /* Enough for most tasks, so that one window suffices. If this fails, the first window finds out how much is
     * needed. */
    uspi_arena_grow(&arena, FIRST_ARENA);
    status = uspi_darwin_collect(&c, out);
    uspi_arena_free(&arena);
    if (status != USP_OK) return status;
    usp_target_init(&target, USPI_HOST_ARCH);
    uspi_os_describe_self(&target);
    out->arch = target.arch;
    out->pac_mask = target.pac_mask;
    return USP_OK;
}

void uspi_darwin_explain(int status, int64_t pid, uint64_t only, char *error, size_t n) {
    if (error == NULL || n == 0) return;
    switch (status) {
    case USP_OK: error[0] = '\0'; break;
    case USP_ERROR_NO_THREAD:
        if (only != 0) {
            snprintf(error, n, "process %" PRId64 " has no thread %" PRIu64, pid, only);
        } else {
            snprintf(error, n, "process %" PRId64 " does not exist, or has ended", pid);
        }
        break;
    case USP_ERROR_PERMISSION:
        snprintf(error, n,
                 "process %" PRId64 ": the system gives no right to its task: this program has to be signed with the "
                 "entitlement com.apple.security.cs.debugger or to be root's, and the other one must not be protected",
                 pid);
        break;
    case USP_ERROR_UNSUPPORTED:
        snprintf(error, n,
                 "process %" PRId64 " cannot be captured here: another processor's code, or a system that "
                 "forbids it",
                 pid);
        break;
    case USP_ERROR_BUSY:
        snprintf(error, n, "process %" PRId64 " is loading or unloading libraries: try again", pid);
        break;
    default: snprintf(error, n, "process %" PRId64 ": %s", pid, usp_status_string(status)); break;
    }
}

int uspi_os_stop_process(int64_t pid, const struct uspi_stop_options *options, struct uspi_stopped_process *out,
                         char *error, size_t error_size) {
    task_t task;
    memset(out, 0, sizeof *out);
    if (pid == getpid()) {
        if (error != NULL && error_size > 0) {
            snprintf(error, error_size, "process %" PRId64 " is this one: usp_snapshot_create_self captures it", pid);
        }
        return USP_ERROR_ARGUMENT;
    }
    int status = uspi_darwin_task_of(pid, &task);
    if (status == USP_OK) {
        status = stop_task(task, options->timeout, options->only_thread, out);
        if (status == USP_OK) {
            out->pid = pid;
        } else {
            uspi_darwin_release(task);
        }
    }
    uspi_darwin_explain(status, pid, options->only_thread, error, error_size);
    return status;
}

int uspi_os_process_memory_open(int64_t pid, struct usp_memory *memory) {
    task_t task;
    int status = uspi_darwin_task_of(pid, &task);
    if (status == USP_OK) *memory = (struct usp_memory){uspi_darwin_read_task, (void *)(uintptr_t)task};
    return status;
}

void uspi_os_process_memory_close(const struct usp_memory *memory) {
    uspi_darwin_release((mach_port_t)(uintptr_t)memory->context);
}

#endif
