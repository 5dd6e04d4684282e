/* SPDX-License-Identifier: MIT */
/* All kinds of unwind tables: see kinds.h. */
#include "lib/unwind/readers/kinds.h"
#include "lib/unwind/tables/formats.h"

#define ENTRY(name, reader, method, is_own) {USP_READER_##reader, USP_FRAME_METHOD_##method, uspi_describe_by_##name},
static const struct uspi_table_kind all[] = {USPI_EACH_TABLE_KIND(ENTRY)};

const struct uspi_table_kind *uspi_table_kinds(void) { return all; }

void uspi_read_all_tables(void) { (void)uspi_all_table_formats(); }
