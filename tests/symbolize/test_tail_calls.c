/* SPDX-License-Identifier: MIT */
/* Tests tail calls that are inferred between two frames (usp_symbolize_stack), from call sites that the test makes:
 * which chains of tail calls are accepted, and which add nothing. Each stack is symbolicated three times: by the debug
 * information, by an index of it, and by the index without the file. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/support/call_file.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <unspool/unspool.h>

enum { BY_DWARF, BY_INDEX, BY_INDEX_ALONE, WAYS };

static const struct call_program *program;
static struct usp_images *images[WAYS];
static struct usp_symbolizer *symbolizers[WAYS];
static struct usp_frame frames[4];
static struct usp_stack stack;

/* Makes a stack of two frames: one that was interrupted in a function, and one at the caller's first call. */
static void make_stack(char callee, char caller) {
    usp_stack_init(&stack, frames, ELEMENTS(frames));
    stack.arch = USP_ARCH_X86_64;
    stack.count = stack.physical = 2;
    frames[0] = (struct usp_frame){.pc = start_of(program, callee) + 0x30, .kind = USP_FRAME_KIND_INTERRUPTED};
    frames[1] = (struct usp_frame){.pc = end_of_call(program, caller, 0), .kind = USP_FRAME_KIND_RETURN_ADDRESS};
}

static void open_bytes(struct builder *b) {
    struct usp_symbolizer_options options;
    struct usp_index index;
    struct usp_image alone;
    char error[512];
    make_folder();
    save(b, in_folder("program"));
    builder_free(b);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_msg(usp_images_open(in_folder("program"), NULL, &images[i], error, sizeof error) == USP_OK, "%s",
                      error);
    }
    const struct usp_image *image = usp_images_get(images[BY_DWARF], 0);
    usp_index_init(&index, in_folder("store"));
    ck_assert_msg(usp_index_write(images[BY_DWARF], image, &index) == USP_OK, "%s", index.message);
    ck_assert_msg(usp_index_verify(images[BY_DWARF], image, &index) == USP_OK, "%s", index.message);
    ck_assert_int_eq(usp_index_image(in_folder("store"), image->build_id, image->build_id_size, &alone), USP_OK);
    ck_assert_int_eq(usp_images_create(&alone, 1, &images[BY_INDEX_ALONE]), USP_OK);
    usp_symbolizer_options_init(&options);
    ck_assert_int_eq(usp_symbolizer_create(images[BY_DWARF], &options, &symbolizers[BY_DWARF]), USP_OK);
    options.index_store = in_folder("store");
    ck_assert_int_eq(usp_symbolizer_create(images[BY_INDEX], &options, &symbolizers[BY_INDEX]), USP_OK);
    ck_assert_int_eq(usp_symbolizer_create(images[BY_INDEX_ALONE], &options, &symbolizers[BY_INDEX_ALONE]), USP_OK);
}

static void open_program(const struct call_program *of) {
    program = of;
    struct builder b = make_call_file(of);
    open_bytes(&b);
}

static void close_program(void) {
    for (unsigned i = 0; i < WAYS; i++) {
        usp_symbolizer_free(symbolizers[i]);
        usp_images_free(images[i]);
    }
    remove_folder();
}

/* The source frames of a stack as text: "a x?300 b?200 c"; inferred ones with their line. */
struct text {
    char bytes[512];
    uint32_t caller; /* number of the frame that called the inferred ones, and comes after them; 0: none */
};

static int add_frame(void *context, uint32_t i, const struct usp_source_frame *frame) {
    struct text *text = context;
    const size_t used = strlen(text->bytes);
    char line[16] = "";
    ck_assert_msg(text->caller == 0 || text->caller == i, "frame %u is called by %u", text->caller, i);
    text->caller = (frame->flags & USP_SOURCE_INFERRED) != 0 ? i : 0;
    if (text->caller != 0) snprintf(line, sizeof line, "?%u", frame->line);
    snprintf(text->bytes + used, sizeof text->bytes - used, "%s%s%s", used > 0 ? " " : "", frame->function, line);
    return 0;
}

