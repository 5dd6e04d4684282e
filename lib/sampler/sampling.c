/* SPDX-License-Identifier: MIT */
/* Implements sampling.h: ticks, the threads that they look at, and the samples that they add to the profile. */
#include "lib/sampler/sampling.h"

#include "lib/base/hash.h"
#include "lib/base/pattern.h"
#include "lib/base/pool.h"
#include "lib/profile/profile.h"
#include "lib/sampler/clocked.h"

#include <stdlib.h>
#include <string.h>

/* Maximum time, in ns, that is accumulated for a thread that does not run before it becomes a sample. Accumulating
 * saves samples; the limit keeps the time line up to date. */
#define TOGETHER UINT64_C(1000000000)
/* The budget of this much past time, in ns, may be spent at once. */
#define CREDIT UINT64_C(100000000)
/* Ticks between two listings of the threads where their number does not show that there are new ones. */
#define TICKS_BETWEEN_LISTS 5u
/* Time in ns between two checks whether readers have been served. */
#define READERS_LOOK UINT64_C(1000000)
/* Time between two descriptions, in ns: the first where threads are chosen by name, the second where names are only
 * shown. One thread at a time is described again, because it may have got a name. A description reads a system file. */
#define BETWEEN_DESCRIPTIONS       UINT64_C(100000000)
#define BETWEEN_SHOWN_DESCRIPTIONS UINT64_C(1000000000)
/* Captures at the beginning, and after one in which a thread ran, in which only such captures get processor time, not
 * those in which it has just been woken. A thread that only waits and works in the kernel may never be seen otherwise. */
#define DOUBTS 256u

/* Time that one sample of a thread stands for, in ns, and the number of ticks in it. */
struct span {
    uint64_t wall, cpu;
    uint32_t ticks;
};

/* Where a thread has waited: its innermost frame. */
struct place {
    usp_addr pc, cfa;
};

/* Number of such places that are kept for a thread. */
#define PLACES 8u

struct sampled {
    struct uspi_item item;
    struct usp_thread thread;
    struct usp_thread_info info;
    struct uspi_clocked clock;
    uint64_t looked;  /* time of the last look */
    struct span idle; /* time, not yet in the profile, in which the thread stood where its last sample says */
    struct span due;  /* time in which its position is unknown; the next capture's sample gets it */
    uint64_t owed;    /* processor time, in ns, that no sample has yet; the next one in which the thread runs gets it */
    uint64_t paid;    /* no capture before this time: budget_stopped is used up */
    uint32_t doubts;  /* captures to come in which it must be seen to run, to get the owed time */
    enum uspi_running running;   /* at its last capture */
    struct place waited[PLACES]; /* where it was last captured while it waited; the oldest one is replaced */
    uint32_t wait_count;
    bool is_wanted; /* it is sampled; other threads are kept so that they do not count as new */
    bool has_stack; /* its last sample is in the profile */
    bool is_listed; /* the current listing contains it */
    bool is_in_use;
    bool is_to_be_captured; /* the current tick captures it */
};

struct uspi_sampling {
    struct usp_sampler_options options; /* complete; the arrays are `given` and `names` */
    struct uspi_world world;
    struct usp_thread *given;
    char **names;
    _Atomic(uint32_t) asked, served; /* how often readers asked for the lock, and got it */
    _Atomic(bool) is_ending;
    struct uspi_lock *lock; /* protects the following fields; held during a tick, except by let_readers_in */
    struct usp_profile *profile;
    struct usp_profile_run run;
    struct uspi_allowance allowance;
    struct uspi_pool threads;
    struct usp_thread *list; /* scratch: max_threads + 1 elements */
    struct usp_frame *frames;
    uint64_t scheduled; /* time of the next tick without jitter */
    uint64_t due;       /* time of the next tick */
    uint64_t paid;      /* no tick before this time: budget_cpu is used up */
    uint64_t own_cpu;   /* the sampler's processor time at the end of the last tick */
    uint64_t random;
    uint32_t described;    /* index of the thread that was described last */
    uint64_t described_at; /* time of that description */
    unsigned to_list;      /* ticks until the next listing, if nothing shows before that there are new threads */
    bool knows_own_cpu;
};

