/* SPDX-License-Identifier: MIT */
/* Implements arguments.h: options and their values. */
#include "tools/arguments.h"
#include "tools/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef int getopt_function(int, char *const[], const char *, const struct option *, int *);

static int next_by(getopt_function *get, int argc, char **argv, const char *letters, const struct option *options) {
    opterr = 0;
    const int option = get(argc, argv, letters, options, NULL);
    if (option != '?') return option;
    const char *word = argv[optind - 1];
    const struct option *known = options;
    while (known->name != NULL && (optopt == 0 || known->val != optopt)) known++;
    if (optopt == 0) {
        complain("unknown or ambiguous option %s", word);
    } else if (known->name != NULL && known->has_arg == no_argument) {
        complain("--%s takes no value", known->name);
    } else if (known->name != NULL || strchr(letters, optopt) != NULL) {
        complain("%s takes a value", word);
    } else {
        complain("unknown option -%c", optopt);
    }
    return option;
}

int next_option(int argc, char **argv, const char *letters, const struct option *options) {
    return next_by(getopt_long, argc, argv, letters, options);
}

int next_option_of_any_dash(int argc, char **argv, const char *letters, const struct option *options) {
    return next_by(getopt_long_only, argc, argv, letters, options);
}

bool parse_number(const char *text, uint64_t highest, uint64_t *value) {
    char *end;
    errno = 0;
    if (text[0] < '0' || text[0] > '9') return false;
    unsigned long long parsed = strtoull(text, &end, 10);
    *value = parsed;
    return errno == 0 && *end == '\0' && parsed <= highest;
}

static int digit_of(char character) {
    if (character >= '0' && character <= '9') return character - '0';
    if (character >= 'a' && character <= 'f') return character - 'a' + 10;
    if (character >= 'A' && character <= 'F') return character - 'A' + 10;
    return -1;
}

bool parse_hex(const char *text, uint64_t *value) {
    bool has_prefix = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *at = has_prefix ? text + 2 : text;
    uint64_t parsed = 0;
    if (*at == '\0') return false;
    for (; *at != '\0'; at++) {
        int digit = digit_of(*at);
        if (digit < 0 || parsed >> 60 != 0) return false;
        parsed = parsed << 4 | (uint64_t)digit;
    }
    *value = parsed;
    return true;
}

bool parse_address(const char *text, uint64_t *value) {
    bool is_decimal = text[0] != '0' && text[strspn(text, "0123456789")] == '\0';
    return is_decimal ? parse_number(text, UINT64_MAX, value) : parse_hex(text, value);
}

static bool parse_digits(const char *text, uint8_t bytes[USP_BUILD_ID_MAX], uint32_t *size) {
    uint32_t digits = 0;
    memset(bytes, 0, USP_BUILD_ID_MAX);
    for (; *text != '\0'; text++) {
        if (strchr("-<>", *text) != NULL) continue;
        int digit = digit_of(*text);
        if (digit < 0 || digits == 2 * USP_BUILD_ID_MAX) return false;
        bytes[digits / 2] = (uint8_t)(bytes[digits / 2] << 4 | digit);
        digits++;
    }
    *size = digits / 2;
    return digits > 0 && digits % 2 == 0;
}

bool parse_uuid(const char *text, uint8_t bytes[USP_BUILD_ID_MAX], uint32_t *size) {
    if (parse_digits(text, bytes, size)) return true;
    complain("--uuid takes a UUID or build-id, at most %d bytes in hexadecimal, not \"%s\"", USP_BUILD_ID_MAX, text);
    return false;
}

bool parse_target(const char *target, int64_t *pid) {
    uint64_t number;
    *pid = 0;
    if (target[0] == '\0' || target[strspn(target, "0123456789")] != '\0') return true;
    if (!parse_number(target, INT32_MAX, &number) || number == 0) {
        complain("%s is not a process id (./%s would be a file)", target, target);
        return false;
    }
    *pid = (int64_t)number;
    return true;
}

bool parse_process(const char *text, int64_t *pid) {
    if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0') return parse_target(text, pid);
    complain("-p takes a process id, not \"%s\"", text);
    return false;
}

bool parse_word(const char *option, const char *text, const struct word *words, size_t count, uint32_t *value) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i].word, text) != 0) continue;
        *value = words[i].value;
        return true;
    }
    complain("--%s takes one of the words that --help lists, not \"%s\"", option, text);
    return false;
}

bool parse_demangling(const char *text, uint32_t *value) {
    static const struct word modes[] = {
        {"full", USP_DEMANGLE_FULL},
        {"simple", USP_DEMANGLE_SIMPLE},
        {"short", USP_DEMANGLE_SHORT},
        {"no", USP_DEMANGLE_NO},
    };
    return parse_word("demangle", text, modes, sizeof modes / sizeof *modes, value);
}

bool parse_arch(const char *text, uint32_t *arch, uint32_t *variant) {
    *arch = usp_arch_from_string(text);
    *variant = usp_variant_from_string(text);
    if (*arch != USP_ARCH_NONE) return true;
    complain("--arch: \"%s\" is none of " ARCH_NAMES, text);
    return false;
}
