/* SPDX-License-Identifier: MIT */
/* See tail_calls.h. The functions that the called one can reach by tail calls alone form a graph. It is searched depth
 * first for the function on the stack. The paths to that function are counted: there must be exactly one. */
#include "lib/symbolize/tail_calls.h"

#include "lib/symbolize/symbolizer.h"

#include <string.h>

/* The maximum number of functions searched for one pair of frames. With more, nothing is inferred. */
#define FUNCTIONS_MAX 64u

/* A function, identified by its start. */
struct function {
    struct uspi_module *module;
    const struct usp_image *image;
    usp_addr start; /* in the target */
};

/* A function that the search has reached. */
struct reached {
    struct function function;
    bool is_open;      /* the search is following its tail calls */
    bool is_met_again; /* one of its tail calls has led back to it */
    unsigned paths;    /* the number of paths from it to the target: 0, 1, or 2 for more */
    uint32_t next;     /* with one path: the next function on it; NO_FUNCTION: the target */
    usp_addr jump;     /* with one path: an address in its first jump */
};

#define NO_FUNCTION UINT32_MAX

struct search {
    struct uspi_names *names;
    struct function target;
    struct reached reached[FUNCTIONS_MAX];
    uint32_t count;
};

static bool is_same(const struct function *a, const struct function *b) {
    return a->start == b->start && a->module == b->module && a->image->slide == b->image->slide;
}

/* ---- functions ---- */

/* Finds the debug information's answer for an address in an image. Returns 1, 0 when there is none, or
 * USP_ERROR_NO_MEMORY. */
static int find_answer(const struct function *in, usp_addr address, struct uspi_lines_answer *answer, bool *is_object) {
    struct uspi_lines_answer answers[USPI_MAP_BLOCKS];
    struct uspi_lines *lines = uspi_module_lines(in->module);
    if (lines == NULL) return USP_ERROR_NO_MEMORY;
    int count = uspi_lines_find(lines, address - in->image->slide, answers);
    if (count <= 0) return count == USP_ERROR_NO_MEMORY ? count : 0;
    *answer = answers[0];
    /* The linker may have moved the functions of one object file apart. */
    *is_object = uspi_lines_has_objects(lines);
    return 1;
}

/* Finds the function with a name in an image. Returns 1, 0 or USP_ERROR_NO_MEMORY. */
static int find_named_in(const struct function *in, const char *name, struct function *found) {
    usp_addr start;
    int status = uspi_module_named(in->module, name, &start);
    *found = (struct function){in->module, in->image, start + in->image->slide};
    return status == USP_OK ? 1 : status == USP_ERROR_NO_MEMORY ? status : 0;
}

/* Finds the function that a name in an image refers to: in the image itself or else, as a loader would, in the target's
 * image. Returns as find_named_in does. */
static int find_named(const struct search *search, const struct function *in, const char *name,
                      struct function *found) {
    int status = find_named_in(in, name, found);
    return status == 0 && search->target.module != in->module ? find_named_in(&search->target, name, found) : status;
}

/* Finds the function that a call leads to. `answer` is from the block that has the call. Returns 1, 0 or
 * USP_ERROR_NO_MEMORY. */
static int find_callee(const struct search *search, const struct function *in, const struct uspi_lines_answer *answer,
                       bool is_object, const struct uspi_block_call *call, struct function *found) {
    struct uspi_block_part part;
    uint64_t text = call->name;
    if (call->part != 0 && uspi_block_part(answer->block, call->part - 1, &part) != USP_OK) return 0;
    if (call->part != 0 && !is_object) {
        *found = (struct function){in->module, in->image, part.start + answer->moved + in->image->slide};
        return 1;
    }
    if (call->part != 0) {
        struct uspi_block_node of;
        struct uspi_block_function function;
        if (uspi_block_node(answer->block, part.node, &of) != USP_OK || of.caller != 0) return 0;
        if (uspi_block_function(answer->block, of.function, &function) != USP_OK) return 0;
        text = function.name;
    }
    const char *name;
    if (uspi_lines_find_text(answer, text, search->names, &name) == USP_ERROR_NO_MEMORY) return USP_ERROR_NO_MEMORY;
    return name != NULL ? find_named(search, in, name, found) : 0;
}

