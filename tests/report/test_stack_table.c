/* SPDX-License-Identifier: MIT */
/* Tests of the table of known stacks: which stacks are equal, identities across launches, bounds, threads. */
#include "tests/support/suite.h"
#include "tests/support/text_fixtures.h"

#include <pthread.h>
#include <stdatomic.h>

static const struct made_image first_launch[] = {
    {"/app/main", 0x100000, 0x10000, USP_IMAGE_MAIN, "build-of-main"},
    {"/app/lib.so", 0x200000, 0x10000, 0, "build-of-lib"},
    {"/app/nameless.so", 0x300000, 0x10000, 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static struct usp_stack_table *table_for(const struct usp_images *images, uint32_t max_stacks, uint32_t max_frames) {
    struct usp_stack_table_options options;
    struct usp_stack_table *table;
    usp_stack_table_options_init(&options);
    options.images = images;
    options.max_stacks = max_stacks;
    options.max_frames = max_frames;
    ck_assert_int_eq(usp_stack_table_create(&options, &table), USP_OK);
    return table;
}

static uint64_t add(struct usp_stack_table *table, const struct usp_stack *stack, uint64_t time) {
    uint64_t number = 0;
    ck_assert_int_eq(usp_stack_table_add(table, stack, time, &number), USP_OK);
    ck_assert_uint_ne(number, 0);
    return number;
}

static struct usp_stack_table_statistics statistics_of(struct usp_stack_table *table) {
    struct usp_stack_table_statistics statistics;
    usp_stack_table_get_statistics(table, &statistics);
    return statistics;
}

START_TEST(counts_and_times) {
    static const usp_addr pcs[] = {0x100010, 0x200020, 0x100030};
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    struct usp_stack_table *table = table_for(images, 100, 1000);
    struct usp_frame frames[3], others[3];
    struct usp_stack stack = make_stack(frames, pcs, 3), other = make_stack(others, pcs, 3);
    uint64_t number = add(table, &stack, 100);
    /* The position of frames on the stack and the stop reason do not affect identity. */
    others[1].cfa = 0x9999;
    others[2].method = USP_FRAME_METHOD_INSTRUCTIONS;
    other.stop = USP_STOP_FP_ZERO;
    ck_assert_uint_eq(add(table, &other, 250), number);
    ck_assert_uint_eq(add(table, &stack, 170), number);

    struct usp_stack_record record;
    ck_assert_int_eq(usp_stack_table_get(table, number, &record), USP_OK);
    ck_assert_uint_eq(record.number, number);
    ck_assert_uint_eq(record.count, 3);
    ck_assert_uint_eq(record.first, 100);
    ck_assert_uint_eq(record.last, 250);
    ck_assert_uint_eq(record.stack.count, 3);
    ck_assert_uint_eq(record.stack.frames[1].pc, 0x200020);
    usp_stack_table_release(table, &record);
    ck_assert_ptr_null(record.stack.frames);
    usp_stack_table_release(table, &record);
    ck_assert_int_eq(usp_stack_table_get(table, number + 1, &record), USP_ERROR_NOT_FOUND);
    struct usp_stack_table_statistics statistics = statistics_of(table);
    ck_assert_uint_eq(statistics.stacks, 1);
    ck_assert_uint_eq(statistics.frames, 3);
    ck_assert_uint_eq(statistics.sightings, 3);
    usp_stack_table_free(table);
    usp_images_free(images);
}
END_TEST

/* The XOR of addresses, a hash that other programs use, would be equal for these stacks. */
START_TEST(permuted_stacks_differ) {
    static const usp_addr orders[6][3] = {
        {0x100010, 0x200020, 0x100030}, {0x100010, 0x100030, 0x200020}, {0x200020, 0x100010, 0x100030},
        {0x200020, 0x100030, 0x100010}, {0x100030, 0x100010, 0x200020}, {0x100030, 0x200020, 0x100010},
    };
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    struct usp_stack_table *table = table_for(images, 100, 1000);
    uint8_t identities[6][USP_STACK_IDENTITY_SIZE];
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 6; i++) {
            struct usp_frame frames[3];
            struct usp_stack_record record;
            struct usp_stack stack = make_stack(frames, orders[i], 3);
            uint64_t number = add(table, &stack, i);
            ck_assert_uint_eq(number, i + 1);
            ck_assert_int_eq(usp_stack_table_get(table, number, &record), USP_OK);
            ck_assert_uint_eq(record.count, (uint64_t)round + 1);
            memcpy(identities[i], record.identity, sizeof identities[i]);
            usp_stack_table_release(table, &record);
            for (unsigned k = 0; k < i; k++) {
                ck_assert_int_ne(memcmp(identities[k], identities[i], sizeof identities[i]), 0);
            }
        }
    }
    usp_stack_table_free(table);
    usp_images_free(images);
}
END_TEST

