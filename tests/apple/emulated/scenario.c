/* SPDX-License-Identifier: MIT */
/* Runs a linked Apple program (guest_main.c, with its libunspool.dylib or linked statically) in the emulator. Compares
 * each result of its library with what this system's build makes of the same memory and, where a thread was stopped at
 * an instruction, with the true stack. run.sh builds the files.
 *
 * usage: scenario [--bits N] [--folder DIR] PROGRAM [LIBRARY]
 *        scenario --functions   prints the names of the system's functions in order: a program that is linked
 *                               statically has them at _guest_traps, GUEST_TRAP bytes each
 *   --bits N       arm64e: addressable bits; the signatures of return addresses lie above them
 *   --folder DIR   where this system's build looks for the images' files; without it, both read the images in memory
 *
 * Prints how much was compared. The exit status is 0 if everything was equal and nothing was left suspended or held. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/unwind/tables/image_tables.h"

#include "kernel.h"
#include "loader.h"
#include "stack_text.h"

#define FRAMES     64
#define PROGRAM    0x00100000u
#define LIBRARY    0x04000000u
#define MAIN_STACK (1u << 20)
#define STACK      (256u << 10)
#define TEXT_MAX   (8u << 20)
#define TASK_ID    77u
#define SWIFT_SLOT 103u /* Libc gen/thread_stack_async_pcs.c */
#define SIGSEGV_   11u
#define ALTERNATE  0x4c000000u
#define SHOWN_MAX  5u

struct text {
    char *bytes;
    size_t length;
};

static struct {
    struct guest guest;
    struct loaded_image images[GUEST_IMAGES];
    struct text program, ours;
    const char *folder;
    struct usp_images *list;
    struct uspi_image_tables *tables; /* the unwind tables of the images in `list` */
    struct usp_symbolizer *symbolizer;
    struct usp_memory memory;
    unsigned long compared, different, walked, inexact, methods;
    usp_addr wait_function; /* _test_park: a handler returns to it */
    bool finished;
    /* The thread that handles a signal; NULL: no thread does. */
    const struct guest_thread *handling;
    struct guest_thread interrupted;
    uc_context *kept;
    usp_addr alternate; /* end of the alternate stack; 0: it is not mapped yet */
    bool on_alternate;
} test;

/* ---- the texts ---- */

/* A usp_write_function; context is the text. */
static int append(void *context, const char *bytes, size_t n) {
    struct text *text = context;
    if (n > TEXT_MAX - text->length) {
        guest_fail(&test.guest, "a text becomes too long");
        return USP_ERROR_FULL;
    }
    memcpy(text->bytes + text->length, bytes, n);
    text->length += n;
    return 0;
}

/* Prints the first line that differs. */
static void show_difference(const char *what) {
    size_t begin = 0, i = 0;
    const struct text *a = &test.program, *b = &test.ours;
    while (i < a->length && i < b->length && a->bytes[i] == b->bytes[i]) {
        if (a->bytes[i++] == '\n') begin = i;
    }
    int n = (int)strcspn(a->bytes + begin, "\n"), m = (int)strcspn(b->bytes + begin, "\n");
    printf("%s differs (%zu and %zu bytes)\n  program %.*s\n  ours    %.*s\n", what, a->length, b->length, n,
           a->bytes + begin, m, b->bytes + begin);
}

static void compare(const char *what, long kept_rights, long kept_mappings) {
    const struct guest_account *account = &test.guest.account;
    test.program.bytes[test.program.length] = test.ours.bytes[test.ours.length] = '\0';
    bool is_equal = test.program.length == test.ours.length && test.program.length != 0 &&
                    memcmp(test.program.bytes, test.ours.bytes, test.program.length) == 0;
    test.compared++;
    if (!is_equal && test.different++ < SHOWN_MAX) show_difference(what);
    if (account->suspended != 0 || account->rights != kept_rights || account->mappings != kept_mappings ||
        account->errors != 0 || account->forbidden != 0) {
        printf("%s: suspended %ld, rights %ld of %ld, mappings %ld of %ld, errors %lu, forbidden calls %lu (%s)\n",
               what, account->suspended, account->rights, kept_rights, account->mappings, kept_mappings,
               account->errors, account->forbidden, account->forbidden_call != NULL ? account->forbidden_call : "none");
        guest_fail(&test.guest, "the account does not balance");
    }
    test.program.length = test.ours.length = 0;
}