/* ---- the search ---- */

/* Returns the number of a function. *is_new: it was added. Returns NO_FUNCTION when there are too many functions. */
static uint32_t number_of(struct search *search, const struct function *function, bool *is_new) {
    *is_new = false;
    for (uint32_t i = 0; i < search->count; i++) {
        if (is_same(&search->reached[i].function, function)) return i;
    }
    if (search->count == FUNCTIONS_MAX) return NO_FUNCTION;
    *is_new = true;
    search->reached[search->count] = (struct reached){.function = *function};
    return search->count++;
}

static int count_ways(struct search *search, uint32_t number, unsigned depth);

/* Follows one tail call of a function. Returns as count_ways does. */
static int follow(struct search *search, uint32_t number, usp_addr jump, const struct function *callee,
                  unsigned depth) {
    struct reached *from = &search->reached[number];
    uint32_t next = NO_FUNCTION;
    unsigned paths = 1;
    if (!is_same(callee, &search->target)) {
        bool is_new;
        next = number_of(search, callee, &is_new);
        if (next == NO_FUNCTION) return 0;
        int status = is_new ? count_ways(search, next, depth + 1) : 1;
        if (status != 1) return status;
        search->reached[next].is_met_again |= search->reached[next].is_open;
        paths = search->reached[next].is_open ? 0 : search->reached[next].paths;
    }
    if (paths == 0) return 1;
    from->paths += paths;
    from->next = next;
    from->jump = jump;
    /* The first function can reach every open one. So two paths from this one are also two paths from the first. */
    return from->paths == 1 ? 1 : 0;
}

/* Counts the paths from a function to the target. Returns 1, or USP_ERROR_NO_MEMORY. Returns 0, so that nothing is
 * inferred, when there are several paths or a call is not known. */
static int count_ways(struct search *search, uint32_t number, unsigned depth) {
    const struct function function = search->reached[number].function;
    struct uspi_lines_answer answer;
    bool is_object;
    if (depth == USPI_TAIL_CALLS_MAX) return 0;
    int status = find_answer(&function, function.start, &answer, &is_object);
    if (status != 1) return status;
    const uint64_t moved = answer.moved + function.image->slide;
    const bool is_known = answer.part.size != 0 && answer.part.start + moved == function.start &&
                          !answer.part.is_cold && answer.part.knows_tail_calls;
    if (!is_known) return 0;
    search->reached[number].is_open = true;
    for (uint32_t i = 0; status == 1; i++) {
        struct uspi_block_call call;
        struct function callee;
        int found = uspi_block_tail_call(answer.block, answer.part.number, i, &call);
        if (found == USP_ERROR_NOT_FOUND) break;
        status = found == USP_OK ? find_callee(search, &function, &answer, is_object, &call, &callee) : 0;
        if (status == 1) status = follow(search, number, call.end - 1 + moved, &callee, depth);
    }
    struct reached *reached = &search->reached[number];
    reached->is_open = false;
    return status == 1 && reached->is_met_again && reached->paths > 0 ? 0 : status;
}

/* ---- between two frames ---- */

/* Finds the function that holds an address. Returns 1, 0 when it is not known, USP_ERROR_NO_MEMORY. */
static int find_function(const struct uspi_query *query, const struct usp_symbol *symbol, struct function *function) {
    struct uspi_lines_answer answer;
    struct uspi_block_part part;
    bool is_object;
    *function = (struct function){query->module, query->image, 0};
    int status = find_answer(function, query->address, &answer, &is_object);
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (status == 1 && answer.part.size != 0) {
        part = answer.part;
        /* The linker may have moved the parts of the function apart. Its start is then not where the object file has
         * it. */
        if (part.is_cold && (is_object || uspi_block_first_part(answer.block, part.node, &part) != USP_OK)) return 0;
        function->start = part.start + answer.moved + query->image->slide;
        return 1;
    }
    function->start = symbol->start;
    return symbol->name != NULL ? 1 : 0;
}

