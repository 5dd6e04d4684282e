/* SPDX-License-Identifier: MIT */
/* Makes an unwind rule of a row of call frame information. See dwarf_row.h. */
#include "lib/unwind/tables/dwarf_row.h"
#include "lib/unwind/tables/table.h"

static struct uspi_location location_of(const struct uspi_dwarf_recovery *place) {
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

static bool keeps_its_value(const struct uspi_dwarf_recovery *place) {
    return place->how == USPI_DWARF_UNSPECIFIED || place->how == USPI_DWARF_SAME;
}

/* Finds the location of the return address. If the row does not describe it, it is in the register that has its column:
 * a link register that was not saved yet. On x86 the column is not a register in which code could leave it, so the row
 * is wrong. */
static int find_return_address(const struct uspi_backend *b, unsigned column, const struct uspi_dwarf_recovery *place,
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

/* Adds the caller's sp to a rule if the slot of the link register is at the CFA or above. The callee saves the link
 * register in its own frame. So the frame then extends above the table's CFA, by what code before the described code
 * has pushed. An example is glibc's _dl_runtime_resolve for arm64, for which the procedure linkage table has saved lr
 * (sysdeps/aarch64/dl-trampoline.S). The caller's sp is the lowest aligned address above the slot. */
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
        const struct uspi_dwarf_recovery *place = &row->places[reg];
        bool is_saved = (b->callee_saved >> reg & 1) != 0;
        if (reg == b->pc || reg == return_column) continue;
        if (!keeps_its_value(place)) {
            /* Registers that are not callee-saved are added only if the row states where they are. sp is added only if
             * it is not the CFA. */
            if (is_saved || place->how != USPI_DWARF_UNDEFINED) uspi_rule_add(rule, reg, location_of(place));
        } else if (!is_saved && reg != b->sp && place->how == USPI_DWARF_SAME) {
            uspi_rule_add(rule, reg, (struct uspi_location){.kind = USPI_REGISTER, .base = (uint8_t)reg});
        }
    }
    if (status == USP_OK) raise_sp(b, rule);
    return status;
}
