/* SPDX-License-Identifier: MIT */
/* Implements the search of tasks.h. Everything that is read can be damaged or forged. The options limit memory and
 * time, and a word counts as a task only if everything that belongs to a task is there. */
#include "lib/snapshot/tasks.h"

#include "lib/base/array.h"
#include "lib/unwind/async.h"
#include "lib/unwind/async_code.h"
#include "lib/unwind/unwind.h"

#include <stdlib.h>

/* Number of bytes that are read at once. */
#define CHUNK 65536u
/* Number of bytes that are read at once from a chunk that cannot be read whole. No system has smaller pages. */
#define PAGE 4096u
/* Alignment of a task, in bytes (Swift: alignas(2 * alignof(void *))). */
#define TASK_ALIGN 16u
/* Maximum number of contexts of one chain. */
#define CHAIN_MAX 65536u
/* Maximum number of frames of all tasks together. */
#define FRAMES_MAX ((size_t)4 << 20)
/* Maximum number of attempts to read a task that changes meanwhile. */
#define TRIES 3u
/* Distance from the function's word to the context, in bytes: AsyncContextPrefix and FutureAsyncContextPrefix both end
 * with the function, its closure's context and an error (Swift include/swift/ABI/Task.h). */
#define ENTRY_BEFORE 24u

static bool is_over(const struct uspi_task_search *search, uint64_t deadline, struct usp_tasks *tasks) {
    if (tasks->info.searched < search->options->max_bytes && tasks->info.count < search->options->max_tasks &&
        tasks->frame_count < FRAMES_MAX && usp_clock() < deadline) {
        return false;
    }
    tasks->info.flags |= USP_TASKS_CUT;
    return true;
}

static void put_frame(struct usp_stack *stack, usp_addr pc) {
    stack->frames[stack->count++] =
        (struct usp_frame){.pc = pc, .kind = USP_FRAME_KIND_ASYNC_RESUME, .method = USP_FRAME_METHOD_ASYNC};
}

/* Whether a task can resume at an address: an image has a function that begins there, as far as that can be known. */
static bool is_resume(const struct uspi_task_search *search, usp_addr address) {
    const struct usp_image *image = usp_images_find(search->images, address);
    return image != NULL && address >= image->text_low && address < image->text_high &&
           uspi_async_may_resume(&search->walk, address);
}

/* Finds the function in which a task resumes; *resume 0: its first context has that. Returns false if it is not a
 * task. */
static bool find_resume(const struct uspi_task_search *search, const struct uspi_swift_task *task, usp_addr *resume) {
    const struct uspi_walk *walk = &search->walk;
    *resume = task->resume & walk->strip_mask;
    if (task->adapter == USPI_SWIFT_WAIT) {
        *resume = 0;
        return true;
    }
    if (task->adapter == USPI_SWIFT_START) {
        uint64_t entry;
        if (task->context < ENTRY_BEFORE || !uspi_read_slot(walk, task->context - ENTRY_BEFORE, &entry)) return false;
        *resume = entry & walk->strip_mask;
    }
    return is_resume(search, *resume);
}

/* Walks a task's chain into `stack`, which has room for frames. Returns false if it is not a task. */
static bool walk_chain(const struct uspi_task_search *search, const struct uspi_swift_task *task,
                       struct usp_stack *stack) {
    const struct uspi_extended record = {.record = task->resume, .in_register = true, .context = task->context};
    usp_addr resume;
    if (!find_resume(search, task, &resume)) return false;
    if (resume != 0) put_frame(stack, resume);
    struct usp_frame *frames = stack->frames + stack->count;
    const struct uspi_async_chain chain =
        uspi_async_chain(&search->walk, &record, CHAIN_MAX, frames, stack->capacity - stack->count);
    uint32_t n = chain.written;
    uint64_t total = chain.total;
    stack->stop = chain.stop;
    for (uint32_t i = 0; i < n; i++) {
        if (is_resume(search, frames[i].pc)) continue;
        stack->stop = USP_STOP_RA_NOT_CODE;
        stack->stop_address = frames[i].pc;
        total = n = i;
    }
    if (n == 0) return false;
    /* A continuation's own context has the function in which the task resumes. */
    if (stack->count == 1 && stack->frames[1].pc == resume) {
        memmove(stack->frames, stack->frames + 1, n * sizeof *stack->frames);
        stack->count = 0;
    }
    stack->count += n;
    const bool is_cut = total > n || stack->count > search->options->max_frames;
    if (stack->count > search->options->max_frames) stack->count = search->options->max_frames;
    stack->physical = stack->count;
    if (is_cut) {
        stack->stop = USP_STOP_CAPACITY;
        stack->omitted = 1;
        stack->omitted_at = stack->count;
    }
    return true;
}

