/* SPDX-License-Identifier: MIT */
/* What the readers of unwind tables have in common: from the rule that a table has for a frame to the reader's answer. */
#include "lib/unwind/reader.h"
#include "lib/unwind/sigframe.h"

/* Whether a return address goes where code can be; a caller that was interrupted need not stand behind a call. */
static bool is_refuted(struct uspi_walk *walk, const struct uspi_rule *rule, struct uspi_return_address *ra) {
    if (ra->credit != USPI_REFUTED) return false;
    return !rule->signal_frame || ra->pc == 0 || uspi_ask_for_image(walk, ra->pc) == USP_ERROR_NOT_FOUND;
}

/* Apple's _sigtramp for x86 tells one more than the interrupted pc, except of traps, whose pc is behind the instruction
 * anyway: so that it can be taken for a return address (libplatform src/setjmp/x86_64/_sigtramp.s, i386/_sigtramp.s). The pc
 * itself lies in the context from which the other registers come. */
static uint64_t interrupted_pc(const struct uspi_walk *walk, const struct uspi_rule *rule, uint64_t told,
                               usp_addr fp_at) {
    const struct uspi_backend *b = walk->backend;
    uint32_t fp_place, pc_place;
    uint64_t pc;
    if (!rule->signal_frame || walk->target.os != USP_OS_DARWIN || fp_at == 0) return told;
    if (rule->return_address.kind != USPI_VALUE_EXPRESSION) return told;
    if (!uspi_find_in_mcontext(b, b->fp, &fp_place) || !uspi_find_in_mcontext(b, b->pc, &pc_place)) return told;
    if (!uspi_read_slot(walk, (fp_at - fp_place + pc_place) & b->word_mask, &pc)) return told;
    return told == pc + 1 ? pc : told;
}

static enum uspi_answer follow(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                               const struct uspi_rule *rule, uint32_t method, struct uspi_answer_data *out) {
    const struct uspi_backend *b = walk->backend;
    struct uspi_frame_state *caller = &out->caller;
    struct uspi_code code;
    usp_addr raw, fp_at;
    bool extended;
    out->stop_address = frame->registers.value[b->pc];
    if (!uspi_apply_rule(walk, frame, rule, &caller->registers, &raw, &fp_at, &extended)) {
        out->stop = USP_STOP_UNREADABLE;
        return USPI_NOT_MINE;
    }
    raw = interrupted_pc(walk, rule, raw, fp_at);
    usp_addr sp = caller->registers.value[b->sp];
    if (rule->return_address.kind == USPI_OUTERMOST) {
        out->stop = USP_STOP_ROOT;
        return USPI_STOPPED;
    }
    /* A signal may have been handled on another stack. */
    if (!rule->signal_frame && !uspi_is_plausible_cfa(walk, frame, sp)) return USPI_CORRUPT;
    uspi_code_init(&code, b, uspi_code_memory(walk));
    struct uspi_return_address ra = uspi_judge_return_address(walk, &code, raw);
    if (is_refuted(walk, rule, &ra)) {
        out->stop = ra.pc == 0 ? USP_STOP_RA_ZERO : USP_STOP_RA_NOT_CODE;
        out->stop_address = ra.pc;
        return USPI_NOT_MINE;
    }
    out->cfa = sp;
    caller->sp_known = true;
    caller->low = sp;
    bool from_register = rule->return_address.kind == USPI_REGISTER;
    if (extended && !from_register) uspi_describe_extended(walk, frame, fp_at, &out->extended);
    uspi_set_caller(walk, caller, &ra, from_register ? USP_KIND_LINK_REGISTER : USP_KIND_RETURN_ADDRESS, method);
    if (from_register) uspi_resume_caller(walk, frame, caller);
    if (rule->signal_frame) {
        caller->exact = true;
        caller->kind = USP_KIND_SIGNAL;
    }
    return USPI_FOUND;
}

/* Tables are wrong at times, at calls too (clang for Apple's x86_64 at -Oz counts pushes in the order of addresses). Where
 * nothing confirms what one says, the instructions are asked; not where it leads into an image of which the code is missing.
 * True: they know better. */
static bool ask_instructions(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                             struct uspi_answer_data *out) {
    struct uspi_answer_data other = {0};
    bool is_doubtful = (out->caller.flags & USP_FRAME_UNVERIFIED) != 0 && !out->caller.exact;
    if (!is_doubtful || (walk->readers & USP_READER_INSTRUCTIONS) == 0) return false;
    if (uspi_ask_for_image(walk, out->caller.registers.value[walk->backend->pc]) == USP_OK) return false;
    if (uspi_read_instructions(walk, frame, &other) != USPI_FOUND) return false;
    if ((other.caller.flags & USP_FRAME_UNVERIFIED) != 0) return false;
    *out = other;
    return true;
}

enum uspi_answer uspi_follow_table_rule(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                        const struct uspi_rule *rule, uint32_t method, struct uspi_answer_data *out) {
    enum uspi_answer answer = follow(walk, frame, rule, method, out);
    if (answer == USPI_FOUND && ask_instructions(walk, frame, out)) return answer;
    if (answer == USPI_FOUND || answer == USPI_STOPPED) uspi_keep_table_rule(walk, frame, rule, method);
    return answer;
}

enum uspi_answer uspi_follow_kept_rule(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                       struct uspi_answer_data *out) {
    struct uspi_rule rule;
    uint32_t method;
    if (!uspi_recall_table_rule(walk, frame, &rule, &method)) return USPI_NOT_MINE;
    enum uspi_answer answer = follow(walk, frame, &rule, method, out);
    if (answer == USPI_FOUND) ask_instructions(walk, frame, out);
    return answer;
}
