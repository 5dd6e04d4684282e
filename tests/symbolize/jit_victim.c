/* SPDX-License-Identifier: MIT */
/* A program that generates code, as a runtime with a JIT compiler does: copies the functions of an object
 * (jit_generated.c) into anonymous memory, registers their addresses, calls generated_outer, and waits in a function
 * that this calls.
 *
 * jit_victim OBJECT FOLDER [map] [dump] [gdb]
 *   map   writes /tmp/perf-PID.map
 *   dump  writes FOLDER/jit-PID.dump, with lines, and maps it
 *   gdb   links the object into the list of the GDB JIT interface */
#define _GNU_SOURCE 1
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/kept.h"

/* ---- the GDB JIT interface, as gdb documents it ---- */

struct jit_code_entry {
    struct jit_code_entry *next, *prev;
    const char *object;
    uint64_t size;
};

struct jit_descriptor {
    uint32_t version, action;
    struct jit_code_entry *relevant, *first;
};

extern struct jit_descriptor __jit_debug_descriptor;
struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};

static struct jit_code_entry entry;

/* ---- the object ---- */

struct object {
    uint8_t *bytes;
    size_t size;
    ElfW(Ehdr) header;
    uint8_t *code; /* copy of the code section */
};

static bool read_object(const char *path, struct object *object) {
    FILE *file = fopen(path, "rb");
    object->bytes = malloc(1 << 20);
    if (file == NULL || object->bytes == NULL) return false;
    object->size = fread(object->bytes, 1, 1 << 20, file);
    fclose(file);
    if (object->size < sizeof object->header) return false;
    memcpy(&object->header, object->bytes, sizeof object->header);
    return true;
}

static ElfW(Shdr) section_of(const struct object *object, size_t i) {
    ElfW(Shdr) section;
    memcpy(&section, object->bytes + object->header.e_shoff + i * object->header.e_shentsize, sizeof section);
    return section;
}

/* Copies the code, and writes its address into the section's header, as runtimes do. */
static bool place_code(struct object *object) {
    for (size_t i = 0; i < object->header.e_shnum; i++) {
        ElfW(Shdr) section = section_of(object, i);
        if ((section.sh_flags & SHF_EXECINSTR) == 0 || section.sh_size == 0) continue;
        object->code = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (object->code == MAP_FAILED) return false;
        memcpy(object->code, object->bytes + section.sh_offset, section.sh_size);
        __builtin___clear_cache((char *)object->code, (char *)object->code + section.sh_size);
        section.sh_addr = (uintptr_t)object->code;
        memcpy(object->bytes + object->header.e_shoff + i * object->header.e_shentsize, &section, sizeof section);
        return true;
    }
    return false;
}

/* Calls `each` for each function. */
static void visit_functions(const struct object *object,
                            void (*each)(void *context, const char *name, uintptr_t start, size_t size),
                            void *context) {
    for (size_t i = 0; i < object->header.e_shnum; i++) {
        const ElfW(Shdr) table = section_of(object, i);
        if (table.sh_type != SHT_SYMTAB) continue;
        const ElfW(Shdr) names = section_of(object, table.sh_link);
        for (size_t at = 0; at < table.sh_size; at += table.sh_entsize) {
            ElfW(Sym) symbol;
            memcpy(&symbol, object->bytes + table.sh_offset + at, sizeof symbol);
            if ((symbol.st_info & 15) != STT_FUNC) continue;
            const char *name = (const char *)object->bytes + names.sh_offset + symbol.st_name;
            each(context, name, (uintptr_t)object->code + symbol.st_value, symbol.st_size);
        }
    }
}

/* ---- files ---- */

static void write_line(void *context, const char *name, uintptr_t start, size_t size) {
    /* Without the Thumb bit, which is not part of the address. */
    fprintf(context, "%lx %zx map:%s with blanks\n", (unsigned long)(start & ~(uintptr_t)1), size, name);
}

