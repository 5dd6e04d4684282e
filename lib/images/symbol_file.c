/* SPDX-License-Identifier: MIT */
/* See symbol_file.h. */
#include "lib/images/symbol_file.h"

#include "lib/object/breakpad.h"
#include "lib/object/gsym.h"
#include "lib/object/macho.h"

#include <string.h>

_Static_assert(USPI_GSYM_UUID_MAX <= USP_BUILD_ID_MAX, "the UUID of a GSYM file is a build-id");

bool uspi_symbol_file_is(struct uspi_bytes bytes) { return uspi_gsym_is(bytes) || uspi_breakpad_is(bytes); }

int uspi_symbol_file_open(struct uspi_symbol_file *symbols, struct uspi_bytes bytes, struct uspi_error *error) {
    memset(symbols, 0, sizeof *symbols);
    if (uspi_gsym_is(bytes)) {
        struct uspi_gsym gsym;
        int status = uspi_gsym_open(&gsym, bytes, error);
        if (status != USP_OK) return status;
        symbols->build_id_size = gsym.uuid_size;
        memcpy(symbols->build_id, gsym.uuid, gsym.uuid_size);
        /* GSYM does not give the image's format. Few ELF files have a build id of 16 bytes. */
        symbols->is_macho = gsym.uuid_size == USPI_UUID_SIZE;
        return USP_OK;
    }
    struct uspi_breakpad breakpad;
    int status = uspi_breakpad_open(&breakpad, bytes, error);
    if (status != USP_OK) return status;
    symbols->is_macho = breakpad.is_macho;
    symbols->arch = breakpad.arch;
    symbols->variant = breakpad.variant;
    symbols->build_id_size = breakpad.build_id_size;
    memcpy(symbols->build_id, breakpad.build_id, breakpad.build_id_size);
    return USP_OK;
}

int uspi_symbol_file_judge(const struct usp_image *image, struct uspi_bytes bytes, struct uspi_error *error) {
    struct uspi_symbol_file symbols;
    int status = uspi_symbol_file_open(&symbols, bytes, error);
    if (status != USP_OK) return status;
    const bool is_its = symbols.build_id_size == image->build_id_size &&
                        memcmp(symbols.build_id, image->build_id, image->build_id_size) == 0;
    if (is_its) return USP_OK;
    return uspi_error_set(error, USP_ERROR_MISMATCH, "%s: the symbols of another build", bytes.source->name);
}

/* Extends the range *low … *high − 1 by a function from `start` up to `end`. end == start: the size is unknown, and one
 * byte counts. */
static void include(usp_addr start, usp_addr end, usp_addr *low, usp_addr *high) {
    if (end == start && end != UINT64_MAX) end++;
    if (start < *low) *low = start;
    if (end > *high) *high = end;
}

static int gsym_extent(struct uspi_bytes bytes, usp_addr *header, usp_addr *low, usp_addr *high,
                       struct uspi_error *error) {
    struct uspi_gsym gsym;
    struct uspi_gsym_function function;
    int status = uspi_gsym_open(&gsym, bytes, error);
    if (status != USP_OK) return status;
    *header = gsym.base;
    for (uint32_t i = 0; i < gsym.count; i++) {
        if (uspi_gsym_function(&gsym, i, &function)) include(function.start, function.start + function.size, low, high);
    }
    return USP_OK;
}

static int breakpad_extent(struct uspi_bytes bytes, usp_addr *low, usp_addr *high, struct uspi_error *error) {
    struct uspi_breakpad breakpad;
    struct uspi_breakpad_record record;
    int status = uspi_breakpad_open(&breakpad, bytes, error);
    if (status != USP_OK) return status;
    for (size_t at = breakpad.first; uspi_breakpad_next(&breakpad, &at, &record);) {
        if (record.kind == USPI_BREAKPAD_FUNC || record.kind == USPI_BREAKPAD_PUBLIC)
            include(record.address, record.address + record.size, low, high);
    }
    return USP_OK;
}

int uspi_symbol_file_extent(struct uspi_bytes bytes, usp_addr *header, usp_addr *low, usp_addr *high,
                            struct uspi_error *error) {
    *header = 0;
    *low = UINT64_MAX;
    *high = 0;
    int status =
        uspi_gsym_is(bytes) ? gsym_extent(bytes, header, low, high, error) : breakpad_extent(bytes, low, high, error);
    if (status != USP_OK || *low < *high) return status;
    return uspi_bytes_error(error, bytes, 0, USP_ERROR_NOT_FOUND, "no functions in it");
}
