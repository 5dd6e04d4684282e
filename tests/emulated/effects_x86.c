/* SPDX-License-Identifier: MIT */
/* Executes single instructions in Unicorn and compares the results with the x86 decoders' description. A register gets
 * the value of an effect, or is in `clobbers`, or does not change; a described store is in memory; the flow allows the
 * next pc. Not compared: instructions that Unicorn does not know or that fault, which are counted, and privileged ones,
 * which would change the emulated machine.
 *
 *   effects_x86 x86_64|i386 [rounds [seed]] < list        (decode-diff-x86.py --list writes such lists)
 * Input lines: an address, which is not used, and the bytes in hexadecimal. Exit status 1 when something differs. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <unicorn/unicorn.h>

#include "arch/backend.h"

#define PAGE         UINT64_C(0x1000)
#define CODE         UINT64_C(0x20000000)
#define CODE_SIZE    UINT64_C(0x100000)
#define SLOT         32 /* bytes of code for each instruction */
#define STACK_SIZE   UINT64_C(0x100000)
#define MAPPED_MAX   256 /* pages mapped on demand before all are unmapped */
#define REGISTER_MAX 17

static const int unicorn_64[REGISTER_MAX] = {
    UC_X86_REG_RAX, UC_X86_REG_RDX, UC_X86_REG_RCX, UC_X86_REG_RBX, UC_X86_REG_RSI, UC_X86_REG_RDI,
    UC_X86_REG_RBP, UC_X86_REG_RSP, UC_X86_REG_R8,  UC_X86_REG_R9,  UC_X86_REG_R10, UC_X86_REG_R11,
    UC_X86_REG_R12, UC_X86_REG_R13, UC_X86_REG_R14, UC_X86_REG_R15, UC_X86_REG_RIP,
};

static const int unicorn_32[] = {
    UC_X86_REG_EAX, UC_X86_REG_ECX, UC_X86_REG_EDX, UC_X86_REG_EBX, UC_X86_REG_ESP,
    UC_X86_REG_EBP, UC_X86_REG_ESI, UC_X86_REG_EDI, UC_X86_REG_EIP,
};

struct registers {
    uint64_t value[REGISTER_MAX];
    uint64_t unknown; /* bit n: the decoder does not know the new value of register n */
};

/* Words that the effects of one instruction store. */
struct stores {
    unsigned count;
    struct {
        uint64_t address, value;
        bool known;
    } word[USPI_EFFECTS_MAX];
};

struct machine {
    const struct uspi_backend *backend;
    const int *ids;
    uc_engine *engine;
    uint64_t stack; /* its lowest address; in 64-bit mode above what a 32-bit address can reach */
    uint64_t mapped[MAPPED_MAX];
    unsigned mapped_count;
};

static uint64_t random_state = 1;

