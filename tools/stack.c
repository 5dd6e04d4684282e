/* SPDX-License-Identifier: MIT */
/* `unspool stack`: its arguments, the snapshot, and what is said on standard error. How a report looks is stack_text.c's
 * and stack_json.c's. */
#include "tools/stack.h"

#include "tools/command.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct request {
    const char *target;
    int64_t pid; /* 0: `target` is a file */
    bool json, no_symbols, async;
    struct usp_snapshot_options options;
};

static void usage(FILE *out) {
    fputs(
        "usage: unspool stack [OPTION...] PID|CORE\n"
        "\n"
        "Prints the call stack of every thread of a process or a core file. A number is a process id, anything else a\n"
        "file; ./123 is a file. The process is stopped for a moment and runs on.\n"
        "\n"
        "  --thread ID      only this thread\n"
        "  --max N          at most N frames of each stack (default 512)\n"
        "  --tail N         of these, N for the outermost when a stack is longer (default 64; 0: none)\n"
        "  --async          Swift: the asynchronous callers as well\n"
        "  --json           JSON instead of text\n"
        "  --no-symbols     image + offset, no names\n"
        "  --sysroot DIR    look for programs and libraries under DIR first\n"
        "  --program FILE   core: the program's file, where the core does not name it\n"
        "  --help           this\n"
        "\n"
        "exit status: 0 every thread has its stack, 1 some have none, 2 wrong usage, 3 the process or file cannot be\n"
        "read, 4 something else failed\n",
        out);
}

/* A whole number and nothing else. */
static bool parse_number(const char *text, uint64_t highest, uint64_t *value) {
    if (text[0] < '0' || text[0] > '9') return false;
    char *end;
    errno = 0;
    unsigned long long parsed = strtoull(text, &end, 10);
    *value = parsed;
    return errno == 0 && *end == '\0' && parsed <= highest;
}

static bool parse_option_number(const char *option, uint64_t lowest, uint64_t highest, uint64_t *value) {
    if (parse_number(optarg, highest, value) && *value >= lowest) return true;
    complain("--%s wants a number from %" PRIu64 " to %" PRIu64 ", not \"%s\"", option, lowest, highest, optarg);
    return false;
}

/* A number of any length is a process id. */
static bool parse_target(const char *target, struct request *request) {
    uint64_t pid;
    request->target = target;
    request->pid = 0;
    if (target[0] == '\0' || target[strspn(target, "0123456789")] != '\0') return true;
    if (!parse_number(target, INT32_MAX, &pid) || pid == 0) {
        complain("%s is no process id (./%s would be a file)", target, target);
        return false;
    }
    request->pid = (int64_t)pid;
    return true;
}

enum {
    OPTION_THREAD = 256,
    OPTION_MAX,
    OPTION_TAIL,
    OPTION_ASYNC,
    OPTION_JSON,
    OPTION_NO_SYMBOLS,
    OPTION_SYSROOT,
    OPTION_PROGRAM,
    OPTION_HELP
};

static const struct option options[] = {
    {"thread", required_argument, NULL, OPTION_THREAD},
    {"max", required_argument, NULL, OPTION_MAX},
    {"tail", required_argument, NULL, OPTION_TAIL},
    {"async", no_argument, NULL, OPTION_ASYNC},
    {"json", no_argument, NULL, OPTION_JSON},
    {"no-symbols", no_argument, NULL, OPTION_NO_SYMBOLS},
    {"sysroot", required_argument, NULL, OPTION_SYSROOT},
    {"program", required_argument, NULL, OPTION_PROGRAM},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* The outermost frames that are kept of a stack that is too long, unless an option says otherwise. */
#define DEFAULT_TAIL 64

/* Returns EXIT_ALL_WELL with *goes_on false when everything is done with the help. */
static int parse(int argc, char **argv, struct request *request, bool *goes_on) {
    uint64_t value;
    bool has_tail = false;
    *goes_on = false;
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
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
        case OPTION_ASYNC: request->options.unwind.async = 1; break;
        case OPTION_JSON: request->json = true; break;
        case OPTION_NO_SYMBOLS: request->no_symbols = true; break;
        case OPTION_SYSROOT: request->options.sysroot = optarg; break;
        case OPTION_PROGRAM: request->options.program = optarg; break;
        case 'h':
        case OPTION_HELP: usage(stdout); return EXIT_ALL_WELL;
        default: return EXIT_USAGE; /* getopt_long has said why */
        }
    }
    uint32_t max = request->options.max_frames, *tail = &request->options.unwind.tail;
    if (!has_tail) *tail = max > 4 * DEFAULT_TAIL ? DEFAULT_TAIL : max / 4;
    if (*tail >= max) {
        complain("--tail %" PRIu32 " leaves nothing of --max %" PRIu32 " for the innermost frames", *tail, max);
        return EXIT_USAGE;
    }
    if (argc - optind != 1) {
        complain(argc == optind ? "stack: a process id or a core file is missing" : "stack: one target at a time");
        return EXIT_USAGE;
    }
    if (!parse_target(argv[optind], request)) return EXIT_USAGE;
    if (request->pid != 0 && request->options.program != NULL) {
        complain("--program is for core files");
        return EXIT_USAGE;
    }
    *goes_on = true;
    return EXIT_ALL_WELL;
}

