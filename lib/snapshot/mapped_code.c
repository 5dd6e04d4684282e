/* SPDX-License-Identifier: MIT */
/* See mapped_code.h. */
#include "lib/snapshot/mapped_code.h"

#include "lib/base/array.h"
#include "lib/unwind/tables/image_tables.h"

#include <stdlib.h>

static int add(void *context, usp_addr low, uint64_t size) {
    struct uspi_mapped_code *code = context;
    if (!uspi_room_for(&code->list, &code->capacity, code->count, 1, sizeof *code->list)) return USP_ERROR_NO_MEMORY;
    code->list[code->count++] = (struct usp_memory_range){low, size};
    return USP_OK;
}

static bool is_mapped(const struct uspi_mapped_code *code, usp_addr address) {
    for (size_t i = 0; i < code->count; i++) {
        if (address - code->list[i].address < code->list[i].size) return true;
    }
    return false;
}

/* Implements usp_target.image_at. */
static int region_at(void *context, usp_addr pc, struct usp_region *region) {
    struct uspi_mapped_code *code = context;
    uint8_t byte;
    const int status = uspi_image_tables_region_at(code->tables, pc, region);
    /* A return address can be the first one past its mapping, if the call never returns. */
    if (status != USP_ERROR_ABSENT || code->live.read(code->live.context, pc - 1, &byte, 1) == 0) return status;
    if (!code->is_listed) {
        code->is_listed = true;
        code->count = 0;
        if (uspi_os_mapped_memory(code->pid, add, code) != USP_OK) code->count = 0;
    }
    return code->count > 0 && !is_mapped(code, pc - 1) ? USP_ERROR_NOT_FOUND : status;
}

/* Implements usp_target.unwind_tables_at. */
static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    return uspi_image_tables_at(((struct uspi_mapped_code *)context)->tables, pc, tables);
}

void uspi_mapped_code_describe(struct uspi_mapped_code *code, struct usp_target *target) {
    if (code->tables == NULL) return;
    target->image_at = region_at;
    target->unwind_tables_at = tables_at;
    target->context = code;
}

void uspi_mapped_code_renew(struct uspi_mapped_code *code) { code->is_listed = false; }

void uspi_mapped_code_freeze(struct uspi_mapped_code *code) { code->is_listed = true; }

void uspi_mapped_code_clear(struct uspi_mapped_code *code) {
    free(code->list);
    *code = (struct uspi_mapped_code){.tables = NULL};
}
