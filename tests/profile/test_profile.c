/* SPDX-License-Identifier: MIT */
/* Tests profiles: which samples belong to one stack, totals and time lines, the memory limit and what is evicted first,
 * copies, the heaviest stack, and allocations that fail. A rolling profile is compared with a plain list of its
 * samples. */
#include "tests/support/failing_alloc.h"
#include "tests/support/suite.h"
#include "tests/support/text_fixtures.h"

#include "lib/profile/profile.h"

static const struct made_image first_launch[] = {
    {"/app/main", 0x100000, 0x10000, USP_IMAGE_MAIN, "build-of-main"},
    {"/app/lib.so", 0x200000, 0x10000, 0, "build-of-lib"},
    {"/app/nameless.so", 0x300000, 0x10000, 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static struct usp_profile *profile_with(uint32_t flags, uint64_t memory) {
    struct usp_profile_options options;
    struct usp_profile *profile;
    usp_profile_options_init(&options);
    options.flags = flags;
    options.memory = memory;
    options.arch = USP_ARCH_ARM64;
    options.program = "/app/main";
    ck_assert_int_eq(usp_profile_create(&options, &profile), USP_OK);
    return profile;
}

static struct usp_thread_info thread_info(uint64_t id, const char *name) {
    struct usp_thread_info info;
    memset(&info, 0, sizeof info);
    info.thread.id = id;
    snprintf(info.name, sizeof info.name, "%s", name);
    return info;
}

/* Adds a sample of a thread at a time. It stands for 10 ns, of which the thread ran 4. */
static int add_at(struct usp_profile *profile, uint64_t thread, const struct usp_stack *stack,
                  const struct usp_images *images, uint64_t time) {
    const struct usp_thread_info info = thread_info(thread, "worker");
    const struct usp_profile_sample sample = {
        .thread = &info, .stack = stack, .images = images, .time = time, .wall = 10, .cpu = 4};
    return usp_profile_add(profile, &sample);
}

static struct usp_profile_info info_of(struct usp_profile *profile) {
    struct usp_profile_info info;
    usp_profile_get_info(profile, &info);
    return info;
}

/* The sums of a profile's entries that match. */
struct seen {
    unsigned entries;
    uint64_t samples, wall, cpu;
    usp_addr innermost; /* entries with this innermost frame; 0: all */
    uint64_t thread;    /* entries of this thread; 0: all */
    uint32_t depth;     /* depth of the last entry */
    bool is_odd;        /* a stack reported frames of an unexpected kind */
};

static int see(void *context, const struct usp_profile_entry *entry) {
    struct seen *seen = context;
    if (seen->innermost != 0 && entry->stack->frames[0].pc != seen->innermost) return USP_OK;
    if (seen->thread != 0 && entry->thread->thread.id != seen->thread) return USP_OK;
    seen->entries++;
    seen->samples += entry->samples;
    seen->wall += entry->wall;
    seen->cpu += entry->cpu;
    seen->depth = entry->stack->count;
    /* Check allocates, and an allocation may be about to fail here, so this does not use it. */
    seen->is_odd = seen->is_odd || entry->stack->physical != entry->stack->count;
    return USP_OK;
}

static struct seen see_all(struct usp_profile *profile, usp_addr innermost, uint64_t thread) {
    struct seen seen = {.innermost = innermost, .thread = thread};
    ck_assert_int_eq(usp_profile_visit(profile, see, &seen), USP_OK);
    ck_assert(!seen.is_odd);
    return seen;
}

START_TEST(equal_stacks_are_one) {
    static const usp_addr pcs[] = {0x200020, 0x100030, 0x100010};
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    struct usp_profile *profile = profile_with(0, 1 << 20);
    struct usp_frame frames[3];
    struct usp_stack stack = make_stack(frames, pcs, 3);
    for (unsigned i = 0; i < 5; i++) {
        /* A frame's CFA and the way in which it was found are not part of a stack's identity. */
        frames[1].cfa += 32;
        frames[2].method = USP_FRAME_METHOD_CFI;
        ck_assert_int_eq(add_at(profile, 7, &stack, images, 100 + i), USP_OK);
    }
    struct usp_profile_info info = info_of(profile);
    ck_assert_uint_eq(info.samples, 5);
    ck_assert_uint_eq(info.wall_ns, 50);
    ck_assert_uint_eq(info.cpu_ns, 20);
    ck_assert_uint_eq(info.first, 100);
    ck_assert_uint_eq(info.last, 104);
    ck_assert_uint_eq(info.in_time_line, 5);
    ck_assert_uint_eq(info.threads, 1);
    ck_assert_uint_eq(info.stacks, 1);
    ck_assert_uint_eq(info.nodes, 3);
    /* The callers' nodes are shared. */
    frames[0].pc = 0x200028;
    ck_assert_int_eq(add_at(profile, 7, &stack, images, 110), USP_OK);
    ck_assert_uint_eq(info_of(profile).nodes, 4);
    ck_assert_uint_eq(info_of(profile).stacks, 2);
    struct seen seen = see_all(profile, 0x200020, 7);
    ck_assert_uint_eq(seen.entries, 1);
    ck_assert_uint_eq(seen.samples, 5);
    ck_assert_uint_eq(seen.depth, 3);
    usp_profile_free(profile);
    usp_images_free(images);
}
END_TEST

START_TEST(kinds_and_marks_differ) {
    static const usp_addr pcs[] = {0x200020, 0x100030, 0x100010};
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    struct usp_profile *profile = profile_with(0, 1 << 20);
    struct usp_frame frames[3];
    struct usp_stack stack = make_stack(frames, pcs, 3);
    unsigned stacks = 0;
    ck_assert_int_eq(add_at(profile, 7, &stack, images, 1), USP_OK);
    ck_assert_uint_eq(info_of(profile).stacks, ++stacks);
    frames[1].kind = USP_FRAME_KIND_SIGNAL;
    ck_assert_int_eq(add_at(profile, 7, &stack, images, 1), USP_OK);
    ck_assert_uint_eq(info_of(profile).stacks, ++stacks);
    frames[1].flags = USP_FRAME_THUMB;
    ck_assert_int_eq(add_at(profile, 7, &stack, images, 1), USP_OK);
    ck_assert_uint_eq(info_of(profile).stacks, ++stacks);
    /* The number of frames that were left out is not part of a stack's identity. */
    stack.omitted_at = 2;
    for (stack.omitted = 1; stack.omitted < 4; stack.omitted++) {
        ck_assert_int_eq(add_at(profile, 7, &stack, images, 1), USP_OK);
    }
    ck_assert_uint_eq(info_of(profile).stacks, ++stacks);
    /* Without images an address stands for itself. */
    stack.omitted = 0;
    ck_assert_int_eq(add_at(profile, 7, &stack, NULL, 1), USP_OK);
    ck_assert_uint_eq(info_of(profile).stacks, ++stacks);
    usp_profile_free(profile);
    usp_images_free(images);
}
END_TEST

/* After a library is loaded at another address, its frames would count as new ones. The same build must give the same
 * frames; another build at its address must not. */
START_TEST(libraries_move) {
    static const struct made_image moved[] = {{"/app/main", 0x100000, 0x10000, USP_IMAGE_MAIN, "build-of-main"},
                                              {"/app/lib.so", 0x500000, 0x10000, 0, "build-of-lib"},
                                              {NULL, 0, 0, 0, NULL}};
    static const struct made_image replaced[] = {{"/app/main", 0x100000, 0x10000, USP_IMAGE_MAIN, "build-of-main"},
                                                 {"/app/lib.so", 0x200000, 0x10000, 0, "another-build"},
                                                 {NULL, 0, 0, 0, NULL}};
    static const usp_addr pcs[] = {0x200020, 0x100010}, moved_pcs[] = {0x500020, 0x100010};
    struct usp_images *first = make_images(first_launch, USP_ARCH_ARM64), *second = make_images(moved, USP_ARCH_ARM64),
                      *third = make_images(replaced, USP_ARCH_ARM64), *list;
    struct usp_profile *profile = profile_with(0, 1 << 20);
    struct usp_frame frames[2];
    struct usp_stack stack = make_stack(frames, pcs, 2);
    ck_assert_int_eq(add_at(profile, 7, &stack, first, 1), USP_OK);
    stack = make_stack(frames, moved_pcs, 2);
    ck_assert_int_eq(add_at(profile, 7, &stack, second, 2), USP_OK);
    ck_assert_uint_eq(info_of(profile).stacks, 1);
    stack = make_stack(frames, pcs, 2);
    ck_assert_int_eq(add_at(profile, 7, &stack, third, 3), USP_OK);
    ck_assert_uint_eq(info_of(profile).stacks, 2);
    /* Images of the profile's own list do not overlap: the first one keeps its address, and the other one is moved. */
    ck_assert_int_eq(usp_images_create_profile(profile, &list), USP_OK);
    ck_assert_uint_eq(usp_images_count(list), 3);
    ck_assert_uint_eq(usp_images_get(list, 0)->load_address, 0x100000);
    ck_assert_uint_eq(usp_images_get(list, 1)->load_address, 0x200000);
    const struct usp_image *elsewhere = usp_images_get(list, 2);
    ck_assert_uint_ge(elsewhere->load_address, 0x210000);
    ck_assert_uint_eq(see_all(profile, 0x200020, 0).entries, 1);
    ck_assert_uint_eq(see_all(profile, elsewhere->load_address + 0x20, 0).entries, 1);
    usp_images_free(list);
    usp_images_free(first);
    usp_images_free(second);
    usp_images_free(third);
    usp_profile_free(profile);
}
END_TEST

/* Two kernels, each up to the end of the address space: one is moved to where there is room, which is not above all
 * images. */
START_TEST(kernels_overlap) {
    static const struct made_image kernels[][3] = {
        {{"/app/main", 0x100000, 0x10000, USP_IMAGE_MAIN, "build-of-main"},
         {"[kernel.kallsyms]", 0xffffffff81000000, 0x7effffff, USP_IMAGE_KERNEL, "one"},
         {NULL, 0, 0, 0, NULL}},
        {{"/app/main", 0x100000, 0x10000, USP_IMAGE_MAIN, "build-of-main"},
         {"[kernel.kallsyms]", 0xffffffff81000000, 0x7effffff, USP_IMAGE_KERNEL, "other"},
         {NULL, 0, 0, 0, NULL}}};
    static const usp_addr pcs[] = {0xffffffff81000020, 0x100010};
    struct usp_profile *profile = profile_with(0, 1 << 20);
    struct usp_images *list;
    struct usp_frame frames[2];
    struct usp_stack stack = make_stack(frames, pcs, 2);
    for (unsigned i = 0; i < 2; i++) {
        struct usp_images *images = make_images(kernels[i], USP_ARCH_ARM64);
        ck_assert_int_eq(add_at(profile, 7, &stack, images, 1 + i), USP_OK);
        usp_images_free(images);
    }
    ck_assert_int_eq(usp_images_create_profile(profile, &list), USP_OK);
    ck_assert_uint_eq(usp_images_count(list), 3);
    const struct usp_image *moved = usp_images_get(list, 1);
    ck_assert_uint_ge(moved->load_address, 0x110000);
    ck_assert_uint_le(moved->end, 0xffffffff81000000);
    ck_assert_uint_eq(see_all(profile, moved->load_address + 0x20, 0).entries, 1);
    ck_assert_uint_eq(see_all(profile, pcs[0], 0).entries, 1);
    usp_images_free(list);
    usp_profile_free(profile);
}
END_TEST

/* An image ends with a call that does not return, so the return address lies in the next image. The frame would be
 * attributed to that one. */
START_TEST(call_at_the_end_of_an_image) {
    static const struct made_image neighbours[] = {{"/app/main", 0x100000, 0x10000, USP_IMAGE_MAIN, "main"},
                                                   {"/app/lib.so", 0x110000, 0x10000, 0, "lib"},
                                                   {NULL, 0, 0, 0, NULL}};
    static const usp_addr pcs[] = {0x110010, 0x110000};
    struct usp_images *images = make_images(neighbours, USP_ARCH_ARM64), *list;
    struct usp_profile *profile = profile_with(0, 1 << 20);
    struct usp_frame frames[2];
    struct usp_stack stack = make_stack(frames, pcs, 2);
    ck_assert_int_eq(add_at(profile, 7, &stack, images, 1), USP_OK);
    struct usp_profile *clone = uspi_profile_clone(profile);
    ck_assert_str_eq(uspi_profile_image(clone, uspi_node(clone, 0)->image)->image.path, "/app/main");
    ck_assert_int_eq(usp_images_create_profile(profile, &list), USP_OK);
    ck_assert_uint_eq(usp_images_count(list), 2);
    usp_images_free(list);
    usp_profile_free(clone);
    usp_profile_free(profile);
    usp_images_free(images);
}
END_TEST

/* The async callers are the outermost frames; the frames of the executor that resumed the function are left out. */
START_TEST(async_callers) {
    static const usp_addr pcs[] = {0x200020, 0x100030, 0x100010, 0x200100, 0x200200};
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    struct usp_profile *profile = profile_with(0, 1 << 20);
    struct usp_frame frames[5];
    struct usp_stack stack = make_stack(frames, pcs, 5);
    stack.physical = 3;
    stack.async_join = 1;
    frames[3].kind = frames[4].kind = USP_FRAME_KIND_ASYNC_RESUME;
    ck_assert_int_eq(add_at(profile, 7, &stack, images, 1), USP_OK);
    struct usp_profile *clone = uspi_profile_clone(profile);
    static const usp_addr outermost_first[] = {0x200200, 0x200100, 0x100030, 0x200020};
    ck_assert_uint_eq(clone->nodes.begun, 4);
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(uspi_node_address(clone, uspi_node(clone, i)), outermost_first[i]);
        ck_assert_uint_eq(uspi_node(clone, i)->parent, i > 0 ? i - 1 : USPI_NONE);
    }
    usp_profile_free(clone);
    usp_profile_free(profile);
    usp_images_free(images);
}
END_TEST

START_TEST(the_same_stack_again) {
    static const usp_addr pcs[] = {0x200020, 0x100010};
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    struct usp_profile *profile = profile_with(0, 1 << 20);
    struct usp_frame frames[2];
    struct usp_stack stack = make_stack(frames, pcs, 2);
    ck_assert_int_eq(add_at(profile, 7, NULL, images, 1), USP_ERROR_NOT_FOUND);
    ck_assert_uint_eq(info_of(profile).threads, 0);
    ck_assert_int_eq(add_at(profile, 7, &stack, images, 2), USP_OK);
    ck_assert_int_eq(add_at(profile, 7, NULL, images, 3), USP_OK);
    ck_assert_int_eq(add_at(profile, 8, NULL, images, 3), USP_ERROR_NOT_FOUND);
    ck_assert_uint_eq(see_all(profile, 0x200020, 7).samples, 2);
    usp_profile_end_thread(profile, 7);
    ck_assert_int_eq(add_at(profile, 7, NULL, images, 4), USP_ERROR_NOT_FOUND);
    usp_profile_free(profile);
    usp_images_free(images);
}
END_TEST

/* Another thread that gets a used id is a thread of its own, with its own name. */
START_TEST(thread_ids_come_back) {
    static const usp_addr pcs[] = {0x200020, 0x100010};
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    struct usp_profile *profile = profile_with(0, 1 << 20);
    struct usp_frame frames[2];
    struct usp_stack stack = make_stack(frames, pcs, 2);
    struct usp_thread_info nameless = thread_info(7, ""), named = thread_info(7, "late");
    struct usp_profile_sample sample = {.thread = &nameless, .stack = &stack, .images = images, .time = 1, .wall = 1};
    ck_assert_int_eq(usp_profile_add(profile, &sample), USP_OK);
    sample.thread = &named;
    ck_assert_int_eq(usp_profile_add(profile, &sample), USP_OK);
    ck_assert_uint_eq(info_of(profile).threads, 1);
    usp_profile_end_thread(profile, 7);
    usp_profile_end_thread(profile, 7);
    usp_profile_end_thread(profile, 9);
    sample.thread = &nameless;
    ck_assert_int_eq(usp_profile_add(profile, &sample), USP_OK);
    ck_assert_uint_eq(info_of(profile).threads, 2);
    struct usp_profile *copy;
    ck_assert_int_eq(usp_profile_copy(profile, 0, UINT64_MAX, 7, &copy), USP_OK);
    ck_assert_uint_eq(info_of(copy).threads, 2);
    ck_assert_str_eq(uspi_profile_thread(copy, 0)->info.name, "late");
    ck_assert_str_eq(uspi_profile_thread(copy, 1)->info.name, "");
    usp_profile_free(copy);
    /* A saved profile has them, too. */
    uint8_t saved[4096];
    size_t size;
    ck_assert_int_eq(uspi_profile_save(profile, saved, sizeof saved, &size), USP_OK);
    ck_assert_int_eq(uspi_profile_load(saved, size, &copy), USP_OK);
    ck_assert_uint_eq(info_of(copy).threads, 2);
    ck_assert_uint_eq(info_of(copy).samples, 3);
    ck_assert_str_eq(uspi_profile_thread(copy, 0)->info.name, "late");
    ck_assert_str_eq(uspi_profile_thread(copy, 1)->info.name, "");
    usp_profile_free(copy);
    usp_profile_free(profile);
    usp_images_free(images);
}
END_TEST

/* ---- the memory limit ---- */

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

/* One of many stacks, with a number of its own and up to 24 frames. */
static struct usp_stack random_stack(uint64_t *seed, struct usp_frame *frames, uint32_t kinds) {
    usp_addr pcs[24];
    uint32_t n = 1 + (uint32_t)(next_random(seed) % 24);
    for (uint32_t i = 0; i < n; i++) {
        usp_addr base = (1 + next_random(seed) % 3) << 20;
        pcs[i] = base + 4 * (next_random(seed) % kinds);
    }
    return make_stack(frames, pcs, n);
}

/* All samples in a plain list. The profile must contain the last ones. */
struct listed {
    usp_addr innermost;
    uint64_t thread, time;
};

START_TEST(samples_that_are_several) {
    static const usp_addr pcs[] = {0x200020, 0x100010};
    struct usp_profile *profile = profile_with(USP_PROFILE_FIXED | USP_PROFILE_ROLLING, 65536);
    struct usp_frame frames[2];
    struct usp_stack stack = make_stack(frames, pcs, 2);
    const struct usp_thread_info info = thread_info(1, "");
    uint64_t sum = 0;
    for (unsigned i = 0; i < 5000; i++) {
        const struct usp_profile_sample sample = {
            .thread = &info, .stack = i == 0 ? &stack : NULL, .time = i, .wall = i, .count = i % 7};
        ck_assert_int_eq(usp_profile_add(profile, &sample), USP_OK);
        sum += i % 7 == 0 ? 1 : i % 7;
        struct usp_profile_info now = info_of(profile);
        ck_assert_uint_eq(now.samples + now.evicted, sum);
        ck_assert_uint_eq(now.samples, now.in_time_line);
    }
    ck_assert_uint_gt(info_of(profile).evicted, 100);
    ck_assert_uint_eq(see_all(profile, 0, 1).samples, info_of(profile).samples);
    usp_profile_free(profile);
}
END_TEST

static void compare(struct usp_profile *profile, const struct listed *listed, size_t count) {
    struct usp_profile_info info = info_of(profile);
    ck_assert_uint_le(info.samples, count);
    ck_assert_uint_eq(info.samples, info.in_time_line);
    ck_assert_uint_eq(info.samples + info.evicted, count);
    ck_assert_uint_eq(info.wall_ns, info.samples * 10);
    ck_assert_uint_eq(info.cpu_ns, info.samples * 4);
    const struct listed *kept = listed + (count - info.samples);
    ck_assert_uint_eq(info.first, kept[0].time);
    for (unsigned i = 0; i < 3; i++) {
        const struct listed *one = &kept[i * (info.samples - 1) / 2];
        uint64_t expected = 0;
        for (size_t k = 0; k < info.samples; k++) {
            expected += kept[k].innermost == one->innermost && kept[k].thread == one->thread;
        }
        struct seen seen = see_all(profile, one->innermost, one->thread);
        ck_assert_uint_eq(seen.samples, expected);
    }
    ck_assert_uint_eq(see_all(profile, 0, 0).samples, info.samples);
}

START_TEST(rolling_profile_holds_the_newest) {
    const unsigned count = 30000;
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    struct listed *listed = calloc(count, sizeof *listed);
    const uint32_t kinds = _i == 0 ? 4 : _i == 1 ? 100 : 3000;
    struct usp_profile *profile = profile_with(USP_PROFILE_FIXED | USP_PROFILE_ROLLING, UINT64_C(65536) << _i);
    const uint64_t memory = info_of(profile).memory;
    const long held = allocations_held();
    uint64_t seed = 1 + (uint64_t)_i;
    ck_assert_uint_le(memory, 65536u << _i);
    for (unsigned i = 0; i < count; i++) {
        struct usp_frame frames[24];
        struct usp_stack stack = random_stack(&seed, frames, kinds);
        listed[i] = (struct listed){frames[0].pc, 1 + next_random(&seed) % 40, i};
        /* Threads begin and end. */
        if (i % 7 == 0) usp_profile_end_thread(profile, 1 + next_random(&seed) % 40);
        ck_assert_int_eq(add_at(profile, listed[i].thread, &stack, images, i), USP_OK);
        if (i % 3000 == 2999) compare(profile, listed, i + 1);
    }
    struct usp_profile_info info = info_of(profile);
    ck_assert_uint_eq(info.memory, memory);
    ck_assert_uint_gt(info.evicted, 0);
    ck_assert_uint_eq(info.refused, 0);
    /* The paths of the three images are allocated, and nothing else. */
    ck_assert_int_le(allocations_held(), held + 3);
    /* The tree has only nodes of samples that are still there. */
    struct usp_profile *clone = uspi_profile_clone(profile);
    ck_assert_uint_le(clone->nodes.begun, profile->nodes.count);
    ck_assert_uint_le(profile->nodes.count, clone->nodes.begun + 24 * profile->threads.count);
    usp_profile_free(clone);
    usp_profile_free(profile);
    usp_images_free(images);
    free(listed);
}
END_TEST

/* A stack that does not fit even into an empty profile is refused, and leaves nothing behind. */
START_TEST(stack_larger_than_the_profile) {
    enum { DEEP = 5000 };
    struct usp_frame *frames = calloc(DEEP, sizeof *frames);
    usp_addr *pcs = calloc(DEEP, sizeof *pcs);
    struct usp_profile *profile = profile_with(_i == 0   ? USP_PROFILE_FIXED | USP_PROFILE_ROLLING
                                               : _i == 1 ? USP_PROFILE_FIXED
                                                         : 0,
                                               65536);
    for (unsigned i = 0; i < DEEP; i++) pcs[i] = 0x1000 + i;
    struct usp_stack small = make_stack(frames, pcs, 3);
    ck_assert_int_eq(add_at(profile, 1, &small, NULL, 1), USP_OK);
    struct usp_stack stack = make_stack(frames, pcs, DEEP);
    ck_assert_int_eq(add_at(profile, 1, &stack, NULL, 2), USP_ERROR_FULL);
    struct usp_profile_info info = info_of(profile);
    ck_assert_uint_eq(info.refused, 1);
    ck_assert_uint_le(info.nodes, 3);
    small = make_stack(frames, pcs, 3);
    ck_assert_int_eq(add_at(profile, 1, &small, NULL, 3), USP_OK);
    ck_assert_uint_eq(info_of(profile).nodes, 3);
    usp_profile_free(profile);
    free(frames);
    free(pcs);
}
END_TEST

/* Without rolling, the totals must stay complete when samples leave the time line. */
START_TEST(totals_outlive_the_time_line) {
    const unsigned count = 20000;
    const uint64_t memory = _i == 2 ? 4 << 20 : 1 << 20;
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    struct usp_profile *profile = profile_with(_i == 0   ? 0
                                               : _i == 1 ? USP_PROFILE_TOTALS
                                                         : USP_PROFILE_FIXED | USP_PROFILE_TOTALS,
                                               memory),
                       *copy;
    uint64_t seed = 3;
    for (unsigned i = 0; i < count; i++) {
        struct usp_frame frames[24];
        struct usp_stack stack = random_stack(&seed, frames, 2);
        stack.count = stack.physical = 1 + stack.count % 4;
        ck_assert_int_eq(add_at(profile, 1 + i % 3, &stack, images, i), USP_OK);
    }
    struct usp_profile_info info = info_of(profile);
    ck_assert_uint_le(info.memory, memory);
    ck_assert_uint_eq(info.samples, count);
    if (_i == 0) {
        ck_assert_uint_gt(info.in_time_line, 2000);
        ck_assert_uint_eq(info.in_time_line + info.evicted, count);
        ck_assert_uint_eq(info.last, count - 1);
    } else {
        ck_assert_uint_eq(info.in_time_line, 0);
    }
    ck_assert_uint_eq(see_all(profile, 0, 0).samples, count);
    ck_assert_uint_eq(see_all(profile, 0, 0).wall, count * 10);
    ck_assert_int_eq(usp_profile_copy(profile, 0, UINT64_MAX, 2, &copy), USP_OK);
    ck_assert_uint_eq(see_all(copy, 0, 0).samples, see_all(profile, 0, 2).samples);
    usp_profile_free(copy);
    ck_assert_int_eq(usp_profile_copy(profile, count - 30, count - 20, 0, &copy), USP_OK);
    ck_assert_uint_eq(info_of(copy).samples, _i == 0 ? 10 : 0);
    if (_i == 0) {
        ck_assert_uint_eq(info_of(copy).first, count - 30);
        ck_assert_uint_eq(info_of(copy).last, count - 21);
    }
    usp_profile_free(copy);
    usp_profile_free(profile);
    usp_images_free(images);
}
END_TEST

START_TEST(growing_profile_refuses_at_its_bound) {
    struct usp_profile *profile = profile_with(0, 128 << 10);
    uint64_t seed = 9, refused = 0;
    for (unsigned i = 0; i < 5000; i++) {
        struct usp_frame frames[24];
        struct usp_stack stack = random_stack(&seed, frames, 100000);
        int status = add_at(profile, 1, &stack, NULL, i);
        ck_assert(status == USP_OK || status == USP_ERROR_FULL);
        refused += status == USP_ERROR_FULL;
    }
    struct usp_profile_info info = info_of(profile);
    ck_assert_uint_gt(refused, 0);
    ck_assert_uint_eq(info.refused, refused);
    ck_assert_uint_eq(info.samples, 5000 - refused);
    ck_assert_uint_le(info.memory, 128 << 10);
    ck_assert_uint_eq(see_all(profile, 0, 0).samples, info.samples);
    usp_profile_free(profile);
}
END_TEST

/* ---- the heaviest stack ---- */

START_TEST(heaviest_stack) {
    /* Of 10 samples, 6 are in f, called from two places in g: 4 and 2. 3 end in g itself; 1 is elsewhere. */
    static const usp_addr a[] = {0x200020, 0x100030, 0x100010}, b[] = {0x200020, 0x100034, 0x100010},
                          c[] = {0x100040, 0x100010}, d[] = {0x300000};
    struct usp_profile *profile = profile_with(0, 1 << 20);
    struct usp_frame frames[3], found[8];
    struct usp_stack stack, heaviest;
    uint32_t share;
    usp_stack_init(&heaviest, found, 8);
    ck_assert_int_eq(usp_profile_heaviest(profile, 0, USP_PROFILE_SAMPLES, &heaviest, &share), USP_ERROR_NOT_FOUND);
    for (unsigned i = 0; i < 10; i++) {
        if (i < 4) stack = make_stack(frames, a, 3);
        if (i >= 4 && i < 6) stack = make_stack(frames, b, 3);
        if (i >= 6 && i < 9) stack = make_stack(frames, c, 2);
        if (i == 9) stack = make_stack(frames, d, 1);
        ck_assert_int_eq(add_at(profile, i == 9 ? 2 : 1, &stack, NULL, i), USP_OK);
    }
    ck_assert_int_eq(usp_profile_heaviest(profile, 0, USP_PROFILE_SAMPLES, &heaviest, &share), USP_OK);
    ck_assert_uint_eq(heaviest.count, 3);
    for (unsigned i = 0; i < 3; i++) ck_assert_uint_eq(heaviest.frames[i].pc, a[i]);
    ck_assert_uint_eq(share, 400);
    ck_assert_int_eq(usp_profile_heaviest(profile, 2, USP_PROFILE_WALL, &heaviest, &share), USP_OK);
    ck_assert_uint_eq(heaviest.frames[0].pc, 0x300000);
    ck_assert_uint_eq(share, 1000);
    ck_assert_int_eq(usp_profile_heaviest(profile, 3, USP_PROFILE_WALL, &heaviest, NULL), USP_ERROR_NOT_FOUND);
    usp_stack_init(&heaviest, found, 2);
    ck_assert_int_eq(usp_profile_heaviest(profile, 1, USP_PROFILE_CPU, &heaviest, NULL), USP_ERROR_FULL);
    ck_assert_uint_eq(heaviest.count, 2);
    ck_assert_uint_eq(heaviest.frames[0].pc, a[0]);
    usp_profile_free(profile);
}
END_TEST

/* ---- failures ---- */

START_TEST(arguments) {
    struct usp_profile_options options;
    struct usp_profile_write_options write_options;
    struct usp_profile *profile = NULL;
    struct gathered text = {NULL, 0, 0};
    struct usp_profile_sample sample = {.time = 1};
    usp_profile_options_init(&options);
    ck_assert_int_eq(usp_profile_create(&options, NULL), USP_ERROR_ARGUMENT);
    options.memory = 65535;
    ck_assert_int_eq(usp_profile_create(&options, &profile), USP_ERROR_ARGUMENT);
    ck_assert_ptr_null(profile);
    options.memory = 65536;
    options.flags = USP_PROFILE_FIXED | USP_PROFILE_ROLLING | USP_PROFILE_TOTALS;
    ck_assert_int_eq(usp_profile_create(&options, &profile), USP_ERROR_ARGUMENT);
    options.flags = USP_PROFILE_ROLLING;
    ck_assert_int_eq(usp_profile_create(&options, &profile), USP_ERROR_ARGUMENT);
    options.flags = 8;
    ck_assert_int_eq(usp_profile_create(&options, &profile), USP_ERROR_ARGUMENT);
    options.flags = 0;
    options.size = 8;
    ck_assert_int_eq(usp_profile_create(&options, &profile), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_profile_create(NULL, &profile), USP_OK);
    ck_assert_int_eq(usp_profile_add(profile, &sample), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_profile_add(profile, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_profile_visit(profile, NULL, NULL), USP_ERROR_ARGUMENT);
    usp_profile_write_options_init(&write_options);
    ck_assert_int_eq(usp_profile_write(profile, &write_options, NULL, NULL), USP_ERROR_ARGUMENT);
    write_options.format = USP_PROFILE_OTLP + 1;
    ck_assert_int_eq(usp_profile_write(profile, &write_options, gather, &text), USP_ERROR_ARGUMENT);
    write_options.format = 0;
    ck_assert_int_eq(usp_profile_write(profile, &write_options, gather, &text), USP_ERROR_ARGUMENT);
    ck_assert_str_eq(usp_profile_format_string(USP_PROFILE_PPROF), "pprof");
    ck_assert_str_eq(usp_profile_format_string(0), "unknown");
    ck_assert_str_eq(usp_profile_format_string(9), "unknown");
    usp_profile_free(profile);
    usp_profile_free(NULL);
}
END_TEST

static int stop_writing(void *context, const char *bytes, size_t n) {
    (void)bytes;
    (void)n;
    return --*(int *)context < 0 ? USP_ERROR_SYSTEM : USP_OK;
}

static int use_profile(const struct usp_images *images, uint32_t flags, uint32_t format) {
    struct usp_profile_options options;
    struct usp_profile_write_options write_options;
    struct usp_profile *profile, *copy = NULL;
    struct usp_images *list = NULL;
    struct usp_frame found[32];
    struct usp_stack heaviest;
    struct seen seen = {.innermost = 0};
    int lots = 1000000;
    uint64_t seed = 5;
    usp_profile_options_init(&options);
    options.flags = flags;
    options.memory = 65536;
    int status = usp_profile_create(&options, &profile);
    for (unsigned i = 0; status == USP_OK && i < 40; i++) {
        struct usp_frame frames[24];
        struct usp_stack stack = random_stack(&seed, frames, 20);
        status = add_at(profile, 1 + i % 5, &stack, images, i);
        /* There is no memory for a path or for the profile itself. */
        if (status == USP_ERROR_FULL) status = USP_ERROR_NO_MEMORY;
    }
    usp_stack_init(&heaviest, found, 32);
    usp_profile_write_options_init(&write_options);
    write_options.format = format;
    if (status == USP_OK) status = usp_profile_copy(profile, 0, 20, 0, &copy);
    if (status == USP_OK) status = usp_images_create_profile(profile, &list);
    if (status == USP_OK) status = usp_profile_visit(profile, see, &seen);
    if (status == USP_OK) status = usp_profile_heaviest(profile, 0, 0, &heaviest, NULL);
    if (status == USP_OK) status = usp_profile_write(profile, &write_options, stop_writing, &lots);
    usp_images_free(list);
    usp_profile_free(copy);
    usp_profile_free(profile);
    return status;
}

START_TEST(each_allocation_fails) {
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    const uint32_t flags = _i % 2 == 0 ? 0 : USP_PROFILE_FIXED | USP_PROFILE_ROLLING;
    const uint32_t format = 1 + (uint32_t)_i / 2;
    const long held = allocations_held();
    ck_assert_int_eq(use_profile(images, flags, format), USP_OK);
    ck_assert_int_eq(allocations_held(), held);
    for (long n = 1;; n++) {
        fail_allocation(n);
        int status = use_profile(images, flags, format);
        bool has_failed = !allocation_still_to_fail();
        fail_allocation(0);
        ck_assert_int_eq(allocations_held(), held);
        if (!has_failed) {
            ck_assert_int_eq(status, USP_OK);
            ck_assert_int_gt(n, 20);
            break;
        }
        /* If the time line cannot grow it is shorter: lost samples are counted. */
        ck_assert(status == USP_ERROR_NO_MEMORY || status == USP_OK);
    }
    usp_images_free(images);
}
END_TEST

/* Allocations fail while names, lines and inlined calls of this program's functions are looked up. */
START_TEST(each_allocation_of_names_fails) {
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    struct usp_profile *profile = profile_with(0, 1 << 20);
    struct usp_profile_write_options options;
    struct usp_frame frames[32];
    struct usp_stack stack;
    int lots = 1000000;
    usp_stack_init(&stack, frames, 32);
    const int captured = usp_capture_self(NULL, &stack);
    if (captured == USP_ERROR_UNSUPPORTED) {
        usp_profile_free(profile);
        return;
    }
    ck_assert_int_eq(captured, USP_OK);
    ck_assert_int_eq(usp_images_create_self(&images), USP_OK);
    ck_assert_int_eq(usp_symbolizer_create(NULL, NULL, &symbolizer), USP_OK);
    ck_assert_int_eq(add_at(profile, 1, &stack, images, 1), USP_OK);
    usp_profile_write_options_init(&options);
    options.format = USP_PROFILE_JSON;
    options.flags = USP_PROFILE_LINES;
    options.symbolizer = symbolizer;
    /* From here on the symbolizer's caches are filled. */
    ck_assert_int_eq(usp_profile_write(profile, &options, stop_writing, &lots), USP_OK);
    const long held = allocations_held();
    for (long n = 1;; n++) {
        fail_allocation(n);
        int status = usp_profile_write(profile, &options, stop_writing, &lots);
        bool has_failed = !allocation_still_to_fail();
        fail_allocation(0);
        ck_assert_msg(allocations_held() == held, "allocation %ld fails: %ld are left", n, allocations_held() - held);
        if (!has_failed) {
            ck_assert_int_eq(status, USP_OK);
            ck_assert_int_gt(n, 8);
            break;
        }
        ck_assert(status == USP_ERROR_NO_MEMORY || status == USP_OK);
    }
    usp_profile_free(profile);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}
END_TEST

/* An error of the caller's write function must be returned, wherever it occurs. */
START_TEST(writing_fails) {
    struct usp_images *images = make_images(first_launch, USP_ARCH_ARM64);
    struct usp_profile *profile = profile_with(0, 1 << 20);
    struct usp_profile_write_options options;
    uint64_t seed = 5;
    for (unsigned i = 0; i < 30; i++) {
        struct usp_frame frames[24];
        struct usp_stack stack = random_stack(&seed, frames, 20);
        ck_assert_int_eq(add_at(profile, 1 + i % 5, &stack, images, i), USP_OK);
    }
    usp_profile_write_options_init(&options);
    options.format = 1 + (uint32_t)_i;
    for (int pieces = 0;; pieces++) {
        int left = pieces;
        int status = usp_profile_write(profile, &options, stop_writing, &left);
        if (status == USP_OK) {
            ck_assert_int_gt(pieces, 1);
            break;
        }
        ck_assert_int_eq(status, USP_ERROR_SYSTEM);
        ck_assert_int_eq(left, -1);
    }
    usp_profile_free(profile);
    usp_images_free(images);
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all"), *bounds = tcase_create("bounds"), *failures = tcase_create("failures");
    add_tests(all, equal_stacks_are_one, kinds_and_marks_differ, libraries_move, kernels_overlap,
              call_at_the_end_of_an_image, async_callers, the_same_stack_again, thread_ids_come_back, heaviest_stack,
              arguments);
    add_loop_tests(bounds, 0, 3, rolling_profile_holds_the_newest);
    add_loop_tests(bounds, 0, 3, stack_larger_than_the_profile, totals_outlive_the_time_line);
    add_tests(bounds, growing_profile_refuses_at_its_bound, samples_that_are_several);
    add_loop_tests(failures, 0, 2 * USP_PROFILE_OTLP, each_allocation_fails);
    add_loop_tests(failures, 0, USP_PROFILE_OTLP, writing_fails);
    add_tests(failures, each_allocation_of_names_fails);
    return run_suite("profile", all, bounds, failures);
}
