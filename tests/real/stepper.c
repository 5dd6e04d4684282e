/* SPDX-License-Identifier: MIT */
/* Steps a real program, instruction by instruction, and compares the stacks that the library finds with the true ones.
 * run.py chooses the programs and decides what is good enough.
 *
 * usage: stepper [OPTION...] [--] PROGRAM [ARGUMENT...]
 *   --steps N   instructions to step, over all runs of the program (200000)
 *   --runs N    maximum number of runs (8)
 *   --often N   how many calls of a function are stepped through before they become rare (2)
 *   --all       steps through everything, once, from the program's first instruction on; without it, stepping begins
 *               after the loader's work
 *   --whole     walks each stack to its end
 *   --untimed   chooses functions without regard to how long they run, so that each time it chooses the same ones
 *   --input F   the program's standard input
 *   --cpu N     the processor to use: faster than two
 * PROGRAM runs natively or, if it is qemu-aarch64 or qemu-arm, in that emulator.
 *
 * Prints tab-separated lines: `ran` with the runs, the steps and why the last run ended; those of judge.h. The exit
 * status is 0 unless the program could not be started. */
#define _GNU_SOURCE 1
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"
#include "lib/unwind/frame/code.h"

#include "plan.h"
#include <unspool/images.h>

/* After how many steps without anything new a loop runs freely, and for how many rounds at most. */
#define STALE_STEPS 300u
#define ROUNDS_MAX  64u

/* How many seconds a function may run. */
#define LONGEST 10u

/* How many steps make a function a slow one. */
#define SLOW_STEPS 1024u

/* How many steps lie between two looks at the mappings. */
#define LOOK_STEPS 20000u

struct stepper {
    struct victim victim;
    struct guest guest;
    struct shadow shadow;
    struct judge judge;
    struct plan plan;
    unsigned long steps, steps_max;
    unsigned runs, runs_max;
    bool takes_all, is_untimed;
    unsigned long stale; /* steps since something new was seen */
    unsigned loops;      /* how often in a row a loop ran freely without anything new afterwards */
    const char *end;     /* why the run ended */
    char *const *arguments;
};

static bool is_emulator(const char *program) {
    const char *name = strrchr(program, '/') != NULL ? strrchr(program, '/') + 1 : program;
    return strncmp(name, "qemu-", 5) == 0;
}

/* Handles the event that ended a run or a step. Returns false if the program's run is over. */
static bool goes_on(struct stepper *s, enum victim_event event) {
    guest_has_run(&s->guest);
    if (event == VICTIM_STOPPED) return true;
    s->end = event == VICTIM_ENDED ? "the program ended" : "the program did not come back";
    return false;
}

/* Marks the functions on the stack that were called before the given step as slow: they lead to where the program does
 * its work. */
static void mark_slow(struct stepper *s, unsigned long before) {
    const struct shadow_stack *stack = s->shadow.now;
    for (unsigned i = 0; i < stack->count; i++) {
        if (stack->frames[i].born < before) plan_is_slow(&s->plan, stack->frames[i].callee);
    }
}

/* Lets the newest function run until it returns. */
static bool run_to_return(struct stepper *s, usp_addr callee) {
    const struct shadow_frame *f = shadow_newest(&s->shadow);
    const usp_addr stop = f->return_address;
    uint64_t begin = usp_clock();
    for (;;) {
        enum victim_event event = victim_run(&s->victim, &stop, 1, LONGEST);
        if (!goes_on(s, event)) {
            plan_has_run(&s->plan, callee, UINT64_MAX);
            return false;
        }
        if (shadow_has_returned(&s->shadow)) {
            if (shadow_still_holds(&s->shadow)) break;
            plan_has_run(&s->plan, callee, UINT64_MAX);
            s->end = "a function was left otherwise than by a return";
            return false;
        }
        /* It stopped in another call of the same function, which returned first: leaves the stop address by a step. */
        if (!goes_on(s, victim_step(&s->victim))) return false;
        if (usp_clock() - begin > UINT64_C(1000000000) * LONGEST) {
            plan_has_run(&s->plan, callee, UINT64_MAX);
            s->end = "a function did not return";
            return false;
        }
    }
    if (plan_has_run(&s->plan, callee, s->is_untimed ? 0 : usp_clock() - begin)) mark_slow(s, ULONG_MAX);
    return true;
}

