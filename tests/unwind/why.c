/* SPDX-License-Identifier: MIT */
/* Explains how the caller of one frame was chosen: what the unwind table says about the frame, each path through its
 * instructions with the path's doubts, and each row of rank.c that was tried, with the first condition that the row's
 * candidate did not meet. It is for wrong frames (CONTRIBUTING.md has an example).
 *
 *     why PROCESS|FILE [THREAD [FRAME]]
 *
 * FILE is a core or a raw capture. THREAD is an id as `unspool stack` prints it (default: the first thread). FRAME is
 * the number of a frame of that thread's stack (default: 0). The sources that decide are compiled into this program, so
 * it tries the same rows and paths in the same order. Nothing comes from the rule cache. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/unspool.h>

#include "lib/report/format.h"
#include "lib/unwind/readers/decide.h"
#include "lib/unwind/readers/evidence.h"
#include "lib/unwind/readers/rank.h"
#include "lib/unwind/readers/readers.h"
#include "lib/unwind/walker.h"
#include "tests/support/rule_text.h"

/* The library has these functions, too. */
#define uspi_find_caller  why_find_caller
#define uspi_rank_readers why_rank_readers
#define uspi_rank_path    why_rank_path
#define uspi_read_forward why_read_forward
#define uspi_read_return  why_read_return

bool uspi_find_caller(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                      const struct uspi_shortcuts *shortcuts, uint32_t readers, struct uspi_step *step);
enum uspi_reader uspi_rank_readers(struct uspi_evidence *evidence);
unsigned uspi_rank_path(struct uspi_evidence *evidence, const struct uspi_candidate *candidate);
void uspi_read_forward(struct uspi_evidence *evidence, struct uspi_candidate *candidate);
void uspi_read_return(struct uspi_evidence *evidence, struct uspi_candidate *candidate);

#define paths   path_ranks
#define readers rows
#include "lib/unwind/readers/rank.c"
#undef paths
#undef readers

static bool prints_paths;

static bool print_path(struct uspi_evidence *evidence, const struct uspi_rule *rule, unsigned doubts,
                       struct uspi_candidate *candidate);

/* The forward reader calls this once for each path that has ended with a rule. */
#define uspi_make_candidate print_path
#include "lib/unwind/readers/forward.c"
#undef uspi_make_candidate
#define keep keep_rule
#include "lib/unwind/readers/decide.c"
#undef keep

static const char *const reader_names[USPI_READERS] = {
    [USPI_BY_SIGNAL] = "signal", [USPI_BY_TABLE] = "table",   [USPI_BY_FORWARD] = "forward",
    [USPI_BY_RETURN] = "return", [USPI_BY_START] = "start",   [USPI_BY_PROOF] = "proof",
    [USPI_BY_SCAN] = "scan",     [USPI_BY_RECORD] = "record", [USPI_BY_BAD_CALL] = "bad call",
};

/* In the order in which rank.c checks the conditions. */
static const struct {
    unsigned bit;
    const char *name;
} condition_names[] = {
    {CLEAR, "clear"},
    {STEADY, "steady"},
    {NOT_TAIL_CALL, "not a tail call"},
    {VERIFIED, "verified"},
    {WITH_CODE, "with code"},
    {AT_RECORD, "at the record"},
    {CONFIRMED, "confirmed"},
    {WITHOUT_RECORD, "without a record"},
    {OF_FRAME, "forward by a slot of the frame"},
    {IN_FUNCTION, "from a function's start"},
    {AS_TABLE, "as the table"},
    {AS_FORWARD, "as the paths forward"},
    {AS_START, "as from the start"},
    {PROVEN, "proven"},
    {AT_END, "the table ends the stack"},
};
#define CONDITIONS (sizeof condition_names / sizeof condition_names[0])

