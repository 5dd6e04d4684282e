/* SPDX-License-Identifier: MIT */
/* See loader.h. Sources: Apple dyld include/mach-o/fixup-chains.h; xnu EXTERNAL_HEADERS/mach-o/loader.h
 * (REBASE_OPCODE_*, section types). */
#include "loader.h"

#include <string.h>

#include "lib/object/macho_symbols.h"

#define NAME_MAX_SIZE 256

/* ---- segments ---- */

static bool map_segments(struct loaded_image *image, struct guest *g) {
    struct uspi_macho_extent extent;
    const struct uspi_macho *macho = &image->space.macho;
    if (uspi_macho_extent(macho, &extent, &image->error) != USP_OK) return false;
    usp_addr low = extent.header + image->slide, high = extent.high + image->slide;
    high = (high + GUEST_PAGE - 1) & ~(usp_addr)(GUEST_PAGE - 1);
    if (guest_map(g, low, high - low) == NULL) {
        uspi_error_set(&image->error, USP_ERROR_NO_MEMORY, "the image cannot be mapped");
        return false;
    }
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    int more;
    while ((more = uspi_macho_next_segment(macho, &cursor, &segment, &image->error)) == 1) {
        if (segment.file_size == 0) continue;
        uint8_t *to = guest_bytes(g, segment.address + image->slide, segment.file_size);
        if (to == NULL || uspi_bytes_read(macho->bytes, segment.file_offset, to, (size_t)segment.file_size,
                                          segment.name, &image->error) != USP_OK) {
            return false;
        }
    }
    return more == 0;
}

bool loader_map(struct loaded_image *image, struct guest *g, const char *path, usp_addr load, const char *guest_path) {
    struct uspi_macho macho;
    memset(image, 0, sizeof *image);
    if (uspi_file_open(path, &image->file, &image->error) != USP_OK ||
        uspi_macho_open(&macho, uspi_file_bytes(image->file), &image->error) != USP_OK ||
        uspi_macho_space_open(&image->space, &macho, &image->error) != USP_OK) {
        return false;
    }
    int status = uspi_macho_exports_open(&image->exports, &macho, &image->error);
    if (status != USP_OK && status != USP_ERROR_NOT_FOUND) return false;
    if (load == 0) load = image->space.header;
    image->slide = load - image->space.header;
    if (!map_segments(image, g)) return false;
    struct usp_image *described = &g->images[g->image_count];
    if (uspi_macho_describe(&macho, load, described, &image->error) != USP_OK) return false;
    described->path = guest_path;
    g->paths[g->image_count++] = guest_string(g, guest_path);
    return true;
}

void loader_close(struct loaded_image *image) {
    uspi_macho_exports_close(&image->exports);
    uspi_macho_space_close(&image->space);
    uspi_file_close(image->file);
    memset(image, 0, sizeof *image);
}

static usp_addr find_export(const struct loaded_image *image, const char *name) {
    for (uint32_t i = 0; i < image->exports.count; i++) {
        struct uspi_export found;
        char text[NAME_MAX_SIZE];
        size_t length;
        if (uspi_macho_export(&image->exports, i, &found, NULL) != USP_OK ||
            uspi_macho_export_name(&image->exports, i, NULL, &length, NULL) != USP_OK || length != strlen(name) ||
            length >= sizeof text || uspi_macho_export_name(&image->exports, i, text, &length, NULL) != USP_OK) {
            continue;
        }
        if (memcmp(text, name, length) == 0) return image->space.header + image->slide + found.offset;
    }
    return 0;
}

/* Finds any symbol of a program that is linked statically. Adds the Thumb bit, which the linker of LLVM 13 leaves out
 * of exports. */
static usp_addr find_symbol(const struct loaded_image *image, const char *name) {
    struct uspi_macho_symbols symbols;
    struct uspi_macho_symbol symbol;
    if (uspi_macho_symbols(&image->space.macho, &symbols, NULL) != USP_OK) return 0;
    for (uint64_t i = 0; uspi_macho_symbol(&symbols, i, &symbol, NULL) == USP_OK; i++) {
        char buffer[USPI_MACHO_NAME_BEGINNING];
        if ((symbol.type & USPI_N_STAB) != 0 || (symbol.type & USPI_N_TYPE) != USPI_N_SECT) continue;
        if (strcmp(uspi_macho_name_beginning(&symbols, symbol.name, buffer), name) != 0) continue;
        return symbol.value + image->slide + ((symbol.description & USPI_N_ARM_THUMB_DEF) != 0 ? 1 : 0);
    }
    return 0;
}