static void expect_stack(const char *expected) {
    for (unsigned i = 0; i < WAYS; i++) {
        struct text text = {{0}, 0};
        ck_assert_int_eq(usp_symbolize_stack(symbolizers[i], &stack, add_frame, &text), USP_OK);
        ck_assert_msg(strcmp(text.bytes, expected) == 0, "way %u: \"%s\", not \"%s\"", i, text.bytes, expected);
    }
}

/* Checks the stack of a program in which c has called a function and a is on the stack. */
static void expect(const struct call_program *of, const char *expected) {
    open_program(of);
    make_stack('a', 'c');
    expect_stack(expected);
    close_program();
}

static void expect_calls(const char *units, const char *calls, const char *expected) {
    for (int form = GNU_SITES; form <= JUMP_SITES; form++) {
        expect(&(struct call_program){.units = units, .calls = calls, .form = (enum site_form)form}, expected);
    }
}

/* ---- chains of tail calls ---- */

START_TEST(one_way) {
    expect_calls("cba", "c>b b~a", "a b?200 c");
    expect_calls("abxc", "c>b b~x x~a", "a x?300 b?200 c");
    /* The second call in b is the tail call. */
    expect_calls("cbax", "c>b b>x b~a", "a b?201 c");
}
END_TEST

START_TEST(a_call_that_is_no_tail_call) {
    expect_calls("cba", "c>a", "a c");
    /* The calls in a do not matter. */
    expect_calls("cba", "c>a a~b b~a", "a c");
    /* b has called x, and x is not on the stack: that is not a tail call. */
    expect_calls("cbax", "c>b b>x x~a", "a c");
    expect_calls("cba", "c>b b>a", "a c");
}
END_TEST

START_TEST(two_ways) {
    expect_calls("cbaxy", "c>b b~x b~y x~a y~a", "a c");
    expect_calls("cbaxy", "c>b b~x b~a x~a", "a c");
    /* Two jumps to one function: it is unknown which one was executed. */
    expect_calls("cba", "c>b b~a b~a", "a c");
    /* Two chains that part and meet again before the end. */
    expect_calls("cbaxyz", "c>b b~x b~y x~z y~z z~a", "a c");
}
END_TEST

START_TEST(ways_that_lead_elsewhere) {
    expect_calls("cbax", "c>b b~x b~a", "a b?201 c");
    expect_calls("cbaxyz", "c>b b~x b~y x~z y~z y~a", "a y?501 b?201 c");
    expect_calls("cbax", "c>b b~x", "a c");
}
END_TEST

START_TEST(pointers) {
    /* It is unknown what c has called. */
    expect_calls("cba", "c>* b~a", "a c");
    /* It is unknown where b has jumped. */
    expect_calls("cba", "c>b b~*", "a c");
    expect_calls("cba", "c>b b~a b~*", "a c");
    expect_calls("cbax", "c>b b~x x~a x~*", "a c");
    /* A function that leads nowhere may lead there by a pointer. */
    expect_calls("cbax", "c>b b~a b~x x~*", "a c");
    /* A call through a pointer leaves a frame. */
    expect_calls("cba", "c>b b>* b~a", "a b?201 c");
}
END_TEST

/* Without DW_AT_call_all_calls a function may make further tail calls. */
START_TEST(functions_that_are_not_described) {
    expect(&(struct call_program){.units = "cba", .calls = "c>b b~a", .unsure = "b"}, "a c");
    expect(&(struct call_program){.units = "cbax", .calls = "c>b b~x b~a", .unsure = "x"}, "a c");
    /* These functions do not need that attribute. */
    expect(&(struct call_program){.units = "cba", .calls = "c>b b~a", .unsure = "ac"}, "a b?200 c");
}
END_TEST

