/* SPDX-License-Identifier: MIT */
/* Implements watching.h: looks at the watched thread, pings it, and reports its hangs. */
#include "lib/monitor/watching.h"

#include <stdlib.h>
#include <string.h>

/* Room in a slot of the hang's file for everything but the samples, in bytes. */
#define HANG_FILE_BASE ((size_t)64 << 10)

/* Number of samples after which the interval doubles: a long hang is sampled less and less often. */
#define SAMPLES_PER_INTERVAL 256u

/* ---- making one ---- */

/* Finds the thread to watch in the list of threads: by its id, or the main thread if id is 0. Some systems need more
 * than the id to look at a thread repeatedly. */
static int find_subject(struct uspi_watching *w, uint64_t id) {
    const struct uspi_world *world = &w->world;
    size_t capacity = 256, count = 0;
    int status = USP_ERROR_FULL, unknown = USP_ERROR_NO_THREAD;
    struct usp_thread *threads = NULL;
    while (status == USP_ERROR_FULL && capacity < (size_t)1 << 22) {
        free(threads);
        threads = malloc(capacity * sizeof *threads);
        if (threads == NULL) return USP_ERROR_NO_MEMORY;
        status = world->list_threads(world->context, threads, capacity, &count);
        size_t known = count < capacity ? count : capacity;
        for (size_t i = 0; i < known; i++) {
            struct usp_thread_info info;
            int described = id == 0 ? world->describe(world->context, &threads[i], &info) : USP_OK;
            bool is_it = id != 0 ? threads[i].id == id : described == USP_OK && (info.flags & USP_THREAD_MAIN) != 0;
            if (described != USP_OK) unknown = described;
            if (status == USP_OK && is_it && w->subject.info.thread.id == 0) {
                w->subject.info.thread = threads[i];
            } else {
                world->release(world->context, &threads[i]);
            }
        }
        capacity *= 4;
    }
    free(threads);
    if (status != USP_OK) return status;
    if (w->subject.info.thread.id == 0) return unknown;
    struct usp_thread kept = w->subject.info.thread;
    if (world->describe(world->context, &kept, &w->subject.info) != USP_OK) {
        memset(&w->subject.info, 0, sizeof w->subject.info);
    }
    w->subject.info.thread = kept;
    return USP_OK;
}

int uspi_watching_init(struct uspi_watching *watching, const struct usp_monitor_options *options,
                       const struct uspi_world *world) {
    memset(watching, 0, sizeof *watching);
    watching->options = *options;
    watching->world = *world;
    watching->subject.world = &watching->world;
    watching->ping_function = options->ping;
    watching->ping_context = options->context;
    watching->lock = uspi_lock_create();
    if (watching->lock == NULL) return USP_ERROR_NO_MEMORY;
    int status = find_subject(watching, options->thread.id);
    if (status == USP_OK) status = uspi_hang_init(&watching->hang, options, &watching->world);
    watching->subject.images = world->images(world->context);
    return status;
}

void uspi_watching_free(struct uspi_watching *watching) {
    if (watching->subject.info.thread.id != 0) {
        watching->world.release(watching->world.context, &watching->subject.info.thread);
    }
    uspi_hang_file_close(&watching->file);
    usp_hang_free(watching->killed);
    uspi_hang_free(&watching->hang);
    uspi_lock_free(watching->lock);
    memset(watching, 0, sizeof *watching);
}

/* ---- reports ---- */

typedef void report_function(void *context, const struct usp_hang *hang);

static void report(struct uspi_watching *w, report_function *function, uint32_t state, uint64_t duration,
                   uint64_t taken_off) {
    struct uspi_hang_report made;
    if (function == NULL) return;
    uspi_hang_report(&w->hang, &w->options, &w->subject, &made);
    made.hang.state = state;
    made.hang.duration = duration;
    made.hang.taken_off = taken_off;
    function(w->options.context, &made.hang);
    uspi_hang_report_end(&made);
}

