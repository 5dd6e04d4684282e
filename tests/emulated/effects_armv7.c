/* SPDX-License-Identifier: MIT */
/* Executes single instructions in Unicorn and compares the results with the armv7 decoder's description: each register
 * that changed must be described with its right value or be listed in clobbers, each write to memory must be described
 * unless its address is a sum of registers, and the pc must go where the flow says.
 *
 * usage: effects_armv7 [COUNT SEED] < RUNS
 * RUNS is code in the format of decode_dump_armv7.c (decode_diff_armv7.py --feed makes it from object files); each
 * encoding is tried once in each state. All 16-bit Thumb instructions are tried in addition, and COUNT random encodings
 * of 32 bits of either instruction set.
 * Exit status 1: they differ, or nothing could be executed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unicorn/unicorn.h>

#include "arch/backend.h"

#define CODE       0x10000000u
#define DATA       0x20000000u
#define REGION     0x40000u /* bytes of the code of each state, and of the data */
#define SUCCESSES  2        /* required executions of an encoding */
#define TRIES      40       /* attempts, with other register values as long as they fault */
#define WRITES_MAX 64
#define CONTEXT    64      /* bytes of each execution: for `it`, the instruction and a jump table */
#define MARGIN     0x8000u /* bytes before and after, for addresses relative to pc */

enum { SP = 13, LR = 14, PC = 15 };

struct write {
    uint32_t address;
    uint32_t size;
    uint8_t old[8];
};

/* One execution. */
struct trial {
    struct uspi_instruction instruction;
    const uint8_t *bytes;
    bool thumb;
    bool executed; /* the condition held */
    bool observed; /* the execution is over, `after` is filled */
    uint32_t pc;
    uint32_t before[16], after[16], flags_after;
    struct write writes[WRITES_MAX];
    unsigned write_count;
};

/* The decoder's prediction of registers and memory, from those before the execution. */
struct prediction {
    uint32_t value[16];
    struct {
        uint32_t address, value;
        bool known, seen;
    } stores[USPI_EFFECTS_MAX];
    unsigned store_count;
};

static uc_engine *engine;
static uint8_t code_bytes[2 * REGION], data_bytes[REGION]; /* code: ARM, then Thumb */
static struct trial trial;
static struct prediction prediction;
static unsigned instructions_left;

/* Unicorn 2.0.1 keeps translated code when the bytes change, and crashes when asked to discard some. So each execution
 * has a fresh place in the code; when all places are used, a new engine is created. */
static uint32_t places[2];
static bool translated[REGION]; /* by address / 2 */
static unsigned long encodings, executed, skipped, failed;

static const int ids[16] = {UC_ARM_REG_R0,  UC_ARM_REG_R1,  UC_ARM_REG_R2,  UC_ARM_REG_R3,
                            UC_ARM_REG_R4,  UC_ARM_REG_R5,  UC_ARM_REG_R6,  UC_ARM_REG_R7,
                            UC_ARM_REG_R8,  UC_ARM_REG_R9,  UC_ARM_REG_R10, UC_ARM_REG_R11,
                            UC_ARM_REG_R12, UC_ARM_REG_R13, UC_ARM_REG_R14, UC_ARM_REG_R15};

