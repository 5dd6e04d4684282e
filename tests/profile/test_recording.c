/* SPDX-License-Identifier: MIT */
/* Tests recordings of perf: files that a writer of our own makes (perf_writer.h). Each test is a property of files that
 * a reader can get wrong: layouts, times, maps, compression, stack dumps, and files that are cut off. */
#include "arch/frame.h"
#include "lib/recording/perf_space.h"
#include "tests/profile/perf_writer.h"
#include "tests/support/core_fixtures.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <unspool/unspool.h>

#include <signal.h>
#include <ucontext.h>

#define CHAINS (S_IP | S_TID | S_TIME | S_CHAIN)
#define NS     UINT64_C(1000000000)

/* What a test keeps of a sample. */
struct seen {
    struct usp_frame frames[64];
    uint32_t count, stop, arch, event_index;
    usp_addr stop_address;
    char image[64][64]; /* path of each frame's image; "" for none */
    uint32_t id_size[64];
    uint8_t id[64][USP_BUILD_ID_MAX];
    usp_addr load[64];
    char thread[64], event[64];
    uint64_t tid, time, period, duration;
    int64_t pid;
    size_t image_count;
};

struct reading {
    const struct builder *file;
    size_t piece; /* bytes that a read gives at most; 0: all */
    size_t bytes_read;
    size_t reached, reached_at_first; /* where the last read ended, at the first sample too */
    struct seen *seen;
    size_t count;
    uint64_t ended[8];
    size_t ended_count;
    struct usp_recording_info info;
    char error[256];
    struct usp_recording_options options;
};

static int64_t read_file(void *context, uint64_t offset, void *to, size_t n) {
    struct reading *r = context;
    if (offset >= r->file->size) return 0;
    if (n > r->file->size - offset) n = r->file->size - (size_t)offset;
    if (r->piece > 0 && n > r->piece) n = r->piece;
    memcpy(to, r->file->bytes + offset, n);
    r->reached = (size_t)offset + n;
    r->bytes_read += n;
    return (int64_t)n;
}

static int see(void *context, const struct usp_recording_sample *sample) {
    struct reading *r = context;
    if (r->count == 0) r->reached_at_first = r->reached;
    /* The capacity doubles: a sanitizer's realloc copies all each time. */
    if ((r->count & (r->count - 1)) == 0) {
        r->seen = realloc(r->seen, (r->count == 0 ? 1 : 2 * r->count) * sizeof *r->seen);
        if (r->seen == NULL) return USP_ERROR_NO_MEMORY;
    }
    struct seen *s = &r->seen[r->count++];
    memset(s, 0, sizeof *s);
    s->count = sample->stack->count < 64 ? sample->stack->count : 64;
    s->stop = sample->stack->stop;
    s->stop_address = sample->stack->stop_address;
    s->arch = sample->stack->arch;
    for (uint32_t i = 0; i < s->count; i++) {
        s->frames[i] = sample->stack->frames[i];
        const struct usp_image *image = usp_images_find(sample->images, s->frames[i].pc);
        if (image == NULL) continue;
        snprintf(s->image[i], sizeof s->image[i], "%s", image->path);
        s->id_size[i] = image->build_id_size;
        memcpy(s->id[i], image->build_id, sizeof s->id[i]);
        s->load[i] = image->load_address;
    }
    s->image_count = usp_images_count(sample->images);
    snprintf(s->thread, sizeof s->thread, "%s", sample->thread->name);
    snprintf(s->event, sizeof s->event, "%s", sample->event);
    s->tid = sample->thread->thread.id;
    s->pid = sample->pid;
    s->time = sample->time;
    s->period = sample->period;
    s->duration = sample->duration;
    s->event_index = sample->event_index;
    return USP_OK;
}

/* Keeps only the length of the event's name. */
static int see_event(void *context, const struct usp_recording_sample *sample) {
    ((struct reading *)context)->count = strlen(sample->event);
    return USP_OK;
}

static void note_end(void *context, uint64_t id) {
    struct reading *r = context;
    if (r->ended_count < 8) r->ended[r->ended_count++] = id;
}

static struct reading begin_reading(const struct builder *file) {
    struct reading r = {.file = file};
    usp_recording_options_init(&r.options);
    r.options.read = read_file;
    r.options.sample = see;
    r.options.end_thread = note_end;
    r.options.file_size = file->size;
    return r;
}

static int go(struct reading *r) {
    r->options.context = r;
    return usp_recording_read(&r->options, &r->info, r->error, sizeof r->error);
}

/* Reads a whole file, which must be all right, and frees it. The caller frees r.seen. */
static struct reading read_whole(struct builder *file) {
    struct reading r = begin_reading(file);
    ck_assert_msg(go(&r) == USP_OK, "%s", r.error);
    ck_assert_str_eq(r.error, "");
    builder_free(file);
    return r;
}

static struct perf_file plain_file(void) {
    return (struct perf_file){
        .attributes = {{.size = 120, .type = 1, .period = 1000000, .sample_type = CHAINS, .name = "cpu-clock"}},
        .attribute_count = 1,
        .arch = "x86_64"};
}

static const struct mapping app = {.pid = 7, .low = 0x400000, .size = 0x10000, .path = "/no/such/app"};

/* ---- layouts ---- */

START_TEST(test_chains) {
    static const uint64_t chain[] = {CHAIN_KERNEL, 0xffffffff81000010, 0xffffffff81000100,
                                     CHAIN_USER,   0x400100,           0x400200};
    struct perf_file file = plain_file();
    put_mmap(&file.records, MISC_KERNEL, UINT32_MAX, 0xffffffff81000000, 0x100000, "[kernel.kallsyms]_text", 0);
    put_mmap2(&file.records, &app);
    put_comm(&file.records, 0, 7, 7, "app", 0);
    put_comm(&file.records, 0, 7, 8, "worker", 0);
    put_chain(&file.records, MISC_KERNEL, 7, 8, 5 * NS, chain, 6);
    struct builder bytes = make_file(&file);
    ck_assert(usp_recording_is(bytes.bytes, 16));
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 1);
    const struct seen *s = &r.seen[0];
    ck_assert_uint_eq(s->count, 4);
    for (size_t i = 0; i < 4; i++) ck_assert_uint_eq(s->frames[i].pc, chain[i < 2 ? i + 1 : i + 2]);
    ck_assert_uint_eq(s->frames[0].kind, USP_FRAME_KIND_INTERRUPTED);
    ck_assert_uint_eq(s->frames[1].kind, USP_FRAME_KIND_RETURN_ADDRESS);
    ck_assert_uint_eq(s->frames[2].kind, USP_FRAME_KIND_INTERRUPTED);
    ck_assert_uint_eq(s->frames[3].kind, USP_FRAME_KIND_RETURN_ADDRESS);
    ck_assert_str_eq(s->image[0], "[kernel.kallsyms]");
    ck_assert_str_eq(s->image[3], "/no/such/app");
    ck_assert_uint_eq(s->load[3], 0x400000);
    ck_assert_str_eq(s->thread, "worker");
    ck_assert_str_eq(s->event, "cpu-clock");
    ck_assert_int_eq(s->pid, 7);
    ck_assert_uint_eq(s->tid, 8);
    ck_assert_uint_eq(s->time, 5 * NS);
    ck_assert_uint_eq(s->duration, 1000000);
    ck_assert_uint_eq(s->arch, USP_ARCH_X86_64);
    ck_assert_uint_eq(r.info.samples, 1);
    free(r.seen);
}
END_TEST

static const uint64_t one_frame[] = {CHAIN_USER, 0x400100};

START_TEST(test_attribute_sizes) {
    static const uint32_t sizes[] = {64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 0};
    struct perf_file file = plain_file();
    file.attributes[0].size = sizes[_i];
    put_mmap2(&file.records, &app);
    put_chain(&file.records, MISC_USER, 7, 7, NS, one_frame, 2);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 1);
    ck_assert_str_eq(r.seen[0].image[0], "/no/such/app");
    free(r.seen);
}
END_TEST