/* Writes the hang to the file, without the fields that have to be allocated. */
static void save(struct uspi_watching *w, uint64_t now) {
    const struct uspi_hang *hang = &w->hang;
    const struct usp_hang state = {.id = hang->id,
                                   .flags = hang->is_severe ? (uint32_t)USP_HANG_SEVERE : 0,
                                   .pid = uspi_os_process_id(),
                                   .thread = w->subject.info.thread,
                                   .wall_start = hang->wall_start,
                                   .duration = w->watch.busy,
                                   .taken_off = w->watch.taken_off,
                                   .interval = w->options.interval,
                                   .samples = hang->samples,
                                   .first_after = hang->first_after,
                                   .profile = hang->profile,
                                   .threads = hang->threads,
                                   .capture_status = hang->capture_status};
    uspi_hang_file_write(&w->file, &state, now);
}

static void count(struct uspi_watching *w, uint64_t *counter) {
    uspi_lock_take(w->lock);
    ++*counter;
    uspi_lock_give(w->lock);
}

/* Begins a hang. The file is written before anything takes a lock of the allocator or the loader, because the hanging
 * thread may hold that lock. */
static void begin_hang(struct uspi_watching *w, uint64_t now) {
    struct uspi_hang *hang = &w->hang;
    hang->id = ++hang->ids;
    hang->updated = w->watch.busy;
    hang->is_severe = w->watch.busy >= w->options.severe;
    count(w, &w->statistics.hangs);
    save(w, now);
    uspi_hang_take_threads(hang, &w->subject);
    save(w, now);
    report(w, w->options.began, USP_HANG_ONGOING, w->watch.busy, w->watch.taken_off);
}

static void update_hang(struct uspi_watching *w, uint64_t now) {
    struct uspi_hang *hang = &w->hang;
    const uint64_t busy = w->watch.busy;
    bool becomes_severe = !hang->is_severe && busy >= w->options.severe;
    uspi_hang_file_touch(&w->file, busy);
    if (!becomes_severe && busy - hang->updated < w->options.update) return;
    hang->is_severe = hang->is_severe || becomes_severe;
    hang->updated = busy;
    save(w, now);
    report(w, w->options.updated, USP_HANG_ONGOING, busy, w->watch.taken_off);
}

static void end_hang(struct uspi_watching *w, uint32_t state, uint64_t duration, uint64_t taken_off) {
    w->hang.is_severe = duration >= w->options.severe;
    uspi_hang_file_end(&w->file);
    report(w, w->options.ended, state, duration, taken_off);
    uspi_hang_clear(&w->hang);
}

/* ---- what the thread does ---- */

static bool is_pinged(const struct uspi_watching *w) { return w->ping_function != NULL; }

/* Whether a queue is watched: its work runs on any thread, so that one thread's clock and stack say nothing about
 * it. */
static bool is_queue(const struct uspi_watching *w) { return (w->options.flags & USP_MONITOR_QUEUE) != 0; }

/* Returns what the watched thread does. A ping is a turn that begins when it is sent and ends with the answer. Before
 * the first answer there may be no running loop, so that no turn counts. */
static struct uspi_seen see(const struct uspi_watching *w) {
    if (!is_pinged(w)) return uspi_activity_see(&w->activity);
    uint32_t answers = atomic_load(&w->answers);
    return (struct uspi_seen){.turn = w->pings,
                              .doing = answers == 0          ? USPI_NOTHING_YET
                                       : answers != w->pings ? USPI_BUSY
                                                             : USPI_BETWEEN,
                              .began = w->ping_sent,
                              .ended = atomic_load(&w->answered_at)};
}

/* Sends a ping, except to a thread that has not run since it answered: it still waits in its loop. Answering takes
 * processor time too, so the first look after an answer only records the thread's clock. */
static void ping_again(struct uspi_watching *w, uint64_t now) {
    uint64_t cpu = 0;
    if (!is_pinged(w) || atomic_load(&w->answers) != atomic_load(&w->pings)) return;
    bool has_clock = !is_queue(w) && w->world.thread_cpu(w->world.context, &w->subject.info.thread, &cpu) == USP_OK;
    if (has_clock && w->is_settled && cpu == w->settled_cpu) return;
    if (has_clock && atomic_load(&w->pings) > 0 && !w->is_settled) {
        w->is_settled = true;
        w->settled_cpu = cpu;
        return;
    }
    w->is_settled = false;
    w->ping_sent = now;
    atomic_fetch_add(&w->pings, 1);
    w->ping_function(w->ping_context);
}

