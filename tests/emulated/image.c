/* SPDX-License-Identifier: MIT */
/* See image.h. Layouts: System V gABI and the processors' psABIs for ELF; xnu EXTERNAL_HEADERS/mach-o/loader.h and
 * nlist.h for Mach-O. */
#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/backend.h"

#define IMAGE_MAX (64u << 20)

struct file {
    uint8_t *bytes;
    size_t size;
};

static bool fail(struct image *image, const char *why) {
    image->error = why;
    return false;
}

static bool read_file(const char *path, struct file *file) {
    FILE *f = fopen(path, "rb");
    if (f == NULL) return false;
    bool ok = fseek(f, 0, SEEK_END) == 0;
    long size = ok ? ftell(f) : -1;
    ok = size > 0 && fseek(f, 0, SEEK_SET) == 0;
    file->bytes = ok ? malloc((size_t)size) : NULL;
    file->size = ok ? (size_t)size : 0;
    ok = file->bytes != NULL && fread(file->bytes, 1, file->size, f) == file->size;
    fclose(f);
    return ok;
}

/* Returns n bytes at an offset; NULL if the file does not have them. */
static const uint8_t *at(const struct file *file, uint64_t offset, uint64_t n) {
    return offset <= file->size && n <= file->size - offset ? file->bytes + offset : NULL;
}

static uint8_t *mapped(const struct image *image, usp_addr address, uint64_t n) {
    if (address < image->low || address > image->high || n > image->high - address) return NULL;
    return image->bytes + (address - image->low);
}

/* ---- shared by both formats ---- */

struct segment {
    usp_addr address;
    uint64_t memory_size, offset, file_size;
    bool executable;
};

#define SEGMENTS_MAX 16

struct segments {
    struct segment list[SEGMENTS_MAX];
    size_t count;
};

static bool add_segment(struct image *image, struct segments *s, struct segment segment) {
    if (segment.memory_size == 0) return true;
    if (s->count == SEGMENTS_MAX) return fail(image, "too many segments");
    s->list[s->count++] = segment;
    return true;
}

static bool lay_out(struct image *image, const struct file *file, const struct segments *s) {
    image->low = image->text_low = UINT64_MAX;
    for (size_t i = 0; i < s->count; i++) {
        const struct segment *g = &s->list[i];
        usp_addr end = g->address + g->memory_size;
        if (end < g->address || g->file_size > g->memory_size || at(file, g->offset, g->file_size) == NULL) {
            return fail(image, "a segment does not fit into the file or the address space");
        }
        if (g->address < image->low) image->low = g->address;
        if (end > image->high) image->high = end;
        if (!g->executable) continue;
        if (g->address < image->text_low) image->text_low = g->address;
        if (end > image->text_high) image->text_high = end;
    }
    if (image->high == 0 || image->text_high == 0) return fail(image, "no code");
    image->low &= ~(usp_addr)(IMAGE_PAGE - 1);
    image->high = (image->high + IMAGE_PAGE - 1) & ~(usp_addr)(IMAGE_PAGE - 1);
    if (image->high - image->low > IMAGE_MAX) return fail(image, "the image is too large");
    size_t size = (size_t)(image->high - image->low);
    image->bytes = aligned_alloc(IMAGE_PAGE, size);
    if (image->bytes == NULL) return fail(image, "out of memory");
    memset(image->bytes, 0, size);
    for (size_t i = 0; i < s->count; i++) {
        const struct segment *g = &s->list[i];
        memcpy(mapped(image, g->address, g->file_size), at(file, g->offset, g->file_size), (size_t)g->file_size);
    }
    return true;
}

static bool add_symbol(struct image *image, const struct file *file, uint64_t strings, uint64_t strings_size,
                       uint64_t name, struct image_symbol symbol) {
    if (symbol.start < image->text_low || symbol.start >= image->text_high || name >= strings_size) return true;
    const uint8_t *text = at(file, strings + name, strings_size - name);
    if (text == NULL) return fail(image, "the string table lies outside the file");
    const uint8_t *end = memchr(text, 0, (size_t)(strings_size - name));
    if (end == NULL || end == text) return true;
    struct image_symbol *grown = realloc(image->symbols, (image->symbol_count + 1) * sizeof symbol);
    if (grown == NULL) return fail(image, "out of memory");
    image->symbols = grown;
    if (image->os == USP_OS_DARWIN && *text == '_') text++;
    symbol.name = malloc((size_t)(end - text) + 1);
    if (symbol.name == NULL) return fail(image, "out of memory");
    memcpy(symbol.name, text, (size_t)(end - text) + 1);
    image->symbols[image->symbol_count++] = symbol;
    return true;
}

