/* SPDX-License-Identifier: MIT */
/* Declarations that the parts of `unspool record` share. */
#ifndef TOOLS_RECORD_H
#define TOOLS_RECORD_H

#include "tools/arguments.h"
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
    uint32_t format;                          /* of --format; 0: not given */
    uint32_t demangling;
    struct line_options lines;
    bool no_symbols;
    bool no_lines, wants_lines; /* --no-lines, --lines */
    int64_t recorded;           /* id of a process that has ended, for its perf map; 0: none */
    const char *sysroot;        /* folder below which the images' files are; NULL: none */
    const char *build_ids;      /* folder of files by build id, as perf keeps them; NULL: none */
};

/* The options for the output, which `unspool record` and `unspool profile` have. */
enum output_option {
    OUTPUT_FORMAT = 512,
    OUTPUT_WALL,
    OUTPUT_CPU,
    OUTPUT_MERGE,
    OUTPUT_NATIVE_IDS,
    OUTPUT_DEMANGLE,
    OUTPUT_NO_SYMBOLS,
    OUTPUT_NO_LINES,
    OUTPUT_LINES,
    OUTPUT_MAP_PATH,
    OUTPUT_INDEX
};

#define OUTPUT_OPTIONS                                                                                                 \
    {"format", required_argument, NULL, OUTPUT_FORMAT}, {"wall", no_argument, NULL, OUTPUT_WALL},                      \
        {"cpu", no_argument, NULL, OUTPUT_CPU}, {"merge", no_argument, NULL, OUTPUT_MERGE},                            \
        {"native-ids", no_argument, NULL, OUTPUT_NATIVE_IDS}, {"demangle", required_argument, NULL, OUTPUT_DEMANGLE},  \
        {"no-symbols", no_argument, NULL, OUTPUT_NO_SYMBOLS}, {"no-lines", no_argument, NULL, OUTPUT_NO_LINES},        \
        {"lines", no_argument, NULL, OUTPUT_LINES}, {"map-path", required_argument, NULL, OUTPUT_MAP_PATH}, {          \
        "index", required_argument, NULL, OUTPUT_INDEX                                                                 \
    }

/* Their description, for --help. */
#define OUTPUT_FORMATS_HELP                                                                                            \
    "  --format FORMAT     tree (default), folded, pprof, speedscope, firefox, json,\n"                                \
    "                      svg, otlp\n"                                                                                \
    "  -o FILE             write to FILE instead of standard output. Without\n"                                        \
    "                      --format, the name of FILE decides the format: .txt,\n"                                     \
    "                      .folded or .collapsed, .pb.gz or .pprof,\n"                                                 \
    "                      .speedscope.json, .firefox.json, .json, .svg, .otlp\n"                                      \
    "  --wall              tree, folded, svg: count the time that samples represent,\n"                                \
    "                      instead of samples\n"                                                                       \
    "  --cpu               tree, folded, svg: count the processor time that the\n"                                     \
    "                      threads used, in the stacks in which they ran\n"                                            \
    "  --merge             tree, folded, svg: one tree for all threads\n"                                              \
    "  --native-ids        folded, svg, speedscope: show the kernel's ids of threads\n"                                \
    "                      in addition to their names\n"
#define OUTPUT_NAMES_HELP                                                                                              \
    "  --demangle MODE     how to demangle names of C++, Rust and Swift: full\n"                                       \
    "                      (default), simple, short, no\n"                                                             \
    "  --no-symbols        show image and offset, no names\n"                                                          \
    "  --no-lines          show no source files and lines, and no inlined calls.\n"                                    \
    "                      Without this option, every format but folded has them\n"                                    \
    "                      where there is debug information\n"                                                         \
    "  --lines             folded: inlined calls are separate frames\n"                                                \
    "  --map-path OLD=NEW  in paths of source files, show the directory OLD as NEW;\n"                                 \
    "                      may be repeated, the first match is used\n"                                                 \
    "  --index STORE       take lines from the indexes in the folder STORE (see\n"                                     \
    "                      unspool index). Default: $UNSPOOL_INDEX_STORE, or\n"                                        \
    "                      unspool/index in $XDG_CACHE_HOME or ~/.cache\n"

/* Parses such an option, or 'o', with its value in optarg. Returns false if it is another one, or the value is wrong; in
 * that case *is_wrong becomes true, after a complaint. */
bool record_output_option(int option, struct record_output *output, bool *is_wrong);

/* Chooses the format by the file's name if no option has, and whether lines are looked up. Complains and returns false
 * if the options contradict each other. */
bool record_output_choose(struct record_output *output);

/* Returns the format for a file's name: enum usp_profile_format; 0: none. */
uint32_t format_of_path(const char *path);

/* Opens the file. Complains. */
bool record_open(struct record_output *output);

/* Removes the file, unless it was written. */
void record_discard(struct record_output *output);

/* Implements usp_write_function for the profile; `context` is the record_output. */
int record_put(void *context, const char *bytes, size_t n);

/* Puts the file in its place after it was written with a status, an enum usp_status. Complains. Returns an enum
 * exit_status. */
int record_close(struct record_output *output, int status);

/* Writes the profile and puts the file in its place. process: the recorded process if it is alive, otherwise 0.
 * Complains. Returns an enum exit_status. */
int record_write(struct record_output *output, struct usp_profile *profile, int64_t process);

#endif
