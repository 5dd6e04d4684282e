/* SPDX-License-Identifier: MIT */
/* What the arguments of sub-commands have in common: numbers, words, addresses, build-ids. The caller reports what is wrong
 * with one. */
#ifndef TOOL_ARGUMENTS_H
#define TOOL_ARGUMENTS_H

#include <getopt.h>

#include <unspool/unspool.h>

/* The next option, as getopt_long returns it: -1 after the last one, '?' for a wrong one. Complains of that in the way of all
 * complaints: getopt itself prints a terminal's control characters as they are. `letters` are getopt's, without a colon in
 * front. */
int next_option(int argc, char **argv, const char *letters, const struct option *options);

/* The same with getopt_long_only: a long option may begin with one dash. */
int next_option_of_any_dash(int argc, char **argv, const char *letters, const struct option *options);

/* A whole decimal number and nothing else, at most `highest`. */
bool parse_number(const char *text, uint64_t highest, uint64_t *value);

/* A number in hexadecimal, with or without 0x. */
bool parse_hex(const char *text, uint64_t *value);

/* An address as people and tools write it: hexadecimal with 0x, with a digit above 9, or with a zero in front, as reports and
 * nm(1) pad them; otherwise decimal, as atos(1) takes it. */
bool parse_address(const char *text, uint64_t *value);

/* A build-id or UUID, for --uuid: hexadecimal digits, two for each byte; "-" may stand anywhere, "<" and ">" around.
 * Complains. */
bool parse_uuid(const char *text, uint8_t bytes[USP_BUILD_ID_MAX], uint32_t *size);

/* A target on the command line: *pid becomes the process id that a number of any length means, 0 for a file. Complains and
 * returns false when the number is none that a process can have. */
bool parse_target(const char *target, int64_t *pid);

struct word {
    const char *word;
    uint32_t value;
};

/* The value of an option that takes one of some words; complains when it is none of them. */
bool parse_word(const char *option, const char *text, const struct word *words, size_t count, uint32_t *value);

/* An enum usp_demangle_style, for --demangle. Complains. */
bool parse_demangling(const char *text, uint32_t *value);

/* An enum usp_arch and an enum usp_variant, for --arch. Complains. */
bool parse_arch(const char *text, uint32_t *arch, uint32_t *variant);

/* The names that --arch takes, for --help. */
#define ARCH_NAMES "arm64, arm64e, arm64_32, armv7, armv7s, armv7k, x86_64, x86_64h, i386"

#endif