/* Two events with different layouts, which the identifier tells apart; fields before the chain that are skipped. */
static void put_two_events(struct perf_file *file) {
    *file = (struct perf_file){
        .attributes = {{.size = 120,
                        .type = 0,
                        .period = 99,
                        .is_frequency = true,
                        .sample_type = S_IDENTIFIER | S_IP | S_TID | S_TIME | S_PERIOD | S_READ | S_CHAIN,
                        .read_format = 1 | 2 | 4 | 16,
                        .id = 500,
                        .name = "cycles"},
                       {.size = 120,
                        .type = 1,
                        .period = 5,
                        .sample_type = S_IDENTIFIER | S_IP | S_TID | S_TIME | S_CHAIN | S_RAW | S_BRANCHES,
                        .branch_type = 1 << 17,
                        .id = 501,
                        .name = "page-faults"}},
        .attribute_count = 2,
        .arch = "x86_64"};
    struct builder *b = &file->records;
    size_t from = begin_record(b, 9, MISC_USER);
    put(b, 8, 500);
    put(b, 8, 0x400100);
    put(b, 4, 7);
    put(b, 4, 7);
    put(b, 8, NS);
    put(b, 8, 12345); /* period */
    for (unsigned i = 0; i < 5; i++) put(b, 8, 77);
    put(b, 8, 2);
    put(b, 8, CHAIN_USER);
    put(b, 8, 0x400100);
    end_record(b, from);
    from = begin_record(b, 9, MISC_USER);
    put(b, 8, 501);
    put(b, 8, 0x400200);
    put(b, 4, 7);
    put(b, 4, 7);
    put(b, 8, 2 * NS);
    put(b, 8, 2);
    put(b, 8, CHAIN_USER);
    put(b, 8, 0x400200);
    put(b, 4, 12); /* raw */
    pad_to(b, b->size + 12);
    put(b, 8, 1); /* branches */
    put(b, 8, 3);
    pad_to(b, b->size + 24);
    end_record(b, from);
}

START_TEST(test_several_events) {
    struct perf_file file;
    put_two_events(&file);
    struct builder bytes = _i == 0 ? make_file(&file) : make_stream(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 2);
    ck_assert_uint_eq(r.info.event_count, 2);
    ck_assert_str_eq(r.seen[0].event, "cycles");
    ck_assert_uint_eq(r.seen[0].period, 12345);
    ck_assert_uint_eq(r.seen[0].duration, NS / 99);
    ck_assert_uint_eq(r.seen[0].frames[0].pc, 0x400100);
    ck_assert_str_eq(r.seen[1].event, "page-faults");
    ck_assert_uint_eq(r.seen[1].event_index, 1);
    ck_assert_uint_eq(r.seen[1].count, 1);
    ck_assert_uint_eq(r.seen[1].frames[0].pc, 0x400200);
    free(r.seen);
}
END_TEST

/* Puts a sample of a group of two events, with their counts and that of an event that the file does not have. */
static void put_group_sample(struct builder *b, uint32_t pid, uint64_t time, uint64_t clock, uint64_t faults) {
    const size_t from = begin_record(b, 9, MISC_USER);
    put(b, 8, 0x400100);
    put(b, 4, pid);
    put(b, 4, pid);
    put(b, 8, time);
    put(b, 8, 500); /* id */
    put(b, 8, 1000);
    put(b, 8, 3);
    put(b, 8, 77); /* time enabled */
    put(b, 8, clock);
    put(b, 8, 500);
    put(b, 8, faults);
    put(b, 8, 501);
    put(b, 8, 9);
    put(b, 8, 502);
    put(b, 8, 2);
    put(b, 8, CHAIN_USER);
    put(b, 8, 0x400100);
    end_record(b, from);
}

/* In a group (perf record -e '{a,b}:S') a sample of the first event has the counts of all. Each event whose count has
 * grown gets a sample, whose period is by how much. Samples that are not chosen are counted, too. */
START_TEST(test_group) {
    const uint64_t type = S_IP | S_TID | S_TIME | S_ID | S_PERIOD | S_READ | S_CHAIN;
    struct perf_file file = {
        .attributes = {{.size = 120, .type = 1, .sample_type = type, .read_format = 1 | 4 | 8, .id = 500, .name = "a"},
                       {.size = 120,
                        .type = 1,
                        .config = 2,
                        .sample_type = type,
                        .read_format = 1 | 4 | 8,
                        .id = 501,
                        .name = "b"}},
        .attribute_count = 2,
        .arch = "x86_64"};
    put_group_sample(&file.records, 7, NS, 1000, 40);
    put_group_sample(&file.records, 7, 2 * NS, 3000, 40); /* b has not grown */
    put_group_sample(&file.records, 8, 3 * NS, 3500, 50);
    put_group_sample(&file.records, 7, 4 * NS, 3600, 51);
    struct builder bytes = make_file(&file);
    struct reading r = begin_reading(&bytes);
    if (_i == 1) r.options.pid = 7;
    ck_assert_int_eq(go(&r), USP_OK);
    static const struct {
        uint64_t time, period;
        const char *event;
        int64_t pid;
    } all[] = {{NS, 1000, "a", 7},   {NS, 40, "b", 7},      {2 * NS, 2000, "a", 7}, {3 * NS, 500, "a", 8},
               {3 * NS, 10, "b", 8}, {4 * NS, 100, "a", 7}, {4 * NS, 1, "b", 7}};
    size_t next = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (_i == 1 && all[i].pid != 7) continue;
        ck_assert_uint_lt(next, r.count);
        const struct seen *s = &r.seen[next++];
        ck_assert_str_eq(s->event, all[i].event);
        ck_assert_uint_eq(s->event_index, all[i].event[0] == 'a' ? 0 : 1);
        ck_assert_uint_eq(s->time, all[i].time);
        ck_assert_uint_eq(s->period, all[i].period);
        ck_assert_uint_eq(s->duration, all[i].event[0] == 'a' ? all[i].period : 0);
        ck_assert_uint_eq(s->count, 1);
        ck_assert_uint_eq(s->frames[0].pc, 0x400100);
    }
    ck_assert_uint_eq(r.count, next);
    builder_free(&bytes);
    free(r.seen);
}
END_TEST

/* A pipe gives few bytes at once, and cannot go back. */
START_TEST(test_pipe) {
    struct perf_file file = plain_file();
    file.attributes[0].id = 9;
    put_mmap2(&file.records, &app);
    for (unsigned i = 0; i < 100; i++) put_chain(&file.records, MISC_USER, 7, 7, NS + i, one_frame, 2);
    struct builder bytes = make_stream(&file);
    struct reading r = begin_reading(&bytes);
    r.options.file_size = UINT64_MAX;
    r.piece = 7;
    ck_assert_int_eq(go(&r), USP_OK);
    ck_assert_uint_eq(r.count, 100);
    ck_assert_str_eq(r.seen[99].image[0], "/no/such/app");
    ck_assert_str_eq(r.seen[0].event, "cpu-clock");
    ck_assert_uint_eq(r.info.arch, USP_ARCH_X86_64);
    builder_free(&bytes);
    free(r.seen);
}
END_TEST

/* Records that have nothing to do with stacks, one of which has data outside of its size. */
START_TEST(test_other_records) {
    struct perf_file file = plain_file();
    put_plain(&file.records, 16);
    put_plain(&file.records, 4000);
    size_t from = begin_record(&file.records, 71, 0); /* AUXTRACE */
    put(&file.records, 8, 64);
    pad_to(&file.records, file.records.size + 32);
    end_record(&file.records, from);
    for (unsigned i = 0; i < 16; i++) put(&file.records, 4, UINT32_MAX);
    from = begin_record(&file.records, 66, 0); /* tracing data: 5 bytes, filled up to 8 */
    put(&file.records, 4, 5);
    end_record(&file.records, from);
    put(&file.records, 8, UINT64_MAX);
    from = begin_record(&file.records, 66, 0); /* simpleperf's, which has the 5 bytes inside */
    put(&file.records, 4, 5);
    pad_to(&file.records, file.records.size + 8);
    end_record(&file.records, from);
    from = begin_record(&file.records, 2, 0); /* LOST */
    put(&file.records, 8, 0);
    put(&file.records, 8, 41);
    put_tail(&file.records, 7, 7, NS, 0);
    end_record(&file.records, from);
    put_chain(&file.records, MISC_USER, 7, 7, NS, one_frame, 2);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 1);
    ck_assert_uint_eq(r.info.lost, 41);
    free(r.seen);
}
END_TEST

/* ---- times ---- */

/* A map that comes later in the file, but was made before the sample, is in effect; a later one is not. */
START_TEST(test_order_of_times) {
    struct perf_file file = plain_file();
    struct mapping early = app, late = app;
    early.time = NS;
    late.time = 3 * NS;
    late.path = "/no/such/other";
    put_chain(&file.records, MISC_USER, 7, 7, 2 * NS, one_frame, 2);
    put_plain(&file.records, 68);
    put_mmap2(&file.records, &late);
    put_mmap2(&file.records, &early);
    put_plain(&file.records, 68);
    put_chain(&file.records, MISC_USER, 7, 7, 4 * NS, one_frame, 2);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 2);
    ck_assert_str_eq(r.seen[0].image[0], "/no/such/app");
    ck_assert_str_eq(r.seen[1].image[0], "/no/such/other");
    ck_assert_uint_eq(r.seen[1].image_count, 1);
    free(r.seen);
}
END_TEST

