/* SPDX-License-Identifier: MIT */
/* Makes the symbol tables of an image of a dyld shared cache. See dyld_image.h. */
#include "lib/images/dyld_image.h"

#include "lib/base/array.h"
#include "lib/object/macho_symbols.h"

#include <stdlib.h>
#include <string.h>

/* The name that a cache gives to local symbols of iOS (dyld cache_builder/NewSharedCacheBuilder.cpp). */
#define REDACTED "<redacted>"

/* Limits for one image. WebKit has 300,000 symbols, whose names take 30 MB. */
#define SYMBOLS_MAX   ((uint64_t)4 << 20)
#define STRINGS_MAX   ((size_t)256 << 20)
#define TABLE_MAX     ((uint64_t)64 << 20)
#define NAME_MAX_READ ((size_t)1 << 16)
/* How many names may be longer than that: reading each costs as much as a thousand others. */
#define LONG_NAMES_MAX 4096u

#define SYMBOL_MOST 16

/* How many symbols, and how many bytes of names, are read at once. */
#define SYMBOLS_READ 64
#define NAMES_READ   1024

/* A symbol's number when it is not kept. */
#define DROPPED UINT32_MAX

struct strings {
    char *bytes;
    size_t size, capacity;
    uint32_t long_names; /* that were not read to their ends */
};

/* Bytes of a table of names: those of neighbouring symbols mostly follow one another. */
struct names {
    struct uspi_bytes all;
    uint64_t from; /* offset of the bytes that were read */
    size_t size;   /* their number; 0: none */
    char bytes[NAMES_READ];
};

struct making {
    const struct uspi_dyld_source *source;
    struct uspi_dyld_linkedit *linkedit; /* its last table is that of the symbols while these are added */
    struct strings strings;
    uint32_t *numbers; /* for each of the image's own symbols, its new number */
    uint64_t own_count;
};

/* Finds the bytes to which a load command refers: their offset counts in the file that holds __LINKEDIT, from which
 * only its distance from that segment's offset matters. A size that goes past the cache's bytes is cut. */
static bool find_data(const struct uspi_dyld_source *source, uint64_t offset, uint64_t size, struct uspi_bytes *bytes) {
    const struct uspi_macho_segment *linkedit = &source->linkedit;
    usp_addr address;
    if (size == 0 || linkedit->memory_size == 0 || offset < linkedit->file_offset) return false;
    if (!uspi_sum(linkedit->address, offset - linkedit->file_offset, &address)) return false;
    *bytes = (struct uspi_bytes){&source->cache->source, address, uspi_dyld_extent(source->cache, address, size)};
    return bytes->size > 0;
}

/* Adds room for n bytes to the made __LINKEDIT, aligned to 8. Returns NULL when memory is exhausted. */
static uint8_t *add_room(struct uspi_dyld_linkedit *linkedit, size_t n, struct uspi_dyld_piece *piece) {
    const size_t padding = (size_t)(-linkedit->size & 7);
    if (!uspi_room_for(&linkedit->bytes, &linkedit->capacity, linkedit->size, padding + n + 8, 1)) return NULL;
    memset(linkedit->bytes + linkedit->size, 0, padding);
    *piece = (struct uspi_dyld_piece){linkedit->size + padding, n};
    linkedit->size += padding + n;
    return linkedit->bytes + (size_t)piece->offset;
}

/* Copies a table as it is. One that cannot be read is left out. */
static int copy_table(struct uspi_dyld_linkedit *linkedit, struct uspi_bytes bytes, struct uspi_dyld_piece *piece) {
    if (bytes.size > TABLE_MAX) return USP_OK;
    uint8_t *to = add_room(linkedit, (size_t)bytes.size, piece);
    if (to == NULL) return USP_ERROR_NO_MEMORY;
    if (uspi_bytes_read(bytes, 0, to, (size_t)bytes.size, "table", NULL) == USP_OK) return USP_OK;
    linkedit->size = (size_t)piece->offset;
    *piece = (struct uspi_dyld_piece){0};
    return USP_OK;
}

