/* SPDX-License-Identifier: MIT */
/* Methods on the emulated program's stack, and the names that the library gets for them from Apple's Objective-C
 * runtime. The runtime is scripted (tests/symbolize/objc_scripted_runtime.c, a part of the program); dlsym finds its
 * functions by their public names. There is no Objective-C here: the methods are functions without a symbol, as in a
 * stripped app, and the script names them. */
#include <string.h>

#include "guest.h"
#include "stack_text.h"
#include "tests/symbolize/objc_scripted_runtime.h"

#define FRAMES 64

extern struct scripted_script scripted_classes;
extern struct scripted_calls scripted_calls;

/* ---- the stack ---- */

#define FUNCTIONS 7

static void (*const functions[FUNCTIONS + 1])(void);
static unsigned depth;
static void (*innermost)(void);

static __attribute__((noinline)) void call_next(void) {
    void (*next)(void) = functions[depth++];
    (next != NULL ? next : innermost)();
    depth--;
}

/* Defines a function that calls the next one. A symbol that begins with l (LLVM's linker-private prefix of Mach-O) is
 * left out of the symbol table by a linker, or kept by LLVM 13's as a label without a name. The function starts list
 * the function all the same. */
#define FUNCTION(name, symbol, number)                                                                                 \
    static void name(void) __asm__(symbol);                                                                            \
    static __attribute__((noinline, used)) void name(void) {                                                           \
        volatile unsigned guard = (number);                                                                            \
        call_next();                                                                                                   \
        expect(guard == (number), "a local of a method");                                                              \
    }

FUNCTION(thing_run, "l_thing_run", 1)
FUNCTION(thing_make, "l_thing_make", 2)
FUNCTION(shared, "l_shared", 3)
FUNCTION(named_method, "_named_method", 4)
FUNCTION(late_method, "l_late_method", 5)
FUNCTION(no_method, "l_no_method", 6)
FUNCTION(named_function, "_named_function", 7)

static void (*const functions[FUNCTIONS + 1])(void) = {
    thing_run, thing_make, shared, named_method, late_method, no_method, named_function, NULL,
};

/* ---- the runtime's answers ---- */

static struct scripted_method instance_methods[] = {{"run", thing_run}, {"known:", named_method}};
static struct scripted_method class_methods[] = {{"make", thing_make}};
static struct scripted_method thing_shared[] = {{"share:with:", shared}};
static struct scripted_method another_shared[] = {{"share:with:", shared}};
static struct scripted_method late_methods[] = {{"late", late_method}};
static const struct scripted_class empty = {"None", NULL, NULL, 0};
static const struct scripted_class meta = {"Thing", NULL, class_methods, 1};
static const struct scripted_class classes[] = {
    {"Thing", &meta, instance_methods, 2},
    {"Zebra", &empty, thing_shared, 1},
    {"Another", &empty, another_shared, 1},
    {"Late", &empty, late_methods, 1},
};
#define CLASSES 4
#define EARLY   3 /* of the classes, before the list grows */

/* The expected name of each function: from its symbol, which the runtime's name does not replace in a Mach-O image;
 * from the runtime; or no name. */
static const struct {
    const char *name;
    uint32_t strategy;
} expected[FUNCTIONS] = {
    {"-[Thing run]", USP_STRATEGY_OBJC_RUNTIME},
    {"+[Thing make]", USP_STRATEGY_OBJC_RUNTIME},
    {"-[Another share:with:]", USP_STRATEGY_OBJC_RUNTIME},
    {"named_method", USP_STRATEGY_SYMTAB},
    {"-[Late late]", USP_STRATEGY_OBJC_RUNTIME},
    {NULL, USP_STRATEGY_NONE},
    {"named_function", USP_STRATEGY_SYMTAB},
};
#define LATE 4

/* Signs implementations as the runtime of an arm64e process does: with the key for functions and no modifier. */
static void sign(struct scripted_method *methods, size_t count) {
#if defined(__arm64e__)
    for (size_t i = 0; i < count; i++) __asm__("paciza %0" : "+r"(methods[i].implementation));
#else
    (void)methods;
    (void)count;
#endif
}

static uintptr_t address_of(void (*function)(void)) {
#if defined(__arm__)
    return (uintptr_t)function & ~(uintptr_t)1;
#else
    return (uintptr_t)function;
#endif
}

/* ---- a complete runtime, one that lacks a function, or no runtime ---- */

static const char *lacking[2];

static bool has_symbol(const char *name) {
    for (size_t i = 0; i < sizeof lacking / sizeof lacking[0]; i++) {
        if (lacking[i] != NULL && strcmp(lacking[i], name) == 0) return false;
    }
    return true;
}

/* ---- the look-ups ---- */

static struct usp_symbolizer *symbolizer;
static unsigned looks;

