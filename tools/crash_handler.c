/* SPDX-License-Identifier: MIT */
/* Implements `unspool crash-handler`, the program of a piped core_pattern: the kernel gives it the core of a process that
 * a signal has ended, and waits. The core comes from any user's process. So a child without any rights reads it, and the
 * parent, which may write the folder, takes what the child writes, for a limited time. */
#ifdef __linux__
#define _GNU_SOURCE 1 /* O_PATH, setresuid, clock_gettime */
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "tools/crash_handler.h"
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/output.h"

#include <unspool/crash.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void usage(FILE *out) {
    fputs("usage: unspool crash-handler --directory DIR [OPTION...] [PID [SIGNAL]]\n"
          "\n"
          "Reads the core of a process that a signal has ended from standard input, and\n"
          "writes a report into DIR: all threads, the one that crashed first. For Linux,\n"
          "as the program of a piped core_pattern (core(5)); the core is not stored:\n"
          "\n"
          "  |/usr/bin/unspool crash-handler --directory /var/lib/unspool/crashes %P %s\n"
          "\n"
          "  --directory DIR    the folder of the reports. Its last part is made, if it is\n"
          "                     missing. No other user may own it or write into it\n"
          "  --max-reports N    keep at most N reports, 1 to 100000. Default 100\n"
          "  --max-bytes N      keep at most N bytes of reports. Default 100000000\n"
          "  --timeout SECONDS  time limit, 1 to 3600. Default 30\n"
          "  --sysroot DIR      without PID: search for the core's files below DIR first\n"
          "  PID                id of the process, outside of all containers (%P): its\n"
          "                     memory and its files are read, and threads have names\n"
          "  SIGNAL             the signal that has ended it (%s), for a report without\n"
          "                     stacks, if the core cannot be read\n"
          "  -h, --help         print this help\n"
          "\n"
          "exit status: 0 success, 1 the report has no stacks, 2 wrong usage, 3 the folder\n"
          "is refused, 4 the report could not be written\n",
          out);
}

enum { OPTION_DIRECTORY = 256, OPTION_MAX_REPORTS, OPTION_MAX_BYTES, OPTION_TIMEOUT, OPTION_SYSROOT };

static const struct option options[] = {
    {"directory", required_argument, NULL, OPTION_DIRECTORY},
    {"max-reports", required_argument, NULL, OPTION_MAX_REPORTS},
    {"max-bytes", required_argument, NULL, OPTION_MAX_BYTES},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"sysroot", required_argument, NULL, OPTION_SYSROOT},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool parse_limit(const char *option, uint64_t highest, uint64_t *value) {
    if (parse_number(optarg, highest, value) && *value > 0) return true;
    complain("crash-handler: --%s takes a number from 1 to %" PRIu64 ", not \"%s\"", option, highest, optarg);
    return false;
}

static bool parse_option(int option, struct crash_handling *handling) {
    switch (option) {
    case OPTION_DIRECTORY: handling->directory = optarg; return true;
    case OPTION_MAX_REPORTS: return parse_limit("max-reports", 100000, &handling->max_reports);
    case OPTION_MAX_BYTES: return parse_limit("max-bytes", UINT64_C(1) << 40, &handling->max_bytes);
    case OPTION_TIMEOUT: return parse_limit("timeout", 3600, &handling->timeout);
    case OPTION_SYSROOT: handling->sysroot = optarg; return true;
    default: return false; /* next_option has complained */
    }
}

static bool parse_operands(int count, char **operands, struct crash_handling *handling) {
    uint64_t pid = 0, signal = 0;
    const bool is_valid = count <= 2 && (count < 1 || parse_number(operands[0], INT32_MAX, &pid)) &&
                          (count < 2 || parse_number(operands[1], 1024, &signal));
    if (!is_valid) complain("crash-handler: only the numbers PID and SIGNAL may follow the options");
    handling->pid = (int64_t)pid;
    handling->signal = (uint32_t)signal;
    return is_valid;
}

