/* SPDX-License-Identifier: MIT */
/* Runs one linked program in the emulator and, before each instruction, takes its stack with usp_unwind and compares it
 * with the true one. The scripts decide what is built and judge the results (run.sh).
 *
 * usage: harness [OPTION...] IMAGE
 *   --rounds N    the argument of usp_workload (1)
 *   --visits N    unwind at the first N visits of an instruction, and at each whose number is a power of two (50)
 *   --bits N      arm64: addressable bits; pointers are signed above them
 *   --top-byte    the signature fills the top byte, too
 *   --async       the program has Swift async frames: follow them
 *   --tables      walk with the image's unwind tables only; otherwise without tables
 *
 * Prints tab-separated lines: `result` with counts, `tables` with how many instructions of bodies the unwind tables
 * describe, leave to CFI and do not describe, `score` for each way of walking, and `miss` lines (score.h).
 * Exit status 0 when the program ran to its end and the true stack was consistent, whatever the scores; otherwise 1. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/frame.h"
#include "classic.h"
#include "lib/unwind/tables/image_tables.h"
#include "prediction.h"
#include "score.h"
#include "signing.h"
#include "table.h"
#include "truth.h"

#define FRAMES_MAX (TRUTH_DEPTH + 64)
#define ASYNC_MAX  64u
#define SHOWN      7u /* frames of a stack that is listed as wrong */

/* One way of walking: what the caller of usp_unwind knows about the target. */
struct view {
    struct score score;
    struct usp_target target;
};

#define VIEWS_MAX 4

struct harness {
    struct image image;
    struct machine machine;
    struct truth truth;
    struct prediction prediction;
    struct signing signing;
    struct table table;
    struct usp_images *images;        /* a list of the only image */
    struct uspi_image_tables *tables; /* its tables */
    bool is_signed, is_async, by_tables;
    uint64_t address_mask; /* the bits that remain of a pointer without its signature */
    struct view views[VIEWS_MAX];
    unsigned view_count;
    struct score classic, decoder, async, registers;
    unsigned long executed, compared, signed_slots;
    unsigned long visits_wanted;
    uint32_t *visits; /* for each byte of the image */
    struct moment before;
    bool has_before;
};

static int read_memory(void *context, usp_addr from, void *to, size_t n) {
    const struct harness *h = context;
    return machine_read(&h->machine, from, to, n) ? 0 : USP_ERROR_UNREADABLE;
}

static int function_start(void *context, usp_addr pc, usp_addr *start, usp_addr *end) {
    const struct harness *h = context;
    const struct image_symbol *s = image_function_at(&h->image, pc);
    if (s == NULL) return USP_ERROR_NOT_FOUND;
    *start = s->start;
    *end = s->end;
    return 0;
}

static int image_at(void *context, usp_addr pc, struct usp_region *region) {
    const struct harness *h = context;
    if (pc < h->image.text_low || pc >= h->image.text_high) return USP_ERROR_NOT_FOUND;
    region->text_low = h->image.text_low;
    region->text_high = h->image.text_high;
    return 0;
}

static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    const struct harness *h = context;
    return uspi_image_tables_at(h->tables, pc, tables);
}

static struct view *add_view(struct harness *h, const char *name, bool starts, unsigned bits) {
    struct view *v = &h->views[h->view_count++];
    v->score.name = name;
    usp_target_init(&v->target, h->image.arch);
    v->target.os = h->image.os;
    v->target.address_bits = bits;
    v->target.memory = (struct usp_memory){read_memory, h};
    v->target.stack_low = h->machine.stack_low;
    v->target.stack_high = h->machine.stack_high;
    v->target.roots = &h->machine.root;
    v->target.root_count = 1;
    v->target.context = h;
    if (starts) {
        v->target.function_start = function_start;
        v->target.image_at = image_at;
    }
    return v;
}

/* ---- one moment ---- */

static void list_miss(struct harness *h, struct score *score, usp_addr pc, enum verdict verdict,
                      const usp_addr *expected, unsigned expected_count, const usp_addr *got, unsigned got_count,
                      const char *stop) {
    char **detail = score_miss(score, pc, score_verdict_name(verdict));
    if (detail == NULL) return;
    char *wanted = score_stack(&h->image, expected, expected_count, SHOWN);
    char *found = score_stack(&h->image, got, got_count, SHOWN);
    size_t capacity = strlen(wanted) + strlen(found) + strlen(stop) + 40;
    *detail = malloc(capacity);
    if (*detail == NULL) abort();
    snprintf(*detail, capacity, "expected %s\tgot %s\tstopped: %s", wanted, found, stop);
    free(wanted);
    free(found);
}

