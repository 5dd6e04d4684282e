/* SPDX-License-Identifier: MIT */
/* `unspool record`: what its parts hand to each other. */
#ifndef TOOL_RECORD_H
#define TOOL_RECORD_H

#include "tools/lines.h"

#include <unspool/unspool.h>

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- the program that is started (record_command.c) ---- */

/* Starts a program, which is found as the shell finds it. Returns its process id when it runs, or −1 after a complaint. */
pid_t start_program(char *const argv[]);

/* Whether it has ended; it is not waited for yet, so that its id stays its own. */
bool has_ended(pid_t pid);

/* Waits until it has ended. Returns what a shell would: its exit status, or 128 and the signal that ended it. */
int wait_for_program(pid_t pid);

/* ---- the output (record_write.c) ---- */

struct record_output {
    const char *path; /* NULL: standard output */
    FILE *file;
    struct usp_profile_write_options options; /* without what names frames */
    uint32_t demangling;
    struct line_options lines;
    bool no_symbols;
};

/* The format that a file's name asks for: enum usp_profile_format; 0: none. */
uint32_t format_of_path(const char *path);

/* Opens the file. Complains. */
bool record_open(struct record_output *output);

/* Writes the profile and closes the file. process: the process that was recorded, if it lives; 0. Complains; an enum exit_status. */
int record_write(struct record_output *output, struct usp_profile *profile, int64_t process);

#endif