/* Lets the newest function pass the current address `rounds` times if that is in a loop. Stops there, or where the
 * function has returned. */
static bool run_rounds(struct stepper *s, unsigned rounds) {
    const usp_addr sp = victim_sp(&s->victim);
    const usp_addr stops[VICTIM_STOPS] = {victim_pc(&s->victim), shadow_newest(&s->shadow)->return_address};
    for (unsigned tries = 0; rounds > 0 && tries < 4 * ROUNDS_MAX; tries++) {
        /* Leaves the stop address by a step. The step may be the return; a call in it is not followed. */
        if (!goes_on(s, victim_step(&s->victim))) return false;
        if (shadow_has_returned(&s->shadow)) return true;
        usp_addr pc = victim_pc(&s->victim);
        if (pc != stops[0] && pc != stops[1] && !goes_on(s, victim_run(&s->victim, stops, VICTIM_STOPS, LONGEST))) {
            return false;
        }
        if (shadow_has_returned(&s->shadow)) return true;
        rounds -= victim_pc(&s->victim) == stops[0] && victim_sp(&s->victim) == sp;
    }
    if (rounds == 0 && shadow_still_holds(&s->shadow)) return true;
    s->end = "a loop was lost";
    return false;
}

/* Runs over an instruction that repeats itself: a step executes only one repetition. */
static bool run_over(struct stepper *s) {
    struct usp_target target;
    struct uspi_code code;
    struct uspi_instruction i;
    guest_describe(&s->guest, &target);
    uspi_code_init(&code, s->victim.backend, &target.memory);
    if (!uspi_code_decode(&code, victim_pc(&s->victim), 0, &i)) return true;
    const usp_addr stop = victim_pc(&s->victim) + i.length;
    return goes_on(s, victim_run(&s->victim, &stop, 1, LONGEST));
}

/* Runs freely for a while, because nothing new has been seen for long. */
static bool hurry(struct stepper *s) {
    s->stale = 0;
    if (s->shadow.now->count == 0 || s->shadow.now->is_moving) return true;
    s->loops++;
    if (s->loops > 2 && s->shadow.now->count > 3) return run_to_return(s, 0);
    return run_rounds(s, 1 + plan_random(&s->plan, ROUNDS_MAX));
}

static bool begin(struct stepper *s) {
    uint64_t generation = s->guest.generation;
    bool started = is_emulator(s->arguments[0]) ? victim_start_gdb(&s->victim, s->arguments)
                                                : victim_start_ptrace(&s->victim, s->arguments);
    if (!started) return false;
    if (!s->takes_all) {
        enum victim_event event = victim_run(&s->victim, &s->victim.entry, 1, 60);
        if (event != VICTIM_STOPPED) {
            fprintf(stderr, "%s: does not come to its entry\n", s->arguments[0]);
            return false;
        }
    }
    if (!guest_init(&s->guest, &s->victim) || !shadow_init(&s->shadow, &s->guest)) return false;
    s->guest.generation += generation;
    s->shadow.on_end = judge_end_frame;
    s->shadow.context = &s->judge;
    shadow_begin(&s->shadow);
    s->end = "enough steps";
    s->stale = s->loops = 0;
    return true;
}

static void finish(struct stepper *s) {
    shadow_end(&s->shadow);
    shadow_free(&s->shadow);
    victim_end(&s->victim);
    uint64_t generation = s->guest.generation;
    guest_free(&s->guest);
    s->guest.generation = generation;
}

static bool is_lost_code(const struct stepper *s) {
    return usp_images_find(s->guest.images, victim_pc(&s->victim)) == NULL &&
           guest_mapping_at(&s->guest, victim_pc(&s->victim)) == NULL;
}

