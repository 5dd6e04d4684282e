/* SPDX-License-Identifier: MIT */
/* Tests the search for Swift tasks in memory that the test builds: true tasks, look-alikes, and damaged ones.
 * tests/swift/tasks.sh tests tasks of real programs. */
#include <check.h>

#include "lib/snapshot/tasks.h"
#include "tests/support/suite.h"
#include "tests/unwind/cfi_builder.h"

#define TEXT      UINT64_C(0x500000)
#define TEXT_SIZE UINT64_C(0x1000)
#define HEAP      UINT64_C(0x20000000)
#define HEAP_SIZE UINT64_C(0x20000)
#define HOLE      (HEAP + 0x6000) /* a page that cannot be read */
#define METADATA  (TEXT + 0xf00)
#define TASK_SIZE UINT64_C(208)

/* Bits of an arm64 address that are not a signature. */
#define STRIP_MASK UINT64_C(0x0000ffffffffffff)

#define START_ADAPTER (TEXT + 0x800)
#define WAIT_ADAPTER  (TEXT + 0x810)
#define DESCRIBED     (TEXT + 0x400) /* the only function that the unwind table describes */
#define FUNCTION(n)   (TEXT + 0x10 * (usp_addr)(n))

/* Offsets in a task and in its record (TaskPrivate.h, TaskStatus.h). */
enum { FLAGS = 32, ID = 36, RESUME = 56, CONTEXT = 64, STATUS = 96, RECORD = 104 };
enum { RUNNING = 0x800, ENQUEUED = 0x1000, COMPLETE = 0x2000, DEPENDS = 0x4000, CANCELLED = 0x100 };
enum { ON_TASK = 1, ON_CONTINUATION = 2, ON_GROUP = 3 };
#define IS_CHILD UINT32_C(0x01000000)

static uint8_t heap[HEAP_SIZE];
static struct cfi c;
static struct usp_unwind_tables given;
static struct usp_images *images;
static struct usp_tasks tasks;
static struct usp_tasks_options options;
static struct usp_memory_range ranges[2];
static struct uspi_swift_runtime runtime;
static struct uspi_task_search search;
static unsigned reads;
/* Whenever memory is read from `restless` on, the byte at `changing` gets another value. 0: never. */
static usp_addr restless, changing;

static void store(usp_addr at, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++) heap[at - HEAP + i] = (uint8_t)(value >> 8 * i);
}

static int read_heap(void *context, usp_addr from, void *to, size_t n) {
    (void)context;
    if (restless != 0 && from == restless) heap[changing - HEAP] = (uint8_t)(0x40 * ++reads);
    if (from < HEAP || n > HEAP_SIZE || from - HEAP > HEAP_SIZE - n) return USP_ERROR_UNREADABLE;
    if (from < HOLE + 0x1000 && from + n > HOLE) return USP_ERROR_UNREADABLE;
    memcpy(to, heap + (from - HEAP), n);
    return 0;
}

static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    (void)context;
    if (pc < TEXT || pc >= TEXT + TEXT_SIZE) return USP_ERROR_NOT_FOUND;
    *tables = given;
    return USP_OK;
}

static void begin_search_on(uint32_t arch) {
    const struct usp_image image = {.path = "/program",
                                    .load_address = TEXT,
                                    .text_low = TEXT,
                                    .text_high = TEXT + 0xe00,
                                    .end = TEXT + TEXT_SIZE,
                                    .arch = arch};
    memset(heap, 0, sizeof heap);
    memset(&tasks, 0, sizeof tasks);
    restless = 0;
    reads = 0;
    ck_assert_int_eq(usp_images_create(&image, 1, &images), USP_OK);
    cfi_begin(&c, arch, true);
    size_t cie = put_cie(&c, false, 1, "", arch == USP_ARCH_ARM64 ? "01 78 1e  0c 1f 00" : "01 78 10  0c 07 08 90 01");
    put_fde(&c, cie, DESCRIBED, 0x40, "");
    memset(&given, 0, sizeof given);
    given.eh_frame = (struct usp_memory_range){TABLE, c.bytes.size};
    given.memory = cfi_memory(&c);
    usp_tasks_options_init(&options);
    runtime = (struct uspi_swift_runtime){.metadata = METADATA,
                                          .task_size = TASK_SIZE,
                                          .start_adapters = {START_ADAPTER, 0},
                                          .wait_adapters = {WAIT_ADAPTER, 0}};
    ranges[0] = (struct usp_memory_range){HEAP, HEAP_SIZE};
    search = (struct uspi_task_search){
        .runtime = &runtime, .images = images, .ranges = ranges, .range_count = 1, .options = &options};
    search.walk.backend = uspi_backend_find(arch);
    search.walk.strip_mask = arch == USP_ARCH_ARM64 ? STRIP_MASK : UINT64_MAX;
    usp_target_init(&search.walk.target, arch);
    search.walk.target.os = USP_OS_LINUX;
    search.walk.target.memory = (struct usp_memory){read_heap, NULL};
    search.walk.target.unwind_tables_at = tables_at;
}

