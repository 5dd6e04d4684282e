/* SPDX-License-Identifier: MIT */
/* Builds a Mach-O image with Objective-C metadata byte by byte: a file with plain or chained pointers, or a process's
 * memory with realized classes and signed pointers. It has a class with a metaclass, a category on it, and a category
 * on a class of another image. All offsets count from the image's first byte:
 *
 *      0x0800  code, sixteen bytes a function     0x1000  data of the runtime (__DATA)
 *      0x0900  strings, 0x20 bytes each           0x2000  function starts, fixups (__LINKEDIT) */
#ifndef TESTS_SUPPORT_OBJC_IMAGE_H
#define TESTS_SUPPORT_OBJC_IMAGE_H

#include <stdbool.h>

#include "tests/support/core_fixtures.h"

#define OBJC_SIZE 0x3000u

/* Functions. PLAIN is not a method; ADDED is known to the runtime only. */
enum { FIRST, SECOND, MAKE, EXTRA, EXTRA_MAKE, OURS, PLAIN, ADDED, FUNCTIONS };
#define CODE_AT  0x800u
#define CODE_END 0x900u
static inline uint32_t function_offset(unsigned function) { return CODE_AT + 0x10 * function; }

/* Strings; the selectors of the functions above come first. */
enum { NAME_THING = FUNCTIONS, NAME_EXTRA, NAME_OURS, NAME_FOREIGN, STRINGS };
static inline uint32_t string_offset(unsigned string) { return 0x900 + 0x20 * string; }

/* Data. */
#define CLASS_LIST      0x1000u
#define CATEGORY_LIST   0x1020u
#define SELECTORS       0x1040u /* references to the selectors, a word each */
#define THING           0x10a0u
#define META            0x10e0u
#define THING_RO        0x1120u
#define META_RO         0x1180u
#define CATEGORY_EXTRA  0x11e0u
#define CATEGORY_OURS   0x1220u
#define LIST_THING      0x1280u
#define LIST_META       0x1300u
#define LIST_EXTRA      0x1340u
#define LIST_EXTRA_MAKE 0x1380u
#define LIST_OURS       0x13c0u
/* Data of a running process. */
#define THING_RW   0x1400u
#define META_RW    0x1440u
#define THING_EXT  0x1480u
#define LIST_ADDED 0x14a0u
#define LISTS      0x14c0u
#define FOREIGN    0x1540u
#define FOREIGN_RO 0x1580u

#define STARTS     0x2000u
#define FIXUPS     0x2100u
#define FIXUPS_END 0x2300u

/* The form of class_rw_ext_t.methods. */
enum methods_kind { NO_EXTENSION, ONE_LIST, ARRAY_OF_LISTS, LIST_OF_LISTS };

struct objc_image {
    uint32_t arch;
    usp_addr base;       /* address of the first byte: as linked for a file, as loaded for memory */
    bool is_relative;    /* the form of method lists */
    uint32_t format;     /* of chained pointers; 0: plain ones */
    unsigned imports;    /* DYLD_CHAINED_IMPORT*: 1 (also by 0), 2, 3 */
    bool is_loaded;      /* the image is a process's memory; the fields below are for that */
    usp_addr linked;     /* address for which it was linked */
    uint64_t signature;  /* or-ed into pointers that arm64e signs */
    bool has_packed_isa; /* of classes */
    uint64_t isa_bits;   /* or-ed into packed isas, besides bit 0 */
    enum methods_kind methods;
    usp_addr direct_names; /* base of selectors in relative lists; 0: lists refer to them by reference */
    bool is_in_cache;      /* the header marks it as part of the shared cache */
};

static inline unsigned objc_word(const struct objc_image *image) { return arch_is_64(image->arch) ? 8 : 4; }

/* A pointer to `target` in the image's format. The bits between the target and its flags are set, because readers must
 * ignore them. */
static inline uint64_t chained_pointer(const struct objc_image *image, uint64_t target) {
    const uint64_t offset = target - image->base;
    const uint64_t next_64 = UINT64_C(3) << 51;
    switch (image->format) {
    case 1:
    case 10: return target | next_64; /* ARM64E, ARM64E_FIRMWARE: an address */
    case 7:
    case 9:
    case 12: return offset | next_64;          /* ARM64E_KERNEL, _USERLAND, _USERLAND24: an offset */
    case 2: return target | next_64;           /* 64: an address */
    case 6: return offset | next_64;           /* 64_OFFSET */
    case 3: return target | UINT64_C(3) << 26; /* 32: an address of 26 bits, 5 of next */
    case 4: return offset | UINT64_C(1) << 30; /* 32_CACHE: an offset of 30 bits */
    case 5: return target | UINT64_C(3) << 26; /* 32_FIRMWARE: an address of 26 bits, 6 of next */
    default: return target;
    }
}