/* Executes one instruction and handles its effect. Returns false if the program's run is over. */
static bool go(struct stepper *s) {
    const struct usp_registers before = s->victim.now;
    const unsigned depth = s->shadow.now->count;
    usp_addr pc = victim_pc(&s->victim);
    if (judge_look(&s->judge)) {
        s->stale = 0;
        s->loops = 0;
    } else if (++s->stale > STALE_STEPS && !s->takes_all) {
        return hurry(s);
    }
    if (!goes_on(s, victim_step(&s->victim))) return false;
    s->shadow.observed = s->steps++;
    if (s->steps % SLOW_STEPS == 0) mark_slow(s, s->steps - SLOW_STEPS);
    if (victim_pc(&s->victim) == pc && s->victim.signal == 0 && !s->takes_all) return run_over(s);
    if (!shadow_step(&s->shadow, &before)) {
        s->end = s->shadow.error;
        return false;
    }
    if (is_lost_code(s) || s->steps % LOOK_STEPS == 0) {
        if (!guest_look(&s->guest)) return goes_on(s, VICTIM_ENDED);
    }
    bool is_call =
        s->shadow.now->count > depth && shadow_newest(&s->shadow)->kind == SHADOW_CALL && s->victim.delivered == 0;
    if (!is_call || s->takes_all || plan_wants(&s->plan, victim_pc(&s->victim))) return true;
    return run_to_return(s, victim_pc(&s->victim));
}

static bool take_options(struct stepper *s, int count, char *arguments[]) {
    int i = 1;
    unsigned often = 4;
    s->steps_max = 200000;
    s->runs_max = 8;
    for (; i < count && strncmp(arguments[i], "--", 2) == 0; i++) {
        const char *option = arguments[i] + 2;
        if (*option == '\0') {
            i++;
            break;
        }
        if (strcmp(option, "all") == 0) {
            s->takes_all = true;
        } else if (strcmp(option, "whole") == 0) {
            s->judge.always_whole = true;
        } else if (strcmp(option, "untimed") == 0) {
            s->is_untimed = true;
        } else if (i + 1 >= count) {
            return false;
        } else {
            unsigned long n = strtoul(arguments[++i], NULL, 10);
            if (strcmp(option, "input") == 0) {
                victim_input = arguments[i];
            } else if (strcmp(option, "steps") == 0) {
                s->steps_max = n;
            } else if (strcmp(option, "runs") == 0) {
                s->runs_max = (unsigned)n;
            } else if (strcmp(option, "often") == 0) {
                often = (unsigned)n;
            } else if (strcmp(option, "cpu") == 0) {
                cpu_set_t one;
                CPU_ZERO(&one);
                CPU_SET(n, &one);
                sched_setaffinity(0, sizeof one, &one);
            } else {
                return false;
            }
        }
    }
    s->arguments = arguments + i;
    if (s->takes_all) s->runs_max = 1;
    return i < count && plan_init(&s->plan, often);
}

int main(int count, char *arguments[]) {
    static struct stepper s;
    bool whole;
    if (!take_options(&s, count, arguments)) {
        fprintf(stderr, "usage: stepper [--steps N] [--runs N] [--often N] [--all] [--whole] [--untimed] [--input F] "
                        "[--cpu N] [--] PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    whole = s.judge.always_whole;
    s.shadow.guest = &s.guest;
    if (!judge_init(&s.judge, &s.shadow)) return 1;
    s.judge.always_whole = whole;
    while (s.runs < s.runs_max && s.steps < s.steps_max) {
        /* Every fourth run steps into each function at its first call; the other runs get further. */
        plan_begin_run(&s.plan, s.runs, 1u << 2 * (s.runs % 4));
        if (!begin(&s)) return 1;
        s.runs++;
        const unsigned long most = s.steps + (s.steps_max - s.steps) / (s.runs_max - s.runs + 1);
        while (s.steps < most && go(&s)) {}
        finish(&s);
    }
    printf("ran\t%u\t%lu\t%s\n", s.runs, s.steps, s.end);
    judge_print(&s.judge, stdout);
    judge_free(&s.judge);
    plan_free(&s.plan);
    return 0;
}