static void begin_search(void) { begin_search_on(USP_ARCH_X86_64); }

static void begin_search_on_arm64(void) { begin_search_on(USP_ARCH_ARM64); }

static void end_search(void) {
    uspi_tasks_clear(&tasks);
    usp_images_free(images);
    builder_free(&c.bytes);
}

static const struct usp_tasks_info *find(void) {
    uspi_tasks_clear(&tasks);
    memset(&tasks.info, 0, sizeof tasks.info);
    ck_assert_int_eq(uspi_tasks_search(&search, &tasks), USP_OK);
    return &tasks.info;
}

/* Stores a context that resumes at `resume`. */
static void put_context(usp_addr at, usp_addr parent, usp_addr resume) {
    store(at, parent, 8);
    store(at + 8, resume, 8);
}

/* Stores a task with two contexts, at + 0x100 and at + 0x140: it resumes in FUNCTION(id), awaited by FUNCTION(id +
 * 1). */
static void put_task(usp_addr at, uint32_t id, uint32_t status) {
    store(at, METADATA, 8);
    store(at + FLAGS, 0, 4);
    store(at + ID, id, 4);
    store(at + RESUME, FUNCTION(id), 8);
    store(at + CONTEXT, at + 0x100, 8);
    store(at + STATUS, status | 0x15, 4);
    put_context(at + 0x100, at + 0x140, FUNCTION(id + 1));
    put_context(at + 0x140, 0, FUNCTION(id + 2));
}

/* Stores the record of what the task waits for, at + 0x180. */
static void put_record(usp_addr at, uint32_t kind, usp_addr on) {
    store(at + RECORD, at + 0x180, 8);
    store(at + 0x180 + 16, on, 8);
    store(at + 0x180 + 32, kind, 4);
    store(at + 0x180 + 40, at, 8);
}

static void check_chain(const struct usp_task *task, uint32_t count, const usp_addr *chain) {
    ck_assert_uint_eq(task->stack.count, count);
    ck_assert_uint_eq(task->stack.physical, count);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_uint_eq(task->stack.frames[i].pc, chain[i]);
        ck_assert_uint_eq(task->stack.frames[i].kind, USP_FRAME_KIND_ASYNC_RESUME);
    }
    ck_assert_uint_eq(task->stack.stop, USP_STOP_ROOT);
}

