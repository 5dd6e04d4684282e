/* SPDX-License-Identifier: MIT */
/* Implements `unspool stack`: its arguments, the snapshot, and messages on standard error. stack_text.c writes the
 * report for people; the library writes the other styles. */
#include "tools/stack.h"

#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/core_input.h"
#include "tools/lines.h"
#include "tools/stack_names.h"
#include "tools/text.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How long a process is stopped at most for the second time, in ns. */
#define SECOND_TIMEOUT 1000000000

struct request {
    const char *target;
    int64_t pid;         /* 0: `target` is a file */
    uint32_t style;      /* enum usp_format_style; 0: for people */
    uint32_t demangling; /* enum usp_demangle_style */
    uint32_t filter_flags;
    const char *only_images;
    struct line_options lines;
    bool no_symbols;
    bool no_lines, wants_lines; /* --no-lines, --lines */
    uint32_t line_flags;        /* enum usp_format_flags: how lines are written */
    bool is_merged;
    bool wants_tasks;
    bool has_timeout;
    struct usp_snapshot_options options;
};

static void usage(FILE *out) {
    fputs("usage: unspool stack [OPTION...] PID|FILE\n"
          "       unspool stack [OPTION...] -p PID\n"
          "       unspool stack [OPTION...] --core FILE\n"
          "\n"
          "Prints the call stack of every thread of a process, a core file or a raw\n"
          "capture (see usp_raw_write). An argument that is a number is a process id,\n"
          "anything else is a file: ./123 is a file, - is standard input. A process is\n"
          "stopped for a moment, copied and resumed. Compressed files (zstd, xz, lz4, gzip)\n"
          "and what comes from a pipe are unpacked to a file without a name in $TMPDIR.\n"
          "\n"
          "  -p PID           the process, as without -p\n"
          "  --core FILE      the core file or raw capture, as without --core\n"
          "  --thread ID      show only this thread\n"
          "  --max N          show at most N frames of each stack (default 512)\n"
          "  --tail N         when a stack has more frames, keep N of the outermost and\n"
          "                   leave out the middle. Default: 64, or a quarter of --max if\n"
          "                   that is less; 0: keep only the innermost frames\n"
          "  --whole-stack    copy large stacks of a process as a whole. Without this option,\n"
          "                   their innermost 4 MB and outermost 256 KB are copied, and\n"
          "                   frames between are left out\n"
          "  --timeout MS     stop a process for at most this time, in milliseconds (default\n"
          "                   100, once more 1000 if a thread did not answer in time)\n"
          "  --async          Swift: include the chain of async callers\n"
          "  --tasks          Swift on x86_64 and arm64 Linux: also show the tasks that\n"
          "                   no thread runs, each with its parent task and async callers\n"
          "  --goroutines     Go, with debug information: also show the goroutines that no\n"
          "                   thread runs\n"
          "  --merge          print one call tree of all threads, with the number of\n"
          "                   threads at each place\n"
          "  --json           print JSON instead of text\n"
          "  --style STYLE    print the style of another tool: call-stack-symbols,\n"
          "                   backtrace-symbols, bs-backtrace, crash-report, folded,\n"
          "                   ips, sentry, portable, plain, json\n"
          "  --demangle MODE  how to demangle names of C++, Rust and Swift: full, simple,\n"
          "                   short, no. Default: full, but short for text with --async or\n"
          "                   --tasks\n"
          "  --no-symbols     show image and offset, no names\n"
          "  --no-lines       show no source files, lines, inlined calls and inferred tail\n"
          "                   calls. Without this option, they are shown where there is\n"
          "                   debug information or an index of it\n"
          "  --lines          when the main program, or every image, has no lines, print\n"
          "                   where debug information was searched for\n"
          "  --full-path      show a source file's path instead of its name\n"
          "  --columns        show the column after the line, where it is known\n"
          "  --map-path OLD=NEW\n"
          "                   in paths of source files, show the directory OLD as NEW; may\n"
          "                   be repeated, the first match is used\n"
          "  --index STORE    take lines from the indexes in the folder STORE (see unspool\n"
          "                   index). Default: $UNSPOOL_INDEX_STORE, or unspool/index in\n"
          "                   $XDG_CACHE_HOME or ~/.cache\n"
          "  --shared-cache FILE|DIR\n"
          "                   take names of Apple's system libraries from the dyld shared\n"
          "                   cache FILE, or from all caches in and below DIR; may be\n"
          "                   repeated. The first one also is the sysroot if there is no\n"
          "                   --sysroot\n"
          "  --app            show only frames in the program's own images\n"
          "  --no-system      show no frames in the system's images\n"
          "  --image PATTERN  show only frames in images whose name matches PATTERN, which\n"
          "                   may contain * and ?\n"
          "  --sysroot DIR    search for programs, libraries and Apple's shared caches below\n"
          "                   DIR first\n"
          "  --program FILE   core files: the program, if the core does not name it or it\n"
          "                   is elsewhere\n"
          "  -h, --help       print this help\n"
          "\n"
          "exit status: 0 every thread has a stack, 1 some or all have none, or tasks or\n"
          "goroutines cannot be found, 2 wrong usage, 3 the process or file cannot be read,\n"
          "4 another failure\n",
          out);
}