static inline uint64_t chained_import(const struct objc_image *image, uint64_t ordinal) {
    switch (image->format) {
    case 2:
    case 6: return UINT64_C(1) << 63 | ordinal;
    case 3: return UINT64_C(1) << 31 | ordinal;
    default: return UINT64_C(1) << 62 | ordinal;
    }
}

static inline void set_pointer(struct builder *b, const struct objc_image *image, uint32_t at, uint32_t target) {
    uint64_t value = image->base + target;
    patch(b, at, objc_word(image), image->format != 0 ? chained_pointer(image, value) : value);
}

/* Sets a pointer that arm64e signs in memory. */
static inline void set_signed(struct builder *b, const struct objc_image *image, uint32_t at, uint32_t target) {
    if (!image->is_loaded) {
        set_pointer(b, image, at, target);
    } else {
        patch(b, at, objc_word(image), (image->base + target) | image->signature);
    }
}

static inline void set_32(struct builder *b, uint32_t at, uint32_t value) { patch(b, at, 4, value); }

/* Sets a method list of `count` functions from `function` on. */
static inline void set_list(struct builder *b, const struct objc_image *image, uint32_t at, unsigned function,
                            unsigned count) {
    const unsigned word = objc_word(image);
    const unsigned thumb = image->arch == USP_ARCH_ARMV7 ? 1 : 0;
    uint32_t flags = image->is_relative ? 0x80000000 | 12 : 3 * word;
    /* The runtime's flags: unique selectors, sorted. */
    if (image->is_loaded) flags |= 3;
    if (image->direct_names != 0) flags |= 0x40000000;
    set_32(b, at, flags);
    set_32(b, at + 4, count);
    at += 8;
    for (unsigned i = 0; i < count; i++, function++) {
        uint32_t code = function_offset(function) + thumb;
        if (image->is_relative) {
            uint32_t name = SELECTORS + function * word - at;
            if (image->direct_names != 0) {
                name = (uint32_t)(image->base + string_offset(function) - image->direct_names);
            }
            set_32(b, at, name);
            set_32(b, at + 4, 0);
            set_32(b, at + 8, code - (at + 8));
            at += 12;
        } else {
            set_pointer(b, image, at, string_offset(function));
            set_signed(b, image, at + 2 * word, code);
            at += 3 * word;
        }
    }
}

static inline uint32_t ro_name_offset(const struct objc_image *image) { return objc_word(image) == 8 ? 24 : 16; }

static inline void set_class(struct builder *b, const struct objc_image *image, uint32_t at, uint32_t isa,
                             uint32_t data) {
    const unsigned word = objc_word(image);
    if (isa != 0 && image->has_packed_isa) {
        patch(b, at, word, (image->base + isa) | 1 | image->isa_bits);
    } else if (isa != 0) {
        set_pointer(b, image, at, isa);
    }
    set_signed(b, image, at + 4 * word, data);
}

static inline void set_ro(struct builder *b, const struct objc_image *image, uint32_t at, uint32_t flags, unsigned name,
                          uint32_t list) {
    set_32(b, at, flags);
    set_pointer(b, image, at + ro_name_offset(image), string_offset(name));
    if (list != 0) set_signed(b, image, at + ro_name_offset(image) + objc_word(image), list);
}

static inline void put_objc_strings(struct builder *b) {
    static const char *const strings[STRINGS] = {"first", "second:with:", "make",  "extra", "extraMake", "ours:",
                                                 "plain", "added",        "Thing", "Extra", "Ours",      "Foreign"};
    for (unsigned i = 0; i < STRINGS; i++) memcpy(b->bytes + string_offset(i), strings[i], strlen(strings[i]) + 1);
}

/* Puts the structures between a realized class and its compiled data. */
static inline void put_objc_realized(struct builder *b, const struct objc_image *image) {
    const unsigned word = objc_word(image);
    const uint32_t realized = 0x80000000;
    set_32(b, THING_RW, realized);
    set_32(b, META_RW, realized | 1);
    set_signed(b, image, META_RW + 8, META_RO);
    set_class(b, image, FOREIGN, META, FOREIGN_RO);
    set_ro(b, image, FOREIGN_RO, 0, NAME_FOREIGN, 0);
    set_list(b, image, LIST_ADDED, ADDED, 1);
    if (image->methods == NO_EXTENSION) {
        set_signed(b, image, THING_RW + 8, THING_RO);
        return;
    }
    set_signed(b, image, THING_RW + 8, THING_EXT | 1);
    set_signed(b, image, THING_EXT, THING_RO);
    switch (image->methods) {
    case ONE_LIST: set_signed(b, image, THING_EXT + word, LIST_ADDED); break;
    case ARRAY_OF_LISTS:
        set_signed(b, image, THING_EXT + word, LISTS | 1);
        set_32(b, LISTS, 2);
        set_signed(b, image, LISTS + word, LIST_THING);
        set_signed(b, image, LISTS + 2 * word, LIST_ADDED);
        break;
    default:
        set_signed(b, image, THING_EXT + word, LISTS | 2);
        set_32(b, LISTS, 8);
        set_32(b, LISTS + 4, 2);
        /* {image: 16 bits, distance: 48 bits}; the distances are negative */
        patch(b, LISTS + 8, 8, (uint64_t)((int64_t)LIST_THING - (int64_t)(LISTS + 8)) << 16 | 5);
        patch(b, LISTS + 16, 8, (uint64_t)((int64_t)LIST_ADDED - (int64_t)(LISTS + 16)) << 16 | 7);
        break;
    }
}

