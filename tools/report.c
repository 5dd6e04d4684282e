/* SPDX-License-Identifier: MIT */
/* Implements `unspool report`: shows a report or log of any format that the library reads (<unspool/report.h>) in one
 * format for people. */
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/lines.h"
#include "tools/log_files.h"
#include "tools/log_images.h"
#include "tools/log_input.h"
#include "tools/log_names.h"
#include "tools/log_say.h"
#include "tools/report_raw.h"
#include "tools/text.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *out) {
    fputs("usage: unspool report [--search DIR]... [--binary-images FILE] [--index STORE]\n"
          "                      [--map-path OLD=NEW]... [--demangle MODE] [--json]\n"
          "                      [--html] [--diff] [--thread crashed|NUMBER] [--app]\n"
          "                      [--shared-cache FILE|DIR]...\n"
          "                      [--keep-names] [--strict] [--quiet]\n"
          "                      [--fetch COMMAND | --debuginfod]\n"
          "                      [--fetch-cache DIR] [--fetch-timeout SECONDS]\n"
          "                      FILE|DIR|-...\n"
          "\n"
          "Shows a crash report, a MetricKit payload, a call tree, a sanitizer's report or\n"
          "the stacks in a log, of any format in doc/reports.md, in one layout: header,\n"
          "exception, the thread that crashed, the other threads, images. Samples are\n"
          "shown as the heaviest stack and a call tree. Of a folder, all files are shown.\n"
          "FILE may be - for standard input. A raw capture, as the crash kit writes it, has\n"
          "the names that unspool stack finds.\n"
          "\n"
          "  --search DIR       search for the images' files in DIR: dSYMs, programs,\n"
          "                     libraries, debug files; may be repeated. Without it and\n"
          "                     without a store of indexes, frames keep the names that\n"
          "                     they have in the report\n"
          "  --binary-images FILE\n"
          "                     file that lists the images, if the report itself does not\n"
          "  --index STORE      take lines, and names of images without a file, from the\n"
          "                     indexes in the folder STORE (see unspool index). Default:\n"
          "                     $UNSPOOL_INDEX_STORE, or unspool/index in $XDG_CACHE_HOME\n"
          "                     or ~/.cache\n"
          "  --map-path OLD=NEW\n"
          "                     in paths of source files, show the directory OLD as NEW;\n"
          "                     may be repeated, the first match is used\n" SHARED_CACHE_USAGE "\n" FETCH_USAGE,
          out);
    fputs("  --demangle MODE    how to demangle names of C++, Rust and Swift: full\n"
          "                     (default), simple, short, no\n"
          "  --thread THREAD    show only this thread, by its number or id; crashed: only the\n"
          "                     threads that crashed, and the backtraces of exceptions\n"
          "  --app              leave out frames of the system's libraries\n"
          "  --json             print JSON instead of text: an object for each file\n"
          "  --html             print a page for browsers, of one file: it needs no other file,\n"
          "                     and has a fold for each thread\n"
          "  --diff             compare two files: fields, stacks by functions and lines,\n"
          "                     images. Lines that only the first has begin with -, those\n"
          "                     that only the second has with +\n"
          "  --keep-names       show the names of the report as they are. Without it, where\n"
          "                     the report states the image's UUID or build id, a name whose\n"
          "                     function does not hold the address is replaced, and the\n"
          "                     others get a line\n"
          "  --strict           fail when a frame of a known image has no name\n"
          "  --quiet            print no counts of frames and no lists of missing images\n"
          "                     and lines\n"
          "  -h, --help         print this help\n"
          "\n"
          "exit status: 0 success, 1 with --strict: frames of known images have no name,\n"
          "or a report has no thread that --thread selects, 2 wrong usage, 3 a file cannot\n"
          "be read, is damaged or has no frames, 4 another failure\n",
          out);
}

