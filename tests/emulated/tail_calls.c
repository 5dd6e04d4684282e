/* SPDX-License-Identifier: MIT */
/* Runs one linked program in the emulator, logs its calls and jumps between functions, and compares the log at each
 * function's start with the tail calls that usp_symbolize_stack infers from the program's debug information. The
 * scripts decide what is built and judge the results (tail_calls.sh).
 *
 * usage: tail_calls IMAGE
 *
 * Each pair of a frame and its caller counts once for each way that the log has between them. Prints a tab-separated
 * line `pairs` with four numbers of pairs: without tail calls in the log; with tail calls that were all inferred; with
 * tail calls of which none was inferred; with tail calls of which some were inferred. Prints a line `wrong` for each
 * pair between which a function was inferred that is not in the log.
 * Exit status 0 when the program ran to its end, whatever was inferred; 1 otherwise. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/images.h>
#include <unspool/lines.h>

#include "truth.h"

#define WAY_MAX    32u
#define PAIRS_MAX  (1u << 16)
#define WRONG_MAX  20u
#define STACK_HIGH UINT64_C(0x70000000) /* below 4 GB, for all processors */

/* The functions in which a frame of the true stack has been since its call, in order. */
struct way {
    const struct image_symbol *functions[WAY_MAX];
    unsigned count;
};

struct run {
    struct image image;
    struct machine machine;
    struct truth truth;
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    struct way ways[TRUTH_DEPTH];
    struct moment before;
    bool has_before;
    uint64_t seen[PAIRS_MAX]; /* hashes of pairs with their ways; 0: free */
    unsigned long none, all, missing, some, wrong;
};

/* ---- the log ---- */

/* Whether a symbol is a part of a function that lies apart from it (.cold); such a part is not another function. */
static bool is_part(const struct image_symbol *symbol) { return strstr(symbol->name, ".cold") != NULL; }

/* Adds the newest frame's function. Returns whether the frame is at that function's start. */
static bool log_moment(struct run *r) {
    struct way *way = &r->ways[r->truth.depth - 1];
    const struct image_symbol *function = r->truth.frames[r->truth.depth - 1].function;
    if (r->truth.called || !r->has_before) way->count = 0;
    if (function == NULL || is_part(function)) return false;
    if (way->count > 0 && way->functions[way->count - 1] == function) return false;
    if (way->count == WAY_MAX) return false;
    way->functions[way->count++] = function;
    return true;
}

/* ---- what is inferred ---- */

struct inferred {
    const struct image *image;
    usp_addr starts[WAY_MAX];
    unsigned count;
};

/* Returns the start of the function to which a part belongs. */
static usp_addr whole_start(const struct image *image, usp_addr start) {
    const struct image_symbol *symbol = image_function_at(image, start);
    char name[128];
    if (symbol == NULL || !is_part(symbol)) return start;
    snprintf(name, sizeof name, "%s", symbol->name);
    *strstr(name, ".cold") = '\0';
    symbol = image_function_named(image, name);
    return symbol != NULL ? symbol->start : start;
}

static int add_inferred(void *context, uint32_t i, const struct usp_source_frame *frame) {
    struct inferred *inferred = context;
    (void)i;
    if ((frame->flags & USP_SOURCE_INFERRED) == 0 || (frame->flags & USP_SOURCE_INLINED) != 0) return 0;
    if (inferred->count < WAY_MAX) inferred->starts[inferred->count++] = whole_start(inferred->image, frame->start);
    return 0;
}

static bool infer(struct run *r, const struct moment *now, struct inferred *inferred) {
    struct usp_frame frames[2];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, 2);
    stack.arch = r->image.arch;
    stack.count = stack.physical = 2;
    memset(frames, 0, sizeof frames);
    frames[0].pc = now->pc;
    frames[0].kind = USP_FRAME_KIND_INTERRUPTED;
    frames[1].pc = r->truth.frames[r->truth.depth - 1].return_address;
    frames[1].kind = USP_FRAME_KIND_RETURN_ADDRESS;
    *inferred = (struct inferred){.image = &r->image};
    return usp_symbolize_stack(r->symbolizer, &stack, add_inferred, inferred) == USP_OK;
}

/* ---- comparing ---- */