START_TEST(every_kind) {
    const usp_addr on_task = HEAP + 0x1000, started = HEAP + 0x2000, queued = HEAP + 0x3000,
                   on_continuation = HEAP + 0x4010, on_group = HEAP + 0x5000, awaited = HEAP + 0x8000;
    put_task(on_task, 10, DEPENDS);
    store(on_task + RESUME, WAIT_ADAPTER, 8);
    put_record(on_task, ON_TASK, awaited);
    put_task(started, 20, 0);
    store(started + RESUME, START_ADAPTER, 8);
    store(started + 0x100 - 24, FUNCTION(19), 8);
    put_task(queued, 30, ENQUEUED | CANCELLED);
    store(queued + FLAGS, IS_CHILD, 4);
    store(queued + TASK_SIZE, on_task, 8);
    put_task(on_continuation, 40, DEPENDS);
    put_record(on_continuation, ON_CONTINUATION, on_continuation + 0x100);
    store(on_continuation + RESUME, FUNCTION(41), 8);
    put_task(on_group, 25, DEPENDS);
    put_record(on_group, ON_GROUP, HEAP + 0x9000);
    put_task(awaited, 5, RUNNING);
    put_task(HEAP + 0xa000, 6, COMPLETE);
    const struct usp_tasks_info *info = find();
    ck_assert_uint_eq(info->count, 5);
    ck_assert_uint_eq(info->running, 1);
    ck_assert_uint_eq(info->changed, 0);
    ck_assert_uint_eq(info->flags, 0);
    ck_assert_uint_eq(info->searched, HEAP_SIZE - 0x1000);
    const struct usp_task *t = usp_tasks_get(&tasks, 0);
    ck_assert_uint_eq(t->id, 10);
    ck_assert_uint_eq(t->address, on_task);
    ck_assert_uint_eq(t->state, USP_TASK_SUSPENDED);
    ck_assert_uint_eq(t->wait, USP_TASK_WAIT_TASK);
    ck_assert_uint_eq(t->awaited, 5);
    ck_assert_uint_eq(t->priority, 0x15);
    check_chain(t, 2, (const usp_addr[]){FUNCTION(11), FUNCTION(12)});
    t = usp_tasks_get(&tasks, 1);
    ck_assert_uint_eq(t->id, 20);
    ck_assert_uint_eq(t->state, USP_TASK_CREATED);
    check_chain(t, 3, (const usp_addr[]){FUNCTION(19), FUNCTION(21), FUNCTION(22)});
    t = usp_tasks_get(&tasks, 2);
    ck_assert_uint_eq(t->id, 25);
    ck_assert_uint_eq(t->wait, USP_TASK_WAIT_GROUP);
    t = usp_tasks_get(&tasks, 3);
    ck_assert_uint_eq(t->id, 30);
    ck_assert_uint_eq(t->state, USP_TASK_ENQUEUED);
    ck_assert_uint_eq(t->wait, USP_TASK_WAIT_EXECUTOR);
    ck_assert_uint_eq(t->flags, USP_TASK_CHILD | USP_TASK_CANCELLED);
    ck_assert_uint_eq(t->parent, 10);
    check_chain(t, 3, (const usp_addr[]){FUNCTION(30), FUNCTION(31), FUNCTION(32)});
    /* The context of a continuation repeats where the task resumes. */
    t = usp_tasks_get(&tasks, 4);
    ck_assert_uint_eq(t->id, 40);
    ck_assert_uint_eq(t->wait, USP_TASK_WAIT_CONTINUATION);
    check_chain(t, 2, (const usp_addr[]){FUNCTION(41), FUNCTION(42)});
    ck_assert_ptr_null(usp_tasks_get(&tasks, 5));
}
END_TEST

/* One wrong field of a task: its offset, size and value. Such memory must not be taken for a task. */
static const struct {
    unsigned at, size;
    uint64_t value;
} wrong[] = {
    {0, 8, METADATA + 8},
    {FLAGS, 4, 1},         /* another kind of job */
    {FLAGS, 4, 0x10000},   /* a flag that no job has */
    {ID, 4, 0},            /* a task's id is never 0 */
    {STATUS, 4, 0x10015},  /* a flag that no status has */
    {STATUS, 4, COMPLETE}, /* the task has ended */
    {RESUME, 8, 0},
    {RESUME, 8, TEXT - 16},        /* outside every image */
    {RESUME, 8, TEXT + 0xe00},     /* the image's data */
    {RESUME, 8, DESCRIBED + 0x10}, /* inside a function */
    {RESUME, 8, UINT64_MAX},
    {CONTEXT, 8, 0},
    {CONTEXT, 8, HEAP + 0x1104}, /* not aligned */
    {CONTEXT, 8, HEAP + HEAP_SIZE - 8},
    {CONTEXT, 8, HOLE},
    {CONTEXT, 8, UINT64_MAX - 7},
    {0x108, 8, 0},    /* the first context has no resume address */
    {0x108, 8, HEAP}, /* it resumes in data */
    {0x108, 8, DESCRIBED + 1},
};