struct session {
    const char **search; /* folders */
    size_t search_count;
    const char *binary_images;
    struct line_options lines;
    struct fetch_options fetch;
    uint32_t demangling;
    struct usp_report_options shown; /* what is shown; its style is set for each report */
    bool as_json, as_html, is_diff, keeps_names, is_strict, is_quiet, asks_for_help;
    bool has_several;          /* several files are read */
    bool has_shown;            /* a report was shown */
    const char *heading;       /* path of the file that is shown, until it was written; NULL: it is not written */
    struct log_names *names;   /* NULL: no files to search */
    struct usp_reader *images; /* NULL: none were given */
};

/* ---- a file ---- */

static int find_place(void *context, const struct usp_place *place, struct usp_answer *answer) {
    const struct session *session = context;
    return log_names_answer(session->names, place, answer);
}

/* Implements usp_read_function; `context` is a log_input that has been rewound. */
static int read_some(void *context, char *bytes, size_t size, size_t *n) {
    struct log_input *input = context;
    struct uspi_span *rest = &input->rest;
    *n = 0;
    if (rest->length == 0 && !log_input_read(input, rest)) {
        rest->length = 0;
        return input->has_failed ? USP_ERROR_SYSTEM : USP_OK;
    }
    *n = rest->length < size ? rest->length : size;
    memcpy(bytes, rest->bytes, *n);
    *rest = uspi_span_after(*rest, *n);
    return USP_OK;
}

/* Says that a report has no thread of those that are to be shown. */
static void complain_of_thread(const struct usp_report_options *shown, const char *path) {
    if ((shown->flags & USP_REPORT_THREAD) == 0) {
        complain("%s: no thread crashed, and there is no backtrace of an exception", log_called(path));
    } else {
        complain("%s: no thread has the number or id %" PRIu64, log_called(path), shown->thread);
    }
}

/* Writes the file's path before the first bytes of its report, where several files are shown. */
static int write_shown(void *context, const char *bytes, size_t n) {
    struct session *session = context;
    if (session->heading != NULL) {
        if (session->has_shown) putchar('\n');
        put_harmless(stdout, session->heading);
        fputs(":\n\n", stdout);
        session->heading = NULL;
    }
    session->has_shown = true;
    return write_to_file(stdout, bytes, n);
}

static int show(struct session *session, const struct usp_report *report, const char *path) {
    struct usp_reader_counts counts;
    session->heading = session->has_several && !session->as_json ? path : NULL;
    struct usp_report_options shown = session->shown;
    shown.style = session->as_json ? USP_REPORT_JSON : session->as_html ? USP_REPORT_HTML : USP_REPORT_TEXT;
    int status = usp_report_write(report, &shown, write_shown, session);
    if (status == USP_ERROR_NOT_FOUND) {
        complain_of_thread(&shown, path);
        return EXIT_INCOMPLETE;
    }
    /* main reports that the output cannot be written. */
    if (status != USP_OK) return ferror(stdout) ? EXIT_FAILED : log_fail(path, status);
    if (session->as_json) putchar('\n');
    usp_report_get_counts(report, &counts);
    /* A list of processes has no frames. */
    if (!session->is_quiet && counts.frames > 0) log_counts_say(path, &counts);
    return session->is_strict && counts.no_symbol + counts.no_file + counts.passed > 0 ? EXIT_INCOMPLETE
                                                                                       : EXIT_ALL_WELL;
}

/* Complains of a report that could not be read. Returns an enum exit_status. */
static int fail_to_report(const char *path, int status, const char *error, const struct log_input *input) {
    if (input->has_failed) return log_fail_to_read(path, input->error);
    if (error[0] == '\0') return log_fail(path, status);
    complain("%s: %s", log_called(path), error);
    return EXIT_NO_TARGET;
}

/* Reads the report in a file, which the caller frees. *report is NULL if there is none. Complains. Returns an enum
 * exit_status. */
