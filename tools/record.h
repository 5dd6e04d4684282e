/* SPDX-License-Identifier: MIT */
/* Declarations that the parts of `unspool record` share. */
#ifndef TOOLS_RECORD_H
#define TOOLS_RECORD_H

#include "tools/lines.h"
#include "tools/output.h"

#include <unspool/unspool.h>

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- the program that is started (record_command.c) ---- */

/* Starts a program, which is looked up as by the shell. Returns its process id, or −1 after a complaint. */
pid_t start_program(char *const argv[]);

/* Whether the program has ended. Does not wait for it, so that its id stays reserved. */
bool has_ended(pid_t pid);

/* Waits until the program has ended. Returns its exit status, or like a shell 128 plus the signal that ended it. */
int wait_for_program(pid_t pid);

/* ---- the output (record_write.c) ---- */

struct record_output {
    const char *path;                         /* NULL: standard output */
    struct output file;                       /* of the path; `out` is its stream, or standard output */
    FILE *out;                                /* NULL: not open */
    struct usp_profile_write_options options; /* without symbolizer, images and demangler */
    uint32_t demangling;
    struct line_options lines;
    bool no_symbols;
};

/* Returns the format for a file's name: enum usp_profile_format; 0: none. */
uint32_t format_of_path(const char *path);

/* Opens the file. Complains. */
bool record_open(struct record_output *output);

/* Removes the file, unless it was written. */
void record_discard(struct record_output *output);

/* Writes the profile and puts the file in its place. process: the recorded process if it is alive, otherwise 0.
 * Complains. Returns an enum exit_status. */
int record_write(struct record_output *output, struct usp_profile *profile, int64_t process);

#endif
