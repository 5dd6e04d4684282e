/* SPDX-License-Identifier: MIT */
/* Tests Go's function table as an unwind table, over tables and targets that the test builds: its rules at each
 * instruction, walks by it, cases in which it must not be believed, damage of every byte, and the search for it in a
 * loaded program. */
#include <check.h>
#include <unspool/unspool.h>

#include "lib/images/image_list.h"
#include "lib/unwind/rule_cache/rule_cache.h"
#include "lib/unwind/tables/go_frames.h"
#include "lib/unwind/tables/image_tables.h"
#include "tests/support/go_table.h"
#include "tests/support/golden.h"
#include "tests/support/range.h"
#include "tests/support/rule_text.h"
#include "tests/support/suite.h"

#define TEXT  UINT64_C(0x401000)
#define TABLE UINT64_C(0x600000)
#define C     UINT64_C(0x501000) /* code outside Go's */
#define STACK UINT64_C(0x7000)
#define STALE UINT64_C(0xdead0000)

/* Functions, 32 bytes each. */
enum { GOEXIT, OUTER, INNER, SWITCH, CALLBACK, PANIC, CALL_C, LEAVE, TOP, THREAD, CLONE, FUNCTIONS };
#define AT(function) (TEXT + 32u * (function))

struct run {
    int delta;
    unsigned length; /* in bytes */
};

struct function {
    const char *name;
    unsigned flags;
    struct run runs[8];
};

/* The runs of a function with a prologue of one instruction, of `first` bytes: no frame, then one of `bytes`. */
#define FRAME(bytes, first)                                                                                            \
    {                                                                                                                  \
        {0, first}, { bytes, 32 - (first) }                                                                            \
    }

static const char *const names[FUNCTIONS] = {"runtime.goexit",      "main.outer",          "main.inner",
                                             "runtime.systemstack", "runtime.cgocallback", "runtime.sigpanic",
                                             "runtime.asmcgocall",  "runtime.mcall",       "runtime.rt0_go",
                                             "runtime.mstart",      "runtime.clone"};
static const unsigned flags[FUNCTIONS] = {
    [GOEXIT] = USPI_GO_TOP_FRAME, [SWITCH] = USPI_GO_SP_WRITE, [CALLBACK] = USPI_GO_SP_WRITE,
    [CALL_C] = USPI_GO_SP_WRITE,  [LEAVE] = USPI_GO_SP_WRITE,  [TOP] = USPI_GO_TOP_FRAME,
    [THREAD] = USPI_GO_TOP_FRAME};

/* An instruction of INNER: its offset, the distance of sp below its value at the start, and the state of the
 * registers. */
struct stage {
    unsigned at, depth;
    bool has_lr; /* the return address is in the link register */
    bool has_fp; /* the frame pointer points to the place of the frame's own record */
    bool stored; /* the record has been written */
    const char *rule;
};

struct processor {
    uint32_t arch;
    unsigned word, quantum, first; /* first: bytes of a prologue's first instruction */
    struct run inner[8];
    const char *call;
    struct stage stages[10];
};

#define LOST_X86_64 " rbx=? rbp=[cfa-16] r12=? r13=? r14=? r15=?"
#define LOST_ARM64  " x19=? x20=? x21=? x22=? x23=? x24=? x25=? x26=? x27=? x28=?"
#define LOST_ARM    " r4=? r5=? r6=? r8=? r9=? r10=? r11=?"

