/* SPDX-License-Identifier: MIT */
/* The reader of compact unwind as an unwind table. lib/unwind/tables/compact.h interprets the table. */
#include "lib/unwind/tables/compact.h"
#include "lib/unwind/readers/table.h"

void uspi_describe_by_compact(struct uspi_evidence *e, struct uspi_description *d) {
    struct uspi_walk *walk = e->walk;
    const struct usp_unwind_tables *tables = uspi_unwind_tables_of(walk, e->frame);
    if (tables == NULL || tables->unwind_info.size == 0) return;
    const struct uspi_source source = uspi_table_source(walk);
    const struct uspi_source text = uspi_source_of_memory(uspi_code_memory(walk), "code");
    const struct uspi_compact_table table = {
        .backend = walk->backend,
        .image = tables->image,
        .text = uspi_bytes_at(&text, tables->image),
        .section = {&source, tables->unwind_info.address, tables->unwind_info.size},
    };
    d->answer = uspi_compact_find(&table, uspi_lookup_pc(walk, e->frame), &d->entry, NULL);
    d->is_body_only = true;
    if (d->answer != USPI_DESCRIBED_BY_CFI) return;
    e->named_start = d->entry.start;
    e->named_end = d->entry.end;
    uint64_t offset = d->entry.cfi_offset;
    d->answer = USPI_NOT_DESCRIBED;
    /* The encoding has offset 0 if the offset does not fit into it. Then the entry is searched for. */
    if (offset == 0 || (e->readers & USP_READER_CFI) == 0) return;
    e->method = USP_FRAME_METHOD_CFI;
    uspi_describe_by_fde(e, offset, d);
}