/* Without rounds, not the whole file is kept in memory. Sampling threads write blocks whose times overlap. */
START_TEST(test_no_rounds) {
    struct perf_file file = plain_file();
    uint64_t chain[1001] = {CHAIN_USER};
    for (size_t i = 1; i < 1001; i++) chain[i] = 0x400000 + i;
    for (unsigned i = 0; i < 8000; i++) put_chain(&file.records, MISC_USER, 7, 7, NS + (i ^ 1), chain, 1001);
    struct builder bytes = make_file(&file);
    struct reading r = begin_reading(&bytes);
    r.options.max_frames = 4;
    ck_assert_int_eq(go(&r), USP_OK);
    ck_assert_uint_eq(r.count, 8000);
    ck_assert_uint_eq(r.seen[0].count, 4);
    ck_assert_uint_eq(r.seen[0].stop, USP_STOP_CAPACITY);
    ck_assert_uint_lt(r.reached_at_first, 32 << 20);
    ck_assert_uint_gt(bytes.size, 60 << 20);
    for (size_t i = 1; i < r.count; i++) ck_assert_uint_gt(r.seen[i].time, r.seen[i - 1].time);
    builder_free(&bytes);
    free(r.seen);
}
END_TEST

/* Records that wait for their time keep no others in memory: one of them in each block, and no rounds. */
START_TEST(test_records_that_wait) {
    static char name[2000];
    struct perf_file file = plain_file();
    memset(name, 'n', sizeof name - 1);
    for (unsigned i = 0; i < 33000; i++) {
        put_comm(&file.records, 0, 7, 7, name, NS + i);
        if (i % 100 == 0) put_chain(&file.records, MISC_USER, 7, 7, 9 * NS + i, one_frame, 2);
    }
    struct builder bytes = make_file(&file);
    struct reading r = begin_reading(&bytes);
    ck_assert_int_eq(go(&r), USP_OK);
    ck_assert_uint_eq(r.count, 330);
    ck_assert_uint_gt(bytes.size, 60 << 20);
    ck_assert_uint_lt(r.reached_at_first, 56 << 20);
    builder_free(&bytes);
    free(r.seen);
}
END_TEST

START_TEST(test_choices) {
    struct perf_file file = plain_file();
    for (unsigned i = 0; i < 10; i++) put_chain(&file.records, MISC_USER, 7 + i % 2, 7, NS + i, one_frame, 2);
    struct builder bytes = make_file(&file);
    struct reading r = begin_reading(&bytes);
    r.options.pid = 8;
    r.options.from = NS + 3;
    r.options.to = NS + 7;
    ck_assert_int_eq(go(&r), USP_OK);
    ck_assert_uint_eq(r.count, 2);
    ck_assert_uint_eq(r.seen[0].time, NS + 3);
    ck_assert_uint_eq(r.seen[1].time, NS + 5);
    ck_assert_uint_eq(r.info.samples, 10);
    ck_assert_uint_eq(r.info.first, NS);
    ck_assert_uint_eq(r.info.last, NS + 9);
    builder_free(&bytes);
    free(r.seen);
}
END_TEST

/* ---- processes and maps ---- */

START_TEST(test_fork_and_exec) {
    struct perf_file file = plain_file();
    put_mmap2(&file.records, &app);
    put_comm(&file.records, 0, 7, 7, "parent", 0);
    put_task(&file.records, 7, 9, 7, 9, 7, 2 * NS);
    put_chain(&file.records, MISC_USER, 9, 9, 3 * NS, one_frame, 2);
    put_comm(&file.records, MISC_EXEC, 9, 9, "child", 4 * NS);
    put_chain(&file.records, MISC_USER, 9, 9, 5 * NS, one_frame, 2);
    put_chain(&file.records, MISC_USER, 7, 7, 6 * NS, one_frame, 2);
    put_task(&file.records, 4, 9, 7, 9, 7, 7 * NS);
    put_task(&file.records, 7, 7, 7, 9, 7, 8 * NS); /* a thread of the parent gets the child's id */
    put_chain(&file.records, MISC_USER, 7, 9, 9 * NS, one_frame, 2);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 4);
    ck_assert_str_eq(r.seen[0].image[0], "/no/such/app");
    ck_assert_str_eq(r.seen[0].thread, "parent");
    ck_assert_str_eq(r.seen[1].image[0], "");
    ck_assert_str_eq(r.seen[1].thread, "child");
    ck_assert_str_eq(r.seen[2].image[0], "/no/such/app");
    ck_assert_str_eq(r.seen[3].thread, "parent");
    ck_assert_uint_eq(r.ended_count, 1);
    ck_assert_uint_eq(r.ended[0], 9);
    free(r.seen);
}
END_TEST

/* Forks copy at most four million maps. What does not fit is counted; processes that have ended, and those whose ids are
 * used again, take no room. */
START_TEST(test_many_forks) {
    enum { MAPS = 65535, FORKS = 80 };
    const bool end = _i == 1, is_same = _i == 2;
    struct perf_file file = plain_file();
    struct mapping piece = app;
    piece.size = 0x1000;
    for (unsigned i = 0; i < MAPS; i++, piece.low += 0x2000) put_mmap2(&file.records, &piece);
    for (unsigned i = 0; i < FORKS; i++) {
        const uint32_t pid = is_same ? 100 : 100 + i;
        put_task(&file.records, 7, pid, 7, pid, 7, NS + 2 * i);
        if (end) put_task(&file.records, 4, pid, 7, pid, 7, NS + 2 * i + 1);
    }
    const uint32_t last = is_same ? 100 : 99 + FORKS;
    put_chain(&file.records, MISC_USER, last, last, 2 * NS, one_frame, 2);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 1);
    ck_assert_str_eq(r.seen[0].image[0], end || is_same ? "/no/such/app" : "");
    ck_assert_uint_eq(r.info.maps_left_out, end || is_same ? 0 : (FORKS - 64) * MAPS);
    free(r.seen);
}
END_TEST

/* So are the maps of one process that has too many. */
START_TEST(test_many_maps) {
    struct perf_file file = plain_file();
    struct mapping piece = app;
    piece.size = 0x1000;
    for (unsigned i = 0; i < 65540; i++, piece.low += 0x2000) put_mmap2(&file.records, &piece);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.info.maps_left_out, 4);
    free(r.seen);
}
END_TEST

/* Maps in any order, over each other, also over the ends of earlier ones: of each page, the newest map is what counts.
 * More of them than are kept apart. */
START_TEST(test_order_of_maps) {
    enum { PAGES = 3000, MAPS = 5000, EACH = 0x1000 };
    static uint32_t owner[PAGES]; /* number of the map, from 1; 0: none */
    struct uspi_perf_spaces spaces;
    const bool descends = _i == 1;
    uint32_t random = 7;
    memset(owner, 0, sizeof owner);
    ck_assert(uspi_perf_spaces_init(&spaces, NULL, NULL));
    for (uint32_t i = 1; i <= MAPS; i++) {
        random = random * 1103515245 + 12345;
        uint32_t first = (random >> 8) % PAGES, count = 1 + (random >> 4) % 16;
        if (descends) first = PAGES - 1 - i % PAGES, count = 1;
        if (count > PAGES - first) count = PAGES - first;
        const bool is_hole = !descends && random % 5 == 0;
        const struct uspi_perf_mapping map = {.low = (usp_addr)first * EACH,
                                              .high = (usp_addr)(first + count) * EACH,
                                              .offset = (uint64_t)i << 32,
                                              .file = is_hole ? USPI_NONE : i};
        ck_assert_int_eq(uspi_perf_spaces_map(&spaces, 7, &map), USP_OK);
        for (uint32_t page = first; page < first + count; page++) owner[page] = is_hole ? 0 : i;
    }
    /* A fork merges what was kept apart. */
    ck_assert_int_eq(uspi_perf_spaces_fork(&spaces, 8, 7), USP_OK);
    const struct uspi_perf_process *process = uspi_pool_at(&spaces.processes, 0);
    ck_assert_uint_eq(process->recent.count, 0);
    size_t at = 0;
    for (uint32_t page = 0; page < PAGES; page++) {
        if (owner[page] == 0) continue;
        const usp_addr address = (usp_addr)page * EACH;
        while (at < process->maps.count && process->maps.all[at].high <= address) at++;
        ck_assert_uint_lt(at, process->maps.count);
        const struct uspi_perf_mapping *map = &process->maps.all[at];
        ck_assert_uint_le(map->low, address);
        ck_assert_uint_eq(map->file, owner[page]);
        ck_assert_uint_eq(map->offset >> 32, owner[page]);
    }
    size_t covered = 0, mapped = 0;
    for (size_t i = 0; i < process->maps.count; i++) {
        covered += (size_t)(process->maps.all[i].high - process->maps.all[i].low) / EACH;
        if (i > 0) ck_assert_uint_le(process->maps.all[i - 1].high, process->maps.all[i].low);
    }
    for (uint32_t page = 0; page < PAGES; page++) mapped += owner[page] != 0;
    ck_assert_uint_eq(covered, mapped);
    uspi_perf_spaces_clear(&spaces);
}
END_TEST

