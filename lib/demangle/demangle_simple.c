/* SPDX-License-Identifier: MIT */
/* See demangle_simple.h. The input is written by demanglers of the Itanium C++ ABI: brackets are balanced, except in
 * the names of operators. */
#include "lib/demangle/demangle_simple.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* Returns the length of an operator's name ("operator()", "operator<<", "operator new[]", "operator int*") at `at`, up
 * to its template arguments or parameters; 0: there is none. */
static size_t operator_length(const char *name, size_t at) {
    static const char word[] = "operator";
    static const char *const symbols[] = {
        "()", "[]", "<=>", "->*", "<<=", ">>=", "<<", ">>", "<=", ">=", "->", "==",  "!=", "&&",
        "||", "++", "--",  "+=",  "-=",  "*=",  "/=", "%=", "^=", "&=", "|=", "+",   "-",  "*",
        "/",  "%",  "^",   "&",   "|",   "~",   "!",  "=",  "<",  ">",  ",",  "\"\""};
    size_t length = sizeof word - 1;
    if ((at > 0 && is_word(name[at - 1])) || strncmp(name + at, word, length) != 0) return 0;
    const char *rest = name + at + length;
    if (is_word(*rest)) return 0;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        size_t n = strlen(symbols[i]);
        if (strncmp(rest, symbols[i], n) != 0) continue;
        length += n;
        /* The name of a user-defined literal follows the quotes. */
        if (symbols[i][0] == '"') {
            while (name[at + length] == ' ' || is_word(name[at + length])) length++;
        }
        return length;
    }
    /* A conversion to a type, or new and delete. */
    int depth = 0;
    for (; name[at + length] != '\0'; length++) {
        char c = name[at + length];
        if (c == '(' && depth == 0) break;
        if (c == '<') depth++;
        if (c == '>') depth--;
    }
    return length;
}

/* Returns the position of the bracket that closes the one at `at`, which is one of "<([{"; the end of the name if there
 * is none. */
static size_t closing(const char *name, size_t at) {
    int depth = 0;
    for (size_t i = at; name[i] != '\0'; i++) {
        size_t n = operator_length(name, i);
        if (n > 0) {
            i += n - 1;
            continue;
        }
        if (strchr("<([{", name[i]) != NULL) depth++;
        bool is_arrow = i > 0 && name[i] == '>' && name[i - 1] == '-';
        if (strchr(">)]}", name[i]) != NULL && !is_arrow && --depth == 0) return i;
    }
    return strlen(name);
}

/* Returns whether parentheses belong to a path: "(anonymous namespace)", or "f(int)::{lambda()#1}". Others are
 * parameters. */
static bool is_part_of_path(const char *name, size_t open, size_t close) {
    return strncmp(name + open, "(anonymous", 10) == 0 || strncmp(name + close, ")::", 3) == 0 ||
           strncmp(name + close, ") const::", 9) == 0;
}

/* Returns the length of a prefix that tells the kind of symbol: "vtable for ", "non-virtual thunk to "; 0: there is
 * none. */
static size_t special_length(const char *name) {
    static const char *const words[] = {" for ", " to "};
    size_t plain = strcspn(name, "<([{");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *found = strstr(name, words[i]);
        if (found != NULL && (size_t)(found - name) < plain) return (size_t)(found - name) + strlen(words[i]);
    }
    return 0;
}

struct simplifying {
    char *name;
    size_t from, to;
};

static void copy(struct simplifying *s, size_t n) {
    memmove(s->name + s->to, s->name + s->from, n);
    s->to += n;
    s->from += n;
}

static bool ends_with_decltype(const struct simplifying *s) {
    return s->to >= 8 && memcmp(s->name + s->to - 8, "decltype", 8) == 0;
}

/* Handles a bracket. False: the name ends here. */
static bool pass_bracket(struct simplifying *s) {
    const char *at = s->name + s->from;
    size_t end = closing(s->name, s->from), length = end + 1 - s->from;
    if (s->name[end] == '\0') return false;
    if (*at == '[' || *at == '{' || strncmp(at, "(anonymous", 10) == 0) {
        copy(s, length);
        return true;
    }
    if (*at == '<' || ends_with_decltype(s)) {
        if (*at != '<') s->to -= sizeof "decltype" - 1;
        s->from += length;
        return true;
    }
    if (s->to == 0) {
        s->from++; /* a function that returns a function pointer: "int (*f(char))(int)" */
        return true;
    }
    if (!is_part_of_path(s->name, s->from, end)) return false;
    s->from += length;
    if (strncmp(s->name + s->from, " const", 6) == 0) s->from += 6;
    return true;
}

void uspi_demangle_simplify(char *name) {
    struct simplifying s = {.name = name + special_length(name)};
    bool was_operator = false;
    while (s.name[s.from] != '\0') {
        char c = s.name[s.from];
        size_t operator_name = operator_length(s.name, s.from);
        if (operator_name > 0) {
            copy(&s, operator_name);
            was_operator = true;
        } else if (strchr("<([{", c) != NULL) {
            if (!pass_bracket(&s)) break;
        } else if (c == ' ') {
            if (!was_operator && !ends_with_decltype(&s)) s.to = 0; /* the text before was the return type */
            s.from++;
        } else if (s.to == 0 && strchr("*&)", c) != NULL) {
            s.from++;
        } else {
            copy(&s, 1);
        }
    }
    s.name[s.to] = '\0';
}
