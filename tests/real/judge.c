/* SPDX-License-Identifier: MIT */
/* See judge.h.
 *
 * A walk goes from frame to frame. Its first step, out of the stepped function, is taken at each instruction. If it
 * leads to a caller with the same registers as before, the rest of the walk is the same and is not repeated. */
#include "judge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/unwind/tables/image_tables.h"
#include "lib/unwind/walker.h"

static const char *const view_names[VIEWS] = {"tables", "partly", "alone"};

/* The result of a walk: the index of the true frame whose caller was wrong, or one of these. */
#define WALK_RIGHT  (-1)
#define WALK_BOTTOM (-2) /* the walk continues after the stack's end */

struct outcome {
    int failed; /* index of a true frame, or one of the two values above */
    unsigned miss;
};

struct miss {
    enum view view;
    usp_addr pc; /* pc of the frame whose caller was not found */
    bool is_first, is_thumb;
    unsigned long count;
    char *place, *detail;
};

/* How many callers from which a walk continued are remembered for each frame. */
#define MEMORIES 8u

struct memory {
    uint64_t hash;
    struct outcome outcome;
};

/* A walk that failed. It counts only when it is known whether the functions return. */
struct pending {
    struct pending *next;
    enum view view;
    bool inner_returned; /* the innermost function has returned; the function where the walk failed has not yet */
    struct outcome outcome;
    unsigned long count;
};

/* What is known about a true frame. */
struct notes {
    bool described; /* tables describe all of the callers */
    unsigned long right[VIEWS];
    struct pending *pending;
    struct memory memories[2][MEMORIES]; /* with tables, and without */
    unsigned next_memory[2];
    uint64_t wrong_registers;
    usp_addr wrong_pc;
    unsigned long wrong_count;
};

#define DESCRIBED 65536u

struct described {
    usp_addr pc;
    uint64_t generation;
    bool exact, is_described;
};

static uint64_t mix(uint64_t a, uint64_t b) {
    a = (a ^ b) * UINT64_C(0x94d049bb133111eb);
    return a ^ a >> 31;
}

/* ---- pairs that were compared ---- */

static bool insert(uint64_t *places, size_t capacity, uint64_t hash) {
    size_t at = hash & (capacity - 1);
    while (places[at] != 0 && places[at] != hash) at = (at + 1) & (capacity - 1);
    bool is_new = places[at] == 0;
    places[at] = hash;
    return is_new;
}

static bool is_new(struct judge *j, uint64_t hash) {
    if (hash == 0) hash = 1;
    if (2 * j->seen_count >= j->seen_capacity) {
        size_t capacity = j->seen_capacity * 2;
        uint64_t *places = calloc(capacity, sizeof *places);
        if (places == NULL) abort();
        for (size_t i = 0; i < j->seen_capacity; i++) {
            if (j->seen[i] != 0) insert(places, capacity, j->seen[i]);
        }
        free(j->seen);
        j->seen = places;
        j->seen_capacity = capacity;
    }
    if (!insert(j->seen, j->seen_capacity, hash)) return false;
    j->seen_count++;
    return true;
}

static bool is_described(struct judge *j, usp_addr pc, bool exact) {
    struct described *d = &j->described[mix(pc, 1) % DESCRIBED];
    if (d->pc != pc || d->generation != j->guest->generation || d->exact != exact) {
        *d = (struct described){pc, j->guest->generation, exact, guest_has_table(j->guest, pc, exact)};
    }
    return d->is_described;
}

/* ---- notes at frames ---- */

/* Whether a table describes the caller. A signal trampoline is recognized by its code, and the last frame, which has no
 * caller, needs no table. */
static bool is_caller_described(struct judge *j, const struct shadow_stack *stack, unsigned i) {
    const struct shadow_frame *f = &stack->frames[i];
    if (i == 0 && stack->is_whole) return true;
    if (f->kind == SHADOW_SIGNAL) return is_described(j, f->return_address, true);
    if (i > 0 && stack->frames[i - 1].kind == SHADOW_SIGNAL) return true;
    return is_described(j, f->return_address - 1, false);
}

static struct notes *notes_of(struct judge *j, struct shadow_stack *stack, unsigned i) {
    struct shadow_frame *f = &stack->frames[i];
    if (f->notes == NULL) {
        struct notes *n = calloc(1, sizeof *n);
        if (n == NULL) abort();
        n->described = is_caller_described(j, stack, i) && (i == 0 || notes_of(j, stack, i - 1)->described);
        f->notes = n;
    }
    return f->notes;
}