/* A process with many maps, of which one changes before each sample: its images are not made anew for each. */
START_TEST(test_many_changes) {
    enum { MAPS = 2048, SAMPLES = 60 };
    struct perf_file file = plain_file();
    struct mapping piece = app;
    char path[32];
    piece.size = 0x1000;
    piece.path = path;
    for (unsigned i = 0; i < MAPS + SAMPLES; i++, piece.low += 0x2000) {
        snprintf(path, sizeof path, "/no/such/%u", i);
        piece.time = i >= MAPS ? NS + 2 * i : 0;
        put_mmap2(&file.records, &piece);
        if (i >= MAPS) put_chain(&file.records, MISC_USER, 7, 7, NS + 2 * i + 1, one_frame, 2);
    }
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, SAMPLES);
    unsigned refreshed = 1;
    for (size_t i = 1; i < r.count; i++) refreshed += r.seen[i].image_count != r.seen[i - 1].image_count;
    ck_assert_uint_ge(refreshed, SAMPLES / 4);
    ck_assert_uint_le(refreshed, SAMPLES / 2);
    free(r.seen);
}
END_TEST

/* Names of events are not cut: two can begin with the same 63 bytes. */
START_TEST(test_long_event_name) {
    char name[101];
    struct perf_file file = plain_file();
    memset(name, 'n', 100);
    name[100] = '\0';
    file.attributes[0].name = name;
    put_chain(&file.records, MISC_USER, 7, 7, NS, one_frame, 2);
    struct builder bytes = make_file(&file);
    struct reading r = begin_reading(&bytes);
    r.options.sample = see_event;
    ck_assert_int_eq(go(&r), USP_OK);
    ck_assert_uint_eq(r.count, 100);
    builder_free(&bytes);
}
END_TEST

/* Data outside of a record's size is skipped without reading it, except in a pipe. */
START_TEST(test_skips) {
    static const uint64_t sizes[] = {0x100000, UINT64_MAX - 8};
    for (unsigned i = 0; i < 4; i++) {
        const bool is_cut = i / 2 != 0, is_pipe = i % 2 != 0;
        struct perf_file file = plain_file();
        const size_t from = begin_record(&file.records, 71, 0);
        put(&file.records, 8, sizes[is_cut]);
        for (unsigned k = 0; k < 4; k++) put(&file.records, 8, 0);
        end_record(&file.records, from);
        for (unsigned k = 0; k < 0x100000 / 8; k++) put(&file.records, 8, 0);
        put_chain(&file.records, MISC_USER, 7, 7, NS, one_frame, 2);
        struct builder bytes = is_pipe ? make_stream(&file) : make_file(&file);
        struct reading r = begin_reading(&bytes);
        if (is_pipe) r.options.file_size = UINT64_MAX;
        r.piece = 4096;
        ck_assert_int_eq(go(&r), is_cut ? USP_ERROR_TRUNCATED : USP_OK);
        ck_assert_uint_eq(r.count, is_cut ? 0 : 1);
        if (!is_pipe) ck_assert_uint_lt(r.bytes_read, 0x80000);
        builder_free(&bytes);
        free(r.seen);
    }
}
END_TEST

/* A fork that perf describes for a process that existed before: all maps follow it, and none are the parent's. */
START_TEST(test_described_fork) {
    struct perf_file file = plain_file();
    put_mmap2(&file.records, &app);
    const size_t at = file.records.size;
    put_task(&file.records, 7, 9, 7, 9, 7, 0);
    patch(&file.records, at + 4, 2, MISC_EXEC);
    put_chain(&file.records, MISC_USER, 9, 9, NS, one_frame, 2);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_str_eq(r.seen[0].image[0], "");
    free(r.seen);
}
END_TEST

/* Pieces of a file are one image; other memory that is mapped over it later is not the file's any more. */
START_TEST(test_pieces_and_holes) {
    static const uint64_t chain[] = {CHAIN_USER, 0x401000, 0x405000, 0x409000};
    struct perf_file file = plain_file();
    struct mapping first = app, second = app, anonymous = app, data = app;
    first.size = 0x4000;
    second.low = 0x404000;
    second.offset = 0x4000;
    second.size = 0xc000;
    anonymous.path = "//anon";
    anonymous.low = 0x404000;
    anonymous.size = 0x2000;
    anonymous.time = 2 * NS;
    data.path = "/no/such/data";
    data.is_data = true;
    data.low = 0x500000;
    put_mmap2(&file.records, &second);
    put_mmap2(&file.records, &first);
    put_mmap2(&file.records, &data);
    put_chain(&file.records, MISC_USER, 7, 7, NS, chain, 4);
    put_mmap2(&file.records, &anonymous);
    put_chain(&file.records, MISC_USER, 7, 7, 3 * NS, chain, 4);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.seen[0].image_count, 1);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_str_eq(r.seen[0].image[i], "/no/such/app");
        ck_assert_uint_eq(r.seen[0].load[i], 0x400000);
    }
    ck_assert_str_eq(r.seen[1].image[0], "/no/such/app");
    ck_assert_str_eq(r.seen[1].image[2], "/no/such/app");
    free(r.seen);
}
END_TEST

#define ID "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14"

static void put_build_id(struct builder *b, uint32_t misc, const char *id, unsigned size, const char *path) {
    const size_t from = begin_record(b, 67, misc);
    put(b, 4, UINT32_MAX);
    put_bytes(b, id, size);
    while (b->size < from + 12 + 20) put(b, 1, 0);
    put(b, 1, size);
    put(b, 3, 0xabcdef); /* perf leaves garbage there */
    put_padded(b, path);
    end_record(b, from);
}

/* Build ids of maps, and of the feature: with their size, and with zeros in its place. */
START_TEST(test_build_ids) {
    static const uint64_t chain[] = {CHAIN_USER, 0x400100, 0x500100, 0x600100};
    static const uint32_t sizes[] = {20, 16, 8};
    struct perf_file file = plain_file();
    struct mapping with_id = app, listed = app, short_id = app;
    with_id.build_id = ID;
    listed.low = 0x500000;
    listed.path = "/no/such/listed";
    short_id.low = 0x600000;
    short_id.path = "/no/such/short";
    put_mmap2(&file.records, &with_id);
    put_mmap2(&file.records, &listed);
    put_mmap2(&file.records, &short_id);
    put_chain(&file.records, MISC_USER, 7, 7, NS, chain, 4);
    put_build_id(&file.build_ids, MISC_USER | MISC_SIZE, ID, 16, "/no/such/listed");
    put_build_id(&file.build_ids, MISC_USER, ID, 8, "/no/such/short");
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(r.seen[0].id_size[i], sizes[i]);
        ck_assert_mem_eq(r.seen[0].id[i], ID, sizes[i]);
    }
    free(r.seen);
}
END_TEST