START_TEST(recursion) {
    expect_calls("cba", "c>b b~b b~a", "a c");
    expect_calls("cbax", "c>b b~x x~b x~a", "a c");
    expect_calls("cbax", "c>b b~x x~b b~a", "a c");
    expect_calls("cbaxy", "c>b b~x x~y y~x y~a", "a c");
    /* A circle in a function that does not lead to a. */
    expect_calls("cbax", "c>b b~x x~x b~a", "a b?201 c");
    expect_calls("cbaxy", "c>b b~x x~y y~x b~a", "a b?201 c");
    /* c calls itself. */
    expect_calls("cba", "c>c c~b b~a", "a b?200 c?101 c");
}
END_TEST

START_TEST(limits) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZdefghijklmnopqrstuvwxyz0123456789!$%&()+,-./:;<=?@[]^_{}";
    char units[128], calls[1024], expected[256] = "a";
    for (unsigned length = 15; length <= 17; length++) {
        size_t used = (size_t)snprintf(calls, sizeof calls, "c>A");
        for (unsigned i = 0; i < length; i++) {
            used += (size_t)snprintf(calls + used, sizeof calls - used, " %c~%c", letters[i],
                                     i + 1 < length ? letters[i + 1] : 'a');
        }
        snprintf(units, sizeof units, "ca%.*s", (int)length, letters);
        size_t n = 1;
        for (unsigned i = length; i-- > 0 && length <= 16;) {
            n += (size_t)snprintf(expected + n, sizeof expected - n, " %c?%u", letters[i], 100 * (i + 3));
        }
        strcpy(expected + n, " c");
        expect_calls(units, calls, expected);
    }
    /* Many functions that lead nowhere: b and six of them each make tail calls to six others. */
    for (unsigned count = 63; count <= 64; count++) {
        size_t used = (size_t)snprintf(calls, sizeof calls, "c>b b~a");
        for (unsigned i = 0; i < count; i++) {
            used += (size_t)snprintf(calls + used, sizeof calls - used, " %c~%c", i < 6 ? 'b' : letters[i / 6 - 1],
                                     letters[i]);
        }
        snprintf(units, sizeof units, "cab%.*s", (int)count, letters);
        expect_calls(units, calls, count == 63 ? "a b?300 c" : "a c");
    }
}
END_TEST

/* ---- stacks ---- */

START_TEST(frames_that_no_call_joins) {
    open_program(&(struct call_program){.units = "cba", .calls = "c>b b~a"});
    make_stack('a', 'c');
    expect_stack("a b?200 c");
    frames[1].kind = USP_FRAME_KIND_LINK_REGISTER;
    expect_stack("a b?200 c");
    frames[1].kind = USP_FRAME_KIND_SIGNAL;
    expect_stack("a c");
    frames[1].pc--; /* inside the call instruction */
    expect_stack("a c");
    frames[1].kind = USP_FRAME_KIND_INTERRUPTED;
    expect_stack("a c");
    make_stack('a', 'c');
    stack.omitted_at = 1;
    stack.omitted = 3;
    expect_stack("a c");
    /* An asynchronous caller has not called the frame before it. */
    make_stack('a', 'c');
    stack.physical = 1;
    expect_stack("a c");
    /* An address in c that is not a call's return address. */
    make_stack('a', 'c');
    frames[1].pc++;
    expect_stack("a c");
    close_program();
}
END_TEST

/* Tail calls are inferred between each two frames separately. */
START_TEST(several_frames) {
    open_program(&(struct call_program){.units = "cbaxy", .calls = "c>b b~a a>y y~x"});
    make_stack('x', 'a');
    frames[2] = (struct usp_frame){.pc = end_of_call(program, 'c', 0), .kind = USP_FRAME_KIND_RETURN_ADDRESS};
    stack.count = stack.physical = 3;
    expect_stack("x y?500 a b?200 c");
    close_program();
}
END_TEST

