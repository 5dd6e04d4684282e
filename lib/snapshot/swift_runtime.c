/* SPDX-License-Identifier: MIT */
/* Implements swift_runtime.h: reads the variables of Swift's concurrency runtime, and the fields of tasks. */
#include "lib/snapshot/swift_runtime.h"

#include "arch/little_endian.h"
#include "lib/images/variables.h"

#include <string.h>

/* ---- the runtime ---- */

enum { METADATA, TASK_SIZE, LAYOUT, ESCALATION, FUTURE, NON_FUTURE, WAIT, WAIT_THROWING, VARIABLES };

#define VARIABLE(text, bytes) {.name = "_swift_concurrency_debug_" text, .size = (bytes)}

static const struct uspi_variable wanted[VARIABLES] = {
    [METADATA] = VARIABLE("asyncTaskMetadata", 8),
    [TASK_SIZE] = VARIABLE("asyncTaskSize", 8),
    [LAYOUT] = VARIABLE("internal_layout_version", 4),
    [ESCALATION] = VARIABLE("supportsPriorityEscalation", 1),
    [FUTURE] = VARIABLE("future_adapter", 8),
    [NON_FUTURE] = VARIABLE("non_future_adapter", 8),
    [WAIT] = VARIABLE("task_future_wait_resume_adapter", 8),
    [WAIT_THROWING] = VARIABLE("task_wait_throwing_resume_adapter", 8),
};

static uint64_t read_variable(const struct usp_memory *memory, const struct uspi_variable *variable) {
    uint8_t bytes[8];
    if (variable->address == 0) return 0;
    if (memory->read(memory->context, variable->address, bytes, (size_t)variable->size) != 0) return 0;
    return uspi_le(bytes, (unsigned)variable->size);
}

static bool is_runtimes_library(const struct usp_image *image) {
    static const char name[] = "libswift_Concurrency.";
    const char *slash = strrchr(image->path, '/');
    return strncmp(slash != NULL ? slash + 1 : image->path, name, sizeof name - 1) == 0;
}

/* Looks in the runtime's library first, then in the program, with which the runtime may have been linked statically. */
static const struct usp_image *find_image(const struct usp_images *images, const struct uspi_image_sources *places,
                                          const struct usp_memory *memory, struct uspi_variable *variables) {
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < usp_images_count(images); i++) {
            const struct usp_image *image = usp_images_get(images, i);
            if ((image->flags & (USP_IMAGE_MACHO | USP_IMAGE_KERNEL)) != 0) continue;
            if (pass == 0 ? !is_runtimes_library(image) : (image->flags & USP_IMAGE_MAIN) == 0) continue;
            memcpy(variables, wanted, sizeof wanted);
            uspi_variables_find(image, places, memory, variables, VARIABLES);
            if (variables[METADATA].address != 0) return image;
        }
    }
    return NULL;
}

const struct usp_image *uspi_swift_runtime_image(const struct usp_images *images,
                                                 const struct uspi_image_sources *places,
                                                 const struct usp_memory *memory) {
    struct uspi_variable variables[VARIABLES];
    for (size_t i = 0; i < usp_images_count(images); i++) {
        if (is_runtimes_library(usp_images_get(images, i))) return usp_images_get(images, i);
    }
    return find_image(images, places, memory, variables);
}

