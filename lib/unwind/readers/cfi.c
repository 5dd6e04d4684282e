/* SPDX-License-Identifier: MIT */
/* Call frame information as an unwind table: .eh_frame, .debug_frame and Mach-O's __eh_frame.
 *
 * For every instruction of the code that they describe, these tables say how the CFA follows from a register, and where
 * from the CFA the return address and the caller's registers are:
 *
 *     CFA = register + offset        return address = [CFA + a]        register of the caller = [CFA + b], or itself
 *
 * Not every compiler describes every instruction: Apple's leave out how a frame is undone, and say of a prologue only what
 * holds at its end, as LLVM does on arm64 when it is to write little; clang for i386 leaves out that a callee has just taken
 * its arguments off the stack, and describes some pushes late. */
#include "lib/unwind/readers/table.h"
#include "lib/unwind/tables/dwarf_find.h"
#include "lib/unwind/tables/dwarf_row.h"

/* Whether the rule leads behind a call. Between the pushes for a call clang for i386 puts spills, and describes the last push
 * behind them. */
static bool leads_to_call(struct uspi_evidence *e, const struct uspi_rule *rule) {
    struct uspi_applied applied;
    return uspi_apply_rule(e->walk, e->frame, rule, &applied) &&
           uspi_judge_return_address(e->walk, &e->aside, applied.return_address).credit == USPI_VERIFIED;
}

/* Instructions are counted over so many bytes. Longer functions are rare. */
#define COUNTED_MAX 65536u

/* Whether the frame stands behind a call. Bytes that end like one need not be one ("ff 90 90 90 90 90" in front of a loop is
 * the end of an instruction and padding): the instructions from the function's start on decide. */
static bool stands_behind_call(struct uspi_code *code, usp_addr start, usp_addr pc) {
    struct uspi_instruction i = {0};
    usp_addr target, at = start;
    if (uspi_code_call_before(code, pc, false, &target) != USPI_CALL_BEFORE) return false;
    if (pc - start > COUNTED_MAX) return true;
    for (; at < pc; at += i.length) {
        if (!uspi_code_decode(code, at, 0, &i)) return true;
    }
    return at != pc || i.flow == USPI_CALL;
}

/* Whether the rule may leave out what the instructions know. */
static bool is_body_only(struct uspi_evidence *e, enum uspi_dwarf_extent extent, usp_addr start,
                         const struct uspi_rule *rule) {
    const struct uspi_walk *walk = e->walk;
    /* A signal's frame is described for where its code is called from, and its rule holds beside that too: registers that
     * stay what they are until the handler returns lead to it. */
    if (rule->signal_frame) return false;
    if (walk->target.os == USP_OS_DARWIN) return true;
    if (!e->frame->exact || rule->return_address.kind == USPI_OUTERMOST) return false;
    /* An expression counts from where the pc is: a linkage table's entries are described by one. */
    if (rule->cfa.kind == USPI_VALUE_EXPRESSION) return false;
    if (extent != USPI_DWARF_WHOLE) return true;
    if (walk->backend->arch != USP_ARCH_I386) return false;
    return stands_behind_call(&e->aside, start, uspi_pc_of(walk, e->frame)) || !leads_to_call(e, rule);
}

static enum uspi_described answer_of(int status) {
    if (status == USP_OK) return USPI_DESCRIBED;
    return status == USP_ERROR_FORMAT || status == USP_ERROR_TRUNCATED ? USPI_TABLE_CORRUPT : USPI_NOT_DESCRIBED;
}

/* A function of its own, so that a row takes no stack while the rule is followed. */
static __attribute__((noinline)) int find_rule(const struct uspi_dwarf_section *section,
                                               const struct uspi_dwarf_fde *fde, usp_addr pc, struct uspi_rule *rule) {
    struct uspi_dwarf_row row;
    int status = uspi_dwarf_row(section, fde, pc, &row);
    return status == USP_OK ? uspi_dwarf_rule(section, &fde->cie, &row, rule) : status;
}

/* The rule at a frame's pc, by the FDE that holds it. */
static int describe_frame(struct uspi_evidence *e, const struct uspi_dwarf_section *section,
                          const struct uspi_dwarf_fde *fde, struct uspi_description *d) {
    d->entry = (struct uspi_table_entry){.start = fde->start, .end = fde->end};
    int status = find_rule(section, fde, uspi_lookup_pc(e->walk, e->frame), &d->entry.rule);
    if (status != USP_OK) return status;
    enum uspi_dwarf_extent extent = e->frame->exact ? uspi_dwarf_extent(section, fde) : USPI_DWARF_WHOLE;
    d->is_body_only = is_body_only(e, extent, fde->start, &d->entry.rule);
    if (extent == USPI_DWARF_PART) d->entry.start = 0;
    return USP_OK;
}

static int init_image(struct uspi_evidence *e, const struct usp_unwind_tables *tables, struct uspi_dwarf_image *image) {
    const struct uspi_walk *walk = e->walk;
    return uspi_dwarf_image_init(image, tables, uspi_table_memory(walk), walk->backend, walk->target.os);
}

void uspi_describe_by_fde(struct uspi_evidence *e, uint64_t offset, struct uspi_description *d) {
    struct uspi_dwarf_image image;
    struct uspi_dwarf_entry entry;
    struct uspi_dwarf_fde fde;
    const usp_addr pc = uspi_lookup_pc(e->walk, e->frame);
    int status = init_image(e, uspi_unwind_tables_of(e->walk, e->frame), &image);
    if (status == USP_OK && !image.has_eh) status = USP_ERROR_NOT_FOUND;
    if (status == USP_OK) status = uspi_dwarf_entry(&image.eh, offset, &entry);
    if (status == USP_OK) status = uspi_dwarf_fde(&image.eh, &entry, &fde);
    if (status == USP_OK && (pc < fde.start || pc >= fde.end)) status = USP_ERROR_NOT_FOUND;
    if (status == USP_OK) status = describe_frame(e, &image.eh, &fde, d);
    d->answer = answer_of(status);
}

void uspi_describe_by_cfi(struct uspi_evidence *e, struct uspi_description *d) {
    struct uspi_dwarf_image image;
    const struct uspi_dwarf_section *section;
    struct uspi_dwarf_fde fde;
    const struct usp_unwind_tables *tables = uspi_unwind_tables_of(e->walk, e->frame);
    if (tables == NULL) return;
    int status = init_image(e, tables, &image);
    if (status == USP_OK) status = uspi_dwarf_find(&image, uspi_lookup_pc(e->walk, e->frame), &section, &fde);
    if (status == USP_OK) status = describe_frame(e, section, &fde, d);
    d->answer = answer_of(status);
}
