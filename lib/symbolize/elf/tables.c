/* SPDX-License-Identifier: MIT */
/* ELF's .symtab, .dynsym and procedure linkage table as sources of names. Decides which entries name code, how far they
 * reach, and which alias is preferred. The tables can be in the file, in its separate debug file, in .gnu_debugdata or
 * in memory. */
#include "lib/symbolize/index/tables.h"

#include "arch/any.h"
#include "lib/base/array.h"
#include "lib/images/elf_unpack.h"
#include "lib/object/elf_code.h"
#include "lib/object/elf_dynamic.h"
#include "lib/object/elf_symbols.h"
#include "lib/object/elf_versions.h"
#include "lib/symbolize/elf/plt.h"
#include "lib/symbolize/go/names.h"
#include "lib/symbolize/go/source.h"
#include "lib/symbolize/index/reach.h"
#include "lib/unwind/tables/dwarf_find.h"
#include "lib/unwind/tables/ehabi.h"

#include <stdlib.h>
#include <string.h>

/* ---- bounds ---- */

/* Finds how far an ELF symbol without a size reaches, where the symbol tables do not name the code after it. Uses call
 * frame information, ARM's index of functions and the instructions. Addresses are as linked. */
/* Points to itself: must not be moved after elf_bounds_init. */
struct uspi_elf_bounds {
    const struct uspi_elf *elf;
    struct usp_memory memory; /* the image's, by address as linked */
    struct uspi_source source;
    const struct uspi_backend *backend; /* NULL: the code cannot be decoded */
    bool has_dwarf;
    struct uspi_dwarf_image dwarf;
    struct uspi_ehabi_table ehabi; /* index_size 0: none */
};

/* More segments than linkers make. Each read searches all of them. */
#define SEGMENTS_MAX 64

/* A usp_memory.read function; the context is the file or image. */
static int read_linked(void *context, usp_addr from, void *to, size_t n) {
    const struct uspi_elf *elf = context;
    struct uspi_bytes bytes;
    int status = uspi_elf_bytes_at(elf, from, &bytes, NULL);
    return status == USP_OK ? uspi_bytes_read(bytes, 0, to, n, "code", NULL) : status;
}

static struct usp_memory_range range_of(const struct uspi_elf *elf, uint32_t type) {
    struct uspi_elf_segment segment;
    if (uspi_elf_find_segment(elf, type, &segment, NULL) != USP_OK) return (struct usp_memory_range){0, 0};
    return (struct usp_memory_range){segment.address, segment.memory_size};
}

/* Prepares the bounds of a linked file or an image in memory. *elf must stay open as long as they are used. */
static void elf_bounds_init(struct uspi_elf_bounds *bounds, const struct uspi_elf *elf) {
    *bounds = (struct uspi_elf_bounds){.elf = elf, .backend = uspi_backend_any(elf->arch)};
    if (elf->segment_count > SEGMENTS_MAX) bounds->backend = NULL;
    if (bounds->backend == NULL) return;
    /* A callback's context is not const, but read_linked only reads it. */
    bounds->memory = (struct usp_memory){read_linked, (void *)(uintptr_t)elf};
    bounds->source = uspi_source_of_memory(&bounds->memory, "image");
    const struct usp_unwind_tables tables = {.eh_frame_hdr = range_of(elf, USPI_PT_GNU_EH_FRAME)};
    bounds->has_dwarf =
        uspi_dwarf_image_init(&bounds->dwarf, &tables, &bounds->memory, bounds->backend, USP_OS_LINUX) == USP_OK;
    if (elf->arch != USP_ARCH_ARMV7) return;
    const struct usp_memory_range index = range_of(elf, USPI_PT_ARM_EXIDX);
    bounds->ehabi = (struct uspi_ehabi_table){.image = uspi_bytes_at(&bounds->source, elf->header_address),
                                              .base = elf->header_address,
                                              .index = index.address,
                                              .index_size = index.size};
}

static usp_addr lower_of(usp_addr a, usp_addr b) { return a < b ? a : b; }

/* Returns where the tables show that the next function after `start` begins, or `high`. */
static usp_addr next_function(const struct uspi_elf_bounds *bounds, usp_addr start, usp_addr high) {
    struct uspi_table_entry entry;
    usp_addr next;
    if (bounds->has_dwarf && uspi_dwarf_next_start(&bounds->dwarf, start, &next) == USP_OK) high = lower_of(high, next);
    if (bounds->ehabi.index_size == 0) return high;
    const enum uspi_described described = uspi_ehabi_find(&bounds->ehabi, start, &entry, NULL);
    if (described != USPI_DESCRIBED && described != USPI_CANNOT_UNWIND) return high;
    return entry.end > start ? lower_of(high, entry.end) : high;
}

