/* SPDX-License-Identifier: MIT */
/* The reader of Go's function table as an unwind table. lib/unwind/tables/go_frames.h interprets the table. */
#include "lib/unwind/readers/table.h"
#include "lib/unwind/tables/go_frames.h"

/* Opens the table of the image that contains the frame's code. Returns false when it has none. *source must live as
 * long as the table. */
static bool open_table(struct uspi_evidence *e, struct uspi_source *source, struct uspi_go_table *table) {
    struct uspi_walk *walk = e->walk;
    const struct usp_unwind_tables *tables = uspi_unwind_tables_of(walk, e->frame);
    if (tables == NULL || tables->go_functions.size == 0) return false;
    *source = uspi_source_of_memory(uspi_code_memory(walk), "Go's function table");
    source->direct = tables->direct;
    const struct uspi_bytes bytes = {source, tables->go_functions.address, tables->go_functions.size};
    if (uspi_go_table_open(table, bytes) != USP_OK) return false;
    /* The text address in the header may not be the one at which the image is loaded. */
    table->text = tables->go_text;
    return true;
}

/* Removes fp from the rule unless fp points to the slot that the rule states. Only then does the frame have its record;
 * otherwise the caller's fp is in the register. */
static void find_fp(const struct uspi_evidence *e, struct uspi_rule *rule) {
    const struct uspi_backend *b = e->walk->backend;
    const struct usp_registers *registers = &e->frame->registers;
    const struct uspi_location at = uspi_rule_of(rule, b->fp);
    const usp_addr place = registers->value[b->sp] + (usp_addr)((int64_t)rule->cfa.offset + at.offset);
    if (at.kind != USPI_MEMORY || !uspi_known(registers, b->fp) || registers->value[b->fp] == place) return;
    for (unsigned i = 0; i < rule->saved_count; i++) {
        if (rule->saved[i].reg == b->fp) rule->saved[i] = rule->saved[--rule->saved_count];
    }
}

/* Whether a function in which Go's stacks end has a caller: its rule gives a verified return address that is not in the
 * function with which a thread begins. */
static bool leads_on(struct uspi_evidence *e, const struct uspi_go_table *table, const struct uspi_rule *rule) {
    struct uspi_applied applied;
    if (!uspi_apply_rule(e->walk, e->frame, rule, &applied)) return false;
    const struct uspi_return_address ra = uspi_judge_return_address(e->walk, &e->aside, applied.return_address);
    return ra.credit == USPI_VERIFIED && !uspi_go_begins_thread(table, ra.pc);
}

/* Finds a frame's place by the i-th pair of words (struct uspi_go_switch). */
static bool find_place(const struct uspi_evidence *e, const struct uspi_go_switch *s, unsigned i, usp_addr *place) {
    const struct uspi_backend *b = e->walk->backend;
    const usp_addr sp = e->frame->registers.value[b->sp];
    uint64_t depth, g, end = 0;
    if (!e->frame->sp_known || !uspi_read_slot(e->walk, sp + s->words[i].depth, &depth) ||
        !uspi_read_slot(e->walk, sp + s->words[i].g, &g) || (g != 0 && !uspi_read_slot(e->walk, g + b->word, &end))) {
        return false;
    }
    *place = g != 0 ? end - depth : depth;
    return true;
}

/* Completes the rule of a frame at its place. Returns false when the return address does not follow a call of the
 * frame's function: then the words or the frame pointer are not its own. */
static bool is_frame_at(struct uspi_evidence *e, const struct uspi_go_switch *s, usp_addr place,
                        struct uspi_table_entry *entry) {
    struct uspi_applied applied;
    entry->rule.expressions = (place + (usp_addr)(int64_t)s->cfa) & e->walk->backend->word_mask;
    if (!uspi_apply_rule(e->walk, e->frame, &entry->rule, &applied)) return false;
    const struct uspi_return_address ra = uspi_judge_return_address(e->walk, &e->aside, applied.return_address);
    return ra.credit == USPI_VERIFIED && ra.callee == entry->start;
}

static bool find_frame(struct uspi_evidence *e, const struct uspi_go_switch *s, struct uspi_table_entry *entry) {
    const struct usp_registers *registers = &e->frame->registers;
    const unsigned fp = e->walk->backend->fp;
    usp_addr place;
    if (s->way == USPI_GO_BY_RECORD) {
        return uspi_known(registers, fp) &&
               is_frame_at(e, s, registers->value[fp] - (usp_addr)(int64_t)s->record, entry);
    }
    for (unsigned i = 0; i < s->word_count; i++) {
        if (find_place(e, s, i, &place) && is_frame_at(e, s, place, entry)) return true;
    }
    return false;
}

/* Describes a frame that waits after a call in a function that switches stacks. */
static void describe_switch(struct uspi_evidence *e, const struct uspi_go_table *table, struct uspi_description *d) {
    struct uspi_table_entry entry;
    const struct uspi_go_switch s =
        uspi_go_describe_switch(table, e->walk->backend, uspi_lookup_pc(e->walk, e->frame), &entry);
    if (s.way == USPI_GO_NOWHERE) return;
    entry.rule.expressions = e->frame->low; /* where the stack ends, nothing else is read */
    if (s.way != USPI_GO_ENDS && !find_frame(e, &s, &entry)) return;
    d->entry = entry;
    d->answer = USPI_DESCRIBED;
}

void uspi_describe_by_go(struct uspi_evidence *e, struct uspi_description *d) {
    struct uspi_source source;
    struct uspi_go_table table;
    struct uspi_rule *rule = &d->entry.rule;
    bool is_top;
    if (!open_table(e, &source, &table)) return;
    d->answer = uspi_go_describe(&table, e->walk->backend, uspi_lookup_pc(e->walk, e->frame), e->frame->exact,
                                 &d->entry, &is_top);
    d->is_body_only = false;
    if (d->answer == USPI_CANNOT_UNWIND && !e->frame->exact) {
        describe_switch(e, &table, d);
        return;
    }
    if (d->answer != USPI_DESCRIBED) return;
    find_fp(e, rule);
    if (is_top && !leads_on(e, &table, rule)) rule->return_address = (struct uspi_location){.kind = USPI_OUTERMOST};
}

bool uspi_ends_goroutine(struct uspi_evidence *e, usp_addr return_address) {
    struct uspi_source source;
    struct uspi_go_table table;
    return open_table(e, &source, &table) && uspi_go_ends_goroutine(&table, return_address);
}