static const struct processor processors[] = {
    /* push rbp; mov rbp, rsp; sub rsp, 16; nop; add rsp, 16; pop rbp; ret */
    {.arch = USP_ARCH_X86_64,
     .word = 8,
     .quantum = 1,
     .first = 1,
     .inner = {{0, 1}, {8, 7}, {24, 5}, {8, 1}, {0, 18}},
     .call = "ffd0",
     .stages = {{0, 0, .rule = "cfa=rsp+8 ra=[cfa-8] rbx=? r12=? r13=? r14=? r15=?"},
                {1, 8, .stored = true, .rule = "cfa=rsp+16 ra=[cfa-8]" LOST_X86_64},
                {4, 8, .stored = true, .has_fp = true, .rule = "cfa=rsp+16 ra=[cfa-8]" LOST_X86_64},
                {8, 24, .stored = true, .has_fp = true, .rule = "cfa=rsp+32 ra=[cfa-8]" LOST_X86_64},
                {9, 24, .stored = true, .has_fp = true, .rule = "cfa=rsp+32 ra=[cfa-8]" LOST_X86_64},
                {13, 8, .stored = true, .has_fp = true, .rule = NULL},
                {14, 0, .stored = true, .rule = NULL}}},
    /* sub esp, 12; nop; add esp, 12; ret */
    {.arch = USP_ARCH_I386,
     .word = 4,
     .quantum = 1,
     .first = 3,
     .inner = {{0, 3}, {12, 4}, {0, 25}},
     .call = "ffd0",
     .stages = {{0, 0, .rule = "cfa=esp+4 ra=[cfa-4] ebx=? esi=? edi=?"},
                {3, 12, .rule = "cfa=esp+16 ra=[cfa-4] ebx=? esi=? edi=?"},
                {4, 12, .rule = NULL},
                {7, 0, .rule = NULL}}},
    /* str x30, [sp, #-16]!; stur x29, [sp, #-8]; sub x29, sp, #8; sub sp, sp, #16; nop; add sp, sp, #16;
     * ldp x29, x30, [sp, #-8]; add sp, sp, #16; ret */
    {.arch = USP_ARCH_ARM64,
     .word = 8,
     .quantum = 4,
     .first = 4,
     .inner = {{0, 4}, {16, 12}, {32, 8}, {16, 8}},
     .call = "00013fd6",
     .stages = {{0, 0, .has_lr = true, .rule = "cfa=sp ra=x30" LOST_ARM64},
                {4, 16, .rule = "cfa=sp+16 ra=[cfa-16]" LOST_ARM64 " x29=[cfa-24]"},
                {8, 16, .stored = true, .rule = "cfa=sp+16 ra=[cfa-16]" LOST_ARM64 " x29=[cfa-24]"},
                {12, 16, .stored = true, .has_fp = true, .rule = NULL},
                {16, 32, .stored = true, .has_fp = true, .rule = "cfa=sp+32 ra=[cfa-16]" LOST_ARM64 " x29=[cfa-24]"},
                {20, 32, .stored = true, .has_fp = true, .rule = NULL},
                {24, 16, .stored = true, .has_fp = true, .rule = NULL},
                {28, 16, .stored = true, .rule = NULL}}},
    /* str lr, [sp, #-8]!; sub sp, sp, #8; nop; add sp, sp, #8; ldr pc, [sp], #8 */
    {.arch = USP_ARCH_ARMV7,
     .word = 4,
     .quantum = 4,
     .first = 4,
     .inner = {{0, 4}, {8, 4}, {16, 8}, {8, 16}},
     .call = "31ff2fe1",
     .stages = {{0, 0, .has_lr = true, .rule = "cfa=sp ra=lr" LOST_ARM},
                {4, 8, .rule = "cfa=sp+8 ra=[cfa-8]" LOST_ARM},
                {8, 16, .rule = "cfa=sp+16 ra=[cfa-8]" LOST_ARM},
                {12, 16, .rule = NULL},
                {16, 8, .rule = NULL}}},
};

static bool has_lr(const struct processor *p) { return p->quantum == 4; }

/* ---- the table ---- */

static struct builder table;
static struct usp_unwind_tables given;

static void put_list(const struct processor *p, const struct run *runs) {
    int before = -1;
    for (unsigned i = 0; i < 8 && runs[i].length != 0; i++) {
        put_run(&table, runs[i].delta - before, runs[i].length / p->quantum);
        before = runs[i].delta;
    }
    put(&table, 1, 0);
}

/* Every function but INNER has a frame of 32 bytes after its first instruction; the runtime's goexit has no frame. */
static void build_table(const struct processor *p) {
    const unsigned w = p->word;
    const struct run frame[8] = FRAME(32, p->first), none[8] = {{0, 32}};
    uint64_t offsets[FUNCTIONS], lists[FUNCTIONS];
    memset(&table, 0, sizeof table);
    put(&table, 4, 0xfffffff1);
    put(&table, 2, 0);
    put(&table, 1, p->quantum);
    put(&table, 1, w);
    put(&table, w, FUNCTIONS);
    put(&table, w, 0);
    put(&table, w, TEXT);
    const size_t parts = table.size;
    for (unsigned i = 0; i < 5; i++) put(&table, w, 0);
    patch(&table, parts, w, table.size);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        offsets[i] = table.size;
        put_bytes(&table, names[i], strlen(names[i]) + 1);
    }
    const uint64_t first_name = offsets[0];
    for (unsigned i = 1; i < 3; i++) patch(&table, parts + w * i, w, table.size);
    const size_t runs = table.size;
    patch(&table, parts + 3 * w, w, runs);
    put(&table, 1, 0);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        lists[i] = table.size - runs;
        put_list(p, i == INNER ? p->inner : i == GOEXIT ? none : frame);
    }
    align_to(&table, 8);
    const size_t functions = table.size;
    patch(&table, parts + 4 * w, w, functions);
    for (unsigned i = 0; i <= FUNCTIONS; i++) {
        put(&table, 4, AT(i) - TEXT);
        if (i < FUNCTIONS) put(&table, 4, 0);
    }
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        patch(&table, functions + 8 * i + 4, 4, table.size - functions);
        put(&table, 4, AT(i) - TEXT);
        put(&table, 4, offsets[i] - first_name);
        put(&table, 4, 0);
        put(&table, 4, 0);
        put(&table, 4, lists[i]);
        for (unsigned k = 0; k < 5; k++) put(&table, 4, 0);
        put(&table, 1, 0);
        put(&table, 1, flags[i]);
        put(&table, 2, 0);
    }
}