/* ---- this system's build of the library on the process's memory ---- */

static void init_target(struct usp_target *target, const struct guest_thread *t) {
    struct guest *g = &test.guest;
    usp_target_init(target, g->machine.backend->arch);
    target->os = USP_OS_DARWIN;
    target->pac_mask = g->is_signed ? g->signing.mask : 0;
    target->memory = test.memory;
    uspi_image_tables_describe(test.tables, target);
    if (t != test.handling || !test.on_alternate) {
        target->stack_low = t->low;
        target->stack_high = t->high;
    }
    if (g->machine.backend->has_async) target->swift_task_slot = t->slots + SWIFT_SLOT * guest_word(g);
}

static void walk(const struct guest_thread *t, const struct usp_registers *registers,
                 const struct usp_unwind_options *options, struct usp_stack *stack) {
    struct usp_target target;
    init_target(&target, t);
    if (usp_unwind(&target, registers, options, stack) != USP_OK) {
        guest_fail(&test.guest, "usp_unwind refuses its arguments");
    }
}

static void walk_self(bool async, struct usp_frame frames[FRAMES], struct usp_stack *stack) {
    struct usp_unwind_options options;
    struct usp_registers registers;
    usp_unwind_options_init(&options);
    options.skip = 1;
    options.async = async;
    usp_stack_init(stack, frames, FRAMES);
    guest_registers_after_call(&test.guest, &registers);
    walk(test.guest.current, &registers, &options, stack);
}

static void check_truth(const struct guest_thread *t, const struct usp_stack *stack) {
    static usp_addr expected[2 * (TRUTH_DEPTH + 1)];
    /* The last one is the outermost function's return address, which is 0. After _sigtramp comes the interrupted
     * stack. */
    unsigned n = truth_pcs(&t->truth, &t->now, expected) - 1;
    if (t == test.handling) n += truth_pcs(&test.interrupted.truth, &test.interrupted.now, expected + n) - 1;
    bool is_exact = stack->physical == n;
    for (unsigned i = 0; i < n && is_exact; i++) is_exact = stack->frames[i].pc == expected[i];
    test.walked++;
    if (is_exact || test.inexact++ >= SHOWN_MAX) return;
    struct usp_symbol symbol;
    usp_symbolize(test.symbolizer, t->now.pc, &symbol);
    printf("not the true stack at %s + %" PRIu64 ":", symbol.name != NULL ? symbol.name : "?", symbol.offset);
    for (unsigned i = 0; i < n; i++) printf(" %" PRIx64, expected[i]);
    printf("\n  but");
    for (unsigned i = 0; i < stack->physical; i++) printf(" %" PRIx64, stack->frames[i].pc);
    printf(" (%s)\n", usp_stop_reason_string(stack->stop));
}

static void walk_thread(const struct guest_thread *t, struct usp_stack *stack) {
    struct usp_registers registers;
    kernel_registers(&test.guest, t, &registers);
    walk(t, &registers, NULL, stack);
    check_truth(t, stack);
}

static void describe_thread(size_t i, struct usp_thread_info *info) {
    const struct guest_thread *t = &test.guest.threads[i];
    memset(info, 0, sizeof *info);
    info->thread.id = t->id;
    info->thread.native = t->port;
    memcpy(info->name, t->name, sizeof info->name);
    if (i == 0) info->flags = USP_THREAD_MAIN | USP_THREAD_REQUESTER;
    info->run_state = i == 0 ? 1 : 3;
    info->cpu_time = 1000 * t->id;
}

static void format_thread(size_t i) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct usp_thread_info info;
    usp_stack_init(&stack, frames, FRAMES);
    walk_thread(&test.guest.threads[i], &stack);
    stack.hash = 0;
    describe_thread(i, &info);
    text_styles(append, &test.ours, &stack, &info, test.symbolizer);
}

/* ---- what the program calls ---- */

static struct guest_thread *argument_thread(struct guest *g) {
    uint64_t i = guest_argument(g, 0) & UINT32_MAX;
    if (i < g->thread_count) return &g->threads[i];
    guest_fail(g, "no such thread");
    return &g->threads[0];
}

