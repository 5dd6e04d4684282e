/* SPDX-License-Identifier: MIT */
/* The reader of DWARF call frame information: .eh_frame, .debug_frame and Mach-O's __eh_frame.
 *
 * For every instruction of the code that they describe, these tables say how the CFA follows from a register, and where
 * from the CFA the return address and the caller's registers are:
 *
 *     CFA = register + offset        return address = [CFA + a]        register of the caller = [CFA + b], or itself
 *
 * Not every compiler describes every instruction: Apple's leave out how a frame is undone, and say of a prologue only what
 * holds at its end, as LLVM does on arm64 when it is to write little; clang for i386 leaves out that a callee has just taken
 * its arguments off the stack, and tells of some pushes late. */
#include "lib/unwind/dwarf_find.h"
#include "lib/unwind/dwarf_row.h"
#include "lib/unwind/reader.h"

/* Whether the rule leads behind a call. Between the pushes for a call clang for i386 puts spills, and tells of the last push
 * behind them. */
static bool leads_to_call(struct uspi_walk *walk, const struct uspi_frame_state *frame, struct uspi_code *code,
                          const struct uspi_rule *rule) {
    struct usp_registers caller;
    usp_addr raw, fp_at;
    bool extended;
    return uspi_apply_rule(walk, frame, rule, &caller, &raw, &fp_at, &extended) &&
           uspi_judge_return_address(walk, code, raw).credit == USPI_VERIFIED;
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
static bool is_body_only(struct uspi_walk *walk, const struct uspi_frame_state *frame, enum uspi_dwarf_extent extent,
                         usp_addr start, const struct uspi_rule *rule) {
    struct uspi_code code;
    /* A signal's frame is described for where its code is called from, and its rule holds beside that too: registers that
     * stay what they are until the handler returns lead to it. */
    if (rule->signal_frame) return false;
    if (walk->target.os == USP_OS_DARWIN) return true;
    if (!frame->exact || rule->return_address.kind == USPI_OUTERMOST) return false;
    if (extent != USPI_DWARF_WHOLE) return true;
    if (walk->backend->arch != USP_ARCH_I386) return false;
    uspi_code_init(&code, walk->backend, uspi_code_memory(walk));
    return stands_behind_call(&code, start, frame->registers.value[walk->backend->pc]) ||
           !leads_to_call(walk, frame, &code, rule);
}

/* The rule at a frame's pc, by the FDE that holds it. */
static enum uspi_answer follow(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                               const struct uspi_dwarf_section *section, const struct uspi_dwarf_fde *fde,
                               struct uspi_answer_data *out, int *status) {
    struct uspi_table_entry entry = {.start = fde->start, .end = fde->end};
    struct uspi_dwarf_row row;
    *status = uspi_dwarf_row(section, fde, uspi_lookup_pc(walk, frame), &row);
    if (*status == USP_OK) *status = uspi_dwarf_rule(section, &fde->cie, &row, &entry.rule);
    if (*status != USP_OK) return USPI_NOT_MINE;
    enum uspi_dwarf_extent extent = frame->exact ? uspi_dwarf_extent(section, fde) : USPI_DWARF_WHOLE;
    if (!is_body_only(walk, frame, extent, entry.start, &entry.rule)) {
        return uspi_follow_table_rule(walk, frame, &entry.rule, USP_METHOD_CFI, out);
    }
    if (extent == USPI_DWARF_PART) entry.start = 0;
    return uspi_follow_body_rule(walk, frame, &entry, USP_METHOD_CFI, out);
}

static enum uspi_answer answer_of(int status, enum uspi_answer answer) {
    return status == USP_ERROR_FORMAT || status == USP_ERROR_TRUNCATED ? USPI_CORRUPT : answer;
}

enum uspi_answer uspi_follow_fde(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                 const struct usp_unwind_tables *tables, uint64_t offset,
                                 struct uspi_answer_data *out) {
    struct uspi_dwarf_image image;
    struct uspi_dwarf_entry entry;
    struct uspi_dwarf_fde fde;
    usp_addr pc = uspi_lookup_pc(walk, frame);
    int status = uspi_dwarf_image_init(&image, tables, uspi_table_memory(walk), walk->backend, walk->target.os);
    if (status == USP_OK && !image.has_eh) status = USP_ERROR_NOT_FOUND;
    if (status == USP_OK) status = uspi_dwarf_entry(&image.eh, offset, &entry);
    if (status == USP_OK) status = uspi_dwarf_fde(&image.eh, &entry, &fde);
    if (status != USP_OK) return answer_of(status, USPI_NOT_MINE);
    if (pc < fde.start || pc >= fde.end) return USPI_NOT_MINE;
    enum uspi_answer answer = follow(walk, frame, &image.eh, &fde, out, &status);
    return answer_of(status, answer);
}

enum uspi_answer uspi_read_cfi(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                               struct uspi_answer_data *out) {
    struct uspi_dwarf_image image;
    const struct uspi_dwarf_section *section;
    struct uspi_dwarf_fde fde;
    const struct usp_unwind_tables *tables = uspi_unwind_tables_of(walk, frame);
    if (tables == NULL) return USPI_NOT_MINE;
    int status = uspi_dwarf_image_init(&image, tables, uspi_table_memory(walk), walk->backend, walk->target.os);
    if (status == USP_OK) status = uspi_dwarf_find(&image, uspi_lookup_pc(walk, frame), &section, &fde);
    if (status != USP_OK) return answer_of(status, USPI_NOT_MINE);
    enum uspi_answer answer = follow(walk, frame, section, &fde, out, &status);
    return answer_of(status, answer);
}