static bool parse_option_number(const char *option, uint64_t lowest, uint64_t highest, uint64_t *value) {
    if (parse_number(optarg, highest, value) && *value >= lowest) return true;
    complain("--%s takes a number from %" PRIu64 " to %" PRIu64 ", not \"%s\"", option, lowest, highest, optarg);
    return false;
}

static const struct word styles[] = {
    {"call-stack-symbols", USP_FORMAT_CALL_STACK_SYMBOLS},
    {"backtrace-symbols", USP_FORMAT_BACKTRACE_SYMBOLS},
    {"bs-backtrace", USP_FORMAT_BS_BACKTRACE},
    {"crash-report", USP_FORMAT_CRASH_REPORT},
    {"folded", USP_FORMAT_FOLDED},
    {"ips", USP_FORMAT_IPS},
    {"sentry", USP_FORMAT_SENTRY},
    {"portable", USP_FORMAT_PORTABLE},
    {"plain", USP_FORMAT_PLAIN},
    {"json", USP_FORMAT_JSON},
};

enum {
    OPTION_THREAD = 256,
    OPTION_MAX,
    OPTION_TAIL,
    OPTION_WHOLE_STACK,
    OPTION_TIMEOUT,
    OPTION_ASYNC,
    OPTION_TASKS,
    OPTION_GOROUTINES,
    OPTION_MERGE,
    OPTION_JSON,
    OPTION_STYLE,
    OPTION_DEMANGLE,
    OPTION_NO_SYMBOLS,
    OPTION_NO_LINES,
    OPTION_LINES,
    OPTION_FULL_PATH,
    OPTION_COLUMNS,
    OPTION_MAP_PATH,
    OPTION_INDEX,
    OPTION_APP,
    OPTION_NO_SYSTEM,
    OPTION_IMAGE,
    OPTION_SYSROOT,
    OPTION_PROGRAM,
    OPTION_SHARED_CACHE,
    OPTION_CORE,
    OPTION_HELP
};

static const struct option options[] = {
    {"thread", required_argument, NULL, OPTION_THREAD},
    {"max", required_argument, NULL, OPTION_MAX},
    {"tail", required_argument, NULL, OPTION_TAIL},
    {"whole-stack", no_argument, NULL, OPTION_WHOLE_STACK},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"async", no_argument, NULL, OPTION_ASYNC},
    {"tasks", no_argument, NULL, OPTION_TASKS},
    {"goroutines", no_argument, NULL, OPTION_GOROUTINES},
    {"merge", no_argument, NULL, OPTION_MERGE},
    {"json", no_argument, NULL, OPTION_JSON},
    {"style", required_argument, NULL, OPTION_STYLE},
    {"demangle", required_argument, NULL, OPTION_DEMANGLE},
    {"no-symbols", no_argument, NULL, OPTION_NO_SYMBOLS},
    {"no-lines", no_argument, NULL, OPTION_NO_LINES},
    {"lines", no_argument, NULL, OPTION_LINES},
    {"full-path", no_argument, NULL, OPTION_FULL_PATH},
    {"columns", no_argument, NULL, OPTION_COLUMNS},
    {"map-path", required_argument, NULL, OPTION_MAP_PATH},
    {"index", required_argument, NULL, OPTION_INDEX},
    {"app", no_argument, NULL, OPTION_APP},
    {"no-system", no_argument, NULL, OPTION_NO_SYSTEM},
    {"image", required_argument, NULL, OPTION_IMAGE},
    {"sysroot", required_argument, NULL, OPTION_SYSROOT},
    {"program", required_argument, NULL, OPTION_PROGRAM},
    {"shared-cache", required_argument, NULL, OPTION_SHARED_CACHE},
    {"core", required_argument, NULL, OPTION_CORE},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* Parses the arguments. Returns EXIT_ALL_WELL with *goes_on false after printing the help. */