static inline void put_objc_data(struct builder *b, const struct objc_image *image) {
    const unsigned word = objc_word(image);
    set_pointer(b, image, CLASS_LIST, THING);
    set_pointer(b, image, CATEGORY_LIST, CATEGORY_EXTRA);
    set_pointer(b, image, CATEGORY_LIST + word, CATEGORY_OURS);
    for (unsigned i = 0; i < FUNCTIONS; i++) set_pointer(b, image, SELECTORS + i * word, string_offset(i));
    /* 2: a Swift class with a stable interface. */
    set_class(b, image, THING, META, image->is_loaded ? THING_RW : THING_RO | 2);
    set_class(b, image, META, 0, image->is_loaded ? META_RW : META_RO);
    set_ro(b, image, THING_RO, 0, NAME_THING, LIST_THING);
    set_ro(b, image, META_RO, 1, NAME_THING, LIST_META);
    set_pointer(b, image, CATEGORY_EXTRA, string_offset(NAME_EXTRA));
    set_pointer(b, image, CATEGORY_EXTRA + word, THING);
    set_pointer(b, image, CATEGORY_EXTRA + 2 * word, LIST_EXTRA);
    set_pointer(b, image, CATEGORY_EXTRA + 3 * word, LIST_EXTRA_MAKE);
    set_pointer(b, image, CATEGORY_OURS, string_offset(NAME_OURS));
    set_pointer(b, image, CATEGORY_OURS + 2 * word, LIST_OURS);
    set_list(b, image, LIST_THING, FIRST, 2);
    set_list(b, image, LIST_META, MAKE, 1);
    set_list(b, image, LIST_EXTRA, EXTRA, 1);
    set_list(b, image, LIST_EXTRA_MAKE, EXTRA_MAKE, 1);
    set_list(b, image, LIST_OURS, OURS, 1);
    if (image->is_loaded) {
        put_objc_realized(b, image);
        set_pointer(b, image, CATEGORY_OURS + word, FOREIGN);
    } else if (image->format != 0) {
        patch(b, CATEGORY_OURS + word, word, chained_import(image, 1));
    }
}

/* Puts ULEB128 distances: from the header to the first function, then from one to the next. */
static inline void put_objc_starts(struct builder *b, const struct objc_image *image) {
    uint32_t first = CODE_AT + (image->arch == USP_ARCH_ARMV7 ? 1 : 0);
    patch(b, STARTS, 1, 0x80 | (first & 0x7f));
    patch(b, STARTS + 1, 1, first >> 7);
    for (unsigned i = 1; i < FUNCTIONS; i++) patch(b, STARTS + 1 + i, 1, 0x10);
}

#define IMPORTED "_OBJC_CLASS_$_Foreign"

/* Puts LC_DYLD_CHAINED_FIXUPS: header at 0, starts at 0x20, imports at 0x60, names at 0x90. */
static inline void put_objc_chains(struct builder *b, const struct objc_image *image) {
    const unsigned form = image->imports == 0 ? 1 : image->imports;
    const uint32_t starts = FIXUPS + 0x20, segment = starts + 0x10, imports = FIXUPS + 0x60, names = FIXUPS + 0x90;
    const uint32_t header[] = {0, 0x20, 0x60, 0x90, 2, form, 0};
    for (unsigned i = 0; i < 7; i++) set_32(b, FIXUPS + 4 * i, header[i]);
    /* Three segments; the second one has pointers. */
    set_32(b, starts, 3);
    set_32(b, starts + 8, segment - starts);
    set_32(b, segment, 24);
    patch(b, segment + 4, 2, 0x1000);
    patch(b, segment + 6, 2, image->format);
    patch(b, segment + 8, 8, 0x1000);
    set_32(b, segment + 16, 0x00ffffff);
    patch(b, segment + 20, 2, 1);
    patch(b, segment + 22, 2, 0);
    /* Import 0 is not the one that is needed. */
    const uint32_t offsets[] = {1, 8};
    for (unsigned i = 0; i < 2; i++) {
        if (form == 3) {
            patch(b, imports + 16 * i, 8, (uint64_t)offsets[i] << 32 | 1);
        } else {
            set_32(b, imports + (form == 2 ? 8 : 4) * i, offsets[i] << 9 | 1);
        }
    }
    memcpy(b->bytes + names + 1, "_other", 7);
    memcpy(b->bytes + names + 8, IMPORTED, sizeof IMPORTED);
}