static int stop_at_inferred(void *context, uint32_t i, const struct usp_source_frame *frame) {
    (void)context;
    (void)i;
    return (frame->flags & USP_SOURCE_INFERRED) != 0 ? 42 : 0;
}

START_TEST(visitors_end_it) {
    open_program(&(struct call_program){.units = "cba", .calls = "c>b b~a"});
    make_stack('a', 'c');
    ck_assert_int_eq(usp_symbolize_stack(symbolizers[0], &stack, stop_at_inferred, NULL), 42);
    ck_assert_int_eq(usp_symbolize_stack(symbolizers[0], NULL, stop_at_inferred, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_symbolize_stack(symbolizers[0], &stack, NULL, NULL), USP_ERROR_ARGUMENT);
    close_program();
}
END_TEST

static int note_address(void *context, uint32_t i, const struct usp_source_frame *frame) {
    (void)i;
    if ((frame->flags & USP_SOURCE_INFERRED) != 0) *(struct usp_source_frame *)context = *frame;
    return 0;
}

/* The address of an inferred frame lies in the jump, whichever address the call site gives. */
START_TEST(addresses_of_jumps) {
    for (int form = GNU_SITES; form <= JUMP_SITES; form++) {
        struct usp_source_frame found = {0};
        open_program(&(struct call_program){.units = "cba", .calls = "c>b b~a", .form = (enum site_form)form});
        make_stack('a', 'c');
        ck_assert_int_eq(usp_symbolize_stack(symbolizers[0], &stack, note_address, &found), USP_OK);
        const uint64_t end = end_of_call(program, 'b', 0);
        ck_assert_uint_ge(found.address, end - 5);
        ck_assert_uint_lt(found.address, end);
        ck_assert_uint_eq(found.start, start_of(program, 'b'));
        close_program();
    }
}
END_TEST

/* ---- from unit to unit ---- */

START_TEST(other_units) {
    expect_calls("c|ba", "c>b b~a", "a b?200 c");
    expect_calls("cb|a", "c>b b~a", "a b?200 c");
    expect_calls("c|b|x|a", "c>b b~x x~a", "a x?300 b?200 c");
    expect_calls("ca|b", "c>b b~a", "a b?300 c");
}
END_TEST

/* A declaration has only a name, and the symbol table gives the function of that name. */
START_TEST(names_that_mean_no_function) {
    expect(&(struct call_program){.units = "c|ba", .calls = "c>b b~a", .is_stripped = true}, "a c");
    expect(&(struct call_program){.units = "cba", .calls = "c>b b~a", .is_stripped = true}, "a b?200 c");
    /* Two functions have the name. */
    expect(&(struct call_program){.units = "c|bax", .calls = "c>b b~a", .others = "b=x"}, "a c");
}
END_TEST

/* The symbol table prefers another one of a function's names. */
START_TEST(other_names) {
    expect(&(struct call_program){.units = "c|ba", .calls = "c>b b~a", .others = "B=b"}, "a b?200 c");
    expect(&(struct call_program){.units = "cb|a", .calls = "c>b b~a", .others = "A=a"}, "a b?200 c");
    expect(&(struct call_program){.units = "c|ab", .calls = "c>a", .others = "A=a"}, "a c");
}
END_TEST

/* Opens a file as an image that is loaded at an address. */
static struct usp_image open_image(const char *name, const struct call_program *of, usp_addr load,
                                   struct usp_images **list) {
    struct usp_image_file_options options;
    struct builder b = make_call_file(of);
    char error[512];
    save(&b, in_folder(name));
    builder_free(&b);
    usp_image_file_options_init(&options);
    options.flags = USP_IMAGE_FILE_LOADED;
    options.load_address = load;
    ck_assert_msg(usp_images_open(in_folder(name), &options, list, error, sizeof error) == USP_OK, "%s", error);
    return *usp_images_get(*list, 0);
}

/* A program calls a function of a library, which jumps to a local one there. The call must not be resolved to the
 * program's own function. */
START_TEST(other_images) {
    static const struct call_program caller = {.units = "cx", .calls = "c>b x>y"};
    static const struct call_program library = {.units = "ba|y", .calls = "b~a y~b", .others = "B=b"};
    enum { CALLER_LOAD = 0x100000, LIBRARY_LOAD = 0x200000 };
    struct usp_images *lists[2];
    make_folder();
    const struct usp_image both[2] = {open_image("caller", &caller, CALLER_LOAD, &lists[0]),
                                      open_image("library", &library, LIBRARY_LOAD, &lists[1])};
    ck_assert_int_eq(usp_images_create(both, 2, &images[BY_DWARF]), USP_OK);
    ck_assert_int_eq(usp_symbolizer_create(images[BY_DWARF], NULL, &symbolizers[BY_DWARF]), USP_OK);
    static const char *const expected[] = {"a b?100 c", "a b?100 y?300 x"};
    for (unsigned i = 0; i < 2; i++) {
        struct text text = {{0}, 0};
        program = &library;
        make_stack('a', 'b');
        frames[0].pc += LIBRARY_LOAD;
        frames[1].pc = CALLER_LOAD + end_of_call(&caller, i == 0 ? 'c' : 'x', 0);
        ck_assert_int_eq(usp_symbolize_stack(symbolizers[BY_DWARF], &stack, add_frame, &text), USP_OK);
        ck_assert_str_eq(text.bytes, expected[i]);
    }
    usp_symbolizer_free(symbolizers[BY_DWARF]);
    usp_images_free(images[BY_DWARF]);
    for (unsigned i = 0; i < 2; i++) usp_images_free(lists[i]);
    remove_folder();
}
END_TEST

/* ---- entries ---- */

/* Begins a unit for five functions, whose entries the test makes. Each 8 bytes of a function are one line, from 10
 * on. */
static struct dwarf_file begin_entries(void) {
    static const struct call_program none = {.units = "cbaxy", .calls = "", .is_stripped = true};
    struct dwarf_file f = {0};
    program = &none;
    put_call_abbreviations(&f);
    begin_unit(&f, "calls.c", CODE_LOW, 5 * CALL_CODE);
    return f;
}

static void put_call(struct dwarf_file *f, unsigned kind, uint64_t end, uint32_t origin) {
    put_leb(&f->info, kind);
    put_code_address(f, &f->info, end);
    put(&f->info, 4, origin);
}

static void open_entries(struct dwarf_file *f) {
    end_unit(f);
    begin_lines(f);
    put_address(f, CODE_LOW);
    put_row(f, 0, 9);
    for (unsigned i = 1; i < 5 * CALL_CODE / 8; i++) put_row(f, 8, 1);
    put_end(f, 8);
    end_lines(f);
    struct builder file = finish_call_file(f, program);
    open_bytes(&file);
}

static void end_entries(struct dwarf_file *f, const char *expected) {
    open_entries(f);
    make_stack('a', 'c');
    expect_stack(expected);
    close_program();
}

static uint32_t put_named(struct dwarf_file *f, unsigned kind, char function) {
    return put_function(f, kind, (const char[2]){function, '\0'}, start_of(program, function), CALL_CODE);
}

/* Puts the function c, which calls another one, and ends the file. */
static void call_from_c(struct dwarf_file *f, uint32_t callee) {
    put_named(f, CALLER, 'c');
    put_call(f, SITE, end_of_call(program, 'c', 0), callee);
    end_entry(f);
}

/* Call sites are in the blocks and inlined calls that contain them. An inlined function that has jumped must be shown,
 * too. */
START_TEST(calls_in_inlined_functions) {
    struct dwarf_file f = begin_entries();
    const uint32_t a = put_named(&f, CALLER, 'a'), inner = (end_entry(&f), put_abstract(&f, "inner", 5));
    const uint32_t b = put_named(&f, CALLER, 'b');
    put_block(&f);
    put_inlined(&f, inner, start_of(program, 'b') + 0x10, 0x10, 77);
    put_call(&f, TAIL, start_of(program, 'b') + 0x18, a);
    end_entry(&f);
    end_entry(&f);
    end_entry(&f);
    put_named(&f, CALLER, 'c');
    put_inlined(&f, inner, start_of(program, 'c'), 0x10, 78);
    put_call(&f, SITE, end_of_call(program, 'c', 0), b);
    end_entry(&f);
    end_entry(&f);
    end_entries(&f, "a inner?20 b?77 inner c");
}
END_TEST

/* Puts a function of two parts, the first of which begins in the function's own slot. */
static uint32_t put_parts(struct dwarf_file *f, char function, char second) {
    const uint32_t at = here(f);
    put_leb(&f->info, CALLER_PARTS);
    put_text(&f->info, (const char[2]){function, '\0'});
    put(&f->info, 4, f->ranges.size);
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t low = start_of(program, i == 0 ? function : second) - CODE_LOW;
        put(&f->ranges, 8, low);
        put(&f->ranges, 8, low + CALL_CODE);
    }
    put(&f->ranges, 8, 0);
    put(&f->ranges, 8, 0);
    return at;
}

