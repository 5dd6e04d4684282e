/* SPDX-License-Identifier: MIT */
/* See ehabi.h. Finds the program for a pc's function. ehabi_program.c executes it. */
#include "lib/unwind/tables/ehabi.h"

#include <inttypes.h>

/* Sections 6 and 7 of the ABI. */
enum layout { INDEX_ENTRY = 8, WORD = 4 };

#define CANNOT_UNWIND       1u
#define IS_COMPACT          0x80000000u
#define COMPACT_MODEL(word) ((word) >> 24 & 0x7f)

/* Maximum size of a program: three bytes of a word, and 255 more words. */
#define PROGRAM_MAX (3 + 255 * WORD)

static enum uspi_described corrupt(const struct uspi_ehabi_table *table, usp_addr at, const char *what,
                                   struct uspi_error *error) {
    uspi_bytes_error(error, table->image, at - table->base, USP_ERROR_FORMAT, "%s", what);
    return USPI_TABLE_CORRUPT;
}

static bool load(const struct uspi_ehabi_table *table, usp_addr at, uint32_t *word, struct uspi_error *error) {
    uint64_t value;
    if (at < table->base) {
        corrupt(table, table->base, "an unwind table refers to what lies before the image", error);
        return false;
    }
    if (uspi_bytes_load(table->image, at - table->base, WORD, &value, "ARM unwind table", error) != USP_OK)
        return false;
    *word = (uint32_t)value;
    return true;
}

/* Returns the address to which the word at `at` refers, relative to the word itself (R_ARM_PREL31). The address space
 * has 32 bits. */
static usp_addr relative(usp_addr at, uint32_t word) {
    return (uint32_t)(at + (uint64_t)uspi_sign_extend(word & ~IS_COMPACT, 31));
}

static bool load_start(const struct uspi_ehabi_table *table, uint64_t i, usp_addr *start, struct uspi_error *error) {
    uint32_t word;
    const usp_addr at = table->index + i * INDEX_ENTRY;
    if (!load(table, at, &word, error)) return false;
    /* The relocation of a Thumb function's symbol sets bit 0. */
    *start = relative(at, word) & ~UINT64_C(1);
    return true;
}

/* Appends the low bytes of a word to a program, the highest first: in this order they are executed. */
static void append(uint8_t *program, size_t *size, uint32_t word, unsigned bytes) {
    while (bytes-- > 0) program[(*size)++] = (uint8_t)(word >> 8 * bytes);
}

/* A program: the low `bytes` bytes of a word, then `more` words at an address. */
struct program {
    uint32_t word;
    unsigned bytes, more;
    usp_addr at;
};

static enum uspi_described run(const struct uspi_ehabi_table *table, struct program program, struct uspi_rule *rule,
                               struct uspi_error *error) {
    uint8_t bytes[PROGRAM_MAX];
    size_t size = 0;
    append(bytes, &size, program.word, program.bytes);
    for (unsigned i = 0; i < program.more; i++) {
        uint32_t word;
        if (!load(table, program.at + i * WORD, &word, error)) return USPI_TABLE_CORRUPT;
        append(bytes, &size, word, WORD);
    }
    const struct uspi_source source = {.name = "ARM unwind instructions", .base = bytes};
    return uspi_ehabi_run((struct uspi_bytes){&source, 0, size}, rule, error);
}

static enum uspi_described decode_entry(const struct uspi_ehabi_table *table, usp_addr at, struct uspi_rule *rule,
                                        struct uspi_error *error) {
    uint32_t word;
    if (!load(table, at, &word, error)) return USPI_TABLE_CORRUPT;
    if ((word & IS_COMPACT) == 0) {
        /* The generic model: a personality routine and its own data. The data of all routines of GNU and LLVM begin
         * with a count of further words and three bytes of program. */
        if (!load(table, at + WORD, &word, error)) return USPI_TABLE_CORRUPT;
        return run(table, (struct program){word, 3, word >> 24, at + 2 * WORD}, rule, error);
    }
    switch (COMPACT_MODEL(word)) {
    case 0: return run(table, (struct program){.word = word, .bytes = 3}, rule, error);
    case 1:
    case 2: return run(table, (struct program){word, 2, word >> 16 & 0xff, at + WORD}, rule, error);
    default: return corrupt(table, at, "an unknown compact model", error);
    }
}

enum uspi_described uspi_ehabi_find(const struct uspi_ehabi_table *table, usp_addr pc, struct uspi_table_entry *entry,
                                    struct uspi_error *error) {
    uint64_t low = 0, high = table->index_size / INDEX_ENTRY;
    usp_addr end = 0;
    uint32_t word;
    *entry = (struct uspi_table_entry){0};
    if (table->index < table->base || table->index > UINT32_MAX || table->index_size > UINT32_MAX ||
        table->index_size % INDEX_ENTRY != 0) {
        return corrupt(table, table->base, "an index of ARM unwind tables that is not one", error);
    }
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        usp_addr start;
        if (!load_start(table, middle, &start, error)) return USPI_TABLE_CORRUPT;
        if (start <= pc) {
            low = middle + 1;
            entry->start = start;
        } else {
            high = middle;
            end = start;
        }
    }
    if (low == 0) return USPI_NOT_DESCRIBED;
    entry->end = end;
    const usp_addr at = table->index + (low - 1) * INDEX_ENTRY + WORD;
    if (!load(table, at, &word, error)) return USPI_TABLE_CORRUPT;
    if (word == CANNOT_UNWIND) return USPI_CANNOT_UNWIND;
    if ((word & IS_COMPACT) == 0) return decode_entry(table, relative(at, word), &entry->rule, error);
    /* Only the model without further words fits into the index. */
    if (COMPACT_MODEL(word) != 0) return corrupt(table, at, "a compact model that the index cannot hold", error);
    return run(table, (struct program){.word = word, .bytes = 3}, &entry->rule, error);
}
