/* SPDX-License-Identifier: MIT */
/* Builds cores of a process of three functions byte by byte: outer calls caller, caller calls inner, and each thread is
 * in inner. There are ELF cores as Linux writes them, Mach-O cores as xnu does, and the program's own file. Tests use
 * them, and fuzzers as seeds.
 *
 *      IMAGE            the program's header          stack of thread n, from STACK + n * STACK_STEP on:
 *      IMAGE + 0x1000   code: inner, caller, outer      + 0x100  record of inner   {+ 0x140, return into caller}
 *                                                       + 0x140  record of caller  {+ 0x180, return into outer}
 *                                                       + 0x180  record of outer   {0, 0} */
#ifndef TESTS_SUPPORT_CORE_FIXTURES_H
#define TESTS_SUPPORT_CORE_FIXTURES_H

#include <unspool/unspool.h>

#include "tests/support/file_builder.h"
#include "tests/support/macho_commands.h"

#define IMAGE      UINT64_C(0x100000)
#define CODE       (IMAGE + 0x1000)
#define STACK      UINT64_C(0x700000)
#define STACK_STEP UINT64_C(0x200)
#define STACK_SIZE 0x1000u
#define PAGE       0x1000u

/* Size of a word of a frame record. */
static inline unsigned slot_of(uint32_t arch) { return arch == USP_ARCH_ARMV7 || arch == USP_ARCH_I386 ? 4 : 8; }

/* ---- code ---- */

enum function { INNER, CALLER, OUTER };

static inline usp_addr function_at(enum function f) { return CODE + 0x20u * (unsigned)f; }

/* The address after the call in a function; the thread is there in inner, which has no call. */
static inline usp_addr after_call(uint32_t arch, enum function f) {
    unsigned distance = arch == USP_ARCH_X86_64 ? 9 : arch == USP_ARCH_I386 || arch == USP_ARCH_ARMV7 ? 8 : 12;
    return function_at(f) + distance;
}

static inline void put_arm64(struct builder *b, bool calls, int64_t distance) {
    put(b, 4, 0xa9bf7bfd);                                                               /* stp x29, x30, [sp, #-16]! */
    put(b, 4, 0x910003fd);                                                               /* mov x29, sp */
    put(b, 4, calls ? 0x94000000 | ((uint64_t)(distance / 4) & 0x3ffffff) : 0xd503201f); /* bl, nop */
    put(b, 4, 0xd503201f);                                                               /* nop */
    put(b, 4, 0xa8c17bfd);                                                               /* ldp x29, x30, [sp], #16 */
    put(b, 4, 0xd65f03c0);                                                               /* ret */
}

static inline void put_thumb(struct builder *b, bool calls, int64_t distance) {
    uint64_t offset = (uint64_t)(distance - 4);
    put(b, 2, 0xb580);                                                                  /* push {r7, lr} */
    put(b, 2, 0x466f);                                                                  /* mov r7, sp */
    put(b, 2, calls ? 0xf000 | (offset >> 63) << 10 | (offset >> 12 & 0x3ff) : 0xbf00); /* bl, nop */
    put(b, 2, calls ? 0xf800 | (offset >> 1 & 0x7ff) : 0xbf00);
    put(b, 2, 0xbf00); /* nop */
    put(b, 2, 0xbd80); /* pop {r7, pc} */
}

static inline void put_x86(struct builder *b, bool wide, bool calls, int64_t distance) {
    put(b, 1, 0x55); /* push rbp */
    if (wide) put(b, 1, 0x48);
    put(b, 2, 0xe589); /* mov rbp, rsp */
    if (calls) {
        put(b, 1, 0xe8); /* call */
        put(b, 4, (uint64_t)(distance - 5));
    } else {
        for (int i = 0; i < 5; i++) put(b, 1, 0x90); /* nop */
    }
    put(b, 1, 0x90);   /* nop */
    put(b, 2, 0xc35d); /* pop rbp; ret */
}

