/* SPDX-License-Identifier: MIT */
/* The stubs of a dyld shared cache, through which its images call each other: in mappings of their own, and branch
 * islands in caches of iOS 10 and before. No image contains them, and no symbol names them. Each is called after the
 * function to which it leads; the image that has it is opened for the name. */
#include "lib/symbolize/macho/cache_stubs.h"

#include "lib/base/array.h"

#include <stdlib.h>
#include <string.h>

/* What atos, sample and crash reports write before the name of a stub's target. */
#define PREFIX "DYLD-STUB$$"

/* The maximum number of stubs that lead to each other. */
#define HOPS 8

/* The top byte of a pointer can be a tag. */
#define BELOW_TOP_BYTE ((UINT64_C(1) << 56) - 1)

struct stub_tables {
    struct uspi_tables contract;
    struct uspi_dyld_stubs stubs;
};

/* A decoded stub: the address to which it leads, or the slot that holds it. */
struct stub {
    usp_addr target, slot; /* one of them is 0 */
    uint32_t size;
};

static uint64_t extend(uint64_t value, unsigned bits) {
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    return ((value & ((sign << 1) - 1)) ^ sign) - sign;
}

static bool is_branch(uint32_t word) {
    return (word & 0xfffffc1f) == 0xd61f0000 /* br */ || (word & 0xfffffc00) == 0xd71f0800 /* braa */;
}

/* Decodes `ldr x, [base, #offset]` (arm64_32: w). */
static bool decode_load(uint32_t word, bool is_wide, usp_addr base, usp_addr *slot) {
    if ((word & 0xffc00000) != (is_wide ? 0xf9400000 : 0xb9400000)) return false;
    *slot = base + ((uint64_t)(word >> 10 & 0xfff) << (is_wide ? 3 : 2));
    return true;
}

/* Decodes b; adrp, add, br; adrp, ldr, br; adrp, add, ldr, braa. */
static bool decode_arm64(const uint8_t raw[16], size_t n, usp_addr at, bool is_wide, struct stub *stub) {
    uint32_t words[4] = {0};
    for (size_t i = 0; i < n / 4; i++) words[i] = uspi_le32(raw + 4 * i);
    *stub = (struct stub){.size = 4};
    if ((words[0] & 0xfc000000) == 0x14000000) {
        stub->target = at + extend(words[0], 26) * 4;
        return true;
    }
    if ((words[0] & 0x9f000000) != 0x90000000) return false;
    const uint64_t pages = (uint64_t)(words[0] >> 5 & 0x7ffff) << 2 | (words[0] >> 29 & 3);
    const usp_addr page = (at & ~UINT64_C(0xfff)) + (extend(pages, 21) << 12);
    stub->size = 12;
    if (decode_load(words[1], is_wide, page, &stub->slot)) return is_branch(words[2]);
    if ((words[1] & 0x7fc00000) != 0x11000000) return false;
    const usp_addr sum = page + (words[1] >> 10 & 0xfff);
    stub->target = sum;
    if (is_branch(words[2])) return true;
    *stub = (struct stub){.size = 16};
    return decode_load(words[2], is_wide, sum, &stub->slot) && is_branch(words[3]);
}

/* jmp *SLOT(%rip) */
static bool decode_x86_64(const uint8_t raw[16], size_t n, usp_addr at, struct stub *stub) {
    if (n < 6 || raw[0] != 0xff || raw[1] != 0x25) return false;
    *stub = (struct stub){.slot = at + 6 + extend(uspi_le32(raw + 2), 32), .size = 6};
    return true;
}

/* Decodes the stub at an address of the cache. Returns false when none is there. */
static bool decode(const struct uspi_dyld_stubs *stubs, usp_addr at, struct stub *stub) {
    uint8_t raw[16];
    size_t n = sizeof raw;
    const struct uspi_bytes code = uspi_bytes_at(&stubs->cache->source, at);
    while (n >= 4 && uspi_bytes_read(code, 0, raw, n, "stub", NULL) != USP_OK) n -= 4;
    switch (n >= 4 ? stubs->cache->arch : USP_ARCH_NONE) {
    case USP_ARCH_ARM64: return decode_arm64(raw, n, at, true, stub);
    case USP_ARCH_ARM64_32: return decode_arm64(raw, n, at, false, stub);
    case USP_ARCH_X86_64: return decode_x86_64(raw, n, at, stub);
    default: return false;
    }
}

/* Finds the next stub of a range from offset *at on, which becomes the offset behind it. A place that the excerpt does not
 * want is passed over. Returns false after the last stub. */
