/* SPDX-License-Identifier: MIT */
/* Declarations that the sub-commands of `unspool` share: the list of commands, exit statuses, messages. */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include <unspool/images.h>

#include <stdint.h>

/* Part of the public interface: doc/man/unspool.1 lists them. */
enum exit_status {
    EXIT_ALL_WELL = 0,
    EXIT_INCOMPLETE = 1, /* the result is incomplete: for example, some threads have no stack */
    EXIT_USAGE = 2,
    EXIT_NO_TARGET = 3, /* the process or file could not be read: missing, not permitted, or of the wrong kind */
    EXIT_FAILED = 4     /* out of memory, or the output could not be written */
};

struct command {
    const char *name;
    const char *summary;               /* for `unspool --help` */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns an enum exit_status */
};

extern const struct command command_crash_handler;
extern const struct command command_images;
extern const struct command command_index;
extern const struct command command_profile;
extern const struct command command_record;
extern const struct command command_report;
extern const struct command command_stack;
extern const struct command command_store;
extern const struct command command_symbolize;
extern const struct command command_symbols;

/* Prints a line on standard error, "unspool: …". */
void complain(const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 1, 2)))
#endif
    ;

/* Lists the images of a process, or complains that they cannot be listed. Returns the exit status. */
int list_process(int64_t pid, struct usp_images **images);

#endif