void stack_name_frame(const struct stack_report *report, const struct usp_frame *frame, struct usp_symbol *symbol) {
    usp_addr site = usp_frame_call_site(usp_snapshot_get_info(report->snapshot)->arch, frame);
    memset(symbol, 0, sizeof *symbol);
    if (report->symbolizer != NULL) {
        usp_symbolize(report->symbolizer, site, symbol);
        return;
    }
    const struct usp_image *image = usp_images_find(usp_snapshot_images(report->snapshot), site);
    if (image == NULL) return;
    symbol->image_path = image->path;
    symbol->image_load = image->load_address;
}

const char *stack_run_state(const struct usp_snapshot_info *info, const struct usp_thread_info *thread) {
    if (info->os != USP_OS_LINUX) return NULL;
    /* Linux Documentation/filesystems/proc.rst, the third field of /proc/PID/stat. */
    switch (thread->run_state) {
    case 'R': return "running";
    case 'S': return "sleeping";
    case 'D': return "in uninterruptible sleep";
    case 'T': return "stopped";
    case 't': return "traced";
    case 'I': return "idle";
    case 'Z':
    case 'X': return "exited";
    default: return NULL;
    }
}

static int take_snapshot(const struct request *request, struct usp_snapshot **snapshot) {
    char error[1024] = "";
    int status = request->pid != 0
                     ? usp_snapshot_process(request->pid, &request->options, snapshot, error, sizeof error)
                     : usp_snapshot_core(request->target, &request->options, snapshot, error, sizeof error);
    if (status == USP_OK) return EXIT_ALL_WELL;
    if (error[0] != '\0') {
        complain("%s", error);
    } else {
        complain("%s: %s", request->target, usp_strerror(status));
    }
    return status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_NO_TARGET;
}

/* What a reader of the report has to know beside it. */
static int warn(const struct usp_snapshot *snapshot) {
    const char *message;
    for (size_t i = 0; (message = usp_snapshot_message(snapshot, i)) != NULL; i++) complain("%s", message);
    int result = EXIT_ALL_WELL;
    const struct usp_snapshot_thread *thread;
    for (size_t i = 0; (thread = usp_snapshot_get_thread(snapshot, i)) != NULL; i++) {
        if (thread->status == USP_OK) continue;
        complain("thread %" PRIu64 " has no stack: %s", thread->info.thread.id, usp_strerror(thread->status));
        result = EXIT_INCOMPLETE;
    }
    return result;
}

/* Where the files lie that names come from. A live process may see other files under its names than we do: its own root
 * comes first. A core that was sent home often has its files beside it. *room is to be freed. False when memory lacks. */
static bool choose_files(const struct request *request, struct usp_symbolizer_options *names, char **room) {
    usp_symbolizer_options_init(names);
    names->program = request->options.program;
    names->sysroot = request->options.sysroot;
    size_t size = strlen(request->target) + 32;
    *room = malloc(size);
    if (*room == NULL) return false;
    if (request->pid == 0) {
        const char *slash = strrchr(request->target, '/');
        snprintf(*room, size, "%.*s", slash != NULL ? (int)(slash - request->target) + 1 : 0, request->target);
        names->folder = *room;
    } else if (names->sysroot == NULL) {
        snprintf(*room, size, "/proc/%" PRId64 "/root", request->pid);
        names->sysroot = *room;
    }
    return true;
}

/* What the names of images without a file are read from: the live process, or the memory in the core. */
static void choose_memory(const struct request *request, const struct usp_snapshot *snapshot, struct usp_target *target,
                          struct usp_symbolizer_options *names) {
    names->process = request->pid;
    for (size_t i = 0; request->pid == 0 && usp_snapshot_get_thread(snapshot, i) != NULL; i++) {
        if (usp_snapshot_target(snapshot, i, target) != USP_OK) continue;
        names->memory = &target->memory;
        return;
    }
}

static int write_report(const struct request *request, const struct usp_snapshot *snapshot) {
    struct stack_report report = {snapshot, NULL};
    struct usp_symbolizer_options names;
    struct usp_target target;
    char *room;
    bool is_ready = choose_files(request, &names, &room);
    choose_memory(request, snapshot, &target, &names);
    if (is_ready && !request->no_symbols) {
        is_ready = usp_symbolizer_create(usp_snapshot_images(snapshot), &names, &report.symbolizer) == USP_OK;
    }
    if (is_ready && request->json) {
        stack_write_json(&report, stdout);
    } else if (is_ready) {
        is_ready = stack_write_text(&report, stdout);
    }
    usp_symbolizer_free(report.symbolizer);
    free(room);
    if (is_ready) return EXIT_ALL_WELL;
    complain("%s", usp_strerror(USP_ERROR_NO_MEMORY));
    return EXIT_FAILED;
}

static int run(int argc, char **argv) {
    struct request request = {0};
    bool goes_on;
    usp_snapshot_options_init(&request.options);
    int result = parse(argc, argv, &request, &goes_on);
    if (!goes_on) {
        if (result == EXIT_USAGE) fputs("`unspool stack --help` tells more.\n", stderr);
        return result;
    }
    struct usp_snapshot *snapshot = NULL;
    result = take_snapshot(&request, &snapshot);
    if (result != EXIT_ALL_WELL) return result;
    int incomplete = warn(snapshot);
    result = write_report(&request, snapshot);
    usp_snapshot_free(snapshot);
    return result != EXIT_ALL_WELL ? result : incomplete;
}

const struct command command_stack = {"stack", "the call stacks of a process or a core file", run};