static void free_table(void) { builder_free(&table); }

static enum uspi_described describe(const struct processor *p, usp_addr pc, bool exact, struct uspi_table_entry *entry,
                                    bool *is_top) {
    const struct uspi_source source = {.name = "table", .base = table.bytes};
    struct uspi_go_table opened;
    if (uspi_go_table_open(&opened, (struct uspi_bytes){&source, 0, table.size}) != USP_OK) return USPI_NOT_DESCRIBED;
    return uspi_go_describe(&opened, uspi_backend_find(p->arch), pc, exact, entry, is_top);
}

/* ---- rules ---- */

START_TEST(rules_of_each_instruction) {
    const struct processor *p = &processors[_i];
    struct uspi_table_entry entry;
    struct uspi_packed_rule packed;
    struct uspi_rule again;
    char text[RULE_TEXT], text_again[RULE_TEXT];
    bool is_top;
    build_table(p);
    for (const struct stage *s = p->stages; s == p->stages || s->at != 0; s++) {
        ck_assert_int_eq(describe(p, AT(INNER) + s->at, true, &entry, &is_top), USPI_DESCRIBED);
        ck_assert_uint_eq(entry.start, AT(INNER));
        ck_assert_uint_eq(entry.end, AT(SWITCH));
        ck_assert(!is_top);
        rule_text(p->arch, &entry.rule, text);
        if (s->rule != NULL) ck_assert_str_eq(text, s->rule);
        /* The rule can be packed for the rule cache. */
        ck_assert(uspi_rule_pack(uspi_backend_find(p->arch), &entry.rule, USP_FRAME_METHOD_GO, &packed));
        ck_assert_uint_eq(uspi_rule_unpack(uspi_backend_find(p->arch), &packed, &again), USP_FRAME_METHOD_GO);
        ck_assert_str_eq(rule_text(p->arch, &again, text_again), text);
    }
    ck_assert_int_eq(describe(p, AT(GOEXIT), true, &entry, &is_top), USPI_DESCRIBED);
    ck_assert(is_top);
    ck_assert_int_eq(describe(p, AT(SWITCH) + 8, true, &entry, &is_top), USPI_CANNOT_UNWIND);
    ck_assert_int_eq(describe(p, AT(SWITCH) + 8, false, &entry, &is_top), USPI_CANNOT_UNWIND);
    ck_assert_int_eq(describe(p, AT(CALLBACK) + 8, true, &entry, &is_top), USPI_CANNOT_UNWIND);
    ck_assert_int_eq(describe(p, AT(CALLBACK) + 8, false, &entry, &is_top), USPI_DESCRIBED);
    /* After a call that was made without a frame the return address is lost: the link register has been overwritten. */
    ck_assert_int_eq(describe(p, AT(OUTER) + p->first - 1, false, &entry, &is_top),
                     has_lr(p) ? USPI_CANNOT_UNWIND : USPI_DESCRIBED);
    ck_assert_int_eq(describe(p, TEXT - 1, true, &entry, &is_top), USPI_NOT_DESCRIBED);
    ck_assert_int_eq(describe(p, AT(FUNCTIONS), true, &entry, &is_top), USPI_NOT_DESCRIBED);
}
END_TEST

/* Tables of a processor with another word size, and invalid deltas, must give no rule. */
START_TEST(lists_that_make_no_sense) {
    const struct processor *p = &processors[0];
    struct uspi_table_entry entry;
    bool is_top;
    build_table(p);
    ck_assert_int_eq(describe(&processors[1], AT(INNER), true, &entry, &is_top), USPI_NOT_DESCRIBED);
    for (size_t at = 0; at < table.size; at++) {
        /* INNER's list: -1 + 1, 1 byte; 0 + 8, 7 bytes. */
        static const uint8_t bytes[] = {2, 1, 16, 7, 32, 5};
        if (at + sizeof bytes > table.size || memcmp(table.bytes + at, bytes, sizeof bytes) != 0) continue;
        patch(&table, at + 2, 1, 14); /* 7 */
        ck_assert_int_eq(describe(p, AT(INNER) + 1, true, &entry, &is_top), USPI_TABLE_CORRUPT);
        patch(&table, at + 2, 1, 15); /* -8 */
        ck_assert_int_eq(describe(p, AT(INNER) + 1, true, &entry, &is_top), USPI_NOT_DESCRIBED);
        patch(&table, at + 2, 1, 0); /* the list ends */
        ck_assert_int_eq(describe(p, AT(INNER), true, &entry, &is_top), USPI_DESCRIBED);
        ck_assert_int_eq(describe(p, AT(INNER) + 1, true, &entry, &is_top), USPI_NOT_DESCRIBED);
        return;
    }
    ck_abort_msg("the list was not found");
}
END_TEST