static void wait_for(struct notes *n, enum view view, struct outcome outcome, bool inner_returned,
                     unsigned long count) {
    struct pending *p = n->pending;
    while (p != NULL && (p->view != view || p->outcome.failed != outcome.failed || p->outcome.miss != outcome.miss ||
                         p->inner_returned != inner_returned)) {
        p = p->next;
    }
    if (p == NULL) {
        p = malloc(sizeof *p);
        if (p == NULL) abort();
        *p = (struct pending){n->pending, view, inner_returned, outcome, 0};
        n->pending = p;
    }
    p->count += count;
}

static void count_wrong(struct judge *j, enum view view, const struct outcome *outcome, unsigned long count) {
    j->counts[view].wrong += count;
    j->misses[outcome->miss].count += count;
}

/* Counts wrong registers: those that a walk had wrong and that the function has returned unchanged. */
static void settle_registers(struct judge *j, const struct shadow_frame *f, const struct notes *n) {
    const struct victim *v = j->guest->victim;
    uint64_t kept = UINT64_C(1) << v->backend->sp;
    for (unsigned reg = 0; reg < v->backend->register_count; reg++) {
        if (f->call.value[reg] == v->now.value[reg]) kept |= UINT64_C(1) << reg;
    }
    if ((n->wrong_registers & kept) != 0) j->registers_wrong += n->wrong_count;
}

void judge_end_frame(void *context, struct shadow_frame *f, bool returned) {
    struct judge *j = context;
    struct notes *n = f->notes;
    if (n == NULL) return;
    /* A frame that ends is usually on the current stack. This finds the stack that contains it. */
    struct shadow_stack *stack = NULL;
    for (unsigned i = 0; i < SHADOW_STACKS && stack == NULL; i++) {
        struct shadow_stack *s = &j->shadow->stacks[i];
        if (f >= s->frames && f < s->frames + SHADOW_DEPTH) stack = s;
    }
    int index = (int)(f - stack->frames);
    for (unsigned view = 0; view < VIEWS; view++) {
        if (returned) j->counts[view].right += n->right[view];
        if (!returned) j->counts[view].no_return += n->right[view];
    }
    for (struct pending *p = n->pending, *next; p != NULL; p = next) {
        next = p->next;
        if (!p->inner_returned && !returned) {
            j->counts[p->view].no_return += p->count;
        } else if (p->outcome.failed != index) {
            /* WALK_BOTTOM: the code at the stack's end does not return. */
            if (p->outcome.failed >= 0) {
                wait_for(notes_of(j, stack, (unsigned)p->outcome.failed), p->view, p->outcome, true, p->count);
            } else {
                j->counts[p->view].right += p->count;
            }
        } else if (returned) {
            count_wrong(j, p->view, &p->outcome, p->count);
        } else {
            j->counts[p->view].right += p->count;
        }
        free(p);
    }
    if (returned) settle_registers(j, f, n);
    free(n);
    f->notes = NULL;
}

/* ---- misses ---- */

static unsigned find_miss(struct judge *j, enum view view, usp_addr pc, bool is_first) {
    unsigned i = 0;
    for (; i < j->miss_count; i++) {
        const struct miss *m = &j->misses[i];
        if (m->view == view && m->pc == pc && m->is_first == is_first) return i;
    }
    if (j->miss_count == j->miss_capacity) {
        j->miss_capacity = j->miss_capacity * 2 + 64;
        j->misses = realloc(j->misses, j->miss_capacity * sizeof *j->misses);
        if (j->misses == NULL) abort();
    }
    j->misses[j->miss_count++] = (struct miss){.view = view, .pc = pc, .is_first = is_first};
    return i;
}