static int make_report(const struct session *session, const struct log_file_name *name, struct usp_report **report) {
    const char *path = name->path;
    struct usp_reader_options options;
    struct log_input input;
    struct log_folder place;
    char error[512] = "", *text = NULL;
    size_t size = 0;
    *report = NULL;
    if (!log_input_take(&input, log_file_open(name, false, &place))) return log_fail_to_read(path, errno);
    usp_reader_options_init(&options);
    if (!session->keeps_names) options.flags = USP_READER_NAMED;
    options.find = session->names != NULL ? find_place : NULL;
    options.context = (void *)(uintptr_t)session;
    options.images = session->images;
    const bool is_raw = is_raw_report(&input);
    /* The input need not keep bytes for a second reading. */
    const bool is_ready = log_input_rewind(&input);
    int result = EXIT_ALL_WELL, status = USP_ERROR_SYSTEM;
    if (is_ready && is_raw) {
        const struct raw_report_options wanted = {&session->lines, session->demangling};
        result = convert_raw_report(&input, path, &wanted, &text, &size);
        status =
            result == EXIT_ALL_WELL ? usp_report_create(&options, text, size, report, error, sizeof error) : USP_OK;
        free(text);
    } else if (is_ready) {
        status = usp_report_read(&options, read_some, &input, report, error, sizeof error);
    }
    if (result != EXIT_ALL_WELL) {
        log_input_close(&input);
        return result;
    }
    if (!is_ready) {
        result = log_fail_to_read(path, errno);
    } else if (status != USP_OK) {
        result = fail_to_report(path, status, error, &input);
    } else if (error[0] != '\0') {
        complain("%s: %s", log_called(path), error);
    }
    log_input_close(&input);
    return result;
}

static int report_file(struct session *session, const struct log_file_name *name) {
    struct usp_report *report;
    int result = make_report(session, name, &report);
    if (report != NULL) result = show(session, report, name->path);
    usp_report_free(report);
    if (session->names != NULL) log_names_trim(session->names);
    return result;
}

/* Shows how two files differ. */
static int compare_files(const struct session *session, const struct log_file_name names[2]) {
    struct usp_report *reports[2] = {NULL, NULL};
    struct usp_reader_counts counts;
    int result = make_report(session, &names[0], &reports[0]);
    result = log_worse(result, make_report(session, &names[1], &reports[1]));
    if (result == EXIT_ALL_WELL) {
        for (int i = 0; i < 2; i++) {
            fputs(i == 0 ? "--- " : "+++ ", stdout);
            put_harmless(stdout, names[i].path);
            putchar('\n');
        }
        putchar('\n');
        const int status = usp_report_compare(reports[0], reports[1], &session->shown, write_to_file, stdout);
        if (status == USP_ERROR_NOT_FOUND) {
            complain_of_thread(&session->shown, names[0].path);
            complain_of_thread(&session->shown, names[1].path);
            result = EXIT_INCOMPLETE;
        } else if (status != USP_OK) {
            result = ferror(stdout) ? EXIT_FAILED : log_fail(names[0].path, status);
        }
    }
    for (int i = 0; i < 2; i++) {
        if (reports[i] == NULL) continue;
        usp_report_get_counts(reports[i], &counts);
        if (!session->is_quiet && counts.frames > 0) log_counts_say(names[i].path, &counts);
        if (session->is_strict && counts.no_symbol + counts.no_file + counts.passed > 0) {
            result = log_worse(result, EXIT_INCOMPLETE);
        }
        usp_report_free(reports[i]);
    }
    return result;
}

/* Whether options fit the number of files. Complains. */
static bool fits(const struct session *session, size_t count) {
    if (session->is_diff && count != 2) {
        complain("--diff compares two files, not %zu", count);
        return false;
    }
    if (session->as_html && count > 1) complain("--html shows one file, not %zu", count);
    return !session->as_html || count <= 1;
}