void uspi_watching_answer(struct uspi_watching *watching) {
    uint32_t pings = atomic_load(&watching->pings);
    /* An answer to a ping that was answered already is ignored. */
    if (atomic_load(&watching->answers) == pings) return;
    atomic_store(&watching->answered_at, watching->world.clock(watching->world.context));
    atomic_store(&watching->answers, pings);
}

/* Gets new images, but only while the thread does nothing: then it does not hold the loader's lock. */
static void learn_images(struct uspi_watching *w, const struct uspi_seen *seen) {
    if (seen->doing == USPI_BUSY) return;
    const struct usp_images *images = w->world.images(w->world.context);
    if (images == w->subject.images) return;
    w->subject.images = images;
    uspi_hang_learn_images(&w->hang, images);
}

/* ---- a look ---- */

/* Whether a debugger holds the process, in which case no user waits for the thread. */
static bool is_excused(const struct uspi_watching *w) {
    return (w->options.flags & USP_MONITOR_WHILE_TRACED) == 0 && w->world.is_traced(w->world.context);
}

static bool waits_by_stack(const struct uspi_watching *w, const struct usp_stack *stack) {
    if (uspi_loop_wait_holds(&w->loop_wait, stack)) return true;
    return w->options.is_waiting != NULL && w->options.is_waiting(w->options.context, stack);
}

/* Samples a late turn. Returns false if the thread turned out to wait in its loop. */
static bool sample(struct uspi_watching *w) {
    struct uspi_hang *hang = &w->hang;
    bool is_new;
    if (w->waits_unsaid && uspi_hang_stands_still(hang, &w->subject)) return false;
    if (hang->samples == 0 && hang->wall_start == 0) {
        uint64_t wall = w->world.wall_clock(w->world.context);
        uint64_t since = w->watch.busy + w->watch.taken_off;
        hang->wall_start = wall > since ? wall - since : 0;
    }
    if (is_queue(w)) {
        hang->capture_status = USP_ERROR_UNSUPPORTED;
        return true;
    }
    uspi_hang_sample(hang, &w->subject, w->watch.busy, &is_new);
    if (is_new) count(w, &w->statistics.captures);
    if (hang->samples > 0 && hang->samples % SAMPLES_PER_INTERVAL == 0) {
        uint64_t longer = w->watch.interval * 2;
        w->watch.interval = longer < w->options.update ? longer : w->options.update;
    }
    w->waits_unsaid = hang->has_stack && waits_by_stack(w, &hang->stack);
    return !w->waits_unsaid;
}

static void excuse(struct uspi_watching *w, uint64_t duration) {
    if (w->hang.id != 0) end_hang(w, USP_HANG_RECOVERED, duration, w->watch.taken_off);
    count(w, &w->statistics.excused);
    uspi_watch_excuse(&w->watch);
    uspi_hang_clear(&w->hang);
}

static void look_at_turn(struct uspi_watching *w, uint64_t now) {
    if (!sample(w)) {
        excuse(w, w->watch.busy);
    } else if (w->watch.level == USPI_HUNG && w->hang.id == 0) {
        if (is_excused(w)) {
            excuse(w, 0);
        } else {
            begin_hang(w, now);
        }
    } else if (w->hang.id != 0) {
        update_hang(w, now);
    }
}

static void count_look(struct uspi_watching *w, const struct uspi_seen *seen, const struct uspi_found *found) {
    uspi_lock_take(w->lock);
    w->statistics.looks++;
    w->statistics.turns += (seen->turn - w->counted) & (UINT32_MAX >> 2);
    w->statistics.late += found->ended >= USPI_LATE;
    w->counted = seen->turn;
    uspi_lock_give(w->lock);
}

