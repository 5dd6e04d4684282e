/* SPDX-License-Identifier: MIT */
/* Implements `unspool profile`: reads a recording of perf, or a profile in the formats pprof and OTLP or unspool's own
 * JSON, and writes its samples as a profile. */
#define _GNU_SOURCE 1
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/profile_file.h"
#include "tools/progress.h"
#include "tools/record.h"
#include "tools/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OPTION_PID = 256,
    OPTION_COMM,
    OPTION_EVENT,
    OPTION_TIME,
    OPTION_MAX,
    OPTION_MEMORY,
    OPTION_SYSROOT,
    OPTION_BUILD_IDS,
    OPTION_QUIET,
    OPTION_HELP
};

static const struct option options[] = {
    OUTPUT_OPTIONS,
    {"pid", required_argument, NULL, OPTION_PID},
    {"comm", required_argument, NULL, OPTION_COMM},
    {"event", required_argument, NULL, OPTION_EVENT},
    {"time", required_argument, NULL, OPTION_TIME},
    {"max", required_argument, NULL, OPTION_MAX},
    {"memory", required_argument, NULL, OPTION_MEMORY},
    {"sysroot", required_argument, NULL, OPTION_SYSROOT},
    {"buildid-dir", required_argument, NULL, OPTION_BUILD_IDS},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* Processes whose samples are counted. */
#define PROCESSES_MAX 4096u

struct process_count {
    int64_t pid;
    uint64_t samples;
};

struct conversion {
    const char *path, *shown; /* the recording; how messages name it */
    int file;
    bool is_quiet;
    const char *comm, *event; /* NULL: any */
    bool has_event;           /* event_index is chosen */
    uint32_t event_index;
    uint64_t other_events;    /* samples of other events */
    bool is_event_there;      /* a sample of `event` came */
    uint64_t without_stack;   /* samples of `event` that have no stack */
    uint64_t stackless[64];   /* the same for each of the first events of the file */
    char events[1024];        /* names of the events that have samples, with commas between them, for a message */
    uint64_t listed;          /* bit n: the event n is among them */
    uint64_t read, file_size; /* in bytes */
    uint8_t head[1024];       /* the first bytes of the file */
    size_t head_size;
    bool same;                             /* --format same */
    bool chooses;                          /* an option chooses samples */
    bool has_span;                         /* --time */
    bool has_times;                        /* a sample has the time at which it was taken */
    struct usp_profile_file *profile_file; /* of pprof or OTLP; NULL: it is a recording */
    uint8_t *bytes;                        /* its bytes */
    uint64_t memory;
    struct usp_profile *profile; /* NULL: no sample yet */
    uint64_t first, last, period;
    struct process_count *processes;
    size_t process_count;
    struct usp_recording_options options;
    char *build_ids; /* the default of options.build_ids; owned */
    struct record_output output;
    struct progress progress;
};

static void usage(FILE *out) {
    fputs("usage: unspool profile [OPTION...] FILE\n"
          "       unspool profile [OPTION...] -\n"
          "\n"
          "Reads a recording of Linux perf (perf.data, also from a pipe), or a profile of\n"
          "pprof, OTLP (OpenTelemetry) or unspool's JSON, unwinds the stack dumps of perf,\n"
          "and writes a profile with names, source lines and inlined calls. Files are\n"
          "looked for where the recorded processes had mapped them, and are used if they\n"
          "have the recorded build id.\n"
          "\n"
          "  --format same       write pprof and OTLP in their own format: names, lines and\n"
          "                      inlined calls are added, all else stays\n"
          "  --pid PID           only samples of this process\n"
          "  --comm NAME         only samples of threads with this name\n"
          "  --event NAME        samples of this event, or type of value in pprof and OTLP.\n"
          "                      Default: the first event that has samples, or the file's default\n"
          "  --time FROM,TO      only samples from the time FROM up to the time TO, in\n"
          "                      seconds as perf script shows them; either may be empty\n" OUTPUT_FORMATS_HELP
          "  --max N             keep at most N frames of each stack (default 512)\n"
          "  --memory MB         memory for samples, in megabytes (default 64)\n" OUTPUT_NAMES_HELP
          "  --sysroot FOLDER    look for files below FOLDER first\n"
          "  --buildid-dir FOLDER  where perf keeps files by their build ids (default\n"
          "                      ~/.debug): of images whose file has changed or is not there,\n"
          "                      and the kernel's symbols\n"
          "  --quiet             print no summary and no progress\n"
          "  -h, --help          print this help\n"
          "\n"
          "exit status: 0 the profile is written, 1 it is written and the recording is\n"
          "damaged or cut off: it has the samples before that place; 2 wrong usage, 3 the\n"
          "recording cannot be read or has no sample, 4 another failure\n",
          out);
}

/* ---- arguments ---- */

/* Parses a time in seconds. Returns false if it is not one. */
static bool parse_seconds(const char *text, size_t length, uint64_t *time) {
    char copy[64], *end;
    if (length == 0) return true;
    if (length >= sizeof copy || text[0] < '0' || text[0] > '9') return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    uint64_t seconds = strtoull(copy, &end, 10), fraction = 0, unit = 1000000000;
    if (*end == '.') {
        for (end++; *end >= '0' && *end <= '9'; end++) {
            unit /= 10;
            fraction += (uint64_t)(*end - '0') * unit;
        }
    }
    if (*end != '\0' || seconds > UINT64_MAX / 1000000000 - 1) return false;
    *time = seconds * 1000000000 + fraction;
    return true;
}

static bool parse_time(struct conversion *c) {
    const char *comma = strchr(optarg, ',');
    if (comma != NULL && parse_seconds(optarg, (size_t)(comma - optarg), &c->options.from) &&
        parse_seconds(comma + 1, strlen(comma + 1), &c->options.to)) {
        return true;
    }
    complain("--time takes FROM,TO in seconds, not \"%s\"", optarg);
    return false;
}

static bool parse_count(const char *option, uint64_t lowest, uint64_t highest, uint64_t *value) {
    if (parse_number(optarg, highest, value) && *value >= lowest) return true;
    complain("--%s takes a number from %" PRIu64 " to %" PRIu64 ", not \"%s\"", option, lowest, highest, optarg);
    return false;
}

static bool parse_option(int option, struct conversion *c) {
    uint64_t number;
    c->chooses |= option == OPTION_PID || option == OPTION_COMM || option == OPTION_EVENT || option == OPTION_TIME;
    switch (option) {
    case OPTION_PID: return parse_process(optarg, &c->options.pid);
    case OPTION_COMM: c->comm = optarg; return true;
    case OPTION_EVENT: c->event = optarg; return true;
    case OPTION_TIME: c->has_span = true; return parse_time(c);
    case OPTION_MAX:
        if (!parse_count("max", 4, 100000, &number)) return false;
        c->options.max_frames = (uint32_t)number;
        return true;
    case OPTION_MEMORY:
        if (!parse_count("memory", 1, 1u << 20, &number)) return false;
        c->memory = number << 20;
        return true;
    case OPTION_SYSROOT: c->options.sysroot = c->output.sysroot = optarg; return true;
    case OPTION_BUILD_IDS: c->options.build_ids = optarg; return true;
    case OPTION_QUIET: c->is_quiet = true; return true;
    default: return false; /* next_option has complained */
    }
}

/* Parses the arguments. Returns EXIT_ALL_WELL with *goes_on false after printing the help. */
static int parse(int argc, char **argv, struct conversion *c, bool *goes_on) {
    *goes_on = false;
    for (int option; (option = next_option(argc, argv, "ho:", options)) != -1;) {
        bool is_wrong = false;
        if (option == OUTPUT_FORMAT) c->same = strcmp(optarg, "same") == 0;
        if (option == OUTPUT_FORMAT && c->same) continue;
        if (option == 'h' || option == OPTION_HELP) {
            usage(stdout);
            return EXIT_ALL_WELL;
        }
        if (!record_output_option(option, &c->output, &is_wrong) && (is_wrong || !parse_option(option, c)))
            return EXIT_USAGE;
    }
    /* The format of the file itself is not a format of profiles; a name of the output says nothing then. */
    if (c->same) c->output.format = USP_PROFILE_PPROF;
    if (c->same && c->chooses) {
        complain("profile: --format same writes all samples: --pid, --comm, --event and --time do not go with it");
        return EXIT_USAGE;
    }
    if (!record_output_choose(&c->output)) return EXIT_USAGE;
    if (argc - optind != 1) {
        complain("profile: %s", argc == optind ? "the recording is missing" : "one recording at a time");
        return EXIT_USAGE;
    }
    c->path = argv[optind];
    *goes_on = true;
    return EXIT_ALL_WELL;
}

/* ---- reading ---- */

static void put_progress(struct conversion *c) {
    char line[128];
    if (!progress_is_due(&c->progress)) return;
    if (c->file_size != UINT64_MAX && c->file_size > 0) {
        snprintf(line, sizeof line, "%.0f %% of %" PRIu64 " MB", 100.0 * (double)c->read / (double)c->file_size,
                 c->file_size >> 20);
    } else {
        snprintf(line, sizeof line, "%" PRIu64 " MB", c->read >> 20);
    }
    progress_put(&c->progress, line);
}

/* Implements usp_recording_options.read. */
static int64_t read_file(void *context, uint64_t offset, void *to, size_t n) {
    struct conversion *c = context;
    ssize_t got;
    if (offset < c->head_size) {
        if (n > c->head_size - (size_t)offset) n = c->head_size - (size_t)offset;
        memcpy(to, c->head + offset, n);
        return (int64_t)n;
    }
    do {
        got = c->file_size != UINT64_MAX ? pread(c->file, to, n, (off_t)offset) : read(c->file, to, n);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return USP_ERROR_SYSTEM;
    c->read = offset + (uint64_t)got;
    if (!c->is_quiet) put_progress(c);
    return got;
}

static void count_process(struct conversion *c, int64_t pid) {
    for (size_t i = 0; i < c->process_count; i++) {
        if (c->processes[i].pid != pid) continue;
        c->processes[i].samples++;
        return;
    }
    if (c->process_count < PROCESSES_MAX) c->processes[c->process_count++] = (struct process_count){pid, 1};
}

/* Forgets the samples of an event, because one that the recording lists before it has samples, too. */
static void forget_samples(struct conversion *c) {
    struct usp_profile_info of;
    if (c->profile != NULL) {
        usp_profile_get_info(c->profile, &of);
        c->other_events += of.samples + of.refused;
    }
    usp_profile_free(c->profile);
    c->profile = NULL;
    c->process_count = 0;
    c->first = c->last = 0;
    c->has_times = false;
}

/* Whether a sample's event is the chosen one: the named one, or the first of a recording's list that has samples. The
 * library gives the default type of a profile of pprof or OTLP first. */
static bool is_chosen(struct conversion *c, const struct usp_recording_sample *sample) {
    if (c->event != NULL) return strcmp(c->event, sample->event) == 0;
    if (!c->has_event || (c->profile_file == NULL && sample->event_index < c->event_index)) {
        if (c->has_event) forget_samples(c);
        c->has_event = true;
        c->event_index = sample->event_index;
    }
    if (c->event_index == sample->event_index) return true;
    c->other_events++;
    return false;
}

static int create_profile(struct conversion *c, const struct usp_recording_sample *sample) {
    struct usp_profile_options made;
    usp_profile_options_init(&made);
    made.memory = c->memory;
    made.pid = sample->pid;
    made.arch = sample->stack->arch;
    if (c->profile_file != NULL) {
        struct usp_profile_file_info info;
        usp_profile_file_get_info(c->profile_file, &info);
        made.program = info.program;
    }
    return usp_profile_create(&made, &c->profile);
}

/* Notes the time of a sample. Samples of OTLP are not in the order of their times. Sums of durations are not times if
 * there are others. */
static void note_time(struct conversion *c, const struct usp_recording_sample *sample) {
    const bool is_timed = (sample->flags & USP_RECORDING_SAMPLE_SUMMED) == 0;
    if (is_timed && !c->has_times) c->first = c->last = 0;
    c->has_times |= is_timed;
    if (is_timed != c->has_times) return;
    if (c->first == 0 || (sample->time != 0 && sample->time < c->first)) c->first = sample->time;
    if (sample->time > c->last) c->last = sample->time;
}

/* Adds the event of a sample to the list of a message. */
static void list_event(struct conversion *c, const struct usp_recording_sample *sample) {
    if (sample->event_index >= 64 || (c->listed >> sample->event_index & 1) != 0) return;
    const size_t used = strlen(c->events);
    c->listed |= UINT64_C(1) << sample->event_index;
    snprintf(c->events + used, sizeof c->events - used, "%s%s", used > 0 ? ", " : "", sample->event);
}

/* Implements usp_recording_options.sample. */
static int take_sample(void *context, const struct usp_recording_sample *sample) {
    struct conversion *c = context;
    list_event(c, sample);
    if (c->comm != NULL && strcmp(c->comm, sample->thread->name) != 0) return USP_OK;
    const bool is_of_event = c->event == NULL || strcmp(c->event, sample->event) == 0;
    c->is_event_there |= is_of_event;
    if (sample->stack->count == 0) {
        c->without_stack += is_of_event;
        if (sample->event_index < 64) c->stackless[sample->event_index] += is_of_event;
        return USP_OK;
    }
    if (!is_chosen(c, sample)) return USP_OK;
    int status = c->profile != NULL ? USP_OK : create_profile(c, sample);
    if (status != USP_OK) return status;
    /* OTLP has times of day, and JSON can be written as OTLP: they must not have times that only keep samples apart. */
    const bool has_real_times =
        c->output.options.format == USP_PROFILE_OTLP || c->output.options.format == USP_PROFILE_JSON;
    const bool is_untimed = has_real_times && (sample->flags & USP_RECORDING_SAMPLE_SUMMED) != 0;
    const struct usp_profile_sample added = {.thread = sample->thread,
                                             .stack = sample->stack,
                                             .images = sample->images,
                                             .time = is_untimed ? 0 : sample->time,
                                             .wall = sample->duration,
                                             .cpu = (sample->flags & USP_RECORDING_SAMPLE_CPU) != 0 ? sample->cpu
                                                                                                    : sample->duration,
                                             .count = sample->count};
    count_process(c, sample->pid);
    note_time(c, sample);
    c->period = sample->duration;
    status = usp_profile_add(c->profile, &added);
    /* The profile counts samples that do not fit. */
    return status == USP_ERROR_FULL ? USP_OK : status;
}

/* Implements usp_recording_options.end_thread. */
static void end_thread(void *context, uint64_t id) {
    const struct conversion *c = context;
    if (c->profile != NULL) usp_profile_end_thread(c->profile, id);
}

/* Returns the folder in which perf keeps files by default; NULL: there is no home folder. */
static char *default_build_ids(void) {
    const char *home = getenv("HOME");
    if (home == NULL || home[0] != '/') return NULL;
    const size_t size = strlen(home) + sizeof "/.debug";
    char *path = malloc(size);
    if (path != NULL) snprintf(path, size, "%s/.debug", home);
    return path;
}

static bool open_recording(struct conversion *c) {
    struct stat about;
    const bool is_input = strcmp(c->path, "-") == 0;
    c->shown = is_input ? "standard input" : c->path;
    c->file = is_input ? STDIN_FILENO : open(c->path, O_RDONLY | O_CLOEXEC);
    if (c->file < 0 || fstat(c->file, &about) != 0) {
        complain("%s: %s", c->shown, strerror(errno));
        return false;
    }
    if (S_ISDIR(about.st_mode)) {
        complain("%s: a folder; a recording of perf record --threads cannot be read", c->shown);
        return false;
    }
    const bool is_file = S_ISREG(about.st_mode) && lseek(c->file, 0, SEEK_CUR) == 0;
    c->file_size = c->options.file_size = is_file ? (uint64_t)about.st_size : UINT64_MAX;
    while (c->head_size < sizeof c->head) {
        const ssize_t got = read(c->file, c->head + c->head_size, sizeof c->head - c->head_size);
        if (got == 0) break;
        if (got < 0 && errno != EINTR) {
            complain("%s: %s", c->shown, strerror(errno));
            return false;
        }
        if (got > 0) c->head_size += (size_t)got;
    }
    return true;
}

/* Returns whether a file begins as the CPU profiles of gperftools do: the words 0, 3, 0, a period and 0. */
static bool is_binary_profile(const unsigned char *head, size_t size, size_t word) {
    static const unsigned char begin[] = {0, 3, 0};
    for (size_t i = 0; i < sizeof begin; i++) {
        for (size_t k = 0; k < word; k++) {
            if (size < 5 * word || head[i * word + k] != (k == 0 ? begin[i] : 0)) return false;
        }
    }
    for (size_t k = 0; k < word; k++) {
        if (head[4 * word + k] != 0) return false;
    }
    return true;
}

/* Returns whether a file is a profile in a format from before pprof's, as gperftools and Go (debug=1) write them
 * (google/pprof, profile/legacy_profile.go). */
static bool is_older_profile(const unsigned char *head, size_t size) {
    static const char *const begins[] = {"heap profile:",
                                         "goroutine profile:",
                                         "threadcreate profile:",
                                         "--- symbol",
                                         "--- profile",
                                         "--- heap",
                                         "--- contention",
                                         "--- growth",
                                         "--- mutex:",
                                         "heapz",
                                         "growthz",
                                         "contentionz",
                                         "--- threadz",
                                         "--- Memory map:"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        const size_t length = strlen(begins[i]);
        if (size >= length && memcmp(head, begins[i], length) == 0) return true;
    }
    return is_binary_profile(head, size, 4) || is_binary_profile(head, size, 8);
}

/* Reads and names a profile of pprof or OTLP. Returns an enum exit_status. */
static int open_profile_file(struct conversion *c) {
    char error[1024];
    size_t size;
    if (is_older_profile(c->head, c->head_size)) {
        complain("%s: an older format of gperftools or Go; `go tool pprof -proto FILE >NEW` converts it", c->shown);
        return EXIT_NO_TARGET;
    }
    if (!usp_profile_file_may_be(c->head, c->head_size)) {
        complain("%s: not a recording in a format that is known", c->shown);
        return EXIT_NO_TARGET;
    }
    int result = read_whole(c->file, c->shown, c->head, c->head_size, &c->bytes, &size);
    if (result != EXIT_ALL_WELL) return result;
    const int status = usp_profile_file_open(c->bytes, size, &c->profile_file, error, sizeof error);
    if (status == USP_OK) {
        struct usp_profile_file_info info;
        usp_profile_file_get_info(c->profile_file, &info);
        if (!c->has_span || info.format != USP_PROFILE_FILE_PPROF)
            return name_profile_file(c->profile_file, &c->output);
        complain("%s: --time: a profile of pprof has sums of samples, without times", c->shown);
        return EXIT_USAGE;
    }
    complain("%s: %s", c->shown, error);
    return status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_NO_TARGET;
}

/* Writes a profile of pprof or OTLP in its own format. */
static int write_same(struct conversion *c) {
    struct usp_profile_file_info info;
    if (c->profile_file == NULL) {
        complain("%s: a recording of perf cannot be written in its own format; --format same is for pprof and OTLP",
                 c->shown);
        return EXIT_USAGE;
    }
    usp_profile_file_get_info(c->profile_file, &info);
    if (info.format == USP_PROFILE_FILE_UNSPOOL) {
        complain("%s: --format same is for pprof and OTLP; --format json writes this profile with names", c->shown);
        return EXIT_USAGE;
    }
    if (info.damage != USP_OK) {
        complain("%s: it is %s after %" PRIu64 " bytes; --format same requires a whole file", c->shown,
                 info.damage == USP_ERROR_TRUNCATED ? "cut off" : "damaged", info.read);
        return EXIT_NO_TARGET;
    }
    if (!record_open(&c->output)) return EXIT_FAILED;
    const int status = usp_profile_file_write(c->profile_file, record_put, &c->output);
    const int result = record_close(&c->output, status);
    if (!c->is_quiet && result == EXIT_ALL_WELL) {
        complain("%" PRIu64 " of %" PRIu64 " locations got names or lines, %" PRIu64 " had a name", info.found,
                 info.locations, info.named);
    }
    return result;
}

/* ---- the result ---- */

/* `path`: the file in which the profile is; NULL: none. */
static void say_summary(const struct conversion *c, const struct usp_recording_info *info, const char *path) {
    struct usp_profile_info of;
    usp_profile_get_info(c->profile, &of);
    complain("%" PRIu64 " %s of %" PRIu64 " %s in %.1f s%s%s", of.samples, of.samples == 1 ? "sample" : "samples",
             of.threads, of.threads == 1 ? "thread" : "threads",
             (double)(info->length > 0 ? info->length : c->last - c->first) / 1e9, path != NULL ? " in " : "",
             path != NULL ? path : "");
    if (info->short_dumps > 0) {
        complain("%" PRIu64 " of %" PRIu64 " stack dumps end before the stack does; perf record --call-graph "
                 "dwarf,BYTES makes larger ones",
                 info->short_dumps, info->unwound);
    }
    if (info->maps_left_out > 0) {
        complain("%" PRIu64 " maps of files are left out because there are too many; frames there have no names",
                 info->maps_left_out);
    }
    const uint64_t left_out = c->event != NULL      ? c->without_stack
                              : c->event_index < 64 ? c->stackless[c->event_index]
                                                    : 0;
    if (left_out > 0) {
        complain("%" PRIu64 " %s no stack and %s left out", left_out, left_out == 1 ? "sample has" : "samples have",
                 left_out == 1 ? "is" : "are");
    }
    if (info->lost > 0) complain("%" PRIu64 " records were lost while it was recorded", info->lost);
    if (c->other_events > 0 && c->profile_file == NULL) {
        complain("%" PRIu64 " samples of other events are left out; --event chooses one", c->other_events);
    }
    if (of.refused > 0) complain("%" PRIu64 " samples did not fit; --memory gives more room", of.refused);
}

static void describe_run(const struct conversion *c, const struct usp_recording_info *info) {
    const bool is_known = info->length > 0;
    const uint64_t interval = c->profile_file != NULL ? info->interval : c->period;
    /* Samples with times of day begin with the run, and those without times at 0. */
    const bool is_of_day = info->wall_start != 0 && c->has_times && c->first >= info->wall_start;
    const bool is_of_clock = info->wall_start == 0 && c->has_times;
    const uint64_t start = is_of_day ? info->wall_start : is_known && !is_of_clock ? 0 : c->first;
    const struct usp_profile_run run = {.wall_start = info->wall_start,
                                        .start = start,
                                        .end = is_known ? start + info->length : c->last,
                                        .interval = interval,
                                        .longest_interval = interval};
    usp_profile_set_run(c->profile, &run);
}

/* Returns the process with the most samples, whose perf map names generated code. */
static int64_t main_process(const struct conversion *c) {
    const struct process_count *most = NULL;
    for (size_t i = 0; i < c->process_count; i++) {
        if (most == NULL || c->processes[i].samples > most->samples) most = &c->processes[i];
    }
    return most != NULL ? most->pid : 0;
}

/* Reads the samples. `error` receives why that failed. Returns an enum usp_status. */
static int read_samples(struct conversion *c, struct usp_recording_info *info, char *error, size_t error_size) {
    if (c->profile_file == NULL) {
        progress_begin(&c->progress, stderr);
        const int status = usp_recording_read(&c->options, info, error, error_size);
        progress_end(&c->progress);
        return status;
    }
    struct usp_profile_file_info file;
    const int status = usp_profile_file_samples(c->profile_file, &c->options, info);
    usp_profile_file_get_info(c->profile_file, &file);
    if (status == USP_ERROR_TRUNCATED || status == USP_ERROR_FORMAT) {
        snprintf(error, error_size, "it is %s after %" PRIu64 " bytes",
                 status == USP_ERROR_TRUNCATED ? "cut off" : "damaged", file.read);
    }
    return status;
}

/* Says why there is nothing to write. `samples`: what the file has. */
static void say_empty(const struct conversion *c, uint64_t samples) {
    if (samples == 0) {
        complain("%s: the file is whole and has no sample: nothing was recorded in it", c->shown);
    } else if (c->without_stack > 0) {
        complain("%s: none of %s samples has a stack", c->shown, c->chooses ? "the chosen" : "its");
    } else if (c->event != NULL && !c->is_event_there && c->events[0] != '\0') {
        complain("%s: no sample of the event \"%s\"; it has samples of: %s", c->shown, c->event, c->events);
    } else {
        complain("%s: no sample that the options choose", c->shown);
    }
}

static int convert(struct conversion *c) {
    struct usp_recording_info info;
    char error[1024] = "";
    int status = read_samples(c, &info, error, sizeof error);
    const bool is_damaged = status == USP_ERROR_TRUNCATED || status == USP_ERROR_FORMAT;
    if (status != USP_OK) complain("%s: %s", c->shown, error[0] != '\0' ? error : usp_status_string(status));
    if (status != USP_OK && !is_damaged) return status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_NO_TARGET;
    if (c->profile == NULL) {
        if (status == USP_OK) say_empty(c, info.samples);
        return EXIT_NO_TARGET;
    }
    const char *path = c->output.path;
    if (!c->is_quiet && path == NULL) say_summary(c, &info, NULL);
    describe_run(c, &info);
    c->output.recorded = main_process(c);
    c->output.options.file = c->profile_file;
    if (!record_open(&c->output)) return EXIT_FAILED;
    const int result = record_write(&c->output, c->profile, 0);
    if (!c->is_quiet && path != NULL) say_summary(c, &info, result == EXIT_ALL_WELL ? path : NULL);
    return result == EXIT_ALL_WELL && is_damaged ? EXIT_INCOMPLETE : result;
}

static int run(int argc, char **argv) {
    struct conversion c = {.file = -1, .memory = UINT64_C(64) << 20, .output = {.demangling = USP_DEMANGLE_FULL}};
    bool goes_on;
    usp_recording_options_init(&c.options);
    usp_profile_write_options_init(&c.output.options);
    c.options.read = read_file;
    c.options.sample = take_sample;
    c.options.end_thread = end_thread;
    c.options.context = &c;
    int result = parse(argc, argv, &c, &goes_on);
    if (result == EXIT_USAGE) fputs("See `unspool profile --help`.\n", stderr);
    if (goes_on) {
        c.build_ids = default_build_ids();
        if (c.options.build_ids == NULL) c.options.build_ids = c.build_ids;
        c.output.build_ids = c.options.build_ids;
        c.processes = calloc(PROCESSES_MAX, sizeof *c.processes);
        result = c.processes != NULL && open_recording(&c) ? EXIT_ALL_WELL : EXIT_NO_TARGET;
        if (result == EXIT_ALL_WELL && !usp_recording_is(c.head, c.head_size)) result = open_profile_file(&c);
        if (result == EXIT_ALL_WELL) result = c.same ? write_same(&c) : convert(&c);
    }
    record_discard(&c.output);
    line_options_clear(&c.output.lines);
    usp_profile_free(c.profile);
    usp_profile_file_free(c.profile_file);
    free(c.bytes);
    free(c.build_ids);
    free(c.processes);
    if (c.file > STDIN_FILENO) close(c.file);
    return result;
}

const struct command command_profile = {"profile",
                                        "read a recording of perf, pprof, OTLP or unspool, and write a profile", run};
