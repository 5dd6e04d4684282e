/* SPDX-License-Identifier: MIT */
/* The symbol tables of a file behind one contract, whatever the file's format. The index is made from them, and the
 * names stay in them. Addresses are as linked. */
#ifndef USPI_SYMBOLIZE_INDEX_TABLES_H
#define USPI_SYMBOLIZE_INDEX_TABLES_H

#include "lib/demangle/names.h"
#include "lib/images/file.h"
#include "lib/images/image_sources.h"
#include "lib/object/fat.h"
#include "lib/symbolize/index/by_name.h"
#include "lib/symbolize/index/index.h"

struct uspi_symbol_answer {
    usp_addr start;
    uint64_t size;           /* in bytes; 0: not known */
    const char *name;        /* in the mapped file, or in the `names` that were passed */
    const char *source_file; /* the file that it was compiled from; NULL: not known */
    bool wins_ties;          /* replaces another strategy's name for the same start */
    bool is_nearest;         /* no table of the file has a function that begins nearer to the address and holds it */
};

/* An implementation has it as its first member. It never changes once it is open, so any number of threads may read
 * it. */
struct uspi_tables {
    /* Adds every symbol that can name code, and the end of each section of code. Returns USP_OK, USP_ERROR_NO_MEMORY,
     * or the status with which reading the tables failed. */
    int (*gather)(const struct uspi_tables *tables, struct uspi_gathering *gathering);

    /* Fills *named for a gathered symbol, given by its number or by the number of its name. On entry named->start and
     * named->size are those of uspi_index_find. Returns as gather does. */
    int (*get)(const struct uspi_tables *tables, uint32_t symbol, struct uspi_names *names,
               struct uspi_symbol_answer *named);

    uspi_prefer prefer; /* context: the tables */
    void (*close)(struct uspi_tables *tables);
    size_t memory;  /* bytes that closing it frees, including this struct, not the mapped files */
    bool reads_all; /* opening has read every symbol: an excerpt would cost as much as the whole index */
    bool skips;     /* gathering for an excerpt does not read the symbols outside of it again and again */

    /* Finds the last start of a function or label at or below an address, without gathering. Returns false when there
     * is none or when it cannot be found faster than by gathering. NULL where that is never possible. An index also
     * finds a function of another strategy that holds the address: then that one is the answer. */
    bool (*nearest)(const struct uspi_tables *tables, usp_addr address, usp_addr *start);

    /* Finds the symbol at an address without an index: *symbol is as from uspi_index_find, *named as `get` needs it. An
     * index file has no symbol for this strategy where a function of another strategy is nearer. Returns false when it
     * cannot find it: then the index is made. NULL where it never can. */
    bool (*find_directly)(const struct uspi_tables *tables, usp_addr address, uint32_t *symbol,
                          struct uspi_symbol_answer *named);

    /* How many calls of `find_directly` cost less than the whole index, which makes look-ups faster. */
    uint64_t direct_limit;

    /* Finds the key of a name (by_name.h), which is 0 when the tables do not have the name. Returns as gather does.
     * NULL: the key is a hash of the name. */
    int (*find_key)(const struct uspi_tables *tables, const char *name, uint64_t *key);

    /* Adds the keys of all functions. Returns as gather does. NULL: the functions are those that are gathered. */
    int (*add_keys)(const struct uspi_tables *tables, struct uspi_by_name *names);
};

/* Returns whether an ELF file has a .symtab. Without one, its symbols may lie in a separate debug file. */
bool uspi_elf_has_symtab(const struct uspi_file *file);

/* Opens the symbol tables of an ELF file. `debug` is its separate debug file, or NULL; it is used where `file` has no
 * .symtab. Both files must stay open as long as the tables. The caller closes *tables. Returns USP_OK,
 * USP_ERROR_NOT_FOUND when neither file has a table, USP_ERROR_NO_MEMORY, or the status that tells what is wrong with
 * `file`. */
int uspi_elf_tables_open(const struct uspi_file *file, const struct uspi_file *debug, struct uspi_tables **tables);

/* Opens the symbol tables of a Mach-O file, thin or fat. `debug` is its dSYM, or NULL; names of both are used. The
 * wanted slice of both files is taken, as in uspi_fat_pick. Lifetimes and results are those of uspi_elf_tables_open. */
int uspi_macho_tables_open(struct uspi_bytes file, const struct uspi_bytes *debug,
                           const struct uspi_wanted_slice *wanted, struct uspi_tables **tables);

/* Opens the list of function starts of a Mach-O file: LC_FUNCTION_STARTS or, without it, the unwind information. It has
 * no names; `get` gives starts only. The bytes of *macho must stay. Returns USP_OK or USP_ERROR_NO_MEMORY. The table is
 * empty when the file has neither. */
int uspi_macho_starts_open(const struct uspi_macho *macho, struct uspi_tables **tables);

/* Opens a copy of the dynamic symbols that a loaded ELF image has in memory. Returns as uspi_elf_tables_open does, and
 * USP_ERROR_NOT_FOUND also when the memory cannot be read or holds another image now. */
int uspi_elf_memory_tables_open(const struct usp_image *image, const struct uspi_image_sources *places,
                                struct uspi_tables **tables);

/* Opens the functions of a GSYM or Breakpad file (lib/images/symbol_file.h) of `image`, with addresses of that image.
 * The bytes must stay. Returns as uspi_elf_tables_open does. */
int uspi_symfile_tables_open(struct uspi_bytes file, const struct usp_image *image, struct uspi_tables **tables);

/* What the path of the kernel's own image begins with. Other images of the kernel's are its modules and the vdso. */
#define USPI_KERNEL_PATH "[kernel."

/* Opens the list of a kernel's symbols that places->build_ids has, for the kernel's image or for that of a module.
 * Addresses count from the kernel's first instruction, or from the module's beginning. Names of modules are found only
 * if the list was made since the kernel was started: places->kernel has the list's address.
 * Returns as uspi_elf_tables_open does. */
int uspi_kallsyms_open(const struct usp_image *image, const struct uspi_image_sources *places,
                       struct uspi_tables **tables);

struct uspi_index_file;

/* Opens the symbols of one strategy (enum usp_strategy) in an index file. `moved` is added to an address of the index
 * to give the address as linked. The index must stay open. Returns as uspi_elf_tables_open does. */
int uspi_index_tables_open(struct uspi_index_file *index, uint32_t strategy, uint64_t moved,
                           struct uspi_tables **tables);

#endif