static void print_conditions(unsigned conditions) {
    const char *between = "";
    for (size_t i = 0; i < CONDITIONS; i++) {
        if ((conditions & condition_names[i].bit) == 0) continue;
        printf("%s%s", between, condition_names[i].name);
        between = ", ";
    }
    if (conditions == 0) printf("always");
}

static void print_doubts(unsigned doubts) {
    if (doubts == 0) printf("no doubts");
    if ((doubts & USPI_DOUBT_CALL) != 0) printf("past a call; ");
    if ((doubts & USPI_DOUBT_LAST_CALL) != 0) printf("past a call directly before the pc; ");
    if ((doubts & USPI_DOUBT_SWITCH) != 0) printf("an indirect jump as a switch; ");
    if ((doubts & USPI_DOUBT_TAIL_CALL) != 0) printf("an indirect jump as a tail call; ");
}

static void print_candidate(const struct uspi_candidate *c) {
    static const char *const credits[] = {
        [USPI_REFUTED] = "refuted", [USPI_UNVERIFIED] = "follows no call", [USPI_VERIFIED] = "follows a call"};
    if (!c->found) {
        printf("no candidate");
    } else if (c->ends_stack) {
        printf("ends the stack: %s", usp_stop_reason_string(c->stop));
    } else {
        const bool has_credit = (size_t)c->credit < sizeof credits / sizeof credits[0];
        printf("%#" PRIx64 " %s%s%s", c->is_complete ? c->cfa : c->ra.pc, has_credit ? credits[c->credit] : "?",
               c->from_register ? ", in the link register" : "", c->is_record ? ", of the frame record" : "");
    }
}

static bool print_path(struct uspi_evidence *e, const struct uspi_rule *rule, unsigned doubts,
                       struct uspi_candidate *c) {
    char text[RULE_TEXT];
    const bool is_possible = uspi_make_candidate(e, rule, doubts, c);
    if (!prints_paths) return is_possible;
    printf("    path: %s\n          ", rule_text(e->walk->backend->arch, rule, text));
    print_doubts(doubts);
    printf("; ");
    if (is_possible) {
        print_candidate(c);
    } else {
        printf("gives no possible return address");
    }
    printf("\n");
    return is_possible;
}

static void print_table(struct uspi_evidence *e) {
    char text[RULE_TEXT];
    static const char *const described[] = {"nothing", "rules at calls", "a rule for each instruction", "a body"};
    unsigned as = 0;
    while (as < 3 && e->described_as != 1u << as) as++;
    printf("  table: describes %s", described[as]);
    if (e->start != 0) printf(", %#" PRIx64 " to %#" PRIx64, e->start, e->end);
    if (as != 0)
        printf(" (%s)\n    rule: %s", uspi_frame_method_name(e->method),
               rule_text(e->walk->backend->arch, &e->rule, text));
    printf("\n");
}

/* Tries the rows as why_rank_readers does, and prints each. Returns the chosen reader. */
static enum uspi_reader print_rows(struct uspi_evidence *e) {
    bool has_run[USPI_READERS] = {false};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        if (!applies(e, row)) continue;
        const struct uspi_candidate *c = uspi_candidate_of(e, (enum uspi_reader)row->reader);
        if (!has_run[row->reader]) {
            printf("  %s: ", reader_names[row->reader]);
            print_candidate(c);
            if (c->found && c->doubts != 0) {
                printf("; ");
                print_doubts(c->doubts);
            }
            printf("\n");
            has_run[row->reader] = true;
        }
        printf("    row %zu, %s: ", i, reader_names[row->reader]);
        print_conditions(row->conditions);
        size_t failed = 0;
        while (c->found && failed < CONDITIONS && meets(e, c, row->conditions & condition_names[failed].bit)) failed++;
        if (c->found && failed == CONDITIONS) {
            printf(": chosen\n");
            return (enum uspi_reader)row->reader;
        }
        printf(": %s%s\n", c->found ? "not " : "no candidate", c->found ? condition_names[failed].name : "");
    }
    return USPI_READERS;
}

