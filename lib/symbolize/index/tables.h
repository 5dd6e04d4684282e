/* SPDX-License-Identifier: MIT */
/* The symbol tables of a file behind one contract, whatever its format: what the index is made of, and what it leaves in
 * the file. Addresses are as linked. */
#ifndef USPI_TABLES_H
#define USPI_TABLES_H

#include "lib/demangle/names.h"
#include "lib/images/file.h"
#include "lib/images/image_file.h"
#include "lib/object/macho.h"
#include "lib/symbolize/index/index.h"

struct uspi_symbol_answer {
    usp_addr start;
    uint64_t size;           /* 0: not known */
    const char *name;        /* in the mapped file, or kept in the names that were given */
    const char *source_file; /* that it was compiled from; NULL: not known */
    bool wins_ties;          /* replaces the name that another strategy has for the same start */
};

/* Implementations embed it at their beginning. Immutable once opened; any number of threads may read one. */
struct uspi_tables {
    /* Adds every symbol that can name code, and the ends of what they can lie in. Returns USP_OK, USP_ERROR_NO_MEMORY, or
     * what reading the tables failed with. */
    int (*gather)(const struct uspi_tables *tables, struct uspi_gathering *gathering);

    /* A symbol that was gathered, by its number or that of its name. On entry named->start and named->size are what the
     * index says of it (uspi_index_find). USP_OK, USP_ERROR_NO_MEMORY, or what reading failed with. */
    int (*get)(const struct uspi_tables *tables, uint32_t symbol, struct uspi_names *names,
               struct uspi_symbol_answer *named);

    uspi_prefer prefer; /* context: the tables */
    void (*close)(struct uspi_tables *tables);
    size_t memory; /* bytes beside the files that go when it is closed, itself included */

    /* The last start at or below an address of what is not passed over at once; much faster than to gather. False: there is
     * none, or it takes longer to find. NULL: it always does. */
    bool (*nearest)(const struct uspi_tables *tables, usp_addr address, usp_addr *start);
};

/* Whether an ELF file has a .symtab of its own; without one, a file of debugging symbols is worth looking for. */
bool uspi_elf_has_symtab(const struct uspi_file *file);

/* An ELF file's tables. `debug`, which may be NULL, is the file that its symbols were split off to, used where `file` has
 * lost its own. Both files must stay open as long as the tables. On success *tables is the caller's, to be closed.
 * USP_OK, USP_ERROR_NOT_FOUND when neither has a table, USP_ERROR_NO_MEMORY, or what is wrong with `file`. */
int uspi_elf_tables_open(const struct uspi_file *file, const struct uspi_file *debug, struct uspi_tables **tables);

/* A Mach-O file's tables, thin or fat. `debug`, which may be NULL, is its dSYM: names that either of them has are used.
 * uuid and arch pick the slice of both as for uspi_fat_pick. Otherwise as above. */
int uspi_macho_tables_open(struct uspi_bytes file, const struct uspi_bytes *debug, const uint8_t *uuid, uint32_t arch,
                           struct uspi_tables **tables);

/* Where the functions of a Mach-O file begin, whether or not anything names them (LC_FUNCTION_STARTS, or unwind
 * information): get gives their starts alone. The bytes behind *macho must stay. USP_OK or USP_ERROR_NO_MEMORY; the table of
 * a file that does not tell is empty. */
int uspi_macho_starts_open(const struct uspi_macho *macho, struct uspi_tables **tables);

/* What an ELF image's memory tells by itself: the dynamic symbols, copied. Returns as above, USP_ERROR_NOT_FOUND also
 * when the memory cannot be read or holds another image by now. */
int uspi_elf_memory_tables_open(const struct usp_image *image, const struct uspi_places *places,
                                struct uspi_tables **tables);

/* The functions of a file of symbols (lib/images/symbol_file.h), in the addresses of `image`, which it is of. The bytes must stay.
 * Returns as above. */
int uspi_symfile_tables_open(struct uspi_bytes file, const struct usp_image *image, struct uspi_tables **tables);

struct uspi_index_file;

/* The symbols that an index file has of one strategy (enum usp_strategy). moved: image as linked − index. The index must stay
 * open. Returns as above. */
int uspi_index_tables_open(const struct uspi_index_file *index, uint32_t strategy, uint64_t moved,
                           struct uspi_tables **tables);

#endif