/* Returns the first address past the code that a symbol at `start` can name. It is never above `high`, the end of the
 * symbol's section.
 *   is_thumb   32-bit ARM: the code is Thumb
 *   names_all  the symbol tables name all functions; false: not those that are local to the file */
static usp_addr elf_bounds_end(const struct uspi_elf_bounds *bounds, usp_addr start, usp_addr high, bool is_thumb,
                               bool names_all) {
    const struct uspi_dwarf_section *section;
    struct uspi_dwarf_fde fde;
    struct uspi_code code;
    if (bounds->backend == NULL) return names_all || high == start ? high : start + 1;
    /* An FDE describes a single function. */
    if (bounds->has_dwarf && uspi_dwarf_find(&bounds->dwarf, start, &section, &fde) == USP_OK) {
        return lower_of(high, fde.end);
    }
    high = next_function(bounds, start, high);
    if (names_all) return high;
    uspi_code_init(&code, bounds->backend, &bounds->memory);
    return uspi_reach(&code, start, is_thumb ? USPI_MODE_THUMB : 0, high);
}

/* A symbol's number in the index. The top two bits are the source, the next one says that the name may have a version.
 * The others are the entry; for the linkage table, that of the dynamic symbol. With IS_NAME, they are the offset of the
 * name in the table's strings. */
#define SOURCE_SHIFT 30
#define HAS_VERSION  (UINT32_C(1) << 29)
#define IS_NAME      (UINT32_C(1) << 28)
#define ENTRY_MASK   (IS_NAME - 1)

/* GO: the entry is a function of Go's table. */
enum { SYMTAB, DYNSYM, TABLES, PLT = TABLES, GO };

/* Higher than the ranks of all functions and labels. */
#define GO_RANK  16
#define PLT_RANK 17

static const char plt_suffix[] = "@plt";

/* From Linux elf-em.h. */
#define EM_ARM     40
#define EM_AARCH64 183

/* The number of bytes by which names are compared and recognized when they cannot be read in place. */
#define NAME_BEGINNING 128

/* A symbol table, and the file or memory that has it. Section numbers are those of that file. */
struct table {
    struct uspi_elf elf;
    struct uspi_elf_symbols symbols; /* count 0: absent */
    struct uspi_unpacked entries, strings;
    uint32_t first_global; /* number of the first symbol that is not local; 0: not known */
    struct uspi_elf_code code;
};

/* The end of a dynamic symbol without a size. */
struct reach {
    uint64_t entry;
    usp_addr end;
};

struct elf_tables {
    struct uspi_tables contract;
    struct table tables[TABLES];
    struct uspi_unpacked debugdata;
    bool has_plt;
    struct uspi_go_table go;           /* of a file without a .symtab; count 0: none */
    bool names_all;                    /* the tables name the functions that are local to the file */
    struct uspi_elf_versions versions; /* of the file: they follow names in .symtab */
    struct uspi_elf_bounds bounds;     /* of a linked file */
    struct reach *reaches;             /* of an image in memory, which may be unloaded; sorted by entry */
    size_t reach_count;
};

/* Returns whether the names stay valid after the tables are closed. Names in memory that the tables own do not. */
static bool names_stay(const struct table *table) { return table->strings.bytes == NULL; }

/* Returns the beginning of a name as a string, in place if possible. */
static const char *name_beginning(const struct uspi_elf_symbols *table, uint32_t name, char buffer[NAME_BEGINNING]) {
    const char *in_place = uspi_bytes_string_in_place(table->strings, name);
    if (in_place != NULL) return in_place;
    buffer[0] = '\0';
    int status = uspi_bytes_string(table->strings, name, buffer, NAME_BEGINNING, "name", NULL);
    return status == USP_OK || status == USP_ERROR_FULL ? buffer : "";
}

/* Returns whether a name is a label that assemblers leave and that names no function: .L…, and on ARM $a, $d, $t, $x,
 * alone or with a suffix ("ELF for the Arm Architecture", mapping symbols). */
