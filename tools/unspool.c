/* SPDX-License-Identifier: MIT */
/* The command `unspool`: runs the sub-command. Each has a file of its own. */
#include "tools/command.h"

#include <unspool/base.h>
#include <unspool/format.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {&command_stack,  &command_record,  &command_symbolize, &command_report,
                                                 &command_images, &command_symbols, &command_index,     &command_store};

#define COMMANDS (sizeof commands / sizeof commands[0])

/* Escapes the whole line, because paths and names come from untrusted files and processes. */
void complain(const char *format, ...) {
    char text[8192], harmless[4 * sizeof text + 1];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* Writes the line with one call: other commands may write to the same terminal. */
    if (usp_format_escaped(harmless, sizeof harmless, USP_ESCAPE_TERMINAL, text, strlen(text)) < 0) harmless[0] = '\0';
    fprintf(stderr, "unspool: %s\n", harmless);
}

/* Prints why there are no images of this process: what a capture of it says, which is refused for the same reason before
 * any thread is stopped. */
static void complain_of_target(int64_t pid, const char *otherwise) {
    char text[1024] = "";
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot = NULL;
    usp_snapshot_options_init(&options);
    options.max_frames = 1;
    options.unwind.tail = 0;
    if (usp_snapshot_create_process(pid, &options, &snapshot, text, sizeof text) == USP_OK) text[0] = '\0';
    usp_snapshot_free(snapshot);
    if (text[0] != '\0') {
        complain("%s", text);
    } else {
        complain("%s %" PRId64, otherwise, pid);
    }
}

int complain_of_process(int64_t pid, int status) {
    switch (status) {
    case USP_ERROR_NO_THREAD: complain_of_target(pid, "there is no process"); break;
    case USP_ERROR_PERMISSION:
        complain("process %" PRId64
                 " may not be read: run as root, or as the user that it belongs to; in a container with "
                 "CAP_SYS_PTRACE, on macOS signed with com.apple.security.cs.debugger",
                 pid);
        break;
    case USP_ERROR_BUSY: complain("process %" PRId64 " is loading or unloading libraries: try again", pid); break;
    case USP_ERROR_UNSUPPORTED: complain_of_target(pid, "this system cannot list the images of process"); break;
    default: complain("the images of process %" PRId64 " cannot be listed: %s", pid, usp_status_string(status)); break;
    }
    return status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_NO_TARGET;
}

static void usage(FILE *out) {
    fputs("usage: unspool COMMAND [ARGUMENT...]\n"
          "       unspool -h | --help | --version\n"
          "\n"
          "Captures and symbolicates call stacks.\n"
          "\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++) fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n`unspool COMMAND --help` describes a command; the manual page is unspool(1).\n", out);
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        usage(stdout);
        return EXIT_ALL_WELL;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("unspool %s\n", usp_version_string());
        return EXIT_ALL_WELL;
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i]->name) == 0) return commands[i]->run(argc - 1, argv + 1);
    }
    complain("\"%s\" is no command; `unspool --help` lists them", argv[1]);
    return EXIT_USAGE;
}

int main(int argc, char **argv) {
    int status = run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("the output could not be written");
        if (status < EXIT_FAILED) status = EXIT_FAILED;
    }
    return status;
}
