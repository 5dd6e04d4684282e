/* SPDX-License-Identifier: MIT */
/* The command `unspool`: runs the sub-command. Each has a file of its own. */
#include "tools/command.h"

#include <unspool/base.h>
#include <unspool/format.h>

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
    &command_stack,  &command_record,  &command_profile, &command_symbolize, &command_report,
    &command_images, &command_symbols, &command_index,   &command_store,     &command_crash_handler};

#define COMMANDS (sizeof commands / sizeof commands[0])

/* Escapes the whole line, because paths and names come from untrusted files and processes. */
void complain(const char *format, ...) {
    char text[8192], harmless[4 * sizeof text + 1];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* A message that begins with a path says also of an empty one what it is about. */
    const char *name = strncmp(text, ": ", 2) == 0 ? "\"\"" : "";
    /* Writes the line with one call: other commands may write to the same terminal. */
    if (usp_format_escaped(harmless, sizeof harmless, USP_ESCAPE_TERMINAL, text, strlen(text)) < 0) harmless[0] = '\0';
    fprintf(stderr, "unspool: %s%s\n", name, harmless);
}

int list_process(int64_t pid, struct usp_images **images) {
    char error[1024];
    int status = usp_images_create_process(pid, images, error, sizeof error);
    if (status == USP_OK) return EXIT_ALL_WELL;
    complain("%s", error);
    return status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_NO_TARGET;
}

static void usage(FILE *out) {
    fputs("usage: unspool COMMAND [ARGUMENT...]\n"
          "       unspool help [COMMAND]\n"
          "       unspool -h | --help | --version\n"
          "\n"
          "Captures and symbolicates call stacks.\n"
          "\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++) fprintf(out, "  %-13s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n`unspool COMMAND --help` describes a command; the manual page is unspool(1).\n", out);
}

static const struct command *find_command(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i]->name) == 0) return commands[i];
    }
    complain("\"%s\" is not a command; `unspool --help` lists them", name);
    return NULL;
}

/* Runs `unspool help [COMMAND]`. */
static int help(int argc, char **argv) {
    char option[] = "--help";
    if (argc > 3) {
        complain("help: one command at a time");
        return EXIT_USAGE;
    }
    if (argc < 3 || strcmp(argv[2], "help") == 0 || strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0) {
        usage(stdout);
        return EXIT_ALL_WELL;
    }
    const struct command *command = find_command(argv[2]);
    char *arguments[] = {argv[2], option, NULL};
    return command != NULL ? command->run(2, arguments) : EXIT_USAGE;
}

/* Opens standard files that are closed, so that no other file gets their numbers and then receives output or messages.
 * Using them fails, as it does when they are closed.
 * The kernel gives a program of core_pattern no standard error: the messages of crash-handler go to the kernel's log. */
static void open_standard_files(const struct command *command) {
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
        int opened = -1;
        if (fcntl(i, F_GETFD) >= 0) continue;
        if (i == STDERR_FILENO && command == &command_crash_handler) opened = open("/dev/kmsg", O_WRONLY);
        if (opened < 0) opened = open("/dev/null", i == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        (void)opened; /* it is the lowest number that was free */
    }
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
    if (strcmp(argv[1], "help") == 0) return help(argc, argv);
    const struct command *command = find_command(argv[1]);
    if (command == NULL) return EXIT_USAGE;
    open_standard_files(command);
    return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv) {
    int status = run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("the output could not be written");
        if (status < EXIT_FAILED) status = EXIT_FAILED;
    }
    return status;
}
