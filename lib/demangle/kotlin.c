/* SPDX-License-Identifier: MIT */
/* See kotlin.h. The form is that of Kotlin's compiler (KotlinMangler, IrMangleComputer; Kotlin/Native's
 * BinaryInterface.kt): "#" before a member's own name, ";" between types, "__at__" or "@" before the receiver's type,
 * "{…}" with type parameters, "#internal" after functions of one module. */
#include "lib/demangle/kotlin.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "kfun:", module_only[] = "#internal", by_table[] = "-trampoline";

bool uspi_kotlin_is_mangled(const char *name) {
    return strncmp(name, prefix, sizeof prefix - 1) == 0 && name[sizeof prefix - 1] != '\0';
}

struct output {
    char *text;
    size_t length;
};

/* The text never gets longer than twice the name: only separators get longer. */
static void put(struct output *out, const char *bytes, size_t n) {
    memcpy(out->text + out->length, bytes, n);
    out->length += n;
}

/* Returns the length of a bracketed part at `at`, with its brackets; 0: it does not end. */
static size_t bracketed_length(const char *at, char open, char close) {
    size_t depth = 0;
    for (size_t n = 0; at[n] != '\0'; n++) {
        if (at[n] == open) depth++;
        if (at[n] == close && --depth == 0) return n + 1;
    }
    return 0;
}

/* Puts the types between parentheses, with ", " between them. */
static void put_types(struct output *out, const char *types, size_t length) {
    for (size_t n = 0; n < length; n++) {
        if (types[n] == ';') {
            put(out, ", ", 2);
        } else {
            put(out, types + n, 1);
        }
    }
}

/* Cuts the marks at the end of a name. */
static void cut_marks(char *name) {
    const size_t length = strlen(name), n = sizeof by_table - 1;
    if (length > n && strcmp(name + length - n, by_table) == 0) name[length - n] = '\0';
    char *mark = strstr(name, module_only);
    if (mark != NULL && mark > name && (mark[sizeof module_only - 1] == '\0' || mark[sizeof module_only - 1] == '.')) {
        *mark = '\0';
    }
}

/* Finds the receiver's type in the `length` bytes of a member's name, and cuts it off. NULL: there is none. */
static const char *cut_receiver(const char *member, size_t *length, size_t *receiver_length) {
    static const char *const marks[] = {"__at__", "@"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const size_t n = strlen(marks[i]);
        for (size_t at = 1; at + n < *length; at++) {
            if (memcmp(member + at, marks[i], n) != 0) continue;
            *receiver_length = *length - at - n;
            *length = at;
            return member + at + n;
        }
    }
    return NULL;
}

char *uspi_kotlin(char *name, bool is_simple) {
    name += sizeof prefix - 1;
    cut_marks(name);
    const char *hash = strchr(name, '#'), *member = hash != NULL ? hash + 1 : name;
    const char *types = strchr(member, '(');
    size_t length = types != NULL ? (size_t)(types - member) : strcspn(member, "{"), receiver_length = 0;
    const size_t types_length = types != NULL ? bracketed_length(types, '(', ')') : 0;
    const char *receiver = cut_receiver(member, &length, &receiver_length);
    struct output out = {malloc(2 * strlen(name) + 8), 0};
    if (out.text == NULL || length == 0 || (types != NULL && types_length == 0)) {
        free(out.text);
        return NULL;
    }
    if (hash != NULL && hash > name) {
        put(&out, name, (size_t)(hash - name));
        put(&out, ".", 1);
    }
    put(&out, member, length);
    if (types != NULL && !is_simple) {
        const char *result = types + types_length;
        put(&out, "(", 1);
        if (receiver != NULL) put(&out, receiver, receiver_length);
        if (receiver != NULL && types_length > 2) put(&out, ", ", 2);
        put_types(&out, types + 1, types_length - 2);
        put(&out, ")", 1);
        result += result[0] == '{' ? bracketed_length(result, '{', '}') : 0;
        if (result[0] != '\0' && result[0] != '{') {
            put(&out, ": ", 2);
            put(&out, result, strlen(result));
        }
    }
    out.text[out.length] = '\0';
    return out.text;
}