static bool write_map(const struct object *object) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *file = fopen(path, "w");
    if (file == NULL) return false;
    fprintf(file, "not a line\n%lx ffff map:older\n", (unsigned long)(uintptr_t)object->code);
    visit_functions(object, write_line, file);
    return fclose(file) == 0;
}

static void put(FILE *file, unsigned width, uint64_t value) {
    /* In the processor's byte order. */
    const uint8_t *bytes = (const uint8_t *)&value;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes += sizeof value - width;
#endif
    fwrite(bytes, 1, width, file);
}

/* Line 11 belongs to the first byte, line 12 to the rest. */
static void write_lines(FILE *file, uintptr_t start) {
    static const char path[] = "/somewhere/else/generated.source";
    put(file, 4, 2);
    put(file, 4, 32 + 16 + sizeof path + 16 + 2);
    put(file, 8, 99);
    put(file, 8, start);
    put(file, 8, 2);
    put(file, 8, start);
    put(file, 4, 11);
    put(file, 4, 0);
    fwrite(path, 1, sizeof path, file);
    put(file, 8, start + 1);
    put(file, 4, 12);
    put(file, 4, 0);
    fwrite("\xff", 1, 2, file);
}

static void write_record(void *context, const char *name, uintptr_t start, size_t size) {
    static uint64_t index;
    const size_t length = strlen("dump:") + strlen(name) + 1;
    write_lines(context, start & ~(uintptr_t)1);
    put(context, 4, 0);
    put(context, 4, 56 + length + size);
    put(context, 8, 100 + index);
    put(context, 4, (uint64_t)getpid());
    put(context, 4, (uint64_t)getpid());
    put(context, 8, start & ~(uintptr_t)1);
    put(context, 8, start & ~(uintptr_t)1);
    put(context, 8, size);
    put(context, 8, index++);
    fprintf(context, "dump:%s", name);
    put(context, 1, 0);
    fwrite((const void *)(start & ~(uintptr_t)1), 1, size, context);
}

static bool write_dump(const struct object *object, const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/jit-%d.dump", folder, (int)getpid());
    FILE *file = fopen(path, "w+");
    if (file == NULL) return false;
    put(file, 4, 0x4A695444);
    put(file, 4, 1);
    put(file, 4, 40);
    put(file, 4, object->header.e_machine);
    put(file, 4, 0);
    put(file, 4, (uint64_t)getpid());
    put(file, 8, 1);
    put(file, 8, 0);
    visit_functions(object, write_record, file);
    fflush(file);
    /* Tools find the file by this mapping. */
    const void *mark = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
    return fclose(file) == 0 && mark != MAP_FAILED;
}

/* ---- functions that the generated code calls ---- */

static volatile bool goes_on; /* never set */

KEPT static int stand_still(void) {
    puts("ready");
    fflush(stdout);
    while (!goes_on) pause();
    return 0;
}

static void find_outer(void *context, const char *name, uintptr_t start, size_t size) {
    (void)size;
    if (strcmp(name, "generated_outer") == 0) *(uintptr_t *)context = start;
}

int main(int argc, char **argv) {
    struct object object;
    uintptr_t outer = 0;
    if (argc < 3 || !read_object(argv[1], &object) || !place_code(&object)) return 2;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "map") == 0 && !write_map(&object)) return 3;
        if (strcmp(argv[i], "dump") == 0 && !write_dump(&object, argv[2])) return 4;
        if (strcmp(argv[i], "gdb") == 0) {
            entry.object = (const char *)object.bytes;
            entry.size = object.size;
            __jit_debug_descriptor.first = __jit_debug_descriptor.relevant = &entry;
            __jit_debug_descriptor.action = 1;
        }
    }
    visit_functions(&object, find_outer, &outer);
    if (outer == 0) return 5;
    int (*call)(int (*)(void));
    memcpy(&call, &outer, sizeof call);
    return call(stand_still);
}