START_TEST(no_task) {
    put_task(HEAP + 0x1000, 10, 0);
    ck_assert_uint_eq(find()->count, 1);
    store(HEAP + 0x1000 + wrong[_i].at, wrong[_i].value, wrong[_i].size);
    ck_assert_uint_eq(find()->count, 0);
    ck_assert_uint_eq(tasks.info.running, 0);
}
END_TEST

START_TEST(elsewhere) {
    /* A task at an address that no allocator gives; at the end of readable memory; across the hole. */
    put_task(HEAP + 0x1008, 10, 0);
    store(HEAP + HEAP_SIZE - 16, METADATA, 8);
    store(HOLE - 16, METADATA, 8);
    put_task(HOLE + 0x1000, 11, 0);
    put_task(HEAP + 0x10000, 12, 0);
    store(HEAP + 0x10000 + RESUME, DESCRIBED, 8);
    find();
    ck_assert_uint_eq(tasks.info.count, 2);
    ck_assert_uint_eq(usp_tasks_get(&tasks, 0)->address, HOLE + 0x1000);
    ck_assert_uint_eq(usp_tasks_get(&tasks, 1)->stack.frames[0].pc, DESCRIBED);
}
END_TEST

/* Addresses in a task and in its contexts may be signed. */
START_TEST(signed_addresses) {
    const uint64_t signature = UINT64_C(0x5a5a) << 48;
    put_task(HEAP + 0x1000, 10, 0);
    store(HEAP + 0x1000 + RESUME, signature | FUNCTION(10), 8);
    put_context(HEAP + 0x1100, signature | (HEAP + 0x1140), signature | FUNCTION(11));
    ck_assert_uint_eq(find()->count, 1);
    check_chain(usp_tasks_get(&tasks, 0), 3, (const usp_addr[]){FUNCTION(10), FUNCTION(11), FUNCTION(12)});
}
END_TEST

START_TEST(broken_chains) {
    put_task(HEAP + 0x1000, 10, 0);
    put_context(HEAP + 0x1140, HEAP + 0x1100, FUNCTION(12));
    options.max_frames = 7;
    ck_assert_uint_eq(find()->count, 1);
    const struct usp_stack *stack = &usp_tasks_get(&tasks, 0)->stack;
    ck_assert_uint_le(stack->count, 7);
    ck_assert_uint_eq(stack->stop, USP_STOP_CYCLE);
    put_context(HEAP + 0x1140, HOLE, FUNCTION(12));
    ck_assert_uint_eq(find()->count, 1);
    stack = &usp_tasks_get(&tasks, 0)->stack;
    ck_assert_uint_eq(stack->count, 3);
    ck_assert_uint_eq(stack->stop, USP_STOP_UNREADABLE);
    put_context(HEAP + 0x1140, 0, HEAP);
    ck_assert_uint_eq(find()->count, 1);
    stack = &usp_tasks_get(&tasks, 0)->stack;
    ck_assert_uint_eq(stack->count, 2);
    ck_assert_uint_eq(stack->stop, USP_STOP_RA_NOT_CODE);
    ck_assert_uint_eq(stack->stop_address, HEAP);
}
END_TEST

/* A chain longer than the room for it must be cut, and reported as cut; with more room it must be complete. */
START_TEST(long_chain) {
    put_task(HEAP + 0x1000, 10, 0);
    store(HEAP + 0x1100, HEAP + 0x10000, 8);
    for (usp_addr i = 0; i < 0x800; i++) {
        put_context(HEAP + 0x10000 + 16 * i, i == 0x7ff ? 0 : HEAP + 0x10010 + 16 * i, FUNCTION(i % 0x30));
    }
    options.max_frames = 100;
    ck_assert_uint_eq(find()->count, 1);
    const struct usp_stack *stack = &usp_tasks_get(&tasks, 0)->stack;
    ck_assert_uint_eq(stack->count, 100);
    ck_assert_uint_eq(stack->stop, USP_STOP_CAPACITY);
    options.max_frames = 4096;
    ck_assert_uint_eq(find()->count, 1);
    stack = &usp_tasks_get(&tasks, 0)->stack;
    ck_assert_uint_eq(stack->count, 0x802);
    ck_assert_uint_eq(stack->stop, USP_STOP_ROOT);
}
END_TEST

