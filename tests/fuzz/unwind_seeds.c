/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_unwind into a folder of that name below the given one. For each processor: a function with a
 * frame record and its caller, where the walk begins at each instruction. Also the frame that Darwin's kernel makes for
 * a signal. */
#include "tests/fuzz/unwind_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <unspool/registers.h>
#include <unspool/unwind.h>

enum { CALL_AT = 0, CALLEE_AT = 32, CODE_SIZE = 96, RECORD_AT = 64, STACK_SIZE = 192 };

struct program {
    uint32_t arch;
    unsigned slot;           /* bytes of a slot of the frame record */
    unsigned call_length;    /* bytes of the call at CODE */
    uint8_t wishes;          /* options in addition to those of every seed */
    uint8_t code[CODE_SIZE]; /* a call at CALL_AT, the callee at CALLEE_AT */
    unsigned steps[8];       /* offsets in the callee at which a walk begins; after the first, 0 ends the list */
};

static const struct program programs[] = {
    {USP_ARCH_ARM64,
     8,
     4,
     0,
     {[CALL_AT] = 0x08,
      0,
      0,
      0x94, /* bl callee */
      [CALLEE_AT] = 0x7f,
      0x23,
      0x03,
      0xd5, /* pacibsp */
      0xfd,
      0x7b,
      0xbf,
      0xa9, /* stp x29, x30, [sp, #-16]! */
      0xfd,
      0x03,
      0x00,
      0x91, /* mov x29, sp */
      0x1f,
      0x20,
      0x03,
      0xd5, /* nop */
      0xfd,
      0x7b,
      0xc1,
      0xa8, /* ldp x29, x30, [sp], #16 */
      0xff,
      0x0f,
      0x5f,
      0xd6}, /* retab */
     {0, 4, 8, 12, 16, 20}},
    {USP_ARCH_ARM64_32,
     8,
     4,
     0,
     {[CALL_AT] = 0x08,
      0,
      0,
      0x94, /* bl callee */
      [CALLEE_AT] = 0xff,
      0x83,
      0x00,
      0xd1, /* sub sp, sp, #32 */
      0xfd,
      0x7b,
      0x01,
      0xa9, /* stp x29, x30, [sp, #16] */
      0xfd,
      0x43,
      0x00,
      0x91, /* add x29, sp, #16 */
      0xfd,
      0x7b,
      0x41,
      0xa9, /* ldp x29, x30, [sp, #16] */
      0xff,
      0x83,
      0x00,
      0x91, /* add sp, sp, #32 */
      0xc0,
      0x03,
      0x5f,
      0xd6}, /* ret */
     {0, 4, 8, 12, 16, 20}},
    {USP_ARCH_ARMV7,
     4,
     4,
     WISH_THUMB,
     {[CALL_AT] = 0x00,
      0xf0,
      0x0e,
      0xf8, /* bl callee */
      [CALLEE_AT] = 0x80,
      0xb5, /* push {r7, lr} */
      0x6f,
      0x46, /* mov r7, sp */
      0x82,
      0xb0, /* sub sp, #8 */
      0x00,
      0xbf, /* nop */
      0x02,
      0xb0, /* add sp, #8 */
      0x80,
      0xbd}, /* pop {r7, pc} */
     {0, 2, 4, 6, 8, 10}},
    {USP_ARCH_X86_64,
     8,
     5,
     0,
     {[CALL_AT] = 0xe8,
      0x1b,
      0,
      0,
      0, /* call callee */
      [CALLEE_AT] = 0xf3,
      0x0f,
      0x1e,
      0xfa, /* endbr64 */
      0x55, /* push %rbp */
      0x48,
      0x89,
      0xe5, /* mov %rsp,%rbp */
      0x48,
      0x83,
      0xec,
      0x10,  /* sub $16,%rsp */
      0xc9,  /* leave */
      0xc3}, /* ret */
     {0, 4, 5, 8, 12, 13}},
    {USP_ARCH_I386,
     4,
     5,
     0,
     {[CALL_AT] = 0xe8,
      0x1b,
      0,
      0,
      0,                  /* call callee */
      [CALLEE_AT] = 0x55, /* push %ebp */
      0x89,
      0xe5, /* mov %esp,%ebp */
      0x83,
      0xec,
      0x08,  /* sub $8,%esp */
      0xc9,  /* leave */
      0xc3}, /* ret */
     {0, 1, 3, 6, 7}},
};

static void store(uint8_t *at, uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; i++) at[i] = (uint8_t)(value >> 8 * i);
}