static int parse(int argc, char **argv, struct request *request, bool *goes_on) {
    uint64_t value;
    bool has_tail = false, has_demangling = false;
    *goes_on = false;
    for (int option; (option = next_option(argc, argv, "hp:", options)) != -1;) {
        switch (option) {
        case OPTION_THREAD:
            if (!parse_option_number("thread", 1, UINT64_MAX, &request->options.only_thread)) return EXIT_USAGE;
            break;
        case OPTION_MAX:
            if (!parse_option_number("max", 1, 1000000, &value)) return EXIT_USAGE;
            request->options.max_frames = (uint32_t)value;
            break;
        case OPTION_TAIL:
            if (!parse_option_number("tail", 0, 999999, &value)) return EXIT_USAGE;
            request->options.unwind.tail = (uint32_t)value;
            has_tail = true;
            break;
        case OPTION_WHOLE_STACK: request->options.whole_stacks = 1; break;
        case OPTION_TIMEOUT:
            if (!parse_option_number("timeout", 1, 3600000, &value)) return EXIT_USAGE;
            request->options.timeout = value * 1000000;
            request->has_timeout = true;
            break;
        case OPTION_ASYNC: request->options.unwind.async = 1; break;
        case OPTION_TASKS: request->wants_tasks = true; break;
        case OPTION_GOROUTINES: request->options.goroutines = 1; break;
        case OPTION_MERGE: request->is_merged = true; break;
        case OPTION_JSON: request->style = USP_FORMAT_JSON; break;
        case OPTION_STYLE:
            if (!parse_word("style", optarg, styles, sizeof styles / sizeof *styles, &request->style))
                return EXIT_USAGE;
            break;
        case OPTION_DEMANGLE:
            if (!parse_demangling(optarg, &request->demangling)) return EXIT_USAGE;
            has_demangling = true;
            break;
        case OPTION_NO_SYMBOLS: request->no_symbols = true; break;
        case OPTION_NO_LINES: request->no_lines = true; break;
        case OPTION_LINES: request->wants_lines = true; break;
        case OPTION_FULL_PATH: request->line_flags |= USP_FORMAT_FULL_PATHS; break;
        case OPTION_COLUMNS: request->line_flags |= USP_FORMAT_COLUMNS; break;
        case OPTION_INDEX: take_index_store(&request->lines, optarg); break;
        case OPTION_MAP_PATH:
            if (!add_path_map(&request->lines, optarg)) return EXIT_USAGE;
            break;
        case OPTION_APP: request->filter_flags |= USP_FILTER_APP; break;
        case OPTION_NO_SYSTEM: request->filter_flags |= USP_FILTER_NO_SYSTEM; break;
        case OPTION_IMAGE: request->only_images = optarg; break;
        case OPTION_SYSROOT: request->options.sysroot = optarg; break;
        case OPTION_PROGRAM: request->options.program = optarg; break;
        case OPTION_SHARED_CACHE:
            if (!add_shared_cache(&request->lines.caches, optarg)) return EXIT_FAILED;
            break;
        case OPTION_CORE:
            request->target = optarg;
            request->pid = 0;
            break;
        case 'p':
            if (!parse_process(optarg, &request->pid)) return EXIT_USAGE;
            request->target = optarg;
            break;
        case 'h':
        case OPTION_HELP: usage(stdout); return EXIT_ALL_WELL;
        default: return EXIT_USAGE; /* next_option has complained */
        }
    }
    uint32_t max = request->options.max_frames, *tail = &request->options.unwind.tail;
    if (!has_tail) *tail = max > 4 * DEFAULT_TAIL ? DEFAULT_TAIL : max / 4;
    if (*tail >= max) {
        complain("--tail %" PRIu32 " leaves nothing of --max %" PRIu32 " for the innermost frames", *tail, max);
        return EXIT_USAGE;
    }
    if (request->wants_lines && (request->no_lines || request->no_symbols)) {
        complain("either --lines or --no-%s", request->no_lines ? "lines" : "symbols");
        return EXIT_USAGE;
    }
    if (request->is_merged && (request->style != 0 || request->wants_lines)) {
        complain("--merge is a style of its own, without lines");
        return EXIT_USAGE;
    }
    if (request->wants_tasks && (request->is_merged || (request->style != 0 && request->style != USP_FORMAT_JSON))) {
        complain("--tasks is for the report without --merge or --style, and for --json");
        return EXIT_USAGE;
    }
    if (request->options.goroutines != 0 && request->style != 0 && request->style != USP_FORMAT_JSON) {
        complain("--goroutines is for the report without --style, for --merge and for --json");
        return EXIT_USAGE;
    }
    /* The compiler splits an async function where it awaits. The short style names the function, the full style its
     * parts. JSON has the mangled name too. */
    const bool is_async = request->options.unwind.async != 0 || request->wants_tasks;
    if (is_async && !has_demangling && request->style != USP_FORMAT_JSON) request->demangling = USP_DEMANGLE_SHORT;
    /* Styles without lines need no debug information. */
    if (request->style == USP_FORMAT_PORTABLE || request->style == USP_FORMAT_BACKTRACE_SYMBOLS || request->is_merged) {
        request->no_lines = true;
    }
    if (argc - optind != (request->target == NULL ? 1 : 0)) {
        complain(argc == optind ? "stack: a process id or a file is missing" : "stack: one target at a time");
        return EXIT_USAGE;
    }
    if (request->target == NULL) {
        request->target = argv[optind];
        if (!parse_target(request->target, &request->pid)) return EXIT_USAGE;
    }
    if (request->pid != 0 && request->options.program != NULL) {
        complain("--program is for core files");
        return EXIT_USAGE;
    }
    *goes_on = true;
    return EXIT_ALL_WELL;
}

