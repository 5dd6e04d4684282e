/* SPDX-License-Identifier: MIT */
/* Executes single instructions in Unicorn, from random registers, and compares the results with the effects that the
 * decoders of arm64 and arm64_32 report:
 *   - registers that are neither clobbered nor set by an effect keep their value, all 64 bits of it;
 *   - registers that effects set have exactly the described value (arm64_32: its low half);
 *   - words that effects store are in memory, and every other written byte is covered by a STORE of an
 *     unknown value, unless no effect can express the address;
 *   - the next pc agrees with flow, target and target register.
 * Not checked: instructions that trap or that this Unicorn does not know; they are counted as skipped.
 *   effects_arm64 [--arm64_32] [--trials N] [--seed N] WORDS…
 * WORDS are files of little-endian instruction words, as arm64-decode-diff.py --words writes them. Exit status 1: a
 * difference, or nothing executed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <unicorn/unicorn.h>

#include "arch/arm64/decode.h"

#define REGISTERS 32 /* x0…x30, sp */
#define PAGE      4096u
#define DATA      UINT64_C(0x40000000)
#define DATA_SIZE UINT64_C(0x100000)
#define CODE      UINT64_C(0x80000000)
/* After each word comes one that cannot be executed, so that Unicorn translates only the word. */
#define CODE_STRIDE 8

enum { PAGES_MAX = 256, WRITES_MAX = 128, BATCH = 20000 };

struct written {
    uint64_t address;
    unsigned size;
};

struct run {
    uc_engine *uc;
    bool ilp32;
    uint64_t random;
    uint64_t pages[PAGES_MAX]; /* mapped on demand */
    unsigned page_count;
    struct written writes[WRITES_MAX];
    unsigned write_count;
};

/* Counts in memory that the child processes share with their parent. */
struct counts {
    unsigned long words, executed, trials, skipped, undecoded, aborted, failures;
    size_t at; /* index of the word that is being executed */
};

static uint64_t next_random(struct run *r) {
    /* xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators") */
    r->random ^= r->random >> 12;
    r->random ^= r->random << 25;
    r->random ^= r->random >> 27;
    return r->random * UINT64_C(0x2545f4914f6cdd1d);
}

static void check(uc_err error, const char *what) {
    if (error == UC_ERR_OK) return;
    fprintf(stderr, "%s: %s\n", what, uc_strerror(error));
    exit(2);
}

static void fill(struct run *r, uint64_t address, size_t size) {
    uint64_t bytes[PAGE / sizeof(uint64_t)];
    for (size_t done = 0; done < size; done += sizeof bytes) {
        for (size_t i = 0; i < PAGE / sizeof(uint64_t); i++) bytes[i] = next_random(r);
        check(uc_mem_write(r->uc, address + done, bytes, sizeof bytes), "fill");
    }
}

/* ---- hooks ---- */

static bool on_unmapped(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, void *context) {
    struct run *r = context;
    (void)value;
    if (type == UC_MEM_FETCH_UNMAPPED) return false;
    uint64_t first = address & ~(uint64_t)(PAGE - 1), last = (address + (unsigned)size - 1) & ~(uint64_t)(PAGE - 1);
    for (uint64_t page = first;; page += PAGE) {
        if (r->page_count == PAGES_MAX) return false;
        if (uc_mem_map(uc, page, PAGE, UC_PROT_READ | UC_PROT_WRITE) == UC_ERR_OK) {
            r->pages[r->page_count++] = page;
            fill(r, page, PAGE);
        }
        if (page == last) return true;
    }
}

static void on_write(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, void *context) {
    struct run *r = context;
    (void)uc;
    (void)type;
    (void)value;
    if (r->write_count < WRITES_MAX)
        r->writes[r->write_count++] = (struct written){.address = address, .size = (unsigned)size};
}

static void unmap_pages(struct run *r) {
    while (r->page_count > 0) check(uc_mem_unmap(r->uc, r->pages[--r->page_count], PAGE), "unmap");
}

/* ---- registers ---- */

static int unicorn_register(unsigned n) {
    if (n < 29) return UC_ARM64_REG_X0 + (int)n;
    return n == 29 ? UC_ARM64_REG_X29 : n == 30 ? UC_ARM64_REG_X30 : UC_ARM64_REG_SP;
}

static void read_registers(struct run *r, uint64_t *value) {
    for (unsigned n = 0; n < REGISTERS; n++) uc_reg_read(r->uc, unicorn_register(n), &value[n]);
}

