/* SPDX-License-Identifier: MIT */
/* The function starts of a Mach-O file as a table without names. Strategies such as the Objective-C runtime know what
 * begins at an address, but not how far it reaches. The index of symbols has no such starts: in it, consecutive
 * functions without names are one gap. */
#include "lib/symbolize/index/tables.h"
#include "lib/symbolize/macho/ends.h"

#include <stdlib.h>

struct starts {
    struct uspi_tables contract;
    struct uspi_macho macho;
};

static int gather_functions(const struct uspi_macho *macho, struct uspi_macho_ends *ends,
                            struct uspi_gathering *gathering) {
    const usp_addr mask = uspi_macho_address_mask(macho->arch);
    struct uspi_macho_next next = {.has_begun = false};
    usp_addr start;
    int status = USP_OK;
    for (uint32_t number = 0; status == USP_OK && uspi_macho_next_function(macho, &next, &start); number++) {
        if (number == USPI_NO_SYMBOL) break;
        struct uspi_gathered_symbol function = {.start = start & mask, .symbol = number};
        uspi_macho_bound(ends, (start & ~mask) != 0, &function);
        status = uspi_gather(gathering, &function);
    }
    return status;
}

static int gather(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    const struct starts *s = (const struct starts *)tables;
    struct uspi_macho_code code;
    struct uspi_macho_ends ends;
    struct uspi_macho_space space = {0};
    int status = uspi_macho_code_read(&s->macho, &code);
    if (status != USP_OK) return status;
    /* Unwind information alone has one entry for neighbours that are unwound alike. */
    const bool is_whole = uspi_macho_has_starts(&s->macho);
    if (!is_whole) status = uspi_macho_space_open(&space, &s->macho, NULL);
    if (status == USP_ERROR_NO_MEMORY) return status;
    uspi_macho_ends_init(&ends, &s->macho, &space, &code, is_whole);
    status = gather_functions(&s->macho, &ends, gathering);
    uspi_macho_space_close(&space);
    return status == USP_OK ? uspi_macho_gather_ends(&code, gathering) : status;
}

static int get(const struct uspi_tables *tables, uint32_t number, struct uspi_names *names,
               struct uspi_symbol_answer *named) {
    (void)tables, (void)number, (void)names;
    *named = (struct uspi_symbol_answer){.start = named->start};
    return USP_OK;
}

/* A start that is listed twice is one function. */
static int prefer(const void *context, uint32_t a, uint32_t b) {
    (void)context;
    return a < b ? -1 : 1;
}

static void close_starts(struct uspi_tables *tables) { free(tables); }

int uspi_macho_starts_open(const struct uspi_macho *macho, struct uspi_tables **tables) {
    struct starts *s = calloc(1, sizeof *s);
    if (s == NULL) return USP_ERROR_NO_MEMORY;
    s->contract = (struct uspi_tables){
        .gather = gather, .get = get, .prefer = prefer, .close = close_starts, .memory = sizeof *s};
    s->macho = *macho;
    *tables = &s->contract;
    return USP_OK;
}
