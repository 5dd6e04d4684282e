/* SPDX-License-Identifier: MIT */
/* See ends.h. */
#include "lib/symbolize/macho/ends.h"

#include "arch/any.h"

#include "lib/object/macho_symbols.h"

/* A usp_memory.read function; the context is the space. */
static int read_linked(void *context, usp_addr from, void *to, size_t n) {
    const struct uspi_macho_space *space = context;
    struct uspi_bytes bytes;
    int status = uspi_macho_space_at(space, from + space->slide, "code", &bytes, NULL);
    return status == USP_OK ? uspi_bytes_read(bytes, 0, to, n, "code", NULL) : status;
}

bool uspi_macho_has_starts(const struct uspi_macho *macho) {
    struct uspi_macho_starts starts;
    return uspi_macho_starts(macho, &starts, NULL) == USP_OK;
}

void uspi_macho_ends_init(struct uspi_macho_ends *ends, const struct uspi_macho *macho,
                          const struct uspi_macho_space *space, const struct uspi_macho_code *code, bool names_all) {
    const struct uspi_backend *backend = uspi_backend_any(macho->arch);
    *ends = (struct uspi_macho_ends){.code = code};
    if (names_all || space == NULL || backend == NULL || uspi_macho_has_starts(macho)) return;
    ends->space = space;
    /* A callback's context is not const, but read_linked only reads it. */
    ends->memory = (struct usp_memory){read_linked, (void *)(uintptr_t)space};
    uspi_code_init(&ends->instructions, backend, &ends->memory);
}

void uspi_macho_bound(struct uspi_macho_ends *ends, bool is_thumb, struct uspi_gathered_symbol *candidate) {
    const usp_addr start = candidate->start;
    candidate->end = start;
    if (ends->space == NULL) return;
    for (uint32_t i = 1; i < ends->code->count; i++) {
        if (!uspi_macho_code_holds(ends->code, i, start)) continue;
        candidate->end =
            uspi_reach(&ends->instructions, start, is_thumb ? USPI_MODE_THUMB : 0, ends->code->sections[i].high);
        break;
    }
    candidate->is_unsized = true;
}
