/* SPDX-License-Identifier: MIT */
/* See async_code.h. */
#include "lib/unwind/async_code.h"
#include "lib/unwind/code/explore.h"
#include "lib/unwind/code/queries.h"
#include "lib/unwind/frame/apply.h"
#include "lib/unwind/tables/dwarf_find.h"

/* Maximum size of a function in bytes. Longer functions are not examined. */
#define FUNCTION_MAX 65536u

/* Alignment of contexts (Swift include/swift/ABI/Task.h, AsyncContext). */
#define CONTEXT_ALIGN 16u

/* Bytes before the pc in which a prologue is searched for, if no table gives the function's bounds. */
#define SCAN_BACK 16384u

struct function {
    usp_addr start, end; /* `end` is the first address past it; 0: not known */
};

bool uspi_async_has_code(const struct usp_target *target) {
    const struct uspi_backend *b = uspi_backend_find(target->arch);
    return target->os == USP_OS_LINUX && b != NULL && b->async_context != 0;
}

/* Finds the function that contains pc by call frame information. Returns USP_ERROR_NOT_FOUND for code of an image that
 * it does not describe (LLVM omits functions that cannot throw), USP_ERROR_FULL for a function that is too long. */
static USPI_APART int find_function(const struct uspi_walk *walk, usp_addr pc, struct function *function) {
    struct usp_unwind_tables tables;
    struct uspi_dwarf_image image;
    const struct uspi_dwarf_section *section;
    struct uspi_dwarf_fde fde;
    const struct usp_target *target = &walk->target;
    memset(&tables, 0, sizeof tables);
    if (target->unwind_tables_at == NULL || target->unwind_tables_at(target->context, pc, &tables) != USP_OK) {
        return USP_ERROR_ABSENT;
    }
    const struct usp_memory *memory = tables.memory.read != NULL ? &tables.memory : uspi_code_memory(walk);
    int status = uspi_dwarf_image_init(&image, &tables, memory, walk->backend, target->os);
    if (status == USP_OK) status = uspi_dwarf_find(&image, pc, &section, &fde);
    if (status != USP_OK) return status;
    *function = (struct function){fde.start, fde.end};
    return fde.end - fde.start <= FUNCTION_MAX ? USP_OK : USP_ERROR_FULL;
}

/* Maximum distance of two frames on one stack whose bounds are not known. */
#define STACK_MAX ((usp_addr)64 << 20)

static bool stores_at_sp(const struct uspi_backend *b, const struct uspi_instruction *i, unsigned reg) {
    bool stores = false, moves = false;
    for (unsigned n = 0; n < i->effect_count; n++) {
        const struct uspi_effect *e = &i->effects[n];
        if (e->op == USPI_STORE && e->reg == reg && e->base == b->sp) stores = true;
        if (e->op == USPI_SET && e->reg == b->sp && e->base == b->sp && e->value == -(int64_t)b->word) moves = true;
    }
    return stores && moves;
}

/* The prologue of a function with an async context. */
struct prologue {
    usp_addr pushed; /* from here on the context register's value at the call is in its slot */
    usp_addr body;   /* the prologue's end */
};

static bool has_prologue(struct uspi_code *code, usp_addr start, struct prologue *prologue) {
    const struct uspi_backend *b = code->backend;
    struct uspi_instruction i;
    usp_addr at = start;
    if (!uspi_code_decode(code, at, 0, &i)) return false;
    if (i.start_hint != 0 && !uspi_code_decode(code, at += i.length, 0, &i)) return false;
    if (!stores_at_sp(b, &i, b->fp) || !uspi_code_decode(code, at += i.length, 0, &i)) return false;
    if (!stores_at_sp(b, &i, b->async_context)) return false;
    prologue->pushed = at + i.length;
    if (!uspi_code_decode(code, prologue->pushed, 0, &i) || i.effect_count != 1) return false;
    const struct uspi_effect *e = &i.effects[0];
    prologue->body = prologue->pushed + i.length;
    return e->op == USPI_SET && e->reg == b->fp && e->base == b->sp && e->value == b->word;
}

/* Reads a word of the target, with all of its bits. */
static bool read_word(const struct uspi_walk *walk, usp_addr at, uint64_t *value) {
    return uspi_read_slot(walk, at, value);
}

