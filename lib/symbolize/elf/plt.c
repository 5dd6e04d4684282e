/* SPDX-License-Identifier: MIT */
/* See plt.h. Recognizes the instructions that GNU ld and lld write: the psABIs' sections on the procedure linkage
 * table, binutils bfd/elfxx-x86.c, elfnn-aarch64.c, elf32-arm.c and lld ELF/Arch. */
#include "lib/symbolize/elf/plt.h"

#include "lib/base/array.h"
#include "lib/object/elf_symbols.h"

#include <stdlib.h>

enum { SHT_RELA = 4, SHT_REL = 9, DT_PLTGOT = 3 };

/* The maximum number of bytes by which an entry is recognized. */
#define WINDOW 24

struct slot {
    usp_addr address;
    uint32_t symbol;
};

struct machine {
    uint16_t number;   /* e_machine, elf-em.h */
    uint32_t types[2]; /* R_*_JUMP_SLOT, R_*_GLOB_DAT of the psABI */
    unsigned step;     /* entries begin at multiples of it from the section's start */
    unsigned size;     /* of the longest entry in bytes; an entry ends earlier where the next one begins */
    /* Finds the slot through which an entry at `address` jumps. Returns false when the bytes are not an entry. `got`:
     * the value of DT_PLTGOT. */
    bool (*read)(const uint8_t *bytes, usp_addr address, usp_addr got, usp_addr *slot);
};

/* Skips the optional prefixes of [endbr] [bnd] jmp *slot. The slot's distance or address has 32 bits and follows two
 * bytes, which the caller compares. */
static const uint8_t *skip_prefixes(const uint8_t *p, uint8_t endbr) {
    if (p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x1e && p[3] == endbr) p += 4;
    return p[0] == 0xf2 ? p + 1 : p;
}

static bool read_x86_64(const uint8_t *bytes, usp_addr address, usp_addr got, usp_addr *slot) {
    (void)got;
    const uint8_t *jump = skip_prefixes(bytes, 0xfa);
    if (jump[0] != 0xff || jump[1] != 0x25) return false;
    *slot = address + (usp_addr)(jump + 6 - bytes) + (usp_addr)(int64_t)(int32_t)uspi_le32(jump + 2);
    return true;
}

static bool read_i386(const uint8_t *bytes, usp_addr address, usp_addr got, usp_addr *slot) {
    (void)address;
    const uint8_t *jump = skip_prefixes(bytes, 0xfb);
    if (jump[0] != 0xff || (jump[1] != 0x25 && jump[1] != 0xa3)) return false;
    /* jmp *address, or position-independent: jmp *distance(%ebx). */
    *slot = (uint32_t)(uspi_le32(jump + 2) + (jump[1] == 0xa3 ? (uint32_t)got : 0));
    return true;
}

/* [bti c] adrp x16, page; ldr x17, [x16, #offset]. */
static bool read_aarch64(const uint8_t *bytes, usp_addr address, usp_addr got, usp_addr *slot) {
    (void)got;
    if (uspi_le32(bytes) == 0xd503245f) {
        bytes += 4;
        address += 4;
    }
    uint32_t adrp = uspi_le32(bytes), ldr = uspi_le32(bytes + 4);
    if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211) return false;
    uint64_t pages = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    if ((pages >> 20 & 1) != 0) pages -= UINT64_C(1) << 21;
    *slot = (address & ~UINT64_C(0xfff)) + (pages << 12) + (uint64_t)(ldr >> 10 & 0xfff) * 8;
    return true;
}

/* Decodes an immediate of A32's data processing: 8 bits, rotated right by twice the 4 bits above them. */
static uint32_t rotated(uint32_t instruction) {
    uint32_t value = instruction & 0xff, by = (instruction >> 8 & 15) * 2;
    return by == 0 ? value : value >> by | value << (32 - by);
}

/* [bx pc; nop in Thumb] add ip, pc, #a; add ip, ip, #b …; ldr pc, [ip, #c]!
 * or, from lld for far slots: ldr ip, [pc, #4]; add ip, ip, pc; ldr pc, [ip]; distance. */
