/* SPDX-License-Identifier: MIT */
/* Implements the arguments of `unspool symbolize`: those of Apple's atos(1) and more. symbolize_addresses.c handles
 * addresses, log.c handles logs. */
#include "tools/symbolize.h"
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/lines.h"
#include "tools/log.h"
#include "tools/log_jobs.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *out) {
    fputs("usage: unspool symbolize -o FILE [OPTION...] [ADDRESS...]\n"
          "       unspool symbolize -p PID [OPTION...] [ADDRESS...]\n"
          "       unspool symbolize --shared-cache FILE|DIR [OPTION...] [ADDRESS...]\n"
          "       unspool symbolize --log FILE|DIR|-... [--search DIR]... [--index STORE]\n"
          "                         [--binary-images FILE] [--map-path OLD=NEW]...\n"
          "                         [--shared-cache FILE|DIR]...\n"
          "                         [--demangle MODE] [--in-place [--follow] | --output DIR]\n"
          "                         [--keep-names] [--strict] [--quiet]\n"
          "                         [--fetch COMMAND | --debuginfod]\n"
          "                         [--fetch-cache DIR] [--fetch-timeout SECONDS]\n"
          "       unspool symbolize --records [--search DIR]... [--index STORE]\n"
          "                         [--map-path OLD=NEW]... [--demangle MODE]\n"
          "                         [--shared-cache FILE|DIR]...\n"
          "                         [--fetch COMMAND | --debuginfod]\n"
          "                         [--fetch-cache DIR] [--fetch-timeout SECONDS]\n"
          "\n"
          "Symbolicates addresses with the symbols of a program, a library or a dSYM, as\n"
          "atos does, with file and line where there is debug information. Without ADDRESS\n"
          "and -f, it reads addresses from standard input and answers each at once. An\n"
          "address without a name is printed unchanged.\n"
          "\n"
          "  -o FILE            the program, library or dSYM (the bundle, or the file in\n"
          "                     it), Mach-O or ELF; App.app, App.xcarchive or another\n"
          "                     bundle, in which the file is searched; or a member of an\n"
          "                     archive or a section of an unlinked object:\n"
          "                     'libx.a(member.o)', 'x.o:(.text.f)'\n"
          "  -p PID             instead of -o: symbolicate addresses of a running process\n"
          "  --arch NAME        which image of a fat file:\n"
          "                     " ARCH_NAMES_ARM ",\n"
          "                     " ARCH_NAMES_X86 ".\n"
          "                     Default: the only image, or the one for this machine\n"
          "  --uuid UUID        the UUID or build id that the image must have\n"
          "  -l ADDRESS         the image's load address, in hexadecimal; read as decimal if\n"
          "                     only then an address is in the image, with a message\n"
          "  -s SLIDE           instead of -l: the slide, which is the load address minus\n"
          "                     the address that the image was linked for, in hexadecimal\n"
          "  --offset           the addresses are offsets from the image's beginning\n"
          "  -f FILE            read the addresses from FILE\n"
          "  -i, -inlineFrames  also print a line for each inlined call, innermost first\n"
          "  --aliases          also print a line for each other function that shares the\n"
          "                     code, because the linker folded identical functions\n"
          "  -fullPath          show a source file's path instead of its name\n"
          "  --columns          show the column after the line, where it is known\n"
          "  --map-path OLD=NEW\n"
          "                     in paths of source files, show the directory OLD as NEW;\n"
          "                     may be repeated, the first match is used; also for --log\n"
          "                     and --records\n"
          "  --index STORE      take lines from the indexes in the folder STORE (see\n"
          "                     unspool index); with --log and --records, also names of\n"
          "                     images without a file. Default: $UNSPOOL_INDEX_STORE, or\n"
          "                     unspool/index in $XDG_CACHE_HOME or ~/.cache\n" SHARED_CACHE_USAGE
          ". Without -o and -p, the addresses are those of the\n"
          "                     cache's images, and -s is the cache's slide\n"
          "  --demangle MODE    how to demangle names of C++, Rust and Swift: full\n"
          "                     (default), simple, short, no\n"
          "  --json             print a JSON object for each address, one per line\n"
          "  -h, --help         print this help\n"
          "\n",
          out);
    fputs("  --log FILE         symbolicate the frames in a log or report\n"
          "                     of any format in doc/reports.md, and write it to standard\n"
          "                     output; FILE may be a folder (all files in it) or -\n"
          "                     (standard input). May be repeated; arguments that are not\n"
          "                     options are further logs\n"
          "  --search DIR       search for the images' files in DIR: dSYMs, programs,\n"
          "                     libraries, debug files; may be repeated, and left out\n"
          "                     where there is a store of indexes\n"
          "  --binary-images FILE\n"
          "                     file that lists the images, if the log itself does not\n" FETCH_USAGE
          "  --in-place         replace each log instead of writing to standard output; a log\n"
          "                     that is a symbolic link or belongs to another user is\n"
          "                     refused\n"
          "  --follow           --in-place: replace also the files that links lead to, and\n"
          "                     logs of other users, who keep them\n"
          "  --output DIR       write each log to a file of its name in the folder DIR\n"
          "  --keep-names       leave frames that have a name as they are. Without it, where\n"
          "                     the log states the image's UUID or build id, a name whose\n"
          "                     function does not hold the address is replaced, and the\n"
          "                     others get a line\n"
          "  --jobs N           read N logs at a time, each in a process of its own; the\n"
          "                     output is the same as without\n"
          "  --strict           fail when a frame of a known image has no name, or when no\n"
          "                     frame of a log is recognized\n"
          "  --quiet            print no counts of frames and no lists of missing images\n"
          "                     and lines\n"
          "  --records          symbolicate the frames in JSON objects on standard input,\n"
          "                     one per line\n"
          "\n"
          "-arch and -offset with one dash are accepted as well. -d and -printHeader of\n"
          "atos have no effect.\n"
          "\n"
          "exit status: 0 success, whether or not addresses have names; 1 with --strict,\n"
          "when a frame of a known image has no name or a log has no frame; 2 wrong usage,\n"
          "3 the file or process cannot be read or has no such image, 4 another failure\n",
          out);
}