static inline void put_code(struct builder *b, uint32_t arch) {
    size_t from = b->size;
    for (unsigned f = INNER; f <= OUTER; f++) {
        pad_to(b, from + 0x20 * f);
        bool wide = arch == USP_ARCH_X86_64;
        unsigned call = arch == USP_ARCH_X86_64 ? 4 : arch == USP_ARCH_I386 ? 3 : arch == USP_ARCH_ARMV7 ? 4 : 8;
        int64_t distance = -0x20 - (int64_t)call;
        if (arch == USP_ARCH_ARMV7) {
            put_thumb(b, f != INNER, distance);
        } else if (arch == USP_ARCH_X86_64 || arch == USP_ARCH_I386) {
            put_x86(b, wide, f != INNER, distance);
        } else {
            put_arm64(b, f != INNER, distance);
        }
    }
    pad_to(b, from + 0x60);
}

/* ---- stacks ---- */

static inline usp_addr thread_sp(unsigned thread) { return STACK + thread * STACK_STEP + 0x100; }

static inline void put_stack(struct builder *b, uint32_t arch, unsigned threads, uint64_t signature) {
    size_t from = b->size;
    unsigned slot = slot_of(arch);
    uint64_t thumb = arch == USP_ARCH_ARMV7;
    for (unsigned t = 0; t < threads; t++) {
        usp_addr sp = thread_sp(t);
        pad_to(b, from + (size_t)(sp - STACK));
        put(b, slot, sp + 0x40);
        put(b, slot, after_call(arch, CALLER) | thumb | signature);
        pad_to(b, from + (size_t)(sp + 0x40 - STACK));
        put(b, slot, sp + 0x80);
        put(b, slot, after_call(arch, OUTER) | thumb | signature);
        pad_to(b, from + (size_t)(sp + 0x80 - STACK));
        put(b, slot, 0);
        put(b, slot, 0);
    }
}

/* ---- registers ---- */

/* x0 … x28, fp, lr, sp, pc, cpsr: 272 bytes in both systems' layouts. */
static inline void put_registers_arm64(struct builder *b, unsigned thread) {
    for (unsigned i = 0; i < 29; i++) put(b, 8, 0);
    put(b, 8, thread_sp(thread));
    put(b, 8, 0);
    put(b, 8, thread_sp(thread));
    put(b, 8, after_call(USP_ARCH_ARM64, INNER));
    put(b, 8, 0);
}

/* r0 … r12, sp, lr, pc, cpsr (Thumb): 68 bytes. */
static inline void put_registers_arm(struct builder *b, unsigned thread) {
    for (unsigned i = 0; i < 13; i++) put(b, 4, i == 7 ? thread_sp(thread) : 0);
    put(b, 4, thread_sp(thread));
    put(b, 4, 0);
    put(b, 4, after_call(USP_ARCH_ARMV7, INNER));
    put(b, 4, 0x20);
}

/* Puts words that are 0 except for three. */
static inline void put_registers_x86(struct builder *b, uint32_t arch, unsigned words, unsigned fp, unsigned sp,
                                     unsigned pc, unsigned thread) {
    for (unsigned i = 0; i < words; i++) {
        uint64_t value = i == fp || i == sp ? thread_sp(thread) : i == pc ? after_call(arch, INNER) : 0;
        put(b, arch_is_64(arch) ? 8 : 4, value);
    }
}

/* ---- ELF ---- */

static inline unsigned elf_machine(uint32_t arch) {
    return arch == USP_ARCH_X86_64 ? 62 : arch == USP_ARCH_I386 ? 3 : arch == USP_ARCH_ARM64 ? 183 : 40;
}

/* Puts the header; the program headers follow directly. */
static inline void put_elf_header(struct builder *b, bool wide, unsigned type, unsigned machine, unsigned segments) {
    unsigned word = wide ? 8 : 4;
    put_bytes(b, "\177ELF", 4);
    put(b, 1, wide ? 2 : 1);
    put(b, 1, 1);
    put(b, 1, 1);
    pad_to(b, b->size + 9);
    put(b, 2, type);
    put(b, 2, machine);
    put(b, 4, 1);
    put(b, word, CODE); /* e_entry */
    put(b, word, wide ? 64 : 52);
    put(b, word, 0);
    put(b, 4, 0);
    put(b, 2, wide ? 64 : 52);
    put(b, 2, wide ? 56 : 32);
    put(b, 2, segments);
    put(b, 2, wide ? 64 : 40);
    put(b, 2, 0);
    put(b, 2, 0);
}