static void compare(struct harness *h, struct score *score, usp_addr pc, const usp_addr *expected,
                    unsigned expected_count, const usp_addr *got, unsigned got_count, const char *stop) {
    enum verdict v = score_compare(expected, expected_count, got, got_count);
    score->verdicts[v]++;
    if (v != VERDICT_EXACT) list_miss(h, score, pc, v, expected, expected_count, got, got_count, stop);
}

/* Compares the CFA and the frame pointer of frames that agree with the true ones. */
static void compare_registers(struct harness *h, const struct usp_stack *stack, usp_addr pc) {
    const char *wrong = NULL;
    for (unsigned i = 0; i < stack->physical && i < h->truth.depth; i++) {
        const struct usp_frame *f = &stack->frames[i];
        const struct truth_frame *true_frame = &h->truth.frames[h->truth.depth - 1 - i];
        if (f->cfa != 0 && f->cfa != true_frame->cfa) wrong = "a frame's cfa";
        if (i == 0) continue;
        const struct truth_frame *callee = &h->truth.frames[h->truth.depth - i];
        if (f->fp != 0 && f->fp != callee->caller_fp) wrong = "a frame's fp";
    }
    h->registers.verdicts[wrong == NULL ? VERDICT_EXACT : VERDICT_WRONG]++;
    if (wrong != NULL) score_miss(&h->registers, pc, wrong);
}

static void compare_async(struct harness *h, const struct usp_stack *stack, const struct moment *now) {
    usp_addr expected[ASYNC_MAX], got[ASYNC_MAX];
    unsigned expected_count, got_count = 0;
    for (unsigned i = stack->physical; i < stack->count && got_count < ASYNC_MAX; i++) {
        got[got_count++] = stack->frames[i].pc;
    }
    /* While a record is being made or undone, its context may or may not count. */
    expected_count = truth_async(&h->truth, now, true, h->address_mask, expected, ASYNC_MAX);
    if (score_compare(expected, expected_count, got, got_count) != VERDICT_EXACT) {
        expected_count = truth_async(&h->truth, now, false, h->address_mask, expected, ASYNC_MAX);
    }
    compare(h, &h->async, now->pc, expected, expected_count, got, got_count, usp_stop_reason_string(stack->async_stop));
}

static void walk(struct harness *h, struct view *view, const struct moment *now, const usp_addr *expected,
                 unsigned expected_count, bool first) {
    static struct usp_frame frames[FRAMES_MAX];
    static usp_addr got[FRAMES_MAX];
    struct usp_unwind_options options;
    struct usp_stack stack;
    usp_unwind_options_init(&options);
    options.async = h->is_async;
    usp_stack_init(&stack, frames, FRAMES_MAX);
    if (usp_unwind(&view->target, &now->registers, &options, &stack) != USP_OK) {
        machine_fail(&h->machine, "usp_unwind refuses its arguments");
        return;
    }
    for (unsigned i = 0; i < stack.physical; i++) got[i] = frames[i].pc;
    compare(h, &view->score, now->pc, expected, expected_count, got, stack.physical,
            usp_stop_reason_string(stack.stop));
    if (first && score_compare(expected, expected_count, got, stack.physical) == VERDICT_EXACT) {
        compare_registers(h, &stack, now->pc);
    }
    if (first && h->is_async) compare_async(h, &stack, now);
}

/* Whether a return address on the stack, of a frame that has made a call, carries a signature. */
static void look_for_signatures(struct harness *h, const struct moment *now) {
    usp_addr at = now->registers.value[h->machine.backend->sp];
    uint64_t word;
    for (unsigned i = 0; i < 64 && machine_load(&h->machine, at, 8, &word); i++, at += 8) {
        for (unsigned d = 0; d < h->truth.depth; d++) {
            h->signed_slots += word != h->truth.frames[d].return_address &&
                               (word & h->address_mask) == h->truth.frames[d].return_address;
        }
    }
}

static bool wanted(struct harness *h, usp_addr pc) {
    if (pc < h->image.low || pc >= h->image.high) return false;
    uint32_t n = ++h->visits[pc - h->image.low];
    return n <= h->visits_wanted || (n & (n - 1)) == 0;
}