/* Whether a task's chain is the same when it is followed again. If so, all of its contexts had these values at one
 * moment, unless one has changed and changed back. */
static bool is_unchanged(const struct uspi_task_search *search, const struct uspi_swift_task *task,
                         const struct usp_stack *stack) {
    struct usp_stack again = {.frames = stack->frames + stack->capacity, .capacity = stack->capacity};
    usp_stack_init(&again, again.frames, again.capacity);
    return walk_chain(search, task, &again) && again.count == stack->count && again.stop == stack->stop &&
           memcmp(again.frames, stack->frames, stack->count * sizeof *stack->frames) == 0;
}

static bool has_bytes(const struct usp_memory *memory, usp_addr at, const uint8_t bytes[static USPI_SWIFT_TASK_SIZE]) {
    uint8_t now[USPI_SWIFT_TASK_SIZE];
    return memory->read(memory->context, at, now, sizeof now) == 0 && memcmp(now, bytes, sizeof now) == 0;
}

/* Reads a task, and checks by its chain that it is one. The task's bytes are compared before and after its chain is
 * followed a second time. A live task hardly has time to run in between. Returns USP_ERROR_BUSY if anything has
 * changed.
 *   stack   its frames are followed by room for as many more, for the second chain */
static int read_task(const struct uspi_task_search *search, usp_addr at, struct uspi_swift_task *task,
                     enum uspi_swift_verdict *verdict, struct usp_stack *stack) {
    const struct usp_memory *memory = &search->walk.target.memory;
    uint8_t bytes[USPI_SWIFT_TASK_SIZE];
    *verdict = USPI_SWIFT_NO_TASK;
    if (memory->read(memory->context, at, bytes, sizeof bytes) != 0) return USP_OK;
    *verdict = uspi_swift_task_read(search->runtime, bytes, task);
    task->task.address = at;
    usp_stack_init(stack, stack->frames, stack->capacity);
    if (*verdict != USPI_SWIFT_RESTING) return USP_OK;
    const bool has_chain = walk_chain(search, task, stack);
    uspi_swift_task_relate(search->runtime, memory, task);
    if (!has_bytes(memory, at, bytes) || (has_chain && !is_unchanged(search, task, stack)) ||
        !has_bytes(memory, at, bytes)) {
        return USP_ERROR_BUSY;
    }
    if (!has_chain) *verdict = USPI_SWIFT_NO_TASK;
    return USP_OK;
}

static int keep_task(const struct uspi_task_search *search, const struct uspi_swift_task *task,
                     const struct usp_stack *stack, struct usp_tasks *tasks) {
    const size_t n = tasks->info.count;
    if (!uspi_room_for(&tasks->list, &tasks->capacity, n, 1, sizeof *tasks->list) ||
        !uspi_room_for(&tasks->first_frames, &tasks->first_capacity, n, 1, sizeof *tasks->first_frames) ||
        !uspi_room_for(&tasks->frames, &tasks->frame_capacity, tasks->frame_count, stack->count,
                       sizeof *tasks->frames)) {
        return USP_ERROR_NO_MEMORY;
    }
    memcpy(tasks->frames + tasks->frame_count, stack->frames, stack->count * sizeof *stack->frames);
    tasks->list[n] = task->task;
    struct usp_stack *kept = &tasks->list[n].stack;
    *kept = *stack;
    kept->arch = search->walk.target.arch;
    kept->capacity = stack->count;
    kept->task_id = (uint32_t)task->task.id;
    kept->flags |= USP_STACK_TASK_ID;
    kept->hash = uspi_stack_hash(stack, search->images);
    /* The array of frames can still move: give_frames sets the pointer in the end. */
    kept->frames = NULL;
    tasks->first_frames[n] = tasks->frame_count;
    tasks->frame_count += stack->count;
    tasks->info.count++;
    return USP_OK;
}

