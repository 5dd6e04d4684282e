/* SPDX-License-Identifier: MIT */
/* See macho_symbols.h. */
#include "lib/object/macho_symbols.h"

#include <inttypes.h>
#include <string.h>

/* Offsets of fields in symtab_command, dysymtab_command, linkedit_data_command. */
#define SYMTAB_SIZE     24
#define DYSYMTAB_SIZE   80
#define INDIRECT_OFFSET 56
#define LINKEDIT_SIZE   16

int uspi_macho_symbols(const struct uspi_macho *macho, struct uspi_macho_symbols *symbols, struct uspi_error *error) {
    struct uspi_macho_command command;
    uint8_t raw[SYMTAB_SIZE];
    int status = uspi_macho_find(macho, USPI_LC_SYMTAB, &command, error);
    if (status == USP_OK) status = uspi_bytes_read(command.bytes, 0, raw, sizeof raw, "symbol table command", error);
    if (status != USP_OK) return status;
    *symbols = (struct uspi_macho_symbols){.count = uspi_le32(raw + 12), .wide = macho->wide};
    if (symbols->count == 0) {
        return uspi_bytes_error(error, macho->bytes, 0, USP_ERROR_NOT_FOUND, "the symbol table is empty");
    }
    if (symbols->count > USPI_SYMBOLS_MAX) {
        return uspi_bytes_error(error, macho->bytes, 0, USP_ERROR_FORMAT, "%" PRIu64 " symbols are too many",
                                symbols->count);
    }
    status = uspi_macho_part(macho, uspi_le32(raw + 8), symbols->count * uspi_macho_sizes(macho->wide).symbol,
                             "symbol table", &symbols->entries, error);
    if (status != USP_OK) return status;
    return uspi_macho_part(macho, uspi_le32(raw + 16), uspi_le32(raw + 20), "names of symbols", &symbols->strings,
                           error);
}

int uspi_macho_symbol(const struct uspi_macho_symbols *symbols, uint64_t i, struct uspi_macho_symbol *symbol,
                      struct uspi_error *error) {
    struct uspi_piece piece;
    const size_t size = uspi_macho_sizes(symbols->wide).symbol;
    if (i >= symbols->count) {
        return uspi_bytes_error(error, symbols->entries, 0, USP_ERROR_NOT_FOUND, "no symbol %llu",
                                (unsigned long long)i);
    }
    int status = uspi_bytes_piece(symbols->entries, i * size, size, &piece, "symbol", error);
    if (status != USP_OK) return status;
    const uint8_t *raw = piece.at;
    symbol->name = uspi_le32(raw);
    symbol->type = raw[4];
    symbol->section = raw[5];
    symbol->description = uspi_le16(raw + 6);
    symbol->value = uspi_le(raw + 8, symbols->wide ? 8 : 4);
    return USP_OK;
}

const char *uspi_macho_name_beginning(const struct uspi_macho_symbols *symbols, uint32_t name,
                                      char buffer[USPI_MACHO_NAME_BEGINNING]) {
    const char *in_place = uspi_bytes_string_in_place(symbols->strings, name);
    if (in_place != NULL) return in_place;
    buffer[0] = '\0';
    int status = uspi_bytes_string(symbols->strings, name, buffer, USPI_MACHO_NAME_BEGINNING, "name", NULL);
    return status == USP_OK || status == USP_ERROR_FULL ? buffer : "";
}

int uspi_macho_compare_names(const char *a, const char *b) {
    size_t i = 0;
    while (i + 1 < USPI_MACHO_NAME_COMPARED && a[i] == b[i] && a[i] != '\0') i++;
    return (unsigned char)a[i] - (unsigned char)b[i];
}

int uspi_macho_indirect_symbols(const struct uspi_macho *macho, struct uspi_bytes *table, struct uspi_error *error) {
    struct uspi_macho_command command;
    uint8_t raw[DYSYMTAB_SIZE];
    int status = uspi_macho_find(macho, USPI_LC_DYSYMTAB, &command, error);
    if (status == USP_OK) status = uspi_bytes_read(command.bytes, 0, raw, sizeof raw, "dynamic symbols command", error);
    if (status != USP_OK) return status;
    uint64_t size = UINT64_C(4) * uspi_le32(raw + INDIRECT_OFFSET + 4);
    return uspi_macho_part(macho, uspi_le32(raw + INDIRECT_OFFSET), size, "indirect symbol table", table, error);
}

int uspi_macho_starts(const struct uspi_macho *macho, struct uspi_macho_starts *starts, struct uspi_error *error) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_macho_command command;
    uint8_t raw[LINKEDIT_SIZE];
    int status = uspi_macho_find(macho, USPI_LC_FUNCTION_STARTS, &command, error);
    if (status == USP_OK) status = uspi_bytes_read(command.bytes, 0, raw, sizeof raw, "function starts command", error);
    if (status != USP_OK) return status;
    *starts = (struct uspi_macho_starts){0};
    status = uspi_macho_part(macho, uspi_le32(raw + 8), uspi_le32(raw + 12), "function starts", &starts->bytes, error);
    if (status != USP_OK) return status;
    int got;
    while ((got = uspi_macho_next_segment(macho, &cursor, &segment, error)) > 0) {
        if (strcmp(segment.name, "__TEXT") != 0) continue;
        /* The first number is an offset from here, each of the others from the address before it. */
        starts->address = segment.address;
        return USP_OK;
    }
    if (got < 0) return got;
    return uspi_bytes_error(error, macho->bytes, 0, USP_ERROR_NOT_FOUND, "no segment __TEXT");
}

int uspi_macho_next_start(struct uspi_macho_starts *starts, usp_addr *address, struct uspi_error *error) {
    uint64_t delta, offset = starts->offset;
    if (offset >= starts->bytes.size) return 0;
    int status = uspi_bytes_uleb(starts->bytes, &offset, &delta, "function start", error);
    if (status != USP_OK) return status;
    /* Zeros pad the table. */
    if (delta == 0) return 0;
    if (!uspi_sum(starts->address, delta, &starts->address)) {
        return uspi_bytes_error(error, starts->bytes, starts->offset, USP_ERROR_FORMAT,
                                "a function start wraps around the address space");
    }
    starts->offset = offset;
    *address = starts->address;
    return 1;
}