static const char *argument_string(struct guest *g, unsigned i, char *to, size_t capacity) {
    size_t n = 0;
    while (n + 1 < capacity && guest_read(g, guest_argument(g, i) + n, to + n, 1) == USP_OK && to[n] != '\0') n++;
    to[n] = '\0';
    return to;
}

static void give_text(struct guest *g) {
    uint64_t n = guest_argument(g, 1);
    const uint8_t *bytes = guest_bytes(g, guest_argument(g, 0), n);
    if (bytes == NULL && n != 0) {
        guest_fail(g, "a text that is not there");
    } else if (n != 0) {
        append(&test.program, (const char *)bytes, (size_t)n);
    }
}

static void do_walk_self(struct guest *g) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    walk_self((guest_argument(g, 0) & 1) != 0, frames, &stack);
    text_stack(append, &test.ours, &stack);
}

static void do_name_self(struct guest *g) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    (void)g;
    walk_self(false, frames, &stack);
    text_names(append, &test.ours, &stack, test.symbolizer);
}

static void do_walk_thread(struct guest *g) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, FRAMES);
    walk_thread(argument_thread(g), &stack);
    text_stack(append, &test.ours, &stack);
}

static void do_registers(struct guest *g) {
    struct usp_registers registers;
    kernel_registers(g, argument_thread(g), &registers);
    text_registers(append, &test.ours, &registers);
}

static void do_threads(struct guest *g) {
    for (size_t i = 0; i < g->thread_count; i++) {
        struct usp_thread_info info;
        if (g->threads[i].has_ended) continue;
        describe_thread(i, &info);
        text_thread(append, &test.ours, &info);
    }
}

static void do_images(struct guest *g) {
    (void)g;
    text_images(append, &test.ours, test.list);
}

static void do_symbols(struct guest *g) {
    (void)g;
    text_symbols(append, &test.ours, test.symbolizer, test.list);
}

static void do_format(struct guest *g) { format_thread((size_t)(argument_thread(g) - g->threads)); }

static void do_compare(struct guest *g) {
    char what[128];
    compare(argument_string(g, 0, what, sizeof what), (int32_t)guest_argument(g, 1), (int32_t)guest_argument(g, 2));
}

static void give_task(struct guest *g, const struct guest_thread *t) {
    unsigned word = guest_word(g);
    usp_addr task = guest_data(g, 64);
    guest_store(g, task + 4 * word + 4, TASK_ID, 4);
    guest_store(g, t->slots + SWIFT_SLOT * word, task, word);
}

static void make_thread(struct guest *g) {
    char name[64];
    struct guest_thread *t =
        guest_thread_create(g, argument_string(g, 1, name, sizeof name), guest_argument(g, 0), STACK);
    if (t == NULL) {
        guest_fail(g, "a thread cannot be made");
        return;
    }
    give_task(g, t);
    guest_return(g, (uint64_t)(t - g->threads));
}

static void give_pthread(struct guest *g) { guest_return(g, argument_thread(g)->data); }

static bool trap(struct guest *g, unsigned number);

static void run_thread(struct guest *g) {
    struct guest_thread *t = argument_thread(g);
    enum guest_end end = guest_run(g, t, guest_argument(g, 1) & UINT32_MAX, trap);
    if (end == GUEST_DONE) t->has_ended = true;
    guest_return(g, end == GUEST_LIMIT ? 0 : end == GUEST_PARKED ? 1 : 2);
}

/* Calls a handler on the thread's own stack, below the memory that the interrupted code may use. */
static void interrupt(struct guest *g) {
    static struct guest_thread interrupted;
    struct guest_thread *t = argument_thread(g);
    interrupted = *t;
    usp_addr sp = (t->now.registers.value[g->machine.backend->sp] - 512 - KERNEL_CONTEXT) & ~UINT64_C(63);
    usp_addr context = kernel_context(g, t, sp);
    uint64_t arguments[] = {SIGSEGV_, 0, context};
    if (context == 0) {
        guest_fail(g, "no room for a signal's context");
        return;
    }
    t->in_handler = true;
    uc_context *kept = guest_call(g, t, guest_argument(g, 1), sp, test.wait_function, arguments, 3);
    if (guest_run(g, t, 0, trap) != GUEST_PARKED) guest_fail(g, "a handler does not return");
    guest_back(g, t, kept);
    *t = interrupted;
}