static struct sampled *sampled_at(const struct uspi_sampling *s, uint32_t i) { return uspi_pool_at(&s->threads, i); }

/* ---- making one ---- */

static bool copy_arrays(struct uspi_sampling *s, const struct usp_sampler_options *options) {
    s->given = calloc(options->thread_count + 1, sizeof *s->given);
    s->names = calloc(options->name_count + 1, sizeof(char *));
    if (s->given == NULL || s->names == NULL) return false;
    for (size_t i = 0; i < options->thread_count; i++) s->given[i].id = options->threads[i].id;
    for (size_t i = 0; i < options->name_count; i++) {
        s->names[i] = strdup(options->names[i]);
        if (s->names[i] == NULL) return false;
    }
    s->options.threads = s->given;
    s->options.names = (const char *const *)s->names;
    return true;
}

static int make_profile(struct uspi_sampling *s) {
    struct usp_profile_options options;
    usp_profile_options_init(&options);
    bool keeps = (s->options.flags & USP_SAMPLER_KEEP) != 0;
    options.flags = keeps ? 0 : USP_PROFILE_FIXED | USP_PROFILE_ROLLING;
    options.memory = s->options.memory;
    options.pid = s->options.process != 0 ? s->options.process : uspi_os_process_id();
    const struct usp_images *images = s->world.images(s->world.context);
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_image *image = usp_images_get(images, i);
        if ((image->flags & USP_IMAGE_MAIN) == 0) continue;
        options.program = image->path;
        if (image->arch != USP_ARCH_NONE) options.arch = image->arch;
    }
    return usp_profile_create(&options, &s->profile);
}

int uspi_sampling_create(const struct usp_sampler_options *options, const struct uspi_world *world,
                         struct uspi_sampling **sampling) {
    struct uspi_sampling *s = calloc(1, sizeof *s);
    *sampling = NULL;
    if (s == NULL) return USP_ERROR_NO_MEMORY;
    s->options = *options;
    s->world = *world;
    s->allowance.limit = UINT64_MAX;
    s->lock = uspi_lock_create();
    s->list = malloc(((size_t)options->max_threads + 1) * sizeof *s->list);
    s->frames = malloc(options->max_frames * sizeof *s->frames);
    int status = USP_ERROR_NO_MEMORY;
    if (s->lock != NULL && s->list != NULL && s->frames != NULL && copy_arrays(s, options) &&
        uspi_pool_init(&s->threads, sizeof(struct sampled), options->max_threads, true, &s->allowance)) {
        status = make_profile(s);
    }
    if (status == USP_OK) {
        *sampling = s;
    } else {
        uspi_sampling_free(s);
    }
    return status;
}

void uspi_sampling_free(struct uspi_sampling *sampling) {
    if (sampling == NULL) return;
    for (uint32_t i = 0; i < sampling->threads.begun; i++) {
        struct sampled *t = sampled_at(sampling, i);
        if (t->is_in_use) sampling->world.release(sampling->world.context, &t->thread);
    }
    for (size_t i = 0; sampling->names != NULL && i < sampling->options.name_count; i++) free(sampling->names[i]);
    free(sampling->names);
    free(sampling->given);
    free(sampling->list);
    free(sampling->frames);
    uspi_pool_free(&sampling->threads);
    usp_profile_free(sampling->profile);
    uspi_lock_free(sampling->lock);
    free(sampling);
}

/* ---- readers and the tick ---- */

static void take_for_reader(struct uspi_sampling *s) {
    atomic_fetch_add(&s->asked, 1);
    uspi_lock_take(s->lock);
    atomic_fetch_add(&s->served, 1);
}

/* Gives the lock to the readers that wait for it; every tick calls it. On a machine where many threads wait for a
 * processor, a tick takes long and the next one is due at once: readers would never get a lock that is free only in
 * between. */
