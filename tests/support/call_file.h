/* SPDX-License-Identifier: MIT */
/* Builds programs that consist of calls: an ELF file with debug information that has call sites, a symbol table and a
 * build id. A function's name is one letter. A function has 64 bytes of code, in the order in which the units list them
 * from CODE_LOW on, and a row for each 8 bytes. Function number k has the lines from 100 × (k + 1) on. Its n-th call,
 * counted from 0, ends 8 × (n + 1) bytes after its beginning, so it is in line 100 × (k + 1) + n. */
#ifndef TESTS_SUPPORT_CALL_FILE_H
#define TESTS_SUPPORT_CALL_FILE_H

#include "tests/support/dwarf_file.h"

#define CALL_CODE 64u

/* The forms of call sites. */
enum site_form { GNU_SITES, RETURN_SITES, JUMP_SITES /* tail calls have the jump's own address */ };

struct call_program {
    const char *units;  /* the functions of each unit, "cb|xa" */
    const char *calls;  /* "c>b b~x": c calls b, b makes a tail call to x; "c>* b~*": through a pointer */
    const char *unsure; /* functions whose entries do not state that all their calls are described; NULL: none */
    const char *others; /* further symbols: "q=b r=x": q is one of b's names; NULL: none */
    enum site_form form;
    bool is_stripped; /* there is no symbol table */
};

/* Abbreviations, numbered after those of dwarf_file.h. */
enum call_entry {
    CALLER = 50,  /* a function: name, low_pc, high_pc, GNU_all_call_sites */
    CALLER_5,     /* the same with call_all_calls */
    CALLER_PARTS, /* a function: name, ranges, GNU_all_call_sites */
    OUTSIDE,      /* a function: name, external, declaration */
    SITE,         /* GNU's: low_pc, abstract_origin */
    SITE_5,       /* call_return_pc, call_origin */
    TAIL,         /* GNU's: low_pc, GNU_tail_call, abstract_origin */
    TAIL_5,       /* call_return_pc, call_tail_call, call_origin */
    TAIL_JUMP,    /* call_pc, call_tail_call, call_origin */
    POINTER,      /* GNU's: low_pc */
    POINTER_5,    /* call_return_pc */
    POINTER_TAIL, /* GNU's: low_pc, GNU_tail_call */
    POINTER_TAIL_5,
    POINTER_TAIL_JUMP
};

static inline void put_call_abbreviations(struct dwarf_file *f) {
    put_abbreviations(f);
    put_abbreviation(f, CALLER, 0x2e, true, PAIRS(0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0x2117, 0x19));
    put_abbreviation(f, CALLER_5, 0x2e, true, PAIRS(0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0x7a, 0x19));
    put_abbreviation(f, CALLER_PARTS, 0x2e, true, PAIRS(0x03, 0x08, 0x55, 0x17, 0x2117, 0x19));
    put_abbreviation(f, OUTSIDE, 0x2e, false, PAIRS(0x03, 0x08, 0x3f, 0x19, 0x3c, 0x19));
    put_abbreviation(f, SITE, 0x4109, false, PAIRS(0x11, 0x01, 0x31, 0x13));
    put_abbreviation(f, SITE_5, 0x48, false, PAIRS(0x7d, 0x01, 0x7f, 0x13));
    put_abbreviation(f, TAIL, 0x4109, false, PAIRS(0x11, 0x01, 0x2115, 0x19, 0x31, 0x13));
    put_abbreviation(f, TAIL_5, 0x48, false, PAIRS(0x7d, 0x01, 0x82, 0x19, 0x7f, 0x13));
    put_abbreviation(f, TAIL_JUMP, 0x48, false, PAIRS(0x81, 0x01, 0x82, 0x19, 0x7f, 0x13));
    put_abbreviation(f, POINTER, 0x4109, false, PAIRS(0x11, 0x01));
    put_abbreviation(f, POINTER_5, 0x48, false, PAIRS(0x7d, 0x01));
    put_abbreviation(f, POINTER_TAIL, 0x4109, false, PAIRS(0x11, 0x01, 0x2115, 0x19));
    put_abbreviation(f, POINTER_TAIL_5, 0x48, false, PAIRS(0x7d, 0x01, 0x82, 0x19));
    put_abbreviation(f, POINTER_TAIL_JUMP, 0x48, false, PAIRS(0x81, 0x01, 0x82, 0x19));
}

/* ---- positions of functions and calls ---- */

/* The number of a function in the program. */
static inline unsigned place_of(const struct call_program *program, char function) {
    unsigned place = 0;
    for (const char *at = program->units; *at != '\0'; at++) {
        if (*at == function) return place;
        place += *at != '|';
    }
    abort();
}

static inline uint64_t start_of(const struct call_program *program, char function) {
    return CODE_LOW + CALL_CODE * place_of(program, function);
}

/* The address where a function's n-th call ends. */
static inline uint64_t end_of_call(const struct call_program *program, char function, unsigned n) {
    return start_of(program, function) + 8 * (n + 1);
}

/* ---- debug information ---- */