/* Describes the true stack around the step that failed, and what was found instead. */
static void describe_miss(struct judge *j, struct miss *m, const usp_addr *expected, unsigned count, unsigned at,
                          const struct uspi_walker *w) {
    char place[512], *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) abort();
    guest_place(j->guest, m->pc, place, sizeof place);
    m->place = strdup(place);
    m->is_thumb = (uspi_frame_mode(&w->walk, &w->frame) & USPI_MODE_THUMB) != 0;
    usp_addr sp = w->frame.registers.value[w->walk.backend->sp];
    fprintf(out, "frame %u of %u, sp %" PRIx64 ", fp %" PRIx64 ", found by %u; true callers:", at, count, sp,
            w->frame.registers.value[w->walk.backend->fp], w->frame.method);
    for (unsigned i = at + 1; i < count && i < at + 4; i++) {
        guest_place(j->guest, expected[i], place, sizeof place);
        fprintf(out, " %s", place);
    }
    if (w->stop != USP_STOP_NONE) {
        fprintf(out, "; ended: %s", usp_stop_reason_string(w->stop));
    } else {
        guest_place(j->guest, w->next.registers.value[w->walk.backend->pc], place, sizeof place);
        fprintf(out, "; found: %s by %u, cfa %" PRIx64, place, w->next.method, w->next.low);
    }
    guest_place(j->guest, expected[0], place, sizeof place);
    if (at > 0) fprintf(out, "; from %s", place);
    fclose(out);
    m->detail = text;
}

/* ---- walks ---- */

static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    struct guest *g = context;
    return uspi_image_tables_at(g->tables, pc, tables);
}

static uint64_t hash_caller(const struct uspi_frame_state *f) {
    uint64_t hash = mix(mix(f->registers.known, 1), f->low);
    for (unsigned reg = 0; reg < USP_REGISTERS_MAX; reg++) {
        if ((f->registers.known >> reg & 1) != 0) hash = mix(mix(hash, reg), f->registers.value[reg]);
    }
    return mix(hash, (uint64_t)f->flags << 2 | (uint64_t)f->exact << 1 | f->sp_known) | 1;
}

/* Compares the caller's registers that were found with those at its call. */
static void check_registers(struct judge *j, struct notes *n, const struct shadow_frame *f,
                            const struct uspi_frame_state *caller) {
    const struct uspi_backend *b = j->guest->victim->backend;
    uint64_t wrong = 0, wanted = b->callee_saved & caller->registers.known & f->call.known;
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        bool is_wanted = (wanted >> reg & 1) != 0;
        if (is_wanted && caller->registers.value[reg] != f->call.value[reg]) wrong |= UINT64_C(1) << reg;
    }
    if (caller->sp_known && caller->registers.value[b->sp] != f->cfa) wrong |= UINT64_C(1) << b->sp;
    j->registers++;
    if (wrong == 0) return;
    n->wrong_registers |= wrong;
    n->wrong_pc = victim_pc(j->guest->victim);
    n->wrong_count++;
}

struct walk {
    struct judge *judge;
    enum view view;
    const usp_addr *expected;
    unsigned count;
};

static struct outcome fail(const struct walk *walk, const struct uspi_walker *w, unsigned at) {
    struct judge *j = walk->judge;
    const struct shadow_stack *stack = j->shadow->now;
    usp_addr pc = w->frame.registers.value[w->walk.backend->pc];
    struct outcome outcome = {.failed = at < stack->count ? (int)(stack->count - 1 - at) : WALK_BOTTOM};
    outcome.miss = find_miss(j, walk->view, pc, at == 0);
    struct miss *m = &j->misses[outcome.miss];
    if (m->place == NULL) describe_miss(j, m, walk->expected, walk->count, at, w);
    return outcome;
}

/* Continues a walk from the frame `at`, which the walker has just returned. */
static struct outcome go_on(const struct walk *walk, struct uspi_walker *w, unsigned at) {
    const struct shadow_stack *stack = walk->judge->shadow->now;
    struct usp_frame frame;
    for (;; at++) {
        bool is_last = at + 1 == walk->count;
        if (is_last) {
            if (!stack->is_whole || w->stop != USP_STOP_NONE) return (struct outcome){.failed = WALK_RIGHT};
            return fail(walk, w, at);
        }
        bool is_right =
            w->stop == USP_STOP_NONE && w->next.registers.value[w->walk.backend->pc] == walk->expected[at + 1];
        if (!is_right) return fail(walk, w, at);
        uspi_walker_step(w, &frame);
    }
}

