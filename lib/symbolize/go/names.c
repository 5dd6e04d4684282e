/* SPDX-License-Identifier: MIT */
/* See names.h. */
#include "lib/symbolize/go/names.h"

#include "lib/symbolize/lines/strings.h"

#include <string.h>

int uspi_go_gather(const struct uspi_go_table *table, uint32_t number, uint32_t most, uint32_t rank,
                   struct uspi_gathering *gathering) {
    struct uspi_go_function function;
    usp_addr start, end;
    if (table->count == 0) return USP_OK;
    if (gathering->excerpt != NULL && uspi_go_start(table, 0, &start)) uspi_excerpt_pass(gathering->excerpt, start);
    for (uint64_t i = 0; i < table->count && i <= most; i++) {
        if (!uspi_go_start(table, i, &start) || !uspi_go_start(table, i + 1, &end) || start >= end) continue;
        if (!uspi_gathering_wants(gathering, start, end) || !uspi_go_function(table, i, &function)) continue;
        const struct uspi_gathered_symbol candidate = {
            .start = start, .end = end, .symbol = number | (uint32_t)i, .rank = rank};
        int status = uspi_gather(gathering, &candidate);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

const char *uspi_go_name(const struct uspi_go_table *table, uint32_t number) {
    struct uspi_go_function function;
    if (!uspi_go_function(table, number, &function)) return "";
    const uint8_t *place = uspi_bytes_place(table->bytes);
    if (place == NULL || !uspi_text_need(table->bytes, function.name)) return "";
    return (const char *)place + (size_t)function.name;
}

int uspi_go_get(const struct uspi_go_table *table, uint32_t place, struct uspi_names *names,
                struct uspi_symbol_answer *named) {
    struct uspi_go_function function;
    const char *name = uspi_go_name(table, place);
    (void)names;
    if (name[0] == '\0' || !uspi_go_function(table, place, &function)) return USP_ERROR_NOT_FOUND;
    named->start = function.start;
    named->size = uspi_go_code_end(table, &function) - function.start;
    named->name = name;
    return USP_OK;
}