static uint32_t random32(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

/* Returns this process's address of the emulated memory; NULL outside it. */
static uint8_t *host(uint32_t address, uint32_t size) {
    if (address - DATA <= REGION - size) return data_bytes + (address - DATA);
    if (address - CODE <= 2 * REGION - size) return code_bytes + (address - CODE);
    return NULL;
}

static void on_write(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, void *context) {
    (void)uc, (void)type, (void)value, (void)context;
    const uint8_t *at = host((uint32_t)address, (uint32_t)size);
    if (!at || size > 8 || trial.write_count == WRITES_MAX) return;
    struct write *w = &trial.writes[trial.write_count++];
    w->address = (uint32_t)address;
    w->size = (uint32_t)size;
    memcpy(w->old, at, w->size);
}

static void undo_writes(void) {
    while (trial.write_count > 0) {
        const struct write *w = &trial.writes[--trial.write_count];
        memcpy(host(w->address, w->size), w->old, w->size);
    }
}

static void fail(const char *what, unsigned which, uint32_t expected, uint32_t found) {
    const uint8_t *b = trial.bytes;
    if (failed++ >= 40) return;
    printf("%s %02x%02x%02x%02x: %s %u is %08" PRIx32 ", expected %08" PRIx32 "\n", trial.thumb ? "t" : "a", b[0], b[1],
           b[2], b[3], what, which, found, expected);
}

/* ---- prediction ---- */

static bool apply(const struct uspi_effect *e, struct prediction *p) {
    uint32_t base = e->base == USPI_NO_REGISTER ? 0 : p->value[e->base], amount = (uint32_t)e->value;
    switch (e->op) {
    case USPI_SET: p->value[e->reg] = base + amount; return true;
    case USPI_INSERT: p->value[e->reg] = (p->value[e->reg] & ~(0xffffu << e->index)) | amount << e->index; return true;
    case USPI_ADD: p->value[e->reg] = base + p->value[e->index]; return true;
    case USPI_SUBTRACT: p->value[e->reg] = base - p->value[e->index]; return true;
    case USPI_LOAD:
    case USPI_LITERAL: {
        const uint8_t *at = host(base + amount, 4);
        if (at) p->value[e->reg] = uspi_le32(at);
        return at != NULL;
    }
    case USPI_STORE:
        p->stores[p->store_count].address = base + amount;
        p->stores[p->store_count].known = e->reg != USPI_NO_REGISTER;
        p->stores[p->store_count].seen = false;
        if (e->reg != USPI_NO_REGISTER) p->stores[p->store_count].value = p->value[e->reg];
        p->store_count++;
        return true;
    default: return false;
    }
}

/* Predicts the effects. Returns false if a load would fault. */
static bool predict(struct prediction *p) {
    const struct uspi_instruction *i = &trial.instruction;
    p->store_count = 0;
    memcpy(p->value, trial.before, sizeof p->value);
    p->value[PC] = trial.pc + i->length;
    for (unsigned k = 0; trial.executed && k < i->effect_count; k++) {
        if (!apply(&i->effects[k], p)) return false;
    }
    return true;
}

/* ---- comparison ---- */

static bool is_narrow(const uint8_t *bytes, bool thumb) { return thumb && bytes[1] >> 3 < 29; }

/* Returns a 32-bit instruction; a Thumb one has its first halfword in the high half. */
static uint32_t wide_word(void) {
    uint32_t w = uspi_le32(trial.bytes);
    return trial.thumb ? w << 16 | w >> 16 : w;
}

/* Whether Unicorn cannot be compared: `it` does nothing by itself and needs instructions after it; ldc and stc are
 * executed as mrrc and mcrr. */
static bool is_not_for_unicorn(void) {
    uint32_t w = wide_word(), coprocessor = w >> 8 & 15;
    if (is_narrow(trial.bytes, trial.thumb)) return trial.bytes[1] == 0xbf && (trial.bytes[0] & 15) != 0;
    if ((w & 0x0e000000) != 0x0c000000) return false;
    return coprocessor != 10 && coprocessor != 11 && (w & 0x01a00000) != 0;
}

/* Whether a store need not be described: its address is a sum of registers, it writes to the code around pc, or it is a
 * vstm of more words than the effects hold. */
static bool is_undescribed_store(void) {
    uint32_t w = wide_word();
    if (is_narrow(trial.bytes, trial.thumb)) return (trial.bytes[1] & 0xf0) == 0x50;
    if ((w & 0x000f0000) == 0x000f0000) return true;
    if ((w & 0x0e000e00) == 0x0c000a00 && (w & 0xff) >= USPI_EFFECTS_MAX) return true;
    if (trial.thumb) return (w & 0xff900fc0) == 0xf8000000;
    return (w & 0x0e000010) == 0x06000000 || (w & 0x0e400090) == 0x00000090;
}

static void check_writes(struct prediction *p) {
    for (unsigned k = 0; k < trial.write_count; k++) {
        const struct write *w = &trial.writes[k];
        for (uint32_t byte = w->address; byte != w->address + w->size; byte++) {
            bool covered = is_undescribed_store();
            for (unsigned s = 0; s < p->store_count; s++) {
                if (byte - p->stores[s].address < 4) covered = p->stores[s].seen = true;
            }
            if (!covered) {
                fail("undescribed store, byte", byte - w->address, 0, byte);
                return;
            }
        }
    }
    for (unsigned s = 0; s < p->store_count; s++) {
        const uint8_t *at = host(p->stores[s].address, 4);
        bool may_fail = trial.instruction.clobbers != 0; /* strex */
        if (!p->stores[s].seen) {
            if (!may_fail) fail("nothing was stored, effect", s, p->stores[s].address, 0);
        } else if (p->stores[s].known && at && uspi_le32(at) != p->stores[s].value) {
            fail("stored word", s, p->stores[s].value, uspi_le32(at));
        }
    }
}

/* Checks the pc against a target. In ARM state bit 1 of a target is undefined. */
static void check_target(uint32_t target, uint32_t mode) {
    uint32_t ignored = mode & USPI_MODE_THUMB ? 0 : 2;
    if ((trial.after[PC] ^ target) & ~ignored) fail("pc", PC, target, trial.after[PC]);
    if ((trial.flags_after >> 5 & 1) != (mode & USPI_MODE_THUMB))
        fail("Thumb state", 5, mode, trial.flags_after >> 5 & 1);
}

/* Checks the pc against a register. Bit 0 is the state, bit 1 is undefined in ARM state. */
static void check_register_target(uint32_t value) {
    if ((trial.after[PC] ^ value) > 3) fail("pc by register", PC, value, trial.after[PC]);
}

static void check_flow(const struct prediction *p) {
    const struct uspi_instruction *i = &trial.instruction;
    uint32_t next = trial.pc + i->length, target = (uint32_t)i->target, state = trial.thumb ? USPI_MODE_THUMB : 0;
    if (!trial.executed) {
        check_target(next, state);
        return;
    }
    switch (i->flow) {
    case USPI_NEXT: check_target(next, state); break;
    case USPI_JUMP: check_target(target, i->target_mode); break;
    case USPI_BRANCH: check_target(trial.after[PC] == next ? next : target, i->target_mode); break;
    case USPI_CALL:
        if (target) check_target(target, i->target_mode);
        if (trial.after[LR] != (next | state)) fail("lr", LR, next | state, trial.after[LR]);
        if (!(i->clobbers >> LR & 1)) fail("lr in clobbers", LR, 1, 0);
        break;
    case USPI_JUMP_UNKNOWN:
        if (i->target_register != USPI_NO_REGISTER) check_register_target(p->value[i->target_register]);
        break;
    case USPI_RETURN: check_register_target(p->value[i->target_register]); break;
    case USPI_JUMP_TABLE: /* the table's first entry, if the index was 0 */
        if (target && trial.before[trial.bytes[trial.thumb ? 2 : 0] & 15] == 0) check_target(target, i->target_mode);
        break;
    default: break;
    }
}

static void check(struct prediction *p) {
    uint64_t forgotten = trial.executed ? trial.instruction.clobbers : 0;
    for (unsigned r = 0; r < PC; r++) {
        if (!(forgotten >> r & 1) && trial.after[r] != p->value[r]) fail("register", r, p->value[r], trial.after[r]);
    }
    check_writes(p);
    check_flow(p);
}

/* ---- execution ---- */

/* Whether a condition holds (DDI 0406C A8.3, ConditionPassed); flags as in CPSR. */
static bool condition_holds(unsigned condition, uint32_t flags) {
    bool n = flags >> 31 & 1, z = flags >> 30 & 1, c = flags >> 29 & 1, v = flags >> 28 & 1;
    const bool results[8] = {z, c, n, v, c && !z, n == v, n == v && !z, true};
    return condition >= 14 || results[condition >> 1] != (condition & 1);
}

/* Reads the registers and memory after the instruction. */
static void observe(void) {
    for (int r = 0; r < 16; r++) uc_reg_read(engine, ids[r], &trial.after[r]);
    uc_reg_read(engine, UC_ARM_REG_CPSR, &trial.flags_after);
    trial.observed = true;
    check(&prediction);
}

/* Unicorn calls this before each instruction in ARM state, and before most in Thumb state. Therefore branches to
 * themselves surround the tested instruction. */
static void on_code(uc_engine *uc, uint64_t address, uint32_t size, void *context) {
    (void)size, (void)context;
    if (address - CODE < 2 * REGION) translated[(address - CODE) / 2] = true;
    if (instructions_left > 0) {
        instructions_left--;
    } else {
        if (!trial.observed) observe();
        uc_emu_stop(uc);
    }
}

/* Executes the trial. start: trial.pc, or the `it` before it. */
static bool execute(uint32_t start, uint32_t flags) {
    const uint32_t user = 0x10, thumb = trial.thumb ? 0x20 : 0;
    uint32_t cpsr = flags | user | thumb, next = trial.pc + trial.instruction.length;
    uc_reg_write(engine, UC_ARM_REG_CPSR, &cpsr);
    for (int r = 0; r < PC; r++) uc_reg_write(engine, ids[r], &trial.before[r]);
    trial.write_count = 0;
    trial.observed = false;
    instructions_left = start == trial.pc ? 1 : 2;
    uc_err status = uc_emu_start(engine, start | (trial.thumb ? 1 : 0), next, 0, 0);
    /* Unicorn stops at `next`, or after a jump: before the target, or because the target is unmapped. */
    bool jumped = status == UC_ERR_FETCH_UNMAPPED && trial.instruction.flow != USPI_NEXT;
    if (!trial.observed && (status == UC_ERR_OK || jumped)) observe();
    undo_writes();
    return trial.observed;
}

/* Returns mostly pointers, some small numbers, and few arbitrary values. */
static uint32_t random_value(void) {
    uint32_t kind = random32() & 7, pointer = DATA + REGION / 4 + (random32() % (REGION / 2) & ~7u);
    return kind == 0 ? random32() : kind < 3 ? random32() & 0x3f : pointer;
}

static void fill(uint8_t *to, size_t n, bool thumb) {
    static const uint8_t branches[2][4] = {{0xfe, 0xff, 0xff, 0xea}, {0xfe, 0xe7, 0xfe, 0xe7}};
    for (size_t k = 0; k < n; k += 4) memcpy(to + k, branches[thumb], 4);
}

static bool open_engine(void);

/* Chooses trial.pc, with room for `it` before it. */
static void next_place(void) {
    uint32_t *place = &places[trial.thumb], region = CODE + (trial.thumb ? REGION : 0);
    do {
        fill(host(*place, CONTEXT), CONTEXT, trial.thumb);
        *place += CONTEXT;
        if (*place >= region + REGION - MARGIN && !open_engine()) abort();
        trial.pc = *place + (trial.thumb ? 4 + (random32() & 2) : 4);
    } while (translated[(trial.pc - CODE) / 2] || translated[(trial.pc - CODE) / 2 - 1]);
}

/* Runs the trial once. Returns whether the instruction was executed. */
static bool run(bool in_it) {
    uint32_t flags = random32() & 0xf0000000, it_condition = random32() % 14, mode = trial.thumb ? USPI_MODE_THUMB : 0;
    uint32_t entry = CODE + (random32() % REGION & ~3u); /* in an address table */
    next_place();
    uint8_t *code = host(trial.pc - 2, CONTEXT / 2);
    memcpy(code + 2, trial.bytes, is_narrow(trial.bytes, trial.thumb) ? 2 : 4);
    if (!trial.thumb) memcpy(code + 2 + 8, &entry, 4);
    if (in_it) {
        struct uspi_instruction it;
        code[0] = (uint8_t)(it_condition << 4 | 8);
        code[1] = 0xbf;
        if (!uspi_armv7.decode(code, CONTEXT / 2, trial.pc - 2, mode, &it)) return false;
        mode = it.mode;
    }
    struct uspi_instruction *i = &trial.instruction;
    if (!uspi_armv7.decode(code + 2, CONTEXT / 2 - 2, trial.pc, mode, i)) return false;
    trial.executed = true;
    if (in_it && (i->conditional || i->flow == USPI_BRANCH)) trial.executed = condition_holds(it_condition, flags);
    if (!trial.thumb) trial.executed = condition_holds(trial.bytes[3] >> 4, flags);

    for (unsigned r = 0; r < PC; r++) trial.before[r] = random_value();
    trial.before[SP] = DATA + REGION / 4 + (random32() % (REGION / 2) & ~7u);
    if (i->flow == USPI_JUMP_TABLE) trial.before[trial.bytes[trial.thumb ? 2 : 0] & 15] = 0;
    return predict(&prediction) && execute(trial.pc - (in_it ? 2 : 0), flags);
}

static void try_encoding(const uint8_t *bytes, bool thumb) {
    struct uspi_instruction i;
    unsigned done = 0;
    trial.bytes = bytes;
    trial.thumb = thumb;
    bool decoded = uspi_armv7.decode(bytes, 4, CODE, thumb ? USPI_MODE_THUMB : 0, &i);
    bool possible = decoded && i.flow != USPI_END && !is_not_for_unicorn();
    for (unsigned k = 0; possible && k < TRIES && done < SUCCESSES; k++) done += run(false);
    for (unsigned k = 0; thumb && k < TRIES && done > 0 && done < 2 * SUCCESSES; k++) done += run(true);
    encodings++;
    *(done ? &executed : &skipped) += 1;
}

/* ---- input ---- */

/* Returns whether an encoding is new. A hash set of the encodings seen; the key is never 0. Once seven eighths are used
 * the set is full, and every encoding counts as seen. */
static bool is_new(uint32_t word, bool thumb) {
    enum { SLOTS = 1 << 23 };
    static uint64_t *slots;
    static size_t used;
    if (!slots) slots = calloc(SLOTS, sizeof *slots);
    uint64_t key = (uint64_t)word << 2 | (thumb ? 2 : 0) | 1;
    if (!slots || used > SLOTS / 8 * 7) return false;
    for (size_t at = key * 0x9e3779b97f4a7c15u >> 41;; at = (at + 1) % SLOTS) {
        if (slots[at] == key) return false;
        if (slots[at] == 0) {
            slots[at] = key;
            used++;
            return true;
        }
    }
}

static void try_word(uint32_t word, bool thumb) {
    uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)};
    if (is_new(word, thumb)) try_encoding(bytes, thumb);
}

