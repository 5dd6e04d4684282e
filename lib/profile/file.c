/* SPDX-License-Identifier: MIT */
/* Gives what the tables of a profile have. See file.h. */
#include "lib/profile/file.h"

#include "lib/base/bisect.h"

/* Every sample can refer to the same stack and attributes. Of their fields no more than these are read, so that the time
 * is in proportion to the file. */
#define PASSED_MAX       4096u
#define ATTRIBUTE_FIELDS 64u

struct uspi_span uspi_file_bytes_at(const struct usp_profile_file *file, uint32_t at) {
    struct uspi_proto_field field;
    size_t here = at;
    (void)uspi_proto_next(file->bytes, &here, &field);
    return field.bytes;
}

struct uspi_span uspi_file_string(const struct usp_profile_file *file, uint64_t number) {
    if (number < file->string_count) return uspi_file_bytes_at(file, file->strings[number]);
    number -= file->string_count;
    return number < file->added_count ? file->added[number] : (struct uspi_span){"", 0};
}

uint32_t uspi_file_find(const struct usp_profile_file *file, const struct uspi_file_table *table, uint64_t id) {
    const uint64_t first = file->layout->mapping.id != 0 ? 1 : 0;
    size_t i;
    if (id == 0) return USPI_NONE;
    if (table->by_id == NULL) return id - first < table->count ? (uint32_t)(id - first) : USPI_NONE;
    USPI_FIRST(i, 0, table->count, table->by_id[i].id >= id);
    return i < table->count && table->by_id[i].id == id ? table->by_id[i].number : USPI_NONE;
}

bool uspi_file_next_number(struct uspi_file_numbers *numbers, uint64_t *value) {
    struct uspi_proto_field field;
    for (;;) {
        if (numbers->packed_at < numbers->packed.length) {
            if (uspi_proto_varint(numbers->packed, &numbers->packed_at, value)) return true;
            numbers->packed_at = numbers->packed.length;
        }
        if (numbers->passed == PASSED_MAX || !uspi_proto_next(numbers->message, &numbers->at, &field)) return false;
        *value = field.value;
        if (field.number == numbers->field && field.wire != USPI_PROTO_BYTES) return true;
        numbers->passed++;
        if (field.number != numbers->field) continue;
        numbers->packed = field.bytes;
        numbers->packed_at = 0;
    }
}

bool uspi_file_attribute(const struct usp_profile_file *file, uint64_t number, struct uspi_file_pair *pair) {
    enum { KEY = 1, VALUE, TEXT = 1, INTEGER = 3, TEXT_INDEX = 8 };
    struct uspi_proto_field field;
    struct uspi_span value = {"", 0};
    *pair = (struct uspi_file_pair){.key = {"", 0}, .text = {"", 0}};
    if (number >= file->attribute_count) return false;
    const struct uspi_span attribute = uspi_file_bytes_at(file, file->attributes[number]);
    for (size_t at = 0, i = 0; i < ATTRIBUTE_FIELDS && uspi_proto_next(attribute, &at, &field); i++) {
        if (field.number == KEY) pair->key = uspi_file_string(file, field.value);
        if (field.number == VALUE) value = field.bytes;
    }
    for (size_t at = 0, i = 0; i < ATTRIBUTE_FIELDS && uspi_proto_next(value, &at, &field); i++) {
        if (field.number == TEXT) pair->text = field.bytes;
        if (field.number == TEXT_INDEX) pair->text = uspi_file_string(file, field.value);
        if (field.number == INTEGER) pair->number = field.value;
    }
    return true;
}