static int look_at(const struct uspi_task_search *search, usp_addr at, struct usp_stack *stack,
                   struct usp_tasks *tasks) {
    enum uspi_swift_verdict verdict;
    struct uspi_swift_task task;
    int status = USP_ERROR_BUSY;
    for (unsigned i = 0; i < TRIES && status == USP_ERROR_BUSY; i++) {
        status = read_task(search, at, &task, &verdict, stack);
    }
    if (status == USP_ERROR_BUSY) {
        tasks->info.changed++;
    } else if (verdict == USPI_SWIFT_RUNNING) {
        tasks->info.running++;
    } else if (verdict == USPI_SWIFT_RESTING) {
        return keep_task(search, &task, stack, tasks);
    }
    return USP_OK;
}

static int look_through(const struct uspi_task_search *search, const struct usp_memory_range *range, uint8_t *buffer,
                        uint64_t deadline, struct usp_stack *stack, struct usp_tasks *tasks) {
    const struct usp_memory *memory = &search->walk.target.memory;
    uint64_t piece = CHUNK;
    const usp_addr shift = -range->address & (TASK_ALIGN - 1u);
    for (uint64_t done = shift; done < range->size;) {
        uint64_t n = range->size - done < piece ? range->size - done : piece;
        const usp_addr low = range->address + done;
        if (is_over(search, deadline, tasks)) return USP_OK;
        if (memory->read(memory->context, low, buffer, (size_t)n) != 0) {
            /* Reads page by page up to the next chunk boundary. */
            if (piece == PAGE || n <= PAGE) done += n;
            piece = PAGE;
            continue;
        }
        done += n;
        tasks->info.searched += n;
        if (done % CHUNK < PAGE) piece = CHUNK;
        for (uint64_t i = 0; i + 8 <= n; i += TASK_ALIGN) {
            if (uspi_le64(buffer + i) != search->runtime->metadata) continue;
            if (is_over(search, deadline, tasks)) return USP_OK;
            int status = look_at(search, low + i, stack, tasks);
            if (status != USP_OK) return status;
        }
    }
    return USP_OK;
}

static int by_size(const void *a, const void *b) {
    const struct usp_memory_range *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return (x->address > y->address) - (x->address < y->address);
}

/* Sorts by id. Copies of memory can contain a task with the same id: the one whose dependency record names it comes
 * first. */
static int by_id(const void *a, const void *b) {
    const struct usp_task *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    const bool x_waits = x->wait != USP_TASK_WAIT_UNKNOWN, y_waits = y->wait != USP_TASK_WAIT_UNKNOWN;
    if (x_waits != y_waits) return x_waits ? -1 : 1;
    return (x->address > y->address) - (x->address < y->address);
}

static void give_frames(struct usp_tasks *tasks) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tasks->info.count; i++) {
        struct usp_stack *stack = &tasks->list[i].stack;
        if (stack->count != 0) stack->frames = tasks->frames + tasks->first_frames[i];
    }
    if (tasks->info.count > 1) qsort(tasks->list, tasks->info.count, sizeof *tasks->list, by_id);
    for (uint32_t i = 0; i < tasks->info.count; i++) {
        if (kept == 0 || tasks->list[i].id != tasks->list[kept - 1].id) tasks->list[kept++] = tasks->list[i];
    }
    tasks->info.count = kept;
}

int uspi_tasks_search(struct uspi_task_search *search, struct usp_tasks *tasks) {
    const struct usp_tasks_options *options = search->options;
    const uint64_t now = usp_clock(),
                   deadline = options->timeout > UINT64_MAX - now ? UINT64_MAX : now + options->timeout;
    uint8_t *buffer = malloc(CHUNK);
    /* Room for two chains, each with one more frame: the first context can repeat the resume function. */
    struct usp_frame *frames = calloc(2 * ((size_t)options->max_frames + 1), sizeof *frames);
    int status = buffer != NULL && frames != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
    struct usp_stack stack = {.frames = frames, .capacity = options->max_frames + 1};
    if (search->range_count > 1) qsort(search->ranges, search->range_count, sizeof *search->ranges, by_size);
    for (size_t i = 0; i < search->range_count && status == USP_OK; i++) {
        if ((tasks->info.flags & USP_TASKS_CUT) != 0) break;
        status = look_through(search, &search->ranges[i], buffer, deadline, &stack, tasks);
    }
    if (status == USP_OK) give_frames(tasks);
    free(buffer);
    free(frames);
    return status;
}

void uspi_tasks_clear(struct usp_tasks *tasks) {
    free(tasks->list);
    free(tasks->first_frames);
    free(tasks->frames);
    memset(tasks, 0, sizeof *tasks);
}
