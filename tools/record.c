/* SPDX-License-Identifier: MIT */
/* Implements `unspool record`: its arguments, the sampler, and messages on standard error. */
#define _GNU_SOURCE 1
#include "tools/record.h"
#include "tools/signals.h"

#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/progress.h"
#include "tools/text.h"

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_SECOND UINT64_C(1000000000)
/* Time between two checks of the signals, the program's end and the progress, in ns. */
#define LOOK 50000000
/* Progress may take at most one part in this many of the time. */
#define PROGRESS_SHARE 100

struct recording {
    int64_t pid;    /* the recorded process */
    char **program; /* program to start, with its arguments; NULL: the process is already running */
    uint64_t duration;
    bool is_quiet;
    bool is_over;  /* --duration has passed */
    char *threads; /* --threads, cut into its parts */
    struct usp_thread *ids;
    const char **names;
    struct usp_sampler_options options;
    struct record_output output;
};

static void usage(FILE *out) {
    fputs("usage: unspool record [OPTION...] PID\n"
          "       unspool record [OPTION...] -p PID\n"
          "       unspool record [OPTION...] -- COMMAND [ARGUMENT...]\n"
          "\n"
          "Samples the call stacks of a process until it ends, until --duration has passed\n"
          "or until ^C, and writes a profile. With COMMAND, unspool starts COMMAND,\n"
          "records it until it ends, and returns its exit status. Processes that COMMAND\n"
          "starts are not recorded.\n"
          "\n"
          "  -p PID              the process, as without -p\n"
          "  --duration SECONDS  end after this time; a COMMAND that still runs is ended\n"
          "                      with SIGTERM, and with SIGKILL one second later\n"
          "  --rate HZ           samples per second, 1 to 10000 (default 100)\n"
          "  --threads LIST      which threads: ids, or names with * and ?, separated by\n"
          "                      commas; main: the main thread; all: all threads (default)\n" OUTPUT_FORMATS_HELP
          "  --max N             keep at most N frames of each stack (default 256)\n"
          "  --async             Swift: include the async callers\n"
          "  --budget PERCENT    use at most this share of one processor for sampling, and\n"
          "                      stop each thread for at most this share of its time;\n"
          "                      sampling slows down to stay below both. 0: no limit\n"
          "                      (default 5)\n"
          "  --memory MB         memory for samples, in megabytes (default 64)\n" OUTPUT_NAMES_HELP
          "  --quiet             print no summary and no progress\n"
          "  -h, --help          print this help\n"
          "\n"
          "exit status: 0 the profile is written; with COMMAND, its exit status, or 128\n"
          "plus the number of the signal that ended it (0 where --duration did); 2 wrong\n"
          "usage, 3 the process cannot be read, COMMAND cannot be started, or no thread had\n"
          "a name of --threads, 4 another failure\n",
          out);
}

enum {
    OPTION_DURATION = 256,
    OPTION_RATE,
    OPTION_THREADS,
    OPTION_MAX,
    OPTION_ASYNC,
    OPTION_BUDGET,
    OPTION_MEMORY,
    OPTION_QUIET,
    OPTION_HELP
};

static const struct option options[] = {
    OUTPUT_OPTIONS,
    {"duration", required_argument, NULL, OPTION_DURATION},
    {"rate", required_argument, NULL, OPTION_RATE},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"max", required_argument, NULL, OPTION_MAX},
    {"async", no_argument, NULL, OPTION_ASYNC},
    {"budget", required_argument, NULL, OPTION_BUDGET},
    {"memory", required_argument, NULL, OPTION_MEMORY},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* ---- arguments ---- */

/* Parses a number with decimals, from `lowest` to `highest`. */
static bool parse_decimal(const char *option, double lowest, double highest, double *value) {
    char *end;
    double parsed = strtod(optarg, &end);
    /* No sign, no "inf" and no "nan". */
    if (optarg[0] != '\0' && optarg[strspn(optarg, "0123456789.")] == '\0' && *end == '\0' && parsed >= lowest &&
        parsed <= highest) {
        *value = parsed;
        return true;
    }
    complain("--%s takes a number from %g to %g, not \"%s\"", option, lowest, highest, optarg);
    return false;
}

static bool parse_count(const char *option, uint64_t lowest, uint64_t highest, uint64_t *value) {
    if (parse_number(optarg, highest, value) && *value >= lowest) return true;
    complain("--%s takes a number from %" PRIu64 " to %" PRIu64 ", not \"%s\"", option, lowest, highest, optarg);
    return false;
}