static int search_ways(struct search *search, const struct function *first, usp_addr jumps[USPI_TAIL_CALLS_MAX]) {
    bool is_new;
    uint32_t number = number_of(search, first, &is_new);
    int status = count_ways(search, number, 0), count = 0;
    if (status != 1 || search->reached[number].paths != 1) return status == USP_ERROR_NO_MEMORY ? status : 0;
    for (uint32_t i = number; i != NO_FUNCTION; i = search->reached[i].next) jumps[count++] = search->reached[i].jump;
    for (int i = 0; i < count / 2; i++) {
        const usp_addr jump = jumps[i];
        jumps[i] = jumps[count - 1 - i];
        jumps[count - 1 - i] = jump;
    }
    return count;
}

/* The image and symbol at a frame's call site. */
struct called_site {
    struct uspi_query query;
    struct usp_symbol symbol;
};

/* Looks up the call site of a frame. Returns 1, 0 when no image holds it, USP_ERROR_NO_MEMORY. */
static int find_place(const struct uspi_stack_names *names, uint32_t arch, const struct usp_frame *frame,
                      struct called_site *place) {
    const usp_addr site = usp_frame_call_site(arch, frame);
    memset(place, 0, sizeof *place);
    int status = uspi_symbolizer_ask(names->symbolizer, usp_images_find(names->images, site), site, names->expected,
                                     &place->query, &place->symbol);
    if (status == USP_ERROR_NO_MEMORY) return status;
    return place->query.module != NULL ? 1 : 0;
}

/* What debug information says about the caller's call. */
struct calling {
    struct uspi_lines_answer answer;
    bool is_object;
    struct uspi_block_call call;
};

static int search_from(const struct called_site *caller, const struct calling *calling,
                       const struct called_site *callee, usp_addr jumps[USPI_TAIL_CALLS_MAX]) {
    struct search search;
    struct function first;
    search.names = caller->query.names;
    search.count = 0;
    /* Nearly all calls lead directly to the function of the inner frame. */
    if (calling->call.name != 0 && callee->symbol.name != NULL) {
        const char *name;
        int status = uspi_lines_find_text(&calling->answer, calling->call.name, search.names, &name);
        if (status == USP_ERROR_NO_MEMORY) return status;
        if (name == NULL || strcmp(name, callee->symbol.name) == 0) return 0;
    }
    int status = find_function(&callee->query, &callee->symbol, &search.target);
    if (status != 1) return status;
    const struct function in = {caller->query.module, caller->query.image, 0};
    status = find_callee(&search, &in, &calling->answer, calling->is_object, &calling->call, &first);
    if (status != 1) return status;
    return is_same(&first, &search.target) ? 0 : search_ways(&search, &first, jumps);
}

static int find_tail_calls(const struct uspi_stack_names *names, uint32_t arch, const struct usp_frame *frame,
                           usp_addr jumps[USPI_TAIL_CALLS_MAX]) {
    struct called_site callee, caller;
    struct calling calling;
    int status = find_place(names, arch, frame + 1, &caller);
    if (status != 1) return status;
    const struct function in = {caller.query.module, caller.query.image, 0};
    status = find_answer(&in, caller.query.address, &calling.answer, &calling.is_object);
    if (status != 1) return status;
    const uint64_t site = caller.query.address - caller.query.image->slide - calling.answer.moved;
    if (uspi_block_find_call(calling.answer.block, site + 1, &calling.call) != USP_OK) return 0;
    status = find_place(names, arch, frame, &callee);
    return status == 1 ? search_from(&caller, &calling, &callee, jumps) : status;
}

int uspi_stack_tail_calls(const struct uspi_stack_names *names, const struct usp_stack *stack, uint32_t i,
                          usp_addr jumps[USPI_TAIL_CALLS_MAX]) {
    if (i + 1 >= stack->physical || stack->omitted_at == i + 1) return 0;
    const uint32_t kind = stack->frames[i + 1].kind;
    if (kind != USP_FRAME_KIND_RETURN_ADDRESS && kind != USP_FRAME_KIND_LINK_REGISTER) return 0;
    struct uspi_epoch *readers = uspi_symbolizer_readers(names->symbolizer);
    const uint32_t ticket = uspi_epoch_enter(readers);
    int count = find_tail_calls(names, stack->arch, &stack->frames[i], jumps);
    uspi_epoch_leave(readers, ticket);
    return count;
}