static bool is_private_label(uint16_t machine, const char *name) {
    if (strncmp(name, ".L", 2) == 0) return true;
    if ((machine != EM_ARM && machine != EM_AARCH64) || name[0] != '$') return false;
    return name[1] != '\0' && strchr("adtx", name[1]) != NULL && (name[2] == '\0' || name[2] == '.');
}

static bool is_function(const struct uspi_elf_symbol *symbol) {
    return symbol->type == USPI_STT_FUNC || symbol->type == USPI_STT_GNU_IFUNC;
}

/* Returns whether a symbol can name code: it is a function, a label, or data where code may be. Assembler code and
 * compilers such as GHC's and Poly/ML's give code that type. */
static bool may_name_code(const struct uspi_elf_symbol *symbol) {
    return is_function(symbol) || symbol->type == USPI_STT_NOTYPE || symbol->type == USPI_STT_OBJECT;
}

/* Ranks aliases: functions before labels before data, then global before local before weak, then symbols with a size
 * before those without. */
static uint32_t rank_of(const struct uspi_elf_symbol *symbol) {
    uint32_t binding = 3;
    switch (symbol->binding) {
    case USPI_STB_GLOBAL:
    case USPI_STB_GNU_UNIQUE: binding = 0; break;
    case USPI_STB_LOCAL: binding = 1; break;
    case USPI_STB_WEAK: binding = 2; break;
    default: break;
    }
    const uint32_t type = is_function(symbol) ? 0 : symbol->type == USPI_STT_NOTYPE ? 8 : USPI_DATA_RANK;
    return type | binding << 1 | (symbol->size == 0 ? 1u : 0u);
}

/* Returns the first entry of a 64-bit table from number i on that touches the excerpt or cannot be read, or the count
 * when there is none. Nearly all entries are skipped here, so only their values and sizes are read. */
static uint64_t next_wanted(struct uspi_elf_pass *pass, uint64_t i, const struct uspi_excerpt *excerpt) {
    while (uspi_elf_pass_read(pass, i) == USP_OK) {
        for (; i < pass->end; i++) {
            uint64_t value, size, end;
            uspi_elf_pass_extent(pass, i, &value, &size);
            if (!uspi_sum(value, size, &end)) end = UINT64_MAX;
            if (uspi_excerpt_overlaps(excerpt, value, end)) return i;
        }
    }
    return i;
}

/* Raises *start to the highest value of a function or label at or below an address. Returns false when an entry cannot
 * be read. */
static bool raise_in_pass(struct uspi_elf_pass *pass, usp_addr address, usp_addr *start) {
    for (uint64_t i = 0; i < pass->symbols->count; i++) {
        uint64_t value, size;
        struct uspi_elf_symbol symbol;
        if (uspi_elf_pass_read(pass, i) != USP_OK) return false;
        uspi_elf_pass_extent(pass, i, &value, &size);
        if (value > address || value <= *start) continue;
        if (uspi_elf_pass_symbol(pass, i, &symbol) != USP_OK) return false;
        if (!is_function(&symbol) && symbol.type != USPI_STT_NOTYPE) continue;
        if (symbol.section != USPI_SHN_UNDEF) *start = value;
    }
    return true;
}

/* Does the same for a table. Returns false also when it is not a 64-bit table of a linked file in memory of ours. */
static bool raise_to_nearest(const struct table *table, usp_addr address, usp_addr *start) {
    const struct uspi_elf_symbols *symbols = &table->symbols;
    struct uspi_elf_pass pass = {.symbols = symbols};
    if (symbols->count == 0) return true;
    if (!symbols->wide || uspi_bytes_place(symbols->entries) == NULL || table->code.is_unlinked) return false;
    const bool is_done = raise_in_pass(&pass, address, start);
    uspi_elf_pass_free(&pass);
    return is_done;
}

/* A uspi_tables.nearest function. */
static bool nearest(const struct uspi_tables *tables, usp_addr address, usp_addr *start) {
    const struct elf_tables *e = (const struct elf_tables *)tables;
    *start = 0;
    for (unsigned source = 0; source < TABLES; source++) {
        if (!raise_to_nearest(&e->tables[source], address, start)) return false;
    }
    return *start != 0 && address != UINT64_MAX;
}

