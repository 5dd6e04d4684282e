/* SPDX-License-Identifier: MIT */
/* Checks the segments that a core lists before they become its memory, for both formats: segments that wrap, are
 * inconsistent or were cut off. */
#include "lib/corefile/build.h"

#include <unspool/snapshot.h>

#include <inttypes.h>

void uspi_core_list_segment(struct uspi_core *core, const struct uspi_core_listed *listed) {
    uint64_t file = core->memory.core.size;
    uint64_t there = listed->offset < file ? file - listed->offset : 0, promised = listed->file_size;
    if (listed->size == 0) return;
    if (listed->low > listed->last_address || listed->size - 1 > listed->last_address - listed->low) {
        uspi_core_say(core, 0, "%s: the segment at 0x%" PRIx64 " wraps around the address space; not used", core->path,
                      listed->low);
        return;
    }
    if (promised > there) core->cut_segments++;
    if (promised > listed->size) {
        uspi_core_say(
            core, 0, "%s: the segment at 0x%" PRIx64 " has more bytes in the file than in memory; the rest is not used",
            core->path, listed->low);
        promised = listed->size;
    }
    struct uspi_core_segment segment = {.low = listed->low,
                                        .size = listed->size,
                                        .stored = promised < there ? promised : there,
                                        .promised = promised,
                                        .offset = listed->offset,
                                        .access = listed->access,
                                        .order = core->memory.segment_count};
    if (uspi_core_memory_add(&core->memory, &segment) != USP_OK) core->out_of_memory = true;
}

void uspi_core_seal_segments(struct uspi_core *core) {
    if (core->cut_segments > 0) {
        uspi_core_say(core, USP_SNAPSHOT_TRUNCATED,
                      "%s: the file ends at offset 0x%" PRIx64
                      ", where %zu of its segments still had bytes: it was cut "
                      "off",
                      core->path, core->memory.core.size, core->cut_segments);
    }
    size_t overlaps = uspi_core_memory_seal(&core->memory);
    if (overlaps > 0) {
        uspi_core_say(core, 0, "%s: %zu segments overlap others; of each address the first segment is used", core->path,
                      overlaps);
    }
}