/* Differences between stacks besides addresses. */
START_TEST(shapes_differ) {
    static const usp_addr pcs[] = {0x100010, 0x200020, 0x100030};
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    struct usp_stack_table *table = table_for(images, 100, 1000);
    struct usp_frame frames[3];
    struct usp_stack stack = make_stack(frames, pcs, 3);
    uint64_t last = add(table, &stack, 0);
    frames[1].kind = USP_FRAME_KIND_SIGNAL;
    ck_assert_uint_eq(add(table, &stack, 0), ++last);
    frames[1].kind = USP_FRAME_KIND_RETURN_ADDRESS;
    stack.count = stack.physical = 2;
    ck_assert_uint_eq(add(table, &stack, 0), ++last);
    stack.count = stack.physical = 0;
    ck_assert_uint_eq(add(table, &stack, 0), ++last);
    ck_assert_uint_eq(add(table, &stack, 0), last);
    stack = make_stack(frames, pcs, 3);
    stack.omitted = 5;
    stack.omitted_at = 1;
    ck_assert_uint_eq(add(table, &stack, 0), ++last);
    stack.omitted = 6;
    ck_assert_uint_eq(add(table, &stack, 0), ++last);
    stack.omitted_at = 2;
    ck_assert_uint_eq(add(table, &stack, 0), ++last);
    stack = make_stack(frames, pcs, 3);
    stack.physical = 2;
    stack.async_join = 0;
    ck_assert_uint_eq(add(table, &stack, 0), ++last);
    stack.async_join = 1;
    ck_assert_uint_eq(add(table, &stack, 0), ++last);
    ck_assert_uint_eq(add(table, &stack, 0), last);
    usp_stack_table_free(table);
    usp_images_free(images);
}
END_TEST

static void identity_of(const struct made_image *images_table, const usp_addr *pcs, uint8_t *identity) {
    struct usp_images *images = make_images(images_table, USP_ARCH_ARM64);
    struct usp_stack_table *table = table_for(images, 10, 100);
    struct usp_frame frames[3];
    struct usp_stack stack = make_stack(frames, pcs, 3);
    struct usp_stack_record record;
    ck_assert_int_eq(usp_stack_table_get(table, add(table, &stack, 0), &record), USP_OK);
    memcpy(identity, record.identity, USP_STACK_IDENTITY_SIZE);
    usp_stack_table_release(table, &record);
    usp_stack_table_free(table);
    usp_images_free(images);
}