static bool is_number(const char *text) { return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0'; }

/* Parses ids or names, but not both: the sampler chooses threads in one way only. */
static bool parse_threads(struct recording *r) {
    size_t capacity = 1;
    for (const char *at = optarg; *at != '\0'; at++) capacity += *at == ',';
    free(r->threads);
    free(r->ids);
    free(r->names);
    r->threads = strdup(optarg);
    r->ids = calloc(capacity, sizeof *r->ids);
    r->names = calloc(capacity, sizeof *r->names);
    r->options.thread_count = r->options.name_count = 0;
    r->options.threads = r->ids;
    r->options.names = r->names;
    r->options.which = USP_SAMPLER_ALL;
    if (r->threads == NULL || r->ids == NULL || r->names == NULL) {
        complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
        return false;
    }
    if (strcmp(optarg, "all") == 0) return true;
    if (strcmp(optarg, "main") == 0) {
        r->options.which = USP_SAMPLER_MAIN;
        return true;
    }
    bool is_valid = true;
    for (char *rest = r->threads, *next; rest != NULL && is_valid; rest = next) {
        uint64_t id = 0;
        next = strchr(rest, ',');
        if (next != NULL) *next++ = '\0';
        if (is_number(rest)) {
            is_valid = parse_number(rest, INT32_MAX, &id) && id > 0;
            r->ids[r->options.thread_count++] = (struct usp_thread){id, id};
        } else {
            is_valid = rest[0] != '\0';
            r->names[r->options.name_count++] = rest;
        }
    }
    r->options.which = r->options.thread_count > 0 ? USP_SAMPLER_GIVEN : USP_SAMPLER_NAMED;
    if (is_valid && (r->options.thread_count == 0 || r->options.name_count == 0)) return true;
    complain("--threads takes ids or names, separated by commas, or main, or all; not \"%s\"", optarg);
    return false;
}

/* Parses an option with a value that can be wrong. */
static bool parse_value(int option, struct recording *r) {
    double decimal;
    uint64_t number;
    switch (option) {
    case OPTION_DURATION:
        if (!parse_decimal("duration", 0.001, 1e8, &decimal)) return false;
        r->duration = (uint64_t)(decimal * 1e9);
        return true;
    case OPTION_RATE:
        if (!parse_decimal("rate", 1, 10000, &decimal)) return false;
        r->options.interval = (uint64_t)(1e9 / decimal);
        return true;
    case OPTION_THREADS: return parse_threads(r);
    case 'p': return parse_process(optarg, &r->pid);
    case OPTION_MAX:
        if (!parse_count("max", 4, 100000, &number)) return false;
        r->options.max_frames = (uint32_t)number;
        return true;
    case OPTION_BUDGET:
        if (!parse_decimal("budget", 0, 100, &decimal)) return false;
        r->options.budget_cpu = r->options.budget_stopped = (uint32_t)(decimal * 10);
        if (decimal > 0 && r->options.budget_cpu == 0) r->options.budget_cpu = r->options.budget_stopped = 1;
        return true;
    case OPTION_MEMORY:
        if (!parse_count("memory", 1, 1u << 20, &number)) return false;
        r->options.memory = number << 20;
        return true;
    case OPTION_ASYNC: r->options.flags |= USP_SAMPLER_ASYNC; return true;
    case OPTION_QUIET: r->is_quiet = true; return true;
    default: return false; /* next_option has complained */
    }
}

/* Parses the target: a process id, or a command after "--". `end`: index of "--", or argc. */
static int parse_target_or_program(int argc, int end, char **argv, struct recording *r) {
    if (r->pid != 0 && optind == argc) return EXIT_ALL_WELL;
    if (r->pid != 0) {
        complain("record: one process at a time, or -- and a command");
        return EXIT_USAGE;
    }
    if (end + 1 < argc && optind == end) {
        r->program = argv + end + 1;
        return EXIT_ALL_WELL;
    }
    if (optind == end) {
        complain("record: a process id, or -- and a command, is missing");
        return EXIT_USAGE;
    }
    if (end - optind != 1 || end != argc) {
        complain("record: one process at a time, or -- and a command");
        return EXIT_USAGE;
    }
    if (!parse_target(argv[optind], &r->pid)) return EXIT_USAGE;
    if (r->pid == 0) {
        complain("\"%s\" is not a process id; a command follows --", argv[optind]);
        return EXIT_USAGE;
    }
    return EXIT_ALL_WELL;
}

/* Parses the arguments. Returns EXIT_ALL_WELL with *goes_on false after printing the help. */
static int parse(int argc, char **argv, struct recording *r, bool *goes_on) {
    int end = 1;
    *goes_on = false;
    /* Options after "--" belong to the command. */
    while (end < argc && strcmp(argv[end], "--") != 0) end++;
    for (int option; (option = next_option(end, argv, "ho:p:", options)) != -1;) {
        if (option == 'h' || option == OPTION_HELP) {
            usage(stdout);
            return EXIT_ALL_WELL;
        }
        bool is_wrong = false;
        if (!record_output_option(option, &r->output, &is_wrong) && (is_wrong || !parse_value(option, r)))
            return EXIT_USAGE;
    }
    if (!record_output_choose(&r->output)) return EXIT_USAGE;
    int result = parse_target_or_program(argc, end, argv, r);
    *goes_on = result == EXIT_ALL_WELL;
    return result;
}

/* ---- recording ---- */

/* Shows the progress. Counting copies the samples, so it may take only a small part of the time: *due is when it may be
 * done again, by usp_clock. */
static void put_progress(struct progress *progress, struct usp_sampler *sampler, uint64_t *due) {
    const uint64_t began = usp_clock();
    struct usp_profile_run run;
    struct usp_profile_info info;
    struct usp_profile *profile;
    char line[128];
    if (began < *due || !progress_is_due(progress)) return;
    usp_sampler_get_run(sampler, &run);
    if (usp_sampler_read(sampler, 0, UINT64_MAX, 0, &profile) != USP_OK) return;
    usp_profile_get_info(profile, &info);
    usp_profile_free(profile);
    double seconds = (double)(run.end - run.start) / 1e9;
    snprintf(line, sizeof line, "%" PRIu64 " samples of %" PRIu64 " threads, %.1f s, %.1f %% of a processor",
             info.samples, info.threads, seconds, seconds > 0 ? (double)run.cpu_ns / 1e7 / seconds : 0);
    progress_put(progress, line);
    uint64_t now = usp_clock();
    *due = now + (now - began) * PROGRESS_SHARE;
}

/* Waits until a signal arrives, the time is over, or no thread is left. The sampler's thread first has to list the
 * threads. */
static void watch(struct recording *r, struct usp_sampler *sampler) {
    struct progress progress;
    struct usp_profile_run run;
    uint64_t progress_due = 0;
    uint64_t end = r->duration != 0 ? usp_clock() + r->duration : UINT64_MAX;
    progress_begin(&progress, stderr);
    for (;;) {
        uint64_t now = usp_clock();
        usp_sampler_get_run(sampler, &run);
        r->is_over = now >= end;
        if (caught_signal() != 0 || r->is_over || (run.start != 0 && !usp_sampler_is_alive(sampler)) ||
            (r->program != NULL && has_ended((pid_t)r->pid))) {
            break;
        }
        uint64_t left = end - now < LOOK ? end - now : LOOK;
        const struct timespec nap = {0, (long)left};
        nanosleep(&nap, NULL);
        if (!r->is_quiet) put_progress(&progress, sampler, &progress_due);
    }
    progress_end(&progress);
}

struct sentence {
    char text[512];
    size_t length;
};

static void add_count(struct sentence *sentence, uint64_t count, const char *what) {
    if (count == 0 || sentence->length >= sizeof sentence->text) return;
    int n = snprintf(sentence->text + sentence->length, sizeof sentence->text - sentence->length, "; %" PRIu64 " %s",
                     count, what);
    if (n > 0) sentence->length += (size_t)n;
}

/* Prints the summary, which is needed with every format. file: where the samples are; NULL: not in a file. */
static void say_summary(const char *file, struct usp_profile *profile) {
    struct usp_profile_info info;
    struct sentence rest = {.length = 0};
    usp_profile_get_info(profile, &info);
    const struct usp_profile_run *run = &info.run;
    double seconds = (double)(run->end - run->start) / 1e9;
    add_count(&rest, run->missed_ticks, "ticks missed");
    add_count(&rest, run->slowed, "ticks and captures put off by the budget");
    add_count(&rest, run->failed, "captures failed");
    add_count(&rest, run->truncated, "stacks with frames left out");
    add_count(&rest, run->threads_appeared, "threads appeared");
    add_count(&rest, run->threads_ended, "threads ended");
    add_count(&rest, run->threads_left_out, "threads left out");
    add_count(&rest, info.evicted, "samples left the time line");
    add_count(&rest, info.refused, "samples did not fit");
    complain("%" PRIu64 " %s of %" PRIu64 " %s in %.1f s%s%s, with %.1f %% of a processor%s", info.samples,
             info.samples == 1 ? "sample" : "samples", info.threads, info.threads == 1 ? "thread" : "threads", seconds,
             file != NULL ? " in " : "", file != NULL ? file : "",
             seconds > 0 ? (double)run->cpu_ns / 1e7 / seconds : 0, rest.text);
}

/* Returns whether a thread was sampled, where threads are chosen by name. Complains otherwise: the name is probably
 * wrong. */
static bool has_named_thread(const struct recording *r, struct usp_profile *profile) {
    struct usp_profile_info info;
    usp_profile_get_info(profile, &info);
    if (r->options.name_count == 0 || info.threads > 0) return true;
    complain("no thread had %s %s of --threads", r->options.name_count == 1 ? "the name" : "a name, such as",
             r->options.names[0]);
    return false;
}

static int write_profile(struct recording *r, struct usp_sampler *sampler, bool is_alive) {
    struct usp_profile *profile;
    int status = usp_sampler_read(sampler, 0, UINT64_MAX, 0, &profile);
    if (status != USP_OK) {
        complain("%s", usp_status_string(status));
        return EXIT_FAILED;
    }
    gather_output();
    int result = record_write(&r->output, profile, is_alive ? r->pid : 0);
    if (!r->is_quiet) say_summary(result == EXIT_ALL_WELL ? r->output.path : NULL, profile);
    if (result == EXIT_ALL_WELL && !has_named_thread(r, profile)) result = EXIT_NO_TARGET;
    usp_profile_free(profile);
    return result;
}

/* Writes a profile without samples for a program that has already ended. */
static int write_nothing(struct recording *r) {
    struct usp_profile *profile;
    complain("%s ended before a sample could be taken", r->program[0]);
    if (usp_profile_create(NULL, &profile) != USP_OK) return EXIT_FAILED;
    int result = record_write(&r->output, profile, 0);
    usp_profile_free(profile);
    return result;
}

static int record_process(struct recording *r) {
    struct usp_sampler *sampler;
    char error[1024] = "";
    r->options.process = r->pid;
    int status = usp_sampler_create(&r->options, &sampler, error, sizeof error);
    if (status == USP_OK) {
        status = usp_sampler_start(sampler);
        if (status != USP_OK) usp_sampler_free(sampler);
    }
    if (status == USP_ERROR_NO_THREAD && r->program != NULL && has_ended((pid_t)r->pid)) return write_nothing(r);
    if (status != USP_OK) {
        complain("%s", error[0] != '\0' ? error : usp_status_string(status));
        return status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_NO_TARGET;
    }
    if (r->output.out == NULL && !record_open(&r->output)) {
        usp_sampler_free(sampler);
        return EXIT_FAILED;
    }
    watch(r, sampler);
    (void)usp_sampler_stop(sampler);
    int result = write_profile(r, sampler, usp_sampler_is_alive(sampler));
    usp_sampler_free(sampler);
    return result;
}

/* Ends the program that still runs when --duration has passed. Returns false when it had ended by itself. */
static bool end_program(pid_t pid) {
    if (has_ended(pid)) return false;
    kill(pid, SIGTERM);
    const uint64_t end = usp_clock() + NS_PER_SECOND;
    while (!has_ended(pid) && usp_clock() < end) nanosleep(&(struct timespec){0, 10000000}, NULL);
    if (!has_ended(pid)) kill(pid, SIGKILL);
    return true;
}

static int record_program(struct recording *r) {
    if (!record_open(&r->output)) return EXIT_FAILED;
    r->pid = start_program(r->program);
    if (r->pid < 0) return EXIT_NO_TARGET;
    int result = record_process(r);
    /* The terminal sends ^C to the program too. */
    if (caught_signal() != 0 && caught_signal() != SIGINT) kill((pid_t)r->pid, caught_signal());
    const bool is_ended = r->is_over && caught_signal() == 0 && end_program((pid_t)r->pid);
    int status = wait_for_program((pid_t)r->pid);
    if (is_ended) status = EXIT_ALL_WELL;
    return result != EXIT_ALL_WELL ? result : status;
}

/* Without this, the kernel sends SIGCHLD for each thread that sampling stops, which wakes the thread that waits in
 * watch. */
static void decline_signals_of_stops(void) {
    struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, NULL);
}

static int run(int argc, char **argv) {
    struct recording r = {.output = {.demangling = USP_DEMANGLE_FULL}};
    bool goes_on;
    usp_sampler_options_init(&r.options);
    usp_profile_write_options_init(&r.output.options);
    r.options.which = USP_SAMPLER_ALL;
    r.options.flags = USP_SAMPLER_KEEP;
    r.options.budget_cpu = r.options.budget_stopped = 50;
    r.options.memory = UINT64_C(64) << 20;
    int result = parse(argc, argv, &r, &goes_on);
    if (result == EXIT_USAGE) fputs("See `unspool record --help`.\n", stderr);
    if (goes_on) {
        catch_signals();
        decline_signals_of_stops();
        result = r.program != NULL ? record_program(&r) : record_process(&r);
    }
    record_discard(&r.output);
    line_options_clear(&r.output.lines);
    free(r.threads);
    free(r.ids);
    free(r.names);
    return result;
}

const struct command command_record = {"record", "sample a process or a command, and write a profile", run};