enum {
    OPTION_ARCH = 256,
    OPTION_UUID,
    OPTION_OFFSET,
    OPTION_DEMANGLE,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_LOG,
    OPTION_SEARCH,
    OPTION_BINARY_IMAGES,
    OPTION_FETCH,
    OPTION_DEBUGINFOD,
    OPTION_FETCH_CACHE,
    OPTION_FETCH_TIMEOUT,
    OPTION_IN_PLACE,
    OPTION_FOLLOW,
    OPTION_OUTPUT,
    OPTION_KEEP_NAMES,
    OPTION_JOBS,
    OPTION_STRICT,
    OPTION_QUIET,
    OPTION_RECORDS,
    OPTION_INDEX,
    OPTION_FULL_PATH,
    OPTION_COLUMNS,
    OPTION_ALIASES,
    OPTION_MAP_PATH,
    OPTION_SHARED_CACHE,
    OPTION_NO_EFFECT,
    OPTION_TEXT_EXEC
};

static const struct option options[] = {
    {"arch", required_argument, NULL, OPTION_ARCH},
    {"uuid", required_argument, NULL, OPTION_UUID},
    {"offset", no_argument, NULL, OPTION_OFFSET},
    {"demangle", required_argument, NULL, OPTION_DEMANGLE},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, OPTION_HELP},
    {"log", required_argument, NULL, OPTION_LOG},
    {"search", required_argument, NULL, OPTION_SEARCH},
    {"binary-images", required_argument, NULL, OPTION_BINARY_IMAGES},
    {"fetch", required_argument, NULL, OPTION_FETCH},
    {"debuginfod", no_argument, NULL, OPTION_DEBUGINFOD},
    {"fetch-cache", required_argument, NULL, OPTION_FETCH_CACHE},
    {"fetch-timeout", required_argument, NULL, OPTION_FETCH_TIMEOUT},
    {"in-place", no_argument, NULL, OPTION_IN_PLACE},
    {"follow", no_argument, NULL, OPTION_FOLLOW},
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"keep-names", no_argument, NULL, OPTION_KEEP_NAMES},
    {"jobs", required_argument, NULL, OPTION_JOBS},
    {"strict", no_argument, NULL, OPTION_STRICT},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"index", required_argument, NULL, OPTION_INDEX},
    {"records", no_argument, NULL, OPTION_RECORDS},
    {"inlineFrames", no_argument, NULL, 'i'},
    {"fullPath", no_argument, NULL, OPTION_FULL_PATH},
    {"columns", no_argument, NULL, OPTION_COLUMNS},
    {"aliases", no_argument, NULL, OPTION_ALIASES},
    {"map-path", required_argument, NULL, OPTION_MAP_PATH},
    {"shared-cache", required_argument, NULL, OPTION_SHARED_CACHE},
    {"printHeader", no_argument, NULL, OPTION_NO_EFFECT},
    {"textExecAddress", required_argument, NULL, OPTION_TEXT_EXEC},
    {NULL, 0, NULL, 0},
};

/* Sets where the image was loaded. Complains if that was set before. */
static bool place_image(struct image_choice *image, enum image_place place, const char *base) {
    if (image->place != IMAGE_LINKED) {
        complain("only one of -l, -s and --offset can be given");
        return false;
    }
    image->place = place;
    image->base_text = base;
    if (base == NULL || parse_hex(base, &image->base)) return true;
    complain("-%c takes an address in hexadecimal, not \"%s\"", place == IMAGE_SLID ? 's' : 'l', base);
    return false;
}