static inline void put_elf_segment(struct builder *b, bool wide, unsigned type, unsigned flags, uint64_t offset,
                                   uint64_t address, uint64_t file_size, uint64_t memory_size, uint64_t align) {
    unsigned word = wide ? 8 : 4;
    put(b, 4, type);
    if (wide) put(b, 4, flags);
    put(b, word, offset);
    put(b, word, address);
    put(b, word, 0);
    put(b, word, file_size);
    put(b, word, memory_size);
    if (!wide) put(b, 4, flags);
    put(b, word, align);
}

/* Puts an ELF note's header and name; the descriptor follows, then align_to(b, 4). Returns the offset of the header. */
static inline size_t put_note(struct builder *b, const char *owner, unsigned type, size_t size) {
    size_t at = b->size, n = strlen(owner) + 1;
    put(b, 4, n);
    put(b, 4, size);
    put(b, 4, type);
    put_bytes(b, owner, n);
    align_to(b, 4);
    return at;
}

#define BUILD_ID "0123456789abcdefghij"

/* Puts the used part of the program's first page: header, PT_LOAD × 2, PT_NOTE with the build id. */
static inline void put_elf_image(struct builder *b, uint32_t arch, const char *build_id) {
    bool wide = arch_is_64(arch);
    size_t from = b->size, note = wide ? 64 + 3 * 56 : 52 + 3 * 32;
    struct builder image = {0};
    put_elf_header(&image, wide, 3, elf_machine(arch), 3);
    patch(&image, 24, wide ? 8 : 4, CODE - IMAGE);
    put_elf_segment(&image, wide, 1, 4, 0, 0, 0x200, 0x200, PAGE);
    put_elf_segment(&image, wide, 1, 5, PAGE, PAGE, 0x60, 0x60, PAGE);
    put_elf_segment(&image, wide, 4, 4, note, note, build_id != NULL ? 36 : 0, 36, 4);
    if (build_id != NULL) {
        put_note(&image, "GNU", 3, 20);
        put_bytes(&image, build_id, 20);
    }
    put_bytes(b, image.bytes, image.size);
    pad_to(b, from + 0x200);
    builder_free(&image);
}

/* Builds the program's file. */
static inline void build_elf_program(struct builder *b, uint32_t arch, const char *build_id) {
    put_elf_image(b, arch, build_id);
    pad_to(b, PAGE);
    put_code(b, arch);
}

struct elf_core {
    uint32_t arch;
    unsigned threads;
    const char *path;     /* in NT_FILE; NULL: no NT_FILE */
    const char *build_id; /* in the image's first page; NULL: none */
    bool with_text;       /* the core contains the code, too */
    bool without_image;   /* the core contains nothing of the program's file (qemu-user) */
    uint64_t pac_mask;    /* NT_ARM_PAC_MASK; 0: none */

    /* Set by build_elf_core: offsets and sizes in the core. */
    size_t segments_at, segment_size;                                  /* of program headers */
    size_t notes_at, notes_size, status_at, info_at, auxv_at, file_at; /* of notes' headers */
    size_t image_at, text_at, stack_at, stack_size;
};

enum { ELF_NOTES, ELF_IMAGE, ELF_TEXT, ELF_STACK, ELF_SEGMENTS };

static inline void put_status(struct builder *b, uint32_t arch, unsigned thread) {
    bool wide = arch_is_64(arch);
    size_t size = arch == USP_ARCH_X86_64 ? 336 : arch == USP_ARCH_ARM64 ? 392 : arch == USP_ARCH_I386 ? 144 : 148;
    put_note(b, "CORE", 1, size);
    size_t from = b->size;
    put(b, 4, 11);
    pad_to(b, from + 12);
    put(b, 2, 11);
    pad_to(b, from + (wide ? 32 : 24));
    put(b, 4, 1000 + thread);
    pad_to(b, from + (wide ? 112 : 72));
    switch (arch) {
    case USP_ARCH_X86_64: put_registers_x86(b, arch, 27, 4, 19, 16, thread); break;
    case USP_ARCH_I386: put_registers_x86(b, arch, 17, 5, 15, 12, thread); break;
    case USP_ARCH_ARM64: put_registers_arm64(b, thread); break;
    default: put_registers_arm(b, thread); break;
    }
    pad_to(b, from + size);
    align_to(b, 4);
}

