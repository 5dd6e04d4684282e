/* SPDX-License-Identifier: MIT */
/* Call frame information as an unwind table: .eh_frame, .debug_frame and Mach-O's __eh_frame.
 *
 * For every instruction of the described code, these tables state how to compute the CFA from a register. They also
 * state where the return address and the caller's registers are relative to the CFA:
 *
 *     CFA = register + offset        return address = [CFA + a]        register of the caller = [CFA + b], or itself
 *
 * Some compilers do not describe every instruction:
 *
 *   - Apple's compilers omit epilogues, and describe a prologue by the state at its end. LLVM for arm64 does the same
 *     when it is to write small tables (at -Oz, and without -fasynchronous-unwind-tables).
 *   - clang for i386 omits that a callee has just removed its stack arguments, and describes some pushes late. */
#include "lib/unwind/code/callee.h"
#include "lib/unwind/readers/table.h"
#include "lib/unwind/tables/dwarf_find.h"
#include "lib/unwind/tables/dwarf_row.h"
#include "lib/unwind/tables/image_tables.h"

/* Whether the rule gives a return address that follows a call. */
static bool leads_to_call(struct uspi_evidence *e, const struct uspi_rule *rule) {
    struct uspi_applied applied;
    return uspi_apply_rule(e->walk, e->frame, rule, &applied) &&
           uspi_judge_by_table(e, applied.return_address).credit == USPI_VERIFIED;
}

/* Whether the table may describe only the function's body, so that the instructions may be more accurate. */
static bool is_body_only(struct uspi_evidence *e, enum uspi_dwarf_extent extent, const struct uspi_rule *rule) {
    const struct uspi_walk *walk = e->walk;
    /* The table describes a signal's frame at the call of the handler, but the rule is also valid elsewhere: it uses
     * registers that do not change until the handler returns. */
    if (rule->signal_frame) return false;
    if (walk->target.os == USP_OS_DARWIN) return true;
    if (!e->frame->exact || rule->return_address.kind == USPI_OUTERMOST) return false;
    /* An expression can depend on the pc: one describes all entries of a procedure linkage table. */
    if (rule->cfa.kind == USPI_VALUE_EXPRESSION) return false;
    if (extent != USPI_DWARF_WHOLE) return true;
    return walk->backend->arch == USP_ARCH_I386 && !leads_to_call(e, rule);
}

static enum uspi_described answer_of(int status) {
    if (status == USP_OK) return USPI_DESCRIBED;
    return status == USP_ERROR_FORMAT || status == USP_ERROR_TRUNCATED ? USPI_TABLE_CORRUPT : USPI_NOT_DESCRIBED;
}

/* Separate function, so that the row uses no stack while the rule is applied. */
static __attribute__((noinline)) int find_rule(const struct uspi_dwarf_section *section,
                                               const struct uspi_dwarf_fde *fde, usp_addr pc, struct uspi_rule *rule) {
    struct uspi_dwarf_row row;
    int status = uspi_dwarf_row(section, fde, pc, &row);
    return status == USP_OK ? uspi_dwarf_rule(section, &fde->cie, &row, rule) : status;
}

/* ---- rows at the wrong instruction ----
 *
 * clang for i386 describes some changes of sp one or several instructions too late or too early. A corrected rule is
 * used only if the written rule leads to no call and the corrected one does. */

/* Corrects the rule after a call whose callee removes arguments from the stack. The table there describes the state
 * after the next instruction, which subtracts the same number of bytes from sp again. */
static bool correct_popped(struct uspi_evidence *e, struct uspi_rule *rule) {
    const usp_addr pc = uspi_pc_of(e->walk, e->frame);
    usp_addr callee;
    if (uspi_code_call_before(&e->aside, pc, false, &callee) != USPI_CALL_BEFORE || callee == pc) return false;
    unsigned budget = USPI_CALLEE_MAX;
    const int64_t popped = uspi_code_popped(&e->aside, callee, 0, pc, &budget);
    if (popped <= 0 || popped > rule->cfa.offset) return false;
    rule->cfa.offset -= (int32_t)popped;
    return leads_to_call(e, rule);
}

static bool changes_sp(const struct uspi_backend *b, const struct uspi_instruction *i) {
    return (uspi_written_by(i) >> b->sp & 1) != 0;
}

/* Maximum number of instructions between a push and the row that describes it. */
#define LATE_MAX 8

/* Corrects the rule after a push that the table describes late: the compiler puts spills between the pushes for a call,
 * and describes a push after them. The later row is already valid as long as sp does not change. */
static bool correct_late(struct uspi_evidence *e, const struct uspi_dwarf_section *section,
                         const struct uspi_dwarf_fde *fde, struct uspi_rule *rule) {
    const struct uspi_backend *b = e->walk->backend;
    usp_addr at = uspi_pc_of(e->walk, e->frame);
    const int32_t offset = rule->cfa.offset;
    struct uspi_instruction i;
    for (unsigned n = 0; n < LATE_MAX && uspi_code_decode(&e->aside, at, 0, &i); n++) {
        at += i.length;
        if (i.flow != USPI_NEXT || changes_sp(b, &i) || at >= fde->end) return false;
        if (find_rule(section, fde, at, rule) != USP_OK) return false;
        if (rule->cfa.kind != USPI_REGISTER || rule->cfa.base != b->sp) return false;
        if (rule->cfa.offset != offset) return leads_to_call(e, rule);
    }
    return false;
}

