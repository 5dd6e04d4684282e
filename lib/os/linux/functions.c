/* SPDX-License-Identifier: MIT */
/* Finds functions of this process: by name (dlsym), and the start of the function at an address, by the tables that are
 * loaded for exception handling. images.c finds the symbol at an address (dladdr). */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/os.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

uintptr_t uspi_os_find_symbol(const char *name) { return (uintptr_t)dlsym(RTLD_DEFAULT, name); }

/* struct dwarf_eh_bases of GCC libgcc/unwind-dw2-fde.h. */
struct eh_bases {
    void *text, *data;
    void *function;
};
typedef const void *(*find_fde)(void *address, struct eh_bases *bases);

/* ARM EHABI 5: a table of entries {31-bit offset from the entry to its function, unwind data}, sorted by address. This
 * glibc function returns the table of the image that contains an address (elf/dl-unwind-find_exidx, arm). */
typedef uintptr_t (*find_exidx)(uintptr_t address, int *count);

/* Finds a function of the unwinder, and loads it if necessary. Code that throws or is built to catch loads it; a C
 * program may run without it. */
static uintptr_t find_in_unwinder(const char *name) {
    uintptr_t found = uspi_os_find_symbol(name);
    if (found != 0) return found;
    void *unwinder = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_LOCAL);
    return unwinder != NULL ? (uintptr_t)dlsym(unwinder, name) : 0;
}

static bool search_exidx(find_exidx find, uintptr_t address, uintptr_t *start) {
    int count = 0;
    uintptr_t table = find(address, &count);
    if (table == 0 || count <= 0) return false;
    size_t low = 0, high = (size_t)count;
    uint32_t what = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uintptr_t entry = table + middle * 8;
        uint32_t offset;
        memcpy(&offset, (const void *)entry, sizeof offset);
        /* The offset is signed and has 31 bits. */
        uintptr_t function = entry + (uintptr_t)(intptr_t)((int32_t)(offset << 1) >> 1);
        if (function <= address) {
            *start = function;
            memcpy(&what, (const void *)(entry + 4), sizeof what);
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    /* An entry that does not point to a table (ARM EHABI 6: 1, or bit 31) can stand for several functions: linkers keep
     * only the first of adjacent functions with equal data (bfd elf32_arm_fix_exidx_coverage, lld
     * isDuplicateArmExidxSec). */
    return low > 0 && what != 1 && what >> 31 == 0;
}

bool uspi_os_function_start(uintptr_t address, uintptr_t *start) {
    struct eh_bases bases = {NULL, NULL, NULL};
    find_exidx exidx = (find_exidx)uspi_os_find_symbol("__gnu_Unwind_Find_exidx");
    if (exidx == NULL) exidx = (find_exidx)uspi_os_find_symbol("dl_unwind_find_exidx");
    if (exidx != NULL) return search_exidx(exidx, address, start);
    find_fde find = (find_fde)find_in_unwinder("_Unwind_Find_FDE");
    /* The unwinder itself makes this call. */
    if (find == NULL || find((void *)address, &bases) == NULL) return false;
    *start = (uintptr_t)bases.function;
    return true;
}

#endif
