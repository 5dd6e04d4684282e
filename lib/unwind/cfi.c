/* SPDX-License-Identifier: MIT */
/* The reader of DWARF call frame information: .eh_frame, .debug_frame and Mach-O's __eh_frame.
 *
 * For every instruction of the code that they describe, these tables say how the CFA follows from a register, and where
 * from the CFA the return address and the caller's registers are:
 *
 *     CFA = register + offset        return address = [CFA + a]        register of the caller = [CFA + b], or itself */
#include "lib/unwind/dwarf_find.h"
#include "lib/unwind/dwarf_row.h"
#include "lib/unwind/reader.h"

/* The rule at a frame's pc. USP_ERROR_NOT_FOUND when nothing describes it. */
static int find_rule(const struct uspi_walk *walk, const struct usp_unwind_tables *tables, usp_addr pc,
                     struct uspi_rule *rule) {
    struct uspi_dwarf_image image;
    const struct uspi_dwarf_section *section;
    struct uspi_dwarf_fde fde;
    struct uspi_dwarf_row row;
    int status = uspi_dwarf_image_init(&image, tables, uspi_table_memory(walk), walk->backend, walk->target.os);
    if (status == USP_OK) status = uspi_dwarf_find(&image, pc, &section, &fde);
    if (status == USP_OK) status = uspi_dwarf_row(section, &fde, pc, &row);
    return status == USP_OK ? uspi_dwarf_rule(section, &fde.cie, &row, rule) : status;
}

enum uspi_answer uspi_read_cfi(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                               struct uspi_answer_data *out) {
    struct uspi_rule rule;
    const struct usp_unwind_tables *tables = uspi_unwind_tables_of(walk, frame);
    if (tables == NULL) return USPI_NOT_MINE;
    switch (find_rule(walk, tables, uspi_lookup_pc(walk, frame), &rule)) {
    case USP_OK: return uspi_follow_table_rule(walk, frame, &rule, USP_METHOD_CFI, out);
    case USP_ERROR_FORMAT:
    case USP_ERROR_TRUNCATED: return USPI_CORRUPT;
    default: return USPI_NOT_MINE;
    }
}
