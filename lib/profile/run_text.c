/* SPDX-License-Identifier: MIT */
/* Text that every format has about a profile as a whole: its title, how the samples were taken, what is missing. */
#include "lib/base/path.h"
#include "lib/profile/writers.h"

#include <inttypes.h>
#include <stdio.h>

const char *uspi_profile_title(const struct uspi_writing *writing) {
    if (writing->options.title != NULL) return writing->options.title;
    const char *program = uspi_last_component(writing->profile->program);
    return program[0] != '\0' ? program : "profile";
}

/* ---- the run ---- */

struct line {
    char text[256];
    void (*put)(void *context, const char *line);
    void *context;
};

#define SAY(...)                                                                                                       \
    do {                                                                                                               \
        snprintf(line.text, sizeof line.text, __VA_ARGS__);                                                            \
        line.put(line.context, line.text);                                                                             \
    } while (0)

static double milliseconds(uint64_t ns) { return (double)ns / 1e6; }

static double thousandths(uint64_t part, uint64_t whole) {
    return whole != 0 ? (double)part * 1000 / (double)whole : 0;
}

static void describe_rate(const struct usp_profile_run *run, struct line line) {
    const uint64_t length = run->end - run->start;
    SAY("%" PRIu64 " ticks in %.3f s, every %.3g ms; %" PRIu64 " missed", run->ticks, milliseconds(length) / 1000,
        milliseconds(run->interval), run->missed_ticks);
    if (run->slowed > 0) {
        SAY("%" PRIu64 " ticks and captures were put off to keep the budget: up to %.3g ms between ticks", run->slowed,
            milliseconds(run->longest_interval));
    }
    SAY("%" PRIu64 " stacks captured, %" PRIu64 " failed, %" PRIu64 " with frames left out", run->captures, run->failed,
        run->truncated);
    SAY("sampling took %.2f per mille of a processor, and stopped threads for %.3f ms altogether, at most %.3f ms at "
        "once",
        thousandths(run->cpu_ns, length), milliseconds(run->stopped_ns), milliseconds(run->longest_stop_ns));
    if (run->budget_cpu > 0 || run->budget_stopped > 0) {
        SAY("the budget: %" PRIu64 " per mille of a processor, %" PRIu64 " per mille of a thread's time (0: none)",
            run->budget_cpu, run->budget_stopped);
    }
    if (run->threads_appeared > 0 || run->threads_ended > 0) {
        SAY("%" PRIu64 " threads appeared, %" PRIu64 " ended", run->threads_appeared, run->threads_ended);
    }
    if (run->threads_left_out > 0) SAY("%" PRIu64 " threads were left out: there was no room", run->threads_left_out);
}

/* Describes samples that were read from a recording: no sampler counted ticks and captures. */
static void describe_recorded(const struct usp_profile *profile, struct line line) {
    const double seconds = milliseconds(profile->run.end - profile->run.start) / 1000;
    const uint64_t samples = profile->samples, interval = profile->run.interval;
    if (interval > 0) {
        SAY("%" PRIu64 " samples in %.3f s, every %.3g ms", samples, seconds, milliseconds(interval));
    } else {
        SAY("%" PRIu64 " samples in %.3f s", samples, seconds);
    }
}

void uspi_profile_describe_run(const struct usp_profile *profile, void (*put)(void *context, const char *line),
                               void *context) {
    struct line line = {.put = put, .context = context};
    const struct usp_profile_run *run = &profile->run;
    const bool is_of_sampler = run->ticks > 0 || run->missed_ticks > 0 || run->captures > 0;
    if (run->end > run->start && is_of_sampler) describe_rate(run, line);
    if (run->end > run->start && !is_of_sampler) describe_recorded(profile, line);
    if (profile->refused > 0) SAY("%" PRIu64 " samples did not fit into the memory and are missing", profile->refused);
    if (profile->evicted > 0 && profile->was_rolling) {
        SAY("%" PRIu64 " older samples made room for these", profile->evicted);
    } else if (profile->evicted > 0) {
        SAY("%" PRIu64 " older samples are in the totals, but not on the time line", profile->evicted);
    }
}