usp_addr loader_export(const struct loaded_image *image, const char *name) {
    bool is_static = image->slide == 0;
    return is_static ? find_symbol(image, name) : find_export(image, name);
}

/* ---- initialisers ---- */

/* Section types: S_MOD_INIT_FUNC_POINTERS, S_INIT_FUNC_OFFSETS (4 bytes each, offsets from the header). */
#define INIT_POINTERS 0x9u
#define INIT_OFFSETS  0x16u

static size_t read_initialisers(const struct loaded_image *image, const struct guest *g,
                                const struct uspi_macho_section *section, usp_addr *functions, size_t capacity) {
    bool is_offset = (section->flags & USPI_S_TYPE) == INIT_OFFSETS;
    unsigned width = is_offset ? 4 : guest_word(g);
    size_t n = 0;
    for (uint64_t at = 0; at + width <= section->size && n < capacity; at += width) {
        uint64_t value;
        if (!machine_load(&g->machine, section->address + image->slide + at, width, &value)) return n;
        functions[n++] = is_offset ? image->space.header + image->slide + value : value;
    }
    return n;
}

size_t loader_initialisers(struct loaded_image *image, const struct guest *g, usp_addr *functions, size_t capacity) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    const struct uspi_macho *macho = &image->space.macho;
    size_t n = 0;
    while (uspi_macho_next_segment(macho, &cursor, &segment, NULL) == 1) {
        for (uint32_t i = 0; i < segment.section_count; i++) {
            struct uspi_macho_section section;
            if (uspi_macho_section(macho, &segment, i, &section, NULL) != USP_OK) return n;
            uint32_t type = section.flags & USPI_S_TYPE;
            /* Code that is linked for one address has its initialisers in a section of this name (LLVM
             * TargetLoweringObjectFileMachO). */
            bool is_static = strcmp(section.name, "__constructor") == 0;
            if (type != INIT_POINTERS && type != INIT_OFFSETS && !is_static) continue;
            n += read_initialisers(image, g, &section, functions + n, capacity - n);
        }
    }
    return n;
}

/* ---- fixing up pointers ---- */

struct work {
    struct loaded_image *image;
    struct guest *guest;
    struct uspi_fixups fixups;
    loader_import import;
    void *context;
    unsigned long count;
    unsigned width;
};

static bool refuse(struct work *w, const char *why) {
    uspi_error_set(&w->image->error, USP_ERROR_FORMAT, "%s", why);
    return false;
}

static bool store(struct work *w, usp_addr location, usp_addr value) {
    w->count++;
    guest_store(w->guest, location + w->image->slide, value, w->width);
    return w->guest->machine.error == NULL || refuse(w, "a pointer outside of the image");
}

static bool bind(struct work *w, usp_addr location, const char *name) {
    usp_addr value = w->import(w->context, name);
    if (value == 0) {
        uspi_error_set(&w->image->error, USP_ERROR_NOT_FOUND, "nothing exports %s", name);
        return false;
    }
    return store(w, location, value);
}

/* Writes a pointer as the file's fixups describe it. */
static bool fix(struct work *w, usp_addr location) {
    struct uspi_pointer pointer;
    char name[NAME_MAX_SIZE];
    const struct uspi_macho *macho = &w->image->space.macho;
    if (uspi_fixups_pointer(&w->fixups, location, &pointer, &w->image->error) != USP_OK) return false;
    if (!pointer.is_import) return store(w, location, pointer.target + w->image->slide);
    if (uspi_bytes_string(macho->bytes, pointer.name, name, sizeof name, "import", &w->image->error) != USP_OK) {
        return false;
    }
    return bind(w, location, name);
}

/* ---- chains ---- */

/* The distance from a word to the next one of its chain. Returns false for an unknown format. */
static bool next_in_chain(uint32_t format, uint64_t raw, uint64_t *distance) {
    switch (format) {
    case USPI_CHAINED_ARM64E:
    case USPI_CHAINED_ARM64E_USERLAND:
    case USPI_CHAINED_ARM64E_USERLAND24: *distance = (raw >> 51 & 0x7ff) * 8; return true;
    case USPI_CHAINED_64:
    case USPI_CHAINED_64_OFFSET: *distance = (raw >> 51 & 0xfff) * 4; return true;
    case USPI_CHAINED_32: *distance = (raw >> 26 & 0x1f) * 4; return true;
    default: return false;
    }
}