/* Whether a pair with this way has not been seen yet. */
static bool is_new(struct run *r, usp_addr return_address, const struct way *way) {
    uint64_t hash = return_address * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (unsigned i = 0; i < way->count; i++) hash = (hash ^ way->functions[i]->start) * UINT64_C(0x100000001b3);
    for (unsigned i = 0; i < PAIRS_MAX; i++) {
        uint64_t *place = &r->seen[(hash + i) % PAIRS_MAX];
        if (*place == hash) return false;
        if (*place != 0) continue;
        *place = hash;
        return true;
    }
    return false;
}

/* Returns how many of the inferred functions are in the log between the call and the newest function, in this order. If
 * some are not, the inference is wrong. */
static unsigned count_right(const struct way *way, const struct inferred *inferred) {
    unsigned right = 0;
    for (unsigned i = way->count - 1; i-- > 0 && right < inferred->count;) {
        if (way->functions[i]->start == inferred->starts[right]) right++;
    }
    return right;
}

static void print_wrong(const struct run *r, const struct way *way, const struct inferred *inferred) {
    printf("wrong\tlog:");
    for (unsigned i = way->count; i-- > 0;) printf(" %s", way->functions[i]->name);
    printf("\tinferred:");
    for (unsigned i = 0; i < inferred->count; i++) {
        const struct image_symbol *symbol = image_function_at(&r->image, inferred->starts[i]);
        printf(" %s", symbol != NULL ? symbol->name : "?");
    }
    putchar('\n');
}

static void compare(struct run *r, const struct moment *now) {
    const struct way *way = &r->ways[r->truth.depth - 1];
    struct inferred inferred;
    /* The first frame's caller is not code. */
    if (r->truth.depth < 2 || !is_new(r, r->truth.frames[r->truth.depth - 1].return_address, way)) return;
    if (!infer(r, now, &inferred)) {
        machine_fail(&r->machine, "usp_symbolize_stack fails");
        return;
    }
    const unsigned elided = way->count - 1;
    if (count_right(way, &inferred) != inferred.count) {
        if (r->wrong++ < WRONG_MAX) print_wrong(r, way, &inferred);
    } else if (elided == 0) {
        r->none++;
    } else if (inferred.count == elided) {
        r->all++;
    } else if (inferred.count == 0) {
        r->missing++;
    } else {
        r->some++;
    }
}

static void each_moment(void *context, const struct moment *now) {
    struct run *r = context;
    if (!truth_step(&r->truth, r->has_before ? &r->before : NULL, now)) {
        machine_fail(&r->machine, r->truth.error);
        return;
    }
    const bool is_beginning = r->truth.depth > 0 && log_moment(r);
    r->before = *now;
    r->has_before = true;
    if (now->length != 0 && is_beginning) compare(r, now);
}

/* ---- the whole run ---- */

static int fail(const char *what, const char *why) {
    fprintf(stderr, "tail_calls: %s: %s\n", what, why);
    return 1;
}

static int run_image(struct run *r, const char *path) {
    struct usp_image_file_options options;
    char error[512];
    uint32_t result;
    if (!image_load(&r->image, path, 0)) return fail(path, r->image.error);
    const struct image_symbol *entry = image_function_named(&r->image, "usp_workload");
    if (entry == NULL) return fail(path, "there is no usp_workload");
    usp_image_file_options_init(&options);
    options.arch = r->image.arch;
    if (usp_images_open(path, &options, &r->images, error, sizeof error) != USP_OK) return fail(path, error);
    if (usp_symbolizer_create(r->images, NULL, &r->symbolizer) != USP_OK) return fail(path, "no symbolizer");
    if (!machine_open(&r->machine, &r->image, STACK_HIGH)) return fail(path, r->machine.error);
    truth_begin(&r->truth, &r->machine);
    if (!machine_run(&r->machine, entry->start, entry->thumb, 1, each_moment, r, &result)) {
        return fail(path, r->machine.error);
    }
    printf("pairs\t%lu\t%lu\t%lu\t%lu\t%lu\n", r->none, r->all, r->missing, r->some, r->wrong);
    return 0;
}

int main(int argc, char **argv) {
    static struct run run;
    if (argc != 2) return fail("usage", "tail_calls IMAGE");
    int status = run_image(&run, argv[1]);
    machine_close(&run.machine);
    usp_symbolizer_free(run.symbolizer);
    usp_images_free(run.images);
    image_free(&run.image);
    return status;
}