/* A list with more runs than a function can have must not be followed to its end. */
START_TEST(endless_lists) {
    const struct processor *p = &processors[0];
    struct uspi_table_entry entry;
    bool is_top;
    const unsigned runs = 40000;
    build_table(p);
    /* The last function gets a list of that length, and as many bytes. */
    const struct uspi_source source = {.name = "table", .base = table.bytes};
    struct uspi_go_table opened;
    ck_assert_int_eq(uspi_go_table_open(&opened, (struct uspi_bytes){&source, 0, table.size}), USP_OK);
    const size_t functions = (size_t)opened.functions,
                 record = (size_t)uspi_le32(table.bytes + functions + 8 * CLONE + 4);
    patch(&table, functions + record + 16, 4, table.size - opened.runs);
    patch(&table, functions + 8 * FUNCTIONS, 4, AT(CLONE) - TEXT + runs);
    for (unsigned i = 0; i < runs; i++) put_run(&table, i == 0 ? 1 : i % 2 != 0 ? 8 : -8, 1);
    put(&table, 1, 0);
    ck_assert_int_eq(describe(p, AT(CLONE) + 1000, true, &entry, &is_top), USPI_DESCRIBED);
    ck_assert_int_eq(describe(p, AT(CLONE) + 16383, true, &entry, &is_top), USPI_DESCRIBED);
    ck_assert_int_eq(describe(p, AT(CLONE) + 16384, true, &entry, &is_top), USPI_NOT_DESCRIBED);
}
END_TEST

static struct uspi_go_switch describe_switch(const struct processor *p, usp_addr pc, struct uspi_table_entry *entry) {
    const struct uspi_source source = {.name = "table", .base = table.bytes};
    struct uspi_go_table opened;
    if (uspi_go_table_open(&opened, (struct uspi_bytes){&source, 0, table.size}) != USP_OK) {
        return (struct uspi_go_switch){.way = USPI_GO_NOWHERE};
    }
    return uspi_go_describe_switch(&opened, uspi_backend_find(p->arch), pc, entry);
}

/* Checks that every rule is a valid one, whatever the table's bytes are. */
static void check_rules(const struct processor *p) {
    const struct uspi_backend *b = uspi_backend_find(p->arch);
    struct uspi_table_entry entry;
    bool is_top;
    for (usp_addr pc = TEXT; pc < AT(FUNCTIONS); pc += 5) {
        const struct uspi_go_switch s = describe_switch(p, pc, &entry);
        if (s.way != USPI_GO_NOWHERE) {
            ck_assert(entry.rule.cfa.kind == USPI_GIVEN && s.cfa >= 0 && s.cfa % (int32_t)b->word == 0);
            ck_assert(entry.start <= pc && pc < entry.end && s.record % (int32_t)b->word == 0);
        }
        if (describe(p, pc, (pc & 1) != 0, &entry, &is_top) != USPI_DESCRIBED) continue;
        ck_assert(entry.rule.cfa.kind == USPI_REGISTER && entry.rule.cfa.base == b->sp && entry.rule.cfa.offset >= 0);
        ck_assert_uint_eq((unsigned)entry.rule.cfa.offset % b->word, 0);
        ck_assert(entry.start <= pc && pc < entry.end);
    }
}

START_TEST(damage_of_every_byte) {
    const struct processor *p = &processors[_i];
    build_table(p);
    const size_t size = table.size;
    for (size_t at = 0; at < size; at++) {
        const uint8_t byte = table.bytes[at];
        static const uint8_t others[] = {0, 1, 0x7f, 0x80, 0xff};
        for (unsigned k = 0; k < sizeof others; k++) {
            table.bytes[at] = others[k];
            check_rules(p);
        }
        table.bytes[at] = byte;
        table.size = at;
        check_rules(p);
        table.size = size;
    }
}
END_TEST

/* ---- walks ---- */

static int read_table(void *context, usp_addr from, void *to, size_t n) {
    struct fixture *f = context;
    if (from >= TABLE && from - TABLE < table.size) return read_range(TABLE, table.bytes, table.size, from, to, n);
    return image_read(&f->memory, from, to, n);
}