static inline void put_elf_notes(struct builder *b, struct elf_core *core) {
    bool wide = arch_is_64(core->arch);
    unsigned word = wide ? 8 : 4;
    for (unsigned t = 0; t < core->threads; t++) {
        if (t == 0) core->status_at = b->size;
        put_status(b, core->arch, t);
        if (t == 0) {
            core->info_at = put_note(b, "CORE", 3, wide ? 136 : 124);
            size_t from = b->size;
            pad_to(b, from + (wide ? 24 : 12));
            put(b, 4, 1000);
            pad_to(b, from + (wide ? 40 : 28));
            put_name(b, "victim", 16);
            pad_to(b, from + (wide ? 136 : 124));
            core->auxv_at = put_note(b, "CORE", 6, 8 * word);
            put(b, word, 3);
            put(b, word, IMAGE + (wide ? 64 : 52));
            put(b, word, 5);
            put(b, word, 3);
            put(b, word, 9);
            put(b, word, CODE);
            put(b, word, 0);
            put(b, word, 0);
        }
        if (t == 0 && core->path != NULL) {
            size_t length = strlen(core->path) + 1;
            core->file_at = put_note(b, "CORE", 0x46494c45, 2 * word + 2 * 3 * word + 2 * length);
            put(b, word, 2);
            put(b, word, PAGE);
            for (unsigned i = 0; i < 2; i++) {
                put(b, word, IMAGE + i * PAGE);
                put(b, word, IMAGE + (i + 1) * PAGE);
                put(b, word, i);
            }
            put_bytes(b, core->path, length);
            put_bytes(b, core->path, length);
            align_to(b, 4);
        }
        if (core->pac_mask != 0) {
            put_note(b, "LINUX", 0x406, 16);
            put(b, 8, 0);
            put(b, 8, core->pac_mask);
        }
    }
}

/* Builds a core. The struct describes it, and gets the offsets in it. */
static inline void build_elf_core(struct builder *b, struct elf_core *core) {
    bool wide = arch_is_64(core->arch);
    struct builder notes = {0}, image = {0}, text = {0}, stack = {0};
    core->segments_at = wide ? 64 : 52;
    core->segment_size = wide ? 56 : 32;
    put_elf_notes(&notes, core);
    if (!core->without_image) put_elf_image(&image, core->arch, core->build_id);
    if (core->with_text) put_code(&text, core->arch);
    put_stack(&stack, core->arch, core->threads, core->pac_mask & UINT64_C(0x0055000000000000));
    core->notes_at = core->segments_at + ELF_SEGMENTS * core->segment_size;
    core->notes_size = notes.size;
    core->image_at = core->notes_at + notes.size;
    core->text_at = core->image_at + image.size;
    core->stack_at = core->text_at + text.size;
    core->stack_size = stack.size;
    core->status_at += core->notes_at;
    core->info_at += core->notes_at;
    core->auxv_at += core->notes_at;
    core->file_at += core->notes_at;
    put_elf_header(b, wide, 4, elf_machine(core->arch), ELF_SEGMENTS);
    put_elf_segment(b, wide, 4, 0, core->notes_at, 0, notes.size, 0, 4);
    put_elf_segment(b, wide, 1, 4, core->image_at, IMAGE, image.size, PAGE, PAGE);
    put_elf_segment(b, wide, 1, 5, core->text_at, CODE, text.size, PAGE, PAGE);
    put_elf_segment(b, wide, 1, 6, core->stack_at, STACK, stack.size, STACK_SIZE, PAGE);
    put_bytes(b, notes.bytes, notes.size);
    put_bytes(b, image.bytes, image.size);
    put_bytes(b, text.bytes, text.size);
    put_bytes(b, stack.bytes, stack.size);
    builder_free(&notes);
    builder_free(&image);
    builder_free(&text);
    builder_free(&stack);
}

/* Offset of a field of program header i, from its offset in a 64-bit and in a 32-bit header. */
static inline size_t elf_field(const struct elf_core *core, unsigned i, size_t in_64, size_t in_32) {
    return core->segments_at + i * core->segment_size + (arch_is_64(core->arch) ? in_64 : in_32);
}

/* ---- Mach-O ---- */

#define UUID  "MACHO-UUID-16byt"
#define DYLD  UINT64_C(0x300000)
#define DYLIB UINT64_C(0x400000)