/* Tries one line of RUNS. Cuts at the instructions' lengths, not by decoding: an instruction that does not decode
 * counts as skipped. */
static void try_line(const char *line) {
    bool thumb = line[0] == 't';
    const char *hex = strchr(line + 2, ' ');
    uint8_t bytes[4];
    size_t n = hex ? strspn(hex + 1, "0123456789abcdef") / 2 : 0;
    for (size_t at = 0; at + (thumb ? 2 : 4) <= n;) {
        for (size_t k = 0; k < 4; k++) {
            char digits[3] = "00"; /* beyond the end */
            if (at + k < n) memcpy(digits, hex + 1 + 2 * (at + k), 2);
            bytes[k] = (uint8_t)strtoul(digits, NULL, 16);
        }
        bool narrow = is_narrow(bytes, thumb);
        uint32_t word = uspi_le32(bytes);
        try_word(narrow ? (word & 0xffff) | 0xbf000000 : word, thumb); /* followed by nop */
        at += narrow ? 2 : 4;
    }
}

static bool hook(int type, void (*function)(void)) {
    uc_hook handle;
    void *callback; /* ISO C converts no function pointer to void * */
    memcpy(&callback, &function, sizeof callback);
    return uc_hook_add(engine, &handle, type, callback, NULL, 1, 0) == UC_ERR_OK;
}