static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    (void)context;
    if (pc < TEXT || pc >= AT(FUNCTIONS)) return USP_ERROR_NOT_FOUND;
    *tables = given;
    return USP_OK;
}

/* All Go code is filled with calls, so that every return address that is a multiple of the call's length follows one;
 * but goexit begins with another instruction. */
static struct fixture *begin_image(const struct processor *p, uint32_t readers) {
    struct fixture *f = begin(p->arch, USP_OS_LINUX);
    const size_t n = strlen(p->call) / 2;
    struct builder code = {0};
    build_table(p);
    while (code.size + n <= AT(FUNCTIONS) - TEXT) put_hex(&code, p->call);
    memset(code.bytes, 0, p->quantum);
    image_bytes(&f->memory, TEXT, code.bytes, code.size);
    image_bytes(&f->memory, C, code.bytes, 64);
    builder_free(&code);
    memset(&given, 0, sizeof given);
    given.go_functions = (struct usp_memory_range){TABLE, table.size};
    given.go_text = TEXT;
    f->target.memory = (struct usp_memory){read_table, f};
    f->target.unwind_tables_at = tables_at;
    f->options.readers = readers;
    return f;
}

static void set_lr(struct fixture *f, const struct processor *p, usp_addr lr) {
    if (has_lr(p)) usp_registers_set_lr(&f->registers, lr);
}

/* The places of a frame of 32 bytes that ends at `cfa` (on x86 after the return address): its return address and its
 * saved frame pointer. */
static usp_addr ra_place(const struct processor *p, usp_addr cfa) { return has_lr(p) ? cfa - 32 : cfa - p->word; }
static usp_addr fp_place(const struct processor *p, usp_addr cfa) { return ra_place(p, cfa) - p->word; }
static usp_addr sp_of(const struct processor *p, usp_addr cfa) { return cfa - 32 - (has_lr(p) ? 0 : p->word); }

/* Sets a word of the stack that a walk sees, in the last region. */
static void set_word(struct fixture *f, const struct processor *p, usp_addr at, usp_addr value) {
    uint8_t *bytes = f->memory.regions[f->memory.count - 1].bytes + (at - f->memory.regions[f->memory.count - 1].from);
    for (unsigned i = 0; i < p->word; i++) bytes[i] = (uint8_t)(value >> 8 * i);
}

#define TOP_OF_STACK (STACK + 512)

static void begin_stack(struct fixture *f) {
    uint8_t stale[512];
    memset(stale, 0xdb, sizeof stale);
    image_bytes(&f->memory, STACK, stale, sizeof stale);
}

/* OUTER, a goroutine's first function, has called INNER. The walk must be right at each instruction of INNER. */
START_TEST(walks_from_each_instruction) {
    const struct processor *p = &processors[_i];
    for (const struct stage *s = p->stages; s == p->stages || s->at != 0; s++) {
        struct fixture *f = begin_image(p, USP_READER_GO);
        const usp_addr outer_cfa = TOP_OF_STACK, outer_fp = fp_place(p, outer_cfa);
        const usp_addr cfa = sp_of(p, outer_cfa), returns_to = AT(OUTER) + 16;
        const usp_addr start = cfa - (has_lr(p) ? 0 : p->word);
        const unsigned frame = has_lr(p) ? (unsigned)p->inner[1].delta : p->word;
        begin_stack(f);
        set_word(f, p, ra_place(p, outer_cfa), AT(GOEXIT) + p->quantum);
        set_word(f, p, outer_fp, 0);
        if (s->depth != 0 || !has_lr(p)) set_word(f, p, cfa - frame, returns_to);
        if (s->stored) set_word(f, p, cfa - frame - p->word, outer_fp);
        set_registers(f, AT(INNER) + s->at, start - s->depth, s->has_fp ? cfa - frame - p->word : outer_fp);
        set_lr(f, p, s->has_lr ? returns_to : STALE);
        EXPECT(f, USP_STOP_ROOT, AT(INNER) + s->at, returns_to, AT(GOEXIT) + p->quantum);
        ck_assert_uint_eq(f->frames[0].cfa, cfa);
        ck_assert_uint_eq(f->frames[1].cfa, outer_cfa);
        ck_assert_uint_eq(f->frames[2].method, USP_FRAME_METHOD_GO);
        ck_assert_uint_eq(f->frames[1].kind, s->has_lr ? USP_FRAME_KIND_LINK_REGISTER : USP_FRAME_KIND_RETURN_ADDRESS);
        if (p->word == 8) ck_assert_uint_eq(f->frames[1].fp, outer_fp);
        /* Without this reader no caller must be found. */
        f->options.readers = USP_READER_TABLES & ~(uint32_t)USP_READER_GO;
        EXPECT(f, USP_STOP_NO_RECORD, AT(INNER) + s->at);
        free_table();
    }
}
END_TEST