static int by_start(const void *a, const void *b) {
    const struct image_symbol *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts the symbols and keeps one for each start. A symbol without a size, or one that overlaps the next, ends at the
 * next one. */
static void settle_symbols(struct image *image) {
    size_t kept = 0;
    qsort(image->symbols, image->symbol_count, sizeof *image->symbols, by_start);
    for (size_t i = 0; i < image->symbol_count; i++) {
        if (kept > 0 && image->symbols[i].start == image->symbols[kept - 1].start) {
            free(image->symbols[i].name);
        } else {
            image->symbols[kept++] = image->symbols[i];
        }
    }
    image->symbol_count = kept;
    for (size_t i = 0; i < kept; i++) {
        struct image_symbol *s = &image->symbols[i];
        usp_addr next = i + 1 < kept ? image->symbols[i + 1].start : image->text_high;
        if (s->end <= s->start || s->end > next) s->end = next;
    }
}

/* ---- ELF ---- */

enum { ELF_DYN = 3, PT_LOAD = 1, PT_DYNAMIC = 2, PF_X = 1, SHT_SYMTAB = 2, STT_FUNC = 2 };
enum { DT_PLTRELSZ = 2, DT_SYMTAB = 6, DT_RELA = 7, DT_RELASZ = 8, DT_REL = 17, DT_RELSZ = 18, DT_JMPREL = 23 };

/* Relocation types of a position-independent image without thread-locals. */
struct elf_machine {
    uint16_t machine; /* e_machine */
    uint32_t arch;
    uint32_t relative, absolute, global, jump;
};

static const struct elf_machine elf_machines[] = {
    {183, USP_ARCH_ARM64, 1027, 257, 1025, 1026},
    {40, USP_ARCH_ARMV7, 23, 2, 21, 22},
    {62, USP_ARCH_X86_64, 8, 1, 6, 7},
    {3, USP_ARCH_I386, 8, 1, 6, 7},
};

struct elf {
    const struct file *file;
    struct image *image;
    const struct elf_machine *machine;
    bool wide; /* ELFCLASS64 */
    usp_addr slide;
    usp_addr dynamic;
    uint64_t dynamic_size;
};

static uint64_t elf_word(const struct elf *elf, const uint8_t *p) { return uspi_le(p, elf->wide ? 8 : 4); }

static bool elf_segments(struct elf *elf, struct segments *s) {
    const uint8_t *h = elf->file->bytes;
    uint64_t offset = elf_word(elf, h + (elf->wide ? 32 : 28));
    unsigned size = elf->wide ? 56 : 32, count = uspi_le16(h + (elf->wide ? 56 : 44));
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *p = at(elf->file, offset + (uint64_t)i * size, size);
        if (p == NULL) return fail(elf->image, "the program headers lie outside the file");
        uint32_t type = uspi_le32(p), flags = uspi_le32(p + (elf->wide ? 4 : 24));
        unsigned word = elf->wide ? 8 : 4;
        const uint8_t *q = p + (elf->wide ? 8 : 4); /* fields: offset, vaddr, paddr, filesz, memsz */
        struct segment g = {elf_word(elf, q + word) + elf->slide, elf_word(elf, q + 4 * word), elf_word(elf, q),
                            elf_word(elf, q + 3 * word), (flags & PF_X) != 0};
        if (type == PT_LOAD && !add_segment(elf->image, s, g)) return false;
        if (type == PT_DYNAMIC) {
            elf->dynamic = g.address;
            elf->dynamic_size = g.memory_size;
        }
    }
    return true;
}

static uint64_t dynamic_entry(const struct elf *elf, uint64_t tag) {
    unsigned word = elf->wide ? 8 : 4;
    for (uint64_t i = 0; i + 2 * word <= elf->dynamic_size; i += 2 * word) {
        const uint8_t *p = mapped(elf->image, elf->dynamic + i, 2 * word);
        if (p == NULL || elf_word(elf, p) == 0) break;
        if (elf_word(elf, p) == tag) return elf_word(elf, p + word);
    }
    return 0;
}