/* Opens a raw capture or a core. The snapshot reads from the input until it is freed. */
static int open_input(const struct request *request, struct core_input *input, struct usp_snapshot **snapshot,
                      char *error, size_t error_size) {
    int status = core_input_begin(request->target, input, error, error_size);
    if (status != USP_OK) return status;
    status = usp_snapshot_open_raw(input->path, &request->options, snapshot, error, error_size);
    if (status != USP_ERROR_UNSUPPORTED) return status;
    return usp_snapshot_open_core(input->path, &request->options, snapshot, error, error_size);
}

/* Whether a thread has no stack because it did not stop in time. */
static bool is_too_late(const struct usp_snapshot *snapshot) {
    const struct usp_snapshot_thread *thread;
    size_t i = 0;
    while ((thread = usp_snapshot_get_thread(snapshot, i)) != NULL && thread->status != USP_ERROR_TIMEOUT) i++;
    return thread != NULL;
}

/* On a busy machine, threads wait for a processor before they stop: a busy one for longer than the default time. Without
 * --timeout the process is stopped again, and has more time. */
static int capture_process(const struct request *request, struct usp_snapshot **snapshot, char *error, size_t size) {
    const int status = usp_snapshot_create_process(request->pid, &request->options, snapshot, error, size);
    if (status != USP_OK || request->has_timeout || !is_too_late(*snapshot)) return status;
    struct usp_snapshot_options patient = request->options;
    patient.timeout = SECOND_TIMEOUT;
    struct usp_snapshot *again;
    /* If the process has ended meanwhile, what was captured first is shown. */
    if (usp_snapshot_create_process(request->pid, &patient, &again, NULL, 0) != USP_OK) return USP_OK;
    usp_snapshot_free(*snapshot);
    *snapshot = again;
    return USP_OK;
}

