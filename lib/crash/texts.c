/* SPDX-License-Identifier: MIT */
/* Texts of a report: cut at whole characters, without the names of users. */
#include "lib/crash/kit.h"

#include "lib/base/text.h"

void uspi_crash_copy_text(char *to, size_t size, const char *from) {
    size_t length = strnlen(from, size - 1);
    if (from[length] != '\0') length = uspi_utf8_whole(from, length);
    memcpy(to, from, length);
    memset(to + length, 0, size - length);
}

/* Returns the length of "/Users/" or "/home/" at the beginning of a text; 0: neither is there. */
static size_t parent_at(const char *text) {
    static const struct uspi_span parents[] = {USPI_SPAN_INIT("/Users/"), USPI_SPAN_INIT("/home/")};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        if (strncmp(text, parents[i].bytes, parents[i].length) == 0) return parents[i].length;
    }
    return 0;
}

/* Returns the length of a name in a path, which may be a part of a sentence. */
static size_t name_length(const char *text) {
    size_t n = 0;
    while ((unsigned char)text[n] > ' ' && strchr("/\"'`,;:()<>[]{}|", text[n]) == NULL) n++;
    return n;
}

size_t uspi_crash_hide_homes(char *to, size_t size, const char *from) {
    struct uspi_text text = uspi_text_in(to, size);
    while (*from != '\0') {
        const size_t parent = parent_at(from);
        /* Without a parent, up to the next "/". */
        const size_t plain = parent > 0 ? parent : 1 + strcspn(from + 1, "/");
        uspi_put(&text, from, plain);
        from += plain;
        const size_t name = parent > 0 ? name_length(from) : 0;
        const bool is_shared = name == 6 && strncmp(from, "Shared", name) == 0;
        if (name == 0 || is_shared) continue;
        uspi_put_string(&text, "USER");
        from += name;
    }
    (void)uspi_text_end(&text);
    if (text.length >= size) to[uspi_utf8_whole(to, size - 1)] = '\0';
    return (size_t)text.length;
}