static void let_readers_in(struct uspi_sampling *s) {
    const uint32_t asked = atomic_load(&s->asked);
    if (atomic_load(&s->served) == asked) return;
    uspi_lock_give(s->lock);
    while ((int32_t)(atomic_load(&s->served) - asked) < 0) {
        (void)s->world.sleep(s->world.context, s->world.clock(s->world.context) + READERS_LOOK);
    }
    uspi_lock_take(s->lock);
}

/* ---- samples ---- */

/* Adds a sample for a span and clears the span. stack NULL: the thread still stands where its last sample says. Returns
 * false, with the span unchanged, if the profile no longer has that stack or has no room. */
static bool add_sample(struct uspi_sampling *s, struct sampled *t, const struct usp_stack *stack, struct span *span) {
    const struct usp_profile_sample sample = {.thread = &t->info,
                                              .stack = stack,
                                              .images = stack != NULL ? s->world.images(s->world.context) : NULL,
                                              .time = t->looked,
                                              .wall = span->wall,
                                              .cpu = span->cpu,
                                              .count = span->ticks};
    t->has_stack = usp_profile_add(s->profile, &sample) == USP_OK;
    if (t->has_stack) *span = (struct span){.ticks = 0};
    return t->has_stack;
}

/* Adds the thread's idle time to the profile. If that fails, the next capture's sample gets the time. */
static void flush(struct uspi_sampling *s, struct sampled *t) {
    if (t->idle.ticks == 0 || add_sample(s, t, NULL, &t->idle)) return;
    t->due = (struct span){t->due.wall + t->idle.wall, t->due.cpu + t->idle.cpu, t->due.ticks + t->idle.ticks};
    t->idle = (struct span){.ticks = 0};
}

/* Gives the processor time that no sample has to the last sample in which the thread ran; if it never ran at a tick, to
 * its last sample. Called where no further sample of the thread is certain. */
static void settle_owed(struct uspi_sampling *s, struct sampled *t) {
    if (t->owed > 0 && uspi_profile_add_cpu(s->profile, t->thread.id, t->owed)) t->owed = 0;
}

/* Returns what a thread whose clock has advanced does now. It may have run since the last tick and wait again: then its
 * stack is not where it used the processor. On Linux, threads that run are in the same state as threads that are due,
 * but only their clocks advance. */
static enum uspi_running running_now(const struct uspi_sampling *s, const struct sampled *t) {
    /* Darwin: xnu osfmk/mach/thread_info.h */
    enum { STATE_UNKNOWN = 0, TH_STATE_RUNNING = 1 };
    struct usp_thread_info info;
    uint64_t before, after;
    const bool is_known = s->world.thread_cpu(s->world.context, &t->thread, &before) == USP_OK &&
                          s->world.thread_cpu(s->world.context, &t->thread, &after) == USP_OK;
    if (is_known && after > before) return USPI_RUNS;
    if (s->world.describe(s->world.context, &t->thread, &info) != USP_OK) return USPI_RUNS;
    if (info.run_state == TH_STATE_RUNNING || info.run_state == STATE_UNKNOWN) return USPI_RUNS;
    return info.run_state == 'R' ? USPI_IS_DUE : USPI_WAITS;
}

/* Notes where a thread waits. If it is due, decides whether it has just been woken: then it stands where it has waited
 * before. Otherwise it was preempted, and stands where it ran. */
static void compare_with_waits(struct sampled *t, const struct usp_frame *innermost) {
    const uint32_t count = t->wait_count < PLACES ? t->wait_count : PLACES;
    bool is_known = false;
    if (t->running == USPI_RUNS) return;
    for (uint32_t i = 0; i < count; i++) {
        is_known = is_known || (t->waited[i].pc == innermost->pc && t->waited[i].cfa == innermost->cfa);
    }
    if (is_known) return;
    if (t->running == USPI_IS_DUE) {
        t->running = USPI_RUNS;
    } else {
        t->waited[t->wait_count++ % PLACES] = (struct place){innermost->pc, innermost->cfa};
    }
}

/* Returns whether the sample of a capture gets the owed time. */
static bool gets_owed(struct sampled *t) {
    if (t->running == USPI_RUNS) {
        t->doubts = DOUBTS;
        return true;
    }
    if (t->running == USPI_WAITS || t->doubts == 0) return t->running == USPI_IS_DUE;
    t->doubts--;
    return false;
}