/* A build at another address and in another folder has the same identity, another build has not. */
START_TEST(identities_across_launches) {
    static const struct made_image second_launch[] = {
        {"/app/lib.so", 0x55000, 0x10000, 0, "build-of-lib"},
        {"/elsewhere/main", 0x710000, 0x10000, USP_IMAGE_MAIN, "build-of-main"},
        {"/elsewhere/nameless.so", 0x9990000, 0x10000, 0, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static const struct made_image other_build[] = {
        {"/app/main", 0x100000, 0x10000, USP_IMAGE_MAIN, "build-of-main"},
        {"/app/lib.so", 0x200000, 0x10000, 0, "build-of-LIB"},
        {"/app/nameless.so", 0x300000, 0x10000, 0, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static const usp_addr first[] = {0x200020, 0x100030, 0x300040}, second[] = {0x55020, 0x710030, 0x9990040},
                          swapped[] = {0x710020, 0x55030, 0x9990040};
    uint8_t a[USP_STACK_IDENTITY_SIZE], b[USP_STACK_IDENTITY_SIZE];
    identity_of(first_launch, first, a);
    identity_of(second_launch, second, b);
    ck_assert_mem_eq(a, b, sizeof a);
    identity_of(other_build, first, b);
    ck_assert_mem_ne(a, b, sizeof a);
    /* The same offsets, each in the other's image. */
    identity_of(second_launch, swapped, b);
    ck_assert_mem_ne(a, b, sizeof a);
    /* The identity is the same on every host and in every release, so it may be stored. */
    static const uint8_t stored[USP_STACK_IDENTITY_SIZE] = {0x70, 0x7d, 0x73, 0x1d, 0x3d, 0x7d, 0x35, 0xba,
                                                            0xe6, 0xba, 0x97, 0xdc, 0x83, 0xcd, 0x5c, 0xe0};
    ck_assert_mem_eq(a, stored, sizeof a);
}
END_TEST

struct lost {
    unsigned stacks;
    uint64_t sightings, last_number;
};

static void note_lost(void *context, const struct usp_stack_record *record) {
    struct lost *lost = context;
    lost->stacks++;
    lost->sightings += record->count;
    lost->last_number = record->number;
    ck_assert_uint_eq(record->stack.frames[0].pc, 0x1000 + record->first);
}

/* The table is full of stacks. The least recently seen stack is evicted and reported, and gets a new number when it is
 * seen again. */
START_TEST(evictions) {
    struct usp_stack_table_options options;
    struct usp_stack_table *table;
    struct lost lost = {0};
    usp_stack_table_options_init(&options);
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    options.images = images;
    options.max_stacks = 4;
    options.evicted = note_lost;
    options.context = &lost;
    ck_assert_int_eq(usp_stack_table_create(&options, &table), USP_OK);
    struct usp_frame frame;
    usp_addr pc;
    for (uint64_t i = 0; i < 4; i++) {
        pc = 0x1000 + i;
        struct usp_stack stack = make_stack(&frame, &pc, 1);
        ck_assert_uint_eq(add(table, &stack, i), i + 1);
    }
    pc = 0x1000;
    struct usp_stack stack = make_stack(&frame, &pc, 1);
    ck_assert_uint_eq(add(table, &stack, 0), 1); /* now the second is the oldest */
    struct usp_stack_record held;
    ck_assert_int_eq(usp_stack_table_get(table, 2, &held), USP_OK);
    pc = 0x1004;
    stack = make_stack(&frame, &pc, 1);
    ck_assert_uint_eq(add(table, &stack, 4), 5);
    ck_assert_uint_eq(lost.stacks, 1);
    ck_assert_uint_eq(lost.last_number, 2);
    /* A record that is not released stays valid, though its stack cannot be found any more. */
    struct usp_stack_record gone;
    ck_assert_int_eq(usp_stack_table_get(table, 2, &gone), USP_ERROR_NOT_FOUND);
    ck_assert_uint_eq(held.stack.frames[0].pc, 0x1001);
    usp_stack_table_release(table, &held);
    pc = 0x1001;
    stack = make_stack(&frame, &pc, 1);
    ck_assert_uint_eq(add(table, &stack, 1), 6);

    uint64_t numbers[4];
    ck_assert_uint_eq(usp_stack_table_numbers(table, numbers, 4), 4);
    static const uint64_t order[] = {6, 5, 1, 4};
    ck_assert_mem_eq(numbers, order, sizeof order);
    numbers[1] = 99;
    ck_assert_uint_eq(usp_stack_table_numbers(table, numbers, 1), 4);
    ck_assert_uint_eq(numbers[1], 99);
    ck_assert_uint_eq(usp_stack_table_numbers(table, NULL, 0), 4);

    struct usp_stack_table_statistics statistics = statistics_of(table);
    ck_assert_uint_eq(statistics.stacks, 4);
    ck_assert_uint_eq(statistics.sightings, 7);
    ck_assert_uint_eq(statistics.evicted_stacks, 2);
    ck_assert_uint_eq(statistics.evicted_sightings, lost.sightings);
    ck_assert_uint_eq(statistics.evicted_sightings, 2);
    usp_stack_table_free(table);
    usp_images_free(images);
}
END_TEST

/* The table is full of frames. */
START_TEST(frame_bound) {
    static const usp_addr pcs[] = {1, 2, 3, 4, 5, 6};
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    struct usp_stack_table *table = table_for(images, 100, 5);
    struct usp_frame frames[6];
    struct usp_stack stack = make_stack(frames, pcs, 3);
    add(table, &stack, 0);
    stack = make_stack(frames, pcs, 2);
    add(table, &stack, 0);
    ck_assert_uint_eq(statistics_of(table).evicted_stacks, 0);
    stack = make_stack(frames, pcs, 1);
    add(table, &stack, 0);
    ck_assert_uint_eq(statistics_of(table).evicted_stacks, 1);
    ck_assert_uint_eq(statistics_of(table).frames, 3);
    stack = make_stack(frames, pcs, 5);
    add(table, &stack, 0);
    ck_assert_uint_eq(statistics_of(table).frames, 5);
    ck_assert_uint_eq(statistics_of(table).stacks, 1);
    stack = make_stack(frames, pcs, 6);
    ck_assert_int_eq(usp_stack_table_add(table, &stack, 0, NULL), USP_ERROR_FULL);
    ck_assert_uint_eq(statistics_of(table).refused, 1);
    ck_assert_uint_eq(statistics_of(table).stacks, 1);
    usp_stack_table_free(table);
    usp_images_free(images);
}
END_TEST

/* The images of a record are those of its frames, once each, at the addresses of the record's stack. */
START_TEST(images_of_a_record) {
    static const usp_addr pcs[] = {0x200020, 0x100030, 0x500000, 0x200040};
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64), *of_record;
    struct usp_stack_table *table = table_for(images, 10, 100);
    struct usp_frame frames[4];
    struct usp_stack stack = make_stack(frames, pcs, 4);
    struct usp_stack_record record;
    ck_assert_int_eq(usp_stack_table_get(table, add(table, &stack, 0), &record), USP_OK);
    ck_assert_uint_eq(statistics_of(table).images, 2);
    ck_assert_int_eq(usp_stack_record_images(&record, &of_record), USP_OK);
    usp_stack_table_release(table, &record);
    ck_assert_uint_eq(usp_images_count(of_record), 2);
    ck_assert_str_eq(usp_images_get(of_record, 0)->path, "/app/main");
    ck_assert_uint_eq(usp_images_get(of_record, 0)->flags, USP_IMAGE_MAIN);
    const struct usp_image *library = usp_images_find(of_record, 0x200040);
    ck_assert_str_eq(library->path, "/app/lib.so");
    ck_assert_uint_eq(library->load_address, 0x200000);
    ck_assert_uint_eq(library->build_id_size, strlen("build-of-lib"));
    ck_assert_ptr_null(usp_images_find(of_record, 0x500000));
    /* The list does not depend on the table. */
    usp_stack_table_free(table);
    usp_images_free(images);
    ck_assert_str_eq(library->path, "/app/lib.so");
    usp_images_free(of_record);

    of_record = (struct usp_images *)&record;
    ck_assert_int_eq(usp_stack_record_images(&record, &of_record), USP_ERROR_ARGUMENT);
    ck_assert_ptr_null(of_record);
    ck_assert_int_eq(usp_stack_record_images(NULL, &of_record), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_stack_record_images(&record, NULL), USP_ERROR_ARGUMENT);
}
END_TEST

START_TEST(arguments) {
    struct usp_stack_table_options options;
    struct usp_stack_table *table;
    struct usp_stack_record record;
    struct usp_frame frame;
    usp_addr pc = 1;
    struct usp_stack stack = make_stack(&frame, &pc, 1);
    usp_stack_table_options_init(&options);
    options.max_stacks = 0;
    ck_assert_int_eq(usp_stack_table_create(&options, &table), USP_ERROR_ARGUMENT);
    ck_assert_ptr_null(table);
    options.max_stacks = 1;
    options.size = 8;
    ck_assert_int_eq(usp_stack_table_create(&options, &table), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_stack_table_create(NULL, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_stack_table_add(NULL, &stack, 0, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_stack_table_create(NULL, &table), USP_OK);
    ck_assert_int_eq(usp_stack_table_add(table, NULL, 0, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_stack_table_get(table, 1, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_stack_table_get(NULL, 1, &record), USP_ERROR_ARGUMENT);
    usp_stack_table_free(table);
    usp_stack_table_free(NULL);
    ck_assert_uint_eq(usp_stack_table_numbers(NULL, NULL, 0), 0);
}
END_TEST

/* ---- threads ---- */

#define DISTINCT 64u
#define THREADS  4
#define ROUNDS   2000

struct crowd {
    struct usp_stack_table *table;
    atomic_uint failures;
};

/* Makes stack i of the test; the stacks differ only in the order of their frames. */
static struct usp_stack numbered_stack(struct usp_frame *frames, unsigned i) {
    usp_addr pcs[8];
    for (unsigned k = 0; k < 8; k++) pcs[k] = 0x100000 + ((i >> k % 6 & 1) != 0 ? k * 16 : k * 16 + 0x1000);
    return make_stack(frames, pcs, 8);
}

static void *add_and_read(void *argument) {
    struct crowd *crowd = argument;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct usp_frame frames[8];
        struct usp_stack stack = numbered_stack(frames, round * 7 % DISTINCT);
        struct usp_stack_record record;
        uint64_t number;
        if (usp_stack_table_add(crowd->table, &stack, round, &number) != USP_OK) {
            atomic_fetch_add(&crowd->failures, 1);
            continue;
        }
        int status = usp_stack_table_get(crowd->table, number, &record);
        if (status == USP_ERROR_NOT_FOUND) continue; /* stacks of another thread evicted it */
        for (unsigned k = 0; status == USP_OK && k < 8; k++) {
            if (record.stack.frames[k].pc != frames[k].pc) status = USP_ERROR_MISMATCH;
        }
        if (status != USP_OK) atomic_fetch_add(&crowd->failures, 1);
        usp_stack_table_release(crowd->table, &record);
    }
    return NULL;
}

/* With room for all stacks, each is stored once and each sighting is counted. With room for a quarter, sightings are
 * counted or reported as evicted. */
START_TEST(many_threads) {
    struct usp_stack_table_options options;
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    struct crowd crowd = {0};
    pthread_t threads[THREADS];
    usp_stack_table_options_init(&options);
    options.images = images;
    options.max_stacks = _i == 0 ? 1000 : DISTINCT / 4;
    ck_assert_int_eq(usp_stack_table_create(&options, &crowd.table), USP_OK);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, add_and_read, &crowd), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    ck_assert_uint_eq(atomic_load(&crowd.failures), 0);
    struct usp_stack_table_statistics statistics = statistics_of(crowd.table);
    uint64_t numbers[DISTINCT], sightings = statistics.evicted_sightings;
    size_t count = usp_stack_table_numbers(crowd.table, numbers, DISTINCT);
    ck_assert_uint_eq(count, _i == 0 ? DISTINCT : DISTINCT / 4);
    for (size_t i = 0; i < count; i++) {
        struct usp_stack_record record;
        ck_assert_int_eq(usp_stack_table_get(crowd.table, numbers[i], &record), USP_OK);
        sightings += record.count;
        usp_stack_table_release(crowd.table, &record);
    }
    ck_assert_uint_eq(statistics.sightings, THREADS * ROUNDS);
    ck_assert_uint_eq(sightings, THREADS * ROUNDS);
    if (_i == 0) {
        ck_assert_uint_eq(statistics.evicted_stacks, 0);
    } else {
        ck_assert_uint_gt(statistics.evicted_stacks, 0);
    }
    usp_stack_table_free(crowd.table);
    usp_images_free(images);
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all");
    add_tests(all, counts_and_times, permuted_stacks_differ, shapes_differ, identities_across_launches, evictions,
              frame_bound, images_of_a_record, arguments);
    tcase_add_loop_test(all, many_threads, 0, 2);
    return run_suite("stack table", all);
}