static bool read_arm(const uint8_t *bytes, usp_addr address, usp_addr got, usp_addr *slot) {
    (void)got;
    unsigned at = uspi_le32(bytes) == 0x46c04778 ? 4 : 0;
    uint32_t first = uspi_le32(bytes + at), value;
    if (first == 0xe59fc004 && uspi_le32(bytes + at + 4) == 0xe08cc00f && uspi_le32(bytes + at + 8) == 0xe59cf000) {
        *slot = (uint32_t)(address + at + 12 + uspi_le32(bytes + at + 12));
        return true;
    }
    if ((first & 0xfffff000) != 0xe28fc000) return false;
    value = (uint32_t)address + at + 8 + rotated(first);
    for (at += 4; at + 4 <= WINDOW; at += 4) {
        uint32_t next = uspi_le32(bytes + at);
        if ((next & 0xfffff000) == 0xe28cc000) {
            value += rotated(next);
        } else {
            *slot = (uint32_t)(value + (next & 0xfff));
            return (next & 0xfffff000) == 0xe5bcf000;
        }
    }
    return false;
}

static const struct machine machines[] = {
    {62, {7, 6}, 8, 16, read_x86_64},
    {3, {7, 6}, 8, 16, read_i386},
    {183, {1026, 1025}, 4, 24, read_aarch64},
    {40, {22, 21}, 4, 20, read_arm},
};

static const struct machine *find_machine(const struct uspi_elf *elf) {
    for (unsigned i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        if (machines[i].number == elf->machine && elf->arch != USP_ARCH_NONE) return &machines[i];
    }
    return NULL;
}

/* ---- slots ---- */

struct slots {
    struct slot *all;
    size_t count, capacity;
};

