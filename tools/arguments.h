/* SPDX-License-Identifier: MIT */
/* Parsers for arguments that several sub-commands have: options, numbers, words, addresses, build ids. A function that
 * does not complain leaves that to its caller. */
#ifndef TOOLS_ARGUMENTS_H
#define TOOLS_ARGUMENTS_H

#include <getopt.h>

#include <unspool/unspool.h>

/* Returns the next option like getopt_long: -1 after the last one, '?' for a wrong one, of which it complains itself:
 * getopt would print a terminal's control characters unescaped. `letters` as for getopt, without a leading colon. */
int next_option(int argc, char **argv, const char *letters, const struct option *options);

/* Like next_option, with getopt_long_only: a long option may begin with one dash. */
int next_option_of_any_dash(int argc, char **argv, const char *letters, const struct option *options);

/* Parses a decimal number, at most `highest`, with nothing before or after it. */
bool parse_number(const char *text, uint64_t highest, uint64_t *value);

/* Parses a hexadecimal number, with or without 0x. */
bool parse_hex(const char *text, uint64_t *value);

/* Parses an address as people and tools write it. It is hexadecimal with 0x, with a digit above 9, or with a leading
 * zero, because reports and nm(1) pad addresses. Otherwise it is decimal, as for atos(1). */
bool parse_address(const char *text, uint64_t *value);

/* Parses a build id or UUID, for --uuid: two hexadecimal digits for each byte, with "-", "<" and ">" anywhere.
 * Complains. */
bool parse_uuid(const char *text, uint8_t bytes[USP_BUILD_ID_MAX], uint32_t *size);

/* Parses a target on the command line. *pid is the process id if the target is a number, 0 if it is a file. Complains
 * and returns false if no process can have the number. */
bool parse_target(const char *target, int64_t *pid);

/* Parses a process id, for -p. Complains. */
bool parse_process(const char *text, int64_t *pid);

struct word {
    const char *word;
    uint32_t value;
};

/* Parses the value of an option that takes one of several words. Complains of other words. */
bool parse_word(const char *option, const char *text, const struct word *words, size_t count, uint32_t *value);

/* Parses an enum usp_demangle_style, for --demangle. Complains. */
bool parse_demangling(const char *text, uint32_t *value);

/* Parses an enum usp_arch and an enum usp_variant, for --arch. Complains. */
bool parse_arch(const char *text, uint32_t *arch, uint32_t *variant);

/* The names that --arch takes, for --help. */
#define ARCH_NAMES_ARM "arm64, arm64e, arm64_32, armv7, armv7s, armv7k"
#define ARCH_NAMES_X86 "x86_64, x86_64h, i386"
#define ARCH_NAMES     ARCH_NAMES_ARM ", " ARCH_NAMES_X86

#endif