/* Delivers a signal as the kernel does: on the thread's own stack or on an alternate one, by the program's _sigtramp,
 * which then runs like any code. */
static void deliver(struct guest *g) {
    struct guest_thread *t = argument_thread(g);
    const struct uspi_backend *b = g->machine.backend;
    struct kernel_sigframe frame;
    usp_addr tramp = guest_argument(g, 1), handler = guest_argument(g, 2);
    bool in_registers = b->arch != USP_ARCH_I386;
    test.on_alternate = (guest_argument(g, 3) & 1) != 0;
    if (test.alternate == 0 && guest_map(g, guest_place(g, ALTERNATE), STACK) != NULL)
        test.alternate = guest_place(g, ALTERNATE) + STACK;
    usp_addr top = test.on_alternate ? test.alternate : t->now.registers.value[b->sp];
    if (test.handling != NULL || !kernel_sigframe(g, t, top, handler, SIGSEGV_, &frame)) {
        guest_fail(g, "a signal cannot be delivered");
        return;
    }
    test.interrupted = *t;
    test.handling = t;
    const uint64_t arguments[] = {handler, 30, SIGSEGV_, frame.info, frame.context, 0};
    usp_addr lr = b->lr != USPI_NO_REGISTER ? t->now.registers.value[b->lr] : 0x5a5a;
    /* x86: guest_call puts a return address below `sp`. */
    usp_addr sp = frame.entry + b->call_push + (in_registers ? 0 : 16);
    test.kept = guest_call(g, t, tramp, sp, lr, arguments, in_registers ? b->arch == USP_ARCH_ARMV7 ? 4 : 6 : 0);
    t->began = false;
}

static void take_back(struct guest *g) {
    struct guest_thread *t = argument_thread(g);
    if (test.handling != t) {
        guest_fail(g, "it handles no signal");
        return;
    }
    guest_back(g, t, test.kept);
    *t = test.interrupted;
    test.handling = NULL;
}

static void park(struct guest *g) { guest_end_run(g, GUEST_PARKED); }

static void finish(struct guest *g) {
    if (g->current == &g->threads[0]) test.finished = true;
    guest_end_run(g, GUEST_DONE);
}

static void give_up(struct guest *g) {
    static char why[128];
    guest_fail(g, argument_string(g, 0, why, sizeof why));
}

static void give_image(struct guest *g) {
    uint64_t i = guest_argument(g, 0) & UINT32_MAX;
    guest_return(g, i < g->image_count ? g->images[i].load_address : 0);
}

static void give_symbol(struct guest *g) {
    char name[128] = "_";
    usp_addr found = 0;
    argument_string(g, 0, name + 1, sizeof name - 1);
    for (size_t i = 0; found == 0 && i < g->image_count; i++) found = loader_export(&test.images[i], name);
    guest_return(g, found);
}

static void count_method(struct guest *g) {
    struct usp_symbol symbol;
    int status = usp_symbolize(test.symbolizer, guest_argument(g, 0), &symbol);
    test.methods++;
    if (status != USP_ERROR_NOT_FOUND) guest_fail(g, "a symbol has the name of a method that only the runtime knows");
}

static void keep_mapping(struct guest *g) { g->account.mappings--; }

const char *const scenario_functions[] = {
    "_test_text",    "_test_walk_self",    "_test_walk_thread", "_test_registers",
    "_test_threads", "_test_images",       "_test_symbols",     "_test_format",
    "_test_compare", "_test_thread",       "_test_pthread",     "_test_run",
    "_test_signal",  "_test_park",         "_test_finish",      "_test_fail",
    "_test_image",   "_test_kept_mapping", "_test_name_self",   "_test_symbol",
    "_test_method",  "_test_deliver",      "_test_take_back",   NULL,
};

static void (*const carry_out[])(struct guest *) = {
    give_text,  do_walk_self, do_walk_thread, do_registers, do_threads,   do_images, do_symbols, do_format,
    do_compare, make_thread,  give_pthread,   run_thread,   interrupt,    park,      finish,     give_up,
    give_image, keep_mapping, do_name_self,   give_symbol,  count_method, deliver,   take_back,
};