/* Returns when the budget has paid for `spent` ns, at `share` thousandths of the time; 0: there is no limit. Counting
 * begins at `paid`, when earlier spending is paid for, but no earlier than CREDIT before `now`. */
static uint64_t earned(uint64_t paid, uint64_t now, uint64_t spent, uint32_t share) {
    uint64_t credit = now > CREDIT ? now - CREDIT : 0;
    if (share == 0) return 0;
    return (paid > credit ? paid : credit) + spent * 1000 / share;
}

static void capture(struct uspi_sampling *s, struct sampled *t, uint64_t now) {
    struct usp_unwind_options options;
    struct usp_stack stack;
    usp_unwind_options_init(&options);
    options.async = (s->options.flags & USP_SAMPLER_ASYNC) != 0;
    options.tail = s->options.max_frames / 4;
    usp_stack_init(&stack, s->frames, s->options.max_frames);
    int status = s->world.capture(s->world.context, &t->thread, &options, &stack);
    if (status != USP_OK || stack.count == 0) {
        s->run.failed++;
        return;
    }
    s->run.captures++;
    s->run.truncated += stack.omitted > 0;
    s->run.stopped_ns += stack.stopped_ns;
    if (stack.stopped_ns > s->run.longest_stop_ns) s->run.longest_stop_ns = stack.stopped_ns;
    t->paid = earned(t->paid, now, stack.stopped_ns, s->options.budget_stopped);
    uspi_clocked_captured(&t->clock);
    /* Where the stop shows it, that is exact. */
    if (s->world.running != NULL) t->running = s->world.running(s->world.context);
    compare_with_waits(t, &stack.frames[0]);
    if (gets_owed(t)) {
        t->due.cpu += t->owed;
        t->owed = 0;
    }
    /* The profile counts samples for which it has no room. */
    if (!add_sample(s, t, &stack, &t->due)) t->due = (struct span){.ticks = 0};
}

/* ---- threads ---- */

static bool has_id(const void *item, const void *key) {
    return ((const struct sampled *)item)->thread.id == *(const uint64_t *)key;
}

static uint32_t hash_of(uint64_t id) { return (uint32_t)uspi_mix(id, 0); }

static uint32_t find_thread(const struct uspi_sampling *s, uint64_t id) {
    return uspi_pool_find(&s->threads, hash_of(id), has_id, &id);
}

static bool is_wanted(const struct uspi_sampling *s, const struct sampled *t) {
    if ((t->info.flags & USP_THREAD_REQUESTER) != 0) return false;
    switch (s->options.which) {
    case USP_SAMPLER_MAIN: return (t->info.flags & USP_THREAD_MAIN) != 0;
    case USP_SAMPLER_ALL: return true;
    case USP_SAMPLER_GIVEN:
        for (size_t i = 0; i < s->options.thread_count; i++) {
            if (s->options.threads[i].id == t->thread.id) return true;
        }
        return false;
    default:
        for (size_t i = 0; i < s->options.name_count; i++) {
            if (uspi_matches(s->options.names[i], t->info.name)) return true;
        }
        return false;
    }
}

/* Describes a thread and decides again whether it is sampled, because it can get its name late. */
static void describe_thread(struct uspi_sampling *s, struct sampled *t) {
    struct usp_thread_info info;
    if (s->world.describe(s->world.context, &t->thread, &info) == USP_OK) {
        t->info = info;
        bool wanted = is_wanted(s, t);
        if (wanted && !t->is_wanted) {
            t->due = t->idle = (struct span){.ticks = 0};
            t->owed = 0;
        }
        t->is_wanted = wanted;
    }
    t->info.thread = t->thread;
}

static void describe_next(struct uspi_sampling *s, uint64_t now) {
    const bool by_name = s->options.which == USP_SAMPLER_NAMED;
    if (now - s->described_at < (by_name ? BETWEEN_DESCRIPTIONS : BETWEEN_SHOWN_DESCRIPTIONS)) return;
    s->described_at = now;
    for (uint32_t i = 0; i < s->threads.begun; i++) {
        s->described = (s->described + 1) % s->threads.begun;
        if (!sampled_at(s, s->described)->is_in_use) continue;
        describe_thread(s, sampled_at(s, s->described));
        return;
    }
}