/* The program: __PAGEZERO, __TEXT, UUID, platform. It is linked for 0x4000, so it has a slide. Its file is the same. */
#define LINKED UINT64_C(0x4000)

static inline void build_macho_program(struct builder *b, uint32_t arch, const char *uuid, unsigned platform) {
    bool wide = arch_is_64(arch);
    size_t from = b->size;
    struct commands c = {{0}, 0};
    put_macho_segment(&c, wide, "__PAGEZERO", 0, LINKED, 0, 0, 0, 0);
    put_macho_segment(&c, wide, "__TEXT", LINKED, 2 * PAGE, 0, 2 * PAGE, 5, 1);
    put_macho_section(&c, wide, "__text", "__TEXT", LINKED + PAGE, 0x60);
    if (uuid != NULL) put_uuid(&c, uuid);
    put_build_version(&c, platform);
    put_macho(b, wide, macho_cpu(arch), 2, &c);
    pad_to(b, from + PAGE);
    put_code(b, arch);
    pad_to(b, from + 2 * PAGE);
}

struct macho_core {
    uint32_t arch;
    unsigned threads;
    bool says_arm;         /* the kernel's cputype 12, for every process */
    bool unified;          /* thread states have their unified form */
    bool without_text;     /* the core contains only the program's header */
    bool with_dyld;        /* dyld with its list, and a library that only this list names */
    const char *path;      /* in dyld's list */
    const char *uuid;      /* of the program; NULL: none */
    unsigned platform;     /* of the program */
    unsigned address_bits; /* LC_NOTE; 0: none */
    uint64_t signature;    /* on return addresses */
    /* The exception that each thread entered the kernel by: arm64's ESR_EL1, x86_64's number. All 0: threads have a
     * state of an unknown flavor instead. */
    uint32_t exceptions[3];

    /* Set by build_macho_core: offsets and sizes in the core. */
    size_t commands_at, threads_at, segments_at, thread_size, segment_size;
};

static inline void put_macho_thread(struct commands *c, const struct macho_core *core, unsigned thread) {
    struct builder *b = &c->bytes;
    bool x86 = core->arch == USP_ARCH_X86_64 || core->arch == USP_ARCH_I386;
    unsigned flavor, count;
    switch (core->arch) {
    case USP_ARCH_X86_64: flavor = 4, count = 42; break;
    case USP_ARCH_I386: flavor = 1, count = 16; break;
    case USP_ARCH_ARMV7: flavor = 9, count = 17; break;
    default: flavor = 6, count = 68; break;
    }
    /* An exception state, or an unknown flavor, comes first. */
    const bool has_exceptions = (core->exceptions[0] | core->exceptions[1] | core->exceptions[2]) != 0;
    const unsigned words = has_exceptions ? 4 : 3;
    unsigned total = core->unified ? x86 ? 44 : 70 : count;
    c->count++;
    put(b, 4, 4);
    put(b, 4, 8 + 8 + words * 4 + 8 + total * 4);
    put(b, 4, has_exceptions ? x86 ? 6 : 7 : 77);
    put(b, 4, words);
    for (unsigned i = 0; i < words; i++) {
        put(b, 4, !has_exceptions ? 0xeeeeeeee : i == (x86 ? 0 : 2) ? core->exceptions[thread % 3] : 0);
    }
    size_t end = b->size + 8 + total * 4;
    if (core->unified) {
        put(b, 4, x86 ? 7 : 1);
        put(b, 4, total);
    }
    put(b, 4, flavor);
    put(b, 4, count);
    switch (core->arch) {
    case USP_ARCH_X86_64: put_registers_x86(b, core->arch, 21, 6, 7, 16, thread); break;
    case USP_ARCH_I386: put_registers_x86(b, core->arch, 16, 6, 7, 10, thread); break;
    case USP_ARCH_ARMV7: put_registers_arm(b, thread); break;
    default: put_registers_arm64(b, thread); break;
    }
    pad_to(b, end);
}