#define OWN_FUNCTIONS ((unsigned)(sizeof carry_out / sizeof carry_out[0]))

/* Imports that the scripted system lacks. Calling one is an error. */
#define MISSING_MAX 64u
static char missing[MISSING_MAX][64];
static size_t missing_count;

static usp_addr add_missing(struct guest *g, const char *name) {
    size_t i = 0;
    while (i < missing_count && strcmp(missing[i], name) != 0) i++;
    if (i == MISSING_MAX || strlen(name) >= sizeof missing[i]) return 0;
    if (i == missing_count) strcpy(missing[missing_count++], name);
    return g->traps + (kernel_functions() + OWN_FUNCTIONS + i) * GUEST_TRAP;
}

static bool trap(struct guest *g, unsigned number) {
    if (kernel_trap(g, number)) return true;
    number -= kernel_functions();
    if (number >= OWN_FUNCTIONS) {
        number -= OWN_FUNCTIONS;
        fprintf(stderr, "scenario: %s is called\n", number < missing_count ? missing[number] : "nothing");
        return guest_fail(g, "a function that the scripted system has not got");
    }
    carry_out[number](g);
    return g->machine.error == NULL;
}

/* ---- the whole run ---- */

static usp_addr import(void *context, const char *name) {
    (void)context;
    usp_addr found = kernel_export(&test.guest, name);
    for (size_t i = 0; found == 0 && i < test.guest.image_count; i++) found = loader_export(&test.images[i], name);
    return found != 0 ? found : add_missing(&test.guest, name);
}

static int fail(const char *what, const char *why) {
    fprintf(stderr, "scenario: %s: %s\n", what, why);
    return 1;
}

static unsigned count_functions(void) {
    unsigned n = 0;
    while (kernel_function(n) != NULL) n++;
    return n;
}

static bool load(const char *const paths[GUEST_IMAGES], unsigned long *pointers) {
    struct guest *g = &test.guest;
    const char *const names[] = {"/guest/program", "/guest/libunspool.dylib"};
    const uint32_t places[] = {PROGRAM, LIBRARY};
    for (size_t i = 0; i < GUEST_IMAGES && paths[i] != NULL; i++) {
        usp_addr load = paths[1] != NULL ? guest_place(g, places[i]) : 0;
        if (!loader_map(&test.images[i], g, paths[i], load, names[i])) return false;
    }
    usp_addr traps = loader_export(&test.images[0], "_guest_traps");
    if (traps != 0) guest_set_traps(g, traps, count_functions());
    if (!kernel_begin(g)) return false;
    for (size_t i = 0; i < g->image_count; i++) {
        unsigned long count;
        if (!loader_fix_up(&test.images[i], g, import, NULL, &count)) return false;
        *pointers += count;
    }
    return true;
}

static bool open_ours(void) {
    struct usp_symbolizer_options options;
    test.memory = (struct usp_memory){guest_read, &test.guest};
    usp_symbolizer_options_init(&options);
    options.folder = test.folder;
    options.memory = &test.memory;
    options.pac_mask = test.guest.is_signed ? test.guest.signing.mask : 0;
    return usp_images_create(test.guest.images, test.guest.image_count, &test.list) == USP_OK &&
           uspi_image_tables_create(test.list, &test.memory, NULL, UINT64_MAX, &test.tables) == USP_OK &&
           usp_symbolizer_create(test.list, &options, &test.symbolizer) == USP_OK;
}

/* Runs the functions that dyld runs before main. */
static bool initialise(struct guest *g, struct guest_thread *t) {
    for (size_t i = g->image_count; i-- > 0;) {
        usp_addr functions[16];
        size_t n = loader_initialisers(&test.images[i], g, functions, 16);
        for (size_t k = 0; k < n; k++) {
            uc_context *kept = guest_call(g, t, functions[k], t->high - 64, test.wait_function, NULL, 0);
            enum guest_end end = guest_run(g, t, 0, trap);
            guest_back(g, t, kept);
            if (end != GUEST_PARKED) return false;
        }
    }
    return true;
}