/* INNER faults at its first instruction. The signal's handler has put its link register on the stack, and the walk must
 * find it there. */
START_TEST(a_call_that_a_signal_made) {
    const struct processor *p = &processors[_i];
    struct fixture *f = begin_image(p, USP_READER_GO);
    const usp_addr outer_cfa = TOP_OF_STACK, sp = sp_of(p, outer_cfa) - (has_lr(p) ? 0 : p->word);
    const unsigned pushed = !has_lr(p) ? 0 : p->word == 8 ? 16 : 4;
    const usp_addr cfa = sp - pushed;
    begin_stack(f);
    set_word(f, p, ra_place(p, outer_cfa), AT(GOEXIT) + p->quantum);
    set_word(f, p, has_lr(p) ? cfa : sp, AT(OUTER) + 16);
    set_word(f, p, ra_place(p, cfa), AT(INNER));
    set_word(f, p, fp_place(p, cfa), fp_place(p, outer_cfa));
    set_registers(f, AT(PANIC) + 16, sp_of(p, cfa), fp_place(p, cfa));
    set_lr(f, p, STALE);
    EXPECT(f, USP_STOP_ROOT, AT(PANIC) + 16, AT(INNER), AT(OUTER) + 16, AT(GOEXIT) + p->quantum);
    ck_assert_uint_eq(f->frames[1].kind, USP_FRAME_KIND_SIGNAL);
    ck_assert_uint_eq(f->frames[1].cfa, sp_of(p, outer_cfa));
    ck_assert_uint_eq(f->frames[2].cfa, outer_cfa);
    if (p->word == 8) ck_assert_uint_eq(f->frames[2].fp, fp_place(p, outer_cfa));
}
END_TEST

/* A function changes stacks: neither this table nor other tables made from the same lists may be used. */
START_TEST(functions_that_change_stacks) {
    const struct processor *p = &processors[_i];
    struct fixture *f = begin_image(p, USP_READER_TABLES);
    begin_stack(f);
    set_word(f, p, ra_place(p, TOP_OF_STACK), AT(OUTER) + 16);
    set_registers(f, AT(SWITCH) + 16, sp_of(p, TOP_OF_STACK), 0);
    set_lr(f, p, STALE);
    /* The call frame information here is invalid: a reader that used it would report a contradiction. */
    given.eh_frame_hdr = (struct usp_memory_range){C, 16};
    EXPECT(f, USP_STOP_NO_RECORD, AT(SWITCH) + 16);
    ck_assert_uint_eq(f->stack.flags, 0);
}
END_TEST

/* A function waits in a call before it changes the stack, and in one after that. In the first its instructions show the
 * caller; in the second nothing does, and no word of the other stack must be taken for a return address. */
START_TEST(calls_around_a_change_of_stacks) {
    const struct processor *p = &processors[_i];
    for (unsigned changed = 0; changed < 2 && !has_lr(p); changed++) {
        struct fixture *f = begin_image(p, USP_READER_GO | USP_READER_INSTRUCTIONS);
        const usp_addr outer_cfa = TOP_OF_STACK, sp = sp_of(p, outer_cfa) - 2 * p->word, waits = AT(SWITCH) + 16;
        uint8_t *code = f->memory.regions[0].bytes + (AT(SWITCH) - TEXT);
        if (changed) memcpy(code + 8, p->word == 8 ? "\x48\x8b\x20\x90" : "\x8b\x20\x90\x90", 4); /* mov sp, [ax] */
        begin_stack(f);
        set_word(f, p, ra_place(p, outer_cfa), AT(GOEXIT) + p->quantum);
        set_word(f, p, sp, waits);
        set_word(f, p, sp + p->word, AT(OUTER) + 16);
        set_registers(f, AT(INNER), sp, 0);
        if (changed) {
            EXPECT(f, USP_STOP_NO_RECORD, AT(INNER), waits);
        } else {
            EXPECT(f, USP_STOP_ROOT, AT(INNER), waits, AT(OUTER) + 16, AT(GOEXIT) + p->quantum);
        }
        free_table();
    }
}
END_TEST

#define G         UINT64_C(0x2000)
#define GOROUTINE UINT64_C(0x3000)
#define END       (GOROUTINE + 512)

/* Puts a direct call of a function that returns to `to`. */
static void put_call(struct fixture *f, const struct processor *p, usp_addr to, usp_addr function) {
    uint8_t *code = f->memory.regions[0].bytes + (to - TEXT);
    const uint32_t distance = (uint32_t)(function - to);
    uint32_t word = distance;
    if (has_lr(p))
        word =
            p->word == 8 ? 0x94000000 | ((distance + 4) / 4 & 0x3ffffff) : 0xeb000000 | ((distance - 4) / 4 & 0xffffff);
    else
        code[-5] = 0xe8;
    for (unsigned i = 0; i < 4; i++) code[(int)i - 4] = (uint8_t)(word >> 8 * i);
}