static struct outcome take_walk(const struct walk *walk, bool with_tables) {
    struct judge *j = walk->judge;
    struct shadow_stack *stack = j->shadow->now;
    struct usp_target target;
    struct usp_frame frame;
    struct uspi_walker w;
    guest_describe(j->guest, &target);
    target.context = j->guest;
    if (with_tables) target.unwind_tables_at = tables_at;
    if (uspi_walker_init(&w, &target, &j->guest->victim->now, NULL) != USP_OK) abort();
    uspi_walker_step(&w, &frame);
    bool is_right =
        walk->count > 1 && w.stop == USP_STOP_NONE && w.next.registers.value[w.walk.backend->pc] == walk->expected[1];
    if (!is_right) return go_on(walk, &w, 0);
    struct notes *n = notes_of(j, stack, stack->count - 1);
    if (with_tables) check_registers(j, n, shadow_newest(j->shadow), &w.next);
    uint64_t hash = hash_caller(&w.next);
    struct memory *memories = n->memories[with_tables];
    for (unsigned i = 0; i < MEMORIES && !j->always_whole; i++) {
        if (memories[i].hash == hash) return memories[i].outcome;
    }
    uspi_walker_step(&w, &frame);
    struct outcome outcome = go_on(walk, &w, 1);
    memories[n->next_memory[with_tables]++ % MEMORIES] = (struct memory){hash, outcome};
    return outcome;
}

static void count(struct judge *j, enum view view, struct outcome outcome) {
    struct shadow_stack *stack = j->shadow->now;
    /* At the stack's end no function returns. */
    if (view == VIEW_TABLES || stack->count == 0) {
        if (outcome.failed == WALK_RIGHT) {
            j->counts[view].right++;
        } else if (view == VIEW_TABLES) {
            count_wrong(j, view, &outcome, 1);
        } else {
            j->counts[view].no_return++;
        }
        return;
    }
    struct notes *n = notes_of(j, stack, stack->count - 1);
    if (outcome.failed == WALK_RIGHT) {
        n->right[view]++;
    } else {
        wait_for(n, view, outcome, false, 1);
    }
}

bool judge_look(struct judge *j) {
    struct shadow *s = j->shadow;
    struct shadow_stack *stack = s->now;
    static usp_addr expected[SHADOW_DEPTH + 1];
    usp_addr pc = victim_pc(j->guest->victim);
    if (!shadow_is_known(s)) {
        j->unknown++;
        return false;
    }
    if (!is_new(j, mix(mix(pc, 1), stack->count > 0 ? shadow_newest(s)->chain : 0))) return false;
    j->compared++;
    struct walk walk = {.judge = j, .expected = expected};
    walk.count = shadow_pcs(s, expected);
    bool described =
        is_described(j, pc, true) && (stack->count == 0 || notes_of(j, stack, stack->count - 1)->described);
    walk.view = described ? VIEW_TABLES : VIEW_PARTLY;
    count(j, walk.view, take_walk(&walk, true));
    walk.view = VIEW_ALONE;
    count(j, VIEW_ALONE, take_walk(&walk, false));
    return true;
}

bool judge_init(struct judge *j, struct shadow *shadow) {
    memset(j, 0, sizeof *j);
    j->shadow = shadow;
    j->guest = shadow->guest;
    j->seen_capacity = 1 << 16;
    j->seen = calloc(j->seen_capacity, sizeof *j->seen);
    j->described = calloc(DESCRIBED, sizeof *j->described);
    return j->seen != NULL && j->described != NULL;
}

void judge_free(struct judge *j) {
    for (size_t i = 0; i < j->miss_count; i++) {
        free(j->misses[i].place);
        free(j->misses[i].detail);
    }
    free(j->misses);
    free(j->seen);
    free(j->described);
}

void judge_print(const struct judge *j, FILE *out) {
    for (unsigned view = 0; view < VIEWS; view++) {
        const struct judge_counts *c = &j->counts[view];
        fprintf(out, "count\t%s\t%lu\t%lu\t%lu\n", view_names[view], c->right, c->wrong, c->no_return);
    }
    fprintf(out, "compared\t%lu\t%lu\t%lu\t%lu\n", j->compared, j->unknown, j->registers, j->registers_wrong);
    for (size_t i = 0; i < j->miss_count; i++) {
        const struct miss *m = &j->misses[i];
        if (m->count == 0) continue;
        fprintf(out, "miss\t%s\t%lu\t%s%s\t%s\t%s\n", view_names[m->view], m->count,
                m->is_first ? "interrupted" : "call", m->is_thumb ? " (Thumb)" : "", m->place, m->detail);
    }
}