static int take_snapshot(const struct request *request, struct core_input *input, struct usp_snapshot **snapshot) {
    char error[1024] = "";
    const int status = request->pid != 0 ? capture_process(request, snapshot, error, sizeof error)
                                         : open_input(request, input, snapshot, error, sizeof error);
    if (status == USP_OK) return EXIT_ALL_WELL;
    char room[1536];
    if (error[0] != '\0') {
        complain("%s", core_input_message(input, error, room, sizeof room));
    } else {
        complain("%s: %s", request->target, usp_status_string(status));
    }
    return status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_NO_TARGET;
}

/* Prints the snapshot's messages and the threads without a stack. */
static int warn(const struct request *request, const struct usp_snapshot *snapshot, const struct core_input *input) {
    const char *message;
    char room[1536];
    for (size_t i = 0; (message = usp_snapshot_message(snapshot, i)) != NULL; i++) {
        complain("%s", core_input_message(input, message, room, sizeof room));
    }
    int result = EXIT_ALL_WELL;
    const struct usp_snapshot_thread *thread;
    const uint32_t count = usp_snapshot_get_info(snapshot)->thread_count;
    /* Goroutines are last. Go's run-time has some that wait in every program. */
    thread = usp_snapshot_get_thread(snapshot, count > 0 ? count - 1 : 0);
    if (request->options.goroutines != 0 && (thread == NULL || (thread->info.flags & USP_THREAD_GOROUTINE) == 0)) {
        result = EXIT_INCOMPLETE;
    }
    for (size_t i = 0; (thread = usp_snapshot_get_thread(snapshot, i)) != NULL; i++) {
        /* A thread that ended before it was stopped does not make the result incomplete. */
        if (thread->status == USP_OK || thread->status == USP_ERROR_NO_THREAD) continue;
        complain("thread %" PRIu64 " has no stack: %s", thread->info.thread.id, usp_status_string(thread->status));
        result = EXIT_INCOMPLETE;
    }
    for (size_t i = 0; (thread = usp_snapshot_get_thread(snapshot, i)) != NULL; i++) {
        if (thread->status == USP_OK && thread->stack.count > 0) return result;
    }
    return EXIT_INCOMPLETE;
}

/* Finds the requested tasks; NULL: none can be found. */
static struct usp_tasks *find_tasks(const struct request *request, const struct usp_snapshot *snapshot) {
    struct usp_tasks_options wanted;
    struct usp_tasks *tasks;
    char error[1024];
    usp_tasks_options_init(&wanted);
    wanted.max_frames = request->options.max_frames;
    if (usp_tasks_create(snapshot, &wanted, &tasks, error, sizeof error) != USP_OK) {
        complain("%s", error);
        return NULL;
    }
    const struct usp_tasks_info *info = usp_tasks_get_info(tasks);
    if ((info->flags & USP_TASKS_CUT) != 0) complain("the search for tasks reached a limit: there may be more");
    return tasks;
}

/* Names the frames of the report. It is not freed: the end of the process unmaps hundreds of files in a fraction of the
 * time that usp_symbolizer_free takes. */
static struct usp_symbolizer *symbolizer;

/* Creates the filter, demangler and symbolizer. Returns an enum usp_status. */
static int equip(const struct request *request, struct usp_filter **filter, struct stack_report *report) {
    const struct usp_images *images = usp_snapshot_images(report->snapshot);
    struct usp_filter_options wanted;
    int status = USP_OK;
    usp_filter_options_init(&wanted);
    wanted.flags = request->filter_flags;
    wanted.patterns = &request->only_images;
    wanted.pattern_count = request->only_images != NULL ? 1 : 0;
    if (wanted.flags != 0 || wanted.pattern_count > 0) status = usp_filter_create(images, &wanted, filter);
    if (status == USP_OK) status = usp_demangler_create(request->demangling, &report->format.demangler);
    if (status == USP_OK && !request->no_symbols) {
        struct usp_symbolizer_options names;
        usp_symbolizer_options_init(&names);
        char *store = use_line_options(&request->lines, &names);
        status = usp_symbolizer_create_for_snapshot(report->snapshot, &names, &symbolizer);
        report->format.symbolizer = symbolizer;
        free(store);
    }
    if (!request->no_lines) report->format.flags |= USP_FORMAT_LINES;
    report->format.flags |= request->line_flags;
    report->format.images = images;
    report->format.filter = *filter;
    return status;
}