static inline __attribute__((always_inline)) void capture(struct usp_frame *frames, struct usp_stack *stack,
                                                          uint32_t skip) {
    struct usp_unwind_options options;
    usp_unwind_options_init(&options);
    options.skip = skip;
    usp_stack_init(stack, frames, FRAMES);
    expect(usp_capture_self(&options, stack) == USP_OK, "usp_capture_self");
}

/* Without a runtime the program must give the same names as this system's build. */
static void look_without(void) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    test_name_self();
    capture(frames, &stack, 1);
    text_names(write_text, NULL, &stack, symbolizer);
}

/* The address of frame i of the captured stack, counted from the outermost method inwards. Between two methods lies a
 * frame of call_next. */
static usp_addr call_site(const struct usp_stack *stack, size_t i) {
    size_t frame = 2 + 2 * (FUNCTIONS - 1 - i);
    expect(frame < stack->count, "the methods stand on the stack");
    return usp_frame_call_site(stack->arch, &stack->frames[frame]);
}

static void look_up(usp_addr address, size_t i, bool is_late_known) {
    struct usp_symbol symbol;
    bool has_name = expected[i].name != NULL && (i != LATE || is_late_known);
    int status = usp_symbolize(symbolizer, address, &symbol);
    if (!has_name) {
        expect(status == USP_ERROR_NOT_FOUND && symbol.name == NULL, "a name for what nothing names");
        return;
    }
    expect(status == USP_OK && strcmp(symbol.name, expected[i].name) == 0, "the method's name");
    expect(symbol.strategy == expected[i].strategy, "who named it");
    if (symbol.strategy == USP_STRATEGY_OBJC_RUNTIME) test_method((uintptr_t)address);
    expect(symbol.start == address_of(functions[i]) && symbol.offset == address - symbol.start, "where it begins");
}

static void look_at_all(const struct usp_stack *stack, bool is_late_known) {
    for (size_t i = 0; i < FUNCTIONS; i++) {
        look_up(call_site(stack, i), i, is_late_known);
        look_up(address_of(functions[i]), i, is_late_known);
    }
}

static void look_with(void) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    capture(frames, &stack, 0);
    unsigned lists = scripted_calls.lists;
    scripted_classes = (struct scripted_script){classes, EARLY};
    look_at_all(&stack, false);
    look_at_all(&stack, false);
    expect(scripted_calls.lists == lists + 1, "the classes are read once");
    scripted_classes.count = CLASSES;
    look_up(call_site(&stack, 0), 0, false);
    expect(scripted_calls.lists == lists + 1, "what has a name asks for nothing");
    look_at_all(&stack, true);
    look_at_all(&stack, true);
    expect(scripted_calls.lists == lists + 2, "the classes are read again when there are more");
    looks++;
    for (uint32_t i = 0; i < stack.count; i++) {
        struct usp_symbol symbol;
        if (i >= 2 && i < 2 + 2 * FUNCTIONS) continue;
        int status = usp_symbolize(symbolizer, usp_frame_call_site(stack.arch, &stack.frames[i]), &symbol);
        expect(status == USP_OK && symbol.strategy == USP_STRATEGY_SYMTAB, "a function that is not a method");
    }
    expect(scripted_calls.messages == 0, "no message is sent");
}

static __attribute__((noinline)) void run_with(const char *first, const char *second, void (*look)(void)) {
    lacking[0] = first;
    lacking[1] = second;
    expect(usp_symbolizer_create(NULL, NULL, &symbolizer) == USP_OK, "usp_symbolizer_create");
    innermost = look;
    depth = 0;
    call_next();
    usp_symbolizer_free(symbolizer);
}

static __attribute__((noinline)) void without(const char *first, const char *second,
                                              void (*compare)(const char *what)) {
    unsigned lists = scripted_calls.lists;
    scripted_classes = (struct scripted_script){classes, CLASSES};
    run_with(first, second, look_without);
    expect(scripted_calls.lists == lists, "a runtime that lacks something is not asked");
    compare("names without a runtime");
}

void guest_objc(void (*compare)(const char *what)) {
    static const char *const required[] = {
        "objc_getClassList", "class_copyMethodList", "method_getImplementation",
        "method_getName",    "sel_getName",          "class_getName",
    };
    sign(instance_methods, 2);
    sign(class_methods, 1);
    sign(thing_shared, 1);
    sign(another_shared, 1);
    sign(late_methods, 1);
    /* There is no runtime. */
    without(NULL, NULL, compare);
    guest_has_symbol = has_symbol;
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) without(required[i], NULL, compare);
    without("object_getClass", "objc_getMetaClass", compare);
    run_with(NULL, NULL, look_with);
    run_with("objc_getMetaClass", NULL, look_with);
    run_with("object_getClass", NULL, look_with);
    expect(looks == 3, "each runtime was looked at");
    guest_has_symbol = NULL;
}