/* The pc is in the second part of a, and b jumps from its second part. */
START_TEST(functions_in_parts) {
    struct dwarf_file f = begin_entries();
    const uint32_t a = put_parts(&f, 'a', 'y'), b = (end_entry(&f), put_parts(&f, 'b', 'x'));
    put_call(&f, TAIL, end_of_call(program, 'x', 0), a);
    end_entry(&f);
    call_from_c(&f, b);
    open_entries(&f);
    make_stack('y', 'c');
    expect_stack("a b?34 c");
    close_program();
}
END_TEST

/* b and x share their code (ICF): the call is resolved to b, or to x. */
START_TEST(folded_functions) {
    for (unsigned i = 0; i < 2; i++) {
        struct dwarf_file f = begin_entries();
        const uint32_t a = put_named(&f, CALLER, 'a'), b = (end_entry(&f), put_named(&f, CALLER, 'b'));
        put_call(&f, TAIL, end_of_call(program, 'b', 0), a);
        end_entry(&f);
        const uint32_t x = put_function(&f, CALLER, "x", start_of(program, 'b'), CALL_CODE);
        put_call(&f, TAIL, end_of_call(program, 'b', 0), a);
        end_entry(&f);
        call_from_c(&f, i == 0 ? b : x);
        end_entries(&f, "a b?18 c");
    }
}
END_TEST