static int by_entry(const void *a, const void *b) {
    const struct reach *x = a, *y = b;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Returns whether a symbol without a size is the last function of GCC's start file crtbegin.o. The program's code
 * follows, and may begin with functions that have no symbols: GHC, for one, leaves none of its local functions. */
static bool ends_start_file(const struct uspi_elf_symbol *symbol, const char *name) {
    return symbol->type == USPI_STT_FUNC && symbol->binding == USPI_STB_LOCAL && strcmp(name, "frame_dummy") == 0;
}

/* Returns the first address past symbol i of a source. The symbol begins at `start` in `range`, and has no size. */
static usp_addr reach_of(const struct elf_tables *e, uint64_t i, const struct uspi_elf_symbol *symbol, const char *name,
                         const struct uspi_code_range *range, usp_addr start) {
    if (e->reaches != NULL) {
        const struct reach key = {i, 0};
        const struct reach *reach = bsearch(&key, e->reaches, e->reach_count, sizeof key, by_entry);
        return reach != NULL ? reach->end : start;
    }
    if (e->bounds.elf == NULL) return range->high;
    const bool names_all = e->names_all && !ends_start_file(symbol, name);
    return elf_bounds_end(&e->bounds, start, range->high, symbol->is_thumb, names_all);
}

static int gather_pass(const struct elf_tables *e, unsigned source, struct uspi_gathering *gathering,
                       struct uspi_elf_pass *pass) {
    const struct uspi_elf_symbols *symbols = &e->tables[source].symbols;
    const struct uspi_elf_code *code = &e->tables[source].code;
    struct uspi_excerpt *excerpt = gathering->excerpt;
    /* For a whole index, all names are searched once, because most tables have no versions. For an excerpt, each name
     * is searched. */
    if (excerpt == NULL) uspi_bytes_need_whole(symbols->strings);
    const bool has_versions =
        source == SYMTAB && e->versions.count > 0 && (excerpt != NULL || uspi_bytes_may_have(symbols->strings, '@'));
    /* Values in unlinked objects are not addresses yet. */
    const bool skips = excerpt != NULL && !code->is_unlinked && symbols->wide;
    if (excerpt != NULL && code->count > 0) uspi_excerpt_pass(excerpt, code->by_address[0].low);
    for (uint64_t i = 0; i < symbols->count && i < ENTRY_MASK; i++) {
        if (skips) {
            i = next_wanted(pass, i, excerpt);
            if (i >= symbols->count || i >= ENTRY_MASK) break;
        }
        struct uspi_elf_symbol symbol;
        char buffer[NAME_BEGINNING];
        int status = uspi_elf_pass_symbol(pass, i, &symbol);
        if (status != USP_OK) return status;
        if (!may_name_code(&symbol)) continue;
        usp_addr start;
        const struct uspi_code_range *range = uspi_elf_code_of(code, &symbol, &start);
        if (range == NULL) continue;
        const uint64_t left = range->high - start;
        usp_addr end = start + (symbol.size < left ? symbol.size : left);
        if (!uspi_gathering_wants(gathering, start, end)) continue;
        const char *name = name_beginning(symbols, symbol.name, buffer);
        if (name[0] == '\0' || is_private_label(symbols->machine, name)) continue;
        if (symbol.size == 0) end = reach_of(e, i, &symbol, name, range, start);
        /* The version of a long name may be past its beginning. */
        bool is_versioned = has_versions && (name == buffer || strchr(name, '@') != NULL);
        const uint32_t table_bits = (uint32_t)source << SOURCE_SHIFT | (is_versioned ? HAS_VERSION : 0);
        struct uspi_gathered_symbol candidate = {
            .start = start,
            .end = end,
            .symbol = table_bits | (uint32_t)i,
            .rank = rank_of(&symbol),
            /* A symbol that is cut at the end of its section keeps its entry, which has the size that it claims. */
            .name = symbol.size <= left && symbol.name <= ENTRY_MASK ? table_bits | IS_NAME | symbol.name : 0,
            .is_unsized = symbol.size == 0,
            .origin = (uint8_t)source,
        };
        status = uspi_gather(gathering, &candidate);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

static int gather_table(const struct elf_tables *e, unsigned source, struct uspi_gathering *gathering) {
    struct uspi_elf_pass pass = {.symbols = &e->tables[source].symbols};
    const int status = gather_pass(e, source, gathering, &pass);
    uspi_elf_pass_free(&pass);
    return status;
}

/* A uspi_plt_visit function; the context is the gathering. The index must know where an entry ends, because get() does
 * not. */
static int gather_plt_entry(void *context, usp_addr start, usp_addr end, uint32_t symbol) {
    const struct uspi_gathered_symbol candidate = {
        .start = start, .end = end, .symbol = (uint32_t)PLT << SOURCE_SHIFT | symbol, .rank = PLT_RANK};
    if (symbol >= ENTRY_MASK) return USP_OK;
    int status = uspi_gather(context, &candidate);
    return status == USP_OK ? uspi_gather_boundary(context, end) : status;
}

/* A uspi_plt_wants function. Reading the targets of entries costs as much as all else that an excerpt needs. */
static bool wants_plt(void *context, usp_addr low, usp_addr high) {
    const struct uspi_gathering *gathering = context;
    if (gathering->excerpt != NULL) uspi_excerpt_pass(gathering->excerpt, low);
    return uspi_gathering_wants(gathering, low, high);
}

static int gather(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    const struct elf_tables *e = (const struct elf_tables *)tables;
    int status = USP_OK;
    for (unsigned source = 0; status == USP_OK && source < TABLES; source++) {
        const struct uspi_elf_code *code = &e->tables[source].code;
        if (e->tables[source].symbols.count == 0) continue;
        status = gather_table(e, source, gathering);
        for (size_t i = 0; status == USP_OK && i < code->count; i++) {
            status = uspi_gather_boundary(gathering, code->by_address[i].high);
        }
    }
    if (status == USP_OK) {
        status = uspi_go_gather(&e->go, (uint32_t)GO << SOURCE_SHIFT, ENTRY_MASK - 1, GO_RANK, gathering);
    }
    if (status != USP_OK || !e->has_plt) return status;
    status = uspi_elf_plt_visit(&e->tables[DYNSYM].elf, wants_plt, gather_plt_entry, gathering);
    return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
}

/* Reads a name that cannot be used in place, without its version (`versions` has none: with it), and appends `suffix`.
 * The buffer grows until the name fits. */
static int read_name(const struct uspi_elf_symbols *symbols, uint32_t offset, const struct uspi_elf_versions *versions,
                     const char *suffix, struct uspi_names *names, const char **name) {
    char small[256], *buffer = small;
    int status = USP_ERROR_FULL;
    for (size_t capacity = sizeof small; status == USP_ERROR_FULL; capacity *= 4) {
        if (buffer != small) free(buffer);
        buffer = capacity == sizeof small ? small : malloc(capacity);
        if (buffer == NULL) return USP_ERROR_NO_MEMORY;
        size_t usable = capacity - strlen(suffix);
        status = uspi_bytes_string(symbols->strings, offset, buffer, usable, "name", NULL);
        if (status != USP_OK) continue;
        size_t length = uspi_elf_length_without_version(versions, buffer);
        memcpy(buffer + length, suffix, strlen(suffix) + 1);
        *name = uspi_names_keep(names, buffer, length + strlen(suffix));
        if (*name == NULL) status = USP_ERROR_NO_MEMORY;
    }
    if (buffer != small) free(buffer);
    return status;
}

static int get_name(const struct table *table, uint32_t offset, const struct uspi_elf_versions *versions,
                    struct uspi_names *names, struct uspi_symbol_answer *named) {
    named->name = names_stay(table) ? uspi_bytes_string_in_place(table->symbols.strings, offset) : NULL;
    if (named->name == NULL) return read_name(&table->symbols, offset, versions, "", names, &named->name);
    /* A look-up in an index does not read the name: that would be a cache miss more. */
    if (versions->count == 0) return USP_OK;
    const size_t length = uspi_elf_length_without_version(versions, named->name);
    if (named->name[length] == '\0') return USP_OK;
    named->name = uspi_names_keep(names, named->name, length);
    return named->name != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

static int get(const struct uspi_tables *tables, uint32_t number, struct uspi_names *names,
               struct uspi_symbol_answer *named) {
    const struct elf_tables *e = (const struct elf_tables *)tables;
    const uint32_t source = number >> SOURCE_SHIFT;
    if (source == GO) return uspi_go_get(&e->go, number & ENTRY_MASK, names, named);
    static const struct uspi_elf_versions none = {.names = NULL};
    const struct uspi_elf_versions *versions = (number & HAS_VERSION) != 0 ? &e->versions : &none;
    const struct table *table = &e->tables[source == SYMTAB ? SYMTAB : DYNSYM];
    if ((number & IS_NAME) != 0) return get_name(table, number & ENTRY_MASK, versions, names, named);
    struct uspi_elf_symbol symbol;
    int status = uspi_elf_symbol(&table->symbols, number & ENTRY_MASK, &symbol, NULL);
    if (status != USP_OK) return status;
    if (source == PLT) {
        named->size = 0;
        return read_name(&table->symbols, symbol.name, &none, plt_suffix, names, &named->name);
    }
    named->start = symbol.value;
    if (table->code.is_unlinked) uspi_elf_code_of(&table->code, &symbol, &named->start);
    named->size = symbol.size;
    return get_name(table, symbol.name, versions, names, named);
}

/* Prefers the name that people write: first the one with fewer underscores, which mark the implementation's own
 * aliases; then the alphabetically first. So .symtab and .dynsym give the same answer. */
static int prefer(const void *context, uint32_t a, uint32_t b) {
    const struct elf_tables *e = context;
    const uint32_t numbers[2] = {a, b};
    char buffer[2][NAME_BEGINNING];
    const char *names[2];
    size_t underscores[2];
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t source = numbers[i] >> SOURCE_SHIFT;
        const struct uspi_elf_symbols *table = &e->tables[source == SYMTAB ? SYMTAB : DYNSYM].symbols;
        uint32_t name = numbers[i] & ENTRY_MASK;
        if (source == GO) return 0;
        if ((numbers[i] & IS_NAME) == 0) {
            struct uspi_elf_symbol symbol;
            if (uspi_elf_symbol(table, name, &symbol, NULL) != USP_OK) return 0;
            name = symbol.name;
        }
        names[i] = name_beginning(table, name, buffer[i]);
        for (underscores[i] = 0; names[i][underscores[i]] == '_';) underscores[i]++;
    }
    if (underscores[0] != underscores[1]) return underscores[0] < underscores[1] ? -1 : 1;
    return strcmp(names[0], names[1]);
}

/* ---- opening ---- */

static void close_table(struct table *table) {
    uspi_unpacked_free(&table->entries);
    uspi_unpacked_free(&table->strings);
    uspi_elf_code_clear(&table->code);
    table->symbols.count = 0;
}

static void close_tables(struct uspi_tables *tables) {
    struct elf_tables *e = (struct elf_tables *)tables;
    for (unsigned i = 0; i < TABLES; i++) close_table(&e->tables[i]);
    uspi_unpacked_free(&e->debugdata);
    uspi_elf_versions_clear(&e->versions);
    free(e->reaches);
    free(e);
}

static struct elf_tables *create(void) {
    struct elf_tables *e = calloc(1, sizeof *e);
    if (e != NULL)
        e->contract = (struct uspi_tables){.gather = gather,
                                           .get = get,
                                           .prefer = prefer,
                                           .close = close_tables,
                                           .memory = sizeof *e,
                                           .nearest = nearest};
    return e;
}

/* Closes a table that cannot be read, since other tables may have the name. Only exhausted memory is an error. */
static int close_unless_ok(struct table *table, int status) {
    if (status != USP_OK) close_table(table);
    return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
}

/* Opens the table of a type in a file, by the file's section headers. */
static int open_table(struct table *table, struct uspi_bytes file, uint32_t type) {
    struct uspi_elf_section section, names;
    struct uspi_bytes entries, strings;
    int status = uspi_elf_open(&table->elf, file, NULL);
    if (status == USP_OK) status = uspi_elf_symbol_sections(&table->elf, type, &section, &names, NULL);
    if (status == USP_OK) status = uspi_elf_contents(&table->elf, &section, &table->entries, &entries);
    if (status == USP_OK) status = uspi_elf_contents(&table->elf, &names, &table->strings, &strings);
    if (status == USP_OK) status = uspi_elf_symbols_in(&table->elf, &section, entries, strings, &table->symbols, NULL);
    if (status == USP_OK) status = uspi_elf_code_read(&table->elf, &table->code);
    table->first_global = section.info;
    return close_unless_ok(table, status);
}

/* Opens the dynamic symbols of a file, by its section headers or, without these, as the loader finds them. */
static int open_dynamic(struct elf_tables *e, struct uspi_bytes file) {
    struct table *table = &e->tables[DYNSYM];
    int status = open_table(table, file, USPI_SHT_DYNSYM);
    e->has_plt = status == USP_OK && table->symbols.count > 0;
    if (status != USP_OK || e->has_plt || table->elf.section_count > 0) return status;
    status = uspi_elf_dynamic_symbols(&table->elf, &table->symbols, NULL);
    if (status == USP_OK) status = uspi_elf_code_read(&table->elf, &table->code);
    return close_unless_ok(table, status);
}

/* Opens the symbols that a stripped file has kept compressed. */
static int open_debugdata(struct elf_tables *e, struct uspi_bytes file) {
    struct uspi_elf elf;
    struct uspi_bytes inner;
    int status = uspi_elf_open(&elf, file, NULL);
    if (status == USP_OK) status = uspi_elf_debugdata(&elf, &e->debugdata, &inner);
    if (status != USP_OK) return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
    status = open_table(&e->tables[SYMTAB], inner, USPI_SHT_SYMTAB);
    if (e->tables[SYMTAB].symbols.count == 0) uspi_unpacked_free(&e->debugdata);
    return status;
}

/* Returns whether a table names the functions that are local to its file. */
static bool has_local_functions(const struct table *table) {
    struct uspi_elf_pass pass = {.symbols = &table->symbols};
    struct uspi_elf_symbol symbol;
    usp_addr start;
    bool is_found = false;
    /* Local symbols stand before all others (System V gABI, "Symbol Table"). */
    const uint64_t end = table->first_global != 0 ? table->first_global : UINT64_MAX;
    for (uint64_t i = 1; i < end && !is_found && uspi_elf_pass_read(&pass, i) == USP_OK; i++) {
        if (uspi_elf_pass_info(&pass, i) >> 4 != USPI_STB_LOCAL) continue;
        if (uspi_elf_pass_symbol(&pass, i, &symbol) != USP_OK || !is_function(&symbol)) continue;
        is_found = uspi_elf_code_of(&table->code, &symbol, &start) != NULL;
    }
    uspi_elf_pass_free(&pass);
    return is_found;
}

static void count_memory(struct elf_tables *e) {
    e->contract.memory += e->debugdata.size + e->reach_count * sizeof *e->reaches;
    e->contract.memory += e->versions.capacity * sizeof *e->versions.names;
    for (unsigned i = 0; i < TABLES; i++) {
        const struct table *table = &e->tables[i];
        e->contract.memory += table->entries.size + table->strings.size;
        e->contract.memory += 2 * table->code.count * sizeof table->code.by_address[0];
    }
}

bool uspi_elf_has_symtab(const struct uspi_file *file) {
    struct uspi_elf elf;
    struct uspi_elf_section table, names;
    return uspi_elf_open(&elf, uspi_file_bytes(file), NULL) == USP_OK &&
           uspi_elf_symbol_sections(&elf, USPI_SHT_SYMTAB, &table, &names, NULL) == USP_OK;
}

/* Returns the tables in *tables, unless they are empty or could not be opened. */
static int finish(struct elf_tables *e, int status, struct uspi_tables **tables) {
    bool is_empty = e->tables[SYMTAB].symbols.count == 0 && e->tables[DYNSYM].symbols.count == 0 && e->go.count == 0;
    if (status == USP_OK && is_empty) status = USP_ERROR_NOT_FOUND;
    if (status != USP_OK) {
        close_tables(&e->contract);
        return status;
    }
    count_memory(e);
    *tables = &e->contract;
    return USP_OK;
}

int uspi_elf_tables_open(const struct uspi_file *file, const struct uspi_file *debug, struct uspi_tables **tables) {
    const struct uspi_bytes bytes = uspi_file_bytes(file);
    struct elf_tables *e = create();
    if (e == NULL) return USP_ERROR_NO_MEMORY;
    struct table *symtab = &e->tables[SYMTAB];
    int status = uspi_elf_open(&symtab->elf, bytes, NULL);
    if (status == USP_OK) status = open_table(symtab, bytes, USPI_SHT_SYMTAB);
    if (status == USP_OK && symtab->symbols.count == 0 && debug != NULL) {
        status = open_table(symtab, uspi_file_bytes(debug), USPI_SHT_SYMTAB);
    }
    if (status == USP_OK && symtab->symbols.count == 0) status = open_debugdata(e, bytes);
    if (status == USP_OK) status = open_dynamic(e, bytes);
    if (status == USP_OK && symtab->symbols.count > 0) {
        status = uspi_elf_versions_add(&e->tables[DYNSYM].elf, &e->versions);
    }
    usp_addr header;
    if (status == USP_OK && symtab->symbols.count == 0) {
        status = uspi_go_table_in(bytes, &(struct uspi_wanted_slice){0}, &e->go, &header);
        if (status != USP_OK) e->go.count = 0;
        if (status != USP_ERROR_NO_MEMORY) status = USP_OK;
    }
    e->names_all = has_local_functions(symtab);
    /* An unlinked object has all of its symbols. */
    struct uspi_elf *own = &e->tables[DYNSYM].elf;
    if (status == USP_OK && own->type != USPI_ET_REL) elf_bounds_init(&e->bounds, own);
    return finish(e, status, tables);
}

/* ---- memory ---- */

/* Larger than any image's dynamic symbols or their names. A larger size is damage. */
#define COPY_MAX (UINT64_C(64) << 20)

/* Replaces a range of memory by a copy of it. */
static int copy_range(struct uspi_bytes *bytes, struct uspi_unpacked *copy, const char *name) {
    if (bytes->size > COPY_MAX) return USP_ERROR_FORMAT;
    uint8_t *to = malloc((size_t)bytes->size + 1);
    if (to == NULL) return USP_ERROR_NO_MEMORY;
    int status = uspi_bytes_read(*bytes, 0, to, (size_t)bytes->size, "symbols", NULL);
    if (status == USP_OK) {
        uspi_unpacked_take(copy, to, (size_t)bytes->size, name, bytes);
    } else {
        free(to);
    }
    return status;
}

/* Returns whether the memory still holds the image. In this process, another image may have taken its place. */
static bool is_same_image(const struct uspi_elf *elf, const struct usp_image *image, bool in_process) {
    struct uspi_build_id id;
    const int status = uspi_elf_build_id(elf, &id, NULL);
    /* The headers in memory do not lead to every build id (uspi_elf_find_build_id). */
    if (image->build_id_size == 0 || status == USP_ERROR_NOT_FOUND) {
        return !in_process || (image->flags & USP_IMAGE_PERMANENT) != 0;
    }
    return status == USP_OK && id.size == image->build_id_size && memcmp(id.bytes, image->build_id, id.size) == 0;
}

/* Finds how far the dynamic symbols without a size reach, while the image can still be read. */
static int read_reaches(struct elf_tables *e) {
    const struct table *table = &e->tables[DYNSYM];
    struct uspi_elf_bounds bounds;
    size_t capacity = 0;
    elf_bounds_init(&bounds, &table->elf);
    for (uint64_t i = 0; i < table->symbols.count; i++) {
        struct uspi_elf_symbol symbol;
        usp_addr start;
        if (uspi_elf_symbol(&table->symbols, i, &symbol, NULL) != USP_OK || symbol.size != 0) continue;
        const struct uspi_code_range *range = uspi_elf_code_of(&table->code, &symbol, &start);
        if (range == NULL || !may_name_code(&symbol)) continue;
        struct reach *grown = uspi_array_reserve(e->reaches, &capacity, e->reach_count + 1, sizeof *grown);
        if (grown == NULL) return USP_ERROR_NO_MEMORY;
        e->reaches = grown;
        const usp_addr end = elf_bounds_end(&bounds, start, range->high, symbol.is_thumb, false);
        e->reaches[e->reach_count++] = (struct reach){i, end};
    }
    return USP_OK;
}

static int read_memory_tables(struct elf_tables *e, const struct usp_memory *memory, const struct usp_image *image,
                              bool in_process) {
    struct table *table = &e->tables[DYNSYM];
    struct uspi_source source = uspi_source_of_memory(memory, "image");
    int status = uspi_elf_open_image(&table->elf, uspi_bytes_at(&source, image->load_address), NULL);
    if (status == USP_OK) status = uspi_elf_dynamic_symbols(&table->elf, &table->symbols, NULL);
    if (status == USP_OK) status = copy_range(&table->symbols.entries, &table->entries, "symbols");
    if (status == USP_OK) status = copy_range(&table->symbols.strings, &table->strings, "names");
    if (status == USP_OK) status = uspi_elf_code_read(&table->elf, &table->code);
    if (status == USP_OK) status = read_reaches(e);
    if (status == USP_OK && !is_same_image(&table->elf, image, in_process)) status = USP_ERROR_NOT_FOUND;
    return close_unless_ok(table, status);
}

int uspi_elf_memory_tables_open(const struct usp_image *image, const struct uspi_image_sources *places,
                                struct uspi_tables **tables) {
    struct uspi_image_memory memory;
    int status = uspi_image_memory_open(places, &memory);
    if (status != USP_OK) return status;
    struct elf_tables *e = create();
    status = e != NULL ? read_memory_tables(e, &memory.memory, image, places->in_process) : USP_ERROR_NO_MEMORY;
    uspi_image_memory_close(&memory);
    return e != NULL ? finish(e, status, tables) : status;
}