bool uspi_async_is_context(const struct uspi_walk *walk, usp_addr context) {
    const unsigned word = walk->backend->word;
    struct uspi_code code;
    struct function function;
    struct prologue prologue;
    uint64_t parent, resume;
    if (context == 0 || (context & (CONTEXT_ALIGN - 1u)) != 0 || !read_word(walk, context, &parent) ||
        !read_word(walk, context + word, &resume) || resume == 0) {
        return false;
    }
    int status = find_function(walk, resume, &function);
    if (status == USP_OK) return function.start == resume;
    uspi_code_init(&code, walk->backend, uspi_code_memory(walk));
    return status == USP_ERROR_NOT_FOUND && has_prologue(&code, resume, &prologue);
}

/* Whether the frame pointer that a record saves is the one of a frame further out on the same stack. */
static bool is_above(const struct uspi_walk *walk, usp_addr record, usp_addr previous) {
    const struct usp_target *target = &walk->target;
    const bool is_inside = record >= target->stack_low && record < target->stack_high;
    uint64_t saved;
    if (previous <= record || (previous & (walk->backend->word - 1u)) != 0) return false;
    if (is_inside ? previous >= target->stack_high : previous - record > STACK_MAX) return false;
    return uspi_read_slot(walk, previous, &saved);
}

/* Whether code can begin a function: a table states that one begins there, or no table describes it and it can be
 * read. */
static bool may_begin_function(const struct uspi_walk *walk, usp_addr at) {
    struct uspi_code code;
    struct function function;
    const uint8_t *bytes;
    const int status = find_function(walk, at, &function);
    if (status == USP_OK || status == USP_ERROR_FULL) return function.start == at;
    uspi_code_init(&code, walk->backend, uspi_code_memory(walk));
    return (at & (walk->backend->code_align - 1u)) == 0 && uspi_ask_for_image(walk, at) != USP_ERROR_NOT_FOUND &&
           uspi_code_read(&code, at, walk->backend->code_align, &bytes) != 0;
}

bool uspi_async_is_marked(const struct uspi_walk *walk, const struct uspi_extended *extended, usp_addr previous) {
    const unsigned word = walk->backend->word;
    const uint64_t mask = walk->strip_mask & walk->backend->word_mask;
    uint64_t context = extended->context, parent, resume;
    if (walk->target.os != USP_OS_LINUX) return true;
    if (!is_above(walk, extended->record, previous)) return false;
    if (!extended->in_register && !read_word(walk, extended->record - USPI_CONTEXT_BELOW, &context)) return false;
    context &= mask;
    return context != 0 && (context & (word - 1u)) == 0 && read_word(walk, context, &parent) &&
           read_word(walk, context + word, &resume) && (resume & mask) != 0 && may_begin_function(walk, resume & mask);
}

bool uspi_async_may_resume(const struct uspi_walk *walk, usp_addr address) {
    struct function function;
    int status = find_function(walk, address, &function);
    return status == USP_ERROR_NOT_FOUND ||
           ((status == USP_OK || status == USP_ERROR_FULL) && function.start == address);
}

/* Whether a function can return; see async_code.h. Its end must be known. Code that cannot be decoded counts as a
 * return. */
static bool can_return(struct uspi_code *code, const struct function *function) {
    struct uspi_instruction i;
    for (usp_addr at = function->start; at < function->end; at += i.length) {
        if (!uspi_code_decode(code, at, 0, &i) || i.flow == USPI_RETURN) return true;
    }
    return false;
}

/* Targets of branches that are after the address that `holds` has reached. */
struct targets {
    usp_addr addresses[64];
    unsigned count;
};

static void add_target(struct targets *targets, usp_addr address) {
    if (targets->count < sizeof targets->addresses / sizeof *targets->addresses) {
        targets->addresses[targets->count++] = address;
    }
}

/* Returns the nearest target at or after `at`; 0: none. */
static usp_addr next_target(const struct targets *targets, usp_addr at) {
    usp_addr nearest = 0;
    for (unsigned i = 0; i < targets->count; i++) {
        const usp_addr address = targets->addresses[i];
        if (address >= at && (nearest == 0 || address < nearest)) nearest = address;
    }
    return nearest;
}

static bool loads(const struct uspi_instruction *i, unsigned reg) {
    for (unsigned n = 0; n < i->effect_count; n++) {
        if (i->effects[n].op == USPI_LOAD && i->effects[n].reg == reg) return true;
    }
    return false;
}

/* Whether a function without known bounds contains the pc and cannot return. Decodes the instructions to which the
 * function's own branches lead, in the order of their addresses. After the frame pointer has been restored, a jump
 * leaves the function. */