static uint64_t random_pointer(struct run *r) {
    return DATA + DATA_SIZE / 4 + (next_random(r) % (DATA_SIZE / 2) & ~UINT64_C(63));
}

/* Returns a random value. Trials of the first kind make sure that nearly every instruction that accesses memory can
 * run; the others vary. */
static uint64_t random_value(struct run *r, unsigned trial) {
    uint64_t any = next_random(r), any_small = any >> 56;
    /* A program for arm64_32 computes addresses within 32 bits. */
    if (r->ilp32) any = any >> 33, any_small += 0x10000;
    switch (trial % 4) {
    case 0: return random_pointer(r);
    case 1: return any & 1 ? random_pointer(r) : any_small;
    case 2: return r->ilp32 ? any : any >> 17;
    default: return any;
    }
}

static void randomize(struct run *r, unsigned trial, uint32_t word, uint64_t *value) {
    bool async_flags = word == 0xaa1003bd; /* orr x29, x29, x16: described only for a mark */
    for (unsigned n = 0; n < REGISTERS; n++) value[n] = random_value(r, trial);
    value[USPI_ARM64_SP] = random_pointer(r);
    if (async_flags) value[16] = value[16] << 60;
    for (unsigned n = 0; n < REGISTERS; n++) uc_reg_write(r->uc, unicorn_register(n), &value[n]);
    uint64_t flags = next_random(r) & UINT64_C(0xf0000000);
    uc_reg_write(r->uc, UC_ARM64_REG_NZCV, &flags);
}

/* ---- what the effects promise ---- */

struct promise {
    uint64_t value[REGISTERS];
    uint64_t set; /* mask of the registers that effects set */
    struct {
        uint64_t address, value;
        bool known;
    } stores[USPI_EFFECTS_MAX];
    unsigned store_count;
};

static uint64_t load_word(struct run *r, uint64_t address) {
    uint64_t value = 0;
    if (r->ilp32) address &= UINT32_MAX;
    uc_mem_read(r->uc, address, &value, r->ilp32 ? 4 : 8);
    return value;
}

static void interpret(struct run *r, const struct uspi_instruction *i, const uint64_t *before, struct promise *p) {
    memset(p, 0, sizeof *p);
    memcpy(p->value, before, sizeof p->value);
    for (unsigned n = 0; n < i->effect_count; n++) {
        const struct uspi_effect *e = &i->effects[n];
        uint64_t base = e->base == USPI_NO_REGISTER ? 0 : p->value[e->base];
        uint64_t sum = base + (uint64_t)e->value, index = e->index < REGISTERS ? p->value[e->index] : 0;
        uint64_t result = 0;
        switch (e->op) {
        case USPI_SET: result = sum; break;
        case USPI_INSERT:
            result = p->value[e->reg] & ~(UINT64_C(0xffff) << e->index);
            result |= (uint64_t)e->value << e->index;
            break;
        case USPI_ADD: result = base + index; break;
        case USPI_SUBTRACT: result = base - index; break;
        case USPI_LOAD:
        case USPI_LITERAL: result = load_word(r, sum); break;
        case USPI_STORE:
            p->stores[p->store_count].address = sum;
            p->stores[p->store_count].known = e->reg != USPI_NO_REGISTER;
            if (e->reg != USPI_NO_REGISTER) p->stores[p->store_count].value = p->value[e->reg];
            p->store_count++;
            continue;
        default: break;
        }
        p->value[e->reg] = result;
        p->set |= UINT64_C(1) << e->reg;
    }
}

/* Whether no effect can express the address: base + index register, vector lengths, copies by register counts, dc
 * zva. */
static bool address_not_expressible(uint32_t word) {
    bool register_offset = (word & 0x3b200c00) == 0x38200800, scalable = word >> 29 == 7 && (word >> 25 & 0xf) == 2;
    bool copy = (word & 0x3b200c00) == 0x19000400, matrix = word >> 29 == 7 && (word >> 25 & 0xf) == 0;
    bool zero_block = (word & 0xffffffe0) == 0xd50b7420;
    return register_offset || scalable || copy || matrix || zero_block;
}

static bool covered(const struct promise *p, uint64_t address, unsigned word) {
    for (unsigned n = 0; n < p->store_count; n++) {
        if (address - p->stores[n].address < word) return true;
    }
    return false;
}

/* ---- one instruction ---- */

static bool complain(uint32_t word, const char *what, unsigned n, uint64_t is, uint64_t said) {
    printf("%08" PRIx32 ": %s %u is %#" PRIx64 ", described as %#" PRIx64 "\n", word, what, n, is, said);
    return false;
}