/* Offsets of entries from their unit's beginning, by letter: of functions with code, and of declarations. */
struct call_offsets {
    uint32_t function[128], outside[128];
};

static inline void put_site(struct dwarf_file *f, const struct call_program *program, const char *call, unsigned n,
                            uint32_t origin) {
    static const unsigned kinds[3][4] = {{SITE, TAIL, POINTER, POINTER_TAIL},
                                         {SITE_5, TAIL_5, POINTER_5, POINTER_TAIL_5},
                                         {SITE_5, TAIL_JUMP, POINTER_5, POINTER_TAIL_JUMP}};
    const bool is_tail = call[1] == '~', is_pointer = call[2] == '*';
    const uint64_t end = end_of_call(program, call[0], n);
    put_leb(&f->info, kinds[program->form][2 * is_pointer + is_tail]);
    put_code_address(f, &f->info, program->form == JUMP_SITES && is_tail ? end - 5 : end);
    if (!is_pointer) put(&f->info, 4, origin);
}

/* Puts a function with its call sites. */
static inline void put_caller(struct dwarf_file *f, const struct call_program *program, char function,
                              struct call_offsets *offsets) {
    const bool is_unsure = program->unsure != NULL && strchr(program->unsure, function) != NULL;
    const unsigned kind = is_unsure ? FUNCTION : program->form == GNU_SITES ? CALLER : CALLER_5;
    const char name[2] = {function, '\0'};
    unsigned n = 0;
    offsets->function[(unsigned)function] = put_function(f, kind, name, start_of(program, function), CALL_CODE);
    for (const char *call = program->calls; *call != '\0'; call += call[3] == ' ' ? 4 : 3) {
        if (call[0] != function) continue;
        const unsigned callee = (unsigned char)call[2];
        const uint32_t own = offsets->function[callee];
        put_site(f, program, call, n++, own != 0 ? own : offsets->outside[callee]);
    }
    end_entry(f);
}

/* Puts one unit: the functions up to the next '|', and declarations of the functions of other units that they call. */
static inline void put_call_unit(struct dwarf_file *f, const struct call_program *program, const char *functions) {
    const size_t count = strcspn(functions, "|");
    struct call_offsets offsets = {{0}, {0}};
    const size_t before = f->info.size;
    /* Puts the unit twice: the first pass finds the offsets of entries that come after those that refer to them. */
    for (unsigned pass = 0; pass < 2; pass++) {
        f->info.size = before;
        begin_unit(f, "calls.c", start_of(program, functions[0]), count * CALL_CODE);
        for (const char *call = program->calls; *call != '\0'; call += call[3] == ' ' ? 4 : 3) {
            const bool is_own = memchr(functions, call[2], count) != NULL;
            if (memchr(functions, call[0], count) == NULL || is_own || call[2] == '*') continue;
            offsets.outside[(unsigned char)call[2]] = here(f);
            put_leb(&f->info, OUTSIDE);
            put_text(&f->info, (const char[2]){call[2], '\0'});
        }
        for (size_t i = 0; i < count; i++) put_caller(f, program, functions[i], &offsets);
        end_unit(f);
    }
    begin_lines(f);
    for (size_t i = 0; i < count; i++) {
        put_address(f, start_of(program, functions[i]));
        put_row(f, 0, (int)(100 * (place_of(program, functions[i]) + 1)) - 1);
        for (unsigned k = 1; k < CALL_CODE / 8; k++) put_row(f, 8, 1);
        put_end(f, 8);
    }
    end_lines(f);
}

/* ---- the file ---- */

/* Finishes the file of a program whose units are in `f`; frees the parts. */
static inline struct builder finish_call_file(struct dwarf_file *f, const struct call_program *program) {
    enum { SYMBOLS = 128 };
    char names[SYMBOLS][2] = {{0}};
    struct dwarf_symbol symbols[SYMBOLS + 1] = {{0}};
    unsigned count = 0;
    for (const char *at = program->units; *at != '\0' && !program->is_stripped; at++) {
        if (*at == '|') continue;
        if (count == SYMBOLS) abort();
        names[count][0] = *at;
        symbols[count++] = (struct dwarf_symbol){NULL, start_of(program, *at), CALL_CODE};
    }
    for (const char *at = program->others; at != NULL && *at != '\0'; at += at[3] == ' ' ? 4 : 3) {
        if (count == SYMBOLS) abort();
        names[count][0] = at[0];
        symbols[count++] = (struct dwarf_symbol){NULL, start_of(program, at[2]), CALL_CODE};
    }
    for (unsigned i = 0; i < count; i++) symbols[i].name = names[i];
    f->symbols = symbols;
    f->has_build_id = true;
    return finish_dwarf_file(f);
}

static inline struct builder make_call_file(const struct call_program *program) {
    struct dwarf_file f = {0};
    put_call_abbreviations(&f);
    for (const char *unit = program->units;;) {
        put_call_unit(&f, program, unit);
        unit = strchr(unit, '|');
        if (unit == NULL) break;
        unit++;
    }
    return finish_call_file(&f, program);
}

#endif
