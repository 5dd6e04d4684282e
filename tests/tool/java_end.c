/* SPDX-License-Identifier: MIT */
/* Waits in code that it has generated, which has no frame record and never returns: compiled code of a JVM that does not
 * preserve frame pointers. With an argument, on a stack of its own. For x86_64 Linux. */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* xor ebp, ebp; sub rsp, 40; mov eax, SYS_pause; syscall; jmp to the mov. */
static const char code[] = "\x31\xed\x48\x83\xec\x28\xb8\x22\x00\x00\x00\x0f\x05\xeb\xf7";

/* The same with lea rsp, [rip + 0x800]: a stack on which nothing leads to the caller. */
static const char on_own_stack[] = "\x31\xed\x48\x8d\x25\x00\x08\x00\x00\xb8\x22\x00\x00\x00\x0f\x05\xeb\xf7";

#define AT 64

int main(int argc, char **argv) {
    (void)argv;
    char *generated = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*waits)(void);
    if (generated == MAP_FAILED) return 1;
    /* Bytes that are not code are around it. */
    memset(generated, 0xff, 4096);
    generated += AT;
    if (argc > 1) {
        memcpy(generated, on_own_stack, sizeof on_own_stack - 1);
    } else {
        memcpy(generated, code, sizeof code - 1);
    }
    memcpy(&waits, &generated, sizeof waits);
    puts("ready");
    fflush(stdout);
    waits();
    return 0;
}