static bool parse(int argc, char **argv, struct crash_handling *handling, bool *is_help) {
    for (int option; (option = next_option(argc, argv, "h", options)) != -1;) {
        *is_help = option == 'h';
        if (*is_help) return true;
        if (!parse_option(option, handling)) return false;
    }
    if (handling->directory == NULL) complain("crash-handler: --directory is missing");
    return handling->directory != NULL && parse_operands(argc - optind, argv + optind, handling);
}

#ifdef __linux__

/* Opens the folder of the reports. Returns -1 after a complaint. */
static int open_directory(const char *path) {
    struct stat found;
    (void)mkdir(path, 0700);
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 || fstat(folder, &found) != 0) {
        complain("crash-handler: %s: %s", path, strerror(errno));
        if (folder >= 0) close(folder);
        return -1;
    }
    if (found.st_uid == geteuid() && (found.st_mode & 022) == 0) return folder;
    complain("crash-handler: %s: %s; reports are not written there", path,
             found.st_uid != geteuid() ? "it belongs to another user" : "other users may write into it");
    close(folder);
    return -1;
}

/* Writes a report, and deletes the oldest ones. The name is like those of the crash kit: when, and which process. */
static int publish(const struct crash_handling *handling, const struct crash_report *report) {
    char name[64], path[64];
    struct output output;
    snprintf(name, sizeof name, "%016" PRIx64 "-%" PRId64 "-1.raw", handling->time, handling->pid);
    snprintf(path, sizeof path, "/proc/self/fd/%d", handling->folder);
    const int again = fcntl(handling->folder, F_DUPFD_CLOEXEC, 3);
    if (again < 0 || !output_open_in(&output, again, name, name, OUTPUT_NEW, NULL)) return EXIT_FAILED;
    const bool is_written = fwrite(report->bytes, 1, report->size, output.file) == report->size;
    if (!output_close(&output, is_written) || !is_written) return EXIT_FAILED;
    const int status = usp_crash_trim(path, (uint32_t)handling->max_reports, handling->max_bytes);
    if (status != USP_OK) complain("crash-handler: old reports stay: %s", usp_status_string(status));
    return EXIT_ALL_WELL;
}

/* The starter may have ignored or blocked signals: then the alarm has no effect, or no child can be waited for. A child
 * that closes its pipe early must not end this process. */
static void set_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    (void)signal(SIGALRM, SIG_DFL);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int handle(struct crash_handling *handling) {
    struct crash_report report;
    set_signals();
    /* Ends this process in any case. The kernel then goes on without it. */
    alarm((unsigned)handling->timeout + 5);
    handling->folder = open_directory(handling->directory);
    if (handling->folder < 0) return EXIT_NO_TARGET;
    const bool has_stacks = crash_report_read(handling, &report);
    int result = report.size > 0 ? publish(handling, &report) : EXIT_FAILED;
    if (result == EXIT_ALL_WELL && !has_stacks) result = EXIT_INCOMPLETE;
    free(report.bytes);
    close(handling->folder);
    return result;
}

static int run(int argc, char **argv) {
    struct crash_handling handling = {.max_reports = 100, .max_bytes = 100000000, .timeout = 30};
    bool is_help = false;
    const bool is_valid = parse(argc, argv, &handling, &is_help);
    if (is_help) usage(stdout);
    if (!is_valid) fputs("See `unspool crash-handler --help`.\n", stderr);
    if (is_help || !is_valid) return is_valid ? EXIT_ALL_WELL : EXIT_USAGE;
    umask(077);
    handling.time = crash_time();
    return handle(&handling);
}

#else

static int run(int argc, char **argv) {
    struct crash_handling handling = {.max_reports = 100};
    bool is_help = false;
    const bool is_valid = parse(argc, argv, &handling, &is_help);
    if (is_help) usage(stdout);
    if (is_help) return EXIT_ALL_WELL;
    if (is_valid) complain("crash-handler: only for Linux");
    return is_valid ? EXIT_FAILED : EXIT_USAGE;
}

#endif

const struct command command_crash_handler = {"crash-handler", "write a report of a crash that the kernel announces",
                                              run};