int uspi_swift_runtime_find(const struct usp_images *images, const struct uspi_image_sources *places,
                            const struct usp_memory *memory, struct uspi_swift_runtime *runtime, uint32_t *layout) {
    struct uspi_variable variables[VARIABLES];
    const struct usp_image *image = find_image(images, places, memory, variables);
    memset(runtime, 0, sizeof *runtime);
    *layout = 0;
    if (image == NULL) return USP_ERROR_NOT_FOUND;
    *layout = (uint32_t)read_variable(memory, &variables[LAYOUT]);
    if (*layout != USPI_SWIFT_LAYOUT) return USP_ERROR_UNSUPPORTED;
    runtime->metadata = read_variable(memory, &variables[METADATA]);
    runtime->task_size = read_variable(memory, &variables[TASK_SIZE]);
    runtime->escalates = read_variable(memory, &variables[ESCALATION]) != 0;
    runtime->start_adapters[0] = read_variable(memory, &variables[FUTURE]);
    runtime->start_adapters[1] = read_variable(memory, &variables[NON_FUTURE]);
    runtime->wait_adapters[0] = read_variable(memory, &variables[WAIT]);
    runtime->wait_adapters[1] = read_variable(memory, &variables[WAIT_THROWING]);
    const bool is_sound = runtime->metadata >= image->load_address && runtime->metadata < image->end &&
                          runtime->task_size >= USPI_SWIFT_TASK_SIZE && runtime->task_size <= 4096;
    return is_sound ? USP_OK : USP_ERROR_NOT_FOUND;
}

/* ---- a task ---- */

/* Offsets of a task's fields, in bytes. */
enum {
    JOB_FLAGS = 32,
    JOB_ID = 36,
    JOB_RESUME = 56,
    RESUME_CONTEXT = 64,
    STATUS_FLAGS = 96,
    STATUS_LOCK = 100,
    STATUS_RECORD = 104,
    ID_HIGH = 144
};

/* JobFlags. */
#define JOB_KIND     UINT32_C(0x000000ff) /* 0: a task */
#define JOB_RESERVED UINT32_C(0x00ff0000)
#define JOB_CHILD    UINT32_C(0x01000000)
#define JOB_GROUP    UINT32_C(0x04000000)
#define JOB_LET      UINT32_C(0x10000000)

/* ActiveTaskStatus. */
#define STATUS_PRIORITY   UINT32_C(0x00ff)
#define STATUS_CANCELLED  UINT32_C(0x0100)
#define STATUS_LOCKED     UINT32_C(0x0200)
#define STATUS_RUNNING    UINT32_C(0x0800)
#define STATUS_ENQUEUED   UINT32_C(0x1000)
#define STATUS_COMPLETE   UINT32_C(0x2000)
#define STATUS_DEPENDENCY UINT32_C(0x4000)
#define STATUS_KNOWN      UINT32_C(0xffff)

/* TaskDependencyStatusRecord: what the task depends on, enum DependencyKind, and the waiting task. */
enum { DEPENDS_ON = 16, DEPENDENCY_KIND = 32, WAITING_TASK = 40, DEPENDENCY_SIZE = 48 };
enum { ON_TASK = 1, ON_CONTINUATION = 2, ON_GROUP = 3 };

static enum uspi_swift_adapter find_adapter(const struct uspi_swift_runtime *runtime, usp_addr resume) {
    for (unsigned i = 0; i < 2 && resume != 0; i++) {
        if (resume == runtime->start_adapters[i]) return USPI_SWIFT_START;
        if (resume == runtime->wait_adapters[i]) return USPI_SWIFT_WAIT;
    }
    return USPI_SWIFT_NO_ADAPTER;
}