/* Reads n bytes of the image's first load command of a kind. Returns false if there are none. */
static bool read_command(const struct uspi_dyld_source *source, uint32_t kind, uint64_t at, uint8_t *raw, size_t n) {
    struct uspi_macho_command command;
    return uspi_macho_find(&source->macho, kind, &command, NULL) == USP_OK &&
           uspi_bytes_read(command.bytes, at, raw, n, "load command", NULL) == USP_OK;
}

/* Copies the function starts and the exports: of several tables of one kind, the first. */
static int copy_tables(const struct making *making) {
    struct uspi_dyld_linkedit *linkedit = making->linkedit;
    const struct {
        uint32_t kind, at; /* where the command has the table's offset and size */
        struct uspi_dyld_piece *piece;
    } tables[] = {{USPI_LC_FUNCTION_STARTS, 8, &linkedit->starts},
                  {USPI_LC_DYLD_EXPORTS_TRIE, 8, &linkedit->exports},
                  {USPI_LC_DYLD_INFO_ONLY, 40, &linkedit->exports},
                  {USPI_LC_DYLD_INFO, 40, &linkedit->exports}};
    int status = USP_OK;
    for (size_t i = 0; status == USP_OK && i < sizeof tables / sizeof *tables; i++) {
        struct uspi_bytes bytes;
        uint8_t place[8];
        if (tables[i].piece->size > 0) continue;
        if (!read_command(making->source, tables[i].kind, tables[i].at, place, sizeof place)) continue;
        if (!find_data(making->source, uspi_le32(place), uspi_le32(place + 4), &bytes)) continue;
        status = copy_table(linkedit, bytes, tables[i].piece);
    }
    return status;
}

/* ---- symbols ---- */

/* Finds the name at an offset among the bytes that were read, or reads those from there on. Returns NULL when they do not
 * have its end. */
static const char *find_name(struct names *names, uint64_t at, size_t *length) {
    for (unsigned is_read = 0; is_read < 2; is_read++) {
        const uint64_t inside = at - names->from;
        if (at >= names->from && inside < names->size) {
            const char *name = names->bytes + (size_t)inside;
            const char *end = memchr(name, 0, names->size - (size_t)inside);
            if (end != NULL) *length = (size_t)(end - name);
            if (end != NULL) return name;
        }
        if (is_read != 0 || at >= names->all.size) break;
        const uint64_t left = names->all.size - at;
        names->from = at;
        names->size = left < NAMES_READ ? (size_t)left : NAMES_READ;
        if (uspi_bytes_read(names->all, at, names->bytes, names->size, "names", NULL) != USP_OK) names->size = 0;
    }
    return NULL;
}

/* Copies a name that is long, or has bytes beside it that cannot be read. Otherwise as add_name. */
static int add_long_name(struct strings *strings, struct uspi_bytes names, uint64_t at, size_t *length) {
    size_t room = NAMES_READ;
    int status;
    *length = 0;
    do {
        if (strings->size > STRINGS_MAX) return USP_OK;
        if (!uspi_room_for(&strings->bytes, &strings->capacity, strings->size, room, 1)) return USP_ERROR_NO_MEMORY;
        status = uspi_bytes_string(names, at, strings->bytes + strings->size, room, "name", NULL);
        room *= 4;
    } while (status == USP_ERROR_FULL && room <= NAME_MAX_READ);
    strings->long_names += status == USP_ERROR_FULL;
    if (status == USP_OK) *length = strlen(strings->bytes + strings->size);
    return USP_OK;
}

/* Adds the name at an offset of a table of names. *offset becomes its place among the names that are kept; 0 if it
 * cannot be read, is empty or says nothing. */
