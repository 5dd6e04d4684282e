/* SPDX-License-Identifier: MIT */
/* From a row of call frame information to an unwind rule; see dwarf_row.h. */
#include "lib/unwind/tables/dwarf_row.h"
#include "lib/unwind/tables/table.h"

static struct uspi_location location_of(const struct uspi_dwarf_place *place) {
    struct uspi_location at = {.base = USPI_BASE_CFA, .offset = place->offset};
    switch (place->how) {
    case USPI_DWARF_AT_CFA: at.kind = USPI_MEMORY; break;
    case USPI_DWARF_IS_CFA: at.kind = USPI_REGISTER; break;
    case USPI_DWARF_IN_REGISTER: return (struct uspi_location){.kind = USPI_REGISTER, .base = (uint8_t)place->offset};
    case USPI_DWARF_EXPRESSION:
    case USPI_DWARF_VALUE_EXPRESSION:
        at.kind = place->how == USPI_DWARF_EXPRESSION ? USPI_EXPRESSION : USPI_VALUE_EXPRESSION;
        at.addend = (int32_t)place->length;
        break;
    default: return (struct uspi_location){.kind = USPI_LOST};
    }
    return at;
}

static bool keeps_its_value(const struct uspi_dwarf_place *place) {
    return place->how == USPI_DWARF_UNSPECIFIED || place->how == USPI_DWARF_SAME;
}

/* Where nothing is said of the return address, it is in the register whose column it has: a link register that was not
 * saved yet. On x86 its column is no register that code could leave it in. */
static int find_return_address(const struct uspi_backend *b, unsigned column, const struct uspi_dwarf_place *place,
                               struct uspi_location *at) {
    if (!keeps_its_value(place)) {
        *at = location_of(place);
        if (place->how == USPI_DWARF_UNDEFINED) at->kind = USPI_OUTERMOST;
        return USP_OK;
    }
    if (column >= b->register_count || column == b->pc) return USP_ERROR_FORMAT;
    *at = (struct uspi_location){.kind = USPI_REGISTER, .base = (uint8_t)column};
    return USP_OK;
}

/* A link register is saved in the frame of the function that was called. Where a table has its slot at the CFA or above, the
 * frame reaches further than the table says, by what code before the table's has pushed: so does glibc's _dl_runtime_resolve
 * for arm64, for which the procedure linkage table has saved lr (sysdeps/aarch64/dl-trampoline.S). The caller's sp is then
 * the next one above the slot that a stack pointer can be. */
static void raise_sp(const struct uspi_backend *b, struct uspi_rule *rule) {
    const struct uspi_location *ra = &rule->return_address;
    const int32_t align = 2 * b->slot;
    if (b->lr == USPI_NO_REGISTER || ra->kind != USPI_MEMORY || ra->base != USPI_BASE_CFA || ra->offset < 0) return;
    for (unsigned i = 0; i < rule->saved_count; i++) {
        if (rule->saved[i].reg == b->sp) return;
    }
    if (ra->offset > INT32_MAX - 2 * align) return;
    int32_t end = ra->offset + b->slot;
    uspi_rule_add(rule, b->sp, uspi_in_register(USPI_BASE_CFA, (end + align - 1) / align * align));
}

int uspi_dwarf_rule(const struct uspi_dwarf_section *section, const struct uspi_dwarf_cie *cie,
                    const struct uspi_dwarf_row *row, struct uspi_rule *rule) {
    const struct uspi_backend *b = section->backend;
    unsigned return_column = uspi_dwarf_column(section, cie, cie->return_column);
    memset(rule, 0, sizeof *rule);
    if (!row->cfa_is_known) return USP_ERROR_FORMAT;
    rule->expressions = section->bytes.from;
    rule->signal_frame = cie->is_signal_frame;
    if (row->cfa_is_expression) {
        rule->cfa = (struct uspi_location){USPI_VALUE_EXPRESSION, 0, row->cfa_offset, (int32_t)row->cfa_length};
    } else {
        rule->cfa = (struct uspi_location){USPI_REGISTER, row->cfa_register, row->cfa_offset, 0};
    }
    int status = find_return_address(b, return_column, &row->places[return_column], &rule->return_address);
    for (unsigned reg = 0; reg < b->register_count && status == USP_OK; reg++) {
        const struct uspi_dwarf_place *place = &row->places[reg];
        bool is_saved = (b->callee_saved >> reg & 1) != 0;
        if (reg == b->pc || reg == return_column) continue;
        if (!keeps_its_value(place)) {
            /* Nothing is said of other registers unless they are known; the CFA is the caller's sp unless there is more. */
            if (is_saved || place->how != USPI_DWARF_UNDEFINED) uspi_rule_add(rule, reg, location_of(place));
        } else if (!is_saved && reg != b->sp && place->how == USPI_DWARF_SAME) {
            uspi_rule_add(rule, reg, (struct uspi_location){.kind = USPI_REGISTER, .base = (uint8_t)reg});
        }
    }
    if (status == USP_OK) raise_sp(b, rule);
    return status;
}