/* Puts bind opcodes: library 1, the name, segment 1 and the offset in it, bind. */
static inline void put_objc_binds(struct builder *b, const struct objc_image *image) {
    uint32_t at = FIXUPS, place = CATEGORY_OURS + objc_word(image) - 0x1000;
    patch(b, at++, 1, 0x11);
    patch(b, at++, 1, 0x40);
    memcpy(b->bytes + at, IMPORTED, sizeof IMPORTED);
    at += sizeof IMPORTED;
    patch(b, at++, 1, 0x51);
    patch(b, at++, 1, 0x71);
    patch(b, at++, 1, 0x80 | (place & 0x7f));
    patch(b, at++, 1, place >> 7);
    patch(b, at++, 1, 0x90);
    patch(b, at, 1, 0x00);
}

static inline void put_objc_section(struct commands *c, bool wide, const char *name, const char *segment,
                                    uint64_t address, uint64_t size, uint32_t offset, uint32_t flags) {
    struct builder *b = &c->bytes;
    size_t from = b->size;
    put_macho_section(c, wide, name, segment, address, size);
    patch(b, from + (wide ? 48 : 40), 4, offset);
    patch(b, from + (wide ? 64 : 56), 4, flags);
}

static inline void put_objc_commands(struct builder *b, const struct objc_image *image, const char *uuid) {
    const bool wide = arch_is_64(image->arch);
    const uint64_t base = image->is_loaded ? image->linked : image->base;
    const unsigned word = objc_word(image);
    struct commands c = {{0}, 0};
    put_macho_segment(&c, wide, "__TEXT", base, 0x1000, 0, 0x1000, 5, 1);
    put_objc_section(&c, wide, "__text", "__TEXT", base + CODE_AT, CODE_END - CODE_AT, CODE_AT, 0x80000400);
    put_macho_segment(&c, wide, "__DATA", base + 0x1000, 0x1000, 0x1000, 0x1000, 3, 2);
    put_objc_section(&c, wide, "__objc_classlist", "__DATA", base + CLASS_LIST, word, CLASS_LIST, 0);
    put_objc_section(&c, wide, "__objc_catlist", "__DATA", base + CATEGORY_LIST, 2 * word, CATEGORY_LIST, 0);
    put_macho_segment(&c, wide, "__LINKEDIT", base + 0x2000, 0x1000, 0x2000, 0x1000, 1, 0);
    put_uuid(&c, uuid);
    c.count += 2;
    put(&c.bytes, 4, 0x26); /* LC_FUNCTION_STARTS */
    put(&c.bytes, 4, 16);
    put(&c.bytes, 4, STARTS);
    put(&c.bytes, 4, 0x40);
    if (image->format != 0) {
        put(&c.bytes, 4, 0x80000034); /* LC_DYLD_CHAINED_FIXUPS */
        put(&c.bytes, 4, 16);
        put(&c.bytes, 4, FIXUPS);
        put(&c.bytes, 4, FIXUPS_END - FIXUPS);
    } else {
        put(&c.bytes, 4, 0x80000022); /* LC_DYLD_INFO_ONLY: rebase, bind, weak, lazy, export */
        put(&c.bytes, 4, 48);
        put(&c.bytes, 8, 0);
        put(&c.bytes, 4, FIXUPS);
        put(&c.bytes, 4, FIXUPS_END - FIXUPS);
        for (unsigned i = 0; i < 3; i++) put(&c.bytes, 8, 0);
    }
    put_macho(b, wide, macho_cpu(image->arch), 6, &c);
    if (image->is_in_cache) patch(b, 24, 4, 0x80000000);
}

/* Builds the image. The caller frees it with builder_free. uuid: 16 bytes. */
static inline struct builder build_objc_image(const struct objc_image *image, const char *uuid) {
    struct builder b = {0};
    put_objc_commands(&b, image, uuid);
    pad_to(&b, OBJC_SIZE);
    put_objc_strings(&b);
    put_objc_data(&b, image);
    put_objc_starts(&b, image);
    if (image->format != 0) {
        put_objc_chains(&b, image);
    } else {
        put_objc_binds(&b, image);
    }
    return b;
}

#endif