static bool next_is_right(uint32_t word, const struct uspi_instruction *i, uint64_t pc, const uint64_t *before,
                          const struct promise *p, uint64_t next) {
    uint64_t after = pc + i->length, want = after;
    switch (i->flow) {
    case USPI_JUMP: want = i->target; break;
    case USPI_BRANCH: want = next == after ? after : i->target; break;
    case USPI_CALL:
        /* blr and its variants have the register in bits 9:5; 31 is the zero register */
        want = i->target;
        if (want == 0 && (word >> 5 & 31) != 31) want = before[word >> 5 & 31];
        break;
    case USPI_RETURN: want = p->value[i->target_register]; break;
    case USPI_JUMP_UNKNOWN: want = before[i->target_register]; break;
    default: break;
    }
    return next == want || complain(word, "pc", 0, next, want);
}

static bool compare(struct run *r, uint32_t word, const struct uspi_instruction *i, uint64_t pc,
                    const uint64_t *before) {
    struct promise p;
    uint64_t after[REGISTERS], next = 0, meaning = r->ilp32 ? UINT32_MAX : UINT64_MAX;
    unsigned word_size = r->ilp32 ? 4 : 8;
    read_registers(r, after);
    uc_reg_read(r->uc, UC_ARM64_REG_PC, &next);
    interpret(r, i, before, &p);
    if ((word == 0xaa1003bd || word == 0xb24403bd || word == 0x9243fbbd) && !r->ilp32) meaning >>= 4; /* async mark */

    for (unsigned n = 0; n < REGISTERS; n++) {
        if (i->clobbers >> n & 1) continue;
        uint64_t mask = p.set >> n & 1 ? meaning : UINT64_MAX;
        if ((after[n] & mask) != (p.value[n] & mask)) return complain(word, "register", n, after[n], p.value[n]);
    }
    for (unsigned n = 0; n < p.store_count; n++) {
        if (!p.stores[n].known) continue;
        uint64_t is = load_word(r, p.stores[n].address);
        if (is != (p.stores[n].value & meaning)) return complain(word, "store", n, is, p.stores[n].value);
    }
    for (unsigned n = 0; n < r->write_count && !address_not_expressible(word); n++) {
        /* The upper half of a 64-bit register, which arm64_32 leaves out, is not compared. */
        for (unsigned b = 0; b < r->writes[n].size && (b < 4 || !r->ilp32); b++) {
            if (!covered(&p, r->writes[n].address + b, word_size))
                return complain(word, "byte written, number", b, r->writes[n].address + b, 0);
        }
    }
    return next_is_right(word, i, pc, before, &p, next);
}

/* Whether an instruction traps by design, or changes the machine that runs the test. */
static bool not_to_be_run(uint32_t word, const struct uspi_instruction *i) {
    bool exception = word >> 24 == 0xd4, system_write = (word & 0xffa00000) == 0xd5000000;
    bool is_hint = (word & 0xfffff01f) == 0xd503201f;
    return i->flow == USPI_END || exception || (system_write && !is_hint);
}

static void test_word(struct run *r, uint32_t word, uint64_t pc, unsigned trials, uc_context *clean, struct counts *c) {
    struct uspi_instruction i;
    uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)};
    c->words++;
    if (!(r->ilp32 ? uspi_arm64_32_decode : uspi_arm64_decode)(bytes, sizeof bytes, pc, 0, &i)) {
        c->undecoded++;
        return;
    }
    bool ran = false, ok = true;
    for (unsigned trial = 0; trial < trials && ok && !not_to_be_run(word, &i); trial++) {
        uint64_t before[REGISTERS];
        check(uc_context_restore(r->uc, clean), "restore");
        randomize(r, trial, word, before);
        r->write_count = 0;
        uc_err error = uc_emu_start(r->uc, pc, pc + 4, 0, 1);
        bool went_elsewhere = i.flow != USPI_NEXT && error == UC_ERR_FETCH_UNMAPPED;
        if (error == UC_ERR_OK || went_elsewhere) {
            ran = true;
            c->trials++;
            ok = compare(r, word, &i, pc, before);
        }
        unmap_pages(r);
    }
    if (ran)
        c->executed++;
    else
        c->skipped++;
    if (!ok) c->failures++;
}

/* ---- the whole test ---- */