static int report_files(struct session *session, char *const *paths, size_t count) {
    struct log_file_names names = {.names = NULL};
    int result = EXIT_ALL_WELL;
    for (size_t i = 0; i < count; i++) result = log_worse(result, log_files_add(&names, paths[i]));
    session->has_several = names.count > 1;
    gather_output();
    if (result == EXIT_ALL_WELL && !fits(session, names.count)) {
        log_files_clear(&names);
        return EXIT_USAGE;
    }
    if (session->is_diff && result == EXIT_ALL_WELL) result = compare_files(session, names.names);
    for (size_t i = 0; !session->is_diff && result != EXIT_FAILED && i < names.count; i++) {
        result = log_worse(result, report_file(session, &names.names[i]));
    }
    if (!session->is_quiet) log_files_say_links(&names);
    log_files_clear(&names);
    return result;
}

/* ---- arguments ---- */

enum {
    OPTION_SEARCH = 256,
    OPTION_BINARY_IMAGES,
    OPTION_FETCH,
    OPTION_DEBUGINFOD,
    OPTION_FETCH_CACHE,
    OPTION_FETCH_TIMEOUT,
    OPTION_INDEX,
    OPTION_MAP_PATH,
    OPTION_SHARED_CACHE,
    OPTION_DEMANGLE,
    OPTION_THREAD,
    OPTION_APP,
    OPTION_JSON,
    OPTION_HTML,
    OPTION_DIFF,
    OPTION_KEEP_NAMES,
    OPTION_STRICT,
    OPTION_QUIET
};