static int run(const char *const paths[GUEST_IMAGES]) {
    const char *program = paths[0];
    struct guest *g = &test.guest;
    unsigned long pointers = 0;
    if (!load(paths, &pointers)) {
        for (size_t i = 0; i < GUEST_IMAGES; i++) {
            if (test.images[i].error.text[0] != '\0') return fail(program, test.images[i].error.text);
        }
        return fail(program, g->machine.error != NULL ? g->machine.error : "cannot be loaded");
    }
    if (!open_ours()) return fail(program, "out of memory");
    /* A program that is linked statically contains the function itself, with its Thumb bit. */
    test.wait_function = loader_export(&test.images[0], "_test_park");
    if (test.wait_function == 0) test.wait_function = kernel_export(g, "_test_park");
    usp_addr entry = loader_export(&test.images[0], "_main");
    if (entry == 0) return fail(program, "there is no _main");
    struct guest_thread *t = guest_thread_create(g, "main", entry, MAIN_STACK);
    if (t == NULL) return fail(program, "out of memory");
    give_task(g, t);
    bool ok = initialise(g, t);
    t->pc = entry;
    ok = ok && guest_run(g, t, 0, trap) == GUEST_DONE && test.finished;
    printf(
        "%s: %lu pointers bound, %lu instructions, %lu results compared, %lu different, %lu true stacks, %lu not met, "
        "%lu windows, %lu methods",
        g->machine.backend->name, pointers, g->instructions, test.compared, test.different, test.walked, test.inexact,
        g->account.windows, test.methods);
    if (g->is_signed) {
        printf(", %lu signed and %lu checked with %u bits", g->signing.signed_count, g->signing.checked_count,
               g->address_bits);
    }
    printf("\n");
    if (!ok) {
        struct usp_symbol symbol;
        usp_symbolize(test.symbolizer, t->now.pc, &symbol);
        fprintf(stderr, "scenario: on the way from %s\n", symbol.name != NULL ? symbol.name : "somewhere");
        return fail(program, g->machine.error != NULL ? g->machine.error : "did not come to its end");
    }
    if (g->is_signed && (g->signing.signed_count == 0 || g->signing.checked_count == 0)) {
        return fail(program, "nothing was signed");
    }
    bool is_whole = test.compared != 0 && test.walked != 0 && test.methods != 0;
    return test.different == 0 && test.inexact == 0 && is_whole ? 0 : 1;
}

static uint32_t arch_of(const char *path) {
    struct uspi_file *file;
    struct uspi_macho macho;
    uint32_t arch = USP_ARCH_NONE;
    if (uspi_file_open(path, &file, NULL) != USP_OK) return arch;
    if (uspi_macho_open(&macho, uspi_file_bytes(file), NULL) == USP_OK) arch = macho.arch;
    uspi_file_close(file);
    return arch;
}

int main(int argc, char **argv) {
    unsigned bits = 0;
    const char *paths[GUEST_IMAGES] = {NULL, NULL};
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--functions") == 0) {
            for (unsigned n = 0; kernel_function(n) != NULL; n++) puts(kernel_function(n));
            return 0;
        }
        if (strcmp(argv[i], "--bits") == 0 && more) {
            bits = (unsigned)strtoul(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--folder") == 0 && more) {
            test.folder = argv[++i];
        } else if (argv[i][0] != '-' && count < GUEST_IMAGES) {
            paths[count++] = argv[i];
        } else {
            return fail(argv[i], "not understood");
        }
    }
    if (count == 0 || (bits != 0 && (bits < 32 || bits > 52))) return fail("usage", "see the top of scenario.c");
    uint32_t arch = arch_of(paths[0]);
    if (arch == USP_ARCH_NONE) return fail(paths[0], "not a program for one of the processors");
    test.program.bytes = malloc(TEXT_MAX + 1);
    test.ours.bytes = malloc(TEXT_MAX + 1);
    int status = 1;
    if (test.program.bytes == NULL || test.ours.bytes == NULL) {
        fail(paths[0], "out of memory");
    } else if (!guest_open(&test.guest, arch, bits)) {
        fail(paths[0], test.guest.machine.error);
    } else {
        status = run(paths);
    }
    usp_symbolizer_free(test.symbolizer);
    uspi_image_tables_free(test.tables);
    usp_images_free(test.list);
    for (size_t i = 0; i < GUEST_IMAGES; i++) loader_close(&test.images[i]);
    guest_close(&test.guest);
    free(test.program.bytes);
    free(test.ours.bytes);
    return status;
}