/* Ends a turn that was late. A hang that ended before any look observed it is reported too. */
static void end_turn(struct uspi_watching *w, const struct uspi_found *found) {
    w->waits_unsaid = false;
    if (found->ended == USPI_HUNG && w->hang.id == 0 && !is_excused(w)) {
        w->hang.id = ++w->hang.ids;
        count(w, &w->statistics.hangs);
        w->hang.is_severe = found->duration >= w->options.severe;
        report(w, w->options.began, USP_HANG_ONGOING, found->duration, found->taken_off);
    }
    if (w->hang.id != 0) {
        end_hang(w, USP_HANG_RECOVERED, found->duration, found->taken_off);
    } else {
        uspi_hang_clear(&w->hang);
    }
    uspi_lock_take(w->lock);
    w->statistics.taken_off += found->taken_off;
    uspi_lock_give(w->lock);
}

/* Counts the monitor's own work as time of the turn, and returns the time. A function of the options may take as long
 * as `update`; a capture alone takes less than an interval. */
static uint64_t count_work(struct uspi_watching *w, bool has_reported) {
    uint64_t now = w->world.clock(w->world.context);
    uspi_watch_work(&w->watch, now, has_reported ? w->options.update : w->options.interval);
    return now;
}

static void report_killed(struct uspi_watching *w) {
    struct usp_hang *killed = w->killed;
    if (killed == NULL) return;
    w->killed = NULL;
    if (w->options.killed != NULL) w->options.killed(w->options.context, killed);
    usp_hang_free(killed);
    w->watch.due = count_work(w, true);
}

uint64_t uspi_watching_look(struct uspi_watching *watching, bool woken) {
    struct uspi_watching *w = watching;
    struct uspi_found found;
    report_killed(w);
    const struct uspi_seen seen = see(w);
    uint64_t now = w->world.clock(w->world.context);
    uspi_watch_look(&w->watch, &seen, now, woken, &found);
    count_look(w, &seen, &found);
    if (found.ended != USPI_HEALTHY) end_turn(w, &found);
    if (found.is_late) look_at_turn(w, now);
    now = count_work(w, found.ended == USPI_HUNG || w->hang.id != 0);
    if (found.is_late) return uspi_watch_next(&w->watch, now);
    if (!w->watch.is_busy) learn_images(w, &seen);
    ping_again(w, now);
    if (is_pinged(w) || !found.may_sleep) return uspi_watch_next(&w->watch, now);
    if (!uspi_activity_sleep(&w->activity, &seen)) return uspi_watch_next(&w->watch, now);
    uspi_watch_sleep(&w->watch);
    count(w, &w->statistics.sleeps);
    return USPI_FOR_EVER;
}

int uspi_watching_begin(struct uspi_watching *watching) {
    struct uspi_watching *w = watching;
    const struct uspi_limits limits = {w->options.late, w->options.hang, w->options.interval, w->options.idle};
    int status = USP_OK;
    if (w->options.file != NULL && w->file.state == NULL) {
        if (w->options.memory > SIZE_MAX - HANG_FILE_BASE) return USP_ERROR_ARGUMENT;
        (void)usp_hang_open(w->options.file, &w->killed);
        status = uspi_hang_file_make(&w->file, w->options.file, (size_t)w->options.memory + HANG_FILE_BASE);
    }
    uspi_hang_clear(&w->hang);
    w->waits_unsaid = false;
    uspi_watch_begin(&w->watch, &limits, w->world.clock(w->world.context));
    /* A turn that is already under way when watching begins is not observed. */
    w->watch.turn = see(w).turn;
    w->counted = w->watch.turn;
    return status;
}

void uspi_watching_end(struct uspi_watching *watching) {
    struct uspi_watching *w = watching;
    atomic_store(&w->activity.asleep, 0);
    if (w->hang.id != 0) end_hang(w, USP_HANG_ABANDONED, w->watch.busy, w->watch.taken_off);
    uspi_hang_file_end(&w->file);
    uspi_hang_clear(&w->hang);
}

void uspi_watching_get_statistics(struct uspi_watching *watching, struct usp_monitor_statistics *statistics) {
    uspi_lock_take(watching->lock);
    *statistics = watching->statistics;
    uspi_lock_give(watching->lock);
}
