/* SPDX-License-Identifier: MIT */
/* The readers of the tables that describe functions' bodies: Mach-O compact unwind and ARM EHABI. From a frame to its table
 * and back to an answer; what the tables say is compact.h's and ehabi.h's.
 *
 * At a call their rule holds as it stands. An interrupted frame may stand where it does not: uspi_follow_body_rule. */
#include "lib/unwind/compact.h"
#include "lib/unwind/ehabi.h"
#include "lib/unwind/reader.h"

static enum uspi_answer follow(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                               enum uspi_described described, const struct uspi_table_entry *entry, uint32_t method,
                               struct uspi_answer_data *out) {
    switch (described) {
    case USPI_DESCRIBED: return uspi_follow_body_rule(walk, frame, entry, method, out);
    case USPI_TABLE_CORRUPT: return USPI_CORRUPT;
    /* Of USPI_CANNOT_UNWIND too: compilers write it for whatever they were not asked to describe. */
    default: return USPI_NOT_MINE;
    }
}

enum uspi_answer uspi_read_compact(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                   struct uspi_answer_data *out) {
    const struct usp_unwind_tables *tables = uspi_unwind_tables_of(walk, frame);
    if (tables == NULL || tables->unwind_info.size == 0) return USPI_NOT_MINE;
    const struct uspi_source source = uspi_source_of_memory(uspi_table_memory(walk), "unwind table");
    const struct uspi_source text = uspi_source_of_memory(uspi_code_memory(walk), "code");
    const struct uspi_compact_table table = {
        .backend = walk->backend,
        .image = tables->image,
        .text = uspi_bytes_at(&text, tables->image),
        .section = {&source, tables->unwind_info.address, tables->unwind_info.size},
    };
    struct uspi_table_entry entry;
    enum uspi_described described = uspi_compact_find(&table, uspi_lookup_pc(walk, frame), &entry, NULL);
    if (described != USPI_DESCRIBED_BY_CFI) return follow(walk, frame, described, &entry, USP_METHOD_COMPACT, out);
    walk->named_start = entry.start;
    walk->named_end = entry.end;
    /* An offset that does not fit into an encoding is 0: the reader of CFI looks for the entry then. */
    if (entry.cfi_offset == 0 || (walk->readers & USP_READER_CFI) == 0) return USPI_NOT_MINE;
    return uspi_follow_fde(walk, frame, tables, entry.cfi_offset, out);
}

enum uspi_answer uspi_read_ehabi(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                 struct uspi_answer_data *out) {
    const struct usp_unwind_tables *tables = uspi_unwind_tables_of(walk, frame);
    if (tables == NULL || tables->exidx.size == 0 || walk->backend->arch != USP_ARCH_ARMV7) return USPI_NOT_MINE;
    const struct uspi_source source = uspi_source_of_memory(uspi_table_memory(walk), "unwind table");
    const struct uspi_ehabi_table table = {
        .image = uspi_bytes_at(&source, tables->image),
        .base = tables->image,
        .index = tables->exidx.address,
        .index_size = tables->exidx.size,
    };
    struct uspi_table_entry entry;
    enum uspi_described described = uspi_ehabi_find(&table, uspi_lookup_pc(walk, frame), &entry, NULL);
    return follow(walk, frame, described, &entry, USP_METHOD_EHABI, out);
}