static uint64_t random_word(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Maps the page of an address with random bytes, readable and writable. */
static bool map_page(struct machine *m, uint64_t address) {
    uint64_t words[PAGE / 8];
    uint64_t page = address & ~(PAGE - 1);
    if (m->mapped_count == MAPPED_MAX) return false;
    if (uc_mem_map(m->engine, page, PAGE, UC_PROT_READ | UC_PROT_WRITE) != UC_ERR_OK) return false;
    for (size_t i = 0; i < PAGE / 8; i++) words[i] = random_word();
    m->mapped[m->mapped_count++] = page;
    return uc_mem_write(m->engine, page, words, sizeof words) == UC_ERR_OK;
}

static bool on_unmapped(uc_engine *engine, uc_mem_type type, uint64_t address, int size, int64_t value, void *machine) {
    (void)engine, (void)size, (void)value;
    return type != UC_MEM_FETCH_UNMAPPED && map_page(machine, address);
}

static void unmap_pages(struct machine *m) {
    while (m->mapped_count > 0) uc_mem_unmap(m->engine, m->mapped[--m->mapped_count], PAGE);
}

static bool start(struct machine *m, const struct uspi_backend *backend) {
    /* Unicorn takes callbacks as object pointers, to which ISO C does not convert function pointers. */
    bool (*callback)(uc_engine *, uc_mem_type, uint64_t, int, int64_t, void *) = on_unmapped;
    void *object;
    memcpy(&object, &callback, sizeof object);
    uc_hook hook;
    bool wide = backend->word == 8;
    m->backend = backend;
    m->ids = wide ? unicorn_64 : unicorn_32;
    m->mapped_count = 0;
    m->stack = wide ? UINT64_C(0x7f0040000000) : UINT64_C(0x40000000);
    if (uc_open(UC_ARCH_X86, wide ? UC_MODE_64 : UC_MODE_32, &m->engine) != UC_ERR_OK) return false;
    return uc_mem_map(m->engine, CODE, CODE_SIZE, UC_PROT_READ | UC_PROT_EXEC) == UC_ERR_OK &&
           uc_mem_map(m->engine, m->stack, STACK_SIZE, UC_PROT_READ | UC_PROT_WRITE) == UC_ERR_OK &&
           uc_hook_add(m->engine, &hook, UC_HOOK_MEM_UNMAPPED, object, m, 1, 0) == UC_ERR_OK;
}

static bool read_word(struct machine *m, uint64_t address, uint64_t *value) {
    uint8_t bytes[8];
    unsigned word = m->backend->word;
    for (int attempt = 0; attempt < 3; attempt++) {
        if (uc_mem_read(m->engine, address, bytes, word) == UC_ERR_OK) {
            *value = uspi_le(bytes, word);
            return true;
        }
        uint8_t byte;
        bool first = uc_mem_read(m->engine, address, &byte, 1) != UC_ERR_OK;
        if (!map_page(m, first ? address : address + word - 1)) return false;
    }
    return false;
}

static uint64_t operand(const struct machine *m, const struct registers *r, uint8_t reg) {
    return reg == USPI_NO_REGISTER ? 0 : r->value[reg] & m->backend->word_mask;
}

/* Predicts registers and memory after the instruction by the decoder's description, from those before it. */
static bool predict(struct machine *m, const struct uspi_instruction *i, struct registers *r, struct stores *stores) {
    stores->count = 0;
    for (unsigned n = 0; n < i->effect_count; n++) {
        const struct uspi_effect *e = &i->effects[n];
        uint64_t mask = m->backend->word_mask;
        uint64_t base = operand(m, r, e->base);
        uint64_t sum = (base + (uint64_t)e->value) & mask;
        switch (e->op) {
        case USPI_SET: r->value[e->reg] = sum; break;
        case USPI_ADD: r->value[e->reg] = (base + operand(m, r, e->index)) & mask; break;
        case USPI_SUBTRACT: r->value[e->reg] = (base - operand(m, r, e->index)) & mask; break;
        case USPI_ALIGN: r->value[e->reg] = base & ~((uint64_t)e->value - 1) & mask; break;
        case USPI_LOAD:
            if (!read_word(m, sum, &r->value[e->reg])) return false;
            break;
        case USPI_STORE:
            stores->word[stores->count].address = sum;
            stores->word[stores->count].value = operand(m, r, e->reg);
            stores->word[stores->count].known = e->reg != USPI_NO_REGISTER;
            stores->count++;
            break;
        default: fprintf(stderr, "effect %u is none of x86's\n", e->op); exit(2);
        }
    }
    r->unknown = i->clobbers;
    return true;
}

/* Returns the opcode after legacy prefixes and REX. */
static const uint8_t *opcode_of(const struct machine *m, const uint8_t *code) {
    while (memchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", *code, 11) != NULL) code++;
    return m->backend->word == 8 && (*code & 0xf0) == 0x40 ? code + 1 : code;
}

static bool is_string_instruction(const uint8_t *opcode) {
    return (*opcode >= 0x6c && *opcode <= 0x6f) || (*opcode >= 0xa4 && *opcode <= 0xa7) ||
           (*opcode >= 0xaa && *opcode <= 0xaf);
}

/* Whether an instruction loads segment, control, debug or descriptor registers, or leaves the mode. */
static bool changes_machine(const struct machine *m, const uint8_t *opcode) {
    switch (opcode[0]) {
    case 0x07:
    case 0x17:
    case 0x1f:
    case 0x8e:
    case 0x9a:
    case 0xca:
    case 0xcb:
    case 0xcf:
    case 0xea: return true;
    case 0xc4:
    case 0xc5: return m->backend->word == 4 && opcode[1] < 0xc0;
    case 0xff: return (opcode[1] >> 3 & 7) == 3 || (opcode[1] >> 3 & 7) == 5;
    case 0x0f: break;
    default: return false;
    }
    switch (opcode[1]) {
    case 0x00:
    case 0x01:
    case 0x06:
    case 0x07:
    case 0x20:
    case 0x21:
    case 0x22:
    case 0x23:
    case 0x30:
    case 0x34:
    case 0x35:
    case 0xa1:
    case 0xa9:
    case 0xaa:
    case 0xb2:
    case 0xb4:
    case 0xb5: return true;
    case 0xae: return opcode[2] < 0xc0 || (opcode[2] >> 3 & 7) < 4; /* fxrstor, xrstor, wrfsbase */
    default: return false;
    }
}

/* Whether an instruction is a VEX, EVEX or XOP one that Unicorn 2.0 misreads: of these it executes only the
 * general-register instructions (BMI). */
static bool is_unknown_vector(const struct machine *m, const uint8_t *opcode) {
    bool prefix = m->backend->word == 8 || opcode[1] >= 0xc0;
    if (opcode[0] == 0xc4 && prefix) {
        unsigned map = opcode[1] & 0x1f, number = opcode[3];
        return !(map == 2 && number >= 0xf2 && number <= 0xf7) && !(map == 3 && number == 0xf0);
    }
    return ((opcode[0] == 0xc5 || opcode[0] == 0x62) && prefix) || (opcode[0] == 0x8f && (opcode[1] & 0x1f) >= 8);
}

/* Whether the flow allows the pc after the instruction. after: the predicted registers. */
static bool flow_allows(const struct machine *m, const struct uspi_instruction *i, const struct registers *after,
                        uint64_t from, uint64_t pc, bool repeats) {
    uint64_t next = (from + i->length) & m->backend->word_mask;
    switch (i->flow) {
    case USPI_NEXT: return pc == next || (repeats && pc == from);
    case USPI_JUMP: return pc == i->target;
    case USPI_BRANCH: return pc == i->target || pc == next;
    case USPI_CALL: return i->target == 0 || pc == i->target;
    case USPI_JUMP_UNKNOWN:
    case USPI_JUMP_TABLE:
        if (i->target_register == USPI_NO_REGISTER) return true;
        /* fall through */
    case USPI_RETURN: return (after->unknown >> i->target_register & 1) != 0 || pc == after->value[i->target_register];
    default: return false;
    }
}

/* Whether Unicorn 2.0 deviates from Intel's manual: a large count of argument bytes in `ret` (it is unsigned), `lahf`
 * with REX, insertq and extrq of memory, and a near branch with a 66 prefix, which it executes as AMD does. */
static bool is_misread(const struct machine *m, const uint8_t *code) {
    const uint8_t *opcode = opcode_of(m, code);
    size_t prefixes = (size_t)(opcode - code);
    if (memchr(code, 0x66, prefixes) != NULL) {
        bool wide_branch = opcode[0] >> 4 == 7 || (opcode[0] >= 0xe0 && opcode[0] <= 0xe3) || opcode[0] == 0xe8 ||
                           opcode[0] == 0xe9 || opcode[0] == 0xeb || (opcode[0] == 0x0f && opcode[1] >> 4 == 8);
        if (opcode[0] == 0xc2 || opcode[0] == 0xc3 || opcode[0] == 0xff) return true;
        if (wide_branch && m->backend->word == 8) return true;
    }
    return (opcode[0] == 0xc2 && opcode[2] >= 0x80) || (opcode[0] == 0x9f && prefixes > 0) ||
           (opcode[0] == 0x0f && opcode[1] == 0x78 && prefixes > 0);
}

static void report(const uint8_t *code, unsigned length, const char *what, const char *name, uint64_t is,
                   uint64_t predicted) {
    for (unsigned n = 0; n < length; n++) printf("%02x ", code[n]);
    printf(": %s %s is %" PRIx64 ", predicted %" PRIx64 "\n", what, name, is, predicted);
}

enum outcome { AGREES, DIFFERS, NOT_RUN, VECTOR, PRIVILEGED, ENDS, NO_INSTRUCTION, CRASHES, OUTCOMES };

static const char *const outcome_names[OUTCOMES] = {
    [AGREES] = "agree",
    [DIFFERS] = "differ",
    [NOT_RUN] = "fault or unknown to the emulator",
    [VECTOR] = "in vector encodings unknown to the emulator",
    [PRIVILEGED] = "privileged",
    [ENDS] = "end",
    [NO_INSTRUCTION] = "no instruction",
    [CRASHES] = "on which the emulator dies",
};

static enum outcome execute(struct machine *m, const uint8_t *code, const struct uspi_instruction *i, uint64_t from) {
    struct registers before = {.unknown = 0}, after;
    struct stores stores;
    const struct uspi_backend *b = m->backend;
    bool repeats = is_string_instruction(opcode_of(m, code)) && opcode_of(m, code) != code;
    for (unsigned n = 0; n < b->register_count; n++) {
        /* Half of the values are addresses near the stack's middle, so that pointers differ little from each other. */
        uint64_t value = random_word() & (b->word == 8 ? UINT64_C(0x7fffffffff) : UINT64_C(0xffffffff));
        if ((random_word() & 1) != 0 || n == b->sp || n == b->fp) value = m->stack + STACK_SIZE / 2 + (value & 0xfff8);
        before.value[n] = value;
    }
    before.value[b->pc] = from;
    if (repeats) before.value[b->word == 8 ? 2 : 1] = 1 + (random_word() & 3); /* rcx, ecx */
    after = before;
    if (m->mapped_count > MAPPED_MAX / 2) unmap_pages(m);
    if (!predict(m, i, &after, &stores)) return NOT_RUN;

    /* A segment base makes an address with a segment prefix differ from one without. In 32-bit mode it would need
     * descriptors, which this machine lacks. */
    uint64_t segment = 0x1000;
    if (b->word == 8) uc_reg_write(m->engine, UC_X86_REG_FS_BASE, &segment);
    if (b->word == 8) uc_reg_write(m->engine, UC_X86_REG_GS_BASE, &segment);
    uint64_t flags = 0x202 | (random_word() & 0x8d5);
    uc_reg_write(m->engine, UC_X86_REG_EFLAGS, &flags);
    for (unsigned n = 0; n < b->register_count; n++) uc_reg_write(m->engine, m->ids[n], &before.value[n]);
    uc_err error = uc_emu_start(m->engine, from, 0, 0, 1);
    /* The target of a jump may be unmapped. */
    if (error != UC_ERR_OK && error != UC_ERR_FETCH_UNMAPPED && error != UC_ERR_FETCH_PROT) return NOT_RUN;
    uint64_t pc = 0;
    uc_reg_read(m->engine, m->ids[b->pc], &pc);
    if (pc == from && !repeats) return NOT_RUN; /* a fault that the emulator does not report */

    for (unsigned n = 0; n < b->register_count; n++) {
        uint64_t is = 0;
        uc_reg_read(m->engine, m->ids[n], &is);
        is &= b->word_mask;
        if (n == b->pc) {
            if (flow_allows(m, i, &after, from, is, repeats)) continue;
            report(code, i->length, "next", "pc", is, i->target);
            return DIFFERS;
        }
        /* A call's effects do not contain its push, which the explorer adds. */
        if (n == b->sp && i->flow == USPI_CALL) after.value[n] = (before.value[n] - b->call_push) & b->word_mask;
        if ((after.unknown >> n & 1) != 0 || is == after.value[n]) continue;
        report(code, i->length, "register", b->register_names[n], is, after.value[n]);
        return DIFFERS;
    }
    for (unsigned n = 0; n < stores.count; n++) {
        uint64_t is;
        if (!stores.word[n].known || (read_word(m, stores.word[n].address, &is) && is == stores.word[n].value))
            continue;
        report(code, i->length, "memory", "word", is, stores.word[n].value);
        return DIFFERS;
    }
    return AGREES;
}

static size_t parse_line(char *line, uint8_t *code, size_t capacity) {
    size_t n = 0;
    unsigned byte;
    char *at = strchr(line, ' ');
    while (at != NULL && n < capacity && sscanf(at + (n == 0), "%2x", &byte) == 1) {
        at += n == 0 ? 3 : 2;
        code[n++] = (uint8_t)byte;
    }
    return n;
}

static enum outcome try_instruction(struct machine *m, const uint8_t *code, uint64_t from, unsigned rounds) {
    struct uspi_instruction i;
    if (changes_machine(m, opcode_of(m, code))) return PRIVILEGED;
    if (is_unknown_vector(m, opcode_of(m, code))) return VECTOR;
    if (!m->backend->decode(code, SLOT, from, 0, &i)) return NO_INSTRUCTION;
    if (i.flow == USPI_END) return ENDS;
    if (is_misread(m, code)) return NOT_RUN;
    enum outcome outcome = NOT_RUN;
    for (unsigned round = 0; round < rounds && outcome != DIFFERS; round++) {
        enum outcome one = execute(m, code, &i, from);
        if (one != NOT_RUN) outcome = one;
    }
    return outcome;
}

/* A child process's results for its parent. If the emulator dies on an instruction, only this instruction is lost. */
struct progress {
    unsigned long count[OUTCOMES];
    unsigned done;
};

/* Runs instructions, each in a slot of its own, from progress->done on. All are in memory before the first one runs,
 * because the emulator translates the target of a branch and keeps it. Returns whether the emulator could be
 * started. */
static bool run_rest(const struct uspi_backend *backend, uint8_t (*code)[SLOT], unsigned n, unsigned rounds,
                     struct progress *progress) {
    struct machine machine;
    if (!start(&machine, backend) || uc_mem_write(machine.engine, CODE, code, n * SLOT) != UC_ERR_OK) return false;
    while (progress->done < n) {
        unsigned k = progress->done;
        enum outcome outcome = try_instruction(&machine, code[k], CODE + k * SLOT, rounds);
        progress->count[outcome]++;
        progress->done++;
    }
    return true;
}

static bool run_batch(const struct uspi_backend *backend, uint8_t (*code)[SLOT], unsigned n, unsigned rounds,
                      struct progress *progress) {
    progress->done = 0;
    while (progress->done < n) {
        int status;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            bool run = run_rest(backend, code, n, rounds, progress);
            fflush(stdout);
            _exit(run ? 0 : 2);
        }
        if (child < 0 || waitpid(child, &status, 0) != child) return false;
        if (WIFEXITED(status)) return WEXITSTATUS(status) == 0;
        progress->count[CRASHES]++;
        progress->done++;
    }
    return true;
}

int main(int argc, char **argv) {
    static uint8_t code[CODE_SIZE / SLOT][SLOT];
    const struct uspi_backend *backend = argc > 1 && strcmp(argv[1], "i386") == 0 ? &uspi_i386 : &uspi_x86_64;
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
    if (argc > 3) random_state = strtoull(argv[3], NULL, 0) | 1;
    struct progress *progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED) return 2;
    char line[256];
    unsigned filled = 0;
    bool more = true;
    while (more) {
        more = fgets(line, sizeof line, stdin) != NULL;
        if (more) {
            memset(code[filled], 0, SLOT);
            filled += parse_line(line, code[filled], SLOT) != 0;
        }
        if (filled != CODE_SIZE / SLOT && more) continue;
        if (!run_batch(backend, code, filled, rounds, progress)) {
            fputs("no emulator\n", stderr);
            return 2;
        }
        filled = 0;
    }
    printf("%s:", backend->name);
    for (unsigned k = 0; k < OUTCOMES; k++)
        printf(" %lu %s%s", progress->count[k], outcome_names[k], k + 1 < OUTCOMES ? "," : "\n");
    return progress->count[DIFFERS] != 0 || progress->count[AGREES] == 0;
}