/* Prints messages about files that are not used, and about missing lines. */
static void warn_of_files(const struct stack_report *report, bool has_lines, bool are_wanted) {
    const struct usp_snapshot_info *info = usp_snapshot_get_info(report->snapshot);
    struct looked_up looked_up;
    const struct usp_snapshot_thread *thread;
    looked_up_create(&looked_up, report->format.images);
    for (size_t i = 0; (thread = usp_snapshot_get_thread(report->snapshot, i)) != NULL; i++) {
        for (uint32_t k = 0; k < thread->stack.count; k++) {
            usp_addr site = usp_frame_call_site(thread->stack.arch, &thread->stack.frames[k]);
            if (usp_filter_keeps(report->format.filter, site)) looked_up_add(&looked_up, site);
        }
    }
    /* Of a core's files the snapshot's messages have told. */
    if ((info->flags & USP_SNAPSHOT_FILES_REFUSED) == 0) complain_of_files(&looked_up, report->format.symbolizer);
    if (has_lines) complain_of_lines(&looked_up, report->format.symbolizer, are_wanted);
    looked_up_clear(&looked_up);
}

static int write_report(const struct request *request, const struct usp_snapshot *snapshot,
                        const struct usp_tasks *tasks) {
    struct stack_report report = {.snapshot = snapshot, .tasks = tasks};
    struct usp_filter *filter = NULL;
    usp_format_options_init(&report.format);
    int status = equip(request, &filter, &report);
    if (status == USP_OK) stack_read_symbols(&report, stderr);
    gather_output();
    if (status == USP_OK && request->is_merged) {
        status = stack_write_merged(&report, stdout);
    } else if (status == USP_OK && request->style != 0) {
        report.format.style = request->style;
        report.format.tasks = tasks;
        status = usp_format_snapshot(snapshot, &report.format, write_to_file, stdout);
    } else if (status == USP_OK) {
        status = stack_write_text(&report, stdout);
    }
    if (status == USP_OK) warn_of_files(&report, !request->no_lines, request->wants_lines);
    usp_demangler_free(report.format.demangler);
    usp_filter_free(filter);
    /* main reports a failure to write standard output. */
    if (status == USP_OK || status == USP_ERROR_SYSTEM) return EXIT_ALL_WELL;
    complain("%s", usp_status_string(status));
    return EXIT_FAILED;
}

static int show_target(const struct request *request) {
    struct usp_snapshot *snapshot = NULL;
    struct core_input input = {.file = -1};
    int result = take_snapshot(request, &input, &snapshot);
    if (result != EXIT_ALL_WELL) {
        core_input_end(&input);
        return result;
    }
    int incomplete = warn(request, snapshot, &input);
    struct usp_tasks *tasks = request->wants_tasks ? find_tasks(request, snapshot) : NULL;
    if (request->wants_tasks && tasks == NULL) incomplete = EXIT_INCOMPLETE;
    result = write_report(request, snapshot, tasks);
    usp_tasks_free(tasks);
    usp_snapshot_free(snapshot);
    core_input_end(&input);
    return result != EXIT_ALL_WELL ? result : incomplete;
}

static int run(int argc, char **argv) {
    struct request request = {.demangling = USP_DEMANGLE_FULL};
    bool goes_on;
    usp_snapshot_options_init(&request.options);
    int result = parse(argc, argv, &request, &goes_on);
    if (goes_on) result = open_shared_caches(&request.lines.caches, false);
    /* A core that lacks the code of these libraries finds it in a cache below its sysroot. */
    if (request.options.sysroot == NULL && request.lines.caches.count > 0) {
        request.options.sysroot = request.lines.caches.paths[0];
    }
    if (goes_on && result == EXIT_ALL_WELL) result = show_target(&request);
    if (!goes_on && result == EXIT_USAGE) fputs("See `unspool stack --help`.\n", stderr);
    /* The symbolizer, which is not freed, is not used any more. */
    line_options_clear(&request.lines);
    return result;
}

const struct command command_stack = {"stack", "print the call stacks of a process, a core file or a raw capture", run};