static bool next_stub(const struct uspi_dyld_stubs *stubs, const struct uspi_gathering *gathering, uint64_t *at,
                      usp_addr *start, struct stub *stub) {
    const unsigned step = stubs->cache->arch == USP_ARCH_X86_64 ? 1 : 4;
    for (; *at < stubs->size; *at += step) {
        *start = stubs->address + *at;
        if (gathering != NULL && !uspi_gathering_wants(gathering, *start, *start + 16)) continue;
        if (!decode(stubs, *start, stub)) continue;
        *at += stub->size;
        return true;
    }
    return false;
}

/* Follows stubs up to code of an image. Returns USP_OK or USP_ERROR_NOT_FOUND. */
static int follow(const struct uspi_dyld_stubs *stubs, usp_addr at, usp_addr *target) {
    struct stub stub;
    const unsigned width = stubs->cache->arch == USP_ARCH_ARM64_32 ? 4 : 8;
    for (unsigned hops = 0; hops < HOPS && decode(stubs, at, &stub); hops++) {
        uint64_t value = stub.target;
        const struct uspi_bytes slot = uspi_bytes_at(&stubs->cache->source, stub.slot);
        if (stub.slot != 0 && uspi_bytes_load(slot, 0, width, &value, "slot", NULL) != USP_OK) break;
        at = value & BELOW_TOP_BYTE;
        const struct uspi_dyld_member *member = uspi_dyld_member_at(stubs->cache, at);
        if (member != NULL && !member->is_stubs) {
            *target = at;
            return USP_OK;
        }
    }
    return USP_ERROR_NOT_FOUND;
}

/* ---- names of targets ---- */

/* The symbols of an image to which stubs lead. */
struct target_symbols {
    struct uspi_file *file;
    struct uspi_tables *tables;
    struct uspi_excerpt excerpt;
    struct uspi_index index;
};

static void close_target(struct target_symbols *symbols) {
    uspi_index_clear(&symbols->index);
    if (symbols->tables != NULL) symbols->tables->close(symbols->tables);
    uspi_file_close(symbols->file);
}

/* Opens the symbols of the image that holds an address. is_alone: only the symbol at the address is needed. */
static int open_target(const struct uspi_dyld_cache *cache, usp_addr address, bool is_alone,
                       struct target_symbols *symbols) {
    const struct uspi_wanted_slice any = {.arch = USP_ARCH_NONE};
    struct uspi_gathering gathering = {.excerpt = is_alone ? &symbols->excerpt : NULL};
    *symbols = (struct target_symbols){.tables = NULL};
    uspi_excerpt_begin(&symbols->excerpt);
    uspi_excerpt_begin_at(&symbols->excerpt, address, address);
    int status = uspi_dyld_image_open_at(cache, address, &symbols->file, NULL);
    if (status != USP_OK) return status;
    status = uspi_macho_tables_open(uspi_file_bytes(symbols->file), NULL, &any, &symbols->tables);
    if (status == USP_OK) status = symbols->tables->gather(symbols->tables, &gathering);
    if (status == USP_OK) {
        status = uspi_index_build(&symbols->index, &gathering, symbols->tables->prefer, symbols->tables);
    }
    uspi_gathering_clear(&gathering);
    if (status != USP_OK) close_target(symbols);
    return status;
}

