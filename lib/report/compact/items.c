/* SPDX-License-Identifier: MIT */
/* Reads the instructions of a compact backtrace. See items.h. The instructions, by their first byte:
 *
 *   00000000   the end: the last frame was the outermost one
 *   00000001   the end: more frames were left out, their number is not known
 *   KKKKabbb   KKKK 1, 2, 3: an instruction, a return address, an async resume point; bbb + 1 bytes follow. If a is
 *              set, they are the address; otherwise they are added to the previous address, which is 0 at first
 *   01xccccc   ccccc + 1 frames were left out; if x is set, their number follows in ccccc + 1 bytes instead
 *   1000xccc   the previous frame is repeated ccc + 1 times; if x is set, the number of times follows in ccc + 1 bytes
 *              instead. Swift's code has this instruction, its document does not */
#include "lib/report/compact/items.h"

#include <unspool/base.h>

int uspi_compact_items_begin(struct uspi_compact_items *items, const uint8_t *bytes, size_t n) {
    *items = (struct uspi_compact_items){.last = 0};
    return uspi_compact_begin(&items->in, bytes, n);
}

static int read_address(struct uspi_compact_items *items, uint8_t instruction) {
    uint64_t value;
    if (!uspi_compact_address(&items->in, (instruction & 7) + 1, &value)) return USP_ERROR_TRUNCATED;
    if ((instruction & 8) == 0) value = uspi_compact_cut(items->last + value, items->in.width);
    items->last = value;
    items->item.kind = (enum uspi_compact_kind)(instruction >> 4);
    items->item.value = value;
    return USP_OK;
}

/* Reads the number of frames that an instruction means: `count`, or, with is_outside, the number in the next `count`
 * bytes. */
static int read_frames(struct uspi_compact_items *items, unsigned count, bool is_outside, uint64_t *frames) {
    *frames = count;
    int status = is_outside ? uspi_compact_number(&items->in, count, frames) : USP_OK;
    return status == USP_OK && *frames == 0 ? USP_ERROR_FORMAT : status;
}

static int read_item(struct uspi_compact_items *items, uint8_t instruction) {
    struct uspi_compact_item *item = &items->item;
    item->times = 1;
    if (instruction >> 4 >= USPI_COMPACT_PC && instruction >> 4 <= USPI_COMPACT_ASYNC) {
        return read_address(items, instruction);
    }
    if (instruction >> 6 == 1) {
        item->kind = USPI_COMPACT_GAP;
        return read_frames(items, (instruction & 0x1f) + 1, (instruction & 0x20) != 0, &item->value);
    }
    if (instruction >> 4 == 8) {
        if (item->kind == USPI_COMPACT_NONE || item->kind == USPI_COMPACT_GAP) return USP_ERROR_FORMAT;
        return read_frames(items, (instruction & 7) + 1, (instruction & 8) != 0, &item->times);
    }
    if (instruction > 1) return USP_ERROR_FORMAT;
    item->kind = instruction == 0 ? USPI_COMPACT_END : USPI_COMPACT_CUT;
    items->has_ended = true;
    return USP_OK;
}

int uspi_compact_items_next(struct uspi_compact_items *items, struct uspi_compact_item *item) {
    uint8_t instruction;
    *item = (struct uspi_compact_item){.kind = USPI_COMPACT_NONE, .times = 1};
    if (items->has_ended || !uspi_compact_byte(&items->in, &instruction)) return USP_OK;
    int status = read_item(items, instruction);
    if (status == USP_OK) *item = items->item;
    return status;
}