/* A goroutine's OUTER has called `function`, whose frame is on the goroutine's stack, and which has called INNER on
 * another stack. Returns the fixture, which stands at INNER's first instruction. The last region is that stack: at
 * *waits_at is sp after INNER has returned. *frame becomes the CFA of `function`. */
static struct fixture *begin_switch(const struct processor *p, unsigned function, usp_addr *waits_at, usp_addr *frame) {
    struct fixture *f = begin_image(p, USP_READER_GO);
    const usp_addr outer_cfa = END - 64, cfa = sp_of(p, outer_cfa), sp = STACK + 64, waits = AT(function) + 16;
    uint64_t g[4] = {0};
    uint8_t stale[512];
    memset(stale, 0xdb, sizeof stale);
    for (unsigned i = 0; i < p->word; i++) ((uint8_t *)g)[p->word + i] = (uint8_t)(END >> 8 * i);
    image_bytes(&f->memory, G, g, sizeof g);
    image_bytes(&f->memory, GOROUTINE, stale, sizeof stale);
    set_word(f, p, ra_place(p, outer_cfa), AT(GOEXIT) + p->quantum);
    set_word(f, p, fp_place(p, outer_cfa), 0);
    set_word(f, p, ra_place(p, cfa), AT(OUTER) + 16);
    set_word(f, p, fp_place(p, cfa), fp_place(p, outer_cfa));
    put_call(f, p, AT(OUTER) + 16, AT(function));
    begin_stack(f);
    if (!has_lr(p)) set_word(f, p, sp, waits);
    set_registers(f, AT(INNER), sp, fp_place(p, cfa));
    set_lr(f, p, waits);
    *waits_at = has_lr(p) ? sp : sp + p->word;
    *frame = cfa;
    return f;
}

/* C code that a goroutine calls runs on the thread's stack. Its callers must be found on the goroutine's stack by the
 * two words of asmcgocall, at either place where versions of Go put them. */
START_TEST(callers_of_c) {
    const struct processor *p = &processors[_i];
    static const unsigned places[4][2][2] = {{{0, 8}, {40, 48}}, {{4, 8}}, {{8, 0}}, {{16, 20}}};
    enum { MOVED, NO_GOROUTINE, OTHER_CALL, CASES };
    for (unsigned i = 0; i < 2 * CASES && places[_i][i % 2][0] + places[_i][i % 2][1] != 0; i++) {
        const unsigned kind = i / 2, *at = places[_i][i % 2];
        usp_addr sp, cfa;
        struct fixture *f = begin_switch(p, CALL_C, &sp, &cfa);
        const usp_addr place = sp_of(p, cfa), waits = AT(CALL_C) + 16;
        set_word(f, p, sp + at[0], kind == NO_GOROUTINE ? place : END - place);
        set_word(f, p, sp + at[1], kind == NO_GOROUTINE ? 0 : G);
        usp_registers_set_fp(&f->registers, STALE);
        /* A return address after a call of another function is not this frame's. */
        if (kind == OTHER_CALL) {
            put_call(f, p, AT(OUTER) + 16, AT(SWITCH));
            EXPECT(f, USP_STOP_NO_RECORD, AT(INNER), waits);
        } else {
            EXPECT(f, USP_STOP_ROOT, AT(INNER), waits, AT(OUTER) + 16, AT(GOEXIT) + p->quantum);
            ck_assert_uint_eq(f->frames[1].cfa, cfa);
            ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_GO);
            ck_assert_uint_eq(f->frames[2].cfa, END - 64);
            if (p->word == 8) ck_assert_uint_eq(f->frames[2].fp, fp_place(p, END - 64));
        }
        free_table();
    }
}
END_TEST

/* systemstack keeps the frame pointer, where Go has one: the record is that of its own frame. */
START_TEST(callers_of_the_system_stack) {
    const struct processor *p = &processors[_i];
    usp_addr sp, cfa;
    struct fixture *f = begin_switch(p, SWITCH, &sp, &cfa);
    const usp_addr waits = AT(SWITCH) + 16;
    if (p->word == 8) {
        EXPECT(f, USP_STOP_ROOT, AT(INNER), waits, AT(OUTER) + 16, AT(GOEXIT) + p->quantum);
        ck_assert_uint_eq(f->frames[1].cfa, cfa);
    } else {
        EXPECT(f, USP_STOP_NO_RECORD, AT(INNER), waits);
    }
    put_call(f, p, AT(OUTER) + 16, AT(CALL_C));
    EXPECT(f, USP_STOP_NO_RECORD, AT(INNER), waits);
}
END_TEST