static USPI_APART bool holds(struct uspi_code *code, usp_addr start, usp_addr pc) {
    struct targets targets = {.count = 0};
    struct uspi_instruction i;
    bool is_undone = false, is_held = false;
    usp_addr at = start;
    while (at - start < FUNCTION_MAX) {
        if (!uspi_code_decode(code, at, 0, &i) || i.flow == USPI_RETURN) return false;
        if (at == pc) is_held = true;
        if (loads(&i, code->backend->fp)) is_undone = true;
        const bool leads_on = (i.flow == USPI_BRANCH || i.flow == USPI_JUMP) && !is_undone;
        if (leads_on && i.target > at && i.target - start < FUNCTION_MAX) add_target(&targets, i.target);
        at += i.length;
        if (i.flow == USPI_NEXT || i.flow == USPI_CALL || i.flow == USPI_BRANCH) continue;
        if ((at = next_target(&targets, at)) == 0) return is_held;
        is_undone = false;
    }
    return false;
}

/* Finds the function by the nearest apparent prologue before the pc. Returns false when that function does not contain
 * the pc, or can return. */
static USPI_APART bool scan_for_prologue(struct uspi_code *code, usp_addr pc, struct function *function,
                                         struct prologue *prologue) {
    for (usp_addr back = 0; back <= SCAN_BACK && back <= pc; back += code->backend->code_align) {
        if (!has_prologue(code, pc - back, prologue)) continue;
        *function = (struct function){.start = pc - back};
        return holds(code, pc - back, pc);
    }
    return false;
}

/* A context that was found for a function. */
struct found_context {
    usp_addr context;
    bool is_as_called; /* the function was called with it, but it may not be the function's own */
};

/* Whether a function will still store to its slot for the context. A function that resumes after an await is called
 * with its callee's context, and stores its own into the slot. */
static bool will_store(struct uspi_code *code, const struct usp_registers *registers, usp_addr slot) {
    unsigned reg;
    return uspi_code_next_store(code, registers, slot, 0, &reg);
}

static USPI_APART bool read_extended(const struct uspi_walk *walk, struct uspi_code *code,
                                     const struct uspi_frame_state *frame, const struct prologue *prologue,
                                     usp_addr cfa, struct found_context *found) {
    const struct uspi_backend *b = walk->backend;
    const struct usp_registers *registers = &frame->registers;
    const usp_addr slot = cfa - 3u * b->word;
    struct usp_registers made = {.arch = b->arch};
    found->is_as_called = true;
    if (frame->exact && uspi_pc_of(walk, frame) < prologue->pushed) {
        found->context = registers->value[b->async_context];
        return uspi_known(registers, b->async_context);
    }
    if (cfa == 0 || (cfa & (b->word - 1u)) != 0 || !read_word(walk, slot, &found->context)) return false;
    uspi_set(&made, b->pc, prologue->body);
    uspi_set(&made, b->fp, slot + b->word);
    uspi_set(&made, b->sp, slot);
    found->is_as_called = !will_store(code, &made, slot) || (frame->exact && will_store(code, registers, slot));
    return true;
}

bool uspi_async_may_be(const struct uspi_walk *walk, const struct usp_frame *frame, usp_addr caller) {
    const unsigned word = walk->backend->word;
    const struct usp_target *target = &walk->target;
    struct usp_unwind_tables tables;
    struct uspi_code code;
    uint64_t context, resume;
    usp_addr callee;
    if (frame->kind != USP_FRAME_KIND_RETURN_ADDRESS) return true;
    uspi_code_init(&code, walk->backend, uspi_code_memory(walk));
    if (caller != 0 && uspi_code_call_before(&code, caller, false, &callee) == USPI_CALL_BEFORE && callee == 0)
        return true;
    if (frame->cfa == 0 || !read_word(walk, frame->cfa - 3u * word, &context)) return false;
    if (context == 0 || (context & (CONTEXT_ALIGN - 1u)) != 0 || !read_word(walk, context + word, &resume))
        return false;
    memset(&tables, 0, sizeof tables);
    return resume != 0 && target->unwind_tables_at != NULL &&
           target->unwind_tables_at(target->context, resume, &tables) == USP_OK;
}

/* Whether the call before this return address is the executor's: it is an indirect call, and the instruction before it
 * loaded the context from memory. */
static USPI_APART bool is_executors_call(const struct uspi_walk *walk, struct uspi_code *code, usp_addr caller) {
    const struct uspi_backend *b = walk->backend;
    struct function function;
    struct uspi_instruction i;
    usp_addr target, at;
    bool is_loaded = false, is_call = false;
    if (uspi_code_call_before(code, caller, false, &target) != USPI_CALL_BEFORE || target != 0) return false;
    if (find_function(walk, caller - 1, &function) != USP_OK) return false;
    for (at = function.start; at < caller; at += i.length) {
        if (!uspi_code_decode(code, at, 0, &i)) return false;
        is_call = is_loaded && i.flow == USPI_CALL && i.target == 0;
        const struct uspi_effect *e = &i.effects[0];
        is_loaded = i.effect_count == 1 && e->op == USPI_LOAD && e->reg == b->async_context && e->base != b->sp &&
                    e->base != b->fp && e->base < b->register_count;
    }
    return at == caller && is_call;
}