enum uspi_swift_verdict uspi_swift_task_read(const struct uspi_swift_runtime *runtime,
                                             const uint8_t bytes[USPI_SWIFT_TASK_SIZE], struct uspi_swift_task *task) {
    const uint32_t flags = uspi_le32(bytes + JOB_FLAGS), status = uspi_le32(bytes + STATUS_FLAGS);
    memset(task, 0, sizeof *task);
    if (uspi_le64(bytes) != runtime->metadata) return USPI_SWIFT_NO_TASK;
    if ((flags & (JOB_KIND | JOB_RESERVED)) != 0 || (status & ~STATUS_KNOWN) != 0) return USPI_SWIFT_NO_TASK;
    if ((status & STATUS_COMPLETE) != 0) return USPI_SWIFT_NO_TASK;
    task->task.id = uspi_le32(bytes + JOB_ID) | (uint64_t)uspi_le32(bytes + ID_HIGH) << 32;
    if (task->task.id == 0) return USPI_SWIFT_NO_TASK;
    if ((status & (STATUS_RUNNING | STATUS_LOCKED)) != 0) return USPI_SWIFT_RUNNING;
    if (runtime->escalates && uspi_le32(bytes + STATUS_LOCK) != 0) return USPI_SWIFT_RUNNING;
    task->resume = uspi_le64(bytes + JOB_RESUME);
    task->context = uspi_le64(bytes + RESUME_CONTEXT);
    task->adapter = find_adapter(runtime, task->resume);
    task->task.priority = status & STATUS_PRIORITY;
    if ((status & STATUS_CANCELLED) != 0) task->task.flags |= USP_TASK_CANCELLED;
    if ((flags & JOB_CHILD) != 0) task->task.flags |= USP_TASK_CHILD;
    if ((flags & JOB_GROUP) != 0) task->task.flags |= USP_TASK_GROUP_CHILD;
    if ((flags & JOB_LET) != 0) task->task.flags |= USP_TASK_ASYNC_LET;
    if ((status & STATUS_DEPENDENCY) != 0) task->dependency = uspi_le64(bytes + STATUS_RECORD);
    task->task.state = (status & STATUS_ENQUEUED) != 0                              ? USP_TASK_ENQUEUED
                       : task->adapter == USPI_SWIFT_START && task->dependency == 0 ? USP_TASK_CREATED
                                                                                    : USP_TASK_SUSPENDED;
    return USPI_SWIFT_RESTING;
}

uint64_t uspi_swift_task_id(const struct uspi_swift_runtime *runtime, const struct usp_memory *memory, usp_addr at) {
    uint8_t bytes[USPI_SWIFT_TASK_SIZE];
    if (at == 0 || memory->read(memory->context, at, bytes, sizeof bytes) != 0) return 0;
    if (uspi_le64(bytes) != runtime->metadata || (uspi_le32(bytes + JOB_FLAGS) & JOB_KIND) != 0) return 0;
    return uspi_le32(bytes + JOB_ID) | (uint64_t)uspi_le32(bytes + ID_HIGH) << 32;
}

static void find_wait(const struct uspi_swift_runtime *runtime, const struct usp_memory *memory,
                      struct uspi_swift_task *task) {
    uint8_t record[DEPENDENCY_SIZE];
    if (task->task.state == USP_TASK_ENQUEUED) task->task.wait = USP_TASK_WAIT_EXECUTOR;
    if (task->dependency == 0 || task->task.state == USP_TASK_ENQUEUED) return;
    if (memory->read(memory->context, task->dependency, record, sizeof record) != 0) return;
    /* This record is not part of the interface for debuggers: use it only if it names the task. */
    if (uspi_le64(record + WAITING_TASK) != task->task.address) return;
    const usp_addr on = uspi_le64(record + DEPENDS_ON);
    switch (uspi_le32(record + DEPENDENCY_KIND)) {
    case ON_TASK:
        task->task.awaited = uspi_swift_task_id(runtime, memory, on);
        if (task->task.awaited != 0) task->task.wait = USP_TASK_WAIT_TASK;
        return;
    case ON_CONTINUATION:
        if (on == task->context) task->task.wait = USP_TASK_WAIT_CONTINUATION;
        return;
    case ON_GROUP: task->task.wait = USP_TASK_WAIT_GROUP; return;
    default: return;
    }
}

void uspi_swift_task_relate(const struct uspi_swift_runtime *runtime, const struct usp_memory *memory,
                            struct uspi_swift_task *task) {
    uint8_t parent[8];
    find_wait(runtime, memory, task);
    if ((task->task.flags & USP_TASK_CHILD) == 0 || task->task.address > UINT64_MAX - runtime->task_size) return;
    if (memory->read(memory->context, task->task.address + runtime->task_size, parent, sizeof parent) != 0) return;
    task->task.parent = uspi_swift_task_id(runtime, memory, uspi_le64(parent));
}