/* A goroutine that called mcall does not wait for it, and may run on another thread. */
START_TEST(a_goroutine_that_has_left) {
    const struct processor *p = &processors[_i];
    usp_addr sp, cfa;
    struct fixture *f = begin_switch(p, LEAVE, &sp, &cfa);
    EXPECT(f, USP_STOP_ROOT, AT(INNER), AT(LEAVE) + 16);
}
END_TEST

/* Go's stacks end in several functions. Those that C has called must have a caller; a thread's and a goroutine's first
 * function must not. */
START_TEST(tops_of_stacks) {
    const struct processor *p = &processors[_i];
    static const struct {
        unsigned function;
        usp_addr returns_to;
        bool goes_on;
    } tops[] = {{TOP, C + 16, true},
                {TOP, STALE, false},
                {TOP, 0, false},
                {THREAD, C + 16, true},
                {THREAD, AT(CLONE) + 16, false}};
    for (unsigned i = 0; i < sizeof tops / sizeof tops[0]; i++) {
        static usp_addr root;
        struct fixture *f = begin_image(p, USP_READER_GO);
        const usp_addr pc = AT(tops[i].function) + 16;
        begin_stack(f);
        root = C + 16;
        f->target.roots = &root;
        f->target.root_count = 1;
        set_word(f, p, ra_place(p, TOP_OF_STACK), tops[i].returns_to);
        set_registers(f, pc, sp_of(p, TOP_OF_STACK), 0);
        set_lr(f, p, STALE);
        if (tops[i].goes_on) {
            EXPECT(f, USP_STOP_ROOT, pc, tops[i].returns_to);
        } else {
            EXPECT(f, USP_STOP_ROOT, pc);
        }
        free_table();
    }
}
END_TEST

/* ---- where it is ---- */

static int read_program(void *context, usp_addr from, void *to, size_t n) {
    const struct builder *program = context;
    return read_range(GO_BASE, program->bytes, program->size, from, to, n);
}

/* A program without section headers: the table must be found in its memory alone, by the code start of the table's
 * header or of the module. */
START_TEST(a_loaded_program) {
    const enum uspi_go_version version = (enum uspi_go_version)_i;
    struct go_table t;
    struct builder program;
    struct usp_image image = {
        .path = "/program", .arch = USP_ARCH_X86_64, .load_address = GO_BASE, .text_low = GO_TEXT};
    struct uspi_image_list list = {0};
    struct usp_images *images;
    struct uspi_image_tables *tables;
    struct usp_unwind_tables found = {0};
    build_go_table(&t, version, version == USPI_GO_1_20 ? 0 : GO_TEXT);
    build_go_program(&program, &t, true);
    image.end = image.text_high = GO_BASE + program.size;
    const struct usp_memory memory = {read_program, &program};
    ck_assert_int_eq(uspi_image_list_add(&list, &image), USP_OK);
    ck_assert_int_eq(uspi_image_list_seal(&list, &images), USP_OK);
    ck_assert_int_eq(uspi_image_tables_create(images, &memory, NULL, UINT64_MAX, &tables), USP_OK);
    ck_assert_int_eq(uspi_image_tables_at(tables, GO_TEXT, &found), USP_OK);
    ck_assert_uint_eq(found.go_functions.address, GO_TABLE);
    ck_assert_uint_ge(found.go_functions.size, t.bytes.size);
    ck_assert_uint_eq(found.go_text, version >= USPI_GO_1_18 ? GO_TEXT : 0);
    uspi_image_tables_free(tables);
    usp_images_free(images);
    builder_free(&program);
    builder_free(&t.bytes);
}
END_TEST

int main(void) {
    TCase *rules = tcase_create("rules"), *walks = tcase_create("walks"), *images = tcase_create("images");
    tcase_add_checked_fixture(rules, NULL, free_table);
    add_loop_tests(rules, 0, ELEMENTS(processors), rules_of_each_instruction, damage_of_every_byte);
    add_tests(rules, lists_that_make_no_sense, endless_lists);
    tcase_add_checked_fixture(walks, NULL, free_table);
    add_loop_tests(walks, 0, ELEMENTS(processors), walks_from_each_instruction, a_call_that_a_signal_made,
                   functions_that_change_stacks, calls_around_a_change_of_stacks, callers_of_c,
                   callers_of_the_system_stack, a_goroutine_that_has_left, tops_of_stacks);
    add_loop_tests(images, USPI_GO_1_2, USPI_GO_1_20 + 1, a_loaded_program);
    return run_suite("go_frames", rules, walks, images);
}