static void forget_thread(struct uspi_sampling *s, uint32_t i) {
    struct sampled *t = sampled_at(s, i);
    flush(s, t);
    settle_owed(s, t);
    usp_profile_end_thread(s->profile, t->thread.id);
    if (t->is_wanted) s->run.threads_ended++;
    s->world.release(s->world.context, &t->thread);
    t->is_in_use = false;
    uspi_pool_remove(&s->threads, i);
}

static void look_at(struct uspi_sampling *s, uint32_t i, uint64_t now) {
    struct sampled *t = sampled_at(s, i);
    uint64_t cpu = t->clock.cpu, wall = now > t->looked ? now - t->looked : 0;
    bool moved;
    int status = s->world.thread_cpu(s->world.context, &t->thread, &cpu);
    if (status == USP_ERROR_NO_THREAD) {
        forget_thread(s, i);
        return;
    }
    uint64_t ran = uspi_clocked_look(&t->clock, cpu, &moved);
    /* Without a clock the thread may have run. */
    if (status != USP_OK) moved = true;
    struct span *span = t->has_stack && !moved && t->due.ticks == 0 ? &t->idle : &t->due;
    if (span == &t->due && t->idle.ticks > 0) flush(s, t);
    t->looked = now;
    span->wall += wall;
    t->owed += ran;
    span->ticks++;
    if (span == &t->idle) {
        if (t->idle.wall >= TOGETHER) flush(s, t);
    } else if (now < t->paid) {
        s->run.slowed++;
    } else {
        t->is_to_be_captured = true;
    }
}

/* Captures the threads that look_at has chosen. Threads that are stopped together are captured before others are
 * stopped. Readers need not wait for all of them. */
static void capture_due(struct uspi_sampling *s, uint64_t now) {
    struct usp_thread together[USPI_STOPPED_TOGETHER];
    uint32_t places[USPI_STOPPED_TOGETHER];
    for (uint32_t next = 0; next < s->threads.begun && !atomic_load(&s->is_ending); let_readers_in(s)) {
        size_t count = 0;
        for (; next < s->threads.begun && count < USPI_STOPPED_TOGETHER; next++) {
            struct sampled *t = sampled_at(s, next);
            if (!t->is_in_use || !t->is_to_be_captured) continue;
            t->is_to_be_captured = false;
            if (s->world.running == NULL) t->running = running_now(s, t);
            together[count] = t->thread;
            places[count++] = next;
        }
        bool are_stopped = count > 0 && s->world.stop_together != NULL;
        if (are_stopped && s->world.stop_together(s->world.context, together, count) != USP_OK) {
            s->run.failed += count;
            continue;
        }
        for (size_t i = 0; i < count; i++) capture(s, sampled_at(s, places[i]), now);
    }
}

/* Adds a thread that is new to the sampler. Its first sample gets the processor time since the thread began, unless the
 * thread is in the first list. */
static void meet_thread(struct uspi_sampling *s, const struct usp_thread *thread, uint64_t now, bool is_first_list) {
    uint32_t i = uspi_pool_add(&s->threads, hash_of(thread->id));
    struct usp_thread kept = *thread;
    if (i == USPI_NONE) {
        s->run.threads_left_out++;
        s->world.release(s->world.context, &kept);
        return;
    }
    struct sampled *t = sampled_at(s, i);
    t->thread = kept;
    t->is_in_use = t->is_listed = true;
    t->doubts = DOUBTS;
    describe_thread(s, t);
    if (is_first_list) {
        uint64_t cpu = 0;
        t->looked = now;
        if (s->world.thread_cpu(s->world.context, &t->thread, &cpu) == USP_OK) t->clock.cpu = cpu;
        return;
    }
    if (!t->is_wanted) return;
    /* The thread began since the last tick: half an interval ago on average. It may end before the next tick, so look
     * now. */
    t->looked = now > s->options.interval / 2 ? now - s->options.interval / 2 : 0;
    s->run.threads_appeared++;
    look_at(s, i, now);
}