/* Keeps the name of a stub that leads to the symbol that begins at an address. */
static int keep_name(const struct target_symbols *symbols, usp_addr address, struct uspi_names *names,
                     const char **name) {
    struct uspi_symbol_answer answer = {0};
    const uint32_t number = uspi_index_find(&symbols->index, address, &answer.start, &answer.size);
    if (number == USPI_NO_SYMBOL || answer.start != address) return USP_ERROR_NOT_FOUND;
    const int status = symbols->tables->get(symbols->tables, number, names, &answer);
    if (status != USP_OK) return status;
    if (answer.name == NULL || answer.start != address) return USP_ERROR_NOT_FOUND;
    char *text = malloc(sizeof PREFIX + strlen(answer.name));
    if (text == NULL) return USP_ERROR_NO_MEMORY;
    memcpy(text, PREFIX, sizeof PREFIX - 1);
    memcpy(text + sizeof PREFIX - 1, answer.name, strlen(answer.name) + 1);
    *name = uspi_names_keep(names, text, strlen(text));
    free(text);
    return *name != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* ---- the contract ---- */

static int get(const struct uspi_tables *tables, uint32_t number, struct uspi_names *names,
               struct uspi_symbol_answer *named) {
    const struct stub_tables *t = (const struct stub_tables *)tables;
    const usp_addr start = t->stubs.address + number;
    struct target_symbols symbols;
    struct stub stub;
    usp_addr target;
    *named = (struct uspi_symbol_answer){.start = start};
    if (!decode(&t->stubs, start, &stub)) return USP_ERROR_NOT_FOUND;
    named->size = stub.size;
    int status = follow(&t->stubs, start, &target);
    if (status == USP_OK) status = open_target(t->stubs.cache, target, true, &symbols);
    if (status != USP_OK) return status;
    status = keep_name(&symbols, target, names, &named->name);
    close_target(&symbols);
    return status;
}

static int gather(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    const struct stub_tables *t = (const struct stub_tables *)tables;
    uint64_t at = 0;
    usp_addr start;
    struct stub stub;
    int status = USP_OK;
    while (status == USP_OK && next_stub(&t->stubs, gathering, &at, &start, &stub)) {
        const struct uspi_gathered_symbol found = {
            .start = start, .end = start + stub.size, .symbol = (uint32_t)(start - t->stubs.address)};
        status = uspi_gather(gathering, &found);
    }
    return status;
}

static int prefer(const void *context, uint32_t a, uint32_t b) {
    (void)context;
    return a < b ? -1 : 1;
}

static void close_tables(struct uspi_tables *tables) { free(tables); }

int uspi_cache_stubs_open(const struct uspi_dyld_stubs *stubs, struct uspi_tables **tables) {
    struct stub_tables *t = calloc(1, sizeof *t);
    if (t == NULL) return USP_ERROR_NO_MEMORY;
    t->contract = (struct uspi_tables){
        .gather = gather, .get = get, .prefer = prefer, .close = close_tables, .memory = sizeof *t};
    t->stubs = *stubs;
    *tables = &t->contract;
    return USP_OK;
}

/* ---- all stubs ---- */

/* The maximum number of stubs of one cache. */
#define STUBS_MAX ((size_t)2 << 20)

/* A stub that leads to an image. */
struct leading {
    usp_addr start, target;
    uint32_t size;
};

struct all_leading {
    struct leading *of;
    size_t count, capacity;
};

static int collect(const struct uspi_dyld_stubs *stubs, struct all_leading *all) {
    uint64_t at = 0;
    struct leading leading;
    struct stub stub;
    while (all->count < STUBS_MAX && next_stub(stubs, NULL, &at, &leading.start, &stub)) {
        if (follow(stubs, leading.start, &leading.target) != USP_OK) continue;
        leading.size = stub.size;
        if (!uspi_room_for(&all->of, &all->capacity, all->count, 1, sizeof *all->of)) return USP_ERROR_NO_MEMORY;
        all->of[all->count++] = leading;
    }
    return USP_OK;
}

static int by_target(const void *a, const void *b) {
    const struct leading *x = a, *y = b;
    if (x->target != y->target) return x->target < y->target ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Visits stubs that lead to one image. One that cannot be read only costs the names of its functions. */
static int visit_image(const struct uspi_dyld_cache *cache, const struct leading *of, size_t count,
                       uspi_stub_visitor visit, void *context) {
    struct target_symbols symbols;
    struct uspi_names *names = uspi_names_create();
    int status = names != NULL ? open_target(cache, of->target, false, &symbols) : USP_ERROR_NO_MEMORY;
    const bool is_open = status == USP_OK;
    for (size_t i = 0; is_open && status != USP_ERROR_NO_MEMORY && i < count; i++) {
        const char *name;
        status = keep_name(&symbols, of[i].target, names, &name);
        if (status == USP_OK && !visit(context, of[i].start, of[i].size, name)) status = USP_ERROR_NO_MEMORY;
    }
    if (is_open) close_target(&symbols);
    uspi_names_free(names);
    return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
}

int uspi_cache_stubs_visit(const struct uspi_dyld_cache *cache, uspi_stub_visitor visit, void *context) {
    struct all_leading all = {0};
    int status = USP_OK;
    for (uint32_t i = 0; status == USP_OK && i < cache->member_count; i++) {
        const struct uspi_dyld_member *member = &cache->members[i];
        const struct uspi_dyld_stubs stubs = {cache, member->address, member->text_size};
        if (member->is_stubs) status = collect(&stubs, &all);
    }
    if (all.count > 1) qsort(all.of, all.count, sizeof *all.of, by_target);
    for (size_t i = 0, n; status == USP_OK && i < all.count; i += n) {
        const struct uspi_dyld_member *image = uspi_dyld_member_at(cache, all.of[i].target);
        n = 1;
        while (i + n < all.count && uspi_dyld_member_at(cache, all.of[i + n].target) == image) n++;
        status = visit_image(cache, all.of + i, n, visit, context);
    }
    free(all.of);
    return status;
}
