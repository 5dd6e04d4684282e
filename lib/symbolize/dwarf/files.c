/* SPDX-License-Identifier: MIT */
/* Composes the paths of files (reader.h) from the directories and the name in the line table. */
#include "lib/symbolize/dwarf/reader.h"

bool uspi_dwarf_put(struct uspi_dwarf_reader *reader, const char *bytes, size_t n) {
    if (!uspi_room_for(&reader->text, &reader->text_capacity, reader->text_length, n, 1)) return false;
    memcpy(reader->text + reader->text_length, bytes, n);
    reader->text_length += n;
    return true;
}

static bool is_absolute(const char *path) {
    if (path[0] == '/' || path[0] == '\\') return true;
    const bool is_letter = (path[0] >= 'a' && path[0] <= 'z') || (path[0] >= 'A' && path[0] <= 'Z');
    return is_letter && path[1] == ':' && (path[2] == '\\' || path[2] == '/');
}

static const char *text_of(const struct uspi_dwarf_reader *reader, uint64_t reference) {
    return uspi_text_at(reader->source.texts, NULL, 0, reference);
}

/* Appends a directory to the text. An absolute one replaces the text. */
static bool put_folder(struct uspi_dwarf_reader *reader, const char *folder, size_t length) {
    if (length == 0) return true;
    if (is_absolute(folder)) reader->text_length = 0;
    const bool needs_slash = reader->text_length > 0 && reader->text[reader->text_length - 1] != '/';
    return (!needs_slash || uspi_dwarf_put(reader, "/", 1)) && uspi_dwarf_put(reader, folder, length);
}

/* Finds the directories that lead to that of a file, outermost first: references to strings; 0: none. */
static void folder_chain(const struct uspi_dwarf_reader *reader, uint64_t number, uint64_t chain[3]) {
    const struct uspi_line_table *t = &reader->lines;
    const uint64_t own = reader->source.unit->folder;
    chain[0] = own;
    chain[1] = chain[2] = 0;
    if (t->version < 5) {
        if (number > 0 && number <= t->folder_count) chain[1] = t->folders[(size_t)number - 1];
        return;
    }
    /* Number 0 is where the compiler was started, like DW_AT_comp_dir. Both may be relative; they are the same then. */
    const uint64_t called = t->folder_count > 0 ? t->folders[0] : 0;
    const char *own_text = text_of(reader, own), *called_text = text_of(reader, called);
    if (called_text != NULL && (number == 0 || own_text == NULL)) {
        const bool is_same = own_text != NULL && !is_absolute(own_text) && !is_absolute(called_text);
        if (is_same) chain[0] = 0;
        chain[1] = called;
    }
    if (number > 0 && number < t->folder_count) chain[2] = t->folders[(size_t)number];
}

/* Returns the length of a path's directory, without its last separator unless that is the whole directory. *name
 * becomes the offset of the rest. */
static size_t split_path(const char *path, size_t *name) {
    const char *slash = strrchr(path, '/');
    /* In an absolute Windows path, the last separator can be a backslash. */
    const char *backslash = strrchr(path, '\\');
    if (backslash != NULL && is_absolute(path) && path[0] != '/' && (slash == NULL || backslash > slash))
        slash = backslash;
    if (slash == NULL) {
        *name = 0;
        return 0;
    }
    *name = (size_t)(slash - path) + 1;
    return slash == path ? 1 : (size_t)(slash - path);
}

static bool is_artificial(const char *name) {
    const size_t length = strlen(name);
    return length > 2 && name[0] == '<' && name[length - 1] == '>';
}

/* Returns the builder's number for a file. */
static uint32_t make_file(struct uspi_dwarf_reader *reader, const struct uspi_line_file *file) {
    const char *path = text_of(reader, file->name);
    uint64_t chain[3], folder = 0;
    size_t name;
    if (path == NULL) return uspi_builder_file(reader->builder, 0, 0);
    if (is_artificial(path)) return uspi_builder_file(reader->builder, 0, file->name);
    const size_t before_name = split_path(path, &name);
    folder_chain(reader, file->folder, chain);
    unsigned first = 0, count = 0;
    for (unsigned i = 0; i < 3; i++) {
        const char *text = text_of(reader, chain[i]);
        if (text == NULL) continue;
        if (is_absolute(text)) {
            first = i;
            count = 0;
        }
        count++;
        folder = chain[i];
    }
    if (before_name > 0 || count > 1) {
        reader->text_length = 0;
        bool is_put = true;
        for (unsigned i = first; i < 3 && is_put; i++) {
            const char *text = text_of(reader, chain[i]);
            if (text != NULL) is_put = put_folder(reader, text, strlen(text));
        }
        if (is_put && before_name > 0) is_put = put_folder(reader, path, before_name);
        folder = is_put ? uspi_builder_text(reader->builder, reader->text, reader->text_length) : 0;
    }
    const uint32_t number = folder != 0 ? uspi_builder_folder(reader->builder, folder) : 0;
    return uspi_builder_file(reader->builder, number, file->name + ((uint64_t)name << USPI_TEXT_KIND_BITS));
}

uint32_t uspi_dwarf_file_number(struct uspi_dwarf_reader *reader, uint64_t number) {
    const struct uspi_line_table *t = &reader->lines;
    const struct uspi_line_file *file = uspi_line_table_file(t, number);
    if (file == NULL) return 0;
    uint32_t *kept = &reader->file_numbers[file - t->files];
    if (*kept == 0) *kept = make_file(reader, file);
    return *kept;
}
