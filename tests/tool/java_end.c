/* SPDX-License-Identifier: MIT */
/* Waits in code that it has generated, which has no frame record and never returns: compiled code of a JVM that does not
 * preserve frame pointers. For x86_64 Linux. */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* xor ebp, ebp; sub rsp, 40; mov eax, SYS_pause; syscall; jmp to the mov. Bytes that are no code stand before it. */
static const char code[] = "\xff\xff\xff\xff\x31\xed\x48\x83\xec\x28\xb8\x22\x00\x00\x00\x0f\x05\xeb\xf7";

int main(void) {
    char *generated = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*waits)(void);
    if (generated == MAP_FAILED) return 1;
    memset(generated, 0xff, 4096);
    memcpy(generated + 64, code, sizeof code - 1);
    generated += 68;
    memcpy(&waits, &generated, sizeof waits);
    puts("ready");
    fflush(stdout);
    waits();
    return 0;
}