USPI_APART static void correct_rule(struct uspi_evidence *e, const struct uspi_dwarf_section *section,
                                    const struct uspi_dwarf_fde *fde, struct uspi_rule *rule) {
    const struct uspi_backend *b = e->walk->backend;
    struct uspi_rule corrected = *rule;
    if (!e->frame->exact || b->arch != USP_ARCH_I386 || e->walk->target.os == USP_OS_DARWIN) return;
    if (rule->cfa.kind != USPI_REGISTER || rule->cfa.base != b->sp || rule->return_address.kind != USPI_MEMORY) return;
    if (leads_to_call(e, rule)) return;
    bool is_corrected = correct_popped(e, &corrected);
    if (!is_corrected) corrected = *rule;
    if (is_corrected || correct_late(e, section, fde, &corrected)) *rule = corrected;
}

/* Returns the address whose row is used for the frame. After a first instruction that does nothing, the next row is
 * valid for it too, and may state more. glibc's assembly for arm64 begins functions with a landing pad (bti). It states
 * only after that what the code finds (_start: there is no caller; _dl_runtime_resolve: what the procedure linkage
 * table has pushed). */
static usp_addr described_pc(struct uspi_evidence *e, const struct uspi_dwarf_fde *fde) {
    const usp_addr pc = uspi_lookup_pc(e->walk, e->frame);
    struct uspi_instruction i;
    if (!e->frame->exact || pc != fde->start) return pc;
    if (!uspi_code_decode(&e->aside, pc, uspi_frame_mode(e->walk, e->frame), &i)) return pc;
    const bool does_nothing = i.flow == USPI_NEXT && i.effect_count == 0 && i.clobbers == 0 && i.conditional == 0;
    return does_nothing && fde->end - pc > i.length ? pc + i.length : pc;
}

/* Describes a frame by the FDE that contains its pc. */
static int describe_frame(struct uspi_evidence *e, const struct uspi_dwarf_section *section,
                          const struct uspi_dwarf_fde *fde, struct uspi_description *d) {
    d->entry = (struct uspi_table_entry){.start = fde->start, .end = fde->end};
    int status = find_rule(section, fde, described_pc(e, fde), &d->entry.rule);
    if (status != USP_OK) return status;
    correct_rule(e, section, fde, &d->entry.rule);
    enum uspi_dwarf_extent extent = e->frame->exact ? uspi_dwarf_extent(section, fde) : USPI_DWARF_WHOLE;
    d->is_body_only = is_body_only(e, extent, &d->entry.rule);
    if (extent == USPI_DWARF_PART) d->entry.start = 0;
    return USP_OK;
}

/* The call frame information of an image for one look-up. It contains pointers to itself: do not copy it. */
struct cfi {
    struct uspi_dwarf_image image;
    struct uspi_read_window window;
};

static int init_cfi(struct uspi_evidence *e, const struct usp_unwind_tables *tables, struct cfi *cfi) {
    const struct uspi_walk *walk = e->walk;
    int status = uspi_dwarf_image_init(&cfi->image, tables, uspi_table_memory(walk), walk->backend, walk->target.os);
    cfi->window.size = 0;
    cfi->image.source.window = &cfi->window;
    return status;
}

void uspi_describe_by_fde(struct uspi_evidence *e, uint64_t offset, struct uspi_description *d) {
    struct cfi cfi;
    struct uspi_dwarf_entry entry;
    struct uspi_dwarf_fde fde;
    const usp_addr pc = uspi_lookup_pc(e->walk, e->frame);
    int status = init_cfi(e, uspi_unwind_tables_of(e->walk, e->frame), &cfi);
    if (status == USP_OK && !cfi.image.has_eh) status = USP_ERROR_NOT_FOUND;
    if (status == USP_OK) status = uspi_dwarf_entry(&cfi.image.eh, offset, &entry);
    if (status == USP_OK) status = uspi_dwarf_fde(&cfi.image.eh, &entry, &fde);
    if (status == USP_OK && (pc < fde.start || pc >= fde.end)) status = USP_ERROR_NOT_FOUND;
    if (status == USP_OK) status = describe_frame(e, &cfi.image.eh, &fde, d);
    d->answer = answer_of(status);
}

void uspi_describe_by_cfi(struct uspi_evidence *e, struct uspi_description *d) {
    struct cfi cfi;
    const struct uspi_dwarf_section *section;
    struct uspi_dwarf_fde fde;
    const struct usp_unwind_tables *tables = uspi_unwind_tables_of(e->walk, e->frame);
    if (tables == NULL) return;
    int status = init_cfi(e, tables, &cfi);
    if (status == USP_OK) status = uspi_dwarf_find(&cfi.image, uspi_lookup_pc(e->walk, e->frame), &section, &fde);
    if (status == USP_OK) status = describe_frame(e, section, &fde, d);
    d->answer = answer_of(status);
}

void uspi_describe_by_debug_frame(struct uspi_evidence *e, struct uspi_description *d) {
    struct uspi_walk *walk = e->walk;
    struct uspi_image_tables *beside = e->shortcuts != NULL ? e->shortcuts->beside : NULL;
    const usp_addr pc = uspi_lookup_pc(walk, e->frame);
    struct usp_unwind_tables tables;
    if (beside == NULL || uspi_image_tables_beside(beside, pc, &tables) != USP_OK) return;
    /* The rule's expressions are read from these tables. */
    walk->tables = tables;
    walk->tables_pc = pc;
    walk->has_tables = true;
    uspi_describe_by_cfi(e, d);
    if (d->answer != USPI_DESCRIBED) walk->tables_pc = 0;
}
