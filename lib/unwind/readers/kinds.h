/* SPDX-License-Identifier: MIT */
/* The kinds of unwind tables, in the order in which they are searched.
 *
 * A program that is linked statically and captures only stacks of this system contains the kinds that images of its
 * system can have: table.c has those. any_kind.c, which the linker takes for uspi_read_all_tables, replaces them by all
 * kinds, as arch/any.h does for processors. So a file calls that function where a target, a core file or a recording of
 * another system first comes in. */
#ifndef USPI_UNWIND_READERS_KINDS_H
#define USPI_UNWIND_READERS_KINDS_H

#include "lib/unwind/readers/table.h"

struct uspi_table_kind {
    uint32_t readers;                                                    /* enum usp_frame_readers */
    uint32_t method;                                                     /* enum usp_frame_method */
    void (*describe)(struct uspi_evidence *, struct uspi_description *); /* NULL: not linked */
};

/* X(name, reader, method, whether images of this system can have it). The compiler writes the tables together with the
 * code. Compact unwind itself refers to call frame information. Go's table precedes it for Go's code, because it also
 * states which functions switch stacks. A .debug_frame that is not loaded comes last: some functions are described only
 * there, and most of them only in the others. */
#define USPI_EACH_TABLE_KIND(X)                                                                                        \
    X(go, GO, GO, true)                                                                                                \
    X(compact, COMPACT, COMPACT, USPI_OS_LOADS_MACHO)                                                                  \
    X(cfi, CFI, CFI, true)                                                                                             \
    X(ehabi, EHABI, EHABI, USPI_HOST_IS_ARM)                                                                           \
    X(debug_frame, CFI, CFI, true)

#define USPI_COUNT_KIND(name, reader, method, is_own) +1
#define USPI_TABLE_KINDS                              (0u USPI_EACH_TABLE_KIND(USPI_COUNT_KIND))

/* Returns the kinds, USPI_TABLE_KINDS of them. Defined weakly by table.c, its only user, and by any_kind.c.
 * Async-signal-safe. */
const struct uspi_table_kind *uspi_table_kinds(void);

/* Does nothing when it is called. A program that contains a call reads each kind of table in each format of image
 * (lib/unwind/tables/formats.h). */
void uspi_read_all_tables(void);

#endif