struct request {
    struct address_options addresses;
    struct log_options log; /* without logs and records, addresses are symbolicated */
    const char **search;    /* folders of --search; room for one for each argument */
    const char **logs;      /* the logs; room for one for each argument */
    bool asks_for_help;
};

/* Parses the number of --jobs. Complains. */
static bool parse_jobs(const char *text, unsigned *jobs) {
    uint64_t number;
    if (!parse_number(text, LOG_JOBS_MAX, &number) || number == 0) {
        complain("--jobs takes a number from 1 to %d, not \"%s\"", LOG_JOBS_MAX, text);
        return false;
    }
    *jobs = (unsigned)number;
    return true;
}

static bool parse_option(int option, struct request *request) {
    struct address_options *wanted = &request->addresses;
    switch (option) {
    case 'o': wanted->image.path = optarg; return true;
    case 'p': return parse_process(optarg, &wanted->process);
    case 'l': return place_image(&wanted->image, IMAGE_LOADED, optarg);
    case 's': return place_image(&wanted->image, IMAGE_SLID, optarg);
    case OPTION_OFFSET: return place_image(&wanted->image, IMAGE_LOADED, NULL);
    case 'f': wanted->input = optarg; return true;
    case OPTION_ARCH: return parse_arch(optarg, &wanted->image.arch, &wanted->image.variant);
    case OPTION_UUID: return parse_uuid(optarg, wanted->image.build_id, &wanted->image.build_id_size);
    case OPTION_DEMANGLE: return parse_demangling(optarg, &wanted->demangling);
    case OPTION_LOG: request->logs[request->log.log_count++] = optarg; return true;
    case OPTION_SEARCH: request->search[request->log.search_count++] = optarg; return true;
    case OPTION_BINARY_IMAGES: request->log.binary_images = optarg; return true;
    case OPTION_IN_PLACE: request->log.is_in_place = true; return true;
    case OPTION_FOLLOW: request->log.follows = true; return true;
    case OPTION_OUTPUT: request->log.output = optarg; return true;
    case OPTION_KEEP_NAMES: request->log.keeps_names = true; return true;
    case OPTION_JOBS: return parse_jobs(optarg, &request->log.jobs);
    case OPTION_STRICT: request->log.is_strict = true; return true;
    case OPTION_QUIET: request->log.is_quiet = true; return true;
    case OPTION_RECORDS: request->log.are_records = true; return true;
    case OPTION_FETCH: request->log.fetch.command = optarg; return true;
    case OPTION_DEBUGINFOD: request->log.fetch.debuginfod = true; return true;
    case OPTION_FETCH_CACHE: request->log.fetch.cache = optarg; return true;
    case OPTION_FETCH_TIMEOUT: return parse_fetch_timeout(optarg, &request->log.fetch);
    case OPTION_INDEX: take_index_store(&wanted->lines, optarg); return true;
    case OPTION_JSON: wanted->json = true; return true;
    case 'i': wanted->inlined = true; return true;
    case OPTION_FULL_PATH: wanted->line_flags |= USP_FORMAT_FULL_PATHS; return true;
    case OPTION_COLUMNS: wanted->line_flags |= USP_FORMAT_COLUMNS; return true;
    case OPTION_ALIASES: wanted->aliases = true; return true;
    case OPTION_MAP_PATH: return add_path_map(&wanted->lines, optarg);
    case OPTION_SHARED_CACHE: return add_shared_cache(&wanted->lines.caches, optarg);
    case 'd':
    case OPTION_NO_EFFECT: return true;
    case 'e': complain("-e is an option of addr2line; here -o FILE names the program"); return false;
    case OPTION_TEXT_EXEC: complain("-textExecAddress, for kernels, is not supported; -l and -s are"); return false;
    case 'h':
    case OPTION_HELP: request->asks_for_help = true; return true;
    default: return false; /* next_option has complained */
    }
}

/* Complains of options that exclude each other. */
static bool check_addresses(const struct address_options *wanted) {
    const struct image_choice *image = &wanted->image;
    bool is_process = wanted->process != 0;
    const bool is_whole_cache = !is_process && image->path == NULL && wanted->lines.caches.count > 0;
    if (is_whole_cache && image->place == IMAGE_LOADED) {
        complain("-l and --offset are for one image; -s gives the slide of a shared cache");
        return false;
    }
    if (is_process == (image->path != NULL) && !is_whole_cache) {
        complain(is_process ? "either -o or -p"
                            : "symbolize: -o FILE, -p PID, --shared-cache FILE or --log FILE is missing");
        return false;
    }
    if (is_process && (image->place != IMAGE_LINKED || image->arch != USP_ARCH_NONE || image->build_id_size > 0)) {
        complain("--arch, --uuid, -l, -s and --offset are for files");
        return false;
    }
    if (wanted->input != NULL && wanted->address_count > 0) {
        complain("addresses come either from -f or from the command line");
        return false;
    }
    return true;
}