static bool follow_chain(struct work *w, uint32_t format, usp_addr location) {
    for (;;) {
        struct uspi_bytes bytes;
        uint64_t raw, distance;
        if (uspi_macho_space_at(&w->image->space, location, "pointer", &bytes, &w->image->error) != USP_OK ||
            uspi_bytes_load(bytes, 0, w->width, &raw, "pointer", &w->image->error) != USP_OK) {
            return false;
        }
        if (!next_in_chain(format, raw, &distance)) return refuse(w, "an unknown format of chains");
        if (!fix(w, location)) return false;
        if (distance == 0) return true;
        location += distance;
    }
}

/* Follows the chains of one segment. struct dyld_chained_starts_in_segment: page_size at offset 4, pointer_format 6,
 * segment_offset 8, page_count 20, page_start 22. */
static bool follow_segment(struct work *w, struct uspi_bytes starts, uint64_t offset) {
    uint8_t raw[22];
    struct uspi_error *error = &w->image->error;
    if (uspi_bytes_read(starts, offset, raw, sizeof raw, "chain starts", error) != USP_OK) return false;
    usp_addr segment = w->image->space.header + uspi_le64(raw + 8);
    for (uint32_t page = 0; page < uspi_le16(raw + 20); page++) {
        uint64_t start;
        if (uspi_bytes_load(starts, offset + 22 + 2 * page, 2, &start, "chain start", error) != USP_OK) return false;
        if (start == 0xffff) continue;
        if (!follow_chain(w, uspi_le16(raw + 6), segment + (uint64_t)page * uspi_le16(raw + 4) + start)) return false;
    }
    return true;
}

static bool follow_all(struct work *w) {
    uint64_t count, offset;
    struct uspi_bytes starts;
    struct uspi_error *error = &w->image->error;
    if (w->fixups.chains.size < w->fixups.starts) return refuse(w, "chain starts past the end of the fixups");
    if (uspi_bytes_sub(w->fixups.chains, w->fixups.starts, w->fixups.chains.size - w->fixups.starts, "chain starts",
                       &starts, error) != USP_OK ||
        uspi_bytes_load(starts, 0, 4, &count, "chain starts", error) != USP_OK) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (uspi_bytes_load(starts, 4 + 4 * i, 4, &offset, "chain starts", error) != USP_OK) return false;
        if (offset != 0 && !follow_segment(w, starts, offset)) return false;
    }
    return true;
}

/* ---- opcodes ---- */

enum rebase_opcode {
    REBASE_DONE = 0x00,
    REBASE_SET_TYPE = 0x10,
    REBASE_SET_SEGMENT_AND_OFFSET = 0x20,
    REBASE_ADD_ADDR = 0x30,
    REBASE_ADD_ADDR_IMM_SCALED = 0x40,
    REBASE_TIMES_IMM = 0x50,
    REBASE_TIMES = 0x60,
    REBASE_ONCE_ADD_ADDR = 0x70,
    REBASE_TIMES_SKIPPING = 0x80
};

struct rebase {
    struct work *work;
    struct uspi_bytes code;
    uint64_t at;
    usp_addr location;
};

static bool number(struct rebase *r, uint64_t *value) {
    return uspi_bytes_uleb(r->code, &r->at, value, "rebase opcode", &r->work->image->error) == USP_OK;
}

static bool rebase_times(struct rebase *r, uint64_t times, uint64_t skip) {
    for (; times > 0; times--) {
        if (!fix(r->work, r->location)) return false;
        r->location += r->work->width + skip;
    }
    return true;
}

static bool carry_out(struct rebase *r, unsigned opcode, unsigned immediate) {
    const struct uspi_macho_space *space = &r->work->image->space;
    uint64_t a, b;
    switch (opcode) {
    case REBASE_SET_TYPE: return immediate == 1 || refuse(r->work, "a rebase that is not of a pointer");
    case REBASE_SET_SEGMENT_AND_OFFSET:
        if (immediate >= space->segment_count || !number(r, &a)) return refuse(r->work, "a rebase without a segment");
        r->location = space->segments[immediate].low + a;
        return true;
    case REBASE_ADD_ADDR:
        if (!number(r, &a)) return false;
        r->location += a;
        return true;
    case REBASE_ADD_ADDR_IMM_SCALED: r->location += (uint64_t)immediate * r->work->width; return true;
    case REBASE_TIMES_IMM: return rebase_times(r, immediate, 0);
    case REBASE_TIMES: return number(r, &a) && rebase_times(r, a, 0);
    case REBASE_ONCE_ADD_ADDR: return number(r, &a) && rebase_times(r, 1, a);
    case REBASE_TIMES_SKIPPING: return number(r, &a) && number(r, &b) && rebase_times(r, a, b);
    default: return refuse(r->work, "an unknown rebase opcode");
    }
}