START_TEST(false_relations) {
    const usp_addr at = HEAP + 0x1000;
    put_task(at, 10, DEPENDS);
    store(at + FLAGS, IS_CHILD, 4);
    static const usp_addr nowhere[] = {0, HOLE, 1, UINT64_MAX, HEAP + HEAP_SIZE - 16, HEAP + 0x3000};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        store(at + TASK_SIZE, nowhere[i], 8);
        store(at + RECORD, nowhere[i], 8);
        ck_assert_uint_eq(find()->count, 1);
        ck_assert_uint_eq(usp_tasks_get(&tasks, 0)->parent, 0);
        ck_assert_uint_eq(usp_tasks_get(&tasks, 0)->wait, USP_TASK_WAIT_UNKNOWN);
    }
    /* A record that belongs to another task. */
    put_record(at, ON_GROUP, HEAP);
    store(at + 0x180 + 40, at + 16, 8);
    ck_assert_uint_eq(find()->count, 1);
    ck_assert_uint_eq(usp_tasks_get(&tasks, 0)->wait, USP_TASK_WAIT_UNKNOWN);
}
END_TEST

/* Copied memory contains the task twice; only the task to which its record points may be reported. */
START_TEST(copied_memory) {
    put_task(HEAP + 0x3000, 10, DEPENDS);
    put_record(HEAP + 0x3000, ON_CONTINUATION, HEAP + 0x3100);
    memcpy(heap + 0x1000, heap + 0x3000, 0x200);
    ck_assert_uint_eq(find()->count, 1);
    ck_assert_uint_eq(usp_tasks_get(&tasks, 0)->address, HEAP + 0x3000);
}
END_TEST

START_TEST(limits) {
    for (uint32_t i = 0; i < 16; i++) put_task(HEAP + 0x1000 * (i < 6 ? i : i + 1), i + 1, 0);
    ck_assert_uint_eq(find()->count, 16);
    ck_assert_uint_eq(tasks.info.flags, 0);
    options.max_tasks = 7;
    ck_assert_uint_eq(find()->count, 7);
    ck_assert_uint_eq(tasks.info.flags, USP_TASKS_CUT);
    options.max_tasks = 100;
    options.max_bytes = 0x1000;
    ck_assert_uint_lt(find()->count, 16);
    ck_assert_uint_eq(tasks.info.flags, USP_TASKS_CUT);
    options.max_bytes = UINT64_MAX;
    options.timeout = 0;
    ck_assert_uint_eq(find()->count, 0);
    ck_assert_uint_eq(tasks.info.flags, USP_TASKS_CUT);
    options.timeout = UINT64_MAX;
    ck_assert_uint_eq(find()->count, 16);
    /* Ranges are searched smallest first. */
    ranges[0] = (struct usp_memory_range){HEAP + 0x7000, HEAP_SIZE - 0x7000};
    ranges[1] = (struct usp_memory_range){HEAP, 0x1000};
    search.range_count = 2;
    options.max_tasks = 1;
    ck_assert_uint_eq(find()->count, 1);
    ck_assert_uint_eq(usp_tasks_get(&tasks, 0)->id, 1);
}
END_TEST

/* 0: a task changes while it is read. 1, 2: a task stays the same, but its context's parent or function changes. No
 * mixture may be reported. */
START_TEST(restless_tasks) {
    const usp_addr at = HEAP + 0x1000;
    const usp_addr places[][2] = {{at, at + 16}, {at + 0x100, at + 0x100}, {at + 0x140, at + 0x148}};
    put_task(at, 10, 0);
    put_task(HEAP + 0x2000, 20, 0);
    restless = places[_i][0];
    changing = places[_i][1];
    ck_assert_uint_eq(find()->count, 1);
    ck_assert_uint_eq(tasks.info.changed, 1);
    ck_assert_uint_eq(usp_tasks_get(&tasks, 0)->id, 20);
}
END_TEST

