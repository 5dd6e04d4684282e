/* SPDX-License-Identifier: MIT */
/* See go_frames.h. */
#include "lib/unwind/tables/go_frames.h"

#include <string.h>

/* Maximum number of runs that are read. It allows twice as many returns as the longest functions have. */
#define RUNS_MAX 16384u

/* Room for a function's name, more than the names need that are compared with it. */
#define NAME_ROOM 24

/* Functions of which a signal handler inserts calls into a goroutine. */
static const char *const injected[] = {"runtime.sigpanic", "runtime.sigpanic0", "runtime.asyncPreempt",
                                       "runtime.debugCallV1", "runtime.debugCallV2"};

/* Reads a function and its name. A longer name is truncated, and is none of those that are compared with it. */
static bool read_function(const struct uspi_go_table *table, uint64_t i, struct uspi_go_function *function,
                          char name[NAME_ROOM]) {
    if (!uspi_go_function(table, i, function)) return false;
    (void)uspi_bytes_string(table->bytes, function->name, name, NAME_ROOM, "a function's name", NULL);
    return true;
}

static bool is_injected(const char *name) {
    for (unsigned i = 0; i < sizeof injected / sizeof injected[0]; i++) {
        if (strcmp(name, injected[i]) == 0) return true;
    }
    return false;
}

/* Distances in bytes of sp below its value at the function's start: `delta` at a pc, `frame` after the prologue. */
struct depth {
    int32_t delta, frame;
};

static bool find_depth(const struct uspi_go_table *table, const struct uspi_go_function *function, usp_addr pc,
                       struct depth *depth) {
    struct uspi_go_run run = uspi_go_runs(table, function, function->stack);
    depth->frame = 0;
    if (function->stack == 0) return false;
    for (unsigned left = RUNS_MAX; left > 0 && uspi_go_next_run(&run); left--) {
        if (depth->frame == 0) depth->frame = run.value;
        depth->delta = run.value;
        if (pc < run.high) return true;
    }
    return false;
}

/* Adds the locations of the return address and the saved registers to a rule. `above`: bytes from the stack pointer at
 * the function's start up to the CFA. */
static void find_saved(const struct uspi_backend *b, struct depth depth, int32_t above, struct uspi_rule *rule) {
    int32_t fp_place = -2 * b->word;
    if (b->lr == USPI_NO_REGISTER) {
        rule->return_address = uspi_in_memory(USPI_BASE_CFA, -(int32_t)b->word);
    } else {
        const int32_t lr_place = -above - depth.frame;
        fp_place = lr_place - b->word;
        rule->return_address = depth.delta == 0 ? uspi_in_register(b->lr, 0) : uspi_in_memory(USPI_BASE_CFA, lr_place);
    }
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        const bool is_saved = (b->callee_saved >> reg & 1) != 0;
        if (is_saved && reg != b->fp) uspi_rule_add(rule, reg, (struct uspi_location){.kind = USPI_LOST});
    }
    /* Only on 64-bit processors is the caller's frame pointer saved. */
    if (b->word == 8 && depth.delta != 0) uspi_rule_add(rule, b->fp, uspi_in_memory(USPI_BASE_CFA, fp_place));
}

static void make_rule(const struct uspi_backend *b, struct depth depth, bool has_interrupted, struct uspi_rule *rule) {
    const bool has_lr = b->lr != USPI_NO_REGISTER;
    const int32_t pushed = b->word == 8 ? 16 : b->word; /* sys.StackAlign */
    const int32_t above = has_lr && has_interrupted ? pushed : b->call_push;
    memset(rule, 0, sizeof *rule);
    rule->cfa = uspi_in_register(b->sp, depth.delta + above);
    rule->signal_frame = has_interrupted;
    if (has_lr && has_interrupted) uspi_rule_add(rule, b->lr, uspi_in_memory(USPI_BASE_CFA, -pushed));
    find_saved(b, depth, above, rule);
}

static bool is_depth(const struct uspi_backend *b, int32_t bytes) {
    return bytes % b->word == 0 && bytes <= INT32_MAX / 4;
}