static bool open_engine(void) {
    uint32_t access = 0xf << 20, enable = 1u << 30; /* CPACR, FPEXC: VFP and Advanced SIMD */
    if (engine) uc_close(engine);
    if (uc_open(UC_ARCH_ARM, UC_MODE_ARM, &engine) != UC_ERR_OK) return false;
    if (uc_ctl_set_cpu_model(engine, UC_CPU_ARM_MAX) != UC_ERR_OK) return false;
    if (uc_mem_map_ptr(engine, CODE, 2 * REGION, UC_PROT_ALL, code_bytes) != UC_ERR_OK) return false;
    if (uc_mem_map_ptr(engine, DATA, REGION, UC_PROT_READ | UC_PROT_WRITE, data_bytes) != UC_ERR_OK) return false;
    if (!hook(UC_HOOK_MEM_WRITE, (void (*)(void))on_write)) return false;
    if (!hook(UC_HOOK_CODE, (void (*)(void))on_code)) return false;
    uc_reg_write(engine, UC_ARM_REG_C1_C0_2, &access);
    uc_reg_write(engine, UC_ARM_REG_FPEXC, &enable);
    for (unsigned k = 0; k < REGION; k++) data_bytes[k] = (uint8_t)random32();
    memset(translated, 0, sizeof translated);
    for (unsigned thumb = 0; thumb < 2; thumb++) {
        fill(code_bytes + thumb * REGION, REGION, thumb);
        places[thumb] = CODE + thumb * REGION + MARGIN;
    }
    return true;
}

int main(int argc, char **argv) {
    unsigned long random_count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    char *line = NULL;
    size_t capacity = 0;
    if (!open_engine()) {
        fputs("cannot set Unicorn up\n", stderr);
        return 2;
    }
    while (getline(&line, &capacity, stdin) > 2) try_line(line);
    free(line);
    for (uint32_t narrow = 0; narrow < 0xe800; narrow++) try_word(narrow | 0xbf000000, true);
    while (seed-- > 0) random32();
    for (unsigned long k = 0; k < random_count; k++) {
        uint32_t arm = random32(), thumb = random32() | 0xe000;
        try_word(k & 3 ? arm | 0xe0000000 : arm, false);
        try_word(thumb & 0x1800 ? thumb : thumb | 0x0800, true);
    }
    printf("encodings %lu, executed %lu, skipped %lu, failed %lu\n", encodings, executed, skipped, failed);
    return failed || !executed ? 1 : 0;
}