static uint32_t seed;

static uint32_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

/* No reported address may lie outside the program's code, whatever the memory holds. */
START_TEST(damage) {
    seed = 2463534242u + (uint32_t)_i;
    for (uint32_t i = 0; i < 64; i++) {
        const usp_addr at = HEAP + 0x8000 + 0x200 * i;
        put_task(at, i % 0x30 + 1, i % 3 == 0 ? DEPENDS : 0);
        if (i % 3 == 0) put_record(at, i % 4, at + 0x100);
    }
    for (uint32_t i = 0; i < 600; i++) {
        const usp_addr at = HEAP + 0x8000 + next_random() % 0x8000;
        const uint64_t values[] = {next_random(), METADATA, HEAP + next_random() % HEAP_SIZE,
                                   FUNCTION(next_random() % 64)};
        store(i % 2 == 0 ? at & ~(usp_addr)7 : at, values[next_random() % 4], i % 5 == 0 ? 1 : 8);
    }
    find();
    ck_assert_uint_le(tasks.info.count, 64);
    for (uint32_t i = 0; i < tasks.info.count; i++) {
        const struct usp_task *task = usp_tasks_get(&tasks, i);
        ck_assert_uint_ge(task->stack.count, 1);
        ck_assert_uint_le(task->stack.count, options.max_frames);
        for (uint32_t k = 0; k < task->stack.count; k++) {
            ck_assert_uint_ge(task->stack.frames[k].pc, TEXT);
            ck_assert_uint_lt(task->stack.frames[k].pc, TEXT + 0xe00);
        }
        if (i > 0) ck_assert_uint_gt(task->id, usp_tasks_get(&tasks, i - 1)->id);
    }
}
END_TEST

/* Every word looks like the start of a task: no task may be reported. */
START_TEST(nothing_but_metadata) {
    for (usp_addr at = HEAP; at < HEAP + HEAP_SIZE; at += 8) store(at, METADATA, 8);
    ck_assert_uint_eq(find()->count, 0);
    ck_assert_uint_eq(tasks.info.searched, HEAP_SIZE - 0x1000);
}
END_TEST

START_TEST(arguments) {
    struct usp_tasks *made;
    char error[100] = "x";
    ck_assert_int_eq(usp_tasks_create(NULL, NULL, &made, error, sizeof error), USP_ERROR_ARGUMENT);
    ck_assert_ptr_null(made);
    ck_assert_uint_ne(strlen(error), 0);
    ck_assert_int_eq(usp_tasks_create(NULL, NULL, NULL, NULL, 0), USP_ERROR_ARGUMENT);
    ck_assert_ptr_null(usp_tasks_get_info(NULL));
    ck_assert_ptr_null(usp_tasks_get(NULL, 0));
    usp_tasks_free(NULL);
    ck_assert_str_eq(usp_task_state_string(USP_TASK_ENQUEUED), "enqueued");
    ck_assert_str_eq(usp_task_wait_string(USP_TASK_WAIT_GROUP), "task-group");
    ck_assert_str_eq(usp_task_wait_string(99), "unknown");
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("memory");
    tcase_add_checked_fixture(tests, begin_search, end_search);
    tcase_add_loop_test(tests, restless_tasks, 0, 3);
    add_tests(tests, every_kind, elsewhere, broken_chains, long_chain, false_relations, copied_memory, limits,
              nothing_but_metadata, arguments);
    add_loop_tests(tests, 0, ELEMENTS(wrong), no_task);
    add_loop_tests(tests, 0, 200, damage);
    /* The layout does not depend on the processor. */
    TCase *arm64 = tcase_create("arm64");
    tcase_add_checked_fixture(arm64, begin_search_on_arm64, end_search);
    add_tests(arm64, every_kind, elsewhere, broken_chains, false_relations, signed_addresses);
    add_loop_tests(arm64, 0, ELEMENTS(wrong), no_task);
    add_loop_tests(arm64, 0, 20, damage);
    return run_suite("tasks", tests, arm64);
}