static void note_decoder(struct harness *h, usp_addr pc, const char *wrong) {
    h->decoder.verdicts[wrong == NULL ? VERDICT_EXACT : VERDICT_WRONG]++;
    if (wrong != NULL) score_miss(&h->decoder, pc, wrong);
}

static void observe(struct harness *h, const struct moment *now) {
    static usp_addr expected[TRUTH_DEPTH + 1], got[FRAMES_MAX];
    h->compared++;
    const char *wrong = prediction_make(&h->prediction, now);
    if (wrong != NULL) note_decoder(h, now->pc, wrong);
    table_check(&h->table, &h->truth, now);
    unsigned n = truth_pcs(&h->truth, now, expected);
    for (unsigned i = 0; i < h->view_count; i++) walk(h, &h->views[i], now, expected, n, i == 0);
    unsigned m = classic_walk(&h->machine, now, got, FRAMES_MAX);
    enum verdict v = score_compare(expected, n, got, m);
    h->classic.verdicts[v]++;
    if (h->compared % 64 == 0) look_for_signatures(h, now);
}

static void each_moment(void *context, const struct moment *now) {
    struct harness *h = context;
    if (!truth_step(&h->truth, h->has_before ? &h->before : NULL, now)) {
        machine_fail(&h->machine, h->truth.error);
        return;
    }
    table_step(&h->table, &h->truth, h->has_before ? &h->before : NULL, now);
    if (h->prediction.made) {
        usp_addr pc = h->prediction.before.pc;
        note_decoder(h, pc, prediction_check(&h->prediction, now, h->truth.called));
    }
    if (now->length == 0) return; /* the end of the run */
    h->executed++;
    h->before = *now;
    h->has_before = true;
    if (wanted(h, now->pc)) observe(h, now);
    if (h->is_signed && !signing_apply(&h->signing, &h->machine, now)) {
        machine_fail(&h->machine, h->signing.error);
    }
}

/* ---- the whole run ---- */

static void print_score(const struct score *s) {
    printf("score\t%s\t%lu\t%lu\t%lu\t%lu\n", s->name, s->verdicts[VERDICT_EXACT], s->verdicts[VERDICT_MISSING],
           s->verdicts[VERDICT_EXTRA], s->verdicts[VERDICT_WRONG]);
}

static void print_all(struct harness *h, uint32_t result) {
    printf("result\t%lu\t%lu\t%08" PRIx32 "\t%lu\t%lu\t%lu\n", h->executed, h->compared, result,
           h->signing.signed_count, h->signing.checked_count, h->signed_slots);
    printf("tables\t%lu\t%lu\t%lu\n", h->table.described, h->table.by_cfi, h->table.not_described);
    struct score *scores[VIEWS_MAX + 5] = {&h->classic, &h->decoder, &h->registers, &h->table.score, &h->async};
    unsigned n = h->is_async ? 5 : 4;
    for (unsigned i = 0; i < h->view_count; i++) scores[n++] = &h->views[i].score;
    for (unsigned i = 0; i < n; i++) print_score(scores[i]);
    for (unsigned i = 0; i < n; i++) score_print_misses(scores[i], &h->image);
}

static int fail(const char *what, const char *why) {
    fprintf(stderr, "harness: %s: %s\n", what, why);
    return 1;
}

/* Chooses the ways of walking for the image: with its tables; or without them, with and without the starts of
 * functions. If pointers are signed: also with and without a known number of address bits. */
static void choose_views(struct harness *h, unsigned bits) {
    if (h->by_tables) {
        add_view(h, "tables", false, bits)->target.unwind_tables_at = tables_at;
        return;
    }
    add_view(h, "alone", false, bits);
    add_view(h, "starts", true, bits);
    /* If the number of bits is not given, Darwin's is found out; on Linux 48 is assumed. */
    if (h->is_signed && (h->image.os == USP_OS_DARWIN || bits == 48)) {
        add_view(h, "alone, bits unknown", false, 0);
        add_view(h, "starts, bits unknown", true, 0);
    }
}