static bool relocate(const struct elf *elf, usp_addr table, uint64_t size, bool addends) {
    unsigned word = elf->wide ? 8 : 4, entry = addends ? 3 * word : 2 * word;
    usp_addr symbols = dynamic_entry(elf, DT_SYMTAB) + elf->slide;
    for (uint64_t i = 0; i + entry <= size; i += entry) {
        const uint8_t *p = mapped(elf->image, table + elf->slide + i, entry);
        if (p == NULL) return fail(elf->image, "relocations lie outside the image");
        uint64_t info = elf_word(elf, p + word);
        uint32_t type = (uint32_t)(elf->wide ? info & 0xffffffffu : info & 0xff);
        uint64_t index = elf->wide ? info >> 32 : info >> 8;
        uint8_t *target = mapped(elf->image, elf_word(elf, p) + elf->slide, word);
        if (target == NULL) return fail(elf->image, "a relocation lies outside the image");
        uint64_t value = elf->slide, addend = addends ? elf_word(elf, p + 2 * word) : elf_word(elf, target);
        if (type == elf->machine->global || type == elf->machine->jump || type == elf->machine->absolute) {
            unsigned symbol_size = elf->wide ? 24 : 16;
            const uint8_t *symbol = mapped(elf->image, symbols + index * symbol_size, symbol_size);
            if (symbol == NULL) return fail(elf->image, "a relocation's symbol lies outside the image");
            value += elf_word(elf, symbol + (elf->wide ? 8 : 4));
            if (!addends && type != elf->machine->absolute) addend = 0;
        } else if (type != elf->machine->relative) {
            return fail(elf->image, "an unknown type of relocation");
        }
        value += addend;
        for (unsigned b = 0; b < word; b++) target[b] = (uint8_t)(value >> (8 * b));
    }
    return true;
}

static bool elf_symbols(const struct elf *elf) {
    const uint8_t *h = elf->file->bytes;
    uint64_t offset = elf_word(elf, h + (elf->wide ? 40 : 32));
    unsigned size = elf->wide ? 64 : 40, count = uspi_le16(h + (elf->wide ? 60 : 48));
    unsigned word = elf->wide ? 8 : 4, entry = elf->wide ? 24 : 16;
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *s = at(elf->file, offset + (uint64_t)i * size, size);
        if (s == NULL) return fail(elf->image, "the section headers lie outside the file");
        if (uspi_le32(s + 4) != SHT_SYMTAB) continue;
        const uint8_t *q = s + 8 + 2 * word; /* fields: offset, size, link */
        uint64_t from = elf_word(elf, q), bytes = elf_word(elf, q + word);
        const uint8_t *link = at(elf->file, offset + (uint64_t)uspi_le32(q + 2 * word) * size, size);
        if (link == NULL) return fail(elf->image, "a section's link is wrong");
        uint64_t strings = elf_word(elf, link + 8 + 2 * word), strings_size = elf_word(elf, link + 8 + 3 * word);
        for (uint64_t n = 0; n + entry <= bytes; n += entry) {
            const uint8_t *p = at(elf->file, from + n, entry);
            if (p == NULL) return fail(elf->image, "the symbol table lies outside the file");
            if ((p[elf->wide ? 4 : 12] & 15) != STT_FUNC) continue;
            struct image_symbol symbol = {.start = elf_word(elf, p + (elf->wide ? 8 : 4))};
            if (elf->machine->arch == USP_ARCH_ARMV7) {
                symbol.thumb = (symbol.start & 1) != 0;
                symbol.start &= ~UINT64_C(1);
            }
            symbol.start += elf->slide;
            symbol.end = symbol.start + elf_word(elf, p + (elf->wide ? 16 : 8));
            if (!add_symbol(elf->image, elf->file, strings, strings_size, uspi_le32(p), symbol)) return false;
        }
    }
    return true;
}

static bool load_elf(struct image *image, const struct file *file, usp_addr slide) {
    struct elf elf = {.file = file, .image = image};
    struct segments segments = {.count = 0};
    if (at(file, 0, 64) == NULL) return fail(image, "the file is too short");
    elf.wide = file->bytes[4] == 2;
    for (size_t i = 0; i < sizeof elf_machines / sizeof elf_machines[0]; i++) {
        if (uspi_le16(file->bytes + 18) == elf_machines[i].machine) elf.machine = &elf_machines[i];
    }
    if (elf.machine == NULL) return fail(image, "an unknown processor");
    if (uspi_le16(file->bytes + 16) == ELF_DYN) elf.slide = slide;
    image->arch = elf.machine->arch;
    image->os = USP_OS_LINUX;
    if (!elf_segments(&elf, &segments) || !lay_out(image, file, &segments)) return false;
    bool addends = elf.wide;
    return relocate(&elf, dynamic_entry(&elf, addends ? DT_RELA : DT_REL),
                    dynamic_entry(&elf, addends ? DT_RELASZ : DT_RELSZ), addends) &&
           relocate(&elf, dynamic_entry(&elf, DT_JMPREL), dynamic_entry(&elf, DT_PLTRELSZ), addends) &&
           elf_symbols(&elf);
}

/* ---- Mach-O ---- */

