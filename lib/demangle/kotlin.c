/* SPDX-License-Identifier: MIT */
/* See kotlin.h. The form is that of Kotlin's compiler (KotlinMangler, IrMangleComputer; Kotlin/Native's
 * BinaryInterface.kt): "#" before a member's own name, ";" between types, "__at__" or "@" before the receiver's type,
 * "{…}" with type parameters, "#internal" after functions of one module. Bridges between Kotlin and Objective-C have
 * their function's name after a word; a bridge between two types of one function ("<bridge-…>") has both their lists of
 * types (ObjCExportCodeGenerator.kt, BridgesBuilding.kt). */
#include "lib/demangle/kotlin.h"

#include "lib/base/text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "kfun:", module_only[] = "#internal", by_table[] = "-trampoline";

/* Returns the length of the word with which the name of a bridge between Kotlin and Objective-C begins. */
static size_t bridge_length(const char *name) {
    static const char *const words[] = {"objc2kotlin_virtual_", "objc2kotlin_", "kotlin2objc_"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(name, words[i], strlen(words[i])) == 0) return strlen(words[i]);
    }
    return 0;
}

bool uspi_kotlin_is_mangled(const char *name) {
    name += bridge_length(name);
    return strncmp(name, prefix, sizeof prefix - 1) == 0 && name[sizeof prefix - 1] != '\0';
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
static void put_types(struct uspi_text *out, const char *types, size_t length) {
    for (size_t n = 0; n < length; n++) {
        const bool is_end = types[n] == ';';
        uspi_put(out, is_end ? ", " : types + n, is_end ? 2 : 1);
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

/* Puts the type of the result, up to the list of types of the function that a bridge calls. */
static void put_result(struct uspi_text *out, const char *result) {
    size_t length = 0, depth = 0;
    for (; result[length] != '\0' && (depth > 0 || result[length] != '('); length++) {
        if (result[length] == '<') depth++;
        if (result[length] == '>' && depth > 0) depth--;
    }
    if (length == 0 || result[0] == '{') return;
    uspi_put_string(out, ": ");
    uspi_put(out, result, length);
}

char *uspi_kotlin(char *name, bool is_simple) {
    const char *bridge = name;
    const size_t word_length = bridge_length(name);
    name += word_length + sizeof prefix - 1;
    cut_marks(name);
    const char *hash = strchr(name, '#'), *member = hash != NULL ? hash + 1 : name;
    const char *types = strchr(member, '(');
    size_t length = types != NULL ? (size_t)(types - member) : strcspn(member, "{"), receiver_length = 0;
    const size_t types_length = types != NULL ? bracketed_length(types, '(', ')') : 0;
    const char *receiver = cut_receiver(member, &length, &receiver_length);
    if (length == 0 || (types != NULL && types_length == 0)) return NULL;
    /* The text is at most twice as long as the name: only separators get longer. */
    const size_t size = word_length + 2 * strlen(name) + 8;
    char *text = malloc(size);
    if (text == NULL) return NULL;
    struct uspi_text out = uspi_text_in(text, size);
    if (word_length > 0) {
        uspi_put(&out, bridge, word_length - 1);
        uspi_put_string(&out, " ");
    }
    if (hash != NULL && hash > name) {
        uspi_put(&out, name, (size_t)(hash - name));
        uspi_put_string(&out, ".");
    }
    uspi_put(&out, member, length);
    if (types != NULL && !is_simple) {
        const char *result = types + types_length;
        uspi_put_string(&out, "(");
        if (receiver != NULL) uspi_put(&out, receiver, receiver_length);
        if (receiver != NULL && types_length > 2) uspi_put_string(&out, ", ");
        put_types(&out, types + 1, types_length - 2);
        uspi_put_string(&out, ")");
        result += result[0] == '{' ? bracketed_length(result, '{', '}') : 0;
        put_result(&out, result);
    }
    uspi_text_end(&out);
    return text;
}
