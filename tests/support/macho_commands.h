/* SPDX-License-Identifier: MIT */
/* Builds the beginning of Mach-O files: header and load commands. Source: xnu EXTERNAL_HEADERS/mach-o/loader.h. */
#ifndef TESTS_SUPPORT_MACHO_COMMANDS_H
#define TESTS_SUPPORT_MACHO_COMMANDS_H

#include <stdbool.h>

#include <unspool/unspool.h>

#include "tests/support/file_builder.h"

static inline bool arch_is_64(uint32_t arch) { return arch == USP_ARCH_X86_64 || arch == USP_ARCH_ARM64; }

/* Load commands and their number. */
struct commands {
    struct builder bytes;
    unsigned count;
};

static inline unsigned macho_cpu(uint32_t arch) {
    switch (arch) {
    case USP_ARCH_I386: return 7;
    case USP_ARCH_X86_64: return 0x01000007;
    case USP_ARCH_ARMV7: return 12;
    case USP_ARCH_ARM64: return 0x0100000c;
    default: return 0x0200000c;
    }
}

static inline void put_macho_segment(struct commands *c, bool wide, const char *name, uint64_t address, uint64_t size,
                                     uint64_t offset, uint64_t file_size, unsigned protection, unsigned sections) {
    struct builder *b = &c->bytes;
    unsigned word = wide ? 8 : 4;
    c->count++;
    put(b, 4, wide ? 0x19 : 1);
    put(b, 4, (wide ? 72u : 56u) + sections * (wide ? 80u : 68u));
    put_name(b, name, 16);
    put(b, word, address);
    put(b, word, size);
    put(b, word, offset);
    put(b, word, file_size);
    put(b, 4, 7);
    put(b, 4, protection);
    put(b, 4, sections);
    put(b, 4, 0);
}

static inline void put_macho_section(struct commands *c, bool wide, const char *name, const char *segment,
                                     uint64_t address, uint64_t size) {
    struct builder *b = &c->bytes;
    size_t from = b->size;
    put_name(b, name, 16);
    put_name(b, segment, 16);
    put(b, wide ? 8 : 4, address);
    put(b, wide ? 8 : 4, size);
    pad_to(b, from + (wide ? 80 : 68));
}

static inline void put_uuid(struct commands *c, const char *uuid) {
    c->count++;
    put(&c->bytes, 4, 0x1b);
    put(&c->bytes, 4, 24);
    put_bytes(&c->bytes, uuid, 16);
}

static inline void put_build_version(struct commands *c, unsigned platform) {
    c->count++;
    put(&c->bytes, 4, 0x32);
    put(&c->bytes, 4, 24);
    put(&c->bytes, 4, platform);
    put(&c->bytes, 4, 0x0d0000);
    put(&c->bytes, 4, 0x0e0000);
    put(&c->bytes, 4, 0);
}

/* Puts LC_ID_DYLIB (24 bytes before the name) or LC_ID_DYLINKER (12). */
static inline void put_install_name(struct commands *c, unsigned kind, const char *name) {
    unsigned header = kind == 0xd ? 24 : 12;
    size_t from = c->bytes.size, size = (header + strlen(name) + 1 + 7) / 8 * 8;
    c->count++;
    put(&c->bytes, 4, kind);
    put(&c->bytes, 4, size);
    put(&c->bytes, 4, header);
    pad_to(&c->bytes, from + header);
    put_name(&c->bytes, name, strlen(name));
    pad_to(&c->bytes, from + size);
}

/* Puts the header and the commands; frees the commands. */
static inline void put_macho(struct builder *b, bool wide, unsigned cpu, unsigned type, struct commands *c) {
    put(b, 4, wide ? 0xfeedfacf : 0xfeedface);
    put(b, 4, cpu);
    put(b, 4, 0);
    put(b, 4, type);
    put(b, 4, c->count);
    put(b, 4, c->bytes.size);
    put(b, 4, 0);
    if (wide) put(b, 4, 0);
    put_bytes(b, c->bytes.bytes, c->bytes.size);
    builder_free(&c->bytes);
}

#endif