static void write_file(const char *folder, const struct program *p, const char *what, const struct header *header,
                       const struct usp_registers *registers, const uint8_t *stack, size_t stack_size) {
    uint8_t words[USP_REGISTERS_MAX * 8];
    char path[1024];
    for (unsigned i = 0; i < USP_REGISTERS_MAX; i++) store(words + 8 * i, registers->value[i], 8);
    (void)snprintf(path, sizeof path, "%s/fuzz_unwind/%s-%s", folder, usp_arch_string(p->arch), what);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(header, sizeof *header, 1, file) != 1 || fwrite(words, sizeof words, 1, file) != 1 ||
        fwrite(p->code, CODE_SIZE, 1, file) != 1 || fwrite(stack, stack_size, 1, file) != 1 || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

static uint64_t return_address(const struct program *p) {
    return CODE + CALL_AT + p->call_length + ((p->wishes & WISH_THUMB) != 0 ? 1 : 0);
}

static void write_seed(const char *folder, const struct program *p, unsigned step) {
    uint8_t stack[STACK_SIZE] = {0};
    char what[16];
    struct usp_registers registers;
    struct header header = {.os = USP_ARCH_NONE, .capacity = 16};
    const uint64_t back = return_address(p);

    header.arch = (uint8_t)(p->arch - 1);
    header.wishes = (uint8_t)(p->wishes | WISH_BOUNDS | (step % 2 != 0 ? WISH_REGIONS : 0));
    header.registers = USP_REGISTERS_MAX;
    header.code_length = CODE_SIZE / 4;
    /* Two records and the end of the chain. The words between them are return addresses too, for walks that begin at a
     * function's entry on x86. */
    for (unsigned at = 0; at + p->slot <= STACK_SIZE; at += p->slot) store(stack + at, back, p->slot);
    store(stack + RECORD_AT, STACK + RECORD_AT + 4 * p->slot, p->slot);
    store(stack + RECORD_AT + 4 * p->slot, 0, p->slot);

    (void)usp_registers_init(&registers, p->arch);
    usp_registers_set_pc(&registers, CODE + CALLEE_AT + p->steps[step]);
    usp_registers_set_sp(&registers, STACK + RECORD_AT - 16);
    usp_registers_set_fp(&registers, STACK + RECORD_AT);
    usp_registers_set_lr(&registers, back);
    (void)snprintf(what, sizeof what, "%u", step);
    write_file(folder, p, what, &header, &registers, stack, sizeof stack);
}

/* The frame of Darwin's kernel for a signal (lib/unwind/signals/sigframe.c): offsets from _sigtramp's CFA to the
 * mcontext, and of the registers in it. */
static const struct sigframe {
    uint32_t arch;
    uint16_t machine, size, pc, sp, fp;
    uint8_t pointer, is_last;
} sigframes[] = {
    {USP_ARCH_ARM64, 160, 816, 272, 264, 248, 8, 1}, {USP_ARCH_ARM64_32, 160, 816, 272, 264, 248, 8, 1},
    {USP_ARCH_ARMV7, 104, 340, 72, 64, 40, 4, 1},    {USP_ARCH_X86_64, 0, 712, 144, 72, 64, 8, 0},
    {USP_ARCH_I386, 28, 600, 52, 40, 36, 4, 0},
};
enum { SIGFRAME_SIZE = 1536, INTERRUPTED_AT = 1280 };

/* Writes a seed that begins in the handler of a signal, which interrupted the callee. */
static void write_signal_seed(const char *folder, const struct program *p) {
    uint8_t stack[SIGFRAME_SIZE] = {0};
    struct usp_registers registers;
    struct header header = {.os = USP_OS_DARWIN, .capacity = 16, .registers = USP_REGISTERS_MAX};
    const uint64_t back = return_address(p);
    const struct sigframe *f = sigframes;
    while (f->arch != p->arch) f++;
    const unsigned cfa = RECORD_AT + 2 * p->slot, ucontext = f->pointer == 8 ? 56 : 32,
                   info = f->pointer == 8 ? 104 : 64;
    const unsigned machine = cfa + f->machine;
    const unsigned context = f->is_last != 0 ? machine - ucontext : machine + f->size + info;

    header.arch = (uint8_t)(p->arch - 1);
    header.wishes = p->wishes;
    header.code_length = CODE_SIZE / 4;
    store(stack + RECORD_AT, STACK + INTERRUPTED_AT, p->slot);
    store(stack + RECORD_AT + p->slot, back, p->slot);
    store(stack + context - info, 11, 4);
    store(stack + context + (f->pointer == 8 ? 40 : 24), f->size, f->pointer);
    store(stack + context + (f->pointer == 8 ? 48 : 28), STACK + machine, f->pointer);
    store(stack + machine + f->pc, CODE + CALLEE_AT + p->steps[2], p->slot);
    store(stack + machine + f->sp, STACK + INTERRUPTED_AT - 16, p->slot);
    store(stack + machine + f->fp, STACK + INTERRUPTED_AT, p->slot);
    store(stack + INTERRUPTED_AT + p->slot, back, p->slot);

    (void)usp_registers_init(&registers, p->arch);
    usp_registers_set_pc(&registers, back);
    usp_registers_set_sp(&registers, STACK + RECORD_AT - 16);
    usp_registers_set_fp(&registers, STACK + RECORD_AT);
    write_file(folder, p, "signal", &header, &registers, stack, sizeof stack);
}

int main(int argc, char **argv) {
    char path[1024];
    if (argc != 2) return 2;
    (void)snprintf(path, sizeof path, "%s/fuzz_unwind", argv[1]);
    (void)mkdir(path, 0777);
    for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++) {
        for (unsigned step = 0; step == 0 || (step < 8 && programs[i].steps[step] != 0); step++) {
            write_seed(argv[1], &programs[i], step);
        }
        write_signal_seed(argv[1], &programs[i]);
    }
    return 0;
}