static uint32_t *read_words(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) return NULL;
    long size = ftell(file);
    rewind(file);
    uint8_t *bytes = size > 0 ? malloc((size_t)size) : NULL;
    uint32_t *words = NULL;
    *count = 0;
    if (bytes != NULL && fread(bytes, 1, (size_t)size, file) == (size_t)size) {
        *count = (size_t)size / 4;
        words = malloc(*count * sizeof *words + 1);
        for (size_t n = 0; words != NULL && n < *count; n++) words[n] = uspi_le32(bytes + 4 * n);
    }
    free(bytes);
    fclose(file);
    return words;
}

/* Adds a callback. Unicorn takes callbacks as void *, to which ISO C converts no function pointer. */
static void add_hook(struct run *r, int type, const void *callback_storage) {
    uc_hook hook;
    void *callback;
    memcpy(&callback, callback_storage, sizeof callback);
    check(uc_hook_add(r->uc, &hook, type, callback, r, 1, 0), "hook");
}

static void test_words(struct run *r, const uint32_t *words, size_t count, unsigned trials, struct counts *c) {
    const uc_cb_eventmem_t unmapped = on_unmapped;
    const uc_cb_hookmem_t write = on_write;
    uc_context *clean;
    size_t size = (count * CODE_STRIDE + 2 * PAGE) & ~(size_t)(PAGE - 1);
    /* Floating point, SVE: CPACR_EL1.{FPEN, ZEN} = 3, no trapping (DDI 0487, D19.2.29). */
    uint64_t enabled = 3u << 20 | 3u << 16;

    check(uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &r->uc), "open");
    check(uc_ctl_set_cpu_model(r->uc, UC_CPU_ARM64_MAX), "model");
    check(uc_mem_map(r->uc, DATA, DATA_SIZE, UC_PROT_READ | UC_PROT_WRITE), "data");
    check(uc_mem_map(r->uc, CODE, size, UC_PROT_READ | UC_PROT_EXEC), "code");
    fill(r, DATA, DATA_SIZE);
    for (size_t n = 0; n < count; n++) check(uc_mem_write(r->uc, CODE + n * CODE_STRIDE, &words[n], 4), "word");
    check(uc_reg_write(r->uc, UC_ARM64_REG_CPACR_EL1, &enabled), "cpacr");
    add_hook(r, UC_HOOK_MEM_UNMAPPED, &unmapped);
    add_hook(r, UC_HOOK_MEM_WRITE, &write);
    check(uc_context_alloc(r->uc, &clean), "context");
    check(uc_context_save(r->uc, clean), "context");
    for (; c->at < count; c->at++) test_word(r, words[c->at], CODE + c->at * CODE_STRIDE, trials, clean, c);
    uc_context_free(clean);
    uc_close(r->uc);
}

/* Tests in child processes, because this Unicorn asserts on some encodings newer than itself. */
static void test_in_children(struct run *r, const uint32_t *words, size_t count, unsigned trials, struct counts *c) {
    c->at = 0;
    while (c->at < count) {
        int status = 0;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            r->random += c->at;
            test_words(r, words, count, trials, c);
            fflush(stdout);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || (WIFEXITED(status) && WEXITSTATUS(status) != 0))
            exit(2);
        if (WIFSIGNALED(status)) {
            c->aborted++;
            c->at++;
        }
    }
}

int main(int argc, char **argv) {
    struct run r = {.random = 1};
    struct counts *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned trials = 4;
    if (c == MAP_FAILED) return 2;
    for (int n = 1; n < argc; n++) {
        if (strcmp(argv[n], "--arm64_32") == 0) {
            r.ilp32 = true;
        } else if (strcmp(argv[n], "--trials") == 0 && n + 1 < argc) {
            trials = (unsigned)strtoul(argv[++n], NULL, 10);
        } else if (strcmp(argv[n], "--seed") == 0 && n + 1 < argc) {
            r.random = strtoul(argv[++n], NULL, 10) | 1;
        } else {
            size_t count;
            uint32_t *words = read_words(argv[n], &count);
            if (words == NULL) {
                fprintf(stderr, "%s: cannot be read\n", argv[n]);
                return 2;
            }
            for (size_t from = 0; from < count; from += BATCH)
                test_in_children(&r, words + from, count - from < BATCH ? count - from : BATCH, trials, c);
            free(words);
        }
    }
    printf(
        "%lu words, %lu executed in %lu trials, %lu skipped, %lu aborted the emulator, %lu not decoded, %lu failures\n",
        c->words, c->executed, c->trials, c->skipped, c->aborted, c->undecoded, c->failures);
    return c->failures != 0 || c->executed == 0;
}