static void explain(struct uspi_evidence *e) {
    const struct uspi_candidate *signal = uspi_candidate_of(e, USPI_BY_SIGNAL);
    if (signal->found) {
        printf("  signal: ");
        print_candidate(signal);
        printf(signal->may_be_callers ? "; it may be the caller's\n" : ": chosen\n");
        if (!signal->may_be_callers) return;
    }
    for (;;) {
        uspi_candidate_of(e, USPI_BY_TABLE);
        print_table(e);
        const bool is_last = e->described_as == USPI_AS_NOTHING;
        if (print_rows(e) != USPI_READERS || is_last) return;
        uspi_evidence_drop_table(e);
    }
}

static int fail(const char *what, const char *why) {
    fprintf(stderr, "why: %s: %s\n", what, why);
    return 1;
}

static int open_snapshot(const char *what, struct usp_snapshot **snapshot, char *error, size_t size) {
    char *end;
    const long pid = strtol(what, &end, 10);
    if (*what != '\0' && *end == '\0') return usp_snapshot_create_process(pid, NULL, snapshot, error, size);
    const int status = usp_snapshot_open_core(what, NULL, snapshot, error, size);
    return status == USP_OK ? USP_OK : usp_snapshot_open_raw(what, NULL, snapshot, error, size);
}

/* Explains frame `number` of thread i. */
static int explain_frame(const struct usp_snapshot *snapshot, size_t i, unsigned number) {
    const struct usp_snapshot_thread *thread = usp_snapshot_get_thread(snapshot, i);
    struct usp_target target;
    struct usp_unwind_options options;
    struct uspi_walker walker;
    struct usp_frame frame;
    int status = usp_snapshot_target(snapshot, i, &target);
    usp_unwind_options_init(&options);
    if (status == USP_OK) status = uspi_walker_init(&walker, &target, &thread->registers, &options);
    if (status != USP_OK) return fail("the thread", usp_status_string(status));
    for (unsigned n = 0; n <= number; n++) {
        if (!uspi_walker_step(&walker, &frame))
            return fail("the stack ends before the frame", usp_stop_reason_string(walker.stop));
    }
    struct uspi_evidence evidence;
    uspi_evidence_init(&evidence, &walker.walk, &walker.frame, NULL, entries);
    evidence.readers = walker.walk.readers;
    printf("frame %u: pc %#" PRIx64 ", %s, found by %s\n", number, frame.pc,
           walker.frame.exact ? "interrupted there" : "after a call", uspi_frame_method_name(frame.method));
    prints_paths = true;
    explain(&evidence);
    prints_paths = false;
    struct uspi_step step;
    const bool found = uspi_find_caller(&walker.walk, &walker.frame, NULL, walker.walk.readers, &step);
    if (!found) return printf("caller: none, %s\n", usp_stop_reason_string(step.stop)), 0;
    printf("caller: %#" PRIx64 " by %s\n", uspi_pc_of(&walker.walk, &step.caller),
           uspi_frame_method_name(step.caller.method));
    return 0;
}

int main(int argc, char **argv) {
    struct usp_snapshot *snapshot;
    char error[512];
    if (argc < 2 || argc > 4) {
        fputs("usage: why PROCESS|FILE [THREAD [FRAME]]\n", stderr);
        return 2;
    }
    if (open_snapshot(argv[1], &snapshot, error, sizeof error) != USP_OK) return fail(argv[1], error);
    size_t i = 0;
    if (argc > 2) {
        const uint64_t id = strtoull(argv[2], NULL, 10);
        while (usp_snapshot_get_thread(snapshot, i) != NULL &&
               usp_snapshot_get_thread(snapshot, i)->info.thread.id != id)
            i++;
    }
    int status = usp_snapshot_get_thread(snapshot, i) == NULL
                     ? fail(argv[1], "no such thread")
                     : explain_frame(snapshot, i, argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0);
    usp_snapshot_free(snapshot);
    return status;
}
