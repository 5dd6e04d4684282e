/* SPDX-License-Identifier: MIT */
/* See cxx.h. */
#include "lib/demangle/cxx.h"

#include "lib/demangle/demangle_simple.h"
#include "lib/os/os.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The maximum size of a demangled name in bytes; names whose result could be longer stay mangled. The platform's
 * demangler limits neither time nor output, and a C++ name that refers to its own parts can double every few
 * characters. */
#define OUTPUT_MAX (UINT64_C(1) << 27)

/* The maximum size in bytes of a name that is simplified: with nested brackets, a hostile name takes time quadratic in
 * its length. */
#define SIMPLIFIED_MAX 65536u

static void find_demangler(struct uspi_cxx *cxx) {
    /* The most common library comes first, because the loader looks for a missing library in a hundred places. */
    static const char *const libraries[] = {"", "libstdc++.so.6", "libc++abi.so.1", "libc++abi.dylib", NULL};
    uspi_os_function found;
    if (cxx->is_known) return;
    cxx->is_known = true;
    if (uspi_os_find_function(libraries, "__cxa_demangle", &found)) {
        cxx->demangle = (char *(*)(const char *, char *, size_t *, int *))found;
    }
}

/* Returns the length of an Itanium C++ ABI back reference at `at`: "S" or "T", a number, "_"; 0: there is none. Letters
 * of an identifier may look like one; that only makes the estimate too high. */
static size_t reference_length(const char *at) {
    size_t n = 1;
    if (at[0] != 'S' && at[0] != 'T') return 0;
    while ((at[n] >= '0' && at[n] <= '9') || (at[n] >= 'A' && at[n] <= 'Z')) n++;
    return at[n] == '_' ? n + 1 : 0;
}

/* Returns whether the demangled name is certainly not too long. With n references it is at most 3^(n/3) times as long;
 * levels of three references to the previous level reach that. A pack expansion ("Dp") repeats what follows for each
 * argument. */
static bool is_moderate(const char *name) {
    const uint64_t length = strlen(name);
    uint64_t estimate = length;
    unsigned references = 0;
    while (*name != '\0' && estimate <= OUTPUT_MAX) {
        const size_t reference = reference_length(name);
        if (reference > 0 && ++references % 3 == 0) estimate *= 3;
        if (name[0] == 'D' && name[1] == 'p') estimate *= length / 32 + 2;
        name += reference > 0 ? reference : 1;
    }
    return estimate <= OUTPUT_MAX;
}

char *uspi_cxx_demangle(struct uspi_cxx *cxx, const char *name) {
    int status = 0;
    find_demangler(cxx);
    if (cxx->demangle == NULL || !is_moderate(name)) return NULL;
    char *demangled = cxx->demangle(name, NULL, NULL, &status);
    if (status == 0) return demangled;
    free(demangled);
    return NULL;
}

/* Returns the length of an identifier with its preceding length at `at`, or of a literal's digits, which follow a
 * letter for its type. */
static size_t numbered_length(const char *name, const char *at) {
    const size_t left = strlen(at);
    const char *end = at;
    size_t length = 0;
    for (; *end >= '0' && *end <= '9'; end++) {
        /* Once the number exceeds what is left, its exact value does not matter. */
        if (length <= left) length = 10 * length + (size_t)(*end - '0');
    }
    const bool is_literal = at - name > 1 && at[-2] == 'L' && *end == 'E';
    const size_t digits = (size_t)(end - at);
    return digits + (!is_literal && length <= left - digits ? length : 0);
}

/* Returns the length of the ABI tags at `at`: B and an identifier, repeated. */
static size_t tags_length(const char *name, const char *at) {
    const char *end = at;
    while (end[0] == 'B' && end[1] >= '1' && end[1] <= '9') end += 1 + numbered_length(name, end + 1);
    return (size_t)(end - at);
}

/* Removes the ABI tags of constructor templates, in place. GNU's demangler takes such constructors for functions with a
 * return type: it leaves their names mangled, or shows the first parameter as the return type. */
static void drop_constructor_tags(char *name) {
    for (char *at = name; *at != '\0';) {
        const size_t reference = reference_length(at);
        if (*at == 'C' && at[1] >= '1' && at[1] <= '5' && at[2] == 'B') {
            char *end = at + 2 + tags_length(name, at + 2);
            if (*end == 'I') memmove(at + 2, end, strlen(end) + 1);
            at += 2;
        } else if (reference > 0) {
            at += reference;
        } else {
            at += *at >= '1' && *at <= '9' ? numbered_length(name, at) : 1;
        }
    }
}

char *uspi_cxx_append_clone(char *text, const char *suffix) {
    static const char open[] = " [clone ", close[] = "]";
    const size_t length = text != NULL ? strlen(text) : 0, suffix_length = strlen(suffix);
    char *whole = text != NULL ? realloc(text, length + sizeof open + suffix_length + sizeof close) : NULL;
    if (whole == NULL) {
        free(text);
        return NULL;
    }
    memcpy(whole + length, open, sizeof open - 1);
    memcpy(whole + length + sizeof open - 1, suffix, suffix_length);
    memcpy(whole + length + sizeof open - 1 + suffix_length, close, sizeof close);
    return whole;
}

/* Demangles Clang's name of a block's function, in llvm-cxxfilt's words. It has "__" before the enclosing function's
 * name (one "_" may have been removed as Mach-O's), and must have "_block_invoke" and a number after it. */
static char *demangle_block(struct uspi_cxx *cxx, char *name) {
    static const char words[] = "invocation function for block in ";
    *strstr(name, "_block_invoke") = '\0';
    char *function = uspi_cxx_demangle(cxx, strchr(name, 'Z') - 1);
    const size_t length = function != NULL ? strlen(function) : 0;
    char *whole = function != NULL ? malloc(sizeof words + length) : NULL;
    if (whole != NULL) {
        memcpy(whole, words, sizeof words - 1);
        memcpy(whole + sizeof words - 1, function, length + 1);
    }
    free(function);
    return whole;
}

char *uspi_cxx_name(struct uspi_cxx *cxx, char *name, bool is_simple) {
    drop_constructor_tags(name);
    if (name[1] != 'Z' && strstr(name, "_block_invoke") != NULL) return demangle_block(cxx, name);
    name = strchr(name, 'Z') - 1;
    const size_t length = strcspn(name, ".");
    if (is_simple) name[length] = '\0';
    char *text = uspi_cxx_demangle(cxx, name);
    if (text == NULL && name[length] != '\0') {
        /* GNU's demangler knows suffixes only of functions. */
        name[length] = '\0';
        text = uspi_cxx_demangle(cxx, name);
        name[length] = '.';
        text = uspi_cxx_append_clone(text, name + length);
    }
    if (text != NULL && is_simple && strlen(text) <= SIMPLIFIED_MAX) uspi_demangle_simplify(text);
    return text;
}