static void write_kernel_list(const char *text) {
    char path[512], command[600];
    snprintf(path, sizeof path, "%s/.build-id/01/02030405060708090a0b0c0d0e0f1011121314", folder);
    snprintf(command, sizeof command, "mkdir -p '%s'", path);
    ck_assert_int_eq(system(command), 0);
    strcat(path, "/kallsyms");
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

/* Reads a recording with one sample at a pc of the kernel, which has `size` bytes of code. */
static void read_kernel_sample(struct reading *r, uint64_t size, uint64_t pc,
                               int (*sample)(void *, const struct usp_recording_sample *)) {
    const uint64_t chain[] = {CHAIN_KERNEL, pc};
    struct perf_file file = plain_file();
    char error[64];
    put_mmap(&file.records, MISC_KERNEL, UINT32_MAX, 0xffffffff81000000, size, "[kernel.kallsyms]_text", 0);
    put_mmap(&file.records, MISC_KERNEL, UINT32_MAX, 0xffffffffc0200000, 0x4000, "[a_module]", 0);
    put_mmap(&file.records, MISC_KERNEL, UINT32_MAX, 0xffffffffc0204000, 0x4000, "/lib/modules/6.1/net/b-module.ko.xz",
             0);
    put_chain(&file.records, MISC_KERNEL, 7, 7, NS, chain, 2);
    put_build_id(&file.build_ids, MISC_KERNEL | MISC_SIZE, ID, 20, "[kernel.kallsyms]");
    struct builder bytes = make_file(&file);
    *r = begin_reading(&bytes);
    r->options.sample = sample;
    r->options.context = r;
    ck_assert_int_eq(usp_recording_read(&r->options, &r->info, error, sizeof error), USP_OK);
    ck_assert_uint_eq(r->count, 1);
    builder_free(&bytes);
}

/* Names the innermost frame. */
static int see_name(void *context, const struct usp_recording_sample *sample) {
    struct reading *r = context;
    struct usp_symbolizer_options options;
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    usp_symbolizer_options_init(&options);
    options.build_ids = folder;
    ck_assert_int_eq(usp_symbolizer_create(sample->images, &options, &symbolizer), USP_OK);
    const int status = usp_symbolize(symbolizer, sample->stack->frames[0].pc, &symbol);
    snprintf(r->error, sizeof r->error, "%s", status == USP_OK && symbol.name != NULL ? symbol.name : "none");
    usp_symbolizer_free(symbolizer);
    r->count++;
    return USP_OK;
}

/* The kernel's functions are named by the list of its symbols that perf keeps for its build id. They count from the
 * kernel's first instruction, because the kernel is loaded elsewhere each time. Those of modules are not its own: they
 * name the modules' functions, if the list is of the same start of the kernel. */
START_TEST(test_kernel_names) {
    static const char *const lists[] = {
        "ffffffff91000000 T _text\nffffffff91000000 T _stext\nffffffff91000100 t ___local\nffffffff91000100 T first\n"
        "ffffffff91000100 T __first\nffffffff91000180 D data\nffffffff91000200 W second\nffffffff91000300 T third\n"
        "ffffffff91000280 t other\t[module]\nffffffff90000000 t low\t[module]",
        "ffffffff91000000 T _stext\nffffffff91000100 T first\nffffffff91000200 T second\nnonsense\n\nffff",
        "0000000000000000 T _text\n0000000000000000 T first\n",
        "",
        /* Modules follow, in any order, each with its own functions. */
        "ffffffff81000000 T _text\nffffffff81000100 T first\nffffffffc0200200 t late\t[a_module]\n"
        "ffffffffc0200100 t early\t[a_module]\nffffffffc0200180 d data\t[a_module]\n"
        "ffffffffc0204010 T other\t[b_module]\nffffffffc0200180 t stray\t[module]\n",
        "ffffffff91000000 T _text\nffffffffc0200100 t early\t[a_module]\n",
    };
    static const struct {
        unsigned list;
        uint64_t pc;
        const char *name;
    } cases[] = {
        {0, 0xffffffff81000100, "first"},
        {0, 0xffffffff810001ff, "first"},
        {0, 0xffffffff810002f0, "second"},
        {0, 0xffffffff81000300, "third"},
        {1, 0xffffffff81000104, "first"},
        {1, 0xffffffff81000204, "second"},
        {2, 0xffffffff81000100, "none"},
        {3, 0xffffffff81000100, "none"},
        {4, 0xffffffffc0200110, "early"},
        {4, 0xffffffffc02001ff, "early"},
        {4, 0xffffffffc0200200, "late"},
        {4, 0xffffffffc0204020, "other"},
        {4, 0xffffffffc0200010, "none"},
        {4, 0xffffffff81000100, "first"},
        /* A list of another start of the kernel, which had its modules elsewhere. */
        {5, 0xffffffffc0200110, "none"},
    };
    struct reading r;
    write_kernel_list(lists[cases[_i].list]);
    read_kernel_sample(&r, 0x100000, cases[_i].pc, see_name);
    ck_assert_str_eq(r.error, cases[_i].name);
}
END_TEST

/* Writes a list of 3,000 functions. Each has many aliases, of which the best comes first, or data behind it. */
static void write_long_list(void) {
    const size_t size = 8000000;
    char *text = malloc(size);
    ck_assert_ptr_nonnull(text);
    size_t n = (size_t)snprintf(text, size, "ffffffff91000000 T _text\n");
    for (unsigned i = 1; i <= 3000; i++) {
        n += (size_t)snprintf(text + n, size - n, "ffffffff91%06x T function_%u\n", i * 0x100, i);
        for (unsigned j = i % 100; j < (i % 1000 == 7 ? 3000 : 10); j++)
            n += (size_t)snprintf(text + n, size - n, "ffffffff91%06x %s_%u\n", i * 0x100 + i % 2,
                                  i % 2 ? "d data" : "t alias", j);
    }
    write_kernel_list(text);
    free(text);
}

/* Names the first and the last address of each function. */
static int see_all_names(void *context, const struct usp_recording_sample *sample) {
    struct reading *r = context;
    struct usp_symbolizer_options options;
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    char wanted[32];
    usp_symbolizer_options_init(&options);
    options.build_ids = folder;
    ck_assert_int_eq(usp_symbolizer_create(sample->images, &options, &symbolizer), USP_OK);
    for (unsigned i = 0; i < 6000; i++) {
        const unsigned n = i * 7 % 6000 / 2 + 1;
        snprintf(wanted, sizeof wanted, "function_%u", n);
        ck_assert_int_eq(usp_symbolize(symbolizer, 0xffffffff81000000 + n * 0x100 + i % 2 * 0xff, &symbol), USP_OK);
        ck_assert_str_eq(symbol.name, wanted);
    }
    usp_symbolizer_free(symbolizer);
    r->count++;
    return USP_OK;
}

/* A long list is searched, not read, until many addresses were asked for: the names are those of the whole list. */
START_TEST(test_long_kernel_list) {
    struct reading r;
    write_long_list();
    read_kernel_sample(&r, 0x1000000, 0xffffffff81000100, see_all_names);
}
END_TEST

/* Kernels with pages of 64 KB map code from the beginning of a page, which in the file belongs to the segment before it,
 * too. Those with pages of 4 KB map it exactly. */
START_TEST(test_page_sizes) {
    static const struct {
        uint64_t low, offset;
    } maps[] = {{0x5ef000, 0x1f000}, {0x5e0000, 0x10000}};
    struct builder elf = {0};
    put_elf_header(&elf, true, 3, elf_machine(USP_ARCH_ARM64), 2);
    put_elf_segment(&elf, true, 1, 4, 0, 0, 0x1e800, 0x1e800, 0x10000);
    put_elf_segment(&elf, true, 1, 5, 0x1f000, 0x2f000, 0x8000, 0x8000, 0x10000);
    pad_to(&elf, 0x27000);
    make_folder();
    save(&elf, in_folder("lib.so"));
    struct perf_file file = plain_file();
    file.arch = "aarch64";
    struct mapping lib = app;
    lib.path = in_folder("lib.so");
    lib.low = maps[_i].low;
    lib.offset = maps[_i].offset;
    lib.size = 0x5f7000 - lib.low;
    static const uint64_t chain[] = {CHAIN_USER, 0x5ef100};
    put_mmap2(&file.records, &lib);
    put_chain(&file.records, MISC_USER, 7, 7, NS, chain, 2);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_str_eq(r.seen[0].image[0], in_folder("lib.so"));
    ck_assert_uint_eq(r.seen[0].load[0], 0x5c0000);
    free(r.seen);
    builder_free(&elf);
    remove_folder();
}
END_TEST

/* A file that was deleted keeps its plain path, and does not get the build id of the path. */
START_TEST(test_deleted) {
    struct perf_file file = plain_file();
    struct mapping deleted = app;
    deleted.path = "/no/such/app (deleted)";
    put_mmap2(&file.records, &deleted);
    put_chain(&file.records, MISC_USER, 7, 7, NS, one_frame, 2);
    put_build_id(&file.build_ids, MISC_USER | MISC_SIZE, ID, 20, "/no/such/app");
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_str_eq(r.seen[0].image[0], "/no/such/app");
    ck_assert_uint_eq(r.seen[0].id_size[0], 0);
    free(r.seen);
}
END_TEST

/* simpleperf moves callers into their calls: they must not be moved again. A table of its own names the events. */
START_TEST(test_simpleperf) {
    static const uint64_t chain[] = {CHAIN_USER, 0x400100, 0x4001ff};
    struct perf_file file = plain_file();
    static const char meta[] = "first\0event_type_info\0event_type_info\0other,1,5\ncpu-clock,1,0\nlast,2,0";
    file.meta = meta;
    file.meta_size = sizeof meta;
    file.attributes[0].name = NULL;
    put_mmap2(&file.records, &app);
    put_chain(&file.records, MISC_USER, 7, 7, NS, chain, 3);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(usp_frame_call_site(USP_ARCH_X86_64, &r.seen[0].frames[1]), 0x4001ff);
    ck_assert_str_eq(r.seen[0].event, "cpu-clock");
    free(r.seen);
}
END_TEST

/* ---- parts of chains ---- */

/* Maps whose beginning or offset would make an image of more than the map, so that it hid other files' images: perf
 * 3.8's map of a relocated kernel, the vdso of old kernels, and a library inside a package. */
START_TEST(test_maps_hide_no_images) {
    static const uint64_t kernel_start = 0xffffffff96600198, vdso_start = 0x7fff36362000;
    static const struct mapping maps[] = {
        {.pid = UINT32_MAX,
         .misc = MISC_KERNEL,
         .low = 0x15600000,
         .size = 0xffffffffaa9fffff,
         .offset = kernel_start,
         .path = "[kernel.kallsyms]_stext"},
        {.pid = 7, .low = 0x7f0000000000, .size = 0x10000, .path = "/no/such/lib.so"},
        {.pid = 7, .low = 0x7f0000100000, .size = 0x10000, .offset = 0x2000000, .path = "/no/such/base.apk"},
        {.pid = 7, .low = vdso_start, .size = 0x1000, .offset = vdso_start, .path = "[vdso]"}};
    static const uint64_t chain[] = {CHAIN_KERNEL,   kernel_start + 16, CHAIN_USER,
                                     0x7f0000000100, 0x7f0000100100,    vdso_start + 16};
    static const char *const images[] = {"[kernel.kallsyms]", "/no/such/lib.so", "/no/such/base.apk", "[vdso]"};
    struct perf_file file = plain_file();
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) put_mmap2(&file.records, &maps[i]);
    put_chain(&file.records, MISC_KERNEL, 7, 7, 5 * NS, chain, 6);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 1);
    ck_assert_uint_eq(r.seen[0].count, 4);
    for (size_t i = 0; i < 4; i++) ck_assert_str_eq(r.seen[0].image[i], images[i]);
    /* The kernel's functions count from its first symbol. */
    ck_assert_uint_eq(r.seen[0].load[0], kernel_start);
    ck_assert_uint_eq(r.seen[0].load[3], vdso_start);
    free(r.seen);
}
END_TEST