/* Forgets the threads that have ended. A thread that is not listed may still exist: the list may have been cut
 * short. */
static void drop_ended(struct uspi_sampling *s) {
    for (uint32_t i = 0; i < s->threads.begun; i++) {
        struct sampled *t = sampled_at(s, i);
        uint64_t cpu;
        if (!t->is_in_use || t->is_listed) continue;
        if (s->world.thread_cpu(s->world.context, &t->thread, &cpu) == USP_ERROR_NO_THREAD) forget_thread(s, i);
    }
}

static void list_threads(struct uspi_sampling *s, uint64_t now, bool is_first_list) {
    size_t count = 0, capacity = s->options.max_threads;
    int status = s->world.list_threads(s->world.context, s->list, capacity, &count);
    if (status != USP_OK && status != USP_ERROR_FULL) return;
    if (count > capacity) {
        s->run.threads_left_out += count - capacity;
        count = capacity;
    }
    for (uint32_t i = 0; i < s->threads.begun; i++) sampled_at(s, i)->is_listed = false;
    for (size_t i = 0; i < count; i++) {
        uint32_t known = find_thread(s, s->list[i].id);
        if (known == USPI_NONE) {
            meet_thread(s, &s->list[i], now, is_first_list);
        } else {
            sampled_at(s, known)->is_listed = true;
            s->world.release(s->world.context, &s->list[i]);
        }
    }
    drop_ended(s);
}

static bool follows_new_threads(const struct uspi_sampling *s) {
    return s->options.which == USP_SAMPLER_ALL || s->options.which == USP_SAMPLER_NAMED;
}

/* Whether the number of threads shows that there are new ones. The tick forgets sampled threads that have ended, so
 * that a new thread changes the number. It does not look at other threads: one may have ended while another began. */
static bool number_is_enough(const struct uspi_sampling *s) { return s->options.which == USP_SAMPLER_ALL; }

/* Lists the threads if their number is not that of the known ones, or every few ticks where the number is not enough or
 * the system does not count them. */
static void look_for_new(struct uspi_sampling *s, uint64_t now) {
    size_t count = 0;
    if (!follows_new_threads(s)) return;
    bool is_counted = s->world.count_threads(s->world.context, &count) == USP_OK;
    bool is_same = is_counted && count == s->threads.count;
    if (is_same && number_is_enough(s)) return;
    if ((is_same || !is_counted) && s->to_list-- > 0) return;
    s->to_list = TICKS_BETWEEN_LISTS;
    list_threads(s, now, false);
}

/* ---- a tick ---- */

/* Counts ticks that were missed. They are not made up for: the next tick is scheduled from `now`. */
static void count_missed(struct uspi_sampling *s, uint64_t now) {
    uint64_t late = now > s->due ? now - s->due : 0;
    if (late < s->options.interval) return;
    s->run.missed_ticks += late / s->options.interval;
    s->scheduled = now;
}

static uint64_t next_random(struct uspi_sampling *s) {
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return s->random >> 33;
}

/* Returns the time of the next tick: up to half the jitter early or late, and not before the budget has paid for this
 * one. */
static uint64_t schedule(struct uspi_sampling *s, uint64_t now) {
    uint64_t before = s->due, range = s->options.interval * s->options.jitter / 1000;
    uint64_t cpu = s->world.own_cpu(s->world.context);
    uint64_t spent = s->knows_own_cpu && cpu > s->own_cpu ? cpu - s->own_cpu : 0;
    s->run.cpu_ns += spent;
    s->own_cpu = cpu;
    s->knows_own_cpu = true;
    s->paid = earned(s->paid, now, spent, s->options.budget_cpu);
    s->scheduled += s->options.interval;
    if (s->paid > s->scheduled) {
        s->scheduled = s->paid;
        s->run.slowed++;
    }
    s->due = s->scheduled + (range > 0 ? next_random(s) % (range + 1) : 0) - range / 2;
    if (s->due < s->paid) s->due = s->paid;
    if (s->due > before && s->due - before > s->run.longest_interval) s->run.longest_interval = s->due - before;
    return s->due;
}