enum { LC_SEGMENT = 1, LC_SYMTAB = 2, LC_SEGMENT_64 = 0x19, VM_EXECUTE = 4 };
enum { N_STAB = 0xe0, N_TYPE = 0x0e, N_SECT = 0x0e, N_ARM_THUMB_DEF = 8 };

static uint32_t macho_arch(uint32_t cputype) {
    switch (cputype) {
    case 0x0100000c: return USP_ARCH_ARM64;
    case 0x0200000c: return USP_ARCH_ARM64_32;
    case 12: return USP_ARCH_ARMV7;
    case 0x01000007: return USP_ARCH_X86_64;
    case 7: return USP_ARCH_I386;
    default: return 0;
    }
}

static bool macho_symbols(struct image *image, const struct file *file, const uint8_t *command, bool wide) {
    uint32_t from = uspi_le32(command + 8), count = uspi_le32(command + 12);
    uint32_t strings = uspi_le32(command + 16), strings_size = uspi_le32(command + 20);
    unsigned entry = wide ? 16 : 12;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *p = at(file, from + i * entry, entry);
        if (p == NULL) return fail(image, "the symbol table lies outside the file");
        if ((p[4] & N_STAB) != 0 || (p[4] & N_TYPE) != N_SECT) continue;
        struct image_symbol symbol = {.start = uspi_le(p + 8, wide ? 8 : 4),
                                      .thumb = (uspi_le16(p + 6) & N_ARM_THUMB_DEF) != 0};
        if (!add_symbol(image, file, strings, strings_size, uspi_le32(p), symbol)) return false;
    }
    return true;
}

static bool load_macho(struct image *image, const struct file *file) {
    if (at(file, 0, 32) == NULL) return fail(image, "the file is too short");
    const uint8_t *h = file->bytes, *symtab = NULL;
    bool wide = uspi_le32(h) == 0xfeedfacfu;
    struct segments segments = {.count = 0};
    image->arch = macho_arch(uspi_le32(h + 4));
    image->os = USP_OS_DARWIN;
    if (image->arch == 0) return fail(image, "an unknown processor");
    uint64_t offset = wide ? 32 : 28;
    for (uint32_t i = 0; i < uspi_le32(h + 16); i++) {
        const uint8_t *c = at(file, offset, 8);
        uint32_t size = c != NULL ? uspi_le32(c + 4) : 0;
        if (size < 8 || at(file, offset, size) == NULL) return fail(image, "a load command lies outside the file");
        uint32_t command = uspi_le32(c);
        if (command == (wide ? LC_SEGMENT_64 : LC_SEGMENT) && size >= (wide ? 72 : 56)) {
            unsigned word = wide ? 8 : 4; /* fields: vmaddr, vmsize, fileoff, filesize, maxprot, initprot */
            struct segment g = {uspi_le(c + 24, word), uspi_le(c + 24 + word, word), uspi_le(c + 24 + 2 * word, word),
                                uspi_le(c + 24 + 3 * word, word), false};
            uint32_t protection = uspi_le32(c + 24 + 4 * word + 4);
            g.executable = (protection & VM_EXECUTE) != 0;
            if (protection != 0 && !add_segment(image, &segments, g)) return false;
        }
        if (command == LC_SYMTAB && size >= 24) symtab = c;
        offset += size;
    }
    return lay_out(image, file, &segments) && (symtab == NULL || macho_symbols(image, file, symtab, wide));
}

/* ---- */

bool image_load(struct image *image, const char *path, usp_addr slide) {
    struct file file = {0};
    memset(image, 0, sizeof *image);
    if (!read_file(path, &file) || file.size < 4) {
        fail(image, "the file cannot be read");
    } else if (memcmp(file.bytes, "\177ELF", 4) == 0) {
        load_elf(image, &file, slide);
    } else if ((uspi_le32(file.bytes) | 1) == 0xfeedfacfu) {
        load_macho(image, &file);
    } else {
        fail(image, "neither ELF nor Mach-O");
    }
    free(file.bytes);
    if (image->error == NULL) settle_symbols(image);
    return image->error == NULL;
}

void image_free(struct image *image) {
    for (size_t i = 0; i < image->symbol_count; i++) free(image->symbols[i].name);
    free(image->symbols);
    free(image->bytes);
    memset(image, 0, sizeof *image);
}

const struct image_symbol *image_function_at(const struct image *image, usp_addr pc) {
    size_t low = 0, high = image->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->symbols[middle].start <= pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0 || pc >= image->symbols[low - 1].end) return NULL;
    return &image->symbols[low - 1];
}

const struct image_symbol *image_function_named(const struct image *image, const char *name) {
    for (size_t i = 0; i < image->symbol_count; i++) {
        if (strcmp(image->symbols[i].name, name) == 0) return &image->symbols[i];
    }
    return NULL;
}
