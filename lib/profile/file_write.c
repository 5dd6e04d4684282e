/* SPDX-License-Identifier: MIT */
/* Writes a profile in its own format, with the names that were found. Fields that do not change are copied as they are.
 * See file.h. */
#include "lib/profile/file.h"

#include "lib/profile/gzip.h"

struct writer {
    const struct usp_profile_file *file;
    struct uspi_proto out, tables, message, inner; /* the file, its dictionary, a message, and a message in that */
    uint32_t mappings, locations;                  /* numbers of the next ones */
};

/* Returns the id of a function by its number. */
static uint64_t function_id(const struct usp_profile_file *file, uint64_t number) {
    if (file->layout->function.id == 0) return number;
    return number < file->known_functions ? uspi_file_function(file, (uint32_t)number)->id
                                          : file->last_id + 1 + (number - file->known_functions);
}

static void put_mapping(struct writer *writer, struct uspi_proto *to, struct uspi_proto_field field) {
    const struct uspi_file_layout *layout = writer->file->layout;
    const struct uspi_file_mapping *mapping = uspi_file_mapping(writer->file, writer->mappings++);
    uspi_proto_put(&writer->message, field.bytes.bytes, field.bytes.length);
    if (layout->mapping.has_functions != 0 && mapping->has_names) {
        /* The fields that follow say of files, lines and inlined calls that they are there. Of repeated fields the last
         * one counts. */
        uspi_proto_put_number(&writer->message, layout->mapping.has_functions, 1);
        uspi_proto_put_number(&writer->message, layout->mapping.has_functions + 1u, mapping->has_lines);
        uspi_proto_put_number(&writer->message, layout->mapping.has_functions + 2u, mapping->has_lines);
        uspi_proto_put_number(&writer->message, layout->mapping.has_functions + 3u, mapping->has_inlined);
    }
    uspi_proto_put_message(to, field.number, &writer->message);
}

static void put_location(struct writer *writer, struct uspi_proto *to, struct uspi_proto_field field) {
    const struct usp_profile_file *file = writer->file;
    const struct uspi_file_location *location = uspi_file_location(file, writer->locations++);
    const uint64_t lines = file->layout->location.lines;
    struct uspi_proto_field inner;
    size_t from = 0;
    for (size_t at = 0; uspi_proto_next(field.bytes, &at, &inner); from = at) {
        const bool is_replaced = location->is_found && inner.number == lines;
        if (!is_replaced) uspi_proto_put(&writer->message, field.bytes.bytes + from, at - from);
    }
    for (uint32_t i = 0; location->is_found && i < location->line_count; i++) {
        const struct uspi_file_line *line = &file->lines[location->first_line + i];
        uspi_proto_put_number(&writer->inner, USPI_LINE_FUNCTION, function_id(file, line->function));
        uspi_proto_put_number(&writer->inner, USPI_LINE_LINE, line->line);
        uspi_proto_put_number(&writer->inner, USPI_LINE_COLUMN, line->column);
        uspi_proto_put_message(&writer->message, lines, &writer->inner);
    }
    uspi_proto_put_message(to, field.number, &writer->message);
}

/* Copies a message that has tables, with the changes. */
static void put_tables(struct writer *writer, struct uspi_proto *to, struct uspi_span message) {
    const struct uspi_file_layout *layout = writer->file->layout;
    struct uspi_proto_field field;
    size_t from = 0;
    for (size_t at = 0; uspi_proto_next(message, &at, &field); from = at) {
        const bool is_message = field.wire == USPI_PROTO_BYTES;
        if (is_message && field.number == layout->mappings) {
            put_mapping(writer, to, field);
        } else if (is_message && field.number == layout->locations) {
            put_location(writer, to, field);
        } else {
            uspi_proto_put(to, message.bytes + from, at - from);
        }
    }
}

/* Adds the new functions and strings, which follow those of the file. */
static void put_added(struct writer *writer, struct uspi_proto *to) {
    const struct usp_profile_file *file = writer->file;
    const struct uspi_file_layout *layout = file->layout;
    for (size_t i = file->known_functions; i < file->functions.count; i++) {
        const struct uspi_file_function *function = uspi_file_function(file, (uint32_t)i);
        if (layout->function.id != 0)
            uspi_proto_put_number(&writer->message, layout->function.id, function_id(file, i));
        uspi_proto_put_number(&writer->message, layout->function.name, function->name);
        uspi_proto_put_number(&writer->message, layout->function.system_name, function->system_name);
        uspi_proto_put_number(&writer->message, layout->function.file, function->file);
        uspi_proto_put_message(to, layout->functions, &writer->message);
    }
    for (size_t i = 0; i < file->added_count; i++)
        uspi_proto_put_bytes(to, layout->strings, file->added[i].bytes, file->added[i].length);
}

/* Returns the position of the last field with the tables; SIZE_MAX if there is none. */
static size_t last_dictionary(const struct usp_profile_file *file) {
    struct uspi_proto_field field;
    size_t last = SIZE_MAX, from = 0;
    for (size_t at = 0; uspi_proto_next(file->bytes, &at, &field); from = at) {
        if (field.number == file->layout->dictionary) last = from;
    }
    return last;
}

static void put_file(struct writer *writer) {
    const struct usp_profile_file *file = writer->file;
    struct uspi_proto_field field;
    size_t from = 0;
    if (file->layout->dictionary == 0) {
        put_tables(writer, &writer->out, file->bytes);
        put_added(writer, &writer->out);
        return;
    }
    const size_t last = last_dictionary(file);
    for (size_t at = 0; uspi_proto_next(file->bytes, &at, &field); from = at) {
        if (field.number != file->layout->dictionary) {
            uspi_proto_put(&writer->out, file->bytes.bytes + from, at - from);
            continue;
        }
        put_tables(writer, &writer->tables, field.bytes);
        if (from == last) put_added(writer, &writer->tables);
        uspi_proto_put_message(&writer->out, field.number, &writer->tables);
    }
}

int usp_profile_file_write(const struct usp_profile_file *file, usp_write_function write, void *context) {
    char gathered[4096];
    struct writer writer = {.file = file};
    if (file == NULL || write == NULL) return USP_ERROR_ARGUMENT;
    if (file->saved != NULL) return USP_ERROR_UNSUPPORTED;
    if (file->damage != USP_OK) return file->damage;
    /* There are no more ids for new functions. */
    if (file->last_id > UINT64_MAX - file->functions.count - 1) return USP_ERROR_FORMAT;
    put_file(&writer);
    int status =
        writer.out.has_failed || writer.tables.has_failed || writer.message.has_failed || writer.inner.has_failed
            ? USP_ERROR_NO_MEMORY
            : USP_OK;
    if (status == USP_OK && file->was_packed) {
        struct uspi_text text = uspi_text_through(write, context, gathered, sizeof gathered);
        uspi_put_gzip(&text, (const uint8_t *)writer.out.out.bytes, writer.out.out.size);
        status = uspi_text_flush(&text);
    } else if (status == USP_OK) {
        status = write(context, writer.out.out.bytes, writer.out.out.size);
    }
    uspi_gathered_clear(&writer.out.out);
    uspi_gathered_clear(&writer.tables.out);
    uspi_gathered_clear(&writer.message.out);
    uspi_gathered_clear(&writer.inner.out);
    return status;
}