/* Two call sites at one address contradict each other unless they are equal. */
START_TEST(call_sites_that_contradict_each_other) {
    for (unsigned i = 0; i < 4; i++) {
        struct dwarf_file f = begin_entries();
        const uint32_t a = put_named(&f, CALLER, 'a'), x = (end_entry(&f), put_named(&f, CALLER, 'x'));
        put_call(&f, TAIL, end_of_call(program, 'x', 0), x);
        end_entry(&f);
        const uint32_t b = put_named(&f, CALLER, 'b');
        put_call(&f, TAIL, end_of_call(program, 'b', 0), a);
        if (i < 2) put_call(&f, TAIL, end_of_call(program, 'b', 0), i == 0 ? a : x);
        end_entry(&f);
        put_named(&f, CALLER, 'c');
        put_call(&f, SITE, end_of_call(program, 'c', 0), b);
        if (i >= 2) put_call(&f, SITE, end_of_call(program, 'c', 0), i == 2 ? b : x);
        end_entry(&f);
        end_entries(&f, i % 2 == 0 ? "a b?18 c" : "a c");
    }
}
END_TEST

/* A call site outside of its function must not count. If it is a tail call, the function's tail calls are not all
 * known. */
START_TEST(call_sites_that_lie_elsewhere) {
    for (unsigned i = 0; i < 2; i++) {
        struct dwarf_file f = begin_entries();
        const uint32_t a = put_named(&f, CALLER, 'a'), x = (end_entry(&f), put_named(&f, CALLER, 'x'));
        end_entry(&f);
        const uint32_t b = put_named(&f, CALLER, 'b');
        put_call(&f, TAIL, end_of_call(program, 'b', 0), a);
        put_call(&f, i == 0 ? SITE : TAIL, end_of_call(program, 'c', 0), x);
        end_entry(&f);
        call_from_c(&f, b);
        end_entries(&f, i == 0 ? "a b?18 c" : "a c");
    }
}
END_TEST

