/* SPDX-License-Identifier: MIT */
/* The reader of ARM's exception tables as an unwind table. lib/unwind/tables/ehabi.h interprets them. */
#include "lib/unwind/tables/ehabi.h"
#include "lib/unwind/readers/table.h"

void uspi_describe_by_ehabi(struct uspi_evidence *e, struct uspi_description *d) {
    struct uspi_walk *walk = e->walk;
    const struct usp_unwind_tables *tables = uspi_unwind_tables_of(walk, e->frame);
    if (tables == NULL || tables->exidx.size == 0 || walk->backend->arch != USP_ARCH_ARMV7) return;
    const struct uspi_source source = uspi_table_source(walk);
    const struct uspi_ehabi_table table = {
        .image = uspi_bytes_at(&source, tables->image),
        .base = tables->image,
        .index = tables->exidx.address,
        .index_size = tables->exidx.size,
    };
    d->answer = uspi_ehabi_find(&table, uspi_lookup_pc(walk, e->frame), &d->entry, NULL);
    d->is_body_only = true;
}