static int by_address(const void *a, const void *b) {
    const struct slot *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static int add_slot(struct slots *slots, usp_addr address, uint32_t symbol) {
    if (!uspi_room_for(&slots->all, &slots->capacity, slots->count, 1, sizeof *slots->all)) return USP_ERROR_NO_MEMORY;
    slots->all[slots->count++] = (struct slot){address, symbol};
    return USP_OK;
}

/* Elf32_Rel, Elf32_Rela, Elf64_Rel, Elf64_Rela: address, information, addend. */
static int read_relocations(const struct uspi_elf *elf, const struct machine *machine,
                            const struct uspi_elf_section *section, struct slots *slots) {
    unsigned word = elf->wide ? 8 : 4, size = word * (section->type == SHT_RELA ? 3 : 2);
    struct uspi_bytes bytes;
    if (section->entry_size != size) return USP_OK;
    int status = uspi_bytes_sub(elf->bytes, section->offset, section->size, "relocations", &bytes, NULL);
    for (uint64_t at = 0; status == USP_OK && bytes.size - at >= size; at += size) {
        struct uspi_piece raw;
        status = uspi_bytes_piece(bytes, at, 2 * word, &raw, "relocation", NULL);
        if (status != USP_OK) break;
        /* Most relocations of a library have no symbol. */
        const uint64_t info = elf->wide ? uspi_le64(raw.at + 8) : uspi_le32(raw.at + 4);
        const uint64_t type = elf->wide ? info & UINT32_MAX : info & 0xff;
        uint32_t symbol = (uint32_t)(elf->wide ? info >> 32 : info >> 8);
        if (symbol == 0 || (type != machine->types[0] && type != machine->types[1])) continue;
        status = add_slot(slots, uspi_le(raw.at, word), symbol);
    }
    return status;
}

static int read_slots(const struct uspi_elf *elf, const struct machine *machine, struct slots *slots) {
    int status = USP_OK;
    for (uint64_t i = 0; status == USP_OK && i < elf->section_count; i++) {
        struct uspi_elf_section section, linked;
        status = uspi_elf_section(elf, i, &section, NULL);
        if (status != USP_OK || (section.type != SHT_RELA && section.type != SHT_REL)) continue;
        if (uspi_elf_section(elf, section.link, &linked, NULL) != USP_OK || linked.type != USPI_SHT_DYNSYM) continue;
        status = read_relocations(elf, machine, &section, slots);
    }
    if (slots->count > 1) qsort(slots->all, slots->count, sizeof *slots->all, by_address);
    return status;
}

/* ---- entries ---- */

struct visiting {
    const struct machine *machine;
    const struct slots *slots;
    usp_addr got;
    uspi_plt_visit visit;
    void *context;
};

static int visit_section(const struct visiting *v, struct uspi_bytes code, usp_addr address) {
    usp_addr start = 0;
    const struct slot *open = NULL;
    int status = USP_OK;
    for (uint64_t at = 0; status == USP_OK && at < code.size; at += v->machine->step) {
        uint8_t bytes[WINDOW] = {0};
        usp_addr slot;
        size_t n = code.size - at < WINDOW ? (size_t)(code.size - at) : WINDOW;
        status = uspi_bytes_read(code, at, bytes, n, "linkage table", NULL);
        if (status != USP_OK || !v->machine->read(bytes, address + at, v->got, &slot)) continue;
        const struct slot key = {slot, 0};
        const struct slot *found = bsearch(&key, v->slots->all, v->slots->count, sizeof key, by_address);
        /* The instructions after an entry's optional first one look like an entry of their own. */
        if (found == NULL || (found == open && address + at - start <= 4)) continue;
        usp_addr end = start + v->machine->size;
        if (open != NULL) status = v->visit(v->context, start, end < address + at ? end : address + at, open->symbol);
        open = found;
        start = address + at;
    }
    if (status != USP_OK || open == NULL) return status;
    usp_addr end = start + v->machine->size;
    return v->visit(v->context, start, end < address + code.size ? end : address + code.size, open->symbol);
}

static usp_addr read_got(const struct uspi_elf *elf) {
    struct uspi_elf_segment segment;
    struct uspi_bytes dynamic;
    uint64_t value;
    if (uspi_elf_find_segment(elf, USPI_PT_DYNAMIC, &segment, NULL) != USP_OK) return 0;
    if (uspi_elf_segment_bytes(elf, &segment, &dynamic, NULL) != USP_OK) return 0;
    return uspi_elf_dynamic(dynamic, elf->wide, DT_PLTGOT, &value, NULL) == USP_OK ? value : 0;
}

/* Finds a section of entries. Returns false when the file does not have it, it has no code, or the caller does not want
 * it. */
static bool find_entries(const struct uspi_elf *elf, const char *name, uspi_plt_wants wants, void *context,
                         struct uspi_bytes *code, usp_addr *address) {
    struct uspi_elf_section section;
    usp_addr end;
    if (uspi_elf_find_section(elf, name, &section, NULL) != USP_OK) return false;
    if ((section.flags & USPI_SHF_EXECINSTR) == 0 || !uspi_sum(section.address, section.size, &end)) return false;
    *address = section.address;
    return wants(context, section.address, end) &&
           uspi_bytes_sub(elf->bytes, section.offset, section.size, "section", code, NULL) == USP_OK;
}

int uspi_elf_plt_visit(const struct uspi_elf *elf, uspi_plt_wants wants, uspi_plt_visit visit, void *context) {
    static const char *const names[] = {".plt", ".plt.sec", ".plt.got"};
    const struct machine *machine = find_machine(elf);
    struct slots slots = {0};
    struct visiting v = {machine, &slots, 0, visit, context};
    bool has_slots = false;
    int status = USP_OK;
    if (machine == NULL) return USP_OK;
    for (unsigned i = 0; status == USP_OK && i < sizeof names / sizeof names[0]; i++) {
        struct uspi_bytes code;
        usp_addr address;
        if (!find_entries(elf, names[i], wants, context, &code, &address)) continue;
        if (!has_slots) {
            status = read_slots(elf, machine, &slots);
            v.got = read_got(elf);
            has_slots = true;
        }
        if (status == USP_OK && slots.count > 0) status = visit_section(&v, code, address);
    }
    free(slots.all);
    return status;
}
