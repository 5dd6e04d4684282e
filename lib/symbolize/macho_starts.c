/* SPDX-License-Identifier: MIT */
/* Where the functions of a Mach-O file begin, as a table without names: for whoever knows what stands at a place and not how
 * far it reaches, as the Objective-C runtime does. The index of the symbols has no such places: in it functions without a
 * name that follow each other are one gap. */
#include "lib/symbolize/macho_code.h"
#include "lib/symbolize/tables.h"

#include <stdlib.h>

struct starts {
    struct uspi_tables contract;
    struct uspi_macho macho;
};

static int gather(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    const struct starts *s = (const struct starts *)tables;
    struct uspi_macho_code code;
    int status = uspi_macho_code_read(&s->macho, &code);
    if (status != USP_OK) return status;
    usp_addr mask = s->macho.arch == USP_ARCH_ARMV7 ? ~(usp_addr)1 : ~(usp_addr)0;
    return uspi_macho_gather_functions(&s->macho, &code, mask, gathering);
}

static int get(const struct uspi_tables *tables, uint32_t number, struct uspi_names *names, struct uspi_named *named) {
    (void)tables, (void)number, (void)names;
    *named = (struct uspi_named){.start = named->start};
    return USP_OK;
}

/* A start that is told twice is one. */
static int prefer(const void *context, uint32_t a, uint32_t b) {
    (void)context;
    return a < b ? -1 : 1;
}

static void close_starts(struct uspi_tables *tables) { free(tables); }

int uspi_macho_starts_open(const struct uspi_macho *macho, struct uspi_tables **tables) {
    struct starts *s = calloc(1, sizeof *s);
    if (s == NULL) return USP_ERROR_NO_MEMORY;
    s->contract = (struct uspi_tables){gather, get, prefer, close_starts, sizeof *s};
    s->macho = *macho;
    *tables = &s->contract;
    return USP_OK;
}