/* No frame is at address 0, which kernels write at the end of a chain of frame records, and for a process without
 * registers. */
START_TEST(test_zeros_in_chains) {
    static const uint64_t ends[] = {CHAIN_USER, 0x400100, 0x400200, 0};
    static const uint64_t begins[] = {CHAIN_USER, 0, 0x400200};
    struct perf_file file = plain_file();
    put_mmap2(&file.records, &app);
    put_chain(&file.records, MISC_USER, 7, 7, NS, ends, 4);
    put_chain(&file.records, MISC_USER, 7, 7, 2 * NS, begins, 3);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 2);
    ck_assert_uint_eq(r.seen[0].count, 2);
    ck_assert_uint_eq(r.seen[1].count, 1);
    ck_assert_uint_eq(r.seen[1].frames[0].pc, 0x400200);
    ck_assert_uint_eq(r.seen[1].frames[0].kind, USP_FRAME_KIND_RETURN_ADDRESS);
    free(r.seen);
}
END_TEST

static void put_calls(struct builder *b, const uint64_t *calls, size_t count) {
    put(b, 8, count);
    for (size_t i = 0; i < count; i++) {
        put(b, 8, calls[i]);
        put(b, 8, 0x400100); /* the function that was called */
        put(b, 8, 0);
    }
}

/* perf record --call-graph lbr: the processor has recorded the calls that have not returned. They replace the process's
 * frame chain, but not where the sample was taken. Branches of another kind are not calls. */
START_TEST(test_recorded_calls) {
    static const uint64_t chain[] = {CHAIN_KERNEL, 0xffffffff81000010, CHAIN_USER, 0x400123, 0x400999};
    static const uint64_t calls[] = {0x4001fb, 0x4002fb};
    for (unsigned i = 0; i < 3; i++) {
        const bool are_calls = i != 1, has_none = i == 2;
        struct perf_file file = plain_file();
        file.attributes[0].sample_type |= S_BRANCHES;
        file.attributes[0].branch_type = are_calls ? 1 << 11 : 1 << 3;
        put_mmap2(&file.records, &app);
        const size_t from = begin_record(&file.records, 9, MISC_KERNEL);
        put(&file.records, 8, chain[1]);
        put(&file.records, 4, 7);
        put(&file.records, 4, 7);
        put(&file.records, 8, NS);
        put(&file.records, 8, 5);
        for (size_t k = 0; k < 5; k++) put(&file.records, 8, chain[k]);
        put_calls(&file.records, calls, has_none ? 0 : 2);
        end_record(&file.records, from);
        struct builder bytes = make_file(&file);
        struct reading r = read_whole(&bytes);
        const struct seen *s = &r.seen[0];
        ck_assert_uint_eq(r.count, 1);
        ck_assert_uint_eq(s->count, are_calls && !has_none ? 4 : 3);
        ck_assert_uint_eq(s->frames[0].pc, chain[1]);
        ck_assert_uint_eq(s->frames[1].pc, 0x400123);
        ck_assert_uint_eq(s->frames[2].pc, are_calls && !has_none ? calls[0] : chain[4]);
        if (are_calls && !has_none) {
            /* A call's own address, not the one after it. */
            ck_assert_uint_eq(usp_frame_call_site(USP_ARCH_X86_64, &s->frames[2]), calls[0]);
            ck_assert_uint_eq(s->frames[3].pc, calls[1]);
        }
        free(r.seen);
    }
}
END_TEST

/* Memory with a process's generated code is not that of a file, whatever name the kernel or .NET gives to it. So the
 * process's perf map names the code. */
START_TEST(test_memory_without_file) {
    static const char *const names[] = {"//anon",
                                        "/dev/zero (deleted)",
                                        "/anon_hugepage (deleted)",
                                        "/memfd:doublemapper (deleted)",
                                        "/SYSV00000000 (deleted)",
                                        "[heap]"};
    struct mapping map = app;
    struct perf_file file = plain_file();
    map.path = names[_i];
    put_mmap2(&file.records, &map);
    put_chain(&file.records, MISC_USER, 7, 7, NS, one_frame, 2);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 1);
    ck_assert_uint_eq(r.seen[0].frames[0].pc, 0x400100);
    ck_assert_msg(r.seen[0].image[0][0] == '\0', "%s is an image", names[_i]);
    free(r.seen);
}
END_TEST

/* ---- the user part in a later record (not seen from a kernel) ---- */

static void put_deferred(struct builder *b, uint64_t cookie, uint32_t tid, uint64_t time) {
    const size_t from = begin_record(b, 22, MISC_USER);
    put(b, 8, cookie);
    put(b, 8, 2);
    put(b, 8, 0x400100);
    put(b, 8, 0x400200);
    put_tail(b, 7, tid, time, 0);
    end_record(b, from);
}

START_TEST(test_deferred) {
    static const uint64_t one[] = {CHAIN_KERNEL, 0xffffffff81000010, CHAIN_DEFERRED, 5};
    static const uint64_t lost[] = {CHAIN_KERNEL, 0xffffffff81000010, CHAIN_DEFERRED, 6};
    struct perf_file file = plain_file();
    put_mmap2(&file.records, &app);
    put_chain(&file.records, MISC_KERNEL, 7, 7, 1 * NS, one, 4);
    put_chain(&file.records, MISC_KERNEL, 7, 8, 2 * NS, one, 4);
    put_chain(&file.records, MISC_KERNEL, 7, 7, 3 * NS, one, 4);
    put_deferred(&file.records, 5, 7, 4 * NS);
    put_chain(&file.records, MISC_KERNEL, 7, 7, 5 * NS, lost, 4);
    /* Of the process itself: the later record begins with the place that the sample has. */
    put_chain(&file.records, MISC_USER, 7, 9, 6 * NS, one + 2, 2);
    put_deferred(&file.records, 5, 9, 7 * NS);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 5);
    ck_assert_uint_eq(r.seen[2].tid, 9);
    ck_assert_uint_eq(r.seen[2].count, 2);
    ck_assert_uint_eq(r.seen[2].frames[0].pc, 0x400100);
    ck_assert_uint_eq(r.seen[2].frames[0].kind, USP_FRAME_KIND_INTERRUPTED);
    ck_assert_uint_eq(r.seen[2].frames[1].pc, 0x400200);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(r.seen[i].tid, 7);
        ck_assert_uint_eq(r.seen[i].count, 3);
        ck_assert_uint_eq(r.seen[i].frames[1].pc, 0x400100);
        ck_assert_uint_eq(r.seen[i].frames[1].kind, USP_FRAME_KIND_INTERRUPTED);
        ck_assert_uint_eq(r.seen[i].frames[2].kind, USP_FRAME_KIND_RETURN_ADDRESS);
    }
    for (size_t i = 3; i < 5; i++) {
        ck_assert_uint_eq(r.seen[i].count, 1);
        ck_assert_uint_eq(r.seen[i].stop, USP_STOP_NOT_COPIED);
    }
    free(r.seen);
}
END_TEST