uint64_t uspi_sampling_begin(struct uspi_sampling *sampling) {
    struct uspi_sampling *s = sampling;
    uspi_lock_take(s->lock);
    uint64_t now = s->world.clock(s->world.context);
    if (s->run.start == 0) {
        s->run.start = now;
        s->run.wall_start = s->world.wall_clock(s->world.context);
        s->run.interval = s->run.longest_interval = s->options.interval;
        s->run.budget_cpu = s->options.budget_cpu;
        s->run.budget_stopped = s->options.budget_stopped;
        s->random = now;
    }
    s->run.end = now;
    s->knows_own_cpu = false;
    s->to_list = 0;
    list_threads(s, now, true);
    /* Time between runs is not counted for any thread. */
    for (uint32_t i = 0; i < s->threads.begun; i++) {
        struct sampled *t = sampled_at(s, i);
        uint64_t cpu;
        if (!t->is_in_use) continue;
        t->looked = now;
        t->idle = t->due = (struct span){.ticks = 0};
        t->owed = 0;
        t->has_stack = t->is_to_be_captured = false;
        if (s->world.thread_cpu(s->world.context, &t->thread, &cpu) == USP_OK) t->clock.cpu = cpu;
    }
    s->scheduled = s->due = now;
    s->paid = 0;
    uint64_t due = schedule(s, now);
    uspi_lock_give(s->lock);
    return due;
}

uint64_t uspi_sampling_tick(struct uspi_sampling *sampling) {
    struct uspi_sampling *s = sampling;
    uspi_lock_take(s->lock);
    uint64_t now = s->world.clock(s->world.context);
    count_missed(s, now);
    s->run.ticks++;
    s->run.end = now;
    if (s->world.begin_look != NULL) s->world.begin_look(s->world.context);
    for (uint32_t i = 0; i < s->threads.begun; i++) {
        if (sampled_at(s, i)->is_in_use && sampled_at(s, i)->is_wanted) look_at(s, i, now);
    }
    capture_due(s, now);
    look_for_new(s, now);
    capture_due(s, now);
    describe_next(s, now);
    uint64_t due = schedule(s, now);
    uspi_lock_give(s->lock);
    return due;
}

static void flush_all(struct uspi_sampling *s) {
    for (uint32_t i = 0; i < s->threads.begun; i++) {
        if (!sampled_at(s, i)->is_in_use) continue;
        flush(s, sampled_at(s, i));
        settle_owed(s, sampled_at(s, i));
    }
    usp_profile_set_run(s->profile, &s->run);
}

void uspi_sampling_end(struct uspi_sampling *sampling) {
    uspi_lock_take(sampling->lock);
    flush_all(sampling);
    uspi_lock_give(sampling->lock);
}

void uspi_sampling_set_ending(struct uspi_sampling *sampling, bool is_ending) {
    atomic_store(&sampling->is_ending, is_ending);
}

bool uspi_sampling_is_ending(struct uspi_sampling *sampling) { return atomic_load(&sampling->is_ending); }

/* ---- readers ---- */

int uspi_sampling_read(struct uspi_sampling *sampling, uint64_t from, uint64_t to, uint64_t thread,
                       struct usp_profile **profile) {
    take_for_reader(sampling);
    flush_all(sampling);
    uspi_lock_give(sampling->lock);
    return usp_profile_copy(sampling->profile, from, to, thread, profile);
}

void uspi_sampling_get_run(struct uspi_sampling *sampling, struct usp_profile_run *run) {
    take_for_reader(sampling);
    *run = sampling->run;
    uspi_lock_give(sampling->lock);
}

bool uspi_sampling_is_alive(struct uspi_sampling *sampling) {
    bool is_alive = false;
    take_for_reader(sampling);
    for (uint32_t i = 0; i < sampling->threads.begun; i++) {
        const struct sampled *t = sampled_at(sampling, i);
        is_alive = is_alive || (t->is_in_use && (t->is_wanted || follows_new_threads(sampling)));
    }
    uspi_lock_give(sampling->lock);
    return is_alive;
}