static bool fetches(const struct log_options *log) { return log->fetch.command != NULL || log->fetch.debuginfod; }

static bool check_log(const struct request *request) {
    const struct address_options *others = &request->addresses;
    const struct image_choice *image = &others->image;
    const struct log_options *log = &request->log;
    const char *what = log->are_records ? "--records" : "--log";
    if (log->search_count == 0 && !fetches(log) && others->lines.caches.count == 0 &&
        !has_index_store(others->lines.index_store)) {
        complain("%s needs the folder of the images' files, or their indexes: --search DIR, --index STORE", what);
        return false;
    }
    bool has_more =
        log->log_count > 0 || log->binary_images != NULL || log->output != NULL || log->is_in_place || log->jobs > 0;
    if (log->are_records && (has_more || log->is_strict || log->keeps_names)) {
        complain("--records goes with --search, --index, --map-path, --demangle and what fetches alone");
        return false;
    }
    if (log->is_in_place && log->output != NULL) {
        complain("either --in-place or --output");
        return false;
    }
    if (log->follows && !log->is_in_place) {
        complain("--follow goes with --in-place");
        return false;
    }
    bool has_image = image->path != NULL || others->process != 0 || image->place != IMAGE_LINKED ||
                     image->arch != USP_ARCH_NONE || image->build_id_size > 0;
    if (!has_image && others->input == NULL && !others->json && !others->aliases && others->line_flags == 0) {
        return true;
    }
    complain("%s has its own options: --search, --index, --map-path, --demangle and those that --help lists with it",
             what);
    return false;
}

static bool check(const struct request *request) {
    const struct log_options *log = &request->log;
    if (log->log_count > 0 || log->are_records) return check_log(request);
    bool is_for_logs = log->search_count > 0 || log->binary_images != NULL || log->output != NULL || log->is_in_place ||
                       log->follows || fetches(log) || log->fetch.cache != NULL;
    if (!is_for_logs && !log->is_strict && !log->is_quiet && !log->keeps_names && log->jobs == 0)
        return check_addresses(&request->addresses);
    complain(
        "--search, --fetch, --debuginfod and --fetch-cache are for --log and --records; --binary-images, --in-place, "
        "--follow, --output, --keep-names, --jobs, --strict and --quiet are for --log");
    return false;
}

static int serve(int argc, char **argv, struct request *request) {
    struct address_options *addresses = &request->addresses;
    bool is_right = true;
    while (is_right && !request->asks_for_help) {
        int option = next_option_of_any_dash(argc, argv, "o:p:l:s:f:d:e:ih", options);
        if (option == -1) break;
        is_right = parse_option(option, request);
    }
    if (request->asks_for_help) {
        usage(stdout);
        return EXIT_ALL_WELL;
    }
    addresses->addresses = (const char *const *)argv + optind;
    addresses->address_count = (size_t)(argc - optind);
    if (!is_right || !check(request)) {
        fputs("See `unspool symbolize --help`.\n", stderr);
        return EXIT_USAGE;
    }
    struct log_options *log = &request->log;
    if (log->log_count == 0 && !log->are_records) {
        const int opened = open_shared_caches(&addresses->lines.caches, false);
        return opened == EXIT_ALL_WELL ? symbolize_addresses(addresses) : opened;
    }
    /* Operands are further logs. */
    for (size_t i = 0; i < addresses->address_count; i++) request->logs[log->log_count++] = addresses->addresses[i];
    log->search = request->search;
    log->logs = request->logs;
    log->demangling = addresses->demangling;
    log->lines = &addresses->lines;
    log->caches = &addresses->lines.caches;
    return symbolize_logs(log);
}

static int run(int argc, char **argv) {
    struct request request = {.addresses.demangling = USP_DEMANGLE_FULL, .log.fetch.seconds = FETCH_SECONDS};
    request.search = calloc((size_t)argc, sizeof *request.search);
    request.logs = calloc((size_t)argc, sizeof *request.logs);
    int status = EXIT_FAILED;
    if (request.search == NULL || request.logs == NULL) {
        complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
    } else {
        status = serve(argc, argv, &request);
    }
    line_options_clear(&request.addresses.lines);
    free(request.search);
    free(request.logs);
    return status;
}

const struct command command_symbolize = {"symbolize", "symbolicate addresses, as atos does, and logs", run};