enum uspi_described uspi_go_describe(const struct uspi_go_table *table, const struct uspi_backend *b, usp_addr pc,
                                     bool exact, struct uspi_table_entry *entry, bool *is_top) {
    struct uspi_go_function function;
    struct depth depth;
    char name[NAME_ROOM];
    uint64_t i;
    *entry = (struct uspi_table_entry){0};
    if (b->slot != b->word || table->word != b->word || !uspi_go_find(table, pc, &i)) return USPI_NOT_DESCRIBED;
    if (!read_function(table, i, &function, name)) return USPI_TABLE_CORRUPT;
    entry->start = function.start;
    entry->end = function.end;
    const bool is_after_call = !exact && strcmp(name, "runtime.cgocallback") == 0;
    if ((function.flags & USPI_GO_SP_WRITE) != 0 && !is_after_call) return USPI_CANNOT_UNWIND;
    if (!find_depth(table, &function, pc, &depth) || depth.delta < 0 || depth.frame < 0) return USPI_NOT_DESCRIBED;
    if (!is_depth(b, depth.delta) || !is_depth(b, depth.frame)) return USPI_TABLE_CORRUPT;
    make_rule(b, depth, is_injected(name), &entry->rule);
    *is_top = (function.flags & USPI_GO_TOP_FRAME) != 0;
    if (exact || depth.delta != 0 || b->lr == USPI_NO_REGISTER) return USPI_DESCRIBED;
    /* The call has overwritten the link register, which had the return address. */
    if (!*is_top) return USPI_CANNOT_UNWIND;
    *is_top = false;
    entry->rule.return_address = (struct uspi_location){.kind = USPI_OUTERMOST};
    return USPI_DESCRIBED;
}

/* Functions that switch stacks. In those that keep the frame pointer, C code and Go's code do so too. */
static const struct {
    const char *name;
    enum uspi_go_way way;
} switches[] = {{"runtime.mcall", USPI_GO_ENDS},
                {"runtime.asmcgocall", USPI_GO_BY_WORDS},
                {"runtime.systemstack", USPI_GO_BY_RECORD},
                {"runtime.nanotime1", USPI_GO_BY_RECORD},
                {"runtime.walltime", USPI_GO_BY_RECORD},
                {"time.now", USPI_GO_BY_RECORD}};

static enum uspi_go_way way_of(const char *name) {
    for (unsigned i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if (strcmp(name, switches[i].name) == 0) return switches[i].way;
    }
    return USPI_GO_NOWHERE;
}

/* Sets where asmcgocall stores its two words. */
static void find_words(const struct uspi_backend *b, struct uspi_go_switch *s) {
    const bool has_lr = b->lr != USPI_NO_REGISTER;
    s->word_count = 1;
    if (b->word == 8) {
        s->words[0].depth = has_lr ? 8 : 0;
        s->words[0].g = has_lr ? 0 : 8;
    } else {
        s->words[0].depth = has_lr ? 16 : 4;
        s->words[0].g = has_lr ? 20 : 8;
    }
    if (b->word != 8 || has_lr) return;
    /* Up to Go 1.22. */
    s->words[1].depth = 40;
    s->words[1].g = 48;
    s->word_count = 2;
}

struct uspi_go_switch uspi_go_describe_switch(const struct uspi_go_table *table, const struct uspi_backend *b,
                                              usp_addr pc, struct uspi_table_entry *entry) {
    struct uspi_go_switch s = {.way = USPI_GO_NOWHERE};
    struct uspi_go_function function;
    struct depth depth;
    char name[NAME_ROOM];
    uint64_t i;
    *entry = (struct uspi_table_entry){0};
    if (b->slot != b->word || table->word != b->word || !uspi_go_find(table, pc, &i)) return s;
    if (!read_function(table, i, &function, name) || (function.flags & USPI_GO_SP_WRITE) == 0) return s;
    entry->start = function.start;
    entry->end = function.end;
    const enum uspi_go_way way = way_of(name);
    if (way == USPI_GO_NOWHERE || !find_depth(table, &function, pc, &depth)) return s;
    if (depth.frame < 0 || !is_depth(b, depth.frame)) return s;
    /* Without a frame there is no record, and the return address is lost where a call leaves it in a register. */
    if (depth.frame == 0 && way != USPI_GO_ENDS && (way == USPI_GO_BY_RECORD || b->lr != USPI_NO_REGISTER)) return s;
    if (way == USPI_GO_BY_RECORD && b->word != 8) return s;
    depth.delta = depth.frame;
    make_rule(b, depth, false, &entry->rule);
    s.way = way;
    s.cfa = entry->rule.cfa.offset;
    s.record = b->lr == USPI_NO_REGISTER ? depth.frame - b->word : -(int32_t)b->word;
    entry->rule.cfa = (struct uspi_location){.kind = USPI_GIVEN};
    if (way == USPI_GO_ENDS) entry->rule.return_address = (struct uspi_location){.kind = USPI_OUTERMOST};
    find_words(b, &s);
    return s;
}

bool uspi_go_ends_goroutine(const struct uspi_go_table *table, usp_addr return_address) {
    struct uspi_go_function function;
    uint64_t i;
    return uspi_go_find(table, return_address, &i) && uspi_go_function(table, i, &function) &&
           (function.flags & USPI_GO_TOP_FRAME) != 0 && return_address - function.start == table->quantum;
}

bool uspi_go_begins_thread(const struct uspi_go_table *table, usp_addr return_address) {
    struct uspi_go_function function;
    char name[NAME_ROOM];
    uint64_t i;
    return uspi_go_find(table, return_address - 1, &i) && read_function(table, i, &function, name) &&
           strcmp(name, "runtime.clone") == 0;
}