/* ---- compression, cut files ---- */

/* Records cross the pieces, of which some end inside a record's header. */
START_TEST(test_compressed) {
    struct perf_file file = plain_file();
    struct builder inner = {0};
    put_mmap2(&inner, &app);
    for (unsigned i = 0; i < 50; i++) put_chain(&inner, MISC_USER, 7, 7, NS + i, one_frame, 2);
    put_compressed(&file.records, &inner, _i % 2 == 0 ? 53 : 4, _i < 2 ? 81 : 83);
    builder_free(&inner);
    struct builder bytes = make_file(&file);
    struct reading r = begin_reading(&bytes);
    const int status = go(&r);
    builder_free(&bytes);
    if (status == USP_ERROR_UNSUPPORTED) return; /* a build without zstd */
    ck_assert_msg(status == USP_OK, "%s", r.error);
    ck_assert_uint_eq(r.count, 50);
    ck_assert_str_eq(r.seen[49].image[0], "/no/such/app");
    free(r.seen);
}
END_TEST

/* A file that ends anywhere gives the samples that are whole, and says that it is cut. */
START_TEST(test_cut_anywhere) {
    struct perf_file file = plain_file();
    struct mapping with_id = app;
    with_id.build_id = ID;
    put_mmap2(&file.records, &with_id);
    for (unsigned i = 0; i < 5; i++) put_chain(&file.records, MISC_USER, 7, 7, NS + i, one_frame, 2);
    struct builder bytes = make_file(&file);
    const size_t whole = bytes.size;
    size_t count = 0;
    for (size_t n = 0; n < whole; n++) {
        bytes.size = n;
        struct reading r = begin_reading(&bytes);
        const int status = go(&r);
        const int expected = n < 16 ? USP_ERROR_FORMAT : USP_ERROR_TRUNCATED;
        ck_assert_msg(status == expected, "%zu bytes: status %d, not %d", n, status, expected);
        ck_assert_int_eq(r.error[0] != '\0', status != USP_OK);
        ck_assert_uint_ge(r.count, count);
        count = r.count;
        free(r.seen);
    }
    ck_assert_uint_eq(count, 5);
    bytes.size = whole;
    builder_free(&bytes);
}
END_TEST

/* perf was killed: the header has no size of the records. */
START_TEST(test_unfinished) {
    struct perf_file file = plain_file();
    file.is_unfinished = true;
    put_chain(&file.records, MISC_USER, 7, 7, NS, one_frame, 2);
    struct builder bytes = make_file(&file);
    struct reading r = begin_reading(&bytes);
    ck_assert_int_eq(go(&r), USP_ERROR_TRUNCATED);
    ck_assert_uint_eq(r.count, 1);
    builder_free(&bytes);
    free(r.seen);
}
END_TEST

START_TEST(test_refused) {
    static const struct {
        const char *magic;
        int status;
    } files[] = {
        {"2ELIFREP", USP_ERROR_UNSUPPORTED}, {"PERFFILE", USP_ERROR_UNSUPPORTED}, {"PERFILEX", USP_ERROR_FORMAT}};
    struct perf_file file = plain_file();
    struct builder bytes = make_file(&file);
    memcpy(bytes.bytes, files[_i].magic, 8);
    struct reading r = begin_reading(&bytes);
    ck_assert_int_eq(go(&r), files[_i].status);
    ck_assert_str_ne(r.error, "");
    builder_free(&bytes);
}
END_TEST

/* ---- stack dumps ---- */

#define DUMP_MAX 32768u

/* This process, in a function that a signal interrupted. */
static struct {
    struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_registers registers;
    uint8_t dump[DUMP_MAX];
    size_t size;
} interrupted;

static usp_addr stack_end;

/* Copies the stack as the kernel does, also what AddressSanitizer has poisoned. */
static USPI_NO_ASAN void keep_stack(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    usp_stack_init(&interrupted.stack, interrupted.frames, 64);
    usp_capture_context(context, NULL, &interrupted.stack);
    usp_registers_from_state(&interrupted.registers, usp_arch_host(), USP_THREAD_STATE_LINUX_UCONTEXT, context,
                             sizeof(ucontext_t));
    const usp_addr sp = usp_registers_sp(&interrupted.registers);
    interrupted.size = stack_end - sp < DUMP_MAX ? (size_t)(stack_end - sp) : DUMP_MAX;
    const volatile uint8_t *from = (const volatile uint8_t *)(uintptr_t)sp;
    for (size_t i = 0; i < interrupted.size; i++) interrupted.dump[i] = from[i];
}

static __attribute__((noinline)) int interrupt_deep(int depth) {
    const int result = depth > 0 ? interrupt_deep(depth - 1) + 1 : raise(SIGUSR1);
    __asm__ volatile("" ::: "memory");
    return result;
}

/* Puts this process's executable maps, and finds the end of its stack. */
static void put_own_maps(struct builder *b) {
    char line[4352], access[8], path[4097];
    unsigned long low, high, offset;
    FILE *maps = fopen("/proc/self/maps", "r");
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        path[0] = '\0';
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4096[^\n]", &low, &high, access, &offset, path) < 4) continue;
        if (strcmp(path, "[stack]") == 0) stack_end = high;
        if (access[2] != 'x' || path[0] != '/') continue;
        const struct mapping map = {.pid = 7, .low = low, .size = high - low, .offset = offset, .path = path};
        put_mmap2(b, &map);
    }
    fclose(maps);
}

/* Puts a sample with the dump in perf's order of registers; `valid` bytes of it. */
static void put_dump(struct builder *b, size_t size, size_t valid, uint64_t abi) {
    static const unsigned x86_64[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 0, 0, 0, 8, 9, 10, 11, 12, 13, 14, 15};
    const bool is_x86 = usp_arch_host() == USP_ARCH_X86_64;
    const size_t from = begin_record(b, 9, MISC_USER);
    put(b, 8, usp_registers_pc(&interrupted.registers));
    put(b, 4, 7);
    put(b, 4, 7);
    put(b, 8, NS);
    put(b, 8, 0);
    put(b, 8, abi);
    for (unsigned i = 0; abi != 0 && i < (is_x86 ? 20 : 33); i++)
        put(b, 8, interrupted.registers.value[is_x86 ? x86_64[i] : i]);
    put(b, 8, size);
    if (size > 0) {
        put_bytes(b, interrupted.dump, size);
        put(b, 8, valid);
    }
    end_record(b, from);
}

static struct perf_file dump_file(void) {
    const bool is_x86 = usp_arch_host() == USP_ARCH_X86_64;
    struct perf_file file = plain_file();
    struct sigaction action = {.sa_sigaction = keep_stack, .sa_flags = SA_SIGINFO}, before;
    file.arch = is_x86 ? "x86_64" : "aarch64";
    file.attributes[0].sample_type |= S_REGISTERS | S_STACK;
    file.attributes[0].registers = is_x86 ? 0xff0fff : 0x1ffffffff;
    put_own_maps(&file.records);
    usp_prepare(NULL);
    sigaction(SIGUSR1, &action, &before);
    interrupt_deep(10);
    sigaction(SIGUSR1, &before, NULL);
    ck_assert_uint_gt(interrupted.stack.count, 14);
    return file;
}

static bool has_dumps(void) { return usp_arch_host() == USP_ARCH_X86_64 || usp_arch_host() == USP_ARCH_ARM64; }

/* The dump has the frames that the process had itself. */
START_TEST(test_dump) {
    if (!has_dumps()) return;
    struct perf_file file = dump_file();
    /* perf writes a dump of the requested size, of which a part is valid. */
    put_dump(&file.records, interrupted.size, interrupted.size - 8, 2);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 1);
    ck_assert_uint_eq(r.info.unwound, 1);
    const struct seen *s = &r.seen[0];
    /* The process knows its roots; of a recording they are not known, and the walk goes on to the program's entry. */
    ck_assert_uint_ge(s->count, interrupted.stack.count);