/* Finds the value that the context register had when the function was called, by the instructions from the function's
 * start to the pc. */
static USPI_APART bool trace_context(const struct uspi_walk *walk, struct uspi_code *code,
                                     const struct uspi_frame_state *frame, const struct function *function,
                                     struct found_context *found) {
    const struct uspi_backend *b = walk->backend;
    struct uspi_explorer explorer;
    struct uspi_rule rule;
    struct uspi_applied applied;
    unsigned doubts;
    const struct uspi_question question = {.purpose = USPI_TO_GOAL,
                                           .from = function->start,
                                           .goal = uspi_pc_of(walk, frame),
                                           .low = function->start,
                                           .high = function->end + 1,
                                           .budget = USPI_EXPLORE_MAX,
                                           .allowed = USPI_DOUBT_CALL};
    uspi_explore_begin(&explorer, code, &question);
    if (!uspi_explore_next(&explorer, &rule, &doubts) || !uspi_apply_rule(walk, frame, &rule, &applied)) return false;
    if (!uspi_known(&applied.caller, b->async_context)) return false;
    found->context = applied.caller.value[b->async_context];
    found->is_as_called = true;
    return true;
}

/* Finds the context with which the frame's function was called, or the function's own. Returns false for a function
 * that can return. */
static bool find_context(struct uspi_walk *walk, const struct uspi_frame_state *frame, usp_addr cfa, usp_addr caller,
                         struct function *function, struct found_context *found) {
    const struct uspi_backend *b = walk->backend;
    const usp_addr pc = uspi_pc_of(walk, frame);
    struct uspi_code code;
    struct prologue prologue;
    uspi_code_init(&code, b, uspi_code_memory(walk));
    switch (find_function(walk, uspi_lookup_pc(walk, frame), function)) {
    case USP_OK:
        if (!has_prologue(&code, function->start, &prologue)) {
            return caller != 0 && is_executors_call(walk, &code, caller) && !can_return(&code, function) &&
                   trace_context(walk, &code, frame, function, found);
        }
        return !can_return(&code, function) && read_extended(walk, &code, frame, &prologue, cfa, found);
    case USP_ERROR_NOT_FOUND:
        /* The frame record of such a function ends at its CFA. */
        if (!frame->exact && frame->registers.value[b->fp] != cfa - 2u * b->word) return false;
        return scan_for_prologue(&code, pc, function, &prologue) &&
               read_extended(walk, &code, frame, &prologue, cfa, found);
    default: return false;
    }
}

/* Maximum number of instructions in a thunk, more than the thunk of an async function has. */
#define THUNK_MAX 16

/* Whether a function begins at `start`, or is only a thunk that leads there. LLVM merges functions with the same
 * instructions and replaces the others by a jump (lib/Transforms/IPO/MergeFunctions.cpp, writeThunk). */
static USPI_APART bool is_or_leads_to(const struct uspi_walk *walk, usp_addr function, usp_addr start) {
    struct uspi_code code;
    struct uspi_instruction i;
    usp_addr at = function;
    if (function == start) return true;
    uspi_code_init(&code, walk->backend, uspi_code_memory(walk));
    for (unsigned n = 0; n < THUNK_MAX && uspi_code_decode(&code, at, 0, &i); n++) {
        if (i.flow != USPI_NEXT) return i.flow == USPI_JUMP && i.target == start;
        at += i.length;
    }
    return false;
}

bool uspi_async_by_code(struct uspi_walk *walk, const struct uspi_frame_state *frame, usp_addr cfa, usp_addr caller,
                        usp_addr *context) {
    const unsigned word = walk->backend->word;
    struct function function;
    struct found_context found;
    uint64_t resume;
    if (!find_context(walk, frame, cfa, caller, &function, &found) || !uspi_async_is_context(walk, found.context)) {
        return false;
    }
    /* This is the callee's context, which resumes this function. Its parent is this function's own context. */
    if (found.is_as_called && read_word(walk, found.context + word, &resume) &&
        is_or_leads_to(walk, resume, function.start)) {
        if (!read_word(walk, found.context, &found.context) || !uspi_async_is_context(walk, found.context))
            return false;
    }
    *context = found.context;
    return true;
}