static usp_addr place_of_stack(const struct image *image, unsigned bits) {
    if (uspi_backend_find(image->arch)->word == 4) return UINT64_C(0x70000000);
    if (image->arch == USP_ARCH_X86_64 || bits == 0) return UINT64_C(0x7ffe00000000);
    /* As high as addresses go: a mask with one bit too few then fails. */
    return (UINT64_C(1) << bits) - (UINT64_C(1) << 28);
}

static usp_addr place_of_image(const char *path, unsigned bits) {
    (void)path;
    return bits == 0 || bits > 39 ? UINT64_C(0x10000000) : UINT64_C(0x5000000000);
}

/* Finds the image's tables with the library's own code, as in any other image. */
static bool learn_tables(struct harness *h, const char *path) {
    const struct usp_memory memory = {read_memory, h};
    struct usp_image_file_options options;
    usp_image_file_options_init(&options);
    if (h->image.os == USP_OS_LINUX) {
        options.flags = USP_IMAGE_FILE_LOADED;
        options.load_address = h->image.low;
    }
    return usp_images_open(path, &options, &h->images, NULL, 0) == USP_OK &&
           uspi_image_tables_create(h->images, &memory, NULL, UINT64_MAX, &h->tables) == USP_OK;
}

static int run(struct harness *h, const char *path, unsigned rounds, unsigned bits) {
    uint32_t result = 0;
    if (!image_load(&h->image, path, place_of_image(path, bits))) return fail(path, h->image.error);
    const struct image_symbol *entry = image_function_named(&h->image, "usp_workload");
    if (entry == NULL) return fail(path, "there is no usp_workload");
    if (!machine_open(&h->machine, &h->image, place_of_stack(&h->image, bits))) return fail(path, h->machine.error);
    h->visits = calloc((size_t)(h->image.high - h->image.low), sizeof *h->visits);
    if (h->visits == NULL) return fail(path, "out of memory");
    if (h->by_tables && !learn_tables(h, path)) return fail(path, "the image's tables cannot be found");
    h->address_mask = h->machine.backend->word_mask;
    if (h->is_signed) h->address_mask &= ~h->signing.mask;
    choose_views(h, bits);
    truth_begin(&h->truth, &h->machine);
    prediction_begin(&h->prediction, &h->machine, h->is_signed ? h->signing.mask : 0);
    table_begin(&h->table, &h->machine, h->address_mask);
    if (!machine_run(&h->machine, entry->start, entry->thumb, rounds, each_moment, h, &result)) {
        char place[100];
        score_place(&h->image, h->before.pc, place, sizeof place);
        fprintf(stderr, "harness: %s: at %s after %lu instructions\n", path, place, h->executed);
        return fail(path, h->machine.error);
    }
    if (h->truth.depth != 0) return fail(path, "the program has returned with frames left on the true stack");
    print_all(h, result);
    return 0;
}

static struct harness harness;

int main(int argc, char **argv) {
    struct harness *h = &harness;
    unsigned rounds = 1, bits = 0;
    bool top_byte = false;
    const char *path = NULL;
    h->visits_wanted = 50;
    h->classic.name = "classic";
    h->decoder.name = "decoder";
    h->async.name = "async";
    h->registers.name = "registers";
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--rounds") == 0 && more) {
            rounds = (unsigned)strtoul(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--visits") == 0 && more) {
            h->visits_wanted = strtoul(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--bits") == 0 && more) {
            bits = (unsigned)strtoul(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--top-byte") == 0) {
            top_byte = true;
        } else if (strcmp(argv[i], "--async") == 0) {
            h->is_async = true;
        } else if (strcmp(argv[i], "--tables") == 0) {
            h->by_tables = true;
        } else if (argv[i][0] != '-' && path == NULL) {
            path = argv[i];
        } else {
            return fail(argv[i], "not understood");
        }
    }
    if (path == NULL || (bits != 0 && (bits < 32 || bits > 52))) return fail("usage", "see the top of harness.c");
    h->is_signed = bits != 0;
    if (h->is_signed) signing_begin(&h->signing, bits, top_byte);
    int status = run(h, path, rounds, bits);
    for (unsigned i = 0; i < h->view_count; i++) score_free(&h->views[i].score);
    score_free(&h->classic);
    score_free(&h->decoder);
    score_free(&h->async);
    score_free(&h->registers);
    score_free(&h->table.score);
    uspi_image_tables_free(h->tables);
    usp_images_free(h->images);
    machine_close(&h->machine);
    image_free(&h->image);
    free(h->visits);
    return status;
}
