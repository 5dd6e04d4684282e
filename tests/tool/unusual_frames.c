/* SPDX-License-Identifier: MIT */
/* A program whose stack is unusual in the way that its argument names. unusual_frames.sh checks it. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define STACK    ((size_t)1 << 18)

static volatile int one = 1;

NOINLINE static void ready(void) {
    puts("ready");
    fflush(stdout);
    for (;;) pause();
}

/* A function that does not return. It is compiled without loaded unwind tables where the script wants that. */
NOINLINE __attribute__((noreturn)) void ends(int n) {
    volatile char buffer[200];
    buffer[0] = (char)n;
    ready();
    exit(buffer[0]);
}

NOINLINE static int checks(int n) {
    volatile char buffer[64];
    buffer[0] = (char)n;
    if (n > 0) ends(n);
    return buffer[0];
}

NOINLINE static int works(int n) { return checks(n) + one; }

#if defined(__x86_64__) && defined(SWITCHES)

/* Calls fn with the stack pointer `top`, which its call frame information describes. */
void on_stack(void (*fn)(void), void *top);
__asm__(".text\n.globl on_stack\n.type on_stack,@function\non_stack:\n.cfi_startproc\n"
        "pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset rbp,-16\nmovq %rsp,%rbp\n.cfi_def_cfa_register rbp\n"
        "movq %rsi,%rsp\ncallq *%rdi\nmovq %rbp,%rsp\npopq %rbp\n.cfi_def_cfa rsp,8\nret\n.cfi_endproc\n"
        ".size on_stack,.-on_stack\n");

static char *stacks; /* two of them, adjacent */

NOINLINE static void innermost(void) { works(one); }

/* Goes from the higher stack to the lower one. */
NOINLINE static void to_lower(void) {
    on_stack(innermost, stacks + STACK);
    one = 2;
}

/* Goes from the lower stack to the higher one. */
NOINLINE static void to_higher(void) {
    on_stack(innermost, stacks + 2 * STACK);
    one = 2;
}

static void *runs(void *up) {
    on_stack(up != NULL ? to_higher : to_lower, stacks + (up != NULL ? STACK : 2 * STACK));
    one = 2;
    return NULL;
}

/* The first function of a stack that makecontext prepares. */
NOINLINE static void first(void) {
    works(one);
    exit(one);
}

/* Ends here if the stack is one of makecontext. */
static void run_context(void) {
    static ucontext_t here, there;
    getcontext(&there);
    there.uc_stack.ss_sp = stacks;
    there.uc_stack.ss_size = STACK;
    makecontext(&there, first, 0);
    swapcontext(&here, &there);
}

/* What generated code calls, and where it keeps its stack pointer. */
static struct {
    void (*function)(void);
    uint64_t stack;
} generated;

/* Code without frame records that uses rbp otherwise. Its stack pointer cannot be followed. */
static const unsigned char code[] = {
    0x53, 0x55,                               /* push %rbx; push %rbp */
    0x48, 0x89, 0xfb,                         /* mov %rdi,%rbx */
    0x48, 0x89, 0xe0, 0x48, 0x0f, 0xc8,       /* mov %rsp,%rax; bswap %rax */
    0x48, 0x89, 0x43, 0x08,                   /* mov %rax,8(%rbx) */
    0xbd, 0x01, 0x00, 0x00, 0x00,             /* mov $1,%ebp */
    0x48, 0x81, 0xec, 0x88, 0x00, 0x00, 0x00, /* sub $0x88,%rsp */
    0xff, 0x13,                               /* call *(%rbx) */
    0x48, 0x8b, 0x63, 0x08, 0x48, 0x0f, 0xcc, /* mov 8(%rbx),%rsp; bswap %rsp */
    0x5d, 0x5b, 0xc3                          /* pop %rbp; pop %rbx; ret */
};

NOINLINE static void run_generated(void (*volatile function)(void *)) {
    function(&generated);
    one = 2;
}

/* Copies the code to memory of no image, and runs it. */
static void generate(void) {
    unsigned char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) exit(2);
    memcpy(memory, code, sizeof code);
    generated.function = innermost;
    run_generated((void (*)(void *))(uintptr_t)memory);
}

/* A run-time system enters code of its language by a jump, and that code calls C, which does not return here. No table
 * describes that code. It uses rbp for its own stack, and jumps to the return address that it finds there. */
void enter_language(void (*language)(void (*)(void)), void (*function)(void));
void language(void (*function)(void));
__asm__(".text\n.globl enter_language\n.type enter_language,@function\nenter_language:\n.cfi_startproc\n"
        "pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset rbp,-16\nsubq $0x2000,%rsp\n.cfi_def_cfa_offset 0x2010\n"
        "movq %rdi,%rax\nmovq %rsi,%rdi\njmpq *%rax\n.cfi_endproc\n"
        ".size enter_language,.-enter_language\n"
        ".globl language\n.type language,@function\nlanguage:\nmovl $1,%ebp\ncallq *%rdi\n"
        "jmpq *(%rbp)\n.size language,.-language\n");

NOINLINE static void run_language(void) {
    enter_language(language, innermost);
    one = 2;
}

int main(int argc, char **argv) {
    stacks = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (argc > 1 && strcmp(argv[1], "context") == 0) run_context();
    if (argc > 1 && strcmp(argv[1], "generated") == 0) generate();
    if (argc > 1 && strcmp(argv[1], "language") == 0) run_language();
    void *up = argc > 1 && strstr(argv[1], "up") != NULL ? stacks : NULL;
    if (argc > 1 && strstr(argv[1], "thread") != NULL) {
        pthread_t thread;
        pthread_create(&thread, NULL, runs, up);
        pthread_join(thread, NULL);
    } else {
        runs(up);
    }
    return one;
}

#else

int main(int argc, char **argv) {
    (void)argv;
    return works(argc);
}

#endif