static int add_name(struct strings *strings, struct names *names, uint64_t at, uint32_t *offset) {
    size_t length;
    *offset = 0;
    if (strings->long_names > LONG_NAMES_MAX) return USP_OK;
    const char *name = find_name(names, at, &length);
    if (name == NULL) {
        int status = add_long_name(strings, names->all, at, &length);
        if (status != USP_OK || length == 0) return status;
        name = strings->bytes + strings->size;
    } else {
        if (strings->size > STRINGS_MAX) return USP_OK;
        if (!uspi_room_for(&strings->bytes, &strings->capacity, strings->size, length + 1, 1))
            return USP_ERROR_NO_MEMORY;
        memcpy(strings->bytes + strings->size, name, length + 1);
    }
    if (length == 0 || strcmp(name, REDACTED) == 0) return USP_OK;
    *offset = (uint32_t)strings->size;
    strings->size += length + 1;
    return USP_OK;
}

/* Returns whether a symbol without a name is kept, as the start of a function. Function starts say the same. */
static bool is_boundary(const struct making *making, const uint8_t *nlist) {
    return making->linkedit->starts.size == 0 && (nlist[4] & (USPI_N_STAB | USPI_N_TYPE)) == USPI_N_SECT;
}

/* Adds a symbol. *number becomes its number. */
static int add_symbol(struct making *making, struct names *names, uint8_t *raw, uint32_t *number) {
    struct uspi_dyld_linkedit *linkedit = making->linkedit;
    const size_t nlist = uspi_macho_sizes(making->source->macho.wide).symbol;
    uint32_t name;
    *number = DROPPED;
    int status = add_name(&making->strings, names, uspi_le32(raw), &name);
    if (status != USP_OK || (name == 0 && !is_boundary(making, raw))) return status;
    if (!uspi_room_for(&linkedit->bytes, &linkedit->capacity, linkedit->size, nlist, 1)) return USP_ERROR_NO_MEMORY;
    uspi_store_le32(raw, name);
    memcpy(linkedit->bytes + linkedit->size, raw, nlist);
    linkedit->size += nlist;
    linkedit->symbols.size += nlist;
    *number = linkedit->symbol_count++;
    if ((raw[4] & USPI_N_STAB) != 0 || (raw[4] & USPI_N_EXT) == 0) {
        linkedit->local_count++;
    } else if ((raw[4] & USPI_N_TYPE) == 0) {
        linkedit->undefined_count++;
    } else {
        linkedit->external_count++;
    }
    return USP_OK;
}

/* Adds symbols from entries. numbers: NULL, or receives their numbers. */
static int add_symbols(struct making *making, struct uspi_bytes entries, struct uspi_bytes strings, uint64_t count,
                       uint32_t *numbers) {
    const size_t nlist = uspi_macho_sizes(making->source->macho.wide).symbol;
    struct names names = {.all = strings};
    int status = USP_OK;
    for (uint64_t i = 0, read; status == USP_OK && i < count; i += read) {
        uint8_t raw[SYMBOLS_READ * SYMBOL_MOST];
        read = count - i < SYMBOLS_READ ? count - i : SYMBOLS_READ;
        bool is_read = uspi_bytes_read(entries, i * nlist, raw, (size_t)read * nlist, "symbols", NULL) == USP_OK;
        /* Some of them may be readable. */
        if (!is_read) read = 1;
        if (!is_read) is_read = uspi_bytes_read(entries, i * nlist, raw, nlist, "symbol", NULL) == USP_OK;
        for (uint64_t k = 0; status == USP_OK && k < read; k++) {
            uint32_t number = DROPPED;
            if (is_read) status = add_symbol(making, &names, raw + (size_t)k * nlist, &number);
            if (numbers != NULL) numbers[i + k] = number;
        }
    }
    return status;
}

/* Adds the local symbols that the cache keeps apart from the image. */
static int add_locals(struct making *making) {
    const struct uspi_dyld_source *source = making->source;
    const struct uspi_dyld_cache *cache = source->cache;
    struct uspi_dyld_locals locals;
    if (cache->symbols < 0) return USP_OK;
    const struct uspi_dyld_header *header = &cache->files[cache->symbols]->header;
    int status = uspi_dyld_locals(header, source->member->address - cache->base, source->macho.wide, &locals, NULL);
    if (status != USP_OK || locals.count > SYMBOLS_MAX) return USP_OK;
    return add_symbols(making, locals.entries, locals.strings, locals.count, NULL);
}

