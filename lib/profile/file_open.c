/* SPDX-License-Identifier: MIT */
/* Opens profiles of pprof and OTLP. See file.h. */
#include "lib/images/decompress.h"
#include "lib/profile/file.h"

#include <stdio.h>

/* Maximum size of a profile, decompressed. Positions in it have 32 bits. */
#define SIZE_LIMIT ((size_t)1 << 30)

/* A gzip file may grow by this factor beyond the size that any may have, so that a small one does not take all memory. */
#define GROWTH_MAX ((size_t)64)
#define GROWN_FREE ((size_t)64 << 20)

static int fail(char *error, size_t size, int status, const char *text) {
    if (error != NULL && size > 0) snprintf(error, size, "%s", text);
    return status;
}

/* Decompresses the file if it is in gzip format. */
static int unpack(struct usp_profile_file *file, char *error, size_t error_size) {
    size_t size;
    const uint8_t *bytes = (const uint8_t *)file->bytes.bytes;
    file->was_packed = file->bytes.length >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
    if (file->was_packed) {
        const size_t n = file->bytes.length;
        const size_t limit = n < (SIZE_LIMIT - GROWN_FREE) / GROWTH_MAX ? GROWN_FREE + n * GROWTH_MAX : SIZE_LIMIT;
        const int status = uspi_decompress_gzip(bytes, n, limit, &file->unpacked, &size);
        if (status == USP_ERROR_FORMAT)
            return fail(error, error_size, status, "its gzip data is damaged or cut off, or grows too much");
        if (status == USP_ERROR_UNSUPPORTED)
            return fail(error, error_size, status, "it is compressed, and the library zlib is missing");
        if (status != USP_OK) return fail(error, error_size, status, usp_status_string(status));
        file->bytes = (struct uspi_span){(const char *)file->unpacked, size};
    }
    if (file->bytes.length > SIZE_LIMIT)
        return fail(error, error_size, USP_ERROR_FORMAT, "a profile of pprof or OTLP can have up to 1 GB");
    return USP_OK;
}

int usp_profile_file_may_be(const void *bytes, size_t n) {
    static const char wires[] = "BBBBBBVVVVBVNVV"; /* of pprof; those that OTLP has are the same */
    const struct uspi_span head = {bytes, bytes != NULL ? n : 0};
    const uint8_t *const first = bytes;
    uint64_t tag, value;
    bool is_known = false;
    if (head.length >= 2 && first[0] == 0x1f && first[1] == 0x8b) return 1;
    if (uspi_file_may_be_saved(head)) return 1;
    for (size_t at = 0; uspi_proto_varint(head, &at, &tag);) {
        const uint64_t number = tag >> 3, wire = tag & 7;
        const char known = number == 0 ? '?' : number < sizeof wires ? wires[number - 1] : 'A';
        const bool is_bytes = wire == USPI_PROTO_BYTES, is_number = wire == USPI_PROTO_VARINT;
        const bool is_fixed = wire == USPI_PROTO_FIXED64 || wire == USPI_PROTO_FIXED32;
        /* A file that is damaged later is read up to there. */
        if (!is_bytes && !is_number && !is_fixed) return is_known;
        if (known == '?' || number > UINT64_C(1) << 29 || (is_fixed && known != 'A')) return 0;
        if ((known == 'B' && !is_bytes) || (known == 'V' && !is_number)) return 0;
        is_known = true;
        if (is_fixed) value = wire == USPI_PROTO_FIXED64 ? 8 : 4;
        if (!is_fixed && !uspi_proto_varint(head, &at, &value)) break;
        if (is_number) continue;
        if (value > head.length - at) break;
        at += (size_t)value;
    }
    return head.length > 0;
}

/* Whether a table has as many items as one can have. */
static bool is_full(const struct usp_profile_file *file) {
    const size_t stacks = file->saved != NULL ? file->saved->node_count : 0;
    return file->mappings.count >= USPI_FILE_ITEMS_MAX || file->locations.count >= USPI_FILE_ITEMS_MAX ||
           file->functions.count >= USPI_FILE_ITEMS_MAX || stacks >= USPI_FILE_ITEMS_MAX;
}

int usp_profile_file_open(const void *bytes, size_t n, struct usp_profile_file **file, char *error, size_t error_size) {
    if (error != NULL && error_size > 0) error[0] = '\0';
    if (file == NULL || (bytes == NULL && n > 0)) return USP_ERROR_ARGUMENT;
    *file = NULL;
    struct usp_profile_file *made = calloc(1, sizeof *made);
    if (made == NULL) return fail(error, error_size, USP_ERROR_NO_MEMORY, usp_status_string(USP_ERROR_NO_MEMORY));
    made->bytes = (struct uspi_span){bytes, n};
    made->allowance.limit = UINT64_MAX;
    uspi_region_begin(&made->region, SIZE_MAX);
    int status = unpack(made, error, error_size);
    if (status == USP_OK) {
        status = uspi_file_may_be_saved(made->bytes) ? uspi_file_read_saved(made) : uspi_file_read(made);
        if (status == USP_ERROR_FORMAT) fail(error, error_size, status, "not a recording in a format that is known");
        if (status == USP_ERROR_NO_MEMORY && is_full(made)) status = USP_ERROR_UNSUPPORTED;
        if (status == USP_ERROR_NO_MEMORY) fail(error, error_size, status, usp_status_string(status));
        if (status == USP_ERROR_UNSUPPORTED)
            fail(error, error_size, status,
                 "a profile can have up to 4,194,304 mappings, locations, functions and stacks each");
    }
    if (status != USP_OK) {
        usp_profile_file_free(made);
        return status;
    }
    *file = made;
    return USP_OK;
}

static void free_table(struct uspi_file_table *table) {
    free(table->items);
    free(table->by_id);
}

void usp_profile_file_free(struct usp_profile_file *file) {
    if (file == NULL) return;
    free_table(&file->mappings);
    free_table(&file->locations);
    free_table(&file->functions);
    uspi_saved_free(file->saved);
    free(file->lines);
    free(file->strings);
    free(file->stacks);
    free(file->attributes);
    free(file->added);
    free(file->unpacked);
    uspi_region_free(&file->region);
    uspi_pool_free(&file->images_made);
    uspi_pool_free(&file->places);
    usp_images_free(file->images);
    free(file);
}

void usp_profile_file_get_info(const struct usp_profile_file *file, struct usp_profile_file_info *info) {
    if (info == NULL) return;
    *info = (struct usp_profile_file_info){.format = 0};
    if (file == NULL) return;
    *info = (struct usp_profile_file_info){.format = file->layout->format,
                                           .damage = file->damage,
                                           .read = file->read,
                                           .mappings = file->mappings.count,
                                           .locations = file->locations.count,
                                           .functions = file->known_functions,
                                           .named = file->named,
                                           .found = file->found,
                                           .program = file->saved != NULL ? file->saved->program : NULL};
}
