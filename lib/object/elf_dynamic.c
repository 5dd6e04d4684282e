/* SPDX-License-Identifier: MIT */
/* See elf_dynamic.h. */
#include "lib/object/elf_dynamic.h"

#include <inttypes.h>

/* Linux elf.h. */
#define DT_HASH     4
#define DT_STRTAB   5
#define DT_SYMTAB   6
#define DT_STRSZ    10
#define DT_SYMENT   11
#define DT_GNU_HASH UINT64_C(0x6ffffef5)

int uspi_elf_bytes_at(const struct uspi_elf *elf, usp_addr address, struct uspi_bytes *bytes,
                      struct uspi_error *error) {
    struct uspi_elf_segment segment;
    struct uspi_bytes whole;
    for (uint64_t i = 0; i < elf->segment_count; i++) {
        int status = uspi_elf_segment(elf, i, &segment, error);
        if (status != USP_OK) return status;
        if (segment.type != USPI_PT_LOAD || address < segment.address) continue;
        if (address - segment.address >= segment.file_size) continue;
        status = uspi_elf_segment_bytes(elf, &segment, &whole, error);
        if (status != USP_OK) return status;
        uint64_t at = address - segment.address;
        return uspi_bytes_sub(whole, at, whole.size - at, "segment", bytes, error);
    }
    return uspi_bytes_error(error, elf->bytes, 0, USP_ERROR_NOT_FOUND, "nothing is loaded at 0x%" PRIx64, address);
}

/* Gives the bytes that an entry of the dynamic section points to. In memory the address may be a loaded one, since some
 * loaders relocate the entries in place. */
static int entry_bytes(const struct uspi_elf *elf, struct uspi_bytes dynamic, uint64_t tag, struct uspi_bytes *bytes,
                       struct uspi_error *error) {
    uint64_t value;
    int status = uspi_elf_dynamic(dynamic, elf->wide, tag, &value, error);
    if (status != USP_OK) return status;
    if (elf->in_memory) {
        uint64_t slide = elf->bytes.from - elf->header_address;
        if (uspi_elf_bytes_at(elf, value - slide, bytes, NULL) == USP_OK) return USP_OK;
    }
    return uspi_elf_bytes_at(elf, value, bytes, error);
}

/* Counts the symbols by a hash table: nbucket, nchain, buckets, chains. nchain is the number of symbols. */
static int count_by_hash(struct uspi_bytes hash, uint64_t *count, struct uspi_error *error) {
    return uspi_bytes_load(hash, 4, 4, count, "hash table", error);
}

/* Counts the symbols by a GNU hash table: number of buckets, first symbol in the table, words of the filter, its shift;
 * the filter; the buckets (first symbol of each chain); a word for each symbol, whose lowest bit ends its chain. The
 * last symbol is the last one of the chain that begins last. */
static int count_by_gnu_hash(struct uspi_bytes hash, bool wide, uint64_t *count, struct uspi_error *error) {
    uint64_t buckets = 0, first = 0, filter = 0, last = 0, value;
    int status = uspi_bytes_load(hash, 0, 4, &buckets, "hash table", error);
    if (status == USP_OK) status = uspi_bytes_load(hash, 4, 4, &first, "hash table", error);
    if (status == USP_OK) status = uspi_bytes_load(hash, 8, 4, &filter, "hash table", error);
    uint64_t at = 16 + filter * (wide ? 8 : 4);
    for (uint64_t i = 0; status == USP_OK && i < buckets; i++) {
        status = uspi_bytes_load(hash, at + 4 * i, 4, &value, "hash bucket", error);
        if (status == USP_OK && value > last) last = value;
    }
    *count = first;
    at += 4 * buckets;
    if (status != USP_OK || last < first) return status;
    do {
        status = uspi_bytes_load(hash, at + 4 * (last - first), 4, &value, "hash chain", error);
        last++;
    } while (status == USP_OK && (value & 1) == 0);
    *count = last;
    return status;
}

int uspi_elf_dynamic_symbols(const struct uspi_elf *elf, struct uspi_elf_symbols *symbols, struct uspi_error *error) {
    struct uspi_elf_segment segment;
    struct uspi_bytes dynamic, entries, strings, hash;
    uint64_t strings_size, entry_size, count = 0;
    int status = uspi_elf_find_segment(elf, USPI_PT_DYNAMIC, &segment, error);
    if (status == USP_OK) status = uspi_elf_segment_bytes(elf, &segment, &dynamic, error);
    if (status == USP_OK) status = entry_bytes(elf, dynamic, DT_SYMTAB, &entries, error);
    if (status == USP_OK) status = entry_bytes(elf, dynamic, DT_STRTAB, &strings, error);
    if (status == USP_OK) status = uspi_elf_dynamic(dynamic, elf->wide, DT_STRSZ, &strings_size, error);
    if (status == USP_OK) status = uspi_elf_dynamic(dynamic, elf->wide, DT_SYMENT, &entry_size, error);
    if (status == USP_OK) status = uspi_bytes_sub(strings, 0, strings_size, "symbols' names", &strings, error);
    if (status != USP_OK) return status;
    if (entry_bytes(elf, dynamic, DT_HASH, &hash, NULL) == USP_OK) {
        status = count_by_hash(hash, &count, error);
    } else {
        status = entry_bytes(elf, dynamic, DT_GNU_HASH, &hash, error);
        if (status == USP_OK) status = count_by_gnu_hash(hash, elf->wide, &count, error);
    }
    if (status != USP_OK) return status;
    struct uspi_elf_section table = {.entry_size = entry_size};
    if (!uspi_product(count, entry_size, &table.size)) table.size = UINT64_MAX;
    status = uspi_bytes_sub(entries, 0, table.size, "symbol table", &entries, error);
    return status == USP_OK ? uspi_elf_symbols_in(elf, &table, entries, strings, symbols, error) : status;
}