/* Adds the image's own symbols. */
static int add_own(struct making *making) {
    struct uspi_bytes entries, names;
    uint8_t raw[24];
    const size_t nlist = uspi_macho_sizes(making->source->macho.wide).symbol;
    if (!read_command(making->source, USPI_LC_SYMTAB, 0, raw, sizeof raw)) return USP_OK;
    const uint64_t count = uspi_le32(raw + 12);
    if (count > SYMBOLS_MAX || !find_data(making->source, uspi_le32(raw + 8), count * nlist, &entries)) return USP_OK;
    if (!find_data(making->source, uspi_le32(raw + 16), uspi_le32(raw + 20), &names)) return USP_OK;
    making->own_count = entries.size / nlist;
    making->numbers = calloc((size_t)making->own_count + 1, sizeof *making->numbers);
    if (making->numbers == NULL) return USP_ERROR_NO_MEMORY;
    return add_symbols(making, entries, names, making->own_count, making->numbers);
}

/* Copies the indirect symbol table with the symbols' new numbers. */
static int add_indirect(const struct making *making) {
    struct uspi_dyld_linkedit *linkedit = making->linkedit;
    struct uspi_bytes bytes;
    uint8_t place[8];
    if (!read_command(making->source, USPI_LC_DYSYMTAB, 56, place, sizeof place)) return USP_OK;
    if (!find_data(making->source, uspi_le32(place), UINT64_C(4) * uspi_le32(place + 4), &bytes)) return USP_OK;
    bytes.size &= ~UINT64_C(3);
    const int status = copy_table(linkedit, bytes, &linkedit->indirect);
    for (uint64_t at = 0; status == USP_OK && at < linkedit->indirect.size; at += 4) {
        uint8_t *entry = linkedit->bytes + (size_t)(linkedit->indirect.offset + at);
        uint32_t number = uspi_le32(entry);
        if ((number & (USPI_INDIRECT_SYMBOL_LOCAL | USPI_INDIRECT_SYMBOL_ABS)) != 0) continue;
        number = number < making->own_count ? making->numbers[number] : DROPPED;
        uspi_store_le32(entry, number != DROPPED ? number : USPI_INDIRECT_SYMBOL_LOCAL);
    }
    return status;
}

int uspi_dyld_linkedit_make(const struct uspi_dyld_source *source, struct uspi_dyld_linkedit *linkedit) {
    struct making making = {.source = source, .linkedit = linkedit};
    *linkedit = (struct uspi_dyld_linkedit){0};
    /* Offset 0 is not a name. */
    bool has_room = uspi_room_for(&making.strings.bytes, &making.strings.capacity, 0, 1, 1);
    if (has_room) making.strings.bytes[making.strings.size++] = '\0';
    int status = has_room ? copy_tables(&making) : USP_ERROR_NO_MEMORY;
    if (status == USP_OK && add_room(linkedit, 0, &linkedit->symbols) == NULL) status = USP_ERROR_NO_MEMORY;
    if (status == USP_OK) status = add_locals(&making);
    if (status == USP_OK) status = add_own(&making);
    if (status == USP_OK) status = add_indirect(&making);
    if (status == USP_OK) {
        uint8_t *to = add_room(linkedit, making.strings.size, &linkedit->strings);
        if (to == NULL) status = USP_ERROR_NO_MEMORY;
        if (to != NULL) memcpy(to, making.strings.bytes, making.strings.size);
    }
    free(making.strings.bytes);
    free(making.numbers);
    if (status == USP_OK) return USP_OK;
    free(linkedit->bytes);
    *linkedit = (struct uspi_dyld_linkedit){0};
    return status;
}