/* Puts dyld: a header with the section of its list, and after it the list of two images. */
static inline void put_dyld(struct builder *b, const struct macho_core *core) {
    bool wide = arch_is_64(core->arch);
    unsigned word = wide ? 8 : 4;
    size_t from = b->size;
    struct commands c = {{0}, 0};
    put_macho_segment(&c, wide, "__TEXT", 0, PAGE, 0, PAGE, 5, 0);
    put_macho_segment(&c, wide, "__DATA", 0x800, 0x200, 0x800, 0x200, 3, 1);
    put_macho_section(&c, wide, "__all_image_info", "__DATA", 0x800, 0x100);
    put_uuid(&c, "DYLD-UUID-16byte");
    put_install_name(&c, 0xf, "/usr/lib/dyld");
    put_macho(b, wide, macho_cpu(core->arch), 7, &c);
    pad_to(b, from + 0x800);
    put(b, 4, 15);
    put(b, 4, 2);
    put(b, word, DYLD + 0x900);
    pad_to(b, from + 0x900);
    put(b, word, IMAGE);
    put(b, word, DYLD + 0x980);
    put(b, word, 0);
    put(b, word, DYLIB);
    put(b, word, DYLD + 0x9c0);
    put(b, word, 0);
    pad_to(b, from + 0x980);
    put_name(b, core->path != NULL ? core->path : "", 0x40);
    put_name(b, "/usr/lib/libnamed.dylib", 0x40);
    pad_to(b, from + PAGE);
}

/* Puts a library whose own name differs from the one in dyld's list. */
static inline void put_dylib(struct builder *b, const struct macho_core *core) {
    bool wide = arch_is_64(core->arch);
    size_t from = b->size;
    struct commands c = {{0}, 0};
    put_macho_segment(&c, wide, "__TEXT", 0, PAGE, 0, PAGE, 5, 0);
    put_uuid(&c, "DYLIB-UUID-16byt");
    put_install_name(&c, 0xd, "@rpath/libself.dylib");
    put_macho(b, wide, macho_cpu(core->arch), 6, &c);
    pad_to(b, from + PAGE);
}

/* Builds a core. The struct describes it, and gets the offsets in it. */
static inline void build_macho_core(struct builder *b, struct macho_core *core) {
    bool wide = arch_is_64(core->arch);
    struct commands c = {{0}, 0};
    struct builder program = {0}, memory = {0}, stack = {0};
    build_macho_program(&program, core->arch, core->uuid, core->platform);
    size_t program_size = core->without_text ? PAGE : 2 * PAGE;
    unsigned segments = core->with_dyld ? 4 : 2;
    put_stack(&stack, core->arch, core->threads, core->signature);

    core->commands_at = wide ? 32 : 28;
    core->segment_size = wide ? 72 : 56;
    core->segments_at = core->commands_at;
    struct builder thread_bytes = {0};
    struct commands measured = {thread_bytes, 0};
    put_macho_thread(&measured, core, 0);
    core->thread_size = measured.bytes.size;
    builder_free(&measured.bytes);
    core->threads_at = core->segments_at + segments * core->segment_size;
    size_t data = core->threads_at + core->threads * core->thread_size + (core->address_bits != 0 ? 40 : 0);

    put_bytes(&memory, program.bytes, program_size);
    put_macho_segment(&c, wide, "", IMAGE, 2 * PAGE, data, program_size, 5, 0);
    put_macho_segment(&c, wide, "", STACK, STACK_SIZE, data + memory.size, stack.size, 3, 0);
    put_bytes(&memory, stack.bytes, stack.size);
    if (core->with_dyld) {
        put_macho_segment(&c, wide, "", DYLD, PAGE, data + memory.size, PAGE, 5, 0);
        put_dyld(&memory, core);
        put_macho_segment(&c, wide, "", DYLIB, PAGE, data + memory.size, PAGE, 5, 0);
        put_dylib(&memory, core);
    }
    for (unsigned t = 0; t < core->threads; t++) put_macho_thread(&c, core, t);
    if (core->address_bits != 0) {
        c.count++;
        put(&c.bytes, 4, 0x31);
        put(&c.bytes, 4, 40);
        put_name(&c.bytes, "addrable bits", 16);
        put(&c.bytes, 8, data + memory.size);
        put(&c.bytes, 8, 16);
        put(&memory, 4, 3);
        put(&memory, 4, core->address_bits);
        put(&memory, 8, 0);
    }
    put_macho(b, wide, core->says_arm ? 12 : macho_cpu(core->arch), 4, &c);
    put_bytes(b, memory.bytes, memory.size);
    builder_free(&program);
    builder_free(&memory);
    builder_free(&stack);
}

#endif
