/* SPDX-License-Identifier: MIT */
/* See jitdump.h. */
#include "lib/symbolize/jit/jitdump_lines.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC   0x4A695444u /* "JiTD" */
#define VERSION 1u

/* The sizes of the file's header, of a record's header, and of the fixed parts of records, headers included. */
#define FILE_HEADER   40u
#define RECORD_HEADER 16u
#define LOAD_FIXED    56u
#define MOVE_FIXED    64u

enum record { CODE_LOAD = 0, CODE_MOVE = 1, CODE_DEBUG_INFO = 2 };

/* The ELF numbers of the supported processors that have the small ELF header. */
enum { MACHINE_I386 = 3, MACHINE_ARM = 40 };
#define NARROW_ELF_HEADER 52u
#define WIDE_ELF_HEADER   64u

struct reading {
    struct uspi_jitdump *state;
    struct uspi_bytes file;
    struct uspi_jit_map *map;
};

/* ---- pieces of code by their numbers ---- */

static struct uspi_jitdump_slot *find_slot(struct uspi_jitdump_slot *slots, size_t count, uint64_t index) {
    size_t at = (size_t)(index * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (count - 1);
    while (slots[at].code != 0 && slots[at].index != index) at = (at + 1) & (count - 1);
    return &slots[at];
}

static bool grow_slots(struct uspi_jitdump *state) {
    const size_t count = state->slot_count != 0 ? 2 * state->slot_count : 64;
    struct uspi_jitdump_slot *slots = calloc(count, sizeof *slots);
    if (slots == NULL) return false;
    for (size_t i = 0; i < state->slot_count; i++) {
        if (state->slots[i].code != 0) *find_slot(slots, count, state->slots[i].index) = state->slots[i];
    }
    free(state->slots);
    state->slots = slots;
    state->slot_count = count;
    return true;
}

static bool keep_slot(struct uspi_jitdump *state, uint64_t index, size_t code) {
    if (state->slots_used >= state->slot_count / 2 && !grow_slots(state)) return false;
    struct uspi_jitdump_slot *slot = find_slot(state->slots, state->slot_count, index);
    if (slot->code == 0) state->slots_used++;
    *slot = (struct uspi_jitdump_slot){index, (uint32_t)code + 1};
    return true;
}

/* ---- records ---- */

/* Adds a piece of code and remembers its number. */
static int add_code(struct reading *r, const struct uspi_jit_code *code, uint64_t index, const char *name,
                    size_t length) {
    const size_t before = r->map->count;
    int status = uspi_jit_map_add(r->map, code, name, length);
    if (status != USP_OK || r->map->count == before) return status;
    return keep_slot(r->state, index, before) ? USP_OK : USP_ERROR_NO_MEMORY;
}

static int take_load(struct reading *r, uint64_t at, uint64_t size, uint64_t time) {
    uint8_t fixed[LOAD_FIXED];
    char name[USPI_JIT_NAME_MAX];
    if (size <= LOAD_FIXED) return USP_OK;
    int status = uspi_bytes_read(r->file, at, fixed, sizeof fixed, "jitdump record", NULL);
    if (status != USP_OK) return status;
    const uint64_t left = size - LOAD_FIXED;
    const size_t room = left < sizeof name ? (size_t)left : sizeof name;
    status = uspi_bytes_read(r->file, at + LOAD_FIXED, name, room, "jitdump record", NULL);
    if (status != USP_OK) return status;
    struct uspi_jit_code code = {.start = uspi_jitdump_number(r->state, fixed + 32, 8),
                                 .size = uspi_jitdump_number(r->state, fixed + 40, 8),
                                 .order = time};
    const size_t length = strnlen(name, room);
    if (length == 0) return USP_OK;
    status = uspi_jitdump_give_lines(r->state, &code, (struct uspi_span){name, length}, r->map);
    if (status != USP_OK) return status;
    return add_code(r, &code, uspi_jitdump_number(r->state, fixed + 48, 8), name, length);
}

static int take_move(struct reading *r, uint64_t at, uint64_t size, uint64_t time) {
    uint8_t fixed[MOVE_FIXED];
    char name[USPI_JIT_NAME_MAX];
    if (size < MOVE_FIXED || r->state->slot_count == 0) return USP_OK;
    int status = uspi_bytes_read(r->file, at, fixed, sizeof fixed, "jitdump record", NULL);
    if (status != USP_OK) return status;
    const uint64_t index = uspi_jitdump_number(r->state, fixed + 56, 8);
    const struct uspi_jitdump_slot *slot = find_slot(r->state->slots, r->state->slot_count, index);
    if (slot->code == 0) return USP_OK;
    const struct uspi_jit_code moved = r->map->codes[slot->code - 1];
    struct uspi_jit_code code = {.start = uspi_jitdump_number(r->state, fixed + 32, 8),
                                 .size = uspi_jitdump_number(r->state, fixed + 48, 8),
                                 .order = time};
    status = uspi_jit_map_add(r->map, &code, NULL, 0);
    if (status != USP_OK) return status;
    code.start = uspi_jitdump_number(r->state, fixed + 40, 8);
    code.first_row = moved.first_row;
    code.row_count = moved.row_count;
    memcpy(name, r->map->text + moved.name, moved.name_length);
    return add_code(r, &code, index, name, moved.name_length);
}

static int read_header(struct uspi_jitdump *state, struct uspi_bytes file, int64_t pid) {
    uint8_t header[FILE_HEADER];
    int status = uspi_bytes_read(file, 0, header, sizeof header, "jitdump header", NULL);
    if (status != USP_OK) return status;
    state->is_big = uspi_be32(header) == MAGIC;
    const uint64_t size = uspi_jitdump_number(state, header + 8, 4),
                   writer = uspi_jitdump_number(state, header + 20, 4);
    if (uspi_jitdump_number(state, header, 4) != MAGIC || uspi_jitdump_number(state, header + 4, 4) != VERSION ||
        size < FILE_HEADER) {
        return USP_ERROR_FORMAT;
    }
    if (pid != 0 && writer != (uint64_t)pid) return USP_ERROR_MISMATCH;
    const uint64_t machine = uspi_jitdump_number(state, header + 12, 4);
    state->elf_header = machine == MACHINE_I386 || machine == MACHINE_ARM ? NARROW_ELF_HEADER : WIDE_ELF_HEADER;
    state->offset = size;
    return USP_OK;
}

int uspi_jitdump_read(struct uspi_jitdump *state, struct uspi_bytes file, int64_t pid, struct uspi_jit_map *map) {
    struct reading r = {state, file, map};
    int status = state->offset == 0 ? read_header(state, file, pid) : USP_OK;
    while (status == USP_OK && !state->is_damaged && state->offset <= file.size &&
           file.size - state->offset >= RECORD_HEADER) {
        uint8_t header[RECORD_HEADER];
        status = uspi_bytes_read(file, state->offset, header, sizeof header, "jitdump record", NULL);
        if (status != USP_OK) break;
        const uint64_t size = uspi_jitdump_number(state, header + 4, 4),
                       time = uspi_jitdump_number(state, header + 8, 8);
        state->is_damaged = size < RECORD_HEADER;
        if (state->is_damaged || size > file.size - state->offset) break;
        switch (uspi_jitdump_number(state, header, 4)) {
        case CODE_LOAD: status = take_load(&r, state->offset, size, time); break;
        case CODE_MOVE: status = take_move(&r, state->offset, size, time); break;
        case CODE_DEBUG_INFO: status = uspi_jitdump_take_lines(state, file, state->offset, size, map); break;
        default: break;
        }
        if (status == USP_OK) state->offset += size;
    }
    return status;
}

void uspi_jitdump_clear(struct uspi_jitdump *state) {
    free(state->slots);
    memset(state, 0, sizeof *state);
}