/* References that lead to no entry, out of the unit, to the call site itself, and into the middle of it. */
START_TEST(origins_that_are_none) {
    for (unsigned i = 0; i < 4; i++) {
        struct dwarf_file f = begin_entries();
        put_named(&f, CALLER, 'a');
        end_entry(&f);
        const uint32_t b = put_named(&f, CALLER, 'b'), itself = here(&f);
        const uint32_t origins[] = {3, 0x7fffffff, itself, itself + 1};
        put_call(&f, TAIL, end_of_call(program, 'b', 0), origins[i]);
        end_entry(&f);
        call_from_c(&f, b);
        end_entries(&f, "a c");
    }
}
END_TEST

/* ---- memory ---- */

/* Counts inferred frames. Uses no assertions, because Check allocates for them. */
static int count_inferred(void *context, uint32_t i, const struct usp_source_frame *frame) {
    (void)i;
    *(unsigned *)context += (frame->flags & USP_SOURCE_INFERRED) != 0;
    return 0;
}

/* Whichever allocation fails, the result must be USP_ERROR_NO_MEMORY or right, and right when there is memory again. */
START_TEST(without_memory) {
    unsigned lacking = 0;
    struct usp_symbolizer_options options;
    open_program(&(struct call_program){.units = "c|b|xa", .calls = "c>b b~x x~a", .others = "B=b"});
    make_stack('a', 'c');
    const char *store = in_folder("store");
    for (unsigned way = 0; way < WAYS; way++) {
        usp_symbolizer_options_init(&options);
        if (way != BY_DWARF) options.index_store = store;
        for (long n = 1;; n++) {
            unsigned inferred = 0;
            usp_symbolizer_free(symbolizers[way]);
            ck_assert_int_eq(usp_symbolizer_create(images[way], &options, &symbolizers[way]), USP_OK);
            fail_allocation(n);
            const int status = usp_symbolize_stack(symbolizers[way], &stack, count_inferred, &inferred);
            const bool is_last = allocation_still_to_fail();
            fail_allocation(0);
            ck_assert_msg(status == USP_ERROR_NO_MEMORY || (status == USP_OK && inferred == 2),
                          "way %u, allocation %ld: %d, %u frames", way, n, status, inferred);
            lacking += status == USP_ERROR_NO_MEMORY;
            if (is_last) break;
        }
    }
    ck_assert_uint_gt(lacking, 20);
    expect_stack("a x?300 b?200 c");
    close_program();
}
END_TEST

int main(void) {
    TCase *ways = tcase_create("ways"), *stacks = tcase_create("stacks"), *units = tcase_create("units");
    TCase *entries = tcase_create("entries"), *memory = tcase_create("memory");
    add_tests(ways, one_way, a_call_that_is_no_tail_call, two_ways, ways_that_lead_elsewhere, pointers,
              functions_that_are_not_described, recursion, limits);
    add_tests(stacks, frames_that_no_call_joins, several_frames, visitors_end_it, addresses_of_jumps);
    add_tests(units, other_units, names_that_mean_no_function, other_names, other_images);
    add_tests(entries, calls_in_inlined_functions, functions_in_parts, folded_functions,
              call_sites_that_contradict_each_other, call_sites_that_lie_elsewhere, origins_that_are_none);
    add_tests(memory, without_memory);
    return run_suite("tail_calls", ways, stacks, units, entries, memory);
}