static const struct option options[] = {
    {"search", required_argument, NULL, OPTION_SEARCH},
    {"binary-images", required_argument, NULL, OPTION_BINARY_IMAGES},
    {"fetch", required_argument, NULL, OPTION_FETCH},
    {"debuginfod", no_argument, NULL, OPTION_DEBUGINFOD},
    {"fetch-cache", required_argument, NULL, OPTION_FETCH_CACHE},
    {"fetch-timeout", required_argument, NULL, OPTION_FETCH_TIMEOUT},
    {"index", required_argument, NULL, OPTION_INDEX},
    {"map-path", required_argument, NULL, OPTION_MAP_PATH},
    {"shared-cache", required_argument, NULL, OPTION_SHARED_CACHE},
    {"demangle", required_argument, NULL, OPTION_DEMANGLE},
    {"thread", required_argument, NULL, OPTION_THREAD},
    {"app", no_argument, NULL, OPTION_APP},
    {"json", no_argument, NULL, OPTION_JSON},
    {"html", no_argument, NULL, OPTION_HTML},
    {"diff", no_argument, NULL, OPTION_DIFF},
    {"keep-names", no_argument, NULL, OPTION_KEEP_NAMES},
    {"strict", no_argument, NULL, OPTION_STRICT},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Parses "crashed", or a thread's number or id. Complains. */
static bool parse_thread(const char *text, struct usp_report_options *shown) {
    if (strcmp(text, "crashed") == 0) {
        shown->flags |= USP_REPORT_CRASHED;
        return true;
    }
    const bool is_hex = strncmp(text, "0x", 2) == 0;
    if (is_hex ? !parse_hex(text, &shown->thread) : !parse_number(text, UINT64_MAX, &shown->thread)) {
        complain("--thread takes \"crashed\" or a thread's number, not \"%s\"", text);
        return false;
    }
    shown->flags |= USP_REPORT_THREAD;
    return true;
}

static bool parse_option(int option, struct session *session) {
    switch (option) {
    case OPTION_SEARCH: session->search[session->search_count++] = optarg; return true;
    case OPTION_BINARY_IMAGES: session->binary_images = optarg; return true;
    case OPTION_FETCH: session->fetch.command = optarg; return true;
    case OPTION_DEBUGINFOD: session->fetch.debuginfod = true; return true;
    case OPTION_FETCH_CACHE: session->fetch.cache = optarg; return true;
    case OPTION_FETCH_TIMEOUT: return parse_fetch_timeout(optarg, &session->fetch);
    case OPTION_INDEX: take_index_store(&session->lines, optarg); return true;
    case OPTION_MAP_PATH: return add_path_map(&session->lines, optarg);
    case OPTION_SHARED_CACHE: return add_shared_cache(&session->lines.caches, optarg);
    case OPTION_DEMANGLE: return parse_demangling(optarg, &session->demangling);
    case OPTION_THREAD: return parse_thread(optarg, &session->shown);
    case OPTION_APP: session->shown.flags |= USP_REPORT_APP; return true;
    case OPTION_JSON: session->as_json = true; return true;
    case OPTION_HTML: session->as_html = true; return true;
    case OPTION_DIFF: session->is_diff = true; return true;
    case OPTION_KEEP_NAMES: session->keeps_names = true; return true;
    case OPTION_STRICT: session->is_strict = true; return true;
    case OPTION_QUIET: session->is_quiet = true; return true;
    case 'h': session->asks_for_help = true; return true;
    default: return false; /* next_option has complained */
    }
}

static int serve(struct session *session, char *const *paths, size_t count) {
    struct log_search *search = NULL;
    struct fetch *fetch = NULL;
    int result = EXIT_ALL_WELL;
    if (session->binary_images != NULL) result = log_images_read(session->binary_images, &session->images);
    if (result == EXIT_ALL_WELL) result = fetch_create(&session->fetch, &fetch);
    if (result == EXIT_ALL_WELL) result = open_shared_caches(&session->lines.caches, session->is_quiet);
    const bool has_sources = session->search_count > 0 || fetch != NULL || session->lines.caches.count > 0 ||
                             has_index_store(session->lines.index_store);
    if (result == EXIT_ALL_WELL && has_sources) {
        result = log_search_create(session->search, session->search_count, fetch_cache(fetch), &search);
        if (result == EXIT_ALL_WELL) {
            const struct log_names_options wanted = {&session->lines, fetch, session->demangling, session->is_quiet};
            int status = log_names_create(search, &wanted, &session->names);
            if (status != USP_OK) result = log_fail("--search", status);
        }
    }
    if (result == EXIT_ALL_WELL) result = report_files(session, paths, count);
    if (session->names != NULL) log_names_complain_of_lines(session->names);
    log_names_free(session->names);
    log_search_free(search);
    fetch_free(fetch);
    usp_reader_free(session->images);
    return result;
}

static int parse_and_serve(int argc, char **argv, struct session *session) {
    bool is_right = true;
    while (is_right && !session->asks_for_help) {
        int option = next_option(argc, argv, "h", options);
        if (option == -1) break;
        is_right = parse_option(option, session);
    }
    if (session->asks_for_help) {
        usage(stdout);
        return EXIT_ALL_WELL;
    }
    if (is_right && optind == argc) {
        complain("report: FILE is missing");
        is_right = false;
    }
    if (is_right && session->as_json + session->as_html + session->is_diff > 1) {
        complain("report: --json, --html and --diff exclude each other");
        is_right = false;
    }
    if (!is_right) {
        fputs("See `unspool report --help`.\n", stderr);
        return EXIT_USAGE;
    }
    return serve(session, argv + optind, (size_t)(argc - optind));
}

static int run(int argc, char **argv) {
    struct session session = {.demangling = USP_DEMANGLE_FULL, .fetch.seconds = FETCH_SECONDS};
    usp_report_options_init(&session.shown);
    session.search = calloc((size_t)argc, sizeof *session.search);
    if (session.search == NULL) {
        complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
        return EXIT_FAILED;
    }
    int status = parse_and_serve(argc, argv, &session);
    line_options_clear(&session.lines);
    free(session.search);
    return status;
}

const struct command command_report = {"report", "show a crash report or log of any format to people", run};