#ifdef __GLIBC__ /* no table describes musl's entry */
    ck_assert_uint_eq(s->stop, USP_STOP_ROOT);
#endif
    for (size_t i = 0; i < interrupted.stack.count; i++) ck_assert_uint_eq(s->frames[i].pc, interrupted.frames[i].pc);
    ck_assert_uint_eq(r.info.short_dumps, 0);
    free(r.seen);
}
END_TEST

/* A dump that ends before the stack: the frames up to there, none that is invented, and the reason. */
START_TEST(test_short_dump) {
    if (!has_dumps()) return;
    struct perf_file file = dump_file();
    const usp_addr sp = usp_registers_sp(&interrupted.registers);
    const size_t size = (size_t)(interrupted.frames[6].cfa - sp) / 8 * 8;
    ck_assert_uint_lt(size, interrupted.size);
    put_dump(&file.records, size, size, 2);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    const struct seen *s = &r.seen[0];
    ck_assert_uint_ge(s->count, 6);
    ck_assert_uint_le(s->count, 8);
    for (size_t i = 0; i < s->count; i++) ck_assert_uint_eq(s->frames[i].pc, interrupted.frames[i].pc);
    ck_assert_uint_eq(s->stop, USP_STOP_NOT_COPIED);
    /* No reader has searched the code for another return address. */
    ck_assert_uint_eq(s->stop_address, s->frames[s->count - 1].pc);
    ck_assert_uint_eq(r.info.short_dumps, 1);
    free(r.seen);
}
END_TEST

/* A dump of which perf has used a small part: the rest is not read, and the next record is whole. The stack does not
 * continue after such a dump. */
START_TEST(test_unused_dump) {
    if (!has_dumps()) return;
    struct perf_file file = dump_file();
    const usp_addr sp = usp_registers_sp(&interrupted.registers);
    const size_t valid = (size_t)(interrupted.frames[6].cfa - sp) / 8 * 8;
    put_dump(&file.records, interrupted.size, valid, 2);
    put_dump(&file.records, interrupted.size, interrupted.size - 8, 2);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 2);
    ck_assert_uint_eq(r.info.unwound, 2);
    ck_assert_uint_eq(r.info.short_dumps, 0);
    const struct seen *part = &r.seen[0], *whole = &r.seen[1];
    ck_assert_uint_ge(part->count, 6);
    ck_assert_msg(part->count <= 8, "%u frames: bytes after the valid ones were read", part->count);
    for (size_t i = 0; i < 6; i++) ck_assert_uint_eq(part->frames[i].pc, interrupted.frames[i].pc);
    for (size_t i = 0; i < interrupted.stack.count; i++)
        ck_assert_uint_eq(whole->frames[i].pc, interrupted.frames[i].pc);
    free(r.seen);
}
END_TEST

/* A thread of the kernel has no registers; a dump of size 0 has no valid size. */
START_TEST(test_no_dump) {
    struct perf_file file = plain_file();
    file.attributes[0].sample_type |= S_REGISTERS | S_STACK;
    file.attributes[0].registers = 0xff0fff;
    memset(&interrupted, 0, sizeof interrupted);
    usp_registers_init(&interrupted.registers, usp_arch_host());
    usp_registers_set_pc(&interrupted.registers, 0x400100);
    put_mmap2(&file.records, &app);
    put_dump(&file.records, 0, 0, 0);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    ck_assert_uint_eq(r.count, 1);
    ck_assert_uint_eq(r.seen[0].count, 1);
    ck_assert_uint_eq(r.seen[0].frames[0].pc, 0x400100);
    free(r.seen);
}
END_TEST

/* On arm64 the kernel follows frame records, so it misses the caller of a function that has not made its own. The link
 * register has that caller, if perf has sampled it. It is neither lost nor shown twice. */
START_TEST(test_leaf_caller) {
    static const char meta[] = "arm64_pac_mask\0"
                               "0x7fff8000000000";
    const uint32_t arch = USP_ARCH_ARM64;
    const uint64_t start = function_at(INNER), inner = after_call(arch, INNER);
    const uint64_t caller = after_call(arch, CALLER), outer = after_call(arch, OUTER);
    const struct {
        uint64_t chain[3];
        size_t count;
        uint64_t link;
        uint64_t expected[4]; /* 0: the end */
    } cases[] = {
        /* Before its frame record is made, and at the return. */
        {{start, outer}, 2, caller, {start, caller, outer}},
        {{start + 20, outer}, 2, caller, {start + 20, caller, outer}},
        {{start}, 1, caller, {start, caller}},
        /* The record is there: the link register may hold anything. */
        {{inner, caller, outer}, 3, caller, {inner, caller, outer}},
        {{inner, caller, outer}, 3, outer, {inner, caller, outer}},
        /* The register was not sampled. */
        {{start, outer}, 2, 0, {start, outer}},
        /* Android's kernels have addresses of 39 bits. simpleperf says which bits are a signature. */
        {{start, outer}, 2, caller | UINT64_C(1) << 40, {start, caller, outer}},
    };
    struct builder elf = {0};
    build_elf_program(&elf, arch, NULL);
    make_folder();
    save(&elf, in_folder("program"));
    struct perf_file file = plain_file();
    struct mapping program = app;
    const uint64_t link = cases[_i].link;
    file.arch = "aarch64";
    if (link >> 40 != 0) {
        file.meta = meta;
        file.meta_size = sizeof meta;
    }
    file.attributes[0].sample_type |= S_REGISTERS;
    file.attributes[0].registers = UINT64_C(1) << 30;
    program.path = in_folder("program");
    program.low = CODE;
    program.size = PAGE;
    program.offset = PAGE;
    put_mmap2(&file.records, &program);
    const size_t from = begin_record(&file.records, 9, MISC_USER);
    put(&file.records, 8, cases[_i].chain[0]);
    put(&file.records, 4, 7);
    put(&file.records, 4, 7);
    put(&file.records, 8, NS);
    put(&file.records, 8, cases[_i].count + 1);
    put(&file.records, 8, CHAIN_USER);
    for (size_t i = 0; i < cases[_i].count; i++) put(&file.records, 8, cases[_i].chain[i]);
    put(&file.records, 8, link != 0 ? 2 : 0);
    if (link != 0) put(&file.records, 8, link);
    end_record(&file.records, from);
    struct builder bytes = make_file(&file);
    struct reading r = read_whole(&bytes);
    size_t count = 0;
    while (count < 4 && cases[_i].expected[count] != 0) count++;
    ck_assert_uint_eq(r.count, 1);
    ck_assert_uint_eq(r.seen[0].count, count);
    for (size_t i = 0; i < count; i++) ck_assert_uint_eq(r.seen[0].frames[i].pc, cases[_i].expected[i]);
    free(r.seen);
    builder_free(&elf);
    remove_folder();
}
END_TEST

int main(void) {
    TCase *layouts = tcase_create("layouts");
    add_tests(layouts, test_chains, test_pipe, test_other_records, test_long_event_name, test_skips,
              test_zeros_in_chains, test_recorded_calls, test_maps_hide_no_images);
    add_loop_tests(layouts, 0, 11, test_attribute_sizes);
    add_loop_tests(layouts, 0, 2, test_several_events);
    add_loop_tests(layouts, 0, 2, test_group);
    add_loop_tests(layouts, 0, 7, test_leaf_caller);
    TCase *times = tcase_create("times");
    add_tests(times, test_order_of_times, test_no_rounds, test_records_that_wait, test_choices);
    TCase *maps = tcase_create("maps");
    add_tests(maps, test_fork_and_exec, test_described_fork, test_pieces_and_holes, test_build_ids, test_deleted,
              test_simpleperf, test_deferred, test_many_maps, test_many_changes);
    add_loop_tests(maps, 0, 6, test_memory_without_file);
    add_loop_tests(maps, 0, 2, test_order_of_maps);
    add_loop_tests(maps, 0, 3, test_many_forks);
    add_loop_tests(maps, 0, 2, test_page_sizes);
    TCase *names = tcase_create("names");
    tcase_add_checked_fixture(names, make_folder, remove_folder);
    add_loop_tests(names, 0, 15, test_kernel_names);
    tcase_add_test(names, test_long_kernel_list);
    TCase *damage = tcase_create("damage");
    add_loop_tests(damage, 0, 4, test_compressed);
    add_loop_tests(damage, 0, 3, test_refused);
    add_tests(damage, test_cut_anywhere, test_unfinished);
    TCase *dumps = tcase_create("dumps");
    add_tests(dumps, test_dump, test_short_dump, test_unused_dump, test_no_dump);
    return run_suite("recordings", layouts, times, maps, names, damage, dumps);
}