/* Applies the rebase opcodes. dyld_info_command: rebase_off at offset 8, rebase_size 12. */
static bool rebase_all(struct work *w) {
    struct uspi_macho_command command;
    struct uspi_error *error = &w->image->error;
    const struct uspi_macho *macho = &w->image->space.macho;
    struct rebase r = {.work = w};
    uint8_t raw[8];
    int status = uspi_macho_find(macho, USPI_LC_DYLD_INFO_ONLY, &command, error);
    /* A program that is linked statically for one address needs no fixups. */
    if (status == USP_ERROR_NOT_FOUND && w->image->slide == 0) return true;
    if (status != USP_OK) return refuse(w, "neither chained fixups nor LC_DYLD_INFO_ONLY");
    if (uspi_bytes_read(command.bytes, 8, raw, sizeof raw, "LC_DYLD_INFO", error) != USP_OK ||
        uspi_macho_part(macho, uspi_le32(raw), uspi_le32(raw + 4), "rebase opcodes", &r.code, error) != USP_OK) {
        return false;
    }
    while (r.at < r.code.size) {
        uint64_t byte;
        if (uspi_bytes_load(r.code, r.at++, 1, &byte, "rebase opcode", error) != USP_OK) return false;
        if ((byte & 0xf0) == REBASE_DONE) break;
        if (!carry_out(&r, byte & 0xf0, byte & 0x0f)) return false;
    }
    return true;
}

static bool bind_all(struct work *w) {
    for (size_t i = 0; i < w->fixups.bind_count; i++) {
        if (!fix(w, w->fixups.binds[i].location)) return false;
    }
    return true;
}

/* Binds a section's lazy pointers (section type S_LAZY_SYMBOL_POINTERS) at once. The indirect symbol table has an entry
 * for each, from reserved1 on. */
#define LAZY_POINTERS 7u

static bool bind_section(struct work *w, const struct uspi_macho_section *section) {
    struct uspi_macho_symbols symbols;
    struct uspi_macho_symbol symbol;
    struct uspi_bytes indirect;
    uint64_t index;
    struct uspi_error *error = &w->image->error;
    const struct uspi_macho *macho = &w->image->space.macho;
    if (uspi_macho_symbols(macho, &symbols, error) != USP_OK ||
        uspi_macho_indirect_symbols(macho, &indirect, error) != USP_OK) {
        return false;
    }
    for (uint64_t i = 0; i < section->size / w->width; i++) {
        char name[NAME_MAX_SIZE];
        if (uspi_bytes_load(indirect, 4 * (section->reserved1 + i), 4, &index, "indirect symbol", error) != USP_OK ||
            uspi_macho_symbol(&symbols, index, &symbol, error) != USP_OK ||
            uspi_bytes_string(symbols.strings, symbol.name, name, sizeof name, "name", error) != USP_OK ||
            !bind(w, section->address + i * w->width, name)) {
            return false;
        }
    }
    return true;
}

static bool bind_lazy(struct work *w) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    const struct uspi_macho *macho = &w->image->space.macho;
    int more;
    while ((more = uspi_macho_next_segment(macho, &cursor, &segment, &w->image->error)) == 1) {
        for (uint32_t i = 0; i < segment.section_count; i++) {
            struct uspi_macho_section section;
            if (uspi_macho_section(macho, &segment, i, &section, &w->image->error) != USP_OK) return false;
            if ((section.flags & USPI_S_TYPE) == LAZY_POINTERS && !bind_section(w, &section)) return false;
        }
    }
    return more == 0;
}

bool loader_fix_up(struct loaded_image *image, struct guest *g, loader_import import, void *context,
                   unsigned long *count) {
    struct work w = {.image = image, .guest = g, .import = import, .context = context};
    w.width = image->space.macho.wide ? 8 : 4;
    /* Asks for every import, whatever its name. */
    if (uspi_fixups_open(&w.fixups, &image->space, "", &image->error) != USP_OK) return false;
    bool ok = w.fixups.chains.size != 0 ? follow_all(&w) : rebase_all(&w) && bind_all(&w) && bind_lazy(&w);
    uspi_fixups_close(&w.fixups);
    *count = w.count;
    return ok;
}
